//! Untimed actions on a job: its test, the detection of its writes, and launches for a profiler.

use super::Reply;
use super::prepared::{Launches, PreparedCase, launch, report_lost_device, set_up};
use crate::catch::catch;
use crate::device::Device;
use crate::plan::Job;
use crate::registry::{Case, Entry, Variant, select};
use gpubench_records::failure::{Failure, Stage, Step};
use gpubench_stats::units::Bytes;

/// Runs `job` once without timing: sets up, launches, and checks the outputs. Replies true if the benchmark has a
/// check.
pub(super) fn test(
    job: &Job,
    (entry, variant): (&Entry, &Variant),
    device: &mut dyn Device,
    reply: &mut dyn FnMut(Reply),
) {
    run_action(job, variant, device, reply, &Reply::Tested, &mut |case, device, reply| {
        let prepared = catch(Stage::Device, || PreparedCase::new(case, Some(&entry.options), device, reply))?;
        Ok(prepared.checked)
    });
}

/// Detects writes of `job`, whose first launch changed less memory than it claims: launches it again on memory that holds
/// other values, until `enough` has changed.
pub(super) fn writes(
    job: &Job,
    enough: Bytes,
    variant: &Variant,
    device: &mut dyn Device,
    reply: &mut dyn FnMut(Reply),
) {
    // A launch that fails on unexpected values gives no answer.
    let to_reply = |writes: Result<_, Failure>| Reply::Writes(writes.unwrap_or_default());
    run_action(job, variant, device, reply, &to_reply, &mut |case, device, reply| {
        reply(Reply::Step(Step::Setup));
        case.open(device)?;
        set_up(case, device)?;
        catch(Stage::Launch, || device.writes(&mut Launches(case), enough))
    });
}

/// Launches `job` for a profiler this many times, between marks with its number. Replies as a test does.
pub(super) fn profile(
    job: &Job,
    (number, launches): (usize, usize),
    variant: &Variant,
    device: &mut dyn Device,
    reply: &mut dyn FnMut(Reply),
) {
    run_action(job, variant, device, reply, &Reply::Tested, &mut |case, device, _| {
        case.open(device)?;
        set_up(case, device)?;
        // What only a first launch does is not profiled.
        launch(case, device)?;
        catch(Stage::Launch, || device.profile(&mut Launches(case), number, launches))?;
        Ok(false)
    });
}

/// An action on a case.
type JobAction<'a, T> =
    &'a mut dyn FnMut(&mut dyn Case, &mut dyn Device, &mut dyn FnMut(Reply)) -> Result<T, Failure>;

/// Selects the arguments of `job`, does the action on the resulting case, and replies with its result, which
/// `to_reply` turns into a reply.
fn run_action<T>(
    job: &Job,
    variant: &Variant,
    device: &mut dyn Device,
    reply: &mut dyn FnMut(Reply),
    to_reply: &dyn Fn(Result<T, Failure>) -> Reply,
    action: JobAction<'_, T>,
) {
    let shown = variant.show(|sweeps, case| {
        let done = select(&job.args, sweeps).and_then(|()| action(case, device, reply));
        let failed = done.is_err();
        reply(to_reply(done));
        if failed {
            report_lost_device(device, reply);
        }
        Ok(())
    });
    if let Err(failure) = shown {
        reply(to_reply(Err(failure)));
    }
}
