//! Which revision of the repositories each node gets, if new ones are tested before they are served (`serve`).
//!
//! The decision is a small record beside the caches of the repositories. It is replaced in one step, and every
//! question of every process reads it, so two processes never serve different revisions to one node. A revision is
//! tested by the process that holds the lock of testers: that of Salt's engine as long as it lives, and otherwise
//! the first one that finds the revision. Meanwhile the others go on with the revision before. A process that ends
//! amid a test leaves the record as it was, and the system frees its lock.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::base::error::{Error, Fault, Kind, Result, by_problem};
use crate::base::failpoints::failpoint;
use crate::base::lock::Mutex;
use crate::base::parallel;
use crate::base::pattern::Glob;
use crate::base::progress::WorkUnit;
use crate::base::settings::Settings;
use crate::base::value::{Text, Value};
use crate::base::words::{count, listed};
use crate::engine::answer::Request;
use crate::engine::context::NodeRequest;
use crate::engine::database::Database;
use crate::storage::fs::DiskFingerprint;
use crate::storage::git::Heads;
use crate::storage::location::{TreeLocation, TreeLocations};
use crate::storage::record::{self, FetchLock, Moment, RecordFile, hash};

/// The most revisions that are served at once. A further one that breaks nodes is served to none.
const MOST: usize = 8;
/// Maximum wait for another process that writes the record.
const WAIT: Duration = Duration::from_secs(10);
/// Names of nodes in a sentence.
const NAMED: usize = 10;
/// Characters of a commit in a sentence.
const SHOWN: usize = 8;

/// The revision of each node.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Decision {
    /// The revisions in use. The first one is that of most nodes.
    revisions: Vec<Arc<Heads>>,
    /// The other nodes, with indexes into `revisions`.
    nodes: BTreeMap<String, usize>,
    /// The newest revision that was tested.
    tested: Arc<Heads>,
    /// What the newest revision breaks.
    pub problems: Vec<HeldNodes>,
    /// The trial of the newest revision.
    pub trial: Option<Trial>,
    /// When most nodes got their revision. An earlier version does not know it.
    #[serde(default)]
    began: Option<Moment>,
}

/// An error of the newest revision, and the nodes that keep an earlier one.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct HeldNodes {
    /// The error with file and line.
    pub problem: String,
    /// The nodes, sorted.
    pub nodes: Vec<String>,
}

/// A revision that some nodes get first.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Trial {
    /// Its name.
    pub revision: String,
    began: Moment,
    /// The nodes that get it, sorted.
    pub nodes: Vec<String>,
    promoted: Box<Decision>,
    aborted: Box<Decision>,
}

/// The nodes that get a new revision first.
#[derive(Debug)]
struct Canary {
    /// The glob with its text.
    glob: Option<(Glob, Text)>,
    /// The share of all nodes in hundredths of a percent.
    share: u64,
}

/// The rule of an inventory and the record of its decision.
#[derive(Debug)]
pub struct Serving {
    file: RecordFile,
    testers: RecordFile,
    /// Whether a revision that breaks a node is served to none.
    whole: bool,
    canary: Option<Canary>,
    canary_for: Duration,
    known: Mutex<Option<(DiskFingerprint, Arc<Decision>)>>,
    /// The state of each revision but the first one.
    others: Mutex<Vec<(Arc<Heads>, Database)>>,
    /// Held as long as this process is the one that tests.
    watch: Mutex<Option<FetchLock>>,
    /// Sentences about decisions of this process, for its log. The flag says that nodes break.
    news: Mutex<Vec<(bool, String)>>,
}

impl Serving {
    /// The rule that the settings name; `None` for `serve: now`, and for a fixed revision.
    pub fn of(settings: &Settings, locations: &TreeLocations) -> Result<Option<Serving>> {
        let canary = Canary::of(&settings.canary)?;
        let reads_folders = &*settings.storage_type == "yaml_fs" && !settings.commits;
        if &*settings.serve == "now" || settings.git_revision.is_some() || reads_folders {
            return Ok(None);
        }
        let Some(first) = locations.repositories.first() else {
            let allowed =
                "now, as the inventory is in no repository that is fetched (storage_type: yaml_git)";
            let kind =
                Kind::SettingValue { name: "serve".into(), allowed: allowed.to_owned(), similar: None };
            return Err(Fault::new(kind).into());
        };
        let name = file_name(locations);
        Ok(Some(Serving {
            file: first.beside(&name),
            testers: first.beside(&format!("{name}-test")),
            whole: &*settings.serve == "whole",
            canary,
            canary_for: Duration::from_secs(settings.canary_for.into()),
            known: Mutex::default(),
            others: Mutex::default(),
            watch: Mutex::default(),
            news: Mutex::default(),
        }))
    }

    /// Asks the state of the inventory that a node gets, or that most nodes get.
    pub fn ask<T>(
        &self,
        main: &dyn Fn() -> Result<Database>,
        database: &mut Database,
        node: Option<&str>,
        ask: impl FnOnce(&mut Database) -> Result<T>,
    ) -> Result<T> {
        let decision = self.current(main, database)?;
        let number = node.and_then(|node| decision.nodes.get(node)).copied().unwrap_or(0);
        self.at(&decision, number, main, database, ask)
    }

    /// Asks the state of one of the revisions in use.
    fn at<T>(
        &self,
        decision: &Decision,
        number: usize,
        new: &dyn Fn() -> Result<Database>,
        database: &mut Database,
        ask: impl FnOnce(&mut Database) -> Result<T>,
    ) -> Result<T> {
        let heads = decision.revisions.get(number).or(decision.revisions.first()).cloned();
        let heads = heads.unwrap_or_default();
        if number == 0 {
            database.inputs.trees.pin(&heads);
            return ask(database);
        }
        let known = {
            let mut others = self.others.lock();
            others.retain(|(heads, _)| decision.revisions.iter().skip(1).any(|used| used == heads));
            others.iter().position(|(known, _)| *known == heads).map(|at| others.swap_remove(at).1)
        };
        let mut other = known.map_or_else(new, Ok)?;
        other.inputs.trees.pin(&heads);
        let answer = ask(&mut other);
        // After a panic it is gone.
        self.others.lock().push((heads, other));
        answer
    }

    /// The decision about the newest revision, or the one before it as long as another process tests.
    fn current(&self, new: &dyn Fn() -> Result<Database>, database: &mut Database) -> Result<Arc<Decision>> {
        let fetched = database.inputs.trees.fetched()?;
        let Some(decision) = record::cached(&self.known, &self.file) else {
            // There is no revision before the first one.
            return self.replace(None, Decision::first(fetched));
        };
        if decision.tested == fetched {
            return match &decision.trial {
                Some(trial) if self.is_over(trial) => {
                    let promoted = (*trial.promoted).clone();
                    self.tell(false, format!("revision {} is promoted: its trial is over", trial.revision));
                    self.replace(Some(&decision), promoted)
                }
                _ => Ok(decision),
            };
        }
        let lock = match &*self.watch.lock() {
            Some(_) => None,
            None => match self.testers.lock(Duration::ZERO) {
                Ok(Some(lock)) => Some(lock),
                // Another process tests, or nobody can.
                Ok(None) | Err(_) => return Ok(decision),
            },
        };
        // Another process may have tested it while we read.
        if let Some(now) = record::cached(&self.known, &self.file).filter(|now| *now != decision) {
            return Ok(now);
        }
        let tested = self.test(&decision, fetched, new, database)?;
        failpoint("a revision is tested");
        let done = self.replace(Some(&decision), tested);
        drop(lock);
        done
    }

    fn is_over(&self, trial: &Trial) -> bool {
        let now = Moment::now();
        let age = now.since(trial.began).or_else(|| now.clock.duration_since(trial.began.clock).ok());
        !self.canary_for.is_zero() && age.is_some_and(|age| age >= self.canary_for)
    }

    /// Writes a decision, unless another process has decided since `before` was read. Returns the one in force.
    fn replace(&self, before: Option<&Decision>, decision: Decision) -> Result<Arc<Decision>> {
        let refused = |message: String| {
            Error::from(Fault::new(Kind::GitCache { path: self.file.path.display().to_string(), message }))
        };
        let Some(_lock) = self.file.lock(WAIT).map_err(refused)? else {
            return Err(refused("another process has its lock".into()));
        };
        let there = self.file.read::<Decision>().map(|(there, _)| there);
        if let Some(there) = there.filter(|there| Some(there) != before) {
            return Ok(Arc::new(there));
        }
        let served = |decision: &Decision| decision.revisions.first().cloned();
        let is_new = before.is_none_or(|before| served(before) != served(&decision));
        let began = if is_new { Some(Moment::now()) } else { before.and_then(|before| before.began) };
        let decision = Decision { began, ..decision };
        failpoint("a decision is written");
        self.file.write(&decision).map_err(refused)?;
        failpoint("a decision was written");
        Ok(record::cached(&self.known, &self.file).unwrap_or_else(|| Arc::new(decision)))
    }

    /// Renders all nodes in a revision, and decides who gets it.
    fn test(
        &self,
        before: &Decision,
        fetched: Arc<Heads>,
        new: &dyn Fn() -> Result<Database>,
        database: &mut Database,
    ) -> Result<Decision> {
        let base = before.trial.as_ref().map_or(before, |trial| &trial.aborted);
        let name = fetched_name(&fetched, base.revisions.first().map_or(&fetched, |heads| heads));
        let mut broken: BTreeMap<String, Error> = BTreeMap::new();
        let mut names = Vec::new();
        let is_readable = match rendered(&mut new()?, &fetched) {
            Ok(nodes) => {
                for (node, error) in nodes {
                    if let Some(error) = error {
                        let number = base.nodes.get(&*node).copied().unwrap_or(0);
                        let request = Request::default();
                        let ask = |database: &mut Database| database.answer(&node, &request, false);
                        if self.at(base, number, new, database, ask).is_ok() {
                            broken.insert(node.to_string(), error);
                        }
                    }
                    names.push(node);
                }
                true
            }
            Err(error) => {
                let ask = |database: &mut Database| database.names();
                let catalog = self.at(base, 0, new, database, ask)?;
                broken.extend(catalog.nodes.keys().map(|node| (node.to_string(), error.clone())));
                false
            }
        };
        let problems = problems(&broken);
        let first = problems.first().map_or_else(String::new, |held| format!(": {}", held.problem));
        let number = broken.len();
        let aborted =
            Decision { tested: fetched.clone(), problems: problems.clone(), trial: None, ..base.clone() };
        let promoted = Decision {
            revisions: std::iter::once(fetched.clone()).chain(base.revisions.iter().cloned()).collect(),
            nodes: broken
                .keys()
                .map(|node| (node.clone(), 1 + base.nodes.get(node).copied().unwrap_or(0)))
                .collect(),
            ..aborted.clone()
        }
        .tidy();
        if !broken.is_empty() && (self.whole || !is_readable || promoted.revisions.len() > MOST) {
            let nodes = count(number, "node");
            self.tell(true, format!("revision {name} breaks {nodes} and is served to none{first}"));
            return Ok(aborted);
        }
        if number > 0 {
            let keeps = if number == 1 { "keeps" } else { "keep" };
            let sentence = format!(
                "revision {name} breaks {}, which {keeps} the one before{first}",
                count(number, "node")
            );
            self.tell(true, sentence);
        }
        let Some(canary) = self.canary.as_ref().filter(|_| base.revisions.first() != Some(&fetched)) else {
            if number == 0 {
                self.tell(false, format!("revision {name} is served: it breaks no node"));
            }
            return Ok(promoted);
        };
        let chosen = names.iter().filter(|name| canary.has(name) && !broken.contains_key(&***name));
        let nodes: Vec<String> = chosen.map(ToString::to_string).collect();
        let trial_of = if nodes.is_empty() { String::new() } else { format!(": {}", listed(&nodes, NAMED)) };
        self.tell(
            false,
            format!("revision {name} is on trial with {}{trial_of}", count(nodes.len(), "node")),
        );
        if let Some(problem) = self.unmatched_canary(&names) {
            self.tell(true, problem);
        }
        let mut trial = aborted.clone();
        trial.nodes.extend(nodes.iter().map(|node| (node.clone(), trial.revisions.len())));
        trial.revisions.push(fetched);
        let (promoted, aborted) = (Box::new(promoted), Box::new(aborted));
        trial.trial = Some(Trial { revision: name, began: Moment::now(), nodes, promoted, aborted });
        Ok(trial)
    }

    fn tell(&self, breaks: bool, sentence: String) {
        self.news.lock().push((breaks, sentence));
    }

    /// The sentences about decisions of this process since the last call; `true` if nodes break.
    pub fn take_news(&self) -> Vec<(bool, String)> {
        std::mem::take(&mut *self.news.lock())
    }

    /// Forgets the decision of an inventory whose settings say `serve: now`. Each new revision is served to all nodes
    /// then, so an earlier decision would give nodes an old revision if the setting is turned on again.
    pub fn forget(settings: &Settings) -> Result<()> {
        if &*settings.serve != "now" {
            return Ok(());
        }
        let settings = Settings { commits: &*settings.storage_type == "yaml_fs", ..settings.clone() };
        let locations = TreeLocations::of(&settings, None).unwrap_or_default();
        let Some(first) = locations.repositories.first() else { return Ok(()) };
        let file = first.beside(&file_name(&locations));
        file.remove().map_err(|message| {
            Fault::new(Kind::GitCache { path: file.path.display().to_string(), message }).into()
        })
    }

    /// The problem of a canary that is none of these nodes and none on trial.
    pub fn unmatched_canary(&self, nodes: &[Text]) -> Option<String> {
        let (glob, text) = self.canary.as_ref()?.glob.as_ref()?;
        let decision = self.decision();
        let on_trial = decision.iter().filter_map(|it| it.trial.as_ref()).flat_map(|trial| &trial.nodes);
        let mut names = nodes.iter().map(|node| &**node).chain(on_trial.map(String::as_str));
        let is_unmatched = !names.any(|node| glob.matches(node));
        is_unmatched.then(|| format!("'match: {text}' of the setting 'canary' matches no node"))
    }

    /// Makes this process the one that tests, until it ends; `false` if another one does.
    pub fn watch(&self) -> bool {
        let mut watch = self.watch.lock();
        if watch.is_none() {
            *watch = self.testers.lock(Duration::ZERO).ok().flatten();
        }
        watch.is_some()
    }

    /// The decision in force.
    pub fn decision(&self) -> Option<Arc<Decision>> {
        record::cached(&self.known, &self.file)
    }

    /// Ends a trial: all nodes get the revision, or none. Returns its name; `None` without a trial.
    pub fn end_trial(&self, promote: bool) -> Result<Option<String>> {
        let Some(before) = self.decision() else { return Ok(None) };
        let Some(trial) = &before.trial else { return Ok(None) };
        let after = if promote { &trial.promoted } else { &trial.aborted };
        self.replace(Some(&before), (**after).clone())?;
        Ok(Some(trial.revision.clone()))
    }
}

impl Decision {
    /// All nodes get the first revision.
    fn first(heads: Arc<Heads>) -> Decision {
        let (nodes, problems) = (BTreeMap::new(), Vec::new());
        Decision { revisions: vec![heads.clone()], nodes, tested: heads, problems, trial: None, began: None }
    }

    /// The name of the newest revision, and whether any node gets it.
    pub fn newest(&self) -> (String, bool) {
        let other = self.revisions.iter().find(|heads| **heads != self.tested).unwrap_or(&self.tested);
        (fetched_name(&self.tested, other), self.revisions.contains(&self.tested))
    }

    /// When most nodes got their revision.
    pub fn began(&self) -> Option<SystemTime> {
        self.began.map(|moment| moment.clock)
    }

    /// Without the revisions that no node gets.
    fn tidy(mut self) -> Decision {
        let used: BTreeSet<usize> = self.nodes.values().copied().chain([0]).collect();
        let revisions = std::mem::take(&mut self.revisions).into_iter().enumerate();
        self.revisions =
            revisions.filter(|(number, _)| used.contains(number)).map(|(_, heads)| heads).collect();
        for number in self.nodes.values_mut() {
            *number = used.range(..*number).count();
        }
        self
    }
}

impl Canary {
    fn of(value: &Value) -> Result<Option<Canary>> {
        let wrong = || {
            let allowed = "a mapping with 'match', a glob, and 'percent', a number from 0 to 100".to_owned();
            Error::from(Fault::new(Kind::SettingValue { name: "canary".into(), allowed, similar: None }))
        };
        let options = match value {
            Value::Null => return Ok(None),
            Value::Map(options) => options,
            _ => return Err(wrong()),
        };
        let mut canary = Canary { glob: None, share: 0 };
        for (key, value) in options.iter() {
            match (key.as_str(), value) {
                (Some("match"), Value::Str(glob)) => canary.glob = Some((Glob::new(glob), glob.clone())),
                (Some("percent"), Value::Int(share @ 0..=100)) => canary.share = share.unsigned_abs() * 100,
                (Some("percent"), Value::Float(share)) if (0.0..=100.0).contains(share) => {
                    let hundredths = format!("{:.0}", share * 100.0);
                    canary.share = hundredths.parse().map_err(|_| wrong())?;
                }
                _ => return Err(wrong()),
            }
        }
        Ok(Some(canary))
    }

    /// Whether a node gets a new revision first. The share depends on the names alone.
    fn has(&self, node: &str) -> bool {
        self.glob.as_ref().is_some_and(|(glob, _)| glob.matches(node))
            || hash(node.as_bytes()) % 10_000 < self.share
    }
}

/// The name of the file with the decision.
fn file_name(locations: &TreeLocations) -> String {
    format!("reclass-serve-{:016x}", hash(identity(locations).as_bytes()))
}

/// The repositories and their trees, however the settings write them.
fn identity(locations: &TreeLocations) -> String {
    let addresses: Vec<&str> = locations.repositories.iter().map(|one| &*one.remote.address).collect();
    let tree = |place: &TreeLocation| match place {
        TreeLocation::Git(branch) => format!("{:?}", (branch.repository, &branch.branch, &branch.root)),
        TreeLocation::Folders(folders) => format!("{folders:?}"),
    };
    let trees: Vec<String> = locations.nodes.iter().chain(&locations.classes).map(tree).collect();
    format!("{addresses:?} {trees:?}")
}

/// All nodes of a revision, each with its error.
fn rendered(database: &mut Database, heads: &Arc<Heads>) -> Result<Vec<(Text, Option<Error>)>> {
    database.inputs.trees.pin(heads);
    database.inspect(&|computation| {
        let names: Vec<&Text> = computation.catalog.nodes.keys().collect();
        let context = computation.context();
        let rendered = parallel::each_counted(
            WorkUnit::Nodes,
            computation.settings.threads,
            &names,
            || context.computation(),
            // The sequences of classes stay as long as a node holds them.
            |computation, name| computation.answer(NodeRequest::plain(name)).map(|answer| answer.sequence),
            |_| false,
        );
        names.into_iter().zip(rendered).map(|(name, node)| (name.clone(), node.err())).collect()
    })
}

fn problems(broken: &BTreeMap<String, Error>) -> Vec<HeldNodes> {
    let together = by_problem(broken.iter().map(|(node, error)| (node.clone(), error.faults().to_vec())));
    together.into_iter().map(|(problem, nodes)| HeldNodes { problem, nodes }).collect()
}

/// The commits of a revision that another one does not have: `a1b2c3d4 of main`.
fn fetched_name(heads: &Heads, other: &Heads) -> String {
    let empty = BTreeMap::new();
    let branches = heads.iter().enumerate().flat_map(|(at, branches)| {
        let before = other.get(at).unwrap_or(&empty);
        branches.iter().filter(|(name, commit)| before.get(*name) != Some(commit))
    });
    let shown =
        |(name, commit): (&String, &Arc<str>)| format!("{} of {name}", commit.get(..SHOWN).unwrap_or(commit));
    let gone = other.iter().enumerate().flat_map(|(at, branches)| {
        let now = heads.get(at).unwrap_or(&empty);
        branches.keys().filter(|name| !now.contains_key(*name))
    });
    let gone = gone.map(|name| format!("without branch {name}"));
    let names: BTreeSet<String> = branches.map(shown).chain(gone).collect();
    if names.is_empty() { "before".to_owned() } else { names.into_iter().collect::<Vec<_>>().join(", ") }
}
