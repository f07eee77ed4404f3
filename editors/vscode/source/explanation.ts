// The command that explains a value: the hover of the server as a document, which stays open and can be searched. Its
// places are links.

import * as vscode from "vscode";
import { HoverRequest, type LanguageClient } from "vscode-languageclient/node";

import { explanation, places } from "./text.ts";

const SCHEME = "reclass-explain";
/** There is one such document: the next question replaces it. */
const ADDRESS = vscode.Uri.from({ scheme: SCHEME, path: "Explanation of a value" });

export class Explanations implements vscode.TextDocumentContentProvider, vscode.DocumentLinkProvider, vscode.Disposable {
  private text = "";
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  private readonly registration = vscode.Disposable.from(
    vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
    vscode.languages.registerDocumentLinkProvider({ scheme: SCHEME }, this),
  );
  readonly onDidChange = this.changed.event;

  provideTextDocumentContent(): string {
    return this.text;
  }

  provideDocumentLinks(document: vscode.TextDocument): vscode.DocumentLink[] {
    return places(document.getText()).map(({ start, end, path, line, column }) => {
      const range = new vscode.Range(document.positionAt(start), document.positionAt(end));
      // The editor reads the line and the column from the fragment.
      return new vscode.DocumentLink(range, vscode.Uri.file(path).with({ fragment: `L${line},${column}` }));
    });
  }

  /** Explains the value below the cursor. */
  async show(client: LanguageClient, editor: vscode.TextEditor): Promise<void> {
    const place = client.code2ProtocolConverter.asTextDocumentPositionParams(editor.document, editor.selection.active);
    const hover = await client.sendRequest(HoverRequest.type, place);
    const contents = hover?.contents;
    if (contents === undefined || typeof contents === "string" || !("value" in contents)) {
      void vscode.window.showInformationMessage("There is no value, reference or class at the cursor.");
      return;
    }
    this.text = explanation(contents.value);
    this.changed.fire(ADDRESS);
    const document = await vscode.workspace.openTextDocument(ADDRESS);
    await vscode.window.showTextDocument(document, {
      viewColumn: vscode.ViewColumn.Beside, preserveFocus: true, preview: true,
    });
  }

  dispose(): void {
    this.registration.dispose();
    this.changed.dispose();
  }
}
