use gpubench::{gpu_bench, host};

struct Handle(u8);

#[gpu_bench(setup = Ok(Handle(1)), restore = [handle])]
fn without_the_trait(handle: &mut Handle, stream: &host::Stream) {
    stream.run(|| handle.0 += 1);
}

fn main() {}
