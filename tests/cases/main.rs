//! Whole-program tests: the real binaries against the real thing. A file for each behaviour; this one lists them.

#![allow(clippy::unwrap_used)]

mod acks;
mod alerts;
mod ansible_rollout;
mod api_conditions;
mod api_double;
mod api_down;
mod api_events;
mod api_faults;
mod apiserver_half_open;
mod apiserver_restored;
mod bad_config;
mod book;
mod book_fences;
mod book_in_a_cluster;
mod book_on_a_machine;
mod booted_service;
mod certificate_rotates;
mod check_process_hardware;
mod check_process_release;
mod check_processes;
mod clock;
mod clock_jumps;
mod container_runtime_restarts;
mod controller_errors;
mod controller_fences;
mod controller_hosts;
mod controller_identity;
mod controller_quorum;
mod controller_reach;
mod controller_reaper;
mod controller_release;
mod controller_requests;
mod controller_stopped;
mod controller_storage;
mod descriptors_gone;
mod dns_gone;
mod doctor_identity;
mod enroll;
mod events_10000;
mod exit_codes;
mod file_copytruncate;
mod gpu_faults;
mod gpu_hangs;
mod gpu_xids;
mod harness;
mod hostile_clients;
mod hostile_lines;
mod hostile_peer;
mod identity_published;
mod identity_rights;
mod import_npd;
mod in_the_cluster;
mod inject;
mod intruders;
mod journal_entries;
mod journal_rotates_and_vacuums;
mod journald_restarts;
mod killed_at_random;
mod killed_between_any_two_steps;
mod killed_for_memory;
mod kmsg_blind;
mod kmsg_line_turns_condition;
mod kmsg_lookback;
mod kmsg_overrun;
mod kubectl_plugin;
mod kubelet_events;
mod lease;
mod limits;
mod lines;
mod log_files;
mod memory_limit_hit;
mod metrics;
mod metrics_tls;
mod monitor_panics;
mod mounts;
mod mutes;
mod network;
mod node_bound;
mod node_recreated;
mod npd_beside;
mod npd_stock_configs;
mod old_kernel;
mod openapi;
mod package_scripts;
mod pcie_and_fabric;
mod people_rights;
mod plugin_hostile;
mod plugin_runs;
mod plugin_stock;
mod reboot_is_judged;
mod reboot_on_systemd;
mod recovery;
mod release_apt;
mod release_dnf;
mod release_image;
mod release_sums;
mod release_sysext;
mod release_tarball;
mod repair_on_systemd;
mod replay_forms;
mod report_api;
mod report_cli;
mod report_docs;
mod report_floods;
mod report_grants;
mod report_hardware;
mod report_ids;
mod report_reasons;
mod report_restart;
mod root_disk_hangs;
mod rule_commands;
mod service_health;
mod service_units;
mod sighup_reload;
mod state;
mod state_disk_full;
mod state_hangs;
mod state_lost;
mod state_read_only;
mod statistics_metrics;
mod statistics_prometheus;
mod trial;
mod unit_users;
mod withdraw;

fn main() -> std::process::ExitCode {
    if let Some(code) = nodewell_tests::intruder::as_asked() {
        return code;
    }
    nodewell_tests::own_mounts::separate();
    let mut suite = nodewell_tests::suite::Suite::default();
    // The slowest first: the short ones fill the gaps.
    let behaviours = [
        controller_identity::list,
        booted_service::list,
        ansible_rollout::list,
        book_on_a_machine::list,
        book_fences::list,
        book_in_a_cluster::list,
        alerts::list,
        controller_fences::list,
        controller_hosts::list,
        controller_errors::list,
        controller_quorum::list,
        controller_reach::list,
        controller_reaper::list,
        controller_release::list,
        controller_requests::list,
        controller_stopped::list,
        controller_storage::list,
        container_runtime_restarts::list,
        reboot_on_systemd::list,
        release_sysext::list,
        release_dnf::list,
        release_image::list,
        release_sums::list,
        release_apt::list,
        repair_on_systemd::list,
        events_10000::list,
        api_faults::list,
        api_conditions::list,
        api_down::list,
        apiserver_half_open::list,
        apiserver_restored::list,
        certificate_rotates::list,
        in_the_cluster::list,
        kubectl_plugin::list,
        kubelet_events::list,
        lease::list,
        api_events::list,
        node_bound::list,
        node_recreated::list,
        people_rights::list,
        hostile_clients::list,
        api_double::list,
        killed_between_any_two_steps::list,
        killed_at_random::list,
        enroll::list,
        descriptors_gone::list,
        dns_gone::list,
        doctor_identity::list,
        identity_published::list,
        identity_rights::list,
        kmsg_overrun::list,
        memory_limit_hit::list,
        root_disk_hangs::list,
        file_copytruncate::list,
        monitor_panics::list,
        clock::list,
        network::list,
        clock_jumps::list,
        plugin_hostile::list,
        plugin_runs::list,
        plugin_stock::list,
        reboot_is_judged::list,
        check_process_hardware::list,
        check_process_release::list,
        check_processes::list,
        exit_codes::list,
        service_units::list,
        service_health::list,
        gpu_hangs::list,
        gpu_faults::list,
        gpu_xids::list,
        mounts::list,
        mutes::list,
        acks::list,
        pcie_and_fabric::list,
        inject::list,
        intruders::list,
        journal_entries::list,
        journal_rotates_and_vacuums::list,
        journald_restarts::list,
        npd_beside::list,
        npd_stock_configs::list,
        import_npd::list,
        harness::list,
        hostile_lines::list,
        hostile_peer::list,
        limits::list,
        log_files::list,
        killed_for_memory::list,
        kmsg_blind::list,
        kmsg_line_turns_condition::list,
        kmsg_lookback::list,
        old_kernel::list,
        openapi::list,
        recovery::list,
        report_api::list,
        report_cli::list,
        report_docs::list,
        report_restart::list,
        report_floods::list,
        report_grants::list,
        report_ids::list,
        report_hardware::list,
        report_reasons::list,
        replay_forms::list,
        rule_commands::list,
        sighup_reload::list,
        metrics::list,
        metrics_tls::list,
        statistics_metrics::list,
        statistics_prometheus::list,
        state_disk_full::list,
        state_hangs::list,
        state_lost::list,
        state_read_only::list,
        package_scripts::list,
        release_tarball::list,
        trial::list,
        unit_users::list,
        withdraw::list,
        bad_config::list,
        book::list,
    ];
    behaviours.iter().for_each(|list| list(&mut suite));
    suite.run()
}
