//! Lines that a launch asked the L2 to keep (`cuStreamSetAttribute` with an access policy window). A flush does not evict
//! those. In: the current context; out: nothing is kept while cold samples are taken, and as much as before afterwards.

use cust::sys::{self, CUlimit};

use crate::device::cuda::driver::{CallError, check};

const LIMIT: CUlimit = CUlimit::CU_LIMIT_PERSISTING_L2_CACHE_SIZE;

/// While this lives, no line of the L2 is kept from being evicted.
pub(crate) struct Suspended {
    /// How many bytes of the L2 were to be kept.
    limit: usize,
}

impl Suspended {
    /// Has lines that are kept evicted like all others; `None` where none can be kept, which is what contexts start with.
    pub(crate) fn begin() -> Result<Option<Self>, CallError> {
        let mut limit = 0;
        // SAFETY: `limit` is a place for a size. GPUs without such lines (below compute capability 8.0) refuse.
        let result = unsafe { sys::cuCtxGetLimit(&raw mut limit, LIMIT) };
        if result != sys::CUresult::CUDA_SUCCESS {
            _ = gpubench_driver::take_failure();
            return Ok(None);
        }
        if limit == 0 {
            return Ok(None);
        }
        // SAFETY: sets a limit of the current context.
        check(unsafe { sys::cuCtxSetLimit(LIMIT, 0) })?;
        let suspended = Self { limit };
        // SAFETY: has the lines of the current context that are kept become like all others.
        check(unsafe { sys::cuCtxResetPersistingL2Cache() })?;
        Ok(Some(suspended))
    }
}

impl Drop for Suspended {
    fn drop(&mut self) {
        // SAFETY: as in `begin`. After a sticky error this fails, and the context is of no more use.
        _ = unsafe { sys::cuCtxSetLimit(LIMIT, self.limit) };
    }
}
