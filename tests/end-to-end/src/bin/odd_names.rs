//! A suite whose arguments, conditions and errors have line breaks and escapes of terminals in them.

use end_to_end::clockwork::Clockwork;
use gpubench::gpu_bench;

gpubench::main!();

#[gpu_bench(args(text = ["two\nlines: benchmark", "\u{1b}[31mred\u{7}", "plain"]))]
fn odd(text: &str, stream: &Clockwork) {
    stream.advance(3_200 + text.len() as u64);
}

#[gpu_bench(args(n = [1, 2]), skip_if = n == 2, "\u{1b}[2Jnever")]
fn fails(n: u64, stream: &Clockwork) -> Result<(), String> {
    stream.advance(n);
    Err("\u{1b}]0;title\u{7}gone".to_owned())
}
