//! Which of the counters are read that drivers of RDMA cards show beside those of the specification
//! (Documentation/ABI/stable/sysfs-class-infiniband, `hw_counters`). They are shown, and judged by nothing:
//! docs/pcie-and-fabrics.md has the reason.
//!
//! They count packets that were lost, late, refused or damaged, congestion, and requests that failed. What measures
//! traffic (packets, bytes, requests) and what counts objects that there are at the moment is left out.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::Read,
    path::Path,
};

const DRIVERS: [&[&str]; 5] = [&MLX5, &BNXT_RE, &IRDMA, &EFA, &MANA];

/// drivers/infiniband/hw/mlx5/counters.c.
const MLX5: [&str; 27] = [
    "duplicate_request",
    "implied_nak_seq_err",
    "local_ack_timeout_err",
    "np_cnp_sent",
    "np_ecn_marked_roce_packets",
    "out_of_buffer",
    "out_of_sequence",
    "packet_seq_err",
    "req_cqe_error",
    "req_cqe_flush_error",
    "req_remote_access_errors",
    "req_remote_invalid_request",
    "req_rnr_retries_exceeded",
    "req_transport_retries_exceeded",
    "resp_cqe_error",
    "resp_cqe_flush_error",
    "resp_local_length_error",
    "resp_remote_access_errors",
    "rnr_nak_retry_err",
    "roce_adp_retrans",
    "roce_adp_retrans_to",
    "roce_slow_restart",
    "roce_slow_restart_cnps",
    "roce_slow_restart_trans",
    "rp_cnp_handled",
    "rp_cnp_ignored",
    "rx_icrc_encapsulated",
];

/// drivers/infiniband/hw/bnxt_re/hw_counters.c. Later versions have mlx5's names for some of them.
const BNXT_RE: [&str; 50] = [
    "bad_resp_err",
    "dup_req",
    "local_protection_err",
    "local_qp_op_err",
    "max_retry_exceeded",
    "mem_mgmt_op_err",
    "missing_resp",
    "np_cnp_pkts",
    "oos_drop_count",
    "recoverable_errors",
    "remote_access_err",
    "remote_invalid_req_err",
    "remote_op_err",
    "res_cmp_err",
    "res_cq_load_err",
    "res_exceed_max",
    "res_exceeds_wqe",
    "res_invalid_dup_rkey",
    "res_irrq_oflow",
    "res_length_mismatch",
    "res_mem_err",
    "res_opcode_err",
    "res_rem_inv_err",
    "res_rx_domain_err",
    "res_rx_invalid_rkey",
    "res_rx_no_perm",
    "res_rx_pci_err",
    "res_rx_range_err",
    "res_srq_err",
    "res_srq_load_err",
    "res_tx_domain_err",
    "res_tx_invalid_rkey",
    "res_tx_no_perm",
    "res_tx_pci_err",
    "res_tx_range_err",
    "res_unaligned_atomic",
    "res_unsup_opcode",
    "res_wqe_format_err",
    "rnr_naks_rcvd",
    "rx_cnp_pkts",
    "rx_ecn_marked_pkts",
    "rx_out_of_buffer",
    "rx_roce_discards",
    "rx_roce_errors",
    "seq_err_naks_rcvd",
    "to_retransmits",
    "tx_cnp_pkts",
    "tx_roce_discards",
    "tx_roce_errors",
    "unrecoverable_err",
];

/// drivers/infiniband/hw/irdma/verbs.c. Those without `tcp` and those with blanks are of cards of the third generation.
const IRDMA: [&str; 24] = [
    "CRC errors",
    "InOptErrors",
    "InProtoErrors",
    "Nak Sequence Error",
    "Nak Sequence Error Implied",
    "RNR received",
    "RNR sent",
    "RTO",
    "Rcvd Out of order packets",
    "RetransSegs",
    "RxECNMrkd",
    "cnpHandled",
    "cnpIgnored",
    "cnpSent",
    "ip4InDiscards",
    "ip4InTruncatedPkts",
    "ip4OutNoRoutes",
    "ip6InDiscards",
    "ip6InTruncatedPkts",
    "ip6OutNoRoutes",
    "rxVlanErrors",
    "tcpInOptErrors",
    "tcpInProtoErrors",
    "tcpRetransSegs",
];

/// drivers/infiniband/hw/efa/efa_verbs.c: of the port, and of the device's commands.
const EFA: [&str; 16] = [
    "impaired_remote_conn_events",
    "rdma_read_wr_err",
    "rdma_write_wr_err",
    "retrans_pkts",
    "retrans_timeout_events",
    "rx_drops",
    "unresponsive_remote_events",
    "alloc_pd_err",
    "alloc_ucontext_err",
    "cmds_err",
    "create_ah_err",
    "create_cq_err",
    "create_qp_err",
    "mmap_err",
    "no_completion_cmds",
    "reg_mr_err",
];

/// drivers/infiniband/hw/mana/counters.c: of the port, and of the device.
const MANA: [&str; 27] = [
    "dup_rx_requests",
    "general_hw_error",
    "nak_access_error",
    "nak_inv_read",
    "nak_inv_req",
    "nak_opp_error",
    "received_cnps",
    "requester_implicit_nak",
    "requester_oos_nak",
    "requester_readresp_psn_mismatch",
    "requester_retries_exceeded",
    "requester_rnr_nak",
    "requester_rnr_nak_retries_exceeded",
    "requester_timeout",
    "requestor_local_prot_error",
    "responder_dup_request",
    "responder_local_len_error",
    "responder_local_qp_error",
    "responder_malformed_wqe",
    "responder_oos",
    "responder_rem_access_error",
    "responder_rnr_nak",
    "total_fatal_error",
    "qp_congested_events",
    "received_cnp_count",
    "received_ecns",
    "sent_cnps",
];

/// The longest of them has 20 digits.
const LIMIT_BYTES: u64 = 32;

/// Those that the folder shows; none where there is no such folder.
pub(super) fn read(folder: &Path) -> BTreeMap<String, u64> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok()).filter(|name| is_known(name));
    names.filter_map(|name| count(&folder.join(&name)).map(|count| (name, count))).collect()
}

fn is_known(name: &str) -> bool {
    DRIVERS.iter().any(|names| names.contains(&name))
}

/// The kernel writes digits and a line break (`%llu`): what is not of this form is no count.
fn count(file: &Path) -> Option<u64> {
    let mut text = String::new();
    File::open(file).ok()?.take(LIMIT_BYTES).read_to_string(&mut text).ok()?;
    let digits = text.strip_suffix('\n')?;
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}
