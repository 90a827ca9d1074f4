"""The methods that build a scenario. Their types list all kinds, keys and values, so type checkers and editors reject others.

This file is generated from the declarations of keys and parameters: `python3 python/tools/builders.py` renews it.

If a call leaves out a value, the scenario has the default. If the kind is a variable, set the table instead, such as
`scenario["topology"] = {...}`. Its keys are checked when the scenario is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict, TypeVar, Union, overload

#: A size in quotes, with its unit: `"8MiB"`, `"100KB"`. A size of a scheme may also be in `bdp` or `packets`, and a threshold
#: in `queue`.
Size = str
#: A time in quotes, with its unit: `"20us"`. A time of a scheme may also be in `rtt`, or in full queues: `"2rtt+5queue"`.
Time = str
#: A rate in quotes, with its unit: `"400Gbps"`. A rate of a scheme may also be in `line`, the rate of a host's link.
Rate = str
#: The path of a file, relative to the scenario's folder, or to the working directory if the scenario is a dict.
File = str

#: The algorithms of collectives.
Algorithm = Literal[
    "allreduce-ring",
    "allreduce-double-binary-tree",
    "allreduce-halving-doubling",
    "allreduce-recursive-doubling",
    "allreduce-hierarchical",
    "allreduce-nccl",
    "allgather-ring",
    "reducescatter-ring",
    "broadcast-ring",
    "alltoall",
    "sendrecv",
]
#: The ways to place ranks on hosts.
Placement = Literal[
    "random",
    "blocks",
    "spread",
    "servers",
    "rails",
    "nvlink-domains",
]
#: The schemes that come with the package.
Base = Literal[
    "adaptive-roce",
    "annulus",
    "bicc",
    "bitmap",
    "conweave",
    "dcp",
    "dcp-dcqcn",
    "dcqcn",
    "ecmp",
    "eqds",
    "flowlet",
    "hpcc",
    "irn-ar",
    "irn-ar-dcqcn",
    "irn-ecmp",
    "irn-ecmp-dcqcn",
    "mp-rdma",
    "mprdma-lb",
    "mptcp",
    "mptcp-one-window",
    "mrc",
    "mrc-1plane",
    "mrc-no-trim",
    "ops",
    "pfc-ecmp",
    "pfc-ecmp-dcqcn",
    "plb",
    "pnp-only",
    "rack-tlp",
    "reps",
    "reps-carry",
    "reps-reuse",
    "rocev2",
    "rocev2-4qp",
    "sr-ar",
    "sr-ecmp",
    "sr-spray",
    "strack",
    "strack-ops",
    "themis-longhaul",
    "themis-spraying",
    "timeout",
    "to-ar",
    "trp-only",
    "uet-both",
    "uet-nscc",
    "uet-nscc-bitmap",
    "uet-nscc-oblivious",
    "uet-nscc-reps",
    "uet-rccc",
]
#: The paths of the parameters of schemes.
Parameter = Literal[
    "qps",
    "mix.every",
    "transport.payload",
    "transport.header",
    "transport.ack",
    "transport.ack_every",
    "transport.carry_evs",
    "transport.rto",
    "transport.inherits",
    "transport.nack_interval",
    "transport.cnp_interval",
    "transport.trailing_cnp",
    "transport.window_packets",
    "transport.hears_nacks",
    "transport.retransmission_block",
    "transport.window",
    "transport.rto_low",
    "transport.rto_low_packets",
    "transport.timeout_takes_all",
    "transport.sack_takes_all",
    "transport.reo_wnd",
    "transport.sack_bytes",
    "transport.min_threshold",
    "transport.probe_after",
    "transport.probe_rtt",
    "transport.probe_takes_all",
    "transport.counter_bits",
    "transport.tracked_messages",
    "transport.round_quota",
    "transport.batch",
    "transport.pcie",
    "transport.trims_as_marks",
    "transport.pull_window",
    "transport.pull_rate",
    "transport.delta",
    "transport.bitmap",
    "transport.restart_after",
    "transport.control",
    "transport.received_unit",
    "transport.mpr",
    "transport.rto_doublings",
    "transport.loss_packets",
    "transport.loss_windows",
    "transport.credit.window",
    "transport.credit.rate",
    "transport.credit.grant",
    "transport.credit.follows_fabric",
    "transport.credit.least_share",
    "transport.request",
    "transport.rto_linear",
    "transport.loss_by_path",
    "cc.initial_window",
    "cc.max_window",
    "cc.decrease",
    "cc.loss_decrease",
    "cc.g",
    "cc.initial_alpha",
    "cc.alpha_timer",
    "cc.increase_timer",
    "cc.byte_counter",
    "cc.fast_recovery",
    "cc.rate_ai",
    "cc.rate_hai",
    "cc.min_rate",
    "cc.decrease_interval",
    "cc.window",
    "cc.on_nack",
    "cc.alpha_decay",
    "cc.increases",
    "cc.eta",
    "cc.max_stage",
    "cc.base_rtt",
    "cc.target_qdelay",
    "cc.target_qhigh",
    "cc.ewma",
    "cc.beta",
    "cc.alpha",
    "cc.gamma",
    "cc.max_decrease",
    "cc.target",
    "cc.fi",
    "cc.fi_scale",
    "cc.qa_gate",
    "cc.qa_threshold",
    "cc.average",
    "cc.zero_delay",
    "cc.last_hop_trims",
    "cc.rules",
    "lb.evs",
    "lb.buffer",
    "lb.freezing",
    "lb.freezing_timeout",
    "lb.after_freezing",
    "lb.freezing_ends",
    "lb.explore_packets",
    "lb.failure_rtt",
    "lb.reuse",
    "lb.reuse_order",
    "lb.freeze_at",
    "lb.max_paths",
    "lb.min_paths",
    "lb.paths",
    "lb.probe",
    "lb.probe_interval",
    "lb.threshold",
    "lb.rounds",
    "lb.gap",
    "lb.since",
    "lb.ecn_penalty",
    "lb.trim_penalty",
    "lb.timeout_penalty",
    "lb.max_penalty",
    "lb.remembered",
    "lb.skip_limit",
    "lb.decay",
    "lb.active",
    "lb.min_active",
    "lb.probe_successes",
    "fabric.program.paths",
    "fabric.program.window",
    "fabric.program.confirmation",
    "fabric.program.lazy_drop",
    "fabric.program.reroute",
    "fabric.program.failure_handling",
    "fabric.program.ooo_threshold",
    "fabric.program.avoidance_window",
    "fabric.program.reply_extra",
    "fabric.program.path_pause",
    "fabric.program.flush_extra",
    "fabric.program.default_wait",
    "fabric.program.expiry",
    "fabric.program.pnp.cnp_interval",
    "fabric.program.pnp.clear_marks",
    "fabric.program.pnp.monitor",
    "fabric.program.pnp.expire",
    "fabric.program.pnp.setup",
    "fabric.program.pnp.daemon_delay",
    "fabric.program.pnp.install_delay",
    "fabric.program.pnp.both_ends",
    "fabric.program.pnp.entries",
    "fabric.program.trp.alpha",
    "fabric.program.trp.beta",
    "fabric.program.trp.growth",
    "fabric.program.trp.recovery",
    "fabric.program.trp.cache",
    "fabric.program.trp.cache_slots",
    "fabric.program.trp.cache_fingerprint",
    "fabric.program.trp.cache_expiry",
    "fabric.program.trp.cache_reset_own",
    "fabric.program.trp.store",
    "fabric.program.trp.store_entries",
    "fabric.program.trp.install_delay",
    "fabric.program.trp.rate",
    "fabric.program.trp.latency",
    "fabric.program.trp.ecn",
    "fabric.program.trp.ecn_kmin",
    "fabric.program.trp.ecn_kmax",
    "fabric.program.trp.ecn_pmax",
    "fabric.program.trp.dummies",
    "fabric.program.trp.dummy_bytes",
    "fabric.program.gap",
    "fabric.program.share",
    "fabric.program.cnp_interval",
    "fabric.program.clear_marks",
    "fabric.program.inter_only",
    "fabric.program.release",
    "fabric.program.scope",
    "fabric.program.ecn",
    "fabric.program.ecn_kmin",
    "fabric.program.ecn_kmax",
    "fabric.program.ecn_pmax",
    "fabric.queue",
    "fabric.shared_buffer",
    "fabric.last_hop_queue",
    "fabric.shared_alpha",
    "fabric.full_queue",
    "fabric.control_queue",
    "fabric.ecn_kmin",
    "fabric.ecn_kmax",
    "fabric.ecn_pmax",
    "fabric.last_hop_ecn",
    "fabric.queues_follow_rate",
    "fabric.trim",
    "fabric.wrr.radix",
    "fabric.wrr.weight",
    "fabric.acks_with_data",
    "fabric.routing_delay",
    "fabric.routing",
    "fabric.port_choice",
    "fabric.port_failover",
    "fabric.arrival_order",
    "fabric.nic_jitter",
    "fabric.timer_tick",
    "fabric.timer_jitter",
    "fabric.clock_ppm",
    "fabric.pfc.buffer",
    "fabric.pfc.headroom_apart",
    "fabric.pfc.buffer_rate",
    "fabric.pfc.alpha",
    "fabric.pfc.threshold",
    "fabric.pfc.resume",
    "fabric.pfc.headroom",
    "fabric.pfc.watchdog",
    "fabric.pfc.watchdog_poll",
    "fabric.pfc.watchdog_detection",
    "fabric.pfc.watchdog_restoration",
    "fabric.program_at",
]

class OwnBalancer(dict[str, Any]):
    """The table of a load balancer that the user wrote: its name in `balancers`, and its parameters.

    >>> OwnBalancer("sticky", patience=8)
    {'kind': 'sticky', 'patience': 8}
    """

    def __init__(self, kind: str, **parameters: float) -> None:
        super().__init__(kind=kind, **parameters)


class Tier(TypedDict, total=False):
    """A tier of a fat tree, as its differences from the other keys.

    link: Rate of the links below this tier. (a rate above 0; default: that of the fabric)
    link_latency: Propagation delay of a link below this tier. (a time; default: that of the fabric)
    switch_latency: Latency of a switch of this tier, without queueing. (a time; default: that of the fabric)
    radix_down: Number of downward ports of a switch. (a number, 1 or more; default: by the keys of the fabric)
    radix_up: Number of upward ports of a switch. (a number, 0 or more; default: by the keys of the fabric)
    bundle: Number of parallel links to the same switch. (a number, 1 or more; default: `1`)
    """

    link: Rate
    link_latency: Time
    switch_latency: Time
    radix_down: int
    radix_up: int
    bundle: int


class Incasts(TypedDict):
    """Incasts in addition to messages that arrive at random.

    degree: Number of hosts that send at the same time. (a number, 1 to all but one; needed)
    bytes: Length of each message. (a size above 0; needed)
    load: Offered load of this part, in addition to the background's. (a number above 0; needed)
    """

    degree: int
    bytes: Size
    load: float


class _PipelineNeeded(TypedDict):
    bytes: Size
    load: float


class Pipeline(_PipelineNeeded, total=False):
    """Messages from each host to that of the same place in the next data centre.

    bytes: Length of each message. (a size above 0; needed)
    load: Offered load of this part, in addition to the background's. (a number above 0; needed)
    persistent: Whether a stage sends all its messages on one queue pair. Otherwise each message has its own queue
        pair. (`true` or `false`; default: `false`)
    """

    persistent: bool


_MessageNeeded = TypedDict("_MessageNeeded", {"from": int, "to": int, "bytes": Size})


class Message(_MessageNeeded, total=False):
    """A message.

    from: The host that sends. (a host's number; needed)
    to: The host that receives. (a host's number; needed)
    bytes: Length of the message. (a size above 0; needed)
    start: Time at which the message is posted. (a time; default: `"0us"`)
    """

    start: Time


class _JobNeeded(TypedDict):
    format: Literal["goal", "msccl", "mscclpp", "simai", "chakra"]
    file: File


class Job(_JobNeeded, total=False):
    """A job, with the keys of `kind = "trace"`. Jobs take hosts in their order, of those that earlier ones leave.

    format: The format of the file. (`goal`, `msccl`, `mscclpp`, `simai` or `chakra`; needed)
    file: The name of the file. For `chakra`, the name `x` stands for `x.0.et`, `x.1.et` and so on. (a file's name,
        from the scenario's folder; needed)
    placement: Where the ranks are, a rank a host: in host order, or at random. (`random`, `blocks`, `spread`,
        `servers`, `rails` or `nvlink-domains`; default: `"blocks"`)
    rank_hosts: The host of each rank, in the order of the ranks. (numbers of hosts, or a file with one per line;
        default: as `placement` says)
    ends: The event that ends a send, after which its successors may begin. (`posted` or `acknowledged`; default:
        `acknowledged`; of `msccl` and `mscclpp`, `posted`)
    bytes: For `msccl` and `mscclpp`: size of the buffer, or of the input buffer, of each rank. (a size above 0;
        default: required for these formats)
    chunk: For `simai` and `chakra`: largest length of a message. (a size above 0; default: 128KB, where it may be)
    without_pipeline: For `simai`: whether the messages between pipeline stages are left out. The file does not give
        their times. (`true` or `false`; default: `false`)
    layers: For `simai`: the first and the last layer of the file that are simulated. (two numbers, from 1; default:
        all)
    ranks: For `simai`: number of ranks that are simulated, the first ones of the file: those of whole pipeline
        stages, or of one stage with fewer data-parallel ranks. By default, the number of ranks that the file gives,
        or else all hosts. (a number, 1 or more; default: all)
    rank_order: For `simai`: the order of the parallel groups, from neighbouring ranks to the largest stride. SimAI
        itself uses `tp-pp-dp`. (`tp-dp-pp` or `tp-pp-dp`; default: `"tp-dp-pp"`)
    comm_groups: For `chakra`: the file with the groups of ranks, in ASTRA-sim's format. (a file's name, from the
        scenario's folder; default: collectives of all ranks alone)
    system: For `chakra`: ASTRA-sim's system file. It determines how collectives of all ranks are divided over the
        dimensions of the network. (a file's name, from the scenario's folder; default: rings of all ranks)
    dims: For `chakra`: number of ranks of each dimension for `system`. The dimension that varies fastest comes first.
        (a list of numbers, or a file of ASTRA-sim's logical dimensions; default: those of the topology, if it is a
        network of ASTRA-sim; otherwise one)
    replicate: For `chakra`: number of ranks that all execute the file of rank 0, if the trace has only that file. (a
        number, 2 or more; default: each rank has a file)
    without_missing: For `chakra`: whether a node that is missing in the trace counts as finished for the nodes that
        depend on it. (`true` or `false`; default: `false`)
    without_control: For `chakra`: whether nodes wait only for their data dependencies, as in Chakra's first feeder,
        and not for their control dependencies. (`true` or `false`; default: `false`)
    streams: For `chakra`: whether a GPU computes one node at a time, as in ASTRA-sim, or one node per stream (`tid`).
        (`one` or `each`; default: `"one"`)
    server: `[workload.server]`: ranks of one server reach each other over NVLink. (default: every message crosses the
        network)
    algorithm: `[[workload.algorithm]]`, of `simai` and `chakra`: how collectives of a size are done. (default: rings)
    start: When it begins. (a time; default: `"0us"`)
    """

    placement: Placement
    rank_hosts: Sequence[int] | File
    ends: Literal["posted", "acknowledged"]
    bytes: Size
    chunk: Size
    without_pipeline: bool
    layers: Sequence[int]
    ranks: int
    rank_order: Literal["tp-dp-pp", "tp-pp-dp"]
    comm_groups: File
    system: File
    dims: Sequence[int] | File
    replicate: int
    without_missing: bool
    without_control: bool
    streams: Literal["one", "each"]
    server: Server
    algorithm: Sequence[TraceAlgorithm]
    start: Time


class Server(TypedDict, total=False):
    """NVLink within servers: those of the topology, whose GPUs are then the ranks, or servers of some ranks each.
    Transfers over NVLink are no packets of the network: they take the pipe of the sending GPU and that of the
    receiving one, one after the other, and then the latency.

    ranks: Number of ranks of each server, in the order of the ranks. Each rank is on a separate host. (a number, 2 or
        more; default: the GPUs of the topology's servers)
    link: Rate of each GPU's NVLink, per direction. (a rate above 0; default: `nvlink` of the topology; required with
        `ranks`)
    link_latency: From the end of sending to the arrival. (a time; default: `nvlink_latency` of the topology; 50 ns if
        it has none, and with `ranks`)
    pxn: Whether data for a NIC of another rail is first sent over NVLink to the GPU of the same server whose NIC has
        that rail. (`true` or `false`; default: true; with `ranks`, false)
    channels: Number of rings or trees of a collective. Each of them leaves servers on a separate rail. (a number, 1
        to 64; default: one for each NIC of an NVLink domain, at most 64; with `ranks`, collectives know nothing of
        servers)
    nvls: Whether the NVLink switch reduces and multicasts in an `allreduce-hierarchical`, so that each GPU sends its
        data only once. (`true` or `false`; default: `false`)
    """

    ranks: int
    link: Rate
    link_latency: Time
    pxn: bool
    channels: Literal[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63, 64]
    nvls: bool


class _TraceAlgorithmNeeded(TypedDict):
    algorithm: Algorithm


class TraceAlgorithm(_TraceAlgorithmNeeded, total=False):
    """How the collectives of a trace are done, from a size on. Of several for one collective, the largest `min_bytes`
    that is not above its size counts.

    algorithm: The algorithm, which also determines the collective. (`allreduce-ring`, `allreduce-double-binary-tree`
        and others; needed)
    min_bytes: The size of a collective, as in the trace, from which on the algorithm is used. (a size; default:
        `"0B"`)
    """

    min_bytes: Size


class _TransportSackNeeded(TypedDict):
    kind: Literal["sack"]
    payload: Size
    header: Size
    ack: Size
    ack_every: int
    rto: Time


class TransportSack(_TransportSackNeeded, total=False):
    """Out-of-order delivery with selective acknowledgement and retransmission.

    kind: The kind of this part. (needed)
    payload: Number of bytes of payload in a full packet. (bytes, 1B to 65535B; needed)
    header: Size of the headers of a data packet, which is also the size of a trimmed packet. (bytes, 1B to 65534B;
        needed)
    ack: Size of an ACK or NACK. (bytes, 1B to 65535B; needed)
    ack_every: Number of packets per ACK. A packet that completes a message, requests an ACK, is marked or is a
        duplicate is acknowledged in any case. (count, 1 to 65535; needed)
    carry_evs: Whether a coalesced ACK echoes the entropy value of every unmarked packet that it acknowledges (REPS,
        "ACK+Carry EVs"). Each value after the first takes 2 B. One ACK then covers at most 48 PSNs. (flag; default:
        `false`)
    rto: Retransmission timeout of each packet. (time, rtt or rtt+queue, above 0; needed)
    inherits: State that a new connection takes over from the last finished connection between the same two hosts.
        With `nothing`, it takes over no state. With `window`, it takes over the congestion window. With
        `window-and-entropies`, it takes over the congestion window and the cached entropies of REPS. (choice,
        nothing, window, window-and-entropies; default: `"nothing"`)
    """

    carry_evs: bool
    inherits: Literal["nothing", "window", "window-and-entropies"]


class _TransportGoBackNNeeded(TypedDict):
    kind: Literal["go-back-n"]
    payload: Size
    header: Size
    ack: Size
    ack_every: int
    nack_interval: Time
    cnp_interval: Time
    rto: Time


class TransportGoBackN(_TransportGoBackNNeeded, total=False):
    """In-order delivery as in RoCEv2 NICs, with go-back-N recovery.

    kind: The kind of this part. (needed)
    payload: Number of bytes of payload in a full packet. (bytes, 1B to 65535B; needed)
    header: Size of the headers of a data packet. (bytes, 1B to 65534B; needed)
    ack: Size of an ACK, NACK or CNP. (bytes, 1B to 65535B; needed)
    ack_every: Number of in-order packets per ACK. A duplicate is acknowledged in any case. An in-order packet is
        acknowledged in any case if it is the last packet of a message, if it requests an ACK, or if it is marked and
        `cnp_interval` is 0. (count, 1 to 65535; needed)
    nack_interval: Minimum time between two NACKs for the same ePSN. An out-of-order packet that arrives after this
        time causes another NACK. (time, rtt or rtt+queue, above 0; needed)
    cnp_interval: Least time between two CNPs for a queue pair. With 0, there are no CNPs: a marked packet that
        arrives in order is acknowledged immediately, and the ACK echoes the mark. (time, rtt or rtt+queue; needed)
    trailing_cnp: Whether a mark that arrives less than `cnp_interval` after a CNP causes a CNP later. If so, the
        first packet after the interval, marked or not, causes it. (flag; default: `false`)
    rto: Retransmission timeout. If no new acknowledgement arrives for this time, the sender restarts at the lowest
        unacknowledged packet (go-back-N). (time, rtt or rtt+queue, above 0; needed)
    """

    trailing_cnp: bool


class TransportRnicSr(TypedDict):
    """Selective repeat as in commodity RDMA NICs (Themis-spraying, section 2.3).

    kind: The kind of this part. (needed)
    payload: Number of bytes of payload in a full packet. (bytes, 1B to 65535B; needed)
    header: Size of the headers of a data packet. (bytes, 1B to 65534B; needed)
    ack: Size of an ACK, NACK or CNP. (bytes, 1B to 65535B; needed)
    ack_every: Number of packets by which the ePSN advances per ACK. A packet is acknowledged in any case if it
        completes a message, requests an ACK, or is a duplicate. If `cnp_interval` is 0, a marked packet is also
        acknowledged in any case. (count, 1 to 65535; needed)
    window_packets: Transmit window: largest distance, in packets, between the lowest unacknowledged PSN and the next
        PSN to send. (count, 1 to 65535; needed)
    cnp_interval: Least time between two CNPs for a queue pair. With 0, there are no CNPs: every marked packet is
        acknowledged immediately, and the ACK echoes the mark. (time, rtt or rtt+queue; needed)
    rto: Retransmission timeout. If no new acknowledgement arrives for this time, everything unacknowledged is
        retransmitted. (time, rtt or rtt+queue, above 0; needed)
    hears_nacks: Whether the NIC handles NACKs. If not, it ignores them, including their cumulative acknowledgement,
        and recovers only by timeout. (flag; needed)
    retransmission_block: Time for which a retransmission that a NACK triggered blocks the queue pair's transmit path,
        from the start of the retransmission. (time, rtt or rtt+queue; needed)
    """

    kind: Literal["rnic-sr"]
    payload: Size
    header: Size
    ack: Size
    ack_every: int
    window_packets: int
    cnp_interval: Time
    rto: Time
    hears_nacks: bool
    retransmission_block: Time


class _TransportIrnNeeded(TypedDict):
    kind: Literal["irn"]
    payload: Size
    header: Size
    ack: Size
    ack_every: int
    window: Size
    rto_low: Time
    rto: Time
    rto_low_packets: int
    timeout_takes_all: bool
    cnp_interval: Time


class TransportIrn(_TransportIrnNeeded, total=False):
    """IRN (SIGCOMM 2018, section 3), as DCP describes it (section 2.2).

    kind: The kind of this part. (needed)
    payload: Number of bytes of payload in a full packet. (bytes, 1B to 65535B; needed)
    header: Size of the headers of a data packet. (bytes, 1B to 65534B; needed)
    ack: Size of an ACK or CNP. (bytes, 1B to 65535B; needed)
    ack_every: Number of packets by which the ePSN advances per ACK. A packet is acknowledged in any case if it is the
        last packet of a message, requests an ACK, is out of order, fills a gap, or is a duplicate. If `cnp_interval`
        is 0, a marked packet is also acknowledged in any case. (count, 1 to 65535; needed)
    window: Window of BDP-FC. A new packet may be sent if its PSN exceeds the lowest unacknowledged PSN by less than
        the number of full packets in this window. (bytes, packets or bdp, above 0; needed)
    rto_low: RTO_low: the timeout while at most `rto_low_packets` packets are in flight. It is ignored if it is longer
        than RTO_high. (time, rtt or rtt+queue, above 0; needed)
    rto: RTO_high: the timeout while more than `rto_low_packets` packets are in flight. (time, rtt or rtt+queue, above
        0; needed)
    rto_low_packets: Largest number of packets in flight with which RTO_low applies (N in the IRN paper). (count;
        needed)
    timeout_takes_all: Whether a timeout declares lost all packets in flight that are not SACKed. If not, it declares
        lost only the lowest packet in flight and all packets below a SACKed packet, as the rule is worded. (flag;
        needed)
    sack_takes_all: Whether the SACK that begins a recovery declares lost all packets in flight that are not SACKed,
        as in simulators derived from ConWeave's. If not, it declares lost only packets below a SACKed packet (DCP,
        section 2.2). (flag; default: `false`)
    cnp_interval: Least time between two CNPs for a queue pair. With 0, there are no CNPs: every marked packet is
        acknowledged immediately, and the ACK echoes the mark. (time, rtt or rtt+queue; needed)
    """

    sack_takes_all: bool


class TransportRackTlp(TypedDict):
    """RACK-TLP (RFC 8985), as in DCP's comparison (section 6.3).

    kind: The kind of this part. (needed)
    payload: Number of bytes of payload in a full packet. (bytes, 1B to 65535B; needed)
    header: Size of the headers of a data packet. (bytes, 1B to 65534B; needed)
    ack: Size of an ACK or CNP. (bytes, 1B to 65535B; needed)
    ack_every: Number of packets by which the ePSN advances per ACK. A packet is acknowledged in any case if it is the
        last packet of a message, requests an ACK, is out of order, fills a gap, or is a duplicate. If `cnp_interval`
        is 0, a marked packet is also acknowledged in any case. (count, 1 to 65535; needed)
    window: Largest number of bytes in flight: sent, and neither acknowledged nor declared lost. (bytes, packets or
        bdp, above 0; needed)
    reo_wnd: Reordering window. A packet is lost if a later packet is acknowledged, and if an RTT plus this window has
        passed since the lost packet was sent. In DCP, the reordering window is an RTT (`"1rtt"`), so that a
        retransmission is an RTT late. (time, rtt or rtt+queue; needed)
    rto: Retransmission timeout, the last resort. (time, rtt or rtt+queue, above 0; needed)
    cnp_interval: Least time between two CNPs for a queue pair. With 0, there are no CNPs: every marked packet is
        acknowledged immediately, and the ACK echoes the mark. (time, rtt or rtt+queue; needed)
    """

    kind: Literal["rack-tlp"]
    payload: Size
    header: Size
    ack: Size
    ack_every: int
    window: Size
    reo_wnd: Time
    rto: Time
    cnp_interval: Time


class _TransportStrackNeeded(TypedDict):
    kind: Literal["strack"]
    payload: Size
    header: Size
    ack: Size
    sack_bytes: Size
    min_threshold: int
    probe_after: Time
    probe_rtt: Time
    rto: Time


class TransportStrack(_TransportStrackNeeded, total=False):
    """STrack's transport (section 3.3).

    kind: The kind of this part. (needed)
    payload: Number of bytes of payload in a full packet. (bytes, 1B to 65535B; needed)
    header: Size of the headers of a data packet, which is also the size of a probe. (bytes, 1B to 65534B; needed)
    ack: Size of a SACK. (bytes, 1B to 65535B; needed)
    sack_bytes: Bytes (on the wire) since the last SACK after which the receiver sends one. (bytes, above 0; needed)
    min_threshold: OOO-based detection infers a loss only if more than this number of packets have arrived out of
        order, even if the window is smaller (min_threshold). (count, 1 to 4095; needed)
    probe_after: Time without a SACK after which the sender sends a probe. (time, rtt or rtt+queue, above 0; needed)
    probe_rtt: Round-trip time of a probe and its SACK below which the SACK means a loss, and not queueing. (time, rtt
        or rtt+queue, above 0; needed)
    probe_takes_all: Whether a probe's SACK that indicates a loss declares lost every unacknowledged packet that was
        sent before the probe. This also recovers a lost tail without a timeout. If not, only packets below the
        highest received PSN are declared lost, as in OOO-based detection. (flag; default: `false`)
    rto: Retransmission timeout. If the ePSN does not advance for this time, all unacknowledged packets are declared
        lost. (time, rtt or rtt+queue, above 0; needed)
    """

    probe_takes_all: bool


class _TransportDcpNeeded(TypedDict):
    kind: Literal["dcp"]
    payload: Size
    header: Size
    ack: Size
    counter_bits: int
    tracked_messages: int
    round_quota: Size
    batch: int
    pcie: Time
    cnp_interval: Time
    rto: Time


class TransportDcp(_TransportDcpNeeded, total=False):
    """DCP (sections 4.3 to 4.5).

    kind: The kind of this part. (needed)
    payload: Number of bytes of payload in a full packet. (bytes, 1B to 65535B; needed)
    header: Size of the headers of a data packet, which is also the size of a trimmed packet. (bytes, 1B to 65534B;
        needed)
    ack: Size of an ACK or CNP. (bytes, 1B to 65535B; needed)
    counter_bits: Bits of the packet counter of a message. A message with more packets than the counter can count is
        split into several requests. (count, 1 to 31; needed)
    tracked_messages: Number of requests that the receiver tracks, from the oldest unacknowledged one on (section
        4.5). It is also the largest number of WQEs that a queue pair serves per scheduling turn (n, section 4.3).
        (count, 1 to 65535; needed)
    round_quota: Payload that a queue pair may send per scheduling turn. (bytes, above 0; needed)
    batch: Largest number of retransmissions fetched from host memory per batch. (count, 1 to 65535; needed)
    pcie: Time of a round trip over PCIe. A fetch of packets to send again takes two round trips. With 0, a fetch
        takes no time. (time, rtt or rtt+queue; needed)
    cnp_interval: Least time between two CNPs for a queue pair. With 0, every marked packet causes a CNP. With 0 and
        `trims_as_marks`, every trimmed packet also causes a CNP. (time, rtt or rtt+queue; needed)
    trims_as_marks: Whether a trimmed packet causes a CNP, as a marked packet does. If not, a sender whose packets are
        all trimmed gets no CNP. (flag; default: `false`)
    rto: Coarse timeout of the oldest unacknowledged message. (time, rtt or rtt+queue, above 0; needed)
    """

    trims_as_marks: bool


class TransportEqds(TypedDict):
    """EQDS (NSDI 2022), in which the receiving host pulls packets.

    kind: The kind of this part. (needed)
    payload: Number of bytes of payload in a full packet. (bytes, 1B to 65535B; needed)
    header: Size of the headers of a data packet, which is also the size of a trimmed packet. (bytes, 1B to 65534B;
        needed)
    ack: Size of an ACK, a NACK, a pull and an RTS. (bytes, 1B to 65535B; needed)
    rto: Retransmission timeout of each packet. It is also the time after which a sender that waits for a pull repeats
        its RTS. (time, rtt or rtt+queue, above 0; needed)
    pull_window: One size with two uses: the speculative credit of a new sender, and the upper limit of the backlog
        that counts as its demand. (bytes, packets or bdp, above 0; needed)
    pull_rate: Rate of the data that the pulls of a host request, over all queue pairs on which it receives. (rate or
        line, above 0; needed)
    """

    kind: Literal["eqds"]
    payload: Size
    header: Size
    ack: Size
    rto: Time
    pull_window: Size
    pull_rate: Rate


class TransportMpRdma(TypedDict):
    """MP-RDMA (NSDI 2018): ACK-clocked multipath, a small bitmap at the receiver, and go-back-N recovery.

    kind: The kind of this part. (needed)
    payload: Number of bytes of payload in a full packet. (bytes, 1B to 65535B; needed)
    header: Size of the headers of a data packet. (bytes, 1B to 65534B; needed)
    ack: Size of an ACK or NACK. (bytes, 1B to 65535B; needed)
    delta: Out-of-order threshold (Delta). A path is slow if the PSN of its ACK is more than this number below the
        highest acknowledged PSN. It is 32 in public simulations. (count, 1 to 65535; needed)
    bitmap: Number of packets from the ePSN on that the receiver accepts (L; 64 in simulations of MP-RDMA). (count, 1
        to 65535; needed)
    restart_after: Time with nothing in flight after which a queue pair restarts with the initial window. (time, rtt
        or rtt+queue, above 0; needed)
    rto: Retransmission timeout. If no new cumulative acknowledgement arrives for this time, the sender restarts at
        the lowest unacknowledged packet (go-back-N). The paper's value was not available. (time, rtt or rtt+queue,
        above 0; needed)
    """

    kind: Literal["mp-rdma"]
    payload: Size
    header: Size
    ack: Size
    delta: int
    bitmap: int
    restart_after: Time
    rto: Time


class _TransportUetCreditNeeded(TypedDict):
    window: Size
    rate: Rate
    grant: Size


class TransportUetCredit(_TransportUetCreditNeeded, total=False):
    """`credit` of this part.

    window: One size with three uses: the speculative credit of a new source, the upper limit of its credit, and the
        upper limit of the backlog that counts as its demand (MaxWnd). (bytes, packets or bdp, above 0; needed)
    rate: Rate of the data that the pulls of a host request together. (rate or line, above 0; needed)
    grant: Upper limit of the credit that one pull grants, rounded down to units of 256 B. (bytes, packets or bdp,
        above 0; needed)
    follows_fabric: Whether the pull rate is adapted to ECN marks and to trims before the last hop. The rate is
        adapted about every 1.5 base RTTs, and the length of each period is drawn anew. Adaptation is meant for
        oversubscribed fabrics, where the link of the receiver is not the bottleneck. (flag; default: `false`)
    least_share: Least share of `rate` that `follows_fabric` leaves. uet-htsim has 0.9 divided by the fabric's
        oversubscription. (number, 0.01 to 1; default: `0.01`)
    """

    follows_fabric: bool
    least_share: float


class _TransportUetNeeded(TypedDict):
    kind: Literal["uet"]
    payload: Size
    header: Size
    ack: Size
    control: Size
    sack_bytes: Size
    mpr: int
    rto: Time


class TransportUet(_TransportUetNeeded, total=False):
    """Ultra Ethernet's packet delivery (UET 1.0.3) in its mode RUD: reliable, unordered.

    kind: The kind of this part. (needed)
    payload: Payload of a full packet. (bytes, 1B to 65535B; needed)
    header: Headers of a data packet. (bytes, 1B to 65534B; needed)
    ack: Size of an ACK. (bytes, 1B to 65535B; needed)
    control: Size of a NACK, of a control packet (a probe, a pull or a request for credit) and of a trimmed packet.
        (bytes, 1B to 65535B; needed)
    sack_bytes: Number of bytes after whose arrival the receiver sends an ACK (ACK_Gen_Trigger), counted from the last
        ACK. Each packet counts as at least 1 KiB. A packet is acknowledged immediately if it is marked, if it is a
        duplicate, a retransmission or the first of its queue pair, if it requests an ACK, or if it closes the gap
        below a packet that requested one. (bytes, above 0; needed)
    received_unit: The unit in which ACKs count received bytes. (bytes, 1B to 4KiB; default: `"256B"`)
    mpr: Number of PSNs, from the lowest unacknowledged one on, that may be in flight (MPR). (count, 128 to 32640;
        needed)
    rto: Retransmission timeout of each packet (RTO_Init_Time). (time, rtt or rtt+queue, above 0; needed)
    rto_doublings: Largest number of times that the timeout of a packet doubles. It doubles with each retransmission
        of the packet. UET gives up after five retransmissions; here the last timeout is repeated. (count, 0 to 16;
        default: `5`)
    loss_packets: Packets are inferred lost once this many packets have arrived out of order. With 0, a gap never
        means loss. (count, 0 to 65535; default: `0`)
    loss_windows: Number of congestion windows of data that must also have arrived out of order before `loss_packets`
        takes effect. (number, 0 to 1000; default: `0.0`)
    probe_after: Time without an answer after which the source sends a probe. The receiver answers a probe immediately
        with an ACK. If the time is not set, no probes are sent. With `loss_packets`, the answer to the last probe
        means loss if no other answer arrived since the probe was sent. (time, rtt or rtt+queue, above 0; default:
        none)
    credit: A table with keys of its own. (default: the table of the base)
    """

    received_unit: Size
    rto_doublings: int
    loss_packets: int
    loss_windows: float
    probe_after: Time
    credit: TransportUetCredit


class _TransportMrcNeeded(TypedDict):
    kind: Literal["mrc"]
    payload: Size
    header: Size
    ack: Size
    control: Size
    request: Size
    sack_bytes: Size
    received_unit: Size
    mpr: int
    rto: Time
    rto_linear: int
    rto_doublings: int


class TransportMrc(_TransportMrcNeeded, total=False):
    """MRC (OCP 1.0): delivery as in `uet`, with probes of paths, separate paths for answers, and the status of ports.

    kind: The kind of this part. (needed)
    payload: Payload of a full packet. (bytes, 1B to 65535B; needed)
    header: Headers of a data packet. (bytes, 1B to 65534B; needed)
    ack: Size of a SACK and of an endpoint response. (bytes, 1B to 65535B; needed)
    control: Size of a NACK and of a trimmed packet. (bytes, 1B to 65535B; needed)
    request: Size of a probe and of an endpoint request. (bytes, 1B to 65535B; needed)
    sack_bytes: The receiver sends a SACK when more than this number of bytes of payload have arrived since the last
        SACK. Each packet counts as at least 1 KiB. A packet is acknowledged immediately if it is marked, if it is a
        duplicate, a retransmission or the first of its queue pair, if it requests a SACK, or if it closes the gap
        below a packet that requested one. (bytes, above 0; needed)
    received_unit: The unit in which SACKs count received bytes. (bytes, 1B to 4KiB; needed)
    mpr: Number of PSNs, from the lowest unacknowledged one on, that may be in flight (MPR). (count, 128 to 32640;
        needed)
    rto: Local ACK timeout of each packet. (time, rtt or rtt+queue, above 0; needed)
    rto_linear: Number of timeouts of a packet that leave its timeout unchanged. (count, 0 to 7; needed)
    rto_doublings: Largest number of doublings of a packet's timeout. The first `rto_linear` timeouts leave the
        timeout unchanged, and each further timeout doubles it. MRC gives up after the last doubling. Here the last
        timeout is repeated. A NACK or an inferred loss restarts the count. (count, 0 to 16; needed)
    loss_packets: Packets are inferred lost once this many packets have arrived out of order. With 0, the number of
        out-of-order packets never means loss. (count, 0 to 65535; default: `0`)
    loss_windows: Number of congestion windows of data that must also have arrived out of order before `loss_packets`
        takes effect. (number, 0 to 1000; default: `0.0`)
    loss_by_path: A packet is inferred lost once a later one with its entropy value has arrived. (flag; default:
        `false`)
    probe_after: Time without an answer after which the source sends a probe. The receiver answers a probe immediately
        with a SACK. If the time is not set, no such probes are sent. With `loss_packets`, the answer to the last
        probe means loss if no other answer arrived since the probe was sent. (time, rtt or rtt+queue, above 0;
        default: none)
    """

    loss_packets: int
    loss_windows: float
    loss_by_path: bool
    probe_after: Time


class TransportSettingsCredit(TypedDict, total=False):
    """`credit` of this part.

    window: One size with three uses: the speculative credit of a new source, the upper limit of its credit, and the
        upper limit of the backlog that counts as its demand (MaxWnd). (bytes, packets or bdp, above 0; default: that
        of the base)
    rate: Rate of the data that the pulls of a host request together. (rate or line, above 0; default: that of the
        base)
    grant: Upper limit of the credit that one pull grants, rounded down to units of 256 B. (bytes, packets or bdp,
        above 0; default: that of the base)
    follows_fabric: Whether the pull rate is adapted to ECN marks and to trims before the last hop. The rate is
        adapted about every 1.5 base RTTs, and the length of each period is drawn anew. Adaptation is meant for
        oversubscribed fabrics, where the link of the receiver is not the bottleneck. (flag; default: that of the
        base)
    least_share: Least share of `rate` that `follows_fabric` leaves. uet-htsim has 0.9 divided by the fabric's
        oversubscription. (number, 0.01 to 1; default: that of the base)
    """

    window: Size
    rate: Rate
    grant: Size
    follows_fabric: bool
    least_share: float


class TransportSettings(TypedDict, total=False):
    """Parameters of the base's `transport`, of any kind.

    payload: Number of bytes of payload in a full packet. (bytes, 1B to 65535B; default: that of the base)
    header: Size of the headers of a data packet, which is also the size of a trimmed packet. (bytes, 1B to 65534B;
        default: that of the base)
    ack: Size of an ACK or NACK. (bytes, 1B to 65535B; default: that of the base)
    ack_every: Number of packets per ACK. A packet that completes a message, requests an ACK, is marked or is a
        duplicate is acknowledged in any case. (count, 1 to 65535; default: that of the base)
    carry_evs: Whether a coalesced ACK echoes the entropy value of every unmarked packet that it acknowledges (REPS,
        "ACK+Carry EVs"). Each value after the first takes 2 B. One ACK then covers at most 48 PSNs. (flag; default:
        that of the base)
    rto: Retransmission timeout of each packet. (time, rtt or rtt+queue, above 0; default: that of the base)
    inherits: State that a new connection takes over from the last finished connection between the same two hosts.
        With `nothing`, it takes over no state. With `window`, it takes over the congestion window. With
        `window-and-entropies`, it takes over the congestion window and the cached entropies of REPS. (choice,
        nothing, window, window-and-entropies; default: that of the base)
    nack_interval: Minimum time between two NACKs for the same ePSN. An out-of-order packet that arrives after this
        time causes another NACK. (time, rtt or rtt+queue, above 0; default: that of the base)
    cnp_interval: Least time between two CNPs for a queue pair. With 0, there are no CNPs: a marked packet that
        arrives in order is acknowledged immediately, and the ACK echoes the mark. (time, rtt or rtt+queue; default:
        that of the base)
    trailing_cnp: Whether a mark that arrives less than `cnp_interval` after a CNP causes a CNP later. If so, the
        first packet after the interval, marked or not, causes it. (flag; default: that of the base)
    window_packets: Transmit window: largest distance, in packets, between the lowest unacknowledged PSN and the next
        PSN to send. (count, 1 to 65535; default: that of the base)
    hears_nacks: Whether the NIC handles NACKs. If not, it ignores them, including their cumulative acknowledgement,
        and recovers only by timeout. (flag; default: that of the base)
    retransmission_block: Time for which a retransmission that a NACK triggered blocks the queue pair's transmit path,
        from the start of the retransmission. (time, rtt or rtt+queue; default: that of the base)
    window: Window of BDP-FC. A new packet may be sent if its PSN exceeds the lowest unacknowledged PSN by less than
        the number of full packets in this window. (bytes, packets or bdp, above 0; default: that of the base)
    rto_low: RTO_low: the timeout while at most `rto_low_packets` packets are in flight. It is ignored if it is longer
        than RTO_high. (time, rtt or rtt+queue, above 0; default: that of the base)
    rto_low_packets: Largest number of packets in flight with which RTO_low applies (N in the IRN paper). (count;
        default: that of the base)
    timeout_takes_all: Whether a timeout declares lost all packets in flight that are not SACKed. If not, it declares
        lost only the lowest packet in flight and all packets below a SACKed packet, as the rule is worded. (flag;
        default: that of the base)
    sack_takes_all: Whether the SACK that begins a recovery declares lost all packets in flight that are not SACKed,
        as in simulators derived from ConWeave's. If not, it declares lost only packets below a SACKed packet (DCP,
        section 2.2). (flag; default: that of the base)
    reo_wnd: Reordering window. A packet is lost if a later packet is acknowledged, and if an RTT plus this window has
        passed since the lost packet was sent. In DCP, the reordering window is an RTT (`"1rtt"`), so that a
        retransmission is an RTT late. (time, rtt or rtt+queue; default: that of the base)
    sack_bytes: Bytes (on the wire) since the last SACK after which the receiver sends one. (bytes, above 0; default:
        that of the base)
    min_threshold: OOO-based detection infers a loss only if more than this number of packets have arrived out of
        order, even if the window is smaller (min_threshold). (count, 1 to 4095; default: that of the base)
    probe_after: Time without a SACK after which the sender sends a probe. (time, rtt or rtt+queue, above 0; default:
        that of the base)
    probe_rtt: Round-trip time of a probe and its SACK below which the SACK means a loss, and not queueing. (time, rtt
        or rtt+queue, above 0; default: that of the base)
    probe_takes_all: Whether a probe's SACK that indicates a loss declares lost every unacknowledged packet that was
        sent before the probe. This also recovers a lost tail without a timeout. If not, only packets below the
        highest received PSN are declared lost, as in OOO-based detection. (flag; default: that of the base)
    counter_bits: Bits of the packet counter of a message. A message with more packets than the counter can count is
        split into several requests. (count, 1 to 31; default: that of the base)
    tracked_messages: Number of requests that the receiver tracks, from the oldest unacknowledged one on (section
        4.5). It is also the largest number of WQEs that a queue pair serves per scheduling turn (n, section 4.3).
        (count, 1 to 65535; default: that of the base)
    round_quota: Payload that a queue pair may send per scheduling turn. (bytes, above 0; default: that of the base)
    batch: Largest number of retransmissions fetched from host memory per batch. (count, 1 to 65535; default: that of
        the base)
    pcie: Time of a round trip over PCIe. A fetch of packets to send again takes two round trips. With 0, a fetch
        takes no time. (time, rtt or rtt+queue; default: that of the base)
    trims_as_marks: Whether a trimmed packet causes a CNP, as a marked packet does. If not, a sender whose packets are
        all trimmed gets no CNP. (flag; default: that of the base)
    pull_window: One size with two uses: the speculative credit of a new sender, and the upper limit of the backlog
        that counts as its demand. (bytes, packets or bdp, above 0; default: that of the base)
    pull_rate: Rate of the data that the pulls of a host request, over all queue pairs on which it receives. (rate or
        line, above 0; default: that of the base)
    delta: Out-of-order threshold (Delta). A path is slow if the PSN of its ACK is more than this number below the
        highest acknowledged PSN. It is 32 in public simulations. (count, 1 to 65535; default: that of the base)
    bitmap: Number of packets from the ePSN on that the receiver accepts (L; 64 in simulations of MP-RDMA). (count, 1
        to 65535; default: that of the base)
    restart_after: Time with nothing in flight after which a queue pair restarts with the initial window. (time, rtt
        or rtt+queue, above 0; default: that of the base)
    control: Size of a NACK, of a control packet (a probe, a pull or a request for credit) and of a trimmed packet.
        (bytes, 1B to 65535B; default: that of the base)
    received_unit: The unit in which ACKs count received bytes. (bytes, 1B to 4KiB; default: that of the base)
    mpr: Number of PSNs, from the lowest unacknowledged one on, that may be in flight (MPR). (count, 128 to 32640;
        default: that of the base)
    rto_doublings: Largest number of times that the timeout of a packet doubles. It doubles with each retransmission
        of the packet. UET gives up after five retransmissions; here the last timeout is repeated. (count, 0 to 16;
        default: that of the base)
    loss_packets: Packets are inferred lost once this many packets have arrived out of order. With 0, a gap never
        means loss. (count, 0 to 65535; default: that of the base)
    loss_windows: Number of congestion windows of data that must also have arrived out of order before `loss_packets`
        takes effect. (number, 0 to 1000; default: that of the base)
    request: Size of a probe and of an endpoint request. (bytes, 1B to 65535B; default: that of the base)
    rto_linear: Number of timeouts of a packet that leave its timeout unchanged. (count, 0 to 7; default: that of the
        base)
    loss_by_path: A packet is inferred lost once a later one with its entropy value has arrived. (flag; default: that
        of the base)
    credit: A table with keys of its own. (default: the table of the base)
    """

    payload: Size
    header: Size
    ack: Size
    ack_every: int
    carry_evs: bool
    rto: Time
    inherits: Literal["nothing", "window", "window-and-entropies"]
    nack_interval: Time
    cnp_interval: Time
    trailing_cnp: bool
    window_packets: int
    hears_nacks: bool
    retransmission_block: Time
    window: Size
    rto_low: Time
    rto_low_packets: int
    timeout_takes_all: bool
    sack_takes_all: bool
    reo_wnd: Time
    sack_bytes: Size
    min_threshold: int
    probe_after: Time
    probe_rtt: Time
    probe_takes_all: bool
    counter_bits: int
    tracked_messages: int
    round_quota: Size
    batch: int
    pcie: Time
    trims_as_marks: bool
    pull_window: Size
    pull_rate: Rate
    delta: int
    bitmap: int
    restart_after: Time
    control: Size
    received_unit: Size
    mpr: int
    rto_doublings: int
    loss_packets: int
    loss_windows: float
    request: Size
    rto_linear: int
    loss_by_path: bool
    credit: TransportSettingsCredit


Transport = Union[
    TransportSack,
    TransportGoBackN,
    TransportRnicSr,
    TransportIrn,
    TransportRackTlp,
    TransportStrack,
    TransportDcp,
    TransportEqds,
    TransportMpRdma,
    TransportUet,
    TransportMrc,
    TransportSettings,
]


class CcDctcp(TypedDict):
    """DCTCP in the per-ACK form of MPRDMA (REPS, section 4.1).

    kind: The kind of this part. (needed)
    initial_window: Window at the start. (bytes, packets or bdp, above 0; needed)
    max_window: Largest window. (bytes, packets or bdp, above 0; needed)
    decrease: Number of packets by which a marked ACK shrinks the window, for each packet that it acknowledges.
        (number, 0 to 1; needed)
    loss_decrease: Number of packets by which a loss shrinks the window. (number, 0 or more; needed)
    """

    kind: Literal["dctcp"]
    initial_window: Size
    max_window: Size
    decrease: float
    loss_decrease: float


class _CcDcqcnNeeded(TypedDict):
    kind: Literal["dcqcn"]
    g: float
    initial_alpha: float
    alpha_timer: Time
    increase_timer: Time
    byte_counter: Size
    fast_recovery: int
    rate_ai: Rate
    rate_hai: Rate
    min_rate: Rate
    decrease_interval: Time
    window: Size


class CcDcqcn(_CcDcqcnNeeded, total=False):
    """DCQCN (SIGCOMM 2015), which sets a rate.

    kind: The kind of this part. (needed)
    g: Gain g of alpha's moving average. (number, 0 to 1; needed)
    initial_alpha: Initial alpha: its value when the first CNP arrives (1 in the paper), or with `alpha_decay =
        "packets"` at the start. (number, 0 to 1; needed)
    alpha_timer: Time without a CNP after which alpha decays once. A time in round trips counts as 100 ns at least.
        (time, rtt or rtt+queue, 100ns or more; needed)
    increase_timer: Period of the timer of rate increases. A time in round trips counts as 100 ns at least. (time, rtt
        or rtt+queue, 100ns or more; needed)
    byte_counter: Byte counter: bytes sent per rate increase step. With 0, only the timer causes increases. (bytes;
        needed)
    fast_recovery: Steps of fast recovery (F). (count, 1 to 1000000; needed)
    rate_ai: Additive increase of the target rate. (rate or line, above 0; needed)
    rate_hai: Hyper increase of the target rate. (rate or line, above 0; needed)
    min_rate: Lower limit of the rate. (rate or line, above 0; needed)
    decrease_interval: Least time between two cuts of the rate. With 0, every CNP cuts it. (time, rtt or rtt+queue;
        needed)
    window: Bytes that may be in flight, whatever the rate. (bytes, packets or bdp, above 0; needed)
    on_nack: Reaction to a NACK; only some transports report NACKs to the congestion control. (choice, slow-start,
        cnp; default: `"slow-start"`)
    alpha_decay: Trigger of the decay of alpha. `packets` needs a `decrease_interval` of 0. (choice, timer, packets;
        default: `"timer"`)
    increases: The steps by which the rate rises. (choice, dcqcn, htsim; default: `"dcqcn"`)
    """

    on_nack: Literal["slow-start", "cnp"]
    alpha_decay: Literal["timer", "packets"]
    increases: Literal["dcqcn", "htsim"]


class CcHpcc(TypedDict):
    """HPCC (SIGCOMM 2019), which sets a window and a rate from in-network telemetry.

    kind: The kind of this part. (needed)
    eta: Target utilisation of the bottleneck link (eta). (number, 0.01 to 1; needed)
    max_stage: Consecutive RTTs of additive increase before a multiplicative one (maxStage). With 0, there are none.
        (count; needed)
    rate_ai: Additive increase per RTT, as a rate (W_AI / T). (rate or line, above 0; needed)
    base_rtt: Round trip of an idle path (T). (time, rtt or path, above 0; needed)
    """

    kind: Literal["hpcc"]
    eta: float
    max_stage: int
    rate_ai: Rate
    base_rtt: Time


class CcStrack(TypedDict):
    """STrack's congestion control (Algorithms 2 and 4).

    kind: The kind of this part. (needed)
    initial_window: Window at the start. (bytes, packets or bdp, above 0; needed)
    max_window: Largest window (max_cwnd). (bytes, packets or bdp, above 0; needed)
    target_qdelay: Queueing delay to which the window converges (target_Qdelay). (time, rtt or rtt+queue, above 0;
        needed)
    target_qhigh: Upper threshold of the queueing delay (target_Qhigh). Above the threshold, an unmarked ACK increases
        the window, and a marked ACK may set the window to the bytes delivered in a period. (time, rtt or rtt+queue,
        above 0; needed)
    ewma: Weight of a sample in the average delay (ewma). (number, 0 to 1; needed)
    beta: Additive increase in packets, before scaling (beta = this * bdp_sf). (number, 0 or more; needed)
    eta: Increase for fairness in packets, before scaling (eta = this * bdp_sf). (number, 0 or more; needed)
    alpha: Gain of the proportional increase, before scaling (alpha = this * bdp_sf * delay_sf / base_rtt). (number, 0
        or more; needed)
    gamma: Multiplicative decrease (gamma). (number, 0 to 1; needed)
    max_decrease: Least share of the window that remains after a cut (Algorithm 4, line 15). (number, 0 to 1; needed)
    """

    kind: Literal["strack"]
    initial_window: Size
    max_window: Size
    target_qdelay: Time
    target_qhigh: Time
    ewma: float
    beta: float
    eta: float
    alpha: float
    gamma: float
    max_decrease: float


class CcMpRdma(TypedDict):
    """MP-RDMA (NSDI 2018), with one window for all paths, which each ACK changes.

    kind: The kind of this part. (needed)
    initial_window: Window at the start, and after an idle period. (bytes, packets or bdp, above 0; needed)
    max_window: Largest window. As far as is known, the paper sets no limit. Without a limit, the window of a queue
        pair that is never marked would grow without bound. (bytes, packets or bdp, above 0; needed)
    """

    kind: Literal["mp-rdma"]
    initial_window: Size
    max_window: Size


class _CcNsccNeeded(TypedDict):
    kind: Literal["nscc"]
    initial_window: Size
    max_window: Size
    target: Time
    alpha: float
    fi: float
    fi_scale: float
    eta: float
    gamma: float
    max_decrease: float
    qa_gate: int
    ewma: float
    zero_delay: Time


class CcNscc(_CcNsccNeeded, total=False):
    """NSCC of Ultra Ethernet (UET 1.0.3, section 3.6.13): a delay-based window at the sender.

    kind: The kind of this part. (needed)
    initial_window: Window at the start. (bytes, packets or bdp, above 0; needed)
    max_window: Largest window (MaxWnd). If a shorter base RTT is measured, it shrinks in proportion. (bytes, packets
        or bdp, above 0; needed)
    target: Queueing delay to settle at (target_qdelay). (time, rtt or rtt+queue, above 0; needed)
    alpha: Gain of the proportional increase (alpha = this * a * b * MTU / target, where a is the BDP divided by the
        BDP of 100 Gb/s and 12 us, and b is the target divided by 12 us). (number, 0 or more; needed)
    fi: Fair increase in packets (fi = this * a * MTU). (number, 0 or more; needed)
    fi_scale: Fast increase: bytes of window for each acknowledged byte (fi_scale = this * a). (number, 0 or more;
        needed)
    eta: Increase in each round trip, in packets (eta = this * a * MTU). (number, 0 or more; needed)
    gamma: Multiplicative decrease (gamma). (number, 0 to 1; needed)
    max_decrease: Smallest share of the window that one decrease may leave (max_md_jump). (number, 0 to 1; needed)
    qa_gate: Exponent for the gate of quick adapt (qa_gate). Quick adapt acts only if a period delivered fewer bytes
        than MaxWnd / 2^qa_gate, and sets the window to these bytes. (count, 0 to 16; needed)
    qa_threshold: Queueing delay above which quick adapt acts even without a trim (qa_threshold). If it is not set,
        quick adapt acts only after a trim. (time, rtt or rtt+queue, above 0; default: none)
    average: Samples that ACKs add to the average delay. With `spec`, each sample is the measured delay of a packet.
        With `htsim`, an unmarked packet whose delay is above the target has a quarter of the base RTT as its sample.
        (choice, spec, htsim; default: `"spec"`)
    ewma: Weight of a sample in the average delay. (number, 0 to 1; needed)
    zero_delay: Queueing delay up to which a packet counts as not delayed, so that the fast increase applies. (time,
        rtt or rtt+queue; needed)
    last_hop_trims: Whether a trim at the last hop is a sign of congestion. If receivers grant credit, such a trim is
        no sign of congestion, since a receiver knows the senders that share its link. (flag; default: `true`)
    rules: Rules to apply. With `spec`, they are those of UET. With `htsim`, they are those of uet-htsim wherever
        uet-htsim departs from UET. (choice, spec, htsim; default: `"spec"`)
    """

    qa_threshold: Time
    average: Literal["spec", "htsim"]
    last_hop_trims: bool
    rules: Literal["spec", "htsim"]


class CcConstant(TypedDict):
    """A window that never changes.

    kind: The kind of this part. (needed)
    window: The window. (bytes, packets or bdp, above 0; needed)
    """

    kind: Literal["constant"]
    window: Size


class CcSettings(TypedDict, total=False):
    """Parameters of the base's `cc`, of any kind.

    initial_window: Window at the start. (bytes, packets or bdp, above 0; default: that of the base)
    max_window: Largest window. (bytes, packets or bdp, above 0; default: that of the base)
    decrease: Number of packets by which a marked ACK shrinks the window, for each packet that it acknowledges.
        (number, 0 to 1; default: that of the base)
    loss_decrease: Number of packets by which a loss shrinks the window. (number, 0 or more; default: that of the
        base)
    g: Gain g of alpha's moving average. (number, 0 to 1; default: that of the base)
    initial_alpha: Initial alpha: its value when the first CNP arrives (1 in the paper), or with `alpha_decay =
        "packets"` at the start. (number, 0 to 1; default: that of the base)
    alpha_timer: Time without a CNP after which alpha decays once. A time in round trips counts as 100 ns at least.
        (time, rtt or rtt+queue, 100ns or more; default: that of the base)
    increase_timer: Period of the timer of rate increases. A time in round trips counts as 100 ns at least. (time, rtt
        or rtt+queue, 100ns or more; default: that of the base)
    byte_counter: Byte counter: bytes sent per rate increase step. With 0, only the timer causes increases. (bytes;
        default: that of the base)
    fast_recovery: Steps of fast recovery (F). (count, 1 to 1000000; default: that of the base)
    rate_ai: Additive increase of the target rate. (rate or line, above 0; default: that of the base)
    rate_hai: Hyper increase of the target rate. (rate or line, above 0; default: that of the base)
    min_rate: Lower limit of the rate. (rate or line, above 0; default: that of the base)
    decrease_interval: Least time between two cuts of the rate. With 0, every CNP cuts it. (time, rtt or rtt+queue;
        default: that of the base)
    window: Bytes that may be in flight, whatever the rate. (bytes, packets or bdp, above 0; default: that of the
        base)
    on_nack: Reaction to a NACK; only some transports report NACKs to the congestion control. (choice, slow-start,
        cnp; default: that of the base)
    alpha_decay: Trigger of the decay of alpha. `packets` needs a `decrease_interval` of 0. (choice, timer, packets;
        default: that of the base)
    increases: The steps by which the rate rises. (choice, dcqcn, htsim; default: that of the base)
    eta: Target utilisation of the bottleneck link (eta). (number, 0.01 to 1; default: that of the base)
    max_stage: Consecutive RTTs of additive increase before a multiplicative one (maxStage). With 0, there are none.
        (count; default: that of the base)
    base_rtt: Round trip of an idle path (T). (time, rtt or path, above 0; default: that of the base)
    target_qdelay: Queueing delay to which the window converges (target_Qdelay). (time, rtt or rtt+queue, above 0;
        default: that of the base)
    target_qhigh: Upper threshold of the queueing delay (target_Qhigh). Above the threshold, an unmarked ACK increases
        the window, and a marked ACK may set the window to the bytes delivered in a period. (time, rtt or rtt+queue,
        above 0; default: that of the base)
    ewma: Weight of a sample in the average delay (ewma). (number, 0 to 1; default: that of the base)
    beta: Additive increase in packets, before scaling (beta = this * bdp_sf). (number, 0 or more; default: that of
        the base)
    alpha: Gain of the proportional increase, before scaling (alpha = this * bdp_sf * delay_sf / base_rtt). (number, 0
        or more; default: that of the base)
    gamma: Multiplicative decrease (gamma). (number, 0 to 1; default: that of the base)
    max_decrease: Least share of the window that remains after a cut (Algorithm 4, line 15). (number, 0 to 1; default:
        that of the base)
    target: Queueing delay to settle at (target_qdelay). (time, rtt or rtt+queue, above 0; default: that of the base)
    fi: Fair increase in packets (fi = this * a * MTU). (number, 0 or more; default: that of the base)
    fi_scale: Fast increase: bytes of window for each acknowledged byte (fi_scale = this * a). (number, 0 or more;
        default: that of the base)
    qa_gate: Exponent for the gate of quick adapt (qa_gate). Quick adapt acts only if a period delivered fewer bytes
        than MaxWnd / 2^qa_gate, and sets the window to these bytes. (count, 0 to 16; default: that of the base)
    qa_threshold: Queueing delay above which quick adapt acts even without a trim (qa_threshold). If it is not set,
        quick adapt acts only after a trim. (time, rtt or rtt+queue, above 0; default: that of the base)
    average: Samples that ACKs add to the average delay. With `spec`, each sample is the measured delay of a packet.
        With `htsim`, an unmarked packet whose delay is above the target has a quarter of the base RTT as its sample.
        (choice, spec, htsim; default: that of the base)
    zero_delay: Queueing delay up to which a packet counts as not delayed, so that the fast increase applies. (time,
        rtt or rtt+queue; default: that of the base)
    last_hop_trims: Whether a trim at the last hop is a sign of congestion. If receivers grant credit, such a trim is
        no sign of congestion, since a receiver knows the senders that share its link. (flag; default: that of the
        base)
    rules: Rules to apply. With `spec`, they are those of UET. With `htsim`, they are those of uet-htsim wherever
        uet-htsim departs from UET. (choice, spec, htsim; default: that of the base)
    """

    initial_window: Size
    max_window: Size
    decrease: float
    loss_decrease: float
    g: float
    initial_alpha: float
    alpha_timer: Time
    increase_timer: Time
    byte_counter: Size
    fast_recovery: int
    rate_ai: Rate
    rate_hai: Rate
    min_rate: Rate
    decrease_interval: Time
    window: Size
    on_nack: Literal["slow-start", "cnp"]
    alpha_decay: Literal["timer", "packets"]
    increases: Literal["dcqcn", "htsim"]
    eta: float
    max_stage: int
    base_rtt: Time
    target_qdelay: Time
    target_qhigh: Time
    ewma: float
    beta: float
    alpha: float
    gamma: float
    max_decrease: float
    target: Time
    fi: float
    fi_scale: float
    qa_gate: int
    qa_threshold: Time
    average: Literal["spec", "htsim"]
    zero_delay: Time
    last_hop_trims: bool
    rules: Literal["spec", "htsim"]


Cc = Union[
    CcDctcp,
    CcDcqcn,
    CcHpcc,
    CcStrack,
    CcMpRdma,
    CcNscc,
    CcConstant,
    CcSettings,
]


class LbEcmp(TypedDict):
    """One entropy value for a queue pair's lifetime.

    kind: The kind of this part. (needed)
    """

    kind: Literal["ecmp"]


class LbOps(TypedDict):
    """A random entropy value for each packet (oblivious packet spraying).

    kind: The kind of this part. (needed)
    evs: Number of entropy values (EVS size). (count, 1 to 65536; needed)
    """

    kind: Literal["ops"]
    evs: int


class _LbRepsNeeded(TypedDict):
    kind: Literal["reps"]
    evs: int
    buffer: int
    freezing: bool
    freezing_timeout: Time
    explore_packets: int
    failure_rtt: float


class LbReps(_LbRepsNeeded, total=False):
    """REPS: entropy values of unmarked ACKs are reused.

    kind: The kind of this part. (needed)
    evs: Number of entropy values (EVS_SIZE). (count, 1 to 65536; needed)
    buffer: Entries of the circular buffer (REPS_BUFFER_SIZE). (count, 1 to 32; needed)
    freezing: Whether the sender freezes on failures (Appendix C.4 evaluates REPS without it). (flag; needed)
    freezing_timeout: Duration of freezing (FREEZING_TIMEOUT). (time, rtt or rtt+queue, above 0; needed)
    after_freezing: Behaviour at the end of freezing. With `keep`, the sender keeps its buffer, and every `buffer`-th
        of the next `explore_packets` packets explores. With `reset`, it empties the buffer, and each of these packets
        explores. (choice, keep, reset; default: `"keep"`)
    freezing_ends: Events at which a sender checks whether freezing is over: unmarked ACKs (`ack`), or timeouts as
        well (`timeout`). A sender whose cached entropies all fail gets no ACK, and with `ack` it stays frozen for
        ever. (choice, ack, timeout; default: `"ack"`)
    explore_packets: Number of packets after freezing of which some or all explore, according to `after_freezing`
        (NUM_PKTS_CWND). Algorithm 1 may mean the window at that time; here it is a fixed number. (count, 0 to 255;
        needed)
    failure_rtt: Number of base RTTs that separates failures from congestion. A timeout counts as a failure if the
        highest RTT measured in the last one to three RTOs was below this many base RTTs (Appendix A, without
        trimming). (number, 0 or more; needed)
    reuse: Number of packets for which a cached entropy is used ("ACK+Reuse EVs": the number of packets per ACK). A
        frozen sender without a valid entropy still uses each entry of the buffer once per cycle. (count, 1 to 64;
        default: `1`)
    reuse_order: Order in which entropies are used if `reuse` is above 1. With `in-a-row`, the oldest entropy is used
        up before the next. With `in-turn`, the entropies take turns until all are used up. (choice, in-a-row,
        in-turn; default: `"in-a-row"`)
    freeze_at: Time of the run at which a sender freezes once without a failure, for `freezing_timeout`. It freezes
        with the first ACK at or after this time. Without this parameter, only failures cause freezing. (time, rtt or
        rtt+queue, above 0; default: none)
    """

    after_freezing: Literal["keep", "reset"]
    freezing_ends: Literal["ack", "timeout"]
    reuse: int
    reuse_order: Literal["in-a-row", "in-turn"]
    freeze_at: Time


class LbStrack(TypedDict):
    """STrack's load balancer (Algorithm 3).

    kind: The kind of this part. (needed)
    max_paths: Number of entropy values, and of bits in the bitmap (max_paths). (count, 1 to 256; needed)
    min_paths: Least number of paths that the round robin covers (Algorithm 3, line 18), at most `max_paths`. (count,
        1 to 256; needed)
    """

    kind: Literal["strack"]
    max_paths: int
    min_paths: int


class LbMpRdma(TypedDict):
    """MP-RDMA (NSDI 2018), under which a packet takes the path of the ACK that clocks it out.

    kind: The kind of this part. (needed)
    paths: Number of virtual paths, that is of entropy values (UDP source ports). (count, 1 to 65536; needed)
    probe: Probability p that a packet that may probe does so (1 % in simulations of MP-RDMA). (number, 0 to 1;
        needed)
    probe_interval: Least time between two packets that may probe: an RTT. One simulation measures the RTT, the others
        take the base RTT of the fabric (`"1rtt"`). (time, rtt or rtt+queue, above 0; needed)
    """

    kind: Literal["mp-rdma"]
    paths: int
    probe: float
    probe_interval: Time


class LbPlb(TypedDict):
    """PLB (SIGCOMM 2022) or FlowBender (CoNEXT 2014), which take another path after congested round trips.

    kind: The kind of this part. (needed)
    evs: Number of entropy values among which a new path is drawn. (count, 1 to 65536; needed)
    threshold: Share of marked packets above which a round is congested. The share is taken among the packets whose
        ACKs arrive in the round. With 0, any mark makes the round congested. (number, 0 to 1; needed)
    rounds: Number of consecutive congested rounds after which the queue pair moves. (count, 1 to 255; needed)
    """

    kind: Literal["plb"]
    evs: int
    threshold: float
    rounds: int


class LbFlowlet(TypedDict):
    """Flowlets at the host, which take another path after an idle gap.

    kind: The kind of this part. (needed)
    evs: Number of entropy values among which each flowlet draws one. (count, 1 to 65536; needed)
    gap: An idle gap longer than this ends a flowlet. (time, rtt or rtt+queue, above 0; needed)
    since: Start of the idle gap. With `sent`, it is the time at which the previous packet was sent. With `ack`, it is
        the arrival of the last ACK. (choice, sent, ack; needed)
    """

    kind: Literal["flowlet"]
    evs: int
    gap: Time
    since: Literal["sent", "ack"]


class _LbBitmapNeeded(TypedDict):
    kind: Literal["bitmap"]
    evs: int
    ecn_penalty: int
    trim_penalty: int
    timeout_penalty: int
    max_penalty: int
    remembered: int


class LbBitmap(_LbBitmapNeeded, total=False):
    """A penalty for each entropy value, and a round robin over the values without one.

    kind: The kind of this part. (needed)
    evs: Number of entropy values. (count, 1 to 4096; needed)
    ecn_penalty: Penalty that the ACK of a marked packet adds to its entropy value. (count, 0 to 255; needed)
    trim_penalty: Penalty that a trimmed packet adds. (count, 0 to 255; needed)
    timeout_penalty: Penalty that a timeout adds. (count, 0 to 255; needed)
    max_penalty: The highest penalty. (count, 1 to 255; needed)
    remembered: Number of sent packets whose entropy values are recorded for timeouts. With 0, timeouts add no
        penalty, except under `uet` and `mrc`, which report the entropy value of the lost packet. (count, 0 to 65536;
        needed)
    skip_limit: Share of the entropy values. While more than this share have a penalty, no entropy value is skipped.
        (number, 0 to 1; default: `1.0`)
    decay: Penalties that a packet reduces by one: of the `first` entropy value that it skips, or of `each`. (choice,
        first, each; default: `"first"`)
    """

    skip_limit: float
    decay: Literal["first", "each"]


class LbMixed(TypedDict):
    """An entropy value that came back unmarked, or if there is none, the one that the bitmap chooses.

    kind: The kind of this part. (needed)
    evs: Number of entropy values. (count, 1 to 4096; needed)
    buffer: Largest number of entropy values that wait for reuse. Any further values that come back are discarded.
        (count, 1 to 4096; needed)
    ecn_penalty: Penalty of the bitmap that the ACK of a marked packet adds to its entropy value. (count, 0 to 255;
        needed)
    trim_penalty: Penalty that a trimmed packet adds. (count, 0 to 255; needed)
    timeout_penalty: Penalty that a timeout adds. (count, 0 to 255; needed)
    max_penalty: The highest penalty. (count, 1 to 255; needed)
    """

    kind: Literal["mixed"]
    evs: int
    buffer: int
    ecn_penalty: int
    trim_penalty: int
    timeout_penalty: int
    max_penalty: int


class LbMrcDenied(TypedDict):
    """`denied` of this part.

    plane: The plane. (count, 0 to 15; needed)
    path: The number of the path in its plane, modulo `of`. With source routes it is the number of the ToR's uplink.
        (count, 0 to 65535; needed)
    of: Number of paths in a plane. (count, 1 to 65536; needed)
    """

    plane: int
    path: int
    of: int


class _LbMrcNeeded(TypedDict):
    kind: Literal["mrc"]
    evs: int
    active: int
    min_active: float
    probe_interval: Time
    probe_successes: int


class LbMrc(_LbMrcNeeded, total=False):
    """MRC (OCP 1.0): a set of entropy values with states, equally many in each plane.

    kind: The kind of this part. (needed)
    evs: Number of entropy values of a queue pair, the backups included. Each plane has an equal part, at least one.
        (count, 1 to 4096; needed)
    active: Number of entropy values that are in use. Each plane has an equal part, and the others are backups.
        (count, 1 to 4096; needed)
    min_active: No entropy value is retired once fewer than this share of `evs` would be left (ev_min_active).
        (number, 0 to 1; needed)
    probe_interval: The time between probes of a retired entropy value. (time, rtt or rtt+queue, above 0; needed)
    probe_successes: Number of successful probes in a row after which an entropy value is used again. (count, 1 to
        255; needed)
    denied: A table with keys of its own. (default: the table of the base)
    """

    denied: Sequence[LbMrcDenied]


class LbAckClock(TypedDict):
    """Each packet takes the entropy value of the ACK that clocks it out.

    kind: The kind of this part. (needed)
    evs: Number of entropy values from which a packet draws at random if no ACK clocks it out. (count, 1 to 65536;
        needed)
    """

    kind: Literal["ack-clock"]
    evs: int


class LbRoundRobin(TypedDict):
    """A few entropy values in turn.

    kind: The kind of this part. (needed)
    evs: Number of entropy values. They are consecutive, and the first one is random. (count, 1 to 65536; needed)
    """

    kind: Literal["round-robin"]
    evs: int


class LbSettingsDenied(TypedDict, total=False):
    """`denied` of this part.

    plane: The plane. (count, 0 to 15; default: that of the base)
    path: The number of the path in its plane, modulo `of`. With source routes it is the number of the ToR's uplink.
        (count, 0 to 65535; default: that of the base)
    of: Number of paths in a plane. (count, 1 to 65536; default: that of the base)
    """

    plane: int
    path: int
    of: int


class LbSettings(TypedDict, total=False):
    """Parameters of the base's `lb`, of any kind.

    evs: Number of entropy values (EVS size). (count, 1 to 65536; default: that of the base)
    buffer: Entries of the circular buffer (REPS_BUFFER_SIZE). (count, 1 to 32; default: that of the base)
    freezing: Whether the sender freezes on failures (Appendix C.4 evaluates REPS without it). (flag; default: that of
        the base)
    freezing_timeout: Duration of freezing (FREEZING_TIMEOUT). (time, rtt or rtt+queue, above 0; default: that of the
        base)
    after_freezing: Behaviour at the end of freezing. With `keep`, the sender keeps its buffer, and every `buffer`-th
        of the next `explore_packets` packets explores. With `reset`, it empties the buffer, and each of these packets
        explores. (choice, keep, reset; default: that of the base)
    freezing_ends: Events at which a sender checks whether freezing is over: unmarked ACKs (`ack`), or timeouts as
        well (`timeout`). A sender whose cached entropies all fail gets no ACK, and with `ack` it stays frozen for
        ever. (choice, ack, timeout; default: that of the base)
    explore_packets: Number of packets after freezing of which some or all explore, according to `after_freezing`
        (NUM_PKTS_CWND). Algorithm 1 may mean the window at that time; here it is a fixed number. (count, 0 to 255;
        default: that of the base)
    failure_rtt: Number of base RTTs that separates failures from congestion. A timeout counts as a failure if the
        highest RTT measured in the last one to three RTOs was below this many base RTTs (Appendix A, without
        trimming). (number, 0 or more; default: that of the base)
    reuse: Number of packets for which a cached entropy is used ("ACK+Reuse EVs": the number of packets per ACK). A
        frozen sender without a valid entropy still uses each entry of the buffer once per cycle. (count, 1 to 64;
        default: that of the base)
    reuse_order: Order in which entropies are used if `reuse` is above 1. With `in-a-row`, the oldest entropy is used
        up before the next. With `in-turn`, the entropies take turns until all are used up. (choice, in-a-row,
        in-turn; default: that of the base)
    freeze_at: Time of the run at which a sender freezes once without a failure, for `freezing_timeout`. It freezes
        with the first ACK at or after this time. Without this parameter, only failures cause freezing. (time, rtt or
        rtt+queue, above 0; default: that of the base)
    max_paths: Number of entropy values, and of bits in the bitmap (max_paths). (count, 1 to 256; default: that of the
        base)
    min_paths: Least number of paths that the round robin covers (Algorithm 3, line 18), at most `max_paths`. (count,
        1 to 256; default: that of the base)
    paths: Number of virtual paths, that is of entropy values (UDP source ports). (count, 1 to 65536; default: that of
        the base)
    probe: Probability p that a packet that may probe does so (1 % in simulations of MP-RDMA). (number, 0 to 1;
        default: that of the base)
    probe_interval: Least time between two packets that may probe: an RTT. One simulation measures the RTT, the others
        take the base RTT of the fabric (`"1rtt"`). (time, rtt or rtt+queue, above 0; default: that of the base)
    threshold: Share of marked packets above which a round is congested. The share is taken among the packets whose
        ACKs arrive in the round. With 0, any mark makes the round congested. (number, 0 to 1; default: that of the
        base)
    rounds: Number of consecutive congested rounds after which the queue pair moves. (count, 1 to 255; default: that
        of the base)
    gap: An idle gap longer than this ends a flowlet. (time, rtt or rtt+queue, above 0; default: that of the base)
    since: Start of the idle gap. With `sent`, it is the time at which the previous packet was sent. With `ack`, it is
        the arrival of the last ACK. (choice, sent, ack; default: that of the base)
    ecn_penalty: Penalty that the ACK of a marked packet adds to its entropy value. (count, 0 to 255; default: that of
        the base)
    trim_penalty: Penalty that a trimmed packet adds. (count, 0 to 255; default: that of the base)
    timeout_penalty: Penalty that a timeout adds. (count, 0 to 255; default: that of the base)
    max_penalty: The highest penalty. (count, 1 to 255; default: that of the base)
    remembered: Number of sent packets whose entropy values are recorded for timeouts. With 0, timeouts add no
        penalty, except under `uet` and `mrc`, which report the entropy value of the lost packet. (count, 0 to 65536;
        default: that of the base)
    skip_limit: Share of the entropy values. While more than this share have a penalty, no entropy value is skipped.
        (number, 0 to 1; default: that of the base)
    decay: Penalties that a packet reduces by one: of the `first` entropy value that it skips, or of `each`. (choice,
        first, each; default: that of the base)
    active: Number of entropy values that are in use. Each plane has an equal part, and the others are backups.
        (count, 1 to 4096; default: that of the base)
    min_active: No entropy value is retired once fewer than this share of `evs` would be left (ev_min_active).
        (number, 0 to 1; default: that of the base)
    probe_successes: Number of successful probes in a row after which an entropy value is used again. (count, 1 to
        255; default: that of the base)
    denied: A table with keys of its own. (default: the table of the base)
    """

    evs: int
    buffer: int
    freezing: bool
    freezing_timeout: Time
    after_freezing: Literal["keep", "reset"]
    freezing_ends: Literal["ack", "timeout"]
    explore_packets: int
    failure_rtt: float
    reuse: int
    reuse_order: Literal["in-a-row", "in-turn"]
    freeze_at: Time
    max_paths: int
    min_paths: int
    paths: int
    probe: float
    probe_interval: Time
    threshold: float
    rounds: int
    gap: Time
    since: Literal["sent", "ack"]
    ecn_penalty: int
    trim_penalty: int
    timeout_penalty: int
    max_penalty: int
    remembered: int
    skip_limit: float
    decay: Literal["first", "each"]
    active: int
    min_active: float
    probe_successes: int
    denied: Sequence[LbSettingsDenied]


Lb = Union[
    LbEcmp,
    LbOps,
    LbReps,
    LbStrack,
    LbMpRdma,
    LbPlb,
    LbFlowlet,
    LbBitmap,
    LbMixed,
    LbMrc,
    LbAckClock,
    LbRoundRobin,
    LbSettings,
    OwnBalancer,
]


class ProgramThemisSpraying(TypedDict):
    """Themis for packet spraying, in both roles at every ToR.

    kind: The kind of this part. (needed)
    paths: Number of paths for which the tables have entries (N_paths, Table 2). (count, 1 to 65536; needed)
    window: Largest number of packets that a NIC may have unacknowledged (N_TX window, Table 2). The bitmap has twice
        as many bits. (count, 1 to 65536; needed)
    confirmation: Condition C2 (section 4.2): a NACK is valid only if a later packet of the same path has already been
        forwarded to the NIC. (flag; needed)
    lazy_drop: Lazy drop (section 4.3): an undetermined NACK is stored until a later packet decides its validity.
        Without lazy drop, an undetermined NACK is dropped. (flag; needed)
    reroute: Whether retransmissions take another path (section 4.4). (flag; needed)
    failure_handling: Whether paths whose packets fail to arrive are avoided (section 4.4). (flag; needed)
    ooo_threshold: Distance in PSNs at which a path is avoided (OOO_THRESHOLD). The path of a missing packet is
        avoided once a packet passes whose PSN exceeds the missing PSN by more than this number. (count, 1 to
        4294967295; needed)
    avoidance_window: Number of packets for which a path is avoided (AVOIDANCE_WINDOW). (count, 1 to 4294967295;
        needed)
    """

    kind: Literal["themis-spraying"]
    paths: int
    window: int
    confirmation: bool
    lazy_drop: bool
    reroute: bool
    failure_handling: bool
    ooo_threshold: int
    avoidance_window: int


class ProgramConweave(TypedDict):
    """ConWeave, in both roles at every ToR.

    kind: The kind of this part. (needed)
    reply_extra: Time that a reply may take, in addition to the unloaded round trip between the two ToRs of the queue
        pair. After this time the queue pair is rerouted. (time, rtt or rtt+queue, above 0; needed)
    path_pause: Time for which queue pairs are not rerouted to a path after an ECN mark on it. (time, rtt or
        rtt+queue, above 0; needed)
    flush_extra: Time after the estimated arrival of the TAIL at which held packets are released. (time, rtt or
        rtt+queue, above 0; needed)
    default_wait: Time after which held packets are released if there is no estimate of the TAIL's arrival. (time, rtt
        or rtt+queue, above 0; needed)
    expiry: Idle time after which a queue pair may take any path, whether or not a CLEAR ended its last reroute.
        (time, rtt or rtt+queue, above 0; needed)
    """

    kind: Literal["conweave"]
    reply_extra: Time
    path_pause: Time
    flush_extra: Time
    default_wait: Time
    expiry: Time


class _ProgramThemisLonghaulPnpNeeded(TypedDict):
    cnp_interval: Time
    clear_marks: bool
    monitor: bool
    expire: bool
    setup: Time
    daemon_delay: Time
    install_delay: Time
    entries: int


class ProgramThemisLonghaulPnp(_ProgramThemisLonghaulPnpNeeded, total=False):
    """`pnp` of this part.

    cnp_interval: Minimum time between two CNPs of a flow (cnp_interval). With 0, there is one CNP per marked packet
        (figure 16). (time, rtt or rtt+queue; needed)
    clear_marks: Whether the mark is cleared (CE is rewritten to ECT, which RFC 3168 forbids to routers). If the mark
        is kept, the receiver sends CNPs for marked packets as well (figure 16). (flag; needed)
    monitor: Whether only queue pairs whose TCP handshake passed the switch have an entry. If false, all queue pairs
        have an entry (figure 17). (flag; needed)
    expire: Whether entries are removed when their queue pair is destroyed. Otherwise they never are (figure 17).
        (flag; needed)
    setup: Time from a queue pair's TCP handshake and INIT to its first message. (time, rtt or rtt+queue; needed)
    daemon_delay: Delay from the host to the control plane. (time, rtt or rtt+queue; needed)
    install_delay: Delay from the control plane to the table. (time, rtt or rtt+queue; needed)
    both_ends: Whether the external switch of the receivers' data centre also sends CNPs, even for packets that it has
        marked itself. Daemons then report to the switches of both data centres. (flag; default: `false`)
    entries: Size of the table (section VI: 1024 entries). (count, 1 to 4294967295; needed)
    """

    both_ends: bool


class _ProgramThemisLonghaulTrpNeeded(TypedDict):
    alpha: int
    beta: Time
    growth: Literal["printed", "spaced"]
    recovery: Literal["rate", "direct", "none"]
    cache: bool
    cache_slots: int
    store: bool
    store_entries: int
    install_delay: Time
    rate: Rate
    latency: Time
    dummies: int
    dummy_bytes: Size


class ProgramThemisLonghaulTrp(_ProgramThemisLonghaulTrpNeeded, total=False):
    """`trp` of this part.

    alpha: Initial alpha of a flow: number of CNPs per increase of `loop_num` (Algorithm 1; 5 in section VI). (count,
        1 to 4294967295; needed)
    beta: Time without a CNP after which a flow recovers (Algorithm 1; 500 us in section VI). (time, rtt or rtt+queue,
        above 0; needed)
    growth: CNPs that increase `loop_num` (Algorithm 1, line 5). (choice, printed, spaced; needed)
    recovery: Recovery of a flow (appendix D). (choice, rate, direct, none; needed)
    cache: Whether CNP_Cache is used (figure 18). (flag; needed)
    cache_slots: Number of slots of CNP_Cache (1024 in section VI). (count, 1 to 16777216; needed)
    cache_fingerprint: Whether a slot of CNP_Cache has a fingerprint of its flow, 32 bits of the hash, which packets
        must match. (flag; default: `false`)
    cache_expiry: Time without a CNP after which a slot of CNP_Cache is free. With 0, slots do not expire. (time, rtt
        or rtt+queue; default: `"0ps"`)
    cache_reset_own: Whether the control plane resets a flow's slot of CNP_Cache only if this flow was the last to
        write the slot. The control plane resets the slot when it has made the flow's entry in CNP_Store. (flag;
        default: `false`)
    store: Whether CNP_Store is used (figure 18). (flag; needed)
    store_entries: Number of entries of CNP_Store (1024 in section VI). (count, 1 to 16777216; needed)
    install_delay: Time from a CNP to its flow's entry in CNP_Store (1 ms in section VII-C). (time, rtt or rtt+queue;
        needed)
    rate: Rate of the recirculation port. (rate, above 0; needed)
    latency: Latency of a pass through the recirculation port. (time, rtt or rtt+queue; needed)
    ecn: Whether the port marks packets (ECN) as other ports do. (flag; default: `false`)
    ecn_kmin: Bytes in the port above which packets are marked with a probability that rises from 0. (bytes; default:
        `"1600KB"`)
    ecn_kmax: Bytes in the port above which every packet is marked. (bytes; default: `"25000KiB"`)
    ecn_pmax: Share of packets that are marked just below `ecn_kmax`. The share rises linearly from 0 at `ecn_kmin`.
        (number, 0 to 1; default: `0.2`)
    dummies: Number of dummy packets that circulate in the recirculation port (section V-B: "a few"). (count; needed)
    dummy_bytes: Size of a dummy packet. (bytes, above 0; needed)
    """

    cache_fingerprint: bool
    cache_expiry: Time
    cache_reset_own: bool
    ecn: bool
    ecn_kmin: Size
    ecn_kmax: Size
    ecn_pmax: float


class _ProgramThemisLonghaulNeeded(TypedDict):
    kind: Literal["themis-longhaul"]


class ProgramThemisLonghaul(_ProgramThemisLonghaulNeeded, total=False):
    """Themis for long-haul networks, at the switches between data centres.

    kind: The kind of this part. (needed)
    pnp: A table with keys of its own. (default: the table of the base)
    trp: A table with keys of its own. (default: the table of the base)
    """

    pnp: ProgramThemisLonghaulPnp
    trp: ProgramThemisLonghaulTrp


class ProgramFlowlet(TypedDict):
    """Flowlet switching as in LetFlow, at the source ToR.

    kind: The kind of this part. (needed)
    gap: Idle time between two packets of a queue pair above which the second packet starts a new flowlet. The path of
        a new flowlet is random. (time, rtt or rtt+queue, above 0; needed)
    """

    kind: Literal["flowlet"]
    gap: Time


class ProgramNackDrop(TypedDict):
    """Drops a share of the NACKs on their way to the switch's hosts (Themis-spraying, section 2.3).

    kind: The kind of this part. (needed)
    share: The probability that a NACK is dropped. (number, 0 to 1; needed)
    """

    kind: Literal["nack-drop"]
    share: float


class ProgramAnnulus(TypedDict):
    """Annulus as Themis-longhaul simulates it, at every ToR.

    kind: The kind of this part. (needed)
    cnp_interval: Least time between two CNPs for a queue pair. With 0, each marked packet causes one. (time, rtt or
        rtt+queue; needed)
    clear_marks: Whether the ToR clears the mark, so that only the ToR and not also the receiver sends a CNP for it.
        (flag; needed)
    inter_only: Whether flows that stay within a data centre are ignored. (flag; needed)
    """

    kind: Literal["annulus"]
    cnp_interval: Time
    clear_marks: bool
    inter_only: bool


class _ProgramBiccNeeded(TypedDict):
    kind: Literal["bicc"]
    window: Size
    release: Time


class ProgramBicc(_ProgramBiccNeeded, total=False):
    """BiCC as Themis-longhaul simulates it, at every external switch.

    kind: The kind of this part. (needed)
    window: Largest number of bytes in flight between the switch and one host: the BDP within a data centre. (`"1bdp"`
        would be the BDP of the fabric's longest path, which leads from one data centre to the other.) One packet is
        always allowed. With `scope = "switch"`, the limit applies to the bytes between the switch and all its hosts
        together. (bytes, packets or bdp, above 0; needed)
    release: Time after which a packet without any feedback is no longer counted as in flight. (time, rtt or
        rtt+queue, above 0; needed)
    scope: Scope of the window and of the queue. (choice, destination, switch; default: `"destination"`)
    clear_marks: Whether the near-source loop clears the mark of packets that leave the data centre. (flag; default:
        `false`)
    ecn: Whether packets are marked (ECN) in the queues of delayed packets, as in the queues of ports. (flag; default:
        `false`)
    ecn_kmin: Bytes in a queue of delayed packets above which packets are marked with a probability that rises from 0.
        (bytes; default: `"400KB"`)
    ecn_kmax: Bytes in a queue of delayed packets above which every packet is marked. (bytes; default: `"1600KB"`)
    ecn_pmax: Share of packets that are marked just below `ecn_kmax`. The share rises linearly from 0 at `ecn_kmin`.
        (number, 0 to 1; default: `0.2`)
    """

    scope: Literal["destination", "switch"]
    clear_marks: bool
    ecn: bool
    ecn_kmin: Size
    ecn_kmax: Size
    ecn_pmax: float


class ProgramSettingsPnp(TypedDict, total=False):
    """`pnp` of this part.

    cnp_interval: Minimum time between two CNPs of a flow (cnp_interval). With 0, there is one CNP per marked packet
        (figure 16). (time, rtt or rtt+queue; default: that of the base)
    clear_marks: Whether the mark is cleared (CE is rewritten to ECT, which RFC 3168 forbids to routers). If the mark
        is kept, the receiver sends CNPs for marked packets as well (figure 16). (flag; default: that of the base)
    monitor: Whether only queue pairs whose TCP handshake passed the switch have an entry. If false, all queue pairs
        have an entry (figure 17). (flag; default: that of the base)
    expire: Whether entries are removed when their queue pair is destroyed. Otherwise they never are (figure 17).
        (flag; default: that of the base)
    setup: Time from a queue pair's TCP handshake and INIT to its first message. (time, rtt or rtt+queue; default:
        that of the base)
    daemon_delay: Delay from the host to the control plane. (time, rtt or rtt+queue; default: that of the base)
    install_delay: Delay from the control plane to the table. (time, rtt or rtt+queue; default: that of the base)
    both_ends: Whether the external switch of the receivers' data centre also sends CNPs, even for packets that it has
        marked itself. Daemons then report to the switches of both data centres. (flag; default: that of the base)
    entries: Size of the table (section VI: 1024 entries). (count, 1 to 4294967295; default: that of the base)
    """

    cnp_interval: Time
    clear_marks: bool
    monitor: bool
    expire: bool
    setup: Time
    daemon_delay: Time
    install_delay: Time
    both_ends: bool
    entries: int


class ProgramSettingsTrp(TypedDict, total=False):
    """`trp` of this part.

    alpha: Initial alpha of a flow: number of CNPs per increase of `loop_num` (Algorithm 1; 5 in section VI). (count,
        1 to 4294967295; default: that of the base)
    beta: Time without a CNP after which a flow recovers (Algorithm 1; 500 us in section VI). (time, rtt or rtt+queue,
        above 0; default: that of the base)
    growth: CNPs that increase `loop_num` (Algorithm 1, line 5). (choice, printed, spaced; default: that of the base)
    recovery: Recovery of a flow (appendix D). (choice, rate, direct, none; default: that of the base)
    cache: Whether CNP_Cache is used (figure 18). (flag; default: that of the base)
    cache_slots: Number of slots of CNP_Cache (1024 in section VI). (count, 1 to 16777216; default: that of the base)
    cache_fingerprint: Whether a slot of CNP_Cache has a fingerprint of its flow, 32 bits of the hash, which packets
        must match. (flag; default: that of the base)
    cache_expiry: Time without a CNP after which a slot of CNP_Cache is free. With 0, slots do not expire. (time, rtt
        or rtt+queue; default: that of the base)
    cache_reset_own: Whether the control plane resets a flow's slot of CNP_Cache only if this flow was the last to
        write the slot. The control plane resets the slot when it has made the flow's entry in CNP_Store. (flag;
        default: that of the base)
    store: Whether CNP_Store is used (figure 18). (flag; default: that of the base)
    store_entries: Number of entries of CNP_Store (1024 in section VI). (count, 1 to 16777216; default: that of the
        base)
    install_delay: Time from a CNP to its flow's entry in CNP_Store (1 ms in section VII-C). (time, rtt or rtt+queue;
        default: that of the base)
    rate: Rate of the recirculation port. (rate, above 0; default: that of the base)
    latency: Latency of a pass through the recirculation port. (time, rtt or rtt+queue; default: that of the base)
    ecn: Whether the port marks packets (ECN) as other ports do. (flag; default: that of the base)
    ecn_kmin: Bytes in the port above which packets are marked with a probability that rises from 0. (bytes; default:
        that of the base)
    ecn_kmax: Bytes in the port above which every packet is marked. (bytes; default: that of the base)
    ecn_pmax: Share of packets that are marked just below `ecn_kmax`. The share rises linearly from 0 at `ecn_kmin`.
        (number, 0 to 1; default: that of the base)
    dummies: Number of dummy packets that circulate in the recirculation port (section V-B: "a few"). (count; default:
        that of the base)
    dummy_bytes: Size of a dummy packet. (bytes, above 0; default: that of the base)
    """

    alpha: int
    beta: Time
    growth: Literal["printed", "spaced"]
    recovery: Literal["rate", "direct", "none"]
    cache: bool
    cache_slots: int
    cache_fingerprint: bool
    cache_expiry: Time
    cache_reset_own: bool
    store: bool
    store_entries: int
    install_delay: Time
    rate: Rate
    latency: Time
    ecn: bool
    ecn_kmin: Size
    ecn_kmax: Size
    ecn_pmax: float
    dummies: int
    dummy_bytes: Size


class ProgramSettings(TypedDict, total=False):
    """Parameters of the base's `fabric.program`, of any kind.

    paths: Number of paths for which the tables have entries (N_paths, Table 2). (count, 1 to 65536; default: that of
        the base)
    window: Largest number of bytes in flight between the switch and one host: the BDP within a data centre. (`"1bdp"`
        would be the BDP of the fabric's longest path, which leads from one data centre to the other.) One packet is
        always allowed. With `scope = "switch"`, the limit applies to the bytes between the switch and all its hosts
        together. (bytes, packets or bdp, above 0; default: that of the base)
    confirmation: Condition C2 (section 4.2): a NACK is valid only if a later packet of the same path has already been
        forwarded to the NIC. (flag; default: that of the base)
    lazy_drop: Lazy drop (section 4.3): an undetermined NACK is stored until a later packet decides its validity.
        Without lazy drop, an undetermined NACK is dropped. (flag; default: that of the base)
    reroute: Whether retransmissions take another path (section 4.4). (flag; default: that of the base)
    failure_handling: Whether paths whose packets fail to arrive are avoided (section 4.4). (flag; default: that of
        the base)
    ooo_threshold: Distance in PSNs at which a path is avoided (OOO_THRESHOLD). The path of a missing packet is
        avoided once a packet passes whose PSN exceeds the missing PSN by more than this number. (count, 1 to
        4294967295; default: that of the base)
    avoidance_window: Number of packets for which a path is avoided (AVOIDANCE_WINDOW). (count, 1 to 4294967295;
        default: that of the base)
    reply_extra: Time that a reply may take, in addition to the unloaded round trip between the two ToRs of the queue
        pair. After this time the queue pair is rerouted. (time, rtt or rtt+queue, above 0; default: that of the base)
    path_pause: Time for which queue pairs are not rerouted to a path after an ECN mark on it. (time, rtt or
        rtt+queue, above 0; default: that of the base)
    flush_extra: Time after the estimated arrival of the TAIL at which held packets are released. (time, rtt or
        rtt+queue, above 0; default: that of the base)
    default_wait: Time after which held packets are released if there is no estimate of the TAIL's arrival. (time, rtt
        or rtt+queue, above 0; default: that of the base)
    expiry: Idle time after which a queue pair may take any path, whether or not a CLEAR ended its last reroute.
        (time, rtt or rtt+queue, above 0; default: that of the base)
    gap: Idle time between two packets of a queue pair above which the second packet starts a new flowlet. The path of
        a new flowlet is random. (time, rtt or rtt+queue, above 0; default: that of the base)
    share: The probability that a NACK is dropped. (number, 0 to 1; default: that of the base)
    cnp_interval: Least time between two CNPs for a queue pair. With 0, each marked packet causes one. (time, rtt or
        rtt+queue; default: that of the base)
    clear_marks: Whether the ToR clears the mark, so that only the ToR and not also the receiver sends a CNP for it.
        (flag; default: that of the base)
    inter_only: Whether flows that stay within a data centre are ignored. (flag; default: that of the base)
    release: Time after which a packet without any feedback is no longer counted as in flight. (time, rtt or
        rtt+queue, above 0; default: that of the base)
    scope: Scope of the window and of the queue. (choice, destination, switch; default: that of the base)
    ecn: Whether packets are marked (ECN) in the queues of delayed packets, as in the queues of ports. (flag; default:
        that of the base)
    ecn_kmin: Bytes in a queue of delayed packets above which packets are marked with a probability that rises from 0.
        (bytes; default: that of the base)
    ecn_kmax: Bytes in a queue of delayed packets above which every packet is marked. (bytes; default: that of the
        base)
    ecn_pmax: Share of packets that are marked just below `ecn_kmax`. The share rises linearly from 0 at `ecn_kmin`.
        (number, 0 to 1; default: that of the base)
    pnp: A table with keys of its own. (default: the table of the base)
    trp: A table with keys of its own. (default: the table of the base)
    """

    paths: int
    window: int | Size
    confirmation: bool
    lazy_drop: bool
    reroute: bool
    failure_handling: bool
    ooo_threshold: int
    avoidance_window: int
    reply_extra: Time
    path_pause: Time
    flush_extra: Time
    default_wait: Time
    expiry: Time
    gap: Time
    share: float
    cnp_interval: Time
    clear_marks: bool
    inter_only: bool
    release: Time
    scope: Literal["destination", "switch"]
    ecn: bool
    ecn_kmin: Size
    ecn_kmax: Size
    ecn_pmax: float
    pnp: ProgramSettingsPnp
    trp: ProgramSettingsTrp


Program = Union[
    ProgramThemisSpraying,
    ProgramConweave,
    ProgramThemisLonghaul,
    ProgramFlowlet,
    ProgramNackDrop,
    ProgramAnnulus,
    ProgramBicc,
    ProgramSettings,
]


class FabricEcnFrom(TypedDict):
    """`ecn_from` of this part.

    rate: The thresholds apply to links of this rate and faster ones, up to the rate of the next step. (rate; needed)
    kmin: The queue length up to which no data packet is marked on these links. (bytes, packets, bdp or queue; needed)
    kmax: The queue length above which every data packet is marked on these links. (bytes, packets, bdp or queue;
        needed)
    """

    rate: Rate
    kmin: Size
    kmax: Size


class FabricWrr(TypedDict, total=False):
    """`wrr` of this part.

    radix: Number of ports N for which the weight is computed. Without it, each switch's own number of ports is used.
        (count, 2 to 65536; default: none)
    weight: The weight itself: the bytes of the control queue per byte of the data queue while both wait. Without it,
        the weight follows from the radix. (number, 1/65536 to 65535; default: none)
    """

    radix: int
    weight: float


class FabricPfcAlphaFrom(TypedDict):
    """`alpha_from` of this part.

    rate: This alpha applies to ports of this rate and above, up to the rate of the next entry. (rate, above 0;
        needed)
    alpha: Dynamic threshold of these ports, as `pfc.alpha`. (number, 1/65536 to 65536; needed)
    """

    rate: Rate
    alpha: float


class _FabricPfcAtNeeded(TypedDict):
    switches: str
    buffer: Size


class FabricPfcAt(_FabricPfcAtNeeded, total=False):
    """`at` of this part.

    switches: The class of switches: `tor`, `leaf`, `esw` ... (text; needed)
    buffer: Packet buffer of such a switch. It has the meaning of `buffer` in `pfc`, but is never scaled. (bytes,
        above 0; needed)
    alpha: Dynamic threshold of all ports of these switches, with the meaning of `pfc.alpha`. Without it, these
        switches use the threshold of all other switches. With 65536 and a buffer that never fills, these switches
        never send XOFF. (number, 1/65536 to 65536; default: none)
    """

    alpha: float


class FabricPfc(TypedDict, total=False):
    """`pfc` of this part.

    buffer: Packet buffer of a switch. It includes the headroom unless `headroom_apart` is set. (bytes, above 0;
        default: required)
    headroom_apart: Headroom is reserved in addition to `buffer` instead of inside it. Links with a large BDP require
        this: a link of 1.6 Tb/s with a latency of 500 us each way needs 200 MB of headroom. (flag; default: `false`)
    buffer_rate: `buffer` is the buffer of a switch whose port rates add up to this rate, and is scaled for other
        switches (STrack, section 4.1). Without `buffer_rate`, `buffer` is not scaled. A scheme or scenario that sets
        only `buffer` removes `buffer_rate`. (rate, above 0; default: none)
    alpha: Dynamic threshold (alpha): an ingress port may hold this many times the free part of the shared buffer
        before it sends XOFF. (number, 1/65536 to 65536; default: none)
    threshold: Static XOFF threshold of each ingress port, instead of the dynamic threshold `alpha`. (bytes, packets
        or bdp, above 0; default: none)
    resume: XON is sent when the ingress port's share of the buffer has fallen this far below the XOFF threshold and
        its headroom is empty, or when the port holds no data. (bytes, packets or bdp, above 0; default: required)
    headroom: Headroom of each ingress port. If left out, each port has the headroom that its link needs. (bytes,
        packets or bdp, above 0; default: none)
    watchdog: The PFC watchdog of switches, which ends a storm of pauses at a port. At each poll, a port counts as
        stormed if data waits there, none was sent since the last poll, and the port was paused for more than 99 % of
        that time. After `watchdog_detection`, the watchdog acts until the storm is over. With `drop`, the port drops
        its waiting and arriving data. With `forward`, the port sends in spite of pauses. Without a watchdog, ports
        obey every pause. (choice, drop, forward; default: none)
    watchdog_poll: The time from one poll of the watchdog to the next. All switches poll at multiples of this time.
        (time, 1us to 10s; default: `"200ms"`)
    watchdog_detection: The time for which a port must have been stormed, poll by poll, until the watchdog acts.
        (time, 1us to 10s; default: `"200ms"`)
    watchdog_restoration: The time without any pause, poll by poll, until the watchdog restores the port. (time, 1us
        to 10s; default: `"200ms"`)
    alpha_from: A table with keys of its own. (default: the table of the base)
    at: A table with keys of its own. (default: the table of the base)
    """

    buffer: Size
    headroom_apart: bool
    buffer_rate: Rate
    alpha: float
    threshold: Size
    resume: Size
    headroom: Size
    watchdog: Literal["drop", "forward"]
    watchdog_poll: Time
    watchdog_detection: Time
    watchdog_restoration: Time
    alpha_from: Sequence[FabricPfcAlphaFrom]
    at: Sequence[FabricPfcAt]


class Fabric(TypedDict, total=False):
    """The parameters of switches, their queues and their routing.

    queue: Capacity of a port's data queue. Packets beyond it are dropped or trimmed. With `shared_buffer` this
        capacity limits no queue, since the queues share that buffer. Only timeouts and thresholds in units of the
        queue (`5queue`, `0.2queue`) then refer to it. Lossless fabrics have `pfc` instead. (bytes, packets or bdp,
        above 0; default: none)
    shared_buffer: Data buffer of a switch that drops or trims. The egress queues share the buffer by the dynamic
        threshold `shared_alpha`. With 0, each queue has the static limit `queue`. (bytes; default: `"0B"`)
    last_hop_queue: Capacity of the data queues of ports to hosts. Without `last_hop_queue`, their capacity is
        `queue`. With a shared buffer, `last_hop_queue` has no effect. (bytes, packets or bdp, above 0; default: none)
    shared_alpha: Dynamic threshold of a shared buffer: one data queue may hold this many times the free part of the
        buffer. (number, 1/65536 to 65536; default: `1.0`)
    full_queue: The packet that a full data queue drops or trims. With `arriving` it is the arriving packet
        (drop-tail). With `coin`, a fair coin decides between the arriving packet and the youngest packet in the
        queue. If the youngest packet is chosen, the arriving packet takes its place. If the arriving packet does not
        fit there, because the youngest packet was shorter, both are dropped or trimmed. (choice, arriving, coin;
        default: `"arriving"`)
    control_queue: Capacity of a port's control queue. (bytes, packets or bdp, above 0; default: required)
    ecn_kmin: The queue length up to which no data packet is marked. (bytes, packets, bdp or queue; default: required)
    ecn_kmax: The queue length above which every data packet is marked. (bytes, packets, bdp or queue; default:
        required)
    ecn_pmax: Marking probability at `ecn_kmax` (Pmax). The probability rises to it from 0 at `ecn_kmin`. (number, 0
        to 1; default: required)
    last_hop_ecn: Whether ports to hosts mark packets. Where receivers grant credit, a queue at such a port is no sign
        of a congested path. (flag; default: `true`)
    queues_follow_rate: Whether the queue of a link follows the rate that a fault gives to the link (`kind = "rate"`).
        The capacity of its data queue and its ECN thresholds are then multiplied by the new rate over the usual one,
        so that a full queue takes as long to drain as before. A queue always holds at least a full packet. Control
        queues and shared buffers do not follow. (flag; default: `false`)
    trim: Data packets that do not fit are trimmed to their header instead of being dropped. (flag; default: `false`)
    acks_with_data: Switches treat only trimmed packets as control packets. ACKs, NACKs and CNPs wait in the data
        queue, take the paths of data, and are dropped where data is trimmed (DCP, section 4.2). (flag; default:
        `false`)
    routing_delay: Time from the failure of a link until routing withdraws the link, and from its recovery until
        routing restores the link. If this is left out, routing never changes. (time; default: none)
    routing: The way in which switches choose among equal-cost ports. (choice, ecmp, ecmp-linear, adaptive, spray,
        source; default: `"ecmp"`)
    port_choice: The port, and so the plane, by which a packet leaves a NIC with several ports. With `entropy` it is
        the entropy value modulo the number of ports. A load balancer that spreads packets over entropy values then
        spreads them over ports. With `queue-pair` each queue pair uses one port, and a host assigns its queue pairs
        to its ports in rotation. With `packet` each data packet leaves by the next free port. The default is `packet`
        if `routing` is `adaptive` or `spray`, otherwise `entropy`. (choice, entropy, queue-pair, packet; default:
        none)
    port_failover: A packet leaves by another port of the NIC if the NIC knows that the link of the packet's own port
        is down. (flag; default: `true`)
    arrival_order: The order in which a node handles packets that arrive at one instant. With `port` the order is by
        increasing ingress port. With `random` the order is drawn for each node and instant, so that no port is always
        served first. (choice, port, random; default: `"port"`)
    nic_jitter: The largest delay of the first packet, data or ACK, after a port of a NIC was idle. The delay is drawn
        uniformly from 0 to this value. Packets that follow within a packet's serialisation time are not delayed,
        because a gap before each of them would have the effect of a slower link. With 0 there is no delay. (time, 0ps
        to 1ms; default: `"0ps"`)
    timer_tick: The interval between the timer ticks of a host. A sender's timeout (for a retransmission, a probe or a
        request for credit) fires at the first tick at or after its due time. The first tick of each host is random.
        Pacing does not use the ticks. With 0, timeouts do not wait for ticks. (time, 0ps to 1ms; default: `"0ps"`)
    timer_jitter: The largest delay of a sender's timeout after its tick, or after its due time if `timer_tick` is 0.
        The delay is drawn uniformly from 0 to this value for each timeout. (time, 0ps to 1ms; default: `"0ps"`)
    clock_ppm: The largest deviation of the clock of a NIC or switch from the nominal rate, in parts per million. Each
        device draws its deviation uniformly between minus and plus this value. The deviation changes the
        serialisation times of the device's packets. Latencies, pacing, timers and ideal FCTs are not affected. With
        0, all clocks are exact. (count, 0 to 100; default: `0`)
    program_at: The switches to which the program is attached, such as `tor:0` or `esw:100%`. Without it, the program
        is attached to every ToR. (text; default: none)
    program: The program that the switches run. (default: none)
    ecn_from: A table with keys of its own. (default: the table of the base)
    wrr: A table with keys of its own. (default: the table of the base)
    pfc: A table with keys of its own. (default: the table of the base)
    """

    queue: Size
    shared_buffer: Size
    last_hop_queue: Size
    shared_alpha: float
    full_queue: Literal["arriving", "coin"]
    control_queue: Size
    ecn_kmin: Size
    ecn_kmax: Size
    ecn_pmax: float
    last_hop_ecn: bool
    queues_follow_rate: bool
    trim: bool
    acks_with_data: bool
    routing_delay: Time
    routing: Literal["ecmp", "ecmp-linear", "adaptive", "spray", "source"]
    port_choice: Literal["entropy", "queue-pair", "packet"]
    port_failover: bool
    arrival_order: Literal["port", "random"]
    nic_jitter: Time
    timer_tick: Time
    timer_jitter: Time
    clock_ppm: int
    program_at: str
    program: Program
    ecn_from: Sequence[FabricEcnFrom]
    wrr: FabricWrr
    pfc: FabricPfc


class Mix(TypedDict):
    """A load balancer that only some of the hosts have.

    every: Hosts 0, n, 2n and so on use the load balancer `mix.lb`. (count, 2 to 65536; needed)
    lb: The load balancer of these hosts. (needed)
    """

    every: int
    lb: Lb


#: The value of arguments that a call leaves out.
_UNSAID: Any = object()
S = TypeVar("S", bound="Builder")


class Builder(dict[str, Any]):
    """A scenario. Each method sets or adds one of its tables."""

    @overload
    def topology(
        self: S,
        kind: Literal["fat-tree"],
        *,
        hosts: int,
        link: Rate,
        tiers: Literal[2, 3] = ...,
        link_latency: Time = ...,
        switch_latency: Time = ...,
        oversubscription: float | str = ...,
        hosts_per_tor: int = ...,
        pod_hosts: int = ...,
        tier: Sequence[Tier] = ...,
    ) -> S:
        """Two or three tiers of any radix and oversubscription.

        hosts: Number of hosts of the fabric. (a number, 2 or more; needed)
        tiers: Number of tiers of switches. (2 or 3; default: `2`)
        link: Rate of the links. (a rate above 0; needed)
        link_latency: Propagation delay of a link. (a time; default: `"500ns"`)
        switch_latency: Latency of a switch, without queueing. (a time; default: `"500ns"`)
        oversubscription: Total rate of the hosts of a ToR, divided by the total rate of its uplinks. (a number, 1 or
            more, or `"2:1"`; default: `1`)
        hosts_per_tor: Number of hosts below a ToR. (a number, 1 or more; default: by the numbers of hosts and tiers)
        pod_hosts: Number of hosts of a pod, in a fabric of three tiers. (a number, 2 or more; default: by the numbers
            of hosts and tiers)
        tier: `[[topology.tier]]`: the differences of each tier, from the ToRs up. (default: by the keys above)
        """

    @overload
    def topology(
        self: S,
        kind: Literal["leaf-spine"],
        *,
        hosts: int,
        link: Rate,
        link_latency: Time = ...,
        switch_latency: Time = ...,
        oversubscription: float | str = ...,
        hosts_per_tor: int = ...,
        pod_hosts: int = ...,
        tier: Sequence[Tier] = ...,
    ) -> S:
        """A fat tree of two tiers.

        hosts: Number of hosts of the fabric. (a number, 2 or more; needed)
        link: Rate of the links. (a rate above 0; needed)
        link_latency: Propagation delay of a link. (a time; default: `"500ns"`)
        switch_latency: Latency of a switch, without queueing. (a time; default: `"500ns"`)
        oversubscription: Total rate of the hosts of a leaf, divided by the total rate of its uplinks. (a number, 1 or
            more, or `"2:1"`; default: `1`)
        hosts_per_tor: Number of hosts below a leaf. (a number, 1 or more; default: by the number of hosts)
        pod_hosts: Number of hosts of a pod. (a number, 2 or more; default: all)
        tier: `[[topology.tier]]`: the differences of each tier, from the leaves up. (default: by the keys above)
        """

    @overload
    def topology(
        self: S,
        kind: Literal["fat-tree", "leaf-spine"],
        *,
        file: File,
        link: Rate = ...,
        link_latency: Time = ...,
        switch_latency: Time = ...,
        tier: Sequence[Tier] = ...,
    ) -> S:
        """A fat tree from a `.topo` file of htsim. The keys of this table replace the values of the file.

        file: The file. (a file's name, from the scenario's folder; needed)
        link: Rate of the links. (a rate above 0; default: the file's)
        link_latency: Propagation delay of a link. (a time; default: the file's)
        switch_latency: Latency of a switch, without queueing. (a time; default: the file's)
        tier: `[[topology.tier]]`: the differences of each tier, from the ToRs up. (default: the file's)
        """

    @overload
    def topology(
        self: S,
        kind: Literal["single-switch"],
        *,
        hosts: int,
        link: Rate,
        link_latency: Time = ...,
        switch_latency: Time = ...,
    ) -> S:
        """All hosts on one switch.

        hosts: Number of hosts of the fabric. (a number, 2 or more; needed)
        link: Rate of the links. (a rate above 0; needed)
        link_latency: Propagation delay of a link. (a time; default: `"500ns"`)
        switch_latency: Latency of a switch, without queueing. (a time; default: `"500ns"`)
        """

    @overload
    def topology(
        self: S,
        kind: Literal["dumbbell"],
        *,
        hosts: int,
        link: Rate,
        trunk: Rate = ...,
        link_latency: Time = ...,
        trunk_latency: Time = ...,
        switch_latency: Time = ...,
    ) -> S:
        """Two switches joined by one cable, half of the hosts on each.

        hosts: Number of hosts of the fabric. (an even number, 2 or more; needed)
        link: Rate of the links. (a rate above 0; needed)
        trunk: Rate of the cable between the switches. (a rate above 0; default: `link`)
        link_latency: Propagation delay of a link. (a time; default: `"500ns"`)
        trunk_latency: Propagation delay of the cable between the switches. (a time; default: `link_latency`)
        switch_latency: Latency of a switch, without queueing. (a time; default: `"500ns"`)
        """

    @overload
    def topology(
        self: S,
        kind: Literal["cross-dc"],
        *,
        tors: int,
        leaves: int,
        hosts_per_tor: int,
        link: Rate,
        wan_latency: Time,
        dcs: int = ...,
        link_latency: Time = ...,
        esw_link: Rate = ...,
        esw_link_latency: Time = ...,
        wan_link: Rate = ...,
        switch_latency: Time = ...,
    ) -> S:
        """Data centres of ToRs and leaves, joined by external switches over long links.

        dcs: Number of data centres. (a number, 2 or more; default: `2`)
        tors: Number of ToRs of a data centre. (a number, 1 or more; needed)
        leaves: Number of leaves of a data centre. (a number, 1 or more; needed)
        hosts_per_tor: Number of hosts below a ToR. (a number, 1 or more; needed)
        link: Rate of the links. (a rate above 0; needed)
        link_latency: Propagation delay of a link. (a time; default: `"500ns"`)
        esw_link: Rate of a leaf's link to the external switch. (a rate above 0; default: all that the hosts of a data
            centre can send, over its leaves)
        esw_link_latency: Propagation delay of that link. (a time; default: `link_latency`)
        wan_link: Rate of a link between data centres. (a rate above 0; default: all that the hosts of a data centre
            can send)
        wan_latency: Propagation delay of that link: 5 us per kilometre of fibre. (a time; needed)
        switch_latency: Latency of a switch, without queueing. (a time; default: `"500ns"`)
        """

    @overload
    def topology(
        self: S,
        kind: Literal["rails"],
        *,
        servers: int,
        server: File = ...,
        nics: int = ...,
        gpus: int = ...,
        gpu_nics: Sequence[int] = ...,
        ports: Literal[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16] = ...,
        nvlink_domain: int = ...,
        nvlink: Rate = ...,
        nvlink_latency: Time = ...,
        segment: int = ...,
        pod: int = ...,
        tiers: Literal[1, 2, 3] = ...,
        link: Rate = ...,
        uplink: Rate = ...,
        core_link: Rate = ...,
        link_latency: Time = ...,
        switch_latency: Time = ...,
        oversubscription: float | str = ...,
        uplinks: int = ...,
        spines: int = ...,
        core_oversubscription: float | str = ...,
        core_uplinks: int = ...,
        cores: int = ...,
        radix: int = ...,
        spine_group: Literal["pod", "rail"] = ...,
    ) -> S:
        """A rail-optimised cluster: a leaf has the NICs of one rail of a segment.

        servers: Number of servers of the cluster. (a number, 1 or more; needed)
        server: A server's topology from NCCL (`NCCL_TOPO_DUMP_FILE`): its GPUs, NICs, ports, rates and NVLink. The
            keys of this table replace its values. (a file's name, from the scenario's folder; default: the keys
            beside it)
        nics: Number of NICs of a server. Each NIC belongs to a separate rail. (a number, 1 or more; default: `8`)
        gpus: Number of GPUs of a server. (a number, 1 or more; default: `nics`)
        gpu_nics: The NIC of each GPU of a server. (a list of numbers; default: GPU g of a server has NIC g x `nics` /
            `gpus`)
        ports: Number of ports of a NIC. Each port is in a separate plane. (a number, 1 to 16; default: `1`)
        nvlink_domain: Number of neighbouring servers whose GPUs are connected by NVLink. (a number, 1 or more;
            default: `1`)
        nvlink: Total rate of the NVLinks of a GPU, per direction. (a rate above 0; default: none)
        nvlink_latency: Latency of NVLink between two GPUs. It applies if `nvlink` gives the rate. (a time; default:
            50ns)
        segment: Number of servers of a segment, which share their leaves. The last segment may have fewer. (a number,
            1 or more; default: so many that leaves have up to 32 NICs, or by `radix`)
        pod: Number of segments of a pod, which share their spines. (a number, 1 or more; default: all)
        tiers: Number of tiers of switches: leaves, spines and cores. (a number, 1 to 3; default: 2, or 3 with several
            pods)
        link: Rate of a NIC's port. (a rate above 0; default: required without `server`)
        uplink: Rate of the links between leaves and spines. (a rate above 0; default: `link`)
        core_link: Rate of the links between spines and cores. (a rate above 0; default: `uplink`)
        link_latency: Propagation delay of a link. (a time; default: `"500ns"`)
        switch_latency: Latency of a switch, without queueing. (a time; default: `"500ns"`)
        oversubscription: Total rate of the NICs of a leaf, divided by the total rate of its uplinks. (a number, 1 or
            more, or `"2:1"`; default: 1)
        uplinks: Number of uplinks of a leaf, instead of `oversubscription`. (a number, 0 or more; default: by
            `oversubscription`)
        spines: Number of spines of a pod in each plane; of a rail of the pod with `spine_group = "rail"`. (a number,
            0 or more; default: one for each uplink of a leaf; with `radix` as few as will do)
        core_oversubscription: Total rate of the links below a spine, divided by the total rate of its uplinks. (a
            number, 1 or more, or `"2:1"`; default: 1)
        core_uplinks: Number of uplinks of a spine, instead of `core_oversubscription`. (a number, 0 or more; default:
            by `core_oversubscription`)
        cores: Number of cores of each plane. (a number, 0 or more; default: one for each uplink of a group's spines;
            with `radix` as few as will do)
        radix: Number of ports of the available switches. A fabric that needs more is an error. Of the numbers that
            are not given, segments are as few as fit the leaves, and equal if they can be; spines and cores are as
            few as their ports permit. (a number, 1 or more; default: any number of ports)
        spine_group: The leaves that share their spines: those of a pod, or those of one rail. (`pod` or `rail`;
            default: `"pod"`; `"rail"` with kind = "rails" and three tiers)
        """

    @overload
    def topology(
        self: S,
        kind: Literal["multi-plane"],
        *,
        servers: int,
        server: File = ...,
        nics: int = ...,
        gpus: int = ...,
        gpu_nics: Sequence[int] = ...,
        ports: Literal[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16] = ...,
        nvlink_domain: int = ...,
        nvlink: Rate = ...,
        nvlink_latency: Time = ...,
        segment: int = ...,
        pod: int = ...,
        tiers: Literal[1, 2, 3] = ...,
        link: Rate = ...,
        uplink: Rate = ...,
        core_link: Rate = ...,
        link_latency: Time = ...,
        switch_latency: Time = ...,
        oversubscription: float | str = ...,
        uplinks: int = ...,
        spines: int = ...,
        core_oversubscription: float | str = ...,
        core_uplinks: int = ...,
        cores: int = ...,
        radix: int = ...,
    ) -> S:
        """A Clos network in each plane: NICs of several ports, and leaves with all NICs of their servers.

        servers: Number of servers of the cluster. (a number, 1 or more; needed)
        server: A server's topology from NCCL (`NCCL_TOPO_DUMP_FILE`): its GPUs, NICs, ports, rates and NVLink. The
            keys of this table replace its values. (a file's name, from the scenario's folder; default: the keys
            beside it)
        nics: Number of NICs of a server. Each NIC belongs to a separate rail. (a number, 1 or more; default: `8`)
        gpus: Number of GPUs of a server. (a number, 1 or more; default: `nics`)
        gpu_nics: The NIC of each GPU of a server. (a list of numbers; default: GPU g of a server has NIC g x `nics` /
            `gpus`)
        ports: Number of ports of a NIC. Each port is in a separate plane. (a number, 1 to 16; default: `4`)
        nvlink_domain: Number of neighbouring servers whose GPUs are connected by NVLink. (a number, 1 or more;
            default: `1`)
        nvlink: Total rate of the NVLinks of a GPU, per direction. (a rate above 0; default: none)
        nvlink_latency: Latency of NVLink between two GPUs. It applies if `nvlink` gives the rate. (a time; default:
            50ns)
        segment: Number of servers of a segment, which share their leaves. The last segment may have fewer. (a number,
            1 or more; default: so many that leaves have up to 32 NICs, or by `radix`)
        pod: Number of segments of a pod, which share their spines. (a number, 1 or more; default: all; with three
            tiers so many that a pod has as many leaves as a leaf has NICs)
        tiers: Number of tiers of switches: leaves, spines and cores. (a number, 1 to 3; default: 2, or 3 with several
            pods)
        link: Rate of a NIC's port. (a rate above 0; default: required without `server`)
        uplink: Rate of the links between leaves and spines. (a rate above 0; default: `link`)
        core_link: Rate of the links between spines and cores. (a rate above 0; default: `uplink`)
        link_latency: Propagation delay of a link. (a time; default: `"500ns"`)
        switch_latency: Latency of a switch, without queueing. (a time; default: `"500ns"`)
        oversubscription: Total rate of the NICs of a leaf, divided by the total rate of its uplinks. (a number, 1 or
            more, or `"2:1"`; default: 1)
        uplinks: Number of uplinks of a leaf, instead of `oversubscription`. (a number, 0 or more; default: by
            `oversubscription`)
        spines: Number of spines of a pod in each plane; of a rail of the pod with `spine_group = "rail"`. (a number,
            0 or more; default: one for each uplink of a leaf; with `radix` as few as will do)
        core_oversubscription: Total rate of the links below a spine, divided by the total rate of its uplinks. (a
            number, 1 or more, or `"2:1"`; default: 1)
        core_uplinks: Number of uplinks of a spine, instead of `core_oversubscription`. (a number, 0 or more; default:
            by `core_oversubscription`)
        cores: Number of cores of each plane. (a number, 0 or more; default: one for each uplink of a group's spines;
            with `radix` as few as will do)
        radix: Number of ports of the available switches. A fabric that needs more is an error. Of the numbers that
            are not given, segments are as few as fit the leaves, and equal if they can be; spines and cores are as
            few as their ports permit. (a number, 1 or more; default: any number of ports)
        """

    @overload
    def topology(
        self: S,
        kind: Literal["hpn"],
        *,
        servers: int,
        server: File = ...,
        nics: int = ...,
        gpus: int = ...,
        gpu_nics: Sequence[int] = ...,
        ports: Literal[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16] = ...,
        nvlink_domain: int = ...,
        nvlink: Rate = ...,
        nvlink_latency: Time = ...,
        segment: int = ...,
        pod: int = ...,
        tiers: Literal[1, 2, 3] = ...,
        link: Rate = ...,
        uplink: Rate = ...,
        core_link: Rate = ...,
        link_latency: Time = ...,
        switch_latency: Time = ...,
        oversubscription: float | str = ...,
        uplinks: int = ...,
        spines: int = ...,
        core_oversubscription: float | str = ...,
        core_uplinks: int = ...,
        cores: int = ...,
        radix: int = ...,
        spine_group: Literal["pod", "rail"] = ...,
    ) -> S:
        """Alibaba's HPN: rails in two planes, with two ToRs for each NIC.

        servers: Number of servers of the cluster. (a number, 1 or more; needed)
        server: A server's topology from NCCL (`NCCL_TOPO_DUMP_FILE`): its GPUs, NICs, ports, rates and NVLink. The
            keys of this table replace its values. (a file's name, from the scenario's folder; default: the keys
            beside it)
        nics: Number of NICs of a server. Each NIC belongs to a separate rail. (a number, 1 or more; default: `8`)
        gpus: Number of GPUs of a server. (a number, 1 or more; default: `nics`)
        gpu_nics: The NIC of each GPU of a server. (a list of numbers; default: GPU g of a server has NIC g x `nics` /
            `gpus`)
        ports: Number of ports of a NIC. Each port is in a separate plane. (a number, 1 to 16; default: `2`)
        nvlink_domain: Number of neighbouring servers whose GPUs are connected by NVLink. (a number, 1 or more;
            default: `1`)
        nvlink: Total rate of the NVLinks of a GPU, per direction. (a rate above 0; default: none)
        nvlink_latency: Latency of NVLink between two GPUs. It applies if `nvlink` gives the rate. (a time; default:
            50ns)
        segment: Number of servers of a segment, which share their leaves. The last segment may have fewer. (a number,
            1 or more; default: up to 128, or by `radix`)
        pod: Number of segments of a pod, which share their spines. (a number, 1 or more; default: up to 15)
        tiers: Number of tiers of switches: leaves, spines and cores. (a number, 1 to 3; default: 2, or 3 with several
            pods)
        link: Rate of a NIC's port. (a rate above 0; default: required without `server`)
        uplink: Rate of the links between leaves and spines. (a rate above 0; default: twice `link`)
        core_link: Rate of the links between spines and cores. (a rate above 0; default: `uplink`)
        link_latency: Propagation delay of a link. (a time; default: `"500ns"`)
        switch_latency: Latency of a switch, without queueing. (a time; default: `"500ns"`)
        oversubscription: Total rate of the NICs of a leaf, divided by the total rate of its uplinks. (a number, 1 or
            more, or `"2:1"`; default: 1; 60 uplinks with a segment of 128)
        uplinks: Number of uplinks of a leaf, instead of `oversubscription`. (a number, 0 or more; default: by
            `oversubscription`)
        spines: Number of spines of a pod in each plane; of a rail of the pod with `spine_group = "rail"`. (a number,
            0 or more; default: one for each uplink of a leaf; with `radix` as few as will do)
        core_oversubscription: Total rate of the links below a spine, divided by the total rate of its uplinks. (a
            number, 1 or more, or `"2:1"`; default: 15)
        core_uplinks: Number of uplinks of a spine, instead of `core_oversubscription`. (a number, 0 or more; default:
            by `core_oversubscription`)
        cores: Number of cores of each plane. (a number, 0 or more; default: one for each uplink of a group's spines;
            with `radix` as few as will do)
        radix: Number of ports of the available switches. A fabric that needs more is an error. Of the numbers that
            are not given, segments are as few as fit the leaves, and equal if they can be; spines and cores are as
            few as their ports permit. (a number, 1 or more; default: any number of ports)
        spine_group: The leaves that share their spines: those of a pod, or those of one rail. (`pod` or `rail`;
            default: `"pod"`; `"rail"` with kind = "rails" and three tiers)
        """

    @overload
    def topology(
        self: S,
        kind: Literal["dcn-plus"],
        *,
        servers: int,
        server: File = ...,
        nics: int = ...,
        gpus: int = ...,
        gpu_nics: Sequence[int] = ...,
        ports: Literal[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16] = ...,
        nvlink_domain: int = ...,
        nvlink: Rate = ...,
        nvlink_latency: Time = ...,
        segment: int = ...,
        pod: int = ...,
        tiers: Literal[1, 2, 3] = ...,
        link: Rate = ...,
        uplink: Rate = ...,
        core_link: Rate = ...,
        link_latency: Time = ...,
        switch_latency: Time = ...,
        oversubscription: float | str = ...,
        uplinks: int = ...,
        spines: int = ...,
        core_oversubscription: float | str = ...,
        core_uplinks: int = ...,
        cores: int = ...,
        radix: int = ...,
    ) -> S:
        """Alibaba's DCN+: two ToRs for each NIC in one network, without rails and planes.

        servers: Number of servers of the cluster. (a number, 1 or more; needed)
        server: A server's topology from NCCL (`NCCL_TOPO_DUMP_FILE`): its GPUs, NICs, ports, rates and NVLink. The
            keys of this table replace its values. (a file's name, from the scenario's folder; default: the keys
            beside it)
        nics: Number of NICs of a server. Each NIC belongs to a separate rail. (a number, 1 or more; default: `8`)
        gpus: Number of GPUs of a server. (a number, 1 or more; default: `nics`)
        gpu_nics: The NIC of each GPU of a server. (a list of numbers; default: GPU g of a server has NIC g x `nics` /
            `gpus`)
        ports: Number of ports of a NIC. Each port leads to a different ToR. (a number, 1 to 16; default: `2`)
        nvlink_domain: Number of neighbouring servers whose GPUs are connected by NVLink. (a number, 1 or more;
            default: `1`)
        nvlink: Total rate of the NVLinks of a GPU, per direction. (a rate above 0; default: none)
        nvlink_latency: Latency of NVLink between two GPUs. It applies if `nvlink` gives the rate. (a time; default:
            50ns)
        segment: Number of servers of a segment, which share their leaves. The last segment may have fewer. (a number,
            1 or more; default: up to 16, or by `radix`)
        pod: Number of segments of a pod, which share their spines. (a number, 1 or more; default: up to 4)
        tiers: Number of tiers of switches: leaves, spines and cores. (a number, 1 to 3; default: 2, or 3 with several
            pods)
        link: Rate of a NIC's port. (a rate above 0; default: required without `server`)
        uplink: Rate of the links between leaves and spines. (a rate above 0; default: `link`)
        core_link: Rate of the links between spines and cores. (a rate above 0; default: `uplink`)
        link_latency: Propagation delay of a link. (a time; default: `"500ns"`)
        switch_latency: Latency of a switch, without queueing. (a time; default: `"500ns"`)
        oversubscription: Total rate of the NICs of a leaf, divided by the total rate of its uplinks. (a number, 1 or
            more, or `"2:1"`; default: 1)
        uplinks: Number of uplinks of a leaf, instead of `oversubscription`. (a number, 0 or more; default: by
            `oversubscription`)
        spines: Number of spines of a pod in each plane; of a rail of the pod with `spine_group = "rail"`. (a number,
            0 or more; default: one for each uplink of a leaf; with `radix` as few as will do)
        core_oversubscription: Total rate of the links below a spine, divided by the total rate of its uplinks. (a
            number, 1 or more, or `"2:1"`; default: 1)
        core_uplinks: Number of uplinks of a spine, instead of `core_oversubscription`. (a number, 0 or more; default:
            by `core_oversubscription`)
        cores: Number of cores of each plane. (a number, 0 or more; default: one for each uplink of a group's spines;
            with `radix` as few as will do)
        radix: Number of ports of the available switches. A fabric that needs more is an error. Of the numbers that
            are not given, segments are as few as fit the leaves, and equal if they can be; spines and cores are as
            few as their ports permit. (a number, 1 or more; default: any number of ports)
        """

    @overload
    def topology(
        self: S,
        kind: Literal["dragonfly"],
        *,
        hosts_per_router: int,
        routers: int,
        global_links: int,
        link: Rate,
        router_groups: int = ...,
        link_latency: Time = ...,
        global_link: Rate = ...,
        global_link_latency: Time = ...,
        switch_latency: Time = ...,
        radix: int = ...,
    ) -> S:
        """Groups of routers in a full mesh, each group joined to every other.

        hosts_per_router: Number of hosts of a router (p). (a number, 1 or more; needed)
        routers: Number of routers of a group (a). (a number, 1 or more; needed)
        global_links: Number of links of a router to other groups (h). (a number, 1 or more; needed)
        router_groups: Number of groups of routers (g). (a number, 2 or more; default: `routers` x `global_links` + 1)
        link: Rate of the links. (a rate above 0; needed)
        link_latency: Propagation delay of a link. (a time; default: `"500ns"`)
        global_link: Rate of the links between groups. (a rate above 0; default: `link`)
        global_link_latency: Propagation delay of such a link. (a time; default: `link_latency`)
        switch_latency: Latency of a switch, without queueing. (a time; default: `"500ns"`)
        radix: Number of ports of the available switches. A fabric that needs more is an error. Of the numbers that
            are not given, segments are as few as fit the leaves, and equal if they can be; spines and cores are as
            few as their ports permit. (a number, 1 or more; default: any number of ports)
        """

    @overload
    def topology(
        self: S,
        kind: Literal["torus"],
        *,
        dims: Sequence[int],
        link: Rate,
        link_latency: Time = ...,
        host_link: Rate = ...,
        host_link_latency: Time = ...,
        switch_latency: Time = ...,
        radix: int = ...,
    ) -> S:
        """A grid of switches with one host each, closed to a ring in every dimension.

        dims: Switches of each dimension; a dimension of 2 has one link. (a list of numbers; needed)
        link: Rate of the links. (a rate above 0; needed)
        link_latency: Propagation delay of a link. (a time; default: `"500ns"`)
        host_link: Rate of the link between a host and its switch. (a rate above 0; default: that of the links of its
            switch together)
        host_link_latency: Propagation delay of that link. (a time; default: `"0ns"`)
        switch_latency: Latency of a switch, without queueing. (a time; default: `"500ns"`)
        radix: Number of ports of the available switches. A fabric that needs more is an error. Of the numbers that
            are not given, segments are as few as fit the leaves, and equal if they can be; spines and cores are as
            few as their ports permit. (a number, 1 or more; default: any number of ports)
        """

    @overload
    def topology(
        self: S,
        kind: Literal["full-mesh"],
        *,
        tors: int,
        link: Rate,
        hosts_per_tor: int = ...,
        link_latency: Time = ...,
        host_link: Rate = ...,
        host_link_latency: Time = ...,
        switch_latency: Time = ...,
        radix: int = ...,
    ) -> S:
        """Switches, each of which has a link to every other one.

        tors: Number of switches. (a number, 2 or more; needed)
        hosts_per_tor: Number of hosts of a switch. (a number, 1 or more; default: `1`)
        link: Rate of the links. (a rate above 0; needed)
        link_latency: Propagation delay of a link. (a time; default: `"500ns"`)
        host_link: Rate of the link between a host and its switch. (a rate above 0; default: a host's share of the
            links of its switch together)
        host_link_latency: Propagation delay of that link. (a time; default: 0; `link_latency` with several hosts on a
            switch)
        switch_latency: Latency of a switch, without queueing. (a time; default: `"500ns"`)
        radix: Number of ports of the available switches. A fabric that needs more is an error. Of the numbers that
            are not given, segments are as few as fit the leaves, and equal if they can be; spines and cores are as
            few as their ports permit. (a number, 1 or more; default: any number of ports)
        """

    @overload
    def topology(
        self: S,
        kind: Literal["graph"],
        *,
        file: File,
        switch_latency: Time = ...,
    ) -> S:
        """Any graph, from a topology file of the ns-3 RDMA simulators. A host with several links is a NIC with as
        many ports; a host that is joined to another one gets a switch of its own.

        file: The file. (a file's name, from the scenario's folder; needed)
        switch_latency: Latency of a switch, without queueing. (a time; default: `"500ns"`)
        """

    def topology(self: S, kind: str, **keys: Any) -> S:
        """Sets the fabric. `kind` is one of: fat-tree, leaf-spine, single-switch, dumbbell, cross-dc, rails, multi-plane, hpn,
        dcn-plus, dragonfly, torus, full-mesh, graph."""
        self["topology"] = {"kind": kind, **keys}
        return self

    @overload
    def workload(
        self: S,
        kind: Literal["permutation"],
        *,
        bytes: Size,
        hosts: int = ...,
        cross_tor: bool = ...,
    ) -> S:
        """Every host sends one message and receives one from another host.

        bytes: Length of each message. (a size above 0; needed)
        hosts: Number of hosts that take part: hosts 0 to hosts - 1. (a number, 2 to all; default: all)
        cross_tor: Whether every host sends to a host of another ToR. (`true` or `false`; default: `false`)
        """

    @overload
    def workload(
        self: S,
        kind: Literal["tornado"],
        *,
        bytes: Size,
        senders: int = ...,
    ) -> S:
        """Host i sends to its twin in the other half of the fabric.

        bytes: Length of each message. (a size above 0; needed)
        senders: Number of hosts that send: hosts 0 to senders - 1. (a number, 1 to all; default: all)
        """

    @overload
    def workload(
        self: S,
        kind: Literal["incast"],
        *,
        bytes: Size,
        degree: int = ...,
        target: int = ...,
    ) -> S:
        """Many hosts send to one host.

        bytes: Length of each message. (a size above 0; needed)
        degree: Number of hosts that send. (a number, 1 to all but one; default: all but one)
        target: The host that receives. (a host's number; default: `0`)
        """

    @overload
    def workload(
        self: S,
        kind: Literal["poisson"],
        *,
        sizes: Literal["websearch", "websearch-reps", "facebook-hadoop", "alistorage"] | File,
        load: float,
        duration: Time,
        hosts: int = ...,
        inter: float | Literal["uniform"] = ...,
        incast: Incasts = ...,
        pipeline: Pipeline = ...,
    ) -> S:
        """Messages arrive at random, from and to random hosts.

        sizes: The distribution of lengths. (`websearch`, `websearch-reps`, `facebook-hadoop`, `alistorage`, or a
            file's name; needed)
        load: Offered load: bytes that arrive per host over its line rate; over that of the slowest host of the
            fabric, where hosts differ. (a number above 0, at most 1.5; needed)
        hosts: Number of hosts that take part: hosts 0 to hosts - 1. (a number, 2 to all; default: all)
        duration: Duration for which messages arrive. The run continues until all of them have finished. (a time above
            0; needed)
        inter: Share of the messages whose receiver is in another data centre. By default, all other hosts are equally
            likely. (a number, 0 to 1, or `uniform`; default: `uniform`)
        incast: Incasts in addition to these messages. (default: none)
        pipeline: A pipeline in addition to these messages. (default: none)
        """

    @overload
    def workload(
        self: S,
        kind: Literal["collective"],
        *,
        algorithm: Algorithm,
        bytes: Size,
        ranks: int = ...,
        jobs: int = ...,
        placement: Placement = ...,
        groups: Sequence[Sequence[int]] = ...,
        chunk: Size = ...,
        connections: int = ...,
        depth: int = ...,
        clock: Literal["ack", "delivered"] = ...,
        jitter: Time = ...,
        server: Server = ...,
    ) -> S:
        """AllReduce, AllGather, ReduceScatter or AllToAll, by many jobs at the same time.

        algorithm: The algorithm of the collective. (`allreduce-ring`, `allreduce-double-binary-tree` and others;
            needed)
        bytes: Size of each rank's buffer. For an AllToAll, it is the total that a rank sends to all others. (a size
            above 0; needed)
        ranks: Number of ranks of a job. (a number, 2 or more; default: all hosts)
        jobs: Number of jobs at the same time. (a number, 1 or more; default: `1`)
        placement: Where the ranks are: in host order, at random, each under another ToR, from a whole server on, rail
            by rail, or within an NVLink domain. (`random`, `blocks`, `spread`, `servers`, `rails` or
            `nvlink-domains`; default: `"blocks"`)
        groups: The hosts of each job, one by one. (lists of hosts; default: by `ranks` and `jobs`)
        chunk: Length of the chunks in which a block is sent. (a size above 0; default: 128KB, and none for an
            AllToAll)
        connections: Largest number of ranks to which a rank sends at the same time. (a number, 1 or more; default:
            all others, for an AllToAll)
        depth: Largest number of outstanding chunks from a rank to another rank. (a number, 1 or more; default: no
            limit)
        clock: The event that ends a chunk: its ACK, or its arrival. (`ack` or `delivered`; default: `ack`, with a
            depth)
        jitter: For an `alltoall`: each rank begins at a random time between 0 and this time. (a time; default:
            `"0us"`)
        server: `[workload.server]`: ranks of one server reach each other over NVLink. (default: every message crosses
            the network)
        """

    @overload
    def workload(
        self: S,
        kind: Literal["nccl-tests"],
        *,
        operation: Literal["all_reduce", "all_gather", "reduce_scatter", "broadcast", "alltoall", "sendrecv"],
        min_bytes: Size,
        max_bytes: Size,
        algorithm: Algorithm = ...,
        factor: int = ...,
        step_bytes: Size = ...,
        ranks: int = ...,
        placement: Placement = ...,
        chunk: Size = ...,
        server: Server = ...,
    ) -> S:
        """A collective at several sizes, as nccl-tests measures it. It is a sweep over `workload.bytes`.

        operation: The program of nccl-tests: `all_reduce` stands for `all_reduce_perf`. (`all_reduce`, `all_gather`,
            `reduce_scatter`, `broadcast`, `alltoall` or `sendrecv`; needed)
        algorithm: The algorithm of the collective, as with `NCCL_ALGO`. (`allreduce-ring`,
            `allreduce-double-binary-tree` and others; default: NCCL's choice for an AllReduce among known servers,
            otherwise a ring)
        min_bytes: The first size (`-b`). (a size above 0; needed)
        max_bytes: The upper limit of the sizes (`-e`). (a size above 0; needed)
        factor: The factor from one size to the next (`-f`). (a number, 2 or more; default: 2, without `step_bytes`)
        step_bytes: The difference between one size and the next (`-i`). (a size above 0; default: none)
        ranks: Number of ranks. (a number, 2 or more; default: all hosts)
        placement: The placement of the ranks, as for a collective. (`random`, `blocks`, `spread`, `servers`, `rails`
            or `nvlink-domains`; default: `"blocks"`)
        chunk: Length of the chunks in which a block is sent. (a size above 0; default: 128KB, and none for an
            AllToAll)
        server: `[workload.server]`: ranks of one server reach each other over NVLink. (default: every message crosses
            the network)
        """

    @overload
    def workload(
        self: S,
        kind: Literal["messages"],
        *,
        message: Sequence[Message],
    ) -> S:
        """The messages of a list.

        message: `[[workload.message]]`, one for each. (needed)
        """

    @overload
    def workload(
        self: S,
        kind: Literal["cm"],
        *,
        file: File,
        start_unit: Time = ...,
    ) -> S:
        """A connection matrix of htsim, with triggers.

        file: The file. (a file's name, from the scenario's folder; needed)
        start_unit: The unit of the start times in the file. (a time above 0; default: `"1ps"`)
        """

    @overload
    def workload(
        self: S,
        kind: Literal["ns3-flows"],
        *,
        file: File,
        origin: Time = ...,
        format: Literal["hpcc", "conweave", "ns3-rdma"] = ...,
    ) -> S:
        """A flow file of the ns-3 RDMA simulators. It names nodes of the topology file, or hosts if the topology is
        not a file.

        file: The file. (a file's name, from the scenario's folder; needed)
        origin: The time in the file that is time 0 of the run. (a time; default: `"2s"`)
        format: The simulator that defines the columns, if the number of columns does not determine it. (`hpcc`,
            `conweave` or `ns3-rdma`; default: by the numbers of its columns)
        """

    @overload
    def workload(
        self: S,
        kind: Literal["trace"],
        *,
        format: Literal["goal", "msccl", "mscclpp", "simai", "chakra"],
        file: File,
        placement: Placement = ...,
        rank_hosts: Sequence[int] | File = ...,
        ends: Literal["posted", "acknowledged"] = ...,
        bytes: Size = ...,
        chunk: Size = ...,
        without_pipeline: bool = ...,
        layers: Sequence[int] = ...,
        ranks: int = ...,
        rank_order: Literal["tp-dp-pp", "tp-pp-dp"] = ...,
        comm_groups: File = ...,
        system: File = ...,
        dims: Sequence[int] | File = ...,
        replicate: int = ...,
        without_missing: bool = ...,
        without_control: bool = ...,
        streams: Literal["one", "each"] = ...,
        server: Server = ...,
        algorithm: Sequence[TraceAlgorithm] = ...,
    ) -> S:
        """A job from a file of another tool: what each rank computes, sends and receives, and in which order.

        format: The format of the file. (`goal`, `msccl`, `mscclpp`, `simai` or `chakra`; needed)
        file: The name of the file. For `chakra`, the name `x` stands for `x.0.et`, `x.1.et` and so on. (a file's
            name, from the scenario's folder; needed)
        placement: Where the ranks are, a rank a host: in host order, or at random. (`random`, `blocks`, `spread`,
            `servers`, `rails` or `nvlink-domains`; default: `"blocks"`)
        rank_hosts: The host of each rank, in the order of the ranks. (numbers of hosts, or a file with one per line;
            default: as `placement` says)
        ends: The event that ends a send, after which its successors may begin. (`posted` or `acknowledged`; default:
            `acknowledged`; of `msccl` and `mscclpp`, `posted`)
        bytes: For `msccl` and `mscclpp`: size of the buffer, or of the input buffer, of each rank. (a size above 0;
            default: required for these formats)
        chunk: For `simai` and `chakra`: largest length of a message. (a size above 0; default: 128KB, where it may
            be)
        without_pipeline: For `simai`: whether the messages between pipeline stages are left out. The file does not
            give their times. (`true` or `false`; default: `false`)
        layers: For `simai`: the first and the last layer of the file that are simulated. (two numbers, from 1;
            default: all)
        ranks: For `simai`: number of ranks that are simulated, the first ones of the file: those of whole pipeline
            stages, or of one stage with fewer data-parallel ranks. By default, the number of ranks that the file
            gives, or else all hosts. (a number, 1 or more; default: all)
        rank_order: For `simai`: the order of the parallel groups, from neighbouring ranks to the largest stride.
            SimAI itself uses `tp-pp-dp`. (`tp-dp-pp` or `tp-pp-dp`; default: `"tp-dp-pp"`)
        comm_groups: For `chakra`: the file with the groups of ranks, in ASTRA-sim's format. (a file's name, from the
            scenario's folder; default: collectives of all ranks alone)
        system: For `chakra`: ASTRA-sim's system file. It determines how collectives of all ranks are divided over the
            dimensions of the network. (a file's name, from the scenario's folder; default: rings of all ranks)
        dims: For `chakra`: number of ranks of each dimension for `system`. The dimension that varies fastest comes
            first. (a list of numbers, or a file of ASTRA-sim's logical dimensions; default: those of the topology, if
            it is a network of ASTRA-sim; otherwise one)
        replicate: For `chakra`: number of ranks that all execute the file of rank 0, if the trace has only that file.
            (a number, 2 or more; default: each rank has a file)
        without_missing: For `chakra`: whether a node that is missing in the trace counts as finished for the nodes
            that depend on it. (`true` or `false`; default: `false`)
        without_control: For `chakra`: whether nodes wait only for their data dependencies, as in Chakra's first
            feeder, and not for their control dependencies. (`true` or `false`; default: `false`)
        streams: For `chakra`: whether a GPU computes one node at a time, as in ASTRA-sim, or one node per stream
            (`tid`). (`one` or `each`; default: `"one"`)
        server: `[workload.server]`: ranks of one server reach each other over NVLink. (default: every message crosses
            the network)
        algorithm: `[[workload.algorithm]]`, of `simai` and `chakra`: how collectives of a size are done. (default:
            rings)
        """

    @overload
    def workload(
        self: S,
        kind: Literal["jobs"],
        *,
        job: Sequence[Job],
    ) -> S:
        """Several jobs from files of other tools, each on hosts of its own.

        job: `[[workload.job]]`, one for each. (needed)
        """

    def workload(self: S, kind: str, **keys: Any) -> S:
        """Sets the traffic. `kind` is one of: permutation, tornado, incast, poisson, collective, nccl-tests, messages, cm,
        ns3-flows, trace, jobs."""
        self["workload"] = {"kind": kind, **keys}
        return self

    @overload
    def fault(
        self: S,
        kind: Literal["link-down"],
        *,
        links: str | Sequence[str],
        at: Time | Sequence[Time] = ...,
        duration: Time = ...,
        until: Time = ...,
        both_directions: bool = ...,
        per_hour: float = ...,
    ) -> S:
        """Links carry nothing, and the packets on them are lost.

        at: When the fault begins: one time, or several times. (a time, or a list of them; default: `"0us"`)
        duration: How long the fault lasts, each time. (a time above 0; default: to the end of the run)
        until: The time at which the fault ends, instead of `duration`. (a time after `at`; default: to the end of the
            run)
        links: The links of the fault: `tor:0/up:0`, `cable:tor:0/up:0`, `tor-uplinks:3%`, `host:3`, `all`. (names of
            links, or a list of them; needed)
        both_directions: Whether the fault is in both directions of each cable, or only in the named one. (`true` or
            `false`; default: both of a link that is down or flaps; otherwise as each name says: a link its direction,
            a cable both)
        per_hour: How often each cable or switch by itself fails in an hour of simulated time, on average: at random
            times from `at` on, each time for `duration`. (a number above 0, at most 3600000000; default: once at each
            `at`)
        """

    @overload
    def fault(
        self: S,
        kind: Literal["link-flap"],
        *,
        links: str | Sequence[str],
        period: Time,
        down_for: Time,
        at: Time | Sequence[Time] = ...,
        duration: Time = ...,
        until: Time = ...,
        both_directions: bool = ...,
        per_hour: float = ...,
    ) -> S:
        """Links go down and come up again periodically.

        at: When the fault begins: one time, or several times. (a time, or a list of them; default: `"0us"`)
        duration: How long the fault lasts, each time. (a time above 0; default: to the end of the run)
        until: The time at which the fault ends, instead of `duration`. (a time after `at`; default: to the end of the
            run)
        links: The links of the fault: `tor:0/up:0`, `cable:tor:0/up:0`, `tor-uplinks:3%`, `host:3`, `all`. (names of
            links, or a list of them; needed)
        both_directions: Whether the fault is in both directions of each cable, or only in the named one. (`true` or
            `false`; default: both of a link that is down or flaps; otherwise as each name says: a link its direction,
            a cable both)
        per_hour: How often each cable or switch by itself fails in an hour of simulated time, on average: at random
            times from `at` on, each time for `duration`. (a number above 0, at most 3600000000; default: once at each
            `at`)
        period: Time from one failure to the next. (a time, 1us or more; needed)
        down_for: Duration of each failure. (a time above 0, below `period`; needed)
        """

    @overload
    def fault(
        self: S,
        kind: Literal["switch-down"],
        *,
        switches: str | Sequence[str],
        at: Time | Sequence[Time] = ...,
        duration: Time = ...,
        until: Time = ...,
        per_hour: float = ...,
    ) -> S:
        """Switches lose all packets in their queues, and all their links are down.

        at: When the fault begins: one time, or several times. (a time, or a list of them; default: `"0us"`)
        duration: How long the fault lasts, each time. (a time above 0; default: to the end of the run)
        until: The time at which the fault ends, instead of `duration`. (a time after `at`; default: to the end of the
            run)
        per_hour: How often each cable or switch by itself fails in an hour of simulated time, on average: at random
            times from `at` on, each time for `duration`. (a number above 0, at most 3600000000; default: once at each
            `at`)
        switches: The switches of the fault: `spine:0`, `tor:25%`. (names of switches, or a list of them; needed)
        """

    @overload
    def fault(
        self: S,
        kind: Literal["rate"],
        *,
        links: str | Sequence[str],
        rate: Rate,
        at: Time | Sequence[Time] = ...,
        duration: Time = ...,
        until: Time = ...,
        both_directions: bool = ...,
    ) -> S:
        """Links have another rate.

        at: When the fault begins: one time, or several times. (a time, or a list of them; default: `"0us"`)
        duration: How long the fault lasts, each time. (a time above 0; default: to the end of the run)
        until: The time at which the fault ends, instead of `duration`. (a time after `at`; default: to the end of the
            run)
        links: The links of the fault: `tor:0/up:0`, `cable:tor:0/up:0`, `tor-uplinks:3%`, `host:3`, `all`. (names of
            links, or a list of them; needed)
        both_directions: Whether the fault is in both directions of each cable, or only in the named one. (`true` or
            `false`; default: both of a link that is down or flaps; otherwise as each name says: a link its direction,
            a cable both)
        rate: The rate of the links during the fault. (a rate above 0; needed)
        """

    @overload
    def fault(
        self: S,
        kind: Literal["packet-loss"],
        *,
        links: str | Sequence[str],
        probability: float,
        at: Time | Sequence[Time] = ...,
        duration: Time = ...,
        until: Time = ...,
        both_directions: bool = ...,
    ) -> S:
        """Links lose each packet with a probability.

        at: When the fault begins: one time, or several times. (a time, or a list of them; default: `"0us"`)
        duration: How long the fault lasts, each time. (a time above 0; default: to the end of the run)
        until: The time at which the fault ends, instead of `duration`. (a time after `at`; default: to the end of the
            run)
        links: The links of the fault: `tor:0/up:0`, `cable:tor:0/up:0`, `tor-uplinks:3%`, `host:3`, `all`. (names of
            links, or a list of them; needed)
        both_directions: Whether the fault is in both directions of each cable, or only in the named one. (`true` or
            `false`; default: both of a link that is down or flaps; otherwise as each name says: a link its direction,
            a cable both)
        probability: Probability with which a packet is lost. (a number, 0 to 1; needed)
        """

    @overload
    def fault(
        self: S,
        kind: Literal["switch-loss"],
        *,
        links: str | Sequence[str],
        probability: float,
        at: Time | Sequence[Time] = ...,
        duration: Time = ...,
        until: Time = ...,
        both_directions: bool = ...,
    ) -> S:
        """Switches drop each data packet with a probability, or trim it if they support trimming.

        at: When the fault begins: one time, or several times. (a time, or a list of them; default: `"0us"`)
        duration: How long the fault lasts, each time. (a time above 0; default: to the end of the run)
        until: The time at which the fault ends, instead of `duration`. (a time after `at`; default: to the end of the
            run)
        links: The links of the fault: `tor:0/up:0`, `cable:tor:0/up:0`, `tor-uplinks:3%`, `host:3`, `all`. (names of
            links, or a list of them; needed)
        both_directions: Whether the fault is in both directions of each cable, or only in the named one. (`true` or
            `false`; default: both of a link that is down or flaps; otherwise as each name says: a link its direction,
            a cable both)
        probability: Probability with which a data packet is dropped or trimmed. (a number, 0 to 1; needed)
        """

    @overload
    def fault(
        self: S,
        kind: Literal["bit-errors"],
        *,
        links: str | Sequence[str],
        probability: float,
        at: Time | Sequence[Time] = ...,
        duration: Time = ...,
        until: Time = ...,
        both_directions: bool = ...,
    ) -> S:
        """Each bit is wrong with a probability, and a packet with a wrong bit is lost.

        at: When the fault begins: one time, or several times. (a time, or a list of them; default: `"0us"`)
        duration: How long the fault lasts, each time. (a time above 0; default: to the end of the run)
        until: The time at which the fault ends, instead of `duration`. (a time after `at`; default: to the end of the
            run)
        links: The links of the fault: `tor:0/up:0`, `cable:tor:0/up:0`, `tor-uplinks:3%`, `host:3`, `all`. (names of
            links, or a list of them; needed)
        both_directions: Whether the fault is in both directions of each cable, or only in the named one. (`true` or
            `false`; default: both of a link that is down or flaps; otherwise as each name says: a link its direction,
            a cable both)
        probability: Probability with which a bit is wrong. (a number, 0 to 1; needed)
        """

    @overload
    def fault(
        self: S,
        kind: Literal["slow-receiver"],
        *,
        hosts: str | Sequence[str],
        rate: Rate,
        at: Time | Sequence[Time] = ...,
        duration: Time = ...,
        until: Time = ...,
        buffer: Size = ...,
    ) -> S:
        """Hosts take data at a rate only; their NICs pause the links in a lossless class, and drop data in a lossy
        one.

        at: When the fault begins: one time, or several times. (a time, or a list of them; default: `"0us"`)
        duration: How long the fault lasts, each time. (a time above 0; default: to the end of the run)
        until: The time at which the fault ends, instead of `duration`. (a time after `at`; default: to the end of the
            run)
        hosts: Which hosts: `host:3`, `server:0/nic:3`, `rail:1`, `host-links:2` for two at random. (names of hosts,
            or a list of them; needed)
        rate: The rate at which each host takes data, over all its ports together. (a rate above 0; needed)
        buffer: What the NIC keeps before it pauses its links, or drops data. It resumes them when two full packets
            fit again. (a size above 0; default: `"256KB"`)
        """

    @overload
    def fault(
        self: S,
        kind: Literal["pause-storm"],
        *,
        hosts: str | Sequence[str],
        at: Time | Sequence[Time] = ...,
        duration: Time = ...,
        until: Time = ...,
    ) -> S:
        """Hosts pause their links without interruption, for 65,535 quanta each time (802.1Qbb); lossy classes ignore
        it.

        at: When the fault begins: one time, or several times. (a time, or a list of them; default: `"0us"`)
        duration: How long the fault lasts, each time. (a time above 0; default: to the end of the run)
        until: The time at which the fault ends, instead of `duration`. (a time after `at`; default: to the end of the
            run)
        hosts: Which hosts: `host:3`, `server:0/nic:3`, `rail:1`, `host-links:2` for two at random. (names of hosts,
            or a list of them; needed)
        """

    def fault(self: S, kind: str, **keys: Any) -> S:
        """Adds a fault. `kind` is one of: link-down, link-flap, switch-down, rate, packet-loss, switch-loss, bit-errors,
        slow-receiver, pause-storm."""
        self.setdefault("fault", []).append({"kind": kind, **keys})
        return self

    @overload
    def measure(
        self: S,
        series: Literal["link-utilisation", "queue-depth", "arrival-rate", "drops", "pauses", "pause-time", "pause-victims"],
        *,
        links: str,
        every: Time = ...,
        by: Literal["plane", "rail"] = ...,
    ) -> S:
        """Records a curve of links.

        links: The links that are measured: `tor:0/up`, `tor-uplinks`, `all`. Names of cables are their upward
            direction, so that `host:5` is what the host sends; `cable:host:5` is both directions. (names of links;
            needed)
        every: Interval of a point of the curve. Series of ACKs have a point for each ACK instead. (a time above 0;
            default: `"20us"`)
        by: Of series of links: a curve for each plane or rail instead of one for each link. It is the sum over the
            links, or the largest for `queue-delay`. (`plane` or `rail`; default: none)
        """

    @overload
    def measure(
        self: S,
        series: Literal["queue-delay"],
        *,
        links: str,
        every: Time = ...,
        by: Literal["plane", "rail"] = ...,
        above: Time = ...,
    ) -> S:
        """Records how long packets wait.

        links: The links that are measured: `tor:0/up`, `tor-uplinks`, `all`. Names of cables are their upward
            direction, so that `host:5` is what the host sends; `cable:host:5` is both directions. (names of links;
            needed)
        every: Interval of a point of the curve. Series of ACKs have a point for each ACK instead. (a time above 0;
            default: `"20us"`)
        by: Of series of links: a curve for each plane or rail instead of one for each link. It is the sum over the
            links, or the largest for `queue-delay`. (`plane` or `rail`; default: none)
        above: For `queue-delay`: packets that waited longer than this time are counted. (a time; default: none)
        """

    @overload
    def measure(
        self: S,
        series: Literal["program-buffer", "table-entries"],
        *,
        switches: str,
        every: Time = ...,
    ) -> S:
        """Records a curve of switches.

        switches: The switches that are measured: `tor:0`. (names of switches; needed)
        every: Interval of a point of the curve. Series of ACKs have a point for each ACK instead. (a time above 0;
            default: `"20us"`)
        """

    @overload
    def measure(
        self: S,
        series: Literal["flow-throughput"],
        *,
        qps: str,
        every: Time = ...,
    ) -> S:
        """Records a curve of queue pairs.

        qps: The queue pairs that are measured. (`all`, or numbers such as `0-7`; needed)
        every: Interval of a point of the curve. Series of ACKs have a point for each ACK instead. (a time above 0;
            default: `"20us"`)
        """

    @overload
    def measure(
        self: S,
        series: Literal["sender-rtt", "sender-ecn"],
        *,
        qps: str,
    ) -> S:
        """Records a curve with a point for each acknowledgement.

        qps: The queue pairs that are measured. (`all`, or numbers such as `0-7`; needed)
        """

    def measure(self: S, series: str, **keys: Any) -> S:
        """Records a curve. `series` is one of: link-utilisation, queue-depth, arrival-rate, drops, pauses, pause-time,
        pause-victims, queue-delay, program-buffer, table-entries, flow-throughput, sender-rtt, sender-ecn."""
        self.setdefault("measure", []).append({"series": series, **keys})
        return self

    @overload
    def scheme(
        self: S,
        name: str,
        base: Base,
        *,
        qps: int = ...,
        mix: Mix = ...,
        transport: Transport = ...,
        cc: Cc = ...,
        lb: Lb = ...,
        fabric: Fabric = ...,
    ) -> S: ...

    @overload
    def scheme(
        self: S,
        name: str,
        base: Base,
        *,
        parameters: Mapping[Parameter, Any],
        qps: int = ...,
        mix: Mix = ...,
        transport: Transport = ...,
        cc: Cc = ...,
        lb: Lb = ...,
        fabric: Fabric = ...,
    ) -> S: ...

    def scheme(self: S, name: str, base: str, *, parameters: Mapping[Any, Any] = {}, **settings: Any) -> S:
        """Adds a scheme to those that run. It is the scheme `base` with these settings.

        `transport`, `cc`, `lb` and `fabric` are tables. A table with a `kind` needs every parameter that the kind requires.
        A table without a `kind` changes parameters of the base. `parameters` sets others by path: `{"lb.buffer": 16}`.
        """
        self.setdefault("scheme", []).append({"name": name, "base": base, "set": {**settings, **parameters}})
        return self

    def limits(
        self: S,
        *,
        max_time: Time = _UNSAID,
        stall: Time = _UNSAID,
        max_events: int = _UNSAID,
        max_packets: int = _UNSAID,
    ) -> S:
        """Sets the limits that end a run.

        max_time: Limit on the simulated time. (a time above 0, at most 281s; default: `"1s"`)
        stall: Longest time without newly delivered data, in addition to a timeout and a round trip. (a time above 0;
            default: `"10ms"`)
        max_events: Limit on the number of events. (a number, 1 or more; default: `20000000000`)
        max_packets: Limit on the number of packets in the fabric at the same time. (a number, 1 or more; default:
            `16000000`)
        """
        keys = {
            "max_time": max_time,
            "stall": stall,
            "max_events": max_events,
            "max_packets": max_packets,
        }
        self["limits"] = {key: value for key, value in keys.items() if value is not _UNSAID}
        return self

    def find(
        self: S,
        *,
        parameter: str,
        where: str,
        smallest: Sequence[Any] = _UNSAID,
        largest: Sequence[Any] = _UNSAID,
        resolution: float = _UNSAID,
    ) -> S:
        """Sets the search of `anabranch find`.

        parameter: The parameter whose value is searched. (a path, as in `[sweep]`; needed)
        where: The condition, which must hold at every seed: `drops(scheme) == 0`. (a comparison of measures; needed)
        smallest: Values for a search of the smallest one. The condition is expected to hold for all values above the
            answer. (two ends, or a list of values; default: `largest` instead)
        largest: Values for a search of the largest one. The condition is expected to hold for all values below the
            answer. (two ends, or a list of values; default: `smallest` instead)
        resolution: Relative distance between the last two values at which the search ends. (a number above 0, below
            1; default: `0.02`)
        """
        keys = {
            "parameter": parameter,
            "where": where,
            "smallest": smallest,
            "largest": largest,
            "resolution": resolution,
        }
        self["find"] = {key: value for key, value in keys.items() if value is not _UNSAID}
        return self
