//! The [`Sampler`] of devices that time one launch at a time with a [`LaunchTimer`], such as the host's CPU.

use std::time::Instant;

pub use super::launch_timer::{LaunchTimer, ThreadTime};
use super::{
    SampleOptions, SampledGroup, Sampler, SamplerResult, Work, interruptions::Interruptions, launch_timer,
    swapped,
};
use gpubench_records::{Cache, Failure, Flush, Method, Stage, Timer};
use gpubench_stats::Nanoseconds;

/// A group of hot launches longer than this (10 ms) begins without an untimed launch, since filling the
/// caches takes a negligible part of such a launch.
const LONG_LAUNCH: Nanoseconds = Nanoseconds::from_seconds(0.01);

/// Returns a sampler of `work` with the options `wanted`. Chooses the flush.
///
/// # Errors
/// Returns an error if `wanted` has a path or a flush that the device does not have, or if no flush is
/// possible for cold samples.
pub fn sampler<'a, D: LaunchTimer>(
    device: &'a mut D,
    work: &'a mut dyn Work,
    wanted: &SampleOptions,
) -> SamplerResult<'a> {
    let method = choose_flush(device, &[&*work], wanted)?;
    Ok(Box::new(SingleLaunchSampler {
        device,
        work,
        cache: wanted.cache,
        method,
        launches: 1,
        fastest: None,
        interruptions: None,
    }))
}

/// Returns a sampler of two interleaved `works` with the options `wanted`. Chooses a flush that both can use.
///
/// # Errors
/// Returns an error if `wanted` has a path or a flush that the device does not have, or if no flush is
/// possible for cold samples of both.
pub fn pair_sampler<'a, D: LaunchTimer>(
    device: &'a mut D,
    works: [&'a mut dyn Work; 2],
    wanted: &SampleOptions,
) -> SamplerResult<'a> {
    let method = choose_flush(device, &works.each_ref().map(|work| &**work as &dyn Work), wanted)?;
    Ok(Box::new(PairSampler { device, works, cache: wanted.cache, method }))
}

/// Chooses the flush before each sample of all `works`. Hot samples have none. Cold samples have the flush
/// that `wanted` requests, or else the first one that the device does not refuse for any of the works.
/// Returns the method of the samples; it contains the flush, and the reason if this is not the device's
/// preferred one. Returns an error if `wanted` has a path, if the requested flush is refused or missing, or
/// if all are refused.
fn choose_flush<D: LaunchTimer>(
    device: &mut D,
    works: &[&dyn Work],
    wanted: &SampleOptions,
) -> Result<Method, Failure> {
    let method = |flush, reason| {
        let mut method = Method::new(D::PATH).with_flush(flush);
        method.flush_reason = reason;
        Ok(method)
    };
    let refused = |message: String| Err(Failure::new(Stage::Device, message));
    if let Some(path) = wanted.path {
        return refused(format!(
            "--path {path}: this device times one launch at a time, and has no other path"
        ));
    }
    let mut refuses = |flush: Flush| works.iter().find_map(|work| device.refuses(flush, *work));
    match (wanted.cache, wanted.flush) {
        (Cache::Hot, _) | (Cache::Cold, Some(Flush::None)) => method(Flush::None, None),
        (Cache::Cold, Some(flush)) if D::FLUSHES.contains(&flush) => match refuses(flush) {
            Some(why) => {
                refused(format!("--flush {flush}: {why}; without `--flush` the device takes one that can"))
            }
            None => method(flush, None),
        },
        (Cache::Cold, Some(flush)) => {
            let all = [D::FLUSHES, &[Flush::None]].concat();
            let all: Vec<String> = all.iter().map(|flush| format!("`{flush}`")).collect();
            refused(format!("--flush {flush}: this device has {}", all.join(", ")))
        }
        (Cache::Cold, None) => {
            let mut reason = None;
            for flush in D::FLUSHES.iter().copied() {
                match refuses(flush) {
                    Some(why) => reason = Some(format!("not by `{flush}`, since {why}")),
                    None => return method(flush, reason),
                }
            }
            refused(reason.unwrap_or_else(|| {
                "this device cannot flush a cache, so that none of its samples is cold".to_owned()
            }))
        }
    }
}

/// Samples the launches of one case.
struct SingleLaunchSampler<'a, D> {
    device: &'a mut D,
    work: &'a mut dyn Work,
    cache: Cache,
    /// The method of the samples, without the number of launches in a sample.
    method: Method,
    /// The number of launches in a sample.
    launches: usize,
    /// The shortest event time per launch in the last group; `None` before the first group.
    fastest: Option<Nanoseconds>,
    /// The waits of threads since the first sample; `None` during the warm-up, or if waits are not counted.
    interruptions: Option<Interruptions>,
}

/// Samples the interleaved launches of two cases.
struct PairSampler<'a, D> {
    device: &'a mut D,
    works: [&'a mut dyn Work; 2],
    cache: Cache,
    method: Method,
}

/// Resets `work`, flushes, and makes the device ready for a sample. Returns the result of
/// [`LaunchTimer::make_ready`]: false if the sample counts as interrupted.
fn prepare_sample<D: LaunchTimer>(
    device: &mut D,
    work: &mut dyn Work,
    flush: Flush,
) -> Result<bool, Failure> {
    work.reset()?;
    if flush != Flush::None {
        device.flush(flush, work)?;
    }
    Ok(device.make_ready())
}

impl<D: LaunchTimer> SingleLaunchSampler<'_, D> {
    /// Takes samples until `events` has `samples` of them, and adds the waits of threads to `waits`. After
    /// each cold sample, and after each sample with a reset, reads the waits once; several other samples
    /// share one reading.
    fn take_samples_with_waits(
        &mut self,
        samples: usize,
        waits: &mut Interruptions,
        events: &mut Vec<Nanoseconds>,
    ) -> Result<(), Failure> {
        // A wait before a sample, in its reset or its flush, does not count for the sample.
        let alone = self.method.flush != Flush::None || self.work.resets();
        let time = self.fastest.unwrap_or_default() * self.launches as f64;
        let together = if alone { 1 } else { waits.samples_per_reading(time) };
        let (mut follows, mut whole) = (false, true);
        while events.len() < samples {
            if alone {
                whole = prepare_sample(self.device, self.work, self.method.flush)?;
            } else if !follows {
                whole = self.device.make_ready();
                // Other work has evicted data since the last sample. Before the group's first sample, `group`
                // launches once.
                if !events.is_empty() {
                    self.work.launch()?;
                }
            }
            // Waits until now do not count for these samples.
            if !follows {
                waits.longest_new_wait(self.device);
            }
            let (before, begin) = (events.len(), Instant::now());
            let mut ready = true;
            while ready && events.len() < samples.min(before + together) {
                events.push(launch_timer::time_per_launch(self.device, self.work, self.launches)?);
                ready = alone || self.device.is_ready();
            }
            waits.add_samples(self.device, events.len() - before, begin.elapsed().into(), follows);
            if !whole {
                waits.mark_last_samples(events.len() - before);
            }
            follows = !alone && ready;
        }
        Ok(())
    }
}

impl<D: LaunchTimer> Sampler for SingleLaunchSampler<'_, D> {
    fn group(&mut self, samples: usize) -> Result<SampledGroup, Failure> {
        let (mut events, begin) = (Vec::with_capacity(samples), Instant::now());
        if self.cache == Cache::Hot && self.fastest.is_none_or(|fastest| fastest <= LONG_LAUNCH) {
            self.work.launch()?;
        }
        match self.interruptions.take() {
            Some(mut waits) => {
                self.take_samples_with_waits(samples, &mut waits, &mut events)?;
                self.interruptions = Some(waits);
            }
            None => {
                for _ in 0..samples {
                    prepare_sample(self.device, self.work, self.method.flush)?;
                    events.push(launch_timer::time_per_launch(self.device, self.work, self.launches)?);
                }
            }
        }
        self.fastest = events.iter().copied().reduce(Nanoseconds::min);
        Ok(SampledGroup::new(events, begin.elapsed()))
    }

    fn timer(&mut self) -> Result<Timer, Failure> {
        self.device.timer()
    }

    fn begin(&mut self, timer: Timer) -> Result<Timer, Failure> {
        // A flush or a reset must precede each launch.
        let single = self.cache == Cache::Cold || self.work.resets();
        let is_short = self.fastest.is_none_or(|fastest| launch_timer::is_too_short(fastest, timer));
        if D::BATCHES && !single && is_short {
            self.launches = launch_timer::smallest_sufficient_batch(self.device, self.work, timer)?;
        }
        self.interruptions = Interruptions::begin(self.device);
        let mut timer = timer.of_batch(self.launches);
        // As before a sample: threads that no launch needs would slow the empty launches.
        self.device.make_ready();
        timer.overhead += self.device.empty_launch_time();
        Ok(timer)
    }

    fn processor_wait(&mut self) -> Option<f64> {
        let waits = self.interruptions.as_mut()?;
        self.device.end_waits();
        // After the last cold sample, a wait may belong to no sample.
        let back_to_back = self.method.flush == Flush::None && !self.work.resets();
        waits.add_samples(self.device, 0, Nanoseconds::ZERO, back_to_back);
        waits.processor_wait(self.device)
    }

    fn interrupted(&mut self) -> Option<&[bool]> {
        self.interruptions.as_ref()?.interrupted_samples(self.device)
    }

    fn method(&self) -> Method {
        self.method.clone().with_batch(self.launches)
    }
}

impl<D: LaunchTimer> Sampler for PairSampler<'_, D> {
    fn group(&mut self, samples: usize) -> Result<SampledGroup, Failure> {
        let (mut events, begin) = (Vec::with_capacity(2 * samples), Instant::now());
        for number in 0..samples {
            let mut pair = [Nanoseconds::default(); 2];
            let order = if swapped(number) { [1, 0] } else { [0, 1] };
            for index in order {
                let work = &mut *self.works[index];
                if self.cache == Cache::Hot {
                    work.launch()?;
                }
                prepare_sample(self.device, work, self.method.flush)?;
                pair[index] = self.device.time(work)?;
            }
            events.extend(pair);
        }
        Ok(SampledGroup::new(events, begin.elapsed()))
    }

    fn timer(&mut self) -> Result<Timer, Failure> {
        self.device.timer()
    }

    fn method(&self) -> Method {
        self.method.clone()
    }

    fn partner_method(&self) -> Option<Method> {
        Some(self.method())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Memory;
    use gpubench_records::method::Path;

    /// Counts up by the number of its launches so far, in steps of 8 ns, 96 ns at least; and writes down what
    /// it does.
    #[derive(Default)]
    struct CountingTimer(String);

    impl LaunchTimer for CountingTimer {
        const FLUSHES: &'static [Flush] = &[Flush::Write, Flush::Read];

        fn time(&mut self, work: &mut dyn Work) -> Result<Nanoseconds, Failure> {
            work.launch()?;
            self.0.push('t');
            Ok(Nanoseconds(96.0 + 8.0 * (self.0.len() % 3) as f64))
        }

        fn flush(&mut self, flush: Flush, _: &dyn Work) -> Result<(), Failure> {
            self.0.push_str(&format!("{flush} "));
            Ok(())
        }
    }

    /// Neither timed by a clock of its own nor with a cache.
    #[derive(Default)]
    struct NoCache;

    impl LaunchTimer for NoCache {
        fn time(&mut self, work: &mut dyn Work) -> Result<Nanoseconds, Failure> {
            work.launch().map(|()| Nanoseconds(1.0))
        }
    }

    /// Work that writes down its launches and its resets.
    #[derive(Default)]
    struct Noted(String);

    impl Work for Noted {
        fn reset(&mut self) -> Result<(), Failure> {
            self.0.push('r');
            Ok(())
        }

        fn launch(&mut self) -> Result<(), Failure> {
            self.0.push('l');
            Ok(())
        }
    }

    fn flushed(flush: Flush) -> SampleOptions {
        SampleOptions { flush: Some(flush), ..SampleOptions::new(Cache::Cold) }
    }

    fn chosen<D: LaunchTimer + Default>(wanted: SampleOptions) -> Result<Flush, String> {
        let chosen = choose_flush(&mut D::default(), &[&Noted::default()], &wanted);
        chosen.map(|method| method.flush).map_err(|failure| failure.to_string())
    }

    #[test]
    fn a_group_resets_flushes_and_times() {
        for (cache, flush, launched, timed) in
            [(Cache::Hot, Flush::None, "lrlrl", "tt"), (Cache::Cold, Flush::Write, "rlrl", "write twrite t")]
        {
            let (mut device, mut work) = (CountingTimer::default(), Noted::default());
            let wanted = SampleOptions::new(cache);
            let mut sampled = sampler(&mut device, &mut work, &wanted).expect("it has that flush");
            assert_eq!(sampled.method(), Method::new(Path::Device).with_flush(flush));
            let SampledGroup { events, .. } = sampled.group(2).expect("nothing fails");
            drop(sampled);
            assert_eq!((events.len(), &*work.0, &*device.0), (2, launched, timed));
        }
    }

    #[test]
    fn pairs_are_interleaved() {
        let (mut device, mut works) = (CountingTimer::default(), [0, 1].map(|_| Noted::default()));
        let [first, second] = &mut works;
        let wanted = SampleOptions::new(Cache::Hot);
        let mut sampled = pair_sampler(&mut device, [first, second], &wanted).expect("it has that flush");
        let SampledGroup { events, .. } = sampled.group(2).expect("nothing fails");
        drop(sampled);
        // The first sample of the first pair is the first case's, that of the second pair is the second's.
        let [a, b, c, d] = events[..].try_into().expect("two pairs");
        assert_eq!([a, b, d, c], [104.0, 112.0, 96.0, 104.0].map(Nanoseconds));
        assert_eq!(works.map(|work| work.0), ["lrllrl", "lrllrl"]);
    }

    #[test]
    fn the_timer_is_measured_with_nothing_between_its_readings() {
        let timer = CountingTimer::default().timer().expect("nothing fails");
        assert_eq!(timer, Timer::new(Nanoseconds(8.0)).with_empty_span(Nanoseconds(104.0)));
        assert_eq!(NoCache.timer().expect("nothing fails").resolution, Nanoseconds(1.0));
    }

    #[test]
    fn a_device_is_flushed_as_it_can_be() {
        let cold = SampleOptions::new(Cache::Cold);
        assert_eq!(chosen::<CountingTimer>(cold), Ok(Flush::Write));
        assert_eq!(chosen::<CountingTimer>(flushed(Flush::Read)), Ok(Flush::Read));
        assert_eq!(chosen::<CountingTimer>(flushed(Flush::None)), Ok(Flush::None));
        assert_eq!(chosen::<NoCache>(SampleOptions::new(Cache::Hot)), Ok(Flush::None));
        for (refused, why) in [
            (
                chosen::<CountingTimer>(flushed(Flush::Discard)),
                "device: --flush discard: this device has `write`, `read`, `none`",
            ),
            (
                chosen::<NoCache>(cold),
                "device: this device cannot flush a cache, so that none of its samples is cold",
            ),
            (chosen::<NoCache>(flushed(Flush::Read)), "device: --flush read: this device has `none`"),
            (
                chosen::<NoCache>(SampleOptions {
                    path: Some(Path::Graph),
                    ..SampleOptions::new(Cache::Hot)
                }),
                "device: --path graph: this device times one launch at a time, and has no other path",
            ),
        ] {
            assert_eq!(refused, Err(why.to_owned()));
        }
    }

    /// Flushes inputs that are known alone.
    struct Chooses;

    impl LaunchTimer for Chooses {
        const FLUSHES: &'static [Flush] = &[Flush::Lines, Flush::Read];

        fn time(&mut self, work: &mut dyn Work) -> Result<Nanoseconds, Failure> {
            work.launch().map(|()| Nanoseconds(1.0))
        }

        fn refuses(&mut self, flush: Flush, work: &dyn Work) -> Option<String> {
            (flush == Flush::Lines && !work.memory(&mut |_| ())).then(|| "it is unknown".to_owned())
        }
    }

    /// Work whose memory is known.
    struct Known;

    impl Work for Known {
        fn launch(&mut self) -> Result<(), Failure> {
            Ok(())
        }

        fn memory(&self, _: &mut dyn FnMut(Memory<'_>)) -> bool {
            true
        }
    }

    #[test]
    fn two_cases_have_the_flush_that_serves_both() {
        let (known, unknown) = (Known, Noted::default());
        let works: [&dyn Work; 2] = [&known, &unknown];
        let [one, other] = works;
        let cold = SampleOptions::new(Cache::Cold);
        for (works, chosen) in [
            (&[one][..], Flush::Lines),
            (&[other], Flush::Read),
            (&[one, one], Flush::Lines),
            (&[one, other], Flush::Read),
            (&[other, one], Flush::Read),
        ] {
            let reason = (chosen == Flush::Read).then(|| "not by `lines`, since it is unknown".to_owned());
            let choose = |wanted| {
                choose_flush(&mut Chooses, works, &wanted).map(|method| (method.flush, method.flush_reason))
            };
            assert_eq!(choose(cold), Ok((chosen, reason)));
            let asked = choose(flushed(Flush::Lines));
            let chosen_flush = asked.map(|(flush, _)| flush).map_err(|failure| failure.to_string());
            let refused =
                Err("device: --flush lines: it is unknown; without `--flush` the device takes one that can"
                    .to_owned());
            assert_eq!(chosen_flush, if chosen == Flush::Lines { Ok(Flush::Lines) } else { refused });
            assert_eq!(
                choose(flushed(Flush::Read)),
                Ok((Flush::Read, None)),
                "what was asked for needs no reason"
            );
        }
    }
}
