//! Why the suite's `fill` takes longer by wgpu than by CUDA: the suite's shape with one difference at a time.
//! `variants.cu` is CUDA's counterpart.
//!
//! Options: `--adapter 0 --sizes-mib 256,1024 --launches 100 --spv FOLDER` (writes the SPIR-V of each shape).

use std::path::Path;

use wgpu::{BindingResource, Buffer, BufferBinding, BufferUsages};
use wgpu_peer::kernel::{Checks, Kernel};
use wgpu_peer::stamps::Stamps;
use wgpu_peer::variants::{SUITE, Shape, Work, shapes, spirv};
use wgpu_peer::{Failure, Gpu, OF_SUITE, median, options};

const WARM_UP: usize = 2;
const WORKS: [Work; 3] = [Work::Fill, Work::Read, Work::Copy];

fn main() -> Result<(), Failure> {
    options::check(&["adapter", "sizes-mib", "launches", "spv"])?;
    let sizes = options::numbers("sizes-mib", &[256, 1024])?;
    let launches = options::number("launches", 100)?.max(1) as usize;
    if let Some(folder) = options::text("spv") {
        write_spirv(Path::new(&folder), sizes[0] << 20)?;
    }
    let gpu = Gpu::open()?;
    println!(
        "{}\nMedians of {launches}, in µs, by a pass's timestamps, each alone in its submission\n",
        gpu.name
    );
    print!("{:>30}", "MiB");
    sizes.iter().for_each(|mib| print!("  {mib:>22}"));
    print!("\n{:30}", "");
    sizes.iter().for_each(|_| print!("  {:>6} {:>7} {:>7}", "fill", "read", "copy"));
    println!();
    let mut rows: Vec<(String, Vec<[f64; 3]>)> = Vec::new();
    let mut stamps = Stamps::new(&gpu, launches + WARM_UP)?;
    for (of_size, mib) in sizes.iter().enumerate() {
        let table = Table { gpu: &gpu, size: mib << 20, launches };
        for (at, (label, times)) in table.rows(&mut stamps)?.into_iter().enumerate() {
            if of_size == 0 {
                rows.push((label, Vec::new()));
            }
            rows[at].1.push(times);
        }
    }
    for (label, sizes) in rows {
        print!("{label:<30}");
        sizes.iter().for_each(|[fill, read, copy]| print!("  {fill:6.1} {read:7.1} {copy:7.1}"));
        println!();
    }
    Ok(())
}

fn write_spirv(folder: &Path, size: u64) -> Result<(), Failure> {
    std::fs::create_dir_all(folder)?;
    for (name, shape) in shapes() {
        for work in WORKS {
            for (checked, ending) in [(true, "checked"), (false, "unchecked")] {
                let wgsl = shape.wgsl(work, size);
                let bytes: Vec<u8> =
                    spirv(&wgsl, checked)?.iter().flat_map(|word| word.to_le_bytes()).collect();
                let name =
                    format!("{work:?} {name} {ending}").to_lowercase().replace([' ', ',', '*', '\''], "-");
                std::fs::write(folder.join(format!("{name}.spv")), bytes)?;
                std::fs::write(folder.join(format!("{name}.wgsl")), wgsl)?;
            }
        }
    }
    Ok(())
}

type Row = (String, [f64; 3]);

/// The part of the table for arrays of one size.
struct Table<'a> {
    gpu: &'a Gpu,
    size: u64,
    launches: usize,
}

impl Table<'_> {
    fn rows(&self, stamps: &mut Stamps<'_>) -> Result<Vec<Row>, Failure> {
        let mut rows = Vec::new();
        let of_suite = self.pair(OF_SUITE);
        let whole = of_suite.each_ref().map(Buffer::as_entire_binding);
        // Wakes the GPU.
        self.times(stamps, SUITE, Checks::On, &whole)?;
        for (name, shape) in shapes() {
            rows.push((name, self.times(stamps, shape, Checks::On, &whole)?));
        }
        rows.push(("no checks by naga".to_owned(), self.times(stamps, SUITE, Checks::Off, &whole)?));
        let best = Shape { constant_row: true, compared: false, ..SUITE };
        let name = "no checks, no compare, const";
        rows.push((name.to_owned(), self.times(stamps, best, Checks::Off, &whole)?));
        // The first pair is still there, so that these are others.
        for (name, usage) in
            [("usage STORAGE alone", BufferUsages::STORAGE), ("a second pair of arrays", OF_SUITE)]
        {
            let pair = self.pair(usage);
            let whole = pair.each_ref().map(Buffer::as_entire_binding);
            rows.push((name.to_owned(), self.times(stamps, SUITE, Checks::On, &whole)?));
        }
        let larger = self.gpu.buffer(2 * self.size, OF_SUITE);
        let half = |offset| {
            BindingResource::Buffer(BufferBinding {
                buffer: &larger,
                offset,
                size: std::num::NonZeroU64::new(self.size),
            })
        };
        // wgpu binds a buffer for reading alone or for writing, not for both: a copy has another source.
        let halves = [half(self.size), whole[1].clone()];
        rows.push((
            "y is half of a larger buffer".to_owned(),
            self.times(stamps, SUITE, Checks::On, &halves)?,
        ));
        drop(larger);
        rows.push(("suite's shape again".to_owned(), self.times(stamps, SUITE, Checks::On, &whole)?));
        Ok(rows)
    }

    /// Makes `y` and `x`.
    fn pair(&self, usage: BufferUsages) -> [Buffer; 2] {
        [(); 2].map(|()| self.gpu.buffer(self.size, usage))
    }

    fn times(
        &self,
        stamps: &mut Stamps<'_>,
        shape: Shape,
        checks: Checks,
        [y, x]: &[BindingResource<'_>; 2],
    ) -> Result<[f64; 3], Failure> {
        let result = self.gpu.buffer(16, OF_SUITE);
        let result = result.as_entire_binding();
        // A read finds differing values in `x`, and not wgpu's zeros, which may be stored compressed.
        let differing = Shape { values_differ: true, ..SUITE };
        let source = differing.wgsl(Work::Fill, self.size);
        let fill_x = [result.clone(), x.clone()];
        let kernel =
            Kernel::new(self.gpu, (&source, "main"), Checks::On, (&fill_x, 2), differing.grid(self.size));
        kernel.launch(self.gpu, None)?;
        let mut medians = [f64::NAN; 3];
        for (work, median_of) in WORKS.into_iter().zip(&mut medians) {
            let source = shape.wgsl(work, self.size);
            let bound = [result.clone(), y.clone(), x.clone()];
            let bound = if work == Work::Fill { &bound[..2] } else { &bound[..] };
            let kernel = Kernel::new(self.gpu, (&source, "main"), checks, (bound, 2), shape.grid(self.size));
            for _ in 0..WARM_UP + self.launches {
                kernel.launch(self.gpu, Some(&mut *stamps))?;
            }
            *median_of = median(stamps.take()?.split_off(WARM_UP));
        }
        Ok(medians)
    }
}
