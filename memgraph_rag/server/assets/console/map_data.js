/** The map of a memory as the server sends it: one JSON object and three arrays of numbers. */

/** Return the names, places, sizes and edges of a map; nodes before `documents` are documents, the others names. */
export function readMap(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const count = head.names.length;
  const [places, sizes, edges] = [4 + length, 4 + length + 8 * count, 4 + length + 12 * count];
  return {
    ...head,
    count,
    places: new Float32Array(buffer, places, 2 * count),
    sizes: new Float32Array(buffer, sizes, count),
    ends: new Uint32Array(buffer, edges, 2 * head.edges),
  };
}

/** Return the nodes with an edge to a node, the largest first. */
export function neighboursOf({ ends, sizes }, node) {
  const found = [];
  for (let place = 0; place < ends.length; place += 2) {
    if (ends[place] === node) found.push(ends[place + 1]);
    else if (ends[place + 1] === node) found.push(ends[place]);
  }
  return found.sort((a, b) => sizes[b] - sizes[a]);
}

/** Return at most `most` nodes whose names contain a text: names that begin with it first, then the largest. */
export function nodesNamed(map, text, most) {
  map.lowerNames ??= map.names.map((name) => name.toLowerCase());
  const wanted = text.trim().toLowerCase();
  const found = [];
  if (wanted) map.lowerNames.forEach((name, node) => { if (name.includes(wanted)) found.push(node); });
  const begins = (node) => (map.lowerNames[node].startsWith(wanted) ? 1 : 0);
  return found.sort((a, b) => begins(b) - begins(a) || map.sizes[b] - map.sizes[a]).slice(0, most);
}
