//! Checks that the options and the function fit together. A [`Benchmark`] has a role for every parameter; every
//! mistake is reported.

use quote::quote;
use syn::{Expr, ExprClosure, Ident, ext::IdentExt as _};

use crate::code::{UserCode, ends_with, first_variable_use, returned_values, uses_question_mark};
use crate::errors::{Errors, did_you_mean};
use crate::parse::{AttributeOptions, NamedExpr};
use crate::signature::{Instantiation, LaunchFunction, Param, PassedBy, instantiations};

/// A benchmark whose options and function were checked together, ready to expand.
pub(crate) struct Benchmark {
    pub options: AttributeOptions,
    pub launch: LaunchFunction,
    /// The role of each parameter, in the order of the parameters.
    pub roles: Vec<ParamRole>,
    /// The instances of the function: one, unless types or constants are swept.
    pub variants: Vec<Instantiation>,
    /// The index of the stream among the parameters.
    stream: usize,
}

/// The source of a parameter's value.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum ParamRole {
    /// The device makes the stream.
    Stream,
    /// A value of the argument that has this index in `args`.
    Axis(usize),
    /// A value that `setup` returned.
    Input,
}

impl Benchmark {
    /// Combines options and function, and reports all mistakes to `errors`. Returns `None` only if the stream
    /// is not found; any other mistake leaves a result.
    pub(crate) fn check(
        options: AttributeOptions,
        launch: LaunchFunction,
        errors: &mut Errors,
    ) -> Option<Self> {
        check_counts(&options.counts, errors);
        check_safety(&options, &launch, errors);
        check_tune(&options, errors);
        let variants = instantiations(&options, &launch, errors);
        let stream = find_stream(&options, &launch, errors)?;
        let roles = launch.params.iter().enumerate().map(|(index, param)| {
            let axis = options.args.axes.iter().position(|axis| is_named(param, &axis.name));
            match axis {
                _ if index == stream => ParamRole::Stream,
                Some(axis) => ParamRole::Axis(axis),
                None => ParamRole::Input,
            }
        });
        let roles = roles.collect();
        let benchmark = Self { options, launch, roles, variants, stream };
        benchmark.check_passing(errors);
        benchmark.check_skip_if(errors);
        benchmark.check_missing_setup(errors);
        benchmark.check_setup_values(errors);
        benchmark.check_restore(errors);
        benchmark.check_closures(errors);
        Some(benchmark)
    }

    /// Returns the parameters, each with its index and its role.
    pub(crate) fn params(&self) -> impl Iterator<Item = (usize, ParamRole, &Param)> {
        let params = self.roles.iter().zip(&self.launch.params).enumerate();
        params.map(|(index, (role, param))| (index, *role, param))
    }

    /// Returns the parameters that get the values of `setup`, each with its index among all parameters.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = (usize, &Param)> {
        self.params().filter_map(|(index, role, param)| (role == ParamRole::Input).then_some((index, param)))
    }

    /// Returns the parameter that is the stream.
    pub(crate) fn stream(&self) -> &Param {
        &self.launch.params[self.stream]
    }

    /// Reports a stream or an argument that is taken by `&mut`, and a stream whose type contains
    /// `impl Trait`.
    fn check_passing(&self, errors: &mut Errors) {
        if self.stream().unnamed {
            errors.at(&self.stream().tokens, format_args!(
                "the stream's type says which device measures, so that it must be named: `impl Trait` is not; a type \
                 parameter with `types(S = […])` is; {STREAM_RULE}"
            ));
        }
        for (_, role, param) in self.params() {
            let message = match role {
                ParamRole::Input => continue,
                ParamRole::Stream => &format!("the stream is taken by `&` or by value; {STREAM_RULE}"),
                ParamRole::Axis(_) => "an argument is taken by `&` or by value",
            };
            if param.passed == PassedBy::Mutable {
                errors.at(&param.tokens, message);
            }
        }
    }

    /// Reports a `skip_if` that uses the stream or an input, which do not exist yet when it runs.
    fn check_skip_if(&self, errors: &mut Errors) {
        let Some((condition, _)) = &self.options.skip_if else { return };
        for (index, role, param) in self.params() {
            let Some(name) = param.name.as_ref().filter(|_| !matches!(role, ParamRole::Axis(_))) else {
                continue;
            };
            if let Some(place) = first_variable_use(condition, name) {
                let what = if index == self.stream { "the stream" } else { "what `setup` makes" };
                errors
                    .at(place, format_args!("`skip_if` is asked before `setup`: it sees `args`, not {what}"));
            }
        }
    }

    /// Reports the inputs if there is no `setup`, which has to return them.
    fn check_missing_setup(&self, errors: &mut Errors) {
        let made: Vec<&Param> = self.inputs().map(|(_, param)| param).collect();
        let (None, Some(first)) = (&self.options.setup, made.first()) else { return };
        let message = match (&first.name, &made[..]) {
            (Some(name), [_]) => {
                format!(": add `setup = …`, which returns it, or `args({name} = […])`")
            }
            _ => ": add `setup = …`, which returns them".to_owned(),
        };
        let plural = if made.len() == 1 { "" } else { "s" };
        let names = made.iter().map(|param| param.display_name()).collect::<Vec<_>>().join(", ");
        errors.at(&first.tokens, format_args!("nothing makes the parameter{plural} {names}{message}"));
    }

    /// Reports values of `setup` that are visibly wrong: a tuple whose length is not the number of inputs, and
    /// values without `Ok(…)` in code that also returns a `Result`. A tuple may be the value of a single input.
    /// Calls of other functions are not checked.
    fn check_setup_values(&self, errors: &mut Errors) {
        let Some(setup @ (UserCode::Closure(_) | UserCode::Expr(_))) = &self.options.setup else { return };
        let inputs = self.inputs().count();
        let code = setup.value_expr();
        let is_result = |value: &Expr| match value {
            Expr::Call(call) => ends_with(&call.func, "Ok") || ends_with(&call.func, "Err"),
            _ => false,
        };
        let returns_result = uses_question_mark(code) || returned_values(code).any(is_result);
        for value in returned_values(code) {
            let made = match value {
                Expr::Tuple(_) | Expr::Array(_) | Expr::Struct(_) | Expr::Macro(_) if returns_result => {
                    errors.at(value, "wrap this in `Ok(…)`: this `setup` returns a `Result`");
                    continue;
                }
                Expr::Call(call) if ends_with(&call.func, "Ok") => call.args.first(),
                value => Some(value),
            };
            if let Some(Expr::Tuple(made)) = made
                && inputs != 1
                && made.elems.len() != inputs
            {
                let (made, function) = (made.elems.len(), &self.launch.name);
                errors.at(
                    value,
                    format_args!("`setup` returns {made} inputs here, and `{function}` takes {inputs}"),
                );
            }
        }
    }

    /// Reports names in `restore` that are no inputs, or inputs that the function does not take by `&mut`.
    /// Also reports `restore` together with `reset`.
    fn check_restore(&self, errors: &mut Errors) {
        let restored = &self.options.restore;
        if let (Some(first), Some(_)) = (restored.first(), &self.options.reset) {
            errors.at(first, "`restore` is a reset that gpubench writes: give either it or `reset`");
        }
        for name in restored {
            let written = name.unraw();
            match self.inputs().find(|(_, param)| is_named(param, name)) {
                Some((_, param)) if param.passed == PassedBy::Mutable => {}
                Some(_) => {
                    errors.at(
                        name,
                        format_args!("`restore` puts back what a launch changes: take `{written}` by `&mut`"),
                    );
                }
                None => {
                    let known = self.inputs().filter_map(|(_, param)| param.name.as_ref());
                    let hint = did_you_mean(&written.to_string(), known);
                    errors.at(
                        name,
                        format_args!(
                            "`restore` names parameters that `setup` makes: `{written}` is not one{hint}"
                        ),
                    );
                }
            }
        }
    }

    /// Returns true if `check` takes the value that the launch function returned: the function returns one,
    /// and `check` is a closure with one parameter more than there are inputs and arguments.
    pub(crate) fn checks_output(&self) -> bool {
        let given = self.inputs().count() + self.options.args.axes.len();
        let takes_more = matches!(&self.options.check, Some(UserCode::Closure(closure)) if closure.inputs.len() == given + 1);
        takes_more && self.launch.has_output()
    }

    /// Reports closures of `setup`, `reset` and `check` with a wrong number of parameters.
    fn check_closures(&self, errors: &mut Errors) {
        let (inputs, axes) = (self.inputs().count(), self.options.args.axes.len());
        let of_setup = format!(
            "a `setup` is given `args` in order; its body sees the stream, {}",
            self.stream().display_name()
        );
        for (code, given, rule) in [
            (&self.options.setup, axes, &*of_setup),
            (&self.options.reset, inputs + 1, "a `reset` is given what `setup` made, then the stream"),
            (
                &self.options.check,
                inputs + axes + usize::from(self.checks_output()),
                "a `check` is given what `setup` made, then `args` in order; before them what the launch returned, if it takes one more",
            ),
        ] {
            if let Some(UserCode::Closure(closure)) = code {
                check_closure_arity(closure, given, rule, errors);
            }
        }
    }
}

/// Reports `bytes` together with `reads` or `writes`, and `intermediates` without any of these three.
fn check_counts(counts: &[NamedExpr], errors: &mut Errors) {
    let given = |name: &str| counts.iter().find(|count| count.name == name);
    if let (Some(bytes), Some(_)) = (given("bytes"), given("reads").or(given("writes"))) {
        errors.at(&bytes.name, "`bytes` is the sum of `reads` and `writes`: give either it or them");
    }
    if let (Some(passed), None) =
        (given("intermediates"), given("bytes").or(given("reads")).or(given("writes")))
    {
        errors.at(
            &passed.name,
            "`intermediates` are added to `reads` and `writes`: give these, or `bytes`, too",
        );
    }
}

/// Reports names in `tune` that are not swept, and zipped arguments of which only some are tuned.
fn check_tune(options: &AttributeOptions, errors: &mut Errors) {
    let generics = options.generics.iter().map(|choices| &choices.name);
    let swept = generics.chain(options.args.axes.iter().map(|axis| &axis.name));
    let swept: Vec<String> = swept.map(|name| name.unraw().to_string()).collect();
    for name in &options.tune {
        let written = name.unraw().to_string();
        if !swept.contains(&written) {
            let hint = did_you_mean(&written, &swept);
            errors.at(
                name,
                format_args!(
                    "`tune` names one of `args`, `types` and `consts`: there is no `{written}`{hint}"
                ),
            );
        }
    }
    let is_tuned = |axis: &NamedExpr| options.tune.iter().any(|name| name.unraw() == axis.name.unraw());
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

/// Reports `unsafe` that only the options or only the function has.
fn check_safety(options: &AttributeOptions, launch: &LaunchFunction, errors: &mut Errors) {
    let name = launch.name.unraw();
    match (&options.unsafety, &launch.unsafety) {
        (None, Some(unsafety)) => {
            errors.at(unsafety, format_args!(
                "`{name}` is unsafe to call: `#[gpu_bench(unsafe, …)]` says that it is sound on what `setup` makes"
            ));
        }
        (Some(unsafety), None) => {
            errors.at(unsafety, format_args!("`{name}` is safe to call: leave `unsafe` out"));
        }
        _ => {}
    }
}

/// A part of error messages: the rule that selects the stream among the parameters.
const STREAM_RULE: &str =
    "it is the parameter that `stream = name` says, else the one named `stream`, else the last one";

/// Returns the index of the stream among the parameters, by [`STREAM_RULE`]. Returns `None` and reports the
/// mistake if there is no such parameter, or if it is an argument of `args` as well.
fn find_stream(options: &AttributeOptions, launch: &LaunchFunction, errors: &mut Errors) -> Option<usize> {
    let find_axis =
        |param: &Param| options.args.axes.iter().map(|axis| &axis.name).find(|name| is_named(param, name));
    // A parameter in `args` and a parameter of type `&mut` are no streams.
    let may_be = |last: &usize| {
        let last = &launch.params[*last];
        last.passed != PassedBy::Mutable && find_axis(last).is_none()
    };
    let last = launch.params.len().checked_sub(1).filter(may_be);
    let named =
        launch.params.iter().position(|param| param.name.as_ref().is_some_and(|name| name == "stream"));
    let stream = match &options.stream {
        Some(name) => {
            let Some(index) = launch.params.iter().position(|param| is_named(param, name)) else {
                let known = launch.params.iter().filter_map(|param| param.name.as_ref());
                let hint = did_you_mean(&name.to_string(), known);
                errors.at(name, format_args!("`{}` has no parameter `{name}`{hint}", launch.name.unraw()));
                return None;
            };
            index
        }
        None => {
            let stream = named.or(last);
            if stream.is_none() {
                errors.push(syn::Error::new(launch.list, format_args!(
                    "`{}` takes no stream as its last parameter: add one by `&` or by value, such as `stream: &gpubench::host::Stream`, \
                     or name the stream's parameter with `stream = name`",
                    launch.name.unraw()
                )));
            }
            stream?
        }
    };
    if let Some(name) = find_axis(&launch.params[stream]) {
        errors.at(name, format_args!("`{}` is the stream and no argument: {STREAM_RULE}", name.unraw()));
        return None;
    }
    Some(stream)
}

/// Returns true if the parameter has this name, with or without `r#`.
pub(crate) fn is_named(param: &Param, name: &Ident) -> bool {
    param.name.as_ref().is_some_and(|param| param.unraw() == name.unraw())
}

/// Reports a closure whose number of parameters is not `given`. `rule` is the end of the error message, which
/// says what the closure is given.
fn check_closure_arity(closure: &ExprClosure, given: usize, rule: &str, errors: &mut Errors) {
    let ExprClosure { inputs_begin, inputs, inputs_end, .. } = closure;
    if inputs.len() != given {
        let plural = if given == 1 { "" } else { "s" };
        errors.at(
            quote!(#inputs_begin #inputs #inputs_end),
            format_args!("give this closure {given} parameter{plural}, not {}: {rule}", inputs.len()),
        );
    }
}
