//! Prints values, errors and warnings for people and pipes.
//!
//! No other module prints. Data goes to standard output, everything else to standard error.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::{self, ErrorKind, IsTerminal as _, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use reclass::error::{Error, Fault, Kind, Warning};
use reclass::formats::{EmitOptions, write_yaml};
use reclass::parts::storage::fs;
use reclass::redact::Redaction;
use reclass::settings::Settings;
use reclass::value::Value;
use reclass::{json, report};
use reclass_serve::Served;

use crate::process::{current_folder, environment};
use crate::screen;

/// The answer as text, in the format of the settings.
pub fn format(value: &Value, settings: &Settings) -> String {
    let mut text = String::new();
    write(value, settings, &mut |piece| text.push_str(piece));
    text
}

/// Passes on the answer as text in pieces, in the format of the settings.
fn write(value: &Value, settings: &Settings, sink: &mut dyn FnMut(&str)) {
    if &*settings.output == "json" {
        json::write(value, settings.pretty_print, sink);
    } else {
        write_yaml(value, &EmitOptions { pretty: settings.pretty_print, no_refs: settings.no_refs }, sink);
    }
}

/// Prints an answer and a newline, as Python's `print` does: YAML ends with two.
pub fn print(text: &str) -> ExitCode {
    let mut out = io::stdout().lock();
    printed(out.write_all(text.as_bytes()).and_then(|()| out.write_all(b"\n")).and_then(|()| out.flush()))
}

/// Prints a value like [`print`], in the format of the settings.
pub fn print_value(value: &Value, settings: &Settings) -> ExitCode {
    let mut out = io::stdout().lock();
    let mut done = Ok(());
    write(value, settings, &mut |piece| {
        if done.is_ok() {
            done = out.write_all(piece.as_bytes());
        }
    });
    printed(done.and_then(|()| out.write_all(b"\n")).and_then(|()| out.flush()))
}

/// The exit code after printing an answer.
fn printed(done: io::Result<()>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        // The reader has stopped reading, `reclass -i | head`.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            complain(&format!("error: cannot write the answer: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// The exit code of a usage error.
const USAGE: u8 = 2;

/// Prints an error in full. For people it names the command that explains the error; programs that read
/// standard error get the error alone. Returns the exit code.
pub fn fail(error: &Error) -> ExitCode {
    let faults = error.faults().iter().cloned().map(placed).collect();
    complain_apart(&screen::message(&report::full(&Error::new(faults), colours(), &source)));
    let first = error.first();
    if io::stderr().is_terminal()
        && let Some(line) = explanation(first)
    {
        complain(&screen::message(&format!("\n{line}")));
    }
    let code = error.exit_code();
    ExitCode::from(if code == 0 { USAGE } else { code })
}

/// The fault with places for standard error.
fn placed(fault: Fault) -> Fault {
    if io::stderr().is_terminal() { screen::with_shown_places(fault) } else { fault }
}

/// The line that names the command which explains a fault.
fn explanation(fault: &Fault) -> Option<String> {
    let explained = !matches!(fault.kind, Kind::Usage { .. } | Kind::Internal { .. });
    explained.then(|| format!("For an explanation: reclass explain-error {}", fault.code()))
}

/// The same line for an answer, if people read it.
pub fn explanation_in_answer(fault: &Fault) -> Option<String> {
    let line = io::stdout().is_terminal().then(|| explanation(fault)).flatten();
    line.map(|line| screen::message_in_answer(&line))
}

/// Prints a warning in full.
pub fn warn(warning: &Warning) {
    if matches!(warning.kind, Kind::ConfigurationUnread { .. }) {
        return note(warning);
    }
    complain_apart(&screen::message(&report::full_warning(&placed(warning.clone()), colours(), &source)));
}

/// Prints a note in full.
pub fn note(note: &Fault) {
    complain_apart(&screen::message(&report::full_note(&placed(note.clone()), colours(), &source)));
}

/// Prints a sentence that may help.
pub fn hint(sentence: &str) {
    complain(&format!("hint: {}", reclass::error::inert(sentence)));
}

/// Says that the state that a node gets is not the newest one.
pub fn hint_of_older(served: &Served, node: &str) {
    if let Some((own, newest)) = served.older_for(node) {
        hint(&format!("this is revision {own}, which '{node}' gets; the newest one is {newest}"));
    }
}

/// Prints the answer to a command line without words. Returns the code of a usage error.
pub fn introduce(text: &str) -> ExitCode {
    complain(text);
    ExitCode::from(USAGE)
}

/// Tells people which inventory was found above the current folder.
pub fn tell_inventory(folder: &Path) {
    if io::stderr().is_terminal() && current_folder().is_none_or(|current| current != folder) {
        complain(&format!("inventory: {}", fs::display(folder)));
    }
}

/// Prints a usage error, or the help.
pub fn usage(error: &clap::Error) -> ExitCode {
    let done = error.print();
    if !error.use_stderr() {
        // Help and version are answers.
        return printed(done.and_then(|()| io::stdout().flush()));
    }
    // An error is ignored: standard error is closed.
    u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from)
}

/// Prints a report after an empty line, if another one stands above it.
fn complain_apart(report: &str) {
    let between = if REPORTED.swap(true, Ordering::Relaxed) { "\n" } else { "" };
    complain(&format!("{between}{report}"));
}

/// Whether a report was printed.
static REPORTED: AtomicBool = AtomicBool::new(false);

fn complain(text: &str) {
    crate::progress::wipe();
    // An error is ignored: standard error is closed.
    let _ = writeln!(io::stderr().lock(), "{text}");
}

fn colours() -> bool {
    screen::coloured(io::stderr().is_terminal())
}

/// Whether the answer may have colours.
pub fn colours_in_answer() -> bool {
    screen::coloured(io::stdout().is_terminal())
}

/// Maximum size in bytes of a file with excerpts: the highest value of `limit_file_size`.
const LARGEST: usize = 64 * 1024 * 1024;

thread_local! {
    /// Cache of the files with excerpts, because many faults may be in one file.
    static SHOWN: RefCell<HashMap<String, Option<String>>> = RefCell::default();
}

/// The text of an inventory file for excerpts, with secrets hidden.
pub fn source(path: &str) -> Option<String> {
    SHOWN.with_borrow_mut(|shown| shown.entry(path.to_owned()).or_insert_with(|| masked(path)).clone())
}

fn masked(path: &str) -> Option<String> {
    // Pipes and devices are refused, because they may never end.
    let (bytes, _) = fs::read(Path::new(path), LARGEST).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    Some(hidden(&text))
}

/// The text of a file with secrets hidden.
pub fn hidden(text: &str) -> String {
    match REDACTION.get() {
        Some(redaction) => redaction.source(text),
        None => Redaction::standard(MASKS_ALL.load(Ordering::Relaxed)).source(text),
    }
}

/// Reads files again for the next excerpts.
pub fn forget_sources() {
    SHOWN.with_borrow_mut(HashMap::clear);
}

/// Hides secrets in excerpts. It is set as soon as the settings are known.
static REDACTION: OnceLock<Redaction> = OnceLock::new();

/// Hides secrets in excerpts from now on.
pub fn mask(redaction: Redaction) {
    // The process has only one inventory, so the first value counts.
    let _ = REDACTION.set(redaction);
    SHOWN.with_borrow_mut(HashMap::clear);
}

/// Whether excerpts show no values while the settings are not known.
static MASKS_ALL: AtomicBool = AtomicBool::new(false);

/// Decides whether excerpts show values as long as the settings are not known.
pub fn mask_all(all: bool) {
    MASKS_ALL.store(all, Ordering::Relaxed);
}

/// The local time in the form of Python's `time.strftime('%c')`. `SOURCE_DATE_EPOCH`, the convention for
/// reproducible output, replaces the time, in UTC.
pub fn timestamp() -> String {
    let epoch = environment("SOURCE_DATE_EPOCH");
    let epoch = epoch.and_then(|seconds| Timestamp::from_second(seconds.to_str()?.parse().ok()?).ok());
    let now = epoch.map_or_else(Zoned::now, |time| time.to_zoned(TimeZone::UTC));
    now.strftime("%a %b %e %H:%M:%S %Y").to_string()
}
