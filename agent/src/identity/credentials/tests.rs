//! Kubeconfigs as distributions write them.

use std::fs;

use super::*;

fn kubeconfig(cluster: &str, user: &str) -> String {
    format!(
        r#"
apiVersion: v1
kind: Config
clusters:
- name: kubernetes
  cluster: {{ server: "https://10.0.0.1:6443", {cluster} }}
contexts:
- name: ctx
  context: {{ cluster: kubernetes, user: default-auth }}
current-context: ctx
users:
- name: default-auth
  user: {user}
"#
    )
}

async fn read(text: &str, files: &[(&str, &str)]) -> Result<Credentials, CredentialsError> {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        nodewell_kit::write_program(&folder.path().join(name), 0o700, content);
    }
    let path = folder.path().join("kubelet.conf");
    fs::write(&path, text).unwrap();
    Credentials::read(&path).await
}

fn certificate(credentials: &Credentials) -> (&[u8], &[u8]) {
    let keyed = credentials.secret.certificate.as_ref().unwrap();
    (&keyed.certificate, &keyed.key)
}

/// kubeadm, k3s, RKE2, k0s: files, some by relative names, certificate and key in one.
#[tokio::test]
async fn files_are_taken_along() {
    let text = kubeconfig(
        "certificate-authority: ca.crt",
        "{ client-certificate: kubelet-client-current.pem, client-key: kubelet-client-current.pem }",
    );
    let read = read(&text, &[("ca.crt", "CA"), ("kubelet-client-current.pem", "PAIR")]).await.unwrap();
    assert_eq!(read.cluster.authority, Some(ByteString(b"CA".to_vec())));
    assert_eq!(certificate(&read), (&b"PAIR"[..], &b"PAIR"[..]));
}

#[tokio::test]
async fn embedded_data_is_decoded_and_goes_before_files() {
    let text = kubeconfig(
        "certificate-authority-data: Q0E=, certificate-authority: /gone",
        "{ client-certificate-data: Q0VSVA==, client-key-data: S0VZ, client-key: /gone }",
    );
    let read = read(&text, &[]).await.unwrap();
    assert_eq!(read.cluster.authority, Some(ByteString(b"CA".to_vec())));
    assert_eq!(certificate(&read), (&b"CERT"[..], &b"KEY"[..]));
}

#[tokio::test]
async fn a_token_file_is_read() {
    let read = read(&kubeconfig("", "{ tokenFile: token }"), &[("token", "abc\n")]).await.unwrap();
    assert_eq!(read.secret.token.as_deref(), Some("abc"));
}

#[tokio::test]
async fn a_token_file_goes_before_the_token_beside_it_while_it_can_be_read() {
    let text = kubeconfig("", "{ token: old, tokenFile: token }");
    assert_eq!(read(&text, &[("token", "new\n")]).await.unwrap().secret.token.as_deref(), Some("new"));
    assert_eq!(read(&text, &[]).await.unwrap().secret.token.as_deref(), Some("old"));
    assert_eq!(read(&text, &[("token", "\n")]).await.unwrap().secret.token.as_deref(), Some("old"));
    let error = read(&text.replace("token: old, ", ""), &[("token", "\n")]).await.unwrap_err().to_string();
    assert!(error.contains("it is empty"), "{error}");
}

#[tokio::test]
async fn the_agent_itself_runs_no_plug_in() {
    let text = kubeconfig("", "{ exec: { apiVersion: client.authentication.k8s.io/v1, command: /bin/true } }");
    let error =
        Credentials::without_plugin(Path::new("/k"), &Kubeconfig::parse_here(text.as_bytes()).unwrap()).unwrap_err();
    assert!(error.to_string().starts_with("/k: the agent runs no exec plug-in"), "{error}");
    let read = |text: &str| {
        Credentials::without_plugin(Path::new("/k"), &Kubeconfig::parse_here(text.as_bytes()).unwrap()).unwrap().secret
    };
    assert_eq!(read(&kubeconfig("", "{ token: t }")).token.as_deref(), Some("t"));
    // As behind `kubectl proxy`.
    let nothing = kubeconfig("", "{ username: '', token: '' }");
    assert!(read(&nothing) == Secret::default());
    assert!(read(&nothing.replace("user: default-auth", "namespace: n")) == Secret::default());
    assert!(read(&kubeconfig("", "null")) == Secret::default());
    let both = "{ token: t, exec: { apiVersion: client.authentication.k8s.io/v1, command: /bin/true } }";
    assert_eq!(read(&kubeconfig("", both)).token.as_deref(), Some("t"), "what is written goes before the plug-in");
}

#[tokio::test]
async fn what_is_empty_is_not_set_and_what_is_not_used_may_be_anything() {
    let cluster = "certificate-authority-data: '', certificate-authority: '', proxy-url: '', tls-server-name: ''";
    let user =
        "{ username: '', as: '', as-groups: [], client-certificate: '', client-key: '', tokenFile: '', token: t }";
    let text = kubeconfig(cluster, user) + "- name: other\n  user: { client-key-data: '%%%' }\n";
    let read = read(&text, &[]).await.unwrap();
    assert_eq!((read.cluster.authority, read.cluster.proxy_url, read.cluster.tls_server_name), (None, None, None));
    assert_eq!(read.secret.token.as_deref(), Some("t"));
}

const PLUGIN: &str = r#"#!/bin/sh
[ "$1" = get-token ] && [ "$REGION" = eu ] || exit 3
case "$KUBERNETES_EXEC_INFO" in *'"server":"https://10.0.0.1:6443"'*) ;; *) exit 4 ;; esac
echo '{"kind": "ExecCredential", "status": {"token": "from-plugin", "expirationTimestamp": "2026-11-21T10:00:00Z"}}'
"#;

#[tokio::test]
async fn a_plug_in_is_run() {
    let user = |arguments: &str| {
        let version = "client.authentication.k8s.io/v1beta1";
        format!(
            "{{ exec: {{ apiVersion: {version}, command: ./plugin, args: [{arguments}], env: [{{ name: REGION, value: eu }}], \
             provideClusterInfo: true }} }}"
        )
    };
    let token = read(&kubeconfig("", &user("get-token")), &[("plugin", PLUGIN)]).await.unwrap().secret.token;
    assert_eq!(token.as_deref(), Some("from-plugin"));
    let error = read(&kubeconfig("", &user("nonsense")), &[("plugin", PLUGIN)]).await.unwrap_err().to_string();
    assert!(error.contains("plugin ended with exit status: 3"), "{error}");
    let error = read(&kubeconfig("", &user("get-token")), &[("plugin", "#!/bin/sh\necho no")]).await.unwrap_err();
    assert!(error.to_string().contains("no ExecCredential"), "{error}");
    let error = read(&kubeconfig("", &user("get-token")), &[]).await.unwrap_err();
    assert!(matches!(error, CredentialsError::Exec { source: ExecError::Run { .. }, .. }), "{error}");
}

#[tokio::test]
async fn what_cannot_be_used_is_reported_with_why() {
    let refused = async |user: &str| read(&kubeconfig("", user), &[]).await.unwrap_err().to_string();
    assert!(refused("{ username: u, password: p }").await.contains("a user name and password is not supported"));
    assert!(refused("{ auth-provider: { name: gcp } }").await.contains("an auth-provider is not supported"));
    assert!(refused("{ token: t, as: admin }").await.contains("to act as another user (`as`) is not supported"));
    assert!(refused("{ token: t, as-groups: [system:masters] }").await.contains("to act as another user"));
    let half = refused("{ client-certificate-data: Q0VSVA== }").await;
    assert!(half.contains("names no key of its client certificate"), "{half}");
    let beside = read(&kubeconfig("", "{ client-key-data: S0VZ, token: t }"), &[]).await.unwrap().secret;
    assert!(beside.certificate.is_none() && beside.token.is_some(), "half a pair beside a token is none");
    assert!(refused("{ client-key-data: S0VZ }").await.contains("names no client certificate of its key"));
    assert!(refused("{ client-key-data: '%%%' }").await.contains("its client-key-data is no base64"));
    assert!(refused("{}").await.contains("names no certificate, token or plug-in"));
    assert!(refused("{ tokenFile: /gone/token }").await.contains("cannot read /gone/token, which it names"));
    let missing = Credentials::read(Path::new("/gone/kubelet.conf")).await.unwrap_err();
    assert!(missing.is_absence());
    let broken = read("no: [kubeconfig", &[]).await.unwrap_err();
    assert!(!broken.is_absence());
}

#[tokio::test]
async fn what_is_written_is_read_back_the_same() {
    let cluster = "certificate-authority-data: Q0E=, tls-server-name: k8s, proxy-url: \"http://proxy\"";
    let first =
        read(&kubeconfig(cluster, "{ client-certificate-data: Q0VSVA==, client-key-data: S0VZ }"), &[]).await.unwrap();
    let text = first.kubeconfig();
    let again = read(&text, &[]).await.unwrap();
    assert_eq!(again, first);
    assert_eq!(again.kubeconfig(), text);
    assert_eq!(format!("{:?}", first.secret), "Secret", "no log ever shows it");
}
