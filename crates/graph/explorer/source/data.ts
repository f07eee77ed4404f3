// Decodes the data of the page and answers questions about it. All facts come from the engine: which layer sets a
// value, which one counts, and what it is. Here they are only looked up.

export type FileRow = [string, string | null, [number, number, number][], "read" | "missing" | "unreadable"];
export interface Problem { code: string; message: string; file: number | null; line: number; column: number }
export interface NodeFacts {
  kind: number | null; environment: string; applications: string[]; mapped: [string, number][]; problems: Problem[];
}
export type Level = "error" | "warning" | "info";
export type Finding = [rule: number, message: string, file: number | null, line: number, column: number, nodes: number,
  level: Level, path: string | null, isExport: boolean];
export interface Overview {
  name: string; folder: string; date: string; revision: string | null; changed: boolean; inside: string;
  link: string | null; delimiter: string; whole: boolean; nodes: number; held: boolean; files: FileRow[];
  kinds: { merged: number[]; included: [number, number][] }[]; facts: NodeFacts[];
  rules: { code: string; level: Level; about: string; text: string }[]; findings: Finding[];
}
export type Written = [string, [start: number, length: number, target: number | null][]];
export type Step = [effect: string, counts: number, place: number, written: number, path: number, prefix: string,
  setting: string | null];
export interface Extra { via: [number, number][]; targets: (number | null)[]; answers: number | null }
export type Reference = [within: number | null, target: number | null, text: string, place: number | null];
interface RawValues {
  paths: [number, string][]; values: (string | null)[]; written: Written[]; places: [number, number, number][];
  layers: string[]; steps: Step[][]; extras: Extra[]; answers: number[][]; leaves: number[][]; containers: number[][];
  roots: [number | null, number | null][]; sets: [number, number, number | null][][]; references: Reference[][];
  merge_options: [file: number, pattern: string, strategy: string, place: number | null][];
  schemas: Record<number, string>;
}

async function unpack(id: string): Promise<any> {
  const element = document.getElementById(id)!;
  const packed = atob(element.textContent!.trim());
  element.remove();
  const bytes = new Uint8Array(packed.length);
  for (let at = 0; at < packed.length; at++) bytes[at] = packed.charCodeAt(at);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return JSON.parse(await new Response(stream).text());
}

export interface Edge { from: number; to: number; line: number; column: number; mapping?: string }

/** Names, files and the entries between them. */
export class Inventory {
  readonly edges: Edge[] = [];
  readonly includes: Edge[][];
  readonly includedBy: Edge[][];
  readonly reached: boolean[];
  private readonly users: number[][];
  private readonly byName = new Map<string, number>();
  readonly findingsOf: number[][];

  constructor(readonly o: Overview) {
    const files = o.files.length;
    const empty = <T>(): T[][] => Array.from({ length: files }, () => []);
    this.includes = empty();
    this.includedBy = empty();
    this.users = empty();
    this.findingsOf = empty();
    o.files.forEach((file, from) => {
      this.byName.set((from < o.nodes ? "node:" : "class:") + file[0], from);
      for (const [to, line, column] of file[2]) this.edge({ from, to, line, column });
    });
    o.facts.forEach((facts, from) => {
      for (const [mapping, to] of facts.mapped) this.edge({ from, to, line: 0, column: 0, mapping });
      if (facts.kind !== null) for (const [file] of o.kinds[facts.kind].included) this.users[file]?.push(from);
    });
    o.findings.forEach((finding, at) => { if (finding[2] !== null) this.findingsOf[finding[2]].push(at); });
    this.reached = new Array(files).fill(false);
    const waiting = o.facts.map((_, at) => at);
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      if (this.reached[next]) continue;
      this.reached[next] = true;
      for (const edge of this.includes[next]) waiting.push(edge.to);
    }
  }

  private edge(edge: Edge): void {
    this.edges.push(edge);
    this.includes[edge.from].push(edge);
    this.includedBy[edge.to].push(edge);
  }

  isNode(file: number): boolean { return file < this.o.nodes; }
  name(file: number): string { return this.o.files[file][0]; }
  path(file: number): string | null { return this.o.files[file][1]; }
  find(kind: string, name: string): number | undefined { return this.byName.get(kind + ":" + name); }
  nodesOf(file: number): number[] { return this.users[file]; }
  classes(): number[] { return this.o.files.map((_, at) => at).slice(this.o.nodes); }
  nodes(): number[] { return this.o.facts.map((_, at) => at); }
  fails(file: number): boolean {
    return this.isNode(file) ? this.o.facts[file].problems.length > 0 : this.o.files[file][3] !== "read";
  }
  /** Whether the page has the classes of every node, so that the other classes are unused. */
  knowsUnused(): boolean { return this.o.whole && this.o.facts.every((facts) => facts.kind !== null); }
  /** The class files that no node has. */
  unused(): number[] {
    return this.classes().filter((file) => !this.reached[file] && this.o.files[file][3] !== "missing");
  }

  /** The files from a node to one of its classes, with the entries that lead on. */
  chain(node: number, file: number): { file: number; edge: Edge | undefined }[] {
    const kind = this.o.facts[node].kind;
    const included = kind === null ? [] : this.o.kinds[kind].included;
    const chain: { file: number; edge: Edge | undefined }[] = [];
    let at = included.findIndex(([one]) => one === file);
    for (let guard = 0; at >= 0 && guard <= included.length; guard++) {
      const [to, by] = included[at];
      const from = by <= 0 ? node : included[by - 1][0];
      const edges = this.includes[from].filter((edge) => edge.to === to);
      chain.unshift({ file: to, edge: edges.find((edge) => (edge.mapping !== undefined) === by < 0) ?? edges[0] });
      at = by <= 0 ? -1 : by - 1;
    }
    return chain;
  }
}

export interface Leaf { id: number; path: number; value: number; written: number; place: number; steps: number; extra: number }

/** The values of files and nodes. */
export class Values {
  readonly pathText: string[] = [];
  readonly pathLast: string[] = [];
  readonly pathChildren = new Map<number, number[]>();
  readonly byText = [new Map<string, number>(), new Map<string, number>()];
  private readonly section: Uint8Array;
  readonly leaf: Int32Array[];
  readonly leaves: number;
  private readonly start: Int32Array;
  private readonly children: Int32Array;
  private readonly containerPath: Int32Array;
  private setters: Map<number, [file: number, written: number, place: number | null][]> | undefined;
  private referrers: Map<number, { file: number; row: Reference }[]> | undefined;
  private stepsByPlace: Map<number, [steps: number, at: number][]> | undefined;

  constructor(readonly raw: RawValues, delimiter: string) {
    const { paths } = raw;
    this.section = new Uint8Array(paths.length);
    paths.forEach(([parent, rest], at) => {
      const isRoot = at < 2;
      this.section[at] = isRoot ? at : this.section[parent];
      this.pathText.push(isRoot ? "" : this.pathText[parent] + rest);
      this.pathLast.push(parent < 2 || isRoot ? rest : rest.slice(delimiter.length));
      if (isRoot) return;
      this.byText[this.section[at]].set(this.pathText[at], at);
      const siblings = this.pathChildren.get(parent);
      if (siblings) siblings.push(at);
      else this.pathChildren.set(parent, [at]);
    });
    this.leaves = raw.leaves.length;
    this.leaf = [0, 1, 2, 3, 4, 5].map((column) => Int32Array.from(raw.leaves, (row) => row[column]));
    this.start = new Int32Array(raw.containers.length + 1);
    raw.containers.forEach((row, at) => { this.start[at + 1] = this.start[at] + row.length; });
    this.children = new Int32Array(this.start[raw.containers.length]);
    this.containerPath = new Int32Array(raw.containers.length);
    raw.containers.forEach((row, at) => {
      this.children.set(row, this.start[at]);
      this.containerPath[at] = paths[this.childPath(this.children[this.start[at]])][0];
    });
    raw.containers = [];
    raw.leaves = [];
  }

  /** The containers of a node: parameters and exports. */
  roots(node: number): [number | null, number | null] { return this.raw.roots[node] ?? [null, null]; }
  private childPath(child: number): number {
    return child % 2 === 0 ? this.leaf[0][child / 2] : this.containerPath[(child - 1) / 2];
  }

  isExport(path: number): boolean { return this.section[path] === 1; }
  parent(path: number): number { return this.raw.paths[path][0]; }
  get(id: number): Leaf {
    const [path, value, written, place, steps, extra] = this.leaf.map((column) => column[id]);
    return { id, path, value, written, place, steps, extra };
  }

  walk(container: number | null, visit: (leaf: number) => void): void {
    if (container === null) return;
    for (let at = this.start[container]; at < this.start[container + 1]; at++) {
      const child = this.children[at];
      if (child % 2 === 0) visit(child / 2);
      else this.walk((child - 1) / 2, visit);
    }
  }

  /** What a node has at a path: a leaf, or a container. */
  at(node: number, path: number): { leaf: number } | { container: number } | undefined {
    const wanted: number[] = [];
    for (let one = path; one > 1; one = this.parent(one)) wanted.unshift(one);
    let container = this.roots(node)[this.section[path]];
    for (let depth = 0; container !== null && depth < wanted.length; depth++) {
      let found: number | undefined;
      for (let at = this.start[container]; at < this.start[container + 1]; at++) {
        if (this.childPath(this.children[at]) === wanted[depth]) { found = this.children[at]; break; }
      }
      if (found === undefined) return undefined;
      if (found % 2 === 0) return depth === wanted.length - 1 ? { leaf: found / 2 } : undefined;
      container = (found - 1) / 2;
    }
    return container === null ? undefined : { container };
  }

  /** The files that set a path. */
  settersOf(path: number): [number, number, number | null][] {
    if (!this.setters) {
      this.setters = new Map();
      this.raw.sets.forEach((rows, file) => rows.forEach(([path, written, place]) => {
        const rows = this.setters!.get(path);
        if (rows) rows.push([file, written, place]);
        else this.setters!.set(path, [[file, written, place]]);
      }));
    }
    return this.setters.get(path) ?? [];
  }

  /** The references that name a path. */
  referrersOf(path: number): { file: number; row: Reference }[] {
    if (!this.referrers) {
      this.referrers = new Map();
      this.raw.references.forEach((rows, file) => rows.forEach((row) => {
        if (row[1] === null) return;
        const rows = this.referrers!.get(row[1]);
        if (rows) rows.push({ file, row });
        else this.referrers!.set(row[1], [{ file, row }]);
      }));
    }
    return this.referrers.get(path) ?? [];
  }

  /** The steps that follow a value of a file in the traces of nodes. */
  laterSteps(place: number): Step[] {
    if (!this.stepsByPlace) {
      this.stepsByPlace = new Map();
      this.raw.steps.forEach((steps, number) => steps.forEach((step, at) => {
        const rows = this.stepsByPlace!.get(step[2]);
        if (rows) rows.push([number, at]);
        else this.stepsByPlace!.set(step[2], [[number, at]]);
      }));
    }
    const later = new Map<string, Step>();
    for (const [number, at] of this.stepsByPlace.get(place) ?? []) {
      for (const step of this.raw.steps[number].slice(at + 1)) later.set(step[0] + step[2], step);
    }
    return [...later.values()];
  }

  /** The nodes whose queries found a node, with the parameters that hold the queries. */
  askers(node: number): { node: number; path: number }[] {
    const asks = this.raw.extras.map((extra) => extra.answers !== null && this.raw.answers[extra.answers].includes(node));
    if (!asks.includes(true)) return [];
    const found: { node: number; path: number }[] = [];
    const known = new Map<number, number[]>();
    const below = (container: number): number[] => {
      const cached = known.get(container);
      if (cached) return cached;
      const paths: number[] = [];
      for (let at = this.start[container]; at < this.start[container + 1]; at++) {
        const child = this.children[at];
        if (child % 2 === 1) paths.push(...below((child - 1) / 2));
        else if (asks[this.leaf[5][child / 2]]) paths.push(this.leaf[0][child / 2]);
      }
      known.set(container, paths);
      return paths;
    };
    this.raw.roots.forEach(([root], asker) => {
      if (root !== null) for (const path of below(root)) found.push({ node: asker, path });
    });
    return found;
  }
}

export async function overview(): Promise<Inventory> { return new Inventory(await unpack("overview")); }
export async function values(delimiter: string): Promise<Values> { return new Values(await unpack("values"), delimiter); }

/** The number of the state that the page shows, if it comes from a server. */
export function served(): string | undefined { return document.querySelector<HTMLElement>("script[data-state]")?.dataset.state; }

/** The values of one node, from the server of the page. */
export async function valuesOf(node: number, delimiter: string): Promise<Values> {
  const answer = await fetch(`values/${served()}/${node}`);
  if (!answer.ok) throw new Error(await answer.text());
  const raw: RawValues = await answer.json();
  const roots: RawValues["roots"] = [];
  [roots[node]] = raw.roots;
  return new Values({ ...raw, roots }, delimiter);
}
