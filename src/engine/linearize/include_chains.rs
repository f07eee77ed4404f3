//! The include_chains of a node turns a file that came in into the chain of those that added it in.

use rustc_hash::FxHashSet;

use crate::base::error::Link;
use crate::base::source::{FileId, Origin};
use crate::base::value::Text;
use crate::engine::linearize::{IncludedBy, IncludedFile, ListedClass};
use crate::engine::sequence::{Sequence, StepAdditions};
use crate::evaluate::Locate;

/// Every file that came in for a node so far.
#[derive(Clone, Copy, Debug)]
pub struct IncludeChains<'a> {
    /// The node: the first file.
    pub node: &'a IncludedFile,
    /// The classes that its file lists, and where.
    pub listed: &'a [(Text, Origin)],
    /// What mappings list for nothing: classes that are missing and may be, or are in already.
    pub unused: &'a [ListedClass],
    /// What complete steps added in.
    pub sequence: &'a Sequence,
    /// What the step that is not complete added in.
    pub added: Option<&'a StepAdditions>,
}

impl<'a> IncludeChains<'a> {
    /// Every file that came in, the node first, each with the place where it is listed.
    pub fn all(self) -> Vec<IncludedFile> {
        let classes = self.classes().map(|one| IncludedFile { listed: self.listed(one), ..one.clone() });
        std::iter::once(self.node.clone()).chain(classes).collect()
    }

    /// Every entry of the lists of classes, whether it added its class in or not.
    pub fn listings(self) -> Vec<ListedClass> {
        let names: FxHashSet<&Text> = self.classes().map(|included| &included.name).collect();
        let mut own: Vec<ListedClass> = Vec::new();
        for (class, origin) in self.listed {
            // A relative name stands here under each of its forms: the one that exists counts.
            match own.last_mut() {
                Some(last) if last.origin == *origin => {
                    if !names.contains(&last.class) && names.contains(class) {
                        last.class = class.clone();
                    }
                }
                _ => own.push(ListedClass {
                    class: class.clone(),
                    by: IncludedBy::Includer(0),
                    origin: *origin,
                }),
            }
        }
        let mapped = self.classes().filter(|one| matches!(one.by, IncludedBy::Mapping(_)));
        let mapped =
            mapped.map(|one| ListedClass { class: one.name.clone(), by: one.by.clone(), origin: one.listed });
        let steps = self.sequence.steps().into_iter().flat_map(|step| step.added.listings.iter().cloned());
        mapped.chain(self.unused.iter().cloned()).chain(own).chain(steps).collect()
    }

    /// The files after the node's own, in the order in which they came in.
    fn classes(self) -> impl Iterator<Item = &'a IncludedFile> {
        let steps = self.sequence.steps().into_iter().flat_map(|step| &step.added.included);
        steps.chain(self.added.into_iter().flat_map(|added| &added.included))
    }

    /// The file with this index, as [`IncludedBy::Includer`] has it.
    pub fn included(self, index: usize) -> Option<&'a IncludedFile> {
        match index.checked_sub(1) {
            None => Some(self.node),
            Some(index) => self.classes().nth(index),
        }
    }

    /// How a file came in.
    pub fn of_file(self, file: FileId) -> Option<&'a IncludedFile> {
        std::iter::once(self.node).chain(self.classes()).find(|included| included.file == file)
    }

    /// Where a file is listed by what added it in.
    pub fn listed(self, included: &IncludedFile) -> Origin {
        match included.by {
            IncludedBy::Includer(0) => {
                let entry = self.listed.iter().find(|(name, _)| *name == included.name);
                entry.map_or(Origin::NONE, |(_, origin)| *origin)
            }
            _ => included.listed,
        }
    }

    /// How the file with this index came in, from the node down.
    pub fn chain(self, index: usize, sources: &dyn Locate) -> Vec<Link> {
        let mut chain = Vec::new();
        let mut at = index;
        while let Some(included) =
            self.included(at).filter(|included| !matches!(included.by, IncludedBy::Node))
        {
            chain.push(Link {
                includer: self.includer(&included.by),
                class: included.name.clone(),
                site: sources.site(self.listed(included)),
            });
            match included.by {
                IncludedBy::Includer(up) => at = up,
                IncludedBy::Node | IncludedBy::Mapping(_) => break,
            }
        }
        chain.reverse();
        chain
    }

    /// The chain of the file that holds a value.
    pub fn chain_of_file(self, file: FileId, sources: &dyn Locate) -> Vec<Link> {
        let index = self.classes().position(|included| included.file == file);
        index.map_or_else(Vec::new, |index| self.chain(index + 1, sources))
    }

    /// Who included a class, in words.
    pub fn includer(self, by: &IncludedBy) -> String {
        match by {
            IncludedBy::Node => "node".into(),
            IncludedBy::Mapping(mapping) => format!("class mapping '{mapping}'"),
            IncludedBy::Includer(index) => match self.included(*index) {
                Some(IncludedFile { by: IncludedBy::Node, name, .. }) => format!("node '{name}'"),
                Some(included) => format!("class '{}'", included.name),
                None => String::new(),
            },
        }
    }
}
