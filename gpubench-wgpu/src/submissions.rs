//! Groups of samples. A group is one submission: for each sample a reset, a flush and a launch between two timestamps, with an
//! empty launch for each.

use gpubench_records::failure::Failure;
use gpubench_records::method::{Cache, Flush, Method, Path};
use gpubench_runtime::device::{Work, swapped};

use crate::device::Wgpu;
use crate::marks::MOST;
use crate::spans::Span;

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
    pub(crate) fn first(&mut self) -> &mut dyn Work {
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
    pub(crate) works: Works<'a>,
    pub(crate) cache: Cache,
    pub(crate) method: Method,
    /// The clock when the first group began.
    pub(crate) first: Option<u64>,
}

impl<'a> Submissions<'a> {
    pub(crate) fn new(device: &'a mut Wgpu, works: Works<'a>, cache: Cache, method: Method) -> Self {
        Self { device, works, cache, method, first: None }
    }

    /// Prepares to time `work` behind `flush`, without the readings of a case.
    pub(crate) fn alone(device: &'a mut Wgpu, work: &'a mut dyn Work, flush: Flush) -> Self {
        let cache = if flush == Flush::None { Cache::Hot } else { Cache::Cold };
        Self::new(device, Works::One(work), cache, Method::new(Path::Device).with_flush(flush))
    }

    /// Takes a group of this many samples, or as many as one submission has timestamps for. Returns the readings around the launches,
    /// in the order in which they ran.
    pub(crate) fn take(&mut self, samples: usize) -> Result<Vec<Span>, Failure> {
        let taken = self.encode(samples).and_then(|()| Ok(self.device.encoder.read_marks()?));
        if taken.is_err() {
            // The next group begins with none of this one's commands.
            self.device.encoder.discard();
        }
        taken
    }

    fn encode(&mut self, samples: usize) -> Result<(), Failure> {
        let (encoder, sweep) = (self.device.encoder.clone(), self.device.sweep(self.method.flush));
        let (hot, turns) = (self.cache == Cache::Hot, self.works.turns());
        let two = matches!(self.works, Works::Two(_));
        if hot && !two {
            self.works.first().launch()?;
        }
        let mut number = 0;
        while number < samples.max(1) && (number == 0 || turns * (number + 1) <= MOST) {
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
                encoder.mark();
                match empty {
                    Some(empty) => empty.launch(&encoder),
                    None => work.launch()?,
                }
                encoder.mark();
            }
            number += 1;
        }
        Ok(())
    }

    /// Takes a group, and returns for each of its pairs the readings of the first and of the second.
    pub(crate) fn take_pairs(&mut self, samples: usize) -> Result<Vec<[Span; 2]>, Failure> {
        let spans = self.take(samples)?;
        let (pairs, _) = spans.as_chunks::<2>();
        let in_order =
            |(number, [a, b]): (usize, &[Span; 2])| if swapped(number) { [*b, *a] } else { [*a, *b] };
        Ok(pairs.iter().enumerate().map(in_order).collect())
    }

    /// Launches this many times in one submission, and waits.
    pub(crate) fn submit_row(&mut self, launches: usize) -> Result<(), Failure> {
        for _ in 0..launches {
            if let Err(failure) = self.works.first().launch() {
                self.device.encoder.discard();
                return Err(failure);
            }
        }
        Ok(self.device.encoder.finish()?)
    }
}
