//! Serializes the fields of explanations for which the derived form does not fit.
#![expect(clippy::ref_option, reason = "serde hands fields over like this")]

use serde::{Serialize, Serializer};

use super::ValueTrace;
use crate::base::error::Fault;
use crate::base::source::Site;
use crate::base::stack::grow;

/// The error of a value.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub(super) struct ErrorData<'f> {
    /// The stable code.
    code: &'f str,
    /// The message.
    message: String,
    /// The place of the error.
    site: Option<&'f Site>,
}

pub(super) fn error<S: Serializer>(fault: &Option<Fault>, serializer: S) -> Result<S::Ok, S::Error> {
    let data = fault.as_ref().map(|fault| {
        let (message, site) = (fault.kind.to_string(), fault.site.as_ref());
        ErrorData { code: fault.code(), message, site }
    });
    data.serialize(serializer)
}

/// Traces are nested, so the stack must grow.
pub(super) fn trace<S: Serializer>(
    trace: &Option<Box<ValueTrace>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    grow(|| trace.serialize(serializer))
}
