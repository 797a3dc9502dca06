//! The samples of a case, and of two interleaved cases. A group is one submission: for each sample a reset, a flush and a launch between
//! two timestamps, with an empty launch for each.

use gpubench_records::{Cache, Failure, Flush, Method, Path};
use gpubench_runtime::device::{Work, swapped};
use gpubench_stats::{Nanoseconds, median};

use super::Wgpu;
use super::timestamps::{MOST, Span};

/// The launches that samples are interleaved with.
pub(crate) enum Partner<'a> {
    /// None.
    None,
    /// Empty launches.
    Empty,
    /// Those of another case.
    Case(&'a mut dyn Work),
}

/// Takes groups of samples, one submission for each.
pub(crate) struct Submissions<'a> {
    pub(super) device: &'a mut Wgpu,
    pub(super) work: &'a mut dyn Work,
    pub(super) partner: Partner<'a>,
    pub(super) cache: Cache,
    pub(super) method: Method,
    /// The clock when the first group began.
    pub(super) first: Option<u64>,
}

impl<'a> Submissions<'a> {
    /// Prepares to time `work` after `flush`, without the readings of a case.
    pub(crate) fn alone(device: &'a mut Wgpu, work: &'a mut dyn Work, flush: Flush) -> Self {
        let cache = if flush == Flush::None { Cache::Hot } else { Cache::Cold };
        let method = Method::new(Path::Device).with_flush(flush);
        Self { device, work, partner: Partner::None, cache, method, first: None }
    }

    /// Takes a group of this many samples, or as many as one submission has timestamps for. Returns the readings around the launches,
    /// in the order in which they ran.
    pub(crate) fn take(&mut self, samples: usize) -> Result<Vec<Span>, Failure> {
        let taken = self.encode(samples).and_then(|()| Ok(self.device.read_marks()?));
        if taken.is_err() {
            // The next group begins with none of this one's commands.
            self.device.discard();
        }
        taken
    }

    fn encode(&mut self, samples: usize) -> Result<(), Failure> {
        let Self { device, work, partner, .. } = self;
        let (flush, size) = (self.method.flush, device.cache.size);
        let (sweep, empty, encoder) = (device.sweep(flush), device.empty.clone(), &device.encoder);
        let marks = &mut device.marks;
        let (is_alone, is_pair) = (matches!(partner, Partner::None), matches!(partner, Partner::Case(_)));
        let is_hot = self.cache == Cache::Hot;
        if is_hot && !is_pair {
            work.launch()?;
        }
        for number in 0..samples.clamp(1, if is_alone { MOST } else { MOST / 2 }) {
            let order: &[bool] = match (is_alone, swapped(number)) {
                (true, _) => &[false],
                (false, true) => &[true, false],
                (false, false) => &[false, true],
            };
            for is_partner in order {
                let is_empty = *is_partner && !is_pair;
                let work: &mut dyn Work = match &mut *partner {
                    Partner::Case(partner) if *is_partner => &mut **partner,
                    _ => &mut **work,
                };
                if is_hot && is_pair {
                    // The launch before was the other's.
                    work.launch()?;
                }
                work.reset()?;
                if let Some(sweep) = &sweep {
                    sweep.flush(flush, size, encoder);
                }
                encoder.with(|commands| marks.write(commands));
                if is_empty {
                    empty.bound.launch(encoder, 1);
                } else {
                    work.launch()?;
                }
                encoder.with(|commands| marks.write(commands));
            }
        }
        Ok(())
    }

    /// Returns the median time of this many launches, after as many that do not count.
    pub(crate) fn median(&mut self, launches: usize) -> Result<Nanoseconds, Failure> {
        self.take(launches)?;
        let times: Vec<Nanoseconds> = self.take(launches)?.iter().map(Span::time).collect();
        Ok(median(&times).unwrap_or_default())
    }
}
