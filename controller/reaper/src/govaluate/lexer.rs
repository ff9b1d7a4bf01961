//! Text into tokens. A symbol reaches to the next blank, letter, digit, bracket or quote; `[` belongs to symbols too,
//! so `==[Labels.x]` is no comparison but an error.

use super::dates;

/// More are no predicate; it keeps evaluation short.
const MOST_TOKENS: usize = 4096;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    Number(f64),
    Bool(bool),
    Text(String),
    /// A string that reads as a date: seconds since 1970.
    Date(f64),
    Variable(String),
    Open,
    Close,
    Comma,
    /// `-`, `!` or `~` before an operand.
    Prefix(&'static str),
    Modifier(&'static str),
    Comparator(&'static str),
    Logical(&'static str),
    Ternary(&'static str),
}

const PREFIXES: [&str; 3] = ["-", "!", "~"];
const MODIFIERS: [&str; 11] = ["+", "-", "*", "/", "%", "**", "&", "|", "^", ">>", "<<"];
const LOGICALS: [&str; 2] = ["&&", "||"];
const COMPARATORS: [&str; 8] = ["==", "!=", ">", ">=", "<", "<=", "=~", "!~"];
const TERNARIES: [&str; 3] = ["?", ":", "??"];

/// All tokens, each in a place where the language allows it.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut reader = Lexer { characters: text.chars().collect(), at: 0 };
    let mut tokens: Vec<Token> = Vec::new();
    while reader.skip_blanks() {
        let token = reader.token(tokens.last())?;
        check_order(tokens.last(), &token)?;
        tokens.push(token);
        if tokens.len() > MOST_TOKENS {
            return Err(format!("the expression has more than {MOST_TOKENS} words and operators"));
        }
    }
    match tokens.last() {
        Some(last) if may_end(last) => Ok(tokens),
        Some(last) => Err(format!("the expression ends too early, after {last:?}")),
        None => Err("the expression is empty".to_owned()),
    }
}

struct Lexer {
    characters: Vec<char>,
    at: usize,
}

impl Lexer {
    /// False at the end.
    fn skip_blanks(&mut self) -> bool {
        while self.peek().is_some_and(char::is_whitespace) {
            self.at += 1;
        }
        self.at < self.characters.len()
    }

    fn peek(&self) -> Option<char> {
        self.characters.get(self.at).copied()
    }

    fn token(&mut self, last: Option<&Token>) -> Result<Token, String> {
        let Some(first) = self.peek() else { return Err("the expression ends too early".to_owned()) };
        match first {
            ',' => Ok(self.single(Token::Comma)),
            '(' => Ok(self.single(Token::Open)),
            ')' => Ok(self.single(Token::Close)),
            '[' => self.enclosed(|c| c == ']', "a [ is not closed").map(Token::Variable),
            '\'' | '"' => self.enclosed(is_quote, "a string is not closed").map(literal),
            c if is_digit(c) => self.number(),
            c if c.is_alphabetic() => self.bare(|c| c.is_alphabetic() || c.is_numeric() || c == '_').map(word),
            _ => self.symbol(last),
        }
    }

    fn single(&mut self, token: Token) -> Token {
        self.at += 1;
        token
    }

    fn number(&mut self) -> Result<Token, String> {
        if let Some(number) = self.hexadecimal() {
            return number;
        }
        let digits = self.bare(is_digit)?;
        let number = digits.parse().map_err(|_| format!("{digits:?} is no number; names with . or / need [ ]"))?;
        Ok(Token::Number(number))
    }

    fn hexadecimal(&mut self) -> Option<Result<Token, String>> {
        let rest = self.characters.get(self.at..)?;
        if rest.first() != Some(&'0') || !matches!(rest.get(1), Some('x' | 'X')) {
            return None;
        }
        let digits: String = rest.iter().skip(2).take_while(|c| c.is_ascii_hexdigit()).collect();
        self.at += 2 + digits.len();
        let number = u64::from_str_radix(&digits, 16).map_err(|_| format!("0x{digits} is no number"));
        Some(number.map(|number| Token::Number(number as f64)))
    }

    fn symbol(&mut self, last: Option<&Token>) -> Result<Token, String> {
        let text = self.bare(|c| !(c.is_numeric() || c.is_alphabetic() || c == '(' || c == ')' || is_quote(c)))?;
        let known = |list: &[&'static str]| list.iter().find(|known| **known == text).copied();
        if prefix_may_follow(last)
            && let Some(prefix) = known(&PREFIXES)
        {
            return Ok(Token::Prefix(prefix));
        }
        known(&MODIFIERS)
            .map(Token::Modifier)
            .or_else(|| known(&LOGICALS).map(Token::Logical))
            .or_else(|| known(&COMPARATORS).map(Token::Comparator))
            .or_else(|| known(&TERNARIES).map(Token::Ternary))
            .ok_or_else(|| format!("unknown operator {text:?}; put blanks around operators and before ["))
    }

    /// As long as `belongs`, up to a blank; `\` takes in whatever follows it.
    fn bare(&mut self, belongs: impl Fn(char) -> bool) -> Result<String, String> {
        let mut text = String::new();
        while let Some(c) = self.peek() {
            if c == '\\' {
                text.push(self.escaped()?);
            } else if belongs(c) && !c.is_whitespace() {
                text.push(c);
                self.at += 1;
            } else {
                break;
            }
        }
        Ok(text)
    }

    /// After an opening character, up to the closing one.
    fn enclosed(&mut self, closes: impl Fn(char) -> bool, unclosed: &str) -> Result<String, String> {
        let mut text = String::new();
        self.at += 1;
        while let Some(c) = self.peek() {
            if c == '\\' {
                text.push(self.escaped()?);
                continue;
            }
            self.at += 1;
            if closes(c) {
                return Ok(text);
            }
            text.push(c);
        }
        Err(unclosed.to_owned())
    }

    fn escaped(&mut self) -> Result<char, String> {
        let escaped = self.characters.get(self.at + 1).copied();
        self.at += 2;
        escaped.ok_or_else(|| "nothing follows the last \\".to_owned())
    }
}

fn is_quote(c: char) -> bool {
    c == '\'' || c == '"'
}

fn is_digit(c: char) -> bool {
    c.is_numeric() || c == '.'
}

fn literal(text: String) -> Token {
    match dates::seconds(&text) {
        Some(seconds) => Token::Date(seconds),
        None => Token::Text(text),
    }
}

fn word(text: String) -> Token {
    match text.as_str() {
        "true" => Token::Bool(true),
        "false" => Token::Bool(false),
        "in" | "IN" => Token::Comparator("in"),
        _ => Token::Variable(text),
    }
}

fn may_end(last: &Token) -> bool {
    is_operand(last) || *last == Token::Close
}

fn is_operand(token: &Token) -> bool {
    matches!(token, Token::Number(_) | Token::Bool(_) | Token::Text(_) | Token::Date(_) | Token::Variable(_))
}

fn prefix_may_follow(last: Option<&Token>) -> bool {
    !last.is_some_and(|last| may_end(last) || matches!(last, Token::Prefix(_)))
}

/// Which token may follow which, where the grammar alone would allow more.
fn check_order(last: Option<&Token>, token: &Token) -> Result<(), String> {
    let wrong = match (last, token) {
        (Some(Token::Prefix(_)), Token::Prefix(_) | Token::Text(_) | Token::Date(_)) => true,
        (Some(Token::Modifier(_)), Token::Date(_)) => true,
        (Some(Token::Date(_)), Token::Ternary(_)) => true,
        (Some(last), operand) if is_operand(operand) || *operand == Token::Open => may_end(last),
        _ => false,
    };
    match wrong {
        true => Err(format!("{token:?} cannot follow {last:?}")),
        false => Ok(()),
    }
}
