//! The verdict on samples, claims and sensors, against figures of an H200.

use super::*;
use crate::{
    Cache, ClockFaults, Counts, Flush, FlushVerification, GroupOverhead, LaunchInfo, Measurement, Method,
    Metrics, Observation, Path, Peak, PeakSource, PlannedCase, Quantity, Record, Timer, WarmUpSummary,
    Written, samples::summary,
};
use gpubench_stats::{Bytes, BytesPerSecond, Nanoseconds, Rate, Summary};

fn span(low: u64, slowed_by: &[&str], others: u32) -> SensorRange {
    SensorRange {
        readings: 3,
        sm_clock: Some(Range { low: Hertz(low * 1_000_000), high: Hertz(1_980_000_000) }),
        throttle_reasons: slowed_by.iter().map(ToString::to_string).collect(),
        other_processes: Some(others),
        ..SensorRange::default()
    }
}

#[test]
fn an_interval_that_is_missing_or_wide_is_a_reservation() {
    let summary = |count: usize, spread: f64| {
        let times: Vec<_> =
            (0..count).map(|i| Nanoseconds(1e5 + spread * (i * 61 % count) as f64 / count as f64)).collect();
        Summary::of(&times, Nanoseconds(1.0)).expect("there are some")
    };
    let sampled =
        |count, spread, converged| Samples { time: summary(count, spread), converged, ..samples(1e5) };
    let told = |count, spread, converged, wanted| {
        imprecise_median(&sampled(count, spread, converged), wanted).map(|reason| reason.to_string())
    };
    let few =
        "too few samples: 5, where a 95 % interval of the median needs 6: take at least 6 (--samples 6)";
    assert_eq!(told(5, 0.0, true, 0.005), Some(few.to_owned()));
    // Samples with their flushes take ten times as long as launches.
    let (mut short, each) = (sampled(5, 0.0, false), Nanoseconds(1e6));
    (short.wall_time, short.device_time) = (5.0 * each, 4.0 * each);
    let short = imprecise_median(&short, 0.005).expect("its time was short").to_string();
    assert!(
        short.contains("needs 6: with warm-up and checks, these take about 10.00 ms: raise --max-time"),
        "{short}"
    );
    assert_eq!(told(6, 0.0, true, 0.005), None);
    // Wider than what ends sampling, and valid all the same.
    assert_eq!(told(12, 1e4, true, 0.005), None);
    let wide = told(12, 1e5, true, 0.005).expect("it is too wide");
    assert!(wide.starts_with("wide interval: the interval of the median is ± 31.4 %, wider than ± 5.00 %, the limit of a valid result"), "{wide}");
    assert_eq!(told(12, 1e5, true, 0.5), None, "the user asked for no more");
    // Two steps of a coarse timer are 16 %, and the limit.
    let mut coarse = sampled(12, 1e5, true);
    coarse.timer.resolution = Nanoseconds(0.08 * coarse.time.median.0);
    let wide = imprecise_median(&coarse, 0.005).expect("it is too wide").to_string();
    assert!(wide.contains("± 31.4 %, wider than ± 16.00 %, the limit"), "{wide}");
    assert!(told(12, 1e5, false, 0.005).is_some_and(|told| told.starts_with("not converged")));
    // What is stored is numbers, whatever was measured.
    let reason = imprecise_median(&sampled(12, 1e5, true), 0.005).expect("it is too wide");
    let json = serde_json::to_string(&reason).expect("JSON");
    assert!(serde_json::from_str::<Reason>(&json).is_ok(), "{json}");
}

#[test]
fn a_budget_that_others_used_up_is_no_fault_of_the_row() {
    let spent = |waited, spread: f64| {
        let times: Vec<_> =
            (0..40).map(|i| Nanoseconds(1e5 + spread * f64::from(i * 61 % 40) / 40.0)).collect();
        let time = Summary::of(&times, Nanoseconds(1.0)).expect("there are some");
        imprecise_median(&Samples { time, processor_wait: waited, converged: false, ..samples(1e5) }, 0.005)
    };
    // 2 % wide, on a device of its own, on a quiet machine, and beside other programs.
    assert!(matches!(spent(None, 1e4), Some(Reason::NotConverged { .. })));
    assert!(matches!(spent(Some(0.05), 1e4), Some(Reason::NotConverged { .. })));
    assert_eq!(spent(Some(0.4), 1e4), None);
    // This machine's CPU is never a launch's alone, even if nothing is counted.
    let on_the_cpu = |spread| {
        let time = Summary::of(&[1e5, 1e5 + spread].map(Nanoseconds).repeat(20), Nanoseconds(1.0));
        let time = time.expect("there are some");
        let samples = Samples { time, converged: false, method: Method::new(Path::Host), ..samples(1e5) };
        imprecise_median(&samples, 0.005)
    };
    assert_eq!(on_the_cpu(8e3), None);
    assert!(matches!(on_the_cpu(2e4), Some(Reason::NotConverged { .. })));
    // The row is as good as its interval: one of 10 % is none to go by.
    assert!(matches!(spent(Some(0.4), 6e4), Some(Reason::NotConverged { .. })));
    let few = Samples { processor_wait: Some(0.4), converged: false, ..samples(1e5) };
    let few = Samples { time: Summary { samples: 5, ..few.time.clone() }, ..few };
    assert!(matches!(imprecise_median(&few, 0.005), Some(Reason::TooFewSamples { samples: 5, .. })));
}

#[test]
fn samples_that_others_interrupted_and_that_count_are_a_reservation() {
    assert_eq!(interrupted_samples(&samples(1e5)), None);
    let reason = interrupted_samples(&Samples { interrupted_count: 58, ..samples(1e5) }).expect("they count");
    assert_eq!(reason.state(), State::Suspect);
    assert!(matches!(reason, Reason::Interrupted { interrupted: 58, samples: 60 }), "{reason}");
    assert!(reason.to_string().contains("during 58 of 60 samples"), "{reason}");
}

/// A launch of 100 µs ± 1 % of which others interrupt some samples, for up to 4 ms each: a row whose budget was spent is valid
/// only if its median is right.
#[test]
fn no_interrupted_row_is_valid_with_a_wrong_median() {
    const TRUE: f64 = 100e3;
    let mut state = 1_u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let (mut valid, mut invalid) = (0, 0);
    for interrupted in 0..20 {
        for _ in 0..50 {
            let times: Vec<_> = (0..100)
                .map(|_| {
                    let hit = random() < f64::from(interrupted) * 0.05;
                    let delay = if hit { 4e6 * random() } else { 0.0 };
                    Nanoseconds(TRUE * (0.99 + 0.02 * random()) + delay)
                })
                .collect();
            let time = Summary::of(&times, Nanoseconds(10.0)).expect("there are some");
            let off = (time.median.as_f64() / TRUE - 1.0).abs();
            let samples = Samples { time, processor_wait: Some(0.5), converged: false, ..samples(TRUE) };
            match imprecise_median(&samples, 0.005) {
                None => {
                    valid += 1;
                    assert!(off <= WIDEST, "{interrupted}: {off}");
                }
                Some(_) => invalid += 1,
            }
        }
    }
    // Up to two in five interrupted samples leave the median where it is.
    assert!(valid > 350 && invalid > 500, "{valid} valid, {invalid} suspect");
}

#[test]
fn sensors_speak_against_a_case_where_clocks_fell_or_others_were_there() {
    let fell = |span: &SensorRange| clocks_fell(Some(span), None, None);
    assert_eq!((fell(&SensorRange::default()), other_processes(&SensorRange::default())), (None, None));
    assert_eq!(fell(&span(1_935, &[], 0)), None, "2.3 % lower");
    assert!(matches!(fell(&span(1_905, &[], 0)), Some(Reason::ClocksFell { .. })), "3.8 % lower");
    assert_eq!(other_processes(&span(1_980, &[], 0)), None);
    let capped = span(1_980, &["power cap"], 2);
    assert_eq!(
        [fell(&capped), other_processes(&capped)].map(|reason| reason.map(|reason| reason.to_string())),
        [
            Some("clocks: multiprocessors ran at 1980 MHz, held down by power cap: lock a clock that the GPU can keep (--lock-clocks base)".to_owned()),
            Some("other processes: 2 had a context on the device during sampling: stop them, and measure again".to_owned())
        ]
    );
}

#[test]
fn the_devices_own_counters_say_by_how_much_clocks_fell() {
    let clock = |before: Option<u64>, low: u64| {
        let megahertz =
            |low: u64, high: u64| Range { low: Hertz(low * 1_000_000), high: Hertz(high * 1_000_000) };
        let during = megahertz(low, 1_700);
        let before = before.map(|high| megahertz(345, high));
        DeviceClock {
            before,
            during,
            mean: during.high,
            after: during.high,
            readings: 7,
            over_time: Vec::new(),
        }
    };
    let fell =
        |sensors: Option<&SensorRange>, clock: &DeviceClock| match clocks_fell(sensors, Some(clock), None) {
            None => None,
            Some(Reason::ClocksFell { clock, throttle_reasons }) => {
                Some((clock.low.0 / 1_000_000, clock.high.0 / 1_000_000, throttle_reasons.len()))
            }
            Some(other) => panic!("{other}"),
        };
    assert_eq!(fell(None, &clock(None, 1_650)), None, "2.9 % lower");
    assert_eq!(fell(None, &clock(None, 1_648)), Some((1_648, 1_700, 0)), "3.1 % lower");
    // It came down in the warm-up, and stayed there.
    assert_eq!(fell(None, &clock(Some(1_980), 1_690)), Some((1_690, 1_980, 0)));
    assert_eq!(fell(None, &clock(Some(1_740), 1_690)), None);
    // Sensors had no reading of that moment, or one of another; what they say of the reason counts.
    assert_eq!(fell(Some(&span(1_980, &[], 0)), &clock(None, 1_648)), Some((1_648, 1_700, 0)));
    assert_eq!(fell(Some(&span(1_410, &[], 0)), &clock(None, 1_690)), None);
    assert_eq!(fell(Some(&span(1_980, &["heat"], 0)), &clock(None, 1_690)), Some((1_690, 1_700, 1)));
}

/// A row that follows one that the power cap slowed, on a GPU of 1980 MHz: the sensors still say so, and its own counters
/// say 1958 to 1963 MHz.
#[test]
fn a_cause_that_sensors_keep_from_the_row_before_does_not_count() {
    let megahertz =
        |low: u64, high: u64| Range { low: Hertz(low * 1_000_000), high: Hertz(high * 1_000_000) };
    let clock = |low, high| DeviceClock {
        before: Some(megahertz(1_958, 1_963)),
        during: megahertz(low, high),
        mean: Hertz(low * 1_000_000),
        after: Hertz(low * 1_000_000),
        readings: 7,
        over_time: Vec::new(),
    };
    let rated = Some(Hertz(1_980_000_000));
    let latched = span(1_980, &["power cap"], 0);
    assert_eq!(clocks_fell(Some(&latched), Some(&clock(1_958, 1_963)), rated), None);
    // Held down all the time, it does not fall.
    assert!(clocks_fell(Some(&latched), Some(&clock(1_910, 1_920)), rated).is_some());
    assert_eq!(clocks_fell(None, Some(&clock(1_910, 1_963)), rated), None, "2.7 % lower");
    // Without counters the sensors are all there is.
    assert!(clocks_fell(Some(&latched), None, rated).is_some());
}

/// The samples of a cold sum of 16 MiB on an H200, by events that read 1.28 µs around nothing and take off 1.6.
pub(crate) fn samples(median: f64) -> Samples {
    let mut timer = Timer::new(Nanoseconds(32.0)).with_empty_span(Nanoseconds(1_280.0));
    timer.overhead = Nanoseconds(1_600.0);
    let events = vec![Nanoseconds(median) + timer.overhead; 60];
    let mut method = Method::new(Path::Graph).with_flush(Flush::Discard);
    method.flush_verification = Some(proof());
    Samples {
        method,
        timer,
        warm_up: WarmUpSummary { launches: 9, elapsed: Nanoseconds(1e6), steady: true },
        conditions: None,
        device_clock: None,
        clock_faults: None,
        groups: 1,
        relocations: 0,
        interleaved: false,
        processor_wait: None,
        device_time: Nanoseconds(1e6),
        wall_time: Nanoseconds(1e6),
        converged: true,
        time: summary(&events, &[], &[], timer, None).expect("there are some"),
        dram_stall: None,
        back_to_back: None,
        stream_time: None,
        host_call_time: None,
        prequeued_time: None,
        cross_check: None,
        correction: None,
        event_times: events,
        overheads: Vec::new(),
        interrupted_times: Vec::new(),
        interrupted_count: 0,
        start_intervals: Vec::new(),
    }
}

/// A proof that a flush empties the cache and leaves it clean.
fn proof() -> FlushVerification {
    let [cached, flushed, sweep] = [5_470.0, 7_980.0, 14_740.0].map(Nanoseconds);
    FlushVerification {
        cached_read: cached,
        flushed_read: flushed,
        reference_read: flushed,
        large_read: sweep,
        reference_large_read: sweep,
    }
}

fn h200() -> DeviceInfo {
    let bandwidth = Peak::new(Quantity::MemoryBandwidth, Rate(4.814304e12), PeakSource::Attribute, "");
    DeviceInfo::new("cuda:0", "NVIDIA H200").with_last_level_cache(Bytes(60 << 20)).with_peak(bandwidth)
}

/// A measurement of this work, of whose launch nothing is known.
fn measured(samples: Samples, counts: Counts) -> Measurement {
    Measurement {
        group: None,
        counts,
        data_type: "f32".to_owned(),
        item: None,
        link: None,
        checked: false,
        launch: LaunchInfo::default(),
        relaunch: None,
        verification: None,
        energy: None,
        cool_down: None,
        call_time: None,
        metrics: Metrics::default(),
        setup_memory: None,
        user_metrics: Vec::new(),
        samples,
    }
}

/// A row of these samples that moves `bytes`, given 16 MiB and changing a word of it.
fn row(samples: Samples, bytes: u64) -> Record {
    let mut measurement = measured(samples, Counts { bytes: Some(bytes), ..Counts::default() });
    measurement.launch.written = Some(Written::new(Bytes(16 << 20), Bytes(512), Bytes(512)));
    let mut verdict = judge(&measurement.samples, 0.005, &measurement.declared_work(Cache::Cold), &h200());
    verdict.judge_declared_work(&measurement, Cache::Cold, &h200());
    let case = PlannedCase {
        benchmark: "k::sum".to_owned(),
        args: Vec::new(),
        device: "cuda:0".to_owned(),
        cache: Cache::Cold,
    };
    Record::new(case, Some(measurement), verdict)
}

/// A read of 16 MiB in 4.84 µs that claims twice its bytes has 144 % of the peak: behind a flush that is proven, they had
/// to come from the memory.
#[test]
fn twice_the_bytes_of_a_cold_read_are_impossible() {
    let mut honest = row(samples(4_840.0), 16 << 20);
    assert_eq!((honest.verdict.state, honest.declared_work_in_doubt(&h200())), (State::Valid, None));
    honest.set_changed_when_altered(Some(Bytes(512)), &h200());
    assert_eq!(honest.verdict.state, State::Valid);

    let mut twice = row(samples(4_840.0), 32 << 20);
    assert_eq!(twice.verdict.state, State::Valid, "all of it may be writes, which stay in the cache");
    assert_eq!(twice.declared_work_in_doubt(&h200()), Some(Bytes(32 << 20)));
    let mut writes = twice.clone();
    twice.set_changed_when_altered(Some(Bytes(512)), &h200());
    let reasons: Vec<_> = twice.verdict.reasons.iter().map(ToString::to_string).collect();
    assert_eq!(twice.verdict.state, State::Invalid, "{reasons:?}");
    assert!(
        reasons[0].starts_with(
            "impossible: at least 32.0 MiB of the declared bytes have to cross the memory's bus"
        ),
        "{reasons:?}"
    );
    assert!(reasons[1].starts_with("declared traffic too high: it declares 32 MiB moved"), "{reasons:?}");
    assert_eq!((reasons.len(), twice.declared_work_in_doubt(&h200())), (2, None));
    // Another launch that did write: then they were writes.
    writes.set_changed_when_altered(Some(Bytes(16 << 20)), &h200());
    assert_eq!(writes.verdict.state, State::Valid);
    // Nor is anything said where that was not found out.
    writes.set_changed_when_altered(None, &h200());
    assert_eq!(writes.verdict.state, State::Valid);
}

/// 32 MiB of 32 MiB that a launch is given are no more than it can move. In 4.84 µs all of them were writes, or it did less: another
/// launch has to show which.
#[test]
fn a_claim_that_only_writes_can_explain_is_in_doubt() {
    let mut fast = row(samples(4_840.0), 32 << 20);
    let measurement = fast.measurement.as_mut().expect("it was measured");
    measurement.launch.written = Some(Written::new(Bytes(32 << 20), Bytes(512), Bytes(512)));
    assert_eq!(fast.declared_work_in_doubt(&h200()), Some(Bytes(32 << 20)));
    let mut slow = fast.clone();
    slow.measurement.as_mut().expect("it was measured").samples = samples(48_400.0);
    assert_eq!(slow.declared_work_in_doubt(&h200()), None);
}

/// What is not known of the overhead is its part above the floor; without a proven flush all of it is in doubt.
#[test]
fn behind_a_proven_flush_the_time_holds() {
    let mut samples = samples(4_840.0);
    assert_eq!(limits::longest_possible_time(&samples, true), Nanoseconds(4_840.0 + 320.0 + 32.0));
    assert_eq!(limits::longest_possible_time(&samples, false), Nanoseconds(4_840.0 + 1_600.0 + 32.0));
    samples.method.flush_verification = None;
    assert_eq!(limits::longest_possible_time(&samples, true), Nanoseconds(4_840.0 + 1_600.0 + 32.0));
}

/// A flush that leaves half of the lines, and a cache that is no faster than memory.
#[test]
fn cold_results_need_a_flush_that_empties_the_cache() {
    let judged = |flushed_read, reference_read| {
        let mut samples = samples(48_400.0);
        let [flushed_read, reference_read] = [flushed_read, reference_read].map(Nanoseconds);
        let proof = FlushVerification { flushed_read, reference_read, ..proof() };
        samples.method.flush_verification = Some(proof);
        let claim = DeclaredWork {
            counts: Counts::default(),
            data_type: "f32",
            link: None,
            cold: true,
            written: None,
            operations: None,
        };
        judge(&samples, 0.005, &claim, &h200())
    };
    assert_eq!(judged(7_980.0, 7_980.0).reasons, []);
    for (flushed, reference) in [(6_700.0, 7_980.0), (5_480.0, 5_480.0)] {
        let verdict = judged(flushed, reference);
        assert_eq!(verdict.state, State::Suspect);
        let told = verdict.reasons[0].to_string();
        assert!(told.starts_with("flush not verified: ") && told.contains("`discard`"), "{told}");
    }
}

#[test]
fn nothing_is_said_of_how_well_an_impossible_time_is_known() {
    let mut samples = samples(4_840.0);
    for event in &mut samples.event_times[..20] {
        *event += Nanoseconds(2_000.0);
    }
    samples.converged = false;
    samples.time = summary(&samples.event_times, &[], &[], samples.timer, None).expect("there are some");
    assert!(samples.modes().is_some() && samples.drift().is_some());
    let counts = Counts { reads: Some(64 << 20), ..Counts::default() };
    let claim =
        DeclaredWork { counts, data_type: "f32", link: None, cold: true, written: None, operations: None };
    let verdict = judge(&samples, 0.005, &claim, &h200());
    assert!(matches!(verdict.reasons[..], [Reason::ImpossibleSpeed(_)]), "{verdict:?}");
    let claim = DeclaredWork { counts: Counts::default(), ..claim };
    assert!(judge(&samples, 0.005, &claim, &h200()).reasons.len() >= 3);
}

#[test]
fn a_broken_clock_is_all_that_is_said() {
    let mut samples = samples(4_840.0);
    let faults = ClockFaults { readings: 100, negative: 1, groups: 2, ..ClockFaults::default() };
    samples.clock_faults = Some(faults);
    let broken = row(samples, 1 << 40);
    assert_eq!(broken.verdict.state, State::Invalid);
    let [reason] = &broken.verdict.reasons[..] else { panic!("{:?}", broken.verdict) };
    assert_eq!(
        reason.to_string(),
        "broken clock: 1 of 100 event times is below zero: none of this result's times can be used: update the driver, or measure on another device"
    );
}

/// Work of 40 µs in a call of 1 ms, and samples of 1 ms whose work takes as long once it is all enqueued.
#[test]
fn a_gpu_that_waits_for_the_host_is_idle() {
    let idle = |median, call, held| {
        let samples = Samples { host_call_time: call, prequeued_time: held, ..samples(median) };
        launches::reservations(&LaunchInfo::default(), &samples, false)
    };
    let told = |share| [Reason::GpuIdle { idle_fraction: share, prequeued_time: Nanoseconds(40e3) }];
    assert_eq!(idle(40e3, Some(Nanoseconds(1e6)), None), told(1.0 - 40e3 / 1e6));
    assert_eq!(idle(1e6, None, Some(Nanoseconds(40e3))), told(1.0 - 40e3 / 1e6));
    // The samples were covered at last, and the call is as long as ever.
    assert_eq!(idle(40e3, Some(Nanoseconds(1e6)), Some(Nanoseconds(39.9e3))), told(1.0 - 40e3 / 1e6));
    // A call of some microseconds, and one that takes little longer than its work.
    assert_eq!(idle(2e3, Some(Nanoseconds(50e3)), None), []);
    assert_eq!(idle(40e3, Some(Nanoseconds(150e3)), Some(Nanoseconds(39e3))), []);
}

#[test]
fn what_a_launch_has_the_host_do_is_a_reservation_unless_it_is_declared() {
    use crate::verdict::launches::reservations;

    let host = Observation::HostFunctions { count: 1 };
    let observations = vec![Observation::AllocatesInOrder { count: 2 }, host.clone()];
    let seen = LaunchInfo { observations, ..LaunchInfo::default() };
    assert_eq!(reservations(&seen, &samples(1e5), false), [Reason::Observed(host)]);
    assert_eq!(reservations(&seen, &samples(1e5), true), []);
}

/// A claim is judged anew when more is known of it.
#[test]
fn what_was_said_of_a_claim_before_does_not_count() {
    let before = Reason::NothingWritten { declared: Bytes(4096), may_be_read: false };
    let other = Reason::OtherProcesses { count: 1 };
    let mut verdict = Verdict::of(vec![before, other.clone()]);
    verdict.judge_declared_work(&measured(samples(1e5), Counts::default()), Cache::Hot, &h200());
    assert_eq!(verdict.reasons, [other]);
}

/// A claim that is impossible by what is known last is said once, first, and in place of how well the time is known.
#[test]
fn an_impossible_claim_is_said_once_and_in_place_of_the_precision() {
    // 1 GiB in 10 µs: 22 times the memory's peak.
    let counts = Counts { reads: Some(1 << 30), ..Counts::default() };
    let measured = measured(samples(1e4), counts);
    let other = Reason::Observed(Observation::HostFunctions { count: 1 });
    let mut verdict = Verdict::of(vec![Reason::WideInterval { reached: 0.2, limit: 0.05 }, other.clone()]);
    for _ in 0..2 {
        verdict.judge_declared_work(&measured, Cache::Hot, &h200());
        assert_eq!(verdict.state, State::Invalid);
        assert!(
            matches!(&verdict.reasons[..], [Reason::ImpossibleSpeed(_), rest] if *rest == other),
            "{verdict:?}"
        );
    }
}

/// A second clock that is off by a little less or more than it may be: 0.5 µs for a launch of one piece, and 1 % of a long one.
#[test]
fn a_second_clock_that_disagrees_is_a_reservation_and_says_nothing_of_the_claim() {
    let disagrees = |median: f64, further: f64| {
        let samples = Samples { cross_check: Some(Nanoseconds(median + further)), ..samples(median) };
        methods_disagree(&samples)
    };
    for (median, allowed) in [(4_840.0, 500.0), (100_000.0, 1_000.0)] {
        assert_eq!(disagrees(median, allowed - 1.0), None, "{median}");
        assert_eq!(disagrees(median, 1.0 - allowed), None, "{median}");
        let (time, cross_check) = (Nanoseconds(median), Nanoseconds(median + allowed + 1.0));
        assert_eq!(disagrees(median, allowed + 1.0), Some(Reason::MethodsDisagree { time, cross_check }));
        assert!(disagrees(median, -allowed - 1.0).is_some(), "{median}");
    }
    assert_eq!(disagrees(4_840.0, 500.0), None, "no more than that");
    assert_eq!(methods_disagree(&samples(4_840.0)), None, "no second method");
    let reason = disagrees(4_840.0, 600.0).expect("it is off by 0.6 µs");
    assert!(reason.is_about_time_accuracy());
    assert!(
        !Reason::GpuIdle { idle_fraction: 0.5, prequeued_time: Nanoseconds(1.0) }.is_about_time_accuracy()
    );
}

/// Sixteen groups of 10 µs, of which every other one has inputs at a place where launches take 0.4 µs longer.
fn at_two_kinds_of_place(moves: usize) -> Samples {
    let overhead = Nanoseconds(0.0);
    let overheads = vec![GroupOverhead { samples: 32, overhead }; 16];
    let time = |number: usize| 1e4 + 400.0 * (number / 32 % 2) as f64 + (number * 61 % 32) as f64;
    let events: Vec<_> = (0..512).map(|number| Nanoseconds(time(number))).collect();
    let timer = Timer { overhead, ..samples(1e4).timer };
    let time = summary(&events, &[], &overheads, timer, None).expect("there are some");
    Samples { event_times: events, overheads, timer, time, groups: 16, relocations: moves, ..samples(1e4) }
}

/// Times of two kinds are told where launches on the same inputs have them.
#[test]
fn two_kinds_of_place_are_not_two_kinds_of_launches() {
    assert!(at_two_kinds_of_place(0).modes().is_some());
    assert_eq!(at_two_kinds_of_place(16).modes(), None);
    let mut of_launches = at_two_kinds_of_place(16);
    for event in of_launches.event_times.iter_mut().step_by(5) {
        *event += Nanoseconds(900.0);
    }
    assert!(of_launches.modes().is_some());
}

/// Groups differ by their graphs and places. The thirds of the first list, which is of the fake driver with graphs that differ by 30 ns, are 48 ns
/// apart by chance; those of the others drift.
#[test]
fn a_drift_is_more_than_groups_make_by_chance() {
    let by_chance = |groups: [f64; 9]| {
        let mut samples = at_two_kinds_of_place(0);
        samples.event_times.truncate(288);
        samples.overheads.truncate(9);
        for (number, event) in samples.event_times.iter_mut().enumerate() {
            *event = Nanoseconds(groups[number / 32] + (number * 61 % 32) as f64);
        }
        samples.drift_by_chance().0
    };
    let none = by_chance([3366.0, 3326.0, 3322.0, 3332.0, 3358.0, 3332.0, 3276.0, 3302.0, 3281.0]);
    assert!((none - 52.3).abs() < 0.5, "{none}");
    let steadily = by_chance(std::array::from_fn(|group| 3366.0 - 10.0 * group as f64));
    assert!(steadily < 30.0, "of 60: {steadily}");
    let at_once = by_chance(std::array::from_fn(|group| if group < 4 { 3366.0 } else { 3300.0 }));
    assert!(at_once < 45.0, "of 66: {at_once}");
    let mut few = at_two_kinds_of_place(0);
    few.overheads.truncate(5);
    assert_eq!(few.drift_by_chance(), Nanoseconds::ZERO);
}

#[test]
fn bytes_that_move_otherwise_are_told_with_a_question_for_their_direction() {
    let told = |declared, moved, least| {
        let [declared, moved, least] = [declared, moved, least].map(Bytes);
        Reason::TrafficMismatch { declared, counted: moved, min_traffic: least }.to_string()
    };
    let (most, counted_twice) = ("fetched from memory several times?", "or is something counted twice?");
    assert!(told(1 << 20, 2 << 20, 1 << 20).ends_with(most));
    assert!(told(2 << 20, 1 << 20, 2 << 20).ends_with(counted_twice));
    assert!(told(2 << 20, 1 << 20, 3 << 19).contains("(of which 1.5 MiB cannot stay in the L2)"));
    for least in [2 << 20, 3 << 20] {
        assert!(!told(2 << 20, 1 << 20, least).contains("cannot stay"), "{least}");
    }
}

/// Other programs slow a CPU by more than it drifts by itself.
#[test]
fn drifts_and_modes_on_a_shared_processor_are_reservations_beyond_the_width_of_a_valid_result() {
    let reasons = |path, added: &dyn Fn(usize) -> f64| {
        let mut samples = Samples { method: Method::new(path), ..samples(1e5) };
        for (number, event) in samples.event_times.iter_mut().enumerate() {
            *event += Nanoseconds(1e5 * added(number) + (number * 61 % 60) as f64);
        }
        let claim = DeclaredWork {
            counts: Counts::default(),
            data_type: "f32",
            link: None,
            cold: false,
            written: None,
            operations: None,
        };
        judge(&samples, 0.02, &claim, &h200()).reasons
    };
    let drifts = |part: f64, path| {
        reasons(path, &|number| part * (number / 20) as f64 / 2.0)
            .iter()
            .any(|reason| matches!(reason, Reason::Drift(_)))
    };
    let has_modes = |part: f64, path| {
        reasons(path, &|number| part * (number % 3 % 2) as f64)
            .iter()
            .any(|reason| matches!(reason, Reason::TwoModes(_)))
    };
    for part_of_time in [0.03, 0.08] {
        let beyond = part_of_time > WIDEST;
        assert_eq!([Path::Host, Path::Graph].map(|path| drifts(part_of_time, path)), [beyond, true]);
        assert_eq!([Path::Host, Path::Graph].map(|path| has_modes(part_of_time, path)), [beyond, true]);
    }
}

#[test]
fn a_drift_is_told_with_its_direction() {
    let told = |change| Reason::Drift(gpubench_stats::Drift { change }).to_string();
    assert_eq!(
        told(0.02),
        "drift: the last third of the samples is 2.00 % slower than the first third: the device warms up or slows down, or the work changes: \
         try a longer --warmup, a `reset`, or on a GPU --lock-clocks base"
    );
    assert_eq!(
        told(-0.02),
        "drift: the last third of the samples is 2.00 % faster than the first third: the device warms up or slows down, or the work changes: \
         try a longer --warmup, a `reset`, or on a GPU --lock-clocks base"
    );
}

/// The reason that a launch of this time, which declares these bytes and operations, cannot have done its work on two cores of 6 GHz,
/// where an empty launch takes 2.3 ns.
fn missing(time: f64, bytes: u64, flops: u64, observations: Vec<Observation>) -> Option<Reason> {
    let mut samples = samples(time);
    samples.timer = Timer::new(Nanoseconds(1.0));
    samples.method = Method::new(Path::Host);
    let seen =
        LaunchInfo { empty_launch_time: Some(Nanoseconds(2.3)), observations, ..LaunchInfo::default() };
    let mut info = DeviceInfo::new("host", "a CPU");
    info.core_bandwidth = Some(BytesPerSecond(1_536e9));
    let counts = Counts { bytes: Some(bytes), flops: Some(flops), ..Counts::default() };
    let claim =
        DeclaredWork { counts, data_type: "f32", link: None, cold: false, written: None, operations: None };
    missing_work(&claim, &samples, &seen, &info)
}

#[test]
fn a_launch_that_takes_no_longer_than_an_empty_one_has_lost_its_work() {
    let none = |reason: Option<Reason>| matches!(reason, Some(Reason::NoLongerThanEmpty { .. }));
    for (time, removed) in [(-0.1, true), (1.2, true), (2.0, true), (2.1, false), (21.3, false)] {
        assert_eq!(none(missing(time, 4, 0, Vec::new())), removed, "{time} ns");
        assert_eq!(none(missing(time, 0, 0, Vec::new())), removed, "{time} ns, and it declares nothing");
    }
    // What a core reads of 16 KiB in the time of 128 bytes a cycle at 6 GHz.
    assert_eq!(missing(21.3, 16 << 10, 4 << 10, Vec::new()), None);
    let told = missing(1.2, 1 << 20, 0, Vec::new()).expect("it takes no longer").to_string();
    let words = "no work left: an empty launch takes 2.300 ns, and this one only 1.200 ns more: the compiler may have removed the work (pass inputs \
                 and results through `std::hint::black_box` in `stream.run`), or the case is too small";
    assert_eq!(told, words);
}

#[test]
fn cores_load_and_store_128_bytes_in_a_cycle() {
    // 1 MiB in 682.7 ns is 1536 GB/s. A step of the timer is in the launch's favour.
    assert_eq!(missing(681.8, 1 << 20, 0, Vec::new()), None);
    let reason = missing(681.5, 1 << 20, 0, Vec::new()).expect("it is faster");
    assert!(matches!(reason, Reason::AboveCoreBandwidth { .. }) && reason.is_missing_work(), "{reason}");
    assert_eq!(Verdict::of(vec![reason.clone()]).state, State::Suspect);
    assert!(
        reason.to_string().starts_with(
            "too fast for the cores: its declared bytes divided by its time are 1539 GB/s, and all cores together load and store at most 1536 GB/s"
        ),
        "{reason}"
    );
    // The rate is that of the result, without the step of the timer.
    let fast = missing(10.0, 1 << 20, 0, Vec::new()).expect("it is faster").to_string();
    assert!(fast.contains("declared bytes divided by its time are 104858 GB/s"), "{fast}");
    assert_eq!(missing(681.5, 0, 1 << 30, Vec::new()), None, "operations have peaks of their own");
}

#[test]
fn a_launch_that_ignores_its_stream_has_one_reason() {
    let ignores = Reason::Observed(Observation::NoWork);
    assert_eq!(missing(2.0, 1 << 20, 0, vec![Observation::NoWork]), None, "that says it");
    assert!(ignores.is_missing_work());
    assert_eq!(
        ignores.to_string(),
        "no work on its stream: the launch function never calls `stream.run`: do its work in `stream.run(…)`"
    );
}

#[test]
fn states_are_words() {
    for (state, word) in [(State::Valid, "valid"), (State::Suspect, "suspect"), (State::Invalid, "invalid")] {
        assert_eq!(state.to_string(), word);
        assert_eq!(serde_json::to_value(state).expect("a word"), word);
    }
}
