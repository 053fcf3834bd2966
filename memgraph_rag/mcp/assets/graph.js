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
      label: "data(label)", "font-size": 11, "text-wrap": "wrap", "text-max-width": 120, "text-valign": "bottom",
      "text-margin-y": 3, width: 22, height: 22, "background-color": "#57c7e3", color: "#808080" } },
    { selector: 'node[kind = "entity"]', style: { "background-color": "#8dcc93" } },
    { selector: 'node[kind = "document"]', style: { "background-color": "#c990c0" } },
    { selector: "node[?centre]", style: {
      width: 40, height: 40, "font-size": 14, "font-weight": "bold" } },
    { selector: "edge", style: {
      width: 1.5, "line-color": "#999", "target-arrow-color": "#999", "target-arrow-shape": "triangle",
      "arrow-scale": 0.7, "curve-style": "bezier", label: "data(label)", "font-size": 9, color: "#808080",
      "text-rotation": "autorotate" } },
    { selector: 'edge[kind = "SIMILAR_TO"]', style: { "line-style": "dashed", "target-arrow-shape": "none" } },
    { selector: ":selected", style: { "border-width": 3, "border-color": "#4c8eda", "line-color": "#4c8eda" } },
  ],
});

// What stands at the two ends of a tie, by its kind; what is not listed is a text.
const ENDS = {
  HAS_SEGMENT: ["document", "text"], TITLED: ["document", "entity"], MENTIONS: ["text", "entity"],
  RELATES_TO: ["entity", "entity"], SIMILAR_TO: ["entity", "entity"],
};

// The graph of a result of the tool `look`: a node for each caption, an edge for each tie.
function elements(surroundings) {
  const kinds = new Map([[surroundings.name, surroundings.kind]]);
  for (const tie of surroundings.ties) {
    const [source, target] = ENDS[tie.kind] || ["text", "text"];
    if (!kinds.has(tie.source)) kinds.set(tie.source, source);
    if (!kinds.has(tie.target)) kinds.set(tie.target, target);
  }
  const nodes = [...kinds].map(([name, kind]) => ({
    data: { id: name, kind, label: name.length > 40 ? `${name.slice(0, 39)}…` : name, centre: name === surroundings.name },
  }));
  const edges = surroundings.ties.map((tie) => ({
    data: { source: tie.source, target: tie.target, kind: tie.kind, label: tie.kind === "RELATES_TO" ? tie.text : "",
      text: tie.kind === "RELATES_TO" ? tie.text : `${tie.source} ${tie.kind} ${tie.target}` },
  }));
  return [...nodes, ...edges];
}

function show(surroundings) {
  element("name").textContent = surroundings.name;
  const more = Object.entries(surroundings.left_out).map(([kind, number]) => `${number} more ${kind}`);
  element("state").textContent = [surroundings.kind, ...more].join(" · ");
  element("shown").textContent = "";
  element("passages").replaceChildren(...surroundings.passages.map((text) => {
    const paragraph = document.createElement("p");
    paragraph.textContent = text;
    return paragraph;
  }));
  graph.elements().remove();
  graph.add(elements(surroundings));
  graph.layout({ name: "cose", animate: false, nodeDimensionsIncludeLabels: true, nodeRepulsion: () => 60000 }).run();
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

window.addEventListener("message", (event) => {
  const message = event.data;
  if (event.source !== window.parent || !message || message.jsonrpc !== "2.0") return;
  const call = message.method ? undefined : waiting.get(message.id);
  if (call) {
    waiting.delete(message.id);
    if (message.error) call.reject(message.error);
    else call.resolve(message.result);
  } else if (message.method === "ui/notifications/tool-result") {
    take(message.params);
  } else if (message.method && message.id !== undefined) {
    send({ id: message.id, result: {} });  // such as ui/resource-teardown
  }
});

request("ui/initialize", {
  protocolVersion: PROTOCOL, appInfo: { name: "memgraph_rag", version: "1" }, appCapabilities: {},
}).catch(() => {}).then(() => {
  send({ method: "ui/notifications/initialized", params: {} });
  send({ method: "ui/notifications/size-changed", params: { height: 480 } });
});
