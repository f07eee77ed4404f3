//! Serializes the fields of explanations for which the derived form does not fit.
#![expect(clippy::ref_option, reason = "serde hands fields over like this")]

use serde::{Serialize, Serializer};

use super::Story;
use crate::base::error::Fault;
use crate::base::source::Site;
use crate::base::stack::grow;

/// Why there is no value.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub(super) struct ErrorData<'f> {
    /// The stable code.
    code: &'f str,
    message: String,
    site: Option<&'f Site>,
}

pub(super) fn error<S: Serializer>(fault: &Option<Fault>, serializer: S) -> Result<S::Ok, S::Error> {
    let data = fault.as_ref().map(|fault| {
        let (message, site) = (fault.kind.to_string(), fault.site.as_ref());
        ErrorData { code: fault.code(), message, site }
    });
    data.serialize(serializer)
}

/// Stories are nested, so the stack must grow.
pub(super) fn story<S: Serializer>(story: &Option<Box<Story>>, serializer: S) -> Result<S::Ok, S::Error> {
    grow(|| story.serialize(serializer))
}
