/** Ask a question: the walk as it happens, beside the answer with its citations. Kept questions open again. */

import { call, streamAnswer } from "../api.js";
import { inside } from "../inside.js";
import { Busy, Choice, Confirm, Failure, Field, ScopeFields, Share, scopeArguments, useCall } from "../parts.js";
import { address } from "../route.js";
import { excerpt, visible } from "../text.js";
import { html, useEffect, useRef, useState } from "../view.js";
import { formatted, t, when } from "../words.js";

const STRATEGIES = ["", "walk", "pecan", "qrmem", "top_k", "overviews"];
const STYLES = ["sentence", "short", "detailed"];

export function ask({ route, mayWrite }) {
  const kept = useCall("questions", {});
  return html`<div class="columns">
    <section class="wide-column">
      ${route.name
        ? html`<${KeptQuestion} name=${route.name} key=${route.name} mayWrite=${mayWrite} onForgotten=${kept.reload} />`
        : html`<${NewQuestion} given=${route.parameters} mayWrite=${mayWrite} onKept=${kept.reload} />`}
    </section>
    <aside aria-label=${t("ask.kept")}>
      <h2>${t("ask.kept")}</h2>
      <${Failure} problem=${kept.problem} retry=${kept.reload} />
      ${kept.data?.questions.length === 0 && html`<p class="hint">${t("ask.noneKept")}</p>`}
      <ul class="plain" tabindex="0">${kept.data?.questions.map((each) => html`<li key=${each.id}>
        <a href=${address("ask", each.id)} aria-current=${each.id === route.name ? "true" : undefined}>
          ${excerpt(each.text)}</a>
        <small>${when(each.asked_at)}${each.is_stale ? ` · ${t("ask.stale")}` : ""}</small></li>`)}</ul>
      ${route.name && !inside && html`<p><a class="button" href=${address("ask")}>${t("ask.new")}</a></p>`}
    </aside>
  </div>`;
}

function NewQuestion({ given, mayWrite, onKept }) {
  const [question, setQuestion] = useState(given.q ?? "");
  const [scope, setScope] = useState({});
  const [options, setOptions] = useState({ style: "sentence", strategy: "", max_seconds: "", max_nodes: "", keep: false });
  const answer = useAnswer(onKept);
  const option = (name) => (value) => setOptions({ ...options, [name]: value });
  const submit = (event) => {
    event.preventDefault();
    const { max_seconds: seconds, max_nodes: nodes, ...others } = options;
    const limits = { max_seconds: seconds && Number(seconds), max_nodes: nodes && Number(nodes) };
    answer.begin({ question, ...others, ...limits, ...scopeArguments(scope) });
  };
  return html`
    <h1>${t("ask.title")}</h1>
    <form onSubmit=${submit}>
      <label class="field wide"><span>${t("ask.question")}</span>
        <textarea required rows="2" value=${question} onInput=${(event) => setQuestion(event.target.value)}
          onKeyDown=${(event) => event.key === "Enter" && !event.shiftKey && submit(event)}></textarea></label>
      <${ScopeFields} scope=${scope} onChange=${setScope} />
      <div class="fields">
        <${Choice} label=${t("ask.style")} value=${options.style} onInput=${option("style")}
          options=${STYLES.map((name) => [name, t(`ask.style.${name}`)])} />
        <${Choice} label=${t("ask.strategy")} value=${options.strategy} onInput=${option("strategy")}
          options=${STRATEGIES.map((name) => [name, name || t("ask.fitting")])} />
        ${["max_seconds", "max_nodes"].map((name) => html`<${Field} label=${t(`ask.${name}`)} type="number" min="1"
          value=${options[name]} onInput=${option(name)} />`)}
        ${mayWrite && html`<label class="check"><input type="checkbox" checked=${options.keep}
          onInput=${(event) => option("keep")(event.target.checked)} /> ${t("ask.keep")}</label>`}
        <div class="actions">
          ${answer.isBusy
            ? html`<button type="button" onClick=${answer.stop}>${t("ask.stop")}</button>`
            : html`<button class="primary" disabled=${!question.trim()}>${t("ask.ask")}</button>`}
        </div>
      </div>
    </form>
    <${Busy} isBusy=${answer.isBusy} words=${answer.text ? t("ask.writing") : t("ask.reading", { n: answer.steps.length })} />
    <${Failure} problem=${answer.problem} />
    <${Reading} answer=${answer.whole} text=${answer.text} steps=${answer.steps} parts=${answer.parts} />`;
}

/** Ask by a stream; what was read stays when the stream is stopped. */
function useAnswer(onKept) {
  const empty = { steps: [], parts: [], text: "", whole: null, problem: null, isBusy: false };
  const [state, setState] = useState(empty);
  const ending = useRef(null);
  useEffect(() => () => ending.current?.abort(), []);
  const change = (make) => setState((former) => ({ ...former, ...make(former) }));
  const receive = {
    step: (step) => change(({ steps }) => ({ steps: [...steps, step] })),
    part: (part) => change(({ parts }) => ({ parts: [...parts, part] })),
    piece: (piece) => change(({ text }) => ({ text: text + piece.text })),
    answer: (whole) => { change(() => ({ whole })); if (whole.kept_as) onKept(); },
  };
  const begin = async (args) => {
    ending.current?.abort();
    ending.current = new AbortController();
    const { signal } = ending.current;
    setState({ ...empty, isBusy: true });
    try {
      await streamAnswer(args, (name, data) => signal.aborted || receive[name]?.(data), signal);
    } catch (problem) {
      if (!signal.aborted) change(() => ({ problem }));
    }
    if (ending.current.signal === signal) change(() => ({ isBusy: false }));
  };
  return { ...state, begin, stop: () => { ending.current?.abort(); change(() => ({ isBusy: false })); } };
}

function KeptQuestion({ name, mayWrite, onForgotten }) {
  const { data, problem, reload } = useCall("question", { name });
  const [isForgetting, setForgetting] = useState(false);
  const forget = async () => {
    await call("forget", { name, kind: "question" });
    location.hash = address("ask");
    onForgotten();
  };
  if (!data) return html`<h1>${t("ask.kept")}</h1><${Failure} problem=${problem} retry=${reload} />`;
  return html`
    <h1>${visible(data.text)}</h1>
    <p class="hint links">${t("ask.askedAt", { when: when(data.asked_at) })}
      ${!inside && html`<a href=${address("ask", "", { q: data.text })}>${t("ask.again")}</a>`}
      <a href=${address("graph", "", { name: data.id })}>${t("graph.show")}</a>
      ${mayWrite && html`<button type="button" class="link" onClick=${() => setForgetting(true)}>${t("forget")}</button>`}</p>
    ${data.changes.map((change) => html`<p class="warning">${t("ask.changed", {
      key: visible(change.document_key), when: when(change.changed_at) })}</p>`)}
    <${Reading} answer=${data.answer} text="" steps=${data.answer.trace} parts=${[]} />
    ${isForgetting && html`<${Confirm} title=${t("ask.forget")} action=${t("forget")} onConfirm=${forget}
      onClose=${() => setForgetting(false)}><p>${visible(data.text)}</p></${Confirm}>`}`;
}

/** The answer beside the walk. */
function Reading({ answer, text, steps, parts }) {
  if (!answer && !text && !steps.length) return null;
  return html`<div class="reading">
    <section aria-label=${t("ask.answer")} aria-live="polite">
      <h2>${t("ask.answer")}</h2>
      ${answer?.abstained && html`<p class="badge warn">${t("ask.abstained")}</p>`}
      <p class="answer"><${Marked} text=${answer?.text ?? text} citations=${answer?.citations ?? []} /></p>
      <${Parts} parts=${answer?.parts ?? parts} />
      ${answer && html`<${Proof} answer=${answer} read=${steps.length} />`}
    </section>
    <section aria-label=${t("ask.walk")}>
      <h2>${t("ask.walk")}</h2>
      ${steps.length === 0 && html`<p class="hint">${t("ask.nothingRead")}</p>`}
      <ol class="walk">${steps.map((step, place) => html`<${Step} key=${place} step=${step}
        most=${Math.max(...steps.map((each) => each.attention))} />`)}</ol>
    </section>
  </div>`;
}

/** An answer whose marks [n] lead to the citations. */
function Marked({ text, citations }) {
  return visible(text).split(/\[(\d+)\]/).map((piece, place) => {
    if (place % 2 === 0) return piece;
    const cited = citations[Number(piece) - 1];
    return cited ? html`<sup><a href=${placeOf(cited)}>${piece}</a></sup>` : `[${piece}]`;
  });
}

function placeOf({ document_key: key, start, end }) {
  return address("documents", key, { from: start, to: end });
}

/** Return the place of a quote in its document: the number of a page in the reader's language, or a slide or sheet. */
function placeWords(place) {
  const page = place.match(/^page (\d+)$/);
  return page ? t("document.page", { n: Number(page[1]) }) : visible(place);
}

function Proof({ answer, read }) {
  return html`
    ${answer.warnings.map((warning) => html`<p class="warning">${visible(warning.text)}</p>`)}
    <ol class="citations">${answer.citations.map((cited) => html`<li>
      <a href=${placeOf(cited)}>“${excerpt(cited.quote, 400)}”</a>
      <small>${visible(cited.document_key)}${cited.place && ` · ${placeWords(cited.place)}`}</small></li>`)}</ol>
    <p class="hint">${t(`stop.${answer.stop_reason}`)} ${t("ask.cost", { read, strategy: answer.strategy,
      calls: answer.usage.model_calls, seconds: Number(answer.usage.seconds.toFixed(1)) })}</p>`;
}

/** The parts of a question that was taken apart, each with its value as soon as it is known. */
function Parts({ parts }) {
  return parts.length > 0 && html`<h3>${t("ask.parts")}</h3>
    <ol class="plain">${parts.map((part) =>
      html`<li>${visible(part.question)} <strong>${visible(part.value) || "–"}</strong></li>`)}</ol>`;
}

function Step({ step, most }) {
  return html`<li>
    <p class="step-head"><span class=${`kind ${step.kind}`}>${t(`kind.${step.kind}`)}</span>
      ${step.document_id && html`<a href=${address("documents", step.document_id, { node: step.node_id })}>
        ${excerpt(step.document_key, 60) || t("open")}</a>`}</p>
    <p class="step-text">${excerpt(step.text, 280)}</p>
    <div class="shares">
      <${Share} label=${t("ask.attention")} value=${most ? step.attention / most : 0}
        text=${formatted(Number(step.attention.toPrecision(2)))} />
      ${step.p_yes !== null && html`<${Share} label=${t("ask.pYes")} value=${step.p_yes} />`}
    </div>
    ${step.via && html`<p class="hint">${t("ask.via", { via: visible(step.via) })}</p>`}
    ${step.reason && html`<p class="hint">${t("ask.lacks", { reason: visible(step.reason) })}</p>`}
    ${step.stop && html`<p class="badge">${t(`stop.${step.stop}`)}</p>`}
  </li>`;
}
