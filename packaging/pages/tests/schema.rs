//! The schemas of the configurations, held to what the programs read: they refuse nothing that is right, and they refuse
//! wrong types, ranges, words and unknown keys.

#![allow(clippy::unwrap_used)]

use std::path::Path;

use nodewell_agent::config::Config;
use nodewell_controller::config::Settings;
use nodewell_settings::{Table, read_text};
use regex::Regex;
use serde_json::Value;

const SHIPPED: [(&str, &str); 3] = [
    ("nodewell", include_str!("../../nodewell.toml")),
    ("nodewell", include_str!("../../grants.toml")),
    ("nodewell-controller", include_str!("../../nodewell-controller.toml")),
];

fn schema_of(program: &str) -> Value {
    serde_json::from_str(match program {
        "nodewell" => include_str!("../../schema/nodewell.schema.json"),
        _ => include_str!("../../schema/nodewell-controller.schema.json"),
    })
    .unwrap()
}

/// All that the program has against a file.
fn reader_refuses(program: &str, text: &str) -> Vec<String> {
    fn read<T: Table>(text: &str) -> Vec<String> {
        let outcome = read_text(&mut T::default(), Path::new("f.toml"), text);
        outcome.err().unwrap_or_default().iter().map(ToString::to_string).collect()
    }
    if program == "nodewell" { read::<Config>(text) } else { read::<Settings>(text) }
}

fn schema_refuses(program: &str, text: &str) -> Option<String> {
    refused(&schema_of(program), &Value::Object(json(text.parse().unwrap_or_else(|error| panic!("{error}: {text}")))))
}

/// As editors see a file: a date is a string.
fn json(table: toml::Table) -> serde_json::Map<String, Value> {
    fn value(item: toml::Value) -> Value {
        match item {
            toml::Value::String(text) => text.into(),
            toml::Value::Integer(number) => number.into(),
            toml::Value::Float(number) => number.into(),
            toml::Value::Boolean(flag) => flag.into(),
            toml::Value::Datetime(time) => time.to_string().into(),
            toml::Value::Array(items) => Value::Array(items.into_iter().map(value).collect()),
            toml::Value::Table(table) => Value::Object(json(table)),
        }
    }
    table.into_iter().map(|(key, item)| (key, value(item))).collect()
}

/// The first keyword of the schema that refuses the value.
///
/// # Panics
/// By a keyword that is not known here: what it means would not be tried.
fn refused(schema: &Value, value: &Value) -> Option<String> {
    schema.as_object().unwrap().iter().find_map(|(keyword, wanted)| refused_by(schema, keyword, wanted, value))
}

fn refused_by(schema: &Value, keyword: &str, wanted: &Value, value: &Value) -> Option<String> {
    let number = wanted.as_i64();
    let is_fine = match (keyword, value) {
        ("$schema" | "title" | "description" | "default", _) => true,
        ("type", _) => is_of_type(wanted.as_str().unwrap(), value),
        ("enum", _) => wanted.as_array().unwrap().contains(value),
        ("anyOf", _) => wanted.as_array().unwrap().iter().any(|one| refused(one, value).is_none()),
        ("minimum", _) => value.as_i64() >= number,
        ("maximum", _) => value.as_i64() <= number,
        ("pattern", _) => {
            value.as_str().is_some_and(|text| Regex::new(wanted.as_str().unwrap()).unwrap().is_match(text))
        }
        ("minItems", Value::Array(items)) => i64::try_from(items.len()).ok() >= number,
        ("maxItems", Value::Array(items)) => i64::try_from(items.len()).ok() <= number,
        ("items", Value::Array(items)) => return items.iter().find_map(|item| refused(wanted, item)),
        ("properties", Value::Object(table)) => {
            return table.iter().find_map(|(key, value)| refused(wanted.get(key)?, value));
        }
        ("additionalProperties", Value::Object(table)) => {
            assert_eq!(wanted, &Value::Bool(false));
            table.keys().all(|key| schema["properties"].get(key).is_some())
        }
        ("required", Value::Object(table)) => {
            wanted.as_array().unwrap().iter().all(|key| table.contains_key(key.as_str().unwrap()))
        }
        // Of another type, which `type` refuses.
        ("minItems" | "maxItems" | "items" | "properties" | "additionalProperties" | "required", _) => true,
        _ => panic!("{keyword} is not known to this test"),
    };
    (!is_fine).then(|| keyword.to_owned())
}

fn is_of_type(name: &str, value: &Value) -> bool {
    match name {
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => panic!("{name} is not known to this test"),
    }
}

/// What packaged files look like to a person who takes the marks of comments away.
fn uncommented(text: &str) -> String {
    let line =
        |line: &str| line.strip_prefix('#').filter(|rest| !rest.starts_with([' ', ':'])).unwrap_or(line).to_owned();
    text.lines().map(|text| line(text) + "\n").collect()
}

#[test]
fn what_the_packages_carry_is_right_by_its_schema() {
    for (program, text) in SHIPPED {
        for text in [text.to_owned(), uncommented(text)] {
            assert_eq!(schema_refuses(program, &text), None, "{program}:\n{text}");
        }
    }
}

#[test]
fn the_packages_files_name_their_schemas() {
    let places = [("nodewell", SHIPPED[0].1), ("nodewell-controller", SHIPPED[2].1)];
    let lists = [include_str!("../../nodewell.yaml"), include_str!("../../nodewell-controller.yaml")];
    for ((program, text), list) in places.into_iter().zip(lists) {
        let path = text.lines().next().unwrap().strip_prefix("#:schema file://").unwrap();
        assert!(list.contains(&format!("src: packaging/schema/{program}.schema.json, dst: {path} ")), "{path}");
    }
}

#[test]
fn examples_of_the_guides_that_the_programs_read_are_right_by_the_schemas() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let guides = std::fs::read_dir(docs).unwrap().map(|entry| entry.unwrap().path());
    let mut seen = 0;
    for guide in guides.filter(|path| path.extension().is_some_and(|extension| extension == "md")) {
        let text = std::fs::read_to_string(&guide).unwrap();
        for block in text.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()) {
            for program in ["nodewell", "nodewell-controller"] {
                if reader_refuses(program, block).is_empty() {
                    assert_eq!(schema_refuses(program, block), None, "{}:\n{block}", guide.display());
                    seen += 1;
                }
            }
        }
    }
    assert!(seen >= 12, "only {seen} examples are configurations");
}

#[test]
fn what_is_wrong_is_refused_by_the_schema_as_by_the_program() {
    for (program, text, keyword) in [
        ("nodewell", "standalon = true", "additionalProperties"),
        ("nodewell", "[limits]\nzombie = [2, 1]", "additionalProperties"),
        ("nodewell", "[[grant]]\nuser = 1\nevent = true", "additionalProperties"),
        ("nodewell", "[[repair.unit]]\nunits = \"a.service\"", "additionalProperties"),
        ("nodewell", "standalone = \"yes\"", "type"),
        ("nodewell", "limits = 1", "type"),
        ("nodewell", "grant = 1", "type"),
        ("nodewell", "[limits]\nzombies = 2", "type"),
        ("nodewell", "[limits]\nzombies = [2000, 1]", "maximum"),
        ("nodewell", "[limits]\nzombies = [2, 0]", "minimum"),
        ("nodewell", "[limits]\nzombies = [2]", "minItems"),
        ("nodewell", "[limits]\nzombies = [3, 2, 1]", "maxItems"),
        ("nodewell", "[limits]\noom-kills-per-hour = 0", "minimum"),
        ("nodewell", "[kmsg]\nfacilities = [24]", "maximum"),
        ("nodewell", "[clock]\ninterval = \"5 minutes\"", "pattern"),
        ("nodewell", "kubeconfig = \" \"", "pattern"),
        ("nodewell", "[identity]\nmode = \"own\"", "enum"),
        ("nodewell", "[journal]\nlookback = \"00\"", "anyOf"),
        ("nodewell", "[apiserver]\nlease = \"never\"", "anyOf"),
        ("nodewell", "[network]\nnames = [\"a\", \"b\", \"c\", \"d\", \"e\"]", "maxItems"),
        ("nodewell", "[socket]\nconnections = 1", "anyOf"),
        ("nodewell", "[socket]\nrate = \"100\"", "anyOf"),
        ("nodewell", "[limits]\ncertificates = [\"a.pem\"]", "pattern"),
        ("nodewell", "rules = 1", "type"),
        ("nodewell", "npd-config = \"/etc/kernel-monitor.json\"", "type"),
        ("nodewell", "[disk]\nignore = \"sdx\"", "type"),
        ("nodewell", "[[grant]]\nuser = 1\nconditions = []", "minItems"),
        ("nodewell", "[[grant]]\nuser = 1\nclear = \"Disk\"", "type"),
        ("nodewell", "[[repair.unit]]\nunit = \"a.service\"\ncondition = \"A\"\nreasons = \"B\"", "type"),
        ("nodewell", "[[mute]]\nreason = \"IOError\"", "required"),
        ("nodewell", "[[mute]]\nreason = \"io\"\nuntil = 2027-01-31T18:00:00Z\nwhy = \"w\"", "pattern"),
        ("nodewell", "[[service]]\nunit = \"etcd\"", "pattern"),
        ("nodewell", "[[repair.unit]]\nunit = \"a.service\"\ncondition = \"A\"\nway = \"SIGFOO\"", "enum"),
        ("nodewell-controller", "dryrun = false", "additionalProperties"),
        ("nodewell-controller", "[leader]\nnames = \"x\"", "additionalProperties"),
        ("nodewell-controller", "dry-run = 0", "type"),
        ("nodewell-controller", "[fencing]\npreflight-concurrency = 257", "maximum"),
        ("nodewell-controller", "probes = [\"10.0.0.1\"]", "pattern"),
        ("nodewell-controller", "[leader]\nlease = \"\"", "pattern"),
    ] {
        assert_eq!(schema_refuses(program, text).as_deref(), Some(keyword), "{text}");
        assert!(!reader_refuses(program, text).is_empty(), "{program} takes {text}");
    }
}

/// A file for each table of the schema: all its keys, with values that few of them take.
fn files_of(schema: &Value, path: &str, head: &str, files: &mut Vec<String>) {
    let mut file = format!("{head}\n");
    for (key, of) in schema["properties"].as_object().unwrap() {
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        // `socket` is a path, or a table.
        let table = [of, &of["anyOf"][0]].into_iter().find(|of| of["properties"].is_object());
        if let Some(table) = table {
            files_of(table, &path, &format!("[{path}]"), files);
        } else if of["items"]["properties"].is_object() {
            files_of(&of["items"], &path, &format!("[[{path}]]"), files);
        } else {
            file += &format!("{key} = 1\n");
        }
    }
    files.push(file);
}

#[test]
fn the_schemas_have_no_key_that_the_programs_do_not_know() {
    for (program, least) in [("nodewell", 25), ("nodewell-controller", 12)] {
        let mut files = Vec::new();
        files_of(&schema_of(program), "", "", &mut files);
        assert!(files.len() >= least, "{files:?}");
        for file in files {
            let found = reader_refuses(program, &file);
            assert!(!found.iter().any(|error| error.contains("unknown key")), "{file}\n{found:#?}");
        }
    }
}

/// Tables that say as little as they may.
const LEAST: [(&str, &str); 4] = [
    ("service", "unit = \"a.service\"\n"),
    ("repair.unit", "unit = \"a.service\"\ncondition = \"A\"\n"),
    ("grant", "user = 0\nclear = [\"A\"]\n"),
    ("mute", "reason = \"A\"\nuntil = 2027-01-31T18:00:00Z\nwhy = \"w\"\n"),
];

/// What a file sets, with what holds where a grant does not say it.
fn config_of(text: &str) -> Config {
    let mut config = Config::default();
    read_text(&mut config, Path::new("f.toml"), text).unwrap_or_else(|errors| panic!("{text}: {errors:?}"));
    for grant in &mut config.grants {
        grant.on_stale = Some(grant.on_stale.unwrap_or_default());
    }
    config
}

#[test]
fn a_default_of_a_listed_table_is_what_holds_without_it() {
    let mut seen = 0;
    for table in Config::listed() {
        let (_, least) = LEAST.iter().find(|(name, _)| *name == table.name).unwrap();
        let file = format!("[[{}]]\n{least}", table.name);
        for key in &table.keys {
            let Some(usual) = &key.usual else { continue };
            assert_eq!(config_of(&format!("{file}{} = {usual}\n", key.name)), config_of(&file), "{}", key.name);
            seen += 1;
        }
    }
    assert!(seen >= 10, "only {seen} keys have a default");
}
