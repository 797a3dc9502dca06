//! The driver, its devices and their primary contexts.

use std::ffi::{c_char, c_int};

use crate::call::{Out, exports};
use crate::code::{
    Code, INVALID_CONTEXT, INVALID_DEVICE, INVALID_VALUE, PEER_ACCESS_ALREADY_ENABLED,
    PEER_ACCESS_UNSUPPORTED, known,
};
use crate::driver::{
    Answer, CONTEXTS_APART, Driver, PRIMARY, create, created, ordinal_of, primary, with_contexts,
};
use crate::model::MEMORY_SIZE;

/// The number of the one limit that it has: how much of the L2 may be kept.
const PERSISTING_L2: u32 = 6;

const NAME: &str = "NVIDIA H200";

/// The attributes of the device that are not 0, each its number and its value, as an H200 returns them.
const ATTRIBUTES: [(c_int, c_int); 32] = [
    (1, 1024), // threads of a block
    (2, 1024), // in each direction
    (3, 1024),
    (4, 64),
    (5, c_int::MAX), // blocks in each direction
    (6, 65_535),
    (7, 65_535),
    (8, 49_152),      // shared memory of a block
    (9, 65_536),      // constant memory
    (10, 32),         // threads of a warp
    (11, c_int::MAX), // pitch
    (12, 65_536),     // registers of a block
    (13, 1_980_000),  // clock in kHz
    (14, 512),        // alignment of textures
    (15, 1),          // copies beside kernels
    (16, 132),        // multiprocessors
    (19, 1),          // maps memory of the host
    (31, 1),          // concurrent kernels
    (32, 1),          // ECC
    (36, 3_201_000),  // memory clock in kHz
    (37, 6016),       // bus in bits
    (39, 2048),       // threads of a multiprocessor
    (40, 3),          // copy engines
    (41, 1),          // unified addresses
    (78, 1),          // stream priorities
    (81, 233_472),    // shared memory of a multiprocessor
    (82, 65_536),     // registers of a multiprocessor
    (83, 1),          // managed memory
    (89, 1),          // concurrent managed access
    (95, 1),          // cooperative launches
    (97, 232_448),    // shared memory of a block that asks for it
    (115, 1),         // memory pools
];
const SIZE_OF_L2: c_int = 38;
const CAPABILITY_MAJOR: c_int = 75;
const CAPABILITY_MINOR: c_int = 76;
/// The clock, the memory's clock and its bus, which a virtual GPU does not tell.
const HIDDEN: [c_int; 3] = [13, 36, 37];
/// The last number that this version of the interface gives an attribute.
const LAST_ATTRIBUTE: c_int = 147;

impl Driver {
    /// The device with this number, if it is there.
    fn device(&self, device: c_int) -> Result<usize, Code> {
        let device = usize::try_from(device).ok().filter(|device| *device < self.config.gpus);
        device.filter(|device| !self.config.broken.contains(device)).ok_or(INVALID_DEVICE)
    }

    /// Refuses what is the primary context of no device.
    fn refuse_strange(&self, context: usize) -> Answer {
        let (ordinal, number) = (ordinal_of(context), context.saturating_sub(PRIMARY) / CONTEXTS_APART);
        let known = context >= PRIMARY && ordinal < self.config.gpus && number <= created();
        if known { Ok(()) } else { Err(INVALID_CONTEXT) }
    }
}

exports! {
    fn cuInit(driver, flags: u32) {
        if flags != 0 {
            return Err(INVALID_VALUE);
        }
        if let Some(init) = driver.config.init {
            init.end();
        }
        driver.initialised = true;
        Ok(())
    }

    fn cuDriverGetVersion(driver, version: Out<c_int>) { version.set(driver.config.driver) }

    fn cuGetErrorName(driver, code: u32, name: Out<*const c_char>) {
        let Some((known, _)) = known(code) else { return name.set(std::ptr::null()).and(Err(INVALID_VALUE)) };
        name.set(known.as_ptr())
    }

    fn cuGetErrorString(driver, code: u32, text: Out<*const c_char>) {
        let Some((_, known)) = known(code) else { return text.set(std::ptr::null()).and(Err(INVALID_VALUE)) };
        text.set(known.as_ptr())
    }

    fn cuDeviceGetCount(driver, count: Out<c_int>) { count.set(driver.config.gpus as c_int) }

    fn cuDeviceGet(driver, device: Out<c_int>, ordinal: c_int) {
        driver.device(ordinal)?;
        device.set(ordinal)
    }

    fn cuDeviceGetName(driver, name: Out<c_char>, length: c_int, device: c_int) {
        driver.device(device)?;
        name.text(NAME, length.max(0) as usize)
    }

    fn cuDeviceGetUuid(driver, uuid: Out<[u8; 16]>, device: c_int) {
        let device = driver.device(device)?;
        uuid.set(driver.config.uuid(device))
    }

    fn cuDeviceGetUuid_v2(driver, uuid: Out<[u8; 16]>, device: c_int) {
        let device = driver.device(device)?;
        uuid.set(driver.config.uuid(device))
    }

    fn cuDeviceTotalMem_v2(driver, bytes: Out<usize>, device: c_int) {
        driver.device(device)?;
        bytes.set(MEMORY_SIZE as usize)
    }

    fn cuDeviceGetAttribute(driver, value: Out<c_int>, attribute: c_int, device: c_int) {
        driver.device(device)?;
        if !(1..=LAST_ATTRIBUTE).contains(&attribute) {
            return Err(INVALID_VALUE);
        }
        let found = ATTRIBUTES.iter().find(|(number, _)| *number == attribute);
        let told = found.map_or(0, |(_, value)| *value);
        value.set(match attribute {
            SIZE_OF_L2 => driver.config.l2 as c_int,
            CAPABILITY_MAJOR => (driver.config.capability / 10) as c_int,
            CAPABILITY_MINOR => (driver.config.capability % 10) as c_int,
            _ if driver.config.hides && HIDDEN.contains(&attribute) => 0,
            _ => told,
        })
    }

    fn cuDevicePrimaryCtxRetain(driver, context: Out<usize>, device: c_int) {
        context.set(primary(driver.device(device)?))
    }

    fn cuDevicePrimaryCtxRelease_v2(driver, device: c_int) { driver.device(device).map(drop) }

    fn cuDevicePrimaryCtxSetFlags_v2(driver, device: c_int, _flags: u32) { driver.device(device).map(drop) }

    fn cuDevicePrimaryCtxGetState(driver, device: c_int, flags: Out<u32>, active: Out<c_int>) {
        driver.device(device)?;
        flags.set(0)?;
        active.set(1)
    }

    // GPUs with links reach each other.
    fn cuDeviceCanAccessPeer(driver, reaches: Out<c_int>, device: c_int, peer: c_int) {
        let (device, peer) = (driver.device(device)?, driver.device(peer)?);
        reaches.set(c_int::from(device != peer && driver.config.nvlinks > 0))
    }

    fn cuCtxEnablePeerAccess(driver, context: usize, flags: u32) {
        driver.refuse_strange(context)?;
        let peer = ordinal_of(context);
        if flags != 0 || driver.config.nvlinks == 0 || peer == driver.ordinal {
            return Err(PEER_ACCESS_UNSUPPORTED);
        }
        if driver.reaches.contains(&peer) {
            return Err(PEER_ACCESS_ALREADY_ENABLED);
        }
        driver.reaches.push(peer);
        Ok(())
    }

    // Another context of a GPU: a handle of its own over the same memory, streams and modules.
    fn cuCtxCreate_v2(driver, context: Out<usize>, _flags: u32, device: c_int) {
        let created = create(driver.device(device)?);
        with_contexts(|contexts| contexts.push(created));
        context.set(created)
    }

    fn cuCtxDestroy_v2(driver, context: usize) {
        driver.refuse_strange(context)?;
        with_contexts(|contexts| contexts.retain(|other| *other != context));
        Ok(())
    }

    fn cuCtxSetFlags(driver, _flags: u32) { Ok(()) }

    fn cuCtxPushCurrent_v2(driver, context: usize) {
        driver.refuse_strange(context)?;
        with_contexts(|contexts| contexts.push(context));
        Ok(())
    }

    fn cuCtxPopCurrent_v2(driver, context: Out<usize>) {
        let popped = with_contexts(Vec::pop).ok_or(INVALID_CONTEXT)?;
        context.offer(popped);
        Ok(())
    }

    fn cuCtxSetCurrent(driver, context: usize) {
        if context != 0 {
            driver.refuse_strange(context)?;
        }
        with_contexts(|contexts| {
            contexts.pop();
            if context != 0 {
                contexts.push(context);
            }
        });
        Ok(())
    }

    fn cuCtxGetCurrent(driver, context: Out<usize>) {
        context.set(with_contexts(|contexts| contexts.last().copied().unwrap_or(0)))
    }

    fn cuCtxGetDevice(driver, device: Out<c_int>) { device.set(driver.ordinal as c_int) }

    fn cuCtxGetApiVersion(driver, _context: usize, version: Out<u32>) { version.set(3020) }

    fn cuCtxGetFlags(driver, flags: Out<u32>) { flags.set(0) }

    fn cuCtxGetStreamPriorityRange(driver, least: Out<c_int>, greatest: Out<c_int>) {
        least.offer(0);
        greatest.offer(-5);
        Ok(())
    }

    fn cuCtxGetLimit(driver, value: Out<usize>, limit: u32) {
        if limit != PERSISTING_L2 {
            return Err(INVALID_VALUE);
        }
        value.set(driver.persisting)
    }

    fn cuCtxSetLimit(driver, limit: u32, value: usize) {
        if limit != PERSISTING_L2 {
            return Err(INVALID_VALUE);
        }
        driver.refuse_while_capturing()?;
        driver.persisting = value;
        Ok(())
    }

    fn cuCtxResetPersistingL2Cache(driver) { Ok(()) }

    fn cuCtxSynchronize(driver) {
        driver.refuse_while_capturing()?;
        driver.wait_for_all()
    }
}
