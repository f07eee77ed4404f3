// The examples of docs/language.md: their files, and what the page shows as the answer.
import { readFileSync } from "node:fs";

const page = readFileSync(new URL("../../../../docs/language.md", import.meta.url), "utf8");

export const examples = [...page.matchAll(/^<div class="example">\n(.*?)^<\/div>$/gms)].map(([all, text]) => {
  const example = { line: page.slice(0, page.indexOf(all)).split("\n").length, files: {}, parts: [], sessions: [] };
  for (const [, language, block] of text.matchAll(/^```(\w+)\n(.*?)^```$/gms)) {
    const [first, rest] = [block.slice(0, block.indexOf("\n")), block.slice(block.indexOf("\n") + 1)];
    if (language === "console") {
      example.sessions.push({ command: first.slice(2), output: rest.replace(/\[exit code \d+\]\n$/, "") });
    } else if (/^# \w+ of \S+$/.test(first)) {
      for (const [, name, node, part] of block.matchAll(/^# (\w+) of (\S+)\n(.*?)(?:\n(?=# \w+ of )|(?![\s\S]))/gms)) example.parts.push({ name, node, text: part });
    } else {
      example.files[first.slice(2)] = block;
    }
  }
  example.node = example.parts[0]?.node ?? /--nodeinfo (\S+)/.exec(example.sessions[0]?.command ?? "")?.[1] ?? null;
  return example;
});

/** A part of an answer, as the page shows it. */
export function part(data, name) {
  const found = new RegExp(`^${name}:(?: (.*\n)|\n((?:(?!\\w).*\n)+))`, "m").exec(data);
  const section = found[1] ?? found[2].split("\n").map((line) => line.replace(/^ {2}/, "")).join("\n");
  return section.trimEnd().concat("\n").replace(/^_reclass_:\n(?: .*\n)+/m, "") || "{}\n";
}

/** What a command of the page prints, from the answer of the engine; null for one that asks for JSON. */
export function printed(command, { messages, data }) {
  if (command.includes("json")) return null;
  const [, pattern] = /\| grep (?:-E )?'?([^']*)'?$/.exec(command) ?? [];
  const lines = (data ?? "").split("\n").filter((line) => pattern && new RegExp(pattern).test(line));
  return messages + lines.map((line) => line + "\n").join("");
}
