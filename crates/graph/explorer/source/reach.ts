// What a change of a file reaches: the nodes that have it, the values that come from it, the values and class names
// that refer to these, and the queries of all nodes for such exports.

import type { Inventory, Reference, Values } from "./data";

/** A parameter that a change reaches, and the number of its nodes. */
export interface Reached { path: number; nodes: number; how: "set" | "reference" | "query"; by?: number }
const HOW: Reached["how"][] = ["set", "reference", "query"];
export interface Reach {
  rows: Reached[];
  values: number;
  /** The nodes without the file whose queries it reaches. */
  askers: number[];
  /** The references in class lists that it reaches. */
  classes: { file: number; row: Reference }[];
}

export function reachOf(inventory: Inventory, data: Values, file: number): Reach {
  const { raw } = data;
  const ofFile = (place: number): boolean => raw.places[place][0] === file;
  // The traces, and then the leaves, with a layer of the file that counts.
  const traces = raw.steps.map((steps) => steps.some((step) => step[1] !== 0 && ofFile(step[2])));
  const [paths, , writtens, places, steps, extras] = data.leaf;
  // What a text or query names, in other references and in defaults too, by its place.
  const named = new Map<number, number[]>();
  for (const [, target, , place] of raw.references.flat()) {
    if (target !== null && place !== null) named.set(place, [...(named.get(place) ?? []), target]);
  }
  const isSet = new Uint8Array(data.leaves), refers = new Uint8Array(data.leaves);
  const hasReference = raw.written.map(([, references]) => references.length > 0);
  for (let leaf = 0; leaf < data.leaves; leaf++) {
    isSet[leaf] = traces[steps[leaf]] || ofFile(places[leaf]) ? 1 : 0;
    const extra = raw.extras[extras[leaf]];
    refers[leaf] = hasReference[writtens[leaf]] || named.has(places[leaf]) || extra.via.length > 0 || extra.targets.length > 0 ? 1 : 0;
  }
  const known = new Map<number, number[]>();
  const targets = (leaf: number): number[] => {
    const cached = known.get(leaf);
    if (cached) return cached;
    const extra = raw.extras[extras[leaf]];
    const written = [writtens[leaf], ...extra.via.map(([one]) => one)].flatMap((one) => raw.written[one][1].map(([, , target]) => target));
    const inside = [places[leaf], ...extra.via.map(([, place]) => place)].flatMap((place) => named.get(place) ?? []);
    const found = [...written, ...extra.targets, ...inside].filter((target) => target !== null);
    known.set(leaf, found);
    return found;
  };
  // A class name can depend on a value of the file that later layers override.
  const ownPaths = new Set(raw.sets[file].map(([path]) => path)), ownContainers = new Set<number>();
  for (const path of ownPaths) for (let one = path; one > 1; one = data.parent(one)) ownContainers.add(one);
  const isOwn = (path: number): boolean => {
    if (ownContainers.has(path)) return true;
    for (let one = path; one > 1; one = data.parent(one)) if (ownPaths.has(one)) return true;
    return false;
  };
  const inLists = raw.references.map((rows) => rows.filter(([within]) => within === null));
  const classes = new Map<Reference, number>();

  const holders = inventory.nodesOf(file), has = new Set(holders);
  let rows = new Map<number, Reached>();
  const exporting = new Map<number, number[]>();
  const asking = new Set<number>();
  /** Follows a change through a node; `query` names the export that a query asks for. */
  const follow = (node: number, query: (leaf: number) => number | undefined): void => {
    // A reference to a path reaches what is below it, and a reference to a part is reached with the whole.
    const reached = new Map<number, number>();
    const put = (leaf: number, how: Reached["how"], by?: number): void => {
      const path = paths[leaf];
      const key = path * HOW.length + HOW.indexOf(how);
      const row = rows.get(key) ?? { path, nodes: 0, how, by };
      row.nodes++;
      rows.set(key, row);
      for (let one = path; one > 1; one = data.parent(one)) if (!reached.has(one)) reached.set(one, path);
      if (data.isExport(path)) exporting.set(node, [...(exporting.get(node) ?? []), path]);
      if (how === "query") asking.add(node);
    };
    let waiting: number[] = [];
    for (const root of data.roots(node)) {
      data.walk(root, (leaf) => {
        const by = isSet[leaf] ? undefined : query(leaf);
        if (isSet[leaf]) put(leaf, "set");
        else if (by !== undefined) put(leaf, "query", by);
        else if (refers[leaf]) waiting.push(leaf);
      });
    }
    for (let before = -1; before !== waiting.length && reached.size > 0;) {
      before = waiting.length;
      waiting = waiting.filter((leaf) => {
        const by = targets(leaf).find((target) => reached.has(target));
        if (by !== undefined) put(leaf, "reference", by);
        return by === undefined;
      });
    }
    const { kind } = inventory.o.facts[node];
    if (kind === null) return;
    for (const one of [node, ...inventory.o.kinds[kind].included.map(([included]) => included)]) {
      for (const row of inLists[one] ?? []) if (row[1] !== null && (reached.has(row[1]) || (has.has(node) && isOwn(row[1])))) classes.set(row, one);
    }
  };
  for (const node of holders) follow(node, () => undefined);
  if (exporting.size > 0) {
    const asks = raw.extras.map(({ answers }) => answers !== null && raw.answers[answers].some((node) => exporting.has(node)));
    const exported = [...new Set([...exporting.values()].flat())];
    const query = (leaf: number): number | undefined => {
      if (!asks[extras[leaf]]) return undefined;
      const text = raw.written[writtens[leaf]][0];
      return exported.find((path) => text.includes(data.pathText[path]));
    };
    // Once more, because a query reaches what refers to it.
    rows = new Map();
    for (const node of inventory.nodes()) follow(node, query);
  }
  const found = [...rows.values()].sort((a, b) => HOW.indexOf(a.how) - HOW.indexOf(b.how) || b.nodes - a.nodes);
  return { rows: found, values: found.reduce((sum, row) => sum + row.nodes, 0), askers: [...asking].filter((node) => !has.has(node)), classes: [...classes].map(([row, one]) => ({ file: one, row })) };
}
