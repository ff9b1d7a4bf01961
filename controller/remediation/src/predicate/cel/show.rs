//! An expression, or a part of one, as it was written: for messages, which are short.

use cel::common::ast::{CallExpr, Expr, IdedExpr, LiteralValue, operators as op};

/// Longer parts are cut: the line is in the policy.
const LONGEST: usize = 80;

const BINARY: [(&str, &str); 14] = [
    (op::LOGICAL_AND, "&&"),
    (op::LOGICAL_OR, "||"),
    (op::EQUALS, "=="),
    (op::NOT_EQUALS, "!="),
    (op::LESS, "<"),
    (op::LESS_EQUALS, "<="),
    (op::GREATER, ">"),
    (op::GREATER_EQUALS, ">="),
    (op::ADD, "+"),
    (op::SUBSTRACT, "-"),
    (op::MULTIPLY, "*"),
    (op::DIVIDE, "/"),
    (op::MODULO, "%"),
    (op::IN, "in"),
];

/// In backticks.
pub(super) fn shown(expression: &IdedExpr) -> String {
    format!("`{}`", bare(expression))
}

/// The same without any.
pub(super) fn bare(expression: &IdedExpr) -> String {
    let text = written(expression);
    if text.chars().count() <= LONGEST {
        return text;
    }
    text.chars().take(LONGEST).collect::<String>() + "…"
}

fn written(expression: &IdedExpr) -> String {
    match &expression.expr {
        Expr::Ident(name) => name.clone(),
        Expr::Select(select) if select.test => format!("has({}.{})", written(&select.operand), select.field),
        Expr::Select(select) => format!("{}.{}", written(&select.operand), select.field),
        Expr::Literal(value) => literal(value),
        Expr::List(list) => format!("[{}]", joined(&list.elements)),
        Expr::Call(call) => called(call),
        Expr::Comprehension(loop_of) => format!("{}.…({}, …)", written(&loop_of.iter_range), loop_of.iter_var),
        Expr::Map(_) | Expr::Struct(_) | Expr::Unspecified => "{…}".to_owned(),
    }
}

fn joined(all: &[IdedExpr]) -> String {
    all.iter().map(written).collect::<Vec<_>>().join(", ")
}

fn literal(value: &LiteralValue) -> String {
    match value {
        LiteralValue::Boolean(value) => value.inner().to_string(),
        LiteralValue::Int(value) => value.inner().to_string(),
        LiteralValue::UInt(value) => format!("{}u", value.inner()),
        LiteralValue::Double(value) => format!("{:?}", value.inner()),
        LiteralValue::String(text) => format!("'{}'", text.inner()),
        LiteralValue::Bytes(_) => "b'…'".to_owned(),
        LiteralValue::Null => "null".to_owned(),
    }
}

fn called(call: &CallExpr) -> String {
    if let Some(target) = &call.target {
        return format!("{}.{}({})", written(target), call.func_name, joined(&call.args));
    }
    let operator = BINARY.iter().find(|(name, _)| *name == call.func_name).map(|(_, sign)| sign);
    match (call.func_name.as_str(), call.args.as_slice()) {
        (_, [one, other]) if operator.is_some() => {
            format!("{} {} {}", operand(one), operator.unwrap_or(&""), operand(other))
        }
        (op::LOGICAL_NOT, [one]) => format!("!{}", operand(one)),
        (op::NEGATE, [one]) => format!("-{}", operand(one)),
        (op::INDEX, [of, key]) => format!("{}[{}]", written(of), written(key)),
        (op::OPT_INDEX, [of, key]) => format!("{}[?{}]", written(of), written(key)),
        (op::OPT_SELECT, [of, key]) => format!("{}.?{}", written(of), written(key).trim_matches('\'')),
        (op::CONDITIONAL, [asked, yes, no]) => format!("{} ? {} : {}", operand(asked), operand(yes), operand(no)),
        (name, args) => format!("{name}({})", joined(args)),
    }
}

/// In brackets where it needs them.
fn operand(expression: &IdedExpr) -> String {
    let text = written(expression);
    let is_operation = |call: &CallExpr| {
        call.target.is_none()
            && (BINARY.iter().any(|(name, _)| *name == call.func_name) || call.func_name == op::CONDITIONAL)
    };
    match &expression.expr {
        Expr::Call(call) if is_operation(call) => format!("({text})"),
        _ => text,
    }
}
