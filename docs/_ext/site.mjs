// The built site behind a server, and a real Chromium, for the tests of its pages.
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { delimiter, extname, join } from "node:path";
import { test as always } from "node:test";
import { fileURLToPath } from "node:url";

export const top = fileURLToPath(new URL("../../", import.meta.url));
export const site = join(top, "build/docs");
const folders = (process.env.PATH ?? "").split(delimiter);
const chromiums = folders.flatMap((folder) => ["chromium", "chromium-browser", "google-chrome"].map((name) => join(folder, name)));
export const executablePath = chromiums.find((path) => existsSync(path));
export const test = (name, run) => always(name, { skip: executablePath ? false : "no Chromium in PATH" }, run);

const types = { ".css": "text/css", ".html": "text/html", ".js": "text/javascript", ".svg": "image/svg+xml" };

/** Serves the site and starts a browser, with Playwright's `chromium`. `close` ends both. */
export async function served(chromium) {
  const server = createServer(({ url }, answer) => {
    const path = join(site, new URL(url, "http://site").pathname);
    answer.writeHead(existsSync(path) ? 200 : 404, { "content-type": types[extname(path)] ?? "application/octet-stream" });
    answer.end(existsSync(path) ? readFileSync(path) : "");
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  const close = async () => {
    await browser.close();
    server.close();
  };
  return { browser, address: `http://127.0.0.1:${server.address().port}`, close };
}
