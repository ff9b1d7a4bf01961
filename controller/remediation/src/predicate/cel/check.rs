//! What an expression may do: known variables, fields and functions, and a bounded amount of work for each node.

use std::collections::{BTreeMap, BTreeSet};

use cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, LiteralValue, operators};

use super::declared::{self, Object, VARIABLES};
use crate::policy::duration;

/// Most nodes of an expression's syntax tree; a policy's has ten to a hundred.
const MAX_PARTS: usize = 800;
/// Loops within loops. Two over a node's labels are 10,000 steps; three would be a million.
const MAX_LOOPS: usize = 2;
/// Most items of a list literal.
const MAX_ITEMS: usize = 64;

/// Types, for `type(x) == string`.
const TYPES: [&str; 9] = ["bool", "bytes", "double", "int", "list", "map", "null_type", "string", "uint"];
const FUNCTIONS: [&str; 17] = [
    "bool",
    "bytes",
    "contains",
    "double",
    "duration",
    "dyn",
    "endsWith",
    "hasValue",
    "int",
    "or",
    "orValue",
    "size",
    "startsWith",
    "string",
    "type",
    "uint",
    "value",
];

/// Which keys of a variable an expression reads: only those are built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Keys {
    All,
    Named(BTreeSet<String>),
}

impl Keys {
    pub(super) fn includes(&self, key: &str) -> bool {
        match self {
            Self::All => true,
            Self::Named(keys) => keys.contains(key),
        }
    }
}

/// What of a node an expression reads; nothing else is built for it.
#[derive(Debug, Clone, Default)]
pub(super) struct Uses {
    variables: BTreeMap<&'static str, Keys>,
    /// Types of conditions, each once, in the order of the text; also where the variable is read as a whole.
    conditions: Vec<String>,
    reads_time: bool,
}

impl Uses {
    pub(super) fn variables(&self) -> impl Iterator<Item = (&'static str, &Keys)> {
        self.variables.iter().map(|(name, keys)| (*name, keys))
    }

    /// The keys of a variable that are named; none if it is read as a whole.
    pub(super) fn names_of(&self, variable: &str) -> impl Iterator<Item = &str> {
        let named = match self.variables.get(variable) {
            Some(Keys::Named(keys)) => Some(keys),
            Some(Keys::All) | None => None,
        };
        named.into_iter().flatten().map(String::as_str)
    }

    pub(super) fn conditions_in_order(&self) -> impl Iterator<Item = &str> {
        self.conditions.iter().map(String::as_str)
    }

    pub(super) fn is_volatile(&self) -> bool {
        self.reads_time || ["lease", "agentLease", "events"].iter().any(|name| self.variables.contains_key(name))
    }

    pub(super) fn uses_events(&self) -> bool {
        self.variables.contains_key("events")
    }

    fn all(&mut self, variable: &'static str) {
        self.variables.insert(variable, Keys::All);
    }

    fn key(&mut self, variable: &'static str, key: &str) {
        let keys = self.variables.entry(variable).or_insert_with(|| Keys::Named(BTreeSet::new()));
        if let Keys::Named(keys) = keys {
            keys.insert(key.to_owned());
        }
    }

    fn condition(&mut self, kind: &str) {
        if self.conditions.iter().all(|known| known != kind) {
            self.conditions.push(kind.to_owned());
        }
    }
}

/// What `expression` uses, or the first thing that is wrong with it.
pub(super) fn check(expression: &IdedExpr) -> Result<Uses, String> {
    if matches!(&expression.expr, Expr::Literal(literal) if !matches!(literal, LiteralValue::Boolean(_))) {
        return Err("is a value, not a condition".into());
    }
    let mut walk = SyntaxWalk::default();
    walk.expression(expression)?;
    Ok(walk.uses)
}

#[derive(Default)]
struct SyntaxWalk {
    uses: Uses,
    parts: usize,
    loops: usize,
    /// Variables of the loops around.
    scope: Vec<String>,
}

impl SyntaxWalk {
    fn expression(&mut self, expression: &IdedExpr) -> Result<(), String> {
        self.parts += 1;
        if self.parts > MAX_PARTS {
            return Err(format!("has more than {MAX_PARTS} parts; make several policies of it"));
        }
        if let Some(path) = self.path(expression) {
            return self.note_path(&path, asks_for_presence(expression));
        }
        match &expression.expr {
            Expr::Ident(name) => self.name(name),
            Expr::Select(select) => {
                self.note_age(&select.field);
                self.expression(&select.operand)
            }
            Expr::Call(call) => self.call(call),
            Expr::Comprehension(comprehension) => self.comprehension(comprehension),
            Expr::List(list) if list.elements.len() > MAX_ITEMS => {
                Err(format!("has a list of more than {MAX_ITEMS} items"))
            }
            Expr::List(list) => list.elements.iter().try_for_each(|element| self.expression(element)),
            Expr::Map(map) => map.entries.iter().try_for_each(|entry| match &entry.expr {
                EntryExpr::MapEntry(entry) => self.expression(&entry.key).and_then(|()| self.expression(&entry.value)),
                EntryExpr::StructField(_) => Err("makes a message; there are none here".into()),
            }),
            Expr::Struct(message) => Err(format!("makes a message `{}`; there are none here", message.type_name)),
            Expr::Literal(LiteralValue::String(text)) => {
                self.note_age(text.inner());
                Ok(())
            }
            Expr::Literal(_) | Expr::Unspecified => Ok(()),
        }
    }

    /// Any mention of an age makes the answer depend on the time.
    fn note_age(&mut self, field: &str) {
        self.uses.reads_time |= field == "age";
    }

    fn name(&mut self, name: &str) -> Result<(), String> {
        if name.starts_with('@') || self.scope.iter().any(|known| known == name) || TYPES.contains(&name) {
            return Ok(());
        }
        let variable = variable(name)?;
        self.uses.all(variable);
        // The whole of a value can be compared, ages and all.
        self.uses.reads_time = true;
        Ok(())
    }

    /// `conditions.Ready.age`, `conditions['Ready'].age` and `'Ready' in conditions`, from one of [`VARIABLES`].
    fn path(&self, expression: &IdedExpr) -> Option<Vec<String>> {
        let path = match &expression.expr {
            Expr::Call(call) if call.func_name == operators::IN => membership(call)?,
            _ => selection(expression)?,
        };
        let is_variable = VARIABLES.contains(&path[0].as_str()) && !self.scope.contains(&path[0]);
        (is_variable && path.len() > 1).then_some(path)
    }

    fn note_path(&mut self, path: &[String], presence: bool) -> Result<(), String> {
        let variable = variable(&path[0])?;
        known_fields(variable, path)?;
        path.iter().for_each(|field| self.note_age(field));
        // A condition as a whole has its age in it.
        self.uses.reads_time |= variable == "conditions" && path.len() == 2 && !presence;
        self.uses.key(variable, &path[1]);
        if variable == "conditions" {
            self.uses.condition(&path[1]);
        }
        Ok(())
    }

    /// The type in `conditions.?Ready` and `conditions[?'Ready']`.
    fn optional_condition(&self, call: &CallExpr) -> Option<String> {
        match (call.func_name.as_str(), &call.args[..]) {
            (operators::OPT_SELECT | operators::OPT_INDEX, [map, key]) if self.is_conditions(map) => literal(key),
            _ => None,
        }
    }

    fn is_conditions(&self, expression: &IdedExpr) -> bool {
        matches!(&expression.expr, Expr::Ident(name) if name == "conditions" && !self.scope.contains(name))
    }

    fn call(&mut self, call: &CallExpr) -> Result<(), String> {
        let name = call.func_name.as_str();
        if name.starts_with(|first: char| first.is_ascii_alphabetic()) && !FUNCTIONS.contains(&name) {
            return Err(unknown_function(name));
        }
        if let ("duration", [IdedExpr { expr: Expr::Literal(LiteralValue::String(text)), .. }]) = (name, &call.args[..])
        {
            duration::parse(text.inner()).map_err(|problem| format!("duration('{}'): {problem}", text.inner()))?;
        }
        if let Some(kind) = self.optional_condition(call) {
            self.uses.condition(&kind);
        }
        call.target.iter().try_for_each(|target| self.expression(target))?;
        call.args.iter().try_for_each(|argument| self.expression(argument))
    }

    fn comprehension(&mut self, comprehension: &ComprehensionExpr) -> Result<(), String> {
        self.expression(&comprehension.iter_range)?;
        self.expression(&comprehension.accu_init)?;
        self.loops += 1;
        if self.loops > MAX_LOOPS {
            return Err(format!("has more than {MAX_LOOPS} loops within each other"));
        }
        let depth = self.scope.len();
        self.scope.push(comprehension.iter_var.clone());
        self.scope.extend(comprehension.iter_var2.clone());
        self.scope.push(comprehension.accu_var.clone());
        for part in [&comprehension.loop_cond, &comprehension.loop_step, &comprehension.result] {
            self.expression(part)?;
        }
        self.scope.truncate(depth);
        self.loops -= 1;
        Ok(())
    }
}

fn asks_for_presence(expression: &IdedExpr) -> bool {
    match &expression.expr {
        Expr::Select(select) => select.test,
        Expr::Call(call) => call.func_name == operators::IN,
        _ => false,
    }
}

fn variable(name: &str) -> Result<&'static str, String> {
    VARIABLES.into_iter().find(|known| *known == name).ok_or_else(|| {
        let meant = declared::meant(name, VARIABLES.into_iter());
        let meant = meant.map(|meant| format!("is `{meant}` meant? ")).unwrap_or_default();
        format!("there is no `{name}`; {meant}There are {}", VARIABLES.join(", "))
    })
}

fn unknown_function(name: &str) -> String {
    match name {
        "matches" => "there are no regular expressions; use contains, startsWith or endsWith".into(),
        _ => format!("there is no function `{name}`; there are {}", FUNCTIONS.join(", ")),
    }
}

fn membership(call: &CallExpr) -> Option<Vec<String>> {
    let [key, map] = &call.args[..] else { return None };
    let mut path = selection(map)?;
    path.push(literal(key)?);
    Some(path)
}

/// The names from a variable down; nothing if one of them is only known when it is judged.
fn selection(expression: &IdedExpr) -> Option<Vec<String>> {
    match &expression.expr {
        Expr::Ident(name) => Some(vec![name.clone()]),
        Expr::Select(select) => {
            let mut path = selection(&select.operand)?;
            path.push(select.field.clone());
            Some(path)
        }
        Expr::Call(call) if call.func_name == operators::INDEX => {
            let [map, key] = &call.args[..] else { return None };
            let mut path = selection(map)?;
            path.push(literal(key)?);
            Some(path)
        }
        _ => None,
    }
}

fn literal(expression: &IdedExpr) -> Option<String> {
    match &expression.expr {
        Expr::Literal(LiteralValue::String(text)) => Some(text.inner().to_owned()),
        _ => None,
    }
}

fn known_fields(variable: &str, path: &[String]) -> Result<(), String> {
    let (object, field) = match variable {
        "node" => (Object::Node, path.get(1)),
        "conditions" => (Object::Condition, path.get(2)),
        "events" => (Object::Event, path.get(2)),
        _ => (Object::Lease, path.get(1)),
    };
    match field {
        Some(field) if !object.fields().contains(&field.as_str()) => Err(declared::no_field(&path[0], object, field)),
        _ => Ok(()),
    }
}
