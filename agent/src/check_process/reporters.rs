//! Under which names check processes report, for who waits until all of them have looked.

use std::path::Path;

use nodewell_rules::RuleSet;

use crate::{
    check_process::{Group, has_gpu_driver, plugins, services},
    config::Config,
};

/// Each name (`source`), with the check process that reports under it. The last are those of the plug-ins in `rules`.
#[must_use]
pub fn reporters(config: &Config, rules: RuleSet) -> Vec<(Group, String)> {
    reporters_at(Path::new("/sys"), config, rules)
}

fn reporters_at(sys: &Path, config: &Config, rules: RuleSet) -> Vec<(Group, String)> {
    // That of GPUs does not run without a driver.
    let gpu = has_gpu_driver(sys).then_some(Group::Gpu);
    let groups: Vec<Group> = [Group::Check, Group::Disk].into_iter().chain(gpu).collect();
    let own = groups.iter().map(|group| (*group, group.as_str()));
    let mounts = groups.iter().filter_map(|group| Some((*group, group.mounts_group()?.as_str())));
    let services = config.checks.services.enabled.then_some((Group::Check, services::NAME));
    let named = own.chain(mounts).chain(services).map(|(group, name)| (group, name.to_owned()));
    let plugins = plugins::sources(rules).into_keys().map(|name| (Group::Check, name.to_string()));
    named.chain(plugins).collect()
}

#[cfg(test)]
mod tests {
    use nodewell_rules::load_path;

    use super::*;
    use crate::config::Flags;

    const PLUGIN: &str = r#"
[[plugin]]
name = "fans"
command = "/bin/true"
reason = "FanStopped"
"#;

    /// Where there is a driver of GPUs.
    fn names(config: &Config, rules: RuleSet) -> Vec<String> {
        let sys = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(sys.path().join("module/nvidia")).unwrap();
        reporters_at(sys.path(), config, rules).into_iter().map(|(_, name)| name).collect()
    }

    #[test]
    fn every_part_of_a_check_process_that_reports_is_named() {
        let mut config = Config::of_flags(&Flags::default());
        assert_eq!(names(&config, RuleSet::default()), ["check", "disk", "gpu", "mounts", "services"]);
        config.checks.services.enabled = false;
        assert_eq!(names(&config, RuleSet::default()), ["check", "disk", "gpu", "mounts"]);
        let without = reporters_at(Path::new("/nonexistent"), &config, RuleSet::default());
        assert!(without.iter().all(|(group, _)| *group != Group::Gpu), "no driver");
    }

    #[test]
    fn plug_ins_are_named_as_they_report() {
        let config = Config::of_flags(&Flags::default());
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("fans.toml");
        std::fs::write(&file, PLUGIN).unwrap();
        let loaded = load_path(&file);
        assert!(loaded.diagnostics.is_empty(), "{:?}", loaded.diagnostics);
        assert_eq!(names(&config, loaded.set)[5..], ["plugins"]);
    }
}
