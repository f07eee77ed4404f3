//! An etcd on loopback, and an inventory that has soft metadata in it.

use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use reclass::error::Error;
use reclass::value::{Map, Value};
use reclass::{Inventory, NodeInfo, Request};
use tempfile::TempDir;

/// A server with its folder, which an inventory is in too.
pub struct Server {
    folder: TempDir,
    child: Option<Child>,
    port: u16,
    peer: u16,
    tls: bool,
    /// What `etcdctl` of the tests has in its environment.
    login: Vec<(&'static str, String)>,
}

/// A class `c` with a value of its own, a class `d` after it, and nodes with both, one and none.
pub const FILES: [(&str, &str); 5] = [
    ("classes/c.yml", "parameters: {_param: {a: file, list: [1], map: {x: 1}}}\n"),
    ("classes/d.yml", "parameters: {_param: {d: file}}\n"),
    ("nodes/both.yml", "classes: [c, d]\nparameters: {own: node}\n"),
    ("nodes/one.yml", "classes: [c]\n"),
    ("nodes/none.yml", "parameters: {own: node}\n"),
];

/// The settings of most tests: every answer asks the server.
pub const ALWAYS: &str = "etcd_interval: 0";

impl Server {
    /// A server without encryption and without users; `None` without the programs.
    pub fn start() -> Option<Server> {
        Server::with_tls(false)
    }

    /// A server for clients with a certificate.
    pub fn start_tls() -> Option<Server> {
        Server::with_tls(true)
    }

    fn with_tls(tls: bool) -> Option<Server> {
        let is_there = |program: &str| {
            Command::new(program).arg("--help").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
        };
        if !is_there("etcd") || !is_there("etcdctl") {
            support::absent("etcd", "install etcd-server and etcd-client");
            return None;
        }
        let mut server = Server {
            folder: support::inventory::folder(),
            child: None,
            port: free_port(),
            peer: free_port(),
            tls,
            login: Vec::new(),
        };
        if tls {
            server.make_certificates();
        }
        for (path, text) in FILES {
            server.write(path, text);
        }
        server.run();
        Some(server)
    }

    /// Starts it on the same port, with the data that it had.
    pub fn run(&mut self) {
        let scheme = if self.tls { "https" } else { "http" };
        let (client, peer) =
            (format!("{scheme}://127.0.0.1:{}", self.port), format!("http://127.0.0.1:{}", self.peer));
        let mut command = Command::new("etcd");
        command.arg("--data-dir").arg(self.path("etcd"));
        for (option, value) in [
            ("--listen-client-urls", client.clone()),
            ("--advertise-client-urls", client),
            ("--listen-peer-urls", peer.clone()),
            ("--initial-advertise-peer-urls", peer.clone()),
            ("--initial-cluster", format!("default={peer}")),
            ("--max-request-bytes", "10000000".into()),
        ] {
            command.arg(option).arg(value);
        }
        if self.tls {
            command.arg("--client-cert-auth");
            for (option, file) in
                [("trusted-ca-file", "ca.crt"), ("cert-file", "server.crt"), ("key-file", "server.key")]
            {
                command.arg(format!("--{option}")).arg(self.path(file));
            }
        }
        let log = fs::File::create(self.path("etcd.log")).unwrap();
        let child = command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log).spawn();
        self.child = Some(child.unwrap());
        let begun = Instant::now();
        while !self.ctl_output(&["get", "--", "x"]).status.success() {
            assert!(begun.elapsed() < Duration::from_secs(30), "etcd does not answer: {}", self.log());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn log(&self) -> String {
        fs::read_to_string(self.path("etcd.log")).unwrap_or_default()
    }

    /// Ends it as a crash does.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Makes the log-in of `etcdctl`, after users were switched on.
    pub fn log_in(&mut self, user: &str) {
        self.login.push(("ETCDCTL_USER", user.to_owned()));
    }

    pub fn endpoint(&self) -> String {
        format!("{}127.0.0.1:{}", if self.tls { "https://" } else { "" }, self.port)
    }

    /// Runs the real `etcdctl`, which must succeed.
    pub fn ctl(&self, arguments: &[&str]) -> String {
        let output = self.ctl_output(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn ctl_output(&self, arguments: &[&str]) -> Output {
        self.ctl_command(arguments).output().unwrap()
    }

    pub fn ctl_command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("etcdctl");
        command.args(arguments).env("ETCDCTL_API", "3").env("ETCDCTL_ENDPOINTS", self.endpoint());
        command.stdin(Stdio::null());
        if self.tls {
            for (name, file) in [("CACERT", "ca.crt"), ("CERT", "client.crt"), ("KEY", "client.key")] {
                command.env(format!("ETCDCTL_{name}"), self.path(file));
            }
        }
        command.envs(self.login.iter().cloned());
        command
    }

    /// Sets a key below `/reclass/`.
    pub fn put(&self, key: &str, value: &str) {
        self.ctl(&["put", "--", &format!("/reclass/{key}"), value]);
    }

    pub fn delete(&self, key: &str) {
        self.ctl(&["del", "--", &format!("/reclass/{key}")]);
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// The settings of the inventory, and further ones, separated by commas.
    pub fn settings(&self, more: &str) -> String {
        let folder = self.folder.path().display();
        let mut settings = format!(
            "inventory_base_uri: {folder}, etcd_endpoints: ['{}'], etcd_cache_dir: {folder}/record, \
             etcd_timeout: 2",
            self.endpoint()
        );
        if self.tls {
            let client = format!("etcd_cert: {folder}/client.crt, etcd_key: {folder}/client.key");
            settings = format!("{settings}, etcd_ca: {folder}/ca.crt, {client}");
        }
        if more.is_empty() { settings } else { format!("{settings}, {more}") }
    }

    /// Options for the library. Later ones replace earlier ones.
    pub fn options(&self, more: &str) -> Map {
        let parse = |text: &str| match reclass_yaml::parse_value(&format!("{{{text}}}")).unwrap() {
            Value::Map(map) => map.as_ref().clone(),
            _ => panic!("a mapping: {text}"),
        };
        let mut options = parse(&self.settings(""));
        options.extend(parse(more));
        options
    }

    pub fn options_text(&self, more: &str) -> String {
        let options = reclass::formats::EmitOptions { pretty: true, no_refs: true };
        reclass::formats::emit(&Value::map(self.options(more)), &options)
    }

    pub fn open(&self, more: &str) -> Inventory {
        Inventory::open(&self.options(more)).unwrap()
    }

    /// A run of the program `reclass` with these settings.
    pub fn program(&self, more: &str, arguments: &[&str]) -> Command {
        let folder = tempfile::tempdir_in(self.folder.path()).unwrap().keep();
        fs::write(folder.join("reclass-config.yml"), self.options_text(more)).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_reclass"));
        command.args(arguments).current_dir(folder).env("NO_COLOR", "1");
        command
    }

    /// The file of the record.
    pub fn record(&self) -> PathBuf {
        let all = fs::read_dir(self.path("record")).unwrap().map(|entry| entry.unwrap().path());
        let mut records = all.filter(|path| path.extension().is_some_and(|end| end == "record"));
        let record = records.next().expect("a record");
        assert_eq!(records.next(), None, "one record");
        record
    }

    /// A folder with a program `etcdctl` of this text. `$real` is the real one.
    pub fn fake_ctl(&self, name: &str, script: &str) -> String {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = self.path(name);
        fs::create_dir_all(&folder).unwrap();
        let real = which("etcdctl").expect("etcdctl");
        let path = folder.join("etcdctl");
        fs::write(&path, format!("#!/bin/sh\nreal={}\n{script}\n", real.display())).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        format!("{}:{}", folder.display(), std::env::var("PATH").unwrap())
    }

    fn make_certificates(&self) {
        let script = "set -e; cd \"$1\"
            new() { openssl req -new -newkey rsa:2048 -nodes -keyout $1.key -subj /CN=$1 -out $1.csr; }
            sign() { openssl x509 -req -in $1.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -out $1.crt \
                     -extfile names; }
            echo 'subjectAltName = IP:127.0.0.1' > names
            for ca in ca other; do
                openssl req -x509 -newkey rsa:2048 -nodes -days 2 -keyout $ca.key -out $ca.crt -subj /CN=$ca
            done
            new server; sign server; new client; sign client";
        let made = Command::new("sh").args(["-c", script, "sh"]).arg(self.folder.path()).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn which(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|path| path.is_file())
}

/// The answer for a node.
pub fn ask(inventory: &Inventory, node: &str) -> Result<std::sync::Arc<NodeInfo>, Error> {
    inventory.nodeinfo(node, &Request::default())
}

/// The soft parameters of a node, in the short form of YAML.
pub fn params(inventory: &Inventory, node: &str) -> String {
    let info = ask(inventory, node).unwrap_or_else(|error| panic!("{error}"));
    let params = info.parameters.as_map().and_then(|map| map.get("_param")).cloned().unwrap_or_default();
    short(&params)
}

pub fn short(value: &Value) -> String {
    let options = reclass::formats::EmitOptions { pretty: false, no_refs: true };
    let text = reclass::formats::emit(value, &options);
    text.split_whitespace().collect::<Vec<_>>().join(" ").trim_end_matches(" ...").to_owned()
}

/// The codes and messages of an error.
pub fn text_of<T>(result: Result<T, Error>) -> String {
    match result {
        Ok(_) => panic!("no error"),
        Err(error) => error.to_string(),
    }
}

pub fn said(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}
