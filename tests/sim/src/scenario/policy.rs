//! The policy of a scenario, as people would write it.

use nodewell_remediation::api::{
    Meta,
    policy::{
        Amount, BudgetSpec, ControlPlane, CordonStep, DrainStep, DurationString, FastSpec, Mode, PowerCyclesSpec,
        PowerStep, RateSpec, ReapStep, RemediationPolicy, RemediationPolicySpec, StepSpec, StormSpec, TaintStep,
    },
};

use super::{
    DRAIN, Kind, MOST_AT_ONCE, MOST_DEAD, MOST_DOWN, MOST_DOWN_IN_ZONE, Mutation, PODS_WITHIN, Scenario, Steps,
};

/// The policy's name.
pub const POLICY: &str = "lost";

/// A node is lost when it reports nothing, and ill when a monitor reports so while it is Ready.
const WHEN: &str = "(has(conditions.Ready) && conditions.Ready.status != 'True') \
    || (has(conditions.KernelDeadlock) && conditions.KernelDeadlock.status == 'True')";
/// Asked of every node every second, which is what most of a story's time goes into.
const SILENT: &str = " || (lease.present && lease.age >= 15)";

impl Scenario {
    #[must_use]
    pub fn policy(&self) -> RemediationPolicy {
        let held = if self.fast { "0s" } else { "50s" };
        let held = if self.mutation == Mutation::Sluggish { "1h" } else { held };
        let cycles = if self.mutation == Mutation::NoPowerCycleLimit { 1000 } else { self.most_cycles };
        let protected = !self.fences_control_plane && self.mutation != Mutation::TouchesControlPlane;
        let spec = RemediationPolicySpec {
            selector: Default::default(),
            trust_events: false,
            when: if self.fast { format!("{WHEN}{SILENT}") } else { WHEN.into() },
            r#for: Some(DurationString(held.into())),
            healthy_delay: Some(DurationString("20s".into())),
            steps: self.step_specs(self.steps),
            mode: Mode::Enforce,
            control_plane: if protected { ControlPlane::Never } else { ControlPlane::OneAtATime },
            reboot_grace_period: self.reboot_grace().map(|grace| DurationString(grace.into())),
            node_startup_grace_period: Some(DurationString("20s".into())),
            cordon_budget: (!self.narrow).then(|| budget("50%", "100%", None)),
            budget: (!self.narrow).then(|| self.power_budget()),
            storm: Some(self.storm()),
            power_cycles: Some(PowerCyclesSpec {
                count: count(cycles),
                window: DurationString("24h".into()),
                off_until: self.off_until,
            }),
            pods: self.most_pods.map(|most| self.pod_rate(most)),
            fast: self
                .fast
                .then(|| FastSpec { silent_for: Some(DurationString("15s".into())), unreachable_from: Some(2) }),
        };
        let metadata =
            Meta { name: POLICY.into(), uid: "policy".into(), resource_version: "1".into(), ..Meta::default() };
        RemediationPolicy { metadata, spec }
    }

    fn pod_rate(&self, most: usize) -> RateSpec {
        let most = if self.mutation == Mutation::NoPodRate { 1000 } else { most };
        RateSpec { count: count(most), window: DurationString(format!("{}s", PODS_WITHIN.as_secs())) }
    }

    fn reboot_grace(&self) -> Option<&'static str> {
        if self.mutation == Mutation::IgnoresReboots { Some("0s") } else { self.reboot_grace }
    }

    fn power_budget(&self) -> BudgetSpec {
        if self.mutation == Mutation::NoBudget {
            return budget("100%", "100%", Some(100));
        }
        BudgetSpec {
            max_unavailable: Some(Amount::Count(count(MOST_DOWN))),
            max_dead: Some(Amount::Count(count(MOST_DEAD))),
            max_unavailable_per_zone: Some(Amount::Count(count(MOST_DOWN_IN_ZONE))),
            max_concurrent: Some(count(MOST_AT_ONCE)),
            ..BudgetSpec::default()
        }
    }

    /// Shorter than the default, so that a story has time for what comes after a storm.
    fn storm(&self) -> StormSpec {
        let cooldown = if self.mutation == Mutation::NoCooldown { "0s" } else { "30s" };
        let storm = StormSpec { cooldown: Some(DurationString(cooldown.into())), ..StormSpec::default() };
        if !matches!(self.mutation, Mutation::NoBudget | Mutation::NoStorm) {
            return storm;
        }
        let never = RateSpec { count: 10_000, window: DurationString("1m".into()) };
        StormSpec { unhealthy: Some(Amount::Text("100%".into())), rate: Some(never), ..storm }
    }

    /// What a policy names as its steps.
    #[must_use]
    pub fn step_specs(&self, steps: Steps) -> Vec<StepSpec> {
        let cordon = StepSpec { cordon: Some(CordonStep {}), ..StepSpec::default() };
        let taint = StepSpec { taint: Some(TaintStep::default()), ..StepSpec::default() };
        let drain = StepSpec { drain: Some(self.drain()), ..StepSpec::default() };
        let reap = ReapStep { even_if_drain_failed: self.even_if_drain_failed };
        let reap = StepSpec { reap: Some(reap), then_wait: Some(DurationString("30s".into())), ..StepSpec::default() };
        match steps {
            Steps::CordonPowerCycle => vec![cordon, self.cycle()],
            Steps::TaintDrainPowerCycle => vec![taint, drain, self.cycle()],
            Steps::DrainReboot => vec![cordon, drain, self.reboot()],
            Steps::DrainReap => vec![cordon, drain, reap],
        }
    }

    fn cycle(&self) -> StepSpec {
        StepSpec {
            power_cycle: Some(self.power()),
            then_wait: Some(DurationString("20s".into())),
            ..StepSpec::default()
        }
    }

    fn reboot(&self) -> StepSpec {
        StepSpec { reboot: Some(self.power()), then_wait: Some(DurationString("20s".into())), ..StepSpec::default() }
    }

    fn power(&self) -> PowerStep {
        let patience = if self.kind == Kind::Plain { "3m" } else { "75s" };
        PowerStep {
            ready_timeout: Some(DurationString(patience.into())),
            leave_off: self.leave_off,
            ..PowerStep::default()
        }
    }

    fn drain(&self) -> DrainStep {
        let timeout = if self.mutation == Mutation::DrainsOn { 600 } else { DRAIN.as_secs() };
        DrainStep {
            timeout: DurationString(format!("{timeout}s")),
            force_on_timeout: self.forces,
            disable_eviction: self.mutation == Mutation::AsksNoBudget,
            ..DrainStep::default()
        }
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(1)
}

fn budget(cluster: &str, zone: &str, max_concurrent: Option<u32>) -> BudgetSpec {
    BudgetSpec {
        max_unavailable: Some(Amount::Text(cluster.into())),
        max_unavailable_per_zone: Some(Amount::Text(zone.into())),
        max_concurrent,
        ..BudgetSpec::default()
    }
}
