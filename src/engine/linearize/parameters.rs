//! Layers in their order turn into parameters to evaluate: all of them, or as few as are asked for.
//!
//! They are shared with other nodes as far as nothing that a node is extra stands between its
//! classes (S2).

use std::sync::Arc;

use super::{AUTOMATIC, ExtraParameters, IncludeChains, Linearization};
use crate::base::value::{Key, Text};
use crate::engine::counts::Counter;
use crate::engine::prefix::Prefix;
use crate::engine::sequence::Sequence;
use crate::evaluate::{Root, ValueSource};
use crate::model::layer::Layer;
use crate::model::merge::{Prefixes, fold, with_entry};
use crate::model::slot::MapSlot;

impl Linearization {
    /// How files came in.
    pub fn include_chains(&self) -> IncludeChains<'_> {
        IncludeChains {
            node: &self.node,
            listed: &self.listed,
            unused: &self.unused,
            sequence: &self.sequence,
            added: None,
        }
    }

    /// The layers of all classes.
    pub fn layers(&self) -> impl DoubleEndedIterator<Item = &Arc<Layer>> {
        self.sequence.layers()
    }

    /// `classes` of the result (S3).
    pub fn classes(&self) -> Arc<[Text]> {
        self.sequence.classes(&self.shown)
    }

    /// The parameters of all layers, `own` behind them, for an evaluation that asks for few.
    pub fn root(&self, extra: &ExtraParameters, own: &Arc<MapSlot>, prefixes: &Prefixes) -> Root {
        let mut sources = sources(&self.sequence, &self.mapped, &[], extra, prefixes);
        sources.push(ValueSource::Map(own.clone()));
        Root::of(sources, prefixes)
    }

    /// The parameters of all layers, merged, shared with other nodes as far as can be.
    /// Each layer that is merged is one of `merges`.
    pub fn parameters(&self, extra: &ExtraParameters, prefixes: &Prefixes, merges: &Counter) -> Arc<MapSlot> {
        if let Some(prefix) = self.shared(extra) {
            let classes = prefix.merged(prefixes, merges);
            return self.with_automatic(classes, extra, prefixes, merges);
        }
        self.layers().for_each(|_| merges.add());
        fold(sources_between(&self.sequence, &self.mapped, &[], extra), prefixes)
    }

    /// The layers of all classes, where nothing that a node is extra stands between them.
    pub fn shared(&self, extra: &ExtraParameters) -> Option<&Arc<Prefix>> {
        (!is_between(&self.sequence, &[], extra)).then_some(&self.sequence.prefix)
    }

    /// The layers of the first classes of the list, as few of these as bring in three of four
    /// layers: what nodes of a kind have in common before each adds a class or two. Those of class
    /// mappings are among them, so that automatic parameters have their place.
    pub fn most(&self) -> &Arc<Prefix> {
        let enough = |before: &Sequence| {
            before.file_count * 4 >= self.sequence.file_count * 3
                && before.file_count >= self.mapped.file_count
        };
        let mut most = &self.sequence;
        while let Some(before) = most.before().filter(|before| enough(before)) {
            most = before;
        }
        &most.prefix
    }

    /// The merged parameters of the classes with the automatic ones, which come after the mapped
    /// classes (S2): there their key stands.
    pub fn with_automatic(
        &self,
        classes: &Arc<MapSlot>,
        extra: &ExtraParameters,
        prefixes: &Prefixes,
        merges: &Counter,
    ) -> Arc<MapSlot> {
        match extra.automatic.as_ref().and_then(|map| map.entries.get(AUTOMATIC)) {
            Some(slot) => {
                let at = self.mapped.prefix.merged(prefixes, merges).entries.len();
                with_entry(classes, at, Key::from(AUTOMATIC), slot.clone())
            }
            None => classes.clone(),
        }
    }
}

/// The parameters of layers in the order of ruling S2.
pub(super) fn sources(
    sequence: &Arc<Sequence>,
    mapped: &Arc<Sequence>,
    added: &[Arc<Layer>],
    extra: &ExtraParameters,
    prefixes: &Prefixes,
) -> Vec<ValueSource> {
    if is_between(sequence, added, extra) {
        return sources_between(sequence, mapped, added, extra).into_iter().map(ValueSource::Map).collect();
    }
    let shared = ValueSource::Shared(sequence.parameters(prefixes).clone());
    let added = added.iter().map(|layer| &layer.parameters);
    std::iter::once(shared)
        .chain(extra.automatic.iter().chain(added).cloned().map(ValueSource::Map))
        .collect()
}

/// Whether what a node is extra stands between layers that it shares with others: input data
/// does, and automatic parameters where a class has a say in them.
fn is_between(sequence: &Sequence, added: &[Arc<Layer>], extra: &ExtraParameters) -> bool {
    let says = |layer: &Arc<Layer>| layer.parameters.entries.contains_key(AUTOMATIC);
    extra.input.is_some() || (extra.automatic.is_some() && (sequence.automatic || added.iter().any(says)))
}

fn sources_between(
    sequence: &Sequence,
    mapped: &Sequence,
    added: &[Arc<Layer>],
    extra: &ExtraParameters,
) -> Vec<Arc<MapSlot>> {
    let before = mapped.layers().count();
    let layers: Vec<&Arc<Layer>> = sequence.layers().chain(added).collect();
    let (mapped, listed) = layers.split_at(before);
    let maps =
        |layers: &[&Arc<Layer>]| -> Vec<_> { layers.iter().map(|layer| layer.parameters.clone()).collect() };
    let extra = extra.input.iter().chain(&extra.automatic).cloned();
    maps(mapped).into_iter().chain(extra).chain(maps(listed)).collect()
}
