//! What makes the world of some seeds less kind, by dice of its own, so that all else of a seed is as it was.

use std::time::Duration;

use super::{Kind, Scenario, Steps, Theme};
use crate::random::Random;

/// Pods for each node of a crowded story.
const CROWD: usize = 300;
/// Nodes of a crowded story.
const NODES: usize = 10;
/// The default of `spec.pods.count`.
const MOST: usize = 250;

impl Scenario {
    pub(super) fn made_unkind(self) -> Self {
        if !matches!(self.kind, Kind::Mixed | Kind::Wild) {
            return self;
        }
        let mut random = Random::new(self.seed ^ 0x0D1CE);
        let (daemons, clocks, what) = (random.chance(250), random.chance(200), random.below(1000));
        let story = Self { has_daemons: daemons, steps_clocks: clocks, ..self };
        let story = match what {
            0..40 => story.with_reboots(),
            40..65 if matches!(story.theme, Theme::Power | Theme::Drains) => story.crowded(random.chance(600)),
            // Every machine is left off, and some come up again by themselves.
            65..125 if story.theme == Theme::Power => story.left_off(),
            _ => story,
        };
        story.with_second()
    }

    /// Without any of it: a story by a plot has what that plot is about.
    #[must_use]
    pub fn made_kind(self) -> Self {
        let (trouble, end) = (Duration::from_secs(180), Duration::from_secs(450));
        let is_small = self.is_crowded;
        let kind = Self { has_daemons: false, steps_clocks: false, has_reboots: false, is_crowded: false, ..self };
        let kind = Self { second: None, ..kind };
        Self { trouble, end, pods: if is_small { kind.nodes } else { kind.pods }, ..kind }
    }

    /// Until a reboot of 15 minutes was fenced after its grace of 10.
    fn with_reboots(self) -> Self {
        Self { has_reboots: true, end: Duration::from_secs(960), ..self }
    }

    /// Soon, so that its BMC has the time to turn one on again.
    fn left_off(self) -> Self {
        Self { most_cycles: 0, steps: Steps::CordonPowerCycle, fast: true, dry_run: false, ..self }
    }

    /// With the policy's default rate, of which the second window is played too; or with one whose windows are short.
    fn crowded(self, short: bool) -> Self {
        let steps = if self.theme == Theme::Drains { self.steps } else { Steps::CordonPowerCycle };
        let story = Self { is_crowded: true, nodes: NODES, pods: CROWD * NODES, steps, ..self };
        if short {
            return Self { most_pods: Some(MOST), ..story };
        }
        Self { most_pods: None, trouble: Duration::from_secs(720), end: Duration::from_secs(960), ..story }
    }
}
