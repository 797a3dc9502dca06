//! The engine without a suite around it: one empty launch on the fake, sampled as often as asked. To be
//! timed, and to count what is allocated.

use std::time::{Duration, Instant};

use cust::launch;
use cust::module::Module;
use cust::stream::Stream;
use gpubench::cuda::Cuda;
use gpubench::device::{Device, Failure, SampleOptions, Stage, Work};
use gpubench::record::Cache;
use gpubench::stats::Summary;
use gpubench::units::Nanoseconds;
use gpubench_records::sampling::Sampling;
use gpubench_runtime::__private::steps::measure;

const PTX: &str = "
.version 7.0
.target sm_70
.address_size 64
.visible .entry nothing() { ret; }";

/// A device with a launch for it.
pub struct Engine {
    device: Cuda,
    launch: Launch,
}

struct Launch {
    module: Module,
    stream: Stream,
}

impl Work for Launch {
    #[expect(unsafe_code, reason = "launches a kernel")]
    fn launch(&mut self) -> Result<(), Failure> {
        let Self { module, stream } = self;
        // SAFETY: the kernel takes nothing.
        let launched = unsafe { launch!(module.nothing<<<1, 32, 0, stream>>>()) };
        launched.map_err(|error| Failure::new(Stage::Launch, error))
    }
}

impl Engine {
    /// On the fake, which the environment must name.
    ///
    /// # Errors
    /// If it is not there.
    pub fn start() -> Result<Self, String> {
        let mut device = Cuda::open(0).map_err(|error| error.to_string())?;
        let stream = device.stream::<Stream>().map_err(|error| error.to_string())?;
        let module = Module::from_ptx(PTX, &[]).map_err(|error| error.to_string())?;
        let mut engine = Self { device, launch: Launch { module, stream } };
        // What the timer and the flush are like is found once.
        engine.sample(1)?;
        Ok(engine)
    }

    /// Takes so many cold samples: captures their graphs, replays them, and summarises what they read.
    ///
    /// # Errors
    /// If a launch fails.
    pub fn sample(&mut self, samples: usize) -> Result<Summary, String> {
        let wanted = SampleOptions::new(Cache::Cold);
        let sampling = Sampling {
            samples: Some(samples),
            min_warm_up_time: Nanoseconds::from_seconds(0.0),
            ..Sampling::USUAL
        };
        let deadline = Instant::now() + Duration::from_secs(60);
        let sampled = self
            .device
            .sampler(&mut self.launch, &wanted)
            .and_then(|mut sampler| measure(sampler.as_mut(), &sampling, deadline, None, &mut |_| {}));
        sampled.map(|samples| samples.time).map_err(|failure| failure.to_string())
    }
}
