//! What is read here and what `serde_json` reads are the same.

use super::*;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use proptest::prelude::*;
use serde::Deserialize;
use serde_json::Value;

#[derive(Debug, Deserialize, PartialEq)]
enum Choice {
    #[serde(rename = "a b")]
    Unit,
    Of(u8),
    With {
        x: String,
    },
}

#[derive(Debug, Deserialize, PartialEq)]
struct Newtype(String);

#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "compared by what `Debug` shows")]
struct All {
    text: String,
    number: f64,
    big: u128,
    flag: bool,
    unit: (),
    letter: char,
    list: Vec<Option<i8>>,
    pair: (u8, Newtype),
    choices: Vec<Choice>,
    raw: alloc::boxed::Box<RawValue>,
    counts: BTreeMap<u32, String>,
    by_choice: BTreeMap<String, Value>,
    #[serde(default)]
    absent: Option<String>,
}

const ALL: &str = r#" { "text" : "a\n\"b\" é \u00e9 \ud83d\ude00" , "number":1e2,"big":7,
    "extra":{"deep":[1,[2,{"x":"\\"}]]},"flag":true,"unit":null,"letter":"\t",
    "list":[1,null,-3],"pair":[1,"two"],
    "choices":["a b",{"Of":3},{"With":{"x":"\/"}}],"raw": [ 1.10, "\u0041" ] ,
    "counts":{"1":"one"},"by_choice":{"k\n":{"v":[0.5,"s"]}} } "#;

#[test]
fn it_reads_what_serde_json_reads() {
    let ours: All = read(ALL.as_bytes()).unwrap();
    let theirs: All = serde_json::from_str(ALL).unwrap();
    assert_eq!(format!("{ours:?}"), format!("{theirs:?}"));
    assert_eq!(ours.raw.get(), r#"[ 1.10, "\u0041" ]"#);
}

#[test]
fn it_refuses_what_serde_json_refuses() {
    let cases = vec![
        (read::<String>(b"1").err(), "invalid type: integer `1`, expected a string"),
        (read::<(u8, u8)>(b"[1,2,3]").err(), "more elements than expected"),
        (read::<(u8, u8)>(b"[1]").err(), "invalid length 1, expected a tuple of size 2"),
        (read::<Newtype>(b"{}").err(), "invalid type: map, expected a string"),
        (read::<BTreeMap<u8, u8>>(br#"{"x":1}"#).err(), "expected value"),
        (read::<String>(br#""\ud800""#).err(), "unexpected end of hex escape"),
        (read::<u8>(b"256").err(), "invalid value: integer `256`, expected u8"),
        (read::<All>(br#"{"text":"","text":""}"#).err(), "duplicate field `text`"),
        (read::<Vec<u8>>(br#"{"a":1}"#).err(), "invalid type: map, expected a sequence"),
    ];
    for (error, said) in cases {
        let error = error.map(|error| error.to_string()).unwrap_or_default();
        assert!(error.contains(said), "{error:?} says nothing of {said:?}");
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".*".prop_map(Value::from),
        "[\"\\\\/\u{8}\u{c}\n\r\t\u{1}é]*".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(".*", inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// The name that a type asks to be read by.
struct Asked(core::cell::Cell<&'static str>);

impl<'de> de::Deserializer<'de> for &Asked {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        Err(Error::custom("not asked for"))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        _: V,
    ) -> Result<V::Value, Error> {
        self.0.set(name);
        Err(Error::custom("enough"))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
        option unit unit_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

#[test]
fn the_fast_way_for_raw_values_is_still_taken() {
    let asked = Asked(core::cell::Cell::new(""));
    assert!(alloc::boxed::Box::<RawValue>::deserialize(&asked).is_err());
    assert_eq!(asked.0.get(), RAW_VALUE, "serde_json has renamed its raw values: name it anew");
    // Raw values are read whichever way is taken.
    struct Renamed(String);
    impl<'de> de::Deserialize<'de> for Renamed {
        fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct Text;
            impl<'de> Visitor<'de> for Text {
                type Value = Renamed;
                fn expecting(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                    f.write_str("a value that serde_json reads")
                }
                fn visit_str<E: de::Error>(self, text: &str) -> Result<Renamed, E> {
                    Ok(Renamed(text.to_string()))
                }
                fn visit_newtype_struct<D: de::Deserializer<'de>>(
                    self,
                    _: D,
                ) -> Result<Renamed, D::Error> {
                    Ok(Renamed("by serde_json".to_string()))
                }
            }
            deserializer.deserialize_newtype_struct("$serde_json::private::Other", Text)
        }
    }
    let read: alloc::vec::Vec<Renamed> = read(b"[ 1.50 , {} ]").unwrap();
    assert!(read.iter().all(|one| one.0 == "by serde_json") && read.len() == 2);
}

#[test]
fn raw_text_is_a_part_of_what_is_read() {
    let text = r#"{"a": [1, "é\n"] ,"b":null}"#;
    let ours: BTreeMap<&str, RawText<'_>> = read(text.as_bytes()).unwrap();
    let theirs: BTreeMap<&str, RawText<'_>> = serde_json::from_str(text).unwrap();
    for parts in [ours, theirs] {
        assert!(matches!(&parts["a"].0, Cow::Borrowed(r#"[1, "é\n"]"#)));
        assert!(matches!(&parts["b"].0, Cow::Borrowed("null")));
    }
    // Where there is no text, it is written.
    let value: Value = serde_json::from_str(text).unwrap();
    let parts = BTreeMap::<String, RawText<'_>>::deserialize(value).unwrap();
    assert_eq!(parts["a"].0, r#"[1,"é\n"]"#);
}

proptest! {
    #[test]
    fn any_value_comes_back(value in any_json(), pretty in any::<bool>()) {
        let text = if pretty {
            serde_json::to_vec_pretty(&value)
        } else {
            serde_json::to_vec(&value)
        };
        prop_assert_eq!(read::<Value>(&text.unwrap()).unwrap(), value);
    }
}
