"use strict";
addEventListener("DOMContentLoaded", () => {
  const { $, el } = lab,
    { depths, activations, gains, runs } = lab.data,
    colours = { none: "c-op", sigmoid: "c-saved", tanh: "c-leaf", relu: "c-grad" };
  const labels = { none: "none", sigmoid: "sigmoid", tanh: "tanh", relu: "ReLU" },
    gainText = { half: "0.5/√n", one: "1/√n", he: "√2/√n", two: "2/√n" },
    gainCode = { half: "0.5 / n ** 0.5", one: "1 / n ** 0.5", he: "2 ** 0.5 / n ** 0.5", two: "2 / n ** 0.5" };
  const asked = (key, options, otherwise) => (options.map(String).includes(lab.state.get(key)) ? lab.state.get(key) : otherwise);
  const state = {
    activation: asked("activation", activations, "sigmoid"),
    depth: asked("depth", depths, "16"),
    gain: asked("gain", gains, "one"),
  };
  $("skip").checked = lab.state.get("skip") === "1";
  const run = activation => runs[`${state.depth}-${activation}-${state.gain}-${+$("skip").checked}`],
    short = v =>
      v === 0 ? "0" : v >= 0.01 && v < 1000 ? String(+v.toPrecision(2)) : v.toExponential(1).replace("-", "−").replace("+", "");

  function draw() {
    const norms = run(state.activation),
      first = norms[0],
      last = norms.at(-1),
      ratio = first / last;
    lab.chart($("chart"), {
      height: 330,
      x: { whole: true, label: "layer, the first at the left", ticks: 8, min: 1 },
      y: {
        log: true,
        label: "length",
        floor: 1e-30,
        min: Math.min(1e-3, ...norms, ...activations.flatMap(a => run(a)).filter(v => v > 0)),
        max: Math.max(1e2, ...activations.flatMap(run)),
        room: 46,
      },
      series: [
        ...activations
          .filter(name => name !== state.activation)
          .map(name => ({ cls: `ghost ${colours[name]}`, points: run(name).map((v, i) => [i + 1, v]) })),
        { cls: `double ${colours[state.activation]}`, dots: true, points: norms.map((v, i) => [i + 1, v]) },
      ],
      label: `Length of the gradient by layer: ${norms.map(short).join(", ")}`,
    });
    const act = { none: "x @ w", sigmoid: "ad.sigmoid(x @ w)", tanh: "ad.tanh(x @ w)", relu: "ad.relu(x @ w)" }[state.activation];
    lab.code($("code"), [
      `for _ in range(${state.depth}):`,
      `    w = ad.randn(n, n) * (${gainCode[state.gain]})`,
      "    weights.append(w.requires_grad_())",
      "for w in weights:",
      { text: `    x = ${$("skip").checked ? "x + " : ""}${act}`, cls: "on" },
      "x.sum(1).mean().backward()",
      { text: "[w.grad.norm() for w in weights]", cls: "on back" },
    ]);
    const row = (name, value, cls = "") => el("tr", {}, el("th", {}, name), el("td", { class: cls, "data-value": value }, short(value)));
    const verdict = Math.max(...norms) > 1e3 ? "exploded" : Math.min(...norms) < 1e-4 ? "vanished" : "healthy",
      even = ratio > 0.05 && ratio < 20,
      perLayer = ratio ** (1 / (norms.length - 1));
    $("facts").replaceChildren(
      row("first layer", first),
      row("last layer", last),
      row("first / last", ratio, verdict === "healthy" ? "c-param" : "c-grad"),
    );
    $("story").textContent =
      (verdict === "exploded"
        ? even
          ? `Exploded in every layer: the values already grew on the way forward, and each gradient contains them.`
          : `Exploded: on its way back the gradient is multiplied by about ${short(perLayer)} per layer. One step would throw the first layers far away.`
        : verdict === "vanished"
          ? even
            ? "Vanished in every layer: the values already died on the way forward, and each gradient contains them."
            : `Vanished: the first layer hears ${short(ratio)} of what the last one hears, a factor of about ${short(perLayer)} per layer. It will hardly learn.`
          : `Healthy: over ${state.depth} layers the gradient changes by a factor of ${short(ratio)} only.`) +
      {
        none: " Without an activation only the weights count, and 1/√n keeps lengths.",
        sigmoid: " The slope of a sigmoid is at most 1/4.",
        tanh: " The slope of tanh is 1 at zero and less elsewhere.",
        relu: " ReLU passes half of the elements on, which √2/√n makes up for.",
      }[state.activation] +
      ($("skip").checked ? " A skip connection gives the gradient a way past the layer, with factor 1." : "");
    lab.state.set({ ...state, skip: +$("skip").checked });
  }
  const choose = (key, legend, options) =>
    lab.choices($(key), legend, options, state[key], value => {
      state[key] = String(value);
      draw();
    });
  choose(
    "activation",
    "activation",
    activations.map(name => [name, labels[name]]),
  );
  choose(
    "depth",
    "layers",
    depths.map(n => [String(n), String(n)]),
  );
  choose(
    "gain",
    "weights",
    gains.map(name => [name, gainText[name]]),
  );
  $("skip").onchange = draw;
  draw();
  lab.onwidth(draw);
});
