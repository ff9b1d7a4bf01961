//! `net` of the file: the interfaces' own counts.

use nodewell_checks::statistics::network::Count;

use super::{super::super::to_double, MetricDefinition, MetricInputs, MetricType, Samples};

macro_rules! count {
    ($id:literal, $count:ident, $help:literal) => {
        MetricDefinition {
            id: $id,
            kind: MetricType::Counter,
            labels: &["interface_name"],
            help: $help,
            write: |samples, inputs| each(samples, inputs, Count::$count),
        }
    };
}

pub(super) const DEFINITIONS: &[MetricDefinition] = &[
    count!("net/rx_bytes", RxBytes, "Bytes received."),
    count!("net/rx_packets", RxPackets, "Packets received."),
    count!("net/rx_errors", RxErrors, "Received packets that were damaged."),
    count!("net/rx_dropped", RxDropped, "Received packets that found no room."),
    count!("net/rx_fifo", RxFifo, "Receive overruns."),
    count!("net/rx_frame", RxFrame, "Framing errors."),
    count!("net/rx_compressed", RxCompressed, "Compressed packets received."),
    count!("net/rx_multicast", RxMulticast, "Multicast packets received."),
    count!("net/tx_bytes", TxBytes, "Bytes sent."),
    count!("net/tx_packets", TxPackets, "Packets sent."),
    count!("net/tx_errors", TxErrors, "Errors in sending."),
    count!("net/tx_dropped", TxDropped, "Packets dropped on the way out."),
    count!("net/tx_fifo", TxFifo, "Send overruns."),
    count!("net/tx_collisions", TxCollisions, "Collisions."),
    count!("net/tx_carrier", TxCarrier, "Carrier losses."),
    count!("net/tx_compressed", TxCompressed, "Compressed packets sent."),
];

fn each(samples: &mut Samples<'_>, inputs: &MetricInputs<'_>, count: Count) {
    let excluded = |name: &str| {
        inputs.monitor.exclude_interfaces.as_ref().is_some_and(|pattern| pattern.is_match(name.as_bytes()))
    };
    for interface in inputs.sample.reading.interfaces().iter().filter(|interface| !excluded(&interface.name)) {
        samples.add(&[("interface_name", &interface.name)], to_double(interface.count(count)));
    }
}
