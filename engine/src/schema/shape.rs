//! A shape's text, parsed.

use std::collections::BTreeMap;

/// How many bytes a plain value takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Width {
    /// So many.
    Fixed(usize),
    /// Seven bits a byte, and so many at most.
    Varint(usize),
    /// A length and as many.
    Counted,
}

/// How a part of a value is encoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Its type's name and its width: types of one width are not one type.
    Plain(&'static str, Width),
    Unit,
    Option(Box<Part>),
    Seq(Box<Part>),
    Map(Box<Part>, Box<Part>),
    Tuple(Vec<Part>),
    Named(String),
    /// Nested too deeply to have been traced.
    Unknown,
}

/// The types that have no parts.
const PLAIN: [(&str, Width); 16] = [
    ("bool", Width::Fixed(1)),
    ("u8", Width::Fixed(1)),
    ("i8", Width::Fixed(1)),
    ("f32", Width::Fixed(4)),
    ("f64", Width::Fixed(8)),
    ("u16", Width::Varint(3)),
    ("i16", Width::Varint(3)),
    ("u32", Width::Varint(5)),
    ("i32", Width::Varint(5)),
    ("u64", Width::Varint(10)),
    ("i64", Width::Varint(10)),
    ("u128", Width::Varint(19)),
    ("i128", Width::Varint(19)),
    ("char", Width::Counted),
    ("str", Width::Counted),
    ("bytes", Width::Counted),
];

/// What a name stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Definition {
    /// Fields with their names.
    Struct(Vec<(String, Part)>),
    /// Variants with their names, in the order of their numbers.
    Enum(Vec<(String, Payload)>),
    /// Another name for a part.
    Newtype(Part),
}

/// What a variant carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Payload {
    Part(Part),
    Struct(Vec<(String, Part)>),
}

/// A whole shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) root: Part,
    pub(super) definitions: BTreeMap<String, Definition>,
}

impl Shape {
    /// Parses what [`shape_of`](super::shape_of) wrote; `None` where a name has signs in it that the
    /// text needs for itself.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut text = Text(text);
        let root = text.part()?;
        let mut definitions = BTreeMap::new();
        while text.takes("; ") {
            let name = text.name()?;
            text.wants(" = ")?;
            definitions.insert(name, text.definition()?);
        }
        text.0.is_empty().then_some(Self { root, definitions })
    }
}

/// What is left to parse.
#[derive(Clone, Copy)]
struct Text<'a>(&'a str);

impl Text<'_> {
    fn takes(&mut self, sign: &str) -> bool {
        match self.0.strip_prefix(sign) {
            Some(rest) => {
                self.0 = rest;
                true
            }
            None => false,
        }
    }

    fn wants(&mut self, sign: &str) -> Option<()> {
        self.takes(sign).then_some(())
    }

    fn name(&mut self) -> Option<String> {
        let is_end = |c: char| !(c.is_alphanumeric() || c == '_');
        let (name, rest) = self.0.split_at(self.0.find(is_end).unwrap_or(self.0.len()));
        self.0 = rest;
        (!name.is_empty()).then(|| name.to_owned())
    }

    fn part(&mut self) -> Option<Part> {
        if self.takes("?…") || self.takes("[]") || self.takes("{}") {
            return Some(Part::Unknown);
        }
        if self.takes("?") {
            return Some(Part::Option(Box::new(self.part()?)));
        }
        if self.takes("[") {
            let element = self.part()?;
            self.wants(",]")?;
            return Some(Part::Seq(Box::new(element)));
        }
        if self.takes("{") {
            let key = self.part()?;
            self.wants(",")?;
            let value = self.part()?;
            self.wants(",}")?;
            return Some(Part::Map(Box::new(key), Box::new(value)));
        }
        if self.0.starts_with('(') {
            return self.tuple();
        }
        let name = self.name()?;
        if self.0.starts_with('(') {
            return self.tuple();
        }
        let plain = PLAIN.iter().find(|(plain, _)| *plain == name);
        Some(plain.map_or(Part::Named(name), |(plain, width)| Part::Plain(plain, *width)))
    }

    fn tuple(&mut self) -> Option<Part> {
        self.wants("(")?;
        let mut parts = Vec::new();
        while !self.takes(")") {
            parts.push(self.part()?);
            self.wants(",")?;
        }
        Some(if parts.is_empty() { Part::Unit } else { Part::Tuple(parts) })
    }

    /// `{name: part,…}`; a map has no names.
    fn fields(&mut self) -> Option<Vec<(String, Part)>> {
        self.wants("{")?;
        let mut fields = Vec::new();
        while !self.takes("}") {
            let name = self.name()?;
            self.wants(": ")?;
            fields.push((name, self.part()?));
            self.wants(",")?;
        }
        Some(fields)
    }

    fn definition(&mut self) -> Option<Definition> {
        if self.takes("enum ") {
            let mut variants = vec![self.variant()?];
            while self.takes(" | ") {
                variants.push(self.variant()?);
            }
            return Some(Definition::Enum(variants));
        }
        let mut ahead = *self;
        if let Some(fields) = ahead.fields() {
            *self = ahead;
            return Some(Definition::Struct(fields));
        }
        self.part().map(Definition::Newtype)
    }

    fn variant(&mut self) -> Option<(String, Payload)> {
        let name = self.name()?;
        let payload = if self.takes(" ") {
            Payload::Part(self.part()?)
        } else if self.0.starts_with('{') {
            Payload::Struct(self.fields()?)
        } else {
            Payload::Part(self.tuple()?)
        };
        Some((name, payload))
    }
}
