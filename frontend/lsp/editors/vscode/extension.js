// extension.js - Connects Visual Studio Code with `tirc lsp`.
"use strict";

const vscode = require("vscode");
const { Client } = require("./client.js");

const SELECTOR = { language: "tir" };
const PROGRAM = "tirc-program";

let client, diagnostics, subscriptions;

// ---- values of the protocol ---------------------------------------------------------------------

const toPosition = (p) => ({ line: p.line, character: p.character });
const toRange = (r) => ({ start: toPosition(r.start), end: toPosition(r.end) });
const fromPosition = (p) => new vscode.Position(p.line, p.character);
const fromRange = (r) => new vscode.Range(fromPosition(r.start), fromPosition(r.end));
const fromLocation = (l) => new vscode.Location(vscode.Uri.parse(l.uri), fromRange(l.range));
const documentOf = (document) => ({ textDocument: { uri: document.uri.toString() } });
const placeOf = (document, p) => ({ ...documentOf(document), position: toPosition(p) });
const fromEdit = (e) => new vscode.TextEdit(fromRange(e.range), e.newText);

function fromWorkspaceEdit(edit) {
  const result = new vscode.WorkspaceEdit();
  for (const [uri, edits] of Object.entries(edit.changes))
    result.set(vscode.Uri.parse(uri), edits.map(fromEdit));
  return result;
}

function fromDiagnostic(d) {
  // The severities of the protocol begin with 1, those of the editor with 0.
  const result = new vscode.Diagnostic(fromRange(d.range), d.message, d.severity - 1);
  result.source = d.source;
  result.code = d.code;
  result.relatedInformation = d.relatedInformation.map(
    (r) => new vscode.DiagnosticRelatedInformation(fromLocation(r.location), r.message),
  );
  return result;
}

function fromSymbol(s) {
  const result = new vscode.DocumentSymbol(
    s.name, s.detail, s.kind - 1, fromRange(s.range), fromRange(s.selectionRange),
  );
  result.children = (s.children || []).map(fromSymbol);
  return result;
}

function fromItem(item) {
  const result = new vscode.CompletionItem(item.label, item.kind - 1);
  result.detail = item.detail;
  if (item.documentation) result.documentation = new vscode.MarkdownString(item.documentation.value);
  return result;
}

// ---- documents ----------------------------------------------------------------------------------

function opened(document) {
  if (document.languageId !== "tir") return;
  const { uri, version } = document;
  client.notify("textDocument/didOpen", {
    textDocument: { uri: uri.toString(), languageId: "tir", version, text: document.getText() },
  });
}

function changed(event) {
  const { document, contentChanges } = event;
  if (document.languageId !== "tir" || contentChanges.length === 0) return;
  client.notify("textDocument/didChange", {
    textDocument: { uri: document.uri.toString(), version: document.version },
    contentChanges: contentChanges.map((c) => ({ range: toRange(c.range), text: c.text })),
  });
}

function closed(document) {
  if (document.languageId === "tir") client.notify("textDocument/didClose", documentOf(document));
}

function notified(method, params) {
  if (method === "textDocument/publishDiagnostics")
    diagnostics.set(vscode.Uri.parse(params.uri), params.diagnostics.map(fromDiagnostic));
}

// ---- requests -----------------------------------------------------------------------------------

const ask = (method, params) => client.request(`textDocument/${method}`, params);

async function hover(document, position) {
  const found = await ask("hover", placeOf(document, position));
  return found && new vscode.Hover(new vscode.MarkdownString(found.contents.value), fromRange(found.range));
}

async function definition(document, position) {
  const found = await ask("definition", placeOf(document, position));
  return found && fromLocation(found);
}

async function references(document, position, context) {
  const found = await ask("references", { ...placeOf(document, position), context });
  return (found || []).map(fromLocation);
}

async function highlights(document, position) {
  const found = await ask("documentHighlight", placeOf(document, position));
  return (found || []).map((h) => new vscode.DocumentHighlight(fromRange(h.range)));
}

async function prepareRename(document, position) {
  const found = await ask("prepareRename", placeOf(document, position));
  if (!found) throw new Error("This cannot be renamed.");
  return { range: fromRange(found.range), placeholder: found.placeholder };
}

async function rename(document, position, newName) {
  const found = await ask("rename", { ...placeOf(document, position), newName });
  if (!found) throw new Error(`'${newName}' is no name, or something else has it.`);
  return fromWorkspaceEdit(found);
}

async function completion(document, position) {
  const found = await ask("completion", placeOf(document, position));
  return (found ? found.items : []).map(fromItem);
}

async function symbols(document) {
  return ((await ask("documentSymbol", documentOf(document))) || []).map(fromSymbol);
}

async function format(document) {
  return ((await ask("formatting", documentOf(document))) || []).map(fromEdit);
}

async function actions(document, range) {
  const found = await ask("codeAction", {
    ...documentOf(document), range: toRange(range), context: { diagnostics: [] },
  });
  return found.map((a) => {
    const action = new vscode.CodeAction(a.title, vscode.CodeActionKind.QuickFix);
    action.edit = fromWorkspaceEdit(a.edit);
    action.diagnostics = a.diagnostics.map(fromDiagnostic);
    action.isPreferred = true;
    return action;
  });
}

async function tokens(document) {
  const found = await ask("semanticTokens/full", documentOf(document));
  return new vscode.SemanticTokens(new Uint32Array(found ? found.data : []));
}

function register(legend) {
  const { languages } = vscode;
  subscriptions.push(
    languages.registerHoverProvider(SELECTOR, { provideHover: hover }),
    languages.registerDefinitionProvider(SELECTOR, { provideDefinition: definition }),
    languages.registerReferenceProvider(SELECTOR, { provideReferences: references }),
    languages.registerDocumentHighlightProvider(SELECTOR, { provideDocumentHighlights: highlights }),
    languages.registerRenameProvider(SELECTOR, { prepareRename, provideRenameEdits: rename }),
    languages.registerCompletionItemProvider(SELECTOR, { provideCompletionItems: completion }, "."),
    languages.registerDocumentSymbolProvider(SELECTOR, { provideDocumentSymbols: symbols }),
    languages.registerDocumentFormattingEditProvider(SELECTOR, { provideDocumentFormattingEdits: format }),
    languages.registerCodeActionsProvider(SELECTOR, { provideCodeActions: actions }),
    languages.registerDocumentSemanticTokensProvider(
      SELECTOR,
      { provideDocumentSemanticTokens: tokens },
      new vscode.SemanticTokensLegend(legend.tokenTypes, legend.tokenModifiers),
    ),
  );
}

// ---- the program after a step -------------------------------------------------------------------

const shown = { text: "", changed: new vscode.EventEmitter(), uri: vscode.Uri.parse(`${PROGRAM}:program after the step.tir`) };

async function showProgram(editor) {
  if (!editor || editor.document.languageId !== "tir" || editor.document.uri.scheme === PROGRAM) return;
  const after = await client.request("tirc/programAfter", placeOf(editor.document, editor.selection.active));
  if (!after) return;
  const step = after.call ? `after step ${after.step} of ${after.steps}: ${after.call}` : "before the first step";
  shown.text = `// ${after.schedule} for ${after.kernel}, ${step}\n${after.program}`;
  shown.changed.fire(shown.uri);
}

const isShown = () => vscode.workspace.textDocuments.some((d) => d.uri.scheme === PROGRAM);
const follow = (editor) => isShown() && showProgram(editor).catch(() => {});

async function openProgram() {
  const editor = vscode.window.activeTextEditor;
  await showProgram(editor);
  const document = await vscode.workspace.openTextDocument(shown.uri);
  await vscode.languages.setTextDocumentLanguage(document, "tir");
  await vscode.window.showTextDocument(document, vscode.ViewColumn.Beside, true);
}

// ---- the extension ------------------------------------------------------------------------------

async function start() {
  const command = vscode.workspace.getConfiguration("tirc").get("path");
  client = new Client(command, ["lsp"], notified, (message) => {
    diagnostics.clear();
    vscode.window.showErrorMessage(`tirc: '${command} lsp' does not run: ${message}`);
  });
  const { capabilities } = await client.request("initialize", { processId: process.pid, rootUri: null, capabilities: {} });
  client.notify("initialized", {});
  const documents = vscode.workspace.textDocuments.filter((d) => d.uri.scheme !== PROGRAM);
  documents.forEach(opened);
  return capabilities;
}

async function activate(context) {
  ({ subscriptions } = context);
  diagnostics = vscode.languages.createDiagnosticCollection("tirc");
  const { workspace, window, commands } = vscode;
  const ours = (act) => (document) => document.uri.scheme !== PROGRAM && act(document);
  const capabilities = await start();
  register(capabilities.semanticTokensProvider.legend);
  subscriptions.push(
    diagnostics,
    workspace.onDidOpenTextDocument(ours(opened)),
    workspace.onDidCloseTextDocument(ours(closed)),
    workspace.onDidChangeTextDocument((event) => {
      if (event.document.uri.scheme === PROGRAM) return;
      changed(event);
      follow(window.activeTextEditor);
    }),
    window.onDidChangeTextEditorSelection((event) => follow(event.textEditor)),
    workspace.registerTextDocumentContentProvider(PROGRAM, {
      onDidChange: shown.changed.event,
      provideTextDocumentContent: () => shown.text,
    }),
    commands.registerCommand("tirc.programAfter", openProgram),
    commands.registerCommand("tirc.restart", async () => {
      client.onEnd = () => {};
      client.process.kill();
      await start();
    }),
  );
}

async function deactivate() {
  if (!client) return;
  client.onEnd = () => {};
  await client.stop();
}

module.exports = { activate, deactivate };
