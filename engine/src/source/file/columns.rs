//! Asks a row type for the names of its fields, without a value of it.

use std::fmt;

use serde::de::{self, DeserializeOwned, Deserializer, Visitor};
use serde::forward_to_deserialize_any;

/// Names of the fields of a struct, `None` where `R` is something else (a tuple, a map, a struct
/// with flattened parts).
pub(super) fn columns_of<R: DeserializeOwned>() -> Option<&'static [&'static str]> {
    let mut columns = None;
    let probed = R::deserialize(Probe { columns: &mut columns });
    // It always ends in the probe's error, or in a value made of nothing; the names are what counts.
    drop(probed);
    columns
}

struct Probe<'a> {
    columns: &'a mut Option<&'static [&'static str]>,
}

#[derive(Debug)]
struct Probed;

impl fmt::Display for Probed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("only the fields were asked for")
    }
}

impl std::error::Error for Probed {}

impl de::Error for Probed {
    fn custom<M: fmt::Display>(_: M) -> Self {
        Self
    }
}

impl<'de> Deserializer<'de> for Probe<'_> {
    type Error = Probed;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Probed> {
        Err(Probed)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Probed> {
        *self.columns = Some(fields);
        Err(Probed)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::columns_of;

    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only its field names are asked for")]
    struct Row {
        a: i64,
        #[serde(rename = "B")]
        b: Option<String>,
    }

    #[test]
    fn a_struct_tells_its_columns_and_a_tuple_none() {
        assert_eq!(columns_of::<Row>(), Some(["a", "B"].as_slice()));
        assert_eq!(columns_of::<(i64, String)>(), None);
    }
}
