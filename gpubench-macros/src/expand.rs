//! The registration of a benchmark. In: a [`Benchmark`]; out: the `const` block that follows the function. Every name
//! in it has mixed-site hygiene, so that the user's names and these never meet.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt as _;
use syn::{Expr, ReturnType};

use crate::check::{Benchmark, Role};
use crate::code::{Code, inlined, mentions};
use crate::scope::{axis_value, axis_variable, local, placed};
use crate::signature::Passed;
use crate::spans::{first, last, mixed};

pub(crate) fn expand(benchmark: &Benchmark) -> TokenStream {
    let Benchmark { attributes, axes, .. } = benchmark;
    let krate = benchmark.krate.as_ref().map_or_else(|| quote!(::gpubench), ToTokens::to_token_stream);
    let declared = axes.iter().map(|axis| {
        let (variable, name, values) = (axis_variable(&axis.name), shown(&axis.name), &axis.value);
        quote_spanned!(variable.span()=> let #variable = __gb::Values::new(#name, #values);)
    });
    let showings = axes.iter().map(|axis| {
        let variable = axis_variable(&axis.name);
        quote_spanned!(variable.span()=> __gb::show_axis!(visitor, #variable);)
    });
    let setup = benchmark.setup();
    let launch = benchmark.launch();
    let counts = benchmark.counts();
    let reset = benchmark.reset();
    let check = benchmark.check_outputs();
    let entry = benchmark.entry();
    // These stand where the stream's type does, which is at fault if it is not a `LaunchStream`.
    let stream = first(&benchmark.stream().ty);
    let bound = quote_spanned!(stream=> __gb::Bound::new(setup, #launch));
    let case = quote_spanned!(stream=> &mut case);
    quote_spanned! {mixed()=>
        #attributes
        // Where every option is given, the rest is none.
        #[allow(clippy::needless_update)]
        const _: () = {
            use #krate::__private as __gb;

            fn __visit(visitor: &mut dyn __gb::Visitor) {
                #(#declared)*
                #setup
                #(#showings)*
                let mut case = #bound #counts #reset #check;
                __gb::Visitor::case(visitor, #case);
            }

            __gb::inventory::submit! { #entry }
        };
    }
}

impl Benchmark {
    fn entry(&self) -> TokenStream {
        let (name, stream) = (shown(&self.name), &self.stream().ty);
        let cold = self.cold.then(|| quote_spanned!(mixed()=> cold: true,));
        let precision = self.precision.iter();
        let max_time = self.max_time.iter();
        quote_spanned! {mixed()=>
            __gb::Entry {
                name: #name,
                module: ::core::module_path!(),
                file: ::core::file!(),
                line: ::core::line!(),
                column: ::core::column!(),
                options: __gb::Options {
                    #cold
                    #(precision: #precision,)*
                    #(max_time: ::core::option::Option::Some(#max_time),)*
                    ..__gb::Options::DEFAULT
                },
                variants: &[__gb::Variant::of::<#stream>(__visit)],
            }
        }
    }

    /// `let setup = |stream| …;`, from which the types of the axes and inputs follow.
    fn setup(&self) -> TokenStream {
        let stream = self.stream();
        let ty = &stream.ty;
        let Some(setup) = &self.setup else {
            return quote_spanned!(mixed()=> let setup = |_: &#ty| ::core::result::Result::Ok(()););
        };
        let values = self.axes.iter().map(|axis| axis_value(&axis.name));
        let result = match setup {
            Code::Path(path) => quote_spanned!(last(path)=> #path(#(#values),*)),
            Code::Closure(closure) => {
                let patterns = closure.inputs.iter();
                let lets = quote_spanned!(mixed()=> #(let #patterns = #values;)*);
                inlined(&lets, &closure.body, &closure.output)
            }
            Code::Expr(expr) => {
                inlined(&self.bind_axes(|name| mentions(expr, name)), expr, &ReturnType::Default)
            }
        };
        match stream.name.as_ref().filter(|name| mentions(setup.value(), name)) {
            Some(name) => quote_spanned! {mixed()=>
                let setup = |#name: &#ty| {
                    let _ = #name;
                    __gb::set_up(#result)
                };
            },
            None => quote_spanned!(mixed()=> let setup = |_: &#ty| __gb::set_up(#result);),
        }
    }

    /// The closure that calls the function once.
    fn launch(&self) -> TokenStream {
        let stream = &self.stream().ty;
        let state = self.take_apart(|_| true);
        let values = self.params.iter().enumerate().map(|(index, (role, param))| match role {
            Role::Stream => TokenStream::new(),
            Role::Axis(axis) => {
                let (local, ty) = (local(index), param.ty_if(param.passed));
                let value = axis_value(&self.axes[*axis].name);
                let reference = (param.passed != Passed::Value).then(|| quote_spanned!(mixed()=> &));
                quote_spanned!(mixed()=> let #local: #ty = #reference #value;)
            }
            Role::Input => self.pass_input(index, param.passed),
        });
        let arguments = self.params.iter().enumerate().map(|(index, (role, param))| match role {
            Role::Stream if param.passed == Passed::Value => {
                quote_spanned!(first(&param.ty)=> ::core::clone::Clone::clone(stream))
            }
            Role::Stream => quote_spanned!(mixed()=> stream),
            _ => local(index).into_token_stream(),
        });
        // The call stands where the return type does, which is at fault if it is none that a launch has: hence the
        // parentheses, since the name itself keeps the hygiene that it came with.
        let name = &self.name;
        let output = self.output.clone().unwrap_or_else(|| name.to_token_stream());
        let name = quote_spanned!(first(&output)=> (#name));
        let call = quote_spanned!(last(&output)=> #name(#(#arguments),*));
        quote_spanned! {mixed()=>
            |state: &mut _, stream: &#stream| {
                #state
                #(#values)*
                __gb::Launched::launched(#call)
            }
        }
    }

    /// `.counts(|inputs| …)`, if any are given.
    fn counts(&self) -> Option<TokenStream> {
        if self.counts.is_empty() {
            return None;
        }
        let lets = self.bind_names(|name| self.counts.iter().any(|count| mentions(&count.value, name)));
        let counts = self.counts.iter().map(|count| {
            let (option, text, value) = (&count.name, shown(&count.name), &count.value);
            quote_spanned!(mixed()=> #option: __gb::count(#text, #value)?,)
        });
        Some(quote_spanned! {mixed()=>
            .counts(|state| {
                #lets
                ::core::result::Result::Ok(__gb::Counts {
                    #(#counts)*
                    ..::core::default::Default::default()
                })
            })
        })
    }

    /// `.reset(|inputs, stream| …)`, if there is one.
    fn reset(&self) -> Option<TokenStream> {
        let reset = self.reset.as_ref()?;
        let stream = &self.stream().ty;
        let given = [quote_spanned!(mixed()=> stream)];
        let (lets, outcome) = self.on_inputs(reset, given, self.pass_inputs(), |expr| {
            let lets = self.bind_names_to_change(|name| mentions(expr, name));
            let stream = self.stream().name.as_ref().filter(|name| mentions(expr, name));
            let stream = stream.map(|name| quote_spanned!(mixed()=> let #name = stream;));
            quote_spanned!(mixed()=> #lets #stream)
        });
        Some(quote_spanned! {mixed()=>
            .reset(|state: &mut _, stream: &#stream| {
                #lets
                __gb::Checked::checked(#outcome)
            })
        })
    }

    /// `.check(|inputs| …)`, if there is one.
    fn check_outputs(&self) -> Option<TokenStream> {
        let check = self.check.as_ref()?;
        let given = self.axes.iter().map(|axis| axis_value(&axis.name));
        let (lets, outcome) = self.on_inputs(check, given, self.pass_outputs(), |expr| {
            self.bind_names(|name| mentions(expr, name))
        });
        Some(quote_spanned! {mixed()=>
            .check(|state| {
                #lets
                __gb::Checked::checked(#outcome)
            })
        })
    }

    /// `code` on the inputs and what else it is `given`: what to bind before it, and its value. A function or closure has
    /// the inputs `passed`; an expression has the names that `bound` says.
    fn on_inputs(
        &self,
        code: &Code,
        given: impl IntoIterator<Item = TokenStream>,
        passed: TokenStream,
        bound: impl FnOnce(&Expr) -> TokenStream,
    ) -> (TokenStream, TokenStream) {
        let inputs =
            self.inputs().map(|(index, _)| placed(&local(index), last(code.value())).into_token_stream());
        let values = inputs.chain(given);
        match code {
            Code::Path(path) => (passed, quote_spanned!(last(path)=> #path(#(#values),*))),
            Code::Closure(closure) => {
                let patterns = closure.inputs.iter();
                let lets = quote_spanned!(mixed()=> #(let #patterns = #values;)*);
                (passed, inlined(&lets, &closure.body, &closure.output))
            }
            Code::Expr(expr) => (bound(expr), inlined(&TokenStream::new(), expr, &ReturnType::Default)),
        }
    }
}

/// The name without `r#`.
fn shown(name: &Ident) -> String {
    name.unraw().to_string()
}
