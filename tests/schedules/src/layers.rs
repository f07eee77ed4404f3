//! Threads that merge the same tables, and the same layers in sequences that part.

use std::sync::Arc;

use reclass::internals::engine::counts::Counter;
use reclass::parts::model::{Prefixes, Slot};
use reclass::settings::Settings;
use reclass::source::{FileId, Origin};
use reclass::value::{Key, Map, Value};

use crate::prefix::Prefix;
use crate::table::Table;
use crate::{THREADS, all_orders, layer, said};

fn table(entries: &[(&str, usize)]) -> Table<usize> {
    let mut table = Table::default();
    for (key, value) in entries {
        table.insert(Key::from(*key), *value);
    }
    table
}

/// A table with others merged over it, and one key more in front.
fn merged(tables: &[Table<usize>], last: usize) -> Vec<(String, usize)> {
    let mut all = tables[0].clone();
    for other in &tables[1..] {
        all.merge_all(other, |earlier, later| earlier.unwrap_or(0) * 10 + later);
    }
    all.shift_insert(0, Key::from("first"), last);
    all.iter().map(|(key, value)| (key.as_str().unwrap().to_owned(), *value)).collect()
}

fn merge_tables() {
    let one = table(&[("a", 1), ("b", 2)]);
    let two = table(&[("b", 3), ("c", 4)]);
    let three = table(&[("d", 5), ("a", 6)]);
    let forth = Arc::new([one, two, three]);
    let back = Arc::new([forth[2].clone(), forth[1].clone(), forth[0].clone()]);
    let work = |own: usize| {
        let (forth, back) = (forth.clone(), back.clone());
        let of = |entries: &[(&str, usize)]| -> Vec<_> {
            entries.iter().map(|(key, value)| ((*key).to_owned(), *value)).collect()
        };
        move || {
            // Keys are remembered from the second time on.
            for turn in 0..3 {
                if own == 0 {
                    let all = of(&[("first", turn), ("d", 5), ("a", 61), ("b", 32), ("c", 4)]);
                    assert_eq!(merged(&back[..], turn), all);
                    assert_eq!(merged(&back[1..], own), of(&[("first", own), ("b", 32), ("c", 4), ("a", 1)]));
                } else {
                    let all = of(&[("first", turn), ("a", 16), ("b", 23), ("c", 4), ("d", 5)]);
                    assert_eq!(merged(&forth[..], turn), all);
                    assert_eq!(
                        merged(&forth[..2], own),
                        of(&[("first", own), ("a", 1), ("b", 23), ("c", 4)])
                    );
                }
            }
        }
    };
    let threads: Vec<_> = (0..THREADS).map(|own| shuttle::thread::spawn(work(own))).collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

/// What layers come to, merged apart from all others.
fn expected(numbers: &[usize]) -> Vec<(String, String)> {
    let origin = |number: usize| Origin { file: FileId(u32::try_from(number).unwrap()), node: 0 };
    let value = |value: i64, number| format!("{:?}", Slot::Value(Value::Int(value), origin(number)));
    let last = numbers[numbers.len() - 1];
    let all = ("all".to_owned(), value(i64::try_from(last).unwrap(), last));
    let mut entries = vec![all];
    for number in numbers {
        entries.push((format!("p{number}"), value(0, *number)));
    }
    entries
}

fn merge_layers() {
    let prefixes = Arc::new(Prefixes::new(&Settings::from_options(&Map::default()).unwrap().0));
    let layers: Arc<Vec<_>> = Arc::new((0..4).map(|number| layer(number, 0)).collect());
    let root = Prefix::root();
    let work = |own: usize| {
        let (prefixes, layers, root) = (prefixes.clone(), layers.clone(), root.clone());
        move || {
            // All begin with the same layers, and part after one or two of them.
            for last in [3, 1 + own] {
                let numbers = if own == 0 { vec![0, last] } else { vec![0, 1, last] };
                let sequence =
                    numbers.iter().fold(root.clone(), |sequence, number| sequence.child(&layers[*number]));
                assert_eq!(said(sequence.merged(&prefixes, &Counter::default())), expected(&numbers));
            }
        }
    };
    let threads: Vec<_> = (0..THREADS).map(|own| shuttle::thread::spawn(work(own))).collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

pub fn tables_that_threads_merge_have_the_keys_of_all() {
    all_orders(merge_tables);
}

pub fn layers_that_threads_merge_are_those_of_the_sequence() {
    all_orders(merge_layers);
}
