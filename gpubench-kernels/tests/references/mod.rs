//! The committed PTX against the references of `gpubench_kernels::reference`. The kernels for tensor cores
//! are left out: their matrix instructions are not interpreted.

use gpubench_kernels::cuda::mix::{READS, WRITES};
use gpubench_kernels::inputs::{bits, element};
use gpubench_kernels::reference::{ALL, Access, Array, Input, KernelCall, OutputValues, Reference, inputs};

use crate::interpreter::{Grid, Memory, Program, run};

/// An argument of a launch.
enum Argument {
    Array(Vec<u8>),
    Number(u64),
    Float(f32),
}

use Argument::{Array as Of, Float, Number};

/// A small launch of a kernel.
struct Launch {
    ptx: &'static str,
    kernel: String,
    arguments: Vec<Argument>,
    grid: Grid,
    /// The distance that an element may have from the reference, as a fraction of the largest; 0 where every bit counts.
    tolerance: f64,
}

/// The first `n` elements of an input of `f32`.
fn random(seed: u64, n: usize) -> Argument {
    Of((0..n).flat_map(|index| (element(seed, index) as f32).to_le_bytes()).collect())
}

/// The first `n` elements of an input of `f64`.
fn random_f64(seed: u64, n: usize) -> Argument {
    Of((0..n).flat_map(|index| element(seed, index).to_le_bytes()).collect())
}

/// An array to be overwritten.
fn unwritten(bytes: usize) -> Argument {
    Of(vec![0xff; bytes])
}

/// A number of elements.
fn count(n: usize) -> Argument {
    Number(n as u64)
}

/// A launch whose blocks lie in a row, and whose every bit counts.
fn launch(ptx: &'static str, kernel: &str, blocks: u32, threads: u32, arguments: Vec<Argument>) -> Launch {
    let grid = Grid { blocks: [blocks, 1], threads: [threads, 1] };
    Launch { ptx, kernel: kernel.to_owned(), arguments, grid, tolerance: 0.0 }
}

/// Kernels of which an output's element follows from the elements at its index, with a rest behind the last vector.
fn elementwise() -> Vec<Launch> {
    const N: usize = 1027;
    let copy = || vec![random(1, N), unwritten(4 * N), count(N)];
    let saxpy = || vec![Float(2.5), random(1, N), random(2, N), count(N)];
    let add = || vec![random_f64(1, N), random_f64(2, N), unwritten(8 * N), count(N)];
    let (elementwise, sources) = (ptx!("elementwise"), ptx!("sources"));
    vec![
        launch(elementwise, "copy", 2, 256, copy()),
        launch(elementwise, "fill", 2, 256, vec![Float(0.75), unwritten(4 * N), count(N)]),
        launch(elementwise, "rmw", 2, 256, vec![Float(0.75), random(1, N), count(N)]),
        launch(elementwise, "saxpy", 2, 256, saxpy()),
        launch(
            elementwise,
            "triad",
            2,
            256,
            vec![Float(2.5), random(1, N), random(2, N), unwritten(4 * N), count(N)],
        ),
        launch(elementwise, "vector_add", 3, 256, add()),
        launch(sources, "copy", 2, 64, copy()),
        launch(sources, "saxpy", 5, 256, saxpy()),
        launch(sources, "vector_add", N as u32, 1, add()),
    ]
}

/// Kernels that make inputs.
fn of_inputs() -> Vec<Launch> {
    let random = |kernel, size: usize| {
        launch(ptx!("inputs"), kernel, 2, 256, vec![unwritten(1000 * size), count(1000), Number(7)])
    };
    // Of a line only the first word is written.
    let cycle = launch(ptx!("inputs"), "cycle", 1, 256, vec![Of(vec![0; 128 * 64]), count(64)]);
    vec![
        random("random_f32", 4),
        random("random_u32", 4),
        random("random_f64", 8),
        random("random_bf16", 2),
        cycle,
    ]
}

/// Sums of arrays that several blocks share. A thread adds its few elements in `f32`, the reference adds all in `f64`.
fn reductions() -> Vec<Launch> {
    const N: usize = 20_003;
    let slots = || Of(0x7ff4_0000_0000_0000_u64.to_le_bytes().repeat(3));
    let reduction = |kernel, inputs: Vec<Argument>| {
        let arguments = inputs.into_iter().chain([count(N), slots(), unwritten(8)]).collect();
        Launch { tolerance: 1e-7, ..launch(ptx!("reduction"), kernel, 3, 512, arguments) }
    };
    vec![reduction("sum", vec![random(1, N)]), reduction("dot", vec![random(1, N), random(2, N)])]
}

/// Kernels over squares, of which the last tiles are not full.
fn planes() -> Vec<Launch> {
    let plane = |ptx, kernel: &str, n: usize, blocks, threads| Launch {
        grid: Grid { blocks, threads },
        ..launch(ptx, kernel, 1, 1, vec![random(1, n * n), unwritten(4 * n * n), count(n)])
    };
    vec![
        plane(ptx!("transpose"), "transpose_naive", 70, [3, 3], [32, 8]),
        plane(ptx!("transpose"), "transpose_tiled", 70, [2, 2], [256, 1]),
        // Rows of an odd number of elements have no pairs.
        plane(ptx!("transpose"), "transpose_tiled", 67, [2, 2], [256, 1]),
        plane(ptx!("stencil"), "stencil", 70, [2, 3], [64, 4]),
    ]
}

/// Products of matrices. The reference rounds each product, the kernels do not.
fn products() -> Vec<Launch> {
    let product = |kernel: &str, n: usize, grid| Launch {
        grid,
        tolerance: 1e-5,
        ..launch(
            ptx!("matmul"),
            kernel,
            1,
            1,
            vec![random(3, n * n), random(4, n * n), unwritten(4 * n * n), count(n)],
        )
    };
    vec![
        product("matmul_naive", 40, Grid { blocks: [2, 2], threads: [32, 32] }),
        product("matmul_shared", 40, Grid { blocks: [2, 2], threads: [32, 32] }),
        product("matmul_registers", 128, Grid { blocks: [1, 1], threads: [256, 1] }),
    ]
}

/// Reads and writes in every balance. The last block is not full.
fn mixes() -> Vec<Launch> {
    const THREADS: usize = 300;
    let mix = |(reads, writes): (usize, usize)| {
        let x = (0..4 * THREADS * reads.max(1)).flat_map(|index| bits(1, index).to_le_bytes()).collect();
        let arguments = vec![Of(x), unwritten(16 * THREADS * writes.max(1)), count(THREADS)];
        launch(ptx!("mix"), &format!("mix_{reads}_{writes}"), 2, 256, arguments)
    };
    READS.into_iter().zip(WRITES).map(mix).collect()
}

/// A chain of loads, fused multiply-adds, and gravity, of which the reference is in `f64`.
fn others() -> Vec<Launch> {
    let table = (0..16 * 64).flat_map(|word| inputs::cycle(word, 64).to_le_bytes()).collect();
    let turn = vec![Float(0.3), random(1, 16 * 256), Number(5), unwritten(4 * 2 * 256)];
    let gravity = vec![random(5, 4 * 300), unwritten(16 * 300), count(300), Float(1e-3)];
    vec![
        launch(ptx!("latency"), "chase", 1, 1, vec![Of(table), Of(vec![0; 8]), Number(33)]),
        launch(ptx!("power"), "turn", 2, 256, turn),
        Launch { tolerance: 1e-4, ..launch(ptx!("nbody"), "nbody", 2, 256, gravity) },
    ]
}

/// An array as a reference reads it.
struct Bytes<'a>(&'a [u8]);

impl Input for Bytes<'_> {
    fn length(&self) -> u64 {
        self.0.len() as u64
    }

    fn read(&self, offset: u64, out: &mut [u8]) {
        out.copy_from_slice(&self.0[offset as usize..][..out.len()]);
    }

    fn all(&self) -> &[u8] {
        self.0
    }
}

/// The output as the reference has it, from the memory before the launch.
fn expected(
    reference: &Reference,
    call: &KernelCall,
    output: &Array,
    arrays: &[Array],
    memory: &Memory,
) -> Vec<u8> {
    let array = |array: &Array| memory.array(array.start, array.bytes);
    let updates = output.access == Access::Update;
    let mut out = if updates { array(output).to_vec() } else { vec![0; array(output).len()] };
    let read = arrays.iter().filter(|array| array.has_values && array.access != Access::Write);
    match reference.values {
        OutputValues::Elementwise { compute, .. } => {
            let inputs: Vec<&[u8]> = read.filter(|array| array.access == Access::Read).map(array).collect();
            compute(call, 0, &inputs, &mut out);
        }
        OutputValues::Gathered { compute, .. } => {
            let inputs: Vec<Bytes> = read.map(|it| Bytes(array(it))).collect();
            let inputs: Vec<&dyn Input> = inputs.iter().map(|input| input as &dyn Input).collect();
            compute(call, &inputs, 0, &mut out);
        }
    }
    out
}

/// The floats of an array whose elements have so many bytes; a body's element is four `f32`.
fn numbers(bytes: &[u8], size: usize) -> Vec<f64> {
    match size {
        8 => bytes.as_chunks().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect(),
        _ => bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes).into()).collect(),
    }
}

/// Runs a launch and compares all arrays with the reference. Returns the name that the reference has for the kernel.
fn compare(launch: Launch) -> &'static str {
    let Launch { ptx, kernel, arguments, grid, tolerance } = launch;
    let mut memory = Memory::default();
    let sizes: Vec<usize> = arguments.iter().map(|it| if matches!(it, Float(_)) { 4 } else { 8 }).collect();
    let arguments: Vec<u64> = arguments
        .into_iter()
        .map(|argument| match argument {
            Of(bytes) => memory.add(&bytes),
            Number(number) => number,
            Float(float) => float.to_bits().into(),
        })
        .collect();
    let reference = Reference::find(&kernel, &sizes).unwrap_or_else(|| panic!("{kernel} has no reference"));
    let blocks = u64::from(grid.blocks[0]) * u64::from(grid.blocks[1]);
    let call = KernelCall { kernel: kernel.clone(), arguments: arguments.clone(), blocks, left_out: 0 };
    let arrays = (reference.arrays)(&call);
    let output =
        arrays.iter().find(|array| array.has_values && array.access != Access::Read).expect("an output");
    let expected = expected(reference, &call, output, &arrays, &memory);
    let before: Vec<Vec<u8>> = arrays.iter().map(|it| memory.array(it.start, it.bytes).to_vec()).collect();
    run(&Program::of(ptx, &kernel), &arguments, grid, &mut memory);
    for (array, before) in arrays.iter().zip(before) {
        let found = memory.array(array.start, array.bytes);
        if array != output {
            // Slots in which blocks exchange sums are as they were, too.
            assert!(found == before, "{kernel} changes an input");
        } else if tolerance == 0.0 {
            let differs = found.iter().zip(&expected).position(|(found, expected)| found != expected);
            assert_eq!(differs, None, "{kernel} differs in a byte");
        } else {
            let size = reference.values.size();
            let [found, expected] = [found, &expected[..]].map(|bytes| numbers(bytes, size));
            let largest = expected.iter().fold(0.0_f64, |largest, value| largest.max(value.abs()));
            // Written so that a NaN is never near.
            let near = |(found, expected): (&f64, &f64)| (found - expected).abs() <= tolerance * largest;
            assert!(found.iter().zip(&expected).all(near), "{kernel} is too far from its reference");
        }
    }
    reference.kernel
}

#[test]
fn kernels_do_what_their_references_say() {
    let launches = [elementwise(), of_inputs(), reductions(), planes(), products(), mixes(), others()];
    let mut compared: Vec<&str> = launches.into_iter().flatten().map(compare).collect();
    compared.sort_unstable();
    compared.dedup();
    let mut all: Vec<&str> = ALL.into_iter().flatten().map(|reference| reference.kernel).collect();
    all.retain(|kernel| !kernel.starts_with("matmul_tensor"));
    all.sort_unstable();
    assert_eq!(compared, all);
}

/// The comparison sees a wrong kernel: one that adds another number than its argument.
#[test]
#[should_panic(expected = "rmw differs in a byte")]
fn a_kernel_that_differs_is_found() {
    let wrong = ptx!("elementwise").replace("add.f32", "sub.f32");
    let arguments = vec![Float(0.75), random(1, 1027), count(1027)];
    compare(Launch { ptx: wrong.leak(), ..launch("", "rmw", 2, 256, arguments) });
}
