//! docs/reference/socket.md: every route and field of the local socket, from docs/openapi.yaml.

use yaml_rust2::{Yaml, YamlLoader};

use crate::markdown::{cell, code, prose};

const OPENAPI: &str = include_str!("../../../docs/openapi.yaml");
const HEAD: &str = "# The local socket: every route and field\n\n\
    **For:** authors of programs that ask the agent or report to it.\\\n\
    **Afterwards:** you know what each route takes and answers, and what each field is.\n\n\
    `nodewell-pages socket` writes this page from [openapi.yaml](../openapi.yaml), to which tests hold the agent's\n\
    answers. [The local socket](../socket.md) says what a report means, and who may send one. Fields are only ever\n\
    added. The length of a string is in bytes of UTF-8.\n";

/// The page.
pub(crate) fn page() -> String {
    // The file is a part of the program; a test reads the page.
    let documents = YamlLoader::load_from_str(OPENAPI).unwrap_or_default();
    let api = documents.first().unwrap_or(&Yaml::BadValue);
    let operations: Vec<Operation<'_>> =
        entries(&api["paths"]).flat_map(|(path, item)| operations(path, item)).collect();
    let rows: String = operations.iter().map(Operation::row).collect();
    let routes: String =
        operations.iter().map(|operation| operation.chapter(&api["components"]["responses"])).collect();
    let schemas: String = entries(&api["components"]["schemas"]).map(|(name, schema)| chapter(name, schema)).collect();
    format!("{HEAD}\n| route | what |\n|---|---|\n{rows}{routes}\n## Fields\n{schemas}")
}

/// A method of a path.
struct Operation<'y> {
    route: String,
    about: &'y Yaml,
}

fn operations<'y>(path: &'y str, item: &'y Yaml) -> impl Iterator<Item = Operation<'y>> {
    entries(item).map(move |(method, about)| Operation { route: format!("{} {path}", method.to_uppercase()), about })
}

impl Operation<'_> {
    fn row(&self) -> String {
        let Self { route, about } = self;
        format!("| [{}](#{}) | {} |\n", code(route), anchor(route), cell(text(about, "summary")))
    }

    fn chapter(&self, shared: &Yaml) -> String {
        let Self { route, about } = self;
        let mut text_so_far = format!("\n## {route}\n\n{}\n", prose(text(about, "summary")));
        let parameters: String = items(&about["parameters"]).iter().map(parameter).collect();
        if !parameters.is_empty() {
            text_so_far += &format!("\n{parameters}");
        }
        let taken = &about["requestBody"]["content"]["application/json"]["schema"];
        if !taken.is_badvalue() {
            text_so_far += &format!("\nTakes: {}.\n", shape(taken));
        }
        let answers: String =
            entries(&about["responses"]).map(|(status, answer)| answer_row(status, answer, shared)).collect();
        text_so_far + &format!("\n| answer | what | body |\n|---|---|---|\n{answers}")
    }
}

fn parameter(parameter: &Yaml) -> String {
    let schema = &parameter["schema"];
    let (name, what) = (code(text(parameter, "name")), prose(text(parameter, "description")));
    format!("- {name} ({}{}): {what}.\n", shape(schema), default(schema))
}

/// An answer may be one of several that are described once; its own description goes before that one's.
fn answer_row(status: &str, answer: &Yaml, shared: &Yaml) -> String {
    let described = answer["$ref"].as_str().map_or(answer, |target| &shared[last(target)]);
    let what = Some(text(answer, "description")).filter(|what| !what.is_empty());
    let what = what.unwrap_or_else(|| text(described, "description"));
    let headers: String = entries(&described["headers"]).map(|(name, _)| format!("; with {}", code(name))).collect();
    let bodies: Vec<String> =
        entries(&described["content"]).map(|(kind, content)| body(kind, &content["schema"])).collect();
    format!("| {status} | {}{headers} | {} |\n", cell(what), bodies.join("; "))
}

fn body(kind: &str, schema: &Yaml) -> String {
    match kind {
        "application/json" => shape(schema),
        other => format!("as {} {}", code(other), shape(schema)),
    }
}

/// A schema that has a name.
fn chapter(name: &str, schema: &Yaml) -> String {
    let description = text(schema, "description");
    let about = if description.is_empty() { String::new() } else { format!("\n{}.\n", prose(description)) };
    let rows: String = entries(&schema["properties"]).map(|(name, field)| field_row(name, field, schema)).collect();
    if rows.is_empty() {
        return format!("\n### {name}\n{about}\nTakes: {}.\n", shape(schema));
    }
    let closed =
        if schema["additionalProperties"] == Yaml::Boolean(false) { "\nNo other field is taken.\n" } else { "" };
    format!("\n### {name}\n{about}{closed}\n| field | takes | what |\n|---|---|---|\n{rows}")
}

fn field_row(name: &str, field: &Yaml, schema: &Yaml) -> String {
    let is_required = items(&schema["required"]).iter().any(|required| required.as_str() == Some(name));
    let rest = if is_required { "; required".to_owned() } else { default(field) };
    let what = text(field, "description");
    let what = if what.is_empty() { String::new() } else { format!(" {}", cell(what)) };
    format!("| {} | {}{rest} |{what} |\n", code(name), shape(field))
}

/// What a schema lets through.
fn shape(schema: &Yaml) -> String {
    if let Some(target) = schema["$ref"].as_str() {
        return format!("[{0}](#{1})", last(target), last(target).to_lowercase());
    }
    if let Some(options) = schema["oneOf"].as_vec() {
        return options.iter().map(shape).collect::<Vec<_>>().join(" or ");
    }
    if let Some(values) = schema["enum"].as_vec() {
        return values.iter().map(|value| code(&scalar(value))).collect::<Vec<_>>().join(", ");
    }
    if let Some(constant) = schema["const"].as_str() {
        return code(constant);
    }
    match text(schema, "type") {
        "array" => format!("array of {}{}", shape(&schema["items"]), bounds(schema, ["minItems", "maxItems"], "")),
        "object" => format!("object of {}", shape(&schema["additionalProperties"])),
        "string" => format!("string{}", bounds(schema, ["minLength", "maxLength"], " bytes")),
        kind => format!("{kind}{}", bounds(schema, ["minimum", "maximum"], "")),
    }
}

fn bounds(schema: &Yaml, [low, high]: [&str; 2], unit: &str) -> String {
    match (schema[low].as_i64(), schema[high].as_i64()) {
        (None, None) => String::new(),
        (Some(1), None) => ", not empty".to_owned(),
        (Some(low), None) => format!(", at least {low}{unit}"),
        (None, Some(high)) => format!(", at most {high}{unit}"),
        (Some(low), Some(high)) if low == high => format!(", {low}{unit}"),
        (Some(low), Some(high)) => format!(", {low} to {high}{unit}"),
    }
}

fn default(schema: &Yaml) -> String {
    let value = scalar(&schema["default"]);
    if value.is_empty() { String::new() } else { format!("; default {}", code(&value)) }
}

fn scalar(value: &Yaml) -> String {
    match value {
        Yaml::String(text) => text.clone(),
        Yaml::Integer(number) => number.to_string(),
        Yaml::Boolean(truth) => truth.to_string(),
        _ => String::new(),
    }
}

fn text<'y>(yaml: &'y Yaml, key: &str) -> &'y str {
    yaml[key].as_str().unwrap_or_default().trim()
}

fn items(yaml: &Yaml) -> &[Yaml] {
    yaml.as_vec().map(Vec::as_slice).unwrap_or_default()
}

/// In their order.
fn entries(yaml: &Yaml) -> impl Iterator<Item = (&str, &Yaml)> {
    yaml.as_hash().into_iter().flatten().filter_map(|(key, value)| Some((key.as_str()?, value)))
}

/// The name at the end of a reference.
fn last(target: &str) -> &str {
    target.rsplit('/').next().unwrap_or(target)
}

/// As readers of Markdown make it of a heading.
fn anchor(heading: &str) -> String {
    let letters = heading.chars().filter(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_'));
    letters.collect::<String>().to_lowercase().replace(' ', "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMITTED: &str = include_str!("../../../docs/reference/socket.md");

    fn yaml(text: &str) -> Yaml {
        YamlLoader::load_from_str(text).unwrap().remove(0)
    }

    #[test]
    fn a_schema_shows_what_it_lets_through() {
        for (schema, expected) in [
            ("{type: string, minLength: 1, maxLength: 64}", "string, 1 to 64 bytes"),
            ("{type: string, minLength: 1}", "string, not empty"),
            ("{type: integer, minimum: 0}", "integer, at least 0"),
            ("{type: array, maxItems: 16, items: {type: boolean}}", "array of boolean, at most 16"),
            ("{type: object, additionalProperties: {type: integer}}", "object of integer"),
            ("{oneOf: [{type: \"null\"}, {$ref: \"#/components/schemas/Time\"}]}", "null or [Time](#time)"),
            ("{type: string, enum: [a, \"True\"]}", "`a`, `True`"),
            ("{type: string, const: v1}", "`v1`"),
        ] {
            assert_eq!(shape(&yaml(schema)), expected);
        }
    }

    #[test]
    fn a_field_is_required_or_has_a_default() {
        let schema =
            yaml("{type: object, required: [a], properties: {a: {type: string}, b: {type: boolean, default: false}}}");
        let rows = "| `a` | string; required | |\n| `b` | boolean; default `false` | |\n";
        assert_eq!(chapter("X", &schema), format!("\n### X\n\n| field | takes | what |\n|---|---|---|\n{rows}"));
    }

    #[test]
    fn the_page_is_that_of_the_description() {
        let made = page();
        let first = made.lines().zip(COMMITTED.lines()).find(|(made, committed)| made != committed);
        assert!(made == COMMITTED, "run: cargo run -p nodewell-pages socket >docs/reference/socket.md\n{first:?}");
    }
}
