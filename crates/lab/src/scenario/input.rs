//! The inputs of a scenario beside its text: the files that it names, and what the command line says over it.

/// The source of the files that a scenario names.
pub trait Files {
    /// The contents of `name`, as the scenario gives it.
    ///
    /// # Errors
    /// Why it cannot be read, in a few words: `no such file`.
    fn read(&self, name: &str) -> Result<String, String>;

    /// The contents of a file that is not text.
    ///
    /// # Errors
    /// As for [`read`](Self::read).
    fn read_bytes(&self, name: &str) -> Result<Vec<u8>, String> {
        self.read(name).map(String::into_bytes)
    }
}

/// The files of scenarios that name none.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _: &str) -> Result<String, String> {
        Err("no files are given".to_owned())
    }
}

/// Values of the command line, which replace those of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// Schemes to run instead of the file's; empty: the file's.
    pub schemes: Vec<String>,
    /// Seeds to run instead of the file's; empty: the file's.
    pub seeds: Vec<u64>,
    /// Seeds to run where neither names any; empty: seed 1. A comparison wants several ([`Overrides::USUAL_SEEDS`]).
    pub usual_seeds: Vec<u64>,
}

impl Overrides {
    /// The seeds of a comparison that names none: the fewest that give an interval which is not absurdly wide.
    pub const USUAL_SEEDS: [u64; 3] = [1, 2, 3];
}
