//! The reasons that CUPTI is of no use. In: the result of opening it or of a call; out: a sentence with what
//! to do.

use std::path::PathBuf;

use super::MIN_VERSION;

/// The reason that CUPTI traces nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CuptiError {
    /// No usual folder contains the library.
    #[error(
        "libcupti was not found in a CUDA toolkit, in Python packages or in the loader's path: name it by GPUBENCH_CUPTI, or install it \
         (`pip install nvidia-cuda-cupti`)"
    )]
    NotFound,
    /// The library cannot be opened.
    #[error("{} cannot be opened ({reason}): name another by GPUBENCH_CUPTI", library.display())]
    NotOpened {
        /// The library.
        library: PathBuf,
        /// The message of the system's loader.
        reason: String,
    },
    /// The library is not CUPTI: it lacks a function.
    #[error("{} has no {symbol}, so it is not CUPTI: name another by GPUBENCH_CUPTI", library.display())]
    MissingSymbol {
        /// The library.
        library: PathBuf,
        /// The missing function.
        symbol: &'static str,
    },
    /// The library is too old for its records to be read.
    #[error("{} has version {version}, and {MIN_VERSION} is needed (CUDA 11.0): name another by GPUBENCH_CUPTI", library.display())]
    TooOld {
        /// The library.
        library: PathBuf,
        /// Its version.
        version: u32,
    },
    /// A call failed.
    #[error("{call} returned {code} ({name}){}", hint(*code))]
    Call {
        /// The C name of the function.
        call: &'static str,
        /// CUPTI's code.
        code: u32,
        /// CUPTI's name of the code.
        name: String,
    },
    /// CUPTI could not keep all records.
    #[error("CUPTI dropped {records} records")]
    Dropped {
        /// The number of dropped records.
        records: usize,
    },
    /// CUPTI handed out data that is no record.
    #[error("CUPTI handed out records that cannot be read")]
    Garbled,
}

/// Returns advice for an error code of CUPTI, to append to a message; an empty text if there is none.
fn hint(code: u32) -> &'static str {
    match code {
        35 => {
            ": the driver lets only administrators trace; NVIDIA's page ERR_NVGPUCTRPERM tells how to allow it"
        }
        38 | 39 => ": another tool traces this program; leave it out",
        40 | 33 => ": this virtual machine does not let its GPU be traced",
        14 | 36 => ": its version does not fit the driver; name another by GPUBENCH_CUPTI",
        _ => "",
    }
}
