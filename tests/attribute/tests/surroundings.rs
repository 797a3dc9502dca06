//! Whatever stands around a benchmark: strict lints, shadowed names, private and nested places, other macros.

#![forbid(unsafe_code, unused_variables, unused_mut)]
#![deny(warnings, missing_docs, unused_qualifications, unreachable_pub, single_use_lifetimes, unused_results)]
#![deny(clippy::all, clippy::pedantic, elided_lifetimes_in_paths, trivial_casts, let_underscore_drop)]

use crate::support::Benchmarks;

/// Names that the attribute may not rely on: each means something else here.
mod shadowed {
    use ::gpubench::host::Stream as S;

    #[allow(dead_code)]
    mod core {}
    #[allow(dead_code)]
    mod std {}
    #[allow(dead_code)]
    mod gpubench {}
    #[allow(dead_code, non_camel_case_types)]
    mod types {
        pub(super) struct Option;
        pub(super) struct Result;
        pub(super) struct String;
        pub(super) struct Box;
        pub(super) struct Clone;
        pub(super) struct Vec;
        pub(super) struct Counts;
        pub(super) struct Default;
        pub(super) struct Send;
        pub(super) struct str;
        pub(super) struct u64;
    }
    #[allow(unused_imports)]
    use self::types::*;
    #[allow(dead_code, non_snake_case)]
    fn Some() {}
    #[allow(dead_code, non_snake_case)]
    fn Ok() {}
    #[allow(clippy::unnecessary_wraps)]
    fn pair(_: usize) -> ::core::result::Result<[u8; 2], &'static ::core::primitive::str> {
        ::core::result::Result::Ok([1; 2])
    }
    #[allow(unused_macros)]
    macro_rules! vec {
        () => {
            compile_error!("not the one")
        };
    }

    #[::gpubench::gpu_bench(
        args(n = [2usize]), setup = pair, check = |x, n| assert_eq!(x.len(), n), reads = x.len(), flops = n,
        cold, max_time = 1, data_type = "f64"
    )]
    #[allow(clippy::trivially_copy_pass_by_ref)]
    fn among_shadows(x: &[u8; 2], n: usize, stream: &S) {
        stream.run(|| assert_eq!(x.len(), n));
    }

    ::gpubench::group!(GROUP, cold, max_time = 1, tags = ["shadowed"], link = d2d);

    #[::gpubench::gpu_bench(
        types(T = [::core::primitive::u8, f32]), consts(N = [2, 3]), args(zip(n = pow2(1..3), m = [1, 2]), k = pow2(3..4)),
        setup = of_type::<T, N>, check = |x, n, m, k| assert!(x.len() == N && n == 2 * m && k == 8),
        items = n * m * k + x.len(), "things", skip_if = n > 4 * N, "too many", group = GROUP, name = "generic", ignore,
        timeout = 9, tags = ["own"]
    )]
    fn generic_among_shadows<T, const N: usize>(x: &[T; N], n: usize, stream: &S)
    where
        T: Sync,
    {
        stream.run(|| assert!(x.len() <= N && n > 1));
    }

    #[allow(clippy::unnecessary_wraps)]
    fn of_type<T: Copy + ::core::default::Default, const N: usize>(
        n: usize,
        m: usize,
        _: usize,
    ) -> ::core::result::Result<[T; N], &'static ::core::primitive::str> {
        if n == m {
            ::core::result::Result::Err("odd")
        } else {
            ::core::result::Result::Ok([T::default(); N])
        }
    }

    #[allow(dead_code)]
    fn pow2() {}
}

mod outer {
    mod inner {
        use gpubench::{gpu_bench, host};

        #[gpu_bench]
        fn in_a_private_module(_stream: &host::Stream) {}
    }

    pub(crate) mod facade {
        pub(crate) use gpubench as renamed;
    }
}

/// A benchmark may stand where nothing else can name it.
fn nest() {
    use gpubench::{gpu_bench, host};

    const SIZES: [usize; 2] = [1, 2];

    #[gpu_bench(args(n = SIZES), setup = double, check = |doubled, n| assert_eq!(doubled, 2 * n))]
    fn nested(doubled: usize, _stream: &host::Stream) {
        let _ = doubled;
    }

    #[allow(clippy::unnecessary_wraps)]
    fn double(n: usize) -> Result<usize, String> {
        Ok(2 * n)
    }
}

#[gpubench::gpu_bench(crate = crate::surroundings::outer::facade::renamed)]
fn through_another_path(_stream: &gpubench::host::Stream) {}

#[gpubench::gpu_bench]
#[cfg(any())]
fn configured_out(_stream: &NoSuchType) {}

#[gpubench::gpu_bench]
#[deprecated]
fn out_of_fashion(_stream: &gpubench::host::Stream) {}

#[deprecated]
struct Old;

#[expect(deprecated)]
fn of_old_types_too(_: &Old) {}

#[gpubench::gpu_bench(setup = Ok(Old), check = of_old_types_too(old))]
#[expect(deprecated)]
fn of_old_types(old: &Old, _stream: &gpubench::host::Stream) {
    let _ = old;
}

/// A closure with a return type has braces, whatever stands in them. Neither `unused_braces` nor its fix, which would not
/// parse, is the user's business.
#[gpubench::gpu_bench(
    setup = || -> Result<u8, String> { Ok(1) },
    reset = |_, _| -> Result<(), String> { if std::env::args().count() == 0 { Err("no name".to_owned()) } else { Ok(()) } },
    check = |one| -> Result<(), String> { if one == 1 { Ok(()) } else { Err("not one".to_owned()) } },
)]
fn braced(one: u8, stream: &gpubench::host::Stream) {
    stream.run(|| assert_eq!(one, 1));
}

/// Without a return type the braces are optional, and may stand all the same.
#[gpubench::gpu_bench(
    args(n = [1_u8]),
    setup = |n| { one_more(n) },
    reset = |_, _| { nothing() },
    check = |two, _| { two_is(two) },
)]
fn braced_without_need(two: u8, stream: &gpubench::host::Stream) {
    stream.run(|| assert_eq!(two, 2));
}

#[allow(clippy::unnecessary_wraps)]
fn one_more(n: u8) -> Result<u8, String> {
    Ok(n + 1)
}

fn two_is(two: u8) {
    assert_eq!(two, 2);
}

fn nothing() {}

/// A macro passes types and expressions in invisible groups.
macro_rules! fills {
    ($($name:ident: $t:ty = $one:expr, $stream:ty, $setup:expr, $check:expr, $count:expr;)*) => {$(
        #[gpubench::gpu_bench(args(n = [3usize]), setup = $setup, check = $check, writes = $count * y.len())]
        #[allow(clippy::ptr_arg)]
        fn $name(y: &mut $t, stream: $stream) {
            stream.run(|| y.fill($one));
        }
    )*};
}

fills! {
    fill_f32: [f32] = 1.0, &gpubench::host::Stream, |n| Ok(vec![0f32; n]), |y, n| assert_eq!(y, vec![1.0; n]), 4;
    fill_u8: Vec<u8> = 1, gpubench::host::Stream, zeros, all_one, 1;
}

#[allow(clippy::unnecessary_wraps)]
fn zeros(n: usize) -> Result<Vec<u8>, String> {
    Ok(vec![0; n])
}

#[allow(clippy::ptr_arg)]
fn all_one(y: &Vec<u8>, n: usize) {
    assert_eq!(*y, vec![1; n]);
}

/// The benchmarks of this module.
const OURS: Benchmarks = Benchmarks::of(module_path!());

#[test]
fn nothing_around_a_benchmark_disturbs_it() {
    nest();
    let names = ["among_shadows", "in_a_private_module", "nested", "through_another_path", "out_of_fashion"];
    let more = ["of_old_types", "braced", "braced_without_need", "fill_f32", "generic"];
    for name in names.into_iter().chain(more) {
        drop(OURS.run(name));
    }
    assert_eq!(OURS.run("fill_u8").counts.writes, Some(3));
    let names: Vec<&str> = OURS.entries().map(|entry| entry.name).collect();
    assert!(!names.contains(&"configured_out"));
}
