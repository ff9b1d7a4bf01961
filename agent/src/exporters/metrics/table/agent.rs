//! The agent itself: what it goes by, the API server, the socket, the store, the process.

nodewell_metrics::metrics! {
    pub const ALL;
    BUILD_INFO: Gauge "nodewell_build_info" ["version"]
        "1, with the version of the agent.";
    CONFIG_INFO: Gauge "nodewell_config_info" ["hash"]
        "1, with a hash of what is set in the configuration in force.";
    RULES_INFO: Gauge "nodewell_rules_info" ["hash"]
        "1, with a hash of the rule files in force.";
    CONFIG_LOADED: Gauge "nodewell_config_loaded_timestamp_seconds" []
        "When the agent took both, since 1970: at the start, or at the last reload without errors.";
    APISERVER_CONNECTED: Gauge "nodewell_apiserver_connected" []
        "1 while the API server takes what we send.";
    UNDELIVERED_EVENTS: Gauge "nodewell_apiserver_undelivered_events" []
        "Events that wait for delivery.";
    APISERVER_REQUESTS: Counter "nodewell_apiserver_requests_total" ["request", "code"]
        "Requests by what they are for, such as `patch-node-status`, and the answer's code.";
    EVENTS_DROPPED: Counter "nodewell_events_dropped_total" []
        "Events that the API server will never count.";
    SOCKET_REQUESTS: Counter "nodewell_socket_requests_total" []
        "Requests answered on the local socket.";
    SOCKET_REFUSED: Counter "nodewell_socket_refused_total" ["bound"]
        "Connections turned away, by the bound they hit: of `all`, or of one `peer`.";
    REPORTS: Counter "nodewell_reports_total" ["result"]
        "Reports on the local socket, by what became of them.";
    SOCKET_BROKEN: Counter "nodewell_socket_broken_total" []
        "Connections that stalled or were not HTTP.";
    STORE_UP: Gauge "nodewell_store_up" []
        "1 while what the agent knows is saved on the disk; these only with a state directory.";
    STORE_TRANSACTIONS: Counter "nodewell_store_transactions_total" []
        "Transactions that the disk has taken.";
    STORE_ROWS: Counter "nodewell_store_rows_total" []
        "Rows written in them.";
    STORE_BYTES: Counter "nodewell_store_bytes_total" []
        "What these rows were in memory, in bytes.";
    STORE_FAILURES: Counter "nodewell_store_failures_total" []
        "Attempts that the disk did not take, hangs included.";
    STORE_CORRUPTIONS: Counter "nodewell_store_corruptions_total" []
        "Damaged files that were moved aside.";
    STORE_WAITING_ROWS: Gauge "nodewell_store_waiting_rows" []
        "Rows that wait to be written.";
    STORE_WAITING_BYTES: Gauge "nodewell_store_waiting_bytes" []
        "Memory that they take.";
    STORE_OLDEST_WAITING: Gauge "nodewell_store_oldest_waiting_seconds" []
        "Since when the oldest of them waits: the lag of what is saved.";
    OBSERVED: Counter "nodewell_observed_seconds_total" []
        "For how long this run of the agent has watched the node.";
    PROCESS_CPU: Counter "process_cpu_seconds_total" []
        "User and system CPU time spent.";
    PROCESS_START: Gauge "process_start_time_seconds" []
        "When the agent was started, since 1970.";
    PROCESS_MEMORY: Gauge "process_resident_memory_bytes" []
        "Resident memory size.";
    PROCESS_THREADS: Gauge "process_threads" []
        "Number of threads.";
    PROCESS_FDS: Gauge "process_open_fds" []
        "Number of open file descriptors.";
}
