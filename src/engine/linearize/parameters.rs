//! The parameters of ordered layers, either merged as a whole or merged on demand.
//!
//! Nodes share merged layers, unless parameters of one node come between its classes (S2).

use std::sync::Arc;

use super::{ExtraParameters, IncludeChains, Linearization};
use crate::engine::counts::Counter;
use crate::engine::prefix::Prefix;
use crate::engine::sequence::AUTOMATIC;
use crate::engine::sequence::Sequence;
use crate::evaluate::{Root, ValueSource};
use crate::model::layer::Layer;
use crate::model::merge::{Prefixes, fold, with_entry};
use crate::model::merge_options::MergeRules;
use crate::model::slot::MapSlot;
use reclass_base::value::{Key, Text};

impl ExtraParameters {
    /// The input data after layers with these merge options.
    pub fn input_after(&self, rules: Option<&Arc<MergeRules>>, prefixes: &Prefixes) -> Option<Arc<MapSlot>> {
        let input = self.input.as_ref()?;
        Some(rules.map_or_else(|| input.clone(), |rules| rules.apply(input, prefixes)))
    }
}

impl Linearization {
    /// The include chains of all files.
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

    /// The parameters of all layers and of `own` after them, for an evaluation that needs only few of them.
    pub fn root(&self, extra: &ExtraParameters, own: &[&Arc<MapSlot>], prefixes: &Prefixes) -> Root {
        let mut sources = sources(&self.sequence, &self.mapped, &[], extra, prefixes);
        sources.extend(own.iter().map(|&own| ValueSource::Map(own.clone())));
        Root::of(sources, prefixes)
    }

    /// The merged parameters of all layers, shared with other nodes if possible. Each merged layer counts
    /// in `merges`.
    pub fn parameters(&self, extra: &ExtraParameters, prefixes: &Prefixes, merges: &Counter) -> Arc<MapSlot> {
        if let Some(prefix) = self.shared(extra) {
            let classes = prefix.merged(prefixes, merges);
            return self.with_automatic(classes, extra, prefixes, merges);
        }
        self.layers().for_each(|_| merges.add());
        fold(sources_between(&self.sequence, &self.mapped, &[], extra, prefixes), prefixes)
    }

    /// The layers of all classes; `None` if parameters of this node come between them.
    pub fn shared(&self, extra: &ExtraParameters) -> Option<&Arc<Prefix>> {
        (!is_between(&self.sequence, &[], extra)).then_some(&self.sequence.prefix)
    }

    /// The shortest prefix with three quarters of the layers. Nodes of a kind usually have it in common and
    /// then add a class or two. It contains the classes from mappings, so that automatic parameters keep
    /// their position.
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

    /// Adds the automatic parameters to the merged classes. Their key comes right after the keys of mapped
    /// classes (S2).
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

/// The parameters of all layers in the order of ruling S2.
pub(super) fn sources(
    sequence: &Arc<Sequence>,
    mapped: &Arc<Sequence>,
    added: &[Arc<Layer>],
    extra: &ExtraParameters,
    prefixes: &Prefixes,
) -> Vec<ValueSource> {
    if is_between(sequence, added, extra) {
        return sources_between(sequence, mapped, added, extra, prefixes)
            .into_iter()
            .map(ValueSource::Map)
            .collect();
    }
    let shared = ValueSource::Shared(sequence.parameters(prefixes).clone());
    let added = added.iter().map(|layer| &layer.parameters);
    std::iter::once(shared)
        .chain(extra.automatic.iter().chain(added).cloned().map(ValueSource::Map))
        .collect()
}

/// Whether parameters of this node come between shared layers. Input data does; automatic parameters do if
/// a class also sets them.
fn is_between(sequence: &Sequence, added: &[Arc<Layer>], extra: &ExtraParameters) -> bool {
    let sets_automatic = |layer: &Arc<Layer>| layer.parameters.entries.contains_key(AUTOMATIC);
    extra.input.is_some()
        || (extra.automatic.is_some() && (sequence.automatic || added.iter().any(sets_automatic)))
}

fn sources_between(
    sequence: &Sequence,
    mapped: &Sequence,
    added: &[Arc<Layer>],
    extra: &ExtraParameters,
    prefixes: &Prefixes,
) -> Vec<Arc<MapSlot>> {
    let (before, rules) = (mapped.layers().count(), mapped.rules.as_ref());
    let layers: Vec<&Arc<Layer>> = sequence.layers().chain(added).collect();
    let (mapped, listed) = layers.split_at(before);
    let maps =
        |layers: &[&Arc<Layer>]| -> Vec<_> { layers.iter().map(|layer| layer.parameters.clone()).collect() };
    let extra = extra.input_after(rules, prefixes).into_iter().chain(extra.automatic.clone());
    maps(mapped).into_iter().chain(extra).chain(maps(listed)).collect()
}
