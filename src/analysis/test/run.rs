//! Runs tests: renders each node once for all tests that look at it, and groups the nodes with the same wrong
//! value. Only wrong values are explained.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::TestQuestion;
use super::data::{TestFailure, TestReport, TestResult, TestState};
use super::lookup::{AnswerPart, Looked, ValuePath, hidden, place};
use super::matcher::{Matcher, Miss, OF_TYPE, differences};
use super::read::{BadTest, Goal, PathCheck, Subject, TestCase, TestFile, tests};
use super::snapshot::Snapshots;
use crate::analysis::diff::Renderer;
use crate::analysis::explain::ValuePlaces;
use crate::analysis::survey::chosen_nodes;
use crate::base::error::{Error, Fault, Kind, Result, concise};
use crate::base::parallel;
use crate::base::pattern::{Glob, is_wild};
use crate::base::progress::WorkUnit;
use crate::base::secrets::MASK;
use crate::base::similar;
use crate::base::source::Site;
use crate::base::value::{Key, Text, Value};
use crate::engine::answer::NodeInfo;
use crate::engine::context::{Computation, NodeRequest};
use crate::output::report::{Finding, Level};

/// A node to render.
enum Rendered<'t> {
    /// A node of the inventory, with the indexes of its tests.
    Known(Text, Vec<usize>),
    /// The node of one test.
    Own(usize, &'t TestCase),
}

/// What a node shows for one test.
struct NodeOutcome {
    test: usize,
    node: Text,
    /// What is wrong, each with the index of its check.
    wrong: Vec<(usize, Wrong)>,
    /// For each check, whether the node has its path, or a similar path.
    paths: Vec<Looked>,
    /// Values to record, each with its path.
    recorded: Vec<(String, Value)>,
}

#[derive(Clone, PartialEq)]
enum Wrong {
    Value(Miss),
    /// The node renders, and should fail with this error.
    Renders(String),
    /// The node does not render, or fails with another error than this one.
    Fails(Option<String>, Error),
    /// The node to compare with does not render.
    OtherFails(Text),
    /// There is no snapshot of the value.
    Unrecorded,
}

/// Equal wrong values of several nodes.
struct WrongGroup {
    test: usize,
    check: usize,
    wrong: Wrong,
    nodes: Vec<Text>,
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
    let runner =
        Runner { all: &all, others: other_nodes(computation, &all), snapshots: &snapshots, question };
    let context = computation.context();
    let outcomes = parallel::each_counted(
        WorkUnit::Nodes,
        computation.settings.threads,
        &items,
        || Renderer::new(context.computation()),
        |renderer, item| runner.render(renderer, item),
        |_| false,
    );
    let outcomes: Vec<NodeOutcome> = outcomes.into_iter().flatten().collect();
    let mut results: Vec<TestResult> = all.iter().map(untried).collect();
    let missing = runner.missing_paths(&outcomes);
    let groups = Runner::grouped(&outcomes, &missing, &mut results);
    let failures = parallel::each(
        computation.settings.threads,
        &groups,
        || Renderer::new(context.computation()),
        |renderer, group| runner.failure(renderer, group),
        |_| false,
    );
    for (group, failure) in groups.iter().zip(failures) {
        if let Some(result) = results.get_mut(group.test) {
            result.state = TestState::Failed;
            result.failures.extend(failure);
        }
    }
    runner.add_missing_paths(missing, &mut results);
    let mut report = TestReport { tests: results, recorded: Vec::new() };
    if question.record {
        // A test that did not run may have snapshots.
        if question.names.is_empty() && report.is_passed() {
            snapshots.clear();
        }
        for outcome in outcomes {
            let Some(Ok(test)) = all.get(outcome.test) else { continue };
            for (path, value) in outcome.recorded {
                snapshots.put(test.file, label(test, &outcome.node), path, value);
            }
        }
        report.recorded = snapshots.texts(computation.settings)?;
    }
    Ok(report)
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
    TestResult { name: name.clone(), site: site.clone(), state, nodes: 0, failures: Vec::new(), problems }
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
        let help = Some("give it another name".to_owned());
        let mut fault = Fault::new(Kind::TestInvalid { message, help }).at_site(site.clone());
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

    /// Renders a node, and looks at it for each of its tests.
    fn render(&self, renderer: &Renderer<'_>, item: &Rendered<'_>) -> Vec<NodeOutcome> {
        let (name, tests): (&Text, &[usize]) = match item {
            Rendered::Known(name, tests) => (name, tests),
            Rendered::Own(index, TestCase { subject: Subject::Own(name, ..), .. }) => {
                (name, std::slice::from_ref(index))
            }
            Rendered::Own(..) => return Vec::new(),
        };
        let Some(first) = tests.first() else { return Vec::new() };
        let request = self.request(*first, name);
        let answer = renderer.answer(request);
        let outcome = |test: &usize| {
            let mut outcome = NodeOutcome {
                test: *test,
                node: name.clone(),
                wrong: Vec::new(),
                paths: Vec::new(),
                recorded: Vec::new(),
            };
            if let Some(Ok(case)) = self.all.get(*test) {
                self.look(renderer, request, case, &answer, &mut outcome);
            }
            outcome
        };
        tests.iter().map(outcome).collect()
    }

    fn look(
        &self,
        renderer: &Renderer<'_>,
        request: NodeRequest<'_>,
        case: &TestCase,
        answer: &Result<NodeInfo>,
        outcome: &mut NodeOutcome,
    ) {
        let (checks, info) = match (&case.goal, answer) {
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
        for (index, check) in checks.iter().enumerate() {
            let path = &check.value;
            let (keys, got, found) = match path.look_up(info) {
                Looked::Found(keys, value) => (keys, Some(value), Looked::Found(Vec::new(), Value::Null)),
                Looked::Missing(similar) => (path.keys(), None, Looked::Missing(similar)),
            };
            outcome.paths.push(found);
            for matcher in &check.matchers {
                let wrong: Vec<Wrong> = match matcher {
                    Matcher::SameAs(node) => self.compared(node, path, &keys, got.as_ref()),
                    Matcher::Snapshot => {
                        let layers = renderer.layers_of(request).ok();
                        let of =
                            layers.as_ref().map(|layers| ValuePlaces::new(renderer.computation(), layers));
                        let shown = got.as_ref().map(|value| {
                            hidden(of.as_ref(), &self.question.redaction, path.part, &keys, value)
                        });
                        let known = self.snapshots.get(case.file, &label(case, &outcome.node), &check.path);
                        let wrong = if self.question.record {
                            Vec::new()
                        } else {
                            recorded(&keys, known, shown.as_ref())
                        };
                        outcome.recorded.extend(shown.map(|value| (check.path.clone(), value)));
                        wrong
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
        let (keys, expected) = match path.look_up(info) {
            Looked::Found(keys, value) => (keys, Some(value)),
            Looked::Missing(_) => (keys.to_vec(), None),
        };
        let misses = differences("as in", &keys, expected.as_ref(), got);
        misses.into_iter().map(|miss| Wrong::Value(Miss { other: Some(node.clone()), ..miss })).collect()
    }

    /// Groups the nodes with the same wrong value, and counts the nodes of each test.
    fn grouped(
        outcomes: &[NodeOutcome],
        missing: &BTreeMap<(usize, usize), String>,
        results: &mut [TestResult],
    ) -> Vec<WrongGroup> {
        let mut groups: Vec<Vec<WrongGroup>> = results.iter().map(|_| Vec::new()).collect();
        for outcome in outcomes {
            let (Some(result), Some(groups)) = (results.get_mut(outcome.test), groups.get_mut(outcome.test))
            else {
                continue;
            };
            result.nodes += 1;
            for (check, wrong) in &outcome.wrong {
                match groups.iter_mut().find(|group| group.check == *check && group.wrong == *wrong) {
                    Some(group) => group.nodes.push(outcome.node.clone()),
                    None => groups.push(WrongGroup {
                        test: outcome.test,
                        check: *check,
                        wrong: wrong.clone(),
                        nodes: vec![outcome.node.clone()],
                    }),
                }
            }
        }
        // A path that no node has is no wrong value.
        let is_path_missing = |group: &WrongGroup| {
            matches!(group.wrong, Wrong::Value(Miss { got: None, .. }))
                && missing.contains_key(&(group.test, group.check))
        };
        let groups = groups.into_iter().flatten();
        let mut groups: Vec<WrongGroup> = groups.filter(|group| !is_path_missing(group)).collect();
        groups.sort_by_key(|group| (group.test, group.check));
        groups
    }

    /// The checks whose path no node of the test has, by test and check, each with its way out. A node that does
    /// not render shows no path.
    fn missing_paths(&self, outcomes: &[NodeOutcome]) -> BTreeMap<(usize, usize), String> {
        // Per check: nothing once a node has the path, else a similar path.
        let mut looked: BTreeMap<(usize, usize), Option<Option<&String>>> = BTreeMap::new();
        for outcome in outcomes {
            for (check, path) in outcome.paths.iter().enumerate() {
                let known = looked.entry((outcome.test, check)).or_insert(Some(None));
                match (path, known) {
                    (Looked::Found(..), known) => *known = None,
                    (Looked::Missing(name), Some(similar)) => *similar = similar.or(name.as_ref()),
                    (Looked::Missing(_), None) => {}
                }
            }
        }
        let missing = looked.into_iter().filter_map(|(key, similar)| Some((key, similar?)));
        let missing = missing.filter(|(key, _)| !self.expects_absence(*key)).map(|(key, similar)| {
            let help = match similar {
                Some(similar) => format!("'{similar}' is similar"),
                None => "'absent' expects that there is no value".to_owned(),
            };
            (key, help)
        });
        missing.collect()
    }

    fn expects_absence(&self, (test, check): (usize, usize)) -> bool {
        let Some(Ok(TestCase { goal: Goal::Values(checks), .. })) = self.all.get(test) else { return true };
        checks
            .get(check)
            .is_none_or(|check| check.matchers.iter().any(|matcher| matches!(matcher, Matcher::Absent)))
    }

    /// Makes each path that no node has a problem of its test.
    fn add_missing_paths(&self, missing: BTreeMap<(usize, usize), String>, results: &mut [TestResult]) {
        for ((test, check), help) in missing {
            let (Some(Ok(TestCase { goal: Goal::Values(checks), .. })), Some(result)) =
                (self.all.get(test), results.get_mut(test))
            else {
                continue;
            };
            let Some(check) = checks.get(check) else { continue };
            let message = format!("no node of this test has '{}'", check.path);
            let fault = Fault::new(Kind::TestInvalid { message, help: Some(help) });
            let fault = fault.at_site(check.site.clone());
            result.problems.push(Finding { fault, level: Level::Error, nodes: Vec::new() });
            result.state = TestState::Invalid;
        }
    }

    /// The failure of a group, with the place of the value in its first node.
    fn failure(&self, renderer: &Renderer<'_>, group: &WrongGroup) -> Option<TestFailure> {
        let (Some(Ok(case)), Some(node)) = (self.all.get(group.test), group.nodes.first()) else {
            return None;
        };
        let request = self.request(group.test, node);
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
        let check: Option<&PathCheck> = match &case.goal {
            Goal::Values(checks) => checks.get(group.check),
            Goal::Error(..) => None,
        };
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
                let layers = renderer.layers_of(request).ok();
                let of = layers.as_ref().map(|layers| ValuePlaces::new(renderer.computation(), layers));
                let shown = |of: Option<&ValuePlaces<'_>>, value: &Value| {
                    hidden(of, redaction, path.part, &miss.path, value)
                };
                let value = miss.got.as_ref().map(|got| shown(of.as_ref(), got));
                let is_hidden = value != miss.got;
                let expected = match (&miss.expected, &miss.other) {
                    (Some(expected), Some(other)) => {
                        let layers = renderer.layers_of(NodeRequest::plain(other)).ok();
                        let of =
                            layers.as_ref().map(|layers| ValuePlaces::new(renderer.computation(), layers));
                        Some(shown(of.as_ref(), expected))
                    }
                    // The file of the test has the secret, too.
                    (Some(name), None) if miss.words == OF_TYPE => Some(name.clone()),
                    (Some(_), None) if is_hidden => Some(Value::text(MASK)),
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
                if miss.got.is_some() {
                    failure.place = of.as_ref().and_then(|of| place(of, path.part, &miss.path));
                }
                failure.value = value;
                failure.help = check.similar.filter(|_| miss.words.is_empty()).map(|matcher| {
                    format!("the expected mapping has no matcher; '{matcher}' is similar to one of its keys")
                });
                failure
            }
        })
    }
}
