//! Locks clocks while a run lasts.
//!
//! The lock must be released even if the run crashes, so a process of its own holds it. That process reads a pipe, and
//! only the run's process has the other end: a return from `main`, a panic, a signal and `kill -9` all close it. The
//! process is in a session of its own, out of reach of a terminal's Ctrl-C, and ignores the signals that end a run.

use std::env;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdout, Command, Stdio};

use crate::system;
use gpubench_runtime::device::{Available, ClockTarget, DeviceError};
use gpubench_runtime::{__private::ClockControl, devices::kinds};

/// The first argument of the process that holds the lock. The target clock follows, then each GPU's name and
/// UUID.
pub(crate) const FLAG: &str = "--gpubench-clock-keeper";

/// The error if none of the devices has clocks that can be locked.
pub(crate) const NO_GPU: &str = "there is no GPU whose clocks could be locked";

/// A message from the process that holds the lock: a description of each GPU's locked clock, then an empty
/// list after the reset. An error instead of either means that it failed.
type ClockMessage = Result<Vec<String>, String>;

/// Clocks that stay locked until [`release`](Self::release) or a drop, or until this process ends in any way.
pub(crate) struct ClockLock {
    /// The process that holds the lock. The end of its standard input marks the end of the run.
    process: Child,
    messages: BufReader<ChildStdout>,
    gpus: Vec<[String; 2]>,
    /// The name of each device, and its locked clock in words.
    pub locked: Vec<(String, String)>,
}

impl ClockLock {
    /// Locks the clocks of all GPUs in `devices`, which are the devices that have a UUID. If one GPU refuses,
    /// resets those that were locked before it.
    ///
    /// # Errors
    /// Returns an error if a GPU refuses, if there is no GPU, or if the process that holds the lock cannot be
    /// started.
    pub(crate) fn lock(devices: &[Available], target: ClockTarget) -> Result<Self, String> {
        let gpu = |found: &Available| Some([found.device.clone(), found.uuid.clone()?]);
        let gpus: Vec<[String; 2]> = devices.iter().filter_map(gpu).collect();
        if gpus.is_empty() {
            return Err(NO_GPU.to_owned());
        }
        let started = || -> io::Result<(Child, BufReader<ChildStdout>)> {
            let mut process = Command::new(env::current_exe()?)
                .args([FLAG, &target.to_string()])
                .args(gpus.as_flattened())
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()?;
            let messages = process.stdout.take().ok_or_else(|| io::Error::other("it has no pipe"))?;
            Ok((process, BufReader::new(messages)))
        };
        let (process, mut messages) =
            started().map_err(|error| format!("no process to lock them: {error}"))?;
        // From here on, every outcome ends that process, and with it the lock.
        let clocks = receive(&mut messages);
        let mut lock = Self { process, messages, gpus, locked: Vec::new() };
        let names = lock.gpus.iter().map(|[name, _]| name.clone());
        lock.locked = names.zip(clocks?).collect();
        Ok(lock)
    }

    /// Resets the clocks, and waits until that is done. If the process that holds the lock fails to reset
    /// them, this process does.
    ///
    /// # Errors
    /// Returns the reason if the clocks may still be locked.
    pub(crate) fn release(mut self) -> Result<(), String> {
        drop(self.process.stdin.take());
        if receive(&mut self.messages).is_ok() {
            return Ok(());
        }
        // That process is gone, or was refused. This process resets the clocks instead.
        reset_all(&self.gpus).map_err(|refusal| {
            format!("clocks may still be locked: {refusal} (`nvidia-smi --reset-gpu-clocks` resets them)")
        })
    }
}

impl Drop for ClockLock {
    /// Ends the process, and with it the lock.
    fn drop(&mut self) {
        // This process started it, and it ends by itself when its standard input closes, which `wait` does.
        drop(self.process.wait());
    }
}

/// Waits for the next [`ClockMessage`] and returns it. Returns an error too if the process that holds the
/// lock has ended, or if its message cannot be read.
fn receive(messages: &mut impl BufRead) -> Result<Vec<String>, String> {
    let mut line = String::new();
    if messages.read_line(&mut line).map_err(|error| error.to_string())? == 0 {
        return Err("the process that locks them ended".to_owned());
    }
    serde_json::from_str::<ClockMessage>(&line).map_err(|error| format!("`{}`: {error}", line.trim()))?
}

/// Locks the clocks, waits for the end of the run, and resets them: the whole work of the process that holds
/// the lock. Sends a [`ClockMessage`] after each step, also if it failed. `arguments` are those after
/// [`FLAG`].
///
/// # Errors
/// Returns an error if the arguments are invalid, if signals cannot be ignored, or if standard input cannot
/// be read.
pub(crate) fn keep_clocks_locked(arguments: &[String]) -> io::Result<()> {
    let invalid = |message: &str| io::Error::new(io::ErrorKind::InvalidInput, message.to_owned());
    let (target, gpus) = arguments.split_first().ok_or_else(|| invalid("no target"))?;
    let (gpus, _) = gpus.as_chunks();
    let target: ClockTarget = target.parse().map_err(invalid)?;
    // A new session is out of reach of a terminal's Ctrl-C. The call fails if this process already leads a process group,
    // which is then its own.
    _ = rustix::process::setsid();
    system::ignore_stop_signals()?;
    let locked = lock_all(gpus, target);
    send(&locked);
    if locked.is_ok() {
        // Nothing is ever sent: the pipe ends with the run.
        io::stdin().read_to_end(&mut Vec::new())?;
        send(&reset_all(gpus).map(|()| Vec::new()));
    }
    Ok(())
}

/// Writes a message to the process of the run. Ignores errors, because that process may have ended.
fn send(message: &ClockMessage) {
    let line = serde_json::to_string(message).unwrap_or_default();
    _ = writeln!(io::stdout(), "{line}");
}

/// Locks the clocks of all GPUs, each a name and a UUID. If a GPU refuses, resets those before it and returns
/// its error.
fn lock_all(gpus: &[[String; 2]], target: ClockTarget) -> ClockMessage {
    let lock = |(index, [device, uuid]): (usize, &[String; 2])| {
        let locked = clock_control(device).and_then(|clocks| (clocks.lock)(uuid, target));
        locked.map_err(|error| {
            // The GPUs before this one are already locked.
            let left = reset_all(&gpus[..index]).err();
            let left = left.map_or_else(String::new, |left| format!("; still locked: {left}"));
            format!("{device}: {error}{left}")
        })
    };
    gpus.iter().enumerate().map(lock).collect()
}

/// Resets every GPU, even if one fails. Returns the first error.
fn reset_all(gpus: &[[String; 2]]) -> Result<(), String> {
    let reset = |[device, uuid]: &[String; 2]| {
        let reset = clock_control(device).map_or(Ok(()), |clocks| (clocks.reset)(uuid));
        reset.map_err(|error| format!("{device}: {error}"))
    };
    gpus.iter().map(reset).fold(Ok(()), Result::and)
}

/// Returns the functions that lock and reset the clocks of a device's kind, or an error if there are none.
pub(crate) fn clock_control(device: &str) -> Result<ClockControl, DeviceError> {
    let clocks = kinds::kind_of(device).and_then(|kind| kind.clocks);
    clocks.ok_or_else(|| DeviceError::new("clocks of such a device cannot be locked"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_as_they_are_sent() {
        let sent = |message: &ClockMessage| serde_json::to_string(message).expect("it is JSON") + "\n";
        let received = |text: &str| receive(&mut text.as_bytes());
        let clocks = vec!["1,980 MHz".to_owned(), "2,100 MHz".to_owned()];
        assert_eq!(received(&sent(&Ok(clocks.clone()))), Ok(clocks));
        assert_eq!(received(&sent(&Ok(Vec::new()))), Ok(Vec::new()));
        assert_eq!(received(&sent(&Err("no".to_owned()))), Err("no".to_owned()));
        assert_eq!(received(""), Err("the process that locks them ended".to_owned()));
        assert!(received("hello\n").is_err_and(|error| error.starts_with("`hello`: ")));
    }

    /// However a run ends: that process ends with it, and has reset the clocks by then.
    #[test]
    fn a_lock_that_is_dropped_waits_for_the_reset() {
        let folder = tempfile::tempdir().expect("a folder");
        let reset = folder.path().join("reset");
        let mut process = Command::new("sh")
            .args(["-c", r#"cat; sleep 0.2; echo > "$0""#])
            .arg(&reset)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("every Unix has it");
        let messages = BufReader::new(process.stdout.take().expect("a pipe"));
        drop(ClockLock { process, messages, gpus: Vec::new(), locked: Vec::new() });
        assert!(reset.exists());
    }

    /// A CPU has no lock, and what was not locked needs no reset.
    #[test]
    fn a_device_without_a_lock_is_refused_by_name() {
        let gpus = [["host".to_owned(), "1".to_owned()]];
        let refused = lock_all(&gpus, ClockTarget::Base);
        assert_eq!(refused, Err("host: clocks of such a device cannot be locked".to_owned()));
        assert!(reset_all(&gpus).is_ok());
        let none = ClockLock::lock(&[Available::new("host", "host")], ClockTarget::Base).map(drop);
        assert_eq!(none, Err(NO_GPU.to_owned()));
    }
}
