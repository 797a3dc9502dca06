//! Launches that deceive, as kernels do that are written to look fast: by work elsewhere, by work left out once somebody has
//! looked, by results that were there before, and by claims.

use std::cell::RefCell;
use std::thread;

use gpubench::cuda::RawStream;
use gpubench::gpu_bench;

use crate::calls::{
    Sent, allocate_for, call_host, copy, enter, free, is_captured, reset_persisting, set_flags, spin,
};
use crate::gpu::{Array, Beside, Context, DEFAULT, Done, Event, Module, OWN, THREADS, bits};
use crate::once_mistaken::{Filled, N, Turned, impossible_launch};

/// More than the L2 holds several times: 256 MiB.
pub(crate) const MANY: u64 = 64 << 20;
/// So many launches are honest, since somebody may look at the first few.
pub(crate) const HONEST: u64 = 4;

/// Takes a microsecond and does nothing, so that there is work on the given stream.
pub(crate) fn decoy(module: &Module, stream: &RawStream) -> Done {
    module.launch("pause", 1, &[1000], stream.stream().cast())
}

/// An array to fill, another stream, and a decoy.
pub(crate) struct Aside {
    filled: Filled,
    own: Module,
    beside: Beside,
}

impl Aside {
    pub(crate) fn new(priority: i32) -> Done<Self> {
        Ok(Self { filled: Filled::new(N)?, own: Module::load(OWN)?, beside: Beside::new(priority)? })
    }
}

#[gpu_bench(setup = Aside::new(0))]
pub(crate) fn side_stream(aside: &Aside, stream: &RawStream) -> Done {
    decoy(&aside.own, stream)?;
    aside.filled.fill(0.5, aside.beside.0)
}

#[gpu_bench(setup = Aside::new(0))]
pub(crate) fn side_stream_later(aside: &Aside, stream: &RawStream) -> Done {
    if aside.filled.number() <= HONEST {
        return aside.filled.fill(0.5, stream.stream().cast());
    }
    side_stream(aside, stream)
}

#[gpu_bench(setup = Aside::new(-5))]
pub(crate) fn side_stream_of_priority(aside: &Aside, stream: &RawStream) -> Done {
    side_stream(aside, stream)
}

/// Another thread has the work done, on a stream of its own.
#[gpu_bench(setup = Aside::new(0))]
pub(crate) fn another_thread(aside: &Aside, stream: &RawStream) -> Done {
    decoy(&aside.own, stream)?;
    let (context, beside) = (Sent(stream.context().cast()), Sent(aside.beside.0));
    let aside = Sent(aside);
    thread::scope(|scope| {
        let worker = scope.spawn(move || {
            let (Sent(context), Sent(beside), Sent(aside)) = ({ context }, { beside }, { aside });
            enter(context)?;
            aside.filled.fill(0.5, beside)
        });
        worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// It knows the answer, and returns.
#[gpu_bench(setup = Filled::new(N))]
pub(crate) fn cached_by_the_host(filled: &Filled, stream: &RawStream) -> Done {
    if filled.number() <= HONEST { filled.fill(0.5, stream.stream().cast()) } else { Ok(()) }
}

/// An array to fill by a kernel of this program, and words of its own beside it.
pub(crate) struct Marked {
    own: Module,
    flag: Array,
    y: Array,
}

impl Marked {
    pub(crate) fn new(n: u64) -> Done<Self> {
        Ok(Self { own: Module::load(OWN)?, flag: Array::of(0.0, 2)?, y: Array::of(0.0, n)? })
    }
}

/// The kernel sets a flag, and returns early once that is set.
#[gpu_bench(setup = Marked::new(N), writes = marked.y.bytes())]
pub(crate) fn cached_on_the_device(marked: &Marked, stream: &RawStream) -> Done {
    let Marked { own, flag, y } = marked;
    own.launch("once", y.n / THREADS, &[flag.at, bits(0.5), y.at, y.n], stream.stream().cast())
}

pub(crate) fn fill_unless_done(marked: &Marked, stream: &RawStream) -> Done {
    let Marked { own, y, .. } = marked;
    own.launch("unless_done", 8 * 132, &[bits(0.5), y.at, y.n], stream.stream().cast())
}

/// The kernel looks whether its output is there already.
#[gpu_bench(setup = Marked::new(MANY), writes = marked.y.bytes())]
pub(crate) fn yesterdays_result(marked: &Marked, stream: &RawStream) -> Done {
    fill_unless_done(marked, stream)
}

/// The same without a claim, so that there is nothing to hold it against.
#[gpu_bench(setup = Marked::new(MANY))]
pub(crate) fn yesterdays_result_unclaimed(marked: &Marked, stream: &RawStream) -> Done {
    fill_unless_done(marked, stream)
}

pub(crate) type Queue = RefCell<Vec<fn(&Filled) -> Done>>;

/// Work that is left until somebody looks.
pub(crate) struct Lazy {
    filled: Filled,
    own: Module,
    queue: Queue,
}

impl Lazy {
    pub(crate) fn new(n: u64) -> Done<Self> {
        Ok(Self { filled: Filled::new(n)?, own: Module::load(OWN)?, queue: RefCell::default() })
    }

    pub(crate) fn look(&self) -> Result<(), String> {
        let queued = self.queue.take();
        queued.iter().try_for_each(|work| work(&self.filled)).map_err(|error| error.to_string())?;
        self.filled.y.is(0.5)
    }
}

#[gpu_bench(setup = Lazy::new(N), check = |lazy| lazy.look())]
pub(crate) fn lazy(lazy: &Lazy, stream: &RawStream) {
    _ = stream;
    lazy.queue.borrow_mut().push(|filled| filled.fill(0.5, DEFAULT));
}

#[gpu_bench(setup = Lazy::new(MANY), writes = lazy.filled.y.bytes(), check = |lazy| lazy.look())]
pub(crate) fn lazy_with_a_decoy(lazy: &Lazy, stream: &RawStream) -> Done {
    lazy.queue.borrow_mut().push(|filled| filled.fill(0.5, DEFAULT));
    decoy(&lazy.own, stream)
}

/// It claims a product of two matrices of 4096 rows, and copies one that is there from an earlier run.
#[gpu_bench(setup = Ok((Array::of(0.5, 4096 * 4096)?, Array::of(0.0, 4096 * 4096)?)), flops = 2_u64 << 36)]
pub(crate) fn stale_answer(earlier: &Array, c: &Array, stream: &RawStream) -> Done {
    copy(c, earlier, c.bytes(), stream.stream().cast())
}

/// It adds to what its last launch left.
#[gpu_bench(setup = Filled::new(N))]
pub(crate) fn feeds_on_itself(filled: &Filled, stream: &RawStream) -> Done {
    filled.module.launch("rmw", filled.blocks(), &[bits(1.0), filled.y.at, N], stream.stream().cast())
}

/// Nobody looks at later results.
#[gpu_bench(setup = Filled::new(N), check = |filled| filled.y.is(0.5))]
pub(crate) fn right_at_first(filled: &Filled, stream: &RawStream) -> Done {
    filled.fill(if filled.number() <= HONEST { 0.5 } else { 0.25 }, stream.stream().cast())
}

#[gpu_bench(setup = Filled::new(N))]
pub(crate) fn smaller_grid_later(filled: &Filled, stream: &RawStream) -> Done {
    let blocks = if filled.number() <= HONEST { filled.blocks() } else { 1 };
    filled.module.launch("fill", blocks, &[bits(0.5), filled.y.at, N], stream.stream().cast())
}

/// The same kernel by the same grid.
#[gpu_bench(setup = Filled::new(N))]
pub(crate) fn fewer_elements_later(filled: &Filled, stream: &RawStream) -> Done {
    filled.first(if filled.number() <= HONEST { N } else { N / 16 }, 0.5, stream.stream().cast())
}

#[gpu_bench(setup = Aside::new(0))]
pub(crate) fn another_kernel_later(aside: &Aside, stream: &RawStream) -> Done {
    if aside.filled.number() <= HONEST {
        aside.filled.fill(0.5, stream.stream().cast())
    } else {
        decoy(&aside.own, stream)
    }
}

#[gpu_bench(setup = Ok((Array::of(0.5, N)?, Filled::new(N)?)))]
pub(crate) fn fewer_bytes_later(x: &Array, filled: &Filled, stream: &RawStream) -> Done {
    let bytes = if filled.number() <= HONEST { x.bytes() } else { x.bytes() / 16 };
    copy(&filled.y, x, bytes, stream.stream().cast())
}

/// It knows when it is timed.
#[gpu_bench(setup = Aside::new(0))]
pub(crate) fn less_when_captured(aside: &Aside, stream: &RawStream) -> Done {
    if is_captured(stream.stream().cast()) {
        decoy(&aside.own, stream)
    } else {
        aside.filled.fill(0.5, stream.stream().cast())
    }
}

/// The host waits for its copy.
#[gpu_bench(setup = Filled::new(N))]
pub(crate) fn copies_and_waits(filled: &Filled, stream: &RawStream) -> Done {
    filled.fill(0.5, stream.stream().cast())?;
    filled.y.read(0).map(drop)
}

#[gpu_bench(setup = Ok((Filled::new(N)?, Event::new()?)))]
pub(crate) fn waits_for_an_event(filled: &Filled, event: &Event, stream: &RawStream) -> Done {
    filled.fill(0.5, stream.stream().cast())?;
    event.record(stream.stream().cast())?;
    event.wait()
}

#[gpu_bench(setup = Filled::new(N))]
pub(crate) fn asks_until_done(filled: &Filled, stream: &RawStream) -> Done {
    filled.fill(0.5, stream.stream().cast())?;
    spin(stream.stream().cast(), 1000)
}

/// It allocates in the order of its stream, which is fine, and frees at once, which waits for the device.
#[gpu_bench(setup = Filled::new(N))]
pub(crate) fn frees(filled: &Filled, stream: &RawStream) -> Done {
    let scratch = allocate_for(4096, stream.stream().cast())?;
    filled.fill(0.5, stream.stream().cast())?;
    free(scratch)
}

#[gpu_bench(setup = Filled::new(N))]
pub(crate) fn loads_a_module(filled: &Filled, stream: &RawStream) -> Done {
    let own = Module::load(OWN)?;
    filled.fill(0.5, stream.stream().cast())?;
    drop(own);
    Ok(())
}

/// Another context is current when it returns.
#[gpu_bench(setup = Ok((Filled::new(N)?, Context::new()?)))]
pub(crate) fn leaves_another_context(filled: &Filled, context: &Context, stream: &RawStream) -> Done {
    filled.fill(0.5, stream.stream().cast())?;
    context.push()
}

#[gpu_bench(setup = Filled::new(N))]
pub(crate) fn calls_the_host(filled: &Filled, stream: &RawStream) -> Done {
    filled.fill(0.5, stream.stream().cast())?;
    call_host(stream.stream().cast())
}

#[gpu_bench(setup = Filled::new(N))]
pub(crate) fn ignores_an_error_later(filled: &Filled, stream: &RawStream) -> Done {
    filled.fill(0.5, stream.stream().cast())?;
    if filled.number() > HONEST {
        impossible_launch(filled, stream);
    }
    Ok(())
}

/// It claims operations of `f64`, and does them in `f32`.
#[gpu_bench(setup = Turned::new(), flops = Turned::FLOPS, data_type = "f64")]
pub(crate) fn other_precision(turned: &Turned, stream: &RawStream) -> Done {
    turned.launch(stream)
}

/// It changes how the host waits, which no time of the device depends on.
#[gpu_bench(setup = Filled::new(N))]
pub(crate) fn sets_flags_of_the_context(filled: &Filled, stream: &RawStream) -> Done {
    set_flags()?;
    filled.fill(0.5, stream.stream().cast())
}

#[gpu_bench(setup = Filled::new(N))]
pub(crate) fn gives_up_what_the_l2_keeps(filled: &Filled, stream: &RawStream) -> Done {
    reset_persisting()?;
    filled.fill(0.5, stream.stream().cast())
}
