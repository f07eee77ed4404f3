// Places the boxes of a picture in layers: nodes on the left, then their roles, then the classes that these include.
// A tall layer becomes two columns, so that the picture has about the shape of its frame: the boxes of one stand at the
// gaps of the other, for their arrows. In an upright frame the layers are below each other.

import dagre from "@dagrejs/dagre";
import type { Picture } from "./boxes";

export interface Size { width: number; height: number }
interface Point { x: number; y: number }
export interface Layout extends Size {
  /** The middles of the boxes. */
  places: Map<string, Point>;
  /** What bends an arrow. It crosses a layer level, in a lane that no box is in, and rises or falls between layers. */
  bends: Map<string, Point[]>;
  /** The zoom that shows everything in the frame. */
  zoom: number;
  upright: boolean;
}

/** A root that is laid out and not drawn. */
const ROOT = "root";
/** Space between boxes of a layer. */
const GAP = 14;
/** Space that an arrow needs between boxes. */
const LANE = 10;
/** Space between two layers, and between the columns of one. */
const [BETWEEN, BESIDE] = [90, 26];

interface Item extends Size { y: number; id?: string; column: number }
/** The lanes of a layer run between these. */
interface Sides { left: number; right: number }

export function layoutOf(picture: Picture, sizes: Map<string, Size>, frame: Size): Layout {
  const turned = ({ width, height }: Size): Size => ({ width: height, height: width });
  if (frame.height <= frame.width * 1.2) return across(picture, sizes, frame);
  const layout = across(picture, new Map([...sizes].map(([id, size]) => [id, turned(size)])), turned(frame));
  const turn = ({ x, y }: Point): Point => ({ x: y, y: x });
  return { ...layout, ...turned(layout), upright: true, places: new Map([...layout.places].map(([id, place]) => [id, turn(place)])),
    bends: new Map([...layout.bends].map(([id, bends]) => [id, bends.map(turn)])) };
}

function across(picture: Picture, sizes: Map<string, Size>, frame: Size): Layout {
  const graph = new dagre.graphlib.Graph({ multigraph: false });
  graph.setGraph({ rankdir: "LR", ranksep: BETWEEN, nodesep: GAP, edgesep: LANE, marginx: 0, marginy: 0 });
  graph.setDefaultEdgeLabel(() => ({}));
  const used = new Set<string>();
  for (const { from, to } of picture.arrows.values()) { used.add(from); used.add(to); }
  for (const id of used) graph.setNode(id, { ...sizes.get(id)! });
  for (const { from, to } of picture.arrows.values()) graph.setEdge(from, to);
  // A root that is not drawn keeps all nodes in the first layer.
  graph.setNode(ROOT, { width: 1, height: 1 });
  for (const box of picture.boxes.values()) {
    if (used.has(box.id) && box.kind.startsWith("node")) graph.setEdge(ROOT, box.id, { weight: 40 });
  }
  if (used.size > 0) dagre.layout(graph);

  const layers = new Map<number, Item[]>();
  const put = (x: number, item: Item): Item => {
    const layer = layers.get(Math.round(x));
    if (layer) layer.push(item);
    else layers.set(Math.round(x), [item]);
    return item;
  };
  const at = (id: string): number => Math.round((graph.node(id) as unknown as Point).x);
  const items = new Map<string, Item>();
  for (const id of used) {
    const { x, y } = graph.node(id) as unknown as Point;
    items.set(id, put(x, { id, y, column: 0, ...sizes.get(id)! }));
  }
  const lanes = new Map<string, Item[]>();
  for (const [id, { from, to }] of picture.arrows) {
    const points = ((graph.edge(from, to) as any)?.points ?? []).slice(1, -1) as Point[];
    const between = at(from) < at(to) ? points.filter(({ x }) => layers.has(Math.round(x))) : [];
    lanes.set(id, between.map(({ x, y }) => put(x, { y, column: 0, width: 0, height: LANE })));
  }
  const order = [...layers.keys()].sort((a, b) => a - b).map((x) => layers.get(x)!);
  for (const layer of order) layer.sort((a, b) => a.y - b.y);

  // Two columns for the tallest layers, as long as that makes everything larger.
  const apart = (a: Item, b: Item): number => a.column !== b.column && a.id && b.id ? (Math.max(a.height, b.height) + GAP) / 2
    : (a.height + b.height) / 2 + (a.id && b.id ? GAP : a.id || b.id ? GAP / 3 : 0);
  const heightOf = (layer: Item[]): number =>
    layer.reduce((sum, item, at) => sum + (at > 0 ? apart(layer[at - 1], item) : 0), (layer[0].height + layer.at(-1)!.height) / 2);
  const widthOf = (layer: Item[]): number => [0, 1].map((column) => Math.max(0, ...layer.filter((item) => item.column === column).map(({ width }) => width)))
    .reduce((sum, width) => sum + width + (sum > 0 && width > 0 ? BESIDE : 0), 0);
  const split = new Set<Item[]>();
  const measured = (): Size & { zoom: number } => {
    const width = order.reduce((sum, layer) => sum + widthOf(layer) + BETWEEN, -BETWEEN);
    const height = Math.max(0, ...order.map((layer) => heightOf(layer)));
    return { width, height, zoom: Math.min(frame.width / (width + 30), frame.height / (height + 30)) };
  };
  let size = measured();
  for (;;) {
    const tallest = order.filter((layer) => !split.has(layer)).sort((a, b) => heightOf(b) - heightOf(a))[0];
    if (!tallest || heightOf(tallest) < size.height) break;
    split.add(tallest);
    let boxes = 0;
    for (const item of tallest) if (item.id) item.column = boxes++ % 2;
    const wider = measured();
    if (wider.zoom <= size.zoom * 1.05 || size.zoom >= 1) {
      split.delete(tallest);
      for (const item of tallest) item.column = 0;
      break;
    }
    size = wider;
  }

  // Arrows have the width that is left.
  const left = frame.width / Math.min(size.zoom, 1.2) - 30 - size.width;
  const between = BETWEEN + Math.max(0, Math.min(BETWEEN * 1.5, left / Math.max(1, order.length - 1)));

  // Everything keeps its order from top to bottom, and moves apart where it would overlap.
  const all = order.flat();
  const [top, bottom] = [Math.min(...all.map((item) => item.y - item.height / 2)), Math.max(...all.map((item) => item.y + item.height / 2))];
  const scale = bottom > top ? Math.min(1, size.height / (bottom - top)) : 1;
  const places = new Map<string, Point>();
  const sides = new Map<Item, Sides>();
  let x = 0;
  for (const layer of order) {
    for (const item of layer) item.y = (item.y - top) * scale;
    for (let at = 1; at < layer.length; at++) layer[at].y = Math.max(layer[at].y, layer[at - 1].y + apart(layer[at - 1], layer[at]));
    const end = layer.at(-1)!;
    end.y = Math.min(end.y, size.height - end.height / 2);
    for (let at = layer.length - 2; at >= 0; at--) layer[at].y = Math.min(layer[at].y, layer[at + 1].y - apart(layer[at], layer[at + 1]));
    const own = { left: x, right: x + widthOf(layer) };
    for (const column of [0, 1]) {
      const width = Math.max(0, ...layer.filter((item) => item.column === column && item.id).map((item) => item.width));
      if (width === 0) continue;
      if (column === 1) x += BESIDE;
      for (const item of layer) if (item.column === column && item.id) places.set(item.id, { x: x + width / 2, y: item.y });
      x += width;
    }
    for (const item of layer) sides.set(item, own);
    x += between;
  }

  // A curve stays between each three of its points. So two points at each side of a layer keep it level within.
  const [turn, bends] = [between * 0.4, new Map<string, Point[]>()];
  const before = ({ left }: Sides, y: number): Point[] => [{ x: left - turn, y }, { x: left, y }];
  const behind = ({ right }: Sides, y: number): Point[] => [{ x: right, y }, { x: right + turn, y }];
  let above = -GAP;
  for (const [id, { from, to }] of picture.arrows) {
    const [begin, end] = [items.get(from)!, items.get(to)!];
    const [first, last] = [sides.get(begin)!, sides.get(end)!];
    const through = lanes.get(id)!.flatMap((lane) => [...before(sides.get(lane)!, lane.y), ...behind(sides.get(lane)!, lane.y)]);
    // An arrow back runs above everything.
    if (first.left >= last.left) {
      above -= LANE;
      through.push(...behind(first, above).reverse(), ...before(last, above).reverse());
    }
    bends.set(id, [...behind(first, begin.y), ...through, ...before(last, end.y)]);
  }

  // Boxes without arrows stand in rows below.
  let height = Math.max(0, ...[...places].map(([id, place]) => place.y + sizes.get(id)!.height / 2));
  const widest = Math.max(900, x - between);
  let [next, below] = [0, places.size > 0 ? height + 40 : 0];
  for (const box of picture.boxes.values()) {
    if (used.has(box.id)) continue;
    const own = sizes.get(box.id)!;
    if (next + own.width > widest) { next = 0; below = height + GAP; }
    places.set(box.id, { x: next + own.width / 2, y: below + own.height / 2 });
    height = Math.max(height, below + own.height);
    next += own.width + 16;
  }
  const width = Math.max(...[...places].map(([id, place]) => place.x + sizes.get(id)!.width / 2));
  const up = Math.min(...[...places].map(([id, place]) => place.y - sizes.get(id)!.height / 2));
  return { upright: false, places, bends, width, height: height - up, zoom: Math.min(1.5, frame.width / (width + 30), frame.height / (height - up + 30)) };
}
