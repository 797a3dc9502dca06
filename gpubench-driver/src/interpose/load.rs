//! Objects of the system's loader. In: a name, or the bytes of a shared object. Out: true if the name is loaded; the
//! object, loaded without a file on disk.

#![expect(unsafe_code, reason = "loads a shared object")]

use std::ffi::{c_int, c_void};
use std::fs::File;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, IntoRawFd};

use libloading::os::unix::{Library, RTLD_LAZY, RTLD_LOCAL};

use super::NotInterposed;

/// `RTLD_NOLOAD`: return the object only if it is loaded.
const NO_LOAD: c_int = 4;

/// Returns true if an object of this name is loaded.
pub(super) fn is_loaded(name: &str) -> bool {
    // SAFETY: nothing is loaded, so no initialiser runs.
    unsafe { Library::open(Some(name), RTLD_LAZY | NO_LOAD) }.is_ok()
}

/// A loaded object. It is never closed.
pub(super) struct Loaded(ManuallyDrop<Library>);

impl Loaded {
    /// Loads the shared object with these bytes.
    pub(super) fn new(name: &str, bytes: &[u8]) -> Result<Self, NotInterposed> {
        let file =
            memory_file(name, bytes).map_err(|error| NotInterposed::NoMemoryFile(error.to_string()))?;
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        // The loader remembers this path as the object's. Another file with this number would be taken for the object,
        // so this one stays open.
        let _ = file.into_raw_fd();
        // SAFETY: the object has no initialiser. The library that it needs is the CUDA driver, or the user named it as
        // one: its initialisers may run anywhere.
        match unsafe { Library::open(Some(&*path), RTLD_LAZY | RTLD_LOCAL) } {
            Ok(library) => Ok(Self(ManuallyDrop::new(library))),
            Err(error) => Err(NotInterposed::NotLoaded(crate::library::reason(&error))),
        }
    }

    /// Returns the address of a symbol of the object, or of a library that it needs.
    pub(super) fn symbol(&self, name: &str) -> Option<*mut c_void> {
        // SAFETY: the symbol is not used as anything but an address here.
        let address = unsafe { self.0.get::<*mut c_void>(name) }.ok()?;
        Some(address.as_raw_ptr()).filter(|address| !address.is_null())
    }
}

/// Returns a file in memory with these bytes. It need not be executable, since they are no code.
#[cfg(target_os = "linux")]
fn memory_file(name: &str, bytes: &[u8]) -> io::Result<File> {
    use std::io::Write;

    use rustix::fs::{MemfdFlags, memfd_create};

    let create = |flags| memfd_create(name, MemfdFlags::CLOEXEC | flags);
    // The second flag says what the system's policy may insist on; before Linux 6.3 it is unknown.
    let file = create(MemfdFlags::NOEXEC_SEAL).or_else(|_| create(MemfdFlags::empty()))?;
    let mut file = File::from(file);
    file.write_all(bytes)?;
    Ok(file)
}

/// Returns an error: only Linux has files in memory that its loader takes.
#[cfg(not(target_os = "linux"))]
fn memory_file(_name: &str, _bytes: &[u8]) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}
