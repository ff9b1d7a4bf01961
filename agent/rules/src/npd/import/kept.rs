//! What of a file stays in Node Problem Detector's format: the file as it is, without the rules that became native.

use std::path::{Path, PathBuf};

use super::super::{
    json::{Document, Object, Value},
    stats::KNOWN_MODULES,
};
use crate::report::Report;

/// The rules of a file, each with its lines and what it runs.
pub(super) struct RuleText<'a> {
    raw: &'a str,
    pub(super) lines: std::ops::RangeInclusive<usize>,
    /// Of a custom plug-in.
    pub(super) path: String,
}

/// All of them, in their order; nothing of a file that has errors or no rules.
pub(super) fn rules<'a>(file: &Path, text: &'a str) -> Vec<RuleText<'a>> {
    let mut report = Report::new(file, text);
    let Some(value) = rules_value(text, &mut report) else { return Vec::new() };
    let items = value.array("rules", &mut report);
    items.into_iter().map(|item| rule_text(item, &mut report)).collect()
}

fn rule_text<'a>(item: Value<'a>, report: &mut Report<'_>) -> RuleText<'a> {
    let lines = report.line(item.at())..=report.line(item.at() + item.raw().len().saturating_sub(1));
    let path = item.object("rules", report).map(|object| object.text("path", report).text).unwrap_or_default();
    RuleText { raw: item.raw(), lines, path }
}

/// The text with the rules of these indices alone.
pub(super) fn with_rules(file: &Path, text: &str, indices: &[usize]) -> String {
    let mut report = Report::new(file, text);
    let Some(value) = rules_value(text, &mut report) else { return text.to_owned() };
    let all = rules(file, text);
    if indices.len() == all.len() {
        return text.to_owned();
    }
    let (start, end) = (value.at(), value.at() + value.raw().len());
    let left: Vec<&str> = indices.iter().filter_map(|index| all.get(*index)).map(|rule| rule.raw).collect();
    format!("{}[\n    {}\n  ]{}", &text[..start], left.join(",\n    "), &text[end..])
}

/// Where the file has the kernel modules that come with the node's image, if it asks for them.
pub(super) fn known_modules(file: &Path, text: &str) -> Option<PathBuf> {
    let mut report = Report::new(file, text);
    let features = object(text, &mut report)?.value("osFeature")?.object("osFeature", &mut report)?;
    let named = features.text("knownModulesConfigPath", &mut report).text;
    Some(if named.is_empty() { KNOWN_MODULES.into() } else { named.into() })
}

fn rules_value<'a>(text: &'a str, report: &mut Report<'_>) -> Option<Value<'a>> {
    object(text, report)?.value("rules")
}

fn object<'a>(text: &'a str, report: &mut Report<'_>) -> Option<Object<'a>> {
    Document::parse(text, report)?.object("the file", report)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{
  "plugin": "kmsg", "Rules": [],
  "rules": [
    {"reason": "A", "pattern": "a"},
    {"reason": "B",
     "pattern": "}]"}, {"reason": "C", "path": "/bin/log-counter"}
  ],
  "source": "x"
}"#;

    #[test]
    fn what_is_left_is_as_it_was() {
        let file = Path::new("m.json");
        let found = rules(file, TEXT);
        let lines: Vec<_> = found.iter().map(|rule| rule.lines.clone()).collect();
        assert_eq!(lines, [4..=4, 5..=6, 6..=6]);
        assert_eq!(found[2].path, "/bin/log-counter");
        assert_eq!(with_rules(file, TEXT, &[0, 1, 2]), TEXT);
        let left = with_rules(file, TEXT, &[1]);
        let json: serde_json::Value = serde_json::from_str(&left).unwrap();
        assert_eq!(json["rules"], serde_json::json!([{"reason": "B", "pattern": "}]"}]));
        assert_eq!((json["source"].as_str(), json["plugin"].as_str()), (Some("x"), Some("kmsg")));
        assert!(left.contains("\"reason\": \"B\",\n     \"pattern\""), "{left}");
    }
}
