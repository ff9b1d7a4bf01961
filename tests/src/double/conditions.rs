//! `status.conditions` of one Node with its owners: server-side apply, and the strategic merge of other writers.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use serde_json::{Map, Value, json};

/// One condition's fields.
pub(crate) type Fields = Map<String, Value>;

/// What the schema of a NodeCondition knows.
const SCHEMA: [&str; 6] = ["type", "status", "lastHeartbeatTime", "lastTransitionTime", "reason", "message"];
/// What the server writes even if no client sent it.
const ALWAYS_WRITTEN: [&str; 4] = ["type", "status", "lastHeartbeatTime", "lastTransitionTime"];
/// The list item itself, as `managedFields` calls it.
const ITEM: &str = ".";
/// No manager is named until a client applies: this one then has all that is there.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// A writer as the server distinguishes them: by name and by the way they write.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Owner {
    manager: String,
    operation: Operation,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Operation {
    Apply,
    Update,
}

impl Owner {
    fn apply(manager: &str) -> Self {
        Self { manager: manager.to_owned(), operation: Operation::Apply }
    }

    fn update(manager: &str) -> Self {
        Self { manager: manager.to_owned(), operation: Operation::Update }
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} with subresource \"status\"", self.manager)?;
        match self.operation {
            Operation::Apply => Ok(()),
            Operation::Update => write!(f, " using v1"),
        }
    }
}

/// A field that another writer holds at another value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FieldConflict {
    pub(crate) owner: Owner,
    key: Key,
}

impl FieldConflict {
    /// As `details.causes[].field` has it.
    pub(crate) fn field(&self) -> String {
        format!(".status.conditions[type={:?}].{}", self.key.condition, self.key.field)
    }
}

/// A condition type and one of its fields.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    condition: String,
    field: String,
}

/// The list.
#[derive(Debug, Clone, Default)]
pub(crate) struct Conditions {
    items: Vec<Fields>,
    owners: BTreeMap<Owner, BTreeSet<Key>>,
    /// A client has applied: from then on writers are tracked apart.
    tracked: bool,
}

impl Conditions {
    /// As it stands in the Node.
    pub(crate) fn view(&self) -> Vec<Value> {
        let whole = |item: &Fields| {
            let mut whole = json!({ "type": "", "status": "", "lastHeartbeatTime": null, "lastTransitionTime": null });
            whole.as_object_mut().unwrap().extend(item.clone());
            whole
        };
        self.items.iter().map(whole).collect()
    }

    pub(crate) fn has(&self, condition: &str) -> bool {
        self.items.iter().any(|item| name(item) == condition)
    }

    /// Types with another status than in `before`, and which.
    pub(crate) fn turned_since(&self, before: &Self) -> impl Iterator<Item = (&str, &str)> {
        let turned = move |item: &&Fields| before.value(name(item), "status") != item.get("status");
        self.items.iter().filter(turned).map(|item| (name(item), status(item)))
    }

    /// Server-side apply: these conditions are all that `manager` wants to set.
    pub(crate) fn apply(&mut self, manager: &str, wanted: &[Fields], force: bool) -> Result<(), Vec<FieldConflict>> {
        let me = Owner::apply(manager);
        if !self.tracked {
            let all = self.items.iter().flat_map(keys).collect();
            self.owners = BTreeMap::from([(Owner::update(BEFORE_FIRST_APPLY), all)]);
        }
        let conflicts = self.conflicts(&me, wanted);
        if !conflicts.is_empty() && !force {
            return Err(conflicts);
        }
        self.tracked = true;
        for conflict in conflicts {
            self.owners.entry(conflict.owner).or_default().remove(&conflict.key);
        }
        let before = self.owners.remove(&me).unwrap_or_default();
        let now: BTreeSet<Key> = wanted.iter().flat_map(keys).collect();
        for condition in wanted {
            self.item(name(condition)).extend(condition.clone());
        }
        for key in before.difference(&now) {
            self.release(key, &now);
        }
        self.owners.insert(me, now);
        self.owners.retain(|_, keys| !keys.is_empty());
        Ok(())
    }

    /// Strategic merge, as the kubelet and Node Problem Detector write: by type; what changes is theirs from then on.
    pub(crate) fn merge(&mut self, manager: &str, patches: &[Fields]) {
        let me = Owner::update(manager);
        for patch in patches {
            let changed = self.changed_by(patch);
            for keys in self.owners.values_mut() {
                keys.retain(|key| !changed.contains(key));
            }
            self.owners.entry(me.clone()).or_default().extend(changed);
            self.item(name(patch)).extend(patch.clone());
        }
        self.owners.retain(|_, keys| !keys.is_empty());
    }

    fn conflicts(&self, me: &Owner, wanted: &[Fields]) -> Vec<FieldConflict> {
        let mut conflicts = Vec::new();
        for (owner, keys) in self.owners.iter().filter(|(owner, _)| *owner != me) {
            for Key { condition, field } in keys {
                let sent = wanted.iter().find(|one| name(one) == condition).and_then(|one| one.get(field));
                if sent.is_some() && sent != self.value(condition, field) {
                    conflicts.push(FieldConflict {
                        owner: owner.clone(),
                        key: Key { condition: condition.clone(), field: field.clone() },
                    });
                }
            }
        }
        conflicts
    }

    fn changed_by(&self, patch: &Fields) -> BTreeSet<Key> {
        let condition = name(patch);
        let key = |field: &str| Key { condition: condition.to_owned(), field: field.to_owned() };
        let changed = patch.iter().filter(|(field, value)| self.value(condition, field) != Some(*value));
        let mut changed: BTreeSet<Key> = changed.map(|(field, _)| key(field)).collect();
        if !self.items.iter().any(|item| name(item) == condition) {
            changed.extend(ALWAYS_WRITTEN.iter().chain(&[ITEM]).map(|field| key(field)));
        }
        changed
    }

    /// Fields without an owner go; an item goes with its last owner.
    fn release(&mut self, key: &Key, now: &BTreeSet<Key>) {
        let Key { condition, field } = key;
        let held = |keys: &BTreeSet<Key>| keys.iter().any(|owned| owned.condition == *condition);
        if !held(now) && !self.owners.values().any(held) {
            self.items.retain(|item| name(item) != condition);
        } else if field != "type" && !self.owners.values().any(|keys| keys.contains(key)) {
            self.item(condition).remove(field);
        }
    }

    fn value(&self, condition: &str, field: &str) -> Option<&Value> {
        self.items.iter().find(|item| name(item) == condition)?.get(field)
    }

    fn item(&mut self, condition: &str) -> &mut Fields {
        let index = self.items.iter().position(|item| name(item) == condition).unwrap_or_else(|| {
            self.items.push(Fields::from_iter([("type".to_owned(), condition.into())]));
            self.items.len() - 1
        });
        &mut self.items[index]
    }
}

/// What the server's schema has against an apply; the text behind the object's name.
pub(crate) fn schema_error(wanted: &[Fields]) -> Option<String> {
    let mut seen = BTreeSet::new();
    for condition in wanted {
        let path = format!(".status.conditions[type={:?}]", name(condition));
        if !seen.insert(name(condition)) {
            return Some(format!(".status.conditions: duplicate entries for key [type={:?}]", name(condition)));
        }
        for (field, value) in condition {
            if !SCHEMA.contains(&field.as_str()) {
                return Some(format!("{path}.{field}: field not declared in schema"));
            }
            if !value.is_string() {
                let got = format!("&value.valueUnstructured{{Value:{value}}}");
                return Some(format!("{path}.{field}: expected string, got {got}"));
            }
        }
    }
    None
}

fn keys(condition: &Fields) -> impl Iterator<Item = Key> {
    let of = name(condition).to_owned();
    condition
        .keys()
        .map(String::as_str)
        .chain([ITEM])
        .map(move |field| Key { condition: of.clone(), field: field.to_owned() })
}

fn name(condition: &Fields) -> &str {
    condition.get("type").and_then(Value::as_str).unwrap_or_default()
}

fn status(condition: &Fields) -> &str {
    condition.get("status").and_then(Value::as_str).unwrap_or_default()
}
