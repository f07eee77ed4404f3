// The panel with the page of the graph. `reclass explore` serves it as long as the panel is open, and the page
// loads itself again when a file changes.

import { spawn, type ChildProcess } from "node:child_process";

import * as vscode from "vscode";

import { addressIn, at, failureDocument, panelDocument } from "./page.ts";
import { notStarted, type Program } from "./program.ts";

export class Graphs implements vscode.Disposable {
  /** The open panels by the folder that their program runs in. */
  private readonly open = new Map<string, Graph>();

  /** Shows the page of the inventory around a folder, at a node if there is one. */
  async show(program: Program, folder: string, node: string | null): Promise<void> {
    const known = this.open.get(folder);
    if (known) return known.go(node);
    const graph = new Graph(program, folder, () => this.open.delete(folder));
    this.open.set(folder, graph);
    await graph.go(node);
  }

  dispose(): void {
    for (const graph of [...this.open.values()]) graph.dispose();
  }
}

class Graph implements vscode.Disposable {
  private readonly panel = vscode.window.createWebviewPanel(
    "reclass.graph", "Reclass Graph", { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true },
    // The document of the panel has no script. The page in its frame has some, and would not run without this.
    { enableScripts: true, retainContextWhenHidden: true },
  );
  private readonly child: ChildProcess;
  private readonly address: Promise<string>;

  constructor(program: Program, folder: string, closed: () => void) {
    this.child = spawn(program.command, ["explore", "--no-open"], { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
    this.address = served(this.child, program);
    this.panel.onDidDispose(() => {
      closed();
      this.child.kill();
    });
  }

  async go(node: string | null): Promise<void> {
    this.panel.reveal(undefined, true);
    try {
      // In a remote window the address of this machine is another one than that of the server's.
      const address = await vscode.env.asExternalUri(vscode.Uri.parse(await this.address));
      this.panel.webview.html = panelDocument(at(address.toString(true), node));
    } catch (error) {
      this.panel.webview.html = failureDocument(error instanceof Error ? error.message : String(error));
    }
  }

  dispose(): void {
    this.panel.dispose();
  }
}

/** The address that the program prints once it listens. */
function served(child: ChildProcess, program: Program): Promise<string> {
  return new Promise((resolve, reject) => {
    let [output, errors] = ["", ""];
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      const address = addressIn(output);
      if (address !== undefined) resolve(address);
    });
    child.stderr?.setEncoding("utf8").on("data", (text: string) => { errors += text; });
    child.on("error", (error) => reject(new Error(notStarted(program, error.message))));
    child.on("close", (code) => reject(new Error(errors.trim() || `'reclass explore' ended with ${code}.`)));
  });
}
