//! The effects of kernels, which the fake driver recognises by their names. The references in
//! `gpubench-kernels` compute the outputs of the suite's kernels; this file computes those of gpubench's own
//! kernels and of tests. Any other kernel writes nothing and takes as long as an empty one.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::content::{Content, View};
use crate::l2::Traffic;
use crate::memory::Memory;
use crate::model::{self, ARITHMETIC, LOAD};
use crate::ptx::Entry;
use crate::reference::{self, Access, Array, KernelCall, Reference};

/// The longest that the measurement's own delay lasts, and its count of cycles.
const LONGEST_DELAY: u64 = 2_000_000;
const LONGEST_SPIN: u64 = 8_000_000;

/// A kernel with its arguments, ready to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Launch {
    pub(crate) name: String,
    /// The bits of each argument; of one longer than 8 bytes the first.
    pub(crate) arguments: Vec<u64>,
    pub(crate) sizes: Vec<usize>,
    pub(crate) blocks: u64,
    /// Of all blocks together.
    pub(crate) threads: u64,
}

/// The memory that a launch touches, its effect and its time.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Doing {
    pub(crate) touched: Vec<(Range<u64>, Access)>,
    pub(crate) discarded: Option<Range<u64>>,
    /// It does nothing if memory holds these bytes, or does not.
    pub(crate) skips: Option<Skips>,
    /// It goes astray unless this memory is all zeros.
    pub(crate) trusts: Option<Range<u64>>,
    pub(crate) effect: Effect,
    pub(crate) lasts: Lasts,
}

/// The memory that tells a kernel to do nothing, and its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Skips {
    IfSet(Range<u64>),
    IfHolds(Range<u64>, [u8; 4]),
}

impl Skips {
    /// The memory that is looked at.
    pub(crate) fn looks_at(&self) -> &Range<u64> {
        let (Self::IfSet(range) | Self::IfHolds(range, _)) = self;
        range
    }

    /// Tells whether a kernel that finds these bytes there does nothing.
    pub(crate) fn skips(&self, found: &[u8]) -> bool {
        match self {
            Self::IfSet(_) => found.iter().any(|byte| *byte != 0),
            Self::IfHolds(_, word) => found == word,
        }
    }
}

/// The time of a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Lasts {
    /// As the model has it.
    #[default]
    Model,
    /// So long, and what its memory takes.
    AndMemory(f64),
    /// So long. The unrest of kernels does not move it.
    Exactly(f64),
    /// A delay of this length, which may end on a tick of the timer.
    Delay(f64),
    /// This number of cycles.
    Cycles(u64),
    /// As the model has it, and a time for each phase in which a sort of the block at this address exchanges elements, up to a number.
    AndPhases(u64, u32),
}

/// The change that a kernel makes in memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Effect {
    #[default]
    None,
    Copy(Range<u64>, u64),
    Fill([u8; 4], Range<u64>),
    /// The output of a kernel of the suite.
    Output(Launched),
    /// The time, in whole steps of the clock, at this address.
    Time(u64),
    /// So many nanoseconds, and before them the cycles of as long.
    Cycles(u64, u64),
    Complement(Range<u64>),
    /// Two, one after the other.
    Both(Box<Self>, Box<Self>),
    /// So many times the mean of the two numbers of the range, added to the number that is there in whatever order they come: every
    /// other launch has another last bit.
    Total(Range<u64>, u64, u64),
    /// Each block of the first range is changed, and goes to the address.
    Changed(Range<u64>, u64, Change),
    /// Bytes over and over.
    Pattern(Vec<u8>, Range<u64>),
    /// Of a range in blocks of so many bytes: the fingerprints go to the table; or if there is a place for it, the
    /// bytes of blocks with another one than is there are added.
    Fingerprint {
        of: Range<u64>,
        block: u64,
        table: u64,
        changed: u64,
    },
}

/// A change of each block of an array.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Change {
    /// x/2 + 1 of each element.
    Halve,
    /// x + a of each element.
    Add(f32),
    /// The sum of each word and a number.
    Count(u32),
    /// Blocks of [`SORTED`] bytes are sorted in at most this number of phases.
    Sort(u32),
}

impl Change {
    fn apply(self, view: &View) -> View {
        let floats = |change: &dyn Fn(f32) -> f32| {
            view.changed(4, |x| {
                x.as_chunks_mut()
                    .0
                    .iter_mut()
                    .for_each(|x| *x = change(f32::from_le_bytes(*x)).to_le_bytes());
            })
        };
        match self {
            Self::Halve => floats(&|x| x / 2.0 + 1.0),
            Self::Add(a) => floats(&|x| x + a),
            Self::Count(number) => view.changed(4, |word| {
                let words = word.as_chunks_mut().0.iter_mut();
                words.for_each(|word| *word = u32::from_le_bytes(*word).wrapping_add(number).to_le_bytes());
            }),
            Self::Sort(phases) => view.changed(SORTED, |block| _ = sort(block, phases)),
        }
    }
}

/// The bytes of a block that is sorted.
const SORTED: usize = 1024;

/// Sorts a block by exchanging neighbours, two phases at a time, until a pair of phases exchanges nothing. Returns the number of
/// phases.
fn sort(block: &mut [u8], phases: u32) -> u32 {
    let block = block.as_chunks_mut::<4>().0;
    for done in (0..phases.min(SORTED as u32 / 4)).step_by(2) {
        let mut swapped = false;
        for odd in 0..2 {
            for at in (odd..block.len() - 1).step_by(2) {
                if f32::from_le_bytes(block[at]) > f32::from_le_bytes(block[at + 1]) {
                    block.swap(at, at + 1);
                    swapped = true;
                }
            }
        }
        if !swapped {
            return done + 2;
        }
    }
    phases
}

/// The number of phases that a launch of `sort_blocks` needs for the block at an address.
pub(crate) fn sort_phases(memory: &Memory, at: u64, phases: u32) -> u32 {
    sort(&mut memory.view(at..at + SORTED as u64).to_bytes(), phases)
}

/// A launch of a kernel of the suite.
#[derive(Clone, Debug)]
pub(crate) struct Launched {
    reference: &'static Reference,
    call: KernelCall,
    /// The arrays that are inputs or the output.
    arrays: Vec<Array>,
}

impl PartialEq for Launched {
    fn eq(&self, other: &Self) -> bool {
        (&self.call, &self.arrays) == (&other.call, &other.arrays)
    }
}

impl Launch {
    pub(crate) fn new(entry: &Entry, arguments: Vec<u64>, blocks: u64, of_a_block: u64) -> Self {
        let (name, sizes) = (entry.name.clone(), entry.parameters.clone());
        Self { name, arguments, sizes, blocks, threads: blocks.saturating_mul(of_a_block) }
    }

    /// Tells whether it makes inputs or belongs to the measurement, so that no benchmark times it.
    pub(crate) fn is_ours(&self) -> bool {
        let inputs = reference::inputs::KERNELS.iter().any(|reference| reference.kernel == self.name);
        inputs || self.name.starts_with("gpubench_")
    }

    /// Prints on standard error that the fake does not compute this kernel, once in a process. Prints nothing for a kernel without
    /// pointers, which can have no outputs.
    #[expect(clippy::print_stderr, reason = "a driver has no other way to reach the user")]
    pub(crate) fn report_not_computed(&self) {
        static REPORTED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
        let Self { name, sizes, .. } = self;
        let mut reported = REPORTED.lock().unwrap_or_else(PoisonError::into_inner);
        if sizes.contains(&8) && !self.is_ours() && reported.insert(name.clone()) {
            eprintln!("fake driver: kernel `{name}` is not computed: its outputs stay as they were");
        }
    }

    /// Describes the launch on a GPU whose timer has this resolution.
    pub(crate) fn doing(&self, step: u64) -> Doing {
        Reference::find(&self.name, &self.sizes)
            .map_or_else(|| self.of_the_measurement(step), |reference| self.of_the_suite(reference))
    }

    /// Describes a launch of a kernel of the suite.
    fn of_the_suite(&self, reference: &'static Reference) -> Doing {
        let Self { name, arguments, blocks, .. } = self;
        let call =
            KernelCall { kernel: name.clone(), arguments: arguments.clone(), blocks: *blocks, left_out: 0 };
        let mut arrays = (reference.arrays)(&call);
        let traffic = arrays.iter().filter(|array| array.is_traffic);
        let touched = traffic.map(|array| (addresses(array), array.access)).collect();
        let lasts = match (reference.work)(&call) {
            reference::KernelWork::Little => Lasts::Model,
            reference::KernelWork::Loads(loads) => Lasts::AndMemory(loads as f64 * LOAD),
            reference::KernelWork::Operations { count, speed } => Lasts::AndMemory(count as f64 / speed),
        };
        arrays.retain(|array| array.has_values);
        let effect = Effect::Output(Launched { reference, call, arrays });
        Doing { touched, effect, lasts, ..Doing::default() }
    }

    /// Describes a launch of a kernel of the measurement or of its tests.
    fn of_the_measurement(&self, step: u64) -> Doing {
        use Access::{Read, Update, Write};
        let range = |start: u64, bytes: u64| start..start.saturating_add(bytes);
        let words = |start: u64, n: u64| range(start, n.saturating_mul(4));
        let done = |touched: Vec<(Range<u64>, Access)>, effect| Doing { touched, effect, ..Doing::default() };
        match (self.name.as_str(), &self.sizes[..], &self.arguments[..]) {
            ("gpubench_read_sweep", [8, 8, 8], &[buffer, vectors, _]) => {
                done(vec![(range(buffer, 16 * vectors), Read)], Effect::None)
            }
            ("gpubench_discard", [8, 8], &[buffer, lines]) => {
                Doing { discarded: Some(range(buffer, 128 * lines)), ..Doing::default() }
            }
            ("gpubench_complement", [8, 8], &[start, bytes]) => {
                let all = range(start, bytes);
                done(vec![(all.clone(), Update)], Effect::Complement(all))
            }
            ("gpubench_fingerprint", [8, 8, 8, 8, 8], &[start, bytes, block, table, changed]) => {
                let of = range(start, bytes);
                let length = (of.end - of.start / 16 * 16).div_ceil(block.max(1));
                let mut touched = vec![(of.clone(), Read)];
                touched.push(match changed {
                    0 => (range(table, 8 * length), Write),
                    _ => (range(changed, 8), Update),
                });
                done(touched, Effect::Fingerprint { of, block, table, changed })
            }
            // In whole steps of the clock, since how long it is depends on the host, on which no reading may.
            ("gpubench_delay", [8], &[nanoseconds]) => {
                let lasts = Lasts::Delay((nanoseconds.min(LONGEST_DELAY) / step * step) as f64);
                Doing { lasts, ..Doing::default() }
            }
            ("gpubench_timer_step", [8], &[at]) => {
                let effect = Effect::Pattern(step.to_le_bytes().to_vec(), at..at + 8);
                Doing { effect, ..Doing::default() }
            }
            ("gpubench_stamp", [8], &[at]) => Doing { effect: Effect::Time(at), ..Doing::default() },
            ("gpubench_spin", [8], &[cycles]) => {
                Doing { lasts: Lasts::Cycles(cycles.min(LONGEST_SPIN)), ..Doing::default() }
            }
            // From one tick of the timer to another.
            ("gpubench_clock", [8, 8], &[duration, read]) => {
                let nanoseconds = duration.min(LONGEST_DELAY).next_multiple_of(step);
                let lasts = Lasts::Exactly((nanoseconds + step) as f64);
                Doing { effect: Effect::Cycles(nanoseconds, read), lasts, ..Doing::default() }
            }
            ("gpubench_ceiling_read", [8, 8, 8, 8], &[buffer, vectors, sweeps, _]) => {
                let sweep = (range(buffer, 16 * vectors), Read);
                done(vec![sweep; sweeps as usize], Effect::None)
            }
            ("gpubench_ceiling_write", [8, 8, 8, 8], &[buffer, vectors, sweeps, word]) => {
                let sweep = range(buffer, 16 * vectors);
                let effect = Effect::Fill((word as u32).to_le_bytes(), sweep.clone());
                done(vec![(sweep, Write); sweeps as usize], effect)
            }
            ("gpubench_ceiling_copy", [8, 8, 8], &[from, to, vectors]) => {
                let (from, to) = (range(from, 16 * vectors), range(to, 16 * vectors));
                done(vec![(from.clone(), Read), (to.clone(), Write)], Effect::Copy(from, to.start))
            }
            (name, [8, 8], &[_, steps]) if name.starts_with("gpubench_ceiling_") => {
                let known = ARITHMETIC.iter().find(|(kernel, ..)| *kernel == name);
                let takes = |(_, work, rate): &(&str, f64, f64)| {
                    model::kernel(self.blocks, &Traffic::default())
                        + self.threads as f64 * steps as f64 * work / rate
                };
                Doing {
                    lasts: known.map_or(Lasts::Model, |known| Lasts::AndMemory(takes(known))),
                    ..Doing::default()
                }
            }
            // For tests of the measurement: so many nanoseconds, and what reading the range takes.
            ("lasts", [8, 8, 8], &[nanoseconds, start, bytes]) => Doing {
                lasts: Lasts::AndMemory(nanoseconds as f64),
                ..done(vec![(range(start, bytes), Read)], Effect::None)
            },
            // The same for a launch that writes a word.
            ("lasts_and_writes", [8, 8], &[nanoseconds, word]) => Doing {
                lasts: Lasts::AndMemory(nanoseconds as f64),
                ..done(vec![(range(word, 4), Write)], Effect::Fill(7_u32.to_le_bytes(), range(word, 4)))
            },
            // As `kernels.cu` of `gpu_caught` has them.
            ("once", [8, 4, 8, 8], &[flag, a, y, n]) => {
                let (flag, y) = (range(flag, 4), words(y, n));
                let fill = Effect::Fill((a as u32).to_le_bytes(), y.clone());
                let mark = Effect::Fill([1, 0, 0, 0], flag.clone());
                let effect = Effect::Both(Box::new(fill), Box::new(mark));
                let skips = Some(Skips::IfSet(flag.clone()));
                Doing { skips, ..done(vec![(flag, Update), (y, Write)], effect) }
            }
            ("unless_done", [4, 8, 8], &[a, y, n]) => {
                let (a, y) = ((a as u32).to_le_bytes(), words(y, n));
                let skips = Some(Skips::IfHolds(y.start..y.start + 4, a));
                Doing { skips, ..done(vec![(y.clone(), Write)], Effect::Fill(a, y)) }
            }
            // Of an array of halves the first thread reads 32.
            ("read_all", [8, 8, 8], &[x, n, y]) => {
                let y = range(y, 4);
                let sum = Effect::Fill(16_f32.to_le_bytes(), y.clone());
                done(vec![(words(x, n), Read), (y, Write)], sum)
            }
            ("atomic_sum", [8, 8, 8], &[x, n, total]) => {
                let effect = Effect::Total(range(x, 8), n, total);
                done(vec![(words(x, n), Read), (range(total, 4), Update)], effect)
            }
            // The only inputs that are given to it are negative.
            ("relu", [8, 8, 8], &[x, y, n]) => {
                let (x, y) = (words(x, n), words(y, n));
                done(vec![(x, Read), (y.clone(), Write)], Effect::Fill([0; 4], y))
            }
            ("halve", [8, 8, 8], &[x, y, n]) => {
                let (from, to) = (words(x, n), words(y, n));
                let touched =
                    if x == y { vec![(to, Update)] } else { vec![(from.clone(), Read), (to, Write)] };
                done(touched, Effect::Changed(from, y, Change::Halve))
            }
            // All elements that are given to it are the same.
            ("jacobi", [8, 8, 8], &[x, y, n]) => {
                let from = words(x, n);
                let touched = vec![(from.clone(), Read), (words(y, n), Write)];
                done(touched, Effect::Changed(from, y, Change::Add(1.0)))
            }
            // Each of 256 keys is there equally often.
            ("histogram", [8, 8, 8], &[keys, n, counts]) => {
                let all = range(counts, 4 * 256);
                let effect = Effect::Changed(all.clone(), counts, Change::Count((n / 256) as u32));
                done(vec![(words(keys, n), Read), (all, Update)], effect)
            }
            ("descending", [8, 8], &[x, n]) => {
                let x = words(x, n);
                let pattern = (0_u8..=255).rev().flat_map(|x| f32::from(x).to_le_bytes()).collect();
                done(vec![(x.clone(), Write)], Effect::Pattern(pattern, x))
            }
            ("sort_blocks", [8, 8, 4], &[x, n, phases]) => {
                let all = words(x, n);
                let effect = Effect::Changed(all.clone(), x, Change::Sort(phases as u32));
                Doing { lasts: Lasts::AndPhases(x, phases as u32), ..done(vec![(all, Update)], effect) }
            }
            ("pause", [8], &[nanoseconds]) => {
                Doing { lasts: Lasts::AndMemory(nanoseconds as f64), ..Doing::default() }
            }
            // It goes astray unless its flag is 0, and writes nothing.
            ("trusts", [8], &[flag]) => {
                Doing { trusts: Some(range(flag, 4)), ..done(vec![(range(flag, 4), Read)], Effect::None) }
            }
            _ => Doing::default(),
        }
    }
}

impl Effect {
    /// Makes it that of a broken kernel, which leaves the last term of each of its sums out.
    pub(crate) fn shorten(&mut self) {
        if let Self::Output(launched) = self {
            launched.call.left_out = 1;
        }
    }

    /// The first bytes of the tables that it reads.
    pub(crate) fn tables(&self) -> Vec<Range<u64>> {
        let Self::Output(launched) = self else { return Vec::new() };
        let tables = launched.arrays.iter().filter(|array| array.bytes.is_none());
        tables.map(|table| table.start..table.start.saturating_add(1)).collect()
    }

    /// The memory that an effect changes.
    pub(crate) fn written(&self) -> Range<u64> {
        match self {
            Self::None => 0..0,
            Self::Copy(from, to) => *to..*to + (from.end - from.start),
            Self::Fill(_, to) | Self::Complement(to) => to.clone(),
            Self::Output(launched) => launched.output().map(addresses).unwrap_or_default(),
            Self::Time(at) => *at..*at + 8,
            Self::Cycles(_, to) => *to..*to + 16,
            Self::Both(first, _) => first.written(),
            Self::Total(_, _, to) => *to..*to + 4,
            Self::Changed(from, to, _) => *to..*to + (from.end - from.start),
            Self::Pattern(_, to) => to.clone(),
            Self::Fingerprint { table, .. } => *table..*table + 8,
        }
    }

    /// Leaves in `memory` what the kernel would on a device with this `clock` in MHz. All ranges are allocated.
    pub(crate) fn apply(self, memory: &mut Memory, clock: u64) {
        match self {
            Self::None => {}
            Self::Copy(from, to) => memory.put(to, memory.view(from)),
            Self::Fill(word, to) => memory.put(to.start, View::of(Content::Word(word), to.end - to.start)),
            Self::Output(launched) => launched.apply(memory),
            Self::Time(_) => unreachable!("the device's time is a pattern by now"),
            Self::Cycles(nanoseconds, to) => {
                let counts = [clock * nanoseconds / 1000, nanoseconds].map(u64::to_le_bytes).concat();
                memory.put(to, View::of(Content::Bytes(counts), 16));
            }
            Self::Both(first, second) => {
                first.apply(memory, clock);
                second.apply(memory, clock);
            }
            Self::Total(of, times, to) => {
                static LAUNCHES: AtomicU32 = AtomicU32::new(0);
                let bytes = memory.view(of).to_bytes();
                let floats =
                    |bytes: &[u8]| bytes.as_chunks().0.iter().map(|x| f32::from_le_bytes(*x)).sum::<f32>();
                let (two, earlier) = (floats(&bytes), floats(&memory.view(to..to + 4).to_bytes()));
                let total = (earlier + two / 2.0 * times as f32).to_bits()
                    ^ (LAUNCHES.fetch_add(1, Ordering::Relaxed) % 2);
                memory.put(to, View::of(Content::Bytes(total.to_le_bytes().to_vec()), 4));
            }
            Self::Changed(from, to, change) => {
                let view = change.apply(&memory.view(from));
                memory.put(to, view);
            }
            Self::Pattern(pattern, to) => {
                memory.put(to.start, View::of(Content::Pattern(pattern), to.end - to.start));
            }
            Self::Complement(all) => {
                let view = memory.view(all.clone()).complement();
                memory.put(all.start, view);
            }
            Self::Fingerprint { of, block, table, changed } => {
                let prints = memory.view(of.clone()).fingerprints(of.start % 16, block);
                let bytes: Vec<u8> = prints.iter().flat_map(|(print, _)| print.to_le_bytes()).collect();
                let length = bytes.len() as u64;
                if changed == 0 {
                    return memory.put(table, View::of(Content::Bytes(bytes), length));
                }
                let before = memory.view(table..table + length).to_bytes();
                let differs = |place: &usize| before[8 * place..][..8] != bytes[8 * place..][..8];
                let more: u64 = (0..prints.len()).filter(differs).map(|place| prints[place].1).sum();
                let word = memory.view(changed..changed + 8).to_bytes();
                let count =
                    word.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).sum::<u64>() + more;
                memory.put(changed, View::of(Content::Bytes(count.to_le_bytes().to_vec()), 8));
            }
        }
    }
}

impl Launched {
    fn output(&self) -> Option<&Array> {
        self.arrays.iter().rfind(|array| array.access != Access::Read)
    }

    /// Leaves its output in `memory`. An update has its earlier values as its last input.
    fn apply(self, memory: &mut Memory) {
        let Some(output) = self.output() else { return };
        let (to, updates) = (addresses(output), output.access == Access::Update);
        let read = self.arrays.iter().filter(|array| array.access != Access::Write);
        let inputs = read
            .map(|array| match array.bytes {
                Some(_) => addresses(array),
                None => memory.allocation(array.start).unwrap_or_default(),
            })
            .map(|range| memory.view(range))
            .collect();
        let view = View::output(self.reference, self.call, inputs, updates, to.end - to.start);
        memory.put(to.start, view);
    }
}

/// The addresses of an array. A table has none, since a launch reads little of it.
fn addresses(array: &Array) -> Range<u64> {
    array.start..array.start.saturating_add(array.bytes.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sort_takes_fewer_phases_the_more_is_in_order() {
        let mut block: Vec<u8> = (0_u8..=255).rev().flat_map(|x| f32::from(x).to_le_bytes()).collect();
        let sorted: Vec<u8> = (0_u8..=255).flat_map(|x| f32::from(x).to_le_bytes()).collect();
        assert_eq!(sort(&mut block.clone(), 256), 256);
        let phases: Vec<u32> = (0..10).map(|_| sort(&mut block, 32)).collect();
        assert_eq!((&phases[..8], &phases[9..]), (&[32; 8][..], &[2][..]));
        assert_eq!(block, sorted);
    }
}
