//! A run and its meaning, live or stored: records, their metrics and verdicts, comparisons, and the files that keep
//! them. Nothing here measures or prints.
//!
//! [`samples`] → [`metrics`] → [`limits`] → [`verdict`] → [`record`] → [`merge`], [`comparison`] and [`baseline`], and
//! [`files`] keeps them on disk.

pub mod baseline;
pub mod clock_faults;
pub mod comparison;
pub mod conditions;
#[cfg(feature = "verify")]
pub mod cupti;
pub mod device_info;
pub mod environment;
pub mod failure;
pub mod files;
pub mod id;
#[doc(hidden)]
pub mod json;
pub mod launch;
pub mod limits;
pub mod merge;
pub mod method;
pub mod metrics;
pub mod outcome;
pub mod record;
pub mod samples;
pub mod sampling;
pub mod selection;
#[doc(hidden)]
pub mod text;
pub mod verdict;
pub mod verification;

pub use self::{
    clock_faults::ClockFaults,
    comparison::{
        Answer, AssumedSpread, BaselineComparison, BaselineFinding, CaseFinding, Comparison, Threshold,
    },
    conditions::{CoolDown, DeviceClock, GroupClock, HeatLevel, Reading, SensorRange, SensorReadings},
    device_info::{DeviceInfo, Peak, PeakSource, Property, Quantity, Value},
    environment::{Environment, Part, ShareMode, Task},
    failure::{Failure, Stage, Step},
    files::peaks::MeasuredPeak,
    files::{Destination, EarlierRun, ReadError, StoredRun},
    id::{Arg, BenchmarkId, CaseId, DeviceId, PlannedCase},
    launch::{LaunchInfo, LaunchedKernel, Multiprocessors, Observation, Relaunch, Reuse, Rewritten, Written},
    limits::DeclaredWork,
    method::{Cache, Flush, FlushVerification, Method, Path, Timer},
    metrics::{Counts, Link, Metrics, UserMetric},
    outcome::{Exit, GateOutcome, GatedCase},
    record::{Compared, Measurement, Package, Program, Record, Run},
    samples::{Energy, EnergyMeasurement, GroupOverhead, Samples, WarmUpSummary},
    sampling::Sampling,
    selection::{ArgValues, CaseSelection, NameFilter},
    verdict::{Reason, State, Verdict},
    verification::{Counters, CuptiPass, CuptiTimes, NcuPass, Slowdown, TracedActivity, Verification},
};

/// Returns the items without repetitions, in the order in which they first come.
#[doc(hidden)]
pub fn unique<T: PartialEq>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut found = Vec::new();
    for item in items {
        if !found.contains(&item) {
            found.push(item);
        }
    }
    found
}

/// Displays each variant of an enum by its name in stored JSON, which the table and the command line use too.
macro_rules! display_as_stored {
    ($($name:ty),+) => {$(
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                serde::Serialize::serialize(self, f)
            }
        }
    )+};
}

display_as_stored!(Answer, Cache, Flush, Path, ShareMode, Stage, State);

/// Stored types within the messages of other crates, for `#[serde(with = "gpubench_records::raw")]`. Their JSON is written and read here,
/// so that no other crate compiles the code for it again.
#[doc(hidden)]
pub mod raw {
    use crate::{CuptiPass, DeviceInfo, Record, Sampling};
    use serde::de::{Deserialize, Deserializer, Error as _};
    use serde::ser::{Error as _, Serialize, Serializer};
    use serde_json::value::{RawValue, to_raw_value};

    /// A type that this crate converts to and from JSON text, so that no other crate compiles its serde code again.
    pub trait Raw: Sized {
        /// Writes the value as JSON.
        ///
        /// # Errors
        /// If the value cannot be written as JSON.
        fn to_raw(&self) -> serde_json::Result<Box<RawValue>>;

        /// Reads a value from JSON.
        ///
        /// # Errors
        /// If the JSON is not that of such a value.
        fn from_raw(json: &RawValue) -> serde_json::Result<Self>;
    }

    macro_rules! raw {
    ($($name:ty),+) => {$(
        impl Raw for $name {
            fn to_raw(&self) -> serde_json::Result<Box<RawValue>> {
                to_raw_value(self)
            }

            fn from_raw(json: &RawValue) -> serde_json::Result<Self> {
                crate::json::from_slice(json.get().as_bytes())
            }
        }
    )+};
}

    raw!(Box<Record>, CuptiPass, DeviceInfo, Sampling);

    /// Writes `value` into a message.
    ///
    /// # Errors
    /// If the value cannot be written as JSON, or the message cannot be written.
    pub fn serialize<S: Serializer>(value: &impl Raw, to: S) -> Result<S::Ok, S::Error> {
        value.to_raw().map_err(S::Error::custom)?.serialize(to)
    }

    /// Reads a value from a message.
    ///
    /// # Errors
    /// If the message has no JSON of such a value there.
    pub fn deserialize<'de, D: Deserializer<'de>, T: Raw>(from: D) -> Result<T, D::Error> {
        T::from_raw(<&RawValue>::deserialize(from)?).map_err(D::Error::custom)
    }
}

/// Starts threads by name, with channels between them. An error says what to do.
#[doc(hidden)]
pub mod threads {
    use std::sync::mpsc::{self, RecvTimeoutError};
    use std::thread::{self, Builder, JoinHandle};
    use std::{any::Any, io, iter, marker::PhantomData, time::Duration};

    /// Starts a thread with the name `name`, which runs `work`. Unlike [`std::thread::spawn`], it does not
    /// panic if the system has no more threads.
    ///
    /// # Errors
    /// If the system cannot start a thread. The error says what to do.
    pub fn start<T: Send + 'static>(
        name: &str,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<Thread<T>> {
        let thread = start_boxed(name, Box::new(move || Box::new(work())))?;
        Ok(Thread(thread, PhantomData))
    }

    /// Starts a thread for work of any result: the code of a thread is compiled once for each type.
    fn start_boxed(name: &str, work: Box<dyn FnOnce() -> Message + Send>) -> io::Result<JoinHandle<Message>> {
        Builder::new().name(name.to_owned()).spawn(work).map_err(|error| not_started(&error))
    }

    /// A thread whose work has a result.
    #[derive(Debug)]
    pub struct Thread<T>(JoinHandle<Message>, PhantomData<fn() -> T>);

    impl<T: 'static> Thread<T> {
        /// Waits for the result, as [`JoinHandle::join`] does.
        ///
        /// # Errors
        /// If the work panicked.
        pub fn join(self) -> thread::Result<T> {
            self.0.join().map(|result| *result.downcast().expect("the result of this thread"))
        }
    }

    /// A message or a result of any type: the code of a channel is compiled once for all types of messages.
    type Message = Box<dyn Any + Send>;

    /// Creates a channel as [`mpsc::channel`] does.
    pub fn channel<T: Send + 'static>() -> (Sender<T>, Receiver<T>) {
        let (sender, receiver) = mpsc::channel();
        (Sender(sender, PhantomData), Receiver(receiver, PhantomData))
    }

    /// The sending end of a channel.
    #[derive(Debug)]
    pub struct Sender<T>(mpsc::Sender<Message>, PhantomData<fn(T)>);

    impl<T> Clone for Sender<T> {
        fn clone(&self) -> Self {
            Self(self.0.clone(), PhantomData)
        }
    }

    impl<T: Send + 'static> Sender<T> {
        /// Sends a message. Returns false if the receiver is gone.
        pub fn send(&self, message: T) -> bool {
            send(&self.0, Box::new(message))
        }
    }

    /// The receiving end of a channel.
    #[derive(Debug)]
    pub struct Receiver<T>(mpsc::Receiver<Message>, PhantomData<fn() -> T>);

    impl<T: 'static> Receiver<T> {
        /// Waits for a message, for at most `timeout` if there is one.
        ///
        /// # Errors
        /// If the time is over, or if all senders are gone.
        pub fn receive(&self, timeout: Option<Duration>) -> Result<T, RecvTimeoutError> {
            receive(&self.0, timeout).map(|message| *message.downcast().expect("a message of this channel"))
        }

        /// Waits for each message until all senders are gone.
        pub fn messages(&self) -> impl Iterator<Item = T> {
            iter::from_fn(|| self.receive(None).ok())
        }

        /// Returns the messages that were sent so far.
        pub fn sent_messages(&self) -> impl Iterator<Item = T> {
            iter::from_fn(|| self.receive(Some(Duration::ZERO)).ok())
        }
    }

    fn send(to: &mpsc::Sender<Message>, message: Message) -> bool {
        to.send(message).is_ok()
    }

    fn receive(
        from: &mpsc::Receiver<Message>,
        timeout: Option<Duration>,
    ) -> Result<Message, RecvTimeoutError> {
        match timeout {
            Some(timeout) => from.recv_timeout(timeout),
            None => from.recv().map_err(Into::into),
        }
    }

    /// Returns the error of a thread that could not be started, with what to do.
    pub fn not_started(error: &io::Error) -> io::Error {
        let advice = "raise the limit of processes and threads: `ulimit -u`, or pids.max of the container";
        io::Error::new(error.kind(), format!("cannot start a thread: {error} ({advice})"))
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_thread_works_and_a_missing_one_says_what_to_do() {
            assert_eq!(start("adds", || 1 + 1).expect("it starts").join().expect("no panic"), 2);
            let error = not_started(&io::ErrorKind::WouldBlock.into());
            assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
            assert!(error.to_string().contains("`ulimit -u`"), "{error}");
        }
    }
}
