// Makes elements. Texts become text nodes only, so nothing of an inventory can become markup.

export type Child = Node | string | number | null | undefined | false | Child[];
type Attributes = Record<string, string | number | boolean | undefined | ((event: any) => void)>;

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K, attributes: Attributes | null = null, ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== undefined) element.setAttribute(name, String(value));
  }
  add(element, children);
  return element;
}

export function add(parent: Node, children: Child): void {
  if (Array.isArray(children)) for (const child of children) add(parent, child);
  else if (children instanceof Node) parent.appendChild(children);
  else if (children !== null && children !== undefined && children !== false) {
    parent.appendChild(document.createTextNode(String(children)));
  }
}

/** A text that breaks after its separators and never in a word. */
export function breakable(text: string, separators = /(?<=[:./_=,-])/): Child[] {
  const pieces = text.split(separators);
  return pieces.flatMap((piece, at) => (at > 0 ? [document.createElement("wbr"), piece] : [piece]));
}

export function count(number: number, noun: string, plural = noun + "s"): string {
  return number.toLocaleString("en") + " " + (number === 1 ? noun : plural);
}
