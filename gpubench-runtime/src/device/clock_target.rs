//! The clock to which `--lock-clocks` locks a GPU: parsed from the command line as `base`, `max`, or a number
//! of megahertz.

use std::fmt::{self, Display};
use std::str::FromStr;

/// The clock to which the multiprocessors of a GPU are locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClockTarget {
    /// The base clock, at which the GPU stays within its power limit under any load.
    Base,
    /// The highest clock of the GPU.
    Max,
    /// A clock in megahertz; the GPU uses the nearest one that it supports.
    Megahertz(u32),
}

impl Display for ClockTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Base => f.write_str("base"),
            Self::Max => f.write_str("max"),
            Self::Megahertz(clock) => write!(f, "{clock}"),
        }
    }
}

impl FromStr for ClockTarget {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        match text {
            "base" => Ok(Self::Base),
            "max" => Ok(Self::Max),
            _ => match text.trim_end_matches("MHz").trim_end().parse() {
                Ok(clock @ 1..) => Ok(Self::Megahertz(clock)),
                _ => Err("give `base`, `max`, or a clock in MHz such as 1500"),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_read_as_they_are_shown() {
        for target in [ClockTarget::Base, ClockTarget::Max, ClockTarget::Megahertz(1500)] {
            assert_eq!(target.to_string().parse(), Ok(target));
        }
        assert_eq!("1500 MHz".parse(), Ok(ClockTarget::Megahertz(1500)));
        for wrong in ["", "0", "-5", "boost", "1.5", "1500 GHz"] {
            assert!(wrong.parse::<ClockTarget>().is_err(), "{wrong}");
        }
    }
}
