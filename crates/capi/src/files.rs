//! The files that a scenario names.

use anabranch_sim::scenario::Files;
use std::path::PathBuf;

/// The folder of the files. None if the caller names no folder.
pub struct Folder(pub Option<PathBuf>);

impl Folder {
    fn path(&self, name: &str) -> Result<PathBuf, String> {
        let Folder(Some(folder)) = self else {
            return Err("no folder is given for the scenario's files; anabranch_new_in takes one".to_owned());
        };
        Ok(folder.join(name))
    }
}

impl Files for Folder {
    fn read(&self, name: &str) -> Result<String, String> {
        std::fs::read_to_string(self.path(name)?).map_err(|error| error.to_string())
    }

    fn read_bytes(&self, name: &str) -> Result<Vec<u8>, String> {
        std::fs::read(self.path(name)?).map_err(|error| error.to_string())
    }
}
