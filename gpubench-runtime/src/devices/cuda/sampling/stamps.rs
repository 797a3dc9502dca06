//! The time of launches by the GPU's own clock: a kernel before and a kernel after each launch store `%globaltimer`.
//!
//! A second event waits until the GPU is idle. Depending on the grid, that takes 0.2 µs less to 0.3 µs more than after an empty launch
//! (`docs/decisions/0109`). The kernel after a launch does not wait for that. The difference between events and stamps is therefore the
//! error of events around this launch.

use gpubench_driver::sys::CUstream;

use crate::device::DeviceError;
use crate::devices::cuda::driver::CallError;
use crate::devices::cuda::driver::memory::DeviceMemory;
use crate::devices::cuda::kernels::Kernels;
use gpubench_stats::units::Nanoseconds;

/// The most samples between stamps: two graphs of them.
const PLACES: usize = 128;
/// Stamps are of use if the clock has steps of at most this. Some GPUs have steps of 1 µs.
const COARSEST: Nanoseconds = Nanoseconds(64.0);
const PURPOSE: &str = "memory for the times of launches";

/// Memory for stamps, and the step of their clock once it is known.
pub(crate) struct Stamps {
    memory: DeviceMemory,
    step: Option<Nanoseconds>,
}

impl Stamps {
    /// Allocates the memory, and measures the step on `stream`. Launches both kernels, since loading them later would move the code of
    /// other kernels.
    pub(crate) fn new(kernels: &Kernels, stream: CUstream) -> Result<Self, DeviceError> {
        let stamps = Self { memory: DeviceMemory::new(PURPOSE, 2 * PLACES * size_of::<u64>())?, step: None };
        stamps.enqueue(1, kernels, stream)?;
        // Into the first place, which no sample has used when the step is read.
        kernels.timer_step(stamps.memory.address(), stream)?;
        Ok(stamps)
    }

    /// Returns true if the clock has fine enough steps. The stream must have been waited for before the first call.
    pub(crate) fn are_fine(&mut self) -> Result<bool, DeviceError> {
        if self.step.is_none() {
            let step = self.times(1)?[0];
            self.step = Some(Nanoseconds(if step > 0 { step as f64 } else { f64::INFINITY }));
        }
        Ok(self.step() <= COARSEST)
    }

    /// Returns the step of the clock.
    pub(crate) fn step(&self) -> Nanoseconds {
        self.step.unwrap_or(Nanoseconds(f64::INFINITY))
    }

    /// Stores the time when `stream` reaches this point. Sample `i` lies between stamps `2 i` and `2 i + 1`.
    pub(crate) fn enqueue(
        &self,
        number: usize,
        kernels: &Kernels,
        stream: CUstream,
    ) -> Result<(), CallError> {
        assert!(number < 2 * PLACES, "there is memory for this stamp");
        kernels.stamp(self.memory.address() + (number * size_of::<u64>()) as u64, stream)
    }

    /// Returns the time between the stamps of each of the first `places` samples. The stream must have been waited for.
    pub(crate) fn read(&self, places: usize) -> Result<Vec<Nanoseconds>, DeviceError> {
        let times = self.times(places)?;
        Ok(times.chunks_exact(2).map(|pair| apart(pair[0], pair[1])).collect())
    }

    fn times(&self, places: usize) -> Result<Vec<u64>, DeviceError> {
        let mut words = vec![0; 4 * places];
        self.memory.read(PURPOSE, 0, &mut words)?;
        Ok(words.chunks_exact(2).map(|word| u64::from(word[0]) | u64::from(word[1]) << 32).collect())
    }
}

/// Returns the time from one stamp to another.
fn apart(from: u64, to: u64) -> Nanoseconds {
    Nanoseconds(to.wrapping_sub(from).cast_signed() as f64)
}
