//! The JSON Schemas of the files of an inventory, for editors with a YAML server: a node, a class and the settings.

use super::infer::DRAFT;
use reclass_base::settings::{SettingRow, Shape, TABLE};
use reclass_base::value::{Key, Map, Text, Value};

/// The names of the schemas.
pub const FILE_SCHEMAS: [&str; 3] = ["node", "class", "config"];

/// The schema of this name; `None` for a name that is not in [`FILE_SCHEMAS`].
pub fn file_schema(name: &str) -> Option<Value> {
    match name {
        "node" => Some(file(false)),
        "class" => Some(file(true)),
        "config" => Some(settings()),
        _ => None,
    }
}

type Keywords = Vec<(&'static str, Value)>;

fn map(keywords: Keywords) -> Value {
    Value::map(keywords.into_iter().map(|(keyword, value)| (keyword.into(), value)).collect())
}

fn of_type(name: &str) -> Value {
    Value::record([("type", Value::text(name))])
}

fn types(names: &[&str]) -> Value {
    Value::texts(&names.iter().map(|name| Text::from(*name)).collect::<Vec<_>>())
}

/// The schema of a node file or class file. A key that begins with `_` is for people.
fn file(is_class: bool) -> Value {
    let texts = |about: &str| {
        map(vec![
            ("description", Value::text(about)),
            ("type", types(&["array", "null"])),
            ("items", of_type("string")),
        ])
    };
    let mapping =
        |about: &str| map(vec![("description", Value::text(about)), ("type", types(&["object", "null"]))]);
    let mut environment = vec![
        ("description", Value::text("The environment of the node.")),
        ("type", types(&["string", "number", "boolean", "null"])),
    ];
    if is_class {
        environment[0].1 =
            Value::text("The environment of a class has no effect: only that of a node counts.");
        environment.push(("deprecated", Value::Bool(true)));
    }
    let properties = vec![
        (
            "classes",
            texts(
                "Classes to include, in order. A later one is merged over the earlier ones. A name may contain references.",
            ),
        ),
        (
            "applications",
            texts(
                "Names that are added to those of the node: states for Salt, groups for Ansible. `~name` removes one of earlier classes.",
            ),
        ),
        (
            "parameters",
            mapping(
                "Values, merged over those of the classes. `${a:b}` refers to a parameter; a key with `~` replaces, one with `=` stays.",
            ),
        ),
        ("exports", mapping("Values that the queries of other nodes read: `$[ exports:a ]`.")),
        ("environment", map(environment)),
        ("merge_options", mapping("How lists merge, by path; counts only with the setting `merge_options`.")),
    ];
    map(vec![
        ("$schema", Value::text(DRAFT)),
        ("title", Value::text(if is_class { "A class of reclass" } else { "A node of reclass" })),
        ("type", types(&["object", "null"])),
        ("properties", map(properties)),
        ("patternProperties", Value::record([("^_", Value::Bool(true))])),
        ("additionalProperties", Value::Bool(false)),
    ])
}

/// The schema of a settings file.
fn settings() -> Value {
    let mut properties = Map::default();
    for row in TABLE {
        properties.insert(row.name.into(), map(setting(row)));
        for alias in row.aliases {
            let mut keywords = setting(row);
            keywords.push(("deprecated", Value::Bool(true)));
            properties.insert(Key::from(*alias), map(keywords));
        }
    }
    map(vec![
        ("$schema", Value::text(DRAFT)),
        ("title", Value::text("The settings of reclass, reclass-config.yml")),
        ("type", types(&["object", "null"])),
        ("properties", Value::map(properties)),
        ("additionalProperties", Value::Bool(false)),
    ])
}

fn setting(row: &SettingRow) -> Keywords {
    let text = || of_type("string");
    let default = row.default_value();
    let mut keywords = vec![("description", Value::text(without_links(row.doc.trim())))];
    let or_null = |name: &str| match default {
        Value::Null => types(&[name, "null"]),
        _ => Value::text(name),
    };
    keywords.extend(match row.shape {
        Shape::Flag => vec![("type", or_null("boolean"))],
        Shape::Word => vec![("type", or_null("string"))],
        Shape::WordOrFalse => {
            let no = Value::record([("enum", Value::list(vec![Value::Bool(false), Value::Null]))]);
            vec![("anyOf", Value::list(vec![text(), no]))]
        }
        Shape::List => vec![("type", or_null("array")), ("items", text())],
        Shape::Words => vec![("type", types(&["string", "array"])), ("items", text())],
        Shape::Pair => vec![
            ("type", or_null("array")),
            ("items", text()),
            ("minItems", Value::Int(2)),
            ("maxItems", Value::Int(2)),
        ],
        Shape::Count => vec![("type", or_null("integer")), ("minimum", Value::Int(0))],
        Shape::UpTo(most) => vec![
            ("type", or_null("integer")),
            ("minimum", Value::Int(1)),
            ("maximum", Value::Int(most.into())),
        ],
        Shape::Uri => vec![("type", types(&["string", "array", "object"]))],
        Shape::OneOf(words) => {
            let mut all: Vec<Value> = words.iter().map(|word| Value::text(*word)).collect();
            // YAML 1.1 reads a bare `off` as false.
            all.extend(words.contains(&"off").then_some(Value::Bool(false)));
            vec![("enum", Value::list(all))]
        }
        Shape::Any => Vec::new(),
    });
    keywords.push(("default", default));
    keywords
}

/// A text of Markdown with the texts of its links alone: they lead nowhere in an editor.
fn without_links(text: &str) -> String {
    let mut parts = text.split("](");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        if let Some(at) = out.rfind('[') {
            out.remove(at);
        }
        out.push_str(part.split_once(')').map_or(part, |(_, rest)| rest));
    }
    out
}
