//! The inputs that `restore` names are as `setup` made them when a launch begins.

use std::collections::BTreeMap;

use gpubench::gpu_bench;
use gpubench::host::Stream;

use crate::support::Benchmarks;

#[gpu_bench(args(n = [3]), setup = |n| Ok((2, (0..n).rev().collect::<Vec<_>>())), restore = [x], check = assert_eq!(x, [4, 2, 0]))]
fn slice(by: usize, x: &mut [usize], stream: &Stream) {
    stream.run(|| x.iter_mut().for_each(|x| *x *= by));
}

#[gpu_bench(setup = Ok((vec![3, 1, 2], [3, 1], BTreeMap::from([(1, 'a')]))), restore = [x, y, z],
    check = assert_eq!((x.len(), y[0], z.len()), (2, 4, 0)))]
fn several(x: &mut Vec<i32>, y: &mut [i32; 2], z: &mut BTreeMap<i32, char>, stream: &Stream) {
    stream.run(|| {
        assert_eq!(x.pop(), Some(2));
        y[0] += 1;
        z.remove(&1).expect("it was put back");
    });
}

#[gpu_bench(types(T = [u8, f32]), setup = Ok((vec![T::from(1_u8); 2], vec![T::from(1_u8)])), restore = [r#in],
    check = assert!(r#in[0] == T::from(2_u8) && kept[0] == T::from(3_u8)))]
fn generic<T: Copy + PartialEq + From<u8> + std::ops::Add<Output = T> + Send + Sync>(
    r#in: &mut impl AsMut<Vec<T>>,
    kept: &mut [T],
    stream: &Stream,
) {
    let one = T::from(1);
    let _ = stream;
    r#in.as_mut()[0] = r#in.as_mut()[0] + one;
    kept[0] = kept[0] + one;
}

/// The benchmarks of this module.
const OURS: Benchmarks = Benchmarks::of(module_path!());

#[test]
fn inputs_are_put_back_before_a_launch() {
    // The check sees a launch, a reset and another launch.
    for name in ["slice", "several"] {
        assert!(OURS.run(name).checked, "{name}");
    }
    for ty in ["u8", "f32"] {
        assert!(OURS.run_with("generic", &[("T", ty)]).expect("it is checked").checked, "{ty}");
    }
}
