//! Grains: references read those that the settings list, only trusted ones choose classes, and a cached answer
//! holds only for a minion that says the same.

use std::path::Path;

use reclass::json::dumps;
use reclass::value::{Map, Value};
use reclass::{Inventory, Request};
use support::folders::{inventory, write};

/// The value of a text in YAML.
fn yaml(text: &str) -> Value {
    reclass_yaml::parse_value(text).unwrap()
}

fn map(text: &str) -> Map {
    yaml(text).as_map().unwrap().clone()
}

/// An inventory with these settings and files.
fn open(base: &Path, settings: &str, files: &[(&str, &str)]) -> Inventory {
    let mut options = inventory(base);
    options.extend(map(settings));
    for (name, text) in files {
        write(&base.join(name), text);
    }
    Inventory::open(&options).unwrap()
}

fn request(grains: &str) -> Request {
    Request { grains: Some(yaml(grains)), ..Request::default() }
}

/// The value of a parameter as JSON, or the code of the first error.
fn asked(open: &Inventory, node: &str, path: &str, grains: &str) -> String {
    match open.nodeinfo(node, &request(grains)) {
        Ok(info) => dumps(info.parameters.as_map().unwrap().get(path).unwrap_or(&Value::Null), false),
        Err(error) => error.first().code().to_owned(),
    }
}

const GRAINS: &str = "grains: [os, 'locale_info:*', roles, num, password]";

#[test]
fn references_read_the_listed_grains_as_data() {
    let folder = tempfile::tempdir().unwrap();
    let node = "parameters:
  secret: no
  os: ${_grains_:os}
  text: on ${_grains_:os}
  inner: ${_grains_:locale_info:lang}
  whole: ${_grains_:locale_info}
  first: ${_grains_:roles:0}
  last: ${_grains_:roles:-1}
  num: ${_grains_:num}
  id: ${_grains_:id}
  nested: ${_grains_:${which}}
  which: os
  absent: ${_grains_:locale_info:gone::none}
  unlisted: ${_grains_:kernel::none}
";
    let open = open(folder.path(), GRAINS, &[("nodes/n.yml", node)]);
    let grains = "{id: forged, os: '${secret} $[ exports:x ]', kernel: Linux, num: 7, roles: [a, ../b],
        locale_info: {lang: de, ~x: 1, =y: 2}}";
    for (path, expected) in [
        ("os", r#""${secret} $[ exports:x ]""#),
        ("text", r#""on ${secret} $[ exports:x ]""#),
        ("inner", r#""de""#),
        ("whole", r#"{"lang":"de","~x":1,"=y":2}"#),
        ("first", r#""a""#),
        ("last", r#""../b""#),
        ("num", "7"),
        ("id", r#""n""#),
        ("nested", r#""${secret} $[ exports:x ]""#),
        ("absent", r#""none""#),
        ("unlisted", r#""none""#),
        ("_grains_", "null"),
    ] {
        assert_eq!(asked(&open, "n", path, grains).replace(": ", ":").replace(", ", ","), expected, "{path}");
    }
    assert_eq!(asked(&open, "n", "os", "{}"), "reference-not-found");
}

#[test]
fn a_request_without_grains_gets_no_default() {
    let folder = tempfile::tempdir().unwrap();
    let files = [
        ("nodes/n.yml", "parameters: {os: '${_grains_:os::none}'}\n"),
        ("nodes/class.yml", "classes: ['c.${_grains_:id}']\n"),
        ("nodes/asks.yml", "parameters: {all: '$[ exports:os ]'}\n"),
        ("nodes/tells.yml", "exports: {os: '${_grains_:os::none}'}\n"),
    ];
    let open = open(folder.path(), GRAINS, &files);
    for node in ["n", "class", "tells"] {
        let error = open.nodeinfo(node, &Request::default()).unwrap_err();
        assert_eq!(error.first().code(), "grains-unknown", "{error}");
    }
    // What another minion said in its own request is not known for this one.
    let failed = |open: &Inventory| {
        let error = open.nodeinfo("asks", &request("{os: Debian}")).unwrap_err();
        assert!(error.to_string().contains("(query-failed)"), "{error}");
        assert_eq!(error.first().causes[0].code(), "grains-unknown", "{error}");
    };
    failed(&open);
    open.nodeinfo("tells", &request("{os: Debian}")).unwrap();
    failed(&open);
}

#[test]
fn known_grains_count_where_a_request_has_none() {
    let folder = tempfile::tempdir().unwrap();
    let files = [
        ("nodes/n.yml", "parameters: {os: '${_grains_:os}'}\n"),
        ("nodes/asks.yml", "parameters: {all: '$[ exports:os ]'}\n"),
        ("nodes/tells.yml", "exports: {os: '${_grains_:os}'}\n"),
    ];
    let settings = format!("{GRAINS}\nknown_grains: {{n: {{os: A}}, tells: {{os: B}}}}");
    let of_mapping = open(folder.path(), &settings, &files);
    write(&folder.path().join("grains/n.yml"), "os: A\n");
    write(&folder.path().join("grains/tells.json"), r#"{"os": "B"}"#);
    let path = folder.path().join("grains");
    let of_folder = open(folder.path(), &format!("{GRAINS}\nknown_grains: {}", path.display()), &[]);
    for open in [of_mapping, of_folder] {
        let value = |node: &str, path: &str, request: &Request| {
            let info = open.nodeinfo(node, request).unwrap();
            dumps(info.parameters.as_map().unwrap().get(path).unwrap(), false).replace(' ', "")
        };
        assert_eq!(value("n", "os", &Request::default()), r#""A""#);
        assert_eq!(value("n", "os", &request("{os: C}")), r#""C""#);
        assert_eq!(value("asks", "all", &Request::default()), r#"{"tells":"B"}"#);
    }
}

#[test]
fn no_file_sets_the_key_of_the_grains() {
    let folder = tempfile::tempdir().unwrap();
    let files = [
        ("nodes/n.yml", "parameters: {_grains_: {os: x}}\n"),
        ("nodes/by.yml", "classes: [c]\n"),
        ("classes/c.yml", "parameters: {~_grains_: {os: x}}\n"),
        ("nodes/deeper.yml", "parameters: {a: {_grains_: 1}}\n"),
    ];
    let with = open(folder.path(), GRAINS, &files);
    for node in ["n", "by"] {
        assert_eq!(asked(&with, node, "os", "{os: y}"), "grains-set", "{node}");
    }
    assert_eq!(asked(&with, "deeper", "a", "{os: y}").replace(' ', ""), r#"{"_grains_":1}"#);
    let without = open(folder.path(), "{}", &[]);
    assert_eq!(asked(&without, "n", "_grains_", "{os: y}").replace(' ', ""), r#"{"os":"x"}"#);
}

const TRUSTED: &str = "grains: [os, role, list]\ntrusted_grains: {os_family: [Debian, RedHat], num: [1]}";

#[test]
fn only_trusted_grains_choose_classes() {
    let folder = tempfile::tempdir().unwrap();
    let files = [
        ("nodes/direct.yml", "classes: ['os.${_grains_:os_family}']\n"),
        ("nodes/untrusted.yml", "classes: ['os.${_grains_:os}']\n"),
        ("nodes/default.yml", "classes: ['os.${_grains_:role::Debian}']\n"),
        ("nodes/indirect.yml", "classes: [set, 'os.${chosen}']\n"),
        ("nodes/deep.yml", "classes: [set, 'os.${deep:name}']\n"),
        ("nodes/list.yml", "classes: ['os.${_grains_:list:0}']\n"),
        ("nodes/whole.yml", "classes: ['os.${_grains_}']\n"),
        ("nodes/id.yml", "classes: ['own.${_grains_:id}']\n"),
        ("nodes/num.yml", "classes: ['own.${_grains_:num}']\n"),
        ("nodes/trusted-default.yml", "classes: ['os.${_grains_:os_family::RedHat}']\n"),
        ("nodes/nested.yml", "classes: ['os.${map:${_grains_:role}}']\nparameters: {}\n"),
        ("classes/os/Debian.yml", "parameters: {got: apt}\n"),
        ("classes/os/RedHat.yml", "parameters: {got: rpm}\n"),
        ("classes/os/Evil.yml", "parameters: {got: secret}\n"),
        ("classes/own/id.yml", "parameters: {got: mine}\n"),
        ("classes/own/1.yml", "parameters: {got: one}\n"),
        ("classes/set.yml", "parameters: {chosen: '${_grains_:role}', deep: {name: '${chosen}'}}\n"),
    ];
    let open = open(folder.path(), TRUSTED, &files);
    let grains = "{id: forged, os: Debian, os_family: Debian, role: Evil, list: [Debian], num: 1}";
    for (node, grains, expected) in [
        ("direct", grains, r#""apt""#),
        ("direct", "{os_family: RedHat}", r#""rpm""#),
        ("direct", "{os_family: Evil}", "grain-refused"),
        ("direct", "{os_family: '../os/Debian'}", "grain-refused"),
        ("direct", "{os_family: '${x}'}", "grain-refused"),
        ("direct", "{os_family: [Debian]}", "grain-refused"),
        ("direct", "{os_family: {Debian: Debian}}", "grain-refused"),
        ("direct", "{}", "class-reference"),
        ("trusted-default", "{}", r#""rpm""#),
        ("trusted-default", "{os_family: Evil}", "grain-refused"),
        ("untrusted", grains, "grain-untrusted"),
        ("default", grains, "grain-untrusted"),
        ("default", "{}", "grain-untrusted"),
        ("indirect", grains, "grain-untrusted"),
        ("deep", grains, "grain-untrusted"),
        ("list", grains, "grain-untrusted"),
        ("whole", grains, "grain-untrusted"),
        ("nested", grains, "grain-untrusted"),
        ("id", grains, r#""mine""#),
        ("num", grains, r#""one""#),
        ("num", "{num: '1'}", "grain-refused"),
        ("num", "{num: true}", "grain-refused"),
        ("num", "{num: 1.0}", "grain-refused"),
    ] {
        assert_eq!(asked(&open, node, "got", grains), expected, "{node} {grains}");
        if let Err(error) = open.nodeinfo(node, &request(grains)) {
            assert!(!error.to_string().contains("Evil"), "the value is repeated: {error}");
            let error = open.top(node, &request(grains), false).unwrap_err();
            assert_eq!(error.first().code(), expected, "the top of {node}");
        }
    }
}

#[test]
fn a_class_mapping_asks_for_trusted_grains() {
    let folder = tempfile::tempdir().unwrap();
    let files = [
        ("nodes/n.yml", "{}\n"),
        ("classes/apt.yml", "parameters: {got: apt}\n"),
        ("classes/all.yml", "parameters: {all: true}\n"),
    ];
    let mappings = "class_mappings: ['G@os_family:Deb* apt', 'n all']";
    let open = open(folder.path(), &format!("{TRUSTED}\n{mappings}"), &files);
    for (grains, expected) in [
        ("{os_family: Debian}", r#""apt""#),
        ("{os_family: RedHat}", "null"),
        ("{}", "null"),
        ("{os_family: Deborah}", "grain-refused"),
    ] {
        assert_eq!(asked(&open, "n", "got", grains), expected, "{grains}");
    }
    let error = open.nodeinfo("n", &Request::default()).unwrap_err();
    assert_eq!(error.first().code(), "grains-unknown");
    let mut options = inventory(folder.path());
    options.extend(map(&format!("{TRUSTED}\nclass_mappings: ['G@os:Debian apt']")));
    let error = Inventory::open(&options).unwrap_err();
    assert!(error.to_string().contains("'trusted_grains' does not list 'os'"), "{error}");
}

#[test]
fn an_answer_holds_while_the_grains_that_it_read_are_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let files = [
        ("nodes/a.yml", "classes: [c]\n"),
        ("nodes/b.yml", "classes: [c]\n"),
        ("nodes/plain.yml", "parameters: {got: 1}\n"),
        (
            "classes/c.yml",
            "parameters: {got: '${inner:x}', inner: {x: 'is ${_grains_:os}'}, other: '${got}!'}\n",
        ),
    ];
    let open = open(folder.path(), "grains: [os, kernel]", &files);
    let computed = |open: &Inventory| open.counts().computed;
    assert_eq!(asked(&open, "a", "other", "{os: A, kernel: 1}"), r#""is A!""#);
    let before = computed(&open);
    assert_eq!(asked(&open, "a", "other", "{os: A, kernel: 2}"), r#""is A!""#);
    assert_eq!(computed(&open), before, "it does not depend on the kernel");
    assert_eq!(asked(&open, "a", "other", "{os: B, kernel: 2}"), r#""is B!""#);
    assert_eq!(computed(&open), before + 1);
    // Another node with the same classes reuses what does not depend on grains, and nothing else.
    assert_eq!(asked(&open, "b", "other", "{os: C}"), r#""is C!""#);
    assert_eq!(asked(&open, "a", "other", "{os: B}"), r#""is B!""#);
    assert_eq!(asked(&open, "a", "other", "{}"), "reference-not-found");
    assert_eq!(open.nodeinfo("a", &Request::default()).unwrap_err().first().code(), "grains-unknown");
    asked(&open, "plain", "got", "{os: A}");
    let before = computed(&open);
    assert_eq!(asked(&open, "plain", "got", "{os: B}"), "1");
    assert_eq!(computed(&open), before);
}

#[test]
fn a_list_of_the_earlier_pillar_can_be_trusted() {
    let folder = tempfile::tempdir().unwrap();
    let files = [
        ("nodes/n.yml", "classes: ['c.${which}']\n"),
        ("nodes/indirect.yml", "classes: [set, 'c.${way}']\n"),
        ("classes/set.yml", "parameters: {way: '${deep:name}'}\n"),
        ("classes/c/x.yml", "parameters: {got: x}\n"),
    ];
    let ask = |trusted: &str, node: &str| {
        let settings = format!("propagate_pillar_data_to_reclass: true\ntrusted_pillar: {trusted}");
        let open = open(folder.path(), &settings, &files);
        let input = Some(yaml("{which: x, deep: {name: x, other: y}}"));
        let request = Request { input_data: input, ..Request::default() };
        open.nodeinfo(node, &request).map_err(|error| error.first().code()).map(|_| ())
    };
    for (trusted, node, expected) in [
        ("[]", "n", Ok(())),
        ("[which]", "n", Ok(())),
        ("[whi*]", "n", Ok(())),
        ("[other]", "n", Err("pillar-untrusted")),
        ("[]", "indirect", Ok(())),
        ("[deep]", "indirect", Ok(())),
        ("['deep:name']", "indirect", Ok(())),
        ("['deep:other']", "indirect", Err("pillar-untrusted")),
    ] {
        assert_eq!(ask(trusted, node), expected, "{trusted} {node}");
    }
}
