//! What each part of an expression is: a string, a number, a condition. What can be right of no node is an error when the
//! policy is read, and not one of each node when it is judged.

mod calls;
mod operators;

use std::fmt;

use cel::common::ast::{ComprehensionExpr, EntryExpr, Expr, IdedExpr, ListExpr, LiteralValue, MapExpr, SelectExpr};

use super::{
    declared::{self, Object, check_condition_type},
    show::{bare, shown},
};

/// As CEL has them, with our own objects and strings of which every value is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Type {
    /// Known only when it is judged.
    Any,
    Bool,
    Int,
    Uint,
    Double,
    String,
    /// A string that is one of these.
    Choice(Vec<String>),
    Bytes,
    Null,
    /// Of `type(x)`.
    Kind,
    List(Box<Type>),
    /// What `map` and `filter` make of a map: the interpreter takes its keys in another order each time.
    Unordered(Box<Type>),
    Map(Box<Type>, Box<Type>),
    Object(Object),
    Optional(Box<Type>),
}

impl Type {
    pub(super) fn is_any(&self) -> bool {
        *self == Self::Any
    }

    pub(super) fn is_string(&self) -> bool {
        matches!(self, Self::String | Self::Choice(_))
    }

    pub(super) fn is_number(&self) -> bool {
        matches!(self, Self::Int | Self::Uint | Self::Double)
    }

    /// What is either of them.
    pub(super) fn or(self, other: Self) -> Self {
        match (self, other) {
            (one, other) if one == other => one,
            (Self::List(one), Self::List(other)) => Self::List(Box::new(one.or(*other))),
            // What may be one of them may not be taken for another list.
            (Self::Unordered(_), _) | (_, Self::Unordered(_)) => Self::Unordered(Box::new(Self::Any)),
            (Self::Map(key, value), Self::Map(other_key, other_value)) => {
                Self::Map(Box::new(key.or(*other_key)), Box::new(value.or(*other_value)))
            }
            (Self::Optional(one), Self::Optional(other)) => Self::Optional(Box::new(one.or(*other))),
            (one, other) if one.is_string() && other.is_string() => Self::String,
            _ => Self::Any,
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Any => "anything",
            Self::Bool => "a bool",
            Self::Int => "an int",
            Self::Uint => "a uint",
            Self::Double => "a double",
            Self::String | Self::Choice(_) => "a string",
            Self::Bytes => "bytes",
            Self::Null => "null",
            Self::Kind => "a type",
            Self::List(_) => "a list",
            Self::Unordered(_) => "a list without an order, made of a map's keys",
            Self::Map(..) => "a map",
            Self::Object(object) => object.name(),
            Self::Optional(_) => "an optional",
        })
    }
}

/// The first thing in it that can be right of no node.
pub(super) fn check(expression: &IdedExpr) -> Result<(), String> {
    let found = Typing::default().of(expression)?;
    match found {
        Type::Bool | Type::Any => Ok(()),
        Type::Optional(_) => {
            Err(format!("{} is an optional; end it with .orValue(…) and a comparison", shown(expression)))
        }
        Type::Int | Type::Uint | Type::Double => Err(format!(
            "{} is {found}, not true or false; compare it, such as `node.age > duration('5m')`",
            shown(expression)
        )),
        _ => Err(format!("{} is {found}, not true or false; compare it with something", shown(expression))),
    }
}

/// One walk through an expression.
#[derive(Debug, Default)]
struct Typing {
    /// Variables of the loops around.
    scope: Vec<(String, Type)>,
}

impl Typing {
    fn of(&mut self, expression: &IdedExpr) -> Result<Type, String> {
        match &expression.expr {
            Expr::Literal(literal) => Ok(literal_type(literal)),
            Expr::Ident(name) => Ok(self.variable(name)),
            Expr::Select(select) => self.select(select),
            Expr::Call(call) => self.call(call, expression),
            Expr::List(list) => self.list(list),
            Expr::Map(map) => self.map(map),
            Expr::Comprehension(comprehension) => self.comprehension(comprehension),
            // Refused before.
            Expr::Struct(_) | Expr::Unspecified => Ok(Type::Any),
        }
    }

    /// A name that is neither was refused before, but for those of types.
    fn variable(&self, name: &str) -> Type {
        let local = self.scope.iter().rev().find(|(known, _)| known == name).map(|(_, of)| of.clone());
        local.or_else(|| declared::variable(name)).unwrap_or(Type::Kind)
    }

    fn select(&mut self, select: &SelectExpr) -> Result<Type, String> {
        let operand = self.of(&select.operand)?;
        let field = self.field(&select.operand, &operand, &select.field)?;
        Ok(if select.test { Type::Bool } else { field })
    }

    /// `operand.name`, or what may be there of an optional.
    fn field(&self, operand: &IdedExpr, of: &Type, name: &str) -> Result<Type, String> {
        match of {
            Type::Any => Ok(Type::Any),
            Type::Object(object) => object.field(name).ok_or_else(|| declared::no_field(&bare(operand), *object, name)),
            Type::Map(_, value) => {
                if self.is_conditions(operand) {
                    check_condition_type(name)?;
                }
                Ok((**value).clone())
            }
            Type::Optional(inner) => {
                let inner = self.field(operand, inner, name)?;
                Ok(Type::Optional(Box::new(flat(inner))))
            }
            _ => Err(format!("{} is {of} and has no fields, so no `{name}`", shown(operand))),
        }
    }

    fn is_conditions(&self, operand: &IdedExpr) -> bool {
        let is_local = |name: &str| self.scope.iter().any(|(known, _)| known == name);
        matches!(&operand.expr, Expr::Ident(name) if name == "conditions" && !is_local(name))
    }

    fn list(&mut self, list: &ListExpr) -> Result<Type, String> {
        let mut items: Option<Type> = None;
        for element in &list.elements {
            let found = self.of(element)?;
            items = Some(items.map_or(found.clone(), |before| before.or(found)));
        }
        Ok(Type::List(Box::new(items.unwrap_or(Type::Any))))
    }

    fn map(&mut self, map: &MapExpr) -> Result<Type, String> {
        for entry in &map.entries {
            if let EntryExpr::MapEntry(entry) = &entry.expr {
                self.of(&entry.key)?;
                if let found @ Type::Unordered(_) = self.of(&entry.value)? {
                    return Err(format!("{} is {found}; it cannot be a value of a map", shown(&entry.value)));
                }
            }
        }
        Ok(Type::Map(Box::new(Type::Any), Box::new(Type::Any)))
    }

    fn comprehension(&mut self, comprehension: &ComprehensionExpr) -> Result<Type, String> {
        let range = self.of(&comprehension.iter_range)?;
        let (first, second) = items(&range).ok_or_else(|| {
            format!("{} is {range}; only a list or a map has items", shown(&comprehension.iter_range))
        })?;
        let result = self.of(&comprehension.accu_init)?;
        let depth = self.scope.len();
        match &comprehension.iter_var2 {
            // Alone it is an item of a list, or a key.
            None if matches!(range, Type::List(_) | Type::Unordered(_)) => {
                self.scope.push((comprehension.iter_var.clone(), second))
            }
            None => self.scope.push((comprehension.iter_var.clone(), first)),
            Some(other) => {
                self.scope.push((comprehension.iter_var.clone(), first));
                self.scope.push((other.clone(), second));
            }
        }
        self.scope.push((comprehension.accu_var.clone(), result));
        self.of(&comprehension.loop_cond)?;
        let step = self.of(&comprehension.loop_step)?;
        if let Some((_, result)) = self.scope.last_mut() {
            *result = step;
        }
        let found = self.of(&comprehension.result);
        self.scope.truncate(depth);
        Ok(match found? {
            Type::List(item) if is_unordered(&range) => Type::Unordered(item),
            found => found,
        })
    }
}

fn literal_type(literal: &LiteralValue) -> Type {
    match literal {
        LiteralValue::Boolean(_) => Type::Bool,
        LiteralValue::Bytes(_) => Type::Bytes,
        LiteralValue::Double(_) => Type::Double,
        LiteralValue::Int(_) => Type::Int,
        LiteralValue::Null => Type::Null,
        LiteralValue::String(_) => Type::String,
        LiteralValue::UInt(_) => Type::Uint,
    }
}

/// Keys and values of what can be looped over.
fn items(range: &Type) -> Option<(Type, Type)> {
    match range {
        Type::Any => Some((Type::Any, Type::Any)),
        Type::List(item) | Type::Unordered(item) => Some((Type::Int, (**item).clone())),
        Type::Map(key, value) => Some(((**key).clone(), (**value).clone())),
        Type::Object(_) => Some((Type::String, Type::Any)),
        _ => None,
    }
}

fn is_unordered(range: &Type) -> bool {
    matches!(range, Type::Unordered(_) | Type::Map(..) | Type::Object(_))
}

/// An optional of an optional is one.
fn flat(of: Type) -> Type {
    match of {
        Type::Optional(inner) => *inner,
        other => other,
    }
}
