//! Types and constants are swept: an instance for each combination, the stream's type included.

use std::fmt::Debug;

use gpubench::{CaseError, LaunchStream};
use gpubench::{gpu_bench, host};

use crate::support::Benchmarks;

/// The numbers that the kernels below compute with.
trait Number: Copy + PartialEq + Debug {
    const ONE: Self;
}

impl Number for f32 {
    const ONE: Self = 1.0;
}

impl Number for u8 {
    const ONE: Self = 1;
}

const SMALL: usize = 2;

#[gpu_bench(
    types(T = [f32, u8]),
    consts(BLOCK = [SMALL, 2 * SMALL]),
    args(n = [8, 16]),
    setup = zeros::<T>,
    writes = size_of::<T>() * y.len(),
    items = y.len().div_ceil(BLOCK), "blocks",
    skip_if = BLOCK > n || size_of::<T>() > 8, "too few",
    check = assert!(y.len() == n && y.iter().all(|y| *y == T::ONE)),
)]
#[allow(clippy::manual_slice_size_calculation)]
fn fill<T: Number + Send, const BLOCK: usize>(y: &mut [T], stream: &host::Stream) {
    stream.run(|| y.chunks_mut(BLOCK).for_each(|block| block.fill(T::ONE)));
}

fn zeros<T: Default + Clone>(n: usize) -> Result<Vec<T>, String> {
    Ok(vec![T::default(); n])
}

/// The types of the inputs follow from the signature, and lifetimes and `impl Trait` stand beside what is chosen.
#[gpu_bench(types(T = [[u8; 4], Vec<f32>, &'static str]), setup = Ok((Default::default(), |n| n + 1)))]
fn odd_types<'a, T>(x: &'a T, next: impl Fn(u32) -> u32, _stream: &'a host::Stream)
where
    T: Debug + Default,
{
    assert_eq!((format!("{x:?}").len() < 13, next(1)), (true, 2));
}

#[gpu_bench(consts(FLAG = [true, false], LETTER = ['a']))]
fn other_constants<const FLAG: bool, const LETTER: char>(_stream: &host::Stream) {
    assert_eq!((LETTER, u8::from(FLAG) < 2), ('a', true));
}

/// Another stream of the same device.
#[derive(Clone)]
struct Wrapped(host::Stream);

impl LaunchStream for Wrapped {
    type Source = host::Stream;
    type Owned = Self;

    fn open(source: &mut host::Stream) -> Result<Self, CaseError> {
        host::Stream::open(source).map(Self)
    }
}

trait Run {
    fn go(&self);
}

impl Run for host::Stream {
    fn go(&self) {
        self.run(|| ());
    }
}

impl Run for Wrapped {
    fn go(&self) {
        self.0.go();
    }
}

#[gpu_bench(types(S = [host::Stream, Wrapped]))]
fn on_streams<S: Run>(stream: &S) {
    stream.go();
}

macro_rules! of_type {
    ($name:ident, $t:ty, $size:expr) => {
        #[gpu_bench(types(T = [$t]), consts(SIZE = [$size]), setup = Ok([<$t>::default(); SIZE]))]
        fn $name<T: Number, const SIZE: usize>(x: &[T; SIZE], _stream: &host::Stream) {
            assert!(x[0] != T::ONE);
        }
    };
}
of_type!(by_macro, u8, 1 + 1);

/// Whatever the parameters are called, raw identifiers included.
#[gpu_bench(types(r#type = [u8]), setup = Ok(2))]
#[allow(non_camel_case_types)]
fn raw<r#type: Into<u64> + Copy>(state: r#type, _stream: &host::Stream) {
    assert_eq!(state.into(), 2);
}

/// The benchmarks of this module.
const OURS: Benchmarks = Benchmarks::of(module_path!());

fn generics(name: &str) -> Vec<Vec<String>> {
    let shown = |generic: &gpubench_core::Generic| format!("{}={}", generic.name, (generic.value)());
    OURS.entry(name).variants.iter().map(|variant| variant.generics.iter().map(shown).collect()).collect()
}

#[test]
fn types_and_constants_are_swept() {
    let expected = [["T=f32", "BLOCK=2"], ["T=f32", "BLOCK=4"], ["T=u8", "BLOCK=2"], ["T=u8", "BLOCK=4"]];
    assert_eq!(generics("fill"), expected);
    let seen = OURS.run_with("fill", &[("T", "f32"), ("BLOCK", "4"), ("n", "16")]).unwrap();
    assert_eq!(seen.generics, [("T", "f32".to_owned()), ("BLOCK", "4".to_owned())]);
    assert_eq!((seen.counts.writes, seen.counts.items, seen.skipped), (Some(64), Some(4), None));
    let seen = OURS.run_with("fill", &[("T", "u8"), ("BLOCK", "4"), ("n", "3")]).unwrap();
    assert_eq!((seen.counts.writes, seen.skipped), (Some(3), Some("too few")));

    assert_eq!(generics("odd_types"), [["T=[u8; 4]"], ["T=Vec<f32>"], ["T=&'static str"]]);
    for chosen in ["[u8; 4]", "Vec<f32>", "&'static str"] {
        OURS.run_with("odd_types", &[("T", chosen)]).unwrap();
    }
    assert_eq!(generics("other_constants"), [["FLAG=true", "LETTER=a"], ["FLAG=false", "LETTER=a"]]);
    OURS.run("other_constants");
    assert_eq!(generics("on_streams"), [["S=host::Stream"], ["S=Wrapped"]]);
    OURS.run_with("on_streams", &[("S", "Wrapped")]).unwrap();
    assert_eq!(generics("by_macro"), [["T=u8", "SIZE=2"]]);
    OURS.run("by_macro");
    assert_eq!(generics("raw"), [["type=u8"]]);
    OURS.run("raw");
}
