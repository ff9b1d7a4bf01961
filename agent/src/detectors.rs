//! Second stage: what a record means. The rules are data (`nodewell_rules`); here is what only the host knows.

pub mod cgroup;
pub mod mounts;
pub mod pod_names;
pub mod proof;
