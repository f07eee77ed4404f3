//! Finds the paths of a node that a pattern matches: paths of slots, and paths inside finished data. Queries,
//! defaults and automatic parameters bring such data in.

use rustc_hash::FxHashSet;

use super::explainer::Explainer;
use super::parts::{Below, below, leaf};
use reclass::parts::evaluate::{Child, Found, Whnf};
use reclass_base::pattern::{PathPattern, Progress};
use reclass_base::stack::grow;
use reclass_base::value::{Key, Value};

/// A walk through the parameters or the exports of a node.
struct PatternSearch<'p> {
    pattern: &'p PathPattern,
    /// Whether only leaves match. Finished data counts as a leaf.
    leaves: bool,
    /// The keys from the top to here.
    path: Vec<Key>,
    /// The enclosing containers. A container that contains itself is not entered again.
    enclosing: FxHashSet<usize>,
    found: Vec<Vec<Key>>,
}

impl Explainer<'_> {
    /// The paths that match a pattern, outer paths first. A pattern that ends with `**` matches leaves only.
    pub fn matching(&mut self, pattern: &PathPattern) -> Vec<Vec<Key>> {
        let start = Found::from(Whnf::Map(self.section().merged.clone()));
        let mut walk = PatternSearch {
            pattern,
            leaves: pattern.source.ends_with("**"),
            path: Vec::new(),
            enclosing: FxHashSet::default(),
            found: Vec::new(),
        };
        self.walk(&start, &pattern.start(), &mut walk);
        walk.found
    }

    fn walk(&mut self, found: &Found, progress: &Progress, walk: &mut PatternSearch<'_>) {
        let address = found.whnf.address();
        if address.is_some_and(|address| !walk.enclosing.insert(address)) {
            return;
        }
        let all = below(&found.whnf);
        let is_list = !matches!(found.whnf, Whnf::Map(_) | Whnf::Raw(_) | Whnf::Value(Value::Map(_)));
        let length = all.len();
        for (at, Below { key, inner }) in all.into_iter().enumerate() {
            let next = if is_list {
                walk.pattern.step_item(progress, at, length)
            } else {
                walk.pattern.step(progress, &key)
            };
            if !self.budget.take(1) {
                break;
            }
            if next.is_dead() {
                continue;
            }
            walk.path.push(key);
            let whnf = match inner {
                Child::Slot(slot) => self.quietly(|evaluator| evaluator.whnf(slot)),
                Child::Data(value) => Some(Found::from(Whnf::Value(value.clone()))),
            };
            let is_leaf = whnf.as_ref().is_none_or(|found| leaf(&found.whnf));
            let is_match = walk.pattern.is_match(&next) && (is_leaf || !walk.leaves);
            if is_match && self.budget.take(walk.path.len()) {
                walk.found.push(walk.path.clone());
            }
            if let (Some(whnf), false) = (&whnf, is_match && walk.leaves) {
                grow(|| self.walk(whnf, &next, walk));
            }
            walk.path.pop();
        }
        if let Some(address) = address {
            walk.enclosing.remove(&address);
        }
    }
}
