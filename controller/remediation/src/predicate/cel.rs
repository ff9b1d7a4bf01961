//! Predicates in the Common Expression Language, over one node.
//!
//! | variable | what it is |
//! |---|---|
//! | `node` | `name`, `labels`, `annotations`, `taints` (each `key`, `value`, `effect`), `unschedulable`, `zone` (empty without one), `controlPlane`, `age`, `ready` |
//! | `conditions` | by type: `status` (`'True'`, `'False'`, `'Unknown'`), `reason`, `message`, `age` |
//! | `lease`, `agentLease` | the kubelet's Lease and the agent's (`nodewelld`): `present`, and `age` if it is |
//! | `events` | by reason: `count`, `age`, `reporters` (the clients that wrote them, by their own claim) |
//!
//! Ages are whole seconds, rounded down, and `duration('1h30m')` is the same as `5400`. Whether something is there is
//! asked with `has(conditions.Ready)` or `'Ready' in conditions`; to use what is missing is an error, and blocks the node.
//! There are no regular expressions.

mod check;
mod declared;
mod hint;
mod show;
mod types;
mod values;

use std::sync::{Arc, LazyLock};

use cel::{
    Context, Env, ExecutionError, Program, Value,
    common::{
        types::{CelInt, CelString, STRING_TYPE},
        value::CowVal,
    },
};

use self::check::Uses;
use crate::{facts::Node, policy::duration, snapshot::Snapshot, time::Now};

/// Longer expressions are refused (bytes): a policy is read by people.
pub const LONGEST: usize = 4096;

static ENVIRONMENT: LazyLock<Arc<Env>> = LazyLock::new(|| Arc::new(environment()));

/// A compiled expression. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Expression {
    source: Arc<str>,
    program: Arc<Program>,
    /// Which variables and fields it reads.
    uses: Arc<Uses>,
}

impl Expression {
    /// Reads `source`. What cannot be right of any node is an error here: a variable, field or function that does not
    /// exist, a duration that is none, an operation on values that it does not take, a result that is not true or false, or
    /// more work for each node than `check` allows.
    pub fn compile(source: &str) -> Result<Self, String> {
        if source.trim().is_empty() {
            return Err("is empty; write a condition, such as `conditions.Ready.status == 'Unknown'`".into());
        }
        if source.len() > LONGEST {
            return Err(format!("is {} bytes long; at most {LONGEST} are read", source.len()));
        }
        hint::check_depth(source)?;
        let program = ENVIRONMENT.compile(source).map_err(|errors| hint::explain_parse(source, &errors))?;
        let uses = check::check(program.expression())?;
        types::check(program.expression())?;
        Ok(Self { source: source.into(), program: Arc::new(program), uses: Arc::new(uses) })
    }

    pub fn judge(&self, node: &Node, snapshot: &Snapshot, now: Now) -> Result<bool, String> {
        let view = values::View { node, snapshot, now };
        let mut context = Context::with_env(Arc::clone(&ENVIRONMENT));
        for (variable, keys) in self.uses.variables() {
            context.add_variable_as_val(variable, values::value(variable, keys, &view));
        }
        match self.program.execute(&context) {
            Ok(Value::Bool(answer)) => Ok(answer),
            Ok(other) => Err(format!("gives a {}, not true or false", other.type_of())),
            Err(error) => Err(hint::explain_execution(&error)),
        }
    }

    #[must_use]
    pub fn is_volatile(&self) -> bool {
        self.uses.is_volatile()
    }

    #[must_use]
    pub fn uses_events(&self) -> bool {
        self.uses.uses_events()
    }

    /// Types of conditions that it asks for by name.
    pub fn conditions(&self) -> impl Iterator<Item = &str> {
        self.uses.names_of("conditions")
    }

    /// Types of conditions in the order of the text, `conditions.?Ready` among them, which may be missing.
    pub fn conditions_in_order(&self) -> impl Iterator<Item = &str> {
        self.uses.conditions_in_order()
    }

    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }
}

/// CEL's standard library, and `duration` as seconds.
fn environment() -> Env {
    let mut environment = Env::stdlib();
    environment
        .add_overload("duration", "duration_to_seconds", vec![STRING_TYPE], duration)
        .expect("the standard library without chrono has no duration");
    environment
}

fn duration<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let failed = |message: String| ExecutionError::FunctionError { function: "duration".into(), message };
    let text = arguments.first().and_then(|text| text.downcast_ref::<CelString<'_>>());
    let text = text.ok_or_else(|| failed("takes a text such as '5m'".into()))?;
    let seconds = duration::parse(text.inner()).map_err(failed)?.as_secs();
    Ok(CowVal::owned(CelInt::from(i64::try_from(seconds).unwrap_or(i64::MAX))))
}

#[cfg(test)]
mod tests;
