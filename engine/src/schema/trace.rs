//! The shape of a type, found by asking its `Deserialize` what it expects.
//!
//! A tracing deserializer answers every question with a smallest value and writes the question
//! down. An enum shows one variant per pass, so passes are repeated until every variant of every
//! enum has been seen; options and sequences hold one element, until [`DEPTH_MAX`] ends recursion.
//! Equal shapes mean equal postcard encodings.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use serde::de::{
    self, DeserializeOwned, DeserializeSeed, EnumAccess, IntoDeserializer, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};

/// Nesting below which options and sequences are empty.
const DEPTH_MAX: usize = 12;
/// Passes after which tracing gives up.
const PASSES_MAX: usize = 10_000;

/// Describes the shape of `V`.
///
/// # Errors
/// Where `V` cannot be traced: it is untagged or flattened, or refuses small values.
pub(crate) fn shape_of<V: DeserializeOwned>() -> Result<String, TraceError> {
    let mut types = Types::default();
    for _ in 0..PASSES_MAX {
        let mut root = String::new();
        types.opened = false;
        V::deserialize(Tracer { types: &mut types, out: &mut root, depth: 0 })?;
        if types.is_complete() {
            return Ok(types.describe(&root));
        }
        if !types.opened {
            break;
        }
    }
    Err(TraceError("an enum nests itself too deeply to be traced".into()))
}

/// Why a type cannot be traced.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct TraceError(String);

impl de::Error for TraceError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

#[derive(Debug, Default)]
struct Types {
    structs: BTreeMap<&'static str, String>,
    /// Per enum, its variants in order, `None` where not seen yet.
    enums: BTreeMap<&'static str, Vec<(&'static str, Option<String>)>>,
    /// This pass has shown a new variant.
    opened: bool,
}

impl Types {
    fn is_complete(&self) -> bool {
        self.enums.values().flatten().all(|(_, shape)| shape.is_some())
    }

    /// Notes what a name stands for. Two types of one name would be taken for one another.
    fn define(&mut self, name: &'static str, shape: String) -> Result<(), TraceError> {
        // deep down a type is cut off, and so looks different
        let is_cut = |shape: &str| ["?…", "[]", "{}"].iter().any(|cut| shape.contains(cut));
        let known = self.structs.entry(name).or_insert_with(|| shape.clone());
        if is_cut(known) && !is_cut(&shape) {
            *known = shape;
        } else if *known != shape && !is_cut(&shape) {
            return Err(TraceError(format!(
                "two different types in it are both called {name}; give one another name, as with \
                 #[serde(rename = \"…\")]"
            )));
        }
        Ok(())
    }

    fn describe(&self, root: &str) -> String {
        let mut text = root.to_owned();
        for (name, shape) in &self.structs {
            text.extend(["; ", name, " = ", shape]);
        }
        for (name, variants) in &self.enums {
            let variants: Vec<String> = variants
                .iter()
                .map(|(name, shape)| format!("{name}{}", shape.as_deref().unwrap_or("?")))
                .collect();
            text.extend(["; ", name, " = enum ", &variants.join(" | ")]);
        }
        text
    }
}

struct Tracer<'a> {
    types: &'a mut Types,
    out: &'a mut String,
    depth: usize,
}

macro_rules! plain {
    ($($method:ident $visit:ident $value:expr, $name:literal;)+) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TraceError> {
            self.out.push_str($name);
            visitor.$visit($value)
        }
    )+};
}

impl<'de> de::Deserializer<'de> for Tracer<'_> {
    type Error = TraceError;

    fn is_human_readable(&self) -> bool {
        false
    }

    plain! {
        deserialize_bool visit_bool false, "bool";
        deserialize_i8 visit_i8 0, "i8";
        deserialize_i16 visit_i16 0, "i16";
        deserialize_i32 visit_i32 0, "i32";
        deserialize_i64 visit_i64 0, "i64";
        deserialize_i128 visit_i128 0, "i128";
        deserialize_u8 visit_u8 0, "u8";
        deserialize_u16 visit_u16 0, "u16";
        deserialize_u32 visit_u32 0, "u32";
        deserialize_u64 visit_u64 0, "u64";
        deserialize_u128 visit_u128 0, "u128";
        deserialize_f32 visit_f32 0.0, "f32";
        deserialize_f64 visit_f64 0.0, "f64";
        deserialize_char visit_char 'a', "char";
        deserialize_str visit_str "", "str";
        deserialize_string visit_str "", "str";
        deserialize_bytes visit_bytes &[], "bytes";
        deserialize_byte_buf visit_bytes &[], "bytes";
        deserialize_identifier visit_u32 0, "identifier";
    }

    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, TraceError> {
        Err(TraceError("it does not say which types it expects (untagged or flattened)".into()))
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TraceError> {
        self.deserialize_any(visitor)
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TraceError> {
        self.out.push_str("()");
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, TraceError> {
        self.out.push_str(name);
        visitor.visit_unit()
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TraceError> {
        if self.depth >= DEPTH_MAX {
            self.out.push_str("?…");
            return visitor.visit_none();
        }
        self.out.push('?');
        visitor.visit_some(Tracer { types: self.types, out: self.out, depth: self.depth + 1 })
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, TraceError> {
        self.out.push_str(name);
        let mut shape = String::new();
        let inner = Tracer { types: self.types, out: &mut shape, depth: self.depth + 1 };
        let value = visitor.visit_newtype_struct(inner)?;
        self.types.define(name, shape)?;
        Ok(value)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TraceError> {
        let length = usize::from(self.depth < DEPTH_MAX);
        self.out.push('[');
        let out = &mut *self.out;
        let parts =
            Parts { types: self.types, out, depth: self.depth + 1, left: length, names: &[] };
        let value = visitor.visit_seq(parts)?;
        self.out.push(']');
        Ok(value)
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, TraceError> {
        self.out.push('(');
        let out = &mut *self.out;
        let parts = Parts { types: self.types, out, depth: self.depth + 1, left: len, names: &[] };
        let value = visitor.visit_seq(parts)?;
        self.out.push(')');
        Ok(value)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, TraceError> {
        self.out.push_str(name);
        self.deserialize_tuple(len, visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TraceError> {
        let length = 2 * usize::from(self.depth < DEPTH_MAX);
        self.out.push('{');
        let out = &mut *self.out;
        let parts =
            Parts { types: self.types, out, depth: self.depth + 1, left: length, names: &[] };
        let value = visitor.visit_map(parts)?;
        self.out.push('}');
        Ok(value)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, TraceError> {
        self.out.push_str(name);
        let mut shape = String::from("{");
        let left = fields.len();
        let parts = Parts {
            types: self.types,
            out: &mut shape,
            depth: self.depth + 1,
            left,
            names: fields,
        };
        let value = visitor.visit_seq(parts)?;
        shape.push('}');
        self.types.define(name, shape)?;
        Ok(value)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, TraceError> {
        self.out.push_str(name);
        let seen = self
            .types
            .enums
            .entry(name)
            .or_insert_with(|| variants.iter().map(|variant| (*variant, None)).collect());
        let new = seen.iter().position(|(_, shape)| shape.is_none());
        // deep down only the first variant is taken, in the hope that it does not recurse
        let index = if self.depth < DEPTH_MAX { new.unwrap_or(0) } else { 0 };
        let mut shape = String::new();
        if let Some(slot) = seen.get_mut(index).filter(|(_, shape)| shape.is_none()) {
            // marks it, so that the same enum further down shows another variant
            slot.1 = Some(String::new());
            self.types.opened = true;
        }
        let inner = Tracer { types: self.types, out: &mut shape, depth: self.depth + 1 };
        let value = visitor.visit_enum(Variant { tracer: inner, index: index as u32 })?;
        let slot = self.types.enums.get_mut(name).and_then(|seen| seen.get_mut(index));
        if let Some((_, Some(known))) = slot
            && known.is_empty()
        {
            *known = shape;
        }
        Ok(value)
    }
}

/// The parts of a tuple, struct, sequence or map.
struct Parts<'a> {
    types: &'a mut Types,
    out: &'a mut String,
    depth: usize,
    left: usize,
    names: &'static [&'static str],
}

impl Parts<'_> {
    fn part<'de, S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, TraceError> {
        if self.left == 0 {
            return Ok(None);
        }
        if let Some(name) = self.names.get(self.names.len().wrapping_sub(self.left)) {
            write!(self.out, "{name}: ").map_err(|e| TraceError(e.to_string()))?;
        }
        self.left -= 1;
        let tracer = Tracer { types: self.types, out: self.out, depth: self.depth };
        let value = seed.deserialize(tracer)?;
        self.out.push(',');
        Ok(Some(value))
    }
}

impl<'de> SeqAccess<'de> for Parts<'_> {
    type Error = TraceError;
    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, TraceError> {
        self.part(seed)
    }
}

impl<'de> MapAccess<'de> for Parts<'_> {
    type Error = TraceError;
    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, TraceError> {
        self.part(seed)
    }
    fn next_value_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<S::Value, TraceError> {
        self.part(seed)?.ok_or_else(|| TraceError("a map without values".into()))
    }
}

struct Variant<'a> {
    tracer: Tracer<'a>,
    index: u32,
}

impl<'de, 'a> EnumAccess<'de> for Variant<'a> {
    type Error = TraceError;
    type Variant = Tracer<'a>;
    fn variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<(S::Value, Tracer<'a>), TraceError> {
        let index: de::value::U32Deserializer<TraceError> = self.index.into_deserializer();
        Ok((seed.deserialize(index)?, self.tracer))
    }
}

impl<'de> VariantAccess<'de> for Tracer<'_> {
    type Error = TraceError;

    fn unit_variant(self) -> Result<(), TraceError> {
        self.out.push_str("()");
        Ok(())
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<S::Value, TraceError> {
        self.out.push(' ');
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(
        self,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, TraceError> {
        de::Deserializer::deserialize_tuple(self, len, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, TraceError> {
        self.out.push('{');
        let Tracer { types, out, depth } = self;
        let left = fields.len();
        let value =
            visitor.visit_seq(Parts { types, out, depth: depth + 1, left, names: fields })?;
        out.push('}');
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Deserialize)]
    struct A {
        _a: u32,
        _b: Option<String>,
    }

    #[derive(Deserialize)]
    enum E {
        One,
        Two(#[expect(dead_code, reason = "only its shape matters")] A),
        Three { _x: i64, _more: Vec<E> },
    }

    #[derive(Deserialize)]
    #[expect(dead_code, reason = "only its shape matters")]
    struct Holder(Vec<E>, BTreeMap<u8, (bool, f64)>);

    #[test]
    fn shapes_tell_types_and_fields_apart() {
        #[derive(Deserialize)]
        struct Other {
            _a: u64,
            _b: Option<String>,
        }
        assert_ne!(shape_of::<A>(), shape_of::<Other>());
        assert_eq!(shape_of::<A>(), shape_of::<A>());
        assert_ne!(shape_of::<u32>(), shape_of::<u64>());
        assert_eq!(shape_of::<A>().unwrap(), "A; A = {_a: u32,_b: ?str,}");
    }

    #[test]
    fn every_variant_of_nested_and_recursive_enums_is_seen() {
        let shape = shape_of::<Holder>().unwrap();
        for part in ["One()", "Two A", "Three{_x: i64,", "{u8,(bool,f64,),}", "A = {_a: u32"] {
            assert!(shape.contains(part), "{part} in {shape}");
        }
    }

    /// Else a change of the second would go unseen.
    #[test]
    fn two_types_of_one_name_are_refused() {
        mod other {
            #[derive(serde::Deserialize)]
            pub(super) struct A {
                _c: u8,
            }
        }
        let error = shape_of::<(A, other::A)>().unwrap_err().to_string();
        assert!(error.contains("both called A"), "{error}");
        assert!(shape_of::<(A, A)>().is_ok());
    }

    #[test]
    fn untagged_types_are_refused() {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Either {
            A { _a: u32 },
        }
        assert!(shape_of::<Either>().unwrap_err().to_string().contains("untagged"));
    }
}
