//! The modules of PTX. In: the text, which is part of the program; out: an owner of what the driver made of it, with what
//! its launches need beside their arguments. A kernel is looked up by name at each launch, so that nothing borrows.

use cust::error::CudaResult;
use cust::memory::DeviceBuffer;
use cust::module::Module;

use super::geometry::Geometry;

const ELEMENTWISE: &str = include_str!("../../ptx/elementwise.ptx");
const REDUCTION: &str = include_str!("../../ptx/reduction.ptx");

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
    /// Where there is no context or the driver refuses the PTX.
    pub fn load() -> CudaResult<Self> {
        Ok(Self { module: Module::from_ptx(ELEMENTWISE, &[])?, geometry: Geometry::of_current_device()? })
    }
}

/// The module of the reduction, loaded, and the memory in which its blocks meet. One launch at a time may use it.
pub struct Reduction {
    pub(super) module: Module,
    pub(super) geometry: Geometry,
    /// A partial sum of each block.
    pub(super) partials: DeviceBuffer<f64>,
    /// How many blocks have left theirs: 0 before a launch and after it.
    pub(super) arrived: DeviceBuffer<u32>,
}

impl Reduction {
    /// Loads the module into the current context, where the driver compiles it.
    ///
    /// # Errors
    /// Where there is no context, no memory, or the driver refuses the PTX.
    pub fn load() -> CudaResult<Self> {
        let geometry = Geometry::of_current_device()?;
        let most = geometry.reduction(usize::MAX).blocks as usize;
        Ok(Self {
            module: Module::from_ptx(REDUCTION, &[])?,
            geometry,
            partials: DeviceBuffer::from_slice(&vec![f64::NAN; most])?,
            arrived: DeviceBuffer::from_slice(&[0])?,
        })
    }
}
