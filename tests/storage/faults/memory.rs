//! A process that gets no memory: whether it ends or not, the file is the old one or the new one.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use reclass::settings::Settings;
use reclass::value::Value;
use reclass_edit::cluster::{self, ClusterFile};
use reclass_edit::tree::EditOptions;
use rustix::process::{Resource, Rlimit, setrlimit};
use support::is_long;

use super::scenarios::{OLD, below};
use support::folders::{inventory, write};

/// What a child does that has little memory.
#[test]
#[ignore = "run by others in a process of its own"]
fn editing_in_little_memory() {
    let base = below();
    let settings = Settings::from_options(&inventory(&base)).unwrap().0;
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmSize")).unwrap();
    let now: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    let more: u64 = std::env::var("FAULTS_MEMORY").unwrap().parse().unwrap();
    let limit = Some(now * 1024 + more);
    setrlimit(Resource::As, Rlimit { current: limit, maximum: limit }).unwrap();
    let file = ClusterFile { cluster: "prague", name: "" };
    let edited = cluster::set(&settings, file, "a", Value::Int(2), EditOptions::default());
    println!("\nEDITED\t{}", edited.is_ok());
}

#[test]
fn a_process_without_memory_leaves_the_old_file_or_the_new_one() {
    const MIB: u64 = 1024 * 1024;
    let large = format!("{OLD}    list: [{}]\n", "x, ".repeat(400_000));
    let mut ended = BTreeMap::new();
    for limit in (0..384).step_by(if is_long() { 16 } else { 64 }) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("classes/cluster/prague/overrides.yml");
        write(&path, &large);
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["faults::memory::editing_in_little_memory", "--exact", "--nocapture", "--include-ignored"])
            .env("FAULTS_BELOW", folder.path())
            .env("FAULTS_MEMORY", (limit * MIB).to_string())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        let word = match said.lines().find_map(|line| line.strip_prefix("EDITED\t")) {
            Some("true") => "edited",
            Some(_) => "refused",
            None => "ended",
        };
        let text = fs::read_to_string(&path).unwrap();
        let new = large.replace("a: 1", "a: 2");
        assert!(text == large || text == new, "{limit} MiB: {} bytes", text.len());
        assert!(word != "edited" || text == new, "{limit} MiB");
        *ended.entry(word).or_insert(0) += 1;
    }
    println!("{ended:?}");
    assert!(ended.contains_key("ended") && ended.contains_key("edited"), "{ended:?}");
}
