//! Finds out why schemas are against a new name of a parameter or class.

use std::collections::HashSet;

use super::check::Schemas;
use super::compile::SchemaPart;
use super::instance::name;
use super::verdict::NodeVerdict;
use reclass::NodeInfo;
use reclass_base::source::Site;
use reclass_base::value::Text;

impl Schemas {
    /// The reason against a new name for the last of these keys, as a sentence for people: a schema of the node
    /// describes the parameter by its old name, or refuses something in the new answer that it did not refuse in the
    /// old one.
    pub fn objection(&self, old: &NodeInfo, now: &NodeInfo, keys: &[Text], new: &str) -> Option<String> {
        let before: Vec<String> = keys.iter().map(ToString::to_string).collect();
        let mut after = before.clone();
        new.clone_into(after.last_mut()?);
        if let Some(site) = self.names(old, &before, &after) {
            return Some(format!("the schema {site} describes '{}'", before.join(&self.delimiter)));
        }
        let renamed = |path: Vec<String>| match path.strip_prefix(before.as_slice()) {
            Some(below) => [&after[..], below].concat(),
            None => path,
        };
        let known: HashSet<_> =
            refusals(&self.check(old)).map(|(path, rest)| (renamed(path), rest)).collect();
        let verdict = self.check(now);
        let (path, (address, _)) = refusals(&verdict).find(|one| !known.contains(one))?;
        let place = self.site(&address).map_or(address, |site| site.to_string());
        let path = path.join(&self.delimiter);
        Some(format!("the schema {place} would refuse '{path}' of the node '{}'", old.name))
    }

    /// The reason against a new name for a class, as a sentence for people: a schema is for the nodes with one of the
    /// names.
    pub fn class_objection(&self, old: &str, new: &str) -> Option<String> {
        let mut scoped = self.set.schemas.iter().filter(|schema| schema.tells_apart(old, new));
        let (document, _) = scoped.find_map(|schema| schema.schema.as_ref().ok())?;
        let file = &self.set.documents[*document].shown;
        Some(format!("'x-reclass' of the schema {file} names it: change the schema first"))
    }

    /// The place where a schema of a node says something about the parameter of one path, and not about the one of
    /// another path.
    fn names(&self, node: &NodeInfo, path: &[String], other: &[String]) -> Option<Site> {
        let own = self
            .set
            .schemas
            .iter()
            .find(|schema| schema.keys.starts_with(path) && schema.is_for(&node.name, &node.classes));
        if let Some(Ok((document, _))) = own.map(|schema| &schema.schema) {
            return Some(Site::file(self.set.documents[*document].shown.clone()));
        }
        let scope = self.scope([(&*node.name, node.classes.iter().map(|class| &**class).collect())]);
        let others = self.parts_at(&scope, other);
        let is_special = |(document, pointer): &SchemaPart<'_>| {
            // What holds for all other keys names none.
            !pointer.ends_with("/additionalProperties")
                && !others.iter().any(|(known, at)| std::ptr::eq(*known, *document) && at == pointer)
        };
        let found = self.parts_at(&scope, path).into_iter().find(is_special);
        found.map(|(document, pointer)| document.site(&pointer))
    }
}

/// What a verdict refuses: the names of the keys, and the address of the rule with what it expects.
fn refusals(verdict: &NodeVerdict) -> impl Iterator<Item = (Vec<String>, (String, String))> {
    verdict.broken.iter().flat_map(|broken| {
        let violations = broken.found.iter().flat_map(|found| found.0.iter());
        violations.map(|one| {
            let path = broken.keys.iter().chain(&one.keys).map(name).collect();
            (path, (one.address.clone(), one.expected.clone()))
        })
    })
}
