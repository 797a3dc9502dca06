//! Shapes of kernels that fill, read and copy an array.

use std::fmt::Write;

use naga::back::spv;
use naga::proc::{BoundsCheckPolicies, BoundsCheckPolicy};
use naga::valid::{Capabilities, ValidationFlags, Validator};

use crate::Failure;
use crate::kernel::grid;

/// The bytes of a vector.
const VECTOR: u64 = 16;

/// The work of a kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Work {
    Fill,
    Read,
    Copy,
}

/// A kernel's shape.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// The vectors that a thread moves at a time, each next to its neighbour's.
    pub vectors: u64,
    /// The threads of a workgroup.
    pub width: u64,
    /// The workgroups that stride through the array; otherwise as many as needed.
    pub striding: Option<u64>,
    /// The most workgroups in x.
    pub row: u64,
    /// The row's length is a constant of the shader, not `num_workgroups.x`.
    pub constant_row: bool,
    /// The index is compared with `arrayLength`.
    pub compared: bool,
    /// Each vector that a fill writes is another.
    pub values_differ: bool,
}

/// The suite's shape.
pub const SUITE: Shape = Shape {
    vectors: 1,
    width: 256,
    striding: None,
    row: 32_768,
    constant_row: false,
    compared: true,
    values_differ: false,
};

impl Shape {
    fn workgroups(&self, size: u64) -> u64 {
        self.striding.unwrap_or_else(|| size.div_ceil(VECTOR * self.vectors * self.width))
    }

    /// Returns the grid for an array of `size` bytes.
    pub fn grid(&self, size: u64) -> [u32; 2] {
        grid(self.workgroups(size), self.row)
    }

    /// Returns the shader, whose entry point is `main`: `result` at binding 0, `y` at 1, `x` at 2.
    pub fn wgsl(&self, work: Work, size: u64) -> String {
        let Self { vectors, width, .. } = *self;
        let row = if self.constant_row { format!("{}u", self.grid(size)[0]) } else { "groups.x".to_owned() };
        let array = if work == Work::Fill { "y" } else { "x" };
        let last = format!("i + {}u < arrayLength(&{array})", (vectors - 1) * width);
        let head = match (self.striding.is_some(), self.compared) {
            (true, _) => format!("for (var i = begin; {last}; i += {row} * {}u) {{", width * vectors),
            (false, true) => format!("let i = begin; if ({last}) {{"),
            (false, false) => "let i = begin; {".to_owned(),
        };
        let mut body = String::new();
        // Loads stand before stores, so that all are under way at once.
        for (at, k) in (0..vectors).map(|k| (k * width, k)) {
            // Writing to a string does not fail.
            _ = match work {
                Work::Fill if self.values_differ => {
                    writeln!(
                        body,
                        "        y[i + {at}u] = bitcast<vec4<f32>>(vec4<u32>((i + {at}u) * 2654435761u));"
                    )
                }
                Work::Fill => writeln!(body, "        y[i + {at}u] = vec4<f32>(A);"),
                Work::Read | Work::Copy => writeln!(body, "        let v{k} = x[i + {at}u];"),
            };
        }
        for (at, k) in (0..vectors).map(|k| (k * width, k)) {
            _ = match work {
                Work::Fill => Ok(()),
                Work::Read => writeln!(body, "        sum += v{k};"),
                Work::Copy => writeln!(body, "        y[i + {at}u] = v{k};"),
            };
        }
        // Never true of what the fills write; the compiler does not know.
        let tail = "if (all(sum == vec4<f32>(1.0, 2.0, 3.0, 5.0))) { result[0] = sum; }";
        let tail = if work == Work::Read { tail } else { "" };
        format!(
            "@group(0) @binding(0) var<storage, read_write> result: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> y: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> x: array<vec4<f32>>;
override A: f32 = 1.5;

@compute @workgroup_size({width})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {{
    let begin = (group.y * {row} + group.x) * {}u + lane;
    var sum = vec4<f32>();
    {head}
{body}    }}
    {tail}
}}
",
            width * vectors
        )
    }
}

/// Returns the suite's shape and others, each with a name for its difference.
pub fn shapes() -> Vec<(String, Shape)> {
    let mut shapes = vec![("suite's shape".to_owned(), SUITE)];
    let mut add = |name: String, shape| shapes.push((name, shape));
    for vectors in [2, 4, 8] {
        add(format!("{vectors} vectors a thread"), Shape { vectors, ..SUITE });
    }
    for width in [64, 128, 512, 1024] {
        add(format!("{width} threads a workgroup"), Shape { width, ..SUITE });
    }
    for times in [8, 16, 32] {
        add(format!("132*{times} groups stride"), Shape { striding: Some(132 * times), ..SUITE });
    }
    add("1024 groups stride (its sum)".to_owned(), Shape { striding: Some(1024), ..SUITE });
    for row in [1024, 8192] {
        add(format!("rows of {row} groups"), Shape { row, ..SUITE });
    }
    add("row's length a constant".to_owned(), Shape { constant_row: true, ..SUITE });
    add("index not compared".to_owned(), Shape { compared: false, ..SUITE });
    add("fill's values differ".to_owned(), Shape { values_differ: true, ..SUITE });
    add("4 vectors, 512 threads".to_owned(), Shape { vectors: 4, width: 512, ..SUITE });
    add("8 vectors, 1024 threads".to_owned(), Shape { vectors: 8, width: 1024, ..SUITE });
    let striding = Shape { vectors: 4, striding: Some(132 * 8), ..SUITE };
    add("4 vectors, 132*8 stride".to_owned(), striding);
    let striding = Shape { vectors: 8, width: 512, striding: Some(132 * 4), ..SUITE };
    add("8 vectors, 512, 132*4 stride".to_owned(), striding);
    shapes
}

/// Returns the SPIR-V that naga writes for `wgsl`, with checks of indices or without them.
pub fn spirv(wgsl: &str, checked: bool) -> Result<Vec<u32>, Failure> {
    let module = naga::front::wgsl::parse_str(wgsl).map_err(|error| error.emit_to_string(wgsl))?;
    let info = Validator::new(ValidationFlags::all(), Capabilities::all()).validate(&module)?;
    let (module, info) = naga::back::pipeline_constants::process_overrides(
        &module,
        &info,
        Some((naga::ShaderStage::Compute, "main")),
        &Default::default(),
    )?;
    let policy = if checked { BoundsCheckPolicy::Restrict } else { BoundsCheckPolicy::Unchecked };
    let options = spv::Options {
        lang_version: (1, 5),
        flags: spv::WriterFlags::empty(),
        bounds_check_policies: BoundsCheckPolicies {
            index: policy,
            buffer: policy,
            image_load: policy,
            binding_array: policy,
        },
        force_loop_bounding: checked,
        ..Default::default()
    };
    Ok(spv::write_vec(&module, &info, &options, None)?)
}
