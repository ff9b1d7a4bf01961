//! What drivers of fabric cards count of their own, as the check process read it: no verdict comes of it
//! (docs/pcie-and-fabrics.md).

use nodewell_metrics::Exposition;
use nodewell_model::{HwCounters, HwCountersView};

use super::table::problems;
use crate::{hw_counters::HwCountersFile, runtime::clock};

pub(super) fn write(exposition: &mut Exposition, file: &HwCountersFile) {
    if let Some(view) = file.shown(clock::boottime()) {
        write_view(exposition, &view);
    }
}

fn write_view(exposition: &mut Exposition, view: &HwCountersView) {
    // What is not there has no metric either.
    if view.shown.is_empty() {
        return;
    }
    exposition.metric(&problems::FABRIC_HW_COUNTER);
    for HwCounters { device, port, counters } in &view.shown {
        let port = port.as_deref().map(|port| ("port", port));
        for (counter, count) in counters {
            let labels = [Some(("device", device.as_str())), port, Some(("counter", counter.as_str()))];
            let labels: Vec<_> = labels.into_iter().flatten().collect();
            exposition.sample(&labels, *count);
        }
    }
    exposition.metric(&problems::FABRIC_PORTS_LEFT_OUT).sample(&[], view.left_out);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn written(shown: Vec<HwCounters>) -> String {
        let mut exposition = Exposition::default();
        write_view(&mut exposition, &HwCountersView { shown, left_out: 2, valid_until_secs: 0 });
        exposition.into_text()
    }

    fn counters(device: &str, port: Option<&str>, counters: &[(&str, u64)]) -> HwCounters {
        let counters: BTreeMap<_, _> = counters.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
        HwCounters { device: device.to_owned(), port: port.map(str::to_owned), counters }
    }

    #[test]
    fn each_counter_of_a_port_and_of_a_card_is_a_series() {
        let text = written(vec![
            counters("mlx5_0", Some("1"), &[("out_of_sequence", 7), ("np_cnp_sent", u64::MAX)]),
            counters("irdma0", Some("1"), &[("RNR sent", 0)]),
            counters("rdmap0s31", None, &[("cmds_err", 3)]),
        ]);
        let samples: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(
            samples,
            [
                "nodewell_fabric_hw_counter_total{device=\"mlx5_0\",port=\"1\",counter=\"np_cnp_sent\"} \
                 18446744073709551615",
                "nodewell_fabric_hw_counter_total{device=\"mlx5_0\",port=\"1\",counter=\"out_of_sequence\"} 7",
                "nodewell_fabric_hw_counter_total{device=\"irdma0\",port=\"1\",counter=\"RNR sent\"} 0",
                "nodewell_fabric_hw_counter_total{device=\"rdmap0s31\",counter=\"cmds_err\"} 3",
                "nodewell_fabric_ports_left_out 2",
            ]
        );
        assert!(text.contains("# TYPE nodewell_fabric_hw_counter_total counter\n"), "{text}");
    }

    #[test]
    fn a_node_without_such_cards_has_no_metric() {
        assert_eq!(written(Vec::new()), "");
    }
}
