// What the pages of the explorer have in common: links, places, values, findings.

import { address } from "./address";
import type { Edge, Finding, Inventory, Level, Values, Written } from "./data";
import { add, breakable, type Child, count, h, inline } from "./dom";
import type { Settings } from "./settings";
import { table } from "./table";

/** The levels of findings, with their names. */
export const LEVELS: [Level, string][] = [["error", "error"], ["warning", "warning"], ["info", "note"]];
/** Links of a list that are shown at once. */
const LINKS = 120;

function levelName(level: Level): string { return LEVELS.find(([one]) => one === level)![1]; }

export class Parts {
  data: Values | undefined;

  constructor(protected readonly inventory: Inventory, private readonly settings: Settings) {}

  protected link(file: number, options: Record<string, string | undefined> = {}): HTMLElement {
    const kind = this.inventory.isNode(file) ? "node" : "class";
    const name = this.inventory.name(file);
    return h("a", { href: "#" + address(kind, name, options), class: kind + (this.inventory.fails(file) ? " bad" : ""),
      "data-kind": kind, "data-name": name, title: this.facts(file) }, breakable(name));
  }

  /** What a tooltip says of a file. */
  protected facts(file: number): string {
    const { inventory, data } = this;
    const { o } = inventory;
    const [, path, , state] = o.files[file];
    const sets = data?.raw.sets[file].length ?? 0;
    const kind = inventory.isNode(file) ? o.facts[file].kind : null;
    return [path ?? `a ${state} class`, !inventory.isNode(file) && "in " + count(inventory.nodesOf(file).length, "node"),
      kind !== null && count(o.kinds[kind].merged.length, "class", "classes"), data && "sets " + count(sets, "value"), inventory.fails(file) && path !== null && "fails"].filter(Boolean).join(" · ");
  }

  protected links(files: number[], options: Record<string, string | undefined> = {}): HTMLElement {
    const list = h("ul", { class: "links" }, files.slice(0, LINKS).map((file) => h("li", null, this.link(file, options))));
    if (files.length > LINKS) {
      const more = h("button", { type: "button", class: "more", click: () => {
        more.parentElement!.remove();
        for (const file of files.slice(LINKS)) list.append(h("li", null, this.link(file, options)));
      } }, `${(files.length - LINKS).toLocaleString("en")} more`);
      list.append(h("li", null, more));
    }
    return list;
  }

  protected place(file: number | null, line: number, column: number): Child {
    const path = file === null ? null : this.inventory.path(file);
    if (path === null) return null;
    return this.settings.place(path, line, column);
  }

  protected placeOf(data: Values, place: number): Child {
    const [file, line, column] = data.raw.places[place];
    return file < 0 ? h("span", { class: "place" }, data.raw.layers[-1 - file]) : this.place(file, line, column);
  }

  protected layerOf(data: Values, place: number): Child {
    const file = data.raw.places[place][0];
    return file < 0 ? data.raw.layers[-1 - file] : this.link(file);
  }

  protected value(text: string | null): HTMLElement {
    if (text === null) return h("span", { class: "bad" }, "cannot be computed");
    const type = /^(true|false|null)$/.test(text) ? "word" : /^[-+]?(\d[\d_]*\.?\d*(e[-+]?\d+)?|0x[\da-f]+|\.(inf|nan))$/i.test(text) ? "number" : "text";
    const code = h("code", { class: "value " + type + (/\S{70}/.test(text) ? " long" : "") });
    if (text === '"***"') code.title = "a secret; --show-secrets shows it";
    if (text.length > 400 || text.split("\n").length > 8) {
      const first = text.split("\n").slice(0, 3).join("\n").slice(0, 240);
      const rest = h("button", { type: "button", class: "more", click: () => { code.replaceChildren(); add(code, breakable(text)); } }, "all of it");
      add(code, [breakable(first), "… ", rest]);
    } else add(code, breakable(text));
    return code;
  }

  protected pathLink(data: Values, path: number, text: Child, node?: number): HTMLElement {
    const name = data.pathText[path];
    const href = node !== undefined
      ? address("node", this.inventory.name(node), { path: name, exports: data.isExport(path) ? "1" : undefined })
      : address(data.isExport(path) ? "export" : "parameter", name);
    return h("a", { href: "#" + href, class: "path", "data-path": name }, text);
  }

  /** A text as written, with its references as links. */
  protected written(data: Values, written: Written, targets: (number | null)[] = [], node?: number): HTMLElement {
    const [text, references] = written;
    const code = h("code", { class: "written" + (/\S{70}/.test(text) ? " long" : "") });
    let done = 0;
    let nested = 0;
    for (const [start, length, fixed] of references) {
      const target = fixed ?? targets[nested++] ?? null;
      if (length < 0) continue;
      add(code, breakable(text.slice(done, start)));
      const inside = breakable(text.slice(start, start + length));
      add(code, target === null ? h("span", { class: "reference" }, inside) : this.pathLink(data, target, inside, node));
      done = start + length;
    }
    add(code, breakable(text.slice(done)));
    for (const [, length, target] of references) {
      if (length < 0 && target !== null) add(code, [" → ", this.pathLink(data, target, breakable(data.pathText[target]), node)]);
    }
    return code;
  }

  protected section(content: HTMLElement, title: string, children: Child, id?: string): void {
    add(content, h("section", { id }, h("h2", null, title), children));
  }

  protected tabs(kind: string, name: string, tabs: [id: string, title: string][], open: string): HTMLElement {
    return h("nav", { class: "tabs", "aria-label": "Views of " + name }, tabs.map(([id, title], at) =>
      h("a", { href: "#" + address(kind, name, { tab: at === 0 ? undefined : id }), "aria-current": id === open ? "page" : undefined }, title)));
  }

  protected problems(content: HTMLElement, file: number): void {
    const { o } = this.inventory;
    const problems = this.inventory.isNode(file) ? o.facts[file].problems : [];
    if (problems.length === 0) return;
    add(content, h("section", { class: "problems" }, h("h2", null, count(problems.length, "problem")),
      h("ul", null, problems.slice(0, 50).map((problem) => h("li", null,
        breakable(this.relative(problem.message)), " ", this.place(problem.file, problem.line, problem.column))))));
  }

  /** A message with paths from the folder of the inventory on. */
  protected relative(text: string): string {
    const { folder } = this.inventory.o;
    return folder ? text.split(folder + "/").join("") : text;
  }

  protected findings(content: HTMLElement, file: number): void {
    const { o, findingsOf } = this.inventory;
    const rows = findingsOf[file];
    if (rows.length === 0) return;
    this.section(content, "Lint: " + count(rows.length, "finding"), this.findingTable(rows.map((at) => o.findings[at]), "file"));
  }

  /** Findings, without the column that all of them share. */
  protected findingTable(findings: Finding[], without?: "file" | "rule"): HTMLElement {
    const { o } = this.inventory;
    const hasNodes = findings.some((finding) => finding[5] > 0);
    const columns = (cells: [string, Child][]): [string, Child][] => cells.filter(([head]) => head.toLowerCase() !== without && (hasNodes || head !== "Nodes"));
    const cells = ([rule, message, file, line, column, nodes, level, path, isExport]: Finding): [string, Child][] => {
      const { code, about } = o.rules[rule];
      // The way out follows the code.
      const [what, way] = this.relative(message).split(` (${code})`);
      const repair = (way ?? "").replace(/^; /, "");
      return columns([["Level", h("span", { class: "level " + level }, levelName(level))],
        ["Rule", h("a", { href: "#" + address("lint", code), title: about }, code)],
        ["Finding", [h("div", null, breakable(what)), without !== "rule" && about && h("div", { class: "faint" }, "Why: ", inline(about)),
          repair ? h("div", { class: "faint" }, "Repair: ", breakable(repair)) : without !== "rule" && h("div", { class: "faint" }, "Repair: ", h("a", { href: "#" + address("lint", code) }, "see the rule")),
          path !== null && h("div", { class: "faint" }, isExport ? "Export: " : "Parameter: ",
            h("a", { href: "#" + address(isExport ? "export" : "parameter", path), class: "path" }, breakable(path)))]],
        ["File", file === null ? null : this.link(file)], ["Place", this.place(file, line, column)], ["Nodes", nodes > 0 && nodes.toLocaleString("en")]]);
    };
    const heads = columns([["Level", 0], ["Rule", 0], ["Finding", 0], ["File", 0], ["Place", 0], ["Nodes", 0]]).map(([head]) => head);
    const severity = (finding: Finding): number => LEVELS.findIndex(([level]) => level === finding[6]);
    return table("Findings", heads, [...findings].sort((a, b) => severity(a) - severity(b)).map((finding) => () => cells(finding).map(([, cell]) => cell)));
  }

  /** The number of findings of each level, of one rule or of all. */
  protected levels(rule?: number): number[] {
    const found = this.inventory.o.findings.filter((finding) => rule === undefined || finding[0] === rule);
    return LEVELS.map(([level]) => found.filter((finding) => finding[6] === level).length);
  }

  protected ruleTable(): HTMLElement {
    const { o } = this.inventory;
    return table("Lint by rule", ["Rule", "Errors", "Warnings", "Notes", "Meaning"], o.rules.map((rule, at) => () =>
      [h("a", { href: "#" + address("lint", rule.code), class: "level " + rule.level }, rule.code),
        ...this.levels(at).map((number) => number > 0 && number.toLocaleString("en")), inline(rule.about)]));
  }

  protected bar(number: number, most: number): HTMLElement {
    return h("span", { class: "bar", style: `--part: ${most > 0 ? number / most : 0}` }, number.toLocaleString("en"));
  }

  protected entry(edge: Edge): Child {
    return edge.mapping !== undefined ? h("span", { class: "place" }, "class mapping ", edge.mapping) : this.place(edge.from, edge.line, edge.column);
  }

  /** The steps of a value, as explain knows them. */
  protected history(data: Values, steps: Values["raw"]["steps"][number], own: number, node?: number): HTMLElement {
    return h("ol", { class: "history" }, steps.map(([effect, counts, place, written, path, prefix, setting]) =>
      h("li", { class: counts ? "counts" : "lost" }, h("span", { class: "effect" }, effect), " ", this.layerOf(data, place), " ",
        prefix && h("code", null, prefix), this.written(data, data.raw.written[written], [], node), " ",
        h("span", { class: "faint" }, path !== own && data.pathText[path] && [" at ", breakable(data.pathText[path])], setting && ` (${setting})`), " ", this.placeOf(data, place),
        counts ? null : h("span", { class: "hidden" }, " does not count"))));
  }
}
