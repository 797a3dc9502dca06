//! Keeps clocks locked while a run lasts. In: GPUs and the clock to lock them to. Out: the locked clocks, or the reason
//! that there are none, and at the end the result of the reset.
//!
//! The lock must be released even if the run crashes, so a process of its own holds it. That process reads a pipe, and
//! only the run's process has the other end: a return from `main`, a panic, a signal and `kill -9` all close it. The
//! process is in a session of its own, out of reach of a terminal's Ctrl-C, and ignores the signals that end a run.

use std::env;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::device::Available;
use crate::device::ClockTarget;
use crate::device::kinds;

/// The first argument of such a process. The target follows, then each GPU's name and UUID.
pub(crate) const FLAG: &str = "--gpubench-clock-keeper";

/// A message on its standard output: first each GPU's locked clock in words, at the end nothing; or the
/// error.
type Told = Result<Vec<String>, String>;

/// Clocks that stay locked while this lives.
pub(crate) struct ClockLock {
    process: Child,
    /// The pipe whose end marks the end of the run.
    run: Option<ChildStdin>,
    says: BufReader<ChildStdout>,
    gpus: Vec<[String; 2]>,
    /// Each device with its locked clock.
    pub(crate) locked: Vec<(String, String)>,
}

impl ClockLock {
    /// Locks the clocks of all GPUs among `devices`, or of none.
    ///
    /// # Errors
    /// Returns an error with the device that refuses, and the reason.
    pub(crate) fn lock(devices: &[Available], target: ClockTarget) -> Result<Self, String> {
        let gpu = |found: &Available| Some([found.device.clone(), found.uuid.clone()?]);
        let gpus: Vec<[String; 2]> = devices.iter().filter_map(gpu).collect();
        if gpus.is_empty() {
            return Err("there is no GPU whose clocks could be locked".to_owned());
        }
        let started = Self::start(&gpus, target);
        let (process, run, mut says) =
            started.map_err(|error| format!("no process to lock them: {error}"))?;
        // From here on, every outcome ends that process, and with it the lock.
        let told = listen(&mut says);
        let mut lock = Self { process, run: Some(run), says, gpus, locked: Vec::new() };
        let names = lock.gpus.iter().map(|[name, _]| name.clone());
        lock.locked = names.zip(told?).collect();
        Ok(lock)
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

    /// Resets the clocks, and waits until that is done.
    ///
    /// # Errors
    /// Returns an error with the reason that they may still be locked.
    pub(crate) fn release(mut self) -> Result<(), String> {
        drop(self.run.take());
        if listen(&mut self.says).is_ok() {
            return Ok(());
        }
        // That process is gone, or was refused. This process resets the clocks in its place.
        let failed = reset_all(&self.gpus).err();
        failed.map_or(Ok(()), |why| {
            Err(format!("clocks may still be locked: {why} (`nvidia-smi --reset-gpu-clocks` resets them)"))
        })
    }
}

impl Drop for ClockLock {
    /// Leaves no such process and no lock behind.
    fn drop(&mut self) {
        drop(self.run.take());
        // This process started it, and it ends by itself.
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

/// Locks the clocks, waits for the end of the run, and resets them: the whole work of such a process.
/// `arguments` are those after [`FLAG`].
///
/// # Errors
/// Returns an error if the arguments are invalid, or if standard input cannot be read.
pub(crate) fn serve(arguments: &[String]) -> io::Result<()> {
    let invalid = |message: &str| io::Error::new(io::ErrorKind::InvalidInput, message.to_owned());
    let (target, gpus) = arguments.split_first().ok_or_else(|| invalid("no target"))?;
    let (gpus, _) = gpus.as_chunks();
    let target: ClockTarget = target.parse().map_err(|message: String| invalid(&message))?;
    // Fails if this process already leads a process group. That group is then its own.
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
    // Nothing is ever sent: the pipe ends with the run.
    io::stdin().read_to_end(&mut Vec::new())?;
    say(&reset_all(gpus).map(|()| Vec::new()));
    Ok(())
}

/// Ignores errors, because the run may be gone: this process waits for that.
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
                // The GPUs before this one are already locked.
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

/// Resets every GPU, even if one fails. Returns the first error.
fn reset_all(gpus: &[[String; 2]]) -> Result<(), String> {
    let reset = |[name, uuid]: &[String; 2]| {
        let reset = kinds::clocks(name).map_or(Ok(()), |clocks| (clocks.reset)(uuid));
        reset.map_err(|why| format!("{name}: {why}"))
    };
    gpus.iter().map(reset).fold(Ok(()), Result::and)
}
