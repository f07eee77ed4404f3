import assert from "node:assert/strict";
import { test } from "node:test";

import { addressIn, at, escaped, failureDocument, panelDocument } from "../source/page.ts";

const ADDRESS = "http://127.0.0.1:40067/558ac100106deb343822f859cb280e01/";

test("the address is a whole line of the output", () => {
  assert.equal(addressIn(""), undefined);
  assert.equal(addressIn(ADDRESS.slice(0, 30)), undefined);
  assert.equal(addressIn(ADDRESS), undefined);
  assert.equal(addressIn(`${ADDRESS}\n`), ADDRESS);
  assert.equal(addressIn(`a note\r\n${ADDRESS}\r\n`), ADDRESS);
});

test("the page opens at the chosen node", () => {
  assert.equal(at(ADDRESS, null), ADDRESS);
  assert.equal(at(ADDRESS, "web1.example.com"), `${ADDRESS}#node:web1.example.com&tab=graph`);
  assert.equal(at(`${ADDRESS}#start`, "a&b c"), `${ADDRESS}#node:a%26b%20c&tab=graph`);
});

test("the panel frames that server and nothing else", () => {
  const text = panelDocument(at(ADDRESS, "a&tab"));
  assert.match(text, /default-src 'none'; style-src 'unsafe-inline'; frame-src http:\/\/127\.0\.0\.1:40067"/);
  assert.match(text, /src="http:\/\/127\.0\.0\.1:40067\/[0-9a-f]+\/#node:a%26tab&amp;tab=graph"/);
  assert.doesNotMatch(text, /<script/);
});

test("a message is text, not a part of the document", () => {
  assert.equal(escaped(`<a href="x">&`), "&lt;a href=&quot;x&quot;&gt;&amp;");
  assert.match(failureDocument("no '<b>'"), /<pre>no '&lt;b&gt;'<\/pre>/);
});
