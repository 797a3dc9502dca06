//! The modules of PTX. A kernel is looked up by name at each launch, so that nothing borrows.
//!
//! All PTX is for sm_70. Features of later targets were tried on an H200 and do not pay here: hints to the L2 and loads past
//! the L1 do not change copies of 1 GiB or cost up to 4 %, bulk copies through shared memory cost 5 %.

use cust::error::CudaResult;
use cust::memory::DeviceBuffer;
use cust::module::Module;

use super::geometry::Geometry;

/// Owners of modules that need nothing else: each its documentation, its name and its file.
macro_rules! modules {
    ($($(#[$doc:meta])+ $name:ident $file:literal;)+) => {$(
        $(#[$doc])+
        #[derive(Debug)]
        pub struct $name {
            pub(super) module: cust::module::Module,
        }

        impl $name {
            /// Loads the module into the current context, where the driver compiles it.
            ///
            /// # Errors
            /// There is no context, or the driver refuses the PTX.
            pub fn load() -> CudaResult<Self> {
                let ptx = include_str!(concat!("../../ptx/", $file, ".ptx"));
                Ok(Self { module: cust::module::Module::from_ptx(ptx, &[])? })
            }
        }
    )+};
}

/// Launches a kernel of a module: `launch_kernel!(kernels.name(arguments), grid, stream)`, with the bytes of shared memory
/// behind it if a block takes any. The grid is a [`Grid`](super::Grid), or the sizes of the grid and of a block.
macro_rules! launch_kernel {
    ($kernels:ident.$kernel:ident($($argument:expr),* $(,)?), $grid:expr, $stream:ident) => {
        launch_kernel!($kernels.$kernel($($argument),*), $grid, $stream, 0)
    };
    ($kernels:ident.$kernel:ident($($argument:expr),* $(,)?), $grid:expr, $stream:ident, $shared:expr) => {{
        let (grid, block): (cust::function::GridSize, cust::function::BlockSize) = $grid.into();
        let kernel = $kernels.module.get_function(stringify!($kernel))?;
        // SAFETY: the caller has compared the lengths of the arrays with the numbers that it passes, so that the kernel stays
        // within them. `tests/ptx.rs` compares the types of the arguments with the kernel's parameters. Memory is freed only
        // after the device is done with it.
        unsafe { cust::launch!(kernel<<<grid, block, $shared, $stream>>>($($argument),*)) }
    }};
}

pub(super) use {launch_kernel, modules};

/// The module of the kernels that treat every element alike, loaded, and the size of its device.
#[derive(Debug)]
pub struct Elementwise {
    pub(super) module: Module,
    pub(super) geometry: Geometry,
}

impl Elementwise {
    /// Loads the module into the current context, where the driver compiles it.
    ///
    /// # Errors
    /// There is no context or the driver refuses the PTX.
    pub fn load() -> CudaResult<Self> {
        let module = Module::from_ptx(include_str!("../../ptx/elementwise.ptx"), &[])?;
        Ok(Self { module, geometry: Geometry::of_current_device()? })
    }
}

/// The module of the reductions, loaded, and the memory for the partial sums of blocks. One launch at a time may use it.
pub struct Reduction {
    pub(super) module: Module,
    pub(super) geometry: Geometry,
    /// A slot for the partial sum of each block: [`NONE`] before a launch and after it.
    pub(super) slots: DeviceBuffer<u64>,
}

/// The value of a slot without a sum, as the kernels have it.
const NONE: u64 = 0x7ff4_0000_0000_0000;

impl Reduction {
    /// Loads the module into the current context, where the driver compiles it.
    ///
    /// # Errors
    /// There is no context, no memory, or the driver refuses the PTX.
    pub fn load() -> CudaResult<Self> {
        let geometry = Geometry::of_current_device()?;
        let most = geometry.reduction(usize::MAX).blocks as usize;
        let module = Module::from_ptx(include_str!("../../ptx/reduction.ptx"), &[])?;
        Ok(Self { module, geometry, slots: DeviceBuffer::from_slice(&vec![NONE; most])? })
    }
}
