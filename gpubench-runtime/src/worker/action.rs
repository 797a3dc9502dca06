//! Untimed actions on a job: its test, the detection of its writes, and launches for a profiler.

use super::prepared::{Launches, PreparedCase, launch, report_lost_device, set_up};
use super::{Reply, Request};
use crate::catch::catch;
use crate::device::Device;
use crate::plan::Job;
use crate::registry::{Case, Entry, Variant, select};
use gpubench_records::failure::{Failure, Stage, Step};

/// Does what `request` asks for with `job`, and replies with the result.
pub(super) fn run(
    request: &Request,
    job: &Job,
    (entry, variant): (&Entry, &Variant),
    device: &mut dyn Device,
    reply: &mut dyn FnMut(Reply),
) {
    let failed = |failure| match request {
        // A launch that fails on unexpected values gives no answer.
        Request::Writes { .. } => Reply::Writes(None),
        _ => Reply::Tested(Err(failure)),
    };
    let shown = variant.show(|sweeps, case| {
        let done = select(&job.args, sweeps).and_then(|()| act(request, entry, case, device, reply));
        let has_failed = done.is_err();
        reply(done.unwrap_or_else(failed));
        if has_failed {
            report_lost_device(device, reply);
        }
        Ok(())
    });
    if let Err(failure) = shown {
        reply(failed(failure));
    }
}

fn act(
    request: &Request,
    entry: &Entry,
    case: &mut dyn Case,
    device: &mut dyn Device,
    reply: &mut dyn FnMut(Reply),
) -> Result<Reply, Failure> {
    match request {
        // On memory that holds other values, until `enough` has changed.
        Request::Writes { enough, .. } => {
            reply(Reply::Step(Step::Setup));
            case.open(device)?;
            set_up(case, device)?;
            catch(Stage::Launch, || device.writes(&mut Launches(case), *enough)).map(Reply::Writes)
        }
        Request::Profile { number, launches, .. } => {
            case.open(device)?;
            set_up(case, device)?;
            // What only a first launch does is not profiled.
            launch(case, device)?;
            catch(Stage::Launch, || device.profile(&mut Launches(case), *number, *launches))?;
            Ok(Reply::Tested(Ok(false)))
        }
        _ => {
            let options = Some(&entry.options);
            let prepared = catch(Stage::Device, || PreparedCase::new(case, options, device, reply))?;
            Ok(Reply::Tested(Ok(prepared.checked)))
        }
    }
}
