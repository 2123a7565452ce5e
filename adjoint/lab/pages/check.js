"use strict";
addEventListener("DOMContentLoaded", () => {
  const { $, el, svg, rich } = lab,
    { questions } = lab.data,
    letters = "abcd";
  const given = lab.store.get("check", {}); // the answer committed to, by question
  let at = Math.max(0, Math.min(questions.length - 1, (+lab.state.get("q") || 1) - 1));
  const right = question => question.answer.findIndex(answer => answer.right),
    done = question => Number.isInteger(given[question.id]);
  if (lab.live) $("how").textContent = ", which you can change and run";

  const sign = state =>
    svg(
      "svg",
      { viewBox: "0 0 16 16", "aria-hidden": "true", class: state ? `sign ${state}` : "sign" },
      state === "good"
        ? svg("path", { d: "M3 8.500l3.500 3.500L13 4.500" })
        : state === "bad"
          ? svg("path", { d: "M4 4l8 8M12 4l-8 8" })
          : svg("circle", { cx: 8, cy: 8, r: 4.5 }),
    );

  function list() {
    $("steps").replaceChildren(
      ...questions.map((question, i) => {
        const state = done(question) ? (given[question.id] === right(question) ? "good" : "bad") : "";
        return el(
          "li",
          {},
          el(
            "button",
            {
              type: "button",
              "aria-current": i === at ? "step" : null,
              "aria-label": `Question ${i + 1}: ${question.topic}${state && (state === "good" ? ", right" : ", wrong")}`,
              onclick: () => go(i),
            },
            sign(state),
            el("span", { class: "name" }, question.topic),
            el("span", { class: "short" }, String(i + 1)),
          ),
        );
      }),
    );
    const answered = questions.filter(done),
      good = answered.filter(question => given[question.id] === right(question)).length;
    $("score").textContent = !answered.length
      ? "Nothing answered yet."
      : answered.length < questions.length
        ? `${good} right of ${answered.length} answered.`
        : `${good} of ${questions.length} right.`;
    $("again").hidden = !answered.length;
  }

  function ask() {
    const question = questions[at],
      box = $("question"),
      committed = done(question),
      chosen = given[question.id];
    const commit = el(
      "button",
      {
        type: "button",
        class: "main",
        id: "commit",
        disabled: true,
        onclick: () => {
          given[question.id] = +box.querySelector("input:checked").value;
          lab.store.set("check", given);
          ask();
          list();
          $("verdict").focus();
        },
      },
      "Commit",
    );
    const answers = question.answer.map((answer, i) => {
      const mark = !committed ? "" : answer.right ? "good" : i === chosen ? "bad" : "",
        id = `answer-${i}`;
      return el(
        "div",
        { class: `answer ${mark} ${committed && i === chosen ? "chosen" : ""}` },
        el(
          "label",
          { for: id },
          el("input", {
            type: "radio",
            name: "answer",
            id,
            value: i,
            disabled: committed,
            checked: committed && i === chosen,
            onchange: () => {
              commit.disabled = false;
            },
          }),
          el("span", { class: "letter" }, letters[i]),
          el("span", {}, ...rich(answer.text)),
          mark && el("span", { class: "mark" }, mark === "good" ? "right" : "your answer"),
        ),
        committed && el("p", {}, ...rich(answer.why)),
      );
    });
    box.replaceChildren(
      el("p", { class: "small" }, `Question ${at + 1} of ${questions.length} · ${question.topic}`),
      el("h2", { id: "asked", tabindex: "-1" }, ...rich(question.ask)),
      el("div", { class: "given" }, lab.listing(question.code.trim())),
      el("fieldset", { class: committed ? "done" : "" }, el("legend", { class: "vis" }, "Answers"), ...answers),
      el(
        "div",
        { class: "go" },
        committed
          ? el(
              "p",
              { id: "verdict", tabindex: "-1", class: chosen === right(question) ? "good" : "bad" },
              chosen === right(question) ? "Right." : `Not so: ${letters[right(question)]} is right.`,
            )
          : commit,
        !committed && el("span", { class: "small" }, "No answer is shown before you commit."),
        el(
          "span",
          { class: "ends" },
          el("button", { type: "button", id: "previous", disabled: at === 0, onclick: () => go(at - 1) }, "Previous"),
          el(
            "button",
            {
              type: "button",
              id: "next",
              class: committed ? "main" : "",
              disabled: at === questions.length - 1,
              onclick: () => go(at + 1),
            },
            "Next",
          ),
        ),
      ),
      ...(committed ? [proof(question)] : []),
    );
    lab.state.set({ q: at + 1 });
  }

  function proof(question) {
    const answer = el("div", { class: "answered", "aria-live": "polite" }, el("p", { class: "said waiting" }, "What will it print?"));
    const show = result => {
      answer.replaceChildren(lab.said(result));
      editor.mark(result.error ? result.error.line : null);
    };
    const run = async () => {
      if (!lab.live) return show({ output: question.output });
      button.disabled = true;
      button.textContent = "Running …";
      show(await lab.run(editor.value, false));
      button.disabled = false;
      button.textContent = "Run";
    };
    const button = el("button", { type: "button", id: "run", class: "main", onclick: run }, "Run");
    const editor = lab.live ? lab.editor(question.program, run) : { element: lab.listing(question.program), mark() {} };
    return el(
      "div",
      { class: "proof" },
      el(
        "header",
        {},
        el("h3", {}, "The program that proves it"),
        el("span", { class: "small" }, lab.live ? "runs on this machine; change it if you like" : "its output was recorded"),
      ),
      el("div", { class: "pair" }, editor.element, answer),
      el(
        "div",
        { class: "go" },
        button,
        lab.live && el("span", { class: "small" }, el("kbd", {}, "ctrl"), " ", el("kbd", {}, "enter"), " runs it"),
      ),
    );
  }

  const go = to => {
    at = to;
    list();
    ask();
    $("asked").focus({ preventScroll: innerWidth > 760 });
  };
  $("again").onclick = () => {
    for (const key in given) delete given[key];
    lab.store.set("check", given);
    go(0);
  };
  list();
  ask();
});
