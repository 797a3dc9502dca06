//! What the attribute accepts and what it says to the rest: each file in `ui/pass` compiles and its `main` passes, each
//! in `ui/fail` fails with the message beside it. `TRYBUILD=overwrite cargo test --test ui` writes those messages anew;
//! they are of the pinned compiler, whose words they quote.

#[test]
fn accepted() {
    trybuild::TestCases::new().pass("tests/ui/pass/*.rs");
}

#[test]
fn refused() {
    trybuild::TestCases::new().compile_fail("tests/ui/fail/*.rs");
}
