//! Turns a change of one entry into a new text of one file, in which every other byte stays.
//!
//! Invariants: [`Change::apply`] reads its result back before it returns it, and an edit that would change more is
//! refused. Files are locked and written by [`tree`] alone, through the storage.
//!
//! [`cluster`] and [`node`] find the files of soft metadata and nodes, [`etcd`] edits soft metadata there, [`repair`]
//! resolves findings of lint, [`rename`] and [`extract`] change several files and no value, [`name`] checks names, and
//! [`unified`] shows what changed.

mod block;
mod braces;
mod change;
pub mod cluster;
pub mod effect;
pub mod etcd;
mod expect;
pub mod extract;
pub mod fetched;
mod layout;
pub mod name;
pub mod node;
mod prefix_variant;
pub mod rename;
mod render;
pub mod repair;
pub mod saltclass;
pub mod source;
mod splice;
pub mod tree;
pub mod unified;

pub use change::{Action, Change, read};
use reclass::parts::model::Prefixes;
use reclass_base::error::{Error, Result};
use reclass_base::failpoints::failpoint;
use reclass_base::source::Site;
use reclass_base::value::Text;
use reclass_yaml::compose::{Data, compose};
use render::CollectionStyle;
use splice::{Refusal, Splicer};

impl Change {
    /// The changed text; `None` if the entry already has the new state.
    ///
    /// `path` is for errors. Everything except the entry stays, byte for byte: comments, order, quotes,
    /// anchors, line breaks, the end of the file. It is an error (`edit-refused`) if more would have to
    /// change, or if the mapping has the key with another prefix. Text that is not YAML is an error, too.
    pub fn apply(&self, bytes: &[u8], path: &str, prefixes: &Prefixes) -> Result<Option<Vec<u8>>> {
        let before = read(bytes, path)?;
        let refused = |refusal: Refusal| -> Error {
            let fault = self.refused(&refusal.reason);
            fault.at_site(refusal.place.map_or(Site::file(path), |at| site(bytes, at, path))).into()
        };
        if let Some((depth, variant)) = prefix_variant::find(before.as_ref(), self, prefixes) {
            return Err(refused(self.refused_for(depth, &variant, &Splicer::read(bytes)?)));
        }
        let change = expect::without_known_items(before.as_ref(), self);
        let misshapen = |refusal: Refusal| match self.misshapen(bytes) {
            Some(place) => refused(refusal.at(place)),
            None => refused(refusal),
        };
        let Some(after) = expect::after(before.as_ref(), &change).map_err(misshapen)? else {
            return Ok(None);
        };
        let splicer = Splicer::read(bytes)?;
        let mut refusal = None;
        // People write block style. A comment or a missing line break can make it impossible.
        for style in [CollectionStyle::Block, CollectionStyle::Flow] {
            let text = match splicer.with(&change, &after, style) {
                Ok(text) => text,
                Err(reason) => {
                    refusal = refusal.or(Some(reason));
                    continue;
                }
            };
            if read(&text, path)
                .is_ok_and(|found| found.is_some_and(|found| expect::indistinguishable(&found, &after)))
            {
                return Ok(Some(text));
            }
        }
        Err(refused(refusal.unwrap_or_else(|| Refusal::new("the text around it would change its meaning"))))
    }

    /// The start of the value at the keys, or of the last value on the path to it.
    fn misshapen(&self, bytes: &[u8]) -> Option<usize> {
        let document = compose(bytes).ok()?;
        let mut node = document.root.as_ref()?;
        for name in &self.keys {
            let Data::Map(entries) = &node.data else { break };
            let mut named = entries.iter().filter(|entry| reclass_base::pystr::str(&entry.key.0) == **name);
            match (named.next(), named.next()) {
                (Some(entry), None) => node = &entry.value,
                _ => break,
            }
        }
        document.spans.get(node.index as usize).map(|span| span.start as usize)
    }

    /// The refusal to change an entry beside its prefix variant.
    fn refused_for(&self, depth: usize, variant: &Text, splicer: &Splicer<'_>) -> Refusal {
        let name = &self.keys[depth];
        let way_out = if depth + 1 == self.keys.len() { "; use that name" } else { "" };
        let refusal = Refusal::new(format!("the mapping has '{name}' as '{variant}'{way_out}"));
        let keys = [&self.keys[..depth], std::slice::from_ref(variant)].concat();
        match splicer.key(&keys) {
            Some(place) => refusal.at(place),
            None => refusal,
        }
    }
}

/// Applies several changes in order; `None` if none of them changes the text.
pub fn apply_all(
    changes: &[Change],
    bytes: &[u8],
    path: &str,
    prefixes: &Prefixes,
) -> Result<Option<Vec<u8>>> {
    let mut text = None;
    for change in changes {
        failpoint("a text is changed");
        if let Some(changed) = change.apply(text.as_deref().unwrap_or(bytes), path, prefixes)? {
            text = Some(changed);
        }
    }
    Ok(text)
}

/// The line and column of a byte of the text.
fn site(bytes: &[u8], at: usize, path: &str) -> Site {
    let text = String::from_utf8_lossy(bytes.get(..at).unwrap_or_default());
    let line = text.matches('\n').count();
    let column =
        text.rsplit('\n').next().map_or(0, |last| last.trim_start_matches('\u{feff}').chars().count());
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX - 1) + 1;
    Site { path: path.into(), line: number(line), column: number(column), length: 0 }
}
