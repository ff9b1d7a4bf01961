//! What an expression finds: the variables, the fields of each object, and what kind of value each of them is.

use super::types::Type;
use crate::{facts::AGENT_CONDITION_TYPES, method::suggestions::distance};

pub(super) const VARIABLES: [&str; 5] = ["node", "conditions", "lease", "agentLease", "events"];
pub(super) const NODE: [&str; 9] =
    ["name", "labels", "annotations", "taints", "unschedulable", "zone", "controlPlane", "age", "ready"];
const CONDITION: [&str; 4] = ["status", "reason", "message", "age"];
const LEASE: [&str; 2] = ["present", "age"];
const EVENT: [&str; 3] = ["count", "age", "reporters"];
const TAINT: [&str; 3] = ["key", "value", "effect"];

/// The values of a condition's status: Kubernetes writes no others.
const STATUS: [&str; 3] = ["True", "False", "Unknown"];
const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
/// The kubelet's, the cloud's and this controller's. The agent's are [`AGENT_CONDITION_TYPES`].
const CONDITION_TYPES: [&str; 6] =
    ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable", "FenceReady"];

/// A value with a fixed set of fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Object {
    Node,
    Condition,
    Lease,
    Event,
    Taint,
}

impl Object {
    pub(super) fn fields(self) -> &'static [&'static str] {
        match self {
            Self::Node => &NODE,
            Self::Condition => &CONDITION,
            Self::Lease => &LEASE,
            Self::Event => &EVENT,
            Self::Taint => &TAINT,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Node => "the node",
            Self::Condition => "a condition",
            Self::Lease => "a Lease",
            Self::Event => "an Event",
            Self::Taint => "a taint",
        }
    }

    /// Nothing if it has no such field.
    pub(super) fn field(self, name: &str) -> Option<Type> {
        let texts = || Type::Map(Box::new(Type::String), Box::new(Type::String));
        Some(match (self, name) {
            (Self::Node, "name" | "zone") | (Self::Condition, "reason" | "message") => Type::String,
            (Self::Taint, "key" | "value") => Type::String,
            (Self::Node, "labels" | "annotations") => texts(),
            (Self::Node, "taints") => Type::List(Box::new(Type::Object(Self::Taint))),
            (Self::Node, "unschedulable" | "controlPlane" | "ready") | (Self::Lease, "present") => Type::Bool,
            (Self::Condition, "status") => choice(STATUS),
            (Self::Taint, "effect") => choice(EFFECTS),
            (Self::Event, "reporters") => Type::List(Box::new(Type::String)),
            (Self::Event, "count") => Type::Int,
            (Self::Node | Self::Condition | Self::Lease | Self::Event, "age") => Type::Int,
            _ => return None,
        })
    }
}

fn choice(values: [&str; 3]) -> Type {
    Type::Choice(values.map(str::to_owned).to_vec())
}

/// Nothing if there is no such variable.
pub(super) fn variable(name: &str) -> Option<Type> {
    let by_name = |object| Type::Map(Box::new(Type::String), Box::new(Type::Object(object)));
    Some(match name {
        "node" => Type::Object(Object::Node),
        "conditions" => by_name(Object::Condition),
        "events" => by_name(Object::Event),
        "lease" | "agentLease" => Type::Object(Object::Lease),
        _ => return None,
    })
}

/// The one of `known` that `name` was most likely meant to be: another case, one letter, or two that changed places.
pub(super) fn meant<'k>(name: &str, mut known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    let letters = |word: &str| {
        let mut letters: Vec<char> = word.to_ascii_lowercase().chars().collect();
        letters.sort_unstable();
        letters
    };
    let is_near = |one: &str| match distance(&name.to_ascii_lowercase(), &one.to_ascii_lowercase()) {
        0 | 1 => true,
        2 => letters(name) == letters(one),
        _ => false,
    };
    known.find(|one| is_near(one))
}

/// A condition's type may be any name. One that is all but that of a known one is a slip of the pen.
pub(super) fn check_condition_type(name: &str) -> Result<(), String> {
    let known = || CONDITION_TYPES.into_iter().chain(AGENT_CONDITION_TYPES);
    if known().any(|one| one == name) {
        return Ok(());
    }
    match meant(name, known()) {
        None => Ok(()),
        Some(meant) => Err(format!(
            "there is no condition `{name}`; is `{meant}` meant? A condition that is really called so is \
             conditions['{name}']"
        )),
    }
}

/// What is wrong with `operand.name`.
pub(super) fn no_field(operand: &str, object: Object, name: &str) -> String {
    let fields = object.fields();
    let meant = meant(name, fields.iter().copied());
    let meant = meant.map(|meant| format!("is `{meant}` meant? ")).unwrap_or_default();
    format!("`{operand}` has no `{name}`; {meant}It has {}", fields.join(", "))
}
