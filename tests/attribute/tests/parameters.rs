//! Parameters: the ways they are passed, the one that is the stream, and names that the expansion must not collide with.

use std::sync::Arc;

use gpubench::gpu_bench;
use gpubench::host::Stream;

use crate::support::Benchmarks;

#[derive(Clone)]
struct Text(String);

#[gpu_bench(
    setup = Ok((Arc::new(1), vec![1u8, 2], Box::new([3u8]), Text("t".into()), [0u16; 2])),
    check = |shared: Arc<u8>, slice: &[u8], boxed: &[u8; 1], text: Text, array: &[u16]| {
        assert_eq!((*shared, slice, boxed, text.0.as_str(), array), (1, [1, 2].as_slice(), &[3], "t", [7, 7].as_slice()));
    },
    bytes = slice.len() + boxed.len() + text.0.len() + array.len() + usize::from(**shared),
)]
fn each_way(shared: Arc<u8>, slice: &[u8], boxed: &[u8; 1], text: Text, array: &mut [u16], _stream: &Stream) {
    assert_eq!((*shared, slice.len(), boxed[0], text.0.len()), (1, 2, 3, 1));
    array.fill(7);
}

struct View<'a>(&'a [f32]);

#[gpu_bench(setup = Ok((View(&[1.0]), [1u8, 2], |x| x + 1)), reads = view.0.len(), flops = words.as_ref().len())]
fn lifetimes_and_impl<'v, 's>(
    view: &'v View<'v>,
    words: &impl AsRef<[u8]>,
    next: impl Fn(u32) -> u32,
    stream: &'s Stream,
) {
    stream.run(|| assert_eq!(view.0, [1.0]));
    assert_eq!((words.as_ref().len(), next(1)), (2, 2));
}

#[gpu_bench(setup = Ok(((1, 2), 3)))]
fn patterns((a, b): (i32, i32), mut c: u64, _: &Stream) {
    c += 1;
    assert_eq!((a, b, c), (1, 2, 4));
}

#[gpu_bench(args(n = [4, 5], word = ["a", "b"], owned = [String::from("c")], by_reference = [6]), flops = n)]
fn axes_only(owned: &str, n: u64, word: &str, by_reference: &usize, _stream: &Stream) {
    assert_eq!((n, word, owned, *by_reference), (4, "a", "c", 6));
}

#[gpu_bench(args(n = [4], m = [5]), setup = |n, m| Ok((vec![0u8; n * m], 'c')), check = |x, c, n, m| assert_eq!((x.len(), c), (n * m, 'c')))]
fn an_axis_between(x: &[u8], m: usize, stream: &Stream, after: char) {
    assert_eq!(after, 'c');
    stream.run(|| assert_eq!((x.len(), m), (20, 5)));
}

#[gpu_bench(stream = first)]
fn stream_by_option(first: &Stream) {
    first.run(|| ());
}

#[gpu_bench(
    args(n = [2]),
    setup = |n| Ok((vec![stream.threads(); n], queue.threads())),
    reset = stream.run(|| x.fill(queue.threads())),
    check = |x, threads, n| assert_eq!(*x, vec![threads + 1; n]),
)]
fn stream_by_either_name(x: &mut Vec<usize>, _threads: usize, queue: &Stream) {
    queue.run(|| x.iter_mut().for_each(|x| *x += 1));
}

#[gpu_bench(setup = Ok(1u8))]
fn stream_by_value(one: u8, stream: Stream) {
    assert_eq!(stream.run(|| one), 1);
}

#[gpu_bench(
    args(axis_n = [1u8], visitor = [2u8], p0 = [3u8]),
    setup = |state, setup, stream_| Ok((state, setup, stream_)),
    check = |state: &u8, setup, out: &u8, axis_n, visitor, p0| assert_eq!((*state, *setup, *out), (axis_n, visitor, p0)),
    bytes = *state + *setup + *out + axis_n + visitor + p0,
)]
fn names_of_the_expansion(state: &u8, setup: &mut u8, out: &u8, stream: &Stream) {
    stream.run(|| assert_eq!((*state, *setup, *out), (1, 2, 3)));
}

#[gpu_bench(args(r#in = [2usize]), setup = Ok(vec![1u8; r#in]), flops = r#in * r#fn.len())]
fn r#match(r#fn: &[u8], _stream: &Stream) {
    assert_eq!(r#fn.len(), 2);
}

#[gpu_bench(setup = visit())]
fn setup(state: &u8, _stream: &Stream) {
    assert_eq!(*state, 1);
}

fn visit() -> Result<u8, String> {
    Ok(1)
}

/// The benchmarks of this module.
const OURS: Benchmarks = Benchmarks::of(module_path!());

#[test]
fn parameters_are_passed_as_they_are_written() {
    assert_eq!(OURS.run("each_way").counts.bytes, Some(2 + 1 + 1 + 2 + 1));
    assert_eq!(OURS.run("lifetimes_and_impl").counts.flops, Some(2));
    assert_eq!(OURS.run("names_of_the_expansion").counts.bytes, Some(12));
    assert_eq!(OURS.run("axes_only").counts.flops, Some(4));
    for name in ["patterns", "an_axis_between", "stream_by_option", "stream_by_value", "setup"] {
        OURS.run(name);
    }
    assert!(OURS.run("stream_by_either_name").checked);
    let seen = OURS.run("match");
    assert_eq!((seen.axes, seen.counts.flops), (vec![("in", vec!["2".to_owned()])], Some(4)));
}
