//! An adapter as a queue: a batch is one submission, with a timestamp query before and after each timed
//! launch.

use std::{ops::Range, time::Duration};

use gpubench_records::{Failure, Flush, Path, Stage};
use gpubench_runtime::device::{
    Batch, Calibration, Clock, DeviceError, LaunchMode, OwnLaunch, Queue, QueueProperties, Readings,
    SampleOptions, Work,
};
use gpubench_runtime::method::{self, Chosen};
use gpubench_stats::Nanoseconds;
use wgpu::{Buffer, BufferUsages, CommandBuffer};

use crate::device::timestamps::{MAX_SLOTS, Span};
use crate::device::{Wgpu, flush, is_software};
use crate::encoder::{Encoder, Kernel, buffer};

/// The time limit for the groups of a calibration (0.2 s). After a flush on a software adapter, only the
/// fewest groups fit.
const CALIBRATION_LIMIT: Duration = Duration::from_millis(200);

/// The commands of a recorded batch, and the timestamp slots that they write.
pub(crate) struct RecordedBatch {
    commands: CommandBuffer,
    slots: Range<usize>,
}

/// Chooses the method of sampling for the options `wanted`. Returns a failure for a `--path` other than the
/// device's, and for `host_work`.
pub(super) fn choose(device: &mut Wgpu, wanted: &SampleOptions) -> Result<Chosen, Failure> {
    let refused = |message: String| Err(Failure::new(Stage::Sampling, message));
    if let Some(path) = wanted.path.filter(|path| *path != Path::Device) {
        return refused(format!("--path {path}: wgpu's launches are timed by timestamp queries alone"));
    }
    if wanted.host_work {
        let why = "timestamp queries do not see the host's part, which belongs to this launch";
        return refused(format!("`host_work`: {why}"));
    }
    let mut method = method::choose_flush(device, Path::Device, wanted)?;
    method.path_reason =
        is_software(&device.info).then(|| "this is a software adapter, and no GPU".to_owned());
    Ok(Chosen { mode: LaunchMode::RECORDED, method, setting: None })
}

impl Queue for Wgpu {
    fn properties(&self) -> QueueProperties {
        QueueProperties {
            capacity: MAX_SLOTS / 2,
            has_gaps: false,
            replays: false,
            is_coarse: false,
            is_simulated: false,
            loads_parameters: false,
            first_launch: None,
            calibration_limit: Some(CALIBRATION_LIMIT),
            last_level_cache: self.cache.size,
            cache_name: "the cache",
            usual_flush: flush::DEFAULT_FLUSH,
            other_flushes: &[],
        }
    }

    fn calibration(&mut self) -> &mut Calibration {
        &mut self.calibration
    }

    fn own_launch(&mut self, launch: OwnLaunch) -> Result<Option<Box<dyn Work>>, Failure> {
        let (empty, encoder) = (self.empty.clone(), self.encoder.clone());
        let encode: Box<dyn Fn()> = match launch {
            OwnLaunch::Empty(..) => Box::new(move || empty.bound.launch(&encoder, 1)),
            OwnLaunch::EmptyBackToBack(launches) => {
                Box::new(move || empty.unbound.launch_many(&encoder, 1, launches))
            }
            OwnLaunch::ReadQuarters(quarters) => {
                let region = flush::region_to_read(self, quarters);
                Box::new(move || region.read(&encoder))
            }
            OwnLaunch::EmptyAtNewAddress(_) | OwnLaunch::ReadHalf => return Ok(None),
        };
        Ok(Some(Box::new(move || {
            encode();
            Ok(())
        })))
    }

    fn begin(&mut self) -> Result<(), Failure> {
        // A launch may have panicked.
        self.abandon();
        // A new buffer is filled before.
        self.encoder.submit();
        self.is_recording = true;
        Ok(())
    }

    fn end(&mut self, _: bool) -> Result<Batch, Failure> {
        self.is_recording = false;
        self.recorded_so_far += 1;
        let recorded =
            RecordedBatch { commands: self.encoder.take_commands(), slots: self.timestamps.take_used() };
        self.recorded.insert(self.recorded_so_far, recorded);
        Ok(Batch(self.recorded_so_far))
    }

    fn abandon(&mut self) {
        if std::mem::take(&mut self.is_recording) {
            self.encoder.discard();
            self.timestamps.take_used();
        }
    }

    fn submit(&mut self, batch: &Batch) -> Result<(), Failure> {
        let recorded = self.recorded.remove(&batch.0);
        let RecordedBatch { commands, slots } =
            recorded.ok_or_else(|| DeviceError::new("a batch ran already"))?;
        self.submitted = slots;
        self.encoder.queue().submit([commands]);
        Ok(())
    }

    fn release(&mut self, batch: Batch) {
        self.recorded.remove(&batch.0);
    }

    fn flush(&mut self, flush: Flush) -> Result<(), Failure> {
        if let Some(sweep) = self.sweep(flush) {
            sweep.flush(flush, self.cache.size, &self.encoder);
        }
        Ok(())
    }

    fn start(&mut self, slot: usize, _: Clock) -> Result<(), Failure> {
        self.encoder.encode(|commands| self.timestamps.write_start(commands, slot));
        Ok(())
    }

    fn stop(&mut self, slot: usize, _: Clock) -> Result<(), Failure> {
        self.encoder.encode(|commands| self.timestamps.write_stop(commands, slot));
        Ok(())
    }

    fn close_group(&mut self) -> Result<(), Failure> {
        self.encoder.encode(|commands| self.timestamps.resolve(commands, &self.submitted));
        self.encoder.submit();
        Ok(())
    }

    fn wait(&mut self) -> Result<(), Failure> {
        Ok(self.encoder.wait().map_err(DeviceError::new)?)
    }

    fn times(&mut self, slots: &[usize], _: Clock) -> Result<Vec<Nanoseconds>, Failure> {
        Ok(self.spans(slots)?.iter().map(Span::time).collect())
    }

    fn read(&mut self, slots: &[usize], starts: &[usize], _: Clock) -> Result<Readings, Failure> {
        let spans = self.spans(slots)?;
        let Some(first) = spans.iter().min_by_key(|span| span.begin) else { return Ok(Readings::default()) };
        let origin = *self.origin.get_or_insert(first.begin);
        let is_wanted =
            |(slot, span): (&usize, &Span)| starts.contains(slot).then(|| span.begin_since(origin));
        Ok(Readings {
            times: spans.iter().map(Span::time).collect(),
            starts: slots.iter().zip(&spans).filter_map(is_wanted).collect(),
            elapsed: spans.iter().map(|span| span.end_since(first)).fold(Nanoseconds::ZERO, Nanoseconds::max),
            clock: None,
        })
    }

    fn begin_series(&mut self) {
        self.origin = None;
    }

    fn resolution(&self) -> Option<Nanoseconds> {
        Some(self.timestamps.step())
    }

    fn refuses(&self, flush: Flush) -> Option<String> {
        matches!(flush, Flush::Discard | Flush::Lines).then(|| {
            format!("--flush {flush}: wgpu cannot discard lines of a cache; it has `read`, `write`, `none`")
        })
    }

    fn doubt(&mut self) -> Option<String> {
        flush::doubt_about_size(self)
    }
}

/// The shader of an empty kernel that binds a buffer for writing. Between two launches of it wgpu puts the
/// same barriers as between two launches that use the same memory.
const BOUND_SHADER: &str = "
@group(0) @binding(0) var<storage, read_write> y: array<u32>;
@compute @workgroup_size(32) fn empty(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x >= arrayLength(&y)) { y[0] = id.x; }
}";

/// The shader of an empty kernel without bindings: wgpu puts nothing between two launches of it in a pass.
const UNBOUND_SHADER: &str = "@compute @workgroup_size(32) fn empty() {}";

/// The empty kernels by which the overhead of the timer is measured.
#[derive(Clone)]
pub(crate) struct EmptyShaders {
    /// For one launch in a pass, with wgpu's barriers between launches that share memory.
    bound: Kernel,
    /// For many launches in a pass, with nothing between them.
    unbound: Kernel,
}

impl EmptyShaders {
    /// Compiles both kernels on the encoder's device.
    pub(crate) fn new(encoder: &Encoder) -> Self {
        // One word for each invocation: none of them writes.
        let y = buffer(encoder.device(), 4 * 32, BufferUsages::STORAGE);
        let kernel = |wgsl, buffers: &[&Buffer]| Kernel::new(encoder, (wgsl, "empty"), &[], buffers);
        Self { bound: kernel(BOUND_SHADER, &[&y]), unbound: kernel(UNBOUND_SHADER, &[]) }
    }
}

impl Wgpu {
    /// Reads back the timestamps of these slots of the last submitted batch.
    fn spans(&mut self, slots: &[usize]) -> Result<Vec<Span>, DeviceError> {
        let bytes = self.encoder.read_mapped(self.timestamps.buffer()).map_err(DeviceError::new)?;
        let spans =
            self.timestamps.spans(&bytes, &self.submitted, self.encoder.queue().get_timestamp_period())?;
        Ok(slots.iter().map(|slot| spans[slot - self.submitted.start]).collect())
    }
}
