// Bundles the sources into ../src/explorer.js, with the licences of the libraries. `--check` compares instead.
import { build } from "esbuild";
import { readFileSync, writeFileSync } from "node:fs";

const here = new URL(".", import.meta.url);
const licences = {};
for (const name of ["cytoscape", "@dagrejs/dagre", "@dagrejs/graphlib"]) {
  const folder = new URL(`node_modules/${name}/`, here);
  const { version } = JSON.parse(readFileSync(new URL("package.json", folder), "utf8"));
  licences[`${name} ${version}`] = readFileSync(new URL("LICENSE", folder), "utf8").trim();
}
const result = await build({
  absWorkingDir: new URL(".", import.meta.url).pathname,
  entryPoints: ["source/main.ts"],
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  charset: "ascii",
  legalComments: "none",
  define: { LICENCES: JSON.stringify(licences) },
  write: false,
});
const text = result.outputFiles[0].text;
const target = new URL("../src/explorer.js", here);
if (process.argv.includes("--check")) {
  if (readFileSync(target, "utf8") !== text) {
    console.error("explorer.js is not what the sources give: run make explorer");
    process.exit(1);
  }
} else {
  writeFileSync(target, text);
}
