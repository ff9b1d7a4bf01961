//! How the API server comes to know the webhook: each replica publishes its certificate in a ConfigMap, and a person
//! applies the configuration that is made from them. The controller itself may not write that configuration: who may,
//! has every object of the cluster sent to an address of his own.

use std::{collections::BTreeMap, convert::Infallible, time::Duration};

use base64::{Engine, engine::general_purpose::STANDARD};
use nodewell_reconcile::api_error::ApiError;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::{Certificate, PATH};
use crate::kube::{Manager, Wire, escaped};

/// Of the ValidatingWebhookConfiguration, and of the ConfigMap with the certificates.
pub const NAME: &str = "nodewell-policies";
const APART: Duration = Duration::from_secs(600);
const AGAIN: Duration = Duration::from_secs(30);

/// Publishes the certificate of `host`, and logs once if the API server does not know it; never returns.
pub async fn look_after(wire: &Wire, namespace: &str, host: &str, certificate: &Certificate) -> Infallible {
    let mut reported = String::new();
    loop {
        let pause = match round(wire, namespace, host, certificate).await {
            Ok(news) => {
                if news != reported && !news.is_empty() {
                    tracing::warn!("{news}");
                }
                reported = news;
                APART
            }
            Err(error) => {
                tracing::debug!(%error, "the webhook's certificate is not published yet");
                AGAIN
            }
        };
        sleep(pause).await;
    }
}

async fn round(wire: &Wire, namespace: &str, host: &str, certificate: &Certificate) -> Result<String, ApiError> {
    if let Some(text) = certificate.to_publish() {
        publish(wire, namespace, host, &text).await?;
        let path = format!("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/{NAME}");
        let registered: Option<Value> = match wire.get(&path).await {
            Err(ApiError::Refused { code: 403, .. }) => return Ok(String::new()),
            outcome => outcome?,
        };
        return Ok(unknown_to(registered.as_ref(), &text).unwrap_or_default());
    }
    Ok(String::new())
}

/// What is missing, and what to do about it.
fn unknown_to(registered: Option<&Value>, certificate: &str) -> Option<String> {
    const APPLY: &str = "run `nodewell-controller webhook | kubectl apply -f -`";
    let Some(registered) = registered else {
        return Some(format!("policies are not checked as they are written: no {NAME} is registered; {APPLY}"));
    };
    let bundles = registered["webhooks"].as_array().into_iter().flatten();
    let is_known = bundles.filter_map(|webhook| webhook["clientConfig"]["caBundle"].as_str()).any(|bundle| {
        STANDARD.decode(bundle).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(certificate.trim()))
    });
    (!is_known).then(|| {
        format!("policies written on this host are not checked: {NAME} does not have its certificate; {APPLY} again")
    })
}

fn path(namespace: &str) -> String {
    format!("/api/v1/namespaces/{}/configmaps/{NAME}", escaped(namespace))
}

/// Each host owns its own key, whichever writes first.
async fn publish(wire: &Wire, namespace: &str, host: &str, certificate: &str) -> Result<(), ApiError> {
    let key = key(host);
    let there: Option<Value> = wire.get(&path(namespace)).await?;
    if there.is_some_and(|there| there["data"][&key] == certificate) {
        return Ok(());
    }
    let body = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": NAME }, "data": { key: certificate },
    });
    let manager = format!("nodewell-controller-{host}");
    wire.apply(&path(namespace), Manager { name: &manager, force: true }, &body).await
}

/// As a key of a ConfigMap may be.
fn key(host: &str) -> String {
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || "-._".contains(letter);
    host.chars().map(|letter| if allowed(letter) { letter } else { '_' }).collect()
}

/// The published certificates by host.
///
/// # Errors
/// What the API server answered instead.
pub async fn published(wire: &Wire, namespace: &str) -> Result<BTreeMap<String, String>, ApiError> {
    let there: Option<Value> = wire.get(&path(namespace)).await?;
    let data = there.map(|there| there["data"].clone()).unwrap_or_default();
    Ok(serde_json::from_value(data).unwrap_or_default())
}

/// What a person applies, as JSON, which is YAML.
#[must_use]
pub fn manifest(url: &str, bundle: &str) -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": { "name": NAME, "labels": { "app.kubernetes.io/name": "nodewell" } },
        "webhooks": [{
            "name": "policies.nodewell.dev",
            "clientConfig": { "url": format!("{url}{PATH}"), "caBundle": STANDARD.encode(bundle) },
            "rules": [{ "apiGroups": ["nodewell.dev"], "apiVersions": ["*"], "operations": ["CREATE", "UPDATE"],
                "resources": ["remediationpolicies"], "scope": "Cluster" }],
            // Without an answer a policy is stored; its status shows what is wrong with it, and it permits nothing.
            "failurePolicy": "Ignore",
            "sideEffects": "None", "timeoutSeconds": 3, "admissionReviewVersions": ["v1"],
        }],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_that_the_api_server_does_not_know_is_reported_with_what_to_do() {
        let certificate = "-----BEGIN CERTIFICATE-----\nA\n-----END CERTIFICATE-----\n";
        let other = "-----BEGIN CERTIFICATE-----\nB\n-----END CERTIFICATE-----\n";
        let known = manifest("https://127.0.0.1:20260", &format!("{other}{certificate}"));
        assert_eq!(unknown_to(Some(&known), certificate), None);
        let unknown = unknown_to(Some(&manifest("https://127.0.0.1:20260", other)), certificate).unwrap();
        assert!(unknown.contains("does not have its certificate") && unknown.contains("kubectl apply"), "{unknown}");
        assert!(unknown_to(None, certificate).unwrap().contains("no nodewell-policies is registered"));
    }

    #[test]
    fn a_host_is_a_key_of_a_config_map() {
        assert_eq!(key("cp-1.example.com"), "cp-1.example.com");
        assert_eq!(key("cp 1/ä"), "cp_1__");
    }

    #[test]
    fn where_it_does_not_answer_a_policy_is_stored() {
        let webhook = manifest("https://127.0.0.1:1", "")["webhooks"][0].clone();
        assert_eq!((&webhook["failurePolicy"], &webhook["sideEffects"]), (&json!("Ignore"), &json!("None")));
        assert_eq!(webhook["clientConfig"]["url"], "https://127.0.0.1:1/policies");
    }
}
