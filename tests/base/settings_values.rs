//! Values turn into settings: words that YAML 1.1 reads as something else, and odd values that the
//! Python programs work with.

use reclass::error::Warning;
use reclass::report::Level;
use reclass::settings::{Settings, Shape, TABLE};
use reclass::value::{Map, Value};
use reclass_yaml::parse_value;

fn read(name: &str, value: Value) -> Result<(Settings, Vec<Warning>), String> {
    let options = Map::from_iter([(name.into(), value)]);
    Settings::from_options(&options).map_err(|error| error.to_string())
}

#[test]
fn words_count_whatever_yaml_reads_them_as() {
    let flags = ["true", "True", "yes", "on", "On", "1", "false", "no", "NO", "off", "Off", "0", "null", "~"];
    for row in TABLE {
        let words = match row.shape {
            Shape::Flag => &flags[..],
            Shape::OneOf(words) => words,
            _ => &[],
        };
        for word in words {
            let text = read(row.name, Value::text(*word)).unwrap();
            let yaml = read(row.name, parse_value(word).unwrap()).unwrap();
            assert!(text.0 == yaml.0, "{}: {word}", row.name);
            assert!(text.1.is_empty(), "{}: {word}: {:?}", row.name, text.1);
            // A setting without a value looks the same, and is worth a word where it is true by default.
            let null = matches!(*word, "null" | "~") && row.default == "true";
            assert_eq!(yaml.1.is_empty(), !null, "{}: {word}", row.name);
        }
    }
    let off = read("cache", Value::Bool(false)).unwrap().0;
    assert_eq!(&*off.cache, "off");
}

#[test]
fn levels_of_lint_count_whatever_yaml_reads_them_as() {
    for level in Level::NAMES {
        for value in [Value::text(level), parse_value(level).unwrap()] {
            let levels = Value::map(Map::from_iter([("tab".into(), value)]));
            let folder = tempfile::tempdir().unwrap();
            for name in ["nodes", "classes"] {
                std::fs::create_dir(folder.path().join(name)).unwrap();
            }
            let base = Value::text(folder.path().to_str().unwrap());
            let options =
                Map::from_iter([("inventory_base_uri".into(), base), ("lint_levels".into(), levels)]);
            assert!(reclass_analysis::lint::lint(&options, &[], &()).unwrap().is_empty(), "{level}");
        }
    }
}

#[test]
fn yml_is_yaml() {
    let of = |word: &str| read("output", Value::text(word)).unwrap();
    assert!(of("yml").0 == of("yaml").0 && of("yml").1.is_empty());
}

/// Kapicorp's `ext_pillar` works with each of these, and gives what it gives with the value behind it.
#[test]
fn odd_values_count_as_in_the_python_programs() {
    for (name, odd, same) in [
        ("group_errors", "2", "true"),
        ("group_errors", "0.0", "false"),
        ("group_errors", "maybe", "true"),
        ("group_errors", "null", "false"),
        ("group_errors", "[1]", "true"),
        ("compose_node_name", "{}", "false"),
        ("compose_node_name", "2001-01-01", "true"),
        ("nodes_uri", "null", "nodes"),
        ("nodes_uri", "false", "nodes"),
        ("classes_uri", "0", "classes"),
        ("classes_uri", "[]", "classes"),
        ("classes_uri", "{}", "classes"),
        ("class_mappings", "false", "[]"),
        ("class_mappings", "0", "[]"),
        ("class_mappings", "{}", "[]"),
        ("class_mappings", "web", "[]"),
        ("class_mappings", "{'web* a b': 1}", "['web* a b']"),
        ("dict_key_constant_prefix", "false", "False"),
        ("dict_key_constant_prefix", "''", "''"),
        ("dict_key_constant_prefix", "1.5", "'1.5'"),
        ("escape_character", "''", "''"),
        ("reference_sentinels", "<>", "[<, '>']"),
        ("ignore_class_notfound_regexp", "5", "['.*']"),
        ("compat_flags", "[ExpandTabs, Unheard]", "[ExpandTabs]"),
        // Python's are the words without quotes, here the default.
        ("dict_key_override_prefix", "~", "'~'"),
        // Of our own: a setting without a value has its default.
        ("cache_size", "null", "384"),
        ("cache", "null", "auto"),
        ("secret_keys", "null", "default"),
    ] {
        let (settings, warnings) = read(name, parse_value(odd).unwrap()).unwrap();
        let expected = if same == "default" {
            Settings::from_options(&Map::default()).unwrap().0
        } else {
            read(name, parse_value(same).unwrap()).unwrap().0
        };
        assert!(settings == expected, "{name}: {odd}");
        assert_eq!(warnings.len(), 1, "{name}: {odd}: {warnings:?}");
        assert_eq!(warnings[0].code(), "setting-odd", "{name}: {odd}");
    }
    assert!(read("class_mappings", Value::Null).unwrap().1.is_empty());
    let flag = read("compat_flags", Value::text("ExpandTab")).unwrap().1.remove(0);
    assert_eq!(
        flag.kind.to_string(),
        "setting 'compat_flags': there is no flag 'ExpandTab'; it does not count"
    );
    assert_eq!(flag.kind.help().as_deref(), Some("'ExpandTabs' is similar"));
}

#[test]
fn what_the_python_programs_refuse_is_an_error() {
    for (name, value) in [
        ("delimiter", "5"),
        ("escape_character", "5"),
        ("nodes_uri", "5"),
        ("class_mappings", "5"),
        ("class_mappings", "'* web'"),
        ("inventory_base_uri", "5"),
        ("storage_type", "off"),
        ("reference_sentinels", "abc"),
        ("cache_size", "off"),
    ] {
        assert!(read(name, parse_value(value).unwrap()).is_err(), "{name}: {value}");
    }
    let both = Map::from_iter([
        ("ignore_class_notfound".into(), Value::Bool(true)),
        ("ignore_class_notfound_regexp".into(), Value::Int(5)),
    ]);
    assert!(Settings::from_options(&both).is_err());
}
