"use strict";
// Texts of the description reach the page as text only, never as HTML.
const make = (tag, properties = {}, ...children) => {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children);
  return node;
};
const byId = (id) => document.getElementById(id);
const nameOf = (schema) => schema.$ref && schema.$ref.split("/").pop();

function typeOf(schema) {
  if (nameOf(schema)) return nameOf(schema);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  if ("const" in schema) return JSON.stringify(schema.const);
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(" | ");
  if (schema.type === "array") return `list of ${typeOf(schema.items || {})}`;
  if (schema.additionalProperties instanceof Object) return `object of ${typeOf(schema.additionalProperties)}`;
  return schema.type || "anything";
}

function bounds(schema) {
  const words = { minimum: "at least", exclusiveMinimum: "above", maximum: "at most", default: "by default" };
  return Object.entries(words)
    .filter(([key]) => key in schema && schema[key] !== null)
    .map(([key, word]) => `${word} ${JSON.stringify(schema[key])}`)
    .join(", ");
}

function fields(schema, all) {
  const whole = all[nameOf(schema)] || schema;
  const rows = Object.entries(whole.properties || {}).map(([name, field]) =>
    make("tr", {},
      make("td", {}, make("code", {}, name), (whole.required || []).includes(name) ? " *" : ""),
      make("td", { className: "type" }, [typeOf(field), bounds(field)].filter(Boolean).join("; ")),
      make("td", {}, field.description || "")));
  return rows.length ? make("table", {}, ...rows) : make("p", {}, "None.");
}

function trial(method, path, example) {
  const given = make("textarea", { value: JSON.stringify(example, null, 2), spellcheck: false });
  given.setAttribute("aria-label", "Arguments");
  const result = make("pre", { hidden: true });
  const send = make("button", { type: "button" }, "Send");
  send.onclick = async () => {
    result.hidden = false;
    result.textContent = "…";
    const headers = { Authorization: `Bearer ${byId("token").value}`, "Content-Type": "application/json" };
    try {
      const response = await fetch(path, { method, headers, body: given.value });
      const text = await response.text();
      let shown = text;
      try { shown = JSON.stringify(JSON.parse(text), null, 2); } catch { /* not JSON: as it came */ }
      result.textContent = `${response.status} ${response.statusText}\n${shown}`;
    } catch (error) {
      result.textContent = String(error);
    }
  };
  return make("div", {}, make("h3", {}, "Try it"), given, send, result);
}

function operation(method, path, told, all) {
  const { schema: body, example } = told.requestBody.content["application/json"];
  const given = told.responses[200].content["application/json"].schema;
  return make("details", { id: told.operationId },
    make("summary", {},
      make("span", { className: "method" }, method.toUpperCase()),
      make("span", { className: "path" }, path), ` ${told.summary}`),
    make("p", {}, told.description),
    make("h3", {}, "Takes"), fields(body, all),
    make("h3", {}, "Gives"), fields(given, all),
    make("p", { className: "type" },
      Object.entries(told.responses).map(([status, response]) => `${status}: ${response.description}`).join(" ")),
    trial(method.toUpperCase(), path, example));
}

async function show() {
  const told = await (await fetch("../openapi.json")).json();
  const all = told.components.schemas;
  byId("version").textContent = told.info.version;
  const operations = Object.entries(told.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, each]) => operation(method, path, each, all)));
  const kinds = Object.entries(all).filter(([, schema]) => schema.properties).map(([name, schema]) =>
    make("details", { id: `schema-${name}` },
      make("summary", {}, make("code", {}, name)), make("p", {}, schema.description || ""), fields(schema, all)));
  byId("operations").replaceChildren(...operations, make("h2", {}, "Objects"), ...kinds);
  const named = byId(location.hash.slice(1));
  if (named && "open" in named) named.open = true;
}

show().catch((error) => { byId("operations").textContent = `The description could not be read: ${error}`; });
