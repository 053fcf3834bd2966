/** Health: counts, models, layers that are still built, the checks of `doctor`, and the tokens. */

import { call } from "../api.js";
import { Busy, Confirm, Failure, Field, useCall } from "../parts.js";
import { visible } from "../text.js";
import { html, useEffect, useState } from "../view.js";
import { formatted, t, when } from "../words.js";

export function health({ status, settings }) {
  const { data, problem, reload, isBusy } = status;
  useEffect(() => { reload(); }, []);
  return html`
    <h1>${t("health.title")}</h1>
    <${Failure} problem=${problem} retry=${reload} />
    <${Busy} isBusy=${isBusy} />
    ${data && html`<div class="cards">
      <${Facts} title=${t("health.memory")} facts=${[
        [t("health.namespace"), data.namespace], [t("health.documents"), data.documents], [t("health.segments"), data.segments],
        [t("health.entities"), data.entities], [t("health.questions"), data.questions]]} />
      <${Facts} title=${t("health.parts")} facts=${[
        [t("health.version"), data.version], [t("health.embedder"), data.embedder],
        [t("health.access"), data.read_only ? t("readOnly") : t("health.writable")]]} />
      <${Facts} title=${t("health.layers")} facts=${Object.entries(data.documents_without).map(([layer, number]) =>
        [layer, number ? t("health.without", { n: number }) : t("health.whole")])} />
      <${Background} work=${data.background} />
      <${Facts} title=${t("health.counts")} facts=${Object.entries(data.counts)} />
    </div>
    <p><button type="button" onClick=${reload}>${t("health.refresh")}</button></p>`}
    <${Failures} />
    ${settings.owner && html`<${Checks} /><${Tokens} />`}`;
}

function Facts({ title, facts }) {
  if (!facts.length) return null;
  return html`<section class="card"><h2>${title}</h2><dl class="facts">${facts.map(([name, value]) =>
    html`<dt>${visible(name)}</dt><dd>${visible(formatted(value))}</dd>`)}</dl></section>`;
}

function Background({ work }) {
  if (!work.layers.length && !Object.keys(work.failures).length) return null;
  return html`<section class="card"><h2>${t("health.background")}</h2>
    <p>${t("health.waiting", { n: work.waiting, layers: work.layers.join(", ") })} ${visible(work.doing)}</p>
    ${Object.entries(work.failures).map(([id, error]) => html`<p class="warning">${visible(id)}: ${visible(error)}</p>`)}</section>`;
}

function Failures() {
  const { data, problem } = useCall("failures", {});
  return html`<section><h2>${t("health.failures")}</h2><${Failure} problem=${problem} />
    ${data?.failures.length === 0 && html`<p class="hint">${t("health.noFailure")}</p>`}
    ${data?.failures.map((each) => html`<p class="warning"><time>${when(each.at)}</time> ${each.operation}: ${visible(each.title)}.
      ${visible(each.detail)}</p>`)}</section>`;
}

function Checks() {
  const [isAsked, setAsked] = useState(false);
  return html`<section><h2>${t("health.checks")}</h2>
    ${isAsked ? html`<${CheckList} />`
      : html`<button type="button" onClick=${() => setAsked(true)}>${t("health.check")}</button>`}</section>`;
}

function CheckList() {
  const { data, problem, isBusy, reload } = useCall("checks", {});
  return html`<${Busy} isBusy=${isBusy} /><${Failure} problem=${problem} retry=${reload} />
    <ul class="plain checks">${data?.checks.map((check) => html`<li><span class=${`badge ${check.state}`}>${t(`check.${check.state}`)}</span>
      <strong>${visible(check.part)}</strong> ${visible(check.found)} ${check.advice && html`<small>${visible(check.advice)}</small>`}</li>`)}</ul>`;
}

function Tokens() {
  const { data, problem, reload } = useCall("tokens", {});
  const [form, setForm] = useState({ namespace: "", label: "" });
  const [made, setMade] = useState("");
  const [failure, setFailure] = useState(null);
  const [revoking, setRevoking] = useState(null);
  const field = (name, more) => html`<${Field} label=${t(`tokens.${name}`)} value=${form[name]} ...${more}
    onInput=${(value) => setForm({ ...form, [name]: value })} />`;
  const make = async (event) => {
    event.preventDefault();
    try {
      setMade((await call("make_token", form)).made);
      setFailure(null);
      reload();
    } catch (error) {
      setFailure(error);
    }
  };
  const revoke = async () => { await call("revoke_token", { id: revoking.id }); reload(); };
  return html`<section><h2>${t("tokens.title")}</h2><p class="hint">${t("tokens.what")}</p>
    <${Failure} problem=${problem} retry=${reload} />
    ${data?.tokens.length > 0 && html`<div class="scroll" tabindex="0"><table><thead><tr><th>${t("tokens.id")}</th>
      <th>${t("tokens.namespace")}</th><th>${t("tokens.label")}</th><th>${t("tokens.made")}</th><th></th></tr></thead>
      <tbody>${data.tokens.map((each) => html`<tr key=${each.id}><td><code>${each.id}</code></td><td>${visible(each.namespace)}</td>
        <td>${visible(each.label)}</td><td>${when(new Date(each.created_at * 1000).toISOString())}</td>
        <td><button type="button" class="link" onClick=${() => setRevoking(each)}>${t("tokens.revoke")}</button></td></tr>`)}</tbody></table></div>`}
    <form class="fields" onSubmit=${make}>${field("namespace", { required: true })} ${field("label")}
      <div class="actions"><button>${t("tokens.make")}</button></div></form>
    <${Failure} problem=${failure} />
    ${made && html`<p class="receipt" role="status">${t("tokens.once")} <code>${made}</code></p>`}
    ${revoking && html`<${Confirm} title=${t("tokens.revoke")} action=${t("tokens.revoke")} onConfirm=${revoke}
      onClose=${() => setRevoking(null)}>
      <p>${visible(revoking.id)} ${visible(revoking.label)}</p></${Confirm}>`}</section>`;
}
