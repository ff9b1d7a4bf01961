//! Completions of each program for each shell, where the shells of the distributions look for them.

use std::path::PathBuf;

use clap::Command;
use clap_complete::{Shell, generate};

/// One file, by its place below /usr/share.
pub(crate) struct File {
    pub(crate) path: PathBuf,
    pub(crate) text: Vec<u8>,
}

/// A program's, for every shell, as its own command line makes them.
pub(crate) fn of(name: &'static str, script: impl Fn(Shell) -> Vec<u8>) -> Vec<File> {
    let shells = [Shell::Bash, Shell::Zsh, Shell::Fish];
    shells.map(|shell| File { path: place(shell, name), text: script(shell) }).into()
}

/// The same from its description alone.
pub(crate) fn of_command(name: &'static str, command: &Command) -> Vec<File> {
    of(name, |shell| {
        let mut text = Vec::new();
        generate(shell, &mut command.clone(), name, &mut text);
        text
    })
}

/// zsh's folder has another name on Debian than elsewhere: the packages' list of files knows both.
fn place(shell: Shell, name: &str) -> PathBuf {
    match shell {
        Shell::Zsh => format!("zsh/_{name}"),
        Shell::Fish => format!("fish/vendor_completions.d/{name}.fish"),
        _ => format!("bash-completion/completions/{name}"),
    }
    .into()
}
