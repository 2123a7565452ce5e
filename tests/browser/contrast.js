// Texts with less than 4.5:1 to the nearest opaque background behind them. What lies on a filled shape (.on-fill) is looked at by eye.
() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = colour => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); return [...canvas.getImageData(0, 0, 1, 1).data]; };
  const light = ([r, g, b]) => { const f = v => { v /= 255; return v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; }; return .2126 * f(r) + .7152 * f(g) + .0722 * f(b); };
  const behind = e => { for (; e; e = e.parentElement) { const c = rgba(getComputedStyle(e).backgroundColor); if (c[3] > 250) return c; } return [255, 255, 255]; };
  const opacity = e => { let all = 1; for (; e; e = e.parentElement) all *= +getComputedStyle(e).opacity; return all; };
  const poor = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode, e = node.parentElement;
    if (!node.textContent.trim() || !e.checkVisibility() || e.closest("script, option, .skip, .on-fill")) continue;
    const style = getComputedStyle(e);
    if (e.closest("svg") && style.fill === "none") continue; // the outline behind another text
    const ink = rgba(e.closest("svg") ? style.fill : style.color), paper = behind(e), faint = opacity(e);
    if (faint === 0) continue; // not there yet
    ink.splice(0, 3, ...[0, 1, 2].map(i => ink[i] * faint + paper[i] * (1 - faint)));
    const [a, b] = [light(ink), light(paper)].sort((x, y) => y - x), ratio = (a + .05) / (b + .05);
    if (ratio < 4.495) poor.push(`${ratio.toFixed(2)} ${node.textContent.trim().slice(0, 40)}`);
  }
  return poor;
}
