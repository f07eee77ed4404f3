//! A first byte that chooses settings, and a text: references and queries are read, their places lie
//! inside of the text, and what has no sentinel stays as it is.

use reclass::error::{Error, Fault, Kind};
use reclass::internals::model::query;
use reclass::internals::model::template::split_default;
use reclass::parts::model::{Parsed, Part, Reference, template};
use reclass::settings::Settings;
use reclass::source::Site;
use reclass::value::Text;
use reclass_yaml::parse_value;

use super::shown;

/// Settings that the grammar depends on.
const SETTINGS: [&str; 6] = [
    "{}",
    "{delimiter: '::'}",
    "{delimiter: '|', reference_sentinels: ['((', '))'], export_sentinels: ['(?', '?)']}",
    "{escape_character: '%', reference_sentinels: ['%{', '}']}",
    "{compat_flags: [ExpandTabs], escape_character: 'ü'}",
    "{reference_sentinels: ['$', '$'], export_sentinels: ['$', '$$'], delimiter: '$'}",
];

/// Larger texts take more time than they find.
const MOST: usize = 16 * 1024;

/// Reads the text as a parameter and as the inside of a query.
pub fn check(input: &[u8]) {
    let Some((first, rest)) = input.split_first() else { return };
    let Ok(text) = std::str::from_utf8(rest) else { return };
    if text.len() > MOST {
        return;
    }
    let options = parse_value(SETTINGS[usize::from(*first) % SETTINGS.len()]).expect("YAML");
    let (settings, _) = Settings::from_options(options.as_map().expect("a mapping")).expect("settings");
    let source = Text::from(text);
    // Places are those of the text that is read: with `ExpandTabs`, a tab is up to eight blanks.
    let length = if settings.compat_flags.expand_tabs { text.len() * 8 } else { text.len() };
    let parsed = template::parse(&source, &settings);
    match parsed {
        Ok(Parsed::Text(plain)) => {
            let opens = [&settings.reference_sentinels.0, &settings.export_sentinels.0];
            let speaks = opens.iter().any(|open| text.contains(open.as_str()));
            assert!(speaks || *plain == *source, "{plain:?} for {text:?}");
        }
        Ok(Parsed::Template(template)) => parts(&template.parts, length),
        Ok(Parsed::Query(_)) => {}
        Err(fault) => failed(fault, text, length),
    }
    match query::parse(text, &settings.delimiter) {
        Ok(query) => assert!(query.value.is_some() || query.comparisons().count() > 0, "{query:?}"),
        Err(message) => failed(Fault::new(Kind::QuerySyntax { message }), text, length),
    }
    let _ = split_default(text, &settings.delimiter);
}

fn parts(parts: &[Part], length: usize) {
    for part in parts {
        if let Part::Reference(Reference { parts: inner, span: (offset, width), .. }) = part {
            assert!(offset + width <= length, "{part:?} in {length} bytes");
            self::parts(inner, length);
        }
    }
}

fn failed(fault: Fault, text: &str, length: usize) {
    if let Some((offset, width)) = fault.sub_span {
        assert!((offset + width) as usize <= length, "{offset} and {width} in {text:?}");
    }
    let site = Site { path: "/inventory/nodes/n.yml".into(), line: 1, column: 1, length: 0 };
    shown::error(&Error::from(fault.at_site(site)), &|_| Some(text.to_owned()));
}
