//! The schemes of a league scenario: all schemes whose files name the scenario's part of the league.

use crate::scenario::keys::{self, LEAGUE_PARTS};
use crate::scenario::read::document::{Fields, Item, Node};
use crate::scenario::read::table::{Table, list, nearest};
use crate::scenario::resolve::scheme::builtin;
use crate::scenario::schema::unknown_keys::only;
use anabranch_base::{Diagnostic, Fix};

/// Replaces `schemes = { league = "large-fabric" }` by the names of the schemes in that part, in the order in which
/// the built-in schemes are listed. The schemes that `first` names come first.
pub(super) fn name_schemes(file: &str, fields: &mut Fields) -> Result<(), Diagnostic> {
    let Some(node @ Node { at, item: Item::Table(_) }) = fields.get("schemes") else { return Ok(()) };
    let table = Table::open(file, "schemes", node)?;
    only(&table, &keys::of("schemes"))?;
    let part: String = table.need("league")?;
    if !LEAGUE_PARTS.contains(&part.as_str()) {
        let fix = match nearest(&part, &LEAGUE_PARTS) {
            Some(near) => Fix::set("league", format!("{near:?}")),
            None => Fix::text(format!("one of {}", list(&LEAGUE_PARTS))),
        };
        return Err(table.wrong("league", format!("the league has no part {part:?}"), fix));
    }
    let taking_part = builtin::in_league(&part);
    let mut names: Vec<String> = table.get("first")?.unwrap_or_default();
    if let Some(other) = names.iter().find(|name| !taking_part.contains(&name.as_str())) {
        let message = format!("scheme {other:?} does not take part in {part:?}");
        return Err(table.wrong("first", message, Fix::text(format!("one of {}", list(&taking_part)))));
    }
    names.extend(
        taking_part.into_iter().map(str::to_owned).filter(|name| !names.contains(name)).collect::<Vec<_>>(),
    );
    let names = names.into_iter().map(|name| Node { at: *at, item: Item::Leaf(toml::Value::String(name)) });
    let schemes = Node { at: *at, item: Item::Array(names.collect()) };
    fields.insert("schemes".to_owned(), schemes);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::read::document;

    fn named(text: &str) -> Result<Vec<String>, Diagnostic> {
        let mut fields = document::parse("f.toml", text)?;
        name_schemes("f.toml", &mut fields)?;
        Ok(fields["schemes"].value().try_into().unwrap())
    }

    #[test]
    fn a_part_of_the_league_stands_for_its_schemes_in_the_order_of_lists() {
        let all = named("schemes = { league = \"data-centre\" }").unwrap();
        assert_eq!(all[..3], ["reps", "eqds", "ops"]);
        assert!(!all.iter().any(|name| name == "reps-carry" || name == "bicc"), "{all:?}");
        let large = named("schemes = { league = \"large-fabric\" }").unwrap();
        assert!(large.len() < all.len() && large.iter().all(|name| all.contains(name)));
        let far =
            named("schemes = { league = \"two-data-centres\", first = [\"rocev2\", \"bicc\"] }").unwrap();
        assert_eq!(far[..3], ["rocev2", "bicc", "reps"]);
        assert_eq!(far.len(), builtin::in_league("two-data-centres").len());
        assert_eq!(named("schemes = [\"ops\"]").unwrap(), ["ops"]);
    }

    #[test]
    fn parts_and_schemes_that_there_are_not_are_refused() {
        let error = |text| named(text).unwrap_err().to_string();
        let near = error("schemes = { league = \"large-fabrics\" }");
        assert!(
            near.contains("no part \"large-fabrics\"") && near.contains("league = \"large-fabric\""),
            "{near}"
        );
        let far = error("schemes = { league = \"wan\" }");
        assert!(far.contains("one of \"data-centre\", \"large-fabric\", \"two-data-centres\""), "{far}");
        let other = error("schemes = { league = \"large-fabric\", first = [\"bicc\"] }");
        assert!(other.contains("scheme \"bicc\" does not take part in \"large-fabric\""), "{other}");
    }
}
