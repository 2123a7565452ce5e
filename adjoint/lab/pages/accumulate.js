"use strict";
addEventListener("DOMContentLoaded", () => {
  const { $, num, svg, el } = lab,
    { x, y, start: home } = lab.data,
    N = x.length;

  // ----- the model mean((w x + b - y)²) and the two loops; a test compares them with adjoint -----
  const mean = f => x.reduce((sum, _, i) => sum + f(i), 0) / N;
  const line = {
    loss: (w, b) => mean(i => (w * x[i] + b - y[i]) ** 2),
    gradient: (w, b) => [mean(i => 2 * (w * x[i] + b - y[i]) * x[i]), mean(i => 2 * (w * x[i] + b - y[i]))],
    train(clear, [w, b], lr, steps) {
      let grad = [0, 0];
      return Array.from({ length: steps }, () => {
        const fresh = line.gradient(w, b),
          before = clear ? [0, 0] : grad;
        grad = fresh.map((g, i) => g + before[i]);
        const row = { w, b, loss: line.loss(w, b), grad, fresh, before, norm: Math.hypot(...grad) };
        w -= lr * grad[0];
        b -= lr * grad[1];
        return row;
      });
    },
  };
  lab.line = line;

  // The loss is a bowl; its level curves are ellipses around the best line.
  const xx = mean(i => 2 * x[i] * x[i]),
    x1 = mean(i => 2 * x[i]),
    flat = line.gradient(0, 0),
    det = xx * 2 - x1 * x1;
  const best = [-(2 * flat[0] - x1 * flat[1]) / det, -(xx * flat[1] - x1 * flat[0]) / det];
  const middle = (xx + 2) / 2,
    spread = Math.hypot((xx - 2) / 2, x1),
    steep = middle + spread,
    gentle = middle - spread,
    turn = Math.atan2(steep - xx, x1);

  let start = [...home],
    micro = 4,
    runs = {};
  for (const id of ["lr", "n"]) if (lab.state.get(id) !== null) $(id).value = lab.state.get(id);
  for (const id of ["forget", "quarter"]) if (lab.state.get(id) !== null) $(id).checked = lab.state.get(id) === "1";
  const rate = () => +(10 ** +$("lr").value).toPrecision(2),
    steps = () => +$("n").value;

  function plane(side, rows, at) {
    const box = $("plane-" + side),
      colour = side === "left" ? "c-grad" : "c-leaf",
      width = box.clientWidth || 388,
      height = 250,
      s = Math.min(width / 10, height / 7);
    const X = w => width / 2 + (w - best[0]) * s,
      Y = b => height / 2 - (b - best[1]) * s,
      now = rows[at];
    box.setAttribute("viewBox", `0 0 ${width} ${height}`);
    box.style.height = height + "px";
    box.map = (px, py) => [best[0] + (px - width / 2) / s, best[1] - (py - height / 2) / s];
    const rings = [0.15, 0.6, 1.5, 3, 5.5, 9, 14, 21, 30].map(c =>
      svg("ellipse", {
        class: "axis",
        rx: Math.sqrt((2 * c) / steep) * s,
        ry: Math.sqrt((2 * c) / gentle) * s,
        transform: `translate(${X(best[0])} ${Y(best[1])}) rotate(${(-turn * 180) / Math.PI})`,
      }),
    );
    const path = points => "M" + points.map(p => `${X(p.w).toFixed(1)} ${Y(p.b).toFixed(1)}`).join("L"),
      seen = rows.slice(0, at + 1);
    const arrow = (v, cls) => {
      const dx = -v[0] * 0.3 * s,
        dy = v[1] * 0.3 * s,
        length = Math.hypot(dx, dy);
      if (length < 3) return null;
      const limit = Math.min(1, 100 / length),
        ex = X(now.w) + dx * limit,
        ey = Y(now.b) + dy * limit;
      return svg(
        "g",
        {},
        svg("path", { class: `line ${cls}`, d: `M${X(now.w)} ${Y(now.b)}L${ex} ${ey}` }),
        svg("path", {
          class: `fill ${cls}`,
          d: "M7 0L-3 -5V5Z",
          transform: `translate(${ex} ${ey}) rotate(${(Math.atan2(dy, dx) * 180) / Math.PI})`,
        }),
      );
    };
    box.replaceChildren(
      ...rings,
      svg("path", { class: "line c-op", d: `M${X(best[0]) - 5} ${Y(best[1])}h10m-5 -5v10` }),
      svg("path", { class: `line ghost ${colour}`, d: path(rows) }),
      svg("path", { class: `line ${colour}`, d: path(seen) }),
      ...seen.map(p => svg("circle", { class: `fill ${colour}`, cx: X(p.w), cy: Y(p.b), r: 2.4 })),
      ...[arrow(now.grad, `double ${colour}`), arrow(now.fresh, "c-ink")].filter(Boolean),
      svg("circle", { class: "start", cx: X(start[0]), cy: Y(start[1]), r: 6 }),
      svg("circle", { class: `fill dot ${colour}`, cx: X(now.w), cy: Y(now.b), r: 5.5 }),
      svg("text", { class: "halo", x: width - 12, y: height - 10, "text-anchor": "end" }, "w →"),
      svg("text", { class: "halo", x: 12, y: 18 }, "↑ b"),
      svg("text", { class: "halo", x: 12, y: height - 10 }, "downhill: this gradient (thin), .grad (thick)"),
    );
    box.setAttribute(
      "aria-label",
      `Path of w and b on the loss. At step ${at} w is ${num(now.w)} and b is ${num(now.b)}. Arrow keys move the start.`,
    );
  }

  function read(side, row) {
    const colour = side === "left" ? "c-grad" : "c-leaf",
      signed = v => (v < 0 ? `(${num(v)})` : num(v));
    const sum = (name, i) => [
      `${name}.grad  `,
      row.before[i] ? `${num(row.before[i])} + ${signed(row.fresh[i])} = ` : "",
      el("b", { class: colour, "data-value": row.grad[i] }, num(row.grad[i])),
      "\n",
    ];
    $("read-" + side).replaceChildren(...sum("w", 0), ...sum("b", 1), "loss    ", el("b", { "data-value": row.loss }, num(row.loss, 3)));
  }

  const program = first => [
    `for step in range(${steps()}):`,
    first,
    "    loss = ((w * x + b - y) ** 2).mean()",
    "    loss.backward()",
    "    optimizer.step()",
  ];
  const curve = (id, key, at, label) =>
    lab.chart($(id), {
      height: 196,
      at,
      y: { min: 0, room: 34 },
      x: { whole: true },
      label: `${label} at step ${at}: left ${num(runs.left[at][key])}, right ${num(runs.right[at][key])}`,
      series: [
        ["left", "c-grad"],
        ["right", "c-leaf double"],
      ].map(([side, cls]) => ({ cls, ghost: at + 1, points: runs[side].map((row, k) => [k, row[key]]) })),
    });

  function draw(at) {
    const forget = $("forget").checked,
      zero = "    optimizer.zero_grad()";
    runs = { left: line.train(!forget, start, rate(), steps()), right: line.train(true, start, rate(), steps()) };
    $("lr-out").textContent = rate().toPrecision(2);
    $("n-out").textContent = steps();
    $("left-name").textContent = forget ? "Never cleared" : "Cleared here too";
    lab.code($("code-left"), program(forget ? { text: zero, cls: "missing", n: "", note: "missing" } : { text: zero, cls: "hot" }));
    lab.code($("code-right"), program({ text: zero, cls: "fine" }));
    for (const side of ["left", "right"]) {
      plane(side, runs[side], at);
      read(side, runs[side][at]);
    }
    curve("norm", "norm", at, "Length of .grad");
    curve("loss", "loss", at, "Loss");
    const a = runs.left[at],
      b = runs.right[at],
      ratio = a.norm / b.norm,
      blown = runs.left.at(-1).loss > 1e6;
    $("story").textContent = !forget
      ? "Both loops clear .grad, so they agree."
      : at === 0
        ? "In the first step both loops do the same: there is nothing yet to add to."
        : `After ${at} step${at > 1 ? "s" : ""} the left loop’s .grad is the sum of ${at + 1} gradients, ${num(ratio, ratio < 10 ? 1 : 0)} times as long as the right one’s. ` +
          (blown
            ? "With this learning rate the steps outgrow the bowl, and the loss has no end."
            : "Like a ball without friction it runs through the minimum and up the other side: it does not settle.");
    lab.state.set({ lr: $("lr").value, n: steps(), forget: +forget });
    bars();
  }

  // A staircase: every part begins where the one before ended, so that parts of either sign are seen.
  function bars() {
    const scaled = $("quarter").checked,
      rows = lab.data.micro[scaled ? "scaled" : "plain"],
      batch = lab.data.micro.batch,
      box = $("bars");
    const width = box.clientWidth || 640,
      height = 250,
      left = 74,
      right = 66,
      s = (width - left - right) / Math.max(...lab.data.micro.plain.flat().map(Math.abs), ...batch.map(Math.abs));
    const X = v => left + Math.abs(v) * s;
    box.setAttribute("viewBox", `0 0 ${width} ${height}`);
    box.style.height = height + "px";
    box.setAttribute("role", "img");
    box.replaceChildren(
      ...["w", "b"].map((name, i) => {
        const top = 8 + i * 124,
          group = svg(
            "g",
            {},
            svg("text", { class: "strong big", x: 0, y: top + 13 }, name + ".grad"),
            svg("text", { x: 0, y: top + 99 }, "one batch"),
            svg("line", { class: "axis", x1: left, x2: left, y1: top - 4, y2: top + 108 }),
          );
        rows.slice(0, micro).forEach((row, k) => {
          const before = k ? rows[k - 1][i] : 0,
            y0 = top + k * 20;
          group.append(
            svg("rect", {
              class: "fill c-grad",
              x: Math.min(X(before), X(row[i])),
              y: y0,
              width: Math.max(1, Math.abs(X(row[i]) - X(before))),
              height: 16,
              rx: 2,
            }),
            svg("line", { class: "guide", x1: X(row[i]), x2: X(row[i]), y1: y0, y2: y0 + 36 }),
            svg("text", { x: left - 8, y: y0 + 12.5, "text-anchor": "end" }, String(k + 1)),
            svg(
              "text",
              { class: "num halo" + (k === micro - 1 ? " c-grad" : ""), x: Math.max(X(before), X(row[i])) + 7, y: y0 + 12.5 },
              num(row[i]),
            ),
          );
        });
        group.append(
          svg("line", { class: "guide", x1: X(batch[i]), x2: X(batch[i]), y1: top - 4, y2: top + 84 }),
          svg("rect", { class: "whole", x: left, y: top + 85, width: X(batch[i]) - left, height: 20, rx: 2 }),
          svg("text", { class: "num strong halo", x: X(batch[i]) + 7, y: top + 99 }, num(batch[i])),
        );
        return group;
      }),
    );
    const sum = micro ? rows[micro - 1] : [0, 0],
      ratio = sum[0] / batch[0],
      equal = sum.every((v, i) => Math.abs(v - batch[i]) < 1e-9);
    $("verdict").textContent =
      micro === 0
        ? ".grad is empty. Each backward() will add its part."
        : micro < 4
          ? `${micro} of 4 micro-batches so far: .grad is their running sum.`
          : equal
            ? "Equal. Four backward() calls, each on a quarter of the data, left the same .grad as one call on all of it, in a quarter of the memory."
            : `${num(ratio, 0)} times too large. The mean of 16 is the mean of four means of 4, so each loss counts for a quarter.`;
    box.setAttribute("aria-label", "w.grad and b.grad after each micro-batch, beside those of one batch. " + $("verdict").textContent);
    lab.code($("code-micro"), [
      "optimizer.zero_grad()",
      "for part in batch.chunk(4):",
      scaled
        ? { text: "    loss = criterion(model(part)) / 4", cls: "fine" }
        : { text: "    loss = criterion(model(part))", cls: "hot", note: "/ 4 is missing" },
      { text: "    loss.backward()", note: "adds" },
      "optimizer.step()",
    ]);
    $("add").disabled = micro === 4;
    $("clear").disabled = micro === 0;
    lab.state.set({ quarter: +scaled, micro });
  }

  if (lab.state.get("micro") !== null) micro = Math.max(0, Math.min(4, +lab.state.get("micro") || 0));
  const transport = lab.transport($("transport"), {
    count: steps,
    show: draw,
    at: 12,
    pace: () => (matchMedia("(prefers-reduced-motion: reduce)").matches ? 600 : 170),
  });
  const again = () => transport.go(transport.at);
  for (const id of ["lr", "n", "forget"]) $(id).oninput = again;
  $("quarter").oninput = bars;
  $("add").onclick = () => {
    micro++;
    bars();
  };
  $("clear").onclick = () => {
    micro = 0;
    bars();
  };
  for (const side of ["left", "right"]) {
    const box = $("plane-" + side),
      put = event => {
        const r = box.getBoundingClientRect();
        start = box.map(event.clientX - r.left, event.clientY - r.top).map(v => +v.toFixed(2));
        again();
      };
    box.onpointerdown = event => {
      put(event);
      box.setPointerCapture(event.pointerId);
      box.onpointermove = put;
    };
    box.onpointerup = box.onpointercancel = () => {
      box.onpointermove = null;
    };
    box.onkeydown = event => {
      const move = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, 0.1], ArrowDown: [0, -0.1] }[event.key];
      if (!move) return;
      start = start.map((v, i) => +(v + move[i]).toFixed(2));
      again();
      event.preventDefault();
    };
  }
  lab.runs = () => runs;
  again();
  lab.onwidth(again);
});
