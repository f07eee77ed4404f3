//! Judging turns our answer and the oracle's into a verdict.
//!
//! What differs is asked again of the oracle with the rulings in force (see
//! `kapicorp_rulings.py`): equal then, it differs by the rulings that it took, and by no others.

use std::collections::BTreeMap;

use serde_json::json;

use super::answer::{Answer, Answers, ours};
use super::ground::{GROUNDED, has_ground};
use super::oracle::Oracle;
use support::inventory::Inventory;

/// The rulings that the oracle knows, the most frequent first.
const RULINGS: [&str; 16] = [
    "M9", "R10", "M5", "S4", "R14", "order", "closed", "R16", "S5", "S19", "M6", "Q4", "Q7", "Q1", "Q5", "R8",
];

/// How many of the rulings of an inventory are tried alone first.
const OFTEN: usize = 6;

/// The rulings that a flag of ours takes back.
const FLAGGED: [(&str, &str); 2] = [("S12", "ComposeNodeNameLiteralDots"), ("R13", "ExpandTabs")];

/// Our answer about a node, compared with the oracle's.
#[derive(Clone, PartialEq, Debug)]
pub enum Verdict {
    /// The same data, or the same refusal, which is named.
    Same(Option<String>),
    /// A difference that rulings ask for.
    Ruling(String),
    /// The oracle ends in a traceback, whatever the rulings say.
    Traceback(String),
    /// Both refuse, each for a reason of its own.
    OtherReason(String),
    /// A defect of the one or the other.
    Unexplained {
        /// What sort of difference.
        signature: String,
        /// What the oracle says.
        theirs: Box<Answer>,
        /// What we say.
        ours: Box<Answer>,
    },
}

/// Judges every node of an inventory.
pub fn judge(inventory: &Inventory, plain: &Answers, oracle: &mut Oracle) -> Vec<(String, Verdict)> {
    let flags = inventory.settings.get("compat_flags").map(ToString::to_string).unwrap_or_default();
    let flagged = FLAGGED.iter().filter(|(_, flag)| !flags.contains(flag)).map(|(ruling, _)| *ruling);
    let rulings = flagged.chain(RULINGS).collect();
    let mut court = Court { inventory, oracle, rulings, ruled: BTreeMap::new() };
    let ours = ours(inventory, &[]);
    match (plain, &ours) {
        (Ok(plain), Ok(ours)) if plain.keys().eq(ours.keys()) => plain
            .iter()
            .zip(ours.values())
            .map(|((name, theirs), ours)| (name.clone(), court.verdict(name, theirs, ours)))
            .collect(),
        (Err(theirs), Err(ours)) => vec![("@".into(), court.verdict("@", theirs, ours))],
        // A node that several files have fails alone here, the whole inventory there.
        (Err(Answer::Error(class, ..)), Ok(ours))
            if class[0] == "DuplicateNodeNameError" && ours.values().any(is_defined_often) =>
        {
            vec![("@".into(), Verdict::Ruling("S6".into()))]
        }
        _ => {
            let whole = |answers: &Answers| match answers {
                Ok(nodes) => Answer::nodes(nodes),
                Err(refusal) => refusal.clone(),
            };
            vec![("@".into(), unexplained(&whole(plain), &whole(&ours)))]
        }
    }
}

fn is_defined_often(ours: &Answer) -> bool {
    matches!(ours, Answer::Error(codes, ..) if codes.iter().any(|code| code == "duplicate-definition"))
}

struct Court<'a> {
    inventory: &'a Inventory,
    oracle: &'a mut Oracle,
    rulings: Vec<&'static str>,
    ruled: BTreeMap<Vec<&'static str>, Answers>,
}

impl Court<'_> {
    fn verdict(&mut self, node: &str, theirs: &Answer, ours: &Answer) -> Verdict {
        if same(theirs, ours) {
            return equal(theirs);
        }
        let everything = self.rulings.clone();
        // Each question to it would take as long.
        let endless = |answer: &Answer| matches!(answer, Answer::Uncaught(class, ..) if class == "timeout");
        if endless(theirs) && endless(&self.ruled(&everything, node)) && !matches!(ours, Answer::Panic(_)) {
            return Verdict::Traceback(format!("{}: {}", theirs.kind(), ours.kind()));
        }
        let mut sets = vec![everything.clone()];
        sets.push(everything.iter().copied().filter(|name| *name != "closed").collect());
        sets.extend(everything.iter().map(|name| vec![*name]));
        if let Some(set) = sets.into_iter().find(|set| self.explains(set, node, ours)) {
            let rulings = self.fewest(set, node, ours);
            let needs_ground = rulings.iter().any(|ruling| GROUNDED.contains(ruling));
            if needs_ground && !has_ground(self.inventory, node, theirs, ours, self.oracle) {
                return unexplained(theirs, ours);
            }
            return Verdict::Ruling(rulings.join(" "));
        }
        match (theirs, self.ruled(&everything, node), ours) {
            (_, _, Answer::Panic(_)) => unexplained(theirs, ours),
            (Answer::Uncaught(class, ..), _, Answer::Value(..)) if class == "YAMLError" => {
                unexplained(theirs, ours)
            }
            (Answer::Uncaught(..), Answer::Uncaught(..), _) => {
                Verdict::Traceback(format!("{}: {}", theirs.kind(), ours.kind()))
            }
            (Answer::Uncaught(..), Answer::Error(class, ..), Answer::Error(codes, ..)) => {
                Verdict::OtherReason(format!("{} ({}): {}", theirs.kind(), class.join(" "), codes.join(" ")))
            }
            (Answer::Error(class, exit, _), _, Answer::Error(codes, code, _)) if exit == code => {
                let all = self.ours_grouped(node);
                if same(theirs, &all) {
                    return equal(theirs);
                }
                let codes = if let Answer::Error(all, ..) = &all { all } else { codes };
                Verdict::OtherReason(format!("{}: {}", class.join(" "), codes.join(" ")))
            }
            // A query of the node needs what fails by a ruling; reclass reports the query first.
            (Answer::Value(..), Answer::Error(class, exit, _), Answer::Error(codes, code, _))
                if exit == *code && class[0] == "InvQueryError" =>
            {
                Verdict::OtherReason(format!("by rulings {}: {}", class.join(" "), codes.join(" ")))
            }
            _ => unexplained(theirs, ours),
        }
    }

    /// What the oracle says with rulings in force.
    fn ruled(&mut self, rulings: &[&'static str], node: &str) -> Answer {
        if !self.ruled.contains_key(rulings) {
            self.oracle.ask(self.inventory, rulings);
            let answers = self.oracle.answer();
            self.ruled.insert(rulings.to_vec(), answers);
        }
        match &self.ruled[rulings] {
            Ok(nodes) => nodes.get(node).cloned(),
            Err(refusal) => Some(refusal.clone()),
        }
        .unwrap_or_else(|| Answer::Panic("no such node".into()))
    }

    fn explains(&mut self, rulings: &[&'static str], node: &str, ours: &Answer) -> bool {
        same(&self.ruled(rulings, node), ours)
    }

    /// The rulings that are needed of a set: one of the most frequent, or what is left when no part
    /// can be left out, larger parts first.
    fn fewest(&mut self, set: Vec<&'static str>, node: &str, ours: &Answer) -> Vec<&'static str> {
        if let Some(one) = set.iter().take(OFTEN).find(|name| self.explains(&[name], node, ours)) {
            return vec![one];
        }
        let mut needed = set;
        let mut part = needed.len() / 2;
        while part > 0 {
            let mut begin = 0;
            while begin < needed.len() {
                let end = needed.len().min(begin + part);
                let fewer = [&needed[..begin], &needed[end..]].concat();
                if self.explains(&fewer, node, ours) {
                    needed = fewer;
                } else {
                    begin = end;
                }
            }
            part /= 2;
        }
        needed
    }

    /// All that is wrong with a node, where the settings ask for the first alone.
    fn ours_grouped(&self, node: &str) -> Answer {
        match ours(self.inventory, &[("group_errors", json!(true))]) {
            Ok(mut nodes) => nodes.remove(node).unwrap_or_else(|| Answer::Panic("no such node".into())),
            Err(refusal) => refusal,
        }
    }
}

fn equal(theirs: &Answer) -> Verdict {
    Verdict::Same(match theirs {
        Answer::Value(..) => None,
        refusal => Some(refusal.kind()),
    })
}

fn unexplained(theirs: &Answer, ours: &Answer) -> Verdict {
    let signature = format!("{} / {}", theirs.kind(), ours.kind());
    Verdict::Unexplained { signature, theirs: Box::new(theirs.clone()), ours: Box::new(ours.clone()) }
}

/// Whether two answers are the same. A warning of theirs is one of ours; we have more of them.
fn same(theirs: &Answer, ours: &Answer) -> bool {
    match (theirs, ours) {
        (Answer::Value(one, warned), Answer::Value(other, warns)) => one == other && (!warned || *warns),
        (Answer::Error(class, exit, _), Answer::Error(codes, code, _)) => {
            exit == code
                && expected(&class[0]).iter().any(|expected| codes.iter().any(|code| code == expected))
        }
        (Answer::Uncaught(class, ..), Answer::Error(codes, ..)) if class == "YAMLError" => {
            codes.iter().any(|code| code.starts_with("yaml-"))
        }
        _ => false,
    }
}

/// Our codes for an exception of reclass.
fn expected(class: &str) -> &'static [&'static str] {
    match class {
        "ExpressionError" => &["query-operand", "query-syntax", "query-embedded"],
        _ => crate::codes(class).unwrap_or_default(),
    }
}
