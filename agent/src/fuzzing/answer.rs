//! Answers of the API server, and of proxies and portals that answer in its place.

use nodewell_printable::is_hidden;

use crate::exporters::apiserver::{RequestError, parse_answer};

const CODES: [u16; 24] = [
    101, 200, 201, 204, 301, 307, 400, 401, 403, 404, 405, 406, 407, 409, 410, 413, 415, 422, 429, 431, 500, 502, 503,
    504,
];
/// A line of a journal.
const MESSAGE_LIMIT_BYTES: usize = 1200;

/// The first byte chooses the code, the first line is `Retry-After`. A success names an object; what is refused,
/// forbidden or not there for good is so by the server's own `Status`, or by its code alone; and every error is fit to
/// be logged.
pub fn answer(input: &[u8]) {
    let Some((code, rest)) = input.split_first() else { return };
    let code = CODES[usize::from(*code) % CODES.len()];
    let (header, body) = rest.split_at(rest.iter().position(|byte| *byte == b'\n').unwrap_or(0));
    let header = std::str::from_utf8(header).ok().filter(|header| !header.is_empty());
    let error = match parse_answer(code, header, body) {
        Ok(accepted) => {
            assert!((200..300).contains(&code), "{code} is no success");
            return assert!(accepted.uid.is_some_and(|uid| !uid.is_empty()));
        }
        Err(error) => error,
    };
    let message = error.to_string();
    assert!((1..=MESSAGE_LIMIT_BYTES).contains(&message.len()), "{} bytes", message.len());
    assert!(!message.contains(|letter: char| is_hidden(letter) && letter != '\n'), "{message:?}");
    match error {
        RequestError::Forbidden(_) | RequestError::Missing(_) => assert!(is_status(body), "{code}"),
        RequestError::Rejected { code: 406 | 413 | 415 | 431, .. } => {}
        RequestError::Rejected { .. } => assert!(is_status(body), "{code}"),
        RequestError::Exists => assert!(code == 409 && contains(body, b"AlreadyExists")),
        RequestError::FieldConflicts(conflicts) => assert!(code == 409 && !conflicts.is_empty()),
        RequestError::Busy { .. } => assert!(code == 429 || code >= 500),
        RequestError::Unauthorized(_) => assert_eq!(code, 401),
        RequestError::ServerError { .. } => assert!(code == 409 || code >= 500, "{code}"),
        RequestError::NotTheServer { .. } => assert!(code < 500, "{code}"),
        RequestError::Credentials(_) | RequestError::Unreachable(_) | RequestError::Unanswered(_) => {
            panic!("there was an answer")
        }
    }
}

/// What is passed over in it need be no text.
fn is_status(body: &[u8]) -> bool {
    contains(body, b"Status")
}

/// Or an escape that may stand for it.
fn contains(body: &[u8], text: &[u8]) -> bool {
    body.windows(text.len()).any(|part| part == text) || body.contains(&b'\\')
}
