//! The operators: which types each of them takes, and what comes of them.

use cel::common::ast::{Expr, IdedExpr, LiteralValue, operators as op};

use super::{
    super::show::{bare, shown},
    Type, Typing, flat,
};
use crate::policy::duration;

impl Typing {
    /// Nothing if `name` is no operator.
    pub(super) fn operator(
        &mut self,
        name: &str,
        operands: &[IdedExpr],
        whole: &IdedExpr,
    ) -> Option<Result<Type, String>> {
        let found = match (name, operands) {
            (op::LOGICAL_AND | op::LOGICAL_OR, [one, other]) => self.both_bool(one, other),
            (op::LOGICAL_NOT | op::NOT_STRICTLY_FALSE, [one]) => self.truth(one, "`!`"),
            (op::CONDITIONAL, [asked, yes, no]) => self.conditional(asked, yes, no),
            (op::EQUALS | op::NOT_EQUALS, [one, other]) => self.equality(one, other, whole),
            (op::LESS | op::LESS_EQUALS | op::GREATER | op::GREATER_EQUALS, [one, other]) => {
                self.ordering(one, other, whole)
            }
            (op::ADD, [one, other]) => self.sum(one, other, whole),
            (op::SUBSTRACT | op::MULTIPLY | op::DIVIDE | op::MODULO, [one, other]) => {
                self.arithmetic(name, one, other, whole)
            }
            (op::NEGATE, [one]) => self.negated(one),
            (op::IN, [item, range]) => self.membership(item, range, whole),
            (op::INDEX, [of, key]) => self.index(of, key),
            (op::OPT_INDEX | op::OPT_SELECT, [of, key]) => self.optional_index(name, of, key),
            _ => return None,
        };
        Some(found)
    }

    fn truth(&mut self, operand: &IdedExpr, operator: &str) -> Result<Type, String> {
        match self.of(operand)? {
            Type::Bool | Type::Any => Ok(Type::Bool),
            other => Err(format!("{} is {other}; {operator} takes what is true or false", shown(operand))),
        }
    }

    fn both_bool(&mut self, one: &IdedExpr, other: &IdedExpr) -> Result<Type, String> {
        self.truth(one, "`&&` and `||`").and_then(|_| self.truth(other, "`&&` and `||`"))
    }

    fn conditional(&mut self, asked: &IdedExpr, yes: &IdedExpr, no: &IdedExpr) -> Result<Type, String> {
        self.truth(asked, "`? :`")?;
        Ok(self.of(yes)?.or(self.of(no)?))
    }

    fn equality(&mut self, one: &IdedExpr, other: &IdedExpr, whole: &IdedExpr) -> Result<Type, String> {
        let (left, right) = (self.of(one)?, self.of(other)?);
        check_choice(&left, one, other)?;
        check_choice(&right, other, one)?;
        if may_be_equal(&left, &right) {
            return Ok(Type::Bool);
        }
        Err(format!("{} compares {left} with {right}{}", shown(whole), advice([(&left, one), (&right, other)])))
    }

    fn ordering(&mut self, one: &IdedExpr, other: &IdedExpr, whole: &IdedExpr) -> Result<Type, String> {
        let (left, right) = (self.of(one)?, self.of(other)?);
        let same = |is: fn(&Type) -> bool| is(&left) && is(&right);
        let is_ordered = left.is_any()
            || right.is_any()
            || same(Type::is_number)
            || same(Type::is_string)
            || same(|of| *of == Type::Bool)
            || same(|of| *of == Type::Bytes);
        if is_ordered {
            return Ok(Type::Bool);
        }
        Err(format!("{} compares {left} with {right}{}", shown(whole), advice([(&left, one), (&right, other)])))
    }

    fn sum(&mut self, one: &IdedExpr, other: &IdedExpr, whole: &IdedExpr) -> Result<Type, String> {
        match (self.of(one)?, self.of(other)?) {
            (Type::Any, _) | (_, Type::Any) => Ok(Type::Any),
            (left, right) if left == right && left.is_number() => Ok(left),
            (left, right) if left.is_string() && right.is_string() => Ok(Type::String),
            (Type::Bytes, Type::Bytes) => Ok(Type::Bytes),
            (Type::List(left), Type::List(right)) => Ok(Type::List(Box::new(match (*left, *right) {
                // Of an empty list.
                (Type::Any, item) | (item, Type::Any) => item,
                (left, right) => left.or(right),
            }))),
            (left, right) => {
                Err(format!("{} adds {right} to {left}{}", shown(whole), advice([(&left, one), (&right, other)])))
            }
        }
    }

    fn arithmetic(&mut self, name: &str, one: &IdedExpr, other: &IdedExpr, whole: &IdedExpr) -> Result<Type, String> {
        let (left, right) = (self.of(one)?, self.of(other)?);
        let is_possible = |of: &Type| of.is_number() && (name != op::MODULO || *of != Type::Double);
        match (&left, &right) {
            (Type::Any, Type::Any) => Ok(Type::Any),
            (Type::Any, of) | (of, Type::Any) if is_possible(of) => Ok(of.clone()),
            (one, other) if one == other && is_possible(one) => Ok(left),
            _ => Err(format!(
                "{} calculates with {left} and {right}{}",
                shown(whole),
                advice([(&left, one), (&right, other)])
            )),
        }
    }

    fn negated(&mut self, operand: &IdedExpr) -> Result<Type, String> {
        match self.of(operand)? {
            of @ (Type::Int | Type::Double | Type::Any) => Ok(of),
            of => Err(format!("{} is {of}; `-` takes a number", shown(operand))),
        }
    }

    fn membership(&mut self, item: &IdedExpr, range: &IdedExpr, whole: &IdedExpr) -> Result<Type, String> {
        let (wanted, of) = (self.of(item)?, self.of(range)?);
        let items = match &of {
            Type::Any => Type::Any,
            Type::List(found) | Type::Unordered(found) => (**found).clone(),
            Type::Map(key, _) => (**key).clone(),
            Type::Object(_) => Type::String,
            _ if of.is_string() => {
                return Err(format!(
                    "{} looks into a string; write {}.contains({})",
                    shown(whole),
                    bare(range),
                    bare(item)
                ));
            }
            _ => return Err(format!("{} looks into {of}; `in` takes a list or a map", shown(whole))),
        };
        if let Expr::List(list) = &range.expr {
            list.elements.iter().try_for_each(|element| check_choice(&wanted, item, element))?;
        }
        if may_be_equal(&wanted, &items) {
            return Ok(Type::Bool);
        }
        Err(format!("{} looks for {wanted} where there is {items}", shown(whole)))
    }

    fn index(&mut self, of: &IdedExpr, key: &IdedExpr) -> Result<Type, String> {
        let (operand, found) = (self.of(of)?, self.of(key)?);
        match &operand {
            Type::Any => Ok(Type::Any),
            Type::Object(_) | Type::Optional(_) => match literal(key) {
                Some(name) => self.field(of, &operand, name),
                None if found.is_string() || found.is_any() => Ok(Type::Any),
                None => Err(format!("{}[…] takes a string, not {found}", bare(of))),
            },
            Type::List(item) if found.is_number() || found.is_any() => Ok((**item).clone()),
            Type::Map(known, value) if may_be_equal(known, &found) => Ok((**value).clone()),
            Type::List(_) | Type::Map(..) => Err(format!("{}[…] has no key that is {found}", bare(of))),
            other => Err(format!("{} is {other}; `[…]` takes a list or a map", shown(of))),
        }
    }

    /// `.?name` and `[?key]`.
    fn optional_index(&mut self, name: &str, of: &IdedExpr, key: &IdedExpr) -> Result<Type, String> {
        let found = match (name, literal(key)) {
            (op::OPT_SELECT, Some(field)) => {
                let operand = self.of(of)?;
                self.field(of, &operand, field)?
            }
            _ => self.index(of, key)?,
        };
        Ok(Type::Optional(Box::new(flat(found))))
    }
}

fn literal(expression: &IdedExpr) -> Option<&str> {
    match &expression.expr {
        Expr::Literal(LiteralValue::String(text)) => Some(text.inner()),
        _ => None,
    }
}

/// CEL has two values of different types unequal; a policy that asks for that is wrong.
pub(super) fn may_be_equal(one: &Type, other: &Type) -> bool {
    match (one, other) {
        (Type::Unordered(_), _) | (_, Type::Unordered(_)) => false,
        (Type::Any | Type::Null, _) | (_, Type::Any | Type::Null) => true,
        (Type::List(one), Type::List(other)) => may_be_equal(one, other),
        (Type::Map(..), Type::Object(_)) | (Type::Object(_), Type::Map(..)) => true,
        (Type::Map(key, value), Type::Map(other_key, other_value)) => {
            may_be_equal(key, other_key) && may_be_equal(value, other_value)
        }
        (Type::Optional(one), Type::Optional(other)) => may_be_equal(one, other),
        _ => one == other || one.is_number() && other.is_number() || one.is_string() && other.is_string(),
    }
}

/// A text that the other side never is.
fn check_choice(of: &Type, one: &IdedExpr, other: &IdedExpr) -> Result<(), String> {
    let (Type::Choice(values), Some(text)) = (of, literal(other)) else { return Ok(()) };
    if values.iter().any(|value| value == text) {
        return Ok(());
    }
    let values: Vec<String> = values.iter().map(|value| format!("'{value}'")).collect();
    Err(format!("{} is never '{text}'; it is {}", shown(one), values.join(", ")))
}

/// What may have been meant where two types do not fit.
fn advice(operands: [(&Type, &IdedExpr); 2]) -> String {
    let [(left, one), (right, other)] = operands;
    for (of, against, text) in [(left, right, other), (right, left, one)] {
        let Some(text) = literal(text).filter(|_| against.is_string()) else { continue };
        match of {
            Type::Int if duration::parse(text).is_ok() => return format!("; write duration('{text}')"),
            Type::Int | Type::Uint | Type::Double => return format!("; write a number instead of '{text}'"),
            Type::Bool => return "; a bool is compared with nothing, or with true or false without quotes".into(),
            _ => {}
        }
    }
    for (of, against) in [(left, right), (right, left)] {
        match (of, against) {
            (Type::Choice(values), Type::Bool) => return format!("; it is '{}', in quotes", values.join("', '")),
            (Type::Object(object), _) => return format!("; compare one of its fields: {}", object.fields().join(", ")),
            (Type::Optional(_), _) => return "; write .orValue(…) after it".into(),
            _ => {}
        }
    }
    String::new()
}
