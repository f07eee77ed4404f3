// A person who presses the copy button of each block of each page, in a real Chromium, and gets what to type.
//
// `make test-site` builds the site before. Playwright is that of the explorer.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, before } from "node:test";
import { executablePath, served, test, top } from "./site.mjs";

const explorer = process.env.EXPLORER ?? join(top, "crates/graph/explorer");
const { chromium } = createRequire(join(explorer, "package.json"))("playwright-core");

/** The blocks of code of a page, as its source has them. */
function blocks(page) {
  const fences = [...page.matchAll(/^```(\S*)\n(.*?)^```$/gms)].filter(([, language]) => !language.startsWith("{"));
  return fences.map(([, , text]) => text.replace(/\n+$/, ""));
}

/** The text that one would type: the commands of a session, with their here-documents, or else the whole. */
function typed(block) {
  const commands = [];
  let command = false;
  for (const line of block.split("\n")) {
    command = line.startsWith("$ ") || (command && /^>( |$)/.test(line));
    if (command) commands.push(line.slice(2));
  }
  return commands.length > 0 ? commands.join("\n") : block;
}

/** The pages, without those that are made while the site is built. */
function pages() {
  const below = (folder) => readdirSync(join(top, "docs", folder)).filter((name) => name.endsWith(".md")).map((name) => join(folder, name));
  return [...below(""), ...below("howto")].filter((page) => blocks(readFileSync(join(top, "docs", page), "utf8")).length > 0);
}

let site, context;
before(async () => {
  if (!executablePath) return;
  site = await served(chromium);
  // A clipboard is for pages of a server alone.
  context = await site.browser.newContext({ permissions: ["clipboard-read", "clipboard-write"] });
});
after(() => site?.close());

for (const page of pages()) {
  test(`${page}: what the copy button gives is what one would type`, async () => {
    const tab = await context.newPage();
    await tab.goto(`${site.address}/${page.replace(/\.md$/, ".html")}`);
    await tab.waitForSelector(".copybtn", { state: "attached" });
    const copied = [];
    for (const button of await tab.$$(".copybtn")) {
      await button.click();
      copied.push(await tab.evaluate(async () => {
        const text = await navigator.clipboard.readText();
        await navigator.clipboard.writeText("");
        return text;
      }));
    }
    await tab.close();
    // The site groups and sorts some sections.
    const written = blocks(readFileSync(join(top, "docs", page), "utf8")).map(typed);
    assert.deepEqual(copied.sort(), written.sort());
  });
}

test("a here-document is typed as a whole, and output that looks like one is not", () => {
  assert.equal(typed("$ cat > a <<END\n> b\n>\n> c\n> END\nout\n> out\n$ ls\n"), "cat > a <<END\nb\n\nc\nEND\nls");
  assert.equal(typed("a: 1\n"), "a: 1\n");
});
