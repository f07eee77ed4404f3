//! Problems turn into each form of a report, in `tests/programs/output/report/<form>.txt`, whatever the files with the
//! problems contain. `tests/programs/output/errors` has the message of each kind of problem.
//!
//! `BLESS=1 cargo test --test programs output::report::` writes the files anew; read the difference before
//! committing it.

use std::path::Path;

use reclass::error::{Error, Fault, Kind, Link};
use reclass::report;
use reclass::source::Site;

const NODE: &str = "/srv/nodes/web1.yml";
const CLASS: &str = "/srv/classes/web/server.yml";

/// The files that the examples speak of.
fn read(path: &str) -> Option<String> {
    let text = match path {
        NODE => "classes:\n  - web.server\nparameters:\n  network:\n    address: 10.0.0.1\n",
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

fn missing(reference: &str, missing: &str, container: &str, similar: Option<&str>) -> Kind {
    Kind::ReferenceNotFound {
        reference: reference.into(),
        missing: missing.into(),
        container: container.into(),
        similar: similar.map(str::to_owned),
        within: None,
    }
}

fn show(error: &Error) -> String {
    format!("{}\n\n{}\n", reclass::error::concise(error), report::full(error, false, &read))
}

/// Compares with a file of `tests/programs/output/report`, or writes it.
fn golden(name: &str, actual: &str) {
    let path = Path::new(support::ROOT).join("tests/programs/output/report").join(format!("{name}.txt"));
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, actual).expect("the golden files can be written");
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(actual, expected, "{name}: differs from its golden file; BLESS=1 writes it anew");
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
    let text: Vec<String> = report::full_findings(&findings(), false, &read);
    golden("findings-full", &format!("{}\n", text.join("\n\n")));
}

#[test]
fn programs_read_findings() {
    let findings = findings();
    golden("findings-json", &format!("{}\n", report::to_json(&findings)));
    golden("findings-github", &format!("{}\n", report::github(&findings, "/srv")));
    let rules = [("class-unused", "No node has the class.")];
    golden("findings-sarif", &format!("{}\n", report::to_json(&report::sarif(&findings, &rules, "/srv"))));
}

#[test]
fn places_survive_odd_text() {
    let faults = vec![
        // Multi-byte characters before the part that is meant.
        in_class(missing("${network:adress}", "adress", "network", None), 3, 16, 17),
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
    let texts = [reclass::error::concise(&error), report::full(&error, false, &|_| Some(hostile.into()))];
    for text in texts {
        let bad =
            text.chars().find(|c| (c.is_control() && *c != '\n') || matches!(c, '\u{202e}' | '\u{2028}'));
        assert_eq!(bad, None, "{text:?}");
    }
    assert_eq!(reclass::error::concise(&error).lines().count(), 2);
}
