//! Compiles picoquic and picotls, whose sources `python/tools/picoquic.py` has fetched, together with the shim.

#![allow(clippy::print_stdout, reason = "a build script tells cargo by its output")]

#[cfg(feature = "native")]
mod sources;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=build");
    #[cfg(feature = "native")]
    sources::compile()?;
    Ok(())
}
