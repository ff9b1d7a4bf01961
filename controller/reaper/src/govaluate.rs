//! The expression language of node-reaper's predicates (govaluate 2.3.0), with its exact meaning.
//!
//! What surprises people who know other languages, and is kept because predicates rely on it:
//! - `&&` and `||` evaluate both sides, so an error on either side is an error of the whole;
//! - a variable that the node has not is `nil`, and `nil != 'False'` is true;
//! - equality never converts: `Cordoned == 'true'` is false;
//! - a string that reads as a date is a number (seconds since 1970);
//! - either quote closes either, and `==-` is one unknown operator, because symbols are read until a blank;
//! - operators of one level, the ternary ones among them, are taken from left to right.
//!
//! Four things differ, each towards doing less: text after the end of an expression and a missing operand are errors
//! (govaluate ignores the one and takes the other for nil), and text, operators and brackets have a limit. `0x1F` is a
//! number, as it is in later versions.

mod dates;
mod grammar;
mod lexer;
mod machine;
mod value;
mod variables;

use nodewell_remediation::{facts::Node, snapshot::Snapshot, time::Now};

use machine::Op;
pub use value::Value;

/// Longer ones are no predicates.
pub const LONGEST_TEXT: usize = 16 * 1024;

/// A compiled expression.
#[derive(Debug, Clone)]
pub struct Expression {
    text: String,
    /// In the order of evaluation: operands before their operators.
    program: Vec<Op>,
}

impl Expression {
    /// Errors name what was not understood; the empty text is one of them.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.len() > LONGEST_TEXT {
            return Err(format!("the expression has {} bytes; {LONGEST_TEXT} are allowed", text.len()));
        }
        let program = grammar::program(&lexer::tokens(text)?)?;
        Ok(Self { text: text.to_owned(), program })
    }

    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The names it asks for, in the order of the text.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.program.iter().filter_map(|op| match op {
            Op::Variable(name) => Some(name.as_str()),
            _ => None,
        })
    }

    /// Its value where `lookup` gives the value of a variable (`Nil` for one that is not there).
    pub fn evaluate(&self, lookup: impl Fn(&str) -> Value) -> Result<Value, String> {
        machine::run(&self.program, lookup)
    }

    /// Whether it is true of `node`; anything but a boolean is an error.
    pub fn judge(&self, node: &Node, snapshot: &Snapshot, now: Now) -> Result<bool, String> {
        self.judge_with(node, snapshot, now, |_| None)
    }

    /// As [`Self::judge`], where `instead` may know better what a variable is.
    pub fn judge_with(
        &self,
        node: &Node,
        snapshot: &Snapshot,
        now: Now,
        instead: impl Fn(&str) -> Option<Value>,
    ) -> Result<bool, String> {
        let lookup = |name: &str| instead(name).unwrap_or_else(|| variables::of(name, node, snapshot, now));
        match self.evaluate(lookup)? {
            Value::Bool(truth) => Ok(truth),
            _ => Err(format!("invalid predicate, not a boolean expression: {}", self.text)),
        }
    }
}

#[cfg(test)]
mod tests;
