//! Libraries that open the driver themselves: their calls are watched, or the reason why not is told.

#![expect(unsafe_code, reason = "opens libraries and calls their functions")]

use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::path::Path;
use std::ptr;
use std::time::Instant;

use cust::sys;
use gpubench_driver::{
    DriverCall, Enqueued, KernelInfo, LoadError, MemoryKind, first_unlisted_call, interpose, interposed,
    last_call, library_path, load, memory, watch,
};
use libloading::Library;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::common::{is_child, run_alone, with_fake};

type Allocate = unsafe extern "C" fn(*mut u64, usize) -> u32;
type LaunchKernel =
    unsafe extern "C" fn(usize, u32, u32, u32, u32, u32, u32, u32, usize, *const usize, *const usize) -> u32;
type GetProcAddress = unsafe extern "C" fn(*const c_char, *mut *const c_void, i32, u64) -> u32;

/// The names by which libraries open the driver.
const NAMES: [&str; 2] = ["libcuda.so.1", "libcuda.so"];

fn open(name: impl AsRef<OsStr>) -> Library {
    // SAFETY: it is the fake driver, or what stands for it.
    unsafe { Library::new(name.as_ref()) }.expect("it is there")
}

/// The function of this name, of a type that it has.
fn function<T: Copy>(library: &Library, name: &str) -> Option<T> {
    // SAFETY: each caller names the type of that function, and no library is closed while it is used.
    unsafe { library.get::<T>(name) }.ok().map(|symbol| *symbol)
}

/// Allocates and launches with these functions, and looks for it in what this crate reports.
#[track_caller]
fn assert_watched(allocate: Allocate, launch: LaunchKernel) {
    let mut address = 0;
    let before = memory().len();
    // SAFETY: the address has a place, and the fake launches nothing.
    let (code, calls) = watch(|| unsafe {
        assert_eq!(allocate(&raw mut address, 64), 0);
        launch(5, 1, 2, 3, 32, 1, 1, 16, 7, ptr::null(), ptr::null())
    });
    assert_eq!(code, 0);
    let listed = memory();
    let last = listed.last().expect("one was made");
    assert_eq!((last.address, last.bytes, last.kind), (address, 64, MemoryKind::Device));
    // The fake's memory is always the same.
    assert_eq!(listed.len(), before.max(1));
    let [
        DriverCall::Allocated("cuMemAlloc_v2"),
        DriverCall::Enqueued { stream: 7, captured: false, work: Enqueued::Kernel(kernel) },
    ] = &calls[..]
    else {
        panic!("{calls:?}")
    };
    assert_eq!(
        (kernel.shape.grid, kernel.shape.block, kernel.shape.dynamic_shared),
        ([1, 2, 3], [32, 1, 1], 16)
    );
    let call = last_call().expect("one was made");
    assert_eq!((call.symbol, call.note), ("cuLaunchKernel", None));
}

#[test]
fn libraries_that_open_the_driver_are_watched() {
    with_fake(module_path!(), "libraries_that_open_the_driver_are_watched", "new", |library| {
        assert_eq!(interposed(), Err("this process did not take the driver's name before it ran other code"));
        assert_eq!(interpose(), Ok(()));
        assert_eq!((interposed(), interpose()), (Ok(()), Ok(())));
        for name in NAMES {
            let cuda = open(name);
            let allocate = function(&cuda, "cuMemAlloc_v2").expect("a forwarder");
            assert_watched(allocate, function(&cuda, "cuLaunchKernel").expect("a forwarder"));
        }
        // What this crate itself calls is the driver.
        let driver = load().expect("a good driver");
        assert_eq!((&*driver.library, library_path().as_deref()), (library, Some(library)));
    });
}

#[test]
fn what_has_no_forwarder_is_the_drivers() {
    with_fake(module_path!(), "what_has_no_forwarder_is_the_drivers", "new", |_| {
        assert_eq!(interpose(), Ok(()));
        for cuda in NAMES.map(open) {
            let newer = function::<extern "C" fn() -> u32>(&cuda, "cuFunctionOfTomorrow");
            assert_eq!(newer.expect("the driver has it")(), 913);
            assert_eq!(last_call(), None);
            // A program may ask which functions there are.
            assert_eq!(function::<usize>(&cuda, "cuCtxGetLimit"), None, "the driver lacks it");
            assert_eq!(function::<usize>(&cuda, "cuNonsense"), None);
        }
    });
}

#[test]
fn functions_found_by_get_proc_address_are_watched() {
    with_fake(module_path!(), "functions_found_by_get_proc_address_are_watched", "new", |_| {
        assert_eq!(interpose(), Ok(()));
        let cuda = open("libcuda.so.1");
        let get: GetProcAddress = function(&cuda, "cuGetProcAddress").expect("a forwarder");
        let find = |name: &CStr| {
            let mut found = ptr::null();
            // SAFETY: the name is a string, and the answer has a place.
            let code = unsafe { get(name.as_ptr(), &raw mut found, 12_000, 0) };
            (code, found)
        };
        let of = |name: &CStr| {
            let (code, found) = find(name);
            assert_eq!(code, 0, "{name:?}");
            found
        };
        // SAFETY: the functions of these names have these types.
        let (allocate, launch) = unsafe {
            (
                std::mem::transmute::<*const c_void, Allocate>(of(c"cuMemAlloc")),
                std::mem::transmute::<*const c_void, LaunchKernel>(of(c"cuLaunchKernel")),
            )
        };
        assert_watched(allocate, launch);
        assert_eq!(find(c"cuNonsense"), (500, ptr::null()));
        // SAFETY: the function of this name has this type.
        let newer = unsafe {
            std::mem::transmute::<*const c_void, extern "C" fn() -> u32>(of(c"cuFunctionOfTomorrow"))
        };
        assert_eq!((newer(), first_unlisted_call()), (913, None));
        // The later version finds the same.
        type Later = unsafe extern "C" fn(*const c_char, *mut *const c_void, i32, u64, *mut i32) -> u32;
        let later: Later = function(&cuda, "cuGetProcAddress_v2").expect("a forwarder");
        let mut again = ptr::null();
        // SAFETY: the name is a string, and the answer has a place.
        assert_eq!(unsafe { later(c"cuMemAlloc".as_ptr(), &raw mut again, 12_000, 0, ptr::null_mut()) }, 0);
        assert_eq!(again, allocate as *const c_void);
        // This would make memory that nobody hears of.
        of(c"cuMemAllocOfTomorrow");
        assert_eq!(first_unlisted_call(), Some("cuGetProcAddress"));
    });
}

#[test]
fn tables_of_the_cuda_runtime_make_no_memory() {
    with_fake(module_path!(), "tables_of_the_cuda_runtime_make_no_memory", "new", |_| {
        let find = |number: u128| {
            let (mut table, number) =
                (ptr::null(), sys::CUuuid { bytes: number.to_be_bytes().map(|byte| byte as c_char) });
            // SAFETY: both have a place.
            assert_eq!(unsafe { sys::cuGetExportTable(&raw mut table, &raw const number) } as u32, 0);
        };
        find(0x6bd5_fb6c_5bf4_e74a_8987_d939_12fd_9df9);
        assert_eq!(first_unlisted_call(), None);
        // Nobody knows what this one is for.
        find(1);
        assert_eq!(first_unlisted_call(), Some("cuGetExportTable"));
    });
}

#[test]
fn work_on_the_threads_own_stream_is_told_from_that_on_the_null_stream() {
    with_fake(
        module_path!(),
        "work_on_the_threads_own_stream_is_told_from_that_on_the_null_stream",
        "new",
        |_| {
            assert_eq!(interpose(), Ok(()));
            let cuda = open("libcuda.so.1");
            let streams = |name| {
                let launch: LaunchKernel = function(&cuda, name).expect("a forwarder");
                let on = |stream| {
                    // SAFETY: the fake launches nothing.
                    let ((), calls) = watch(|| unsafe {
                        assert_eq!(launch(5, 1, 1, 1, 32, 1, 1, 0, stream, ptr::null(), ptr::null()), 0);
                    });
                    let [DriverCall::Enqueued { stream, .. }] = &calls[..] else { panic!("{calls:?}") };
                    *stream
                };
                [0, 7].map(on)
            };
            assert_eq!(streams("cuLaunchKernel"), [0, 7]);
            // `CU_STREAM_PER_THREAD`
            assert_eq!(streams("cuLaunchKernel_ptsz"), [2, 7]);
        },
    );
}

/// cuBLAS launches kernels of a library by their own handles.
#[test]
fn facts_of_a_kernel_are_those_of_its_function() {
    with_fake(module_path!(), "facts_of_a_kernel_are_those_of_its_function", "new", |_| {
        let launch = |handle: usize| {
            let function = ptr::without_provenance_mut(handle);
            let (stream, none) = (ptr::null_mut(), ptr::null_mut());
            // SAFETY: the fake launches nothing.
            let (_, calls) =
                watch(|| unsafe { sys::cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, none, none) });
            let [DriverCall::Enqueued { work: Enqueued::Kernel(kernel), .. }] = &calls[..] else {
                panic!("{calls:?}")
            };
            kernel.info
        };
        let info = KernelInfo { registers: 24, local: 24, static_shared: 24, resident_blocks: 2 };
        assert_eq!((launch(5), launch(6)), (Some(info), Some(info)));
        // Calls before a kernel do not count as kernels.
        let (function, stream) = (ptr::without_provenance_mut(5), ptr::null_mut());
        let none = ptr::null_mut();
        // SAFETY: the fake launches nothing.
        let (_, calls) = watch(|| unsafe {
            (0..20).for_each(|_| _ = sys::cuStreamSynchronize(stream));
            sys::cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, none, none)
        });
        assert!(
            matches!(calls.last(), Some(DriverCall::Enqueued { work: Enqueued::Kernel(kernel), .. }) if kernel.info == Some(info)),
            "{calls:?}"
        );
    });
}

#[test]
fn the_path_of_a_driver_found_by_name_is_known() {
    with_fake(module_path!(), "the_path_of_a_driver_found_by_name_is_known", "new", |library| {
        assert_eq!(library_path(), None, "nothing is open");
        load().expect("a good driver");
        assert_eq!(library_path().as_deref(), Some(library));
    });
}

/// Runs `body` in a process of its own, in which `GPUBENCH_LIBCUDA` is `library`.
fn in_child(test: &str, library: Option<&str>, body: impl FnOnce()) {
    if is_child() { body() } else { run_alone(module_path!(), test, library.map(OsStr::new)) }
}

#[test]
fn a_name_is_no_path() {
    in_child("a_name_is_no_path", Some("libcuda.so.1"), || {
        let why = interpose().expect_err("no path");
        assert_eq!(why, "GPUBENCH_LIBCUDA does not hold the path of the driver's library");
        assert_eq!(interposed(), Err(why));
    });
}

#[test]
fn no_variable_is_no_path() {
    in_child("no_variable_is_no_path", None, || {
        assert_eq!(interpose(), Err("GPUBENCH_LIBCUDA does not hold the path of the driver's library"));
    });
}

#[test]
fn a_driver_that_is_loaded_keeps_its_name() {
    with_fake(module_path!(), "a_driver_that_is_loaded_keeps_its_name", "new", |library| {
        let driver = open(library);
        let why = interpose().expect_err("it is loaded");
        let says = "libcuda.so.1 was loaded before: by a library that the program links with, or by a tool that \
                    watches the program";
        assert_eq!(why, says);
        // What is called is what was called before.
        let of = |library: &Library| function::<usize>(library, "cuMemAlloc_v2");
        assert_eq!(of(&open("libcuda.so.1")), of(&driver));
        load().expect("a good driver");
    });
}

#[test]
fn a_driver_that_is_not_there_is_told() {
    in_child("a_driver_that_is_not_there_is_told", Some("/nowhere/libcuda.so.1"), || {
        let why = interpose().expect_err("there is none");
        assert!(why.starts_with("the object with the driver's name cannot be loaded ("), "{why}");
        assert!(why.contains("/nowhere/libcuda.so.1: cannot open shared object file"), "{why}");
        // The name is free again.
        // SAFETY: whatever it is, nothing of it is called.
        let named = unsafe { Library::new("libcuda.so.1") };
        assert!(named.map_or(true, |named| function::<usize>(&named, "gpubench_symbols").is_none()));
        assert!(matches!(load(), Err(LoadError::NotFound { .. })));
    });
}

#[test]
fn a_process_without_files_left_is_told() {
    with_fake(module_path!(), "a_process_without_files_left_is_told", "new", |_| {
        let limit = getrlimit(Resource::Nofile);
        setrlimit(Resource::Nofile, Rlimit { current: Some(0), ..limit }).expect("less is allowed");
        let why = interpose().expect_err("no file can be made");
        setrlimit(Resource::Nofile, limit).expect("as it was");
        assert!(why.starts_with("memory for a library cannot be made ("), "{why}");
        load().expect("a good driver");
    });
}

/// Prints the costs that the decision quotes: `cargo test --release -p gpubench-driver -- --ignored --nocapture costs`.
#[test]
#[ignore = "measures"]
#[expect(clippy::print_stdout, reason = "prints its results")]
fn costs() {
    const CALLS: u32 = 10_000_000;
    type DeviceGetCount = unsafe extern "C" fn(*mut c_int) -> sys::CUresult;

    with_fake(module_path!(), "costs", "new", |library: &Path| {
        let begin = Instant::now();
        drop(open(library));
        println!("dlopen and dlclose of the fake driver: {:.0?}", begin.elapsed());
        let begin = Instant::now();
        assert_eq!(interpose(), Ok(()));
        println!("interpose, which opens it again: {:.0?}", begin.elapsed());
        let of =
            |library: &Library| function::<DeviceGetCount>(library, "cuDeviceGetCount").expect("it is there");
        let (driver, opened) = (of(&open(library)), of(&open("libcuda.so.1")));
        let linked: DeviceGetCount = sys::cuDeviceGetCount;
        for (who, count) in [("of the driver", driver), ("as linked", linked), ("as opened", opened)] {
            let (mut devices, begin) = (0, Instant::now());
            for _ in 0..CALLS {
                // SAFETY: the number has a place.
                unsafe { count(&raw mut devices) };
            }
            println!("a call {who}: {:.2} ns", begin.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS));
        }
    });
}
