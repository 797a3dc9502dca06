//! The test that a flush empties the L2 and leaves it clean on this GPU, before anything is timed behind it. In: a
//! flush; out: a [`FlushVerification`], measured once for each flush and kept, and the flush to use if the user asks for none.

use std::rc::Rc;

use gpubench_driver::sys::CUstream;

use crate::device::{SampleOptions, Work};
use crate::devices::cuda::Cuda;
use crate::devices::cuda::flush::Flusher;
use crate::devices::cuda::guarded::Guarded;
use crate::devices::cuda::kernels::Kernels;
use crate::devices::cuda::sampling::graph_path::GraphPath;
use crate::devices::cuda::sampling::samples::{SamplingState, Works};
use crate::devices::cuda::sampling::timer;
use gpubench_records::failure::{Failure, Stage};
use gpubench_records::method::{Cache, Flush, FlushVerification};
use gpubench_stats::format;
use gpubench_stats::units::Nanoseconds;
use gpubench_stats::{median, median_below_step};

/// The number of timed reads, after as many that do not count.
const READS: usize = 16;
/// The groups of that many reads with a coarse timer, whose readings are averaged.
const COARSE_GROUPS: usize = 16;
/// The quarters read to see if lines are gone: one quarter of the L2's size fits as a whole, even into an L2 of two
/// halves that keeps a copy in each.
const CANARY: usize = 1;
/// The quarters read to see if lines are dirty: a larger read must write back more first. Reading the whole L2's size
/// would evict part of itself.
const SWEEP: usize = 3;

/// A flush is given up after this many failed proofs. On two H200s, one of six first proofs failed, on a GPU that had
/// idled: 83.6 % of the lines seemed gone.
const ATTEMPTS: usize = 3;

/// A flush, and the facts known about it.
#[derive(Clone, Debug)]
pub(crate) struct ChosenFlush {
    pub(crate) flush: Flush,
    pub(crate) reason: Option<String>,
    pub(crate) proof: Option<FlushVerification>,
}

/// Chooses the flush for `wanted`: the user's, whatever it does; otherwise the first that empties the L2 and leaves it
/// clean.
pub(crate) fn choose(device: &mut Cuda, wanted: &SampleOptions) -> Result<ChosenFlush, Failure> {
    let none = ChosenFlush { flush: Flush::None, reason: None, proof: None };
    let flush = match (wanted.cache, wanted.flush) {
        (Cache::Hot, _) | (Cache::Cold, Some(Flush::None)) => return Ok(none),
        (Cache::Cold, flush) => flush,
    };
    if flush == Some(Flush::Lines) {
        let message = "--flush lines: a GPU has `discard`, `read`, `write`, `none`";
        return Err(Failure::new(Stage::Device, message));
    }
    if flush == Some(Flush::Discard) && device.kernels.discard.is_none() {
        let message = "this GPU cannot discard lines of its L2 (compute capability 8.0 can): --flush read, write or none";
        return Err(Failure::new(Stage::Device, message));
    }
    if let Some(flush) = flush {
        let proof = prove(device, flush)?;
        let reason = (!proof.evicts_cache()).then(|| against(flush, &proof));
        return Ok(ChosenFlush { flush, reason, proof: Some(proof) });
    }
    let usual = device.usual_flush();
    let mut proof = prove(device, usual)?;
    for _ in 1..ATTEMPTS {
        if proof.evicts_cache() && proof.is_clean() {
            break;
        }
        // The clock of an idle GPU rises during the proof, and shifts the times that the proof compares: try again.
        device.proofs.remove(&usual);
        proof = prove(device, usual)?;
    }
    if proof.evicts_cache() && proof.is_clean() {
        return Ok(ChosenFlush { flush: usual, reason: None, proof: Some(proof) });
    }
    let why = against(usual, &proof);
    for flush in [Flush::Read, Flush::Write] {
        let proof = prove(device, flush)?;
        if flush != usual && proof.evicts_cache() && (proof.is_clean() || flush == Flush::Write) {
            return Ok(ChosenFlush { flush, reason: Some(why), proof: Some(proof) });
        }
    }
    Ok(ChosenFlush { flush: usual, reason: Some(format!("{why}; nor does another")), proof: Some(proof) })
}

/// Returns the objection to a flush, in words.
fn against(flush: Flush, proof: &FlushVerification) -> String {
    let evicted = match proof.evicted_fraction() {
        None => {
            return format!("whether `{flush}` empties the L2 cannot be told: reading from it is no faster");
        }
        Some(evicted) => evicted,
    };
    if proof.evicts_cache() {
        format!("`{flush}` leaves the L2 dirty: a sweep takes {} longer", format::percent(proof.dirt()))
    } else {
        format!("`{flush}` does not empty the L2: only {} of what it held is gone", format::percent(evicted))
    }
}

/// Measures the proof of `flush`.
fn prove(device: &mut Cuda, flush: Flush) -> Result<FlushVerification, Failure> {
    if let Some(proof) = device.proofs.get(&flush) {
        return Ok(*proof);
    }
    let reference = Flush::Read;
    let mut proof = FlushVerification::default();
    proof.cached_read = read(device, CANARY, Flush::None)?;
    proof.flushed_read = read(device, CANARY, flush)?;
    proof.reference_read = read(device, CANARY, reference)?;
    proof.large_read = read(device, SWEEP, flush)?;
    proof.reference_large_read = read(device, SWEEP, reference)?;
    device.proofs.insert(flush, proof);
    Ok(proof)
}

/// Returns the time of a read of `quarters` quarters of the L2's size behind `flush`.
fn read(device: &mut Cuda, quarters: usize, flush: Flush) -> Result<Nanoseconds, Failure> {
    let kernels = Rc::clone(&device.kernels);
    let mut probe = Probe { flusher: Rc::clone(&device.flusher), kernels, stream: device.stream, quarters };
    let cache = if flush == Flush::None { Cache::Hot } else { Cache::Cold };
    let groups = if device.dither.is_some() { COARSE_GROUPS } else { 1 };
    let works = Works::One(Guarded::new(&mut probe, device.own));
    let mut path = GraphPath::new(SamplingState::new(device, works, &SampleOptions::new(cache), flush)?);
    let mut events = Vec::with_capacity((1 + groups) * READS);
    for _ in 0..=groups {
        events.extend(path.group(READS)?.events);
    }
    let events = &events[READS..];
    let time =
        if groups > 1 { median_below_step(events, timer::step(events.iter())) } else { median(events) };
    Ok(time.unwrap_or_default())
}

/// A read of memory that no flush touches.
struct Probe {
    flusher: Rc<Flusher>,
    kernels: Rc<Kernels>,
    stream: CUstream,
    quarters: usize,
}

impl Work for Probe {
    fn launch(&mut self) -> Result<(), Failure> {
        Ok(self.flusher.probe(self.quarters, &self.kernels, self.stream)?)
    }
}
