/** Add documents: files dropped onto the page or chosen, or a text that is typed. */

import { call } from "../api.js";
import { Failure, Field } from "../parts.js";
import { visible } from "../text.js";
import { html, useState } from "../view.js";
import { t } from "../words.js";

export function Adding({ onAdded }) {
  const [lines, setLines] = useState([]);
  const [isOver, setOver] = useState(false);
  const add = async (files) => {
    const added = files.map((file) => ({ id: Symbol(file.name), file, name: file.name, state: "waits" }));
    setLines((all) => [...added, ...all]);
    for (const { id, file } of added) {
      const change = (more) => setLines((all) => all.map((each) => (each.id === id ? { ...each, ...more } : each)));
      change({ state: "busy" });
      try {
        change({ state: "done", receipt: await store(file) });
      } catch (problem) {
        change({ state: "failed", problem });
      }
    }
    onAdded();
  };
  const drop = (event) => { event.preventDefault(); setOver(false); add([...event.dataTransfer.files]); };
  const left = lines.filter((line) => line.state === "waits" || line.state === "busy").length;
  return html`<section class=${isOver ? "adding over" : "adding"} aria-label=${t("adding.title")}
      onDragOver=${(event) => { event.preventDefault(); setOver(true); }} onDragLeave=${() => setOver(false)} onDrop=${drop}>
    <details>
      <summary>${t("adding.title")}</summary>
      <p><label class="field wide"><span>${t("adding.files")}</span>
        <input type="file" multiple onChange=${(event) => add([...event.target.files])} /></label></p>
      <${Typed} onAdded=${onAdded} />
    </details>
    ${lines.length > 0 && html`<p class="adding-count" role="status" data-all=${lines.length} data-left=${left}>
      ${t(left ? "adding.left" : "adding.all", { n: lines.length - left, all: lines.length })}</p>`}
    <div><ul class="plain" tabindex="0">${lines.map((line) => html`<li>${visible(line.name)}: ${t(`adding.${line.state}`, {
      action: line.receipt?.action ?? "", n: line.receipt?.counts.Segment ?? 0 })}
      ${line.problem && html`<${Failure} problem=${line.problem} />`}</li>`)}</ul></div>
  </section>`;
}

/** Store a file: as a conversation if it is the body of a call of `remember` with messages, or else by its ending. */
async function store(file) {
  const conversation = /\.json$/i.test(file.name) && conversationIn(await file.text());
  if (conversation) return call("remember", { key: file.name, ...conversation });
  return call("add_file", { name: file.name, content: await encoded(file) });
}

function conversationIn(text) {
  try {
    const body = JSON.parse(text);
    return Array.isArray(body?.messages) ? body : null;
  } catch {
    return null;
  }
}

/** Return the content of a file in base 64. */
function encoded(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result.split(",")[1] ?? "");
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}

function Typed({ onAdded }) {
  const [form, setForm] = useState({ key: "", title: "", text: "" });
  const [problem, setProblem] = useState(null);
  const field = (name) => (value) => setForm({ ...form, [name]: value });
  const submit = async (event) => {
    event.preventDefault();
    try {
      await call("remember", { ...form, metadata: { source: "console" } });
      setForm({ key: "", title: "", text: "" });
      setProblem(null);
      onAdded();
    } catch (failure) {
      setProblem(failure);
    }
  };
  return html`<form onSubmit=${submit}>
    <label class="field wide"><span>${t("adding.text")}</span>
      <textarea rows="4" required value=${form.text} onInput=${(event) => field("text")(event.target.value)}></textarea></label>
    <div class="fields"><${Field} label=${t("adding.key")} value=${form.key} onInput=${field("key")} />
      <${Field} label=${t("adding.name")} value=${form.title} onInput=${field("title")} />
      <div class="actions"><button class="primary">${t("adding.add")}</button></div></div>
    <${Failure} problem=${problem} />
  </form>`;
}
