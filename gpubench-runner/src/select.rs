//! Chooses the devices for a run, from the user's wish and from the kinds that benchmarks are written for.

use gpubench_records::{DeviceId, selection::names_device, unique};
use gpubench_runtime::device::{Available, DeviceKind};
use gpubench_runtime::{__private::DefaultChoice, devices::kinds};

/// The forms of a device on the command line.
pub(crate) const DEVICE_FORMS: &str =
    "a number such as 0, a device such as cuda:0, a kind such as cuda or host, a UUID, or all";

/// Returns true if `wanted`, a value of `--device`, may name a device of `kind`, present or not.
pub fn may_name_kind(wanted: &str, kind: &str) -> bool {
    wanted.split(',').map(str::trim).any(|device| {
        device == "all"
            || DeviceId::parse(device).kind == kind
            || (is_gpu_id(device) && default_choice(kind) == Some(DefaultChoice::First))
    })
}

/// Returns true if `device` has the form of a GPU's number or UUID.
fn is_gpu_id(device: &str) -> bool {
    device.parse::<usize>().is_ok() || device.starts_with("GPU-") || device.starts_with("MIG-")
}

/// Returns the rule for choosing devices of this kind when the user names none; `None` for an unknown kind.
pub(crate) fn default_choice(kind: &str) -> Option<DefaultChoice> {
    kinds::kind(kind).map(|kind| kind.choice)
}

/// Returns the first of `devices` without a fault, or else the first; `None` if there are no devices.
fn first_that_works<'a>(mut devices: impl Iterator<Item = &'a Available> + Clone) -> Option<&'a Available> {
    devices.clone().find(|found| found.fault.is_none()).or_else(|| devices.next())
}

/// A kind of device that this machine lacks, as far as the search has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MissingKind {
    /// The kind.
    pub kind: &'static str,
    /// A phrase with the missing device and the reason, such as `no CUDA device (libcuda.so.1 not found)`.
    pub why: String,
    /// True if the search did not come to its end, so that a device may exist.
    pub is_search_incomplete: bool,
}

/// The devices selected for a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SelectedDevices {
    /// The devices, in the order they are measured.
    pub devices: Vec<Available>,
    /// Notes to the user about the choice.
    pub notes: Vec<String>,
    /// The kinds of device that would have been selected, but are missing.
    pub missing: Vec<MissingKind>,
}

/// The result of a search for devices, and the kinds of device that a program measures.
#[derive(Clone)]
pub(crate) struct FoundDevices {
    present: Vec<Available>,
    /// The kinds of which this machine has no device, wanted by a benchmark or not.
    absent: Vec<MissingKind>,
    /// The kinds that benchmarks are written for.
    wanted: Vec<&'static str>,
}

/// The devices of a kind. The inner error is the reason that there are none; the outer error is the reason
/// that the search did not come to its end.
pub(crate) type SearchResult = Result<Result<Vec<Available>, String>, String>;

impl FoundDevices {
    /// Sorts out what was `searched` for: the devices of these `kinds`, which benchmarks are written for, and
    /// the kinds without a device. A kind that neither gpubench nor the program defines counts as missing.
    pub(crate) fn new(kinds: &[&'static str], searched: Vec<(&'static DeviceKind, SearchResult)>) -> Self {
        let mut devices = Self { present: Vec::new(), absent: Vec::new(), wanted: kinds.to_vec() };
        for (DeviceKind { name: kind, noun, .. }, search) in searched {
            let is_search_incomplete = search.is_err();
            match search.flatten() {
                Ok(found) => devices.present.extend(found),
                Err(reason) => {
                    let why = format!("no {noun} ({reason})");
                    devices.absent.push(MissingKind { kind, why, is_search_incomplete });
                }
            }
        }
        for kind in kinds.iter().copied().filter(|name| kinds::kind(name).is_none()) {
            let why = format!("`{kind}` is no known kind of device: `gpubench::device_kind!` adds one");
            devices.absent.push(MissingKind { kind, why, is_search_incomplete: false });
        }
        // A GPU goes before the CPU that feeds it, whatever the order of the benchmarks; others are in that order.
        let position = |found: &Available| kinds.iter().position(|kind| *kind == found.kind);
        devices.present.retain(|found| position(found).is_some());
        let is_other = |found: &Available| default_choice(found.kind) != Some(DefaultChoice::First);
        gpubench_stats::sort_by_key(&mut devices.present, |found| (is_other(found), position(found)));
        devices
    }

    /// Selects the devices for `wanted`. If the user names none, selects the first GPU that works, or this
    /// machine's CPU if there is no GPU, and a device of every kind that a program has added.
    ///
    /// # Errors
    /// Returns an error if a device in `wanted` is missing. For `None` and `all`, also returns an error if
    /// the search for a kind that benchmarks need did not come to its end: the CPU does not replace a GPU
    /// that may exist.
    pub(crate) fn select(&self, wanted: Option<&str>) -> Result<SelectedDevices, String> {
        let Some(wanted) = wanted else { return self.select_default(false) };
        if wanted == "all" {
            self.check_search_complete()?;
            let missing = self.missing(Some(wanted));
            return Ok(SelectedDevices { devices: self.present.clone(), notes: Vec::new(), missing });
        }
        let mut devices = Vec::new();
        for name in wanted.split(',').map(str::trim) {
            let is_named = |found: &&Available| names_device(name, &found.device, found.uuid.as_deref());
            let mut named = self.present.iter().filter(is_named).peekable();
            // A number is that of one device.
            let is_kind = named.peek().is_some_and(|first| first.kind == name);
            if named.peek().is_none() {
                return Err(self.missing_device_error(&format!("there is no device `{name}`")));
            }
            devices.extend(named.take(if is_kind { usize::MAX } else { 1 }));
        }
        // Named twice, by its number and its UUID for instance, it is one device all the same.
        let devices = unique(devices).into_iter().cloned().collect();
        Ok(SelectedDevices { devices, ..SelectedDevices::default() })
    }

    /// Selects GPUs for a task to which a scheduler has `given` them by `CUDA_VISIBLE_DEVICES`: if `all`,
    /// each GPU that is found, else the first. Adds a device of every kind that a program has added. If no
    /// benchmark is for a GPU, selects the usual devices.
    ///
    /// # Errors
    /// Returns an error if no GPU is found. The CPU does not replace an allocated GPU.
    pub(crate) fn select_given(&self, given: &str, all: bool) -> Result<SelectedDevices, String> {
        if !self.wanted.iter().any(|kind| default_choice(kind) == Some(DefaultChoice::First)) {
            return self.select_default(false);
        }
        let Some(first) = self.gpus().next() else {
            let why = format!("CUDA_VISIBLE_DEVICES={given}: there is no such GPU");
            return Err(self.missing_device_error(&why));
        };
        let devices = self.filter_by_choice(false, &|gpu| all || first == gpu);
        Ok(SelectedDevices { devices, ..SelectedDevices::default() })
    }

    /// Returns the kinds that benchmarks are written for and that are missing, if `wanted` is `None` or
    /// `all`. Returns none if `wanted` names devices, since [`select`](Self::select) then returns an error
    /// for a missing one.
    pub(crate) fn missing(&self, wanted: Option<&str>) -> Vec<MissingKind> {
        let selects = wanted.is_none_or(|wanted| wanted == "all");
        let missing = self.absent.iter().filter(|absent| selects && self.wanted.contains(&absent.kind));
        missing.cloned().collect()
    }

    /// Returns an error if the search for a kind that benchmarks need did not come to its end.
    fn check_search_complete(&self) -> Result<(), String> {
        if self.missing(None).iter().any(|missing| missing.is_search_incomplete) {
            return Err(self.missing_device_error("the search for devices failed"));
        }
        Ok(())
    }

    /// Selects the usual devices: the first GPU that works, a device of each kind that programs have added,
    /// and this machine's CPU `with_fallback` or if there is no GPU. Adds notes on missing and faulty GPUs.
    ///
    /// # Errors
    /// Returns an error if the search for a kind that benchmarks need did not come to its end.
    pub(crate) fn select_default(&self, with_fallback: bool) -> Result<SelectedDevices, String> {
        self.check_search_complete()?;
        let first = first_that_works(self.gpus());
        let devices = self.filter_by_choice(with_fallback || first.is_none(), &|gpu| first == Some(gpu));
        let mut notes = Vec::new();
        let kind = |found: &Available| kinds::kind(found.kind);
        let mut measured = devices.iter().filter_map(kind).filter(|_| first.is_none());
        if let Some(DeviceKind { noun, .. }) = measured.find(|kind| kind.choice == DefaultChoice::Fallback) {
            let note =
                |MissingKind { why, .. }: &MissingKind| format!("{why}: measuring this machine's {noun}");
            notes.extend(self.absent.iter().map(note));
        }
        if let Some(first) = first.filter(|first| first.fault.is_none()) {
            let broken = self.gpus().take_while(|found| *found != first);
            notes.extend(broken.filter_map(|Available { device, fault, .. }| {
                let fault = fault.as_ref()?;
                Some(format!("`{device}` does not work ({fault}): measuring `{}`", first.device))
            }));
        }
        Ok(SelectedDevices { devices, notes, missing: self.missing(None) })
    }

    /// Returns the devices of kinds that are preferred to the CPU, in the order in which they are measured.
    fn gpus(&self) -> impl Iterator<Item = &Available> + Clone {
        self.present.iter().filter(|found| default_choice(found.kind) == Some(DefaultChoice::First))
    }

    /// Returns the GPUs for which `takes` returns true, the CPU if `with_fallback`, and of each other kind the first
    /// device that works.
    fn filter_by_choice(&self, with_fallback: bool, takes: &dyn Fn(&Available) -> bool) -> Vec<Available> {
        let of_kind = |kind| self.present.iter().filter(move |found| found.kind == kind);
        let chosen = self.present.iter().filter(|found| match default_choice(found.kind) {
            Some(DefaultChoice::First) => takes(found),
            Some(DefaultChoice::Fallback) => with_fallback,
            Some(DefaultChoice::Additional) => first_that_works(of_kind(found.kind)) == Some(*found),
            None => true,
        });
        chosen.cloned().collect()
    }

    /// Returns an error message: `why`, then the devices that exist, then the reasons that other kinds are
    /// absent.
    fn missing_device_error(&self, why: &str) -> String {
        let there: Vec<String> = self.present.iter().map(Available::describe).collect();
        let there = if there.is_empty() {
            "this program measures nothing that this machine has".to_owned()
        } else {
            format!("--device takes {} or all", there.join(", "))
        };
        let reasons = self.absent.iter().map(|absent| absent.why.clone());
        [format!("{why}: {there}")].into_iter().chain(reasons).collect::<Vec<_>>().join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(device: &str, kind: &'static str) -> Available {
        let found = Available::new(device, kind).with_name(format!("the {device}"));
        if kind == "cuda" { found.with_uuid(format!("GPU-{device}")) } else { found }
    }

    fn with_gpus() -> FoundDevices {
        let there = vec![device("cuda:0", "cuda"), device("cuda:1", "cuda"), device("host", "host")];
        FoundDevices { present: there, absent: Vec::new(), wanted: vec!["cuda", "host"] }
    }

    fn without_gpu() -> FoundDevices {
        let there = vec![device("host", "host"), device("clockwork", "clockwork")];
        let why = "no CUDA device (libcuda.so.1 not found)".to_owned();
        let absent = vec![MissingKind { kind: "cuda", why, is_search_incomplete: false }];
        FoundDevices { present: there, absent, wanted: vec!["host", "clockwork"] }
    }

    fn selected(devices: &FoundDevices, wanted: Option<&str>) -> Vec<String> {
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
        let wants = FoundDevices { wanted: vec!["cuda", "host", "clockwork"], ..without_gpu() };
        let why = "no CUDA device (libcuda.so.1 not found)".to_owned();
        for wanted in [None, Some("all")] {
            assert_eq!(
                wants.missing(wanted),
                [MissingKind { kind: "cuda", why: why.clone(), is_search_incomplete: false }],
                "{wanted:?}"
            );
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
        let refused = without_gpu().select(Some("cuda")).expect_err("there is none");
        assert!(refused.starts_with("there is no device `cuda`: --device takes `host`"), "{refused}");
    }

    #[test]
    fn a_device_that_is_not_there_is_refused_with_those_that_are() {
        let refused = without_gpu().select(Some("7")).expect_err("it is not there");
        assert_eq!(
            refused,
            "there is no device `7`: --device takes `host` (the host), `clockwork` (the clockwork) or all; no CUDA device \
             (libcuda.so.1 not found)"
        );
    }

    /// A GPU that a scheduler allocated and that is gone is an error, never a run of the CPU.
    #[test]
    fn a_task_measures_the_gpus_that_it_was_given() {
        let names = |selected: SelectedDevices| {
            selected.devices.into_iter().map(|found| found.device).collect::<Vec<_>>()
        };
        let given = |devices: &FoundDevices, all| devices.select_given("4", all).map(names);
        assert_eq!(given(&with_gpus(), true), Ok(vec!["cuda:0".to_owned(), "cuda:1".to_owned()]));
        assert_eq!(given(&with_gpus(), false), Ok(vec!["cuda:0".to_owned()]));
        let wants = FoundDevices { wanted: vec!["cuda", "host", "clockwork"], ..without_gpu() };
        let gone = given(&wants, true).expect_err("it is gone");
        let why = "CUDA_VISIBLE_DEVICES=4: there is no such GPU: --device takes `host`";
        assert!(
            gone.starts_with(why) && gone.ends_with("; no CUDA device (libcuda.so.1 not found)"),
            "{gone}"
        );
        // A program without benchmarks for GPUs.
        let usual = vec!["host".to_owned(), "clockwork".to_owned()];
        assert_eq!(given(&without_gpu(), true), Ok(usual));
    }

    /// A broken GPU costs its own rows: it is passed over where nobody names it, and tried where somebody does.
    #[test]
    fn a_broken_gpu_hides_no_other() {
        let mut devices = with_gpus();
        devices.present[0] = Available::new("cuda:0", "cuda").with_fault("it fell off the bus");
        let usual = devices.select(None).expect("one works");
        assert_eq!((usual.devices.len(), &*usual.devices[0].device), (1, "cuda:1"));
        assert_eq!(usual.notes, ["`cuda:0` does not work (it fell off the bus): measuring `cuda:1`"]);
        assert_eq!(selected(&devices, Some("0")), ["cuda:0"]);
        assert_eq!(selected(&devices, Some("all")), ["cuda:0", "cuda:1", "host"]);
        // It alone is opened, fails and says why: the CPU is not measured in its place.
        devices.present.remove(1);
        assert_eq!(selected(&devices, None), ["cuda:0"]);
    }

    /// Nobody knows if a GPU is there, so that the CPU is measured only for those who ask for it.
    #[test]
    fn a_search_that_fails_is_no_machine_without_a_gpu() {
        let mut devices = FoundDevices { wanted: vec!["cuda", "host", "clockwork"], ..without_gpu() };
        let why =
            "no CUDA device (its process exited with code 0 before it was done: does the code call `exit`?)"
                .to_owned();
        devices.absent[0] = MissingKind { kind: "cuda", why, is_search_incomplete: true };
        for wanted in [None, Some("all")] {
            let refused = devices.select(wanted).expect_err("it is not known");
            assert!(refused.starts_with("the search for devices failed: --device takes `host`"), "{refused}");
            assert!(refused.ends_with("; no CUDA device (its process exited with code 0 before it was done: does the code call `exit`?)"), "{refused}");
        }
        assert_eq!(selected(&devices, Some("host")), ["host"]);
        // A program without benchmarks for GPUs needs none.
        devices.wanted = vec!["host", "clockwork"];
        assert_eq!(selected(&devices, None), ["host", "clockwork"]);
    }

    #[test]
    fn a_list_needs_no_device_to_know_its_kind() {
        for wanted in ["0", "all", "cuda:1", "GPU-1234", "host,0"] {
            assert!(may_name_kind(wanted, "cuda"), "{wanted}");
        }
        assert!(!may_name_kind("host", "cuda") && may_name_kind("host", "host"));
    }
}
