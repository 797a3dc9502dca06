//! Launches that are as they should be, although some do what others are refused for.

use std::cell::OnceCell;

use gpubench::cuda::RawStream;
use gpubench::gpu_bench;

use crate::calls::{allocate_for, call_host, copy, free_for, set};
use crate::gpu::{Array, Beside, Done, Event, Graph, Module, OWN, THREADS, bits};
use crate::once_mistaken::{Filled, N, Turned};

#[gpu_bench(setup = Filled::new(N), writes = filled.y.bytes(), check = |filled| filled.y.is(0.5))]
fn several_kernels(filled: &Filled, stream: &RawStream) -> Done {
    [0.1, 0.2, 0.3, 0.4, 0.5].into_iter().try_for_each(|a| filled.fill(a, stream.stream().cast()))
}

/// Two streams that the given one forks and joins, each with half of the work.
struct Forked {
    halves: [Filled; 2],
    beside: Beside,
    events: [Event; 2],
}

impl Forked {
    fn new() -> Done<Self> {
        let halves = [Filled::new(N)?, Filled::new(N)?];
        Ok(Self { halves, beside: Beside::new(0)?, events: [Event::new()?, Event::new()?] })
    }
}

#[gpu_bench(setup = Forked::new(), writes = 8 * N)]
fn forks_and_joins(forked: &Forked, stream: &RawStream) -> Done {
    let Forked { halves: [left, right], beside, events: [fork, join] } = forked;
    fork.record(stream.stream().cast())?;
    fork.holds(beside.0)?;
    left.fill(0.5, stream.stream().cast())?;
    right.fill(0.5, beside.0)?;
    join.record(beside.0)?;
    join.holds(stream.stream().cast())
}

#[gpu_bench(setup = Ok((Array::of(0.5, N)?, Array::of(0.0, N)?)), reads = x.bytes(), writes = y.bytes(), cold)]
fn copies_on_the_device(x: &Array, y: &Array, stream: &RawStream) -> Done {
    copy(y, x, x.bytes(), stream.stream().cast())
}

#[gpu_bench(setup = Array::of(0.0, N), writes = y.bytes())]
fn sets_memory(y: &Array, stream: &RawStream) -> Done {
    set(y, 0.5, stream.stream().cast())
}

/// Threads come in any order, so that the last bits of two sums differ.
struct Atomic {
    own: Module,
    x: Array,
    total: Array,
}

impl Atomic {
    const N: u64 = 1 << 16;

    fn new() -> Done<Self> {
        let x: Vec<f32> = (0..Self::N).map(|index| if index % 2 == 0 { 0.1 } else { 0.3 }).collect();
        Ok(Self { own: Module::load(OWN)?, x: Array::from(&x)?, total: Array::of(0.0, 1)? })
    }

    fn is_near(&self) -> Result<(), String> {
        let (total, expected) =
            (self.total.read(0).map_err(|error| error.to_string())?, 0.2 * Self::N as f32);
        let near = (total - expected).abs() < 1e-3 * expected;
        if near { Ok(()) } else { Err(format!("the sum is {total} and not {expected}")) }
    }
}

#[gpu_bench(setup = Atomic::new(), reads = atomic.x.bytes(), check = |atomic| atomic.is_near())]
fn sums_in_any_order(atomic: &Atomic, stream: &RawStream) -> Done {
    let Atomic { own, x, total } = atomic;
    set(total, 0.0, stream.stream().cast())?;
    own.launch("atomic_sum", x.n / THREADS, &[x.at, x.n, total.at], stream.stream().cast())
}

fn add(filled: &Filled, stream: &RawStream) -> Done {
    filled.module.launch(
        "rmw",
        filled.blocks(),
        &[bits(0.5), filled.y.at, filled.y.n],
        stream.stream().cast(),
    )
}

#[gpu_bench(
    setup = Filled::new(N),
    reset = |filled, stream| filled.fill(0.0, stream.stream().cast()),
    reads = filled.y.bytes(),
    writes = filled.y.bytes(),
    check = |filled| filled.y.is(0.5),
)]
fn changes_in_place(filled: &Filled, stream: &RawStream) -> Done {
    add(filled, stream)
}

/// Its outputs differ from launch to launch on purpose.
#[gpu_bench(setup = Filled::new(N), reads = filled.y.bytes(), writes = filled.y.bytes(), accumulates)]
fn accumulates(filled: &Filled, stream: &RawStream) -> Done {
    add(filled, stream)
}

/// Zeros over zeros.
#[gpu_bench(
    setup = Ok((Module::load(OWN)?, Array::of(-1.0, N)?, Array::of(0.0, N)?)),
    reads = x.bytes(),
    writes = y.bytes(),
)]
fn writes_zeros(own: &Module, x: &Array, y: &Array, stream: &RawStream) -> Done {
    own.launch("relu", N / THREADS, &[x.at, y.at, N], stream.stream().cast())
}

#[gpu_bench(setup = Filled::new(N))]
fn allocates_on_its_stream(filled: &Filled, stream: &RawStream) -> Done {
    let scratch = allocate_for(4096, stream.stream().cast())?;
    filled.fill(0.5, stream.stream().cast())?;
    free_for(scratch, stream.stream().cast())
}

/// What a library does when it is first called.
#[gpu_bench(setup = Ok((Filled::new(N)?, OnceCell::new())))]
fn allocates_at_first(filled: &Filled, own: &OnceCell<(Array, Module)>, stream: &RawStream) -> Done {
    if own.get().is_none() {
        // That there is something already is nothing to tell.
        _ = own.set((Array::uninitialized(N)?, Module::load(OWN)?));
    }
    filled.fill(0.5, stream.stream().cast())
}

/// The host's part belongs to it, and it says so.
#[gpu_bench(setup = Filled::new(N), host_work)]
fn declares_its_host_work(filled: &Filled, stream: &RawStream) -> Done {
    filled.fill(0.5, stream.stream().cast())?;
    call_host(stream.stream().cast())
}

fn captured() -> Done<(Graph, Filled)> {
    let filled = Filled::new(N)?;
    let graph = Graph::of(|stream| {
        filled.fill(0.25, stream)?;
        filled.fill(0.5, stream)
    })?;
    Ok((graph, filled))
}

#[gpu_bench(setup = captured(), check = |_graph, filled| filled.y.is(0.5))]
fn graph_of_its_own(graph: &Graph, filled: &Filled, stream: &RawStream) -> Done {
    _ = filled;
    graph.launch(stream.stream().cast())
}

#[gpu_bench(setup = Turned::new(), flops = Turned::FLOPS)]
fn arithmetic(turned: &Turned, stream: &RawStream) -> Done {
    turned.launch(stream)
}
