/** The words of the page in the reader's language. A new language is a file in `languages/` and a line here. */

import de from "./languages/de.js";
import en from "./languages/en.js";
import { ofBrowser } from "./storage.js";

const LANGUAGES = { en, de };
const KEY = "memgraph-language";

let chosen = ofBrowser.getItem(KEY) ?? navigator.language.slice(0, 2);
if (!(chosen in LANGUAGES)) chosen = "en";
document.documentElement.lang = chosen;

/** The names of the languages by code. */
export const languages = Object.fromEntries(Object.entries(LANGUAGES).map(([code, words]) => [code, words.ownName]));

/** Return the code of the language. */
export function language() {
  return chosen;
}

/** Use another language from now on, and in this browser. */
export function useLanguage(code) {
  chosen = code;
  ofBrowser.setItem(KEY, code);
  document.documentElement.lang = code;
}

/** Return the words for a key; `{name}` in them becomes a value. Numbers are written as the language does. */
export function t(key, values = {}) {
  const words = LANGUAGES[chosen][key] ?? en[key] ?? key;
  return words.replace(/\{(\w+)\}/g, (_, name) => (name in values ? formatted(values[name]) : ""));
}

/** Return a number as the language writes it; any other value as text. */
export function formatted(value) {
  return typeof value === "number" ? value.toLocaleString(chosen) : String(value);
}

/** Return a day of an ISO 8601 time, with the time of the day if it has one; any other text unchanged. */
export function when(text) {
  const moment = new Date(text);
  if (!text || Number.isNaN(moment.getTime())) return text;
  const hasTime = /T\d/.test(text) && !/T00:00(:00)?($|[+Z])/.test(text);
  return moment.toLocaleString(chosen, { dateStyle: "medium", ...(hasTime && { timeStyle: "short" }) });
}
