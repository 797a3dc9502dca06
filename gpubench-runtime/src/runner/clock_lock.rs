//! Keeps clocks locked while a run lasts. In: GPUs and where to lock their clocks; out: what they are locked to, or why they
//! are not, and at the end whether they were reset.
//!
//! Whoever locks clocks must outlive the run, however it ends: so that is a process of its own. It hears that the run has
//! ended by the end of a pipe, of which only the run's process has the other end: a panic, a signal and `kill -9` close it
//! as a return from `main` does. It is in a session of its own, out of reach of a terminal's Ctrl-C, and lets the signals by
//! which a run is ended pass.

use std::env;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::device::Available;
use crate::device::ClockTarget;
use crate::device::kinds;

/// The first argument of such a process; the target follows, then each GPU's name and UUID.
pub(crate) const FLAG: &str = "--gpubench-clock-keeper";

/// What it says on its standard output: in words what each GPU is locked to; at the end nothing; or what went wrong.
type Told = Result<Vec<String>, String>;

/// Clocks that are locked as long as this lives.
pub(crate) struct ClockLock {
    process: Child,
    /// Its end is the run's.
    run: Option<ChildStdin>,
    says: BufReader<ChildStdout>,
    gpus: Vec<[String; 2]>,
    /// Each device with what its clocks are locked to.
    pub(crate) locked: Vec<(String, String)>,
}

impl ClockLock {
    /// Locks the clocks of all GPUs among `devices`, or of none.
    ///
    /// # Errors
    /// Which device refuses, and why.
    pub(crate) fn lock(devices: &[Available], target: ClockTarget) -> Result<Self, String> {
        let gpu = |found: &Available| Some([found.device.clone(), found.uuid.clone()?]);
        let gpus: Vec<[String; 2]> = devices.iter().filter_map(gpu).collect();
        if gpus.is_empty() {
            return Err("there is no GPU whose clocks could be locked".to_owned());
        }
        let started = Self::start(&gpus, target);
        let (process, run, mut says) =
            started.map_err(|error| format!("no process to lock them: {error}"))?;
        // From here on, whatever happens ends that process and with it the lock.
        let told = listen(&mut says);
        let mut keeper = Self { process, run: Some(run), says, gpus, locked: Vec::new() };
        let names = keeper.gpus.iter().map(|[name, _]| name.clone());
        keeper.locked = names.zip(told?).collect();
        Ok(keeper)
    }

    fn start(
        gpus: &[[String; 2]],
        target: ClockTarget,
    ) -> io::Result<(Child, ChildStdin, BufReader<ChildStdout>)> {
        let mut process = Command::new(env::current_exe()?)
            .args([FLAG, &target.to_string()])
            .args(gpus.as_flattened())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let missing = || io::Error::other("it has no pipe");
        let run = process.stdin.take().ok_or_else(missing)?;
        let says = process.stdout.take().ok_or_else(missing)?;
        Ok((process, run, BufReader::new(says)))
    }

    /// Has the clocks reset, and waits until they are.
    ///
    /// # Errors
    /// Why they may still be locked.
    pub(crate) fn release(mut self) -> Result<(), String> {
        drop(self.run.take());
        if listen(&mut self.says).is_ok() {
            return Ok(());
        }
        // It is gone, or was refused: what it should have done is done here.
        let failed = reset_all(&self.gpus).err();
        failed.map_or(Ok(()), |why| {
            Err(format!("clocks may still be locked: {why} (`nvidia-smi --reset-gpu-clocks` resets them)"))
        })
    }
}

impl Drop for ClockLock {
    /// No keeper is left behind, nor a lock.
    fn drop(&mut self) {
        drop(self.run.take());
        // It ends by itself, and has been started by this process.
        drop(self.process.wait());
    }
}

fn listen(says: &mut BufReader<ChildStdout>) -> Told {
    let mut line = String::new();
    let heard = says.read_line(&mut line);
    let told: Result<Told, String> = match heard {
        Ok(0) => Err("the process that locks them ended".to_owned()),
        Ok(_) => serde_json::from_str(&line).map_err(|error| format!("`{}`: {error}", line.trim())),
        Err(error) => Err(error.to_string()),
    };
    told.and_then(|told| told)
}

/// Locks, waits for the end of the run, and resets: all that such a process does. `arguments` are those behind [`FLAG`].
///
/// # Errors
/// Where the arguments are none, or standard input cannot be read.
pub(crate) fn serve(arguments: &[String]) -> io::Result<()> {
    let invalid = |message: &str| io::Error::new(io::ErrorKind::InvalidInput, message.to_owned());
    let (target, gpus) = arguments.split_first().ok_or_else(|| invalid("no target"))?;
    let (gpus, _) = gpus.as_chunks();
    let target: ClockTarget = target.parse().map_err(|message: String| invalid(&message))?;
    // Fails where it leads a process group already, which then is its own.
    _ = rustix::process::setsid();
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))?;
    }
    let locked = lock_all(gpus, target);
    let refused = locked.is_err();
    say(&locked);
    if refused {
        return Ok(());
    }
    // Nothing is ever sent: the other side goes away.
    io::stdin().read_to_end(&mut Vec::new())?;
    say(&reset_all(gpus).map(|()| Vec::new()));
    Ok(())
}

/// The run may be gone, which is what this waits for.
fn say(told: &Told) {
    let line = serde_json::to_string(told).unwrap_or_default();
    _ = writeln!(io::stdout(), "{line}");
}

fn lock_all(gpus: &[[String; 2]], target: ClockTarget) -> Told {
    let mut locked = Vec::new();
    for (index, [name, uuid]) in gpus.iter().enumerate() {
        match lock(name, uuid, target) {
            Ok(words) => locked.push(words),
            Err(why) => {
                // Those before it are locked already.
                let left = reset_all(&gpus[..index])
                    .map_or_else(|why| format!("; still locked: {why}"), |()| String::new());
                return Err(format!("{name}: {why}{left}"));
            }
        }
    }
    Ok(locked)
}

fn lock(device: &str, uuid: &str, target: ClockTarget) -> Result<String, String> {
    let clocks = kinds::clocks(device).ok_or("clocks of such a device cannot be locked")?;
    (clocks.lock)(uuid, target)
}

/// Resets each, also where another fails; the first failure.
fn reset_all(gpus: &[[String; 2]]) -> Result<(), String> {
    let reset = |[name, uuid]: &[String; 2]| {
        let reset = kinds::clocks(name).map_or(Ok(()), |clocks| (clocks.reset)(uuid));
        reset.map_err(|why| format!("{name}: {why}"))
    };
    gpus.iter().map(reset).fold(Ok(()), Result::and)
}
