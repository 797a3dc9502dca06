#![allow(unused_variables)]

use gpubench::{gpu_bench, host};

struct Saxpy;

impl Saxpy {
    #[gpu_bench(cold)]
    fn launch(&self, x: &[f32], stream: &host::Stream) -> Result<(), String> {
        stream.run(|| drop(x.len()));
        Ok(())
    }

    #[gpu_bench]
    fn consume(k: Box<Self>, _stream: &host::Stream) {}
}

// The attribute cannot tell this from a free function; the compiler can.
impl Saxpy {
    #[gpu_bench]
    fn associated(_stream: &host::Stream) {}
}

fn main() {
    let _ = (Saxpy::launch, Saxpy::consume);
}
