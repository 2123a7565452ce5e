"use strict";
addEventListener("DOMContentLoaded", () => {
  const { $, svg, num } = lab,
    { size, columns, rows } = lab.data,
    presets = { loss: [8, 1], curve: [1, 8], square: [6, 6] };
  for (const id of ["n", "m"]) if (lab.state.get(id) !== null) $(id).value = lab.state.get(id);
  const n = () => +$("n").value,
    m = () => +$("m").value,
    done = (total, at) => Math.min(total, at),
    which = () => Object.keys(presets).find(k => presets[k][0] === n() && presets[k][1] === m()) || "";

  // The Jacobian, outputs down and inputs across, filled as far as the passes have come.
  function grid(mode, at) {
    const box = $("grid-" + mode),
      forward = mode === "forward",
      width = Math.max(240, box.clientWidth || 520),
      cell = Math.min(62, (width - 40) / size),
      tall = Math.min(32, cell),
      left = 34,
      top = 24,
      height = top + Math.max(3, m()) * tall + 4;
    box.setAttribute("viewBox", `0 0 ${width} ${height}`);
    box.style.height = height + "px";
    box.setAttribute("role", "img");
    const parts = [];
    for (let j = 0; j < n(); j++)
      parts.push(svg("text", { class: "num", x: left + (j + 0.5) * cell, y: 15, "text-anchor": "middle" }, "x" + "₀₁₂₃₄₅₆₇"[j]));
    for (let i = 0; i < m(); i++) {
      parts.push(svg("text", { class: "num", x: left - 8, y: top + (i + 0.5) * tall + 4, "text-anchor": "end" }, "y" + "₀₁₂₃₄₅₆₇"[i]));
      for (let j = 0; j < n(); j++) {
        const pass = forward ? j : i,
          known = pass < at,
          now = pass === at - 1,
          value = forward ? columns[j][i] : rows[i][j];
        parts.push(
          svg("rect", {
            class: `entry ${known ? "known" : ""} ${now ? "now" : ""} ${forward ? "c-leaf" : "c-grad"}`,
            x: left + j * cell + 1.5,
            y: top + i * tall + 1.5,
            width: cell - 3,
            height: tall - 3,
            rx: 3,
          }),
        );
        if (known)
          parts.push(
            svg(
              "text",
              {
                class: `num ${now ? "on-fill now" : "strong"}`,
                "data-entry": `${i},${j}`,
                x: left + (j + 0.5) * cell,
                y: top + (i + 0.5) * tall + 4,
                "text-anchor": "middle",
              },
              cell < 44 ? value.toFixed(1).replace("-0.0", "0.0").replace("-", "−") : num(value),
            ),
          );
      }
    }
    box.replaceChildren(...parts);
    const total = forward ? n() : m();
    box.setAttribute("aria-label", `${mode} mode: ${done(total, at)} of ${total} passes done`);
    $("count-" + mode).textContent = `${done(total, at)} of ${total} pass${total > 1 ? "es" : ""}`;
  }

  function draw(at) {
    $("n-out").textContent = n();
    $("m-out").textContent = m();
    choice.pick(which());
    grid("forward", at);
    grid("reverse", at);
    const unit = (k, total) => `e${k + 1 > total ? "" : "₀₁₂₃₄₅₆₇"[k]}`;
    lab.code($("code-forward"), [
      "# one pass per input",
      `for e in ad.eye(${n()}):`,
      {
        text: "    _, column = jvp(f, (x,), (e,))",
        cls: at > 0 && at <= n() ? "fine" : "",
        note: at > 0 && at <= n() ? unit(at - 1, n()) : at > n() ? "done" : "",
      },
    ]);
    lab.code($("code-reverse"), [
      "y, pull = vjp(f, x)",
      `for e in ad.eye(${m()}):`,
      {
        text: "    row, = pull(e)",
        cls: at > 0 && at <= m() ? "hot" : "",
        note: at > 0 && at <= m() ? unit(at - 1, m()) : at > m() ? "done" : "",
      },
    ]);
    const winner = n() < m() ? "Forward" : n() > m() ? "Reverse" : "";
    $("story").textContent =
      at === 0
        ? `${n()} × ${m()}: forward mode will need ${n()} pass${n() > 1 ? "es" : ""}, one per input; reverse mode ${m()}, one per output. Step to see.`
        : at < Math.max(n(), m())
          ? `After ${at} pass${at > 1 ? "es" : ""}: forward mode knows ${done(n(), at) * m()} of ${n() * m()} derivatives, reverse mode ${done(m(), at) * n()}.`
          : winner
            ? `${winner} mode wins: ${Math.min(n(), m())} pass${Math.min(n(), m()) > 1 ? "es" : ""} instead of ${Math.max(n(), m())}. The numbers are the same.`
            : "As many inputs as outputs: as many passes either way, and forward mode needs no memory for the way back.";
    const sizes = [1, 10, 100, 1e3, 1e4, 1e5, 1e6];
    lab.chart($("growth"), {
      height: 210,
      x: { log: true, label: "inputs" },
      y: { log: true, label: "passes", min: 1, max: 1e6, room: 40 },
      label: `Forward mode needs one pass per input, reverse mode ${m()} whatever the inputs.`,
      series: [
        { cls: "c-leaf", points: sizes.map(k => [k, k]) },
        { cls: "c-grad double", points: sizes.map(k => [k, m()]) },
      ],
    });
    lab.state.set({ n: n(), m: m() });
  }
  const choice = lab.choices(
    $("presets"),
    "like",
    [
      ["loss", "a loss"],
      ["curve", "a curve"],
      ["square", "a map"],
    ],
    which(),
    name => {
      [$("n").value, $("m").value] = presets[name];
      transport.go(0);
    },
  );
  const transport = lab.transport($("transport"), { count: () => Math.max(n(), m()) + 1, show: draw, at: 2, name: "pass" }),
    again = () => transport.go(transport.at);
  for (const id of ["n", "m"]) $(id).oninput = () => transport.go(Math.min(transport.at, Math.max(n(), m())));
  again();
  lab.onwidth(again);
});
