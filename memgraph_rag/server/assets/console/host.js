/**
 * The host of MCP Apps that shows this page beside a result of the tool `look`.
 *
 * They speak JSON-RPC by messages. The page reads, through the host, the page of the thing that was looked at, and takes
 * its data. Nothing else is asked of the host.
 */

import { t } from "./words.js";

const waiting = new Map(); // who waits for an answer, by the id of the request, or for a notification, by its name

/** Return the data of the page of the thing that was looked at. */
export async function readFromHost() {
  const root = document.getElementById("console");
  root.textContent = t("busy");
  addEventListener("message", receive);
  addEventListener("click", follow);
  try {
    const looked = expect("ui/notifications/tool-input");
    const appInfo = { name: "memgraph_rag", version: "1" };
    await request("ui/initialize", { protocolVersion: "2026-01-26", appInfo, appCapabilities: {} });
    send({ method: "ui/notifications/initialized", params: {} });
    const { name } = (await looked).arguments;
    const { contents } = await request("resources/read", { uri: `ui://memgraph_rag/${encodeURIComponent(name)}` });
    const page = new DOMParser().parseFromString(contents[0].text, "text/html"); // runs no script
    return JSON.parse(page.getElementById("inside").textContent);
  } catch (error) {
    root.textContent = `${t("host.failed")} ${error.message}`;
    throw error;
  } finally {
    new ResizeObserver(tellHeight).observe(document.documentElement);
  }
}

function send(message) {
  parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
}

function expect(key) {
  return new Promise((resolve, reject) => waiting.set(key, { resolve, reject }));
}

function request(method, params) {
  const answer = expect(method); // its id, because each is sent once
  send({ id: method, method, params });
  return answer;
}

function receive({ source, data }) {
  if (source !== parent || data?.jsonrpc !== "2.0") return;
  if (data.method && data.id !== undefined) send({ id: data.id, result: {} }); // a ping, or that the page will end
  const awaited = waiting.get(data.method ?? data.id);
  if (data.error) awaited?.reject(new Error(data.error.message));
  else awaited?.resolve(data.result ?? data.params);
}

/** Follow a link within the page: a frame with its page inside resolves links by the address of the host. */
function follow(event) {
  const link = event.target.closest("a[href^='#/']");
  if (!link) return;
  event.preventDefault();
  location.hash = link.getAttribute("href");
}

function tellHeight() {
  const { height } = document.documentElement.getBoundingClientRect();
  send({ method: "ui/notifications/size-changed", params: { height: Math.ceil(height) } });
}
