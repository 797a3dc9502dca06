//! The combinations of arguments to measure an instance of a benchmark with, from its axes and the values that the user gives instead.

use std::collections::{BTreeMap, HashSet};

use serde::{Deserialize, Serialize};

use super::{Arg, JobStatus};
use crate::catch::catch;
use crate::registry::{ArgAxis, Variant, select};
use gpubench_records::failure::{Failure, Stage};
use gpubench_records::selection::amount;

/// The cases that an instance offers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Listed {
    /// The selected combinations, the last axis varying fastest.
    pub combinations: Vec<(Vec<Arg>, JobStatus)>,
    /// The names of its axes.
    pub axes: Vec<String>,
    /// An axis that cannot take the user's value, and the reason.
    pub refused: Option<(String, String)>,
}

/// Values that replace the listed ones, by the name of their axis.
pub(super) type ArgValues = BTreeMap<String, Vec<String>>;

/// Lists `variant`, whose types and constants are `generics`.
///
/// # Errors
/// Returns an error if the user's code for the axes panics, or if an axis has no values.
pub(super) fn list(
    variant: &Variant,
    generics: &[Arg],
    given: &ArgValues,
    wanted: &dyn Fn(&[Arg]) -> bool,
) -> Result<Listed, Failure> {
    variant.show(|sweeps, case| {
        let rows = sweeps.iter().map(|axes| AxisRows::of(axes, given)).collect::<Result<Vec<_>, _>>()?;
        let refused = rows.iter().find_map(|rows| rows.refused.clone());
        let refused = refused.map(|(axis, why)| (axis.to_owned(), why));
        let status = |args: &[Arg]| {
            if refused.is_some() || !case.skips() {
                return JobStatus::Measured;
            }
            let skipped = catch(Stage::Args, || {
                select(args, sweeps)?;
                Ok(case.skipped())
            });
            match skipped {
                Ok(None) => JobStatus::Measured,
                Ok(Some(why)) => JobStatus::Skipped(why.to_owned()),
                Err(failure) => JobStatus::Broken(failure),
            }
        };
        let combinations = product(generics, &rows).into_iter().filter(|args| wanted(args));
        Ok(Listed {
            combinations: combinations.map(|args| (args.clone(), status(&args))).collect(),
            axes: sweeps.iter().copied().flatten().map(|axis| axis.name().to_owned()).collect(),
            refused,
        })
    })
}

/// The values of one axis, or of several that go together: a row per step.
struct AxisRows {
    names: Vec<&'static str>,
    rows: Vec<Vec<String>>,
    refused: Option<(&'static str, String)>,
}

impl AxisRows {
    fn of(axes: &[&dyn ArgAxis], given: &ArgValues) -> Result<Self, Failure> {
        let names: Vec<&'static str> = axes.iter().map(|axis| axis.name()).collect();
        let of_user = |axis: &&dyn ArgAxis| -> Option<Vec<String>> {
            Some(given.get(axis.name())?.iter().map(|value| taken(*axis, value)).collect())
        };
        let given: Vec<Option<Vec<String>>> = axes.iter().map(of_user).collect();
        // If all are replaced, the listed values are not needed.
        let replaced: Option<Vec<Vec<String>>> = given.iter().cloned().collect();
        let columns = replaced.clone().unwrap_or_else(|| axes.iter().map(|axis| axis.values()).collect());
        if let Some((name, _)) = names.iter().zip(&columns).find(|(_, values)| values.is_empty()) {
            return Err(Failure::new(Stage::Args, format_args!("`{name}` lists no values")));
        }
        let steps = columns.first().map_or(1, Vec::len);
        if let Some(other) = columns.iter().position(|values| values.len() != steps) {
            let (one, other, values) = (names[0], names[other], columns[other].len());
            let message = format!(
                "`{one}` and `{other}` go together, and `{one}` has {steps} values where `{other}` has {values}"
            );
            if given[0].is_none() {
                return Err(Failure::new(Stage::Args, message));
            }
            return Ok(Self { rows: vec![columns.concat()], names, refused: Some((one, message)) });
        }
        let row = |step: usize| columns.iter().map(|values| values[step].clone()).collect();
        let mut rows: Vec<Vec<String>> = (0..steps).map(row).collect();
        // A value given twice makes one case, because a case is identified by its name.
        let mut seen = HashSet::new();
        rows.retain(|row| seen.insert(row.clone()));
        let refused = axes.iter().zip(replaced.iter().flatten()).find_map(|(axis, values)| {
            let refused = values.iter().find_map(|value| axis.select(value).err())?;
            Some((axis.name(), refused.to_string()))
        });
        let mut rows = Self { names, rows, refused };
        if replaced.is_none() {
            rows.choose(&given);
        }
        Ok(rows)
    }

    /// Keeps the rows whose values are among those given for some of the axes. A value that is not listed
    /// would have no partners on the other axes.
    fn choose(&mut self, given: &[Option<Vec<String>>]) {
        for (column, values) in given.iter().enumerate() {
            let Some(values) = values else { continue };
            let unlisted = values.iter().find(|value| self.rows.iter().all(|row| row[column] != **value));
            if let Some(value) = unlisted {
                let name = self.names[column];
                let others: Vec<String> = self
                    .names
                    .iter()
                    .filter(|other| **other != name)
                    .map(|other| format!("`{other}`"))
                    .collect();
                let message = format!(
                    "`{value}` is not listed: `{name}` goes together with {}, which must be given too",
                    others.join(" and ")
                );
                self.refused = Some((name, message));
                return;
            }
        }
        self.rows.retain(|row| {
            row.iter()
                .zip(given)
                .all(|(value, given)| given.as_ref().is_none_or(|values| values.contains(value)))
        });
    }
}

/// Returns the value of an axis that the user gives as this text: the text, or the number that it is, as in `1M`, if only that is a
/// value.
fn taken(axis: &dyn ArgAxis, text: &str) -> String {
    let number = || amount(text).filter(|number| axis.select(text).is_err() && axis.select(number).is_ok());
    number().unwrap_or_else(|| text.to_owned())
}

/// Returns every combination of `sweeps`, each after the arguments that are the `same` in all. The last sweep
/// varies fastest.
fn product(same: &[Arg], sweeps: &[AxisRows]) -> Vec<Vec<Arg>> {
    sweeps.iter().fold(vec![same.to_vec()], |combinations, sweep| {
        let extended = combinations.iter().flat_map(|args: &Vec<Arg>| {
            sweep.rows.iter().map(move |row| {
                let step = sweep.names.iter().zip(row);
                let step = step.map(|(name, value)| Arg { name: (*name).to_owned(), value: value.clone() });
                args.iter().cloned().chain(step).collect()
            })
        });
        extended.collect()
    })
}
