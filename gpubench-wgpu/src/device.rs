//! An adapter as a device of gpubench. In: its number; out: an [`Encoder`] for launch functions, facts, and samplers.

use std::collections::HashMap;
use std::rc::Rc;

use gpubench_records::facts::Facts;
use gpubench_records::failure::{Failure, Stage};
use gpubench_records::launch::LaunchFacts;
use gpubench_records::method::{Cache, Flush, FlushProof, Timer};
use gpubench_runtime::device::{
    Available, Device, DeviceError, DeviceKind, DeviceType, LaunchStream, PairSampler, SampleOptions,
    Sampler, Work,
};
use wgpu::{AdapterInfo, DeviceDescriptor, Features, MemoryHints};

use crate::adapter::{self, IN_ENCODERS};
use crate::encoder::Encoder;
use crate::errors::DeviceErrors;
use crate::flush::{AssumedCache, FlushSweep};
use crate::marks::Boundaries;
use crate::timer::{EmptyKernel, OneMore};
use crate::{facts, peaks, sampling};

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
    pub(crate) one_more: Option<OneMore>,
    pub(crate) proofs: HashMap<Flush, FlushProof>,
}

impl Wgpu {
    /// Opens an adapter with the features that it has among these.
    pub(crate) fn open_with(ordinal: usize, allowed: Features) -> Result<Self, DeviceError> {
        let adapter = adapter::numbered(ordinal)?;
        let info = adapter.get_info();
        let features = adapter.features() & allowed;
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
        let errors = DeviceErrors::of(&device);
        let boundaries =
            if features.contains(IN_ENCODERS) { Boundaries::Commands } else { Boundaries::Passes };
        let encoder = Encoder::new(device, queue, errors, boundaries);
        let empty = Rc::new(EmptyKernel::new(&encoder));
        encoder.finish()?;
        Ok(Self {
            name: format!("{}:{ordinal}", Self::KIND),
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
}

/// Returns the features that are asked for: all but those that are unsafe to use, or that slow down memory.
fn usual_features() -> Features {
    Features::all() - Features::all_experimental_mask() - Features::MAPPABLE_PRIMARY_BUFFERS
}

impl DeviceType for Wgpu {
    const KIND: &'static str = "wgpu";
    const LISTED: Option<&'static DeviceKind> = Some(&LISTED);

    fn open(ordinal: usize) -> Result<Self, DeviceError> {
        Self::open_with(ordinal, usual_features())
    }
}

/// The kind of such devices, as the command line lists them.
const LISTED: DeviceKind = DeviceKind::new(Wgpu::KIND, "GPU that wgpu finds", list);

fn list() -> Result<Vec<Available>, DeviceError> {
    let adapters = adapter::all();
    if adapters.is_empty() {
        return Err(DeviceError::new(adapter::NONE));
    }
    let found = |(ordinal, adapter): (usize, &wgpu::Adapter)| {
        let name = adapter::name(&adapter.get_info());
        let fault = adapter::refusal(adapter.features(), &name);
        let found = Available::new(format!("{}:{ordinal}", Wgpu::KIND), Wgpu::KIND).with_name(name);
        fault.into_iter().fold(found, Available::with_fault)
    };
    Ok(adapters.iter().enumerate().map(found).collect())
}

impl LaunchStream for Encoder {
    type Device = Wgpu;
    type Owned = Self;

    fn over(device: &mut Wgpu) -> Result<Self, DeviceError> {
        Ok(device.encoder.clone())
    }
}

impl Device for Wgpu {
    fn facts(&mut self) -> Result<Facts, DeviceError> {
        let mut facts = facts::of(self);
        facts.add(peaks::measure(self).map_err(|failure| DeviceError::new(failure.message))?);
        Ok(facts)
    }

    fn settle(&mut self) -> Result<(), DeviceError> {
        self.encoder.finish()
    }

    fn observe(&mut self, work: &mut dyn Work) -> Result<LaunchFacts, Failure> {
        self.encoder.forget_encoded();
        work.launch()?;
        // wgpu's errors come first: work that it refused may count as none.
        self.settle().map_err(|error| Failure::new(Stage::Launch, error))?;
        self.encoder.check_encoded()?;
        Ok(LaunchFacts::default())
    }

    fn remark(&mut self) -> Option<String> {
        self.encoder.remark()
    }

    fn sampler<'a>(
        &'a mut self,
        work: &'a mut dyn Work,
        wanted: &SampleOptions,
    ) -> Result<Box<dyn Sampler + 'a>, Failure> {
        sampling::sampler(self, work, wanted)
    }

    fn pair_sampler<'a>(
        &'a mut self,
        works: [&'a mut dyn Work; 2],
        wanted: &SampleOptions,
    ) -> Result<Box<dyn PairSampler + 'a>, Failure> {
        sampling::pair_sampler(self, works, wanted)
    }
}
