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

use reclass::graph::{dot, graph, html};
use reclass::internals::engine::Inventory;
use reclass::redact::Redaction;
use reclass::value::{Map, Value};

/// A file that tries to be markup, in an inventory of its own.
const HOSTILE: &str = "parameters:\n  x: '</script><script>document.title=\"broken\"</script>'\n  \
                       <b>key</b>: 1\n  password: hunter22\n";

/// How long a browser may take for one page.
const PATIENCE: Duration = Duration::from_secs(600);

fn page(base: &Path, nodes: &[&str]) -> String {
    let mut options = Map::default();
    options.insert("inventory_base_uri".into(), Value::text(base.to_str().unwrap()));
    let inventory = Inventory::open(&options).unwrap();
    let nodes: Vec<String> = nodes.iter().map(ToString::to_string).collect();
    let graph = graph(&inventory, &nodes, Some(&Redaction::of(inventory.settings()))).unwrap();
    html(&graph)
}

fn example() -> PathBuf {
    Path::new(support::ROOT).join("examples/inventory")
}

#[test]
fn a_value_that_does_not_resolve_is_a_problem_and_no_null() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["nodes", "classes"] {
        fs::create_dir(folder.path().join(name)).unwrap();
    }
    fs::write(folder.path().join("nodes/n.yml"), "parameters:\n  t: ${gone}\n  u: null\n").unwrap();
    let page = page(folder.path(), &[]);
    assert!(page.contains("[\"t\",\"\",") && page.contains("[\"u\",\"null\","), "{page}");
    assert!(page.contains("(reference-not-found)"), "{page}");
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
    fs::write(&file, page.replace("</body>", &format!("<script>{script}</script></body>"))).unwrap();
    let out = folder.path().join("document.html");
    let mut child = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
        .args(["--virtual-time-budget=3000", "--dump-dom"])
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
    // The data itself is in the document too.
    let (before, rest) = text.split_once("<script type=\"application/json\"").unwrap_or((&text, ""));
    assert!(!rest.is_empty(), "the browser shows no page: {text}");
    before.to_owned()
}

#[test]
fn a_browser_searches_and_clicks() {
    let Some(browser) = browser() else {
        println!("skipped: no Chromium in PATH; install the package chromium to run this test");
        return;
    };
    let page = page(&example(), &[]);
    let start = loaded(&browser, &page, "", "");
    for name in ["web1.example.com", "app.nginx", "site.lan"] {
        assert!(start.contains(&format!("data-name=\"{name}\"")), "{name} in\n{start}");
    }
    assert!(start.contains("4 nodes"), "{start}");
    // A search for what only one file says, then the node that a click on it leads to.
    let search = "search.value = 'worker_nothing'; search.dispatchEvent(new Event('input'));";
    assert!(loaded(&browser, &page, "", search).contains("0 found"));
    let search = "search.value = 'preview server_name'; search.dispatchEvent(new Event('input'));";
    let hit = loaded(&browser, &page, "", search);
    assert!(hit.contains("1 found") && hit.contains("data-name=\"environment.dev\""), "{hit}");
    let click = "document.querySelector('#found [data-name=\"web1.example.com\"]').click();";
    let node = loaded(&browser, &page, "", click);
    for text in ["Values, and where each is set", "10.0.0.11:80", "classes/role/web.yml:6:13", "motd, nginx"]
    {
        assert!(node.contains(text), "{text} in\n{node}");
    }
    // From there to a class, and to the values that it sets.
    let click = format!(
        "{click} addEventListener('hashchange', () => {{ \
         const next = document.querySelector('#classes [data-name=\"site.lan\"]'); if (next) next.click(); }});"
    );
    let class = loaded(&browser, &page, "", &click);
    for text in ["Nodes that have it: 4", "network:gateway", "classes/site/lan.yml:7:14"] {
        assert!(class.contains(text), "{text} in\n{class}");
    }
    let address = loaded(&browser, &page, "class:app.nginx", "");
    assert!(address.contains("<h1>app.nginx</h1>"), "{address}");
}

#[test]
fn a_browser_shows_what_is_wrong_and_what_is_known() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("nodes/broken.yml", "classes: [web, gone]\nparameters: {motd: hello}\n"),
        ("nodes/values.yml", "classes: [app]\nparameters: {url: '${host}:${port}', password: hunter22}\n"),
        ("classes/web.yml", "parameters: {listen: '${address'}\n"),
        ("classes/app.yml", "parameters: {workers: 4}\n"),
    ] {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let page = page(folder.path(), &[]);
    assert!(!page.contains("hunter22"), "secrets are masked");
    let Some(browser) = browser() else {
        println!("skipped: no Chromium in PATH; install the package chromium to run this test");
        return;
    };
    let shown = loaded(&browser, &page, "node:broken", "");
    for text in ["is not closed by", "no class 'gone'", "data-name=\"web\"", "data-name=\"gone\"", "motd"] {
        assert!(shown.contains(text), "{text} in\n{shown}");
    }
    for text in ["Environment", "null"] {
        assert!(!shown.contains(text), "{text} in\n{shown}");
    }
    let shown = loaded(&browser, &page, "node:values", "");
    for text in ["no parameter 'host'", "no parameter 'port'", "cannot be computed", "workers"] {
        assert!(shown.contains(text), "{text} in\n{shown}");
    }
}

#[test]
fn a_browser_takes_nothing_for_markup() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("nodes")).unwrap();
    fs::create_dir_all(folder.path().join("classes")).unwrap();
    fs::write(folder.path().join("nodes/n.yml"), HOSTILE).unwrap();
    let page = page(folder.path(), &[]);
    assert_eq!(page.matches("</script>").count(), 2, "the data ends no element");
    assert!(!page.contains("hunter22"), "secrets are masked");
    let Some(browser) = browser() else {
        println!("skipped: no Chromium in PATH; install the package chromium to run this test");
        return;
    };
    let shown = loaded(&browser, &page, "node:n", "");
    assert!(shown.contains("<title>reclass</title>"), "{shown}");
    assert!(shown.contains("&lt;b&gt;key&lt;/b&gt;"), "{shown}");
}

#[test]
fn names_are_quoted_in_pictures() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("nodes")).unwrap();
    fs::create_dir_all(folder.path().join("classes")).unwrap();
    fs::write(folder.path().join("nodes/a\"b\\.yml"), "parameters: {}\n").unwrap();
    let mut options = Map::default();
    options.insert("inventory_base_uri".into(), Value::text(folder.path().to_str().unwrap()));
    let inventory = Inventory::open(&options).unwrap();
    let graph = graph(&inventory, &[], Some(&Redaction::none())).unwrap();
    assert!(dot(&graph).contains(r#"[label="a\"b\\","#), "{}", dot(&graph));
}
