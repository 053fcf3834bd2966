/** The address of a view, behind `#`: a page, a name and parameters, such as `#/documents/fox?from=3&to=9`. */

import { useEffect, useState } from "./view.js";

/** Return the address of a view; parameters that are empty are left out. */
export function address(page, name = "", parameters = {}) {
  const given = Object.entries(parameters).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  const query = new URLSearchParams(given.map(([key, value]) => [key, String(value)])).toString();
  return `#/${page}${name ? `/${encodeURIComponent(name)}` : ""}${query ? `?${query}` : ""}`;
}

/** Return the page, the name and the parameters of the present address, and follow its changes. */
export function useRoute() {
  const [route, setRoute] = useState(read);
  useEffect(() => {
    const follow = () => setRoute(read());
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  return route;
}

function read() {
  const [path, query = ""] = location.hash.slice(2).split(/\?(.*)/s);
  const [page, name = ""] = path.split("/");
  return { page: page || "ask", name: decoded(name), parameters: Object.fromEntries(new URLSearchParams(query)) };
}

function decoded(name) {
  try {
    return decodeURIComponent(name);
  } catch {
    return name; // typed by hand, with a lone %
  }
}
