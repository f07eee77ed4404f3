//! Names turn the files of a tree into what each is called, and back into the one that a name stands
//! for.
//!
//! Every question about an unknown inventory needs all names, if only to know that no name has two
//! files, and asks for a few of them: all stand one behind another in one text, and what is more to
//! be known of one is put together when it is asked for.

use std::hash::BuildHasher as _;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

use crate::error::{Error, Fault, Kind, Result};
use crate::settings::Settings;
use crate::storage::fs::display;
use crate::storage::{Found, Listing};
use crate::value::Text;

/// What a name stands for.
#[derive(Clone, Debug)]
pub struct Item {
    /// The name of the node or class.
    pub name: Text,
    /// Whether the file is an `init.yml`.
    pub init: bool,
    /// What the path of its file is, as an address begins.
    scheme: &'static str,
    /// The file; a node that mappings alone make has none.
    found: Option<Found>,
    path: OnceLock<Arc<Path>>,
}

/// A path of the file system.
pub const FOLDER: &str = "yaml_fs://";
/// A path of a repository, behind its address and the branch, with a space in between.
pub const REPOSITORY: &str = "git_fs://";

impl Item {
    /// A node that has no file.
    pub fn without_file(name: Text) -> Item {
        Item { name, init: false, scheme: FOLDER, found: None, path: OnceLock::new() }
    }

    /// Its file: an absolute path, or repository, branch and path; empty where there is none. Put
    /// together when it is first asked for.
    pub fn path(&self) -> &Arc<Path> {
        self.path.get_or_init(|| self.found.as_ref().map(Found::path).unwrap_or_default().into())
    }

    /// Whether this is the path of its file.
    pub fn is_at(&self, path: &Path) -> bool {
        self.found.as_ref().is_some_and(|found| found.is_at(path))
    }

    /// The address of its file, as the Python programs write it.
    pub fn uri(&self) -> String {
        format!("{}{}", self.scheme, display(self.path()))
    }

    /// The path of a node below the root without extension, for `class_mappings_match_path`. In a
    /// repository it begins at the top.
    pub fn pathname(&self, settings: &Settings) -> Text {
        let Some(found) = &self.found else { return self.name.clone() };
        let (inside, stem) = (found.folder.inside(), found.stem());
        match (inside.is_empty(), settings.compose_node_name || self.scheme == REPOSITORY) {
            (true, true) => (&*stem).into(),
            // The forks say so, and patterns were written for it (S19).
            (true, false) => format!("./{stem}").into(),
            (false, _) => format!("{inside}/{stem}").into(),
        }
    }

    /// The keys of the name of a node for automatic parameters: folders and file where names are
    /// composed.
    pub fn parts(&self, settings: &Settings) -> Vec<Text> {
        let Some(found) = &self.found else { return vec![self.name.clone()] };
        if settings.compat_flags.split_literal_dots {
            return self.name.split('.').map(Text::from).collect();
        }
        let inside = found.folder.inside();
        let folders = if super::is_composed(&inside, settings) { &*inside } else { "" };
        let folders = folders.split('/').filter(|folder| !folder.is_empty());
        folders.map(Text::from).chain(std::iter::once((&*found.stem()).into())).collect()
    }
}

/// Equal are items of the same name and file.
impl PartialEq for Item {
    fn eq(&self, other: &Item) -> bool {
        (&self.name, self.scheme, &self.found) == (&other.name, other.scheme, &other.found)
    }
}

/// The names of one tree.
#[derive(Default, Debug)]
pub struct Names {
    scheme: &'static str,
    listing: Listing,
    spelled: Spelled,
    /// What they stand for, as many as files of the listing, where somebody asked.
    items: Box<[OnceLock<Box<Item>>]>,
    /// Their files, sorted by name, where somebody asked for all.
    order: OnceLock<Box<[usize]>>,
}

/// The names of files, in the order in which the files were given.
#[derive(Default, Debug)]
struct Spelled {
    /// One behind another.
    text: String,
    /// Where each ends, and whether it is that of an `init.yml`.
    ends: Vec<(usize, bool)>,
    numbers: HashTable<usize>,
}

impl Spelled {
    fn name(&self, number: usize) -> &str {
        nth(&self.text, &self.ends, number)
    }

    fn find(&self, name: &str) -> Option<usize> {
        self.numbers.find(FxBuildHasher.hash_one(name), |number| self.name(*number) == name).copied()
    }

    /// Adds the name of the next file; the number of the one that is called the same, if there is one.
    fn add(&mut self, name: &str, init: bool) -> Option<usize> {
        let hash = FxBuildHasher.hash_one(name);
        let same = self.numbers.find(hash, |number| self.name(*number) == name).copied();
        let number = self.ends.len();
        self.text.push_str(name);
        self.ends.push((self.text.len(), init));
        let Spelled { text, ends, numbers } = self;
        numbers.insert_unique(hash, number, |number| FxBuildHasher.hash_one(nth(text, ends, *number)));
        same
    }
}

fn nth<'t>(text: &'t str, ends: &[(usize, bool)], number: usize) -> &'t str {
    let start = number.checked_sub(1).map_or(0, |before| ends[before].0);
    &text[start..ends[number].0]
}

/// How the files of a tree are called.
pub(super) struct Naming<P, N> {
    what: &'static str,
    scheme: &'static str,
    prefix: P,
    name: N,
}

impl<P: Fn(&str) -> String, N: Fn(&str, usize) -> (&str, bool)> Naming<P, N> {
    /// What is called so, and what paths are, as an address begins; what all names in a folder begin
    /// with; what a name comes to that begins with so many bytes for its folder, and whether it is
    /// that of an `init.yml`.
    pub(super) fn new(what: &'static str, scheme: &'static str, prefix: P, name: N) -> Naming<P, N> {
        Naming { what, scheme, prefix, name }
    }

    /// The names of files. One name with two files is an error (S6), which tells of the first one by
    /// path: files are listed in no order.
    pub(super) fn names(&self, listing: Listing) -> Result<Names> {
        match self.spell(&listing, 0..listing.len()) {
            Ok(spelled) => Ok(Names {
                scheme: self.scheme,
                items: (0..listing.len()).map(|_| OnceLock::new()).collect(),
                listing,
                spelled,
                order: OnceLock::new(),
            }),
            Err(twice) => {
                let sorted = listing.by_path();
                let first = self.spell(&listing, sorted.iter().copied()).err();
                Err(self.twice(&listing, &first.unwrap_or(twice)))
            }
        }
    }

    fn spell(&self, listing: &Listing, files: impl Iterator<Item = usize>) -> Result<Spelled, Twice> {
        let stems = listing.stems();
        let count = listing.len();
        let mut spelled = Spelled {
            text: String::with_capacity(count * 24),
            ends: Vec::with_capacity(count),
            numbers: HashTable::with_capacity(count),
        };
        let mut given = Vec::with_capacity(count);
        let (mut folder, mut whole, mut begin) = (None, String::new(), 0);
        for file in files {
            let inside = listing.folder(file);
            if folder.is_none_or(|before| !Arc::ptr_eq(before, inside)) {
                folder = Some(inside);
                whole = (self.prefix)(&inside.inside());
                begin = whole.len();
            }
            whole.truncate(begin);
            whole.push_str(&stems.get(file));
            given.push(file);
            let (name, init) = (self.name)(&whole, begin);
            if let Some(first) = spelled.add(name, init) {
                return Err(Twice { name: name.into(), files: [given[first], file] });
            }
        }
        Ok(spelled)
    }

    fn twice(&self, listing: &Listing, twice: &Twice) -> Error {
        let [first, second] = twice.files.map(|file| display(&listing.found(file).path()));
        let name = twice.name.clone();
        Fault::new(Kind::DuplicateDefinition { what: self.what, name, first, second }).into()
    }
}

/// A name with two files.
struct Twice {
    name: String,
    files: [usize; 2],
}

impl Names {
    fn item(&self, number: usize) -> &Item {
        self.items[number].get_or_init(|| {
            Box::new(Item {
                name: self.spelled.name(number).into(),
                init: self.spelled.ends[number].1,
                scheme: self.scheme,
                found: Some(self.listing.found(number)),
                path: OnceLock::new(),
            })
        })
    }

    /// What a name stands for.
    pub fn get(&self, name: &str) -> Option<&Item> {
        self.spelled.find(name).map(|number| self.item(number))
    }

    /// Whether there is such a name.
    pub fn contains_key(&self, name: &str) -> bool {
        self.spelled.find(name).is_some()
    }

    /// All items, sorted by name.
    pub fn values(&self) -> impl Iterator<Item = &Item> + Clone {
        let order = self.order.get_or_init(|| {
            let mut order: Box<[usize]> = (0..self.items.len()).collect();
            order.sort_unstable_by_key(|number| self.spelled.name(*number));
            order
        });
        order.iter().map(|number| self.item(*number))
    }

    /// All names, sorted.
    pub fn keys(&self) -> impl Iterator<Item = &Text> + Clone {
        self.values().map(|item| &item.name)
    }

    /// The item whose file has this path.
    pub fn at(&self, path: &Path) -> Option<&Item> {
        let number = (0..self.items.len()).find(|number| self.listing.is_at(*number, path))?;
        Some(self.item(number))
    }
}

/// Equal are trees with the same names for the same files.
impl PartialEq for Names {
    fn eq(&self, other: &Names) -> bool {
        let same = |number: usize| {
            let found = other.spelled.find(self.spelled.name(number));
            found.is_some_and(|found| self.listing.is_same_file(number, &other.listing, found))
        };
        self.scheme == other.scheme
            && self.items.len() == other.items.len()
            && (0..self.items.len()).all(same)
    }
}
