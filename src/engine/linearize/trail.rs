//! The trail of a node turns a file that came in into the chain of those that brought it in.

use rustc_hash::FxHashSet;

use crate::base::error::Link;
use crate::base::source::{FileId, Origin};
use crate::base::value::Text;
use crate::engine::linearize::{By, Included, Listed};
use crate::engine::sequence::{Brought, Sequence};
use crate::evaluate::Locate;

/// Every file that came in for a node so far.
#[derive(Clone, Copy, Debug)]
pub struct Trail<'a> {
    /// The node: the first file.
    pub node: &'a Included,
    /// The classes that its file lists, and where.
    pub listed: &'a [(Text, Origin)],
    /// What mappings list for nothing: classes that are missing and may be, or are in already.
    pub idle: &'a [Listed],
    /// What complete steps brought in.
    pub sequence: &'a Sequence,
    /// What the step that is not complete brought in.
    pub brought: Option<&'a Brought>,
}

impl<'a> Trail<'a> {
    /// Every file that came in, the node first, each with the place where it is listed.
    pub fn all(self) -> Vec<Included> {
        let classes = self.classes().map(|one| Included { listed: self.listed(one), ..one.clone() });
        std::iter::once(self.node.clone()).chain(classes).collect()
    }

    /// Every entry of the lists of classes, whether it brought its class in or not.
    pub fn listings(self) -> Vec<Listed> {
        let names: FxHashSet<&Text> = self.classes().map(|included| &included.name).collect();
        let mut own: Vec<Listed> = Vec::new();
        for (class, origin) in self.listed {
            // A relative name stands here under each of its forms: the one that exists counts.
            match own.last_mut() {
                Some(last) if last.origin == *origin => {
                    if !names.contains(&last.class) && names.contains(class) {
                        last.class = class.clone();
                    }
                }
                _ => own.push(Listed { class: class.clone(), by: By::Includer(0), origin: *origin }),
            }
        }
        let mapped = self.classes().filter(|one| matches!(one.by, By::Mapping(_)));
        let mapped =
            mapped.map(|one| Listed { class: one.name.clone(), by: one.by.clone(), origin: one.listed });
        let steps = self.sequence.steps().into_iter().flat_map(|step| step.brought.listings.iter().cloned());
        mapped.chain(self.idle.iter().cloned()).chain(own).chain(steps).collect()
    }

    /// The files after the node's own, in the order in which they came in.
    fn classes(self) -> impl Iterator<Item = &'a Included> {
        let steps = self.sequence.steps().into_iter().flat_map(|step| &step.brought.included);
        steps.chain(self.brought.into_iter().flat_map(|brought| &brought.included))
    }

    /// The file with this index, as [`By::Includer`] has it.
    pub fn included(self, index: usize) -> Option<&'a Included> {
        match index.checked_sub(1) {
            None => Some(self.node),
            Some(index) => self.classes().nth(index),
        }
    }

    /// How a file came in.
    pub fn of_file(self, file: FileId) -> Option<&'a Included> {
        std::iter::once(self.node).chain(self.classes()).find(|included| included.file == file)
    }

    /// Where a file is listed by what brought it in.
    pub fn listed(self, included: &Included) -> Origin {
        match included.by {
            By::Includer(0) => {
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
        while let Some(included) = self.included(at).filter(|included| !matches!(included.by, By::Node)) {
            chain.push(Link {
                includer: self.includer(&included.by),
                class: included.name.clone(),
                site: sources.site(self.listed(included)),
            });
            match included.by {
                By::Includer(up) => at = up,
                By::Node | By::Mapping(_) => break,
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
    pub fn includer(self, by: &By) -> String {
        match by {
            By::Node => "node".into(),
            By::Mapping(mapping) => format!("class mapping '{mapping}'"),
            By::Includer(index) => match self.included(*index) {
                Some(Included { by: By::Node, name, .. }) => format!("node '{name}'"),
                Some(included) => format!("class '{}'", included.name),
                None => String::new(),
            },
        }
    }
}
