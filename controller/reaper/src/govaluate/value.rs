//! Values of the language, and how they look and compare.

use std::fmt;

/// A regular expression is one only as the right side of `=~`, compiled once.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Nil,
    Bool(bool),
    Number(f64),
    Text(String),
    List(Vec<Value>),
}

impl Value {
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Nil => "nil",
            Self::Bool(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::Text(_) => "a string",
            Self::List(_) => "a list",
        }
    }
}

impl From<bool> for Value {
    fn from(truth: bool) -> Self {
        Self::Bool(truth)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

/// As Go's `%v` writes it, which is what joining strings with `+` gives.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nil => f.write_str("<nil>"),
            Self::Bool(truth) => write!(f, "{truth}"),
            Self::Number(number) => f.write_str(&number_text(*number)),
            Self::Text(text) => f.write_str(text),
            Self::List(values) => {
                let words: Vec<_> = values.iter().map(ToString::to_string).collect();
                write!(f, "[{}]", words.join(" "))
            }
        }
    }
}

/// The shortest digits that mean this number; with an exponent below 1e-4 and from 1e21.
fn number_text(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let magnitude = number.abs();
    if number == 0.0 || (1e-4..1e21).contains(&magnitude) {
        return format!("{number}");
    }
    let text = format!("{number:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = match exponent.strip_prefix('-') {
        Some(rest) => ('-', rest),
        None => ('+', exponent),
    };
    format!("{digits}e{sign}{exponent:0>2}")
}
