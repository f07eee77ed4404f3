//! Builds the faults of a linearization, with their sites and include chains.

use super::{IncludeChains, IncludedBy, Linearizer, ListedClass};
use crate::model::layer::ClassEntry;
use reclass_base::error::{Fault, Kind, Link};
use reclass_base::source::Origin;
use reclass_base::value::Text;

impl Linearizer<'_> {
    pub(super) fn missing(&mut self, entry: &ClassEntry, name: &Text, by: &IncludedBy) {
        let may_be_missing = match self.lookup.may_be_missing(name) {
            Ok(may_be_missing) => may_be_missing,
            Err(fault) => {
                // The fault is about the setting, so the class is only a note.
                let note = format!("of the class '{}'", entry.name);
                self.fail(fault.note(note, self.sources.site(entry.origin)));
                return;
            }
        };
        if may_be_missing {
            if matches!(by, IncludedBy::Mapping(_)) {
                let class = self.listed_name(entry, name);
                self.unused.push(ListedClass { class, by: by.clone(), origin: Origin::NONE });
            } else if entry.template.is_some() {
                let shown = self.listed_name(entry, name);
                match self.listed.iter_mut().find(|(_, origin)| *origin == entry.origin) {
                    Some((listed, _)) => *listed = shown,
                    None => self.displayed_name = Some(shown),
                }
            }
            if self.settings.ignore_class_notfound_warning {
                let kind = Kind::ClassSkipped { name: entry.name.to_string() };
                let warning = self.place(Fault::new(kind), entry.origin, by);
                let warning = self.with_name(warning, entry, name);
                self.warnings.push(warning);
            }
            return;
        }
        let leading: Vec<&str> = self.active.iter().map(|(_, name, _)| &**name).collect();
        let (folder, similar) = self.lookup.missing_hint(name, &leading);
        let kind = Kind::ClassNotFound {
            name: name.to_string(),
            written: entry.name.to_string(),
            folder,
            // The name may contain a parameter's value, and a similar name would reveal it.
            similar: similar.filter(|_| entry.template.is_none() && !entry.wild),
            shown: None,
        };
        let fault = self.place(Fault::new(kind), entry.origin, by);
        let fault = match entry.missing_note() {
            Some(note) => fault.note(note, None),
            None => fault,
        };
        let fault = if self.settings.ignore_class_notfound {
            // Python programs know one of the two names only, and ignore the class by the other (S16).
            let names = "'ignore_class_notfound_regexp', also called 'ignore_class_regexp'";
            fault.note(
                format!("'ignore_class_notfound' does not skip it, because {names}, does not match it"),
                None,
            )
        } else {
            fault
        };
        let fault = self.with_name(fault, entry, name);
        self.fail(fault);
    }

    pub(super) fn cycle(&self, at: usize, entry: &ClassEntry, by: &IncludedBy) -> Fault {
        let mut names: Vec<&str> = self.active[at..].iter().map(|(_, name, _)| &**name).collect();
        names.push(names[0]);
        let mut fault = Fault::new(Kind::ClassCycle { cycle: names.join(" -> ") });
        for (_, name, index) in &self.active[at..] {
            let listed =
                self.include_chains().included(*index).map(|included| self.include_chains().listed(included));
            fault =
                fault.note(format!("'{name}' is listed here"), listed.and_then(|at| self.sources.site(at)));
        }
        let mut fault = self.place(fault, entry.origin, by);
        // The include chain has most of these steps.
        let chain = &fault.chain;
        fault.notes.retain(|note| note.site.is_none() || chain.iter().all(|link| link.site != note.site));
        fault
    }

    pub(super) fn place(&self, fault: Fault, origin: Origin, by: &IncludedBy) -> Fault {
        let mut fault = fault.at(origin);
        fault.site = self.sources.site(origin);
        fault.chain = self.chain_of(by);
        if let IncludedBy::Mapping(mapping) = by {
            fault = self.in_mapping(fault, mapping);
        }
        fault
    }

    /// Adds the class mapping that caused a fault.
    pub(super) fn in_mapping(&self, mut fault: Fault, mapping: &Text) -> Fault {
        let mapped = self.input.mapped.iter().find(|mapped| mapped.mapping == *mapping);
        fault.setting = mapped.map(|mapped| ("class_mappings", mapped.mapping.clone()));
        fault.note(format!("in the class mapping '{mapping}'"), None)
    }

    pub(super) fn chain_of(&self, by: &IncludedBy) -> Vec<Link> {
        match by {
            IncludedBy::Includer(index) => self.include_chains().chain(*index, self.sources),
            IncludedBy::Node | IncludedBy::Mapping(_) => Vec::new(),
        }
    }

    fn include_chains(&self) -> IncludeChains<'_> {
        IncludeChains {
            node: &self.node,
            listed: &self.listed,
            unused: &self.unused,
            sequence: &self.sequence,
            added: Some(&self.added),
        }
    }

    pub(super) fn chain(&self, by: &IncludedBy, name: &Text, listed: Origin) -> Vec<Link> {
        let mut chain = self.chain_of(by);
        chain.push(Link {
            includer: self.include_chains().includer(by),
            class: name.clone(),
            site: self.sources.site(listed),
        });
        chain
    }
}
