//! Finds the launches in the records of a CUPTI trace, and checks that the records agree with what was
//! enqueued.

use gpubench_driver::cupti::{Activity, ActivityKind};

use gpubench_stats::{Nanoseconds, timer_step};

/// The name of the delay kernel, whose record separates launches.
const MARK_KERNEL: &str = "gpubench_delay";
/// The prefix of the names of the kernels of gpubench.
const OWN_KERNEL_PREFIX: &str = "gpubench_";

/// The contents of a group of traced launches as the host enqueued it. [`find_launches`] compares the records
/// of CUPTI with it.
pub(super) struct EnqueuedGroup {
    /// The number of launches.
    pub launches: usize,
    /// The number of mark kernels before each launch: 2 if a reset is between them, otherwise 1. The flush
    /// and the launch follow the last mark.
    pub marks: usize,
    /// The number of operations of the flush before each launch.
    pub flush: usize,
    /// The number of operations of a launch according to the forwarders of `gpubench_driver`. Each traced
    /// launch must have at least this number of records, and all the same number. `None` if it is unknown:
    /// the records of a launch are then not counted.
    pub pieces: Option<usize>,
}

/// A launch according to CUPTI.
pub(crate) struct TracedLaunch {
    /// The begin of its first operation according to the clock of CUPTI, in nanoseconds.
    pub begin: u64,
    /// The end of its last operation according to the clock of CUPTI, in nanoseconds.
    pub end: u64,
    /// Its operations, in the order in which they begin.
    pub pieces: Vec<Activity>,
}

impl TracedLaunch {
    /// Builds a launch from its operations, in any order: it lasts from the earliest begin to the latest end.
    /// Returns `None` if `pieces` is empty.
    fn from_pieces(mut pieces: Vec<Activity>) -> Option<Self> {
        pieces.sort_by_key(|piece| piece.begin);
        let begin = pieces.first()?.begin;
        let end = pieces.iter().map(|piece| piece.end).max()?;
        Some(Self { begin, end, pieces })
    }

    /// Returns the time from the begin of the first operation to the end of the last.
    pub(crate) fn time(&self) -> Nanoseconds {
        Nanoseconds((self.end - self.begin) as f64)
    }

    /// Returns the time during the launch in which no operation ran.
    pub(crate) fn gaps(&self) -> Nanoseconds {
        let (mut gaps, mut busy_until) = (0, self.begin);
        for piece in &self.pieces {
            gaps += piece.begin.saturating_sub(busy_until);
            busy_until = busy_until.max(piece.end);
        }
        Nanoseconds(gaps as f64)
    }
}

/// The resolution of the timer of a GPU, from which CUPTI takes its time stamps (32 ns).
pub(super) const GPU_TIMER_STEP: Nanoseconds = Nanoseconds(32.0);

/// Estimates the resolution of the time stamps of these launches: the greatest common divisor of their
/// differences, at most [`GPU_TIMER_STEP`]. Differences of launches that all take equally long have a larger
/// divisor.
pub(crate) fn stamp_step(launches: &[TracedLaunch]) -> Nanoseconds {
    let origin = launches.first().map_or(0, |launch| launch.begin);
    let stamps = launches.iter().flat_map(|launch| [launch.begin, launch.end]);
    let since: Vec<Nanoseconds> = stamps.map(|stamp| Nanoseconds(stamp.abs_diff(origin) as f64)).collect();
    timer_step(since.iter()).min(GPU_TIMER_STEP)
}

/// Finds the launches of a group in `records`, which must be in the order in which the host enqueued them.
/// Ignores records before the first mark, and resets. The error is a sentence on the first difference from
/// `expected`, or on an invalid time.
pub(super) fn find_launches(
    records: Vec<Activity>,
    expected: &EnqueuedGroup,
) -> Result<Vec<TracedLaunch>, String> {
    check_records(&records)?;
    let mut parts: Vec<Vec<Activity>> = Vec::new();
    for record in records {
        match parts.last_mut() {
            _ if is_mark(&record) => parts.push(Vec::new()),
            Some(part) => part.push(record),
            // What ran before the first mark belongs to nothing here.
            None => {}
        }
    }
    let EnqueuedGroup { launches, marks, flush, pieces } = *expected;
    // The first mark begins the group.
    let all = 1 + marks * launches;
    let traced = parts.len();
    let parts: Vec<Vec<Activity>> = parts.into_iter().skip(marks).step_by(marks).collect();
    let with_work = parts.iter().filter(|part| part.len() > flush).count();
    if traced != all || with_work != launches {
        return Err(format!(
            "{traced} of {all} marks and {with_work} of {launches} launches were traced: records are missing or doubled"
        ));
    }
    let mut found = Vec::with_capacity(launches);
    for mut part in parts {
        let own = part.split_off(flush);
        if !part.iter().all(is_flush_piece) {
            return Err(
                "the flush before a launch is not where it was enqueued: records are missing".to_owned()
            );
        }
        found.extend(TracedLaunch::from_pieces(own));
    }
    let counts = found.iter().map(|launch: &TracedLaunch| launch.pieces.len());
    let (least, most) = (counts.clone().min().unwrap_or_default(), counts.max().unwrap_or_default());
    match pieces {
        // A library may enqueue more than goes through the forwarders, and the same each time.
        Some(enqueued) if least < enqueued || least != most => Err(format!(
            "launches have {least} to {most} records instead of {enqueued}: records are missing or doubled"
        )),
        _ => Ok(found),
    }
}

/// Returns an error if a record has no valid time, or if operations of a stream begin in another order than
/// that of `records`, in which they were enqueued.
fn check_records(records: &[Activity]) -> Result<(), String> {
    let mut latest: Vec<(u32, u32, u64)> = Vec::new();
    for record in records {
        let (Activity { begin, end, device, stream, .. }, what) = (record, || activity_name(record));
        if *begin == 0 || end < begin {
            return Err(format!("a record of {} has no time: begin {begin}, end {end}", what()));
        }
        match latest.iter_mut().find(|(on, of, _)| (on, of) == (device, stream)) {
            Some((_, _, before)) if begin < before => {
                let broken = "begins before what was enqueued before it on its stream: the time stamps are out of order";
                return Err(format!("{} {broken}", what()));
            }
            Some((_, _, before)) => *before = *begin,
            None => latest.push((*device, *stream, *begin)),
        }
    }
    Ok(())
}

/// Returns the name of an operation, or a phrase for its kind, such as `memset`, if it has no name.
pub(super) fn activity_name(piece: &Activity) -> String {
    let kind = match piece.kind {
        ActivityKind::Kernel => "a kernel",
        ActivityKind::Copy => "copy",
        ActivityKind::PeerCopy => "copy between GPUs",
        ActivityKind::Memset => "memset",
    };
    piece.name.clone().unwrap_or_else(|| kind.to_owned())
}

/// Returns true for the delay kernel, the mark whose records separate the launches of a group.
fn is_mark(record: &Activity) -> bool {
    record.name.as_deref() == Some(MARK_KERNEL)
}

/// Returns true for an operation that may belong to a flush: a kernel of gpubench or a memset.
fn is_flush_piece(record: &Activity) -> bool {
    match record.kind {
        ActivityKind::Kernel => {
            record.name.as_deref().is_some_and(|name| name.starts_with(OWN_KERNEL_PREFIX))
        }
        kind => kind == ActivityKind::Memset,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXPECTED: EnqueuedGroup = EnqueuedGroup { launches: 2, marks: 1, flush: 1, pieces: Some(1) };

    fn record(name: &str, begin: u64, end: u64) -> Activity {
        let (kind, name) = match name {
            "memset" => (ActivityKind::Memset, None),
            name => (ActivityKind::Kernel, Some(name.to_owned())),
        };
        Activity { kind, begin, end, device: 0, stream: 7, correlation: begin as u32, name }
    }

    fn whole() -> Vec<Activity> {
        [
            ("stray", 1, 2),
            (MARK_KERNEL, 3, 4),
            (MARK_KERNEL, 5, 6),
            ("memset", 6, 8),
            ("sum", 10, 30),
            (MARK_KERNEL, 31, 32),
            ("memset", 33, 34),
            ("sum", 40, 61),
        ]
        .map(|(name, begin, end)| record(name, begin, end))
        .to_vec()
    }

    fn changed(change: impl FnOnce(&mut Vec<Activity>)) -> Result<Vec<f64>, String> {
        let mut records = whole();
        change(&mut records);
        let found = find_launches(records, &EXPECTED).map_err(|error| error.to_string())?;
        Ok(found.iter().map(|launch| launch.time().as_f64()).collect())
    }

    #[test]
    fn launches_come_after_marks_and_flushes() {
        assert_eq!(changed(|_| {}), Ok(vec![20.0, 21.0]));
    }

    #[test]
    fn missing_doubled_or_broken_records_are_reported() {
        let refused = |change: fn(&mut Vec<Activity>), words: &str| {
            let refused = changed(change).expect_err(words);
            assert!(refused.contains(words), "{refused}");
        };
        refused(|records| drop(records.remove(4)), "3 of 3 marks and 1 of 2 launches were traced");
        refused(|records| drop(records.remove(5)), "2 of 3 marks and 1 of 2 launches were traced");
        refused(|records| drop(records.remove(3)), "3 of 3 marks and 1 of 2 launches were traced");
        refused(
            |records| records.insert(5, record("sum", 20, 35)),
            "launches have 1 to 2 records instead of 1: records are missing or doubled",
        );
        refused(|records| records[4].begin = 0, "a record of sum has no time: begin 0, end 30");
        refused(|records| records[4].end = 9, "a record of sum has no time: begin 10, end 9");
        refused(
            |records| records[7].begin = 2,
            "sum begins before what was enqueued before it on its stream",
        );
        refused(|records| records[6] = record("sum", 33, 34), "the flush before a launch is not where");
    }

    #[test]
    fn a_launch_lasts_from_its_first_piece_to_its_last_on_any_stream() {
        let mut other = record("other", 45, 80);
        other.stream = 9;
        let expected = EnqueuedGroup { pieces: None, ..EXPECTED };
        let found =
            find_launches(whole().into_iter().chain([other]).collect(), &expected).expect("it is whole");
        let launch = &found[1];
        assert_eq!((launch.time().as_f64(), launch.gaps().as_f64(), launch.pieces.len()), (40.0, 0.0, 2));
        let apart =
            TracedLaunch::from_pieces(vec![record("a", 10, 20), record("b", 25, 30)]).expect("it has pieces");
        assert_eq!((apart.time().as_f64(), apart.gaps().as_f64()), (20.0, 5.0));
    }
}
