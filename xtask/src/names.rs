//! The names that a file declares.

use crate::source::{Source, attributes, for_tests};
use proc_macro2::{Ident, TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{ImplItem, Item};

/// A declared name.
#[derive(Debug, PartialEq)]
pub struct Name {
    pub text: String,
    /// The line, counted from 1.
    pub line: usize,
    pub is_module: bool,
}

/// The functions, types, traits, variants, fields, modules, constants, statics and macros that `source` declares
/// outside tests. In the tokens of macros, every name after one of [`KEYWORDS`] counts as declared.
pub fn declared(source: &Source) -> Vec<Name> {
    let mut names = Names(Vec::new());
    names.visit_file(&source.file);
    names.0
}

/// The keywords that precede a declared name.
const KEYWORDS: [&str; 8] = ["fn", "struct", "enum", "union", "trait", "type", "mod", "const"];

struct Names(Vec<Name>);

impl Names {
    fn add(&mut self, ident: &Ident) {
        self.push(ident, false);
    }

    fn push(&mut self, ident: &Ident, is_module: bool) {
        let text = ident.to_string().trim_start_matches("r#").to_owned();
        self.0.push(Name { text, line: ident.span().start().line, is_module });
    }

    /// Collects the names that are declared in the tokens of a macro's argument or of its expansion.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut declares = false;
        for token in tokens {
            match token {
                TokenTree::Ident(ident) if declares => {
                    self.add(&ident);
                    declares = false;
                }
                TokenTree::Ident(ident) => declares = KEYWORDS.contains(&&*ident.to_string()),
                TokenTree::Group(group) => {
                    self.tokens(group.stream());
                    declares = false;
                }
                _ => declares = false,
            }
        }
    }
}

impl<'ast> Visit<'ast> for Names {
    fn visit_item(&mut self, item: &'ast Item) {
        if for_tests(attributes(item)) {
            return;
        }
        match item {
            Item::Const(item) => self.add(&item.ident),
            Item::Enum(item) => self.add(&item.ident),
            Item::Macro(item) => item.ident.iter().for_each(|ident| self.add(ident)),
            Item::Mod(item) => self.push(&item.ident, true),
            Item::Static(item) => self.add(&item.ident),
            Item::Struct(item) => self.add(&item.ident),
            Item::Trait(item) => self.add(&item.ident),
            Item::Type(item) => self.add(&item.ident),
            _ => {}
        }
        visit::visit_item(self, item);
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        match item {
            ImplItem::Fn(function) if for_tests(&function.attrs) => {}
            _ => visit::visit_impl_item(self, item),
        }
    }

    fn visit_signature(&mut self, signature: &'ast syn::Signature) {
        self.add(&signature.ident);
        visit::visit_signature(self, signature);
    }

    fn visit_variant(&mut self, variant: &'ast syn::Variant) {
        self.add(&variant.ident);
        visit::visit_variant(self, variant);
    }

    fn visit_field(&mut self, field: &'ast syn::Field) {
        field.ident.iter().for_each(|ident| self.add(ident));
        visit::visit_field(self, field);
    }

    fn visit_macro(&mut self, called: &'ast syn::Macro) {
        self.tokens(called.tokens.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_declaration_is_a_name() {
        let text = "mod a; struct B { c: u8 } enum D { E { f: u8 } } fn g(no: u8) { let no = 1; fn h() {} }\n\
                    trait I { fn j(); const K: u8; } impl I for B { fn j() { no() } }\ntype L = B; static M: u8 = 0;\n\
                    macro_rules! n { () => { fn o() { no() } } } p! { struct Q; const R: u8 = 0; }\n\
                    #[cfg(test)] mod tests { fn no() {} }";
        let source = Source::parse("a", "a.rs", &[], text).unwrap();
        let found = declared(&source);
        let texts: Vec<&str> = found.iter().map(|name| name.text.as_str()).collect();
        let all = ["a", "B", "c", "D", "E", "f", "g", "h", "I", "j", "j", "L", "M", "n", "o", "Q", "R"];
        assert_eq!(texts, all);
        assert_eq!(found[11], Name { text: "L".to_owned(), line: 3, is_module: false });
        assert_eq!(found.iter().filter(|name| name.is_module).count(), 1);
    }
}
