//! Parses the class names in a file: relative names become absolute, references become templates.

use super::{ClassEntry, LayerSource};
use crate::base::error::{Fault, Kind};
use crate::base::pattern::is_wild;
use crate::base::source::Origin;
use crate::base::value::Text;
use crate::model::template::{Parsed, Part};

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
        let relative_to_file = absolute(source.name, written);
        let documented = source.init.then(|| absolute(&format!("{}.init", source.name), written));
        alternatives.extend(documented.filter(|name| *name != relative_to_file));
        // `..init` is the class of the parent folder, whose name has no `init` (docs).
        let names = std::iter::once(&relative_to_file).chain(&alternatives);
        let bare = names.filter_map(|name| name.strip_suffix(".init").filter(|name| !name.is_empty()));
        let bare: Vec<String> = bare.map(str::to_owned).collect();
        alternatives.extend(bare);
        name = relative_to_file.into();
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
    let relative = written.starts_with('.');
    Ok(ClassEntry { name, lookup, alternatives, template, wild, relative, origin })
}

/// The absolute form of a relative name, as the forks compute it: each leading dot removes one part of the
/// including name. Surplus dots have no effect.
pub fn absolute(including: &str, relative: &str) -> String {
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
