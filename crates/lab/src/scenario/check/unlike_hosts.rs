//! Warnings about loads on fabrics whose hosts have different line rates. On such a fabric, a load is a share of the
//! slowest host's rate.

use crate::scenario::read::source_map::Origin;
use crate::scenario::read::table::fault;
use anabranch_base::{Diagnostic, HostId, Rate};
use anabranch_fabric::Topology;
use anabranch_workload::{Fabric, MOST_LOAD, WorkloadSpec};

#[derive(Default)]
pub(in crate::scenario) struct UnlikeHosts(Option<UnevenLoad>);

struct UnevenLoad {
    load: f64,
    slowest: Rate,
    fastest: Rate,
}

impl UnlikeHosts {
    pub(in crate::scenario) fn look(&mut self, spec: &WorkloadSpec, on: &Topology) {
        let WorkloadSpec::Poisson { load, .. } = spec else { return };
        let slowest = Fabric::of(on).host_rate;
        let rates = (0..on.hosts).map(|host| on.host_rate(HostId(host)));
        let fastest = rates.max().unwrap_or(slowest);
        if slowest < fastest {
            self.0.get_or_insert(UnevenLoad { load: *load, slowest, fastest });
        }
    }

    pub(in crate::scenario) fn warnings(self, origin: &Origin) -> Vec<Diagnostic> {
        let warning = |UnevenLoad { load, slowest, fastest }: UnevenLoad| {
            // The rounding removes digits that exist only because of the binary representation.
            let short = |number: f64| (number * 1e6).round() / 1e6;
            let times = fastest.0 as f64 / slowest.0 as f64;
            let message = format!(
                "load = {load} is a share of the line rate of the slowest host, {slowest}, and every host offers as much: of \
                 {fastest}, which others have, it is {}",
                short(load / times)
            );
            let of_fastest = short(load * times);
            let more = match of_fastest <= MOST_LOAD {
                true => format!("load = {of_fastest} for as large a share of {fastest}"),
                false => format!(
                    "a load for {slowest}: as large a share of {fastest} is more than these hosts can send"
                ),
            };
            let help = format!(
                "{more}; where load = {load} is meant nothing is wrong, and this stays as a note on it"
            );
            fault(&origin.file, origin.place("workload.load"), message, Some(help.into()))
        };
        self.0.map(warning).into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::scenario::expand::scenario::read;
    use crate::scenario::input::{Files, Overrides};

    /// Three hosts at one switch. The field is the rate of the third host.
    struct Graph(&'static str);

    impl Files for Graph {
        fn read(&self, name: &str) -> Result<String, String> {
            match name {
                "g.txt" => {
                    Ok(format!("4 1 3\n3\n0 3 100Gbps 1us 0\n1 3 100Gbps 1us 0\n2 3 {} 1us 0\n", self.0))
                }
                _ => Err("no such file".to_owned()),
            }
        }
        fn read_bytes(&self, name: &str) -> Result<Vec<u8>, String> {
            self.read(name).map(String::into_bytes)
        }
    }

    fn warnings(third: &'static str, workload: &str) -> Vec<String> {
        let text = format!(
            "schemes = [\"rocev2\"]\nseeds = [1]\n[topology]\nkind = \"graph\"\nfile = \"g.txt\"\n[workload]\n{workload}\n"
        );
        let scenario = read("s.toml", &text, &Graph(third), &Overrides::default()).unwrap();
        scenario.check().unwrap().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_load_says_whose_rate_it_is_a_share_of() {
        let poisson = |load: &str| {
            format!("kind = \"poisson\"\nsizes = \"websearch\"\nduration = \"100ms\"\nload = {load}")
        };
        assert_eq!(
            warnings("400Gbps", &poisson("0.6")),
            [
                "s.toml:10:1: load = 0.6 is a share of the line rate of the slowest host, 100Gbps, and every host offers as much: \
              of 400Gbps, which others have, it is 0.15\n  write: a load for 100Gbps: as large a share of 400Gbps is \
              more than these hosts can send; where load = 0.6 is meant nothing is wrong, and this stays as a note on it"
            ]
        );
        let said = warnings("400Gbps", &poisson("0.3"));
        let advice = "\n  write: load = 1.2 for as large a share of 400Gbps; where load = 0.3 is meant nothing is wrong, and";
        assert!(said[0].contains(advice), "{said:?}");
        assert_eq!(warnings("100Gbps", &poisson("0.6")), Vec::<String>::new());
        assert_eq!(warnings("400Gbps", "kind = \"permutation\"\nbytes = \"1MB\""), Vec::<String>::new());
    }
}
