//! The time of a launch that does nothing. A launch function whose loop the compiler removed takes as long.

use std::hint::black_box;

use super::{Stream, timed};
use crate::device::Work;
use gpubench_records::failure::Failure;
use gpubench_stats::units::Nanoseconds;

/// The launches between two readings of the clock, and the number of such readings, of which the shortest counts. All take 0.1 ms.
const LAUNCHES: usize = 256;
const READINGS: usize = 25;

/// A launch that runs an empty closure on its stream.
struct Empty<'a>(&'a Stream);

impl Work for Empty<'_> {
    fn launch(&mut self) -> Result<(), Failure> {
        self.0.run(|| ());
        Ok(())
    }
}

/// Launches of `work` back-to-back.
struct Repeated<'a>(&'a mut dyn Work);

impl Work for Repeated<'_> {
    fn launch(&mut self) -> Result<(), Failure> {
        (0..LAUNCHES).try_for_each(|_| self.0.launch())
    }
}

/// Returns the time of an empty launch on `stream`.
pub(super) fn time(stream: &Stream) -> Nanoseconds {
    let mut empty = Empty(stream);
    // Called as the launches of a case are: the compiler does not see what it calls.
    let empty: &mut dyn Work = black_box(&mut empty);
    let readings = (0..READINGS).filter_map(|_| timed(&mut Repeated(empty)).ok());
    readings.reduce(Nanoseconds::min).unwrap_or_default() / LAUNCHES as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;
    use std::time::{Duration, Instant};

    use crate::device::{Device, DeviceType, SampleOptions};
    use crate::devices::host::Host;
    use crate::measure::measure;
    use gpubench_records::limits::DeclaredWork;
    use gpubench_records::method::Cache;
    use gpubench_records::sampling::Sampling;
    use gpubench_records::verdict::{Reason, missing_work};
    use gpubench_records::work::Counts;

    /// A launch that runs this closure on its stream.
    struct Runs<F>(Stream, F);

    impl<F: FnMut() + Send> Work for Runs<F> {
        fn launch(&mut self) -> Result<(), Failure> {
            self.0.run(&mut self.1);
            Ok(())
        }
    }

    /// Returns the reason that a launch of `work` cannot have done what it declares: to copy 16 KiB.
    fn judged(work: impl FnMut() + Send) -> Option<Reason> {
        let mut host = Host::open(0).expect("there is a CPU");
        let info = host.info().expect("nothing fails");
        let mut work = Runs(host.stream.clone(), work);
        let seen = host.observe(&mut work).expect("nothing fails");
        let mut sampler =
            host.sampler(&mut work, &SampleOptions::new(Cache::Hot)).expect("it can be sampled");
        let deadline = Instant::now() + Duration::from_secs(60);
        let sampling = Sampling { samples: Some(50), ..Sampling::USUAL };
        let samples = measure(&mut *sampler, &sampling, deadline, None, &mut |_| ()).expect("nothing fails");
        let counts = Counts { bytes: Some(32 << 10), ..Counts::default() };
        let claim = DeclaredWork { counts, data_type: "f32", link: None, cold: false, written: None };
        missing_work(&claim, &samples, &seen, &info)
    }

    #[test]
    fn a_copy_of_16_kib_is_told_from_nothing() {
        // A thread belongs to one pool for good.
        let checked = thread::spawn(|| {
            let removed = judged(|| ());
            assert!(matches!(removed, Some(Reason::NoLongerThanEmpty { .. })), "{removed:?}");
            let (source, mut target) = (vec![1_u8; 16 << 10], vec![0; 16 << 10]);
            assert_eq!(judged(|| black_box(&mut target).copy_from_slice(black_box(&source))), None);
        });
        checked.join().expect("it holds");
    }
}
