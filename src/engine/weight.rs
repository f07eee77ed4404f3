//! The weight of an answer: about how many bytes of memory nobody else has a share in.

use std::sync::Arc;

use crate::engine::NodeInfo;
use crate::value::Value;

/// What an entry of a mapping takes of its own: the keys of nearly all are shared.
const ENTRY: usize = size_of::<Value>();

/// What a scalar takes beside its place: for most, the text.
const SCALAR: usize = 24;

/// What a container takes beside its entries.
const CONTAINER: usize = 96;

/// About how many bytes go when the answer goes. Containers that others hold too, files or other
/// answers, weigh nothing.
pub fn of(info: &NodeInfo) -> usize {
    let names = (info.classes.len() + info.applications.len()) * size_of::<usize>() * 2;
    512 + names + value(&info.parameters) + value(&info.exports)
}

fn value(of: &Value) -> usize {
    match of {
        Value::Map(map) if Arc::strong_count(map) == 1 => stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            CONTAINER + map.values().map(|item| ENTRY + value(item)).sum::<usize>()
        }),
        Value::List(list) if Arc::strong_count(list) == 1 => {
            stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
                CONTAINER + list.iter().map(|item| size_of::<Value>() + value(item)).sum::<usize>()
            })
        }
        Value::Map(_) | Value::List(_) => 0,
        _ => SCALAR,
    }
}
