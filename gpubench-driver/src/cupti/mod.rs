//! CUPTI, NVIDIA's library for tracing, found and opened when first needed. In: the path that the user names, else the places where
//! toolkits and Python packages put it. Out: what the GPU did while it was traced, each piece with its begin and its end, whichever
//! stream or thread it came from.
//!
//! Nothing is linked. Tracing slows launches down, and some of it may stay after tracing has ended: a process that has traced is of no
//! more use for other measurements.

mod error;
mod functions;
mod places;
mod records;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

pub use self::error::CuptiError;
pub use self::records::{Activity, ActivityKind};

use self::functions::Functions;

/// The environment variable that names the library.
pub const VARIABLE: &str = "GPUBENCH_CUPTI";

/// The oldest version that is used: that of CUDA 11.0.
const OLDEST: u32 = 13;
/// Versions from this one on are those of CUDA itself: 130000 is 13.0.
const OF_CUDA: u32 = 100_000;

static OPENED: OnceLock<Result<Cupti, CuptiError>> = OnceLock::new();

/// The open library. It is never closed, since its threads go on.
#[derive(Debug)]
pub struct Cupti {
    library: PathBuf,
    version: u32,
    functions: Functions,
}

/// Opens the library on the first call; every later call returns the same result.
///
/// The library is the one that `GPUBENCH_CUPTI` names; else the first that opens of those in a CUDA toolkit, in
/// Python packages, and in the loader's path.
///
/// # Errors
/// Returns an error if there is no such library, if it is not CUPTI, or if it is too old.
pub fn load() -> Result<&'static Cupti, &'static CuptiError> {
    OPENED.get_or_init(open).as_ref()
}

fn open() -> Result<Cupti, CuptiError> {
    let named = std::env::var_os(VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from);
    match named {
        Some(library) => Cupti::open(&library),
        None => first_of(places::candidates()),
    }
}

/// Opens the first of these that opens. If none does, the error is that of the first that is there.
fn first_of(candidates: Vec<PathBuf>) -> Result<Cupti, CuptiError> {
    let mut first = None;
    for library in candidates {
        match Cupti::open(&library) {
            Ok(cupti) => return Ok(cupti),
            Err(error) if library.is_file() => first = first.or(Some(error)),
            Err(_) => {}
        }
    }
    Err(first.unwrap_or(CuptiError::NotFound))
}

impl Cupti {
    fn open(library: &Path) -> Result<Self, CuptiError> {
        let functions = Functions::open(library)?;
        let version = functions.version()?;
        if version < OLDEST {
            return Err(CuptiError::TooOld { library: library.to_owned(), version, oldest: OLDEST });
        }
        Ok(Self { library: library.to_owned(), version, functions })
    }

    /// Returns the path by which it was opened.
    #[must_use]
    pub fn library(&self) -> &Path {
        &self.library
    }

    /// Returns its version in words: `13.5`, or the number of its interface, `28`, before CUDA 13.
    #[must_use]
    pub fn version(&self) -> String {
        match self.version {
            OF_CUDA.. => format!("{}.{}", self.version / 10_000, self.version / 100 % 100),
            version => version.to_string(),
        }
    }

    /// Begins to trace all that this process has GPUs do, until what it returns is dropped.
    ///
    /// # Errors
    /// Returns an error if CUPTI refuses.
    pub fn trace(&'static self) -> Result<Tracing, CuptiError> {
        records::clear();
        self.functions.register(records::request, records::complete)?;
        let tracing = Tracing { cupti: self };
        for kind in ActivityKind::ALL {
            self.functions.enable(kind.number())?;
        }
        Ok(tracing)
    }
}

/// A trace in progress.
#[derive(Debug)]
pub struct Tracing {
    cupti: &'static Cupti,
}

impl Tracing {
    /// Takes what GPUs have done since it began, or since the last call, in the order in which the host enqueued it. All of it must be
    /// done: whoever calls this has waited for it.
    ///
    /// # Errors
    /// Returns an error if CUPTI does not hand its records out, has dropped some, or hands out what is no record.
    pub fn take(&self) -> Result<Vec<Activity>, CuptiError> {
        let functions = &self.cupti.functions;
        functions.flush()?;
        let (mut found, garbled) = records::take();
        if garbled {
            return Err(CuptiError::Garbled);
        }
        match functions.dropped()? {
            0 => {}
            records => return Err(CuptiError::Dropped { records }),
        }
        found.sort_by_key(|activity| (activity.correlation, activity.begin));
        Ok(found)
    }
}

impl Drop for Tracing {
    fn drop(&mut self) {
        for kind in ActivityKind::ALL {
            // One that was never enabled cannot be disabled.
            _ = self.cupti.functions.disable(kind.number());
        }
    }
}
