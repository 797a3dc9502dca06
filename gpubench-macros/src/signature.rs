//! The annotated function, as far as a caller sees it: its name, parameters and return type, and its instances if
//! it is generic. The body is not parsed, so that an unfinished one does no harm.

use proc_macro2::{Group, Span, TokenStream, TokenTree};
use quote::{ToTokens, TokenStreamExt as _, quote, quote_spanned};
use syn::parse::{ParseStream, Parser as _};
use syn::{
    Attribute, FnArg, GenericParam, Ident, Lifetime, Meta, Pat, PatType, ReturnType, Safety, Signature,
    Token, Type, TypeImplTrait, Visibility, ext::IdentExt as _, token,
};

use crate::code::any_token;
use crate::errors::{Errors, did_you_mean, first_span, generated};
use crate::parse::{AttributeOptions, GenericChoices, display_tokens};

/// The signature of the annotated function, which launches the work.
pub(crate) struct LaunchFunction {
    /// The attributes that the registration copies: conditional compilation and allowed lints.
    pub attributes: TokenStream,
    pub name: Ident,
    pub unsafety: Option<Token![unsafe]>,
    pub generics: Vec<GenericParameter>,
    pub params: Vec<Param>,
    /// The span of the list of parameters, with its parentheses.
    pub list: Span,
    /// The tokens of the return type; `None` if it is not written.
    pub output: Option<TokenStream>,
}

/// A type parameter of the function, or a constant parameter with its type.
#[derive(Clone)]
pub(crate) struct GenericParameter {
    pub name: Ident,
    /// The type of a constant parameter; `None` for a type parameter.
    pub constant: Option<TokenStream>,
}

/// A parameter of the function.
pub(crate) struct Param {
    /// The name that expressions use; `None` for a pattern such as `(a, b)`.
    pub name: Option<Ident>,
    pub passed: PassedBy,
    /// The type without the outermost reference, as [`local_type`] writes it for a local variable.
    pub ty: TokenStream,
    /// True if the type contains an `impl Trait`.
    pub unnamed: bool,
    /// The span of the outermost reference, if there is one.
    ampersand: Option<Span>,
    /// The parameter as written.
    pub tokens: TokenStream,
}

/// The way in which a parameter is passed: by `&`, by `&mut` or by value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum PassedBy {
    Shared,
    Mutable,
    Value,
}

impl LaunchFunction {
    /// Parses the annotated item. Returns `None` and reports the mistake if it is not a free function with a
    /// body.
    pub(crate) fn parse(item: TokenStream, errors: &mut Errors) -> Option<Self> {
        let parser = |input: ParseStream| {
            let attributes = input.call(Attribute::parse_outer)?;
            input.parse::<Visibility>()?;
            let start = input.cursor().token_stream();
            let function = input.parse::<Signature>().map_err(|_| start);
            let has_body = input.peek(token::Brace);
            input.parse::<TokenStream>()?;
            Ok((attributes, function, has_body))
        };
        match parser.parse2(item) {
            Ok((attributes, Ok(signature), true)) => {
                return Self::from_signature(&attributes, signature, errors);
            }
            Ok((_, Ok(signature), false)) => {
                errors.at(signature, "`#[gpu_bench]` needs a function with a body");
            }
            Ok((_, Err(item), _)) => {
                errors.at(item.into_iter().next(), "`#[gpu_bench]` goes on a free function");
            }
            Err(error) => errors.push(error),
        }
        None
    }

    /// Converts a signature. Returns `None` and reports the mistake for a method. An `async` function is
    /// reported and converted.
    fn from_signature(attributes: &[Attribute], signature: Signature, errors: &mut Errors) -> Option<Self> {
        let takes_self = signature.receiver().is_some();
        let is_self = |token: &TokenTree| matches!(token, TokenTree::Ident(ident) if ident == "Self");
        if takes_self || any_token(signature.inputs.to_token_stream(), &is_self) {
            errors.at(
                signature.inputs.first(),
                "a method cannot be annotated: annotate a free function that calls it",
            );
            return None;
        }
        if let Some(asyncness) = signature.asyncness {
            errors.at(
                asyncness,
                "an `async` function only makes a future: annotate one that launches the work",
            );
        }
        let unsafety = match signature.safety {
            Safety::Unsafe(token) => Some(token),
            _ => None,
        };
        let generics = signature.generics.params.iter().filter_map(GenericParameter::from_syn).collect();
        let lifetimes: Vec<Lifetime> =
            signature.generics.lifetimes().map(|param| param.lifetime.clone()).collect();
        let mut params = Vec::new();
        for input in signature.inputs {
            if let FnArg::Typed(param) = input {
                params.push(Param::from_syn(param, &lifetimes, errors));
            }
        }
        let output = match signature.output {
            ReturnType::Default => None,
            ReturnType::Type(_, ty) => Some(ty.into_token_stream()),
        };
        let (attributes, name) = (registration_attributes(attributes), signature.ident);
        let list = signature.paren_token.span.join();
        Some(Self { attributes, name, unsafety, generics, params, list, output })
    }

    /// Returns true if the function returns a value for `check`: anything but `()` and `Result<(), …>`. An
    /// alias of either counts as a value.
    pub(crate) fn has_output(&self) -> bool {
        let Some(output) = &self.output else { return false };
        let ty = output.to_string().replace(' ', "");
        let is_path = |text: &str| text.chars().all(|it| it.is_alphanumeric() || "_:".contains(it));
        ty != "()" && ty.split_once("Result<()").is_none_or(|(path, _)| !is_path(path))
    }
}

impl GenericParameter {
    /// Converts a generic parameter; `None` for a lifetime.
    fn from_syn(param: &GenericParam) -> Option<Self> {
        match param {
            GenericParam::Type(param) => Some(Self { name: param.ident.clone(), constant: None }),
            GenericParam::Const(param) => {
                Some(Self { name: param.ident.clone(), constant: Some(param.ty.to_token_stream()) })
            }
            _ => None,
        }
    }
}

impl Param {
    /// Converts a parameter. `lifetimes` are those that the function declares. Reports a parameter with
    /// `cfg`.
    fn from_syn(param: PatType, lifetimes: &[Lifetime], errors: &mut Errors) -> Self {
        let conditional = |attribute: &&Attribute| {
            attribute.path().is_ident("cfg") || attribute.path().is_ident("cfg_attr")
        };
        if let Some(attribute) = param.attrs.iter().find(conditional) {
            errors.at(attribute, "a parameter of a benchmark cannot be conditional");
        }
        let tokens = param.to_token_stream();
        let name = match *param.pat {
            Pat::Ident(pattern) if pattern.subpat.is_none() => Some(pattern.ident),
            _ => None,
        };
        let (passed, ampersand, ty) = match ungrouped(*param.ty) {
            Type::Reference(reference) => {
                let passed =
                    if reference.mutability.is_some() { PassedBy::Mutable } else { PassedBy::Shared };
                (passed, Some(reference.and_token.span), reference.elem.into_token_stream())
            }
            ty => (PassedBy::Value, None, ty.into_token_stream()),
        };
        let mut unnamed = false;
        let ty = local_type(ty, lifetimes, &mut unnamed);
        Self { name, passed, ty, unnamed, ampersand, tokens }
    }

    /// Returns the parameter's type with the reference that `passed` means, at the span of the user's
    /// reference.
    pub(crate) fn ty_passed(&self, passed: PassedBy) -> TokenStream {
        let (ty, ampersand) = (&self.ty, self.ampersand.unwrap_or_else(|| first_span(&self.ty)));
        match passed {
            PassedBy::Shared => quote_spanned!(ampersand=> &#ty),
            PassedBy::Mutable => quote_spanned!(ampersand=> &mut #ty),
            PassedBy::Value => quote!(#ty),
        }
    }

    /// Returns the parameter for messages: its name, or `of type` and its type if it has no name.
    pub(crate) fn display_name(&self) -> String {
        match &self.name {
            Some(name) => format!("`{}`", name.unraw()),
            None => format!("of type `{}`", self.ty),
        }
    }
}

/// Returns the type within parentheses, and within the invisible groups of a macro that passes `$ty` on.
fn ungrouped(ty: Type) -> Type {
    match ty {
        Type::Group(group) => ungrouped(*group.elem),
        Type::Paren(paren) => ungrouped(*paren.elem),
        ty => ty,
    }
}

/// Converts the tokens of a type to those of a local variable's type. The function's own `lifetimes` become
/// `'_`, and `impl Trait` becomes `_`, which sets `unnamed`.
fn local_type(ty: TokenStream, lifetimes: &[Lifetime], unnamed: &mut bool) -> TokenStream {
    let parser = |input: ParseStream| {
        let mut output = TokenStream::new();
        while !input.is_empty() {
            if input.peek(Token![impl]) {
                input.parse::<TypeImplTrait>()?;
                *unnamed = true;
                output.extend(quote!(_));
            } else if input.peek(Lifetime) {
                let mut lifetime: Lifetime = input.parse()?;
                if lifetimes.contains(&lifetime) {
                    lifetime.ident = Ident::new("_", lifetime.ident.span());
                }
                lifetime.to_tokens(&mut output);
            } else {
                match input.parse()? {
                    TokenTree::Group(group) => {
                        let tokens = local_type(group.stream(), lifetimes, unnamed);
                        let mut inner = Group::new(group.delimiter(), tokens);
                        inner.set_span(group.span());
                        output.append(inner);
                    }
                    token => output.append(token),
                }
            }
        }
        Ok(output)
    };
    // Only `impl` can fail, and syn has already parsed this type.
    parser.parse2(ty.clone()).unwrap_or(ty)
}

/// Returns the attributes of the function that its registration needs too: `cfg` and `allow`, and an `allow`
/// for each expected lint and for `deprecated`. Other attributes are left out.
fn registration_attributes(attributes: &[Attribute]) -> TokenStream {
    let mut copied = TokenStream::new();
    for attribute in attributes {
        match &attribute.meta {
            Meta::List(list) if list.path.is_ident("cfg") || list.path.is_ident("allow") => {
                attribute.to_tokens(&mut copied);
            }
            // An expectation that one use meets may stay unmet by the other.
            Meta::List(list) if list.path.is_ident("expect") => {
                let lints = &list.tokens;
                copied.extend(quote!(#[allow(#lints)]));
            }
            meta if meta.path().is_ident("deprecated") => copied.extend(quote!(#[allow(deprecated)])),
            _ => {}
        }
    }
    copied
}

/// An instance of the function: the choice for each generic parameter, in order.
#[derive(Clone, Default)]
pub(crate) struct Instantiation(Vec<ChosenGeneric>);

/// A generic parameter with the type or constant that is chosen for it.
#[derive(Clone)]
struct ChosenGeneric {
    parameter: GenericParameter,
    value: TokenStream,
}

impl ChosenGeneric {
    /// Returns the parameter's name with the span of the choice, at which the compiler then reports errors.
    fn name_at_choice(&self) -> Ident {
        let mut name = self.parameter.name.clone();
        name.set_span(first_span(&self.value).resolved_at(name.span()));
        name
    }
}

/// Returns an instance for every combination of the choices; the last parameter varies fastest. A function
/// that is not generic has one instance. Reports parameters without choices, choices without a parameter, and
/// arguments with the name of a generic parameter.
pub(crate) fn instantiations(
    options: &AttributeOptions,
    launch: &LaunchFunction,
    errors: &mut Errors,
) -> Vec<Instantiation> {
    let given = &options.generics;
    given.iter().for_each(|choices| choices.check(launch, errors));
    for axis in &options.args.axes {
        if let Some(generic) =
            launch.generics.iter().find(|generic| generic.name.unraw() == axis.name.unraw())
        {
            errors.at(
                &axis.name,
                format_args!(
                    "`{}` is a parameter of `{}`: `{}`",
                    generic.name,
                    launch.name,
                    sweep_hint(generic)
                ),
            );
        }
    }
    launch.generics.iter().fold(vec![Instantiation::default()], |variants, generic| {
        let chosen = given.iter().find(|given| given.name.unraw() == generic.name.unraw());
        let Some(chosen) = chosen else {
            errors.at(
                &generic.name,
                format_args!(
                    "nothing chooses the parameter `{}`: add `{}`",
                    generic.name,
                    sweep_hint(generic)
                ),
            );
            return variants;
        };
        let extended = variants.iter().flat_map(|variant| {
            chosen.values.iter().map(|value| {
                let mut choices = variant.0.clone();
                choices.push(ChosenGeneric { parameter: generic.clone(), value: value.clone() });
                Instantiation(choices)
            })
        });
        extended.collect()
    })
}

/// Returns the option that sweeps a generic parameter, as text for messages: `types(T = [f32, f64])`.
fn sweep_hint(generic: &GenericParameter) -> String {
    match generic.constant {
        None => format!("types({} = [f32, f64])", generic.name),
        Some(_) => format!("consts({} = [128, 256])", generic.name),
    }
}

impl GenericChoices {
    /// Reports an error unless the function has a generic parameter of this name and kind.
    fn check(&self, launch: &LaunchFunction, errors: &mut Errors) {
        let (name, function) = (self.name.unraw(), launch.name.unraw());
        let found = launch.generics.iter().find(|generic| generic.name.unraw() == name);
        let message = match found {
            Some(generic) if generic.constant.is_some() == self.constant => return,
            Some(generic) if self.constant => {
                format!("`{name}` is a type parameter: `{}`", sweep_hint(generic))
            }
            Some(generic) => format!("`{name}` is a constant parameter: `{}`", sweep_hint(generic)),
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
    /// Writes `type T = f32; const B: usize = 128;`, so that the user's code can use the parameters' names.
    pub(crate) fn alias_items(&self) -> TokenStream {
        self.0
            .iter()
            .map(|ChosenGeneric { parameter: GenericParameter { name, constant }, value }| match constant {
                None => generated!(type #name = #value;),
                Some(ty) => generated!(const #name: #ty = #value;),
            })
            .collect()
    }

    /// Writes `::<T, B>`, the generic arguments of a call. Each name has the span of its choice, at which the
    /// compiler reports a choice that the function cannot take. `None` for a function that is not generic.
    pub(crate) fn generic_arguments(&self) -> Option<TokenStream> {
        let placed = self.0.iter().map(ChosenGeneric::name_at_choice);
        (!self.0.is_empty()).then(|| generated!(::<#(#placed),*>))
    }

    /// Returns the type `ty`. If it is the name of a generic parameter, the name gets the span of the choice
    /// for that parameter.
    pub(crate) fn type_at_choice(&self, ty: &TokenStream) -> TokenStream {
        let name = ty.to_string();
        let choice = self.0.iter().find(|choice| choice.parameter.name == name);
        choice.map_or_else(|| ty.clone(), |choice| choice.name_at_choice().into_token_stream())
    }

    /// Writes the list of the choices as `Generic` values: types as written, constants by their value.
    pub(crate) fn generic_values(&self) -> TokenStream {
        let generics =
            self.0.iter().map(|ChosenGeneric { parameter: GenericParameter { name, constant }, value }| {
                let text = name.unraw().to_string();
                let shown = match constant {
                    None => {
                        let written = display_tokens(value.clone());
                        generated!(::std::string::String::from(#written))
                    }
                    Some(_) => generated!(::std::string::ToString::to_string(&#name)),
                };
                generated!(__gb::Generic { name: #text, value: || #shown })
            });
        generated!(&[#(#generics),*])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(function: &str) -> Vec<(PassedBy, String)> {
        let (function, mut errors) = (function.parse().expect(function), Errors::default());
        let launch = LaunchFunction::parse(function, &mut errors).expect("a function");
        errors.finish(Some(())).expect("no mistakes");
        launch.params.into_iter().map(|param| (param.passed, param.ty.to_string().replace(' ', ""))).collect()
    }

    #[test]
    fn types_as_a_local_has_them() {
        let params = params(
            "fn f<'a>(a: &'a [View<'a>], b: &mut Vec<(u8, impl Fn(&'a u8) -> u8 + 'a)>, c: &'static str, \
             d: impl Copy, e: &dyn for<'b> Fn(&'b u8, &'a u8)) {}",
        );
        let expected = [
            (PassedBy::Shared, "[View<'_>]"),
            (PassedBy::Mutable, "Vec<(u8,_)>"),
            (PassedBy::Shared, "str"),
            (PassedBy::Value, "_"),
            (PassedBy::Shared, "dynfor<'b>Fn(&'bu8,&'_u8)"),
        ];
        assert_eq!(params, expected.map(|(passed, ty)| (passed, ty.to_owned())));
    }

    #[test]
    fn a_body_is_not_looked_at() {
        assert_eq!(params("fn f(stream: &(S)) { let x = ; x. }"), [(PassedBy::Shared, "(S)".to_owned())]);
    }
}
