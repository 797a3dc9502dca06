//! The other end of a link between devices of one kind. In: the number of a device; out: the number of its peer. An argument
//! named `peer` with such a value, of a benchmark with `link = p2p`, tells reports which two devices a row is about.

use std::fmt::{self, Display};
use std::str::FromStr;

/// The device that comes so many numbers after the one that is measured; behind the last comes the first. So a case is the
/// same on every device. Shown as `+1/4`: the next of four.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Peer {
    further: usize,
    of: usize,
}

impl Peer {
    /// The name of the argument.
    pub const ARG: &str = "peer";

    /// The peers of each of so many devices.
    pub fn all(devices: usize) -> Vec<Self> {
        (1..devices).map(|further| Self { further, of: devices }).collect()
    }

    /// The number of devices.
    pub fn of(self) -> usize {
        self.of
    }

    /// The number of the peer of this device.
    pub fn after(self, own: usize) -> usize {
        (own + self.further) % self.of
    }
}

impl Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "+{}/{}", self.further, self.of)
    }
}

/// A text that names no [`Peer`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a peer is written as `+1/4`, the next of four devices, and not as `{0}`")]
pub struct UnknownPeer(String);

impl FromStr for Peer {
    type Err = UnknownPeer;

    fn from_str(text: &str) -> Result<Self, UnknownPeer> {
        let read = || {
            let (further, of) = text.strip_prefix('+')?.split_once('/')?;
            Some(Self { further: further.parse().ok()?, of: of.parse().ok()? })
        };
        read().filter(|peer| (1..peer.of).contains(&peer.further)).ok_or_else(|| UnknownPeer(text.to_owned()))
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
            assert_eq!(text.parse::<Peer>(), Err(UnknownPeer(text.to_owned())));
        }
        assert_eq!(Peer::all(3).iter().map(|peer| peer.after(2)).collect::<Vec<_>>(), [0, 1]);
    }
}
