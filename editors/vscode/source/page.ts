// The page of the graph in a panel: `reclass explore` serves it, and a frame shows it.

/** The address in the output of `reclass explore`; undefined until a whole line of it is there. */
export function addressIn(output: string): string | undefined {
  return /^(https?:\/\/\S+)\r?\n/m.exec(output)?.[1];
}

/** The address of what the page shows first: the graph around a node, or the start page. */
export function at(address: string, node: string | null): string {
  const base = address.replace(/#.*$/, "");
  return node === null ? base : `${base}#node:${encodeURIComponent(node)}&tab=graph`;
}

/** The document of the panel. The frame alone may load something, from that server and from nowhere else. */
export function panelDocument(address: string): string {
  const origin = new URL(address).origin;
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; frame-src ${escaped(origin)}">
<style>html, body, iframe { width: 100%; height: 100%; margin: 0; padding: 0; border: 0; overflow: hidden }</style>
</head>
<body><iframe src="${escaped(address)}" title="The graph of the inventory" allow="clipboard-write"></iframe></body>
</html>
`;
}

/** The document of a panel whose page cannot be shown. */
export function failureDocument(message: string): string {
  return `<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="default-src 'none'"></head>
<body><pre>${escaped(message)}</pre></body>
</html>
`;
}

export function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
