//! The glossary of a page.

use super::markup::{escape, prose};
use crate::terms::TERMS;

/// The list of the terms that `body` uses, collapsed at first. It is empty if `body` uses none.
pub(super) fn section(body: &str) -> String {
    let words = body.replace("<br>", " ");
    let mut list = String::new();
    for term in TERMS {
        let used = term.names.iter().filter(|name| is_in(&words, name));
        let names: Vec<String> = used.map(|name| escape(name)).collect();
        if !names.is_empty() {
            list.push_str(&format!("<dt>{}</dt><dd>{}.</dd>", names.join(", "), prose(term.means)));
        }
    }
    match list.is_empty() {
        true => list,
        false => {
            format!("<details class=\"note\"><summary>What the words mean</summary><dl>{list}</dl></details>")
        }
    }
}

/// Whether a word in `text` begins with `name`.
fn is_in(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(at, _)| !text[..at].ends_with(char::is_alphabetic))
}
