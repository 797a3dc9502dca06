//! The choice of a flush, and its verification by timed reads of memory that the cache held.

use gpubench_records::failure::{Failure, Stage};
use gpubench_records::method::{Cache, Flush, FlushVerification};
use gpubench_runtime::device::SampleOptions;
use gpubench_stats::units::{Bytes, Nanoseconds};
use gpubench_stats::{format, median};

use crate::device::Wgpu;
use crate::flush::{Region, USUAL, VARIABLE};
use crate::spans::Span;
use crate::submissions::Submissions;
use crate::timer::Encoded;

/// The number of timed reads, after as many that do not count.
const READS: usize = 16;
/// The most memory of which it is seen that it is gone, if the cache's size is assumed: it must fit into the cache that is there.
const SMALL: Bytes = Bytes(4 << 20);

/// A flush, and the facts known about it.
pub(crate) struct ChosenFlush {
    pub(crate) flush: Flush,
    pub(crate) reason: Option<String>,
    pub(crate) proof: Option<FlushVerification>,
}

/// Chooses the flush for `wanted`: the user's, or the usual one, with its proof and the doubts about it.
pub(crate) fn choose(device: &mut Wgpu, wanted: &SampleOptions) -> Result<ChosenFlush, Failure> {
    let flush = match (wanted.cache, wanted.flush) {
        (Cache::Hot, _) | (Cache::Cold, Some(Flush::None)) => {
            return Ok(ChosenFlush { flush: Flush::None, reason: None, proof: None });
        }
        (Cache::Cold, Some(flush @ (Flush::Discard | Flush::Lines))) => {
            let message = format!(
                "--flush {flush}: wgpu cannot discard lines of a cache; it has `read`, `write`, `none`"
            );
            return Err(Failure::new(Stage::Device, message));
        }
        (Cache::Cold, flush) => flush.unwrap_or(USUAL),
    };
    let proof = prove(device, flush)?;
    let swept = device.sweep(flush).map_or(Bytes::ZERO, |sweep| sweep.swept());
    let doubts = [against(flush, &proof), of_size(device, swept)];
    let doubts: Vec<String> = doubts.into_iter().flatten().collect();
    let reason = (!doubts.is_empty()).then(|| doubts.join("; "));
    Ok(ChosenFlush { flush, reason, proof: Some(proof) })
}

/// Returns the doubt about the size of the sweep, in words.
fn of_size(device: &Wgpu, swept: Bytes) -> Option<String> {
    let size = device.cache.size;
    if swept.0 < 2 * size.0 {
        let (swept, size) = (format::bytes(swept), format::bytes(size));
        return Some(format!(
            "a sweep goes over {swept}, the largest binding, less than twice the cache of {size}"
        ));
    }
    device.cache.is_assumed.then(|| {
        let size = format::bytes(size);
        format!("wgpu does not know the last-level cache: {size} are assumed, {VARIABLE} gives its size")
    })
}

/// Returns the objection to a flush, in words.
fn against(flush: Flush, proof: &FlushVerification) -> Option<String> {
    let Some(evicted) = proof.evicted_fraction() else {
        return Some(format!(
            "not proven that `{flush}` empties the cache: reading what it held is no faster"
        ));
    };
    if !proof.evicts_cache() {
        let evicted = format::percent(evicted);
        return Some(format!("`{flush}` does not empty the cache: only {evicted} of what it held is gone"));
    }
    let dirt = format::percent(proof.dirt());
    (!proof.is_clean()).then(|| format!("`{flush}` leaves the cache dirty: a sweep takes {dirt} longer"))
}

/// Measures the proof of `flush`.
fn prove(device: &mut Wgpu, flush: Flush) -> Result<FlushVerification, Failure> {
    if let Some(proof) = device.proofs.get(&flush) {
        return Ok(*proof);
    }
    let size = device.cache.size;
    let quarter = Bytes(size.0 / 4);
    let small = if device.cache.is_assumed && quarter > SMALL { SMALL } else { quarter };
    let (canary, large) = (
        Region::new(&device.encoder, small),
        // A read of the whole cache's size would evict part of itself.
        Region::new(&device.encoder, Bytes(size.0 / 4 * 3)),
    );
    let mut proof = FlushVerification::default();
    proof.cached_read = read(device, &canary, Flush::None)?;
    proof.flushed_read = read(device, &canary, flush)?;
    proof.reference_read = read(device, &canary, Flush::Read)?;
    proof.large_read = read(device, &large, flush)?;
    proof.reference_large_read = read(device, &large, Flush::Read)?;
    device.proofs.insert(flush, proof);
    Ok(proof)
}

/// Returns the time of a read of `region` behind `flush`.
fn read(device: &mut Wgpu, region: &Region, flush: Flush) -> Result<Nanoseconds, Failure> {
    let encoder = device.encoder.clone();
    let mut work = Encoded(|| region.read(&encoder));
    let mut alone = Submissions::alone(device, &mut work, flush);
    alone.take(READS)?;
    let times: Vec<Nanoseconds> = alone.take(READS)?.iter().map(Span::time).collect();
    Ok(median(&times).unwrap_or_default())
}
