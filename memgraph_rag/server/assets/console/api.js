/** Calls of the REST interface, or of what is inside the page. Each failure is a `Problem`, which says what to do. */

import { inside, resultInside } from "./inside.js";
import { dropToken, getToken } from "./token.js";
import { t } from "./words.js";

/** A failed call: the server's problem document (RFC 9457), or a server that does not answer (status 0). */
export class Problem extends Error {
  constructor({ title, status, detail }) {
    super(detail);
    this.title = title;
    this.status = status;
  }
}

/** Tell listeners that the token is not valid any more. */
export const signedOut = new EventTarget();

/**
 * Call an operation and return its result.
 *
 * @param {string} operation its name, such as "recall"
 * @param {object} args its arguments; empty ones are left out
 * @param {AbortSignal} [signal] ends the call
 */
export async function call(operation, args = {}, signal = undefined) {
  if (!inside) return (await send(operation, args, "application/json", signal)).json();
  const result = resultInside(operation, args);
  if (!result) throw new Problem({ title: "NotInside", status: 404, detail: t("inside.absent") });
  return result;
}

/** Call an operation whose result is bytes. */
export async function callBytes(operation, args, signal) {
  return (await send(operation, args, "application/octet-stream", signal)).arrayBuffer();
}

/**
 * Ask a question, and pass each event of the answer on: "step", "piece" and "answer".
 *
 * @param {(name: string, data: object) => void} onEvent
 */
export async function streamAnswer(args, onEvent, signal) {
  const response = await send("ask", args, "text/event-stream", signal);
  let isAnswered = false;
  for await (const [name, data] of events(response.body)) {
    if (name === "error") throw new Problem(data);
    isAnswered ||= name === "answer";
    onEvent(name, data);
  }
  if (!isAnswered) throw new Problem({ title: "StreamEnded", status: 0, detail: "The server ended the answer." });
}

/** Return what the server says of its console: its version, and whether the page may write. It needs no token. */
export async function readSettings() {
  return inside ? inside.settings : (await reach("settings.json", {})).json();
}

async function send(operation, args, accept, signal) {
  const given = Object.entries(args).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  const response = await reach(`../v1/${operation}`, {
    method: "POST",
    headers: { Authorization: `Bearer ${getToken()}`, "Content-Type": "application/json", Accept: accept },
    body: JSON.stringify(Object.fromEntries(given)),
    signal,
  });
  if (response.ok) return response;
  if (response.status === 401) {
    dropToken();
    signedOut.dispatchEvent(new Event("signedout"));
  }
  throw new Problem(await response.json().catch(() => ({ status: response.status, detail: response.statusText })));
}

async function reach(path, options) {
  try {
    return await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem({ title: "NoServer", status: 0, detail: "" });
  }
}

/** Yield the events of a stream, each with its name and its data. */
async function* events(body) {
  let waiting = "";
  for await (const part of decoded(body)) {
    waiting += part.replaceAll("\r", "");
    const blocks = waiting.split("\n\n");
    waiting = blocks.pop();
    for (const block of blocks) {
      const fields = Object.fromEntries(block.split("\n").map((line) => line.split(/: (.*)/s)));
      if (fields.event) yield [fields.event, JSON.parse(fields.data)];
    }
  }
}

async function* decoded(body) {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield decoder.decode(value, { stream: true });
    }
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem({ title: "NoServer", status: 0, detail: "" });
  } finally {
    reader.releaseLock();
  }
}
