//! The values that the user's code sees. In: parameters and axes. Out: `let` statements for a closure over
//! `state`, the value of `setup`. Each carries the place where a wrong type would be the user's mistake.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote_spanned};
use syn::ext::IdentExt as _;

use crate::check::Benchmark;
use crate::signature::Passed;
use crate::spans::{at, first, generated, last, mixed};

impl Benchmark {
    /// Writes `let (p0, _, p2) = state;`, with a name for each input whose parameter is `used`.
    pub(crate) fn take_apart(&self, used: impl Fn(usize) -> bool) -> TokenStream {
        let (at, _) = self.made_at();
        let name =
            |index| if used(index) { local(index).into_token_stream() } else { quote_spanned!(at=> _) };
        let names: Vec<TokenStream> = self.inputs().map(|(index, _)| name(index)).collect();
        match names.as_slice() {
            [name] => generated!(let #name = state;),
            names => quote_spanned!(at=> let (#(#names),*) = state;),
        }
    }

    /// Converts the local of input `index` to the function's parameter type: `let p2: &[f32] = &*p2;`.
    pub(crate) fn pass_input(&self, index: usize, passed: Passed) -> TokenStream {
        let (local, param) = (local(index), &self.launch.params[index]);
        let (ty, value) = (param.ty_if(passed), self.borrowed(&local, passed));
        // Two steps, so that a wrong type and a type that cannot be cloned give different errors.
        let cloned = (passed == Passed::Value).then(|| {
            let made = placed(&local, first(&ty));
            quote_spanned!(first(&ty)=> let #local = ::core::clone::Clone::clone(&*#made);)
        });
        generated!(#cloned let #local: #ty = #value;)
    }

    /// Converts each input to the function's parameter type, passed as `how` says.
    pub(crate) fn pass_all(&self, how: fn(Passed) -> Passed) -> TokenStream {
        let state = self.take_apart(|_| true);
        let values = self.inputs().map(|(index, param)| self.pass_input(index, how(param.passed)));
        generated!(#state #(#values)*)
    }

    /// Binds the names that some code `mentions`: inputs by reference, mutable where `how` says so, then axes by value.
    pub(crate) fn bind(&self, mentions: impl Fn(&Ident) -> bool, how: fn(Passed) -> Passed) -> TokenStream {
        let used: Vec<(usize, &Ident)> = self
            .inputs()
            .filter_map(|(index, param)| Some((index, param.name.as_ref().filter(|name| mentions(name))?)))
            .collect();
        let state = self.take_apart(|index| used.iter().any(|(used, _)| *used == index));
        let inputs = used.iter().map(|(index, name)| {
            let param = &self.launch.params[*index];
            let mutable = how(param.passed) == Passed::Mutable;
            let passed = if mutable { Passed::Mutable } else { Passed::Shared };
            let (ty, value) = (param.ty_if(passed), self.borrowed(&local(*index), passed));
            generated!(let #name: #ty = #value; let _ = &#name;)
        });
        let axes = self.bind_axes(&mentions);
        generated!(#state #(#inputs)* #axes)
    }

    /// Binds the axes that some code `mentions`, by value.
    pub(crate) fn bind_axes(&self, mentions: impl Fn(&Ident) -> bool) -> TokenStream {
        let axes = self.options.args.axes.iter().filter(|axis| mentions(&axis.name)).map(|axis| {
            let (name, value) = (&axis.name, axis_value(&axis.name));
            // A mentioned name need not be used: it may be a field's name. There is no `allow`, which a
            // `forbid` would reject.
            generated!(let #name = #value; let _ = &#name;)
        });
        axes.collect()
    }

    /// Writes `&*p2` at the place of `setup`'s value, so that the compiler reports a wrong type there.
    fn borrowed(&self, local: &Ident, passed: Passed) -> TokenStream {
        let (first, last) = self.made_at();
        let reference = match passed {
            Passed::Shared => quote_spanned!(first=> &),
            Passed::Mutable => quote_spanned!(first=> &mut),
            Passed::Value => return placed(local, first).into_token_stream(),
        };
        let local = placed(local, last);
        quote_spanned!(last=> #reference *#local)
    }

    /// Returns the place of the inputs' source.
    fn made_at(&self) -> (Span, Span) {
        self.options
            .setup
            .as_ref()
            .map_or_else(|| (mixed(), mixed()), |setup| (first(setup.value()), last(setup.value())))
    }
}

/// Passes an input to code that may not change it.
pub(crate) fn read_only(passed: Passed) -> Passed {
    if passed == Passed::Mutable { Passed::Shared } else { passed }
}

/// Returns the variable of parameter `index`.
pub(crate) fn local(index: usize) -> Ident {
    format_ident!("p{index}", span = mixed())
}

/// Returns the same name at another place.
pub(crate) fn placed(name: &Ident, place: Span) -> Ident {
    let mut name = name.clone();
    name.set_span(place);
    name
}

/// Returns the variable that holds an axis.
pub(crate) fn axis_variable(name: &Ident) -> Ident {
    format_ident!("axis_{}", name.unraw(), span = at(name.span()))
}

/// Returns the selected value of an axis.
pub(crate) fn axis_value(name: &Ident) -> TokenStream {
    let variable = axis_variable(name);
    quote_spanned!(variable.span()=> #variable.value())
}
