"""Facts about graphs that a backward pass has freed."""

from __future__ import annotations

from ._base import attempt, fact


def twice(t, f):
    x = t.arange(1.0, 17.0).reshape(4, 4).requires_grad_()
    y = f(x).sum()
    y.backward()
    return attempt(y.backward)


@fact
def second_backward_through_indices(t):
    def assigned(x):
        y = x.clone()
        y[[1, 2]] = t.ones(4)
        return y

    rows, mask = t.tensor([1, 2]), t.eye(4) > 0
    return [
        twice(t, f)
        for f in (
            lambda x: x[[1, 1]], lambda x: x[rows], lambda x: x[mask], lambda x: x[:, rows], assigned, lambda x: x[1], lambda x: x[1:3],
            lambda x: x.index_put((rows,), t.ones(4)), lambda x: x.index_select(0, rows), lambda x: x.masked_fill(mask, 0.0),
            lambda x: x.take(rows), lambda x: x.index_add(0, rows, x[:2]), lambda x: x.tril(),
        )
    ]  # fmt: skip


@fact
def second_backward_through_dropout(t):
    drop = t.nn.functional
    return [twice(t, f) for f in (drop.dropout, drop.alpha_dropout, lambda x: drop.dropout(x, 0.0), lambda x: drop.dropout1d(x))]
