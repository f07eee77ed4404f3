//! Include chains: for each file of a node, the files that lead to it.

use crate::engine::sequence::{IncludedBy, IncludedFile, ListedClass};
use crate::engine::sequence::{Sequence, StepAdditions};
use crate::evaluate::Locate;
use reclass_base::error::Link;
use reclass_base::source::{FileId, Origin};
use reclass_base::value::Text;

/// All files included for a node so far.
#[derive(Clone, Copy, Debug)]
pub struct IncludeChains<'a> {
    /// The node: the first file.
    pub node: &'a IncludedFile,
    /// The classes in the node's own list, with their positions.
    pub listed: &'a [(Text, Origin)],
    /// Entries of class mappings without effect: the class is missing and ignored, or already included.
    pub unused: &'a [ListedClass],
    /// The complete steps.
    pub sequence: &'a Sequence,
    /// The additions of the current step.
    pub added: Option<&'a StepAdditions>,
}

impl<'a> IncludeChains<'a> {
    /// All files, the node first, each with the position where it is listed.
    pub fn all(self) -> Vec<IncludedFile> {
        let classes = self.classes().map(|one| IncludedFile { listed: self.listed(one), ..one.clone() });
        std::iter::once(self.node.clone()).chain(classes).collect()
    }

    /// All entries of class lists, with or without effect.
    pub fn listings(self) -> Vec<ListedClass> {
        let own = self.listed.iter().map(|(class, origin)| ListedClass {
            class: class.clone(),
            by: IncludedBy::Includer(0),
            origin: *origin,
        });
        let mapped = self.classes().filter(|one| matches!(one.by, IncludedBy::Mapping(_)));
        let mapped =
            mapped.map(|one| ListedClass { class: one.name.clone(), by: one.by.clone(), origin: one.listed });
        let steps = self.sequence.steps().into_iter().flat_map(|step| step.added.listings.iter().cloned());
        mapped.chain(self.unused.iter().cloned()).chain(own).chain(steps).collect()
    }

    /// The files after the node's own, in inclusion order.
    fn classes(self) -> impl Iterator<Item = &'a IncludedFile> {
        let steps = self.sequence.steps().into_iter().flat_map(|step| &step.added.included);
        steps.chain(self.added.into_iter().flat_map(|added| &added.included))
    }

    /// The file with this index, as in [`IncludedBy::Includer`].
    pub fn included(self, index: usize) -> Option<&'a IncludedFile> {
        match index.checked_sub(1) {
            None => Some(self.node),
            Some(index) => self.classes().nth(index),
        }
    }

    /// The entry of this file.
    pub fn of_file(self, file: FileId) -> Option<&'a IncludedFile> {
        std::iter::once(self.node).chain(self.classes()).find(|included| included.file == file)
    }

    /// The position where a file is listed.
    pub fn listed(self, included: &IncludedFile) -> Origin {
        match included.by {
            IncludedBy::Includer(0) => {
                let entry = self.listed.iter().find(|(name, _)| *name == included.name);
                entry.map_or(Origin::NONE, |(_, origin)| *origin)
            }
            _ => included.listed,
        }
    }

    /// The include chain of the file with this index, from the node down.
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

    /// The include chain of a file that holds a value.
    pub fn chain_of_file(self, file: FileId, sources: &dyn Locate) -> Vec<Link> {
        let index = self.classes().position(|included| included.file == file);
        let index = index.or_else(|| {
            let (is_class, owner) = sources.owner(file)?;
            self.classes().position(|included| is_class && included.name == owner)
        });
        index.map_or_else(Vec::new, |index| self.chain(index + 1, sources))
    }

    /// What includes a class, for messages.
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
