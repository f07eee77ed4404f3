// The page: files at the left, the answer of a node at the right, problems below. Nothing is sent anywhere.
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { bracketMatching, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, setDiagnostics } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight";
import { type Answer, Engine, type Finding, type Site } from "./engine";
import { type Inventory, packed, unpacked } from "./share";

const FOLDER = new URL(".", (document.currentScript as HTMLScriptElement).src).href.replace(/\/$/, "");
const BASE = "/srv/salt/reclass/";
const START: Inventory = {
  files: {
    "classes/ntp.yml": "parameters:\n  ntp:\n    server: time.example.com\n",
    "nodes/web1.yml": "classes:\n  - ntp\nparameters:\n  address: 10.0.0.11\n  ntp:\n    client: ${address}\n",
  },
  node: "web1",
};
/** How long nothing is typed before the address has the new texts, in milliseconds. */
const PAUSE = 300;

/** The order of the problems. */
const LEVELS = ["error", "warning", "info"];
/** What an example is about comes first in an answer. The rest of it is the same for each node. */
const PARTS = ["parameters", "exports", "applications", "classes", "environment"];

/** An element with its attributes and content. */
function element<K extends keyof HTMLElementTagNameMap>(tag: K, attributes: Record<string, string> = {}, ...content: (Node | string)[]): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...content);
  return made;
}

function button(label: string, act: () => void, attributes: Record<string, string> = {}): HTMLButtonElement {
  const made = element("button", { type: "button", ...attributes }, label);
  made.addEventListener("click", act);
  return made;
}

const files = element("ul", { class: "files", "aria-label": "Files" });
const nodes = element("select", { "aria-label": "Node" });
const views = element("div", { class: "views" });
const output = element("pre", { class: "output", tabindex: "0", "aria-label": "Answer" });
const problems = element("ul", { class: "problems", "aria-label": "Problems" });
const notice = element("p", { class: "notice", role: "alert" });
const status = element("p", { class: "status", role: "status" }, "Loading the engine…");
const place = element("div", { class: "editor" });

let states: Record<string, EditorState> = {};
let open = "";
let answer: Answer | null = null;
let view: "data" | "whole" | "explanation" = "data";
let wanted: string | null = null;
/** The nodes before a file was added: one that is new is shown. */
let known: string[] | null = null;
let asked = 0;
let saving = 0;

const editor = new EditorView({ parent: place });
const engine = new Engine(FOLDER, show);

function state(text: string): EditorState {
  return EditorState.create({
    doc: text,
    extensions: [
      lineNumbers(), history(), drawSelection(), highlightActiveLine(), bracketMatching(), yaml(), indentUnit.of("  "),
      syntaxHighlighting(classHighlighter), keymap.of([...defaultKeymap, ...historyKeymap, indentWithTab]),
      EditorView.contentAttributes.of({ "aria-label": "Text of the file" }),
      EditorView.updateListener.of((update) => {
        states[open] = update.state;
        if (update.docChanged) changed();
      }),
    ],
  });
}

function inventory(): Inventory {
  return { files: Object.fromEntries(Object.entries(states).map(([path, state]) => [path, state.doc.toString()])), node: wanted };
}

/** Says why something was not done. The next change takes it away. */
function say(text: string): void {
  notice.textContent = text;
}

function ask(): void {
  asked = performance.now();
  engine.ask({ ...inventory(), time: "" });
}

/** The texts are others: the engine is asked at once, and the address follows when nobody types. */
function changed(): void {
  say("");
  ask();
  clearTimeout(saving);
  saving = window.setTimeout(save, PAUSE);
}

async function save(): Promise<void> {
  window.history.replaceState(null, "", await packed(inventory()));
}

function load(inventory: Inventory): void {
  states = Object.fromEntries(Object.entries(inventory.files).map(([path, text]) => [path, state(text)]));
  wanted = inventory.node;
  known = null;
  say("");
  const paths = Object.keys(states);
  choose(paths.findLast((path) => path.startsWith("nodes/")) ?? paths[0] ?? "");
  ask();
}

function choose(path: string): void {
  open = path;
  editor.setState(states[path] ?? EditorState.create({ extensions: EditorState.readOnly.of(true) }));
  list();
  underline();
}

function list(): void {
  files.replaceChildren(...Object.keys(states).sort().map((path) => {
    const bad = answer?.findings.some(({ site, level }) => level === "error" && site?.file === BASE + path);
    return element("li", {}, button(path, () => choose(path), { ...(path === open && { "aria-current": "true" }), ...(bad && { class: "bad" }) }));
  }));
}

/** Asks for the path of a file. One that cannot be is refused, with the reason. */
function newPath(question: string, given: string): string | null {
  const path = window.prompt(question, given)?.trim();
  if (!path || path === open) return null;
  const parts = path.split("/");
  if (states[path]) say(`There is a file ${path} already.`);
  else if (parts.some((part) => ["", ".", ".."].includes(part))) say(`${path} is no path within the inventory: write one such as nodes/web2.yml.`);
  else if (!/\.ya?ml$/.test(path)) say(`${path} does not end in .yml or .yaml: the engine reads no other files.`);
  else return path;
  return null;
}

function add(): void {
  const path = newPath("The path of the new file:", "classes/new.yml");
  if (!path) return;
  known = answer?.nodes ?? null;
  states[path] = state("");
  choose(path);
  changed();
}

function rename(): void {
  const renamed = states[open];
  const path = renamed && newPath("The new path of the file:", open);
  if (!path) return;
  known = answer?.nodes ?? null;
  delete states[open];
  states[path] = renamed;
  choose(path);
  changed();
}

function remove(): void {
  delete states[open];
  choose(Object.keys(states)[0] ?? "");
  changed();
}

/** Opens a place in a file. */
function go(path: string, line: number, column: number): void {
  if (!states[path]) return;
  choose(path);
  const { from, to } = editor.state.doc.line(Math.max(1, Math.min(line, editor.state.doc.lines)));
  editor.dispatch({ selection: { anchor: Math.min(from + Math.max(column, 1) - 1, to) }, scrollIntoView: true });
  editor.focus();
}

/** A text in which each place in a file is a button. */
function linked(text: string): (Node | string)[] {
  const parts: (Node | string)[] = [];
  let end = 0;
  for (const found of text.matchAll(/(?:\/srv\/salt\/reclass\/)?([^\s:()'"]+\.ya?ml):(\d+)(?::(\d+))?/g)) {
    const [all, path = "", line, column] = found;
    if (!states[path]) continue;
    parts.push(text.slice(end, found.index), button(all, () => go(path, Number(line), Number(column ?? 1)), { class: "place" }));
    end = found.index + all.length;
  }
  return [...parts, text.slice(end)];
}

function show(given: Answer): void {
  const made = known && given.nodes.find((name) => !known?.includes(name));
  known = null;
  if (made && made !== given.node) {
    wanted = made;
    ask();
    return;
  }
  answer = given;
  status.textContent = given.nodes.length === 0 && !given.messages ? "There is no node: add a file such as nodes/web1.yml." : "";
  nodes.replaceChildren(...given.nodes.map((name) => element("option", { value: name }, name)));
  if (given.node) nodes.value = given.node;
  draw();
  list();
  underline();
  document.getElementById("play")?.setAttribute("data-took", (performance.now() - asked).toFixed(1));
}

function draw(): void {
  if (!answer) return;
  for (const tab of views.children) tab.setAttribute("aria-pressed", String((tab as HTMLElement).dataset["view"] === view));
  const text = (view === "explanation" ? answer.explanation : view === "whole" ? answer.data : answer.data && main(answer.data)) ?? "";
  output.replaceChildren(...linked(answer.messages + (answer.messages && text ? "\n" : "") + text));
  const sorted = answer.findings.toSorted((a, b) => LEVELS.indexOf(a.level) - LEVELS.indexOf(b.level));
  problems.replaceChildren(...sorted.map(problem));
}

/** The parts of an answer that have something in them, without what each node has. */
function main(data: string): string {
  const parts = new Map(Array.from(data.matchAll(/^(\w+):.*\n(?:(?!\w).*\n)*/gm), ([part, name]) => [name, part]));
  // With 'pretty_print: false' the answer is one mapping in braces.
  if (!parts.has("parameters")) return data;
  const parameters = parts.get("parameters")?.replace(/^ +_reclass_:\n(?: {3,}.*\n)+/m, "").replace(/^parameters:\n$/, "parameters: {}\n");
  parts.set("parameters", parameters ?? "");
  return PARTS.map((name) => parts.get(name) ?? "").filter((part) => !/^(?!parameters)\w+: (\[\]|\{\})\n$/.test(part)).join("");
}

/** A place as a button that opens it. Of some places only the file is known. */
function spot({ file, line, column }: Site): Node | string {
  const path = file.replace(BASE, "");
  const label = line ? `${path}:${line}:${column}` : path;
  return states[path] ? button(label, () => go(path, line, column), { class: "place" }) : label;
}

function problem(finding: Finding): HTMLElement {
  const where = finding.site ? [spot(finding.site), ": "] : [];
  const item = element("li", { class: finding.level }, ...where, element("b", {}, `${finding.level}[${finding.code}]`), ` ${finding.message}`);
  for (const { message, site } of finding.notes) item.append(element("span", {}, ...linked(`note: ${message}`), ...(site ? [" (", spot(site), ")"] : [])));
  if (finding.help) item.append(element("span", {}, `help: ${finding.help}`));
  return item;
}

/** Underlines the places of problems in the open file. */
function underline(): void {
  const doc = editor.state.doc;
  const here = (answer?.findings ?? []).filter(({ site }) => site?.file === BASE + open && site.line <= doc.lines);
  const diagnostics = here.map(({ site, level, message }): Diagnostic => {
    const { line, column } = site as Site;
    const { from, to } = doc.line(Math.max(line, 1));
    return { from: Math.min(from + Math.max(column, 1) - 1, to), to, severity: level, message };
  });
  editor.dispatch(setDiagnostics(editor.state, diagnostics.sort((a, b) => a.from - b.from)));
}

async function share(): Promise<void> {
  await save();
  await navigator.clipboard.writeText(window.location.href);
  status.textContent = "The link is in the clipboard. It holds the whole inventory.";
}

/** The files of the address. What a damaged link held is lost, and nobody must take other files for it. */
async function follow(otherwise: Inventory | null): Promise<void> {
  let found: Inventory | null = null;
  let damaged = false;
  try {
    found = await unpacked(window.location.hash);
  } catch {
    damaged = true;
  }
  const next = found ?? otherwise;
  if (next) load(next);
  if (damaged) {
    const instead = otherwise ? "These files are the first example, and not what the link was made for." : "The files are still those of before.";
    say(`This link is damaged: a part of it is missing or was changed. ${instead} Ask for the whole link.`);
  }
}

async function start(top: HTMLElement): Promise<void> {
  for (const [name, label] of [["data", "Answer"], ["whole", "Whole answer"], ["explanation", "Explain"]] as const) {
    views.append(button(label, () => { view = name; draw(); }, { "data-view": name }));
  }
  nodes.addEventListener("change", () => { wanted = nodes.value; changed(); });
  top.replaceChildren(
    notice,
    element("div", { class: "left" }, element("div", { class: "bar" }, button("New file", add), button("Rename", rename), button("Remove", remove), button("Copy link", () => void share())), files, place),
    element("div", { class: "right" }, element("div", { class: "bar" }, nodes, views), output),
    element("div", { class: "below" }, status, problems),
  );
  await engine.load();
  await follow(START);
  window.addEventListener("hashchange", () => void follow(null));
}

const top = document.getElementById("play");
if (top) start(top).catch((error: unknown) => { status.textContent = String(error); });
