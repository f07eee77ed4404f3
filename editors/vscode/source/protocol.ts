// The names and parameters that `reclass lsp` adds to the protocol. They are those of crates/lsp.

/** The command that chooses the node whose values are shown. */
export const CHOOSE_NODE = "reclass.chooseNode";
/** The request for the nodes of a file. */
export const NODES = "reclass/nodes";
/** The notification about the node whose values are shown in a file. */
export const STATUS = "reclass/status";

export interface NodesParams { textDocument: { uri: string } }
/** Null for a file that belongs to no inventory. */
export type NodesResult = { nodes: string[]; node: string | null } | null;

export interface Status {
  uri: string;
  /** Null if no node has the file. */
  node: string | null;
  /** How many nodes have the file. */
  nodes: number;
}

export function nodesOf(uri: string): NodesParams {
  return { textDocument: { uri } };
}

/** The parameters of `workspace/executeCommand`. Without a node, it is again the first one that has a file. */
export function chooseNode(uri: string, node?: string): { command: string; arguments: string[] } {
  return { command: CHOOSE_NODE, arguments: node === undefined ? [uri] : [uri, node] };
}

/** The file that the command of a code lens names: a path or an address. */
export function fileOf(argument: unknown): { path: string } | { uri: string } | undefined {
  if (typeof argument !== "string" || argument === "") return undefined;
  return /^[a-z][a-z+.-]+:/i.test(argument) ? { uri: argument } : { path: argument };
}
