/**
 * Markdown as elements of the page: headings, lists, tables, code, quotes, bold, italic.
 *
 * Each text is a leaf with its place in the document, so that a span of the document can be marked in it. Links are
 * shown as text with their address, and are no links; images are not loaded; HTML stays text.
 */

import { html } from "./view.js";

const FENCE = /^\s{0,3}(```+|~~~+)/;
const HEADING = /^\s{0,3}(#{1,6})\s+/;
const RULE = /^\s{0,3}([-*_])(\s*\1){2,}\s*$/;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+/;
const QUOTE = /^\s{0,3}>\s?/;
const ROW_BELOW = /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/;
const INLINE = /(`+)([^`]+?)\1|\*\*([^*\n]+?)\*\*|\*([^*\s][^*\n]*?)\*|!?\[([^\]]*)\]\(([^)\s]*)[^)\n]*\)/g;

const MOST_DEPTH = 8; // of quotes in quotes: deeper ones stay text, or they would leave no room for it
const MOST_INLINE = 4_000; // characters of a line whose inline marks are read: a longer one is no prose

/**
 * Return the elements for the characters [from, to) of a text.
 *
 * @param {(start: number, end: number) => unknown} leaf shows characters of the text
 */
export function markdown(text, from, to, leaf) {
  return new Renderer(text, leaf).blocks(lines(text, from, to));
}

function lines(text, from, to) {
  const found = [];
  for (let start = from; start < to;) {
    const end = text.indexOf("\n", start);
    const stop = end < 0 || end > to ? to : end;
    found.push({ start, end: stop });
    start = stop + 1;
  }
  return found;
}

class Renderer {
  constructor(text, leaf) {
    this.text = text;
    this.leaf = leaf;
    this.depth = 0;
  }

  of(line) {
    return this.text.slice(line.start, line.end);
  }

  blocks(all) {
    const made = [];
    for (let place = 0; place < all.length;) {
      const [element, next] = this.block(all, place);
      if (element) made.push(element);
      place = next;
    }
    return made;
  }

  /** Return the element of the block that begins at a line, and the place of the line after it. */
  block(all, place) {
    const line = this.of(all[place]);
    if (!line.trim()) return [null, place + 1];
    if (FENCE.test(line)) return this.code(all, place);
    if (RULE.test(line)) return [html`<hr />`, place + 1];
    if (HEADING.test(line)) return [this.heading(all[place], line), place + 1];
    if (QUOTE.test(line) && this.depth < MOST_DEPTH) return this.quote(all, place);
    if (ITEM.test(line)) return this.list(all, place);
    if (line.includes("|") && all[place + 1] && ROW_BELOW.test(this.of(all[place + 1]))) return this.table(all, place);
    return this.paragraph(all, place);
  }

  heading({ start, end }, line) {
    const [mark, hashes] = line.match(HEADING);
    const text = this.inline(start + mark.length, end);
    return html`<p class=${`heading level-${hashes.length}`} role="heading" aria-level=${hashes.length + 2}>${text}</p>`;
  }

  code(all, place) {
    const fence = this.of(all[place]).match(FENCE)[1];
    let last = place + 1;
    while (last < all.length && !this.of(all[last]).trim().startsWith(fence)) last += 1;
    const inner = all.slice(place + 1, last);
    const shown = inner.length ? this.leaf(inner[0].start, inner.at(-1).end) : "";
    return [html`<pre tabindex="0"><code>${shown}</code></pre>`, last + 1];
  }

  /** Take the lines of a quote, without its mark, as blocks of their own. */
  quote(all, place) {
    const inner = [];
    for (; place < all.length && QUOTE.test(this.of(all[place])); place += 1) {
      const { start, end } = all[place];
      inner.push({ start: start + this.of(all[place]).match(QUOTE)[0].length, end });
    }
    this.depth += 1;
    const blocks = this.blocks(inner);
    this.depth -= 1;
    return [html`<blockquote>${blocks}</blockquote>`, place];
  }

  list(all, place) {
    const items = [];
    let isOrdered = false;
    for (; place < all.length; place += 1) {
      const line = this.of(all[place]);
      const match = line.match(ITEM);
      if (match) {
        isOrdered = items.length ? isOrdered : /\d/.test(match[2]);
        const depth = Math.min(Math.floor(match[1].length / 2), 4);
        items.push({ depth, parts: [[all[place].start + match[0].length, all[place].end]] });
      } else if (line.trim() && /^\s+/.test(line)) {
        items.at(-1).parts.push([all[place].start, all[place].end]);
      } else {
        break;
      }
    }
    const made = items.map(({ depth, parts }) =>
      html`<li class=${`depth-${depth}`}>${parts.map(([start, end]) => html`${this.inline(start, end)} `)}</li>`);
    return [isOrdered ? html`<ol>${made}</ol>` : html`<ul>${made}</ul>`, place];
  }

  table(all, place) {
    const cells = (line) => {
      const found = [];
      let start = line.start + (this.of(line).trimStart().startsWith("|") ? this.of(line).indexOf("|") + 1 : 0);
      for (let end = start; end <= line.end; end += 1) {
        const isEdge = end === line.end || (this.text[end] === "|" && this.text[end - 1] !== "\\");
        if (isEdge && (end < line.end || this.text.slice(start, end).trim())) found.push([start, end]);
        if (isEdge) start = end + 1;
      }
      return found;
    };
    const head = cells(all[place]);
    const rows = [];
    for (place += 2; place < all.length && this.of(all[place]).includes("|"); place += 1) rows.push(cells(all[place]));
    const row = (tag, found) => html`<tr>${found.map(([start, end]) => html`<${tag}>${this.inline(start, end)}</${tag}>`)}</tr>`;
    return [html`<div class="scroll" tabindex="0"><table><thead>${row("th", head)}</thead>
      <tbody>${rows.map((found) => row("td", found))}</tbody></table></div>`, place];
  }

  paragraph(all, place) {
    const first = place;
    do place += 1;
    while (place < all.length && this.continues(this.of(all[place])));
    return [html`<p>${this.inline(all[first].start, all[place - 1].end)}</p>`, place];
  }

  continues(line) {
    return line.trim() && ![FENCE, HEADING, QUOTE, ITEM, RULE].some((pattern) => pattern.test(line));
  }

  inline(start, end) {
    if (end - start > MOST_INLINE) return this.leaf(start, end);
    const made = [];
    let place = start;
    for (const match of this.text.slice(start, end).matchAll(INLINE)) {
      const at = start + match.index;
      made.push(this.leaf(place, at), this.marked(match, at));
      place = at + match[0].length;
    }
    return [...made, this.leaf(place, end)];
  }

  marked([whole, ticks, code, bold, italic, label, target], at) {
    if (code) return html`<code>${this.leaf(at + ticks.length, at + whole.length - ticks.length)}</code>`;
    if (bold) return html`<strong>${this.leaf(at + 2, at + whole.length - 2)}</strong>`;
    if (italic) return html`<em>${this.leaf(at + 1, at + whole.length - 1)}</em>`;
    const from = at + whole.indexOf("[") + 1;
    return html`<span class="link" title=${target}>${this.leaf(from, from + label.length)}</span>`;
  }
}
