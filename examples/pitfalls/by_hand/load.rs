//! B4: the host's clock around the load of a module from PTX or machine code, and around its first two launches.

#![expect(unsafe_code, reason = "launches a kernel of a module that was loaded by hand")]

use std::fs;
use std::path::Path;
use std::time::Instant;

use cust::function::{BlockSize, GridSize};
use cust::launch;
use cust::link::Linker;
use cust::module::Module;
use serde::{Deserialize, Serialize};

use super::{product_inputs, since, stream};
use crate::common::Result;

const PTX: &str = include_str!("../../../gpubench-kernels/ptx/matmul.ptx");

/// The times of the first use of a module, in nanoseconds.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Loaded {
    /// The load of the module and the lookup of the kernel.
    pub(crate) load: f64,
    /// The first launch and a wait.
    pub(crate) first: f64,
    /// The second launch and a wait.
    pub(crate) second: f64,
}

/// Loads the module and launches its naive kernel twice.
pub(crate) fn read(n: usize, machine_code: Option<&Path>) -> Result<Loaded> {
    let stream = stream()?;
    let machine_code = machine_code.map(fs::read).transpose()?;
    let begin = Instant::now();
    let module = match machine_code {
        Some(machine_code) => Module::from_cubin(machine_code, &[])?,
        None => Module::from_ptx(PTX, &[])?,
    };
    let naive = module.get_function("matmul_naive")?;
    let load = begin.elapsed();
    // These load other modules.
    let (_kernels, a, b, c) = product_inputs(n, &stream)?;
    let blocks = n.div_ceil(32) as u32;
    let (grid, block) = (GridSize::xy(blocks, blocks), BlockSize::xy(32, 32));
    let launch = || {
        let begin = Instant::now();
        // SAFETY: the kernel takes three n × n matrices of f32 and their n.
        unsafe {
            launch!(naive<<<grid, block, 0, stream>>>(
                a.as_device_ptr(), b.as_device_ptr(), c.as_device_ptr(), n as u64
            ))?;
        }
        stream.synchronize()?;
        Result::Ok(since(begin))
    };
    Ok(Loaded { load: load.as_secs_f64() * 1e9, first: launch()?, second: launch()? })
}

/// Links the same PTX to machine code with the driver's linker.
pub(crate) fn link(to: &Path) -> Result<()> {
    let mut linker = Linker::new()?;
    // The driver expects a C string.
    linker.add_ptx(format!("{PTX}\0"))?;
    Ok(fs::write(to, linker.complete()?)?)
}
