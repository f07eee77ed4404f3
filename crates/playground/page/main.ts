// The page: files at the left, the answer of a node at the right, problems below. Nothing is sent anywhere.
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { bracketMatching, defaultHighlightStyle, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, setDiagnostics } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
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
const status = element("p", { class: "status", role: "status" }, "Loading the engine…");
const place = element("div", { class: "editor" });

let states: Record<string, EditorState> = {};
let open = "";
let answer: Answer | null = null;
let view: "data" | "explanation" = "data";
let wanted: string | null = null;
let asked = 0;
let saving = 0;

const editor = new EditorView({ parent: place });
const engine = new Engine(FOLDER, show);

function state(text: string): EditorState {
  return EditorState.create({
    doc: text,
    extensions: [
      lineNumbers(), history(), drawSelection(), highlightActiveLine(), bracketMatching(), yaml(), indentUnit.of("  "),
      syntaxHighlighting(defaultHighlightStyle), keymap.of([...defaultKeymap, ...historyKeymap, indentWithTab]),
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

function ask(): void {
  asked = performance.now();
  engine.ask({ ...inventory(), time: "" });
}

/** The texts are others: the engine is asked at once, and the address follows when nobody types. */
function changed(): void {
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

function add(): void {
  const path = window.prompt("The path of the new file:", "classes/new.yml")?.trim();
  if (!path) return;
  states[path] ??= state("");
  choose(path);
  changed();
}

function rename(): void {
  const path = window.prompt("The new path of the file:", open)?.trim();
  if (!path || path === open || states[path]) return;
  const renamed = states[open];
  delete states[open];
  if (renamed) states[path] = renamed;
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
  const text = answer[view] ?? "";
  output.replaceChildren(...linked(answer.messages + (answer.messages && text ? "\n" : "") + text));
  problems.replaceChildren(...answer.findings.map(problem));
}

function problem(finding: Finding): HTMLElement {
  const path = finding.site?.file.replace(BASE, "");
  const where = finding.site && path ? `${path}:${finding.site.line}:${finding.site.column}: ` : "";
  const item = element("li", { class: finding.level }, ...linked(where), element("b", {}, `${finding.level}[${finding.code}]`), ` ${finding.message}`);
  for (const { message, site } of finding.notes) item.append(element("span", {}, ...linked(`note: ${message}${site ? ` (${site.file}:${site.line}:${site.column})` : ""}`)));
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

async function start(top: HTMLElement): Promise<void> {
  for (const [name, label] of [["data", "Answer"], ["explanation", "Explain"]] as const) {
    views.append(button(label, () => { view = name; draw(); }, { "data-view": name }));
  }
  nodes.addEventListener("change", () => { wanted = nodes.value; changed(); });
  top.replaceChildren(
    element("div", { class: "left" }, element("div", { class: "bar" }, button("New file", add), button("Rename", rename), button("Remove", remove)), files, place),
    element("div", { class: "right" }, element("div", { class: "bar" }, nodes, views, button("Copy link", () => void share())), output),
    element("div", { class: "below" }, status, problems),
  );
  await engine.load();
  load((await unpacked(window.location.hash)) ?? START);
  window.addEventListener("hashchange", () => void unpacked(window.location.hash).then((found) => found && load(found)));
}

const top = document.getElementById("play");
if (top) start(top).catch((error: unknown) => { status.textContent = String(error); });
