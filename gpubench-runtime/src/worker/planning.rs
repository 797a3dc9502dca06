//! The part of planning that is not the suite's own code: the user's lists of arguments, and the driver's list of devices. In: a
//! request; out: a reply for each thing that was asked for, so that a crash costs one of them.

use serde::{Deserialize, Serialize};

use crate::device::{Available, FoundDevice};
use crate::devices::kinds;
use crate::plan::{Listed, ListedVariant, PartnerAxes};
use crate::registry::Entry;
use gpubench_records::failure::Failure;
use gpubench_records::id::Arg;
use gpubench_records::selection::CaseSelection;

/// A request about the plan.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlanningRequest {
    /// List the selected cases of each of these instances.
    List {
        /// The instances.
        variants: Vec<ListedVariant>,
        /// The selection.
        cases: CaseSelection,
    },
    /// Name the axes of an instance, and find out if it takes these arguments.
    Axes {
        /// The instance.
        variant: ListedVariant,
        /// The arguments, each a combination.
        args: Vec<Vec<Arg>>,
    },
    /// List the devices of each of these kinds.
    Devices {
        /// The kinds.
        kinds: Vec<String>,
    },
}

/// A reply about the plan.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlanningReply {
    /// The request is read: its time begins.
    Begun,
    /// The cases of the next instance.
    Listed(Result<Listed, Failure>),
    /// The axes of the instance.
    Axes(Result<PartnerAxes, Failure>),
    /// The path of the driver's library, for other workers.
    Library(Option<String>),
    /// The devices of the next kind, or the reason that there are none.
    Devices(Result<Vec<FoundDevice>, String>),
}

/// Answers a request about benchmarks among `entries`.
pub(super) fn answer(request: &PlanningRequest, entries: &[&Entry], reply: &mut dyn FnMut(PlanningReply)) {
    reply(PlanningReply::Begun);
    match request {
        PlanningRequest::List { variants, cases } => {
            variants.iter().for_each(|variant| reply(PlanningReply::Listed(variant.list(entries, cases))));
        }
        PlanningRequest::Axes { variant, args } => reply(PlanningReply::Axes(variant.axes(entries, args))),
        PlanningRequest::Devices { kinds } => {
            // Opens the library, which need not be there.
            let library = gpubench_driver::load().ok().and_then(|_| gpubench_driver::library_path());
            reply(PlanningReply::Library(library.and_then(|path| path.into_os_string().into_string().ok())));
            kinds.iter().for_each(|kind| reply(PlanningReply::Devices(devices(kind))));
        }
    }
}

/// Lists the devices of a kind.
fn devices(kind: &str) -> Result<Vec<FoundDevice>, String> {
    let kind = kinds::kind(kind).ok_or_else(|| "unknown to this program".to_owned())?;
    let found = (kind.list)().map_err(|error| error.to_string())?;
    Ok(found.into_iter().map(Available::into_found).collect())
}
