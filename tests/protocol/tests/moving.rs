//! Inputs that move between the groups of hot samples: a time is that of many places, and where inputs stay, nothing is lost.

use gpubench_records::record::Measurement;
use gpubench_records::verdict::State;
use protocol::fake::{Measured, library, measure};
use protocol::log::Line;

const MOVING: &str = env!("CARGO_BIN_EXE_moving");

fn found<'a>(measured: &'a Measured, name: &str) -> &'a Measurement {
    found_as(measured, name, State::Valid)
}

fn found_as<'a>(measured: &'a Measured, name: &str, state: State) -> &'a Measurement {
    let record =
        measured.run.records.iter().find(|record| {
            format!("{} {}", record.case.name(), record.case.cache) == format!("moving::{name}")
        });
    let record = record.unwrap_or_else(|| panic!("no {name}: {}", measured.ended));
    assert_eq!(record.verdict.state, state, "{name}: {}", measured.ended);
    record.measurement.as_ref().expect("it is measured")
}

/// Kernels take up to 30 % longer for where their memory lies, and 15 % at the median place.
#[test]
fn a_hot_time_is_that_of_many_places() {
    let time = |asked: &[(&str, &str)]| {
        let measured = measure(MOVING, &["moves", "--precision", "1%"], asked);
        let [hot, cold] = ["moves hot", "moves cold"].map(|name| found(&measured, name).samples.clone());
        assert_eq!((cold.relocations, hot.relocations), (0, hot.groups));
        hot
    };
    let (still, moved) = (time(&[]), time(&[("MEMORY", "0.3")]));
    assert!(moved.groups > still.groups, "{} groups, {}", moved.groups, still.groups);
    let longer = moved.time.median / still.time.median - 1.0;
    assert!((longer - 0.15).abs() <= 0.03, "{longer}");
    let half_width = moved.time.relative_half_width();
    assert!((0.01..=0.03).contains(&half_width), "the interval is that of places: {half_width}");
}

#[test]
fn inputs_that_cannot_be_made_again_stay() {
    let measured = measure(MOVING, &["--quick", "--explain", "moving::"], &[]);
    let [valid, suspect, invalid] = [State::Valid, State::Suspect, State::Invalid];
    for (stays, state) in [
        // Without fresh inputs nothing can be checked after the samples, and a launch that fails on them is wrong.
        ("refuses hot", suspect),
        ("refuses cold", suspect),
        ("knows_the_first hot", invalid),
        ("knows_the_first cold", invalid),
        ("accumulates hot", valid),
        ("large hot", valid),
        ("counts_others hot", valid),
        ("drops_with_a_panic hot", valid),
        ("drops_with_a_panic cold", valid),
    ] {
        assert_eq!(found_as(&measured, stays, state).samples.relocations, 0, "{stays}");
    }
    let moves = found(&measured, "moves hot").samples.relocations;
    assert!(moves >= 8, "{moves}");
    measured.ended.with_code(1).shows(" groups, between which inputs moved ");
}

/// What `setup` left elsewhere is of the inputs that were made last, and these are there as long as the case.
#[test]
fn the_last_inputs_are_kept_too() {
    let measured = measure(MOVING, &["--quick", "reads_the_last"], &[]);
    let moves =
        ["hot", "cold"].map(|cache| found(&measured, &format!("reads_the_last {cache}")).samples.relocations);
    assert!(moves[0] >= 8 && moves[1] == 0, "{moves:?}");
}

/// The launches after the samples, and the cold case, have the inputs of the checked launch, which are still there.
#[test]
fn the_first_inputs_are_kept() {
    let measured = measure(MOVING, &["--quick", "moves"], &[]);
    for case in ["moves hot", "moves cold"] {
        let relaunch = found(&measured, case).relaunch.as_ref().expect("it was launched again");
        assert_eq!(relaunch.differs.0, 0, "{case}");
    }
}

/// CUPTI has eight places.
#[test]
fn what_holds_a_time_has_several_places_too() {
    let library = library().to_str().expect("UTF-8");
    let sets = |case: &str, verify: &[&str]| {
        let arguments = [&["--quick", case, "--cache", "hot", "--samples", "64"], verify].concat();
        let measured = measure(MOVING, &arguments, &[("LOG", ""), ("GPUBENCH_CUPTI", library)]);
        let moves = found(&measured, &format!("{case} hot")).samples.relocations;
        let loads = |line: &&Line| line.what == "call" && line.words[0] == "cuModuleLoadDataEx";
        (measured.log.iter().filter(loads).count(), moves)
    };
    let ((once, none), (often, moves)) = (sets("accumulates", &[]), sets("moves", &[]));
    // One more tells if the inputs can be moved.
    assert_eq!((none, often), (0, once + 1 + moves));
    assert_eq!(sets("moves", &["--verify", "cupti"]), (often + 7, moves));
}
