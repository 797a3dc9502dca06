//! The samplers of a case. In: one launch or two, and how they are to be sampled; out: event times, and the overhead that the empty
//! launches among them show.

use gpubench_records::failure::{Failure, Stage};
use gpubench_records::method::{Cache, Method, Path, Timer};
use gpubench_runtime::device::{PairSampler, SampleOptions, Sampler, Work};
use gpubench_stats::units::Nanoseconds;
use gpubench_stats::{median, median_below_step};

use crate::adapter::is_software;
use crate::device::Wgpu;
use crate::marks::Boundaries;
use crate::proof;
use crate::spans::Span;
use crate::submissions::{Submissions, Works};
use crate::timer;

/// The launches that one submission of [`Sampler::back_to_back`] has. Drivers end submissions that take seconds.
const MOST_BACK_TO_BACK: usize = 256;

/// Prepares to sample `work` as `wanted`.
pub(crate) fn sampler<'a>(
    device: &'a mut Wgpu,
    work: &'a mut dyn Work,
    wanted: &SampleOptions,
) -> Result<Box<dyn Sampler + 'a>, Failure> {
    let method = method(device, wanted)?;
    let works = Works::Beside(work);
    Ok(Box::new(Submissions::new(device, works, wanted.cache, method)))
}

/// Prepares to sample two `works` in turn as `wanted`.
pub(crate) fn pair_sampler<'a>(
    device: &'a mut Wgpu,
    works: [&'a mut dyn Work; 2],
    wanted: &SampleOptions,
) -> Result<Box<dyn PairSampler + 'a>, Failure> {
    let method = method(device, wanted)?;
    Ok(Box::new(Submissions::new(device, Works::Two(works), wanted.cache, method)))
}

fn method(device: &mut Wgpu, wanted: &SampleOptions) -> Result<Method, Failure> {
    let refused = |message: String| Err(Failure::new(Stage::Sampling, message));
    if let Some(path) = wanted.path.filter(|path| *path != Path::Device) {
        return refused(format!("--path {path}: wgpu's launches are timed by timestamp queries alone"));
    }
    if wanted.host_work {
        return refused(
            "`host_work`: timestamp queries do not see the host's part, which belongs to this launch"
                .to_owned(),
        );
    }
    let chosen = proof::choose(device, wanted)?;
    let mut method = Method::new(Path::Device).with_flush(chosen.flush);
    (method.flush_reason, method.flush_verification) = (chosen.reason, chosen.proof);
    let software = is_software(&device.info).then_some("this is a software adapter, and no GPU");
    let passes = (device.encoder.boundaries() == Boundaries::Passes)
        .then_some("the adapter has no timestamps between commands: from the begin of the first pass to the end of the last");
    let reasons: Vec<&str> = [software, passes].into_iter().flatten().collect();
    method.path_reason = (!reasons.is_empty()).then(|| reasons.join("; "));
    Ok(method)
}

/// Returns the time from the begin of the first launch to the end of the last.
fn whole<'a>(mut spans: impl Iterator<Item = &'a Span>) -> Nanoseconds {
    let Some(first) = spans.next() else { return Nanoseconds::ZERO };
    // Pairs that were put in order end in any order.
    spans.map(|span| span.end_since(first)).fold(first.time(), Nanoseconds::max)
}

impl Sampler for Submissions<'_> {
    fn group(&mut self, samples: usize, events: &mut Vec<Nanoseconds>) -> Result<Nanoseconds, Failure> {
        let pairs = self.take_pairs(samples)?;
        let first = *self.first.get_or_insert_with(|| pairs.first().map_or(0, |[a, b]| a.begin.min(b.begin)));
        self.starts = pairs.iter().map(|[sample, _]| sample.begin_since(first)).collect();
        self.empties = pairs.iter().map(|[_, empty]| empty.time()).collect();
        events.extend(pairs.iter().map(|[sample, _]| sample.time()));
        let (begin, end) = (pairs.iter().flatten().min_by_key(|span| span.begin), pairs.iter().flatten());
        Ok(whole(begin.into_iter().chain(end)))
    }

    fn timer(&mut self) -> Result<Timer, Failure> {
        timer::of(self.device, self.cache)
    }

    fn overhead(&mut self) -> Option<Nanoseconds> {
        let timer = timer::of(self.device, self.cache).ok()?;
        let empty = median_below_step(&self.empties, timer.resolution)?;
        Some((empty - timer.marginal_empty_launch?).max(Nanoseconds::ZERO))
            .filter(|overhead| overhead.is_finite())
    }

    fn starts(&self) -> &[Nanoseconds] {
        &self.starts
    }

    fn method(&self) -> Method {
        self.method.clone()
    }

    fn back_to_back(&mut self, launches: usize) -> Result<Option<usize>, Failure> {
        if self.works.first().resets() {
            return Ok(None);
        }
        let mut left = launches;
        while left > 0 {
            let now = left.min(MOST_BACK_TO_BACK);
            self.submit_row(now)?;
            left -= now;
        }
        Ok(Some(launches))
    }

    fn in_a_row(&mut self) -> Result<Option<Nanoseconds>, Failure> {
        if self.cache == Cache::Cold || self.works.first().resets() {
            return Ok(None);
        }
        let works = &mut self.works;
        let launch = |launches| (0..launches).try_for_each(|_| works.first().launch());
        let slopes = timer::slopes(self.device, launch)?;
        Ok(median(&slopes))
    }
}

impl PairSampler for Submissions<'_> {
    fn group(&mut self, pairs: usize, events: &mut Vec<[Nanoseconds; 2]>) -> Result<Nanoseconds, Failure> {
        let taken = self.take_pairs(pairs)?;
        events.extend(taken.iter().map(|pair| pair.map(|span| span.time())));
        let begin = taken.iter().flatten().min_by_key(|span| span.begin);
        Ok(whole(begin.into_iter().chain(taken.iter().flatten())))
    }

    fn timer(&mut self) -> Result<Timer, Failure> {
        timer::of(self.device, self.cache)
    }

    fn methods(&self) -> [Method; 2] {
        [self.method.clone(), self.method.clone()]
    }
}
