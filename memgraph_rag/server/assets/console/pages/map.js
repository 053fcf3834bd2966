/** The whole memory as a map: find a name, fly there, and open what was chosen. */

import { callBytes } from "../api.js";
import { neighboursOf, nodesNamed, readMap } from "../map_data.js";
import { MapPicture } from "../map_picture.js";
import { Busy, Failure, Field } from "../parts.js";
import { address } from "../route.js";
import { excerpt, visible } from "../text.js";
import { html, useEffect, useMemo, useRef, useState } from "../view.js";
import { formatted, t } from "../words.js";

const USUAL = 20_000; // nodes
const LARGE = 100_000;
const LISTED = 30;

export function WholeMap() {
  const [most, setMost] = useState(USUAL);
  const { map, problem, isBusy, reload } = useMap(most);
  const [chosen, setChosen] = useState(-1);
  const [wanted, setWanted] = useState("");
  const picture = useRef(null);
  useEffect(() => setChosen(-1), [map]);
  const found = useMemo(() => (map ? nodesNamed(map, wanted, LISTED) : []), [map, wanted]);
  const near = useMemo(() => (map && chosen >= 0 ? neighboursOf(map, chosen) : []), [map, chosen]);
  const open = (node) => { setChosen(node); picture.current?.fly(node); };
  const submit = (event) => { event.preventDefault(); if (found.length) open(found[0]); };
  const left = map ? map.left_out.documents + map.left_out.entities : 0;
  const listed = wanted.trim() ? found : near.length ? [] : largestOf(map);
  return html`
    <form class="fields" role="search" onSubmit=${submit}>
      <${Field} label=${t("map.find")} type="search" value=${wanted} onInput=${setWanted} wide />
      <div class="actions"><button class="primary" disabled=${!found.length}>${t("map.fly")}</button></div></form>
    <${Busy} isBusy=${isBusy} words=${t("map.drawing")} />
    <${Failure} problem=${problem} retry=${reload} />
    ${map?.count === 0 && html`<p class="hint">${t("map.empty")}</p>`}
    ${map?.count > 0 && html`<div class="columns">
      <div class="wide-column">
        <${Picture} map=${map} chosen=${chosen} near=${near} onChoose=${setChosen} picture=${picture} />
        <p class="hint links"><span>${t("map.counts", { documents: map.documents, names: map.count - map.documents, edges: map.edges })}</span>
          ${left > 0 && html`<span>${t("leftOut", { n: left })}</span>`}
          ${left > 0 && most < LARGE && html`<button type="button" class="link" onClick=${() => setMost(LARGE)}>${t("map.more", { n: LARGE })}</button>`}</p>
        <p class="hint">${t("map.how")}</p>
      </div>
      <aside aria-label=${t("graph.beside")}>
        ${chosen >= 0 && html`<${Chosen} map=${map} node=${chosen} near=${near} onOpen=${open} />`}
        ${wanted.trim() && !found.length && html`<p class="hint">${t("map.absent")}
          <a href=${address("graph", "", { name: wanted.trim() })}>${t("map.look")}</a></p>`}
        ${listed.length > 0 && html`<h2>${wanted.trim() ? t("map.found") : t("map.largest")}</h2>
          <${Nodes} map=${map} nodes=${listed} chosen=${chosen} onOpen=${open} />`}
      </aside></div>`}`;
}

/** Read the map; a map with other nodes replaces it when it is there. */
function useMap(most) {
  const [state, setState] = useState({ map: null, problem: null, isBusy: true });
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const ending = new AbortController();
    setState((former) => ({ ...former, isBusy: true }));
    callBytes("whole_map", { most }, ending.signal).then(
      (bytes) => setState({ map: readMap(bytes), problem: null, isBusy: false }),
      (problem) => problem.name !== "AbortError" && setState((former) => ({ ...former, problem, isBusy: false })),
    );
    return () => ending.abort();
  }, [most, turn]);
  return { ...state, reload: () => setTurn((now) => now + 1) };
}

/** Return the names and the documents with the most edges. */
function largestOf(map) {
  if (!map) return [];
  const firsts = (begin, end) => Array.from({ length: Math.min(LISTED / 2, end - begin) }, (_, place) => begin + place);
  return [...firsts(map.documents, map.count), ...firsts(0, map.documents)];
}

function Picture({ map, chosen, near, onChoose, picture }) {
  const box = useRef(null);
  const [isDrawn, setDrawn] = useState(true);
  useEffect(() => {
    picture.current = new MapPicture(box.current, onChoose);
    setDrawn(picture.current.isDrawn);
    return () => { picture.current.end(); picture.current = null; };
  }, []);
  useEffect(() => { if (picture.current.isDrawn) picture.current.show(map); }, [map]);
  useEffect(() => { if (picture.current.isDrawn) picture.current.choose(chosen, near); }, [map, chosen]);
  return html`<div class="picture map" ref=${box} tabindex="0" role="application"
      aria-label=${t("map.picture", { n: formatted(map.count) })}></div>
    ${!isDrawn && html`<p class="warning">${t("map.noWebGL")}</p>`}`;
}

function kindOf(map, node) {
  return node < map.documents ? "document" : "entity";
}

function Chosen({ map, node, near, onOpen }) {
  const kind = kindOf(map, node);
  const name = map.names[node];
  return html`<section class="chosen" aria-live="polite">
    <h2><span class=${`kind ${kind}`}>${t(`kind.${kind}`)}</span> ${excerpt(name, 120)}</h2>
    <div class="actions">
      ${kind === "document" && html`<a class="button primary" href=${address("documents", name)}>${t("open")}</a>`}
      <a class=${kind === "document" ? "button" : "button primary"}
        href=${address("graph", "", { name, kind })}>${t("graph.expand")}</a>
    </div>
    ${near.length > 0 && html`<h3>${t(`map.near.${kind}`, { n: near.length })}</h3>
      <${Nodes} map=${map} nodes=${near.slice(0, LISTED)} chosen=${-1} onOpen=${onOpen} />`}
  </section>`;
}

function Nodes({ map, nodes, chosen, onOpen }) {
  return html`<ul class="plain things" tabindex="0">${nodes.map((node) => html`<li key=${node}>
    <button type="button" class="link" aria-pressed=${node === chosen} onClick=${() => onOpen(node)}>
      <span class=${`kind ${kindOf(map, node)}`}>${t(`kind.${kindOf(map, node)}`)}</span> ${visible(excerpt(map.names[node], 60))}</button></li>`)}</ul>`;
}
