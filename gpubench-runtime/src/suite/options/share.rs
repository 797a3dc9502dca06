//! The share of the cases that a user asks for. In: text such as `split:3/8`; out: a [`ShareChoice`].

use std::str::FromStr;

use super::OptionsError;
use gpubench_records::task::{Part, ShareMode};

/// The share of the cases that a program measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ShareChoice {
    /// That of the task that the scheduler started; everything where there is no scheduler.
    Scheduled(ShareMode),
    /// That of this task, whatever a scheduler says.
    Given(ShareMode, Part),
    /// Everything, whatever a scheduler says.
    Whole,
}

impl ShareChoice {
    /// Returns true if a task measures only a part of the cases.
    #[must_use]
    pub fn splits(self) -> bool {
        matches!(self, Self::Scheduled(ShareMode::Split) | Self::Given(ShareMode::Split, _))
    }
}

impl Default for ShareChoice {
    fn default() -> Self {
        Self::Scheduled(ShareMode::Replicate)
    }
}

impl FromStr for ShareChoice {
    type Err = OptionsError;

    fn from_str(text: &str) -> Result<Self, OptionsError> {
        let refused = || OptionsError::Share(text.to_owned());
        let mode = |text: &str| match text {
            "replicate" => Some(ShareMode::Replicate),
            "split" => Some(ShareMode::Split),
            _ => None,
        };
        if text == "none" {
            return Ok(Self::Whole);
        }
        if let Some(mode) = mode(text) {
            return Ok(Self::Scheduled(mode));
        }
        let (mode, part) = match text.split_once(':') {
            Some((name, part)) => (mode(name).ok_or_else(refused)?, part),
            None => (ShareMode::Split, text),
        };
        Ok(Self::Given(mode, part.parse().map_err(|_| refused())?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_read_as_documented() {
        let part = Part::new(3, 8).expect("a part");
        for (text, choice) in [
            ("replicate", ShareChoice::Scheduled(ShareMode::Replicate)),
            ("split", ShareChoice::Scheduled(ShareMode::Split)),
            ("none", ShareChoice::Whole),
            ("3/8", ShareChoice::Given(ShareMode::Split, part)),
            ("split:3/8", ShareChoice::Given(ShareMode::Split, part)),
            ("replicate:3/8", ShareChoice::Given(ShareMode::Replicate, part)),
        ] {
            assert_eq!(text.parse::<ShareChoice>().ok(), Some(choice), "{text}");
        }
        for wrong in ["", "0/8", "9/8", "half", "3", "3:8", "hash:3/8", "split:", "split:0/8", "none:1/2"] {
            let told = wrong.parse::<ShareChoice>().expect_err("it is wrong").to_string();
            assert!(told.starts_with(&format!("--share {wrong}: give a task's number")), "{told}");
        }
    }
}
