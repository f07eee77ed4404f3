//! Runs tests: renders each node once for all tests that look at it, and groups the nodes with the same wrong
//! value. Only wrong values are explained.

use std::time::{Duration, Instant};

use indexmap::IndexMap;
use rustc_hash::FxHashMap;

use super::TestQuestion;
use super::data::{StoppedRun, TestFailure, TestReport, TestResult, TestState};
use super::lookup::{AnswerPart, LookedUp, ValuePath, hidden, value_places};
use super::matcher::{Matcher, Miss, OF_TYPE, differences};
use super::read::{BadTest, Goal, PathCheck, Subject, TestCase, TestFile, tests};
use super::snapshot::Snapshots;
use super::tally::{NodeOutcome, Tally, Wrong, WrongGroup};
use crate::diff::Renderer;
use crate::errors::TEST_INVALID;
use crate::explain::{ValuePlace, ValuePlaces};
use crate::survey::chosen_nodes;
use reclass::NodeInfo;
use reclass::parts::engine::{Computation, NodeRequest};
use reclass::report::{Finding, Level};
use reclass_base::error::{Error, Fault, Kind, Result, concise};
use reclass_base::parallel;
use reclass_base::pattern::{Glob, is_wild};
use reclass_base::progress::{WorkCount, WorkUnit};
use reclass_base::secrets::MASK;
use reclass_base::similar::{self, SearchCost};
use reclass_base::source::Site;
use reclass_base::value::{Key, Text, Value};

/// A node to render.
enum Rendered<'t> {
    /// A node of the inventory, with the indexes of its tests.
    Known(Text, Vec<usize>),
    /// The node of one test.
    Own(usize, &'t TestCase),
}

impl Rendered<'_> {
    fn node_and_tests(&self) -> Option<(&Text, &[usize])> {
        match self {
            Rendered::Known(name, tests) => Some((name, tests)),
            Rendered::Own(index, TestCase { subject: Subject::Own(name, ..), .. }) => {
                Some((name, std::slice::from_ref(index)))
            }
            Rendered::Own(..) => None,
        }
    }
}

/// The most pairs of a test and a node whose outcome is in memory.
const MOST_PAIRS: usize = 20_000;

/// The least time for the explanations of failures.
const LEAST_EXPLAINING: Duration = Duration::from_secs(1);

/// The fewest nodes that are rendered in one go: all threads have work.
const FEWEST_NODES: usize = 64;

/// The most wrong values of one answer that are explained in one go.
const MOST_TOGETHER: usize = 1_000;

/// Failures that were found before the end of a run are explained, too: for a tenth of its time.
fn end_of_explaining(limit: Duration, end: Instant) -> Option<Instant> {
    end.max(Instant::now()).checked_add((limit / 10).max(LEAST_EXPLAINING))
}

/// What a node shows to its tests.
struct SeenNode<'n> {
    name: &'n Text,
    answer: Result<NodeInfo>,
    snapshots: FxHashMap<(usize, usize), Value>,
    /// The searches for paths that are similar to missing ones.
    cost: SearchCost,
}

/// A wrong value as it is shown.
#[derive(Default)]
struct SeenValue {
    value: Option<Value>,
    /// The value of the node that it is compared with.
    expected: Option<Value>,
    place: Option<ValuePlace>,
}

/// The report of the tests in some files.
pub(super) fn run(
    computation: &Computation<'_>,
    files: &[TestFile],
    question: &TestQuestion,
) -> Result<TestReport> {
    let mut all: Vec<Result<TestCase, BadTest>> =
        files.iter().enumerate().flat_map(|(index, file)| tests(computation, index, file)).collect();
    check_labels(computation, &mut all);
    let name = |test: &Result<TestCase, BadTest>| match test {
        Ok(test) => test.name.clone(),
        Err(bad) => bad.name.clone(),
    };
    let names: Vec<String> = all.iter().map(name).collect();
    check_names(&names, &question.names)?;
    let wanted =
        |name: &str| question.names.is_empty() || question.names.iter().any(|one| names_it(one, name));
    // A file that cannot be read may have any test.
    let is_file = |test: &Result<TestCase, BadTest>| matches!(test, Err(bad) if bad.is_file);
    all.retain(|test| is_file(test) || wanted(&name(test)));
    let mut snapshots = Snapshots::read(computation.settings, files, question.record)?;
    let mut by_node: FxHashMap<Text, Vec<usize>> = FxHashMap::default();
    let mut own = Vec::new();
    for (index, test) in all.iter_mut().enumerate() {
        match nodes_of(computation, test) {
            Ok(names) => names.into_iter().for_each(|name| by_node.entry(name).or_default().push(index)),
            Err(bad) => *test = Err(bad),
        }
    }
    for (index, test) in all.iter().enumerate() {
        if let Ok(test @ TestCase { subject: Subject::Own(..), .. }) = test {
            own.push(Rendered::Own(index, test));
        }
    }
    let mut known: Vec<(Text, Vec<usize>)> = by_node.into_iter().collect();
    known.sort_unstable();
    let mut items: Vec<Rendered<'_>> =
        known.into_iter().map(|(name, tests)| Rendered::Known(name, tests)).collect();
    items.append(&mut own);
    // A limit beyond all times is none.
    let end = question.time_limit.and_then(|limit| Instant::now().checked_add(limit));
    let is_over = || end.is_some_and(|end| Instant::now() >= end);
    let runner =
        Runner { all: &all, others: other_nodes(computation, &all), snapshots: &snapshots, question };
    let Looked { mut tallies, recorded, nodes_left } = runner.look_at(computation, &items, &is_over);
    let mut results: Vec<TestResult> = all.iter().map(untried).collect();
    for item in &items {
        for test in item.node_and_tests().map_or(&[][..], |(_, tests)| tests) {
            results[*test].nodes_left += 1;
        }
    }
    for ((test, tally), result) in all.iter().zip(&mut tallies).zip(&mut results) {
        let Ok(case) = test else { continue };
        (result.nodes, result.left_out) = (tally.nodes, tally.left_out);
        result.nodes_left -= tally.nodes;
        if result.nodes_left > 0 {
            // One of the other nodes may have a path that these have not.
            result.state = TestState::Unfinished;
        } else {
            add_missing_paths(case, tally, result);
        }
    }
    let groups: Vec<WrongGroup> = tallies.into_iter().flat_map(|tally| tally.groups).flatten().collect();
    let context = computation.context();
    let batches = runner.together(&groups);
    let end = question.time_limit.zip(end).and_then(|(limit, end)| end_of_explaining(limit, end));
    let is_over = || end.is_some_and(|end| Instant::now() >= end);
    let explained = parallel::each(
        computation.settings.threads,
        &batches,
        || Renderer::new(context.computation()),
        |renderer, batch| if is_over() { None } else { Some(runner.failures(renderer, batch)) },
        Option::is_none,
    );
    let mut failures: Vec<Option<Option<TestFailure>>> = groups.iter().map(|_| None).collect();
    for ((at, _), failure) in batches.iter().flatten().zip(explained.into_iter().flatten().flatten()) {
        failures[*at] = Some(failure);
    }
    let mut is_unlisted = false;
    for (group, failure) in groups.iter().zip(failures) {
        let result = &mut results[group.test];
        if result.state != TestState::Invalid {
            result.state = TestState::Failed;
        }
        if let Some(failure) = failure {
            result.failures.extend(failure);
        } else {
            result.left_out += group.nodes.len();
            is_unlisted = true;
        }
    }
    let stopped = question.time_limit.filter(|_| nodes_left > 0 || is_unlisted).map(|limit| {
        let tests = results.iter().filter(|result| result.nodes_left > 0).count();
        StoppedRun { seconds: limit.as_secs(), nodes_left, tests_left: tests }
    });
    let mut report = TestReport { tests: results, stopped, recorded: Vec::new() };
    if question.record && report.stopped.is_none() {
        // A test that did not run may have snapshots.
        if question.names.is_empty() && report.is_passed() {
            snapshots.clear();
        }
        for (test, (label, path, value)) in recorded {
            let Some(Ok(test)) = all.get(test) else { continue };
            snapshots.put(test.file, label, path, value);
        }
        report.recorded = snapshots.texts(computation.settings)?;
    }
    Ok(report)
}

/// What the nodes of all tests show.
struct Looked {
    /// For each test.
    tallies: Vec<Tally>,
    /// Values to record, each with the index of its test, the name of the snapshot and the path.
    recorded: Vec<(usize, (Text, String, Value))>,
    /// The number of nodes that were not looked at.
    nodes_left: usize,
}

/// The differences of a value from the recorded one. Both have no secrets.
fn recorded(keys: &[Key], known: Option<&Value>, shown: Option<&Value>) -> Vec<Wrong> {
    let Some(known) = known else { return vec![Wrong::Unrecorded] };
    let shown = shown.map(Snapshots::as_read);
    let misses = differences("as recorded:", keys, Some(known), shown.as_ref());
    misses.into_iter().map(Wrong::Value).collect()
}

/// The result of a test before anything is known about it.
fn untried(test: &Result<TestCase, BadTest>) -> TestResult {
    let (name, site, state, faults) = match test {
        Ok(test) => (&test.name, &test.site, TestState::Passed, &[][..]),
        Err(bad) => (&bad.name, &bad.site, TestState::Invalid, &bad.faults[..]),
    };
    let problem = |fault: &Fault| Finding { fault: fault.clone(), level: Level::Error, nodes: Vec::new() };
    let problems = faults.iter().map(problem).collect();
    TestResult {
        name: name.clone(),
        site: site.clone(),
        state,
        nodes: 0,
        nodes_left: 0,
        failures: Vec::new(),
        left_out: 0,
        problems,
    }
}

/// Makes each path that no node has a problem of its test.
fn add_missing_paths(case: &TestCase, tally: &mut Tally, result: &mut TestResult) {
    let Goal::Values(checks) = &case.goal else { return };
    for (check, help) in tally.take_missing_paths(case) {
        let Some(check) = checks.get(check) else { continue };
        let message = format!("no node of this test has '{}'", check.path);
        let fault = TEST_INVALID.fault(message, Some(&help));
        let fault = fault.at_site(check.site.clone());
        result.problems.push(Finding { fault, level: Level::Error, nodes: Vec::new() });
        result.state = TestState::Invalid;
    }
}

/// The name of a node in snapshots. A node of a test's own has the name of the test.
fn label(test: &TestCase, node: &str) -> Text {
    match test.subject {
        Subject::Nodes(_) => node.into(),
        Subject::Own(..) => test.name.as_str().into(),
    }
}

/// Makes tests invalid whose snapshots would be those of another test or of a node.
fn check_labels(computation: &Computation<'_>, all: &mut [Result<TestCase, BadTest>]) {
    let mut first: FxHashMap<(usize, String), Site> = FxHashMap::default();
    for test in all {
        let Ok(TestCase { name, site, file, subject: Subject::Own(..), goal: Goal::Values(checks) }) = test
        else {
            continue;
        };
        let is_recorded =
            |check: &PathCheck| check.matchers.iter().any(|matcher| matches!(matcher, Matcher::Snapshot));
        if !checks.iter().any(is_recorded) {
            continue;
        }
        let other = first.insert((*file, name.clone()), site.clone());
        let whose = match other {
            _ if computation.catalog.nodes.contains_key(name.as_str()) => "the node",
            Some(_) => "another test",
            None => continue,
        };
        let message = format!("its snapshots would be those of {whose} with its name");
        let help = Some("give it another name");
        let mut fault = TEST_INVALID.fault(message, help).at_site(site.clone());
        if let Some(other) = other {
            fault = fault.note("the other test is here", Some(other));
        }
        *test = Err(BadTest { name: name.clone(), site: site.clone(), is_file: false, faults: vec![fault] });
    }
}

/// Whether a filter names a test: a glob its whole name, another text a part of it.
fn names_it(filter: &str, name: &str) -> bool {
    if is_wild(filter) { Glob::new(filter).matches(name) } else { name.contains(filter) }
}

fn check_names(names: &[String], filters: &[String]) -> Result<()> {
    let missing = filters.iter().filter(|filter| !names.iter().any(|name| names_it(filter, name)));
    let faults: Vec<Fault> = missing
        .map(|filter| {
            let similar = similar::nearest(filter, names.iter().map(String::as_str)).map(str::to_owned);
            Fault::new(Kind::NothingMatches { what: "test", name: filter.clone(), similar })
        })
        .collect();
    if faults.is_empty() { Ok(()) } else { Err(Error::new(faults)) }
}

/// The nodes of the inventory that a test looks at. A glob without a node makes it a bad test.
fn nodes_of(computation: &Computation<'_>, test: &Result<TestCase, BadTest>) -> Result<Vec<Text>, BadTest> {
    let Ok(TestCase { subject: Subject::Nodes(globs), name, site, .. }) = test else { return Ok(Vec::new()) };
    let (mut names, mut faults) = (Vec::new(), Vec::new());
    for (glob, site) in globs {
        match chosen_nodes(computation.catalog, std::slice::from_ref(glob)) {
            Ok(chosen) => names.extend(chosen),
            Err(error) => {
                faults.extend(error.into_faults().into_iter().map(|fault| fault.at_site(site.clone())));
            }
        }
    }
    names.sort_unstable();
    names.dedup();
    if faults.is_empty() {
        Ok(names)
    } else {
        Err(BadTest { name: name.clone(), site: site.clone(), is_file: false, faults })
    }
}

/// The answers of the nodes that tests compare with.
fn other_nodes(
    computation: &Computation<'_>,
    all: &[Result<TestCase, BadTest>],
) -> FxHashMap<Text, Result<NodeInfo>> {
    let mut others = FxHashMap::default();
    for test in all.iter().flatten() {
        let Goal::Values(checks) = &test.goal else { continue };
        for matcher in checks.iter().flat_map(|check| &check.matchers) {
            if let Matcher::SameAs(node) = matcher
                && !others.contains_key(node)
            {
                let answer = computation.answer(NodeRequest::plain(node)).map(|answer| answer.info);
                others.insert(node.clone(), answer);
            }
        }
    }
    others
}

struct Runner<'t> {
    all: &'t [Result<TestCase, BadTest>],
    others: FxHashMap<Text, Result<NodeInfo>>,
    snapshots: &'t Snapshots,
    question: &'t TestQuestion,
}

impl Runner<'_> {
    fn request<'a>(&'a self, test: usize, node: &'a str) -> NodeRequest<'a> {
        let plain = NodeRequest::plain(node);
        match self.all.get(test) {
            Some(Ok(TestCase { subject: Subject::Own(_, layer, grains), .. })) => {
                NodeRequest { own: Some(layer), grains: grains.as_ref(), ..plain }
            }
            _ => plain,
        }
    }

    /// Renders the nodes, and tallies what they show, until the time is over.
    fn look_at(
        &self,
        computation: &Computation<'_>,
        items: &[Rendered<'_>],
        is_over: &(dyn Fn() -> bool + Sync),
    ) -> Looked {
        let mut tallies: Vec<Tally> = self.all.iter().map(|_| Tally::default()).collect();
        let (mut recorded, mut nodes_left) = (Vec::new(), items.len());
        let count = WorkCount::begin(WorkUnit::Nodes, items.len());
        let context = computation.context();
        let batch = (MOST_PAIRS / self.all.len().max(1)).max(FEWEST_NODES);
        for batch in items.chunks(batch) {
            let outcomes = parallel::each(
                computation.settings.threads,
                batch,
                || Renderer::new(context.computation()),
                |renderer, item| {
                    let outcomes = (!is_over()).then(|| self.render(renderer, item));
                    if let Some(count) = &count {
                        count.step();
                    }
                    outcomes
                },
                Option::is_none,
            );
            for (item, outcomes) in batch.iter().zip(outcomes.into_iter().flatten()) {
                nodes_left -= 1;
                let Some((node, _)) = item.node_and_tests() else { continue };
                for mut outcome in outcomes {
                    let test = outcome.test;
                    recorded.extend(outcome.recorded.drain(..).map(|value| (test, value)));
                    if let (Some(Ok(case)), Some(tally)) = (self.all.get(test), tallies.get_mut(test)) {
                        tally.add(case, node, outcome);
                    }
                }
            }
        }
        Looked { tallies, recorded, nodes_left }
    }

    /// Renders a node, and looks at it for each of its tests.
    fn render(&self, renderer: &Renderer<'_>, item: &Rendered<'_>) -> Vec<NodeOutcome> {
        let Some((name, tests @ [first, ..])) = item.node_and_tests() else { return Vec::new() };
        let request = self.request(*first, name);
        let answer = renderer.answer(request);
        let snapshots = match &answer {
            Ok(info) => self.shown_for_snapshots(renderer, request, tests, info),
            Err(_) => FxHashMap::default(),
        };
        let seen = SeenNode { name, answer, snapshots, cost: SearchCost::default() };
        let outcome = |test: &usize| {
            let mut outcome =
                NodeOutcome { test: *test, wrong: Vec::new(), missing: None, recorded: Vec::new() };
            if let Some(Ok(case)) = self.all.get(*test) {
                self.look(case, &seen, &mut outcome);
            }
            outcome
        };
        tests.iter().map(outcome).collect()
    }

    /// The values for the snapshots in tests of one node, by the indexes of the test and of its check.
    fn shown_for_snapshots(
        &self,
        renderer: &Renderer<'_>,
        request: NodeRequest<'_>,
        tests: &[usize],
        info: &NodeInfo,
    ) -> FxHashMap<(usize, usize), Value> {
        let (mut ats, mut found) = (Vec::new(), Vec::new());
        for test in tests {
            let Some(Ok(TestCase { goal: Goal::Values(checks), .. })) = self.all.get(*test) else { continue };
            for (index, check) in checks.iter().enumerate() {
                if check.matchers.iter().any(|matcher| matches!(matcher, Matcher::Snapshot))
                    && let LookedUp::Found(keys, value) = check.value.look_up(info, None)
                {
                    ats.push((*test, index));
                    found.push((check.value.part, keys, value));
                }
            }
        }
        if found.is_empty() {
            return FxHashMap::default();
        }
        let layers = renderer.layers_of(request).ok();
        let of = layers.as_ref().map(|layers| ValuePlaces::new(renderer.computation(), layers));
        let values: Vec<_> = found.iter().map(|(part, keys, value)| (*part, &**keys, value)).collect();
        ats.into_iter().zip(hidden(of.as_ref(), &self.question.redaction, &values)).collect()
    }

    fn look(&self, case: &TestCase, seen: &SeenNode<'_>, outcome: &mut NodeOutcome) {
        let (checks, info) = match (&case.goal, &seen.answer) {
            (Goal::Error(code, _), Ok(_)) => return outcome.wrong.push((0, Wrong::Renders(code.clone()))),
            (Goal::Error(code, _), Err(error)) => {
                if !error.faults().iter().any(|fault| fault.code() == code) {
                    outcome.wrong.push((0, Wrong::Fails(Some(code.clone()), error.clone())));
                }
                return;
            }
            (Goal::Values(_), Err(error)) => {
                return outcome.wrong.push((0, Wrong::Fails(None, error.clone())));
            }
            (Goal::Values(checks), Ok(info)) => (checks, info),
        };
        let missing = outcome.missing.insert(Vec::new());
        for (index, check) in checks.iter().enumerate() {
            let path = &check.value;
            let (keys, got) = match path.look_up(info, Some(&seen.cost)) {
                LookedUp::Found(keys, value) => (keys, Some(value)),
                LookedUp::Missing(similar) => {
                    missing.push((index, similar));
                    (path.keys(), None)
                }
            };
            for matcher in &check.matchers {
                let wrong: Vec<Wrong> = match matcher {
                    Matcher::SameAs(node) => self.compared(node, path, &keys, got.as_ref()),
                    Matcher::Snapshot => {
                        let shown = seen.snapshots.get(&(outcome.test, index)).cloned();
                        let label = label(case, seen.name);
                        if self.question.record {
                            outcome.recorded.extend(shown.map(|value| (label, check.path.clone(), value)));
                            Vec::new()
                        } else {
                            let known = self.snapshots.get(case.file, &label, &check.path);
                            recorded(&keys, known, shown.as_ref())
                        }
                    }
                    matcher => matcher.misses(&keys, got.as_ref()).into_iter().map(Wrong::Value).collect(),
                };
                let is_wrong = !wrong.is_empty();
                outcome.wrong.extend(wrong.into_iter().map(|wrong| (index, wrong)));
                // A missing value is one mistake, however many matchers it misses.
                if is_wrong && got.is_none() {
                    break;
                }
            }
        }
    }

    /// The differences from the value of another node.
    fn compared(&self, node: &Text, path: &ValuePath, keys: &[Key], got: Option<&Value>) -> Vec<Wrong> {
        let Some(Ok(info)) = self.others.get(node) else { return vec![Wrong::OtherFails(node.clone())] };
        let (keys, expected) = match path.look_up(info, None) {
            LookedUp::Found(keys, value) => (keys, Some(value)),
            LookedUp::Missing(_) => (keys.to_vec(), None),
        };
        let misses = differences("as in", &keys, expected.as_ref(), got);
        misses.into_iter().map(|miss| Wrong::Value(Miss { other: Some(node.clone()), ..miss })).collect()
    }

    /// The groups with their indexes, those of one answer together: they share its explanation.
    fn together<'g>(&self, groups: &'g [WrongGroup]) -> Vec<Vec<(usize, &'g WrongGroup)>> {
        let mut batches: IndexMap<_, Vec<_>> = IndexMap::new();
        let mut number: FxHashMap<_, usize> = FxHashMap::default();
        for (at, group) in groups.iter().enumerate() {
            let own = match self.all.get(group.test) {
                Some(Ok(TestCase { subject: Subject::Own(..), .. })) => Some(group.test),
                _ => None,
            };
            let answer = (own, group.nodes.first());
            // All threads have work, and a long run can be stopped.
            let number = number.entry(answer).or_default();
            let batch = *number / MOST_TOGETHER;
            *number += 1;
            batches.entry((answer, batch)).or_default().push((at, group));
        }
        batches.into_values().collect()
    }

    fn failures(&self, renderer: &Renderer<'_>, groups: &[(usize, &WrongGroup)]) -> Vec<Option<TestFailure>> {
        let missed = groups.iter().enumerate().filter_map(|(at, (_, group))| match &group.wrong {
            Wrong::Value(miss) => Some((at, miss, self.check(group)?.value.part)),
            _ => None,
        });
        let missed: Vec<_> = missed.collect();
        let mut seen: Vec<SeenValue> = groups.iter().map(|_| SeenValue::default()).collect();
        let redaction = &self.question.redaction;
        let got = missed.iter().filter_map(|(at, miss, part)| {
            miss.got.as_ref().map(|got| (*at, (*part, miss.path.as_slice(), got)))
        });
        let (ats, values): (Vec<usize>, Vec<_>) = got.unzip();
        if let Some((_, group)) = groups.first()
            && let (Some(node), false) = (group.nodes.first(), values.is_empty())
        {
            let layers = renderer.layers_of(self.request(group.test, node)).ok();
            let of = layers.as_ref().map(|layers| ValuePlaces::new(renderer.computation(), layers));
            for (at, value) in ats.iter().zip(hidden(of.as_ref(), redaction, &values)) {
                seen[*at].value = Some(value);
            }
            if let Some(of) = &of {
                for (at, place) in ats.iter().zip(value_places(of, &values)) {
                    seen[*at].place = place;
                }
            }
        }
        let mut by_other: IndexMap<&Text, (Vec<usize>, Vec<_>)> = IndexMap::new();
        for (at, miss, part) in &missed {
            if let (Some(expected), Some(other)) = (&miss.expected, &miss.other) {
                let (ats, values) = by_other.entry(other).or_default();
                ats.push(*at);
                values.push((*part, miss.path.as_slice(), expected));
            }
        }
        for (other, (ats, values)) in by_other {
            let layers = renderer.layers_of(NodeRequest::plain(other)).ok();
            let of = layers.as_ref().map(|layers| ValuePlaces::new(renderer.computation(), layers));
            for (at, value) in ats.into_iter().zip(hidden(of.as_ref(), redaction, &values)) {
                seen[at].expected = Some(value);
            }
        }
        groups.iter().zip(seen).map(|((_, group), seen)| self.failure(group, seen)).collect()
    }

    fn check(&self, group: &WrongGroup) -> Option<&PathCheck> {
        match self.all.get(group.test) {
            Some(Ok(TestCase { goal: Goal::Values(checks), .. })) => checks.get(group.check),
            _ => None,
        }
    }

    /// The failure of a group, with the place of the value in its first node.
    fn failure(&self, group: &WrongGroup, seen: SeenValue) -> Option<TestFailure> {
        let Some(Ok(case)) = self.all.get(group.test) else { return None };
        let failure = |site: &Site, path: String, (expected, got): (String, String)| TestFailure {
            path,
            site: site.clone(),
            nodes: group.nodes.clone(),
            expected,
            got,
            value: None,
            place: None,
            help: None,
        };
        let check = self.check(group);
        let site = match &case.goal {
            Goal::Error(_, site) => site,
            Goal::Values(_) => check.map_or(&case.site, |check| &check.site),
        };
        Some(match &group.wrong {
            Wrong::Renders(code) => {
                failure(site, String::new(), (format!("the error {code}"), "an answer".into()))
            }
            Wrong::Fails(code, error) => {
                let expected =
                    code.as_ref().map_or("an answer".to_owned(), |code| format!("the error {code}"));
                failure(&case.site, String::new(), (expected, concise(error)))
            }
            Wrong::OtherFails(node) => {
                let texts = (format!("as in node '{node}'"), "no value there: it does not render".to_owned());
                failure(site, check.map_or_else(String::new, |check| check.path.clone()), texts)
            }
            Wrong::Unrecorded => {
                let texts = ("a recorded value".to_owned(), "no snapshot".to_owned());
                let path = check.map_or_else(String::new, |check| check.path.clone());
                TestFailure {
                    help: Some("'reclass test --snapshot' records it".into()),
                    ..failure(site, path, texts)
                }
            }
            Wrong::Value(miss) => {
                let check = check?;
                let path = &check.value;
                let redaction = &self.question.redaction;
                let value = seen.value;
                let is_hidden = value != miss.got;
                let expected = match (&miss.expected, &miss.other) {
                    (Some(_), Some(_)) => seen.expected,
                    // The file of the test has the secret, too.
                    (Some(name), None) if miss.words == OF_TYPE => Some(name.clone()),
                    (Some(_), None) if is_hidden => Some(Value::text(MASK)),
                    // Without a value nobody knows whether it would depend on a secret.
                    (Some(expected), None) if miss.got.is_none() => {
                        Some(redaction.written_of_secret(expected))
                    }
                    (Some(expected), None)
                        if matches!(path.part, AnswerPart::Parameters | AnswerPart::Exports) =>
                    {
                        Some(redaction.value(&miss.path, expected))
                    }
                    (expected, _) => expected.clone(),
                };
                let words = match &miss.other {
                    Some(other) => format!("as in '{other}':"),
                    None => miss.words.to_owned(),
                };
                let shown_path =
                    if miss.path.is_empty() { check.path.clone() } else { path.shown(&miss.path) };
                let mut failure =
                    failure(site, shown_path, TestFailure::texts(&words, expected.as_ref(), value.as_ref()));
                (failure.place, failure.value) = (seen.place, value);
                failure.help = check.similar.filter(|_| miss.words.is_empty()).map(|matcher| {
                    format!("the expected mapping has no matcher; '{matcher}' is similar to one of its keys")
                });
                failure
            }
        })
    }
}
