//! The work on streams.

#![expect(
    unsafe_code,
    reason = "copies to and from memory that the caller names, and calls a function of the caller"
)]

use std::ffi::c_void;
use std::fmt::Write as _;
use std::ops::Range;
use std::slice;

use crate::api::cupti::{self, Traced};
use crate::code::{Code, ILLEGAL_ADDRESS, INVALID_VALUE};
use crate::config::Misdeed;
use crate::content::{Content, View};
use crate::driver::Driver;
use crate::kernels::{self, Lasts, Launch};
use crate::l2::Traffic;
use crate::model;
use crate::reference::Access;
use crate::stream::NULL;

/// A piece of work.
#[derive(Clone, Debug)]
pub(crate) enum Work {
    Kernel(Launch),
    /// Sets a range to four bytes over and over.
    Memset(Range<u64>, [u8; 4]),
    Copy {
        to: Place,
        from: Place,
        bytes: u64,
    },
    Record(usize),
    /// Waits until an event that is on another stream.
    Wait(usize),
    HostFunction(HostFunction, usize),
    /// Nodes that allocate and free.
    Allocation,
    Free,
    /// A node with the work of this graph, which nothing else has.
    Child(usize),
}

/// A function of the host, called with an argument of its own.
pub(crate) type HostFunction = extern "C" fn(*mut c_void);

/// One end of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Device(u64),
    Host(usize),
}

/// A range as the log names it.
struct Span<'a>(&'a Range<u64>);

impl std::fmt::Display for Span<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:#x}+{}", self.0.start, self.0.end - self.0.start)
    }
}

impl Driver {
    /// Does `work`; returns how long it takes.
    pub(crate) fn work(&mut self, stream: usize, begin: f64, work: &Work) -> Result<f64, Code> {
        let mut words = String::new();
        let late = match work {
            Work::Kernel(launch) => self.delayed.kernel(stream, launch, self.config.delays),
            _ => 0.0,
        };
        let begin = begin + late;
        let duration = match work {
            Work::Kernel(launch) => {
                let longer = if launch.name.starts_with("gpubench_") { 0.0 } else { cupti::slows() };
                let duration = self.kernel(launch, begin, &mut words) * (1.0 + longer);
                if launch.name == "gpubench_delay" {
                    self.delayed.delay(duration);
                }
                duration
            }
            Work::Memset(range, word) => {
                _ = write!(words, "memset write={}", Span(range));
                let traffic = self.touch(&[(range.clone(), Access::Write)]);
                self.memory.put(range.start, View::of(Content::Word(*word), range.end - range.start));
                model::LAUNCH + model::memset(&traffic)
            }
            Work::Copy { to, from, bytes } => {
                // Copies that are waited for are on no stream of their own: a check's, above all.
                let idle = stream != NULL && self.misdeed("memcpy") == Some(Misdeed::Nothing);
                self.transfer(*to, *from, *bytes, !idle, &mut words)
            }
            Work::Record(event) => {
                _ = write!(words, "record {event:x}");
                let after_event = self.stream(stream)?.after_event;
                let completion = if after_event { 0.0 } else { model::COMPLETION + cupti::slowdown() };
                let of_group = if after_event { 0.0 } else { self.delayed.group(self.config.delays) };
                let completion = completion + of_group + self.delayed.place;
                self.event(*event)?.time = Some(begin + completion);
                model::EVENT + completion
            }
            Work::Wait(event) => {
                _ = write!(words, "wait {event:x}");
                (self.event(*event)?.time.unwrap_or(begin) - begin).max(0.0)
            }
            Work::HostFunction(function, data) => {
                words += "host";
                function(std::ptr::with_exposed_provenance_mut(*data));
                0.0
            }
            Work::Allocation => {
                words += "allocation";
                0.0
            }
            Work::Free => {
                words += "free";
                0.0
            }
            // An executable has the work of a child in its place.
            Work::Child(_) => return Err(INVALID_VALUE),
        };
        let traced = match work {
            Work::Kernel(launch) => Some(Traced::Kernel(&launch.name)),
            Work::Memset(range, _) => Some(Traced::Memset(range.end - range.start)),
            Work::Copy { bytes, .. } => Some(Traced::Copy(*bytes)),
            _ => None,
        };
        if let Some(traced) = traced {
            cupti::see(&traced, (begin, duration), [self.ordinal as u32, stream as u32, self.call_count]);
        }
        self.log.add(begin, duration, Some(stream), format_args!("{words}"));
        Ok(late + duration)
    }

    fn kernel(&mut self, launch: &Launch, begin: f64, words: &mut String) -> f64 {
        let name = &launch.name;
        _ = write!(words, "kernel {name}");
        if launch.blocks > 1 && name == "gpubench_empty" {
            _ = write!(words, " blocks={}", launch.blocks);
        }
        let misdeed = self.misdeed(name);
        let doing = launch.doing(self.config.step);
        if doing == kernels::Doing::default() && misdeed.is_none() && self.config.log.is_none() {
            launch.report_not_computed();
        }
        for (range, access) in &doing.touched {
            let access = match access {
                Access::Read => "read",
                Access::Write => "write",
                Access::Update => "update",
            };
            _ = write!(words, " {access}={}", Span(range));
        }
        if let Some(range) = &doing.discarded {
            _ = write!(words, " discard={}", Span(range));
        }
        // A range that ends where addresses end was cut there.
        let astray =
            |range: &Range<u64>| (!range.is_empty() || range.end == u64::MAX) && !self.memory.has(range);
        let touched = doing.touched.iter().map(|(range, _)| range).chain(&doing.discarded);
        if touched.chain(&doing.effect.tables()).any(astray) {
            self.doomed = Some(ILLEGAL_ADDRESS);
            return model::LAUNCH;
        }
        let trusted = doing.trusts.clone().map(|range| self.memory.view(range).to_bytes());
        if trusted.is_some_and(|bytes| bytes.iter().any(|byte| *byte != 0)) {
            self.doomed = Some(ILLEGAL_ADDRESS);
            return model::LAUNCH;
        }
        match misdeed {
            Some(Misdeed::NeverEnds) => return f64::INFINITY,
            Some(Misdeed::Fails(code)) if self.is_first(name) => {
                self.doomed = Some(code);
                return model::LAUNCH;
            }
            _ => {}
        }
        if let Some(skips) = &doing.skips {
            let found = self.memory.view(skips.looks_at().clone()).to_bytes();
            if skips.skips(&found) {
                words.push_str(" skipped");
                let traffic = self.touch(&[(skips.looks_at().clone(), Access::Read)]);
                return self.unrest.apply(model::kernel(launch.blocks, &traffic), begin);
            }
        }
        let only_reads = matches!(doing.effect, kernels::Effect::None);
        let is_idle = misdeed == Some(Misdeed::Nothing) && only_reads;
        let traffic = self.touch(if is_idle { &[] } else { &doing.touched });
        // What the effect changes.
        let phases = match doing.lasts {
            Lasts::AndPhases(at, phases) => kernels::sort_phases(&self.memory, at, phases),
            _ => 0,
        };
        if misdeed != Some(Misdeed::Nothing) {
            if let Some(range) = doing.discarded {
                self.l2.discard(range);
            }
            let mut effect = doing.effect;
            if misdeed == Some(Misdeed::Short) {
                effect.shorten();
            }
            if let kernels::Effect::Time(at) = effect {
                let time = begin as u64 / self.config.step * self.config.step;
                effect = kernels::Effect::Pattern(time.to_le_bytes().to_vec(), at..at + 8);
            }
            let written = effect.written();
            effect.apply(&mut self.memory, self.config.clock_at(begin));
            if misdeed == Some(Misdeed::Spoilt) {
                self.spoil(written);
            }
        }
        let crossing = self.crossing(&doing.touched);
        let duration = match doing.lasts {
            Lasts::Exactly(duration) => return duration,
            Lasts::Delay(duration) if self.config.aligned => {
                return model::shown(begin, self.config.step) + duration - begin;
            }
            Lasts::Delay(duration) => return duration,
            Lasts::Cycles(cycles) => return cycles as f64 * 1e3 / self.config.clock_at(begin) as f64,
            Lasts::AndMemory(duration) => duration + model::moving(&traffic),
            Lasts::AndPhases(..) => model::kernel(launch.blocks, &traffic) + f64::from(phases) * model::PHASE,
            Lasts::Model => model::kernel(launch.blocks, &traffic).max(crossing),
        };
        let duration = if launch.is_ours() {
            duration
        } else {
            let place = doing.touched.first().map_or(0, |(range, _)| range.start);
            self.unrest.apply(duration * self.config.delays.of_memory(place), begin)
        };
        let waiting = model::waiting(&traffic);
        duration + self.config.stall.map_or(0.0, |stall| stall.delay(begin, waiting))
    }

    /// Has one bit in the middle of a range be another.
    fn spoil(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        let middle = range.start + (range.end - range.start) / 2;
        let byte = self.memory.view(middle..middle + 1).to_bytes()[0];
        self.memory.put(middle, View::of(Content::Bytes(vec![byte ^ 0x10]), 1));
    }

    /// The fault of a kernel of this name.
    fn misdeed(&self, name: &str) -> Option<Misdeed> {
        self.config.kernels.iter().find(|(kernel, _)| kernel == name).map(|(_, misdeed)| *misdeed)
    }

    /// Copies, if the copy `arrives`, and returns its time.
    fn transfer(&mut self, to: Place, from: Place, bytes: u64, arrives: bool, words: &mut String) -> f64 {
        let view = match from {
            Place::Device(from) => {
                _ = write!(words, "copy read={}", Span(&(from..from + bytes)));
                self.memory.view(from..from + bytes)
            }
            Place::Host(from) => {
                words.push_str("copy read=host");
                let mut copied = vec![0; bytes as usize];
                // SAFETY: the caller of the copy vouches for `bytes` bytes to read there.
                unsafe { host(from).copy_to_nonoverlapping(copied.as_mut_ptr(), copied.len()) };
                View::of(Content::Bytes(copied), bytes)
            }
        };
        let traffic = match (to, from) {
            (Place::Device(to), Place::Device(from)) => {
                self.touch(&[(from..from + bytes, Access::Read), (to..to + bytes, Access::Write)])
            }
            _ => Traffic::default(),
        };
        let link = match (to, from) {
            (Place::Device(to), Place::Device(from)) => {
                self.crossing(&[(from..from + bytes, Access::Read), (to..to + bytes, Access::Write)])
            }
            _ => bytes as f64 / model::LINK,
        };
        match to {
            Place::Device(to) => {
                _ = write!(words, " write={}", Span(&(to..to + bytes)));
                if arrives {
                    self.memory.put(to, view);
                }
            }
            Place::Host(to) => {
                words.push_str(" write=host");
                // SAFETY: the caller of the copy vouches for `bytes` bytes to write there, which nobody else looks at meanwhile.
                let place = unsafe { slice::from_raw_parts_mut(host(to), bytes as usize) };
                if arrives {
                    view.read(0, place);
                }
            }
        }
        model::LAUNCH + model::moving(&traffic) + link
    }

    /// The time that bytes take over the links to other GPUs.
    fn crossing(&self, touched: &[(Range<u64>, Access)]) -> f64 {
        let crosses = touched.iter().filter(|(range, _)| self.memory.is_peers(range.start));
        let bytes: u64 = crosses.map(|(range, _)| range.end - range.start).sum();
        bytes as f64 / (model::PEER_LINK * f64::from(self.config.nvlinks.max(1)))
    }

    fn touch(&mut self, touched: &[(Range<u64>, Access)]) -> Traffic {
        let mut traffic = Traffic::default();
        // The L2 caches the GPU's own memory.
        for (range, access) in touched.iter().filter(|(range, _)| !self.memory.is_peers(range.start)) {
            self.l2.touch(range.clone(), *access, &mut traffic);
        }
        traffic
    }
}

/// A pointer that the host gave.
fn host(address: usize) -> *mut u8 {
    std::ptr::with_exposed_provenance_mut(address)
}
