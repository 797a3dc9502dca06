//! A driver is there: calls reach it, its codes are kept, and what is wrong with it is said.

#![expect(unsafe_code, reason = "calls the C functions that cust does not")]

use std::ptr;

use cust::context::{CurrentContext, ResourceLimit};
use cust::error::CudaError;
use cust::memory::DeviceBuffer;
use cust::module::Module;
use cust::{CudaFlags, sys};
use gpubench_driver::{
    LoadError, MINIMUM_VERSION, Version, error_name, error_text, last_call, load, take_failure,
};

use crate::common::with_fake;

#[test]
fn calls_reach_the_driver() {
    with_fake(module_path!(), "calls_reach_the_driver", "new", |library| {
        let driver = load().expect("a good driver");
        assert_eq!((&*driver.library, driver.version), (library, Version { major: 13, minor: 2 }));
        assert_eq!(driver.version.to_string(), "13.2");
        cust::init(CudaFlags::empty()).expect("the fake initialises");
        assert_eq!(cust::device::Device::num_devices(), Ok(3));
        let call = last_call().expect("one was made");
        assert_eq!((call.symbol, call.code, call.note), ("cuDeviceGetCount", 0, None));
        assert_eq!(take_failure(), None);
    });
}

#[test]
fn a_code_that_cust_lacks_is_kept() {
    with_fake(module_path!(), "a_code_that_cust_lacks_is_kept", "new", |_| {
        let error = CurrentContext::synchronize().expect_err("the fake fails");
        assert_eq!(error, CudaError::UnknownError);
        assert_eq!(error.to_string(), "\"unknown error\"");
        let call = last_call().expect("one was made");
        assert_eq!((call.symbol, call.code, &call.note), ("cuCtxSynchronize", 912, &None));

        // A success after it hides it from the last call only.
        cust::init(CudaFlags::empty()).expect("the fake initialises");
        assert_eq!(last_call().map(|call| call.code), Some(0));
        assert_eq!(take_failure(), Some(call.clone()));
        assert_eq!(
            call.to_string(),
            "cuCtxSynchronize returned 912 (CUDA_ERROR_OF_TOMORROW): error 912 (unknown to this driver)"
        );
    });
}

#[test]
fn not_ready_is_no_failure() {
    with_fake(module_path!(), "not_ready_is_no_failure", "new", |_| {
        // SAFETY: the fake does not look at the stream.
        let result = unsafe { sys::cuStreamQuery(ptr::null_mut()) };
        assert_eq!(result, sys::CUresult::CUDA_ERROR_NOT_READY);
        assert_eq!(last_call().map(|call| call.code), Some(600));
        assert_eq!(take_failure(), None);
    });
}

#[test]
fn names_are_the_drivers_where_it_has_them() {
    with_fake(module_path!(), "names_are_the_drivers_where_it_has_them", "new", |_| {
        assert_eq!(error_name(912), "CUDA_ERROR_OF_TOMORROW");
        assert_eq!(error_name(500), "CUDA_ERROR_NOT_FOUND");
        assert_eq!(error_text(100), "no CUDA-capable device is detected");
        assert_eq!(error_name(4711), "error 4711 (unknown to this driver)");
    });
}

#[test]
fn a_failed_allocation_tells_its_size() {
    with_fake(module_path!(), "a_failed_allocation_tells_its_size", "new", |_| {
        // SAFETY: bytes need no initial value; and there are none, since this fails.
        let error = unsafe { DeviceBuffer::<u8>::uninitialized(3 << 30) }.err();
        assert_eq!(error, Some(CudaError::OutOfMemory));
        let call = take_failure().expect("it failed");
        assert_eq!((call.symbol, call.detail.as_deref()), ("cuMemAlloc_v2", Some("3.0 GiB asked for")));
        assert_eq!(take_failure(), None);
    });
}

#[test]
fn refused_ptx_tells_what_the_compiler_says() {
    with_fake(module_path!(), "refused_ptx_tells_what_the_compiler_says", "new", |_| {
        let error = Module::from_ptx("// broken", &[]).err();
        assert_eq!(error, Some(CudaError::InvalidPtx));
        let detail = take_failure().and_then(|call| call.detail);
        assert_eq!(detail.as_deref(), Some("the driver's compiler: ptxas: line 1; ptxas: fatal"));
    });
}

#[test]
fn a_missing_kernel_is_told_with_those_that_are_there() {
    with_fake(module_path!(), "a_missing_kernel_is_told_with_those_that_are_there", "new", |_| {
        let module = Module::from_ptx(".version 7.7\n.entry copy()\n.entry fill()", &[]).expect("it loads");
        assert_eq!(module.get_function("swap").err(), Some(CudaError::NotFound));
        let detail = take_failure().and_then(|call| call.detail);
        assert_eq!(detail.as_deref(), Some("the module has no kernel `swap`; it has `copy`, `fill`"));
        // A later failure has nothing of it.
        CurrentContext::synchronize().expect_err("the fake fails");
        assert_eq!(take_failure().expect("it failed").detail, None);
    });
}

#[test]
fn a_missing_function_is_named() {
    with_fake(module_path!(), "a_missing_function_is_named", "new", |library| {
        // NotFound, from a forwarder that cust uses.
        let error = CurrentContext::get_resource_limit(ResourceLimit::StackSize);
        assert_eq!(error, Err(CudaError::NotFound));
        let call = last_call().expect("one was made");
        assert_eq!((call.symbol, call.code), ("cuCtxGetLimit", 500));
        let note = call.note.expect("it never got to the driver");
        assert!(
            note.starts_with(&format!("{} (CUDA 13.2) has no cuCtxGetLimit", library.display())),
            "{note}"
        );
    });
}

#[test]
fn an_old_driver_is_refused_but_called() {
    with_fake(module_path!(), "an_old_driver_is_refused_but_called", "old", |library| {
        let error = load().expect_err("11.4 is too old");
        let found = Version { major: 11, minor: 4 };
        assert_eq!(*error, LoadError::TooOld { library: library.to_owned(), found });
        assert_eq!(error.short(), "the driver supports CUDA up to 11.4, and 11.7 is needed");
        assert!(error.to_string().ends_with("update the NVIDIA driver to 515 or newer"), "{error}");
        assert_eq!(cust::device::Device::num_devices(), Ok(3));
        // Its missing functions are those of a driver, not of a machine without one.
        // SAFETY: no such function is called.
        let result = unsafe { sys::cuProfilerStart() };
        assert_eq!(result, sys::CUresult::CUDA_ERROR_NOT_FOUND);
        let note = last_call().and_then(|call| call.note).expect("it never got to the driver");
        assert!(note.contains("(CUDA 11.4) has no cuProfilerStart"), "{note}");
    });
}

#[test]
fn the_oldest_driver_needed_will_do() {
    with_fake(module_path!(), "the_oldest_driver_needed_will_do", "needed", |_| {
        assert_eq!(load().expect("11.7 will do").version, MINIMUM_VERSION);
    });
}

#[test]
fn a_stub_is_recognised() {
    with_fake(module_path!(), "a_stub_is_recognised", "stub", |library| {
        let error = load().expect_err("a stub");
        assert_eq!(*error, LoadError::NoVersion { library: library.to_owned(), code: 34 });
        assert!(error.short().ends_with("a CUDA toolkit's stub, not a driver"), "{error}");
    });
}

#[test]
fn another_library_is_recognised() {
    with_fake(module_path!(), "another_library_is_recognised", "hollow", |library| {
        let error = load().expect_err("it has no cuInit");
        assert_eq!(*error, LoadError::MissingSymbol { library: library.to_owned(), symbol: "cuInit" });
        assert_eq!(error.short(), format!("{} is not a CUDA driver", library.display()));
    });
}
