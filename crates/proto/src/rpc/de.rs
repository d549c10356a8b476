//! Reading scanned JSON as a type.
//!
//! The text has been checked once already, and where it is large it is mostly
//! strings; so containers and strings are read here, strings with all their
//! memory at once. What is rare or subtle (numbers, enums, escapes of code
//! points) is left to `serde_json`, on the slice of that value.

use super::json::{Cursor, JsonError, plain_len};
use alloc::borrow::{Cow, ToOwned};
use alloc::boxed::Box;
use alloc::string::{String, ToString};
use serde::de::value::{BorrowedStrDeserializer, MapDeserializer};
use serde::de::{self, DeserializeSeed, Error as _, IntoDeserializer, Visitor};
use serde_json::Error;
use serde_json::value::RawValue;

/// The name by which `serde_json` recognises its raw values. It is private to that crate:
/// when it changes, whatever has another name of this kind is left to `serde_json`, which
/// costs a second reading and gives the same; a test tells when that is so.
const RAW_VALUE: &str = "$serde_json::private::RawValue";

/// Reads bytes that a scan has passed as one value.
pub(crate) fn read<'de, T: de::Deserialize<'de>>(text: &'de [u8]) -> Result<T, Error> {
    // Once for all strings, most of which are too short for the fast way.
    read_str(core::str::from_utf8(text).map_err(Error::custom)?)
}

/// Reads text that a scan has passed as one value.
pub(crate) fn read_str<'de, T: de::Deserialize<'de>>(text: &'de str) -> Result<T, Error> {
    T::deserialize(&mut Reader { text, cursor: Cursor::scanned(text.as_bytes()) })
}

/// The text of a value as it came: a part of what is read, where that has it as a whole.
pub(crate) struct RawText<'de>(pub(crate) Cow<'de, str>);

impl<'de> de::Deserialize<'de> for RawText<'de> {
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(serde::Deserialize)]
        #[serde(transparent)]
        struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

        struct Raw;

        impl<'de> Visitor<'de> for Raw {
            type Value = RawText<'de>;

            fn expecting(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str("any JSON value")
            }

            fn visit_map<A: de::MapAccess<'de>>(
                self,
                mut map: A,
            ) -> Result<RawText<'de>, A::Error> {
                map.next_key::<de::IgnoredAny>()?;
                map.next_value().map(|Text(text)| RawText(text))
            }

            // Where the name means nothing any more.
            fn visit_newtype_struct<D: de::Deserializer<'de>>(
                self,
                deserializer: D,
            ) -> Result<RawText<'de>, D::Error> {
                let raw = <Box<RawValue> as de::Deserialize>::deserialize(deserializer)?;
                Ok(RawText(Cow::Owned(raw.get().to_owned())))
            }
        }

        deserializer.deserialize_newtype_struct(RAW_VALUE, Raw)
    }
}

struct Reader<'de> {
    text: &'de str,
    cursor: Cursor<'de>,
}

impl<'de> Reader<'de> {
    /// The text of the next value, which is left behind.
    fn slice(&mut self) -> Result<&'de str, Error> {
        let span = self.cursor.value().map_err(broken)?;
        Ok(&self.text[span.range()])
    }

    /// The next value, a string.
    fn string(&mut self) -> Result<Cow<'de, str>, Error> {
        let start = self.cursor.at() + 1;
        let rest = &self.text[start..];
        let plain = plain_len(rest.as_bytes());
        let (len, text) = if rest.as_bytes().get(plain) == Some(&b'"') {
            (plain, Cow::Borrowed(&rest[..plain]))
        } else {
            let len = quoted_len(rest.as_bytes());
            let len = len.ok_or_else(|| Error::custom("a string without an end"))?;
            (len, Cow::Owned(unescape(&self.text[start - 1..start + len + 1], plain)?))
        };
        self.cursor.skip_to(start + len + 1);
        Ok(text)
    }

    fn visit_string<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Error> {
        match self.string()? {
            Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
            Cow::Owned(text) => visitor.visit_string(text),
        }
    }

    fn visit_seq<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Error> {
        let more = self.cursor.open(b'[', b']').map_err(broken)?;
        let mut items = Items { reader: self, more, close: b']' };
        let value = visitor.visit_seq(&mut items)?;
        items.end("elements").map(|()| value)
    }

    fn visit_map<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Error> {
        let more = self.cursor.open(b'{', b'}').map_err(broken)?;
        let mut items = Items { reader: self, more, close: b'}' };
        let value = visitor.visit_map(&mut items)?;
        items.end("members").map(|()| value)
    }
}

fn broken(error: JsonError) -> Error {
    Error::custom(error)
}

/// How long a string is that begins here, after its opening quote.
fn quoted_len(text: &[u8]) -> Option<usize> {
    let mut from = 0;
    loop {
        let end = from + memchr::memchr(b'"', &text[from..])?;
        let escapes = text[..end].iter().rev().take_while(|byte| **byte == b'\\').count();
        if escapes % 2 == 0 {
            return Some(end);
        }
        from = end + 1;
    }
}

/// A quoted string with its escapes resolved; the first is after `plain` bytes.
fn unescape(quoted: &str, plain: usize) -> Result<String, Error> {
    let mut out = String::with_capacity(quoted.len());
    let (head, mut rest) = quoted[1..quoted.len() - 1].split_at(plain);
    out.push_str(head);
    while let [b'\\', escape, after @ ..] = rest.as_bytes() {
        out.push(match escape {
            b'"' | b'\\' | b'/' => char::from(*escape),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            _ => return serde_json::from_str(quoted),
        });
        let (head, tail) = rest[2..].split_at(plain_len(after));
        out.push_str(head);
        rest = tail;
    }
    Ok(out)
}

/// Leaves the next value to `serde_json`.
macro_rules! left_to_serde_json {
    ($($method:ident($($argument:ident: $type:ty),*))*) => {$(
        fn $method<V: Visitor<'de>>(
            self,
            $($argument: $type,)*
            visitor: V,
        ) -> Result<V::Value, Error> {
            serde_json::Deserializer::from_str(self.slice()?).$method($($argument,)* visitor)
        }
    )*};
}

impl<'de> de::Deserializer<'de> for &mut Reader<'de> {
    type Error = Error;

    left_to_serde_json! {
        deserialize_bool() deserialize_char() deserialize_bytes() deserialize_byte_buf()
        deserialize_i8() deserialize_i16() deserialize_i32() deserialize_i64() deserialize_i128()
        deserialize_u8() deserialize_u16() deserialize_u32() deserialize_u64() deserialize_u128()
        deserialize_f32() deserialize_f64() deserialize_unit()
        deserialize_unit_struct(name: &'static str)
        deserialize_enum(name: &'static str, variants: &'static [&'static str])
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.cursor.peek() {
            Some(b'{') => self.visit_map(visitor),
            Some(b'[') => self.visit_seq(visitor),
            Some(b'"') => self.visit_string(visitor),
            _ => serde_json::Deserializer::from_str(self.slice()?).deserialize_any(visitor),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.cursor.peek() {
            Some(b'"') => self.visit_string(visitor),
            _ => serde_json::Deserializer::from_str(self.slice()?).deserialize_str(visitor),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_str(visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.cursor.peek() == Some(b'n') {
            self.slice()?;
            return visitor.visit_none();
        }
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        if name == RAW_VALUE {
            // What has been scanned need not be read once more to be kept.
            let raw = (RAW_VALUE, BorrowedStrDeserializer::new(self.slice()?));
            return visitor.visit_map(MapDeserializer::new(core::iter::once(raw)));
        }
        if name.starts_with('$') {
            let text = self.slice()?;
            return serde_json::Deserializer::from_str(text)
                .deserialize_newtype_struct(name, visitor);
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.cursor.peek() {
            Some(b'[') => self.visit_seq(visitor),
            _ => serde_json::Deserializer::from_str(self.slice()?).deserialize_seq(visitor),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.cursor.peek() {
            Some(b'{') => self.visit_map(visitor),
            _ => serde_json::Deserializer::from_str(self.slice()?).deserialize_map(visitor),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.cursor.peek() {
            Some(b'{') => self.visit_map(visitor),
            _ => serde_json::Deserializer::from_str(self.slice()?)
                .deserialize_struct(name, fields, visitor),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.slice()?;
        visitor.visit_unit()
    }
}

/// The elements of an array, or the members of an object.
struct Items<'a, 'de> {
    reader: &'a mut Reader<'de>,
    more: bool,
    close: u8,
}

impl Items<'_, '_> {
    fn next(&mut self) -> Result<(), Error> {
        self.more = self.reader.cursor.more(self.close).map_err(broken)?;
        Ok(())
    }

    /// Nothing may be left when the visitor is done.
    fn end(&self, what: &str) -> Result<(), Error> {
        if self.more {
            Err(Error::custom(format_args!("more {what} than expected")))
        } else {
            Ok(())
        }
    }
}

impl<'de> de::SeqAccess<'de> for &mut Items<'_, 'de> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Error> {
        if !self.more {
            return Ok(None);
        }
        let value = seed.deserialize(&mut *self.reader)?;
        self.next()?;
        Ok(Some(value))
    }
}

impl<'de> de::MapAccess<'de> for &mut Items<'_, 'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Error> {
        if !self.more {
            return Ok(None);
        }
        self.reader.cursor.peek();
        let name = self.reader.string()?;
        self.reader.cursor.take(b':').map_err(broken)?;
        seed.deserialize(Name(name)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let value = seed.deserialize(&mut *self.reader)?;
        self.next()?;
        Ok(value)
    }
}

/// A member's name, which may stand for a number.
struct Name<'de>(Cow<'de, str>);

macro_rules! names_of_numbers {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            serde_json::from_str::<serde_json::Number>(&self.0)?.$method(visitor)
        }
    )*};
}

impl<'de> de::Deserializer<'de> for Name<'de> {
    type Error = Error;

    names_of_numbers! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
        deserialize_f32 deserialize_f64
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Cow::Borrowed(name) => visitor.visit_borrowed_str(name),
            Cow::Owned(name) => visitor.visit_string(name),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let text = self.0.to_string();
        IntoDeserializer::<Error>::into_deserializer(text).deserialize_enum(name, variants, visitor)
    }

    serde::forward_to_deserialize_any! {
        bool char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct
        identifier ignored_any
    }
}

#[cfg(test)]
mod tests;
