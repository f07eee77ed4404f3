//! Writes explanations as text: the value, then the steps of the layers, latest first. Each reference and its
//! target come below the text that contains it.

use std::fmt::Write as _;

use super::data::{
    ApplicationTrace, ClassTrace, EnvironmentTrace, Explanation, ItemTrace, QueryAnswer, ReferencePlace,
    ReferenceTrace, Step, ValuePart, ValuePlace, ValueTrace,
};
use reclass::brief::{brief, briefs, whole};
use reclass::parts::evaluate::{Effect, ItemEffect};
use reclass::style::{Paint, Style};
use reclass_base::error::inert;
use reclass_base::secrets::MASK;
use reclass_base::stack::grow;
use reclass_base::value::{Key, Value};

/// The text of an explanation.
pub fn explanation(explanation: &Explanation, paint: Paint) -> String {
    let mut writer = ExplanationWriter { out: String::new(), paint };
    if let Some(environment) = &explanation.environment {
        writer.environment(environment);
    }
    if !explanation.classes.is_empty() {
        writer.heading("classes");
        explanation.classes.iter().for_each(|class| writer.class(class));
        writer.out.push('\n');
    }
    if !explanation.applications.is_empty() {
        writer.heading("applications");
        explanation.applications.iter().for_each(|application| writer.application(application));
        writer.out.push('\n');
    }
    for (name, traces) in [("parameters", &explanation.parameters), ("exports", &explanation.exports)] {
        for trace in traces {
            if trace.path.is_empty() {
                if !trace.parts.is_empty() {
                    writer.heading(name);
                    trace.parts.iter().for_each(|part| writer.part(part, &[]));
                    writer.out.push('\n');
                }
            } else {
                writer.trace(trace);
            }
        }
    }
    writer.out.truncate(writer.out.trim_end().len());
    writer.out
}

/// The value that another layer wrote at the path of a step: the layer before, or for the first step the
/// layer after.
fn neighbor<'s>(trace: &'s ValueTrace, step: &Step) -> Option<&'s Value> {
    let mut others = trace.steps.iter().filter(|other| other.path.len() == step.path.len());
    let at = others.clone().position(|other| std::ptr::eq(other, step))?;
    others.nth(if at == 0 { 1 } else { at - 1 }).map(|other| &other.written)
}

struct ExplanationWriter {
    out: String,
    paint: Paint,
}

impl ExplanationWriter {
    fn heading(&mut self, text: &str) {
        let text = self.paint.of(Style::Heading, text);
        let _ = writeln!(self.out, "{text}");
    }

    /// A line without trailing blanks.
    fn line(&mut self, text: &str) {
        self.out.push_str(text.trim_end());
        self.out.push('\n');
    }

    /// `/srv/classes/a.yml:3:5`, or the layer name if no file wrote the value.
    fn place(&self, place: &ValuePlace) -> String {
        let text = place.site.as_ref().map_or_else(|| place.layer.clone(), ToString::to_string);
        self.paint.of(Style::Place, &inert(&text))
    }

    /// `(node 'web1' < role.web < app.nginx)`: from the file up to the node.
    fn chain(&self, place: &ValuePlace) -> String {
        let text = match (&place.class, place.chain.first()) {
            (Some(class), Some(first)) => {
                let classes: Vec<&str> = place.chain.iter().rev().map(|link| &*link.class).collect();
                debug_assert_eq!(classes.first().copied(), Some(&**class));
                format!("{} < {}", classes.join(" < "), first.includer)
            }
            // The layer name is already shown as the place.
            _ if place.site.is_none() => String::new(),
            _ => place.layer.clone(),
        };
        self.paint.of(Style::Faint, &inert(&text))
    }

    fn value(&self, value: &Value) -> String {
        self.paint.of(Style::Value, &brief(value))
    }

    fn environment(&mut self, environment: &EnvironmentTrace) {
        let value = self.value(&environment.value);
        let from = match (&environment.place, environment.source) {
            (Some(place), _) => self.place(place),
            (None, "request") => "asked for".into(),
            (None, _) => "the setting default_environment".into(),
        };
        self.heading("environment");
        let _ = writeln!(self.out, "  {value}  {from}\n");
    }

    fn class(&mut self, class: &ClassTrace) {
        let name = self.paint.of(Style::Value, &inert(&class.name));
        let file = class.file.as_ref().map_or_else(
            || "no file, and may be missing".to_owned(),
            |file| self.paint.of(Style::Place, &inert(file)),
        );
        let _ = writeln!(self.out, "  {name}  {file}");
        for listing in &class.listings {
            let late = if listing.effective || class.file.is_none() { "" } else { "  (it is in already)" };
            let above: Vec<&str> = listing.chain.iter().rev().skip(1).map(|link| &*link.class).collect();
            let by = listing.chain.first().map_or("", |link| &*link.includer);
            let above =
                if above.is_empty() { by.to_owned() } else { format!("{} < {by}", above.join(" < ")) };
            let above = self.paint.of(Style::Faint, &inert(&above));
            let site = listing.site.as_ref().map_or_else(String::new, ToString::to_string);
            let site = if site.is_empty() { site } else { self.paint.of(Style::Place, &inert(&site)) };
            let place = if site.is_empty() { above } else { format!("{site}  {above}") };
            let written = listing.written.as_ref().map_or_else(String::new, |name| {
                let name = inert(name);
                format!("  as {}", self.paint.of(Style::Value, &name))
            });
            self.line(&format!("    listed    {place}{written}{late}"));
        }
    }

    fn application(&mut self, application: &ApplicationTrace) {
        let name = self.paint.of(Style::Value, &inert(&application.name));
        let gone = if application.present { "" } else { "  (taken away)" };
        let _ = writeln!(self.out, "  {name}{gone}");
        for step in &application.steps {
            let (place, chain) = (self.place(&step.place), self.chain(&step.place));
            self.line(&format!("    {:<9} {place}  {chain}", step.effect));
        }
    }

    fn trace(&mut self, trace: &ValueTrace) {
        let path = inert(&trace.path.to_string());
        let heading = self.paint.of(Style::Heading, &path);
        match (&trace.value, &trace.fault) {
            (Some(Value::Map(map)), _) if !trace.hidden => {
                let _ = writeln!(self.out, "{heading}: a mapping of {}", keys(map.len()));
            }
            // The items of a list follow below.
            (Some(value), _) if trace.exact && !matches!(value, Value::List(_)) => {
                let (first, lines) = whole(value);
                let first = if lines.is_empty() { self.paint.of(Style::Value, &first) } else { first };
                let _ = writeln!(self.out, "{heading}: {first}");
                for line in lines {
                    let line = self.paint.of(Style::Value, &line);
                    self.line(&format!("    {line}"));
                }
            }
            (Some(value), _) => {
                let value = self.value(value);
                let _ = writeln!(self.out, "{heading}: {value}");
            }
            (None, Some(fault)) => {
                let text = format!("error[{}]: {}", fault.code(), inert(&fault.kind.to_string()));
                let text = self.paint.of(Style::Error, &text);
                let _ = writeln!(self.out, "{heading}: {text}");
            }
            (None, None) => {
                let _ = writeln!(self.out, "{heading}: no value");
            }
        }
        if let Some(description) = &trace.description {
            let text = self.paint.of(Style::Faint, &inert(&description.to_string()));
            self.line(&format!("  schema    {text}"));
        }
        for step in trace.steps.iter().rev() {
            self.step(trace, step, 2);
        }
        let inner = trace.parts.iter().filter(|part| part.path.len() > trace.path.len());
        let inner: Vec<&ValuePart> = inner.collect();
        if !inner.is_empty() {
            self.out.push_str("  it holds\n");
            for part in inner {
                self.part(part, &trace.path);
            }
        }
        self.out.push('\n');
    }

    fn step(&mut self, trace: &ValueTrace, step: &Step, indent: usize) {
        let (place, chain) = (self.place(&step.place), self.chain(&step.place));
        let effect = if step.counts { Style::Plain } else { Style::Faint };
        let effect = self.paint.of(effect, &format!("{:<9}", step.effect));
        let pad = " ".repeat(indent);
        self.line(&format!("{pad}{effect} {place}  {chain}"));
        let pad = " ".repeat(indent + 10);
        let written = match &step.written {
            Value::Map(map) if !step.hidden && map.len() > 3 => {
                format!("a mapping of {}", keys(map.len()))
            }
            written => match neighbor(trace, step) {
                // Cut where it differs from the value that it replaces, or from the one that replaces it.
                Some(other) => self.paint.of(Style::Value, &briefs(written, other).0),
                None => self.paint.of(Style::Value, &brief(written)),
            },
        };
        let mut what = written;
        if step.path.len() < trace.path.len() {
            what = format!("'{}' is {what}", inert(&step.path.to_string()));
        }
        if !step.prefix.is_empty() {
            what = format!("{what}, with the prefix {}", inert(&step.prefix));
        }
        let _ = writeln!(self.out, "{pad}{what}");
        if let (Effect::Extends, Some(after)) = (step.effect, &step.after) {
            let after = self.value(after);
            let _ = writeln!(self.out, "{pad}then it is {after}");
        }
        if let Some(setting) = step.setting {
            let _ = writeln!(self.out, "{pad}by the setting {setting}");
        }
        if let Some(option) = &step.merge_option {
            let place = self.place(&option.place);
            let _ = writeln!(self.out, "{pad}by the merge option '{}' {place}", inert(&option.pattern));
            for ItemTrace { effect, item, other } in &option.items {
                let text = match effect {
                    ItemEffect::Dropped => format!("item {item} is dropped: it is there already"),
                    ItemEffect::Removes if *other == 1 => format!("item {item} removes 1 item"),
                    ItemEffect::Removes => format!("item {item} removes {other} items"),
                    ItemEffect::MergedInto => format!("item {item} merges into item {other}"),
                    ItemEffect::Replaces => format!("item {item} replaces item {other}"),
                };
                let _ = writeln!(self.out, "{pad}  {text}");
            }
        }
        for reference in &step.references {
            self.reference(reference, indent + 10);
        }
        for QueryAnswer { node, place } in &step.answers {
            let at = place.as_ref().map_or_else(String::new, |place| self.place(place));
            let _ = writeln!(self.out, "{pad}answered by node '{}' {at}", inert(node));
        }
    }

    fn reference(&mut self, reference: &ReferenceTrace, indent: usize) {
        let pad = " ".repeat(indent);
        let found = match (&reference.value, &reference.fault, reference.default_used) {
            (_, Some(fault), _) => self
                .paint
                .of(Style::Error, &format!("error[{}]: {}", fault.code(), inert(&fault.kind.to_string()))),
            _ if reference.failed => self.paint.of(Style::Error, "nothing, as reported elsewhere"),
            (Some(value), _, true) => format!("{}, its default", self.value(value)),
            (Some(value), _, _) => self.value(value),
            (None, _, true) => "a mapping, its default".into(),
            (None, _, false) => "a mapping".into(),
        };
        let written = self.paint.of(Style::Reference, &inert(&reference.written));
        // The inner references may belong to the default only.
        let resolved = match reference.path.as_ref().map(ToString::to_string) {
            Some(path) if !reference.inner.is_empty() && !reference.written.contains(&path) => {
                format!(" is {},", inert(&path))
            }
            _ => String::new(),
        };
        let _ = writeln!(self.out, "{pad}{written}{resolved} is {found}");
        for inner in &reference.inner {
            self.reference(inner, indent + 2);
        }
        if let Some(trace) = &reference.trace {
            for step in trace.steps.iter().rev().filter(|step| step.counts) {
                grow(|| self.step(trace, step, indent + 2));
            }
        }
    }

    fn part(&mut self, part: &ValuePart, below: &[Key]) {
        let path = inert(&part.path.below(below));
        let value = match &part.value {
            Some(value) => self.value(value),
            None => self.paint.of(Style::Error, "cannot be computed"),
        };
        let place = self.place(&part.place);
        let written = part.written.as_ref().filter(|written| written.as_str() != Some(MASK));
        let written = written.map_or_else(String::new, |written| {
            format!("  {}", self.paint.of(Style::Reference, &brief(written)))
        });
        let _ = writeln!(self.out, "    {path}: {value}  {place}{written}");
        for ReferencePlace { written, place } in &part.via {
            let (written, at) = (brief(written), self.place(place));
            let _ = writeln!(self.out, "      by {written}  {at}");
        }
    }
}

fn keys(count: usize) -> String {
    if count == 1 { "1 key".into() } else { format!("{count} keys") }
}
