//! What a launch was seen to do, for `--explain`. In: observations, the launches after the samples, and the time of a call on the
//! host; out: sentences.

use gpubench_records::relaunch::{Relaunch, Reuse, Rewritten};
use gpubench_records::samples::Samples;
use gpubench_stats::format;
use gpubench_stats::units::Bytes;

/// Returns the findings of the launches after the samples, if there are any.
pub(crate) fn outputs(relaunch: &Relaunch) -> Option<String> {
    let checked = relaunch.checked.map(|_| "a launch on fresh inputs passed its check".to_owned());
    let differs = (relaunch.differs > Bytes::ZERO)
        .then(|| format!("launches after the samples leave {} different", format::bytes(relaunch.differs)));
    let rewritten = relaunch.rewritten.map(|Rewritten { changed, again }| {
        let [changed, again] = [changed, again].map(format::bytes);
        format!("the checked launch wrote {changed}, launches after the samples {again}")
    });
    let reuse = relaunch.reuse.map(|Reuse { fresh, used }| {
        let [fresh, used] = [fresh, used].map(format::time);
        format!("one cold launch took {fresh} on fresh inputs, {used} on used ones")
    });
    let found: Vec<_> = [checked, differs, rewritten, reuse].into_iter().flatten().collect();
    (!found.is_empty()).then(|| found.join("; "))
}

/// Returns the time of a call of the launch function, if that is longer than the time of the launch.
pub(crate) fn host(samples: &Samples) -> Option<String> {
    let call = samples.host_call_time.filter(|call| *call > samples.time.median)?;
    Some(format!(
        "a call of the launch function takes {} on the host, longer than the launch: an application that waits for each is bound \
         by that",
        format::time(call)
    ))
}
