//! The rule by which an inventory is served (`serve`), and the decision in force.
//!
//! New commits are tested by the process that has the lock of testers: that of Salt's engine as long as it lives, and
//! otherwise the first one that finds them. Meanwhile the others go on with the decision before. A tester that does not
//! come to an end loses its role: another process takes over when commits have waited long enough. Who decides twice
//! does no harm, since a decision replaces the one that its test began with, or none.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value as Json;

use super::canary::Canary;
use super::decision::Decision;
use super::judge;
use reclass::Inventory;
use reclass::parts::engine::trees::LastFetch;
use reclass::parts::storage::git::{Heads, Record, Repository};
use reclass::parts::storage::location::{TreeLocation, TreeLocations};
use reclass::parts::storage::record::{FetchLock, Moment, RecordFile, hash};
use reclass_base::error::{Error, Fault, Kind, Result};
use reclass_base::failpoints::failpoint;
use reclass_base::lock::Mutex;
use reclass_base::settings::Settings;
use reclass_base::value::Text;

/// Maximum wait for another process that writes the record: it may be fetching.
const WAIT: Duration = Duration::from_secs(30);
/// Commits wait at least this long for the process that tests before another one takes over.
const PATIENCE: Duration = Duration::from_secs(10);
/// And as many times as long as the last test took.
const TESTS: u32 = 3;

/// The rule of an inventory.
#[derive(Debug)]
pub(super) struct ServeRule {
    /// The key of its decision in the record.
    pub key: String,
    testers: RecordFile,
    deputies: RecordFile,
    /// Whether commits that break a node are served to none.
    pub whole: bool,
    pub canary: Option<Canary>,
    canary_for: Duration,
    /// The commit or tag that is served before the first decision.
    pub from: Option<Text>,
    /// Behind one lock, so that a child of this process sees whether a thread used it.
    known: Mutex<ServeMemory>,
}

/// What this process knows.
#[derive(Default, Debug)]
struct ServeMemory {
    fetched: LastFetch,
    record: Option<Arc<Record>>,
    decision: Option<Arc<Decision>>,
    /// The states in use.
    states: Vec<(Arc<Heads>, Arc<Inventory>)>,
    /// Held as long as this process is the one that tests.
    watch: Option<FetchLock>,
    /// Commits that wait for another process, and since when.
    waiting: Option<(Arc<Heads>, Instant)>,
    /// Whether a thread of this process tests.
    is_testing: bool,
    /// Sentences about decisions of this process, for its log. The flag says that nodes break.
    news: Vec<(bool, String)>,
}

/// The states of a decision.
pub(super) struct DecidedStates {
    pub states: Vec<(Arc<Inventory>, Vec<Text>)>,
    pub decision: Arc<Decision>,
    pub fetched: LastFetch,
}

/// The right to test, of one thread.
struct Role<'r> {
    rule: &'r ServeRule,
    _lock: Option<FetchLock>,
}

impl Drop for Role<'_> {
    fn drop(&mut self) {
        self.rule.known.lock().is_testing = false;
    }
}

impl ServeRule {
    /// The rule that the settings name; `None` for `serve: now`, and for a fixed revision.
    pub fn of(newest: &Inventory) -> Result<Option<ServeRule>> {
        let (settings, locations) = (newest.settings(), newest.locations());
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
        let key = key(locations);
        let lock = |role: &str| first.beside(&format!("reclass-serve-{key}-{role}"));
        Ok(Some(ServeRule {
            testers: lock("test"),
            deputies: lock("deputy"),
            key,
            whole: &*settings.serve == "whole",
            canary,
            canary_for: Duration::from_secs(settings.canary_for.into()),
            from: settings.serve_from.clone(),
            known: Mutex::default(),
        }))
    }

    /// The state that a node gets, or that most nodes get.
    pub fn state_of(&self, newest: &Inventory, node: Option<&str>) -> Result<Arc<Inventory>> {
        let (decision, fetched) = self.current(newest)?;
        let commits = node.map_or_else(|| decision.most(), |node| decision.commits_of(node)).clone();
        self.state(newest, &decision, &commits, &fetched)
    }

    /// Each state in use with the nodes that get it, that of most nodes first, as one decision has them.
    pub fn states(&self, newest: &Inventory) -> Result<DecidedStates> {
        let (decision, fetched) = self.current(newest)?;
        let mut states = Vec::new();
        for commits in decision.in_use() {
            let state = self.state(newest, &decision, commits, &fetched)?;
            let mut nodes = state.nodes()?;
            nodes.retain(|node| decision.commits_of(node) == commits);
            states.push((state, nodes));
        }
        Ok(DecidedStates { states, decision, fetched })
    }

    /// The state of most nodes, or else another one that was asked.
    pub fn asked_state(&self) -> Option<Arc<Inventory>> {
        let known = self.known.lock();
        let most = known.decision.as_ref().map(|decision| decision.most());
        let of_most = known.states.iter().find(|(commits, _)| Some(commits) == most);
        of_most.or(known.states.first()).map(|(_, state)| state.clone())
    }

    /// The state of some commits. Those that are in use no longer give way to it.
    pub fn state(
        &self,
        newest: &Inventory,
        decision: &Decision,
        commits: &Arc<Heads>,
        fetched: &LastFetch,
    ) -> Result<Arc<Inventory>> {
        let mut known = self.known.lock();
        let states = &mut known.states;
        if let Some((_, state)) = states.iter().find(|(used, _)| used == commits) {
            state.note_fetches(fetched);
            return Ok(state.clone());
        }
        let in_use = decision.in_use();
        let pinned = LastFetch { heads: commits.clone(), records: fetched.records.clone() };
        let gone = states.iter().position(|(used, _)| !in_use.contains(&used));
        // A thread may still ask the old state.
        let old = gone.and_then(|at| Arc::try_unwrap(states.swap_remove(at).1).ok());
        let state = match old {
            Some(old) => old.at(pinned),
            None => newest.pinned_beside(pinned)?,
        };
        states.retain(|(used, _)| in_use.contains(&used));
        states.push((commits.clone(), Arc::new(state)));
        Ok(states.last().expect("it was just added").1.clone())
    }

    /// The last fetches of the repositories. Fetches where the last fetch is too old, without a lock of this process.
    fn fetched(&self, newest: &Inventory) -> Result<LastFetch> {
        let repositories = newest.locations().repositories.iter();
        let records = repositories.map(Repository::current_record).collect::<Result<_>>()?;
        Ok(self.noted(records, newest))
    }

    /// The same as their records say, whoever fetched. Fetches nothing.
    pub fn last_fetched(&self, newest: &Inventory) -> LastFetch {
        let repositories = newest.locations().repositories.iter();
        self.noted(repositories.map(|one| one.known_record().unwrap_or_default()).collect(), newest)
    }

    fn noted(&self, records: Vec<Arc<Record>>, newest: &Inventory) -> LastFetch {
        let mut known = self.known.lock();
        known.fetched = LastFetch::of(records, newest.locations(), &known.fetched);
        known.fetched.clone()
    }

    /// The decision about the newest commits, or the one before it as long as another process tests.
    pub fn current(&self, newest: &Inventory) -> Result<(Arc<Decision>, LastFetch)> {
        let fetched = self.fetched(newest)?;
        let (known, is_recorded) = self.decided(fetched.records.first());
        let Some(decision) = known else {
            return self.first(newest, fetched);
        };
        if !is_recorded {
            // The record was lost, and what this process knows is better than nothing.
            let decision = self.replace(newest, None, (*decision).clone())?;
            return Ok((decision, fetched));
        }
        if decision.tested == fetched.heads {
            self.known.lock().waiting = None;
            let decision = match &decision.trial {
                Some(trial) if self.is_over(trial.began) => {
                    self.tell(false, format!("revision {} is promoted: its trial is over", trial.revision));
                    self.replace(newest, Some(&decision), (*trial.promoted).clone())?
                }
                _ => decision,
            };
            return Ok((decision, fetched));
        }
        let Some(role) = self.role(&decision, &fetched) else { return Ok((decision, fetched)) };
        // Another process may have tested them while this one came here.
        let now = self.fetched(newest)?;
        let (there, _) = self.decided(now.records.first());
        if let Some(there) = there.filter(|there| *there != decision) {
            return Ok((there, now));
        }
        let tested = judge::test(self, newest, Some(&decision), &fetched)?;
        failpoint("a revision is tested");
        let decided = self.replace(newest, Some(&decision), tested)?;
        drop(role);
        // A record that could not be believed is forgiven with the decision.
        Ok((decided, self.last_fetched(newest)))
    }

    /// The first decision: there are no commits before these.
    fn first(&self, newest: &Inventory, fetched: LastFetch) -> Result<(Arc<Decision>, LastFetch)> {
        let lock =
            self.testers.lock(if self.known.lock().watch.is_some() { Duration::ZERO } else { PATIENCE });
        let (there, is_recorded) = self.decided(self.fetched(newest)?.records.first());
        if let Some(there) = there.filter(|_| is_recorded) {
            return Ok((there, fetched));
        }
        let before = judge::start(self, newest, &fetched)?;
        let tested = judge::test(self, newest, before.as_ref(), &fetched)?;
        failpoint("a revision is tested");
        let decided = self.replace(newest, None, tested)?;
        drop(lock);
        Ok((decided, fetched))
    }

    /// The right to test; `None` if another process or thread has it.
    fn role(&self, decision: &Decision, fetched: &LastFetch) -> Option<Role<'_>> {
        let mut known = self.known.lock();
        if known.is_testing {
            return None;
        }
        let lock = match &known.watch {
            Some(_) => None,
            None => match self.testers.lock(Duration::ZERO) {
                Ok(Some(lock)) => Some(lock),
                // Another process tests, or nobody can.
                Ok(None) | Err(_) => Some(self.deputy(&mut known, decision, fetched)?),
            },
        };
        known.is_testing = true;
        Some(Role { rule: self, _lock: lock })
    }

    /// The right to test in place of a process that does not come to an end.
    fn deputy(&self, known: &mut ServeMemory, decision: &Decision, fetched: &LastFetch) -> Option<FetchLock> {
        let since = match &known.waiting {
            Some((commits, since)) if *commits == fetched.heads => *since,
            _ => known.waiting.insert((fetched.heads.clone(), Instant::now())).1,
        };
        if since.elapsed() < PATIENCE.max(decision.took * TESTS) {
            return None;
        }
        self.deputies.lock(Duration::ZERO).ok().flatten()
    }

    /// The decision of a record, or the one that this process knows; whether it is in the record.
    fn decided(&self, record: Option<&Arc<Record>>) -> (Option<Arc<Decision>>, bool) {
        let mut known = self.known.lock();
        let is_known =
            |record: &&Arc<Record>| known.record.as_ref().is_some_and(|it| Arc::ptr_eq(it, record));
        if let Some(record) = record.filter(|record| !is_known(record)) {
            let given = record.served.get(&self.key);
            if given == Some(&Json::Null) {
                // It was forgotten on purpose.
                known.decision = None;
            }
            match given.cloned().and_then(parsed) {
                Some(given) if known.decision.as_deref() != Some(&given) => {
                    known.decision = Some(Arc::new(given));
                }
                Some(_) => {}
                None => return (known.decision.clone(), false),
            }
            known.record = Some(record.clone());
        }
        (known.decision.clone(), known.decision.is_some())
    }

    /// The decision of the last question, or of the record of this moment.
    pub fn known(&self, newest: &Inventory) -> Option<Arc<Decision>> {
        let record = newest.locations().repositories.first()?.known_record();
        self.decided(record.as_ref()).0
    }

    fn is_over(&self, began: Moment) -> bool {
        !self.canary_for.is_zero() && Moment::now().elapsed_since(began) >= self.canary_for
    }

    /// Writes a decision, unless another process has decided since `before` was read. Returns the one in force.
    fn replace(
        &self,
        newest: &Inventory,
        before: Option<&Decision>,
        mut decision: Decision,
    ) -> Result<Arc<Decision>> {
        let repository = newest.locations().repositories.first();
        let repository = repository.expect("a rule is made for a repository");
        let is_new = before.is_none_or(|before| before.most() != decision.most());
        decision.began = if is_new { Some(Moment::now()) } else { before.and_then(|before| before.began) };
        failpoint("a decision is written");
        let written = self.write(repository, before, &decision)?;
        failpoint("a decision was written");
        let decision = Arc::new(written.unwrap_or(decision));
        let mut known = self.known.lock();
        (known.decision, known.record) = (Some(decision.clone()), None);
        Ok(decision)
    }

    /// Writes the decision. Returns another one that is there in place of `before`.
    fn write(
        &self,
        repository: &Repository,
        before: Option<&Decision>,
        decision: &Decision,
    ) -> Result<Option<Decision>> {
        let json = serde_json::to_value(decision);
        let json = json.map_err(|error| repository.unusable(error.to_string()))?;
        let mut other = None;
        repository.change_record(WAIT, |record| {
            let there = record.served.get(&self.key).cloned().and_then(parsed);
            if let Some(there) = there.filter(|there| Some(there) != before) {
                other = Some(there);
                return false;
            }
            // A decision about other commits is as good as one that was never lost.
            record.distrusted &= before.is_none();
            record.served.insert(self.key.clone(), json);
            true
        })?;
        Ok(other)
    }

    /// Adds a sentence for the log of this process.
    pub fn tell(&self, breaks: bool, sentence: String) {
        self.known.lock().news.push((breaks, sentence));
    }

    /// The sentences about decisions of this process since the last call; `true` if nodes break.
    pub fn take_news(&self) -> Vec<(bool, String)> {
        std::mem::take(&mut self.known.lock().news)
    }

    /// Makes this process the one that tests, until it ends; `false` if another one does.
    pub fn watch(&self) -> bool {
        let mut known = self.known.lock();
        if known.watch.is_none() {
            known.watch = self.testers.lock(Duration::ZERO).ok().flatten();
        }
        known.watch.is_some()
    }

    /// Ends a trial: all nodes get the commits, or none. Returns their name; `None` without a trial.
    pub fn end_trial(&self, newest: &Inventory, promote: bool) -> Result<Option<String>> {
        let Some(before) = self.known(newest) else { return Ok(None) };
        let Some(trial) = &before.trial else { return Ok(None) };
        let after = if promote { (*trial.promoted).clone() } else { before.aborted() };
        self.replace(newest, Some(&before), after)?;
        Ok(Some(trial.revision.clone()))
    }

    /// Takes over what the parent process knew. Fails if a thread of the parent used it during the fork.
    pub fn adopt(&self) -> bool {
        let Some(mut known) = self.known.try_lock() else { return false };
        // The role is that of the parent, and so is its test.
        known.is_testing = false;
        std::mem::forget(known.watch.take());
        known.states.iter().all(|(_, state)| state.adopt())
    }
}

fn parsed(decision: Json) -> Option<Decision> {
    serde_json::from_value(decision).ok()
}

/// Forgets the decision of an inventory whose settings say `serve: now`.
pub(super) fn forget(settings: &Settings) -> Result<()> {
    if &*settings.serve != "now" {
        return Ok(());
    }
    let settings = Settings { commits: &*settings.storage_type == "yaml_fs", ..settings.clone() };
    let locations = TreeLocations::of(&settings, None).unwrap_or_default();
    let Some(first) = locations.repositories.first() else { return Ok(()) };
    let key = key(&locations);
    let is_decided = |record: &Record| record.served.get(&key).is_some_and(|decision| !decision.is_null());
    if !first.known_record().is_some_and(|record| is_decided(&record)) {
        return Ok(());
    }
    // A process that remembers the decision does not take it for lost.
    first.change_record(WAIT, |record| record.served.insert(key, Json::Null).is_some())
}

/// The repositories and their trees, however the settings write them.
fn key(locations: &TreeLocations) -> String {
    let addresses: Vec<&str> = locations.repositories.iter().map(|one| &*one.remote.address).collect();
    let tree = |place: &TreeLocation| match place {
        TreeLocation::Git(branch) => format!("{:?}", (branch.repository, &branch.branch, &branch.root)),
        TreeLocation::Folders(folders) => format!("{folders:?}"),
    };
    let trees: Vec<String> = locations.nodes.iter().chain(&locations.classes).map(tree).collect();
    format!("{:016x}", hash(format!("{addresses:?} {trees:?}").as_bytes()))
}

impl From<&ServeRule> for Error {
    fn from(rule: &ServeRule) -> Error {
        let from = rule.from.as_deref().unwrap_or_default();
        let allowed =
            format!("a commit, a tag or a branch of a repository of the inventory, and not '{from}'");
        Fault::new(Kind::SettingValue { name: "serve_from".into(), allowed, similar: None }).into()
    }
}
