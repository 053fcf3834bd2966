"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const colour = (name) => ({ "background-color": data.colours[name] });
const graph = cytoscape({
  container: document.getElementById("graph"),
  elements: data.elements,
  minZoom: 0.05,
  maxZoom: 4,
  style: [
    { selector: "node", style: {
      label: "data(label)", "font-size": 11, "text-wrap": "wrap", "text-max-width": 110, "text-valign": "bottom",
      "text-margin-y": 3, width: 26, height: 26, "border-width": 1, "border-color": "#999" } },
    ...Object.keys(data.colours).map((name) => ({ selector: `node[kind = "${name}"]`, style: colour(name) })),
    { selector: "node[?centre]", style: { width: 42, height: 42, "font-size": 14, "font-weight": "bold" } },
    { selector: "edge", style: {
      width: "data(width)", "line-color": "#aaa", "target-arrow-color": "#aaa", "target-arrow-shape": "triangle",
      "arrow-scale": 0.7, "curve-style": "bezier", label: "data(label)", "font-size": 9, color: "#555",
      "text-rotation": "autorotate", "text-background-color": "#fff", "text-background-opacity": 0.8 } },
    { selector: 'edge[kind = "READ"]', style: { "line-color": "#d1731f", "target-arrow-color": "#d1731f" } },
    { selector: 'edge[kind = "RELATES_TO"]', style: { "line-color": "#6a9c5f", "target-arrow-color": "#6a9c5f" } },
    { selector: 'edge[kind = "SIMILAR_TO"]', style: { "line-style": "dashed", "target-arrow-shape": "none" } },
    { selector: ":selected", style: { "border-width": 4, "border-color": "#4c8eda", "line-color": "#4c8eda" } },
  ],
  layout: data.ordered
    ? { name: "concentric", concentric: (node) => node.data("ring"), levelWidth: () => 1, minNodeSpacing: 90, padding: 40 }
    : { name: "cose", animate: false, nodeDimensionsIncludeLabels: true, nodeRepulsion: () => 90000,
        idealEdgeLength: () => 60, padding: 30 },
});
if (graph.zoom() > 1.2) {
  graph.zoom(1.2);
  graph.center();
}
const shown = document.getElementById("shown");
const articles = (id) => [...document.querySelectorAll("article")].filter((one) => one.dataset.node === id);
const marks = (id) => [...document.querySelectorAll("mark[data-thing]")].filter((one) => one.dataset.thing === id);

function choose(id) {
  for (const one of document.querySelectorAll(".chosen")) one.classList.remove("chosen");
  const chosen = [...articles(id), ...marks(id)];
  for (const one of chosen) one.classList.add("chosen");
  if (chosen.length) chosen[0].scrollIntoView({ block: "center", behavior: "smooth" });
}

graph.on("select", "node, edge", (event) => {
  shown.textContent = event.target.data("text");
  if (event.target.isNode()) choose(event.target.id());
});
graph.on("unselect", () => { shown.textContent = ""; });
document.querySelector("aside").addEventListener("click", (event) => {
  const mark = event.target.closest("mark[data-thing]");
  const article = event.target.closest("article");
  const node = graph.getElementById(mark ? mark.dataset.thing : article ? article.dataset.node : "");
  if (node.nonempty()) {
    graph.elements().unselect();
    node.select();
    graph.animate({ center: { eles: node }, duration: 250 });
  }
});
