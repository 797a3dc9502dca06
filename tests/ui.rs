//! What the attribute says to what it does not take: each file in `ui` fails with the message beside it.
//! `TRYBUILD=overwrite cargo test --test ui` writes those messages anew; they are of the pinned compiler, whose words they
//! quote. What it takes is in `tests/attribute`, which needs no link of its own here: this way nothing is built, only checked.

/// One test, so that what they all depend on is checked once.
#[test]
fn the_attribute_tells_what_is_wrong() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
