//! Tokens into a program: operands before their operators, so that evaluation needs no recursion.

use super::{
    lexer::Token,
    machine::{Binary, Op, Unary},
    value::Value,
};

/// Brackets within brackets; each costs stack while reading.
const DEEPEST: usize = 64;

/// From the loosest to the tightest; all are taken from left to right.
const LEVELS: usize = 10;

pub(super) fn program(tokens: &[Token]) -> Result<Vec<Op>, String> {
    let mut parser = Parser { tokens, at: 0, depth: 0, program: Vec::new() };
    parser.level(0)?;
    match parser.peek() {
        None => Ok(parser.program),
        Some(Token::Close) => Err("a ) without its (".to_owned()),
        Some(left) => Err(format!("an operator is missing before {left:?}")),
    }
}

struct Parser<'a> {
    tokens: &'a [Token],
    at: usize,
    depth: usize,
    program: Vec<Op>,
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn level(&mut self, level: usize) -> Result<(), String> {
        if level == LEVELS {
            return self.operand();
        }
        self.level(level + 1)?;
        while let Some(operator) = self.peek().and_then(|token| binary(token, level)) {
            self.at += 1;
            self.level(level + 1)?;
            self.program.push(Op::Binary(operator));
            self.compile_pattern()?;
        }
        Ok(())
    }

    fn operand(&mut self) -> Result<(), String> {
        let Some(token) = self.peek().cloned() else { return Err("an operand is missing at the end".to_owned()) };
        self.at += 1;
        let op = match token {
            Token::Number(number) | Token::Date(number) => Op::Constant(Value::Number(number)),
            Token::Bool(truth) => Op::Constant(Value::Bool(truth)),
            Token::Text(text) => Op::Constant(Value::Text(text)),
            Token::Variable(name) => Op::Variable(name),
            Token::Prefix(symbol) => return self.prefixed(symbol),
            Token::Open => return self.bracket(),
            other => return Err(format!("an operand is missing before {other:?}")),
        };
        self.program.push(op);
        Ok(())
    }

    /// Binds tighter than every operator: `-2 ** 2` is 4.
    fn prefixed(&mut self, symbol: &str) -> Result<(), String> {
        self.operand()?;
        self.program.push(Op::Unary(match symbol {
            "-" => Unary::Negate,
            "!" => Unary::Not,
            _ => Unary::Invert,
        }));
        Ok(())
    }

    /// `()` is nil.
    fn bracket(&mut self) -> Result<(), String> {
        if self.peek() == Some(&Token::Close) {
            self.at += 1;
            self.program.push(Op::Constant(Value::Nil));
            return Ok(());
        }
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(format!("more than {DEEPEST} brackets within each other"));
        }
        self.level(0)?;
        self.depth -= 1;
        if self.peek() != Some(&Token::Close) {
            return Err("a ( is not closed, or an operator is missing".to_owned());
        }
        self.at += 1;
        Ok(())
    }

    /// A pattern that is written down is compiled once, and a bad one is found here.
    fn compile_pattern(&mut self) -> Result<(), String> {
        let [.., Op::Constant(Value::Text(pattern)), Op::Binary(Binary::Matches { negated })] = self.program.as_slice()
        else {
            return Ok(());
        };
        let op = Op::Pattern { regex: super::machine::regex(pattern)?, negated: *negated };
        self.program.truncate(self.program.len() - 2);
        self.program.push(op);
        Ok(())
    }
}

/// The operator of this level that `token` is.
fn binary(token: &Token, level: usize) -> Option<Binary> {
    Some(match (level, token) {
        (0, Token::Comma) => Binary::List,
        (1, Token::Ternary("?")) => Binary::If,
        (1, Token::Ternary(_)) => Binary::Else,
        (2, Token::Logical("||")) => Binary::Or,
        (3, Token::Logical("&&")) => Binary::And,
        (4, Token::Comparator(symbol)) => comparator(symbol),
        (5, Token::Modifier("&")) => Binary::BitAnd,
        (5, Token::Modifier("|")) => Binary::BitOr,
        (5, Token::Modifier("^")) => Binary::BitXor,
        (6, Token::Modifier("<<")) => Binary::ShiftLeft,
        (6, Token::Modifier(">>")) => Binary::ShiftRight,
        (7, Token::Modifier("+")) => Binary::Add,
        (7, Token::Modifier("-")) => Binary::Subtract,
        (8, Token::Modifier("*")) => Binary::Multiply,
        (8, Token::Modifier("/")) => Binary::Divide,
        (8, Token::Modifier("%")) => Binary::Remainder,
        (9, Token::Modifier("**")) => Binary::Power,
        _ => return None,
    })
}

fn comparator(symbol: &str) -> Binary {
    match symbol {
        "==" => Binary::Equal { negated: false },
        "!=" => Binary::Equal { negated: true },
        "=~" => Binary::Matches { negated: false },
        "!~" => Binary::Matches { negated: true },
        "in" => Binary::In,
        "<" => Binary::Less,
        "<=" => Binary::LessOrEqual,
        ">" => Binary::Greater,
        _ => Binary::GreaterOrEqual,
    }
}
