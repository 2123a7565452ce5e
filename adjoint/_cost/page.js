// The flame graph, and stretches of source that unfold.
"use strict";
const ROW = 24, frames = JSON.parse(document.getElementById("data").textContent).map(([name, seconds, above]) => ({ name, seconds, above, below: [] }));
for (const frame of frames) frames[frame.above]?.below.push(frame);
const all = frames[0];
const flame = document.getElementById("flame"), told = document.getElementById("told");
const time = s => s >= 1 ? `${s.toPrecision(3)} s` : s >= 1e-3 ? `${(s * 1e3).toPrecision(3)} ms` : `${(s * 1e6).toPrecision(3)} µs`;
const kind = (name, depth) => depth === 0 ? "all" : name === "backward" ? "back" : /\.step$/.test(name) ? "step" : /:\d+\)$/.test(name) ? "line" : "module";

// Boxes above the chosen one, whose way is `path`, keep the whole width.
function draw(path) {
  const boxes = [];
  let depth = 0;
  const box = (frame, left, width, way) => {
    const at = way.length - 1, { name, seconds, below } = frame;
    depth = Math.max(depth, at);
    boxes.push({ name, seconds, left, width, at, way, share: seconds / all.seconds });
    if (at < path.length - 1) return box(path[at + 1], 0, 1, [...way, path[at + 1]]);
    let x = left;
    for (const one of below) {
      const w = seconds ? width * one.seconds / seconds : 0;
      if (w > .0012) box(one, x, w, [...way, one]);
      x += w;
    }
  };
  box(path[0], 0, 1, [path[0]]);
  flame.style.height = `${ROW * (depth + 1) + 1}px`;
  flame.replaceChildren(...boxes.map(b => {
    const e = document.createElement("button");
    e.className = kind(b.name, b.at);
    e.style.cssText = `left:${100 * b.left}%;width:${100 * b.width}%;top:${ROW * b.at}px`;
    if (b.width * flame.clientWidth > 24) e.textContent = b.name; else e.style.padding = 0;
    const text = `${b.name}: ${time(b.seconds)}, ${(100 * b.share).toFixed(1)} % of the time`;
    e.title = text;
    e.setAttribute("aria-label", text);
    e.onmouseenter = e.onfocus = () => { told.textContent = text; };
    e.onclick = () => { draw(b.way); flame.children[b.way.length - 1].focus(); };
    return e;
  }));
}

draw([all]);
window.addEventListener("resize", () => draw([all]));
for (const button of document.querySelectorAll(".fold button"))
  button.onclick = () => { const fold = button.closest("tbody"); fold.nextElementSibling.hidden = false; fold.remove(); };
document.documentElement.dataset.ready = "";
