//! gpubench under another name: `group!` finds it by itself, the attribute is told by `crate = …`.

use bench::{Group, gpu_bench, group, host};

group!(
    /// Found through the macro that makes it.
    pub(crate) NIGHTLY = "at night",
    tags = ["nightly"]
);

mod elsewhere {
    bench::group!(
        pub(super) TOLD,
        crate = ::bench
    );
}

#[gpu_bench(crate = bench, group = NIGHTLY)]
fn nothing(stream: &host::Stream) {
    stream.run(|| {});
}

#[test]
fn a_group_needs_no_path_to_gpubench() {
    let _: Group = NIGHTLY;
    assert_eq!(NIGHTLY.options().group, Some("at night"));
    assert_eq!(NIGHTLY.options().group_tags, ["nightly"]);
    assert_eq!(elsewhere::TOLD.options().group, Some("told"));
}
