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

/** A line of Markdown. A link is its text, and nothing if it is all that stands in parentheses. */
export function inline(line: string): Child[] {
  return line.replace(/ \(\[[^\]]+\]\([^)]*\)\)/g, "").replace(/\[([^\]]+)\]\([^)]*\)/g, "$1").split("`").map((piece, at) => (at % 2 === 1 ? h("code", null, piece) : piece));
}

/** Paragraphs, lists and examples in Markdown. */
export function prose(text: string): HTMLElement {
  return h("div", { class: "prose" }, text.split("```").flatMap((part, at): Child[] => (at % 2 === 1
    ? [h("pre", { tabindex: 0 }, part.replace(/^\w*\n/, "").trimEnd())]
    : part.trim().split(/\n{2,}/).filter(Boolean).map((block) => (block.startsWith("- ")
      ? h("ul", null, block.split(/^- /m).slice(1).map((line) => h("li", null, inline(line)))) : h("p", null, inline(block)))))));
}
