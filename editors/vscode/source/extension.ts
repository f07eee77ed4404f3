// Starts `reclass lsp` and adds what the protocol does not have: the chosen node, explanations as a document, and
// the page of the graph.

import { execFile } from "node:child_process";
import { statSync } from "node:fs";
import { dirname } from "node:path";
import { promisify } from "node:util";

import * as vscode from "vscode";
import { LanguageClient, type LanguageClientOptions } from "vscode-languageclient/node";

import { Explanations } from "./explanation.ts";
import { documentsOf } from "./files.ts";
import { Graphs } from "./graph.ts";
import { Nodes } from "./nodes.ts";
import { notStarted, programOf, type Program } from "./program.ts";
import { CHOOSE_NODE, fileOf } from "./protocol.ts";

let client: LanguageClient | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const nodes = new Nodes();
  const explanations = new Explanations();
  const graphs = new Graphs();
  const program = (): Program => programOf({
    setting: vscode.workspace.getConfiguration("reclass").get("server.path", ""),
    extension: context.extensionPath,
    workspace: vscode.workspace.workspaceFolders?.[0]?.uri.fsPath,
    isFile: (path) => statSync(path, { throwIfNoEntry: false })?.isFile() ?? false,
  });
  // One start after another: a second one would register the commands of the server twice.
  let last: Promise<void> = Promise.resolve();
  const restart = (): Promise<void> => last = last.then(() => start(program(), nodes));

  const command = (name: string, run: (editor: vscode.TextEditor | undefined) => Promise<void>): vscode.Disposable =>
    vscode.commands.registerCommand(name, () => run(vscode.window.activeTextEditor));
  context.subscriptions.push(
    nodes, explanations, graphs,
    command("reclass.pickNode", async (editor) => {
      if (client && editor) await nodes.pick(client, editor.document.uri);
    }),
    command("reclass.explainValue", async (editor) => {
      if (client && editor) await explanations.show(client, editor);
    }),
    command("reclass.showGraph", async () => {
      const file = nodes.file();
      const folder = file ? dirname(file.fsPath) : vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
      if (folder === undefined) {
        void vscode.window.showInformationMessage("Open the folder of an inventory first.");
        return;
      }
      await graphs.show(program(), folder, nodes.shown(file) ?? null);
    }),
    command("reclass.restartServer", restart),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (["server", "files", "inlayHints"].some((name) => change.affectsConfiguration(`reclass.${name}`))) void restart();
      else if (change.affectsConfiguration("reclass.node") && client) nodes.settingChanged(client);
    }),
  );
  await restart();
}

export async function deactivate(): Promise<void> {
  await client?.dispose();
}

async function start(program: Program, nodes: Nodes): Promise<void> {
  await client?.dispose();
  client = undefined;
  const files = vscode.workspace.getConfiguration("reclass").get<string[]>("files", []);
  const options: LanguageClientOptions = {
    documentSelector: documentsOf(files),
    initializationOptions: {
      inlayHints: vscode.workspace.getConfiguration("reclass").get("inlayHints", false),
      explainValue: true,
    },
    middleware: {
      // The client registers the commands of the server. A code lens runs this one without a node.
      executeCommand: async (name, args: unknown[], next) => {
        const file = fileOf(args[0]);
        if (name !== CHOOSE_NODE || args.length > 1 || !file || !client) return next(name, args);
        await nodes.pick(client, "uri" in file ? vscode.Uri.parse(file.uri) : vscode.Uri.file(file.path));
      },
    },
  };
  try {
    // The client has messages of its own for a program that is not there, which name no setting.
    await promisify(execFile)(program.command, ["--version"]);
  } catch (error) {
    void vscode.window.showErrorMessage(notStarted(program, reason(error)));
    return;
  }
  const started = new LanguageClient("reclass", "reclass", { command: program.command, args: ["lsp"] }, options);
  nodes.follow(started);
  // It tells the user why it does not start.
  await started.start().then(() => { client = started; }, () => started.dispose().catch(() => undefined));
}

/** The first line of a message: the others of a program that fails are its output. */
function reason(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split("\n", 1)[0] ?? "";
}
