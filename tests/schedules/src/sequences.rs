//! Threads that take the same steps through class lists, before and after a file changes.

use std::sync::Arc;

use reclass::internals::engine::counts::Counter;
use reclass::parts::engine::Dependencies;
use reclass::parts::model::{Prefixes, Slot, TreeId};
use reclass::settings::Settings;
use reclass::source::{FileId, Origin};
use reclass::value::{Map, Text, Value};

use crate::layer::Layer;
use crate::sequence::{Roots, Sequence, SequenceStep, StepAdditions};
use crate::{THREADS, all_orders, layer, said};

/// The classes, each a version of its file.
type Classes = [i64; 5];

/// Each thread has a list of its own; all begin in the same way.
fn list(thread: usize) -> [u32; 3] {
    [0, 1, 2 + u32::try_from(thread % 2).unwrap()]
}

/// What the classes of a list say, merged apart from all others.
fn expected(list: &[u32], versions: &Classes) -> Vec<(String, String)> {
    let entry = |key: String, value: i64, number: u32| {
        let origin = Origin { file: FileId(number), node: 0 };
        (key, format!("{:?}", Slot::Value(Value::Int(value), origin)))
    };
    let end = list[list.len() - 1];
    let all = entry("all".into(), end.into(), end);
    let each = list.iter().map(|number| entry(format!("p{number}"), versions[*number as usize], *number));
    std::iter::once(all).chain(each).collect()
}

/// Takes the steps of a list, as linearization does.
fn take(
    roots: &Roots,
    list: &[u32],
    layers: &[Arc<Layer>],
    versions: &Classes,
    revision: u64,
) -> Arc<Sequence> {
    let mut sequence = roots.of(TreeId(0));
    for number in list {
        let name: Text = format!("c{number}").into();
        let step = SequenceStep::Class(name.clone(), None);
        let changed = |dependencies: &Dependencies| {
            let mut files = dependencies.files.iter();
            files
                .find(|(file, version)| i64::try_from(*version) != Ok(versions[file.0 as usize]))
                .map(|(file, _)| *file)
        };
        sequence = if let Some(next) = sequence.next(&step, revision, changed) {
            next
        } else {
            let version = u64::try_from(versions[*number as usize]).unwrap();
            let added = StepAdditions {
                layers: vec![layers[*number as usize].clone()],
                classes: vec![name],
                dependencies: Dependencies {
                    files: vec![(FileId(*number), version)],
                    ..Dependencies::default()
                },
                ..StepAdditions::default()
            };
            let child = sequence.child(added, revision);
            sequence.share(step, &child);
            child
        };
    }
    sequence
}

fn take_steps() {
    let prefixes = Arc::new(Prefixes::new(&Settings::from_options(&Map::default()).unwrap().0));
    let roots = Arc::new(Roots::new(None));
    let mut kept = Vec::new();
    // The class in the middle changes.
    for (revision, versions) in [(1, [1; 5]), (2, [1, 2, 1, 1, 1])] {
        let layers: Arc<Vec<_>> =
            Arc::new((0..5).map(|number| layer(number, versions[number as usize])).collect());
        let work = |thread: usize| {
            let (prefixes, roots, layers) = (prefixes.clone(), roots.clone(), layers.clone());
            move || {
                let list = list(thread);
                let sequence = take(&roots, &list, &layers, &versions, revision);
                let right = expected(&list, &versions);
                let shown: Vec<String> = sequence
                    .steps()
                    .iter()
                    .flat_map(|step| &step.added.classes)
                    .map(Text::to_string)
                    .collect();
                assert_eq!(shown, list.map(|number| format!("c{number}")));
                assert_eq!(said(sequence.prefix.merged(&prefixes, &Counter::default())), right);
                assert_eq!(said(sequence.exports(&prefixes)), right);
                assert!(Arc::ptr_eq(sequence.parameters(&prefixes), sequence.parameters(&prefixes)));
                // Each step was asked for on the way; the beginning has no files.
                let changed = |dependencies: &Dependencies| dependencies.files.first().copied();
                assert!(sequence.changed(revision, changed).is_none());
                sequence
            }
        };
        let threads: Vec<_> = (0..THREADS).map(|own| shuttle::thread::spawn(work(own))).collect();
        kept.extend(threads.into_iter().map(|thread| thread.join().unwrap()));
        // Who comes later finds what one of them took first.
        let begun =
            roots.of(TreeId(0)).next(&SequenceStep::Class("c0".into(), None), revision, |_| None::<()>);
        let first = |sequence: &Arc<Sequence>| sequence.before().and_then(|second| second.before()).cloned();
        assert!(kept.iter().filter_map(first).any(|kept| Arc::ptr_eq(&kept, begun.as_ref().unwrap())));
    }
}

pub fn sequences_that_threads_take_are_those_of_their_files() {
    all_orders(take_steps);
}
