// Draws boxes and arrows with Cytoscape.

import cytoscape from "cytoscape";
import { type Box, failures, fails, opensHere, type Picture } from "./boxes";
import { add, type Child, count, h } from "./dom";
import { type Layout, layoutOf, type Size } from "./layout";
import { isDark } from "./settings";

/** The zoom at which letters can still be read: 11 pixels high. */
export const LEGIBLE = 0.85;
/** The zoom below which a graph begins in its middle and not as a whole. */
const SMALLEST = LEGIBLE;

/** The hues of packages. */
const HUES = [212, 150, 28, 276, 340, 96, 186, 48, 306, 6];

export interface Actions {
  /** Opens a package or a group of nodes. */
  open(name: string): void;
  close(name: string): void;
  /** The address of a box's page, if it has one. */
  address(box: Box): string | undefined;
  focus(box: Box): string | undefined;
  /** What a tooltip says of a box. */
  facts(box: Box): string[];
}

export function hueOf(name: string, packages: string[]): number { return HUES[Math.max(0, packages.indexOf(name)) % HUES.length]; }

/** The frame of a graph in this window. */
export function frame(): Size {
  return { width: Math.min(innerWidth, 1760) - (innerWidth > 768 ? 50 : 28), height: innerWidth > 768 ? Math.max(384, innerHeight - 352) : innerHeight * 0.6 };
}

function style(packages: string[], upright: boolean): any[] {
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
    { selector: "node.link", style: { "color": dark ? "#8ab4ff" : "#1a5fb4" } },
    { selector: "node.opens", style: { "border-width": 3, "border-style": "double", "border-cap": "butt" } },
    { selector: "node.unused", style: { "opacity": 0.65 } },
    { selector: "node.missing", style: { "border-style": "dashed", "border-width": 2 } },
    { selector: "node.fails", style: { "border-color": red, "border-width": 3, "color": red } },
    { selector: "node.pinned", style: { "border-width": 4, "font-weight": 700 } },
    { selector: "edge", style: {
      "width": "data(width)", "line-color": dark ? "#6b768f" : "#9aa3b5", "target-arrow-color": dark ? "#6b768f" : "#9aa3b5",
      "target-arrow-shape": "triangle", "arrow-scale": 0.9, "source-endpoint": upright ? "180deg" : "90deg", "target-endpoint": upright ? "0deg" : "270deg",
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

/** The lines of a box. */
function linesOf(box: Box): string[] {
  if (box.kind === "package") return [box.label, count(box.files.length, "class", "classes") + " ▸", ...failures(box)];
  if (box.kind !== "nodes") return [box.label];
  const roles = box.roles.slice(0, ROLES).join(", ") + (box.roles.length > ROLES ? ", …" : "");
  return [count(box.files.length, "node") + (opensHere(box) ? " ▸" : " ↗"), box.label, ...(roles ? ["with " + roles] : []), ...failures(box)];
}

function sizeOf(lines: string[]): Size {
  ruler.font = "600 13px system-ui, sans-serif";
  return { width: Math.ceil(Math.max(...lines.map((line) => ruler.measureText(line).width))) + 22, height: lines.length * 16 + 14 };
}

/** The places of the boxes of a picture in this window. */
export function laidOut(picture: Picture): Layout & { sizes: Map<string, Size> } {
  const sizes = new Map([...picture.boxes.values()].map((box) => [box.id, sizeOf(linesOf(box))]));
  return { ...layoutOf(picture, sizes, frame()), sizes };
}

/** The view of a graph. The same element shows one picture after the other. */
export class GraphView {
  readonly element: HTMLElement;
  private readonly canvas: HTMLElement;
  private readonly info: HTMLElement;
  private readonly tip: HTMLElement;
  private readonly map: HTMLCanvasElement;
  private readonly cy: cytoscape.Core;
  private readonly stop = new AbortController();

  constructor(private readonly picture: Picture, private readonly layout: ReturnType<typeof laidOut>, packages: string[], private readonly actions: Actions,
    pinned: number | undefined, description: string, private readonly opened: string | undefined) {
    this.canvas = h("div", { class: "canvas", tabindex: 0, role: "application", "aria-label": description +
      ". Arrow keys move between boxes, Enter opens a box, plus and minus zoom, 0 shows everything. The list below has the same content." });
    this.info = h("div", { class: "box-info", "aria-live": "polite" });
    this.tip = h("div", { class: "tip", "aria-hidden": "true", hidden: true });
    this.map = h("canvas", { class: "minimap", width: 100, height: 54, "aria-hidden": "true" });
    const button = (text: string, label: string, act: () => void): HTMLElement =>
      h("button", { type: "button", "aria-label": label, title: label, click: act }, text);
    this.element = h("div", { class: "graph" }, this.canvas, this.tip,
      h("div", { class: "strip" }, this.info, this.map, h("div", { class: "zoom" },
        button("+", "Zoom in", () => this.zoom(1.3)), button("−", "Zoom out", () => this.zoom(1 / 1.3)),
        button("⤢", "Show everything", () => this.fit(true)))));
    this.cy = cytoscape({ container: this.canvas, elements: this.elements(pinned), layout: { name: "preset" },
      style: style(packages, layout.upright), minZoom: 0.05, maxZoom: 3, boxSelectionEnabled: false, autoungrabify: true,
      selectionType: "single" });
    this.select(undefined);
    this.events();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.cy.style(style(packages, layout.upright)), { signal: this.stop.signal });
  }

  private elements(pinned: number | undefined): cytoscape.ElementDefinition[] {
    const { places, sizes, bends, upright } = this.layout;
    const nodes = [...this.picture.boxes.values()].map((box): cytoscape.ElementDefinition => ({
      group: "nodes", data: { id: box.id, package: box.package, kind: box.kind, label: linesOf(box).join("\n"), ...sizes.get(box.id)! },
      position: { ...places.get(box.id)! },
      classes: [fails(box) && "fails", fails(box) && box.missing > 0 && "missing", box.unused && "unused", box.opens !== undefined && (opensHere(box) ? "opens" : "link"),
        pinned !== undefined && box.files.length === 1 && box.files[0] === pinned && "pinned"].filter(Boolean).join(" "),
    }));
    const edges = [...this.picture.arrows].map(([id, arrow]): cytoscape.ElementDefinition => {
      const from = places.get(arrow.from)!, to = places.get(arrow.to)!;
      const [begin, end] = [sizes.get(arrow.from)!, sizes.get(arrow.to)!];
      const start = upright ? { x: from.x, y: from.y + begin.height / 2 } : { x: from.x + begin.width / 2, y: from.y };
      const [dx, dy] = upright ? [to.x - from.x, to.y - end.height / 2 - start.y] : [to.x - end.width / 2 - start.x, to.y - from.y];
      const square = dx * dx + dy * dy || 1, length = Math.sqrt(square);
      // A point at an end would leave the curve without a direction there.
      const points = bends.get(id)!.map((one) => [one.x - start.x, one.y - start.y])
        .filter(([x, y]) => Math.hypot(x, y) > 1 && Math.hypot(x - dx, y - dy) > 1);
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
    cy.on("mouseover", "node", (event) => { event.target.addClass("hovered").connectedEdges().addClass("near"); this.canvas.style.cursor = "pointer"; this.point(event.target); });
    cy.on("mouseout", "node", (event) => {
      event.target.removeClass("hovered");
      cy.edges().removeClass("near");
      cy.nodes(":selected").connectedEdges().addClass("near");
      this.canvas.style.cursor = "";
      this.tip.hidden = true;
    });
    cy.on("pan zoom", () => { this.tip.hidden = true; });
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

  /** Shows a tooltip below a box, or above it if there is no room. */
  private point(node: cytoscape.NodeSingular): void {
    const box = this.picture.boxes.get(node.id())!;
    this.tip.replaceChildren();
    add(this.tip, [h("strong", null, box.label), this.actions.facts(box).map((line) => h("div", null, line)), h("div", { class: "faint" }, this.clicks(box))]);
    this.tip.hidden = false;
    const { x1, y1, y2 } = node.renderedBoundingBox({ includeOverlays: false });
    const { offsetWidth, offsetHeight } = this.tip;
    this.tip.style.left = Math.max(4, Math.min(x1, this.cy.width() - offsetWidth - 4)) + "px";
    this.tip.style.top = (y2 + 6 + offsetHeight < this.cy.height() ? y2 + 6 : Math.max(4, y1 - offsetHeight - 6)) + "px";
  }

  /** What a click on a box does. */
  private clicks(box: Box): string {
    if (box.opens === undefined) return "A click shows its arrows. A double click opens its page.";
    return opensHere(box) ? "A click opens it in the graph." : "A click leads to the list of its nodes.";
  }

  /** Shows everything; at first with letters that can be read, around the box that the graph is about. */
  fit(animated = false): void {
    const { cy } = this;
    cy.resize();
    const box = cy.nodes().boundingBox({});
    const whole = Math.min(1.5, (cy.width() - 30) / box.w, (cy.height() - 30) / box.h);
    const zoom = animated ? whole : Math.max(whole, SMALLEST);
    const about = [...this.picture.boxes.values()].find((box) => this.isAbout(box));
    const start = about && cy.getElementById(about.id).position();
    const pan = { x: cy.width() / 2 - zoom * (box.x1 + box.w / 2), y: cy.height() / 2 - zoom * (box.y1 + box.h / 2) };
    // As far to the left and to the top as the box is in sight.
    if (zoom * box.w > cy.width()) pan.x = Math.min(15 - zoom * box.x1, cy.width() * 0.7 - zoom * (start ?? { x: box.x1 }).x);
    if (zoom * box.h > cy.height()) pan.y = Math.min(15 - zoom * box.y1, cy.height() * 0.7 - zoom * (start ?? { y: box.y1 }).y);
    if (animated && !matchMedia("(prefers-reduced-motion: reduce)").matches) this.cy.animate({ zoom, pan }, { duration: 200 });
    else this.cy.viewport({ zoom, pan });
    this.element.dataset.zoom = zoom.toFixed(2);
    if (about) this.element.dataset.begins = about.label;
  }

  /** Whether the picture begins at this box: the one that it is about, or the first that a click brought. */
  private isAbout(box: Box): boolean {
    if (this.opened === undefined) return this.cy.getElementById(box.id).hasClass("pinned");
    const name = this.opened.replace(/^@/, "");
    return box.label === name || (this.opened[0] !== "@" && box.label.startsWith(name + "."));
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
    if (box.opens !== undefined && opensHere(box)) this.actions.open(box.opens);
    else if (address) location.hash = address;
  }

  private select(id: string | undefined): void {
    const { cy } = this;
    cy.elements().removeClass("faded near").unselect();
    this.info.replaceChildren();
    if (id === undefined) {
      add(this.info, h("span", { class: "faint" }, "Click a box to see what it includes. Drag the picture to move it."));
      return;
    }
    const node = cy.getElementById(id);
    const near = node.closedNeighborhood();
    cy.elements().difference(near).addClass("faded");
    node.connectedEdges().addClass("near");
    node.select();
    const box = this.picture.boxes.get(id)!;
    const address = this.actions.address(box), focus = this.actions.focus(box);
    const [includers, included] = [node.incomers("edge").length, node.outgoers("edge").length];
    const facts: Child = this.actions.facts(box).map((line) => h("span", { class: "faint" }, line + " · "));
    add(this.info, [h("strong", null, box.label), " ",
      fails(box) && h("span", { class: "bad" }, box.missing > 0 ? "missing " : "fails "), facts,
      h("span", { class: "faint" }, `includes ${included}, included by ${includers} `),
      address && h("a", { href: "#" + address }, box.files.length > 1 ? "see the list" : "open its page"), " ",
      focus && h("a", { href: "#" + focus }, "only its neighbours")]);
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
    this.map.style.visibility = view.x1 <= all.x1 && view.y1 <= all.y1 && view.x2 >= all.x2 && view.y2 >= all.y2 ? "hidden" : "";
    context.strokeStyle = isDark() ? "#8ab4ff" : "#1a5fb4";
    context.lineWidth = 1.5;
    context.strokeRect(x + view.x1 * scale, y + view.y1 * scale, view.w * scale, view.h * scale);
  }

  destroy(): void {
    this.stop.abort();
    this.cy.destroy();
  }
}
