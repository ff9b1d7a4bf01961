//! Kubeconfigs of kubelets and of people, what their exec plug-ins print, and the certificates in them.

use std::path::Path;

use jiff::Timestamp;

use crate::identity::{Certificate, Credentials, Kubeconfig, TokenClaims, credentials_of_plugin};

/// A file of any of the three kinds, tried as each. Credentials that were read are the same written and read again;
/// what a certificate or a token states is sound.
pub fn kubeconfig(input: &[u8]) {
    certificate(input);
    if let Some(secret) = credentials_of_plugin(input) {
        assert!(secret.token.is_some() || secret.certificate.is_some());
    }
    let read = Kubeconfig::parse_here(input).ok();
    let Some(read) = read.and_then(|kubeconfig| credentials(&without_files(kubeconfig))) else { return };
    let written = read.kubeconfig();
    let again = Kubeconfig::parse_here(written.as_bytes()).expect("what was written is a kubeconfig");
    assert_eq!(credentials(&again).as_ref(), Some(&read), "{written}");
    if let Some(keyed) = &read.secret.certificate {
        certificate(&keyed.certificate);
    }
    let claims = read.secret.token.as_deref().and_then(TokenClaims::read);
    assert!(claims.is_none_or(|claims| claims.node.is_none() || read.secret.token.is_some_and(|it| it.contains('.'))));
}

/// A fuzzer must not open this host's files, and not run its programs.
fn without_files(mut kubeconfig: Kubeconfig) -> Kubeconfig {
    for cluster in kubeconfig.clusters.iter_mut().filter_map(|named| named.cluster.as_mut()) {
        cluster.certificate_authority = None;
    }
    for user in kubeconfig.users.iter_mut().filter_map(|named| named.user.as_mut()) {
        (user.client_certificate, user.client_key, user.token_file, user.exec) = (None, None, None, None);
    }
    kubeconfig
}

/// Nothing is waited for where no plug-in runs.
fn credentials(kubeconfig: &Kubeconfig) -> Option<Credentials> {
    let path = Path::new("kubeconfig");
    let read = Credentials::of(path, kubeconfig);
    match futures_now(read) {
        Ok(credentials) => Some(credentials),
        Err(error) => {
            assert!(error.to_string().starts_with("kubeconfig: ") && !error.is_absence(), "{error}");
            None
        }
    }
}

fn futures_now<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    match future.as_mut().poll(&mut std::task::Context::from_waker(std::task::Waker::noop())) {
        std::task::Poll::Ready(value) => value,
        std::task::Poll::Pending => panic!("it waits for something"),
    }
}

fn certificate(pem: &[u8]) {
    let Ok(certificate) = Certificate::read(pem) else { return };
    let (begin, end) = (certificate.not_before, certificate.not_after);
    assert!(!certificate.is_valid_at(end));
    if begin <= end {
        let renewal = certificate.at_share(0.7);
        assert!((begin..=end).contains(&renewal), "{renewal} of {begin} to {end}");
    }
    assert!(
        certificate.is_valid_at(Timestamp::UNIX_EPOCH)
            == (begin <= Timestamp::UNIX_EPOCH && Timestamp::UNIX_EPOCH < end)
    );
    assert!(certificate.kubelet_of().is_none_or(|node| certificate.common_name.ends_with(node)));
}
