//! Limits on the lengths of functions and files in production code, so that each can be read as a whole.

use crate::recorded::{Finding, Findings};
use crate::source::{Source, attributes, for_tests};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, ImplItem, Item, Signature, Type};

pub const MOST_OF_A_FUNCTION: usize = 70;
pub const MOST_OF_A_FILE: usize = 600;

/// The files that are too long.
pub fn files(sources: &[Source]) -> Findings {
    let mut found = Findings::new();
    for source in sources {
        let count = source.text.lines().count();
        if count > MOST_OF_A_FILE {
            found.insert(source.path.clone(), Finding { count, places: Vec::new() });
        }
    }
    found
}

/// The functions that are too long, from `fn` to the last brace.
pub fn functions(sources: &[Source]) -> Findings {
    let mut found = Findings::new();
    for source in sources {
        let mut functions = Functions { source, of: String::new(), found: &mut found };
        functions.visit_file(&source.file);
    }
    found
}

struct Functions<'a> {
    source: &'a Source,
    /// The type or trait whose methods are being read, followed by `::`.
    of: String,
    found: &'a mut Findings,
}

impl Functions<'_> {
    fn add(&mut self, attributes: &[Attribute], signature: &Signature, body: &syn::Block) {
        let first = signature.span().start().line;
        let count = body.span().end().line - first + 1;
        if count > MOST_OF_A_FUNCTION && !for_tests(attributes) {
            let path = &self.source.path;
            let place = format!("{path}:{first}");
            let finding = self
                .found
                .entry(format!("{path}: {}{}", self.of, signature.ident))
                .or_insert(Finding { count: 0, places: Vec::new() });
            finding.count = finding.count.max(count);
            finding.places.push(place);
        }
    }
}

impl<'ast> Visit<'ast> for Functions<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if for_tests(attributes(item)) {
            return;
        }
        let above = self.of.clone();
        match item {
            Item::Fn(function) => self.add(&function.attrs, &function.sig, &function.block),
            Item::Impl(item) => {
                if let Type::Path(of) = &*item.self_ty
                    && let Some(last) = of.path.segments.last()
                {
                    self.of = format!("{}::", last.ident);
                }
            }
            Item::Trait(item) => self.of = format!("{}::", item.ident),
            _ => {}
        }
        visit::visit_item(self, item);
        self.of = above;
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        if let ImplItem::Fn(function) = item {
            self.add(&function.attrs, &function.sig, &function.block);
        }
        visit::visit_impl_item(self, item);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        if let Some(body) = &function.default {
            self.add(&function.attrs, &function.sig, body);
        }
        visit::visit_trait_item_fn(self, function);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(lines: usize) -> String {
        format!("{{\n{}}}\n", "    step();\n".repeat(lines - 2))
    }

    fn shown(found: &Findings) -> Vec<String> {
        found.iter().map(|(name, found)| format!("{name} = {} {:?}", found.count, found.places)).collect()
    }

    #[test]
    fn long_functions_are_found_wherever_they_are() {
        let (most, long) = (body(70), body(71));
        let text = format!(
            "fn short() {most}\n/// Documented.\n#[inline]\nfn free() {long}impl<T> Display for Reader<T> {{ fn method() \
             {long} }}\ntrait Core {{ fn given() {long} fn needed(); }}\nmod inner {{ fn deep() {{ fn nested() {long} }} }}\n\
             #[cfg(test)] mod tests {{ fn case() {long} }} #[test] fn case() {long}"
        );
        let found = functions(&[Source::parse("a", "a.rs", &[], &text).unwrap()]);
        let expected = [
            "a.rs: Core::given = 71 [\"a.rs:217\"]",
            "a.rs: Reader::method = 71 [\"a.rs:145\"]",
            "a.rs: deep = 72 [\"a.rs:289\"]",
            "a.rs: free = 71 [\"a.rs:74\"]",
            "a.rs: nested = 71 [\"a.rs:289\"]",
        ];
        assert_eq!(shown(&found), expected);
    }

    #[test]
    fn long_files_are_found() {
        let file = |lines: usize| {
            shown(&files(&[Source::parse("a", "a.rs", &[], &"use a::b;\n".repeat(lines)).unwrap()]))
        };
        assert_eq!(file(600), [""; 0]);
        assert_eq!(file(601), ["a.rs = 601 []"]);
    }
}
