//! What network cards and GPUs run: drift of a fleet, by the inventory of the check process and the GPU check.

use nodewell_metrics::Exposition;
use nodewell_model::inventory::{Component, ComponentClass, ComponentView, InventoryView};

use super::{MetricSources, table::problems};
use crate::inventory::with_gpus;

pub(super) fn write(exposition: &mut Exposition, sources: &MetricSources) {
    let shown = sources.check_files.inventory.shown().unwrap_or_default();
    write_view(exposition, &with_gpus(shown, &sources.shared_state.view().hardware));
}

fn write_view(exposition: &mut Exposition, view: &InventoryView) {
    for (metric, class, [id, firmware]) in [
        (problems::GPU_INFO, ComponentClass::Accelerator, ["gpu", "vbios"]),
        (problems::NETWORK_CARD_INFO, ComponentClass::NetworkCard, ["card", "firmware"]),
    ] {
        let is_there = |one: &&ComponentView| one.class == class && !one.missing;
        let components: Vec<&Component> = view.components.iter().filter(is_there).map(|one| &one.component).collect();
        // What is not there has no metric either.
        if components.is_empty() {
            continue;
        }
        exposition.metric(&metric);
        for one in components {
            let labels =
                [(id, &*one.slot), ("driver", &*one.driver), (firmware, &*one.firmware), ("model", &*one.model)];
            exposition.sample(&labels, 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn component(class: ComponentClass, [slot, driver, firmware]: [&str; 3]) -> ComponentView {
        let component = Component {
            slot: slot.to_owned(),
            driver: driver.to_owned(),
            firmware: firmware.to_owned(),
            model: "15b3:1021".to_owned(),
            ..Component::default()
        };
        ComponentView { class, name: component.name(class), component, missing: false, last_seen: None, accepted: None }
    }

    fn samples(components: Vec<ComponentView>) -> Vec<String> {
        let mut exposition = Exposition::default();
        write_view(&mut exposition, &InventoryView { components, ..InventoryView::default() });
        let text = exposition.into_text();
        text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
    }

    #[test]
    fn each_card_and_gpu_that_is_there_is_a_series() {
        use ComponentClass::{Accelerator, Disk, NetworkCard};
        let gone = ComponentView { missing: true, ..component(Accelerator, ["0000:42:00.0", "", ""]) };
        let components = vec![
            component(Disk, ["0000:01:00.0", "nvme", "1.0"]),
            component(NetworkCard, ["0000:3b:00.0", "mlx5_core 24.10", "28.43.1014 \"x\""]),
            component(Accelerator, ["0000:41:00.0", "nvidia 580.65.06", "96.00.61.00.01"]),
            gone,
        ];
        assert_eq!(
            samples(components),
            [
                "nodewell_gpu_info{gpu=\"0000:41:00.0\",driver=\"nvidia 580.65.06\",vbios=\"96.00.61.00.01\",\
                 model=\"15b3:1021\"} 1",
                "nodewell_network_card_info{card=\"0000:3b:00.0\",driver=\"mlx5_core 24.10\",\
                 firmware=\"28.43.1014 \\\"x\\\"\",model=\"15b3:1021\"} 1",
            ]
        );
    }

    #[test]
    fn a_node_without_any_has_no_metric() {
        let mut exposition = Exposition::default();
        write_view(&mut exposition, &InventoryView::default());
        assert_eq!(exposition.into_text(), "");
    }
}
