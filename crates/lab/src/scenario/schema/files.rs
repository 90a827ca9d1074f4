//! The context of reading a scenario: the file's name, the files that the scenario names, and the registered parts.

use crate::scenario::diagnostic::in_workload_file;
use crate::scenario::input::Files;
use crate::scenario::read::table::Table;
use crate::scenario::schema::plugins::Plugins;
use anabranch_base::{Diagnostic, Fix};
use anabranch_workload::{WorkloadError, is_text_of_ranks, text_of_binary_goal, text_of_ranks};
use std::cell::RefCell;
use std::collections::BTreeMap;

pub(in crate::scenario) struct Context<'a> {
    pub file: &'a str,
    pub plugins: &'a Plugins,
    source: &'a dyn Files,
    read: RefCell<BTreeMap<String, String>>,
}

/// A trace ends before the first rank without a file, unless the file of one of the next `FURTHER_RANKS - 1` ranks
/// exists. In that case, the file of the first rank without one counts as missing.
const FURTHER_RANKS: usize = 64;

impl<'a> Context<'a> {
    pub(in crate::scenario) fn new(file: &'a str, source: &'a dyn Files, plugins: &'a Plugins) -> Self {
        Context { file, plugins, source, read: RefCell::default() }
    }

    /// Reads the file `name`, which is the value of `key`. A file that was read before is not read again.
    pub(in crate::scenario) fn file(
        &self,
        table: &Table,
        key: &str,
        name: &str,
    ) -> Result<String, Diagnostic> {
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

    /// Reads the GOAL file `name`. A binary one is converted to text.
    pub(in crate::scenario) fn goal(&self, table: &Table, key: &str, name: &str) -> Result<(), Diagnostic> {
        if !self.read.borrow().contains_key(name)
            && let Ok(bytes) = self.source.read_bytes(name)
            && let Some(text) = text_of_binary_goal(name, &bytes)
        {
            let text = text.map_err(|error| in_its_file(table, key, error))?;
            self.read.borrow_mut().insert(name.to_owned(), text);
        }
        self.file(table, key, name).map(drop)
    }

    /// Reads the files of a trace with one file per rank, `NAME.0.et` and so on, and the file `groups`, as one text
    /// under `name`. If that text exists already, as in a stored scenario, it is used instead.
    pub(in crate::scenario) fn files_of_ranks(
        &self,
        table: &Table,
        key: &str,
        name: &str,
        groups: Option<&str>,
    ) -> Result<(), Diagnostic> {
        if self.read.borrow().contains_key(name) {
            return Ok(());
        }
        let text = match self.source.read(name) {
            Ok(text) if is_text_of_ranks(&text) => text,
            _ => {
                let mut files = Vec::new();
                let of_rank = |rank: usize| format!("{name}.{rank}.et");
                while let Ok(bytes) = self.source.read_bytes(&of_rank(files.len())) {
                    files.push((of_rank(files.len()), bytes));
                }
                if let Some(rank) = name.strip_suffix(".et").and_then(|name| name.rsplit_once('.')) {
                    let help = Fix::set(key, format!("{:?}", rank.0));
                    let message = format!("{name:?} is the file of one rank, and the job has one for each");
                    return Err(table.wrong(key, message, help));
                }
                let there = |rank: &usize| self.source.read_bytes(&of_rank(*rank)).is_ok();
                if let Some(rank) = (files.len() + 1..files.len() + FURTHER_RANKS).find(there) {
                    let missing = of_rank(files.len());
                    let message = format!("{missing:?} is missing, and {:?} is there", of_rank(rank));
                    return Err(table.wrong(
                        key,
                        message,
                        format!("the trace of rank {} into {missing}", files.len()),
                    ));
                }
                if files.is_empty() {
                    let message = format!("cannot read {:?}, the file of rank 0", of_rank(0));
                    let help =
                        format!("{key} = the files' name up to the rank, from the folder of {}", self.file);
                    return Err(table.wrong(key, message, help));
                }
                let of_groups = groups.map(|groups| {
                    self.source.read(groups).map_err(|why| {
                        let help =
                            format!("comm_groups = the name of a file, from the folder of {}", self.file);
                        table.wrong("comm_groups", format!("cannot read {groups:?}: {why}"), help)
                    })
                });
                let of_groups = of_groups.transpose()?;
                text_of_ranks(&files, groups.zip(of_groups.as_deref()))
                    .map_err(|error| in_its_file(table, key, error))?
            }
        };
        self.read.borrow_mut().insert(name.to_owned(), text);
        Ok(())
    }

    pub(in crate::scenario) fn into_files(self) -> BTreeMap<String, String> {
        self.read.into_inner()
    }
}

fn in_its_file(table: &Table, key: &str, error: WorkloadError) -> Diagnostic {
    in_workload_file(error).unwrap_or_else(|other| table.wrong(key, other.to_string(), "a trace without it"))
}
