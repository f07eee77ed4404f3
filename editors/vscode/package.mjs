// Packages the extension: for all platforms without the program, and for each wheel with the program inside.
//
//     node package.mjs OUT [WHEEL…]
//
// The version and the address of the repository are those of Cargo.toml.
import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";

const here = import.meta.dirname;
const root = resolve(here, "../..");
const [out, ...wheels] = process.argv.slice(2).map((path) => resolve(path));
if (out === undefined) {
  console.error("usage: node package.mjs OUT [WHEEL…]");
  process.exit(2);
}

/** The first value of a key in Cargo.toml. */
function setting(key) {
  return new RegExp(`^${key} = "(.*)"$`, "m").exec(readFileSync(join(root, "Cargo.toml"), "utf8"))?.[1] ?? "";
}

/** The platform of the editor that a wheel is for, by its name. */
function platform(wheel) {
  const [, libc, arch] = /-(manylinux|linux|musllinux)[\w.]*?_(x86_64|aarch64)\.whl$/.exec(wheel) ?? [];
  if (libc === undefined) throw new Error(`no platform of Visual Studio Code for ${wheel}`);
  return `${libc === "musllinux" ? "alpine" : "linux"}-${arch === "x86_64" ? "x64" : "arm64"}`;
}

/** Takes the program out of a wheel. */
function extract(wheel, program) {
  const script = [
    "import shutil, sys, zipfile",
    "with zipfile.ZipFile(sys.argv[1]) as wheel:",
    "    name, = (name for name in wheel.namelist() if name.endswith('.data/scripts/reclass'))",
    "    with wheel.open(name) as source, open(sys.argv[2], 'wb') as target:",
    "        shutil.copyfileobj(source, target)",
  ].join("\n");
  execFileSync("python3", ["-c", script, wheel, program], { stdio: "inherit" });
  chmodSync(program, 0o755);
}

function vsce(...options) {
  const version = setting("version");
  const repository = setting("repository");
  // Without an address there is nothing that the links of the README could lead to.
  const links = repository
    ? ["--baseContentUrl", `${repository}/blob/v${version}/editors/vscode`, "--baseImagesUrl", `${repository}/raw/v${version}/editors/vscode`]
    : ["--no-rewrite-relative-links", "--allow-missing-repository"];
  const command = ["package", version, "--no-git-tag-version", "--no-dependencies", ...links, ...options];
  execFileSync(join(here, "node_modules/.bin/vsce"), command, { cwd: here, stdio: "inherit" });
}

execFileSync(process.execPath, [join(here, "build.mjs")], { stdio: "inherit" });
mkdirSync(out, { recursive: true });
const manifest = readFileSync(join(here, "package.json"));
const server = join(here, "server");
try {
  copyFileSync(join(root, "LICENSE"), join(here, "LICENSE"));
  rmSync(server, { recursive: true, force: true });
  vsce("--out", join(out, "reclass.vsix"));
  for (const wheel of wheels) {
    const target = platform(basename(wheel));
    const program = join(server, "reclass");
    mkdirSync(dirname(program), { recursive: true });
    extract(wheel, program);
    vsce("--target", target, "--out", join(out, `reclass-${target}.vsix`));
  }
} finally {
  rmSync(server, { recursive: true, force: true });
  rmSync(join(here, "LICENSE"), { force: true });
  // vsce writes the version into it.
  writeFileSync(join(here, "package.json"), manifest);
}
