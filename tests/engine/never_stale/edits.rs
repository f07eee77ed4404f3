//! An inventory, and what may happen to its files: to content, names, times, links (symbolic and hard)
//! and folders.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use support::folders::until_old;
use tempfile::TempDir;

use support::random::Random;

/// The files of classes that are written, replaced and removed.
const CLASSES: [&str; 7] = ["base", "web", "db/init", "db/more", "asks", "extra", "deep/x"];

/// What nodes include: classes by all the names that they may have.
const NAMES: [&str; 14] = [
    "base",
    "web",
    "db",
    "db.more",
    "extra",
    "deep.x",
    "link",
    "linked",
    "linked.more",
    "moved",
    "moved.more",
    "came.x",
    "asks",
    "second",
];

/// Folders that are moved and exchanged.
const FOLDERS: [&str; 4] = ["classes/db", "classes/deep", "classes/moved", "classes/came"];

/// Where files may be links to.
const LINKS: [&str; 2] = ["classes/link.yml", "nodes/linked.yml"];

/// Where folders may be links to.
const FOLDER_LINKS: [&str; 3] = ["classes/linked", "classes/moved", "nodes/linked"];

/// Second names of files: a class and what is none.
const HARD_LINKS: [&str; 2] = ["classes/second.yml", "classes/.second"];

/// An inventory, and a folder outside of it.
pub struct Site {
    inside: TempDir,
    outside: TempDir,
}

impl Site {
    /// Waits until all files and folders prove that nothing changed.
    pub fn rest(&self) {
        until_old(self.inside.path());
        until_old(self.outside.path());
    }

    /// Ten nodes, half of which include `web`; the others `db`. All export their class.
    pub fn new() -> Site {
        let site = Site { inside: tempfile::tempdir().unwrap(), outside: tempfile::tempdir().unwrap() };
        let exports = "exports: {kind: '${kind}'}\n";
        site.write("classes/base.yml", "parameters: {site: here, list: [1], value: 0}\n");
        site.write("classes/web.yml", &format!("classes: [base]\nparameters: {{kind: web}}\n{exports}"));
        site.write("classes/db/init.yml", &format!("classes: [base]\nparameters: {{kind: db}}\n{exports}"));
        site.write("classes/asks.yml", "parameters: {webs: '$[ if exports:kind == web ]'}\n");
        for number in 0..10 {
            let class = if number % 2 == 0 { "web" } else { "db" };
            site.write(&node(number), &format!("classes: [{class}]\nparameters: {{own: {number}}}\n"));
        }
        site.write("nodes/query.yml", "classes: [asks]\n");
        for file in ["init", "more", "x"] {
            let path = site.elsewhere().join(format!("real/{file}.yml"));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "parameters: {kind: real}\n").unwrap();
        }
        site
    }

    /// The inventory.
    pub fn base(&self) -> &Path {
        self.inside.path()
    }

    /// The folder outside of it.
    pub fn elsewhere(&self) -> &Path {
        self.outside.path()
    }

    fn at(&self, path: &str) -> PathBuf {
        self.base().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.at(path);
        // What is around it may be a link that leads nowhere.
        if fs::create_dir_all(path.parent().unwrap()).is_ok() {
            let _ = fs::write(path, text);
        }
    }

    /// Makes one change, and returns its description. Many changes cannot always be made.
    pub fn edit(&self, random: &mut Random) -> String {
        match random.below(16) {
            0..=2 => self.write_class(random),
            3 => self.write_node(random),
            4 => self.replace(random),
            5 => self.remove(random),
            6..=7 => self.change_times(random),
            8 => self.link_file(random),
            9..=10 => self.link_folder(random),
            11 => self.exchange_folders(random),
            12 => self.move_folder(random),
            13..=14 => self.hard_link(random),
            _ => self.write_outside(random),
        }
    }

    fn write_class(&self, random: &mut Random) -> String {
        let path = format!("classes/{}.yml", random.pick(&CLASSES));
        let (number, kind) = (random.below(5), random.pick(&["web", "db"]));
        let comment = random.pick(&["", "# a comment\n"]);
        let text =
            format!("{comment}parameters: {{kind: {kind}, value: {number}}}\nexports: {{kind: {kind}}}\n");
        self.write(&path, &text);
        format!("wrote {path}: {text}")
    }

    fn write_node(&self, random: &mut Random) -> String {
        let node = node(random.below(12));
        let path = random.pick(&[node.as_str(), "nodes/below/n.yml"]);
        let (first, second, number) = (random.pick(&NAMES), random.pick(&NAMES), random.below(5));
        let text = format!("classes: [{first}, {second}]\nparameters: {{own: {number}, v: '${{value}}'}}\n");
        self.write(path, &text);
        format!("wrote {path}: {text}")
    }

    /// As editors do: beside it, then over it.
    fn replace(&self, random: &mut Random) -> String {
        let (path, number) = (format!("classes/{}.yml", random.pick(&CLASSES)), random.below(5));
        let beside = self.at("classes/.temporary");
        fs::write(&beside, format!("parameters: {{kind: db, value: {number}}}\n")).unwrap();
        let done = fs::rename(beside, self.at(&path)).is_ok();
        format!("replaced {path} {number} {done}")
    }

    fn remove(&self, random: &mut Random) -> String {
        let (class, node) = (format!("classes/{}.yml", random.pick(&CLASSES)), node(random.below(12)));
        let path = random.pick(&[class.as_str(), node.as_str(), LINKS[0], LINKS[1]]).to_owned();
        format!("removed {path} {}", fs::remove_file(self.at(&path)).is_ok())
    }

    /// Sets the time of a file back or forward, or to what it was, often with other content of the same
    /// length.
    fn change_times(&self, random: &mut Random) -> String {
        let (class, node) = (format!("classes/{}.yml", random.pick(&CLASSES)), node(random.below(12)));
        let path = random.pick(&[class.as_str(), node.as_str()]).to_owned();
        let (Ok(text), Ok(about)) = (fs::read_to_string(self.at(&path)), fs::metadata(self.at(&path))) else {
            return format!("found no {path}");
        };
        let before = about.modified().unwrap();
        let digit = char::from_digit(u32::try_from(random.below(10)).unwrap(), 10).unwrap();
        let text: String = text.chars().map(|c| if c.is_ascii_digit() { digit } else { c }).collect();
        if !random.once_in(4) {
            self.write(&path, &text);
        }
        let day = Duration::from_secs(24 * 60 * 60);
        let time = random.pick(&[before, before - day, before + day, SystemTime::UNIX_EPOCH]);
        let times = fs::FileTimes::new().set_modified(time);
        fs::File::options().write(true).open(self.at(&path)).unwrap().set_times(times).unwrap();
        format!("changed the time of {path} to {time:?}, its digits are {digit}")
    }

    fn link_file(&self, random: &mut Random) -> String {
        let (link, class) = (random.pick(&LINKS), random.pick(&CLASSES));
        let _ = fs::remove_file(self.at(link));
        let done = symlink(self.at(&format!("classes/{class}.yml")), self.at(link)).is_ok();
        format!("linked {link} to {class} {done}")
    }

    /// Gives a file a second name, or writes it under that name.
    fn hard_link(&self, random: &mut Random) -> String {
        let (link, class) = (random.pick(&HARD_LINKS), random.pick(&CLASSES));
        let path = self.at(link);
        if path.exists() && random.once_in(2) {
            let number = random.below(5);
            fs::write(path, format!("parameters: {{kind: web, value: {number}}}\n")).unwrap();
            return format!("wrote {link} {number}");
        }
        let _ = fs::remove_file(&path);
        let done = fs::hard_link(self.at(&format!("classes/{class}.yml")), path).is_ok();
        format!("{link} is {class} too {done}")
    }

    /// Makes, moves or takes away a link to a folder.
    fn link_folder(&self, random: &mut Random) -> String {
        let (link, other) = (random.pick(&FOLDER_LINKS), random.pick(&FOLDER_LINKS));
        let is_link = fs::symlink_metadata(self.at(link)).is_ok_and(|about| about.is_symlink());
        if !is_link {
            let target = random
                .pick(&[
                    self.elsewhere().join("real").as_path(),
                    self.elsewhere().join("out").as_path(),
                    self.at("classes/db").as_path(),
                ])
                .to_owned();
            let done = symlink(&target, self.at(link)).is_ok();
            return format!("linked {link} to {} {done}", target.display());
        }
        if random.once_in(2) {
            return format!("removed {link} {}", fs::remove_file(self.at(link)).is_ok());
        }
        format!("moved {link} to {other} {}", fs::rename(self.at(link), self.at(other)).is_ok())
    }

    /// Two folders change places, by a third name.
    fn exchange_folders(&self, random: &mut Random) -> String {
        let (one, other) = (random.pick(&FOLDERS), random.pick(&FOLDERS));
        let steps = [(one, "classes/.aside"), (other, one), ("classes/.aside", other)];
        let done = steps.map(|(from, to)| fs::rename(self.at(from), self.at(to)).is_ok());
        format!("exchanged {one} and {other} {done:?}")
    }

    /// A folder goes out of the inventory, or the one that did comes back, by any name.
    fn move_folder(&self, random: &mut Random) -> String {
        let (folder, out) = (random.pick(&FOLDERS), self.elsewhere().join("out"));
        if out.exists() {
            return format!("moved in {folder} {}", fs::rename(out, self.at(folder)).is_ok());
        }
        format!("moved out {folder} {}", fs::rename(self.at(folder), out).is_ok())
    }

    /// Changes what only links lead to.
    fn write_outside(&self, random: &mut Random) -> String {
        let (file, number) = (random.pick(&["init", "more", "x"]), random.below(5));
        let path = self.elsewhere().join(format!("real/{file}.yml"));
        if random.once_in(3) {
            return format!("removed outside {file} {}", fs::remove_file(path).is_ok());
        }
        fs::write(path, format!("parameters: {{kind: real, value: {number}}}\n")).unwrap();
        format!("wrote outside {file} {number}")
    }
}

fn node(number: usize) -> String {
    format!("nodes/n{number}.yml")
}
