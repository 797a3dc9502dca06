//! Snapshots of the attribute's output in readable form: the smallest and the largest. A change of either
//! shows in the snapshots beside this file, and in the code that every user compiles.

use proc_macro2::{TokenStream, TokenTree};

use crate::register;

/// Returns the registration that the attribute writes for this function with these options.
fn expansion(options: &str, function: &str) -> TokenStream {
    register(options.parse().expect(options), function.parse().expect(function))
}

/// Formats an expansion as readable code.
fn pretty(expansion: TokenStream) -> String {
    prettyplease::unparse(&syn::parse2(expansion).expect("items"))
}

/// Counts the tokens, including those within brackets.
fn tokens(stream: TokenStream) -> usize {
    let count = |token| match token {
        TokenTree::Group(group) => 2 + tokens(group.stream()),
        _ => 1,
    };
    stream.into_iter().map(count).sum()
}

#[test]
fn the_smallest() {
    let expansion = expansion("", "fn nothing(stream: &host::Stream) {}");
    assert!(tokens(expansion.clone()) < 300, "{}", tokens(expansion));
    insta::assert_snapshot!(pretty(expansion));
}

#[test]
fn the_largest() {
    let expansion = expansion(
        "unsafe, types(T = [f32, f64]), consts(BLOCK = [128]), args(n = pow2(10..=12), zip(m = 0..2, k = [1, 2])), tune(BLOCK, n), \
         setup = |n, m, k| Ok(made::<T>(n)?), reset = clear, check = verify(x, y, n), skip_if = n > BLOCK, \"too many\", \
         reads = 4 * x.len(), writes = f(y), flops = 2 * n * k, items = n, \"elements\", cold, data_type = \"f64\", \
         link = d2d, name = \"another name\", group = GROUP, tags = [\"nightly\"], max_time = 1, timeout = 2, ignore, \
         stream = queue, crate = crate::renamed",
        "#[cfg(feature = \"bench\")] pub unsafe fn largest<'a, T: Copy, const BLOCK: usize>(k: usize, x: &'a [T], \
         queue: &Stream, y: &mut impl AsMut<[T]>, a: f32) -> Result<(), Error> { body }",
    );
    assert!(tokens(expansion.clone()) < 2_350, "{}", tokens(expansion));
    insta::assert_snapshot!(pretty(expansion));
}
