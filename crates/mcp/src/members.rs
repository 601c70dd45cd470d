//! An object of JSON whose members stay the text they are written in.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The most members. Nothing that is read so has as many; to look for doubles among more would take long.
const MOST: usize = 256;

/// The members of an object, in their order, each as it was written.
pub(crate) struct Members<'a>(pub(crate) Vec<(String, &'a RawValue)>);

impl Members<'_> {
    /// That member; the last, where it is there twice.
    pub(crate) fn get(&self, member: &str) -> Option<&RawValue> {
        self.0.iter().rev().find(|(known, _)| known == member).map(|(_, value)| *value)
    }
}

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Ordered;
        impl<'de> Visitor<'de> for Ordered {
            type Value = Members<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    if members.len() >= MOST {
                        return Err(serde::de::Error::custom(format_args!(
                            "it has more than {MOST} members"
                        )));
                    }
                    members.push(entry);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Ordered)
    }
}
