// What package.json declares and what the sources do are the same.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";

import { documentsOf, SETTINGS } from "../source/files.ts";

const read = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), "utf8");
const manifest = JSON.parse(read("package.json"));
const sources = readdirSync(new URL("../source", import.meta.url)).map((name) => read(`source/${name}`)).join("\n");

test("each command is registered", () => {
  const declared = manifest.contributes.commands.map((one: { command: string }) => one.command).sort();
  const registered = [...sources.matchAll(/ command\("([^"]+)"/g)].map(([, name]) => name).sort();
  assert.deepEqual(registered, declared);
});

test("each setting is read, and explained in the README", () => {
  const readme = read("README.md");
  for (const setting of Object.keys(manifest.contributes.configuration.properties)) {
    assert.ok(readme.includes(`\`${setting}\``), setting);
    // The client of the protocol reads this one.
    if (setting !== "reclass.trace.server") assert.ok(sources.includes(`"${setting.replace("reclass.", "")}"`), setting);
  }
});

test("files with both endings, schemas and settings begin the extension and reach the program", () => {
  const files: string[] = manifest.contributes.configuration.properties["reclass.files"].default;
  assert.deepEqual(files, ["nodes", "classes", "schemas"].map((folder) => `**/${folder}/**/*.{yml,yaml${folder === "schemas" ? ",json" : ""}}`));
  assert.deepEqual(manifest.activationEvents, [...SETTINGS, files[1]].map((glob) => `workspaceContains:${glob}`));
  const documents = documentsOf(["**/inventory/**/*.yaml"]);
  for (const pattern of ["**/inventory/**/*.yaml", ...SETTINGS]) {
    assert.ok(documents.some((one) => one.pattern === pattern && one.language === "yaml" && one.scheme === "file"), pattern);
  }
});

test("the editor is as new as the types and the client need", () => {
  const editor = manifest.engines.vscode;
  assert.equal(`^${manifest.devDependencies["@types/vscode"]}`, editor);
  const needed = JSON.parse(read("node_modules/vscode-languageclient/package.json")).engines.vscode;
  assert.equal(editor, needed);
});

test("the lock file names no registry", () => {
  assert.doesNotMatch(read("package-lock.json"), /"resolved"/);
});
