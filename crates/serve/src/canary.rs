//! The nodes that get new commits first (`canary`).

use reclass::parts::storage::record::hash;
use reclass_base::error::{Error, Fault, Kind, Result};
use reclass_base::pattern::Glob;
use reclass_base::value::{Text, Value};

/// The nodes that get new commits first.
#[derive(Debug)]
pub(super) struct Canary {
    glob: Option<(Glob, Text)>,
    /// The share of all nodes in hundredths of a percent.
    share: u64,
}

impl Canary {
    /// The nodes that the setting names; `None` without it.
    pub fn of(value: &Value) -> Result<Option<Canary>> {
        let wrong = || {
            let allowed = "a mapping with 'match', a glob, and 'percent', a number from 0 to 100".to_owned();
            Error::from(Fault::new(Kind::SettingValue { name: "canary".into(), allowed, similar: None }))
        };
        let options = match value {
            Value::Null => return Ok(None),
            Value::Map(options) => options,
            _ => return Err(wrong()),
        };
        let mut canary = Canary { glob: None, share: 0 };
        for (key, value) in options.iter() {
            match (key.as_str(), value) {
                (Some("match"), Value::Str(glob)) => canary.glob = Some((Glob::new(glob), glob.clone())),
                (Some("percent"), Value::Int(share @ 0..=100)) => canary.share = share.unsigned_abs() * 100,
                (Some("percent"), Value::Float(share)) if (0.0..=100.0).contains(share) => {
                    let hundredths = format!("{:.0}", share * 100.0);
                    canary.share = hundredths.parse().map_err(|_| wrong())?;
                }
                _ => return Err(wrong()),
            }
        }
        Ok(Some(canary))
    }

    /// Whether a node gets new commits first. The share depends on the names alone.
    pub fn has(&self, node: &str) -> bool {
        self.glob.as_ref().is_some_and(|(glob, _)| glob.matches(node))
            || hash(node.as_bytes()) % 10_000 < self.share
    }

    /// The problem of a glob that matches none of these nodes.
    pub fn unmatched<'n>(&self, mut nodes: impl Iterator<Item = &'n str>) -> Option<String> {
        let (glob, text) = self.glob.as_ref()?;
        let is_unmatched = !nodes.any(|node| glob.matches(node));
        is_unmatched.then(|| format!("'match: {text}' of the setting 'canary' matches no node"))
    }
}
