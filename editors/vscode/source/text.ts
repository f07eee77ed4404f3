// Texts that people read: in the status bar, in the list of nodes, in the document of an explanation.

import type { NodesResult, Status } from "./protocol.ts";

/** The item of the status bar. */
export function statusItem(status: Status): { text: string; tooltip: string } {
  if (status.node === null) {
    return { text: "$(server) no node", tooltip: "No node has this file, so there are no values to show." };
  }
  const count = status.nodes === 1 ? "1 node has" : `${status.nodes} nodes have`;
  return {
    text: `$(server) ${status.node}`,
    tooltip: `The values shown are those of ${status.node}. ${count} this file. Click to choose another one.`,
  };
}

/** A line of the list of nodes; without a node, the one that takes the choice back. */
export interface Choice { label: string; description: string; node?: string }

export function choices(answer: NonNullable<NodesResult>): Choice[] {
  const nodes = answer.nodes.map((node) =>
    ({ label: node, description: node === answer.node ? "shown now" : "", node }));
  return [...nodes, { label: "$(discard) The first node that has a file", description: "" }];
}

/** The text of an explanation, from the Markdown of a hover: the text of its block, below the name of the node. */
export function explanation(markdown: string): string {
  const block = /^([^]*?)\n*(`{3,})text\n([^]*?)\n?\2\s*$/.exec(markdown);
  if (!block) return `${plain(markdown)}\n`;
  const [, before = "", , text = ""] = block;
  return `${plain(before)}\n\n${text}\n`;
}

/** A place in a file that a text names, and where the text does so. */
export interface Place { start: number; end: number; path: string; line: number; column: number }

/** The places in an explanation: absolute paths with a line and a column. */
export function places(text: string): Place[] {
  return [...text.matchAll(/(?<=^|\s)(\/[^\s:]+):(\d+):(\d+)/gm)].map(({ index, 0: whole, 1: path = "", 2: line, 3: column }) =>
    ({ start: index, end: index + whole.length, path, line: Number(line), column: Number(column) }));
}

function plain(markdown: string): string {
  return markdown.replaceAll("**", "").trim();
}
