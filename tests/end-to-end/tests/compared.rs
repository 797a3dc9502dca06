//! One benchmark against another, in turn: on launches whose times are known every answer must come out, and what cannot be
//! compared is told before anything is measured.

use anstream::adapter::strip_str;
use end_to_end::running::{Ended, SettingsFile, measure, measure_with, record, run};
use gpubench_records::comparison::{Answer, Comparison};
use gpubench_records::record::Run;
use gpubench_records::verdict::{Reason, State};
use gpubench_table::export::Format;

const SUITE: &str = env!("CARGO_BIN_EXE_compared");
/// The device whose clock is known; the CPU's peaks would take a second.
const CLOCKWORK: [&str; 2] = ["--device", "clockwork"];

#[track_caller]
fn clocked(arguments: &[&str]) -> (Ended, Run) {
    measure(SUITE, &[&CLOCKWORK, arguments].concat())
}

fn ended(arguments: &[&str]) -> Ended {
    run(SUITE, &[&CLOCKWORK, arguments].concat())
}

fn comparison<'a>(run: &'a Run, case: &str) -> &'a Comparison {
    &record(run, case).compared.as_ref().expect("it was compared").comparison
}

/// The lines under the table.
fn block(text: &str) -> String {
    let text = strip_str(text).to_string();
    let (_, block) = text.split_once("\ninterleaved with").expect("something was compared");
    block.split("\n\n").next().expect("there is a first part").to_owned()
}

#[test]
fn every_answer_comes_out() {
    let (ended, run) =
        clocked(&["longer", "blocks", "placed", "--compare-with", "compared::plain[n=10]", "--quick"]);
    insta::assert_snapshot!(block(&ended.with_code(0).stdout), @"
     compared::plain, 99.9 % intervals; a change within ± 0.50 % counts as the same
      longer[n=1]              hot   32.64 µs  against 320.0 µs  -89.80 %  (-89.81 to -89.79 %)  faster than plain[n=10]
      longer[n=1]              cold  32.64 µs  against 320.0 µs  -89.80 %  (-89.81 to -89.79 %)  faster than plain[n=10]
      longer[n=10]             hot   326.4 µs  against 320.0 µs   +2.00 %    (+1.99 to +2.01 %)  slower than plain[n=10]
      longer[n=10]             cold  326.4 µs  against 320.0 µs   +2.00 %    (+1.99 to +2.01 %)  slower than plain[n=10]
      blocks[BLOCK=128, n=1]   hot   32.00 µs  against 320.0 µs  -90.00 %  (-90.01 to -89.99 %)  faster than plain[n=10]
      blocks[BLOCK=128, n=10]  hot   320.0 µs  against 320.0 µs   +0.00 %    (-0.01 to +0.01 %)  same as plain[n=10]
      blocks[BLOCK=256, n=1]   hot   30.40 µs  against 320.0 µs  -90.50 %  (-90.51 to -90.49 %)  faster than plain[n=10]
      blocks[BLOCK=256, n=10]  hot   304.0 µs  against 320.0 µs   -5.00 %    (-5.01 to -4.99 %)  faster than plain[n=10]
      placed                   hot   33.60 µs  against 320.0 µs  -89.50 %  (-89.51 to -89.49 %)  faster than plain[n=10]
    ");
    for (case, answer) in [
        ("compared::longer[n=10] cold", Answer::Slower),
        ("compared::blocks[BLOCK=128, n=10] hot", Answer::Same),
        ("compared::blocks[BLOCK=256, n=10] hot", Answer::Faster),
    ] {
        assert_eq!(comparison(&run, case).answer, answer, "{case}");
    }
    let mut markdown = Vec::new();
    (Format::MARKDOWN.write)(&run, &mut markdown).expect("a vector takes everything");
    let markdown = String::from_utf8(markdown).expect("UTF-8");
    let row = r"| compared::longer\[n=10\] cold | 326.4 µs | 320.0 µs | +2.00 % (+1.99 to +2.01 %) | slower than plain\[n=10\] |";
    assert!(markdown.lines().any(|line| line == row), "{markdown}");
    // Both sides are stored with all their samples, pair by pair.
    let longer = record(&run, "compared::longer[n=10] cold");
    let (own, other) =
        (longer.measurement.as_ref().expect("a number"), longer.compared.as_ref().expect("another"));
    assert_eq!(
        (other.with.to_string(), own.samples.event_times.len()),
        ("compared::plain[n=10]".to_owned(), other.measurement.samples.event_times.len())
    );
    assert_eq!((own.median().0, other.measurement.median().0), (326_400.0, 320_000.0));
    let pairs: usize = other.comparison.rounds.iter().map(|round| round.pairs).sum();
    assert_eq!(pairs, own.samples.event_times.len());
}

/// Metrics of both benchmarks are printed below the times if they differ, and are stored.
#[test]
fn metrics_of_both_are_shown() {
    let (ended, run) = clocked(&["counted", "--compare-with", "counted[n=10]", "--quick"]);
    insta::assert_snapshot!(block(&ended.with_code(0).stdout), @"
     compared::counted, 99.9 % intervals; a change within ± 0.50 % counts as the same
      counted[n=1]  hot  32.00 µs  against 320.0 µs  -90.00 %  (-90.01 to -89.99 %)  faster than counted[n=10]
        steps 9 against 18, -50.00 %; rows 31250 krows/s against 3125 krows/s
    ");
    let first = &run.records[0];
    let other = &first.compared.as_ref().expect("it was compared").measurement;
    let own = first.measurement.as_ref().expect("it was measured");
    let steps = [own, other].map(|it| it.user_metrics.iter().find(|metric| metric.name == "steps"));
    assert_eq!(steps.map(|metric| metric.map(|it| it.value)), [Some(9.0), Some(18.0)], "{run:?}");
}

/// Half a percent of 3.2 µs is half a step of the clock.
#[test]
fn what_the_timer_cannot_tell_is_undecided() {
    let arguments = ["other::plain", "--compare-with", "other::plain", "--quick"];
    let (_, run) = clocked(&arguments);
    assert_eq!(comparison(&run, "compared::other::plain[n=1] hot").answer, Answer::Undecided);
    assert_eq!(comparison(&run, "compared::other::plain[n=10] hot").answer, Answer::Same);
    // A step is less than this.
    let (_, run) = measure_with(
        SUITE,
        &[&CLOCKWORK, &arguments[..]].concat(),
        &[SettingsFile::new("equivalence-margin = \"1.1%\"").variable()],
    );
    assert_eq!(comparison(&run, "compared::other::plain[n=1] hot").answer, Answer::Same);
}

/// A benchmark against itself, one of whose inputs lies where everything takes 5 % longer, takes as long as itself: both rounds
/// of a pair together say so.
#[test]
fn where_inputs_lie_is_no_difference() {
    let (_, run) = clocked(&["placed", "--compare-with", "placed", "--max-time", "1"]);
    let comparison = comparison(&run, "compared::placed hot");
    let ratio = comparison.ratio.expect("there are rounds");
    assert_eq!(comparison.answer, Answer::Same);
    assert!((ratio.value - 1.0).abs() < 1e-9, "{ratio:?}");
    // In every other round it is the other's inputs that lie there.
    let found = comparison.rounds.iter().map(|round| round.log_ratio > 0.04);
    assert!(found.enumerate().all(|(number, longer)| longer == (number % 2 == 0)), "{comparison:?}");
}

#[test]
fn the_inputs_of_both_are_there() {
    let (_, run) = clocked(&["beside", "--compare-with", "beside", "--quick"]);
    assert_eq!(comparison(&run, "compared::beside hot").answer, Answer::Same);
    // Alone it fails, so that it does look.
    ended(&["beside", "--quick"]).with_code(1).shows("1 inputs are there");
}

/// The check sees a launch on fresh inputs after the samples, of both.
#[test]
fn outputs_of_both_are_checked_after_the_samples() {
    let (_, run) = clocked(&["right_once", "--compare-with", "compared::placed", "--quick"]);
    let record = record(&run, "compared::right_once hot");
    assert_eq!(record.verdict.state, State::Invalid, "{:?}", record.verdict);
    let other = record.compared.as_ref().expect("it was compared");
    assert_eq!(other.verdict.state, State::Valid, "{:?}", other.verdict);
    let (_, run) = clocked(&["placed", "--compare-with", "right_once", "--quick"]);
    let other = run.records[0].compared.as_ref().expect("it was compared");
    assert!(matches!(other.verdict.reasons[..], [Reason::FailedAfterwards(_)]), "{:?}", other.verdict);
}

#[test]
fn a_number_of_samples_is_what_it_says() {
    for wanted in [1, 7, 100] {
        let arguments = ["longer", "--compare-with", "compared::plain", "--samples", &wanted.to_string()];
        let (ended, run) = clocked(&arguments);
        for record in &run.records {
            assert_eq!(record.measurement.as_ref().expect("a number").samples.event_times.len(), wanted);
        }
        // A single round tells why it has no difference.
        let words = "?    undecided against plain[n=10] (too few samples for an interval, or times below the timer's resolution: take";
        assert_eq!(ended.stdout.contains(words), wanted == 1, "{ended}");
        let answer = comparison(&run, "compared::longer[n=10] hot").answer;
        assert_eq!(answer, if wanted == 1 { Answer::Undecided } else { Answer::Slower }, "{wanted}");
    }
}

#[test]
fn a_stored_comparison_prints_as_a_live_one() {
    let (ended, run) = clocked(&["longer", "--compare-with", "compared::plain", "--quick"]);
    assert_eq!(
        strip_str(&gpubench_table::render(&run, gpubench_table::Page::default())).to_string(),
        ended.stdout
    );
}

#[test]
fn slower_than_it_may_be_is_a_regression() {
    let gated = |threshold| {
        run(
            SUITE,
            &[
                "longer",
                "--cache",
                "hot",
                "--compare-with",
                "compared::plain",
                "--quick",
                "--fail-on-regression",
                threshold,
            ],
        )
    };
    let regressed = gated("1.9%").with_code(3);
    regressed.shows("2 regressions of 1.90 % or more");
    regressed.shows("compared::longer[n=10] hot: +2.00 % (+1.99 to +2.01 %)");
    // One round has no interval, and a difference that nobody knows passes no gate.
    let arguments =
        ["longer", "--compare-with", "compared::plain", "--samples", "1", "--fail-on-regression", "50%"];
    let unknown = ended(&arguments).with_code(1);
    unknown.shows("0 regressions of 50.0 % or more");
    unknown.shows("gate failed: 4 results without an interval of the difference");
    gated("2.1%").with_code(0).shows("0 regressions of 2.10 % or more");
    gated("noise").with_code(3).shows("2 regressions beyond noise");
    // Faster is none.
    ended(&["compared::plain", "--compare-with", "longer", "--quick", "--fail-on-regression", "1%"])
        .with_code(0)
        .shows("faster than longer[n=10]");
}

#[test]
fn a_partner_that_fails_is_told_as_such() {
    let ended = ended(&["placed", "--compare-with", "without_inputs", "--quick"]).with_code(1);
    ended.shows_against(
        "placed hot",
        "invalid: setup: in `compared::without_inputs`, the benchmark of --compare-with: \"no room\"",
    );
}

/// Nothing is measured where cases do not pair, and all is told.
#[test]
fn what_does_not_pair_says_why() {
    let refuses = |arguments: &[&str], words: &str| {
        let ended: Ended = ended(arguments).with_code(2);
        ended.says_only(words);
    };
    let against = |case: &'static str, with: &'static str, words: &str| {
        refuses(&[case, "--compare-with", with], words);
    };
    against("longer", "nothing", "--compare-with nothing: there is no benchmark of this name");
    against("longer", "lain", "there is no benchmark of this name");
    against(
        "longer",
        "plain",
        "several benchmarks have this name: give the whole name of one: compared::plain, compared::other::plain",
    );
    against(
        "wider",
        "compared::plain",
        "`compared::wider[n=1, m=1]` cannot be compared with `compared::plain`: only this has the argument `m`",
    );
    against("longer", "wider", "has an argument `m`: give its value, as in --compare-with");
    against("longer", "blocks", "has an argument `BLOCK`: give its value");
    against("longer", "blocks[BLOCK=64]", "there is no `BLOCK=64` of that");
    against("longer", "blocks[BLOK=128]", "that has no argument `BLOK`");
    against(
        "longer",
        "compared::plain[n=few]",
        "that does not take these arguments: `few` cannot be read as a value of `n`",
    );
    against("longer", "on_host", "that does not run on clockwork; only what runs on one device is compared");
    against("longer", "blocks[BLOCK=128", "there is no benchmark of this name");
    against(
        "longer",
        "blocks[128]",
        "give a benchmark's name, with its own arguments in brackets, such as sum[BLOCK=128]",
    );
    refuses(
        &["longer", "--fail-on-regression", "5%"],
        "--fail-on-regression needs --baseline or --compare-with",
    );
    refuses(&["longer", "--compare-with", "blocks", "--runs", "2"], "--runs and --compare-with");
}

/// The benchmark itself is left out where others are there; a constant that one side alone has says which code it is.
#[test]
fn what_pairs_with_what() {
    let pairs = |arguments: &[&str]| -> Vec<String> {
        let (_, run) = clocked(&[arguments, &["--cache", "hot", "--quick", "--samples", "2"]].concat());
        let pair = |record: &gpubench_records::record::Record| {
            let with = &record.compared.as_ref().expect("it was compared").with;
            format!("{} {with}", record.case.name()).replace("compared::", "")
        };
        run.records.iter().map(pair).collect()
    };
    assert_eq!(
        pairs(&["compared::plain", "longer", "--arg", "n=1", "--compare-with", "compared::plain"]),
        ["longer[n=1] plain[n=1]"]
    );
    assert_eq!(pairs(&["longer", "--arg", "n=7", "--compare-with", "longer"]), ["longer[n=7] longer[n=7]"]);
    assert_eq!(
        pairs(&["blocks", "--arg", "n=1", "--compare-with", "blocks[BLOCK=128]"]),
        ["blocks[BLOCK=256, n=1] blocks[BLOCK=128, n=1]"]
    );
    assert_eq!(
        pairs(&["blocks", "--arg", "n=1", "--compare-with", "compared::plain"]),
        ["blocks[BLOCK=128, n=1] plain[n=1]", "blocks[BLOCK=256, n=1] plain[n=1]"]
    );
    assert_eq!(
        pairs(&["longer", "--arg", "n=1", "--compare-with", "wider[m=2, n=10]"]),
        ["longer[n=1] wider[n=10, m=2]"]
    );
}

/// The answer depends on the load of the machine, and is not checked.
#[test]
fn this_machines_cpu_compares_too() {
    let arguments = ["on_host", "--device", "host", "--compare-with", "on_host", "--samples", "4", "--quick"];
    let (ended, run) = measure(SUITE, &arguments);
    assert_eq!(run.records.len(), 2, "{ended}");
    for record in &run.records {
        let comparison = &record.compared.as_ref().unwrap_or_else(|| panic!("{ended}")).comparison;
        assert!(comparison.ratio.is_some_and(|ratio| ratio.low < ratio.value && ratio.value < ratio.high));
        assert_eq!(comparison.rounds.iter().map(|round| round.pairs).collect::<Vec<_>>(), [1; 4]);
    }
}
