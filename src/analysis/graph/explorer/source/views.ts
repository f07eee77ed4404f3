// The pages of the explorer: the start, a node, a class, a parameter, lists, the findings of lint, search results.

import { Aggregator, type Box, LARGEST_GROUP, neighbourhood } from "./boxes";
import type { Edge, Inventory, Leaf, Values, Written } from "./data";
import { add, breakable, type Child, count, h } from "./dom";
import { GraphView, hueOf } from "./graph";
import { type Index, marked, query } from "./search";

declare const LICENCES: Record<string, string>;

/** An address: a page, a name, and options. */
export interface Address { page: string; name: string; options: URLSearchParams }

export function parse(hash: string): Address {
  const [first, ...rest] = hash.replace(/^#/, "").split("&");
  const at = first.indexOf(":");
  const decoded = (text: string): string => { try { return decodeURIComponent(text); } catch { return text; } };
  return { page: decoded(at < 0 ? first : first.slice(0, at)), name: at < 0 ? "" : decoded(first.slice(at + 1)),
    options: new URLSearchParams(rest.join("&")) };
}

export function address(page: string, name = "", options: Record<string, string | undefined> = {}): string {
  const pairs = Object.entries(options).filter(([, value]) => value !== undefined && value !== "");
  return [page + (name ? ":" + encodeURIComponent(name) : ""), ...pairs.map(([key, value]) => key + "=" + encodeURIComponent(value!))].join("&");
}

/** Rows of a table that are shown before a button asks for more. */
const ROWS = 400;
/** Open packages that are shown beside each other. */
const CHIPS = 7;
/** Links of a list that are shown at once. */
const LINKS = 120;

export class Views {
  data: Values | undefined;
  index: Index | undefined;
  private graph: GraphView | undefined;
  private readonly packages: string[];

  constructor(private readonly inventory: Inventory) {
    const sizes = new Map<string, number>();
    for (const file of inventory.classes()) {
      const name = inventory.name(file).split(".", 1)[0];
      sizes.set(name, (sizes.get(name) ?? 0) + 1);
    }
    this.packages = [...sizes.keys()].sort((a, b) => sizes.get(b)! - sizes.get(a)!);
  }

  /** The content of an address. */
  show(at: Address): { title: string; content: HTMLElement } {
    this.graph?.destroy();
    this.graph = undefined;
    const content = h("div", { class: "page" });
    const title = this.fill(content, at);
    return { title, content };
  }

  /** Called when the content is in the document. */
  shown(): void { this.graph?.fit(); }

  private fill(content: HTMLElement, at: Address): string {
    const { inventory } = this;
    const { o } = inventory;
    if (at.page === "" || at.page === "start") return this.start(content);
    if (at.page === "graph") return this.overview(content, at);
    if (at.page === "nodes" || at.page === "classes") return this.list(content, at);
    if (at.page === "lint") return this.lint(content, at);
    if (at.page === "about") return this.about(content);
    if (at.page === "node" || at.page === "class") {
      const file = inventory.find(at.page, at.name);
      if (file !== undefined) return at.page === "node" ? this.node(content, file, at) : this.class(content, file, at);
      const what = o.whole ? `There is no ${at.page} '${at.name}'.` : `This page has no ${at.page} '${at.name}'.`;
      add(content, [h("h1", null, "Not found"), h("p", null, what)]);
      return "Not found";
    }
    if (!this.data) {
      add(content, h("p", { class: "faint" }, "Reading the values…"));
      return "…";
    }
    if (at.page === "parameters" || at.page === "parameter" || at.page === "export") return this.parameter(content, at, this.data);
    if (at.page === "search") return this.search(content, at);
    add(content, [h("h1", null, "Not found"), h("p", null, "This address names nothing in the page.")]);
    return "Not found";
  }

  // --- parts -------------------------------------------------------------------------------------------------

  link(file: number, options: Record<string, string | undefined> = {}): HTMLElement {
    const kind = this.inventory.isNode(file) ? "node" : "class";
    const name = this.inventory.name(file);
    return h("a", { href: "#" + address(kind, name, options), class: kind + (this.inventory.fails(file) ? " bad" : ""),
      "data-kind": kind, "data-name": name }, breakable(name));
  }

  private links(files: number[], options: Record<string, string | undefined> = {}): HTMLElement {
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

  place(file: number | null, line: number, column: number): Child {
    const path = file === null ? null : this.inventory.path(file);
    if (path === null) return null;
    const text = line > 0 ? `${path}:${line}` : path;
    const { link, revision, inside } = this.inventory.o;
    const shown = breakable(text, /(?<=\/)/);
    if (!link || path.startsWith("/")) return h("span", { class: "place", title: column > 0 ? `column ${column}` : undefined }, shown);
    const encoded = (inside + path).split("/").map(encodeURIComponent).join("/");
    const values: Record<string, string> = { revision: revision ?? "HEAD", file: encoded, line: String(Math.max(1, line)), column: String(Math.max(1, column)) };
    const href = link.replace(/\{(revision|file|line|column)\}/g, (_, name: string) => values[name]);
    return /^https?:/i.test(href)
      ? h("a", { class: "place", href, rel: "noreferrer", title: "in the repository" }, shown)
      : h("span", { class: "place" }, shown);
  }

  private placeOf(data: Values, place: number): Child {
    const [file, line, column] = data.raw.places[place];
    return file < 0 ? h("span", { class: "place" }, data.raw.layers[-1 - file]) : this.place(file, line, column);
  }

  private layerOf(data: Values, place: number): Child {
    const file = data.raw.places[place][0];
    return file < 0 ? data.raw.layers[-1 - file] : this.link(file);
  }

  private value(text: string | null): HTMLElement {
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

  private pathLink(data: Values, path: number, text: Child, node?: number): HTMLElement {
    const name = data.pathText[path];
    const href = node !== undefined
      ? address("node", this.inventory.name(node), { path: name, exports: data.isExport(path) ? "1" : undefined })
      : address(data.isExport(path) ? "export" : "parameter", name);
    return h("a", { href: "#" + href, class: "path", "data-path": name }, text);
  }

  /** A text as written, with its references as links. */
  private written(data: Values, written: Written, targets: (number | null)[] = [], node?: number): HTMLElement {
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

  private table(caption: string, heads: string[], rows: (() => Child[])[], label?: string): HTMLElement {
    const body = h("tbody");
    const table = h("table", null, h("caption", { class: "hidden" }, caption),
      h("thead", null, h("tr", null, heads.map((head) => h("th", { scope: "col" }, head)))), body);
    const put = (from: number, to: number): void => {
      for (const row of rows.slice(from, to)) {
        body.append(h("tr", null, row().map((cell) => (cell instanceof HTMLTableCellElement ? cell : h("td", null, cell)))));
      }
    };
    put(0, ROWS);
    const box = h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label ?? caption }, table);
    if (rows.length <= ROWS) return box;
    const more = h("button", { type: "button", class: "more", click: () => { put(ROWS, rows.length); more.remove(); } },
      `${(rows.length - ROWS).toLocaleString("en")} more rows`);
    return h("div", null, box, more);
  }

  private section(content: HTMLElement, title: string, children: Child, id?: string): void {
    add(content, h("section", { id }, h("h2", null, title), children));
  }

  private tabs(kind: string, name: string, tabs: [id: string, title: string][], open: string): HTMLElement {
    return h("nav", { class: "tabs", "aria-label": "Views of " + name }, tabs.map(([id, title], at) =>
      h("a", { href: "#" + address(kind, name, { tab: at === 0 ? undefined : id }), "aria-current": id === open ? "page" : undefined }, title)));
  }

  private problems(content: HTMLElement, file: number): void {
    const { o } = this.inventory;
    const problems = this.inventory.isNode(file) ? o.facts[file].problems : [];
    if (problems.length === 0) return;
    add(content, h("section", { class: "problems" }, h("h2", null, count(problems.length, "problem")),
      h("ul", null, problems.slice(0, 50).map((problem) => h("li", null,
        breakable(this.relative(problem.message)), " ", this.place(problem.file, problem.line, problem.column))))));
  }

  /** A message with paths from the folder of the inventory on. */
  private relative(text: string): string {
    const { folder } = this.inventory.o;
    return folder ? text.split(folder + "/").join("") : text;
  }

  private findings(content: HTMLElement, file: number): void {
    const { o, findingsOf } = this.inventory;
    const rows = findingsOf[file];
    if (rows.length === 0) return;
    this.section(content, "Lint: " + count(rows.length, "finding"), this.findingTable(rows.map((at) => o.findings[at]), false));
  }

  private findingTable(findings: Inventory["o"]["findings"], withFile = true): HTMLElement {
    const { o } = this.inventory;
    return this.table("Findings", ["Rule", "Finding", ...(withFile ? ["File"] : []), "Place"], findings.map((finding) => () => {
      const [rule, message, file, line, column] = finding;
      const { code, level } = o.rules[rule];
      return [h("a", { href: "#" + address("lint", code), class: "level " + level }, code), breakable(this.relative(message)),
        ...(withFile ? [file === null ? null : this.link(file)] : []), this.place(file, line, column)];
    }));
  }

  // --- graphs ------------------------------------------------------------------------------------------------

  private draw(content: HTMLElement, files: Iterable<number>, pinned: number | undefined, at: Address, description: string): void {
    const { inventory } = this;
    const aggregator = new Aggregator(inventory, files, pinned);
    const given = at.options.get("open");
    const open = given === null ? aggregator.readable() : given.split(",").filter(Boolean);
    const picture = aggregator.picture(open);
    const options = Object.fromEntries(at.options);
    const go = (open: string[]): void => {
      location.hash = address(at.page, at.name, { ...options, open: open.join(",") || "," });
    };
    const page = (box: Box): string | undefined =>
      box.kind === "node" || box.kind === "class" ? address(box.kind, inventory.name(box.files[0]))
        : box.kind === "package" ? address("classes", box.label + ".*")
          : address("nodes", "", { group: inventory.name(box.files[0]), graph: at.page + ":" + at.name, steps: options.steps, open: open.join(",") || "," });
    this.graph = new GraphView(picture, this.packages, {
      open: (name) => go([...open, name]),
      close: (name) => go(open.filter((one) => one !== name && !one.startsWith(name + "."))),
      address: page,
      focus: (box) => box.kind === "node" || box.kind === "class"
        ? address(box.kind, inventory.name(box.files[0]), { tab: "graph" }) : undefined,
    }, pinned, description);
    const opened = open.filter((name) => name[0] === "@" || inventory.classes().some((file) => inventory.name(file).startsWith(name + ".")));
    const chips = (names: string[]): Child => names.map((name) => h("button", { type: "button", class: "chip", "aria-label": "Close " + name.replace(/^@/, "the nodes like "),
        click: () => go(open.filter((one) => one !== name && !one.startsWith(name + "."))) }, name.replace(/^@/, "nodes like "), h("span", { "aria-hidden": "true" }, " ×")));
    add(content, h("div", { class: "opened" },
      opened.length > 0 && h("span", { class: "faint" }, "Open: "), chips(opened.slice(0, CHIPS)),
      opened.length > CHIPS && h("details", { class: "chips" }, h("summary", null, `${opened.length - CHIPS} more`), chips(opened.slice(CHIPS))),
      opened.length > 1 && h("button", { type: "button", class: "chip", click: () => go([]) }, "close all"),
      given !== null && h("a", { class: "chip", href: "#" + address(at.page, at.name, { ...options, open: undefined }) }, "as at first")));
    add(content, this.graph.element);
    const tops = new Set([...picture.boxes.values()].map((box) => box.package).filter(Boolean));
    add(content, h("ul", { class: "legend", "aria-label": "Legend" },
      this.packages.filter((name) => tops.has(name)).slice(0, 10).map((name) =>
        h("li", null, h("span", { class: "swatch", style: `--hue: ${hueOf(name, this.packages)}` }), name)),
      h("li", null, h("span", { class: "swatch double" }), "opens"),
      h("li", null, h("span", { class: "swatch red" }), "fails"),
      h("li", null, h("span", { class: "line dashed" }), "class mapping")));
    const named = (box: Box): Child => {
      const href = page(box);
      const name = box.kind === "package" ? `${box.label} (${count(box.files.length, "class", "classes")})`
        : box.kind === "nodes" ? `${box.label} (${count(box.files.length, "node")})` : box.label;
      return href ? h("a", { href: "#" + href }, breakable(name)) : name;
    };
    add(content, h("details", { class: "as-list" }, h("summary", null, `As a list: ${count(picture.boxes.size, "box", "boxes")}, ${count(picture.arrows.size, "arrow")}`),
      this.table("Boxes of the graph", ["Box", "Includes", "Open"], [...picture.boxes.values()].map((box) => () => {
        const next = [...picture.arrows.values()].filter((arrow) => arrow.from === box.id).map((arrow) => picture.boxes.get(arrow.to)!);
        const can = box.opens !== undefined && (box.kind === "package" || box.files.length <= LARGEST_GROUP);
        return [named(box), h("ul", { class: "links" }, next.slice(0, 60).map((other) => h("li", null, named(other)))),
          can && h("button", { type: "button", class: "chip", click: () => go([...open, box.opens!]) }, "open")];
      }))));
  }

  private overview(content: HTMLElement, at: Address): string {
    const { inventory } = this;
    add(content, [h("h1", null, "The graph"),
      h("p", { class: "faint" }, "An arrow leads to a class that is included. A double border opens at a click.")]);
    this.draw(content, this.reached(), undefined, at,
      `Graph of ${count(inventory.o.nodes, "node")} and ${count(inventory.classes().length, "class", "classes")}`);
    const unused = inventory.unused().length;
    if (unused > 0 && inventory.knowsUnused()) {
      add(content, h("p", { class: "faint" }, `${count(unused, "class", "classes")} that no node uses ${unused === 1 ? "is" : "are"} left out: `,
        h("a", { href: "#" + address("classes", "", { unused: "1" }) }, "see the list"), "."));
    }
    return "Graph";
  }

  private reached(): number[] {
    return this.inventory.o.files.map((_, file) => file).filter((file) => this.inventory.reached[file]);
  }

  private steps(file: number, at: Address): string {
    return at.options.get("steps") ?? (this.inventory.isNode(file) ? "all" : "2");
  }

  private around(file: number, at: Address): Set<number> {
    const steps = this.steps(file, at);
    return neighbourhood(this.inventory, file, steps === "all" ? Infinity : Number(steps) || 1);
  }

  private focus(content: HTMLElement, file: number, at: Address): void {
    const steps = this.steps(file, at);
    const choice = h("select", { id: "steps", change: () => {
      location.hash = address(at.page, at.name, { tab: "graph", steps: choice.value });
    } }, ["1", "2", "3", "4", "all"].map((value) => h("option", { value, selected: value === steps }, value)));
    add(content, h("p", { class: "controls" }, h("label", { for: "steps" }, "Steps around it "), choice));
    this.draw(content, this.around(file, at), file, at,
      `Graph around ${this.inventory.name(file)}`);
  }

  // --- pages -------------------------------------------------------------------------------------------------

  private start(content: HTMLElement): string {
    const { inventory } = this;
    const { o } = inventory;
    const failing = inventory.nodes().filter((node) => inventory.fails(node));
    const broken = inventory.classes().filter((file) => inventory.fails(file) && inventory.reached[file]);
    const unused = inventory.unused();
    add(content, [h("h1", null, o.name || "Inventory"), h("p", { class: "faint" },
      h("span", { class: "folder" }, breakable(o.folder)), " · ", o.date, o.revision && [" · revision ", h("code", { title: o.revision }, o.revision.slice(0, 10)),
        o.changed && " with uncommitted changes"], !o.whole && " · a part of the nodes")]);
    const card = (number: number, noun: string, href: string, bad = false, plural?: string): HTMLElement =>
      h("a", { class: "card" + (bad ? " bad" : ""), href: "#" + href }, h("strong", null, number.toLocaleString("en")), h("span", null, number === 1 ? noun : plural ?? noun + "s"));
    const levels = { error: 0, warning: 0, info: 0 } as Record<string, number>;
    for (const finding of o.findings) levels[o.rules[finding[0]].level]++;
    add(content, h("div", { class: "cards" }, card(o.nodes, "node", "nodes"), card(inventory.classes().length, "class", "classes", false, "classes"),
      this.data && card(this.parameterCount(this.data), "parameter", "parameters"),
      card(failing.length, "failing node", address("nodes", "", { fails: "1" }), failing.length > 0),
      card(levels.error + levels.warning, "warning", "lint", levels.error > 0),
      inventory.knowsUnused() && card(unused.length, "unused class", address("classes", "", { unused: "1" }), false, "unused classes")));
    const columns = h("div", { class: "columns" });
    content.append(columns);
    if (failing.length + broken.length > 0) {
      const rows = failing.slice(0, 30).map((node) => h("li", null, this.link(node), h("div", { class: "faint" },
        breakable(this.relative(o.facts[node].problems[0].message)), " ", this.place(o.facts[node].problems[0].file, o.facts[node].problems[0].line, 0))));
      const files = broken.slice(0, 30).map((file) => h("li", null, this.link(file), h("span", { class: "faint" }, " ", o.files[file][3])));
      this.section(columns, "What fails", [h("ul", { class: "plain" }, rows, files),
        failing.length > 30 && h("p", null, h("a", { href: "#" + address("nodes", "", { fails: "1" }) }, `all ${count(failing.length, "failing node")}`))]);
    }
    const roles = h("div");
    const used = inventory.classes().map((file) => [file, inventory.nodesOf(file).length] as const).filter(([, nodes]) => nodes > 0)
      .sort((a, b) => b[1] - a[1] || inventory.includedBy[b[0]].length - inventory.includedBy[a[0]].length).slice(0, 10);
    this.section(columns, "Most used classes", this.table("Most used classes", ["Class", "Nodes", "Listed in"], used.map(([file, nodes]) => () =>
      [this.link(file), this.bar(nodes, o.nodes), count(inventory.includedBy[file].length, "file")])));
    if (o.rules.length > 0) {
      const most = Math.max(...o.rules.map((_, rule) => o.findings.filter((finding) => finding[0] === rule).length));
      this.section(columns, "Lint by rule", this.table("Lint by rule", ["Rule", "Findings", "About"], o.rules.map((rule, at) => () =>
        [h("a", { href: "#" + address("lint", rule.code), class: "level " + rule.level }, rule.code),
          this.bar(o.findings.filter((finding) => finding[0] === at).length, most), rule.about])));
    }
    const environments = new Map<string, number[]>();
    o.facts.forEach((facts, node) => {
      const name = facts.environment || "none";
      environments.set(name, [...(environments.get(name) ?? []), node]);
    });
    this.section(columns, "Environments", this.table("Environments", ["Environment", "Nodes"], [...environments].sort((a, b) => b[1].length - a[1].length).slice(0, 30).map(([name, nodes]) => () =>
      [h("a", { href: "#" + address("nodes", "", { environment: name }) }, breakable(name)), this.bar(nodes.length, o.nodes)])));
    if (o.whole && !inventory.knowsUnused()) {
      this.section(columns, "Unused classes", h("p", null, "They are not known, because the classes of a node are not known."));
    } else if (unused.length > 0 && o.whole) {
      this.section(columns, "Unused classes", [this.links(unused.slice(0, 24)),
        unused.length > 24 && h("p", null, h("a", { href: "#" + address("classes", "", { unused: "1" }) }, `all ${count(unused.length, "unused class", "unused classes")}`))]);
    }
    add(content, roles);
    return o.name || "Inventory";
  }

  private parameterCount(data: Values): number { return data.byText[0].size; }

  private bar(number: number, most: number): HTMLElement {
    return h("span", { class: "bar", style: `--part: ${most > 0 ? number / most : 0}` }, number.toLocaleString("en"));
  }

  private list(content: HTMLElement, at: Address): string {
    const { inventory } = this;
    const { o } = inventory;
    const isNode = at.page === "nodes";
    let files = isNode ? inventory.nodes() : inventory.classes();
    const words: string[] = [];
    const environment = at.options.get("environment");
    if (at.options.get("fails")) { files = files.filter((file) => inventory.fails(file)); words.push("failing"); }
    if (at.options.get("unused")) { files = inventory.unused(); words.push("unused"); }
    const group = at.options.get("group");
    if (group) files = this.group(group, at);
    if (environment) { files = files.filter((file) => (o.facts[file].environment || "none") === environment); }
    const shown = h("div");
    const filter = h("input", { type: "search", placeholder: "name or glob", "aria-label": "Filter by name", value: at.name, input: () => fill() });
    const fill = (): void => {
      const { words } = query(filter.value);
      const rows = files.filter((file) => {
        const name = inventory.name(file).toLowerCase();
        return words.every((word) => (word.glob ? word.glob.test(name) || word.text === name + ".*" : name.includes(word.text)));
      });
      shown.replaceChildren(h("p", { class: "faint", role: "status" }, count(rows.length, isNode ? "node" : "class", isNode ? "nodes" : "classes")),
        isNode ? this.table("Nodes", ["Node", "Environment", "Classes", "Applications", "State"], rows.map((node) => () => {
          const facts = o.facts[node];
          return [this.link(node), facts.environment, facts.kind === null ? null : String(o.kinds[facts.kind].merged.length),
            h("span", { class: "faint" }, facts.applications.slice(0, 6).join(", "), facts.applications.length > 6 && ", …"),
            facts.problems.length > 0 && h("span", { class: "bad" }, "fails")];
        })) : this.table("Classes", ["Class", "Nodes", "Listed in", "Lists", "State"], rows.map((file) => () =>
          [this.link(file), this.bar(inventory.nodesOf(file).length, o.nodes), count(inventory.includedBy[file].length, "file"),
            count(inventory.includes[file].length, "class", "classes"),
            inventory.fails(file) ? h("span", { class: "bad" }, o.files[file][3]) : !inventory.reached[file] && h("span", { class: "faint" }, "unused")])));
    };
    const noun = isNode ? "nodes" : "classes";
    const title = [...words, noun].join(" ") + (environment ? ` of the environment ${environment}` : "") + (group ? ` like ${group} in the graph` : "");
    add(content, [h("h1", null, title[0].toUpperCase() + title.slice(1)), h("p", { class: "controls" }, filter), shown]);
    fill();
    return title;
  }

  /** The nodes that are one box with this node, in the graph that the address names. */
  private group(name: string, at: Address): number[] {
    const { inventory } = this;
    const [, kind, of] = /^(\w+):(.*)$/s.exec(at.options.get("graph") ?? "") ?? [];
    const file = kind === undefined ? undefined : inventory.find(kind, of);
    const node = inventory.find("node", name);
    const picture = new Aggregator(inventory, file === undefined ? this.reached() : this.around(file, at), file)
      .picture((at.options.get("open") ?? "").split(",").filter(Boolean));
    return [...picture.boxes.values()].find((box) => node !== undefined && box.files.includes(node))?.files ?? [];
  }

  private node(content: HTMLElement, node: number, at: Address): string {
    const { inventory, data } = this;
    const { o } = inventory;
    const facts = o.facts[node];
    const name = inventory.name(node);
    const roots = data?.raw.roots[node] ?? [null, null];
    const askers = data?.askers(node) ?? [];
    add(content, [h("h1", null, h("span", { class: "kind" }, "node"), " ", breakable(name)),
      h("p", { class: "faint" }, this.place(node, 0, 0), facts.environment && [" · environment ", h("a", { href: "#" + address("nodes", "", { environment: facts.environment }) }, facts.environment)],
        facts.applications.length > 0 && [" · applications ", facts.applications.join(", ")])]);
    const classes = facts.kind === null ? [] : o.kinds[facts.kind].merged;
    const tabs: [string, string][] = [["values", "Values"], ["classes", `Classes (${classes.length || inventory.includes[node].length})`], ["graph", "Graph"]];
    if (roots[1] !== null) tabs.push(["exports", "Exports"]);
    if (askers.length > 0) tabs.push(["asked", `Asked by (${new Set(askers.map((one) => one.node)).size})`]);
    const wanted = at.options.get("exports") ? "exports" : at.options.get("tab") ?? "values";
    const tab = tabs.some(([id]) => id === wanted) ? wanted : "values";
    content.append(this.tabs("node", name, tabs, tab));
    this.problems(content, node);
    if (tab === "graph") this.focus(content, node, at);
    else if (tab === "classes") this.whyClasses(content, node, classes);
    else if (tab === "asked" && data) {
      this.section(content, "Nodes whose queries find this node", this.table("Who asks it", ["Node", "Parameter"], askers.map((one) => () =>
        [this.link(one.node), this.pathLink(data, one.path, breakable(data.pathText[one.path]), one.node)])));
    } else if (!data) add(content, h("p", { class: "faint" }, "Reading the values…"));
    else {
      const root = roots[tab === "exports" ? 1 : 0];
      if (root === null) {
        add(content, h("p", { class: "faint" }, facts.kind === null ? "The values cannot be computed, because the classes of the node are not known." : "There are no values."));
        this.sets(content, node, data);
      } else this.leaves(content, node, root, data, at.options.get("path"));
    }
    this.findings(content, node);
    return name;
  }

  private whyClasses(content: HTMLElement, node: number, classes: number[]): void {
    const { inventory } = this;
    const mapped = inventory.o.facts[node].mapped;
    if (mapped.length > 0) {
      this.section(content, "By class mappings", h("ul", { class: "plain" }, mapped.map(([mapping, file]) =>
        h("li", null, h("code", null, mapping), " gives ", this.link(file)))));
    }
    if (classes.length === 0) {
      this.section(content, "Listed classes", this.links(inventory.includes[node].map((edge) => edge.to)));
      return;
    }
    this.section(content, "Classes in the order in which they merge", this.table("Classes and why they are here", ["Order", "Class", "Why it is here", "Listed at"],
      classes.map((file, at) => () => {
        const chain = inventory.chain(node, file);
        const last = chain.at(-1)?.edge;
        return [h("span", { class: "faint" }, String(at + 1)), this.link(file), this.chain(node, chain), last && this.entry(last)];
      })), "classes");
  }

  private chain(node: number, chain: { file: number; edge: Edge | undefined }[]): HTMLElement {
    return h("span", { class: "chain" }, h("span", null, this.inventory.name(node)), chain.map(({ file, edge }) =>
      [edge?.mapping !== undefined ? ` ⇢ (mapping ${edge.mapping}) ` : " → ", this.link(file)]));
  }

  private entry(edge: Edge): Child {
    return edge.mapping !== undefined ? h("span", { class: "place" }, "class mapping ", edge.mapping) : this.place(edge.from, edge.line, edge.column);
  }

  /** The values of a node, by the first key, with a filter. */
  private leaves(content: HTMLElement, node: number, root: number, data: Values, wanted: string | null): void {
    const all: Leaf[] = [];
    data.walk(root, (leaf) => all.push(data.get(leaf)));
    const shown = h("div", { class: "values" });
    const filter = h("input", { type: "search", placeholder: "path, value or class", "aria-label": "Filter the values", input: () => fill() });
    const only = h("input", { type: "checkbox", id: "several", change: () => fill() });
    const status = h("span", { class: "faint", role: "status" });
    const fill = (): void => {
      const { words } = query(filter.value);
      const rows = all.filter((leaf) => {
        if (only.checked && leaf.steps === 0) return false;
        if (words.length === 0) return true;
        const file = data.raw.places[leaf.place][0];
        const text = [data.pathText[leaf.path], data.raw.values[leaf.value] ?? "", file < 0 ? "" : this.inventory.name(file)].map((one) => one.toLowerCase());
        return words.every((word) => text.some((one) => (word.glob ? word.glob.test(one) : one.includes(word.text))));
      });
      status.textContent = count(rows.length, "value");
      const groups = new Map<string, Leaf[]>();
      for (const leaf of rows) {
        let top = leaf.path;
        while (data.parent(top) > 1) top = data.parent(top);
        const name = data.pathText[top];
        const group = groups.get(name);
        if (group) group.push(leaf);
        else groups.set(name, [leaf]);
      }
      shown.replaceChildren(...[...groups].map(([name, leaves]) => {
        const details = h("details", { open: rows.length <= 150 || wanted === name || (wanted ?? "").startsWith(name + this.inventory.o.delimiter), toggle: () => {
          if (details.open && details.childElementCount === 1) details.append(this.leafTable(node, leaves, data, name));
        } }, h("summary", null, h("h2", { class: "key" }, name), " ", h("span", { class: "faint" }, count(leaves.length, "value"))));
        if (details.open) details.append(this.leafTable(node, leaves, data, name));
        return details;
      }));
    };
    const every = (open: boolean): void => { for (const details of shown.querySelectorAll("details")) details.open = open; };
    add(content, [h("p", { class: "controls" }, filter, " ", h("label", { for: "several" }, only, " set by several layers"), " ",
      h("button", { type: "button", class: "chip", click: () => every(true) }, "open all"), h("button", { type: "button", class: "chip", click: () => every(false) }, "close all"), " ", status), shown]);
    fill();
    if (wanted !== null) queueMicrotask(() => this.reveal(shown, wanted));
  }

  /** Scrolls to the value of a path, or to the first one below it. */
  private reveal(shown: HTMLElement, path: string): void {
    const rows = [...shown.querySelectorAll<HTMLElement>("tr[data-path]")];
    const below = path + this.inventory.o.delimiter;
    const row = rows.find((row) => row.dataset.path === path) ?? rows.find((row) => row.dataset.path!.startsWith(below))
      ?? rows.find((row) => path.startsWith(row.dataset.path + this.inventory.o.delimiter));
    if (!row) return;
    row.classList.add("wanted");
    row.querySelector<HTMLElement>("button.steps")?.click();
    row.scrollIntoView({ block: "center" });
  }

  private leafTable(node: number, leaves: Leaf[], data: Values, name: string): HTMLElement {
    const body = h("tbody");
    for (const leaf of leaves) {
      const extra = data.raw.extras[leaf.extra];
      const steps = data.raw.steps[leaf.steps];
      const row = h("tr", { "data-path": data.pathText[leaf.path] });
      const button = steps.length > 0 && h("button", { type: "button", class: "steps", "aria-expanded": "false", click: () => {
        const next = row.nextElementSibling;
        if (next?.classList.contains("history")) { next.remove(); button && button.setAttribute("aria-expanded", "false"); return; }
        button && button.setAttribute("aria-expanded", "true");
        row.after(h("tr", { class: "history" }, h("td", { colspan: 4 }, this.history(data, steps, leaf.path, node))));
      } }, `${steps.length} layers`);
      add(row, [
        h("td", null, this.pathLink(data, leaf.path, breakable(data.pathText[leaf.path]))),
        h("td", null, this.value(data.raw.values[leaf.value]), leaf.written > 0 && h("div", { class: "from" }, this.written(data, data.raw.written[leaf.written], extra.targets, node)),
          extra.via.map(([written, place]) => h("div", { class: "from" }, "via ", this.written(data, data.raw.written[written], [], node), " ", this.placeOf(data, place))),
          extra.answers !== null && h("details", { class: "answers" }, h("summary", null, "from " + count(data.raw.answers[extra.answers].length, "node")), this.links(data.raw.answers[extra.answers]))),
        h("td", null, this.layerOf(data, leaf.place), " ", button),
        h("td", null, data.raw.places[leaf.place][0] < 0 ? null : this.placeOf(data, leaf.place))]);
      body.append(row);
    }
    return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Values below " + name }, h("table", { class: "leaves" }, h("caption", { class: "hidden" }, "Values below " + name),
      h("thead", null, h("tr", null, ["Parameter", "Value", "Set by", "Place"].map((head) => h("th", { scope: "col" }, head)))), body));
  }

  /** The steps of a value, as explain knows them. */
  private history(data: Values, steps: Values["raw"]["steps"][number], own: number, node?: number): HTMLElement {
    return h("ol", { class: "history" }, steps.map(([effect, counts, place, written, path, prefix, setting]) =>
      h("li", { class: counts ? "counts" : "lost" }, h("span", { class: "effect" }, effect), " ", this.layerOf(data, place), " ",
        prefix && h("code", null, prefix), this.written(data, data.raw.written[written], [], node), " ",
        h("span", { class: "faint" }, path !== own && data.pathText[path] && [" at ", breakable(data.pathText[path])], setting && ` (${setting})`), " ", this.placeOf(data, place),
        counts ? null : h("span", { class: "hidden" }, " does not count"))));
  }

  private class(content: HTMLElement, file: number, at: Address): string {
    const { inventory, data } = this;
    const { o } = inventory;
    const name = inventory.name(file);
    const nodes = inventory.nodesOf(file);
    const state = o.files[file][3];
    add(content, [h("h1", null, h("span", { class: "kind" }, "class"), " ", breakable(name)),
      h("p", { class: "faint" }, this.place(file, 0, 0), state === "missing" && h("span", { class: "bad" }, "there is no file for it"),
        state === "unreadable" && h("span", { class: "bad" }, " cannot be read"), !inventory.reached[file] && inventory.knowsUnused() && " · no node uses it")]);
    const paths = new Set((data?.raw.sets[file] ?? []).map(([path]) => path));
    const references = data ? this.referencesTo(data, paths) : [];
    const tabs: [string, string][] = [["sets", "Content"], ["graph", "Graph"], ["nodes", `Nodes (${nodes.length.toLocaleString("en")})`],
      ["references", `References${data ? ` (${references.length.toLocaleString("en")})` : ""}`]];
    const wanted = at.options.get("tab") ?? "sets";
    const tab = tabs.some(([id]) => id === wanted) ? wanted : "sets";
    content.append(this.tabs("class", name, tabs, tab));
    if (tab === "graph") this.focus(content, file, at);
    else if (tab === "nodes") this.section(content, "Nodes that have it: " + nodes.length.toLocaleString("en"), h("div", { id: "users" }, this.links(nodes)));
    else if (tab === "references") {
      if (!data) add(content, h("p", { class: "faint" }, "Reading the values…"));
      else if (references.length === 0) add(content, h("p", { class: "faint" }, "No reference names one of its parameters."));
      else this.section(content, "References to its parameters", this.referenceTable(data, references));
    } else {
      const around = h("div", { class: "columns" });
      content.append(around);
      const entries = (edges: Edge[], end: "from" | "to"): HTMLElement => this.table(end === "from" ? "Included by" : "Includes", ["Name", "Listed at"],
        edges.map((edge) => () => [this.link(edge[end]), this.entry(edge)]));
      const by = inventory.includedBy[file];
      this.section(around, "Included by " + count(by.length, "file"), by.length > 0 ? entries(by, "from") : h("p", { class: "faint" }, "nothing"));
      const includes = inventory.includes[file];
      this.section(around, "Includes " + count(includes.length, "class", "classes"), includes.length > 0 ? entries(includes, "to") : h("p", { class: "faint" }, "nothing"));
      this.section(content, "Nodes that have it: " + nodes.length.toLocaleString("en"), h("div", { id: "users" }, this.links(nodes.slice(0, 24)),
        nodes.length > 24 && h("p", null, h("a", { href: "#" + address("class", name, { tab: "nodes" }) }, "all of them"))));
      if (data) this.sets(content, file, data);
      this.findings(content, file);
    }
    return name;
  }

  private sets(content: HTMLElement, file: number, data: Values): void {
    const options = data.raw.merge_options.filter(([of]) => of === file);
    if (options.length > 0) {
      this.section(content, "Merge options", this.table("Merge options", ["Lists", "Strategy", "Place"],
        options.map(([, pattern, strategy, place]) => () => [breakable(pattern), strategy, place !== null && this.placeOf(data, place)])));
    }
    const rows = data.raw.sets[file];
    if (rows.length === 0) return;
    this.section(content, "What the file sets", this.table("What the file sets", ["Parameter", "As written", "Overridden later by", "Place"], rows.map(([path, written, place]) => () => {
      const later = place === null ? [] : data.laterSteps(place);
      return [[data.isExport(path) && h("span", { class: "faint" }, "exports "), this.pathLink(data, path, breakable(data.pathText[path]))],
        this.written(data, data.raw.written[written]),
        later.length > 0 && h("details", null, h("summary", null, count(later.length, "layer")), this.history(data, later, path)),
        place !== null && this.placeOf(data, place)];
    })));
  }

  /** The references to these paths, to paths below them and to their containers. */
  private referencesTo(data: Values, paths: Set<number>): { file: number; row: Values["raw"]["references"][number][number] }[] {
    const wanted = new Set<number>();
    const down = (path: number): void => {
      if (wanted.has(path)) return;
      wanted.add(path);
      for (const child of data.pathChildren.get(path) ?? []) down(child);
    };
    for (const path of paths) {
      if (data.isExport(path)) continue;
      down(path);
      for (let above = data.parent(path); above > 1; above = data.parent(above)) wanted.add(above);
    }
    return [...wanted].flatMap((path) => data.referrersOf(path));
  }

  private referenceTable(data: Values, references: ReturnType<Views["referencesTo"]>): HTMLElement {
    return this.table("References", ["Reference", "In", "Of", "Place"], references.map(({ file, row: [within, target, text, place] }) => () =>
      [target === null ? h("code", null, text) : this.pathLink(data, target, h("code", null, breakable(text))), this.link(file),
        within === null ? "the class list" : this.pathLink(data, within, breakable(data.pathText[within])), place !== null && this.placeOf(data, place)]));
  }

  private parameter(content: HTMLElement, at: Address, data: Values): string {
    const section = at.page === "export" ? 1 : 0;
    const path = at.name === "" ? section : data.byText[section].get(at.name);
    const { inventory } = this;
    if (path === undefined) {
      add(content, [h("h1", null, "Not found"), h("p", null, `No file and no node has the parameter '${at.name}'.`)]);
      return "Not found";
    }
    const crumbs: number[] = [];
    for (let one = path; one > 1; one = data.parent(one)) crumbs.unshift(one);
    const kind = section === 1 ? "export" : "parameter";
    add(content, h("h1", null, crumbs.length === 0 ? "Parameters" : [h("span", { class: "kind" }, kind), " ",
      crumbs.map((one, depth) => [depth > 0 && h("span", { class: "faint" }, inventory.o.delimiter), h("wbr"),
        one === path ? data.pathLast[one] : this.pathLink(data, one, data.pathLast[one])])]));
    const children = (data.pathChildren.get(path) ?? []);
    const leaves = (path: number): number => {
      const below = data.pathChildren.get(path);
      return below ? below.reduce((sum, child) => sum + leaves(child), 0) : 1;
    };
    if (crumbs.length > 0) {
      const groups = new Map<number, { nodes: number[]; leaves: Set<number> }>();
      let containers = 0;
      inventory.nodes().forEach((node) => {
        const found = data.at(node, path);
        if (!found) return;
        if ("container" in found) { containers++; return; }
        const leaf = data.get(found.leaf);
        const group = groups.get(leaf.value) ?? { nodes: [], leaves: new Set() };
        group.nodes.push(node);
        group.leaves.add(leaf.id);
        groups.set(leaf.value, group);
      });
      const rows = [...groups].sort((a, b) => b[1].nodes.length - a[1].nodes.length);
      if (rows.length > 0) {
        this.section(content, `Its values: ${rows.length.toLocaleString("en")} in ${count(rows.reduce((sum, [, { nodes }]) => sum + nodes.length, 0), "node")}`,
          this.table("Values of the parameter", ["Value", "Nodes", "Set by"], rows.map(([value, group]) => () => {
            const places = [...new Set([...group.leaves].map((leaf) => data.get(leaf).place))];
            const options = { path: data.pathText[path], exports: section === 1 ? "1" : undefined };
            return [this.value(data.raw.values[value]), group.nodes.length <= 3 ? this.links(group.nodes, options)
              : h("details", null, h("summary", null, this.bar(group.nodes.length, inventory.o.nodes), " nodes"), this.links(group.nodes, options)),
            h("ul", { class: "plain" }, places.slice(0, 8).map((place) => h("li", null, this.layerOf(data, place), " ", this.placeOf(data, place))),
              places.length > 8 && h("li", { class: "faint" }, `and ${places.length - 8} more places`))];
          })));
      }
      if (containers > 0) add(content, h("p", { class: "faint" }, `A container in ${count(containers, "node")}.`));
    }
    if (children.length > 0) {
      this.section(content, crumbs.length === 0 ? "By the first key" : "Below it", this.table("Keys", ["Key", "Parameters", "Files that set it"], [...children].sort((a, b) => data.pathText[a] < data.pathText[b] ? -1 : 1).map((child) => () => {
        const setters = new Set<number>();
        const collect = (path: number): void => {
          for (const [file] of data.settersOf(path)) setters.add(file);
          for (const below of data.pathChildren.get(path) ?? []) collect(below);
        };
        collect(child);
        return [this.pathLink(data, child, breakable(data.pathLast[child])), leaves(child).toLocaleString("en"),
          setters.size <= 4 ? this.links([...setters]) : h("span", { class: "faint" }, count(setters.size, "file"))];
      })));
    }
    const setters = data.settersOf(path);
    if (setters.length > 0) {
      this.section(content, "Set in " + count(setters.length, "file"), this.table("Who sets it", ["File", "As written", "Place", "Nodes"], setters.map(([file, written, place]) => () =>
        [this.link(file), this.written(data, data.raw.written[written]), place !== null && this.placeOf(data, place),
          inventory.isNode(file) ? "1" : inventory.nodesOf(file).length.toLocaleString("en")])));
    }
    if (crumbs.length > 0 && section === 0) {
      const references = this.referencesTo(data, new Set([path]));
      if (references.length > 0) this.section(content, "Referred to by " + count(references.length, "reference"), this.referenceTable(data, references));
    }
    return at.name || "Parameters";
  }

  private lint(content: HTMLElement, at: Address): string {
    const { o } = this.inventory;
    const rule = o.rules.findIndex((rule) => rule.code === at.name);
    add(content, h("h1", null, rule < 0 ? "Lint" : h("span", { class: "level " + o.rules[rule].level }, at.name)));
    if (rule < 0) {
      if (o.rules.length === 0) add(content, h("p", null, "Lint finds nothing."));
      else add(content, this.table("Rules", ["Rule", "Level", "Findings", "About"], o.rules.map((rule, at) => () =>
        [h("a", { href: "#" + address("lint", rule.code) }, rule.code), h("span", { class: "level " + rule.level }, rule.level === "info" ? "note" : rule.level),
          o.findings.filter((finding) => finding[0] === at).length.toLocaleString("en"), rule.about])));
      return "Lint";
    }
    const found = o.findings.filter((finding) => finding[0] === rule);
    add(content, [h("p", { class: "faint" }, o.rules[rule].about, " ", count(found.length, "finding"), ". ", h("a", { href: "#lint" }, "All rules"), "."), this.findingTable(found)]);
    return at.name;
  }

  private search(content: HTMLElement, at: Address): string {
    const asked = query(at.name);
    const hits = this.index!.find(asked);
    const data = this.data!;
    const total = hits.nodes.length + hits.classes.length + hits.paths.length + hits.values.length + hits.written.length;
    add(content, [h("h1", null, "Search: ", at.name), h("p", { class: "faint", role: "status" }, total.toLocaleString("en") + " found")]);
    const name = (file: number): Child => h("a", { href: "#" + address(this.inventory.isNode(file) ? "node" : "class", this.inventory.name(file)) }, marked(this.inventory.name(file), asked));
    const path = (path: number): Child => this.pathLink(data, path, marked(data.pathText[path], asked));
    const group = (title: string, heads: string[], rows: (() => Child[])[]): void => {
      if (rows.length > 0) this.section(content, `${title}: ${rows.length.toLocaleString("en")}`, this.table(title, heads, rows));
    };
    group("Names of nodes", ["Node"], hits.nodes.map((file) => () => [name(file)]));
    group("Names of classes", ["Class", "Nodes"], hits.classes.map((file) => () => [name(file), String(this.inventory.nodesOf(file).length)]));
    group("Paths of parameters", ["Parameter"], hits.paths.map((one) => () => [path(one)]));
    group("Values", ["Value", "Parameter"], hits.values.map(([one, value]) => () => [h("code", null, marked(data.raw.values[value] ?? "", asked)), path(one)]));
    group("Written in files", ["Text", "Parameter", "File"], hits.written.map(([file, one, written]) => () =>
      [h("code", null, marked(data.raw.written[written][0], asked)), path(one), this.link(file)]));
    return "Search";
  }

  private about(content: HTMLElement): string {
    add(content, [h("h1", null, "About this page"), h("p", null, "Written by ", h("code", null, "reclass graph"),
      ". It is one file and opens no connection. Licences of the libraries in it:"),
    Object.entries(LICENCES).map(([name, text]) => h("details", null, h("summary", null, name), h("pre", { tabindex: 0 }, text)))]);
    return "About";
  }
}
