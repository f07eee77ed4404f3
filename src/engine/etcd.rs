//! Soft metadata in etcd as layers: one for each key, after the class or node that the key names.
//!
//! All keys of one class or node are one input: a subject. An answer depends on the subjects of its classes
//! and of its node, with or without keys, so a change of a key concerns only the nodes with its class.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::engine::fetch_state::FetchState;
use crate::engine::files::{Files, Version, duplicate_keys};
use crate::engine::fingerprint::ByteSource;
use crate::model::layer::{Incomplete, Layer, LayerResult, LayerSource};
use crate::model::merge::{Prefixes, map_of_values};
use crate::model::slot::{MapSlot, Slot};
use crate::model::template::Template;
use crate::storage::etcd::{DEEPEST_KEY, Etcd, EtcdKey, EtcdRecord};
use crate::storage::fs::display;
use crate::storage::git::Blob;
use crate::storage::overlay::Overlay;
use reclass_base::error::{Error, Fault, Kind, Result};
use reclass_base::lock::Mutex;
use reclass_base::secrets::{Cover, Secrets};
use reclass_base::settings::Settings;
use reclass_base::source::{FileId, Origin, Site, Span, Spans};
use reclass_base::value::{Key, Map, Text, Value};
use reclass_yaml::compose::{Data, Document, DocumentLimits, Entry, Node, compose_within};
use reclass_yaml::to_value;

/// The key of soft metadata among the parameters.
const PARAMETERS: &str = "_param";

/// The owner of a subject.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct EtcdOwner {
    /// Whether it is a class, and not a node.
    pub is_class: bool,
    /// Its name.
    pub name: Text,
}

/// The keys of one class or node, sorted, and a name for this state of them; without keys it is empty.
#[derive(Default, Debug)]
struct EtcdSubject {
    keys: Vec<SubjectKey>,
    object: Arc<str>,
}

/// A key, and its place among the parameters.
#[derive(Clone, PartialEq, Eq, Debug)]
struct SubjectKey {
    key: EtcdKey,
    /// The names below `_param`.
    path: Vec<Text>,
}

/// The data in etcd, and the layers made from them.
#[derive(Debug)]
pub struct EtcdTree {
    store: Etcd,
    state: Mutex<EtcdState>,
    /// The layers of each subject that was read, by its number.
    layers: Mutex<FxHashMap<FileId, SubjectLayers>>,
    /// The owner of each key with a layer.
    owners: Mutex<FxHashMap<FileId, EtcdOwner>>,
}

#[derive(Debug, Default)]
struct EtcdState {
    record: Option<Arc<EtcdRecord>>,
    subjects: FxHashMap<EtcdOwner, Arc<EtcdSubject>>,
    /// How often the keys of an owner changed.
    changes: u64,
}

impl EtcdSubject {
    fn blob(&self, bytes: Arc<[u8]>) -> Arc<Blob> {
        Arc::new(Blob { object: self.object.clone(), bytes })
    }
}

/// The layers of the keys of one subject, and its version that they were built from.
type SubjectLayers = (Version, Arc<[LayerResult]>);

impl EtcdTree {
    /// The data that the settings name; `None` without `etcd_endpoints`. Reads nothing.
    pub fn of(settings: &Settings) -> Result<Option<EtcdTree>> {
        let tree = |store| EtcdTree {
            store,
            state: Mutex::default(),
            layers: Mutex::default(),
            owners: Mutex::default(),
        };
        Ok(Etcd::of(settings)?.map(tree))
    }

    /// Reads the current data, with a key in another state if the overlay is for one, and returns whether any key
    /// changed.
    pub fn refresh(&self, files: &Files, overlay: Option<&Overlay>) -> Result<bool> {
        let record = self.store.current_record()?;
        let record = overlay.map_or_else(|| record.clone(), |overlay| record.overlaid(overlay).into());
        let mut state = self.state.lock();
        let before = state.record.replace(record.clone());
        if before.is_some_and(|before| Arc::ptr_eq(&before, &record) || before.keys == record.keys) {
            return Ok(false);
        }
        let owners = state.subjects.keys().map(|owner| (owner.clone(), Vec::new()));
        let mut now: BTreeMap<EtcdOwner, Vec<SubjectKey>> = owners.collect();
        for key in record.keys.iter() {
            if let Some((owner, path)) = place(self.store.prefix(), &key.key) {
                now.entry(owner).or_default().push(SubjectKey { key: key.clone(), path });
            }
        }
        let before = state.changes;
        for (owner, keys) in now {
            if state.subjects.get(&owner).is_some_and(|subject| subject.keys == keys) {
                continue;
            }
            state.changes += 1;
            let object = if keys.is_empty() { Arc::default() } else { state.changes.to_string().into() };
            let subject = EtcdSubject { keys, object };
            files.set_source(&subject_path(&owner), ByteSource::Blob(subject.blob(Arc::default())));
            if subject.keys.is_empty() {
                state.subjects.remove(&owner);
            } else {
                state.subjects.insert(owner, Arc::new(subject));
            }
        }
        Ok(state.changes > before)
    }

    /// The state at the last reading.
    pub fn fetch_state(&self) -> Option<FetchState> {
        let record = self.state.lock().record.clone()?;
        Some(FetchState {
            source: self.store.endpoints().to_owned(),
            commits: BTreeMap::new(),
            fetched: record.times.fetched.map(|moment| moment.clock),
            since: None,
            failed: record.times.last_failure(),
            stale: self.store.warning(&record),
        })
    }

    /// The owner of a key that has a layer.
    pub fn owner(&self, file: FileId) -> Option<EtcdOwner> {
        self.owners.lock().get(&file).cloned()
    }

    /// The keys below the prefix without an owner that `exists`, each with its place.
    pub fn orphans(&self, exists: &dyn Fn(&EtcdOwner) -> bool) -> Vec<(Text, Option<EtcdOwner>, Site)> {
        let record = self.state.lock().record.clone();
        let keys = record.iter().flat_map(|record| record.keys.iter());
        let orphan = |key: &EtcdKey| {
            let owner = place(self.store.prefix(), &key.key).map(|(owner, _)| owner);
            let is_read = owner.as_ref().is_some_and(exists);
            (!is_read).then(|| (key.key.clone(), owner, Site::file(shown(key))))
        };
        keys.filter_map(orphan).collect()
    }

    /// The layers of a class or node, and the number and version of this input.
    pub fn layers(
        &self,
        owner: &EtcdOwner,
        files: &Files,
        scan: u64,
        settings: &Settings,
    ) -> (FileId, u64, Arc<[LayerResult]>) {
        let subject = self.state.lock().subjects.get(owner).cloned().unwrap_or_default();
        let path = subject_path(owner);
        let blob = subject.blob(Arc::default());
        let (file, version) = files.put(&path, display(&path).into(), (&blob, Spans::default()), scan);
        // Threads wait for each other, so that all get the same layers.
        let mut all = self.layers.lock();
        if let Some((built, layers)) = all.get(&file)
            && *built == version
        {
            return (file, version, layers.clone());
        }
        let layer = |key: &SubjectKey| self.layer((key, owner), &subject, (files, scan), settings);
        let layers: Arc<[LayerResult]> = subject.keys.iter().map(layer).collect();
        all.insert(file, (version, layers.clone()));
        (file, version, layers)
    }

    fn layer(
        &self,
        (SubjectKey { key, path }, owner): (&SubjectKey, &EtcdOwner),
        subject: &EtcdSubject,
        (files, scan): (&Files, u64),
        settings: &Settings,
    ) -> LayerResult {
        let secrets = Secrets::of(settings);
        let is_secret = path.iter().any(|name| secrets.cover(name) != Cover::Open);
        let limits = DocumentLimits::of(settings);
        // The names above the value count as well.
        let limits = DocumentLimits { depth: limits.depth.saturating_sub(path.len()), ..limits };
        let composed = compose_within(&key.value, limits);
        let is_data = !settings.etcd_references;
        // Data and a value of one line have the key as their place, without a line.
        let is_line = is_data || !key.value.trim_ascii_end().contains(&b'\n');
        let whole = |span: &Span| if is_line { Span { line: Span::NO_LINE, ..*span } } else { *span };
        let spans = composed.iter().flat_map(|document| document.spans.iter().map(whole)).collect();
        // Nobody sees the text of a secret.
        let blob = subject.blob(if is_secret { Arc::default() } else { key.value.clone() });
        let (file, _) = files.put(&key_path(&key.key), shown(key).into(), (&blob, spans), scan);
        self.owners.lock().insert(file, owner.clone());
        let document = match composed {
            Ok(document) => document,
            Err(error) => {
                let error = if is_secret { hidden(key) } else { in_key(error, key) };
                let rest = Some(Arc::new(unreadable(path, file)));
                return Err(Incomplete { error, rest, whole: true });
            }
        };
        let root = document.root.clone().unwrap_or(Node { index: 0, data: Data::Value(Value::Null) });
        let origin = Origin { file, node: root.index };
        let mut layer = if is_data {
            let value = path.iter().rev().fold(to_value(&root), |value, name| {
                Value::map(Map::from_iter([(Key::from(name.clone()), value)]))
            });
            let map = Map::from_iter([(Key::from(PARAMETERS), value)]);
            let parameters = map_of_values(&map, origin, &Prefixes::new(settings));
            Layer { file, ..Layer::of_parameters(Arc::new(parameters)) }
        } else {
            let name = &owner.name;
            let source = LayerSource { file, name, init: false, is_class: owner.is_class, settings };
            Layer::build(&around(document.clone(), root, path), source, files.interner()).map_err(
                |mut unread| {
                    for fault in unread.error.faults_mut().iter_mut().filter(|fault| fault.site.is_none()) {
                        fault.site = crate::evaluate::site_of(files, fault, &key.value);
                    }
                    unread
                },
            )?
        };
        layer.warnings.extend(duplicate_keys(&document, file));
        for warning in &mut layer.warnings {
            if warning.site.is_none() {
                warning.site = crate::evaluate::site_of(files, warning, &key.value);
            }
        }
        Ok(Arc::new(layer))
    }
}

/// The owner and the parameter path of a key; `None` for a key that no layer has.
fn place(prefix: &str, key: &str) -> Option<(EtcdOwner, Vec<Text>)> {
    let mut names = key.strip_prefix(prefix)?.strip_prefix('/')?.split('/');
    let is_class = match names.next()? {
        "classes" => true,
        "nodes" => false,
        _ => return None,
    };
    let owner = EtcdOwner { is_class, name: names.next().filter(|name| !name.is_empty())?.into() };
    if names.next() != Some(PARAMETERS) {
        return None;
    }
    let path: Vec<Text> = names.map(Text::from).collect();
    (!path.is_empty() && path.len() <= DEEPEST_KEY && path.iter().all(|name| !name.is_empty()))
        .then_some((owner, path))
}

/// The document of a value, as if a class file had it at its place.
fn around(document: Document, root: Node, path: &[Text]) -> Document {
    let (index, mut value) = (root.index, root);
    let keys = std::iter::once("parameters".into()).chain([PARAMETERS.into()]).chain(path.iter().cloned());
    for name in keys.collect::<Vec<Text>>().into_iter().rev() {
        let entry = Entry { key: Key::from(name), key_index: index, value };
        value = Node { index, data: Data::Map(vec![entry].into()) };
    }
    Document { root: Some(value), ..document }
}

/// The layer of a value that cannot be read. What depends on it fails silently.
fn unreadable(path: &[Text], file: FileId) -> Layer {
    let origin = Origin { file, node: 0 };
    let slot = Slot::Text(Arc::new(Template::new("".into(), Vec::new())), origin);
    let names = std::iter::once(Text::from(PARAMETERS)).chain(path.iter().cloned());
    let slot = names.collect::<Vec<Text>>().into_iter().rev().fold(slot, |slot, name| {
        let entries = std::iter::once((Key::from(name), slot)).collect();
        Slot::Map(Arc::new(MapSlot::new(entries, origin, false)))
    });
    let parameters = match slot {
        Slot::Map(map) => map,
        _ => Arc::new(MapSlot::empty()),
    };
    Layer { file, ..Layer::of_parameters(parameters) }
}

/// An error in a value, with the key as its place.
fn in_key(mut error: Error, key: &EtcdKey) -> Error {
    let path: Arc<str> = shown(key).into();
    for fault in error.faults_mut() {
        fault
            .notes
            .iter_mut()
            .filter_map(|note| note.site.as_mut())
            .for_each(|site| site.path = path.clone());
        match &mut fault.site {
            Some(site) => site.path = path.clone(),
            None => fault.site = Some(Site::file(path.clone())),
        }
    }
    error
}

/// The error in a value whose key is secret.
fn hidden(key: &EtcdKey) -> Error {
    let message = "the value is not YAML; its key is secret, so the reason is not shown".into();
    Fault::new(Kind::YamlSyntax { message, help: None }).at_site(Site::file(shown(key))).into()
}

/// The place of a key, for people.
fn shown(key: &EtcdKey) -> String {
    format!("etcd {} revision {}", key.key, key.revision)
}

/// A name for a key in the table of files. No path of a file is relative.
fn key_path(key: &str) -> Arc<Path> {
    Path::new(&format!("etcd key {key}")).into()
}

fn subject_path(owner: &EtcdOwner) -> Arc<Path> {
    let kind = if owner.is_class { "class" } else { "node" };
    Path::new(&format!("etcd {kind} {}", owner.name)).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_a_place_or_none() {
        let place = |key: &str| {
            place("/reclass", key).map(|(owner, path)| {
                let path: Vec<String> = path.iter().map(ToString::to_string).collect();
                (owner.is_class, owner.name.to_string(), path.join(":"))
            })
        };
        let at = |is_class, name: &str, path: &str| Some((is_class, name.to_owned(), path.to_owned()));
        assert_eq!(place("/reclass/classes/a.b/_param/x"), at(true, "a.b", "x"));
        assert_eq!(place("/reclass/nodes/n/_param/x/y"), at(false, "n", "x:y"));
        for key in [
            "/other/classes/a/_param/x",
            "/reclassy/classes/a/_param/x",
            "/reclass/classes/a/_param",
            "/reclass/classes/a/_param/",
            "/reclass/classes/a/_param/x//y",
            "/reclass/classes/a/parameters/x",
            "/reclass/classes//_param/x",
            "/reclass/groups/a/_param/x",
            "/reclass/",
        ] {
            assert_eq!(place(key), None, "{key}");
        }
    }
}
