//! What cubecl-cuda names of cubecl-llvm. It compiles nothing.

use std::fmt;

use cubecl_core::Compiler;
use cubecl_core::ir::nvidia::SmArch;
use cubecl_core::prelude::KernelDefinition;
use cubecl_environment::backtrace::BackTrace;
use cubecl_runtime::compiler::CompilationError;
use cubecl_runtime::kernel::BufferIOAttr;

/// The compiler's target.
#[derive(Clone, Copy, Debug, Default)]
pub enum LlvmTarget {
    #[default]
    Nvptx,
}

/// A compiler that refuses every kernel.
#[derive(Clone, Debug, Default)]
pub struct PlironCompiler {
    pub target: LlvmTarget,
}

/// The options of [`PlironCompiler`].
#[derive(Clone, Debug, Default)]
pub struct PlironOptions {
    pub arch: Option<()>,
    pub sm_arch: Option<SmArch>,
    pub ptx_version: Option<nvptx::ptx_version::PtxVersion>,
    pub grid_constants: bool,
    pub cpu_buffer_alignment: Option<u32>,
}

/// What [`PlironCompiler`] would return.
#[derive(Clone)]
pub enum PlironArtifact {
    Jit,
    NvptxCode(NvptxModule),
}

/// PTX of a kernel.
#[derive(Clone, Debug)]
pub struct NvptxModule {
    pub ptx: Vec<std::ffi::c_char>,
    pub entrypoint: String,
    pub ir: String,
    pub shared_memory_size: usize,
    pub io: Vec<BufferIOAttr>,
}

impl fmt::Display for PlironArtifact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no code")
    }
}

impl Compiler for PlironCompiler {
    type Representation = PlironArtifact;
    type CompilationOptions = PlironOptions;

    fn compile(
        &mut self,
        _: KernelDefinition,
        _: &PlironOptions,
    ) -> Result<PlironArtifact, CompilationError> {
        let reason = "built without LLVM: enable the feature `cuda-cpp` of cubecl".to_owned();
        Err(CompilationError::Generic { reason, backtrace: BackTrace::capture() })
    }

    fn extension(&self) -> &'static str {
        "ll"
    }

    fn lang_tag(&self) -> &'static str {
        "mlir"
    }
}

/// Versions of PTX.
pub mod nvptx {
    pub mod ptx_version {
        use std::fmt;

        /// There is none.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum PtxVersion {}

        impl PtxVersion {
            /// Returns `None`.
            #[must_use]
            pub fn for_driver(_: i32) -> Option<Self> {
                None
            }
        }

        impl fmt::Display for PtxVersion {
            fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
                match *self {}
            }
        }
    }
}

/// Features of GPUs.
pub mod shared {
    pub mod lowered_features {
        use cubecl_core::ir::DeviceProperties;

        /// The GPU that features are restricted for.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum GpuTarget {
            Nvptx,
        }

        /// Leaves all features.
        pub fn restrict_features(_: &mut DeviceProperties, _: GpuTarget) {}
    }
}
