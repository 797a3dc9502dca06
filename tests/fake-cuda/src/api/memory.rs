//! Allocations of device memory, pinned and managed memory.

use crate::call::{Out, exports};
use crate::code::{Code, INVALID_VALUE, NOT_SUPPORTED};
use crate::driver::{Answer, Driver};
use crate::memory::Kind;
use crate::model::MEMORY_SIZE;
use crate::stream::named;
use crate::work::Work;

/// `CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL`
const DEVICE_ORDINAL: u32 = 9;
/// `CU_POINTER_ATTRIBUTE_DEVICE_POINTER`
const DEVICE_POINTER: u32 = 3;
/// `CU_POINTER_ATTRIBUTE_MEMORY_TYPE`, and the types of memory.
const MEMORY_TYPE: u32 = 2;
pub(super) const HOST: u32 = 1;
pub(super) const DEVICE: u32 = 2;

/// The handle of the first GPU's pool.
const POOL: usize = 0xb00;
/// `CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT` and `CU_MEMPOOL_ATTR_USED_MEM_CURRENT`.
const RESERVED_MEM_CURRENT: u32 = 5;
const USED_MEM_CURRENT: u32 = 7;

impl Driver {
    fn allocate(&mut self, bytes: usize, kind: Kind) -> Result<u64, Code> {
        self.refuse_while_capturing()?;
        self.memory.allocate(bytes as u64, kind)
    }

    fn release(&mut self, address: u64) -> Answer {
        if address == 0 {
            return Ok(());
        }
        self.refuse_while_capturing()?;
        let range = self.memory.release(address)?;
        self.l2.discard(range);
        Ok(())
    }

    /// Adds a node that allocates or frees, where the stream is captured.
    fn allocation_node(&mut self, stream: usize, node: Work) -> Result<bool, Code> {
        let captured = self.stream(stream)?.capture.is_some();
        if captured {
            self.submit(named(stream), node)?;
        }
        Ok(captured)
    }
}

exports! {
    fn cuMemGetInfo_v2(driver, free: Out<usize>, total: Out<usize>) {
        free.set(driver.memory.free() as usize)?;
        total.set(MEMORY_SIZE as usize)
    }

    fn cuMemAlloc_v2(driver, address: Out<u64>, bytes: usize) { address.set(driver.allocate(bytes, Kind::Device)?) }

    fn cuMemFree_v2(driver, address: u64) { driver.release(address) }

    fn cuMemAllocManaged(driver, address: Out<u64>, bytes: usize, _flags: u32) {
        address.set(driver.allocate(bytes, Kind::Managed)?)
    }

    fn cuMemAllocHost_v2(driver, pointer: Out<u64>, bytes: usize) {
        pointer.set(driver.allocate(bytes, Kind::Pinned)?)
    }

    fn cuMemHostAlloc(driver, pointer: Out<u64>, bytes: usize, _flags: u32) {
        pointer.set(driver.allocate(bytes, Kind::Pinned)?)
    }

    fn cuMemFreeHost(driver, pointer: u64) { driver.release(pointer) }

    // While its stream is captured the memory is there at once, and stays: each replay of the graph uses it.
    fn cuMemAllocAsync(driver, address: Out<u64>, bytes: usize, stream: usize) {
        driver.allocation_node(stream, Work::Allocation)?;
        address.set(driver.memory.allocate_pooled(bytes as u64)?)
    }

    fn cuMemFreeAsync(driver, address: u64, stream: usize) {
        if driver.allocation_node(stream, Work::Free)? {
            return Ok(());
        }
        let range = driver.memory.release(address)?;
        driver.l2.discard(range);
        Ok(())
    }

    // Each GPU has one pool.
    fn cuDeviceGetDefaultMemPool(driver, pool: Out<usize>, device: i32) {
        if driver.config.gpus <= device as usize { Err(INVALID_VALUE) } else { pool.set(POOL + device as usize) }
    }

    fn cuDeviceGetMemPool(driver, pool: Out<usize>, device: i32) {
        if driver.config.gpus <= device as usize { Err(INVALID_VALUE) } else { pool.set(POOL + device as usize) }
    }

    // Of the current GPU's pool. What is used is all that is reserved.
    fn cuMemPoolGetAttribute(driver, pool: usize, attribute: u32, value: Out<u64>) {
        if pool != POOL + driver.ordinal {
            return Err(INVALID_VALUE);
        }
        match attribute {
            RESERVED_MEM_CURRENT | USED_MEM_CURRENT => value.set(driver.memory.pooled()),
            _ => Err(NOT_SUPPORTED),
        }
    }

    fn cuPointerGetAttribute(driver, value: usize, attribute: u32, address: u64) {
        let kind = driver.memory.kind(address).ok_or(INVALID_VALUE)?;
        if attribute == DEVICE_POINTER {
            return Out::<u64>::there(value).set(address);
        }
        Out::<u32>::there(value).set(match (attribute, kind) {
            (DEVICE_ORDINAL, Kind::Device) => driver.memory.gpu_of(address) as u32,
            (DEVICE_ORDINAL, _) => driver.ordinal as u32,
            (MEMORY_TYPE, Kind::Pinned) => HOST,
            (MEMORY_TYPE, Kind::Device | Kind::Managed) => DEVICE,
            _ => return Err(NOT_SUPPORTED),
        })
    }

    // Managed memory is the host's own, and stays where it is. While its stream is captured, the driver does not do it.
    fn cuMemPrefetchAsync(driver, address: u64, bytes: usize, _device: u32, stream: usize) {
        driver.refuse_if_captured(stream)?;
        if driver.memory.has(&(address..address + bytes as u64)) { Ok(()) } else { Err(INVALID_VALUE) }
    }
}
