//! Streams that launch functions take, where they come from, and the numbers of the devices among which a case
//! chooses another.

use std::fmt::{self, Display};
use std::{any::Any, borrow::Borrow, cell::Cell, rc::Rc, str::FromStr};

use crate::{CaseError, bound::KeptStream};

/// The source of streams for a kind of device. The runtime finds the device by [`KIND`](Self::KIND).
///
/// [`cuda::Gpu`](crate::cuda::Gpu) is the source for NVIDIA GPUs, and [`host::Stream`](crate::host::Stream) for
/// this machine's CPU. Implement the trait for the type of a device of your own.
pub trait StreamSource: Any {
    /// The kind's name on the command line and in records.
    const KIND: &'static str;
}

/// A stream type that launch functions take by reference, and the device it belongs to.
///
/// Implemented for `host::Stream` and `cuda::RawStream`, by the feature `cust` for `cust::stream::Stream`,
/// and by the feature `cudarc` for `cudarc::driver::CudaStream` and `Arc<CudaStream>`. Implement it for a
/// stream type of your own, and any function that takes such a stream can be annotated. Wrap a type of
/// another crate in a type of yours:
///
/// ```
/// # use gpubench_driver as _;
/// use gpubench_core::cuda::{Gpu, RawStream};
/// use gpubench_core::{CaseError, LaunchStream};
///
/// struct MyStream(RawStream);
///
/// impl LaunchStream for MyStream {
///     type Source = Gpu;
///     type Owned = Self;
///
///     fn open(gpu: &mut Gpu) -> Result<Self, CaseError> {
///         Ok(Self(gpu.raw_stream()?))
///     }
/// }
/// ```
pub trait LaunchStream: Sized + 'static {
    /// The type that creates such streams.
    type Source: StreamSource;
    /// The value that [`open`](Self::open) returns, which owns the stream during a case: mostly `Self`, or a
    /// smart pointer such as `Arc<Self>` if the library provides its streams only behind one.
    type Owned: Borrow<Self> + 'static;

    /// Returns a stream of `source`, for all launches of one case.
    ///
    /// # Errors
    /// Returns an error if the device cannot make one.
    fn open(source: &mut Self::Source) -> Result<Self::Owned, CaseError>;
}

/// The type of the parameter that `#[gpu_bench]` uses as the stream. Every [`LaunchStream`] implements it,
/// and nothing else does. It exists for the compiler's message about a parameter that is no stream. With a
/// supertrait, the compiler would add a second message.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no stream: add a last parameter such as `stream: &gpubench::host::Stream`, or name the stream with `stream = name`",
    label = "the stream is the parameter named `stream`, else the last one",
    note = "streams are `gpubench::host::Stream`, `gpubench::cuda::RawStream`, those of `cust`, `cudarc` and `wgpu` with gpubench's feature of \
            that name and its version of that crate, and each type that implements `gpubench::LaunchStream`"
)]
pub trait StreamParameter {
    /// The kind of device that the stream belongs to.
    const DEVICE: &'static str;

    /// Returns a stream of `source`, which is the [`StreamSource`] of the device.
    ///
    /// # Errors
    /// Returns an error if the device is of another type or refuses the stream.
    fn open_on(source: &mut dyn Any) -> Result<KeptStream<Self>, CaseError>;
}

#[diagnostic::do_not_recommend]
impl<S: LaunchStream> StreamParameter for S {
    const DEVICE: &'static str = S::Source::KIND;

    fn open_on(source: &mut dyn Any) -> Result<KeptStream<S>, CaseError> {
        let wrong = || CaseError::new(format_args!("not a `{}` device", S::DEVICE));
        Ok(Rc::new(S::open(source.downcast_mut().ok_or_else(wrong)?)?))
    }
}

/// Another device, given by its distance from the measured one: the device whose number is higher by
/// `distance`, modulo the number of devices. A case thus has the same arguments on every device. Its text is
/// `+1/4`: the next of four devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Peer {
    distance: usize,
    devices: usize,
}

impl Peer {
    /// Returns all peers of a device among `devices` devices: the distances from 1 to `devices` − 1.
    pub fn all(devices: usize) -> Vec<Self> {
        (1..devices).map(|distance| Self { distance, devices }).collect()
    }

    /// Returns the number of all devices, the measured one included.
    pub fn of(self) -> usize {
        self.devices
    }

    /// Returns the number of the device that is this peer of the device with the number `own`.
    pub fn after(self, own: usize) -> usize {
        (own + self.distance) % self.devices
    }
}

impl Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "+{}/{}", self.distance, self.devices)
    }
}

impl FromStr for Peer {
    type Err = CaseError;

    fn from_str(text: &str) -> Result<Self, CaseError> {
        let read = || {
            let (distance, devices) = text.strip_prefix('+')?.split_once('/')?;
            Some(Self { distance: distance.parse().ok()?, devices: devices.parse().ok()? })
        };
        let peer = read().filter(|peer| (1..peer.devices).contains(&peer.distance));
        peer.ok_or_else(|| {
            CaseError::new(format_args!(
                "a peer is written as `+1/4`, the next of four devices, and not as `{text}`"
            ))
        })
    }
}

thread_local! {
    /// The number of the device whose cases this thread lists.
    static ORDINAL: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Returns the number of the device whose cases are being listed, among devices of its kind; `None` while no
/// cases are listed. Expressions in `skip_if` and `args` use it if they depend on the device, such as for a
/// copy to another GPU.
pub fn listed_ordinal() -> Option<usize> {
    ORDINAL.get()
}

/// Runs `list`, within which [`listed_ordinal`] returns `ordinal`. Returns the result of `list`.
#[doc(hidden)]
pub fn while_listed<T>(ordinal: usize, list: impl FnOnce() -> T) -> T {
    let before = ORDINAL.replace(Some(ordinal));
    let listed = list();
    ORDINAL.set(before);
    listed
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

    #[test]
    fn a_device_is_known_while_its_cases_are_listed() {
        assert_eq!(listed_ordinal(), None);
        assert_eq!(while_listed(3, listed_ordinal), Some(3));
        assert_eq!(listed_ordinal(), None);
    }
}
