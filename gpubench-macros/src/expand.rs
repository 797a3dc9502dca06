//! Writes the registration of a benchmark: the `const` block that follows the function. All of its names have
//! mixed-site hygiene and never clash with the user's names. The user's code runs in closures over `state`, the
//! value of `setup`. Each value has the span at which the compiler should report a wrong type.

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{Expr, LitStr, ReturnType, ext::IdentExt as _};

use crate::check::{Benchmark, ParamRole, is_named};
use crate::code::{UserCode, exact_count, may_mention, run_inline};
use crate::errors::{first_span, generated, generated_at, generated_span, last_span};
use crate::parse::{GroupOption, Metric, some_code};
use crate::signature::{Instantiation, PassedBy};

/// Returns the `const` block that registers the benchmark.
pub(crate) fn expand(benchmark: &Benchmark) -> TokenStream {
    let krate =
        benchmark.options.krate.as_ref().map_or_else(|| quote!(::gpubench), ToTokens::to_token_stream);
    let attributes = &benchmark.launch.attributes;
    let names: Vec<Ident> = (0..benchmark.variants.len())
        .map(|index| format_ident!("__VARIANT_{index}", span = generated_span()))
        .collect();
    let variants =
        names.iter().zip(&benchmark.variants).map(|(name, variant)| benchmark.variant_const(name, variant));
    let entry = benchmark.entry(&names);
    generated! {
        #attributes
        const _: () = {
            use #krate::__private as __gb;

            #(#variants)*

            __gb::submit! { #entry }
        };
    }
}

impl Benchmark {
    /// Writes `const NAME: Variant = …;` for one instance of the function.
    fn variant_const(&self, name: &Ident, variant: &Instantiation) -> TokenStream {
        let declared = self.options.args.axes.iter().map(|axis| {
            let (variable, name, values) =
                (axis_variable(&axis.name), name_text(&axis.name), axis_values(&axis.value));
            quote_spanned!(variable.span()=> let #variable = __gb::Values::new(#name, #values);)
        });
        let sweeps = self.sweep_axes();
        let aliases = variant.alias_items();
        let (setup, launch) = (self.setup_closure(), self.launch_closure(variant));
        let (counts, metrics) = (self.counts(), self.metrics());
        let (reset, restore, check) = (self.reset(), self.restore(), self.check_outputs());
        let (memory, skip_if) = (self.memory(), self.skip_if());
        let generics = variant.generic_values();
        let stream_type = variant.type_at_choice(&self.stream().ty);
        // At the stream's type, so that the compiler reports there, and once, that it is no `StreamParameter`.
        let stream = quote_spanned!(first_span(&stream_type)=> <#stream_type as __gb::StreamParameter>);
        generated! {
            const #name: __gb::Variant = {
                #aliases
                __gb::Variant { device: #stream::DEVICE, generics: #generics, visit: |visitor| {
                    #(#declared)*
                    #setup
                    let mut case =
                        __gb::Bound::new(#stream::open_on, setup, #launch) #counts #metrics #reset #restore #check #memory #skip_if;
                    visitor(#sweeps, &mut case);
                } }
            };
        }
    }

    /// Writes the axes as `&[&[&n], &[&a, &b]]`: one inner list for each sweep, with all axes of a `zip`.
    fn sweep_axes(&self) -> TokenStream {
        let mut axes = self.options.args.axes.iter().map(|axis| {
            let variable = axis_variable(&axis.name);
            quote_spanned!(variable.span()=> &__gb::axis!(#variable))
        });
        let sweeps = self.options.args.sweeps.iter().map(|together| {
            let axes = axes.by_ref().take(*together);
            generated!(&[#(#axes),*])
        });
        generated!(&[#(#sweeps),*])
    }

    /// Writes the `Entry { … }` of the benchmark. `variants` are the names of the constants of its instances.
    fn entry(&self, variants: &[Ident]) -> TokenStream {
        let name = self.options.name.as_ref().map_or_else(|| name_text(&self.launch.name), LitStr::value);
        let mut fields = self.options.data.fields(false);
        let mut base = generated!(__gb::BenchmarkOptions::DEFAULT);
        match &self.options.group {
            Some(GroupOption::Name(group)) => {
                let group = some_code(group);
                fields.extend(generated!(group: #group,));
            }
            Some(GroupOption::Defaults(path)) => {
                base = quote_spanned!(first_span(path)=> __gb::Group::options(&#path));
            }
            None => {}
        }
        if let Some(item) = &self.options.item {
            let item = some_code(item);
            fields.extend(generated!(item: #item,));
        }
        if !self.options.tune.is_empty() {
            let names = self.options.tune.iter().map(name_text);
            fields.extend(generated!(tune: &[#(#names),*],));
        }
        let options =
            if fields.is_empty() { base } else { generated!(__gb::BenchmarkOptions { #fields ..#base }) };
        generated! {
            __gb::Entry {
                name: #name,
                module: ::core::module_path!(),
                file: ::core::file!(),
                line: ::core::line!(),
                column: ::core::column!(),
                options: #options,
                variants: &[#(#variants),*],
            }
        }
    }

    /// Writes `let setup = |stream| …;`, the closure that makes the inputs. It comes first, so that it
    /// determines the types of the axes and inputs.
    fn setup_closure(&self) -> TokenStream {
        let stream = self.stream();
        let ty = &stream.ty;
        let Some(setup) = &self.options.setup else {
            return generated!(let setup = |_: &#ty| ::core::result::Result::Ok(()););
        };
        let values = self.options.args.axes.iter().map(|axis| axis_value(&axis.name));
        let result = run_on(setup, values, |expr| self.bind_axes(|name| may_mention(expr, name)));
        let names = self.bind_stream(setup.value_expr());
        // At the user's code, so that the compiler reports an error type there that cannot be displayed.
        let inputs = quote_spanned!(last_span(setup.value_expr())=> __gb::set_up!(made));
        generated! {
            let setup = |stream: &#ty| {
                let _ = stream;
                #names
                let made = #result;
                #inputs
            };
        }
    }

    /// Writes `let` statements that bind the stream to the name of its parameter and to the name `stream`,
    /// each only if `code` mentions that name. Does not bind `stream` if something of the user has this name.
    fn bind_stream(&self, code: &Expr) -> TokenStream {
        let usual = Ident::new("stream", Span::call_site());
        let axes = self.options.args.axes.iter().map(|axis| &axis.name);
        let taken = axes
            .chain(self.launch.params.iter().filter_map(|param| param.name.as_ref()))
            .any(|name| *name == usual);
        // A function of that name is the user's own.
        let text = code.to_token_stream().to_string();
        let taken = taken || text.contains("stream (") || text == "stream";
        let names = self.stream().name.iter().chain((!taken).then_some(&usual));
        let used = names.filter(|name| may_mention(code, name));
        used.map(|name| generated!(let #name = stream; let _ = #name;)).collect()
    }

    /// Writes the closure that calls the launch function of this instance once, with the inputs and the
    /// values of the axes.
    fn launch_closure(&self, variant: &Instantiation) -> TokenStream {
        let stream = &self.stream().ty;
        let state = self.destructure_state(|_| true);
        let values = self.params().map(|(index, role, param)| match role {
            ParamRole::Stream => TokenStream::new(),
            ParamRole::Axis(axis) => {
                let (local, ty) = (local_name(index), param.ty_passed(param.passed));
                let value = axis_value(&self.options.args.axes[axis].name);
                let reference = (param.passed != PassedBy::Value).then(|| generated!(&));
                generated!(let #local: #ty = #reference #value;)
            }
            ParamRole::Input => self.convert_input(index, param.passed),
        });
        let arguments = self.params().map(|(index, role, param)| match role {
            ParamRole::Stream if param.passed == PassedBy::Value => {
                quote_spanned!(first_span(&param.ty)=> ::core::clone::Clone::clone(stream))
            }
            ParamRole::Stream => generated!(stream),
            _ => local_name(index).into_token_stream(),
        });
        // The call stands at the return type, so that the compiler blames that type if a launch cannot return
        // it. The parentheses are needed for this, because the name itself keeps its own hygiene.
        let name = &self.launch.name;
        let output = self.launch.output.clone().unwrap_or_else(|| name.to_token_stream());
        let function = match variant.generic_arguments() {
            // A path with types in it cannot stand in parentheses.
            Some(types) => quote!(#name #types),
            None => quote_spanned!(first_span(&output)=> (#name)),
        };
        let call = quote_spanned!(last_span(&output)=> #function(#(#arguments),*));
        let call = match &self.options.unsafety {
            // The whole block counts as the user's, so that lints on unsafe code see it.
            Some(unsafety) => {
                let mut block = Group::new(Delimiter::Brace, call);
                block.set_span(unsafety.span);
                quote!(#unsafety #block)
            }
            None => call,
        };
        let method = if self.checks_output() { "output" } else { "launched" };
        let method = Ident::new(method, first_span(&output));
        let converted = quote_spanned!(first_span(&output)=> __gb::Launched::#method(#call));
        generated! {
            |state: &mut _, stream: &#stream| {
                #state
                #(#values)*
                #converted
            }
        }
    }

    /// Writes `.counts(|state| …)`, which computes all counts; `None` if the user gives none.
    fn counts(&self) -> Option<TokenStream> {
        if self.options.counts.is_empty() {
            return None;
        }
        let lets = self.bind_names(
            |name| self.options.counts.iter().any(|count| may_mention(&count.value, name)),
            read_only,
        );
        let counts = self.options.counts.iter().map(|count| {
            let (option, text) = (&count.name, name_text(&count.name));
            let value = evaluated_count("count", generated!(#text), &count.value);
            generated!(#option: #value,)
        });
        Some(generated! {
            .counts(|state| {
                #lets
                ::core::result::Result::Ok(__gb::Counts {
                    #(#counts)*
                    ..::core::default::Default::default()
                })
            })
        })
    }

    /// Writes `.metrics(|state| …)`, which computes all metrics; `None` if the user gives none.
    fn metrics(&self) -> Option<TokenStream> {
        let metrics = &self.options.metrics;
        if metrics.is_empty() {
            return None;
        }
        let lets =
            self.bind_names(|name| metrics.iter().any(|metric| may_mention(&metric.value, name)), read_only);
        let values = metrics
            .iter()
            .map(|Metric { name, unit, value }| evaluated_count("metric", generated!(#name, #unit), value));
        Some(generated!(.metrics(|state| { #lets ::core::result::Result::Ok(::std::vec![#(#values),*]) })))
    }

    /// Writes `.reset(|state, stream| …)`; `None` if the benchmark has no `reset`.
    fn reset(&self) -> Option<TokenStream> {
        let reset = self.options.reset.as_ref()?;
        let ty = &self.stream().ty;
        let given = [generated!(stream)];
        let (lets, outcome) = self.apply_to_inputs(reset, None, given, |passed| passed);
        let names = self.bind_stream(reset.value_expr());
        Some(generated! {
            .reset(|state: &mut _, stream: &#ty| {
                #lets
                #names
                __gb::Checked::checked(#outcome)
            })
        })
    }

    /// Writes `.restore(|state| x)` for each input in the option `restore`. The code has the span of the
    /// input's name in the option, where the compiler then reports a type that cannot be restored.
    fn restore(&self) -> TokenStream {
        let restored = self.options.restore.iter().filter_map(|name| {
            let (index, _) = self.inputs().find(|(_, param)| is_named(param, name))?;
            let state = self.destructure_state(|other| other == index);
            let (value, input) = (self.convert_input(index, PassedBy::Mutable), local_name(index));
            Some(quote_spanned!(generated_at(name.span())=> .restore(|state| { #state #value #input })))
        });
        restored.collect()
    }

    /// Writes `.check(|state, output| …)`, in which `output` is `_` if the check does not take it; `None` if
    /// the benchmark has no `check`.
    fn check_outputs(&self) -> Option<TokenStream> {
        let check = self.options.check.as_ref()?;
        let given = self.options.args.axes.iter().map(|axis| axis_value(&axis.name));
        let output = self.checks_output().then(|| generated!(output));
        let (lets, outcome) = self.apply_to_inputs(check, output.clone(), given, read_only);
        let output = output.unwrap_or_else(|| generated!(_));
        Some(generated! {
            .check(|state, #output| {
                #lets
                __gb::Checked::checked(#outcome)
            })
        })
    }

    /// Writes `.memory(|state, visit| …)`, which visits the memory of each input; `None` if there are no
    /// inputs.
    fn memory(&self) -> Option<TokenStream> {
        let state = self.destructure_state(|_| true);
        let inputs: Vec<Ident> = self.inputs().map(|(index, _)| local_name(index)).collect();
        let known = generated!(#(__gb::memory!(#inputs, visit))&*);
        (!inputs.is_empty()).then(|| generated!(.memory(|state, visit| { #state #known })))
    }

    /// Writes `.skip_if(|| condition, "why")`; `None` if the benchmark has no `skip_if`.
    fn skip_if(&self) -> Option<TokenStream> {
        let (condition, why) = self.options.skip_if.as_ref()?;
        let axes = self.bind_axes(|name| may_mention(condition, name));
        let condition = run_inline(&axes, condition, &ReturnType::Default);
        Some(generated!(.skip_if(|| #condition, #why)))
    }

    /// Writes code that applies the user's `code` to the output of a launch, if `output` is given, then to
    /// the inputs, then to the values in `given`. `how` maps the way in which the launch function takes an
    /// input to the way in which `code` takes it. Returns the statements that bind variables, and the
    /// expression that uses them.
    fn apply_to_inputs(
        &self,
        code: &UserCode,
        output: Option<TokenStream>,
        given: impl IntoIterator<Item = TokenStream>,
        how: fn(PassedBy) -> PassedBy,
    ) -> (TokenStream, TokenStream) {
        let inputs = self.inputs().map(|(index, _)| {
            with_span(&local_name(index), last_span(code.value_expr())).into_token_stream()
        });
        let lets = match code {
            UserCode::Expr(expr) => self.bind_names(|name| may_mention(expr, name), how),
            _ => self.convert_all_inputs(how),
        };
        (lets, run_on(code, output.into_iter().chain(inputs).chain(given), |_| TokenStream::new()))
    }
}

/// Writes code that runs `code` on `values`. A function or closure takes the values as arguments. An
/// expression ignores them, and uses the names that are bound by the statements that `bound` returns.
fn run_on(
    code: &UserCode,
    values: impl Iterator<Item = TokenStream>,
    bound: impl FnOnce(&Expr) -> TokenStream,
) -> TokenStream {
    match code {
        UserCode::Path(path) => quote_spanned!(last_span(path)=> #path(#(#values),*)),
        UserCode::Closure(closure) => {
            let patterns = closure.inputs.iter();
            let lets = generated!(#(let #patterns = #values;)*);
            run_inline(&lets, &closure.body, &closure.output)
        }
        UserCode::Expr(expr) => run_inline(&bound(expr), expr, &ReturnType::Default),
    }
}

/// Writes `__gb::count("flops", value)?`, or the same for a metric. `function` is `count` or `metric`;
/// `given` are the arguments before the value. If [`exact_count`] understands the value, the code also
/// computes it without overflow.
fn evaluated_count(function: &str, given: TokenStream, value: &Expr) -> TokenStream {
    let (prefix, value) = match exact_count(value) {
        Some(exact) => ("exact_", generated!(#exact, || #value)),
        None => ("", value.to_token_stream()),
    };
    let function = format_ident!("{prefix}{function}", span = generated_span());
    generated!(__gb::#function(#given, #value)?)
}

/// Writes the values of an axis as the user did, except that a leading `pow2(…)` becomes a path to gpubench's
/// function.
fn axis_values(value: &Expr) -> TokenStream {
    let mut tokens = value.to_token_stream().into_iter().peekable();
    match (tokens.next(), tokens.peek()) {
        (Some(TokenTree::Ident(name)), Some(TokenTree::Group(_))) if name == "pow2" => {
            let place = generated_at(name.span());
            quote_spanned!(place=> __gb::pow2).into_iter().chain(tokens).collect()
        }
        _ => value.to_token_stream(),
    }
}

/// Returns the name as text without `r#`.
fn name_text(name: &Ident) -> String {
    name.unraw().to_string()
}

impl Benchmark {
    /// Writes `let (p0, _, p2) = state;`, with a name for each input for whose index `used` returns true, and
    /// `_` for the others.
    fn destructure_state(&self, used: impl Fn(usize) -> bool) -> TokenStream {
        let name = |index| if used(index) { local_name(index).into_token_stream() } else { generated!(_) };
        let names: Vec<TokenStream> = self.inputs().map(|(index, _)| name(index)).collect();
        // At the function, which takes this many: the compiler expects as many as `setup` made.
        let function = generated_at(self.launch.name.span());
        match names.as_slice() {
            [name] => generated!(let #name = state;),
            names => quote_spanned!(function=> let (#(#names),*) = state;),
        }
    }

    /// Writes statements that convert the local variable of the input with this index to the type of its
    /// parameter, as `passed` says: `let p2: &[f32] = &*p2;`. An input that is passed by value is cloned.
    fn convert_input(&self, index: usize, passed: PassedBy) -> TokenStream {
        let (local, param) = (local_name(index), &self.launch.params[index]);
        let (ty, value) = (param.ty_passed(passed), self.borrow_local(&local, passed));
        // Two steps, so that a wrong type and a type that cannot be cloned give different errors.
        let cloned = (passed == PassedBy::Value).then(|| {
            let made = with_span(&local, first_span(&ty));
            quote_spanned!(first_span(&ty)=> let #local = ::core::clone::Clone::clone(&*#made);)
        });
        generated!(#cloned let #local: #ty = #value;)
    }

    /// Writes statements that take the inputs from `state` and convert each to the type of its parameter.
    /// `how` maps the way in which the launch function takes an input to the way in which it is passed here.
    fn convert_all_inputs(&self, how: fn(PassedBy) -> PassedBy) -> TokenStream {
        let state = self.destructure_state(|_| true);
        let values = self.inputs().map(|(index, param)| self.convert_input(index, how(param.passed)));
        generated!(#state #(#values)*)
    }

    /// Writes `let` statements for the inputs and axes for whose names `mentions` returns true. Axes are
    /// bound by value, inputs by reference: a mutable one if `how` maps the way in which the launch function
    /// takes the input to [`PassedBy::Mutable`].
    fn bind_names(&self, mentions: impl Fn(&Ident) -> bool, how: fn(PassedBy) -> PassedBy) -> TokenStream {
        let used: Vec<(usize, &Ident)> = self
            .inputs()
            .filter_map(|(index, param)| Some((index, param.name.as_ref().filter(|name| mentions(name))?)))
            .collect();
        let state = self.destructure_state(|index| used.iter().any(|(used, _)| *used == index));
        let inputs = used.iter().map(|(index, name)| {
            let param = &self.launch.params[*index];
            let mutable = how(param.passed) == PassedBy::Mutable;
            let passed = if mutable { PassedBy::Mutable } else { PassedBy::Shared };
            let (ty, value) = (param.ty_passed(passed), self.borrow_local(&local_name(*index), passed));
            generated!(let #name: #ty = #value; let _ = &#name;)
        });
        let axes = self.bind_axes(&mentions);
        generated!(#state #(#inputs)* #axes)
    }

    /// Writes `let` statements that bind the values of the axes for whose names `mentions` returns true.
    fn bind_axes(&self, mentions: impl Fn(&Ident) -> bool) -> TokenStream {
        let axes = self.options.args.axes.iter().filter(|axis| mentions(&axis.name)).map(|axis| {
            let (name, value) = (&axis.name, axis_value(&axis.name));
            // A mentioned name need not be used: it may be a field's name. There is no `allow`, which a
            // `forbid` would reject.
            generated!(let #name = #value; let _ = &#name;)
        });
        axes.collect()
    }

    /// Writes `&*p2`, `&mut *p2` or `p2`, as `passed` says. The code has the span of the value of `setup`,
    /// where the compiler then reports a wrong type.
    fn borrow_local(&self, local: &Ident, passed: PassedBy) -> TokenStream {
        let (first, last) = self.setup_spans();
        let reference = match passed {
            PassedBy::Shared => quote_spanned!(first=> &),
            PassedBy::Mutable => quote_spanned!(first=> &mut),
            PassedBy::Value => return with_span(local, first).into_token_stream(),
        };
        let local = with_span(local, last);
        quote_spanned!(last=> #reference *#local)
    }

    /// Returns the spans of the first and the last token of the value of `setup`, which makes the inputs.
    /// Without a `setup`, returns [`generated_span`] twice.
    fn setup_spans(&self) -> (Span, Span) {
        self.options.setup.as_ref().map_or_else(
            || (generated_span(), generated_span()),
            |setup| (first_span(setup.value_expr()), last_span(setup.value_expr())),
        )
    }
}

/// Returns how to pass an input to code that may not change it: `&` in place of `&mut`.
fn read_only(passed: PassedBy) -> PassedBy {
    if passed == PassedBy::Mutable { PassedBy::Shared } else { passed }
}

/// Returns the local variable of the parameter with this index, such as `p0`.
fn local_name(index: usize) -> Ident {
    format_ident!("p{index}", span = generated_span())
}

/// Returns the name with another span.
fn with_span(name: &Ident, place: Span) -> Ident {
    let mut name = name.clone();
    name.set_span(place);
    name
}

/// Returns the variable that holds the axis of this name, such as `axis_n`.
fn axis_variable(name: &Ident) -> Ident {
    format_ident!("axis_{}", name.unraw(), span = generated_at(name.span()))
}

/// Writes the selected value of the axis of this name: `axis_n.value()`.
fn axis_value(name: &Ident) -> TokenStream {
    let variable = axis_variable(name);
    quote_spanned!(variable.span()=> #variable.value())
}
