//! The kernels of this crate again, as plain code for the CPU.
//!
//! Checks compare a kernel's output with these functions, and the fake driver of the tests runs them in place of the
//! kernel: it includes this folder as its own module. So nothing here may use another part of this crate, or CUDA.
//! A new kernel adds its function and its [`Reference`] to the file of its module.

#[cfg(test)]
mod bytes;
pub mod elementwise;
pub mod inputs;
pub mod latency;
pub mod matmul;
pub mod mix;
pub mod nbody;
pub mod plane;
pub mod power;
pub mod reduction;

use std::ops::Range;

/// All references, by the files of the kernels.
pub const ALL: [&[Reference]; 9] = [
    elementwise::KERNELS,
    inputs::KERNELS,
    latency::KERNELS,
    matmul::KERNELS,
    mix::KERNELS,
    nbody::KERNELS,
    plane::KERNELS,
    power::KERNELS,
    reduction::KERNELS,
];

/// A kernel as plain code.
#[derive(Debug)]
pub struct Reference {
    /// The name of the kernel. One that ends with `_` stands for all kernels whose names begin so.
    pub kernel: &'static str,
    /// The size of each parameter in bytes.
    pub parameters: &'static [usize],
    /// The arrays that a launch reads and writes. One of them is the output.
    pub arrays: fn(&KernelCall) -> Vec<Array>,
    /// The values that it leaves in the output.
    pub values: OutputValues,
    /// The work of a launch.
    pub work: fn(&KernelCall) -> KernelWork,
}

impl Reference {
    /// A kernel that does little, and whose output's element, of `size` bytes, follows from the elements at its index.
    #[must_use]
    pub const fn elementwise(
        kernel: &'static str,
        parameters: &'static [usize],
        arrays: fn(&KernelCall) -> Vec<Array>,
        size: usize,
        compute: fn(&KernelCall, u64, &[&[u8]], &mut [u8]),
    ) -> Self {
        Self { kernel, parameters, arrays, values: OutputValues::Elementwise { size, compute }, work: little }
    }

    /// Returns the reference for a kernel of this name and with parameters of these sizes.
    #[must_use]
    pub fn find(name: &str, parameters: &[usize]) -> Option<&'static Self> {
        ALL.into_iter().flatten().find(|reference| {
            let family = reference.kernel.ends_with('_') && name.starts_with(reference.kernel);
            (family || name == reference.kernel) && parameters == reference.parameters
        })
    }
}

/// A launch of a kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct KernelCall {
    /// The name of the kernel.
    pub kernel: String,
    /// The bits of each argument.
    pub arguments: Vec<u64>,
    /// The number of blocks.
    pub blocks: u64,
    /// The number of terms that a broken kernel leaves out at the end of each sum; 0 for a correct one.
    pub left_out: u64,
}

impl KernelCall {
    /// Returns an argument that is an address or a number.
    #[must_use]
    pub fn word(&self, index: usize) -> u64 {
        self.arguments[index]
    }

    /// Returns the bytes of as many elements of `size` bytes as an argument says, or the most that fit into the number.
    #[must_use]
    pub fn bytes(&self, index: usize, size: u64) -> u64 {
        self.word(index).saturating_mul(size)
    }

    /// Returns an argument that is an `f32`.
    #[must_use]
    pub fn float(&self, index: usize) -> f32 {
        f32::from_bits(self.arguments[index] as u32)
    }
}

/// An array that a launch uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Array {
    /// Its first address.
    pub start: u64,
    /// Its length in bytes; `None` stands for the rest of its allocation.
    pub bytes: Option<u64>,
    /// The use that the launch makes of it.
    pub access: Access,
    /// Its bytes count as memory traffic.
    pub is_traffic: bool,
    /// It is an input or the output. An array that only blocks exchange sums in is neither.
    pub has_values: bool,
}

/// A way of using memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reads it.
    Read,
    /// Overwrites it.
    Write,
    /// Reads it, then overwrites it.
    Update,
}

impl Array {
    const fn new(start: u64, bytes: u64, access: Access) -> Self {
        Self { start, bytes: Some(bytes), access, is_traffic: true, has_values: true }
    }

    /// An input.
    #[must_use]
    pub const fn read(start: u64, bytes: u64) -> Self {
        Self::new(start, bytes, Access::Read)
    }

    /// The output.
    #[must_use]
    pub const fn write(start: u64, bytes: u64) -> Self {
        Self::new(start, bytes, Access::Write)
    }

    /// The output, whose earlier values are the last input.
    #[must_use]
    pub const fn update(start: u64, bytes: u64) -> Self {
        Self::new(start, bytes, Access::Update)
    }

    /// Memory in which blocks exchange their sums.
    #[must_use]
    pub const fn exchange(start: u64, bytes: u64) -> Self {
        Self { has_values: false, ..Self::update(start, bytes) }
    }

    /// A table of which a launch reads so little that it is no traffic.
    #[must_use]
    pub const fn table(start: u64) -> Self {
        Self { bytes: None, is_traffic: false, ..Self::read(start, 0) }
    }
}

/// The values that a launch leaves in its output.
#[derive(Clone, Copy, Debug)]
pub enum OutputValues {
    /// Each element follows from the elements at the same index of the inputs. The slices are the same part of each
    /// array: its first index, the inputs, and the output, which holds its earlier values where it is updated.
    Elementwise {
        /// The size of an element in bytes.
        size: usize,
        /// Computes that part of the output.
        compute: fn(&KernelCall, u64, &[&[u8]], &mut [u8]),
    },
    /// An element follows from any elements of the inputs.
    Gathered {
        /// The size of an element in bytes.
        size: usize,
        /// Computes the elements from this index on.
        compute: fn(&KernelCall, &[&dyn Input], u64, &mut [u8]),
    },
}

impl OutputValues {
    /// Returns the size of an element in bytes.
    #[must_use]
    pub const fn size(&self) -> usize {
        match self {
            Self::Elementwise { size, .. } | Self::Gathered { size, .. } => *size,
        }
    }
}

/// An array that a launch reads, wherever its bytes are.
pub trait Input {
    /// Returns its length in bytes.
    fn length(&self) -> u64;
    /// Copies the bytes from `offset` on.
    fn read(&self, offset: u64, out: &mut [u8]);
    /// Returns all bytes, which are then kept.
    fn all(&self) -> &[u8];
}

/// The work of a launch beside its memory traffic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum KernelWork {
    /// So little that the traffic hides it.
    Little,
    /// Loads that wait for each other.
    Loads(u64),
    /// Arithmetic.
    Operations {
        /// The number of operations.
        count: u64,
        /// The number of them that an H200 does in a nanosecond, about.
        speed: f64,
    },
}

/// The work of a launch that does little.
#[must_use]
pub fn little(_call: &KernelCall) -> KernelWork {
    KernelWork::Little
}

/// Element `index` of an array.
#[must_use]
pub fn at<const SIZE: usize>(bytes: &[u8], index: usize) -> [u8; SIZE] {
    bytes.as_chunks().0[index]
}

/// Element `index` of an array of `f32`.
#[must_use]
pub fn f32_at(bytes: &[u8], index: usize) -> f32 {
    f32::from_le_bytes(at(bytes, index))
}

/// Element `index` of an array of `f64`.
#[must_use]
pub fn f64_at(bytes: &[u8], index: usize) -> f64 {
    f64::from_le_bytes(at(bytes, index))
}

/// All elements of an array of `f32`.
pub fn f32s(bytes: &[u8]) -> impl Iterator<Item = f32> {
    bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes))
}

/// Sets each element of `out` to what `element` returns for its index.
pub fn set<const SIZE: usize>(out: &mut [u8], element: impl Fn(usize) -> [u8; SIZE]) {
    out.as_chunks_mut().0.iter_mut().enumerate().for_each(|(index, place)| *place = element(index));
}

/// Changes each element of `out` to what `element` returns for its index and its value.
pub fn change<const SIZE: usize>(out: &mut [u8], element: impl Fn(usize, [u8; SIZE]) -> [u8; SIZE]) {
    out.as_chunks_mut().0.iter_mut().enumerate().for_each(|(index, place)| *place = element(index, *place));
}

/// Word `index` of an input.
#[must_use]
pub fn word_of(input: &dyn Input, index: u64) -> u32 {
    let mut bytes = [0; 4];
    input.read(4 * index, &mut bytes);
    u32::from_le_bytes(bytes)
}

/// Parts of an array of so many bytes that are small enough to be copied.
pub fn parts(length: u64) -> impl Iterator<Item = Range<u64>> {
    const PART: u64 = 1 << 20;
    (0..length).step_by(PART as usize).map(move |first| first..length.min(first + PART))
}
