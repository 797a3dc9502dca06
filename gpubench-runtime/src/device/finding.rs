//! One thing that was found of a device or a machine before anything is measured, and its meaning for measurements.

use serde::{Deserialize, Serialize};

/// One thing that measuring needs or is affected by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The thing, such as `persistence`.
    pub topic: String,
    /// The device that has it, such as `cuda:0`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Its meaning for measurements.
    pub level: Level,
    /// Its state in words.
    pub found: String,
    /// Advice on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}

/// The meaning of a [`Finding`], from the best to the worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// As it should be.
    Good,
    /// Something that only some uses need.
    Note,
    /// Times are less steady, or may be suspect.
    Warning,
    /// A device cannot be measured.
    Problem,
}

impl Finding {
    /// Returns what was found of `topic`, as it should be.
    pub fn good(topic: impl Into<String>, found: impl Into<String>) -> Self {
        Self { topic: topic.into(), device: None, level: Level::Good, found: found.into(), advice: None }
    }

    /// Returns what was found of `topic`, with advice.
    pub fn with_advice(
        topic: impl Into<String>,
        level: Level,
        found: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self { level, advice: Some(advice.into()), ..Self::good(topic, found) }
    }

    /// States the device that has it.
    pub fn on(self, device: &str) -> Self {
        Self { device: Some(device.to_owned()), ..self }
    }
}
