// The graph builder: shows a trace (see adjoint/viz/recording.py) step by step. Nothing here computes a gradient; numbers are only written.
"use strict";
{
  const { $, el, svg } = lab, still = matchMedia("(prefers-reduced-motion: reduce)");
  const examples = lab.data.examples;
  let whole, ex, paths, pinned = null, view, drawn, transport, timer = 0, goal = 0, editing = null, drafted = null;

  // ----- numbers: as adjoint.viz.telling writes them -----
  const flat = v => Array.isArray(v) ? v.flatMap(flat) : [v];
  const large = v => v !== null && typeof v === "object" && !Array.isArray(v);
  const shape = v => large(v) ? v.shape : Array.isArray(v) ? [v.length, ...shape(v[0])] : [];
  const trim = s => s.includes(".") ? s.replace(/\.?0+$/, "") : s;
  const num = v => {
    if (v === null || v === undefined) return "None";
    if (typeof v === "boolean") return v ? "True" : "False";
    if (typeof v === "string") return v === "inf" ? "∞" : v === "-inf" ? "−∞" : v;
    const size = Math.abs(v);
    const s = size && (size >= 1e5 || size < 5e-3) ? v.toExponential(1).replace("e+", "e") : trim(v.toFixed(size >= 100 ? 1 : 2));
    return (s === "-0" ? "0" : s).replace(/-/g, "−");
  };
  const rows = v => { while (Array.isArray(v) && v.length === 1 && Array.isArray(v[0])) v = v[0]; return !Array.isArray(v) ? [[v]] : !Array.isArray(v[0]) ? [v] : v; };
  const short = v => {
    if (large(v)) return v.shape.join("×");
    if (!Array.isArray(v)) return num(v);
    const all = flat(v);
    if (all.length === 1) return num(all[0]);
    if (v.length === 1 && Array.isArray(v[0])) return short(v[0]);
    return all.length > 8 ? shape(v).join("×") : "[" + v.map(short).join(" ") + "]";
  };
  const onCard = v => {
    if (large(v)) return short(v);
    const all = flat(v), sides = shape(v).filter(n => n !== 1);
    return all.length > 4 || sides.length > 1 ? shape(v).join("×") : short(all.length === 1 ? all[0] : all);
  };
  const showsCells = v => !large(v) && Array.isArray(v) && flat(v).length > 1 && flat(v).length <= 64 && rows(v).every(r => !Array.isArray(r[0]));

  // ----- the state: a function of the trace and the number of events that have happened -----
  const back = e => e.pass !== undefined;
  function stateAt(step) {
    const s = { made: new Set(), edges: new Set(), value: new Map(), grad: new Map(), stored: new Map(), carried: new Map(), freed: new Set(), line: new Map(), replaced: new Set(), printed: [], keeps: false, event: null };
    let pass = null;
    ex.events.slice(0, step).forEach((e, i) => {
      if (e.kind === "seed") { if (e.pass !== pass) { s.carried.clear(); s.grad.clear(); } pass = e.pass; s.keeps = !!e.keeps; s.grad.set(e.node, e.grad); }
      else if (e.kind === "leaf" || e.kind === "op") {
        s.made.add(e.node); s.value.set(e.node, ex.nodes[e.node].value);
        for (const k of e.edges || ex.edges.flatMap((d, k) => d.to === e.node ? [k] : [])) { s.edges.add(k); const from = ex.edges[k].from; if (!s.made.has(from)) { s.made.add(from); s.value.set(from, ex.nodes[from].value); } }
        if (ex.nodes[e.node].replaces !== undefined) s.replaced.add(ex.nodes[e.node].replaces);
        if (!back(e)) s.line.set(e.line, e.node);
      }
      else if (e.kind === "write") s.value.set(e.node, e.value);
      else if (e.kind === "grad" || e.kind === "accumulate") s.stored.set(e.node, e.after);
      else if (e.kind === "print") s.printed.push(e.text);
      else if (e.kind === "deliver") {
        const to = ex.edges[e.edge].from;
        s.carried.set(e.edge, e.grad); if (!s.keeps) s.freed.add(e.node);
        if (paths.get(e.pass + ":" + to) === 1) s.grad.set(to, e.grad);
      }
      else if (e.kind === "sum" || e.kind === "capture") s.grad.set(e.node, e.grad);
      else if (e.kind === "hook") s.grad.set(e.node, e.after);
      if (i === step - 1) s.event = e;
    });
    return s;
  }

  // ----- drawing: once for each trace and width -----
  const anyBackward = () => ex.events.some(back);
  function path(points, down) {
    return points.slice(1).reduce((d, [x, y], i) => {
      const [a, b] = points[i], m = (down ? y - b : x - a) / 2;
      return d + (down ? `C${a} ${b + m} ${x} ${y - m} ${x} ${y}` : `C${a + m} ${b} ${x - m} ${y} ${x} ${y}`);
    }, `M${points[0].join(" ")}`);
  }
  const fit = (node, text, room, size, wide = .605) => { node.style.fontSize = Math.min(size, room / Math.max(1, text.length) / wide) + "px"; return node; };
  function cells(value, size, x, y) { // filled: positive, open: negative; the area says how large
    const m = rows(value), top = Math.max(...flat(value).map(v => Math.abs(+v) || 0)) || 1;
    return svg("g", { class: "cells" }, ...m.slice(0, 8).flatMap((row, i) => row.slice(0, 8).map((v, j) => {
      const k = Math.max(size / 4, Math.sqrt((Math.abs(+v) || 0) / top) * (size - 2)), o = (size - k) / 2;
      return svg("rect", { x: x + j * size + o, y: y + i * size + o, width: k, height: k, class: v < 0 ? "neg" : "" });
    })));
  }
  function chip(cls) { return svg("g", { class: "chip " + cls }, svg("rect", { rx: 4 }), svg("text", { dy: ".36em" })); }
  function fill(c, value) {
    const [box, text] = c.children, plain = typeof value === "string" && value.startsWith("\u200b");
    c.querySelector(".cells")?.remove();
    let w, h = 22;
    if (!plain && showsCells(value) && (rows(value).length > 1 || onCard(value).length > 9)) {
      const m = rows(value); w = Math.min(8, m[0].length) * 11 + 8; h = Math.min(8, m.length) * 11 + 8; text.textContent = "";
      c.append(cells(value, 11, -w / 2 + 4, -h / 2 + 4));
    } else { text.textContent = plain ? value.slice(1) : onCard(value); w = text.textContent.length * 7.6 + 10; }
    for (const [k, v] of Object.entries({ x: -w / 2, y: -h / 2, width: w, height: h })) box.setAttribute(k, v);
  }
  function draw() {
    const W = $("canvas").clientWidth || 800, down = W < 620, plan = ex.layout[down ? "down" : "right"];
    const side = down ? 14 : 26, top = 40, low = 44, scale = Math.max(down ? .8 : .74, Math.min(1, (W - 2 * side) / Math.max(1, plan.width)));
    const width = plan.width + 2 * side, height = Math.max(plan.height + top + low, down ? 0 : 330 / scale), dx = side, dy = top + (height - plan.height - top - low) / 2;
    view = { down, scale };
    const root = $("graph"), fully = Math.max(W, width * scale);
    root.setAttribute("viewBox", `0 0 ${width} ${height}`);
    root.style.width = Math.round(width * scale) + "px"; root.style.height = Math.round(height * scale) + "px"; root.style.minWidth = root.style.width;
    $("canvas").classList.toggle("wide", fully > W);
    const eg = svg("g"), ng = svg("g"), cg = svg("g"), stage = svg("g", { transform: `translate(${dx} ${dy})` }, eg, ng, cg);
    root.replaceChildren(stage);
    drawn = { nodes: [], edges: [], chips: cg, moving: [], sum: chip("sum"), dx, dy };
    ex.edges.forEach((edge, k) => {
      const d = path(plan.edges[k], down), f = svg("path", { class: "f", d, pathLength: edge.grad ? 1 : null }), b = svg("path", { class: "b", d, pathLength: 1 });
      const e = svg("g", { class: "edge" + (edge.grad ? "" : " dead") }, f, b), c = chip("g");
      eg.append(e); cg.append(c);
      const n = f.getTotalLength(), p = f.getPointAtLength(n), q = f.getPointAtLength(0), half = f.getPointAtLength(n / 2), turn = down ? 90 : 0;
      e.append(svg("path", { class: "head", d: "M0 0L-8 -4.5V4.5Z", transform: `translate(${p.x} ${p.y}) rotate(${turn})` }), svg("path", { class: "bhead", d: "M0 0L10 -5.5V5.5Z", transform: `translate(${q.x} ${q.y}) rotate(${turn})` }));
      if (edge.cut) e.append(svg("g", { class: "cut", transform: `translate(${half.x} ${half.y})` }, svg("path", { d: "M-5 -7L5 7M5 -7L-5 7", transform: "scale(.7)" }), svg("text", { y: -12 }, edge.cut)));
      for (const line of e.querySelectorAll(".cut path")) { line.style.stroke = "var(--bad)"; line.style.strokeDasharray = "none"; line.style.strokeWidth = "2.5"; }
      c.style.opacity = 0;
      drawn.edges.push({ e, f, c, n });
    });
    ex.nodes.forEach((n, i) => ng.append(card(n, i, plan.nodes[i])));
    drawn.sum.style.opacity = 0; cg.append(drawn.sum);
  }
  function card(n, i, [x, y]) {
    const { w, h } = n, L = -w / 2 + 12, R = w / 2 - 12, T = -h / 2, round = n.kind === "leaf" || n.kind === "parameter" ? 18 : 3;
    const e = svg("g", { class: `node k${n.kind}` + (n.kind === "op" && !n.grad_fn ? " cutoff" : ""), transform: `translate(${x} ${y})`, tabindex: 0, role: "button" });
    e.append(svg("rect", { class: "halo", x: -w / 2 - 5, y: T - 5, width: w + 10, height: h + 10, rx: round + 5 }), svg("rect", { class: "box", x: -w / 2, y: T, width: w, height: h, rx: round }));
    if (n.kind === "parameter") e.append(svg("rect", { class: "inner", x: -w / 2 + 3.5, y: T + 3.5, width: w - 7, height: h - 7, rx: 15 }));
    const put = (cls, x, y, s, anchor = "start") => { const t = svg("text", { class: cls, x, y, "text-anchor": anchor }, s); e.append(t); return t; };
    const found = { e, x, y, h, w }, number = n.kind === "number";
    const tag = n.op || n.kind, tagged = !number && n.kind !== "parameter" && n.name.length * 7.9 + tag.length * 6.2 < w - 30;
    fit(put("name", number ? 0 : L, T + 21, n.name, number ? "middle" : "start"), n.name, w - 20, 13);
    if (tagged) put("tag", R, T + 20, tag, "end");
    if (!number) { found.val = put("val", L, T + 43, ""); found.room = w - 24; }
    if (n.requires_grad) {
      e.append(svg("line", { class: "sep", x1: -w / 2 + 10, x2: w / 2 - 10, y1: T + 53, y2: T + 53 }));
      found.lab = put("lab", L, T + 71, ""); found.gr = put("gr", R, T + 71.5, "", "end");
    }
    const saved = [...new Set((n.saved || []).map(v => v.of === i ? "result" : ex.nodes[v.of].name.split(".").pop()))];
    if (saved.length) { e.append(svg("rect", { class: "svbox", x: L, y: T - 15, width: 7, height: 7 })); put("sv", L + 12, T - 8, "saves " + saved.join(", ")); }
    e.onclick = () => { pinned = pinned === i ? null : i; show(transport.at, false); };
    e.onkeydown = k => { if (k.key === "Enter") { e.onclick(); k.preventDefault(); } };
    drawn.nodes.push(found);
    return e;
  }

  // ----- showing a step -----
  const ease = t => t < .5 ? 4 * t ** 3 : 1 - (-2 * t + 2) ** 3 / 2;
  function move(c, edge, from, to, ms) {
    const at = t => { const p = edge.f.getPointAtLength(edge.n * t); c.setAttribute("transform", `translate(${p.x} ${p.y})`); };
    if (!ms) return at(to);
    const start = performance.now(); c.run = start; at(from);
    const tick = now => { if (c.run !== start || !c.isConnected) return; const t = Math.max(0, Math.min(1, (now - start) / ms)); at(from + (to - from) * ease(t)); if (t < 1) requestAnimationFrame(tick); };
    requestAnimationFrame(tick);
  }
  let last = -1;
  function show(step, animate = step === last + 1) {
    last = step;
    const s = stateAt(step), e = s.event, ms = animate && !still.matches ? 650 / Math.sqrt(+$("speed").value) : 0;
    $("graph").classList.toggle("still", !ms);
    for (const c of drawn.moving) c.remove();
    drawn.moving = [];
    drawn.nodes.forEach((d, i) => {
      const n = ex.nodes[i], c = d.e.classList, made = s.made.has(i), value = s.value.has(i) ? s.value.get(i) : n.value;
      const grad = n.leaf ? s.stored.get(i) ?? null : s.grad.get(i), arrives = n.leaf && grad === null ? s.grad.get(i) : undefined;
      c.toggle("made", made); c.toggle("now", !!e && e.node === i); c.toggle("pinned", pinned === i); c.toggle("replaced", s.replaced.has(i));
      c.toggle("freed", s.freed.has(i) && !(e && e.kind === "deliver" && e.node === i)); c.toggle("failed", !!e && e.kind === "error" && e.node === i);
      if (d.val) { const t = value === null ? "" : onCard(value); d.val.textContent = t; fit(d.val, t, d.room, 15); d.e.querySelector(".cells")?.remove(); const m = showsCells(value) ? rows(value) : [], size = Math.min(11, 24 / m.length); if (t.includes("×") && m.length > 1 && m.length < 5 && m[0].length < 9) d.e.append(cells(value, size, d.w / 2 - 12 - m[0].length * size, -d.h / 2 + 26)); }
      if (d.gr) {
        const none = grad === undefined || grad === null, t = none ? (n.leaf ? "None" : "") : onCard(grad);
        d.gr.textContent = t; d.gr.classList.toggle("none", none);
        const label = n.leaf ? ".grad" : none ? "" : d.w < 120 ? "grad" : "gradient", fits = (label.length + 1) * 6.2 + t.length * 8.6 < d.w - 22;
        d.lab.textContent = fits ? label : ""; fit(d.gr, t, fits ? d.w - 26 - label.length * 6.2 : d.w - 24, 14);
      }
      d.e.setAttribute("aria-label", `${n.kind} ${n.name}, value ${short(value)}` + (grad !== undefined && grad !== null ? `, gradient ${short(grad)}` : arrives !== undefined ? `, ${short(arrives)} has arrived` : ""));
      d.e.setAttribute("aria-hidden", String(!made)); d.e.setAttribute("tabindex", made ? 0 : -1);
    });
    drawn.edges.forEach((d, k) => {
      const v = s.carried.get(k), current = !!e && e.kind === "deliver" && e.edge === k, merging = !!e && e.kind === "sum" && e.edges.includes(k);
      d.e.classList.toggle("made", s.edges.has(k)); d.e.classList.toggle("gone", v !== undefined); d.e.classList.toggle("old", v !== undefined && !current);
      d.c.style.opacity = v === undefined ? 0 : 1; d.c.run = 0;
      if (v !== undefined) { fill(d.c, v); move(d.c, d, current ? .95 : .5, merging && !view.down ? .38 : .5, current || merging ? ms : 0); }
    });
    if (e && e.kind === "op" && ms) for (const k of e.edges) { const c = chip(""), d = drawn.edges[k]; fill(c, s.value.get(ex.edges[k].from)); drawn.chips.append(c); drawn.moving.push(c); move(c, d, .05, .6, ms); setTimeout(() => { c.style.opacity = 0; }, ms); }
    badge(e);
    caption(e); listing(s, e); inspector(s, e); output(s, e); track(step);
    lab.state.set({ ex: ex.id === "own" ? null : ex.id, node: pinned });
  }
  function badge(e) { // what is added up at a node
    const text = !e ? "" : e.kind === "sum" ? e.terms.map(short).join(" + ").replace(/\+ −/g, "− ") + " = " + short(e.grad) : e.kind === "accumulate" && e.before !== null ? `${short(e.before)} + ${short(e.grad)} = ${short(e.after)}` : e.kind === "hook" ? `${short(e.before)} → ${short(e.after)}` : e.kind === "seed" ? `start: ${short(e.grad)}` : "";
    const shown = text && text.length < 30;
    drawn.sum.style.opacity = shown ? 1 : 0;
    drawn.nodes.forEach((d, i) => d.e.classList.toggle("badged", !!shown && view.down && e.node === i));
    if (!shown) return;
    const d = drawn.nodes[e.node]; fill(drawn.sum, "\u200b" + text);
    const half = +drawn.sum.firstChild.getAttribute("width") / 2, width = $("graph").viewBox.baseVal.width, x = Math.max(half + 4, Math.min(width - half - 4, d.x + drawn.dx)) - drawn.dx;
    drawn.sum.setAttribute("transform", `translate(${x} ${view.down ? d.y - d.h / 2 - 17 : d.y + d.h / 2 + 17})`);
  }
  const tokens = e => e.formula.map(t => [t].flat()), plain = e => tokens(e).map(t => t[0]).join("");
  function caption(e) {
    $("caption").className = "caption " + (!e ? "fwd" : e.kind === "error" ? "error" : e.kind === "print" ? "print fwd" : back(e) ? "bwd" : "fwd");
    $("formula").replaceChildren(...(e ? tokens(e).map(([t, k]) => el("b", { class: k || "" }, t)) : [el("b", { class: "m" }, "Nothing has run yet.")]));
    $("says").textContent = e ? (e.kind === "error" ? e.says.split("\n")[0] : e.says) : ex.events.length ? "Step, or press Forward pass." : "This program made no tensor.";
    if (e) $("live").textContent = `Step ${transport.at} of ${ex.events.length}. ${plain(e)}. ${e.says}`;
  }
  function listing(s, e) {
    const failed = e && e.kind === "error" ? e.line : null, where = e && e.kind !== "error" ? e.line : null;
    const made = e && e.kind === "deliver" ? ex.nodes[e.node] : null;
    const lines = ex.code.split("\n").map((text, i) => {
      const n = i + 1, line = { text, cls: failed === n ? "bad" : where === n ? (back(e) ? "on back" : "on") : "" };
      const of = s.line.get(n), node = of === undefined ? null : ex.nodes[of];
      const got = ex.events.slice(0, transport.at).filter(v => v.line === n && v.kind === "accumulate").slice(-3);
      if (got.length) { line.note = got.length > 2 ? "gradients" : got.map(v => `${ex.nodes[v.node].name}.grad ${onCard(v.after)}`).join("  "); line.noteCls = "g"; }
      else if (node && node.kind !== "parameter") line.note = onCard(s.value.get(of));
      return line;
    });
    const box = $("code"), top = box.scrollTop;
    lab.code(box, lines);
    const mark = (n, span, cls) => { // the expression that runs, or whose rule runs
      const text = box.children[n - 1]?.querySelector(".text"), line = ex.code.split("\n")[n - 1];
      if (text && span) text.replaceChildren(...lab.paint(line.slice(0, span[0])), el("mark", { class: cls }, ...lab.paint(line.slice(...span))), ...lab.paint(line.slice(span[1])));
    };
    if (made) mark(made.line, made.span, "g"); else if (e && e.kind === "op") mark(e.line, e.span, back(e) ? "g" : "");
    box.scrollTop = top;
    const on = box.querySelector(".on, .bad"); // in its own box only: the page must not jump
    if (on && (on.offsetTop - box.offsetTop < box.scrollTop || on.offsetTop - box.offsetTop + on.offsetHeight > box.scrollTop + box.clientHeight)) box.scrollTop = on.offsetTop - box.offsetTop - box.clientHeight / 2;
  }
  function output(s, e) {
    const box = $("printed"), error = e && e.kind === "error" ? { type: e.type, message: e.message, line: e.line } : null;
    box.hidden = !s.printed.length && !error;
    box.replaceChildren(...(box.hidden ? [] : [lab.said({ output: s.printed.join("\n"), error })]));
  }
  function matrix(v) {
    if (large(v)) return [`${v.shape.join("×")}, norm ${num(v.norm)}: ${v.first.map(num).join(" ")} …`];
    return !showsCells(v) || rows(v).length === 1 ? [short(v)] : [el("table", {}, ...rows(v).map(r => el("tr", {}, ...r.map(x => el("td", {}, num(x))))))];
  }
  const KINDS = { leaf: "leaf", parameter: "parameter (leaf)", op: "result of an operation", data: "data, no gradient", number: "Python number" };
  function inspector(s, e) {
    const i = pinned ?? (e && e.node !== null ? e.node : null), box = $("inspect");
    $("follow").hidden = pinned === null;
    $("inspected").textContent = i !== null && s.made.has(i) ? ex.nodes[i].name : "Inspector";
    $("inspected").className = i !== null && s.made.has(i) ? "mono" : "";
    if (i === null || !s.made.has(i)) return box.replaceChildren(el("p", { class: "small" }, pinned === null ? "Step forward, or choose a node in the graph." : "This node has not been made yet."));
    const n = ex.nodes[i], dl = el("dl"), soft = t => el("i", {}, t), add = (k, v, cls = "") => dl.append(el("dt", {}, k), el("dd", { class: cls }, ...[v].flat()));
    add("kind", soft(KINDS[n.kind] + (n.kind === "op" && !n.grad_fn ? ", not recorded" : "") + (s.replaced.has(i) ? ", overwritten since" : "")));
    add("value", s.value.get(i) === null ? soft("not kept") : matrix(s.value.get(i)));
    if (n.kind !== "number") add("type", `${n.dtype || "float32"} (${(n.shape || []).join(", ")})` + (n.version ? `, version ${n.version}` : ""));
    if (n.grad_fn) add("grad_fn", n.grad_fn);
    if (n.group !== undefined) add("module", `${ex.groups[n.group].name}, ${ex.groups[n.group].kind}`);
    const freed = s.freed.has(i) && !(e && e.kind === "deliver" && e.node === i);
    if (n.saved?.length) add("saved", n.saved.map(v => `${v.of === i ? "its result" : ex.nodes[v.of].name}${freed || ex.nodes[v.of].kind === "number" ? "" : " = " + short(v.value)}`).join(", ") + (freed ? " (freed)" : ""));
    else if (n.grad_fn) add("saved", soft("nothing"));
    if (n.requires_grad && n.leaf) { const v = s.stored.get(i) ?? null; add(".grad", matrix(v), v === null ? "" : "g"); }
    else if (n.requires_grad) { const v = s.grad.get(i); add("gradient", v === undefined ? soft("has not arrived") : matrix(v), v === undefined ? "" : "g"); add(".grad", soft("None: not a leaf, not kept")); }
    const gave = ex.events.slice(0, transport.at).filter(v => v.kind === "deliver" && v.node === i);
    if (gave.length) add("rule", gave.map(v => el("div", { class: "g" }, plain(v))));
    add("line", String(n.line));
    box.replaceChildren(dl);
  }
  function track(step) {
    const t = $("track"), n = Math.max(1, ex.events.length), W = t.clientWidth || 600, x = k => 7 + k / n * (W - 14), gap = n > 80 ? 0 : 1;
    t.replaceChildren(...ex.events.map((e, k) => svg("line", { class: "seg" + (back(e) ? " b" : "") + (k < step ? " done" : ""), x1: x(k) + gap, x2: x(k + 1) - gap, y1: 12, y2: 12 })), svg("circle", { class: "knob", cx: x(step), cy: 12, r: 7 }));
    $("forward").disabled = stretch(false) === null; $("backward").disabled = stretch(true) === null;
  }

  // ----- going -----
  function stretch(backward) { // [from, to]: the next run of forward, or backward, events
    let k = last; while (k < ex.events.length && back(ex.events[k]) !== backward) k++;
    if (k >= ex.events.length) return null;
    const from = k; while (k < ex.events.length && back(ex.events[k]) === backward) k++;
    return [from, k];
  }
  const halt = () => { clearInterval(timer); timer = 0; };
  function run(backward) {
    const found = stretch(backward);
    if (!found) return;
    transport.stop(); halt();
    if (found[0] > last) transport.go(found[0]);
    goal = found[1];
    const tick = () => { if (last >= goal) return halt(); const before = last; transport.go(last + 1); reach(); if (last !== before + 1 || last >= goal) halt(); };
    tick();
    if (last < goal) timer = setInterval(tick, (backward ? 1300 : 900) / +$("speed").value);
  }
  function reach() { // keep the node of this step in sight: in its own box, and on a narrow screen in the page
    const e = ex.events[last - 1]; if (!e || e.node === null) return;
    const target = drawn.nodes[e.kind === "deliver" ? ex.edges[e.edge].from : e.node].e, r = target.getBoundingClientRect(), box = $("canvas"), b = box.getBoundingClientRect();
    if (r.left < b.left + 8 || r.right > b.right - 8) box.scrollBy({ left: r.left + r.width / 2 - b.left - b.width / 2, behavior: still.matches ? "auto" : "smooth" });
    if (!view.down) return;
    const low = document.querySelector(".dock").getBoundingClientRect().top, by = r.top < 40 ? r.top - 40 : r.bottom > low - 60 ? r.bottom - low + 60 : 0;
    if (by) scrollBy({ top: by, behavior: still.matches ? "auto" : "smooth" });
  }
  function use(trace, step = 0) {
    whole = trace;
    see(trace.overview ? { ...trace.overview, id: trace.id, about: trace.about } : trace, step);
  }
  function see(trace, step) { // a trace, or the one with its modules folded
    halt(); transport?.stop();
    ex = trace; last = -2;
    $("fold").hidden = !whole.overview;
    $("fold").textContent = ex === whole ? "Fold modules" : `Show all ${whole.nodes.length} nodes`;
    paths = new Map();
    for (const e of ex.events) if (e.kind === "deliver") { const k = e.pass + ":" + ex.edges[e.edge].from; paths.set(k, (paths.get(k) || 0) + 1); }
    $("about").textContent = ex.about || (ex.truncated ? `The first ${ex.events.length} events; the program had more.` : "");
    $("about").hidden = !$("about").textContent;
    draw();
    if (transport) transport.go(Math.min(step, ex.events.length));
  }
  function choose(id, step = 0, node = null) {
    const found = examples.find(e => e.id === id) || examples[0];
    pinned = node; edit(false); drafted = null; use(found, step); picker.pick(found.id); tools();
  }

  // ----- editing, where a Python is there to run it -----
  function tools() {
    const button = (text, act, cls = "") => el("button", { type: "button", class: cls, onclick: act }, text);
    $("tools").replaceChildren(...(lab.data.pass ? ["as far as it has come"] : !lab.live ? [`recorded with adjoint ${lab.data.version}`] : editing ? [button("Cancel", () => edit(false), "quiet"), button("Run", runSource, "main")] : [button("Edit", () => edit(true))]));
  }
  function edit(on) {
    editing = on; $("editor").hidden = !on; $("code").hidden = on; $("printed").hidden = on || !$("printed").childNodes.length; $("about").hidden = on || !$("about").textContent;
    if (on) { $("source").value = drafted ?? ex.code; $("source").style.height = `${Math.min(26, $("source").value.split("\n").length + 2) * 1.8 * .78}rem`; $("source").focus(); }
    tools();
  }
  async function runSource() {
    const code = $("source").value; drafted = code;
    $("tools").replaceChildren("running …");
    const answer = await lab.run(code), trace = answer.trace || { code, nodes: [], edges: [], groups: [], events: [], layout: { right: { nodes: [], edges: [], width: 0, height: 0 }, down: { nodes: [], edges: [], width: 0, height: 0 } } };
    if (!answer.trace) { // it was stopped from outside: the message is all there is
      const e = answer.error;
      trace.events = [...(answer.output ? answer.output.replace(/\n$/, "").split("\n").map(text => ({ kind: "print", node: null, line: null, text, says: "The program printed this.", formula: [text] })) : []), { kind: "error", node: null, says: e.message, formula: [e.type], ...e }];
    }
    pinned = null; edit(false); use({ id: "own", ...trace }, answer.error ? trace.events.length : 0); picker.pick(null);
    document.body.dataset.runs = +(document.body.dataset.runs || 0) + 1;
  }
  $("source").onkeydown = k => {
    if (k.key === "Enter" && (k.ctrlKey || k.metaKey)) { runSource(); k.preventDefault(); }
    else if (k.key === "Escape") { edit(false); k.preventDefault(); }
    else if (k.key === "Enter") { // as deep as the line above, deeper after a colon
      const at = k.target.selectionStart, line = k.target.value.slice(0, at).split("\n").pop();
      k.target.setRangeText("\n" + line.match(/^ */)[0] + (/:\s*$/.test(line) ? "    " : ""), at, k.target.selectionEnd, "end"); k.preventDefault();
    }
  };

  // ----- the debugger: a pass that stands still in a Python, and does what it is told -----
  async function obey(command) {
    const asked = [...$("moves").children, $("command")], say = text => { $("said").textContent += `(debug) ${command}\n${text}`; $("said").scrollTop = 1e9; };
    asked.forEach(e => { e.disabled = true; });
    const answer = await fetch("debug", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ command }) }).then(r => r.ok ? r.json() : null, () => null);
    if (!answer) return say("The program does not answer: it has gone on, or has ended.\n");
    say(answer.output); pinned = null;
    use(answer.pass, answer.pass.begins);
    asked.forEach(e => { e.disabled = answer.over; });
    document.body.dataset.obeyed = +(document.body.dataset.obeyed || 0) + 1;
  }
  if (lab.data.prompt) {
    $("debugger").hidden = false; $("said").textContent = lab.data.said; $("said").scrollTop = 1e9;
    $("moves").append(...["back", "next", "step", "continue"].map(move => el("button", { type: "button", onclick: () => obey(move) }, move[0].toUpperCase() + move.slice(1))));
    $("ask").onsubmit = k => { k.preventDefault(); const command = $("command").value; $("command").value = ""; obey(command).then(() => $("command").focus()); };
  }

  // ----- beginning -----
  for (const [kind, label] of [["leaf", "leaf"], ["parameter", "parameter"], ["op", "operation"], ["data", "data, no gradient"], ["saved", "saved for backward"], ["grad", "gradient"]]) {
    const s = svg("svg", { viewBox: "0 0 28 18", "aria-hidden": "true" });
    if (kind === "grad") s.append(svg("path", { class: "c-grad line double", d: "M27 9H8" }), svg("path", { class: "c-grad fill", d: "M0 9l10-6v12z" }));
    else if (kind === "saved") s.append(svg("rect", { class: "c-saved fill", x: 9, y: 4, width: 10, height: 10 }));
    else { const g = svg("g", { class: "node k" + kind }, svg("rect", { class: "box", x: 1, y: 1.5, width: 26, height: 15, rx: kind === "leaf" || kind === "parameter" ? 7.5 : 2 })); if (kind === "parameter") g.append(svg("rect", { class: "inner", x: 4, y: 4.5, width: 20, height: 9, rx: 4.5 })); s.append(g); }
    $("legend").append(el("span", { class: "key" }, s, label));
  }
  const asked = key => lab.state.get(key), begin = { ex: asked("ex"), step: +(asked("step") || examples[0].begins || 0), node: asked("node") === null ? null : +asked("node") };
  const picker = lab.choices($("pick"), "Example", examples.map(e => [e.id, e.title]), examples[0].id, id => choose(id));
  ex = examples[0];
  use(examples.find(e => e.id === begin.ex) || examples[0]);
  transport = lab.transport($("transport"), { count: () => ex.events.length + 1, show: at => { if (at !== last + 1) halt(); show(at); reach(); }, at: 0, pace: () => 1500 / +$("speed").value });
  $("scrub").append(document.querySelector("#transport .field"));
  $("forward").onclick = () => run(false); $("backward").onclick = () => run(true);
  $("fold").onclick = () => { pinned = null; ex === whole ? use(whole) : see(whole, 0); };
  $("follow").onclick = () => { pinned = null; show(last, false); };
  addEventListener("keydown", k => {
    if (k.target.matches?.("input, textarea, select") || k.ctrlKey || k.metaKey || k.altKey) return;
    if (k.key === "End") { transport.stop(); halt(); transport.go(ex.events.length); k.preventDefault(); }
    if (k.key === "Escape" && pinned !== null) { pinned = null; show(last, false); }
  });
  addEventListener("hashchange", () => choose(asked("ex"), +(asked("step") || 0), asked("node") === null ? null : +asked("node")));
  lab.onwidth(() => { draw(); show(last, false); });
  choose(begin.ex, begin.step, begin.node);
  lab.graph = { state: () => stateAt(last), get trace() { return ex; } };
}
