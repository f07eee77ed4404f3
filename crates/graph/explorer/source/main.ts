// The frame of the page: the bar with the search field, and the content that the address names.

import { address, parse } from "./address";
import { overview, values } from "./data";
import { breakable, type Child, count, h } from "./dom";
import { type Hits, Index, marked, query, total } from "./search";
import { Settings } from "./settings";
import { notFound, Views } from "./views";

/** Results of each kind below the search field. */
const SUGGESTED = 6;

async function start(): Promise<void> {
  const inventory = await overview();
  const { o } = inventory;
  const settings = new Settings(o);
  const views = new Views(inventory, settings);
  const index = new Index(inventory);
  views.index = index;

  const main = h("main", { id: "content", tabindex: -1 });
  const options = h("div", { id: "found", role: "listbox", "aria-label": "Search results", hidden: true });
  const status = h("span", { class: "hidden", role: "status", id: "count" });
  const search = h("input", { id: "search", type: "search", placeholder: "Search names, parameters, values   /", autocomplete: "off", spellcheck: "false",
    role: "combobox", "aria-expanded": "false", "aria-controls": "found", "aria-autocomplete": "list", "aria-label": "Search names, parameters and values" });
  const items: [string, string, string[]][] = [["start", "Start", ["", "start"]], ["graph", "Graph", ["graph"]], ["nodes", "Nodes", ["nodes", "node"]],
    ["classes", "Classes", ["classes", "class"]], ["parameters", "Parameters", ["parameters", "parameter", "export"]], ["lint", "Lint", ["lint"]]];
  const navigation = h("nav", { "aria-label": "Pages" }, items.map(([page, title]) => h("a", { href: "#" + page, "data-page": page }, title)));
  document.body.append(
    h("a", { class: "skip", href: "#content", click: (event: Event) => { event.preventDefault(); main.focus(); } }, "Skip to the content"),
    h("header", null, h("a", { class: "brand", href: "#start" }, o.name || "reclass"), h("div", { class: "search", role: "search" }, search, options, status), navigation,
      h("button", { type: "button", class: "settings", popovertarget: "settings", "aria-label": "Settings", title: "Settings: colours, and what a click on a place does" }, "⚙")), settings.panel, settings.said,
    main, h("footer", null, h("a", { href: "#about" }, "About this page, and the licences of its libraries")));

  settings.changed = () => show();
  views.again = () => { if (parse(location.hash).page === "node") show(); };

  let places = new Map<string, number>();
  let current = "";
  let last = "";
  function show(): void {
    const at = parse(location.hash);
    places.set(current, scrollY);
    current = location.hash;
    const { title, content } = views.show(at);
    main.replaceChildren(content);
    views.shown();
    document.title = (at.page === "" || at.page === "start" ? title : `${title} · ${o.name}`) + " · reclass";
    for (const [page, , pages] of items) {
      const link = navigation.querySelector(`[data-page=${page}]`)!;
      if (pages.includes(at.page)) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    if (document.activeElement !== search) search.value = at.page === "search" ? at.name : "";
    if (!at.options.has("path")) scrollTo(0, places.get(current) ?? 0);
  }

  // --- search ------------------------------------------------------------------------------------------------

  let active = -1;
  const close = (): void => { options.hidden = true; search.setAttribute("aria-expanded", "false"); search.removeAttribute("aria-activedescendant"); active = -1; };
  const go = (hash: string): void => { close(); last = search.value; search.blur(); if ("#" + hash === location.hash) show(); else location.hash = hash; main.focus({ preventScroll: true }); };
  const rows = (): HTMLElement[] => [...options.querySelectorAll<HTMLElement>("[role=option]")];
  function option(field: string, hash: string, content: Child, also?: Child, data: Record<string, string> = {}): HTMLElement {
    return h("div", { role: "option", id: "", "data-hash": hash, "aria-selected": "false", ...data, pointerdown: (event: Event) => event.preventDefault(), click: () => go(hash) },
      h("span", { class: "field" }, field), h("span", { class: "hit" }, content), also && h("span", { class: "also" }, also));
  }
  function suggest(): void {
    const asked = query(search.value);
    if (asked.words.length === 0) { close(); return; }
    const hits: Hits = index.find(asked);
    const data = views.data;
    const found: HTMLElement[] = [];
    const file = (kind: "node" | "class") => (file: number): HTMLElement =>
      option(kind, address(kind, inventory.name(file)), marked(inventory.name(file), asked),
        kind === "class" ? count(inventory.nodesOf(file).length, "node") : undefined, { "data-kind": kind, "data-name": inventory.name(file) });
    found.push(...hits.nodes.slice(0, SUGGESTED).map(file("node")), ...hits.classes.slice(0, SUGGESTED).map(file("class")));
    found.push(...hits.had.slice(0, SUGGESTED).map(([node, file]) => option("class", address("node", inventory.name(node), { tab: "classes" }), marked(inventory.name(file), asked), ["of ", marked(inventory.name(node), asked)])));
    if (data) {
      const name = (path: number): string => address(data.isExport(path) ? "export" : "parameter", data.pathText[path]);
      found.push(...hits.paths.slice(0, SUGGESTED).map((path) => option("parameter", name(path), marked(data.pathText[path], asked))));
      found.push(...hits.own.slice(0, SUGGESTED).map(([node, path, value]) => option("value", address("node", inventory.name(node), { path: data.pathText[path], exports: data.isExport(path) ? "1" : undefined }),
        [marked(data.pathText[path], asked), " = ", marked((data.raw.values[value] ?? "").slice(0, 160), asked)], ["of ", marked(inventory.name(node), asked)])));
      found.push(...hits.values.slice(0, SUGGESTED).map(([path, value]) => option("value", name(path),
        marked((data.raw.values[value] ?? "").slice(0, 160), asked), marked(data.pathText[path], asked))));
      found.push(...hits.written.slice(0, SUGGESTED).map(([file, path, written]) => option("written", address(inventory.isNode(file) ? "node" : "class", inventory.name(file)),
        marked(data.raw.written[written][0].slice(0, 160), asked), [marked(data.pathText[path], asked), " in ", breakable(inventory.name(file))],
        { "data-kind": inventory.isNode(file) ? "node" : "class", "data-name": inventory.name(file) })));
    }
    const all = total(hits);
    status.textContent = all.toLocaleString("en") + " found";
    const kinds: [number, string, string][] = [[hits.nodes.length, "node", "nodes"], [hits.classes.length, "class", "classes"], [hits.paths.length, "parameter", "parameters"],
      [hits.values.length + hits.own.length, "value", "values"], [hits.written.length, "text in files", "texts in files"]];
    if (all > found.length) found.push(option("all", address("search", search.value.trim()), `all ${all.toLocaleString("en")} results`,
      kinds.filter(([number]) => number > 0).map(([number, one, many]) => count(number, one, many)).join(", ")));
    if (all === 0) found.push(h("div", { class: "none", role: "option", "aria-disabled": "true", "aria-selected": "false" }, data ? "0 found. " + notFound(o) : "The values are not read yet"));
    found.forEach((row, at) => { row.id = "option-" + at; });
    options.replaceChildren(...found);
    options.hidden = false;
    search.setAttribute("aria-expanded", "true");
    search.removeAttribute("aria-activedescendant");
    active = -1;
  }
  search.addEventListener("input", suggest);
  search.addEventListener("focus", () => { if (search.value) suggest(); });
  search.addEventListener("blur", close);
  search.addEventListener("keydown", (event) => {
    const all = rows();
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      if (options.hidden) suggest();
      const next = event.key === "ArrowDown" ? active + 1 : active - 1;
      active = all.length === 0 ? -1 : (next + all.length) % all.length;
      all.forEach((row, at) => row.setAttribute("aria-selected", String(at === active)));
      all[active]?.scrollIntoView({ block: "nearest" });
      if (all[active]) search.setAttribute("aria-activedescendant", all[active].id);
      event.preventDefault();
    } else if (event.key === "Enter") {
      const chosen = all[active] ?? (all.length === 1 ? all[0] : undefined);
      if (chosen?.dataset.hash !== undefined) go(chosen.dataset.hash);
      else if (search.value.trim()) go(address("search", search.value.trim()));
      event.preventDefault();
    } else if (event.key === "Escape") {
      if (options.hidden) { search.value = last = ""; search.blur(); main.focus({ preventScroll: true }); }
      else close();
      event.preventDefault();
    }
  });
  addEventListener("keydown", (event) => {
    const target = event.target as HTMLElement;
    if (event.key === "/" && !event.ctrlKey && !event.metaKey && !event.altKey && !/^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName)) {
      event.preventDefault();
      // The last search is there again.
      search.value ||= last;
      search.focus();
      search.select();
    }
  });
  history.scrollRestoration = "manual";
  addEventListener("hashchange", show);
  show();
  performance.mark("shown");
  // The values are read after the first picture.
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  views.data = await values(o.delimiter);
  index.extend(views.data);
  if (parse(location.hash).page !== "graph") show();
  if (document.activeElement === search && search.value) suggest();
  document.documentElement.dataset.ready = "true";
  performance.mark("ready");
}

start().catch((error: unknown) => {
  document.body.append(h("p", { class: "bad" }, "The page cannot be shown: " + String(error)));
  throw error;
});
