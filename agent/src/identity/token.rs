//! What a service account's token states about itself. It is only read here, never believed: the API server checks it.

use jiff::Timestamp;
use k8s_openapi::ByteString;
use serde::Deserialize;
use serde_json::{Value, from_value};

/// The claims that matter to a node agent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TokenClaims {
    /// `system:serviceaccount:NAMESPACE:NAME`.
    pub subject: Option<String>,
    pub expires: Option<Timestamp>,
    /// The Node it is bound to (Kubernetes 1.29 and later).
    pub node: Option<String>,
}

#[derive(Deserialize)]
struct Claims {
    sub: Option<String>,
    exp: Option<i64>,
    #[serde(rename = "kubernetes.io")]
    kubernetes: Option<Bound>,
}

#[derive(Deserialize)]
struct Bound {
    node: Option<Named>,
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

impl TokenClaims {
    /// `None` if it is no JSON web token: a bootstrap token, a static one.
    #[must_use]
    pub fn read(token: &str) -> Option<Self> {
        let payload = token.trim().split('.').nth(1)?;
        let ByteString(json) = from_value(Value::from(padded(payload))).ok()?;
        let claims: Claims = serde_json::from_slice(&json).ok()?;
        Some(Self {
            subject: claims.sub,
            expires: claims.exp.and_then(|seconds| Timestamp::from_second(seconds).ok()),
            node: claims.kubernetes.and_then(|bound| bound.node).map(|node| node.name),
        })
    }
}

/// Tokens use the other alphabet of base64, without padding.
fn padded(text: &str) -> String {
    let mut text = text.replace('-', "+").replace('_', "/");
    text.extend(std::iter::repeat_n('=', (4 - text.len() % 4) % 4));
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn token(claims: &Value) -> String {
        let encoded = serde_json::to_value(ByteString(claims.to_string().into_bytes())).unwrap();
        let encoded = encoded.as_str().unwrap().replace('+', "-").replace('/', "_");
        format!("e30.{}.c2ln", encoded.trim_end_matches('='))
    }

    #[test]
    fn a_bound_token_names_its_node_and_its_end() {
        let claims = json!({
            "sub": "system:serviceaccount:nodewell:nodewell-agent", "exp": 1_795_000_000,
            "kubernetes.io": {"node": {"name": "wörker-7", "uid": "x"}, "namespace": "nodewell"},
        });
        let read = TokenClaims::read(&token(&claims)).unwrap();
        assert_eq!(read.node.as_deref(), Some("wörker-7"));
        assert_eq!(read.expires, Timestamp::from_second(1_795_000_000).ok());
        assert_eq!(read.subject.as_deref(), Some("system:serviceaccount:nodewell:nodewell-agent"));
    }

    #[test]
    fn an_unbound_token_names_no_node() {
        let read = TokenClaims::read(&token(&json!({"sub": "x"}))).unwrap();
        assert_eq!(read, TokenClaims { subject: Some("x".to_owned()), ..TokenClaims::default() });
    }

    #[test]
    fn other_tokens_have_no_claims() {
        for other in ["", "abcdef.0123456789abcdef", "a.b.c", "..", "é.é.é"] {
            assert_eq!(TokenClaims::read(other), None, "{other}");
        }
    }
}
