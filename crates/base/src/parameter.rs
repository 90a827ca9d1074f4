//! The declaration of a parameter.

use crate::text::in_unit_of;
use crate::{Fix, ParameterType, ParameterValue, Problem, Range, Ranged, ValueError, ValueFault, ValueForm};
use std::any::TypeId;
use std::fmt;
use std::sync::Arc;

type Check = dyn Fn(&ParameterValue) -> Result<ParameterValue, ValueError> + Send + Sync;

/// The declaration of a parameter: its name, type, range, default, meaning and source.
#[derive(Clone)]
pub struct Parameter {
    name: String,
    meaning: String,
    source: String,
    default: Option<ParameterValue>,
    example: Option<ParameterValue>,
    optional: bool,
    of_type: TypeId,
    type_name: &'static str,
    unit: &'static str,
    choices: &'static [&'static str],
    form: ValueForm,
    range: Option<String>,
    is_above_zero: bool,
    least: Option<ParameterValue>,
    most: Option<ParameterValue>,
    check: Arc<Check>,
}

/// The problem with the value of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct WrongValue {
    /// The kind of the error.
    pub fault: ValueFault,
    /// The problem in words: `must be 1 to 32, not 77`.
    pub problem: String,
    /// A value to write instead, if there is one.
    pub instead: Option<ParameterValue>,
}

impl Parameter {
    /// A parameter with a default.
    pub fn new<T: ParameterType>(name: impl Into<String>, default: T, meaning: impl Into<String>) -> Self {
        Parameter { default: Some(default.write()), ..Parameter::required::<T>(name, meaning) }
    }

    /// A parameter that must be set. [`optional`](Self::optional) and [`with_default`](Self::with_default) lift this
    /// requirement.
    pub fn required<T: ParameterType>(name: impl Into<String>, meaning: impl Into<String>) -> Self {
        Parameter {
            name: name.into(),
            meaning: meaning.into(),
            source: String::new(),
            default: None,
            example: None,
            optional: false,
            of_type: TypeId::of::<T>(),
            type_name: T::TYPE_NAME,
            unit: T::UNIT,
            choices: T::CHOICES,
            form: T::FORM,
            range: None,
            is_above_zero: false,
            least: None,
            most: None,
            check: Arc::new(|value| T::read(value).map(|value| value.write())),
        }
    }

    /// Marks the parameter as one that may be left out even without a default.
    #[must_use]
    pub fn optional(mut self) -> Self {
        self.optional = true;
        self
    }

    /// Restricts the value to a range: `1..=32`, `0.5..`, `AboveZero`, or `..` for every value of its type.
    ///
    /// # Panics
    /// The range is of another type, or the default lies outside the range.
    #[must_use]
    pub fn within<T: Ranged>(mut self, range: impl Into<Range<T>>) -> Self {
        let range = range.into();
        let (words, least, most) = match &range {
            Range::Any => return self,
            Range::AboveZero => ("above 0".to_owned(), None, None),
            Range::From(least) => {
                let least = least.write();
                (format!("{} or more", least.unquoted()), Some(least), None)
            }
            Range::FromTo(least, most) => {
                let (least, most) = (least.write(), most.write());
                (format!("{} to {}", least.unquoted(), most.unquoted()), Some(least), Some(most))
            }
        };
        self.is_above_zero = matches!(range, Range::AboveZero);
        let rule = format!("be {words}");
        (self.range, self.least, self.most) = (Some(words), least, most);
        self.must(rule, move |value: &T| range.contains(value))
    }

    /// Sets the source, such as a paper and its section.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<String>) -> Self {
        self.source = source.into();
        self
    }

    /// Sets the example.
    ///
    /// # Panics
    /// The declaration does not permit the example.
    #[must_use]
    pub fn with_example(mut self, example: impl Into<ParameterValue>) -> Self {
        let example = example.into();
        if let Err(problem) = self.check(&example) {
            panic!("the example of parameter {:?} {problem}", self.name);
        }
        self.example = Some(example);
        self
    }

    /// Sets the default.
    ///
    /// # Panics
    /// The declaration does not permit the default.
    #[must_use]
    pub fn with_default(mut self, default: impl Into<ParameterValue>) -> Self {
        let default = self
            .check(&default.into())
            .unwrap_or_else(|problem| panic!("the default of parameter {:?} {problem}", self.name));
        self.default = Some(default);
        self
    }

    /// Puts the name of a table before the parameter's name.
    #[must_use]
    pub fn in_table(mut self, table: &str) -> Self {
        self.name = format!("{table}.{}", self.name);
        self
    }

    /// Removes the table's name from the start of the parameter's name.
    #[must_use]
    pub fn without_table(mut self, table: &str) -> Self {
        if let Some(name) = self.name.strip_prefix(table).and_then(|rest| rest.strip_prefix('.')) {
            self.name = name.to_owned();
        }
        self
    }

    /// Adds a rule: `must("be at least 1", |gap: &u32| *gap >= 1)`.
    ///
    /// # Panics
    /// The rule is about another type, or the default breaks it.
    #[must_use]
    pub fn must<T: ParameterType>(
        mut self,
        rule: impl Into<String>,
        holds: impl Fn(&T) -> bool + Send + Sync + 'static,
    ) -> Self {
        let name = &self.name;
        assert!(
            self.of_type == TypeId::of::<T>(),
            "parameter {name:?} is {}, the rule is not about that",
            self.type_name
        );
        let (before, rule) = (self.check.clone(), rule.into());
        self.range.get_or_insert_with(|| rule.strip_prefix("be ").unwrap_or(&rule).to_owned());
        self.check = Arc::new(move |value| {
            let value = before(value)?;
            match holds(&T::read(&value)?) {
                true => Ok(value),
                false if rule == "be above 0" => Err(format!("must {rule}").into()),
                false => Err(format!("must {rule}, not {}", value.unquoted()).into()),
            }
        });
        if let Some(Err(problem)) = self.default.as_ref().map(|default| self.check(default)) {
            panic!("the default of parameter {:?} {problem}", self.name);
        }
        self
    }

    /// The name. A parameter of a table has the table's name before it, as in `trp.alpha`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The meaning, which lists of parameters print.
    pub fn meaning(&self) -> &str {
        &self.meaning
    }

    /// The source, such as a paper or a simulator; empty if none is declared.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The type in words.
    pub fn type_name(&self) -> &'static str {
        self.type_name
    }

    /// The unit of the values.
    pub fn unit(&self) -> &'static str {
        self.unit
    }

    /// The limits of the value in words: the range, such as `1 to 32`, or the first rule, or the permitted words. The
    /// text is empty if only the type limits the value.
    pub fn range(&self) -> String {
        match (&self.range, self.choices) {
            (Some(range), _) => range.clone(),
            (None, []) => String::new(),
            (None, choices) => choices.join(", "),
        }
    }

    /// The smallest and the largest value of the range; none if the range has no such value.
    pub fn ends(&self) -> (Option<&ParameterValue>, Option<&ParameterValue>) {
        (self.least.as_ref(), self.most.as_ref())
    }

    /// Whether the range consists of all values above 0.
    pub fn is_above_zero(&self) -> bool {
        self.is_above_zero
    }

    /// The form of the values.
    pub fn form(&self) -> ValueForm {
        self.form
    }

    /// All permitted words, for a type whose values are words of a fixed list.
    pub fn choices(&self) -> &'static [&'static str] {
        self.choices
    }

    /// The permitted words if the type has any, otherwise the type. Errors show this text when no value can be
    /// suggested.
    pub fn permitted(&self) -> String {
        match self.choices {
            [] => self.type_name.to_owned(),
            choices => {
                let quoted: Vec<String> = choices.iter().map(|word| format!("{word:?}")).collect();
                format!("one of {}", quoted.join(", "))
            }
        }
    }

    /// The value that applies if a scenario sets none.
    pub fn default(&self) -> Option<&ParameterValue> {
        self.default.as_ref()
    }

    /// Whether the parameter must be set.
    pub fn is_required(&self) -> bool {
        self.default.is_none() && !self.optional
    }

    /// A permitted value: the declared example, or the default.
    pub fn example(&self) -> Option<&ParameterValue> {
        self.example.as_ref().or(self.default.as_ref())
    }

    /// Whether both parameters have the same type.
    pub fn has_type_of(&self, other: &Parameter) -> bool {
        self.of_type == other.of_type
    }

    /// The canonical form of a permitted value.
    ///
    /// # Errors
    /// The problem, in words that follow the parameter's name. Its fix is the value that the type suggests, if there
    /// is one.
    pub fn check(&self, value: &ParameterValue) -> Result<ParameterValue, Problem> {
        (self.check)(value).map_err(|error| error.problem)
    }

    /// The canonical form of a permitted value.
    ///
    /// # Errors
    /// The problem, and a value to write instead. That value is the first of these that exists: the bare number with
    /// the unit of the example, the value that the type suggests, the nearest whole number in the range, and, unless
    /// the type has a fixed list of words, the example.
    pub fn validate(&self, value: &ParameterValue) -> Result<ParameterValue, WrongValue> {
        (self.check)(value).map_err(|ValueError { fault, problem }| {
            let (problem, advised) = match &problem.fix {
                Some(Fix::Value { value }) => (problem.message, self.suggested(value)),
                _ => (problem.to_string(), None),
            };
            // The example of a choice does not tell which word the user meant.
            let example = || self.example().filter(|_| self.choices.is_empty()).cloned();
            let instead =
                self.with_unit(value).or(advised).or_else(|| self.nearest_end(value)).or_else(example);
            WrongValue { fault, problem, instead }
        })
    }

    /// Adds the unit of the example to a number without a unit, if the result is plausible and permitted.
    fn with_unit(&self, value: &ParameterValue) -> Option<ParameterValue> {
        let ParameterValue::Text(example) = self.example()? else { return None };
        let number = match value {
            ParameterValue::Integer(number) => *number as f64,
            ParameterValue::Number(number) => *number,
            ParameterValue::Text(text) => text.trim().parse().ok()?,
            ParameterValue::Bool(_) => return None,
        };
        // The unit is kept as it is in the example, because the canonical form may have another unit.
        let value = ParameterValue::Text(in_unit_of(example, number)?);
        self.check(&value).is_ok().then_some(value)
    }

    /// The value that a type suggests in its error, if the declaration permits it.
    fn suggested(&self, text: &str) -> Option<ParameterValue> {
        let value = match (self.form.is_in_quotes(), text.parse::<i64>(), text.parse::<f64>()) {
            (true, ..) => ParameterValue::Text(text.to_owned()),
            (false, Ok(whole), _) => ParameterValue::Integer(whole),
            (false, _, Ok(number)) => ParameterValue::Number(number),
            _ => return None,
        };
        self.check(&value).ok()
    }

    /// The whole number in the range that is nearest to `value`.
    fn nearest_end(&self, value: &ParameterValue) -> Option<ParameterValue> {
        let value = match value {
            ParameterValue::Integer(value) => *value,
            ParameterValue::Number(value) if value.is_finite() => value.round() as i64,
            _ => return None,
        };
        let end = |end: &Option<ParameterValue>| match end {
            Some(ParameterValue::Integer(end)) => Some(*end),
            _ => None,
        };
        let (least, most) = (end(&self.least)?, end(&self.most).unwrap_or(i64::MAX));
        self.check(&ParameterValue::Integer(value.clamp(least, most))).ok()
    }
}

impl fmt::Debug for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Parameter { name, meaning, default, type_name, .. } = self;
        write!(f, "Parameter({name}: {type_name}, default {default:?}, {meaning:?})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bytes, Duration, Rate, parameter_choices};

    #[test]
    fn values_are_kept_in_one_form() {
        let text = |text: &str| ParameterValue::Text(text.to_owned());
        let length = Parameter::new("length", Bytes(4_096), "how long");
        assert_eq!(length.check(&text("2000B")), length.check(&text("2KB")));
        let share = Parameter::new("share", 0.5, "how much");
        assert_eq!(share.check(&ParameterValue::Integer(1)), Ok(ParameterValue::Number(1.0)));
        assert_eq!(share.check(&text("1")), Err(Problem::with_value("must be a number, not \"1\"", 1)));
        let error = length.check(&ParameterValue::Integer(8)).unwrap_err();
        assert_eq!(error.fix, Some(Fix::value("8B")), "{error}");
        let error = length.check(&ParameterValue::Bool(true)).unwrap_err();
        assert_eq!(error.to_string(), "must be a size in quotes, not true");
        let ports = Parameter::required::<u16>("ports", "how many");
        let error = ports.check(&ParameterValue::Integer(70_000)).unwrap_err();
        assert_eq!(error, "must be 0 to 65535, not 70000".into());
    }

    fn instead(parameter: &Parameter, value: impl Into<ParameterValue>) -> Option<String> {
        parameter.validate(&value.into()).unwrap_err().instead.map(|value| value.unquoted())
    }

    #[test]
    fn a_missing_unit_is_that_of_the_example() {
        let jitter =
            Parameter::new("jitter", Duration(0), "how late").within(Duration(0)..=Duration(1_000_000_000));
        assert_eq!(instead(&jitter.clone().with_example("100ns"), 100).as_deref(), Some("100ns"));
        assert_eq!(instead(&jitter.clone().with_example("100ns"), "1.5").as_deref(), Some("1.5ns"));
        assert_eq!(instead(&jitter.clone().with_example("10us"), 100).as_deref(), Some("100us"));
        assert_eq!(instead(&jitter.clone().with_example("10us"), 1_000_000_000).as_deref(), Some("1ms"));
        let rate = Parameter::required::<Rate>("rate", "how fast").with_example("40Mbps");
        assert_eq!(instead(&rate, 25).as_deref(), Some("25Mbps"));
        let size = Parameter::required::<Bytes>("size", "how long").with_example("8MiB");
        assert_eq!(instead(&size, 1.5).as_deref(), Some("1.5MiB"));
        assert_eq!(instead(&size, 4_096).as_deref(), Some("4KiB"), "other simulators count bytes");
    }

    #[test]
    fn a_float_in_the_place_of_a_whole_number_is_rounded() {
        let entries = Parameter::required::<u32>("entries", "how many").within(2_u32..=32).with_example(8);
        for (float, whole) in [(16.0, "16"), (1.6, "2"), (0.3, "2"), (99.5, "32"), (1e300, "32")] {
            let wrong = entries.validate(&float.into()).unwrap_err();
            assert_eq!(wrong.problem, format!("must be a whole number, not {float:?}"));
            assert_eq!(wrong.instead.map(|value| value.unquoted()).as_deref(), Some(whole), "{float}");
        }
        assert_eq!(instead(&entries, f64::NAN).as_deref(), Some("8"));
    }

    #[derive(Debug, PartialEq)]
    enum Drops {
        Arriving,
        Coin,
    }
    parameter_choices!(Drops: "arriving" = Arriving, "coin" = Coin; or "droptail" = "arriving", "tail" = "arriving");

    #[test]
    fn a_choice_is_advised_only_where_it_is_meant() {
        let drops = Parameter::required::<Drops>("drops", "which").with_example("coin");
        for word in ["tail", "drop-tail", "Tail", "drop_tail", "ariving"] {
            let wrong = drops.validate(&word.into()).unwrap_err();
            assert_eq!(wrong.problem, format!("must be one of arriving, coin, not {word:?}"));
            assert_eq!(wrong.instead, Some("arriving".into()), "{word}");
        }
        assert_eq!(instead(&drops, "youngest"), None);
    }

    #[test]
    fn rules_hold_for_values_and_defaults() {
        let gap = Parameter::new("gap", 3u32, "packets").must("be at least 1", |gap: &u32| *gap >= 1);
        assert_eq!(gap.check(&ParameterValue::Integer(0)), Err("must be at least 1, not 0".into()));
        assert_eq!(gap.check(&ParameterValue::Integer(7)), Ok(ParameterValue::Integer(7)));
        let broken = || Parameter::new("gap", 0u32, "packets").must("be at least 1", |gap: &u32| *gap >= 1);
        assert!(std::panic::catch_unwind(broken).is_err());
        let of_another_type =
            || Parameter::new("gap", 3u32, "packets").must("be long", |gap: &f64| *gap > 1.0);
        assert!(std::panic::catch_unwind(of_another_type).is_err());
    }
}
