//! Persisting L2 lines, which a launch asked the L2 to keep (`cuStreamSetAttribute` with an access policy window) and
//! which a flush does not evict. In: the current context; out: no persisting lines while cold samples are taken, and
//! the former limit afterwards.

use gpubench_driver::sys::{self, CUlimit};

use crate::devices::cuda::driver::{CallError, check};

const LIMIT: CUlimit = sys::CU_LIMIT_PERSISTING_L2_CACHE_SIZE;

/// While this lives, every line of the L2 can be evicted.
pub(crate) struct Suspended {
    /// The former limit of persisting L2, in bytes.
    limit: usize,
}

impl Suspended {
    /// Makes persisting lines normal again; `None` if there can be none, which is the default of a context.
    pub(crate) fn begin() -> Result<Option<Self>, CallError> {
        let mut limit = 0;
        // SAFETY: `limit` is a place for a size. GPUs without such lines (below compute capability 8.0) refuse.
        let result = unsafe { sys::cuCtxGetLimit(&raw mut limit, LIMIT) };
        if result != sys::CUDA_SUCCESS {
            _ = gpubench_driver::take_failure();
            return Ok(None);
        }
        if limit == 0 {
            return Ok(None);
        }
        // SAFETY: sets a limit of the current context.
        check(unsafe { sys::cuCtxSetLimit(LIMIT, 0) })?;
        let suspended = Self { limit };
        // SAFETY: resets the persisting lines of the current context to normal.
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
