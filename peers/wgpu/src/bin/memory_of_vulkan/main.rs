//! Whether memory, robust accesses or machine code make Vulkan's `fill` slower than CUDA's: the suite's shape
//! by Vulkan without wgpu, with one difference at a time, and CUDA's kernel on memory that Vulkan allocated.
//!
//! Options: `--adapter 0 --sizes-mib 256,1024 --launches 100 --dump FOLDER` (writes what the driver tells of the machine code).

use std::path::Path;

use wgpu_peer::variants::{SUITE, Shape, Work};
use wgpu_peer::{Failure, options};

use crate::cuda::Cuda;
use crate::memory::{Allocation, Array};
use crate::vulkan::{Kind, Vulkan};

mod cuda;
mod executables;
mod memory;
mod vulkan;

const PLAIN: Allocation = Allocation { memory_type: None, dedicated: false, exported: false };
const AS_WGPU: Kind = Kind { robust: true, compute_alone: false };
const NOT_ROBUST: Kind = Kind { robust: false, compute_alone: false };
const DIFFER: Shape = Shape { values_differ: true, ..SUITE };
/// The columns.
const WORKS: [(Shape, Work); 4] =
    [(SUITE, Work::Fill), (DIFFER, Work::Fill), (SUITE, Work::Read), (SUITE, Work::Copy)];

fn main() -> Result<(), Failure> {
    options::check(&["adapter", "sizes-mib", "launches", "dump"])?;
    let number = options::number("adapter", 0)? as usize;
    let sizes = options::numbers("sizes-mib", &[256, 1024])?;
    let launches = options::number("launches", 100)?.max(1) as usize;
    let cuda = Cuda::open();
    if let Err(error) = &cuda {
        println!("No CUDA here: {error}");
    }
    let cuda = cuda.ok();
    {
        let vulkan = Vulkan::open(number, AS_WGPU)?;
        for (at, flags) in vulkan.local_types() {
            println!("memory type {at}: {flags:?}");
        }
        if let Some(folder) = options::text("dump") {
            dump(number, Path::new(&folder))?;
        }
    }
    println!("Medians of {launches}, in µs");
    for mib in sizes {
        let title = format!("{mib} MiB");
        println!("\n{title:<38} {:>9} {:>9} {:>9} {:>9}", "fill", "differing", "read", "copy");
        Table { number, size: mib << 20, launches, cuda: cuda.as_ref() }.print()?;
    }
    Ok(())
}

/// Writes and prints what the driver tells of the machine code, robust and not.
fn dump(number: usize, folder: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder)?;
    for (kind, of) in [(AS_WGPU, "robust"), (NOT_ROBUST, "plain")] {
        let vulkan = Vulkan::open(number, kind)?;
        let array = vulkan.array(1 << 20, PLAIN)?;
        for work in [Work::Fill, Work::Read, Work::Copy] {
            let name = format!("{work:?}-{of}").to_lowercase();
            let file = folder.join(format!("{name}.cache"));
            let buffers = [array.buffer; 3];
            let pipeline = vulkan.pipeline((SUITE, work), false, 1 << 20, buffers, Some(&file))?;
            println!("{name}");
            for line in executables::describe(&vulkan, &pipeline, folder, &name)? {
                println!("  {line}");
            }
            vulkan.destroy(pipeline);
        }
        vulkan.free(array);
    }
    println!();
    Ok(())
}

/// The rows for arrays of one size.
struct Table<'a> {
    number: usize,
    size: u64,
    launches: usize,
    cuda: Option<&'a Cuda>,
}

impl Table<'_> {
    fn print(&self) -> Result<(), Failure> {
        let vulkan = Vulkan::open(self.number, AS_WGPU)?;
        // Wakes the GPU.
        self.times(&vulkan, SUITE, false, PLAIN)?;
        row("robust, as by wgpu", self.times(&vulkan, SUITE, false, PLAIN));
        row("robust, with naga's checks", self.times(&vulkan, SUITE, true, PLAIN));
        drop(vulkan);
        let compute_alone = Kind { compute_alone: true, ..NOT_ROBUST };
        let of_queue = Vulkan::open(self.number, compute_alone)
            .and_then(|vulkan| self.times(&vulkan, SUITE, false, PLAIN));
        row("not robust, a queue without graphics", of_queue);
        let vulkan = Vulkan::open(self.number, NOT_ROBUST)?;
        row("not robust", self.times(&vulkan, SUITE, false, PLAIN));
        row("  with naga's checks", self.times(&vulkan, SUITE, true, PLAIN));
        row("  one row of groups", self.times(&vulkan, Shape { row: 1 << 30, ..SUITE }, false, PLAIN));
        let bare = Shape { row: 1 << 30, constant_row: true, compared: false, ..SUITE };
        row("  one row, index not compared", self.times(&vulkan, bare, false, PLAIN));
        row("  dedicated memory", self.times(&vulkan, SUITE, false, Allocation { dedicated: true, ..PLAIN }));
        for (at, _) in vulkan.local_types() {
            let kind = Allocation { memory_type: Some(at), ..PLAIN };
            row(&format!("  memory type {at}"), self.times(&vulkan, SUITE, false, kind));
        }
        let Some(cuda) = self.cuda else { return Ok(()) };
        row("CUDA, its own memory", self.times_of_cuda(cuda));
        for dedicated in [false, true] {
            if !vulkan.exports {
                println!("no VK_KHR_external_memory_fd");
                break;
            }
            let kind = Allocation { dedicated, exported: true, memory_type: None };
            let name = if dedicated { "exported, dedicated" } else { "exported" };
            row(&format!("Vulkan, {name}"), self.times(&vulkan, SUITE, false, kind));
            row(&format!("CUDA, {name} by Vulkan"), self.times_of_import(cuda, &vulkan, kind));
        }
        row("CUDA, its own memory again", self.times_of_cuda(cuda));
        row("Vulkan, not robust, again", self.times(&vulkan, SUITE, false, PLAIN));
        Ok(())
    }

    /// Times Vulkan's kernels on two arrays of this kind.
    fn times(
        &self,
        vulkan: &Vulkan,
        shape: Shape,
        checked: bool,
        kind: Allocation,
    ) -> Result<[f64; 4], Failure> {
        let arrays = self.arrays(vulkan, kind)?;
        let [y, x] = [0, 1].map(|at| arrays[at].buffer);
        let result = vulkan.array(16, PLAIN)?;
        let time =
            |(like, work): (Shape, Work), [y, x]: [ash::vk::Buffer; 2], launches| -> Result<f64, Failure> {
                let shape = Shape { values_differ: like.values_differ, ..shape };
                let buffers = [result.buffer, y, x];
                let pipeline = vulkan.pipeline((shape, work), checked, self.size, buffers, None)?;
                let time = vulkan.time(&pipeline, launches);
                vulkan.destroy(pipeline);
                time
            };
        // A read finds differing values.
        time((DIFFER, Work::Fill), [x, y], 1)?;
        let mut medians = [0.0; 4];
        for (column, median) in WORKS.into_iter().zip(&mut medians) {
            *median = time(column, [y, x], self.launches)?;
        }
        arrays.into_iter().chain([result]).for_each(|array| vulkan.free(array));
        Ok(medians)
    }

    fn arrays(&self, vulkan: &Vulkan, kind: Allocation) -> Result<Vec<Array>, Failure> {
        (0..2).map(|_| vulkan.array(self.size, kind)).collect()
    }

    /// Times CUDA's kernels on memory of CUDA's.
    fn times_of_cuda(&self, cuda: &Cuda) -> Result<[f64; 4], Failure> {
        let [y, x] = [cuda.allocate(self.size)?, cuda.allocate(self.size)?];
        let times = cuda.times(&y, &x, self.size, self.launches)?;
        cuda.free(y)?;
        cuda.free(x)?;
        Ok(times)
    }

    /// Times CUDA's kernels on memory of Vulkan's.
    fn times_of_import(&self, cuda: &Cuda, vulkan: &Vulkan, kind: Allocation) -> Result<[f64; 4], Failure> {
        let arrays = self.arrays(vulkan, kind)?;
        let import =
            |array: &Array| cuda.import(vulkan.export(array)?, array.allocated, self.size, kind.dedicated);
        let [y, x] = [import(&arrays[0])?, import(&arrays[1])?];
        let times = cuda.times(&y, &x, self.size, self.launches)?;
        cuda.free(y)?;
        cuda.free(x)?;
        arrays.into_iter().for_each(|array| vulkan.free(array));
        Ok(times)
    }
}

/// Prints a row, or why there is none.
fn row(label: &str, times: Result<[f64; 4], Failure>) {
    print!("{label:<38}");
    match times {
        Ok(times) => times.iter().for_each(|time| print!(" {time:9.2}")),
        Err(error) => print!(" {error}"),
    }
    println!();
}
