//! The instances of a generic launch function. In: its type and constant parameters, and the choices of
//! `types` and `consts`. Out: a [`Instantiation`] for each combination.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::Ident;
use syn::ext::IdentExt as _;

use crate::errors::{Errors, did_you_mean};
use crate::parse::{AttributeOptions, Choices, written};
use crate::signature::{GenericParameter, Launch};
use crate::spans::{first, generated};

/// One instance: the choice for each parameter, in order.
#[derive(Clone, Default)]
pub(crate) struct Instantiation(Vec<Choice>);

#[derive(Clone)]
struct Choice {
    name: Ident,
    /// The type of a constant.
    constant: Option<TokenStream>,
    value: TokenStream,
}

impl Choice {
    /// Returns the parameter's name at the place of the choice.
    fn placed(&self) -> Ident {
        let mut name = self.name.clone();
        name.set_span(first(&self.value).resolved_at(name.span()));
        name
    }
}

/// Returns every combination of the choices, the last parameter varying fastest; one instance without choices
/// for a function that is not generic.
pub(crate) fn variants(
    options: &AttributeOptions,
    launch: &Launch,
    errors: &mut Errors,
) -> Vec<Instantiation> {
    let given = &options.generics;
    given.iter().for_each(|choices| choices.check(launch, errors));
    for axis in &options.args.axes {
        if let Some(generic) =
            launch.generics.iter().find(|generic| generic.name.unraw() == axis.name.unraw())
        {
            let message =
                format!("`{}` is a parameter of `{}`: `{}`", generic.name, launch.name, how(generic));
            errors.at(&axis.name, message);
        }
    }
    launch.generics.iter().fold(vec![Instantiation::default()], |variants, generic| {
        let chosen = given.iter().find(|given| given.name.unraw() == generic.name.unraw());
        let Some(chosen) = chosen else {
            let message = format!("nothing chooses the parameter `{}`: add `{}`", generic.name, how(generic));
            errors.at(&generic.name, message);
            return variants;
        };
        let extended = variants.iter().flat_map(|variant| {
            chosen.values.iter().map(|value| {
                let mut choices = variant.0.clone();
                let GenericParameter { name, constant } = generic;
                choices.push(Choice { name: name.clone(), constant: constant.clone(), value: value.clone() });
                Instantiation(choices)
            })
        });
        extended.collect()
    })
}

/// Says how to sweep a parameter.
fn how(generic: &GenericParameter) -> String {
    match generic.constant {
        None => format!("types({} = [f32, f64])", generic.name),
        Some(_) => format!("consts({} = [128, 256])", generic.name),
    }
}

impl Choices {
    /// Checks that the function has such a parameter.
    fn check(&self, launch: &Launch, errors: &mut Errors) {
        let (name, function) = (self.name.unraw(), launch.name.unraw());
        let found = launch.generics.iter().find(|generic| generic.name.unraw() == name);
        let message = match found {
            Some(generic) if generic.constant.is_some() == self.constant => return,
            Some(generic) if self.constant => format!("`{name}` is a type parameter: `{}`", how(generic)),
            Some(generic) => format!("`{name}` is a constant parameter: `{}`", how(generic)),
            None => {
                let kind = if self.constant { "constant" } else { "type" };
                let same =
                    launch.generics.iter().filter(|generic| generic.constant.is_some() == self.constant);
                let hint =
                    did_you_mean(&name.to_string(), same.map(|generic| generic.name.unraw().to_string()));
                format!("`{function}` has no {kind} parameter `{name}`{hint}")
            }
        };
        errors.at(&self.name, message);
    }
}

impl Instantiation {
    /// Writes `type T = f32; const B: usize = 128;`, by which the user's code names the choices.
    pub(crate) fn aliases(&self) -> TokenStream {
        let alias = |Choice { name, constant, value }: &Choice| match constant {
            None => generated!(type #name = #value;),
            Some(ty) => generated!(const #name: #ty = #value;),
        };
        self.0.iter().map(alias).collect()
    }

    /// Writes `::<T, B>`, each at the place of its choice, so that the compiler blames the choice if the
    /// function cannot take it.
    pub(crate) fn turbofish(&self) -> Option<TokenStream> {
        let placed = self.0.iter().map(Choice::placed);
        (!self.0.is_empty()).then(|| generated!(::<#(#placed),*>))
    }

    /// Returns `ty`; if it is one of the parameters, at the place of its choice.
    pub(crate) fn placed(&self, ty: &TokenStream) -> TokenStream {
        let name = ty.to_string();
        let choice = self.0.iter().find(|choice| choice.name == name);
        choice.map_or_else(|| ty.clone(), |choice| choice.placed().into_token_stream())
    }

    /// Returns the list of the choices: types as written, constants by their value.
    pub(crate) fn generics(&self) -> TokenStream {
        let generics = self.0.iter().map(|Choice { name, constant, value }| {
            let text = name.unraw().to_string();
            let shown = match constant {
                None => {
                    let written = written(value.clone());
                    generated!(::std::string::String::from(#written))
                }
                Some(_) => generated!(::std::string::ToString::to_string(&#name)),
            };
            generated!(__gb::Generic { name: #text, value: || #shown })
        });
        generated!(&[#(#generics),*])
    }
}
