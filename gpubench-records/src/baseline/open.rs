//! The baselines that the command line names, step by step. In: the names that the user gives; out: baselines that were read and
//! places that can be written before anything is measured, then a run that was held against the one and stored in the other.

use super::check::check;
use super::folder::{BaselineError, Place};
use super::newest::Baseline;
use crate::record::{Record, Run};

/// The baselines that are asked for.
#[derive(Clone, Debug, Default)]
pub struct BaselineOptions {
    /// Hold the run against this baseline.
    pub against: Option<Place>,
    /// Store it as this one.
    pub save: Option<Place>,
}

/// The same, ready.
#[derive(Debug)]
pub struct OpenBaselines {
    against: Option<Baseline>,
    save: Option<Place>,
}

impl BaselineOptions {
    /// Reads what is there, and makes sure that what is to be stored can be.
    ///
    /// # Errors
    /// See [`BaselineError`].
    pub fn open(&self) -> Result<OpenBaselines, BaselineError> {
        let against = self.against.as_ref().map(Place::load).transpose()?;
        self.save.as_ref().map(Place::prepare).transpose()?;
        Ok(OpenBaselines { against, save: self.save.clone() })
    }
}

impl OpenBaselines {
    /// Holds `run` against the baseline, if there is one. `wanted` says of a case of that whether the run should have it.
    pub fn check(&self, run: &mut Run, wanted: &dyn Fn(&Record) -> bool) {
        let against = self.against.as_ref();
        run.check = against.map(|baseline| check(run, baseline, wanted));
    }

    /// Stores `run`, if that is asked for.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn save(&self, run: &Run) -> Result<(), BaselineError> {
        self.save.as_ref().map_or(Ok(()), |place| place.save(run))
    }
}
