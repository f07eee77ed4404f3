//! The place or name that a question is about, and the texts in which it has another value.

use std::fmt;
use std::path::Path;

use rustc_hash::FxHashSet;

use super::marked::{MarkedValues, marked};
use crate::list::{self, NodeFilter, What, unmatched};
use crate::survey::{Survey, SurveyedFile};
use reclass::Inventory;
use reclass::parts::engine::Computation;
use reclass::parts::evaluate::site;
use reclass::parts::storage::fs::real;
use reclass::redact::Redaction;
use reclass_base::error::{Error, Fault, Kind, Result};
use reclass_base::pattern::{Glob, PathPattern};
use reclass_base::source::Origin;
use reclass_base::value::Text;

/// A place of a file, or a name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ImpactSubject {
    /// A file, or one line of it, from one.
    Place(String, Option<u32>),
    /// A glob of classes.
    Class(String),
    /// A pattern of parameters.
    Parameter(String),
}

/// What a subject leads to.
#[derive(Default)]
pub(super) struct SubjectTexts {
    /// The texts with another value at the place, by path.
    pub texts: Vec<(String, String)>,
    /// The nodes that have a part in it in any case.
    pub users: Vec<Text>,
    /// The only nodes that count.
    pub only: Option<FxHashSet<Text>>,
}

impl fmt::Display for ImpactSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ImpactSubject::Place(file, None) => write!(f, "{file}"),
            ImpactSubject::Place(file, Some(line)) => write!(f, "{file}:{line}"),
            ImpactSubject::Class(name) => write!(f, "class:{name}"),
            ImpactSubject::Parameter(path) => write!(f, "parameter:{path}"),
        }
    }
}

impl ImpactSubject {
    /// `class:NAME`, `parameter:PATH`, or the path of a YAML file with or without `:LINE` and `:COLUMN`; `None`
    /// for anything else, such as the name of a state.
    pub fn parse(text: &str) -> Option<ImpactSubject> {
        if let Some(name) = text.strip_prefix("class:") {
            return Some(ImpactSubject::Class(name.to_owned()));
        }
        if let Some(path) = text.strip_prefix("parameter:") {
            return Some(ImpactSubject::Parameter(path.to_owned()));
        }
        let mut parts = text.split(':');
        let file = parts.next()?;
        let numbers: Option<Vec<u32>> = parts.map(|part| part.parse().ok()).collect();
        let numbers = numbers.filter(|numbers| numbers.len() <= 2)?;
        let is_yaml = Path::new(file).extension().is_some_and(|end| end == "yml" || end == "yaml");
        (is_yaml && !Path::new(file).is_dir())
            .then(|| ImpactSubject::Place(file.to_owned(), numbers.first().copied()))
    }

    /// The class or the parameter of a name that is no state; this error, if there is none.
    pub fn named(inventory: &Inventory, name: &str, error: Error) -> Result<ImpactSubject> {
        let is_name =
            |fault: &Fault| matches!(&fault.kind, Kind::Revision { revision, .. } if revision == name);
        if !error.faults().iter().any(is_name) {
            return Err(error);
        }
        let has = |what| Ok::<_, Error>(unmatched(inventory, [(what, &[name.to_owned()][..])])?.is_empty());
        match name.to_owned() {
            name if has(What::Class)? => Ok(ImpactSubject::Class(name)),
            path if has(What::Parameter)? => Ok(ImpactSubject::Parameter(path)),
            _ => Err(error),
        }
    }

    pub(super) fn find(&self, inventory: &Inventory) -> Result<SubjectTexts> {
        let found = match self {
            ImpactSubject::Place(file, line) => {
                inventory.inspect(|computation| place(computation, file, *line))??
            }
            ImpactSubject::Class(name) => {
                absent(inventory, What::Class, name)?;
                inventory.inspect(|computation| classes(computation, name))??
            }
            ImpactSubject::Parameter(path) => {
                absent(inventory, What::Parameter, path)?;
                let filter = NodeFilter::default();
                let rows =
                    list::parameters(inventory, std::slice::from_ref(path), &filter, &Redaction::none())?
                        .rows;
                let mut files: Vec<_> =
                    rows.iter().flat_map(|row| &row.places).map(|place| place.site.path.clone()).collect();
                files.sort_unstable();
                files.dedup();
                let pattern = PathPattern::new(path, &inventory.settings().delimiter);
                inventory.inspect(|computation| {
                    let text = |file: &&str| text(computation, file, &MarkedValues::Parameter(&pattern));
                    let texts = files.iter().map(|file| &**file).filter_map(|file| text(&file)).collect();
                    SubjectTexts { texts, ..SubjectTexts::default() }
                })?
            }
        };
        if found.texts.is_empty() && found.users.is_empty() && found.only.is_none() {
            let message = format!("'{self}' sets no value");
            return Err(Fault::new(Kind::Usage { message }).into());
        }
        Ok(found)
    }
}

/// Fails for a name that nothing has.
fn absent(inventory: &Inventory, what: What, name: &str) -> Result<()> {
    let faults = unmatched(inventory, [(what, &[name.to_owned()][..])])?;
    if faults.is_empty() { Ok(()) } else { Err(Error::new(faults)) }
}

/// The text of a file with other values; `None` if nothing is chosen.
fn text(computation: &Computation<'_>, file: &str, selection: &MarkedValues<'_>) -> Option<(String, String)> {
    let text = computation.inputs.files.text(file)?;
    Some((file.to_owned(), marked(&text, selection, computation.settings)?))
}

fn classes(computation: &Computation<'_>, glob: &str) -> Result<SubjectTexts> {
    let (survey, glob) = (Survey::of(computation), Glob::new(glob));
    let files = survey.files.iter().filter(|file| file.is_class && glob.matches(&file.name));
    let files: Vec<&SurveyedFile> = files.collect();
    let found = whole(computation, &survey, &files);
    if found.texts.is_empty() {
        readable(&files)?;
    }
    Ok(found)
}

/// Fails if one of the files cannot be read: nobody knows what it sets.
fn readable(files: &[&SurveyedFile]) -> Result<()> {
    files.iter().try_for_each(|file| file.layer.as_ref().map(drop).map_err(Clone::clone))
}

fn whole(computation: &Computation<'_>, survey: &Survey, files: &[&SurveyedFile]) -> SubjectTexts {
    let users = files.iter().flat_map(|file| survey.users(file)).map(|node| node.name.clone()).collect();
    let text = |file: &&SurveyedFile| text(computation, &file.path, &MarkedValues::All);
    SubjectTexts { texts: files.iter().filter_map(text).collect(), users, only: None }
}

fn place(computation: &Computation<'_>, wanted: &str, line: Option<u32>) -> Result<SubjectTexts> {
    let survey = Survey::of(computation);
    let target = real(Path::new(wanted));
    let is_it = |file: &&SurveyedFile| {
        let path = Path::new(&*file.path);
        // A file of a repository stands behind the names of repository and branch.
        path.ends_with(wanted.strip_prefix("./").unwrap_or(wanted))
            || file.path.ends_with(&format!(" {wanted}"))
            || target.is_some() && real(path) == target
    };
    let mut files: Vec<&SurveyedFile> = survey.files.iter().filter(is_it).collect();
    files.dedup_by_key(|file| &file.path);
    let [file] = *files else {
        let message = match &*files {
            [] => "it is no file of this inventory".to_owned(),
            several => format!("{} files of the inventory end so", several.len()),
        };
        return Err(Fault::new(Kind::FileUnreadable { path: wanted.to_owned(), message }).into());
    };
    readable(&[file])?;
    let Some(line) = line else { return Ok(whole(computation, &survey, &[file])) };
    let listed = listed(computation, &survey, file, line);
    if listed.is_empty() {
        let texts = text(computation, &file.path, &MarkedValues::Line(line)).into_iter().collect();
        return Ok(SubjectTexts { texts, ..SubjectTexts::default() });
    }
    // An entry of a list of classes has a part in what these classes set, in the nodes that read the list.
    let nodes: Vec<Text> = listed.iter().map(|(_, node)| node.clone()).collect();
    let classes = survey.files.iter().filter(|file| file.is_class);
    let classes =
        classes.filter(|file| listed.iter().any(|(class, _)| *class == file.name)).collect::<Vec<_>>();
    let found = whole(computation, &survey, &classes);
    Ok(SubjectTexts { users: nodes.clone(), only: Some(nodes.into_iter().collect()), ..found })
}

/// The classes that a line lists, each with a node that reads the list.
fn listed(
    computation: &Computation<'_>,
    survey: &Survey,
    file: &SurveyedFile,
    line: u32,
) -> FxHashSet<(Text, Text)> {
    let is_there = |origin: Origin| {
        site(computation.inputs, origin, None).is_some_and(|site| site.path == file.path && site.line == line)
    };
    let of_node = |node: &crate::survey::Surveyed| {
        let here = node.listings.iter().filter(|listed| is_there(listed.origin));
        here.map(|listed| (listed.class.clone(), node.name.clone())).collect::<Vec<_>>()
    };
    survey.users(file).flat_map(of_node).collect()
}
