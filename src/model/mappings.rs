//! Class mappings assign classes to nodes by name or path, without an entry in a file.
//!
//! A mapping is `pattern class…`, split into words like a shell command (ruling S19). The pattern is a
//! glob, or a Python regular expression between slashes. Classes may refer to its groups with `\\1` as in
//! the forks, `${1}` as in reclass-rs, or `\g<name>` (S13).

mod regex;

use fancy_regex::Regex;
use rustc_hash::FxHashMap;

use crate::model::grains::{GrainRules, Grains};
use reclass_base::error::{Error, Fault, Kind, MAX_FAULTS, Result};
use reclass_base::pattern::{Glob, is_wild};
use reclass_base::settings::Settings;
use reclass_base::value::Text;

use regex::expand;
pub use regex::translate;

/// All class mappings of an inventory, compiled.
#[derive(Debug, Default)]
pub struct Mappings {
    mappings: Vec<Mapping>,
}

#[derive(Debug)]
struct Mapping {
    source: Text,
    pattern: MappingPattern,
    classes: Vec<MappingWord>,
    /// The opening sentinel of references.
    open: Text,
    /// Whether a class name may be a pattern.
    wildcards: bool,
}

#[derive(Debug)]
enum MappingPattern {
    Glob(Glob),
    Regex(Box<Regex>),
    /// A trusted grain: its path, and a glob for its value.
    Grain(Vec<Text>, Glob),
}

/// One word of a mapping after shell-like splitting, and the same with backslashes in front of digits, for
/// users who write `\1`.
#[derive(Debug, PartialEq)]
struct MappingWord {
    text: String,
    with_backslashes: String,
}

/// A class that a mapping assigns to a node.
#[derive(Clone, PartialEq, Debug)]
pub struct MappedClass {
    /// The name of the class.
    pub class: Text,
    /// The name to try if the class does not exist: the back-reference that the user probably meant.
    pub alternative: Option<Text>,
    /// The mapping as it is written.
    pub mapping: Text,
    /// Later mappings with the same class. They have no effect.
    pub repeated: Vec<Text>,
    /// Whether references and wildcards in the name stay literal. Such text comes from the node's name, which
    /// a machine chooses.
    pub literal: bool,
}

impl Mappings {
    /// Compiles the mappings of the settings. Each invalid one is an error with its text.
    pub fn parse(settings: &Settings, grains: Option<&GrainRules>) -> Result<Mappings> {
        let mut faults = Vec::new();
        let mut mappings = Vec::with_capacity(settings.class_mappings.len());
        for source in &settings.class_mappings {
            match parse(source, settings, grains) {
                Ok(mapping) => mappings.push(mapping),
                Err(fault) => faults.push(fault),
            }
            if faults.len() > MAX_FAULTS {
                break;
            }
        }
        if faults.is_empty() { Ok(Mappings { mappings }) } else { Err(Error::new(faults)) }
    }

    /// Whether there are no mappings.
    pub fn is_empty(&self) -> bool {
        self.mappings.is_empty()
    }

    /// The class names in the mappings, with unresolved references, each with its mapping.
    pub fn names(&self) -> impl Iterator<Item = (&Text, &str)> {
        self.mappings
            .iter()
            .flat_map(|mapping| mapping.classes.iter().map(|word| (&mapping.source, word.text.as_str())))
    }

    /// The classes for a node with these names and grains, each class once.
    pub fn classes(&self, names: &[&str], grains: Option<&Grains>) -> Result<Vec<MappedClass>> {
        let mut found: Vec<MappedClass> = Vec::new();
        let mut positions: FxHashMap<Text, usize> = FxHashMap::default();
        for mapping in &self.mappings {
            for name in names {
                let classes = mapping.classes(name, grains)?;
                let Some(classes) = classes else { continue };
                for mapped in classes {
                    let first = *positions.entry(mapped.class.clone()).or_insert(found.len());
                    match found.get_mut(first) {
                        Some(first) => first.repeated.push(mapped.mapping),
                        None => found.push(mapped),
                    }
                }
                break;
            }
        }
        Ok(found)
    }
}

impl Mapping {
    /// The classes, if the pattern matches the name or the grain.
    fn classes(&self, name: &str, grains: Option<&Grains>) -> Result<Option<Vec<MappedClass>>, Fault> {
        let mapped = |class: String, alternative: Option<String>| MappedClass {
            alternative: alternative.filter(|other| *other != class).map(Text::from),
            class: class.into(),
            mapping: self.source.clone(),
            repeated: Vec::new(),
            literal: matches!(self.pattern, MappingPattern::Regex(_))
                && (name.contains(self.open.as_str()) || self.wildcards && is_wild(name)),
        };
        let all = |matches: bool| {
            matches.then(|| self.classes.iter().map(|word| mapped(word.text.clone(), None)).collect())
        };
        match &self.pattern {
            MappingPattern::Glob(glob) => Ok(all(glob.matches(name))),
            MappingPattern::Grain(path, value) => {
                let matches = grains.and_then(|grains| grains.matches(path, value)).ok_or_else(|| {
                    let grain = path.iter().map(AsRef::as_ref).collect::<Vec<&str>>().join(":");
                    let setting = Some(("class_mappings", self.source.clone()));
                    Fault { setting, ..Fault::new(Kind::GrainsUnknown { grain }) }
                })?;
                Ok(all(matches))
            }
            MappingPattern::Regex(regex) => {
                let captures = regex.captures(name).map_err(|error| self.fault(&error.to_string()))?;
                let Some(captures) = captures else { return Ok(None) };
                let expand =
                    |template: &str| expand(template, &captures).map_err(|message| self.fault(&message));
                let classes = self
                    .classes
                    .iter()
                    .map(|word| Ok(mapped(expand(&word.text)?, expand(&word.with_backslashes).ok())))
                    .collect::<Result<Vec<_>, Fault>>()?;
                Ok(Some(classes))
            }
        }
    }

    fn fault(&self, message: &str) -> Fault {
        fault(&self.source, message)
    }
}

fn fault(source: &Text, message: &str) -> Fault {
    let kind = Kind::SettingPattern {
        name: "class_mappings".into(),
        pattern: source.to_string(),
        message: message.into(),
    };
    Fault { setting: Some(("class_mappings", source.clone())), ..Fault::new(kind) }
}

/// Begins a condition on a grain, as in Salt's compound matchers. Without settings for grains it is part of a glob.
const GRAIN: &str = "G@";

/// The longest regular expression, in bytes. Compiling one takes some hundred times as much memory.
const MAX_EXPRESSION: usize = 256 * 1024;

/// Compiles a regular expression with a limit for backtracking.
pub fn regex(translated: &str, settings: &Settings) -> Result<Regex, String> {
    if translated.len() > MAX_EXPRESSION {
        return Err(format!("it has more than {MAX_EXPRESSION} bytes"));
    }
    let limit = settings.limit_backtracking as usize;
    let built = fancy_regex::RegexBuilder::new(translated).backtrack_limit(limit).build();
    built.map_err(|error| error.to_string())
}

fn parse(source: &Text, settings: &Settings, grains: Option<&GrainRules>) -> Result<Mapping, Fault> {
    let fault = |message: &str| fault(source, message);
    let regular = source.starts_with('/');
    let mut words = split(source, regular).map_err(&fault)?.into_iter();
    let key = words.next().ok_or_else(|| fault("the mapping is empty"))?;
    let between_slashes = if regular {
        Some(key.text.as_str())
    } else {
        key.text.strip_prefix('/').map(|rest| {
            // Without quoting slashes, as after a leading space, the forks drop the last character.
            let end = rest.char_indices().next_back().map_or(0, |(at, _)| at);
            &rest[..end]
        })
    };
    let grain = grains.and_then(|rules| Some((rules, key.text.strip_prefix(GRAIN)?)));
    let pattern = match between_slashes {
        None if let Some((rules, text)) = grain => {
            let (path, value) = rules.condition(text).map_err(|message| fault(&message))?;
            MappingPattern::Grain(path, value)
        }
        Some(text) => {
            let translated = translate(text).map_err(|message| fault(&message))?;
            let regex = regex(&translated, settings).map_err(|message| fault(&message))?;
            MappingPattern::Regex(Box::new(regex))
        }
        None if key.text.is_empty() => return Err(fault("the pattern is empty")),
        None => MappingPattern::Glob(Glob::new(&key.text)),
    };
    let open = settings.reference_sentinels.0.clone();
    let (source, classes, wildcards) = (source.clone(), words.collect(), settings.class_wildcards);
    Ok(Mapping { source, pattern, classes, open, wildcards })
}

/// Splits like Python's `shlex` in POSIX mode with `whitespace_split`. In a mapping with a regular
/// expression, a slash quotes too, and inside it a backslash escapes only slashes and backslashes.
fn split(source: &str, regular: bool) -> Result<Vec<MappingWord>, &'static str> {
    let quotes: &[char] = if regular { &['\'', '"', '/'] } else { &['\'', '"'] };
    let escaped_in: &[char] = if regular { &['"', '/'] } else { &['"'] };
    let mut words = Vec::new();
    let mut chars = source.chars().peekable();
    loop {
        while chars.next_if(char::is_ascii_whitespace).is_some() {}
        if chars.peek().is_none() {
            return Ok(words);
        }
        let mut word = MappingWord { text: String::new(), with_backslashes: String::new() };
        while let Some(c) = chars.next() {
            if c.is_ascii_whitespace() {
                break;
            }
            if quotes.contains(&c) {
                loop {
                    let inner = chars.next().ok_or("a closing quote or slash is missing")?;
                    if inner == c {
                        break;
                    }
                    if inner == '\\' && escaped_in.contains(&c) {
                        let escaped = chars.next().ok_or("nothing follows the last backslash")?;
                        if escaped != '\\' && escaped != c {
                            word.push('\\');
                        }
                        word.push(escaped);
                    } else {
                        word.push(inner);
                    }
                }
            } else if c == '\\' {
                let escaped = chars.next().ok_or("nothing follows the last backslash")?;
                if escaped.is_ascii_digit() {
                    word.with_backslashes.push('\\');
                }
                word.push(escaped);
            } else {
                word.push(c);
            }
        }
        words.push(word);
    }
}

impl MappingWord {
    fn push(&mut self, c: char) {
        self.text.push(c);
        self.with_backslashes.push(c);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reclass_base::value::Value;

    fn parse_all(mapping: &str) -> Result<Mappings> {
        let mut options = reclass_base::value::Map::default();
        options.insert("class_mappings".into(), Value::list(vec![Value::text(mapping)]));
        Mappings::parse(&Settings::from_options(&options)?.0, None)
    }

    fn classes(mapping: &str, name: &str) -> Vec<String> {
        let mappings = parse_all(mapping).expect("a good mapping");
        mappings
            .classes(&[name], None)
            .expect("matches")
            .iter()
            .map(|mapped| mapped.class.to_string())
            .collect()
    }

    #[test]
    fn mappings_split_like_a_shell() {
        assert_eq!(classes(r"/^www(\d+)/ web.\\1 all", "www12"), ["web.12", "all"]);
        assert_eq!(classes(r"/^www(\d+)/ web.${1}", "www12"), ["web.12"]);
        assert_eq!(classes(r"/^([^\/]+)\// subdir-\\1", "a/b"), ["subdir-a"]);
        assert_eq!(classes(r"/^(?P<x>.)/ c.\\g<x>", "abc"), ["c.a"]);
        assert_eq!(classes(r"/^(?!www)/ other", "db"), ["other"]);
        assert_eq!(classes(r"'a b' q", "a b"), ["q"]);
        assert!(parse_all("/a( x").is_err());
        assert!(parse_all("").is_err());
    }

    #[test]
    fn a_single_backslash_is_the_second_choice() {
        let mappings = parse_all(r"/(\d)/ role.\1").expect("a good mapping");
        let found = mappings.classes(&["n7"], None).expect("matches");
        assert_eq!((&*found[0].class, found[0].alternative.as_deref()), ("role.1", Some("role.7")));
    }
}
