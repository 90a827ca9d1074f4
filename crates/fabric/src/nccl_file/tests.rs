use super::*;
use proptest::prelude::*;

const SERVER: &str = r#"<system version="1">
  <cpu numaid="0">
    <pci busid="0000:01:00.0" class="0x060400">
      <pci busid="0000:02:00.0" class="0x020000">
        <nic>
          <net name="mlx5_1" dev="1" speed="200000" port="1"/>
        </nic>
      </pci>
      <pci busid="0000:03:00.0" class="0x030200">
        <gpu dev="0" sm="90" rank="0">
          <nvlink target="0000:f5:00.0" count="10" tclass="0x068000"/>
          <nvlink target="0000:f4:00.0" count="8" tclass="0x068000"/>
        </gpu>
      </pci>
    </pci>
    <pci busid="0000:04:00.0" class="0x060400">
      <pci busid="0000:05:00.0" class="0x020000">
        <nic>
          <net name="mlx5_0" dev="0" speed="200000" port="1"/>
        </nic>
      </pci>
      <pci busid="0000:06:00.0" class="0x030200">
        <gpu dev="1" sm="90" rank="1">
          <nvlink target="0000:f5:00.0" count="18" tclass="0x068000"/>
        </gpu>
      </pci>
    </pci>
  </cpu>
</system>
"#;

fn error(from: &str, to: &str) -> String {
    assert!(SERVER.contains(from), "{from}");
    parse_nccl("s.xml", &SERVER.replacen(from, to, 1)).unwrap_err().to_string()
}

#[test]
fn gpus_use_the_nics_on_their_pci_switch() {
    let server = parse_nccl("s.xml", SERVER).unwrap();
    assert_eq!((server.gpus, server.nics, server.ports, server.link), (2, 2, 1, Rate::from_gbps(200)));
    assert_eq!(server.gpu_nics, [1, 0], "NICs are numbered by dev");
    // Each GPU has 18 links of 20.6 GB/s.
    assert_eq!(server.nvlink, Some(Rate(2_966_400_000_000)));
}

#[test]
fn ports_of_a_nic_are_in_planes() {
    let second = r#"<net name="mlx5_2" dev="2" speed="200000" port="2"/></nic>"#;
    let two = SERVER.replace("</nic>", second).replacen("dev=\"2\"", "dev=\"3\"", 1);
    let server = parse_nccl("s.xml", &two).unwrap();
    assert_eq!((server.nics, server.ports, server.gpu_nics), (2, 2, vec![1, 0]));
    // Ports of one rail belong to one NIC, wherever they are in the file.
    let railed = SERVER.replacen("dev=\"1\" speed", "dev=\"1\" rail=\"0\" plane=\"1\" speed", 1).replacen(
        "dev=\"0\" speed",
        "dev=\"0\" rail=\"0\" plane=\"0\" speed",
        1,
    );
    let server = parse_nccl("s.xml", &railed).unwrap();
    assert_eq!((server.nics, server.ports, server.gpu_nics), (1, 2, vec![0, 0]));
    let twice = railed.replacen("plane=\"1\"", "plane=\"0\"", 1);
    let error = parse_nccl("s.xml", &twice).unwrap_err().to_string();
    assert_eq!(error, "s.xml:19: another port of this NIC is in plane 0 too");
}

#[test]
fn gpus_that_are_equally_near_take_nics_in_turn() {
    let mut text = "<system><cpu>".to_owned();
    for dev in 0..4 {
        text += &format!("<pci><gpu dev=\"{dev}\" sm=\"80\"/></pci>");
    }
    for dev in 0..2 {
        text += &format!("<pci><nic><net dev=\"{dev}\" speed=\"100000\"/></nic></pci>");
    }
    let server = parse_nccl("s.xml", &(text + "</cpu></system>")).unwrap();
    assert_eq!((server.gpu_nics, server.nvlink), (vec![0, 1, 0, 1], None));
}

#[test]
fn mistakes_are_answered_with_their_line() {
    for (from, to, expected) in [
        ("speed=\"200000\"", "speed=\"fast\"", "s.xml:6: speed is a whole number, not \"fast\""),
        ("speed=\"200000\"", "", "s.xml:6: speed of this net is missing"),
        (
            "speed=\"200000\"",
            "speed=\"100000\"",
            "s.xml:6: this port has 100000 Mb/s, and that of line 19 200000; ports must have equal rates above 0",
        ),
        ("gpu dev=\"1\"", "gpu dev=\"0\"", "s.xml:23: GPU 0 is there for the second time"),
        (
            "count=\"18\"",
            "count=\"12\"",
            "s.xml:23: the NVLinks of this GPU carry 1977600 Mb/s, and those of the GPU of line 10 2966400; GPUs of a server \
             must be equal",
        ),
        (
            "count=\"10\" tclass=\"0x068000\"",
            "count=\"10\" tclass=\"0x030200\"",
            "s.xml:11: this NVLink leads to another GPU, and NVLinks are simulated through NVSwitches alone, between which \
             every GPU reaches every other at its full rate; write: gpus, nics and link into [topology] in place of server",
        ),
        (
            "<system version",
            "<server version",
            "s.xml:29: this is no XML: expected 'server' tag, not 'system' at 29:1",
        ),
    ] {
        assert_eq!(error(from, to), expected);
    }
}

#[test]
fn hints_and_graphs_are_refused_by_name() {
    let hint = "<system version=\"1\">\n<cpu numaid=\"0\"><pci busid=\"ffff:ff:01.0\" class=\"0x060400\"/></cpu></system>";
    assert_eq!(
        parse_nccl("h.xml", hint).unwrap_err().to_string(),
        "h.xml:1: this is a hint for NCCL (NCCL_TOPO_FILE), with neither gpu nor nic elements, which NCCL adds when it runs; \
         write: the file that NCCL_TOPO_DUMP_FILE=server.xml makes there in its place, or gpus, nics and link without server"
    );
    let graph = parse_nccl("g.xml", "<graphs version=\"1\"/>").unwrap_err().to_string();
    assert!(graph.starts_with("g.xml:1: this is a graph of NCCL (NCCL_GRAPH_DUMP_FILE)"), "{graph}");
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "\\PC*") {
        let _ = parse_nccl("s.xml", &text);
        let _ = parse_nccl("s.xml", &format!("<system>{text}</system>"));
    }
}
