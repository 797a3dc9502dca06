//! README, docs/book/install.md and docs/book/your-kernel.md as a reader follows them: each block of code is pasted, each
//! command runs, and the output is as the page says. GPU kernels run on the fake driver.

#![cfg(target_os = "linux")]

mod page;
mod project;

use std::os::unix::fs::symlink;

use gpubench_records::record::{Record, Run};
use gpubench_records::verdict::{Reason, State};

use self::page::{Block, Page, workspace};
use self::project::{Measures, Project, are_valid};

/// The PTX of the kernel of docs/book/your-kernel.md, by `scripts/ptx`.
const PTX: &str = include_str!("../../../cargo-gpubench/templates/saxpy.ptx");

/// The fake driver's clock is steady, so that no result is suspect.
fn nothing(_: &Reason) -> bool {
    false
}

/// Accepts what other programs on this machine do to its CPU's times.
fn noise(reason: &Reason) -> bool {
    matches!(
        reason,
        Reason::Drift(_)
            | Reason::Interrupted { .. }
            | Reason::MethodsDisagree { .. }
            | Reason::NotConverged { .. }
            | Reason::TwoModes(_)
            | Reason::WideInterval { .. }
    )
}

/// The lines of a transcript after `command`, up to the next command.
#[track_caller]
fn after<'a>(transcript: &'a str, command: &str) -> &'a str {
    let begin = format!("$ {command}\n");
    let (_, rest) = transcript.split_once(&begin).unwrap_or_else(|| panic!("no `{command}` in {transcript}"));
    rest.split_once("\n$ ").map_or(rest, |(output, _)| output)
}

/// The heads of a table's columns, without the name of the module before them.
fn heads(table: &str) -> Vec<&str> {
    let head = table.lines().find(|line| line.contains(" time ")).unwrap_or_default();
    // A CPU whose peak other programs disturbed has no share of it.
    head.split_whitespace().skip(1).filter(|word| !["±", "%", "of", "peak"].contains(word)).collect()
}

/// Asserts that a kernel that leaves a wrong value fails the page's `check`, and has no time.
#[track_caller]
fn a_wrong_value_is_found(project: &mut Project, command: &str, results: usize) {
    project.set("GPUBENCH_FAKE_KERNEL", "saxpy:spoilt");
    let (ended, run) = project.measure(command);
    assert_eq!(ended.code, Some(1), "{ended}");
    assert_eq!(run.records.len(), results, "{ended}");
    for record in &run.records {
        let verdict = &record.verdict;
        assert!(verdict.state == State::Invalid && record.measurement.is_none(), "{verdict:?}");
        let [Reason::Failed(failure)] = &verdict.reasons[..] else { panic!("{verdict:?}") };
        assert!(failure.to_string().contains("check: "), "{failure}");
    }
}

/// Writes the PTX of the kernel: by the page's `ptx.py`, if `scripts/ptx` has installed the compiler on this machine.
fn compile(project: &Project, commands: &str) {
    let (install, compile) = commands.trim().split_once('\n').expect("two commands");
    let compiler = install.split_whitespace().last().expect("a package");
    let script = include_str!("../../../scripts/ptx");
    assert!(script.contains(&format!("COMPILER = \"{compiler}\"")), "scripts/ptx compiles with another one");
    let installed = workspace().join("target/ptx-tools").join(compiler.replace("==", "-"));
    let (command, output) = compile.split_once(" > ").expect("it writes a file");
    if !installed.exists() {
        return project.write(output, PTX);
    }
    symlink(installed.canonicalize().expect("it exists"), project.path("nvrtc")).expect("a link");
    let made = project.run(command).stdout;
    let lines = |text: &str| {
        let code = text.lines().skip_while(|line| !line.starts_with(".version")).map(str::trim_end);
        code.collect::<Vec<_>>().join("\n").trim_end_matches(['\n', '\0']).to_owned()
    };
    assert_eq!(lines(&made), lines(PTX));
    project.write(output, &made);
}

#[test]
#[ignore = "slow: .ci/release runs it"]
fn your_kernel() {
    let mut page = Page::read("docs/book/your-kernel.md");
    let mut project = Project::new(Measures::FakeGpu);
    let files = page.take_files();
    let names: Vec<&str> = files.iter().filter_map(|block| block.file.as_deref()).collect();
    let with_cudarc = ["kernels/saxpy.cu", "ptx.py", "Cargo.toml", "src/lib.rs", "benches/kernels.rs"];
    assert_eq!(names, [&with_cudarc[..], &[".cargo/config.toml", "src/lib.rs"]].concat());
    let (with_cudarc, with_cust) = files.split_at(with_cudarc.len());
    let write = |project: &Project, files: &[Block]| {
        files.iter().for_each(|block| project.write(block.file.as_ref().expect("it is a file"), &block.text));
    };
    write(&project, with_cudarc);
    project.lock();
    // There is no toolkit here.
    _ = page.take("sh", "nvcc -ptx");
    compile(&project, &page.take("sh", "pip install").text);
    // Recorded, as `scripts/quotes` checks.
    _ = page.take("text", "my_kernels");
    let commands = page.take("sh", "cargo bench").text;
    saxpy_is_measured(&mut project, &commands);
    // The fake driver of this test is the one that these commands build.
    let fake = page.take("sh", "-p fake-cuda").text;
    assert!(fake.contains("libfake_cuda.so\ncargo bench -- n=1048576"), "{fake}");

    let manifest = project.read("Cargo.toml");
    let (before, rest) = manifest.split_once("[dependencies]\n").expect("dependencies");
    let (_, after) = rest.split_once("\n[dev-dependencies]\n").expect("and others");
    let dependencies = page.take("toml", "[dependencies]\ncust").text;
    project.write("Cargo.toml", &format!("{before}{dependencies}\n[dev-dependencies]\n{after}"));
    write(&project, with_cust);
    saxpy_is_measured(&mut project, &commands);
    page.is_used_up();
}

/// Asserts that each of the page's two commands measures the page's kernel, and that the second finds a wrong value.
#[track_caller]
fn saxpy_is_measured(project: &mut Project, commands: &str) {
    let commands: Vec<&str> = commands.lines().collect();
    let [everything, briefly] = commands[..] else { panic!("{commands:?}") };
    project.set("GPUBENCH_FAKE_KERNEL", "");
    for command in [everything, briefly] {
        let (ended, run) = project.measure(command);
        let results = [
            "my_kernels::saxpy[n=16384] hot",
            "my_kernels::saxpy[n=16384] cold",
            "my_kernels::saxpy[n=1048576] hot",
            "my_kernels::saxpy[n=1048576] cold",
            "my_kernels::saxpy[n=67108864] hot",
            "my_kernels::saxpy[n=67108864] cold",
        ];
        are_valid(&run, &results, nothing);
        assert_eq!(ended.code, Some(0), "{ended}");
        ended.shows("6 results: 6 valid, 0 suspect, 0 invalid");
        for column in ["time", "±", "GB/s", "peak", "DRAM", "GFLOP/s", "cold/hot"] {
            ended.shows(column);
        }
        work_is_that_of(&run, 8, 4, 2);
    }
    a_wrong_value_is_found(project, briefly, 6);
}

/// Asserts that each result counts this work of one element, on a GPU.
#[track_caller]
fn work_is_that_of(run: &Run, reads: u64, writes: u64, flops: u64) {
    for record in &run.records {
        let n: u64 = record.case.args[0].value.parse().expect("a size");
        let counts = record.measurement.as_ref().expect("it was measured").counts;
        let found = [counts.reads, counts.writes, counts.flops];
        assert_eq!(found, [reads, writes, flops].map(|work| Some(n * work)));
        assert_eq!(record.device, "cuda:0");
    }
}

#[test]
#[ignore = "slow: .ci/release runs it"]
fn readme() {
    let mut page = Page::read("README.md");
    let mut project = Project::new(Measures::FakeGpu);
    project.set_width(80);
    // Recorded, as `scripts/quotes` checks.
    let recorded = page.take("text", "my_kernels").text;
    _ = page.take("text", "do_bench");
    // `.ci/run` runs these two.
    _ = page.take("sh", "cargo run --example suite\ncargo test\n");

    _ = project.run("cargo new --lib --vcs none my-kernels");
    let manifest = page.take("toml", "[dependencies]").text;
    let new = project.read("Cargo.toml");
    let package = new.strip_suffix("\n[dependencies]\n").expect("it ends with no dependencies");
    project.write("Cargo.toml", &format!("{package}\n{manifest}"));
    project.write("benches/kernels.rs", "gpubench::main!(my_kernels);");
    project.write("src/lib.rs", &page.take("rust", "// src/lib.rs").text);
    project.write("kernels/saxpy.ptx", PTX);
    project.lock();

    let (ended, run) = project.measure("cargo bench");
    let results = [
        "my_kernels::saxpy[n=16384] hot",
        "my_kernels::saxpy[n=16384] cold",
        "my_kernels::saxpy[n=1048576] hot",
        "my_kernels::saxpy[n=1048576] cold",
        "my_kernels::saxpy[n=67108864] hot",
        "my_kernels::saxpy[n=67108864] cold",
    ];
    are_valid(&run, &results, nothing);
    assert_eq!(ended.code, Some(0), "{ended}");
    assert_eq!(heads(&ended.stdout), heads(&recorded), "{ended}");
    ended.shows("6 results: 6 valid, 0 suspect, 0 invalid");
    for record in &run.records {
        let n: u64 = record.case.args[0].value.parse().expect("a size");
        let counts = record.measurement.as_ref().expect("it was measured").counts;
        assert_eq!([counts.bytes, counts.flops], [Some(12 * n), Some(2 * n)]);
    }
    a_wrong_value_is_found(&mut project, "cargo bench", 6);
    page.is_used_up();
}

/// The benchmarks that `init` writes for each binding.
#[test]
#[ignore = "slow: .ci/release runs it"]
fn init_for_a_gpu() {
    for binding in ["cudarc", "cust"] {
        let mut project = Project::new(Measures::FakeGpu);
        // The build script of cust asks for a folder that has a `lib64`.
        project.set("CUDA_LIBRARY_PATH", "/usr");
        _ = project.run("cargo new --lib --vcs none my-kernels");
        _ = project.run(&format!("cargo gpubench init --binding {binding}"));
        project.lock();
        let (ended, run) = project.measure("cargo bench --bench kernels -- --quick");
        let results = [
            "kernels::saxpy[n=65536] hot",
            "kernels::saxpy[n=65536] cold",
            "kernels::saxpy[n=1048576] hot",
            "kernels::saxpy[n=1048576] cold",
            "kernels::saxpy[n=67108864] hot",
            "kernels::saxpy[n=67108864] cold",
        ];
        are_valid(&run, &results, nothing);
        assert_eq!(ended.code, Some(0), "{ended}");
        work_is_that_of(&run, 8, 4, 2);
        a_wrong_value_is_found(&mut project, "cargo bench --bench kernels -- --quick", 6);
    }
}

/// The first package of the page, up to its first measurement.
fn first_package(page: &mut Page) -> Project {
    let mut project = Project::new(Measures::Cpu);
    project.set_width(110);
    project.set("CARGO_CARGO_NEW_VCS", "none");
    // It is not published: `cargo gpubench` is the one of the workspace.
    _ = page.take("sh", "cargo install --locked --path ../gpubench/cargo-gpubench");
    // `init_for_a_gpu` runs these commands.
    _ = page.take("sh", "cargo gpubench init --binding cudarc");
    assert_eq!(page.take("sh", "cargo new").text, "cargo new --lib my-kernels\ncd my-kernels\n");
    _ = project.run("cargo new --lib my-kernels");
    let manifest = page.take("toml", "[dev-dependencies]").text;
    project.write("Cargo.toml", &format!("{}{manifest}", project.read("Cargo.toml")));
    for file in ["src/lib.rs", "benches/kernels.rs"] {
        project.write(file, &page.take("rust", file).text);
    }
    project.lock();
    project
}

#[test]
fn first_benchmark_can_use_a_binding() {
    let mut page = Page::read("docs/book/install.md");
    let project = first_package(&mut page);
    bindings_can_be_added(&mut page, &project);
}

/// A line to paste, and two others that its comment names.
fn bindings_can_be_added(page: &mut Page, project: &Project) {
    let line = page.take("toml", "gpubench = {").text;
    for features in ["[\"cudarc\"]", "[\"cust\"]", "[]"] {
        let manifest = project.read("Cargo.toml");
        let line = line.replace("[\"cudarc\"]", features);
        let place = manifest.find("[dependencies]\n").expect("the package has none yet") + 15;
        let (before, rest) = manifest.split_at(place);
        project.write("Cargo.toml", &format!("{before}{line}{rest}"));
        _ = project.run("cargo tree --depth 1");
        project.write("Cargo.toml", &manifest);
    }
}

/// Asserts that the benchmark of `cargo gpubench init` has the results of `run`, and does the same work.
#[track_caller]
fn init_writes_a_similar_benchmark(run: &Run) {
    let mut project = Project::new(Measures::Cpu);
    project.set("CARGO_CARGO_NEW_VCS", "none");
    _ = project.run("cargo new --lib my-kernels");
    _ = project.run("cargo gpubench init");
    project.lock();
    let (ended, other) = project.measure("cargo bench --bench kernels -- --quick");
    assert_eq!(ended.code, Some(0), "{ended}");
    let work = |run: &Run| {
        let counts = |record: &Record| record.measurement.as_ref().expect("it was measured").counts;
        run.records.iter().map(|record| (record.case.name(), counts(record))).collect::<Vec<_>>()
    };
    assert_eq!(work(&other), work(run));
}

#[test]
#[ignore = "slow: .ci/release runs it"]
fn first_benchmark() {
    let mut page = Page::read("docs/book/install.md");
    let project = first_package(&mut page);
    let results = [
        "kernels::saxpy[n=4096] hot",
        "kernels::saxpy[n=4096] cold",
        "kernels::saxpy[n=1048576] hot",
        "kernels::saxpy[n=1048576] cold",
    ];
    let recorded = page.take("text", "$ cargo bench").text;
    let command = "cargo bench --bench kernels -- --quick";
    let (ended, run) = project.measure(command);
    are_valid(&run, &results, noise);
    assert_eq!(ended.code, Some(0), "{ended}");
    let recorded = after(&recorded, command);
    // Without the share, further columns fit.
    assert!(heads(&ended.stdout).starts_with(&heads(recorded)), "{ended}");
    ended.shows("4 results: ");

    let recorded = page.take("text", "$ cargo test").text;
    let command = "cargo test --bench kernels";
    assert_eq!(project.run(command).stdout, after(&recorded, command));
    assert_eq!(project.run("cargo bench -- --test").stdout, after(&recorded, command));
    let (ended, run) = project.measure("cargo gpubench run -- --quick");
    assert_eq!(ended.code, Some(0), "{ended}");
    are_valid(&run, &results, noise);
    init_writes_a_similar_benchmark(&run);

    bindings_can_be_added(&mut page, &project);
    page.is_used_up();
}
