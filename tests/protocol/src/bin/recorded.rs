//! Launches of graphs, the launch function's own and those that a library captured on a stream that it hides; and a launch that returns its
//! output. The fake knows the kernels by name: `lasts` takes the nanoseconds of its argument, `fill` fills.

#![expect(unsafe_code, reason = "launches kernels, and makes graphs of them")]

use std::ffi::c_void;
use std::ptr::null_mut;
use std::thread;

use cust::launch;
use cust::memory::DeviceBuffer;
use cust::module::Module;
use cust::stream::{Stream, StreamFlags};
use gpubench::cuda::{RawStream, Recorded, Replay};
use gpubench::{CaseError, gpu_bench};
use gpubench_driver::sys::{self, CUevent, CUgraph, CUgraphExec, CUresult, CUstream};

const PTX: &str = "
.version 7.0
.target sm_70
.address_size 64
.visible .entry lasts(.param .u64 nanoseconds, .param .u64 start, .param .u64 bytes) { ret; }
.visible .entry fill(.param .f32 a, .param .u64 y, .param .u64 n) { ret; }";

/// The time of each kernel, in nanoseconds.
const EACH: u64 = 40_000;
const N: usize = 1 << 12;

type Done<T = ()> = Result<T, String>;

fn called(result: CUresult) -> Done {
    if result == 0 { Ok(()) } else { Err(format!("the driver returned {result}")) }
}

fn text(error: impl ToString) -> String {
    error.to_string()
}

fn load() -> Done<Module> {
    Module::from_ptx(PTX, &[]).map_err(text)
}

fn lasts(module: &Module, nanoseconds: u64, stream: &Stream) -> Done {
    // SAFETY: the kernel takes these parameters, and reads nothing.
    unsafe { launch!(module.lasts<<<1, 32, 0, stream>>>(nanoseconds, 0_u64, 0_u64)) }.map_err(text)
}

/// Two of the kernels.
fn two(module: &Module, stream: &Stream) -> Done {
    (0..2).try_for_each(|_| lasts(module, EACH, stream))
}

/// The same, in a quarter of the time.
fn short(module: &Module, stream: &Stream) -> Done {
    (0..2).try_for_each(|_| lasts(module, EACH / 4, stream))
}

/// Captures what `work` puts on a stream of its own, gives the graph to `then`, and destroys it.
fn captured<T>(
    module: &Module,
    work: impl FnOnce(&Module, &Stream) -> Done,
    then: impl FnOnce(CUgraph) -> Done<T>,
) -> Done<T> {
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None).map_err(text)?;
    let raw: CUstream = stream.as_inner().cast();
    let mut graph = null_mut();
    // SAFETY: the stream is alive, and the handle has a place.
    unsafe {
        called(sys::cuStreamBeginCapture_v2(raw, sys::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL))?;
        work(module, &stream)?;
        called(sys::cuStreamEndCapture(raw, &raw mut graph))?;
    }
    let done = then(graph);
    // SAFETY: nothing else has it.
    called(unsafe { sys::cuGraphDestroy(graph) })?;
    done
}

struct Executable(CUgraphExec);

// SAFETY: the driver's functions may be called with an executable on any thread.
unsafe impl Send for Executable {}

impl Drop for Executable {
    fn drop(&mut self) {
        // SAFETY: nothing else has it.
        _ = unsafe { sys::cuGraphExecDestroy(self.0) };
    }
}

fn instantiated(graph: CUgraph) -> Done<Executable> {
    instantiated_with(0, graph)
}

fn instantiated_with(flags: u64, graph: CUgraph) -> Done<Executable> {
    let mut executable = null_mut();
    // SAFETY: the graph exists, and the handle has a place.
    called(unsafe { sys::cuGraphInstantiateWithFlags(&raw mut executable, graph, flags) })?;
    Ok(Executable(executable))
}

/// An executable of a graph that is gone.
struct Own {
    executable: Executable,
    module: Module,
}

impl Own {
    fn new(work: impl FnOnce(&Module, &Stream) -> Done) -> Done<Self> {
        let module = load()?;
        let executable = captured(&module, work, instantiated)?;
        Ok(Self { executable, module })
    }

    /// An executable that was updated to two kernels of a quarter of the time.
    fn updated() -> Done<Self> {
        let own = Self::new(two)?;
        captured(&own.module, short, |graph| updated(&own.executable, graph))?;
        Ok(own)
    }

    fn launch(&self, stream: &RawStream) -> Done {
        self.launch_on(stream.stream().cast())
    }

    fn launch_on(&self, stream: CUstream) -> Done {
        // SAFETY: both are alive.
        called(unsafe { sys::cuGraphLaunch(self.executable.0, stream) })
    }
}

/// Updates an executable to a graph.
fn updated(executable: &Executable, graph: CUgraph) -> Done {
    let (mut node, mut result) = (null_mut::<c_void>(), 0_u32);
    // SAFETY: both exist, and there are places for the results.
    called(unsafe {
        sys::cuGraphExecUpdate(executable.0, graph.cast(), (&raw mut node).cast(), (&raw mut result).cast())
    })
}

/// An executable with flags.
fn with_flags(flags: u64) -> Done<Own> {
    let module = load()?;
    let executable = captured(&module, two, |graph| instantiated_with(flags, graph))?;
    Ok(Own { executable, module })
}

fn allocates(module: &Module, stream: &Stream) -> Done {
    // SAFETY: no other code reads it.
    let buffer = unsafe { DeviceBuffer::<u32>::uninitialized_async(N, stream) }.map_err(text)?;
    lasts(module, EACH, stream)?;
    buffer.drop_async(stream).map_err(text)
}

#[gpu_bench(setup = Own::new(two))]
fn graph_of_its_own(own: &Own, stream: &RawStream) -> Done {
    own.launch(stream)
}

/// Its flag is of no effect.
#[gpu_bench(setup = with_flags(1))]
fn flagged_graph(own: &Own, stream: &RawStream) -> Done {
    own.launch(stream)
}

#[gpu_bench(setup = with_flags(8))]
fn prioritised_graph(own: &Own, stream: &RawStream) -> Done {
    own.launch(stream)
}

/// Launches on two streams: its graph on both, and gpubench's own on one.
struct Forks {
    own: Own,
    replay: Replay<'static>,
    other: &'static Stream,
    event: CUevent,
}

impl Forks {
    fn new() -> Done<Self> {
        let own = Own::new(two)?;
        let other: &Stream = Box::leak(Box::new(Stream::new(StreamFlags::NON_BLOCKING, None).map_err(text)?));
        let module: &Module = Box::leak(Box::new(load()?));
        let replay = Replay::capture(other, || lasts(module, EACH, other)).map_err(text)?;
        let mut event = null_mut();
        // SAFETY: the handle has a place. It is never destroyed.
        called(unsafe { sys::cuEventCreate(&raw mut event, sys::CU_EVENT_DEFAULT) })?;
        Ok(Self { own, replay, other, event })
    }
}

#[gpu_bench(setup = Forks::new())]
fn forked_graphs(forks: &Forks, stream: &Stream) -> Done {
    let Forks { own, replay, other, event } = forks;
    let [stream, other] = [stream, other].map(|stream| stream.as_inner().cast());
    // SAFETY: both streams and the event are alive.
    let joins = |stream: CUstream, other: CUstream| unsafe {
        called(sys::cuEventRecord(*event, other))?;
        called(sys::cuStreamWaitEvent(stream, *event, 0))
    };
    joins(other, stream)?;
    own.launch_on(stream)?;
    own.launch_on(other)?;
    replay.launch().map_err(text)?;
    joins(stream, other)
}

#[gpu_bench(setup = Own::updated())]
fn updated_graph(own: &Own, stream: &RawStream) -> Done {
    own.launch(stream)
}

#[gpu_bench(setup = Own::new(allocates))]
fn allocating_graph(own: &Own, stream: &RawStream) -> Done {
    own.launch(stream)
}

/// What a library keeps of its capture.
struct Kept {
    _executable: Option<Executable>,
    y: DeviceBuffer<f32>,
    _module: Module,
}

/// Captures in a thread of the library's own, as cubecl does, and waits for it.
fn by_a_library(work: impl Fn(&Module, &Stream, &DeviceBuffer<f32>) -> Done + Sync) -> Done<Kept> {
    let (module, y) = (load()?, DeviceBuffer::zeroed(N).map_err(text)?);
    let mut context = null_mut();
    // SAFETY: the handle has a place.
    called(unsafe { sys::cuCtxGetCurrent(&raw mut context) })?;
    let context = context as usize;
    let executable = thread::scope(|scope| {
        let captures = scope.spawn(|| {
            // SAFETY: the context is current in the thread that waits.
            called(unsafe { sys::cuCtxSetCurrent(context as *mut _) })?;
            captured(&module, |module, stream| work(module, stream, &y), instantiated)
        });
        captures.join().map_err(|_| "the library panics")?
    })?;
    Ok(Kept { _executable: Some(executable), y, _module: module })
}

fn fills(module: &Module, stream: &Stream, y: &DeviceBuffer<f32>) -> Done {
    // SAFETY: the kernel takes these parameters, and writes what the buffer has.
    unsafe { launch!(module.fill<<<4, 256, 0, stream>>>(0.5_f32, y.as_device_ptr(), N as u64)) }.map_err(text)
}

fn recorded(library: impl FnMut() -> Done<Kept>) -> Result<Recorded<Kept>, CaseError> {
    // SAFETY: the library's result keeps its buffer and its module.
    unsafe { Recorded::capture(library) }
}

#[gpu_bench(setup = recorded(|| by_a_library(|module, stream, _| two(module, stream))))]
fn recorded_kernels(recorded: &Recorded<Kept>, stream: &RawStream) -> Result<(), CaseError> {
    recorded.launch(stream)
}

#[gpu_bench(
    setup = recorded(|| by_a_library(fills)),
    cold,
    check = |recorded: &Recorded<Kept>| {
        assert_eq!(recorded.kept().y.as_host_vec()?, [0.5; N]);
        Ok(())
    },
)]
fn recorded_fill(recorded: &Recorded<Kept>, stream: &RawStream) -> Result<(), CaseError> {
    recorded.launch(stream)
}

/// Writes less than it declares.
#[gpu_bench(setup = recorded(|| by_a_library(fills)), writes = 40 * N)]
fn recorded_too_little(recorded: &Recorded<Kept>, stream: &RawStream) -> Result<(), CaseError> {
    recorded.launch(stream)
}

#[gpu_bench(setup = recorded(|| by_a_library(|module, stream, _| allocates(module, stream))))]
fn recorded_allocation(recorded: &Recorded<Kept>, stream: &RawStream) -> Result<(), CaseError> {
    recorded.launch(stream)
}

/// Its library updates the graph before it hands it out.
#[gpu_bench(setup = recorded(|| {
    let kept = by_a_library(|module, stream, _| two(module, stream))?;
    let executable = kept._executable.as_ref().ok_or("there is one")?;
    captured(&kept._module, short, |graph| updated(executable, graph))?;
    Ok(kept)
}))]
fn recorded_update(recorded: &Recorded<Kept>, stream: &RawStream) -> Result<(), CaseError> {
    recorded.launch(stream)
}

/// Captures the launch of another graph, which the driver refuses.
fn captures_another_graph() -> Done<Kept> {
    let (own, y) = (Own::new(two)?, DeviceBuffer::zeroed(N).map_err(text)?);
    let launch = |_: &Module, stream: &Stream| own.launch_on(stream.as_inner().cast());
    let executable = captured(&own.module, launch, instantiated)?;
    Ok(Kept { _executable: Some(executable), y, _module: own.module })
}

#[gpu_bench(setup = recorded(captures_another_graph))]
fn captures_a_launch_of_a_graph(recorded: &Recorded<Kept>, stream: &RawStream) -> Result<(), CaseError> {
    recorded.launch(stream)
}

#[gpu_bench(setup = recorded(|| {
    drop(by_a_library(fills)?);
    Ok(Kept { _executable: None, y: DeviceBuffer::zeroed(N).map_err(text)?, _module: load()? })
}))]
fn captures_and_drops(recorded: &Recorded<Kept>, stream: &RawStream) -> Result<(), CaseError> {
    recorded.launch(stream)
}

#[gpu_bench(setup = recorded(|| {
    Ok(Kept { _executable: None, y: DeviceBuffer::zeroed(N).map_err(text)?, _module: load()? })
}))]
fn captures_nothing(recorded: &Recorded<Kept>, stream: &RawStream) -> Result<(), CaseError> {
    recorded.launch(stream)
}

#[gpu_bench(setup = recorded(|| by_a_library(|_, _, _| Ok(()))))]
fn captures_an_empty_graph(recorded: &Recorded<Kept>, stream: &RawStream) -> Result<(), CaseError> {
    recorded.launch(stream)
}

#[gpu_bench(setup = recorded(|| {
    std::mem::forget(by_a_library(fills)?);
    by_a_library(fills)
}))]
fn captures_two_graphs(recorded: &Recorded<Kept>, stream: &RawStream) -> Result<(), CaseError> {
    recorded.launch(stream)
}

#[gpu_bench(setup = recorded(|| Err("the library refuses".to_owned())))]
fn library_fails(recorded: &Recorded<Kept>, stream: &RawStream) -> Result<(), CaseError> {
    recorded.launch(stream)
}

/// Memory that is freed in the order of the stream that it was allocated on.
struct Output {
    address: u64,
    stream: CUstream,
}

impl Drop for Output {
    fn drop(&mut self) {
        // SAFETY: the case's stream outlives its outputs, and nothing uses the memory later.
        _ = unsafe { sys::cuMemFreeAsync(self.address, self.stream) };
    }
}

/// Allocates its output, as operators of candle do.
#[gpu_bench(
    setup = load(),
    writes = 4 * N,
    check = |output: &Output, _module| {
        let mut found = [0_f32; N];
        // SAFETY: both places have as many bytes.
        called(unsafe { sys::cuMemcpyDtoH_v2(found.as_mut_ptr().cast(), output.address, 4 * N) })?;
        if found == [0.5; N] { Ok(()) } else { Err(format!("the first is {}", found[0]).into()) }
    },
)]
fn returns_its_output(module: &Module, stream: &Stream) -> Done<Output> {
    let mut output = Output { address: 0, stream: stream.as_inner().cast() };
    // SAFETY: the address has a place.
    called(unsafe { sys::cuMemAllocAsync(&raw mut output.address, 4 * N, output.stream) })?;
    // SAFETY: the kernel takes these parameters, and writes what was allocated.
    unsafe { launch!(module.fill<<<4, 256, 0, stream>>>(0.5_f32, output.address, N as u64)) }
        .map_err(text)?;
    Ok(output)
}

/// The same, and nothing looks at it.
#[gpu_bench(setup = load(), writes = 4 * N)]
fn returns_an_unchecked_output(module: &Module, stream: &Stream) -> Done<Output> {
    returns_its_output(module, stream)
}

gpubench::main!();
