//! A repository whose cargo and suites are scripts, for the commands that compare revisions.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use gpubench_records::record::Run;

use super::{CommandOutput, PROGRAM, TestProject, slowed};

/// A program that says what it was given and stores the next run of the speed in its folder, or that of the submodule `sub`.
const SUITE: &str = r#"#!/bin/sh
if [ "$1" = --version ]; then echo 'kernels 1.2.3 (gpubench 0.1.0)'; exit; fi
speed=$(cat sub/speed 2>/dev/null || cat speed)
mkdir -p $GPUBENCH_RUNS_DIR; comparison=$GPUBENCH_RUNS_DIR/../..
at=$(cat $comparison/count-$speed 2>/dev/null || echo 0); echo $((at + 1)) > $comparison/count-$speed
echo "$speed: $*" >> $HERE/ran
[ -f ends ] && exit $(cat ends)
all=$(cat $comparison/count 2>/dev/null || echo 0); echo $((all + 1)) > $comparison/count
folder=$GPUBENCH_RUNS_DIR/2026-11-23T10-$(printf '%02d-%02d' $((all / 60)) $((all % 60)))-$speed
run=$HERE/stored/$speed-$at.json; [ -f $run ] || run=$HERE/stored/$speed-$((at % $(ls $HERE/stored/$speed-* | wc -l))).json
mkdir -p $folder && cp $run $folder/records.jsonl
[ -f garbles ] && echo '{}' > $folder/records.jsonl
if [ -f signal ]; then kill -INT $PPID; sleep 0.1; exit 130; fi
exit 0
"#;

/// A cargo that knows the suites in the file `benches` of the package's folder, all of them `suite.sh` there. It reads no folder with a
/// file `unread`, and builds none with a file `broken`. The file `killed` ends it by a signal, and `signals` ends its caller.
const CARGO: &str = r#"#!/bin/sh
folder=$PWD; what=$1; all="$*"
while [ $# -gt 0 ]; do [ "$1" = --manifest-path ] && folder=${2%/*}; shift; done
benches=$(cat $folder/benches 2>/dev/null || echo kernels)
if [ $what = metadata ]; then
    if [ -f $folder/unread ]; then echo 'error: cargo says why' >&2; exit 101; fi
    targets=$(for bench in $benches; do printf '{"name":"%s","kind":["bench"]},' $bench; done)
    echo '{"packages":[{"name":"a","version":"1.2.3","manifest_path":"'$folder'/Cargo.toml","dependencies":[{"name":"gpubench"}],"targets":['${targets%,}']}],"workspace_root":"'${ROOT:-$folder}'","target_directory":"'${ROOT:-$folder}'/target"}'
    exit
fi
echo "$all" >> $HERE/built
echo "${0##*/} ${RUSTUP_TOOLCHAIN-of the folder} $PWD" >> $HERE/builders
if [ -f $folder/broken ]; then echo 'error: cargo says why' >&2; exit 101; fi
[ -f $folder/killed ] && kill -TERM $$
if [ -f $folder/signals ]; then kill -INT $PPID; sleep 0.1; exit 101; fi
for bench in $benches; do
    echo '{"reason":"compiler-artifact","manifest_path":"'$folder'/Cargo.toml","target":{"name":"'$bench'","kind":["bench"]},"executable":"'$folder'/suite.sh"}'
done
"#;

/// The day of each commit.
const DAY: &str = "2026-11-20T12:00:00Z";

/// A repository with a commit for each speed, and runs of each to be found.
pub(super) struct Repository(pub(super) TestProject);

impl Repository {
    pub(super) fn of(speeds: &[u32]) -> Self {
        let this = Self(TestProject::new());
        fs::create_dir_all(this.0.path("stored")).expect("it can be made");
        this.script("cargo", CARGO);
        let repository = this.0.path("repository");
        fs::create_dir_all(&repository).expect("it can be made");
        this.git(&["init", "--quiet", "--initial-branch=main"]);
        this.script("repository/suite.sh", SUITE);
        fs::write(repository.join(".gitignore"), "target\n").expect("it can be written");
        fs::write(repository.join("Cargo.toml"), "[workspace]\n").expect("it can be written");
        for speed in speeds {
            this.change("speed", &speed.to_string());
            this.commit(&format!("v{speed}"));
        }
        this
    }

    /// Writes the runs of so many processes of a speed, in percent of the usual time: they differ by `noise`.
    pub(super) fn runs(&self, speed: u32, noise: f64, processes: usize) {
        self.runs_with(speed, noise, processes, |_, run| run);
    }

    /// The same runs, each changed by its number.
    pub(super) fn runs_with(
        &self,
        speed: u32,
        noise: f64,
        processes: usize,
        changed: impl Fn(usize, Run) -> Run,
    ) {
        for at in 0..processes {
            let around = [0.3, -0.8, 0.9, -0.5, 0.1, 0.6, -0.2, -0.4][at % 8] + 0.01 * at as f64;
            let run = changed(at, slowed(f64::from(speed) / 100.0 * (1.0 + noise * around)));
            let path = self.0.path(&format!("stored/{speed}-{at}.json"));
            run.write(&mut fs::File::create(path).expect("it can be made")).expect("it can be written");
        }
    }

    pub(super) fn change(&self, name: &str, text: &str) {
        fs::write(self.0.path("repository").join(name), text).expect("it can be written");
    }

    pub(super) fn remove(&self, name: &str) {
        fs::remove_file(self.0.path("repository").join(name)).expect("it is there");
    }

    pub(super) fn commit(&self, tag: &str) {
        self.git(&["add", "."]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message", tag]);
        self.git(&["tag", tag]);
    }

    /// Returns the hash of a commit.
    pub(super) fn hash(&self, name: &str) -> String {
        self.git(&["rev-parse", name]).trim().to_owned()
    }

    /// Returns what git prints in the repository.
    #[track_caller]
    pub(super) fn git(&self, words: &[&str]) -> String {
        self.git_in("repository", words)
    }

    #[track_caller]
    pub(super) fn git_in(&self, folder: &str, words: &[&str]) -> String {
        let mut command = Command::new("git");
        // Submodules of these tests are folders.
        command.args(["-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"]);
        command.arg("-C").arg(self.0.path(folder)).args(words);
        command.env("GIT_AUTHOR_DATE", DAY).env("GIT_COMMITTER_DATE", DAY);
        let ended = command.output().expect("there is git");
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
        String::from_utf8(ended.stdout).expect("UTF-8")
    }

    pub(super) fn script(&self, name: &str, text: &str) {
        fs::write(self.0.path(name), text).expect("it can be written");
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(self.0.path(name), mode).expect("it is there");
    }

    pub(super) fn ab(&self, arguments: &[&str]) -> CommandOutput {
        self.ab_in("repository", arguments)
    }

    pub(super) fn ab_in(&self, folder: &str, arguments: &[&str]) -> CommandOutput {
        self.run_in(folder, &[&["ab"], arguments].concat())
    }

    pub(super) fn run_in(&self, folder: &str, arguments: &[&str]) -> CommandOutput {
        self.run_with(folder, arguments, &[])
    }

    pub(super) fn run_with(
        &self,
        folder: &str,
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> CommandOutput {
        let mut command = Command::new(PROGRAM);
        command.arg("gpubench").args(arguments).current_dir(self.0.path(folder)).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("CARGO", self.0.path("cargo"));
        command.env("HERE", self.0.path("")).envs(environment.iter().copied()).stdin(Stdio::null());
        CommandOutput { output: command.output().expect("it runs"), project: self.0.path("") }
    }

    pub(super) fn lines(&self, name: &str) -> Vec<String> {
        let text = fs::read_to_string(self.0.path(name)).unwrap_or_default();
        let project = self.0.text("");
        text.lines().map(|line| line.replace(&project, "PROJECT/")).collect()
    }
}

/// The text without the hashes of commits, which are others in each test.
pub(super) fn without_hashes(text: &str) -> String {
    let is_hash = |word: &str| word.len() == 8 && word.bytes().all(|letter| letter.is_ascii_hexdigit());
    let words = text.split_inclusive(|letter: char| !letter.is_ascii_alphanumeric());
    words
        .map(|word| match word.split_at_checked(8) {
            Some((hash, rest)) if is_hash(hash) => format!("HASH{rest}"),
            _ => word.to_owned(),
        })
        .collect()
}
