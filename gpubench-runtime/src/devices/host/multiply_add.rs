//! Fused multiply-adds on vector registers, for the compute peaks of a CPU.

#![expect(unsafe_code, reason = "calls functions that need instructions which not every processor has")]

use std::hint::black_box;

/// The number of independent sums of a thread: enough to hide the latency of a multiply-add on two ports, and
/// few enough to stay in registers.
const INDEPENDENT_SUMS: usize = 12;
/// The number of multiply-adds on each sum in a run.
const STEPS_PER_RUN: usize = 40_000;

/// Returns the runs for f32 and for f64 on the widest vector registers of this processor; `None` if no fused
/// multiply-add is known.
pub(super) fn widest() -> Option<[MultiplyAdds; 2]> {
    vectors::widest()
}

/// A run of fused multiply-adds for one thread, in registers only.
#[derive(Clone, Copy)]
pub(super) struct MultiplyAdds {
    /// Executes the run.
    run: fn(),
    /// The number of values in a vector register.
    lanes: usize,
}

impl MultiplyAdds {
    /// Executes the run on the calling thread.
    pub(super) fn run(self) {
        (self.run)();
    }

    /// Returns the number of floating-point operations of a run, two for each multiply-add.
    pub(super) fn flops(self) -> f64 {
        2.0 * (self.lanes * INDEPENDENT_SUMS * STEPS_PER_RUN) as f64
    }
}

/// Defines a function `name` that runs multiply-adds with the instructions `splat` and `multiply_add`, for
/// processors with `feature`.
macro_rules! multiply_adds {
    ($($name:ident: $feature:literal, $splat:path, $multiply_add:path;)*) => {$(
        #[target_feature(enable = $feature)]
        fn $name() {
            let (factor, term) = ($splat(black_box(0.999)), $splat(black_box(0.001)));
            let mut sums = [$splat(black_box(1.0)); INDEPENDENT_SUMS];
            for _ in 0..STEPS_PER_RUN {
                for sum in &mut sums {
                    *sum = $multiply_add(*sum, factor, term);
                }
            }
            black_box(sums);
        }
    )*};
}

#[cfg(target_arch = "x86_64")]
mod vectors {
    use std::arch::x86_64::{
        _mm256_fmadd_pd, _mm256_fmadd_ps, _mm256_set1_pd, _mm256_set1_ps, _mm512_fmadd_pd, _mm512_fmadd_ps,
        _mm512_set1_pd, _mm512_set1_ps,
    };

    use super::*;

    multiply_adds! {
        f32_in_512_bits: "avx512f", _mm512_set1_ps, _mm512_fmadd_ps;
        f64_in_512_bits: "avx512f", _mm512_set1_pd, _mm512_fmadd_pd;
        f32_in_256_bits: "avx,fma", _mm256_set1_ps, _mm256_fmadd_ps;
        f64_in_256_bits: "avx,fma", _mm256_set1_pd, _mm256_fmadd_pd;
    }

    /// Returns the runs for f32 and for f64 on the widest vector registers of this processor; `None` if it
    /// has no fused multiply-add.
    pub(super) fn widest() -> Option<[MultiplyAdds; 2]> {
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has AVX-512F.
            let (f32, f64) = (|| unsafe { f32_in_512_bits() }, || unsafe { f64_in_512_bits() });
            return Some([MultiplyAdds { run: f32, lanes: 16 }, MultiplyAdds { run: f64, lanes: 8 }]);
        }
        (is_x86_feature_detected!("avx") && is_x86_feature_detected!("fma")).then(|| {
            // SAFETY: the processor has AVX and FMA.
            let (f32, f64) = (|| unsafe { f32_in_256_bits() }, || unsafe { f64_in_256_bits() });
            [MultiplyAdds { run: f32, lanes: 8 }, MultiplyAdds { run: f64, lanes: 4 }]
        })
    }
}

#[cfg(target_arch = "aarch64")]
mod vectors {
    use std::arch::aarch64::{vdupq_n_f32, vdupq_n_f64, vfmaq_f32, vfmaq_f64};

    use super::*;

    multiply_adds! {
        f32_in_128_bits: "neon", vdupq_n_f32, vfmaq_f32;
        f64_in_128_bits: "neon", vdupq_n_f64, vfmaq_f64;
    }

    /// Returns the runs for f32 and for f64 on the 128-bit vector registers of this processor.
    pub(super) fn widest() -> Option<[MultiplyAdds; 2]> {
        // SAFETY: every processor that Rust's standard library supports has NEON.
        let (f32, f64) = (|| unsafe { f32_in_128_bits() }, || unsafe { f64_in_128_bits() });
        Some([MultiplyAdds { run: f32, lanes: 4 }, MultiplyAdds { run: f64, lanes: 2 }])
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod vectors {
    /// Returns `None`: no fused multiply-add is known for this processor.
    pub(super) fn widest() -> Option<[super::MultiplyAdds; 2]> {
        None
    }
}
