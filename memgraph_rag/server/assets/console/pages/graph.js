/** The whole memory as a map, or what surrounds a thing, to walk on by clicks, with a list of the same. */

import { call } from "../api.js";
import { inside, resultInside } from "../inside.js";
import { Busy, Failure, Field } from "../parts.js";
import { address } from "../route.js";
import { excerpt, visible } from "../text.js";
import { html, useEffect, useRef, useState } from "../view.js";
import { formatted, t } from "../words.js";
import { WholeMap } from "./map.js";

const MOST = 500; // nodes on the page
const CENTRES = ["document", "entity", "question", "overview"]; // the kinds from which one can walk on

export function graph({ route }) {
  const { name, kind } = route.parameters;
  return html`<h1>${t("graph.title")}</h1>
    ${name ? html`<${Walk} key=${`${kind} ${name}`} start=${name} kind=${kind} />` : html`<${WholeMap} />`}`;
}

function Walk({ start, kind }) {
  const [name, setName] = useState(start);
  const walk = useWalk();
  useEffect(() => { walk.begin(start, kind); }, []);
  const submit = (event) => { event.preventDefault(); location.hash = address("graph", "", { name }); };
  const chosen = walk.nodes.get(walk.chosen);
  return html`
    ${!inside && html`<p><a href=${address("graph")}>${t("graph.whole")}</a></p>
    <form class="fields" role="search" onSubmit=${submit}>
      <${Field} label=${t("graph.name")} type="search" required value=${name} onInput=${setName} wide />
      <div class="actions"><button class="primary">${t("graph.look")}</button></div></form>`}
    <${Busy} isBusy=${walk.isBusy} />
    <${Failure} problem=${walk.problem} />
    ${walk.nodes.size > 0 && html`<div class="columns">
      <div class="wide-column">
        <${Picture} walk=${walk} />
        <p class="hint">${t("graph.counts", { nodes: walk.nodes.size, edges: walk.edges.size })}
          ${walk.leftOut > 0 && t("leftOut", { n: walk.leftOut })}</p>
      </div>
      <aside aria-label=${t("graph.beside")}>
        ${chosen && html`<${Chosen} node=${chosen} walk=${walk} />`}
        <h2>${t("graph.things")}</h2>
        <ul class="plain things" tabindex="0">${[...walk.nodes.values()].map((node) => html`<li key=${node.id}>
          <button type="button" class="link" aria-pressed=${node.id === walk.chosen} onClick=${() => walk.choose(node.id)}>
            <span class=${`kind ${node.type}`}>${t(`kind.${node.type}`)}</span> ${excerpt(node.name, 60)}</button></li>`)}</ul>
      </aside></div>`}`;
}

/** What was walked so far: nodes and edges by id, and the node that is chosen. */
function useWalk() {
  const empty = { nodes: new Map(), edges: new Map(), chosen: "", leftOut: 0, problem: null, isBusy: false };
  const [state, setState] = useState(empty);
  const turn = useRef(0);
  const read = async (args, former) => {
    turn.current += 1;
    const mine = turn.current;
    setState({ ...former, isBusy: true, problem: null });
    try {
      const found = await call("around", { ...args, most: 25 });
      if (mine === turn.current) setState(joined(former, found));
    } catch (problem) {
      if (mine === turn.current) setState({ ...former, isBusy: false, problem });
    }
  };
  return {
    ...state,
    begin: (name, kind) => read({ name, kind }, empty),
    expand: (id) => read({ name: id }, state),
    choose: (id) => setState((former) => ({ ...former, chosen: id })),
  };
}

/** Return the walk with what was found, up to the most nodes; edges need both of their ends. */
function joined(former, found) {
  const nodes = new Map(former.nodes);
  const edges = new Map(former.edges);
  for (const node of found.nodes) if (nodes.size < MOST || nodes.has(node.id)) nodes.set(node.id, node);
  for (const edge of found.edges) {
    const id = `${edge.kind} ${edge.source_id} ${edge.target_id} ${edge.order}`;
    if (nodes.has(edge.source_id) && nodes.has(edge.target_id)) edges.set(id, edge);
  }
  const cut = found.nodes.filter((node) => !nodes.has(node.id)).length;
  const leftOut = Object.values(found.left_out).reduce((sum, number) => sum + number, cut);
  return { nodes, edges, chosen: found.centre, leftOut, problem: null, isBusy: false };
}

function Chosen({ node, walk }) {
  const edges = [...walk.edges.values()].filter((edge) =>
    edge.kind === "RELATES_TO" && [edge.source_id, edge.target_id].includes(node.id));
  const owner = node.type === "document" ? node.id
    : [...walk.edges.values()].find((edge) => edge.kind === "HAS_SEGMENT" && edge.target_id === node.id)?.source_id;
  return html`<section class="chosen" aria-live="polite">
    <h2><span class=${`kind ${node.type}`}>${t(`kind.${node.type}`)}</span> ${excerpt(node.name, 120)}</h2>
    ${node.text && node.text !== node.name && html`<p class="text" dir="auto">${visible(node.text)}</p>`}
    <dl class="facts">${Object.entries(node.facts).map(([fact, value]) =>
      html`<dt>${visible(fact)}</dt><dd>${visible([value].flat().map(formatted).join(", "))}</dd>`)}</dl>
    <div class="actions">
      ${CENTRES.includes(node.type) && !inside && html`<button type="button" onClick=${() => walk.expand(node.id)}>${t("graph.expand")}</button>`}
      ${owner && (!inside || resultInside("document", { name: owner })) && html`<a class="button"
        href=${address("documents", owner, { node: node.id === owner ? "" : node.id })}>${t("open")}</a>`}
      ${node.type === "question" && html`<a class="button" href=${address("ask", node.id)}>${t("open")}</a>`}
    </div>
    ${edges.length > 0 && html`<ul class="plain">${edges.slice(0, 20).map((edge) => html`<li>${visible(edge.text)}</li>`)}</ul>`}
  </section>`;
}

function Picture({ walk }) {
  const container = useRef(null);
  const drawn = useRef(null);
  useEffect(() => {
    let isGone = false;
    cytoscapeOf().then((cytoscape) => {
      if (isGone) return;
      drawn.current = cytoscape({ container: container.current, minZoom: 0.1, maxZoom: 3, style: styleOf(container.current) });
      drawn.current.on("tap", "node", (event) => walk.choose(event.target.id()));
      drawn.current.on("resize", () => fit(drawn.current));
      draw(drawn.current, walk);
    });
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    const restyle = () => drawn.current?.style(styleOf(container.current));
    scheme.addEventListener("change", restyle);
    return () => { isGone = true; scheme.removeEventListener("change", restyle); drawn.current?.destroy(); };
  }, []);
  useEffect(() => { if (drawn.current) draw(drawn.current, walk); }, [walk.nodes, walk.edges]);
  useEffect(() => {
    drawn.current?.elements().unselect();
    if (walk.chosen) drawn.current?.getElementById(walk.chosen).select();
  }, [walk.chosen]);
  return html`<div class="picture" ref=${container} role="img" aria-label=${t("graph.picture", { n: formatted(walk.nodes.size) })}></div>`;
}

/** Load Cytoscape, which is a script and no module, when the first graph is drawn, unless it is in the page. */
function cytoscapeOf() {
  cytoscapeOf.loading ??= window.cytoscape ? Promise.resolve(window.cytoscape) : new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = "vendor/cytoscape.min.js";
    script.onload = () => resolve(window.cytoscape);
    script.onerror = reject;
    document.head.append(script);
  });
  return cytoscapeOf.loading;
}

function draw(picture, { nodes, edges, chosen }) {
  const known = [...nodes.values()].map((node) => ({ data: { id: node.id, kind: node.type, label: excerpt(node.name, 36) } }));
  const ties = [...edges].map(([id, edge]) => ({ data: { id, source: edge.source_id, target: edge.target_id, kind: edge.kind } }));
  const isWalk = [...edges.values()].some((edge) => edge.kind === "READ");
  picture.batch(() => {
    const ids = new Set([...known, ...ties].map(({ data }) => data.id));
    picture.elements().filter((element) => !ids.has(element.id())).remove();
    picture.add([...known, ...ties].filter(({ data }) => picture.getElementById(data.id).empty()));
  });
  picture.layout(isWalk
    ? { name: "concentric", concentric: (node) => (node.data("kind") === "question" ? 2 : 1), levelWidth: () => 1,
        minNodeSpacing: 50 }
    : { name: "cose", animate: false, nodeDimensionsIncludeLabels: true, nodeRepulsion: () => 15_000,
        idealEdgeLength: () => 60 }).run();
  moveApart(picture.nodes());
  fit(picture);
  if (chosen) picture.getElementById(chosen).select();
}

/** Move nodes until their labels overlap no more, or 40 times: the layouts leave room for nodes alone. */
function moveApart(nodes) {
  const boxes = nodes.map((node) => ({ node, ...node.position(), ...node.layoutDimensions({ nodeDimensionsIncludeLabels: true }) }));
  for (let turn = 0, isMoved = true; turn < 40 && isMoved; turn += 1) {
    isMoved = false;
    boxes.forEach((one, place) => boxes.slice(0, place).forEach((other) => {
      const right = (one.w + other.w) / 2 - Math.abs(one.x - other.x);
      const down = (one.h + other.h) / 2 - Math.abs(one.y - other.y);
      if (right <= 0 || down <= 0) return;
      const [axis, step] = right < down ? ["x", right / 2 + 1] : ["y", down / 2 + 1];
      const way = one[axis] < other[axis] ? -step : step;
      one[axis] += way;
      other[axis] -= way;
      isMoved = true;
    }));
  }
  for (const { node, x, y } of boxes) node.position({ x, y });
}

/** Show the whole graph, but a small one not larger than its labels need. */
function fit(picture) {
  picture.fit(undefined, 30);
  if (picture.zoom() > 1.3) { picture.zoom(1.3); picture.center(); }
}

/** Return the style of the graph in the colours of the page. */
function styleOf(element) {
  const colour = (name) => getComputedStyle(element).getPropertyValue(name).trim();
  return [
    { selector: "node", style: { label: "data(label)", color: colour("--ink"), "font-size": 11, width: 22, height: 22,
      "text-wrap": "wrap", "text-max-width": 120, "text-valign": "bottom", "text-margin-y": 3, "background-color": colour("--dim") } },
    ...["document", "segment", "point", "overview", "entity", "annotation", "section", "question"].map((kind) =>
      ({ selector: `node[kind = "${kind}"]`, style: { "background-color": colour(`--${kind}`) } })),
    { selector: "edge", style: { width: 1.2, "line-color": colour("--line"), "target-arrow-color": colour("--line"),
      "target-arrow-shape": "triangle", "arrow-scale": 0.7, "curve-style": "bezier" } },
    { selector: 'edge[kind = "RELATES_TO"]', style: { "line-color": colour("--entity") } },
    { selector: 'edge[kind = "READ"]', style: { "line-color": colour("--accent") } },
    { selector: 'edge[kind = "SIMILAR_TO"]', style: { "line-style": "dashed", "target-arrow-shape": "none" } },
    { selector: ":selected", style: { "border-width": 4, "border-color": colour("--accent") } },
  ];
}
