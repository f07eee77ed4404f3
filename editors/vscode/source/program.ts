// Finds the program: the one of the settings, the one inside the extension, or the one of PATH.

import { homedir } from "node:os";
import { join } from "node:path";

/** A program, and where its name comes from. */
export interface Program {
  command: string;
  origin: "setting" | "extension" | "PATH";
}

export interface Places {
  /** The setting `reclass.server.path`. */
  setting: string;
  /** The folder of the extension. */
  extension: string;
  /** The first folder of the workspace. */
  workspace?: string | undefined;
  isFile: (path: string) => boolean;
  platform?: NodeJS.Platform;
  home?: string;
}

export function programOf(places: Places): Program {
  const written = places.setting.trim();
  if (written) return { command: expanded(written, places), origin: "setting" };
  const name = (places.platform ?? process.platform) === "win32" ? "reclass.exe" : "reclass";
  // A package for one platform has the program inside; the one for all platforms does not.
  const inside = join(places.extension, "server", name);
  if (places.isFile(inside)) return { command: inside, origin: "extension" };
  return { command: "reclass", origin: "PATH" };
}

function expanded(path: string, places: Places): string {
  const home = places.home ?? homedir();
  const workspace = places.workspace;
  const full = workspace === undefined ? path : path.replaceAll("${workspaceFolder}", workspace);
  return full.replace(/^~(?=\/|$)/, home);
}

/** The message for a program that did not start. */
export function notStarted(program: Program, reason: string): string {
  const way: Record<Program["origin"], string> = {
    setting: "Correct the setting 'reclass.server.path'.",
    extension: "This package may be for another platform. Name the program in the setting 'reclass.server.path'.",
    PATH: "Install saltext-reclass with pip, or name the program in the setting 'reclass.server.path'.",
  };
  return `The program '${program.command}' did not start: ${reason}. ${way[program.origin]}`;
}
