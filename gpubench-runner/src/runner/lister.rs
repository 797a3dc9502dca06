//! Lists arguments, devices and their properties by a worker process, since the user's code and the driver make these lists.

use std::time::Duration;

use super::supervisor::{Supervisor, WorkerStarter};
use super::{RunConfig, RunError};
use crate::{plan::CaseLister, select::SearchResult};
use gpubench_records::{BenchmarkId, CaseSelection, DeviceInfo, Failure, Property, Stage, Value};
use gpubench_runtime::cases::{ComparisonTarget, ListedCases, VariantOnDevice};
use gpubench_runtime::worker::{Reply, Request};
use gpubench_runtime::{Job, device::DeviceKind};

/// The time limit for a list of devices and for the properties of a device. A longer time limit of cases
/// replaces it. A driver that starts on a machine with many GPUs takes seconds, and waits for kernels of
/// processes that were killed.
const DEVICE_LIMIT: Duration = Duration::from_secs(60);

/// Gets lists of devices and of the benchmarks' arguments from a worker process, and from a new one if it exits.
pub(crate) struct WorkerLister<'a> {
    supervisor: Supervisor<'a>,
    /// The limit for one list of arguments.
    limit: Duration,
    /// The kind of device whose search starts the first of the later workers in advance; `None` if no search does.
    pub starts_in_advance: Option<&'static str>,
    /// Starts later workers, with the driver's library that a search for devices has loaded.
    pub starter: WorkerStarter,
}

impl<'a> WorkerLister<'a> {
    /// Creates a lister that asks workers of `supervisor`. Each list of arguments may take `limit`.
    pub(crate) fn new(supervisor: Supervisor<'a>, limit: Duration) -> Self {
        Self { supervisor, limit, starts_in_advance: None, starter: WorkerStarter::default() }
    }

    /// Searches for devices of these kinds, and returns the result for each kind. If the search loads a
    /// driver, sets [`starter`](Self::starter).
    pub(crate) fn devices(
        &mut self,
        kinds: &[&'static DeviceKind],
    ) -> Vec<(&'static DeviceKind, SearchResult)> {
        let is_searched = |name: &&str| kinds.iter().any(|kind| kind.name == *name);
        let in_advance = self.starts_in_advance.filter(is_searched);
        let mut starter = self.starter.clone();
        let limit = self.limit.max(DEVICE_LIMIT);
        let request = |kinds: &[&DeviceKind]| Request::Devices {
            kinds: kinds.iter().map(|kind| kind.name.to_owned()).collect(),
        };
        let found = self.ask(kinds, limit, &request, &mut |reply| match reply {
            Reply::Devices(found) => Some(found),
            Reply::Library(path) => {
                if let Some(path) = path {
                    starter.set_driver(path, in_advance);
                }
                None
            }
            _ => None,
        });
        self.starter = starter;
        let search = |(kind, mut found): (&&'static DeviceKind, SearchResult)| {
            found.iter_mut().flatten().flatten().for_each(|device| device.kind = kind.name);
            (*kind, found)
        };
        kinds.iter().zip(found).map(search).collect()
    }

    /// Requests an answer for each of `items`, as [`ask_each`] does. If [`ask_each`] returns an error, each
    /// answer is this error.
    fn ask<I, T>(
        &mut self,
        items: &[I],
        limit: Duration,
        request: &dyn Fn(&[I]) -> Request,
        read: &mut dyn FnMut(Reply) -> Option<T>,
    ) -> Vec<Result<T, String>> {
        ask_each(&mut self.supervisor, items, limit, request, read)
            .unwrap_or_else(|ended| items.iter().map(|_| Err(ended.to_string())).collect())
    }
}

/// Requests answers for all `items` at once. After a worker exits, requests the rest from a new worker. If a
/// second worker exits at the same item, the reason is the answer for this item. An item that takes longer
/// than `limit` is not tried again. Every item has an answer, in order; the outer error means that no more
/// workers can be asked.
fn ask_each<I, T>(
    supervisor: &mut Supervisor<'_>,
    items: &[I],
    limit: Duration,
    request: &dyn Fn(&[I]) -> Request,
    read: &mut dyn FnMut(Reply) -> Option<T>,
) -> Result<Vec<Result<T, String>>, RunError> {
    let mut answers: Vec<Result<T, String>> = Vec::with_capacity(items.len());
    let mut lost_at = None;
    while answers.len() < items.len() {
        let request = request(&items[answers.len()..]);
        let lost = supervisor.ask(&request, limit, &mut |reply| answers.extend(read(reply).map(Ok)))?;
        let place = answers.len();
        match lost {
            _ if place >= items.len() => break,
            Some(lost) if !lost.timed_out() && lost_at != Some(place) => lost_at = Some(place),
            Some(lost) => answers.push(Err(lost.to_string())),
            None => answers.push(Err("the process sent no result".to_owned())),
        }
    }
    Ok(answers)
}

impl CaseLister for WorkerLister<'_> {
    fn list(
        &mut self,
        variants: &[VariantOnDevice],
        cases: &CaseSelection,
    ) -> Vec<Result<ListedCases, Failure>> {
        let listed = self.ask(
            variants,
            self.limit,
            &|variants| Request::List { variants: variants.to_vec(), cases: cases.clone() },
            &mut |reply| if let Reply::Listed(listed) = reply { Some(listed) } else { None },
        );
        let or_failure = |why| Err(Failure::new(Stage::Args, why));
        listed.into_iter().map(|listed| listed.unwrap_or_else(or_failure)).collect()
    }

    fn pair(&mut self, with: &BenchmarkId, jobs: Vec<Job>) -> Vec<Result<ComparisonTarget, String>> {
        let paired = self.ask(
            &jobs,
            self.limit,
            &|jobs| Request::Pair { with: with.clone(), jobs: jobs.to_vec() },
            &mut |reply| if let Reply::Paired(paired) = reply { Some(paired) } else { None },
        );
        paired.into_iter().map(Result::flatten).collect()
    }
}

impl Drop for WorkerLister<'_> {
    /// Lets the worker end by itself, so that it prints its buffered output.
    fn drop(&mut self) {
        self.supervisor.dismiss();
    }
}

/// Asks a worker for the properties of a device, and adds the clock if it is locked. The inner error is the
/// reason that the device cannot be used; the outer error ends the run.
pub(super) fn device_info(
    supervisor: &mut Supervisor<'_>,
    config: &RunConfig,
    device: &str,
) -> Result<Result<DeviceInfo, String>, RunError> {
    let limit = DEVICE_LIMIT.max(config.settings.time_limit());
    let request = |_: &[&str]| config.info_request(device);
    let mut answers = ask_each(supervisor, &[device], limit, &request, &mut |reply| match reply {
        Reply::DeviceInfo(mut info) => {
            // The name under which its cases ask for it, whatever it calls itself.
            device.clone_into(&mut info.device);
            let locked = config.locked.iter().filter(|(locked, _)| locked == device);
            let property = |(_, to): &(_, String)| Property::new("clocks", Value::Text(to.clone()));
            info.properties.extend(locked.map(property));
            Some(Ok(info))
        }
        Reply::NoDevice(message) => Some(Err(message)),
        _ => None,
    })?;
    Ok(answers.remove(0).flatten())
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;
    use std::rc::Rc;

    use super::*;
    use crate::runner::supervisor::{Worker, WorkerExit};
    use gpubench_records::method::Cache;
    use gpubench_runtime::{device::Available, devices::kinds::KINDS};

    /// A worker that is lost over lists and devices of these names: each time, the first time, or after its limit.
    struct FakePlanner {
        asked: Rc<RefCell<Vec<String>>>,
    }

    impl FakePlanner {
        /// Comes to a list or a kind of this name.
        fn come_to(&self, name: &str, limit: Duration) -> Result<(), WorkerExit> {
            let mut asked = self.asked.borrow_mut();
            asked.push(name.to_owned());
            let times = asked.iter().filter(|other| *other == name).count();
            match name {
                "hangs" => Err(WorkerExit::TimedOut(limit)),
                "exits" | "cuda" => Err(WorkerExit::Exited(ExitStatus::from_raw(0))),
                "exits once" if times == 1 => Err(WorkerExit::Exited(ExitStatus::from_raw(0))),
                _ => Ok(()),
            }
        }
    }

    impl Worker for FakePlanner {
        fn ask(
            &mut self,
            request: &Request,
            limit: Duration,
            _: &dyn Fn() -> bool,
            hear: &mut dyn FnMut(Reply),
        ) -> Result<(), WorkerExit> {
            match request {
                Request::List { variants, .. } => variants.iter().try_for_each(|variant| {
                    self.come_to(&variant.benchmark, limit)?;
                    if variant.benchmark == "silent" {
                        return Ok(());
                    }
                    let axes = vec![variant.benchmark.clone()];
                    hear(Reply::Listed(Ok(ListedCases { axes, ..ListedCases::default() })));
                    Ok(())
                }),
                Request::Devices { kinds } => {
                    hear(Reply::Library(Some("/lib/libcuda.so.1".into())));
                    kinds.iter().try_for_each(|kind| {
                        self.come_to(kind, limit)?;
                        hear(Reply::Devices(Ok(vec![Available::new(kind, "host")])));
                        Ok(())
                    })
                }
                Request::Pair { with, jobs } => {
                    self.come_to(&with.benchmark, limit)?;
                    jobs.iter().for_each(|job| hear(Reply::Paired(Ok((job.args.clone(), None)))));
                    Ok(())
                }
                _ => unreachable!("nobody asks for it"),
            }
        }

        fn dismiss(self: Box<Self>) {
            self.asked.borrow_mut().push("end".to_owned());
        }
    }

    /// Asks workers of this kind, and tells what they came to.
    fn with_planner<T>(ask: impl FnOnce(&mut WorkerLister<'_>) -> T) -> (T, Vec<String>) {
        let asked = Rc::new(RefCell::new(Vec::new()));
        let workers = Rc::clone(&asked);
        let start = move |_: &str| -> std::io::Result<Box<dyn Worker>> {
            Ok(Box::new(FakePlanner { asked: Rc::clone(&workers) }))
        };
        let supervisor = Supervisor::with_workers(Box::new(start), &|| false, Box::new(drop));
        let done = ask(&mut WorkerLister::new(supervisor, Duration::from_secs(7)));
        let asked = asked.borrow().clone();
        (done, asked)
    }

    fn variant(name: &str) -> VariantOnDevice {
        let (benchmark, device) = (name.to_owned(), "host".to_owned());
        VariantOnDevice { benchmark, variant: 0, device }
    }

    /// A worker that says nothing, or that cannot be started, is no endless wait.
    #[test]
    fn a_list_that_nobody_makes_is_a_failure() {
        let told = |listed: Vec<Result<ListedCases, Failure>>| -> Vec<String> {
            listed
                .into_iter()
                .map(|listed| listed.err().map_or_else(String::new, |why| why.to_string()))
                .collect()
        };
        let variants = ["good", "silent"].map(variant);
        let (listed, asked) = with_planner(|lister| lister.list(&variants, &CaseSelection::default()));
        assert_eq!(told(listed), ["", "args: the process sent no result"]);
        assert_eq!(asked, ["good", "silent", "end"], "the worker ends by itself");
        let start =
            |_: &str| -> std::io::Result<Box<dyn Worker>> { Err(std::io::Error::other("no more processes")) };
        let supervisor = Supervisor::with_workers(Box::new(start), &|| false, Box::new(drop));
        let mut lister = WorkerLister::new(supervisor, Duration::from_secs(7));
        let why = "args: cannot start a process to measure in: no more processes";
        assert_eq!(told(lister.list(&variants, &CaseSelection::default())), [why; 2]);
    }

    #[test]
    fn the_partners_of_jobs_are_asked_for() {
        let job = Job::new("a".to_owned(), Vec::new(), "host".to_owned(), vec![Cache::Hot]);
        let pair = |name: &str| {
            let with = BenchmarkId { benchmark: name.to_owned(), args: Vec::new() };
            with_planner(|lister| lister.pair(&with, vec![job.clone(), job.clone()])).0
        };
        assert_eq!(pair("good"), [Ok((Vec::new(), None)), Ok((Vec::new(), None))]);
        assert_eq!(
            pair("exits"),
            [const { "its process exited with code 0 before it was done: does the code call `exit`?" }; 2]
                .map(|why| Err(why.to_owned()))
        );
    }

    /// A list that costs the worker is tried once more, unless it took its whole limit; the others are listed.
    #[test]
    fn a_list_that_costs_the_worker_costs_itself() {
        let variants = ["good", "exits", "hangs", "exits once", "last"].map(variant);
        let (listed, asked) = with_planner(|lister| lister.list(&variants, &CaseSelection::default()));
        let told: Vec<String> = listed
            .into_iter()
            .map(|listed| listed.map_or_else(|failure| failure.to_string(), |listed| listed.axes.concat()))
            .collect();
        assert_eq!(
            told,
            [
                "good",
                "args: its process exited with code 0 before it was done: does the code call `exit`?",
                "args: took longer than 7 s, and was killed (--timeout sets the limit)",
                "exits once",
                "last"
            ]
        );
        assert_eq!(asked, ["good", "exits", "exits", "hangs", "exits once", "exits once", "last", "end"]);
    }

    #[test]
    fn a_driver_that_costs_the_worker_hides_no_other_kind() {
        let kinds: Vec<&DeviceKind> = KINDS.iter().collect();
        let ((found, library), asked) =
            with_planner(|lister| (lister.devices(&kinds), lister.starter.driver.take()));
        let [(_, Err(why)), (_, Ok(Ok(host)))] = &found[..] else { panic!("other results") };
        assert_eq!(
            (&**why, host.len()),
            ("its process exited with code 0 before it was done: does the code call `exit`?", 1)
        );
        assert_eq!(library.as_deref(), Some(std::path::Path::new("/lib/libcuda.so.1")));
        assert_eq!(asked, ["cuda", "cuda", "host", "end"]);
    }
}
