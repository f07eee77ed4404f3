// Draws boxes and arrows with Cytoscape, laid out in layers by dagre: nodes on the left, then their roles, then the
// classes that these include.

import dagre from "@dagrejs/dagre";
import cytoscape from "cytoscape";
import { type Box, LARGEST_GROUP, type Picture } from "./boxes";
import { add, count, h } from "./dom";

/** The zoom at which letters can still be read. */
const LEGIBLE = 0.85;

/** A root that is laid out and not drawn. */
const ROOT = "root";

/** The hues of packages. */
const HUES = [212, 150, 28, 276, 340, 96, 186, 48, 306, 6];

export interface Actions {
  /** Opens a package or a group of nodes. */
  open(name: string): void;
  close(name: string): void;
  /** The address of a box's page, if it has one. */
  address(box: Box): string | undefined;
  focus(box: Box): string | undefined;
}

export function hueOf(name: string, packages: string[]): number { return HUES[Math.max(0, packages.indexOf(name)) % HUES.length]; }

const isDark = (): boolean => matchMedia("(prefers-color-scheme: dark)").matches && !matchMedia("print").matches;

function style(packages: string[]): any[] {
  const dark = isDark();
  const ink = dark ? "#e8eaf0" : "#1c2230";
  const red = dark ? "#ff7b72" : "#b3261e";
  const fill = (hue: number): string => (dark ? `hsl(${hue}, 38%, 24%)` : `hsl(${hue}, 70%, 92%)`);
  const line = (hue: number): string => (dark ? `hsl(${hue}, 50%, 58%)` : `hsl(${hue}, 55%, 42%)`);
  return [
    { selector: "node", style: {
      "label": "data(label)", "shape": "round-rectangle", "width": "data(width)", "height": "data(height)",
      "font-family": "system-ui, sans-serif", "font-size": 13, "text-valign": "center", "text-halign": "center",
      "text-wrap": "wrap", "color": ink, "border-width": 1.2, "background-color": dark ? "#2a3040" : "#ffffff",
      "border-color": dark ? "#8b95ab" : "#4a5468" } },
    ...packages.map((name) => ({ selector: `node[package = ${JSON.stringify(name)}]`, style: {
      "background-color": fill(hueOf(name, packages)), "border-color": line(hueOf(name, packages)) } })),
    { selector: "node[kind = 'node'], node[kind = 'nodes']", style: { "shape": "rectangle", "font-weight": 600 } },
    { selector: "node[kind = 'package'], node[kind = 'nodes']", style: { "border-width": 3, "border-style": "double", "border-cap": "butt" } },
    { selector: "node.unused", style: { "opacity": 0.65 } },
    { selector: "node.missing", style: { "border-style": "dashed", "border-width": 2 } },
    { selector: "node.fails", style: { "border-color": red, "border-width": 3, "color": red } },
    { selector: "node.pinned", style: { "border-width": 4, "font-weight": 700 } },
    { selector: "edge", style: {
      "width": "data(width)", "line-color": dark ? "#6b768f" : "#9aa3b5", "target-arrow-color": dark ? "#6b768f" : "#9aa3b5",
      "target-arrow-shape": "triangle", "arrow-scale": 0.9, "source-endpoint": "90deg", "target-endpoint": "270deg",
      "curve-style": "unbundled-bezier", "control-point-distances": "data(distances)", "control-point-weights": "data(weights)",
      "edge-distances": "endpoints" } },
    { selector: "edge.mapped", style: { "line-style": "dashed" } },
    { selector: ".faded", style: { "opacity": 0.18 } },
    { selector: "node:selected, node.hovered", style: { "border-width": 4, "overlay-color": dark ? "#8ab4ff" : "#1a5fb4", "overlay-opacity": 0.14, "overlay-padding": 3 } },
    { selector: "edge.near", style: { "line-color": dark ? "#8ab4ff" : "#1a5fb4", "target-arrow-color": dark ? "#8ab4ff" : "#1a5fb4", "z-index": 9 } },
  ];
}

const ruler = document.createElement("canvas").getContext("2d")!;

/** Number of roles in the label of a group of nodes. */
const ROLES = 2;

/** The label of a box and its size. */
function labelled(box: Box): { label: string; width: number; height: number } {
  const lines = [box.label];
  if (box.kind === "package") lines.push(count(box.files.length, "class", "classes") + " ▸");
  if (box.kind === "nodes") {
    if (box.roles.length > 0) lines.push(box.roles.slice(0, ROLES).join(", ") + (box.roles.length > ROLES ? ", …" : ""));
    lines.push(count(box.files.length, "node") + " ▸");
  }
  ruler.font = "600 13px system-ui, sans-serif";
  const width = Math.max(...lines.map((line) => ruler.measureText(line).width));
  return { label: lines.join("\n"), width: Math.ceil(width) + 22, height: lines.length * 16 + 14 };
}

/** The view of a graph. The same element shows one picture after the other. */
export class GraphView {
  readonly element: HTMLElement;
  private readonly canvas: HTMLElement;
  private readonly info: HTMLElement;
  private readonly map: HTMLCanvasElement;
  private readonly cy: cytoscape.Core;
  private readonly stop = new AbortController();

  constructor(private readonly picture: Picture, packages: string[], private readonly actions: Actions,
    pinned: number | undefined, description: string) {
    this.canvas = h("div", { class: "canvas", tabindex: 0, role: "application", "aria-label": description +
      ". Arrow keys move between boxes, Enter opens, plus and minus zoom, 0 shows everything. The list below has the same content." });
    this.info = h("div", { class: "box-info", "aria-live": "polite" });
    this.map = h("canvas", { class: "minimap", width: 180, height: 120, "aria-hidden": "true" });
    const button = (text: string, label: string, act: () => void): HTMLElement =>
      h("button", { type: "button", "aria-label": label, title: label, click: act }, text);
    this.element = h("div", { class: "graph" }, this.canvas,
      h("div", { class: "zoom" },
        button("+", "Zoom in", () => this.zoom(1.3)), button("−", "Zoom out", () => this.zoom(1 / 1.3)),
        button("⤢", "Show everything", () => this.fit(true))),
      this.map, this.info);
    this.cy = cytoscape({ container: this.canvas, elements: this.elements(pinned), layout: { name: "preset" },
      style: style(packages), minZoom: 0.05, maxZoom: 3, boxSelectionEnabled: false, autoungrabify: true,
      selectionType: "single" });
    this.events();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.cy.style(style(packages)), { signal: this.stop.signal });
  }

  private elements(pinned: number | undefined): cytoscape.ElementDefinition[] {
    const layout = new dagre.graphlib.Graph({ multigraph: false });
    layout.setGraph({ rankdir: "LR", ranksep: 90, nodesep: 14, edgesep: 8, marginx: 20, marginy: 20 });
    layout.setDefaultEdgeLabel(() => ({}));
    const sizes = new Map<string, ReturnType<typeof labelled>>();
    const used = new Set<string>();
    for (const { from, to } of this.picture.arrows.values()) { used.add(from); used.add(to); }
    for (const box of this.picture.boxes.values()) {
      const size = labelled(box);
      sizes.set(box.id, size);
      if (used.has(box.id)) layout.setNode(box.id, { width: size.width, height: size.height });
    }
    for (const { from, to } of this.picture.arrows.values()) layout.setEdge(from, to);
    // A root that is not drawn keeps all nodes in the first layer.
    layout.setNode(ROOT, { width: 1, height: 1 });
    for (const box of this.picture.boxes.values()) {
      if (used.has(box.id) && box.kind.startsWith("node")) layout.setEdge(ROOT, box.id, { weight: 40 });
    }
    if (used.size > 0) dagre.layout(layout);
    const places = new Map<string, { x: number; y: number }>();
    let bottom = 0;
    for (const id of layout.nodes()) {
      if (id === ROOT) continue;
      const { x, y, height } = layout.node(id) as any;
      places.set(id, { x, y });
      bottom = Math.max(bottom, y + height / 2);
    }
    // Boxes without arrows stand in rows below.
    const widest = Math.max(900, Number((layout.graph() as any)?.width) || 0);
    let [x, y] = [20, bottom + 40];
    for (const box of this.picture.boxes.values()) {
      if (used.has(box.id)) continue;
      const { width, height } = sizes.get(box.id)!;
      if (x + width > widest) { x = 20; y += 60; }
      places.set(box.id, { x: x + width / 2, y: y + height / 2 });
      x += width + 16;
    }
    const nodes = [...this.picture.boxes.values()].map((box): cytoscape.ElementDefinition => ({
      group: "nodes", data: { id: box.id, package: box.package, kind: box.kind, ...sizes.get(box.id)! },
      position: places.get(box.id),
      classes: [box.fails && "fails", box.missing && "missing", box.unused && "unused",
        pinned !== undefined && box.files.length === 1 && box.files[0] === pinned && "pinned"].filter(Boolean).join(" "),
    }));
    const edges = [...this.picture.arrows].map(([id, arrow]): cytoscape.ElementDefinition => {
      const from = places.get(arrow.from)!, to = places.get(arrow.to)!;
      const x1 = from.x + sizes.get(arrow.from)!.width / 2, x2 = to.x - sizes.get(arrow.to)!.width / 2;
      const [dx, dy] = [x2 - x1, to.y - from.y];
      const square = dx * dx + dy * dy || 1, length = Math.sqrt(square);
      // The curve begins and ends level, and goes around the boxes of the layers between.
      const bends = ((layout.edge(arrow.from, arrow.to) as any)?.points ?? []).slice(1, -1).map((one: { x: number; y: number }) => [one.x - x1, one.y - from.y]);
      const pull = bends.length > 1 ? 34 : Math.max(30, Math.abs(dx) / 2);
      const points = bends.length > 1 ? [[pull, 0], ...bends, [dx - pull, dy]] : [[pull, 0], [dx - pull, dy]];
      return { group: "edges", classes: arrow.mapped ? "mapped" : "", data: { id, source: arrow.from, target: arrow.to,
        width: 1 + Math.log2(arrow.entries.length) * 0.38,
        weights: points.map(([px, py]: number[]) => (px * dx + py * dy) / square),
        distances: points.map(([px, py]: number[]) => (py * dx - px * dy) / length) } };
    });
    return [...nodes, ...edges];
  }

  private events(): void {
    const { cy } = this;
    cy.on("tap", "node", (event) => this.activate(event.target.id(), true));
    cy.on("tap", (event) => { if (event.target === cy) this.select(undefined); });
    cy.on("dbltap", "node", (event) => this.follow(event.target.id()));
    cy.on("mouseover", "node", (event) => { event.target.addClass("hovered"); this.canvas.style.cursor = "pointer"; });
    cy.on("mouseout", "node", (event) => { event.target.removeClass("hovered"); this.canvas.style.cursor = ""; });
    let waiting = false;
    cy.on("render zoom pan resize", () => {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => { waiting = false; this.drawMap(); });
    });
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    const drag = (event: PointerEvent): void => {
      if (event.buttons === 0) return;
      const { left, top } = this.map.getBoundingClientRect();
      const { scale, x, y } = this.mapScale();
      const zoom = cy.zoom();
      const [mx, my] = [(event.clientX - left - x) / scale, (event.clientY - top - y) / scale];
      cy.pan({ x: cy.width() / 2 - mx * zoom, y: cy.height() / 2 - my * zoom });
    };
    this.map.addEventListener("pointerdown", (event) => { this.map.setPointerCapture(event.pointerId); drag(event); });
    this.map.addEventListener("pointermove", drag);
  }

  /** Shows everything; at first with letters that can be read, from the top left on. */
  fit(animated = false): void {
    const { cy } = this;
    cy.resize();
    const box = cy.elements().boundingBox({});
    const whole = Math.min(1.15, (cy.width() - 30) / box.w, (cy.height() - 30) / box.h);
    const zoom = animated ? whole : Math.max(whole, LEGIBLE);
    const start = cy.nodes(".pinned").length > 0 ? cy.nodes(".pinned")[0].position() : undefined;
    const pan = { x: cy.width() / 2 - zoom * (box.x1 + box.w / 2), y: cy.height() / 2 - zoom * (box.y1 + box.h / 2) };
    if (zoom * box.w > cy.width()) pan.x = start ? cy.width() / 3 - zoom * start.x : 15 - zoom * box.x1;
    if (zoom * box.h > cy.height()) pan.y = start ? cy.height() / 2 - zoom * start.y : 15 - zoom * box.y1;
    if (animated && !matchMedia("(prefers-reduced-motion: reduce)").matches) this.cy.animate({ zoom, pan }, { duration: 200 });
    else this.cy.viewport({ zoom, pan });
  }

  private zoom(factor: number): void {
    this.cy.zoom({ level: this.cy.zoom() * factor, renderedPosition: { x: this.cy.width() / 2, y: this.cy.height() / 2 } });
  }

  private activate(id: string, mouse: boolean): void {
    const box = this.picture.boxes.get(id)!;
    if (mouse && box.opens !== undefined) this.follow(id);
    else this.select(id);
  }

  private follow(id: string): void {
    const box = this.picture.boxes.get(id)!;
    const address = this.actions.address(box);
    if (box.opens !== undefined && (box.kind === "package" || box.files.length <= LARGEST_GROUP)) this.actions.open(box.opens);
    else if (address) location.hash = address;
  }

  private select(id: string | undefined): void {
    const { cy } = this;
    cy.elements().removeClass("faded near").unselect();
    this.info.replaceChildren();
    if (id === undefined) return;
    const node = cy.getElementById(id);
    const near = node.closedNeighborhood();
    cy.elements().difference(near).addClass("faded");
    node.connectedEdges().addClass("near");
    node.select();
    const box = this.picture.boxes.get(id)!;
    const address = this.actions.address(box), focus = this.actions.focus(box);
    add(this.info, [h("strong", null, box.label), " ",
      box.fails && h("span", { class: "bad" }, box.missing ? "missing " : "fails "),
      h("span", { class: "faint" }, `${node.incomers("edge").length} in, ${node.outgoers("edge").length} out `),
      address && h("a", { href: "#" + address }, "open its page"), " ",
      focus && h("a", { href: "#" + focus }, "focus")]);
  }

  private key(event: KeyboardEvent): void {
    const { cy } = this;
    const selected = cy.nodes(":selected");
    const current = selected.length > 0 ? selected[0] : undefined;
    const directions: Record<string, [number, number]> = {
      ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const direction = directions[event.key];
    if (direction) {
      const from = current?.position() ?? { x: cy.extent().x1, y: cy.extent().y1 };
      let best: cytoscape.NodeSingular | undefined;
      let least = Infinity;
      cy.nodes().forEach((node) => {
        if (node === current) return;
        const [dx, dy] = [node.position("x") - from.x, node.position("y") - from.y];
        const along = dx * direction[0] + dy * direction[1], aside = Math.abs(dx * direction[1]) + Math.abs(dy * direction[0]);
        const distance = current ? along + 2 * aside : Math.abs(dx) + Math.abs(dy);
        if ((!current || along > 5) && distance < least) [best, least] = [node, distance];
      });
      if (best) {
        this.select(best.id());
        const { x, y } = best.renderedPosition();
        if (x < 40 || y < 40 || x > cy.width() - 40 || y > cy.height() - 40) cy.center(best);
      }
    } else if (event.key === "Enter" && current) this.follow(current.id());
    else if (event.key === "+" || event.key === "=") this.zoom(1.3);
    else if (event.key === "-") this.zoom(1 / 1.3);
    else if (event.key === "0") this.fit(true);
    else if (event.key === "Escape" && current) this.select(undefined);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  private mapScale(): { scale: number; x: number; y: number } {
    const box = this.cy.elements().boundingBox({});
    const scale = Math.min(this.map.width / (box.w + 40), this.map.height / (box.h + 40));
    return { scale, x: this.map.width / 2 - scale * (box.x1 + box.w / 2), y: this.map.height / 2 - scale * (box.y1 + box.h / 2) };
  }

  private drawMap(): void {
    if (this.cy.destroyed()) return;
    const context = this.map.getContext("2d")!;
    const { scale, x, y } = this.mapScale();
    context.clearRect(0, 0, this.map.width, this.map.height);
    this.cy.nodes().forEach((node) => {
      const { x1, y1, w, h } = node.boundingBox({ includeLabels: false, includeOverlays: false });
      context.fillStyle = node.style("border-color");
      context.fillRect(x + x1 * scale, y + y1 * scale, Math.max(1.5, w * scale), Math.max(1.5, h * scale));
    });
    const view = this.cy.extent();
    const all = this.cy.elements().boundingBox({});
    this.map.hidden = view.x1 <= all.x1 && view.y1 <= all.y1 && view.x2 >= all.x2 && view.y2 >= all.y2;
    context.strokeStyle = isDark() ? "#8ab4ff" : "#1a5fb4";
    context.lineWidth = 1.5;
    context.strokeRect(x + view.x1 * scale, y + view.y1 * scale, view.w * scale, view.h * scale);
  }

  destroy(): void {
    this.stop.abort();
    this.cy.destroy();
  }
}
