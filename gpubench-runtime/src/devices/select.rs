//! The choice of devices for a run. In: the user's wish, and the kinds that benchmarks are written for; out: the
//! devices, notes for the reader of the results, and the kinds that are missing.

use super::kinds;
use crate::device::kind::{DefaultChoice, DeviceKind};
use crate::device::{Available, Missing};
use gpubench_records::id::DeviceId;
use gpubench_records::selection::names_device;

/// Returns true if `wanted` names devices of `kind`, present or not.
#[must_use]
pub fn asks_for(wanted: &str, kind: &str) -> bool {
    wanted.split(',').map(str::trim).any(|device| {
        device == "all"
            || DeviceId::parse(device).kind == kind
            || (asks_by_number(device) && chosen(kind) == Some(DefaultChoice::First))
    })
}

/// Returns true for the number or the UUID of a GPU.
fn asks_by_number(device: &str) -> bool {
    device.parse::<usize>().is_ok() || device.starts_with("GPU-") || device.starts_with("MIG-")
}

/// Returns the rule for choosing devices of this kind; `None` for a kind that a program has added.
fn chosen(kind: &str) -> Option<DefaultChoice> {
    kinds::kind(kind).map(|kind| kind.choice)
}

/// Returns the first of `devices` without a fault, or else the first.
fn first_that_works<'a>(mut devices: impl Iterator<Item = &'a Available> + Clone) -> Option<&'a Available> {
    devices.clone().find(|found| found.fault.is_none()).or_else(|| devices.next())
}

/// The devices selected for a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Selected {
    /// The devices, in the order they are measured.
    pub devices: Vec<Available>,
    /// Notes to the user about the choice.
    pub notes: Vec<String>,
    /// The kinds of device that would have been selected, but are missing.
    pub missing: Vec<Missing>,
}

/// The requested device is missing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{wanted}. This machine has: {there}")]
pub(crate) struct NoSuchDevice {
    wanted: String,
    there: String,
}

/// The devices that this machine has, of the kinds that a program measures.
#[derive(Clone, Debug)]
pub(crate) struct Devices {
    there: Vec<Available>,
    /// The kinds that come with gpubench and of which this machine has no device, wanted by a benchmark or not.
    absent: Vec<Absent>,
    /// The kinds that benchmarks are written for.
    wanted: Vec<&'static str>,
}

/// A kind of which this machine has no device.
#[derive(Clone, Debug)]
struct Absent {
    kind: &'static str,
    /// The words for a device of this kind.
    noun: &'static str,
    reason: String,
    /// True if the search did not come to its end, so that a device may be there.
    is_lost: bool,
}

/// The result of a search for devices of a kind.
#[derive(Clone, Debug)]
pub(crate) enum Search {
    /// These are there.
    Found(Vec<Available>),
    /// There is none, for this reason.
    Absent(String),
    /// The driver cost the process that searched, in these words.
    Lost(String),
}

impl Absent {
    fn missing(&self) -> Missing {
        Missing { kind: self.kind, why: format!("no {} ({})", self.noun, self.reason) }
    }
}

impl Devices {
    /// Returns the devices of these `kinds` that were `searched` for. A kind that a program has added is assumed to be present.
    #[must_use]
    pub(crate) fn of(kinds: &[&'static str], searched: Vec<(&'static DeviceKind, Search)>) -> Self {
        let mut devices = Self { there: Vec::new(), absent: Vec::new(), wanted: kinds.to_vec() };
        let (mut first, mut others) = (Vec::new(), Vec::new());
        for (DeviceKind { name: kind, noun, choice, .. }, search) in searched {
            let (reason, is_lost) = match (search, choice) {
                (Search::Found(found), DefaultChoice::First) => {
                    first.extend(found);
                    continue;
                }
                (Search::Found(found), DefaultChoice::Beside | DefaultChoice::StandIn) => {
                    others.extend(found);
                    continue;
                }
                (Search::Absent(reason), _) => (reason, false),
                (Search::Lost(reason), _) => (reason, true),
            };
            devices.absent.push(Absent { kind, noun, reason, is_lost });
        }
        let unknown = kinds.iter().copied().filter(|name| kinds::kind(name).is_none());
        others.extend(unknown.map(|kind| Available::new(kind, kind)));
        // A GPU goes before the CPU that feeds it, whatever the order of the benchmarks; others are in that order.
        let place = |found: &Available| kinds.iter().position(|kind| *kind == found.kind);
        others.sort_by_key(place);
        devices.there = first.into_iter().chain(others).filter(|found| place(found).is_some()).collect();
        devices
    }

    /// Selects the devices for `wanted`. If the user names none: the first GPU that works, or this machine's CPU if there is no
    /// GPU; and every kind of device that a program has added.
    ///
    /// # Errors
    /// Returns an error if `wanted` is missing, or if the search for a kind that benchmarks need did not come to its end: the CPU
    /// is no stand-in for a GPU that may be there.
    pub(crate) fn select(&self, wanted: Option<&str>) -> Result<Selected, NoSuchDevice> {
        let Some(wanted) = wanted else { return self.usual() };
        if wanted == "all" {
            self.refuse_lost()?;
            let missing = self.missing(Some(wanted));
            return Ok(Selected { devices: self.there.clone(), notes: Vec::new(), missing });
        }
        let mut devices: Vec<Available> = Vec::new();
        for name in wanted.split(',') {
            for found in self.named(name.trim())? {
                // Named twice, by its number and its UUID for instance, it is one device all the same.
                if !devices.contains(found) {
                    devices.push(found.clone());
                }
            }
        }
        Ok(Selected { devices, ..Selected::default() })
    }

    /// Selects the usual devices, and this machine's CPU beside a GPU, so that every benchmark whose device is there has one.
    ///
    /// # Errors
    /// Returns an error if the search for a kind that benchmarks need did not come to its end.
    pub(crate) fn one_of_each_kind(&self) -> Result<Selected, NoSuchDevice> {
        let mut selected = self.usual()?;
        let is_other = |found: &&Available| {
            chosen(found.kind) == Some(DefaultChoice::StandIn) && !selected.devices.contains(found)
        };
        let others: Vec<Available> = self.there.iter().filter(is_other).cloned().collect();
        selected.devices.extend(others);
        Ok(selected)
    }

    /// Selects the GPUs that a scheduler has `given` a task, as its environment names them: `all`, or the first. Of a program that
    /// measures none, the usual devices.
    ///
    /// # Errors
    /// Returns an error if there is none. The CPU is no stand-in for a GPU that somebody has allocated.
    pub(crate) fn given(&self, given: &str, all: bool) -> Result<Selected, NoSuchDevice> {
        let is_gpu = |kind: &str| chosen(kind) == Some(DefaultChoice::First);
        if !self.wanted.iter().any(|kind| is_gpu(kind)) {
            return self.usual();
        }
        let gpus =
            self.there.iter().filter(|found| is_gpu(found.kind)).take(if all { usize::MAX } else { 1 });
        let gpus: Vec<Available> = gpus.cloned().collect();
        if gpus.is_empty() {
            let wanted = format!("CUDA_VISIBLE_DEVICES={given}: there is no such GPU");
            return Err(self.refused(wanted));
        }
        let others = self.there.iter().filter(|found| match chosen(found.kind) {
            Some(DefaultChoice::Beside) => self.first_of_kind(found.kind) == Some(*found),
            choice => choice.is_none(),
        });
        let others = others.cloned();
        Ok(Selected { devices: gpus.into_iter().chain(others).collect(), ..Selected::default() })
    }

    /// Returns the missing kinds that `wanted` would select. A device that it names is not among them: if that is
    /// missing, nothing is selected at all.
    #[must_use]
    pub(crate) fn missing(&self, wanted: Option<&str>) -> Vec<Missing> {
        let selects = wanted.is_none_or(|wanted| wanted == "all");
        let missing = self.absent.iter().filter(|absent| selects && self.wanted.contains(&absent.kind));
        missing.map(Absent::missing).collect()
    }

    /// Refuses a choice if the search for a kind that benchmarks need did not come to its end.
    fn refuse_lost(&self) -> Result<(), NoSuchDevice> {
        match self.absent.iter().find(|absent| absent.is_lost && self.wanted.contains(&absent.kind)) {
            Some(Absent { noun, .. }) => Err(self.refused(format!("the search for a {noun} failed"))),
            None => Ok(()),
        }
    }

    fn usual(&self) -> Result<Selected, NoSuchDevice> {
        self.refuse_lost()?;
        let gpus = || self.there.iter().filter(|found| chosen(found.kind) == Some(DefaultChoice::First));
        let first = first_that_works(gpus());
        let usual = self.there.iter().filter(|found| match chosen(found.kind) {
            Some(DefaultChoice::First) => first == Some(*found),
            Some(DefaultChoice::StandIn) => first.is_none(),
            Some(DefaultChoice::Beside) => self.first_of_kind(found.kind) == Some(*found),
            None => true,
        });
        let devices: Vec<Available> = usual.cloned().collect();
        let kind = |found: &Available| kinds::kind(found.kind);
        let stand_in = devices.iter().filter_map(kind).find(|kind| kind.choice == DefaultChoice::StandIn);
        let note = |noun: &str| {
            let missing = self.absent.iter().map(Absent::missing);
            missing.map(|Missing { why, .. }| format!("{why}: measuring this machine's {noun}")).collect()
        };
        let mut notes = stand_in.map_or_else(Vec::new, |kind| note(kind.noun));
        if let Some(first) = first.filter(|first| first.fault.is_none()) {
            let broken = gpus().take_while(|found| *found != first);
            let told = broken.filter_map(|found| Some((&found.device, found.fault.as_ref()?)));
            notes.extend(told.map(|(device, fault)| {
                format!("`{device}` does not work ({fault}): measuring `{}`", first.device)
            }));
        }
        Ok(Selected { devices, notes, missing: self.missing(None) })
    }

    /// Returns the first device of this kind that works, or else the first.
    fn first_of_kind(&self, kind: &str) -> Option<&Available> {
        first_that_works(self.there.iter().filter(|found| found.kind == kind))
    }

    /// Returns the device of this name, number or UUID, or all of this kind.
    fn named(&self, wanted: &str) -> Result<Vec<&Available>, NoSuchDevice> {
        let is_named = |found: &&Available| names_device(wanted, &found.device, found.uuid.as_deref());
        let mut named: Vec<&Available> = self.there.iter().filter(is_named).collect();
        // A number is that of one device.
        if named.first().is_some_and(|first| first.kind != wanted) {
            named.truncate(1);
        }
        if named.is_empty() { Err(self.no_device(wanted)) } else { Ok(named) }
    }

    /// Returns the error of a name that is none of a device here.
    fn no_device(&self, wanted: &str) -> NoSuchDevice {
        let kind = DeviceId::parse(wanted).kind;
        let is_known = self.wanted.contains(&kind) || chosen(kind).is_some();
        let unnamed = asks_by_number(wanted);
        if is_known || unnamed {
            return self.refused(format!("there is no device `{wanted}`"));
        }
        let wanted = format!("there is no device `{wanted}`: no benchmark of this program is for `{kind}`");
        NoSuchDevice { wanted, there: self.names() }
    }

    /// Returns the error of a device that is missing: `why`, with the reasons that kinds are absent and the devices that are there.
    fn refused(&self, why: String) -> NoSuchDevice {
        let reasons: Vec<String> =
            self.absent.iter().map(|Absent { noun, reason, .. }| format!("no {noun}: {reason}")).collect();
        let reasons = if reasons.is_empty() { String::new() } else { format!(" ({})", reasons.join("; ")) };
        NoSuchDevice { wanted: format!("{why}{reasons}"), there: self.names() }
    }

    /// Names the devices that are there.
    fn names(&self) -> String {
        let there: Vec<String> = self.there.iter().map(Available::describe).collect();
        match there.is_empty() {
            true => "nothing that this program measures".to_owned(),
            false => there.join(", "),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(device: &str, kind: &'static str) -> Available {
        let found = Available::new(device, kind).with_name(format!("the {device}"));
        if kind == "cuda" { found.with_uuid(format!("GPU-{device}")) } else { found }
    }

    fn with_gpus() -> Devices {
        let there = vec![device("cuda:0", "cuda"), device("cuda:1", "cuda"), device("host", "host")];
        Devices { there, absent: Vec::new(), wanted: vec!["cuda", "host"] }
    }

    fn without_gpu() -> Devices {
        let there = vec![device("host", "host"), device("clockwork", "clockwork")];
        let absent = vec![Absent {
            kind: "cuda",
            noun: "CUDA device",
            reason: "libcuda.so.1 not found".to_owned(),
            is_lost: false,
        }];
        Devices { there, absent, wanted: vec!["host", "clockwork"] }
    }

    fn selected(devices: &Devices, wanted: Option<&str>) -> Vec<String> {
        let selected = devices.select(wanted).expect("it is there");
        selected.devices.into_iter().map(|found| found.device).collect()
    }

    #[test]
    fn a_device_with_a_fault_is_measured_if_no_other_is_there() {
        let broken = device("wgpu:0", "wgpu").with_fault("it has no clock");
        let works = device("wgpu:1", "wgpu");
        assert_eq!(first_that_works([&broken, &works].into_iter()), Some(&works));
        assert_eq!(first_that_works([&broken].into_iter()), Some(&broken));
        assert_eq!(first_that_works([].into_iter()), None);
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
        let wants = Devices { wanted: vec!["cuda", "host", "clockwork"], ..without_gpu() };
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
        assert_eq!(selected(&with_gpus(), Some("0,cuda:0,GPU-cuda:0,1")), ["cuda:0", "cuda:1"]);
        assert_eq!(selected(&with_gpus(), Some("host")), ["host"]);
        assert_eq!(selected(&with_gpus(), Some("all")), ["cuda:0", "cuda:1", "host"]);
        assert_eq!(selected(&with_gpus(), Some("cuda")), ["cuda:0", "cuda:1"]);
        assert_eq!(selected(&with_gpus(), Some("1,cuda")), ["cuda:1", "cuda:0"]);
        assert_eq!(selected(&with_gpus(), Some("host, cuda")), ["host", "cuda:0", "cuda:1"]);
        let refused = without_gpu().select(Some("cuda")).expect_err("there is none").to_string();
        let why =
            "there is no device `cuda` (no CUDA device: libcuda.so.1 not found). This machine has: `host`";
        assert!(refused.starts_with(why), "{refused}");
    }

    #[test]
    fn a_device_that_is_not_there_is_refused_with_those_that_are() {
        let refused = without_gpu().select(Some("7")).expect_err("it is not there").to_string();
        assert_eq!(
            refused,
            "there is no device `7` (no CUDA device: libcuda.so.1 not found). This machine has: `host` (the host), \
             `clockwork` (the clockwork)"
        );
    }

    /// A GPU that a scheduler allocated and that is gone is an error, never a run of the CPU.
    #[test]
    fn a_task_measures_the_gpus_that_it_was_given() {
        let names =
            |selected: Selected| selected.devices.into_iter().map(|found| found.device).collect::<Vec<_>>();
        let given =
            |devices: &Devices, all| devices.given("4", all).map(names).map_err(|error| error.to_string());
        assert_eq!(given(&with_gpus(), true), Ok(vec!["cuda:0".to_owned(), "cuda:1".to_owned()]));
        assert_eq!(given(&with_gpus(), false), Ok(vec!["cuda:0".to_owned()]));
        let wants = Devices { wanted: vec!["cuda", "host", "clockwork"], ..without_gpu() };
        let gone = given(&wants, true).expect_err("it is gone");
        let why = "CUDA_VISIBLE_DEVICES=4: there is no such GPU (no CUDA device: libcuda.so.1 not found). This machine has: `host`";
        assert!(gone.starts_with(why), "{gone}");
        // A program without benchmarks for GPUs.
        let usual = vec!["host".to_owned(), "clockwork".to_owned()];
        assert_eq!(given(&without_gpu(), true), Ok(usual));
    }

    /// A broken GPU costs its own rows: it is passed over where nobody names it, and tried where somebody does.
    #[test]
    fn a_broken_gpu_hides_no_other() {
        let mut devices = with_gpus();
        devices.there[0] = Available::new("cuda:0", "cuda").with_fault("it fell off the bus");
        let usual = devices.select(None).expect("one works");
        assert_eq!((usual.devices.len(), &*usual.devices[0].device), (1, "cuda:1"));
        assert_eq!(usual.notes, ["`cuda:0` does not work (it fell off the bus): measuring `cuda:1`"]);
        assert_eq!(selected(&devices, Some("0")), ["cuda:0"]);
        assert_eq!(selected(&devices, Some("all")), ["cuda:0", "cuda:1", "host"]);
        // It alone is opened, fails and says why: the CPU is not measured in its place.
        devices.there.remove(1);
        assert_eq!(selected(&devices, None), ["cuda:0"]);
    }

    /// Nobody knows if a GPU is there, so that the CPU is measured only for those who ask for it.
    #[test]
    fn a_search_that_fails_is_no_machine_without_a_gpu() {
        let mut devices = Devices { wanted: vec!["cuda", "host", "clockwork"], ..without_gpu() };
        devices.absent[0] = Absent {
            reason: "the process exited with code 0".to_owned(),
            is_lost: true,
            ..devices.absent[0].clone()
        };
        for wanted in [None, Some("all")] {
            let refused = devices.select(wanted).expect_err("it is not known").to_string();
            let words = "the search for a CUDA device failed (no CUDA device: the process exited with code 0). This machine has: ";
            assert!(refused.starts_with(words), "{refused}");
        }
        assert_eq!(selected(&devices, Some("host")), ["host"]);
        // A program without benchmarks for GPUs needs none.
        devices.wanted = vec!["host", "clockwork"];
        assert_eq!(selected(&devices, None), ["host", "clockwork"]);
    }

    #[test]
    fn a_list_needs_no_device_to_know_its_kind() {
        for wanted in ["0", "all", "cuda:1", "GPU-1234", "host,0"] {
            assert!(asks_for(wanted, "cuda"), "{wanted}");
        }
        assert!(!asks_for("host", "cuda") && asks_for("host", "host"));
    }
}
