/**
 * A picture of a map: WebGL draws edges and nodes, a canvas above it the labels, the largest nodes first.
 *
 * It knows no page: it gets a map (`map_data.js`) and tells which node was clicked. It draws when something changed.
 */

import { excerpt } from "./text.js";

const LABELS = 60;
const LOOKED_AT = 4_000; // of the largest nodes in view, for labels
const NEAR = 14; // pixels between a click and a node
const FLIGHT_MS = 500;
const CLOSE = 14; // the most zoom after a flight; a small map needs less

const NODES = `#version 300 es
in vec2 place; in float size; uniform vec2 centre, scale; uniform float grown; out float radius;
void main() {
  gl_Position = vec4((place - centre) * scale, 0.0, 1.0);
  gl_PointSize = radius = clamp((1.5 + sqrt(size)) * grown, 2.0, 40.0);
}`;
const DISC = `#version 300 es
precision mediump float; in float radius; uniform vec4 colour; out vec4 drawn;
void main() {
  float reach = length(gl_PointCoord - 0.5) * radius;
  if (reach > radius * 0.5) discard;
  drawn = vec4(colour.rgb, colour.a * clamp(radius * 0.5 - reach, 0.3, 1.0));
}`;
const ENDS = `#version 300 es
in vec2 place; uniform vec2 centre, scale;
void main() { gl_Position = vec4((place - centre) * scale, 0.0, 1.0); }`;
const LINE = `#version 300 es
precision mediump float; uniform vec4 colour; out vec4 drawn;
void main() { drawn = colour; }`;

export class MapPicture {
  /**
   * @param {HTMLElement} box holds the picture
   * @param {(node: number) => void} onChoose gets the node that was clicked
   */
  constructor(box, onChoose) {
    this.box = box;
    this.onChoose = onChoose;
    this.view = { x: 0, y: 0, zoom: 1 };
    this.chosen = -1;
    this.picture = box.appendChild(document.createElement("canvas"));
    this.labels = box.appendChild(document.createElement("canvas"));
    this.gl = this.picture.getContext("webgl2", { antialias: false, alpha: false });
    if (!this.gl) return;
    this.nodes = program(this.gl, NODES, DISC);
    this.lines = program(this.gl, ENDS, LINE);
    this.ending = new AbortController();
    this.listen();
  }

  get isDrawn() {
    return Boolean(this.gl);
  }

  show(map) {
    const { gl } = this;
    this.map = map;
    this.byRank = inTurns(map);
    this.view = { x: 0, y: 0, zoom: 1 / reach(map) };
    this.places = buffer(gl, gl.ARRAY_BUFFER, map.places);
    this.sizes = buffer(gl, gl.ARRAY_BUFFER, map.sizes);
    this.ends = buffer(gl, gl.ELEMENT_ARRAY_BUFFER, map.ends);
    this.draw();
  }

  /** Mark a node and its edges; -1 marks none. */
  choose(node, neighbours) {
    this.chosen = node;
    this.ownEnds = buffer(this.gl, this.gl.ELEMENT_ARRAY_BUFFER, Uint32Array.from(neighbours.flatMap((other) => [node, other])));
    this.ownCount = 2 * neighbours.length;
    this.draw();
  }

  /** Move to a node, in one step for readers who want no motion. */
  fly(node) {
    const from = { ...this.view };
    const close = Math.min(CLOSE, Math.max(2, Math.sqrt(this.map.count) / 6));
    const to = { x: this.map.places[2 * node], y: this.map.places[2 * node + 1], zoom: Math.max(close, from.zoom) };
    const began = performance.now();
    const length = matchMedia("(prefers-reduced-motion: reduce)").matches ? 1 : FLIGHT_MS;
    const step = () => {
      const share = Math.min((performance.now() - began) / length, 1);
      const eased = share * share * (3 - 2 * share);
      for (const name of ["x", "y"]) this.view[name] = from[name] + (to[name] - from[name]) * eased;
      this.view.zoom = from.zoom * (to.zoom / from.zoom) ** eased;
      this.draw();
      if (share < 1) requestAnimationFrame(step);
    };
    step();
  }

  end() {
    this.ending?.abort();
    this.gl?.getExtension("WEBGL_lose_context")?.loseContext();
    this.box.replaceChildren();
  }

  // ── what the reader does ───────────────────────────────────────────────────────────────────────────────

  listen() {
    const options = { signal: this.ending.signal };
    const on = (name, act) => this.box.addEventListener(name, act, { ...options, passive: false });
    const pointers = new Map();
    let moved = 0;
    on("pointerdown", (event) => {
      moved = pointers.size ? NEAR : 0; // two fingers choose nothing
      pointers.set(event.pointerId, event);
      this.box.setPointerCapture(event.pointerId);
    });
    on("pointermove", (event) => {
      const last = pointers.get(event.pointerId);
      if (!last) return;
      const other = [...pointers.values()].find((each) => each.pointerId !== event.pointerId);
      if (other) this.zoomBy(distance(event, other) / distance(last, other), other);
      else this.move(last.clientX - event.clientX, event.clientY - last.clientY);
      moved += distance(event, last);
      pointers.set(event.pointerId, event);
    });
    on("pointerup", (event) => {
      pointers.delete(event.pointerId);
      if (moved < 5) this.pick(event);
    });
    on("pointercancel", (event) => pointers.delete(event.pointerId));
    on("wheel", (event) => { event.preventDefault(); this.zoomBy(Math.exp(-event.deltaY / 400), event); });
    on("keydown", (event) => this.key(event));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw(), options);
    const resized = new ResizeObserver(() => this.draw());
    resized.observe(this.box);
    this.ending.signal.addEventListener("abort", () => resized.disconnect());
  }

  key(event) {
    const moves = { ArrowLeft: [-60, 0], ArrowRight: [60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };
    if (event.key in moves) this.move(...moves[event.key]);
    else if (event.key === "+" || event.key === "=") this.zoomBy(1.4);
    else if (event.key === "-") this.zoomBy(1 / 1.4);
    else return;
    event.preventDefault();
  }

  move(right, up) {
    const { x, y } = this.scale();
    this.view.x += (2 * right) / this.box.clientWidth / x;
    this.view.y += (2 * up) / this.box.clientHeight / y;
    this.draw();
  }

  /** Zoom around the place of an event, or around the middle. */
  zoomBy(factor, event) {
    const before = event && this.placeOf(event);
    this.view.zoom = Math.min(Math.max(this.view.zoom * factor, 0.5), 400);
    if (before) {
      const after = this.placeOf(event);
      this.view.x += before.x - after.x;
      this.view.y += before.y - after.y;
    }
    this.draw();
  }

  /** Tell the node nearest to a click, if one is near. */
  pick(event) {
    const at = this.placeOf(event);
    const { x, y } = this.scale();
    const [width, height] = [(this.box.clientWidth / 2) * x, (this.box.clientHeight / 2) * y];
    let [best, nearest] = [-1, NEAR];
    for (let node = 0; node < this.map.count; node += 1) {
      const away = Math.hypot((this.map.places[2 * node] - at.x) * width, (this.map.places[2 * node + 1] - at.y) * height)
        - this.radius(node);
      if (away < nearest) [best, nearest] = [node, away];
    }
    if (best >= 0) this.onChoose(best);
  }

  // ── places ─────────────────────────────────────────────────────────────────────────────────────────────

  /** Return the factors from the map to the picture, which reaches from -1 to 1. */
  scale() {
    const { clientWidth: width, clientHeight: height } = this.box;
    const least = Math.min(width, height);
    return { x: (0.92 * this.view.zoom * least) / width, y: (0.92 * this.view.zoom * least) / height };
  }

  placeOf({ clientX, clientY }) {
    const { left, top, width, height } = this.box.getBoundingClientRect();
    const { x, y } = this.scale();
    return {
      x: this.view.x + ((2 * (clientX - left)) / width - 1) / x,
      y: this.view.y - ((2 * (clientY - top)) / height - 1) / y,
    };
  }

  grown() {
    return Math.min(Math.max(this.view.zoom ** 0.5, 1), 3) * (this.map.count > 5_000 ? 0.8 : 1.6);
  }

  /** Return the radius of a node in pixels of the page. */
  radius(node) {
    return Math.min(Math.max((1.5 + Math.sqrt(this.map.sizes[node])) * this.grown(), 2), 40) / 2;
  }

  // ── drawing ────────────────────────────────────────────────────────────────────────────────────────────

  draw() {
    if (this.isWaiting || !this.map) return;
    this.isWaiting = true;
    requestAnimationFrame(() => { this.isWaiting = false; if (!this.ending.signal.aborted) this.drawNow(); });
  }

  drawNow() {
    const { gl, map } = this;
    const pixels = devicePixelRatio || 1;
    const [width, height] = [this.box.clientWidth, this.box.clientHeight];
    for (const canvas of [this.picture, this.labels]) {
      canvas.width = width * pixels;
      canvas.height = height * pixels;
    }
    gl.viewport(0, 0, this.picture.width, this.picture.height);
    gl.clearColor(...this.colour("--card", 1));
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
    const faint = Math.min(Math.max(10 / Math.sqrt(map.edges + 1), 0.03), 0.4);
    this.drawLines(this.ends, map.ends.length, this.colour("--dim", faint * Math.min(Math.sqrt(this.view.zoom), 3)));
    if (this.chosen >= 0) this.drawLines(this.ownEnds, this.ownCount, this.colour("--accent", 0.9));
    this.begin(this.nodes);
    this.attribute(this.nodes, "size", this.sizes, 1);
    gl.uniform1f(this.nodes.at("grown"), this.grown() * pixels);
    this.drawNodes(map.documents, map.count - map.documents, "--entity");
    this.drawNodes(0, map.documents, "--document");
    this.drawLabels(pixels, width, height);
  }

  begin(used) {
    const { gl } = this;
    gl.useProgram(used.program);
    const { x, y } = this.scale();
    gl.uniform2f(used.at("centre"), this.view.x, this.view.y);
    gl.uniform2f(used.at("scale"), x, y);
    this.attribute(used, "place", this.places, 2);
  }

  attribute(used, name, values, length) {
    const { gl } = this;
    const place = gl.getAttribLocation(used.program, name);
    gl.bindBuffer(gl.ARRAY_BUFFER, values);
    gl.enableVertexAttribArray(place);
    gl.vertexAttribPointer(place, length, gl.FLOAT, false, 0, 0);
  }

  drawLines(ends, count, colour) {
    const { gl } = this;
    this.begin(this.lines);
    gl.uniform4f(this.lines.at("colour"), ...colour);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, ends);
    gl.drawElements(gl.LINES, count, gl.UNSIGNED_INT, 0);
  }

  drawNodes(first, count, colour) {
    this.gl.uniform4f(this.nodes.at("colour"), ...this.colour(colour, 0.9));
    this.gl.drawArrays(this.gl.POINTS, first, count);
  }

  /** Return a colour of the page, #rrggbb or #rgb, as four numbers. */
  colour(name, alpha) {
    const hex = getComputedStyle(this.box).getPropertyValue(name).trim().slice(1);
    const parts = hex.length === 3 ? [...hex].map((digit) => digit + digit) : hex.match(/../g);
    return [...parts.map((part) => parseInt(part, 16) / 255), alpha];
  }

  /** Write the names of the largest nodes in view that do not touch each other, the chosen one first. */
  drawLabels(pixels, width, height) {
    const { map } = this;
    const pen = this.labels.getContext("2d");
    pen.setTransform(pixels, 0, 0, pixels, 0, 0);
    pen.font = "12px system-ui, sans-serif";
    pen.textBaseline = "middle";
    pen.lineWidth = 4;
    pen.lineJoin = "round";
    const style = getComputedStyle(this.box);
    const { x, y } = this.scale();
    const taken = [];
    const write = (node, isChosen) => {
      const across = (((map.places[2 * node] - this.view.x) * x + 1) / 2) * width;
      const down = ((1 - (map.places[2 * node + 1] - this.view.y) * y) / 2) * height;
      if (across < 0 || down < 8 || across > width || down > height - 8) return false;
      const words = excerpt(map.names[node], 32);
      const begin = across + this.radius(node) + 3;
      const box = { left: begin - 2, right: begin + pen.measureText(words).width + 4, top: down - 9, bottom: down + 9 };
      const isHidden = taken.some((each) => each.left < box.right && box.left < each.right && each.top < box.bottom && box.top < each.bottom);
      if (!isChosen && (isHidden || box.right > width)) return true;
      taken.push(box);
      pen.strokeStyle = style.getPropertyValue("--card");
      pen.strokeText(words, begin, down);
      pen.fillStyle = style.getPropertyValue(isChosen ? "--accent" : "--ink");
      pen.fillText(words, begin, down);
      if (isChosen) {
        pen.lineWidth = 2;
        pen.strokeStyle = style.getPropertyValue("--accent");
        pen.beginPath();
        pen.arc(across, down, this.radius(node) + 3, 0, 7);
        pen.stroke();
        pen.lineWidth = 4;
      }
      return true;
    };
    if (this.chosen >= 0) write(this.chosen, true);
    let seen = 0;
    for (const node of this.byRank) {
      if (taken.length >= LABELS || seen >= LOOKED_AT) break;
      if (node !== this.chosen && write(node, false)) seen += 1;
    }
  }
}

/** Return the nodes by rank: the largest name, the largest document, the second name, and so on. */
function inTurns({ count, documents }) {
  const order = new Uint32Array(count);
  let [name, document] = [documents, 0];
  for (let place = 0; place < count; place += 1) {
    const isName = name < count && (document >= documents || name - documents <= document);
    order[place] = isName ? name++ : document++;
  }
  return order;
}

/** Return the radius of a circle around almost all nodes. */
function reach({ places, count }) {
  const radii = Float32Array.from({ length: count }, (_, node) => Math.hypot(places[2 * node], places[2 * node + 1])).sort();
  return Math.max(radii[Math.floor(0.98 * count)] ?? 1, 0.05);
}

function distance(one, other) {
  return Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY);
}

function buffer(gl, kind, values) {
  const made = gl.createBuffer();
  gl.bindBuffer(kind, made);
  gl.bufferData(kind, values, gl.STATIC_DRAW);
  return made;
}

function program(gl, vertices, fragments) {
  const made = gl.createProgram();
  for (const [kind, source] of [[gl.VERTEX_SHADER, vertices], [gl.FRAGMENT_SHADER, fragments]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(made, shader);
  }
  gl.linkProgram(made);
  const places = new Map();
  return {
    program: made,
    at: (name) => {
      if (!places.has(name)) places.set(name, gl.getUniformLocation(made, name));
      return places.get(name);
    },
  };
}
