/** Search: each hit with its relevance, its rank in each list, and the names that led to it. Two modes side by side. */

import { Busy, Choice, Failure, Field, ScopeFields, Share, scopeArguments, useCall, useSettled } from "../parts.js";
import { address } from "../route.js";
import { prefixOf, visible, withWords } from "../text.js";
import { html, useState } from "../view.js";
import { t, when } from "../words.js";

const MODES = ["graph", "hybrid", "keywords", "vector", "segments", "hipporag", "hipporag2"];

export function search({ route }) {
  const [query, setQuery] = useState(route.parameters.q ?? "");
  const [modes, setModes] = useState(["graph", ""]);
  const [scope, setScope] = useState({});
  const settled = useSettled({ query: query.trim(), ...scopeArguments(scope) }, 350);
  const names = MODES.map((mode) => [mode, t(`mode.${mode}`)]);
  const shown = modes.filter(Boolean);
  return html`
    <h1>${t("search.title")}</h1>
    <form role="search" onSubmit=${(event) => event.preventDefault()}>
      <div class="fields">
        <${Field} label=${t("search.query")} type="search" value=${query} onInput=${setQuery} wide />
        <${Choice} label=${t("search.mode")} value=${modes[0]} options=${names}
          onInput=${(mode) => setModes([mode, modes[1]])} />
        <${Choice} label=${t("search.beside")} value=${modes[1]} options=${[["", t("search.none")], ...names]}
          onInput=${(mode) => setModes([modes[0], mode])} />
      </div>
      <${ScopeFields} scope=${scope} onChange=${setScope} times=${["since", "until", "at"]} />
    </form>
    ${settled.query
      ? html`<div class=${shown.length > 1 ? "side-by-side" : ""}>
          ${shown.map((mode, place) => html`<${Hits} key=${place} mode=${mode} args=${settled} isNamed=${shown.length > 1} />`)}</div>`
      : html`<p class="hint">${t("search.begin")}</p>`}`;
}

function Hits({ mode, args, isNamed }) {
  const { data, problem, isBusy, reload } = useCall("search", { ...args, mode });
  return html`<section aria-label=${t(`mode.${mode}`)}>
    ${isNamed && html`<h2>${t(`mode.${mode}`)}</h2>`}
    <${Busy} isBusy=${isBusy} />
    <${Failure} problem=${problem} retry=${reload} />
    ${!problem && data?.passages.length === 0 && html`<p class="hint">${t("search.nothing")}</p>`}
    <ol class="hits">${data?.passages.map((hit) => html`<${Hit} key=${`${hit.document_id} ${hit.start}`} hit=${hit} query=${args.query} />`)}</ol>
  </section>`;
}

function Hit({ hit, query }) {
  return html`<li>
    <p class="hit-head"><a href=${address("documents", hit.document_id, { from: hit.start, to: hit.end })}>
      ${visible(hit.document_key)}</a>
      ${hit.speaker && html`<span>${visible(hit.speaker)}</span>`} ${hit.time && html`<time>${when(hit.time)}</time>`}</p>
    <p class="text" dir="auto">${withWords(hit.text.slice(prefixOf(hit, hit.text)).trim(), query)}</p>
    ${hit.remarks.map((remark) => html`<p class="remark">${visible(remark)}</p>`)}
    <div class="shares">
      ${hit.relevance !== null && html`<${Share} label=${t("search.relevance")} value=${hit.relevance} />`}
      ${Object.entries(hit.why).map(([arm, rank]) => html`<span class="badge" title=${t("search.rank")}>${arm} ${rank}</span>`)}
    </div>
    ${hit.path.length > 0 && html`<p class="path"><span>${t("search.path")}</span>
      ${hit.path.map((way) => html`<a class="badge" href=${address("graph", "", { name: way.entity })}
        title=${way.named ? t("search.named") : visible(way.source_key)}>${visible(way.entity)} ${Math.round(way.share * 100)}%</a>`)}</p>`}
  </li>`;
}
