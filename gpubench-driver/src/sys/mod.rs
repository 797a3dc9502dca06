//! The driver's functions and types under their C names. In: calls. Out: the driver's results; each call is watched as a
//! user's own is. Functions that the installed driver lacks return `CUDA_ERROR_NOT_FOUND`, and without a driver every one
//! returns `CUDA_ERROR_NO_DEVICE`.

mod constants;
pub(crate) mod types;

pub use self::constants::*;
pub use self::types::*;
pub use crate::table::cuda_11::*;
pub use crate::table::interop::*;
pub use crate::table::newer::*;
