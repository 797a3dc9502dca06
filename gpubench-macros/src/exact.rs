//! Counts that do not overflow. In: the arithmetic of a count, such as `4 * n * n`. Out: the same in numbers of
//! 128 bits. Covers only code that can run twice at no cost: names, fields, `.len()`, `size_of` and literals.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{BinOp, Expr, ExprBinary, Lit, Type};

use crate::code::without_parentheses;
use crate::errors::{generated, mixed};

/// Returns code that computes `count` without overflow, as a `gpubench::Exact`. `None` if `count` is not
/// visibly arithmetic of whole numbers that can be evaluated twice.
pub(crate) fn exact(count: &Expr) -> Option<TokenStream> {
    match without_parentheses(count) {
        Expr::Binary(_) => value(count),
        Expr::Cast(cast) if matches!(without_parentheses(&cast.expr), Expr::Binary(_)) => value(count),
        _ => None,
    }
}

/// Returns code that computes the expression without overflow; `None` if it contains anything other than
/// arithmetic, integers and leaves.
fn value(expr: &Expr) -> Option<TokenStream> {
    match without_parentheses(expr) {
        Expr::Binary(ExprBinary { left, op, right, .. }) => {
            let arithmetic = matches!(
                op,
                BinOp::Add(_)
                    | BinOp::Sub(_)
                    | BinOp::Mul(_)
                    | BinOp::Div(_)
                    | BinOp::Rem(_)
                    | BinOp::Shl(_)
                    | BinOp::Shr(_)
            );
            let (left, right) = (value(left)?, value(right)?);
            let op = placeless(op.to_token_stream());
            arithmetic.then(|| generated!((#left #op #right)))
        }
        Expr::Cast(cast)
            if is_integer(&cast.ty) && matches!(without_parentheses(&cast.expr), Expr::Binary(_)) =>
        {
            value(&cast.expr)
        }
        Expr::Lit(literal) => {
            let Lit::Int(number) = &literal.lit else { return None };
            let number = number.base10_parse::<i128>().ok()?;
            Some(generated!(__gb::Exact::of(#number)))
        }
        leaf => is_leaf(leaf).then(|| generated!(__gb::exact!(#leaf))),
    }
}

/// Returns true if the expression may be evaluated twice, without side effects and costs: names, fields,
/// `.len()`, `size_of` and casts of them.
fn is_leaf(expr: &Expr) -> bool {
    match without_parentheses(expr) {
        Expr::Path(_) => true,
        Expr::Field(field) => is_leaf(&field.base),
        Expr::Unary(unary) => matches!(unary.op, syn::UnOp::Deref(_)) && is_leaf(&unary.expr),
        Expr::Cast(cast) => is_integer(&cast.ty) && is_leaf(&cast.expr),
        Expr::MethodCall(call) => call.method == "len" && call.args.is_empty() && is_leaf(&call.receiver),
        Expr::Call(call) => match &*call.func {
            Expr::Path(function) => {
                let last = function.path.segments.last();
                last.is_some_and(|last| last.ident == "size_of") && call.args.is_empty()
            }
            _ => false,
        },
        _ => false,
    }
}

/// Returns true for the name of a primitive integer type.
fn is_integer(ty: &Type) -> bool {
    let name = ty.to_token_stream().to_string();
    let (sign, width) = name.split_at(name.len().min(1));
    matches!(sign, "u" | "i") && matches!(width, "8" | "16" | "32" | "64" | "128" | "size")
}

/// Returns an operator with the span of generated code, so that lints report the user's operator only once.
fn placeless(op: TokenStream) -> TokenStream {
    let placed = op.into_iter().map(|mut token| {
        token.set_span(mixed());
        token
    });
    placed.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exact_of(count: &str) -> Option<String> {
        let count: Expr = syn::parse_str(count).expect(count);
        exact(&count).map(|exact| exact.to_string().replace("__gb :: exact ! ", "").replace(' ', ""))
    }

    #[test]
    fn arithmetic_is_done_again_in_exact_numbers() {
        assert_eq!(exact_of("n * n").as_deref(), Some("((n)*(n))"));
        let four = "__gb::Exact::of(4i128)";
        assert_eq!(exact_of("4 * (x.len() + *m)").as_deref(), Some(&*format!("({four}*((x.len())+(*m)))")));
        assert_eq!(exact_of("(n * n) as u64 - SIZE").as_deref(), Some("(((n)*(n))-(SIZE))"));
        assert_eq!(
            exact_of("size_of::<T>() << self_.log").as_deref(),
            Some("((size_of::<T>())<<(self_.log))")
        );
    }

    #[test]
    fn nothing_is_evaluated_twice_that_may_cost_or_is_no_whole_number() {
        for count in [
            "n",
            "x.len()",
            "2.0 * n",
            "n * f(n)",
            "x.iter().count() * 2",
            "(n * n) as f64",
            "n * { n }",
            "a < b",
        ] {
            assert_eq!(exact_of(count), None, "{count}");
        }
    }
}
