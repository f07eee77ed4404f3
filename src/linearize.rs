//! Linearization turns a node's class list into the ordered list of its layers.
//!
//! A class comes before the class that includes it, and only once: its first place counts
//! (S1). Names may contain references; those see the parameters merged so far (S4). Classes
//! are reached through [`Lookup`] only, which records what was asked, found or not.

mod parameters;
mod trail;

use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::engine::files::Sources;
use crate::engine::sequence::{Brought, Sequence, Step};
use crate::error::{Error, Fault, Kind, Link, Result, Warning, tell_most};
use crate::evaluate::{Evaluator, Locate, Root, Source};
use crate::layer::{ClassEntry, Layer, Subject, Unread};
use crate::mappings::Mapped;
use crate::merge::Prefixes;
use crate::points::point;
use crate::secrets::{MASK, Secrets};
use crate::settings::Settings;
use crate::slot::MapSlot;
use crate::source::{FileId, Origin, Site};
use crate::template::Template;
use crate::value::Text;

use parameters::sources;
pub use trail::Trail;

/// Where classes come from.
pub trait Lookup {
    /// The layer of a class, `None` for one that does not exist. An error is one of its file.
    fn class(&self, name: &str) -> Result<Option<Arc<Layer>>, Unread>;
    /// The folder that classes are looked for in, and a class of a similar name.
    fn about_missing(&self, name: &str) -> (String, Option<String>);
    /// Whether `ignore_class_notfound` covers this name. An error is one of the setting.
    fn may_be_missing(&self, name: &str) -> Result<bool, Fault>;
    /// Begins to record what is asked for.
    fn begin_record(&self);
    /// What was asked for since.
    fn recorded(&self) -> Sources;
    /// Adds to what is asked for.
    fn record(&self, sources: &Sources);
    /// Counts the times at which anything may have changed.
    fn generation(&self) -> u64;
    /// Whether files and names are what they were.
    fn current(&self, sources: &Sources) -> bool;
}

/// The parameters that come neither from a class nor from the node's file (S2).
#[derive(Debug, Default)]
pub struct Given {
    /// Input data: a pillar that was passed on.
    pub input: Option<Arc<MapSlot>>,
    /// `_reclass_`, as a whole map with that one key.
    pub automatic: Option<Arc<MapSlot>>,
    /// The node's own scalars under the `scalar_parameters` key, for class names alone.
    pub scalars: Option<Arc<MapSlot>>,
}

/// The key of the automatic parameters.
pub const AUTOMATIC: &str = "_reclass_";

/// One file that came in.
#[derive(Clone, Debug)]
pub struct Included {
    /// The name of the class; that of the node for its own file.
    pub name: Text,
    /// The file.
    pub file: FileId,
    /// Who included it.
    pub by: By,
    /// Where it is listed; [`Linearization`] knows it of what the node's file lists.
    pub listed: Origin,
}

/// One entry of a class list.
#[derive(Clone, Debug)]
pub struct Listed {
    /// The class that it came to.
    pub class: Text,
    /// Whose list it is.
    pub by: By,
    /// Where it stands.
    pub origin: Origin,
}

/// Who included a class.
#[derive(Clone, Debug)]
pub enum By {
    /// Nobody: it is the node.
    Node,
    /// A class mapping, as it is shown.
    Mapping(Text),
    /// The file with this index among those that came in; the node's own file is the first.
    Includer(usize),
}

/// The layers of a node, in the order in which they merge.
#[derive(Debug)]
pub struct Linearization {
    /// The classes, shared with other nodes; the node's own layer is not among them.
    pub sequence: Arc<Sequence>,
    /// Those that class mappings brought in.
    pub mapped: Arc<Sequence>,
    /// The names that the node's file lists, for `classes` of the result.
    shown: Vec<Text>,
    /// The classes that the node's file lists, and where.
    listed: Vec<(Text, Origin)>,
    /// Classes of mappings that are missing, and may be.
    missing: Vec<Listed>,
    /// The node.
    node: Included,
    /// What was noticed.
    pub warnings: Vec<Warning>,
}

/// What a linearization needs to know of the node.
#[derive(Debug)]
pub struct Subjects<'a> {
    /// The name of the node.
    pub name: &'a Text,
    /// Its own layer.
    pub layer: &'a Arc<Layer>,
    /// Whether nothing is missing in it but values that cannot be read.
    pub whole: bool,
    /// The classes that mappings give to it.
    pub mapped: &'a [Mapped],
    /// Other parameters.
    pub given: &'a Given,
}

/// A node whose layers are not in order.
#[derive(Debug)]
pub struct Disorder {
    /// Why.
    pub error: Error,
    /// The layers that could be found, only to look for more problems.
    pub rest: Linearization,
    /// Whether these are all, but for values that cannot be read.
    pub whole: bool,
}

/// Orders the layers of a node. All missing classes and unreadable files are reported at once.
pub fn linearize(
    subjects: &Subjects<'_>,
    root: &Arc<Sequence>,
    settings: &Settings,
    lookup: &dyn Lookup,
    sources: &dyn Locate,
) -> Result<Linearization, Box<Disorder>> {
    let mut linearizer = Linearizer {
        subjects,
        settings,
        prefixes: Prefixes::new(settings),
        lookup,
        sources,
        sequence: root.clone(),
        brought: Brought::default(),
        listed: Vec::new(),
        missing: Vec::new(),
        listed_as: None,
        shown: FxHashSet::default(),
        done: FxHashSet::default(),
        noted: root.clone(),
        active: Vec::new(),
        own: false,
        warnings: Vec::new(),
        faults: Vec::new(),
        gathered: Gathered::All,
        node: Included {
            name: subjects.name.clone(),
            file: subjects.layer.file,
            by: By::Node,
            listed: Origin::NONE,
        },
        mapped: root.clone(),
        before_node: true,
    };
    linearizer.mapped_classes();
    linearizer.before_node = false;
    if !subjects.whole {
        linearizer.not_all();
    }
    linearizer.mapped = linearizer.sequence.clone();
    let shown = linearizer.top(&subjects.layer.classes, None);
    let linearization = Linearization {
        sequence: linearizer.sequence,
        mapped: linearizer.mapped,
        shown,
        listed: linearizer.listed,
        missing: linearizer.missing,
        node: linearizer.node,
        warnings: linearizer.warnings,
    };
    let mut faults = linearizer.faults;
    if faults.is_empty() {
        Ok(linearization)
    } else {
        // An answer asks its sequence whether it holds; an error has none.
        linearization.sequence.steps().iter().for_each(|step| lookup.record(&step.brought.sources));
        let whole = linearizer.gathered == Gathered::All && faults.len() <= MAX_FAULTS;
        tell_most(&mut faults, MAX_FAULTS);
        let secrets = Secrets::of(settings);
        for fault in &mut faults {
            fault.node = Some(subjects.name.clone());
            secrets.withhold(fault, &settings.delimiter);
        }
        Err(Box::new(Disorder { error: Error::new(faults), rest: linearization, whole }))
    }
}

/// How many of the classes came in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Gathered {
    /// All, but for values that cannot be read.
    All,
    /// Not all.
    Some,
    /// A limit was met: nothing more comes in.
    Stopped,
}

struct Linearizer<'a> {
    subjects: &'a Subjects<'a>,
    settings: &'a Settings,
    prefixes: Prefixes,
    lookup: &'a dyn Lookup,
    sources: &'a dyn Locate,
    /// All steps that are complete.
    sequence: Arc<Sequence>,
    /// What the step that is not complete brought in so far.
    brought: Brought,
    /// Classes of the node's list, and where they stand there.
    listed: Vec<(Text, Origin)>,
    /// Classes of mappings that are missing, and may be: no step has them.
    missing: Vec<Listed>,
    /// What a missing class is called in the list that is looked at, where that is not its name.
    listed_as: Option<Text>,
    /// Names for `classes` of the result, from all steps up to `noted` and this one.
    shown: FxHashSet<Text>,
    /// Classes whose layers are in, likewise.
    done: FxHashSet<Text>,
    noted: Arc<Sequence>,
    /// Classes that are being entered: name, the name as it is listed, and the index of their file.
    active: Vec<(Text, Text, usize)>,
    /// Whether this step is nobody else's.
    own: bool,
    warnings: Vec<Warning>,
    faults: Vec<Fault>,
    gathered: Gathered,
    node: Included,
    /// Those that class mappings brought in.
    mapped: Arc<Sequence>,
    /// Whether only class mappings have been looked at so far.
    before_node: bool,
}

/// How deep classes may include one another.
const MAX_DEPTH: usize = 2_000;

/// How many problems of one node are told at once. Each names all classes on the way to it.
const MAX_FAULTS: usize = 100;

impl Linearizer<'_> {
    fn mapped_classes(&mut self) {
        let mut shown = Vec::new();
        for mapped in self.subjects.mapped {
            let by = By::Mapping(mapped.shown.clone());
            let (file, settings) = (FileId::NONE, self.settings);
            let subject = Subject { file, name: "", init: false, is_class: false, settings };
            // A dot at the start means nothing in a mapping.
            let entry = if mapped.class.starts_with('.') || mapped.literal {
                Ok(ClassEntry::plain(mapped.class.clone()))
            } else {
                let parse = |name: &Text| crate::template::parse(name, self.settings);
                crate::layer::class_entry(&mapped.class, subject, Origin::NONE, parse)
            };
            match entry {
                Ok(mut entry) => {
                    entry.alternatives.extend(mapped.alternative.clone());
                    shown.extend(self.top(std::slice::from_ref(&entry), Some(&by)));
                }
                Err(fault) => self.fail(self.in_mapping(fault, &mapped.shown)),
            }
        }
        if !shown.is_empty() {
            self.step(Step::Shown(shown.clone()), |linearizer| linearizer.list(shown));
        }
    }

    /// A problem for which a class does not come in.
    fn fail(&mut self, fault: Fault) {
        self.faults.push(fault);
        self.not_all();
    }

    /// Takes note that a class did not come in.
    fn not_all(&mut self) {
        if self.gathered == Gathered::All {
            self.gathered = Gathered::Some;
        }
    }

    /// Whether nothing more comes in.
    fn is_over(&self) -> bool {
        self.gathered == Gathered::Stopped || self.faults.len() > MAX_FAULTS
    }

    /// Brings in classes that the node lists, or a mapping gives to it, step by step.
    fn top(&mut self, entries: &[ClassEntry], mapping: Option<&By>) -> Vec<Text> {
        let by = mapping.unwrap_or(&By::Includer(0));
        let mut shown = Vec::with_capacity(entries.len());
        for entry in entries {
            if self.is_over() {
                break;
            }
            let resolved = match &entry.template {
                None => entry.lookup.clone(),
                Some(template) => match self.resolve(entry, template, by) {
                    Some(name) => name,
                    None => continue,
                },
            };
            if mapping.is_none() {
                self.listed.push((resolved.clone(), entry.origin));
            }
            if entry.alternatives.is_empty() {
                let mapping = match by {
                    By::Mapping(text) => Some(text.clone()),
                    _ => None,
                };
                self.step(Step::Class(resolved.clone(), mapping), |linearizer| {
                    linearizer.include(entry, &resolved, by);
                });
                shown.push(entry.name.clone());
            } else {
                let alternatives = entry.alternatives.iter().map(|name| (name.clone(), entry.origin));
                self.listed.extend(alternatives.filter(|_| mapping.is_none()));
                self.note();
                shown.push(self.include(entry, &resolved, by));
                self.complete();
            }
        }
        shown
    }

    /// Takes a step that another node has taken, or takes it for all.
    fn step(&mut self, step: Step, take: impl FnOnce(&mut Self)) {
        let generation = self.lookup.generation();
        let next = self.sequence.next(&step, generation, |sources| self.lookup.current(sources));
        if let Some(next) = next {
            self.sequence = next;
            return;
        }
        point("a class is brought in");
        self.note();
        self.own = false;
        let warnings = self.warnings.len();
        take(self);
        let before = self.sequence.clone();
        // What failed before may be why nothing fails now.
        let own = self.own || self.warnings.len() > warnings || !self.faults.is_empty();
        self.complete();
        // What brought nothing in has nothing to say when it no longer holds.
        if !own && !Arc::ptr_eq(&before, &self.sequence) {
            before.share(step, &self.sequence);
        }
    }

    /// Adds what was brought in to the sequence.
    fn complete(&mut self) {
        let mut brought = std::mem::take(&mut self.brought);
        brought.sources = self.lookup.recorded();
        if brought.layers.is_empty() && brought.classes.is_empty() {
            // A class that is there already, or is missing: it may have been asked for all the same.
            self.lookup.record(&brought.sources);
            return;
        }
        self.sequence = self.sequence.child(brought, self.lookup.generation());
        self.noted = self.sequence.clone();
    }

    /// Takes note of what shared steps brought in, and begins to record what is asked for.
    fn note(&mut self) {
        self.lookup.begin_record();
        if Arc::ptr_eq(&self.noted, &self.sequence) {
            return;
        }
        for step in self.sequence.steps_after(&self.noted) {
            self.shown.extend(step.classes.iter().cloned());
            self.done.extend(step.included.iter().map(|included| included.name.clone()));
        }
        self.noted = self.sequence.clone();
    }

    /// Appends the class list of one file that is complete.
    fn list(&mut self, shown: Vec<Text>) {
        for name in shown {
            if self.shown.insert(name.clone()) {
                self.brought.classes.push(name);
            }
        }
    }

    /// Brings in the parents of one file; gives back their names as the result shows them.
    fn parents(&mut self, entries: &[ClassEntry], by: &By) -> Vec<Text> {
        let mut shown = Vec::with_capacity(entries.len());
        for entry in entries {
            if self.is_over() {
                break;
            }
            let resolved = match &entry.template {
                None => entry.lookup.clone(),
                Some(template) => {
                    // What is merged so far holds what the node itself says.
                    self.own = true;
                    match self.resolve(entry, template, by) {
                        Some(name) => name,
                        None => continue,
                    }
                }
            };
            let name = self.include(entry, &resolved, by);
            let resolved = self.listed_as.take().unwrap_or(resolved);
            let class = if name == entry.name { resolved } else { name.clone() };
            self.brought.listings.push(Listed { class, by: by.clone(), origin: entry.origin });
            shown.push(name);
        }
        shown
    }

    /// Brings in one class under the first of its names that exists.
    fn include(&mut self, entry: &ClassEntry, resolved: &Text, by: &By) -> Text {
        if self.done.contains(resolved) {
            return entry.name.clone();
        }
        for (index, name) in std::iter::once(resolved).chain(&entry.alternatives).enumerate() {
            let shown = if index == 0 { entry.name.clone() } else { name.clone() };
            if self.done.contains(name) {
                return shown;
            }
            if let Some(at) = self.active.iter().position(|(active, ..)| active == name) {
                let fault = self.cycle(at, entry, by);
                self.fail(fault);
                return shown;
            }
            match self.lookup.class(name) {
                Ok(Some(layer)) => {
                    self.enter(name, &shown, &layer, entry.origin, by);
                    return shown;
                }
                Ok(None) => {}
                Err(Unread { error, rest }) => {
                    let chain = self.chain(by, name, entry.origin);
                    self.faults.extend(error.into_faults().into_iter().map(|mut fault| {
                        fault.chain.clone_from(&chain);
                        fault
                    }));
                    if !rest.as_ref().is_some_and(|rest| rest.whole) {
                        self.not_all();
                    }
                    match rest {
                        Some(rest) => self.enter(name, &shown, &rest.layer, entry.origin, by),
                        None => drop(self.done.insert(name.clone())),
                    }
                    return shown;
                }
            }
        }
        self.missing(entry, resolved, by);
        entry.name.clone()
    }

    fn enter(&mut self, name: &Text, written: &Text, layer: &Arc<Layer>, listed: Origin, by: &By) {
        let index = 1 + self.sequence.entered + self.brought.included.len();
        let most = self.settings.limit_classes as usize;
        let beyond = if self.active.len() >= MAX_DEPTH {
            Some(("the depth of class includes", MAX_DEPTH, None))
        } else {
            (index > most).then_some(("the number of classes of a node", most, Some("limit_classes")))
        };
        if let Some((what, limit, setting)) = beyond {
            let kind = Kind::EvaluationLimit { what, limit, setting };
            self.fail(self.place(Fault::new(kind), listed, by));
            self.gathered = Gathered::Stopped;
            return;
        }
        // Where the node's file lists it is for that node alone to know.
        let listed = if matches!(by, By::Includer(0)) { Origin::NONE } else { listed };
        let included = Included { name: name.clone(), file: layer.file, by: by.clone(), listed };
        self.brought.included.push(included);
        self.active.push((name.clone(), written.clone(), index));
        let shown = stacker::maybe_grow(128 * 1024, 2 * 1024 * 1024, || {
            self.parents(&layer.classes, &By::Includer(index))
        });
        self.active.pop();
        self.list(shown);
        self.brought.layers.push(layer.clone());
        self.done.insert(name.clone());
    }

    fn missing(&mut self, entry: &ClassEntry, name: &Text, by: &By) {
        let may_be_missing = match self.lookup.may_be_missing(name) {
            Ok(may_be_missing) => may_be_missing,
            Err(fault) => {
                // Its place is in the settings.
                let note = format!("of the class '{}'", entry.name);
                self.fail(fault.note(note, self.site(entry.origin)));
                return;
            }
        };
        if may_be_missing {
            if matches!(by, By::Mapping(_)) {
                let class = self.listed_name(entry, name);
                self.missing.push(Listed { class, by: by.clone(), origin: Origin::NONE });
            } else if entry.template.is_some() {
                let shown = self.listed_name(entry, name);
                match self.listed.iter_mut().find(|(_, origin)| *origin == entry.origin) {
                    Some((listed, _)) => *listed = shown,
                    None => self.listed_as = Some(shown),
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
        let (folder, similar) = self.lookup.about_missing(name);
        let kind = Kind::ClassNotFound {
            name: name.to_string(),
            written: entry.name.to_string(),
            folder,
            // The name may hold a parameter's value; what is similar to it would tell.
            similar: similar.filter(|_| entry.template.is_none()),
        };
        let fault = self.place(Fault::new(kind), entry.origin, by);
        let fault = self.with_name(fault, entry, name);
        self.fail(fault);
    }

    /// A problem with what the name of a class comes to. That is not in the sentence: the name holds a
    /// parameter's value, and the sentence may reach a minion. A secret in it is masked.
    fn with_name(&self, fault: Fault, entry: &ClassEntry, name: &Text) -> Fault {
        let Some(template) = &entry.template else { return fault };
        match self.shown_name(template, entry.origin, name) {
            Some(shown) => fault.note(format!("its name comes to '{shown}'"), None),
            None => fault.note("a secret is in its name", None),
        }
    }

    /// What the name of a class comes to without the secrets in it, if that can be computed.
    fn shown_name(&self, template: &Arc<Template>, origin: Origin, name: &Text) -> Option<Text> {
        let secrets = Secrets::of(self.settings);
        let root = self.merged_so_far().without(&secrets);
        let mut evaluator = Evaluator::new(root, self.settings, self.sources);
        let without = secrets.template(template);
        let shown = evaluator.class_name(without.as_ref().unwrap_or(template), origin).ok()?;
        (shown == **name || shown.contains(MASK)).then(|| shown.into())
    }

    /// The name of a missing class as explanations and graphs show it, without a secret in it.
    fn listed_name(&self, entry: &ClassEntry, name: &Text) -> Text {
        let Some(template) = &entry.template else { return name.clone() };
        self.shown_name(template, entry.origin, name).unwrap_or_else(|| MASK.into())
    }

    /// The text of a class name with references (S4). After a class is missing, nobody knows what such
    /// a name would come to (R5).
    fn resolve(&mut self, entry: &ClassEntry, template: &Arc<Template>, by: &By) -> Option<Text> {
        if self.gathered != Gathered::All {
            return None;
        }
        let mut evaluator = Evaluator::new(self.merged_so_far(), self.settings, self.sources);
        match evaluator.class_name(template, entry.origin) {
            Ok(name) => Some(name.into()),
            Err(faults) => {
                // Without a problem, it is one of a value that cannot be read.
                self.not_all();
                let unresolved = |reference: &str, similar: Option<&String>| Kind::ClassReference {
                    written: entry.name.to_string(),
                    reference: reference.to_owned(),
                    similar: similar.cloned(),
                };
                let mut behind = Vec::new();
                for mut fault in faults {
                    match &fault.kind {
                        Kind::ReferenceNotFound { reference, similar, .. }
                            if fault.origin == Some(entry.origin) =>
                        {
                            fault.kind = unresolved(reference, similar.as_ref());
                            fault.path = None;
                            fault.chain = self.chain_of(by);
                            self.faults.push(match by {
                                By::Mapping(mapping) => self.in_mapping(fault, mapping),
                                By::Node | By::Includer(_) => fault,
                            });
                        }
                        _ => behind.push(fault),
                    }
                }
                if !behind.is_empty() {
                    // What the name refers to cannot be resolved itself.
                    let mut fault = self.place(Fault::new(unresolved(&entry.name, None)), entry.origin, by);
                    fault.causes = behind;
                    self.faults.push(fault);
                }
                None
            }
        }
    }

    /// What references in class names see.
    fn merged_so_far(&self) -> Root {
        let none = Given::default();
        let given = if self.before_node { &none } else { self.subjects.given };
        // The scalars of the node come before everything: what classes say counts.
        let scalars = given.scalars.iter().cloned().map(Source::Map);
        let mapped = if self.before_node { &self.sequence } else { &self.mapped };
        let classes = sources(&self.sequence, mapped, &self.brought.layers, given, &self.prefixes);
        Root::of(scalars.chain(classes).collect(), &self.prefixes)
    }

    fn cycle(&self, at: usize, entry: &ClassEntry, by: &By) -> Fault {
        let mut names: Vec<&str> = self.active[at..].iter().map(|(_, name, _)| &**name).collect();
        names.push(names[0]);
        let mut fault = Fault::new(Kind::ClassCycle { cycle: names.join(" -> ") });
        for (_, name, index) in &self.active[at..] {
            let listed = self.trail().included(*index).map(|included| self.trail().listed(included));
            fault = fault.note(format!("'{name}' is listed here"), listed.and_then(|at| self.site(at)));
        }
        self.place(fault, entry.origin, by)
    }

    fn place(&self, fault: Fault, origin: Origin, by: &By) -> Fault {
        let mut fault = fault.at(origin);
        fault.site = self.site(origin);
        fault.chain = self.chain_of(by);
        if let By::Mapping(mapping) = by {
            fault = self.in_mapping(fault, mapping);
        }
        fault
    }

    /// A problem that a class mapping brought in.
    fn in_mapping(&self, mut fault: Fault, mapping: &Text) -> Fault {
        let mapped = self.subjects.mapped.iter().find(|mapped| mapped.shown == *mapping);
        fault.setting = mapped.map(|mapped| ("class_mappings", mapped.mapping.clone()));
        fault.note(format!("in the class mapping '{mapping}'"), None)
    }

    fn site(&self, origin: Origin) -> Option<Site> {
        trail::site(origin, self.sources)
    }

    fn chain_of(&self, by: &By) -> Vec<Link> {
        match by {
            By::Includer(index) => self.trail().chain(*index, self.sources),
            By::Node | By::Mapping(_) => Vec::new(),
        }
    }

    fn trail(&self) -> Trail<'_> {
        Trail {
            node: &self.node,
            listed: &self.listed,
            missing: &self.missing,
            sequence: &self.sequence,
            brought: Some(&self.brought),
        }
    }

    fn chain(&self, by: &By, name: &Text, listed: Origin) -> Vec<Link> {
        let mut chain = self.chain_of(by);
        chain.push(Link {
            includer: self.trail().includer(by),
            class: name.clone(),
            site: self.site(listed),
        });
        chain
    }
}
