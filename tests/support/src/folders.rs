//! Folders of tests: copied, or written from the parts of one text.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use reclass::value::{Map, Value};

/// Copies a folder with all that is in it.
pub fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Waits until the last change of each file and folder is so old that its state proves that nothing changed.
pub fn until_old(path: &Path) {
    // The time of the file itself may be set to anything.
    let is_old = || match path.symlink_metadata() {
        Ok(metadata) => {
            let changed = Duration::new(metadata.ctime().unsigned_abs(), 0);
            SystemTime::now() > UNIX_EPOCH + changed + Duration::from_secs(4)
        }
        Err(_) => true,
    };
    while !is_old() {
        std::thread::sleep(Duration::from_millis(20));
    }
    // A link may lead back.
    if path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
        for inner in fs::read_dir(path).into_iter().flatten() {
            until_old(&inner.unwrap().path());
        }
    }
}

/// The processor time of this process, in seconds: unlike that of a clock, little of it is that of others.
pub fn processor_seconds() -> f64 {
    // The 14th and 15th field.
    seconds_of([11, 12])
}

/// The processor time of the processes that this one has started and waited for, in seconds.
pub fn processor_seconds_of_children() -> f64 {
    seconds_of([13, 14])
}

/// The sum of two fields of the state of this process, which are hundredths of seconds. They are counted from behind
/// the name, which may hold anything.
fn seconds_of([one, other]: [usize; 2]) -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks = |field: usize| fields[field].parse::<f64>().unwrap();
    (ticks(one) + ticks(other)) / 100.0
}

/// The text under a heading, `--- name`.
pub struct Part {
    pub name: String,
    pub text: String,
}

/// The parts of a text, which begins with a heading.
pub fn parts(text: &str) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for line in text.split_inclusive('\n') {
        match (line.strip_prefix("--- "), parts.last_mut()) {
            (Some(name), _) => parts.push(Part { name: name.trim().to_owned(), text: String::new() }),
            (None, Some(part)) => part.text.push_str(line),
            (None, None) => panic!("a file begins with a heading"),
        }
    }
    parts
}

/// Writes one file.
pub fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// The folders of an inventory without files, and the options that name it.
pub fn inventory(base: &Path) -> Map {
    for name in ["nodes", "classes"] {
        fs::create_dir_all(base.join(name)).unwrap();
    }
    let mut options = Map::default();
    options.insert("inventory_base_uri".into(), Value::text(base.to_str().unwrap()));
    options
}

/// Adds the settings that a part holds.
pub fn set(options: &mut Map, text: &str) {
    if let Value::Map(settings) = reclass_yaml::parse_value(text).unwrap() {
        options.extend((*settings).clone());
    }
}

/// The examples of a folder of the tests, sorted.
pub fn examples(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(crate::ROOT).join("tests").join(folder);
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

/// Plays each example of a folder, and compares it with what it was; `BLESS=1` writes it anew. Several at once,
/// because some wait for a clock.
pub fn check(folder: &str, play: impl Fn(&str) -> String + Sync) {
    let wrong = Mutex::new(BTreeMap::new());
    let rest = Mutex::new(examples(folder).into_iter());
    let play_all = || {
        loop {
            let Some(path) = rest.lock().unwrap().next() else { break };
            let text = fs::read_to_string(&path).unwrap();
            let played = play(&text);
            if played == text {
                continue;
            }
            if std::env::var_os("BLESS").is_some() {
                fs::write(&path, played).unwrap();
            } else {
                wrong.lock().unwrap().insert(path, played);
            }
        }
    };
    std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(play_all))));
    let wrong = wrong.into_inner().unwrap();
    let wrong: Vec<String> =
        wrong.iter().map(|(path, played)| format!("{}:\n{played}", path.display())).collect();
    assert!(wrong.is_empty(), "BLESS=1 writes these anew\n{}", wrong.join("\n"));
}
