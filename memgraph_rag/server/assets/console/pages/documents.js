/** The list of documents, in pages; one document of it; and what adds new ones. */

import { Busy, Failure, Field, ScopeFields, scopeArguments, useCall, useSettled } from "../parts.js";
import { address } from "../route.js";
import { excerpt } from "../text.js";
import { html, useEffect, useState } from "../view.js";
import { formatted, t, when } from "../words.js";
import { Adding } from "./adding.js";
import { Whole } from "./document.js";

const PAGE = 100;

export function documents({ route, status, mayWrite }) {
  if (route.name) {
    return html`<${Whole} key=${route.name} name=${route.name} place=${route.parameters} mayWrite=${mayWrite} />`;
  }
  return html`<${Listing} status=${status} mayWrite=${mayWrite} />`;
}

function Listing({ status, mayWrite }) {
  const [contains, setContains] = useState("");
  const [scope, setScope] = useState({});
  const [befores, setBefores] = useState([""]); // the keys after which the pages until this one begin
  const settled = useSettled({ contains, ...scopeArguments(scope) });
  useEffect(() => setBefores([""]), [JSON.stringify(settled)]);
  const list = useCall("list_documents", { ...settled, after: befores.at(-1), limit: PAGE });
  const layers = [...new Set([...Object.keys(status.data?.documents_without ?? {}),
    ...(list.data?.documents ?? []).flatMap((each) => each.layers)])].sort();
  const reload = () => { list.reload(); status.reload(); };
  return html`
    <h1>${t("documents.title")} <small>${list.data ? formatted(list.data.total) : ""}</small></h1>
    ${mayWrite && html`<${Adding} onAdded=${reload} />`}
    <form role="search" onSubmit=${(event) => event.preventDefault()}>
      <${Field} label=${t("documents.contains")} type="search" value=${contains} onInput=${setContains} wide />
      <${ScopeFields} scope=${scope} onChange=${setScope} times=${["since", "until"]} />
    </form>
    <${Busy} isBusy=${list.isBusy} />
    <${Failure} problem=${list.problem} retry=${list.reload} />
    ${list.data?.documents.length === 0 && html`<p class="hint">${t("documents.none")}</p>`}
    ${list.data?.documents.length > 0 && html`<div class="scroll" tabindex="0"><table class="documents">
      <thead><tr><th>${t("documents.document")}</th><th>${t("documents.owner")}</th>
        <th class="number">${t("documents.characters")}</th><th>${t("documents.layers")}</th><th>${t("documents.added")}</th></tr></thead>
      <tbody>${list.data.documents.map((record) => html`<${Row} key=${record.id} record=${record} layers=${layers} />`)}</tbody>
    </table></div>`}
    <p class="actions">
      ${befores.length > 1 && html`<button type="button" onClick=${() => setBefores(befores.slice(0, -1))}>${t("back")}</button>`}
      ${list.data?.next_after && html`<button type="button"
        onClick=${() => setBefores([...befores, list.data.next_after])}>${t("next")}</button>`}
    </p>`;
}

function Row({ record, layers }) {
  const { user, session } = record.metadata;
  return html`<tr>
    <td><a href=${address("documents", record.id)}>${excerpt(record.key, 90)}</a>
      ${record.title && record.title !== record.key && html`<small>${excerpt(record.title, 90)}</small>`}</td>
    <td>${user && html`${excerpt(user, 40)}<small>${excerpt(session ?? "", 40)}</small>`}</td>
    <td class="number" data-unit=${t("documents.characters")}>${formatted(record.characters)}</td>
    <td>${layers.map((layer) => html`<${LayerBadge} layer=${layer} isBuilt=${record.layers.includes(layer)} />`)}</td>
    <td><time>${when(record.added_at)}</time></td>
  </tr>`;
}

/** A layer that is built, or that a document lacks. */
function LayerBadge({ layer, isBuilt }) {
  return html`<span class=${isBuilt ? "badge" : "badge lacking"} title=${isBuilt ? "" : t("documents.lacks", { layer })}>${layer}${
    isBuilt ? "" : ` (${t("documents.lacking")})`}</span> `;
}
