//! Launch functions whose inputs carry state from launch to launch: honest ones, such as double buffering, and ones that are fast
//! because of what an earlier launch left behind.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use gpubench::cuda::RawStream;
use gpubench::gpu_bench;
use gpubench_driver::sys::{CUdeviceptr, CUstream};

use crate::calls::{allocate_for, copy, free, synchronize};
use crate::deceiving::HONEST;
use crate::gpu::{Array, DEFAULT, Done, ELEMENTWISE, INPUTS, Module, OWN, THREADS, bits};
use crate::once_mistaken::{Filled, N};

/// Two arrays and a kernel that reads both.
struct Saxpy {
    module: Module,
    x: Array,
    y: Array,
}

impl Saxpy {
    fn new() -> Done<Self> {
        Ok(Self { module: Module::load(ELEMENTWISE)?, x: Array::of(0.5, N)?, y: Array::of(1.0, N)? })
    }
}

/// y ← y + a·x, with a check of one launch.
#[gpu_bench(
    setup = Saxpy::new(),
    reads = saxpy.x.bytes() + saxpy.y.bytes(),
    writes = saxpy.y.bytes(),
    check = |saxpy| saxpy.y.is(2.0),
)]
fn adds_to_its_output(saxpy: &Saxpy, stream: &RawStream) -> Done {
    let Saxpy { module, x, y } = saxpy;
    module.launch("saxpy", y.n / 4 / THREADS, &[bits(2.0), x.at, y.at, y.n], stream.stream().cast())
}

/// Buffers that change places after each step. The first is the newest.
struct Ring {
    own: Module,
    buffers: Vec<Array>,
}

impl Ring {
    /// The values are those of the newest buffer, and of all others.
    fn new(buffers: usize, newest: f32, others: f32) -> Done<Self> {
        let value = |index: usize| if index == 0 { newest } else { others };
        let buffers = (0..buffers).map(|index| Array::of(value(index), N)).collect::<Done<_>>()?;
        Ok(Self { own: Module::load(OWN)?, buffers })
    }

    /// A ring after one step, so that the buffers have changed places once.
    fn stepped(buffers: usize) -> Done<Self> {
        let mut ring = Self::new(buffers, 0.0, 0.0)?;
        ring.step("jacobi", DEFAULT)?;
        synchronize(DEFAULT)?;
        Ok(ring)
    }

    fn step(&mut self, kernel: &str, stream: CUstream) -> Done {
        let [x, .., y] = &self.buffers[..] else { return Ok(()) };
        self.own.launch(kernel, x.n / THREADS, &[x.at, y.at, x.n], stream)?;
        self.buffers.rotate_right(1);
        Ok(())
    }

    fn newest(&self) -> &Array {
        &self.buffers[0]
    }
}

/// A Jacobi step from x to y, which then change places.
#[gpu_bench(
    setup = Ring::new(2, 0.0, 0.0),
    reads = ring.newest().bytes(),
    writes = ring.newest().bytes(),
    check = |ring| ring.newest().is(1.0),
    cold,
)]
fn jacobi_swaps(ring: &mut Ring, stream: &RawStream) -> Done {
    ring.step("jacobi", stream.stream().cast())
}

/// The same after a step in `setup`: the parity of all launches is the other one.
#[gpu_bench(
    setup = Ring::stepped(2),
    reads = ring.newest().bytes(),
    writes = ring.newest().bytes(),
    check = |ring| ring.newest().is(2.0),
)]
fn jacobi_swaps_once_more(ring: &mut Ring, stream: &RawStream) -> Done {
    ring.step("jacobi", stream.stream().cast())
}

/// Without a check and without declared bytes.
#[gpu_bench(setup = Ring::new(2, 0.0, 0.0))]
fn jacobi_swaps_unchecked(ring: &mut Ring, stream: &RawStream) -> Done {
    ring.step("jacobi", stream.stream().cast())
}

#[gpu_bench(
    setup = Ring::new(3, 0.0, 0.0),
    reads = ring.newest().bytes(),
    writes = ring.newest().bytes(),
    check = |ring| ring.newest().is(1.0),
)]
fn ring_of_three(ring: &mut Ring, stream: &RawStream) -> Done {
    ring.step("jacobi", stream.stream().cast())
}

#[gpu_bench(
    setup = Ring::new(4, 0.0, 0.0),
    reads = ring.newest().bytes(),
    writes = ring.newest().bytes(),
    check = |ring| ring.newest().is(1.0),
)]
fn ring_of_four(ring: &mut Ring, stream: &RawStream) -> Done {
    ring.step("jacobi", stream.stream().cast())
}

/// One input, and outputs that are written in turn, so that the host may still read the one before.
struct Outputs {
    module: Module,
    x: Array,
    outputs: Vec<Array>,
    next: usize,
}

impl Outputs {
    fn new() -> Done<Self> {
        let outputs = (0..3).map(|_| Array::of(0.0, N)).collect::<Done<_>>()?;
        Ok(Self { module: Module::load(ELEMENTWISE)?, x: Array::of(0.5, N)?, outputs, next: 0 })
    }
}

#[gpu_bench(
    setup = Outputs::new(),
    reads = all.x.bytes(),
    writes = all.x.bytes(),
    check = |all| all.outputs[(all.next + 2) % 3].is(0.5),
)]
fn three_outputs_in_turn(all: &mut Outputs, stream: &RawStream) -> Done {
    let y = &all.outputs[all.next];
    all.next = (all.next + 1) % 3;
    all.module.launch("copy", y.n / 4 / THREADS, &[all.x.at, y.at, y.n], stream.stream().cast())
}

/// y = x/2 + 1, whose values approach 2 and stop changing there.
#[gpu_bench(
    setup = Ring::new(2, 0.0, 0.0),
    reads = ring.newest().bytes(),
    writes = ring.newest().bytes(),
    check = |ring| ring.newest().is(1.0),
)]
fn converges_in_two_buffers(ring: &mut Ring, stream: &RawStream) -> Done {
    ring.step("halve", stream.stream().cast())
}

/// The same from a first guess in y that is the solution.
#[gpu_bench(
    setup = Ring::new(2, 0.0, 2.0),
    reads = ring.newest().bytes(),
    writes = ring.newest().bytes(),
    check = |ring| ring.newest().is(1.0),
)]
fn converges_to_what_y_held(ring: &mut Ring, stream: &RawStream) -> Done {
    ring.step("halve", stream.stream().cast())
}

/// The same where both buffers hold the solution before the first launch.
#[gpu_bench(
    setup = Ring::new(2, 2.0, 2.0),
    reads = ring.newest().bytes(),
    writes = ring.newest().bytes(),
    check = |ring| ring.newest().is(2.0),
)]
fn converged_before_it_began(ring: &mut Ring, stream: &RawStream) -> Done {
    ring.step("halve", stream.stream().cast())
}

#[gpu_bench(
    setup = Ring::new(1, 0.0, 0.0),
    reads = ring.newest().bytes(),
    writes = ring.newest().bytes(),
    check = |ring| ring.newest().is(1.0),
)]
fn converges_in_place(ring: &Ring, stream: &RawStream) -> Done {
    let x = ring.newest();
    ring.own.launch("halve", x.n / THREADS, &[x.at, x.at, x.n], stream.stream().cast())
}

/// Keys from 0 to 255 and the count of each.
struct Histogram {
    own: Module,
    keys: Array,
    counts: Array,
}

impl Histogram {
    fn new() -> Done<Self> {
        let keys: Vec<f32> = (0..N as u32 / 4).map(|index| f32::from_bits(index % 256)).collect();
        Ok(Self { own: Module::load(OWN)?, keys: Array::from(&keys)?, counts: Array::of(0.0, 256)? })
    }
}

/// Counts are integers: their bits are compared.
#[gpu_bench(
    setup = Histogram::new(),
    reads = histogram.keys.bytes(),
    check = |histogram| histogram.counts.is(f32::from_bits(N as u32 / 4 / 256)),
)]
fn histogram_without_a_reset(histogram: &Histogram, stream: &RawStream) -> Done {
    let Histogram { own, keys, counts } = histogram;
    own.launch("histogram", keys.n / THREADS, &[keys.at, keys.n, counts.at], stream.stream().cast())
}

/// A sum by atomics that adds to the sum before.
struct Sum {
    own: Module,
    x: Array,
    total: Array,
}

impl Sum {
    fn new() -> Done<Self> {
        let x: Vec<f32> = (0..1 << 16).map(|index| if index % 2 == 0 { 0.1 } else { 0.3 }).collect();
        Ok(Self { own: Module::load(OWN)?, x: Array::from(&x)?, total: Array::of(0.0, 1)? })
    }

    fn is_near(&self) -> Result<(), String> {
        let (total, expected) =
            (self.total.read(0).map_err(|error| error.to_string())?, 0.2 * self.x.n as f32);
        let near = (total - expected).abs() < 1e-3 * expected;
        if near { Ok(()) } else { Err(format!("the sum is {total} and not {expected}")) }
    }
}

#[gpu_bench(setup = Sum::new(), reads = sum.x.bytes(), check = |sum| sum.is_near())]
fn sums_without_a_reset(sum: &Sum, stream: &RawStream) -> Done {
    let Sum { own, x, total } = sum;
    own.launch("atomic_sum", x.n / THREADS, &[x.at, x.n, total.at], stream.stream().cast())
}

/// A cache of keys and values: each launch appends a token of 64 KiB, and begins anew when the cache is full.
struct Appended {
    module: Module,
    token: Array,
    cache: Array,
    length: Cell<u64>,
}

impl Appended {
    const TOKEN: u64 = 16 << 10;

    fn new() -> Done<Self> {
        let (token, cache) = (Array::of(0.5, Self::TOKEN)?, Array::of(0.0, 4 * N)?);
        Ok(Self { module: Module::load(ELEMENTWISE)?, token, cache, length: Cell::new(0) })
    }

    fn has_one_token(&self) -> Result<(), String> {
        let read = |index| self.cache.read(index).map_err(|error| error.to_string());
        match (read(0)?, read(Self::TOKEN - 1)?, read(Self::TOKEN)?) {
            (0.5, 0.5, 0.0) => Ok(()),
            found => Err(format!("there are {found:?} and not one token")),
        }
    }
}

#[gpu_bench(
    setup = Appended::new(),
    reads = appended.token.bytes(),
    writes = appended.token.bytes(),
    check = |appended| appended.has_one_token(),
)]
fn appends_to_a_cache(appended: &Appended, stream: &RawStream) -> Done {
    let Appended { module, token, cache, length } = appended;
    let at = cache.at + length.get() * token.bytes();
    length.set((length.get() + 1) % (cache.n / token.n));
    module.launch("copy", token.n / 4 / THREADS, &[token.at, at, token.n], stream.stream().cast())
}

/// Random x, from another seed each time, and z = 2x + 1.
struct Random {
    module: Module,
    x: Array,
    ones: Array,
    z: Array,
}

impl Random {
    fn new() -> Done<Self> {
        static SEED: AtomicU64 = AtomicU64::new(1);
        let (inputs, x) = (Module::load(INPUTS)?, Array::uninitialized(N)?);
        let seed = SEED.fetch_add(1, Ordering::Relaxed);
        inputs.launch("random_f32", N / THREADS, &[x.at, N, seed], DEFAULT)?;
        synchronize(DEFAULT)?;
        Ok(Self { module: Module::load(ELEMENTWISE)?, x, ones: Array::of(1.0, N)?, z: Array::of(0.0, N)? })
    }

    fn is_right(&self) -> Result<(), String> {
        for index in (0..8).map(|step| step * (N - 1) / 7) {
            let (x, z) = (self.x.read(index), self.z.read(index));
            let (x, z) = (x.map_err(|error| error.to_string())?, z.map_err(|error| error.to_string())?);
            let expected = 2.0_f32.mul_add(x, 1.0);
            if z.to_bits() != expected.to_bits() {
                return Err(format!("element {index} is {z} and not {expected}"));
            }
        }
        Ok(())
    }
}

#[gpu_bench(
    setup = Random::new(),
    reads = random.x.bytes() + random.ones.bytes(),
    writes = random.z.bytes(),
    check = |random| random.is_right(),
)]
fn random_inputs(random: &Random, stream: &RawStream) -> Done {
    let Random { module, x, ones, z } = random;
    module.launch("triad", N / 4 / THREADS, &[bits(2.0), x.at, ones.at, z.at, N], stream.stream().cast())
}

/// Another value each time, within bounds that the check knows, as a simulation by random numbers has.
#[gpu_bench(setup = Filled::new(N), writes = filled.y.bytes(), check = |filled| is_between_one_and_two(filled))]
fn other_values_within_bounds(filled: &Filled, stream: &RawStream) -> Done {
    filled.fill(1.0 + filled.number() as f32 * 0.618_034 % 1.0, stream.stream().cast())
}

fn is_between_one_and_two(filled: &Filled) -> Result<(), String> {
    let y = filled.y.read(N / 2).map_err(|error| error.to_string())?;
    if (1.0..2.0).contains(&y) { Ok(()) } else { Err(format!("{y} is not between 1 and 2")) }
}

/// The host compiles in its first launch on new inputs, which takes 20 ms.
#[gpu_bench(
    setup = Ok((Filled::new(N)?, Cell::new(false))),
    writes = filled.y.bytes(),
    check = |filled, _compiled| filled.y.is(0.5),
)]
fn compiles_at_first(filled: &Filled, compiled: &Cell<bool>, stream: &RawStream) -> Done {
    if !compiled.replace(true) {
        thread::sleep(Duration::from_millis(20));
    }
    filled.fill(0.5, stream.stream().cast())
}

/// An array to sort in place, in blocks of 256 elements, and the same array before.
struct Sorted {
    own: Module,
    module: Module,
    x: Array,
    before: Array,
    scratch: Array,
}

impl Sorted {
    fn new(scratch: u64) -> Done<Self> {
        let own = Module::load(OWN)?;
        let (x, before) = (Array::uninitialized(N)?, Array::uninitialized(N)?);
        for array in [&x, &before] {
            own.launch("descending", N / THREADS, &[array.at, N], DEFAULT)?;
        }
        synchronize(DEFAULT)?;
        Ok(Self { own, module: Module::load(ELEMENTWISE)?, x, before, scratch: Array::of(0.0, scratch)? })
    }

    fn sort(&self, phases: u64, stream: CUstream) -> Done {
        self.own.launch("sort_blocks", N / THREADS, &[self.x.at, N, phases], stream)
    }

    fn clear_scratch(&self, stream: CUstream) -> Done {
        let scratch = &self.scratch;
        self.module.launch("fill", scratch.n / 4 / THREADS, &[bits(0.0), scratch.at, scratch.n], stream)
    }

    fn restore(&self, to: &Array, stream: &RawStream) -> Done {
        copy(to, &self.before, self.before.bytes(), stream.stream().cast())
    }

    fn is_sorted(&self) -> Result<(), String> {
        for index in [0, 1, 100, 255, N - 1] {
            let (found, expected) =
                (self.x.read(index).map_err(|error| error.to_string())?, (index % 256) as f32);
            if found.to_bits() != expected.to_bits() {
                return Err(format!("element {index} is {found} and not {expected}"));
            }
        }
        Ok(())
    }
}

/// The scratch of a sort that needs none.
const NO_SCRATCH: u64 = 1024;

/// Each launch after the first finds sorted data.
#[gpu_bench(
    setup = Sorted::new(NO_SCRATCH),
    reads = sorted.x.bytes(),
    writes = sorted.x.bytes(),
    check = |sorted| sorted.is_sorted(),
    cold,
)]
fn sorts_in_place(sorted: &Sorted, stream: &RawStream) -> Done {
    sorted.sort(256, stream.stream().cast())
}

/// The largest output is no part of what makes later launches fast.
#[gpu_bench(setup = Sorted::new(4 * N), check = |sorted| sorted.is_sorted())]
fn sorts_with_a_larger_scratch(sorted: &Sorted, stream: &RawStream) -> Done {
    sorted.clear_scratch(stream.stream().cast())?;
    sorted.sort(256, stream.stream().cast())
}

/// A `reset` that restores another array.
#[gpu_bench(
    setup = Sorted::new(N),
    reset = |sorted, stream| sorted.restore(&sorted.scratch, stream),
    reads = sorted.x.bytes(),
    writes = sorted.x.bytes(),
    check = |sorted| sorted.is_sorted(),
)]
fn sorts_with_a_useless_reset(sorted: &Sorted, stream: &RawStream) -> Done {
    sorted.sort(256, stream.stream().cast())
}

/// Eight launches sort. Those after them have nothing to do.
#[gpu_bench(setup = Sorted::new(NO_SCRATCH), reads = sorted.x.bytes(), writes = sorted.x.bytes())]
fn sorts_little_by_little(sorted: &Sorted, stream: &RawStream) -> Done {
    sorted.sort(32, stream.stream().cast())
}

#[gpu_bench(
    setup = Sorted::new(NO_SCRATCH),
    reset = |sorted, stream| sorted.restore(&sorted.x, stream),
    reads = sorted.x.bytes(),
    writes = sorted.x.bytes(),
    check = |sorted| sorted.is_sorted(),
    cold,
)]
fn sorts_with_a_reset(sorted: &Sorted, stream: &RawStream) -> Done {
    sorted.sort(256, stream.stream().cast())
}

#[gpu_bench(
    setup = Sorted::new(4 * N),
    reset = |sorted, stream| sorted.restore(&sorted.x, stream),
    check = |sorted| sorted.is_sorted(),
)]
fn sorts_with_scratch_and_a_reset(sorted: &Sorted, stream: &RawStream) -> Done {
    sorted.clear_scratch(stream.stream().cast())?;
    sorted.sort(256, stream.stream().cast())
}

/// An array to fill, and the memory that its launches have kept.
struct Leak {
    filled: Filled,
    kept: RefCell<Vec<CUdeviceptr>>,
}

impl Leak {
    fn new() -> Done<Self> {
        Ok(Self { filled: Filled::new(N)?, kept: RefCell::default() })
    }
}

impl Drop for Leak {
    fn drop(&mut self) {
        // What a launch leaks must not be missing in the cases that follow.
        self.kept.take().into_iter().for_each(|at| _ = free(at));
    }
}

/// Each launch allocates 1 MiB in the order of its stream, and frees nothing.
#[gpu_bench(setup = Leak::new(), writes = leak.filled.y.bytes(), check = |leak| leak.filled.y.is(0.5))]
fn leaks(leak: &Leak, stream: &RawStream) -> Done {
    leak.kept.borrow_mut().push(allocate_for(1 << 20, stream.stream().cast())?);
    leak.filled.fill(0.5, stream.stream().cast())
}

/// A 16th of the elements from the fifth launch of the process on.
#[gpu_bench(setup = Filled::new(N), writes = filled.y.bytes(), check = |filled| filled.y.is(0.5))]
fn fewer_elements_by_a_static(filled: &Filled, stream: &RawStream) -> Done {
    static LAUNCHES: AtomicU64 = AtomicU64::new(0);
    let all = LAUNCHES.fetch_add(1, Ordering::Relaxed) < HONEST;
    filled.first(if all { N } else { N / 16 }, 0.5, stream.stream().cast())
}

/// A 16th of the elements from the fifth launch on, with a check that looks at one launch.
#[gpu_bench(setup = Filled::new(N), writes = filled.y.bytes(), check = |filled| filled.y.is(0.5))]
fn fewer_elements_later_checked(filled: &Filled, stream: &RawStream) -> Done {
    filled.first(if filled.number() <= HONEST { N } else { N / 16 }, 0.5, stream.stream().cast())
}

/// A 16th of the elements if this output has been filled before.
#[gpu_bench(setup = Filled::new(N), writes = filled.y.bytes(), check = |filled| filled.y.is(0.5))]
fn cached_by_its_pointer(filled: &Filled, stream: &RawStream) -> Done {
    static DONE: Mutex<Option<HashMap<CUdeviceptr, u64>>> = Mutex::new(None);
    let mut done = DONE.lock().unwrap_or_else(PoisonError::into_inner);
    let times = done.get_or_insert_default().entry(filled.y.at).or_default();
    *times += 1;
    filled.first(if *times <= 1 { N } else { N / 16 }, 0.5, stream.stream().cast())
}

/// Garbage from the second launch of the process on.
#[gpu_bench(setup = Filled::new(N), writes = filled.y.bytes(), check = |filled| filled.y.is(0.5))]
fn garbage_by_a_static(filled: &Filled, stream: &RawStream) -> Done {
    static LAUNCHES: AtomicU64 = AtomicU64::new(0);
    let first = LAUNCHES.fetch_add(1, Ordering::Relaxed) == 0;
    filled.fill(if first { 0.5 } else { 0.25 }, stream.stream().cast())
}

/// Garbage from the second launch on these inputs on.
#[gpu_bench(setup = Filled::new(N), writes = filled.y.bytes(), check = |filled| filled.y.is(0.5))]
fn garbage_after_the_first(filled: &Filled, stream: &RawStream) -> Done {
    filled.fill(if filled.number() == 1 { 0.5 } else { 0.25 }, stream.stream().cast())
}
