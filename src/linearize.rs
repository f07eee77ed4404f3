//! Linearization turns a node's class list into the ordered list of its layers.
//!
//! A class comes before the class that includes it, and only once: its first place counts
//! (S1). Names may contain references; those see the parameters merged so far (S4). Classes
//! are reached through [`Lookup`] only, which records what was asked, found or not.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::engine::prefix::Prefix;
use crate::error::{Error, Fault, Kind, Link, Result, Warning};
use crate::evaluate::{Evaluator, Locate, Root};
use crate::layer::{ClassEntry, Layer, Subject};
use crate::mappings::Mapped;
use crate::merge::{Prefixes, merge_maps};
use crate::settings::Settings;
use crate::slot::MapSlot;
use crate::source::{FileId, Origin, Site};
use crate::template::Template;
use crate::value::Text;

/// Where classes come from.
pub trait Lookup {
    /// The layer of a class, `None` for one that does not exist. An error is one of its file.
    fn class(&self, name: &str) -> Result<Option<Arc<Layer>>>;
    /// The folder that classes are looked for in, and a class of a similar name.
    fn about_missing(&self, name: &str) -> (String, Option<String>);
    /// Whether `ignore_class_notfound` covers this name.
    fn may_be_missing(&self, name: &str) -> bool;
}

/// The parameters that come neither from a class nor from the node's file (S2).
#[derive(Clone, Debug, Default)]
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
    /// Where it is listed.
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
    /// A class mapping.
    Mapping(Text),
    /// The file with this index in [`Linearization::included`].
    Includer(usize),
}

/// The layers of a node, in the order in which they merge.
#[derive(Debug)]
pub struct Linearization {
    /// The classes, the node's own layer not among them.
    pub layers: Vec<Arc<Layer>>,
    /// How many of them class mappings brought in.
    pub mapped: usize,
    /// The merged state of all of `layers`, shared with other nodes.
    pub prefix: Arc<Prefix>,
    /// The merged state of the mapped ones.
    pub mapped_prefix: Arc<Prefix>,
    /// `classes` of the result (S3).
    pub classes: Vec<Text>,
    /// Every file that came in, the node first.
    pub included: Vec<Included>,
    /// Every entry of every class list on the way, whether it brought its class in or not.
    pub listings: Vec<Listed>,
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
    /// The classes that mappings give to it.
    pub mapped: &'a [Mapped],
    /// Other parameters.
    pub given: &'a Given,
}

/// Orders the layers of a node. All missing classes and unreadable files are reported at once.
pub fn linearize(
    subjects: &Subjects<'_>,
    root: &Arc<Prefix>,
    settings: &Settings,
    lookup: &dyn Lookup,
    sources: &dyn Locate,
) -> Result<Linearization> {
    let mut linearizer = Linearizer {
        given: subjects.given,
        settings,
        prefixes: Prefixes::new(settings),
        lookup,
        sources,
        output: Linearization {
            layers: Vec::new(),
            mapped: 0,
            prefix: root.clone(),
            mapped_prefix: root.clone(),
            classes: Vec::new(),
            included: vec![Included {
                name: subjects.name.clone(),
                file: subjects.layer.file,
                by: By::Node,
                listed: Origin::NONE,
            }],
            listings: Vec::new(),
            warnings: Vec::new(),
        },
        listed: FxHashSet::default(),
        done: FxHashSet::default(),
        active: Vec::new(),
        faults: Vec::new(),
        before_node: true,
    };
    linearizer.mapped_classes(subjects);
    linearizer.before_node = false;
    linearizer.output.mapped = linearizer.output.layers.len();
    linearizer.output.mapped_prefix = linearizer.output.prefix.clone();
    let shown = linearizer.parents(&subjects.layer.classes, &By::Includer(0));
    linearizer.list(shown);
    if linearizer.faults.is_empty() {
        Ok(linearizer.output)
    } else {
        let mut faults = linearizer.faults;
        for fault in &mut faults {
            fault.node = Some(subjects.name.clone());
            if !settings.group_errors {
                break;
            }
        }
        if !settings.group_errors {
            faults.truncate(1);
        }
        Err(Error::new(faults))
    }
}

struct Linearizer<'a> {
    given: &'a Given,
    settings: &'a Settings,
    prefixes: Prefixes,
    lookup: &'a dyn Lookup,
    sources: &'a dyn Locate,
    output: Linearization,
    /// Names in `output.classes`.
    listed: FxHashSet<Text>,
    /// Classes whose layers are in.
    done: FxHashSet<Text>,
    /// Classes that are being entered: name, and the index of their `included`.
    active: Vec<(Text, usize)>,
    faults: Vec<Fault>,
    /// Whether only class mappings have been looked at so far.
    before_node: bool,
}

/// How deep classes may include one another.
const MAX_DEPTH: usize = 2_000;

impl Linearizer<'_> {
    fn mapped_classes(&mut self, subjects: &Subjects<'_>) {
        let mut shown = Vec::new();
        for mapped in subjects.mapped {
            let by = By::Mapping(mapped.mapping.clone());
            let subject = Subject { file: FileId::NONE, name: "", init: false, settings: self.settings };
            // A dot at the start means nothing in a mapping.
            let entry = if mapped.class.starts_with('.') {
                Ok(ClassEntry::plain(mapped.class.clone()))
            } else {
                crate::layer::class_entry(&mapped.class, subject, Origin::NONE)
            };
            match entry {
                Ok(mut entry) => {
                    entry.alternatives.extend(mapped.alternative.clone());
                    shown.extend(self.parents(std::slice::from_ref(&entry), &by));
                }
                Err(fault) => {
                    self.faults.push(fault.note(format!("in the class mapping '{}'", mapped.mapping), None));
                }
            }
        }
        self.list(shown);
    }

    /// Appends the class list of one file that is complete.
    fn list(&mut self, shown: Vec<Text>) {
        for name in shown {
            if self.listed.insert(name.clone()) {
                self.output.classes.push(name);
            }
        }
    }

    /// Brings in the parents of one file; gives back their names as the result shows them.
    fn parents(&mut self, entries: &[ClassEntry], by: &By) -> Vec<Text> {
        let mut shown = Vec::with_capacity(entries.len());
        for entry in entries {
            let resolved = match &entry.template {
                None => entry.lookup.clone(),
                Some(template) => match self.resolve(entry, template, by) {
                    Some(name) => name,
                    None => continue,
                },
            };
            let name = self.include(entry, &resolved, by);
            let class = if name == entry.name { resolved } else { name.clone() };
            self.output.listings.push(Listed { class, by: by.clone(), origin: entry.origin });
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
            if let Some(at) = self.active.iter().position(|(active, _)| active == name) {
                let fault = self.cycle(at, entry, by);
                self.faults.push(fault);
                return shown;
            }
            match self.lookup.class(name) {
                Ok(Some(layer)) => {
                    self.enter(name, &layer, entry.origin, by);
                    return shown;
                }
                Ok(None) => {}
                Err(error) => {
                    let chain = self.chain(by, name, entry.origin);
                    self.faults.extend(error.into_faults().into_iter().map(|mut fault| {
                        fault.chain.clone_from(&chain);
                        fault
                    }));
                    self.done.insert(name.clone());
                    return shown;
                }
            }
        }
        self.missing(entry, resolved, by);
        entry.name.clone()
    }

    fn enter(&mut self, name: &Text, layer: &Arc<Layer>, listed: Origin, by: &By) {
        if self.active.len() >= MAX_DEPTH {
            let kind = Kind::EvaluationLimit { what: "the depth of class includes", limit: MAX_DEPTH };
            self.faults.push(self.place(Fault::new(kind), listed, by));
            return;
        }
        let index = self.output.included.len();
        self.output.included.push(Included { name: name.clone(), file: layer.file, by: by.clone(), listed });
        self.active.push((name.clone(), index));
        let shown = stacker::maybe_grow(128 * 1024, 2 * 1024 * 1024, || {
            self.parents(&layer.classes, &By::Includer(index))
        });
        self.active.pop();
        self.list(shown);
        self.output.prefix = self.output.prefix.child(layer);
        self.output.layers.push(layer.clone());
        self.done.insert(name.clone());
    }

    fn missing(&mut self, entry: &ClassEntry, name: &Text, by: &By) {
        if self.lookup.may_be_missing(name) {
            if self.settings.ignore_class_notfound_warning {
                let kind = Kind::ClassSkipped { name: name.to_string() };
                let warning = self.place(Fault::new(kind), entry.origin, by);
                self.output.warnings.push(warning);
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
        let mut fault = self.place(Fault::new(kind), entry.origin, by);
        if entry.template.is_some() {
            // Not in the sentence: the name holds a parameter's value, and the sentence may reach a minion.
            fault = fault.note(format!("its name comes to '{name}'"), None);
        }
        self.faults.push(fault);
    }

    /// The text of a class name with references (S4).
    fn resolve(&mut self, entry: &ClassEntry, template: &Arc<Template>, by: &By) -> Option<Text> {
        let mut evaluator = Evaluator::new(self.merged_so_far(), self.settings, self.sources);
        match evaluator.class_name(template, entry.origin) {
            Ok(name) => Some(name.into()),
            // After a class is missing, what it would have set is missing too.
            Err(_) if !self.faults.is_empty() => None,
            Err(faults) => {
                for mut fault in faults {
                    if let Kind::ReferenceNotFound { reference, .. } = &fault.kind
                        && fault.origin == Some(entry.origin)
                    {
                        fault.kind = Kind::ClassReference {
                            written: entry.name.to_string(),
                            reference: reference.clone(),
                        };
                    }
                    fault.path = None;
                    fault.chain = self.chain_of(by);
                    self.faults.push(fault);
                }
                None
            }
        }
    }

    /// What references in class names see.
    fn merged_so_far(&self) -> Root {
        if self.before_node {
            return Root::whole(self.output.prefix.merged(&self.prefixes).parameters.clone());
        }
        // The scalars of the node come before everything: what classes say counts.
        let scalars = self.given.scalars.iter().cloned();
        Root::of(scalars.chain(self.output.parameters(self.given, &self.prefixes)).collect())
    }

    fn cycle(&self, at: usize, entry: &ClassEntry, by: &By) -> Fault {
        let mut names: Vec<&str> = self.active[at..].iter().map(|(name, _)| &**name).collect();
        names.push(names[0]);
        let mut fault = Fault::new(Kind::ClassCycle { cycle: names.join(" -> ") });
        for (name, index) in &self.active[at..] {
            let included = &self.output.included[*index];
            fault = fault.note(format!("'{name}' is listed here"), self.site(included.listed));
        }
        self.place(fault, entry.origin, by)
    }

    fn place(&self, fault: Fault, origin: Origin, by: &By) -> Fault {
        let mut fault = fault.at(origin);
        fault.site = self.site(origin);
        fault.chain = self.chain_of(by);
        if let By::Mapping(mapping) = by {
            fault = fault.note(format!("in the class mapping '{mapping}'"), None);
        }
        fault
    }

    fn site(&self, origin: Origin) -> Option<Site> {
        self.output.site(origin, self.sources)
    }

    fn chain_of(&self, by: &By) -> Vec<Link> {
        match by {
            By::Includer(index) => self.output.chain(*index, self.sources),
            By::Node | By::Mapping(_) => Vec::new(),
        }
    }

    fn chain(&self, by: &By, name: &Text, listed: Origin) -> Vec<Link> {
        let mut chain = self.chain_of(by);
        chain.push(Link { includer: self.output.includer(by), class: name.clone(), site: self.site(listed) });
        chain
    }
}

impl Linearization {
    /// Whether the shared merged state cannot be used as it is: input data comes in between, or
    /// a class has a say in the automatic parameters.
    pub fn needs_own_fold(&self, given: &Given) -> bool {
        given.input.is_some()
            || (given.automatic.is_some()
                && self.layers.iter().any(|layer| layer.parameters.entries.contains_key(AUTOMATIC)))
    }

    /// The parameters of all layers so far, as maps that are still to be merged in this order.
    /// Those of the classes are shared with other nodes.
    pub fn parameters(&self, given: &Given, prefixes: &Prefixes) -> Vec<Arc<MapSlot>> {
        if self.needs_own_fold(given) {
            return vec![self.fold(given, prefixes)];
        }
        let shared = self.prefix.merged(prefixes).parameters.clone();
        std::iter::once(shared).chain(given.automatic.clone()).collect()
    }

    /// The parameters of all layers so far, merged one by one in the order of ruling S2.
    pub fn fold(&self, given: &Given, prefixes: &Prefixes) -> Arc<MapSlot> {
        let mapped = self.mapped.min(self.layers.len());
        let layers =
            |range: &[Arc<Layer>]| range.iter().map(|layer| layer.parameters.clone()).collect::<Vec<_>>();
        layers(&self.layers[..mapped])
            .into_iter()
            .chain(given.input.clone())
            .chain(given.automatic.clone())
            .chain(layers(&self.layers[mapped..]))
            .fold(Arc::new(MapSlot::empty()), |merged, layer| merge_maps(merged, &layer, prefixes))
    }

    /// How the file with this index came in, from the node down.
    pub fn chain(&self, index: usize, sources: &dyn Locate) -> Vec<Link> {
        let mut chain = Vec::new();
        let mut at = index;
        while let Some(included) = self.included.get(at) {
            if matches!(included.by, By::Node) {
                break;
            }
            chain.push(Link {
                includer: self.includer(&included.by),
                class: included.name.clone(),
                site: self.site(included.listed, sources),
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
    pub fn chain_of_file(&self, file: FileId, sources: &dyn Locate) -> Vec<Link> {
        let index = self.included.iter().position(|included| included.file == file);
        index.map_or_else(Vec::new, |index| self.chain(index, sources))
    }

    /// Who that is, as links of a chain say it.
    pub fn includer(&self, by: &By) -> String {
        match by {
            By::Node => "node".into(),
            By::Mapping(mapping) => format!("class mapping '{mapping}'"),
            By::Includer(index) => match self.included.get(*index) {
                Some(Included { by: By::Node, name, .. }) => format!("node '{name}'"),
                Some(included) => format!("class '{}'", included.name),
                None => String::new(),
            },
        }
    }

    #[expect(clippy::unused_self, reason = "reads like its siblings")]
    fn site(&self, origin: Origin, sources: &dyn Locate) -> Option<Site> {
        let (path, span) = sources.locate(origin)?;
        Some(Site { path, line: span.line + 1, column: span.column + 1, length: 0 })
    }
}
