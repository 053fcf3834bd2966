/** The frame of the console: sign in, navigation, and the page that the address names. */

import { readSettings, signedOut } from "./api.js";
import { inside } from "./inside.js";
import { ask } from "./pages/ask.js";
import { documents } from "./pages/documents.js";
import { graph } from "./pages/graph.js";
import { health } from "./pages/health.js";
import { holds } from "./pages/holds.js";
import { search } from "./pages/search.js";
import { useCall } from "./parts.js";
import { address, useRoute } from "./route.js";
import { getToken, receiveToken, setToken } from "./token.js";
import { visible } from "./text.js";
import { html, render, useEffect, useRef, useState } from "./view.js";
import { language, languages, t, useLanguage } from "./words.js";

const PAGES = { ask, search, documents, holds, graph, health };
const LINKS = inside?.links ?? Object.fromEntries(Object.keys(PAGES).map((name) => [name, address(name)]));

function Console({ settings }) {
  const [isSignedIn, setSignedIn] = useState(Boolean(inside || getToken()));
  const [, setLanguage] = useState(language());
  useEffect(() => {
    const leave = () => setSignedIn(false);
    signedOut.addEventListener("signedout", leave);
    return () => signedOut.removeEventListener("signedout", leave);
  }, []);
  const choose = (code) => { useLanguage(code); setLanguage(code); };
  if (!isSignedIn) return html`<${SignIn} onToken=${(token) => { setToken(token); setSignedIn(true); }} />`;
  return html`<${Frame} settings=${settings} chooseLanguage=${choose} key=${language()} />`;
}

function SignIn({ onToken }) {
  const [token, setTyped] = useState("");
  const submit = (event) => { event.preventDefault(); onToken(token.trim()); };
  return html`<main class="sign-in">
    <h1>${t("signIn.title")}</h1>
    <p>${t("signIn.why")}</p>
    <form onSubmit=${submit}>
      <label class="field wide"><span>${t("signIn.token")}</span>
        <input type="password" autocomplete="off" required value=${token} placeholder="mgr_…"
          onInput=${(event) => setTyped(event.target.value)} /></label>
      <button class="primary">${t("signIn.enter")}</button>
    </form>
    <p class="hint"><code>memgraph-rag mcp token --namespace NAME</code></p>
  </main>`;
}

function Frame({ settings, chooseLanguage }) {
  const route = useRoute();
  const status = useCall("status", inside ? null : {});
  const main = useRef(null);
  const Page = PAGES[route.page] ?? ask;
  const mayWrite = settings.write && status.data !== null && !status.data.read_only;
  useEffect(() => {
    document.title = `${t(`nav.${route.page in PAGES ? route.page : "ask"}`)} · ${t("brand")}`;
    main.current.focus({ preventScroll: true });
  }, [route.page, route.name]);
  return html`
    <a class="skip" href="#main" onClick=${(event) => { event.preventDefault(); main.current.focus(); }}>${t("skip")}</a>
    <header class="top">
      <p class="brand">${t("brand")} <span>${visible(status.data?.namespace ?? "")}</span></p>
      <nav aria-label=${t("nav")}>
        ${Object.entries(LINKS).map(([name, link]) => html`<a href=${link}
          aria-current=${name === route.page ? "page" : undefined}>${t(`nav.${name}`)}</a>`)}
      </nav>
      <p class="state">${!inside && !mayWrite && html`<span class="badge">${t("readOnly")}</span>`}
        <label><span class="unseen">${t("language")}</span>
          <select value=${language()} onInput=${(event) => chooseLanguage(event.target.value)}>
            ${Object.entries(languages).map(([code, name]) => html`<option value=${code}>${name}</option>`)}
          </select></label></p>
    </header>
    <main id="main" tabindex="-1" ref=${main}>
      <${Page} key=${route.page} route=${route} settings=${settings} status=${status} mayWrite=${mayWrite} />
    </main>`;
}

if (inside) location.hash ||= Object.values(LINKS)[0];
else await receiveToken();
const settings = await readSettings().catch(() => ({ version: "", write: false, owner: false }));
render(html`<${Console} settings=${settings} />`, document.getElementById("console"));
