/** Components that several pages use. */

import { Problem, call } from "./api.js";
import { visible } from "./text.js";
import { html, useCallback, useEffect, useRef, useState } from "./view.js";
import { t } from "./words.js";

/** A failure, with what to do. */
export function Failure({ problem, retry }) {
  if (!problem) return null;
  const detail = problem.status === 0 && !problem.message ? t("problem.noServer") : problem.message;
  return html`<div class="failure" role="alert">
    <strong>${problem.status === 0 ? t("problem.unreachable") : t("problem.title")}</strong>
    <p>${visible(detail)}</p>
    ${retry && html`<button type="button" onClick=${retry}>${t("problem.retry")}</button>`}
  </div>`;
}

/** A label above an input; other properties are those of the input. */
export function Field({ label, hint, onInput, wide, ...input }) {
  return html`<label class=${wide ? "field wide" : "field"}>
    <span>${label}</span>
    <input ...${input} title=${hint} onInput=${(event) => onInput(event.target.value)} />
  </label>`;
}

/** A label above a list to choose from; `options` are values with their words. */
export function Choice({ label, value, options, onInput }) {
  return html`<label class="field">
    <span>${label}</span>
    <select value=${value} onInput=${(event) => onInput(event.target.value)}>
      ${options.map(([key, words]) => html`<option value=${key} selected=${key === value}>${words}</option>`)}
    </select>
  </label>`;
}

/** The fields of a scope, closed until one is filled in. */
export function ScopeFields({ scope, onChange, times = ["since", "at"] }) {
  const field = (name, more = {}) => html`<${Field} label=${t(`scope.${name}`)} value=${scope[name] ?? ""} ...${more}
    onInput=${(value) => onChange({ ...scope, [name]: value })} />`;
  const isFilled = Object.values(scope).some(Boolean);
  return html`<details class="scope" open=${isFilled}>
    <summary>${t("scope.title")}</summary>
    <div class="fields">
      ${field("user")} ${field("session")}
      ${times.map((name) => field(name, { placeholder: "2026-05-01" }))}
      ${field("where", { placeholder: "project=mill, year=2026", wide: true })}
    </div>
  </details>`;
}

/** Return the arguments of a call for the fields of a scope: `where` becomes an object. */
export function scopeArguments({ where, ...scope }) {
  const pairs = (where ?? "").split(",").map((pair) => pair.split(/=(.*)/s)).filter(([, value]) => value !== undefined);
  const values = pairs.map(([name, value]) => [name.trim(), metadataValue(value.trim())]);
  return { ...scope, ...(values.length && { where: Object.fromEntries(values) }) };
}

/** Return a number or a truth value as such, other text as text. */
function metadataValue(text) {
  return /^(true|false|-?\d+(\.\d+)?)$/.test(text) ? JSON.parse(text) : text;
}

/**
 * Read something by a call, again when `args` change; a newer call ends an older one.
 *
 * @returns {{data, problem, isBusy, reload}} the last result stays until the next one comes
 */
export function useCall(operation, args) {
  const [state, setState] = useState({ data: null, problem: null, isBusy: true });
  const [turn, setTurn] = useState(0);
  const key = JSON.stringify(args);
  useEffect(() => {
    if (args === null) return undefined;
    const ending = new AbortController();
    setState((former) => ({ ...former, isBusy: true }));
    call(operation, args, ending.signal).then(
      (data) => setState({ data, problem: null, isBusy: false }),
      (problem) => problem.name !== "AbortError" && setState((former) => ({ ...former, problem, isBusy: false })),
    );
    return () => ending.abort();
  }, [operation, key, turn]);
  return { ...state, reload: useCallback(() => setTurn((now) => now + 1), []) };
}

/** Return a value that follows another one when it has not changed for a moment: for what is typed. */
export function useSettled(value, delay = 250) {
  const [settled, setSettled] = useState(value);
  const key = JSON.stringify(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), delay);
    return () => clearTimeout(timer);
  }, [key]);
  return settled;
}

/** A share between 0 and 1 as a bar with a number. */
export function Share({ label, value, text }) {
  const width = `${Math.round(Math.min(Math.max(value, 0), 1) * 100)}%`;
  return html`<span class="share"><span class="share-label">${label}</span>
    <span class="bar" aria-hidden="true"><i style=${{ width }}></i></span>
    <span class="number">${text ?? width}</span></span>`;
}

/** A dialog that asks before something is done; it closes by Escape. */
export function Confirm({ title, children, action, onConfirm, onClose }) {
  const dialog = useRef(null);
  const [problem, setProblem] = useState(null);
  const [isBusy, setBusy] = useState(false);
  useEffect(() => dialog.current.showModal(), []);
  const confirm = async () => {
    setBusy(true);
    try {
      await onConfirm();
      dialog.current?.close();
    } catch (error) {
      setProblem(error instanceof Problem ? error : new Problem({ status: 500, detail: String(error) }));
      setBusy(false);
    }
  };
  return html`<dialog ref=${dialog} onClose=${onClose} aria-labelledby="dialog-title">
    <h2 id="dialog-title">${title}</h2>
    ${children}
    <${Failure} problem=${problem} />
    <div class="actions">
      <button type="button" class="danger" disabled=${isBusy} onClick=${confirm}>${action}</button>
      <button type="button" onClick=${() => dialog.current.close()}>${t("cancel")}</button>
    </div>
  </dialog>`;
}

/** Forget by a call, and return its receipt with what is left. */
export async function forgotten(what) {
  return { ...await call("forget", what), left: await call("status") };
}

/** What a call of forget removed, and what is left. */
export function Receipt({ receipt: { left, ...gone } }) {
  return html`<div class="receipt" role="status"><p>${t("receipt.gone", gone)}</p><p>${t("receipt.left", left)}</p></div>`;
}

/** A line for what is awaited, read out by screen readers. */
export function Busy({ isBusy, words }) {
  return html`<p class="busy" role="status" aria-live="polite">${isBusy ? words ?? t("busy") : ""}</p>`;
}
