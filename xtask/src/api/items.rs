//! The lines of a record that describe an item.

use proc_macro2::{TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::{Attribute, Fields, ImplItem, Item, ItemImpl, ItemTrait, Meta, TraitItem, Visibility};

/// The items in a macro's argument, because `parameters!` and `kinds!` declare types there. Any other item is returned
/// unchanged.
pub fn expanded(item: Item) -> Vec<Item> {
    if let Item::Macro(call) = &item
        && call.ident.is_none()
        && let Ok(file) = syn::parse2::<syn::File>(without_alternatives(call.mac.tokens.clone()))
        && !file.items.is_empty()
    {
        return file.items;
    }
    vec![item]
}

/// The tokens without `or Name`, which gives a second type name in `kinds!`.
fn without_alternatives(tokens: TokenStream) -> TokenStream {
    let mut kept = Vec::new();
    let mut tokens = tokens.into_iter();
    while let Some(token) = tokens.next() {
        if matches!(&token, TokenTree::Ident(word) if word == "or") {
            tokens.next();
        } else {
            kept.push(token);
        }
    }
    kept.into_iter().collect()
}

pub fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

pub fn public_name(item: &Item) -> Option<String> {
    let (visibility, name) = match item {
        Item::Const(item) => (&item.vis, &item.ident),
        Item::Enum(item) => (&item.vis, &item.ident),
        Item::Fn(item) => (&item.vis, &item.sig.ident),
        Item::Static(item) => (&item.vis, &item.ident),
        Item::Struct(item) => (&item.vis, &item.ident),
        Item::Trait(item) => (&item.vis, &item.ident),
        Item::Type(item) => (&item.vis, &item.ident),
        Item::Union(item) => (&item.vis, &item.ident),
        Item::Macro(item) => {
            let exported = item.attrs.iter().any(|attribute| attribute.path().is_ident("macro_export"));
            return item.ident.as_ref().filter(|_| exported).map(ToString::to_string);
        }
        _ => return None,
    };
    is_public(visibility).then(|| name.to_string())
}

/// The source text of a syntax node, in one line.
fn text(part: &impl Spanned) -> String {
    let source = part.span().source_text().unwrap_or_default();
    source.split_whitespace().collect::<Vec<_>>().join(" ")
}

pub fn described(item: &Item, path: &str) -> Vec<String> {
    match item {
        Item::Const(item) => vec![format!("{path}: const {}", text(&item.ty))],
        Item::Static(item) => vec![format!("{path}: static {}", text(&item.ty))],
        Item::Type(item) => vec![format!("{path}: type = {}", text(&item.ty))],
        Item::Fn(item) => vec![format!("{path}: {}", text(&item.sig))],
        Item::Macro(_) => vec![format!("{path}: macro")],
        Item::Trait(item) => described_trait(item, path),
        Item::Struct(item) => {
            let public = item.fields.iter().filter(|field| is_public(&field.vis)).count();
            let private = if public < item.fields.len() { " { private fields }" } else { "" };
            let generics = spaced(text(&item.generics));
            let mut lines = vec![format!("{path}: struct{generics}{private}")];
            lines.extend(derives(&item.attrs, path));
            for (index, field) in item.fields.iter().enumerate().filter(|(_, field)| is_public(&field.vis)) {
                let name = field.ident.as_ref().map_or(index.to_string(), ToString::to_string);
                lines.push(format!("{path}.{name}: {}", text(&field.ty)));
            }
            lines
        }
        Item::Enum(item) => {
            let mut lines = vec![format!("{path}: enum{}", spaced(text(&item.generics)))];
            lines.extend(derives(&item.attrs, path));
            for variant in &item.variants {
                lines.push(format!("{path}::{}: variant{}", variant.ident, spaced(fields(&variant.fields))));
            }
            lines
        }
        Item::Union(item) => vec![format!("{path}: union{}", spaced(text(&item.generics)))],
        _ => Vec::new(),
    }
}

fn described_trait(item: &ItemTrait, path: &str) -> Vec<String> {
    let bounds: Vec<String> = item.supertraits.iter().map(text).collect();
    let bounds = if bounds.is_empty() { String::new() } else { format!(": {}", bounds.join(" + ")) };
    let mut lines = vec![format!("{path}: trait{}{bounds}", spaced(text(&item.generics)))];
    for part in &item.items {
        lines.extend(match part {
            TraitItem::Fn(part) => {
                let kind = if part.default.is_some() { "provided" } else { "required" };
                Some(format!("{path}::{}: {kind} {}", part.sig.ident, text(&part.sig)))
            }
            TraitItem::Const(part) => Some(format!("{path}::{}: const {}", part.ident, text(&part.ty))),
            TraitItem::Type(part) => Some(format!("{path}::{}: type", part.ident)),
            _ => None,
        });
    }
    lines
}

/// The lines of an `impl` for the type at `path`: the trait, or else the public methods and constants.
pub fn implemented(item: &ItemImpl, path: &str) -> Vec<String> {
    if let Some((of, _)) = &item.trait_ {
        let generics = text(&item.generics);
        return vec![format!("{path}: impl{generics} {} for {}", text(of), text(&item.self_ty))];
    }
    let line = |part: &ImplItem| match part {
        ImplItem::Fn(part) if is_public(&part.vis) => {
            Some(format!("{path}::{}: {}", part.sig.ident, text(&part.sig)))
        }
        ImplItem::Const(part) if is_public(&part.vis) => {
            Some(format!("{path}::{}: const {}", part.ident, text(&part.ty)))
        }
        _ => None,
    };
    item.items.iter().filter_map(line).collect()
}

/// The line with the derived traits and `non_exhaustive`.
fn derives(attributes: &[Attribute], path: &str) -> Option<String> {
    let mut names = Vec::new();
    for attribute in attributes {
        if let Meta::List(list) = &attribute.meta
            && list.path.is_ident("derive")
        {
            names.extend(list.tokens.to_string().split(',').map(|name| name.trim().to_owned()));
        }
        if attribute.path().is_ident("non_exhaustive") {
            names.push("non_exhaustive".to_owned());
        }
    }
    names.retain(|name| !name.is_empty());
    names.sort();
    (!names.is_empty()).then(|| format!("{path}: derives {}", names.join(", ")))
}

fn fields(fields: &Fields) -> String {
    let named = |field: &syn::Field| match &field.ident {
        Some(name) => format!("{name}: {}", text(&field.ty)),
        None => text(&field.ty),
    };
    let all: Vec<String> = fields.iter().map(named).collect();
    match fields {
        Fields::Unit => String::new(),
        Fields::Unnamed(_) => format!("({})", all.join(", ")),
        Fields::Named(_) => format!("{{ {} }}", all.join(", ")),
    }
}

fn spaced(text: String) -> String {
    if text.is_empty() { text } else { format!(" {text}") }
}
