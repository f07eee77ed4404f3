// A person who searches the site for a question, in a real Chromium, and finds the page that answers it.
//
// `make test-site` builds the site before. Playwright is that of the explorer.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { delimiter, extname, join } from "node:path";
import { after, before, test as always } from "node:test";
import { fileURLToPath } from "node:url";

const top = fileURLToPath(new URL("../../", import.meta.url));
const explorer = process.env.EXPLORER ?? join(top, "src/analysis/graph/explorer");
const { chromium } = createRequire(join(explorer, "package.json"))("playwright-core");
const site = join(top, "build/docs");
const folders = (process.env.PATH ?? "").split(delimiter);
const chromiums = folders.flatMap((folder) => ["chromium", "chromium-browser", "google-chrome"].map((name) => join(folder, name)));
const executablePath = chromiums.find((path) => existsSync(path));
const test = (name, run) => always(name, { skip: executablePath ? false : "no Chromium in PATH" }, run);

let browser, server, tab;
before(async () => {
  if (!executablePath) return;
  const types = { ".css": "text/css", ".html": "text/html", ".js": "text/javascript", ".svg": "image/svg+xml" };
  server = createServer(({ url }, answer) => {
    const path = join(site, new URL(url, "http://site").pathname);
    answer.writeHead(existsSync(path) ? 200 : 404, { "content-type": types[extname(path)] ?? "application/octet-stream" });
    answer.end(existsSync(path) ? readFileSync(path) : "");
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  tab = await browser.newPage();
});
after(async () => {
  await browser?.close();
  server?.close();
});

/** The first result of a search. */
async function first(query) {
  await tab.goto(`http://127.0.0.1:${server.address().port}/search.html?q=${encodeURIComponent(query)}`);
  const link = await tab.waitForSelector("#search-results li > a");
  return new URL(await link.evaluate((one) => one.href)).pathname.slice(1);
}

const questions = ["list over dict", "wildcard", "environment", "class mapping", "merge lists", "how to remove a list item", "override a list", "escape reference", "null"];
const names = { explain: "explain.html", lint: "lint.html", etcd: "etcd.html", grains: "grains.html", "merge options": "merge-options.html",
  settings: "settings.html", class_mappings: "settings.html", "reference-not-found": "errors.html", ansible: "ansible.html" };

for (const [query, page] of [...questions.map((one) => [one, "language.html"]), ...Object.entries(names)]) {
  test(`${query}: the first result is ${page}`, async () => assert.equal(await first(query), page));
}
