//! The values that the user's code sees. In: parameters and axes; out: `let` statements for a closure over `state`,
//! what `setup` returned. Each stands where the mistake would be, should its type be wrong.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote_spanned};
use syn::ext::IdentExt as _;

use crate::check::Benchmark;
use crate::signature::Passed;
use crate::spans::{at, first, last, mixed};

impl Benchmark {
    /// `let (p0, _, p2) = state;`, with a name for each input whose parameter is `used`.
    pub(crate) fn take_apart(&self, used: impl Fn(usize) -> bool) -> TokenStream {
        let (at, _) = self.made_at();
        let name =
            |index| if used(index) { local(index).into_token_stream() } else { quote_spanned!(at=> _) };
        let names: Vec<TokenStream> = self.inputs().map(|(index, _)| name(index)).collect();
        match names.as_slice() {
            [name] => quote_spanned!(mixed()=> let #name = state;),
            names => quote_spanned!(at=> let (#(#names),*) = state;),
        }
    }

    /// Makes the local of input `index` what the function takes: `let p2: &[f32] = &*p2;`.
    pub(crate) fn pass_input(&self, index: usize, passed: Passed) -> TokenStream {
        let (local, param) = (local(index), &self.params[index].1);
        let (ty, value) = (param.ty_if(passed), self.borrowed(&local, passed));
        // In two steps, so that a wrong type is told apart from one that cannot be cloned.
        let cloned = (passed == Passed::Value).then(|| {
            let made = placed(&local, first(&ty));
            quote_spanned!(first(&ty)=> let #local = ::core::clone::Clone::clone(&*#made);)
        });
        quote_spanned!(mixed()=> #cloned let #local: #ty = #value;)
    }

    /// Makes each input what a reset takes: as the function.
    pub(crate) fn pass_inputs(&self) -> TokenStream {
        self.pass_all(|passed| passed)
    }

    /// Makes each input what a check takes: as the function, but read only.
    pub(crate) fn pass_outputs(&self) -> TokenStream {
        self.pass_all(|passed| if passed == Passed::Mutable { Passed::Shared } else { passed })
    }

    fn pass_all(&self, how: fn(Passed) -> Passed) -> TokenStream {
        let state = self.take_apart(|_| true);
        let values = self.inputs().map(|(index, param)| self.pass_input(index, how(param.passed)));
        quote_spanned!(mixed()=> #state #(#values)*)
    }

    /// Binds the names that some code `mentions`: inputs by `&`, then axes by value.
    pub(crate) fn bind_names(&self, mentions: impl Fn(&Ident) -> bool) -> TokenStream {
        self.bind(mentions, |_| Passed::Shared)
    }

    /// The same, with inputs by `&mut` that the function takes so.
    pub(crate) fn bind_names_to_change(&self, mentions: impl Fn(&Ident) -> bool) -> TokenStream {
        self.bind(mentions, |passed| if passed == Passed::Mutable { passed } else { Passed::Shared })
    }

    fn bind(&self, mentions: impl Fn(&Ident) -> bool, how: fn(Passed) -> Passed) -> TokenStream {
        let used: Vec<(usize, &Ident)> = self
            .inputs()
            .filter_map(|(index, param)| Some((index, param.name.as_ref().filter(|name| mentions(name))?)))
            .collect();
        let state = self.take_apart(|index| used.iter().any(|(used, _)| *used == index));
        let inputs = used.iter().map(|(index, name)| {
            let param = &self.params[*index].1;
            let passed = how(param.passed);
            let (ty, value) = (param.ty_if(passed), self.borrowed(&local(*index), passed));
            quote_spanned!(mixed()=> let #name: #ty = #value; let _ = &#name;)
        });
        let axes = self.bind_axes(&mentions);
        quote_spanned!(mixed()=> #state #(#inputs)* #axes)
    }

    /// Binds the axes that some code `mentions`, by value.
    pub(crate) fn bind_axes(&self, mentions: impl Fn(&Ident) -> bool) -> TokenStream {
        let axes = self.axes.iter().filter(|axis| mentions(&axis.name)).map(|axis| {
            let (name, value) = (&axis.name, axis_value(&axis.name));
            // Mentioned is not used: it may be a field's name. No `allow`, which a `forbid` would refuse.
            quote_spanned!(mixed()=> let #name = #value; let _ = &#name;)
        });
        axes.collect()
    }

    /// `&*p2`, in the place of the value of `setup`, which is what a wrong type is to point at.
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

    /// Where the inputs come from.
    fn made_at(&self) -> (Span, Span) {
        self.setup
            .as_ref()
            .map_or_else(|| (mixed(), mixed()), |setup| (first(setup.value()), last(setup.value())))
    }
}

/// The variable of parameter `index`.
pub(crate) fn local(index: usize) -> Ident {
    format_ident!("p{index}", span = mixed())
}

/// The same name in another place.
pub(crate) fn placed(name: &Ident, place: Span) -> Ident {
    let mut name = name.clone();
    name.set_span(place);
    name
}

/// The variable that holds an axis.
pub(crate) fn axis_variable(name: &Ident) -> Ident {
    format_ident!("axis_{}", name.unraw(), span = at(name.span()))
}

/// The selected value of an axis.
pub(crate) fn axis_value(name: &Ident) -> TokenStream {
    let variable = axis_variable(name);
    quote_spanned!(variable.span()=> #variable.value())
}
