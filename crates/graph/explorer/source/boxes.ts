// Aggregates files into the boxes that a graph shows: packages of classes that are closed, and nodes with the same
// roles. So an inventory of thousands of files is a picture of some dozens of boxes.

import type { Edge, Inventory } from "./data";

export interface Box {
  id: string;
  /** The files in it. */
  files: number[];
  label: string;
  kind: "node" | "nodes" | "class" | "package";
  /** The package or the group that a click opens. */
  opens?: string;
  package: string;
  /** Of a group of nodes: the boxes that it includes and other groups do not, or all if there are no others. */
  roles: string[];
  /** Number of its files that fail, and of these the ones that are missing. */
  failing: number;
  missing: number;
  unused: boolean;
}
export interface Arrow { from: string; to: string; entries: Edge[]; mapped: boolean }
export interface Picture { boxes: Map<string, Box>; arrows: Map<string, Arrow>; open: string[] }

/** Numbers of boxes up to which packages are opened at first: the first one whose picture can be read counts. */
export const READABLE = [60, 44, 30, 20, 12, 0];
/** Number of nodes up to which each is a box of its own. */
const FEW = 16;
/** Number of nodes that a group may show one by one. */
const LARGEST_GROUP = 60;

/** Whether the box is a file that fails. A box of several files says how many do. */
export function fails(box: Box): boolean { return box.failing > 0 && box.files.length === 1; }

/** How many files of a box are missing, and how many others fail. */
export function failures({ files, failing, missing }: Box): string[] {
  const others = failing - missing;
  const found: string[] = [];
  if (missing > 0) found.push(`${missing.toLocaleString("en")} missing`);
  if (others > 0) found.push(others === files.length ? "all fail" : `${others.toLocaleString("en")} ${others === 1 ? "fails" : "fail"}`);
  return found;
}

/** Whether the graph shows the content of a box that stands for several files. A large group of nodes has a list. */
export function opensHere(box: Box): boolean { return box.kind === "package" || box.files.length <= LARGEST_GROUP; }

/** The packages of a class, outermost first. */
function packagesOf(name: string): string[] {
  const found: string[] = [];
  for (let at = name.indexOf("."); at >= 0; at = name.indexOf(".", at + 1)) found.push(name.slice(0, at));
  return [...found, name];
}

export class Aggregator {
  private readonly files: number[];
  private readonly edges: Edge[];
  private readonly sizes = new Map<string, number>();
  private readonly chains = new Map<number, string[]>();
  private readonly drawn = new Map<string, Picture>();

  constructor(private readonly inventory: Inventory, files: Iterable<number>, private readonly pinned: number | undefined) {
    this.files = [...files];
    const known = new Set(this.files);
    this.edges = inventory.edges.filter((edge) => known.has(edge.from) && known.has(edge.to));
    for (const file of this.files) {
      if (inventory.isNode(file)) continue;
      const chain = packagesOf(inventory.name(file));
      this.chains.set(file, chain);
      for (const name of chain) this.sizes.set(name, (this.sizes.get(name) ?? 0) + 1);
    }
  }

  /** The class itself, or the outermost package around it that is closed. */
  private place(file: number, open: Set<string>): string {
    if (file === this.pinned) return "c:" + file;
    for (const name of this.chains.get(file)!) {
      if (this.sizes.get(name) === 1) break;
      if (!open.has(name)) return "p:" + name;
    }
    return "c:" + file;
  }

  /** The boxes with these packages and groups opened. */
  picture(open: string[]): Picture {
    const key = open.join(" ");
    const picture = this.drawn.get(key) ?? this.draw(open);
    this.drawn.set(key, picture);
    return picture;
  }

  private draw(open: string[]): Picture {
    const { inventory } = this;
    const opened = new Set(open);
    const boxes = new Map<string, Box>();
    const boxOf = new Map<number, string>();
    const put = (id: string, file: number, make: () => Omit<Box, "id" | "files" | "roles" | "failing" | "missing" | "unused">): void => {
      boxOf.set(file, id);
      const box = boxes.get(id) ?? { id, files: [], roles: [], failing: 0, missing: 0, unused: true, ...make() };
      box.files.push(file);
      if (inventory.fails(file)) box.failing++;
      if (inventory.o.files[file][3] === "missing") box.missing++;
      box.unused &&= !inventory.reached[file];
      boxes.set(id, box);
    };
    for (const file of this.files) {
      if (inventory.isNode(file)) continue;
      const id = this.place(file, opened);
      const name = inventory.name(file);
      const top = name.split(".", 1)[0];
      put(id, file, () => id[0] === "p"
        ? { label: id.slice(2), kind: "package", opens: id.slice(2), package: top }
        : { label: name, kind: "class", package: top });
    }
    const lists = new Map<number, Set<string>>();
    for (const { from, to } of this.edges) {
      if (!inventory.isNode(from)) continue;
      const boxes = lists.get(from) ?? new Set();
      boxes.add(boxOf.get(to)!);
      lists.set(from, boxes);
    }
    const groups = new Map<string, number[]>();
    for (const file of this.files) {
      if (!inventory.isNode(file)) continue;
      const key = file === this.pinned ? "=" + file : [...(lists.get(file) ?? [])].sort().join(" ");
      const group = groups.get(key);
      if (group) group.push(file);
      else groups.set(key, [file]);
    }
    for (const files of groups.values()) {
      const key = "@" + inventory.name(files[0]);
      const single = files.length === 1 || (opened.has(key) && files.length <= LARGEST_GROUP);
      for (const file of files) {
        if (single) put("n:" + file, file, () => ({ label: inventory.name(file), kind: "node", package: "" }));
        else put("g:" + key, file, () => ({ label: common(files.map((one) => inventory.name(one))), kind: "nodes", opens: key, package: "" }));
      }
    }
    const arrows = new Map<string, Arrow>();
    for (const edge of this.edges) {
      const from = boxOf.get(edge.from)!, to = boxOf.get(edge.to)!;
      if (from === to) continue;
      const id = from + " > " + to;
      const arrow = arrows.get(id) ?? { from, to, entries: [], mapped: true };
      arrow.entries.push(edge);
      arrow.mapped &&= edge.mapping !== undefined;
      arrows.set(id, arrow);
    }
    nameRoles(boxes, arrows);
    return { boxes, arrows, open: [...opened] };
  }

  /** The packages that can be opened without more than so many boxes. */
  readable(limit: number): string[] {
    const few = this.files.filter((file) => this.inventory.isNode(file)).length <= FEW;
    let open: string[] = [];
    let picture = this.picture(open);
    const refused = new Set<string>();
    for (let guard = 0; guard < 60; guard++) {
      const closed = [...picture.boxes.values()].filter((box) =>
        box.opens !== undefined && !refused.has(box.opens) && (box.kind === "package" || few));
      // Outer packages first, and nodes last, because their roles say more.
      const depth = (box: Box): number => (box.kind === "nodes" ? 99 : box.opens!.split(".").length);
      closed.sort((a, b) => depth(a) - depth(b) || a.files.length - b.files.length);
      const next = closed[0]?.opens;
      if (next === undefined) break;
      const wider = this.picture([...open, next]);
      if (wider.boxes.size <= limit) [open, picture] = [wider.open, wider];
      else refused.add(next);
    }
    return open;
  }
}

/** Gives each group of nodes the boxes that tell it from other groups, those of the fewest groups first. */
function nameRoles(boxes: Map<string, Box>, arrows: Map<string, Arrow>): void {
  const includers = new Map<string, number>();
  const ofGroups = [...arrows.values()].filter((arrow) => boxes.get(arrow.from)!.kind === "nodes");
  for (const { to } of ofGroups) includers.set(to, (includers.get(to) ?? 0) + 1);
  const groups = [...boxes.values()].filter((box) => box.kind === "nodes").length;
  const telling = ofGroups.filter(({ to }) => includers.get(to)! < groups);
  telling.sort((a, b) => includers.get(a.to)! - includers.get(b.to)!);
  for (const { from, to } of telling) boxes.get(from)!.roles.push(boxes.get(to)!.label);
  for (const box of boxes.values()) {
    if (box.kind !== "nodes" || box.roles.length > 0 || groups === 1) continue;
    const all = ofGroups.filter(({ from }) => from === box.id).map(({ to }) => boxes.get(to)!.label);
    if (all.length > 0) box.roles.push(all.length > 2 ? "these only: " + all.join(", ") : all.join(", ") + " only");
  }
}

/** The common part of names: `web*.example.com`; without one, the first name. */
function common(names: string[]): string {
  let start = names[0], end = names[0];
  for (const name of names) {
    while (!name.startsWith(start)) start = start.slice(0, -1);
    while (!name.endsWith(end)) end = end.slice(1);
  }
  const shortest = Math.min(...names.map((name) => name.length));
  while (start.length + end.length > shortest) end = end.slice(1);
  return start + end === "" ? names[0] + ", …" : start + "*" + end;
}

/** A file with its surroundings: files that lead to it or follow from it in so many steps. */
export function neighbourhood(inventory: Inventory, file: number, steps: number): Set<number> {
  const found = new Set([file]);
  for (const [edges, end] of [[inventory.includes, "to"], [inventory.includedBy, "from"]] as const) {
    let border = [file];
    const visited = new Set(border);
    for (let step = 0; step < steps && border.length > 0; step++) {
      const next: number[] = [];
      for (const one of border) {
        for (const edge of edges[one]) {
          const other = edge[end];
          if (!visited.has(other)) { visited.add(other); next.push(other); found.add(other); }
        }
      }
      border = next;
    }
  }
  return found;
}
