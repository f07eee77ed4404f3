// A person who opens the examples of the language in the playground of the built site, in a real Chromium.
import assert from "node:assert/strict";
import { existsSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { delimiter, extname, join } from "node:path";
import { after, before, test as always } from "node:test";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { chromium } from "playwright-core";
import { packed } from "../share.ts";
import { examples, part, printed } from "./examples.mjs";

const site = fileURLToPath(new URL("../../../../build/docs", import.meta.url));
const folders = (process.env.PATH ?? "").split(delimiter);
const chromiums = folders.flatMap((folder) => ["chromium", "chromium-browser", "google-chrome"].map((name) => join(folder, name)));
const executablePath = chromiums.find((path) => existsSync(path));
const test = (name, run) => always(name, { skip: executablePath ? false : "no Chromium in PATH" }, run);

/** The most that the playground may be over the wire, in bytes, and the time of an answer to a key, in milliseconds. */
const [LARGEST, SLOWEST] = [3_000_000, 50];

let browser, context, server, address, page;
const requests = [];
before(async () => {
  if (!executablePath) return;
  const types = { ".css": "text/css", ".html": "text/html", ".js": "text/javascript", ".svg": "image/svg+xml" };
  server = createServer(({ url }, answer) => {
    const path = join(site, new URL(url, "http://site").pathname);
    answer.writeHead(existsSync(path) ? 200 : 404, { "content-type": types[extname(path)] ?? "application/octet-stream" });
    answer.end(existsSync(path) ? readFileSync(path) : "");
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  address = `http://127.0.0.1:${server.address().port}`;
  browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  context = await browser.newContext({ permissions: ["clipboard-read", "clipboard-write"] });
  page = await context.newPage();
  page.on("request", (request) => requests.push(request.url()));
  page.on("pageerror", (error) => assert.fail(error));
});
after(async () => {
  await browser?.close();
  server?.close();
});

/** Does something, and waits for the answer to it. */
async function answered(act) {
  await page.evaluate(() => document.getElementById("play")?.removeAttribute("data-took"));
  await act();
  await page.waitForSelector("#play[data-took]");
  return Number(await page.getAttribute("#play", "data-took"));
}
const open = (fragment = "") => answered(async () => {
  await page.goto("about:blank");
  await page.goto(`${address}/playground.html${fragment}`);
});
const press = (label) => page.click(`#play .bar button >> text=${label}`);
const output = () => page.textContent("#play .output");
const type = (text) => answered(() => page.keyboard.insertText(text));

test("each example of the language opens with the answer of the page", async () => {
  await page.goto(`${address}/language.html`);
  const links = await page.$$eval(".in-playground a", (links) => links.map((link) => link.getAttribute("href")));
  assert.equal(links.length, examples.length);
  await open();
  for (const [index, { line, files, parts, sessions, node }] of examples.entries()) {
    const about = `docs/language.md:${line}`;
    await answered(() => page.evaluate((fragment) => { location.hash = fragment; }, new URL(links[index], address).hash));
    const paths = await page.$$eval("#play .files button", (buttons) => buttons.map((button) => button.textContent));
    assert.deepEqual(paths, Object.keys(files).sort(), about);
    for (const one of parts.filter((one) => one.node === node)) assert.equal(part(await output(), one.name), one.text, about);
    for (const { command, output: expected } of sessions) {
      const shown = await output();
      const at = shown.search(/^(_reclass_|__reclass__):/m);
      const answer = { messages: at < 0 ? shown : shown.slice(0, at).trimEnd() + (at ? "\n" : ""), data: at < 0 ? "" : shown.slice(at) };
      const text = printed(command, answer);
      if (text !== null) assert.equal(text.trimEnd(), expected.trimEnd(), about);
    }
  }
});

test("an error is shown with its place, which opens the file", async () => {
  await open();
  await page.click("#play .files button >> text=nodes/web1.yml");
  await page.click("#play .cm-content");
  await page.keyboard.press("Control+End");
  await type("  bad: ${adress}\n");
  const problem = page.locator("#play .problems .error");
  assert.match(await problem.textContent(), /nodes\/web1\.yml:7:8.*reference-not-found.*help: .*address/s);
  assert.match(await output(), /error\[reference-not-found\]/);
  assert.equal(await page.locator("#play .files .bad").textContent(), "nodes/web1.yml");
  assert.ok(await page.locator("#play .cm-lintRange-error, #play .cm-lintPoint-error").count());
  await page.click("#play .files button >> text=classes/ntp.yml");
  await problem.locator("button").first().click();
  assert.equal(await page.textContent("#play .files [aria-current]"), "nodes/web1.yml");
  assert.match(await page.textContent("#play .cm-activeLine"), /bad:/);
});

test("explain shows where the values are from", async () => {
  await open();
  await page.click("#play .views button >> text=Explain");
  assert.match(await output(), /time\.example\.com.*classes\/ntp\.yml:3/s);
});

test("a link holds the inventory", async () => {
  await open();
  await page.click("#play .cm-content");
  await page.keyboard.press("Control+End");
  await type("  town: Zürich\n");
  const before = await output();
  await press("Copy link");
  await page.waitForFunction(() => document.querySelector("#play .status")?.textContent.includes("clipboard"));
  const link = await page.evaluate(() => navigator.clipboard.readText());
  assert.ok(link.startsWith(`${address}/playground.html#z=`) && link.length < 500, link);
  await open(new URL(link).hash);
  assert.equal(await output(), before);
  assert.match(before, /town: "Z\\xFCrich"/);
});

test("a link that is damaged opens the first inventory", async () => {
  await open("#z=damaged");
  assert.match(await output(), /time\.example\.com/);
});

test("files are added, renamed and removed, and the node is chosen", async () => {
  await open();
  const prompted = (answer, act) => answered(() => {
    page.once("dialog", (dialog) => dialog.accept(answer));
    return act();
  });
  await prompted("nodes/db1.yml", () => press("New file"));
  await answered(() => page.selectOption("#play select", "db1"));
  assert.match(await output(), /node: db1/);
  await prompted("nodes/db2.yml", () => press("Rename"));
  assert.deepEqual(await page.$$eval("#play option", (all) => all.map((one) => one.value)), ["db2", "web1"]);
  await answered(() => press("Remove"));
  assert.deepEqual(await page.$$eval("#play option", (all) => all.map((one) => one.value)), ["web1"]);
});

test("what nests too deep is an error, and the page goes on", async () => {
  await open();
  await page.click("#play .cm-content");
  await page.keyboard.press("Control+End");
  // Not deeper: the editor reads the text too, and by recursion.
  await type(`  deep: ${"[".repeat(500)}${"]".repeat(500)}\n`);
  assert.match(await output(), /limit_depth/);
  await answered(() => page.keyboard.press("Control+z"));
  assert.match(await output(), /time\.example\.com/);
});

test("the stack of a worker is enough for what nests as deep as it may", async () => {
  const nested = Array.from({ length: 90 }, (_, depth) => `${" ".repeat(depth + 2)}a:`).join("\n");
  const chain = Array.from({ length: 90 }, (_, number) => `  k${number}: \${k${number + 1}}`).join("\n");
  const deep = `x: ${"[".repeat(900)}${"]".repeat(900)}\n`;
  const classes = Array.from({ length: 90 }, (_, number) => [`classes/c${number}.yml`, number < 89 ? `classes: [c${number + 1}]\n` : "{}\n"]);
  const node = `classes: [c0]\nparameters:\n${chain}\n  k90: end\n${nested} 1\n`;
  const files = { ...Object.fromEntries(classes), "nodes/a.yml": node, "reclass-config.yml": deep };
  await open(await packed({ files, node: null }));
  assert.match(await output(), /k0: end/);
  await open(await packed({ files: { "nodes/a.yml": "{}\n", "reclass-config.yml": deep.replaceAll("[", "[".repeat(9)) }, node: null }));
  assert.match(await output(), /exceeds the limit of 1000/);
});

test("nothing is requested after the page is loaded", async () => {
  await open();
  requests.length = 0;
  await page.click("#play .cm-content");
  for (const key of "  a: b") await type(key);
  await page.click("#play .views button >> text=Explain");
  await press("Copy link");
  await page.waitForTimeout(500);
  assert.deepEqual(requests.filter((url) => !url.startsWith("blob:")), []);
});

test("the playground is small", async (t) => {
  const sizes = ["engine.wasm.gz", "playground.js", "worker.js", "playground.css"].map((name) => {
    const path = join(site, "_static/playground", name);
    return [name, name.endsWith(".gz") ? statSync(path).size : gzipSync(readFileSync(path)).length];
  });
  const total = sizes.reduce((sum, [, size]) => sum + size, 0);
  t.diagnostic(`${sizes.map(([name, size]) => `${name} ${size}`).join(", ")}: ${total} bytes over the wire`);
  assert.ok(total < LARGEST);
});

test("a key has its answer at once", async (t) => {
  await open();
  await page.click("#play .cm-content");
  await page.keyboard.press("Control+End");
  await type("  note: ");
  const times = [];
  for (let count = 0; count < 40; count += 1) times.push(await type("x"));
  times.sort((one, other) => one - other);
  const at = (share) => times[Math.floor(times.length * share)];
  t.diagnostic(`from a key to its answer: median ${at(0.5)} ms, nine of ten within ${at(0.9)} ms, slowest ${times.at(-1)} ms`);
  // Other work of the machine may hold up a single key.
  assert.ok(at(0.5) < SLOWEST, `${times}`);
});
