"use strict";
addEventListener("DOMContentLoaded", () => {
  const { $, el, num } = lab,
    { x, y, jacobian } = lab.data,
    sub = "₀₁₂",
    plain = v => String(+v.toFixed(4)).replace("-", "−"),
    signed = v => (v < 0 ? `(${plain(v)})` : plain(v));
  const presets = { ones: [1, 1, 1], mean: [1 / 3, 1 / 3, 1 / 3], first: [1, 0, 0], second: [0, 1, 0], third: [0, 0, 1] };
  lab.times = v => x.map((_, j) => v.reduce((sum, weight, i) => sum + weight * jacobian[i][j], 0)); // a test compares it with adjoint
  let v = (lab.state.get("v") || "1,0.5,-1").split(",").map(Number);
  if (v.length !== 3 || !v.every(Number.isFinite)) v = [1, 1, 1];
  const near = (a, b) => a.every((value, i) => Math.abs(value - b[i]) < 1e-3),
    which = () => Object.keys(presets).find(name => near(presets[name], v)) || "";
  $("refusal").append(lab.said({ error: lab.data.refusal }));
  const choice = lab.choices(
    $("presets"),
    "v is",
    [
      ["ones", "all ones: y.sum()"],
      ["mean", "all 1/3: y.mean()"],
      ["first", "only y₀"],
      ["second", "only y₁"],
      ["third", "only y₂"],
    ],
    which(),
    name => {
      v = [...presets[name]];
      draw();
    },
  );

  const sliders = v.map((_, i) =>
    el("input", {
      type: "range",
      min: -2,
      max: 2,
      step: 0.5,
      id: `v${i}`,
      "aria-label": `v${sub[i]}, the weight of y${sub[i]}`,
      oninput: event => {
        v[i] = +event.target.value;
        draw();
      },
    }),
  );
  const weights = v.map((_, i) => el("output", { class: "cell weight", for: `v${i}` }));
  const cells = jacobian.map(row => row.map(value => el("span", { class: "cell" }, plain(value)))),
    sums = x.map(() => el("b", { class: "cell sum" }));
  const head = text => el("span", { class: "head" }, text);
  $("product").append(
    head(""),
    head("v"),
    ...x.map((value, j) => head(`∂/∂x${sub[j]}`)),
    ...jacobian.flatMap((_, i) => [
      el(
        "label",
        { class: "row", for: `v${i}` },
        el("span", { class: "mono" }, `y${sub[i]} = ${["x₀·x₁", "x₁ + x₂", "x₂²"][i]} = ${plain(y[i])}`),
        sliders[i],
      ),
      weights[i],
      ...cells[i],
    ]),
    el("span", { class: "row strong mono" }, "x.grad"),
    head(""),
    ...sums,
  );

  function draw() {
    const grad = lab.times(v),
      shown = v.map(plain).join(", ").replace(/−/g, "-");
    v.forEach((weight, i) => {
      sliders[i].value = weight;
      weights[i].textContent = num(weight, Number.isInteger(weight * 2) ? 1 : 2);
      cells[i].forEach((cell, j) => {
        const size = Math.min(1, Math.abs(weight * jacobian[i][j]) / 12);
        cell.style.setProperty("--share", size.toFixed(3));
        cell.classList.toggle("off", weight * jacobian[i][j] === 0);
      });
    });
    grad.forEach((value, j) => {
      sums[j].textContent = num(value, 2);
      sums[j].dataset.value = value;
    });
    $("sums").textContent = grad
      .map(
        (value, j) => `x.grad[${j}] = ${v.map((weight, i) => `${signed(weight)}·${plain(jacobian[i][j])}`).join(" + ")} = ${num(value, 2)}`,
      )
      .join("\n");
    lab.code($("code"), [
      "x = ad.tensor([1.0, 2.0, 3.0], requires_grad=True)",
      "y = ad.stack([x[0] * x[1], x[1] + x[2], x[2] ** 2])",
      { text: `v = ad.tensor([${shown}])`, cls: "on" },
      { text: "y.backward(v)", cls: "on back" },
      { text: "x.grad", note: grad.map(value => num(value, 1)).join("  "), noteCls: "g" },
    ]);
    const name = which();
    choice.pick(name);
    $("story").textContent =
      {
        ones: "Every output counts once: the same as y.sum().backward(). Each column of the Jacobian is added up.",
        mean: "Every output counts a third: the same as y.mean().backward().",
        first: "Only the first output counts, so x.grad is the first row of the Jacobian. Three such passes give the whole matrix.",
        second: "Only the second output counts: the second row of the Jacobian.",
        third: "Only the third output counts: the third row of the Jacobian.",
      }[name] ||
      `The pass computes the gradient of ${v.map((weight, i) => `${signed(weight)}·y${sub[i]}`).join(" + ")}, one number. The Jacobian itself is never built: that is why one pass is cheap.`;
    lab.state.set({ v: v.map(weight => +weight.toFixed(4)).join(",") });
  }
  draw();
});
