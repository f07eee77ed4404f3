//! The page of a graph turns into what a browser makes of it: a real one loads it, types and clicks.
//!
//! Where there is no Chromium the test says so and is no failure.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test runs programs and says what it skips"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use reclass::explain::{Selection, explain};
use reclass::graph::{PageData, PageOptions, data, dot, graph, html};
use reclass::internals::engine::{Inventory, Request};
use reclass::redact::Redaction;
use reclass::value::{Map, Value};
use serde_json::Value as Json;

/// A file that tries to be markup, in an inventory of its own.
const HOSTILE: &str = "parameters:\n  x: '</script><script>document.title=\"broken\"</script>'\n  \
                       <b>key</b>: 1\n  password: hunter22\n";

/// How long a browser may take for one page.
const PATIENCE: Duration = Duration::from_secs(600);

fn open(base: &Path) -> Inventory {
    let mut options = Map::default();
    options.insert("inventory_base_uri".into(), Value::text(base.to_str().unwrap()));
    Inventory::open(&options).unwrap()
}

fn page_data(base: &Path) -> PageData {
    let inventory = open(base);
    data(&inventory, &[], &Redaction::of(inventory.settings()), &PageOptions::default()).unwrap()
}

fn example() -> PathBuf {
    Path::new(support::ROOT).join("examples/inventory")
}

fn inventory(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["nodes", "classes"] {
        fs::create_dir(folder.path().join(name)).unwrap();
    }
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

fn parsed(json: &str) -> Json {
    serde_json::from_str(json).unwrap()
}

#[test]
fn a_value_that_does_not_resolve_is_a_problem_and_no_null() {
    let folder = inventory(&[("nodes/n.yml", "parameters:\n  t: ${gone}\n  u: null\n")]);
    let page = page_data(folder.path());
    let values = parsed(&page.values);
    assert_eq!(values["values"][0], Json::Null, "the first value is the one that cannot be computed");
    assert!(values["values"].as_array().unwrap().contains(&"null".into()), "{values}");
    // The columns are path, value, written and so on, as differences. The leaves are those of `_reclass_`, `t`
    // and `u`.
    let column: Vec<i64> = values["leaves"][1].as_array().unwrap().iter().filter_map(Json::as_i64).collect();
    let numbers = column.iter().scan(0, |sum, difference| {
        *sum += difference;
        Some(*sum)
    });
    assert_eq!(numbers.filter(|number| *number == 0).count(), 1, "{column:?}");
    assert!(page.overview.contains("(reference-not-found)"), "{}", page.overview);
}

#[test]
fn a_file_shows_its_merge_options() {
    let text = "merge_options:\n  'a:*': {by: [b, c], items: replace, remove: true}\n  d: unique\n";
    let folder = inventory(&[("nodes/n.yml", text)]);
    let of = |setting: bool| {
        let mut options = Map::default();
        options.insert("inventory_base_uri".into(), Value::text(folder.path().to_str().unwrap()));
        options.insert("merge_options".into(), Value::Bool(setting));
        let inventory = Inventory::open(&options).unwrap();
        let redaction = Redaction::of(inventory.settings());
        let page = data(&inventory, &[], &redaction, &PageOptions::default()).unwrap();
        parsed(&page.values)["merge_options"].clone()
    };
    let found = of(true);
    let texts: Vec<&str> = (0..2).filter_map(|at| found[at][2].as_str()).collect();
    assert_eq!(texts, ["by: b, c, items: replace, remove: true", "unique"], "{found}");
    assert_eq!((&found[0][0], &found[0][1]), (&0.into(), &"a:*".into()), "{found}");
    assert!(found[0][3].is_number() && found[0][3] != found[1][3], "{found}");
    assert_eq!(of(false), Json::Array(Vec::new()), "without the setting the section counts for nothing");
}

#[test]
fn all_nodes_have_values_and_equal_ones_are_written_once() {
    let common = "parameters:\n  deep: {a: {b: {c: unmistakable}}}\n";
    let mut files = vec![("classes/common.yml".to_owned(), common.to_owned())];
    for node in 0..50 {
        files.push((format!("nodes/n{node}.yml"), "classes: [common]\n".to_owned()));
    }
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let folder = inventory(&files);
    let page = page_data(folder.path());
    let values = parsed(&page.values);
    let roots = values["roots"].as_array().unwrap();
    assert_eq!(roots.len(), 50);
    assert!(roots.iter().all(|root| root[0].is_number()), "{roots:?}");
    let texts = |table: &str| {
        let table = values[table].to_string();
        table.matches("unmistakable").count()
    };
    assert_eq!((texts("values"), texts("written")), (1, 1));
}

#[test]
fn steps_are_those_of_explain() {
    let folder = inventory(&[
        ("classes/a.yml", "parameters: {x: 1, y: [1], z: only}\n"),
        ("classes/b.yml", "classes: [a]\nparameters: {x: 2, y: [2]}\n"),
        ("nodes/n.yml", "classes: [b]\nparameters: {x: '${z}'}\n"),
    ]);
    let values = parsed(&page_data(folder.path()).values);
    let open = open(folder.path());
    let selection = Selection { parameters: vec!["x".into(), "y:*".into()], ..Selection::default() };
    let explanation = explain(&open, "n", &Request::default(), &selection).unwrap();
    let steps = values["steps"].as_array().unwrap();
    for trace in &explanation.parameters {
        let expected: Vec<(String, bool)> =
            trace.steps.iter().map(|step| (step.effect.to_string(), step.counts)).collect();
        let found = steps.iter().any(|row| {
            let row = row.as_array().unwrap().iter();
            let row = row.map(|step| (step[0].as_str().unwrap().to_owned(), step[1] == 1));
            row.collect::<Vec<_>>() == expected
        });
        assert!(found, "{}: {expected:?} in {steps:?}", trace.path);
    }
    // A value of one layer has none.
    assert_eq!(steps[0], Json::Array(Vec::new()));
}

#[test]
fn the_values_of_steps_hide_secrets() {
    let folder = inventory(&[
        ("classes/a.yml", "parameters: {password: HIDE-a, db: {password: HIDE-b}, list: [SHOW-a]}\n"),
        (
            "classes/b.yml",
            "classes: [a]\nparameters: {password: HIDE-c, ~db: {password: HIDE-d}, list: [SHOW-b]}\n",
        ),
        (
            "nodes/n.yml",
            "classes: [b]\nparameters: {password: '${db:password}', url: 'x${password}', copy: SHOW-c}\n",
        ),
    ]);
    let page = page_data(folder.path());
    assert!(!page.values.contains("HIDE") && !page.overview.contains("HIDE"), "{}", page.values);
    for text in ["SHOW-a", "SHOW-b", "SHOW-c", "${db:password}"] {
        assert!(page.values.contains(text), "{text} in {}", page.values);
    }
    let steps = parsed(&page.values)["steps"].to_string();
    assert!(steps.matches("replaces").count() >= 3, "{steps}");
}

/// The browser, if there is one.
fn browser() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let names = ["chromium", "chromium-browser", "google-chrome"];
    std::env::split_paths(&path)
        .flat_map(|folder| names.map(|name| folder.join(name)))
        .find(|program| program.is_file())
}

/// The document after the page was loaded at an address and a script has acted on it.
fn loaded(browser: &Path, page: &str, hash: &str, script: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("graph.html");
    // Waits for the values.
    let script = format!(
        "const waiting = setInterval(() => {{ if (!document.documentElement.dataset.ready) return; \
         clearInterval(waiting); {script}; document.documentElement.dataset.done = 'true'; }}, 20);"
    );
    fs::write(&file, page.replace("</body>", &format!("<script>{script}</script></body>"))).unwrap();
    let out = folder.path().join("document.html");
    let mut child = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
        .args(["--virtual-time-budget=20000", "--dump-dom"])
        .arg(format!("file://{}#{hash}", file.display()))
        .stdin(Stdio::null())
        .stdout(fs::File::create(&out).unwrap())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let begin = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begin.elapsed() > PATIENCE {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("the browser did not show the page in {PATIENCE:?}");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let text = fs::read_to_string(&out).unwrap();
    assert!(text.contains("data-done=\"true\""), "the browser did not read the values: {text:.3000}");
    // The script and the styles contain words too.
    let mut shown = String::new();
    let mut rest = &*text;
    while let Some(at) = rest.find("<script").into_iter().chain(rest.find("<style")).min() {
        shown += &rest[..at];
        let end = if rest[at..].starts_with("<script") { "</script>" } else { "</style>" };
        rest = rest[at..].split_once(end).unwrap().1;
    }
    (shown + rest).replace("<wbr>", "")
}

#[test]
fn a_browser_searches_and_clicks() {
    let Some(browser) = browser() else {
        support::absent("chromium", "install the package chromium");
        return;
    };
    let page = html(&page_data(&example()));
    let start = loaded(&browser, &page, "", "");
    for text in ["<strong>4</strong><span>nodes</span>", "data-name=\"app.nginx\"", "Environments"] {
        assert!(start.contains(text), "{text} in\n{start}");
    }
    // A search for what only one file says, then the node that a click on it leads to.
    let typed = |text: &str| format!("search.value = '{text}'; search.dispatchEvent(new Event('input'))");
    assert!(loaded(&browser, &page, "", &typed("worker_nothing")).contains("0 found"));
    let hit = loaded(&browser, &page, "", &typed("preview server_name"));
    assert!(hit.contains("data-name=\"environment.dev\"") && hit.contains("<mark>preview</mark>"), "{hit}");
    let click = format!("{}; found.querySelector('[data-name=\"web1.example.com\"]').click()", typed("web1"));
    let node = loaded(&browser, &page, "", &click);
    for text in ["10.0.0.11:80", "classes/role/web.yml:6", "motd, nginx"] {
        assert!(node.contains(text), "{text} in\n{node}");
    }
    let class = loaded(&browser, &page, "class:site.lan", "");
    for text in ["A change here reaches 4 nodes", "network:gateway", "classes/site/lan.yml:7"] {
        assert!(class.contains(text), "{text} in\n{class}");
    }
    let graph = loaded(&browser, &page, "graph", "");
    assert!(graph.contains("<canvas") && graph.contains("As a list"), "{graph}");
}

#[test]
fn a_browser_shows_what_is_wrong_and_what_is_known() {
    let folder = inventory(&[
        ("nodes/broken.yml", "classes: [web, gone]\nparameters: {motd: hello}\n"),
        ("nodes/values.yml", "classes: [app]\nparameters: {url: '${host}:${port}', password: hunter22}\n"),
        ("classes/web.yml", "parameters: {listen: '${address'}\n"),
        ("classes/app.yml", "parameters: {workers: 4}\n"),
    ]);
    let data = page_data(folder.path());
    assert!(!data.values.contains("hunter22") && !data.overview.contains("hunter22"), "secrets are masked");
    let page = html(&data);
    let Some(browser) = browser() else {
        support::absent("chromium", "install the package chromium");
        return;
    };
    let shown = loaded(&browser, &page, "node:broken", "");
    for text in ["is not closed by", "no class 'gone'", "motd"] {
        assert!(shown.contains(text), "{text} in\n{shown}");
    }
    for text in ["environment", "null"] {
        assert!(!shown.contains(text), "{text} in\n{shown}");
    }
    let shown = loaded(&browser, &page, "node:broken&tab=classes", "");
    for text in ["data-name=\"web\"", "data-name=\"gone\""] {
        assert!(shown.contains(text), "{text} in\n{shown}");
    }
    let shown = loaded(&browser, &page, "node:values", "");
    for text in ["no parameter 'host'", "no parameter 'port'", "cannot be computed", "workers"] {
        assert!(shown.contains(text), "{text} in\n{shown}");
    }
}

#[test]
fn a_browser_takes_nothing_for_markup() {
    let folder = inventory(&[("nodes/n.yml", HOSTILE)]);
    let data = page_data(folder.path());
    assert!(!data.values.contains("hunter22"), "secrets are masked");
    let page = html(&data);
    assert_eq!(page.matches("</script>").count(), 3, "the data ends no element");
    let Some(browser) = browser() else {
        support::absent("chromium", "install the package chromium");
        return;
    };
    let shown = loaded(&browser, &page, "node:n", "");
    assert!(shown.contains("<title>n · "), "{shown}");
    assert!(shown.contains("&lt;b&gt;key&lt;/b&gt;"), "{shown}");
}

#[test]
fn names_are_quoted_in_pictures() {
    let folder = inventory(&[("nodes/a\"b\\.yml", "parameters: {}\n")]);
    let graph = graph(&open(folder.path()), &[]).unwrap();
    assert!(dot(&graph).contains(r#"[label="a\"b\\","#), "{}", dot(&graph));
}
