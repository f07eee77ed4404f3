// A person who searches the site for a question, in a real Chromium, and finds the page that answers it.
//
// `make test-site` builds the site before. Playwright is that of the explorer.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, before } from "node:test";
import { executablePath, served, test, top } from "./site.mjs";

const explorer = process.env.EXPLORER ?? join(top, "crates/graph/explorer");
const { chromium } = createRequire(join(explorer, "package.json"))("playwright-core");

let site, tab;
before(async () => {
  if (!executablePath) return;
  site = await served(chromium);
  tab = await site.browser.newPage();
});
after(() => site?.close());

/** The first result of a search. */
async function first(query) {
  await tab.goto(`${site.address}/search.html?q=${encodeURIComponent(query)}`);
  const link = await tab.waitForSelector("#search-results li > a");
  return new URL(await link.evaluate((one) => one.href)).pathname.slice(1);
}

const questions = ["list over dict", "wildcard", "environment", "class mapping", "merge lists", "how to remove a list item", "override a list", "escape reference", "null"];
const names = { explain: "explain.html", lint: "lint.html", etcd: "etcd.html", grains: "grains.html", "merge options": "merge-options.html",
  settings: "settings.html", class_mappings: "settings.html", "reference-not-found": "errors.html", ansible: "ansible.html" };

for (const [query, page] of [...questions.map((one) => [one, "language.html"]), ...Object.entries(names)]) {
  test(`${query}: the first result is ${page}`, async () => assert.equal(await first(query), page));
}
