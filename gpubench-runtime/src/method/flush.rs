//! Chooses the flush before cold samples, and verifies on this device that it empties the last-level cache.

use super::{calibration::median_time, group::require_own_launch};
use crate::device::{OwnLaunch, Queue, QueueProperties, SampleOptions};
use gpubench_records::{Cache, Failure, Flush, FlushVerification, Method, Path, Stage};

/// The number of timed reads of a measurement. As many reads before them are discarded.
const READS_PER_MEASUREMENT: usize = 16;
/// The size of the read that tests whether lines were evicted, in quarters of the size of the L2. One quarter
/// fits as a whole even into an L2 of two halves that keeps a copy in each half.
const EVICTION_TEST_QUARTERS: usize = 1;
/// The size of the read that tests whether lines are dirty, in quarters of the size of the L2. A large read
/// takes longer if dirty lines must be written back first. A read of four quarters would evict part of its
/// own data.
const DIRTY_TEST_QUARTERS: usize = 3;

/// The number of failed verifications after which a flush is rejected. On two H200s, one of six first
/// verifications failed, on a GPU that had been idle: it found 83.6 % of the lines evicted.
const VERIFICATION_ATTEMPTS: usize = 3;

/// Chooses and verifies the flush before cold samples, and returns the method of samples on `path` with that
/// flush. If `wanted` names a flush, it is used even if its verification fails. Otherwise the first flush
/// that empties the cache and leaves it clean is used. Hot samples have no flush. The reason for the choice,
/// and doubts about it, are part of the method.
///
/// # Errors
/// Returns an error if the device does not have the user's flush, or if a read fails.
pub fn choose_flush(queue: &mut dyn Queue, path: Path, wanted: &SampleOptions) -> Result<Method, Failure> {
    let method = Method::new(path);
    let (flush, verification, reason) = match (wanted.cache, wanted.flush) {
        (Cache::Hot, _) | (Cache::Cold, Some(Flush::None)) => return Ok(method),
        (Cache::Cold, Some(flush)) => {
            if let Some(why) = queue.refuses(flush) {
                return Err(Failure::new(Stage::Device, why));
            }
            let verification = verify_flush(queue, flush)?;
            let QueueProperties { cache_name, other_flushes, .. } = queue.properties();
            let objection = verification.objection(flush, cache_name);
            // Which flushes leave the cache dirty is known of a device that has several.
            let is_told = other_flushes.is_empty() || !verification.evicts_cache();
            (flush, verification, objection.filter(|_| is_told))
        }
        (Cache::Cold, None) => first_working_flush(queue)?,
    };
    let doubts: Vec<String> = reason.into_iter().chain(queue.doubt()).collect();
    let mut method = method.with_flush(flush);
    method.flush_verification = Some(verification);
    method.flush_reason = (!doubts.is_empty()).then(|| doubts.join("; "));
    Ok(method)
}

/// Returns the first flush of the device that passes verification, with its verification. If it is not the
/// usual flush, the third value is the objection to the usual one. If none passes, returns the usual flush
/// with its objection.
fn first_working_flush(queue: &mut dyn Queue) -> Result<(Flush, FlushVerification, Option<String>), Failure> {
    let QueueProperties { usual_flush: usual, other_flushes, cache_name, .. } = queue.properties();
    let mut verification = verify_flush(queue, usual)?;
    // Without another flush, this one is taken whatever its verification says.
    for _ in 1..if other_flushes.is_empty() { 1 } else { VERIFICATION_ATTEMPTS } {
        if verification.evicts_cache() && verification.is_clean() {
            break;
        }
        // The clock of an idle GPU rises during the verification, and shifts the times that it compares: try
        // again.
        queue.calibration().flushes.remove(&usual);
        verification = verify_flush(queue, usual)?;
    }
    let Some(why) = verification.objection(usual, cache_name) else { return Ok((usual, verification, None)) };
    for flush in other_flushes.iter().copied() {
        let verification = verify_flush(queue, flush)?;
        if flush != usual && verification.evicts_cache() && (verification.is_clean() || flush == Flush::Write)
        {
            return Ok((flush, verification, Some(why)));
        }
    }
    let nor = if other_flushes.is_empty() { "" } else { "; nor does another" };
    Ok((usual, verification, Some(why + nor)))
}

/// Verifies `flush` with timed reads, or returns the stored verification. Stores a new one in the calibration
/// of `queue`.
fn verify_flush(queue: &mut dyn Queue, flush: Flush) -> Result<FlushVerification, Failure> {
    if let Some(verification) = queue.calibration().flushes.get(&flush) {
        return Ok(*verification);
    }
    let mut canary = require_own_launch(queue, OwnLaunch::ReadQuarters(EVICTION_TEST_QUARTERS))?;
    let mut sweep = require_own_launch(queue, OwnLaunch::ReadQuarters(DIRTY_TEST_QUARTERS))?;
    let reference = Flush::Read;
    let mut verification = FlushVerification::default();
    verification.cached_read = median_time(queue, &mut *canary, Flush::None, READS_PER_MEASUREMENT)?;
    verification.flushed_read = median_time(queue, &mut *canary, flush, READS_PER_MEASUREMENT)?;
    verification.reference_read = median_time(queue, &mut *canary, reference, READS_PER_MEASUREMENT)?;
    verification.large_read = median_time(queue, &mut *sweep, flush, READS_PER_MEASUREMENT)?;
    verification.reference_large_read = median_time(queue, &mut *sweep, reference, READS_PER_MEASUREMENT)?;
    queue.calibration().flushes.insert(flush, verification);
    Ok(verification)
}
