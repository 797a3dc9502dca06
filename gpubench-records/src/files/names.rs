//! The names of stored runs, which decide their order and which of them are kept. In: times and names; out: names. Nothing here
//! touches a file.

use std::time::{Duration, UNIX_EPOCH};

/// The last second that has a text: the end of the year 9999.
const LAST_SECOND: u64 = 253_402_300_799;

/// The time of day this number of seconds after 1970, such as `2026-08-01T12:33:10Z`. A damaged file may hold any number:
/// later times count as the end of the year 9999.
pub fn time_of_day(seconds: u64) -> String {
    humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs(seconds.min(LAST_SECOND))).to_string()
}

/// The number of runs of a suite that are kept, the one in progress among them.
pub(super) const KEPT: usize = 20;

/// The names to try for a run that began this number of seconds after 1970, until one is free: its time of day, such as
/// `2026-08-01T12-33-10Z`, then the same with a number. That of a task has the `label` of its process behind the time.
///
/// Names are the order of runs, and a clock may be set back: a run that is no task comes behind all in `there`, with the time
/// of the last of them if its own is not later.
pub(super) fn candidates(
    started: u64,
    label: Option<&str>,
    there: &[String],
) -> impl Iterator<Item = String> + use<> {
    let own = time_of_day(started).replace(':', "-");
    let last = there.iter().filter_map(|name| place(name)).max().filter(|_| label.is_none());
    let behind = last.filter(|(time, _)| **time >= *own);
    let (time, first) =
        behind.map_or((own.clone(), 1), |(time, number)| (time.to_owned(), u64::from(number.max(1)) + 1));
    let name = label.map_or(time.clone(), |label| format!("{time}-{label}"));
    (first..).map(move |number| if number == 1 { name.clone() } else { format!("{name}-{number}") })
}

/// The time and the number in a run's name, 0 if it has none. Nothing for a name that is not of ours.
fn place(name: &str) -> Option<(&str, u32)> {
    let (time, rest) = name.split_at_checked(TIME.len())?;
    let is_like =
        |(given, pattern): (u8, u8)| if pattern == b'0' { given.is_ascii_digit() } else { given == pattern };
    let is_time = time.bytes().zip(TIME.bytes()).all(is_like);
    let number = rest.strip_prefix('-').and_then(|number| number.parse().ok()).unwrap_or(0);
    (is_time && (rest.is_empty() || rest.starts_with('-'))).then_some((time, number))
}

/// The form of a time in a name.
const TIME: &str = "0000-00-00T00-00-00Z";

/// Returns true if a run of ours may have this name.
pub(super) fn is_ours(name: &str) -> bool {
    place(name).is_some()
}

/// Sorts the names of runs by their times, the latest last, behind names that are not of ours. Those of one second are in the
/// order of their numbers. Clocks of hosts differ: only for runs of one host is this the order in which they began.
pub(super) fn sort(names: &mut [String]) {
    names.sort_by_cached_key(|name| {
        let place = place(name).map(|(time, number)| (time.to_owned(), number));
        (place, name.clone())
    });
}

/// Returns those of a suite's runs that are removed, the oldest ones. `names` are in order.
pub(super) fn outdated(names: &[String]) -> &[String] {
    &names[..names.len().saturating_sub(KEPT)]
}

#[cfg(test)]
mod tests {
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
        let names: Vec<String> = candidates(1_785_587_590, None, &[]).take(3).collect();
        assert_eq!(names, ["2026-08-01T12-33-10Z", "2026-08-01T12-33-10Z-2", "2026-08-01T12-33-10Z-3"]);
        let names: Vec<String> = candidates(1_785_587_590, Some("n1-4711.3-90"), &[]).take(2).collect();
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
        sort(&mut names);
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
        sort(&mut there);
        for next in ["2027-01-01T00-00-00Z-10", "2027-01-01T00-00-00Z-11"] {
            let name = candidates(1_785_587_590, None, &there).next().expect("there is always one");
            assert_eq!(name, next);
            there.push(name);
            let mut sorted = there.clone();
            sort(&mut sorted);
            assert_eq!(sorted, there);
        }
        let later = candidates(1_900_000_000, None, &there).next();
        assert_eq!(later.as_deref(), Some("2030-03-17T17-46-40Z"));
        let task = candidates(1_785_587_590, Some("n1-4711.3-90"), &there).next();
        assert_eq!(task.as_deref(), Some("2026-08-01T12-33-10Z-n1-4711.3-90"), "clocks of hosts differ");
    }

    #[test]
    fn names_of_one_second_sort_as_they_were_given() {
        let given: Vec<String> = candidates(0, None, &[]).take(12).collect();
        let mut sorted = given.clone();
        sorted.reverse();
        sort(&mut sorted);
        assert_eq!(sorted, given);
    }

    #[test]
    fn the_oldest_runs_go_when_there_are_too_many() {
        let names: Vec<String> =
            (0..KEPT as u64 + 2).flat_map(|second| candidates(second, None, &[]).take(1)).collect();
        assert_eq!(outdated(&names), &names[..2]);
        assert!(
            outdated(&names[2..]).is_empty() && outdated(&names[..1]).is_empty() && outdated(&[]).is_empty()
        );
    }
}
