//! What the fuzzer calls (`tests/fuzz`): each function takes any bytes and panics if a promise is broken. The corpora
//! are replayed through the same functions by an ordinary test.

mod answer;
mod cgroup;
mod faults;
mod kmsg;
mod kubeconfig;
mod plugin;
mod pstore;
mod replay;
mod report;
mod rules;

pub use answer::answer;
pub use cgroup::cgroup;
pub use faults::faults;
pub use kmsg::kmsg;
pub use kubeconfig::kubeconfig;
pub use plugin::plugin;
pub use pstore::pstore;
pub use replay::replay;
pub use report::report;
pub use rules::rules;

#[cfg(test)]
mod tests {
    use nodewell_kit::replay_corpus;

    #[test]
    fn the_corpus_of_the_api_servers_answers_is_harmless() {
        replay_corpus("answer", super::answer);
    }

    #[test]
    fn the_corpus_of_cgroups_is_harmless() {
        replay_corpus("cgroup", super::cgroup);
    }

    #[test]
    fn the_corpus_of_kubeconfigs_is_harmless() {
        replay_corpus("kubeconfig", super::kubeconfig);
    }

    #[test]
    fn the_corpus_of_what_plugins_print_is_harmless() {
        replay_corpus("plugin", super::plugin);
    }

    #[test]
    fn the_corpus_of_reports_is_harmless() {
        replay_corpus("report", super::report);
    }

    #[test]
    fn the_corpus_of_kernel_records_is_harmless() {
        replay_corpus("kmsg", super::kmsg);
    }

    #[test]
    fn the_corpus_of_hardwares_lines_is_harmless() {
        replay_corpus("faults", super::faults);
    }

    #[test]
    fn the_corpus_of_pstore_records_is_harmless() {
        replay_corpus("pstore", super::pstore);
    }

    #[test]
    fn the_corpus_of_saved_logs_is_harmless() {
        replay_corpus("replay", super::replay);
    }

    #[test]
    fn the_corpus_of_rule_files_is_harmless() {
        replay_corpus("rules", super::rules);
    }
}
