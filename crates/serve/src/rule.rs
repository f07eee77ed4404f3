//! The rule by which an inventory is served (`serve`), and the decision in force.
//!
//! New commits are tested by the process that has the lock of testers: that of Salt's engine as long as it lives, and
//! otherwise the first one that finds them. Meanwhile the others go on with the decision before. A tester that does not
//! come to an end loses its role: another process takes over when commits have waited long enough. Who decides twice
//! does no harm, since a decision replaces the one that its test began with, or none.
//!
//! There is one decision for the nodes of an inventory, and everybody goes by it, whatever other settings they have. It
//! notes the settings whose rule made it. A process with these may test what is new. A master that starts with others
//! tests by them, beginning with the commits that are served; its older processes follow. A guest with others changes
//! nothing: a laxer rule must take no pillar from a minion. A decision that was made without earlier commits gives way to
//! one that a process remembers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value as Json;

use super::canary::Canary;
use super::decision::{Branches, Decision, RuleSettings, name};
use super::judge;
use reclass::Inventory;
use reclass::parts::engine::{LastFetch, branches_in_use};
use reclass::parts::storage::record::hash;
use reclass::parts::storage::{
    FetchLock, Heads, Moment, Record, RecordFile, Repository, TreeLocation, TreeLocations,
};
use reclass_base::error::{Error, Fault, Kind, Result, concise_warning};
use reclass_base::failpoints::failpoint;
use reclass_base::lock::Mutex;
use reclass_base::settings::Settings;
use reclass_base::value::{Text, Value};

/// Maximum wait for another process that writes the record: it may be fetching.
const WAIT: Duration = Duration::from_secs(30);
/// Commits wait at least this long for the process that tests before another one takes over.
const PATIENCE: Duration = Duration::from_secs(10);
/// And as many times as long as the last test took.
const TESTS: u32 = 3;

/// Who asks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Asker {
    /// A process that makes the pillars of a master.
    Master,
    /// A program that makes pillars without a master: salt-ssh, masterless minions, scripts.
    Masterless,
    /// Whoever else asks: a runner, a command line, an entry that makes no pillars.
    Guest,
}

#[derive(Debug)]
pub(super) struct ServeRule {
    /// The key of its decision in the record: the tree of the nodes.
    key: String,
    /// What its decisions note.
    by: RuleSettings,
    asker: Asker,
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
    /// Since when commits wait for another process, and the ones that were tested before.
    waiting: Option<(Arc<Heads>, Instant)>,
    /// Commits that could not be tested, and when.
    failed: Option<(Arc<Heads>, Instant)>,
    /// Whether this process has gone by a decision of these settings.
    has_begun: bool,
    /// Whether a thread of this process tests.
    is_testing: bool,
    /// Sentences about decisions of this process, for its log. The flag says that nodes break.
    news: Vec<(bool, String)>,
}

/// The decision that a process goes by.
struct KnownDecision {
    decision: Option<Arc<Decision>>,
    /// Whether it is in the record.
    is_recorded: bool,
    /// The decision without earlier commits that the record has in place of it.
    instead: Option<Decision>,
    /// Whether it is by other settings, and this process starts with its own.
    begins: bool,
}

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

impl ServeMemory {
    /// Whether these commits could not be tested a moment ago.
    fn has_failed(&self, heads: &Arc<Heads>) -> bool {
        self.failed.as_ref().is_some_and(|(commits, at)| commits == heads && at.elapsed() < PATIENCE)
    }
}

impl ServeRule {
    /// The rule that the settings name; `None` for `serve: now`, and for a fixed revision.
    pub fn of(newest: &Inventory, asker: Asker) -> Result<Option<ServeRule>> {
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
        let repositories = locations.repositories.iter().enumerate();
        let branches: Vec<Branches> = repositories
            .map(|(number, one)| (hashed(&one.remote.address), branches_in_use(locations, number)))
            .collect();
        let tree = |place: &TreeLocation| tree(locations, place);
        let classes: Vec<String> = locations.classes.iter().map(tree).collect();
        let depends = (classes, locations.schemas.as_ref().map(tree), of_pillars(settings));
        let by = RuleSettings {
            settings: hashed(&(&branches, depends, &canary)),
            branches,
            is_of_master: asker == Asker::Master,
        };
        let lock = |role: &str| first.beside(&format!("reclass-serve-{key}-{role}"));
        Ok(Some(ServeRule {
            testers: lock("test"),
            deputies: lock("deputy"),
            by,
            asker,
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
        let known = self.decided(fetched.records.first());
        let Some(recorded) = known.decision else { return self.first(newest, fetched) };
        // The decision of a guest is in no record.
        if !known.is_recorded && self.asker != Asker::Guest {
            // The record was lost, and what this process knows is better than nothing.
            let decision = self.replace(newest, known.instead.as_ref(), (*recorded).clone())?;
            return Ok((self.by_branches(decision, &fetched.heads), self.last_fetched(newest)));
        }
        let decision = self.by_branches(recorded.clone(), &fetched.heads);
        if decision.tested == fetched.heads && !known.begins {
            self.known.lock().waiting = None;
            let over = recorded.trial.as_ref().filter(|trial| self.is_over(trial.began));
            // A guest may have read another `canary_for`.
            let ends = self.is_own(&recorded) && self.asker != Asker::Guest;
            let Some(trial) = over.filter(|_| ends) else { return Ok((decision, fetched)) };
            self.tell(false, format!("revision {} is promoted: its trial is over", trial.revision));
            return Ok((self.replace(newest, Some(&recorded), recorded.after(trial))?, fetched));
        }
        let Some(role) = self.role(&recorded, &fetched, known.begins) else { return Ok((decision, fetched)) };
        // Another process may have tested them while this one came here.
        let now = self.fetched(newest)?;
        let there = self.decided(now.records.first()).decision;
        if let Some(there) = there.filter(|there| *there != recorded) {
            return Ok((self.by_branches(there, &now.heads), now));
        }
        let Some(tested) = self.tested(newest, &decision, &fetched) else { return Ok((decision, fetched)) };
        failpoint("a revision is tested");
        let decided = self.replace(newest, Some(&recorded), tested)?;
        drop(role);
        // A record that could not be believed is forgiven with the decision.
        Ok((self.by_branches(decided, &fetched.heads), self.last_fetched(newest)))
    }

    /// The first decision: there are no commits before these.
    fn first(&self, newest: &Inventory, fetched: LastFetch) -> Result<(Arc<Decision>, LastFetch)> {
        let lock =
            self.testers.lock(if self.known.lock().watch.is_some() { Duration::ZERO } else { PATIENCE });
        let there = self.decided(self.fetched(newest)?.records.first());
        if let Some(there) = there.decision.filter(|_| there.is_recorded) {
            return Ok((self.by_branches(there, &fetched.heads), fetched));
        }
        let tested = self.noted_by(self.without_earlier(newest, &fetched)?, None);
        failpoint("a revision is tested");
        let decided = self.replace(newest, None, tested)?;
        drop(lock);
        Ok((self.by_branches(decided, &fetched.heads), fetched))
    }

    /// A decision that knows no commits but those of `serve_from`.
    fn without_earlier(&self, newest: &Inventory, fetched: &LastFetch) -> Result<Decision> {
        let start = judge::start(self, newest, fetched)?;
        judge::test(self, newest, start.as_ref(), fetched)
    }

    /// Whether a decision is by these settings.
    fn is_own(&self, decision: &Decision) -> bool {
        decision.by.settings == self.by.settings
    }

    /// Whether a process that starts with other settings than those of a decision tests by them.
    fn may_begin(&self, decision: &Decision) -> bool {
        match self.asker {
            Asker::Master => true,
            Asker::Masterless => !decision.by.is_of_master,
            Asker::Guest => false,
        }
    }

    /// A decision as one by these settings. Whoever tests it, one of a master stays that.
    fn noted_by(&self, decision: Decision, before: Option<&Decision>) -> Decision {
        let is_of_master = self.by.is_of_master || before.is_some_and(|before| before.by.is_of_master);
        Decision { by: RuleSettings { is_of_master, ..self.by.clone() }, ..decision }
    }

    /// A decision with the branches and repositories of these settings.
    fn by_branches(&self, decision: Arc<Decision>, newest: &Heads) -> Arc<Decision> {
        if decision.by.branches == self.by.branches {
            return decision;
        }
        Arc::new(decision.with_branches(&self.by.branches, newest))
    }

    /// The decision about new commits; `None` if they could not be tested, and for a while after that.
    fn tested(&self, newest: &Inventory, before: &Decision, fetched: &LastFetch) -> Option<Decision> {
        if self.known.lock().has_failed(&fetched.heads) {
            return None;
        }
        // They were tested by other settings.
        let is_again = before.tested == fetched.heads;
        let tested = match before {
            before if is_again && before.is_aborted => Ok(before.clone()),
            before if is_again && before.is_first => self.without_earlier(newest, fetched),
            before => judge::test(self, newest, Some(before), fetched),
        };
        let error = match tested {
            Ok(tested) => return Some(self.noted_by(tested, Some(before))),
            Err(error) => error,
        };
        let revision = name(&fetched.heads, &before.tested);
        let why = concise_warning(error.first());
        self.tell(true, format!("revision {revision} cannot be tested at the moment: {why}"));
        self.known.lock().failed = Some((fetched.heads.clone(), Instant::now()));
        None
    }

    /// The right to test; `None` if another process or thread has it. A process that begins with other settings than
    /// those of the decision may have it at once, its older ones only in place of one that does not come to an end.
    fn role(&self, decision: &Decision, fetched: &LastFetch, begins: bool) -> Option<Role<'_>> {
        let mut known = self.known.lock();
        let is_own = self.is_own(decision) || begins;
        if known.is_testing || known.has_failed(&fetched.heads) || !is_own && self.asker != Asker::Master {
            return None;
        }
        let role = if is_own && known.watch.is_some() {
            Role { rule: self, _lock: None }
        } else if let Some(lock) = is_own.then(|| lock_now(&self.testers)).flatten() {
            Role { rule: self, _lock: Some(lock) }
        } else {
            // Another process tests, or nobody can.
            self.deputy(&mut known, decision)?
        };
        known.is_testing = true;
        Some(role)
    }

    /// The right to test in place of a process that does not come to an end: first of one other process, and after
    /// as long again of any.
    fn deputy(&self, known: &mut ServeMemory, decision: &Decision) -> Option<Role<'_>> {
        // Commits that come meanwhile wait no shorter.
        let since = match &known.waiting {
            Some((tested, since)) if *tested == decision.tested => *since,
            _ => known.waiting.insert((decision.tested.clone(), Instant::now())).1,
        };
        let (waited, wait) = (since.elapsed(), PATIENCE.max(decision.took.saturating_mul(TESTS)));
        if waited < wait {
            return None;
        }
        let lock = lock_now(&self.deputies);
        (lock.is_some() || waited >= wait.saturating_mul(2)).then(|| Role { rule: self, _lock: lock })
    }

    /// The decision of a record, or the one that this process knows.
    fn decided(&self, record: Option<&Arc<Record>>) -> KnownDecision {
        let mut known = self.known.lock();
        let is_known =
            |record: &&Arc<Record>| known.record.as_ref().is_some_and(|it| Arc::ptr_eq(it, record));
        if let Some(record) = record.filter(|record| !is_known(record)) {
            let given = record.served.get(&self.key);
            if given == Some(&Json::Null) {
                // It was forgotten on purpose.
                known.decision = None;
            }
            let earlier = known.decision.clone();
            let remembered =
                |instead| KnownDecision { decision: earlier, is_recorded: false, instead, begins: false };
            let Some(given) = given.cloned().and_then(parsed) else { return remembered(None) };
            let is_better = known.decision.as_ref().is_some_and(|known| !known.is_first);
            if given.is_first && is_better && self.asker != Asker::Guest {
                return remembered(Some(given));
            }
            if known.decision.as_deref() != Some(&given) {
                known.decision = Some(Arc::new(given));
            }
            known.record = Some(record.clone());
        }
        let decision = known.decision.clone();
        known.has_begun |= decision.as_ref().is_some_and(|decision| self.is_own(decision));
        let begins = !known.has_begun && decision.as_ref().is_some_and(|decision| self.may_begin(decision));
        KnownDecision { is_recorded: decision.is_some(), decision, instead: None, begins }
    }

    /// The decision of the last question, or of the record of this moment.
    pub fn known(&self, newest: &Inventory) -> Option<Arc<Decision>> {
        let fetched = self.last_fetched(newest);
        let decision = self.decided(fetched.records.first()).decision?;
        Some(self.by_branches(decision, &fetched.heads))
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
        known.has_begun |= self.is_own(&decision);
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
            let given = record.served.get(&self.key).filter(|given| !given.is_null());
            let (is_there, there) = (given.is_some(), given.cloned().and_then(parsed));
            if let Some(there) = there.filter(|there| Some(there) != before) {
                other = Some(there);
                return false;
            }
            // A guest goes by a decision, and makes none for others.
            if self.asker == Asker::Guest && before.is_none() {
                return false;
            }
            // One of another form cannot be believed. A decision after another one is as good as if none was lost.
            record.distrusted = before.is_none() && (record.distrusted || is_there);
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
            known.watch = lock_now(&self.testers);
        }
        known.watch.is_some()
    }

    /// Ends a trial: all nodes get the commits, or none. Returns their name; `None` without a trial.
    pub fn end_trial(&self, newest: &Inventory, promote: bool) -> Result<Option<String>> {
        let record = newest.locations().repositories.first().and_then(Repository::known_record);
        let KnownDecision { decision: Some(before), instead, .. } = self.decided(record.as_ref()) else {
            return Ok(None);
        };
        let Some(trial) = &before.trial else { return Ok(None) };
        let aborted = || Decision { is_aborted: true, ..before.without_trial() };
        let after = if promote { before.after(trial) } else { aborted() };
        self.replace(newest, Some(instead.as_ref().unwrap_or(&before)), after)?;
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

/// The lock of a role; `None` if another process has it, or nobody can.
fn lock_now(role: &RecordFile) -> Option<FetchLock> {
    role.lock(Duration::ZERO).ok().flatten()
}

fn parsed(decision: Json) -> Option<Decision> {
    serde_json::from_value(decision).ok().filter(Decision::is_possible)
}

/// Forgets the decision of an inventory whose settings say `serve: now`, or name a revision.
pub(super) fn forget(settings: &Settings) -> Result<()> {
    if &*settings.serve != "now" && settings.git_revision.is_none() {
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
    first.change_record(WAIT, |record| {
        record.served.insert(key.clone(), Json::Null);
        true
    })
}

/// The settings that a pillar and the rule depend on, the others as they are without them. What only says how long
/// something may take, where things are kept, or how answers look is not among them.
fn of_pillars(settings: &Settings) -> Settings {
    Settings {
        // The trees say where these are.
        inventory_base_uri: None,
        nodes_uri: Value::Null,
        classes_uri: Value::Null,
        config_file: None,
        schemas_uri: Value::Null,
        canary: Value::Null,
        git_fetch_interval: 0,
        git_fetch_timeout: 0,
        git_fetch_failure: Text::default(),
        git_known_hosts: None,
        git_unknown_hosts: Text::default(),
        serve_from: None,
        canary_for: 0,
        etcd_interval: 0,
        etcd_timeout: 0,
        etcd_failure: Text::default(),
        etcd_ca: None,
        etcd_cert: None,
        etcd_key: None,
        etcd_user: None,
        etcd_password_file: None,
        etcd_cache_dir: Text::default(),
        stale_log_interval: 0,
        metrics_file: None,
        revision_in_pillar: false,
        edit_branch: None,
        cluster_folder: Text::default(),
        cluster_file: Text::default(),
        linked_folders: Vec::new(),
        known_grains: Value::Null,
        applications_postfix: None,
        group_form: Text::default(),
        reclass_source_path: Value::Null,
        secret_keys: Vec::new(),
        mask_excerpts: false,
        lint_levels: Value::Null,
        lint_baseline: None,
        cache: Text::default(),
        settle_time: 0,
        cache_size: 0,
        threads: 0,
        output: Text::default(),
        pretty_print: false,
        no_refs: false,
        ..settings.clone()
    }
}

/// The tree of the nodes: other nodes are another inventory.
fn key(locations: &TreeLocations) -> String {
    hashed(&locations.nodes.as_ref().map(|place| tree(locations, place)))
}

fn hashed(parts: &impl std::fmt::Debug) -> String {
    format!("{:016x}", hash(format!("{parts:?}").as_bytes()))
}

/// A tree, however the settings write it.
fn tree(locations: &TreeLocations, place: &TreeLocation) -> String {
    match place {
        TreeLocation::Git(branch) => {
            let repository = locations.repositories.get(branch.repository);
            let address = repository.map(|one| &*one.remote.address);
            format!("{:?}", (address, &branch.branch, &branch.root))
        }
        TreeLocation::Folders(folders) => format!("{folders:?}"),
    }
}

impl From<&ServeRule> for Error {
    fn from(rule: &ServeRule) -> Error {
        let from = rule.from.as_deref().unwrap_or_default();
        let allowed =
            format!("a commit, a tag or a branch of a repository of the inventory, and not '{from}'");
        Fault::new(Kind::SettingValue { name: "serve_from".into(), allowed, similar: None }).into()
    }
}
