//! `kind = "nccl-tests"`: a sweep over the sizes of a collective, as the programs of nccl-tests measure it.

use crate::scenario::expand::sweep::Step;
use crate::scenario::keys;
use crate::scenario::read::document::{Fields, Item, Node};
use crate::scenario::read::source_map::Origin;
use crate::scenario::read::table::Table;
use crate::scenario::resolve::no_algorithm;
use crate::scenario::resolve::workload::{NCCL_TESTS, named_by_nccl, of_nccl_algo};
use crate::scenario::schema::unknown_keys::only;
use anabranch_base::{Bytes, Diagnostic, Fix};
use anabranch_workload::collective::{Algorithm, Operation};

/// The swept parameter, whose values are the sizes.
pub(in crate::scenario) const SWEPT: &str = "workload.bytes";
const MOST_SIZES: usize = 1_000;
/// The keys that the kind `collective` does not have, or whose values are replaced.
const OWN: [&str; 6] = ["kind", "operation", "min_bytes", "max_bytes", "factor", "step_bytes"];

/// Returns a point for each size if the workload of `step` has the kind `nccl-tests`, and otherwise only `step`.
pub(in crate::scenario) fn split(file: &str, step: Step) -> Result<Vec<Step>, Diagnostic> {
    let kind =
        |fields: &Fields| fields.get("kind").is_some_and(|kind| kind.value().as_str() == Some(NCCL_TESTS));
    let Some(node) = step.fields.get("workload").cloned() else { return Ok(vec![step]) };
    match &node.item {
        Item::Table(fields) if kind(fields) => {}
        _ => return Ok(vec![step]),
    }
    let table = Table::open(file, "[workload]", &node)?;
    only(&table, &keys::of(NCCL_TESTS))?;
    let algorithm = algorithm(&table)?;
    let mut fields: Fields = table.fields.clone();
    fields.retain(|key, _| !OWN.contains(&key.as_str()));
    let word = |text: &str| Node { at: node.at, item: Item::Leaf(toml::Value::String(text.to_owned())) };
    fields.insert("kind".to_owned(), word("collective"));
    let written = table.node("algorithm").cloned();
    fields.insert("algorithm".to_owned(), written.unwrap_or_else(|| word(algorithm.name())));
    let with_size = |bytes: Bytes| {
        let mut at_size = step.clone();
        let workload = Node { at: node.at, item: Item::Table(fields.clone()) };
        at_size.fields.insert("workload".to_owned(), workload);
        let place = table.node("min_bytes").and_then(|node| node.at);
        let bytes = Node { at: place, item: Item::Leaf(toml::Value::String(bytes.to_string())) };
        at_size.set(file, SWEPT, &bytes).map(|()| at_size)
    };
    sizes(&table)?.into_iter().map(with_size).collect()
}

/// The algorithm for the operation. If the scenario gives none, it is [`Operation::usual_algorithm`], which depends on
/// whether the servers are known. They are if there is a table `server` that lacks `ranks` or has `channels`.
fn algorithm(table: &Table) -> Result<Algorithm, Diagnostic> {
    let none = |key: &str| {
        let written = table.get::<String>(key).ok().flatten();
        written.and_then(|written| no_algorithm::error(table, key, &written)).map_or(Ok(()), Err)
    };
    none("operation")?;
    let operation = table.word("operation", &Operation::ALL)?;
    if table.node("algorithm").is_none() {
        let server = table.node("server").map(|node| Table::open(table.file, "[workload.server]", node));
        let knows_servers = server
            .transpose()?
            .is_some_and(|server| server.node("ranks").is_none() || server.node("channels").is_some());
        return Ok(operation.usual_algorithm(knows_servers));
    }
    if let Some(instead) =
        table.node("algorithm").and_then(|node| named_by_nccl(operation, node.value().as_str()?))
    {
        return Err(of_nccl_algo(table, instead));
    }
    none("algorithm")?;
    let algorithm =
        table.word("algorithm", &Algorithm::ALL).map_err(|error| of_operation(error, operation))?;
    if algorithm.operation() == operation {
        return Ok(algorithm);
    }
    let message = format!("{} is no {}", algorithm.name(), operation.name());
    let instead = Algorithm::ALL.iter().find(|(_, other)| other.operation() == operation);
    let instead = instead.map_or("...", |(name, _)| *name);
    Err(table.wrong("algorithm", message, Fix::set("algorithm", format!("{instead:?}"))))
}

/// The error for an unknown algorithm, whose fix has only algorithms of `operation`.
fn of_operation(error: Diagnostic, operation: Operation) -> Diagnostic {
    let of_it = Algorithm::ALL.iter().filter(|(_, algorithm)| algorithm.operation() == operation);
    let names: Vec<String> = of_it.map(|(name, _)| format!("{name:?}")).collect();
    match &error.fix {
        Some(Fix::Set { value, .. }) if names.contains(value) => error,
        _ => match &names[..] {
            [one] => {
                let fix = Fix::set("algorithm", one);
                error.with_fix(fix)
            }
            _ => error.with_fix(Fix::text(format!("algorithm = one of {}", names.join(", ")))),
        },
    }
}

/// The size at `key`. The units K, M and G of nccl-tests are powers of 1,024. They are refused in favour of KiB, MiB
/// and GiB. A number without a unit, which nccl-tests reads as bytes, is refused in favour of a number with a unit.
fn size(table: &Table, key: &str) -> Result<Option<Bytes>, Diagnostic> {
    let plain = table.node(key).and_then(|node| match node.value() {
        toml::Value::Integer(number) => u64::try_from(number).ok(),
        value => value.as_str()?.trim().parse().ok(),
    });
    if let Some(bytes) = plain.filter(|bytes| *bytes > 0) {
        let message = format!("{key}: {bytes} has no unit; in nccl-tests it is a number of bytes");
        return Err(table.wrong(key, message, Fix::set(key, format!("\"{}\"", Bytes(bytes)))));
    }
    let binary = table.node(key).and_then(|node| {
        let text = node.value().as_str()?.trim().to_owned();
        let instead = format!("{}iB", text.to_ascii_uppercase());
        text.ends_with(['K', 'M', 'G', 'k', 'm', 'g']).then(|| instead.parse::<Bytes>().ok())?
    });
    let Some(instead) = binary else { return table.get(key) };
    let message = format!(
        "{key}: nccl-tests counts K, M and G in powers of 1024, and here their names are KiB, MiB and GiB"
    );
    Err(table.wrong(key, message, Fix::set(key, format!("\"{instead}\""))))
}

/// The sizes from `min_bytes` to `max_bytes`. Each size is the previous one times `factor`, or plus `step_bytes`.
fn sizes(table: &Table) -> Result<Vec<Bytes>, Diagnostic> {
    let need = |key: &str| size(table, key)?.ok_or_else(|| table.missing(key));
    let least = need("min_bytes")?;
    table.above_zero("min_bytes", least)?;
    let most = need("max_bytes")?;
    if most < least {
        let message = format!("max_bytes is {most}, below min_bytes, which is {least}");
        return Err(table.wrong("max_bytes", message, Fix::set("max_bytes", format!("\"{least}\""))));
    }
    let step = size(table, "step_bytes")?;
    let factor: u64 = table.get("factor")?.unwrap_or(2);
    if step.is_some() && table.node("factor").is_some() {
        let message = "step_bytes adds to each size, and factor multiplies it";
        return Err(table.wrong("step_bytes", message, "factor or step_bytes, not both"));
    }
    table.within("factor", factor, 2, u64::from(u32::MAX))?;
    step.map_or(Ok(()), |step| table.above_zero("step_bytes", step))?;
    let next = |size: &Bytes| {
        let next = match step {
            Some(step) => size.0.checked_add(step.0),
            None => size.0.checked_mul(factor),
        };
        next.map(Bytes).filter(|next| *next <= most)
    };
    let sizes: Vec<Bytes> = std::iter::successors(Some(least), next).take(MOST_SIZES + 1).collect();
    if sizes.len() > MOST_SIZES {
        let message = format!("there are more than {MOST_SIZES} sizes from {least} to {most}");
        let step = Bytes((most.0 - least.0).div_ceil(MOST_SIZES as u64 - 1));
        return Err(table.wrong("step_bytes", message, Fix::set("step_bytes", format!("\"{step}\""))));
    }
    Ok(sizes)
}

/// A warning if no size is `max_bytes`, so that the last one is below it.
pub(in crate::scenario) fn left_out(origin: &Origin) -> Option<Diagnostic> {
    let table = Table::open(&origin.file, "[workload]", origin.section("workload")?).ok()?;
    table.get::<String>("kind").ok().flatten().filter(|kind| kind == NCCL_TESTS)?;
    let most = size(&table, "max_bytes").ok()??;
    let last = *sizes(&table).ok()?.last()?;
    if last == most {
        return None;
    }
    let next = match size(&table, "step_bytes").ok()? {
        Some(step) => last.0.checked_add(step.0)?,
        None => last.0.checked_mul(table.get("factor").ok()?.unwrap_or(2))?,
    };
    let message =
        format!("the last size is {last}, since the next one is {} and above max_bytes, {most}", Bytes(next));
    let is_near = next - most.0 <= most.0 - last.0;
    let instead = if is_near { Bytes(next) } else { last };
    Some(table.wrong("max_bytes", message, Fix::set("max_bytes", format!("\"{instead}\""))))
}
