// What a change of a file reaches: the nodes that have it, the values that come from it, and the values that refer
// to these.

import type { Inventory, Values } from "./data";

/** A parameter that a change reaches, and the number of its nodes. */
export interface Reached { path: number; nodes: number; how: "set" | "reference" | "query"; by?: number }
const HOW: Reached["how"][] = ["set", "reference", "query"];
export interface Reach { rows: Reached[]; values: number }

export function reachOf(inventory: Inventory, data: Values, file: number): Reach {
  const { raw } = data;
  const ofFile = (place: number): boolean => raw.places[place][0] === file;
  // The traces, and then the leaves, with a layer of the file that counts.
  const traces = raw.steps.map((steps) => steps.some((step) => step[1] !== 0 && ofFile(step[2])));
  const [paths, , writtens, places, steps, extras] = data.leaf;
  const isSet = new Uint8Array(data.leaves), refers = new Uint8Array(data.leaves);
  const hasReference = raw.written.map(([, references]) => references.length > 0);
  for (let leaf = 0; leaf < data.leaves; leaf++) {
    isSet[leaf] = traces[steps[leaf]] || ofFile(places[leaf]) ? 1 : 0;
    const extra = raw.extras[extras[leaf]];
    refers[leaf] = hasReference[writtens[leaf]] || extra.via.length > 0 || extra.targets.length > 0 ? 1 : 0;
  }
  const known = new Map<number, number[]>();
  const targets = (leaf: number): number[] => {
    const cached = known.get(leaf);
    if (cached) return cached;
    const extra = raw.extras[extras[leaf]];
    const written = [writtens[leaf], ...extra.via.map(([one]) => one)].flatMap((one) => raw.written[one][1].map(([, , target]) => target));
    const found = [...written, ...extra.targets].filter((target) => target !== null);
    known.set(leaf, found);
    return found;
  };
  const rows = new Map<number, Reached>();
  const put = (leaf: number, how: Reached["how"], by?: number): void => {
    const key = paths[leaf] * 3 + HOW.indexOf(how);
    const row = rows.get(key) ?? { path: paths[leaf], nodes: 0, how, by };
    row.nodes++;
    rows.set(key, row);
  };
  const exporting = new Map<number, number[]>();
  const counted = new Set<string>();
  for (const node of inventory.nodesOf(file)) {
    // A reference to a path reaches what is below it, and a reference to a part is reached with the whole.
    const reached = new Map<number, number>();
    const reach = (path: number): void => { for (let one = path; one > 1; one = data.parent(one)) if (!reached.has(one)) reached.set(one, path); };
    let waiting: number[] = [];
    for (const root of raw.roots[node]) {
      data.walk(root, (leaf) => {
        if (isSet[leaf]) {
          put(leaf, "set");
          reach(paths[leaf]);
          if (data.isExport(paths[leaf])) exporting.set(node, [...(exporting.get(node) ?? []), paths[leaf]]);
        } else if (refers[leaf]) waiting.push(leaf);
      });
    }
    for (let before = -1; before !== waiting.length && reached.size > 0;) {
      before = waiting.length;
      waiting = waiting.filter((leaf) => {
        const by = targets(leaf).find((target) => reached.has(target));
        if (by === undefined) return true;
        put(leaf, "reference", by);
        if (raw.extras[extras[leaf]].answers !== null) counted.add(node + " " + leaf);
        reach(paths[leaf]);
        if (data.isExport(paths[leaf])) exporting.set(node, [...(exporting.get(node) ?? []), paths[leaf]]);
        return false;
      });
    }
  }
  if (exporting.size > 0) {
    const asks = raw.extras.map(({ answers }) => answers !== null && raw.answers[answers].some((node) => exporting.has(node)));
    const named = new Set([...exporting.values()].flat());
    for (const node of inventory.nodes()) {
      data.walk(raw.roots[node][0], (leaf) => {
        if (!asks[extras[leaf]] || isSet[leaf] || counted.has(node + " " + leaf)) return;
        const text = raw.written[writtens[leaf]][0];
        const by = [...named].find((path) => text.includes(data.pathText[path]));
        if (by !== undefined) put(leaf, "query", by);
      });
    }
  }
  const found = [...rows.values()].sort((a, b) => HOW.indexOf(a.how) - HOW.indexOf(b.how) || b.nodes - a.nodes);
  return { rows: found, values: found.reduce((sum, row) => sum + row.nodes, 0) };
}
