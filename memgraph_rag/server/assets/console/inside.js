/** Data inside the page, in place of a server: the page of `memgraph-rag show --html`, and of a host of MCP Apps. */

import { readFromHost } from "./host.js";

const element = document.getElementById("inside");
const data = element && JSON.parse(element.textContent);

/** What the page has: results by operation and id, ids by name, and links to its pages; null with a server. */
export const inside = data?.isHosted ? await readFromHost() : data;

/** Return the result of an operation that is inside the page, or undefined. */
export function resultInside(operation, { name = "" }) {
  return inside.results[operation]?.[inside.names[name] ?? name];
}
