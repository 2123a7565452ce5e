"use strict";
addEventListener("DOMContentLoaded", () => {
  const { $, el, svg, num } = lab,
    switches = ["asks", "keeps", "cuts"],
    places = { w: [0, 0], x: [0, 1], h: [1, 1], y: [2, 1], loss: [3, 0.5] };
  const edges = [
    ["w", "h"],
    ["x", "h"],
    ["h", "y"],
    ["y", "loss"],
    ["w", "loss"],
  ];
  for (const id of switches) if (lab.state.get(id) !== null) $(id).checked = lab.state.get(id) === "1";
  $("warning").replaceChildren(...lab.rich(lab.data.warning));

  function picture(tensors, cuts) {
    const box = $("picture"),
      width = Math.max(280, box.clientWidth || 600),
      narrow = width < 520,
      height = narrow ? 420 : 250,
      w = narrow ? 104 : Math.min(124, width / 5),
      h = 62;
    const at = name => {
      const [layer, lane] = places[name];
      return narrow
        ? [w / 2 + 6 + lane * (width - w - 12), 40 + (layer * (height - 80)) / 3]
        : [w / 2 + 4 + (layer * (width - w - 8)) / 3, 48 + lane * (height - 96)];
    };
    box.setAttribute("viewBox", `0 0 ${width} ${height}`);
    box.style.height = height + "px";
    box.setAttribute("role", "img");
    const reached = new Set(tensors.loss?.requires_grad ? ["loss"] : []); // by the backward pass
    for (const [a, b] of [...edges].reverse()) if (reached.has(b) && tensors[a].requires_grad && !(cuts && a === "h")) reached.add(a);
    const lines = edges
      .filter(([a, b]) => tensors[a] && tensors[b])
      .map(([a, b]) => {
        const [ax, ay] = at(a),
          [bx, by] = at(b),
          cut = cuts && a === "h",
          back = reached.has(a) && reached.has(b) && !cut;
        const from = narrow ? [ax, ay + h / 2] : [ax + w / 2, ay],
          to = narrow ? [bx, by - h / 2] : [bx - w / 2, by],
          mid = narrow
            ? `${from[0]} ${(from[1] + to[1]) / 2} ${to[0]} ${(from[1] + to[1]) / 2}`
            : `${(from[0] + to[0]) / 2} ${from[1]} ${(from[0] + to[0]) / 2} ${to[1]}`;
        const d = `M${from}C${mid} ${to}`,
          angle = narrow ? -90 : 180;
        return svg(
          "g",
          {},
          svg("path", { class: `line ${back ? "c-grad double" : "c-data dashed"}`, d }),
          back &&
            svg("path", {
              class: "fill c-grad",
              d: "M9 0L-4 -5V5Z",
              transform: `translate(${narrow ? from[0] : from[0] + 9} ${narrow ? from[1] + 9 : from[1]}) rotate(${angle})`,
            }),
          cut &&
            svg(
              "text",
              {
                class: "halo c-grad strong big",
                x: (from[0] + to[0]) / 2 + (narrow ? 26 : 0),
                y: (from[1] + to[1]) / 2 - (narrow ? -4 : 9),
                "text-anchor": "middle",
              },
              "✂ cut",
            ),
        );
      });
    const cards = Object.entries(tensors).map(([name, t]) => {
      const [x, y] = at(name),
        kind = !t.leaf ? "op" : t.requires_grad ? "leaf" : "data";
      return svg(
        "g",
        { class: `card ${kind}` },
        svg("rect", { class: "box", x: x - w / 2, y: y - h / 2, width: w, height: h, rx: kind === "op" ? 3 : 14 }),
        svg("text", { class: "strong big", x: x - w / 2 + 12, y: y - 12 }, name),
        svg("text", { class: "num", x: x + w / 2 - 12, y: y - 12, "text-anchor": "end" }, String(t.value)),
        svg("line", { class: "axis", x1: x - w / 2 + 10, x2: x + w / 2 - 10, y1: y, y2: y }),
        svg("text", { x: x - w / 2 + 12, y: y + 19 }, ".grad"),
        svg(
          "text",
          { class: "num " + (t.grad === null ? "" : "c-grad strong"), x: x + w / 2 - 12, y: y + 19, "text-anchor": "end" },
          t.grad === null ? "None" : num(t.grad, 0),
        ),
      );
    });
    const never = Object.keys(places)
      .filter(name => !tensors[name])
      .map(name => {
        // the program ended before
        const [x, y] = at(name);
        return svg(
          "g",
          { class: "card never data" },
          svg("rect", { class: "box", x: x - w / 2, y: y - h / 2, width: w, height: h, rx: 3 }),
          svg("text", { class: "big", x, y: y + 4, "text-anchor": "middle", "aria-hidden": "true" }, name),
        );
      });
    box.replaceChildren(...lines, ...never, ...cards);
    box.setAttribute(
      "aria-label",
      "The graph: " +
        Object.entries(tensors)
          .map(([n, t]) => `${n} is ${t.value}, gradient ${t.grad === null ? "none" : t.grad}`)
          .join("; "),
    );
  }

  function draw() {
    const [asks, keeps, cuts] = switches.map(id => $(id).checked),
      run = lab.data.versions[[asks, keeps, cuts].map(Number).join("")],
      tensors = run.tensors;
    lab.code(
      $("code"),
      run.code.map((text, i) => ({
        text,
        cls: run.error?.line === i + 1 ? "hot" : /retain_grad|detach|requires_grad/.test(text) ? "on" : "",
      })),
    );
    $("said").replaceChildren(...(run.error ? [lab.said({ error: run.error })] : []));
    picture(tensors, cuts);
    $("facts").replaceChildren(
      ...Object.entries(tensors).map(([name, t]) =>
        el(
          "tr",
          { "data-tensor": name, class: t.grad !== null ? "on" : "" },
          el("td", {}, el("b", {}, name)),
          el("td", {}, String(t.value)),
          el("td", {}, t.leaf ? "True" : "False"),
          el("td", {}, t.requires_grad ? "True" : "False"),
          el("td", {}, t.grad_fn || "None"),
          el("td", {}, t.grad === null ? "None" : String(t.grad)),
        ),
      ),
    );
    $("story").replaceChildren(
      ...lab.rich(
        run.error
          ? keeps && !asks
            ? "Without `requires_grad` on `w`, nothing is recorded: `h` will never have a gradient, so there is none to keep."
            : "Nothing that `loss` was computed from asks for a gradient, so there is no graph to go back through."
          : cuts
            ? `The way through \`h\` is closed, and only the direct one from \`loss\` to \`w\` counts: 1.${keeps ? " `h` would keep a gradient, but none arrives." : ""}`
            : `\`w\` receives 1 directly and 2·h·x = 36 through \`h\`: together 37.${keeps ? " `h` was asked to keep what passes: 2·h = 12." : " What passed through `h` and `y` is gone."}`,
      ),
    );
    lab.state.set(Object.fromEntries(switches.map(id => [id, +$(id).checked])));
  }
  for (const id of switches) $(id).onchange = draw;
  draw();
  lab.onwidth(draw);
});
