//! Kernels that do nothing. In: how a launch is sampled; out: the one that waits for as much as the launch does.

use gpubench_driver::sys::CUstream;

use crate::device::DeviceError;
use crate::devices::cuda::driver::CallError;
use crate::devices::cuda::kernels::module::{LoadedKernel, Module};
use gpubench_records::method::{Cache, Path};

const EMPTY: &str = include_str!("empty.ptx");

/// A kernel that does nothing: `(const void*, const void*, u32*, u64)`. Whoever has it keeps its [`EmptyKernels`].
#[derive(Clone, Copy)]
pub(crate) struct EmptyKernel(LoadedKernel);

impl EmptyKernel {
    /// Launches `blocks` × `threads` that do nothing on `stream`.
    pub(crate) fn launch(self, of: (u32, u32), stream: CUstream) -> Result<(), CallError> {
        let mut zero = 0_u64;
        let zero = (&raw mut zero).cast();
        // SAFETY: each parameter has eight bytes, and a kernel that is given zero touches no memory.
        unsafe { self.0.launch(of, stream, &mut [zero; 4]) }
    }
}

/// A copy of these kernels, whose code lies elsewhere than that of other copies.
pub(crate) struct EmptyKernels {
    bare: EmptyKernel,
    reads: EmptyKernel,
    // The kernels belong to this module.
    _module: Module,
}

impl EmptyKernels {
    pub(crate) fn load() -> Result<Self, DeviceError> {
        let module = Module::load(EMPTY)?;
        Ok(Self {
            bare: EmptyKernel(module.find("gpubench_empty")?),
            reads: EmptyKernel(module.find("gpubench_empty_reads")?),
            _module: module,
        })
    }

    /// Returns the one that does nothing at all.
    pub(crate) fn bare(&self) -> EmptyKernel {
        self.bare
    }

    /// Returns the one for samples on this path and in this state of the caches.
    pub(crate) fn beside(&self, path: Path, cache: Cache) -> EmptyKernel {
        if waits_for_parameters(path, cache) { self.reads } else { self.bare }
    }
}

/// Returns true if the parameters of such launches come from memory: in a graph, behind a flush. On an H200 that takes nearly every kernel
/// 0.06 to 0.09 µs that it does not take on a stream, and an empty kernel that reads a parameter as well.
pub(crate) fn waits_for_parameters(path: Path, cache: Cache) -> bool {
    (path, cache) == (Path::Graph, Cache::Cold)
}
