//! Threads that ask the same inventory, or others of the same files, are given what the files said
//! at one moment, while another thread changes them. `make tsan` runs this with the thread sanitizer.

use std::fmt::Write as _;
use std::fs;
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use reclass::error::Error;
use reclass::value::{Map, Text, Value};
use reclass::{Inventory, NodeInfo, Request};
use reclass_serve::{Asker, Served};

/// Enough for the engine to share the work between threads of its own.
const NODES: usize = 72;

/// How often files change.
const EDITS: usize = 60;

/// How many threads ask.
const THREADS: usize = 8;

/// What the files of an inventory say after a number of edits.
#[derive(Clone, Copy)]
struct Files(usize);

impl Files {
    /// Each second edit changes the class of all nodes.
    fn version(self) -> usize {
        self.0 / 2
    }

    /// The others make one more node, or remove it.
    fn extra(self) -> bool {
        self.0.div_ceil(2) % 2 == 1
    }

    /// The names of the nodes, sorted.
    fn names(self) -> Vec<String> {
        let extra = self.extra().then(|| "extra".to_owned());
        extra.into_iter().chain((10..10 + NODES).map(|number| format!("n{number}"))).collect()
    }

    /// What a node comes to. Every eighth one asks for the exports of all.
    fn parameters(self, name: &str) -> String {
        let version = self.version();
        let mut json = format!(r#"{{"version":{version},"own":"{name} {version}""#);
        if name.ends_with('7') {
            let all: Vec<_> = self.names().iter().map(|name| format!(r#""{name}":{version}"#)).collect();
            write!(json, r#","all":{{{}}}"#, all.join(",")).unwrap();
        }
        json + "}"
    }

    /// Makes them say so. Each file is exchanged in one step.
    fn write(self, base: &Path) {
        let put = |path: &str, text: &str| {
            fs::write(base.join("new"), text).unwrap();
            fs::rename(base.join("new"), base.join(path)).unwrap();
        };
        let version = self.version();
        if self.0 % 2 == 0 {
            let text = format!("parameters: {{version: {version}}}\nexports: {{version: '${{version}}'}}\n");
            put("classes/version.yml", &text);
        } else if self.extra() {
            put("nodes/extra.yml", "classes: [version]\nparameters: {own: 'extra ${version}'}\n");
        } else {
            fs::remove_file(base.join("nodes/extra.yml")).unwrap();
        }
    }
}

/// An inventory, and how far it was edited.
struct Site {
    folder: tempfile::TempDir,
    begun: AtomicUsize,
    done: AtomicUsize,
    over: AtomicBool,
    /// How many rounds of questions were answered.
    answered: AtomicUsize,
}

impl Site {
    fn new() -> Site {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path();
        fs::create_dir(base.join("nodes")).unwrap();
        fs::create_dir(base.join("classes")).unwrap();
        for name in Files(0).names() {
            let asks = if name.ends_with('7') { ", all: '$[ exports:version ]'" } else { "" };
            let text = format!("classes: [version]\nparameters: {{own: '{name} ${{version}}'{asks}}}\n");
            fs::write(base.join(format!("nodes/{name}.yml")), text).unwrap();
        }
        Files(0).write(base);
        let (begun, done, over, answered) = Default::default();
        Site { folder, begun, done, over, answered }
    }

    fn options(&self, cache: &str) -> Map {
        let mut options = Map::default();
        let base = self.folder.path().to_str().unwrap();
        options.insert("inventory_base_uri".into(), Value::text(base));
        options.insert("automatic_parameters".into(), Value::Bool(false));
        options.insert("cache".into(), Value::text(cache));
        options.insert("threads".into(), Value::Int(4));
        options
    }

    fn edit(&self) {
        for edit in 1..=EDITS {
            self.begun.store(edit, Ordering::SeqCst);
            Files(edit).write(self.folder.path());
            self.done.store(edit, Ordering::SeqCst);
            // Where nothing is ever at rest, there is no answer.
            let (answered, since) = (self.answered.load(Ordering::SeqCst), Instant::now());
            while self.answered.load(Ordering::SeqCst) < answered + THREADS {
                std::thread::sleep(Duration::from_millis(10));
                if since.elapsed() > Duration::from_secs(600) {
                    self.over.store(true, Ordering::SeqCst);
                    panic!("no thread has an answer");
                }
            }
        }
        self.over.store(true, Ordering::SeqCst);
    }

    /// The answer to a question, and the range of edits after which the files may have been read.
    fn ask<T>(&self, question: impl FnOnce() -> T) -> (T, RangeInclusive<usize>) {
        let from = self.done.load(Ordering::SeqCst);
        let answer = question();
        (answer, from..=self.begun.load(Ordering::SeqCst))
    }

    /// Asks one question of each kind; `turn` says for which node.
    fn check(&self, inventory: &Inventory, turn: usize) {
        let (names, moments) = self.ask(|| inventory.nodes().unwrap());
        let fits = |edits| Files(edits).names().iter().eq(names.iter().map(Text::as_str));
        assert!(moments.clone().any(fits), "{moments:?}: {names:?}");

        for name in [format!("n{}", 10 + turn % NODES), "n17".to_owned(), "extra".to_owned()] {
            let (node, moments) = self.ask(|| inventory.nodeinfo(&name, &Request::default()));
            assert!(moments.clone().any(|edits| right(&node, &name, Files(edits))), "{moments:?}: {node:?}");
        }

        let (all, moments) = self.ask(|| inventory.inventory().unwrap());
        let fits = |edits| {
            let names = Files(edits).names();
            names.len() == all.len()
                && names.iter().zip(&all).all(|(name, node)| right(&Ok(node.clone()), name, Files(edits)))
        };
        assert!(moments.clone().any(fits), "{moments:?}: {all:?}");

        let info = inventory.cache_info();
        assert!(info.answers_memory <= info.answers_limit);
        assert!(info.counts.computed >= NODES as u64);
    }
}

/// Whether an answer is that of the files.
fn right(answer: &Result<Arc<NodeInfo>, Error>, name: &str, files: Files) -> bool {
    match answer {
        Ok(node) => {
            let parameters = reclass::json::dumps(&node.parameters, false);
            files.names().iter().any(|known| known == name) && parameters == files.parameters(name)
        }
        Err(_) => !files.extra() && name == "extra",
    }
}

#[test]
fn threads_are_given_what_the_files_said_at_one_moment() {
    let site = Site::new();
    let one = Inventory::open(&site.options("auto")).unwrap();
    let over = &site.over;
    std::thread::scope(|scope| {
        for number in 0..THREADS {
            let (site, one) = (&site, &one);
            scope.spawn(move || {
                let own = Inventory::open(&site.options("stat")).unwrap();
                let mut turn = number;
                // Once more after the last edit, which nobody may miss.
                while !over.load(Ordering::SeqCst) || turn < 16 {
                    match turn % 4 {
                        0 | 1 => site.check(one, turn),
                        2 => site.check(
                            &Served::shared(&site.options("auto"), Asker::Master).unwrap().of_most().unwrap(),
                            turn,
                        ),
                        _ if number % 2 == 0 => site.check(&own, turn),
                        // From nothing: the threads of the engine do the same work side by side.
                        _ => site.check(&Inventory::open(&site.options("auto")).unwrap(), turn),
                    }
                    if turn % 32 == 31 {
                        Served::forget_all();
                    }
                    turn += 1;
                    site.answered.fetch_add(1, Ordering::SeqCst);
                }
                site.check(one, turn);
            });
        }
        site.edit();
    });
    println!("{EDITS} edits, {} rounds of questions by {THREADS} threads", site.answered.into_inner());
}
