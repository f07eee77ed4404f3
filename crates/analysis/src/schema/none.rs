//! Stands for the schemas of parameters where the library is built without them: no inventory has any.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::verdict::{Description, NodeVerdict};
use reclass::NodeInfo;
use reclass::parts::engine::{Computation, NodeRequest};
use reclass_base::error::{Fault, Result};
use reclass_base::secrets::Secrets;
use reclass_base::source::Site;
use reclass_base::value::{Key, Text};

/// No schemas.
#[derive(Debug)]
pub enum Schemas {}

impl Schemas {
    pub fn of_computation(_: &Computation<'_>) -> Result<Option<Arc<Schemas>>> {
        Ok(None)
    }

    pub(crate) fn check(&self, _: &NodeInfo) -> NodeVerdict {
        match *self {}
    }

    pub(crate) fn faults(&self, _: &Computation<'_>, _: NodeRequest<'_>, _: &NodeVerdict) -> Vec<Fault> {
        match *self {}
    }

    pub(crate) fn own_faults(&self) -> std::iter::Empty<Fault> {
        match *self {}
    }

    pub(crate) fn slips(&self) -> &[Fault] {
        match *self {}
    }

    pub(crate) fn unused(&self, _: &[bool]) -> Vec<(String, bool, Site)> {
        match *self {}
    }

    pub fn keys_below(&self, _: &[bool], _: &[String], _: &Secrets) -> BTreeMap<String, Description> {
        match *self {}
    }

    pub fn objection(&self, _: &NodeInfo, _: &NodeInfo, _: &[Text], _: &str) -> Option<String> {
        match *self {}
    }

    pub fn class_objection(&self, _: &str, _: &str) -> Option<String> {
        match *self {}
    }

    pub fn scope<'n>(&self, _: impl IntoIterator<Item = (&'n str, Vec<&'n str>)>) -> Vec<bool> {
        match *self {}
    }

    pub fn description(&self, _: &[bool], _: &[Key], _: &Secrets) -> Option<Description> {
        match *self {}
    }
}
