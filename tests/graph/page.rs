//! The page of a graph turns into what a browser makes of it: a real one loads it, types and clicks.
//!
//! Where there is no Chromium the test says so and is no failure.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use reclass::redact::Redaction;
use reclass::value::{Map, Value};
use reclass::{Inventory, Request};
use reclass_analysis::explain::{Selection, explain};
use reclass_graph::{PageData, PageOptions, data, dot, graph, html, node_values};
use serde_json::Value as Json;
use support::{answer, corpus};

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
    // A leaf is its path, value, written and so on. The leaves are those of `_reclass_`, `t` and `u`.
    let leaves = values["leaves"].as_array().unwrap();
    assert_eq!(leaves.iter().filter(|leaf| leaf[1] == 0).count(), 1, "{leaves:?}");
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

/// A page, to be read without its numbers.
struct Read {
    overview: Json,
    values: Json,
}

impl Read {
    fn new(page: &PageData) -> Read {
        Read { overview: parsed(&page.overview), values: parsed(&page.values) }
    }

    fn row(&self, table: &str, at: &Json) -> &Json {
        &self.values[table][usize::try_from(at.as_u64().unwrap()).unwrap()]
    }

    fn path(&self, at: &Json) -> String {
        let row = self.row("paths", at);
        let above = if at.as_u64().unwrap() > 1 { self.path(&row[0]) } else { String::new() };
        above + row[1].as_str().unwrap()
    }

    fn place(&self, at: &Json) -> String {
        let row = self.row("places", at);
        let file = match usize::try_from(row[0].as_i64().unwrap()) {
            Ok(file) => &self.overview["files"][file][0],
            Err(_) => self.row("layers", &(-1 - row[0].as_i64().unwrap()).into()),
        };
        format!("{file}:{}:{}", row[1], row[2])
    }

    fn written(&self, at: &Json) -> String {
        let row = self.row("written", at);
        let targets = row[1].as_array().unwrap().iter().filter(|one| !one[2].is_null());
        format!("{} {:?}", row[0], targets.map(|one| self.path(&one[2])).collect::<Vec<_>>())
    }

    /// All that the page says about the leaves of a node, in order.
    fn node(&self, name: &str) -> Vec<String> {
        self.under(name, &self.values["roots"][self.number(name)])
    }

    /// The number of a node in the page.
    fn number(&self, name: &str) -> usize {
        self.overview["files"].as_array().unwrap().iter().position(|file| file[0] == name).unwrap()
    }

    fn under(&self, name: &str, roots: &Json) -> Vec<String> {
        let mut found = Vec::new();
        for root in roots.as_array().unwrap() {
            if let Some(container) = root.as_u64() {
                self.container(name, usize::try_from(container).unwrap(), &mut found);
            }
        }
        found
    }

    fn container(&self, name: &str, at: usize, found: &mut Vec<String>) {
        for child in self.values["containers"][at].as_array().unwrap() {
            let child = usize::try_from(child.as_u64().unwrap()).unwrap();
            match child % 2 {
                0 => found.push(self.leaf(name, self.values["leaves"][child / 2].as_array().unwrap())),
                _ => self.container(name, child / 2, found),
            }
        }
    }

    fn leaf(&self, name: &str, row: &[Json]) -> String {
        let steps = self.row("steps", &row[4]).as_array().unwrap().iter().map(|step| {
            let (place, written, path) = (self.place(&step[2]), self.written(&step[3]), self.path(&step[4]));
            format!("{} {} {place} {written} {path} {} {}", step[0], step[1], step[5], step[6])
        });
        let extra = self.row("extras", &row[5]);
        let via = extra["via"].as_array().unwrap().iter();
        let via = via.map(|one| self.written(&one[0]) + &self.place(&one[1])).collect::<Vec<_>>();
        let targets = extra["targets"].as_array().unwrap().iter();
        let targets = targets.map(|one| if one.is_null() { String::new() } else { self.path(one) });
        // A page of one node knows no other one.
        let answers = extra["answers"].as_u64().map(|at| self.row("answers", &at.into()).as_array().unwrap());
        let named =
            |one: &Json| self.overview["files"][usize::try_from(one.as_u64().unwrap()).unwrap()][0] == name;
        let answers = answers.map(|nodes| nodes.iter().any(named));
        format!(
            "{} = {} {} {} {:?} {via:?} {:?} {answers:?}",
            self.path(&row[0]),
            self.row("values", &row[1]),
            self.written(&row[2]),
            self.place(&row[3]),
            steps.collect::<Vec<_>>(),
            targets.collect::<Vec<_>>(),
        )
    }
}

/// Compares the values that a server sends of each node with the page of this node alone. Returns the number of
/// leaves.
fn is_as_alone(inventory: &Inventory, nodes: &[&str]) -> usize {
    let redaction = Redaction::of(inventory.settings());
    let read = |globs: &[String]| {
        data(inventory, globs, &redaction, &PageOptions::default()).map(|page| Read::new(&page))
    };
    let Ok(mut all) = read(&[]) else { return 0 };
    let mut leaves = 0;
    for node in nodes.iter().filter(|node| !node.contains(['*', '?', '['])) {
        let Ok(alone) = read(&[(*node).to_owned()]) else { continue };
        let sent = node_values(inventory, &[], &redaction, all.number(node)).unwrap().unwrap();
        all.values = parsed(&sent);
        let (found, expected) = (all.under(node, &all.values["roots"][0]), alone.node(node));
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(found, expected, "{node}");
        }
        assert_eq!(found.len(), expected.len(), "{node}");
        leaves += found.len();
    }
    leaves
}

#[test]
fn a_page_of_many_nodes_leaves_their_values_to_the_server() {
    let mut files = vec![
        ("classes/role.yml".to_owned(), "parameters: {role: web, password: HIDE}\n".to_owned()),
        (
            "nodes/bad.yml".to_owned(),
            "classes: [role]\nparameters: {a: '${gone}', b: '${away}'}\n".to_owned(),
        ),
        ("nodes/lost.yml".to_owned(), "classes: [nowhere]\n".to_owned()),
    ];
    files.extend((0..299).map(|at| {
        let text = format!("classes: [role]\nparameters: {{number: 'value{at}', url: '${{role}}{at}'}}\n");
        (format!("nodes/n{at}.yml"), text)
    }));
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let folder = inventory(&files);
    let page = page_data(folder.path());
    let read = Read::new(&page);
    assert_eq!(read.overview["held"], false);
    for table in ["roots", "leaves", "containers"] {
        assert!(read.values[table].as_array().unwrap().is_empty(), "{table}");
    }
    // The files, and why nodes fail, are all there.
    assert!(read.values["written"].to_string().contains("value298"), "{}", page.values);
    let problems =
        |node: &str| read.overview["facts"][read.number(node)]["problems"].as_array().unwrap().len();
    assert_eq!((problems("bad"), problems("lost"), problems("n7")), (2, 1, 0));
    let inventory = open(folder.path());
    assert!(is_as_alone(&inventory, &["n7", "n298", "bad", "lost"]) > 10);
    let redaction = Redaction::of(inventory.settings());
    let sent = |number: usize| node_values(&inventory, &[], &redaction, number).unwrap();
    assert!(sent(read.number("n7")).is_some_and(|text| text.contains("web7") && !text.contains("HIDE")));
    assert_eq!(sent(301), None);
}

#[test]
fn schemas_describe_the_parameters_of_files() {
    let folder = inventory(&[
        ("nodes/n.yml", "classes: [web, role]\n"),
        ("classes/role.yml", "parameters: {}\n"),
        ("classes/web.yml", "parameters: {nginx: {port: 80, password: hunter22}}\n"),
        (
            "schemas/nginx.yml",
            "x-reclass: {nodes: n, classes: [role]}\ndefault: {password: topsecret}\ndescription: A web server.\nproperties: {port: {type: integer}, password: {default: topsecret}}\n",
        ),
    ]);
    let page = page_data(folder.path());
    let described: Vec<String> =
        parsed(&page.values)["schemas"].as_object().unwrap().values().map(ToString::to_string).collect();
    assert_eq!(described, [r#""A web server.""#, r#""integer""#], "{}", page.values);
}

#[test]
fn the_nodes_of_the_corpus_are_explained_as_alone() {
    let mut leaves = 0;
    for case in corpus::load() {
        let Ok(inventory) = answer::open(&case, &serde_json::Map::new()) else { continue };
        let nodes: Vec<&str> = case.nodes.iter().map(|node| &**node).collect();
        let every = nodes.len() / 3 + 1;
        leaves += is_as_alone(&inventory, &nodes.into_iter().step_by(every).collect::<Vec<_>>());
    }
    println!("{leaves} leaves");
    // The small inventories alone have as many.
    assert!(leaves > 4_000, "{leaves}");
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
    // On a busy machine the browser may end before its script has run.
    let mut texts = (0..3).map(|attempt| {
        let profile = folder.path().join(format!("profile{attempt}"));
        document(browser, &format!("file://{}#{hash}", file.display()), &profile)
    });
    let text = texts.find(|text| text.contains("data-done=\"true\"")).expect("the browser reads the values");
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

/// The document of an address after a while, as a browser has it.
fn document(browser: &Path, address: &str, profile: &Path) -> String {
    let out = profile.with_extension("html");
    let mut child = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .args(["--virtual-time-budget=20000", "--dump-dom"])
        .arg(address)
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
    fs::read_to_string(&out).unwrap()
}

#[test]
fn a_browser_searches_and_clicks() {
    let Some(browser) = browser() else {
        support::absent("chromium", "install the package chromium");
        return;
    };
    let page = html(&page_data(&example()), None);
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
    let page = html(&data, None);
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
    let page = html(&data, None);
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
