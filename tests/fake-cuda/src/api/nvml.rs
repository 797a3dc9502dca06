//! The few functions of NVIDIA's management library that the runtime asks, for the same GPU: sensors that say what the
//! environment has them say, and clocks that are locked in the log alone. They are apart from the driver's state, since
//! another thread reads them at any time.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::fmt::Arguments;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Instant;

use crate::call::{Out, text};
use crate::config::{Config, shown};
use crate::driver::Answer;
use crate::log::Log;

/// The codes that functions return.
pub(super) type Code = c_uint;

const SUCCESS: Code = 0;
pub(super) const NOT_SUPPORTED: Code = 3;
const NOT_FOUND: Code = 6;
const INSUFFICIENT_SIZE: Code = 7;

/// The handle of the first GPU; those of the others follow.
const FIRST: usize = 0xd0;

pub(super) static CONFIG: LazyLock<Config> = LazyLock::new(Config::read);
/// The number of readings of the clock, and of the temperature.
static READ: AtomicUsize = AtomicUsize::new(0);
static HEAT_READ: AtomicUsize = AtomicUsize::new(0);
/// Since when energy is counted.
static BEGIN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// The constant power in milliwatts, and the highest clock of the multiprocessors, in MHz.
const POWER: c_uint = 212_400;
const MAX_CLOCK: c_uint = 1980;

pub(super) fn told(answer: Answer) -> Code {
    if answer.is_ok() { SUCCESS } else { NOT_SUPPORTED }
}

/// Exports functions that set one result.
macro_rules! tells {
    ($(fn $name:ident($($argument:ident: $type:ty),* ; $result:ty) { $value:expr })*) => {
        $(
            // SAFETY: no other object of a program under test defines this name.
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name($($argument: $type,)* result: Out<$result>) -> Code {
                told(result.set($value))
            }
        )*
    };
}

// SAFETY: as above.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlInit_v2() -> Code {
    SUCCESS
}

// SAFETY: as above.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlErrorString(code: Code) -> *const c_char {
    match code {
        NOT_SUPPORTED => c"Not Supported".as_ptr(),
        NOT_FOUND => c"Not Found".as_ptr(),
        _ => c"Unknown Error".as_ptr(),
    }
}

// SAFETY: as above.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetComputeRunningProcesses_v3(
    _device: usize,
    count: Out<c_uint>,
    _processes: *mut c_void,
) -> Code {
    if count.set(CONFIG.processes).is_ok() { INSUFFICIENT_SIZE } else { NOT_SUPPORTED }
}

// SAFETY: as above.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetEccMode(_device: usize, current: Out<c_int>, pending: Out<c_int>) -> Code {
    told(current.set(1).and_then(|()| pending.set(1)))
}

// SAFETY: as above.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetMigMode(
    _device: usize,
    current: Out<c_uint>,
    pending: Out<c_uint>,
) -> Code {
    told(current.set(0).and_then(|()| pending.set(0)))
}

tells! {
    fn nvmlDeviceGetClockInfo(_device: usize, kind: c_int; c_uint) { clock(kind) }
    fn nvmlDeviceGetTemperature(_device: usize, _sensor: c_int; c_uint) { next(&CONFIG.heat, &HEAT_READ) }
    fn nvmlDeviceGetPowerUsage(_device: usize; c_uint) { POWER }
    fn nvmlDeviceGetEnforcedPowerLimit(_device: usize; c_uint) { 700_000 }
    fn nvmlDeviceGetMaxClockInfo(_device: usize, kind: c_int; c_uint) { if kind == 1 { MAX_CLOCK } else { 3201 } }
    fn nvmlDeviceGetComputeMode(_device: usize; c_int) { 0 }
    fn nvmlDeviceGetPersistenceMode(_device: usize; c_int) { 1 }
    fn nvmlDeviceGetCurrentClocksThrottleReasons(_device: usize; u64) { CONFIG.slowed }
}

// SAFETY: as above.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetHandleByUUID(uuid: *const c_char, device: Out<usize>) -> Code {
    let Ok(wanted) = text(uuid) else { return NOT_FOUND };
    let found = (0..CONFIG.gpus).find(|ordinal| shown(CONFIG.uuid(*ordinal)) == wanted);
    found.map_or(NOT_FOUND, |ordinal| told(device.set(FIRST + ordinal)))
}

// SAFETY: as above.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetTotalEnergyConsumption(_device: usize, energy: Out<u64>) -> Code {
    let milliseconds = BEGIN.elapsed().as_millis() as u64;
    match milliseconds.checked_div(CONFIG.energy) {
        Some(updates) => told(energy.set(updates * CONFIG.energy * u64::from(POWER) / 1000)),
        None => NOT_SUPPORTED,
    }
}

// SAFETY: as above.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceSetGpuLockedClocks(_device: usize, least: c_uint, most: c_uint) -> Code {
    changed(CONFIG.lock, format_args!("nvmlDeviceSetGpuLockedClocks {} {least} {most}", CONFIG.lock))
}

// SAFETY: as above.
#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceResetGpuLockedClocks(_device: usize) -> Code {
    changed(CONFIG.unlock, format_args!("nvmlDeviceResetGpuLockedClocks {}", CONFIG.unlock))
}

/// Writes a change of the device to the log at once, so that the line is there even if the process dies.
fn changed(code: Code, call: Arguments<'_>) -> Code {
    static LOG: LazyLock<Mutex<Log>> = LazyLock::new(|| Mutex::new(Log::open(CONFIG.log.as_deref())));
    let mut log = LOG.lock().unwrap_or_else(PoisonError::into_inner);
    log.add(0.0, 0.0, None, format_args!("call {call}"));
    log.write();
    code
}

/// The clock of the multiprocessors (1) or of the memory (2), in MHz.
fn clock(kind: c_int) -> c_uint {
    if kind != 1 {
        return 3201;
    }
    next(&CONFIG.clocks, &READ)
}

/// The next of these readings; the last one repeats.
fn next(readings: &[c_uint], read: &AtomicUsize) -> c_uint {
    let number = read.fetch_add(1, Ordering::Relaxed).min(readings.len().saturating_sub(1));
    readings.get(number).copied().unwrap_or(0)
}
