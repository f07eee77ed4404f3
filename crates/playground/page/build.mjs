// Bundles the page into build/playground, beside the engine, which is compressed here: not each server does it.
import { build } from "esbuild";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const here = new URL(".", import.meta.url).pathname;
const target = new URL("../../../build/playground/", import.meta.url).pathname;
mkdirSync(target, { recursive: true });
await build({
  absWorkingDir: here,
  entryPoints: { playground: "main.ts", worker: "worker.ts" },
  outdir: target,
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2023",
  charset: "ascii",
  legalComments: "eof",
});
copyFileSync(`${here}/style.css`, `${target}/playground.css`);
writeFileSync(`${target}/engine.wasm.gz`, gzipSync(readFileSync(process.argv[2]), { level: 9 }));
