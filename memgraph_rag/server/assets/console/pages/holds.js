/** What holds of people: each attribute with its values on a time line; what contradicts; wishes. Correct and forget. */

import { call } from "../api.js";
import { Busy, Confirm, Failure, Field, Receipt, forgotten, useCall, useSettled } from "../parts.js";
import { address } from "../route.js";
import { excerpt, visible } from "../text.js";
import { html, useState } from "../view.js";
import { t, when } from "../words.js";

export function holds({ route, mayWrite }) {
  const [scope, setScope] = useState({ user: route.parameters.user ?? "", at: "" });
  const settled = useSettled(scope);
  const [receipt, setReceipt] = useState(null);
  const { data, problem, isBusy, reload } = useCall("statements", settled);
  const field = (name, more = {}) => html`<${Field} label=${t(`scope.${name}`)} value=${scope[name]} ...${more}
    onInput=${(value) => setScope({ ...scope, [name]: value })} />`;
  return html`
    <h1>${t("holds.title")}</h1>
    <p class="hint">${t("holds.what")}</p>
    <form class="fields" role="search" onSubmit=${(event) => event.preventDefault()}>
      ${field("user")} ${field("at", { placeholder: "2026-05-01" })}</form>
    <${Busy} isBusy=${isBusy} />
    <${Failure} problem=${problem} retry=${reload} />
    ${receipt && html`<${Receipt} receipt=${receipt} />`}
    ${data?.statements.length === 0 && html`<p class="hint">${t("holds.none")}</p>`}
    ${data && [...grouped(data.statements, personOf)].map(([person, statements]) => html`<${Person} key=${person}
      statements=${statements} mayWrite=${mayWrite} onChanged=${reload} onForgotten=${(gone) => { setReceipt(gone); reload(); }} />`)}
    ${data?.left_out > 0 && html`<p class="hint">${t("leftOut", { n: data.left_out })}</p>`}`;
}

function grouped(items, keyOf) {
  const groups = new Map();
  for (const item of items) groups.set(keyOf(item), [...groups.get(keyOf(item)) ?? [], item]);
  return groups;
}

const personOf = ({ user, speaker }) => JSON.stringify([user, speaker.toLowerCase()]);

function Person({ statements, mayWrite, onChanged, onForgotten }) {
  const [{ user, speaker }] = statements;
  const attributes = grouped(statements.filter((each) => each.standing), (each) => each.attribute);
  const wishes = statements.filter((each) => !each.standing);
  return html`<section class="person">
    <h2>${visible(user || speaker)} ${user && speaker !== "user" && html`<small>${visible(speaker)}</small>`}</h2>
    <div class="cards">
      ${[...attributes].map(([attribute, values]) => html`<${Attribute} key=${attribute} attribute=${attribute} values=${values}
        mayWrite=${mayWrite} onChanged=${onChanged} />`)}
      ${wishes.length > 0 && html`<article class="card"><h3>${t("holds.wishes")}</h3>
        <ul class="plain">${wishes.map((wish) => html`<li><span class="badge">${t(`holds.${wish.kind}`)}</span>
          <a href=${placeOf(wish)}>${visible(wish.value)}</a> <time>${when(wish.said)}</time></li>`)}</ul></article>`}
    </div>
    ${mayWrite && user && html`<${ForgetUser} user=${user} onForgotten=${onForgotten} />`}
  </section>`;
}

/** Forget all documents and conversations of a user. */
function ForgetUser({ user, onForgotten }) {
  const [isAsked, setAsked] = useState(false);
  const title = t("holds.forget", { user: visible(user) });
  return html`<p><button type="button" class="danger" onClick=${() => setAsked(true)}>${title}</button></p>
    ${isAsked && html`<${Confirm} title=${title} action=${t("forget")} onClose=${() => setAsked(false)}
      onConfirm=${async () => onForgotten(await forgotten({ user }))}><p>${t("holds.goes")}</p>
      <p>${t("document.noUndo")}</p></${Confirm}>`}`;
}

const placeOf = ({ document_id: id, start, end }) => address("documents", id, { from: start, to: end });

function Attribute({ attribute, values, mayWrite, onChanged }) {
  const [isCorrecting, setCorrecting] = useState(false);
  const isContradicted = values.some((each) => each.standing.state === "contradicted");
  const current = values.filter((each) => each.standing.state !== "superseded");
  return html`<article class="card">
    <h3>${visible(attribute)}</h3>
    <p class="value">${[...new Set(current.map((each) => visible(each.value)))].join(" / ")}</p>
    ${isContradicted && html`<p class="badge warn">${t("holds.contradicted")}</p>`}
    <ol class="timeline">${values.map((each) => html`<li class=${each.standing.state}>
      <time>${when(each.said)}</time> <strong>${visible(each.value)}</strong>
      <span class="unseen">${t(`holds.${each.standing.state}`)}</span>
      <a href=${placeOf(each)}>“${excerpt(each.quote, 120)}”</a></li>`)}</ol>
    ${mayWrite && !isCorrecting && html`<div class="actions">
      <button type="button" onClick=${() => setCorrecting(true)}>${t("holds.correct")}</button></div>`}
    ${isCorrecting && html`<${Correction} last=${values.at(-1)} onDone=${() => { setCorrecting(false); onChanged(); }}
      onClose=${() => setCorrecting(false)} />`}
  </article>`;
}

/** A new statement of the person, from now on. It is stored as a turn of the conversation "console". */
function Correction({ last, onDone, onClose }) {
  const [words, setWords] = useState(last.quote);
  const [problem, setProblem] = useState(null);
  const submit = async (event) => {
    event.preventDefault();
    const message = { role: last.speaker || "user", content: words, time: new Date().toISOString() };
    try {
      await call("remember", {
        messages: [message], metadata: { source: "console" }, user: last.user, session: last.user && "console",
      });
      onDone();
    } catch (failure) {
      setProblem(failure);
    }
  };
  return html`<form onSubmit=${submit}>
    <label class="field wide"><span>${t("holds.sentence")}</span>
      <input required value=${words} onInput=${(event) => setWords(event.target.value)} /></label>
    <div class="actions"><button class="primary">${t("holds.store")}</button>
      <button type="button" onClick=${onClose}>${t("cancel")}</button></div>
    <${Failure} problem=${problem} />
  </form>`;
}
