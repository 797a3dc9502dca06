//! The page: how a small one looks, that no name in it is obeyed, and how large one of many rows is.
//! `scripts/browser-test` opens pages.

use std::time::Instant;

use gpubench_records::id::Arg;
use gpubench_records::method::Cache;
use gpubench_records::record::{Record, Run};
use gpubench_records::text::printable;
use gpubench_records::verification::{CuptiPass, CuptiTimes, TracedActivity, Verification};
use gpubench_report::export::HTML;
use gpubench_stats::units::{Bytes, BytesPerSecond, Nanoseconds};
use insta::assert_snapshot;
use proptest::prelude::*;

use super::{ODD_NAMES, exported, mixed, odd, small};

/// The page without its style and its script, which have files of their own, a line for each element.
fn markup(run: &Run) -> String {
    let mut text = exported(HTML, run);
    for (begin, end) in [("<style>", "</style>"), ("<script>\"", "</script>"), ("<script>//", "</script>")] {
        if let Some(from) = text.find(begin) {
            let to = from + text[from..].find(end).expect("it ends");
            text.replace_range(from + begin.len()..to, "…");
        }
    }
    text.replace("><", ">\n<")
}

/// The text between the first `begin` and the next `end`, and what follows.
fn between<'a>(text: &'a str, begin: &str, end: &str) -> Option<(&'a str, &'a str)> {
    let (_, rest) = text.split_once(begin)?;
    rest.split_once(end)
}

fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
}

#[test]
fn a_small_page_looks_so() {
    assert_snapshot!("clockwork-html", markup(&small("clockwork.jsonl")));
    assert_snapshot!("mixed-html", markup(&mixed()));
}

/// Benchmarks of a group over the same sizes share a drawing for each state of the caches: one scale, a colour and a name each. A group with
/// one benchmark, and benchmarks of a module, have drawings of their own.
#[test]
fn benchmarks_of_a_group_share_a_drawing() {
    let mut run = small("clockwork.jsonl");
    let sample = run.records.remove(0);
    let sweep = |benchmark: &str, group: Option<&str>, ratio: f64| {
        let cases =
            [Cache::Hot, Cache::Cold].into_iter().flat_map(|cache| [1_u64, 8, 64].map(|n| (cache, n)));
        let record = |(cache, n): (Cache, u64)| {
            let mut record = sample.clone();
            record.case.benchmark = format!("kernels::{benchmark}");
            record.case.args = vec![Arg { name: "n".to_owned(), value: n.to_string() }];
            record.case.cache = cache;
            let measurement = record.measurement.as_mut().expect("it was measured");
            measurement.group = group.map(str::to_owned);
            measurement.samples.time.median = Nanoseconds(ratio * 1000.0 * n as f64);
            // The first has no bandwidth, and its colour all the same.
            measurement.metrics.bandwidth = (ratio > 1.0).then_some(BytesPerSecond(1e9 / ratio));
            record
        };
        cases.map(record).collect::<Vec<_>>()
    };
    let drawn = |records: Vec<Vec<Record>>| {
        let page = markup(&Run { records: records.concat(), ..run.clone() });
        let (sweeps, _) = between(&page, "<section id=\"sweeps\"", "</section>").expect("sweeps");
        sweeps.to_owned()
    };
    let titles = |sweeps: &str| {
        let drawings = sweeps.split("<svg ").skip(1);
        drawings.filter_map(|svg| Some(between(svg, "aria-label=\"", "\"")?.0.to_owned())).collect::<Vec<_>>()
    };
    let both = vec![sweep("scan::fast", Some("scan"), 1.0), sweep("scan::simple", Some("scan"), 3.0)];
    let shared = drawn(both);
    assert_eq!(titles(&shared), ["kernels::scan by n, hot", "kernels::scan by n, cold"]);
    for (name, colour) in [("fast", "s0"), ("simple", "s1")] {
        assert!(shared.contains(&format!(">{name}</text>")), "no legend of {name}: {shared}");
        assert!(shared.contains(&format!("line {colour}")), "no line of {name}");
    }
    let lines = |class: &str| shared.matches(&format!("class=\"line {class}\"")).count();
    // In each of two drawings: the legend, the time, and of one the bandwidth.
    assert_eq!((lines("s0"), lines("s1")), (4, 6));
    assert_eq!(titles(&drawn(vec![sweep("scan::fast", Some("scan"), 1.0)])), ["fast by n"]);
    let modules = vec![sweep("scan::fast", None, 1.0), sweep("scan::simple", None, 3.0)];
    assert_eq!(titles(&drawn(modules)), ["fast by n", "simple by n"]);
}

/// The operations of a traced launch are listed with their shares, and the slowdown by tracing is stated. One operation is no list.
#[test]
fn operations_of_a_traced_launch_are_listed() {
    let page = |names: &[&str]| {
        let mut run = small("clockwork.jsonl");
        run.records.truncate(1);
        let measured = run.records[0].measurement.as_mut().expect("it was measured");
        let time = measured.samples.time.clone();
        let activity = |(at, name): (usize, &&str)| TracedActivity {
            name: (*name).to_owned(),
            time: time.mean * [0.75, 0.25][at],
        };
        measured.verification = Some(Verification {
            cupti: Some(CuptiPass::Traced(Box::new(CuptiTimes {
                version: "13.0".to_owned(),
                mean_ci: time.median_ci,
                activities: names.iter().enumerate().map(activity).collect(),
                activity_count: names.len(),
                gaps: Nanoseconds(0.0),
                streams: 1,
                slowdown: Some(Nanoseconds(400.0)),
                slowdown_half_width: Some(Nanoseconds(12.0)),
                wall_time: Nanoseconds(1e8),
                time,
            }))),
            ncu: None,
        });
        markup(&run)
    };
    let traced = page(&["transpose<4>", "scan"]);
    let (list, _) = between(&traced, "<p>2 operations of a launch", "</ol>").expect("a list");
    assert!(
        list.contains("Tracing slows the launch by 400.0 ns ± 12.00 ns, which these times include"),
        "{list}"
    );
    let items: Vec<&str> = list.split("<li>").skip(1).filter_map(|item| item.split("</li>").next()).collect();
    // Of 3.2 µs.
    assert_eq!(items, ["2.400 µs, 75.0 %: transpose&lt;4&gt;", "800.0 ns, 25.0 %: scan"]);
    assert!(!page(&["scan"]).contains("of a launch, by CUPTI"));
}

/// A curve over sizes has a mark where the last-level cache is full.
#[test]
fn sweeps_mark_the_last_level_cache() {
    let mut run = small("clockwork.jsonl");
    let mut record = run.records.remove(0);
    let made = [1_u64, 8, 64].map(|mib| {
        record.case.args = vec![Arg { name: "bytes".to_owned(), value: (mib << 20).to_string() }];
        record.measurement.as_mut().expect("it was measured").counts.bytes = Some(mib << 20);
        record.clone()
    });
    run.records = made.into();
    let info = run.devices.iter_mut().find(|info| info.device == record.device).expect("its device");
    info.last_level_cache = Some(Bytes(24 << 20));
    let page = markup(&run);
    let (sweeps, _) = between(&page, "<section id=\"sweeps\"", "</section>").expect("a sweep");
    assert_eq!(sweeps.matches(">last-level cache, 24 MiB<").count(), 2, "{sweeps}");
}

/// Each name stands in its row, with what a browser would not show as its code, and no element comes from any.
fn assert_names_survive(run: &Run) {
    let page = exported(HTML, run);
    assert_eq!((page.matches("<script").count(), page.matches("</script").count()), (2, 2));
    assert_eq!((page.matches("<!--").count(), page.matches("<b onload").count()), (0, 0));
    assert!(
        page.chars().all(|c| c == '\n' || !c.is_control()),
        "control characters are shown by their codes"
    );
    let (_, mut rest) = page.split_once("<tbody").expect("a row");
    for record in &run.records {
        let (row, after) = between(rest, "<a class=\"name\"", "</a>").expect("a name");
        let shown = unescaped(row.split_once('>').expect("an element").1);
        let name = printable(&record.case.name());
        assert!(name.ends_with(&shown) && !shown.is_empty(), "{shown:?} of {name:?}");
        rest = after;
    }
}

#[test]
fn odd_names_are_shown_and_not_obeyed() {
    assert_names_survive(&odd());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(50))]

    #[test]
    fn any_name_is_shown_and_not_obeyed(
        name in proptest::collection::vec(
            prop_oneof![any::<char>(), proptest::sample::select(ODD_NAMES.concat().chars().collect::<Vec<_>>())], 0..12,
        ).prop_map(String::from_iter)
    ) {
        let mut run = small("clockwork.jsonl");
        run.records.truncate(2);
        for record in &mut run.records {
            record.case.benchmark = format!("odd::x{name}");
        }
        run.notes = vec![name];
        assert_names_survive(&run);
    }
}

/// A run of so many records of so many samples.
fn many(records: usize, samples: usize) -> Run {
    let mut run = mixed();
    let record =
        run.records.iter().find(|record| record.measurement.is_some()).expect("there is one").clone();
    run.records = (0..records)
        .map(|number| {
            let mut record = record.clone();
            record.case.benchmark = format!("kernels::group{}::kernel{}", number / 100, number / 10);
            record.case.args[0].value = (1 << (number % 10)).to_string();
            let measured = record.measurement.as_mut().expect("it was measured");
            let event = |sample: usize| Nanoseconds(10_000.0 + ((sample * 7919 + number) % 1009) as f64);
            measured.samples.event_times = (0..samples).map(event).collect();
            record
        })
        .collect();
    run
}

/// Pages grow by the row, not by the sample.
#[test]
fn rows_of_many_samples_are_small() {
    let sizes = [200, 400].map(|records| exported(HTML, &many(records, 1_000)).len());
    let row = (sizes[1] - sizes[0]) / 200;
    assert!(row < 8_000, "{row} bytes");
}

/// 10,000 records of 1,000 samples. `cargo test --release -p gpubench-report --test exports -- --ignored --nocapture large`
#[test]
#[ignore = "takes long where it is not optimised"]
#[expect(clippy::print_stdout, reason = "its figures are read by whoever runs it")]
fn a_large_page_is_under_20_mib_and_made_in_seconds() {
    let run = many(10_000, 1_000);
    let begin = Instant::now();
    let page = exported(HTML, &run);
    let (seconds, mebibytes) = (begin.elapsed().as_secs_f64(), page.len() as f64 / f64::from(1 << 20));
    if let Some(file) = std::env::var_os("GPUBENCH_LARGE_PAGE") {
        std::fs::write(file, page).expect("it can be written");
    }
    println!("{mebibytes:.1} MiB in {seconds:.1} s");
    assert!(mebibytes < 20.0 && seconds < 5.0, "{mebibytes:.1} MiB in {seconds:.1} s");
}
