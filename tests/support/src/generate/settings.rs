//! Settings flipped at random, and the signs of the language that they change.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use crate::random::Random;

/// The signs of the language.
pub struct Syntax {
    pub open: String,
    pub close: String,
    pub query_open: String,
    pub query_close: String,
    pub delimiter: String,
    pub escape: String,
    pub replace: String,
    pub constant: String,
}

/// Settings that are not as by default, and the signs that go with them.
pub fn settings(random: &mut Random) -> (BTreeMap<String, Json>, Syntax) {
    let mut settings = BTreeMap::new();
    // The two have different defaults (M3), so that it is always said.
    settings.insert("allow_none_override".into(), json!(!random.once_in(4)));
    // Ours alone: with them we answer as kapicorp (S12, R13).
    let mut flags = Vec::new();
    for (flag, times) in [("ComposeNodeNameLiteralDots", 8), ("ExpandTabs", 2)] {
        if !random.once_in(times) {
            flags.push(flag);
        }
    }
    settings.insert("compat_flags".into(), json!(flags));
    let rare = [
        ("allow_scalar_over_dict", json!(true), 8),
        ("allow_scalar_over_list", json!(true), 8),
        ("allow_list_over_scalar", json!(true), 8),
        ("allow_dict_over_scalar", json!(true), 8),
        ("strict_constant_parameters", json!(false), 6),
        ("group_errors", json!(false), 5),
        ("ignore_class_notfound", json!(true), 8),
        ("ignore_class_notfound_regexp", json!(["^a", "nope"]), 12),
        ("ignore_class_notfound_regexp", json!("none"), 30),
        ("ignore_class_notfound_warning", json!(false), 20),
        ("ignore_overwritten_missing_references", json!(false), 8),
        ("automatic_parameters", json!(false), 10),
        ("compose_node_name", json!(true), 6),
        ("class_mappings_match_path", json!(true), 12),
        ("default_environment", json!("prod"), 10),
        ("inventory_ignore_failed_node", json!(true), 8),
        ("inventory_ignore_failed_render", json!(true), 8),
    ];
    for (name, value, times) in rare {
        if random.once_in(times) {
            settings.insert(name.into(), value);
        }
    }
    let mut syntax = Syntax {
        open: "${".into(),
        close: "}".into(),
        query_open: "$[".into(),
        query_close: "]".into(),
        delimiter: ":".into(),
        escape: "\\".into(),
        replace: "~".into(),
        constant: "=".into(),
    };
    if random.once_in(14) {
        match random.below(5) {
            0 => {
                syntax.delimiter = random.pick(&["/", "^", "->"]).into();
                settings.insert("delimiter".into(), json!(syntax.delimiter));
            }
            1 => {
                let (open, close) = random.pick(&[("%{", "}"), ("((", "))"), ("@{", "}@"), ("<%", "%>")]);
                (syntax.open, syntax.close) = (open.into(), close.into());
                settings.insert("reference_sentinels".into(), json!([open, close]));
            }
            2 => {
                let (open, close) = random.pick(&[("$(", ")"), ("$[[", "]]")]);
                (syntax.query_open, syntax.query_close) = (open.into(), close.into());
                settings.insert("export_sentinels".into(), json!([open, close]));
            }
            3 => {
                syntax.replace = random.pick(&["+", "!"]).into();
                settings.insert("dict_key_override_prefix".into(), json!(syntax.replace));
            }
            _ => {
                syntax.escape = "^".into();
                settings.insert("escape_character".into(), json!(syntax.escape));
            }
        }
    }
    (settings, syntax)
}

/// Class mappings, mostly of classes that exist.
pub fn mappings(random: &mut Random, classes: &[String]) -> Json {
    let mappings = [
        ("* base", "base"),
        ("n* a", "a"),
        ("n[12] a a.b", "a a.b"),
        ("*.example.org base app", "base app"),
        ("web? app.web", "app.web"),
        ("nobody a", ""),
        ("'n1' a", "a"),
        (r"/^n\d+$/ a", "a"),
        (r"/^(web|db)\d?/ app.\\1", "app.web app.db"),
        (r"/^(?P<kind>web|db)/ app.\\g<kind>", "app.web app.db"),
        (r"/e(xample)?/ base", ""),
        (r"/^n(?!1)/ a.b", "a.b"),
        (r"*/n1 a", "a"),
        (r"/^prod\// base", ""),
        ("./n1 a", "a"),
        ("prod* base a.c", "a.c"),
        ("dev.* base", ""),
    ];
    let count = 1 + random.below(2);
    let mut chosen = Vec::new();
    while chosen.len() < count {
        let (mapping, needed) = random.pick(&mappings);
        let known = needed.split_whitespace().all(|name| classes.iter().any(|class| class == name));
        if known || random.once_in(40) {
            chosen.push(mapping);
        }
    }
    json!(chosen)
}
