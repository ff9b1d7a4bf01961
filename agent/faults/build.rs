//! Lists the files of the catalogue, so that a new one is part of it by being there.

use std::{env, fmt::Write as _, fs, io, path::Path};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=catalogue");
    let manifest = env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?;
    let out = env::var("OUT_DIR").map_err(io::Error::other)?;
    let files = fs::read_dir(Path::new(&manifest).join("catalogue"))?;
    let mut paths = files.map(|file| file.map(|file| file.path())).collect::<io::Result<Vec<_>>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    let mut list = String::from("&[\n");
    for path in paths {
        writeln!(list, "    include_str!({:?}),", path.display().to_string()).map_err(io::Error::other)?;
    }
    fs::write(Path::new(&out).join("catalogue.rs"), list + "]\n")
}
