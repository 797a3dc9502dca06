//! A suite in which two benchmarks have one name: `module_path!` does not tell which function they are nested in.

use end_to_end::clockwork::Clockwork;
use gpubench::gpu_bench;

gpubench::main!();

#[expect(dead_code, reason = "only what is nested in it counts")]
fn one() {
    #[gpu_bench]
    fn twin(stream: &Clockwork) {
        stream.advance(3_200);
    }
}

#[expect(dead_code, reason = "only what is nested in it counts")]
fn other() {
    #[gpu_bench]
    fn twin(stream: &Clockwork) {
        stream.advance(6_400);
    }
}
