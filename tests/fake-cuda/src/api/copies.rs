//! Copies and memsets. Those without a stream run on the NULL stream, and the host waits for them.

use std::ops::Range;

use crate::call::exports;
use crate::code::{Code, INVALID_VALUE};
use crate::driver::{Answer, Driver};
use crate::memory::Kind;
use crate::stream::NULL;
use crate::work::{Place, Work};

impl Driver {
    /// A range of `count` elements of `size` bytes, if it is there.
    fn range(&self, start: u64, count: usize, size: u64) -> Result<Range<u64>, Code> {
        let bytes = (count as u64).checked_mul(size).ok_or(INVALID_VALUE)?;
        let range = start..start.checked_add(bytes).ok_or(INVALID_VALUE)?;
        if self.memory.has(&range) { Ok(range) } else { Err(INVALID_VALUE) }
    }

    fn memset(&mut self, start: u64, count: usize, size: u64, word: [u8; 4], stream: usize) -> Answer {
        if count == 0 {
            return Ok(());
        }
        let range = self.range(start, count, size)?;
        self.submit(stream, Work::Memset(range, word))
    }

    fn copy(&mut self, to: Place, from: Place, count: usize, stream: usize) -> Answer {
        if count == 0 {
            return Ok(());
        }
        for place in [to, from] {
            if let Place::Device(start) = place {
                self.range(start, count, 1)?;
            }
        }
        self.submit(stream, Work::Copy { to, from, bytes: count as u64 })
    }

    fn copy_now(&mut self, to: Place, from: Place, count: usize) -> Answer {
        self.copy(to, from, count, NULL)?;
        self.wait_for(NULL)
    }

    /// The place that an address alone names.
    fn place(&self, address: u64) -> Place {
        match self.memory.kind(address) {
            Some(Kind::Device | Kind::Managed) => Place::Device(address),
            Some(Kind::Pinned) | None => Place::Host(address as usize),
        }
    }
}

fn pair(half: u16) -> [u8; 4] {
    let [low, high] = half.to_le_bytes();
    [low, high, low, high]
}

exports! {
    fn cuMemcpy(driver, to: u64, from: u64, bytes: usize) {
        let (to, from) = (driver.place(to), driver.place(from));
        driver.copy_now(to, from, bytes)
    }

    fn cuMemcpyAsync(driver, to: u64, from: u64, bytes: usize, stream: usize) {
        let (to, from) = (driver.place(to), driver.place(from));
        driver.copy(to, from, bytes, stream)
    }

    fn cuMemcpyHtoD_v2(driver, to: u64, from: usize, bytes: usize) {
        driver.copy_now(Place::Device(to), Place::Host(from), bytes)
    }

    fn cuMemcpyDtoH_v2(driver, to: usize, from: u64, bytes: usize) {
        driver.copy_now(Place::Host(to), Place::Device(from), bytes)
    }

    fn cuMemcpyDtoD_v2(driver, to: u64, from: u64, bytes: usize) {
        driver.copy_now(Place::Device(to), Place::Device(from), bytes)
    }

    fn cuMemcpyHtoDAsync_v2(driver, to: u64, from: usize, bytes: usize, stream: usize) {
        driver.copy(Place::Device(to), Place::Host(from), bytes, stream)
    }

    fn cuMemcpyDtoHAsync_v2(driver, to: usize, from: u64, bytes: usize, stream: usize) {
        driver.copy(Place::Host(to), Place::Device(from), bytes, stream)
    }

    fn cuMemcpyDtoDAsync_v2(driver, to: u64, from: u64, bytes: usize, stream: usize) {
        driver.copy(Place::Device(to), Place::Device(from), bytes, stream)
    }

    fn cuMemsetD8_v2(driver, start: u64, byte: u8, count: usize) { driver.memset(start, count, 1, [byte; 4], NULL) }

    fn cuMemsetD16_v2(driver, start: u64, half: u16, count: usize) { driver.memset(start, count, 2, pair(half), NULL) }

    fn cuMemsetD32_v2(driver, start: u64, word: u32, count: usize) {
        driver.memset(start, count, 4, word.to_le_bytes(), NULL)
    }

    fn cuMemsetD8Async(driver, start: u64, byte: u8, count: usize, stream: usize) {
        driver.memset(start, count, 1, [byte; 4], stream)
    }

    fn cuMemsetD16Async(driver, start: u64, half: u16, count: usize, stream: usize) {
        driver.memset(start, count, 2, pair(half), stream)
    }

    fn cuMemsetD32Async(driver, start: u64, word: u32, count: usize, stream: usize) {
        driver.memset(start, count, 4, word.to_le_bytes(), stream)
    }
}
