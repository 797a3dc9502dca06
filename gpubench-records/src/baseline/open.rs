//! The baselines that the command line names. In: the names that the user gave; out: before a measurement, a baseline that
//! was read and a place that can be written; after it, the run compared with the one and stored in the other.

use super::check::{check, seem_regressed};
use super::folder::{BaselineError, Place};
use super::newest::Baseline;
use crate::comparison::Threshold;
use crate::record::{Record, Run};

/// The baselines that are asked for.
#[derive(Clone, Debug, Default)]
pub struct BaselineOptions {
    /// Hold the run against this baseline.
    pub against: Option<Place>,
    /// Store it as this one.
    pub save: Option<Place>,
}

/// The baselines, read and checked.
#[derive(Debug)]
pub struct OpenBaselines {
    against: Option<Baseline>,
    save: Option<Place>,
}

impl BaselineOptions {
    /// Reads the one, unless `last` is given in its place, and checks that the other can be written.
    ///
    /// # Errors
    /// See [`BaselineError`].
    pub fn open(&self, last: Option<Baseline>) -> Result<OpenBaselines, BaselineError> {
        let against = match last {
            None => self.against.as_ref().map(Place::load).transpose()?,
            last => last,
        };
        self.save.as_ref().map(Place::prepare).transpose()?;
        Ok(OpenBaselines { against, save: self.save.clone() })
    }
}

impl OpenBaselines {
    /// Compares `run` with the baseline, if there is one. `wanted` returns true for a case of the baseline that the run
    /// should have.
    pub fn check(&self, run: &mut Run, wanted: &dyn Fn(&Record) -> bool) {
        let against = self.against.as_ref();
        run.baseline_comparison = against.map(|baseline| check(run, baseline, wanted));
    }

    /// Returns the cases of `run` that further processes may find to be regressions against the baseline, or to be none.
    pub fn seem_regressed<'a>(&self, run: &'a Run, threshold: Threshold) -> Vec<&'a Record> {
        let against = self.against.as_ref();
        against.map_or_else(Vec::new, |baseline| seem_regressed(run, baseline, threshold))
    }

    /// Stores `run`, if that is asked for.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn save(&self, run: &Run) -> Result<(), BaselineError> {
        self.save.as_ref().map_or(Ok(()), |place| place.save(run))
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::stored_run;
    use super::*;

    /// What was measured is compared with the one, stored as the other, and cases of the one that it lacks are named.
    #[test]
    fn a_run_is_checked_and_stored() {
        let folder = tempfile::tempdir().expect("a folder");
        let whole = stored_run();
        let place = |name: &str| Place::within(folder.path(), name);
        let saving = BaselineOptions { against: None, save: Some(place("old")) };
        saving.open(None).expect("it can be written").save(&whole).expect("it is written");

        let both = BaselineOptions { against: Some(place("old")), save: Some(place("new")) };
        let open = both.open(None).expect("it was stored");
        let mut part = Run { records: whole.records[1..].to_vec(), ..whole.clone() };
        open.check(&mut part, &|_| true);
        let check = part.baseline_comparison.as_ref().expect("it was compared with the baseline");
        assert_eq!((check.baseline.as_str(), check.findings.len()), ("old", whole.records.len() - 1));
        assert_eq!(check.missing, [whole.records[0].case.to_string()]);
        open.check(&mut part, &|_| false);
        assert_eq!(
            part.baseline_comparison.as_ref().map(|check| check.missing.len()),
            Some(0),
            "nobody wanted it"
        );
        open.save(&part).expect("it is written");
        let stored = place("new").load().expect("it was stored").into_run().expect("a run");
        assert_eq!(stored.records.len(), part.records.len());

        let mut alone = whole;
        saving.open(None).expect("it can be written").check(&mut alone, &|_| true);
        assert!(alone.baseline_comparison.is_none(), "there is nothing to hold it against");
    }
}
