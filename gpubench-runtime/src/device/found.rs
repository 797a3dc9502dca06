//! Which devices a run measures on. In: what the user asked for and the kinds that benchmarks are written for; out: the
//! devices, with the notes that a reader of the results needs, or what is there instead.

use super::host::Host;
use super::{DeviceType, host};

/// A device to measure on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The device in the words of the command line.
    pub device: String,
    /// Its kind, as [`DeviceType::KIND`].
    pub kind: &'static str,
}

impl Found {
    /// The device of a kind that has only one.
    #[must_use]
    pub fn of_kind(kind: &'static str) -> Self {
        Self { device: kind.to_owned(), kind }
    }
}

/// What was found for a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selected {
    /// The devices, in the order they are measured.
    pub devices: Vec<Found>,
    /// What to tell about the choice.
    pub notes: Vec<String>,
}

/// The device asked for is not there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no device `{wanted}` that this program measures{no_gpu}. There is: {there}")]
pub struct NoSuchDevice {
    wanted: String,
    no_gpu: String,
    there: String,
}

/// The devices for `wanted`, of the `kinds` that benchmarks are written for. Where the user names none: this machine's
/// CPU, since this version measures no GPU, and every kind of device that others have added.
///
/// # Errors
/// Where `wanted` is not there.
pub fn select(wanted: Option<&str>, kinds: &[&'static str]) -> Result<Selected, NoSuchDevice> {
    let all = kinds.iter().copied().map(Found::of_kind);
    let no_gpu = no_gpu();
    match wanted {
        None => {
            let notes =
                kinds.contains(&Host::KIND).then(|| format!("{no_gpu}: measuring this machine's CPU"));
            Ok(Selected { devices: all.collect(), notes: notes.into_iter().collect() })
        }
        Some("all") => Ok(Selected { devices: all.collect(), notes: Vec::new() }),
        Some(wanted) => {
            let devices: Vec<Found> = all.filter(|found| found.device == wanted).collect();
            if !devices.is_empty() {
                return Ok(Selected { devices, notes: Vec::new() });
            }
            let there = kinds.iter().map(|kind| match *kind {
                Host::KIND => format!("`{kind}` ({})", host::cpu_name()),
                kind => format!("`{kind}`"),
            });
            let there: Vec<String> = there.collect();
            Err(NoSuchDevice {
                wanted: wanted.to_owned(),
                no_gpu: format!(" ({no_gpu})"),
                there: there.join(", "),
            })
        }
    }
}

/// Why no GPU is measured, in a few words.
fn no_gpu() -> String {
    match gpubench_driver::load() {
        Ok(driver) => format!("CUDA {} is there, but this version measures no GPU", driver.version),
        Err(error) => format!("no CUDA device ({})", error.short()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(selected: &Selected) -> Vec<&str> {
        selected.devices.iter().map(|found| found.device.as_str()).collect()
    }

    #[test]
    fn without_a_wish_all_kinds_are_measured_and_the_missing_gpu_is_told() {
        let selected = select(None, &["host", "clockwork"]).expect("nothing is asked for");
        assert_eq!(ids(&selected), ["host", "clockwork"]);
        assert!(selected.notes[0].ends_with("measuring this machine's CPU"), "{:?}", selected.notes);
        assert!(select(None, &["clockwork"]).expect("nothing is asked for").notes.is_empty());
    }

    #[test]
    fn a_device_is_taken_by_its_name_or_refused_with_what_is_there() {
        assert_eq!(ids(&select(Some("host"), &["host", "clockwork"]).expect("it is there")), ["host"]);
        assert_eq!(ids(&select(Some("all"), &["host", "clockwork"]).expect("they are there")).len(), 2);
        let refused = select(Some("7"), &["host", "clockwork"]).expect_err("it is not there").to_string();
        assert!(refused.contains("no device `7`"), "{refused}");
        assert!(refused.contains("`host` (") && refused.ends_with("`clockwork`"), "{refused}");
    }
}
