// client.js - Speaks JSON-RPC with a language server over its standard input and output. It needs
// nothing but Node, so that the extension has no dependencies.
"use strict";

const { spawn } = require("child_process");

class Client {
  // `onNotification(method, params)` is called for each notification, `onEnd(message)` once when
  // the server is gone.
  constructor(command, args, onNotification, onEnd) {
    this.waiting = new Map();
    this.number = 0;
    this.rest = Buffer.alloc(0);
    this.onNotification = onNotification;
    this.onEnd = onEnd;
    this.process = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
    this.process.stdout.on("data", (data) => this.receive(data));
    this.process.stdin.on("error", () => {});
    this.process.on("error", (error) => this.end(error.message));
    this.process.on("exit", (code) => this.end(`the server ended with status ${code}`));
  }

  end(message) {
    for (const { reject } of this.waiting.values()) reject(new Error(message));
    this.waiting.clear();
    const onEnd = this.onEnd;
    this.onEnd = () => {};
    onEnd(message);
  }

  send(message) {
    const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message }));
    this.process.stdin.write(`Content-Length: ${body.length}\r\n\r\n`);
    this.process.stdin.write(body);
  }

  request(method, params) {
    const id = ++this.number;
    this.send({ id, method, params });
    return new Promise((resolve, reject) => this.waiting.set(id, { resolve, reject }));
  }

  notify(method, params) {
    this.send({ method, params });
  }

  receive(data) {
    this.rest = Buffer.concat([this.rest, data]);
    for (;;) {
      const head = this.rest.indexOf("\r\n\r\n");
      if (head < 0) return;
      const length = Number(/content-length: *(\d+)/i.exec(this.rest.toString("latin1", 0, head))[1]);
      if (this.rest.length < head + 4 + length) return;
      const body = this.rest.toString("utf8", head + 4, head + 4 + length);
      this.rest = this.rest.subarray(head + 4 + length);
      this.dispatch(JSON.parse(body));
    }
  }

  dispatch(message) {
    if (message.id === undefined) {
      this.onNotification(message.method, message.params);
      return;
    }
    const waiting = this.waiting.get(message.id);
    this.waiting.delete(message.id);
    if (!waiting) return;
    if (message.error) waiting.reject(new Error(message.error.message));
    else waiting.resolve(message.result);
  }

  async stop() {
    await this.request("shutdown", null);
    this.notify("exit", null);
  }
}

module.exports = { Client };
