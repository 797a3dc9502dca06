//! `docs/results/faults.md`: what every fault costs, as the test of that fault saw it.

use std::env;
use std::fs::{self, File};
use std::path::Path;

/// A part of the page, and the faults that it tells of, in their order.
pub type Part = (&'static str, &'static [&'static str]);

/// Everything that is provoked.
pub const PARTS: [Part; 5] = [
    (
        "A benchmark's own code",
        &[
            "panic in `args`",
            "`exit(0)` in `args`",
            "`abort` in `args`",
            "`args` that never end",
            "`chdir` in `args`",
            "`abort` in `skip_if`",
            "error in `setup`",
            "panic in `setup`",
            "panic in a count",
            "a count of nothing",
            "error of a launch",
            "panic in a launch",
            "panic in a thread of a launch",
            "panic in a thread that nobody waits for",
            "panic in a thread after its row",
            "error of a launch after a while",
            "panic in `reset`",
            "panic in `check`",
            "wrong output",
            "`abort` in a launch",
            "`abort` in a destructor",
            "`exit(0)` in a launch",
            "a launch that forks and returns twice",
            "segmentation fault",
            "stack overflow",
            "a launch that never ends",
            "a launch that never ends, deaf to SIGTERM",
            "a `setup` that never ends",
            "a child that is left behind",
            "rounding mode changed or a thread left running",
            "an alarm that is left",
            "error of a launch that comes once",
            "`abort` that comes once",
            "printing from everywhere",
            "10,000 failing cases",
        ],
    ),
    (
        "Kernels and the driver",
        &[
            "illegal address",
            "another kernel after a while",
            "launch that waits",
            "blocking copy",
            "misaligned address",
            "trap in a kernel",
            "assert in a kernel",
            "too many threads",
            "too much shared memory",
            "missing kernel",
            "PTX of a newer ISA",
            "PTX for a newer architecture",
            "out of memory in `setup`",
            "out of memory in a launch",
            "a kernel that never ends",
            "launch on another stream",
            "fork without a join",
            "launch that enqueues nothing",
            "kernel that writes nothing",
            "unknown error code",
            "context lost while sampling, twice",
            "device lost midway",
            "driver too old",
            "driver that does not start",
            "driver that aborts when it starts",
            "driver that exits when it starts",
            "driver that hangs when it starts",
            "one broken GPU of two",
            "no driver",
        ],
    ),
    (
        "Processes and signals",
        &[
            "worker killed from outside, twice",
            "SIGINT",
            "SIGTERM",
            "SIGHUP",
            "Ctrl-C in a terminal",
            "SIGTERM twice at once, as by `timeout`",
            "SIGTERM behind Ctrl-C",
            "supervisor killed",
            "suite or worker killed at any moment, over and over",
            "suite built anew while it runs",
            "another suite on the same GPU",
            "another suite on the same GPU, `no-wait`",
            "that suite killed",
        ],
    ),
    (
        "Files and pipes",
        &[
            "standard output full",
            "standard output closed",
            "standard output closed midway",
            "JSON file full",
            "file of the run full",
            "file of the run removed",
            "output path under a file",
            "folder of runs under a file",
        ],
    ),
    (
        "`--resume`",
        &[
            "a run that is complete",
            "last line cut off",
            "foreign lines",
            "a line that was changed by hand",
            "another schema",
            "no run at all",
            "another suite's run",
            "a run in progress",
            "a clock that was set back",
            "benchmarks gone",
            "other arguments",
            "other options",
            "another build",
            "another device",
            "cases that had no device",
            "cases that had too little time",
        ],
    ),
];

/// The file and the name of a test, for [`row`].
#[macro_export]
macro_rules! here {
    () => {{
        fn here() {}
        (file!(), ::std::any::type_name_of_val(&here))
    }};
}

/// Says what `fault` cost, as the test at `here` saw it: the row of the case, and the others.
///
/// # Panics
/// If the page says something else.
#[track_caller]
pub fn row(here: (&str, &str), fault: &str, its_row: &str, others: &str) {
    assert!(PARTS.iter().any(|(_, faults)| faults.contains(&fault)), "`{fault}` is not listed");
    let row = written(here, fault, its_row, others);
    let path = path();
    if is_written() {
        // Tests run beside each other, in several processes.
        let lock = File::open(&path).expect("the page is there");
        lock.lock().expect("it can be locked");
        let page = fs::read_to_string(&path).expect("UTF-8");
        fs::write(&path, with_row(&page, fault, &row)).expect("it can be written");
        return;
    }
    let page = fs::read_to_string(&path).expect("the page is there");
    let found = page.lines().find(|line| line.starts_with(&format!("| {fault} |")));
    assert_eq!(
        found,
        Some(&*row),
        "docs/results/faults.md is not current: scripts/reliability writes it anew"
    );
}

/// Returns true if rows are written to the page instead of compared with it.
#[must_use]
pub fn is_written() -> bool {
    env::var_os("GPUBENCH_RELIABILITY").is_some_and(|what| what == "write")
}

/// The words of a suite, as code.
#[must_use]
pub fn quoted(said: &str) -> String {
    if said.contains('`') { format!("`` {said} ``") } else { format!("`{said}`") }
}

/// The page.
#[must_use]
pub fn path() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results/faults.md")
}

fn written((file, here): (&str, &str), fault: &str, its_row: &str, others: &str) -> String {
    let test = here.trim_end_matches("::here").rsplit("::").next().unwrap_or_default();
    let name = file.rsplit('/').next().unwrap_or_default();
    let its_row = without_places(its_row).replace('|', "\\|").replace('\n', " ");
    format!("| {fault} | {its_row} | {others} | [`{test}`](../../{file} \"{name}\") |")
}

/// Less line numbers, which say nothing of a fault and move with each change.
fn without_places(text: &str) -> String {
    let digits = |text: &str| text.trim_start_matches(|letter: char| letter.is_ascii_digit()).len();
    let mut parts = text.split(".rs:");
    let mut kept = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let line = &part[part.len() - digits(part)..];
        let column = line.strip_prefix(':').map(|after| &after[after.len() - digits(after)..]);
        kept += if line.len() == part.len() { ".rs:" } else { ".rs" };
        kept += column.filter(|rest| rest.len() + 1 < line.len()).unwrap_or(line);
    }
    kept
}

/// `page` with `row` in place of the one of `fault`, or where the order of faults has it.
fn with_row(page: &str, fault: &str, row: &str) -> String {
    let (title, faults) = PARTS.iter().find(|(_, faults)| faults.contains(&fault)).expect("it is listed");
    let mut lines: Vec<&str> = page.lines().collect();
    let begins = |line: &str, fault: &str| line.starts_with(&format!("| {fault} |"));
    if let Some(place) = lines.iter().position(|line| begins(line, fault)) {
        lines[place] = row;
    } else {
        let table = lines.iter().position(|line| *line == format!("## {title}")).expect("the part is there");
        let rule =
            lines[table..].iter().position(|line| line.starts_with("|---")).expect("its table is there");
        let before: Vec<&str> = faults.iter().copied().take_while(|other| *other != fault).collect();
        let place = (table + rule + 1..lines.len())
            .take_while(|place| lines[*place].starts_with('|'))
            .take_while(|place| before.iter().any(|other| begins(lines[*place], other)))
            .last();
        lines.insert(place.unwrap_or(table + rule) + 1, row);
    }
    lines.join("\n") + "\n"
}
