//! `anabranch list`: the names that scenarios and commands can use.

use super::columns;
use super::keys;
use super::parameters::{self, Form};
use crate::args::{ListArgs, Listing};
use crate::examples::EXAMPLES;
use crate::failure::Failure;
use crate::figures;
use crate::output::{print, print_json};
use anabranch_proto::lb::StateField;
use anabranch_proto::{ProgramConfig, TransportConfig};
use anabranch_report::TERMS;
use anabranch_sim::model::MESSAGE_FIELDS;
use anabranch_sim::scenario::{SeriesKind, scheme, schemes, setups};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Prints a list of names that a scenario or a command can use.
///
/// # Errors
/// An option or a name is given that the list does not have, or standard output cannot be written.
pub fn list(args: &ListArgs) -> Result<(), Failure> {
    if args.state && args.what != Listing::Schemes {
        return Err(Failure::Input(
            "--state: only schemes have hardware state\n  help: write `anabranch list schemes --state`"
                .to_owned(),
        ));
    }
    let takes_a_kind = matches!(args.what, Listing::Parameters | Listing::Keys | Listing::Examples);
    let has_a_page = match args.what {
        Listing::Parameters | Listing::Keys | Listing::Columns => true,
        Listing::Schemes => !args.state,
        _ => false,
    };
    if args.markdown && !has_a_page {
        return Err(Failure::Input(
            "--markdown: only parameters, keys, columns and schemes have such a page\n  help: write `anabranch list \
             parameters --markdown`"
                .to_owned(),
        ));
    }
    if !takes_a_kind && args.kind.is_some() {
        return Err(Failure::Input(
            "a part or kind: only parameters and keys are listed so\n  help: write `anabranch list parameters lb`"
                .to_owned(),
        ));
    }
    let form = match (args.json, args.markdown) {
        (true, _) => Form::Json,
        (false, true) => Form::Markdown,
        (false, false) => Form::Text,
    };
    match args.what {
        Listing::Parameters => parameters::list(args.kind.as_deref(), form),
        Listing::Keys => keys::list(args.kind.as_deref(), form),
        Listing::Columns => columns::list(form),
        Listing::Schemes if args.state => state(args.json),
        Listing::Schemes if args.markdown => print(&schemes_page()),
        Listing::Schemes => {
            let rows =
                schemes().into_iter().map(|listing| (listing.name.to_owned(), listing.title)).collect();
            show("schemes", rows, args.json)
        }
        Listing::Setups => {
            let rows = setups().into_iter().map(|listing| (listing.name.to_owned(), listing.title)).collect();
            show("setups", rows, args.json)
        }
        Listing::Figures => {
            let rows = figures::all(None)?.iter().map(|figure| (figure.id.clone(), figure.title())).collect();
            show("figures", rows, args.json)
        }
        Listing::Workloads => show("workloads", keys::kinds("[workload]"), args.json),
        Listing::Topologies => show("topologies", keys::kinds("[topology]"), args.json),
        Listing::Faults => show("faults", keys::kinds("[[fault]]"), args.json),
        Listing::Series => series(args.json),
        Listing::Terms => {
            let rows = TERMS.iter().map(|term| (term.names.join(", "), term.means.to_owned())).collect();
            show("terms", rows, args.json)
        }
        Listing::Examples => examples(args.kind.as_deref(), args.json),
    }
}

fn schemes_page() -> String {
    let mut text = "# Schemes\n\n\
        Every scheme that comes with the program. \"Needs\" is what it cannot stand without on any setup; the last column has \
        the parameters in which it differs from the ground of `common` as a result (of a pause class, `fabric.pfc` stands for \
        all). `anabranch list schemes` prints the names, `anabranch check` what differs in a scenario.\n\n\
        This page is generated: `cargo xtask reference` renews it.\n\n\
        | scheme | title | source | needs | differs in |\n|---|---|---|---|---|\n"
        .to_owned();
    for listing in schemes() {
        let Ok(scheme) = scheme(listing.name) else { continue };
        let own = scheme.own.iter().filter(|path| !path.starts_with("fabric.pfc."));
        let own: Vec<String> = own.map(|path| format!("`{path}`")).collect();
        let cells =
            [format!("`{}`", listing.name), listing.title, scheme.source, listing.needs, own.join(", ")];
        text.push_str(&format!("| {} |\n", cells.map(|cell| cell.replace('|', "\\|")).join(" | ")));
    }
    text
}

fn examples(name: Option<&str>, as_json: bool) -> Result<(), Failure> {
    let Some(name) = name else {
        let title = |text: &str| {
            let table: toml::Table = text.parse().unwrap_or_default();
            table.get("title").and_then(toml::Value::as_str).unwrap_or_default().to_owned()
        };
        let rows = EXAMPLES.iter().map(|(name, text)| ((*name).to_owned(), title(text))).collect();
        return show("examples", rows, as_json);
    };
    let name = name.trim_end_matches(".toml");
    match EXAMPLES.iter().find(|(known, _)| *known == name) {
        Some((name, text)) if as_json => print_json(&json!({ "name": name, "toml": text })),
        Some((_, text)) => print(text),
        None => {
            let known: Vec<&str> = EXAMPLES.iter().map(|(known, _)| *known).collect();
            Err(Failure::Input(format!("there is no example {name:?}\n  help: one of {}", known.join(", "))))
        }
    }
}

fn series(as_json: bool) -> Result<(), Failure> {
    let title = |kind: &SeriesKind| format!("{} ({})", kind.meaning, kind.points.key());
    if !as_json {
        let rows = SeriesKind::ALL.iter().map(|kind| (kind.name.to_owned(), title(kind)));
        return show("series", rows.collect(), false);
    }
    let row = |kind: &SeriesKind| json!({ "name": kind.name, "title": title(kind), "points": kind.points, "key": kind.points.key() });
    print_json(&json!({ "series": SeriesKind::ALL.iter().map(row).collect::<Vec<_>>() }))
}

fn show(what: &str, rows: Vec<(String, String)>, as_json: bool) -> Result<(), Failure> {
    if as_json {
        let rows: Vec<Value> =
            rows.iter().map(|(name, title)| json!({ "name": name, "title": title })).collect();
        return print_json(&json!({ what: rows }));
    }
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    print(&rows.iter().map(|(name, title)| format!("{name:width$}  {title}\n")).collect::<String>())
}

fn state(as_json: bool) -> Result<(), Failure> {
    let mut text = String::new();
    let mut rows = Vec::new();
    for listing in schemes() {
        let scheme = scheme(listing.name)?;
        let fields = scheme.lb.state();
        let total = bits(&fields);
        text.push_str(&format!("{}: {total} bits of load balancer state per queue pair\n", listing.name));
        push_fields(&mut text, &fields);
        let mut row = json!({ "name": listing.name, "lb_state_bits": total, "lb_state": fields });
        let (words, of_transport) = transport_state(&scheme.transport);
        text.push_str(&words);
        row["transport"] = of_transport;
        let of_cc = scheme.cc.state();
        if !of_cc.is_empty() {
            let total = bits(&of_cc);
            text.push_str(&format!(
                "  in the NIC: {total} bits ({} B) of congestion control state per queue pair\n",
                total.div_ceil(8)
            ));
            push_fields(&mut text, &of_cc);
            row["cc"] = json!({ "state_bits": total, "state_bytes": total.div_ceil(8), "state": of_cc });
        }
        if let Some(program) = &scheme.fabric.program {
            let (words, of_program) = program_state(program);
            text.push_str(&words);
            row["program"] = of_program;
        }
        rows.push(row);
    }
    if as_json { print_json(&json!({ "schemes": rows })) } else { print(&text) }
}

/// The number of packets in flight of a queue pair, which determines the size of transports' per-packet state. A BDP
/// of 400 Gb/s and 10 us is 122 packets of 4 KiB, rounded up here to a power of two.
pub const IN_FLIGHT: u32 = 128;

/// The bits of hardware state of each scheme for one queue pair: the state of its load balancer and transport in the
/// NICs, with [`IN_FLIGHT`] packets in flight, and the state of its program in a switch.
///
/// # Errors
/// A built-in scheme cannot be resolved, which does not happen.
pub fn state_bits() -> Result<BTreeMap<String, u64>, Failure> {
    let mut all = BTreeMap::new();
    for listing in schemes() {
        let scheme = scheme(listing.name)?;
        let mut total = bits(&scheme.lb.state()) + bits(&scheme.transport.tracking(IN_FLIGHT));
        if let Some(program) = &scheme.fabric.program {
            total += bits(&program.state());
        }
        all.insert(listing.name.to_owned(), total);
    }
    Ok(all)
}

fn transport_state(transport: &TransportConfig) -> (String, Value) {
    let fields = transport.tracking(IN_FLIGHT);
    let total = bits(&fields);
    let mut text = format!(
        "  in the NIC: {total} bits ({} B) of transport state per queue pair with {IN_FLIGHT} packets in flight\n",
        total.div_ceil(8)
    );
    let mut json = json!({ "packets": IN_FLIGHT, "state_bits": total, "state_bytes": total.div_ceil(8), "state": fields });
    if let Some(tracked) = transport.tracked_messages() {
        let (words, of_messages) = message_state(tracked, &fields);
        text.push_str(&words);
        json["messages"] = of_messages;
    }
    push_fields(&mut text, &fields);
    (text, json)
}

fn message_state(tracked: u32, fields: &[StateField]) -> (String, Value) {
    let of_messages: Vec<StateField> =
        fields.iter().filter(|field| MESSAGE_FIELDS.contains(&field.name)).cloned().collect();
    let (messages, all) = (u64::from(tracked), bits(&of_messages));
    let (one_bytes, all_bytes) = ((all / messages).div_ceil(8), all.div_ceil(8));
    let text = format!("  of these for messages: {messages} x {one_bytes} B, {all_bytes} B\n");
    let json = json!({ "tracked": messages, "bytes": one_bytes, "all_bytes": all_bytes });
    (text, json)
}

/// The number of queue pairs of a NIC to other ToRs, from Themis-spraying, Table 2.
const NIC_QPS: u64 = 512;
/// The number of NICs below a ToR, from Themis-spraying, Table 2.
const TOR_NICS: u64 = 16;

fn program_state(program: &ProgramConfig) -> (String, Value) {
    let fields = program.state();
    let total = bits(&fields);
    let mut text =
        format!("  in a switch: {total} bits ({} B) of program state per queue pair\n", total.div_ceil(8));
    let mut json = json!({ "state_bits": total, "state_bytes": total.div_ceil(8), "state": fields });
    let Some(bytes) = program.tor_bytes(NIC_QPS, TOR_NICS) else {
        push_fields(&mut text, &fields);
        return (text, json);
    };
    for (side, tor, key) in [
        ("S: ", "at the source ToR (Themis-S)", "source_tor_bytes"),
        ("D: ", "at the destination ToR (Themis-D)", "destination_tor_bytes"),
    ] {
        let of_side: Vec<StateField> =
            fields.iter().filter(|field| field.name.starts_with(side)).cloned().collect();
        let side_bytes = bits(&of_side).div_ceil(8);
        text.push_str(&format!("  {tor}: {side_bytes} B\n"));
        push_fields(&mut text, &of_side);
        json[key] = side_bytes.into();
    }
    text.push_str(&format!(
        "  in a ToR of {TOR_NICS} NICs with {NIC_QPS} queue pairs each: {bytes} B ({:.2} MB)\n",
        bytes as f64 / 1e6
    ));
    json["tor"] = json!({ "nics": TOR_NICS, "queue_pairs_per_nic": NIC_QPS, "bytes": bytes });
    (text, json)
}

fn bits(fields: &[StateField]) -> u64 {
    fields.iter().map(|field| u64::from(field.bits) * u64::from(field.count)).sum()
}

fn push_fields(text: &mut String, fields: &[StateField]) {
    for field in fields {
        let bits = u64::from(field.bits) * u64::from(field.count);
        let parts =
            if field.count == 1 { String::new() } else { format!("  ({} x {})", field.count, field.bits) };
        text.push_str(&format!("  {:5} bits  {}{parts}\n", bits, field.name));
    }
}
