//! Load balancers written in Python. They are for learning. For large fabrics they are too slow, because each call
//! takes the interpreter's lock.

use anabranch_sim::proto::lb::LoadBalancer;
use anabranch_sim::scenario::Registry;
use anabranch_sim::{Duration, Parameter, Time};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// A registry with the load balancer `class` under `name`. The attribute `parameters` of the class is optional. It
/// has the names and defaults of the parameters that a scenario may set, all of which are numbers.
pub fn registered(registry: Registry, name: String, class: &Bound<'_, PyAny>) -> PyResult<Registry> {
    let declared: Vec<(String, f64)> = match class.getattr_opt("parameters")? {
        Some(parameters) => {
            parameters.extract::<std::collections::BTreeMap<String, f64>>()?.into_iter().collect()
        }
        None => Vec::new(),
    };
    let parameters: Vec<Parameter> = declared
        .iter()
        .map(|(parameter, default)| {
            Parameter::new(parameter.clone(), *default, format!("of {name}, in Python"))
        })
        .collect();
    let class = class.clone().unbind();
    Ok(registry.load_balancer(name, parameters, move |_, set, mut random| {
        let made = Python::attach(|py| {
            let values = PyDict::new(py);
            for (parameter, _) in &declared {
                values.set_item(parameter, set.get::<f64>(parameter))?;
            }
            values.set_item("seed", random.next_u32())?;
            class.call(py, (), Some(&values))
        });
        Box::new(InPython(returned(made)))
    }))
}

/// The value that Python returned. An exception ends the run with an error that names the component.
fn returned<T>(answer: PyResult<T>) -> T {
    answer.unwrap_or_else(|error| panic!("{error}"))
}

struct InPython(Py<PyAny>);

fn micros(ps: u64) -> f64 {
    ps as f64 / 1e6
}

impl LoadBalancer for InPython {
    fn next_ev(&mut self, now: Time, window: u64) -> u16 {
        Python::attach(|py| {
            let ev = self.0.call_method1(py, "next_ev", (micros(now.0), window));
            returned(ev.and_then(|ev| ev.extract::<u16>(py)))
        })
    }

    fn handle_ack(&mut self, now: Time, ev: u16, marked: bool, rtt: Duration) {
        Python::attach(|py| {
            returned(self.0.call_method1(py, "handle_ack", (micros(now.0), ev, marked, micros(rtt.0))));
        });
    }

    fn handle_timeout(&mut self, now: Time, _ev: Option<u16>) {
        Python::attach(|py| {
            returned(self.0.call_method1(py, "handle_timeout", (micros(now.0),)));
        });
    }
}
