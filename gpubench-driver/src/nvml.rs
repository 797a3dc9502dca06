//! NVIDIA's management library (NVML): the sensors, settings and clock locks of a GPU.
//!
//! The library is opened once, at the first call, and never closed. Its functions may be called from any
//! thread.

#![expect(unsafe_code, reason = "opens a shared library and calls its C functions")]

use std::ffi::{CStr, CString, c_char, c_void};
use std::{env, ptr, sync::OnceLock};

use libloading::Library;

/// The environment variable with the path of the NVML library. If it is set and not empty, that library is
/// opened instead of [`DEFAULT_LIBRARY`], and no other is tried.
const NVML_VARIABLE: &str = "GPUBENCH_LIBNVML";
/// The name of the NVML library that the system's loader searches by default.
const DEFAULT_LIBRARY: &str = "libnvidia-ml.so.1";

/// The code of a successful call: `NVML_SUCCESS`.
const SUCCESS: u32 = 0;
/// The code of a call that needs a permission which the user lacks: `NVML_ERROR_NO_PERMISSION`.
pub const NO_PERMISSION: u32 = 4;
/// The code of a call whose result does not fit into the given buffer: `NVML_ERROR_INSUFFICIENT_SIZE`. The
/// call has then stored the number of results.
const INSUFFICIENT_SIZE: u32 = 7;

/// The clocks of a GPU, as `nvmlClockType_t` numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockDomain {
    /// The clock of the multiprocessors.
    Sm = 1,
    /// The clock of the memory.
    Memory = 2,
}

/// `NVML_CLOCK_LIMIT_ID_TDP`: an argument of [`NvmlDevice::lock_clocks`] that means the GPU's base clock.
pub const BASE_CLOCK: u32 = 0xffff_ff01;

/// The reason that NVML gives no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NvmlError {
    /// The library is not found, fails to initialise or lacks a function, as the text says.
    #[error("{0}")]
    Unusable(String),
    /// A call returned this error code.
    #[error("NVML: {}", error_text(*.0))]
    Code(u32),
}

/// The result of a call of NVML.
type NvmlResult<T> = Result<T, NvmlError>;

/// Calls the function of NVML with this name, and evaluates to its result code. Each argument is written
/// after its C type. Returns an error from the caller if NVML cannot be opened or lacks the function.
macro_rules! call {
    ($symbol:expr, $($type:ty: $argument:expr),* $(,)?) => {{
        let function: unsafe extern "C" fn($($type),*) -> u32 = function_of(library()?, $symbol)?;
        // SAFETY: handles are the library's, and each pointer is a place for a result of its type, or a text that ends in a zero.
        unsafe { function($($argument),*) }
    }};
}

/// A GPU, as NVML knows it.
#[derive(Clone, Copy, Debug)]
pub struct NvmlDevice {
    /// NVML's handle of the GPU.
    handle: usize,
}

impl NvmlDevice {
    /// Finds the GPU with this UUID, such as `GPU-…`.
    ///
    /// # Errors
    /// Returns an error if NVML cannot be opened, or if it does not know the GPU.
    pub fn by_uuid(uuid: &str) -> NvmlResult<Self> {
        let uuid = CString::new(uuid).unwrap_or_default();
        let mut handle = ptr::null_mut();
        // A text that ends in a zero, and a place for a handle.
        let (text, place) = (uuid.as_ptr(), &raw mut handle);
        check_code(call!("nvmlDeviceGetHandleByUUID", *const c_char: text, *mut *mut c_void: place))?;
        Ok(Self { handle: handle.expose_provenance() })
    }

    /// Returns NVML's handle as a pointer.
    fn pointer(self) -> *mut c_void {
        ptr::with_exposed_provenance_mut(self.handle)
    }

    /// Returns the number of processes that have a compute context on the GPU.
    ///
    /// # Errors
    /// Returns the library's error.
    pub fn compute_processes(self) -> NvmlResult<u32> {
        let (mut count, none) = (0, ptr::null_mut());
        let symbol = "nvmlDeviceGetComputeRunningProcesses_v3";
        // Without room for processes the library only counts them.
        match call!(symbol, *mut c_void: self.pointer(), *mut u32: &raw mut count, *mut c_void: none) {
            INSUFFICIENT_SIZE => Ok(count),
            code => check_code(code).map(|()| 0),
        }
    }

    /// Returns true if ECC is on.
    ///
    /// # Errors
    /// Returns the library's error.
    pub fn ecc(self) -> NvmlResult<bool> {
        self.current_mode("nvmlDeviceGetEccMode")
    }

    /// Returns true if MIG is on, which divides the GPU into instances.
    ///
    /// # Errors
    /// Returns the library's error.
    pub fn mig(self) -> NvmlResult<bool> {
        self.current_mode("nvmlDeviceGetMigMode")
    }

    /// Returns true if a mode is on now; the mode that is pending for the next reset does not matter.
    /// `symbol` is the name of an NVML function that stores both, the current mode first.
    fn current_mode(self, symbol: &'static str) -> NvmlResult<bool> {
        let [mut current, mut pending] = [0; 2];
        let places = (&raw mut current, &raw mut pending);
        check_code(call!(symbol, *mut c_void: self.pointer(), *mut u32: places.0, *mut u32: places.1))?;
        Ok(current != 0)
    }

    /// Locks the clock of the multiprocessors between `lowest` and `highest`, in MHz, until
    /// [`Self::reset_clocks`].
    ///
    /// # Errors
    /// Returns the library's error.
    pub fn lock_clocks(self, lowest: u32, highest: u32) -> NvmlResult<()> {
        let symbol = "nvmlDeviceSetGpuLockedClocks";
        check_code(call!(symbol, *mut c_void: self.pointer(), u32: lowest, u32: highest))
    }

    /// Removes the lock of [`Self::lock_clocks`].
    ///
    /// # Errors
    /// Returns the library's error.
    pub fn reset_clocks(self) -> NvmlResult<()> {
        check_code(call!("nvmlDeviceResetGpuLockedClocks", *mut c_void: self.pointer()))
    }
}

/// Defines methods of [`NvmlDevice`] for NVML functions whose arguments are the device, perhaps a number, and
/// a pointer to a place for the result.
macro_rules! getters {
    ($(
        $(#[$doc:meta])*
        $name:ident($($argument:ident: $type:ty)?) = $symbol:literal $(($number:expr))? -> $result:ty;
    )*) => {
        impl NvmlDevice {
            $(
                $(#[$doc])*
                ///
                /// # Errors
                /// Returns the library's error.
                pub fn $name(self $(, $argument: $type)?) -> NvmlResult<$result> {
                    let (device, mut value) = (self.pointer(), <$result>::default());
                    let place = &raw mut value;
                    check_code(call!($symbol, *mut c_void: device, $(u32: $number,)? *mut $result: place))?;
                    Ok(value)
                }
            )*
        }
    };
}

getters! {
    /// Returns the power draw in milliwatts.
    power() = "nvmlDeviceGetPowerUsage" -> u32;
    /// Returns the power limit in milliwatts.
    power_limit() = "nvmlDeviceGetEnforcedPowerLimit" -> u32;
    /// Returns the energy since the driver was loaded, in millijoules.
    energy() = "nvmlDeviceGetTotalEnergyConsumption" -> u64;
    /// Returns the reasons for throttled clocks, as a mask of the bits `nvmlClocksThrottleReason…`.
    throttle_reasons() = "nvmlDeviceGetCurrentClocksThrottleReasons" -> u64;
    /// Returns the compute mode, as `nvmlComputeMode_t` numbers them.
    compute_mode() = "nvmlDeviceGetComputeMode" -> u32;
    /// Returns 1 in persistence mode, in which the driver stays loaded while no program uses the GPU, and
    /// else 0.
    persistence() = "nvmlDeviceGetPersistenceMode" -> u32;
    /// Returns the virtualization mode, as `nvmlGpuVirtualizationMode_t` numbers them.
    virtualization() = "nvmlDeviceGetVirtualizationMode" -> u32;
    /// Returns the highest generation of PCIe that both the GPU and the system support.
    pcie_generation() = "nvmlDeviceGetMaxPcieLinkGeneration" -> u32;
    /// Returns the highest number of PCIe lanes that both the GPU and the system support.
    pcie_lanes() = "nvmlDeviceGetMaxPcieLinkWidth" -> u32;
    /// Returns the number of PCIe lanes at present.
    pcie_lanes_now() = "nvmlDeviceGetCurrPcieLinkWidth" -> u32;
    /// Returns the present rate of a clock in MHz.
    clock(clock: ClockDomain) = "nvmlDeviceGetClockInfo"(clock as u32) -> u32;
    /// Returns the highest rate of a clock in MHz.
    highest_clock(clock: ClockDomain) = "nvmlDeviceGetMaxClockInfo"(clock as u32) -> u32;
    /// Returns the temperature in °C.
    temperature() = "nvmlDeviceGetTemperature"(0) -> u32;
    /// Returns 1 if the NVLink with this number is active, and else 0.
    nvlink_state(link: u32) = "nvmlDeviceGetNvLinkState"(link) -> u32;
    /// Returns the version of the NVLink with this number, as `nvmlNvlinkVersion_t` numbers versions.
    nvlink_version(link: u32) = "nvmlDeviceGetNvLinkVersion"(link) -> u32;
}

/// Returns the driver's release, such as `580.159.04`.
///
/// # Errors
/// Returns the library's error.
pub fn driver_release() -> NvmlResult<String> {
    let mut text = [0_u8; 96];
    let (place, length) = (text.as_mut_ptr().cast(), text.len() as u32);
    check_code(call!("nvmlSystemGetDriverVersion", *mut c_char: place, u32: length))?;
    Ok(CStr::from_bytes_until_nul(&text).unwrap_or_default().to_string_lossy().into_owned())
}

/// Returns the open NVML library. The first call opens and initialises it; later calls return the same
/// result.
fn library() -> NvmlResult<&'static Library> {
    /// The opened library, or the reason that there is none.
    static LIBRARY: OnceLock<NvmlResult<Library>> = OnceLock::new();
    LIBRARY.get_or_init(open).as_ref().map_err(Clone::clone)
}

/// Opens the NVML library that `GPUBENCH_LIBNVML` names, or else the system's, and initialises it.
fn open() -> NvmlResult<Library> {
    // Set but empty counts as unset: dlopen("") would open this program itself.
    let variable = env::var_os(NVML_VARIABLE).filter(|value| !value.is_empty());
    let name = variable.unwrap_or_else(|| DEFAULT_LIBRARY.into());
    // SAFETY: the library is NVML, or the user named it as such: its initialisers may run anywhere.
    let library = unsafe { Library::new(&name) }
        .map_err(|_| NvmlError::Unusable(format!("{} not found", name.display())))?;
    let init: unsafe extern "C" fn() -> u32 = function_of(&library, "nvmlInit_v2")?;
    // SAFETY: it has no arguments.
    match unsafe { init() } {
        SUCCESS => Ok(library),
        code => {
            let text = library_error_text(&library, code);
            Err(NvmlError::Unusable(format!("NVML does not start: {text}")))
        }
    }
}

/// Returns the function `symbol` of the library as a pointer of the type `F`, which must be its C type.
fn function_of<F: Copy>(library: &Library, symbol: &'static str) -> NvmlResult<F> {
    // SAFETY: each caller in this file gives the type that NVML declares for the function.
    let found = unsafe { library.get::<F>(symbol) };
    found.map(|function| *function).map_err(|_| NvmlError::Unusable(format!("NVML has no {symbol}")))
}

/// Converts a result code of NVML: `Ok` for `NVML_SUCCESS`, and otherwise an error with the code.
fn check_code(code: u32) -> NvmlResult<()> {
    if code == SUCCESS { Ok(()) } else { Err(NvmlError::Code(code)) }
}

/// Returns NVML's text for an error code; `error` and the code if NVML cannot be opened or has no texts.
fn error_text(code: u32) -> String {
    library().map_or_else(|_| format!("error {code}"), |library| library_error_text(library, code))
}

/// Returns the text of this NVML library for an error code; `error` and the code if the library has no texts.
fn library_error_text(library: &Library, code: u32) -> String {
    /// The type of `nvmlErrorString`.
    type ErrorString = unsafe extern "C" fn(u32) -> *const c_char;
    match function_of::<ErrorString>(library, "nvmlErrorString") {
        // SAFETY: the library returns a constant text that ends in a zero, for any code.
        Ok(function) => unsafe { CStr::from_ptr(function(code)) }.to_string_lossy().into_owned(),
        Err(_) => format!("error {code}"),
    }
}
