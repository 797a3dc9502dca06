//! `nbody.cu`: gravity between all pairs of bodies.

use super::{Array, Input, KernelCall, KernelWork, OutputValues, Reference, set};

/// The acceleration of a body of four numbers, which are its place and its mass, by `bodies`; and the sum of the absolute
/// values of its terms. `softening` is added to each squared distance.
pub fn pull(bodies: impl Iterator<Item = [f64; 4]>, body: [f64; 4], softening: f32) -> ([f64; 3], [f64; 3]) {
    let (mut sums, mut absolute) = ([0.0; 3], [0.0; 3]);
    for other in bodies {
        let away = [0, 1, 2].map(|axis| other[axis] - body[axis]);
        let square = away.iter().map(|part| part * part).sum::<f64>() + f64::from(softening);
        let pull = other[3] / (square * square.sqrt());
        for axis in 0..3 {
            sums[axis] += away[axis] * pull;
            absolute[axis] += (away[axis] * pull).abs();
        }
    }
    (sums, absolute)
}

/// The reference for this kernel.
pub const KERNELS: &[Reference] = &[Reference {
    kernel: "nbody",
    parameters: &[8, 8, 8, 4],
    arrays: |call| {
        let bytes = call.bytes(2, 16);
        vec![Array::read(call.word(0), bytes), Array::write(call.word(1), bytes)]
    },
    values: OutputValues::Gathered { size: 16, compute: accelerate },
    // 20 operations an interaction, by convention.
    work: |call| KernelWork::Operations {
        count: call.word(2).saturating_pow(2).saturating_mul(20),
        speed: 40e3,
    },
}];

/// Computes the accelerations of the bodies from number `first` on, each with a 0 behind it.
fn accelerate(call: &KernelCall, inputs: &[&dyn Input], first: u64, accelerations: &mut [u8]) {
    let numbers: &[[[u8; 4]; 4]] = inputs[0].all().as_chunks().0.as_chunks().0;
    let body = |index: usize| numbers[index].map(|number| f64::from(f32::from_le_bytes(number)));
    let pulling = numbers.len() - call.left_out as usize;
    set::<16>(accelerations, |index| {
        let ([x, y, z], _) = pull((0..pulling).map(body), body(first as usize + index), call.float(3));
        let mut parts = [x, y, z, 0.0].into_iter().flat_map(|part| (part as f32).to_le_bytes());
        std::array::from_fn(|_| parts.next().unwrap_or(0))
    });
}

#[cfg(test)]
mod tests {
    use super::super::bytes::ByteArray;
    use super::super::f32s;
    use super::*;

    #[test]
    fn bodies_pull_each_other() {
        let bodies = ByteArray::of(&[0.0, 0.0, 0.0, 2.0, 3.0, 0.0, 0.0, 5.4]);
        let softening = 1e-9_f32.to_bits().into();
        let call = KernelCall { arguments: vec![0, 0, 2, softening], ..KernelCall::default() };
        let mut accelerations = vec![0; 32];
        accelerate(&call, &[&bodies], 0, &mut accelerations);
        let found: Vec<f32> = f32s(&accelerations).collect();
        assert!((found[0] - 0.6).abs() < 1e-6 && (found[4] + 2.0 / 9.0).abs() < 1e-6, "{found:?}");
    }

    #[test]
    fn two_bodies_pull_each_other_along_the_line_between_them() {
        // Three apart along x: the square is 9, and its root cubed is 27.
        let bodies = [[0.0, 0.0, 0.0, 2.0], [3.0, 0.0, 0.0, 5.0]];
        let (sums, absolute) = pull(bodies.into_iter(), bodies[0], 1e-3);
        assert!((sums[0] - 15.0 / 27.0).abs() < 1e-3 && sums[1..] == [0.0, 0.0], "{sums:?}");
        assert_eq!(sums, absolute);
        let (back, _) = pull(bodies.into_iter(), bodies[1], 1e-3);
        assert!((back[0] + 6.0 / 27.0).abs() < 1e-3, "{back:?}");
    }
}
