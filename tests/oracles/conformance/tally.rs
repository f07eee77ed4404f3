//! The tally turns verdicts into the final table.

use std::collections::BTreeMap;

use super::compare::Likeness;
use super::verdict::{Line, Sort, Verdict};

#[derive(Default)]
struct Row {
    all: usize,
    equal: usize,
    flag: usize,
    one_fork: usize,
    ruling: usize,
    unexplained: usize,
    rulings: BTreeMap<String, usize>,
}

/// Our node answers, compared with those of reclass-rs.
#[derive(Default)]
struct Rs {
    all: usize,
    equal: usize,
    /// Another answer, which is that of both forks.
    forks: usize,
    /// Another answer, by ruling.
    rulings: BTreeMap<String, usize>,
}

impl Rs {
    fn add(&mut self, line: &Line, likeness: Likeness) {
        self.all += 1;
        match (likeness, line.ruling()) {
            (Likeness::Same, _) => self.equal += 1,
            (_, None) => self.forks += 1,
            (_, Some(ruling)) => *self.rulings.entry(ruling).or_default() += 1,
        }
    }
}

/// Counts of everything.
#[derive(Default)]
pub struct Tally {
    rows: BTreeMap<(bool, Sort), Row>,
    rs: [Rs; 2],
    cases: [std::collections::BTreeSet<String>; 2],
    /// Whether deviations are printed too.
    all: bool,
}

impl Tally {
    /// Nothing counted yet; with `all`, deviations are printed too.
    pub fn new(all: bool) -> Tally {
        Tally { all, ..Tally::default() }
    }

    /// Counts a verdict, and prints it if it is a disagreement.
    pub fn add(&mut self, line: &Line) {
        let real = line.case.starts_with("real/");
        self.cases[usize::from(real)].insert(line.case.clone());
        let row = self.rows.entry((real, line.sort)).or_default();
        row.all += 1;
        if let (Some(ruling), true) = (line.ruling(), self.all) {
            println!("{} {}: {ruling}", line.case, line.key);
        }
        // What has no explanation here is not counted there.
        let judged = !matches!(line.verdict, Verdict::Unexplained(_));
        if let Some(likeness) = line.rs.filter(|_| judged) {
            self.rs[usize::from(real)].add(line, likeness);
            if self.all && likeness == Likeness::Different {
                let why = line.ruling().unwrap_or_else(|| "as both forks".into());
                println!("{} {}: not as reclass-rs: {why}", line.case, line.key);
            }
        }
        match &line.verdict {
            Verdict::Equal => row.equal += 1,
            Verdict::EqualWithFlag => {
                row.equal += 1;
                row.flag += 1;
            }
            Verdict::OneFork(ruling) => {
                row.one_fork += 1;
                *row.rulings.entry(ruling.clone()).or_default() += 1;
            }
            Verdict::Ruling(ruling) => {
                row.ruling += 1;
                *row.rulings.entry(ruling.clone()).or_default() += 1;
            }
            Verdict::Unexplained(why) => {
                row.unexplained += 1;
                println!("{} {}: {why}", line.case, line.key);
            }
        }
    }

    pub fn failed(&self) -> bool {
        self.rows.values().any(|row| row.unexplained > 0)
    }

    pub fn print(&self) {
        println!();
        println!(
            "{:<42}{:>7}{:>8}{:>13}{:>11}{:>13}",
            "", "all", "equal", "as one fork", "by ruling", "unexplained"
        );
        for ((real, sort), row) in &self.rows {
            let cases = self.cases[usize::from(*real)].len();
            let origin = if *real { "real inventories" } else { "cases" };
            let what = name(*sort);
            println!(
                "{:<42}{:>7}{:>8}{:>13}{:>11}{:>13}",
                format!("{cases} {origin}: {what}"),
                row.all,
                row.equal,
                row.one_fork,
                row.ruling,
                row.unexplained
            );
        }
        let flagged = |real| self.rows.get(&(real, Sort::Command)).map_or(0, |row| row.flag);
        println!(
            "\nequal: the answer of both Python forks, or theirs but for what only one of them knows of (S12);\n       \
             for command lines, every byte that one of them prints."
        );
        println!(
            "       {} command lines of the cases and {} of the real inventories print what\n       \
             kapicorp-reclass prints, to the byte, once compat_flags: [ComposeNodeNameLiteralDots]\n       \
             asks for its automatic parameters (S12).",
            flagged(false),
            flagged(true)
        );
        println!("as one fork: the forks differ, and the ruling says who is right.\n");
        for ((real, sort), row) in &self.rows {
            if row.rulings.is_empty() {
                continue;
            }
            let origin = if *real { "real inventories" } else { "cases" };
            let rulings: Vec<String> =
                row.rulings.iter().map(|(ruling, count)| format!("{ruling} {count}")).collect();
            println!("{origin}, {} by ruling: {}", name(*sort), rulings.join(", "));
        }
        println!(
            "\n{:<42}{:>7}{:>8}{:>13}{:>11}",
            "beside reclass-rs", "all", "equal", "as the forks", "by ruling"
        );
        for (row, origin) in self.rs.iter().zip(["cases", "real inventories"]) {
            println!(
                "{:<42}{:>7}{:>8}{:>13}{:>11}",
                format!("{origin}: node answers"),
                row.all,
                row.equal,
                row.forks,
                row.rulings.values().sum::<usize>()
            );
        }
        println!(
            "\nas the forks: both Python programs give our answer, reclass-rs another one; they come first."
        );
    }
}

fn name(sort: Sort) -> &'static str {
    match sort {
        Sort::Answer => "node answers",
        Sort::Listing => "listings",
        Sort::Inventory => "whole inventories",
        Sort::Command => "command lines",
    }
}
