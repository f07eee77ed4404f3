//! Small inventories and their tests: what `reclass test` says of them, in `tests/analysis/testing`.
//!
//! A file holds an inventory, `--- path` before each of its files, `--- settings` where there are any, and behind
//! `--- report` what the tests say. `BLESS=1 cargo test --test analysis testing::` writes that anew; read the difference before
//! committing it.

use support::folders;

use std::fs;
use std::path::Path;
use std::time::Duration;

use folders::{inventory, parts, set, write};
use reclass::Inventory;
use reclass::error::Result;
use reclass::redact::Redaction;
use reclass::style::Paint;
use reclass::value::{Map, Value};
use reclass_analysis::test::{MOST_FAILURES, TestQuestion, TestReport, TestState, junit, test, text};

/// Writes an inventory, and returns the options that name it.
fn written(base: &Path, text: &str) -> Map {
    let mut options = inventory(base);
    for part in parts(text) {
        match part.name.as_str() {
            "report" => {}
            "settings" => set(&mut options, &part.text),
            name => write(&base.join(name), &part.text),
        }
    }
    options
}

/// The report of the tests in an inventory.
fn run(options: &Map, question: TestQuestion) -> Result<TestReport> {
    let inventory = Inventory::open(options)?;
    let redaction = Redaction::of(inventory.settings());
    test(&inventory, &TestQuestion { redaction, ..question })
}

fn shown(base: &Path, report: &Result<TestReport>) -> String {
    let paint = Paint { colours: false, place: None };
    let said = match report {
        Ok(report) => text(report, true, paint),
        Err(error) => error.to_string(),
    };
    said.replace(&format!("{}/", base.display()), "")
}

#[test]
fn tests_say_what_is_wrong_and_where_it_comes_from() {
    folders::check("analysis/testing", |text| {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let options = written(&base, text);
        let report = run(&options, TestQuestion::default());
        let before = text.split("--- report").next().unwrap();
        format!("{before}--- report\n{}\n", shown(&base, &report))
    });
}

/// Two nodes and a class, and a file of tests.
fn place(tests: &str) -> (tempfile::TempDir, Map) {
    let folder = tempfile::tempdir().unwrap();
    let text = "--- nodes/web1.yml\nclasses: [web]\n--- nodes/web2.yml\nclasses: [web]\nparameters: {port: 8080}\n\
                --- classes/web.yml\nparameters:\n  port: 80\n  when: 2026-01-02\n  token: hunter2\n  url: http://${token}@x\n\
                --- tests/web.yml\n";
    let options = written(folder.path(), &format!("{text}{tests}"));
    (folder, options)
}

#[test]
fn filters_choose_by_a_part_of_a_name_or_a_glob() {
    let one = "- {name: ports are high, node: web1, expect: {port: 80}}\n";
    let (_folder, options) = place(&format!("{one}- {{name: others, node: web2, expect: {{port: 8080}}}}\n"));
    for (name, number) in [("ports", 1), ("port*", 1), ("*", 2), ("o", 2)] {
        let report = run(&options, TestQuestion { names: vec![name.into()], ..TestQuestion::default() });
        assert_eq!(report.unwrap().tests.len(), number, "{name}");
    }
    let wrong = run(
        &options,
        TestQuestion { names: vec!["other".into(), "otters".into()], ..TestQuestion::default() },
    );
    assert_eq!(
        wrong.unwrap_err().to_string(),
        "no test matches 'otters' (nothing-matches); 'others' is similar"
    );
}

#[test]
fn snapshots_are_recorded_without_secrets_and_then_compared() {
    let (folder, options) =
        place("- {name: all, node: web*, expect: {parameters: snapshot, port: snapshot}}\n");
    let record = |names: &[&str]| {
        let names = names.iter().map(ToString::to_string).collect();
        let report = run(&options, TestQuestion { record: true, names, ..TestQuestion::default() }).unwrap();
        assert!(report.is_passed());
        for (path, text) in report.recorded {
            write(&path, &text);
        }
        fs::read_to_string(folder.path().join("tests/snapshots/web.yml")).unwrap()
    };
    let before = run(&options, TestQuestion::default()).unwrap();
    assert!(before.tests[0].failures[0].help.as_ref().unwrap().contains("--snapshot"));
    let first = record(&[]);
    assert!(!first.contains("hunter2") && first.contains("url: '***'"), "{first}");
    assert!(run(&options, TestQuestion::default()).unwrap().is_passed());
    // A comment and the order of keys are no difference.
    let class = folder.path().join("classes/web.yml");
    let text = fs::read_to_string(&class).unwrap();
    write(
        &class,
        "# no difference\nparameters: {token: hunter2, url: \"http://${token}@x\", when: 2026-01-02, port: 80}\n",
    );
    assert!(run(&options, TestQuestion::default()).unwrap().is_passed());
    write(&class, &text.replace("2026-01-02", "2026-01-03"));
    let report = run(&options, TestQuestion::default()).unwrap();
    let failure = &report.tests[0].failures[0];
    assert_eq!((&*failure.path, &*failure.got), ("when", "2026-01-03"));
    assert_eq!(failure.nodes.len(), 2);
    // What a filter leaves out stays.
    write(&folder.path().join("tests/web.yml"), "- {name: one, node: web1, expect: {port: snapshot}}\n");
    assert!(record(&["one"]).contains("web2"));
    assert!(!record(&[]).contains("web2"));
    // Nor does a mistake in the tests take snapshots away.
    write(&folder.path().join("tests/web.yml"), "- [");
    let report = run(&options, TestQuestion { record: true, ..TestQuestion::default() }).unwrap();
    assert!(report.recorded[0].1.contains("web1"));
    write(&folder.path().join("tests/snapshots/web.yml"), "- 1");
    let wrong = run(&options, TestQuestion::default()).unwrap_err().to_string();
    assert!(wrong.contains("it is no snapshot"), "{wrong}");
}

#[test]
fn junit_is_xml_whatever_the_names_are() {
    let name = r#"- {name: "<a> & \"b\"\u0001\nc", node: web1, expect: {port: 81, when: 2026-01-02}}"#;
    let tests = format!(
        "{name}\n- {{name: other, node: nowhere, expect: {{port: 80}}}}\n- {{name: ok, node: web1, expect: {{port: 80}}}}\n"
    );
    let (folder, options) = place(&tests);
    let report = run(&options, TestQuestion::default()).unwrap();
    let base = folder.path().to_str().unwrap();
    let xml = junit(&report, base);
    let script = "import sys, xml.etree.ElementTree as tree\n\
                  root = tree.fromstring(sys.argv[1])\n\
                  print(root.attrib)\n\
                  for case in root.iter('testcase'):\n    print(case.attrib, [(one.tag, one.attrib['message']) for one in case])";
    let output = std::process::Command::new("python3").args(["-c", script, &xml]).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{errors}\n{xml}");
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines[0], "{'name': 'reclass', 'tests': '3', 'failures': '1', 'errors': '1'}");
    assert!(
        lines[1].contains("'<a> & \"b\"\u{fffd}\\nc'") && lines[1].contains("'port: expected 81, got 80'"),
        "{said}"
    );
    assert!(lines[1].contains("'file': 'tests/web.yml', 'line': '1'"), "{said}");
    assert!(lines[2].contains("'error'") && lines[2].contains("node-not-found"), "{said}");
    assert!(lines[3].ends_with("[]"), "{said}");
}

#[test]
fn an_annotation_has_all_lines_of_an_error() {
    let (folder, options) = place("- {name: all, node: web*, expect: {port: 80}}\n");
    write(&folder.path().join("nodes/web1.yml"), "parameters: {a: '${one}', b: '${two}'}\n");
    let mut options = options;
    options.insert("group_errors".into(), Value::Bool(true));
    let report = run(&options, TestQuestion::default()).unwrap();
    let text = reclass::report::github(&report.findings(), folder.path().to_str().unwrap());
    assert!(text.contains("'${one}'") && text.contains("%0A"), "{text}");
    assert!(!text.contains("\\n") && text.lines().all(|line| line.starts_with("::error ")), "{text}");
}

#[test]
fn without_tests_there_is_an_error() {
    let (folder, options) = place("");
    fs::remove_file(folder.path().join("tests/web.yml")).unwrap();
    let message = run(&options, TestQuestion::default()).unwrap_err().to_string();
    assert!(message.starts_with("no file of tests in '"), "{message}");
    fs::remove_dir_all(folder.path().join("tests")).unwrap();
    let error = run(&options, TestQuestion::default()).unwrap_err();
    assert_eq!(error.exit_code(), 74, "{error}");
}

/// Many nodes, each with a number of its own, and two tests: one that all pass and one that none does.
fn numbered(count: usize) -> (tempfile::TempDir, Map) {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path();
    let options = inventory(base);
    for number in 0..count {
        write(&base.join(format!("nodes/n{number:04}.yml")), &format!("parameters: {{own: {number}}}\n"));
    }
    let tests = "- {name: low, node: '*', expect: {own: {min: 0}}}\n\
                 - {name: high, node: '*', expect: {own: {min: 99999}}}\n";
    write(&base.join("tests/t.yml"), tests);
    (folder, options)
}

#[test]
fn wrong_values_beyond_the_first_hundred_of_a_test_are_counted() {
    let (folder, options) = numbered(250);
    let report = run(&options, TestQuestion::default()).unwrap();
    let [low, high] = &report.tests[..] else { panic!("{report:?}") };
    assert_eq!((low.state, low.nodes, low.left_out), (TestState::Passed, 250, 0));
    assert_eq!((high.state, high.nodes, high.left_out), (TestState::Failed, 250, 150));
    assert_eq!(high.failures.len(), MOST_FAILURES);
    // The first ones, whatever thread was first.
    let first: Vec<&str> = high.failures.iter().map(|failure| &*failure.got).collect();
    assert_eq!(first, (0..100).map(|number| number.to_string()).collect::<Vec<_>>());
    let base = folder.path().to_str().unwrap();
    let said = "150 more wrong values not listed";
    assert!(shown(folder.path(), &Ok(report.clone())).contains(&format!("  {said}\n")));
    assert!(junit(&report, base).contains(&format!("<failure type=\"test-failed\" message=\"{said}\"/>")));
    assert!(reclass::report::github(&report.findings(), base).contains(&format!("::high: {said}")));
    assert!(reclass::report::to_json(&report).contains("\"left_out\": 150"));
}

#[test]
fn equal_wrong_values_are_one_failure_however_many_there_are() {
    let (folder, options) = numbered(150);
    let tests = "- {name: type, node: '*', expect: {own: {type: string}, parameters: absent}}\n";
    write(&folder.path().join("tests/t.yml"), tests);
    for number in 0..300 {
        write(&folder.path().join(format!("nodes/a{number:04}.yml")), "parameters: {own: 7}\n");
    }
    let report = run(&options, TestQuestion::default()).unwrap();
    assert_eq!(report.tests[0].failures[0].nodes.len(), 301);
}

#[test]
fn a_time_limit_beyond_all_times_is_none() {
    let (_folder, options) = numbered(2);
    let report = run(&options, TestQuestion { time_limit: Some(Duration::MAX), ..TestQuestion::default() });
    assert!(report.unwrap().stopped.is_none());
}

#[test]
fn failures_that_were_found_before_the_time_limit_are_listed() {
    let (_folder, options) = numbered(1500);
    for milliseconds in [1, 2, 4, 8, 16, 32, 64, 128] {
        let time_limit = Some(Duration::from_millis(milliseconds));
        let report = run(&options, TestQuestion { time_limit, ..TestQuestion::default() }).unwrap();
        let failed = report.tests.iter().filter(|test| test.state == TestState::Failed);
        for test in failed {
            assert!(!test.failures.is_empty(), "{} nodes left: {test:?}", test.nodes_left);
        }
    }
}

#[test]
fn the_time_limit_ends_a_run_and_every_form_says_so() {
    let (folder, options) = numbered(70);
    let own = "- {name: own, inventory: {parameters: {own: 1}}, expect: {own: 1, gone: 2}}\n";
    write(&folder.path().join("tests/own.yml"), own);
    let limit = |limit| TestQuestion { time_limit: Some(limit), ..TestQuestion::default() };
    let report = run(&options, limit(Duration::ZERO)).unwrap();
    assert!(!report.is_passed() && report.recorded.is_empty());
    for test in &report.tests {
        let nodes = if test.name == "own" { 1 } else { 70 };
        assert_eq!(
            (test.state, test.nodes, test.nodes_left),
            (TestState::Unfinished, 0, nodes),
            "{}",
            test.name
        );
        assert!(test.failures.is_empty() && test.problems.is_empty(), "no path is said to be missing");
    }
    let base = folder.path().to_str().unwrap();
    let end = "3 tests: 3 unfinished, 0 passed\nthe time limit of 0 seconds ended the run; left: 71 nodes of 3 tests";
    let text = shown(folder.path(), &Ok(report.clone()));
    assert!(text.ends_with(end), "{text}");
    let left = "70 nodes not looked at: the time was over";
    assert!(text.contains(&format!("unfinished  high\n  {left}\n")), "{text}");
    let xml = junit(&report, base);
    assert!(xml.contains("tests=\"3\" failures=\"0\" errors=\"3\""), "{xml}");
    assert!(xml.contains(&format!("<error type=\"test-failed\" message=\"{left}\"/>")), "{xml}");
    assert!(reclass::report::github(&report.findings(), base).contains(&format!("::high: {left}")));
    let json = reclass::report::to_json(&report);
    let stopped = json.split("\"stopped\": {").nth(1).unwrap().split('}').next().unwrap();
    let stopped: String = stopped.split_whitespace().collect();
    assert_eq!(stopped, "\"seconds\":0,\"nodes_left\":71,\"tests_left\":3");
    // Nor are snapshots written: they would be those of some nodes.
    let record = TestQuestion { record: true, ..limit(Duration::ZERO) };
    assert!(run(&options, record).unwrap().recorded.is_empty());
    // With time enough nothing is left.
    assert!(run(&options, limit(Duration::from_secs(3_600))).unwrap().stopped.is_none());
}
