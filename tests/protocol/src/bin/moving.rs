//! Sums whose inputs are made again between the groups of their samples, and those whose inputs are not.

#![expect(unsafe_code, reason = "reads memory by its address")]

use std::error::Error;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use cust::error::CudaResult;
use cust::memory::{DeviceBuffer, DevicePointer};
use cust::stream::Stream;
use gpubench::gpu_bench;
use gpubench_kernels::cuda::{Reduction, sum};

/// The number of elements, all of which are zero.
const N: usize = 1 << 18;

type Inputs = (Reduction, DeviceBuffer<f32>, DeviceBuffer<f64>);
type Refusal = Box<dyn Error + Send + Sync>;

fn inputs() -> Result<Inputs, Refusal> {
    Ok((Reduction::load()?, DeviceBuffer::zeroed(N)?, DeviceBuffer::zeroed(1)?))
}

/// Refuses a second time in a process.
fn once() -> Result<Inputs, Refusal> {
    static MADE: AtomicBool = AtomicBool::new(false);
    match MADE.swap(true, Ordering::Relaxed) {
        true => Err("these inputs are made once".into()),
        false => inputs(),
    }
}

/// Adds up the numbers of such inputs.
macro_rules! sums {
    ($name:ident, $setup:expr, $option:ident) => {
        #[gpu_bench(setup = $setup, reads = 4 * N, $option)]
        fn $name(
            reduction: &mut Reduction,
            x: &DeviceBuffer<f32>,
            total: &mut DeviceBuffer<f64>,
            stream: &Stream,
        ) -> CudaResult<()> {
            sum(reduction, x, total, stream)
        }
    };
}

sums!(moves, inputs(), cold);
sums!(refuses, once(), cold);
sums!(accumulates, inputs(), accumulates);

/// It has too much memory for its inputs to be moved, whatever of it is read.
#[gpu_bench(
    setup = {
        let (reduction, x, total) = inputs()?;
        Ok::<_, Refusal>((reduction, x, total, DeviceBuffer::<u8>::zeroed(320 << 20)?))
    },
    reads = 4 * N,
)]
fn large(
    reduction: &mut Reduction,
    x: &DeviceBuffer<f32>,
    total: &mut DeviceBuffer<f64>,
    _rest: &DeviceBuffer<u8>,
    stream: &Stream,
) -> CudaResult<()> {
    sum(reduction, x, total, stream)
}

/// The number of times that any inputs were made in this process.
static MADE: AtomicUsize = AtomicUsize::new(0);

/// Inputs, with true for those that are not the first of their kind.
fn numbered(made: &AtomicUsize) -> Result<(Reduction, DeviceBuffer<f32>, DeviceBuffer<f64>, bool), Refusal> {
    let (reduction, x, total) = inputs()?;
    Ok((reduction, x, total, made.fetch_add(1, Ordering::Relaxed) > 0))
}

/// Launches refuse all inputs but the first.
#[gpu_bench(setup = { static MADE: AtomicUsize = AtomicUsize::new(0); numbered(&MADE) }, reads = 4 * N, cold)]
fn knows_the_first(
    reduction: &mut Reduction,
    x: &DeviceBuffer<f32>,
    total: &mut DeviceBuffer<f64>,
    later: &bool,
    stream: &Stream,
) -> Result<(), Refusal> {
    if *later {
        return Err("these are not the first inputs".into());
    }
    Ok(sum(reduction, x, total, stream)?)
}

/// Inputs are of other sizes each time, which only the counts tell.
#[gpu_bench(
    setup = { let (reduction, x, total) = inputs()?; Ok::<_, Refusal>((reduction, x, total, MADE.fetch_add(1, Ordering::Relaxed))) },
    items = 1000 + *made,
)]
fn counts_others(
    reduction: &mut Reduction,
    x: &DeviceBuffer<f32>,
    total: &mut DeviceBuffer<f64>,
    made: &usize,
    stream: &Stream,
) -> CudaResult<()> {
    _ = made;
    sum(reduction, x, total, stream)
}

/// The address of the input that was made last, and is still there.
static LAST: Mutex<Option<u64>> = Mutex::new(None);

/// An input whose address is told to all.
struct Told(DeviceBuffer<f32>);

impl Told {
    fn new() -> CudaResult<Self> {
        let x = DeviceBuffer::zeroed(N)?;
        *LAST.lock().unwrap_or_else(PoisonError::into_inner) = Some(x.as_device_ptr().as_raw());
        Ok(Self(x))
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        *LAST.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Reads what was told last, as a kernel does whose constants `setup` writes.
#[gpu_bench(setup = Ok::<_, Refusal>((Reduction::load()?, Told::new()?, DeviceBuffer::zeroed(1)?)), reads = 4 * N, cold)]
fn reads_the_last(
    reduction: &mut Reduction,
    told: &Told,
    total: &mut DeviceBuffer<f64>,
    stream: &Stream,
) -> Result<(), Refusal> {
    _ = &told.0;
    let last = LAST.lock().unwrap_or_else(PoisonError::into_inner).ok_or("no input is there")?;
    // SAFETY: it was allocated with N elements, and lives as long as it is told.
    let x = unsafe { DeviceBuffer::from_raw_parts(DevicePointer::from_raw(last), N) };
    Ok(sum(reduction, &ManuallyDrop::new(x), total, stream)?)
}

/// An input that panics when it is dropped, if another one was made before it.
struct Panics(DeviceBuffer<f32>, bool);

impl Drop for Panics {
    fn drop(&mut self) {
        assert!(!self.1 || std::thread::panicking(), "dropped");
    }
}

#[gpu_bench(
    setup = {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let (reduction, x, total, later) = numbered(&MADE)?;
        Ok::<_, Refusal>((reduction, Panics(x, later), total))
    },
    reads = 4 * N,
    cold,
)]
fn drops_with_a_panic(
    reduction: &mut Reduction,
    x: &Panics,
    total: &mut DeviceBuffer<f64>,
    stream: &Stream,
) -> CudaResult<()> {
    sum(reduction, &x.0, total, stream)
}

gpubench::main!();
