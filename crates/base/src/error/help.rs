//! The help of a diagnostic: how to repair the cause, if that is known.

use super::{Kind, short};

impl Kind {
    /// The help, if there is one, abbreviated to 2,000 characters.
    pub fn help(&self) -> Option<String> {
        self.full_help().map(|text| short(&text).into_owned())
    }

    fn full_help(&self) -> Option<String> {
        if let Some(help) = self.name_help() {
            return Some(help);
        }
        match self {
            Kind::ConfigurationUnread { path, .. } if !path.ends_with("reclass-config.yml") => {
                Some("its name is 'reclass-config.yml'".into())
            }
            Kind::ConfigurationUnread { .. } => {
                Some("name it: --config FILE, or the setting 'config_file' in Salt and Python".into())
            }
            Kind::UnknownSetting { .. } | Kind::SettingType { .. } | Kind::SettingValue { .. } => {
                self.setting_help()
            }
            Kind::SettingPattern { message, .. } if message.contains("limit for backtracking") => {
                Some("'limit_backtracking' is the limit".into())
            }
            Kind::MergeType { slip: Some(slip @ (MergeSlip::Tight | MergeSlip::NoBreak | MergeSlip::Equals)), .. } => {
                Some(format!("if the scalar is a key with its value, {}", slip.help()))
            }
            Kind::MergeType { setting, replacing, slip, .. } => {
                let replacing = replacing.as_ref().map(|key| format!("the key '{key}' replaces the earlier value"));
                let setting = setting.map(|setting| format!("the setting '{setting}: true' allows it everywhere"));
                let slip = slip.map(|slip| slip.help().to_owned());
                let ways: Vec<String> = slip.into_iter().chain(replacing).chain(setting).collect();
                (!ways.is_empty()).then(|| ways.join("; "))
            }
            Kind::YamlTag { tag: Some(tag) } if matches!(tag.as_str(), "=" | "<<") => {
                Some(format!("a plain '{tag}' has a meaning of its own in YAML 1.1; in quotes it is text"))
            }
            Kind::YamlTag { tag: Some(tag) } if tag.starts_with("!include") => {
                Some("reclass includes no files: put the content into a class, and list the class".into())
            }
            Kind::YamlTag { tag: Some(_) } => {
                Some("tags of other programs have no meaning here; in quotes it is text".into())
            }
            Kind::YamlTag { tag: None } => Some("a text that begins with '!' needs quotes".into()),
            Kind::YamlLimit { setting: Some(setting), .. }
            | Kind::EvaluationLimit { setting: Some(setting), .. } => {
                Some(format!("'{setting}' is the limit"))
            }
            // An integer of too many digits or parts.
            Kind::YamlLimit { setting: None, .. } => Some("in quotes it is text, of any length".into()),
            Kind::GrainsUnknown { .. } => {
                Some("name a file with the grains: --grains PATH, or the setting 'known_grains'".into())
            }
            Kind::GrainUntrusted { grain } if grain.is_empty() => {
                Some("refer to one grain, and list it with its permitted values in 'trusted_grains'".into())
            }
            Kind::GrainUntrusted { grain } => {
                Some(format!("list it with its permitted values in 'trusted_grains': '{grain}: [VALUE, …]'"))
            }
            Kind::FileChanging { .. } => {
                Some("ask again; if it stays so, something writes there all the time".into())
            }
            // The lock itself is closed, not its folder.
            Kind::FileUnwritable { message, .. } if message.contains("/.reclass.lock'") =>
            {
                Some("edit as the owner of the folder or as root, or delete the lock file while nobody edits: the next edit creates it with the permissions of the folder".into())
            }
            // The folders of `reclass` where neither a file nor the command line names others.
            Kind::DirectoryNotFound { path, .. } if matches!(path.as_str(), "" | "/etc/reclass" | "/etc/reclass/nodes" | "/etc/reclass/classes") => {
                Some("name the folder of the inventory: '-b DIR' on the command line, or the setting 'inventory_base_uri'; 'reclass init DIR' makes a new one".into())
            }
            Kind::DirectoryNotFound { message, .. }
            | Kind::DirectoryUnreadable { message, .. }
            | Kind::FileUnreadable { message, .. }
            | Kind::FileUnwritable { message, .. }
            | Kind::FolderUnflushed { message, .. } => system_help(message).map(str::to_owned),
            Kind::ConfigFile { message, help, .. } => {
                help.clone().or_else(|| system_help(message).map(str::to_owned))
            }
            Kind::Lint { help, .. } | Kind::Finding { help, .. } | Kind::YamlSyntax { help, .. } => help.clone(),
            Kind::FileEmpty { .. } => {
                Some("write '{}' into it if it is empty on purpose; a full disk leaves empty files".into())
            }
            Kind::DuplicateDefinition { .. } => Some("remove or rename all of these files but one".into()),
            Kind::ClassNeedsPillar { .. } => Some("set the parameter in the inventory".into()),
            Kind::NothingToExplain { what: "parameter", name, .. }
                if name == "exports" || name.starts_with("exports:") =>
            {
                Some("an export is no parameter: 'reclass explain NODE --export PATH'".into())
            }
            Kind::NothingToExplain { what: "parameter", name, .. }
                if ["classes", "applications", "environment"].contains(&&**name) =>
            {
                Some(format!("'{name}' is no parameter: 'reclass show NODE' has it"))
            }
            Kind::ConstantChanged { .. } => Some(
                "remove the value, or set 'strict_constant_parameters: false' to keep the constant".into(),
            ),
            _ => self.storage_help().or_else(|| self.language_help()),
        }
    }

    /// Whether it may be about text for a shell or another program, of which a backslash in front makes text.
    pub fn may_be_text(&self) -> bool {
        match self {
            Kind::ReferenceNotFound { reference, container, similar: None, .. } => {
                container.is_empty() && is_of_a_shell(reference)
            }
            Kind::ReferenceSyntax { message } => message.contains("is not closed by"),
            Kind::QuerySyntax { .. } => true,
            _ => false,
        }
    }

    /// The help for a name that is nearly right.
    fn name_help(&self) -> Option<String> {
        if let Kind::ReferenceNotFound { reference, .. } = self
            && self.may_be_text()
        {
            let text = format!("'\\{reference}' is text for a shell");
            return Some(match reference.trim_start_matches("${").split_once(":-") {
                Some((path, _)) => format!("a default is written with '::': '${{{path}::…}}'; {text}"),
                None => text,
            });
        }
        if let Kind::UnknownSection { name, .. }
        | Kind::ClassNameInvalid { name, .. }
        | Kind::ClassNotFound { written: name, .. } = self
        {
            if name.contains(NO_BREAK) {
                return Some(format!("it {NO_BREAK_HELP}"));
            }
            if is_in_smart_quotes(name) {
                return Some(SMART_QUOTES_HELP.to_owned());
            }
        }
        if let Kind::ClassNotFound { written: name, .. } = self {
            if name.starts_with('~') {
                let help = "'~' removes applications and replaces keys; a class cannot be removed: remove its entry where it is listed";
                return Some(help.to_owned());
            }
            if name.ends_with('.') {
                return Some("a class name does not end with '.'".to_owned());
            }
        }
        // The path has another form, and its parts may be right.
        if let Kind::ReferenceNotFound { reference, missing, container, .. } = self
            && let Some(help) = form_of_path(reference, missing, container)
        {
            return Some(help);
        }
        if let Kind::NodeNotFound { name, longer, .. } = self {
            match &longer[..] {
                [] => {}
                [long] => {
                    return Some(format!(
                        "its name is '{long}'; 'reclass show {name}' takes the first part of it too"
                    ));
                }
                several => {
                    let names: Vec<String> =
                        several.iter().take(NAMED).map(|name| format!("'{name}'")).collect();
                    let more = if several.len() > NAMED {
                        format!(", … ({} in all)", several.len())
                    } else {
                        String::new()
                    };
                    return Some(format!("several nodes have this short name: {}{more}", names.join(", ")));
                }
            }
        }
        self.similar().map(|name| format!("'{name}' is similar"))
    }

    /// The help for a setting that is in another form, or below another word.
    fn setting_help(&self) -> Option<String> {
        let help = match self {
            Kind::UnknownSetting { name, .. } if name == "reclass" => {
                "settings begin at the left margin: remove this line, and the indentation below it"
            }
            Kind::SettingValue { name, .. } if name == "storage_type" => {
                "'yaml_fs' reads folders, 'yaml_git' a repository of git, 'mixed' both"
            }
            Kind::SettingType { name, .. } if name == "merge_options" => {
                "for example 'merge_options: {packages: unique}'"
            }
            Kind::SettingType { expected, actual, .. }
                if expected == "a list of strings" && actual == "string" =>
            {
                "write it as a list, with '- ' in front of each entry"
            }
            Kind::SettingType { name, expected, .. } if expected.ends_with("'yaml_git'") => {
                return Some(format!(
                    "write '{name}: {{repo: ADDRESS}}', or 'storage_type: yaml_fs' for folders"
                ));
            }
            Kind::SettingType { name, expected, .. } if expected.ends_with("'mixed'") => {
                return Some(format!(
                    "write '{name}: {{storage_type: yaml_fs, uri: FOLDER}}', or yaml_git and repo"
                ));
            }
            _ => return None,
        };
        Some(help.to_owned())
    }

    /// The help for a repository of git, or etcd.
    fn storage_help(&self) -> Option<String> {
        match self {
            Kind::GitAccess { message, .. } if message.contains("Host key verification failed") => Some(
                "add the key of the server to the file of known hosts, or set 'git_unknown_hosts: accept'"
                    .into(),
            ),
            Kind::GitTimeout { .. } => Some("'git_fetch_timeout' is the limit, in seconds".into()),
            Kind::GitCache { message, .. } => {
                let help = system_help(message)
                    .unwrap_or("remove what blocks it: its content will be fetched again");
                Some(help.to_owned())
            }
            Kind::GitProgram { message } if message.contains("cannot allocate memory") => {
                Some("raise the limit of the process (ulimit -v, LimitAS= of systemd)".into())
            }
            Kind::GitProgram { .. } => Some("install git, and ssh for addresses of ssh".into()),
            Kind::EtcdUnreachable { message, .. } | Kind::EtcdStale { message, .. }
                if message.starts_with("cannot run the program") =>
            {
                Some("install etcdctl, on Debian with the package etcd-client".into())
            }
            Kind::Revision { message, .. } if message.starts_with("not a git repository") => Some(
                "the inventory is in no repository of git: 'git init' makes one; a folder can take the place of a revision".into(),
            ),
            Kind::EtcdConflict { .. } => Some("look at the new value, and try again".into()),
            _ => None,
        }
    }

    /// The help for a file that is YAML, and no node or class file of reclass.
    fn language_help(&self) -> Option<String> {
        let help = match self {
            Kind::SectionType { found: NO_BREAK_STRING, .. }
            | Kind::NotAMapping { found: NO_BREAK_STRING } => return Some(format!("it {NO_BREAK_HELP}")),
            Kind::UnknownSection { name, .. } => match name.as_str() {
                "include" | "includes" => "this is a key of Salt: here it is 'classes'",
                "pillar" => "this is a word of Salt: here it is 'parameters'",
                "states" => "this is a word of Salt: here it is 'applications'",
                _ => "a parameter belongs below 'parameters:'",
            },
            // What Python prints for a key of a section.
            Kind::DuplicateKey { key, types: None, written: None }
                if matches!(key.as_str(), "parameters" | "exports" | "classes" | "applications") =>
            {
                return Some(format!(
                    "if this is the section '{key}': the lines below the first one are lost. Move all of them below one '{key}:'"
                ));
            }
            Kind::SectionType { section, found: "list", .. } if section == "environment" => {
                "a node has one environment: write its name alone, without '- ' or '[…]'"
            }
            Kind::SectionType { expected: "list", found: "mapping", .. } => {
                "each entry needs '- ' in front of it, and no ':' behind it"
            }
            Kind::SectionType { expected: "list", .. } => {
                "each entry needs '- ' in front of it, with a space"
            }
            Kind::SectionType { expected: "mapping", found, .. } | Kind::NotAMapping { found } => {
                keys_help(found)
            }
            Kind::EntryType { found: "mapping", .. } => {
                "an entry is a name alone: remove the ':' and what stands behind it"
            }
            Kind::EntryType { found: "null", .. } => "remove the '-', or write a name behind it",
            Kind::EntryType { found: "list", .. } => "write each name on a line of its own, behind one '- '",
            Kind::EntryType { .. } => "in quotes it is a name",
            Kind::ClassNameInvalid { name, .. } if name.contains(" -") => {
                "YAML joins a line to the one above if it is indented more: each '- ' needs the same column"
            }
            Kind::ClassNameInvalid { name, .. } if name.rsplit("${").any(has_slash_before_end) => {
                "a '/' inside of a reference counts too: refer to a parameter whose path has none"
            }
            Kind::ClassNameInvalid { name, .. } if name.contains('/') && !name.contains(' ') => {
                let file = [".yml", ".yaml"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
                let file = file.strip_suffix("/init").unwrap_or(file);
                let file = file.trim_start_matches("./").strip_prefix("classes/").unwrap_or(file);
                return Some(format!(
                    "'.' separates the parts of a name: '{}'",
                    file.trim_matches('/').replace('/', ".")
                ));
            }
            Kind::ClassNameInvalid { name, .. } if name.trim() != name => "remove the spaces around the name",
            Kind::ClassNameInvalid { name, .. } if name.contains(' ') => {
                "each name needs a line of its own with '- ' in front of it, or a ',' between names in '[…]'"
            }
            Kind::ContainerInText { .. } => {
                "refer to a value in it; a reference that stands alone keeps the type of its value"
            }
            Kind::ClassCycle { .. } => {
                "remove one of these entries, or move what both need into a class of its own"
            }
            Kind::ReferenceCycle { cycle } if is_of_itself(cycle) => {
                "a reference means the last value, which is this one: to keep the value of an earlier file, remove this line"
            }
            Kind::ReferenceCycle { .. } => {
                "give one of these parameters a value that does not lead back to it"
            }
            Kind::ReferenceNotFound { missing, container, .. }
                if container.is_empty() && matches!(missing.as_str(), "parameters" | "pillar") =>
            {
                return Some(format!("a path begins below 'parameters', so '{missing}' is not part of it"));
            }
            Kind::ReferenceNotFound { missing, container, .. }
                if container.is_empty() && missing == "grains" =>
            {
                "a grain is '${_grains_:NAME}', if the setting 'grains' lists its name"
            }
            Kind::ReferenceNotFound { within: Some(within), .. } => return Some(within.clone()),
            Kind::ReferenceNotFound { reference, .. } if reference.starts_with("${_grains_:") => {
                "the setting 'grains' lists the grains that references can read; the minion has to report it, too"
            }
            Kind::ReferenceSyntax { message } if message.ends_with("is not closed by ']'") => {
                "write ']' behind the query; '\\$[' is the text '$['"
            }
            Kind::ReferenceSyntax { message } if message.ends_with("is not closed by '}'") => {
                "write '}' behind the path; '\\${' is the text '${'"
            }
            Kind::QuerySyntax { message } if message.starts_with("a test compares") => {
                "compare an export with a value, or with a parameter of this node: 'exports:NAME == self:PATH'"
            }
            Kind::QuerySyntax { message } if message.starts_with("cannot read the query") => {
                "equal is '==', different is '!='; 'and' or 'or' stands between two tests; '\\$[' is the text '$['"
            }
            Kind::QuerySyntax { message } if message.starts_with("the query names no export") => {
                "write '$[ exports:NAME ]', with a ':' behind 'exports'; '\\$[' is the text '$['"
            }
            Kind::DefaultSyntax { message, .. } if message.contains("flow mapping") => {
                "the first '}' ends the reference: write '\\}' for one in the default"
            }
            _ => return None,
        };
        Some(help.to_owned())
    }
}

/// Whether a reference reads like a variable of a shell, which can be nobody's parameter: `${HOSTNAME}`, `${f%.txt}`,
/// `${#f}`, `${F[@]}`, `${f:?no}`, `${1}`.
fn is_of_a_shell(reference: &str) -> bool {
    let Some(inside) = reference.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')) else {
        return false;
    };
    let is_variable = |text: &str| {
        !text.is_empty() && text.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
    };
    let end = inside.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(inside.len());
    let (name, rest) = inside.split_at(end);
    let is_slice = rest.split(':').skip(1).all(|part| part.parse::<i32>().is_ok()) && rest.len() > 1;
    match rest.as_bytes() {
        [] => is_variable(name) && name.starts_with(|c: char| c != '_'),
        [b':', b'-' | b'=' | b'?' | b'+', ..]
        | [b'%' | b'#' | b'^' | b'@' | b'!' | b'?' | b'*', ..]
        | [b',', b',', ..]
        | [b'[', b'@' | b'*', ..] => true,
        [b':', ..] => is_slice && is_variable(name),
        [b'/', ..] => rest.matches('/').count() > 1,
        _ => false,
    }
}

/// The help for a path whose form is wrong.
fn form_of_path(reference: &str, missing: &str, container: &str) -> Option<String> {
    let (sentinel, path) = reference.split_at_checked(reference.find('{')? + 1)?;
    let path = path.strip_suffix('}')?;
    if path.trim() != path {
        let written = path.trim();
        return Some(format!("the spaces belong to the path: write '{sentinel}{written}}}'"));
    }
    if let Some((before, default)) = path.split_once(":-")
        // A list has an item -1.
        && (!missing.starts_with('-') || default.parse::<u32>().is_err())
    {
        return Some(format!("a default is written with '::': '{sentinel}{before}::…}}'"));
    }
    if path.ends_with(':') {
        return Some("remove the ':' at the end".to_owned());
    }
    if container.is_empty() && missing == "exports" {
        let name = path.strip_prefix("exports:")?;
        return Some(format!("an export is asked for by a query: '$[ exports:{name} ]'"));
    }
    None
}

/// How keys are written where something else than a mapping stands.
fn keys_help(found: &str) -> &'static str {
    match found {
        "list" => "write 'key: value' on each line, without '- ' in front of it",
        _ => "each key needs ': ' behind it, with a space",
    }
}

/// Whether a cycle, `a -> a`, has one member.
fn is_of_itself(cycle: &str) -> bool {
    matches!(cycle.split(" -> ").collect::<Vec<_>>()[..], [one, other] if one == other)
}

/// What a value that does not merge may have been meant as.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MergeSlip {
    /// `port:80`
    Tight,
    /// The same with a no-break space.
    NoBreak,
    /// `port = 80`
    Equals,
    /// A list of mappings over a mapping.
    Dashes,
}

impl MergeSlip {
    fn help(self) -> &'static str {
        match self {
            MergeSlip::Tight => "a space is missing after its ':'",
            MergeSlip::NoBreak => {
                "there is a no-break space (U+00A0) after its ':', which YAML takes for a letter: write a space"
            }
            MergeSlip::Equals => "write 'key: value' in place of 'key = value'",
            MergeSlip::Dashes => "if the items are keys of this mapping, remove the '- ' in front of them",
        }
    }
}

/// Maximum number of nodes that a help names.
const NAMED: usize = 10;

/// U+00A0, which looks like a space and is a letter for YAML.
pub const NO_BREAK: char = '\u{a0}';
/// What a name or a line has.
pub const NO_BREAK_HELP: &str = "has a no-break space (U+00A0), which YAML takes for a letter: write a space";

/// Whether a text begins and ends with quotes of a word processor.
pub fn is_in_smart_quotes(text: &str) -> bool {
    let begins = text.starts_with(SMART_QUOTES);
    begins && text.chars().count() > 1 && text.ends_with(SMART_QUOTES)
}

/// The quotes of word processors, which YAML takes for letters.
pub const SMART_QUOTES: [char; 6] = ['“', '”', '„', '‘', '’', '‚'];
/// What they need.
pub const SMART_QUOTES_HELP: &str = "quotes of a word processor are letters for YAML: write \" or '";

/// The type of a text that has a no-break space.
pub const NO_BREAK_STRING: &str = "string with a no-break space";

/// The help for an error of the operating system.
fn system_help(message: &str) -> Option<&'static str> {
    const HELPS: [(&str, &str); 18] = [
        (
            "the revision has no such folder",
            "git keeps no empty folders: put a file into it, and commit it; or the name is wrong",
        ),
        ("it changes while it is", "ask again once it is written"),
        ("its owner", "edit it as that user or as root, or give the file to the user that edits"),
        ("its group", "edit it as a member of that group or as root, or give the file another group"),
        ("cannot be kept", "edit it as a user who may set the attribute, or take the attribute away"),
        ("permission denied", "give the user that runs this the right to it, and to the folders above it"),
        ("which does not exist", "repair the link, or remove it"),
        ("link leads to nothing", "repair the link, or remove it"),
        ("too many levels of symbolic links", "the link leads back to itself: repair it, or remove it"),
        ("no such file or directory", "check the name; it may also be a broken symbolic link"),
        ("input/output error", "look for the failure of the disk in the system log"),
        ("no space left on device", "make room on the disk"),
        ("file too large", "raise the limit of the size of files, 'ulimit -f'"),
        ("interrupted system call", "ask again: a signal interrupted the call"),
        ("disk quota exceeded", "make room on the disk, or raise the quota"),
        ("read-only file system", "mount it so that it can be written"),
        ("too many open files", "raise the limit of open files, 'ulimit -n'"),
        ("not a regular file", "put a regular file in its place"),
    ];
    let message = message.to_lowercase();
    HELPS.iter().find(|(part, _)| message.contains(part)).map(|(_, help)| *help)
}

/// Whether a reference has a slash. `text` begins behind `${`.
fn has_slash_before_end(text: &str) -> bool {
    text.split_once('}').is_some_and(|(inside, _)| inside.contains('/'))
}
