//! A line of a table: a launch function with its cache state, and the verdict that it must get.

use std::fmt::{self, Display};

use gpubench::record::{Cache, State};

/// A launch function and its expected verdict.
#[derive(Debug)]
pub struct Line {
    /// The name of the function.
    pub name: &'static str,
    /// The cache state.
    pub cache: Cache,
    /// What the launch does, for people.
    pub does: &'static str,
    /// The verdict.
    pub expected: Expected,
    /// Words of which its reasons must contain one; none where it is valid.
    pub says: &'static [&'static str],
    /// A word that its reasons must contain too, such as the option that helps; empty for none.
    pub names: &'static str,
    /// What a device must have for the verdict to be seen.
    pub needs: Needs,
}

/// The verdicts that a line may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// Exactly this one.
    Is(State),
    /// Suspect or invalid.
    NotValid,
    /// Valid, or suspect for a reason that noise explains.
    NotInvalid,
}

/// Words of reasons that noise does not explain.
const NO_NOISE: &[&str] = &[
    "accumulates",
    "black_box",
    "check",
    "claims",
    "impossible",
    "keeps",
    "faster on used inputs",
    "no work",
    "outputs",
    "reset",
];

impl Expected {
    /// Returns the difference of a verdict, if there is one.
    #[must_use]
    pub fn difference(self, state: State, reasons: &[String]) -> Option<String> {
        let fits = match self {
            Self::Is(expected) => state == expected,
            Self::NotValid => matches!(state, State::Suspect | State::Invalid),
            Self::NotInvalid => matches!(state, State::Valid | State::Suspect),
        };
        if !fits {
            return Some(format!("is {state}, and should be {self}"));
        }
        let explained = |reason: &&String| NO_NOISE.iter().all(|word| !reason.contains(word));
        let other = reasons.iter().find(|reason| !explained(reason));
        other
            .filter(|_| self == Self::NotInvalid)
            .map(|reason| format!("noise does not explain `{}`", beginning(reason)))
    }
}

/// The beginning of a reason, up to its first colon.
fn beginning(reason: &str) -> &str {
    reason.split(": ").next().unwrap_or(reason)
}

impl Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Is(state) => state.fmt(f),
            Self::NotValid => f.write_str("not valid"),
            Self::NotInvalid => f.write_str("not invalid"),
        }
    }
}

/// What a device may lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Nothing.
    Nothing,
    /// The host's time passes on the device too.
    HostTime,
    /// A sensor that reports what held the clock down.
    Sensors,
}

/// Lines that belong together.
#[derive(Debug)]
pub struct Group {
    /// The title.
    pub title: &'static str,
    /// The lines.
    pub lines: &'static [Line],
}

/// Makes a line that needs nothing.
#[must_use]
pub const fn line(
    name: &'static str,
    cache: Cache,
    does: &'static str,
    expected: Expected,
    says: &'static [&'static str],
) -> Line {
    Line { name, cache, does, expected, says, names: "", needs: Needs::Nothing }
}

impl Line {
    /// The same line for a device that has something.
    #[must_use]
    pub const fn needing(self, needs: Needs) -> Self {
        Self { needs, ..self }
    }

    /// The same line, whose reasons must contain a word too.
    #[must_use]
    pub const fn naming(self, names: &'static str) -> Self {
        Self { names, ..self }
    }
}
