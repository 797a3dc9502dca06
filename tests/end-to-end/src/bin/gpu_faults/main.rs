//! Launch functions that go wrong on a GPU, each in its own way and by each CUDA binding, and some that do not. Run on a
//! machine that has one: every row must say what its name says, and none may cost another its result.

#![expect(unsafe_code, reason = "launches kernels")]

mod binding;

use std::cell::Cell;

use gpubench::gpu_bench;

use crate::binding::{Binding, Cudarc, Cust};

const PTX: &str = include_str!("kernels.ptx");

/// Asks for an ISA that no driver knows.
const FROM_THE_FUTURE: &str =
    ".version 99.0\n.target sm_70\n.address_size 64\n.visible .entry nothing() { ret; }";

/// Is for an architecture that comes after the H200's.
const FOR_ANOTHER: &str =
    ".version 8.7\n.target sm_120\n.address_size 64\n.visible .entry nothing() { ret; }";

/// A stream, a module, words and the error of a binding.
type Stream<B> = <B as Binding>::Stream;
type Module<B> = <B as Binding>::Module;
type Words<B> = <B as Binding>::Words;
type Done<B> = Result<(), <B as Binding>::Error>;

fn load<B: Binding>(stream: &Stream<B>) -> Result<Module<B>, B::Error> {
    B::load(PTX, stream)
}

/// Launches a kernel that takes nothing, as one block of 32 threads.
fn launch<B: Binding>(module: &Module<B>, kernel: &str, stream: &Stream<B>) -> Done<B> {
    B::launch(module, kernel, (1, 32, 0), None, stream)
}

#[gpu_bench(types(B = [Cust, Cudarc]), setup = load::<B>(stream), cold)]
fn right<B: Binding>(module: &Module<B>, stream: &Stream<B>) -> Done<B> {
    launch::<B>(module, "nothing", stream)
}

fn gibibytes<B: Binding>(gib: usize, stream: &Stream<B>) -> Result<(Module<B>, Words<B>), B::Error> {
    Ok((load::<B>(stream)?, B::allocate(gib << 28, stream)?))
}

#[gpu_bench(types(B = [Cust, Cudarc]), args(gib = [1 << 20]), setup = gibibytes::<B>(gib, stream))]
fn too_large<B: Binding>(module: &Module<B>, _words: &Words<B>, stream: &Stream<B>) -> Done<B> {
    right::<B>(module, stream)
}

#[gpu_bench(types(B = [Cust, Cudarc]), setup = B::load(FROM_THE_FUTURE, stream))]
fn ptx_too_new<B: Binding>(module: &Module<B>, stream: &Stream<B>) -> Done<B> {
    right::<B>(module, stream)
}

#[gpu_bench(types(B = [Cust, Cudarc]), setup = B::load(FOR_ANOTHER, stream))]
fn ptx_for_another_gpu<B: Binding>(module: &Module<B>, stream: &Stream<B>) -> Done<B> {
    right::<B>(module, stream)
}

#[gpu_bench(types(B = [Cust, Cudarc]), setup = load::<B>(stream))]
fn allocates_too_much<B: Binding>(module: &Module<B>, stream: &Stream<B>) -> Done<B> {
    gibibytes::<B>(1 << 20, stream)?;
    right::<B>(module, stream)
}

#[gpu_bench(types(B = [Cust, Cudarc]), setup = load::<B>(stream))]
fn no_such_kernel<B: Binding>(module: &Module<B>, stream: &Stream<B>) -> Done<B> {
    launch::<B>(module, "swap", stream)
}

#[gpu_bench(types(B = [Cust, Cudarc]), setup = load::<B>(stream))]
fn too_many_threads<B: Binding>(module: &Module<B>, stream: &Stream<B>) -> Done<B> {
    B::launch(module, "nothing", (1, 4096, 0), None, stream)
}

#[gpu_bench(types(B = [Cust, Cudarc]), setup = load::<B>(stream))]
fn too_much_shared_memory<B: Binding>(module: &Module<B>, stream: &Stream<B>) -> Done<B> {
    B::launch(module, "nothing", (1, 32, 256 << 10), None, stream)
}

fn with_another<B: Binding>(stream: &Stream<B>) -> Result<(Module<B>, Stream<B>), B::Error> {
    Ok((load::<B>(stream)?, B::another(stream)?))
}

#[gpu_bench(types(B = [Cust, Cudarc]), setup = with_another::<B>(stream))]
fn on_another_stream<B: Binding>(module: &Module<B>, other: &Stream<B>, stream: &Stream<B>) -> Done<B> {
    _ = stream;
    right::<B>(module, other)
}

/// Not a fault: the given stream waits for the other.
#[gpu_bench(types(B = [Cust, Cudarc]), setup = with_another::<B>(stream))]
fn forks_and_joins<B: Binding>(module: &Module<B>, other: &Stream<B>, stream: &Stream<B>) -> Done<B> {
    B::wait(other, stream)?;
    right::<B>(module, other)?;
    B::wait(stream, other)
}

#[gpu_bench(types(B = [Cust, Cudarc]), setup = with_another::<B>(stream))]
fn forks_and_does_not_join<B: Binding>(module: &Module<B>, other: &Stream<B>, stream: &Stream<B>) -> Done<B> {
    B::wait(other, stream)?;
    right::<B>(module, other)?;
    right::<B>(module, stream)
}

#[gpu_bench(types(B = [Cust, Cudarc]), setup = load::<B>(stream))]
fn enqueues_nothing<B: Binding>(module: &Module<B>, stream: &Stream<B>) {
    _ = (module, stream);
}

fn with_words<B: Binding>(words: usize, stream: &Stream<B>) -> Result<(Module<B>, Words<B>), B::Error> {
    Ok((load::<B>(stream)?, B::allocate(words, stream)?))
}

/// Claims to write, and writes nothing.
#[gpu_bench(types(B = [Cust, Cudarc]), setup = with_words::<B>(1 << 20, stream), writes = 4 << 20)]
fn writes_nothing<B: Binding>(module: &Module<B>, words: &mut Words<B>, stream: &Stream<B>) -> Done<B> {
    _ = words;
    right::<B>(module, stream)
}

#[gpu_bench(
    types(B = [Cust, Cudarc]),
    setup = load::<B>(stream),
    check = Err("the result is not what it should be"),
)]
fn wrong_result<B: Binding>(module: &Module<B>, stream: &Stream<B>) -> Done<B> {
    right::<B>(module, stream)
}

/// Not a fault: it cannot be captured, and is timed on the stream, with the reason.
#[gpu_bench(types(B = [Cust, Cudarc]), setup = load::<B>(stream), cold)]
fn synchronises<B: Binding>(module: &Module<B>, stream: &Stream<B>) -> Done<B> {
    right::<B>(module, stream)?;
    B::synchronize(stream)
}

/// Not a fault either.
#[gpu_bench(types(B = [Cust, Cudarc]), setup = with_words::<B>(1024, stream))]
fn copies_on_the_null_stream<B: Binding>(
    module: &Module<B>,
    words: &Words<B>,
    stream: &Stream<B>,
) -> Done<B> {
    right::<B>(module, stream)?;
    B::read(words, &mut [0; 1024])
}

/// Spoils its process's context; what comes after needs a new one.
#[gpu_bench(types(B = [Cust, Cudarc]), setup = load::<B>(stream), cold)]
fn writes_astray<B: Binding>(module: &Module<B>, stream: &Stream<B>) -> Done<B> {
    launch::<B>(module, "stray", stream)
}

/// Goes wrong only after it was found right once.
#[gpu_bench(types(B = [Cust, Cudarc]), setup = Ok((load::<B>(stream)?, Cell::new(0))), cold)]
fn writes_astray_later<B: Binding>(module: &Module<B>, launches: &Cell<u32>, stream: &Stream<B>) -> Done<B> {
    launches.set(launches.get() + 1);
    if launches.get() > 3 { writes_astray::<B>(module, stream) } else { right::<B>(module, stream) }
}

fn with_dropped<B: Binding>(stream: &Stream<B>) -> Result<(Module<B>, Words<B>, Dropped), B::Error> {
    let (module, words) = with_words::<B>(4, stream)?;
    Ok((module, words, Dropped))
}

#[gpu_bench(types(B = [Cust, Cudarc]), setup = with_dropped::<B>(stream))]
fn writes_between<B: Binding>(
    module: &Module<B>,
    words: &mut Words<B>,
    _dropped: &Dropped,
    stream: &Stream<B>,
) -> Done<B> {
    B::launch(module, "misaligned", (1, 1, 0), Some(words), stream)
}

/// Nothing is to be dropped once its context is lost.
struct Dropped;

impl Drop for Dropped {
    #[expect(clippy::print_stderr, reason = "whoever looks for these words must find none")]
    fn drop(&mut self) {
        eprintln!("dropped after its context was lost");
    }
}

#[gpu_bench(types(B = [Cust, Cudarc]), setup = load::<B>(stream))]
fn traps<B: Binding>(module: &Module<B>, stream: &Stream<B>) -> Done<B> {
    launch::<B>(module, "traps", stream)
}

/// The words before the trap must not be lost with the context.
#[gpu_bench(types(B = [Cust, Cudarc]), setup = load::<B>(stream))]
fn says_and_asserts<B: Binding>(module: &Module<B>, stream: &Stream<B>) -> Done<B> {
    B::launch(module, "says", (1, 1, 0), None, stream)?;
    B::launch(module, "asserts", (1, 1, 0), None, stream)
}

/// Panics while it is captured.
#[gpu_bench(types(B = [Cust, Cudarc]), setup = Ok((load::<B>(stream)?, Cell::new(0))), cold)]
fn panics_later<B: Binding>(module: &Module<B>, launches: &Cell<u32>, stream: &Stream<B>) -> Done<B> {
    launches.set(launches.get() + 1);
    assert!(launches.get() != 3, "three launches are too many");
    right::<B>(module, stream)
}

/// Ends by itself after 20 s, which is later than anybody waits for it.
#[gpu_bench(types(B = [Cust, Cudarc]), setup = load::<B>(stream), timeout = 1.0)]
fn never_ends<B: Binding>(module: &Module<B>, stream: &Stream<B>) -> Done<B> {
    launch::<B>(module, "spins", stream)
}

#[gpu_bench(types(B = [Cust, Cudarc]), setup = load::<B>(stream))]
fn right_after_all_that<B: Binding>(module: &Module<B>, stream: &Stream<B>) -> Done<B> {
    right::<B>(module, stream)
}

gpubench::main!();
