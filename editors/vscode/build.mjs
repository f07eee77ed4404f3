// Bundles the sources into dist/extension.cjs: one file, so that nothing of node_modules is in the package.
import { build } from "esbuild";

await build({
  absWorkingDir: import.meta.dirname,
  entryPoints: ["source/extension.ts"],
  outfile: "dist/extension.cjs",
  bundle: true,
  minify: true,
  format: "cjs",
  platform: "node",
  // Visual Studio Code 1.91, the oldest one of package.json, has Node 20.
  target: "node20",
  external: ["vscode"],
  legalComments: "eof",
});
