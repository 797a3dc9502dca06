//! The best variants by device and problem, as races found them. Written by `cargo gpubench tuned`: instead of editing it, race
//! again and write it anew.

/// `tuned::kernel`:
/// raced hot on a clock with known hands, where ± 0.50 % does not matter.
/// raced hot on NVIDIA "B300", where ± 0.50 % does not matter.
#[allow(dead_code, missing_docs, non_snake_case, unreachable_pub, clippy::all, clippy::pedantic)]
#[rustfmt::skip]
pub mod kernel {
    /// A hash of the axes that were tuned. With `tuned = …::AXES` in the attribute, tests fail once they are others.
    pub const AXES: &str = "cdc278d9";

    /// A variant.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Variant {
        pub BLOCK: usize,
        pub unroll: usize,
    }

    /// A problem.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Problem {
        pub n: usize,
    }

    /// The variant for devices of other models.
    pub const DEFAULT: Variant = Variant { BLOCK: 128, unroll: 2 };

    /// The best variants by the device's model. The last variant is for problems that resemble none.
    pub const MODELS: &[(&str, &[(Problem, Variant)], Variant)] = &[
        ("a clock with known hands", &[
            (Problem { n: 1 }, Variant { BLOCK: 128, unroll: 1 }),
            (Problem { n: 4 }, Variant { BLOCK: 256, unroll: 2 }),
        ], Variant { BLOCK: 128, unroll: 2 }),
        ("NVIDIA \"B300\"", &[
            (Problem { n: 1 }, Variant { BLOCK: 256, unroll: 2 }),
            (Problem { n: 4 }, Variant { BLOCK: 128, unroll: 1 }),
        ], Variant { BLOCK: 128, unroll: 2 }),
    ];

    /// Returns the best variant on a device of this model for the problem that was raced that is nearest, by the ratios of its numbers.
    /// Nothing is known of problems in between: race those that matter.
    pub fn best(model: &str, problem: Problem) -> Variant {
        let Some((_, raced, default)) = MODELS.iter().find(|(name, ..)| *name == model) else { return DEFAULT };
        let distance = |other: &Problem| ((problem.n as f64 + 1.0) / (other.n as f64 + 1.0)).ln().abs();
        raced.iter()
            .min_by(|(a, _), (b, _)| distance(a).total_cmp(&distance(b)))
            .map_or(*default, |(_, best)| *best)
    }
}

/// `tuned::broken`:
/// raced hot on a clock with known hands, where ± 0.50 % does not matter.
#[allow(dead_code, missing_docs, non_snake_case, unreachable_pub, clippy::all, clippy::pedantic)]
#[rustfmt::skip]
pub mod broken {
    /// A hash of the axes that were tuned. With `tuned = …::AXES` in the attribute, tests fail once they are others.
    pub const AXES: &str = "80f1c34e";

    /// A variant.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Variant {
        pub shift: i64,
        pub scale: f64,
        pub on: bool,
        pub r#if: &'static str,
    }

    /// A problem.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Problem {
        pub r#type: &'static str,
        pub n: usize,
    }

    /// The variant for devices of other models.
    pub const DEFAULT: Variant = Variant { shift: -1, scale: 0.5, on: true, r#if: "a \"b\"" };

    /// The best variants by the device's model. The last variant is for problems that resemble none.
    pub const MODELS: &[(&str, &[(Problem, Variant)], Variant)] = &[
        ("a clock with known hands", &[
            (Problem { r#type: "f32", n: 10 }, Variant { shift: -1, scale: 0.5, on: true, r#if: "a \"b\"" }),
            (Problem { r#type: "f64", n: 10 }, Variant { shift: 2, scale: 3.0, on: false, r#if: "c" }),
        ], Variant { shift: -1, scale: 0.5, on: true, r#if: "a \"b\"" }),
    ];

    /// Returns the best variant on a device of this model for the problem that was raced with the same r#type that is nearest, by the ratios of its numbers.
    /// Nothing is known of problems in between: race those that matter.
    pub fn best(model: &str, problem: Problem) -> Variant {
        let Some((_, raced, default)) = MODELS.iter().find(|(name, ..)| *name == model) else { return DEFAULT };
        let distance = |other: &Problem| ((problem.n as f64 + 1.0) / (other.n as f64 + 1.0)).ln().abs();
        raced.iter().filter(|(other, _)| problem.r#type == other.r#type)
            .min_by(|(a, _), (b, _)| distance(a).total_cmp(&distance(b)))
            .map_or(*default, |(_, best)| *best)
    }
}
