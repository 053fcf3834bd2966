/**
 * The token of this tab: from the address, from another tab, or typed by the reader.
 *
 * It stays in the storage of the tab, never in the address bar, in a cookie or on the disk.
 */

import { ofTab } from "./storage.js";

const KEY = "memgraph-token";
const channel = new BroadcastChannel("memgraph-console");

channel.onmessage = ({ data }) => {
  if (data.wants && getToken()) channel.postMessage({ token: getToken() });
};

/** Return the token, or an empty text. */
export function getToken() {
  return ofTab.getItem(KEY) ?? "";
}

/** Keep a token for this tab. */
export function setToken(token) {
  ofTab.setItem(KEY, token);
}

/** Drop the token, because the server refused it. */
export function dropToken() {
  ofTab.removeItem(KEY);
}

/** Take the token out of the address; without one, ask the other tabs of this console for theirs. */
export async function receiveToken() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given) {
    setToken(given);
    history.replaceState(null, "", "#/ask");
  }
  if (!getToken()) await askOtherTabs();
}

function askOtherTabs() {
  return new Promise((resolve) => {
    const asking = new BroadcastChannel("memgraph-console");
    const finish = () => { asking.close(); resolve(); };
    asking.onmessage = ({ data }) => {
      if (data.token) { setToken(data.token); finish(); }
    };
    asking.postMessage({ wants: true });
    setTimeout(finish, 150);
  });
}
