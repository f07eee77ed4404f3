// The graphs of the pages: of all, and around a node or class.

import { type Address, address } from "./address";
import { Aggregator, type Box, failures, fails, neighbourhood, opensHere, READABLE } from "./boxes";
import type { Inventory } from "./data";
import { add, breakable, type Child, count, h } from "./dom";
import { GraphView, hueOf, laidOut, LEGIBLE } from "./graph";
import { Parts } from "./parts";
import type { Settings } from "./settings";
import { table } from "./table";

/** Open packages that are shown beside each other. */
const CHIPS = 7;

export class Drawing extends Parts {
  protected graph: GraphView | undefined;
  private readonly packages: string[];

  constructor(inventory: Inventory, settings: Settings) {
    super(inventory, settings);
    const sizes = new Map<string, number>();
    for (const file of inventory.classes()) {
      const name = inventory.name(file).split(".", 1)[0];
      sizes.set(name, (sizes.get(name) ?? 0) + 1);
    }
    this.packages = [...sizes.keys()].sort((a, b) => sizes.get(b)! - sizes.get(a)!);
  }

  protected draw(content: HTMLElement, files: Iterable<number>, pinned: number | undefined, at: Address, description: string): void {
    const { inventory } = this;
    const aggregator = new Aggregator(inventory, files, pinned);
    const given = at.options.get("open");
    let open = given?.split(",").filter(Boolean) ?? aggregator.readable(READABLE[0]);
    let picture = aggregator.picture(open);
    let layout = laidOut(picture);
    for (const limit of given === null ? READABLE.slice(1) : []) {
      if (layout.zoom >= LEGIBLE) break;
      const fewer = aggregator.readable(limit);
      const other = aggregator.picture(fewer), places = laidOut(other);
      if (places.zoom > layout.zoom) [open, picture, layout] = [fewer, other, places];
    }
    const options = Object.fromEntries(at.options);
    const go = (open: string[]): void => {
      location.hash = address(at.page, at.name, { ...options, open: open.join(",") || "," });
    };
    const page = (box: Box): string | undefined =>
      box.kind === "node" || box.kind === "class" ? address(box.kind, inventory.name(box.files[0]))
        : box.kind === "package" ? address("classes", box.label + ".*")
          : address("nodes", "", { group: inventory.name(box.files[0]), graph: at.page + ":" + at.name, steps: options.steps, open: open.join(",") || "," });
    this.graph = new GraphView(picture, layout, this.packages, {
      open: (name) => go([...open, name]),
      close: (name) => go(open.filter((one) => one !== name && !one.startsWith(name + "."))),
      address: page,
      focus: (box) => box.kind === "node" || box.kind === "class"
        ? address(box.kind, inventory.name(box.files[0]), { tab: "graph" }) : undefined,
      facts: (box) => this.boxFacts(box),
    }, pinned, description, given?.split(",").filter(Boolean).at(-1));
    const opened = open.filter((name) => name[0] === "@" || inventory.classes().some((file) => inventory.name(file).startsWith(name + ".")));
    const chips = (names: string[]): Child => names.map((name) => h("button", { type: "button", class: "chip", "aria-label": "Close " + name.replace(/^@/, "the nodes like "),
        click: () => go(open.filter((one) => one !== name && !one.startsWith(name + "."))) }, name.replace(/^@/, "nodes like "), h("span", { "aria-hidden": "true" }, " ×")));
    add(content, h("div", { class: "opened" },
      opened.length > 0 && h("span", { class: "faint" }, "Open: "), chips(opened.slice(0, CHIPS)),
      opened.length > CHIPS && h("details", { class: "chips" }, h("summary", null, `${opened.length - CHIPS} more`), chips(opened.slice(CHIPS))),
      opened.length > 1 && h("button", { type: "button", class: "chip", click: () => go([]) }, "close all"),
      given !== null && h("a", { class: "chip", href: "#" + address(at.page, at.name, { ...options, open: undefined }) }, "back to the first picture")));
    add(content, this.graph.element);
    const boxes = [...picture.boxes.values()];
    const opening = boxes.some((box) => box.opens !== undefined && opensHere(box));
    const large = boxes.some((box) => box.opens !== undefined && !opensHere(box));
    const failing = boxes.some(fails);
    const mapped = [...picture.arrows.values()].some((arrow) => arrow.mapped);
    const tops = new Set([...picture.boxes.values()].map((box) => box.package).filter(Boolean));
    add(content, h("ul", { class: "legend", "aria-label": "Legend" },
      this.packages.filter((name) => tops.has(name)).slice(0, 10).map((name) =>
        h("li", null, h("span", { class: "swatch", style: `--hue: ${hueOf(name, this.packages)}` }), name)),
      opening && h("li", null, h("span", { class: "swatch double" }), "▸ a click opens it here"),
      large && h("li", null, h("span", { class: "swatch link" }), "↗ a click leads to the list"),
      h("li", null, h("span", { class: "swatch plain" }), "a click shows its arrows, a double click its page"),
      failing && h("li", null, h("span", { class: "swatch red" }), "fails"),
      mapped && h("li", null, h("span", { class: "line dashed" }), "by a class mapping")));
    const named = (box: Box): Child => {
      const href = page(box);
      const size = box.kind === "package" ? count(box.files.length, "class", "classes") : count(box.files.length, "node");
      const name = box.kind === "package" || box.kind === "nodes" ? `${box.label} (${[size, ...failures(box)].join(", ")})` : box.label;
      return href ? h("a", { href: "#" + href, class: fails(box) ? "bad" : "" }, breakable(name)) : name;
    };
    add(content, h("details", { class: "as-list" }, h("summary", null, `As a list: ${count(picture.boxes.size, "box", "boxes")}, ${count(picture.arrows.size, "arrow")}`),
      table("Boxes of the graph", ["Box", "Includes", "Open"], [...picture.boxes.values()].map((box) => () => {
        const next = [...picture.arrows.values()].filter((arrow) => arrow.from === box.id).map((arrow) => picture.boxes.get(arrow.to)!);
        const can = box.opens !== undefined && opensHere(box);
        return [named(box), h("ul", { class: "links" }, next.slice(0, 60).map((other) => h("li", null, named(other)))),
          can && h("button", { type: "button", class: "chip", click: () => go([...open, box.opens!]) }, "open")];
      }))));
  }

  /** What a tooltip says of a box of the graph. */
  protected boxFacts(box: Box): string[] {
    const { inventory } = this;
    const [first] = box.files;
    if (box.kind === "node" || box.kind === "class") return [this.facts(first)];
    if (box.kind === "package") {
      const nodes = new Set(box.files.flatMap((file) => inventory.nodesOf(file)));
      return [`a package of ${count(box.files.length, "class", "classes")}`, "in " + count(nodes.size, "node")];
    }
    const names = box.files.slice(0, 4).map((file) => inventory.name(file));
    return [`${count(box.files.length, "node")} with the same arrows${box.roles.length > 0 ? ": " + box.roles.join(", ") : ""}`,
      names.join(", ") + (box.files.length > names.length ? ", …" : "")];
  }

  protected overview(content: HTMLElement, at: Address): string {
    const { inventory } = this;
    add(content, [h("h1", null, "The graph"),
      h("p", { class: "faint" }, "Nodes come first. An arrow leads to a class that is included. Nodes with the same arrows share a box, and so do the classes of a package.")]);
    this.draw(content, this.reached(), undefined, at,
      `Graph of ${count(inventory.o.nodes, "node")} and ${count(inventory.classes().length, "class", "classes")}`);
    const unused = inventory.unused().length;
    if (unused > 0 && inventory.knowsUnused()) {
      add(content, h("p", { class: "faint" }, `${count(unused, "class", "classes")} that no node uses ${unused === 1 ? "is" : "are"} left out: `,
        h("a", { href: "#" + address("classes", "", { unused: "1" }) }, "see the list"), "."));
    }
    return "Graph";
  }

  protected reached(): number[] {
    return this.inventory.o.files.map((_, file) => file).filter((file) => this.inventory.reached[file]);
  }

  protected steps(file: number, at: Address): string {
    return at.options.get("steps") ?? (this.inventory.isNode(file) ? "all" : "2");
  }

  protected around(file: number, at: Address): Set<number> {
    const steps = this.steps(file, at);
    return neighbourhood(this.inventory, file, steps === "all" ? Infinity : Number(steps) || 1);
  }

  protected focus(content: HTMLElement, file: number, at: Address): void {
    const steps = this.steps(file, at);
    const choice = h("select", { id: "steps", change: () => {
      location.hash = address(at.page, at.name, { tab: "graph", steps: choice.value });
    } }, ["1", "2", "3", "4", "all"].map((value) => h("option", { value, selected: value === steps }, value)));
    add(content, h("p", { class: "controls" }, h("label", { for: "steps" }, "Includes from here: "), choice));
    this.draw(content, this.around(file, at), file, at,
      `Graph around ${this.inventory.name(file)}`);
  }
}
