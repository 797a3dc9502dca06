//! DeviceInfo of this machine, as its system tells them: from the registry, and by its functions.

#![expect(unsafe_code, reason = "asks the system by its functions")]

use std::env;
use std::mem::{size_of, zeroed};
use std::path::Path;
use std::ptr;
use std::time::Duration;

use windows_registry::LOCAL_MACHINE;
use windows_sys::Win32::Foundation::FILETIME;
use windows_sys::Win32::System::SystemInformation::{
    CacheInstruction, CacheUnified, GetLogicalProcessorInformation, RelationCache,
    SYSTEM_LOGICAL_PROCESSOR_INFORMATION,
};
use windows_sys::Win32::System::Threading::{GetCurrentThread, GetThreadTimes};

/// The place of the system's version in the registry, and that of the first processor.
const VERSION: &str = r"SOFTWARE\Microsoft\Windows NT\CurrentVersion";
const PROCESSOR: &str = r"HARDWARE\DESCRIPTION\System\CentralProcessor\0";

/// Returns the machine's name.
pub(crate) fn host() -> Option<String> {
    env::var("COMPUTERNAME").ok().filter(|name| !name.is_empty())
}

/// Returns the name of the system, as in `Windows 10 Pro`. Windows 11 calls itself 10 there: its number begins with 22000.
pub(crate) fn system() -> Option<String> {
    text(VERSION, "ProductName")
}

/// Returns the kernel and its version.
pub(crate) fn kernel() -> Option<String> {
    let number = |name| number(VERSION, name);
    let numbers = || Some((number("CurrentMajorVersionNumber")?, number("CurrentMinorVersionNumber")?));
    // Before Windows 10 there is a text alone.
    let version = numbers()
        .map(|(major, minor)| format!("{major}.{minor}"))
        .or_else(|| text(VERSION, "CurrentVersion"))?;
    Some(format!("Windows NT {version}.{}", text(VERSION, "CurrentBuildNumber")?))
}

/// Returns the model name of the first processor.
pub(crate) fn cpu_name() -> Option<String> {
    text(PROCESSOR, "ProcessorNameString").map(|name| name.trim().to_owned()).filter(|name| !name.is_empty())
}

/// Returns the time that the calling thread ran so far, in steps of some 16 ms.
pub(crate) fn thread_time() -> Duration {
    let none = FILETIME { dwLowDateTime: 0, dwHighDateTime: 0 };
    let (mut began, mut ended, mut in_system, mut in_program) = (none, none, none, none);
    // SAFETY: the handle is that of this thread, and all are places for an answer. Without one, they stay zero.
    unsafe {
        GetThreadTimes(
            GetCurrentThread(),
            &raw mut began,
            &raw mut ended,
            &raw mut in_system,
            &raw mut in_program,
        )
    };
    let steps = |time: FILETIME| u64::from(time.dwHighDateTime) << 32 | u64::from(time.dwLowDateTime);
    // Steps of 100 ns.
    Duration::from_nanos(100 * (steps(in_system) + steps(in_program)))
}

/// Returns nothing: memory has no file system here.
pub(crate) fn file_system_size(_: &Path) -> Option<u64> {
    None
}

/// A cache of data.
pub(crate) struct Cache {
    /// 1 is next to the processor.
    pub(crate) level: u8,
    /// True if it holds instructions too.
    pub(crate) is_unified: bool,
    /// Its size in bytes.
    pub(crate) size: u64,
    /// A bit for each processor that it serves.
    pub(crate) processors: usize,
}

/// Returns the caches of data of the processors of this thread's group, of which there are at most 64.
pub(crate) fn caches() -> Vec<Cache> {
    let mut bytes = 0;
    // SAFETY: no place for an answer, of no size: it tells the size alone.
    unsafe { GetLogicalProcessorInformation(ptr::null_mut(), &raw mut bytes) };
    // SAFETY: it consists of numbers.
    let none: SYSTEM_LOGICAL_PROCESSOR_INFORMATION = unsafe { zeroed() };
    let mut found = vec![none; bytes as usize / size_of::<SYSTEM_LOGICAL_PROCESSOR_INFORMATION>()];
    // SAFETY: there is a place for so many bytes.
    if unsafe { GetLogicalProcessorInformation(found.as_mut_ptr(), &raw mut bytes) } == 0 {
        return Vec::new();
    }
    let caches = found.iter().filter(|found| found.Relationship == RelationCache).map(|found| {
        // SAFETY: this is the part that such an entry has.
        (found.ProcessorMask, unsafe { found.Anonymous.Cache })
    });
    let of_data = caches.filter(|(_, cache)| cache.Type != CacheInstruction);
    of_data
        .map(|(processors, cache)| Cache {
            level: cache.Level,
            is_unified: cache.Type == CacheUnified,
            size: cache.Size.into(),
            processors,
        })
        .collect()
}

/// Reads a text of the registry.
fn text(key: &str, name: &str) -> Option<String> {
    LOCAL_MACHINE.open(key).ok()?.get_string(name).ok()
}

/// Reads a number of the registry.
fn number(key: &str, name: &str) -> Option<u32> {
    LOCAL_MACHINE.open(key).ok()?.get_u32(name).ok()
}
