//! Signals while a suite runs, or a build. In: SIGINT, SIGTERM and SIGHUP, or Ctrl-C on Windows; out: the same for the suite, and the end of
//! the run once it has printed and stored what it has.

use std::io::{self, Read};
use std::panic::resume_unwind;
use std::process::{Child, ExitStatus, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use gpubench_records::exit::Exit;
use gpubench_records::threads;

#[cfg(unix)]
pub(in crate::commands) use self::unix::Interruption;
#[cfg(windows)]
pub(in crate::commands) use self::windows::Interruption;

/// The signal that came first; 0 before.
#[derive(Clone, Debug, Default)]
struct FirstSignal(Arc<AtomicU8>);

impl FirstSignal {
    fn exit(&self) -> Option<Exit> {
        let signal = self.0.load(Ordering::Relaxed);
        (signal != 0).then_some(Exit::Interrupted(signal))
    }
}

impl Interruption {
    /// Waits for a program as [`Self::wait`] does for a suite. Returns what it prints on standard output.
    pub(in crate::commands) fn output(&self, mut program: Child) -> io::Result<Output> {
        let printed = program.stdout.take();
        // Of its own, since a program that nobody reads from waits.
        let reading = threads::start("output", move || {
            let mut text = Vec::new();
            printed.map_or(Ok(0), |mut printed| printed.read_to_end(&mut text)).map(|_| text)
        })?;
        let status = self.wait(program)?;
        let stdout = reading.join().unwrap_or_else(|panic| resume_unwind(panic))?;
        Ok(Output { status, stdout, stderr: Vec::new() })
    }
}

#[cfg(unix)]
mod unix {
    use std::sync::{Mutex, PoisonError};

    use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;

    use super::{Arc, Child, Exit, ExitStatus, FirstSignal, Ordering, io, threads};

    /// The signals that end this run early, from now on.
    #[derive(Debug)]
    pub(in crate::commands) struct Interruption {
        first: FirstSignal,
        /// The suite that runs.
        suite: Arc<Mutex<Option<Pid>>>,
    }

    impl Interruption {
        pub(in crate::commands) fn listen() -> io::Result<Self> {
            let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM])?;
            let this = Self { first: FirstSignal::default(), suite: Arc::default() };
            let (first, suite) = (this.first.clone(), Arc::clone(&this.suite));
            // It listens until this process ends.
            threads::start("signals", move || {
                for signal in signals.forever() {
                    _ = first.0.compare_exchange(0, signal as u8, Ordering::Relaxed, Ordering::Relaxed);
                    // A terminal sends Ctrl-C to the suite too, which would take a second one for impatience.
                    let passed_on = match signal {
                        SIGTERM => Signal::TERM,
                        SIGHUP => Signal::HUP,
                        _ => continue,
                    };
                    if let Some(process) = *suite.lock().unwrap_or_else(PoisonError::into_inner) {
                        // If it has ended meanwhile, it needs none.
                        _ = kill_process(process, passed_on);
                    }
                }
            })?;
            Ok(this)
        }

        /// Waits for the suite, which gets the signals that come meanwhile.
        pub(in crate::commands) fn wait(&self, mut suite: Child) -> io::Result<ExitStatus> {
            let set = |process| *self.suite.lock().unwrap_or_else(PoisonError::into_inner) = process;
            let process = i32::try_from(suite.id()).ok().and_then(Pid::from_raw);
            set(process);
            if let Some(process) = process {
                let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
                // Until it is waited for, its number is given to no other process.
                while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(process), ended) {}
            }
            set(None);
            suite.wait()
        }

        /// Returns the end of the run, if a signal came.
        pub(in crate::commands) fn exit(&self) -> Option<Exit> {
            self.first.exit()
        }
    }
}

/// A console sends its events to the suite too.
#[cfg(windows)]
mod windows {
    use super::{Child, Exit, ExitStatus, FirstSignal, Ordering, io};

    /// The number of Ctrl-C elsewhere, by which the end of a run is told.
    const SIGINT: u8 = 2;

    /// The events that end this run early, from now on.
    #[derive(Debug)]
    pub(in crate::commands) struct Interruption(FirstSignal);

    impl Interruption {
        pub(in crate::commands) fn listen() -> io::Result<Self> {
            let first = FirstSignal::default();
            let noted = first.clone();
            ctrlc::set_handler(move || noted.0.store(SIGINT, Ordering::Relaxed)).map_err(io::Error::other)?;
            Ok(Self(first))
        }

        pub(in crate::commands) fn wait(&self, mut suite: Child) -> io::Result<ExitStatus> {
            suite.wait()
        }

        /// Returns the end of the run, if an event came.
        pub(in crate::commands) fn exit(&self) -> Option<Exit> {
            self.0.exit()
        }
    }
}
