//! The sampler of a case: its method, its groups and their readings.

use gpubench_records::{Cache, Failure, Method, Path, Stage, Timer};
use gpubench_runtime::device::{Device as _, SampleOptions, SampledGroup, Sampler, Work, swapped};
use gpubench_stats::{Nanoseconds, median};

use super::sampling::{Partner, Submissions};
use super::timestamps::Span;
use super::{Wgpu, adapter::is_software, flush, timer};

/// The launches that one submission of [`Sampler::back_to_back`] has. Drivers end submissions that take seconds.
const MOST_BACK_TO_BACK: usize = 256;

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

    fn marginal_launch_time(&mut self) -> Result<Option<Nanoseconds>, Failure> {
        if self.cache == Cache::Cold || self.work.resets() {
            return Ok(None);
        }
        let launch = |launches| (0..launches).try_for_each(|_| self.work.launch());
        Ok(median(&timer::slopes(self.device, launch)?))
    }
}
