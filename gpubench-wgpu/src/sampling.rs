//! The samplers of a case, and of two interleaved cases.

use gpubench_records::failure::{Failure, Stage};
use gpubench_records::method::{Cache, Method, Path, Timer};
use gpubench_runtime::device::{SampleOptions, SampledGroup, Sampler, Work};
use gpubench_stats::median;
use gpubench_stats::units::Nanoseconds;

use crate::adapter::is_software;
use crate::device::Wgpu;
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
) -> Result<Box<dyn Sampler + 'a>, Failure> {
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
        let times = |spans: &[Span; 2]| spans.map(|span| span.time());
        if self.partner_method().is_some() {
            return Ok(SampledGroup::new(pairs.iter().flat_map(times).collect(), elapsed));
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
        matches!(self.works, Works::Two(_)).then(|| self.method())
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
