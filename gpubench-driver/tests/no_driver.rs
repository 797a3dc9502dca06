//! A machine without a driver: cust gets an error that prints, `load` says what is missing, nothing panics.

#![expect(unsafe_code, reason = "calls the C functions that cust does not")]

use std::error::Error;
use std::ffi::OsStr;
use std::path::Path;
use std::ptr;

use cust::CudaFlags;
use cust::error::CudaError;
use cust::memory::{DeviceBuffer, LockedBuffer, UnifiedBuffer};
use cust::stream::{Stream, StreamFlags};
use cust::sys;
use gpubench_driver::{LoadError, MINIMUM_VERSION, error_name, error_text, last_call, load, take_failure};

use crate::common::{is_child, run_alone};

const NOWHERE: &str = "/nowhere/libcuda.so.1";

/// Runs `body` in a process of its own, in which `GPUBENCH_LIBCUDA` is `library`.
fn in_child(test: &str, library: Option<&OsStr>, body: impl FnOnce()) {
    if is_child() { body() } else { run_alone(module_path!(), test, library) }
}

fn without_driver(test: &str, body: impl FnOnce()) {
    in_child(test, Some(OsStr::new(NOWHERE)), body);
}

#[test]
fn cust_says_that_there_is_no_device() {
    without_driver("cust_says_that_there_is_no_device", || {
        let error = cust::init(CudaFlags::empty()).expect_err("there is no driver");
        assert_eq!(error, CudaError::NoDevice);
        assert_eq!(error.to_string(), format!("\"no CUDA device ({NOWHERE} not found)\""));
        assert_eq!(cust::quick_init().expect_err("nor now"), CudaError::NoDevice);
    });
}

#[test]
fn every_error_of_cust_prints() {
    without_driver("every_error_of_cust_prints", || {
        assert_eq!(CudaError::InvalidValue.to_string(), "\"invalid argument\"");
        assert_eq!(CudaError::UnknownError.to_string(), "\"unknown error\"");
    });
}

#[test]
fn load_names_variable_and_path() {
    without_driver("load_names_variable_and_path", || {
        let error = load().expect_err("there is no driver");
        let LoadError::NotFound { library, reason, from_variable: true } = error else {
            panic!("{error:?}");
        };
        assert_eq!(library, Path::new(NOWHERE));
        assert!(reason.contains("No such file"), "{reason}");
        let message = error.to_string();
        assert!(message.starts_with("GPUBENCH_LIBCUDA names /nowhere/libcuda.so.1, which"), "{message}");
        assert_eq!(error.short(), "/nowhere/libcuda.so.1 not found");
        // The same place in memory: it was looked for once.
        assert!(ptr::eq(error, load().expect_err("nor now")));
        // A caller's `?` takes it.
        let _: Box<dyn Error + Send + Sync> = error.into();
    });
}

#[test]
fn the_system_library_is_the_default() {
    in_child("the_system_library_is_the_default", None, || match load() {
        Ok(driver) => {
            assert_eq!(driver.library, Path::new("libcuda.so.1"));
            assert!(driver.version >= MINIMUM_VERSION);
        }
        Err(error @ LoadError::NotFound { library, from_variable, .. }) => {
            assert_eq!((library.to_str(), *from_variable), (Some("libcuda.so.1"), false));
            assert_eq!(error.short(), "libcuda.so.1 not found");
            assert!(error.to_string().contains("install an NVIDIA driver"), "{error}");
        }
        Err(error) => panic!("a driver that is no use to the suite: {error}"),
    });
}

#[test]
fn an_empty_variable_is_unset() {
    in_child("an_empty_variable_is_unset", Some(OsStr::new("")), || {
        let library = match load() {
            Ok(driver) => &driver.library,
            Err(LoadError::NotFound { library, .. }) => library,
            Err(error) => panic!("{error}"),
        };
        assert_eq!(library, Path::new("libcuda.so.1"));
    });
}

#[test]
fn what_is_no_library_cannot_be_opened() {
    let file = env!("CARGO_MANIFEST_PATH");
    in_child("what_is_no_library_cannot_be_opened", Some(OsStr::new(file)), || {
        let short = load().expect_err("a text file").short();
        assert!(short.starts_with(&format!("{file} cannot be opened: ")), "{short}");
    });
}

#[test]
fn calls_are_noted() {
    without_driver("calls_are_noted", || {
        assert_eq!(last_call(), None);
        let mut pointer = 7;
        // SAFETY: the pointer may be written.
        let result = unsafe { sys::cuMemAlloc_v2(&raw mut pointer, 4) };
        assert_eq!(result, sys::CUresult::CUDA_ERROR_NO_DEVICE);
        assert_eq!(pointer, 7, "what a call returns through a pointer stays as it was");

        let call = last_call().expect("one was made");
        assert_eq!((call.symbol, call.code), ("cuMemAlloc_v2", 100));
        assert_eq!(call.note, Some(load().expect_err("no driver").to_string()));
        assert!(
            call.to_string().starts_with("cuMemAlloc_v2 was not called: GPUBENCH_LIBCUDA names"),
            "{call}"
        );
        assert_eq!(take_failure(), Some(call));
        assert_eq!(take_failure(), None);
        // Another thread made none.
        assert_eq!(std::thread::spawn(last_call).join().expect("no panic"), None);
    });
}

#[test]
fn objects_of_cust_can_be_dropped() {
    without_driver("objects_of_cust_can_be_dropped", || {
        // SAFETY: they are empty.
        let (device, locked, unified) = unsafe {
            (
                DeviceBuffer::<f32>::uninitialized(0),
                LockedBuffer::<f32>::uninitialized(0),
                UnifiedBuffer::<f32>::uninitialized(0),
            )
        };
        drop((device.expect("empty"), locked.expect("empty"), unified.expect("empty")));
        assert_eq!(Stream::new(StreamFlags::NON_BLOCKING, None).err(), Some(CudaError::NoDevice));
        assert_eq!(DeviceBuffer::<f32>::zeroed(16).err(), Some(CudaError::NoDevice));
        assert_eq!(UnifiedBuffer::new(&0_f32, 16).err(), Some(CudaError::NoDevice));

        // One that lost its driver: nothing is freed, and nothing panics.
        // SAFETY: nobody reads through this address.
        drop(unsafe { DeviceBuffer::<f32>::from_raw_parts(cust::memory::DevicePointer::from_raw(64), 4) });
        assert_eq!(last_call().map(|call| call.symbol), Some("cuMemFree_v2"));
    });
}

#[test]
fn calls_in_a_dying_thread_are_fine() {
    struct AtTheEnd;
    impl Drop for AtTheEnd {
        fn drop(&mut self) {
            // SAFETY: an address that nothing was allocated at; there is no driver to free it.
            let result = unsafe { sys::cuMemFree_v2(64) };
            assert_eq!(result, sys::CUresult::CUDA_ERROR_NO_DEVICE);
            assert_eq!(last_call().map(|call| call.code), Some(100));
        }
    }
    thread_local!(static KEPT: AtTheEnd = const { AtTheEnd });
    without_driver("calls_in_a_dying_thread_are_fine", || {
        std::thread::spawn(|| KEPT.with(|_| ())).join().expect("no panic");
    });
}

#[test]
fn codes_have_names_and_texts() {
    without_driver("codes_have_names_and_texts", || {
        assert_eq!(error_name(500), "CUDA_ERROR_NOT_FOUND");
        assert_eq!(error_text(1), "invalid argument");
        assert_eq!(error_name(4711), "error 4711 (unknown without a driver)");
        assert_eq!(error_text(4711), "error 4711 (unknown without a driver)");
        // Asking is no driver call.
        assert_eq!(last_call(), None);
        // SAFETY: a null place is refused.
        let result = unsafe { sys::cuGetErrorName(sys::CUresult::CUDA_SUCCESS, ptr::null_mut()) };
        assert_eq!(result, sys::CUresult::CUDA_ERROR_INVALID_VALUE);
    });
}
