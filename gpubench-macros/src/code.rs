//! The user's expressions in options. [`run_inline`] runs the code of `setup`, `reset` or `check` with its own `?`, `return` and error type;
//! [`exact_count`] computes a count, such as `4 * n * n`, without overflow.

use proc_macro2::{Group, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::visit::{self, Visit};
use syn::{BinOp, Expr, ExprBinary, ExprClosure, Ident, Lit, ReturnType, Stmt, Type};

use crate::errors::{generated, generated_at, generated_span};

/// The user's code in `setup`, `reset` or `check`, by its form.
pub(crate) enum UserCode {
    /// The path of a function to call.
    Path(Expr),
    /// A closure, inlined so that the types of its parameters are known.
    Closure(ExprClosure),
    /// An expression over the names in scope.
    Expr(Expr),
}

impl From<Expr> for UserCode {
    fn from(expr: Expr) -> Self {
        match expr {
            Expr::Group(group) => Self::from(*group.expr),
            Expr::Path(_) => Self::Path(expr),
            Expr::Closure(closure) => Self::Closure(closure),
            _ => Self::Expr(expr),
        }
    }
}

impl UserCode {
    /// Returns the expression whose value the code returns: the body of a closure, or the expression itself.
    pub(crate) fn value_expr(&self) -> &Expr {
        match self {
            Self::Path(expr) | Self::Expr(expr) => expr,
            Self::Closure(closure) => &closure.body,
        }
    }
}

/// Returns the expression within parentheses, and within the invisible groups of a macro that passes an
/// expression on.
pub(crate) fn without_parentheses(value: &Expr) -> &Expr {
    match value {
        Expr::Group(group) => without_parentheses(&group.expr),
        Expr::Paren(paren) => without_parentheses(&paren.expr),
        value => value,
    }
}

/// Returns true if `name` occurs in `code`, or may occur in a format string there. The name of a field counts
/// too: the caller then binds a variable that is not used, which is harmless.
pub(crate) fn may_mention(code: &impl ToTokens, name: &Ident) -> bool {
    let in_text = format!("{{{name}");
    any_token(code.to_token_stream(), &|token| match token {
        TokenTree::Ident(ident) => ident == name,
        TokenTree::Literal(literal) => literal.to_string().contains(&in_text),
        _ => false,
    })
}

/// Returns true if `is_such` returns true for any token, including tokens within groups.
pub(crate) fn any_token(tokens: TokenStream, is_such: &dyn Fn(&TokenTree) -> bool) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Group(group) => any_token(group.stream(), is_such),
        token => is_such(&token),
    })
}

/// Returns the first use of the variable `name` in `code`; `None` if there is none. Fields of that name and
/// the arguments of macros do not count.
pub(crate) fn first_variable_use(code: &Expr, name: &Ident) -> Option<Ident> {
    /// Finds the first use of the variable: the name, and the use once it is found.
    struct Uses<'a>(&'a Ident, Option<Ident>);

    impl Visit<'_> for Uses<'_> {
        fn visit_expr_path(&mut self, path: &syn::ExprPath) {
            if let Some(used) = path.path.get_ident().filter(|used| *used == self.0) {
                self.1.get_or_insert_with(|| used.clone());
            }
        }
    }

    let mut uses = Uses(name, None);
    uses.visit_expr(code);
    uses.1
}

/// Returns code that runs the statements `lets` and then `body`. The code is a closure that is called at once
/// if there is a return type `output`, or if `body` has a `return` or `?`, or leaves the error type of its
/// `Result` open. Without `output`, the error type for `?` and of an open `Result` is a box, to which every
/// error and string converts.
pub(crate) fn run_inline(lets: &TokenStream, body: &Expr, output: &ReturnType) -> TokenStream {
    let exits = Exits::from_code(body);
    let mixed = Span::mixed_site();
    let body = with_generated_braces(body);
    if matches!(output, ReturnType::Type(..)) {
        quote_spanned!(mixed=> (|| #output { #lets #body })())
    } else if exits.question || exits.is_open() {
        quote_spanned! {mixed=>
            (|| -> ::core::result::Result<_, ::std::boxed::Box<
                dyn ::std::error::Error + ::core::marker::Send + ::core::marker::Sync,
            >> { #lets #body })()
        }
    } else if exits.early {
        quote_spanned!(mixed=> (|| { #lets #body })())
    } else if lets.is_empty() {
        quote!(#body)
    } else {
        quote_spanned!(mixed=> { #lets #body })
    }
}

/// Returns `body`; the outermost braces of a block are marked as generated code. Otherwise the compiler would
/// call these braces unnecessary, since generated braces surround them; but in a closure with a return type
/// the user cannot omit them.
fn with_generated_braces(body: &Expr) -> TokenStream {
    let tokens = body.to_token_stream();
    let Expr::Block(_) = body else { return tokens };
    tokens
        .into_iter()
        .map(|token| match token {
            TokenTree::Group(group) => {
                let mut generated = Group::new(group.delimiter(), group.stream());
                generated.set_span(generated_at(group.span()));
                generated.into()
            }
            token => token,
        })
        .collect()
}

/// The ways in which control leaves a piece of code, found by a visitor.
#[derive(Default)]
struct Exits<'a> {
    /// True if the code contains the operator `?`.
    question: bool,
    /// True if the code contains a `return`.
    early: bool,
    /// The expressions whose values leave the code; `None` for `()` without an expression.
    values: Vec<Option<&'a Expr>>,
}

impl<'a> Exits<'a> {
    /// Finds the exits of an expression.
    fn from_code(code: &'a Expr) -> Self {
        let mut exits = Self::default();
        exits.visit_expr(code);
        exits.add_values(code);
        exits
    }

    /// Returns true if every value that leaves the code is a `Result` with an open error type, which the
    /// compiler could then not infer. Returns false if no value leaves the code.
    fn is_open(&self) -> bool {
        !self.values.is_empty() && self.values.iter().all(|value| value.is_some_and(leaves_error_open))
    }

    /// Adds the expressions that `expr` may evaluate to, such as the ends of both branches.
    fn add_values(&mut self, expr: &'a Expr) {
        match without_parentheses(expr) {
            Expr::Block(block) => self.add_last_value(&block.block.stmts),
            Expr::Unsafe(block) => self.add_last_value(&block.block.stmts),
            Expr::If(branches) => {
                self.add_last_value(&branches.then_branch.stmts);
                if let Some((_, otherwise)) = &branches.else_branch {
                    self.add_values(otherwise);
                }
            }
            Expr::Match(branches) => branches.arms.iter().for_each(|arm| self.add_values(&arm.body)),
            // A return is added by its visitor; a macro may be a panic.
            Expr::Return(_) => {}
            Expr::Macro(call) if !call.mac.path.is_ident("vec") => {}
            value => self.values.push(Some(value)),
        }
    }

    /// Adds the expressions that a block of these statements may evaluate to, or `None` if it ends without an
    /// expression. An end by `return` or by a macro adds nothing.
    fn add_last_value(&mut self, statements: &'a [Stmt]) {
        match statements.last() {
            Some(Stmt::Expr(value, None)) => self.add_values(value),
            Some(Stmt::Expr(Expr::Return(_), Some(_)) | Stmt::Macro(_)) => {}
            _ => self.values.push(None),
        }
    }
}

/// Returns the expressions that `code` may evaluate to or return: those at its end, in each branch, and those
/// of `return`. Leaves out macros except `vec!`, since a macro may panic and have no value.
pub(crate) fn returned_values(code: &Expr) -> impl Iterator<Item = &Expr> {
    Exits::from_code(code).values.into_iter().flatten()
}

/// Returns true if the code contains the operator `?` outside of closures.
pub(crate) fn uses_question_mark(code: &Expr) -> bool {
    Exits::from_code(code).question
}

impl<'a> Visit<'a> for Exits<'a> {
    fn visit_expr_try(&mut self, expr: &'a syn::ExprTry) {
        self.question = true;
        visit::visit_expr_try(self, expr);
    }

    fn visit_expr_return(&mut self, expr: &'a syn::ExprReturn) {
        self.early = true;
        if let Some(value) = &expr.expr {
            self.add_values(value);
        }
        visit::visit_expr_return(self, expr);
    }

    fn visit_macro(&mut self, call: &syn::Macro) {
        let is_question = |token: &TokenTree| matches!(token, TokenTree::Punct(it) if it.as_char() == '?');
        self.question |= any_token(call.tokens.clone(), &is_question);
    }

    // Closures and async blocks have exits of their own.
    fn visit_expr_closure(&mut self, _: &ExprClosure) {}
    fn visit_expr_async(&mut self, _: &syn::ExprAsync) {}
    fn visit_item(&mut self, _: &syn::Item) {}
}

/// Returns true for a `Result` whose error type must be inferred: `Ok(…)`, `Err(x.into())`,
/// `f().map_err(Into::into)`.
fn leaves_error_open(value: &Expr) -> bool {
    match value {
        Expr::Call(call) if ends_with(&call.func, "Ok") => true,
        Expr::Call(call) if ends_with(&call.func, "Err") => call.args.first().is_some_and(converts),
        Expr::MethodCall(call) if call.turbofish.is_some() => false,
        Expr::MethodCall(call) if call.method == "ok_or" => call.args.first().is_some_and(converts),
        Expr::MethodCall(call) if call.method == "map_err" || call.method == "ok_or_else" => {
            call.args.first().is_some_and(|function| match function {
                Expr::Closure(closure) => {
                    matches!(closure.output, ReturnType::Default) && converts(&closure.body)
                }
                function => is_conversion(function),
            })
        }
        _ => false,
    }
}

/// Returns true for a value whose type follows only from its use: `x.into()`, `From::from(x)`.
fn converts(value: &Expr) -> bool {
    match without_parentheses(value) {
        Expr::Block(block) => match &block.block.stmts[..] {
            [Stmt::Expr(value, None)] => converts(value),
            _ => false,
        },
        Expr::MethodCall(call) => call.method == "into" && call.args.is_empty(),
        Expr::Call(call) => is_conversion(&call.func),
        _ => false,
    }
}

/// Returns true for the paths `Into::into` and `From::from`.
fn is_conversion(function: &Expr) -> bool {
    let Expr::Path(function) = function else { return false };
    let mut names = function.path.segments.iter().rev();
    let (last, before) = (names.next(), names.next());
    let named = |of: &str, name: &str| {
        last.is_some_and(|last| last.ident == name)
            && before.is_some_and(|before| before.ident == of && before.arguments.is_none())
    };
    named("Into", "into") || named("From", "from")
}

/// Returns true if the expression is a path whose last segment is `name` and has no generic arguments.
pub(crate) fn ends_with(function: &Expr, name: &str) -> bool {
    let Expr::Path(function) = function else { return false };
    function.path.segments.last().is_some_and(|last| last.ident == name && last.arguments.is_none())
}

/// Returns code that computes a count without overflow, as a `gpubench::Exact`. Returns `None` if `count` is
/// neither a binary operation nor the cast of one, or if [`exact_value`] returns `None` for it.
pub(crate) fn exact_count(count: &Expr) -> Option<TokenStream> {
    match without_parentheses(count) {
        Expr::Binary(_) => exact_value(count),
        Expr::Cast(cast) if matches!(without_parentheses(&cast.expr), Expr::Binary(_)) => exact_value(count),
        _ => None,
    }
}

/// Returns code that computes an expression without overflow; `None` if it has parts other than arithmetic,
/// integers and expressions for which [`is_free_of_effects`] returns true.
fn exact_value(expr: &Expr) -> Option<TokenStream> {
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
            let (left, right) = (exact_value(left)?, exact_value(right)?);
            let op = with_generated_span(op.to_token_stream());
            arithmetic.then(|| generated!((#left #op #right)))
        }
        Expr::Cast(cast)
            if is_integer(&cast.ty) && matches!(without_parentheses(&cast.expr), Expr::Binary(_)) =>
        {
            exact_value(&cast.expr)
        }
        Expr::Lit(literal) => {
            let Lit::Int(number) = &literal.lit else { return None };
            let number = number.base10_parse::<i128>().ok()?;
            Some(generated!(__gb::exact!(#number)))
        }
        leaf => is_free_of_effects(leaf).then(|| generated!(__gb::exact!(#leaf))),
    }
}

/// Returns true if the expression can be evaluated twice without side effects and at no cost: names, fields,
/// dereferences, `.len()`, `size_of` and casts of them to integers.
fn is_free_of_effects(expr: &Expr) -> bool {
    match without_parentheses(expr) {
        Expr::Path(_) => true,
        Expr::Field(field) => is_free_of_effects(&field.base),
        Expr::Unary(unary) => matches!(unary.op, syn::UnOp::Deref(_)) && is_free_of_effects(&unary.expr),
        Expr::Cast(cast) => is_integer(&cast.ty) && is_free_of_effects(&cast.expr),
        Expr::MethodCall(call) => {
            call.method == "len" && call.args.is_empty() && is_free_of_effects(&call.receiver)
        }
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

/// Returns true if the type is written as a primitive integer type, such as `u32`. Returns false for an alias
/// and for a path such as `std::primitive::u32`.
fn is_integer(ty: &Type) -> bool {
    let name = ty.to_token_stream().to_string();
    let (sign, width) = name.split_at(name.len().min(1));
    matches!(sign, "u" | "i") && matches!(width, "8" | "16" | "32" | "64" | "128" | "size")
}

/// Returns an operator with the span of generated code, so that lints report the user's operator only once.
fn with_generated_span(op: TokenStream) -> TokenStream {
    let placed = op.into_iter().map(|mut token| {
        token.set_span(generated_span());
        token
    });
    placed.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exits(code: &str) -> (bool, bool) {
        let code = syn::parse_str(code).expect(code);
        let exits = Exits::from_code(&code);
        (exits.question, exits.is_open())
    }

    #[test]
    fn question_marks() {
        for code in ["f()?", "{ let x = f()?; x }", "vec![f()?; 3]", "if a? { b } else { c }"] {
            assert!(exits(code).0, "{code}");
        }
        for code in ["f()", "x.map(|x| Ok(x?))", "{ fn g() -> R { f()? } g() }", "\"?\""] {
            assert!(!exits(code).0, "{code}");
        }
    }

    #[test]
    fn error_types_left_open() {
        for code in [
            "Ok(1)",
            "{ f(); Ok(1) }",
            "if a { Ok(1) } else { todo!() }",
            "{ if a { return Ok(1) } Ok(2) }",
            "{ if a { return Err(\"no\".into()); } Ok(2) }",
            "if a { Result::Err({ b.into() }) } else { Ok(1) }",
            "match a { 0 => Err(From::from(b)), 1 => Err((b.into())), _ => Ok(1) }",
            "{ let Some(b) = a else { return Err(Into::into(c)) }; Ok(b) }",
            "a.ok_or(b.into())",
            "a.ok_or_else(|| b.into())",
            "f().map_err(Into::into)",
            "f().map_err(|error| { error.into() })",
        ] {
            assert!(exits(code).1, "{code}");
        }
        for code in [
            "f()",
            "if a { Err(1) } else { Ok(1) }",
            "Ok::<_, E>(1)",
            "{ f(); }",
            "match a { _ => g() }",
            "{ if a { return Err(b.into()); } f() }",
            "if a { Err(b.into()) } else { Err(String::new()) }",
            "if a { Err::<_, E>(b.into()) } else { Ok(1) }",
            "if a { Err(String::from(b)) } else { Ok(1) }",
            "if a { Err(E::into(b)) } else { Ok(1) }",
            "if a { Err(<T as Into<E>>::into(b)) } else { Ok(1) }",
            "a.ok_or(b)",
            "a.ok_or::<E>(b.into())",
            "a.ok_or_else(|| format!(\"{b}\"))",
            "a.ok_or_else(|| -> E { b.into() })",
            "f().map_err(E::from)",
        ] {
            assert!(!exits(code).1, "{code}");
        }
    }

    #[test]
    fn mentioned_names() {
        let name = Ident::new("n", Span::call_site());
        let mentions = |code: &str| may_mention(&syn::parse_str::<Expr>(code).expect(code), &name);
        assert!(mentions("f(&[n])") && mentions("format!(\"{n:?}\")"));
        assert!(!mentions("f(m)") && !mentions("\"n\"") && !mentions("nn"));
    }

    fn exact_of(count: &str) -> Option<String> {
        let count: Expr = syn::parse_str(count).expect(count);
        exact_count(&count).map(|exact| exact.to_string().replace("__gb :: exact ! ", "").replace(' ', ""))
    }

    #[test]
    fn arithmetic_is_done_again_in_exact_numbers() {
        assert_eq!(exact_of("n * n").as_deref(), Some("((n)*(n))"));
        let four = "(4i128)";
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
