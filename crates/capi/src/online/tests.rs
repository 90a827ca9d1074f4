use super::*;
use anabranch_base::{Purpose, Refused, stream};
use anabranch_sim::scenario::{NoFiles, Overrides, Registry, read_with};
use anabranch_sim::workload::Start;
use anabranch_sim::{Control, RunError, run};

fn scenario(scheme: &str) -> String {
    format!(
        "schemes = [\"{scheme}\"]\ntopology = {{ kind = \"fat-tree\", hosts = 16, hosts_per_tor = 4, link = \"100Gbps\" }}\n"
    )
}

fn all<C: Clone>(online: &mut Online<C>, mut act: impl FnMut(&mut Online<C>, &C)) -> Vec<(u64, C)> {
    let mut heard = Vec::new();
    while let Some(callback) = online.advance().unwrap() {
        heard.push((online.now().0, callback.clone()));
        act(online, &callback);
    }
    heard
}

/// A posted message: source, destination, bytes and time.
type Posted = (u32, u32, u64, Time);

/// A callback: the arrival or the acknowledgement of the message with this number, or a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Callback {
    Received(usize),
    Sent(usize),
    Timer,
}

/// Runs a random simulation and returns all its callbacks and posts. Until there are `messages` posts, each callback
/// posts one or two messages between random hosts. Two posts of one callback are at the same instant.
fn chain(scheme: &str, messages: usize) -> (Vec<(u64, Callback)>, Vec<Posted>) {
    let mut random = stream(7, 0, Purpose::WorkloadPairs);
    let mut online: Online<Callback> = Online::new(&scenario(scheme), None).unwrap();
    let mut posted: Vec<Posted> = Vec::new();
    let mut post = |online: &mut Online<Callback>, posted: &mut Vec<Posted>| {
        let from = random.next_u32() % 16;
        let to = (from + 1 + random.next_u32() % 15) % 16;
        let bytes = 1 + u64::from(random.next_u32() % 200_000);
        let number = posted.len();
        posted.push((from, to, bytes, online.now()));
        let is_wanted = random.next_u32().is_multiple_of(2);
        online.send(from, to, bytes, number as u64, is_wanted.then_some(Callback::Sent(number))).unwrap();
        online.receive(from, to, bytes, number as u64, Callback::Received(number)).unwrap();
        if random.next_u32().is_multiple_of(4) {
            online.schedule(Duration::from_ns(u64::from(random.next_u32() % 40_000)), Callback::Timer);
        }
    };
    (0..6).for_each(|_| post(&mut online, &mut posted));
    let heard = all(&mut online, |online, heard| {
        let more = match heard {
            Callback::Received(number) => 1 + number % 2,
            Callback::Sent(_) | Callback::Timer => 1,
        };
        for _ in 0..more.min(messages - posted.len()) {
            post(online, &mut posted);
        }
    });
    (heard, posted)
}

/// The times of arrival and acknowledgement of each message when the same messages are known before the run starts.
/// Each queue pair stays open until the end of the run, because its last message starts after that end.
fn known_before(scheme: &str, posted: &[Posted]) -> Vec<[u64; 2]> {
    let messages = posted.to_vec();
    let registry = Registry::new().workload("all", [], move |workload, _, _, _| -> Result<(), Refused> {
        let mut qps = BTreeMap::new();
        for &(from, to, bytes, at) in &messages {
            let qp = *qps.entry((from, to)).or_insert_with(|| workload.add_qp(HostId(from), HostId(to)));
            workload.add_message(qp, bytes, Start::At(at));
        }
        let never = Time::ZERO + Duration::from_ns(1_000_000_001);
        for qp in qps.into_values() {
            // No other message is longer, so this one keeps all queue pairs of a connection open.
            workload.add_message(qp, 200_000, Start::At(never));
        }
        Ok(())
    });
    let text = scenario(scheme) + "limits = { max_time = \"1s\" }\nworkload = { kind = \"all\" }\n";
    let scenario = read_with(&registry, "s.toml", &text, &NoFiles, &Overrides::default()).unwrap();
    let Err(RunError::Limit { partial, .. }) = run(&scenario.points().unwrap()[0], &Control::default())
    else {
        panic!("what keeps queue pairs open has ended")
    };
    let ends = partial.flows.iter().map(|row| {
        let start = row.start_ps?;
        Some([start + row.delivery_ps?, start + row.fct_ps?])
    });
    ends.map_while(|ends| ends).collect()
}

fn assert_same_as_known_before(scheme: &str) {
    let (heard, posted) = chain(scheme, 60);
    assert_eq!(posted.len(), 60, "{scheme}");
    assert!(posted.windows(2).any(|two| two[0].3 == two[1].3), "{scheme}: nothing was posted at one instant");
    let ends = known_before(scheme, &posted);
    assert_eq!(ends.len(), 60, "{scheme}");
    let received = heard.iter().filter(|(_, what)| matches!(what, Callback::Received(_)));
    assert_eq!(received.count(), 60, "{scheme}");
    for (at, what) in heard {
        match what {
            Callback::Received(number) => assert_eq!(at, ends[number][0], "{scheme}: message {number}"),
            Callback::Sent(number) => assert_eq!(at, ends[number][1], "{scheme}: message {number}"),
            Callback::Timer => {}
        }
    }
}

#[test]
fn what_is_posted_on_the_way_comes_as_if_it_had_been_known_before() {
    // The schemes cover credit from receivers, trimming, pauses, congestion windows that depend on each pair's path,
    // programs in switches, and connections with several queue pairs.
    let schemes = [
        "reps",
        "rocev2",
        "rocev2-4qp",
        "dcp",
        "strack",
        "eqds",
        "hpcc",
        "mp-rdma",
        "themis-spraying",
        "conweave",
    ];
    schemes.into_iter().for_each(assert_same_as_known_before);
}

#[test]
fn a_run_goes_on_after_its_end_and_at_any_time() {
    let at = Time::ZERO + Duration::from_ns(700_000);
    let posted = [(0, 9, 5_000, Time::ZERO), (9, 0, 70_000, at), (0, 9, 90_000, at)];
    let ends = known_before("reps", &posted);
    let mut online: Online<u32> = Online::new(&scenario("reps"), None).unwrap();
    online.send(0, 9, 5_000, 0, None).unwrap();
    assert_eq!(all(&mut online, |_, _| {}), []);
    // The acknowledgement of the last message is the end of the run, even if the message has no callback.
    assert_eq!(online.now().0, ends[0][1]);
    online.schedule(at.since(online.now()), 0);
    assert_eq!(all(&mut online, |_, _| {}), [(at.0, 0)]);
    online.send(9, 0, 70_000, 1, Some(1)).unwrap();
    online.send(0, 9, 90_000, 2, None).unwrap();
    online.receive(0, 9, 90_000, 2, 2).unwrap();
    let mut expected = vec![(ends[1][1], 1), (ends[2][0], 2)];
    expected.sort_unstable();
    assert_eq!(all(&mut online, |_, _| {}), expected);
    // Beyond the time limit no message can be posted, but the time still advances.
    online.schedule(Duration::from_ns(3_600_000_000_000), 3);
    assert_eq!(all(&mut online, |_, _| {}).len(), 1);
    assert!(online.send(0, 1, 1, 3, None).unwrap_err().to_string().contains("a larger max_time"));
}

#[test]
fn a_run_that_fails_says_so_each_time() {
    let down = "fault = [{ kind = \"link-down\", links = \"host-links\", at = \"1us\" }]\n";
    let mut online: Online<()> = Online::new(&(scenario("reps") + down), None).unwrap();
    online.send(0, 9, 10_000_000, 0, None).unwrap();
    let why = online.advance().unwrap_err().to_string();
    assert!(why.contains("flow 0 (host 0 -> host 9, 10000000 B"), "{why}");
    assert_eq!(online.advance().unwrap_err().to_string(), why);
}

#[test]
fn callbacks_come_in_the_order_of_time_and_receives_may_be_late() {
    let mut online: Online<&str> = Online::new(&scenario("reps"), None).unwrap();
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

/// A short message overtakes a long one with the same tag.
#[test]
fn receives_get_messages_in_the_order_of_posting() {
    const LENGTHS: [u64; 2] = [300_000, 100];
    for scheme in ["reps", "strack", "ops", "eqds"] {
        let receive = |online: &mut Online<u64>| {
            LENGTHS.iter().for_each(|&bytes| online.receive(0, 9, bytes, 7, bytes).unwrap());
        };
        let send = |online: &mut Online<u64>| {
            LENGTHS.iter().for_each(|&bytes| online.send(0, 9, bytes, 7, None).unwrap());
        };
        let text = format!(
            "schemes = [\"{scheme}\"]\ntopology = {{ kind = \"fat-tree\", hosts = 16, link = \"400Gbps\" }}\n"
        );
        let new = || Online::new(&text, None).unwrap();
        let (mut before, mut behind, mut late) = (new(), new(), new());
        receive(&mut before);
        send(&mut before);
        send(&mut behind);
        receive(&mut behind);
        send(&mut late);
        late.schedule(Duration::from_ns(1_000_000), 0);
        let heard = all(&mut before, |_, _| {});
        let lengths = |heard: &[(u64, u64)]| heard.iter().map(|heard| heard.1).collect::<Vec<u64>>();
        assert_eq!(lengths(&heard), [100, 300_000], "{scheme}: the short one overtakes");
        assert_eq!(all(&mut behind, |_, _| {}), heard, "{scheme}");
        let heard = all(&mut late, |online, &what| {
            if what == 0 {
                receive(online);
            }
        });
        assert_eq!(lengths(&heard), [0, 300_000, 100], "{scheme}: both are there already");
    }
}

#[test]
fn what_is_wrong_is_told_with_what_to_do() {
    let of = |text: &str| Online::<()>::new(text, None).err().unwrap().to_string();
    assert!(of(&(scenario("reps") + "workload = 1\n")).contains("leave it out"));
    assert!(of(&scenario("rep")).contains("write: \"reps\""));
    let two = scenario("reps").replace("[\"reps\"]", "[\"reps\", \"ops\"]");
    assert!(of(&two).contains("2 runs; name one scheme"));
    let mut online: Online<()> = Online::new(&scenario("reps"), None).unwrap();
    let wrong = |online: &mut Online<()>, from, to, bytes| online.send(from, to, bytes, 0, None).unwrap_err();
    assert_eq!(
        wrong(&mut online, 0, 16, 1).to_string(),
        "send from 0 to 16: the fabric has the hosts 0 to 15"
    );
    assert_eq!(wrong(&mut online, 3, 3, 1).to_string(), "send from 3 to 3: a message goes to another host");
    assert_eq!(wrong(&mut online, 3, 4, 0).to_string(), "send from 3 to 4: a message has a byte at least");
    online.receive(0, 1, 10, 0, ()).unwrap();
    assert!(
        online.advance().unwrap_err().to_string().contains("host 1 waits for a message of host 0 with tag 0")
    );
    // A message or a receive is refused if its length differs from that of its partner, and the partner remains
    // unmatched.
    let why = online.send(0, 1, 11, 0, None).unwrap_err().to_string();
    assert!(why.contains("host 1 waits for 10 B of host 0 with tag 0, and what was sent has 11 B"), "{why}");
    online.send(0, 1, 10, 0, None).unwrap();
    online.send(0, 1, 12, 0, None).unwrap();
    let why = online.receive(0, 1, 11, 0, ()).unwrap_err().to_string();
    assert!(why.contains("host 1 waits for 11 B of host 0 with tag 0, and what was sent has 12 B"), "{why}");
    online.receive(0, 1, 12, 0, ()).unwrap();
    assert_eq!(all(&mut online, |_, ()| {}).len(), 2);
}

/// Simulators of training may give each message its own tag.
#[test]
fn a_tag_takes_memory_only_while_a_partner_is_missing() {
    let mut online: Online<()> = Online::new(&scenario("reps"), None).unwrap();
    for tag in 0..10 {
        online.send(0, 1, 10, tag, None).unwrap();
        online.receive(1, 0, 10, tag, ()).unwrap();
        assert_eq!(online.matches.len(), 2);
        online.receive(0, 1, 10, tag, ()).unwrap();
        online.send(1, 0, 10, tag, None).unwrap();
        assert!(online.matches.is_empty());
    }
    assert_eq!(all(&mut online, |_, ()| {}).len(), 20);
}
