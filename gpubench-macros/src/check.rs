//! Checks that options and function fit together. In: both as written. Out: a [`Benchmark`] in which every
//! parameter has its role; every mistake has been reported.

use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt as _;
use syn::{Expr, ExprClosure, Ident, LitStr, Path, Token};

use crate::code::{Code, first_use};
use crate::errors::{Errors, did_you_mean};
use crate::parse::{AttributeOptions, Data, GroupOption, Named};
use crate::signature::{Launch, Param, Passed};
use crate::variants::{Instantiation, variants};

/// All parts of an expansion.
pub(crate) struct Benchmark {
    pub(crate) attributes: TokenStream,
    pub(crate) name: Ident,
    /// The name that listings show, if it is not the function's.
    pub(crate) title: Option<LitStr>,
    /// The user's `unsafe`: a promise that the function may be called this way.
    pub(crate) unsafety: Option<Token![unsafe]>,
    /// Its instances: one, unless types or constants are swept.
    pub(crate) variants: Vec<Instantiation>,
    pub(crate) output: Option<TokenStream>,
    pub(crate) params: Vec<(Role, Param)>,
    /// The index of the stream among the parameters.
    stream: usize,
    /// True if the stream is assumed only because it is the last parameter.
    pub(crate) stream_is_assumed: bool,
    pub(crate) axes: Vec<Named>,
    /// The number of axes that go together in each sweep.
    pub(crate) sweeps: Vec<usize>,
    /// The names of the axes that are variants of one problem.
    pub(crate) tune: Vec<Ident>,
    pub(crate) setup: Option<Code>,
    pub(crate) counts: Vec<Named>,
    pub(crate) item: Option<LitStr>,
    pub(crate) reset: Option<Code>,
    pub(crate) check: Option<Code>,
    pub(crate) skip_if: Option<(Expr, LitStr)>,
    pub(crate) data: Data,
    pub(crate) group: Option<GroupOption>,
    pub(crate) krate: Option<Path>,
}

/// The source of a parameter's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The device.
    Stream,
    /// The axis of this index.
    Axis(usize),
    /// The value that `setup` returned.
    Input,
}

impl Benchmark {
    /// Combines options and function; `None` if there is no stream.
    pub(crate) fn check(options: AttributeOptions, launch: Launch, errors: &mut Errors) -> Option<Self> {
        check_counts(&options.counts, errors);
        check_safety(&options, &launch, errors);
        check_tune(&options, errors);
        let variants = variants(&options, &launch, errors);
        let (stream, stream_is_assumed) = stream_of(&options, &launch, errors)?;
        let params = launch.params.into_iter().enumerate().map(|(index, param)| {
            let axis = options.args.axes.iter().position(|axis| is_named(&param, &axis.name));
            let role = match axis {
                _ if index == stream => Role::Stream,
                Some(axis) => Role::Axis(axis),
                None => Role::Input,
            };
            (role, param)
        });
        let benchmark = Self {
            attributes: launch.attributes,
            name: launch.name,
            title: options.name,
            unsafety: options.unsafety,
            variants,
            output: launch.output,
            params: params.collect(),
            stream,
            stream_is_assumed,
            axes: options.args.axes,
            sweeps: options.args.sweeps,
            tune: options.tune,
            setup: options.setup.map(Code::of),
            counts: options.counts,
            item: options.item,
            reset: options.reset.map(Code::of),
            check: options.check.map(Code::of),
            skip_if: options.skip_if,
            data: options.data,
            group: options.group,
            krate: options.krate,
        };
        benchmark.check_passing(errors);
        benchmark.check_skip_if(errors);
        benchmark.check_setup(errors);
        benchmark.check_reset(errors);
        benchmark.check_check(errors);
        Some(benchmark)
    }

    /// Returns the parameters that `setup` makes, each with its index among all parameters.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = (usize, &Param)> {
        let params = self.params.iter().enumerate();
        params.filter(|(_, (role, _))| *role == Role::Input).map(|(index, (_, param))| (index, param))
    }

    /// Returns the stream.
    pub(crate) fn stream(&self) -> &Param {
        &self.params[self.stream].1
    }

    fn check_passing(&self, errors: &mut Errors) {
        if self.stream().unnamed {
            let message = format!(
                "the stream's type says which device measures, so that it must be named: `impl Trait` is not; a type \
                 parameter with `types(S = […])` is{}",
                self.assumed()
            );
            errors.at(&self.stream().tokens, message);
        }
        for (role, param) in &self.params {
            let (thing, assumed) = match role {
                Role::Input => continue,
                Role::Stream => ("the stream", self.assumed()),
                Role::Axis(_) => ("an argument", String::new()),
            };
            if param.passed == Passed::Mutable {
                errors.at(&param.tokens, format_args!("{thing} is taken by `&` or by value{assumed}"));
            }
        }
    }

    /// Says what to do if the stream is only assumed and is none; empty otherwise.
    fn assumed(&self) -> String {
        if !self.stream_is_assumed {
            return String::new();
        }
        format!(
            "; the last parameter, {}, was taken as the stream, since none is named `stream`: if it is none, add a stream, or \
             say `stream = name`",
            self.stream().shown()
        )
    }

    /// Checks that `skip_if` uses no inputs, because it runs before there are any.
    fn check_skip_if(&self, errors: &mut Errors) {
        let Some((condition, _)) = &self.skip_if else { return };
        for (index, (role, param)) in self.params.iter().enumerate() {
            let Some(name) = param.name.as_ref().filter(|_| !matches!(role, Role::Axis(_))) else { continue };
            if let Some(place) = first_use(condition, name) {
                let what = if index == self.stream { "the stream" } else { "what `setup` makes" };
                let message = format!("`skip_if` is asked before `setup`: it sees `args`, not {what}");
                errors.at(place, message);
            }
        }
    }

    fn check_setup(&self, errors: &mut Errors) {
        match &self.setup {
            None => {
                let Some((_, first)) = self.inputs().next() else { return };
                let made: Vec<String> = self.inputs().map(|(_, param)| param.shown()).collect();
                let message = match &first.name {
                    Some(name) if made.len() == 1 => {
                        format!(": add `setup = …`, which returns it, or `args({name} = […])`")
                    }
                    _ => ": add `setup = …`, which returns them".to_owned(),
                };
                let plural = if made.len() == 1 { "" } else { "s" };
                let made = made.join(", ");
                errors.at(&first.tokens, format_args!("nothing makes the parameter{plural} {made}{message}"));
            }
            Some(Code::Closure(closure)) => {
                check_arity(closure, self.axes.len(), "a `setup` is given `args` in order", errors);
            }
            Some(_) => {}
        }
    }

    fn check_reset(&self, errors: &mut Errors) {
        if let Some(Code::Closure(closure)) = &self.reset {
            let rule = "a `reset` is given what `setup` made, then the stream";
            check_arity(closure, self.inputs().count() + 1, rule, errors);
        }
    }

    fn check_check(&self, errors: &mut Errors) {
        if let Some(Code::Closure(closure)) = &self.check {
            let given = self.inputs().count() + self.axes.len();
            let rule = "a `check` is given what `setup` made, then `args` in order";
            check_arity(closure, given, rule, errors);
        }
    }
}

fn check_counts(counts: &[Named], errors: &mut Errors) {
    let given = |name: &str| counts.iter().find(|count| count.name == name);
    if let (Some(bytes), Some(_)) = (given("bytes"), given("reads").or(given("writes"))) {
        errors.at(&bytes.name, "`bytes` is the sum of `reads` and `writes`: give either it or them");
    }
}

/// Checks that `tune` names what is swept, and of arguments that go together all or none.
fn check_tune(options: &AttributeOptions, errors: &mut Errors) {
    let types = options.types.iter().map(|choices| &choices.name);
    let generics = types.chain(options.consts.iter().map(|choices| &choices.name));
    let swept = generics.chain(options.args.axes.iter().map(|axis| &axis.name));
    let swept: Vec<String> = swept.map(|name| name.unraw().to_string()).collect();
    for name in &options.tune {
        let written = name.unraw().to_string();
        if !swept.contains(&written) {
            let hint = did_you_mean(&written, swept.iter().map(String::as_str));
            errors.at(
                name,
                format_args!(
                    "`tune` names one of `args`, `types` and `consts`: there is no `{written}`{hint}"
                ),
            );
        }
    }
    let is_tuned = |axis: &Named| options.tune.iter().any(|name| name.unraw() == axis.name.unraw());
    let mut axes = options.args.axes.as_slice();
    for number in &options.args.sweeps {
        let (zipped, others) = axes.split_at((*number).min(axes.len()));
        axes = others;
        let first = zipped.iter().find(|axis| is_tuned(axis));
        if let (Some(tuned), Some(other)) = (first, zipped.iter().find(|axis| !is_tuned(axis))) {
            let (tuned, other) = (tuned.name.unraw(), other.name.unraw());
            let place = options.tune.iter().find(|name| name.unraw() == tuned);
            errors.at(
                place,
                format_args!("`{tuned}` and `{other}` are zipped, they go together: `tune` both or neither"),
            );
        }
    }
}

/// Checks that both the options and the function say `unsafe`, or neither.
fn check_safety(options: &AttributeOptions, launch: &Launch, errors: &mut Errors) {
    let name = launch.name.unraw();
    match (&options.unsafety, &launch.unsafety) {
        (None, Some(unsafety)) => {
            let message = format!(
                "`{name}` is unsafe to call: `#[gpu_bench(unsafe, …)]` says that it is sound on what `setup` makes"
            );
            errors.at(unsafety, message);
        }
        (Some(unsafety), None) => {
            errors.at(unsafety, format_args!("`{name}` is safe to call: leave `unsafe` out"));
        }
        _ => {}
    }
}

/// Returns the index of the stream among the parameters, and true if it is assumed because it is the last.
fn stream_of(options: &AttributeOptions, launch: &Launch, errors: &mut Errors) -> Option<(usize, bool)> {
    let called = |name: &Ident| launch.params.iter().position(|param| is_named(param, name));
    let Some(last) = launch.params.len().checked_sub(1) else {
        let message = "a launch function takes a stream: the parameter named `stream`, else the last one";
        errors.at(&launch.name, message);
        return None;
    };
    let named =
        launch.params.iter().position(|param| param.name.as_ref().is_some_and(|name| name == "stream"));
    let stream = match &options.stream {
        Some(name) => {
            let Some(index) = called(name) else {
                let known: Vec<String> =
                    launch.params.iter().filter_map(|param| Some(param.name.as_ref()?.to_string())).collect();
                let hint = did_you_mean(&name.to_string(), known.iter().map(String::as_str));
                errors.at(name, format_args!("`{}` has no parameter `{name}`{hint}", launch.name.unraw()));
                return None;
            };
            index
        }
        None => named.unwrap_or(last),
    };
    let axis = options.args.axes.iter().find(|axis| is_named(&launch.params[stream], &axis.name));
    if let Some(axis) = axis {
        let why = if options.stream.is_some() || named.is_some() {
            "it is the stream"
        } else {
            "the last parameter is the stream, unless one is named `stream` or `stream = …` says which"
        };
        errors.at(&axis.name, format_args!("`{}` cannot be an argument: {why}", axis.name.unraw()));
        return None;
    }
    Some((stream, options.stream.is_none() && named.is_none()))
}

fn is_named(param: &Param, name: &Ident) -> bool {
    param.name.as_ref().is_some_and(|param| param.unraw() == name.unraw())
}

fn check_arity(closure: &ExprClosure, given: usize, rule: &str, errors: &mut Errors) {
    let ExprClosure { inputs_begin, inputs, inputs_end, .. } = closure;
    if inputs.len() != given {
        let takes = match inputs.len() {
            0 => "no parameter".to_owned(),
            1 => "one parameter".to_owned(),
            number => format!("{number} parameters"),
        };
        let message = format!("this closure takes {takes} instead of {given}: {rule}");
        errors.at(quote!(#inputs_begin #inputs #inputs_end), message);
    }
}
