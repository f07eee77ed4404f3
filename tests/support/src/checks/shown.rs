//! Errors turn into every form that they have; none panics, breaks its lines, or sends a control
//! character to a terminal.

use reclass::error::{Error, Fault, Warning};
use reclass::report::{self, Level};

/// Whether a line is safe for a terminal and a log.
fn is_inert(text: &str) -> bool {
    !text.chars().any(|c| c.is_control() && c != '\n')
}

/// How many lines the concise form of a problem has.
fn lines(fault: &Fault) -> usize {
    1 + fault.causes.iter().map(lines).sum::<usize>()
}

/// Shows an error in all forms.
pub fn error(error: &Error, read: &dyn Fn(&str) -> Option<String>) {
    let concise = reclass::error::concise(error);
    assert!(is_inert(&concise), "{concise:?}");
    assert_eq!(concise.lines().count(), error.faults().iter().map(lines).sum::<usize>(), "{concise}");
    let full = report::full(error, false, read);
    assert!(is_inert(&full), "{full:?}");
    let _ = report::full(error, true, read);
    assert!(matches!(error.exit_code(), 65 | 74), "{concise}");
    findings(error.faults().iter().map(|fault| (Level::Error, fault.clone())), read);
}

/// Shows warnings in all forms.
pub fn warnings(warnings: &[Warning], read: &dyn Fn(&str) -> Option<String>) {
    for warning in warnings {
        let concise = reclass::error::concise_warning(warning);
        assert!(is_inert(&concise), "{concise:?}");
        let full = report::full_warning(warning, false, read);
        assert!(is_inert(&full), "{full:?}");
    }
    findings(warnings.iter().map(|warning| (Level::Warning, warning.clone())), read);
}

fn findings(problems: impl Iterator<Item = (Level, Fault)>, read: &dyn Fn(&str) -> Option<String>) {
    let findings = report::grouped(problems);
    for full in report::full_findings(&findings, false, read) {
        assert!(is_inert(&full), "{full:?}");
    }
    let annotations = report::github(&findings, "/inventory");
    assert!(is_inert(&annotations), "{annotations:?}");
    assert_eq!(annotations.lines().count(), findings.len(), "{annotations}");
    for text in [report::to_json(&findings), report::to_json(&report::sarif(&findings, &[], "/inventory"))] {
        assert!(is_inert(&text), "{text:?}");
    }
}
