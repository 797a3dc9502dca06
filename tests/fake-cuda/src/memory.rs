//! The device's memory. Device memory has addresses that the host cannot follow; pinned and managed memory is
//! the host's own, at one address for both.

#![expect(unsafe_code, reason = "memory that the host reads and writes through pointers of its own")]

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::collections::BTreeMap;
use std::ops::Range;

use crate::code::{Code, INVALID_VALUE, OUT_OF_MEMORY};
use crate::content::{Content, Piece, View};
use crate::model::{MEMORY_SIZE, RESERVED};

/// The first address of device memory: no address of an x86-64 or aarch64 process.
const FIRST: u64 = 0x00de_0000_0000_0000;
/// The distance between the first addresses of two GPUs.
const APART: u64 = 1 << 44;
/// Allocations begin at multiples of this.
const ALIGNMENT: u64 = 512;
/// More than this of the host's own memory is refused.
const MOST_OF_THE_HOST: u64 = 4 << 30;
/// The content of memory that nobody has written.
const JUNK: [u8; 4] = [0xa5; 4];

/// The kind of an allocation, which decides who may follow a pointer into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Device,
    Pinned,
    Managed,
}

#[derive(Debug)]
struct Allocation {
    bytes: u64,
    kind: Kind,
}

/// All of a GPU's, and that of other GPUs while the current one reaches it.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    /// The memory of other GPUs, which a call of this one may read and write.
    pub(crate) peers: Vec<Self>,

    /// By their first address.
    allocations: BTreeMap<u64, Allocation>,
    /// The contents of device memory by their first addresses; disjoint.
    pieces: BTreeMap<u64, Piece>,
    next: u64,
    used: u64,
    /// The allocations of the pool, with their bytes.
    pooled: BTreeMap<u64, u64>,
}

impl Memory {
    /// The memory of GPU `ordinal`.
    pub(crate) fn of(ordinal: usize) -> Self {
        let next = FIRST + ordinal as u64 * APART;
        Self { next, ..Self::default() }
    }

    pub(crate) fn free(&self) -> u64 {
        MEMORY_SIZE - RESERVED - self.used
    }

    pub(crate) fn allocate(&mut self, bytes: u64, kind: Kind) -> Result<u64, Code> {
        if bytes == 0 {
            return Err(INVALID_VALUE);
        }
        let address = match kind {
            Kind::Device if bytes > self.free() => return Err(OUT_OF_MEMORY),
            Kind::Device => {
                self.used += bytes;
                let address = self.next;
                self.next += (bytes + ALIGNMENT).next_multiple_of(ALIGNMENT);
                address
            }
            Kind::Pinned | Kind::Managed if bytes > MOST_OF_THE_HOST => return Err(OUT_OF_MEMORY),
            Kind::Pinned | Kind::Managed => {
                // SAFETY: the layout has a size above zero.
                let pointer = unsafe { alloc_zeroed(layout(bytes)?) };
                if pointer.is_null() {
                    return Err(OUT_OF_MEMORY);
                }
                pointer.expose_provenance() as u64
            }
        };
        self.allocations.insert(address, Allocation { bytes, kind });
        Ok(address)
    }

    /// Allocates from the pool of streams.
    pub(crate) fn allocate_pooled(&mut self, bytes: u64) -> Result<u64, Code> {
        let address = self.allocate(bytes, Kind::Device)?;
        self.pooled.insert(address, bytes);
        Ok(address)
    }

    /// The bytes of all allocations of the pool.
    pub(crate) fn pooled(&self) -> u64 {
        self.pooled.values().sum()
    }

    /// Frees the allocation that begins there, and returns its range.
    pub(crate) fn release(&mut self, address: u64) -> Result<Range<u64>, Code> {
        let Allocation { bytes, kind } = self.allocations.remove(&address).ok_or(INVALID_VALUE)?;
        let range = address..address + bytes;
        self.pooled.remove(&address);
        match kind {
            Kind::Device => {
                self.used -= bytes;
                self.clear(range.clone());
            }
            Kind::Pinned | Kind::Managed => {
                // SAFETY: `allocate` got it with this layout, and nothing here knows it any more.
                unsafe { dealloc(host(address), layout(bytes)?) };
            }
        }
        Ok(range)
    }

    /// The memory that holds an address: this one or a peer's.
    fn at(&self, address: u64) -> &Self {
        let holds = |memory: &&Self| memory.holding(&(address..address.saturating_add(1))).is_some();
        if holds(&self) { self } else { self.peers.iter().find(holds).unwrap_or(self) }
    }

    /// The number of the GPU whose device memory has this address.
    #[expect(clippy::unused_self, reason = "asked like everything else about an address")]
    pub(crate) fn gpu_of(&self, address: u64) -> u64 {
        (address - FIRST) / APART
    }

    /// Returns true for an address in a peer's memory.
    pub(crate) fn is_peers(&self, address: u64) -> bool {
        !std::ptr::eq(self.at(address), self)
    }

    /// The kind of memory at an address.
    pub(crate) fn kind(&self, address: u64) -> Option<Kind> {
        self.at(address).holding(&(address..address.saturating_add(1))).map(|allocation| allocation.kind)
    }

    /// Tells whether all of `range` lies in one allocation.
    pub(crate) fn has(&self, range: &Range<u64>) -> bool {
        self.at(range.start).holding(range).is_some()
    }

    /// From an address to the end of the allocation that it is in.
    pub(crate) fn allocation(&self, address: u64) -> Option<Range<u64>> {
        let (first, allocation) = self.allocations.range(..=address).next_back()?;
        let range = address..first + allocation.bytes;
        (!range.is_empty()).then_some(range)
    }

    fn holding(&self, range: &Range<u64>) -> Option<&Allocation> {
        let (first, allocation) = self.allocations.range(..=range.start).next_back()?;
        (range.start <= range.end && range.end <= first + allocation.bytes).then_some(allocation)
    }

    /// Returns the content of `range`, which must be [allocated](Self::has).
    pub(crate) fn view(&self, range: Range<u64>) -> View {
        if self.is_peers(range.start) {
            return self.at(range.start).view(range);
        }
        if self.kind(range.start).is_some_and(|kind| kind != Kind::Device) {
            let mut bytes = vec![0; (range.end - range.start) as usize];
            // SAFETY: the range lies in an allocation of ours that the host may read, and `bytes` is as long.
            unsafe { host(range.start).copy_to_nonoverlapping(bytes.as_mut_ptr(), bytes.len()) };
            return View::of(Content::Bytes(bytes), range.end - range.start);
        }
        let before = self.pieces.range(..range.start).next_back();
        let mut view = View::default();
        let mut at = range.start;
        for (&start, piece) in before.into_iter().chain(self.pieces.range(range.clone())) {
            let end = (start + piece.bytes).min(range.end);
            if end <= at {
                continue;
            }
            if start > at {
                view.0.extend(View::of(Content::Word(JUNK), start - at).0);
                at = start;
            }
            view.0.push(piece.part(at - start, end - at));
            at = end;
        }
        if at < range.end {
            view.0.extend(View::of(Content::Word(JUNK), range.end - at).0);
        }
        view
    }

    /// Has memory from `start` on, which must be [there](Self::has), hold `view`.
    pub(crate) fn put(&mut self, start: u64, view: View) {
        let range = start..start + view.bytes();
        if self.is_peers(start) {
            let peer = self.peers.iter_mut().find(|peer| peer.kind(start).is_some());
            return peer.map_or((), |peer| peer.put(start, view));
        }
        if self.kind(start).is_some_and(|kind| kind != Kind::Device) {
            let bytes = view.to_bytes();
            // SAFETY: the range lies in an allocation of ours that the host may write, and is as long as `bytes`.
            unsafe { host(start).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
            return;
        }
        self.clear(range);
        let mut at = start;
        for piece in view.0.into_iter().filter(|piece| piece.bytes > 0) {
            let bytes = piece.bytes;
            self.pieces.insert(at, piece);
            at += bytes;
        }
    }

    /// Forgets what `range` holds.
    fn clear(&mut self, range: Range<u64>) {
        let before = self.pieces.range(..range.start).next_back().map(|(start, _)| *start);
        let within: Vec<u64> = self.pieces.range(range.clone()).map(|(start, _)| *start).collect();
        for start in before.into_iter().chain(within) {
            let end = start + self.pieces[&start].bytes;
            if end <= range.start {
                continue;
            }
            let Some(piece) = self.pieces.remove(&start) else { continue };
            if start < range.start {
                self.pieces.insert(start, piece.part(0, range.start - start));
            }
            if end > range.end {
                self.pieces.insert(range.end, piece.part(range.end - start, end - range.end));
            }
        }
    }
}

fn layout(bytes: u64) -> Result<Layout, Code> {
    Layout::from_size_align(bytes as usize, ALIGNMENT as usize).map_err(|_| INVALID_VALUE)
}

/// A pointer into memory of the host that was allocated here.
fn host(address: u64) -> *mut u8 {
    std::ptr::with_exposed_provenance_mut(address as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(byte: u8, length: usize) -> View {
        View::of(Content::Bytes(vec![byte; length]), length as u64)
    }

    #[test]
    fn what_is_put_last_is_what_is_there() {
        let mut memory = Memory::of(0);
        let a = memory.allocate(12, Kind::Device).expect("there is room");
        memory.put(a, bytes(1, 8));
        memory.put(a + 2, bytes(2, 3));
        memory.put(a + 4, bytes(3, 2));
        let [j, ..] = JUNK;
        assert_eq!(memory.view(a..a + 12).to_bytes(), [1, 1, 2, 2, 3, 3, 1, 1, j, j, j, j]);
        assert_eq!(memory.view(a + 3..a + 7).to_bytes(), [2, 3, 3, 1]);
        memory.put(a, bytes(4, 12));
        assert_eq!((memory.view(a..a + 12).to_bytes(), memory.pieces.len()), (vec![4; 12], 1));
    }

    #[test]
    fn sizes_are_enforced() {
        let mut memory = Memory::of(0);
        assert_eq!(memory.allocate(0, Kind::Device), Err(INVALID_VALUE));
        assert_eq!(memory.allocate(MEMORY_SIZE, Kind::Device), Err(OUT_OF_MEMORY));
        let free = memory.free();
        let a = memory.allocate(1000, Kind::Device).expect("there is room");
        assert!(
            memory.has(&(a + 100..a + 1000)) && !memory.has(&(a + 100..a + 1001)) && !memory.has(&(0..1))
        );
        assert_eq!(memory.free(), free - 1000);
        assert_eq!(memory.release(a), Ok(a..a + 1000));
        assert_eq!((memory.free(), memory.kind(a)), (free, None));
        assert_eq!(memory.release(a), Err(INVALID_VALUE));
    }

    #[test]
    fn the_pool_knows_what_is_allocated_from_it() {
        let mut memory = Memory::of(0);
        memory.allocate(1000, Kind::Device).expect("there is room");
        let [a, _] = [1, 2].map(|bytes| memory.allocate_pooled(bytes).expect("there is room"));
        assert_eq!(memory.pooled(), 3);
        memory.release(a).expect("it is there");
        assert_eq!(memory.pooled(), 2);
    }

    #[test]
    fn managed_memory_is_the_hosts_own() {
        let mut memory = Memory::of(0);
        let a = memory.allocate(4, Kind::Managed).expect("there is room");
        memory.put(a, bytes(7, 4));
        // SAFETY: four bytes that live until they are freed below.
        assert_eq!(unsafe { host(a).cast::<u32>().read() }, 0x0707_0707);
        // SAFETY: as above.
        unsafe { host(a).write(1) };
        assert_eq!(memory.view(a..a + 4).to_bytes(), [1, 7, 7, 7]);
        assert_eq!(memory.release(a), Ok(a..a + 4));
    }
}
