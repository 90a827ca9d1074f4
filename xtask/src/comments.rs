//! The comments of a Rust file.

/// A line of a comment.
#[derive(Debug, PartialEq)]
pub struct Line<'a> {
    /// The line number, counted from 1.
    pub number: usize,
    /// Whether the line belongs to a doc comment: `///` or `//!`.
    pub is_doc: bool,
    /// The text after the slashes. In a block comment, the whole line.
    pub text: &'a str,
}

/// The lines of comments in the Rust source `text`. Slashes within strings do not begin a comment.
pub fn lines(text: &str) -> Vec<Line<'_>> {
    let mut found = Vec::new();
    let mut number = 1;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            let line = rest.lines().next().unwrap_or_default();
            let is_doc = line.starts_with("//!") || (line.starts_with("///") && !line.starts_with("////"));
            found.push(Line { number, is_doc, text: line[if is_doc { 3 } else { 2 }..].trim() });
            line.len()
        } else if rest.starts_with("/*") {
            let length = block(rest);
            let inner = rest[..length].lines().enumerate();
            found.extend(inner.map(|(at, text)| Line {
                number: number + at,
                is_doc: false,
                text: text.trim(),
            }));
            length
        } else if let Some(length) = raw_string(rest).or_else(|| quoted(rest)) {
            length
        } else if first.is_alphanumeric() || first == '_' {
            // A whole word is skipped, so that the r of `for"` does not begin a raw string.
            rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        number += rest[..length].matches('\n').count();
        rest = &rest[length..];
    }
    found
}

/// The length of a block comment, including nested ones.
fn block(text: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < text.len() {
        let rest = &text.as_bytes()[at..];
        match rest {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] if depth == 1 => return at + 2,
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
    }
    text.len()
}

/// The length of a raw string, if `text` begins with one.
fn raw_string(text: &str) -> Option<usize> {
    let inner = ["br", "cr", "r"].into_iter().find_map(|prefix| text.strip_prefix(prefix))?;
    let hashes = inner.len() - inner.trim_start_matches('#').len();
    let body = inner[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let before = text.len() - body.len();
    Some(body.find(&end).map_or(text.len(), |at| before + at + end.len()))
}

/// The length of a string or character literal, if `text` begins with one. A lifetime is not a literal.
fn quoted(text: &str) -> Option<usize> {
    let quote = text.chars().next().filter(|first| matches!(first, '"' | '\''))?;
    let mut chars = text.char_indices().skip(1);
    if quote == '\'' {
        let (_, first) = chars.next()?;
        if first != '\\' {
            let (at, second) = chars.next()?;
            return (second == '\'').then_some(at + 1);
        }
        chars.next();
    }
    while let Some((at, char)) = chars.next() {
        match char {
            '\\' => drop(chars.next()),
            _ if char == quote => return Some(at + 1),
            _ => {}
        }
    }
    Some(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_found_and_what_looks_like_one_is_not() {
        let text = concat!(
            "//! Head.\n\n/// A doc.\n//// A rule.\nfn f<'a>(x: &'a str) { // behind\n",
            "let a = \"// none \\\" // none\"; let b = r#\"// none \" // none\"#; // one\n",
            "let c = ['\"', '\\'', '/']; /* block // inner /* nested */\n   second */ let d = b\"//\"; // last"
        );
        let found = lines(text);
        let shown: Vec<(usize, bool, &str)> = found.iter().map(|l| (l.number, l.is_doc, l.text)).collect();
        let expected = [
            (1, true, "Head."),
            (3, true, "A doc."),
            (4, false, "// A rule."),
            (5, false, "behind"),
            (6, false, "one"),
            (7, false, "/* block // inner /* nested */"),
            (8, false, "second */"),
            (8, false, "last"),
        ];
        assert_eq!(shown, expected);
    }
}
