//! Which files are compiled, and how.

use std::env;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

/// picoquic without its sockets, its tests, its text logs and its bindings to OpenSSL, fusion and mbedtls.
const PICOQUIC: &[&str] = &[
    "bbr",
    "bbr1",
    "bytestream",
    "c4",
    "cc_common",
    "cubic",
    "ech",
    "error_names",
    "fastcc",
    "frame_names",
    "frames",
    "intformat",
    "loss_recovery",
    "newreno",
    "pacing",
    "packet",
    "packet_names",
    "paths",
    "performance_log",
    "picohash",
    "picoquic_lb",
    "picoquic_ptls_minicrypto",
    "picosplay",
    "port_blocking",
    "prague",
    "qmux",
    "quicctx",
    "register_all_cc_algorithms",
    "sacks",
    "scone",
    "sender",
    "siphash",
    "spinbit",
    "streams",
    "ticket_store",
    "timing",
    "token_store",
    "tp_names",
    "transport",
    "unified_log",
    "util",
];

/// picotls with its small cryptography. `lib/cifra/random.c` is left out: the shim asks the simulation instead.
const PICOTLS: &[&str] = &[
    "lib/asn1",
    "lib/cifra",
    "lib/cifra/aes128",
    "lib/cifra/aes256",
    "lib/cifra/chacha20",
    "lib/cifra/x25519",
    "lib/ffx",
    "lib/hpke",
    "lib/minicrypto-pem",
    "lib/pembase64",
    "lib/picotls",
    "lib/uecc",
    "deps/micro-ecc/uECC",
    "deps/cifra/src/aes",
    "deps/cifra/src/blockwise",
    "deps/cifra/src/chacha20",
    "deps/cifra/src/chash",
    "deps/cifra/src/curve25519",
    "deps/cifra/src/drbg",
    "deps/cifra/src/gcm",
    "deps/cifra/src/gf128",
    "deps/cifra/src/hmac",
    "deps/cifra/src/modes",
    "deps/cifra/src/poly1305",
    "deps/cifra/src/sha256",
    "deps/cifra/src/sha512",
];

/// The border, by subject.
const SHIM: &[&str] = &["assertions", "ciphers", "controls", "endpoint", "events"];

/// State of the process in `tls_api.c`: the generator of padding, spin bits and skipped numbers. Each thread gets one
/// of its own, or runs side by side would move each other's.
const PER_THREAD: &[&str] = &[
    "static uint64_t public_random_seed[16] =",
    "static int public_random_index =",
    "static uint64_t public_random_obfuscator =",
];

pub fn compile() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-env-changed=SKYHOP_PICOQUIC");
    println!("cargo::rerun-if-changed=src/shim");
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let sources = match env::var_os("SKYHOP_PICOQUIC") {
        Some(path) => PathBuf::from(path),
        None => root.join("../../target/picoquic"),
    };
    let (picoquic, picotls) = (sources.join("picoquic"), sources.join("picotls"));
    println!("cargo::rerun-if-changed={}", sources.join("complete").display());
    if !sources.join("complete").exists() {
        return Err(format!(
            "picoquic's sources are not in {}: fetch them with `python python/tools/picoquic.py`, or build with `make \
             build FEATURES=picoquic`, which does so",
            sources.display()
        )
        .into());
    }
    let mut build = cc::Build::new();
    build
        .std("gnu11")
        .warnings(false)
        .opt_level(2)
        .debug(false)
        .define("_GNU_SOURCE", None)
        .define("DISABLE_DEBUG_PRINTF", None)
        .define("PICOQUIC_WITHOUT_SSLKEYLOG", None)
        .define("PTLS_WITHOUT_OPENSSL", None)
        .define("PTLS_WITHOUT_FUSION", None)
        // Before the system's: its assert.h is ours.
        .include("src/shim")
        .include(picoquic.join("picoquic"))
        .include(picotls.join("include"))
        .include(picotls.join("deps/cifra/src"))
        .include(picotls.join("deps/cifra/src/ext"))
        .include(picotls.join("deps/micro-ecc"));
    build.files(PICOQUIC.iter().map(|name| picoquic.join("picoquic").join(format!("{name}.c"))));
    build.files(PICOTLS.iter().map(|name| picotls.join(format!("{name}.c"))));
    build.file(per_thread(&picoquic.join("picoquic/tls_api.c"))?);
    build.files(SHIM.iter().map(|name| format!("src/shim/{name}.c")));
    build.try_compile("skyhop_picoquic")?;
    Ok(())
}

/// A copy of `tls_api.c` whose generator belongs to a thread.
fn per_thread(original: &Path) -> Result<PathBuf, Box<dyn Error>> {
    let mut text = fs::read_to_string(original).map_err(|error| format!("{}: {error}", original.display()))?;
    for line in PER_THREAD {
        if text.matches(line).count() != 1 {
            return Err(format!("{} does not have the line \"{line} …\" once", original.display()).into());
        }
        text = text.replace(line, &line.replacen("static", "static _Thread_local", 1));
    }
    let copy = PathBuf::from(env::var("OUT_DIR")?).join("tls_api.c");
    fs::write(&copy, text)?;
    Ok(copy)
}
