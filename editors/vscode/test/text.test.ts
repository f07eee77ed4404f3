import assert from "node:assert/strict";
import { test } from "node:test";

import { choices, explanation, places, statusItem } from "../source/text.ts";

test("the status bar shows the node and how many there are", () => {
  const uri = "file:///a.yml";
  assert.deepEqual(statusItem({ uri, node: "web1", nodes: 1 }), {
    text: "$(server) web1", tooltip: "The values shown are those of web1. 1 node has this file. Click to choose another one.",
  });
  assert.match(statusItem({ uri, node: "web1", nodes: 12 }).tooltip, /12 nodes have this file/);
  assert.equal(statusItem({ uri, node: null, nodes: 0 }).text, "$(server) no node");
});

test("the list has the nodes, marks the one that is shown, and ends with the way back", () => {
  const list = choices({ nodes: ["web1", "web2"], node: "web2" });
  assert.deepEqual(list.map(({ node, description }) => [node, description]), [
    ["web1", ""], ["web2", "shown now"], [undefined, ""],
  ]);
});

test("an explanation is the block of the hover, below its node", () => {
  const hover = "node **web1**\n\n``````text\nnginx:port = 80\n  ```\n``````";
  assert.equal(explanation(hover), "node web1\n\nnginx:port = 80\n  ```\n");
});

test("a hover without a block is shown as it is", () => {
  assert.equal(explanation("**app.nginx**\n\n2 nodes: web1, web2"), "app.nginx\n\n2 nodes: web1, web2\n");
});

test("the places of an explanation are found", () => {
  const text = "a: http://x:80:1\n  sets      /srv/a.yml:7:15  role < node 'n'\n/b.yml:1:2 and x/c.yml:3:4\n";
  const found = places(text);
  assert.deepEqual(found.map(({ path, line, column }) => [path, line, column]), [["/srv/a.yml", 7, 15], ["/b.yml", 1, 2]]);
  assert.equal(text.slice(found[0]?.start, found[0]?.end), "/srv/a.yml:7:15");
});
