//! docs/openapi.yaml as a judge: whether an answer, or a request, is as described there.
//!
//! The part of JSON Schema that the description uses, and no more: a keyword it does not know is a failure, so nothing
//! goes unchecked. A field that the description does not name is a failure too, although clients must accept it.

use std::path::Path;

use serde_json::{Map, Value};
use yaml_rust2::{Yaml, YamlLoader};

/// The description.
#[derive(Debug)]
pub struct OpenApi(Value);

/// Keywords that constrain nothing.
const REMARKS: [&str; 4] = ["description", "default", "format", "title"];

/// One keyword of a schema, with what it asks for.
struct Keyword<'a> {
    word: &'a str,
    wanted: &'a Value,
    schema: &'a Value,
}

impl OpenApi {
    /// The one in `docs/`.
    ///
    /// # Panics
    /// If it is not YAML.
    #[must_use]
    pub fn of_docs() -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/openapi.yaml");
        let text = std::fs::read_to_string(&path).unwrap();
        let documents = YamlLoader::load_from_str(&text).unwrap_or_else(|error| panic!("openapi.yaml: {error}"));
        Self(json(&documents[0]))
    }

    /// Every operation as (METHOD, path).
    #[must_use]
    pub fn operations(&self) -> Vec<(String, String)> {
        let paths = object(&self.0["paths"]).iter();
        let operations = paths.flat_map(|(path, item)| {
            object(item).keys().map(move |method| (method.to_ascii_uppercase(), path.clone()))
        });
        operations.collect()
    }

    /// What is wrong with an answer to `method path`; nothing if all is well.
    #[must_use]
    pub fn errors_of_answer(&self, method: &str, path: &str, code: u16, body: &Value) -> Vec<String> {
        let responses = &self.operation(method, path)["responses"];
        let response = self.resolved(&responses[code.to_string()]);
        if response.is_null() {
            return vec![format!("{method} {path}: {code} is not described")];
        }
        let schema = &response["content"]["application/json"]["schema"];
        self.errors(schema, body, &format!("{method} {path} {code}"))
    }

    /// Whether the answer must have a `Retry-After`.
    #[must_use]
    pub fn wants_retry_after(&self, method: &str, path: &str, code: u16) -> bool {
        let responses = &self.operation(method, path)["responses"];
        self.resolved(&responses[code.to_string()])["headers"]["Retry-After"]["required"] == Value::Bool(true)
    }

    /// What is wrong with a request's body.
    #[must_use]
    pub fn errors_of_request(&self, method: &str, path: &str, body: &Value) -> Vec<String> {
        let schema = &self.operation(method, path)["requestBody"]["content"]["application/json"]["schema"];
        self.errors(schema, body, &format!("{method} {path}"))
    }

    fn operation(&self, method: &str, path: &str) -> &Value {
        &self.0["paths"][path][method.to_ascii_lowercase()]
    }

    /// What a `$ref` stands for.
    fn resolved<'a>(&'a self, value: &'a Value) -> &'a Value {
        match value["$ref"].as_str() {
            Some(target) => self.0.pointer(target.trim_start_matches('#')).unwrap_or(&Value::Null),
            None => value,
        }
    }

    fn errors(&self, schema: &Value, value: &Value, path: &str) -> Vec<String> {
        let schema = self.resolved(schema);
        let Some(keywords) = schema.as_object() else { return vec![format!("{path}: no schema")] };
        let keywords = keywords.iter().filter(|(word, _)| !REMARKS.contains(&word.as_str()));
        keywords.flat_map(|(word, wanted)| self.judge(&Keyword { word, wanted, schema }, value, path)).collect()
    }

    fn judge(&self, keyword: &Keyword<'_>, value: &Value, path: &str) -> Vec<String> {
        let Keyword { word, wanted, schema } = *keyword;
        let holds = match word {
            "properties" => return self.fields(object(wanted), value, path),
            "items" => {
                let items = value.as_array().into_iter().flatten().enumerate();
                return items.flat_map(|(n, item)| self.errors(wanted, item, &format!("{path}[{n}]"))).collect();
            }
            "oneOf" => {
                let fits = |option: &&Value| self.errors(option, value, path).is_empty();
                wanted.as_array().unwrap().iter().filter(fits).count() == 1
            }
            "type" => is(value, wanted.as_str().unwrap_or_default()),
            "required" => wanted.as_array().unwrap().iter().all(|field| value.get(field.as_str().unwrap()).is_some()),
            "enum" => wanted.as_array().unwrap().contains(value),
            "const" => wanted == value,
            "minimum" => value.as_i64().is_none_or(|number| number >= wanted.as_i64().unwrap()),
            "maximum" => value.as_i64().is_none_or(|number| number <= wanted.as_i64().unwrap()),
            "minLength" => value.as_str().is_none_or(|text| text.len() as u64 >= wanted.as_u64().unwrap()),
            "maxLength" => value.as_str().is_none_or(|text| text.len() as u64 <= wanted.as_u64().unwrap()),
            "maxItems" => value.as_array().is_none_or(|items| items.len() as u64 <= wanted.as_u64().unwrap()),
            // Every object is closed here.
            "additionalProperties" => true,
            other => return vec![format!("{path}: the description has {other:?}, which nothing checks")],
        };
        if holds { Vec::new() } else { vec![format!("{path}: {value} is not {word} {wanted} of {schema}")] }
    }

    fn fields(&self, described: &Map<String, Value>, value: &Value, path: &str) -> Vec<String> {
        let Some(fields) = value.as_object() else { return Vec::new() };
        let judged = fields.iter().flat_map(|(name, value)| match described.get(name) {
            Some(schema) => self.errors(schema, value, &format!("{path}.{name}")),
            None => vec![format!("{path}.{name} is not described")],
        });
        judged.collect()
    }
}

fn is(value: &Value, kind: &str) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("the description has type {other:?}, which nothing checks"),
    }
}

fn object(value: &Value) -> &Map<String, Value> {
    value.as_object().unwrap_or_else(|| panic!("not an object: {value}"))
}

fn json(yaml: &Yaml) -> Value {
    match yaml {
        Yaml::String(text) => Value::from(text.as_str()),
        Yaml::Integer(number) => Value::from(*number),
        Yaml::Boolean(truth) => Value::from(*truth),
        Yaml::Array(items) => items.iter().map(json).collect(),
        Yaml::Hash(entries) => {
            entries.iter().map(|(key, value)| (key.as_str().expect("a text").to_owned(), json(value))).collect()
        }
        Yaml::Null => Value::Null,
        other => panic!("openapi.yaml has {other:?}"),
    }
}
