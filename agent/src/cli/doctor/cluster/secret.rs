//! What the credentials contain, before any server is asked: whose they are, and for how long.

use std::path::Path;

use jiff::{SignedDuration, Timestamp};

use super::Check;
use crate::identity::{Certificate, Credentials, TokenClaims};

const NAME: &str = "credentials";
/// What renews itself has done so long before.
const SOON: SignedDuration = SignedDuration::from_hours(48);
const RENEW: &str = "get new ones: nodewell enroll --renew, or for the kubelet's see: journalctl -u kubelet";

/// What `kubeconfig` holds, for Node `node`. What cannot be read here is reported by another check.
pub(super) async fn examine(kubeconfig: &Path, node: &str) -> Option<Check> {
    let credentials = Credentials::read(kubeconfig).await.ok()?;
    let now = Timestamp::now();
    if let Some(certificate) = credentials.certificate() {
        return Some(of_certificate(&certificate, node, now));
    }
    let claims = TokenClaims::read(credentials.secret.token.as_deref()?)?;
    Some(of_token(&claims, node, now))
}

fn of_certificate(certificate: &Certificate, node: &str, now: Timestamp) -> Check {
    let Certificate { common_name, not_before, not_after, .. } = certificate;
    let message = format!("a certificate of {common_name} until {not_after}");
    if now < *not_before {
        let advice = "is this machine's clock right? see: timedatectl";
        return Check::fail(
            NAME,
            format!("a certificate of {common_name} that is good from {not_before} on only"),
            advice,
        );
    }
    match certificate.kubelet_of() {
        Some(other) if other != node => Check::fail(
            NAME,
            format!("{message}: that is Node {other}'s, and this is {node}"),
            "give each node its own credentials, or the right --node-name",
        ),
        _ => ending(message, *not_after, now),
    }
}

fn of_token(claims: &TokenClaims, node: &str, now: Timestamp) -> Check {
    let subject = claims.subject.as_deref().unwrap_or("an unnamed subject");
    match (&claims.node, claims.expires) {
        (Some(other), _) if other != node => Check::fail(
            NAME,
            format!("a token of {subject} that is bound to Node {other}, and this is {node}"),
            "make one for this Node: kubectl create token … --bound-object-kind Node --bound-object-name NAME",
        ),
        (bound, expires) => {
            let bound =
                bound.as_ref().map_or_else(|| "bound to no Node".to_owned(), |node| format!("bound to Node {node}"));
            match expires {
                // Tokens are short-lived; their issuer renews them in time.
                Some(end) if now < end => Check::ok(NAME, format!("a token of {subject}, {bound}, until {end}")),
                Some(end) => ending(format!("a token of {subject}, {bound}, until {end}"), end, now),
                None => Check::warn(
                    NAME,
                    format!("a token of {subject}, {bound}, that never ends"),
                    "make one that does: kubectl create token",
                ),
            }
        }
    }
}

fn ending(message: String, end: Timestamp, now: Timestamp) -> Check {
    match end.duration_since(now) {
        left if left <= SignedDuration::ZERO => Check::fail(NAME, format!("{message}: over since {end}"), RENEW),
        left if left < SOON => Check::warn(NAME, format!("{message}: that is soon"), RENEW),
        _ => Check::ok(NAME, message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::doctor::check::CheckVerdict;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn certificate(name: &str) -> Certificate {
        Certificate {
            common_name: name.to_owned(),
            organizations: Vec::new(),
            not_before: at("2026-11-01T00:00:00Z"),
            not_after: at("2026-12-01T00:00:00Z"),
            public_key: Vec::new(),
            has_alternative_names: false,
            is_for_clients: true,
        }
    }

    #[test]
    fn a_certificate_has_its_time_and_its_node() {
        let verdict = |name: &str, now: &str| of_certificate(&certificate(name), "n1", at(now)).verdict;
        assert_eq!(verdict("system:node:n1", "2026-11-15T00:00:00Z"), CheckVerdict::Ok);
        assert_eq!(verdict("nodewell:node:n1", "2026-11-29T12:00:00Z"), CheckVerdict::Warn);
        assert_eq!(verdict("system:node:n1", "2026-12-01T00:00:00Z"), CheckVerdict::Fail);
        assert_eq!(verdict("system:node:n1", "2026-10-31T00:00:00Z"), CheckVerdict::Fail);
        assert_eq!(verdict("system:node:n2", "2026-11-15T00:00:00Z"), CheckVerdict::Fail);
        let over = of_certificate(&certificate("system:node:n1"), "n1", at("2027-01-01T00:00:00Z"));
        assert!(over.detail.contains("over since 2026-12-01T00:00:00Z") && over.advice.contains("nodewell enroll"));
    }

    #[test]
    fn a_token_has_its_time_and_its_node() {
        let claims = |node: Option<&str>, expires: Option<&str>| TokenClaims {
            subject: Some("system:serviceaccount:nodewell:nodewell-agent".to_owned()),
            node: node.map(str::to_owned),
            expires: expires.map(at),
        };
        let now = at("2026-11-15T00:00:00Z");
        assert_eq!(of_token(&claims(Some("n1"), Some("2026-11-15T00:10:00Z")), "n1", now).verdict, CheckVerdict::Ok);
        assert_eq!(of_token(&claims(Some("n1"), Some("2026-11-15T00:00:00Z")), "n1", now).verdict, CheckVerdict::Fail);
        assert_eq!(of_token(&claims(Some("n2"), Some("2026-11-16T00:00:00Z")), "n1", now).verdict, CheckVerdict::Fail);
        assert_eq!(of_token(&claims(None, None), "n1", now).verdict, CheckVerdict::Warn);
        let unbound = of_token(&claims(None, Some("2026-11-16T00:00:00Z")), "n1", now);
        assert!(unbound.verdict == CheckVerdict::Ok && unbound.detail.contains("bound to no Node"), "{unbound:?}");
    }
}
