//! The L2 as a set of ranges, clean or dirty, the least recently used first. Exact to the byte, and cheap: a
//! range stays one entry until something takes a part of it.

use std::collections::VecDeque;
use std::ops::Range;

use crate::reference::Access;

/// The traffic of an access to memory, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Traffic {
    /// Found in the L2.
    pub(crate) hits: u64,
    /// Read from memory.
    pub(crate) misses: u64,
    /// Written without being there before; whole lines, so that nothing was read for them.
    pub(crate) allocated: u64,
    /// Dirty, and written back to make room.
    pub(crate) evicted: u64,
    /// Written without being dirty before: memory gets these in the end.
    pub(crate) dirtied: u64,
}

impl Traffic {
    /// The bytes that memory transfers. A launch pays for the lines that it leaves dirty as well, so that one on a clean L2 is
    /// not faster.
    pub(crate) fn of_memory(&self) -> u64 {
        self.misses + self.evicted.max(self.dirtied)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Lines {
    range: Range<u64>,
    dirty: bool,
}

/// A cache of so many bytes.
#[derive(Debug)]
pub(crate) struct L2 {
    capacity: u64,
    used: u64,
    /// Disjoint; the first was not used for the longest time.
    lines: VecDeque<Lines>,
}

impl L2 {
    pub(crate) fn new(capacity: u64) -> Self {
        Self { capacity, used: 0, lines: VecDeque::new() }
    }

    /// Touches `range` from its start to its end.
    pub(crate) fn touch(&mut self, range: Range<u64>, access: Access, traffic: &mut Traffic) {
        let mut at = range.start;
        while at < range.end {
            let (length, was_dirty) = match self.take(at..range.end) {
                Ok(taken) => {
                    traffic.hits += taken.range.end - taken.range.start;
                    (taken.range.end - at, taken.dirty)
                }
                Err(gap) => {
                    // What makes room may be a part of what is touched next.
                    let length = gap.min(self.make_room(gap, traffic));
                    match access {
                        Access::Write => traffic.allocated += length,
                        Access::Read | Access::Update => traffic.misses += length,
                    }
                    (length, false)
                }
            };
            let writes = access != Access::Read;
            traffic.dirtied += if writes && !was_dirty { length } else { 0 };
            self.append(at..at + length, was_dirty || writes);
            at += length;
        }
    }

    /// Drops `range` without writing anything back.
    pub(crate) fn discard(&mut self, range: Range<u64>) {
        let mut left = VecDeque::with_capacity(self.lines.len() + 1);
        for Lines { range: old, dirty } in std::mem::take(&mut self.lines) {
            for kept in [old.start..old.end.min(range.start), old.start.max(range.end)..old.end] {
                if !kept.is_empty() {
                    left.push_back(Lines { range: kept, dirty });
                }
            }
        }
        self.lines = left;
        self.used = self.lines.iter().map(|lines| lines.range.end - lines.range.start).sum();
    }

    /// Takes out what is there from the start of `range` on, or tells how long nothing is.
    fn take(&mut self, range: Range<u64>) -> Result<Lines, u64> {
        let there = |lines: &Lines| lines.range.start <= range.start && range.start < lines.range.end;
        let Some(index) = self.lines.iter().position(there) else {
            let starts =
                self.lines.iter().map(|lines| lines.range.start).filter(|start| *start > range.start);
            return Err(starts.min().map_or(range.end, |start| start.min(range.end)) - range.start);
        };
        let Lines { range: old, dirty } = self.lines[index].clone();
        let taken = range.start..old.end.min(range.end);
        self.used -= taken.end - taken.start;
        self.lines.remove(index);
        for rest in [old.start..taken.start, taken.end..old.end] {
            if !rest.is_empty() {
                self.lines.insert(index, Lines { range: rest, dirty });
            }
        }
        Ok(Lines { range: taken, dirty })
    }

    /// Makes room for up to `wanted` bytes, by what the least recently used entry holds; returns how many fit now.
    fn make_room(&mut self, wanted: u64, traffic: &mut Traffic) -> u64 {
        let free = self.capacity - self.used;
        if free > 0 {
            return free;
        }
        let Some(oldest) = self.lines.front_mut() else { return wanted };
        let gone = wanted.min(oldest.range.end - oldest.range.start);
        if oldest.dirty {
            traffic.evicted += gone;
        }
        oldest.range.start += gone;
        self.used -= gone;
        if oldest.range.is_empty() {
            self.lines.pop_front();
        }
        gone
    }

    fn append(&mut self, range: Range<u64>, dirty: bool) {
        self.used += range.end - range.start;
        match self.lines.back_mut() {
            Some(last) if last.dirty == dirty && last.range.end == range.start => last.range.end = range.end,
            _ => self.lines.push_back(Lines { range, dirty }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touch(l2: &mut L2, range: Range<u64>, access: Access) -> Traffic {
        let mut traffic = Traffic::default();
        l2.touch(range, access, &mut traffic);
        assert!(l2.used <= l2.capacity);
        assert_eq!(l2.used, l2.lines.iter().map(|lines| lines.range.end - lines.range.start).sum::<u64>());
        traffic
    }

    #[test]
    fn what_fits_is_found_again_and_what_does_not_is_not() {
        let mut l2 = L2::new(100);
        assert_eq!(touch(&mut l2, 0..80, Access::Read), Traffic { misses: 80, ..Traffic::default() });
        assert_eq!(touch(&mut l2, 0..80, Access::Read), Traffic { hits: 80, ..Traffic::default() });
        // Longer than the cache: the end of it is there, and is gone before it is reached.
        let long = touch(&mut l2, 1000..1150, Access::Read);
        assert_eq!((long.misses, long.evicted), (150, 0));
        assert_eq!(touch(&mut l2, 1000..1150, Access::Read), Traffic { misses: 150, ..Traffic::default() });
    }

    #[test]
    fn dirty_lines_are_paid_for_by_who_evicts_them_unless_they_were_discarded() {
        let mut l2 = L2::new(100);
        assert_eq!(
            touch(&mut l2, 0..100, Access::Write),
            Traffic { allocated: 100, dirtied: 100, ..Traffic::default() }
        );
        assert_eq!(
            touch(&mut l2, 200..230, Access::Read),
            Traffic { misses: 30, evicted: 30, ..Traffic::default() }
        );
        // Those at 30 and up are still there, and dirty.
        assert_eq!(touch(&mut l2, 30..100, Access::Read), Traffic { hits: 70, ..Traffic::default() });
        l2.discard(0..100);
        assert_eq!(l2.used, 30);
        assert_eq!(touch(&mut l2, 300..400, Access::Read), Traffic { misses: 100, ..Traffic::default() });
        l2.discard(310..320);
        assert_eq!(
            touch(&mut l2, 300..400, Access::Read),
            Traffic { hits: 90, misses: 10, ..Traffic::default() }
        );
    }

    #[test]
    fn an_update_in_place_reads_once_and_leaves_dirty_lines() {
        let mut l2 = L2::new(100);
        assert_eq!(
            touch(&mut l2, 0..250, Access::Update),
            Traffic { misses: 250, evicted: 150, dirtied: 250, ..Traffic::default() }
        );
    }
}
