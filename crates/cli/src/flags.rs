//! Maps the shared options of all programs to settings, and the settings to help texts.
//!
//! There is one table. Names, letters and effects are those of the Python programs. The table of settings
//! provides the help.

use std::ffi::OsString;

use clap::builder::{NonEmptyStringValueParser, PossibleValue, PossibleValuesParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};

use reclass::Request;
use reclass::error::{Fault, Kind, Result};
use reclass::settings::{SettingRow, Shape, TABLE, parse_bool};
use reclass::value::{Map, Value};

#[derive(Clone, Copy)]
enum FlagEffect {
    /// Takes a value with this placeholder.
    Takes(&'static str),
    /// Sets it to true or false.
    Sets(bool),
}

struct Flag {
    letter: Option<char>,
    name: &'static str,
    setting: &'static str,
    effect: FlagEffect,
    heading: &'static str,
    /// Replaces the help of the setting if that does not fit.
    help: Option<&'static str>,
}

const DATABASE: &str = "Database options";
/// The heading of the output options.
pub const OUTPUT: &str = "Output options";
const ANSIBLE: &str = "Ansible options";

const fn flag(letter: char, name: &'static str, setting: &'static str, effect: FlagEffect) -> Flag {
    Flag { letter: Some(letter), name, setting, effect, heading: DATABASE, help: None }
}

const FLAGS: &[Flag] = &[
    Flag {
        letter: None,
        name: "config",
        setting: "config_file",
        effect: FlagEffect::Takes("FILE"),
        heading: DATABASE,
        help: Some(
            "Read the settings from this file only: a reclass-config.yml, or the configuration of a Salt master",
        ),
    },
    flag('s', "storage-type", "storage_type", FlagEffect::Takes("TYPE")),
    flag('b', "inventory-base-uri", "inventory_base_uri", FlagEffect::Takes("URI")),
    flag('u', "nodes-uri", "nodes_uri", FlagEffect::Takes("URI")),
    flag('c', "classes-uri", "classes_uri", FlagEffect::Takes("URI")),
    flag('z', "ignore-class-notfound", "ignore_class_notfound", FlagEffect::Takes("BOOL")),
    flag('a', "compose-node-name", "compose_node_name", FlagEffect::Sets(true)),
    flag('x', "ignore-class-notfound-regexp", "ignore_class_notfound_regexp", FlagEffect::Takes("REGEXP")),
    Flag {
        letter: None,
        name: "grains",
        setting: "known_grains",
        effect: FlagEffect::Takes("PATH"),
        heading: DATABASE,
        help: Some(
            "File or folder with the grains of nodes, as 'salt \'*\' grains.items --static --out json' prints them",
        ),
    },
    Flag { heading: OUTPUT, ..flag('o', "output", "output", FlagEffect::Takes("FORMAT")) },
    Flag { heading: OUTPUT, ..flag('y', "pretty-print", "pretty_print", FlagEffect::Sets(true)) },
    Flag { heading: OUTPUT, ..flag('r', "no-refs", "no_refs", FlagEffect::Sets(true)) },
    Flag {
        letter: None,
        name: "mask-excerpts",
        setting: "mask_excerpts",
        effect: FlagEffect::Sets(true),
        heading: OUTPUT,
        help: Some("Show no values in the excerpts of files below errors, for the log of CI"),
    },
    Flag {
        heading: OUTPUT,
        help: Some("Report the first error only"),
        ..flag('1', "single-error", "group_errors", FlagEffect::Sets(false))
    },
    Flag {
        heading: OUTPUT,
        help: Some("Report all errors of a node at once (default)"),
        ..flag('0', "multiple-errors", "group_errors", FlagEffect::Sets(true))
    },
    Flag {
        letter: None,
        name: "applications-postfix",
        setting: "applications_postfix",
        effect: FlagEffect::Takes("POSTFIX"),
        heading: ANSIBLE,
        help: None,
    },
    Flag {
        letter: None,
        name: "group-form",
        setting: "group_form",
        effect: FlagEffect::Takes("FORM"),
        heading: ANSIBLE,
        help: None,
    },
];

/// Adds the shared options to a program. `defaults` come from the program and the configuration file; the
/// help shows them.
pub fn add(command: Command, defaults: &Map) -> Command {
    add_flags(command, defaults, |flag| flag.heading != ANSIBLE).arg(environment()).arg(colour())
}

/// The option for colours.
pub fn colour() -> Arg {
    Arg::new("color")
        .long("color")
        .value_name("WHEN")
        .value_parser(PossibleValuesParser::new(crate::screen::COLOURS))
        .default_value("auto")
        .help("Colours: on a terminal, always or never")
        .help_heading(OUTPUT)
        .hide_short_help(true)
}

/// Adds the option that only `reclass-ansible` has.
pub fn add_ansible(command: Command, defaults: &Map) -> Command {
    add_flags(command, defaults, |flag| flag.heading == ANSIBLE)
}

/// The option for another environment (S10).
pub fn environment() -> Arg {
    Arg::new("environment")
        .short('e')
        .long("environment")
        .value_name("NAME")
        .allow_hyphen_values(true)
        .overrides_with("environment")
        .help("Render the node as if it were in this environment")
        .help_heading(DATABASE)
        .hide_short_help(true)
}

/// The option for the commit that a master serves (`serve`).
pub fn served() -> Arg {
    Arg::new("served")
        .long("served")
        .action(ArgAction::SetTrue)
        .help("Answer of the commit that the node gets, with the setting 'serve': of folders too")
        .help_heading(DATABASE)
        .hide_short_help(true)
}

/// Whether folders in a repository are asked as the commit that is served; an error without `serve`.
pub fn is_served(matches: &ArgMatches, options: &Map) -> Result<bool> {
    let asked = matches.try_get_one::<bool>("served").ok().flatten().is_some_and(|asked| *asked);
    let tests = options.get("serve").and_then(Value::as_str).is_some_and(|serve| serve != "now");
    if asked && !tests {
        let message = "--served needs the setting 'serve', as --config /etc/salt/master may have it";
        return Err(Fault::new(Kind::Usage { message: message.into() }).into());
    }
    Ok(asked)
}

/// The parts of a request that the options set, beside the name of the node.
pub fn request(matches: &ArgMatches) -> Request {
    let environment = matches.get_one::<String>("environment");
    Request {
        force_environment: environment.is_some(),
        environment: environment.map(|name| name.as_str().into()),
        ..Request::default()
    }
}

/// Adds the options that choose the inventory.
pub fn add_database(command: Command, defaults: &Map) -> Command {
    add_flags(command, defaults, is_of_commands)
}

fn add_flags(command: Command, defaults: &Map, which: impl Fn(&Flag) -> bool) -> Command {
    FLAGS.iter().filter(|flag| which(flag)).fold(command, |command, flag| {
        let row = TABLE.iter().find(|row| row.name == flag.setting);
        let base = Arg::new(flag.name)
            .short(flag.letter)
            .long(flag.name)
            .aliases(abbreviations(flag))
            .help(help(flag, row, defaults))
            .help_heading(flag.heading)
            .hide_short_help(is_rare(flag));
        command.arg(match flag.effect {
            FlagEffect::Takes(name) => {
                let takes = base.value_name(name).allow_hyphen_values(true).overrides_with(flag.name);
                match row.map(|row| row.shape) {
                    // A word that the setting cannot hold is a usage error here; in a file it is bad data
                    // (Y8).
                    Some(Shape::OneOf(words)) => {
                        let word = |word: &&'static str| match *word {
                            "yaml" => PossibleValue::new(word).alias("yml"),
                            word => PossibleValue::new(word),
                        };
                        let words: Vec<_> = words.iter().map(word).collect();
                        takes.value_parser(PossibleValuesParser::new(words)).hide_possible_values(true)
                    }
                    _ => takes,
                }
            }
            FlagEffect::Sets(_) => {
                let rivals = FLAGS.iter().filter(|other| other.setting == flag.setting);
                base.action(ArgAction::SetTrue).overrides_with_all(rivals.map(|other| other.name))
            }
        })
    })
}

/// Whether the commands have an option, beside the programs.
fn is_of_commands(flag: &Flag) -> bool {
    flag.heading == DATABASE || flag.name == "mask-excerpts"
}

/// Whether only `--help` shows an option, and `-h` does not.
fn is_rare(flag: &Flag) -> bool {
    !matches!(flag.name, "output" | "inventory-base-uri" | "applications-postfix" | "group-form")
}

/// Abbreviations that are no longer unique prefixes, because this program has options that the Python
/// programs do not have.
fn abbreviations(flag: &Flag) -> &'static [&'static str] {
    match flag.name {
        "output" => &["o", "ou", "out", "outp", "outpu"],
        "compose-node-name" => &["co"],
        "multiple-errors" => &["m"],
        _ => &[],
    }
}

/// The usage error with no such abbreviation in its tip, because no help shows them. One of two letters
/// resembles too many words, and a longer one stands for its option.
fn without_abbreviation(mut error: clap::Error) -> clap::Error {
    let Some(ContextValue::String(tip)) = error.get(ContextKind::SuggestedArg) else { return error };
    let name = tip.trim_start_matches('-');
    let Some(flag) = FLAGS.iter().find(|flag| abbreviations(flag).contains(&name)) else { return error };
    if name.len() > 2 {
        error.insert(ContextKind::SuggestedArg, ContextValue::String(format!("--{}", flag.name)));
    } else {
        error.remove(ContextKind::SuggestedArg);
        // The usage shows the suggested option.
        error.remove(ContextKind::Usage);
    }
    error
}

/// Whether a command line names an inventory, before or after a verb.
pub fn name_an_inventory(matches: &ArgMatches) -> bool {
    let inner = matches.subcommand().map(|(_, inner)| database_settings(inner)).unwrap_or_default();
    let names = |settings: &Map| {
        ["inventory_base_uri", "nodes_uri", "classes_uri"].iter().any(|name| settings.contains_key(*name))
    };
    names(&settings(matches)) || names(&inner)
}

/// Words that people type for a command, and what leads on.
const WORDS: [(&str, &str); 11] = [
    ("check", "'reclass lint' checks all files, and 'reclass test' runs tests"),
    ("find", "'reclass params', 'classes' and 'refs' find names by globs"),
    ("get", "'reclass show NODE PATH' shows a value"),
    ("list", "'reclass nodes' lists the nodes"),
    ("ls", "'reclass nodes' lists the nodes"),
    ("pillar", "'reclass show NODE' shows the values of a node, 'reclass-salt --pillar NODE' its pillar"),
    (
        "query",
        "'reclass params PATH' shows the places that set a parameter, 'reclass show NODE PATH' its value",
    ),
    ("render", "'reclass show NODE' shows the data of a node"),
    ("search", "'reclass params', 'classes' and 'refs' find names by globs"),
    ("top", "'reclass-salt --top' prints the states of all minions"),
    (
        "tree",
        "'reclass graph' draws the classes, 'reclass explain NODE' lists those of a node in their order",
    ),
];

/// Options that people type, and what leads on.
const OPTIONS: [(&str, &str); 5] = [
    ("--format", "'-o FORMAT' chooses the form, as '-o json'"),
    ("--json", "'-o json' prints JSON"),
    (
        "--staged",
        "'reclass diff HEAD' compares the last commit with the files as they are; 'reclass lint FILE…' checks some files",
    ),
    ("--strict", "'reclass lint' ends with 1 for a warning as for an error"),
    ("--yaml", "'-o yaml' prints YAML, where a command has it"),
];

/// The modes of the programs that take the name of a node.
const NODE_MODES: [(&str, [&str; 4]); 3] = [
    ("reclass", ["--nodeinfo", "-n", "--nodeapps", "-f"]),
    ("reclass-salt", ["--pillar", "-p", "--formulas", "-f"]),
    ("reclass-ansible", ["--host", "-t", "--host", "-t"]),
];

/// The usage error of a program for its arguments, with what leads on: the command or option that people mean.
///
/// `node` gives the node that a word names or nearly names.
pub fn with_way_on(
    mut error: clap::Error,
    program: &str,
    arguments: &[OsString],
    node: impl FnOnce(&str) -> Option<String>,
) -> clap::Error {
    error = without_abbreviation(error);
    let known = |table: &[(&str, &str)], word: &str| {
        table.iter().find(|(name, _)| *name == word).map(|(_, tip)| (*tip).to_owned())
    };
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let tip = match (error.kind(), text(ContextKind::InvalidSubcommand), text(ContextKind::InvalidArg)) {
        (ErrorKind::InvalidSubcommand, Some(word), _) => option_as_node(program, arguments, word)
            .or_else(|| known(&WORDS, word))
            // A word that is nearly a command is no name of a node.
            .or_else(|| {
                error
                    .get(ContextKind::SuggestedSubcommand)
                    .is_none()
                    .then(|| node(word))?
                    .map(|node| format!("'reclass show {node}' shows the data of the node '{node}'"))
            }),
        (ErrorKind::UnknownArgument, _, Some(option)) if option.starts_with('-') => {
            let tip = known(&OPTIONS, option);
            // No value begins with a dash, so clap's way to pass one leads astray.
            error.remove(ContextKind::Suggested);
            if tip.is_some() && error.remove(ContextKind::SuggestedArg).is_some() {
                // The usage shows the suggested option.
                error.remove(ContextKind::Usage);
            }
            tip
        }
        (ErrorKind::UnknownArgument, _, Some(word)) => {
            option_as_node(program, arguments, word).or_else(|| {
                let (_, [mode, ..]) =
                    NODE_MODES.iter().find(|(name, _)| *name == program && name.contains('-'))?;
                Some(format!("'{program} {mode} {word}' asks for a node"))
            })
        }
        (ErrorKind::MissingRequiredArgument, ..) => way_on_without(&error).map(str::to_owned),
        _ => None,
    };
    if let Some(tip) = tip {
        error.remove(ContextKind::SuggestedSubcommand);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

/// What to type if a mode has taken an option for the name of its node, and the value of the option is left.
fn option_as_node(program: &str, arguments: &[OsString], left: &str) -> Option<String> {
    let (_, modes) = NODE_MODES.iter().find(|(name, _)| *name == program)?;
    let words: Vec<&str> = arguments.iter().filter_map(|word| word.to_str()).collect();
    words.windows(3).find_map(|words| match words {
        [mode, option, word] if modes.contains(mode) && option.starts_with('-') && *word == left => Some(
            format!("'{mode}' needs a node, and took '{option}' for its name: '{mode} NODE {option} {word}'"),
        ),
        _ => None,
    })
}

/// What to type if a command lacks its first argument.
fn way_on_without(error: &clap::Error) -> Option<&'static str> {
    const TIPS: [(&str, &str); 4] = [
        ("show", "'reclass nodes' lists the nodes"),
        ("explain", "'reclass nodes' lists the nodes"),
        ("diff", "'reclass diff HEAD' compares the last commit with the files as they are"),
        ("init", "'reclass init .' makes an inventory in this folder"),
    ];
    let Some(ContextValue::StyledStr(usage)) = error.get(ContextKind::Usage) else { return None };
    let usage = usage.to_string();
    let mut words = usage.split_whitespace().skip_while(|word| *word != "reclass").skip(1);
    let command = words.next()?;
    TIPS.iter().find(|(name, _)| *name == command).map(|(_, tip)| *tip)
}

fn help(flag: &Flag, row: Option<&SettingRow>, defaults: &Map) -> String {
    if let Some(help) = flag.help {
        return help.to_owned();
    }
    let Some(row) = row else { return String::new() };
    let text = row
        .doc
        .trim()
        .trim_end_matches('.')
        .trim_start_matches("Command line: ")
        .trim_start_matches("Ansible: ");
    let (first, rest) = text.split_at(text.chars().next().map_or(0, char::len_utf8));
    let text = first.to_uppercase() + rest;
    let default = match defaults.get(flag.setting) {
        Some(value) => reclass::pystr::str(value),
        None => row.default.to_owned(),
    };
    format!("{text} [default: {default}]")
}

/// The configuration file from the command line, before or after a verb.
pub fn configuration_file(matches: &ArgMatches) -> Option<&str> {
    let inner =
        matches.subcommand().and_then(|(_, inner)| inner.try_get_one::<String>("config").ok().flatten());
    inner.or_else(|| matches.try_get_one::<String>("config").ok().flatten()).map(String::as_str)
}

/// The option that sets a folder of the inventory, as people write it.
pub fn option_of(setting: &str) -> Option<String> {
    let flag = FLAGS.iter().find(|flag| flag.setting == setting)?;
    Some(flag.letter.map_or_else(|| format!("--{}", flag.name), |letter| format!("-{letter}")))
}

/// The settings from the command line.
pub fn settings(matches: &ArgMatches) -> Map {
    given(matches, |_| true)
}

/// Whether settings, or the options of a program and its command, take all values out of excerpts.
pub fn masks_excerpts(options: &Map, matches: Option<&ArgMatches>) -> bool {
    let below = matches.and_then(ArgMatches::subcommand).map(|(_, rest)| database_settings(rest));
    let own = matches.map(settings);
    [Some(options), own.as_ref(), below.as_ref()]
        .into_iter()
        .flatten()
        .any(|given| given.get("mask_excerpts") == Some(&Value::Bool(true)))
}

/// The settings from the options of [`add_database`].
pub fn database_settings(matches: &ArgMatches) -> Map {
    given(matches, is_of_commands)
}

fn given(matches: &ArgMatches, which: impl Fn(&Flag) -> bool) -> Map {
    let mut settings = Map::default();
    for flag in FLAGS.iter().filter(|flag| which(flag)) {
        // Not every program has every option.
        if matches.try_contains_id(flag.name).is_err()
            || matches.value_source(flag.name) != Some(ValueSource::CommandLine)
        {
            continue;
        }
        let value = match flag.effect {
            FlagEffect::Takes(_) => matches.get_one::<String>(flag.name).map(|text| taken(flag, text)),
            FlagEffect::Sets(value) => matches.get_flag(flag.name).then_some(Value::Bool(value)),
        };
        if let Some(value) = value {
            settings.insert(flag.setting.into(), value);
        }
    }
    settings
}

/// The value of an option. For a boolean option, the Python programs read any non-empty text as true; here
/// words for false are false (Y8).
fn taken(flag: &Flag, text: &str) -> Value {
    match TABLE.iter().find(|row| row.name == flag.setting).map(|row| row.shape) {
        Some(Shape::Flag) => Value::Bool(parse_bool(text).unwrap_or(true)),
        _ => Value::text(text),
    }
}

/// A mode that takes the name of a node.
pub fn node_mode(letter: char, name: &'static str, help: &'static str) -> Arg {
    mode(letter, name, help)
        .value_name("NODE")
        .action(ArgAction::Append)
        .allow_hyphen_values(true)
        .value_parser(NonEmptyStringValueParser::new())
}

/// A mode without a name.
pub fn inventory_mode(letter: char, name: &'static str, help: &'static str) -> Arg {
    mode(letter, name, help).action(ArgAction::SetTrue)
}

fn mode(letter: char, name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).short(letter).long(name).help(help).help_heading("Modes (exactly one)")
}

/// The single mode on the command line, with its node. None or several modes are a usage error, returned as
/// its message.
pub fn chosen_mode<'a>(
    matches: &'a ArgMatches,
    modes: &[&'static str],
) -> Result<(&'static str, Option<&'a str>), String> {
    let mut chosen = Vec::new();
    for mode in modes {
        match matches.try_get_many::<String>(mode) {
            Ok(nodes) => chosen.extend(nodes.into_iter().flatten().map(|node| (*mode, Some(node.as_str())))),
            Err(_) => chosen.extend(matches.get_flag(mode).then_some((*mode, None))),
        }
    }
    let list = || modes.iter().map(|mode| format!("--{mode}")).collect::<Vec<_>>().join(", ");
    match chosen.as_slice() {
        [one] => Ok(*one),
        [] => Err(format!("one mode has to be given: {}", list())),
        _ => Err(format!("only one mode can be given: {}", list())),
    }
}
