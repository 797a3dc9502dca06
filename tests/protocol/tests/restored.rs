//! Inputs that `restore` puts back: by a copy on the device before each sample, in the same graph, and outside of its time.

use gpubench_records::method::Path;
use gpubench_records::verdict::{Reason, State};
use protocol::fake::{failed, measure};
use protocol::log::replays;

const RESTORED: &str = env!("CARGO_BIN_EXE_restored");

/// A sort that finds its input sorted is faster, and suspect.
#[test]
fn a_sort_whose_input_is_put_back_is_valid() {
    let measured = measure(RESTORED, &["--quick", "--color", "never"], &[]);
    assert_eq!(failed(&measured.run), [], "{}", measured.ended);
    assert_eq!(measured.run.records.len(), 4, "{}", measured.ended);
    for record in &measured.run.records {
        let (name, verdict) = (record.case.name(), &record.verdict);
        let faster = verdict.reasons.iter().any(|reason| matches!(reason, Reason::FasterOnUsedInputs(_)));
        let restored = !name.ends_with("not_restored");
        assert_eq!(
            verdict.state,
            if restored { State::Valid } else { State::Suspect },
            "{name}: {verdict:?}"
        );
        assert_eq!(faster, !restored, "{name}: {verdict:?}");
        let measurement = record.measurement.as_ref().expect("it was measured");
        assert_eq!(measurement.samples.method.path, Path::Graph, "{name}");
    }
    measured.ended.shows("add `restore = [x]`, which copies it back before each sample, or a `reset`");
}

/// An event or a stamp of the clock opens each sample, and before that and the flush is a copy over the whole input.
#[test]
fn a_copy_precedes_each_sample() {
    let measured = measure(RESTORED, &["--quick", "::cust", "--cache", "cold"], &[("LOG", "")]);
    _ = measured.ended.with_code(0);
    let (mut sorted, mut copied) = (0, 0);
    for replay in replays(&measured.log) {
        for (index, line) in replay.iter().enumerate().filter(|(_, line)| line.is("kernel", "sort_blocks")) {
            let x = line.memory("update").expect("the kernel sorts");
            let before: Vec<_> = replay[..index].iter().rev().take(5).collect();
            let opens = before[0].what == "record" || before[0].is("kernel", "gpubench_stamp");
            assert!(opens, "{before:?}");
            sorted += 1;
            copied += usize::from(before.iter().any(|line| line.memory("write") == Some(x.clone())));
        }
    }
    assert!(sorted > 0 && copied == sorted, "{copied} of {sorted}");
}
