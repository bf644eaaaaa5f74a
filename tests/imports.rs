//! Which file of a crate imports from which, read from the `use` items and the paths in the text.
//!
//! A file depends on the file that defines what it names. A re-export (`pub use`, `pub(crate) use`) is followed to its
//! source and is not a dependency of the file that re-exports. Tests in a file do not count.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

type Module = Vec<String>;

struct Source {
    file: String,
    text: String,
    /// Paths of re-exports, by the name that they give. A glob is named `*`.
    exports: Vec<(String, Module)>,
    /// Paths of imports that are not re-exports, by the name that they give.
    imports: Vec<(String, Module)>,
}

/// The files of a crate, and the files that each depends on.
pub fn dependencies(root: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let mut sources = BTreeMap::new();
    collect(root, &[], &mut sources);
    let depend = |(module, source): (&Module, &Source)| {
        let mut found = BTreeSet::new();
        for path in source.imports.iter().map(|(_, path)| path.clone()).chain(paths_in(&source.text)) {
            let path = through_alias(source, path);
            if let Some(target) = resolve(&sources, module, &path, 0) {
                found.insert(sources[&target].file.clone());
            }
        }
        found.remove(&source.file);
        (source.file.clone(), found)
    };
    sources.iter().map(depend).collect()
}

/// Groups of files that depend on one another, each group ascending.
pub fn cycles(dependencies: &BTreeMap<String, BTreeSet<String>>) -> Vec<Vec<String>> {
    let reach: BTreeMap<&String, BTreeSet<&String>> =
        dependencies.keys().map(|file| (file, reachable(dependencies, file))).collect();
    let mut groups: BTreeSet<Vec<String>> = BTreeSet::new();
    for file in dependencies.keys() {
        let group: Vec<String> =
            reach[file].iter().filter(|other| reach[*other].contains(file)).map(|other| (*other).clone()).collect();
        if !group.is_empty() {
            groups.insert(group);
        }
    }
    groups.into_iter().collect()
}

fn reachable<'a>(dependencies: &'a BTreeMap<String, BTreeSet<String>>, from: &String) -> BTreeSet<&'a String> {
    let mut found = BTreeSet::new();
    let mut open: Vec<&String> = dependencies[from].iter().collect();
    while let Some(file) = open.pop() {
        if found.insert(file) {
            open.extend(&dependencies[file]);
        }
    }
    found
}

fn collect(folder: &Path, prefix: &[String], sources: &mut BTreeMap<Module, Source>) {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut entries: Vec<_> = entries.map(|entry| entry.expect("a readable folder").path()).collect();
    entries.sort();
    for path in entries {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        if path.is_dir() {
            collect(&path, &[prefix, &[name]].concat(), sources);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let module = if name == "lib" || name == "mod" { prefix.to_vec() } else { [prefix, &[name]].concat() };
            let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let source = read(&module, &text);
            sources.insert(module, source);
        }
    }
}

fn read(module: &Module, text: &str) -> Source {
    let text = without_tests_and_comments(text);
    let (mut exports, mut imports) = (Vec::new(), Vec::new());
    let mut rest = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some((is_export, tree)) = use_item(line) else {
            rest.push_str(line);
            rest.push('\n');
            continue;
        };
        let mut tree = tree.to_owned();
        while !tree.contains(';') {
            tree.push_str(lines.next().unwrap_or(";"));
        }
        let mut paths = Vec::new();
        expand(tree.split(';').next().unwrap_or(""), &[], &mut paths);
        if is_export { exports.extend(paths) } else { imports.extend(paths) }
    }
    let file = if module.is_empty() { "lib".to_owned() } else { module.join("/") };
    Source { file, text: rest, exports, imports }
}

/// The tree of a line that begins a `use`, and whether it is a re-export.
fn use_item(line: &str) -> Option<(bool, &str)> {
    let line = line.trim_start();
    let (is_export, tree) = match line.split_once("use ")? {
        ("", tree) => (false, tree),
        (visibility, tree) if visibility.starts_with("pub") && visibility.ends_with(' ') => (true, tree),
        _ => return None,
    };
    let first = tree.split(|c: char| !(c.is_alphanumeric() || c == '_')).next()?;
    let rest = &tree[first.len()..];
    let is_path = !first.is_empty() && ["::", ";", " as "].iter().any(|end| rest.starts_with(end));
    is_path.then_some((is_export, tree))
}

/// The text up to its tests, without comments.
fn without_tests_and_comments(text: &str) -> String {
    let mut kept = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let code = line.trim_start();
        if code.starts_with("#[cfg(test)]") {
            // A module of tests in the file goes to its closing brace; one in another file is a line.
            let Some(next) = lines.next() else { break };
            if next.trim_end().ends_with('{') {
                lines.by_ref().take_while(|line| *line != "}").for_each(drop);
            }
        } else if !code.starts_with("//") {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

/// `a::{b, c::d as e}` as the names `b` and `e` with their paths.
fn expand(text: &str, prefix: &[String], found: &mut Vec<(String, Module)>) {
    let text = text.trim();
    if let Some(open) = text.find('{') {
        let mut prefix = prefix.to_vec();
        prefix.extend(text[..open].split("::").map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned));
        let inner = &text[open + 1..text.rfind('}').unwrap_or(text.len())];
        let (mut depth, mut start) = (0, 0);
        for (at, c) in inner.char_indices().chain([(inner.len(), ',')]) {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 0 => {
                    if !inner[start..at].trim().is_empty() {
                        expand(&inner[start..at], &prefix, found);
                    }
                    start = at + 1;
                }
                _ => {}
            }
        }
        return;
    }
    let (path, alias) = text.split_once(" as ").map_or((text, None), |(path, alias)| (path, Some(alias.trim())));
    let mut full = prefix.to_vec();
    full.extend(path.split("::").map(|part| part.trim().to_owned()));
    if full.last().is_some_and(|last| last == "self") {
        full.pop();
    }
    let name = alias.map(str::to_owned).or_else(|| full.last().cloned()).unwrap_or_default();
    found.push((name, full));
}

/// Paths with `::` in an expression or a type.
fn paths_in(text: &str) -> Vec<Module> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let words = text.split(|c: char| !is_part(c)).filter(|word| word.contains("::"));
    words.map(|word| word.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect()).collect()
}

/// A path that starts with an imported name, from the root.
fn through_alias(source: &Source, path: Module) -> Module {
    let named = source.imports.iter().find(|(name, imported)| path.first() == Some(name) && imported != &path);
    match named {
        Some((_, imported)) if path.len() > 1 => [imported.as_slice(), &path[1..]].concat(),
        _ => path,
    }
}

/// The module that defines what a path names; `None` for another crate.
fn resolve(sources: &BTreeMap<Module, Source>, from: &Module, path: &[String], depth: usize) -> Option<Module> {
    let mut module = from.clone();
    let mut parts = path;
    match parts.first()?.as_str() {
        "crate" => module.clear(),
        "self" => {}
        "super" => {
            module.pop();
        }
        first => {
            module.push(first.to_owned());
            sources.get(&module)?;
        }
    }
    parts = &parts[1..];
    while let Some((part, rest)) = parts.split_first() {
        if part == "super" {
            module.pop();
        } else {
            let child = [module.as_slice(), std::slice::from_ref(part)].concat();
            if !sources.contains_key(&child) {
                break;
            }
            module = child;
        }
        parts = rest;
    }
    let (Some(item), true) = (parts.first(), depth < 10) else { return Some(module) };
    let source = sources.get(&module)?;
    let exported = source.exports.iter().find(|(name, _)| name == item);
    if let Some((_, target)) = exported {
        return resolve(sources, &module, target, depth + 1);
    }
    Some(module)
}
