//! The folders that gpubench keeps between runs, and the names of runs in them, which decide their order and which of them are kept.

use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};
use std::{
    env,
    fs::{self, File},
    io::{self, Read},
};

use etcetera::BaseStrategy;

/// The name of the file of records in the folder of each run.
pub const RECORDS: &str = "records.jsonl";

/// Returns the folder `gpubench` for files that outlive a run: in the target folder that this program was
/// built into, or else in the user's state folder. `None` if there is neither, or if the program's path is
/// not known.
pub fn program_folder() -> Option<PathBuf> {
    let program = env::current_exe().ok()?;
    let target = program.ancestors().skip(1).find(|folder| is_cargo_target(folder));
    Some(target.map_or_else(state_folder, |target| Some(target.to_owned()))?.join("gpubench"))
}

/// Returns the folder for files that outlive a run: [`cargo_target_folder`], or else [`program_folder`], or
/// else `target/gpubench`.
pub fn persistent_folder() -> PathBuf {
    cargo_target_folder().or_else(program_folder).unwrap_or_else(|| "target/gpubench".into())
}

/// Returns `gpubench` in the folder of the variable `CARGO_TARGET_DIR`; `None` if the variable is not set.
pub fn cargo_target_folder() -> Option<PathBuf> {
    Some(PathBuf::from(env::var_os("CARGO_TARGET_DIR")?).join("gpubench"))
}

/// Returns the folder that runs are stored in unless the user names another. `None` if there is no
/// [`program_folder`].
pub fn default_runs_folder() -> Option<PathBuf> {
    Some(program_folder()?.join("runs"))
}

/// Returns the user's cache folder for gpubench; `None` if the user has no home.
pub fn cache_folder() -> Option<PathBuf> {
    Some(etcetera::choose_base_strategy().ok()?.cache_dir().join("gpubench"))
}

/// Returns true if `folder` is a target folder of cargo: it has a `CACHEDIR.TAG` that cargo wrote, or `.rustc_info.json`. In a folder that
/// another tool made, cargo writes no tag.
fn is_cargo_target(folder: &Path) -> bool {
    let tagged =
        || fs::read_to_string(folder.join("CACHEDIR.TAG")).is_ok_and(|tag| tag.contains("created by cargo"));
    folder.join(".rustc_info.json").is_file() || tagged()
}

/// Returns the user's state folder, or the data folder on systems without one. `None` if the user has no
/// home.
pub fn state_folder() -> Option<PathBuf> {
    let folders = etcetera::choose_base_strategy().ok()?;
    folders.state_dir().or_else(|| Some(folders.data_dir()))
}

/// Returns the names of the runs in `folder`, the latest last. A run is a folder with a file of records.
pub(super) fn run_names(folder: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().into_string();
        names.extend(name.ok().filter(|_| entry.path().join(RECORDS).is_file()));
    }
    sort_run_names(&mut names);
    Ok(names)
}

/// Opens the file of this program. On Linux it is the file that runs, even if its path now leads to another
/// file or to none.
///
/// # Errors
/// If the system does not find the file.
#[doc(hidden)]
pub fn open_program() -> io::Result<File> {
    File::open("/proc/self/exe").or_else(|_| File::open(env::current_exe()?))
}

/// Returns the fingerprint of this build of the program: a hash of its file. `None` if the file cannot be
/// read. Only the same build compares fingerprints, so that the hash function may differ between versions of
/// Rust.
pub fn fingerprint() -> Option<String> {
    let mut file = open_program().ok()?;
    let mut hasher = DefaultHasher::new();
    let mut part = vec![0; 1 << 20];
    loop {
        match file.read(&mut part).ok()? {
            0 => return Some(format!("{:016x}", hasher.finish())),
            length => hasher.write(&part[..length]),
        }
    }
}

/// The last second since 1970 that is formatted: the end of the year 9999. Later times are shown as this one.
const LAST_SECOND: u64 = 253_402_300_799;

/// Formats a number of seconds since 1970 as a UTC time, such as `2026-08-01T12:33:10Z`. Times after the year
/// 9999, as in a damaged file, are shown as the end of that year.
pub fn time_of_day(seconds: u64) -> String {
    humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs(seconds.min(LAST_SECOND))).to_string()
}

/// Formats a number of seconds since 1970 as the UTC time that begins a run's name, such as `2026-08-01T12-33-10Z`: [`time_of_day`] with
/// `-` in place of `:`, which not every system allows in file names.
pub(crate) fn time_of_name(seconds: u64) -> String {
    time_of_day(seconds).replace(':', "-")
}

/// The number of runs of a benchmark binary that are kept, the one in progress included. A new run removes
/// the oldest ones beyond this number, but only complete ones.
pub(super) const MAX_KEPT_RUNS: usize = 20;

/// Returns the names to try, in this order, for a run that `started` this number of seconds after 1970: its
/// time, such as `2026-08-01T12-33-10Z`, then the time with the numbers from 2 on. A `label`, which
/// identifies the process of a task, follows the time.
///
/// Without a label, every name follows all names in `there`, even if the clock was set back. If the last time
/// in `there` is not before the run's own time, the names have that time and the numbers after its last one.
pub fn name_candidates(
    started: u64,
    label: Option<&str>,
    there: &[String],
) -> impl Iterator<Item = String> + use<> {
    let own = time_of_name(started);
    let last = there.iter().filter_map(|name| parse_run_name(name)).max().filter(|_| label.is_none());
    let behind = last.filter(|(time, _)| **time >= *own);
    let (time, first) =
        behind.map_or((own.clone(), 1), |(time, number)| (time.to_owned(), u64::from(number.max(1)) + 1));
    let name = label.map_or(time.clone(), |label| format!("{time}-{label}"));
    (first..).map(move |number| if number == 1 { name.clone() } else { format!("{name}-{number}") })
}

/// Returns the time and the number in a run's name. The number is 0 if the time is followed by nothing or by
/// a task's label. `None` if gpubench does not give such names.
pub(crate) fn parse_run_name(name: &str) -> Option<(&str, u32)> {
    let (time, rest) = name.split_at_checked(TIME_FORM.len())?;
    let is_like =
        |(given, pattern): (u8, u8)| if pattern == b'0' { given.is_ascii_digit() } else { given == pattern };
    let is_time = time.bytes().zip(TIME_FORM.bytes()).all(is_like);
    let number = rest.strip_prefix('-').and_then(|number| number.parse().ok()).unwrap_or(0);
    (is_time && (rest.is_empty() || rest.starts_with('-'))).then_some((time, number))
}

/// The form of the time in a run's name: each `0` stands for any digit.
const TIME_FORM: &str = "0000-00-00T00-00-00Z";

/// Sorts the names of runs by time and then by number, the latest last. Names that gpubench does not give
/// come first. The clocks of hosts differ, so that only runs of one host are in the order in which they
/// began.
pub(super) fn sort_run_names(names: &mut [String]) {
    gpubench_stats::sort_by(names, |a, b| (parse_run_name(a), a).cmp(&(parse_run_name(b), b)));
}

/// Returns all of `names` but the latest [`MAX_KEPT_RUNS`]. `names` must be sorted, the latest last.
pub(super) fn oldest_beyond_limit(names: &[String]) -> &[String] {
    &names[..names.len().saturating_sub(MAX_KEPT_RUNS)]
}

#[cfg(test)]
mod place_tests {
    use super::*;

    #[test]
    fn a_folder_without_records_is_no_run() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["2026-08-01T12-33-10Z-2", "2026-08-01T12-33-10Z"] {
            fs::create_dir(folder.path().join(name)).expect("a folder");
            fs::write(folder.path().join(name).join(RECORDS), "").expect("a file");
        }
        fs::create_dir(folder.path().join("2027-01-01T00-00-00Z")).expect("a folder");
        let names = run_names(folder.path()).expect("it is there");
        assert_eq!(names, ["2026-08-01T12-33-10Z", "2026-08-01T12-33-10Z-2"]);
    }

    /// A hash, as long as any, and of the file alone.
    #[test]
    fn a_program_has_one_fingerprint() {
        let of_this = fingerprint().expect("a program can read its own file");
        assert!(of_this.len() == 16 && of_this.bytes().all(|byte| byte.is_ascii_hexdigit()), "{of_this}");
        assert_eq!(fingerprint(), Some(of_this));
    }

    #[test]
    fn tests_are_built_into_a_target_folder() {
        let home = program_folder().expect("cargo built this");
        assert!(env::current_exe().expect("a test has a path").starts_with(home.parent().expect("a folder")));
    }

    #[test]
    fn a_target_folder_has_the_tag_of_cargo_or_its_cache() {
        let folder = tempfile::tempdir().expect("a folder");
        let with = |name: &str, text: &str| {
            let place = folder.path().join(name);
            fs::write(&place, text).expect("it can be written");
            let found = is_cargo_target(folder.path());
            fs::remove_file(place).expect("it is there");
            found
        };
        assert!(!is_cargo_target(folder.path()) && !with("CACHEDIR.TAG", "created by another"));
        assert!(with("CACHEDIR.TAG", "# This file is a cache directory tag created by cargo."));
        assert!(with(".rustc_info.json", "{}"));
        assert!(
            default_runs_folder()
                .is_some_and(|runs| program_folder().is_some_and(|home| runs == home.join("runs")))
        );
    }

    #[test]
    fn folders_that_outlive_a_run_are_of_ours_and_never_where_a_user_happens_to_be() {
        assert!(persistent_folder().ends_with("gpubench"), "{:?}", persistent_folder());
        assert!(state_folder().is_none_or(|folder| folder.is_absolute()), "{:?}", state_folder());
        let is_ours = |folder: PathBuf| folder.is_absolute() && folder.ends_with("gpubench");
        assert!(cache_folder().is_none_or(is_ours), "{:?}", cache_folder());
    }
}

#[cfg(test)]
mod names_tests {
    use super::*;

    fn owned(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn any_number_of_seconds_has_a_time_of_day() {
        assert_eq!(time_of_day(1_785_587_590), "2026-08-01T12:33:10Z");
        assert_eq!(time_of_day(u64::MAX), "9999-12-31T23:59:59Z");
    }

    #[test]
    fn runs_are_named_by_the_time_of_day() {
        let names: Vec<String> = name_candidates(1_785_587_590, None, &[]).take(3).collect();
        assert_eq!(names, ["2026-08-01T12-33-10Z", "2026-08-01T12-33-10Z-2", "2026-08-01T12-33-10Z-3"]);
        let names: Vec<String> = name_candidates(1_785_587_590, Some("n1-4711.3-90"), &[]).take(2).collect();
        assert_eq!(names, ["2026-08-01T12-33-10Z-n1-4711.3-90", "2026-08-01T12-33-10Z-n1-4711.3-90-2"]);
    }

    #[test]
    fn runs_are_in_order_also_within_a_second() {
        let mut names = owned(&[
            "2026-08-01T12-33-10Z-10",
            "2026-08-01T12-33-11Z",
            "2026-08-01T12-33-10Z-2",
            "2026-08-01T12-33-10Z",
            "2025-01-01T00-00-00Z",
            "mine",
            "9999-99-99T99-99-99Za",
        ]);
        sort_run_names(&mut names);
        assert_eq!(
            names,
            [
                "9999-99-99T99-99-99Za",
                "mine",
                "2025-01-01T00-00-00Z",
                "2026-08-01T12-33-10Z",
                "2026-08-01T12-33-10Z-2",
                "2026-08-01T12-33-10Z-10",
                "2026-08-01T12-33-11Z",
            ]
        );
    }

    #[test]
    fn a_clock_that_was_set_back_changes_no_order() {
        let mut there = owned(&["mine", "2027-01-01T00-00-00Z", "2027-01-01T00-00-00Z-9", "9999-99-99"]);
        sort_run_names(&mut there);
        for next in ["2027-01-01T00-00-00Z-10", "2027-01-01T00-00-00Z-11"] {
            let name = name_candidates(1_785_587_590, None, &there).next().expect("there is always one");
            assert_eq!(name, next);
            there.push(name);
            let mut sorted = there.clone();
            sort_run_names(&mut sorted);
            assert_eq!(sorted, there);
        }
        let later = name_candidates(1_900_000_000, None, &there).next();
        assert_eq!(later.as_deref(), Some("2030-03-17T17-46-40Z"));
        let task = name_candidates(1_785_587_590, Some("n1-4711.3-90"), &there).next();
        assert_eq!(task.as_deref(), Some("2026-08-01T12-33-10Z-n1-4711.3-90"), "clocks of hosts differ");
    }

    #[test]
    fn names_of_one_second_sort_as_they_were_given() {
        let given: Vec<String> = name_candidates(0, None, &[]).take(12).collect();
        let mut sorted = given.clone();
        sorted.reverse();
        sort_run_names(&mut sorted);
        assert_eq!(sorted, given);
    }

    #[test]
    fn the_oldest_runs_go_when_there_are_too_many() {
        let names: Vec<String> = (0..MAX_KEPT_RUNS as u64 + 2)
            .flat_map(|second| name_candidates(second, None, &[]).take(1))
            .collect();
        assert_eq!(oldest_beyond_limit(&names), &names[..2]);
        assert!(
            oldest_beyond_limit(&names[2..]).is_empty()
                && oldest_beyond_limit(&names[..1]).is_empty()
                && oldest_beyond_limit(&[]).is_empty()
        );
    }
}
