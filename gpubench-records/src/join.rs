//! Several runs made one, such as those of several processes or of several files. In: runs; out: one run with a record for each
//! case, which has the measurements of all, or the reason why they do not belong together. What differs between them otherwise
//! is for whoever joins them to know.

use std::collections::HashMap;

use crate::facts::{Facts, UUID};
use crate::id::CaseId;
use crate::merge::merged;
use crate::record::{Measurement, Run};

/// The reason why runs cannot be joined.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JoinError {
    /// There is none.
    #[error("there is no run to merge")]
    NoRun,
    /// What one calls a device is another device in another.
    #[error(
        "{device} is {one} in one run and {other} in another: processes on different devices are no repetitions"
    )]
    OtherDevice {
        /// The device in the words of the command line.
        device: String,
        /// The device of the first run that has it.
        one: String,
        /// The device of another.
        other: String,
    },
    /// A case that took turns with another is in several.
    #[error(
        "`{case}` was compared by --compare-with, whose rounds cannot be merged with another measurement of it"
    )]
    InTurn {
        /// The case.
        case: String,
    },
}

/// Joins `runs` to one. It begins with the first of them, and took as long as all together.
///
/// # Errors
/// See [`JoinError`].
pub fn join(runs: Vec<Run>) -> Result<Run, JoinError> {
    let mut runs = runs.into_iter();
    let mut whole = runs.next().ok_or(JoinError::NoRun)?;
    for run in runs {
        same_devices(&whole, &run)?;
        whole.started = whole.started.min(run.started);
        whole.wall += run.wall;
        whole.add_devices(run.devices);
        whole.records.extend(run.records);
        let new: Vec<_> =
            run.skipped.into_iter().filter(|skipped| !whole.skipped.contains(skipped)).collect();
        whole.skipped.extend(new);
        let new: Vec<_> = run.notes.into_iter().filter(|note| !whole.notes.contains(note)).collect();
        whole.notes.extend(new);
        whole.planned = whole.planned.max(run.planned);
    }
    // Of one run alone.
    (whole.resumed, whole.threshold, whole.check) = (None, None, None);
    let mut others = others(&mut whole)?;
    whole.records = merged(whole.records);
    for record in &mut whole.records {
        record.other_processes.extend(others.remove(&record.case).unwrap_or_default());
    }
    whole.planned = whole.planned.max(whole.records.len());
    Ok(whole)
}

/// Takes the measurements of other processes from the records, by their cases.
fn others(run: &mut Run) -> Result<HashMap<CaseId, Vec<Measurement>>, JoinError> {
    let mut in_turn: HashMap<CaseId, bool> = HashMap::new();
    let mut others: HashMap<CaseId, Vec<Measurement>> = HashMap::new();
    for record in &mut run.records {
        let compared = record.compared.is_some();
        let before = in_turn.insert(record.case.clone(), compared);
        if before.is_some_and(|before| before || compared) {
            return Err(JoinError::InTurn { case: record.case.to_string() });
        }
        others.entry(record.case.clone()).or_default().append(&mut record.other_processes);
    }
    Ok(others)
}

/// Makes sure that a device that both have is the same.
fn same_devices(one: &Run, other: &Run) -> Result<(), JoinError> {
    let name = |facts: &Facts| match facts.text(UUID) {
        Some(uuid) => format!("{} ({uuid})", facts.name),
        None => facts.name.clone(),
    };
    for facts in &other.devices {
        let Some(first) = one.devices.iter().find(|device| device.device == facts.device) else { continue };
        if name(first) != name(facts) || first.fake != facts.fake {
            let (one, other) = (name(first), name(facts));
            return Err(JoinError::OtherDevice { device: facts.device.clone(), one, other });
        }
    }
    Ok(())
}
