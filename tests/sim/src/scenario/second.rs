//! The second policy of some scenarios: it comes first by its name, and all that it does is to isolate.

use nodewell_remediation::api::{
    Meta,
    policy::{CordonStep, DurationString, RemediationPolicy, RemediationPolicySpec, StepSpec, TaintStep},
};

use super::{Scenario, Theme};
use crate::random::Random;

/// Its name, which comes before that of the policy that fences.
pub const SECOND: &str = "cordon-ill";
/// The key of a taint that is its own.
pub const OWN_TAINT: &str = "example.com/ill";

/// A monitor reports so while the node is Ready; the report stays when the node dies.
const ILL: &str = "has(conditions.KernelDeadlock) && conditions.KernelDeadlock.status == 'True'";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Second {
    /// It is true of nodes that are lost, too, as the other one is.
    pub of_lost: bool,
    pub isolation: Isolation,
}

/// How it isolates a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    Cordon,
    /// First by the taint that every record knows for one of ours.
    Taint,
    /// First by a taint of which its own record alone knows.
    OwnTaint,
}

impl Isolation {
    fn steps(self) -> Vec<StepSpec> {
        let key = (self == Self::OwnTaint).then(|| OWN_TAINT.to_owned());
        let taint = StepSpec { taint: Some(TaintStep { key, ..TaintStep::default() }), ..StepSpec::default() };
        let cordon = StepSpec { cordon: Some(CordonStep {}), ..StepSpec::default() };
        match self {
            Self::Cordon => vec![cordon],
            Self::Taint | Self::OwnTaint => vec![taint, cordon],
        }
    }
}

impl Scenario {
    /// By dice of its own. Not where a story is about nodes that are ill: these it would keep from their drains.
    pub(super) fn with_second(self) -> Self {
        let mut random = Random::new(self.seed ^ 0x5EC0);
        let (is_rare, of_lost, number) = (random.chance(250), random.chance(500), random.below(4));
        let fits = matches!(self.theme, Theme::Power | Theme::ControlPlane | Theme::Storage | Theme::People);
        if !fits || !is_rare || self.is_crowded {
            return self;
        }
        let isolation = match number {
            0 | 1 => Isolation::Cordon,
            2 => Isolation::Taint,
            _ => Isolation::OwnTaint,
        };
        Self { second: Some(Second { of_lost, isolation }), ..self }
    }

    /// Its limits are those of the other one; so is what it waits for, but for `for`: it is never the later of both.
    #[must_use]
    pub fn second_policy(&self) -> Option<RemediationPolicy> {
        let Second { of_lost, isolation } = self.second?;
        let RemediationPolicy { metadata, spec } = self.policy();
        let spec = RemediationPolicySpec {
            when: if of_lost { spec.when.clone() } else { ILL.to_owned() },
            r#for: Some(DurationString("0s".into())),
            steps: isolation.steps(),
            fast: None,
            ..spec
        };
        let metadata = Meta { name: SECOND.into(), uid: "second-policy".into(), ..metadata };
        Some(RemediationPolicy { metadata, spec })
    }
}
