//! What the attribute accepts and what it says to the rest: each file in `ui/pass` compiles and its `main` passes, each
//! in `ui/fail` fails with the message beside it. `TRYBUILD=overwrite cargo test --test ui` writes those messages anew;
//! they are of the pinned compiler, whose words they quote.

/// One test, so that what they all depend on is built once.
#[test]
fn the_attribute_takes_what_it_should_and_tells_what_is_wrong_with_the_rest() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/ui/pass/*.rs");
    cases.compile_fail("tests/ui/fail/*.rs");
}
