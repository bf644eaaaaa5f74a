//! Compiles picoquic and picotls, whose sources `python/tools/picoquic.py` has fetched, together with the shim.

#[cfg(feature = "native")]
mod sources;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=build");
    #[cfg(feature = "native")]
    sources::compile()?;
    Ok(())
}
