/** A document: its text, rendered, raw or as a conversation, with a span marked, beside what the layers found in it. */

import { call } from "../api.js";
import { inside, resultInside } from "../inside.js";
import { markdown } from "../markdown.js";
import { Busy, Confirm, Failure, Receipt, forgotten, useCall } from "../parts.js";
import { address } from "../route.js";
import { excerpt, leafOf, pagesIn, placesIn, prefixOf, visible } from "../text.js";
import { html, useEffect, useMemo, useState } from "../view.js";
import { formatted, t, when } from "../words.js";

const WINDOW = 40_000; // characters that are shown at once: a page with more is slow
const TURNS = 200;
const TURNS_OF_PAGE = "turns"; // what a page of a session keeps of its turns is for the memory alone

export function Whole({ name, place, mayWrite }) {
  const { data, problem, isBusy, reload } = useCall("document", { name });
  const [isRaw, setRaw] = useState(false);
  useEffect(() => {
    const onKey = (event) => {
      const isTyping = /INPUT|TEXTAREA|SELECT/.test(event.target.tagName) || event.ctrlKey || event.metaKey || event.altKey;
      if (event.key === "r" && !isTyping) setRaw((now) => !now);
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  if (!data) return html`<h1>${visible(name)}</h1><${Busy} isBusy=${isBusy} /><${Failure} problem=${problem} retry=${reload} />`;
  const { record } = data;
  return html`
    ${!inside && html`<p><a href=${address("documents")}>${t("documents.all")}</a></p>`}
    <h1>${excerpt(record.title || record.key, 200)}</h1>
    <p class="hint">${visible(record.key)} · ${t("document.size", record)} · ${when(record.added_at)}
      ${(!inside || resultInside("around", { name: record.id })) && html` · <a href=${address("graph", "", { name: record.id })}>
        ${t("graph.show")}</a>`}</p>
    <div class="actions">
      <button type="button" aria-pressed=${isRaw} onClick=${() => setRaw(!isRaw)}>${t("document.raw")}</button>
      ${mayWrite && html`<${Changing} data=${data} onChanged=${reload} />`}
    </div>
    <div class="columns">
      <${Body} data=${data} span=${spanOf(data, place)} isRaw=${isRaw} />
      <${Beside} data=${data} />
    </div>`;
}

/** Return the span of the text that the address names, by characters or by a segment; null without one. */
function spanOf(data, { from, to, node }) {
  const segment = data.segments.find((each) => each.id === node);
  if (segment) return { from: segment.start, to: segment.end };
  return from === undefined ? null : { from: Number(from), to: Number(to) };
}

function Body({ data, span, isRaw }) {
  const { text, segments } = data;
  const at = useMemo(() => placesIn(text), [text]);
  const marked = span && { from: at(span.from), to: at(span.to) };
  const isTalk = !isRaw && segments.some((each) => each.speaker);
  useEffect(() => {
    document.querySelector(".body mark")?.scrollIntoView({ block: "center" });
  }, [span?.from, span?.to, isRaw]);
  const leaf = leafOf(text, marked);
  return html`<article class="body wide-column" aria-label=${t("document.text")} dir="auto">
    ${isTalk
      ? html`<${Talk} segments=${segments} text=${text} at=${at} leaf=${leaf} span=${span} />`
      : html`<${Window} text=${text} marked=${marked} isRaw=${isRaw} leaf=${leaf} />`}
  </article>`;
}

/** A part of a long text around the marked span, with ways to the parts before and after it. */
function Window({ text, marked, isRaw, leaf }) {
  const [begin, setBegin] = useState(0);
  const focus = marked ? Math.max(0, marked.from - WINDOW / 4) : 0;
  useEffect(() => setBegin(focus), [focus]);
  const from = begin && lineBefore(text, begin);
  const to = begin + WINDOW >= text.length ? text.length : lineBefore(text, begin + WINDOW);
  return html`
    ${from > 0 && html`<button type="button" onClick=${() => setBegin(Math.max(0, from - WINDOW))}>${t("document.before")}</button>`}
    ${pagesIn(text, from, to).map((page) => html`
      ${page.number > 0 && html`<p class="page">${t("document.page", { n: page.number })}</p>`}
      ${isRaw
        ? html`<pre class="raw" tabindex="0">${leaf(page.from, page.to)}</pre>`
        : html`<div class=${isMarkdown(text) ? "rendered" : "rendered lines"}>${markdown(text, page.from, page.to, leaf)}</div>`}`)}
    ${to < text.length && html`<button type="button" onClick=${() => setBegin(to)}>${t("document.after")}</button>`}`;
}

/** Return whether a text has headings, code or lists: only then a line end within a paragraph means nothing. */
function isMarkdown(text) {
  return /^(#{1,6} |```|[-*] |\d+\. )/m.test(text.slice(0, WINDOW));
}

/** Return the begin of the line with a place, or the place itself if the line is too long for a window. */
function lineBefore(text, place) {
  const line = text.lastIndexOf("\n", place - 1) + 1;
  return place - line > WINDOW / 4 ? place : line;
}

function Talk({ segments, text, at, leaf, span }) {
  const [first, setFirst] = useState(0);
  const focused = span ? segments.findIndex((each) => each.end > span.from) : 0;
  useEffect(() => setFirst(Math.max(0, focused - 20)), [focused]);
  const shown = segments.slice(first, first + TURNS);
  return html`
    ${first > 0 && html`<button type="button" onClick=${() => setFirst(Math.max(0, first - TURNS))}>${t("document.before")}</button>`}
    <ol class="talk">${shown.map((turn) => {
      const words = text.slice(at(turn.start), at(turn.end));
      const prefix = prefixOf(turn, words);
      const blank = words.length - words.trimEnd().length;
      return html`<li key=${turn.id} class=${turn.speaker === "assistant" ? "assistant" : ""}>
        <p class="speaker">${visible(turn.speaker)} <time>${when(turn.time)}</time>
          ${turn.echo && html`<span class="badge">${t("document.echo")}</span>`}</p>
        <p class="text" dir="auto">${leaf(at(turn.start) + prefix, at(turn.end) - blank)}</p></li>`;
    })}</ol>
    ${first + TURNS < segments.length && html`<button type="button" onClick=${() => setFirst(first + TURNS)}>${t("document.after")}</button>`}`;
}

function Beside({ data }) {
  const { record, sections, points, relations, names } = data;
  const metadata = Object.entries(record.metadata).filter(([name]) => name !== TURNS_OF_PAGE);
  const counted = new Map();
  for (const { normal } of names) counted.set(normal, (counted.get(normal) ?? 0) + 1);
  const inOrder = [...counted].sort(([, a], [, b]) => b - a).slice(0, 100);
  const to = (each) => address("documents", record.id, { from: each.start, to: each.end });
  return html`<aside aria-label=${t("document.beside")}>
    <dl class="facts">
      ${metadata.map(([name, value]) => html`<dt>${visible(name)}</dt><dd>${visible(value)}</dd>`)}
      <dt>${t("documents.layers")}</dt><dd>${record.layers.join(", ") || "–"}</dd>
    </dl>
    <${Part} title=${t("document.outline")} items=${sections} isOpen>
      ${(each) => html`<li class=${`depth-${Math.min(each.level - 1, 4)}`}><a href=${to(each)}>${excerpt(each.title, 80) || "–"}</a></li>`}</${Part}>
    <${Part} title=${t("document.points")} items=${points} isOpen>
      ${(each) => html`<li><span class="badge">${each.level}</span> ${visible(each.text)}</li>`}</${Part}>
    <${Part} title=${t("document.relations")} items=${relations}>
      ${(each) => html`<li><strong>${visible(each.source)}</strong> – <strong>${visible(each.target)}</strong>: ${visible(each.text)}</li>`}</${Part}>
    <${Part} title=${t("document.names")} items=${inOrder}>
      ${([name, number]) => html`<li><a href=${address("graph", "", { name })}>${visible(name)}</a> ${formatted(number)}</li>`}</${Part}>
  </aside>`;
}

function Part({ title, items, isOpen, children }) {
  if (!items.length) return null;
  return html`<details open=${isOpen}><summary>${title} <small>${formatted(items.length)}</small></summary>
    <ul class="plain" tabindex="0">${items.slice(0, 300).map(children)}</ul></details>`;
}

/** Replace the text of a document, or forget it with a receipt of what goes and what remains. */
function Changing({ data, onChanged }) {
  const { record, text } = data;
  const [doing, setDoing] = useState("");
  const [draft, setDraft] = useState(text);
  const [receipt, setReceipt] = useState(null);
  const replace = async () => {
    const { key, title, metadata } = record;
    await call("remember", { key, title, metadata, text: draft });
    onChanged();
  };
  const forget = async () => setReceipt(await forgotten({ name: record.id }));
  const isTalk = data.segments.some((each) => each.speaker);
  const close = () => { setDoing(""); if (receipt) location.hash = address("documents"); };
  return html`
    ${!isTalk && html`<button type="button" onClick=${() => setDoing("replace")}>${t("document.replace")}</button>`}
    <button type="button" class="danger" onClick=${() => setDoing("forget")}>${t("forget")}</button>
    ${doing === "replace" && html`<${Confirm} title=${t("document.replace")} action=${t("document.store")} onConfirm=${replace}
      onClose=${close}>
      <label class="field wide"><span>${t("document.text")}</span><textarea rows="14" value=${draft}
        onInput=${(event) => setDraft(event.target.value)}></textarea></label></${Confirm}>`}
    ${doing === "forget" && html`<${Confirm} title=${t("document.forget")} action=${t("forget")} onConfirm=${forget}
      onClose=${() => !receipt && close()}>
      <p>${t("document.goes", { ...record, key: visible(record.key), points: data.points.length, names: data.names.length })}</p><p>${t("document.noUndo")}</p></${Confirm}>`}
    ${receipt && html`<${Receipt} receipt=${receipt} /><button type="button" onClick=${close}>${t("documents.all")}</button>`}`;
}
