//! Restoring turns the files that a copy of the corpus has in place of symbolic links into links.
//!
//! A copy through a tool without links leaves a file that holds the target and no newline. No
//! inventory of the corpus has such a file of its own.

use std::fs;
use std::path::{Path, PathBuf};

/// The inventory itself, or a copy of it with its links, which lives as long as the directory.
pub fn restored(inventory: &Path) -> (PathBuf, Option<tempfile::TempDir>) {
    let mut links = Vec::new();
    collect(inventory, &mut links);
    if links.is_empty() {
        return (inventory.to_path_buf(), None);
    }
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let copy = fs::canonicalize(directory.path()).expect("it exists").join("inventory");
    copy_tree(inventory, &copy, &links);
    (copy, Some(directory))
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    fs::read_dir(directory).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())).collect()
}

fn collect(directory: &Path, links: &mut Vec<PathBuf>) {
    for path in entries(directory) {
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            collect(&path, links);
        } else if target(&path).is_some() {
            links.push(path);
        }
    }
}

/// The target that the file holds in place of being a link.
fn target(path: &Path) -> Option<String> {
    let size = fs::metadata(path).ok()?.len();
    let text = if size < 200 { fs::read_to_string(path).ok()? } else { return None };
    let is_path = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '/' | '-');
    (!text.is_empty() && text.chars().all(is_path)).then_some(text)
}

fn copy_tree(from: &Path, to: &Path, links: &[PathBuf]) {
    fs::create_dir_all(to).expect("the copy is ours");
    for path in entries(from) {
        let copy = to.join(path.file_name().unwrap_or_default());
        let link = links.contains(&path).then(|| target(&path)).flatten();
        let link = link.map(PathBuf::from).or_else(|| fs::read_link(&path).ok());
        if let Some(link) = link {
            std::os::unix::fs::symlink(link, copy).expect("the copy is ours");
        } else if path.is_dir() {
            copy_tree(&path, &copy, links);
        } else {
            fs::copy(&path, copy).expect("the copy is ours");
        }
    }
}
