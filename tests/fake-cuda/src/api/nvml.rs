//! The few functions of NVIDIA's management library that the runtime asks, for the same GPU: sensors that say what the
//! environment has them say. They are apart from the driver's state, since another thread reads them at any time.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::call::Out;
use crate::config::Config;
use crate::driver::Answer;

/// What functions return.
type Code = c_uint;

const SUCCESS: Code = 0;
const NOT_SUPPORTED: Code = 3;
const INSUFFICIENT_SIZE: Code = 7;

static CONFIG: LazyLock<Config> = LazyLock::new(Config::read);
/// How often the clock was read.
static READ: AtomicUsize = AtomicUsize::new(0);

fn told(answer: Answer) -> Code {
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
unsafe extern "C" fn nvmlShutdown() -> Code {
    SUCCESS
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

tells! {
    fn nvmlDeviceGetHandleByUUID(_uuid: *const c_char; usize) { 0xd0 }
    fn nvmlDeviceGetClockInfo(_device: usize, kind: c_int; c_uint) { clock(kind) }
    fn nvmlDeviceGetTemperature(_device: usize, _sensor: c_int; c_uint) { 41 }
    fn nvmlDeviceGetPowerUsage(_device: usize; c_uint) { 212_400 }
    fn nvmlDeviceGetEnforcedPowerLimit(_device: usize; c_uint) { 700_000 }
    fn nvmlDeviceGetPersistenceMode(_device: usize; c_int) { 1 }
    fn nvmlDeviceGetCurrentClocksThrottleReasons(_device: usize; u64) { CONFIG.slowed }
}

/// The clock of the multiprocessors (1) or of the memory (2), in MHz.
fn clock(kind: c_int) -> c_uint {
    if kind != 1 {
        return 3201;
    }
    let read = READ.fetch_add(1, Ordering::Relaxed).min(CONFIG.clocks.len().saturating_sub(1));
    CONFIG.clocks.get(read).copied().unwrap_or(0)
}
