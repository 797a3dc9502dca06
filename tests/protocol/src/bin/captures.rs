//! Launches that a graph may stand for, and launches that it may not: what each puts on its stream beside kernels.

#![expect(unsafe_code, reason = "launches kernels and copies asynchronously")]

use std::cell::RefCell;

use cust::error::CudaResult;
use cust::launch;
use cust::memory::{AsyncCopyDestination, CopyDestination, DeviceBuffer, LockedBuffer, UnifiedBuffer};
use cust::module::Module;
use cust::stream::Stream;
use gpubench::gpu_bench;

const PTX: &str = "
.version 7.0
.target sm_70
.address_size 64
.visible .entry fill(.param .f32 a, .param .u64 y, .param .u64 n) { ret; }
.visible .entry rmw(.param .f32 a, .param .u64 y, .param .u64 n) { ret; }";

const N: usize = 1 << 12;

fn load() -> CudaResult<Module> {
    Module::from_ptx(PTX, &[])
}

fn device(word: u32) -> CudaResult<DeviceBuffer<u32>> {
    DeviceBuffer::from_slice(&[word; N])
}

/// The host reads what the device wrote, at the same address.
#[gpu_bench(
    setup = Ok((load()?, UnifiedBuffer::new(&0_f32, N)?)),
    writes = 4 * N,
    check = |_module, y| assert!(y.iter().all(|y| *y == 0.5), "{:?}", &y[..4]),
)]
fn writes_managed_memory(module: &Module, y: &mut UnifiedBuffer<f32>, stream: &Stream) -> CudaResult<()> {
    let (y, n) = (y.as_unified_ptr(), y.len() as u64);
    // SAFETY: the kernel takes these parameters, and writes what the buffer has.
    unsafe { launch!(module.fill<<<4, 256, 0, stream>>>(0.5_f32, y, n)) }
}

/// Adds to managed memory, beside device memory that gpubench restores.
#[gpu_bench(
    setup = Ok((load()?, DeviceBuffer::zeroed(N)?, UnifiedBuffer::new(&0_f32, N)?)),
    check = |_module, _x, y| assert!(y.iter().all(|y| *y == 0.5), "{:?}", &y[..4]),
)]
fn adds_to_managed_memory(
    module: &Module,
    x: &mut DeviceBuffer<f32>,
    y: &mut UnifiedBuffer<f32>,
    stream: &Stream,
) -> CudaResult<()> {
    // SAFETY: as above.
    unsafe {
        launch!(module.fill<<<4, 256, 0, stream>>>(0.5_f32, x.as_device_ptr(), N as u64))?;
        launch!(module.rmw<<<4, 256, 0, stream>>>(0.5_f32, y.as_unified_ptr(), N as u64))
    }
}

/// Its check copies the output to pinned memory, which launches can reach.
#[gpu_bench(
    setup = Ok((load()?, DeviceBuffer::zeroed(N)?, RefCell::new(LockedBuffer::new(&0_f32, N)?))),
    check = |_module, y, copied| {
        y.copy_to(&mut copied.borrow_mut()[..])?;
        assert!(copied.borrow().iter().all(|y| *y == 0.5));
        Ok(())
    },
)]
fn is_checked_in_pinned_memory(
    module: &Module,
    y: &mut DeviceBuffer<f32>,
    _copied: &RefCell<LockedBuffer<f32>>,
    stream: &Stream,
) -> CudaResult<()> {
    // SAFETY: as above.
    unsafe { launch!(module.fill<<<4, 256, 0, stream>>>(0.5_f32, y.as_device_ptr(), N as u64)) }
}

/// Two kernels, one after the other.
#[gpu_bench(setup = Ok((load()?, DeviceBuffer::zeroed(N)?)))]
fn launches_two_kernels(module: &Module, y: &mut DeviceBuffer<f32>, stream: &Stream) -> CudaResult<()> {
    // SAFETY: as above.
    unsafe {
        launch!(module.fill<<<4, 256, 0, stream>>>(0.5_f32, y.as_device_ptr(), N as u64))?;
        launch!(module.fill<<<4, 256, 0, stream>>>(0.25_f32, y.as_device_ptr(), N as u64))
    }
}

#[gpu_bench(
    setup = Ok((LockedBuffer::new(&7_u32, N)?, device(0)?)),
    bytes = 4 * N,
    check = |_x, y| { assert_eq!(y.as_host_vec()?, [7; N]); Ok(()) },
)]
fn copies_pinned_memory(x: &LockedBuffer<u32>, y: &mut DeviceBuffer<u32>, stream: &Stream) -> CudaResult<()> {
    // SAFETY: both outlive the case, and nobody writes them meanwhile.
    unsafe { y.async_copy_from(x, stream) }
}

#[gpu_bench(setup = Ok((device(7)?, device(0)?)), bytes = 8 * N)]
fn copies_on_the_device(x: &DeviceBuffer<u32>, y: &mut DeviceBuffer<u32>, stream: &Stream) -> CudaResult<()> {
    // SAFETY: as above.
    unsafe { y.async_copy_from(x, stream) }
}

#[gpu_bench(setup = device(0))]
fn sets_memory(y: &mut DeviceBuffer<u32>, stream: &Stream) -> CudaResult<()> {
    // SAFETY: nobody reads it meanwhile.
    unsafe { y.set_8_async(1, stream) }
}

#[gpu_bench(setup = Ok((vec![7_u32; N], device(0)?)))]
fn copies_pageable_memory(x: &Vec<u32>, y: &mut DeviceBuffer<u32>, stream: &Stream) -> CudaResult<()> {
    // SAFETY: as above.
    unsafe { y.async_copy_from(x, stream) }
}

#[gpu_bench(setup = Ok((device(7)?, vec![0_u32; N])), check = |_x, y| assert_eq!(y, &[7; N]))]
fn copies_to_pageable_memory(x: &DeviceBuffer<u32>, y: &mut Vec<u32>, stream: &Stream) -> CudaResult<()> {
    // SAFETY: as above.
    unsafe { x.async_copy_to(y, stream) }
}

#[gpu_bench]
fn calls_the_host(stream: &Stream) -> CudaResult<()> {
    stream.add_callback(Box::new(|| {}))
}

#[gpu_bench]
fn allocates(stream: &Stream) -> CudaResult<()> {
    // SAFETY: no other code reads it.
    unsafe { DeviceBuffer::<u32>::uninitialized_async(N, stream) }?.drop_async(stream)
}

/// Refused while it is captured, as synchronising is.
#[gpu_bench(setup = load)]
fn allocates_at_once(_module: &Module, _stream: &Stream) -> CudaResult<()> {
    device(1).map(drop)
}

gpubench::main!();
