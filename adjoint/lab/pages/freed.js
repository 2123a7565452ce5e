"use strict";
addEventListener("DOMContentLoaded", () => {
  const { $, svg } = lab,
    endings = [
      ["once", "backward()"],
      ["retain", "retain_graph=True"],
      ["never", "no backward"],
    ];
  let ending = endings.some(([key]) => key === lab.state.get("ending")) ? lab.state.get("ending") : "once";
  const run = () => lab.data[ending],
    kB = bytes => (bytes / 1024).toFixed(bytes < 1024 ? 2 : 1) + " KiB";
  const held = (r, step) => {
    // two operations may save the same tensor, which is in memory once
    const alive = new Map(r.saved.filter(piece => piece.from <= step && step < piece.until).map(piece => [piece.memory, piece.bytes]));
    return [...alive.values()].reduce((sum, bytes) => sum + bytes, 0);
  };
  const margin = () => (($("lives").clientWidth || 600) < 480 ? 104 : 150);

  // One line per saved tensor, from the step that saved it to the one that gave it back.
  function lives(r, at) {
    const box = $("lives"),
      width = Math.max(260, box.clientWidth || 600),
      row = 34,
      left = margin(),
      right = 14,
      top = 6,
      height = top + r.saved.length * row + 24,
      steps = r.steps.length;
    const X = step => left + (step / steps) * (width - left - right);
    box.setAttribute("viewBox", `0 0 ${width} ${height}`);
    box.style.height = height + "px";
    box.setAttribute("role", "img");
    const forward = r.steps.findIndex(step => /gradient|out of use/.test(step.says));
    box.replaceChildren(
      svg("rect", { class: "now-band", x: X(at), y: 0, width: X(1) - X(0), height: height - 20, rx: 3 }),
      svg("line", { class: "guide", x1: X(forward), x2: X(forward), y1: 0, y2: height - 20 }),
      svg("text", { x: X(forward) - 6, y: height - 5, "text-anchor": "end" }, "forward"),
      svg("text", { x: X(forward) + 6, y: height - 5 }, ending === "never" ? "gone" : "backward"),
      ...r.saved.flatMap((piece, i) => {
        const y = top + i * row,
          alive = piece.from <= at && at < piece.until,
          gone = at >= piece.until;
        return [
          svg("text", { class: "strong", x: 0, y: y + 14 }, `${piece.name}  ${piece.shape.join("×")}`),
          svg("text", { x: 0, y: y + 27 }, `for ${r.functions[piece.owner].replace("Backward0", "")} · ${kB(piece.bytes)}`),
          svg("rect", { class: "life", x: X(piece.from), y: y + 5, width: X(piece.until) - X(piece.from), height: 20, rx: 4 }),
          ...(at >= piece.from
            ? [
                svg("rect", {
                  class: `life past ${alive ? "alive" : "gone"}`,
                  x: X(piece.from),
                  y: y + 5,
                  width: X(Math.min(at + 1, piece.until)) - X(piece.from),
                  height: 20,
                  rx: 4,
                }),
              ]
            : []),
          ...(gone ? [svg("text", { class: "halo", x: Math.min(X(piece.until) + 6, width - right - 30), y: y + 19 }, "freed")] : []),
        ];
      }),
    );
    box.setAttribute(
      "aria-label",
      r.saved
        .map(piece => `${piece.name}, ${kB(piece.bytes)}, ${at < piece.from ? "not saved yet" : at < piece.until ? "held" : "freed"}`)
        .join("; "),
    );
  }

  function draw(at) {
    const r = run(),
      step = r.steps[at],
      last = at === r.steps.length - 1,
      now = held(r, at),
      saved = r.saved.filter(piece => piece.from === at),
      error = last && r.error;
    lab.code(
      $("code"),
      r.code.map((text, i) => ({
        text,
        cls: error && i + 1 === step.line ? "hot" : i + 1 === step.line ? (i >= 6 ? "on back" : "on") : "",
      })),
    );
    $("said").replaceChildren(...(error ? [lab.said({ error: r.error })] : []));
    $("held").textContent = kB(now);
    $("held").dataset.bytes = now;
    const stairs = r.steps.flatMap((_, k) => [
      [k, held(r, k) / 1024],
      [k + 1, held(r, k) / 1024],
    ]);
    lab.chart($("bytes"), {
      height: 130,
      x: { min: 0, max: r.steps.length, hidden: true },
      y: { min: 0, label: "KiB", room: margin(), ticks: 3 },
      series: [{ cls: "c-saved", points: stairs, ghost: 2 * (at + 1) }],
      label: `The graph holds ${kB(now)} at step ${at}`,
    });
    lives(r, at);
    const list = pieces => pieces.map(piece => piece.name).join(" and ");
    const nextLost = r.saved.filter(piece => piece.owner === step.node && at >= 6);
    $("story").replaceChildren(
      ...lab.rich(
        error
          ? "The values that the rules need are gone, so the second pass cannot run. The message says which line freed them, and the fix."
          : last && ending === "retain"
            ? "The second pass works, and adds every gradient once more. Not told to retain the graph, it frees it on its way."
            : last
              ? "Nobody can reach the graph any more: it is freed without a pass, the moment its last result is dropped."
              : saved.length
                ? `\`${r.functions[step.node]}\` will need ${saved.map(p => `\`${p.name}\``).join(" and ")}, so the graph keeps ${saved.length > 1 ? "them" : "it"}: ${kB(saved.reduce((s, p) => s + p.bytes, 0))}.`
                : at < 6
                  ? `\`${r.functions[step.node]}\` saves nothing: its derivative does not depend on the values.`
                  : step.node
                    ? `The gradient reaches \`${step.node}\`${nextLost.length ? `. Its rule uses ${list(nextLost)}${ending === "once" ? ` and then gives ${nextLost.length > 1 ? "them" : "it"} back` : ", and the graph keeps holding on"}` : ", whose rule needs no saved value"}.`
                    : "The pass is over, and " +
                      (now ? "the graph still holds everything: it could go again." : "the graph holds nothing any more."),
      ),
    );
    lab.state.set({ ending });
  }
  lab.choices($("ending"), "then", endings, ending, value => {
    ending = value;
    transport.go(Math.min(transport.at, run().steps.length - 1));
  });
  const transport = lab.transport($("transport"), { count: () => run().steps.length, show: draw, at: 9 }),
    again = () => transport.go(transport.at);
  lab.held = held;
  again();
  lab.onwidth(again);
});
