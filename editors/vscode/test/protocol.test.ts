import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { test } from "node:test";

import { CHOOSE_NODE, chooseNode, fileOf, NODES, nodesOf, STATUS } from "../source/protocol.ts";

test("the names are those of the server", () => {
  const sources = globSync(`${import.meta.dirname}/../../../crates/lsp/src/**/*.rs`);
  const server = sources.map((path) => readFileSync(path, "utf8")).join("\n");
  for (const [name, value] of Object.entries({ CHOOSE_NODE, NODES, STATUS })) {
    assert.ok(server.includes(`"${value}"`), name);
  }
});

test("the command has the address of a file, and perhaps a node", () => {
  const uri = "file:///srv/salt/classes/a.yml";
  assert.deepEqual(chooseNode(uri, "web1"), { command: "reclass.chooseNode", arguments: [uri, "web1"] });
  assert.deepEqual(chooseNode(uri), { command: "reclass.chooseNode", arguments: [uri] });
  assert.deepEqual(nodesOf(uri), { textDocument: { uri } });
});

test("a code lens names a file by its path or its address", () => {
  assert.deepEqual(fileOf("/srv/salt/classes/a.yml"), { path: "/srv/salt/classes/a.yml" });
  assert.deepEqual(fileOf("file:///srv/a.yml"), { uri: "file:///srv/a.yml" });
  // The letter of a disk is no scheme.
  assert.deepEqual(fileOf("C:\\salt\\a.yml"), { path: "C:\\salt\\a.yml" });
  for (const argument of [undefined, null, 7, ""]) assert.equal(fileOf(argument), undefined);
});
