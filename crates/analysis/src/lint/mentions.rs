//! Finds the files that have something at some paths, in one pass over the files. A check of a path then
//! looks at these files only, and not at all layers of all nodes.

use rustc_hash::{FxHashMap, FxHashSet};

use super::linter::{Linter, MergedSection};
use crate::survey::SurveyedFile;
use reclass::parts::model::{MapSlot, Slot};
use reclass_base::source::FileId;
use reclass_base::stack::grow;
use reclass_base::value::Key;

/// The files that have something at a path: a value, or in place of a container of it a value that is no
/// mapping. They are those for which [`MapSlot::at`] finds a slot.
pub struct Mentions<'p> {
    files: FxHashMap<&'p [Key], FxHashSet<FileId>>,
    none: FxHashSet<FileId>,
}

impl<'p> Mentions<'p> {
    /// The files that mention these paths in a section.
    pub fn of<'f>(
        linter: &Linter<'_>,
        section: MergedSection,
        files: impl Iterator<Item = &'f SurveyedFile>,
        paths: impl IntoIterator<Item = &'p [Key]>,
    ) -> Mentions<'p> {
        let mut tree = PathTree { branches: vec![PathBranch::default()] };
        paths.into_iter().for_each(|path| tree.add(path));
        for layer in files.filter_map(|file| file.layer.as_ref().ok()) {
            tree.enter(0, &linter.settled(section, layer), layer.file);
        }
        let ends = tree.branches.into_iter().filter_map(|branch| Some((branch.path?, branch.files)));
        Mentions { files: ends.collect(), none: FxHashSet::default() }
    }

    /// The files that mention one of the paths.
    pub fn at(&self, path: &[Key]) -> &FxHashSet<FileId> {
        self.files.get(path).unwrap_or(&self.none)
    }
}

struct PathTree<'p> {
    branches: Vec<PathBranch<'p>>,
}

#[derive(Default)]
struct PathBranch<'p> {
    /// Indexes of the branches below.
    below: FxHashMap<&'p Key, usize>,
    /// The path that ends here.
    path: Option<&'p [Key]>,
    files: FxHashSet<FileId>,
}

impl<'p> PathTree<'p> {
    fn add(&mut self, path: &'p [Key]) {
        let mut at = 0;
        for key in path {
            let next = self.branches.len();
            at = *self.branches[at].below.entry(key).or_insert(next);
            if at == next {
                self.branches.push(PathBranch::default());
            }
        }
        self.branches[at].path = Some(path);
    }

    /// Compares the branches below a branch with the map that a file has there.
    fn enter(&mut self, at: usize, map: &MapSlot, file: FileId) {
        let below = &self.branches[at].below;
        let met: Vec<(usize, &Slot)> = if below.len() <= map.entries.len() {
            below.iter().filter_map(|(key, at)| Some((*at, map.entries.get(*key)?))).collect()
        } else {
            map.entries.iter().filter_map(|(key, slot)| Some((*below.get(key)?, slot))).collect()
        };
        for (at, slot) in met {
            match slot {
                Slot::Map(inner) => {
                    self.mention(at, file);
                    grow(|| self.enter(at, inner, file));
                }
                _ => self.mention_all(at, file),
            }
        }
    }

    fn mention(&mut self, at: usize, file: FileId) {
        let branch = &mut self.branches[at];
        if branch.path.is_some() {
            branch.files.insert(file);
        }
    }

    /// The file mentions all paths from here on.
    fn mention_all(&mut self, at: usize, file: FileId) {
        let mut waiting = vec![at];
        while let Some(at) = waiting.pop() {
            self.mention(at, file);
            waiting.extend(self.branches[at].below.values());
        }
    }
}
