//! The kernel is asked which calls a scenario makes below its folder: each has to come from a function that
//! can be made to fail, so that none is forgotten when the engine or the standard library changes.
//!
//! `strace` lists the calls; where there is none, or it may not trace, there is nothing to compare.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use super::prepare;

/// Calls that ask of a descriptor, not of its file: without optimization, the standard library looks whether
/// one is open before it closes it.
const HARMLESS: [&str; 1] = ["fcntl"];

/// A line of `strace`: the thread, and the call with its arguments.
fn split(line: &str) -> Option<(&str, &str)> {
    let (thread, rest) = line.split_once(' ')?;
    Some((thread, rest.trim_start()))
}

/// The threads that belong to other programs: those that the process starts, and theirs.
fn of_others(trace: &str) -> BTreeSet<&str> {
    let mut others = BTreeSet::new();
    let lines = trace.lines().filter_map(split);
    // The first is how the scenario itself is started.
    others.extend(
        lines.clone().filter(|(_, call)| call.starts_with("execve(")).skip(1).map(|(thread, _)| thread),
    );
    for (thread, call) in lines {
        let made = ["clone", "fork", "vfork"]
            .iter()
            .any(|name| call.starts_with(name) || call.contains("<... clone"));
        if made
            && others.contains(thread)
            && let Some((_, child)) = call.rsplit_once("= ")
        {
            others.insert(child.trim());
        }
    }
    others
}

/// The calls below the folder that no function of the library made.
fn missed<'t>(trace: &'t str, folder: &str) -> (usize, BTreeSet<&'t str>) {
    let others = of_others(trace);
    let (mut armed, mut inside, mut seen, mut missed) = (false, BTreeSet::new(), 0, BTreeSet::new());
    for (thread, call) in trace.lines().filter_map(split) {
        if others.contains(thread) {
            continue;
        }
        let is = |mark: &str| call.contains(&format!("\"/faults/{mark}\""));
        if is("armed") || is("disarmed") {
            armed = is("armed");
        } else if is("in") {
            inside.insert(thread);
        } else if is("out") {
            inside.remove(thread);
        } else if armed && [folder, "anon_inode:inotify", "/memfd:"].iter().any(|ours| call.contains(ours)) {
            seen += 1;
            let name = call.split_once('(').map_or(call, |(name, _)| name);
            if !inside.contains(thread) && !HARMLESS.contains(&name) && !call.starts_with("<...") {
                missed.insert(call);
            }
        }
    }
    (seen, missed)
}

/// Traces a scenario; `None` where that cannot be done.
fn traced(test: &str) -> Option<(usize, Vec<String>)> {
    let prepared = prepare();
    let trace = prepared.folder.path().join("trace");
    let output = Command::new("strace")
        .args(["-f", "-y", "-q", "-s", "512", "-e", "trace=%file,%desc,%process", "-o"])
        .arg(&trace)
        .arg("-E")
        .arg(format!("LD_PRELOAD={}", prepared.library.display()))
        .arg(std::env::current_exe().unwrap())
        .args([&format!("faults::scenarios::{test}"), "--exact", "--nocapture", "--include-ignored"])
        .env("FAULTS_BELOW", &prepared.base)
        .env("FAULTS_TRACE", "1")
        .output()
        .ok()?;
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("ptrace") {
        return None;
    }
    assert!(output.status.success(), "{test}: {}{said}", String::from_utf8_lossy(&output.stdout));
    let trace = String::from_utf8_lossy(&fs::read(trace).unwrap()).into_owned();
    let (seen, missed) = missed(&trace, prepared.base.to_str().unwrap());
    Some((seen, missed.into_iter().map(str::to_owned).collect()))
}

#[test]
fn every_call_below_the_folder_can_be_made_to_fail() {
    for test in ["reading", "reading_again", "watching", "watching_again", "editing", "fetching"] {
        let Some((seen, missed)) = traced(test) else {
            println!("no strace, or it may not trace");
            return;
        };
        println!("CALLS\t{test}: {seen} calls");
        assert!(seen > 20, "{test}: {seen}");
        assert!(missed.is_empty(), "{test}:\n{}", missed.join("\n"));
    }
}
