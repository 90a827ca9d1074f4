//! Tables whose parameters are declared: reading them, and the errors about wrong parameters.

use crate::scenario::read::table::{Table, nearest};
use anabranch_base::{
    Diagnostic, Fix, Parameter, ParameterValue, Parameters, ValueFault, WrongValue, is_misspelt,
};

/// The parameters of `name`, from a table that sets some of them. The others have their defaults, if they have any.
pub(in crate::scenario) fn read(
    name: &str,
    declared: &[Parameter],
    values: &toml::Table,
) -> Result<Parameters, ParameterError> {
    let mut found = TableValues::default();
    found.look(declared, "", values)?;
    let known: Vec<&str> = declared.iter().map(Parameter::name).collect();
    if let Some((key, value)) = found.values.iter().find(|(key, _)| !known.contains(&key.as_str())) {
        let help = match nearest(key, &known) {
            Some(near) => {
                let its = declared.iter().find(|its| its.name() == near);
                let is_its = |its: &Parameter| coerce(its, value).is_ok();
                let goes_over = is_misspelt(key, near) && its.is_some_and(is_its);
                let value = goes_over.then(|| value.to_string());
                Fix::Rename { written: near.to_owned(), name: near.to_owned(), value }
            }
            None if known.is_empty() => Fix::text(format!("no parameter: {name:?} has none")),
            None => Fix::text(format!("one of {}", known.join(", "))),
        };
        let message = format!("{name:?} has no parameter {key:?}");
        return Err(ParameterError { key: Some(key.clone()), message, help, value: None, cure: Vec::new() });
    }
    let is_missing = |parameter: &&Parameter| {
        let table = parameter.name().rsplit_once('.').map_or("", |(table, _)| table);
        parameter.is_required()
            && found.tables.iter().any(|found| found == table)
            && found.values.iter().all(|(key, _)| key != parameter.name())
    };
    let missing: Vec<&Parameter> = declared.iter().filter(is_missing).collect();
    if let Some(first) = missing.first() {
        let example = first.example().map(ParameterValue::to_string);
        let example = example.unwrap_or_else(|| first.type_name().to_owned());
        let message = format!("{name:?} has no {:?}, which must be said", first.name());
        let help = Fix::set(first.name(), format!("{example}  # {}", first.meaning()));
        let missing = missing.iter().filter_map(|of| Some((of.name().to_owned(), of.example()?.clone())));
        return Err(ParameterError { key: None, message, help, value: None, cure: missing.collect() });
    }
    let mut parameters = Parameters::default();
    for parameter in declared {
        let (its, meaning) = (parameter.name(), parameter.meaning());
        let value = match (found.values.iter().find(|(key, _)| key == its), parameter.default()) {
            (None, Some(default)) => default.clone(),
            (None, None) => continue,
            (Some((_, value)), _) => {
                coerce(parameter, value).map_err(|WrongValue { fault, problem, instead }| {
                    let cure = instead.iter().map(|value| (its.to_owned(), value.clone())).collect();
                    let instead = instead.map_or_else(|| parameter.permitted(), |value| value.to_string());
                    let message = fault.sentence(its, &problem);
                    let value = format!("{instead}  # {meaning}");
                    let help = Fix::set(its, &value);
                    ParameterError { key: Some(its.to_owned()), message, help, value: Some(value), cure }
                })?
            }
        };
        parameters.set(its, value);
    }
    Ok(parameters)
}

#[derive(Default)]
struct TableValues<'a> {
    /// The values with their full names, such as `table.name`.
    values: Vec<(String, &'a toml::Value)>,
    tables: Vec<String>,
}

impl<'a> TableValues<'a> {
    fn look(
        &mut self,
        declared: &[Parameter],
        at: &str,
        values: &'a toml::Table,
    ) -> Result<(), ParameterError> {
        self.tables.push(at.to_owned());
        for (key, value) in values.iter().filter(|(key, _)| !at.is_empty() || *key != "kind") {
            let name = if at.is_empty() { key.clone() } else { format!("{at}.{key}") };
            let has = |after: &str| {
                declared.iter().any(|parameter| parameter.name().starts_with(&format!("{name}{after}")))
            };
            match value {
                _ if has("[].") => check_list(declared, &name, value)?,
                toml::Value::Table(within) if has(".") => self.look(declared, &name, within)?,
                _ if has(".") => {
                    let message = format!("{name} must be a table, not {value}");
                    let names =
                        declared.iter().filter(|parameter| parameter.name().starts_with(&format!("{name}.")));
                    let names: Vec<&str> = names.map(Parameter::name).collect();
                    let help = Fix::text(format!("a table {name} with {}", names.join(", ")));
                    return Err(ParameterError {
                        key: Some(name),
                        message,
                        help,
                        value: None,
                        cure: Vec::new(),
                    });
                }
                _ => self.values.push((name, value)),
            }
        }
        Ok(())
    }
}

/// The declarations in the table `name`, with their names within that table.
pub(in crate::scenario) fn within(declared: &[Parameter], name: &str) -> Vec<Parameter> {
    let above = format!("{name}.");
    let its = declared.iter().filter(|parameter| parameter.name().starts_with(&above));
    its.map(|parameter| parameter.clone().without_table(name)).collect()
}

pub(in crate::scenario) fn check_list(
    declared: &[Parameter],
    name: &str,
    value: &toml::Value,
) -> Result<(), ParameterError> {
    let of_table = within(declared, &format!("{name}[]"));
    let keys: Vec<&str> = of_table.iter().map(Parameter::name).collect();
    let tables = format!("a list of tables with {}", keys.join(", "));
    let refused = |message: String, value: Option<String>, help: Fix| ParameterError {
        key: Some(name.to_owned()),
        message,
        help,
        value,
        cure: Vec::new(),
    };
    let Some(list) = value.as_array() else {
        let message = format!("{name} must be a list of tables, not {value}");
        return Err(refused(message, None, Fix::text(tables)));
    };
    for (number, entry) in list.iter().enumerate() {
        let place = format!("{name}[{number}]");
        let Some(table) = entry.as_table() else {
            let message = format!("{place} must be a table, not {entry}");
            return Err(refused(message, None, Fix::text(tables)));
        };
        read(&place, &of_table, table).map_err(|wrong| {
            let message = match wrong.value {
                Some(_) => format!("{place}.{}", wrong.message),
                None => wrong.message,
            };
            let whole = cured(table, &wrong.cure).map(|mended| {
                let mut list = list.clone();
                list[number] = mended.into();
                toml::Value::Array(list).to_string()
            });
            let help = whole.as_ref().map_or(wrong.help, |whole| Fix::set(name, whole));
            refused(message, whole, help)
        })?;
    }
    Ok(())
}

/// The table with the parameters of `cure` added; none if `cure` is empty or belongs in a table that is missing.
pub(in crate::scenario) fn cured(
    table: &toml::Table,
    cure: &[(String, ParameterValue)],
) -> Option<toml::Table> {
    let mut cured = table.clone();
    for (name, value) in cure {
        let (tables, key) = name.rsplit_once('.').unwrap_or(("", name));
        let mut above = &mut cured;
        for table in tables.split('.').filter(|table| !table.is_empty()) {
            above = above.get_mut(table)?.as_table_mut()?;
        }
        above.insert(key.to_owned(), toml::Value::try_from(value).ok()?);
    }
    (!cure.is_empty()).then_some(cured)
}

pub(in crate::scenario) fn coerce(
    parameter: &Parameter,
    value: &toml::Value,
) -> Result<ParameterValue, WrongValue> {
    let value = match value {
        toml::Value::Boolean(truth) => ParameterValue::Bool(*truth),
        toml::Value::Integer(number) => ParameterValue::Integer(*number),
        toml::Value::Float(number) => ParameterValue::Number(*number),
        toml::Value::String(text) => ParameterValue::Text(text.clone()),
        other => {
            let problem = format!("must be {}, not {other}", parameter.type_name());
            return Err(WrongValue {
                fault: ValueFault::Rule,
                problem,
                instead: parameter.example().cloned(),
            });
        }
    };
    parameter.validate(&value)
}

#[derive(Debug)]
pub(in crate::scenario) struct ParameterError {
    /// The key of the parameter, if the table has it.
    pub key: Option<String>,
    pub message: String,
    pub help: Fix,
    /// The text to write as the value instead, if there is one.
    pub value: Option<String>,
    /// Parameters to set in the table, with valid values.
    pub cure: Vec<(String, ParameterValue)>,
}

impl ParameterError {
    pub(in crate::scenario) fn of(&self, part: &str) -> String {
        match self.value {
            Some(_) => format!("{part}.{}", self.message),
            None => format!("{part}: {}", self.message),
        }
    }

    /// The error at the place of the parameter, or else of the table's `kind`.
    pub(in crate::scenario) fn at(self, table: &Table) -> Diagnostic {
        table.wrong(self.key.as_deref().unwrap_or("kind"), self.message, self.help)
    }
}
