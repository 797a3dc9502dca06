//! The suite of the crate, with launches that go wrong, each in a way of its own.

gpubench::main!(wgpu_kernels);

/// Launches that cost their own row, or are told in it. They run on request: `--ignored faults`.
mod faults {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use gpubench::gpu_bench;
    use gpubench::wgpu::wgpu::{Buffer, BufferDescriptor, BufferUsages};
    use gpubench::wgpu::{Encoder, Kernel};
    use wgpu_kernels::Saxpy;

    fn buffer(size: u64, usage: BufferUsages, encoder: &Encoder) -> Buffer {
        let descriptor =
            BufferDescriptor { label: Some("of the test"), size, usage, mapped_at_creation: false };
        encoder.device().create_buffer(&descriptor)
    }

    /// Copies into a buffer that is not made for it.
    #[gpu_bench(
        setup = Ok((buffer(64, BufferUsages::COPY_SRC, encoder), buffer(64, BufferUsages::STORAGE, encoder))),
        ignore,
    )]
    fn invalid_in_launch(from: &Buffer, to: &Buffer, encoder: &Encoder) {
        encoder.commands(|commands| commands.copy_buffer_to_buffer(from, 0, to, 0, 64));
    }

    /// Makes a shader that is none.
    #[gpu_bench(setup = Ok(Kernel::new(encoder, ("fn broken(", "broken"), &[], &[])), ignore)]
    fn invalid_in_setup(kernel: &Kernel, encoder: &Encoder) {
        kernel.launch(encoder, 1);
    }

    /// Makes more buffers than there is memory for, in a process whose memory the test limits.
    #[gpu_bench(setup = Ok(huge(encoder)), tags = ["memory"], ignore)]
    fn out_of_memory(_all: &Vec<Buffer>, encoder: &Encoder) {
        encoder.pass(|_| {});
    }

    /// Makes 128 buffers of 2 GiB, which nothing touches.
    fn huge(encoder: &Encoder) -> Vec<Buffer> {
        let size = encoder.device().limits().max_buffer_size.min(1 << 31) & !15;
        (0..128).map(|_| buffer(size, BufferUsages::COPY_DST, encoder)).collect()
    }

    /// Destroys the device.
    #[gpu_bench(setup = Ok(()), ignore)]
    fn loses_the_device(_nothing: &(), encoder: &Encoder) {
        encoder.device().destroy();
        encoder.pass(|_| {});
    }

    /// Destroys the device at its tenth launch: the checked one is sound, and samples are under way.
    #[gpu_bench(setup = Ok(Saxpy::new(16, encoder)), ignore)]
    fn loses_the_device_later(state: &Saxpy, encoder: &Encoder) {
        static LAUNCHES: AtomicUsize = AtomicUsize::new(0);
        state.launch(16, encoder);
        if LAUNCHES.fetch_add(1, Ordering::Relaxed) == 9 {
            encoder.device().destroy();
        }
    }

    /// Launches past the encoder.
    #[gpu_bench(setup = Ok(()), ignore)]
    fn encodes_nothing(_nothing: &(), encoder: &Encoder) {
        encoder.queue().submit([]);
    }

    /// Leaves other values than its check asks for.
    #[gpu_bench(
        setup = Ok(Saxpy::new(16, encoder)),
        check = |state| state.expect(3.0),
        ignore,
    )]
    fn wrong_values(state: &Saxpy, encoder: &Encoder) {
        state.launch(16, encoder);
    }

    /// Panics when it is launched again.
    #[gpu_bench(setup = Ok(Saxpy::new(16, encoder)), ignore)]
    fn panics(state: &Saxpy, encoder: &Encoder) {
        state.launch(16, encoder);
        panic!("no launch today");
    }

    /// Asks for the host's part.
    #[gpu_bench(setup = Ok(Saxpy::new(16, encoder)), host_work, ignore)]
    fn with_host_work(state: &Saxpy, encoder: &Encoder) {
        std::thread::sleep(Duration::from_micros(1));
        state.launch(16, encoder);
    }

    /// Is behind all of these, and sound.
    #[gpu_bench(
        args(n = [1 << 10]),
        setup = Ok(Saxpy::new(n, encoder)),
        reset = |state: &Saxpy, encoder: &Encoder| state.clear(encoder),
        reads = 8 * n,
        writes = 4 * n,
        cold,
        ignore,
    )]
    fn sound(state: &Saxpy, n: usize, encoder: &Encoder) {
        state.launch(n, encoder);
    }
}
