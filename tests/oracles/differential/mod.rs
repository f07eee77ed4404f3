//! Generated inventories, rendered by kapicorp-reclass and by us, are the same, or a ruling says why not.
//!
//! `RECLASS_DIFFERENTIAL_COUNT` inventories (2000, in the short form 1000) from `RECLASS_DIFFERENTIAL_SEED` (1)
//! on. The first difference is shrunk and printed; with `RECLASS_DIFFERENTIAL_KEEP_GOING` the run goes
//! on and collects up to that many. `RECLASS_DIFFERENTIAL_SHOW` prints the inventory of a seed.

mod answer;
mod ground;
mod judge;
mod oracle;
mod shrink;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Instant;

use judge::{Verdict, judge};
use oracle::Oracle;
use support::generate;
use support::inventory::Inventory;

/// How many inventories the oracle has in hand while we judge.
const AHEAD: usize = 8;

fn number(name: &str) -> Option<u64> {
    std::env::var(format!("RECLASS_DIFFERENTIAL_{name}")).ok()?.parse().ok()
}

/// Prints what it tolerates, by ruling, and tells whether that is all.
pub fn agrees() -> bool {
    let Some(python) = oracle::python() else { return true };
    let first = number("SEED").unwrap_or(1);
    let count = number("COUNT").unwrap_or(if support::is_long() { 2000 } else { 1000 });
    let wanted = number("KEEP_GOING").map_or(1, |wanted| usize::try_from(wanted).unwrap_or(usize::MAX));
    let mut oracle = Oracle::start(&python);
    if let Some(seed) = number("SHOW") {
        show(&generate::inventory(seed), &mut oracle);
        return true;
    }
    let mut second = Oracle::start(&python);
    let mut tally = Tally::default();
    let begin = Instant::now();
    let mut ahead = VecDeque::new();
    for seed in first..first + count + AHEAD as u64 {
        if seed < first + count {
            let inventory = generate::inventory(seed);
            oracle.ask(&inventory, &[]);
            ahead.push_back((seed, inventory));
            if ahead.len() < AHEAD {
                continue;
            }
        }
        let Some((seed, inventory)) = ahead.pop_front() else { break };
        let answers = oracle.answer();
        let verdicts = judge(&inventory, &answers, &mut second);
        tally.inventories += 1;
        let mut found = None;
        for (_, verdict) in verdicts {
            if let Verdict::Unexplained { signature, .. } = &verdict {
                found = Some(signature.clone());
            }
            tally.add(seed, verdict);
        }
        if let Some(signature) = found
            && tally.wants(&signature)
        {
            let small = smallest(inventory, &signature, &mut second);
            tally.difference(seed, &signature, small, &mut second);
            if tally.shown.len() >= wanted {
                break;
            }
        }
    }
    let seconds = begin.elapsed().as_secs_f64();
    tally.print(first, oracle.asked + second.asked, seconds);
    tally.unexplained.is_empty()
}

fn verdicts(inventory: &Inventory, oracle: &mut Oracle) -> Vec<(String, Verdict)> {
    oracle.ask(inventory, &[]);
    let answers = oracle.answer();
    judge(inventory, &answers, oracle)
}

/// Prints an inventory and all that is said about it.
fn show(inventory: &Inventory, oracle: &mut Oracle) {
    println!("{}", inventory.show());
    oracle.ask(inventory, &[]);
    let sides = [("kapicorp", oracle.answer()), ("ours", answer::ours(inventory, &[]))];
    for (side, answers) in &sides {
        match answers {
            Ok(nodes) => {
                nodes.iter().for_each(|(node, answer)| println!("{side} {node}: {}\n", answer.show()));
            }
            Err(refusal) => println!("{side}: {}\n", refusal.show()),
        }
    }
    for (node, verdict) in judge(inventory, &sides[0].1, oracle) {
        println!("{node}: {verdict:.200?}");
    }
}

fn smallest(inventory: Inventory, signature: &str, oracle: &mut Oracle) -> Inventory {
    shrink::shrink(inventory, &mut |candidate| {
        verdicts(candidate, oracle).iter().any(
            |(_, verdict)| matches!(verdict, Verdict::Unexplained { signature: other, .. } if other == signature),
        )
    })
}

/// What a run came to.
#[derive(Default)]
struct Tally {
    inventories: u64,
    values: u64,
    refusals: BTreeMap<String, (u64, Vec<u64>)>,
    explained: BTreeMap<String, (u64, Vec<u64>)>,
    unexplained: BTreeMap<String, (u64, Vec<u64>)>,
    shown: BTreeSet<String>,
}

impl Tally {
    fn add(&mut self, seed: u64, verdict: Verdict) {
        let (table, label) = match verdict {
            Verdict::Same(None) => {
                self.values += 1;
                return;
            }
            Verdict::Same(Some(kind)) => (&mut self.refusals, kind),
            Verdict::Ruling(rulings) => (&mut self.explained, format!("by {rulings}")),
            Verdict::Traceback(kind) => (&mut self.explained, format!("traceback of {kind}")),
            Verdict::OtherReason(kinds) => (&mut self.explained, format!("other reason: {kinds}")),
            Verdict::Unexplained { signature, .. } => (&mut self.unexplained, signature),
        };
        let (count, seeds) = table.entry(label).or_default();
        *count += 1;
        if seeds.len() < 6 && seeds.last() != Some(&seed) {
            seeds.push(seed);
        }
    }

    /// Whether one more difference of this sort is worth shrinking.
    fn wants(&self, signature: &str) -> bool {
        self.unexplained.get(signature).is_some_and(|(_, seeds)| seeds.len() <= 3)
    }

    fn difference(&mut self, seed: u64, signature: &str, small: Inventory, oracle: &mut Oracle) {
        let shown = small.show();
        if !self.shown.insert(shown.clone()) {
            return;
        }
        println!("==== DIFFERENCE {signature} (seed {seed})\n{shown}");
        for (node, verdict) in verdicts(&small, oracle) {
            if let Verdict::Unexplained { theirs, ours, .. } = verdict {
                println!("---- {node}\nkapicorp: {}\nours:     {}\n", theirs.show(), ours.show());
            }
        }
    }

    fn print(&self, first: u64, asked: u64, seconds: f64) {
        let lines = |table: &BTreeMap<String, (u64, Vec<u64>)>| {
            let mut rows: Vec<_> = table.iter().collect();
            rows.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
            for (label, (count, seeds)) in rows {
                println!("{count:8}  {label}   (seeds {seeds:?})");
            }
            table.values().map(|(count, _)| count).sum::<u64>()
        };
        println!("equal refusals:");
        let refusals = lines(&self.refusals);
        println!("tolerated:");
        let tolerated = lines(&self.explained);
        println!("unexplained:");
        let unexplained = lines(&self.unexplained);
        println!(
            "{} inventories from seed {first}: {} node answers, {} equal values, {} equal refusals, {tolerated} tolerated, {unexplained} unexplained; {asked} questions to kapicorp-reclass, {:.0} inventories a second",
            self.inventories,
            self.values + refusals + tolerated + unexplained,
            self.values,
            refusals,
            f64::from(u32::try_from(self.inventories).unwrap_or(u32::MAX)) / seconds,
        );
    }
}
