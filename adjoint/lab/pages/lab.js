// What all pages of the lab share: the theme, small makers of elements, listings, charts, the transport, and "commit before you look".
// A classic script: pages opened as files may not load modules.
"use strict";
const lab = {
  data: {},
  live: document.documentElement.hasAttribute("data-live"), // a Python is there to run programs
  store: {
    get(key, otherwise) {
      try {
        return JSON.parse(localStorage.getItem("adjoint-lab:" + key)) ?? otherwise;
      } catch {
        return otherwise;
      }
    },
    set(key, value) {
      try {
        localStorage.setItem("adjoint-lab:" + key, JSON.stringify(value));
      } catch {
        /* a page may be denied storage */
      }
    },
  },
};

if (self !== top) document.documentElement.dataset.framed = ""; // inside a lesson, which has a title and a navigation of its own

// ----- the address: #step=3&theme=dark leads into the middle of a page -----
lab.state = {
  get(key) {
    return new URLSearchParams(location.hash.slice(1)).get(key);
  },
  set(values) {
    const all = new URLSearchParams(location.hash.slice(1));
    for (const key in values) values[key] === null ? all.delete(key) : all.set(key, values[key]);
    try {
      history.replaceState(null, "", "#" + all);
    } catch {
      /* files are denied that in some browsers */
    }
  },
};

// ----- light and dark -----
{
  const root = document.documentElement,
    asked = lab.state.get("theme") || lab.store.get("theme");
  if (asked === "dark" || asked === "light") root.dataset.theme = asked;
  const dark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme"),
      name = () => {
        button.textContent = dark() ? "Light" : "Dark";
      };
    button.onclick = () => {
      root.dataset.theme = dark() ? "light" : "dark";
      lab.store.set("theme", root.dataset.theme);
      if (lab.state.get("theme")) lab.state.set({ theme: root.dataset.theme });
      name();
    };
    name();
    const here = document.querySelector(".top nav [aria-current]");
    if (here) here.scrollIntoView({ inline: "center", block: "nearest" });
  });
}

// ----- elements -----
lab.$ = id => document.getElementById(id);
lab.el = (tag, attributes = {}, ...children) => lab.fill(document.createElement(tag), attributes, children);
lab.svg = (tag, attributes = {}, ...children) =>
  lab.fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
lab.fill = (element, attributes, children) => {
  for (const key in attributes) {
    const value = attributes[key];
    if (key.startsWith("on")) element[key] = value;
    else if (value !== undefined && value !== null && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat().filter(child => child !== null && child !== undefined && child !== false));
  return element;
};
lab.rich = text => text.split(/`([^`]+)`/).map((part, i) => (i % 2 ? lab.el("code", {}, part) : part)); // `code` in a sentence
lab.num = (value, digits = 2) => {
  if (value === null || value === undefined) return "None";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : value < 0 ? "−∞" : "nan";
  const size = Math.abs(value);
  const text = size >= 1e5 || (size > 0 && size < 0.5 * 10 ** -digits) ? value.toExponential(1).replace("e+", "e") : value.toFixed(digits);
  return (+text === 0 ? text.replace("-", "") : text).replace(/-/g, "−");
};

// ----- listings: a line is a string, or {text, cls, note, n} -----
lab.paint = source => {
  const parts = [];
  source.replace(
    /(#.*)|("[^"]*"|'[^']*')|\b(for|in|if|else|while|with|as|def|class|return|import|from|try|except|lambda|not|True|False|None|del)\b|(?<![\w.])(\d+\.?\d*(?:e-?\d+)?)\b|[^#"'\w]+|\w+|["']/g,
    (all, comment, quoted, word, number) => {
      const cls = comment ? "c" : quoted ? "q" : word ? "k" : number ? "n" : "";
      parts.push(cls ? lab.el("span", { class: cls }, all) : all);
    },
  );
  return parts;
};
lab.code = (list, lines) => {
  let n = 0;
  list.classList.add("code");
  list.replaceChildren(
    ...lines.map(line => {
      if (typeof line === "string") line = { text: line };
      const number = line.n === undefined ? ++n : line.n;
      return lab.el(
        "li",
        { class: line.cls || "", "data-n": number },
        lab.el("span", { class: "text" }, ...lab.paint(line.text)),
        line.note && lab.el("span", { class: "note " + (line.noteCls || "") }, line.note),
      );
    }),
  );
};
lab.listing = (source, marks = {}) => {
  const list = lab.el("ol", {});
  lab.code(
    list,
    source
      .replace(/\n+$/, "")
      .split("\n")
      .map((text, i) => ({ text, ...marks[i + 1] })),
  );
  return list;
};

// ----- a choice of one: buttons that say which is pressed -----
lab.choices = (box, legend, options, chosen, onchange) => {
  const buttons = options.map(([value, label]) =>
    lab.el(
      "button",
      {
        type: "button",
        "aria-pressed": String(value === chosen),
        "data-value": value,
        onclick: () => {
          pick(value);
          onchange(value);
        },
      },
      label,
    ),
  );
  const pick = value => buttons.forEach(b => b.setAttribute("aria-pressed", String(b.dataset.value === String(value))));
  box.classList.add("choices");
  box.replaceChildren(lab.el("legend", {}, legend), ...buttons);
  return { pick };
};

// ----- a chart: lines over numbers, linear or logarithmic, with a place that can be marked -----
// series: {points: [[x, y], ...], cls, ghost?: from which index on the line is only a ghost, dots?}
lab.chart = (svg, { series, x = {}, y = {}, height = 204, at = null, label = "" }) => {
  const width = Math.max(220, svg.clientWidth || svg.parentElement.clientWidth),
    left = y.room || 46,
    right = 14,
    top = y.label ? 26 : 14,
    bottom = x.label ? 42 : 26;
  const all = series.flatMap(s => s.points).filter(p => p.every(Number.isFinite));
  const scale = (axis, values, from, to, apart) => {
    // ticks are at least so far apart
    const log = axis.log,
      f = log ? v => Math.log10(Math.max(v, axis.floor || 1e-300)) : v => v;
    let low = axis.min !== undefined ? f(axis.min) : Math.min(...values.map(f)),
      high = axis.max !== undefined ? f(axis.max) : Math.max(...values.map(f));
    if (!(high > low)) {
      low -= 0.5;
      high += 0.5;
    }
    const place = v =>
      from + ((Math.min(Math.max(f(v), low - 0.02 * (high - low)), high + 0.02 * (high - low)) - low) / (high - low)) * (to - from);
    const ticks = [];
    if (axis.hidden) return { place, ticks };
    if (log) {
      const step = Math.max(1, Math.ceil((high - low) / Math.min(axis.ticks || 6, Math.abs(to - from) / apart)));
      for (let e = Math.ceil(low - 1e-9); e <= high + 1e-9; e += step) ticks.push([10 ** e, lab.power(e)]);
    } else {
      const rough = (high - low) / Math.min(axis.ticks || 4, Math.abs(to - from) / apart),
        unit = 10 ** Math.floor(Math.log10(rough)),
        step = [1, 2, 5, 10].map(k => k * unit).find(s => s >= rough && (!axis.whole || s >= 1)) || 1;
      for (let v = Math.ceil(low / step - 1e-9) * step; v <= high + 1e-9; v += step)
        ticks.push([v, String(+v.toFixed(6)).replace("-", "−")]);
    }
    return { place, ticks };
  };
  const X = scale(
      x,
      all.map(p => p[0]),
      left,
      width - right,
      42,
    ),
    Y = scale(
      y,
      all.map(p => p[1]),
      height - bottom,
      top,
      22,
    );
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.style.height = height + "px";
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", label);
  const path = points => "M" + points.map(p => `${X.place(p[0]).toFixed(1)} ${Y.place(p[1]).toFixed(1)}`).join("L");
  svg.replaceChildren(
    ...[
      ...Y.ticks.map(([v, text]) =>
        lab.svg(
          "g",
          {},
          lab.svg("line", { class: "axis", x1: left, x2: width - right, y1: Y.place(v), y2: Y.place(v) }),
          lab.svg("text", { class: "num", x: left - 6, y: Y.place(v) + 4, "text-anchor": "end" }, text),
        ),
      ),
      ...X.ticks.map(([v, text]) =>
        lab.svg(
          "text",
          {
            class: "num",
            x: X.place(v),
            y: height - bottom + 17,
            "text-anchor": X.place(v) < left + 8 ? "start" : X.place(v) > width - right - 12 ? "end" : "middle",
          },
          text,
        ),
      ),
      x.label && lab.svg("text", { x: width - right, y: height - 6, "text-anchor": "end" }, x.label),
      y.label && lab.svg("text", { x: 2, y: 12 }, y.label),
      at !== null && lab.svg("line", { class: "guide", x1: X.place(at), x2: X.place(at), y1: top, y2: height - bottom }),
    ].filter(Boolean),
  );
  for (const s of series) {
    const good = s.points.filter(p => p.every(Number.isFinite)),
      until = s.ghost === undefined ? good.length : s.ghost;
    if (until < good.length) svg.append(lab.svg("path", { class: `line ghost ${s.cls}`, d: path(good) }));
    if (until > 1) svg.append(lab.svg("path", { class: `line ${s.cls}`, d: path(good.slice(0, until)) }));
    for (const p of s.dots ? good : [])
      svg.append(lab.svg("circle", { class: `fill dot ${s.cls}`, cx: X.place(p[0]), cy: Y.place(p[1]), r: 3 }));
    const here = at === null ? null : good.find(p => Math.abs(Math.log(p[0] / at) || p[0] - at) < 1e-9);
    if (here) svg.append(lab.svg("circle", { class: `fill dot ${s.cls}`, cx: X.place(here[0]), cy: Y.place(here[1]), r: 4.5 }));
  }
  return { X: X.place, Y: Y.place };
};
lab.power = e =>
  e === 0
    ? "1"
    : e === 1
      ? "10"
      : "10" +
        String(Math.round(e))
          .replace("-", "⁻")
          .replace(/\d/g, d => "⁰¹²³⁴⁵⁶⁷⁸⁹"[d]);

// ----- the transport: reset, back, play, step, a slider, arrow keys -----
const ICONS = {
  reset: "M2 2h2.5v12H2zM14 2v12L5 8z",
  back: "M11 2v12L2.5 8zM12 2h2v12h-2z",
  play: "M3 1.5v13L14 8z",
  pause: "M3 2h4v12H3zM9 2h4v12H9z",
  step: "M5 2v12l8.500-6zM2 2h2v12H2z",
};
lab.icon = name => lab.svg("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" }, lab.svg("path", { d: ICONS[name] }));
// count() is how many steps there are, show(at) draws one; keys work wherever no other control wants them.
lab.transport = (box, { count, show, at = 0, pace = 700, name = "step", key = "step" }) => {
  let timer = 0;
  const asked = lab.state.get(key);
  if (asked !== null && Number.isFinite(+asked)) at = +asked;
  const last = () => count() - 1,
    button = (id, label, act) =>
      lab.el(
        "button",
        { type: "button", class: "icon" + (id === "play" ? " main" : ""), id, "aria-label": label, title: label, onclick: act },
        lab.icon(id),
      );
  const slider = lab.el("input", {
      type: "range",
      id: "at",
      min: 0,
      "aria-label": name,
      oninput: () => {
        stop();
        go(+slider.value);
      },
    }),
    out = lab.el("output", { for: "at" });
  const buttons = {
    reset: button("reset", "To the start", () => {
      stop();
      go(0);
    }),
    back: button("back", "Back", () => {
      stop();
      go(at - 1);
    }),
    play: button("play", "Play", () => (timer ? stop() : start())),
    step: button("step", "Step", () => {
      stop();
      go(at + 1);
    }),
  };
  const icon = () => {
    buttons.play.replaceChildren(lab.icon(timer ? "pause" : "play"));
    buttons.play.setAttribute("aria-label", timer ? "Pause" : "Play");
  };
  const stop = () => {
    clearInterval(timer);
    timer = 0;
    icon();
  };
  const start = () => {
    if (at >= last()) go(0);
    timer = setInterval(
      () => {
        go(at + 1);
        if (at >= last()) stop();
      },
      typeof pace === "function" ? pace() : pace,
    );
    icon();
  };
  const go = to => {
    at = Math.max(0, Math.min(last(), to));
    slider.max = last();
    slider.value = at;
    out.textContent = `${at}/${last()}`;
    buttons.reset.disabled = buttons.back.disabled = at === 0;
    buttons.step.disabled = at >= last();
    lab.state.set({ [key]: at });
    show(at);
  };
  box.classList.add("transport");
  box.replaceChildren(...Object.values(buttons), lab.el("label", { class: "field" }, lab.el("span", { class: "vis" }, name), slider, out));
  addEventListener("keydown", event => {
    if (event.target.matches?.("input, textarea, select, [contenteditable], .plane") || event.ctrlKey || event.metaKey || event.altKey)
      return;
    const act =
      { ArrowRight: "step", ArrowLeft: "back", Home: "reset" }[event.key] ||
      (event.key === " " && !event.target.matches?.("button, a, summary") ? "play" : "");
    if (!act) return;
    if (!buttons[act].disabled) buttons[act].onclick();
    event.preventDefault();
  });
  return {
    go,
    stop,
    get at() {
      return at;
    },
  };
};

// Draws anew when the width changed: drawings are made for the pixels they have.
lab.onwidth = draw => {
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth !== width) {
      width = innerWidth;
      draw();
    }
  });
};

// ----- programs: {output, trace | error: {type, message, line}} -----
lab.run = async (code, trace = true) => {
  let answer;
  try {
    answer = await fetch("run", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ code, trace }) });
  } catch {
    return {
      output: "",
      error: { type: "Lab", message: "The lab does not answer. Is `python -m adjoint lab` still running?", line: null },
    };
  }
  if (!answer.ok) return { output: "", error: { type: "Lab", message: (await answer.text()).trim(), line: null } };
  return answer.json();
};
lab.said = ({ output = "", error = null }) =>
  lab.el(
    "pre",
    { class: "said" + (error ? " error" : ""), tabindex: "0" },
    output.replace(/\n$/, ""),
    error && output ? "\n" : "",
    error && lab.el("span", { class: "kind" }, error.type + (error.line ? `, line ${error.line}` : "")),
    error && error.message ? ": " + error.message : "",
  );

// ----- commit before you look: a claim or a question, and the answer only after one's own -----
lab.aside = ({ id, ask, picks, right, why }) => {
  const key = "aside:" + id,
    box = lab.el("article", { class: "panel aside" }),
    given = lab.store.get(key);
  const reason = lab.el("p", { class: "why", "aria-live": "polite" });
  const buttons = picks.map((pick, i) =>
    lab.el(
      "button",
      {
        type: "button",
        "aria-pressed": "false",
        onclick: () => {
          lab.store.set(key, i);
          reveal(i);
        },
      },
      ...lab.rich(pick),
    ),
  );
  const reveal = chosen => {
    buttons.forEach((b, i) => {
      b.setAttribute("aria-pressed", String(i === chosen));
      b.classList.toggle("true", i === right);
    });
    reason.replaceChildren(
      lab.el("b", { class: chosen === right ? "good" : "bad" }, chosen === right ? "Yes. " : "Not so. "),
      ...lab.rich(why),
    );
  };
  box.append(lab.el("h3", {}, ...lab.rich(ask)), lab.el("div", { class: "picks" }, ...buttons), reason);
  if (Number.isInteger(given) && given < picks.length) reveal(given);
  return box;
};
addEventListener("DOMContentLoaded", () => {
  // after the page's own scripts, which are deferred
  const place = lab.$("asides"),
    asides = lab.data.asides || [];
  if (!asides.length) return;
  place.hidden = false;
  place.replaceChildren(lab.el("h2", {}, "Commit before you look"), lab.el("div", { class: "asides" }, ...asides.map(lab.aside)));
});

// ----- an editor: a text area with numbered lines, one of which can be marked -----
lab.editor = (source, run) => {
  const numbers = lab.el("div", { class: "numbers", "aria-hidden": "true" }),
    band = lab.el("div", { class: "band", hidden: true });
  const area = lab.el("textarea", {
    spellcheck: "false",
    autocomplete: "off",
    autocapitalize: "off",
    wrap: "off",
    "aria-label": "Program",
  });
  const fit = () => {
    const count = area.value.split("\n").length;
    area.rows = count;
    numbers.textContent = Array.from({ length: count }, (_, i) => i + 1).join("\n");
  };
  area.value = source;
  area.oninput = () => {
    fit();
    band.hidden = true;
  };
  area.onblur = () => {
    area.scrollLeft = 0;
  };
  area.onkeydown = event => {
    // Tab stays with the browser, so that the keyboard finds its way out
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      run();
    } else if (event.key === "Enter") {
      // the next line is indented like this one
      const before = area.value.slice(0, area.selectionStart),
        line = before.slice(before.lastIndexOf("\n") + 1),
        indent = line.match(/^ */)[0] + (line.trimEnd().endsWith(":") ? "    " : "");
      event.preventDefault();
      area.setRangeText("\n" + indent, area.selectionStart, area.selectionEnd, "end");
      area.oninput();
    }
  };
  fit();
  return {
    element: lab.el("div", { class: "editor" }, band, numbers, area),
    area,
    get value() {
      return area.value;
    },
    set value(text) {
      area.value = text;
      fit();
      band.hidden = true;
    },
    mark(line) {
      band.hidden = !line;
      if (line) band.style.setProperty("--line", line - 1);
    },
  };
};
