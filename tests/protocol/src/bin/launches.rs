//! Launches of more than a kernel, on more than a stream, and such as write and do not write. Their kernels the fake knows by
//! name: `lasts` takes as many nanoseconds as it is told and writes nothing, `fill` fills, `trusts` goes astray where its
//! input is not 0. So the truth of each case is known.

#![expect(unsafe_code, reason = "launches kernels, and makes a graph of them")]

use std::cell::{Cell, RefCell};
use std::ptr::null_mut;

use cust::error::{CudaError, CudaResult};
use cust::event::{Event, EventFlags};
use cust::launch;
use cust::memory::{AsyncCopyDestination, DeviceBuffer, LockedBuffer};
use cust::module::Module;
use cust::stream::{Stream, StreamFlags, StreamWaitEventFlags};
use cust::sys::{
    CUcontext, CUevent, CUgraph, CUgraphExec, CUresult, CUstreamCaptureMode, cuCtxGetCurrent,
    cuCtxSetCurrent, cuEventCreate, cuEventRecord, cuGraphDestroy, cuGraphExecDestroy,
    cuGraphInstantiateWithFlags, cuGraphLaunch, cuStreamBeginCapture_v2, cuStreamEndCapture,
    cuStreamWaitEvent,
};
use gpubench::gpu_bench;

const PTX: &str = "
.version 7.0
.target sm_70
.address_size 64
.visible .entry lasts(.param .u64 nanoseconds, .param .u64 start, .param .u64 bytes) { ret; }
.visible .entry fill(.param .f32 a, .param .u64 y, .param .u64 n) { ret; }
.visible .entry trusts(.param .u64 flag) { ret; }";

/// The time of each kernel, in nanoseconds.
const EACH: u64 = 40_000;

fn load() -> CudaResult<Module> {
    Module::from_ptx(PTX, &[])
}

/// `KERNELS` of them, one after the other.
#[gpu_bench(consts(KERNELS = [1, 2, 5]), setup = load)]
fn kernels<const KERNELS: usize>(module: &Module, stream: &Stream) -> CudaResult<()> {
    for _ in 0..KERNELS {
        // SAFETY: the kernel takes these parameters, and reads nothing.
        unsafe { launch!(module.lasts<<<1, 32, 0, stream>>>(EACH, 0_u64, 0_u64)) }?;
    }
    Ok(())
}

/// A copy over the bus beside a kernel.
#[gpu_bench(
    setup = Ok((load()?, LockedBuffer::new(&7_u8, 1 << 20)?, DeviceBuffer::zeroed(1 << 20)?)),
    bytes = x.len(),
    link = h2d,
    check = |_module, _x, y: &DeviceBuffer<u8>| { assert_eq!(y.as_host_vec()?, [7; 1 << 20]); Ok(()) },
)]
fn copy_and_kernel(
    module: &Module,
    x: &LockedBuffer<u8>,
    y: &mut DeviceBuffer<u8>,
    stream: &Stream,
) -> CudaResult<()> {
    // SAFETY: both outlive the case, and nobody writes them meanwhile.
    unsafe { y.async_copy_from(x, stream) }?;
    kernels::<1>(module, stream)
}

/// Two kernels in a graph of the user's own.
struct Captured {
    executable: CUgraphExec,
    graph: CUgraph,
    // What it launches must stay loaded.
    _module: Module,
}

impl Captured {
    fn two() -> Result<Self, String> {
        let module = load().map_err(|error| error.to_string())?;
        let stream = Stream::new(StreamFlags::NON_BLOCKING, None).map_err(|error| error.to_string())?;
        let (mut graph, mut executable) = (null_mut(), null_mut());
        let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        // SAFETY: the stream is alive, and the handles have a place.
        unsafe {
            called(cuStreamBeginCapture_v2(stream.as_inner(), mode))?;
            kernels::<2>(&module, &stream).map_err(|error| error.to_string())?;
            called(cuStreamEndCapture(stream.as_inner(), &mut graph))?;
            called(cuGraphInstantiateWithFlags(&mut executable, graph, 0))?;
        }
        Ok(Self { executable, graph, _module: module })
    }
}

impl Drop for Captured {
    fn drop(&mut self) {
        // SAFETY: both are ours, and used nowhere else.
        let destroyed = unsafe { (cuGraphExecDestroy(self.executable), cuGraphDestroy(self.graph)) };
        // A context that is lost has destroyed them already.
        _ = destroyed;
    }
}

#[gpu_bench(setup = Captured::two())]
fn graph_of_its_own(captured: &Captured, stream: &Stream) -> Result<(), String> {
    // SAFETY: the graph is ready, and the stream alive.
    called(unsafe { cuGraphLaunch(captured.executable, stream.as_inner()) })
}

fn called(result: CUresult) -> Result<(), String> {
    if result == CUresult::CUDA_SUCCESS { Ok(()) } else { Err(format!("{result:?}")) }
}

/// A stream beside the one that is given.
struct Beside {
    module: Module,
    stream: Stream,
}

impl Beside {
    fn new() -> CudaResult<Self> {
        Ok(Self { module: load()?, stream: Stream::new(StreamFlags::DEFAULT, None)? })
    }

    fn lasts(&self, nanoseconds: u64, stream: &Stream) -> CudaResult<()> {
        let module = &self.module;
        // SAFETY: the kernel takes these parameters, and reads nothing.
        unsafe { launch!(module.lasts<<<1, 32, 0, stream>>>(nanoseconds, 0_u64, 0_u64)) }
    }

    /// Has the other stream wait for the given one.
    fn fork(&self, stream: &Stream) -> CudaResult<()> {
        wait(&self.stream, stream)
    }

    /// Has the given stream wait for the other one.
    fn join(&self, stream: &Stream) -> CudaResult<()> {
        wait(stream, &self.stream)
    }
}

/// Has `later` wait for what is on `earlier`.
fn wait(later: &Stream, earlier: &Stream) -> CudaResult<()> {
    let event = Event::new(EventFlags::DISABLE_TIMING)?;
    event.record(earlier)?;
    later.wait_event(event, StreamWaitEventFlags::DEFAULT)
}

#[gpu_bench(setup = Beside::new())]
fn forks_and_joins(beside: &Beside, stream: &Stream) -> CudaResult<()> {
    beside.fork(stream)?;
    beside.lasts(EACH, &beside.stream)?;
    beside.lasts(EACH, stream)?;
    beside.join(stream)
}

/// The work on the other stream can run before a sample begins.
#[gpu_bench(setup = Beside::new())]
fn joins_without_a_fork(beside: &Beside, stream: &Stream) -> CudaResult<()> {
    beside.lasts(EACH, &beside.stream)?;
    beside.join(stream)?;
    beside.lasts(EACH, stream)
}

/// The reset synchronizes, so that no graph can capture it.
#[gpu_bench(setup = Beside::new(), reset = |_beside, stream| stream.synchronize())]
fn joins_after_a_reset(beside: &Beside, stream: &Stream) -> CudaResult<()> {
    joins_without_a_fork(beside, stream)
}

/// The launch asks for an event, which it must not while it captures.
#[gpu_bench(setup = Beside::new())]
fn joins_after_a_query(beside: &Beside, stream: &Stream) -> CudaResult<()> {
    Event::new(EventFlags::DISABLE_TIMING)?.query()?;
    joins_without_a_fork(beside, stream)
}

/// The other stream waits only for what the given one did before the launch.
#[gpu_bench(setup = Ok((Beside::new()?, old_event()?)))]
fn joins_after_an_old_fork(beside: &Beside, event: &usize, stream: &Stream) -> Result<(), String> {
    let event = *event as CUevent;
    // SAFETY: the streams exist, and nothing destroys the event.
    unsafe {
        called(cuStreamWaitEvent(beside.stream.as_inner(), event, 0))?;
        joins_without_a_fork(beside, stream).map_err(|error| error.to_string())?;
        called(cuEventRecord(event, stream.as_inner()))
    }
}

fn old_event() -> Result<usize, String> {
    let mut event = null_mut();
    // SAFETY: there is a place for the handle.
    called(unsafe { cuEventCreate(&mut event, 0) })?;
    Ok(event as usize)
}

/// Two streams share an event, and the given stream waits only for the second one.
#[gpu_bench(setup = Ok((Beside::new()?, Beside::new()?, old_event()?)))]
fn joins_one_of_two(first: &Beside, second: &Beside, event: &usize, stream: &Stream) -> Result<(), String> {
    let text = |error: CudaError| error.to_string();
    for beside in [first, second] {
        beside.fork(stream).and_then(|()| beside.lasts(EACH, &beside.stream)).map_err(text)?;
        // SAFETY: the stream exists, and nothing destroys the event.
        called(unsafe { cuEventRecord(*event as CUevent, beside.stream.as_inner()) })?;
    }
    // SAFETY: the same.
    called(unsafe { cuStreamWaitEvent(stream.as_inner(), *event as CUevent, 0) })
}

/// The other stream waits for the given one in the first launch only.
#[gpu_bench(setup = Ok((Beside::new()?, Cell::new(0))))]
fn joins_and_forks_once(beside: &Beside, launches: &Cell<usize>, stream: &Stream) -> CudaResult<()> {
    if launches.replace(launches.get() + 1) == 0 {
        beside.fork(stream)?;
    }
    joins_without_a_fork(beside, stream)
}

/// Another thread puts the work on the other stream.
#[gpu_bench(setup = Beside::new())]
fn joins_another_thread(beside: &Beside, stream: &Stream) -> CudaResult<()> {
    let mut context = null_mut();
    // SAFETY: there is a place for the handle.
    _ = unsafe { cuCtxGetCurrent(&mut context) };
    let context = context as usize;
    std::thread::scope(|scope| {
        let work = scope.spawn(|| {
            // SAFETY: the context is current in the thread of the launch.
            _ = unsafe { cuCtxSetCurrent(context as CUcontext) };
            beside.lasts(EACH, &beside.stream)
        });
        work.join().expect("it does not panic")
    })?;
    beside.join(stream)?;
    beside.lasts(EACH, stream)
}

/// Its own stream has nothing to do but to wait.
#[gpu_bench(setup = Beside::new())]
fn works_beside_and_joins(beside: &Beside, stream: &Stream) -> CudaResult<()> {
    beside.fork(stream)?;
    beside.lasts(EACH, &beside.stream)?;
    beside.join(stream)
}

/// The work on the other stream is shorter than the work on the given one.
#[gpu_bench(setup = Beside::new())]
fn forks_and_does_not_join(beside: &Beside, stream: &Stream) -> CudaResult<()> {
    beside.fork(stream)?;
    beside.lasts(EACH / 4, &beside.stream)?;
    beside.lasts(EACH, stream)
}

#[gpu_bench(setup = Beside::new())]
fn goes_on_beside(beside: &Beside, stream: &Stream) -> CudaResult<()> {
    beside.lasts(EACH, stream)?;
    beside.lasts(4 * EACH, &beside.stream)
}

/// It ends before the given stream does.
#[gpu_bench(setup = Beside::new())]
fn is_short_beside(beside: &Beside, stream: &Stream) -> CudaResult<()> {
    beside.lasts(EACH / 4, &beside.stream)?;
    beside.lasts(EACH, stream)
}

/// The host waits for it, which it must not while it captures.
#[gpu_bench(setup = Beside::new())]
fn is_waited_for_beside(beside: &Beside, stream: &Stream) -> CudaResult<()> {
    beside.lasts(EACH / 4, &beside.stream)?;
    beside.stream.synchronize()?;
    beside.lasts(EACH, stream)
}

/// The host waits for an event behind it.
#[gpu_bench(setup = Beside::new())]
fn is_passed_beside(beside: &Beside, stream: &Stream) -> CudaResult<()> {
    let event = Event::new(EventFlags::DISABLE_TIMING)?;
    beside.lasts(EACH / 4, &beside.stream)?;
    event.record(&beside.stream)?;
    event.synchronize()?;
    beside.lasts(EACH, stream)
}

/// Memory that no parameter names.
struct Zeros {
    module: Module,
    y: DeviceBuffer<f32>,
}

const N: usize = 1 << 12;

impl Zeros {
    fn new() -> CudaResult<Self> {
        Ok(Self { module: load()?, y: DeviceBuffer::zeroed(N)? })
    }

    fn read(&self, stream: &Stream) -> CudaResult<()> {
        let (module, bytes) = (&self.module, 4 * N as u64);
        // SAFETY: the kernel takes these parameters, and reads what the buffer has.
        unsafe { launch!(module.lasts<<<1, 32, 0, stream>>>(EACH, self.y.as_device_ptr(), bytes)) }
    }

    fn fill(&mut self, a: f32, stream: &Stream) -> CudaResult<()> {
        let module = &self.module;
        // SAFETY: the kernel takes these parameters, and writes what the buffer has.
        unsafe { launch!(module.fill<<<4, 256, 0, stream>>>(a, self.y.as_device_ptr(), N as u64)) }
    }
}

#[gpu_bench(setup = Zeros::new(), writes = 4 * N)]
fn writes_nothing(zeros: &mut Zeros, stream: &Stream) -> CudaResult<()> {
    zeros.read(stream)
}

/// It claims all of its memory, and leaves half of it as it is.
#[gpu_bench(setup = Zeros::new(), writes = 4 * N)]
fn writes_half(zeros: &mut Zeros, stream: &Stream) -> CudaResult<()> {
    let module = &zeros.module;
    // SAFETY: the kernel takes these parameters, and writes half of what the buffer has.
    unsafe { launch!(module.fill<<<4, 256, 0, stream>>>(0.5_f32, zeros.y.as_device_ptr(), N as u64 / 2)) }
}

/// It writes all of it, and half of that is what is there.
#[gpu_bench(setup = Zeros::new(), writes = 4 * N)]
fn writes_half_anew(zeros: &mut Zeros, stream: &Stream) -> CudaResult<()> {
    writes_half(zeros, stream)?;
    let module = &zeros.module;
    // SAFETY: as above, of the other half.
    unsafe {
        let rest = zeros.y.as_device_ptr().add(N / 2);
        launch!(module.fill<<<4, 256, 0, stream>>>(0.0_f32, rest, N as u64 / 2))
    }
}

#[gpu_bench(setup = Zeros::new(), writes = 4 * N)]
fn writes_what_is_there(zeros: &mut Zeros, stream: &Stream) -> CudaResult<()> {
    zeros.fill(0.0, stream)
}

#[gpu_bench(setup = Zeros::new(), bytes = 4 * N)]
fn moves_only_reads(zeros: &Zeros, stream: &Stream) -> CudaResult<()> {
    zeros.read(stream)
}

#[gpu_bench(setup = Zeros::new(), reads = 4 * N)]
fn reads(zeros: &Zeros, stream: &Stream) -> CudaResult<()> {
    zeros.read(stream)
}

/// Updates its memory in place in `KERNELS` kernels, and declares that it does so in `PASSES`.
#[gpu_bench(
    consts(KERNELS = [1, 2, 3], PASSES = [1, 2, 3]),
    setup = Zeros::new(),
    reads = 4 * N,
    writes = 4 * N,
    intermediates = 2 * (PASSES - 1) * 4 * N,
)]
fn passes_on<const KERNELS: usize, const PASSES: usize>(
    zeros: &mut Zeros,
    stream: &Stream,
) -> CudaResult<()> {
    (0..KERNELS).try_for_each(|pass| zeros.fill(0.5 + pass as f32, stream))
}

/// It writes nothing, but that is not found out.
#[gpu_bench(setup = Zeros::new(), writes = 4)]
fn trusts_its_input(zeros: &mut Zeros, stream: &Stream) -> CudaResult<()> {
    let module = &zeros.module;
    // SAFETY: the kernel takes the address of a word, which the buffer has.
    unsafe { launch!(module.trusts<<<1, 1, 0, stream>>>(zeros.y.as_device_ptr())) }
}

/// Inputs that are valid only after a reset.
struct Guarded {
    flag: Zeros,
    y: Zeros,
}

impl Guarded {
    fn closed(stream: &Stream) -> CudaResult<Self> {
        let mut guarded = Self { flag: Zeros::new()?, y: Zeros::new()? };
        guarded.flag.fill(1.0, stream)?;
        Ok(guarded)
    }

    fn open(&mut self, stream: &Stream) -> CudaResult<()> {
        self.flag.fill(0.0, stream)
    }
}

#[gpu_bench(setup = Guarded::closed(stream), reset = Guarded::open, writes = 4 * N)]
fn needs_its_reset(guarded: &mut Guarded, stream: &Stream) -> CudaResult<()> {
    trusts_its_input(&mut guarded.flag, stream)?;
    guarded.y.fill(0.0, stream)
}

thread_local! {
    static KEPT: RefCell<Option<Zeros>> = const { RefCell::new(None) };
}

/// Leaves memory behind for the next.
#[gpu_bench(
    setup = {
        KEPT.set(Some(Zeros::new()?));
        Ok(Zeros::new()?)
    },
    writes = 4 * N,
)]
fn writes(zeros: &mut Zeros, stream: &Stream) -> CudaResult<()> {
    zeros.fill(0.5, stream)
}

/// Its memory is there before any input: set-up makes none.
#[gpu_bench(writes = 4 * N)]
fn writes_what_was_there_before(stream: &Stream) -> CudaResult<()> {
    KEPT.with_borrow_mut(|kept| match kept {
        Some(kept) => kept.fill(0.5, stream),
        None => Ok(()),
    })
}

/// It writes to the host's memory, which write detection cannot see.
#[gpu_bench(setup = Ok((DeviceBuffer::zeroed(N)?, vec![0_f32; N])), bytes = 4 * N, link = d2h)]
fn copies_out(x: &DeviceBuffer<f32>, y: &mut Vec<f32>, stream: &Stream) -> CudaResult<()> {
    // SAFETY: both outlive the case, and nobody reads them meanwhile.
    unsafe { x.async_copy_to(y, stream) }
}

/// The same, to memory that the device can reach.
#[gpu_bench(setup = Ok((DeviceBuffer::from_slice(&[1_f32; N])?, LockedBuffer::new(&0_f32, N)?)), bytes = 4 * N, link = d2h)]
fn writes_pinned_memory(x: &DeviceBuffer<f32>, y: &mut LockedBuffer<f32>, stream: &Stream) -> CudaResult<()> {
    // SAFETY: as above.
    unsafe { x.async_copy_to(y, stream) }
}

gpubench::main!();
