// The settings of the reader, kept in the browser: the colours, and the program in which a place opens.

import { breakable, type Child, h } from "./dom";
import type { Overview } from "./data";

/** The addresses of places. `{path}` is absolute. */
const EDITORS: Record<string, [label: string, address: string]> = {
  vscode: ["Visual Studio Code", "vscode://file{path}:{line}:{column}"],
  idea: ["IntelliJ IDEA", "idea://open?file={path}&line={line}&column={column}"],
  file: ["the browser, as a file", "file://{path}"],
};

const memory = new Map<string, string>();

function read(name: string): string {
  try { return localStorage.getItem("reclass-" + name) ?? ""; } catch { return memory.get(name) ?? ""; }
}

function write(name: string, value: string): void {
  memory.set(name, value);
  try { localStorage.setItem("reclass-" + name, value); } catch { /* A browser may forbid it. Then the setting ends with the page. */ }
}

/** Whether the colours are dark. */
export function isDark(): boolean {
  if (matchMedia("print").matches) return false;
  const theme = document.documentElement.dataset.theme;
  return theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

/** Copies a text; without the clipboard of secure pages, through a selection. */
async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = h("textarea", { class: "hidden" });
    field.value = text;
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    return done;
  }
}

export class Settings {
  /** Called when places or colours have changed. */
  changed = (): void => {};
  readonly panel: HTMLElement;
  readonly said = h("span", { class: "hidden", role: "status" });

  constructor(private readonly o: Overview) {
    this.theme(read("theme"));
    const choice = (id: string, label: string, options: [string, string][], value: string, set: (value: string) => void): Child => {
      const select = h("select", { id, change: () => { set(select.value); this.changed(); } },
        options.map(([name, text]) => h("option", { value: name, selected: name === value }, text)));
      return h("p", null, h("label", { for: id }, label), select);
    };
    const folder = h("input", { id: "folder", type: "text", spellcheck: "false", value: this.folder(), change: () => {
      write("folder " + o.folder, folder.value.trim());
      this.changed();
    } });
    this.panel = h("div", { id: "settings", popover: "auto", role: "dialog", "aria-label": "Settings" },
      choice("theme", "Colours", [["", "as the system"], ["light", "light"], ["dark", "dark"]], read("theme"), (value) => { write("theme", value); this.theme(value); }),
      choice("editor", "A click on a place", [["", o.link ? "opens the repository" : "copies it"], ...(o.link ? [["copy", "copies it"] as [string, string]] : []),
        ...Object.entries(EDITORS).map(([name, [label]]) => [name, "opens " + label] as [string, string])], read("editor"), (value) => write("editor", value)),
      h("p", null, h("label", { for: "folder" }, "Folder of the inventory on this machine"), folder),
      h("p", { class: "faint" }, "This browser keeps these settings."));
  }

  private theme(value: string): void {
    if (value) document.documentElement.dataset.theme = value;
    else delete document.documentElement.dataset.theme;
  }

  private folder(): string { return read("folder " + this.o.folder) || this.o.folder; }

  /** The address that opens a place, if the reader or the author of the page has chosen one. */
  private address(path: string, line: number, column: number): string | undefined {
    const { link, revision, inside } = this.o;
    const encoded = (text: string): string => text.split("/").map(encodeURIComponent).join("/").replace(/%3A/gi, ":");
    const fill = (address: string, values: Record<string, string>): string =>
      address.replace(/\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole);
    const position = { line: String(Math.max(1, line)), column: String(Math.max(1, column)) };
    const editor = EDITORS[read("editor")];
    if (editor) {
      const absolute = (path.startsWith("/") ? path : this.folder().replace(/[\\/]+$/, "") + "/" + path).replace(/\\/g, "/");
      return fill(editor[1], { ...position, path: encoded(absolute.replace(/^(?!\/)/, "/")) });
    }
    if (read("editor") === "copy" || !link || path.startsWith("/")) return undefined;
    const address = fill(link, { ...position, revision: revision ?? "HEAD", file: encoded(inside + path) });
    return /^https?:/i.test(address) ? address : undefined;
  }

  /** A place: a click copies it, or opens it beside a button that copies. */
  place(path: string, line: number, column: number): HTMLElement {
    const text = line > 0 ? `${path}:${line}` : path;
    const shown = breakable(text, /(?<=\/)/);
    const address = this.address(path, line, column);
    const button = h("button", { type: "button", class: address ? "copy" : "place copy", title: "Copy " + text, "aria-label": address ? "Copy " + text : undefined,
      click: async () => {
        const done = await copy(text);
        this.said.textContent = done ? "Copied " + text : "The browser does not allow copying";
        button.dataset.said = done ? "copied" : "not allowed";
        setTimeout(() => { delete button.dataset.said; this.said.textContent = ""; }, 1500);
      } }, address ? "copy" : shown);
    return address ? h("span", { class: "opens" }, h("a", { class: "place", href: address, rel: "noreferrer", title: "Open " + address }, shown), " ", button) : button;
  }
}
