"""What a trace says: the names of its nodes, and for every event one sentence and one formula, in symbols and in numbers."""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from .._tensor import Tensor
from . import symbols
from .placing import place
from .terms import ATOM, PRODUCT, Term, holds_together

if TYPE_CHECKING:
    from .recording import Recorder

Formula = list[Any]  # of texts and [text, kind]
WHOLE = 64  # elements up to which a trace has all values
FIRST = 8  # and how many of larger ones
DEBUGGER = "<debugger>"  # the name of the hook where somebody replaced a gradient by hand
LONGEST = 64  # characters of a formula that somebody would read
SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


# ---- numbers ------------------------------------------------------------------------------------------------------------------------


def plain(value: Any) -> Any:
    """A tensor or number as a trace has it."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, Tensor):
        data = value._data
        if not isinstance(data, np.ndarray):
            return None
        if data.size > WHOLE:
            numbers = data.astype(np.float64) if data.dtype.kind in "fiub" else np.abs(data)
            first = [plain(one) for one in data.reshape(-1)[:FIRST].tolist()]
            return {"shape": list(data.shape), "norm": plain(float(np.linalg.norm(numbers))), "first": first}
        value = data.tolist()
    if isinstance(value, list):
        return [plain(one) for one in value]
    if isinstance(value, tuple):
        return [plain(one) for one in value if one is not None]
    if isinstance(value, complex):
        return str(value)
    if isinstance(value, bool | int):
        return value
    value = float(value)
    if math.isfinite(value):
        return float(f"{value:.8g}")
    return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"


def flat(value: Any) -> list[Any]:
    return [part for one in value for part in flat(one)] if isinstance(value, list) else [value]


def short(value: Any) -> str:
    """A value as it stands in a formula or on a card.

    >>> short(2.0), short([[1.0, -0.5]]), short([[1.0, 2.0], [3.0, 4.0]]), short("nan")
    ('2', '[1 −0.5]', '[[1 2] [3 4]]', 'nan')
    """
    if value is None:
        return "None"
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, dict):
        return "×".join(map(str, value["shape"]))
    if isinstance(value, list):
        if len(flat(value)) == 1:
            return short(flat(value)[0])
        if len(value) == 1 and isinstance(value[0], list):
            return short(value[0])
        if len(flat(value)) > 8:
            return "×".join(map(str, np.shape(value)))
        return "[" + " ".join(map(short, value)) + "]"
    if isinstance(value, str):
        return {"inf": "∞", "-inf": "−∞"}.get(value, value)
    size = abs(value)
    if size and (size >= 1e5 or size < 5e-3):
        return re.sub(r"e([+-])0*", lambda m: "e" + m[1].replace("+", ""), f"{value:.1e}").replace("-", "−")
    return f"{round(value, 1 if size >= 100 else 2):g}".replace("-", "−")


def on_card(value: Any) -> str:
    """A value as it stands on a card, where there is little room."""
    numbers = [] if isinstance(value, dict) else flat(value)
    if isinstance(value, dict) or len(numbers) > 4 or len(np.squeeze(np.array(value, object)).shape) > 1:
        return "×".join(map(str, value["shape"] if isinstance(value, dict) else np.shape(value)))
    return short(value if len(numbers) == 1 else numbers)


def is_one(value: Any) -> bool:
    return not isinstance(value, dict) and len(flat(value)) == 1


def bracketed(text: str) -> str:
    return text if holds_together(text) == ATOM or text.startswith("[") else f"({text})"


def tidy(code: str) -> str:
    """A piece of source as it is written in formulas.

    >>> tidy("x ** 2"), tidy("3 * x"), tidy("a @ b.T")
    ('x²', '3·x', 'a · bᵀ')
    """
    code = re.sub(r"\s*\*\*\s*(\d)\b(?!\.)", lambda m: m[1].translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")), code)
    code = re.sub(r"\s*@\s*", " · ", re.sub(r"(?<!\*)\s*\*\s*(?!\*)", "·", code))
    return re.sub(r"\.m?T\b", "ᵀ", code).replace(" - ", " − ")


# ---- the trace ----------------------------------------------------------------------------------------------------------------------


class Telling:
    """Finishes a trace, now that every variable is known."""

    def __init__(self, recorder: Recorder, trace: dict[str, Any]) -> None:
        self.recorder = recorder
        self.trace = trace
        self.nodes: list[dict[str, Any]] = trace["nodes"]
        self.edges: list[dict[str, Any]] = trace["edges"]

    def tell(self) -> None:
        with np.errstate(all="ignore"):
            self.tell_all()
        self.trace["layout"] = place(self.nodes, self.edges)

    def tell_all(self) -> None:
        self.name_groups()
        self.name_nodes()
        deliveries = [event for event in self.trace["events"] if event["kind"] == "deliver"]
        self.paths = Counter((event["pass"], self.edges[event["edge"]]["from"]) for event in deliveries)
        for event in self.trace["events"]:
            getattr(self, "say_" + event["kind"])(event)
        for event in self.trace["events"]:
            for internal in ("root", "slot", "arrived", "gave", "names"):
                event.pop(internal, None)
        for node in self.nodes:
            for key in ("saved", "shape", "leaf", "span"):
                if not node.get(key, True):
                    del node[key]

    # ---- names -------------------------------------------------------------------------------------------------------------------------

    def name_groups(self) -> None:
        """Modules get the names that they have in the program; the call of a module around another comes after it."""
        named = []
        for group in self.trace["groups"]:
            module = group.pop("module")
            name, _ = self.recorder.module_names.get(id(module), (type(module).__name__, module))
            named.append({"name": name, "kind": type(module).__name__, **group})
        for node in self.nodes:
            node.pop("group", None)
        for place_, group in enumerate(named):
            for node in group["nodes"]:
                self.nodes[node].setdefault("group", place_)
        self.trace["groups"] = named

    def name_nodes(self) -> None:
        places: dict[Any, list[int]] = {}
        for index, node in enumerate(self.nodes):
            if node["kind"] == "op" and node.get("span"):
                places.setdefault((node["line"], *node["span"]), []).append(index)
        used: dict[str, int] = {}
        for index, node in enumerate(self.nodes):
            bound = self.recorder.bound.get(index)
            if bound is None and "replaces" in node:  # written in place: it is still the variable
                bound = self.recorder.bound.setdefault(index, self.recorder.bound.get(node["replaces"], ("", False)))
            if bound is not None and bound[0]:
                used[bound[0]] = number = used.get(bound[0], 0) + 1
                node["name"] = bound[0] + (str(number).translate(SUBSCRIPTS) if number > 1 else "")
            elif index in self.recorder.gradients:
                of, by = self.recorder.gradients[index]
                of_name = "" if of is None else self.nodes[of]["name"]
                node["name"] = f"{of_name}.grad" if by is None else f"∂{bracketed(self.nodes[by]['name'])}/∂{bracketed(of_name)}"
            elif node["kind"] == "number":
                node["name"] = short(node["value"])
            else:
                node["name"] = self.unbound_name(index, node, places)

    def unbound_name(self, index: int, node: dict[str, Any], places: dict[Any, list[int]]) -> str:
        """The piece of source that made it, if it made nothing else; else what was done."""
        span = node.get("span")
        together = places.get((node["line"], *span), []) if span else []
        text = self.recorder.lines[node["line"] - 1][slice(*span)] if span else ""
        if len(together) == 1 and len(text) <= 24:
            return tidy(text)
        group = node.get("group")
        if group is not None:
            made = self.trace["groups"][group]
            if [n for n in made["nodes"] if self.nodes[n]["kind"] == "op"][-1:] == [index]:
                return str(made["name"]) + "(…)"
        term = self.forward_term(index)
        if term is not None:
            text = term.text(self.names_of(index))
            if len(text) <= 24:
                return text
        return str(node.get("op") or node["kind"])

    def names_of(self, index: int) -> dict[str, str]:
        """The names of a node's inputs, as the atoms of its terms are called."""
        made = self.recorder.made.get(index)
        found = {"out": self.nodes[index]["name"]}
        if made is not None:
            for name, source in made.inputs.items():
                found[name if isinstance(name, str) else name[0]] = self.nodes[source]["name"]
        return found

    def numbers_of(self, index: int) -> dict[str, str]:
        made = self.recorder.made[index]
        found = {"out": short(self.nodes[index]["value"])}
        for name in made.inputs:
            if isinstance(name, str):
                value = made.values.get(name)
                found[name] = short(plain(value.tolist() if isinstance(value, np.ndarray) else value))
        return found

    def forward_term(self, index: int) -> Term | None:
        made = self.recorder.made.get(index)
        if made is None or made.values.get("out") is None:
            return None
        return symbols.forward(made.op, made.values)

    # ---- forward -----------------------------------------------------------------------------------------------------------------------

    def say_leaf(self, event: dict[str, Any]) -> None:
        node = self.nodes[event["node"]]
        name = node["name"]
        cut = next((edge for edge in self.edges if edge["to"] == event["node"] and edge.get("cut")), None)
        if cut is not None:
            source = self.nodes[cut["from"]]["name"]
            event["says"] = f"{name} has the values of {source} and no history: no gradient flows through it to {source}."
        else:
            event["says"] = {
                "leaf": f"{name} is a leaf that asks for a gradient: its .grad will be filled.",
                "parameter": f"{name} is a parameter of a module, a leaf that asks for a gradient.",
            }.get(node["kind"], f"{name} is data. It does not ask for a gradient, so none will flow to it.")
        event["formula"] = [[name, "v"], " = ", [short(node["value"]), "v"]]

    def say_op(self, event: dict[str, Any]) -> None:
        index = event["node"]
        node = self.nodes[index]
        saved = [
            "its result" if one["of"] == index
            else ("the number " if self.nodes[one["of"]]["kind"] == "number" else "") + self.nodes[one["of"]]["name"]
            for one in node.get("saved", [])
        ]  # fmt: skip
        if not node.get("grad_fn"):
            cut = any(self.edges[edge].get("cut") for edge in event["edges"])
            why = "Under no_grad() nothing is recorded" if cut else "No input asks for a gradient, so nothing is recorded"
            event["says"] = f"{why}: the result has no history."
        elif node.get("replaces") is not None:
            before = self.nodes[node["replaces"]]["name"]
            event["says"] = f"Written in place: {node['name']} takes the memory of {before}, and remembers {node['grad_fn']}."
        else:
            keeps = f", which saves {' and '.join(dict.fromkeys(saved))} for later." if saved else "; nothing needs to be saved."
            event["says"] = f"The result remembers {node['grad_fn']}{keeps}"
        event["formula"] = self.forward_formula(event, index)

    def forward_formula(self, event: dict[str, Any], index: int) -> Formula:
        node = self.nodes[index]
        parts: Formula = [[node["name"], "v"]]
        term = self.forward_term(index)
        if term is not None:
            texts = [term.text(self.names_of(index))]
            if all(is_one(self.nodes[source]["value"]) for source in self.recorder.made[index].inputs.values()):
                texts.append(term.text(self.numbers_of(index)))
            for text in texts:
                if text != (parts[-1] if isinstance(parts[-1], str) else parts[-1][0]) and len(text) <= LONGEST:
                    parts += [" = ", text]
        else:
            inputs = ", ".join(self.nodes[self.edges[edge]["from"]]["name"] for edge in event["edges"])
            text = f"{node.get('op', '')}({inputs})"
            if text != node["name"] and len(text) <= LONGEST:
                parts += [" = ", text]
        value = short(node["value"])
        return parts if parts[-1] == value else [*parts, " = ", [value, "v"]]

    def say_print(self, event: dict[str, Any]) -> None:
        event["says"] = "The program prints a line."
        event["formula"] = [event["text"]]

    def say_write(self, event: dict[str, Any]) -> None:
        name = self.nodes[event["node"]]["name"]
        event["says"] = f"The values of {name} are overwritten, and nobody records it: version {event['version']}."
        event["formula"] = [[name, "v"], " ← ", [short(event["value"]), "v"]]

    def say_grad(self, event: dict[str, Any]) -> None:
        name = self.nodes[event["node"]]["name"]
        empty = event["after"] is None or not any(flat(event["after"]))
        event["says"] = f"{name}.grad is cleared: the next gradient starts anew." if empty else f"{name}.grad is set by the program."
        event["formula"] = [[f"{name}.grad", "o"], ": ", [short(event["before"]), "g"], " → ", [short(event["after"]), "o"]]

    def say_error(self, event: dict[str, Any]) -> None:
        event["says"] = event["message"]
        event["formula"] = [event["type"]]

    # ---- backward ----------------------------------------------------------------------------------------------------------------------

    def total(self, event: dict[str, Any], node: int) -> str:
        """`∂y/∂x`."""
        root = event["root"]
        above = "out" if root is None else bracketed(self.nodes[root]["name"])
        return f"∂{above}/∂{bracketed(self.nodes[node]['name'])}"

    def say_seed(self, event: dict[str, Any]) -> None:
        name = self.nodes[event["node"]]["name"]
        ones = set(flat(event["grad"])) == {1.0} if not isinstance(event["grad"], dict) else False
        event["says"] = f"Backward starts at {name}{': its derivative by itself is 1.' if ones else ' with the gradient that was given.'}"
        if event.get("keeps"):
            event["says"] += " The graph is kept."
        event["formula"] = [[self.total(event, event["node"]), "o"], " = ", [short(event["grad"]), "o"]]

    def say_sum(self, event: dict[str, Any]) -> None:
        name = self.nodes[event["node"]]["name"]
        event["says"] = f"{len(event['terms'])} paths meet at {name}. Their gradients are added before anything goes on."
        parts: Formula = []
        for term in event["terms"]:
            parts += [" + ", [bracketed_number(short(term)), "g"]]
        event["formula"] = [[self.total(event, event["node"]), "o"], " = ", *parts[1:], " = ", [short(event["grad"]), "o"]]

    def say_hook(self, event: dict[str, Any]) -> None:
        name, changed = self.nodes[event["node"]]["name"], event["before"] != event["after"]
        words = {"<lambda>": "a hook", DEBUGGER: "the debugger"}
        hooks = " and ".join(dict.fromkeys(words.get(one, f"the hook {one}") for one in event["names"]))
        did = "replaces the gradient." if changed else "sees the gradient and lets it pass."
        event["says"] = f"{hooks[0].upper()}{hooks[1:]} on {name} {did}"
        change: Formula = [[short(event["before"]), "g"], " → ", [short(event["after"]), "o"]]
        event["formula"] = [[self.total(event, event["node"]), "o"], ": ", *change]

    def say_accumulate(self, event: dict[str, Any]) -> None:
        name = self.nodes[event["node"]]["name"]
        left: Formula = [[f"{name}.grad", "o"], ": "]
        if event["before"] is None:
            event["says"] = f"{name} is a leaf: the gradient stays here, in {name}.grad."
            event["formula"] = [*left, "None", " → ", [short(event["after"]), "o"]]
        else:
            event["says"] = f"{name}.grad already holds {short(event['before'])}. The new gradient is added, not put in its place."
            new = bracketed_number(short(event["grad"]))
            event["formula"] = [*left, [short(event["before"]), "g"], " + ", [new, "g"], " = ", [short(event["after"]), "o"]]

    def say_capture(self, event: dict[str, Any]) -> None:
        name = self.nodes[event["node"]]["name"]
        event["says"] = f"The gradient of {name} was asked for: it is handed to the program, and no .grad is touched."
        event["formula"] = [[self.total(event, event["node"]), "o"], " = ", [short(event["grad"]), "o"]]

    def say_deliver(self, event: dict[str, Any]) -> None:
        index, edge = event["node"], self.edges[event["edge"]]
        left: Formula = [[self.total(event, edge["from"]), "o"]]
        if self.paths[event["pass"], edge["from"]] > 1:
            left.append([f" via {self.nodes[index]['name']}", "m"])
        made = self.recorder.made.get(index)
        term = None if made is None else self.derivative(event, made)
        op = self.nodes[index].get("op", "")
        rule = f"the rule of {op}" if made is not None or self.nodes[index].get("grad_fn") != f"{op}Backward" else f"{op}.backward"
        middle, says = ([[rule, "m"]], f"Computed by {rule}.") if term is None else self.explained(event, index, term)
        gave = short(event["grad"])
        if middle[-1][0] == gave and (len(middle) == 1 or middle[-2] == " = "):
            middle[-1] = [gave, "o"]
        else:
            middle += [" = ", [gave, "o"]]
        event["formula"] = [*left, " = ", *middle]
        event["says"] = says + self.saved_for(index)

    def saved_for(self, index: int) -> str:
        saved = [one["of"] for one in self.nodes[index].get("saved", [])]
        if saved == [index]:
            return " It saved its own result for this."
        return ""

    def derivative(self, event: dict[str, Any], made: Any) -> Term | None:
        """The rule of this delivery in symbols."""
        g = event["arrived"]
        if not isinstance(g, Tensor) or any(value is None for name, value in made.values.items() if name in ("out",)):
            return None
        op = made.op
        name = op.inputs[0] if op.sequence else op.inputs[event["slot"]]
        term = symbols.derivative(op, name, made.values, np.asarray(g._data), event["slot"] if op.sequence else 0)
        if term is None or not isinstance(event["gave"], Tensor):
            return None
        found = term.evaluate({"g": np.asarray(g._data), **made.values})
        return term if symbols.agrees(found, event["gave"]._data) else None  # (a hook of the node may have changed it)

    def explained(self, event: dict[str, Any], index: int, term: Term) -> tuple[Formula, str]:
        """A derivative in symbols, then in numbers, and a sentence about it."""
        above = self.total(event, index)
        arrived = plain(event["arrived"])
        names = {**self.names_of(index), "g": above}
        numbers = {**self.numbers_of(index), "g": short(arrived)}
        single = is_one(event["grad"]) and all(is_one(self.nodes[e["from"]]["value"]) for e in self.edges if e["to"] == index)
        first = index == event["root"] and arrived == 1.0
        local = term.without("g")
        if local is None:
            text = term.text(names)
            if len(text) > LONGEST:
                return [[f"the rule of {self.nodes[index].get('op')}", "m"]], f"Computed by the rule of {self.nodes[index].get('op')}."
            return [[text, "v"]], self.sentence(term)
        if local.kind == "number" and local.value == 1:
            return [[above, "g"]] if not first else [["1", "v"]], "What arrives is passed on unchanged."
        symbol, value = local.text(names), local.text(numbers)
        if len(symbol) > LONGEST:
            return [[f"the rule of {self.nodes[index].get('op')}", "m"]], f"Computed by the rule of {self.nodes[index].get('op')}."
        sign = "·" if local.plain or single else " ⊙ "
        says = "What arrives, times the local derivative" + (", element by element." if not single and not local.plain else ".")
        if first:
            tokens: Formula = [[symbol, "v"]]
            if single and value not in (symbol, short(event["grad"])):
                tokens += [" = ", [value, "v"]]
            return tokens, "The local derivative; what arrives is 1."
        tokens = [[above, "g"], " · " if sign == "·" else sign, [local.inside(names, PRODUCT), "v"]]
        if single:
            tokens += [" = ", [bracketed_number(short(arrived)), "g"], " · ", [local.inside(numbers, PRODUCT), "v"]]
        return tokens, says

    @staticmethod
    def sentence(term: Term) -> str:
        """What kind of rule it is."""
        while term.kind == "shaped":
            term = term.args[0]
        if term.kind == "total":
            return "What arrives is summed, because the value was used more than once."
        if term.kind == "matmul":
            return "What arrives, in a matrix product."
        if term.kind == "where":
            return "The gradient passes where the condition holds."
        return "Computed from what arrives and what was saved."


def bracketed_number(text: str) -> str:
    return f"({text})" if text.startswith("−") else text
