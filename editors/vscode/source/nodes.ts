// The chosen node: in the status bar, and in a list to choose from.

import * as vscode from "vscode";
import { ExecuteCommandRequest, type LanguageClient } from "vscode-languageclient/node";

import { chooseNode, NODES, nodesOf, STATUS, type NodesResult, type Status } from "./protocol.ts";
import { choices, statusItem } from "./text.ts";

export class Nodes implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem("reclass.node", vscode.StatusBarAlignment.Left, 10);
  private readonly statuses = new Map<string, Status>();
  /** The folders of the workspace whose setting `reclass.node` was obeyed. A later choice outlives it. */
  private readonly obeyed = new Set<string>();
  private readonly registrations: vscode.Disposable[];

  constructor() {
    this.item.name = "Reclass: chosen node";
    this.item.command = "reclass.pickNode";
    this.registrations = [
      this.item,
      vscode.window.onDidChangeActiveTextEditor(() => this.show()),
      vscode.workspace.onDidCloseTextDocument((document) => {
        this.statuses.delete(document.uri.toString());
        this.show();
      }),
    ];
  }

  /** Follows a client that is about to start. */
  follow(client: LanguageClient): void {
    this.statuses.clear();
    this.obeyed.clear();
    this.show();
    client.onNotification(STATUS, (status: Status) => {
      // The server may escape another set of characters than the editor.
      const uri = vscode.Uri.parse(status.uri);
      this.statuses.set(uri.toString(), status);
      this.show();
      void this.obey(client, uri);
    });
  }

  /** The node whose values are shown in a file, null if there is none, undefined if it is no file of an inventory. */
  shown(uri: vscode.Uri | undefined): string | null | undefined {
    return uri && this.statuses.get(uri.toString())?.node;
  }

  /** A file of an inventory that is open, if there is one: at best the one in the active editor. */
  file(): vscode.Uri | undefined {
    const active = vscode.window.activeTextEditor?.document.uri;
    if (active && this.statuses.has(active.toString())) return active;
    const [first] = this.statuses.keys();
    return first === undefined ? undefined : vscode.Uri.parse(first);
  }

  /** Lets the user choose one of the nodes that have a file. */
  async pick(client: LanguageClient, uri: vscode.Uri): Promise<void> {
    const file = client.code2ProtocolConverter.asUri(uri);
    const answer: NodesResult = await client.sendRequest(NODES, nodesOf(file));
    if (!answer || answer.nodes.length === 0) {
      void vscode.window.showInformationMessage("No node has this file.");
      return;
    }
    const picked = await vscode.window.showQuickPick(choices(answer), {
      title: "The node whose values are shown", matchOnDescription: false,
    });
    if (picked) await client.sendRequest(ExecuteCommandRequest.type, chooseNode(file, picked.node));
  }

  /** Forgets that the setting `reclass.node` was obeyed: it changed. */
  settingChanged(client: LanguageClient): void {
    this.obeyed.clear();
    for (const uri of [...this.statuses.keys()]) void this.obey(client, vscode.Uri.parse(uri));
  }

  private async obey(client: LanguageClient, uri: vscode.Uri): Promise<void> {
    const folder = vscode.workspace.getWorkspaceFolder(uri)?.uri.toString() ?? "";
    if (this.obeyed.has(folder)) return;
    this.obeyed.add(folder);
    const node = vscode.workspace.getConfiguration("reclass", uri).get("node", "").trim();
    if (!node) return;
    await client.sendRequest(ExecuteCommandRequest.type, chooseNode(client.code2ProtocolConverter.asUri(uri), node));
  }

  private show(): void {
    const active = vscode.window.activeTextEditor?.document.uri.toString();
    const status = active === undefined ? undefined : this.statuses.get(active);
    void vscode.commands.executeCommand("setContext", "reclass.isInventoryFile", status !== undefined);
    if (!status) return this.item.hide();
    const { text, tooltip } = statusItem(status);
    this.item.text = text;
    this.item.tooltip = tooltip;
    this.item.show();
  }

  dispose(): void {
    for (const registration of this.registrations) registration.dispose();
  }
}
