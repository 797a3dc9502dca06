//! Which flush of the last-level cache evicts what it held, and leaves no lines to be written back.
//!
//! A submission holds: the launch, untimed, so that its memory was just touched; the flush, timed; the same launch, timed. A pass of one
//! workgroup stands before and behind the flush. All passes bind a common `result`, and that one the flush's memory too, so that wgpu puts
//! a barrier between any two of them, and none begins before the one before it has ended.
//!
//! Options: `--adapter 0 --cache-mib 60 --sizes-mib 16,40,256 --samples 60`.

use wgpu::{Buffer, CommandEncoder};
use wgpu_peer::kernel::{Checks, Kernel, grid};
use wgpu_peer::stamps::Stamps;
use wgpu_peer::{Failure, Gpu, OF_SUITE, median, options};

const SHADERS: &str = include_str!("flushes.wgsl");
/// The bytes that a workgroup moves.
const OF_WORKGROUP: u64 = 256 * 4 * 16;
const MOST_IN_X: u64 = 32_768;
const WARM_UP: usize = 5;
const NAMES: [&str; 6] = ["none", "clear", "write", "read", "wr+read", "read 4x"];

fn main() -> Result<(), Failure> {
    options::check(&["adapter", "cache-mib", "sizes-mib", "samples"])?;
    let cache = options::number("cache-mib", 60)? << 20;
    let sizes = options::numbers("sizes-mib", &[16, 40, 256])?;
    let samples = options::number("samples", 60)?.max(1) as usize;
    let gpu = Gpu::open()?;
    let flushes = Flushes::new(&gpu, cache)?;
    let mut stamps = Stamps::new(&gpu, 2 * (WARM_UP + samples))?;
    println!("{}\nA cache of {} MiB; medians of {samples}, in µs", gpu.name, cache >> 20);
    println!("clear, write: of the cache's size; read: of twice; wr+read: write, then read\n");
    print!("{:26}", "");
    NAMES.iter().for_each(|name| print!(" {name:>8}"));
    println!();
    let mut of_flushes: [Vec<f64>; 6] = Default::default();
    let mut row = |label: String, launch: &Kernel| -> Result<(), Failure> {
        print!("{label:26}");
        for (which, times) in of_flushes.iter_mut().enumerate() {
            let (flush, launch) = flushes.time(&mut stamps, which, launch, samples)?;
            times.extend(flush);
            print!(" {:8.2}", median(launch));
        }
        println!();
        Ok(())
    };
    let part = |quarters: u64| round(cache / 4 * quarters);
    let (quarter, large) = (Arrays::new(&flushes, part(1))?, Arrays::new(&flushes, part(3))?);
    row("read of 1/4 of the cache".to_owned(), &quarter.read)?;
    row("read of 3/4 of the cache".to_owned(), &large.read)?;
    drop((quarter, large));
    for mib in sizes {
        let arrays = Arrays::new(&flushes, round(mib << 20))?;
        row(format!("copy of {mib} MiB"), &arrays.copy)?;
        row(format!("fill of {mib} MiB"), &arrays.fill)?;
        row(format!("read of {mib} MiB"), &arrays.read)?;
    }
    print!("{:26}", "the flush itself");
    of_flushes.into_iter().for_each(|times| print!(" {:8.2}", median(times)));
    println!();
    Ok(())
}

/// Returns `size` in whole workgroups.
fn round(size: u64) -> u64 {
    size.next_multiple_of(OF_WORKGROUP)
}

/// The kernels that flush, and what they go over.
struct Flushes<'a> {
    gpu: &'a Gpu,
    result: Buffer,
    cache: u64,
    written: Buffer,
    write: Kernel,
    read: Kernel,
    read_more: Kernel,
    fence: Kernel,
}

impl<'a> Flushes<'a> {
    fn new(gpu: &'a Gpu, cache: u64) -> Result<Self, Failure> {
        let cache = round(cache);
        let result = gpu.buffer(16, OF_SUITE);
        let [written, small, large] = [cache, 2 * cache, 4 * cache].map(|size| gpu.buffer(size, OF_SUITE));
        let read = |x| kernel(gpu, "read_all", &[&result, &written, x]);
        let flushes = Self {
            write: kernel(gpu, "fill_all", &[&result, &written]),
            read: read(&small),
            read_more: read(&large),
            fence: Kernel::new(
                gpu,
                (SHADERS, "fence"),
                Checks::On,
                (&[result.as_entire_binding(), written.as_entire_binding()], 2),
                [1, 1],
            ),
            gpu,
            cache,
            written,
            result,
        };
        // What wgpu has zeroed may be stored compressed.
        for buffer in [&flushes.written, &small, &large] {
            flushes.submit(|encoder| {
                kernel(gpu, "fill_all", &[&flushes.result, buffer]).encode(encoder, None)
            })?;
        }
        Ok(flushes)
    }

    fn submit(&self, encode: impl FnOnce(&mut CommandEncoder)) -> Result<(), Failure> {
        let mut encoder = self.gpu.device.create_command_encoder(&Default::default());
        encode(&mut encoder);
        self.gpu.queue.submit([encoder.finish()]);
        self.gpu.wait()
    }

    /// Encodes the flush of this place in [`NAMES`].
    fn encode(&self, which: usize, encoder: &mut CommandEncoder) {
        match NAMES[which] {
            "clear" => encoder.clear_buffer(&self.written, 0, Some(self.cache)),
            "write" => self.write.encode(encoder, None),
            "read" => self.read.encode(encoder, None),
            "read 4x" => self.read_more.encode(encoder, None),
            "wr+read" => {
                self.write.encode(encoder, None);
                self.read.encode(encoder, None);
            }
            _ => {}
        }
    }

    /// Returns the times of the flush, and of `launch` behind it.
    fn time(
        &self,
        stamps: &mut Stamps<'_>,
        which: usize,
        launch: &Kernel,
        samples: usize,
    ) -> Result<(Vec<f64>, Vec<f64>), Failure> {
        for _ in 0..WARM_UP + samples {
            self.submit(|encoder| {
                launch.encode(encoder, None);
                self.fence.encode(encoder, None);
                stamps.around(encoder, |encoder| self.encode(which, encoder));
                self.fence.encode(encoder, None);
                launch.encode(encoder, Some(stamps.of_pass()));
            })?;
        }
        let times = stamps.take()?;
        let each = |at: usize| times.iter().skip(2 * WARM_UP + at).step_by(2).copied().collect();
        Ok((each(0), each(1)))
    }
}

/// Two arrays with kernels on them. `x` is read, and holds what `fill_all` writes.
struct Arrays {
    copy: Kernel,
    fill: Kernel,
    read: Kernel,
}

impl Arrays {
    fn new(flushes: &Flushes<'_>, size: u64) -> Result<Self, Failure> {
        let (gpu, result) = (flushes.gpu, &flushes.result);
        let [y, x] = [(); 2].map(|()| gpu.buffer(size, OF_SUITE));
        flushes.submit(|encoder| kernel(gpu, "fill_all", &[result, &x]).encode(encoder, None))?;
        Ok(Self {
            copy: kernel(gpu, "copy_all", &[result, &y, &x]),
            fill: kernel(gpu, "fill_all", &[result, &y]),
            read: kernel(gpu, "read_all", &[result, &flushes.written, &x]),
        })
    }
}

/// Compiles `entry` for buffers of which the last is what it goes over.
fn kernel(gpu: &Gpu, entry: &str, buffers: &[&Buffer]) -> Kernel {
    let size = buffers.last().map_or(0, |last| last.size());
    let bound: Vec<_> = buffers.iter().map(|buffer| buffer.as_entire_binding()).collect();
    Kernel::new(gpu, (SHADERS, entry), Checks::On, (&bound, 2), grid(size / OF_WORKGROUP, MOST_IN_X))
}
