//! Lists the files of the catalogue, so that a new one is part of it by being there, and what programs need of it: the
//! messages, and how bad each reason is.

use std::{collections::BTreeMap, env, fs, io, path::Path};

use toml::{Table, Value};

/// By their names.
type Entries = BTreeMap<String, Entry>;

/// An entry of the catalogue: its name, a second text, and code for the rest of what is known of it.
struct Entry {
    texts: [String; 2],
    rest: String,
}

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=catalogue");
    let manifest = env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?;
    let out = env::var("OUT_DIR").map_err(io::Error::other)?;
    let (folder, out) = (Path::new(&manifest).join("catalogue"), Path::new(&out));
    let files = fs::read_dir(&folder)?;
    let mut names = files.map(|file| file.map(|file| file.file_name())).collect::<io::Result<Vec<_>>>()?;
    names.retain(|name| name.to_string_lossy().ends_with(".toml"));
    names.sort();
    let stems = names.iter().map(|name| format!("{:?}", name.to_string_lossy().trim_end_matches(".toml")));
    fs::write(out.join("catalogue_names.rs"), array(stems))?;
    let (mut list, mut messages, mut reasons) = (Vec::new(), Entries::new(), Entries::new());
    for name in names {
        let path = format!("/catalogue/{}", name.to_string_lossy());
        // Where the crate lies when it is compiled: a target folder may have been copied from another place.
        list.push(format!("include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), {path:?}))"));
        let file: Table = fs::read_to_string(folder.join(name))?.parse().map_err(io::Error::other)?;
        messages.extend(entries(&file, "message", message)?);
        reasons.extend(entries(&file, "reason", reason)?);
    }
    fs::write(out.join("catalogue.rs"), array(list))?;
    write(out, "messages", "Message", messages)?;
    write(out, "reasons", "Judged", reasons)
}

/// What `entry` makes of each table of a list of the file.
fn entries(file: &Table, list: &str, entry: fn(&Value) -> Option<Entry>) -> io::Result<Entries> {
    let listed = file.get(list).and_then(Value::as_array).into_iter().flatten();
    let named = |table: &Value| entry(table).map(|entry| (entry.texts[0].clone(), entry));
    listed.map(|table| named(table).ok_or_else(|| io::Error::other(format!("not a {list}: {table:?}")))).collect()
}

fn text<'v>(table: &'v Value, name: &str) -> Option<&'v str> {
    table.get(name).and_then(Value::as_str)
}

fn message(table: &Value) -> Option<Entry> {
    let texts = [text(table, "key")?.to_owned(), text(table, "text")?.to_owned()];
    let quotes = table.get("quotes").and_then(Value::as_bool).unwrap_or_default();
    Some(Entry { texts, rest: format!("quotes: {quotes}") })
}

fn reason(table: &Value) -> Option<Entry> {
    let texts = [text(table, "name")?.to_owned(), text(table, "condition").unwrap_or_default().to_owned()];
    let (severity, action) = (variant(text(table, "severity")?), variant(text(table, "action")?));
    Some(Entry { texts, rest: format!("severity: Severity::{severity}, action: Action::{action}") })
}

/// `replace-disk` → `ReplaceDisk`.
fn variant(word: &str) -> String {
    let capital =
        |part: &str| part.get(..1).unwrap_or_default().to_ascii_uppercase() + part.get(1..).unwrap_or_default();
    word.split('-').map(capital).collect()
}

/// All texts one behind the other, and a table of where each entry has its own.
fn write(out: &Path, list: &str, kind: &str, entries: Entries) -> io::Result<()> {
    let (mut all, mut table) = (String::new(), Vec::new());
    for Entry { texts: [first, second], rest } in entries.into_values() {
        let place = format!("Span {{ begin: {}, lengths: [{}, {}] }}", all.len(), first.len(), second.len());
        table.push(format!("{kind} {{ place: {place}, {rest} }}"));
        all.push_str(&first);
        all.push_str(&second);
    }
    fs::write(out.join(format!("{list}_texts.rs")), format!("{all:?}\n"))?;
    fs::write(out.join(format!("{list}.rs")), array(table))
}

fn array(elements: impl IntoIterator<Item = String>) -> String {
    let lines: Vec<String> = elements.into_iter().map(|element| format!("    {element},\n")).collect();
    format!("&[\n{}]\n", lines.concat())
}
