//! Memory of Vulkan's.

use ash::{khr, vk};
use wgpu_peer::Failure;

use crate::vulkan::Vulkan;

/// The kind of an allocation.
#[derive(Clone, Copy, PartialEq)]
pub struct Allocation {
    /// The memory type; otherwise the first that is local to the device.
    pub memory_type: Option<u32>,
    pub dedicated: bool,
    pub exported: bool,
}

/// A buffer with its own allocation.
pub struct Array {
    pub buffer: vk::Buffer,
    pub memory: vk::DeviceMemory,
    pub allocated: u64,
}

impl Vulkan {
    /// Returns the memory types that are local to the device.
    pub fn local_types(&self) -> Vec<(u32, vk::MemoryPropertyFlags)> {
        // SAFETY: see the head of the file.
        let memory = unsafe { self.instance.get_physical_device_memory_properties(self.physical) };
        let flags = (0..).zip(memory.memory_types_as_slice()).map(|(at, of)| (at, of.property_flags));
        flags.filter(|(_, flags)| flags.contains(vk::MemoryPropertyFlags::DEVICE_LOCAL)).collect()
    }

    /// Makes a buffer with the suite's usages in an allocation of this kind.
    pub fn array(&self, size: u64, kind: Allocation) -> Result<Array, Failure> {
        let usage = vk::BufferUsageFlags::STORAGE_BUFFER
            | vk::BufferUsageFlags::TRANSFER_SRC
            | vk::BufferUsageFlags::TRANSFER_DST;
        let fd = vk::ExternalMemoryHandleTypeFlags::OPAQUE_FD;
        let mut external = vk::ExternalMemoryBufferCreateInfo::default().handle_types(fd);
        let mut export = vk::ExportMemoryAllocateInfo::default().handle_types(fd);
        // SAFETY: see the head of the file.
        unsafe {
            let mut information = vk::BufferCreateInfo::default().size(size).usage(usage);
            if kind.exported {
                information = information.push_next(&mut external);
            }
            let buffer = self.device.create_buffer(&information, None)?;
            let needs = self.device.get_buffer_memory_requirements(buffer);
            let fits = |at: u32| needs.memory_type_bits & (1 << at) != 0;
            let local = self.local_types().into_iter().map(|(at, _)| at).find(|at| fits(*at));
            let wanted = kind.memory_type.filter(|at| fits(*at)).or(local);
            let mut dedicated = vk::MemoryDedicatedAllocateInfo::default().buffer(buffer);
            let mut information = vk::MemoryAllocateInfo::default()
                .allocation_size(needs.size)
                .memory_type_index(wanted.ok_or("no memory of the device")?);
            if kind.dedicated {
                information = information.push_next(&mut dedicated);
            }
            if kind.exported {
                information = information.push_next(&mut export);
            }
            let memory = match self.device.allocate_memory(&information, None) {
                Ok(memory) => memory,
                Err(error) => {
                    self.device.destroy_buffer(buffer, None);
                    return Err(error.into());
                }
            };
            self.device.bind_buffer_memory(buffer, memory, 0)?;
            Ok(Array { buffer, memory, allocated: needs.size })
        }
    }

    /// Returns a file descriptor of an exported array's memory, which is the caller's.
    pub fn export(&self, array: &Array) -> Result<i32, Failure> {
        let functions = khr::external_memory_fd::Device::new(&self.instance, &self.device);
        let information = vk::MemoryGetFdInfoKHR::default()
            .memory(array.memory)
            .handle_type(vk::ExternalMemoryHandleTypeFlags::OPAQUE_FD);
        // SAFETY: see the head of the file.
        Ok(unsafe { functions.get_memory_fd(&information) }?)
    }

    pub fn free(&self, array: Array) {
        // SAFETY: the queue is idle behind every launch.
        unsafe {
            self.device.destroy_buffer(array.buffer, None);
            self.device.free_memory(array.memory, None);
        }
    }
}
