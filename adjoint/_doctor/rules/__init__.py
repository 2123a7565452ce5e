"""The rules, each a class in a file of its own."""

from importlib import import_module
from pkgutil import iter_modules

from ..rule import Rule


def _rules() -> tuple[type[Rule], ...]:
    modules = [import_module(f".{found.name}", __name__) for found in iter_modules(__path__)]
    made = {value for module in modules for value in vars(module).values() if isinstance(value, type) and issubclass(value, Rule)}
    return tuple(sorted((rule for rule in made if hasattr(rule, "name")), key=lambda rule: rule.name))


RULES = _rules()
