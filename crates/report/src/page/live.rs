//! The section of runs on real packets: the live numbers beside the simulated ones.

use super::markup::prose;
use crate::live::{dilations, live_checks, live_differences, live_invalid};
use anabranch_results::ResultSet;

/// The section of the page. Empty if the runs were simulated.
pub(super) fn section(set: &ResultSet) -> String {
    let Some(dilations) = dilations(set) else { return String::new() };
    let cells = |row: &[String], cell: &str| -> String {
        row.iter().map(|text| format!("<{cell}>{}</{}>", prose(text), &cell[..2])).collect()
    };
    let table = live_differences(set);
    let head = cells(&table[0], "th scope=\"col\"");
    let rows = table[1..]
        .iter()
        .map(|row| format!("<tr><th scope=\"row\">{}</th>{}</tr>", prose(&row[0]), cells(&row[1..], "td")));
    let invalid: String =
        live_invalid(set).iter().map(|line| format!("<p><strong>{}</strong></p>", prose(line))).collect();
    let checks: String =
        live_checks(set).iter().map(|line| format!("<p class=\"note\">{}</p>", prose(line))).collect();
    format!(
        "<section><h2>Beside the simulation</h2><p>{} Each cell: live / simulated.</p>{invalid}\
         <div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Live and simulated\"><table class=\"numbers\">\
         <thead><tr>{head}</tr></thead><tbody>{}</tbody></table></div>{checks}</section>\n",
        prose(&dilations),
        rows.collect::<String>()
    )
}

#[cfg(test)]
mod tests {
    use crate::live::tests::on_real_packets;
    use crate::page::{Provenance, html};
    use crate::samples::two_schemes;

    #[test]
    fn the_page_says_that_packets_were_real() {
        let page = html(&on_real_packets(), &Provenance::default());
        for part in [
            "<span class=\"chip\">real packets</span>",
            "On real packets, 100000 times slower.",
            "<th scope=\"col\">mean FCT</th>",
            "us (-50.0 %)</td>",
            "<strong>INVALID: ",
        ] {
            assert!(page.contains(part), "{part}");
        }
        let simulated = html(&two_schemes(), &Provenance::default());
        assert!(!simulated.contains("eal packets") && !simulated.contains("Beside the simulation"));
    }
}
