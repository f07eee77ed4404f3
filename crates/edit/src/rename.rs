//! Renames a class or a parameter in all files that name it.
//!
//! A new name never changes the values of a node. If that is not sure, because a reference or a pattern may name
//! the thing, the answer is the reason in place of the edits.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use reclass::parts::engine::Computation;
use reclass::parts::evaluate::Locate as _;
use reclass::parts::model::layer::absolute_names;
use reclass::parts::model::{ClassEntry, Prefixes};
use reclass::parts::storage::fs;
use reclass::{Inventory, NodeInfo};
use reclass_analysis::diff::{OldInputs, Renderer};
use reclass_analysis::list::{Bearing, NodeFilter, references};
use reclass_analysis::schema::Schemas;
use reclass_analysis::survey::{Survey, SurveyedFile};
use reclass_base::error::concise;
use reclass_base::parallel::each;
use reclass_base::path::split_path;
use reclass_base::pattern::push_escaped;
use reclass_base::secrets::Secrets;
use reclass_base::source::{Origin, Span};
use reclass_base::stack::grow;
use reclass_base::value::{Key, Map, Text, Value};
use reclass_yaml::outline::{NodeForm, Outline, OutlineNode};
use reclass_yaml::{offset_of, parse_value};

/// The edits of texts, and the file that moves.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Renaming {
    /// By the path of a file: bytes of its text in order, each with the text that takes their place.
    pub edits: BTreeMap<Arc<str>, Vec<(Range<usize>, String)>>,
    /// The file that moves, from where to where, after the edits.
    pub moved: Option<(PathBuf, PathBuf)>,
}

impl Renaming {
    fn edit(&mut self, path: &Arc<str>, bytes: Range<usize>, text: String) {
        let edits = self.edits.entry(path.clone()).or_default();
        if let Err(at) = edits.binary_search_by_key(&bytes.start, |(known, _)| known.start) {
            edits.insert(at, (bytes, text));
        }
    }

    /// Puts the edited texts into an inventory.
    fn put_into(&self, after: &Inventory, texts: &BTreeMap<Arc<str>, String>) {
        let text =
            |path: &str| Some(edited(texts.get(path)?, self.edits.get(path).map_or(&[], Vec::as_slice)));
        for path in self.edits.keys() {
            after.set_buffer(Path::new(&**path), text(path).as_deref());
        }
        if let Some((from, to)) = &self.moved {
            after.set_buffer(to, from.to_str().and_then(text).as_deref());
            // In place of a file that is gone: it has no values.
            after.set_buffer(from, Some("{}\n"));
        }
    }
}

/// The text of a file after its edits.
pub fn edited(text: &str, edits: &[(Range<usize>, String)]) -> String {
    let mut after = text.to_owned();
    for (bytes, new) in edits.iter().rev() {
        after.replace_range(bytes.clone(), new);
    }
    after
}

/// Renames a class: all entries that name it, relative ones too, and its file. `after` is an inventory with the same
/// options and texts, which is left with the edits: all nodes are compared.
///
/// # Errors
///
/// The reason, as a sentence for people: the new name is taken or no name of a class, a pattern, a reference, a
/// class mapping or the scope of a schema names the class, or a value of a node would change.
pub fn rename_class(
    inventory: &Inventory,
    after: &Inventory,
    old: &str,
    new: &str,
) -> Result<Renaming, String> {
    let done = inventory.inspect(|computation| {
        let survey = Survey::of(computation);
        let renaming = ClassRenaming { computation, survey: &survey, old, new }.answer()?;
        let own = renaming.moved.iter().filter_map(|(from, _)| from.to_str().map(Arc::from));
        let text = |path: Arc<str>| Some((path.clone(), computation.inputs.files.text(&path)?));
        let texts = renaming.edits.keys().cloned().chain(own).filter_map(text).collect();
        Ok((renaming, texts))
    });
    let (renaming, texts) = done.unwrap_or_else(|error| Err(concise(&error)))?;
    renaming.put_into(after, &texts);
    same_values(inventory, after, true, &|old, now| {
        Ok(now.parameters == old.parameters
            && now.exports == old.exports
            && now.applications == old.applications
            && now.environment == old.environment)
    })?;
    Ok(renaming)
}

struct ClassRenaming<'a> {
    computation: &'a Computation<'a>,
    survey: &'a Survey,
    old: &'a str,
    new: &'a str,
}

impl ClassRenaming<'_> {
    fn answer(&self) -> Result<Renaming, String> {
        let (old, new) = (self.old, self.new);
        let is_name =
            |part: &str| !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || "-_".contains(c));
        if !new.split('.').all(is_name) {
            return Err(format!("'{new}' is no name of a class: letters, digits, '-' and '_' between dots"));
        }
        let is_text = matches!(parse_value(new), Ok(Value::Str(text)) if *text == *new);
        if !is_text {
            return Err(format!("in a list, '{new}' would be another thing than a text"));
        }
        if new.rsplit('.').next() == Some("init") {
            return Err("a class with the name 'init' is the class of its folder".to_owned());
        }
        let named = |name: &str| {
            let files = self.survey.files.iter().filter(|file| file.is_class && *file.name == *name);
            files.collect::<Vec<_>>()
        };
        if let Some(taken) = named(new).first() {
            return Err(format!("the class '{new}' exists: {}", taken.path));
        }
        let own = match &named(old)[..] {
            [own] => *own,
            [] => return Err(format!("no file has the class '{old}'")),
            _ => return Err(format!("several files have the class '{old}'")),
        };
        let target = fs::real(Path::new(&*own.path));
        let is_link = |file: &&SurveyedFile| {
            file.is_class && file.path != own.path && fs::real(Path::new(&*file.path)) == target
        };
        if let Some(other) = self.survey.files.iter().find(is_link).filter(|_| target.is_some()) {
            return Err(format!("its file is also '{}', through a symbolic link", other.path));
        }
        for (mapping, name) in self.computation.mappings.names() {
            if name == old {
                return Err(format!("the class mapping '{mapping}' names it: change the setting first"));
            }
        }
        let schemas = Schemas::of_computation(self.computation).map_err(|error| concise(&error))?;
        if let Some(reason) = schemas.and_then(|schemas| schemas.class_objection(old, new)) {
            return Err(reason);
        }
        let mut renaming = Renaming { moved: Some(self.moved(own)?), ..Renaming::default() };
        let classes = self.survey.class_files();
        for file in &self.survey.files {
            let Ok(layer) = &file.layer else {
                return Err(format!("'{}' has errors, and may name the class", file.path));
            };
            for entry in &layer.classes {
                let found = classes.existing(entry);
                let changes = found.is_some_and(|name| **name == *old)
                    // Its names are relative to its own name.
                    || std::ptr::eq(file, own) && entry.relative.is_some();
                if let Some(pattern) = entry.pattern().filter(|_| found.is_none())
                    && pattern.matches(old) != pattern.matches(new)
                {
                    return Err(format!(
                        "{} is a pattern of classes that would match other classes",
                        self.shown(entry)
                    ));
                }
                if changes && entry.template.is_none() {
                    let name = found.unwrap_or(&entry.lookup);
                    self.entry(&mut renaming, file, entry, name, std::ptr::eq(file, own))?;
                } else if changes {
                    return Err(format!("{} is relative and has a reference", self.shown(entry)));
                }
            }
        }
        self.refuse_references()?;
        Ok(renaming)
    }

    /// Where the file of the class moves.
    fn moved(&self, own: &SurveyedFile) -> Result<(PathBuf, PathBuf), String> {
        let settings = self.computation.settings;
        let roots = fs::roots(settings.inventory_base_uri.as_deref(), &settings.classes_uri, "classes_uri");
        let from = PathBuf::from(&*own.path);
        let root = roots.unwrap_or_default().into_iter().find(|root| from.starts_with(root));
        let Some(root) = root else { return Err(format!("'{}' is in no folder of classes", own.path)) };
        let mut to = root.join(self.new.replace('.', "/"));
        if own.init {
            to.push("init");
        }
        let ending = from.extension().unwrap_or_default().to_owned();
        to.as_mut_os_string().push(".");
        to.as_mut_os_string().push(ending);
        Ok((from, to))
    }

    /// Renames one entry. A relative one stays relative if it can.
    fn entry(
        &self,
        renaming: &mut Renaming,
        file: &SurveyedFile,
        entry: &ClassEntry,
        name: &Text,
        is_own: bool,
    ) -> Result<(), String> {
        let span = self.computation.inputs.locate(entry.origin).map(|(_, span)| span);
        let text = self.computation.inputs.files.text(&file.path);
        let written = span.and_then(|span| scalar(text.as_deref()?, span));
        let Some((bytes, written)) = written else {
            return Err(format!(
                "{} cannot be changed: it is written with an alias or a tag",
                self.shown(entry)
            ));
        };
        let target = if **name == *self.old { self.new } else { &**name };
        let including = if is_own { self.new } else { &*file.name };
        let relative = written.starts_with('.').then(|| {
            let dots = written.len() - written.trim_start_matches('.').len();
            (1..=target.len()).rev().find_map(|length| {
                let rest = target.get(target.len() - length..)?;
                let short = format!("{}{rest}", ".".repeat(dots));
                let (first, _) = absolute_names(including, file.init, &short);
                (first == target && !rest.starts_with('.')).then_some(short)
            })
        });
        let new = relative.flatten().unwrap_or_else(|| target.to_owned());
        if new != written {
            renaming.edit(&file.path, bytes, new);
        }
        Ok(())
    }

    /// Refuses if an entry with a reference led to the class in any node.
    fn refuse_references(&self) -> Result<(), String> {
        let layers = self.survey.files.iter().filter_map(|file| file.layer.as_ref().ok());
        let dynamic = layers.flat_map(|layer| &layer.classes).filter(|entry| entry.template.is_some());
        let dynamic: BTreeMap<_, &ClassEntry> = dynamic.map(|entry| (place(entry.origin), entry)).collect();
        for listing in self.survey.nodes.iter().flat_map(|node| &node.listings) {
            if *listing.class == *self.old
                && let Some(entry) = dynamic.get(&place(listing.origin))
            {
                return Err(format!("{} names it by a reference", self.shown(entry)));
            }
        }
        match self.survey.nodes.iter().find(|node| node.is_broken()) {
            Some(node) if !dynamic.is_empty() => {
                Err(format!("the node '{}' has errors, and may name the class by a reference", node.name))
            }
            _ => Ok(()),
        }
    }

    /// An entry with its place.
    fn shown(&self, entry: &ClassEntry) -> String {
        let site = reclass::parts::evaluate::site(self.computation.inputs, entry.origin, None);
        let place = site.map_or_else(String::new, |site| format!(" ({}:{})", site.path, site.line));
        format!("'{}'{place}", entry.name)
    }
}

fn place(origin: Origin) -> (u32, u32) {
    (origin.file.0, origin.node)
}

/// The bytes of a plain or quoted scalar of one line without its quotes, and their text.
fn scalar(text: &str, span: Span) -> Option<(Range<usize>, &str)> {
    let (start, end) = (span.start as usize, span.end as usize);
    let written = text.get(start..end)?.trim_end();
    let quote = written.chars().next().filter(|first| ['"', '\''].contains(first));
    let bytes = match quote {
        Some(quote) if written.len() > 1 && written.ends_with(quote) => start + 1..start + written.len() - 1,
        Some(_) => return None,
        None => start..start + written.len(),
    };
    let inner = &text[bytes.clone()];
    let is_plain = !inner.starts_with(['&', '!', '*']) && !inner.contains(['\n', '\\', '\'', '"']);
    is_plain.then_some((bytes, inner))
}

/// Renames a parameter: the key in all files that have it, and all references to it and below it. `after` is an
/// inventory with the same options and texts, which is left with the edits: all nodes are compared.
///
/// # Errors
///
/// The reason, as a sentence for people: the name is taken, a nested reference or a reference to a container of it
/// may name it, a value of a node would change, a secret would be shown, or a schema knows the old name or would refuse
/// the new one.
pub fn rename_parameter(
    inventory: &Inventory,
    after: &Inventory,
    path: &str,
    new: &str,
) -> Result<Renaming, String> {
    let delimiter = inventory.settings().delimiter.clone();
    let keys = split_path(path, &delimiter);
    let Some((last, above)) = keys.split_last() else { return Err("there is no key".to_owned()) };
    if new.is_empty() || !new.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c)) {
        return Err(format!("'{new}' is no plain key: letters, digits, '-', '_' and '.'"));
    }
    refuse_to_reveal(inventory, path, &keys, new)?;
    let done = inventory.inspect(|computation| {
        let (mut renaming, mut texts) = (Renaming::default(), BTreeMap::new());
        for file in &Survey::of(computation).files {
            if file.layer.is_err() {
                return Err(format!("'{}' has errors, and may name the parameter", file.path));
            }
            let Some(text) = computation.inputs.files.text(&file.path) else { continue };
            let outline = Outline::read(text.as_bytes()).map_err(|error| concise(&error))?;
            let prefixes = Prefixes::new(computation.settings);
            let mut keys_of_file = FileKeys { text: &text, prefixes: &prefixes, found: Vec::new() };
            for section in outline.root.as_ref().map_or(&[][..], OutlineNode::entries) {
                if text.get(section.key.content..section.key.end) == Some("parameters") {
                    keys_of_file.collect(&section.value, &keys, new)?;
                }
            }
            for bytes in keys_of_file.found {
                renaming.edit(&file.path, bytes, new.to_owned());
            }
            texts.insert(file.path.clone(), text);
        }
        Ok((renaming, texts))
    });
    let (mut renaming, texts) = done.unwrap_or_else(|error| Err(concise(&error)))?;
    if renaming.edits.is_empty() {
        return Err(format!("no file sets '{path}'"));
    }
    let mut pattern = String::new();
    push_escaped(&mut pattern, path);
    let listed = references(inventory, &[pattern], &NodeFilter::default());
    for row in listed.map_err(|error| concise(&error))?.rows {
        match (row.bearing, &row.site) {
            (Bearing::Exact | Bearing::Inside, Some(site)) => {
                let Some((file, text)) = texts.get_key_value(&site.path) else { continue };
                let bytes = segment(text, site.line, site.column, &row.reference, &keys, &delimiter);
                let Some(bytes) = bytes else {
                    return Err(format!(
                        "the reference '{}' ({}:{}) is written in another way",
                        row.reference, site.path, site.line
                    ));
                };
                renaming.edit(file, bytes, new.to_owned());
            }
            (Bearing::Around, _) => {}
            (_, site) => {
                let place = site
                    .as_ref()
                    .map_or_else(|| row.within.clone(), |site| format!("{}:{}", site.path, site.line));
                return Err(format!("the reference '{}' ({place}) may name it", row.reference));
            }
        }
    }
    renaming.put_into(after, &texts);
    let schemas = inventory.inspect(Schemas::of_computation).and_then(|schemas| schemas);
    let schemas = schemas.map_err(|error| concise(&error))?;
    same_values(inventory, after, false, &|old, now| match schemas
        .as_ref()
        .and_then(|schemas| schemas.objection(old, now, &keys, new))
    {
        Some(reason) => Err(reason),
        None => Ok(now.parameters == renamed(&old.parameters, above, last, new)
            && now.exports == old.exports
            && now.classes == old.classes),
    })?;
    Ok(renaming)
}

/// Fails if the setting `secret_keys` hides more of what has the old name than of what has the new one.
fn refuse_to_reveal(inventory: &Inventory, path: &str, keys: &[Text], new: &str) -> Result<(), String> {
    let secrets = Secrets::of(inventory.settings());
    let old: Vec<Key> = keys.iter().cloned().map(Key::from).collect();
    let above = &old[..old.len().saturating_sub(1)];
    if secrets.at(above.iter().chain([&Key::from(new)])) >= secrets.at(&old) {
        return Ok(());
    }
    Err(format!(
        "the setting 'secret_keys' hides the value of '{path}', and would not hide it with the name '{new}'"
    ))
}

struct FileKeys<'a> {
    text: &'a str,
    prefixes: &'a Prefixes,
    found: Vec<Range<usize>>,
}

impl FileKeys<'_> {
    fn collect(&mut self, node: &OutlineNode, keys: &[Text], new: &str) -> Result<(), String> {
        let Some((first, rest)) = keys.split_first() else { return Ok(()) };
        if matches!(node.form, NodeForm::Alias) {
            return Err("an alias of YAML stands above it".to_owned());
        }
        for pair in node.entries() {
            let Some(name) = pair.name.text() else { continue };
            let bare = self.prefixes.name(&name);
            if rest.is_empty() && bare == new {
                return Err(format!("'{new}' is set beside it"));
            }
            if *bare != **first {
                continue;
            }
            if rest.is_empty() {
                let written = self.text.get(pair.key.content..pair.key.end).unwrap_or_default();
                let Some(at) = written.rfind(bare) else {
                    return Err("its key is written in another way".to_owned());
                };
                let start = pair.key.content + at;
                self.found.push(start..start + bare.len());
            } else {
                grow(|| self.collect(&pair.value, rest, new))?;
            }
        }
        Ok(())
    }
}

/// The bytes of the last of these keys in a reference at a place.
fn segment(
    text: &str,
    line: u32,
    column: u32,
    written: &str,
    keys: &[Text],
    delimiter: &str,
) -> Option<Range<usize>> {
    let begin = offset_of(text, line, column)?;
    let inner = written.trim_start_matches(|c: char| "${".contains(c)).trim_end_matches('}');
    let start = begin + text[begin..].find(inner)?;
    let inner_keys = inner.strip_prefix("self:").unwrap_or(inner);
    let above: usize = keys[..keys.len() - 1].iter().map(|key| key.len() + delimiter.len()).sum();
    let at = start + inner.len() - inner_keys.len() + above;
    let last = keys.last()?;
    (text.get(at..at + last.len())? == &**last).then_some(at..at + last.len())
}

/// Compares the answer for a node before and after edits: whether it is as expected, or a reason of its own against
/// the edits.
pub(crate) type Expected<'e> = dyn Fn(&NodeInfo, &NodeInfo) -> Result<bool, String> + Sync + 'e;

/// Fails if the answer for a node is not as expected after the edits. A node with errors counts if `even_broken` is
/// false. A node that reads no edited file has the answer that it had, because the exports of the others are compared.
pub fn same_values(
    before: &Inventory,
    after: &Inventory,
    even_broken: bool,
    is_same: &Expected<'_>,
) -> Result<(), String> {
    let found = before.inspect(|old| {
        after.inspect(|new| {
            let (old, new) = (old.context(), new.context());
            let inputs = OldInputs::new(old, new);
            let names: Vec<&Text> = old.catalog.nodes.keys().collect();
            let compare = |(old, new): &(Renderer<'_>, Renderer<'_>), name: &&Text| {
                let (layers, own) = new.layers_with_inputs(name);
                let sequence = layers.as_ref().map(|layers| &layers.linearization.sequence);
                if sequence.is_ok_and(|it| inputs.give_layers(name, (it, &own), new.computation())) {
                    return None;
                }
                let Some(Ok(old)) = old.render(name) else {
                    let reason =
                        || format!("the node '{name}' has errors, and nobody knows what it would become");
                    return (!even_broken).then(reason);
                };
                let new = new.render(name).and_then(Result::ok);
                match new.map_or(Ok(false), |new| is_same(&old, &new)) {
                    Ok(true) => None,
                    Ok(false) => Some(format!("values of the node '{name}' would change")),
                    Err(reason) => Some(reason),
                }
            };
            let renderers = || (Renderer::new(old.computation()), Renderer::new(new.computation()));
            let reasons = each(old.settings.threads, &names, renderers, compare, |_| false);
            reasons.into_iter().flatten().next()
        })
    });
    match found.and_then(|found| found) {
        Ok(None) => Ok(()),
        Ok(Some(reason)) => Err(reason),
        Err(error) => Err(concise(&error)),
    }
}

/// The parameters with another name for the key `last` below the keys `above`.
fn renamed(value: &Value, above: &[Text], last: &Text, new: &str) -> Value {
    let Value::Map(map) = value else { return value.clone() };
    let entries = map.iter().map(|(key, value)| match above.split_first() {
        None if *key == Key::from(last.clone()) => (Key::from(new), value.clone()),
        Some((first, rest)) if *key == Key::from(first.clone()) => {
            (key.clone(), grow(|| renamed(value, rest, last, new)))
        }
        _ => (key.clone(), value.clone()),
    });
    Value::Map(Arc::new(entries.collect::<Map>()))
}
