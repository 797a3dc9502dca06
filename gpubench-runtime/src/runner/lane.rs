//! A lane of a run: a thread that owns the workers of one device, so that devices are measured side by side. In: commands, one
//! at a time; out: events, the last of which says that the command is done. A lost worker costs one case; the next one
//! measures the rest.

use std::collections::BTreeMap;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, Builder, Scope};
use std::time::Duration;

use super::RunConfig;
use super::error::{DeviceRefusal, RunError};
use super::supervisor::{Ended, Lost, Supervisor};
use crate::device::Available;
use crate::plan::Job;
use crate::worker::{Reply, Request};
use gpubench_records::device_info::DeviceInfo;
use gpubench_records::failure::{Stage, Step};
use gpubench_records::record::Record;
use gpubench_records::threads;

/// The stack of a lane: with `--in-process` user code runs there, and expects as much as a main thread has.
const STACK: usize = 8 << 20;

/// What a lane is asked for.
pub(super) enum Command {
    /// The facts of this device.
    DeviceInfo(String),
    /// The records of a job on a device with these facts, if they are known.
    Measure(Box<Job>, Option<Box<DeviceInfo>>),
    /// New workers for whatever comes next.
    Renew,
}

/// What a lane says.
pub(super) enum LaneEvent {
    /// The facts of a device, or the reason that it cannot be used.
    DeviceInfo(Result<Box<DeviceInfo>, DeviceRefusal>),
    /// The current case has come to this step.
    Step(Step),
    /// The median of the current case is known to this part of it, from so many samples.
    Interval { samples: usize, half_width: f64 },
    /// A case is finished.
    Record(Box<Record>),
    /// Something that the user needs to know and that is no result.
    Warning(String),
    /// The command is done, or nothing more can be done.
    Done(Result<(), Ended>),
}

/// The lanes of a run.
pub(super) struct Lanes {
    commands: Vec<Sender<Command>>,
    events: Receiver<(usize, LaneEvent)>,
    of: BTreeMap<String, usize>,
}

/// Makes the supervisor of a lane's workers.
pub(super) type MakeSupervisor<'a> = dyn Fn() -> Supervisor<'a> + Sync + 'a;

impl Lanes {
    /// Starts a lane for each of `devices`, or one for all of them if they are measured in this process.
    ///
    /// # Errors
    /// Returns an error if the system has no more threads.
    pub(super) fn start<'scope, 'a: 'scope>(
        scope: &'scope Scope<'scope, '_>,
        devices: &[Available],
        config: &'scope RunConfig,
        supervisor: &'scope MakeSupervisor<'a>,
    ) -> Result<Self, RunError> {
        let (sender, events) = channel();
        let count = if config.in_process { 1 } else { devices.len().max(1) };
        let mut commands = Vec::with_capacity(count);
        for number in 0..count {
            let (command, wanted) = channel();
            let sender = sender.clone();
            let lane = move || {
                let (refused, confirmed, supervisor) = (BTreeMap::new(), BTreeMap::new(), supervisor());
                Lane { refused, confirmed, supervisor, config, number, events: sender }.run(&wanted);
            };
            let thread = Builder::new().name(format!("lane {number}")).stack_size(STACK);
            thread
                .spawn_scoped(scope, lane)
                .map_err(|error| RunError::NoWorker(threads::not_started(&error)))?;
            commands.push(command);
        }
        let of = devices.iter().enumerate();
        let of = of.map(|(place, device)| (device.device.clone(), place.min(count - 1))).collect();
        Ok(Self { commands, events, of })
    }

    /// The number of lanes.
    pub(super) fn count(&self) -> usize {
        self.commands.len()
    }

    /// The lane of a device; the first for one that has none.
    pub(super) fn of(&self, device: &str) -> usize {
        self.of.get(device).copied().unwrap_or_default()
    }

    /// Gives a lane a command. It must have done the one before.
    pub(super) fn send(&self, lane: usize, command: Command) {
        // Fails only if the lane has panicked, which ends the run.
        _ = self.commands[lane].send(command);
    }

    /// Waits for the next event of any lane.
    ///
    /// # Errors
    /// Returns an error if no lane is left.
    pub(super) fn wait(&self) -> Result<(usize, LaneEvent), RunError> {
        self.events
            .recv()
            .map_err(|_| RunError::NoWorker(io::Error::other("no thread is left that measures")))
    }
}

/// The reason that a device cannot be opened.
pub(super) struct Refused {
    pub(super) why: DeviceRefusal,
    /// The number of processes in a row that it refused.
    pub(super) times: usize,
}

/// The workers of a device, and where to tell of them.
pub(super) struct Lane<'a> {
    /// Devices that could not be opened, and the reasons.
    pub(super) refused: BTreeMap<String, Refused>,
    /// The number of cases of each benchmark that have failed twice at a stage.
    pub(super) confirmed: BTreeMap<(String, Stage), usize>,
    pub(super) supervisor: Supervisor<'a>,
    pub(super) config: &'a RunConfig,
    number: usize,
    events: Sender<(usize, LaneEvent)>,
}

impl Lane<'_> {
    fn run(mut self, commands: &Receiver<Command>) {
        for command in commands {
            let done = match command {
                Command::DeviceInfo(device) => self.info(&device),
                Command::Measure(job, info) => self.job(*job, info),
                Command::Renew => {
                    self.supervisor.dismiss();
                    Ok(())
                }
            };
            self.tell(LaneEvent::Done(done));
        }
        self.supervisor.dismiss();
    }

    /// Sends a request to the worker of its device. Tells of replies that belong to no request in progress.
    pub(super) fn ask(
        &mut self,
        request: &Request,
        limit: Duration,
        reply: &mut dyn FnMut(Reply),
    ) -> Result<Option<Lost>, Ended> {
        let asked = self.supervisor.ask(request, limit, reply);
        self.tell_remarks();
        asked
    }

    /// Tells of what the workers have remarked.
    pub(super) fn tell_remarks(&mut self) {
        for remark in self.supervisor.take_remarks() {
            self.tell(LaneEvent::Warning(remark));
        }
    }

    /// Tells whoever leads the run, who may have given up.
    pub(super) fn tell(&self, event: LaneEvent) {
        tell(&self.events, self.number, event);
    }

    /// A way to tell of events while the supervisor is busy.
    pub(super) fn teller(&self) -> impl Fn(LaneEvent) + use<> {
        let (events, number) = (self.events.clone(), self.number);
        move |event| tell(&events, number, event)
    }
}

impl Drop for Lane<'_> {
    /// Ends the wait for a lane that panics. The panic goes on where the lanes are joined.
    fn drop(&mut self) {
        if thread::panicking() {
            self.tell(LaneEvent::Done(Err(Ended::NoWorker(io::Error::other("its thread panicked")))));
        }
    }
}

fn tell(events: &Sender<(usize, LaneEvent)>, lane: usize, event: LaneEvent) {
    // Fails only if the run has ended.
    _ = events.send((lane, event));
}
