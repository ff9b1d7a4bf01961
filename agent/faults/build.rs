//! Lists the files of the catalogue, so that a new one is part of it by being there, and the messages in them.

use std::{collections::BTreeMap, env, fs, io, path::Path};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=catalogue");
    let manifest = env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?;
    let out = env::var("OUT_DIR").map_err(io::Error::other)?;
    let (folder, out) = (Path::new(&manifest).join("catalogue"), Path::new(&out));
    let files = fs::read_dir(&folder)?;
    let mut names = files.map(|file| file.map(|file| file.file_name())).collect::<io::Result<Vec<_>>>()?;
    names.retain(|name| name.to_string_lossy().ends_with(".toml"));
    names.sort();
    let (mut list, mut templates) = (Vec::new(), BTreeMap::new());
    for name in names {
        let path = format!("/catalogue/{}", name.to_string_lossy());
        // Where the crate lies when it is compiled: a target folder may have been copied from another place.
        list.push(format!("include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), {path:?}))"));
        templates.extend(messages(&fs::read_to_string(folder.join(name))?)?);
    }
    fs::write(out.join("catalogue.rs"), array(list))?;
    fs::write(out.join("templates.rs"), array(templates.into_values()))
}

/// A `Template` for each message of a file, by key.
fn messages(file: &str) -> io::Result<Vec<(String, String)>> {
    let table: toml::Table = file.parse().map_err(io::Error::other)?;
    let messages = table.get("message").and_then(toml::Value::as_array).into_iter().flatten();
    let template = |message: &toml::Value| {
        let text = |name| message.get(name).and_then(toml::Value::as_str);
        let (key, text) = (text("key")?, text("text")?);
        let quotes = message.get("quotes").and_then(toml::Value::as_bool).unwrap_or_default();
        let limit = if quotes { "EVENT_LIMIT" } else { "LIMIT" };
        let code = format!("Template {{ key: {key:?}, text: {text:?}, limit: nodewell_message::{limit} }}");
        Some((key.to_owned(), code))
    };
    messages
        .map(|message| template(message).ok_or_else(|| io::Error::other(format!("not a message: {message:?}"))))
        .collect()
}

fn array(elements: impl IntoIterator<Item = String>) -> String {
    let lines: Vec<String> = elements.into_iter().map(|element| format!("    {element},\n")).collect();
    format!("&[\n{}]\n", lines.concat())
}
