//! The samples of a case, and of two interleaved cases. A group is one submission: for each sample a reset, a flush and a launch between
//! two timestamps, with an empty launch for each.

use gpubench_records::{Cache, Failure, Flush, Method, Path, Stage, Timer};
use gpubench_runtime::device::{Device as _, SampleOptions, SampledGroup, Sampler, Work, swapped};
use gpubench_stats::{Nanoseconds, median};

use super::timestamps::{MOST, Span};
use super::{Wgpu, adapter::is_software, flush, timer};

/// The launches that one submission of [`Sampler::back_to_back`] has. Drivers end submissions that take seconds.
const MOST_BACK_TO_BACK: usize = 256;

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
    device: &'a mut Wgpu,
    work: &'a mut dyn Work,
    partner: Partner<'a>,
    cache: Cache,
    method: Method,
    /// The clock when the first group began.
    first: Option<u64>,
}

impl<'a> Submissions<'a> {
    /// Prepares to sample `work`, interleaved with `partner`, as `wanted`.
    pub(crate) fn new(
        device: &'a mut Wgpu,
        work: &'a mut dyn Work,
        partner: Partner<'a>,
        wanted: &SampleOptions,
    ) -> Result<Self, Failure> {
        let method = method(device, wanted)?;
        Ok(Self { device, work, partner, cache: wanted.cache, method, first: None })
    }

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

    /// Takes a group, and returns for each of its pairs the readings of the first and of the second.
    fn take_pairs(&mut self, samples: usize) -> Result<Vec<[Span; 2]>, Failure> {
        let spans = self.take(samples)?;
        let in_order =
            |(number, [a, b]): (usize, &[Span; 2])| if swapped(number) { [*b, *a] } else { [*a, *b] };
        Ok(spans.as_chunks().0.iter().enumerate().map(in_order).collect())
    }

    /// Launches this many times in one submission, and waits.
    fn submit_back_to_back(&mut self, launches: usize) -> Result<(), Failure> {
        if let Err(failure) = (0..launches).try_for_each(|_| self.work.launch()) {
            self.device.discard();
            return Err(failure);
        }
        Ok(self.device.synchronize()?)
    }
}

/// Returns the method of samples as `wanted`.
fn method(device: &mut Wgpu, wanted: &SampleOptions) -> Result<Method, Failure> {
    let refused = |message: String| Err(Failure::new(Stage::Sampling, message));
    if let Some(path) = wanted.path.filter(|path| *path != Path::Device) {
        return refused(format!("--path {path}: wgpu's launches are timed by timestamp queries alone"));
    }
    if wanted.host_work {
        let why = "timestamp queries do not see the host's part, which belongs to this launch";
        return refused(format!("`host_work`: {why}"));
    }
    let mut method = flush::choose(device, wanted)?;
    method.path_reason =
        is_software(&device.info).then(|| "this is a software adapter, and no GPU".to_owned());
    Ok(method)
}

/// Returns the time from the begin of the first launch to the end of the last.
fn whole(pairs: &[[Span; 2]]) -> Nanoseconds {
    let spans = || pairs.iter().flatten();
    let Some(first) = spans().min_by_key(|span| span.begin) else { return Nanoseconds::ZERO };
    spans().map(|span| span.end_since(first)).fold(Nanoseconds::ZERO, Nanoseconds::max)
}

impl Sampler for Submissions<'_> {
    fn group(&mut self, samples: usize) -> Result<SampledGroup, Failure> {
        let pairs = self.take_pairs(samples)?;
        let elapsed = whole(&pairs);
        if matches!(self.partner, Partner::Case(_)) {
            return Ok(SampledGroup::new(pairs.iter().flatten().map(Span::time).collect(), elapsed));
        }
        let first = *self.first.get_or_insert_with(|| pairs.first().map_or(0, |[a, b]| a.begin.min(b.begin)));
        let mut group = SampledGroup::new(pairs.iter().map(|[sample, _]| sample.time()).collect(), elapsed);
        group.starts = pairs.iter().map(|[sample, _]| sample.begin_since(first)).collect();
        group.empty_events = pairs.iter().map(|[_, empty]| empty.time()).collect();
        Ok(group)
    }

    fn timer(&mut self) -> Result<Timer, Failure> {
        timer::of(self.device, self.cache)
    }

    fn method(&self) -> Method {
        self.method.clone()
    }

    fn partner_method(&self) -> Option<Method> {
        matches!(self.partner, Partner::Case(_)).then(|| self.method())
    }

    fn back_to_back(&mut self, launches: usize) -> Result<Option<usize>, Failure> {
        if self.work.resets() {
            return Ok(None);
        }
        for first in (0..launches).step_by(MOST_BACK_TO_BACK) {
            self.submit_back_to_back(MOST_BACK_TO_BACK.min(launches - first))?;
        }
        Ok(Some(launches))
    }

    fn in_a_row(&mut self) -> Result<Option<Nanoseconds>, Failure> {
        if self.cache == Cache::Cold || self.work.resets() {
            return Ok(None);
        }
        let launch = |launches| (0..launches).try_for_each(|_| self.work.launch());
        Ok(median(&timer::slopes(self.device, launch)?))
    }
}
