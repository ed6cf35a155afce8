//! A cursor over bytes from outside: every step is checked, none panics.

/// Bytes that are not what their format demands; says what was expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(super) struct Malformed(pub(super) &'static str);

/// What is left to read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(super) fn take(&mut self, bytes: usize) -> Result<&'a [u8], Malformed> {
        let (head, rest) =
            self.rest.split_at_checked(bytes).ok_or(Malformed("the bytes end too early"))?;
        self.rest = rest;
        Ok(head)
    }

    fn chunk<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (head, rest) =
            self.rest.split_first_chunk::<N>().ok_or(Malformed("the bytes end too early"))?;
        self.rest = rest;
        Ok(*head)
    }

    pub(super) fn byte(&mut self) -> Result<u8, Malformed> {
        self.chunk::<1>().map(|[byte]| byte)
    }

    pub(super) fn u32_le(&mut self) -> Result<u32, Malformed> {
        self.chunk().map(u32::from_le_bytes)
    }

    pub(super) fn u64_le(&mut self) -> Result<u64, Malformed> {
        self.chunk().map(u64::from_le_bytes)
    }

    pub(super) fn u16_be(&mut self) -> Result<u16, Malformed> {
        self.chunk().map(u16::from_be_bytes)
    }

    pub(super) fn i32_be(&mut self) -> Result<i32, Malformed> {
        self.chunk().map(i32::from_be_bytes)
    }

    pub(super) fn i64_be(&mut self) -> Result<i64, Malformed> {
        self.chunk().map(i64::from_be_bytes)
    }

    /// A number of things that follow, each at least `bytes_min` long, as Java writes it.
    pub(super) fn count_be(&mut self, bytes_min: usize) -> Result<usize, Malformed> {
        let count = usize::try_from(self.i32_be()?)
            .map_err(|_negative| Malformed("a count is negative"))?;
        if count.saturating_mul(bytes_min) > self.rest.len() {
            return Err(Malformed("a count is larger than the bytes that follow"));
        }
        Ok(count)
    }

    /// RocksDB's (and protobuf's) variable-length number.
    pub(super) fn varint(&mut self) -> Result<u64, Malformed> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Malformed("a variable-length number does not end"))
    }

    pub(super) fn varint_len(&mut self) -> Result<usize, Malformed> {
        usize::try_from(self.varint()?).map_err(|_large| Malformed("a length is too large"))
    }

    pub(super) fn varint_u32(&mut self) -> Result<u32, Malformed> {
        u32::try_from(self.varint()?).map_err(|_large| Malformed("a number is too large"))
    }

    /// Bytes behind their length.
    pub(super) fn prefixed(&mut self) -> Result<&'a [u8], Malformed> {
        let length = self.varint_len()?;
        self.take(length)
    }

    /// What Java's `writeUTF` writes. Names outside the basic plane come out with replacements.
    pub(super) fn utf(&mut self) -> Result<String, Malformed> {
        let length = usize::from(self.u16_be()?);
        Ok(String::from_utf8_lossy(self.take(length)?).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_and_never_beyond_the_end() {
        let mut cursor = Cursor::new(&[0xac, 0x02, 3, b'a', b'b', b'c', 0, 1, b'x', 7]);
        assert_eq!(cursor.varint(), Ok(300));
        assert_eq!(cursor.prefixed(), Ok(&b"abc"[..]));
        assert_eq!(cursor.utf().as_deref(), Ok("x"));
        assert!(cursor.u32_le().is_err());
        assert_eq!(cursor.byte(), Ok(7));
        assert!(cursor.is_empty() && cursor.byte().is_err());
        assert!(Cursor::new(&[0xff; 11]).varint().is_err());
        assert!(Cursor::new(&[0x7f, 0xff, 0xff, 0xff, 0]).count_be(1).is_err());
        assert!(Cursor::new(&[0xff, 0xff, 0xff, 0xff, 0]).count_be(1).is_err());
    }
}
