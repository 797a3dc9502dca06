//! A suite of a hundred benchmarks with a hundred arguments each.

use end_to_end::clockwork::Clockwork;
use gpubench::gpu_bench;

gpubench::main!();

macro_rules! benchmarks {
    ($($tens:ident)*; $ones:tt) => {$(
        mod $tens {
            use super::*;
            benchmarks! { $ones }
        }
    )*};
    ([$($ones:ident)*]) => {$(
        mod $ones {
            use super::*;

            #[gpu_bench(args(n = 0..100), cold)]
            fn advance(n: u64, stream: &Clockwork) {
                stream.advance(32 * n);
            }
        }
    )*};
}
benchmarks! { a b c d e f g h i j; [k l m n o p q r s t] }
