/** What the browser keeps for the page. A page within another one may keep nothing, and then forgets it when it ends. */

const kept = new Map();

function storage(isLasting) {
  try {
    return isLasting ? localStorage : sessionStorage;
  } catch {
    return { getItem: (key) => kept.get(key) ?? null, setItem: (key, value) => kept.set(key, value), removeItem: (key) => kept.delete(key) };
  }
}

/** What ends with the tab. */
export const ofTab = storage(false);

/** What stays in the browser. */
export const ofBrowser = storage(true);
