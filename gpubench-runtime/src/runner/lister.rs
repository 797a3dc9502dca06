//! Lists of arguments and devices by a worker process, since they are made by the user's code and by the driver. In: what to list;
//! out: the lists, and a failure for each that cost the worker.

use std::path::PathBuf;
use std::time::Duration;

use super::RunError;
use super::supervisor::Supervisor;
use crate::device::kind::DeviceKind;
use crate::device::{Available, FoundDevice};
use crate::devices::select::Search;
use crate::plan::{Listed, ListedVariant, Lister, PartnerAxes};
use crate::worker::{PlanningReply, PlanningRequest, Reply, Request};
use gpubench_records::failure::{Failure, Stage};
use gpubench_records::id::Arg;
use gpubench_records::selection::CaseSelection;

/// The limit for a list of devices, unless that of a case is longer: a driver that starts on a machine with many GPUs takes
/// seconds, and waits for kernels of processes that were killed.
const DEVICES_LIMIT: Duration = Duration::from_secs(60);

/// Asks a worker, and a new one after a loss.
pub(crate) struct WorkerLister<'a> {
    supervisor: Supervisor<'a>,
    /// The limit for one list of arguments.
    limit: Duration,
    /// The path of the driver's library, once devices were listed.
    pub(crate) library: Option<PathBuf>,
}

impl<'a> WorkerLister<'a> {
    /// Asks workers of `supervisor`, each list of which may take `limit`.
    pub(crate) fn new(supervisor: Supervisor<'a>, limit: Duration) -> Self {
        Self { supervisor, limit, library: None }
    }

    /// Lists the devices of these kinds.
    pub(crate) fn devices(&mut self, kinds: &[&'static DeviceKind]) -> Vec<(&'static DeviceKind, Search)> {
        let names: Vec<String> = kinds.iter().map(|kind| kind.name.to_owned()).collect();
        let mut library = None;
        let found = self.ask(
            kinds.len(),
            self.limit.max(DEVICES_LIMIT),
            &|from| PlanningRequest::Devices { kinds: names[from..].to_vec() },
            &mut |reply| match reply {
                PlanningReply::Library(path) => {
                    library = path;
                    None
                }
                PlanningReply::Devices(found) => Some(found),
                _ => None,
            },
        );
        self.library = library.map(PathBuf::from).or_else(|| self.library.take());
        let search =
            |(kind, found): (&&'static DeviceKind, Result<Result<Vec<FoundDevice>, String>, String>)| {
                let there = |found: Vec<FoundDevice>| {
                    found.into_iter().map(|one| Available::of(one, kind.name)).collect()
                };
                let search = match found {
                    Ok(Ok(found)) => Search::Found(there(found)),
                    Ok(Err(reason)) => Search::Absent(reason),
                    Err(loss) => Search::Lost(loss),
                };
                (*kind, search)
            };
        kinds.iter().zip(found).map(search).collect()
    }

    /// Makes a request for `count` answers, and after the loss of a worker one for those that are left. What costs a worker twice
    /// is the reason in place of its answer; what takes too long is not tried again, so that it takes its limit once.
    fn ask<T>(
        &mut self,
        count: usize,
        limit: Duration,
        request: &dyn Fn(usize) -> PlanningRequest,
        read: &mut dyn FnMut(PlanningReply) -> Option<T>,
    ) -> Vec<Result<T, String>> {
        let mut answers: Vec<Result<T, String>> = Vec::with_capacity(count);
        let mut lost_at = None;
        while answers.len() < count {
            let request = Request::Planning(request(answers.len()));
            let asked = self.supervisor.ask(&request, limit, &mut |reply| {
                if let Reply::Planning(reply) = reply {
                    answers.extend(read(reply).map(Ok));
                }
            });
            let place = answers.len();
            let why = match asked {
                _ if place >= count => break,
                Ok(Some(lost)) if !lost.timed_out() && lost_at != Some(place) => {
                    lost_at = Some(place);
                    continue;
                }
                Ok(Some(lost)) => lost.to_string(),
                Ok(None) => "the process sent no result".to_owned(),
                Err(ended) => RunError::from(ended).to_string(),
            };
            answers.push(Err(why));
        }
        answers
    }
}

impl Lister for WorkerLister<'_> {
    fn list(&mut self, variants: &[ListedVariant], cases: &CaseSelection) -> Vec<Result<Listed, Failure>> {
        let listed = self.ask(
            variants.len(),
            self.limit,
            &|from| PlanningRequest::List { variants: variants[from..].to_vec(), cases: cases.clone() },
            &mut |reply| if let PlanningReply::Listed(listed) = reply { Some(listed) } else { None },
        );
        listed
            .into_iter()
            .map(|listed| listed.unwrap_or_else(|why| Err(Failure::new(Stage::Args, why))))
            .collect()
    }

    fn axes(&mut self, variant: &ListedVariant, args: &[Vec<Arg>]) -> Result<PartnerAxes, Failure> {
        let mut seen = self.ask(
            1,
            self.limit,
            &|_| PlanningRequest::Axes { variant: variant.clone(), args: args.to_vec() },
            &mut |reply| if let PlanningReply::Axes(axes) = reply { Some(axes) } else { None },
        );
        let seen = seen.pop().unwrap_or_else(|| Err("the process sent no result".to_owned()));
        seen.unwrap_or_else(|why| Err(Failure::new(Stage::Args, why)))
    }
}

impl Drop for WorkerLister<'_> {
    /// Lets the worker end by itself, so that it prints its buffered output.
    fn drop(&mut self) {
        self.supervisor.dismiss();
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;
    use std::rc::Rc;

    use super::*;
    use crate::devices::kinds::KINDS;
    use crate::worker::{Loss, Worker};

    /// A worker that is lost over lists and devices of these names: each time, the first time, or after its limit.
    struct FakePlanner {
        asked: Rc<RefCell<Vec<String>>>,
    }

    impl FakePlanner {
        /// Comes to a list or a kind of this name.
        fn come_to(&self, name: &str, limit: Duration) -> Result<(), Loss> {
            let mut asked = self.asked.borrow_mut();
            asked.push(name.to_owned());
            let times = asked.iter().filter(|other| *other == name).count();
            match name {
                "hangs" => Err(Loss::TimedOut(limit)),
                "exits" | "cuda" => Err(Loss::Ended(ExitStatus::from_raw(0))),
                "exits once" if times == 1 => Err(Loss::Ended(ExitStatus::from_raw(0))),
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
        ) -> Result<(), Loss> {
            let mut reply = |reply| hear(Reply::Planning(reply));
            reply(PlanningReply::Begun);
            match request {
                Request::Planning(PlanningRequest::List { variants, .. }) => {
                    variants.iter().try_for_each(|variant| {
                        self.come_to(&variant.benchmark, limit)?;
                        if variant.benchmark == "silent" {
                            return Ok(());
                        }
                        let axes = vec![variant.benchmark.clone()];
                        reply(PlanningReply::Listed(Ok(Listed { axes, ..Listed::default() })));
                        Ok(())
                    })
                }
                Request::Planning(PlanningRequest::Devices { kinds }) => {
                    reply(PlanningReply::Library(Some("/lib/libcuda.so.1".to_owned())));
                    kinds.iter().try_for_each(|kind| {
                        self.come_to(kind, limit)?;
                        reply(PlanningReply::Devices(Ok(vec![Available::new(kind, "host").into_found()])));
                        Ok(())
                    })
                }
                Request::Planning(PlanningRequest::Axes { variant, args }) => {
                    assert!(args.is_empty());
                    self.come_to(&variant.benchmark, limit)?;
                    let names = vec![variant.benchmark.clone()];
                    reply(PlanningReply::Axes(Ok(PartnerAxes { names, ..PartnerAxes::default() })));
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
        let start = move || -> std::io::Result<Box<dyn Worker>> {
            Ok(Box::new(FakePlanner { asked: Rc::clone(&workers) }))
        };
        let supervisor = Supervisor::with_workers(Box::new(start), &|| false);
        let done = ask(&mut WorkerLister::new(supervisor, Duration::from_secs(7)));
        let asked = asked.borrow().clone();
        (done, asked)
    }

    fn variant(name: &str) -> ListedVariant {
        let (benchmark, device) = (name.to_owned(), "host".to_owned());
        ListedVariant { benchmark, variant: 0, device }
    }

    /// A worker that says nothing, or that cannot be started, is no endless wait.
    #[test]
    fn a_list_that_nobody_makes_is_a_failure() {
        let told = |listed: Vec<Result<Listed, Failure>>| -> Vec<String> {
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
            || -> std::io::Result<Box<dyn Worker>> { Err(std::io::Error::other("no more processes")) };
        let supervisor = Supervisor::with_workers(Box::new(start), &|| false);
        let mut lister = WorkerLister::new(supervisor, Duration::from_secs(7));
        let why = "args: cannot start a process to measure in: no more processes";
        assert_eq!(told(lister.list(&variants, &CaseSelection::default())), [why; 2]);
    }

    #[test]
    fn the_axes_of_a_partner_are_asked_for() {
        let axes = |name: &str| with_planner(|lister| lister.axes(&variant(name), &[])).0;
        assert_eq!(axes("good").map(|axes| axes.names), Ok(vec!["good".to_owned()]));
        assert_eq!(
            axes("exits").map_err(|failure| failure.to_string()),
            Err("args: the process exited with code 0".to_owned())
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
                "args: the process exited with code 0",
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
            with_planner(|lister| (lister.devices(&kinds), lister.library.take()));
        let [(_, Search::Lost(why)), (_, Search::Found(host))] = &found[..] else { panic!("other results") };
        assert_eq!((&**why, host.len()), ("the process exited with code 0", 1));
        assert_eq!(library.as_deref(), Some(std::path::Path::new("/lib/libcuda.so.1")));
        assert_eq!(asked, ["cuda", "cuda", "host", "end"]);
    }
}
