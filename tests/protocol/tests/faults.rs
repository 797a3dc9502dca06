//! A fault in the driver or on the device costs its own row, which says what it was; the others are measured.

mod one_suite;

use end_to_end::here;
use end_to_end::reliability::{quoted, row};
use end_to_end::running::{Ended, command, run_with};
use gpubench_records::verdict::State;
use protocol::fake::{Measured, failed, library, measure};

const KERNELS: &str = env!("CARGO_BIN_EXE_kernels");
const FAULTS: &str = env!("CARGO_BIN_EXE_faults_on_a_fake");

/// Seven benchmarks, 13 cases: the smallest arrays.
const SMALL: [&str; 4] = [
    "--quick",
    "cuda::copy,cuda::fill,cuda::rmw,cuda::saxpy,cuda::vector_add,cuda::sum,cuda::empty",
    "--arg",
    "n=4096",
];

/// The launches before any case: most of them are those of the rows that time an empty launch, and of the reads that look for stalls.
const LAUNCHES_AT_OPEN: usize = 4121;
/// The graphs instantiated before any case, and the number of times that graphs are launched and waited for.
const GRAPHS_AT_OPEN: usize = 73;
const REPLAYS_AT_OPEN: usize = 148;

/// A fault of the `nth` call after the device is open.
fn after(at_open: usize, call: &str, nth: usize, error: &str) -> String {
    format!("{call}#{}={error}", at_open + nth)
}

/// Every benchmark that launches a kernel and looks at what came of it, once, on arrays with an end of their own.
const EVERY_KERNEL: [&str; 15] = [
    "cuda::",
    "--skip",
    "cuda::transfers,cuda::power,cuda::matmul,cuda::nbody,cuda::empty",
    "--include-ignored",
    "--cache",
    "hot",
    "--arg",
    "n=103",
    "--arg",
    "bytes=65536",
    "--samples",
    "1",
    "--warmup",
    "0",
    "--quick",
];
/// The kernels among them.
const KERNELS_OF_OURS: &str = "copy,fill,rmw,saxpy,triad,vector_add,sum,dot,transpose_naive,transpose_tiled,stencil,chase,\
    mix_1_0,mix_7_1,mix_5_1,mix_3_1,mix_2_1,mix_3_2,mix_1_1,mix_2_3,mix_1_2,mix_1_3,mix_1_5,mix_1_7,mix_0_1";

/// Runs the small cases under `fault`, which costs just the rows `expected`, each with what it must say.
#[track_caller]
fn costs(asked: &[(&str, &str)], arguments: &[&str], expected: &[(&str, &[&str])]) -> Measured {
    let measured = measure(KERNELS, &[&SMALL[..], arguments].concat(), asked);
    let failed = failed(&measured.run);
    assert_eq!(failed.len(), expected.len(), "{failed:?} of {}", measured.ended);
    for ((case, reason), (name, words)) in failed.iter().zip(expected) {
        assert_eq!(case, &format!("gpubench_kernels::cuda::{name}"));
        for words in *words {
            assert!(reason.contains(words), "no `{words}` in {case}: {reason}");
        }
    }
    assert_eq!(measured.run.records.len(), if arguments.contains(&"hot") { 7 } else { 13 });
    let code = if expected.is_empty() { 0 } else { 1 };
    assert_eq!(measured.ended.code, Some(code), "{}", measured.ended);
    measured
}

/// The failure of the first case that failed.
#[track_caller]
fn first_reason(measured: &Measured) -> String {
    let failed = failed(&measured.run);
    quoted(&failed.first().expect("a case failed").1)
}

const OTHERS: &str = "all measured";

/// A worker writes a file in memory, which may be larger than files may be. It then does without.
#[test]
fn a_limit_on_the_size_of_files_ends_no_worker() {
    let asked = ["cuda::copy", "--arg", "n=4096", "--cache", "hot", "--quick", "--samples", "20"];
    let mut limited = command("sh");
    // Blocks of 512 bytes or of 1024, by the shell.
    limited.args(["-c", "ulimit -f 32; exec \"$@\"", "sh", KERNELS]).args(asked);
    limited.env("GPUBENCH_LIBCUDA", library());
    let ended: Ended = limited.output().expect("sh is everywhere").into();
    ended.with_code(0).shows("1 result: 1 valid, 0 suspect, 0 invalid");
}

#[test]
fn without_a_fault_all_is_well() {
    _ = costs(&[], &[], &[]);
}

/// The flush has two buffers, what was written is found out with three, and the first benchmark is the sixth to ask.
#[test]
fn memory_that_runs_out_costs_what_shares_it() {
    let says: &[&str] = &[
        "setup: ",
        "cuMemAlloc_v2 returned 2 (CUDA_ERROR_OUT_OF_MEMORY): out of memory (16384 bytes asked for)",
        "139.1 GiB of 139.8 GiB are free",
    ];
    _ = costs(
        &[("FAULT", "cuMemAlloc_v2#7=2")],
        &[],
        &[("copy[n=4096] hot", says), ("copy[n=4096] cold", says)],
    );
}

/// A code that neither `cust` nor this driver knows is told by its number.
#[test]
fn a_code_that_nobody_knows_is_told_by_its_number() {
    let says: &[&str] =
        &["first launch: ", "cuLaunchKernel returned 4711 (error 4711 (unknown to this driver))"];
    // One makes the input, two look at both arrays, and the fourth is checked.
    let rows = [("copy[n=4096] hot", says), ("copy[n=4096] cold", says)];
    let fourth = after(LAUNCHES_AT_OPEN, "cuLaunchKernel", 4, "4711");
    let measured = costs(&[("FAULT", &fourth)], &[], &rows);
    row(here!(), "unknown error code", &first_reason(&measured), OTHERS);
}

/// Write detection gives no answer then, and all is measured.
#[test]
fn memory_that_cannot_be_looked_at_costs_nothing() {
    let second = after(LAUNCHES_AT_OPEN, "cuLaunchKernel", 2, "4711");
    let measured = costs(&[("FAULT", &second)], &["--cache", "hot", "cuda::copy"], &[]);
    let seen = &measured.run.records[0].measurement.as_ref().expect("it was measured").launch;
    let unseen = seen.written.as_ref().and_then(|written| written.unseen_reason.as_deref());
    assert!(unseen.is_some_and(|why| why.contains("cuLaunchKernel returned 4711")), "{unseen:?}");
}

#[test]
fn a_group_that_fails_costs_its_case_alone() {
    let says: &[&str] =
        &["sampling (warm-up, after ", " launches): cuGraphLaunch returned 999 (CUDA_ERROR_UNKNOWN)"];
    let fault = after(REPLAYS_AT_OPEN, "cuGraphLaunch", 37, "999");
    _ = costs(&[("FAULT", &fault)], &[], &[("copy[n=4096] hot", says)]);
}

#[test]
fn an_instantiation_that_fails_costs_its_case_alone() {
    let says: &[&str] = &["sampling (", "cuGraphInstantiateWithFlags returned 2 (CUDA_ERROR_OUT_OF_MEMORY)"];
    let fault = after(GRAPHS_AT_OPEN, "cuGraphInstantiateWithFlags", 2, "2");
    _ = costs(&[("FAULT", &fault)], &[], &[("copy[n=4096] hot", says)]);
}

/// The context is lost while the first case is sampled. A new process measures the rest.
#[test]
fn a_lost_context_costs_its_process_and_its_case_if_it_is_lost_again() {
    let says = "sampling (before the warm-up): cuStreamSynchronize returned 719 (CUDA_ERROR_LAUNCH_FAILED)";
    let fault = after(REPLAYS_AT_OPEN, "cuStreamSynchronize", 20, "719!");
    let once = [("FAULT", &*fault), ("ONCE", ""), ("LOG", "")];
    let measured = costs(&once, &[], &[]);
    measured.ended.shows(&format!(
        "    [1] valid: second try: measured in a new process, after the first process failed ({says}"
    ));
    let mut processes: Vec<u32> = measured.log.iter().map(|line| line.process).collect();
    processes.dedup();
    assert_eq!(
        processes.len(),
        3,
        "one for the first case, one for the second, and one that tried the first again"
    );
    // In every process that comes so far, and another case is the first of each.
    let each_time = [("FAULT", &*fault)];
    let measured = measure(
        KERNELS,
        &[&SMALL[..], &["--exact", "gpubench_kernels::cuda::copy[n=4096]", "--cache", "hot"]].concat(),
        &each_time,
    );
    let [(case, reason)] = &failed(&measured.run)[..] else { panic!("{}", measured.ended) };
    assert_eq!((&**case, measured.ended.code), ("gpubench_kernels::cuda::copy[n=4096] hot", Some(1)));
    assert!(reason.starts_with(says) && !reason.contains("second try"), "{reason}");
    row(here!(), "context lost while sampling, twice", &quoted(reason), OTHERS);
}

/// A GPU that falls off its bus: every call fails from then on, in every process. The rest of the cases is told why, without
/// a process for each.
#[test]
fn a_device_that_is_lost_midway_costs_all_that_is_left() {
    let fault = after(REPLAYS_AT_OPEN, "cuStreamSynchronize", 20, "999!");
    let asked = [("FAULT", &*fault), ("ONCE", ""), ("GONE", "999"), ("LOG", "")];
    let measured = measure(KERNELS, &SMALL, &asked);
    let failed = failed(&measured.run);
    assert_eq!((failed.len(), measured.ended.code), (13, Some(1)), "{}", measured.ended);
    assert!(failed[0].1.contains("cuStreamSynchronize returned 999 (CUDA_ERROR_UNKNOWN)"), "{failed:?}");
    let closed = "device: the driver does not start: cuInit returned 999 (CUDA_ERROR_UNKNOWN)";
    assert!(failed[1..].iter().all(|(_, reason)| reason.starts_with(closed)), "{failed:?}");
    let mut processes: Vec<u32> = measured.log.iter().map(|line| line.process).collect();
    processes.dedup();
    assert_eq!(processes.len(), 3, "the one that lost it, and two that did not find it: {processes:?}");
    row(here!(), "device lost midway", &first_reason(&measured), &format!("{}, at once", quoted(closed)));
}

/// Every process that tries it loses its context. One benchmark is lost, hot and cold.
#[test]
fn a_kernel_that_goes_astray_costs_its_own_rows() {
    let says: &[&str] = &[
        "first launch: cuCtxSynchronize returned 700 (CUDA_ERROR_ILLEGAL_ADDRESS): an illegal memory access",
    ];
    let rows = [("rmw[n=4096] hot", says), ("rmw[n=4096] cold", says)];
    _ = costs(&[("KERNEL", "rmw:700")], &[], &rows);
}

#[test]
fn a_launch_that_never_ends_is_ended() {
    let says: &[&str] = &["first launch: took longer than 1 s, and was killed"];
    let rows = [("fill[n=4096] hot", says), ("fill[n=4096] cold", says)];
    let measured = costs(&[("KERNEL", "fill:never-ends")], &["--timeout", "1"], &rows);
    row(here!(), "a kernel that never ends", &first_reason(&measured), OTHERS);
}

/// Each check finds its kernel out that does nothing, and one whose work is wrong in a single bit; and lets it pass otherwise.
#[test]
fn kernels_that_are_broken_are_found_out() {
    let broken = |how: &str| {
        let kernels: Vec<String> =
            KERNELS_OF_OURS.split(',').map(|kernel| format!("{kernel}:{how}")).collect();
        measure(KERNELS, &EVERY_KERNEL, &[("KERNEL", &kernels.join(","))])
    };
    let right = measure(KERNELS, &EVERY_KERNEL, &[]);
    assert_eq!(failed(&right.run), []);
    // All but `empty` in the module itself, three in `plane`, one in `latency`, all of `mix`, three in `sources`.
    assert_eq!(right.run.records.len(), 8 + 3 + 1 + 13 + 3);
    for how in ["nothing", "spoilt"] {
        let measured = broken(how);
        let failed = failed(&measured.run);
        let passed = measured.run.records.iter().map(|record| format!("{} hot", record.case.name()));
        let passed: Vec<_> = passed.filter(|name| !failed.iter().any(|(case, _)| case == name)).collect();
        assert!(passed.is_empty(), "{how}: {passed:?}");
        for (case, reason) in &failed {
            assert!(reason.starts_with("check: "), "{how}: {case}: {reason}");
        }
        for (case, says) in [
            ("copy[n=103]", "check: element 0 is NaN, not 0."),
            ("fill[n=103]", "check: element 0 is NaN, not 0.75"),
            ("rmw[n=103]", "check: element 0 is 0."),
            ("vector_add[n=103]", "check: element 0 is NaN, not "),
            ("sum[n=103]", "check: the sum is NaN, not "),
            ("latency::chase[bytes=65536]", "check: element 0 is 0, not "),
        ] {
            let name = format!("gpubench_kernels::cuda::{case} hot");
            let found = failed.iter().find(|(case, _)| *case == name).map(|(_, reason)| reason);
            let found = found.unwrap_or_else(|| panic!("no {name} among {failed:?}"));
            assert!(how == "spoilt" || found.starts_with(says), "{name}: {found}");
            if (how, case) == ("nothing", "fill[n=103]") {
                row(here!(), "kernel that writes nothing", &quoted(found), "–");
            }
        }
    }
}

/// A copy that does not arrive is seen in either direction, and in every kind of memory.
#[test]
fn transfers_that_do_not_arrive_are_found_out() {
    let sizes = ["bytes=65536", "up=65536", "down=65536"].map(|size| ["--arg", size]);
    let transfers = ["--quick", "cuda::transfers", "--cache", "hot", "--samples", "1", "--warmup", "0"];
    let measured =
        measure(KERNELS, &[&transfers, sizes.as_flattened()].concat(), &[("KERNEL", "memcpy:nothing")]);
    let failed = failed(&measured.run);
    assert_eq!(failed.len(), measured.run.records.len());
    // Within the device, in three kinds of memory to it and from it, between managed arrays, and both ways at once.
    assert_eq!(failed.len(), 1 + 3 + 3 + 1 + 1);
    for (case, reason) in failed {
        assert!(reason.starts_with("check: element 0 is 4294967295, not "), "{case}: {reason}");
    }
}

/// So do those of what adds many terms, and they find a kernel out that leaves one of them out.
#[test]
fn a_kernel_that_computes_too_little_is_found_out() {
    let kernels = [
        ("matmul_naive", "matmul::naive", 256),
        ("matmul_shared", "matmul::shared", 256),
        ("matmul_registers", "matmul::registers", 256),
        ("matmul_tensor_small", "matmul::tensor", 512),
        ("nbody", "nbody::gravity", 1000),
    ];
    for (kernel, benchmark, n) in kernels {
        for (misdeed, says) in [("nothing", " is NaN, not "), ("short", ", not ")] {
            let arguments = [benchmark, "--samples", "1", "--warmup", "0", "--arg", &format!("n={n}")];
            let fault = format!("{kernel}:{misdeed}");
            let failed = failed(&measure(KERNELS, &arguments, &[("KERNEL", &fault)]).run);
            assert!(!failed.is_empty(), "{fault} went unseen");
            for (case, reason) in failed {
                assert!(case.starts_with(&format!("gpubench_kernels::cuda::{benchmark}[")), "{case}");
                assert!(reason.starts_with("check: ") && reason.contains(says), "{fault}: {reason}");
            }
        }
    }
}

/// As on a machine without a GPU: there is one line that says why.
#[test]
fn an_old_driver_is_refused_with_its_version() {
    let library = library().to_str().expect("UTF-8");
    let environment = [("GPUBENCH_LIBCUDA", library), ("GPUBENCH_FAKE_DRIVER", "11060")];
    let ended = run_with(KERNELS, &["--quick", "--device", "0"], &environment).with_code(5);
    ended.says_only("the driver supports CUDA up to 11.6, and 11.7 is needed");
    let ended = run_with(KERNELS, &["--quick", "host::fill", "--samples", "3"], &environment).with_code(0);
    ended.shows(
        "no CUDA device (the driver supports CUDA up to 11.6, and 11.7 is needed): measuring this machine's CPU",
    );
    assert!(!ended.stdout.to_lowercase().contains("fake"), "{ended}");
    let says = "the driver supports CUDA up to 11.6, and 11.7 is needed";
    row(
        here!(),
        "driver too old",
        &format!("no run on a GPU: exit 5, {}", quoted(says)),
        "the CPU is measured, and says why",
    );
}

#[test]
fn without_a_driver_the_cpu_is_measured() {
    let environment = [("GPUBENCH_LIBCUDA", "no-libcuda-here")];
    run_with(KERNELS, &["--quick", "--device", "0"], &environment)
        .with_code(5)
        .says_only("; no CUDA device (no-libcuda-here not found)");
    let ended = run_with(KERNELS, &["--quick", "host::fill", "--samples", "3"], &environment).with_code(0);
    let says = "no CUDA device (no-libcuda-here not found): measuring this machine's CPU";
    ended.shows(says);
    row(
        here!(),
        "no driver",
        &format!("no run on a GPU: exit 5, {}", quoted(says)),
        "the CPU is measured, and says why",
    );
}

#[test]
fn a_driver_that_does_not_start_is_told() {
    let library = library().to_str().expect("UTF-8");
    let each_call = "cuInit=803,cuInit#2=803,cuInit#3=803,cuInit#4=803";
    let environment = [("GPUBENCH_LIBCUDA", library), ("GPUBENCH_FAKE_FAULT", each_call)];
    let ended = run_with(KERNELS, &["--quick", "--device", "0"], &environment).with_code(5);
    let says = "cuInit returned 803 (CUDA_ERROR_SYSTEM_DRIVER_MISMATCH)";
    assert!(ended.stderr.contains(says), "{ended}");
    row(here!(), "driver that does not start", &format!("no run on a GPU: exit 5, {}", quoted(says)), "–");
}

/// A fault by its name on the page, a case that has it, and what its row must say.
type Fault = (&'static str, &'static str, &'static str);

const NO_WORK: &str = "no work on its stream: at least one launch enqueued nothing on the given stream";
const ASTRAY: &str = "first launch: cuCtxSynchronize returned 700 (CUDA_ERROR_ILLEGAL_ADDRESS): an illegal \
                      memory access was encountered";
const ANOTHER: &str =
    "launches differ: operation 1 was one kernel in the first launch, and another kernel in a later one";
const WAITS: &str = "launch: waits for the GPU: cuStreamSynchronize: ";
const PANICS: &str = "launch (warm-up, after 0 launches): panicked at ";

const ROWS: [Fault; 23] = [
    (
        "out of memory in `setup`",
        "too_large[gib=1048576] hot",
        "cuMemAlloc_v2 returned 2 (CUDA_ERROR_OUT_OF_MEMORY): out of memory (1048576.0 GiB asked for); ",
    ),
    (
        "PTX of a newer ISA",
        "ptx_too_new hot",
        "cuModuleLoadDataEx returned 222 (CUDA_ERROR_UNSUPPORTED_PTX_VERSION): the provided PTX was compiled with an \
         unsupported toolchain. (the driver's compiler: ptxas application ptx input, line 1; fatal   : Unsupported \
         .version 99.0; current version is '9.0')",
    ),
    (
        "PTX for a newer architecture",
        "ptx_for_another_gpu hot",
        "cuModuleLoadDataEx returned 218 (CUDA_ERROR_INVALID_PTX): a PTX JIT compilation failed (the driver's compiler: ptxas \
         fatal   : SM version specified by .target is higher than default SM version assumed)",
    ),
    (
        "out of memory in a launch",
        "allocates_too_much hot",
        "cuMemAlloc_v2 returned 2 (CUDA_ERROR_OUT_OF_MEMORY): out of memory (1048576.0 GiB asked for)",
    ),
    (
        "missing kernel",
        "no_such_kernel hot",
        "cuModuleGetFunction returned 500 (CUDA_ERROR_NOT_FOUND): named symbol not found (the module has no kernel \
         `swap`; it has `nothing`, `stray`, `misaligned`, `traps`, `asserts`, `says`, `spins`)",
    ),
    (
        "too many threads",
        "too_many_threads hot",
        "cuLaunchKernel returned 1 (CUDA_ERROR_INVALID_VALUE): invalid argument",
    ),
    (
        "too much shared memory",
        "too_much_shared_memory hot",
        "cuLaunchKernel returned 1 (CUDA_ERROR_INVALID_VALUE): invalid argument",
    ),
    ("launch on another stream", "on_another_stream hot", NO_WORK),
    (
        "fork without a join",
        "forks_and_does_not_join hot",
        "work elsewhere: work on another stream can begin or end outside the sample",
    ),
    ("launch that enqueues nothing", "enqueues_nothing hot", NO_WORK),
    ("wrong output", "wrong_result hot", "check: the result is not what it should be"),
    ("illegal address", "writes_astray hot", ASTRAY),
    ("illegal address", "writes_astray cold", ASTRAY),
    ("another kernel after a while", "writes_astray_later hot", ANOTHER),
    ("another kernel after a while", "writes_astray_later cold", ANOTHER),
    ("launch that waits", "synchronises hot", WAITS),
    ("launch that waits", "synchronises cold", WAITS),
    ("blocking copy", "copies_on_the_null_stream hot", "launch: waits for the GPU: cu"),
    (
        "misaligned address",
        "writes_between hot",
        "first launch: cuCtxSynchronize returned 716 (CUDA_ERROR_MISALIGNED_ADDRESS): misaligned address",
    ),
    (
        "trap in a kernel",
        "traps hot",
        "first launch: cuCtxSynchronize returned 719 (CUDA_ERROR_LAUNCH_FAILED): unspecified launch failure",
    ),
    (
        "assert in a kernel",
        "says_and_asserts hot",
        "first launch: cuCtxSynchronize returned 710 (CUDA_ERROR_ASSERT): device-side assert triggered",
    ),
    ("panic in a launch", "panics_later hot", PANICS),
    ("a kernel that never ends", "never_ends hot", "first launch: took longer than 1 s, and was killed"),
];

/// The part of a reason that is the same each time. Free memory depends on the measurement's own allocations; the moment at
/// which work elsewhere is noticed, on its time.
fn lasting(reason: &str) -> String {
    if reason.contains(NO_WORK) {
        return format!("launch: {NO_WORK}");
    }
    let told = reason.strip_suffix(" are free").and_then(|told| told.rsplit_once("; "));
    told.map_or(reason, |(told, _)| told).to_owned()
}

/// The bindings by which each fault is launched.
const BINDINGS: [&str; 2] = ["Cust", "Cudarc"];

/// Returns a row's name or reason as `binding` has it: bindings call different functions for the same.
fn by(binding: &str, words: &str) -> String {
    match binding {
        "Cudarc" => words
            .replace("cuModuleLoadDataEx", "cuModuleLoadData")
            .replace("cuMemAlloc_v2", "cuMemAllocAsync"),
        _ => words.to_owned(),
    }
}

/// Puts the binding into a case's name: `right hot` becomes `right[B=Cust] hot`.
fn named(binding: &str, name: &str) -> String {
    let (benchmark, cache) = name.split_once(' ').expect("a cache");
    match benchmark.split_once('[') {
        Some((benchmark, arguments)) => format!("{benchmark}[B={binding}, {arguments} {cache}"),
        None => format!("{benchmark}[B={binding}] {cache}"),
    }
}

/// The rows of the suite of faults, as an H200 has them: `docs/results/h200/faults.txt`. All are told alike, whatever binding
/// launches.
#[test]
fn faulty_launches_are_told_as_they_are_on_a_gpu() {
    let kernels = "stray:700,misaligned:716,traps:719,asserts:710,spins:never-ends";
    let measured = measure(FAULTS, &["--quick"], &[("KERNEL", kernels)]);
    let failed = failed(&measured.run);
    assert_eq!(failed.len(), BINDINGS.len() * ROWS.len(), "{failed:?}");
    for (fault, name, words) in ROWS {
        for binding in BINDINGS {
            let case = format!("faults_on_a_fake::{}", named(binding, name));
            let (_, reason) = failed
                .iter()
                .find(|(failed, _)| *failed == case)
                .unwrap_or_else(|| panic!("{case}: {failed:?}"));
            let words = by(binding, words);
            assert!(reason.contains(&words), "no `{words}` in {case}: {reason}");
            // Those that goes without a driver too are told of elsewhere.
            if binding == "Cust"
                && !["wrong output", "panic in a launch", "a kernel that never ends"].contains(&fault)
                && name.ends_with("hot")
            {
                row(here!(), fault, &quoted(&lasting(reason)), OTHERS);
            }
        }
    }
    for binding in BINDINGS {
        let name = format!("faults_on_a_fake::writes_nothing[B={binding}]");
        let record =
            measured.run.records.iter().find(|record| record.case.name() == name).expect("it was measured");
        let reasons: Vec<_> = record.verdict.reasons.iter().map(ToString::to_string).collect();
        assert_eq!(record.verdict.state, State::Suspect, "{name}: {reasons:?}");
        assert!(
            reasons.iter().any(|reason| reason.starts_with("outputs never written")),
            "{name}: {reasons:?}"
        );
    }
    let paths: Vec<_> = measured
        .run
        .records
        .iter()
        .filter_map(|record| {
            Some((record.case.name(), record.measurement.as_ref()?.samples.method.path_reason.clone()))
        })
        .collect();
    for (name, reason) in paths {
        let (benchmark, _) =
            name.trim_start_matches("faults_on_a_fake::").split_once('[').expect("a binding");
        assert_eq!(reason, None, "{benchmark}");
    }
    assert!(!measured.ended.stderr.contains("dropped after its context was lost"), "{}", measured.ended);
    // `right`, `right_after_all_that`, `panics_later` cold, the joined fork and `writes_nothing`.
    assert_eq!(measured.run.records.len(), BINDINGS.len() * (ROWS.len() + 6));
}

#[test]
fn a_kernel_that_the_fake_does_not_compute_is_named_once() {
    let Measured { ended, .. } = measure(FAULTS, &["--quick", "writes_between"], &[]);
    let line = "fake driver: kernel `misaligned` is not computed: its outputs stay as they were";
    assert_eq!(ended.stderr.lines().filter(|printed| *printed == line).count(), 1, "{ended}");
}
