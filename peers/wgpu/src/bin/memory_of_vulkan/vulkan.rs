//! A device of Vulkan without wgpu.
//!
//! What is unsafe here follows one rule: objects are destroyed by [`Vulkan`]'s callers or at its end, when its queue is idle.

use std::ffi::{CStr, c_char};
use std::fs;
use std::path::Path;

use ash::{Device, Entry, Instance, ext, khr, vk};
use wgpu_peer::variants::{Shape, Work, spirv};
use wgpu_peer::{Failure, median};

const WARM_UP: usize = 2;

/// The kind of a device.
#[derive(Clone, Copy, PartialEq)]
pub struct Kind {
    /// Buffer accesses are bounded by the driver (`robustBufferAccess2`), as wgpu has it.
    pub robust: bool,
    /// The queue's family has no graphics.
    pub compute_alone: bool,
}

/// A compute pipeline with its buffers.
pub struct Pipeline {
    pub pipeline: vk::Pipeline,
    layout: vk::PipelineLayout,
    set: vk::DescriptorSet,
    grid: [u32; 2],
}

pub struct Vulkan {
    pub instance: Instance,
    pub physical: vk::PhysicalDevice,
    pub device: Device,
    pub exports: bool,
    pub told: bool,
    queue: vk::Queue,
    commands: vk::CommandBuffer,
    pool: vk::CommandPool,
    descriptors: vk::DescriptorPool,
    set_layout: vk::DescriptorSetLayout,
    layout: vk::PipelineLayout,
    stamps: vk::QueryPool,
    fence: vk::Fence,
    period: f64,
    // Last, since all functions are the library's.
    _entry: Entry,
}

impl Vulkan {
    pub fn open(number: usize, kind: Kind) -> Result<Self, Failure> {
        // SAFETY: see the head of the file.
        unsafe {
            let entry = Entry::load()?;
            let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_2);
            let information = vk::InstanceCreateInfo::default().application_info(&application);
            let instance = entry.create_instance(&information, None)?;
            let mut physical = instance.enumerate_physical_devices()?;
            // Real GPUs before software.
            physical.sort_by_key(|physical| {
                let kind = instance.get_physical_device_properties(*physical).device_type;
                kind == vk::PhysicalDeviceType::CPU
            });
            let physical = *physical.get(number).ok_or("no such device of Vulkan")?;
            let families = instance.get_physical_device_queue_family_properties(physical);
            let fits = |flags: vk::QueueFlags| {
                let graphics = flags.contains(vk::QueueFlags::GRAPHICS);
                flags.contains(vk::QueueFlags::COMPUTE) && !(kind.compute_alone && graphics)
            };
            let family =
                families.iter().position(|family| fits(family.queue_flags)).ok_or("no such queue")?;
            let known = instance.enumerate_device_extension_properties(physical)?;
            let has = |name: &CStr| known.iter().any(|known| known.extension_name_as_c_str() == Ok(name));
            let (exports, told) =
                (has(khr::external_memory_fd::NAME), has(khr::pipeline_executable_properties::NAME));
            let mut names: Vec<*const c_char> = Vec::new();
            let mut executables = vk::PhysicalDevicePipelineExecutablePropertiesFeaturesKHR::default()
                .pipeline_executable_info(true);
            let mut robustness =
                vk::PhysicalDeviceRobustness2FeaturesEXT::default().robust_buffer_access2(true);
            let features = vk::PhysicalDeviceFeatures::default().robust_buffer_access(kind.robust);
            let queues = [vk::DeviceQueueCreateInfo::default()
                .queue_family_index(family as u32)
                .queue_priorities(&[1.0])];
            let mut information =
                vk::DeviceCreateInfo::default().queue_create_infos(&queues).enabled_features(&features);
            if exports {
                names.push(khr::external_memory_fd::NAME.as_ptr());
            }
            if told {
                names.push(khr::pipeline_executable_properties::NAME.as_ptr());
                information = information.push_next(&mut executables);
            }
            if kind.robust && has(ext::robustness2::NAME) {
                names.push(ext::robustness2::NAME.as_ptr());
                information = information.push_next(&mut robustness);
            }
            let device =
                instance.create_device(physical, &information.enabled_extension_names(&names), None)?;
            let pool = vk::CommandPoolCreateInfo::default()
                .flags(vk::CommandPoolCreateFlags::RESET_COMMAND_BUFFER)
                .queue_family_index(family as u32);
            let pool = device.create_command_pool(&pool, None)?;
            let commands =
                vk::CommandBufferAllocateInfo::default().command_pool(pool).command_buffer_count(1);
            let commands = device.allocate_command_buffers(&commands)?[0];
            let bindings = [0, 1, 2].map(|binding| {
                vk::DescriptorSetLayoutBinding::default()
                    .binding(binding)
                    .descriptor_type(vk::DescriptorType::STORAGE_BUFFER)
                    .descriptor_count(1)
                    .stage_flags(vk::ShaderStageFlags::COMPUTE)
            });
            let set_layout = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
            let set_layout = device.create_descriptor_set_layout(&set_layout, None)?;
            let layouts = [set_layout];
            let layout = vk::PipelineLayoutCreateInfo::default().set_layouts(&layouts);
            let sizes = [vk::DescriptorPoolSize::default()
                .ty(vk::DescriptorType::STORAGE_BUFFER)
                .descriptor_count(1200)];
            let descriptors = vk::DescriptorPoolCreateInfo::default().pool_sizes(&sizes).max_sets(400);
            let stamps =
                vk::QueryPoolCreateInfo::default().query_type(vk::QueryType::TIMESTAMP).query_count(2);
            let limits = instance.get_physical_device_properties(physical).limits;
            Ok(Self {
                queue: device.get_device_queue(family as u32, 0),
                layout: device.create_pipeline_layout(&layout, None)?,
                descriptors: device.create_descriptor_pool(&descriptors, None)?,
                stamps: device.create_query_pool(&stamps, None)?,
                fence: device.create_fence(&vk::FenceCreateInfo::default(), None)?,
                period: f64::from(limits.timestamp_period) / 1e3,
                instance,
                physical,
                device,
                exports,
                told,
                commands,
                pool,
                set_layout,
                _entry: entry,
            })
        }
    }

    /// Compiles `shape` for the buffers `result`, `y` and `x`, of `size` bytes but the first.
    pub fn pipeline(
        &self,
        (shape, work): (Shape, Work),
        checked: bool,
        size: u64,
        buffers: [vk::Buffer; 3],
        dump: Option<&Path>,
    ) -> Result<Pipeline, Failure> {
        let words = spirv(&shape.wgsl(work, size), checked)?;
        // SAFETY: see the head of the file.
        unsafe {
            let module = vk::ShaderModuleCreateInfo::default().code(&words);
            let module = self.device.create_shader_module(&module, None)?;
            let stage = vk::PipelineShaderStageCreateInfo::default()
                .stage(vk::ShaderStageFlags::COMPUTE)
                .module(module)
                .name(c"main");
            let flags = if self.told && dump.is_some() {
                vk::PipelineCreateFlags::CAPTURE_STATISTICS_KHR
                    | vk::PipelineCreateFlags::CAPTURE_INTERNAL_REPRESENTATIONS_KHR
            } else {
                vk::PipelineCreateFlags::empty()
            };
            let information =
                vk::ComputePipelineCreateInfo::default().stage(stage).layout(self.layout).flags(flags);
            let cache = self.device.create_pipeline_cache(&Default::default(), None)?;
            let made = self.device.create_compute_pipelines(cache, &[information], None);
            self.device.destroy_shader_module(module, None);
            if let Some(file) = dump {
                fs::write(file, self.device.get_pipeline_cache_data(cache)?)?;
            }
            self.device.destroy_pipeline_cache(cache, None);
            let pipeline = made.map_err(|(_, error)| error)?[0];
            let layouts = [self.set_layout];
            let set = vk::DescriptorSetAllocateInfo::default()
                .descriptor_pool(self.descriptors)
                .set_layouts(&layouts);
            let set = self.device.allocate_descriptor_sets(&set)?[0];
            let bound = buffers
                .map(|buffer| [vk::DescriptorBufferInfo::default().buffer(buffer).range(vk::WHOLE_SIZE)]);
            let writes = [0, 1, 2].map(|binding| {
                vk::WriteDescriptorSet::default()
                    .dst_set(set)
                    .dst_binding(binding as u32)
                    .descriptor_type(vk::DescriptorType::STORAGE_BUFFER)
                    .buffer_info(&bound[binding])
            });
            self.device.update_descriptor_sets(&writes, &[]);
            Ok(Pipeline { pipeline, layout: self.layout, set, grid: shape.grid(size) })
        }
    }

    /// Returns the median time of a launch, alone in its submission, in µs.
    pub fn time(&self, pipeline: &Pipeline, launches: usize) -> Result<f64, Failure> {
        let (device, commands) = (&self.device, self.commands);
        let [x, y] = pipeline.grid;
        let point = vk::PipelineBindPoint::COMPUTE;
        let mut times = Vec::new();
        // SAFETY: see the head of the file.
        unsafe {
            device.begin_command_buffer(commands, &vk::CommandBufferBeginInfo::default())?;
            device.cmd_reset_query_pool(commands, self.stamps, 0, 2);
            device.cmd_bind_pipeline(commands, point, pipeline.pipeline);
            device.cmd_bind_descriptor_sets(commands, point, pipeline.layout, 0, &[pipeline.set], &[]);
            let end = vk::PipelineStageFlags::BOTTOM_OF_PIPE;
            device.cmd_write_timestamp(commands, end, self.stamps, 0);
            device.cmd_dispatch(commands, x, y, 1);
            device.cmd_write_timestamp(commands, end, self.stamps, 1);
            device.end_command_buffer(commands)?;
            let buffers = [commands];
            for _ in 0..WARM_UP + launches {
                let submission = vk::SubmitInfo::default().command_buffers(&buffers);
                device.queue_submit(self.queue, &[submission], self.fence)?;
                device.wait_for_fences(&[self.fence], true, 10_000_000_000)?;
                device.reset_fences(&[self.fence])?;
                let mut read = [0u64; 2];
                let flags = vk::QueryResultFlags::TYPE_64 | vk::QueryResultFlags::WAIT;
                device.get_query_pool_results(self.stamps, 0, &mut read, flags)?;
                times.push(read[1].wrapping_sub(read[0]) as f64 * self.period);
            }
        }
        Ok(median(times.split_off(WARM_UP)))
    }

    /// Destroys a pipeline. Its descriptors go with the device.
    pub fn destroy(&self, pipeline: Pipeline) {
        // SAFETY: the queue is idle behind every launch.
        unsafe { self.device.destroy_pipeline(pipeline.pipeline, None) }
    }
}

impl Drop for Vulkan {
    fn drop(&mut self) {
        // SAFETY: nothing uses them behind the wait, whose error would be the device's end too.
        unsafe {
            _ = self.device.device_wait_idle();
            self.device.destroy_fence(self.fence, None);
            self.device.destroy_query_pool(self.stamps, None);
            self.device.destroy_descriptor_pool(self.descriptors, None);
            self.device.destroy_pipeline_layout(self.layout, None);
            self.device.destroy_descriptor_set_layout(self.set_layout, None);
            self.device.destroy_command_pool(self.pool, None);
            self.device.destroy_device(None);
            self.instance.destroy_instance(None);
        }
    }
}
