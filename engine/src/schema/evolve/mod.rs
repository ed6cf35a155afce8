//! Reads values of an older shape: a row says which shape it was written with.
//!
//! A field that was added and is an option reads as `None`; fields may change places; an enum may
//! get variants. Everything else is another type, and refused when the job starts.

use std::collections::BTreeSet;

use super::shape::{Definition, Part, Payload, Shape, Width};

/// The way from one shape to another.
#[derive(Clone, Debug)]
pub(crate) struct Evolution {
    old: Shape,
    new: Shape,
}

/// Fields with their names, or the parts of a tuple without.
type Fields = [(String, Part)];

impl Evolution {
    /// Finds the way.
    ///
    /// # Errors
    /// Which part of the value has changed in a way that old rows cannot be read.
    pub(crate) fn between(old: &str, new: &str) -> Result<Self, String> {
        let parse = |text: &str| {
            let unknown = || "it cannot be compared: a name in it has signs".to_owned();
            Shape::parse(text).ok_or_else(unknown)
        };
        let evolution = Self { old: parse(old)?, new: parse(new)? };
        let mut met = BTreeSet::new();
        evolution.check(&evolution.old.root, &evolution.new.root, "the value", &mut met)?;
        Ok(evolution)
    }

    /// Rewrites an old value's bytes; `None` where they are not such a value.
    pub(crate) fn rewrite(&self, mut old: &[u8], new: &mut Vec<u8>) -> Option<()> {
        self.part(&self.old.root, &self.new.root, &mut old, new)?;
        old.is_empty().then_some(())
    }

    fn check(
        &self,
        old: &Part,
        new: &Part,
        place: &str,
        met: &mut BTreeSet<(String, String)>,
    ) -> Result<(), String> {
        match (old, new) {
            (Part::Unknown, _) | (_, Part::Unknown) => {
                Err(format!("{place} is nested too deeply to be compared"))
            }
            (Part::Plain(..) | Part::Unit, _) if old == new => Ok(()),
            (Part::Option(old), Part::Option(new)) | (Part::Seq(old), Part::Seq(new)) => {
                self.check(old, new, place, met)
            }
            (Part::Map(old_key, old_value), Part::Map(new_key, new_value)) => {
                self.check(old_key, new_key, place, met)?;
                self.check(old_value, new_value, place, met)
            }
            (Part::Tuple(old), Part::Tuple(new)) if old.len() == new.len() => {
                old.iter().zip(new).try_for_each(|(old, new)| self.check(old, new, place, met))
            }
            (Part::Named(old), Part::Named(new)) => {
                if met.insert((old.clone(), new.clone())) {
                    self.check_definition(old, new, place, met)?;
                }
                Ok(())
            }
            _ => Err(format!("{place} has another type")),
        }
    }

    fn check_definition(
        &self,
        old_name: &str,
        new_name: &str,
        place: &str,
        met: &mut BTreeSet<(String, String)>,
    ) -> Result<(), String> {
        let (old, new) = (self.old.definitions.get(old_name), self.new.definitions.get(new_name));
        match (old, new) {
            (None, None) => Ok(()),
            (Some(Definition::Newtype(old)), Some(Definition::Newtype(new))) => {
                self.check(old, new, place, met)
            }
            (Some(Definition::Struct(old)), Some(Definition::Struct(new))) => {
                self.check_fields(old, new, new_name, met)
            }
            (Some(Definition::Enum(old)), Some(Definition::Enum(new))) => {
                for (variant, old) in old {
                    let place = format!("{new_name}::{variant}");
                    match (old, payload(new, variant)) {
                        (_, None) => return Err(format!("{place} is gone")),
                        (Payload::Part(old), Some((_, Payload::Part(new)))) => {
                            self.check(old, new, &place, met)?;
                        }
                        (Payload::Struct(old), Some((_, Payload::Struct(new)))) => {
                            self.check_fields(old, new, &place, met)?;
                        }
                        _ => return Err(format!("{place} carries something else")),
                    }
                }
                Ok(())
            }
            _ => Err(format!("{place} has another type: {old_name} was not what {new_name} is")),
        }
    }

    fn check_fields(
        &self,
        old: &Fields,
        new: &Fields,
        name: &str,
        met: &mut BTreeSet<(String, String)>,
    ) -> Result<(), String> {
        for (field, old) in old {
            let place = format!("{name}.{field}");
            let new = find(new, field).ok_or_else(|| format!("{place} is gone"))?;
            self.check(old, new, &place, met)?;
        }
        let is_added = |(field, _): &&(String, Part)| find(old, field).is_none();
        match new
            .iter()
            .filter(is_added)
            .find(|(_, part)| !matches!(part, Part::Option(_) | Part::Unknown))
        {
            Some((field, _)) => Err(format!("{name}.{field} was added and is not an Option")),
            None => Ok(()),
        }
    }

    fn part(&self, old: &Part, new: &Part, input: &mut &[u8], out: &mut Vec<u8>) -> Option<()> {
        match (old, new) {
            (Part::Plain(..) | Part::Unit, _) => {
                out.extend_from_slice(self.extent(old, input)?);
            }
            (Part::Option(old), Part::Option(new)) => {
                let tag = *take(input, 1)?.first()?;
                out.push(tag);
                if tag != 0 {
                    self.part(old, new, input, out)?;
                }
            }
            (Part::Seq(old), Part::Seq(new)) => {
                for _ in 0..copy_length(input, out)? {
                    self.part(old, new, input, out)?;
                }
            }
            (Part::Map(old_key, old_value), Part::Map(new_key, new_value)) => {
                for _ in 0..copy_length(input, out)? {
                    self.part(old_key, new_key, input, out)?;
                    self.part(old_value, new_value, input, out)?;
                }
            }
            (Part::Tuple(old), Part::Tuple(new)) => {
                for (old, new) in old.iter().zip(new) {
                    self.part(old, new, input, out)?;
                }
            }
            (Part::Named(old), Part::Named(new)) => {
                self.definition(old, new, input, out)?;
            }
            _ => return None,
        }
        Some(())
    }

    fn definition(&self, old: &str, new: &str, input: &mut &[u8], out: &mut Vec<u8>) -> Option<()> {
        match (self.old.definitions.get(old), self.new.definitions.get(new)) {
            (None, None) => Some(()),
            (Some(Definition::Newtype(old)), Some(Definition::Newtype(new))) => {
                self.part(old, new, input, out)
            }
            (Some(Definition::Struct(old)), Some(Definition::Struct(new))) => {
                self.fields(old, new, input, out)
            }
            (Some(Definition::Enum(old)), Some(Definition::Enum(new))) => {
                let index = number(varint(input, 5)?)? as usize;
                let (name, old) = old.get(index)?;
                let (index, new) = payload(new, name)?;
                put_varint(index as u64, out);
                match (old, new) {
                    (Payload::Part(old), Payload::Part(new)) => self.part(old, new, input, out),
                    (Payload::Struct(old), Payload::Struct(new)) => {
                        self.fields(old, new, input, out)
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// In the new order; what is not there yet is none.
    fn fields(
        &self,
        old: &Fields,
        new: &Fields,
        input: &mut &[u8],
        out: &mut Vec<u8>,
    ) -> Option<()> {
        let extents = old.iter().map(|(_, part)| self.extent(part, input));
        let extents = extents.collect::<Option<Vec<&[u8]>>>()?;
        for (field, new) in new {
            match old.iter().position(|(name, _)| name == field) {
                Some(at) => {
                    let mut extent = *extents.get(at)?;
                    self.part(&old.get(at)?.1, new, &mut extent, out)?;
                }
                None => out.push(0),
            }
        }
        Some(())
    }

    /// Takes an old part's bytes off the input.
    fn extent<'a>(&self, part: &Part, input: &mut &'a [u8]) -> Option<&'a [u8]> {
        let whole = *input;
        self.skip(part, input)?;
        whole.get(..whole.len() - input.len())
    }

    fn skip(&self, part: &Part, input: &mut &[u8]) -> Option<()> {
        match part {
            Part::Unit => {}
            Part::Plain(_, Width::Fixed(bytes)) => drop(take(input, *bytes)?),
            Part::Plain(_, Width::Varint(bytes_max)) => drop(varint(input, *bytes_max)?),
            Part::Plain(_, Width::Counted) => {
                let length = number(varint(input, 10)?)?;
                take(input, usize::try_from(length).ok()?)?;
            }
            Part::Option(inner) => {
                if take(input, 1)? != [0] {
                    self.skip(inner, input)?;
                }
            }
            Part::Seq(element) => {
                for _ in 0..number(varint(input, 10)?)? {
                    self.skip(element, input)?;
                }
            }
            Part::Map(key, value) => {
                for _ in 0..number(varint(input, 10)?)? {
                    self.skip(key, input)?;
                    self.skip(value, input)?;
                }
            }
            Part::Tuple(parts) => parts.iter().try_for_each(|part| self.skip(part, input))?,
            Part::Named(name) => self.skip_definition(name, input)?,
            Part::Unknown => return None,
        }
        Some(())
    }

    fn skip_definition(&self, name: &str, input: &mut &[u8]) -> Option<()> {
        let skip_fields = |fields: &Fields, input: &mut &[u8]| {
            fields.iter().try_for_each(|(_, part)| self.skip(part, input))
        };
        match self.old.definitions.get(name) {
            None => Some(()),
            Some(Definition::Newtype(part)) => self.skip(part, input),
            Some(Definition::Struct(fields)) => skip_fields(fields, input),
            Some(Definition::Enum(variants)) => {
                match variants.get(number(varint(input, 5)?)? as usize)? {
                    (_, Payload::Part(part)) => self.skip(part, input),
                    (_, Payload::Struct(fields)) => skip_fields(fields, input),
                }
            }
        }
    }
}

fn find<'a>(fields: &'a Fields, name: &str) -> Option<&'a Part> {
    fields.iter().find(|(other, _)| other == name).map(|(_, part)| part)
}

fn payload<'a>(variants: &'a [(String, Payload)], name: &str) -> Option<(usize, &'a Payload)> {
    let at = variants.iter().position(|(other, _)| other == name)?;
    variants.get(at).map(|(_, payload)| (at, payload))
}

fn take<'a>(input: &mut &'a [u8], bytes: usize) -> Option<&'a [u8]> {
    let (taken, rest) = input.split_at_checked(bytes)?;
    *input = rest;
    Some(taken)
}

/// Takes a varint of at most so many bytes.
fn varint<'a>(input: &mut &'a [u8], bytes_max: usize) -> Option<&'a [u8]> {
    let last = input.iter().take(bytes_max).position(|byte| byte & 0x80 == 0)?;
    take(input, last + 1)
}

fn number(varint: &[u8]) -> Option<u64> {
    let bits = varint.iter().zip((0_u32..).step_by(7));
    bits.map(|(byte, shift)| u64::from(byte & 0x7f).checked_shl(shift)).sum()
}

/// Copies how many elements there are, and tells it.
fn copy_length(input: &mut &[u8], out: &mut Vec<u8>) -> Option<u64> {
    let bytes = varint(input, 10)?;
    out.extend_from_slice(bytes);
    number(bytes)
}

fn put_varint(mut number: u64, out: &mut Vec<u8>) {
    while number > 0x7f {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

#[cfg(test)]
mod tests;
