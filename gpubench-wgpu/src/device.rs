//! An open adapter, with the results that were measured on it so far.

use std::collections::HashMap;
use std::rc::Rc;

use gpubench_records::method::{Cache, Flush, FlushVerification, Timer};
use gpubench_runtime::device::DeviceError;
use gpubench_stats::units::Nanoseconds;
use wgpu::{AdapterInfo, DeviceDescriptor, Features, MemoryHints};

use crate::adapter;
use crate::empty::EmptyKernel;
use crate::encoder::Encoder;
use crate::flush::{AssumedCache, FlushSweep};

/// The name of the kind on the command line and in records.
pub(crate) const KIND: &str = "wgpu";

/// A GPU that wgpu drives, by Vulkan, Metal or DX12.
pub struct Wgpu {
    pub(crate) name: String,
    pub(crate) info: AdapterInfo,
    pub(crate) encoder: Encoder,
    pub(crate) empty: Rc<EmptyKernel>,
    pub(crate) cache: AssumedCache,
    /// The sweep, once a cold sample needed it.
    pub(crate) sweep: Option<Rc<FlushSweep>>,
    pub(crate) timers: HashMap<Cache, Timer>,
    /// The time of one more empty launch in a row of them, with its standard error, once it was measured.
    pub(crate) one_more: Option<[Nanoseconds; 2]>,
    pub(crate) proofs: HashMap<Flush, FlushVerification>,
}

impl Wgpu {
    /// Opens an adapter with all features but those that are unsafe to use, or that slow down memory.
    pub(crate) fn open_adapter(ordinal: usize) -> Result<Self, DeviceError> {
        let adapter = adapter::numbered(ordinal)?;
        let info = adapter.get_info();
        let features =
            adapter.features() - Features::all_experimental_mask() - Features::MAPPABLE_PRIMARY_BUFFERS;
        if let Some(why) = adapter::refusal(features, &adapter::name(&info)) {
            return Err(DeviceError::new(why));
        }
        let descriptor = DeviceDescriptor {
            // All that pipelines of users may need.
            required_features: features,
            required_limits: adapter.limits(),
            memory_hints: MemoryHints::Performance,
            ..DeviceDescriptor::default()
        };
        let (device, queue) =
            pollster::block_on(adapter.request_device(&descriptor)).map_err(DeviceError::new)?;
        let encoder = Encoder::new(device, queue);
        let empty = Rc::new(EmptyKernel::new(&encoder));
        encoder.finish()?;
        Ok(Self {
            name: format!("{KIND}:{ordinal}"),
            cache: AssumedCache::of(&info)?,
            info,
            encoder,
            empty,
            sweep: None,
            timers: HashMap::new(),
            one_more: None,
            proofs: HashMap::new(),
        })
    }

    /// Returns the sweep for this flush, if it needs one.
    pub(crate) fn sweep(&mut self, flush: Flush) -> Option<Rc<FlushSweep>> {
        if flush == Flush::None {
            return None;
        }
        let (encoder, size) = (&self.encoder, self.cache.size);
        Some(Rc::clone(self.sweep.get_or_insert_with(|| Rc::new(FlushSweep::new(encoder, size)))))
    }
}
