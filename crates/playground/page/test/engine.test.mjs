// The engine for WebAssembly, without a browser.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import { call } from "../call.ts";
import { examples, part, printed } from "./examples.mjs";

const built = new URL("../../../../build/playground/", import.meta.url);
const module = new WebAssembly.Module(gunzipSync(readFileSync(new URL("engine.wasm.gz", built))));
const instance = new WebAssembly.Instance(module);
const ask = (files, node = null, engine = instance) => JSON.parse(call(engine, JSON.stringify({ files, node })));
const parameters = (value) => `parameters:\n${value.replace(/^/gm, "  ")}\n`;

test("it needs nothing from its host", () => assert.deepEqual(WebAssembly.Module.imports(module), []));

test("each example of the language has the answer of the page", () => {
  assert.ok(examples.length > 50, `${examples.length} examples`);
  let json = 0;
  for (const { line, files, parts, sessions, node } of examples) {
    const about = `docs/language.md:${line}`;
    for (const one of parts) assert.equal(part(ask(files, one.node).data ?? "", one.name), one.text, about);
    for (const { command, output } of sessions) {
      const text = printed(command, ask(files, node));
      json += text === null;
      if (text !== null) assert.equal(text.trimEnd(), output.trimEnd(), about);
    }
  }
  assert.equal(json, 1, "the one example that asks for JSON");
});

test("an error has a place and a way out", () => {
  const { findings, messages, data } = ask({ "nodes/a.yml": parameters("x: ${adress}\naddress: 1") });
  const [{ code, level, site, help, message }] = findings;
  assert.deepEqual([code, level, site.file, site.line, site.column], ["reference-not-found", "error", "/srv/salt/reclass/nodes/a.yml", 2, 6]);
  assert.ok(message && help.includes("address"), help);
  assert.ok(messages.includes("x: ${adress}") && data === null);
});

test("lint finds more than errors", () => {
  const { findings, data } = ask({ "nodes/a.yml": parameters("x: 1\nx: 2"), "classes/unused.yml": parameters("y: 1") });
  assert.ok(data);
  assert.deepEqual(findings.map(({ code }) => code).sort(), ["class-unused", "duplicate-key"]);
});

test("explain names the places of all values", () => {
  const { explanation } = ask({ "classes/c.yml": parameters("a: ${b}"), "nodes/n.yml": `classes: [c]\n${parameters("b: 1")}` });
  assert.match(explanation, /classes\/c\.yml:2/);
  assert.match(explanation, /nodes\/n\.yml:3/);
});

test("there may be no files, no nodes, broken settings and a wrong question", () => {
  assert.deepEqual(ask({}).nodes, []);
  assert.equal(ask({ "classes/c.yml": "" }).node, null);
  assert.match(ask({ "reclass-config.yml": "a: [", "nodes/a.yml": "" }).messages, /reclass-config\.yml:\d/);
  assert.match(ask({ "reclass-config.yml": "storage_type: yaml_git\n", "nodes/a.yml": "" }).messages, /^error/);
  assert.ok(JSON.parse(call(instance, "[")).messages);
});

test("storage in git and etcd are errors", () => {
  const git = "storage_type: yaml_git\nnodes_uri: {repo: https://example.com/a.git}\nclasses_uri: {repo: https://example.com/a.git}\n";
  assert.match(ask({ "reclass-config.yml": git, "nodes/a.yml": "" }).messages, /^error/);
  assert.match(ask({ "reclass-config.yml": "etcd_endpoints: http://localhost:2379\n", "nodes/a.yml": "" }).messages, /^(error|warning)/);
});

// Each in a new instance: code that ran often is compiled anew, with smaller frames on the stack.
test("what nests too deep is an error, and not the end of the engine", () => {
  const chain = (count) => Array.from({ length: count }, (_, number) => `k${number}: \${k${number + 1}}`).join("\n") + `\nk${count}: 1`;
  const classes = (count) => Object.fromEntries(Array.from({ length: count }, (_, number) => [`classes/c${number}.yml`, `classes: [c${number + 1}]\n`]));
  const cases = {
    "flow lists": [{ "nodes/a.yml": parameters(`x: ${"[".repeat(5000)}${"]".repeat(5000)}`) }, "limit_depth"],
    "flow mappings": [{ "nodes/a.yml": parameters(`x: ${"{a: ".repeat(5000)}1${"}".repeat(5000)}`) }, "limit_depth"],
    "block mappings": [{ "nodes/a.yml": parameters(Array.from({ length: 500 }, (_, depth) => " ".repeat(depth) + "a:").join("\n")) }, "limit_depth"],
    "block lists": [{ "nodes/a.yml": parameters("- ".repeat(5000) + "a") }, null],
    "references": [{ "nodes/a.yml": parameters(chain(5000)) }, "limit_references"],
    "references in references": [{ "nodes/a.yml": parameters(`x: ${"${".repeat(5000)}a${"}".repeat(5000)}`) }, "deeper than 200"],
    "classes": [{ "nodes/a.yml": "classes: [c0]\n", ...classes(500), "classes/c500.yml": "" }, "limit_include_depth"],
    "settings": [{ "nodes/a.yml": "", "reclass-config.yml": `x: ${"[".repeat(5000)}${"]".repeat(5000)}` }, "exceeds the limit of 1000"],
    "raised limits": [{ "nodes/a.yml": parameters(chain(5000)), "reclass-config.yml": "limit_references: 20000\nlimit_depth: 1000\n" }, "limit_references"],
  };
  for (const [name, [files, expected]] of Object.entries(cases)) {
    for (const engine of [new WebAssembly.Instance(module), instance]) {
      const { messages } = ask(files, null, engine);
      assert.match(messages, /^error/, name);
      if (expected) assert.ok(messages.includes(expected), `${name}: ${messages.slice(0, 300)}`);
    }
  }
});

test("what nests as deep as it may has an answer", () => {
  const nested = Array.from({ length: 90 }, (_, depth) => " ".repeat(depth) + "a:").join("\n") + " 1";
  const chain = Array.from({ length: 90 }, (_, number) => `k${number}: \${k${number + 1}}`).join("\n") + "\nk90: 1";
  for (const engine of [new WebAssembly.Instance(module), instance]) {
    const settings = `x: ${"[".repeat(900)}${"]".repeat(900)}\n`;
    const files = { "nodes/a.yml": parameters(`${chain}\n${nested}`), "reclass-config.yml": settings };
    const { data, explanation, messages } = ask(files, null, engine);
    assert.ok(data && explanation, messages);
  }
});
