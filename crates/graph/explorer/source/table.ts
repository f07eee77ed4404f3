// Tables whose columns sort. Their rows are made when they are shown.

import { add, type Child, h } from "./dom";

/** Rows that are shown before a button asks for more. */
const ROWS = 400;

export type Row = () => Child[] | HTMLTableRowElement;

/** What a cell sorts by: its number, or its text. */
function keyOf(row: HTMLTableRowElement, column: number): string { return row.cells[column]?.textContent?.trim() ?? ""; }
const NUMBER = /^-?\d[\d,]*(\.\d+)?(?![\d.:\w-])/;

export function table(caption: string, heads: string[], rows: Row[], label = caption, limit = ROWS): HTMLElement {
  const made: HTMLTableRowElement[] = [];
  const row = (at: number): HTMLTableRowElement => {
    if (!made[at]) {
      const cells = rows[at]();
      made[at] = cells instanceof HTMLTableRowElement ? cells : h("tr", null, cells.map((cell) => (cell instanceof HTMLTableCellElement ? cell : h("td", null, cell))));
      // A small screen shows the head beside each cell.
      [...made[at].cells].forEach((cell, column) => { if (cell.childNodes.length > 0) cell.dataset.head = heads[column]; });
    }
    return made[at];
  };
  let shown = Math.min(rows.length, limit);
  let order = rows.map((_, at) => at);
  const body = h("tbody");
  const fill = (): void => body.replaceChildren(...order.slice(0, shown).map(row));
  const sort = (column: number, head: HTMLElement): void => {
    const keys = rows.map((_, at) => keyOf(row(at), column));
    const filled = keys.filter(Boolean);
    const isNumber = filled.length > 0 && filled.every((key) => NUMBER.test(key));
    const numbers = isNumber ? keys.map((key) => Number(NUMBER.exec(key)?.[0].replaceAll(",", "") ?? -Infinity)) : [];
    // Numbers begin with the largest one.
    const before = head.getAttribute("aria-sort");
    const ascending = before ? before === "descending" : !isNumber;
    const { compare } = new Intl.Collator("en", { numeric: true });
    const sign = ascending ? 1 : -1;
    order = rows.map((_, at) => at).sort((a, b) => sign * (isNumber ? numbers[a] - numbers[b] : compare(keys[a], keys[b])) || a - b);
    for (const other of head.parentElement!.children) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", ascending ? "ascending" : "descending");
    for (const open of body.querySelectorAll("[aria-expanded=true]")) open.setAttribute("aria-expanded", "false");
    fill();
  };
  const head = (text: string, column: number): HTMLElement => {
    const cell = h("th", { scope: "col" }, rows.length < 2 || !text ? text
      : h("button", { type: "button", class: "sort", title: "Sort by this column", click: () => sort(column, cell) }, text));
    return cell;
  };
  fill();
  const box = h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label },
    h("table", null, h("caption", { class: "hidden" }, caption), h("thead", null, h("tr", null, heads.map(head))), body));
  if (rows.length <= shown) return box;
  const more = h("button", { type: "button", class: "more", click: () => { shown = rows.length; fill(); more.remove(); } },
    `show all ${rows.length.toLocaleString("en")}`);
  const outer = h("div");
  add(outer, [box, more]);
  return outer;
}
