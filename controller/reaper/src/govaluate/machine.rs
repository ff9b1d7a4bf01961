//! Evaluation: a stack of values and a program over it. Both sides of every operator are there before it runs, which is
//! how the language has it.

use std::cmp::Ordering;

use regex::{Regex, RegexBuilder};

use super::value::Value;

/// A compiled pattern may take this much memory; label values are short.
const PATTERN_BYTES: usize = 1 << 20;

/// An annotation may have 256 KiB, and be added to itself many times.
const LONGEST_STRING: usize = 1 << 20;

#[derive(Debug, Clone)]
pub(super) enum Op {
    Constant(Value),
    Variable(String),
    Unary(Unary),
    Binary(Binary),
    /// `=~` or `!~` with a pattern that is written down.
    Pattern {
        regex: Regex,
        negated: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unary {
    Negate,
    Not,
    Invert,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Binary {
    List,
    /// `?`: the right side if the left is true, else nil.
    If,
    /// `:` and `??`: the left side unless it is nil.
    Else,
    Or,
    And,
    Equal {
        negated: bool,
    },
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Matches {
        negated: bool,
    },
    In,
    BitAnd,
    BitOr,
    BitXor,
    ShiftLeft,
    ShiftRight,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Power,
}

pub(super) fn run(program: &[Op], lookup: impl Fn(&str) -> Value) -> Result<Value, String> {
    let mut stack = Vec::new();
    for op in program {
        let value = match op {
            Op::Constant(value) => value.clone(),
            Op::Variable(name) => lookup(name),
            Op::Unary(operator) => unary(*operator, &pop(&mut stack)?)?,
            Op::Pattern { regex, negated } => Value::Bool(regex.is_match(&text(&pop(&mut stack)?, "=~")?) != *negated),
            Op::Binary(operator) => {
                let right = pop(&mut stack)?;
                binary(*operator, pop(&mut stack)?, right)?
            }
        };
        stack.push(value);
    }
    pop(&mut stack)
}

pub(super) fn regex(pattern: &str) -> Result<Regex, String> {
    let built = RegexBuilder::new(pattern).size_limit(PATTERN_BYTES).build();
    built.map_err(|error| format!("the pattern {pattern:?} cannot be used: {error}"))
}

fn pop(stack: &mut Vec<Value>) -> Result<Value, String> {
    stack.pop().ok_or_else(|| "an operand is missing".to_owned())
}

fn unary(operator: Unary, value: &Value) -> Result<Value, String> {
    Ok(match operator {
        Unary::Negate => Value::Number(-number(value, "-")?),
        Unary::Not => Value::Bool(!truth(value, "!")?),
        Unary::Invert => Value::Number(!signed(number(value, "~")?) as f64),
    })
}

fn binary(operator: Binary, left: Value, right: Value) -> Result<Value, String> {
    Ok(match operator {
        Binary::List => list(left, right),
        Binary::If if truth(&left, "?")? => right,
        Binary::If => Value::Nil,
        Binary::Else if left == Value::Nil => right,
        Binary::Else => left,
        Binary::Or | Binary::And => logical(operator, &left, &right)?,
        Binary::Equal { negated } => Value::Bool((left == right) != negated),
        Binary::Less | Binary::LessOrEqual | Binary::Greater | Binary::GreaterOrEqual => {
            Value::Bool(ordered(operator, order(&left, &right)?))
        }
        Binary::Matches { negated } => {
            let subject = text(&left, "=~")?;
            Value::Bool(regex(&text(&right, "=~")?)?.is_match(&subject) != negated)
        }
        Binary::In => member(&left, &right)?,
        Binary::Add if !is_number(&left) || !is_number(&right) => joined(&left, &right)?,
        _ => Value::Number(arithmetic(operator, &left, &right)?),
    })
}

/// `(1, 2), 3` is one list; `1, (2, 3)` has a list in it.
fn list(left: Value, right: Value) -> Value {
    match left {
        Value::List(mut values) => {
            values.push(right);
            Value::List(values)
        }
        first => Value::List(vec![first, right]),
    }
}

fn logical(operator: Binary, left: &Value, right: &Value) -> Result<Value, String> {
    let symbol = if operator == Binary::And { "&&" } else { "||" };
    let (left, right) = (truth(left, symbol)?, truth(right, symbol)?);
    Ok(Value::Bool(if operator == Binary::And { left && right } else { left || right }))
}

fn ordered(operator: Binary, order: Option<Ordering>) -> bool {
    match operator {
        Binary::Less => order == Some(Ordering::Less),
        Binary::LessOrEqual => matches!(order, Some(Ordering::Less | Ordering::Equal)),
        Binary::Greater => order == Some(Ordering::Greater),
        _ => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
    }
}

/// Two numbers or two strings; nothing for what is not a number (NaN).
fn order(left: &Value, right: &Value) -> Result<Option<Ordering>, String> {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => Ok(left.partial_cmp(right)),
        (Value::Text(left), Value::Text(right)) => Ok(Some(left.cmp(right))),
        _ => Err(format!(
            "'{left}' ({}) and '{right}' ({}) have no order: both must be numbers or both strings",
            left.kind(),
            right.kind()
        )),
    }
}

fn member(left: &Value, right: &Value) -> Result<Value, String> {
    match right {
        Value::List(_) if matches!(left, Value::List(_)) => Err("a list is in no list".to_owned()),
        Value::List(values) => Ok(Value::Bool(values.contains(left))),
        other => Err(format!("'{other}' is no list of two or more, as `in` needs")),
    }
}

fn joined(left: &Value, right: &Value) -> Result<Value, String> {
    match (left, right) {
        (Value::Text(_), _) | (_, Value::Text(_)) => Some(format!("{left}{right}"))
            .filter(|text| text.len() <= LONGEST_STRING)
            .map(Value::Text)
            .ok_or_else(|| format!("a string of more than {LONGEST_STRING} bytes would come out of +")),
        _ => Err(format!("'{left}' and '{right}' cannot be added: neither both numbers nor one a string")),
    }
}

fn arithmetic(operator: Binary, left: &Value, right: &Value) -> Result<f64, String> {
    let (left, right) = (number(left, "an arithmetic operator")?, number(right, "an arithmetic operator")?);
    Ok(match operator {
        Binary::BitAnd => (signed(left) & signed(right)) as f64,
        Binary::BitOr => (signed(left) | signed(right)) as f64,
        Binary::BitXor => (signed(left) ^ signed(right)) as f64,
        Binary::ShiftLeft => shift(unsigned(right), |by| unsigned(left).checked_shl(by)),
        Binary::ShiftRight => shift(unsigned(right), |by| unsigned(left).checked_shr(by)),
        Binary::Subtract => left - right,
        Binary::Multiply => left * right,
        Binary::Divide => left / right,
        Binary::Remainder => left % right,
        Binary::Power => left.powf(right),
        _ => left + right,
    })
}

/// Shifting everything out leaves 0.
fn shift(by: u64, shifted: impl Fn(u32) -> Option<u64>) -> f64 {
    u32::try_from(by).ok().and_then(shifted).unwrap_or(0) as f64
}

const TWO_TO_63: f64 = -(i64::MIN as f64);

/// As amd64 converts, where govaluate ran: what does not fit is the smallest number.
fn signed(number: f64) -> i64 {
    match (-TWO_TO_63..TWO_TO_63).contains(&number) {
        true => number as i64,
        false => i64::MIN,
    }
}

/// As amd64 converts: negative numbers wrap around.
fn unsigned(number: f64) -> u64 {
    match number >= TWO_TO_63 {
        true => (signed(number - TWO_TO_63) as u64) ^ (1 << 63),
        false => signed(number) as u64,
    }
}

fn is_number(value: &Value) -> bool {
    matches!(value, Value::Number(_))
}

fn number(value: &Value, symbol: &str) -> Result<f64, String> {
    match value {
        Value::Number(number) => Ok(*number),
        other => Err(format!("'{other}' cannot be used with {symbol}: it is {}, not a number", other.kind())),
    }
}

fn truth(value: &Value, symbol: &str) -> Result<bool, String> {
    match value {
        Value::Bool(truth) => Ok(*truth),
        other => Err(format!("'{other}' cannot be used with {symbol}: it is {}, not a boolean", other.kind())),
    }
}

fn text(value: &Value, symbol: &str) -> Result<String, String> {
    match value {
        Value::Text(text) => Ok(text.clone()),
        other => Err(format!("'{other}' cannot be used with {symbol}: it is {}, not a string", other.kind())),
    }
}
