//! `run` with a cargo and with suites that are scripts: which are built, what they get, and the exit code that counts.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use super::{CommandOutput, PROGRAM, TestProject, corpus};

/// A workspace whose suites end with these exit codes. Each says what it was given.
struct TestWorkspace(TestProject);

impl TestWorkspace {
    fn of(suites: &[(&str, &str, u8)]) -> Self {
        let this = Self(TestProject::new());
        let folder = this.0.text("");
        let package = |name: &str| {
            let targets = suites.iter().filter(|(package, ..)| *package == name).map(|(_, bench, _)| {
                let required = if *bench == "gated" { r#","required-features":["gate"]"# } else { "" };
                format!(r#"{{"name":"{bench}","kind":["bench"]{required}}}"#)
            });
            let targets: Vec<String> =
                targets.chain([r#"{"name":"lib","kind":["lib"]}"#.to_owned()]).collect();
            let depends = if name == "other" { "serde" } else { "gpubench" };
            format!(
                r#"{{"name":"{name}","version":"1.2.3","manifest_path":"{folder}{name}/Cargo.toml","dependencies":[{{"name":"{depends}"}}],"targets":[{}]}}"#,
                targets.join(",")
            )
        };
        let mut names: Vec<&str> = suites.iter().map(|(package, ..)| *package).collect();
        names.dedup();
        let packages: Vec<String> = names.iter().map(|name| package(name)).collect();
        this.write(
            "metadata.json",
            &format!(r#"{{"packages":[{}],"target_directory":"{folder}target"}}"#, packages.join(",")),
        );
        let mut messages =
            "not JSON\n{\"reason\":\"build-script-executed\",\"linked_paths\":[\"native=/built/lib\"]}\n"
                .to_owned();
        for (package, bench, code) in suites {
            fs::create_dir_all(this.0.path(package)).expect("it can be made");
            let script = format!("{package}-{bench}.sh");
            this.script(&script, &suite(package, bench, *code));
            messages += &format!(
                r#"{{"reason":"compiler-artifact","manifest_path":"{folder}{package}/Cargo.toml","target":{{"name":"{bench}","kind":["bench"]}},"executable":"{folder}{script}"}}"#
            );
            messages += "\n";
        }
        this.write("messages.json", &messages);
        this.script(
            "cargo",
            "if [ $1 = metadata ]; then cat $HERE/metadata.json; else echo \"$@\" >> $HERE/built; cat $HERE/messages.json; exit ${BUILD:-0}; fi\n",
        );
        this
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.0.path(name), text).expect("it can be written");
    }

    /// A script that answers `--version` as a benchmark binary does, and else runs `text`.
    fn benchmark_binary(&self, name: &str, text: &str) {
        let version = "if [ \"$1\" = --version ]; then echo '1 (gpubench 0.1.0)'; exit; fi";
        self.script(name, &format!("{version}\n{text}"));
    }

    fn script(&self, name: &str, text: &str) {
        self.write(name, &format!("#!/bin/sh\n{text}"));
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(self.0.path(name), mode).expect("it is there");
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.args(["gpubench", "run"]).args(arguments).current_dir(self.0.path("")).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("CARGO", self.0.path("cargo"));
        command.env("HERE", self.0.path("")).env("CORPUS", corpus("gpu.jsonl")).stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &[&str]) -> CommandOutput {
        self.run_with(arguments, &[])
    }

    fn run_with(&self, arguments: &[&str], environment: &[(&str, &str)]) -> CommandOutput {
        let output = self.command(arguments).envs(environment.iter().copied()).output().expect("it runs");
        CommandOutput { output, project: self.0.path("") }
    }

    /// What cargo was asked to build.
    fn built(&self) -> String {
        fs::read_to_string(self.0.path("built")).expect("something was built")
    }
}

/// A program that says what it was given, stores a run, and ends.
fn suite(package: &str, bench: &str, code: u8) -> String {
    if bench == "criterion" {
        return "if [ \"$1\" = --version ]; then echo 'Unrecognized option: version' >&2; exit 1; fi\n"
            .to_owned();
    }
    format!(
        "if [ \"$1\" = --version ]; then echo '{bench} 1.2.3 (gpubench 0.1.0)'; exit; fi\n\
         echo \"{bench}: $*; in ${{PWD##*/}}; $CARGO_PKG_NAME $CARGO_PKG_VERSION; ${{LD_LIBRARY_PATH%%:*}}\"\n\
         if [ {code} -lt 2 ]; then\n\
         runs=$HERE/target/gpubench/runs/{package}-{bench}; mkdir -p $runs; cp $CORPUS $runs/records.jsonl\n\
         fi\nexit {code}\n"
    )
}

#[test]
fn all_suites_run_one_after_another() {
    let workspace = TestWorkspace::of(&[
        ("a", "kernels", 0),
        ("a", "gated", 1),
        ("b", "criterion", 0),
        ("b", "suite", 3),
    ]);
    let ended = workspace.run(&["--features", "x,y", "--profile", "dev", "--", "--quick", "sum"]).code(1);
    insta::assert_snapshot!(
        "run",
        format!("{}---\n{}---\n{}", ended.stdout(), ended.stderr(), workspace.built())
    );
}

#[test]
fn one_suite_has_no_summary_and_its_own_exit_code() {
    for code in [0, 1, 2, 3, 4, 5, 130, 143] {
        let workspace = TestWorkspace::of(&[("a", "kernels", code)]);
        let ended = workspace.run(&["--", "--json", "run.json"]).code(code.into());
        assert_eq!(ended.stdout().lines().count(), 1, "{}", ended.stdout());
        assert_eq!(ended.stderr(), "");
    }
    // A program that ends in another way has failed.
    _ = TestWorkspace::of(&[("a", "kernels", 101)]).run(&[]).code(1);
}

#[test]
fn the_exit_code_that_counts_is_the_first_of_the_table() {
    let ends = |codes: &[u8]| {
        let names = ["k0", "k1", "k2"];
        let suites: Vec<(&str, &str, u8)> =
            names.iter().zip(codes).map(|(name, code)| ("a", *name, *code)).collect();
        TestWorkspace::of(&suites).run(&[]).output.status.code()
    };
    assert_eq!(ends(&[0, 3, 1]), Some(1));
    assert_eq!(ends(&[3, 0]), Some(3));
    assert_eq!(ends(&[5, 1, 4]), Some(5));
    assert_eq!(ends(&[2, 5]), Some(2));
    // A filter need not match in every suite.
    assert_eq!(ends(&[4, 0]), Some(0));
    assert_eq!(ends(&[4, 3]), Some(3));
    assert_eq!(ends(&[4, 4]), Some(4));
}

/// `verify` takes the others: without Nsight Compute, the results of the GPU are not checked.
#[test]
fn a_benchmark_binary_without_a_gpu_is_none_to_verify() {
    let verify = |corpora: &[&str], code| {
        let names = ["k0", "k1"];
        let suites: Vec<_> = names[..corpora.len()].iter().map(|name| ("a", *name, 0)).collect();
        let workspace = TestWorkspace::of(&suites);
        for (name, runs) in names.iter().zip(corpora) {
            // The last argument is the file of --json.
            let run = corpus(&format!("{runs}.jsonl"));
            workspace.benchmark_binary(
                &format!("a-{name}.sh"),
                &format!("for last; do :; done; cp {} $last\n", run.display()),
            );
        }
        let mut command = Command::new(PROGRAM);
        command.args(["gpubench", "verify"]).current_dir(workspace.0.path("")).env_clear();
        command.env("PATH", "/usr/bin:/bin").env("CARGO", workspace.0.path("cargo"));
        let output = command.env("HERE", workspace.0.path("")).output().expect("it runs");
        CommandOutput { output, project: workspace.0.path("") }.code(code)
    };
    let without = ": no benchmark was measured on an NVIDIA GPU, and Nsight Compute counts no other";
    let both = verify(&["clockwork", "gpu"], 1);
    assert_eq!(both.stderr().matches(without).count(), 1, "{}", both.stderr());
    assert!(both.stdout().contains("copy[n=4096]"), "{}", both.stdout());
    assert!(both.stderr().contains("not checked by counters"), "{}", both.stderr());
    let neither = verify(&["clockwork", "clockwork"], 5);
    assert_eq!(neither.stderr().matches(without).count(), 2, "{}", neither.stderr());
}

/// The suites behind one that was interrupted do not run.
#[test]
fn an_interruption_ends_it() {
    let workspace = TestWorkspace::of(&[("a", "first", 130), ("a", "second", 0)]);
    let ended = workspace.run(&[]).code(130);
    assert!(!ended.stdout().contains("second:"), "{}", ended.stdout());
}

/// A SIGTERM to the command reaches the suite, whose last words are waited for.
#[test]
fn signals_reach_the_suite() {
    let workspace = TestWorkspace::of(&[("a", "first", 0), ("a", "second", 0)]);
    workspace.benchmark_binary(
        "a-first.sh",
        "trap 'sleep 0.2; echo all that there is; exit 143' TERM\n\
         touch $HERE/started; while true; do sleep 0.05; done\n",
    );
    let child =
        workspace.command(&[]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
    while !workspace.0.path("started").exists() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let process = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(process, rustix::process::Signal::TERM).expect("it is there");
    let output = child.wait_with_output().expect("it ends");
    let ended = CommandOutput { output, project: workspace.0.path("") }.code(143);
    assert_eq!(ended.stdout(), "all that there is\n");
}

/// `nohup` ignores SIGHUP, so that a command outlives its terminal.
#[test]
fn an_ignored_sighup_ends_nothing() {
    let workspace = TestWorkspace::of(&[("a", "first", 0), ("a", "second", 0)]);
    workspace.benchmark_binary("a-first.sh", "kill -HUP $PPID; sleep 0.1; echo measured\n");
    let command = workspace.command(&[]);
    let mut shell = Command::new("sh");
    shell.args(["-c", "trap '' HUP; exec \"$@\"", "sh"]).arg(command.get_program()).args(command.get_args());
    shell.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell.current_dir(command.get_current_dir().expect("it has a folder"));
    let output = shell.output().expect("sh is everywhere");
    let ended = CommandOutput { output, project: workspace.0.path("") }.code(0);
    assert!(ended.stdout().starts_with("measured\n"), "{}", ended.stdout());
    assert!(ended.stdout().contains("second:"), "{}", ended.stdout());
}

#[test]
fn what_cannot_be_run_is_told() {
    let workspace = TestWorkspace::of(&[("a", "kernels", 0), ("other", "bench", 0)]);
    let mut told = String::new();
    let mut refused = |arguments: &[&str], code| {
        let ended = workspace.run(arguments).code(code);
        assert_eq!(ended.stdout(), "");
        told += &ended.stderr();
    };
    refused(&["-p", "c"], 2);
    refused(&["--bench", "bench"], 2);
    refused(&["-p", "other"], 4);
    told += &workspace.run_with(&[], &[("BUILD", "101")]).code(1).stderr();
    told += &workspace.run_with(&[], &[("CARGO", "no-cargo-here")]).code(2).stderr();
    let workspace = TestWorkspace::of(&[("a", "kernels", 0), ("a", "more", 0)]);
    told += &workspace.run(&["--", "--json=all.json"]).code(2).stderr();
    _ = workspace.run(&["--bench", "more", "--", "--json=all.json"]).code(0);
    insta::assert_snapshot!("run-refused", told);
}

#[test]
fn flags_of_a_benchmark_binary_need_no_separator() {
    let workspace = TestWorkspace::of(&[("a", "kernels", 0)]);
    for (arguments, passed) in [
        (&["--quick"][..], "--quick"),
        (&["saxpy", "--quick"], "saxpy --quick"),
        (&["-p", "a", "-q", "--arg", "n=1"], "-q --arg n=1"),
        (&["--locked", "--", "--quick"], "--quick"),
    ] {
        let told = workspace.run(arguments).code(0).stdout();
        assert!(told.starts_with(&format!("kernels: {passed} --bench;")), "{told}");
    }
}
