//! An NVIDIA GPU as a device: its primary context, a stream made by `cust` for each case, and samples taken in a captured
//! graph or, where a launch cannot be captured, on the stream itself. Unsafe code here calls the driver, and nothing else.

#![expect(unsafe_code, reason = "calls the CUDA driver")]

mod arithmetic;
mod call;
mod clock;
mod datasheet;
mod event;
mod facts;
mod flush;
mod graph;
mod graph_path;
mod kernels;
mod nvml;
mod peaks;
mod persisting;
mod proof;
mod sampler;
mod samples;
mod stream_path;
mod timer;

use std::collections::HashMap;
use std::mem::ManuallyDrop;
use std::ptr;
use std::rc::Rc;

use cust::context::Context;
use cust::device::DeviceAttribute;
use cust::stream::{Stream, StreamFlags};
use cust::sys::{self, CUstream};

pub(super) use self::facts::list;
pub(crate) use self::nvml::{lock_clocks, reset_clocks};

use self::call::check;
use self::clock::ClockProbe;
use self::event::Pair;
use self::flush::Flusher;
use self::kernels::{Kernels, told};
use self::nvml::Sensors;
use super::conditions::Monitor;
use super::facts::{Property, Value};
use super::{
    Device, DeviceError, DeviceType, Facts, Flush, FlushProof, LaunchStream, Path, Sampler, Timer, Wanted,
    Work,
};
use crate::failure::Failure;
use crate::format;
use crate::units::Bytes;

/// The first compute capability whose L2 can drop lines without writing them back.
const DISCARDS: (u64, u64) = (8, 0);

/// An NVIDIA GPU.
pub struct Cuda {
    ordinal: usize,
    kernels: Rc<Kernels>,
    flusher: Rc<Flusher>,
    /// The stream of the case that is open, and before the first our own.
    stream: CUstream,
    pairs: Vec<Pair>,
    timers: HashMap<Path, Timer>,
    proofs: HashMap<Flush, FlushProof>,
    clock: ClockProbe,
    /// Or why there are none.
    sensors: Result<Sensors, String>,
    _own: Stream,
    // Whatever else is dropped needs it, in the user's hands too, so that it is never released.
    _context: ManuallyDrop<Context>,
}

impl DeviceType for Cuda {
    const KIND: &'static str = "cuda";

    fn open(ordinal: usize) -> Result<Self, DeviceError> {
        let device = facts::device(ordinal)?;
        let context = Context::new(device).map_err(|error| told("the primary context", error))?;
        let own = new_stream()?;
        let kernels = Kernels::load(facts::capability(device)? >= DISCARDS)?;
        let l2 = Bytes(facts::read(device, DeviceAttribute::L2CacheSize)?);
        let multiprocessors = facts::read(device, DeviceAttribute::MultiprocessorCount)? as u32;
        // Loaded here: a kernel that is first launched behind samples is loaded there, and changes where later ones lie. On an
        // H200, sums of 64 KiB then read 0.15 µs more.
        let clock = ClockProbe::new()?;
        clock.enqueue(&kernels, own.as_inner())?;
        Ok(Self {
            ordinal,
            kernels: Rc::new(kernels),
            flusher: Rc::new(Flusher::new(l2, multiprocessors)?),
            stream: own.as_inner(),
            pairs: Vec::new(),
            timers: HashMap::new(),
            proofs: HashMap::new(),
            clock,
            sensors: Sensors::of(&facts::uuid(device)?),
            _own: own,
            _context: ManuallyDrop::new(context),
        })
    }
}

impl LaunchStream for Stream {
    type Device = Cuda;

    fn over(device: &mut Cuda) -> Result<Self, DeviceError> {
        let stream = new_stream()?;
        device.stream = stream.as_inner();
        Ok(stream)
    }
}

fn new_stream() -> Result<Stream, DeviceError> {
    Stream::new(StreamFlags::DEFAULT, None).map_err(|error| told("a stream", error))
}

impl Device for Cuda {
    fn facts(&mut self) -> Result<Facts, DeviceError> {
        let mut facts = facts::facts(self.ordinal)?;
        let known = self.sensors.as_ref().map_err(Clone::clone).and_then(Sensors::properties);
        let none = |why| vec![Property::new("sensors", Value::Text(format!("none ({why})")))];
        facts.properties.extend(known.unwrap_or_else(none));
        Ok(facts)
    }

    fn monitor(&mut self) -> Result<Box<dyn Monitor>, String> {
        self.sensors.clone().map(|sensors| Box::new(sensors) as Box<dyn Monitor>)
    }

    fn settle(&mut self) -> Result<(), DeviceError> {
        // SAFETY: waits for the current context, which is this device's.
        Ok(check(unsafe { sys::cuCtxSynchronize() })?)
    }

    fn remark(&mut self) -> Option<String> {
        let call = gpubench_driver::take_failure()?;
        let out_of_memory = call.code == sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY as u32;
        let memory = out_of_memory.then(memory).flatten();
        Some(memory.map_or_else(|| call.to_string(), |memory| format!("{call}; {memory}")))
    }

    fn sampler<'a>(
        &'a mut self,
        work: &'a mut dyn Work,
        wanted: &Wanted,
    ) -> Result<Box<dyn Sampler + 'a>, Failure> {
        sampler::sampler(self, work, wanted)
    }
}

impl Cuda {
    /// The flush before cold samples where the user asks for none in particular.
    fn usual_flush(&self) -> Flush {
        if self.kernels.discard.is_some() { Flush::Discard } else { Flush::Read }
    }

    /// Makes sure that there are this many pairs of events.
    fn want_pairs(&mut self, count: usize) -> Result<(), Failure> {
        while self.pairs.len() < count {
            self.pairs.push(Pair::new()?);
        }
        Ok(())
    }
}

/// How much of the device's memory is free, in words.
fn memory() -> Option<String> {
    let (mut free, mut total) = (0, 0);
    // SAFETY: both are places for a size.
    let result = unsafe { sys::cuMemGetInfo_v2(ptr::from_mut(&mut free), ptr::from_mut(&mut total)) };
    let size = |bytes: usize| format::bytes(Bytes(bytes as u64));
    (result == sys::CUresult::CUDA_SUCCESS).then(|| format!("{} of {} are free", size(free), size(total)))
}
