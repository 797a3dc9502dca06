//! Modules of PTX, their kernels, and launches.

use std::ffi::{CStr, c_char, c_void};
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use crate::call::{Out, exports, text};
use crate::code::{Code, INVALID_HANDLE, INVALID_IMAGE, INVALID_VALUE, NOT_FOUND, NOT_SUPPORTED};
use crate::driver::{Answer, Driver};
use crate::kernels::Launch;
use crate::ptx::{self, Entry};
use crate::work::Work;

/// `CU_JIT_ERROR_LOG_BUFFER` and the size of that buffer.
const LOG: u32 = 5;
const LOG_SIZE: u32 = 6;

/// The most threads of a block in each direction and altogether.
const MOST_THREADS: [u32; 3] = [1024, 1024, 64];
const MOST_TOGETHER: u64 = 1024;
/// The shared memory that a block may have, in bytes: usually, and where its kernel is allowed more, static memory included.
const MOST_SHARED: u32 = 48 << 10;
const MOST_ALLOWED: usize = 232_448;

/// Attributes of a kernel that are the same for all: threads of a block at most, the versions of its code.
const KERNEL_ATTRIBUTES: [(u32, usize); 3] = [(0, 1024), (5, 77), (6, 90)];
/// Those that are not.
const STATIC_SHARED: u32 = 1;
const LOCAL: u32 = 3;
const REGISTERS: u32 = 4;
/// The one that is set.
const DYNAMIC_SHARED: u32 = 8;

/// The limits of a multiprocessor: blocks, warps, registers, which a warp gets by the 256, and shared memory, of which each
/// block takes a KiB more than it asks for.
const BLOCKS: usize = 32;
const WARPS: usize = 64;
const ALL_REGISTERS: usize = 65_536;
const ALL_SHARED: usize = 233_472;
const RESERVED_SHARED: usize = 1024;

/// The number of blocks of so many threads that a multiprocessor holds at once.
fn resident(entry: &Entry, threads: usize, dynamic_shared: usize) -> usize {
    let warps = threads.div_ceil(32).max(1);
    let registers = (32 * entry.registers).next_multiple_of(256) * warps;
    let shared = entry.shared + dynamic_shared + RESERVED_SHARED;
    BLOCKS.min(WARPS / warps).min(ALL_REGISTERS / registers).min(ALL_SHARED / shared)
}

impl Driver {
    /// Loads a module; tells what the compiler has to say of one that is refused.
    fn load(&mut self, image: *const c_char) -> Result<usize, (Code, String)> {
        if image.is_null() {
            return Err((INVALID_VALUE, String::new()));
        }
        // SAFETY: the function's contract: an image has a first byte.
        if unsafe { image.read() } == 0x7f {
            return Err((INVALID_IMAGE, String::new()));
        }
        // SAFETY: what is no machine code is text with a zero behind it.
        let text = unsafe { CStr::from_ptr(image) };
        let entries = ptx::entries(&text.to_string_lossy(), self.config.capability)
            .map_err(|refusal| (refusal.code, refusal.log))?;
        let module = self.handle();
        let kernels: Vec<_> = entries.into_iter().map(|entry| (self.handle(), Arc::new(entry))).collect();
        self.functions.extend(kernels.iter().cloned());
        self.modules.insert(module, kernels);
        Ok(module)
    }

    /// Copies from an address of the caller. A launch with too few arguments has pointers to nowhere, so a page that was not read
    /// before is read as a file first, if the system has that file.
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Answer {
        let last = address.saturating_add((bytes.len() as u64).saturating_sub(1));
        for page in [address / PAGE, last / PAGE] {
            if page == 0 {
                return Err(INVALID_VALUE);
            }
            if self.readable.contains(&page) {
                continue;
            }
            if let Ok(memory) = File::open("/proc/self/mem") {
                memory.read_exact_at(&mut [0], page * PAGE).map_err(|_| INVALID_VALUE)?;
            }
            self.readable.insert(page);
        }
        let pointer = std::ptr::with_exposed_provenance::<u8>(address as usize);
        // SAFETY: the function's contract: each argument is as large as the kernel's parameter.
        unsafe { pointer.copy_to_nonoverlapping(bytes.as_mut_ptr(), bytes.len()) };
        Ok(())
    }

    /// The bits of argument `index`, which has `size` bytes, or of its first 8.
    fn argument(&mut self, arguments: usize, index: usize, size: usize) -> Result<u64, Code> {
        let (mut pointer, mut bytes) = ([0; 8], [0; 8]);
        self.read(arguments.wrapping_add(8 * index) as u64, &mut pointer)?;
        self.read(u64::from_le_bytes(pointer), &mut bytes[..size.min(8)])?;
        Ok(u64::from_le_bytes(bytes))
    }
}

/// The bytes of a page of the caller's memory, at least.
const PAGE: u64 = 4096;

/// The value of an option, which stands in the pointer itself or is one.
fn option(options: &Out<u32>, values: &Out<usize>, count: u32, wanted: u32) -> Option<usize> {
    let index = (0..count as usize).find(|index| options.at(*index).get() == Ok(wanted))?;
    values.at(index).get().ok()
}

exports! {
    fn cuModuleLoadData(driver, module: Out<usize>, image: *const c_char) {
        module.set(driver.load(image).map_err(|(code, _)| code)?)
    }

    fn cuModuleLoadDataEx(
        driver,
        module: Out<usize>,
        image: *const c_char,
        count: u32,
        options: Out<u32>,
        values: Out<usize>,
    ) {
        match driver.load(image) {
            Ok(handle) => module.set(handle),
            Err((code, log)) => {
                let buffer = option(&options, &values, count, LOG);
                let size = option(&options, &values, count, LOG_SIZE);
                if let (Some(buffer), Some(size)) = (buffer, size) {
                    Out::<c_char>::there(buffer).text(&log, size)?;
                }
                Err(code)
            }
        }
    }

    fn cuModuleUnload(driver, module: usize) {
        driver.refuse_while_capturing()?;
        let kernels = driver.modules.remove(&module).ok_or(INVALID_HANDLE)?;
        for (function, _) in kernels {
            driver.functions.remove(&function);
            driver.allowed_shared.remove(&function);
        }
        Ok(())
    }

    fn cuModuleGetFunction(driver, function: Out<usize>, module: usize, name: *const c_char) {
        let name = text(name)?;
        let kernels = driver.modules.get(&module).ok_or(INVALID_HANDLE)?;
        let found = kernels.iter().find(|(_, entry)| entry.name == name).ok_or(NOT_FOUND)?;
        function.set(found.0)
    }

    fn cuFuncGetAttribute(driver, value: Out<i32>, attribute: u32, function: usize) {
        let entry = driver.functions.get(&function).ok_or(INVALID_HANDLE)?;
        let found = match attribute {
            STATIC_SHARED => entry.shared,
            LOCAL => entry.local,
            REGISTERS => entry.registers,
            other => {
                let found = KERNEL_ATTRIBUTES.iter().find(|(number, _)| *number == other);
                found.map_or(0, |(_, value)| *value)
            }
        };
        value.set(found as i32)
    }

    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
        driver,
        blocks: Out<i32>,
        function: usize,
        threads: i32,
        dynamic_shared: usize,
    ) {
        let entry = driver.functions.get(&function).ok_or(INVALID_HANDLE)?;
        let threads = usize::try_from(threads).map_err(|_| INVALID_VALUE)?;
        blocks.set(resident(entry, threads, dynamic_shared) as i32)
    }

    fn cuFuncSetAttribute(driver, function: usize, attribute: u32, value: i32) {
        let entry = driver.functions.get(&function).ok_or(INVALID_HANDLE)?;
        if attribute != DYNAMIC_SHARED {
            return Err(NOT_SUPPORTED);
        }
        let value = u32::try_from(value).map_err(|_| INVALID_VALUE)?;
        if value as usize + entry.shared > MOST_ALLOWED {
            return Err(INVALID_VALUE);
        }
        driver.allowed_shared.insert(function, value);
        Ok(())
    }

    fn cuLaunchKernel(
        driver,
        function: usize,
        grid_x: u32,
        grid_y: u32,
        grid_z: u32,
        block_x: u32,
        block_y: u32,
        block_z: u32,
        shared: u32,
        stream: usize,
        arguments: usize,
        extra: *mut *mut c_void,
    ) {
        let entry = Arc::clone(driver.functions.get(&function).ok_or(INVALID_HANDLE)?);
        if !extra.is_null() {
            return Err(NOT_SUPPORTED);
        }
        let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
        let all = |sizes: [u32; 3]| sizes.into_iter().map(u64::from).product::<u64>();
        let too_many = block.iter().zip(MOST_THREADS).any(|(threads, most)| *threads > most);
        let too_much = shared > driver.allowed_shared.get(&function).copied().unwrap_or(MOST_SHARED);
        if too_much || too_many || all(block) > MOST_TOGETHER || all(block) == 0 || all(grid) == 0 {
            driver.invalidate(stream);
            return Err(INVALID_VALUE);
        }
        let sizes = entry.parameters.iter().enumerate();
        let given = sizes.map(|(index, size)| driver.argument(arguments, index, *size));
        let given = given.collect::<Result<_, _>>()?;
        driver.submit(stream, Work::Kernel(Launch::new(&entry, given, all(grid), all(block))))
    }
}
