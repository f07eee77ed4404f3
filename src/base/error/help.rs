//! The help of a diagnostic: how to repair the cause, if that is known.

use super::{Kind, short};

impl Kind {
    /// The help, if there is one, abbreviated to 2,000 characters.
    pub fn help(&self) -> Option<String> {
        self.full_help().map(|text| short(&text).into_owned())
    }

    fn full_help(&self) -> Option<String> {
        if let Kind::UnknownSection { name, .. }
        | Kind::ClassNameInvalid { name, .. }
        | Kind::ClassNotFound { written: name, .. } = self
            && name.contains(NO_BREAK)
        {
            return Some(format!("it {NO_BREAK_HELP}"));
        }
        if let Some(name) = self.similar() {
            return Some(format!("'{name}' is similar"));
        }
        match self {
            Kind::ConfigurationUnread { .. } => {
                Some("name it: --config FILE, or the setting 'config_file' in Salt and Python".into())
            }
            Kind::SettingPattern { message, .. } if message.contains("limit for backtracking") => {
                Some("'limit_backtracking' is the limit".into())
            }
            Kind::MergeType { tight: true, .. } => {
                Some("if the scalar is a key with its value, a space is missing after its ':'".into())
            }
            Kind::MergeType { setting, replacing, .. } => {
                let replacing = replacing.as_ref().map(|key| format!("the key '{key}' replaces the earlier value"));
                let setting = setting.map(|setting| format!("the setting '{setting}: true' allows it everywhere"));
                let ways: Vec<String> = replacing.into_iter().chain(setting).collect();
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
            // The lock itself is closed, not its folder.
            Kind::FileUnwritable { message, .. } if message.contains("/.reclass.lock'") =>
            {
                Some("edit as the owner of the folder or as root, or delete the lock file while nobody edits: the next edit creates it with the permissions of the folder".into())
            }
            // The folders of `reclass` where neither a file nor the command line names others.
            Kind::DirectoryNotFound { path, .. } if matches!(path.as_str(), "/etc/reclass" | "/etc/reclass/nodes" | "/etc/reclass/classes") => {
                Some("name the folder of the inventory: '-b DIR' on the command line, or the setting 'inventory_base_uri'".into())
            }
            Kind::DirectoryNotFound { message, .. }
            | Kind::DirectoryUnreadable { message, .. }
            | Kind::FileUnreadable { message, .. }
            | Kind::FileUnwritable { message, .. }
            | Kind::FolderUnflushed { message, .. }
            | Kind::ConfigFile { message, .. } => system_help(message).map(str::to_owned),
            Kind::Lint { help, .. } | Kind::YamlSyntax { help, .. } | Kind::TestInvalid { help, .. } => {
                help.clone()
            }
            Kind::HostWithoutGroup { .. } => {
                Some("a class mapping '* CLASS' gives every node a class".into())
            }
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
            Kind::EditReference { .. } => Some("pass 'interpolate' to have it resolved".into()),
            Kind::ConstantChanged { .. } => Some(
                "remove the value, or set 'strict_constant_parameters: false' to keep the constant".into(),
            ),
            _ => self.storage_help().or_else(|| self.language_help()),
        }
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
            Kind::EtcdConflict { .. } => Some("look at the new value, and try again".into()),
            _ => None,
        }
    }

    /// The help for a file that is YAML, and no node or class file of reclass.
    fn language_help(&self) -> Option<String> {
        let help = match self {
            Kind::SectionType { found: NO_BREAK_STRING, .. } => return Some(format!("it {NO_BREAK_HELP}")),
            Kind::UnknownSection { .. } => "a parameter belongs below 'parameters:'",
            Kind::SectionType { expected: "list", found: "mapping", .. } => {
                "each entry needs '- ' in front of it, and no ':' behind it"
            }
            Kind::SectionType { expected: "list", .. } => {
                "each entry needs '- ' in front of it, with a space"
            }
            Kind::SectionType { expected: "mapping", found: "list", .. } => {
                "write 'key: value' on each line, without '- ' in front of it"
            }
            Kind::SectionType { expected: "mapping", .. } => "each key needs ': ' behind it, with a space",
            Kind::EntryType { found: "mapping", .. } => {
                "an entry is a name alone: remove the ':' and what stands behind it"
            }
            Kind::EntryType { found: "null", .. } => "remove the '-', or write a name behind it",
            Kind::EntryType { found: "list", .. } => "write each name on a line of its own, behind one '- '",
            Kind::EntryType { .. } => "in quotes it is a name",
            Kind::ClassNameInvalid { name, .. } if name.contains(" -") => {
                "YAML joins a line to the one above if it is indented more: each '- ' needs the same column"
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
            Kind::ReferenceCycle { .. } => {
                "give one of these parameters a value that does not lead back to it"
            }
            Kind::ReferenceNotFound { missing, .. } if missing.trim() != missing => {
                "the spaces in the braces are part of the path: remove them"
            }
            Kind::ReferenceNotFound { missing, container, .. }
                if container.is_empty() && matches!(missing.as_str(), "parameters" | "pillar") =>
            {
                return Some(format!("a path begins below 'parameters', so '{missing}' is not part of it"));
            }
            Kind::ReferenceSyntax { message } if message.ends_with("is not closed by '}'") => {
                "write '}' behind the path; '\\${' is the text '${'"
            }
            Kind::DefaultSyntax { message, .. } if message.contains("flow mapping") => {
                "the first '}' ends the reference: write '\\}' for one in the default"
            }
            _ => return None,
        };
        Some(help.to_owned())
    }
}

/// U+00A0, which looks like a space and is a letter for YAML.
pub const NO_BREAK: char = '\u{a0}';
/// What a name or a line has.
pub const NO_BREAK_HELP: &str = "has a no-break space (U+00A0), which YAML takes for a letter: write a space";

/// The type of a text that has one.
pub const NO_BREAK_STRING: &str = "string with a no-break space";

/// The help for an error of the operating system.
fn system_help(message: &str) -> Option<&'static str> {
    const HELPS: [(&str, &str); 14] = [
        ("it changes while it is", "ask again once it is written"),
        ("its owner", "edit it as that user or as root, or give the file to the user that edits"),
        ("its group", "edit it as a member of that group or as root, or give the file another group"),
        ("cannot be kept", "edit it as a user who may set the attribute, or take the attribute away"),
        ("permission denied", "give the user that runs this the right to it, and to the folders above it"),
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
