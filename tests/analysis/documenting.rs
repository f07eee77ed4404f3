//! What inventories say about themselves: pages of classes, and schemas made of values.

use support::folders;

use std::fmt::Write as _;

use folders::{inventory, write};
use reclass::Inventory;
use reclass::redact::Redaction;
use reclass_analysis::docs::{docs, pages, stream};
use reclass_analysis::infer::infer;

/// An inventory of these files.
fn place(files: &[(&str, &str)]) -> (tempfile::TempDir, Inventory) {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        write(&folder.path().join(name), text);
    }
    let inventory = Inventory::open(&inventory(folder.path())).unwrap();
    (folder, inventory)
}

fn page(inventory: &Inventory, class: &str) -> String {
    let docs = docs(inventory, &Redaction::of(inventory.settings())).unwrap();
    let name = format!("classes/{class}.md");
    pages(&docs).into_iter().find(|(path, _)| *path == name).unwrap().1
}

#[test]
fn who_sets_a_parameter_again_comes_later_in_a_node() {
    let (_folder, inventory) = place(&[
        ("classes/base.yml", "parameters: {a: {x: 1, y: [1]}, b: {c: 1}, d: {}}\n"),
        ("classes/early.yml", "parameters: {a: {x: 0}}\n"),
        ("classes/late.yml", "classes: [base]\nparameters:\n  a: {y: [2]}\n  ~b: {}\n  d: {e: 1}\n"),
        ("classes/elsewhere.yml", "parameters: {a: {x: 5}}\n"),
        ("nodes/n.yml", "classes: [early, late]\nparameters: {a: {x: 2}}\n"),
        ("nodes/m.yml", "classes: [elsewhere]\n"),
    ]);
    let page = page(&inventory, "base");
    for row in [
        "| `a:x` | integer | `1` | `n` (`nodes/n.yml:2`) |",
        "| `a:y` | list | `[1]` | [late](late.md) (`classes/late.yml:3`) |",
        "| `b:c` | integer | `1` | [late](late.md) (`classes/late.yml:4`) |",
        "| `d` | mapping | `{}` |  |",
    ] {
        assert!(page.contains(row), "{row}\n{page}");
    }
}

#[test]
fn what_the_schema_says_stands_behind_the_comment() {
    let (_folder, inventory) = place(&[
        (
            "classes/web.yml",
            "parameters:\n  nginx:\n    # Of the site.\n    port: 80\n    password: hunter22\n",
        ),
        ("nodes/n.yml", "classes: [web]\n"),
        (
            "schemas/nginx.yml",
            "properties:\n  port: {type: integer, description: The port., default: 80}\n  password: {default: topsecret}\n",
        ),
    ]);
    let page = page(&inventory, "web");
    for row in [
        "| `nginx:port` | integer | `80` | Of the site.<br>Schema: The port (integer, default 80) |",
        "| `nginx:password` | string | `\"***\"` |  |",
    ] {
        assert!(page.contains(row), "{row}\n{page}");
    }
}

#[test]
fn a_schema_for_some_nodes_of_a_class_describes_its_parameters() {
    let described = "parameters: {nginx: {port: 80}, mysql: {port: 81}, other: {port: 82}}\n";
    let (_folder, inventory) = place(&[
        ("classes/web.yml", described),
        ("classes/alone.yml", described),
        ("nodes/a.yml", "classes: [web]\n"),
        ("nodes/web1.yml", "classes: [web, role]\n"),
        ("classes/role.yml", "parameters: {}\n"),
        (
            "schemas/nginx.yml",
            "x-reclass: {nodes: 'web*', classes: [role]}\ndescription: A\nproperties: {port: {title: B}}\n",
        ),
        ("schemas/mysql.yml", "x-reclass: {classes: [alone, web]}\nproperties: {port: {title: C}}\n"),
        ("schemas/other.yml", "x-reclass: {nodes: nobody}\nproperties: {port: {title: D}}\n"),
    ]);
    let (web, alone) = (page(&inventory, "web"), page(&inventory, "alone"));
    assert!(web.contains("| B |") && web.contains("| C |") && !web.contains("| D |"), "{web}");
    assert!(alone.contains("| C |") && !alone.contains("| B |"), "{alone}");
}

#[test]
fn what_is_expected_is_what_no_class_of_its_own_sets() {
    let (_folder, inventory) = place(&[
        ("classes/lower.yml", "parameters: {_param: {known: 1}}\n"),
        (
            "classes/c.yml",
            "classes: [lower, 'x.${_param:kind}']\nparameters:\n  a: ${_param:known} ${_param:gone} ${_reclass_:name}\n  b: ${_param:port::80}\n",
        ),
        ("classes/x/one.yml", "{}\n"),
        ("nodes/n.yml", "classes: [c]\nparameters: {_param: {kind: one, gone: 1}}\n"),
    ]);
    let page = page(&inventory, "c");
    let expects = page.split_once("## Expects\n").unwrap().1;
    let rows = expects.lines().filter(|line| line.starts_with("| `")).collect::<Vec<_>>();
    assert_eq!(
        rows,
        [
            "| `_param:gone` | `a` | `n` (`nodes/n.yml:2`) |",
            "| `_param:kind` | `classes` | `n` (`nodes/n.yml:2`) |",
            "| `_param:port` | `b` | nobody; it has a default |",
        ]
    );
}

#[test]
fn many_nodes_are_ten_names_and_a_number() {
    let mut files = vec![("classes/c.yml".to_owned(), "parameters: {a: 1}\n".to_owned())];
    files.extend(
        (10..40).map(|at| (format!("nodes/n{at}.yml"), "classes: [c]\nparameters: {a: 2}\n".to_owned())),
    );
    files.push(("nodes/broken.yml".to_owned(), "classes: [gone]\n".to_owned()));
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (&**name, &**text)).collect();
    let (_folder, inventory) = place(&files);
    let page = page(&inventory, "c");
    assert!(page.contains("- Nodes (30): `n10`") && page.contains("`n19` and 20 more\n"), "{page}");
    assert!(page.contains("(`nodes/n19.yml:2`) and 20 more |"), "{page}");
    assert_eq!(docs(&inventory, &Redaction::none()).unwrap().left_out, 1);
}

#[test]
fn neither_markup_nor_secrets_come_through() {
    let (_folder, inventory) = place(&[
        (
            "classes/c.yml",
            "# <script>alert(1)</script> a|b `c`\n# db_password: S3CRET\nparameters:\n  # token: S3CRET\n  password: S3CRET\n  \"a|b`c\": '<b>|`x'\n  url: pg://${password}@h\n  # reclass: ignore[tab]\n  plain: 1\n",
        ),
        ("classes/bad.yml", "parameters: [S3CRET\n"),
        ("nodes/n.yml", "classes: [c]\n"),
    ]);
    let docs = docs(&inventory, &Redaction::of(inventory.settings())).unwrap();
    let text = stream(&docs);
    assert!(!text.contains("S3CRET") && !text.contains("<script>"), "{text}");
    assert!(text.contains("| ``a\\|b`c`` | string | ``<b>\\|`x`` |"), "{text}");
    assert!(text.contains("| `password` | string | `\"***\"` |"), "{text}");
    assert!(!text.contains("ignore") && text.contains("The file cannot be read"), "{text}");
    let shown = stream(&reclass_analysis::docs::docs(&inventory, &Redaction::none()).unwrap());
    assert!(shown.contains("S3CRET"));
}

/// An inferred schema as JSON in one line.
fn inferred(inventory: &Inventory, path: &str) -> String {
    reclass::json::dumps(&infer(inventory, path).unwrap().schema.unwrap(), false)
}

#[test]
fn a_schema_has_what_all_nodes_have() {
    let nodes: Vec<(String, String)> = (0..12)
        .map(|at| {
            let level = ["info", "debug"][at % 2];
            let mut text = format!(
                "parameters:\n  app:\n    # This node says a lot.\n    level: {level}\n    host: 10.0.0.{at}\n    net: 10.{at}.0.0/16\n    size: {at}\n"
            );
            if at > 0 {
                let _ = writeln!(text, "    port: {}", ["80", "'http'"][at % 2]);
            }
            (format!("nodes/n{at}.yml"), text)
        })
        .collect();
    // Of several comments about one parameter none counts, nor does one about a node.
    let classes = [
        (
            "classes/a.yml",
            "parameters:\n  app:\n    # How much it says.\n    level: info\n    # One of two of them.\n    size: 1\n",
        ),
        (
            "classes/b.yml",
            "parameters:\n  app:\n    # Another one of two.\n    size: 1\n    # It replaces the networks.\n    ~net: 1\n",
        ),
    ];
    let nodes = nodes.iter().map(|(name, text)| (&**name, &**text));
    let files: Vec<(&str, &str)> = nodes.chain(classes).collect();
    let (_folder, inventory) = place(&files);
    let schema = inferred(&inventory, "app");
    for part in [
        r#""size":{"type":"integer"}"#,
        r#""level":{"description":"How much it says.","type":"string","enum":["debug","info"]}"#,
        r#""host":{"type":"string","format":"ipv4"}"#,
        r#""net":{"type":"string","pattern":"^[0-9a-fA-F.:]+/[0-9]{1,3}$"}"#,
        r#""port":{"type":["integer","string"]}"#,
        r#""required":["level","host","net","size"],"additionalProperties":false"#,
    ] {
        assert!(schema.contains(part), "{part}\n{schema}");
    }
    assert!(infer(&inventory, "gone").unwrap().schema.is_none());
}

#[test]
fn names_of_things_may_be_added() {
    let (_folder, inventory) = place(&[(
        "nodes/n.yml",
        "parameters:\n  sites: {a: {root: /a, port: 1}, b: {root: /b}, c: {root: /c, port: 2}}\n  parts: {server: {enabled: true, a: 1, b: 1}, client: {enabled: true, c: 1, d: 1}, cluster: {enabled: true}}\n",
    )]);
    assert!(
        inferred(&inventory, "sites")
            .contains(r#""additionalProperties":{"type":"object","required":["root"]"#)
    );
    assert!(inferred(&inventory, "parts").contains(r#""properties":{"server":"#));
}

#[test]
fn a_secret_is_in_no_schema() {
    let nodes: Vec<(String, String)> = (0..12)
        .map(|at| {
            let text = format!(
                "parameters:\n  secret_part: S3CRET{0}\n  app:\n    # password: S3CRET0\n    password: S3CRET{0}\n    dsn: S3CRET-${{app:password}}\n    tokens: [S3CRET{0}]\n    plain: a{0}\n",
                at % 2
            );
            (format!("nodes/n{at}.yml"), text)
        })
        .collect();
    let files: Vec<(&str, &str)> = nodes.iter().map(|(name, text)| (&**name, &**text)).collect();
    let (_folder, inventory) = place(&files);
    let schema = inferred(&inventory, "app");
    assert!(!schema.contains("S3CRET"), "{schema}");
    assert!(schema.contains(r#""plain":{"type":"string","enum":["a0","a1"]}"#), "{schema}");
    assert!(!inferred(&inventory, "app:password").contains("S3CRET"));
    assert!(!inferred(&inventory, "secret_part").contains("S3CRET"));
}
