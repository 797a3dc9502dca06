//! Values of `args`: any type that can be shown, any way to iterate, several axes against each other or together.

use std::fmt::{self, Display};
use std::sync::LazyLock;

use gpubench::{gpu_bench, host};

use crate::support::Benchmarks;

/// Shown, and not to be parsed.
#[derive(Clone, Debug, PartialEq)]
enum Layout {
    Rows,
    Columns,
}

/// Shown by its `Display`, which goes before its `Debug`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Shape(usize, usize);

impl Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.0, self.1)
    }
}

static NAMES: LazyLock<Vec<String>> = LazyLock::new(|| vec!["one".to_owned(), "two".to_owned()]);

fn sizes() -> impl Iterator<Item = usize> {
    (1..4).map(|n| n * 100)
}

#[gpu_bench(
    args(
        exact = [1u8, 2],
        range = 3..5,
        inclusive = 6..=7,
        powers = pow2(10..=12),
        halves = pow2([1, 3]).map(|n| n as f64 / 4.0),
        layout = [Layout::Rows, Layout::Columns],
        shape = [Shape(2, 3)],
        letter = ['x', 'y'],
        name = NAMES.iter().map(String::as_str),
        size = sizes(),
        on = [true, false],
    ),
    items = range + inclusive,
)]
#[allow(clippy::too_many_arguments)]
fn types(
    exact: u8,
    range: u64,
    powers: usize,
    halves: f64,
    layout: &Layout,
    shape: Shape,
    letter: char,
    name: &str,
    _stream: &host::Stream,
) {
    let _ = (exact, powers, halves, letter);
    assert!(range < 9 && *layout != Layout::Columns && shape == Shape(2, 3) && name.len() > 2);
}

/// `zip` has arguments go together; `pow2` may be the user's own name elsewhere.
#[gpu_bench(
    args(k = [7], zip(rows = [1, 2, 3], columns = pow2(0..3)), zip = [9]),
    setup = |k, rows, columns, zip| Ok(k + rows * columns + zip),
    skip_if = pow2() > columns && rows > 2, "never",
)]
fn zipped(made: usize, zip: usize, _stream: &host::Stream) {
    assert_eq!((made, zip), (17, 9));
}

fn pow2() -> usize {
    1
}

#[gpu_bench(args(n = gpubench::pow2(4..=5)), flops = n)]
fn by_its_path(_stream: &host::Stream) {}

/// The benchmarks of this module.
const OURS: Benchmarks = Benchmarks::of(module_path!());

#[test]
fn what_args_lists_is_what_launches_get() {
    let seen = OURS.run("types");
    let texts = |texts: &[&str]| texts.iter().map(ToString::to_string).collect::<Vec<_>>();
    let expected = [
        ("exact", texts(&["1", "2"])),
        ("range", texts(&["3", "4"])),
        ("inclusive", texts(&["6", "7"])),
        ("powers", texts(&["1024", "2048", "4096"])),
        ("halves", texts(&["0.5", "2"])),
        ("layout", texts(&["Rows", "Columns"])),
        ("shape", texts(&["2x3"])),
        ("letter", texts(&["x", "y"])),
        ("name", texts(&["one", "two"])),
        ("size", texts(&["100", "200", "300"])),
        ("on", texts(&["true", "false"])),
    ];
    assert_eq!(seen.axes, expected);
    assert_eq!((seen.sweeps, seen.counts.items), (vec![1; 11], Some(9)));

    // What can be parsed need not be listed: numbers, texts, and listed names of what cannot.
    let chosen = [("range", "8"), ("halves", "0.125"), ("name", "three"), ("size", "1"), ("letter", "z")];
    assert_eq!(OURS.run_with("types", &chosen).unwrap().counts.items, Some(14));

    assert_eq!(OURS.run("zipped").sweeps, [1, 2, 1]);
    assert_eq!(OURS.run("by_its_path").counts.flops, Some(16));
}
