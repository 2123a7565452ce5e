"""Ways to run a checkpoint in either library, for the facts."""

from __future__ import annotations

from tests.torch_parity.facts import raised

BOTH = (False, True)


def leaf(T, *values):
    return T.tensor(list(values) or [0.5, 2.0], dtype=T.float64, requires_grad=True)


def module(T):
    return T.utils.checkpoint


def counting(function):
    """A function that counts its calls."""

    def counted(*args, **kwargs):
        counted.calls += 1
        return function(*args, **kwargs)

    counted.calls = 0
    return counted


def ways(T, function, *args, then=lambda out: out.sum().backward(), ways=BOTH, **kwargs):
    """The same in both ways: what `then` says, the gradients of the arguments and the number of calls."""
    found = []
    for reentrant in ways:
        given = [x.detach().clone().requires_grad_(x.requires_grad) if hasattr(x, "detach") else x for x in args]
        counted = counting(function)

        def run(counted=counted, given=given, reentrant=reentrant):
            return then(module(T).checkpoint(counted, *given, use_reentrant=reentrant, **kwargs))

        said = raised(run)
        found.append((said, [x.grad for x in given if hasattr(x, "grad")], counted.calls))
    return found
