//! Golden examples turn one problem of each kind into the text of `tests/errors/<code>.txt`.
//!
//! `BLESS=1 cargo test --test report` writes the files anew; read the difference before committing it.

#![allow(clippy::disallowed_methods, reason = "tests read files")]

use std::collections::BTreeSet;
use std::path::Path;

use reclass::error::{Error, Fault, Kind, Link};
use reclass::report;
use reclass::source::Site;

const NODE: &str = "/srv/nodes/web1.yml";
const OTHER: &str = "/srv/nodes/web2.yml";
const CLASS: &str = "/srv/classes/web/server.yml";

/// The files that the examples speak of.
fn read(path: &str) -> Option<String> {
    let text = match path {
        NODE => "classes:\n  - web.server\nparameters:\n  network:\n    address: 10.0.0.1\n",
        OTHER => "classes:\n  - role.${rol}\nparameters:\n  role: web\n",
        CLASS => {
            "# ünïcode before\nparameters:\n  name: 'größe ${network:adress}'\n  listen: ${network:adress}:80\r\n  \
             esc: \u{1b}[31m\u{202e}red ${x}\n  tab:\t${x}\n"
        }
        _ => return None,
    };
    Some(text.into())
}

fn site(path: &str, line: u32, column: u32, length: u32) -> Site {
    Site { path: path.into(), line, column, length }
}

/// In the class file, which the node includes.
fn in_class(kind: Kind, line: u32, column: u32, length: u32) -> Fault {
    let mut fault = Fault::new(kind).at_site(site(CLASS, line, column, length));
    fault.node = Some("web1".into());
    fault.chain = vec![Link {
        includer: "node 'web1'".into(),
        class: "web.server".into(),
        site: Some(site(NODE, 2, 5, 10)),
    }];
    fault
}

/// In the node file itself.
fn in_node(kind: Kind, line: u32, column: u32, length: u32) -> Fault {
    let mut fault = Fault::new(kind).at_site(site(NODE, line, column, length));
    fault.node = Some("web1".into());
    fault
}

fn missing(reference: &str, missing: &str, container: &str, similar: Option<&str>) -> Kind {
    Kind::ReferenceNotFound {
        reference: reference.into(),
        missing: missing.into(),
        container: container.into(),
        similar: similar.map(str::to_owned),
    }
}

fn settings() -> Vec<Fault> {
    vec![
        Fault::new(Kind::UnknownSetting {
            name: "compose_node_names".into(),
            similar: Some("compose_node_name".into()),
        }),
        Fault::new(Kind::SettingType {
            name: "group_errors".into(),
            expected: "true or false".into(),
            actual: "list".into(),
        }),
        Fault::new(Kind::SettingValue {
            name: "output".into(),
            allowed: "yaml, json".into(),
            similar: Some("yaml".into()),
        }),
        Fault::new(Kind::UnknownRule {
            name: "scalar-misred".into(),
            similar: Some("scalar-misread".into()),
        }),
        Fault::new(Kind::SettingPattern {
            name: "class_mappings".into(),
            pattern: "/(/ default".into(),
            message: "unclosed group at 1".into(),
        }),
        Fault::new(Kind::UriOverlap { nodes: "/srv/nodes".into(), classes: "/srv/nodes/classes".into() }),
        Fault::new(Kind::ConfigFile {
            path: "/etc/reclass/reclass-config.yml".into(),
            message: "permission denied".into(),
        }),
        Fault::new(Kind::StorageUnsupported { storage: "yaml_git".into() }),
        Fault::new(Kind::StorageOption { setting: "nodes_uri".into(), message: "'repo' is missing".into() }),
        Fault::new(Kind::DirectoryNotFound {
            path: "/srv/nodes".into(),
            message: "no such file or directory".into(),
            similar: Some("node".into()),
        }),
        Fault::new(Kind::FileUnreadable { path: NODE.into(), message: "permission denied".into() })
            .at_site(Site::file("/srv/nodes/web1.yml")),
        Fault::new(Kind::DuplicateDefinition {
            what: "class",
            name: "web".into(),
            files: vec!["/srv/classes/web.yml".into(), "/srv/classes/web/init.yml".into()],
        })
        .at_site(Site::file("/srv/classes/web.yml")),
        Fault::new(Kind::NodeNotFound {
            name: "wbe1".into(),
            folder: "/srv/nodes".into(),
            similar: Some("web1".into()),
        }),
    ]
}

fn git() -> Vec<Fault> {
    const REPO: &str = "https://salt:***@git.example.com/nodes.git";
    let repo = || REPO.to_owned();
    vec![
        Fault::new(Kind::GitProgram { message: "no such file or directory".into() }),
        Fault::new(Kind::GitFetch {
            repo: repo(),
            message: "Could not resolve host: git.example.com".into(),
        }),
        Fault::new(Kind::GitAccess { repo: repo(), message: "Host key verification failed.".into() }),
        Fault::new(Kind::GitTimeout { repo: repo(), message: "no answer within 30 seconds".into() }),
        Fault::new(Kind::GitCache {
            path: "/var/cache/reclass/nodes.git".into(),
            message: "No space left on device".into(),
        }),
        Fault::new(Kind::GitBranch {
            repo: repo(),
            branch: "stagign".into(),
            similar: Some("staging".into()),
        }),
        Fault::new(Kind::GitStale {
            repo: repo(),
            message: "Could not resolve host: git.example.com".into(),
        })
        .note("fetched last at 2026-11-21 08:00:00 UTC", None),
    ]
}

fn files() -> Vec<Fault> {
    vec![
        in_class(
            Kind::YamlSyntax { message: "mapping values are not allowed in this context".into() },
            6,
            6,
            0,
        ),
        in_class(Kind::YamlTag {}, 3, 9, 26),
        in_class(
            Kind::YamlLimit {
                what: "the depth of the document".into(),
                limit: 512,
                setting: Some("limit_depth"),
            },
            3,
            9,
            0,
        ),
        in_class(Kind::DuplicateKey { key: "listen".into() }, 4, 3, 6)
            .note("'listen' is first set", Some(site(CLASS, 3, 3, 4))),
        in_class(Kind::NotAMapping { found: "list" }, 1, 1, 0),
        in_node(
            Kind::SectionType { section: "classes".into(), expected: "list of strings", found: "string" },
            1,
            1,
            7,
        ),
        in_node(Kind::EntryType { section: "classes".into(), found: "mapping" }, 2, 5, 10),
        in_node(
            Kind::ClassNameInvalid { name: "web server".into(), reason: "a space is not allowed".into() },
            2,
            5,
            10,
        ),
        in_node(
            Kind::UnknownSection { name: "parameter".into(), similar: Some("parameters".into()) },
            3,
            1,
            10,
        ),
        in_class(Kind::ReferenceSyntax { message: "expected '}' to close '${'".into() }, 4, 11, 17)
            .in_path("listen"),
        in_class(Kind::QuerySyntax { message: "expected 'exports:' or 'self:'".into() }, 4, 11, 0)
            .in_path("listen"),
        in_node(
            Kind::ClassNotFound {
                name: "web.server".into(),
                written: "web.server".into(),
                folder: "/srv/classes".into(),
                similar: Some("web.servers".into()),
            },
            2,
            5,
            10,
        ),
        in_node(Kind::ClassCycle { cycle: "web.server -> web.base -> web.server".into() }, 2, 5, 10),
        Fault {
            node: Some("web2".into()),
            ..Fault::new(Kind::ClassReference {
                written: "role.${rol}".into(),
                reference: "${rol}".into(),
                similar: Some("role".into()),
            })
            .at_site(site(OTHER, 2, 5, 11))
        },
        in_node(Kind::ClassSkipped { name: "web.server".into() }, 2, 5, 10),
    ]
}

fn evaluation() -> Vec<Fault> {
    let query = || "$[ exports:address ]".to_owned();
    let mut failed =
        in_node(Kind::QueryFailed { query: query(), node: "db1".into() }, 5, 5, 7).in_path("peers");
    failed.causes = vec![in_class(missing("${b}", "b", "", None), 4, 11, 4).in_path("address")];
    vec![
        in_class(missing("${network:adress}", "adress", "network", Some("address")), 4, 11, 17)
            .in_path("listen")
            .note(
                "'network' is set in /srv/classes/site/lan.yml:3:3, overridden",
                Some(site("/srv/nodes/web1.yml", 4, 3, 7)),
            ),
        in_class(Kind::ReferenceCycle { cycle: "a -> b -> a".into() }, 4, 11, 17).in_path("listen"),
        in_node(
            Kind::MergeType { later: "scalar", earlier: "mapping", setting: Some("allow_scalar_over_dict") },
            5,
            5,
            7,
        )
        .in_path("network:address"),
        in_node(Kind::ConstantChanged {}, 5, 5, 7)
            .in_path("network:address")
            .note("the constant is set", Some(site(CLASS, 4, 3, 6))),
        in_class(
            Kind::DefaultSyntax { reference: "${a::[}".into(), message: "expected a node".into() },
            4,
            11,
            17,
        )
        .in_path("listen"),
        in_class(Kind::OverwrittenReference { reference: "${network:adress}".into() }, 4, 11, 17)
            .in_path("listen"),
        in_class(Kind::DefaultUsed { reference: "${network:adress::x}".into() }, 4, 11, 17).in_path("listen"),
        in_class(Kind::DroppedUnrendered {}, 4, 11, 17).in_path("listen"),
        in_class(Kind::QueryEmbedded { query: query() }, 4, 11, 17).in_path("listen"),
        in_class(Kind::QueryInExport { query: query() }, 4, 11, 17).in_path("listen"),
        failed,
        in_class(Kind::QueryOperand { query: query(), message: "the left side is null".into() }, 4, 11, 17)
            .in_path("listen"),
        in_class(
            Kind::EvaluationLimit {
                what: "the depth of references",
                limit: 5000,
                setting: Some("limit_references"),
            },
            4,
            11,
            17,
        ),
    ]
}

fn edits() -> Vec<Fault> {
    vec![
        Fault::new(Kind::EditRefused {
            keys: "parameters:_param:address".into(),
            reason: "aliases refer to the anchor '&param' around it".into(),
        })
        .at_site(site(CLASS, 3, 3, 0)),
        Fault::new(Kind::EditReference { keys: "parameters:_param:address".into() }),
        Fault::new(Kind::NameRefused {
            what: "node",
            name: "../web1".into(),
            reason: "it begins with '-' or '.'",
        }),
        Fault::new(Kind::PathRefused {
            path: "cluster/overrides.yml".into(),
            reason: "a symbolic link leads out of the inventory",
        }),
        Fault::new(Kind::NodeExists { name: "web1".into(), path: NODE.into() }),
        Fault::new(Kind::FileUnwritable { path: NODE.into(), message: "permission denied".into() }),
        Fault::new(Kind::LockTimeout { path: "/srv/nodes/.reclass.lock".into(), seconds: 30 }),
    ]
}

fn shells() -> Vec<Fault> {
    vec![
        Fault::new(Kind::HostWithoutGroup { name: "web1".into() }),
        Fault::new(Kind::FolderUsed { path: "/srv/salt/reclass".into() }),
        in_node(Kind::WireType { what: "a set cannot be sent to a minion".into() }, 5, 5, 7).in_path("a:b"),
        Fault::new(Kind::NothingToExplain {
            what: "parameter",
            name: "nginx:lisen".into(),
            similar: Some("nginx:listen".into()),
        }),
        Fault::new(Kind::Revision { revision: "mian".into(), message: "Needed a single revision".into() }),
        in_node(
            Kind::Lint {
                rule: "scalar-misread",
                message: "'no' is read as false".into(),
                help: Some("write \"no\" for the text, or false for what it is".into()),
            },
            5,
            14,
            8,
        ),
        Fault::new(Kind::Usage { message: "exactly one mode has to be given".into() }),
        Fault::new(Kind::Internal { message: "a layer without a file".into() }),
    ]
}

fn show(error: &Error) -> String {
    format!("{}\n\n{}\n", report::concise(error), report::full(error, false, &read))
}

/// Compares with a file of `tests/errors`, or writes it.
fn golden(name: &str, actual: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/errors").join(format!("{name}.txt"));
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, actual).expect("the golden files can be written");
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(actual, expected, "{name}: differs from its golden file; BLESS=1 writes it anew");
}

#[test]
fn every_kind_has_an_example() {
    let faults: Vec<Fault> = [settings(), git(), files(), evaluation(), edits(), shells()].concat();
    // The code of a lint is its rule, of which each has an example of its own (`tests/lint.rs`).
    let shown: BTreeSet<&str> = faults.iter().map(|fault| fault.kind.code()).collect();
    let missing: Vec<_> = Kind::CODES.iter().filter(|code| !shown.contains(**code)).collect();
    assert!(missing.is_empty(), "codes without an example: {missing:?}");
    for fault in faults {
        let code = fault.kind.code();
        golden(code, &show(&fault.into()));
    }
}

/// Two problems in three nodes, one of them in two.
fn findings() -> Vec<report::Finding> {
    let shared = |node: &str| {
        let mut fault =
            in_class(missing("${network:adress}", "adress", "network", Some("address")), 4, 11, 17);
        fault.node = Some(node.into());
        fault
    };
    let notice =
        Kind::Lint { rule: "class-unused", message: "no node has the class 'a,b'".into(), help: None };
    report::grouped([
        (report::Level::Error, shared("web1")),
        (report::Level::Error, shared("web2")),
        (report::Level::Info, Fault::new(notice).at_site(Site::file("/srv/classes/100% a,b.yml"))),
    ])
}

#[test]
fn the_same_problem_is_said_once() {
    let text: Vec<String> =
        findings().iter().map(|finding| report::full_finding(finding, false, &read)).collect();
    golden("findings-full", &format!("{}\n", text.join("\n\n")));
}

#[test]
fn programs_read_findings() {
    let json = |value| reclass::json::dumps(&value, true).expect("plain data");
    let findings = findings();
    golden("findings-json", &format!("{}\n", json(report::findings_value(&findings))));
    golden("findings-github", &format!("{}\n", report::github(&findings, "/srv")));
    let rules = [("class-unused", "No node has the class.")];
    golden("findings-sarif", &format!("{}\n", json(report::sarif(&findings, &rules, "/srv"))));
}

#[test]
fn places_survive_odd_text() {
    let faults = vec![
        // Multi-byte characters before the part that is meant, which is given within the scalar.
        in_class(missing("${network:adress}", "adress", "network", None), 3, 9, 0).within(8, 17),
        // The same, found by the engine already.
        in_class(missing("${network:adress}", "adress", "network", None), 3, 16, 17).within(8, 17),
        in_class(missing("${x}", "x", "", None), 5, 16, 4),
        in_class(missing("${x}", "x", "", None), 6, 8, 4),
        // A place that the file no longer has.
        in_class(missing("${x}", "x", "", None), 60, 8, 4),
    ];
    golden("odd-text", &show(&Error::new(faults)));
}

#[test]
fn long_lines_are_cut() {
    let long = |_: &str| Some(format!("{}${{x}}{}", "a".repeat(3000), "b".repeat(3000)));
    let longer = |_: &str| Some("a".repeat(100_000));
    let error = Error::from(in_class(missing("${x}", "x", "", None), 1, 3001, 4));
    for read in [&long as &dyn Fn(&str) -> Option<String>, &longer] {
        let text = report::full(&error, false, read);
        assert!(text.lines().all(|line| line.chars().count() < 200), "{text}");
        assert!(text.contains("server.yml:1:3001"), "{text}");
    }
}

#[test]
fn nothing_from_a_file_reaches_a_terminal() {
    let hostile = "\u{1b}]0;title\u{7}\u{9b}2J\u{202e}\r\n\u{2028}";
    let mut fault = in_class(missing(hostile, hostile, hostile, Some(hostile)), 1, 1, 3).in_path(hostile);
    fault = fault.note(hostile, Some(Site::file(hostile)));
    fault.node = Some(hostile.into());
    fault.site = Some(site(hostile, 1, 1, 2));
    fault.causes = vec![fault.clone()];
    let error = Error::from(fault);
    let texts = [report::concise(&error), report::full(&error, false, &|_| Some(hostile.into()))];
    for text in texts {
        let bad =
            text.chars().find(|c| (c.is_control() && *c != '\n') || matches!(c, '\u{202e}' | '\u{2028}'));
        assert_eq!(bad, None, "{text:?}");
    }
    assert_eq!(report::concise(&error).lines().count(), 2);
}
