//! Every option at once, and the function still callable by hand.

use gpubench::{gpu_bench, host};
use gpubench_core::BenchmarkOptions;
use gpubench_records::{Counts, Link};

use crate::support::Benchmarks;

/// y ← a·x + y
#[gpu_bench(
    args(n = [8, 1 << 10], seed = ["one", "two"]),
    tune(seed),
    setup = inputs,
    reads = 4 * (x.len() + y.len()),
    writes = 4 * y.len(),
    flops = 2 * n,
    items = n, "elements",
    metric("fill", "%") = 100 * x.len() / n,
    metric("throughput", "rows/s") = n as f64 / 2.0,
    cold,
    check = verify,
    skip_if = n > 1 << 9 && seed.len() > 3, "long",
    name = "a x plus y",
    group = "blas",
    tags = ["nightly", "level 1"],
    data_type = "f64",
    max_time = 0.5,
    timeout = 5,
    link = d2d,
    energy,
    host_work,
    accumulates,
    ignore,
    stream = queue,
    crate = ::gpubench,
)]
pub fn saxpy(a: f32, x: &[f32], y: &mut [f32], queue: &host::Stream, n: usize) -> Result<(), String> {
    if n == 3 {
        return Err("three is too odd".to_owned());
    }
    queue.run(|| y.iter_mut().zip(x).for_each(|(y, x)| *y += a * x));
    Ok(())
}

fn inputs(n: usize, seed: &str) -> Result<(f32, Vec<f32>, Vec<f32>), &'static str> {
    if n == 5 { Err("five does not fit") } else { Ok((seed.len() as f32, vec![1.0; n], vec![2.0; n])) }
}

fn verify(a: f32, x: &[f32], y: &[f32], n: usize, seed: &str) -> Result<(), String> {
    assert_eq!((a, x.len(), seed.len()), (3.0, n, 3));
    if n == 7 { Err("seven is wrong".to_owned()) } else { Ok(assert_eq!(y, vec![5.0; n])) }
}

/// The benchmarks of this module.
const OURS: Benchmarks = Benchmarks::of(module_path!());

#[test]
fn every_option_is_taken() {
    let entry = OURS.entry("a x plus y");
    assert_eq!(entry.module, module_path!());
    assert_eq!(entry.path(), concat!(module_path!(), "::blas::a x plus y"));
    assert!(entry.file.ends_with("full_form.rs"));
    assert_eq!((entry.line, entry.column), (10, 1));
    let options = BenchmarkOptions {
        cold: true,
        data_type: "f64",
        max_time: Some(0.5),
        timeout: Some(5.0),
        ignore: true,
        group: Some("blas"),
        tags: &["nightly", "level 1"],
        group_tags: &[],
        tune: &["seed"],
        item: Some("elements"),
        link: Some(Link::D2d),
        energy: true,
        host_work: true,
        accumulates: true,
    };
    assert_eq!(entry.options, options);

    let seen = OURS.run("a x plus y");
    assert_eq!(seen.axes[0], ("n", vec!["8".to_owned(), "1024".to_owned()]));
    assert_eq!(seen.axes[1], ("seed", vec!["one".to_owned(), "two".to_owned()]));
    assert_eq!(seen.axes.len(), 2);
    let counts = Counts {
        reads: Some(64),
        writes: Some(32),
        bytes: Some(96),
        intermediates: None,
        flops: Some(16),
        items: Some(8),
    };
    assert_eq!(seen.counts, counts);
    let metrics: Vec<_> = seen.metrics.iter().map(|it| (&*it.name, &*it.unit, it.value)).collect();
    assert_eq!(metrics, [("fill", "%", 100.0), ("throughput", "rows/s", 4.0)]);
    assert!(seen.checked && seen.skipped.is_none() && seen.generics.is_empty());

    let seen = OURS.run_with("a x plus y", &[("n", "20"), ("seed", "two")]).unwrap();
    assert_eq!(seen.counts.flops, Some(40));

    let seen = |seed| OURS.run_with("a x plus y", &[("n", "1024"), ("seed", seed)]).unwrap();
    assert_eq!(seen("six").skipped, None);

    let failure = |n| OURS.run_with("a x plus y", &[("n", n)]).unwrap_err().to_string();
    assert_eq!(failure("3"), "launch: three is too odd");
    assert_eq!(failure("5"), "setup: five does not fit");
    assert_eq!(failure("7"), "check: seven is wrong");

    let _: fn(f32, &[f32], &mut [f32], &host::Stream, usize) -> Result<(), String> = saxpy;
}
