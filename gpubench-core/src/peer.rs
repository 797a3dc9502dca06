//! The other end of a link between devices of one kind, as the value of an argument.

use std::fmt::{self, Display};
use std::str::FromStr;

use crate::CaseError;

/// Another device, given by its distance from the measured one: the device whose number is higher by
/// `further`, modulo the number of devices. A case thus has the same arguments on every device. Its text is
/// `+1/4`: the next of four devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Peer {
    further: usize,
    of: usize,
}

impl Peer {
    /// Returns all peers of a device among this many devices: every distance from 1 on.
    #[must_use]
    pub fn all(devices: usize) -> Vec<Self> {
        (1..devices).map(|further| Self { further, of: devices }).collect()
    }

    /// Returns the number of devices that the peer is one of.
    #[must_use]
    pub fn of(self) -> usize {
        self.of
    }

    /// Returns the number of this peer for the device with the number `own`.
    #[must_use]
    pub fn after(self, own: usize) -> usize {
        (own + self.further) % self.of
    }
}

impl Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "+{}/{}", self.further, self.of)
    }
}

impl FromStr for Peer {
    type Err = CaseError;

    fn from_str(text: &str) -> Result<Self, CaseError> {
        let read = || {
            let (further, of) = text.strip_prefix('+')?.split_once('/')?;
            Some(Self { further: further.parse().ok()?, of: of.parse().ok()? })
        };
        let peer = read().filter(|peer| (1..peer.of).contains(&peer.further));
        peer.ok_or_else(|| {
            CaseError::new(format_args!(
                "a peer is written as `+1/4`, the next of four devices, and not as `{text}`"
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_are_read_as_they_are_shown() {
        for (text, own, number) in [("+1/2", 0, 1), ("+1/2", 1, 0), ("+3/4", 2, 1)] {
            let peer: Peer = text.parse().expect("a peer");
            assert_eq!((peer.to_string(), peer.after(own)), (text.to_owned(), number));
        }
        for text in ["", "1/2", "+0/2", "+2/2", "+1", "+x/2"] {
            let error = text.parse::<Peer>().expect_err("it is no peer").to_string();
            assert!(error.ends_with(&format!("and not as `{text}`")), "{error}");
        }
        assert_eq!(Peer::all(3).iter().map(|peer| peer.after(2)).collect::<Vec<_>>(), [0, 1]);
    }
}
