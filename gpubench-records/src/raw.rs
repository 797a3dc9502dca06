//! Stored types within the messages of other crates, for `#[serde(with = "gpubench_records::raw")]`. Their JSON is written and read here,
//! so that no other crate compiles the code for it again.

use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{Error as _, Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};

use crate::{CuptiPass, DeviceInfo, Record, Sampling};

/// A type that this crate converts to and from JSON text, so that no other crate compiles its serde code again.
pub trait Raw: Sized {
    /// Writes it as JSON.
    ///
    /// # Errors
    /// If it has no JSON.
    fn to_raw(&self) -> serde_json::Result<Box<RawValue>>;

    /// Reads it from JSON.
    ///
    /// # Errors
    /// If the JSON is of something else.
    fn from_raw(json: &RawValue) -> serde_json::Result<Self>;
}

macro_rules! raw {
    ($($name:ty),+) => {$(
        impl Raw for $name {
            fn to_raw(&self) -> serde_json::Result<Box<RawValue>> {
                to_raw_value(self)
            }

            fn from_raw(json: &RawValue) -> serde_json::Result<Self> {
                serde_json::from_slice(json.get().as_bytes())
            }
        }
    )+};
}

raw!(Box<Record>, CuptiPass, DeviceInfo, Sampling);

/// Writes `value` into a message.
///
/// # Errors
/// If it has no JSON, or the message takes no more.
pub fn serialize<S: Serializer>(value: &impl Raw, to: S) -> Result<S::Ok, S::Error> {
    value.to_raw().map_err(S::Error::custom)?.serialize(to)
}

/// Reads a value from a message.
///
/// # Errors
/// If the message has something else there.
pub fn deserialize<'de, D: Deserializer<'de>, T: Raw>(from: D) -> Result<T, D::Error> {
    T::from_raw(<&RawValue>::deserialize(from)?).map_err(D::Error::custom)
}
