// Bundles the sources into dist/extension.cjs: one file, so that nothing of node_modules is in the package. The licences
// of the libraries in it are in dist/LICENSES.txt.
import { build } from "esbuild";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const here = import.meta.dirname;

const { metafile } = await build({
  absWorkingDir: here,
  entryPoints: ["source/extension.ts"],
  outfile: "dist/extension.cjs",
  bundle: true,
  minify: true,
  format: "cjs",
  platform: "node",
  // Visual Studio Code 1.91, the oldest one of package.json, has Node 20.
  target: "node20",
  external: ["vscode"],
  legalComments: "none",
  metafile: true,
});

/** The folder of the library that a file belongs to. */
const library = (path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0];
const folders = new Set(Object.keys(metafile.inputs).map(library).filter(Boolean));
const licences = [...folders].sort().map((folder) => {
  const { name, version } = JSON.parse(readFileSync(join(here, folder, "package.json"), "utf8"));
  const file = readdirSync(join(here, folder)).find((file) => /^licen[cs]e/i.test(file));
  if (file === undefined) throw new Error(`${name} has no text of its licence`);
  return `${name} ${version}\n\n${readFileSync(join(here, folder, file), "utf8").trim()}\n`;
});
writeFileSync(join(here, "dist/LICENSES.txt"), licences.join(`\n${"-".repeat(80)}\n\n`));
