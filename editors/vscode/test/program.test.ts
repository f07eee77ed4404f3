import assert from "node:assert/strict";
import { test } from "node:test";

import { notStarted, programOf, type Places } from "../source/program.ts";

const places: Places = {
  setting: "", extension: "/ext", workspace: "/project", isFile: () => false, platform: "linux", home: "/home/me",
};

test("the setting comes first, then the program inside, then the one of PATH", () => {
  const inside = (path: string): boolean => path === "/ext/server/reclass";
  assert.deepEqual(programOf({ ...places, setting: "/opt/reclass", isFile: inside }), { command: "/opt/reclass", origin: "setting" });
  assert.deepEqual(programOf({ ...places, isFile: inside }), { command: "/ext/server/reclass", origin: "extension" });
  assert.deepEqual(programOf(places), { command: "reclass", origin: "PATH" });
  assert.deepEqual(programOf({ ...places, setting: "  " }), { command: "reclass", origin: "PATH" });
});

test("the setting may begin with the home folder, and name the folder of the workspace", () => {
  const command = (setting: string, workspace: string | undefined = "/project"): string => programOf({ ...places, setting, workspace }).command;
  assert.equal(command("~/bin/reclass"), "/home/me/bin/reclass");
  assert.equal(command("${workspaceFolder}/.venv/bin/reclass"), "/project/.venv/bin/reclass");
  assert.equal(command("/opt/~/reclass"), "/opt/~/reclass");
  assert.equal(command("~other/reclass"), "~other/reclass");
  assert.equal(programOf({ ...places, setting: "${workspaceFolder}/x", workspace: undefined }).command, "${workspaceFolder}/x");
});

test("the program has another name on Windows", () => {
  const seen: string[] = [];
  programOf({ ...places, platform: "win32", isFile: (path) => { seen.push(path); return false; } });
  assert.deepEqual(seen, ["/ext/server/reclass.exe"]);
});

test("a program that did not start is named with a way out", () => {
  const message = notStarted({ command: "reclass", origin: "PATH" }, "spawn reclass ENOENT");
  assert.equal(message, "The program 'reclass' did not start: spawn reclass ENOENT. Install saltext-reclass with pip, or name the program in the setting 'reclass.server.path'.");
  assert.match(notStarted({ command: "/x", origin: "setting" }, "no"), /Correct the setting/);
});
