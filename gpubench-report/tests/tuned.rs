//! Modules of the best variants: `tuned/recorded.rs` is what is written of recorded races, and is compiled and asked here.

#[path = "tuned/recorded.rs"]
mod recorded;

use std::fs;
use std::path::Path;

use gpubench_records::id::Arg;
use gpubench_records::tuning::{TunedTable, Tuning};
use gpubench_report::write_tuned_module;
use recorded::{broken, kernel};

fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn arg(name: &str, value: &str) -> Arg {
    Arg { name: name.to_owned(), value: value.to_owned() }
}

/// Recorded races on two models, of which the second has another best for small problems, and a benchmark whose axes have all types.
fn tunings() -> [Tuning; 2] {
    let json = fs::read(folder().join("../gpubench-records/tests/tuning.json")).expect("it is there");
    let mut first = Tuning::parse(&json).expect("a tuning");
    let mut second = first.clone();
    second.benchmarks.truncate(1);
    let kernel = &mut second.benchmarks[0];
    "NVIDIA \"B300\"".clone_into(&mut kernel.model);
    let both = [kernel.problems[1].variants.clone(), kernel.problems[0].variants.clone()];
    kernel.problems.iter_mut().zip(both).for_each(|(problem, variants)| problem.variants = variants);

    let broken = &mut first.benchmarks[1];
    let mut other = broken.problems[0].clone();
    broken.problems[0].args = vec![arg("type", "f32"), arg("n", "10")];
    other.args = vec![arg("type", "f64"), arg("n", "10")];
    broken.problems.push(other);
    let chosen = [["-1", "0.5", "true", "a \"b\""], ["2", "3", "false", "c"]];
    for (problem, values) in broken.problems.iter_mut().zip(chosen) {
        problem.variants[0].args =
            ["shift", "scale", "on", "if"].iter().zip(values).map(|(name, value)| arg(name, value)).collect();
    }
    broken.shipped = None;
    [first, second]
}

#[test]
fn the_module_is_the_one_that_is_compiled_here() {
    let tables = TunedTable::of(&tunings()).expect("they agree");
    let mut text = Vec::new();
    write_tuned_module(&tables, &mut text).expect("a vector takes everything");
    let file = folder().join("tests/tuned/recorded.rs");
    if std::env::var_os("INSTA_UPDATE").is_some_and(|update| update == "always") {
        fs::write(&file, &text).expect("the folder is there");
    }
    let recorded = fs::read_to_string(&file).expect("it is there");
    assert_eq!(String::from_utf8(text).expect("UTF-8"), recorded);
}

#[test]
fn the_best_of_a_model_and_a_problem_is_found() {
    const CLOCK: &str = "a clock with known hands";
    let best = |model, n| {
        let kernel::Variant { BLOCK, unroll } = kernel::best(model, kernel::Problem { n });
        (BLOCK, unroll)
    };
    assert_eq!((best(CLOCK, 1), best(CLOCK, 4)), ((128, 1), (256, 2)));
    assert_eq!((best("NVIDIA \"B300\"", 1), best("NVIDIA \"B300\"", 4)), ((256, 2), (128, 1)));
    // Between them 2 is nearer to 1, and 3 to 4.
    assert_eq!(
        (best(CLOCK, 0), best(CLOCK, 2), best(CLOCK, 3), best(CLOCK, 4096)),
        ((128, 1), (128, 1), (256, 2), (256, 2))
    );
    assert_eq!(best("NVIDIA H200", 1), (kernel::DEFAULT.BLOCK, kernel::DEFAULT.unroll));
    assert_eq!((best("NVIDIA H200", 1), kernel::AXES), ((128, 2), "cdc278d9"));
}

#[test]
fn axes_have_the_types_of_their_values() {
    let best = |r#type, n| broken::best("a clock with known hands", broken::Problem { r#type, n });
    let first = broken::Variant { shift: -1, scale: 0.5, on: true, r#if: "a \"b\"" };
    assert_eq!((best("f32", 10), best("f32", 5)), (first, first));
    assert_eq!(best("f64", 10), broken::Variant { shift: 2, scale: 3.0, on: false, r#if: "c" });
    // None resembles it.
    assert_eq!(best("bf16", 10), first);
}
