//! YAML documents of ASTRA-sim, with the line of each value. JSON is read too, because it is a subset of YAML.

use super::error::TopologyError;
use anabranch_base::Problem;
use saphyr::{LoadableYamlNode, MarkedYaml, Scalar, YamlData};

/// The document of a file, whose top level is a mapping.
pub struct YamlDocument<'a> {
    file: &'a str,
    root: MarkedYaml<'a>,
}

/// A value of a document.
#[derive(Clone, Debug)]
pub struct YamlNode {
    /// The line, from 1.
    pub line: usize,
    /// The value as text. Empty for a list or a mapping.
    pub text: String,
}

impl YamlNode {
    fn of(yaml: &MarkedYaml<'_>) -> YamlNode {
        let text = match &yaml.data {
            YamlData::Value(Scalar::Null) => "null".to_owned(),
            YamlData::Value(Scalar::Boolean(value)) => value.to_string(),
            YamlData::Value(Scalar::Integer(value)) => value.to_string(),
            YamlData::Value(Scalar::FloatingPoint(value)) => value.to_string(),
            YamlData::Value(Scalar::String(value)) => value.to_string(),
            _ => String::new(),
        };
        YamlNode { line: yaml.span.start.line(), text }
    }
}

impl<'a> YamlDocument<'a> {
    /// Reads a file whose top level is a mapping.
    ///
    /// # Errors
    /// The text is neither YAML nor JSON, or its top level is not a mapping.
    pub fn read(file: &'a str, text: &'a str) -> Result<YamlDocument<'a>, TopologyError> {
        let documents = MarkedYaml::load_from_str(text).map_err(|error| {
            let line = error.marker().line().max(1);
            TopologyError::file(file, line, format!("this is neither YAML nor JSON: {}", error.info()))
        })?;
        match documents.into_iter().next() {
            Some(root) if root.data.is_mapping() => Ok(YamlDocument { file, root }),
            Some(other) => {
                let problem = "a file of ASTRA-sim is a mapping of keys to values";
                Err(TopologyError::file(file, other.span.start.line().max(1), problem.to_owned()))
            }
            None => {
                let problem = "the file is empty; a file of ASTRA-sim is a mapping of keys to values";
                Err(TopologyError::file(file, 1, problem.to_owned()))
            }
        }
    }

    /// The keys of the top level.
    pub fn keys(&self) -> impl Iterator<Item = YamlNode> {
        self.root.data.as_mapping().into_iter().flatten().map(|(key, _)| YamlNode::of(key))
    }

    /// The value at a key of the top level.
    pub fn get(&self, key: &str) -> Option<YamlNode> {
        self.root.data.as_mapping_get(key).map(YamlNode::of)
    }

    /// The entries of the list at a key of the top level.
    ///
    /// # Errors
    /// The key is missing, or its value is not a list or is empty. The error shows `example`, a list that the key could
    /// have.
    pub fn list(&self, key: &str, example: &str) -> Result<Vec<YamlNode>, TopologyError> {
        let Some(value) = self.root.data.as_mapping_get(key) else {
            let message = format!("{key} is missing, a list with an entry per dimension");
            return Err(self.at(1, Problem::with_text(message, format_args!("{key}: {example}"))));
        };
        match value.data.as_sequence() {
            Some(list) if !list.is_empty() => Ok(list.iter().map(YamlNode::of).collect()),
            _ => {
                let message = format!("{key} must be a list with an entry per dimension");
                let fix = Problem::with_text(message, format_args!("{key}: {example}"));
                Err(self.at(value.span.start.line(), fix))
            }
        }
    }

    /// Reads a finite number that is at least 0.
    ///
    /// # Errors
    /// Any other value. The error has `key` and `unit`, the unit of the number.
    pub fn number(&self, node: &YamlNode, key: &str, unit: &str) -> Result<f64, TopologyError> {
        let number = node.text.parse::<f64>().ok();
        number.filter(|number| number.is_finite() && *number >= 0.0).ok_or_else(|| {
            self.at(node.line, format!("{:?} is no {key}, a number of {unit} from 0", node.text))
        })
    }

    /// An error in this file, at `line`.
    pub fn at(&self, line: usize, problem: impl Into<Problem>) -> TopologyError {
        TopologyError::file(self.file, line, problem)
    }
}
