/**
 * Text of documents as text: never HTML, with invisible characters shown, and with marked spans.
 *
 * Spans count characters as the memory does, in code points, and this module turns them into places of a string.
 */

import { html } from "./view.js";

// Controls, zero-width characters, and marks that change the direction of what follows.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

const STACKED = /\p{M}{9,}/gu; // marks above and below one letter; no script needs so many, and they cover other lines

/** Return a text in which no character hides another one or turns it around. */
export function visible(text) {
  return String(text ?? "").replace(HIDDEN, (character) => `[${numberOf(character)}]`)
    .replace(STACKED, (marks) => `[${numberOf(marks)} × ${marks.length}]`);
}

function numberOf(character) {
  return `U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
}

/** Return at most `most` characters of a text on one line. */
export function excerpt(text, most = 160) {
  const line = visible(text).replace(/\s+/g, " ").trim();
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
}

/**
 * Return the pages of the characters [from, to) of a text, which form feeds end, as pdftotext writes them.
 *
 * @returns {{number: number, from: number, to: number}[]} one page with the number 0 for a text without pages
 */
export function pagesIn(text, from, to) {
  if (!text.includes("\f")) return [{ number: 0, from, to }];
  const pages = [];
  let number = text.slice(0, from).split("\f").length;
  for (let start = from; start < to; number += 1) {
    const end = text.indexOf("\f", start);
    const stop = end < 0 || end > to ? to : end;
    pages.push({ number, from: start, to: stop });
    start = stop + (text[stop + 1] === "\n" ? 2 : 1);
  }
  return pages;
}

/** Return a function that turns a place in code points into a place in the string. */
export function placesIn(text) {
  if (!/[\ud800-\udbff]/.test(text)) return (point) => point;
  const places = [];
  for (let place = 0; place < text.length; place += text.codePointAt(place) > 0xffff ? 2 : 1) places.push(place);
  places.push(text.length);
  return (point) => places[Math.min(point, places.length - 1)];
}

/**
 * Return a function that shows the characters [start, end) of a text, with the marked span in `<mark>`.
 *
 * @param {{from: number, to: number} | null} span places of the string
 */
export function leafOf(text, span) {
  return (start, end) => {
    if (!span || span.to <= start || end <= span.from) return visible(text.slice(start, end));
    const from = Math.max(start, span.from);
    const to = Math.min(end, span.to);
    return html`${visible(text.slice(start, from))}<mark>${visible(text.slice(from, to))}</mark>${
      visible(text.slice(to, end))}`;
  };
}

/** Return the length of the speaker and the time before a turn's words; 0 if the turn begins otherwise. */
export function prefixOf(turn, text) {
  const end = text.indexOf(": ");
  return turn.speaker && text.startsWith(turn.speaker) && end >= 0 && end < turn.speaker.length + 40 ? end + 2 : 0;
}

/** Return a text in which the names, dates and longer words of a query are marked. */
export function withWords(text, query) {
  const words = (query.match(/[\p{L}\p{N}]{3,}/gu) ?? []).filter((word, place) =>
    word.length > 4 || /\d/.test(word) || (place > 0 && /^\p{Lu}/u.test(word)));
  if (!words.length) return visible(text);
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}])(${words.join("|")})(?![\\p{L}\\p{N}])`, "giu");
  return visible(text).split(pattern).map((piece, place) => (place % 2 ? html`<mark class="word">${piece}</mark>` : piece));
}
