//! How keys, values and rows become bytes.
//!
//! ```text
//! row      = ts: i64 big-endian | schema id: u16 big-endian | value: postcard
//! row key  = key group: u16 big-endian | key                (value, reducing, aggregating state)
//!          | key group: u16 big-endian | key length: u32 big-endian | key | part    (the others)
//! part     = map key                                                          (map state)
//!          | sequence: u64 big-endian                                         (list state)
//!          | family, qualifier, time: see `state::table::cell`                (table state)
//! ```
//! A string key is its UTF-8 bytes, so that a key a person types hashes to what the engine hashes.
//! Values are postcard, which cannot tell types apart by itself: each state's value type is traced
//! once at registration ([`crate::schema`]) and the trace is kept in the job's manifest under the
//! schema id, so that a changed type is an error that names both, never a wrong value.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::Error;

/// Bytes of a row in front of its value.
pub(crate) const ROW_HEADER_BYTES: usize = 10;
/// The key group of synthetic rows; a job has fewer groups than this, so no key is in it.
pub(crate) const CANARY_GROUP: u16 = u16::MAX;
/// Bytes of the key group in front of a row key.
pub(crate) const GROUP_BYTES: usize = 2;

/// A key of a keyed stream or of a map state: encodes to bytes that hash and sort.
///
/// # Contract
/// Equal keys encode to equal bytes, different keys to different ones.
pub trait Key: ToOwned + Send + Sync + 'static {
    /// Appends the encoded key to `out`.
    fn encode(&self, out: &mut Vec<u8>);
    /// Decodes what [`Key::encode`] wrote; `None` where the bytes are not such a key.
    fn decode(bytes: &[u8]) -> Option<Self::Owned>;
    /// Shows an encoded key to people; the bytes in hexadecimal unless the type knows better.
    fn readable(bytes: &[u8]) -> String {
        bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
    }
}

impl Key for str {
    #[inline]
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.as_bytes());
    }
    fn decode(bytes: &[u8]) -> Option<String> {
        std::str::from_utf8(bytes).ok().map(str::to_owned)
    }
    fn readable(bytes: &[u8]) -> String {
        String::from_utf8_lossy(bytes).into_owned()
    }
}

impl Key for String {
    #[inline]
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.as_bytes());
    }
    fn decode(bytes: &[u8]) -> Option<Self> {
        str::decode(bytes)
    }
    fn readable(bytes: &[u8]) -> String {
        str::readable(bytes)
    }
}

macro_rules! integer_key {
    ($($t:ty),+) => {$(
        impl Key for $t {
            #[inline]
            fn encode(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_be_bytes());
            }
            fn decode(bytes: &[u8]) -> Option<Self> {
                bytes.try_into().ok().map(Self::from_be_bytes)
            }
            fn readable(bytes: &[u8]) -> String {
                Self::decode(bytes).map(|key| key.to_string()).unwrap_or_default()
            }
        }
    )+};
}
integer_key!(u8, u16, u32, u64, u128);

/// Signed integers flip the sign bit, so that their bytes sort like the numbers.
macro_rules! signed_key {
    ($($t:ty as $u:ty),+) => {$(
        impl Key for $t {
            #[inline]
            fn encode(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&((*self as $u) ^ (1 << (<$u>::BITS - 1))).to_be_bytes());
            }
            fn decode(bytes: &[u8]) -> Option<Self> {
                let raw = <$u>::from_be_bytes(bytes.try_into().ok()?);
                Some((raw ^ (1 << (<$u>::BITS - 1))) as $t)
            }
            fn readable(bytes: &[u8]) -> String {
                Self::decode(bytes).map(|key| key.to_string()).unwrap_or_default()
            }
        }
    )+};
}
signed_key!(i32 as u32, i64 as u64);

impl<A: Key + Clone, B: Key + Clone> Key for (A, B)
where
    A: ToOwned<Owned = A>,
    B: ToOwned<Owned = B>,
{
    fn encode(&self, out: &mut Vec<u8>) {
        let at = out.len();
        out.extend_from_slice(&[0; 4]);
        self.0.encode(out);
        let length = (out.len() - at - 4) as u32;
        if let Some(slot) = out.get_mut(at..at + 4) {
            slot.copy_from_slice(&length.to_be_bytes());
        }
        self.1.encode(out);
    }
    fn decode(bytes: &[u8]) -> Option<Self> {
        let (length, rest) = bytes.split_first_chunk::<4>()?;
        let (a, b) = rest.split_at_checked(u32::from_be_bytes(*length) as usize)?;
        Some((A::decode(a)?, B::decode(b)?))
    }
    fn readable(bytes: &[u8]) -> String {
        let parts = bytes
            .split_first_chunk::<4>()
            .and_then(|(length, rest)| rest.split_at_checked(u32::from_be_bytes(*length) as usize));
        let (a, b) = parts.unwrap_or_default();
        format!("{}, {}", A::readable(a), B::readable(b))
    }
}

/// Appends a value's bytes.
pub(crate) fn encode_value<V: Serialize>(
    value: &V,
    out: Vec<u8>,
    place: &str,
) -> Result<Vec<u8>, Error> {
    postcard::to_extend(value, out).map_err(|e| Error::Codec {
        place: place.to_owned(),
        detail: format!("the value cannot be encoded: {e}"),
    })
}

/// Decodes a value; `place` names the state or file in the error.
pub(crate) fn decode_value<V: DeserializeOwned>(
    bytes: &[u8],
    place: impl Fn() -> String,
) -> Result<V, Error> {
    postcard::from_bytes(bytes).map_err(|e| Error::Codec {
        place: place(),
        detail: format!(
            "{} bytes cannot be read as {}: {e}",
            bytes.len(),
            std::any::type_name::<V>()
        ),
    })
}

/// Writes a row: header and value.
#[inline]
pub(crate) fn row_header(ts: i64, schema: u16, row: &mut Vec<u8>) {
    row.clear();
    row.extend_from_slice(&ts.to_be_bytes());
    row.extend_from_slice(&schema.to_be_bytes());
}

/// Reads a row's time; rows come from this build or through a checked frame, so a short one means
/// damage below the checksums and reads as the oldest possible.
#[inline]
pub(crate) fn row_ts(row: &[u8]) -> i64 {
    row.first_chunk::<8>().map_or(i64::MIN, |b| i64::from_be_bytes(*b))
}

/// The version of the shape that a row was written with.
#[inline]
pub(crate) fn row_schema(row: &[u8]) -> u16 {
    let id = row.get(8..ROW_HEADER_BYTES).and_then(<[u8]>::first_chunk);
    id.map_or(0, |id| u16::from_be_bytes(*id))
}

/// Stamps a row anew.
#[inline]
pub(crate) fn set_row_ts(row: &mut [u8], ts: i64) {
    if let Some(slot) = row.first_chunk_mut::<8>() {
        *slot = ts.to_be_bytes();
    }
}

/// The value's bytes.
#[inline]
pub(crate) fn row_value(row: &[u8]) -> &[u8] {
    row.get(ROW_HEADER_BYTES..).unwrap_or_default()
}

/// Key group of a row key.
#[inline]
pub(crate) fn group_of(row_key: &[u8]) -> u16 {
    row_key.first_chunk::<GROUP_BYTES>().map_or(0, |group| u16::from_be_bytes(*group))
}

/// Tells whether a row is a synthetic one, which no user ever sees or counts.
pub(crate) fn is_canary(row_key: &[u8]) -> bool {
    group_of(row_key) == CANARY_GROUP
}

/// Logical bytes of an entry: key without its group, value without its header (SEMANTICS §9).
#[inline]
pub(crate) fn logical_bytes(row_key: &[u8], row: &[u8]) -> u64 {
    (row_key.len().saturating_sub(GROUP_BYTES) + row.len().saturating_sub(ROW_HEADER_BYTES)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn keys_come_back_and_differ(
            a in ".{0,8}", b in any::<i64>(), c in ".{0,8}", d in any::<i64>()
        ) {
            let (mut x, mut y) = (Vec::new(), Vec::new());
            (a.clone(), b).encode(&mut x);
            (c.clone(), d).encode(&mut y);
            prop_assert_eq!(x == y, (&a, b) == (&c, d));
            prop_assert_eq!(<(String, i64)>::decode(&x), Some((a, b)));
            let (mut x, mut y) = (Vec::new(), Vec::new());
            b.encode(&mut x);
            d.encode(&mut y);
            prop_assert_eq!(x.cmp(&y), b.cmp(&d));
        }
    }
}
