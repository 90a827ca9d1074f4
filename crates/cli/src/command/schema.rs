//! `anabranch schema`: the JSON Schema of a kind of file.

use crate::args::SchemaFile;
use crate::failure::Failure;
use crate::output::print_json;
use anabranch_sim::scenario::{SchemaOf, json_schema};

/// Prints the JSON Schema of a kind of file.
///
/// # Errors
/// Standard output cannot be written.
pub fn schema(file: SchemaFile) -> Result<(), Failure> {
    print_json(&json_schema(match file {
        SchemaFile::Scenario => SchemaOf::Scenario,
        SchemaFile::Scheme => SchemaOf::Scheme,
        SchemaFile::Setup => SchemaOf::Setup,
        SchemaFile::Figure => SchemaOf::Figure,
    }))
}
