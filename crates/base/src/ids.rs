//! Integer ids. Each id is an index into one dense array.

use serde::{Deserialize, Serialize};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// The id as an array index.
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id!(
    /// A host (a NIC, with one or more ports). Hosts are numbered from 0.
    HostId
);
id!(
    /// A host or a switch. Node `h` is host `h`; the switches are numbered after the last host.
    NodeId
);
id!(
    /// A directed link, numbered like its sending port. The ports of all nodes have consecutive numbers, node by node.
    LinkId
);
id!(
    /// A queue pair: a one-way connection between two hosts.
    QpId
);
id!(
    /// A message: bytes posted to a queue pair.
    MessageId
);
id!(
    /// A gate, which holds back messages or steps until other messages or steps have ended.
    GateId
);

impl From<HostId> for NodeId {
    fn from(host: HostId) -> Self {
        NodeId(host.0)
    }
}
