// A person at the page, in a real Chromium: searches, clicks, goes back, uses the keyboard, and hears it read.
//
// RECLASS names the program. Where there is no Chromium, the tests are skipped.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test as always } from "node:test";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const top = fileURLToPath(new URL("../../../../", import.meta.url));
const program = process.env.RECLASS ?? join(top, "target/debug/reclass");
const axe = readFileSync(new URL("../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
const folder = mkdtempSync(join(tmpdir(), "explorer-"));
const example = join(top, "examples/inventory");
const folders = (process.env.PATH ?? "").split(delimiter);
const chromiums = folders.flatMap((folder) => ["chromium", "chromium-browser", "google-chrome"].map((name) => join(folder, name)));
const executablePath = chromiums.find((path) => existsSync(path));
const test = (name, run) => always(name, { skip: executablePath ? false : "no Chromium in PATH" }, run);
let browser;

/** Writes the page of an inventory. */
function page(name, ...options) {
  const file = join(folder, name + ".html");
  const environment = { ...process.env, SOURCE_DATE_EPOCH: "1700000000" };
  writeFileSync(file, execFileSync(program, ["graph", ...options], { env: environment, maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "ignore"] }));
  return file;
}

/** Writes an inventory. */
function inventory(name, files) {
  const base = join(folder, name);
  for (const [path, text] of Object.entries({ "classes/.keep": "", ...files })) {
    mkdirSync(dirname(join(base, path)), { recursive: true });
    writeFileSync(join(base, path), text);
  }
  return base;
}

/** Opens a page at an address, when the values are read. An error in the page fails the test. */
async function open(file, hash = "", options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const tab = await context.newPage();
  tab.errors = [];
  tab.on("pageerror", (error) => tab.errors.push(error.message));
  tab.on("console", (message) => { if (message.type() === "error") tab.errors.push(message.text()); });
  tab.on("request", (request) => { if (!/^(file|data|blob):/.test(request.url())) tab.errors.push("asks for " + request.url()); });
  await tab.goto("file://" + file + (hash ? "#" + hash : ""));
  await ready(tab);
  return tab;
}
const ready = (tab) => tab.waitForFunction(() => document.documentElement.dataset.ready === "true");
const hash = (tab) => tab.evaluate(() => decodeURIComponent(location.hash));
/** A link changes the address, and the page follows a moment later. */
async function eventually(check) {
  for (let left = 60; ; left--) {
    try { return await check(); } catch (error) { if (left === 0) throw error; }
    await new Promise((done) => setTimeout(done, 50));
  }
}
const shows = (tab, pattern, selector = "main") =>
  eventually(async () => assert.match(await tab.locator(selector).first().innerText({ timeout: 1000 }), pattern));
async function close(tab) {
  assert.deepEqual(tab.errors, []);
  await tab.context().close();
}

before(async () => {
  if (executablePath) browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
});
after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

const examplePage = () => page("example", "--config", join(example, "reclass-config.yml"), "-b", example);

test("the start page counts, and names what is most used", async () => {
  const tab = await open(examplePage());
  const cards = await tab.locator(".card").allInnerTexts();
  assert.deepEqual(cards.slice(0, 2).map((text) => text.replace(/\s+/g, " ")), ["4 nodes", "8 classes"]);
  const text = await tab.locator("main").innerText();
  for (const part of ["2023-11-14 22:13 UTC", example, "revision", "Most used classes", "Lint by rule", "Environments", "cluster.prague.overrides"]) {
    assert.ok(text.includes(part), `${part} in ${text}`);
  }
  await tab.getByRole("link", { name: "parameter-unused" }).click();
  await shows(tab, /Nothing refers to a key of _param/);
  await close(tab);
});

test("a search by keyboard: slash, arrows, Enter, Escape", async () => {
  const tab = await open(examplePage());
  await tab.keyboard.press("/");
  assert.equal(await tab.evaluate(() => document.activeElement.id), "search");
  await tab.keyboard.type("postgres");
  const options = tab.locator("#found [role=option]");
  assert.match(await options.first().innerText(), /class\s*app\.postgresql/);
  assert.equal(await options.first().locator("mark").innerText(), "postgres");
  await tab.keyboard.press("ArrowDown");
  await tab.keyboard.press("ArrowDown");
  await tab.keyboard.press("ArrowUp");
  assert.equal(await options.first().getAttribute("aria-selected"), "true");
  await tab.keyboard.press("Enter");
  await shows(tab, /app\.postgresql/, "h1");
  assert.equal(await hash(tab), "#class:app.postgresql");
  await tab.keyboard.press("/");
  assert.equal(await tab.locator("#found").isVisible(), true, "the last search is there again");
  await tab.keyboard.press("Escape");
  assert.equal(await tab.locator("#found").isVisible(), false);
  await tab.keyboard.press("Escape");
  assert.equal(await tab.locator("#search").inputValue(), "");
  await close(tab);
});

test("a search says which field matched, in values and in files, with globs", async () => {
  const tab = await open(examplePage());
  const fields = async (text) => {
    await tab.locator("#search").fill(text);
    return [...new Set(await tab.locator("#found .field").allInnerTexts())].filter((field) => field !== "all");
  };
  assert.deepEqual(await fields("web?.example.*"), ["node", "value"]);
  assert.deepEqual(await fields("network:gate*"), ["parameter"]);
  assert.deepEqual(await fields("10.0.0.11:80"), ["value"]);
  assert.deepEqual(await fields("${network:address}:80"), ["written"]);
  assert.deepEqual(await fields("no such thing"), []);
  assert.match(await tab.locator("#found").innerText(), /0 found/);
  await tab.locator("#search").fill("example");
  await tab.keyboard.press("Enter");
  assert.equal(await hash(tab), "#search:example");
  await shows(tab, /Names of nodes: 4/);
  await close(tab);
});

test("links, back and forward, and an address that can be sent", async () => {
  const file = examplePage();
  const tab = await open(file, "node:web1.example.com");
  await shows(tab, /web1\.example\.com/, "h1");
  await tab.locator("tr", { hasText: "nginx:listen" }).getByRole("link", { name: "${network:address}" }).click();
  const wanted = tab.locator("tr.wanted");
  assert.match(await wanted.innerText(), /network:address[\s\S]*10\.0\.0\.11/);
  await wanted.getByRole("link", { name: "site.lan", exact: true }).click();
  await shows(tab, /site\.lan/, "h1");
  await tab.goBack();
  await shows(tab, /web1/, "h1");
  await tab.goForward();
  await shows(tab, /site\.lan/, "h1");
  const other = await open(file, (await hash(tab)).slice(1));
  await shows(other, /site\.lan/, "h1");
  await other.goto("file://" + file + "#class:gone");
  await shows(other, /no class 'gone'/);
  await close(other);
  await close(tab);
});

test("a node: values with steps, classes with chains", async () => {
  const base = inventory("steps", {
    "nodes/n.yml": "classes: [role]\nparameters: {port: 3}\n",
    "classes/role.yml": "classes: [base]\nparameters: {port: 2}\n",
    "classes/base.yml": "parameters: {port: 1, url: 'x:${port}', all: [a, b]}\nexports: {port: '${port}'}\n",
    "nodes/asks.yml": "exports: {}\nparameters: {ports: '$[ exports:port ]'}\n",
  });
  const tab = await open(page("steps", "-b", base), "node:n");
  const row = tab.locator("tr[data-path=port]");
  await row.getByRole("button", { name: "3 layers" }).click();
  const steps = await tab.locator("ol.history li").allInnerTexts();
  assert.deepEqual(steps.map((step) => step.replace(/\s+/g, " ").trim()), [
    "sets base 1 classes/base.yml:1 does not count", "replaces role 2 classes/role.yml:2 does not count", "replaces n 3 nodes/n.yml:2"]);
  await tab.getByRole("link", { name: /^Classes/ }).last().click();
  await eventually(async () => assert.match(await tab.locator("tr", { hasText: "classes/role.yml:1" }).innerText({ timeout: 1000 }), /n → role → base/));
  await tab.getByRole("link", { name: "Exports" }).click();
  await shows(tab, /3\s*\$\{port\}/, "tr[data-path=port]");
  await tab.getByRole("link", { name: "Asked by (1)" }).click();
  await shows(tab, /asks\s+ports/, "main table");
  await close(tab);
});

test("a class: who includes it, who overrides it later; a parameter: its values by node", async () => {
  const base = inventory("class", {
    "nodes/a.yml": "classes: [base]\n", "nodes/b.yml": "classes: [base]\n",
    "nodes/c.yml": "classes: [base]\nparameters: {x: {y: 2}}\n",
    "classes/base.yml": "parameters: {x: {y: 1}, z: '${x:y}'}\n",
  });
  const tab = await open(page("class", "-b", base), "class:base");
  const text = await tab.locator("main").innerText();
  assert.match(text, /Included by 3 files/);
  await tab.locator("tr", { hasText: "x:y" }).first().locator("summary").click();
  assert.match(await tab.locator("ol.history").first().innerText(), /replaces c 2 nodes\/c\.yml:2/);
  await tab.getByRole("link", { name: "References (1)" }).click();
  await shows(tab, /\$\{x:y\}\s+base\s+z/, "main table");
  await tab.goto((await tab.evaluate(() => location.href.split("#")[0])) + "#parameter:x:y");
  await shows(tab, /1\s+a\s+b\s+base/, "main table");
  await shows(tab, /2\s+c\s+c/, "main table");
  await shows(tab, /Set in 2 files[\s\S]*1 reference to it/);
  await close(tab);
});

/** An inventory of 40 roles with five nodes each. */
function roles() {
  const files = {};
  for (let role = 0; role < 40; role++) {
    files[`classes/role/r${role}.yml`] = `classes: [system.s${role}]\n`;
    files[`classes/system/s${role}.yml`] = "parameters: {}\n";
    for (let node = 0; node < 5; node++) files[`nodes/n${role}-${node}.yml`] = `classes: [role.r${role}]\n`;
  }
  return page("roles", "-b", inventory("roles", files));
}

test("the graph: packages open and close, the keyboard moves, a focus has steps", async () => {
  const tab = await open(roles(), "graph");
  const boxes = (wanted) => eventually(async () => {
    const number = Number((await tab.locator(".as-list summary").innerText()).match(/(\d+) box/)[1]);
    assert.ok(wanted(number), `${number} boxes`);
  });
  await boxes((number) => number <= 30);
  await tab.locator(".as-list summary").click();
  await tab.locator("tr", { hasText: "role (40 classes)" }).getByRole("button", { name: "open" }).click();
  await boxes((number) => number >= 40);
  await eventually(async () => assert.equal(await hash(tab), "#graph&open=role"));
  await tab.getByRole("button", { name: "Close role" }).click();
  await boxes((number) => number <= 30);
  await tab.goBack();
  await boxes((number) => number >= 40);
  await tab.goto((await tab.evaluate(() => location.href.split("#")[0])) + "#class:role.r7&tab=graph");
  // Five nodes as one box, or as five; the role, the system.
  await boxes((number) => number === 7);
  await tab.locator(".canvas").focus();
  await tab.keyboard.press("ArrowRight");
  await tab.keyboard.press("ArrowRight");
  await shows(tab, /role\.r7[\s\S]*includes 1, included by 5/, ".box-info");
  await tab.keyboard.press("ArrowRight");
  await tab.keyboard.press("Enter");
  await shows(tab, /system\.s7/, "h1");
  await tab.goBack();
  await tab.locator("#steps").selectOption("1");
  await eventually(async () => assert.match(await hash(tab), /steps=1/));
  await close(tab);
});

test("a click on a package in the picture opens it", async () => {
  const tab = await open(roles(), "graph&open=,");
  const canvas = await tab.locator(".canvas").boundingBox();
  // The boxes are in one row: nodes, roles, systems. Two clicks must not be a double click.
  for (let x = canvas.width - 30; x > 0 && !/open=\w/.test(await hash(tab)); x -= 50) {
    await tab.mouse.click(canvas.x + x, canvas.y + canvas.height / 2);
    await tab.waitForTimeout(300);
  }
  assert.match(await hash(tab), /open=system/);
  await close(tab);
});

test("places lead into the repository", async () => {
  const base = inventory("linked", { "sub dir/nodes/n.yml": "classes: []\nparameters:\n  x: 1\n", "sub dir/classes/a.yml": "{}\n" });
  const git = (...words) => execFileSync("git", ["-C", base, "-c", "user.name=a", "-c", "user.email=a@example.com", ...words], { encoding: "utf8" }).trim();
  git("init", "--quiet");
  git("add", ".");
  git("commit", "--quiet", "-m", "one");
  const address = "https://git.example.com/x/blob/{revision}/{file}#L{line}";
  const tab = await open(page("linked", "-b", join(base, "sub dir"), "--link", address), "node:n");
  const link = tab.locator("tr[data-path=x] a.place");
  assert.equal(await link.getAttribute("href"), `https://git.example.com/x/blob/${git("rev-parse", "HEAD")}/sub%20dir/nodes/n.yml#L3`);
  assert.equal(await link.innerText(), "nodes/n.yml:3");
  const other = await open(page("script", "-b", join(base, "sub dir"), "--link", "javascript:alert(1)//{file}"), "node:n");
  assert.equal(await other.locator("tr[data-path=x] a.place").count(), 0, "only addresses of the web are links");
  await close(other);
  await close(tab);
});

test("what fails is red and has its problem and place", async () => {
  const base = inventory("broken", {
    "nodes/bad.yml": "classes: [web, gone]\n", "nodes/half.yml": "parameters:\n  url: ${host}\n  fine: 1\n", "classes/web.yml": "parameters: {}\n" });
  const tab = await open(page("broken", "-b", base));
  await shows(tab, /What fails[\s\S]*bad[\s\S]*no class 'gone'[\s\S]*nodes\/bad\.yml:1/);
  await tab.goto((await tab.evaluate(() => location.href.split("#")[0])) + "#node:half");
  assert.match(await tab.locator("tr[data-path=url]").innerText(), /cannot be computed/);
  assert.match(await tab.locator("tr[data-path=fine]").innerText(), /1/);
  await close(tab);
});

test("a box of several nodes says how many fail, and only nodes that fail are red", async () => {
  const files = { "classes/web.yml": "{}", "classes/db.yml": "{}" };
  for (let at = 0; at < 20; at++) files[`nodes/m${at}.yml`] = `classes: [${at < 18 ? "web" : "db"}${at === 19 ? ", gone" : ""}]\n${at < 3 ? "parameters: {url: '${host}'}\n" : ""}`;
  const tab = await open(page("failing", "-b", inventory("failing", files)), "graph");
  await tab.locator(".as-list summary").click();
  const boxes = tab.locator(".as-list td:first-child");
  await eventually(async () => assert.ok((await boxes.allInnerTexts()).some((text) => /\(18 nodes, 3 fail\)/.test(text))));
  assert.deepEqual((await tab.locator(".as-list td:first-child a.bad").allInnerTexts()).sort(), ["gone", "m19"]);
  await close(tab);
});

test("what a click opens is in sight, in letters of 11 pixels", async () => {
  const files = {};
  for (let at = 0; at < 60; at++) files[`classes/role/p${at}/a.yml`] = files[`classes/role/p${at}/b.yml`] = "{}";
  for (let at = 0; at < 60; at++) files[`nodes/m${at}.example.com.yml`] = `classes: [role.p${at}.a, role.p${at}.b]\n`;
  const tab = await open(page("opened", "-b", inventory("opened", files)), "graph&open=role,role.p42");
  const graph = tab.locator(".graph");
  await eventually(async () => assert.ok(Number(await graph.getAttribute("data-zoom")) >= 0.85));
  assert.equal(await graph.getAttribute("data-begins"), "role.p42.a");
  await close(tab);
});

test("a large group of nodes leads to its nodes, and says its role", async () => {
  const files = { "classes/role/web.yml": "{}", "classes/role/db.yml": "{}", "classes/common.yml": "{}" };
  for (let at = 0; at < 70; at++) files[`nodes/m${at}.example.com.yml`] = `classes: [common, role.${at % 7 === 0 ? "db" : "web"}]\n`;
  const tab = await open(page("groups", "-b", inventory("groups", files)), "graph&open=role");
  const boxes = tab.locator("details.as-list");
  await boxes.locator("summary").click();
  const group = boxes.getByRole("link", { name: "(60 nodes)" });
  await group.first().click();
  await shows(tab, /in the same box of the graph as m1\.example\.com[\s\S]*60 nodes/);
  assert.equal(await tab.getByRole("link", { name: "m7.example.com" }).count(), 0, "it is of the other group");
  await tab.reload();
  await ready(tab);
  await shows(tab, /60 nodes/);
  await close(tab);
});

/** The cards of the start page: their numbers by their texts. */
const cards = async (tab) => Object.fromEntries((await tab.locator(".card").allInnerTexts()).map((text) => text.split(/\n+/).reverse()));

test("the numbers of the start page are those of lint, and unused classes have one number", async () => {
  const base = inventory("counted", {
    "nodes/n.yml": "classes: [used]\nparameters:\n  password: hunter22\n  url: ${gone}\n",
    "nodes/m.yml": "classes: [used]\nparameters: {a: 1}\n",
    "classes/used.yml": "parameters:\n  a: 1\n  a: 1\n  on: yes\n", "classes/spare.yml": "classes: [gone]\n", "classes/other.yml": "{}\n" });
  let text;
  try { text = execFileSync(program, ["lint", "-b", base, "--level", "info", "-o", "json"], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }); } catch (error) { text = error.stdout; }
  const found = JSON.parse(text);
  const levels = (level) => String(found.filter((finding) => finding.level === level).length);
  const unused = String(found.filter((finding) => finding.code === "class-unused").length);
  const tab = await open(page("counted", "-b", base));
  const shown = await cards(tab);
  assert.deepEqual([shown["lint error"], shown["lint warnings"] ?? shown["lint warning"], shown["lint notes"], shown["unused classes"]], [levels("error"), levels("warning"), levels("info"), unused]);
  assert.equal(unused, "2");
  await tab.getByRole("link", { name: "lint error" }).click();
  await shows(tab, /Findings[\s\S]*error\s+reference-not-found/);
  await tab.getByRole("link", { name: "reference-not-found" }).first().click();
  await shows(tab, /1 error[\s\S]*0 warnings/);
  await close(tab);
});

test("a finding says why and how to repair it, and leads to its parameter", async () => {
  const base = inventory("finding", { "nodes/n.yml": "parameters:\n  password: hunter22\n  version: 1.10\n" });
  const tab = await open(page("finding", "-b", base), "node:n");
  const row = tab.locator("section", { hasText: "Lint:" }).locator("tr", { hasText: "scalar-misread" });
  assert.match(await row.innerText(), /'1\.10' is read as 1\.1\s+Why: [\s\S]*\s+Repair: write "1\.10" for the text[\s\S]*nodes\/n\.yml:3/);
  assert.doesNotMatch(await row.innerText(), /\(scalar-misread\)/);
  await tab.locator("tr", { hasText: "secret-plain" }).getByRole("link", { name: "secret-plain" }).click();
  await shows(tab, /A secret is in the file as plain text[\s\S]*# Bad: nodes\/web\.yml[\s\S]*# Good[\s\S]*Repair: encrypt it/);
  await tab.getByRole("link", { name: "all rules" }).click();
  await shows(tab, /secret-plain/);
  await close(tab);
});

/** The arrows of the graph that run behind a box that is not their end or are not drawn, and the number of all. */
const crossings = (tab) => tab.evaluate(() => {
  const cy = document.querySelector(".graph .canvas")?._cyreg?.cy;
  if (!cy) return { arrows: 0, wrong: [] };
  const boxes = cy.nodes().map((node) => ({ id: node.id(), ...node.position(), width: node.width() / 2 - 1, height: node.height() / 2 - 1 }));
  const wrong = cy.edges().filter((edge) => {
    const { allpts: points, badLine, tgtArrowAngle } = edge._private.rscratch, ends = [edge.source().id(), edge.target().id()];
    if (badLine || !Number.isFinite(tgtArrowAngle)) return true;
    // Quadratic curves: start, control, end and start of the next.
    for (let at = 0; at + 5 < points.length; at += 4) {
      for (let t = 0; t <= 1; t += 1 / 32) {
        const on = (axis) => (1 - t) ** 2 * points[at + axis] + 2 * t * (1 - t) * points[at + 2 + axis] + t * t * points[at + 4 + axis];
        const [x, y] = [on(0), on(1)];
        if (boxes.some((box) => !ends.includes(box.id) && Math.abs(x - box.x) < box.width && Math.abs(y - box.y) < box.height)) return true;
      }
    }
    return false;
  });
  return { arrows: cy.edges().length, wrong: wrong.map((edge) => edge.id()) };
});

/** The inventories of the corpus, if it is there. */
const corpus = () => {
  const real = join(process.env.RECLASS_SHARED ?? join(top, "../shared"), "conformance/real");
  return existsSync(real) ? readdirSync(real).map((name) => join(real, name, "inventory")).filter((path) => existsSync(path)) : [];
};

test("no arrow runs behind a box that is not its end", async () => {
  const pages = [examplePage(), roles()];
  for (const base of corpus()) {
    try {
      pages.push(page("corpus-" + pages.length, "-b", base));
    } catch { /* The graph of a broken inventory is an error. */ }
  }
  let arrows = 0;
  for (const file of pages) {
    for (const viewport of [{ width: 1440, height: 900 }, { width: 390, height: 844 }]) {
      const tab = await open(file, "graph", { viewport });
      const go = (view) => tab.evaluate((view) => new Promise((done) => {
        addEventListener("hashchange", () => requestAnimationFrame(() => requestAnimationFrame(done)), { once: true });
        location.hash = view;
      }), view);
      const views = ["graph"];
      for (const [list, kind] of [["nodes", "node"], ["classes", "class"]]) {
        await go(list);
        const links = await tab.locator(`main a[href^="#${kind}:"]`).evaluateAll((links) => links.map((link) => link.getAttribute("href")));
        views.push(...[...new Set(links)].slice(0, 8).map((link) => link.slice(1) + "&tab=graph"));
      }
      for (const view of views) {
        await go(view);
        const { arrows: drawn, wrong } = await crossings(tab);
        assert.deepEqual(wrong, [], `${file} ${view} ${viewport.width}`);
        arrows += drawn;
      }
      await close(tab);
    }
  }
  assert.ok(arrows > 100, `${arrows} arrows`);
});

test("a large graph opens as a whole, with letters that can be read, and nothing covers it", async () => {
  const tab = await open(roles(), "graph", { viewport: { width: 1440, height: 900 } });
  const graph = tab.locator(".graph");
  await eventually(async () => assert.ok(Number(await graph.getAttribute("data-zoom")) >= 0.85, await graph.getAttribute("data-zoom")));
  assert.equal(await tab.locator(".minimap").evaluate((map) => getComputedStyle(map).visibility), "hidden", "everything is visible");
  const canvas = await tab.locator(".canvas").boundingBox();
  for (let times = 0; times < 4; times++) await tab.getByRole("button", { name: "Zoom in" }).click();
  await eventually(async () => assert.equal(await tab.locator(".minimap").isVisible(), true));
  for (const name of [".minimap", ".box-info", ".zoom"]) {
    assert.ok((await tab.locator(name).boundingBox()).y >= canvas.y + canvas.height, `${name} is below the picture`);
  }
  await close(tab);
});

test("boxes have tooltips, and say what they are and what a click does", async () => {
  const files = { "classes/role/web.yml": "{}", "classes/common.yml": "parameters: {a: 1}" };
  for (let at = 0; at < 70; at++) files[`nodes/m${at}.example.com.yml`] = "classes: [common, role.web]\n";
  const tab = await open(page("tooltips", "-b", inventory("tooltips", files)), "graph");
  assert.match(await tab.locator(".legend").innerText(), /leads to the list[\s\S]*double click/);
  const canvas = await tab.locator(".canvas").boundingBox();
  const tips = new Set();
  for (let x = 20; x < canvas.width; x += 25) {
    for (const y of [0.35, 0.42, 0.5, 0.58, 0.65]) {
      await tab.mouse.move(canvas.x + x, canvas.y + canvas.height * y);
      if (await tab.locator(".tip").isVisible()) tips.add((await tab.locator(".tip").innerText()).replace(/\s+/g, " "));
    }
  }
  const all = [...tips].join("\n");
  assert.match(all, /70 nodes with the same arrows.*m0\.example\.com, .* A click leads to the list of its nodes\./);
  assert.match(all, /common classes\/common\.yml · in 70 nodes · sets 1 value A click shows its arrows\. A double click opens its page\./);
  await tab.goto((await tab.evaluate(() => location.href.split("#")[0])) + "#classes");
  assert.equal(await tab.getByRole("link", { name: "common", exact: true }).getAttribute("title"), "classes/common.yml · in 70 nodes · sets 1 value");
  await close(tab);
});

test("a class page: what it sets, includes, who includes it, and what a change reaches", async () => {
  const files = { "classes/base.yml": "classes: [deep]\nparameters: {port: 1, host: h, unused: {x: 1}}\nexports: {port: '${port}'}\n", "classes/deep.yml": "{}\n",
    "nodes/asks.yml": "exports: {}\nparameters: {ports: '$[ exports:port ]'}\n" };
  for (let at = 10; at < 22; at++) files[`nodes/n${at}.yml`] = `classes: [base]\nparameters: {url: 'http://\${host}:\${port}', twice: '\${url}', own: 1${at === 10 ? ", host: mine" : ""}}\n`;
  const tab = await open(page("reach", "-b", inventory("reach", files)), "class:base");
  const heads = await tab.locator("main h2").allInnerTexts();
  // Each of 12 nodes has port, unused:x, url, twice and the export; 11 have the host, and one node asks for the export.
  assert.deepEqual(heads.slice(0, 4), ["Sets 4 values", "Includes 1 class", "Included by 12 files", "A change here reaches 13 nodes and 72 values"]);
  const by = tab.locator("#included-by");
  assert.equal(await by.locator("tbody tr").count(), 10);
  await by.getByRole("button", { name: "show all 12" }).click();
  assert.equal(await by.locator("tbody tr").count(), 12);
  const rows = (await tab.locator("#reach tbody tr").allInnerTexts()).map((text) => text.replace(/\s+/g, " ").trim());
  assert.ok(rows.includes("host 11 this file sets it"), rows.join("\n"));
  assert.ok(rows.includes("url 12 refers to port") || rows.includes("url 12 refers to host"), rows.join("\n"));
  assert.ok(rows.includes("twice 12 refers to url"), rows.join("\n"));
  assert.ok(rows.includes("exports port 12 this file sets it"), rows.join("\n"));
  assert.ok(rows.some((row) => /^ports(:\S+)? 1 a query asks for port$/.test(row)), rows.join("\n"));
  assert.ok(!rows.some((row) => row.startsWith("own")), "a value of the node alone");
  await shows(tab, /47 values are set here\. 24 values refer to these\. 1 value is a query for these\./, "#reach");
  await close(tab);
});

test("a change reaches inner references, defaults, nodes with queries, and class names", async () => {
  const base = inventory("effects", {
    "classes/base.yml": "parameters: {size: small, def: 5}\nexports: {port: 80}\n",
    "nodes/w1.yml": "classes: [base]\nparameters: {sizes: {small: 1, large: 2}, got: '${sizes:${size}}', d: '${m:zz::${def}}', m: {k: 1}}\n",
    "nodes/p.yml": "parameters: {q: '$[ exports:port ]', copy: '${q}'}\n",
    "classes/site/prague.yml": "parameters: {site: lan}\n", "classes/dns/lan.yml": "parameters: {dns: 1}\n",
    "nodes/x.yml": "classes: [site.prague, 'dns.${site}']\nparameters: {site: mine}\n" });
  const tab = await open(page("effects", "-b", base), "class:base");
  await shows(tab, /^A change here reaches 2 nodes and 7 values/, "#reach");
  const rows = async () => (await tab.locator("#reach tbody tr").allInnerTexts()).map((text) => text.replace(/\s+/g, " ").trim());
  const reached = await rows();
  for (const row of ["size 1 this file sets it", "got 1 refers to size", "d 1 refers to def", "q 1 a query asks for port", "copy 1 refers to q"]) {
    assert.ok(reached.includes(row), row + " in\n" + reached.join("\n"));
  }
  await shows(tab, /By their queries:\s+p/, "#reach");
  // The node overrides the value later, but not for the class name.
  await tab.evaluate(() => { location.hash = "#class:site.prague"; });
  await shows(tab, /^A change here reaches 1 node, 0 values and 1 class name/, "#reach");
  assert.ok((await rows()).some((row) => row.startsWith("${site} x the class list")), (await rows()).join("\n"));
  await close(tab);
});

test("an item of a list that one layer wrote has one layer", async () => {
  const base = inventory("items", { "classes/a.yml": "parameters: {one: [x, {k: y}], two: [1]}\n",
    "nodes/n.yml": "classes: [a]\nparameters: {two: [2]}\n" });
  const tab = await open(page("items", "-b", base), "node:n");
  const layers = async (path) => tab.locator(`tr[data-path="${path}"] button.steps`).allInnerTexts();
  for (const path of ["one:0", "one:1:k"]) assert.deepEqual(await layers(path), [], path);
  assert.deepEqual(await layers("two:0"), ["3 layers"]);
  await tab.locator("#several").check();
  await eventually(async () => assert.equal(await tab.locator('tr[data-path^="one:"]').count(), 0));
  await close(tab);
});

test("tables sort by each column", async () => {
  const files = { "classes/a.yml": "{}", "classes/b.yml": "{}", "classes/c.yml": "{}" };
  for (let at = 0; at < 11; at++) files[`nodes/n${at}.yml`] = `classes: [b${at < 2 ? ", a" : ""}${at < 1 ? ", c" : ""}]\n`;
  const tab = await open(page("sorted", "-b", inventory("sorted", files)), "classes");
  const names = () => tab.locator("tbody tr td:first-child").allInnerTexts();
  assert.deepEqual(await names(), ["a", "b", "c"]);
  await tab.getByRole("button", { name: "Nodes" }).click();
  assert.deepEqual(await names(), ["b", "a", "c"], "the largest number first");
  assert.equal(await tab.getByRole("columnheader", { name: "Nodes" }).getAttribute("aria-sort"), "descending");
  await tab.getByRole("button", { name: "Nodes" }).click();
  assert.deepEqual(await names(), ["c", "a", "b"]);
  await tab.getByRole("button", { name: "Class", exact: true }).click();
  assert.deepEqual(await names(), ["a", "b", "c"]);
  assert.equal(await tab.getByRole("columnheader", { name: "Nodes" }).getAttribute("aria-sort"), null);
  await close(tab);
});

test("a click copies a place, or opens it in the chosen editor", async () => {
  const base = inventory("places", { "nodes/n.yml": "parameters:\n  x: 1\n" });
  const file = page("places", "-b", base);
  const tab = await open(file, "node:n", { permissions: ["clipboard-read", "clipboard-write"] });
  const row = tab.locator("tr[data-path=x]");
  await row.getByRole("button", { name: "nodes/n.yml:2" }).click();
  assert.equal(await tab.evaluate(() => navigator.clipboard.readText()), "nodes/n.yml:2");
  await eventually(async () => assert.equal(await row.locator("button.copy").getAttribute("data-said"), "copied"));
  await tab.getByRole("button", { name: "Settings" }).click();
  const leads = async (editor, address) => {
    await tab.getByLabel("A click on a place").selectOption(editor);
    assert.equal(await row.locator("a.place").getAttribute("href"), address);
  };
  await leads("vscode", `vscode://file${base}/nodes/n.yml:2:6`);
  await leads("idea", `idea://open?file=${base}/nodes/n.yml&line=2&column=6`);
  await leads("file", `file://${base}/nodes/n.yml`);
  await tab.getByLabel("Folder of the inventory").fill("C:\\src\\my inventory");
  await tab.getByLabel("Folder of the inventory").press("Tab");
  await leads("vscode", "vscode://file/C:/src/my%20inventory/nodes/n.yml:2:6");
  await row.getByRole("button", { name: "Copy nodes/n.yml:2" }).click({ force: true });
  await tab.reload();
  await ready(tab);
  assert.equal(await row.locator("a.place").getAttribute("href"), "vscode://file/C:/src/my%20inventory/nodes/n.yml:2:6", "the browser keeps it");
  await close(tab);
});

test("the colours follow the system or the setting", async () => {
  const tab = await open(examplePage(), "", { colorScheme: "light" });
  const ground = () => tab.evaluate(() => getComputedStyle(document.body).backgroundColor);
  assert.equal(await ground(), "rgb(255, 255, 255)");
  await tab.getByRole("button", { name: "Settings" }).click();
  await tab.getByLabel("Colours").selectOption("dark");
  assert.equal(await ground(), "rgb(20, 23, 31)");
  await tab.reload();
  await ready(tab);
  assert.equal(await ground(), "rgb(20, 23, 31)");
  await tab.getByRole("button", { name: "Settings" }).click();
  await tab.getByLabel("Colours").selectOption("");
  assert.equal(await ground(), "rgb(255, 255, 255)");
  await tab.emulateMedia({ colorScheme: "dark" });
  assert.equal(await ground(), "rgb(20, 23, 31)");
  await close(tab);
});

test("a search over several words: a node and a parameter, a node and a class, a file and a text", async () => {
  const tab = await open(examplePage());
  const found = async (text) => {
    await tab.locator("#search").fill(text);
    return (await tab.locator("#found [role=option]").allInnerTexts()).map((text) => text.replace(/\s+/g, " "));
  };
  assert.ok((await found("web1 nginx listen")).includes("value nginx:listen = 10.0.0.11:80 of web1.example.com"));
  assert.ok((await found("web1 nginx")).includes("class app.nginx of web1.example.com"));
  assert.ok((await found("role.web listen")).some((row) => /^written .*nginx:listen in role\.web$/.test(row)));
  assert.match((await found("web1 no-such-thing"))[0], /^0 found\. Each word must be/);
  await tab.locator("#search").fill("web1 example nginx");
  await tab.keyboard.press("Enter");
  await shows(tab, /Values of nodes: \d+\s[\s\S]*web1\.example\.com\s+nginx:listen/);
  await tab.getByRole("link", { name: "nginx:listen" }).first().click();
  await shows(tab, /web1\.example\.com/, "h1");
  await eventually(async () => assert.equal(await tab.locator("#search").inputValue(), "", "the next page does not keep the words"));
  await close(tab);
});

test("on a phone, no head of a cell lies on another", async () => {
  const tab = await open(examplePage(), "class:app.nginx", { viewport: { width: 390, height: 844 } });
  await tab.locator("td[data-head='Overridden later by']:not(:empty)").first().waitFor();
  const higher = await tab.locator("td[data-head]:not(:first-child)").evaluateAll((cells) => cells.filter((cell) =>
    cell.clientHeight < parseFloat(getComputedStyle(cell, "::before").height)).map((cell) => cell.dataset.head));
  assert.deepEqual(higher, []);
  await close(tab);
});

test("on a phone, values and places are below each other and on the screen", async () => {
  const tab = await open(examplePage(), "node:web1.example.com", { viewport: { width: 390, height: 844 } });
  const row = tab.locator("tr[data-path='nginx:listen']");
  const [value, place] = [await row.locator(".value").boundingBox(), await row.locator(".place").last().boundingBox()];
  assert.ok(place.y > value.y && place.x >= 0 && place.x + place.width <= 390, JSON.stringify([value, place]));
  assert.ok((await tab.locator("header").boundingBox()).height <= 100);
  await close(tab);
});

test("unused classes are not known while the classes of a node are not", async () => {
  const base = inventory("unknown", { "nodes/n.yml": "classes: [one, gone]\n", "classes/one.yml": "{}", "classes/two.yml": "{}" });
  const tab = await open(page("unknown", "-b", base));
  await shows(tab, /Unused classes\s+Nobody knows which classes are unused/);
  await close(tab);
});

test("a file shows its merge options, and a value the option that merged it", async () => {
  const base = inventory("merged", { "reclass-config.yml": "merge_options: true\n",
    "nodes/n.yml": "classes: [web]\nparameters:\n  packages: [nginx, curl]\n",
    "classes/web.yml": "merge_options:\n  packages: unique\nparameters:\n  packages: [nginx]\n" });
  const tab = await open(page("merged", "--config", join(base, "reclass-config.yml"), "-b", base), "class:web");
  await shows(tab, /Merge options[\s\S]*packages\s+unique\s+classes\/web\.yml:2/);
  await tab.goto((await tab.evaluate(() => location.href.split("#")[0])) + "#node:n");
  await tab.locator("tr[data-path='packages:1']").getByRole("button", { name: "3 layers" }).click();
  await shows(tab, /extends n \[nginx, curl\] at packages \(merge option packages\)/, "ol.history");
  await close(tab);
});

const views = ["", "graph", "nodes", "classes", "classes&unused=1", "parameters", "parameter:network", "parameter:network:address", "lint", "lint&level=info", "lint:parameter-unused",
  "node:web1.example.com", "node:web1.example.com&tab=classes", "node:web1.example.com&tab=graph", "class:site.lan", "class:site.lan&tab=nodes",
  "class:site.lan&tab=references", "class:site.lan&tab=graph", "search:example", "about", "node:gone"];

for (const colorScheme of ["light", "dark"]) {
  test(`axe finds nothing to say, in ${colorScheme}`, async () => {
    const tab = await open(examplePage(), "", { colorScheme });
    await tab.evaluate(axe);
    const found = [];
    const check = async (name) => {
      const { violations } = await tab.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
      for (const one of violations) found.push(`${name}: ${one.id}: ${one.nodes.slice(0, 3).map((node) => node.html + " " + node.failureSummary).join(" | ")}`);
    };
    for (const view of views) {
      await tab.evaluate((view) => { location.hash = view; }, view);
      await tab.waitForTimeout(30);
      await check(view);
    }
    await tab.locator("#search").fill("web");
    await check("the results of a search");
    await tab.getByRole("button", { name: "Settings" }).click();
    await check("the settings");
    assert.deepEqual(found, []);
    await close(tab);
  });
}

test("a small screen has no content beside it, and no word is broken", async () => {
  const tab = await open(examplePage(), "", { viewport: { width: 360, height: 640 } });
  for (const view of views) {
    await tab.evaluate((view) => { location.hash = view; }, view);
    await tab.waitForTimeout(30);
    const wide = await tab.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(wide <= 0, `${view}: ${wide} pixels`);
  }
  const broken = await tab.evaluate(() => [...document.querySelectorAll("td, th, a, code")].filter((element) => /break-all|break-word/.test(getComputedStyle(element).wordBreak)).length);
  assert.equal(broken, 0);
  await close(tab);
});

test("the page of explore is loaded again when a file changes, with the same view", async () => {
  const base = inventory("live", { "nodes/web1.yml": "classes: [app]\n", "classes/app.yml": "parameters: {port: 80}\n" });
  const server = spawn(program, ["explore", "--no-open"], { cwd: base, stdio: ["ignore", "pipe", "ignore"] });
  try {
    const [address] = await new Promise((resolve) => createInterface(server.stdout).once("line", (...line) => resolve(line)));
    const context = await browser.newContext();
    const tab = await context.newPage();
    await tab.goto(address + "#node:web1");
    await ready(tab);
    assert.match(await tab.locator("main").innerText(), /port[\s\S]*80/);
    writeFileSync(join(base, "classes/app.yml"), "parameters: {port: 8080}\n");
    await tab.waitForFunction(() => document.querySelector("main")?.innerText.includes("8080"), null, { timeout: 30_000 });
    assert.equal(await hash(tab), "#node:web1");
    // Without its nodes the inventory has no graph, and the error is shown.
    renameSync(join(base, "nodes"), join(base, "other"));
    await tab.waitForFunction(() => document.querySelector("h1")?.innerText.includes("cannot be read"), null, { timeout: 30_000 });
    assert.match(await tab.locator(".problems").innerText(), /nodes.*\(directory-not-found\); /);
    assert.equal(await tab.evaluate(() => getComputedStyle(document.body).margin), "0px");
    renameSync(join(base, "other"), join(base, "nodes"));
    await tab.waitForFunction(() => document.querySelector("main")?.innerText.includes("8080"), null, { timeout: 30_000 });
    const line = tab.locator("#ended");
    assert.equal(await line.isVisible(), false);
    // The server does not answer for a while, and then it is there again.
    await tab.route("**/state", (route) => route.abort());
    await line.waitFor({ timeout: 30_000 });
    assert.match(await line.innerText(), /^The server has ended; this page is as of .*\d\d:\d\d.*\.$/);
    await tab.unroute("**/state");
    await line.waitFor({ state: "hidden", timeout: 30_000 });
    server.kill();
    await line.waitFor({ timeout: 30_000 });
    await context.close();
  } finally {
    server.kill();
  }
});

test("a page of many nodes has the values of a node from its server alone", async () => {
  const files = { "classes/app.yml": "parameters: {port: 80, url: 'http://${name}'}\n" };
  for (let at = 0; at <= 300; at++) files[`nodes/n${at}.yml`] = `classes: [app]\nparameters: {name: host${at}}\n`;
  const base = inventory("many", files);
  const tab = await open(page("many", "-b", base), "node:n7");
  assert.match(await tab.locator("main").innerText(), /too many nodes[\s\S]*reclass show n7[\s\S]*host7/);
  await tab.goto(tab.url().replace(/#.*/, "#class:app"));
  assert.match(await tab.locator("main").innerText(), /A change here reaches 301 nodes[\s\S]*reclass impact class:app/i);
  assert.equal(await tab.getByText("Overridden later by").count(), 0);
  await tab.goto(tab.url().replace(/#.*/, "#parameter:name"));
  assert.match(await tab.locator("main").innerText(), /reclass nodes --param name[\s\S]*set in 301 files/i);
  await tab.locator("#search").fill("host299");
  assert.match(await tab.locator("#found").innerText(), /written[\s\S]*host299/);
  await close(tab);

  const server = spawn(program, ["explore", "--no-open"], { cwd: base, stdio: ["ignore", "pipe", "ignore"] });
  try {
    const [address] = await new Promise((resolve) => createInterface(server.stdout).once("line", (...line) => resolve(line)));
    const tab = await browser.newPage();
    await tab.goto(address + "#node:n7");
    await tab.waitForFunction(() => document.querySelector("main")?.innerText.includes("http://host7"), null, { timeout: 30_000 });
    await tab.goto(address + "#node:n8&path=url");
    await tab.waitForFunction(() => document.querySelector("tr.wanted")?.innerText.includes("http://host8"), null, { timeout: 30_000 });
    await tab.close();
  } finally {
    server.kill();
  }
});

test("print shows the content alone", async () => {
  const tab = await open(examplePage(), "class:site.lan");
  await tab.emulateMedia({ media: "print" });
  assert.equal(await tab.locator("header nav").isVisible(), false);
  assert.equal(await tab.locator("#search").isVisible(), false);
  assert.equal(await tab.getByText("network:gateway").first().isVisible(), true);
  await close(tab);
});

test("equal inventories give equal pages", () => {
  const first = readFileSync(examplePage(), "utf8");
  assert.equal(readFileSync(examplePage(), "utf8"), first);
});
