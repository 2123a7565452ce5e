"use strict";
addEventListener("DOMContentLoaded", () => {
  const { $, el, svg, num } = lab,
    { steps, functions } = lab.data,
    dtypes = ["float32", "float64"],
    schemes = [
      ["forward", "c-grad"],
      ["central", "c-saved"],
    ];
  let f = functions[lab.state.get("f")] ? lab.state.get("f") : "sin",
    dtype = dtypes.includes(lab.state.get("dtype")) ? lab.state.get("dtype") : "float32";
  if (lab.state.get("h") !== null) $("h").value = lab.state.get("h");
  const error = (value, k) => Math.abs(value[k] - functions[f].derivative);
  const named = k => (k % 2 ? `3·${lab.power(-(k + 1) / 2)}` : lab.power(-k / 2)); // the k-th step, 10^(-k/2)

  function curve(k) {
    const {
        curve: [xs, ys],
        at,
        value,
        derivative,
      } = functions[f],
      box = $("curve"),
      h = steps[k],
      ends = [xs[0], xs.at(-1)];
    const low = Math.min(...ys),
      high = Math.max(...ys),
      space = 0.12 * (high - low),
      slope = functions[f][dtype].forward[k];
    const line = m => ends.map(x => [x, value + m * (x - at)]);
    const inside = points => {
      // clipped to the picture, so that a steep line does not leave it
      const [[x0, y0], [x1, y1]] = points,
        m = (y1 - y0) / (x1 - x0),
        bottom = low - space,
        top = high + space;
      const cut = x => {
        const y = y0 + m * (x - x0);
        return y > top ? [x0 + (top - y0) / m, top] : y < bottom ? [x0 + (bottom - y0) / m, bottom] : [x, y];
      };
      return [cut(x0), cut(x1)];
    };
    const { X, Y } = lab.chart(box, {
      height: 280,
      y: { min: low - space, max: high + space, room: 38 },
      x: { min: ends[0], max: ends[1] },
      label: `${functions[f].text} near ${at}; secant slope ${num(slope, 4)}, tangent slope ${num(derivative, 4)}`,
      series: [
        { cls: "c-op", points: xs.map((x, i) => [x, ys[i]]) },
        { cls: "c-leaf double", points: inside(line(derivative)) },
        ...(Number.isFinite(slope) ? [{ cls: "c-grad dashed", points: inside(line(slope)) }] : []),
      ],
    });
    const there = at + h <= ends[1] ? at + h : null,
      near = (x, y, cls) => svg("circle", { class: `fill dot ${cls}`, cx: X(x), cy: Y(y), r: 5 });
    if (there !== null) {
      const y = value + slope * h;
      if (y >= low - space && y <= high + space) box.append(near(there, y, "c-grad"));
    }
    box.append(near(at, value, "c-ink"));
  }

  function draw() {
    const k = 32 - $("h").value,
      h = steps[k],
      it = functions[f],
      both = it[dtype],
      ulp = dtype === "float32" ? 6e-8 : 1.1e-16,
      floor = dtype === "float32" ? 1e-9 : 1e-14;
    $("h-out").textContent = named(k);
    $("name").textContent = `${it.text} at ${it.at}`;
    curve(k);
    const lines = schemes.map(([scheme, cls]) => ({
      cls,
      dots: false,
      points: steps.map((step, i) => [step, Math.max(error(both[scheme], i), floor)]),
    }));
    lab.chart($("error"), {
      height: 280,
      at: h,
      x: { log: true, label: "step h", min: 1e-16, max: 1 },
      y: { log: true, label: "error", min: floor, max: Math.max(10, ...lines.flatMap(l => l.points.map(p => p[1]))), room: 46 },
      series: lines,
      label: `Error at h = ${h}: forward ${error(both.forward, k)}, central ${error(both.central, k)}`,
    });
    const row = (name, formula, value, wrong, cls) =>
      el(
        "tr",
        {},
        el("th", { class: cls }, name),
        el("td", {}, formula),
        el(
          "td",
          { "data-value": value },
          Number.isFinite(value) ? String(+value.toPrecision(dtype === "float32" ? 8 : 15)).replace("-", "−") : num(value),
        ),
        el("td", {}, wrong === null ? "—" : wrong === 0 ? "0" : wrong.toExponential(1).replace("-", "−")),
      );
    $("facts").replaceChildren(
      row("autograd", "the rule of the operation", it.derivative, null, "c-leaf"),
      row("forward", "(f(x + h) − f(x)) / h", both.forward[k], error(both.forward, k), "c-grad"),
      row("central", "(f(x + h) − f(x − h)) / 2h", both.central[k], error(both.central, k), "c-saved"),
    );
    const best = scheme => both[scheme].reduce((least, _, i) => (error(both[scheme], i) < error(both[scheme], least) ? i : least), 0);
    $("story").textContent =
      f === "abs"
        ? "At the kink there is no derivative to measure. Forward says 1, central says 0, and autograd answers 0 by convention: a subgradient."
        : h < ulp * Math.max(1, Math.abs(it.at))
          ? `In ${dtype} x + h is x: the quotient measures nothing and says ${num(both.forward[k], 0)}.`
          : error(both.forward, k) > error(both.forward, Math.max(0, k - 2)) && k > 4
            ? "Left of the best step the error grows again: the difference of two nearly equal numbers keeps few correct digits, and h divides by little."
            : `The forward error falls with h, the central one with h². In ${dtype} the best steps are about ${named(best("forward"))} and ${named(best("central"))}; smaller ones are worse.`;
    lab.state.set({ f, dtype, h: $("h").value });
  }
  lab.choices(
    $("function"),
    "function",
    Object.entries(functions).map(([key, it]) => [key, it.text]),
    f,
    value => {
      f = value;
      draw();
    },
  );
  lab.choices(
    $("dtype"),
    "in",
    dtypes.map(name => [name, name]),
    dtype,
    value => {
      dtype = value;
      draw();
    },
  );
  $("h").oninput = draw;
  draw();
  lab.onwidth(draw);
});
