//! Launch functions whose time is not that of their work, by mistake or on purpose.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use gpubench::{gpu_bench, host};

use crate::{Filled, N, SORTED, all_are, unsorted};

/// This number of launches does all of the work.
const ALL: u64 = 4;

/// It fills its output without the stream.
#[gpu_bench(
    setup = Ok(vec![0.0; N]),
    writes = size_of_val(y),
    check = |y| all_are(y, 0.5),
)]
fn ignores_its_stream(y: &mut [f32], stream: &host::Stream) {
    _ = stream;
    y.fill(0.5);
}

/// Nothing uses the sum, so that an optimised build has no loop. Others have none either, as if they were optimised.
#[gpu_bench(setup = Ok(vec![0.5; 16 * N]), reads = size_of_val(x))]
fn loop_is_removed(x: &[f32], stream: &host::Stream) {
    stream.run(|| {
        if !cfg!(debug_assertions) {
            _ = x.iter().map(|x| f64::from(*x)).sum::<f64>();
        }
    });
}

/// The same without the stream.
#[gpu_bench(setup = Ok(vec![0.5; 16 * N]), reads = size_of_val(x))]
fn does_nothing(x: &[f32], stream: &host::Stream) {
    _ = (x, stream);
}

/// Each launch after the first finds sorted data.
#[gpu_bench(
    setup = Ok(unsorted(SORTED, 1)),
    reads = size_of_val(x),
    writes = size_of_val(x),
    check = |x| assert!(x.is_sorted()),
    cold,
)]
fn sorts_in_place(x: &mut [u32], stream: &host::Stream) {
    stream.run(|| x.sort_unstable());
}

/// The largest output is no part of what makes later launches fast.
#[gpu_bench(
    setup = Ok((unsorted(SORTED, 1), vec![0; 4 * SORTED])),
    check = |x, _scratch| assert!(x.is_sorted()),
)]
fn sorts_with_a_larger_scratch(x: &mut [u32], scratch: &mut [u32], stream: &host::Stream) {
    stream.run(|| {
        scratch.fill(0);
        x.sort_unstable();
    });
}

/// A `reset` that restores another array.
#[gpu_bench(
    setup = Ok((unsorted(SORTED, 1), unsorted(SORTED, 1))),
    reset = |_x, other, stream| stream.run(|| other.rotate_left(1)),
    check = |x, _other| assert!(x.is_sorted()),
)]
fn sorts_with_a_useless_reset(x: &mut [u32], other: &mut [u32], stream: &host::Stream) {
    _ = other;
    stream.run(|| x.sort_unstable());
}

/// The work of a sum.
fn sum(x: &[f32]) -> f64 {
    x.iter().map(|x| f64::from(*x)).sum()
}

/// An earlier sum of as many elements is returned again.
#[gpu_bench(
    setup = Ok((vec![0.5; 4 * N], 0.0)),
    reads = size_of_val(x),
    check = |x, total| assert_eq!(*total, 0.5 * x.len() as f64),
)]
fn remembers_in_a_static(x: &[f32], total: &mut f64, stream: &host::Stream) {
    static SUMS: Mutex<Option<HashMap<usize, f64>>> = Mutex::new(None);
    let mut sums = SUMS.lock().unwrap_or_else(PoisonError::into_inner);
    let sums = sums.get_or_insert_default();
    stream.run(|| *total = *sums.entry(x.len()).or_insert_with(|| sum(x)));
}

/// Inputs with a place for the result.
struct Remembered {
    x: Vec<f32>,
    total: Option<f64>,
}

impl Remembered {
    fn new() -> Self {
        Self { x: vec![0.5; 4 * N], total: None }
    }

    fn is_right(&self) {
        assert_eq!(self.total, Some(0.5 * self.x.len() as f64));
    }
}

#[gpu_bench(
    setup = Ok(Remembered::new()),
    reads = size_of_val(&remembered.x[..]),
    check = |remembered| remembered.is_right(),
)]
fn remembers_in_its_inputs(remembered: &mut Remembered, stream: &host::Stream) {
    let Remembered { x, total } = remembered;
    stream.run(|| _ = total.get_or_insert_with(|| sum(x)));
}

/// The same without declared bytes.
#[gpu_bench(setup = Ok(Remembered::new()), check = |remembered| remembered.is_right())]
fn remembers_undeclared(remembered: &mut Remembered, stream: &host::Stream) {
    let Remembered { x, total } = remembered;
    stream.run(|| _ = total.get_or_insert_with(|| sum(x)));
}

/// It moves a hundredth of what it declares.
#[gpu_bench(
    setup = Ok((vec![0.5; N], vec![0.0; N])),
    reads = 1000 * size_of_val(x),
    writes = 1000 * size_of_val(y),
    check = |x, y| assert_eq!(x, y),
)]
fn declares_a_thousand_times(x: &[f32], y: &mut [f32], stream: &host::Stream) {
    stream.run(|| y.copy_from_slice(x));
}

/// An output that threads fill.
type Shared = Arc<Mutex<Vec<f32>>>;

fn shared(n: usize) -> Shared {
    Arc::new(Mutex::new(vec![0.0; n]))
}

fn fill(y: &Shared) {
    y.lock().unwrap_or_else(PoisonError::into_inner).fill(0.5);
}

/// A thread fills the output a millisecond later, and nobody waits for it. 16 KiB, so that not many threads are there at once.
#[gpu_bench(
    setup = Ok(shared(N / 16)),
    writes = N / 4,
    check = |y| all_are(&y.lock().unwrap_or_else(PoisonError::into_inner), 0.5),
)]
fn spawns_a_thread(y: &Shared, stream: &host::Stream) {
    let y = Arc::clone(y);
    stream.run(|| {
        thread::spawn(move || {
            thread::sleep(Duration::from_millis(1));
            fill(&y);
        });
    });
}

/// A thread that works for launches, and that the launches do not wait for.
struct Worker {
    y: Shared,
    is_over: Arc<AtomicBool>,
    jobs: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    fn new() -> Self {
        let (jobs, queue) = mpsc::channel();
        let (y, is_over) = (shared(N), Arc::new(AtomicBool::new(false)));
        let (its_y, its_end) = (Arc::clone(&y), Arc::clone(&is_over));
        let work = move || {
            for () in queue {
                if its_end.load(Ordering::Relaxed) {
                    break;
                }
                fill(&its_y);
            }
        };
        Self { y, is_over, jobs: Some(jobs), thread: Some(thread::spawn(work)) }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        drop(self.jobs.take());
        // A worker that panicked has ended too.
        _ = self.thread.take().map(JoinHandle::join);
    }
}

#[gpu_bench(setup = Ok(Worker::new()), writes = 4 * N)]
fn another_thread_works(worker: &Worker, stream: &host::Stream) {
    _ = (stream, &worker.y);
    worker.jobs.iter().for_each(|jobs| _ = jobs.send(()));
}

type Queue = Vec<fn(&mut [f32])>;

/// The check does the work of all launches.
#[gpu_bench(
    setup = Ok((Filled::new(N), Queue::new())),
    writes = size_of_val(&filled.y[..]),
    check = |filled, queue| is_right_later(filled, queue),
)]
fn lazy(filled: &mut Filled, queue: &mut Queue, stream: &host::Stream) {
    _ = (filled, stream);
    queue.push(|y| y.fill(0.5));
}

fn is_right_later(filled: &Filled, queue: &Queue) -> Result<(), String> {
    let mut y = filled.y.clone();
    queue.iter().take(1).for_each(|work| work(&mut y));
    all_are(&y, 0.5)
}

/// A 16th of the elements from the fifth launch on.
#[gpu_bench(
    setup = Ok(Filled::new(16 * N)),
    writes = size_of_val(&filled.y[..]),
    check = |filled| all_are(&filled.y, 0.5),
)]
fn fewer_elements_later(filled: &mut Filled, stream: &host::Stream) {
    let n = if filled.number() <= ALL { 16 * N } else { N };
    stream.run(|| filled.y[..n].fill(0.5));
}

/// A 16th of the elements from the fifth launch of the process on.
#[gpu_bench(
    setup = Ok(Filled::new(16 * N)),
    writes = size_of_val(&filled.y[..]),
    check = |filled| all_are(&filled.y, 0.5),
)]
fn fewer_elements_by_a_static(filled: &mut Filled, stream: &host::Stream) {
    static LAUNCHES: AtomicU64 = AtomicU64::new(0);
    let n = if LAUNCHES.fetch_add(1, Ordering::Relaxed) < ALL { 16 * N } else { N };
    stream.run(|| filled.y[..n].fill(0.5));
}

/// A 16th of the elements if this output has been filled before.
#[gpu_bench(
    setup = Ok(Filled::new(16 * N)),
    writes = size_of_val(&filled.y[..]),
    check = |filled| all_are(&filled.y, 0.5),
)]
fn cached_by_its_pointer(filled: &mut Filled, stream: &host::Stream) {
    static DONE: Mutex<Vec<usize>> = Mutex::new(Vec::new());
    let mut done = DONE.lock().unwrap_or_else(PoisonError::into_inner);
    let at = filled.y.as_ptr().addr();
    let n = if done.contains(&at) { N } else { 16 * N };
    if n > N {
        done.push(at);
    }
    stream.run(|| filled.y[..n].fill(0.5));
}

/// Nothing from the fifth launch on.
#[gpu_bench(
    setup = Ok(Filled::new(16 * N)),
    writes = size_of_val(&filled.y[..]),
    check = |filled| all_are(&filled.y, 0.5),
)]
fn returns_at_once_later(filled: &mut Filled, stream: &host::Stream) {
    if filled.number() <= ALL {
        stream.run(|| filled.y.fill(0.5));
    }
}

/// Garbage from the second launch of the process on.
#[gpu_bench(
    setup = Ok(Filled::new(N)),
    writes = size_of_val(&filled.y[..]),
    check = |filled| all_are(&filled.y, 0.5),
)]
fn garbage_by_a_static(filled: &mut Filled, stream: &host::Stream) {
    static LAUNCHES: AtomicU64 = AtomicU64::new(0);
    let value = if LAUNCHES.fetch_add(1, Ordering::Relaxed) == 0 { 0.5 } else { 0.25 };
    stream.run(|| filled.y.fill(value));
}
