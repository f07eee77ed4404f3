//! Parses the class names in a file: relative names become absolute, references become templates.

use super::{ClassEntry, LayerSource, RelativeTo};
use crate::model::template::{Parsed, Part};
use reclass_base::error::{Fault, Kind};
use reclass_base::pattern::is_wild;
use reclass_base::source::Origin;
use reclass_base::value::Text;

/// Parses one class name.
pub fn class_entry(
    written: &Text,
    source: LayerSource<'_>,
    origin: Origin,
    parse: impl FnOnce(&Text) -> Result<Parsed, Fault>,
) -> Result<ClassEntry, Fault> {
    let invalid = |reason: &str| {
        Fault::new(Kind::ClassNameInvalid { name: written.to_string(), reason: reason.to_owned() })
    };
    if written.is_empty() {
        return Err(invalid("it is empty"));
    }
    let (mut name, mut alternatives) = (written.clone(), Vec::new());
    if written.starts_with('.') {
        let (first, others) = absolute_names(source.name, source.init, written);
        (name, alternatives) = (first.into(), others);
        // `.*` in an `init.yml` are the classes in its folder, never all classes of the inventory.
        if source.settings.class_wildcards && is_wild(written) && !alternatives.is_empty() {
            name = alternatives.swap_remove(0).into();
            alternatives.clear();
        }
    }
    for (c, what) in [(' ', "a space"), ('/', "a slash")] {
        if name.contains(c) {
            return Err(invalid(&format!("it contains {what}")));
        }
    }
    let (lookup, template) = match parse(&name)? {
        Parsed::Template(template) => (name.clone(), Some(template)),
        Parsed::Text(plain) => (plain, None),
        Parsed::Query(_) => return Err(invalid("it is an inventory query")),
    };
    let wild = source.settings.class_wildcards
        && match &template {
            None => is_wild(&lookup),
            Some(template) => {
                template.parts.iter().any(|part| matches!(part, Part::Literal(text) if is_wild(text)))
            }
        };
    let alternatives = alternatives.into_iter().map(Text::from).collect();
    let base = if source.is_class { RelativeTo::Folder } else { RelativeTo::NodeName };
    let relative = written.starts_with('.').then_some(base);
    Ok(ClassEntry { name, lookup, alternatives, template, wild, relative, origin })
}

/// The names that a relative name in the file of a class or node may mean: the first one, and those to try if
/// there is no such class. `init` says whether the file is an `init.yml`.
pub fn absolute_names(including: &str, init: bool, relative: &str) -> (String, Vec<String>) {
    let first = absolute(including, relative);
    let documented = init.then(|| absolute(&format!("{including}.init"), relative));
    let mut others: Vec<String> = documented.filter(|name| *name != first).into_iter().collect();
    // `..init` is the class of the parent folder, whose name has no `init` (docs).
    let names = std::iter::once(&first).chain(&others);
    let bare = names.filter_map(|name| name.strip_suffix(".init").filter(|name| !name.is_empty()));
    let bare: Vec<String> = bare.map(str::to_owned).collect();
    others.extend(bare);
    (first, others)
}

/// The absolute form of a relative name, as the forks compute it: each leading dot removes one part of the
/// including name. Surplus dots have no effect.
fn absolute(including: &str, relative: &str) -> String {
    let dots = relative.len() - relative.trim_start_matches('.').len();
    let parts: Vec<&str> = including.split('.').collect();
    let parent = parts[..parts.len().saturating_sub(dots)].join(".");
    if parent.is_empty() { relative[dots..].to_owned() } else { format!("{parent}{}", &relative[dots - 1..]) }
}

#[cfg(test)]
mod tests {
    use super::absolute;

    #[test]
    fn relative_names_become_absolute() {
        assert_eq!(absolute("a.b.c", ".x"), "a.b.x");
        assert_eq!(absolute("a.b.c", "..x"), "a.x");
        assert_eq!(absolute("a", ".x"), "x");
        assert_eq!(absolute("a", "....x.y"), "x.y");
    }
}
