//! Health checks of Node Problem Detector's configuration: looked at by our own probes, under the condition and the
//! reason that stand there.

use std::time::Duration;

use nodewell_checks::service::{ProbeTiming, ServiceKind, ServiceProbe, Target};
use nodewell_rules::plugin::{Component, HealthChecker, PluginMonitor, PluginTask, Task};

/// A check for each health-checker of `monitors` that holds a condition.
#[must_use]
pub fn npd_health_checks(monitors: &[PluginMonitor]) -> Vec<ServiceProbe> {
    let tasks = monitors.iter().flat_map(|monitor| monitor.tasks.iter().map(move |task| (&*monitor.source, task)));
    tasks.filter_map(|(source, task)| of_task(source, task)).collect()
}

fn of_task(source: &str, task: &PluginTask) -> Option<ServiceProbe> {
    let Task::Health(checker) = &task.task else { return None };
    let Some(condition) = task.condition.clone() else {
        tracing::warn!(
            source,
            task = task.name,
            "a health check of a temporary rule is not done: it holds no condition"
        );
        return None;
    };
    if !checker.log_patterns.is_empty() {
        tracing::warn!(source, task = task.name, "the log patterns of a health check are not looked for; write a rule");
    }
    let kind = ServiceKind::Configured {
        condition,
        reason: task.reason.clone(),
        subject: task.subject.clone().unwrap_or_default(),
        units: vec![checker.unit.clone()],
    };
    let timing = ProbeTiming {
        interval: task.interval,
        timeout: timeout(task, checker),
        failures: task.failures,
        successes: task.successes,
    };
    Some(ServiceProbe { name: format!("{source}/{}", task.name), kind, target: Some(target(checker)?), timing })
}

fn target(checker: &HealthChecker) -> Option<Target> {
    match checker.component {
        Component::Kubelet => Target::kubelet(),
        Component::KubeProxy => Target::kube_proxy(),
        Component::Docker => Some(Target::docker()),
        Component::Cri => Some(Target::Cri(checker.cri_socket.clone())),
    }
}

/// The least of all that limit a run; a question that outlasts its interval would be asked twice at once.
fn timeout(task: &PluginTask, checker: &HealthChecker) -> Duration {
    let own = if checker.component == Component::Cri { checker.cri_timeout } else { checker.timeout };
    own.min(checker.timeout).min(task.timeout).min(task.interval)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn of(args: &str) -> Vec<ServiceProbe> {
        let json = format!(
            r#"{{"plugin":"custom","pluginConfig":{{"invoke_interval":"10s","timeout":"3m"}},"source":"health-checker",
            "conditions":[{{"type":"ContainerRuntimeUnhealthy","reason":"ContainerRuntimeIsHealthy","message":"well"}}],
            "rules":[{{"type":"permanent","condition":"ContainerRuntimeUnhealthy","reason":"ContainerdUnhealthy",
            "path":"/home/kubernetes/bin/health-checker","args":[{args}],"timeout":"3m"}}]}}"#
        );
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("health-checker-containerd.json");
        std::fs::write(&file, json).unwrap();
        let loaded = nodewell_rules::load(&plan(&file));
        assert!(loaded.diagnostics.is_empty(), "{:?}", loaded.diagnostics);
        npd_health_checks(&loaded.set.plugins)
    }

    fn plan(file: &Path) -> nodewell_rules::LoadPlan {
        nodewell_rules::LoadPlan { npd: vec![file.to_owned()], ..Default::default() }
    }

    #[test]
    fn a_stock_health_checker_is_a_check_of_ours() {
        let checks =
            of(r#""--component=cri","--enable-repair=true","--cooldown-time=2m","--health-check-timeout=60s""#);
        let [check] = checks.as_slice() else { panic!("{checks:?}") };
        assert_eq!(check.target, Some(Target::Cri("/var/run/containerd/containerd.sock".into())));
        assert_eq!((check.timing.interval.as_secs(), check.timing.timeout.as_secs()), (10, 2));
        let ServiceKind::Configured { condition, reason, units, .. } = &check.kind else { panic!("{check:?}") };
        assert_eq!((condition.as_str(), reason.as_str()), ("ContainerRuntimeUnhealthy", "ContainerdUnhealthy"));
        assert_eq!(units, &["containerd.service"]);
    }
}
