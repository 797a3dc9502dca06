//! The standard streams, taken away from the user's code, so that what it reads and prints does not mix with what this process sends
//! and prints itself. In: the streams that this process was started with; out: files of its own, which no child inherits.
//!
//! A stream is known by a handle, which Rust's standard library asks for each time, and by a descriptor of the C library, which `printf`
//! writes to. Both are replaced.

#![expect(unsafe_code, reason = "replaces the standard streams of the system and of the C library")]

use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::os::windows::io::{AsHandle, AsRawHandle, IntoRawHandle, OwnedHandle};

use windows_sys::Win32::System::Console::{STD_HANDLE, STD_INPUT_HANDLE, STD_OUTPUT_HANDLE, SetStdHandle};

/// The file that is empty, and takes everything.
const NULL: &str = "NUL";

/// The C library's descriptors, with the system's names for the same streams.
const INPUT: (i32, STD_HANDLE) = (0, STD_INPUT_HANDLE);
const OUTPUT: (i32, STD_HANDLE) = (1, STD_OUTPUT_HANDLE);

/// Takes the pipes away from standard input and output, where a child of a family got them: a file for requests, and one for replies.
/// A launch or its child then reads nothing, and prints to standard error.
pub(crate) fn take_channel() -> io::Result<(File, File)> {
    let requests = io::stdin().as_handle().try_clone_to_owned()?;
    let replies = io::stdout().as_handle().try_clone_to_owned()?;
    put(INPUT, File::open(NULL)?.into())?;
    put(OUTPUT, error_stream()?)?;
    Ok((requests.into(), replies.into()))
}

/// Takes standard output, so that all other output of this process goes to standard error. Nothing where it is a console, on which only
/// the standard library writes all letters, or where there is none.
pub(crate) fn take_output() -> io::Result<Option<File>> {
    let out = io::stdout();
    if out.is_terminal() || out.as_raw_handle().is_null() {
        return Ok(None);
    }
    let ours = out.as_handle().try_clone_to_owned()?;
    put(OUTPUT, error_stream()?)?;
    Ok(Some(ours.into()))
}

/// Returns a second handle of standard error, or of nothing where there is none.
fn error_stream() -> io::Result<OwnedHandle> {
    let error = io::stderr();
    if error.as_raw_handle().is_null() {
        return Ok(File::options().write(true).open(NULL)?.into());
    }
    error.as_handle().try_clone_to_owned()
}

/// Puts `handle` in the place of a standard stream, whose earlier handle is closed.
fn put((descriptor, stream): (i32, STD_HANDLE), handle: OwnedHandle) -> io::Result<()> {
    // SAFETY: the C library takes the handle, which nobody else owns. Its descriptor is closed again below.
    let new = unsafe { libc::open_osfhandle(handle.into_raw_handle() as libc::intptr_t, 0) };
    if new < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: both are descriptors of the C library, and the first is open. It closes what the second was.
    let placed = unsafe { libc::dup2(new, descriptor) };
    // SAFETY: it was opened above, and is used no more.
    unsafe { libc::close(new) };
    if placed < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is open, and stays so.
    let set = unsafe { SetStdHandle(stream, libc::get_osfhandle(descriptor) as *mut _) };
    if set == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// A stream that is waited for while it takes or has nothing, as all are here.
#[derive(Debug)]
pub struct Patient<S>(pub S);

impl<S: Write> Write for Patient<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl<S: Read> Read for Patient<S> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.0.read(bytes)
    }
}
