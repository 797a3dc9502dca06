//! One thing that was found of a device or a machine before anything is measured, and its meaning for
//! measurements.

use serde::{Deserialize, Serialize};

/// A fact about a device or the machine that affects measurements, with advice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The subject, such as `persistence`.
    pub topic: String,
    /// The device that the finding is about, such as `cuda:0`; `None` for the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Its meaning for measurements.
    pub level: Level,
    /// The state as a phrase, such as `off`.
    pub found: String,
    /// Advice on how to improve the state, or what follows from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}

/// What a [`Finding`] means for measurements, from the best to the worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// The state is as it should be.
    Good,
    /// The state is fine for most uses, but not for all.
    Note,
    /// Measured times are less steady, or may be suspect.
    Warning,
    /// A device cannot be measured.
    Problem,
}

impl Finding {
    /// Returns a finding with the state `found`, which is as it should be.
    pub fn good(topic: impl Into<String>, found: impl Into<String>) -> Self {
        Self { topic: topic.into(), device: None, level: Level::Good, found: found.into(), advice: None }
    }

    /// Returns a finding with the state `found`, its level and advice.
    pub fn with_advice(
        topic: impl Into<String>,
        level: Level,
        found: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self { level, advice: Some(advice.into()), ..Self::good(topic, found) }
    }

    /// Sets the device that the finding is about.
    pub fn on(self, device: &str) -> Self {
        Self { device: Some(device.to_owned()), ..self }
    }
}
