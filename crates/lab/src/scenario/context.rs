//! What every part of reading a scenario needs: the file's name and the files that it names.

use super::table::Table;
use super::{Files, Registry, ScenarioError};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// The file that is read, and the contents of the files that it names.
pub(super) struct Context<'a> {
    pub file: &'a str,
    pub registry: &'a Registry,
    source: &'a dyn Files,
    read: RefCell<BTreeMap<String, String>>,
}

impl<'a> Context<'a> {
    pub(super) fn new(file: &'a str, source: &'a dyn Files, registry: &'a Registry) -> Self {
        Context { file, registry, source, read: RefCell::default() }
    }

    /// The contents of the file `name`, which stands at `key`; each is read once.
    ///
    /// # Errors
    /// It cannot be read.
    pub(super) fn file(&self, table: &Table, key: &str, name: &str) -> Result<String, ScenarioError> {
        if let Some(text) = self.read.borrow().get(name) {
            return Ok(text.clone());
        }
        let text = self.source.read(name).map_err(|why| {
            let help = format!("{key} = the name of a file, from the folder of {}", self.file);
            table.wrong(key, format!("cannot read {name:?}: {why}"), help)
        })?;
        self.read.borrow_mut().insert(name.to_owned(), text.clone());
        Ok(text)
    }

    /// Every file read so far.
    pub(super) fn into_files(self) -> BTreeMap<String, String> {
        self.read.into_inner()
    }
}
