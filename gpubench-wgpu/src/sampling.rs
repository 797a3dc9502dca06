//! Groups of samples, each group one submission: reset, flush, mark, launch, mark, many times over, with an empty launch beside
//! each. In: one launch or two; out: event times, and the overhead that the empty launches show.

use gpubench_records::failure::{Failure, Stage};
use gpubench_records::method::{Cache, Flush, Method, Path, Timer};
use gpubench_runtime::device::{PairSampler, SampleOptions, Sampler, Work, swapped};
use gpubench_stats::units::Nanoseconds;
use gpubench_stats::{median, median_below_step};

use crate::adapter::is_software;
use crate::device::Wgpu;
use crate::marks::Boundaries;
use crate::proof;
use crate::spans::Span;
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
    (method.flush_reason, method.flush_proof) = (chosen.reason, chosen.proof);
    let software = is_software(&device.info).then_some("this is a software adapter, and no GPU");
    let passes = (device.encoder.boundaries() == Boundaries::Passes)
        .then_some("the adapter has no timestamps between commands: from the begin of the first pass to the end of the last");
    let reasons: Vec<&str> = [software, passes].into_iter().flatten().collect();
    method.path_reason = (!reasons.is_empty()).then(|| reasons.join("; "));
    Ok(method)
}

/// The launches to sample.
pub(crate) enum Works<'a> {
    /// One alone.
    One(&'a mut dyn Work),
    /// One in turn with empty launches.
    Beside(&'a mut dyn Work),
    /// Two in turn.
    Two([&'a mut dyn Work; 2]),
}

impl Works<'_> {
    fn first(&mut self) -> &mut dyn Work {
        match self {
            Self::One(work) | Self::Beside(work) | Self::Two([work, _]) => *work,
        }
    }

    /// Returns the number of launches that each sample takes turns with, itself included.
    fn turns(&self) -> usize {
        if matches!(self, Self::One(_)) { 1 } else { 2 }
    }
}

/// Maps places between the order in which launches run and the order with the first of each pair first.
fn turn(place: usize) -> usize {
    if swapped(place / 2) { place ^ 1 } else { place }
}

/// Takes groups of samples, one submission for each.
pub(crate) struct Submissions<'a> {
    pub(crate) device: &'a mut Wgpu,
    works: Works<'a>,
    cache: Cache,
    method: Method,
    /// The readings around the empty launches of the last group.
    empties: Vec<Nanoseconds>,
    starts: Vec<Nanoseconds>,
    /// The clock when the first group began.
    first: Option<u64>,
}

impl<'a> Submissions<'a> {
    fn new(device: &'a mut Wgpu, works: Works<'a>, cache: Cache, method: Method) -> Self {
        Self { device, works, cache, method, empties: Vec::new(), starts: Vec::new(), first: None }
    }

    /// Prepares to time `work` behind `flush`, without the readings of a case.
    pub(crate) fn alone(device: &'a mut Wgpu, work: &'a mut dyn Work, flush: Flush) -> Self {
        let cache = if flush == Flush::None { Cache::Hot } else { Cache::Cold };
        Self::new(device, Works::One(work), cache, Method::new(Path::Device).with_flush(flush))
    }

    /// Takes a group of so many samples, or as many as one submission has timestamps for. Returns the readings around the launches,
    /// in the order in which they ran.
    pub(crate) fn take(&mut self, samples: usize) -> Result<Vec<Span>, Failure> {
        let encoded = self.encode(samples);
        if encoded.is_err() {
            // The next group begins with none of this one's commands.
            self.device.encoder.discard();
        }
        encoded?;
        let spans = self.device.encoder.read_marks();
        if spans.is_err() {
            self.device.encoder.discard();
        }
        Ok(spans?)
    }

    fn encode(&mut self, samples: usize) -> Result<(), Failure> {
        let (encoder, sweep) = (self.device.encoder.clone(), proof::sweep(self.device, self.method.flush));
        let (hot, turns) = (self.cache == Cache::Hot, self.works.turns());
        let two = matches!(self.works, Works::Two(_));
        if hot && !two {
            self.works.first().launch()?;
        }
        let mut number = 0;
        while number < samples.max(1) && (number == 0 || turns * (number + 1) <= encoder.most_marks()) {
            for place in turns * number..turns * (number + 1) {
                let whose = if turns == 1 { 0 } else { turn(place) % 2 };
                let empty = (whose == 1 && !two).then(|| self.device.empty.clone());
                let work: &mut dyn Work = match &mut self.works {
                    Works::Two(works) => &mut *works[whose],
                    Works::One(work) | Works::Beside(work) => &mut **work,
                };
                if hot && two {
                    // The launch before was the other's.
                    work.launch()?;
                }
                work.reset()?;
                if let Some(sweep) = &sweep {
                    sweep.encode(self.method.flush, &encoder);
                }
                encoder.begin();
                match empty {
                    Some(empty) => empty.launch(&encoder),
                    None => work.launch()?,
                }
                encoder.end()?;
            }
            number += 1;
        }
        Ok(())
    }

    /// Takes a group, and returns for each of its pairs the readings of the first and of the second.
    fn take_pairs(&mut self, samples: usize) -> Result<Vec<[Span; 2]>, Failure> {
        let spans = self.take(samples)?;
        let (pairs, _) = spans.as_chunks::<2>();
        let in_order =
            |(number, [a, b]): (usize, &[Span; 2])| if swapped(number) { [*b, *a] } else { [*a, *b] };
        Ok(pairs.iter().enumerate().map(in_order).collect())
    }

    /// Launches so many times in one submission, and waits.
    fn submit_row(&mut self, launches: usize) -> Result<(), Failure> {
        for _ in 0..launches {
            if let Err(failure) = self.works.first().launch() {
                self.device.encoder.discard();
                return Err(failure);
            }
        }
        Ok(self.device.encoder.finish()?)
    }
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
        let empty = median_below_step(&self.empties, timer.step)?;
        Some((empty - timer.one_more?).max(Nanoseconds::ZERO)).filter(|overhead| overhead.is_finite())
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
        let slopes = timer::slopes(self.device, self.works.first())?;
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
