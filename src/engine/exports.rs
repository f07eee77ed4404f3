//! The export index answers inventory queries. It keeps the exports that queries asked for, and the outcome of
//! each question, for all nodes that ask the same.
//!
//! A node that is needed only for its exports is not evaluated as a whole: its layers are ordered, and only
//! the parameters that the exports refer to are merged. A node with a cached answer is not evaluated at all.
//!
//! After a change, only the nodes with a changed file are computed again. If their exports come out the same,
//! all outcomes stay; if an outcome comes out the same, the nodes that asked keep their answers.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::convert::identity;
use std::sync::Arc;

use hashbrown::HashMap;
use rustc_hash::FxHashMap;

use crate::engine::context::{Computation, Layers, NodeRequest};
use crate::engine::files::{Checkpoint, Dependencies};
use crate::engine::sequence::Sequence;
use crate::evaluate::{
    Evaluator, Mode, Others, Outcome, Question, References, UnansweredQuestion, python_equal, without,
};
use crate::model::catalog::{Catalog, CatalogEntry};
use crate::model::query::{Connective, Query};
use reclass_base::error::{Error, Fault};
use reclass_base::failpoints::failpoint;
use reclass_base::lock::Mutex;
use reclass_base::secrets::Secrets;
use reclass_base::source::FileId;
use reclass_base::value::{Key, Text, Value};

/// The maximum number of tables. A query of another kind replaces the table that was not used for the longest
/// time.
const MAX_TABLES: usize = 64;

/// The maximum size of the retained outcomes of a table, as a multiple of the number of nodes.
const MAX_RETAINED: usize = 4;

/// The exports of all nodes, and the outcomes of questions.
#[derive(Default, Debug)]
pub struct ExportIndex(Mutex<IndexState>);

#[derive(Default, Debug)]
struct IndexState {
    verified: Option<Verified>,
    /// All nodes, in the order of the catalog.
    nodes: Vec<IndexedNode>,
    /// The nodes whose file cannot be read.
    unreadable: BTreeSet<Position>,
    /// The nodes that depend on each file, sorted, by the number of the file. May list too many.
    dependents: Vec<Vec<Position>>,
    tables: Vec<ExportTable>,
    /// Grows with each question and with each change of a table.
    clock: u64,
}

/// The position of a node in the catalog.
type Position = u32;

/// The state of the inventory that the index was verified in.
#[derive(Debug)]
struct Verified {
    generation: u64,
    checkpoint: Checkpoint,
    catalog: Arc<Catalog>,
}

#[derive(Debug)]
struct IndexedNode {
    name: Text,
    /// The environment in its file, unless the file cannot be read.
    environment: Result<Value, Box<Fault>>,
    /// The inputs of its exports, if any were computed.
    inputs: Option<ExportInputs>,
}

/// The inputs of the exports of one node.
#[derive(Debug)]
struct ExportInputs {
    sequence: Arc<Sequence>,
    dependencies: Dependencies,
}

/// The exports that questions of one kind need: the same paths from the same nodes.
#[derive(Debug)]
struct ExportTable {
    kind: QuestionKind,
    /// The exports of each node, by its position.
    rows: Vec<Row>,
    /// The nodes whose row must be computed.
    pending: BTreeSet<Position>,
    /// The nodes whose row is valid in one generation only: its message may name lines that move.
    unsettled: BTreeSet<Position>,
    /// The time of the last change of any row.
    changed_at: u64,
    /// The time of the last question.
    used_at: u64,
    outcomes: HashMap<QuestionKey, KnownOutcome>,
    /// The size of all outcomes in `outcomes`.
    retained: usize,
}

/// The exports of one node in a table.
#[derive(PartialEq, Debug)]
enum Row {
    /// Not computed yet.
    Unknown,
    /// The node is not in the environment of the question.
    Outside,
    /// The node cannot be ordered, and `inventory_ignore_failed_node` leaves it out.
    LeftOut,
    /// The values at the paths.
    Exports(Box<[Option<Value>]>),
    /// The first fault.
    Failed(Box<Fault>),
}

/// The common part of the questions of one table.
#[derive(PartialEq, Debug)]
struct QuestionKind {
    /// The environment of the nodes in scope; `None` for all.
    environment: Option<Value>,
    paths: Vec<Vec<Text>>,
    ignore_errors: bool,
    /// The secrets to remove from the exports.
    without: Option<Secrets>,
}

/// The part in which questions of one table differ. Operands are equal as keys of a Python mapping, because the
/// tests compare as Python does.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct QuestionKey {
    /// The operators of the tests.
    operators: Vec<(Option<Connective>, bool)>,
    operands: Vec<Key>,
    absent: Option<Text>,
}

/// The retained outcome of a question.
#[derive(Debug)]
struct KnownOutcome {
    outcome: Arc<Outcome>,
    /// The change of the table that the outcome was verified with.
    verified_at: u64,
}

/// A question of a query and its outcome. An answer for a node stays valid while its questions have the same
/// outcomes.
#[derive(Clone, Debug)]
pub struct QueryRecord {
    question: Question,
    outcome: Arc<Outcome>,
}

impl QueryRecord {
    /// The query itself.
    pub fn query(&self) -> &Arc<Query> {
        self.question.query()
    }

    /// The nodes that the query found.
    pub fn found(&self) -> impl Iterator<Item = &Text> {
        self.outcome.nodes.iter().map(|(node, _)| node)
    }
}

/// The other nodes as the queries of one node see them.
pub struct OtherNodes<'a> {
    /// The computation of this thread.
    pub computation: &'a Computation<'a>,
    /// The environment in the file of the querying node.
    pub environment: Value,
    /// The querying node, if a request overrides its environment: it is then not part of its own
    /// environment (S10).
    pub absent: Option<Text>,
    /// The questions so far.
    pub queries: RefCell<Vec<QueryRecord>>,
    /// The secrets to remove from exports.
    pub without: Option<Secrets>,
}

impl<'a> OtherNodes<'a> {
    /// The other nodes, for a querying node with this environment in its file.
    pub fn new(computation: &'a Computation<'a>, environment: Value, absent: Option<Text>) -> OtherNodes<'a> {
        OtherNodes { computation, environment, absent, queries: RefCell::default(), without: None }
    }

    /// A node that gives a question another outcome than it had.
    pub fn changed(&self, queries: &[QueryRecord]) -> Option<Text> {
        queries.iter().find_map(|QueryRecord { question, outcome }| match self.outcome(question) {
            Ok(now) if Arc::ptr_eq(&now, outcome) => None,
            Ok(now) => {
                let (now, before) = (&now.nodes, &outcome.nodes);
                let same = now.iter().zip(before).take_while(|(now, before)| now == before).count();
                now.get(same).or_else(|| before.get(same)).map(|(node, _)| node.clone())
            }
            Err((node, _)) => Some(node),
        })
    }

    /// The current outcome of a question. Other threads wait, so that each row is computed once. The computation
    /// of a row asks nothing itself: queries in exports are refused.
    fn outcome(&self, question: &Question) -> Result<Arc<Outcome>, UnansweredQuestion> {
        let mut state = self.computation.index.0.lock();
        failpoint("the exports are looked up");
        state.verify(self.computation);
        let table = state.table(question, self);
        state.fill(table, self.computation)?;
        state.answer(table, question, self.absent.as_ref().filter(|_| !question.query().all_environments))
    }
}

impl Others for OtherNodes<'_> {
    fn ask(&self, question: Question) -> Result<Arc<Outcome>, UnansweredQuestion> {
        let outcome = self.outcome(&question)?;
        self.queries.borrow_mut().push(QueryRecord { question, outcome: outcome.clone() });
        Ok(outcome)
    }
}

impl IndexState {
    /// Marks the rows that may have changed since the index was last verified.
    fn verify(&mut self, computation: &Computation<'_>) {
        let (generation, catalog) = (computation.generation, computation.catalog);
        let checkpoint = computation.inputs.checkpoint();
        let changed = match self.verified.take() {
            Some(before) if Arc::ptr_eq(&before.catalog, catalog) => {
                if before.generation == generation {
                    self.verified = Some(before);
                    return;
                }
                computation.inputs.changed_since(before.checkpoint)
            }
            before => {
                self.align(before.as_ref().map(|before| &*before.catalog), catalog);
                None
            }
        };
        let mut positions: Vec<Position> = match changed {
            Some(files) => {
                let dependents =
                    files.iter().filter_map(|file| self.dependents.get(file.0 as usize)).flatten();
                dependents.chain(&self.unreadable).copied().collect()
            }
            None => (0..).take(self.nodes.len()).collect(),
        };
        positions.sort_unstable();
        positions.dedup();
        self.verify_nodes(&positions, computation);
        for table in &mut self.tables {
            table.pending.append(&mut table.unsettled);
        }
        self.verified = Some(Verified { generation, checkpoint, catalog: catalog.clone() });
    }

    /// Gives the nodes of a new catalog their positions. Nodes that stay keep their rows.
    fn align(&mut self, before: Option<&Catalog>, catalog: &Catalog) {
        let old: FxHashMap<Text, Position> =
            (0..).zip(&self.nodes).map(|(position, node)| (node.name.clone(), position)).collect();
        // The position before, for each node that has the same file as before.
        let stays: Vec<Option<Position>> = catalog
            .nodes
            .values()
            .map(|item| {
                let same = before.and_then(|before| before.nodes.get(&item.name)) == Some(item);
                old.get(&item.name).copied().filter(|_| same)
            })
            .collect();
        let mut nodes: Vec<Option<IndexedNode>> =
            std::mem::take(&mut self.nodes).into_iter().map(Some).collect();
        let new = |item: &Arc<CatalogEntry>| IndexedNode {
            name: item.name.clone(),
            environment: Ok(Value::Null),
            inputs: None,
        };
        let stay = |(item, position): (_, &Option<Position>)| {
            position.and_then(|position| nodes[position as usize].take()).unwrap_or_else(|| new(item))
        };
        self.nodes = catalog.nodes.values().zip(&stays).map(stay).collect();
        self.clock += 1;
        for table in &mut self.tables {
            let mut rows: Vec<Option<Row>> = std::mem::take(&mut table.rows).into_iter().map(Some).collect();
            let mut before = std::mem::take(&mut table.pending);
            before.append(&mut table.unsettled);
            for (new, stays) in (0..).zip(&stays) {
                let row = stays.and_then(|position| rows[position as usize].take());
                if stays.is_none_or(|position| before.contains(&position)) {
                    table.pending.insert(new);
                }
                table.rows.push(row.unwrap_or(Row::Unknown));
            }
            table.changed_at = self.clock;
        }
        self.unreadable.clear();
        self.dependents.clear();
        for position in (0..).take(self.nodes.len()) {
            if let Some(inputs) = self.nodes[position as usize].inputs.take() {
                self.set_inputs(position, inputs);
            }
        }
    }

    /// Reads the environments of nodes again, and marks their rows if an input changed.
    fn verify_nodes(&mut self, positions: &[Position], computation: &Computation<'_>) {
        let names = &computation.catalog.nodes;
        let items: Vec<&Arc<CatalogEntry>> =
            positions.iter().filter_map(|position| names.get(&self.nodes[*position as usize].name)).collect();
        computation.inputs.preload(&items, computation.settings.threads);
        for (position, item) in positions.iter().zip(items) {
            let (file, environment) = computation.environment_in_file(item);
            if let Some(file) = file {
                self.add_dependent(file, *position);
            }
            if environment.is_err() {
                self.unreadable.insert(*position);
            } else {
                self.unreadable.remove(position);
            }
            let node = &mut self.nodes[*position as usize];
            let holds =
                |inputs: &ExportInputs| computation.inputs_hold(&inputs.dependencies, Some(&inputs.sequence));
            if node.environment != environment || !node.inputs.as_ref().is_none_or(holds) {
                node.environment = environment;
                node.inputs = None;
                for table in &mut self.tables {
                    table.pending.insert(*position);
                }
            }
        }
    }

    fn add_dependent(&mut self, file: FileId, position: Position) {
        let file = file.0 as usize;
        if self.dependents.len() <= file {
            self.dependents.resize_with(file + 1, Vec::new);
        }
        let positions = &mut self.dependents[file];
        if let Err(at) = positions.binary_search(&position) {
            positions.insert(at, position);
        }
    }

    fn set_inputs(&mut self, position: Position, inputs: ExportInputs) {
        let files = inputs.dependencies.files.iter();
        let steps = inputs.sequence.steps();
        let files = files.chain(steps.iter().flat_map(|step| &step.added.dependencies.files));
        files.for_each(|(file, _)| self.add_dependent(*file, position));
        self.nodes[position as usize].inputs = Some(inputs);
    }

    /// The index of the table for a question; a new one if there is none.
    fn table(&mut self, question: &Question, others: &OtherNodes<'_>) -> usize {
        self.clock += 1;
        let environment = (!question.query().all_environments).then_some(&others.environment);
        let fits = |kind: &QuestionKind| {
            kind.environment.as_ref() == environment
                && kind.ignore_errors == question.ignore_errors
                && kind.without == others.without
                && kind.paths.iter().eq(question.paths())
        };
        let found = self.tables.iter().position(|table| fits(&table.kind));
        let index = found.unwrap_or_else(|| {
            if self.tables.len() == MAX_TABLES {
                let least = (0..MAX_TABLES).min_by_key(|table| self.tables[*table].used_at);
                self.tables.swap_remove(least.unwrap_or_default());
            }
            self.tables.push(ExportTable {
                kind: QuestionKind {
                    environment: environment.cloned(),
                    paths: question.paths().cloned().collect(),
                    ignore_errors: question.ignore_errors,
                    without: others.without.clone(),
                },
                rows: self.nodes.iter().map(|_| Row::Unknown).collect(),
                pending: (0..).take(self.nodes.len()).collect(),
                unsettled: BTreeSet::new(),
                changed_at: self.clock,
                used_at: 0,
                outcomes: HashMap::new(),
                retained: 0,
            });
            self.tables.len() - 1
        });
        self.tables[index].used_at = self.clock;
        index
    }

    /// Computes the marked rows of a table. A node that cannot be read is an error, even outside of the
    /// environment of the question: it may be in it.
    fn fill(&mut self, table: usize, computation: &Computation<'_>) -> Result<(), UnansweredQuestion> {
        if !computation.settings.inventory_ignore_failed_node
            && let Some(first) = self.unreadable.first()
            && let IndexedNode { name, environment: Err(fault), .. } = &self.nodes[*first as usize]
        {
            return Err((name.clone(), (**fault).clone()));
        }
        let ExportTable { kind, pending, .. } = &mut self.tables[table];
        let pending: Vec<Position> = std::mem::take(pending).into_iter().collect();
        if pending.is_empty() {
            return Ok(());
        }
        let (kind, nodes) = (&*kind, &self.nodes);
        let context = **computation;
        let computed = context.each_node(&pending, identity, |computation, position| {
            let node = &nodes[*position as usize];
            let environment = node.environment.as_ref();
            let in_scope = environment.is_ok_and(|environment| {
                kind.environment.as_ref().is_none_or(|wanted| python_equal(environment, wanted))
            });
            if in_scope { computation.row(&node.name, kind) } else { (Row::Outside, None) }
        });
        let mut changed = false;
        for (position, (row, inputs)) in pending.into_iter().zip(computed) {
            let table = &mut self.tables[table];
            if matches!(row, Row::LeftOut | Row::Failed(_)) {
                table.unsettled.insert(position);
            }
            let before = &mut table.rows[position as usize];
            if *before != row {
                *before = row;
                changed = true;
            }
            if let Some(inputs) = inputs {
                self.set_inputs(position, inputs);
            }
        }
        if changed {
            self.clock += 1;
            self.tables[table].changed_at = self.clock;
        }
        Ok(())
    }

    /// The outcome of a question for the rows of its table. The first node that failed is the error.
    fn answer(
        &mut self,
        table: usize,
        question: &Question,
        absent: Option<&Text>,
    ) -> Result<Arc<Outcome>, UnansweredQuestion> {
        let (table, nodes) = (&mut self.tables[table], &self.nodes);
        for position in &table.unsettled {
            let name = &nodes[*position as usize].name;
            if let Row::Failed(fault) = &table.rows[*position as usize]
                && Some(name) != absent
            {
                return Err((name.clone(), (**fault).clone()));
            }
        }
        let key = QuestionKey {
            operators: question.query().operators().collect(),
            operands: question.operands.iter().cloned().map(Key).collect(),
            absent: absent.cloned(),
        };
        let before = table.outcomes.get(&key);
        if let Some(known) = before
            && known.verified_at == table.changed_at
        {
            return Ok(known.outcome.clone());
        }
        let rows = nodes.iter().zip(&table.rows).filter_map(|(node, row)| match row {
            Row::Exports(values) if Some(&node.name) != absent => Some((&node.name, &**values)),
            _ => None,
        });
        let outcome = question.outcome(rows);
        let outcome = match before {
            Some(known) if known.outcome.nodes == outcome.nodes => known.outcome.clone(),
            _ => Arc::new(outcome),
        };
        table.retained += outcome.nodes.len() + 1;
        if table.retained > MAX_RETAINED * (nodes.len() + 1) {
            table.outcomes.clear();
            table.retained = outcome.nodes.len() + 1;
        }
        table.outcomes.insert(key, KnownOutcome { outcome: outcome.clone(), verified_at: table.changed_at });
        Ok(outcome)
    }
}

impl Computation<'_> {
    /// The file of a node, and the environment in it. A name with several files has none.
    fn environment_in_file(&self, item: &Arc<CatalogEntry>) -> (Option<FileId>, Result<Value, Box<Fault>>) {
        let (file, layer) = if let Some(clash) = item.clash() {
            (None, Err(Error::from(clash)))
        } else {
            let current = self.inputs.layer(item);
            (Some(current.file), current.layer.map_err(|unread| unread.error))
        };
        let environment = layer.map(|layer| self.original_environment(&layer)).map_err(|error| {
            let mut fault = error.into_faults().swap_remove(0);
            fault.node = Some(item.name.clone());
            Box::new(fault)
        });
        (file, environment)
    }

    /// The exports of a node as questions of one kind need them, and their inputs.
    fn row(&self, node: &Text, kind: &QuestionKind) -> (Row, Option<ExportInputs>) {
        if kind.without.is_none()
            && let Some(answer) = self.answers.get(&(node.clone(), None))
            && answer.queries.is_empty()
            // Grains that a request brought count for that request alone.
            && answer.grains.is_empty()
            && answer.inputs_hold(node, self)
        {
            let value = |path: &Vec<Text>| value_at(&answer.info.exports, path).cloned();
            let (sequence, dependencies) = (answer.sequence.clone(), answer.dependencies.clone());
            let values = kind.paths.iter().map(value).collect();
            return (Row::Exports(values), Some(ExportInputs { sequence, dependencies }));
        }
        let (layers, dependencies) = self.recorder.during(|| self.layers(NodeRequest::plain(node)));
        let layers = match layers {
            Ok(layers) => layers,
            Err(_) if self.settings.inventory_ignore_failed_node => return (Row::LeftOut, None),
            Err(error) => return (Row::Failed(Box::new(error.into_faults().swap_remove(0))), None),
        };
        let row = match &kind.without {
            Some(secrets) => Row::Exports(self.exports_without_secrets(&layers, kind, secrets)),
            None => match self.exports(&layers, kind) {
                Ok(values) => Row::Exports(values),
                Err(fault) => Row::Failed(fault),
            },
        };
        let sequence = layers.linearization.sequence;
        (row, Some(ExportInputs { sequence, dependencies }))
    }

    /// The exports of a node at the paths of a question.
    fn exports(&self, layers: &Layers, kind: &QuestionKind) -> Result<Box<[Option<Value>]>, Box<Fault>> {
        let export = |path: &Vec<Text>| {
            self.inputs.counters.exported.add();
            let mut evaluator = Evaluator::new(self.root(layers), self.settings, self.inputs);
            if kind.ignore_errors {
                evaluator = evaluator.in_mode(Mode::Silent);
            }
            let value = evaluator.export(&layers.exports, path, false);
            match evaluator.finish().into_iter().next() {
                None => Ok(value),
                Some(_) if kind.ignore_errors => {
                    Ok(evaluator.in_mode(Mode::Silent).export(&layers.exports, path, true))
                }
                Some(mut fault) => {
                    self.complete(&mut fault, layers);
                    self.redact_cycles(std::slice::from_mut(&mut fault), layers);
                    Err(Box::new(fault))
                }
            }
        };
        kind.paths.iter().map(export).collect()
    }

    /// The exports without the secrets among parameters and exports. `None` for one that fails without them;
    /// then the whole export is masked.
    fn exports_without_secrets(
        &self,
        layers: &Layers,
        kind: &QuestionKind,
        secrets: &Secrets,
    ) -> Box<[Option<Value>]> {
        let secrets = &layers.secrets(secrets);
        let exports = without(secrets, &layers.exports, References::Hidden);
        let export = |path: &Vec<Text>| {
            Evaluator::new(self.root(layers).without(secrets), self.settings, self.inputs)
                .in_mode(Mode::Silent)
                .export(&exports, path, true)
        };
        kind.paths.iter().map(export).collect()
    }
}

/// The value at a path that leads through mappings only, as the path of a query does.
fn value_at<'v>(value: &'v Value, path: &[Text]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, key| value.as_map()?.get(key.as_str()))
}
