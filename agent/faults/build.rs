//! Lists the files of the catalogue, so that a new one is part of it by being there.

use std::{env, fmt::Write as _, fs, io, path::Path};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=catalogue");
    let manifest = env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?;
    let out = env::var("OUT_DIR").map_err(io::Error::other)?;
    let files = fs::read_dir(Path::new(&manifest).join("catalogue"))?;
    let mut names = files.map(|file| file.map(|file| file.file_name())).collect::<io::Result<Vec<_>>>()?;
    names.retain(|name| name.to_string_lossy().ends_with(".toml"));
    names.sort();
    let mut list = String::from("&[\n");
    for name in names {
        let path = format!("/catalogue/{}", name.to_string_lossy());
        // Where the crate lies when it is compiled: a target folder may have been copied from another place.
        writeln!(list, "    include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), {path:?})),")
            .map_err(io::Error::other)?;
    }
    fs::write(Path::new(&out).join("catalogue.rs"), list + "]\n")
}
