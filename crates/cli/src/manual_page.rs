//! The texts of a help and of a manual page.

/// The address of the documentation; empty until there is one.
const SITE: &str = env!("CARGO_PKG_HOMEPAGE");

/// A purpose and a command line.
pub type Example = (&'static str, &'static str);

/// The parts of a help text and a manual page that do not follow from the arguments.
pub struct Manual {
    /// The name of its documentation page.
    pub page: &'static str,
    /// A paragraph for the manual page.
    pub description: &'static str,
    /// Its examples. A test runs them.
    pub examples: &'static [Example],
    /// The exit codes whose meaning differs from the general one.
    pub exits: &'static [(&'static str, &'static str)],
}

impl Manual {
    /// The text below the help of a command.
    pub fn help(&self, command: &str) -> String {
        format!("{}\n\n{}", self.examples(), self.documentation(command))
    }

    /// The examples, one per line.
    pub fn examples(&self) -> String {
        let lines = self.examples.iter().map(|(_, command)| format!("\n  {command}"));
        format!("Examples:{}", lines.collect::<String>())
    }

    /// The line that says where more is written.
    pub fn documentation(&self, command: &str) -> String {
        let page = address(self.page);
        // Whoever installed the wheel has no sources.
        let page = if SITE.is_empty() { format!("man {command}, and {page} in the sources") } else { page };
        format!("Documentation: {page}")
    }
}

/// The address of a documentation page. Without a site it is the page in the sources.
pub fn address(page: &str) -> String {
    if SITE.is_empty() { format!("docs/{page}.md") } else { format!("{SITE}{page}.html") }
}

/// The exit code of a tool that cannot write into its folder.
pub const UNWRITABLE: (&str, &str) = ("74", "The folder or a file in it cannot be written.");
