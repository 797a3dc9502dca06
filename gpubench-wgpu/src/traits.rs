//! An adapter as a device of gpubench.

use gpubench_records::device_info::DeviceInfo;
use gpubench_records::failure::{Failure, Stage};
use gpubench_records::launch::LaunchInfo;
use gpubench_runtime::device::{
    Available, Device, DeviceError, DeviceKind, DeviceType, LaunchStream, SampleOptions, Sampler, Work,
};

use crate::device::{KIND, Wgpu};
use crate::encoder::Encoder;
use crate::{adapter, device_info, peaks, sampling};

impl DeviceType for Wgpu {
    const KIND: &'static str = KIND;
    const LISTED: Option<&'static DeviceKind> = Some(&LISTED);

    fn open(ordinal: usize) -> Result<Self, DeviceError> {
        Self::open_adapter(ordinal)
    }
}

/// The kind of such devices, as the command line lists them.
const LISTED: DeviceKind = DeviceKind::new(KIND, "GPU that wgpu finds", list);

fn list() -> Result<Vec<Available>, DeviceError> {
    let adapters = adapter::all();
    if adapters.is_empty() {
        return Err(DeviceError::new(adapter::NONE));
    }
    let found = |(ordinal, adapter): (usize, &wgpu::Adapter)| {
        let name = adapter::name(&adapter.get_info());
        let fault = adapter::refusal(adapter.features(), &name);
        let found = Available::new(format!("{KIND}:{ordinal}"), KIND).with_name(name);
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
    fn info(&mut self) -> Result<DeviceInfo, DeviceError> {
        let mut info = device_info::of(self);
        info.add(peaks::measure(self).map_err(|failure| DeviceError::new(failure.message))?);
        Ok(info)
    }

    fn synchronize(&mut self) -> Result<(), DeviceError> {
        self.encoder.finish()
    }

    fn observe(&mut self, work: &mut dyn Work) -> Result<LaunchInfo, Failure> {
        self.encoder.forget_encoded();
        work.launch()?;
        // wgpu's errors come first: work that it refused may count as none.
        self.synchronize().map_err(|error| Failure::new(Stage::Launch, error))?;
        self.encoder.check_encoded()?;
        Ok(LaunchInfo::default())
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
    ) -> Result<Box<dyn Sampler + 'a>, Failure> {
        sampling::pair_sampler(self, works, wanted)
    }
}
