//! What a launch was seen to do, for `--explain`. In: observations, the launches after the samples, and the time of a call on the
//! host; out: sentences.

use gpubench_records::launch::LaunchFacts;
use gpubench_records::relaunch::{Relaunch, Rewritten};
use gpubench_records::samples::Samples;
use gpubench_stats::format;
use gpubench_stats::units::Bytes;

/// Returns a sentence for each thing that the launch does beside its work on the given stream.
pub(crate) fn beside(seen: &LaunchFacts) -> impl Iterator<Item = String> + '_ {
    seen.observations.iter().map(ToString::to_string)
}

/// Returns the result of the launches after the samples.
pub(crate) fn outputs(relaunch: &Relaunch) -> String {
    let differs = match (relaunch.differs, relaunch.checked) {
        (Bytes::ZERO, _) => "a launch after the samples left what the checked launch left".to_owned(),
        (differs, Some(true)) => {
            format!(
                "a launch after the samples left {} otherwise, and its check passed",
                format::bytes(differs)
            )
        }
        (differs, _) => format!("a launch after the samples left {} otherwise", format::bytes(differs)),
    };
    let rewritten = relaunch.rewritten.map(|Rewritten { changed, again, time }| {
        let [changed, again] = [changed, again].map(format::bytes);
        let times = relaunch.in_place.map_or_else(String::new, |in_place| {
            format!(", in {} (with them in place {})", format::time(time), format::time(in_place))
        });
        format!(
            "; put back to what it was, its largest output was written again: {again} of {changed}{times}"
        )
    });
    differs + &rewritten.unwrap_or_default()
}

/// Returns the time of a call of the launch function, if that is longer than the time of the launch.
pub(crate) fn host(samples: &Samples) -> Option<String> {
    let call = samples.call.filter(|call| *call > samples.time.median)?;
    Some(format!(
        "a call of the launch function takes {} on the host, longer than the launch: an application that waits for each is bound \
         by that",
        format::time(call)
    ))
}
