// An inventory in the fragment of the address: JSON, deflated, in the alphabet of addresses. `docs/_ext/playground.py`
// writes the same. A fragment stays in the browser: it is never sent to a server.

export interface Inventory { files: Record<string, string>; node: string | null }

const PREFIX = "#z=";

async function through(bytes: Uint8Array<ArrayBuffer>, stream: CompressionStream | DecompressionStream): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
}

export async function packed(inventory: Inventory): Promise<string> {
  const bytes = await through(new TextEncoder().encode(JSON.stringify(inventory)), new CompressionStream("deflate-raw"));
  const text = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return PREFIX + btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** The inventory of a fragment; null if the fragment is none of ours. It throws if the fragment is damaged. */
export async function unpacked(fragment: string): Promise<Inventory | null> {
  if (!fragment.startsWith(PREFIX)) return null;
  const text = atob(fragment.slice(PREFIX.length).replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = await through(Uint8Array.from(text, (char) => char.charCodeAt(0)), new DecompressionStream("deflate-raw"));
  const { files, node } = JSON.parse(new TextDecoder().decode(bytes)) as Inventory;
  if (Object.values(files).some((text) => typeof text !== "string")) throw new TypeError("a file is no text");
  return { files, node: typeof node === "string" ? node : null };
}
