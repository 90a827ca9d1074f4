use super::*;
use anabranch_base::{Purpose, stream};

fn scenario(scheme: &str) -> String {
    format!(
        "schemes = [\"{scheme}\"]\ntopology = {{ kind = \"fat-tree\", hosts = 16, hosts_per_tor = 4, link = \"100Gbps\" }}\n"
    )
}

/// What is heard of, and when.
fn all<C: Clone>(online: &mut Online<C>, mut act: impl FnMut(&mut Online<C>, &C)) -> Vec<(u64, C)> {
    let mut heard = Vec::new();
    while let Some(callback) = online.go_on().unwrap() {
        heard.push((online.now().0, callback.clone()));
        act(online, &callback);
    }
    heard
}

/// Each of the first arrivals sets off one more, to a host that others send to as well. What is heard of, and all that
/// was posted, in one simulation.
fn chain(scheme: &str, lookahead: Option<Duration>) -> (Vec<(u64, u32)>, RunPoint) {
    let mut random = stream(7, 0, Purpose::WorkloadPairs);
    let mut online: Online<u32> = Online::new(&scenario(scheme)).unwrap();
    online.lookahead = lookahead.unwrap_or(online.lookahead);
    let mut tag = 0;
    let mut post = |online: &mut Online<u32>, from: u32| {
        let to = (from + 1 + random.next_u32() % 15) % 16;
        let bytes = 1 + u64::from(random.next_u32() % 200_000);
        tag += 1;
        online.send(from, to, bytes, tag, None).unwrap();
        online.receive(from, to, bytes, tag, to).unwrap();
    };
    for from in 0..6 {
        post(&mut online, from);
    }
    let mut left = 18;
    let heard = all(&mut online, |online, host| {
        if left > 0 {
            left -= 1;
            post(online, *host);
        }
    });
    (heard, online.point)
}

#[test]
fn what_is_posted_on_the_way_comes_as_if_it_had_been_known_before() {
    for scheme in ["reps", "rocev2", "dcp", "strack", "eqds", "themis-spraying"] {
        let (heard, point) = chain(scheme, None);
        assert_eq!(heard.len(), 24, "{scheme}");
        let Err(RunError::Limit { partial: whole, .. }) = run(&point, &Control::default()) else {
            panic!("what keeps queue pairs open has ended")
        };
        let ended = whole.flows.iter().filter_map(|row| Some(row.start_ps? + row.delivery_ps?));
        let mut ends: Vec<u64> = ended.collect();
        ends.sort_unstable();
        assert_eq!(heard.iter().map(|(at, _)| *at).collect::<Vec<_>>(), ends, "{scheme}");
        // Simulated anew at each time, it comes out the same.
        assert_eq!(heard, chain(scheme, Some(Duration(1))).0, "{scheme}");
    }
}

#[test]
fn a_past_that_changes_is_found() {
    let mut online: Online<()> = Online::new(&scenario("reps")).unwrap();
    online.send(0, 9, 1000, 0, Some(())).unwrap();
    assert_eq!(online.go_on(), Ok(Some(())));
    online.posted.lock().unwrap().messages[0].2 = 2000;
    online.send(1, 9, 1000, 0, Some(())).unwrap();
    assert!(matches!(online.go_on(), Err(OnlineError::Past { message: 0, .. })));
}

#[test]
fn callbacks_come_in_the_order_of_time_and_receives_may_be_late() {
    let mut online: Online<&str> = Online::new(&scenario("reps")).unwrap();
    online.schedule(Duration::from_ns(500_000), "late");
    online.send(0, 9, 1000, 5, Some("sent")).unwrap();
    let heard = all(&mut online, |online, what| match *what {
        "sent" => online.schedule(Duration::ZERO, "now"),
        "late" => online.receive(0, 9, 1000, 5, "received").unwrap(),
        _ => {}
    });
    let order: Vec<&str> = heard.iter().map(|(_, what)| *what).collect();
    assert_eq!(order, ["sent", "now", "late", "received"]);
    assert_eq!(heard[0].0, heard[1].0);
    assert_eq!([heard[2].0, heard[3].0], [500_000_000; 2]);
}

#[test]
fn what_is_wrong_is_told_with_what_to_do() {
    let of = |text: &str| Online::<()>::new(text).err().unwrap().to_string();
    assert!(of(&(scenario("reps") + "workload = 1\n")).contains("leave it out"));
    assert!(of(&scenario("rep")).contains("write: \"reps\""));
    let two = scenario("reps").replace("[\"reps\"]", "[\"reps\", \"ops\"]");
    assert!(of(&two).contains("2 runs; name one scheme"));
    let mut online: Online<()> = Online::new(&scenario("reps")).unwrap();
    let wrong = |online: &mut Online<()>, from, to, bytes| online.send(from, to, bytes, 0, None).unwrap_err();
    assert_eq!(
        wrong(&mut online, 0, 16, 1).to_string(),
        "send from 0 to 16: the fabric has the hosts 0 to 15"
    );
    assert_eq!(wrong(&mut online, 3, 3, 1).to_string(), "send from 3 to 3: a message goes to another host");
    assert_eq!(wrong(&mut online, 3, 4, 0).to_string(), "send from 3 to 4: a message has a byte at least");
    online.receive(0, 1, 10, 0, ()).unwrap();
    assert!(
        online.go_on().unwrap_err().to_string().contains("host 1 waits for a message of host 0 with tag 0")
    );
    online.send(0, 1, 11, 0, None).unwrap();
    assert!(online.go_on().unwrap_err().to_string().contains("waits for 10 B of host 0"));
}
