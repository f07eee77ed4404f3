// The pages of the explorer: the start, a node, a class, a parameter, lists, the findings of lint, search results.

import { type Address, address } from "./address";
import { Aggregator } from "./boxes";
import { type Edge, type Leaf, type Overview, served, type Values, valuesOf } from "./data";
import { add, breakable, type Child, count, h, inline, prose } from "./dom";
import { Drawing } from "./drawing";
import { LEVELS } from "./parts";
import { reachOf } from "./reach";
import { type Index, marked, NODES, query, total } from "./search";
import { type Row, table } from "./table";

declare const LICENCES: Record<string, string>;

/** What helps when a search finds nothing. */
export function notFound(o: Overview): string {
  return "Each word must be in the same name, or in the same parameter with its value, its node and its file. Try fewer words, or a part of a word."
    + (o.held ? "" : " Values of nodes are not searched, because the page has too many nodes.");
}
/** Rows of the tables of a class that are shown at once. */
const FEW_ROWS = 10;
/** Values of a class that are shown at once. */
const FEW_VALUES = 25;

export class Views extends Drawing {
  index: Index | undefined;
  /** Called when values of a node have come. */
  again: () => void = () => {};
  /** The values that the server sent by node, or the reason why it did not. */
  private readonly sent = new Map<number, Values | string | undefined>();

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
    add(content, [h("h1", null, "Not found"), h("p", null, "This page has nothing at this address.")]);
    return "Not found";
  }

  private start(content: HTMLElement): string {
    const { inventory } = this;
    const { o } = inventory;
    const failing = inventory.nodes().filter((node) => inventory.fails(node));
    const broken = inventory.classes().filter((file) => inventory.fails(file) && inventory.reached[file]);
    const unused = inventory.unused();
    add(content, [h("h1", { class: "folder" }, o.folder ? breakable(o.folder) : "Inventory"), h("p", { class: "faint" },
      "Written ", o.date, o.revision && [" · revision ", h("code", { title: o.revision }, o.revision.slice(0, 10)),
        o.changed && " with uncommitted changes"], !o.whole && " · some of the nodes")]);
    const card = (number: number, noun: string, href: string, bad = false, plural?: string): HTMLElement =>
      h("a", { class: "card" + (bad ? " bad" : ""), href: "#" + href }, h("strong", null, number.toLocaleString("en")), h("span", null, number === 1 ? noun : plural ?? noun + "s"));
    const levels = this.levels();
    add(content, h("div", { class: "cards" }, card(o.nodes, "node", "nodes"), card(inventory.classes().length, "class", "classes", false, "classes"),
      this.data && card(this.parameterCount(this.data), "parameter", "parameters"),
      card(failing.length, "failing node", address("nodes", "", { fails: "1" }), failing.length > 0),
      LEVELS.map(([level, name], at) => card(levels[at], "lint " + name, address("lint", "", { level }), level === "error" && levels[at] > 0)),
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
    const used = inventory.classes().map((file) => [file, inventory.nodesOf(file).length] as const).filter(([, nodes]) => nodes > 0)
      .sort((a, b) => b[1] - a[1] || inventory.includedBy[b[0]].length - inventory.includedBy[a[0]].length).slice(0, 10);
    this.section(columns, "Most used classes", table("Most used classes", ["Class", "Nodes", "Listed in"], used.map(([file, nodes]) => () =>
      [this.link(file), this.bar(nodes, o.nodes), count(inventory.includedBy[file].length, "file")])));
    if (o.rules.length > 0) {
      this.section(columns, "Lint by rule", this.ruleTable());
    }
    const environments = new Map<string, number[]>();
    o.facts.forEach((facts, node) => {
      const name = facts.environment || "none";
      environments.set(name, [...(environments.get(name) ?? []), node]);
    });
    this.section(columns, "Environments", table("Environments", ["Environment", "Nodes"], [...environments].sort((a, b) => b[1].length - a[1].length).slice(0, 30).map(([name, nodes]) => () =>
      [h("a", { href: "#" + address("nodes", "", { environment: name }) }, breakable(name)), this.bar(nodes.length, o.nodes)])));
    if (o.whole && !inventory.knowsUnused()) {
      this.section(columns, "Unused classes", h("p", null, "Nobody knows which classes are unused, because the classes of at least one node cannot be read."));
    } else if (unused.length > 0 && o.whole) {
      this.section(columns, "Unused classes", [this.links(unused.slice(0, 24)),
        unused.length > 24 && h("p", null, h("a", { href: "#" + address("classes", "", { unused: "1" }) }, `all ${count(unused.length, "unused class", "unused classes")}`))]);
    }
    return o.name || "Inventory";
  }

  private parameterCount(data: Values): number { return data.byText[0].size; }

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
        isNode ? table("Nodes", ["Node", "Environment", "Classes", "Applications", "State"], rows.map((node) => () => {
          const facts = o.facts[node];
          return [this.link(node), facts.environment, facts.kind === null ? null : String(o.kinds[facts.kind].merged.length),
            h("span", { class: "faint" }, facts.applications.slice(0, 6).join(", "), facts.applications.length > 6 && ", …"),
            facts.problems.length > 0 && h("span", { class: "bad" }, "fails")];
        })) : table("Classes", ["Class", "Nodes", "Listed in", "Lists", "State"], rows.map((file) => () =>
          [this.link(file), this.bar(inventory.nodesOf(file).length, o.nodes), count(inventory.includedBy[file].length, "file"),
            count(inventory.includes[file].length, "class", "classes"),
            inventory.fails(file) ? h("span", { class: "bad" }, o.files[file][3]) : !inventory.reached[file] && h("span", { class: "faint" }, "unused")])));
    };
    const noun = isNode ? "nodes" : "classes";
    const title = [...words, noun].join(" ") + (environment ? ` of the environment ${environment}` : "") + (group ? ` in the same box of the graph as ${group}` : "");
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
    const values = this.valuesOf(node);
    const roots = typeof values === "object" ? values.roots(node) : [null, null];
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
      this.section(content, "Nodes whose queries find this node", table("Who asks it", ["Node", "Parameter"], askers.map((one) => () =>
        [this.link(one.node), this.pathLink(data, one.path, breakable(data.pathText[one.path]), one.node)])));
    } else if (!data || values === undefined) add(content, h("p", { class: "faint" }, "Reading the values…"));
    else if (typeof values === "string") {
      add(content, h("p", { class: "faint" }, inline(values)));
      this.sets(content, node, data);
    } else {
      const root = roots[tab === "exports" ? 1 : 0];
      if (root === null) {
        add(content, h("p", { class: "faint" }, facts.kind === null ? "The values cannot be computed, because the classes of the node are not known." : "There are no values."));
        this.sets(content, node, data);
      } else this.leaves(content, node, root, values, at.options.get("path"));
    }
    this.findings(content, node);
    return name;
  }

  /** The values of a node; `undefined` until they are there, or a text that says why they are not. */
  private valuesOf(node: number): Values | string | undefined {
    const { o } = this.inventory;
    if (o.held) return this.data;
    if (served() === undefined) {
      return "The page has too many nodes to hold their values. `reclass explore` shows them on this page, "
        + `and \`reclass show ${this.inventory.name(node)}\` prints them.`;
    }
    if (!this.sent.has(node)) {
      this.sent.set(node, undefined);
      void valuesOf(node, o.delimiter).catch((error: unknown) => `The server did not send the values: ${String(error)}`)
        .then((values) => { this.sent.set(node, values); this.again(); });
    }
    return this.sent.get(node);
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
    this.section(content, "Classes in the order in which they merge", table("Classes and why they are here", ["Order", "Class", "Why it is here", "Listed at"],
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
      // What the engine adds is the last.
      const own = "_reclass_";
      shown.replaceChildren(...[...groups].sort(([a], [b]) => Number(a === own) - Number(b === own)).map(([name, leaves]) => {
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
    const rows = leaves.map((leaf): Row => () => {
      const extra = data.raw.extras[leaf.extra];
      const steps = data.raw.steps[leaf.steps];
      const row = h("tr", { "data-path": data.pathText[leaf.path] });
      const button = steps.length > 0 && h("button", { type: "button", class: "steps", "aria-expanded": "false", title: "Show the files that set it, in order", click: () => {
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
      return row;
    });
    const box = table("Values below " + name, ["Parameter", "Value", "Set by", "Place"], rows, undefined, Infinity);
    box.querySelector("table")!.className = "leaves";
    return box;
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
      const entries = (title: string, id: string, edges: Edge[], end: "from" | "to"): void => this.section(content, title, edges.length === 0
        ? h("p", { class: "faint" }, "nothing") : table(title, ["Name", "Listed at"], edges.map((edge) => () => [this.link(edge[end]), this.entry(edge)]), title, FEW_ROWS), id);
      const [by, includes] = [inventory.includedBy[file], inventory.includes[file]];
      const jump = (text: string, id: string): HTMLElement => h("button", { type: "button", class: "chip", click: () => content.querySelector("#" + id)?.scrollIntoView() }, text);
      const reach = o.held && data ? reachOf(inventory, data, file) : undefined;
      const summary = !o.held ? count(nodes.length, "node") : reach && [count(nodes.length + reach.askers.length, "node"), count(reach.values, "value"),
        ...(reach.classes.length > 0 ? [count(reach.classes.length, "class name")] : [])].join(", ").replace(/, (?!.*, )/, " and ");
      add(content, h("p", { class: "controls" }, data && jump("sets " + count(data.raw.sets[file].length, "value"), "sets"), jump("includes " + count(includes.length, "class", "classes"), "includes"),
        jump("included by " + count(by.length, "file"), "included-by"), summary && jump("a change reaches " + summary, "reach")));
      if (data) this.sets(content, file, data);
      entries("Includes " + count(includes.length, "class", "classes"), "includes", includes, "to");
      entries("Included by " + count(by.length, "file"), "included-by", by, "from");
      if (!o.held) {
        this.section(content, `A change here reaches ${summary}`, [h("div", { id: "users" }, this.links(nodes.slice(0, 24))),
          h("p", null, inline(`\`reclass impact class:${name}\` prints the nodes, and the values and queries that it reaches.`))], "reach");
      } else if (data && reach) {
        this.section(content, `A change here reaches ${summary}`, [h("div", { id: "users" }, this.links(nodes.slice(0, 24)),
          nodes.length > 24 && h("p", null, h("a", { href: "#" + address("class", name, { tab: "nodes" }) }, `all ${count(nodes.length, "node")}`)),
          reach.askers.length > 0 && [h("p", null, "By their queries:"), this.links(reach.askers)]),
        h("p", null, ([["set", " is set here. ", " are set here. "], ["reference", " refers to these. ", " refer to these. "],
          ["query", " is a query for these. ", " are queries for these. "]] as const).map(([how, one, many]) => {
          const values = reach.rows.filter((row) => row.how === how).reduce((sum, row) => sum + row.nodes, 0);
          return values > 0 && [count(values, "value"), values === 1 ? one : many];
        })),
        reach.rows.length > 0 && table("Values that a change reaches", ["Parameter", "Nodes", "Why"], reach.rows.map(({ path, nodes, how, by }) => () =>
          [[data.isExport(path) && h("span", { class: "faint" }, "exports "), this.pathLink(data, path, breakable(data.pathText[path]))], nodes.toLocaleString("en"),
            how === "set" ? "this file sets it" : [how === "query" ? "a query asks for " : "refers to ", by !== undefined && this.pathLink(data, by, breakable(data.pathText[by]))]]), undefined, FEW_ROWS),
        reach.classes.length > 0 && [h("p", null, count(reach.classes.length, "class name"), reach.classes.length === 1 ? " refers" : " refer", " to these, so a node can get other classes."),
          this.referenceTable(data, reach.classes)]], "reach");
      }
      this.findings(content, file);
    }
    return name;
  }

  private sets(content: HTMLElement, file: number, data: Values): void {
    const rows = data.raw.sets[file];
    const { held } = this.inventory.o;
    if (rows.length > 0 || !this.inventory.isNode(file)) this.section(content, "Sets " + count(rows.length, "value"), rows.length === 0 ? h("p", { class: "faint" }, "nothing") : table("What the file sets", ["Parameter", "As written", ...(held ? ["Overridden later by"] : []), "Place"], rows.map(([path, written, place]) => () => {
      const later = !held || place === null ? [] : data.laterSteps(place);
      return [[data.isExport(path) && h("span", { class: "faint" }, "exports "), this.pathLink(data, path, breakable(data.pathText[path])), this.schema(data, path)],
        this.written(data, data.raw.written[written]),
        ...(held ? [later.length > 0 && h("details", null, h("summary", null, count(later.length, "layer")), this.history(data, later, path))] : []),
        place !== null && this.placeOf(data, place)];
    }), undefined, FEW_VALUES), "sets");
    const options = data.raw.merge_options.filter(([of]) => of === file);
    if (options.length > 0) {
      this.section(content, "Merge options", table("Merge options", ["Lists", "Strategy", "Place"],
        options.map(([, pattern, strategy, place]) => () => [breakable(pattern), strategy, place !== null && this.placeOf(data, place)])));
    }
  }

  /** What the schema of a parameter says. */
  private schema(data: Values, path: number): HTMLElement | undefined {
    const text = data.raw.schemas[path];
    return text === undefined ? undefined : h("div", { class: "faint" }, text);
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
    return table("References", ["Reference", "In", "Of", "Place"], references.map(({ file, row: [within, target, text, place] }) => () =>
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
    add(content, [h("h1", null, crumbs.length === 0 ? "Parameters" : [h("span", { class: "kind" }, kind), " ",
      crumbs.map((one, depth) => [depth > 0 && h("span", { class: "faint" }, inventory.o.delimiter), h("wbr"),
        one === path ? data.pathLast[one] : this.pathLink(data, one, data.pathLast[one])])]), this.schema(data, path)]);
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
        this.section(content, `${count(rows.length, "value")} in ${count(rows.reduce((sum, [, { nodes }]) => sum + nodes.length, 0), "node")}`,
          table("Values of the parameter", ["Value", "Nodes", "Set by"], rows.map(([value, group]) => () => {
            const places = [...new Set([...group.leaves].map((leaf) => data.get(leaf).place))];
            const options = { path: data.pathText[path], exports: section === 1 ? "1" : undefined };
            return [this.value(data.raw.values[value]), group.nodes.length <= 3 ? this.links(group.nodes, options)
              : h("details", null, h("summary", null, this.bar(group.nodes.length, inventory.o.nodes), " nodes"), this.links(group.nodes, options)),
            h("ul", { class: "plain" }, places.slice(0, 8).map((place) => h("li", null, this.layerOf(data, place), " ", this.placeOf(data, place))),
              places.length > 8 && h("li", { class: "faint" }, `and ${places.length - 8} more places`))];
          })));
      }
      if (!inventory.o.held) add(content, h("p", { class: "faint" }, inline(`\`reclass nodes --param ${at.name}\` prints the nodes that have it.`)));
      if (containers > 0) add(content, h("p", { class: "faint" }, `It is a mapping or a list in ${count(containers, "node")}.`));
    }
    if (children.length > 0) {
      this.section(content, crumbs.length === 0 ? "Top-level keys" : "Keys below it", table("Keys", ["Key", "Parameters", "Files that set it"], [...children].sort((a, b) => data.pathText[a] < data.pathText[b] ? -1 : 1).map((child) => () => {
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
      this.section(content, "Set in " + count(setters.length, "file"), table("Who sets it", ["File", "As written", "Place", "Nodes"], setters.map(([file, written, place]) => () =>
        [this.link(file), this.written(data, data.raw.written[written]), place !== null && this.placeOf(data, place),
          inventory.isNode(file) ? "1" : inventory.nodesOf(file).length.toLocaleString("en")])));
    }
    if (crumbs.length > 0 && section === 0) {
      const references = this.referencesTo(data, new Set([path]));
      if (references.length > 0) this.section(content, count(references.length, "reference") + " to it", this.referenceTable(data, references));
    }
    return at.name || "Parameters";
  }

  private lint(content: HTMLElement, at: Address): string {
    const { o } = this.inventory;
    const number = o.rules.findIndex((rule) => rule.code === at.name);
    const rule = o.rules[number];
    const chosen = at.options.get("level");
    const counts = this.levels(rule && number);
    add(content, [h("h1", null, rule ? h("span", { class: "level " + rule.level }, rule.code) : "Lint"), rule && [h("p", null, inline(rule.about)), prose(rule.text)],
      h("p", { class: "controls" }, LEVELS.map(([level, name], one) => h("a", { class: "chip", href: "#" + address("lint", at.name, { level: level === chosen ? undefined : level }),
        "aria-current": level === chosen ? "true" : undefined }, count(counts[one], name))), rule && h("a", { class: "chip", href: "#lint" }, "all rules"))]);
    if (rule || chosen) this.section(content, "Findings", this.findingTable(o.findings.filter((finding) => (!rule || finding[0] === number) && (!chosen || finding[6] === chosen)), rule && "rule"));
    else if (o.rules.length > 0) add(content, this.ruleTable());
    return rule ? at.name : "Lint";
  }

  private search(content: HTMLElement, at: Address): string {
    const asked = query(at.name);
    const hits = this.index!.find(asked);
    const data = this.data!;
    add(content, [h("h1", null, "Search: ", at.name), h("p", { class: "faint", role: "status" }, total(hits).toLocaleString("en") + " found"), total(hits) === 0 && h("p", null, notFound(this.inventory.o))]);
    const name = (file: number): Child => h("a", { href: "#" + address(this.inventory.isNode(file) ? "node" : "class", this.inventory.name(file)) }, marked(this.inventory.name(file), asked));
    const path = (path: number): Child => this.pathLink(data, path, marked(data.pathText[path], asked));
    const group = (title: string, heads: string[], rows: (() => Child[])[]): void => {
      if (rows.length > 0) this.section(content, `${title}: ${rows.length.toLocaleString("en")}`, table(title, heads, rows));
    };
    group("Names of nodes", ["Node"], hits.nodes.map((file) => () => [name(file)]));
    group("Names of classes", ["Class", "Nodes"], hits.classes.map((file) => () => [name(file), String(this.inventory.nodesOf(file).length)]));
    group("Paths of parameters", ["Parameter"], hits.paths.map((one) => () => [path(one)]));
    const cut = new Set([...hits.had, ...hits.own].map(([node]) => node)).size === NODES ? ` (the first ${NODES} nodes)` : "";
    group("Classes of nodes" + cut, ["Node", "Class"], hits.had.map(([node, file]) => () => [name(node), name(file)]));
    group("Values of nodes" + cut, ["Node", "Parameter", "Value"], hits.own.map(([node, one, value]) => () => [name(node),
      this.pathLink(data, one, marked(data.pathText[one], asked), node), h("code", null, marked(data.raw.values[value] ?? "", asked))]));
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
