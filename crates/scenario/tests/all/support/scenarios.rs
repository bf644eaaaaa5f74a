//! Every scenario that the repository shows: examples, studies, and what the documents have in them.

use std::fs;
use std::path::{Path, PathBuf};

/// A scenario's text, and the folder in which its files lie.
pub struct Shown {
    pub name: String,
    pub text: String,
    pub folder: PathBuf,
}

/// All of them, in a fixed order.
pub fn shown() -> Vec<Shown> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = Vec::new();
    let mut folders = vec![root.join("examples"), root.join("python/skyhop/server/presets")];
    folders.extend(entries(&root.join("studies")).into_iter().filter(|path| path.is_dir()));
    for file in folders.iter().flat_map(|folder| entries(folder)) {
        let text = fs::read_to_string(&file).unwrap_or_default();
        if file.extension().is_some_and(|extension| extension == "toml") && is_scenario(&text) {
            let folder = file.parent().unwrap().to_owned();
            found.push(Shown { name: file.display().to_string(), text: without_recordings(text), folder });
        }
    }
    let documents = [root.clone(), root.join("docs"), root.join("docs/howto"), root.join("docs/models")];
    for file in documents.iter().flat_map(|folder| entries(folder)) {
        if file.extension().is_none_or(|extension| extension != "md") {
            continue;
        }
        let text = fs::read_to_string(&file).unwrap();
        for (i, block) in blocks(&text).into_iter().enumerate().filter(|(_, block)| is_scenario(block)) {
            found.push(Shown { name: format!("{}, block {i}", file.display()), text: block, folder: root.clone() });
        }
    }
    assert!(found.len() >= 12, "only {} scenarios were found", found.len());
    found
}

/// The study of a recording with three lines of it: tests read each scenario hundreds of times, and the two minutes of
/// that recording would take half a second each time.
fn without_recordings(text: String) -> String {
    let data = "../../../shared/data/starlink-trace";
    text.replace(&format!("\"{data}/uplink-opportunities-ms.txt.gz\""), r#"{ text = "12\n14\n16\n" }"#)
        .replace(&format!("\"{data}/one-way-delay-ms.txt\""), r#"{ text = "9\n10\n11\n" }"#)
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

/// A scenario has a duration and traffic.
fn is_scenario(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("duration")) && text.contains("[[flows]]")
}

/// The code blocks of TOML, without the indentation of a list that they stand in.
fn blocks(text: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        match &mut open {
            None if line.trim() == "```toml" => open = Some((indent, String::new())),
            None => {}
            Some(_) if line.trim() == "```" => blocks.extend(open.take().map(|(_, block)| block)),
            Some((indent, block)) => {
                block.push_str(line.get(*indent..).unwrap_or_default());
                block.push('\n');
            }
        }
    }
    blocks
}
