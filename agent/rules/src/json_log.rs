//! What klog and logrus write as JSON, as the text that they write otherwise: rules are written for that text. Pure.

use std::borrow::Cow;

use jiff::{Timestamp, tz::Offset};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::entries::Entries;

/// A message of the journal that is longer is cut, and then no object; a text is cut here as well.
pub const LIMIT_BYTES: usize = 64 << 10;

/// Each such object has it: they are written without blanks, and with another key before this one.
pub(crate) const MARK: &[u8] = br#","msg":""#;
/// The same where the object is itself in a string of JSON.
pub(crate) const MARK_IN_STRING: &[u8] = br#",\"msg\":\""#;

/// As logrus writes them.
const LEVELS: [&str; 7] = ["panic", "fatal", "error", "warning", "info", "debug", "trace"];

/// The text that `message` stands for, in one line, if it is an object as klog or logrus writes it. Anything else
/// stands for itself.
#[must_use]
pub fn text_of(message: &[u8]) -> Option<Vec<u8>> {
    // Nearly no message begins so.
    if !message.starts_with(b"{\"") || message.len() > LIMIT_BYTES {
        return None;
    }
    memchr::memmem::find(message, MARK)?;
    let Entries(entries) = serde_json::from_slice(message).ok()?;
    let object = Object(entries);
    let mut text = klog(&object).or_else(|| logrus(&object))?.into_bytes();
    text.truncate(LIMIT_BYTES);
    Some(text)
}

/// `E1114 22:13:20.123456       0 kubelet.go:1431] "Failed" err="why" pod="kube-system/coredns-1"`. The object does not
/// name the process, which is 0 then, and does not distinguish a warning from what is merely logged.
fn klog(object: &Object<'_>) -> Option<String> {
    // Others that log by zap, as etcd does, begin with the level.
    object.0.first().filter(|(key, _)| key == "ts")?;
    let (time, caller) = (klog_time(object.value("ts")?.get())?, object.string("caller")?);
    let (file, line) = caller.rsplit('/').next()?.rsplit_once(':')?;
    if !is_file(file) || !is_number(line) {
        return None;
    }
    let is_error = object.value("v").is_none();
    let letter = if is_error { 'E' } else { 'I' };
    let mut text = format!("{letter}{time}       0 {file}:{line}] ");
    push_quoted(&mut text, &object.string("msg")?);
    // The error comes last in an object and first in a text. Where there is none it is a value like others.
    let error = object.0.iter().rposition(|(key, _)| key == "err").filter(|_| is_error);
    let [ts, caller, message, verbosity] = ["ts", "caller", "msg", "v"].map(|key| object.position(key));
    let others = object.all_but([ts, caller, message, verbosity, error]);
    for (key, value) in error.map(|place| &object.0[place]).into_iter().chain(others) {
        push_key(&mut text, key);
        push_as_klog(&mut text, value);
    }
    Some(text)
}

/// `time="2026-11-21T02:31:05Z" level=error msg="get state" error="context deadline exceeded" id=4f2a`.
fn logrus(object: &Object<'_>) -> Option<String> {
    let (time, level) = (object.string("time")?, object.string("level")?);
    if !is_time(&time) || !LEVELS.contains(&&*level) {
        return None;
    }
    let mut text = String::new();
    for (key, string) in [("time", time), ("level", level), ("msg", object.string("msg")?)] {
        push_key(&mut text, key);
        push_as_logrus(&mut text, &string);
    }
    for (key, value) in object.all_but(["time", "level", "msg"].map(|key| object.position(key))) {
        push_key(&mut text, key);
        push_as_logrus(&mut text, &string(value).map_or(Cow::Borrowed(value.get()), Cow::Owned));
    }
    Some(text)
}

/// The month, the day and the time of day in UTC; `millis` is a number of JSON, since 1970.
fn klog_time(millis: &str) -> Option<String> {
    let (whole, fraction) = millis.split_once('.').unwrap_or((millis, "0"));
    if !is_number(whole) || !is_number(fraction) {
        return None;
    }
    let micros = format!("{whole}{fraction:0<3.3}").parse().ok()?;
    let time = Offset::UTC.to_datetime(Timestamp::from_microsecond(micros).ok()?);
    let (month, day, micros) = (time.month(), time.day(), time.subsec_nanosecond() / 1000);
    Some(format!("{month:02}{day:02} {:02}:{:02}:{:02}.{micros:06}", time.hour(), time.minute(), time.second()))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether `name` can stand in a header: behind anything else a text could have two.
fn is_file(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

/// The form is the program's own.
fn is_time(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b" .,:/+-".contains(&byte))
}

/// Appends `key=`. A key that could be read as more than one is quoted; neither program writes such.
fn push_key(text: &mut String, key: &str) {
    if !text.is_empty() {
        text.push(' ');
    }
    if key.contains(|sign: char| sign <= ' ' || matches!(sign, '"' | '=' | '\u{7f}')) {
        push_quoted(text, key);
    } else {
        text.push_str(key);
    }
    text.push('=');
}

/// What is neither a string nor the reference to an object is JSON in klog's text, too.
fn push_as_klog(text: &mut String, value: &RawValue) {
    let raw = value.get();
    if let Some(string) = string(value).or_else(|| reference(raw)) {
        push_quoted(text, &string);
    } else if raw.bytes().any(|byte| byte < b' ') {
        // Blanks between values may be line breaks.
        push_quoted(text, raw);
    } else {
        text.push_str(raw);
    }
}

/// Quoted where logrus has to.
fn push_as_logrus(text: &mut String, value: &str) {
    if value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._/@^+".contains(&byte)) {
        text.push_str(value);
    } else {
        push_quoted(text, value);
    }
}

/// As Go quotes, but for characters that are hidden without being control characters of ASCII: a message is cleaned of
/// all of these before it is shown.
fn push_quoted(text: &mut String, value: &str) {
    text.push('"');
    for sign in value.chars() {
        match sign {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\u{7}' => text.push_str("\\a"),
            '\u{8}' => text.push_str("\\b"),
            '\t' => text.push_str("\\t"),
            '\n' => text.push_str("\\n"),
            '\u{b}' => text.push_str("\\v"),
            '\u{c}' => text.push_str("\\f"),
            '\r' => text.push_str("\\r"),
            '\0'..='\u{1f}' | '\u{7f}' => text.push_str(&format!("\\x{:02x}", u32::from(sign))),
            _ => text.push(sign),
        }
    }
    text.push('"');
}

/// `value` if it is a string.
fn string(value: &RawValue) -> Option<String> {
    serde_json::from_str(value.get()).ok()
}

/// A pod and its like: klog's text has `namespace/name` for it, or the name of what has no namespace.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reference {
    name: String,
    #[serde(default)]
    namespace: String,
}

fn reference(raw: &str) -> Option<String> {
    // An array of two strings would be read as one, too.
    let raw = Some(raw).filter(|raw| raw.starts_with('{'))?;
    let Reference { name, namespace } = serde_json::from_str(raw).ok()?;
    Some(if namespace.is_empty() { name } else { format!("{namespace}/{name}") })
}

/// Keys and values in their order, values as they are written. zap writes a key of the header twice where a value is
/// called so, too: the first is the header's.
struct Object<'a>(Vec<(String, &'a RawValue)>);

impl<'a> Object<'a> {
    /// Where the first value of `key` is.
    fn position(&self, key: &str) -> Option<usize> {
        self.0.iter().position(|(known, _)| known == key)
    }

    fn value(&self, key: &str) -> Option<&'a RawValue> {
        self.position(key).map(|place| self.0[place].1)
    }

    fn string(&self, key: &str) -> Option<String> {
        string(self.value(key)?)
    }

    /// All but those at `places`.
    fn all_but<const N: usize>(&self, places: [Option<usize>; N]) -> impl Iterator<Item = &(String, &'a RawValue)> {
        let all = self.0.iter().enumerate();
        all.filter(move |(place, _)| !places.contains(&Some(*place))).map(|(_, entry)| entry)
    }
}

#[cfg(test)]
mod tests;
