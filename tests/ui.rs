//! Errors of the attribute: each file in `ui` fails with the message beside it. `TRYBUILD=overwrite cargo test --test ui`
//! writes those messages anew; they are of the pinned compiler, whose words they quote. Code that the attribute accepts is
//! in `tests/attribute`: this way nothing here is linked, only checked.

/// One test, so that what they all depend on is checked once.
#[test]
fn the_attribute_tells_what_is_wrong() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
