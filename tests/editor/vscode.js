// vscode.js - Runs the extension for Visual Studio Code with the server, on a stand-in for the
// editor's API: node vscode.js EXTENSION TIRC FILE. Prints what the editor would show as JSON.
"use strict";

const Module = require("module");
const fs = require("fs");
const path = require("path");
const { pathToFileURL } = require("url");

const [extension, tirc, file] = process.argv.slice(2);
const providers = {};
const events = {};
const shown = {};

class Plain {
  constructor(...values) {
    this.values = values;
  }
}
class Uri {
  constructor(text) {
    this.text = text;
    this.scheme = text.split(":")[0];
  }
  static parse(text) {
    return new Uri(text);
  }
  toString() {
    return this.text;
  }
}
class WorkspaceEdit {
  constructor() {
    this.changes = {};
  }
  set(uri, edits) {
    this.changes[uri] = edits;
  }
}
class EventEmitter {
  constructor() {
    this.event = () => {};
  }
  fire() {
    shown.fired = true;
  }
}

const on = (name) => (act) => {
  events[name] = act;
  return {};
};
const register = new Proxy({}, {
  get: (_, name) => (selector, provider) => {
    Object.assign(providers, provider);
    return {};
  },
});
const document = {
  languageId: "tir",
  version: 1,
  uri: new Uri(pathToFileURL(path.resolve(file)).toString()),
  getText: () => fs.readFileSync(file, "utf8"),
};

const vscode = {
  Uri, WorkspaceEdit, EventEmitter,
  Position: class { constructor(line, character) { Object.assign(this, { line, character }); } },
  Range: class { constructor(start, end) { Object.assign(this, { start, end }); } },
  Diagnostic: class { constructor(range, message, severity) { Object.assign(this, { range, message, severity }); } },
  DocumentSymbol: class { constructor(name) { this.name = name; } },
  CompletionItem: class { constructor(label) { this.label = label; } },
  CodeAction: class { constructor(title) { this.title = title; } },
  CodeActionKind: { QuickFix: "quickfix" },
  TextEdit: Plain, Hover: Plain, MarkdownString: Plain, Location: Plain, DocumentHighlight: Plain,
  DiagnosticRelatedInformation: Plain, SemanticTokens: Plain, SemanticTokensLegend: Plain,
  ViewColumn: { Beside: 2 },
  languages: new Proxy({}, {
    get: (_, name) =>
      name === "createDiagnosticCollection"
        ? () => ({ set: (uri, found) => { shown.diagnostics = found; }, clear() {} })
        : name === "setTextDocumentLanguage" ? async () => {} : register[name],
  }),
  workspace: {
    textDocuments: [document],
    getConfiguration: () => ({ get: () => tirc }),
    onDidOpenTextDocument: on("open"),
    onDidCloseTextDocument: on("close"),
    onDidChangeTextDocument: on("change"),
    openTextDocument: async () => ({}),
    registerTextDocumentContentProvider: (scheme, provider) => Object.assign(providers, provider) && {},
  },
  window: {
    onDidChangeTextEditorSelection: on("selection"),
    showTextDocument: async () => {},
    showErrorMessage: (message) => { shown.problem = message; },
    activeTextEditor: { document, selection: { active: { line: 3, character: 4 } } },
  },
  commands: {
    registerCommand: (name, act) => {
      events[name] = act;
      return {};
    },
  },
};

const load = Module._load;
Module._load = (name, ...rest) => (name === "vscode" ? vscode : load(name, ...rest));

const until = async (condition) => {
  while (!condition()) await new Promise((done) => setTimeout(done, 5));
};

async function main() {
  const { activate, deactivate } = require(path.resolve(extension, "extension.js"));
  await activate({ subscriptions: [] });
  await until(() => shown.diagnostics);
  const first = shown.diagnostics.length;
  await events["tirc.programAfter"]();
  const program = providers.provideTextDocumentContent();
  const at = { line: 3, character: 22 };
  const hover = await providers.provideHover(document, at);
  const items = await providers.provideCompletionItems(document, at);
  const symbols = await providers.provideDocumentSymbols(document);
  const tokens = await providers.provideDocumentSemanticTokens(document);
  const edits = await providers.provideDocumentFormattingEdits(document);
  const definition = await providers.provideDefinition(document, { line: 1, character: 22 });
  const renamed = await providers.provideRenameEdits(document, { line: 3, character: 9 }, "rows");
  shown.diagnostics = null;
  events.change({
    document: { ...document, version: 2 },
    contentChanges: [{ range: { start: { line: 3, character: 20 }, end: { line: 3, character: 25 } }, text: "loop" }],
  });
  await until(() => shown.diagnostics);
  const [error] = shown.diagnostics;
  const actions = await providers.provideCodeActions(document, error.range);
  await deactivate();
  return {
    first, program, problem: shown.problem || null,
    hover: hover.values[0].values[0],
    labels: items.map((i) => i.label),
    symbols: symbols.map((s) => s.name),
    tokens: tokens.values[0].length,
    edits: edits.length,
    definition: definition.values[0].toString(),
    renamed: Object.values(renamed.changes)[0].length,
    error: error.message, severity: error.severity,
    actions: actions.map((a) => a.title),
  };
}

main().then(
  (seen) => console.log(JSON.stringify(seen)),
  (error) => {
    console.error(error);
    process.exit(1);
  },
);
