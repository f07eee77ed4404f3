//! Documents the classes of an inventory, as authors of formulas did by hand: what a class is for, the parameters
//! that it sets, who uses it, who sets them again, and what it expects of others.

mod data;
mod markdown;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::comments::{KeyComments, key_comments};
use crate::inclusions::{FileKind, Graph};
use crate::schema::{Description, Schemas};
use crate::survey::{Survey, SurveyedFile};
use reclass::Inventory;
use reclass::parts::engine::{AUTOMATIC, Computation};
use reclass::parts::model::merge::settled;
use reclass::parts::model::{Layer, MapSlot, Part, Prefixes, Slot, Template, visit};
use reclass::redact::Redaction;
use reclass_base::error::Result;
use reclass_base::path::join_path;
use reclass_base::source::{FileId, Origin};
use reclass_base::value::{Key, Text};

pub use crate::comments::first_comment;
pub use data::{ClassDocs, DocsPlace, DocsPlaces, Documentation, ExpectedParameter, Names, ParameterDocs};
pub use markdown::{pages, stream};

/// The documentation of all classes, sorted by name. Secrets are hidden.
pub fn docs(inventory: &Inventory, redaction: &Redaction) -> Result<Documentation> {
    inventory.inspect(|computation| {
        let survey = Survey::of(computation);
        let graph = Graph::of_all(&survey);
        let left_out = survey.nodes.iter().filter(|node| node.is_broken()).count();
        let classes = Documenter::new(computation, &survey, &graph, redaction).classes();
        Documentation { classes, left_out }
    })
}

/// A place that sets a path.
#[derive(Clone, Copy)]
struct Setter {
    /// The index of its file.
    file: usize,
    origin: Origin,
    /// Whether it is no mapping, so that it stands for all that may be below.
    is_leaf: bool,
    /// Whether it has the prefix that replaces earlier values.
    overrides: bool,
}

struct Documenter<'a> {
    computation: &'a Computation<'a>,
    survey: &'a Survey,
    redaction: &'a Redaction,
    prefixes: Prefixes,
    /// The folder of the inventory with a slash at its end.
    folder: String,
    numbers: FxHashMap<FileId, usize>,
    /// The files of classes by name: several trees may have the same class.
    files: FxHashMap<&'a str, Vec<&'a SurveyedFile>>,
    /// The places that set a parameter or export, by file.
    setters: [FxHashMap<Vec<Key>, Vec<Setter>>; 2],
    includes: FxHashMap<&'a str, Vec<Text>>,
    included_by: FxHashMap<&'a str, Vec<(FileKind, Text)>>,
    mapped: FxHashMap<&'a str, BTreeSet<Text>>,
    /// The schemas of parameters, if they can be read.
    schemas: Option<Arc<Schemas>>,
}

impl<'a> Documenter<'a> {
    fn new(
        computation: &'a Computation<'a>,
        survey: &'a Survey,
        graph: &'a Graph,
        redaction: &'a Redaction,
    ) -> Documenter<'a> {
        let base = computation.settings.inventory_base_uri.as_deref().unwrap_or_default();
        let folder = reclass::parts::storage::fs::absolute(None, Path::new(base)).unwrap_or_default();
        let folder = format!("{}/", reclass::parts::storage::fs::display(&folder).trim_end_matches('/'));
        let number = |(at, file): (usize, &SurveyedFile)| Some((file.layer.as_ref().ok()?.file, at));
        let mut documenter = Documenter {
            computation,
            survey,
            redaction,
            prefixes: Prefixes::new(computation.settings),
            folder,
            numbers: survey.files.iter().enumerate().filter_map(number).collect(),
            files: FxHashMap::default(),
            setters: Default::default(),
            includes: FxHashMap::default(),
            included_by: FxHashMap::default(),
            mapped: FxHashMap::default(),
            schemas: Schemas::of_computation(computation).ok().flatten(),
        };
        for (at, file) in survey.files.iter().enumerate() {
            if file.is_class {
                documenter.files.entry(&file.name).or_default().push(file);
            }
            if let Ok(layer) = &file.layer {
                for (section, map) in [&layer.parameters, &layer.exports].into_iter().enumerate() {
                    let map = settled(map, &documenter.prefixes);
                    collect_setters(&map, at, &mut documenter.setters[section]);
                }
            }
        }
        for vertex in &graph.files {
            for (class, _) in &vertex.lists {
                let class: &'a str = class;
                documenter.included_by.entry(class).or_default().push((vertex.kind, vertex.name.clone()));
                if vertex.kind == FileKind::Class {
                    documenter.includes.entry(&vertex.name).or_default().push(class.into());
                }
            }
            for (mapping, class) in &vertex.mapped {
                documenter.mapped.entry(class).or_default().insert(mapping.clone());
            }
        }
        documenter
    }

    fn classes(&self) -> Vec<ClassDocs> {
        self.survey.files.iter().filter(|file| file.is_class).map(|file| self.class(file)).collect()
    }

    fn class(&self, file: &SurveyedFile) -> ClassDocs {
        let name: &str = &file.name;
        let text = self.computation.inputs.files.text(&file.path).unwrap_or_default();
        let layer = file.layer.as_ref().ok();
        let comment = self.redaction.masked(&first_comment(&text));
        let [parameters, exports] = if layer.is_some() {
            let delimiter = &self.computation.settings.delimiter;
            key_comments(&text, Some(&self.prefixes), delimiter, self.redaction)
        } else {
            Default::default()
        };
        let files_later = self.later_files(file);
        let listed = self.included_by.get(name).map(Vec::as_slice).unwrap_or_default();
        let of_kind = |kind: FileKind| {
            let names = listed.iter().filter(move |(one, _)| *one == kind).map(|(_, name)| name.clone());
            let mut names: Vec<Text> = names.collect();
            names.sort_unstable();
            names.dedup();
            names
        };
        ClassDocs {
            name: file.name.clone(),
            file: self.relative(&file.path),
            comment,
            is_readable: layer.is_some(),
            nodes: Names::first_of(self.survey.names(&file.nodes)),
            includes: self.includes.get(name).cloned().unwrap_or_default(),
            included_by: of_kind(FileKind::Class),
            listed_by: Names::first_of(of_kind(FileKind::Node)),
            mappings: self.mapped.get(name).into_iter().flatten().cloned().collect(),
            applications: layer.map_or_else(Vec::new, |layer| {
                let added = layer.applications.additions.iter().map(|(name, _)| name.clone());
                let removed = layer.applications.removals.iter().map(|(name, _)| format!("~{name}").into());
                added.chain(removed).collect()
            }),
            parameters: layer.map_or_else(Vec::new, |layer| {
                self.section(0, (file, &layer.parameters), &parameters, &files_later)
            }),
            exports: layer.map_or_else(Vec::new, |layer| {
                self.section(1, (file, &layer.exports), &exports, &files_later)
            }),
            expects: layer.map_or_else(Vec::new, |layer| self.expected(file, layer)),
        }
    }

    /// A path from the folder of the inventory on, if it is in it.
    fn relative(&self, path: &str) -> String {
        path.strip_prefix(&self.folder).unwrap_or(path).to_owned()
    }

    /// The files that a node merges after a class.
    fn later_files(&self, class: &SurveyedFile) -> FxHashSet<usize> {
        let Ok(own) = &class.layer else { return FxHashSet::default() };
        let mut later = FxHashSet::default();
        for node in self.survey.kinds(class) {
            let files =
                node.all_layers().map(|layer| layer.file).skip_while(|file| *file != own.file).skip(1);
            later.extend(files.filter_map(|file| self.numbers.get(&file)));
        }
        later.extend(self.node_files(class));
        later
    }

    fn node_files(&self, class: &SurveyedFile) -> impl Iterator<Item = usize> {
        let own = self.survey.users(class).filter_map(|node| node.files().next());
        own.filter_map(|file| self.numbers.get(&file)).copied()
    }

    /// The leaves of a section in the order of the file, and the comments of containers.
    fn section(
        &self,
        section: usize,
        (class, map): (&SurveyedFile, &Arc<MapSlot>),
        comments: &KeyComments,
        later: &FxHashSet<usize>,
    ) -> Vec<ParameterDocs> {
        let delimiter = &self.computation.settings.delimiter;
        let mut rows: Vec<ParameterDocs> = Vec::new();
        let redaction =
            class.layer.as_ref().map_or(Cow::Borrowed(self.redaction), |layer| self.redaction.within(layer));
        let scope = self.schemas.as_ref().filter(|_| section == 0);
        let scope = scope.map(|schemas| schemas.scope(self.survey.users_with_classes(class)));
        settled(map, &self.prefixes).visit(&mut |path, slot| {
            let is_inner = matches!(slot, Slot::Map(map) if !map.entries.is_empty());
            let shown = join_path(path, delimiter);
            let comment = comments.get(&shown).cloned().unwrap_or_default();
            if matches!(slot, Slot::Stack(_)) || is_inner {
                // `a` and `~a` in one file have one path.
                if !comment.is_empty() && rows.last().is_none_or(|row| row.path != shown) {
                    let schema = self.described(scope.as_deref(), path);
                    rows.push(ParameterDocs { path: shown, comment, schema, ..ParameterDocs::default() });
                }
                return true;
            }
            let value = redaction.slot(path, slot, &self.prefixes);
            if rows.last().is_some_and(|row| row.path == shown) {
                rows.pop();
            }
            rows.push(ParameterDocs {
                path: shown,
                kind: type_of(slot),
                default: Some(value),
                comment,
                schema: self.described(scope.as_deref(), path),
                // Later layers add to an empty mapping.
                set_again: match slot {
                    Slot::Map(_) => DocsPlaces::default(),
                    _ => self.places(self.set_again(section, path, later)),
                },
            });
            false
        });
        rows
    }

    /// The description of a parameter by the schemas for the nodes that have a class.
    fn described(&self, scope: Option<&[bool]>, path: &[Key]) -> Option<Description> {
        self.schemas.as_ref()?.description(scope?, path, &self.redaction.secrets)
    }

    /// The places in later files that have something at a path, or replace what is above it.
    fn set_again(&self, section: usize, path: &[Key], later: &FxHashSet<usize>) -> Vec<Setter> {
        self.setters(section, path, |setter, is_above| {
            later.contains(&setter.file) && (!is_above || setter.is_leaf || setter.overrides)
        })
    }

    /// The places at a path, and above it, for which `counts` is true.
    fn setters(&self, section: usize, path: &[Key], counts: impl Fn(&Setter, bool) -> bool) -> Vec<Setter> {
        let depths = (1..=path.len()).flat_map(|depth| {
            let setters = self.setters[section].get(&path[..depth]).into_iter().flatten();
            setters.map(move |setter| (setter, depth < path.len()))
        });
        depths.filter(|(setter, is_above)| counts(setter, *is_above)).map(|(setter, _)| *setter).collect()
    }

    /// The first places, those of classes before those of nodes; one of each file.
    fn places(&self, mut setters: Vec<Setter>) -> DocsPlaces {
        setters.sort_by_key(|setter| setter.file);
        setters.dedup_by_key(|setter| setter.file);
        DocsPlaces::first_of(setters, |setter| {
            let file = self.survey.files.get(setter.file)?;
            let mut site = reclass::parts::evaluate::site(self.computation.inputs, setter.origin, None)?;
            site.path = self.relative(&site.path).into();
            Some(DocsPlace { name: file.name.clone(), is_class: file.is_class, site })
        })
    }

    /// The parameters that a class refers to and that neither it nor a class that it includes sets.
    fn expected(&self, class: &SurveyedFile, layer: &Layer) -> Vec<ExpectedParameter> {
        let own = self.own_maps(class);
        let mut found: BTreeMap<Vec<Text>, ExpectedParameter> = BTreeMap::new();
        let grains = &*self.computation.settings.grains_key;
        let delimiter = &self.computation.settings.delimiter;
        let mut mention = |template: &Template, by: String| {
            visit::references(&template.parts, &mut |reference| {
                let Some(path) = &reference.fixed else { return };
                let first = path.segments.first().map(AsRef::as_ref);
                if first == Some(AUTOMATIC) || first == Some(grains) {
                    return;
                }
                let keys: Vec<Key> = path.segments.iter().cloned().map(Key::from).collect();
                if own.iter().any(|map| map.at(&keys).is_some()) {
                    return;
                }
                let entry = found.entry(path.segments.clone()).or_insert_with(|| ExpectedParameter {
                    path: join_path(&keys, delimiter),
                    used_by: Vec::new(),
                    has_default: true,
                    set_by: self.set_by(class, &keys),
                });
                entry.has_default &= path.default.is_some();
                if !entry.used_by.contains(&by) {
                    entry.used_by.push(by.clone());
                }
            });
        };
        for entry in &layer.classes {
            if let Some(template) = &entry.template {
                mention(template, "classes".to_owned());
            }
        }
        for (map, section) in [(&layer.parameters, ""), (&layer.exports, "exports:")] {
            settled(map, &self.prefixes).texts(&mut |path, template, _| {
                mention(template, format!("{section}{}", join_path(path, delimiter)));
            });
        }
        found.into_values().collect()
    }

    /// The parameters of a class and of all classes that it includes.
    fn own_maps(&self, class: &SurveyedFile) -> Vec<Arc<MapSlot>> {
        let mut names: Vec<&str> = vec![&class.name];
        let mut seen: FxHashSet<&str> = names.iter().copied().collect();
        while let Some(name) = names.pop() {
            let included = self.includes.get(name).into_iter().flatten();
            names.extend(included.map(|name| &**name).filter(|name| seen.insert(name)));
        }
        let files = seen.iter().flat_map(|name| self.files.get(name).into_iter().flatten());
        let layers = files.filter_map(|file| file.layer.as_ref().ok());
        layers.map(|layer| settled(&layer.parameters, &self.prefixes)).collect()
    }

    /// The places that set a parameter in nodes that have the class; for a class without nodes, in any file.
    fn set_by(&self, class: &SurveyedFile, path: &[Key]) -> DocsPlaces {
        let mut beside: FxHashSet<usize> = self.node_files(class).collect();
        for node in self.survey.kinds(class) {
            beside.extend(node.all_layers().filter_map(|layer| self.numbers.get(&layer.file)));
        }
        self.places(self.setters(0, path, |setter, is_above| {
            (class.nodes.is_empty() || beside.contains(&setter.file)) && (!is_above || setter.is_leaf)
        }))
    }
}

/// Adds the places of a file that set something, containers included.
fn collect_setters(map: &MapSlot, file: usize, all: &mut FxHashMap<Vec<Key>, Vec<Setter>>) {
    map.visit(&mut |path, slot| {
        let is_inner = matches!(slot, Slot::Map(_) | Slot::Stack(_));
        let overrides =
            matches!(slot, Slot::Stack(stack) if stack.entries.iter().any(|entry| entry.prefix.overrides));
        let setter = Setter { file, origin: slot.origin(), is_leaf: !is_inner, overrides };
        match all.get_mut(path) {
            Some(setters) => match setters.last_mut() {
                // The values of a stack have its path.
                Some(last) if last.file == file => last.is_leaf |= !is_inner,
                _ => setters.push(setter),
            },
            None => drop(all.insert(path.to_vec(), vec![setter])),
        }
        is_inner
    });
}

/// The type of a value as written; a reference takes that of its target.
fn type_of(slot: &Slot) -> &'static str {
    match slot {
        Slot::Value(value, _) => value.type_name(),
        Slot::Text(template, _) => match template.parts.as_slice() {
            [Part::Reference(_)] => "reference",
            _ => "string",
        },
        Slot::Query(..) => "query",
        Slot::List(_) => "list",
        Slot::Raw(_) | Slot::Map(_) => "mapping",
        Slot::Stack(_) => type_of(slot.winner()),
    }
}
