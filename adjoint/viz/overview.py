"""A trace with its modules folded: each call of a module is one card, and what happens inside it is one step.

The result has the form of a trace, so who can show one can show the other.
"""

from __future__ import annotations

from typing import Any

from .placing import place

CARDS = 40  # more are folded, as far as there are modules


def overview(trace: dict[str, Any]) -> dict[str, Any] | None:
    """The folded trace, None where it would be no smaller."""
    units = chosen(trace)
    if not units:
        return None
    return Folding(trace, units).folded()


def chosen(trace: dict[str, Any]) -> list[dict[str, Any]]:
    """Calls of modules to fold: those around all others; the largest are opened as long as there is room, all of a kind or none."""
    groups = [group for group in trace["groups"] if len(group["nodes"]) > 1]
    units, kept = outermost(groups), list[dict[str, Any]]()
    while units:
        largest = max(units, key=lambda unit: len(unit["nodes"]))
        alike = [unit for unit in units if unit["kind"] == largest["kind"]]
        units = [unit for unit in units if unit["kind"] != largest["kind"]]
        inside = outermost([group for group in groups if any(set(group["nodes"]) < set(unit["nodes"]) for unit in alike)])
        opened = [*kept, *units, *inside]
        alone = len(alike) == 1 and not units and not kept
        if inside and (alone or len(trace["nodes"]) - len(hidden(trace, opened)) + len(opened) <= CARDS):
            units += inside
        else:
            kept += alike
    return kept if len(hidden(trace, kept)) > len(kept) else []


def outermost(groups: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [group for group in groups if not any(set(group["nodes"]) < set(other["nodes"]) for other in groups)]


def hidden(trace: dict[str, Any], units: list[dict[str, Any]]) -> dict[int, int]:
    """The nodes that are folded, and into which unit: those made in its call, and what only they use."""
    found = {node: index for index, unit in enumerate(units) for node in unit["nodes"]}
    for index, node in enumerate(trace["nodes"]):
        if node["kind"] in ("parameter", "number", "data") and index not in found:
            users = {found.get(edge["to"]) for edge in trace["edges"] if edge["from"] == index}
            if len(users) == 1 and None not in users:
                found[index] = users.pop()  # type: ignore[assignment]
    return found


class Folding:
    """Puts the folded trace together."""

    def __init__(self, trace: dict[str, Any], units: list[dict[str, Any]]) -> None:
        self.trace, self.units = trace, units
        self.hidden = hidden(trace, units)
        used = {end for edge in trace["edges"] for end in (edge["from"], edge["to"])}
        self.unused = {index for index, node in enumerate(trace["nodes"]) if node["kind"] == "parameter" and index not in used}
        self.nodes: list[dict[str, Any]] = []
        self.edges: list[dict[str, Any]] = []
        self.events: list[dict[str, Any]] = []
        self.card_of_unit: dict[int, int] = {}
        self.card: dict[int, int] = {}  # by node of the trace
        self.edge_of: dict[int, int] = {}  # by edge of the trace

    def folded(self) -> dict[str, Any]:
        for index, node in enumerate(self.trace["nodes"]):
            unit = self.hidden.get(index)
            if index in self.unused:
                continue
            if unit is None:
                self.nodes.append({key: value for key, value in node.items() if key not in ("saved", "group", "replaces")})
                self.card[index] = len(self.nodes) - 1
            elif unit not in self.card_of_unit:
                self.nodes.append(self.unit_card(unit))
                self.card_of_unit[unit] = len(self.nodes) - 1
        self.card |= {node: self.card_of_unit[unit] for node, unit in self.hidden.items()}
        known: dict[Any, int] = {}
        for index, edge in enumerate(self.trace["edges"]):
            source, to = self.card[edge["from"]], self.card[edge["to"]]
            if source != to:
                key = edge["from"], to, edge["grad"]
                if key not in known:
                    known[key] = len(self.edges)
                    self.edges.append({**edge, "from": source, "to": to})
                self.edge_of[index] = known[key]
        for event in self.trace["events"]:
            self.fold(event)
        whole = ("format", "adjoint", "code", "output", "error", "truncated")
        found: dict[str, Any] = {key: self.trace[key] for key in whole if key in self.trace}
        return {
            **found, "nodes": self.nodes, "edges": self.edges, "events": self.events, "groups": [],
            "layout": place(self.nodes, self.edges),
        }  # fmt: skip

    def unit_card(self, unit: int) -> dict[str, Any]:
        """A card for the call of a module: its result, and what it is."""
        group = self.units[unit]
        result = self.trace["nodes"][group["nodes"][-1]]
        keys = ("value", "shape", "dtype", "requires_grad", "line", "span")
        return {"kind": "op", "name": group["name"], **{k: result[k] for k in keys if k in result}, "op": group["kind"],
                "grad_fn": f"{len(group['nodes'])} operations"}  # fmt: skip

    def fold(self, event: dict[str, Any]) -> None:
        node = event["node"]
        if node in self.unused:
            return
        unit = None if node is None else self.hidden.get(node)
        if unit is None:
            self.keep(event, None if node is None else self.card[node])
            return
        card, group = self.card_of_unit[unit], self.units[unit]
        if event["kind"] == "op" and node == group["nodes"][-1] and "pass" not in event:
            edges = [index for index, edge in enumerate(self.edges) if edge["to"] == card]
            inputs = ", ".join(dict.fromkeys(self.nodes[self.edges[edge]["from"]]["name"] for edge in edges))
            says = f"{group['name']}, a {group['kind']}: {len(group['nodes'])} operations{self.parameters(unit)}."
            formula = [[f"{group['name']}({inputs})", "v"], *event["formula"][-2:]]
            self.events.append({**event, "node": card, "edges": edges, "says": says, "formula": formula})
        elif event["kind"] in ("deliver", "seed", "sum", "error"):
            self.keep(event, card)
        elif event["kind"] == "accumulate" and node == self.last_accumulated(unit, event):
            says = f"All parameters inside {group['name']} have their gradients."
            self.events.append({**event, "kind": "inside", "node": card, "says": says})

    def keep(self, event: dict[str, Any], card: int | None) -> None:
        """An event whose edges can still be seen, with its indices."""
        changed: dict[str, Any] = {"node": card}
        if "edge" in event:
            if event["edge"] not in self.edge_of:
                return
            changed["edge"] = self.edge_of[event["edge"]]
        if "edges" in event:
            places = [place_ for place_, edge in enumerate(event["edges"]) if edge is None or edge in self.edge_of]
            if event["kind"] == "sum" and len(places) < len(event["edges"]):
                return
            changed["edges"] = [self.edge_of[event["edges"][p]] for p in places if event["edges"][p] is not None]
        self.events.append({**event, **changed})

    def parameters(self, unit: int) -> str:
        count = sum(self.trace["nodes"][node]["kind"] == "parameter" for node, of in self.hidden.items() if of == unit)
        return f" with {count} parameters" if count else ""

    def last_accumulated(self, unit: int, event: dict[str, Any]) -> int:
        inside = [
            other["node"] for other in self.trace["events"]
            if other["kind"] == "accumulate" and other["pass"] == event["pass"] and self.hidden.get(other["node"]) == unit
        ]  # fmt: skip
        return int(inside[-1])
