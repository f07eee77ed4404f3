// Searches names, paths and values. A word with `*`, `?` or `[` is a glob for the whole text; another word is found
// anywhere, without regard to case. Every word must be found: in one name, in a parameter with its value, or partly in
// the name of a node or class and partly in what it has.

import type { Inventory, Values } from "./data";

export interface Query { text: string; words: Word[] }
interface Word { text: string; glob: RegExp | undefined }
export interface Hits {
  nodes: number[]; classes: number[]; paths: number[];
  /** Parameters with a value that matches: the number of a path and of a value. */
  values: [path: number, value: number][];
  /** Texts of files that match: file, path and text as written. */
  written: [file: number, path: number, written: number][];
  /** Classes of nodes, where the words are in both names. */
  had: [node: number, file: number][];
  /** Values of nodes, where the words are in the node's name and in the parameter or its value. */
  own: [node: number, path: number, value: number][];
}

/** Number of nodes whose values are searched for the words that their names do not have. */
export const NODES = 200;

export function total(hits: Hits): number { return Object.values(hits).reduce((sum, some) => sum + some.length, 0); }

export function query(text: string): Query {
  const words = text.trim().toLowerCase().split(/\s+/).filter(Boolean);
  return { text, words: words.map((text) => ({ text, glob: /[*?[]/.test(text) ? globOf(text) : undefined })) };
}

function globOf(text: string): RegExp {
  let out = "";
  for (let at = 0; at < text.length; at++) {
    const letter = text[at];
    const end = letter === "[" ? text.indexOf("]", at + 2) : -1;
    if (letter === "*") out += ".*";
    else if (letter === "?") out += ".";
    else if (end > 0) {
      out += "[" + text.slice(at + 1, end).replace(/^!/, "^").replace(/[\\\]]/g, "\\$&") + "]";
      at = end;
    } else out += letter.replace(/[.+^${}()|\\[\]]/g, "\\$&");
  }
  try { return new RegExp("^" + out + "$", "s"); } catch { return /^$/; }
}

const matches = (text: string, word: Word): boolean => (word.glob ? word.glob.test(text) : text.includes(word.text));

export class Index {
  private readonly names: string[];
  private paths: string[] = [];
  private values: string[] = [];
  private written: string[] = [];
  private pairs: Int32Array = new Int32Array(0);
  private data: Values | undefined;

  constructor(private readonly inventory: Inventory) {
    this.names = inventory.o.files.map((file) => file[0].toLowerCase());
  }

  /** Adds the values. */
  extend(data: Values): void {
    this.data = data;
    this.paths = data.pathText.map((text) => text.toLowerCase());
    this.values = data.raw.values.map((text) => (text ?? "").toLowerCase());
    this.written = data.raw.written.map(([text]) => text.toLowerCase());
    const pairs = new Set<number>();
    const [paths, values] = data.leaf;
    for (let at = 0; at < data.leaves; at++) pairs.add(paths[at] * this.values.length + values[at]);
    this.pairs = new Int32Array(pairs.size * 2);
    let at = 0;
    for (const pair of pairs) {
      this.pairs[at++] = Math.floor(pair / this.values.length);
      this.pairs[at++] = pair % this.values.length;
    }
  }

  find({ words }: Query): Hits {
    const hits: Hits = { nodes: [], classes: [], paths: [], values: [], written: [], had: [], own: [] };
    if (words.length === 0) return hits;
    const inName = words.map((word) => Uint8Array.from(this.names, (name) => (matches(name, word) ? 1 : 0)));
    const partly: number[] = [];
    this.names.forEach((_, file) => {
      const found = inName.filter((bits) => bits[file]).length;
      if (found === words.length) (this.inventory.isNode(file) ? hits.nodes : hits.classes).push(file);
      else if (found > 0 && this.inventory.isNode(file) && partly.length < NODES) partly.push(file);
    });
    for (const node of partly) {
      const rest = inName.filter((bits) => !bits[node]);
      const kind = this.inventory.o.facts[node].kind;
      for (const file of kind === null ? [] : this.inventory.o.kinds[kind].merged) {
        if (rest.every((bits) => bits[file])) hits.had.push([node, file]);
      }
    }
    if (!this.data) return hits;
    const bits = (texts: string[]): Uint8Array[] =>
      words.map((word) => Uint8Array.from(texts, (text) => (matches(text, word) ? 1 : 0)));
    const inPath = bits(this.paths), inValue = bits(this.values), inWritten = bits(this.written);
    const numbers = words.map((_, word) => word);
    // At least one word is in the value, so that a path alone does not list all of its values.
    const inBoth = (path: number, value: number): boolean =>
      numbers.every((word) => inPath[word][path] || inValue[word][value]) && numbers.some((word) => inValue[word][value]);
    for (let path = 2; path < this.paths.length; path++) {
      if (inPath.every((bits) => bits[path])) hits.paths.push(path);
    }
    for (let at = 0; at < this.pairs.length; at += 2) {
      if (inBoth(this.pairs[at], this.pairs[at + 1])) hits.values.push([this.pairs[at], this.pairs[at + 1]]);
    }
    this.data.raw.sets.forEach((rows, file) => {
      for (const [path, written] of rows) {
        if (numbers.every((word) => inWritten[word][written] || inPath[word][path] || inName[word][file])
          && numbers.some((word) => inWritten[word][written] || !inPath[word][path])
          && numbers.some((word) => inWritten[word][written] || inPath[word][path])) hits.written.push([file, path, written]);
      }
    });
    const [paths, values] = this.data.leaf;
    for (const node of partly) {
      const rest = numbers.filter((word) => !inName[word][node]);
      for (const root of this.data.roots(node)) {
        this.data.walk(root, (leaf) => {
          if (rest.every((word) => inPath[word][paths[leaf]] || inValue[word][values[leaf]])) hits.own.push([node, paths[leaf], values[leaf]]);
        });
      }
    }
    // A name that begins with the text comes first, then the shorter one.
    const rank = (text: string): number => (text.startsWith(words[0].text) ? 0 : 1000) + text.length;
    hits.classes.sort((a, b) => rank(this.names[a]) - rank(this.names[b]));
    hits.nodes.sort((a, b) => rank(this.names[a]) - rank(this.names[b]));
    hits.paths.sort((a, b) => rank(this.paths[a]) - rank(this.paths[b]));
    return hits;
  }
}

/** A text with the found words marked. */
export function marked(text: string, { words }: Query): Node[] {
  const lower = text.toLowerCase();
  const marks: [number, number][] = [];
  for (const word of words) {
    if (word.glob) {
      if (word.glob.test(lower)) marks.push([0, text.length]);
      continue;
    }
    for (let at = lower.indexOf(word.text); at >= 0; at = lower.indexOf(word.text, at + word.text.length)) {
      marks.push([at, at + word.text.length]);
    }
  }
  marks.sort((a, b) => a[0] - b[0]);
  const nodes: Node[] = [];
  let done = 0;
  const plain = (end: number): void => {
    for (const piece of text.slice(done, end).split(/(?<=[:./_=,-])/)) {
      if (piece) nodes.push(document.createTextNode(piece), document.createElement("wbr"));
    }
  };
  for (const [start, end] of marks) {
    if (end <= done) continue;
    plain(Math.max(start, done));
    const mark = document.createElement("mark");
    mark.textContent = text.slice(Math.max(start, done), end);
    nodes.push(mark);
    done = end;
  }
  plain(text.length);
  return nodes;
}
