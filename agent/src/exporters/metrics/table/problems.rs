//! Conditions, problems, devices, and what monitors read.

nodewell_metrics::metrics! {
    pub const ALL;
    PROBLEM_COUNTER: Counter "problem_counter" ["reason"]
        "How often each reason was seen; 0 from the start for reasons of rules.";
    PROBLEM_GAUGE: Gauge "problem_gauge" ["type", "reason"]
        "1 while the problem is there, 0 once it has ended.";
    CONDITION: Gauge "nodewell_condition" ["type", "status"]
        "1 for the state that each condition is in.";
    ACTIVE_PROBLEMS: Gauge "nodewell_active_problems" ["type"]
        "Active problems of each condition.";
    MUTED_PROBLEMS: Gauge "nodewell_muted_problems" ["type"]
        "Those of them that turn no condition: they are muted.";
    ACKNOWLEDGED_PROBLEMS: Gauge "nodewell_acknowledged_problems" ["type"]
        "Those of them that are not muted and turn no condition: a person called them false positives.";
    FALSE_POSITIVES: Counter "nodewell_false_positives_total" ["type", "reason"]
        "Problems that people called false positives; kept over restarts, and 0 from a reason's first problem on.";
    FALSE_CONDITIONS: Counter "nodewell_false_conditions_total" ["type"]
        "How often a condition was True by nothing but such problems; kept over restarts.";
    DEVICES: Gauge "nodewell_devices" ["class", "state"]
        "Devices of each class by state; `ok` as far as is known.";
    GPU_INFO: Gauge "nodewell_gpu_info" ["gpu", "driver", "vbios", "model"]
        "1, with what each GPU and other accelerator that is there is and runs, by PCI address; `vbios` by NVML and \
         amdgpu.";
    NETWORK_CARD_INFO: Gauge "nodewell_network_card_info" ["card", "driver", "firmware", "model"]
        "1, with what each function of a network card that is there is and runs, by PCI address.";
    FABRIC_HW_COUNTER: Counter "nodewell_fabric_hw_counter_total" ["device", "port?", "counter"]
        "What drivers of RDMA cards count of losses, congestion and errors, by their own names of the counters; no \
         `port` where they are of the whole card.";
    FABRIC_PORTS_LEFT_OUT: Gauge "nodewell_fabric_ports_left_out" []
        "Ports with such counters that are more than are shown; only with them.";
    MONITOR_UP: Gauge "nodewell_monitor_up" ["monitor"]
        "1 while the monitor or check process sees what it watches.";
    RECORDS: Counter "nodewell_records_total" ["monitor"]
        "Records read by each monitor's source.";
    RECORDS_LOST: Counter "nodewell_records_lost_total" ["monitor"]
        "Records that a source knows it lost.";
}
