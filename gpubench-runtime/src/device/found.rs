//! Which devices a run measures on. In: what the user asked for and the kinds that benchmarks are written for; out: the
//! devices, with the notes that a reader of the results needs, or what is there instead.

use super::DeviceType;
use super::available::Available;
use super::cuda::{self, Cuda};
use super::host::{self, Host};
use gpubench_records::id::DeviceId;

/// Whether devices of `kind` are among those that `wanted` names, whether or not they are there.
#[must_use]
pub fn asks_for(wanted: &str, kind: &str) -> bool {
    wanted.split(',').map(str::trim).any(|device| {
        let gpu = device.parse::<usize>().is_ok() || device.starts_with("GPU-") || device.starts_with("MIG-");
        device == "all" || DeviceId::parse(device).kind == kind || (gpu && kind == Cuda::KIND)
    })
}

/// Returns true where `wanted` names the device that is called `device` and has this `uuid`.
#[must_use]
pub fn names(wanted: &str, device: &str, uuid: Option<&str>) -> bool {
    let named =
        |name: &str| name == device || Some(name) == uuid || device == format!("{}:{name}", Cuda::KIND);
    wanted.split(',').map(str::trim).any(named)
}

/// What was selected for a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selected {
    /// The devices, in the order they are measured.
    pub devices: Vec<Available>,
    /// What to tell about the choice.
    pub notes: Vec<String>,
    /// The kinds of device that would have been selected and are not there.
    pub missing: Vec<Missing>,
}

/// A kind of device that benchmarks are written for and this machine has not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The kind.
    pub kind: &'static str,
    /// Which device there is not, and why.
    pub why: String,
}

/// The device asked for is not there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{wanted}. There is: {there}")]
pub struct NoSuchDevice {
    wanted: String,
    there: String,
}

/// What this machine has of the kinds that a program measures.
#[derive(Clone, Debug)]
pub struct Devices {
    there: Vec<Available>,
    /// Why there is no GPU, where there is none.
    no_gpu: Option<String>,
    /// Whether there is a benchmark for one.
    wants_gpu: bool,
}

impl Devices {
    /// Looks for devices of these `kinds`. A kind that somebody else has added is taken to be there.
    #[must_use]
    pub fn find(kinds: &[&'static str]) -> Self {
        let wants_gpu = kinds.contains(&Cuda::KIND);
        let mut devices = Self { there: Vec::new(), no_gpu: None, wants_gpu };
        // A GPU goes before the CPU that feeds it, whatever the order of the benchmarks.
        match cuda::list() {
            Ok(found) if wants_gpu => devices.there.extend(found),
            Ok(_) => {}
            Err(reason) => devices.no_gpu = Some(reason),
        }
        for kind in kinds.iter().copied().filter(|kind| *kind != Cuda::KIND) {
            let name = if kind == Host::KIND { host::cpu_name() } else { String::new() };
            devices.there.push(Available { device: kind.to_owned(), kind, name, uuid: None });
        }
        devices
    }

    /// The devices for `wanted`. Where the user names none: the first GPU, for want of one this machine's CPU; and every
    /// kind of device that somebody else has added.
    ///
    /// # Errors
    /// Where `wanted` is not there.
    pub fn select(&self, wanted: Option<&str>) -> Result<Selected, NoSuchDevice> {
        let Some(wanted) = wanted else { return Ok(self.usual()) };
        if wanted == "all" {
            let missing = self.missing(Some(wanted));
            return Ok(Selected { devices: self.there.clone(), notes: Vec::new(), missing });
        }
        let named = wanted.split(',').map(|name| self.named(name.trim()));
        Ok(Selected { devices: named.collect::<Result<_, _>>()?, ..Selected::default() })
    }

    /// The kinds of device that `wanted` would select if they were there. A device that it names is not among them: where that
    /// is not there, nothing is selected at all.
    #[must_use]
    pub fn missing(&self, wanted: Option<&str>) -> Vec<Missing> {
        let selects = self.wants_gpu && wanted.is_none_or(|wanted| wanted == "all");
        let why = self.no_gpu.as_ref().filter(|_| selects);
        why.map(|why| Missing { kind: Cuda::KIND, why: no_cuda_device(why) }).into_iter().collect()
    }

    fn usual(&self) -> Selected {
        let gpu = self.there.iter().find(|found| found.kind == Cuda::KIND);
        let usual = self.there.iter().filter(|found| match found.kind {
            Cuda::KIND => gpu == Some(*found),
            Host::KIND => gpu.is_none(),
            _ => true,
        });
        let devices: Vec<Available> = usual.cloned().collect();
        let cpu = devices.iter().any(|found| found.kind == Host::KIND);
        let note = self.no_gpu.as_ref().filter(|_| cpu);
        let notes = note.map(|reason| format!("{}: measuring this machine's CPU", no_cuda_device(reason)));
        Selected { devices, notes: notes.into_iter().collect(), missing: self.missing(None) }
    }

    fn named(&self, wanted: &str) -> Result<Available, NoSuchDevice> {
        let found = self.there.iter().find(|found| names(wanted, &found.device, found.uuid.as_deref()));
        found.cloned().ok_or_else(|| {
            let reason = self.no_gpu.as_ref().map(|reason| format!(" (no CUDA device: {reason})"));
            let wanted = format!("there is no device `{wanted}`{}", reason.unwrap_or_default());
            let there: Vec<String> = self.there.iter().map(Available::describe).collect();
            let there = if there.is_empty() {
                "nothing that this program measures".to_owned()
            } else {
                there.join(", ")
            };
            NoSuchDevice { wanted, there }
        })
    }
}

fn no_cuda_device(reason: &str) -> String {
    format!("no CUDA device ({reason})")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(device: &str, kind: &'static str) -> Available {
        let uuid = (kind == Cuda::KIND).then(|| format!("GPU-{device}"));
        Available { device: device.to_owned(), kind, name: format!("the {device}"), uuid }
    }

    fn with_gpus() -> Devices {
        let there = vec![device("cuda:0", "cuda"), device("cuda:1", "cuda"), device("host", "host")];
        Devices { there, no_gpu: None, wants_gpu: true }
    }

    fn without_gpu() -> Devices {
        let there = vec![device("host", "host"), device("clockwork", "clockwork")];
        Devices { there, no_gpu: Some("libcuda.so.1 not found".to_owned()), wants_gpu: false }
    }

    fn selected(devices: &Devices, wanted: Option<&str>) -> Vec<String> {
        let selected = devices.select(wanted).expect("it is there");
        selected.devices.into_iter().map(|found| found.device).collect()
    }

    #[test]
    fn the_first_gpu_is_the_usual_device() {
        assert_eq!(selected(&with_gpus(), None), ["cuda:0"]);
        assert!(with_gpus().select(None).expect("it is there").notes.is_empty());
    }

    #[test]
    fn without_a_gpu_the_cpu_is_measured_and_one_line_says_why() {
        assert_eq!(selected(&without_gpu(), None), ["host", "clockwork"]);
        let notes = without_gpu().select(None).expect("it is there").notes;
        assert_eq!(notes, ["no CUDA device (libcuda.so.1 not found): measuring this machine's CPU"]);
    }

    #[test]
    fn what_is_missing_would_have_been_selected() {
        let wants = Devices { wants_gpu: true, ..without_gpu() };
        let why = "no CUDA device (libcuda.so.1 not found)".to_owned();
        for wanted in [None, Some("all")] {
            assert_eq!(wants.missing(wanted), [Missing { kind: "cuda", why: why.clone() }], "{wanted:?}");
            assert_eq!(wants.select(wanted).expect("the CPU is there").missing.len(), 1);
            assert_eq!(without_gpu().missing(wanted), [], "no benchmark is for one");
            assert_eq!(with_gpus().missing(wanted), []);
        }
        assert_eq!(wants.missing(Some("host")), []);
    }

    #[test]
    fn devices_are_named_by_number_kind_or_uuid() {
        assert_eq!(selected(&with_gpus(), Some("1")), ["cuda:1"]);
        assert_eq!(selected(&with_gpus(), Some("cuda:1, 0")), ["cuda:1", "cuda:0"]);
        assert_eq!(selected(&with_gpus(), Some("GPU-cuda:1")), ["cuda:1"]);
        assert_eq!(selected(&with_gpus(), Some("host")), ["host"]);
        assert_eq!(selected(&with_gpus(), Some("all")), ["cuda:0", "cuda:1", "host"]);
    }

    #[test]
    fn a_device_that_is_not_there_is_refused_with_those_that_are() {
        let refused = without_gpu().select(Some("7")).expect_err("it is not there").to_string();
        assert_eq!(
            refused,
            "there is no device `7` (no CUDA device: libcuda.so.1 not found). There is: `host` (the host), \
             `clockwork` (the clockwork)"
        );
    }

    #[test]
    fn a_list_needs_no_device_to_know_its_kind() {
        for wanted in ["0", "all", "cuda:1", "GPU-1234", "host,0"] {
            assert!(asks_for(wanted, "cuda"), "{wanted}");
        }
        assert!(!asks_for("host", "cuda") && asks_for("host", "host"));
    }
}
