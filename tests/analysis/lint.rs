//! Small inventories turn into findings: the example of each rule, and those in `tests/analysis/lint`.
//!
//! A file holds an inventory, `--- path` before each of its files, `--- settings` where there are
//! any, and behind `--- findings` what lint says of it. `BLESS=1 cargo test --test analysis lint::` writes that
//! anew; read the difference before committing it.

use support::folders;

use std::fs;
use std::path::Path;

use folders::{Part, inventory, parts, set, write};
use reclass::error::Error;
use reclass::report::Level;
use reclass_analysis::lint::{CodeSelection, RULES, Rule, lint, selected};

/// What lint says of an inventory, one line each, with paths below its folder.
fn findings(parts: &[Part]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path();
    let mut options = inventory(base);
    for part in parts {
        match part.name.as_str() {
            "findings" => {}
            "settings" => set(&mut options, &part.text),
            name => write(&base.join(name), &part.text),
        }
    }
    let lines = lint(&options, &[], &()).unwrap().into_iter().map(|finding| {
        let text = reclass::error::concise(&Error::from(finding.fault));
        let nodes =
            if finding.nodes.len() > 1 { format!(" [{} nodes]", finding.nodes.len()) } else { String::new() };
        format!("{}: {}{nodes}\n", finding.level.name(), text.replace(&format!("{}/", base.display()), ""))
    });
    lines.collect()
}

#[test]
fn examples_are_found() {
    folders::check("analysis/lint", |text| {
        let before = text.split("--- findings").next().unwrap();
        format!("{before}--- findings\n{}", findings(&parts(text)))
    });
}

#[test]
fn a_value_behind_a_reference_has_the_place_that_sets_it() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path();
    let golden =
        fs::read_to_string(Path::new(support::ROOT).join("tests/analysis/lint/schema-of-references.txt"));
    for part in parts(&golden.unwrap()) {
        write(&base.join(part.name), &part.text);
    }
    let found = lint(&inventory(base), &[], &()).unwrap();
    let of_code = found.iter().filter(|finding| finding.fault.code() == "schema");
    let set = of_code.map(|finding| {
        let notes = finding.fault.notes.iter().filter(|note| note.text == "the value is set here");
        let sites: Vec<String> = notes.map(|note| note.site.as_ref().unwrap().to_string()).collect();
        let path = finding.fault.path.as_ref().unwrap();
        format!("{path} {}", sites.join(" ").replace(&format!("{}/", base.display()), ""))
    });
    assert_eq!(
        set.collect::<Vec<_>>(),
        ["app:port nodes/n2.yml:3:18", "app:url ", "app:site:root nodes/n3.yml:3:61", "app:default "]
    );
}

#[test]
fn a_selection_of_schemas_has_the_files_that_are_none() {
    for (name, text, code) in [
        ("schemas/a.yaml", "a: [", "yaml-syntax"),
        ("schemas/a.json", "{\"a\": 1", ""),
        ("schemas/a.yaml", "type: nothing", "schema-invalid"),
        ("settings", "schemas_uri: nowhere", ""),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path();
        let mut options = inventory(base);
        write(&base.join("nodes/n.yml"), "parameters: {a: 1}\n");
        match name {
            "settings" => set(&mut options, text),
            name => write(&base.join(name), text),
        }
        let levels = |only: &[&str], without: &[&str]| -> Vec<String> {
            let words = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
            let selection = CodeSelection::new(&words(only), &words(without)).unwrap();
            let found = selected(&options, &[], &selection, &()).unwrap().findings;
            found.iter().map(|one| format!("{} {}", one.level.name(), one.fault.code())).collect()
        };
        let all = levels(&[], &[]);
        let [error] = all.as_slice() else { panic!("{name}: {all:?}") };
        assert!(error.starts_with("error ") && error.contains(code), "{error}");
        for only in ["schema*", "schema", "schema-keyword"] {
            assert_eq!(levels(&[only], &[]), all, "{name} {only}");
        }
        assert_eq!(levels(&["schema*"], &[error.trim_start_matches("error ")]), [""; 0]);
        assert_eq!(levels(&["class-unused"], &[]), [""; 0]);
    }
}

/// The findings in one inventory of the example of a rule; `other` marks the files of the other one.
fn of_example(rule: &Rule, example: &str, other: &str) -> String {
    let level = format!("lint_levels: {{{}: {}}}\n", rule.id, rule.level.max(Level::Info).name());
    let mut files = vec![Part { name: "settings".into(), text: level }];
    for line in example.split_inclusive('\n') {
        match line
            .strip_prefix("# ")
            .map(|name| name.trim_start_matches("Bad: ").trim_start_matches("Good: "))
        {
            Some(_) if line.contains(other) => {
                files.push(Part { name: "findings".into(), text: String::new() });
            }
            Some("reclass-config.yml\n") => files.push(Part { name: "settings".into(), text: String::new() }),
            Some(name) => files.push(Part { name: name.trim().into(), text: String::new() }),
            None => files.last_mut().unwrap().text += line,
        }
    }
    findings(&files)
}

/// The section of a rule. In its example is what lint says of the bad inventory; it says nothing of the good one.
fn section(rule: &Rule) -> String {
    let mut text = format!("\n### `{}`\n\nLevel: `{}`. {}\n", rule.id, rule.level.name(), rule.about);
    let (before, example) = rule.text.split_once("```yaml\n").unwrap_or((rule.text, ""));
    if !before.is_empty() {
        text.extend(["\n", before.trim_end(), "\n"]);
    }
    if example.is_empty() {
        let golden = format!("tests/analysis/lint/{}.txt", rule.id);
        let golden = fs::read_to_string(Path::new(support::ROOT).join(golden)).unwrap_or_default();
        assert!(golden.contains(&format!("({})", rule.id)), "no example of {}", rule.id);
        return text;
    }
    let example = example.trim_end_matches("```");
    let found = of_example(rule, example, "# Good: ");
    let found = found.lines().find(|line| line.contains(&format!("({})", rule.id)));
    let found = found.unwrap_or_else(|| panic!("the bad example of {} is right", rule.id));
    assert_eq!(of_example(rule, example, "# Bad: "), "", "the good example of {}", rule.id);
    text + &format!("\n```yaml\n{example}# Finding: {}\n```\n", found.split_once(": ").unwrap().1)
}

#[test]
fn the_page_has_the_rules_with_their_examples() {
    let path = Path::new(support::ROOT).join("docs/lint.md");
    let page = fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once("\n### `").unwrap();
    let (_, after) = rest.split_once("\n## ").unwrap();
    let new = format!("{before}{}\n## {after}", RULES.iter().map(section).collect::<String>());
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, &new).unwrap();
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), new, "BLESS=1 writes the rules in docs/lint.md anew");
}

#[test]
fn what_keeps_the_inventory_from_being_opened_is_a_finding_with_wrong_levels() {
    for (levels, expected) in [
        (
            "{no-such-rule: off, tab: warnin, setting-value: off}",
            "error: setting 'output' must be one of yaml, json (setting-value); 'yaml' is similar\n\
             error: setting 'lint_levels': no rule and no error has the code 'no-such-rule' (unknown-rule)\n",
        ),
        (
            "[]",
            "error: setting 'lint_levels' must be a mapping of a code to a level, not list (setting-type)\n\
             error: setting 'output' must be one of yaml, json (setting-value); 'yaml' is similar\n",
        ),
    ] {
        let settings =
            Part { name: "settings".into(), text: format!("{{lint_levels: {levels}, output: yam}}") };
        assert_eq!(findings(&[settings]), expected, "{levels}");
    }
}

#[test]
fn a_folder_that_is_not_there_is_a_finding() {
    let settings = Part { name: "settings".into(), text: "{nodes_uri: node}".into() };
    let found = findings(&[settings]);
    assert!(found.starts_with("error: ") && found.contains("(directory-not-found)"), "{found}");
}

#[test]
fn findings_about_a_path_have_it_as_data() {
    let folder = tempfile::tempdir().unwrap();
    let options = inventory(folder.path());
    let text = "parameters: {_param: {a: 1}, ~x: 1}\nexports: {~y: {z: 1}}\n";
    write(&folder.path().join("nodes/n.yml"), text);
    let findings = lint(&options, &[], &()).unwrap().into_iter();
    let found: Vec<(String, bool)> =
        findings.filter_map(|finding| Some((finding.fault.path?, finding.fault.export))).collect();
    assert_eq!(found, [("_param:a".to_owned(), false), ("x".to_owned(), false), ("y".to_owned(), true)]);
}

#[test]
fn files_without_a_name_of_their_own_are_a_finding() {
    let part = |name: &str| Part { name: name.into(), text: "parameters: {}\n".into() };
    let found = findings(&[part("classes/a.yml"), part("classes/a/init.yml")]);
    assert_eq!(found.matches("duplicate-definition").count(), 1, "{found}");
}

/// The time to compile a schema grows with the square of its parts.
#[test]
fn a_schema_with_very_many_parts_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let options = inventory(folder.path());
    write(&folder.path().join("nodes/n.yml"), "parameters: {p: {a: 1}}\n");
    let keys: Vec<String> = (0..20_000).map(|number| format!("k{number}: {{}}")).collect();
    write(&folder.path().join("schemas/p.yml"), &format!("properties: {{{}}}\n", keys.join(", ")));
    let findings = lint(&options, &[], &()).unwrap();
    let said: Vec<String> = findings.iter().map(|finding| finding.fault.kind.to_string()).collect();
    assert!(said[0].contains("it has 20001 parts, and at most 20000 are allowed"), "{said:?}");
}

/// The processor time of this thread, in seconds.
fn processor_time() -> f64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split(' ').next().unwrap().parse::<f64>().unwrap() / 1e9
}

#[test]
fn similar_names_of_many_missing_classes_are_searched_fast() {
    let folder = tempfile::tempdir().unwrap();
    let options = inventory(folder.path());
    for number in 0..1_500 {
        let name = |number: usize| format!("component{}-of-a-library{}", number * 7 % 1_501, number);
        let text = format!("classes: [{}-that-nobody-has]\n", name(number * 31));
        write(&folder.path().join(format!("classes/{}.yml", name(number))), &text);
    }
    let before = processor_time();
    let findings = lint(&options, &[], &()).unwrap();
    let took = processor_time() - before;
    assert_eq!(findings.iter().filter(|finding| finding.fault.code() == "class-not-found").count(), 1_500);
    assert!(took < 3.0, "{took} s");
}
