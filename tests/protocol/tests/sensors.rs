//! Readings of a GPU's sensors beside a measurement, and the reasons against rows that follow from them.

use gpubench_records::HeatLevel;
use gpubench_records::record::Record;
use gpubench_records::samples::Energy;
use gpubench_stats::units::{Hertz, Nanoseconds, Range, Watts};
use protocol::fake::{Measured, measure};

const KERNELS: &str = env!("CARGO_BIN_EXE_kernels");

/// One cold case, beside which readings are taken every 20 ms.
fn copies(asked: &[(&str, &str)]) -> Measured {
    let copy = ["cuda::copy", "--arg", "n=4194304", "--cache", "cold", "--warmup", "200ms", "--explain"];
    measure(KERNELS, &copy, asked)
}

fn reasons(measured: &Measured) -> Vec<String> {
    measured.run.records[0].verdict.reasons.iter().map(ToString::to_string).collect()
}

#[test]
fn what_the_sensors_say_is_recorded_and_shown() {
    let measured = copies(&[("CLOCKS", "1980")]);
    assert_eq!(reasons(&measured), Vec::<String>::new());
    let measurement = measured.run.records[0].measurement.as_ref().expect("it was measured");
    let conditions = measurement.samples.conditions.as_ref().expect("there are sensors");
    for clock in [conditions.before.sm_clock, conditions.after.sm_clock] {
        assert_eq!(clock, Some(Hertz(1_980_000_000)));
    }
    let during = &conditions.during;
    assert!(during.readings >= 1);
    assert_eq!(during.memory_clock, Some(Range { low: Hertz(3_201_000_000), high: Hertz(3_201_000_000) }));
    assert_eq!(
        (during.temperature, during.power),
        (Some(Range { low: 41, high: 41 }), Some(Range { low: Watts(212.4), high: Watts(212.4) }))
    );
    assert_eq!((during.throttle_reasons.len(), during.other_processes), (0, Some(0)));
    let over_time = &conditions.over_time;
    assert!(over_time.len() <= measurement.samples.groups.min(during.readings), "{over_time:?}");
    assert!(
        over_time.is_sorted_by(|a, b| a.at < b.at) && over_time.iter().all(|reading| reading.at.0 >= 0.0)
    );
    let ended = measured.ended.with_code(0);
    ended.shows("highest clock 1980 MHz · highest memory clock 3201 MHz · power limit 700 W · ECC on · MIG off · compute mode default · persistence on · other processes 0");
    ended.shows("  sensors   multiprocessors at 1980 MHz; memory at 3201 MHz; 212 W; 41 °C; not throttled; 0 other processes (");
}

#[test]
fn what_holds_the_clock_down_makes_a_row_suspect() {
    // That it idles (1) and that clocks were set (2) do not; the power cap (4) does.
    let low = ("COUNTED", "1910@0");
    assert_eq!(reasons(&copies(&[("SLOWED", "3"), low])), Vec::<String>::new());
    // The row before was capped, and sensors still say so: the GPU's own counters do not.
    assert_eq!(reasons(&copies(&[("SLOWED", "7"), ("COUNTED", "1960@0")])), Vec::<String>::new());
    let capped = copies(&[("SLOWED", "7"), low]);
    assert_eq!(
        reasons(&capped),
        [
            "clocks: multiprocessors ran at 1910 MHz, held down by power cap: lock a clock that the GPU can keep (--lock-clocks base)"
        ]
    );
    capped.ended.with_code(0).shows("1 result: 0 valid, 1 suspect, 0 invalid");
}

/// The wait ends at the threshold, is stored, and is no part of the time limit, which is shorter here.
#[test]
fn a_case_begins_when_the_gpu_is_cool() {
    let heat = format!("{}66,60,59", "80,".repeat(35));
    let arguments = ["cuda::copy", "--arg", "n=4096", "--cache", "both", "--samples", "8", "--warmup", "0"];
    let cooled = [&arguments[..], &["--cool-down", "60C", "--timeout", "3s", "--explain"]].concat();
    let measured = measure(KERNELS, &cooled, &[("HEAT", &heat)]);
    assert_eq!(measured.run.sampling.cool_down, Some(HeatLevel::Temperature(60)));
    let [hot, cold] = &measured.run.records[..] else { panic!("{:?}", measured.run.records) };
    let [hot, cold] = [hot, cold].map(|record| {
        let measured = record.measurement.as_ref().unwrap_or_else(|| panic!("{:?}", record.verdict));
        let start = measured.samples.conditions.as_ref().and_then(|it| it.before.temperature);
        (measured.cool_down.expect("there are sensors"), start)
    });
    assert_eq!((hot.0.before, hot.0.after), (HeatLevel::Temperature(80), HeatLevel::Temperature(60)));
    assert!(hot.0.waited > Nanoseconds::from_seconds(3.6), "36 pauses of 0.1 s, not {}", hot.0.waited);
    assert_eq!((cold.0.before, cold.0.waited), (HeatLevel::Temperature(59), Nanoseconds::ZERO));
    assert_eq!([hot.1, cold.1], [Some(59); 2]);
    let ended = measured.ended.with_code(0);
    ended.shows(&format!("  cool-down waited {}, from 80 °C to 60 °C; at most 60 °C wanted", hot.0.waited));
    ended.shows("  cool-down no wait: 59 °C, at most 60 °C wanted");
    assert!(!ended.stdout.contains("no cool-down"), "{ended}");
}

#[test]
fn without_sensors_cases_begin_at_once() {
    let arguments = ["cuda::copy", "--arg", "n=4096", "--cache", "both", "--quick", "--cool-down", "150W"];
    let ended = measure(KERNELS, &arguments, &[]).ended.with_code(0);
    let warning = "warning: --cool-down 150 W: cases on `cuda:0` begin at once: no-libnvml-here not found";
    assert_eq!(ended.stderr.matches("--cool-down").count(), 1, "{ended}");
    assert!(ended.stderr.contains(warning), "{ended}");
    ended.shows("no cool-down for 2 results: no sensor reads what `--cool-down` names");
}

#[test]
fn another_process_on_the_gpu_makes_a_row_suspect() {
    assert_eq!(reasons(&copies(&[("PROCESSES", "1")])), Vec::<String>::new());
    assert_eq!(
        reasons(&copies(&[("PROCESSES", "3")])),
        ["other processes: 2 had a context on the device during sampling: stop them, and measure again"]
    );
}

/// The clock falls after 0.3 s of the device's time, among the samples, and sensors do not notice; nor would they be asked where they
/// are missing.
#[test]
fn the_clock_is_counted_behind_every_group() {
    let sampled = |until: [&str; 2], counted, asked: &[(&str, &str)]| {
        let arguments = ["cuda::copy", "--arg", "n=4194304", "--cache", "cold", "--explain"];
        let asked = [asked, &[("COUNTED", counted)]].concat();
        let measured = measure(KERNELS, &[&arguments[..], &until].concat(), &asked);
        let clock =
            measured.run.records[0].measurement.as_ref().and_then(|it| it.samples.device_clock.clone());
        (reasons(&measured), clock.expect("the fake counts"), measured.ended.with_code(0))
    };
    let fallen = |counted, asked: &[(&str, &str)]| sampled(["--samples", "6000"], counted, asked);
    let megahertz =
        |low: u64, high: u64| Range { low: Hertz(1_000_000 * low), high: Hertz(1_000_000 * high) };
    let (reasons, clock, ended) = fallen("1410@0.2", &[]);
    assert_eq!(
        reasons,
        [
            "clocks: multiprocessors ran at 1410 MHz to 1980 MHz, and the driver gives no reason: lock a clock that the GPU can keep (--lock-clocks base)"
        ]
    );
    assert_eq!((clock.during, clock.after), (megahertz(1410, 1980), Hertz(1_410_000_000)));
    assert_eq!(clock.before, Some(megahertz(1980, 1980)));
    assert!(clock.readings > 20 && (1_410_000_000..1_980_000_000).contains(&clock.mean.0), "{clock:?}");
    let over_time = &clock.over_time;
    assert_eq!(over_time.len(), clock.readings);
    assert!(over_time.is_sorted_by(|a, b| a.samples < b.samples && a.at < b.at), "{over_time:?}");
    assert_eq!(over_time.last().map(|group| group.clock), Some(clock.after));
    ended.shows(
        "  clock     multiprocessors at 1410 MHz to 1980 MHz by their own counters, read after each of ",
    );
    // Beside sensors that see nothing of it, and where it is less than 3 %.
    assert_eq!(fallen("1410@0.2", &[("CLOCKS", "1980")]).0, reasons);
    assert_eq!(fallen("1930@0.2", &[("CLOCKS", "1980")]).0, Vec::<String>::new());
    // Where the number of samples is not fixed, those so far were warm-up: the time is that at the lower clock, and the row says so.
    let (reasons, clock, _) = sampled(["--min-time", "0.3"], "1410@0.2", &[]);
    assert_eq!((clock.before, clock.during), (Some(megahertz(1410, 1980)), megahertz(1410, 1410)));
    assert_eq!(
        reasons,
        [
            "clocks: multiprocessors ran at 1410 MHz to 1980 MHz, and the driver gives no reason: lock a clock that the GPU can keep (--lock-clocks base)"
        ]
    );
}

/// Most machines that run these tests have no such library.
#[test]
fn without_the_library_there_are_no_conditions() {
    let measured = copies(&[]);
    let Record { measurement, verdict, .. } = &measured.run.records[0];
    assert_eq!(measurement.as_ref().map(|it| it.samples.conditions.clone()), Some(None));
    assert_eq!(verdict.reasons, []);
    measured.ended.with_code(0).shows(" · sensors none (no-libnvml-here not found)");
}

/// The energies that are found for a power of 212.4 W, counted every so many milliseconds.
#[track_caller]
fn energies(arguments: &[&str], counted: Option<&str>) -> (Vec<Option<Energy>>, Measured) {
    let asked: Vec<(&str, &str)> = counted.map(|period| ("ENERGY", period)).into_iter().collect();
    let measured = measure(
        KERNELS,
        &[arguments, &["--warmup", "20ms", "--max-time", "0.05", "--explain"]].concat(),
        &asked,
    );
    let energies = measured
        .run
        .records
        .iter()
        .map(|record| record.measurement.as_ref().expect("it was measured").energy.clone());
    (energies.collect(), measured)
}

/// `fma` asks for it. 60 ms are sixteen updates in a second, of which a busy machine may miss some.
#[test]
fn energy_is_what_back_to_back_launches_draw() {
    let (energies, measured) = energies(&["power::fma", "--arg", "steps=64"], Some("60"));
    let [Some(Energy::Measured(energy))] = &energies[..] else { panic!("{energies:?}") };
    assert!((energy.power.0 / 212.4 - 1.0).abs() < 0.05 && energy.updates >= 10, "{energy:?}");
    assert!((energy.sensor_power.expect("there is one").0 - 212.4).abs() < 1e-9, "{energy:?}");
    let each = energy.per_launch.0;
    assert!(
        (each * energy.launches as f64 / energy.wall_time.as_seconds() / energy.power.0 - 1.0).abs() < 1e-9
    );
    let measurement = measured.run.records[0].measurement.as_ref().expect("it was measured");
    let flops = measurement.counts.flops.expect("it has some") as f64;
    assert!((measurement.metrics.flops_per_joule.expect("both are known") * each / flops - 1.0).abs() < 1e-9);
    let ended = measured.ended.with_code(0);
    // How wide the columns are depends on what was drawn, and so on this machine's clock.
    let head = ended.stdout.lines().find(|line| line.contains(" GFLOP/s ")).expect("the table has a head");
    assert!(head.contains(" energy "), "{head}");
    ended.shows(" back-to-back launches; ");
    ended.shows("; includes idle power; from ");
}

#[test]
fn energy_that_is_not_known_is_told_with_the_reason() {
    let quick = energies(&["power::fma", "--arg", "steps=64", "--quick"], Some("20"));
    assert_eq!(quick.0, [None]);
    for (counted, why) in [
        (Some("250"), " s, and less than 10 say little"),
        (Some("0"), "the device does not count its energy"),
        (None, "there are no sensors: no-libnvml-here not found"),
    ] {
        // Cold launches are none that follow one another.
        let (energies, measured) = energies(&["cuda::copy[n=4194304]", "--energy"], counted);
        let [Some(Energy::Unavailable(told)), None] = &energies[..] else { panic!("{energies:?}") };
        assert!(told.contains(why), "{told}");
        assert_eq!(measured.run.records[0].verdict.reasons, []);
        measured.ended.with_code(0).shows(&format!("no energy for 1 result: {told}"));
    }
}
