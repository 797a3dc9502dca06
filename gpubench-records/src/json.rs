//! Reads the JSON of files and messages. serde_json would compile about 500 bytes for each field of each type. Here a field is a few
//! calls of functions that are compiled once, and serde_json reads only the values of fields and reports syntax errors.

use std::fmt::{self, Formatter};

use serde::de::value::{BorrowedStrDeserializer, MapDeserializer};
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, EnumAccess, Error as _, Expected, IgnoredAny,
    IntoDeserializer, MapAccess, SeqAccess, VariantAccess, Visitor,
};
use serde_json::{Error, Value};

/// The most objects and lists within each other, as in serde_json.
const MAX_DEPTH: usize = 127;
/// The name by which [`serde_json::value::RawValue`] asks for the text of a value.
const RAW_VALUE: &str = "$serde_json::private::RawValue";

/// Reads `json` as [`serde_json::from_slice`] does, but refuses a list in place of a struct.
///
/// # Errors
/// If `json` is not JSON, or not that of a `T`.
pub fn from_slice<'de, T: Deserialize<'de>>(json: &'de [u8]) -> Result<T, Error> {
    read(json, |reader| T::deserialize(reader))
}

/// Reads `json` as `parse` does.
pub(crate) fn read<'de, T>(
    json: &'de [u8],
    parse: impl FnOnce(&mut Reader<'de>) -> Result<T, Error>,
) -> Result<T, Error> {
    let mut reader = Reader { json, at: 0, value_begin: 0, depth: 0 };
    let value = parse(&mut reader);
    value.and_then(|value| reader.end().map(|()| value)).map_err(|error| reader.located(&error))
}

/// A document, up to a place that was read.
pub(crate) struct Reader<'de> {
    json: &'de [u8],
    at: usize,
    /// The place of the value that serde_json read last: its errors have their line and column from there.
    value_begin: usize,
    depth: usize,
}

impl<'de> Reader<'de> {
    /// Returns the next byte that is no space.
    #[inline(never)]
    fn peek(&mut self) -> Option<u8> {
        let rest = &self.json[self.at..];
        self.at += rest.iter().take_while(|byte| b" \n\t\r".contains(byte)).count();
        self.json.get(self.at).copied()
    }

    /// Reads a value with serde_json.
    #[inline(never)]
    fn value<T: Deserialize<'de>>(&mut self) -> Result<T, Error> {
        self.peek();
        self.value_begin = self.at;
        let mut values = serde_json::Deserializer::from_slice(&self.json[self.at..]).into_iter();
        let value = values.next().unwrap_or_else(|| Err(not_json()))?;
        self.at += values.byte_offset();
        Ok(value)
    }

    /// Passes `sign`.
    #[inline(never)]
    fn pass(&mut self, sign: u8) -> Result<(), Error> {
        if self.peek() != Some(sign) {
            return Err(not_json());
        }
        self.at += 1;
        Ok(())
    }

    /// Enters the object or list that `begin` begins.
    #[inline(never)]
    fn enter(&mut self, begin: u8, expected: &dyn Expected) -> Result<Elements<'_, 'de>, Error> {
        if self.peek() != Some(begin) {
            self.value::<Value>()?.deserialize_any(Refused(expected))?;
            return Err(not_json());
        }
        if self.depth == MAX_DEPTH {
            return Err(not_json());
        }
        self.at += 1;
        self.depth += 1;
        // The ASCII code of the end is that of the beginning plus 2.
        Ok(Elements { reader: self, end: begin + 2, is_first: true, has_ended: false })
    }

    /// Returns an error if anything but spaces follows.
    fn end(&mut self) -> Result<(), Error> {
        self.peek().map_or(Ok(()), |_| Err(not_json()))
    }

    /// Returns the error of serde_json if the document is not JSON, otherwise `error` with its place.
    #[cold]
    fn located(&self, error: &Error) -> Error {
        // The second also finds numbers that are too large.
        let syntax = serde_json::from_slice::<IgnoredAny>(self.json).err();
        let syntax = syntax.or_else(|| serde_json::from_slice::<Value>(self.json).err());
        syntax.unwrap_or_else(|| {
            let lines = self.json[self.value_begin..].split_inclusive(|byte| *byte == b'\n').map(<[u8]>::len);
            let at = match error.line() {
                0 => self.at,
                line => self.value_begin + lines.take(line - 1).sum::<usize>() + error.column(),
            };
            let mut before = self.json[..at].split(|byte| *byte == b'\n');
            let (line, column) = (before.clone().count(), before.next_back().map_or(0, <[u8]>::len));
            let message = message_without_position(error);
            Error::custom(format_args!("{message} at line {line} column {column}"))
        })
    }
}

/// Returns the error for a document that is not JSON, in place of which [`Reader::located`] returns that of serde_json.
#[cold]
fn not_json() -> Error {
    Error::custom("it is not JSON")
}

/// Returns the message of `error` without its line and column.
pub(crate) fn message_without_position(error: &Error) -> String {
    let (text, place) = (error.to_string(), format!(" at line {} column {}", error.line(), error.column()));
    text.strip_suffix(&place).unwrap_or(&text).to_owned()
}

/// Refuses each value: the error names what is expected in its place.
struct Refused<'a>(&'a dyn Expected);

impl<'de> Visitor<'de> for Refused<'_> {
    type Value = ();

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

macro_rules! read_values {
    ($($name:ident)+) => {$(
        #[inline(never)]
        fn $name<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            self.value::<Value>()?.$name(visitor)
        }
    )+};
}

impl<'de> Deserializer<'de> for &mut Reader<'de> {
    type Error = Error;

    read_values! {
        deserialize_any deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_u8 deserialize_u16
        deserialize_u32 deserialize_u64 deserialize_f32 deserialize_f64 deserialize_char deserialize_str deserialize_string
        deserialize_unit
    }

    /// Reads the name of a field or of a variant.
    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_str(&self.value::<String>()?)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.peek() != Some(b'n') {
            return visitor.visit_some(self);
        }
        self.value::<()>()?;
        visitor.visit_none()
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let mut elements = self.enter(b'[', &visitor)?;
        let value = visitor.visit_seq(&mut elements)?;
        elements.finish().map(|()| value)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let mut elements = self.enter(b'{', &visitor)?;
        let value = visitor.visit_map(&mut elements)?;
        elements.finish().map(|()| value)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        if self.peek() != Some(b'{') {
            return visitor.visit_enum(self.value::<String>()?.into_deserializer());
        }
        let mut elements = self.enter(b'{', &visitor)?;
        elements.next()?;
        let value = visitor.visit_enum(&mut *elements.reader)?;
        elements.finish().map(|()| value)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        if name != RAW_VALUE {
            return visitor.visit_newtype_struct(self);
        }
        self.value::<IgnoredAny>()?;
        let text = str::from_utf8(&self.json[self.value_begin..self.at]).map_err(Error::custom)?;
        visitor.visit_map(MapDeserializer::new([(name, BorrowedStrDeserializer::new(text))].into_iter()))
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.value::<IgnoredAny>()?;
        visitor.visit_unit()
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _len: usize, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_map(visitor)
    }

    serde::forward_to_deserialize_any! { bytes byte_buf unit_struct tuple_struct }
}

/// The elements of a list, or the fields of an object.
struct Elements<'r, 'de> {
    reader: &'r mut Reader<'de>,
    end: u8,
    is_first: bool,
    has_ended: bool,
}

impl Elements<'_, '_> {
    /// Goes to the next element. Returns false and passes the end if there is none.
    #[inline(never)]
    fn next(&mut self) -> Result<bool, Error> {
        self.has_ended = self.reader.peek() == Some(self.end);
        if self.has_ended {
            self.reader.at += 1;
            self.reader.depth -= 1;
        } else if !self.is_first {
            self.reader.pass(b',')?;
        }
        self.is_first = false;
        Ok(!self.has_ended)
    }

    /// Returns an error if the visitor has not read all elements.
    #[inline(never)]
    fn finish(mut self) -> Result<(), Error> {
        if !self.has_ended && self.next()? {
            return Err(Error::custom("it has more elements than expected"));
        }
        Ok(())
    }
}

impl<'de> SeqAccess<'de> for Elements<'_, 'de> {
    type Error = Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        if !self.next()? {
            return Ok(None);
        }
        seed.deserialize(&mut *self.reader).map(Some)
    }
}

impl<'de> MapAccess<'de> for Elements<'_, 'de> {
    type Error = Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        self.next_element_seed(seed)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Error> {
        self.reader.pass(b':')?;
        seed.deserialize(&mut *self.reader)
    }
}

/// The variant of an enum, with its content.
impl<'de> EnumAccess<'de> for &mut Reader<'de> {
    type Error = Error;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), Error> {
        let name = seed.deserialize(&mut *self)?;
        self.pass(b':').map(|()| (name, self))
    }
}

impl<'de> VariantAccess<'de> for &mut Reader<'de> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        self.value()
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Error> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _len: usize, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_map(visitor)
    }
}
