"use strict";
// The page of a graph. Cards, boxes and their layouts come from Python; here they are only moved apart where a box opens,
// and drawn where they can be seen.

const HEAD = 30, MARGIN = 16, SHEET = 5, FAR = 0.32, MOST = 4000;
const KINDS = ["op", "leaf", "parameter", "data", "box"];
const $ = (id) => document.getElementById(id);
const svg = $("picture"), world = $("world"), info = $("info"), said = $("said");
const escaped = (text) => String(text).replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);
const round = (value) => Math.round(value * 10) / 10;

let S, V, B, F, E;                       // strings, vertices, boxes, frames, edges
let reads = [], readers = [];            // edges by their ends
const view = { x: 0, y: 0, k: 1 };
const opened = new Set([0]);
let scene = null, chosen = null, drawn = null;

async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

// ---- where things are when boxes are open ------------------------------------------------------------------------

const cardOf = (type, id) => (type === 1 ? B[id].card : V[id].card);

// A box that opens needs more room: the plane is stretched under it, so that everything keeps its order and its neighbours.
function stretched(frame, grown) {
  const rows = [];                       // [top, bottom, more]
  for (const [, , , y, , h, layer] of frame.items) {
    const row = rows[layer] ||= [Infinity, -Infinity, 0];
    row[0] = Math.min(row[0], y - h / 2); row[1] = Math.max(row[1], y + h / 2);
  }
  const wider = [];                      // [left, right, more]
  const fx = (x) => wider.reduce((sum, [l, r, e]) => sum + e * Math.min(1, Math.max(0, (x - l) / (r - l))), x);
  const boxes = frame.items.filter(([type, id]) => type === 1 && grown.has(id));
  for (const [, id, x, , w, , layer] of boxes.sort((a, b) => a[2] + a[4] / 2 - b[2] - b[4] / 2)) {
    const need = grown.get(id), l = x - w / 2, r = x + w / 2, have = fx(r) - fx(l);
    if (have < need.w) wider.push([l, r, need.w - have]);
    rows[layer][2] = Math.max(rows[layer][2], need.h - (rows[layer][1] - rows[layer][0]));
  }
  const high = rows.filter((row) => row && row[2] > 0);
  const fy = (y) => high.reduce((sum, [t, b, e]) => sum + e * Math.min(1, Math.max(0, b > t ? (y - t) / (b - t) : y >= t ? 1 : 0)), y);
  return { fx, fy };
}

function arranged(box) {
  const frame = F[box], grown = new Map();
  for (const [type, id] of frame.items) if (type === 1 && opened.has(id)) {
    const inner = arranged(id);
    const h = inner.top + inner.h + inner.bottom, w = Math.max(inner.w, B[id].heading.length * 7.3 + 20) + 2 * MARGIN;
    grown.set(id, { w, h, inner });
  }
  const { fx, fy } = stretched(frame, grown);
  const items = [], at = new Map();
  frame.items.forEach(([type, id, x, y, w, h], index) => {
    const large = type === 1 && grown.get(id);
    const item = { type, id, x: large ? (fx(x - w / 2) + fx(x + w / 2)) / 2 : fx(x), y: fy(y), w: large ? large.w : w, h: large ? large.h : h, inner: large && large.inner, was: x };
    at.set(index, item); items.push(item);
  });
  const port = (item, tensor, type) => {
    const found = item.inner.items.find((one) => one.type === type && one.id === tensor);
    return item.x - item.w / 2 + (item.w - item.inner.w) / 2 + found.x;
  };
  const wires = frame.wires.map(([a, b, tensor, grad, starts, ...flat]) => {
    const from = at.get(a), to = at.get(b), points = [];
    for (let i = 0; i < flat.length; i += 2) points.push([fx(flat[i]), fy(flat[i + 1]), flat[i]]);
    const meet = (list, item, type) => {
      const x = item.inner ? port(item, tensor, type) : item.x + list[0][2] - item.was;
      if (list.length > 2 && list[1][2] === list[0][2]) list[1][0] = x;
      list[0][0] = x;
    };
    if (starts) { meet(points, from, 3); points[0][1] = from.y + from.h / 2; }
    points.reverse(); meet(points, to, 2); points[0][1] = to.y - to.h / 2; points.reverse();
    return { points, grad, tensor, tip: to.type < 2 && !to.inner };
  });
  const has = (type) => frame.items.some((item) => item[0] === type);
  return { items, wires, w: fx(frame.w), h: fy(frame.h), top: has(2) ? 0 : HEAD, bottom: has(3) ? 0 : MARGIN };
}

// All that is visible, in coordinates of the whole picture.
function arrange() {
  const root = arranged(0), cards = [], boxes = [], wires = [];
  const waiting = [[root, 0, 0]];
  while (waiting.length) {
    const [inside, left, top] = waiting.pop();
    for (const item of inside.items) {
      if (item.type > 1) continue;
      const x = left + item.x - item.w / 2, y = top + item.y - item.h / 2, one = { type: item.type, id: item.id, x, y, w: item.w, h: item.h };
      if (!item.inner) { cards.push(one); continue; }
      one.ports = item.inner.items.filter((port) => port.type === 2).map((port) => (item.w - item.inner.w) / 2 + port.x);
      boxes.push(one);
      waiting.push([item.inner, x + (item.w - item.inner.w) / 2, y + item.inner.top]);
    }
    for (const wire of inside.wires) {
      const points = wire.points.map(([x, y]) => [left + x, top + y]), xs = points.map((p) => p[0]);
      wires.push({ ...wire, points, l: Math.min(...xs), r: Math.max(...xs), t: Math.min(points[0][1], points.at(-1)[1]), b: Math.max(points[0][1], points.at(-1)[1]) });
    }
  }
  scene = { cards, boxes, wires, w: root.w, h: root.h };
  drawn = null;
}

// ---- drawing ------------------------------------------------------------------------------------------------------------

function curve(points) {
  let [x, y] = points[0], text = `M${round(x)} ${round(y)}`;
  for (const [nx, ny] of points.slice(1)) {
    const middle = round((y + ny) / 2);
    text += Math.abs(nx - x) < 0.05 ? `V${round(ny)}` : `C${round(x)} ${middle} ${round(nx)} ${middle} ${round(nx)} ${round(ny)}`;
    [x, y] = [nx, ny];
  }
  return text;
}

const isChosen = (card) => chosen && chosen.type === card.type && chosen.id === card.id;

function cardSvg(card, far) {
  const c = cardOf(card.type, card.id), soft = c.kind === "leaf" || c.kind === "parameter";
  const classes = [c.kind, c.alert && "alert", c.struck && "struck", c.result && "result", isChosen(card) && "chosen"].filter(Boolean).join(" ");
  const rect = (name, more, x, y) => `<rect class="${name}" x="${x}" y="${y}" width="${card.w - more}" height="${card.h - more}" rx="${soft ? 14 - more / 2 : 3}"/>`;
  let text = `<g class="${classes}" data-t="${card.type}" data-i="${card.id}" transform="translate(${round(card.x)} ${round(card.y)})">`;
  if (c.kind === "box") text += rect("sheet", 0, SHEET, SHEET);
  text += rect("card", 0, 0, 0);
  if (c.kind === "parameter") text += rect("inner", 6, 3, 3);
  if (far) return text + "</g>";
  text += `<text class="t" x="12" y="20">${escaped(c.title)}</text>`;
  if (c.side) text += `<text class="s" x="${card.w - 12}" y="20">${escaped(c.side)}</text>`;
  if (c.line) text += `<text x="12" y="37">${escaped(c.line)}</text>`;
  if (c.tag) text += `<text class="g" x="12" y="${c.line ? 52 : 35}">${escaped(c.tag)}</text>`;
  return text + "</g>";
}

function boxSvg(box) {
  const length = (B[box.id].heading.length + 2) * 7.3, crowded = (begin) => box.ports.filter((x) => x > begin - 6 && x < begin + length + 6).length;
  const left = 12, right = box.w - 12 - length, at = crowded(right) < crowded(left) ? right : left;
  return `<g class="opened${isChosen(box) ? " chosen" : ""}" data-t="1" data-i="${box.id}" transform="translate(${round(box.x)} ${round(box.y)})">` +
    `<rect class="open" width="${round(box.w)}" height="${round(box.h)}" rx="6"/><text class="h halo" x="${round(at)}" y="19" aria-hidden="true">− ${escaped(B[box.id].heading)}</text><text class="h" x="${round(at)}" y="19">− ${escaped(B[box.id].heading)}</text></g>`;
}

function draw() {
  const { clientWidth: width, clientHeight: height } = svg;
  world.setAttribute("transform", `translate(${round(view.x)} ${round(view.y)}) scale(${view.k})`);
  const l = -view.x / view.k, t = -view.y / view.k, r = l + width / view.k, b = t + height / view.k;
  if (drawn && drawn.k === view.k && l >= drawn.l && r <= drawn.r && t >= drawn.t && b <= drawn.b) return;
  const dx = (r - l) / 2, dy = (b - t) / 2;   // half a screen more on each side: small moves draw nothing
  drawn = { l: l - dx, t: t - dy, r: r + dx, b: b + dy, k: view.k };
  const seen = (x, y, w, h) => x < drawn.r && x + w > drawn.l && y < drawn.b && y + h > drawn.t;
  const far = view.k < FAR;
  const cards = scene.cards.filter((c) => seen(c.x, c.y, c.w, c.h)).slice(0, MOST);
  const wires = scene.wires.filter((w) => seen(w.l, w.t, w.r - w.l, w.b - w.t)).slice(0, 2 * MOST);
  const on = chosen && chosen.type === 0 ? chosen.id : -1;
  world.innerHTML = scene.boxes.filter((c) => seen(c.x, c.y, c.w, c.h)).map(boxSvg).join("") +
    wires.map((w) => `<path class="w${w.grad ? "" : " d"}${w.tensor === on ? " on" : ""}" d="${curve(w.points)}"${w.tip && !far ? ` marker-end="url(#ad-tip)"` : ""}/>`).join("") +
    cards.map((c) => cardSvg(c, far)).join("");
}

let asked = false;
function redraw() { if (!asked) { asked = true; requestAnimationFrame(() => { asked = false; draw(); }); } }

function fit() {
  const { clientWidth: width, clientHeight: height } = svg;
  const k = Math.min(1.1, (width - 48) / scene.w, (height - 48) / scene.h);
  view.k = Math.max(k, Math.min(0.75, (width - 48) / scene.w, 1), 0.02);
  view.x = (width - scene.w * view.k) / 2;
  view.y = scene.h * view.k < height - 48 ? (height - scene.h * view.k) / 2 : 24;
  redraw();
}

function zoom(factor, x = svg.clientWidth / 2, y = svg.clientHeight / 2) {
  const k = Math.min(4, Math.max(0.02, view.k * factor)), by = k / view.k;
  view.x = x - (x - view.x) * by; view.y = y - (y - view.y) * by; view.k = k;
  redraw();
}

const placeOf = (type, id) => scene.cards.find((c) => c.type === type && c.id === id) || scene.boxes.find((c) => c.type === type && c.id === id);

function reveal(type, id) {
  const place = placeOf(type, id);
  if (!place) return;
  const x = view.x + (place.x + Math.min(place.w, 300) / 2) * view.k, y = view.y + (place.y + Math.min(place.h, 80) / 2) * view.k;
  const w = svg.clientWidth, h = svg.clientHeight;
  if (x < 60 || x > w - 60 || y < 40 || y > h - 40) { view.x += w / 2 - x; view.y += h / 2 - y; }
  redraw();
}

// ---- opening, choosing --------------------------------------------------------------------------------------------------

function toggle(id, still = true) {
  const before = placeOf(1, id);
  opened.has(id) ? opened.delete(id) : opened.add(id);
  arrange();
  const after = placeOf(1, id);
  if (still && before && after) {        // what was pressed stays under the finger
    view.x += (before.x + before.w / 2 - after.x - after.w / 2) * view.k; view.y += (before.y - after.y) * view.k;
  }
  redraw();
}

function openTo(box) { for (; box > 0; box = B[box].parent) opened.add(box); }

function choose(type, id, far = true) {
  chosen = type === null ? null : { type, id };
  if (chosen) {
    if (!placeOf(type, id)) { openTo(type === 0 ? V[id].home : B[id].parent); arrange(); }
    if (far) reveal(type, id);
  }
  drawn = null; redraw(); inspect();
}

const link = (id) => `<button class="link" data-go="${id}">${escaped(V[id].card.title)}</button>`;

function inspect() {
  info.hidden = !chosen;
  if (!chosen) return;
  const rows = [], row = (name, value) => value !== "" && value !== undefined && rows.push(`<dt>${name}</dt><dd>${value}</dd>`);
  let title;
  if (chosen.type === 1) {
    const box = B[chosen.id], card = box.card;
    title = box.heading; row("holds", escaped(card.line)); row("where", escaped(box.path));
    rows.push(`<dt></dt><dd><button data-box="${chosen.id}">${opened.has(chosen.id) ? "Close" : "Open"}</button></dd>`);
  } else {
    const v = V[chosen.id];
    title = v.name || v.card.title;
    row("kind", { op: "operation", leaf: "leaf", parameter: "parameter", data: "data, takes no gradient" }[v.card.kind] + (v.card.result ? ", result" : ""));
    row("op", v.card.kind === "op" ? escaped(v.op) : ""); row("grad_fn", escaped(v.grad_fn)); row("module", escaped(v.home > 0 ? B[v.home].path : ""));
    row("shape", escaped(v.shape)); row("dtype", escaped(v.dtype)); row("value", escaped(v.value));
    row("line", v.where && `${escaped(v.where)}<br><code>${escaped(v.text)}</code>`);
    row("version", v.version ? `${v.version} (in-place writes)` : ""); row("cut", escaped(v.cut));
    row("reads", reads[chosen.id].map((e) => `${link(e[0])} <i>${escaped(S[e[2]])}</i>`).join("<br>"));
    row("read by", readers[chosen.id].slice(0, 24).map((e) => link(e[1])).join("<br>") + (readers[chosen.id].length > 24 ? `<br>and ${readers[chosen.id].length - 24} more` : ""));
    row("saved", v.freed ? `freed by ${escaped(v.freed)}` : v.saved.map(([name, shape, dtype, value, of, stale]) =>
      `<b>${escaped(S[name])}</b> ${escaped([S[shape], S[dtype], S[value]].filter(Boolean).join(" "))}` + (of >= 0 && of !== chosen.id ? ` = ${link(of)}` : "") + (S[stale] ? `<br><em>${escaped(S[stale])}</em>` : "")).join("<br>"));
  }
  info.innerHTML = `<header><h2>${escaped(title)}</h2><button id="shut" aria-label="Close the inspector">×</button></header><dl>${rows.join("")}</dl>`;
  said.textContent = `${title}. ${chosen.type === 0 ? V[chosen.id].card.line : B[chosen.id].card.line}`;
}

function step(dx, dy) {
  if (!chosen) { const first = scene.cards[0]; if (first) choose(first.type, first.id); return; }
  const here = placeOf(chosen.type, chosen.id);
  if (!here) return;
  let best = null;
  for (const one of scene.cards) {
    const x = one.x + one.w / 2 - here.x - here.w / 2, y = one.y + one.h / 2 - here.y - here.h / 2;
    const along = dx ? x * dx : y * dy, aside = Math.abs(dx ? y : x);
    if (along > 4 && (!best || along + 2 * aside < best.cost)) best = { one, cost: along + 2 * aside };
  }
  if (best) choose(best.one.type, best.one.id);
}

// ---- search ---------------------------------------------------------------------------------------------------------------

function find(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean), list = $("found");
  list.innerHTML = "";
  if (!words.length) { list.hidden = true; return; }
  const hits = [];
  for (let id = 0; id < V.length && hits.length < 40; id++) {
    const v = V[id];
    if (words.every((word) => v.search.includes(word))) hits.push(`<li><button class="link" data-go="${id}"><b>${escaped(v.name || v.card.title)}</b> ${escaped([v.name && v.op, v.card.line, v.where].filter(Boolean).join(" · "))}</button></li>`);
  }
  list.innerHTML = hits.join("") || "<li>nothing found</li>";
  list.hidden = false;
}

// ---- hands ----------------------------------------------------------------------------------------------------------------

function listen() {
  const fingers = new Map();
  let moved = 0, span = 0;
  svg.addEventListener("pointerdown", (e) => { fingers.set(e.pointerId, e); moved = 0; span = 0; });
  svg.addEventListener("pointermove", (e) => {
    const last = fingers.get(e.pointerId);
    if (!last) return;
    fingers.set(e.pointerId, e);
    if (fingers.size === 1) {
      moved += Math.abs(e.clientX - last.clientX) + Math.abs(e.clientY - last.clientY);
      if (moved > 4) { svg.setPointerCapture(e.pointerId); view.x += e.clientX - last.clientX; view.y += e.clientY - last.clientY; redraw(); }
    } else {
      const [a, b] = [...fingers.values()], now = Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY), area = svg.getBoundingClientRect();
      if (span) zoom(now / span, (a.clientX + b.clientX) / 2 - area.left, (a.clientY + b.clientY) / 2 - area.top);
      span = now; moved = 99;
    }
  });
  for (const name of ["pointerup", "pointercancel"]) svg.addEventListener(name, (e) => fingers.delete(e.pointerId));
  svg.addEventListener("click", (e) => {
    if (moved > 4) return;
    const target = e.target.closest("[data-i]");
    if (!target) { choose(null); return; }
    const type = +target.dataset.t, id = +target.dataset.i;
    if (type === 1 && (!opened.has(id) || e.target.closest(".h"))) toggle(id);
    choose(type, id, false);
  });
  svg.addEventListener("wheel", (e) => {
    e.preventDefault();
    const area = svg.getBoundingClientRect();
    if (e.ctrlKey || e.metaKey) zoom(Math.exp(-e.deltaY * 0.01), e.clientX - area.left, e.clientY - area.top);
    else { view.x -= e.deltaX; view.y -= e.deltaY; redraw(); }
  }, { passive: false });
  document.addEventListener("click", (e) => {
    const go = e.target.closest("[data-go]"), box = e.target.closest("[data-box]");
    if (go) { choose(0, +go.dataset.go); $("found").hidden = true; }
    else if (box) { toggle(+box.dataset.box); inspect(); }
    else if (e.target.id === "shut") choose(null);
    else if (!e.target.closest("#search")) $("found").hidden = true;
  });
  $("query").addEventListener("input", (e) => find(e.target.value));
  $("query").addEventListener("keydown", (e) => {
    const first = $("found").querySelector("[data-go]");
    if (e.key === "Enter" && first) { first.click(); svg.focus(); }
    if (e.key === "Escape") { e.target.value = ""; find(""); svg.focus(); }
  });
  $("all").addEventListener("click", () => { for (let i = 0; i < B.length; i++) opened.add(i); arrange(); fit(); });
  $("none").addEventListener("click", () => { opened.clear(); opened.add(0); arrange(); fit(); });
  $("fit").addEventListener("click", fit);
  $("in").addEventListener("click", () => zoom(1.25));
  $("out").addEventListener("click", () => zoom(0.8));
  document.addEventListener("keydown", (e) => {
    if (e.target.tagName === "INPUT" || e.ctrlKey || e.metaKey || e.altKey) return;
    const acts = {
      ArrowUp: () => step(0, -1), ArrowDown: () => step(0, 1), ArrowLeft: () => step(-1, 0), ArrowRight: () => step(1, 0),
      Escape: () => choose(null), "+": () => zoom(1.25), "=": () => zoom(1.25), "-": () => zoom(0.8), 0: fit, "/": () => $("query").focus(),
    };
    if (e.key === "Enter" && e.target === svg && chosen && chosen.type === 1) { toggle(chosen.id); inspect(); e.preventDefault(); return; }
    if (e.key === "Backspace" && chosen) { const up = chosen.type === 0 ? V[chosen.id].home : chosen.id; if (up > 0) { opened.delete(up); arrange(); choose(1, up); } return; }
    if (acts[e.key]) { acts[e.key](); e.preventDefault(); }
  });
  new ResizeObserver(() => { drawn = null; redraw(); }).observe(svg);
}

async function main() {
  const data = await unpacked($("data").textContent.trim());
  S = data.strings; E = data.edges; F = data.frames;
  const card = ([kind, title, side, line, tag, flags, width, height]) => ({
    kind: KINDS[kind], title: S[title], side: S[side], line: S[line], tag: S[tag], alert: flags & 1, struck: flags & 2, result: flags & 4, width, height,
  });
  V = data.vertices.map(([c, name, op, grad_fn, shape, dtype, value, where, text, freed, cut, version, home, saved]) => {
    const v = { card: card(c), name: S[name], op: S[op], grad_fn: S[grad_fn], shape: S[shape], dtype: S[dtype], value: S[value], where: S[where], text: S[text], freed: S[freed], cut: S[cut], version, home, saved };
    v.search = [v.name, v.op, v.grad_fn, v.where, v.shape].join(" ").toLowerCase();
    return v;
  });
  B = data.boxes.map(([c, heading, path, parent]) => ({ card: card(c), heading: S[heading], path: S[path], parent }));
  reads = V.map(() => []); readers = V.map(() => []);
  for (const edge of E) { readers[edge[0]].push(edge); reads[edge[1]].push(edge); }
  for (const box of data.opened) opened.add(box);
  arrange(); listen(); fit();
  if (B.length < 2) { $("all").hidden = $("none").hidden = true; }
  document.documentElement.dataset.ready = "1";
  window.graph = { toggle, choose, opened, view, fit, zoom, scene: () => scene, chosen: () => chosen };
}

main();
