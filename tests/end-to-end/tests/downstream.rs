//! A crate as somebody else would write it (`tests/downstream`), built as the README says: without our cargo
//! configuration, with `CUDA_LIBRARY_PATH=/usr` alone, and by either linker. The first build takes a minute, so that
//! `.ci/release` has those tests; later builds find it in the target folder.

#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, PoisonError};
use std::{env, fs};

use end_to_end::running::{SettingsFile, cases, measure, run};
use gpubench_records::verdict::State;
use object::Endianness;
use object::elf::{DT_NEEDED, FileHeader64};
use object::read::elf::{Dyn, FileHeader};

/// The variable that a user without a CUDA toolkit sets.
const REQUIREMENT: (&str, &str) = ("CUDA_LIBRARY_PATH", "/usr");
/// All that `cust` takes for a toolkit.
const TOOLKIT: [&str; 4] = ["CUDA_LIBRARY_PATH", "CUDA_PATH", "CUDA_ROOT", "CUDA_TOOLKIT_ROOT_DIR"];
/// The profile of `cargo bench`, unoptimised: optimising would take longer than all other tests, and tell nothing more. It
/// goes by the name of the dev profile and builds derive macros as the workspace does, so that those of the workspace serve.
/// `scripts/cuda-core-test` builds by it too.
const UNOPTIMISED_BENCH: &str = include_str!("../../downstream/profile.env");

/// The folder of what the workspace builds.
fn shared_target() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("it lies in the target folder").to_owned()
}

/// A folder for a build that shares nothing.
fn own_target() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("downstream-without")
}

/// `cargo` as a user of the crate calls it, keeping what it builds in the folder `target`.
fn cargo(target: &Path, command: &str, arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    cargo_in("downstream", target, command, arguments, environment)
}

/// `cargo` in a folder of `tests`.
fn cargo_in(
    folder: &str,
    target: &Path,
    command: &str,
    arguments: &[&str],
    environment: &[(&str, &str)],
) -> Output {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = workspace.join("tests").join(folder);
    let manifest = folder.join("Cargo.toml");
    // One at a time: all of them write the lock file.
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    // With the versions of the workspace, which are on this machine, it can do without a network.
    fs::copy(workspace.join("Cargo.lock"), folder.join("Cargo.lock")).expect("a copy of the versions");
    // Cargo looks for configuration upwards from the folder that it is called in: none of ours is there.
    let elsewhere = tempfile::tempdir().expect("a folder");

    let run = |network: &[(&str, &str)]| {
        let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        for name in TOOLKIT.iter().chain(&["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS"]) {
            cargo.env_remove(name);
        }
        cargo.env("CARGO_TARGET_DIR", target);
        cargo.envs(UNOPTIMISED_BENCH.lines().filter_map(|line| line.split_once('=')));
        cargo.envs(environment.iter().chain(network).copied()).current_dir(elsewhere.path());
        cargo.args([command, "--manifest-path", manifest.to_str().expect("UTF-8")]).args(arguments);
        cargo.output().expect("cargo starts")
    };
    let offline = run(&[("CARGO_NET_OFFLINE", "true")]);
    if told(&offline).contains("offline") { run(&[]) } else { offline }
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The crate's bench target, linked with `flags`.
#[track_caller]
fn build(flags: &[&str]) -> PathBuf {
    let bench = ["--bench=own", "--features=bench", "--message-format=json-render-diagnostics", "--"];
    let built = cargo(&shared_target(), "rustc", &[&bench, flags].concat(), &[REQUIREMENT]);
    assert!(built.status.success(), "{}", told(&built));
    let messages = String::from_utf8(built.stdout).expect("cargo writes UTF-8");
    let messages = messages.lines().map(|line| serde_json::from_str(line).expect("JSON"));
    let mut program =
        messages.filter_map(|message: serde_json::Value| Some(message["executable"].as_str()?.into()));
    program.next_back().expect("a program was built")
}

/// The libraries that the loader needs before the program starts.
fn needed(program: &Path) -> Vec<String> {
    let program = fs::read(program).expect("it was built");
    let header = FileHeader64::<Endianness>::parse(&*program).expect("an ELF executable");
    let endian = header.endian().expect("an endianness");
    let sections = header.sections(endian, &*program).expect("sections");
    let (entries, strings) = sections.dynamic(endian, &*program).expect("readable").expect("it is linked");
    let strings = sections.strings(endian, &*program, strings).expect("names");
    let needed = entries.iter().filter(|entry| entry.tag32(endian) == Some(DT_NEEDED));
    let name =
        |entry| String::from_utf8_lossy(Dyn::string(entry, endian, strings).expect("a name")).into_owned();
    needed.map(name).collect()
}

#[track_caller]
fn needs_no_cuda(program: &Path) {
    let needed = needed(program);
    assert!(needed.iter().any(|name| name.starts_with("libc.")), "{needed:?}");
    assert!(!needed.iter().any(|name| name.contains("cuda")), "{needed:?}");
}

#[test]
#[ignore = "slow: .ci/release runs it"]
fn its_bench_target_finds_and_measures_its_own() {
    let program = build(&[]);
    needs_no_cuda(&program);
    let program = program.to_str().expect("UTF-8");

    let listed = run(program, &["--bench", "--list", "--format", "terse"]).with_code(0);
    insta::assert_snapshot!(listed.stdout, @"
    downstream::host::accumulate[n=1024]: benchmark
    downstream::host::accumulate[n=4096]: benchmark
    downstream::host::quick::accumulate_in_blocks[T=u8, BLOCK=16, n=64, what=small]: benchmark
    downstream::host::quick::accumulate_in_blocks[T=u8, BLOCK=16, n=128, what=large]: benchmark
    downstream::host::quick::accumulate_in_blocks[T=u8, BLOCK=64, n=64, what=small]: benchmark
    downstream::host::quick::accumulate_in_blocks[T=u8, BLOCK=64, n=128, what=large]: benchmark
    downstream::host::quick::accumulate_in_blocks[T=f64, BLOCK=16, n=64, what=small]: benchmark
    downstream::host::quick::accumulate_in_blocks[T=f64, BLOCK=16, n=128, what=large]: benchmark
    downstream::host::quick::accumulate_in_blocks[T=f64, BLOCK=64, n=64, what=small]: benchmark
    downstream::host::quick::accumulate_in_blocks[T=f64, BLOCK=64, n=128, what=large]: benchmark
    downstream::host::ask_cuda: benchmark
    downstream::host::counts_too_much[n=100000]: benchmark
    downstream::copy[n=1024]: benchmark
    downstream::copy[n=2048]: benchmark
    ");

    let (ended, run) =
        measure(program, &["--bench", "--device", "host", "--quick", "host::accumulate[n=1024", "ask"]);
    _ = ended.with_code(0);
    let expected = [
        "downstream::host::accumulate[n=1024] hot",
        "downstream::host::accumulate[n=1024] cold",
        "downstream::host::ask_cuda hot",
    ];
    assert_eq!(cases(&run), expected);
    for record in &run.records {
        assert_ne!(record.verdict.state, State::Invalid, "{:?}", record.verdict);
        assert!(
            record.measurement.as_ref().is_some_and(|measured| measured.samples.time.samples > 0),
            "{}",
            record.case.name()
        );
    }
    // Of this build a user must know.
    assert_eq!(run.program.opt_level, "0");
    assert!(run.notes.iter().any(|note| note.contains("not optimised")), "{:?}", run.notes);
}

/// As `cargo test --benches` runs it: each benchmark once, checked and untimed. `cargo bench` adds `--bench`.
#[test]
#[ignore = "slow: .ci/release runs it"]
fn its_bench_target_tests_unless_it_is_told_to_measure() {
    let program = build(&[]);
    let program = program.to_str().expect("UTF-8");
    let ended = run(program, &[]).with_code(0);
    insta::assert_snapshot!(ended.stdout, @"
    test downstream::host::accumulate[n=1024] ... ok (launched, nothing to check)
    test downstream::host::accumulate[n=4096] ... ok (launched, nothing to check)
    test downstream::host::quick::accumulate_in_blocks[T=u8, BLOCK=16, n=64, what=small] ... ok
    test downstream::host::quick::accumulate_in_blocks[T=u8, BLOCK=16, n=128, what=large] ... skipped: takes too long
    test downstream::host::quick::accumulate_in_blocks[T=u8, BLOCK=64, n=64, what=small] ... ok
    test downstream::host::quick::accumulate_in_blocks[T=u8, BLOCK=64, n=128, what=large] ... ok
    test downstream::host::quick::accumulate_in_blocks[T=f64, BLOCK=16, n=64, what=small] ... ok
    test downstream::host::quick::accumulate_in_blocks[T=f64, BLOCK=16, n=128, what=large] ... skipped: takes too long
    test downstream::host::quick::accumulate_in_blocks[T=f64, BLOCK=64, n=64, what=small] ... ok
    test downstream::host::quick::accumulate_in_blocks[T=f64, BLOCK=64, n=128, what=large] ... ok
    test downstream::host::ask_cuda ... ok (launched, nothing to check)
    test downstream::copy[n=1024] ... ignored, no CUDA device (no-libcuda-here not found)
    test downstream::copy[n=2048] ... ignored, no CUDA device (no-libcuda-here not found)

    test result: ok. 9 passed; 0 failed; 2 skipped; 3 ignored; nothing timed
    ");
    run(program, &["--tag", "no_such"]).with_code(0).shows("0 passed");
    let ended = run(program, &["--bench", "--test", "ask_cuda"]).with_code(0);
    ended.shows("test downstream::host::ask_cuda ... ok");
}

/// Its manifest is the documented one: flags after `--` reach the suite alone.
#[test]
#[ignore = "slow: .ci/release runs it"]
fn cargo_bench_hands_its_flags_to_the_suite() {
    let flags = ["--profile=dev", "--features=bench", "--", "--quick", "--device=host", "ask_cuda"];
    let benched = cargo(&shared_target(), "bench", &flags, &[REQUIREMENT, ("GPUBENCH_RUNS_DIR", "none")]);
    let shown = String::from_utf8(benched.stdout.clone()).expect("a suite writes UTF-8");
    assert!(benched.status.success() && shown.contains("1 result: "), "{shown}{}", told(&benched));
    assert!(!shown.contains("running 0 tests"), "{shown}");
}

/// By the real program: it lists, and starts a process for each benchmark, in test mode and to measure.
#[test]
#[ignore = "slow: .ci/release runs it"]
fn nextest_runs_each_benchmark_in_a_process() {
    let settings = SettingsFile::new("quick = true");
    let nextest = |arguments: &[&str]| {
        let quiet = [REQUIREMENT, ("GPUBENCH_RUNS_DIR", "none"), ("GPUBENCH_LIBCUDA", "no-libcuda-here")];
        let experimental = [("NEXTEST_EXPERIMENTAL_BENCHMARKS", "1"), settings.variable()];
        let ended = cargo(&shared_target(), "nextest", arguments, &[&quiet[..], &experimental].concat());
        (ended.status.code(), String::from_utf8_lossy(&ended.stdout).into_owned(), told(&ended))
    };
    if !nextest(&["--version"]).1.starts_with("cargo-nextest") {
        return skip("there is no cargo-nextest here");
    }
    let benches = ["--benches", "--features=bench", "--color=never"];
    let (code, listed, told) = nextest(&[&["list"], &benches[..]].concat());
    let names: Vec<&str> = listed.lines().filter(|line| line.contains("downstream::")).collect();
    assert_eq!((code, names.len()), (Some(0), 11), "{listed}{told}");
    let (code, shown, told) = nextest(&[&["run"], &benches[..], &["host::quick"]].concat());
    assert!(code == Some(0) && told.contains("8 tests run: 8 passed"), "{code:?} {shown}{told}");
    // Those without a device are ignored ones, which fail if somebody wants just them.
    let ignored = ["--run-ignored=only", "--no-fail-fast"];
    let (code, shown, told) = nextest(&[&["run"], &benches[..], &ignored].concat());
    assert!(code == Some(100) && told.contains("3 tests run: 1 passed, 2 failed"), "{code:?} {shown}{told}");
    let (code, shown, told) =
        nextest(&["bench", "--cargo-profile=dev", "--features=bench", "--color=never", "host::ask_cuda"]);
    assert!(code == Some(0) && told.contains("1 benchmark run: 1 passed"), "{code:?} {shown}{told}");
}

/// This build does not check arithmetic, as no release build does.
#[test]
#[ignore = "slow: .ci/release runs it"]
fn a_count_does_not_wrap() {
    let program = build(&[]);
    let program = program.to_str().expect("UTF-8");
    let (ended, run) = measure(program, &["--bench", "--quick", "--ignored", "counts_too_much"]);
    _ = ended.with_code(0);
    let counts = run.records[0].measurement.as_ref().map(|measured| measured.counts.flops);
    assert_eq!(counts, Some(Some(10_000_000_000)));
}

/// A user without the feature gets the functions alone.
#[test]
#[ignore = "slow: .ci/release runs it"]
fn without_its_feature_it_does_without_gpubench() {
    // Names alone: the folders of packages may be called anything.
    let told = cargo(
        &shared_target(),
        "tree",
        &["--edges=normal", "--prefix=none", "--format={lib}"],
        &[REQUIREMENT],
    );
    let tree = String::from_utf8(told.stdout).expect("cargo writes UTF-8");
    let named = |name: &str| tree.lines().any(|line| line == name);
    assert!(named("cust") && named("downstream"), "{tree}");
    assert!(!tree.lines().any(|line| line.starts_with("gpubench")), "{tree}");
    let library = cargo(&shared_target(), "rustc", &["--lib"], &[REQUIREMENT]);
    assert!(library.status.success(), "{}", self::told(&library));
}

/// The default linker is lld; GNU ld resolves archives in another way.
#[test]
#[ignore = "slow: .ci/release runs it"]
fn gnu_ld_links_it_too() {
    if !Command::new("ld.bfd").arg("--version").output().is_ok_and(|told| told.status.success()) {
        return skip("there is no GNU ld here");
    }
    let program = build(&["-Clink-arg=-fuse-ld=bfd"]);
    needs_no_cuda(&program);
    let listed = run(program.to_str().expect("UTF-8"), &["--bench", "--list"]).with_code(0);
    listed.shows("14 benchmarks: 2 skipped, 1 ignored; the others give 13 results");
}

/// Why the README has that line. Only what it is about is built.
#[test]
#[ignore = "slow: .ci/release runs it"]
fn without_a_toolkit_or_the_variable_cust_says_what_is_missing() {
    let built = cargo(&own_target(), "check", &["--package=cust_raw"], &[]);
    if built.status.success() {
        return skip("there is a CUDA toolkit here");
    }
    let told = told(&built);
    assert!(told.contains("Could not find a cuda installation"), "{told}");
    let built = cargo(&own_target(), "check", &["--package=cust_raw"], &[REQUIREMENT]);
    assert!(built.status.success(), "{}", self::told(&built));
}

#[expect(clippy::print_stderr, reason = "a test that did not look must say so")]
fn skip(reason: &str) {
    eprintln!("skipped: {reason}");
}

/// An application pays nothing for the annotated functions of a library that it uses.
#[test]
#[ignore = "slow: .ci/release runs it"]
fn an_application_that_does_not_benchmark_contains_nothing_of_gpubench() {
    let target = shared_target();
    let built = cargo_in("annotated", &target, "build", &["--example=application"], &[]);
    assert!(built.status.success(), "{}", told(&built));
    let program = fs::read(target.join("debug/examples/application")).expect("it was built");
    let contains = |text: &str| program.windows(text.len()).any(|window| window == text.as_bytes());
    assert!(contains("double_values"), "names of functions can be found");
    // Functions and statics by their mangled names: folders and object files may be called gpubench.
    let absent =
        ["8gpubench", "13gpubench_core", "inventory", "inputs_of_the_benchmark", "a check of the benchmark"];
    for absent in absent {
        assert!(!contains(absent), "the program contains `{absent}`");
    }
    assert_eq!(linked(&[]), ["annotated", "gpubench", "gpubench-core"]);
}

/// The crates that the annotated library links with these features.
fn linked(features: &[&str]) -> Vec<String> {
    let tree = ["--edges=normal,no-proc-macro", "--prefix=none"];
    let tree = cargo_in("annotated", &shared_target(), "tree", &[&tree[..], features].concat(), &[]);
    assert!(tree.status.success(), "{}", told(&tree));
    let lines = String::from_utf8_lossy(&tree.stdout).into_owned();
    lines.lines().filter_map(|line| Some(line.split_once(' ')?.0.to_owned())).collect()
}

/// A library whose launch functions take gpubench's encoder links wgpu, and nothing that measures.
#[test]
fn an_annotated_library_links_the_encoder_of_wgpu_without_its_device() {
    let crates = linked(&["--features=wgpu"]);
    let ours: BTreeSet<&str> =
        crates.iter().map(String::as_str).filter(|name| name.starts_with("gpubench")).collect();
    assert_eq!(ours, BTreeSet::from(["gpubench", "gpubench-core", "gpubench-wgpu"]));
    assert!(crates.iter().any(|name| name == "wgpu"), "{crates:?}");
    assert!(!crates.iter().any(|name| name == "inventory"), "{crates:?}");
}

/// Two versions of gpubench in one program would be two registries: cargo refuses them, and names who asks for each.
#[test]
fn two_versions_of_gpubench_in_one_program_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let core = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../gpubench-core");
    let package = |name: &str, manifest: &str| {
        let source = folder.path().join(name).join("src");
        fs::create_dir_all(&source).expect("a folder");
        fs::write(source.join("lib.rs"), "").expect("a file");
        fs::write(folder.path().join(name).join("build.rs"), "fn main() {}").expect("a file");
        let manifest =
            format!("[package]\nname = \"{name}\"\nversion = \"0.9.0\"\nedition = \"2024\"\n{manifest}");
        fs::write(folder.path().join(name).join("Cargo.toml"), manifest).expect("a file");
    };
    package("gpubench-core", "links = \"gpubench-core\"");
    package("kernels", "[dependencies]\ngpubench-core = { path = \"../gpubench-core\" }");
    let both = format!("kernels = {{ path = \"../kernels\" }}\ngpubench-core = {{ path = {core:?} }}");
    package("suite", &format!("[dependencies]\n{both}\n[workspace]"));
    let suite = folder.path().join("suite");
    fs::copy(core.join("../Cargo.lock"), suite.join("Cargo.lock")).expect("a copy of the versions");
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let tree = cargo.args(["tree", "--offline"]).current_dir(&suite).output().expect("cargo starts");
    assert!(!tree.status.success());
    let told = told(&tree);
    for part in [
        "package `gpubench-core v0.1.0",
        "kernels v0.9.0",
        "suite v0.9.0",
        "uses the `links = \"gpubench-core\"` value",
    ] {
        assert!(told.contains(part), "no {part} in {told}");
    }
}
