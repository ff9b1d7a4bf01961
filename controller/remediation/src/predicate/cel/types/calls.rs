//! The functions: what each takes, and what it gives.

use cel::common::ast::{CallExpr, Expr, IdedExpr, LiteralValue};

use super::{
    super::show::{bare, shown},
    Type, Typing,
};

impl Typing {
    pub(super) fn call(&mut self, call: &CallExpr, whole: &IdedExpr) -> Result<Type, String> {
        if call.target.is_none()
            && let Some(found) = self.operator(&call.func_name, &call.args, whole)
        {
            return found;
        }
        let target = call.target.as_deref().map(|target| Ok::<_, String>((target, self.of(target)?))).transpose()?;
        let mut args = Vec::new();
        for arg in &call.args {
            args.push((arg, self.of(arg)?));
        }
        match (target, args.as_slice()) {
            (Some((target, of)), args) => member(&call.func_name, target, &of, args),
            (None, [(arg, of)]) => function(&call.func_name, arg, of),
            _ => Ok(Type::Any),
        }
    }
}

/// `name(arg)`.
fn function(name: &str, arg: &IdedExpr, of: &Type) -> Result<Type, String> {
    let (takes, gives): (fn(&Type) -> bool, Type) = match name {
        "size" => (has_size, Type::Int),
        "duration" => (Type::is_string, Type::Int),
        "int" => (|of| of.is_number() || of.is_string(), Type::Int),
        "uint" => (|of| of.is_number() || of.is_string(), Type::Uint),
        "double" => (|of| of.is_number() || of.is_string(), Type::Double),
        "bool" => (|of| *of == Type::Bool || of.is_string(), Type::Bool),
        "string" => (|of| of.is_number() || of.is_string() || matches!(of, Type::Bool | Type::Bytes), Type::String),
        "bytes" => (|of| of.is_string() || *of == Type::Bytes, Type::Bytes),
        "type" => (|_| true, Type::Kind),
        "dyn" => (|of| !matches!(of, Type::Unordered(_)), Type::Any),
        _ => return Ok(Type::Any),
    };
    if of.is_any() || takes(of) {
        return Ok(gives);
    }
    Err(format!("{name}(…) does not take {}, which is {of}", shown(arg)))
}

/// `target.name(args)`.
fn member(name: &str, target: &IdedExpr, of: &Type, args: &[(&IdedExpr, Type)]) -> Result<Type, String> {
    match (name, of) {
        (_, Type::Any) => Ok(given_by(name)),
        ("contains" | "startsWith" | "endsWith", of) if of.is_string() => match args {
            [(_, arg)] if arg.is_string() || arg.is_any() => Ok(Type::Bool),
            [(arg, of)] => Err(format!("{name}(…) takes a string; {} is {of}", shown(arg))),
            _ => Err(format!("{name}(…) takes one string")),
        },
        ("contains" | "startsWith" | "endsWith", Type::List(_) | Type::Map(..)) => {
            Err(format!("{} is {of}; write `'…' in {}`", shown(target), bare(target)))
        }
        ("size", of) if has_size(of) => Ok(Type::Int),
        ("hasValue", Type::Optional(_)) => Ok(Type::Bool),
        ("value", Type::Optional(inner)) => Ok((**inner).clone()),
        ("or", Type::Optional(_)) => Ok(args.first().map_or(Type::Any, |(_, other)| of.clone().or(other.clone()))),
        ("orValue", Type::Optional(inner)) => Ok(args.first().map_or(Type::Any, |(arg, of)| or_value(inner, arg, of))),
        ("hasValue" | "value" | "or" | "orValue", _) => Err(format!(
            "{} is {of}, not an optional; what may be missing is asked for with `.?`, such as \
             conditions.?Ready.?status.{name}(…)",
            shown(target)
        )),
        _ => Err(format!("{} is {of}, which has no function {name}(…)", shown(target))),
    }
}

fn given_by(name: &str) -> Type {
    match name {
        "contains" | "startsWith" | "endsWith" | "hasValue" => Type::Bool,
        "size" => Type::Int,
        _ => Type::Any,
    }
}

fn has_size(of: &Type) -> bool {
    of.is_string() || matches!(of, Type::Bytes | Type::List(_) | Type::Unordered(_) | Type::Map(..) | Type::Object(_))
}

/// One of known values, or the other one that is given here.
fn or_value(inner: &Type, arg: &IdedExpr, of: &Type) -> Type {
    match (inner, &arg.expr) {
        (Type::Choice(values), Expr::Literal(LiteralValue::String(text))) => {
            let mut values = values.clone();
            if values.iter().all(|value| value != text.inner()) {
                values.push(text.inner().to_owned());
            }
            Type::Choice(values)
        }
        _ => inner.clone().or(of.clone()),
    }
}
