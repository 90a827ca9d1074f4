//! The types that declare a table of a file and its keys.

use super::key_type::{Ends, High, KeyType};

/// A table of a scenario, or of another file.
#[derive(Clone, Copy, Debug)]
pub struct Section {
    /// The section's name in this program and in `anabranch docs`: `fat-tree`.
    pub name: &'static str,
    /// The table's header in a file: `[topology]`; empty for the top-level keys.
    pub table: &'static str,
    /// The `kind` that selects these keys; none if no `kind` does.
    pub kind: Option<&'static str>,
    /// The meaning of the table, for the reference.
    pub meaning: &'static str,
    /// The keys of the section.
    pub keys: &'static [Key],
}

/// A key of a table.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// The name of the key.
    pub name: &'static str,
    /// The values that are allowed, with their unit and range.
    pub is: KeyType,
    /// The value if the key is not written.
    pub default: KeyDefault,
    /// The meaning of the key, for the reference.
    pub meaning: &'static str,
    /// An example of the value, if the default is not the best example.
    example: Option<&'static str>,
}

/// The value that a key has if it is not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyDefault {
    /// There is none, so the key must be written.
    Required,
    /// This value, as a scenario would write it.
    Value(&'static str),
    /// A value in words, for example because it depends on other inputs.
    Described(&'static str),
}

impl Key {
    /// Whether the type of the key is a table or a list of tables.
    pub fn is_table(&self) -> bool {
        matches!(self.is, KeyType::Table(_) | KeyType::Tables(_))
    }

    /// An example of the value as it is written: the declared example, or else the default, if it is a value. If
    /// there is neither, the example is `true` for a Boolean and `...` for any other type.
    pub fn example(&self) -> &'static str {
        self.known_example().unwrap_or("...")
    }

    pub(super) fn known_example(&self) -> Option<&'static str> {
        match (self.example, self.default, self.is) {
            (Some(example), ..) | (None, KeyDefault::Value(example), _) => Some(example),
            (None, _, KeyType::Bool) => Some("true"),
            _ => None,
        }
    }

    pub(super) const fn with_example(self, example: &'static str) -> Key {
        Key { example: Some(example), ..self }
    }
}

pub(super) const fn key(name: &'static str, is: KeyType, default: KeyDefault, meaning: &'static str) -> Key {
    Key { name, is, default, meaning, example: None }
}

/// Returns the key `kind`. In a file, its value must be the word in the argument `kind`.
pub(super) const fn kind(kind: &'static str, meaning: &'static str) -> Key {
    key("kind", KeyType::Word(kind), KeyDefault::Required, meaning)
}

/// Joins several lists of keys or sections into one, in their order.
///
/// # Panics
/// The lists do not have `N` entries in total, or the first list is empty or missing.
pub(super) const fn joined<T: Copy, const N: usize>(lists: &[&[T]]) -> [T; N] {
    let mut all = [lists[0][0]; N];
    let (mut list, mut count) = (0, 0);
    while list < lists.len() {
        let mut place = 0;
        while place < lists[list].len() {
            all[count] = lists[list][place];
            (place, count) = (place + 1, count + 1);
        }
        list += 1;
    }
    assert!(count == N);
    all
}

pub(super) const COUNT: KeyType = KeyType::Whole(Ends::from(1));
pub(super) const RATE: KeyType = KeyType::Rate(Ends::ABOVE_ZERO);
pub(super) const TIME: KeyType = KeyType::Time(Ends::ANY);
pub(super) const TIME_ABOVE: KeyType = KeyType::Time(Ends::ABOVE_ZERO);
pub(super) const SIZE: KeyType = KeyType::Size(Ends::ABOVE_ZERO);
pub(super) const FILE: KeyType = KeyType::File("a file's name, from the scenario's folder");
pub(super) const TEXT: KeyType = KeyType::Text("text");
pub(super) const NAMES: KeyType =
    KeyType::List { name: "a list of names", of: Some(&TEXT), least: 1, most: None };
pub(super) const LINK_NAMES: KeyType = KeyType::Selector("names of links");
pub(super) const SWITCH_NAMES: KeyType = KeyType::Selector("names of switches");
pub(super) const HOST_NAMES: KeyType = KeyType::Selector("names of hosts");
pub(super) const SHARE: KeyType = KeyType::Number(Ends::from(0.0).with_high(High::To(1.0)));
