//! Launches that reach one limit of a GPU: of its memory, its L2 or its multiprocessors. The sources and PTX
//! of the kernels are in `kernels/`.

use gpubench_driver::sys;

use super::super::device_info;
use super::super::driver::{DeviceMemory, current_device};
use super::super::kernels::{LoadedKernel, Module};
use crate::{device::DeviceError, devices::cuda::RawStream};
use gpubench_core::Counts;

/// The kernels that every GPU can run.
const PEAKS_PTX: &str = include_str!("../kernels/ceilings.ptx");
/// The kernels that need compute capability 8.0.
const PEAKS_80_PTX: &str = include_str!("../kernels/ceilings_80.ptx");

/// The shape of a kernel that moves bytes.
struct Mover {
    /// The threads of a block.
    threads: u32,
    /// The number of 16-byte moves that each thread has in flight.
    batch: u64,
}

/// The shape of the kernel that reads.
const READ_MOVER: Mover = Mover { threads: 256, batch: 4 };
/// The shape of the kernels that write or copy.
const WRITE_MOVER: Mover = Mover { threads: 1024, batch: 2 };
/// The bytes of a chunk (32 KiB), a multiple of the bytes that a block moves at once. Each moved size is a
/// multiple of a chunk.
const CHUNK_BYTES: u64 = 32 << 10;
/// The bytes that a launch moves through the memory or within the L2 (4 GiB): enough that neither the start
/// of the launch nor the contents of the L2 matter. A launch through the memory moves an eighth of the memory
/// of the GPU if that is less.
const MOST_MOVED_BYTES: u64 = 4 << 30;
/// Launches within the L2 sweep a buffer of the size of the L2 divided by this, so that all of the buffer
/// stays in the L2.
const CACHE_SIZE_DIVISOR: u64 = 2;
/// The number of threads per multiprocessor in launches within the L2. The blocks of such a launch all fit on
/// the multiprocessors at once.
const MOVING_THREADS_PER_SM: u32 = 1024;
/// The 32-bit word that launches write, and that the sources of reads and copies are filled with.
const WRITTEN_WORD: u32 = 0x3f80_1234;

impl Mover {
    /// Returns the grid, as blocks and threads per block, that moves `bytes` in one pass: each thread moves
    /// one batch.
    fn grid_of_one_pass(&self, bytes: u64) -> (u32, u32) {
        ((bytes / (u64::from(self.threads) * self.batch * 16)) as u32, self.threads)
    }

    /// Returns the grid, as blocks and threads per block, whose blocks all run at once on this number of
    /// multiprocessors.
    fn resident_grid(&self, multiprocessors: u32) -> (u32, u32) {
        (MOVING_THREADS_PER_SM / self.threads * multiprocessors, self.threads)
    }
}

/// The threads of a block that computes.
const COMPUTE_THREADS_PER_BLOCK: u32 = 256;
/// The number of computing blocks per multiprocessor: as many as its registers allow at once.
const COMPUTE_BLOCKS_PER_SM: u32 = 2;
/// The threads of a warp.
const THREADS_PER_WARP: u64 = 32;
/// The multiply-add instructions of a thread in one step of a compute kernel.
const MULTIPLY_ADDS_PER_STEP: u64 = 128;
/// The tile multiplications (`mma.sync` instructions) of a warp in one step of a kernel for tensor cores.
const TILES_PER_STEP: u64 = 32;

/// A launch that reaches a limit of the GPU.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PeakLaunch {
    /// The name of the benchmark. The kernel of a compute limit is named `gpubench_ceiling_NAME`.
    pub name: &'static str,
    /// The limit it reaches.
    pub limit: PeakLimit,
}

/// The limit that a launch reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PeakLimit {
    /// The bandwidth of the memory, by reads.
    Read,
    /// The bandwidth of the memory, by writes.
    Write,
    /// The bandwidth of the memory, by equal reads and writes.
    Copy,
    /// The bandwidth of the L2, by reads.
    CacheRead,
    /// The bandwidth of the L2, by writes.
    CacheWrite,
    /// The compute rate of the multiprocessors.
    Compute {
        /// The data type, as `data_type = "…"` names it.
        data_type: &'static str,
        /// The floating-point operations of one instruction.
        flops: u64,
        /// The number of steps of the launch. They take about a millisecond on a GPU that is made for this
        /// data type.
        steps: u64,
    },
}

impl PeakLimit {
    /// Returns true if the launch computes on tensor cores.
    pub(crate) fn uses_tensor_cores(self) -> bool {
        matches!(self, Self::Compute { data_type, .. } if data_type.ends_with(" tensor"))
    }

    /// Returns true if the launch needs instructions of compute capability 8.0.
    pub(crate) fn needs_8_0(self) -> bool {
        self.uses_tensor_cores() || matches!(self, Self::Compute { data_type: "bf16", .. })
    }
}

/// Returns a launch that reaches the compute limit of a data type. `flops` is the number of operations of an
/// instruction, `steps` the number of steps of the launch.
const fn compute_launch(name: &'static str, data_type: &'static str, flops: u64, steps: u64) -> PeakLaunch {
    PeakLaunch { name, limit: PeakLimit::Compute { data_type, flops, steps } }
}

/// The launches for all limits. A multiply-add counts as two operations. An instruction does one or two
/// multiply-adds, or multiplies two tiles.
pub(crate) const PEAK_LAUNCHES: [PeakLaunch; 13] = [
    PeakLaunch { name: "read", limit: PeakLimit::Read },
    PeakLaunch { name: "write", limit: PeakLimit::Write },
    PeakLaunch { name: "copy", limit: PeakLimit::Copy },
    PeakLaunch { name: "l2_read", limit: PeakLimit::CacheRead },
    PeakLaunch { name: "l2_write", limit: PeakLimit::CacheWrite },
    compute_launch("f64", "f64", 2, 2000),
    compute_launch("f32", "f32", 2, 4000),
    compute_launch("f16", "f16", 2 * 2, 4000),
    compute_launch("bf16", "bf16", 2 * 2, 4000),
    compute_launch("f64_tensor", "f64 tensor", 2 * 8 * 8 * 4, 1000),
    compute_launch("tf32_tensor", "tf32 tensor", 2 * 16 * 8 * 8, 2000),
    compute_launch("f16_tensor", "f16 tensor", 2 * 16 * 8 * 16, 2000),
    compute_launch("bf16_tensor", "bf16 tensor", 2 * 16 * 8 * 16, 2000),
];

/// A launch that is ready to be enqueued, with its kernel and its buffers.
pub(crate) struct ReadyLaunch {
    kernel: LoadedKernel,
    /// The blocks, and the threads per block.
    grid: (u32, u32),
    /// The arguments; the kernel may have fewer parameters.
    arguments: [u64; 4],
    /// The bytes or operations of one launch.
    pub work: Counts,
    /// The buffers of the launch. If the launch writes, the last one is the output.
    buffers: Vec<DeviceMemory>,
}

impl PeakLaunch {
    /// Loads the kernel and allocates the buffers of the launch, on the GPU of the current context.
    pub(crate) fn prepare(&self) -> Result<ReadyLaunch, DeviceError> {
        let device = current_device()?;
        let multiprocessors =
            device_info::attribute(device, sys::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)? as u32;
        let memory = MOST_MOVED_BYTES.min(device_info::memory_size(device)? / 8) / CHUNK_BYTES * CHUNK_BYTES;
        let cache = device_info::attribute(device, sys::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?
            / CACHE_SIZE_DIVISOR
            / CHUNK_BYTES
            * CHUNK_BYTES;
        let cache = cache.max(CHUNK_BYTES);
        // Repeats the sweep, so that the launch lasts long enough.
        let sweeps = (MOST_MOVED_BYTES / cache).max(1);
        match self.limit {
            PeakLimit::Read => prepare_read(READ_MOVER.grid_of_one_pass(memory), memory, 1),
            PeakLimit::CacheRead => prepare_read(READ_MOVER.resident_grid(multiprocessors), cache, sweeps),
            PeakLimit::Write => prepare_write(WRITE_MOVER.grid_of_one_pass(memory), memory, 1),
            PeakLimit::CacheWrite => prepare_write(WRITE_MOVER.resident_grid(multiprocessors), cache, sweeps),
            PeakLimit::Copy => {
                let (from, to) = (allocate_filled(memory, WRITTEN_WORD)?, allocate_filled(memory, 0)?);
                let arguments = [from.address(), to.address(), memory / 16, 0];
                let work = Counts { reads: Some(memory), writes: Some(memory), ..Counts::default() };
                let grid = WRITE_MOVER.grid_of_one_pass(memory);
                ReadyLaunch::load(PEAKS_PTX, "copy", grid, arguments, work, vec![from, to])
            }
            PeakLimit::Compute { flops, steps, .. } => {
                let grid = (COMPUTE_BLOCKS_PER_SM * multiprocessors, COMPUTE_THREADS_PER_BLOCK);
                let threads = u64::from(grid.0) * u64::from(grid.1);
                let instructions = if self.limit.uses_tensor_cores() {
                    threads / THREADS_PER_WARP * TILES_PER_STEP
                } else {
                    threads * MULTIPLY_ADDS_PER_STEP
                };
                let out = allocate_filled(8 * threads, 0)?;
                let work = Counts { flops: Some(instructions * steps * flops), ..Counts::default() };
                let module = if self.limit.needs_8_0() { PEAKS_80_PTX } else { PEAKS_PTX };
                ReadyLaunch::load(module, self.name, grid, [out.address(), steps, 0, 0], work, vec![out])
            }
        }
    }
}

/// Prepares a launch that reads a buffer of `bytes` bytes `sweeps` times.
fn prepare_read(grid: (u32, u32), bytes: u64, sweeps: u64) -> Result<ReadyLaunch, DeviceError> {
    let (from, sink) = (allocate_filled(bytes, WRITTEN_WORD)?, allocate_filled(CHUNK_BYTES, 0)?);
    let arguments = [from.address(), bytes / 16, sweeps, sink.address()];
    let work = Counts { reads: Some(sweeps * bytes), ..Counts::default() };
    ReadyLaunch::load(PEAKS_PTX, "read", grid, arguments, work, vec![from, sink])
}

/// Prepares a launch that writes a buffer of `bytes` bytes `sweeps` times.
fn prepare_write(grid: (u32, u32), bytes: u64, sweeps: u64) -> Result<ReadyLaunch, DeviceError> {
    let to = allocate_filled(bytes, 0)?;
    let arguments = [to.address(), bytes / 16, sweeps, WRITTEN_WORD.into()];
    let work = Counts { writes: Some(sweeps * bytes), ..Counts::default() };
    ReadyLaunch::load(PEAKS_PTX, "write", grid, arguments, work, vec![to])
}

impl ReadyLaunch {
    /// Loads the kernel `gpubench_ceiling_NAME` from `ptx`, where NAME is `name`, and returns its launch.
    /// Each of the arguments has 64 bits.
    fn load(
        ptx: &str,
        name: &str,
        grid: (u32, u32),
        arguments: [u64; 4],
        work: Counts,
        buffers: Vec<DeviceMemory>,
    ) -> Result<Self, DeviceError> {
        let kernel = Module::load(ptx)?.find(&format!("gpubench_ceiling_{name}"))?;
        Ok(Self { kernel, grid, arguments, work, buffers })
    }

    /// Enqueues one launch on `stream`. Does not wait.
    pub(crate) fn launch(&self, stream: &RawStream) -> Result<(), DeviceError> {
        // SAFETY: these are the kernel's parameters, each of 64 bits; what they point at are the buffers, as
        // large as they say, which live as long as the case.
        Ok(unsafe { self.kernel.launch(self.grid, stream.stream().cast(), self.arguments) }?)
    }

    /// Returns an error if the first or the last chunk of the output contains another word than
    /// [`WRITTEN_WORD`]. Accepts a launch that writes nothing.
    pub(crate) fn check(&self) -> Result<(), DeviceError> {
        let Some(written) = self.buffers.last().filter(|_| self.work.writes.is_some()) else { return Ok(()) };
        let end = (CHUNK_BYTES / 4) as usize;
        for first in [0, written.words() - end] {
            let mut words = vec![0; end];
            written.read("the written words", first, &mut words)?;
            if let Some(wrong) = words.iter().find(|word| **word != WRITTEN_WORD) {
                return Err(DeviceError::new(format!("{wrong:#x} was written, and not {WRITTEN_WORD:#x}")));
            }
        }
        Ok(())
    }
}

/// Allocates `bytes` bytes that are filled with the 32-bit word `word`.
fn allocate_filled(bytes: u64, word: u32) -> Result<DeviceMemory, DeviceError> {
    DeviceMemory::filled("memory for what is measured", bytes as usize / 4, word)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the counted work with the PTX: the number of instructions between the labels of its loop.
    #[test]
    fn every_kernel_does_in_a_step_what_is_counted() {
        for peak_launch in PEAK_LAUNCHES {
            let PeakLimit::Compute { data_type, flops, .. } = peak_launch.limit else { continue };
            let module = if peak_launch.limit.needs_8_0() { PEAKS_80_PTX } else { PEAKS_PTX };
            let entry = format!(".entry gpubench_ceiling_{}(", peak_launch.name);
            let (_, body) = module.split_once(&entry).unwrap_or_else(|| panic!("no {entry}"));
            let body = body.split(".entry").next().expect("there is a first part");
            let (instruction, expected, of_one) = match data_type {
                "f64" => ("fma.rn.f64", MULTIPLY_ADDS_PER_STEP, 2),
                "f32" => ("fma.rn.f32", MULTIPLY_ADDS_PER_STEP, 2),
                "f16" => ("fma.rn.f16x2", MULTIPLY_ADDS_PER_STEP, 4),
                "bf16" => ("fma.rn.bf16x2", MULTIPLY_ADDS_PER_STEP, 4),
                "f64 tensor" => ("m8n8k4.row.col.f64.f64.f64.f64", TILES_PER_STEP, 512),
                "tf32 tensor" => ("m16n8k8.row.col.f32.tf32.tf32.f32", TILES_PER_STEP, 2048),
                "f16 tensor" => ("m16n8k16.row.col.f32.f16.f16.f32", TILES_PER_STEP, 4096),
                "bf16 tensor" => ("m16n8k16.row.col.f32.bf16.bf16.f32", TILES_PER_STEP, 4096),
                other => panic!("{other} is not known here"),
            };
            assert_eq!(
                (body.matches(instruction).count() as u64, flops),
                (expected, of_one),
                "{}",
                peak_launch.name
            );
            // There is one loop, not unrolled any further, that contains all of them.
            let looped: Vec<&str> = body.split("$L__BB").filter(|part| part.contains(instruction)).collect();
            assert_eq!(looped.len(), 1, "{}", peak_launch.name);
            assert!(looped[0].contains("add.s32"), "{}: it counts its steps one by one", peak_launch.name);
        }
    }
}
