//! How large a type is: counted in the text of its crate.

use std::collections::BTreeMap;
use std::path::Path;

/// A type as its crate's text has it.
#[derive(Clone, Debug, Default)]
pub struct Type {
    /// The lines of documentation above it, joined.
    pub doc: String,
    pub fields: usize,
    /// Its own functions, in all files of the crate; not those of traits.
    pub methods: usize,
}

/// The structures of a crate by name and file. Tests in a file do not count.
///
/// Reads the layout that rustfmt gives: a type or a block of functions begins and ends in the first column.
pub fn types(root: &Path) -> BTreeMap<(String, String), Type> {
    let (mut found, mut methods) = (BTreeMap::new(), Vec::new());
    collect(root, &mut found, &mut methods);
    for (name, file, count) in methods {
        // Types of one name stand in different files: the one in the nearest file is meant.
        let shared = |other: &str| file.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
        let of_name = found.iter_mut().filter(|((other, _), _)| *other == name);
        if let Some((_, of)) = of_name.max_by_key(|((_, other), _)| shared(other)) {
            of.methods += count;
        }
    }
    found
}

type Methods = Vec<(String, String, usize)>;

fn collect(folder: &Path, found: &mut BTreeMap<(String, String), Type>, methods: &mut Methods) {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for path in entries.map(|entry| entry.expect("a file").path()) {
        if path.is_dir() {
            collect(&path, found, methods);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).expect("a source file");
            read(&path.display().to_string(), &text, found, methods);
        }
    }
}

/// A block in a file: a structure, or functions of one.
struct Block {
    name: String,
    is_struct: bool,
    of: Type,
}

fn read(file: &str, text: &str, found: &mut BTreeMap<(String, String), Type>, methods: &mut Methods) {
    let (mut doc, mut inside): (Vec<&str>, Option<Block>) = (Vec::new(), None);
    for line in text.split("\n#[cfg(test)]\nmod tests").next().unwrap_or_default().lines() {
        if let Some(block) = &mut inside {
            if line.starts_with('}') {
                let Some(Block { name, is_struct, of }) = inside.take() else { continue };
                if is_struct {
                    found.insert((name, file.to_owned()), of);
                } else {
                    methods.push((name, file.to_owned(), of.methods));
                }
                continue;
            }
            let Some(item) = line.strip_prefix("    ").map(without_visibility) else { continue };
            let is_field = item.split_once(": ").is_some_and(|(name, _)| is_name(name));
            block.of.fields += usize::from(block.is_struct && is_field);
            let item = ["const ", "unsafe "].iter().fold(item, |item, word| item.strip_prefix(word).unwrap_or(item));
            block.of.methods += usize::from(!block.is_struct && item.starts_with("fn "));
        } else if let Some(text) = line.strip_prefix("///") {
            doc.push(text.trim());
        } else if !line.starts_with('#') {
            inside = opened(line, &doc.join(" "));
            doc.clear();
        }
    }
}

/// The block that a line opens.
fn opened(line: &str, doc: &str) -> Option<Block> {
    let item = without_visibility(line);
    if !line.ends_with('{') {
        return None;
    }
    if let Some(name) = item.strip_prefix("struct ") {
        let of = Type { doc: doc.to_owned(), ..Type::default() };
        return Some(Block { name: first_name(name), is_struct: true, of });
    }
    let name = item.strip_prefix("impl").filter(|_| !line.contains(" for "))?;
    let generic = name.starts_with('<').then(|| name.split_once("> ")).flatten();
    let name = first_name(generic.map_or(name, |(_, name)| name).trim_start());
    Some(Block { name, is_struct: false, of: Type::default() })
}

fn without_visibility(item: &str) -> &str {
    let Some(rest) = item.strip_prefix("pub") else { return item };
    rest.strip_prefix('(').and_then(|rest| rest.split_once(") ")).map_or(rest.trim_start(), |(_, rest)| rest)
}

fn first_name(text: &str) -> String {
    text.chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect()
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
}
