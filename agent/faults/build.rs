//! Lists the files of the catalogue, so that a new one is part of it by being there, and what programs need of it: the
//! messages, and how bad each reason is.

use std::{collections::BTreeMap, env, fs, io, path::Path};

use toml::{Table, Value};

/// Code for each entry, by its name.
type Entries = BTreeMap<String, String>;

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=catalogue");
    let manifest = env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?;
    let out = env::var("OUT_DIR").map_err(io::Error::other)?;
    let (folder, out) = (Path::new(&manifest).join("catalogue"), Path::new(&out));
    let files = fs::read_dir(&folder)?;
    let mut names = files.map(|file| file.map(|file| file.file_name())).collect::<io::Result<Vec<_>>>()?;
    names.retain(|name| name.to_string_lossy().ends_with(".toml"));
    names.sort();
    let (mut list, mut templates, mut reasons) = (Vec::new(), Entries::new(), Entries::new());
    for name in names {
        let path = format!("/catalogue/{}", name.to_string_lossy());
        // Where the crate lies when it is compiled: a target folder may have been copied from another place.
        list.push(format!("include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), {path:?}))"));
        let file: Table = fs::read_to_string(folder.join(name))?.parse().map_err(io::Error::other)?;
        templates.extend(entries(&file, "message", template)?);
        reasons.extend(entries(&file, "reason", reason)?);
    }
    fs::write(out.join("catalogue.rs"), array(list))?;
    fs::write(out.join("templates.rs"), array(templates.into_values()))?;
    fs::write(out.join("reasons.rs"), array(reasons.into_values()))
}

/// What `code` makes of each entry of a list of the file.
fn entries(file: &Table, list: &str, code: fn(&Value) -> Option<(String, String)>) -> io::Result<Entries> {
    let listed = file.get(list).and_then(Value::as_array).into_iter().flatten();
    listed.map(|entry| code(entry).ok_or_else(|| io::Error::other(format!("not a {list}: {entry:?}")))).collect()
}

fn text<'v>(entry: &'v Value, name: &str) -> Option<&'v str> {
    entry.get(name).and_then(Value::as_str)
}

/// A `Template`.
fn template(message: &Value) -> Option<(String, String)> {
    let (key, text) = (text(message, "key")?, text(message, "text")?);
    let quotes = message.get("quotes").and_then(Value::as_bool).unwrap_or_default();
    let limit = if quotes { "EVENT_LIMIT" } else { "LIMIT" };
    let code = format!("Template {{ key: {key:?}, text: {text:?}, limit: nodewell_message::{limit} }}");
    Some((key.to_owned(), code))
}

/// A `KnownReason`.
fn reason(reason: &Value) -> Option<(String, String)> {
    let (name, condition) = (text(reason, "name")?, text(reason, "condition"));
    let (severity, action) = (variant(text(reason, "severity")?), variant(text(reason, "action")?));
    let judged = format!("severity: Severity::{severity}, action: Action::{action}");
    Some((name.to_owned(), format!("KnownReason {{ name: {name:?}, condition: {condition:?}, {judged} }}")))
}

/// `replace-disk` → `ReplaceDisk`.
fn variant(word: &str) -> String {
    let capital =
        |part: &str| part.get(..1).unwrap_or_default().to_ascii_uppercase() + part.get(1..).unwrap_or_default();
    word.split('-').map(capital).collect()
}

fn array(elements: impl IntoIterator<Item = String>) -> String {
    let lines: Vec<String> = elements.into_iter().map(|element| format!("    {element},\n")).collect();
    format!("&[\n{}]\n", lines.concat())
}
