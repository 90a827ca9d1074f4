//! The inputs of a scenario in addition to its text: the files that it names, and values from the command line.

/// The source of the files that a scenario names.
pub trait Files {
    /// The contents of the file that the scenario calls `name`.
    ///
    /// # Errors
    /// The reason why the file cannot be read, in a few words, such as `no such file`.
    fn read(&self, name: &str) -> Result<String, String>;

    /// The contents of the file that the scenario calls `name`, which need not be text.
    ///
    /// # Errors
    /// See [`read`](Self::read).
    fn read_bytes(&self, name: &str) -> Result<Vec<u8>, String> {
        self.read(name).map(String::into_bytes)
    }
}

/// A source without files, for scenarios that name none.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _: &str) -> Result<String, String> {
        Err("no files are given".to_owned())
    }
}

/// The schemes and seeds of the command line, which replace those of the file, and the default seeds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// The schemes to run instead of the file's schemes; empty to use the file's.
    pub schemes: Vec<String>,
    /// The seeds to run instead of the file's seeds; empty to use the file's.
    pub seeds: Vec<u64>,
    /// The seeds to run if neither the command line nor the file names any; an empty list means seed 1. A comparison
    /// needs several seeds ([`Overrides::USUAL_SEEDS`]).
    pub usual_seeds: Vec<u64>,
}

impl Overrides {
    /// The default seeds of a comparison. Three seeds are the fewest that give a useful confidence interval.
    pub const USUAL_SEEDS: [u64; 3] = [1, 2, 3];
}
