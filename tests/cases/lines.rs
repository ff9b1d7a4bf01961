//! Lines that kernels print, and rules of the tests' own.

/// KernelOops: holds `KernelUnhealthy` until the next boot.
pub(crate) const OOPS: &str = "BUG: kernel NULL pointer dereference, address: 0000000000000008";
/// RCUStall: an event only.
pub(crate) const STALL: &str = "rcu: INFO: rcu_preempt self-detected stall on CPU";

/// A condition that a line turns, and another line ends.
pub(crate) const TEST_RULES: &str = r#"
[[condition]]
type = "TestUnhealthy"
healthy-reason = "TestIsHealthy"
healthy-message = "all is well"

[[rule]]
reason = "TestFault"
type = "permanent"
condition = "TestUnhealthy"
source = "kmsg"
severity = "error"
pattern = '^test: fault on (?P<subject>\w+)'
clears = { pattern = '^test: end on (?P<subject>\w+)' }
matches = [{ text = "test: fault on a", subject = "a" }]
ignores = ["a test: fault on a"]
recovers = ["test: end on a"]
"#;

/// One more condition, which ends by itself.
pub(crate) const QUIET_RULES: &str = r#"
[[condition]]
type = "TestNoisy"
healthy-reason = "TestIsQuiet"
healthy-message = "nothing is heard"

[[rule]]
reason = "TestNoise"
type = "permanent"
condition = "TestNoisy"
source = "kmsg"
severity = "warn"
pattern = '^test: noise'
clears = { quiet = "1s" }
matches = ["test: noise"]
ignores = ["test: no noise"]
"#;

/// An event for each line, with all of its text.
pub(crate) const LINE_RULE: &str = r#"
[[rule]]
reason = "TestLine"
type = "temporary"
source = "kmsg"
severity = "warn"
pattern = '^test: line (?P<subject>\w+)'
matches = [{ text = "test: line n1", subject = "n1" }]
ignores = ["a test: line n1"]
"#;
