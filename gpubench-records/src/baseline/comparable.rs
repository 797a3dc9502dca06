//! The conditions for comparing two records of a case. In: both, and their runs; out: the differences that forbid it. Times
//! of other work, of another GPU or taken another way say nothing about a change in the code.

use crate::device_info::DeviceInfo;
use crate::device_info::{Property, UUID, Value};
use crate::record::{Measurement, Record, Run};
use crate::work::Counts;

/// A record with a number, and its run.
#[derive(Clone, Copy)]
pub struct MeasuredRecord<'a> {
    /// The run.
    pub run: &'a Run,
    /// The record.
    pub record: &'a Record,
    /// Its number.
    pub measurement: &'a Measurement,
}

impl MeasuredRecord<'_> {
    fn info(&self) -> Option<&DeviceInfo> {
        self.run.device_of(self.record)
    }
}

/// One of the counts, if it is known.
type CountOf = fn(&Counts) -> Option<u64>;

/// The counts that must be equal. Bytes are the sum of those read and those written, if these are known.
const COUNTS: [(&str, CountOf); 5] = [
    ("bytes read", |counts| counts.reads),
    ("bytes written", |counts| counts.writes),
    ("bytes", |counts| counts.bytes.filter(|_| counts.reads.is_none() && counts.writes.is_none())),
    ("flops", |counts| counts.flops),
    ("items", |counts| counts.items),
];

/// The reasons that `now` and `then` cannot be compared; none if they can.
pub fn differences(now: MeasuredRecord<'_>, then: MeasuredRecord<'_>) -> Vec<String> {
    let (new, old) = (now.measurement, then.measurement);
    let mut found = other_work(&new.counts, &old.counts);
    let mut hold = |what: &str, now: String, then: String| {
        if now != then {
            found.push(format!("{what} {now}, {} {then}", was(what)));
        }
    };
    let method = |measured: &Measurement| {
        let (method, convention) = (&measured.samples.method, measured.samples.timer.convention());
        [method.path.to_string(), method.flush.to_string(), convention.unwrap_or("none").to_owned()]
    };
    for ((what, now), then) in ["path", "flush", "overhead"].into_iter().zip(method(new)).zip(method(old)) {
        hold(what, now, then);
    }
    // A time with the memory's stalls is that of launches at random times; one of which nothing is known may be without.
    if [new, old].iter().any(|measured| measured.samples.dram_stall.is_some()) {
        let told = |measured: &Measurement| {
            if measured.samples.start_intervals.is_empty() { "in no time" } else { "in each time" }
        };
        hold("the memory's stall", told(new).to_owned(), told(old).to_owned());
    }
    hold("device", device(&now), device(&then));
    // The speed of the program's own code depends on its optimisation. Old runs do not have this field.
    if [now, then].iter().any(|it| it.info().is_some_and(|info| info.runs_program_code)) {
        hold("opt-level", now.run.program.opt_level.clone(), then.run.program.opt_level.clone());
    }
    for (what, now, then) in properties(now.info(), then.info()) {
        if let (Value::Count(now), Value::Count(then)) = (now, then) {
            hold(what, now.to_string(), then.to_string());
        }
    }
    found
}

/// The differences between the work of two launches.
pub(crate) fn other_work(now: &Counts, then: &Counts) -> Vec<String> {
    let differs = |(what, count): (&'static str, CountOf)| {
        let [now, then] = [now, then].map(count);
        (now != then).then(|| format!("{what} {}, {} {}", counted(now), was(what), counted(then)))
    };
    COUNTS.into_iter().filter_map(differs).collect()
}

/// The other differences: properties of the device, some of them known on one side alone. They may be the very change that
/// is being measured.
pub(super) fn remarks(now: MeasuredRecord<'_>, then: MeasuredRecord<'_>) -> Vec<String> {
    let mut found = Vec::new();
    let devices = [now, then].map(|measured| &*measured.record.device);
    for (what, now, then) in properties(now.info(), then.info()) {
        match (now, then) {
            _ if now == then => {}
            (Value::Count(_), _) => {}
            // A UUID tells a reader nothing.
            _ if what == UUID => found.push(another_device(devices)),
            (Value::Text(now), Value::Text(then)) => found.push(format!("{what} {now}, was {then}")),
            _ => found.push(format!("another {what}")),
        }
    }
    let only = |one: MeasuredRecord<'_>, other: MeasuredRecord<'_>, when: &str| -> Vec<String> {
        let (one, other) = (device_properties(one.info()), device_properties(other.info()));
        let alone = one.iter().filter(|property| !other.iter().any(|same| same.name == property.name));
        let shown = alone.filter_map(|Property { name, value }| match value {
            Value::Text(text) if name != UUID => Some(format!("{name} {text} {when}")),
            _ => None,
        });
        shown.collect()
    };
    found.extend(only(now, then, "now, not told then"));
    found.extend(only(then, now, "then, not told now"));
    found
}

/// Returns true if both were measured on the same device, as far as devices can be told apart.
pub(super) fn same_device(now: MeasuredRecord<'_>, then: MeasuredRecord<'_>) -> bool {
    properties(now.info(), then.info()).all(|(what, now, then)| what != UUID || now == then)
}

/// The remark about a measurement on another device of the same model than then, named where that tells them apart.
fn another_device([now, then]: [&str; 2]) -> String {
    let names = if now == then { String::new() } else { format!(" ({now}, was {then})") };
    format!("another device of its kind{names}")
}

fn was(what: &str) -> &'static str {
    if what.ends_with('s') || what.starts_with("bytes") { "were" } else { "was" }
}

fn counted(count: Option<u64>) -> String {
    count.map_or_else(|| "not counted".to_owned(), |count| count.to_string())
}

fn device(measured: &MeasuredRecord<'_>) -> String {
    let name = measured.info().map(|info| info.name.clone()).unwrap_or_default();
    if measured.record.fake { format!("{name} (a fake)") } else { name }
}

/// The properties that both have.
fn properties<'a>(
    now: Option<&'a DeviceInfo>,
    then: Option<&'a DeviceInfo>,
) -> impl Iterator<Item = (&'a str, &'a Value, &'a Value)> {
    device_properties(now).iter().filter_map(move |property| {
        let other = device_properties(then).iter().find(|other| other.name == property.name)?;
        Some((&*property.name, &property.value, &other.value))
    })
}

fn device_properties(info: Option<&DeviceInfo>) -> &[Property] {
    info.map_or(&[], |info| &info.properties)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::baseline::fixture::stored_run;
    use crate::method::{Flush, Path};
    use gpubench_stats::DramStall;
    use gpubench_stats::units::{Bytes, Nanoseconds};

    /// A run whose first record has a stall in its time, if it has a length, and knows when its samples began.
    fn run(stall: Option<f64>, starts: bool) -> Run {
        let mut run = stored_run();
        let samples = &mut run.records[0].measurement.as_mut().expect("it was measured").samples;
        let [period, from, width, error] = [1e5, 0.0, 14e3, 5.0].map(Nanoseconds);
        samples.dram_stall = stall.map(|length| DramStall {
            period,
            delay: Nanoseconds(length),
            from,
            width,
            delayed_fraction: 0.13,
            error,
        });
        samples.start_intervals =
            if starts { vec![Nanoseconds(5e4); samples.event_times.len()] } else { Vec::new() };
        run
    }

    fn found(now: &Run, then: &Run) -> Vec<String> {
        let [now, then] = [now, then].map(|run| {
            let record = &run.records[0];
            MeasuredRecord { run, record, measurement: record.measurement.as_ref().expect("it was measured") }
        });
        differences(now, then)
    }

    /// Two records of one case, on devices with these properties.
    fn on(
        now: &[(&str, Value)],
        then: &[(&str, Value)],
        of: impl Fn(MeasuredRecord<'_>, MeasuredRecord<'_>),
    ) {
        let [now, then] = [now, then].map(|properties| {
            let mut run = stored_run();
            let info = properties.iter().cloned();
            run.devices[0].properties =
                info.map(|(name, value)| Property { name: name.to_owned(), value }).collect();
            run
        });
        let [now, then] = [&now, &then].map(|run| {
            let record = &run.records[0];
            MeasuredRecord { run, record, measurement: record.measurement.as_ref().expect("it was measured") }
        });
        of(now, then);
    }

    #[test]
    fn properties_that_both_have_are_held_against_each_other() {
        let text = |text: &str| Value::Text(text.to_owned());
        let old = [("driver", text("580.1")), (UUID, text("GPU-1")), ("multiprocessors", Value::Count(132))];
        on(&old, &old, |now, then| {
            assert!(same_device(now, then));
            assert_eq!((differences(now, then), remarks(now, then)), (vec![], vec![]));
        });
        let new = [("driver", text("590.2")), (UUID, text("GPU-2")), ("multiprocessors", Value::Count(114))];
        on(&new, &old, |now, then| {
            assert!(!same_device(now, then), "another UUID");
            assert_eq!(differences(now, then), ["multiprocessors 114, were 132"]);
            assert_eq!(remarks(now, then), ["driver 590.2, was 580.1", "another device of its kind"]);
        });
        on(&new[..1], &old[1..2], |now, then| {
            assert!(same_device(now, then), "one of them has no UUID");
            assert_eq!(remarks(now, then), ["driver 590.2 now, not told then"]);
        });
        on(&[], &old, |now, then| assert_eq!(remarks(now, then), ["driver 580.1 then, not told now"]));
        let cache = |bytes| [("cache", Value::Bytes(Bytes(bytes)))];
        on(&cache(1), &cache(2), |now, then| assert_eq!(remarks(now, then), ["another cache"]));
    }

    /// Changes the first record of a run and its measurement.
    fn changed(change: impl Fn(&mut Record, &mut Measurement)) -> Run {
        let mut run = run(None, true);
        let mut measurement = run.records[0].measurement.take().expect("it was measured");
        change(&mut run.records[0], &mut measurement);
        run.records[0].measurement = Some(measurement);
        run
    }

    /// Times of other work, or taken another way, are not compared: each difference is named with both sides.
    #[test]
    fn a_difference_of_work_or_method_is_named_with_both_sides() {
        let then = changed(|_, _| ());
        let told = |change: fn(&mut Record, &mut Measurement)| found(&changed(change), &then);
        assert_eq!(told(|_, now| now.counts.flops = Some(1601)), ["flops 1601, were 1600"]);
        assert_eq!(told(|_, now| now.counts.flops = None), ["flops not counted, were 1600"]);
        assert_eq!(told(|_, now| now.counts.items = Some(7)), ["items 7, were not counted"]);
        assert_eq!(told(|_, now| now.counts.reads = Some(1)), ["bytes read 1, were 6400"]);
        assert_eq!(told(|_, now| now.counts.writes = None), ["bytes written not counted, were 3200"]);
        assert_eq!(told(|_, now| now.samples.method.path = Path::Stream), ["path stream, was host"]);
        assert_eq!(told(|_, now| now.samples.method.flush = Flush::Write), ["flush write, was none"]);
        assert_eq!(
            told(|_, now| now.samples.timer.empty_launch_time = Some(Nanoseconds(9.0))),
            ["overhead half of an empty launch, was none"]
        );
        let less_one_more = |reads_parameter| {
            changed(move |_, now| {
                let timer = &mut now.samples.timer;
                (timer.empty_launch_time, timer.marginal_empty_launch) =
                    (Some(Nanoseconds(9.0)), Some(Nanoseconds(3.0)));
                timer.reads_parameter = reads_parameter;
            })
        };
        assert_eq!(
            found(&less_one_more(true), &less_one_more(false)),
            [
                "overhead an empty launch that reads a parameter, less one more, was an empty launch less one more"
            ]
        );
        assert_eq!(found(&less_one_more(true), &less_one_more(true)), [""; 0]);
        assert_eq!(
            told(|now, _| now.fake = true),
            ["device a clock with known hands (a fake), was a clock with known hands"]
        );
    }

    /// The sum of bytes is work of its own only where it is not told apart.
    #[test]
    fn bytes_are_compared_as_reads_and_writes_if_these_are_known() {
        let sum = |bytes| {
            move |_: &mut Record, now: &mut Measurement| {
                now.counts = Counts { bytes: Some(bytes), ..Counts::default() };
            }
        };
        assert_eq!(found(&changed(sum(5)), &changed(sum(6))), ["bytes 5, were 6"]);
        assert_eq!(found(&changed(|_, now| now.counts.bytes = Some(5)), &changed(|_, _| ())), [""; 0]);
        let writes_alone =
            |bytes| changed(move |_, now| (now.counts.reads, now.counts.bytes) = (None, Some(bytes)));
        assert_eq!(found(&writes_alone(5), &writes_alone(6)), [""; 0]);
    }

    /// The optimisation of the program is a part of what was measured where the program's own code was.
    #[test]
    fn the_optimisation_counts_where_the_programs_own_code_was_measured() {
        let of = |opt_level: &str, runs_program_code| {
            let mut run = run(None, true);
            opt_level.clone_into(&mut run.program.opt_level);
            run.devices[0].runs_program_code = runs_program_code;
            run
        };
        assert_eq!(found(&of("0", true), &of("3", true)), ["opt-level 0, was 3"]);
        assert_eq!(found(&of("0", true), &of("3", false)), ["opt-level 0, was 3"], "an old run does not say");
        assert_eq!(found(&of("0", false), &of("3", false)), [""; 0]);
    }

    #[test]
    fn differences_are_told_in_the_right_number() {
        let told = ["flops", "bytes", "bytes read", "bytes written", "path", "the memory's stall"].map(was);
        assert_eq!(told, ["were", "were", "were", "were", "was", "was"]);
    }

    #[test]
    fn a_time_with_the_stall_is_not_held_against_one_that_may_be_without() {
        let [old, usual, with] = [run(None, false), run(None, true), run(Some(1400.0), true)];
        let told = vec!["the memory's stall in each time, was in no time".to_owned()];
        assert_eq!((found(&with, &old), found(&with, &usual), found(&with, &with)), (told, vec![], vec![]));
        assert_eq!((found(&usual, &old), found(&old, &with).len()), (vec![], 1));
    }
}
