//! What could not be read: why, what is missing by that, and how a person gets it.

use std::fmt;

use crate::{
    access::ApiError,
    error::{CommandError, NO_PERMISSION, SOFTWARE, UNAVAILABLE, USAGE},
};

/// The role that allows everything that is asked here, and its manifest.
const ROLE: &str = "nodewell:fleet-viewer";
const MANIFEST: &str = "/usr/share/nodewell-controller/rbac-view.yaml";

/// What is asked, in the terms of RBAC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Question {
    verb: &'static str,
    resource: &'static str,
    namespace: Option<String>,
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.verb, self.resource)?;
        self.namespace.iter().try_for_each(|namespace| write!(f, " in the namespace {namespace}"))
    }
}

impl Question {
    pub(super) fn list(resource: &'static str) -> Self {
        Self { verb: "list", resource, namespace: None }
    }

    pub(super) fn get(resource: &'static str) -> Self {
        Self { verb: "get", resource, namespace: None }
    }

    pub(super) fn within(self, namespace: &str) -> Self {
        Self { namespace: Some(namespace.to_owned()), ..self }
    }

    /// Without the answer there is nothing to show.
    pub(super) fn fatal(&self, error: ApiError) -> CommandError {
        match error {
            ApiError::Forbidden(message) => {
                let grant = grant(user(&message));
                CommandError::new(NO_PERMISSION, format!("you may not {self}: {message}\n{grant}"))
            }
            ApiError::Unauthorized(message) => CommandError::new(
                NO_PERMISSION,
                format!(
                    "the API server does not know who you are ({message}); log in again, or name another --context"
                ),
            ),
            ApiError::NoAnswer(why) => {
                CommandError::new(UNAVAILABLE, format!("{why}; look whether it is up, or name another --context"))
            }
            ApiError::Refused { code: 400, message } => CommandError::new(USAGE, format!("cannot {self}: {message}")),
            error @ (ApiError::NotFound | ApiError::Refused { .. }) => {
                CommandError::new(SOFTWARE, format!("cannot {self}: {error}"))
            }
        }
    }
}

/// Collects what could not be read beside what could.
#[derive(Debug, Default)]
pub(super) struct Gaps {
    forbidden: Vec<String>,
    user: Option<String>,
    others: Vec<String>,
}

impl Gaps {
    /// `without` is what a reader has to do without.
    pub(super) fn add(&mut self, asked: &Question, error: ApiError, without: &str) {
        match error {
            ApiError::Forbidden(message) => {
                self.forbidden.push(format!("{asked} ({without})"));
                self.user = self.user.take().or_else(|| user(&message));
            }
            error => self.others.push(format!("cannot {asked}: {error}; {without}")),
        }
    }

    /// A line each; all that is not allowed is one, with the way to it.
    pub(super) fn notes(self) -> Vec<String> {
        let Self { forbidden, user, mut others } = self;
        if !forbidden.is_empty() {
            others.push(format!("you may not {}. {}", forbidden.join(", nor "), grant(user)));
        }
        others
    }
}

/// Who the API server says asks: `User "eva" cannot list resource …`.
fn user(message: &str) -> Option<String> {
    let (_, rest) = message.split_once("User \"")?;
    // The server writes it as a Go string: with a backslash it is not the name itself.
    rest.split_once('"').map(|(user, _)| user.to_owned()).filter(|user| !user.is_empty() && !user.contains('\\'))
}

fn grant(user: Option<String>) -> String {
    let user = user.map_or_else(|| "YOU".to_owned(), |user| shell_word(&user));
    format!(
        "An administrator grants it by: kubectl create clusterrolebinding nodewell-viewers --clusterrole={ROLE} \
         --user={user} (the role is in {MANIFEST})"
    )
}

/// The name as a shell takes it for one word: an administrator copies the command, and the name is another's.
fn shell_word(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "@%+=:,./_-".contains(c);
    if name.chars().all(is_plain) { name.to_owned() } else { format!("'{}'", name.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORBIDDEN: &str = r#"nodes is forbidden: User "eva" cannot list resource "nodes" in API group """#;

    #[test]
    fn a_refusal_names_the_verb_and_the_way_to_it() {
        let error = Question::list("nodes").fatal(ApiError::Forbidden(FORBIDDEN.to_owned())).to_string();
        for part in ["you may not list nodes", "--clusterrole=nodewell:fleet-viewer --user=eva", MANIFEST] {
            assert!(error.contains(part), "{part} is not in {error}");
        }
        let silent = Question::list("nodes").fatal(ApiError::Forbidden("no".to_owned())).to_string();
        assert!(silent.contains("--user=YOU"), "{silent}");
    }

    #[test]
    fn the_name_of_a_user_is_one_word_of_the_command() {
        for (user, word) in [
            ("system:serviceaccount:ops:eva", "system:serviceaccount:ops:eva"),
            ("eva@example.org", "eva@example.org"),
            ("eva; reboot", "'eva; reboot'"),
            ("$(reboot)", "'$(reboot)'"),
            ("o'hara", r"'o'\''hara'"),
            (r#"a\"; reboot"#, "YOU"),
        ] {
            let message = FORBIDDEN.replace("eva", user);
            let error = Question::list("nodes").fatal(ApiError::Forbidden(message)).to_string();
            assert!(error.contains(&format!(" --user={word} (the role")), "{error}");
        }
    }

    #[test]
    fn all_that_is_not_allowed_is_one_note() {
        let mut gaps = Gaps::default();
        let leases = Question::list("leases.coordination.k8s.io").within("nodewell");
        gaps.add(&leases, ApiError::Forbidden(FORBIDDEN.to_owned()), "silence is seen late");
        gaps.add(&Question::get("configmaps"), ApiError::Forbidden("no".to_owned()), "a pause is not shown");
        gaps.add(&Question::list("events"), ApiError::NoAnswer("late".to_owned()), "no Event is shown");
        let notes = gaps.notes();
        assert_eq!(notes[0], "cannot list events: late; no Event is shown");
        let expected = "you may not list leases.coordination.k8s.io in the namespace nodewell (silence is seen late), \
            nor get configmaps (a pause is not shown). An administrator grants it by: ";
        assert!(notes[1].starts_with(expected) && notes[1].contains("--user=eva "), "{notes:?}");
        assert_eq!((notes.len(), Gaps::default().notes().len()), (2, 0));
    }
}
