"use strict";
// What surrounds a name, as a graph; a click on a name or a document looks around that one. It speaks to the host alone, by messages
// of the extension io.modelcontextprotocol/ui, and loads nothing. All texts are set as text, never as markup.
const PROTOCOL = "2026-01-26";
const element = (id) => document.getElementById(id);
const waiting = new Map();
let next = 1;

const send = (message) => window.parent.postMessage({ jsonrpc: "2.0", ...message }, "*");

function request(method, params) {
  const id = next++;
  return new Promise((resolve, reject) => {
    waiting.set(id, { resolve, reject });
    send({ id, method, params });
  });
}

const graph = cytoscape({
  container: element("graph"),
  minZoom: 0.1,
  maxZoom: 3,
  style: [
    { selector: "node", style: {
      label: "data(label)", "font-size": 12, "text-wrap": "wrap", "text-max-width": 92, "text-valign": "bottom",
      "text-margin-y": 3, width: 22, height: 22, "background-color": "#57c7e3" } },
    { selector: 'node[kind = "entity"]', style: { "background-color": "#8dcc93" } },
    { selector: 'node[kind = "document"]', style: { "background-color": "#c990c0" } },
    { selector: "node[?centre]", style: {
      width: 40, height: 40, "font-size": 14, "font-weight": "bold" } },
    { selector: "edge", style: {
      width: 1.5, "line-color": "#999", "target-arrow-color": "#999", "target-arrow-shape": "triangle",
      "arrow-scale": 0.7, "curve-style": "bezier", label: "data(label)", "font-size": 10, "text-margin-y": -8,
      "text-rotation": "autorotate", "text-wrap": "ellipsis", "text-max-width": 84 } },
    { selector: 'edge[kind = "SIMILAR_TO"]', style: { "line-style": "dashed", "target-arrow-shape": "none" } },
    { selector: ":selected", style: { "border-width": 3, "border-color": "#4c8eda", "line-color": "#4c8eda" } },
  ],
});

// What stands at the two ends of a tie, by its kind; what is not listed is a text.
const ENDS = {
  HAS_SEGMENT: ["document", "text"], TITLED: ["document", "entity"], MENTIONS: ["text", "entity"],
  RELATES_TO: ["entity", "entity"], SIMILAR_TO: ["entity", "entity"],
  RESTS_ON: ["text", "document"], HAS_MEMBER: ["text", "entity"],
};

// What a relation says, without the names that stand at its ends: a click on it shows all of it.
const said = (tie) => tie.text.replace(tie.source, "").replace(tie.target, "").trim();

// The graph of a result of the tool `look`: a node for each caption, an edge for each tie.
function elements(surroundings) {
  const kinds = new Map([[surroundings.name, surroundings.type]]);
  for (const tie of surroundings.ties) {
    const [source, target] = ENDS[tie.kind] || ["text", "text"];
    if (!kinds.has(tie.source)) kinds.set(tie.source, source);
    if (!kinds.has(tie.target)) kinds.set(tie.target, target);
  }
  const nodes = [...kinds].map(([name, kind]) => ({
    data: { id: name, kind, label: name.length > 32 ? `${name.slice(0, 31)}…` : name, centre: name === surroundings.name },
  }));
  const edges = surroundings.ties.map((tie) => ({
    data: { source: tie.source, target: tie.target, kind: tie.kind, label: tie.kind === "RELATES_TO" ? said(tie) : "",
      text: tie.kind === "RELATES_TO" ? tie.text : `${tie.source} ${tie.kind} ${tie.target}` },
  }));
  return [...nodes, ...edges];
}

const WIDTH = 100;  // of a node with its label

// Angles of as many nodes, in order, each at the one it wishes for or behind the one before, where they have room.
function apart(wished, radius) {
  const gap = Math.min(WIDTH / radius, 2 * Math.PI / wished.length);
  const angles = [];
  for (const angle of wished) angles.push(Math.max(angle, angles.length ? angles.at(-1) + gap : angle));
  const isRound = angles.at(-1) - angles[0] > 2 * Math.PI - gap;
  return isRound ? wished.map((_, place) => wished[0] + 2 * Math.PI * place / wished.length) : angles;
}

// Where nodes stand, by id: around the centre what is tied to it, farther out the rest, each behind what it is tied to.
function places() {
  const centre = graph.nodes("[?centre]");
  const near = centre.neighborhood("node").toArray();
  const radius = Math.max(125, near.length * WIDTH / 2 / Math.PI);
  const angles = new Map(near.map((node, place) => [node.id(), 2 * Math.PI * (place + 0.25) / near.length]));
  const wish = (node) => angles.get(node.neighborhood("node").toArray().find((other) => angles.has(other.id()))?.id()) || 0;
  const far = graph.nodes().difference(centre).toArray().filter((node) => !angles.has(node.id()));
  far.sort((one, other) => wish(one) - wish(other));
  const farther = Math.max(radius + 95, far.length * WIDTH / 2 / Math.PI);
  const around = (nodes, turns, distance) => nodes.map((node, place) => [
    node.id(), { x: distance * Math.sin(turns[place]), y: -distance * Math.cos(turns[place]) },
  ]);
  return Object.fromEntries([
    ...around(centre.toArray(), [0], 0), ...around(near, [...angles.values()], radius),
    ...around(far, apart(far.map(wish), farther), farther),
  ]);
}

function show(surroundings) {
  element("name").textContent = surroundings.name;
  const more = Object.entries(surroundings.left_out).map(([kind, number]) => `${number} more ${kind}`);
  element("state").textContent = [surroundings.type, ...more].join(" · ");
  element("shown").textContent = "";
  element("passages").replaceChildren(...surroundings.passages.map((passage) => {
    const paragraph = document.createElement("p");
    paragraph.textContent = passage.text;
    return paragraph;
  }));
  element("graph").hidden = false;
  graph.resize();
  graph.elements().remove();
  graph.add(elements(surroundings));
  graph.layout({ name: "preset", positions: places(), padding: 6 }).run();
  if (graph.zoom() > 1.2) graph.zoom(1.2).center();
}

// What the host says of itself: light or dark, and its own colours and fonts.
function adopt(context) {
  const root = document.documentElement.style;
  if (context.theme) root.colorScheme = context.theme;
  for (const [name, value] of Object.entries(context.styles?.variables || {})) {
    if (name.startsWith("--") && value) root.setProperty(name, value);
  }
  graph.style().selector("node, edge").style("color", getComputedStyle(document.body).color).update();
}

function take(result) {
  if (result.structuredContent && Array.isArray(result.structuredContent.ties)) show(result.structuredContent);
  else element("state").textContent = (result.content || []).map((part) => part.text || "").join("\n");
}

async function look(name) {
  element("state").textContent = `Looking around ${name} …`;
  try {
    take(await request("tools/call", { name: "look", arguments: { name } }));
  } catch (error) {
    element("state").textContent = error.message || "The host refused the call.";
  }
}

graph.on("tap", 'node[!centre][kind != "text"]', (event) => look(event.target.id()));
graph.on("tap", "edge", (event) => { element("shown").textContent = event.target.data("text"); });
graph.on("tap", 'node[kind = "text"]', (event) => { element("shown").textContent = event.target.id(); });

// What the host tells without waiting for an answer.
const HEARD = {
  "ui/notifications/tool-input": (call) => { element("state").textContent = `Looking around ${call.arguments?.name} …`; },
  "ui/notifications/tool-result": take,
  "ui/notifications/tool-cancelled": (call) => { element("state").textContent = call.reason || "The call was cancelled."; },
  "ui/notifications/host-context-changed": adopt,
};

window.addEventListener("message", (event) => {
  const message = event.data;
  if (event.source !== window.parent || !message || message.jsonrpc !== "2.0") return;
  const call = message.method ? undefined : waiting.get(message.id);
  if (call) {
    waiting.delete(message.id);
    if (message.error) call.reject(message.error);
    else call.resolve(message.result);
  } else if (message.id !== undefined) {
    const isKnown = ["ping", "ui/resource-teardown"].includes(message.method);
    send({ id: message.id, ...(isKnown ? { result: {} } : { error: { code: -32601, message: "Method not found" } }) });
  } else if (message.method in HEARD) {
    HEARD[message.method](message.params || {});
  }
});

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => adopt({}));

request("ui/initialize", {
  protocolVersion: PROTOCOL, appInfo: { name: "memgraph_rag", version: "1" }, appCapabilities: {},
}).then((host) => adopt(host.hostContext || {}), () => adopt({})).then(() => {
  send({ method: "ui/notifications/initialized", params: {} });
  new ResizeObserver(() => {
    send({ method: "ui/notifications/size-changed", params: { height: document.body.offsetHeight } });
  }).observe(document.body);
});
