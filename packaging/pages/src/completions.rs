//! Completions of each program for each shell, where the shells of the distributions look for them.

use std::path::PathBuf;

use clap::Command;
use clap_complete::{Shell, generate};

/// One file, by its place below /usr/share.
pub(crate) struct File {
    pub(crate) path: PathBuf,
    pub(crate) text: Vec<u8>,
}

/// Every program's, for every shell.
pub(crate) fn of<const N: usize>(programs: [(&'static str, Command); N]) -> Vec<File> {
    let shells = [Shell::Bash, Shell::Zsh, Shell::Fish];
    let each = |(name, command): (&'static str, Command)| {
        shells.map(|shell| {
            let mut text = Vec::new();
            generate(shell, &mut command.clone(), name, &mut text);
            File { path: place(shell, name), text }
        })
    };
    programs.into_iter().flat_map(each).collect()
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
