// Addresses in the page: what stands behind the hash.

/** An address: a page, a name, and options. */
export interface Address { page: string; name: string; options: URLSearchParams }

export function parse(hash: string): Address {
  const [first, ...rest] = hash.replace(/^#/, "").split("&");
  const at = first.indexOf(":");
  const decoded = (text: string): string => { try { return decodeURIComponent(text); } catch { return text; } };
  return { page: decoded(at < 0 ? first : first.slice(0, at)), name: at < 0 ? "" : decoded(first.slice(at + 1)),
    options: new URLSearchParams(rest.join("&")) };
}

export function address(page: string, name = "", options: Record<string, string | undefined> = {}): string {
  const pairs = Object.entries(options).filter(([, value]) => value !== undefined && value !== "");
  return [page + (name ? ":" + encodeURIComponent(name) : ""), ...pairs.map(([key, value]) => key + "=" + encodeURIComponent(value!))].join("&");
}
