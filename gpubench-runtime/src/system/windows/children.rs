//! Child processes, each in a job object with everything that it starts. In: commands; out: families, that end as one, and the words
//! for their ends. The system ends a job with its last handle, which is this process's: a family does not outlive it.

#![expect(unsafe_code, reason = "makes and ends job objects by the system's functions")]

use std::env;
use std::io;
use std::mem::{size_of, zeroed};
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::os::windows::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::ptr;

use windows_sys::Win32::Foundation::{
    STATUS_ACCESS_VIOLATION, STATUS_CONTROL_C_EXIT, STATUS_HEAP_CORRUPTION, STATUS_ILLEGAL_INSTRUCTION,
    STATUS_INTEGER_DIVIDE_BY_ZERO, STATUS_STACK_BUFFER_OVERRUN, STATUS_STACK_OVERFLOW,
};
use windows_sys::Win32::System::Diagnostics::Debug::{
    SEM_FAILCRITICALERRORS, SEM_NOGPFAULTERRORBOX, SetErrorMode,
};
use windows_sys::Win32::System::JobObjects::{
    AssignProcessToJobObject, CreateJobObjectW, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION, JobObjectExtendedLimitInformation, SetInformationJobObject,
    TerminateJobObject,
};
use windows_sys::Win32::System::Threading::{CREATE_NEW_PROCESS_GROUP, GetCurrentProcess, TerminateProcess};

/// The exit code of a process that is ended by force.
const KILLED: u32 = 1;

/// A child process and everything that it starts from then on.
pub struct Family {
    child: Child,
    job: OwnedHandle,
}

/// Writes requests to a child.
pub(crate) type Requests = ChildStdin;
/// Reads the replies of a child.
pub(crate) type Replies = ChildStdout;

impl Family {
    /// Starts `command` in a group of its own, which a console's Ctrl-C does not reach, and in a job of its own.
    pub fn start(command: &mut Command) -> io::Result<Self> {
        let job = job()?;
        let mut child = command.creation_flags(CREATE_NEW_PROCESS_GROUP).spawn()?;
        // SAFETY: both handles are open, and owned here.
        if unsafe { AssignProcessToJobObject(job.as_raw_handle(), child.as_raw_handle()) } == 0 {
            let error = io::Error::last_os_error();
            // It may have ended by itself.
            drop(child.kill().and_then(|()| child.wait()));
            return Err(error);
        }
        Ok(Self { child, job })
    }

    /// Starts `command` with pipes as its standard input and output, by which it gets requests and replies to them: see
    /// [`stdio::take_channel`](super::stdio::take_channel).
    pub(crate) fn start_with_channel(mut command: Command) -> io::Result<(Self, Requests, Replies)> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut family = Self::start(&mut command)?;
        let missing = || io::Error::other("it has no pipe");
        let requests = family.child.stdin.take().ok_or_else(missing)?;
        let replies = family.child.stdout.take().ok_or_else(missing)?;
        Ok((family, requests, replies))
    }

    /// Returns true if the child has ended.
    pub fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Returns false: processes of this system cannot be asked to end.
    pub(crate) fn ask_to_end(&self) -> bool {
        false
    }

    /// Ends all of it at once.
    pub fn kill(&self) {
        // SAFETY: the handle is open. It fails only if nobody is left.
        unsafe { TerminateJobObject(self.job.as_raw_handle(), KILLED) };
    }

    /// Waits for the child.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        self.child.wait()
    }
}

/// Makes a job whose processes end with its last handle, which no child inherits.
fn job() -> io::Result<OwnedHandle> {
    // SAFETY: both pointers may be null: the job has no name, and the usual rights.
    let job = unsafe { CreateJobObjectW(ptr::null(), ptr::null()) };
    if job.is_null() {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the handle is new, and nobody else's.
    let job = unsafe { OwnedHandle::from_raw_handle(job) };
    // SAFETY: it consists of numbers, and zeros set no limit.
    let mut limits: JOBOBJECT_EXTENDED_LIMIT_INFORMATION = unsafe { zeroed() };
    limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
    // SAFETY: the limits are of the kind that is named, and of this size.
    let set = unsafe {
        SetInformationJobObject(
            job.as_raw_handle(),
            JobObjectExtendedLimitInformation,
            (&raw const limits).cast(),
            size_of::<JOBOBJECT_EXTENDED_LIMIT_INFORMATION>() as u32,
        )
    };
    if set == 0 { Err(io::Error::last_os_error()) } else { Ok(job) }
}

/// Does nothing: the system remembers here how children end, whoever started this process.
pub fn remember_ends() {}

/// Returns the path of this running program. The system lets nobody replace its file meanwhile.
pub(crate) fn this_program() -> io::Result<PathBuf> {
    env::current_exe()
}

/// Begins the work of a child: a crash ends it at once, and shows no window that waits for somebody to close it.
pub(crate) fn begin_work() {
    // SAFETY: it sets a property of this process, to a value that exists.
    unsafe { SetErrorMode(SEM_FAILCRITICALERRORS | SEM_NOGPFAULTERRORBOX) };
}

/// Returns the end of a process in words.
pub(crate) fn end_in_words(status: ExitStatus) -> String {
    let Some(code) = status.code() else { return "the process ended".to_owned() };
    let crash = match code {
        STATUS_ACCESS_VIOLATION => "access violation",
        STATUS_CONTROL_C_EXIT => "Ctrl-C",
        STATUS_HEAP_CORRUPTION => "heap corruption",
        STATUS_ILLEGAL_INSTRUCTION => "illegal instruction",
        STATUS_INTEGER_DIVIDE_BY_ZERO => "integer division by zero",
        STATUS_STACK_BUFFER_OVERRUN => "it aborted",
        STATUS_STACK_OVERFLOW => "stack overflow",
        // The codes of the system for what went wrong.
        ..0 => return format!("the process exited with code {code:#010X}"),
        _ => return format!("the process exited with code {code}"),
    };
    format!("the process exited with code {code:#010X} ({crash})")
}

/// Returns true if the process was ended by a console that ended all of its processes.
pub(crate) fn is_from_outside(status: ExitStatus) -> bool {
    status.code() == Some(STATUS_CONTROL_C_EXIT)
}

/// Ends this process, whose supervisor is gone. Everything that it has started ends with the job, whose last handle was the
/// supervisor's.
pub(crate) fn end_own_family() -> ! {
    // At once: no destructor of a library runs, which might wait for a device.
    // SAFETY: the handle is that of this process, and nothing runs behind the call.
    unsafe { TerminateProcess(GetCurrentProcess(), KILLED) };
    std::process::abort()
}

/// Ends this process. This system makes no forked copies.
pub(crate) fn end_copied_worker() -> ! {
    end_own_family()
}

/// Does nothing: a process that hears Ctrl-C, and goes on, is out of its reach.
pub(crate) fn leave_terminal() {}

/// Returns false: rights of this system are not looked at.
pub(crate) fn is_root() -> bool {
    false
}
