//! JSON Schemas of the configurations, from the keys as the programs declare them: editors complete and check by them.

use nodewell_settings::{ListedKey, ListedTable, Schema, Shown};
use serde_json::{Map, Value, json};

use crate::settings::is_table;

/// taplo, which reads TOML for most editors, promises draft 4. The keywords here mean the same in all drafts up to this
/// one: no `const`, no `$ref`.
const DRAFT: &str = "http://json-schema.org/draft-07/schema#";

/// The schema of a file that has these keys and tables.
pub(crate) fn of(title: &str, keys: &[Shown], listed: &[ListedTable]) -> Value {
    let (top, tables): (Vec<&Shown>, Vec<&Shown>) = keys.iter().partition(|key| !is_table(key.table));
    let mut root = object(properties(&top));
    root["$schema"] = DRAFT.into();
    root["title"] = title.into();
    for keys in tables.chunk_by(|one, next| one.table == next.table) {
        let mut table = object(properties(keys));
        table["description"] = keys[0].about.into();
        root["properties"][keys[0].table.trim_matches(['[', ']'])] = table;
    }
    for table in listed {
        place(&mut root, table.name)["properties"][last(table.name)] = listed_table(table);
    }
    root
}

/// The table that has the key of this path in it: `repair.unit` is in `repair`.
fn place<'a>(root: &'a mut Value, path: &str) -> &'a mut Value {
    match path.rsplit_once('.') {
        Some((table, _)) => &mut root["properties"][table],
        None => root,
    }
}

fn last(path: &str) -> &str {
    path.rsplit_once('.').map_or(path, |(_, key)| key)
}

fn object(properties: Map<String, Value>) -> Value {
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

fn properties(keys: &[&Shown]) -> Map<String, Value> {
    keys.iter().map(|key| (key.key.to_owned(), property(key))).collect()
}

fn property(key: &Shown) -> Value {
    described(&key.schema, key.help, &key.takes, key.usual.as_deref())
}

fn described(schema: &Schema, help: &str, takes: &str, usual: Option<&str>) -> Value {
    let mut schema = values(schema);
    schema["description"] = format!("{help} Takes {takes}.").into();
    if let Some(usual) = usual {
        schema["default"] = serde_json::from_str(usual).expect("what keys take is written in TOML as in JSON");
    }
    schema
}

fn listed_table(table: &ListedTable) -> Value {
    let key =
        |key: &ListedKey| (key.name.to_owned(), described(&key.schema, key.help, &key.takes, key.usual.as_deref()));
    let mut items = object(table.keys.iter().map(key).collect());
    let required: Vec<&str> = table.keys.iter().filter(|key| key.is_required).map(|key| key.name).collect();
    // Draft 4 takes no empty list there.
    if !required.is_empty() {
        items["required"] = required.into();
    }
    json!({ "type": "array", "items": items, "description": table.about })
}

fn values(schema: &Schema) -> Value {
    match schema {
        Schema::Bool => json!({ "type": "boolean" }),
        Schema::Number(range) => json!({ "type": "integer", "minimum": range.start(), "maximum": range.end() }),
        Schema::Text("") => json!({ "type": "string" }),
        Schema::Text(pattern) => json!({ "type": "string", "pattern": pattern }),
        Schema::Words(words) => json!({ "type": "string", "enum": words }),
        Schema::AnyOf(schemas) => json!({ "anyOf": schemas.iter().map(values).collect::<Vec<Value>>() }),
        Schema::List { of, length } => {
            let mut list = json!({ "type": "array", "items": values(of) });
            if *length.start() > 0 {
                list["minItems"] = (*length.start()).into();
            }
            if *length.end() < usize::MAX {
                list["maxItems"] = (*length.end()).into();
            }
            list
        }
    }
}
