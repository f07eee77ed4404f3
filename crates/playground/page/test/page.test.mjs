// A person who opens the examples of the language in the playground of the built site, in a real Chromium.
import assert from "node:assert/strict";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { after, before } from "node:test";
import { gzipSync } from "node:zlib";
import { chromium } from "playwright-core";
import { executablePath, served, site, test } from "../../../../docs/_ext/site.mjs";
import { packed } from "../share.ts";
import { examples, part, printed } from "./examples.mjs";

const axe = readFileSync(new URL("../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");

/** The most that the playground may be over the wire, in bytes, and the time of an answer to a key, in milliseconds. */
const [LARGEST, SLOWEST] = [3_000_000, 50];

let opened, context, page;
const requests = [];
before(async () => {
  if (!executablePath) return;
  opened = await served(chromium);
  context = await opened.browser.newContext({ permissions: ["clipboard-read", "clipboard-write"] });
  page = await context.newPage();
  page.on("request", (request) => requests.push(request.url()));
  page.on("pageerror", (error) => assert.fail(error));
});
after(() => opened?.close());

/** Does something, and waits for the answer to it. */
async function answered(act) {
  await page.evaluate(() => document.getElementById("play")?.removeAttribute("data-took"));
  await act();
  await page.waitForSelector("#play[data-took]");
  return Number(await page.getAttribute("#play", "data-took"));
}
const open = (fragment = "") => answered(async () => {
  await page.goto("about:blank");
  await page.goto(`${opened.address}/playground.html${fragment}`);
});
const press = (label) => page.click(`#play .bar button >> text=${label}`);
const output = () => page.textContent("#play .output");
const notice = () => page.textContent("#play .notice");
const paths = () => page.$$eval("#play .files button", (buttons) => buttons.map((button) => button.textContent));
const type = (text) => answered(() => page.keyboard.insertText(text));

test("each example of the language opens with the answer of the page", async () => {
  await page.goto(`${opened.address}/language.html`);
  const links = await page.$$eval(".in-playground a", (links) => links.map((link) => link.getAttribute("href")));
  assert.equal(links.length, examples.length);
  await open();
  for (const [index, { line, files, parts, sessions, node }] of examples.entries()) {
    const about = `docs/language.md:${line}`;
    await answered(() => page.evaluate((fragment) => { location.hash = fragment; }, new URL(links[index], opened.address).hash));
    assert.deepEqual(await paths(), Object.keys(files).sort(), about);
    for (const one of parts.filter((one) => one.node === node)) assert.equal(part(await output(), one.name), one.text, about);
    for (const { command, output: expected } of sessions) {
      const shown = await output();
      const at = shown.search(/^parameters:/m);
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
  assert.ok(link.startsWith(`${opened.address}/playground.html#z=`) && link.length < 500, link);
  await open(new URL(link).hash);
  assert.equal(await output(), before);
  assert.match(before, /town: "Z\\xFCrich"/);
});

test("a link that is damaged says so, and no other files pass for those of the link", async () => {
  const whole = await packed({ files: { "nodes/other.yml": "parameters: {a: 1}\n" }, node: null });
  for (const damaged of ["#z=garbage", "#z=", whole.slice(0, -12)]) {
    await open(damaged);
    assert.match(await notice(), /This link is damaged.*first example/, damaged);
    assert.ok(await page.isVisible("#play .notice"));
    assert.match(await output(), /time\.example\.com/);
  }
  await answered(() => page.evaluate((fragment) => { location.hash = fragment; }, whole));
  assert.equal(await notice(), "");
  await page.evaluate(() => { location.hash = "#z=garbage"; });
  await page.waitForFunction(() => document.querySelector("#play .notice")?.textContent.includes("still those of before"));
  assert.deepEqual(await paths(), ["nodes/other.yml"]);
  await page.click("#play .cm-content");
  await type("# new\n");
  assert.ok(!(await page.isVisible("#play .notice")));
});

/** Answers the question for a path. */
const prompted = (answer, label) => {
  page.once("dialog", (dialog) => dialog.accept(answer));
  return press(label);
};
const names = () => page.$$eval("#play option", (all) => all.map((one) => one.value));

test("files are added, renamed and removed, and the new node is shown", async () => {
  await open();
  await answered(() => prompted("nodes/db1.yml", "New file"));
  assert.equal(await page.inputValue("#play select"), "db1");
  await answered(() => prompted("nodes/db2.yml", "Rename"));
  assert.deepEqual(await names(), ["db2", "web1"]);
  assert.equal(await page.inputValue("#play select"), "db2");
  await answered(() => page.selectOption("#play select", "web1"));
  assert.match(await output(), /time\.example\.com/);
  await answered(() => prompted("classes/new.yml", "New file"));
  assert.equal(await page.inputValue("#play select"), "web1");
  await page.click("#play .files button >> text=nodes/db2.yml");
  await answered(() => press("Remove"));
  assert.deepEqual(await names(), ["web1"]);
});

test("a path that cannot be is refused, with the reason", async () => {
  await open();
  const before = await paths();
  const refused = [["New file", "../evil", /within the inventory/], ["New file", "/nodes/a.yml", /within/], ["New file", "nodes//a.yml", /within/],
    ["New file", "nodes/db1", /does not end in \.yml/], ["New file", "classes/ntp.yml", /is a file classes\/ntp\.yml already/], ["Rename", "classes/ntp.yml", /already/]];
  for (const [label, path, reason] of refused) {
    await prompted(path, label);
    assert.match(await notice(), reason, `${label} ${path}`);
    assert.deepEqual(await paths(), before);
  }
});

test("the answer begins with the parameters, and the whole of it is there too", async () => {
  await open();
  assert.match(await output(), /^parameters:\n  address: 10\.0\.0\.11\n  ntp:\n    client: .*\n    server: .*\nclasses:\n- ntp\nenvironment: base\n$/);
  await page.click("#play .views button >> text=Whole answer");
  assert.match(await output(), /^__reclass__:\n(.*\n)*  _reclass_:/);
  await open(await packed({ files: { "nodes/a.yml": "{}\n" }, node: null }));
  assert.equal(await output(), "parameters: {}\nenvironment: base\n");
  await open(await packed({ files: { "nodes/a.yml": "parameters: {b: 1}\n", "reclass-config.yml": "pretty_print: false\n" }, node: null }));
  assert.match(await output(), /__reclass__:.*\bb: 1/s);
});

test("errors come before notes, and a file without a place has none", async () => {
  await open(await packed({ files: { "classes/unused.yml": "parameters: {}\n", "nodes/a.yml": "", "nodes/b.yml": "parameters: {x: '${y}'}\n" }, node: null }));
  const problems = await page.$$eval("#play .problems li", (all) => all.map((one) => [one.className, one.textContent]));
  const order = ["error", "warning", "info"];
  assert.ok(problems.length > 2);
  assert.deepEqual(problems, problems.toSorted(([one], [other]) => order.indexOf(one) - order.indexOf(other)));
  assert.ok(problems.every(([, text]) => !text.includes(":0:0")), `${problems}`);
  await page.click("#play .problems li:has-text('file-empty') button");
  assert.equal(await page.textContent("#play .files [aria-current]"), "nodes/a.yml");
});

test("what is in a row is at one height", async () => {
  await open();
  const rows = await page.$$eval("#play .bar", (bars) => bars.map((bar) => [...bar.querySelectorAll("select, button")].map((one) => {
    const { top, bottom } = one.getBoundingClientRect();
    return (top + bottom) / 2;
  })));
  assert.equal(rows.flat().length, 8);
  for (const row of rows) assert.ok(Math.max(...row) - Math.min(...row) < 1, `${row}`);
});

for (const [colorScheme, theme] of [["light", "auto"], ["dark", "auto"], ["light", "dark"], ["dark", "light"]]) {
  test(`the playground has the colours of the theme, and axe finds nothing: ${colorScheme}, ${theme}`, async () => {
    await page.emulateMedia({ colorScheme });
    await open();
    await page.evaluate((theme) => { document.body.dataset.theme = theme; }, theme);
    const ground = (selector) => page.$eval(selector, (one) => getComputedStyle(one).backgroundColor);
    assert.equal(await ground("#play .cm-editor"), await ground("body"));
    await page.click("#play .cm-content");
    await page.keyboard.press("Control+End");
    await type("  bad: ${adress} # 'a'\n  quoted: 'a'\n");
    await prompted("../evil", "New file");
    await page.evaluate(axe);
    const check = async (name) => {
      const { violations } = await page.evaluate(() => globalThis.axe.run("#play", { resultTypes: ["violations"] }));
      return violations.map((one) => `${name}: ${one.id}: ${one.nodes.slice(0, 3).map((node) => `${node.html} ${node.failureSummary}`).join(" | ")}`);
    };
    const found = await check("Answer");
    await page.click("#play .views button >> text=Explain");
    found.push(...await check("Explain"));
    await page.emulateMedia({ colorScheme: null });
    assert.deepEqual(found, []);
  });
}

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
