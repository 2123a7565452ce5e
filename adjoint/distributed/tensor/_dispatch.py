"""What ops mean for tensors of which each process has a part.

Element by element, ops work on the parts where they are; which ops do is said in their declarations. Reductions combine what the
processes have reduced, products of matrices know the usual divisions, and tensors that every process has whole are computed with as
ever. All else is refused, because it would gather tensors that may not fit: the user does that, by `full_tensor()`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from ..._creation import empty, full
from ..._size import Size
from ..._tensor import Tensor
from ...functional import broadcast_shapes
from ._api import DTensor, DTensorSpec, is_divided, local_of, make
from ._redistribute import redistributed, reduced
from .placement_types import Partial, Placement, Replicate, Shard

Arguments = dict[str, Any]


def dispatch(op: Any, args: tuple[Any, ...], kwargs: Arguments) -> Any:
    """The result of an op that some DTensor is an operand of."""
    name, declaration = op.overloadpacket.__name__, getattr(op, "declaration", None)
    rule = RULES.get(name)
    if rule is not None:
        return rule(op, args, kwargs)
    if declaration is not None and declaration.broadcasts:
        return elementwise(op, args, kwargs)
    if not any(is_divided(x) for x in _tensors(args, kwargs)):
        return replicated(op, args, kwargs)
    raise _refusal(name, next(x for x in _tensors(args, kwargs) if is_divided(x)))


def _refusal(name: str, x: Any) -> NotImplementedError:
    return NotImplementedError(
        f"Operator aten.{name}.default does not have a sharding strategy registered, for a tensor with placements {x.placements}: "
        f"write {name}(x.full_tensor(), ...), which gathers it on every process, or {name}(x.to_local(), ...) for the part that is here"
    )


def _tensors(args: Any, kwargs: Arguments) -> Iterator[Tensor]:
    for value in (*args, *kwargs.values()):
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, list | tuple):
            yield from (item for item in value if isinstance(item, Tensor))


def _mapped(function: Callable[[Any], Any], value: Any) -> Any:
    if isinstance(value, list | tuple) and not isinstance(value, Size):
        return type(value)([_mapped(function, item) for item in value])
    return function(value) if isinstance(value, Tensor) else value


def _on_parts(op: Any, args: Any, kwargs: Arguments, function: Callable[[Any], Any] = local_of) -> Any:
    """The op on the tensors that `function` makes of its operands."""
    return op(*[_mapped(function, value) for value in args], **{name: _mapped(function, value) for name, value in kwargs.items()})


def _wrapped(result: Any, spec: DTensorSpec) -> Any:
    """A result, or several, as DTensors that are divided alike."""
    return _mapped(lambda local: make(local, spec), result)


def _common_mesh(args: Any, kwargs: Arguments) -> Any:
    """The mesh of all DTensors. Other tensors may have one element only: which part would a process have of them?"""
    mesh = None
    for x in _tensors(args, kwargs):
        if isinstance(x, DTensor):
            if mesh not in (None, x.device_mesh):
                raise RuntimeError(f"Could not run with DTensors of two meshes, {mesh} and {x.device_mesh}: take both from one mesh")
            mesh = x.device_mesh
    for x in _tensors(args, kwargs):
        if not isinstance(x, DTensor) and x.numel() != 1:
            raise RuntimeError(
                "got mixed torch.Tensor and DTensor, need to convert all torch.Tensor to DTensor before calling distributed operators!\n"
                "  fix: distribute_tensor(x, mesh, placements), or y.full_tensor() instead of the DTensor"
            )
    return mesh


# ---- element by element -------------------------------------------------------------------------------------------------------------


def elementwise(op: Any, args: tuple[Any, ...], kwargs: Arguments) -> Any:
    """All operands are divided as the first divided one is, or as the one that is written to."""
    mesh = _common_mesh(args, kwargs)
    operands = [x for x in _tensors(args, kwargs) if isinstance(x, DTensor)]
    shape = Size(broadcast_shapes(*(x.shape for x in operands)))
    in_place = op.overloadpacket.__name__.endswith("_")
    wanted = args[0].placements if in_place else tuple(_first_shard(operands, place, shape) for place in range(mesh.ndim))

    def part(x: Tensor) -> Tensor:
        if not isinstance(x, DTensor):
            return x
        own = [_aligned(placement, x.shape, shape) for placement in wanted]
        return redistributed(x._local_tensor, x.shape, mesh, x.placements, own)

    if in_place and any(isinstance(placement, Partial) for placement in wanted):
        raise _refusal(op.overloadpacket.__name__, args[0])
    result = _on_parts(op, args, kwargs, part)
    return args[0] if in_place else _wrapped(result, DTensorSpec(mesh, wanted, shape))


def _first_shard(operands: Sequence[DTensor], place: int, shape: Size) -> Placement:
    for x in operands:
        placement = x.placements[place]
        if isinstance(placement, Shard):
            dim = placement.dim + len(shape) - x.ndim
            if x.shape[placement.dim] == shape[dim]:
                return Shard(dim)
    return Replicate()


def _aligned(placement: Placement, own: Size, shape: Size) -> Placement:
    """How an operand is divided whose shape is broadcast."""
    if not isinstance(placement, Shard):
        return placement
    dim = placement.dim - len(shape) + len(own)
    return Shard(dim) if dim >= 0 and own[dim] == shape[placement.dim] else Replicate()


def like_first(op: Any, args: tuple[Any, ...], kwargs: Arguments) -> Any:
    """A tensor of the shape of the first operand, divided as that is; of a sum to come, the whole."""
    x = args[0]
    spec = x._spec.with_placements([Replicate() if isinstance(p, Partial) else p for p in x.placements])
    return _wrapped(_on_parts(op, args, kwargs), spec)


def kept(op: Any, args: tuple[Any, ...], kwargs: Arguments) -> Any:
    """The same values, divided as before."""
    return _wrapped(_on_parts(op, args, kwargs), args[0]._spec)


def written(op: Any, args: tuple[Any, ...], kwargs: Arguments) -> Any:
    """Values from a tensor, whole or divided otherwise, into the parts of another."""
    target, source = args[0], args[1] if len(args) > 1 else kwargs["src"]
    if isinstance(source, DTensor):
        own = [_aligned(placement, source.shape, target.shape) for placement in target.placements]
        source = redistributed(source._local_tensor, source.shape, source.device_mesh, source.placements, own)
    elif isinstance(source, Tensor) and source.ndim:
        raise RuntimeError(
            "copy_: got mixed torch.Tensor and DTensor; write x.copy_(distribute_tensor(value, x.device_mesh, x.placements))"
        )
    target._local_tensor.copy_(source)
    return target


def filled(op: Any, args: tuple[Any, ...], kwargs: Arguments) -> Any:
    _on_parts(op, args, kwargs)
    return args[0]


def drawn(op: Any, args: tuple[Any, ...], kwargs: Arguments) -> Any:
    return args[0]._fill_part(op, *args[1:], **kwargs)


def replicated(op: Any, args: tuple[Any, ...], kwargs: Arguments) -> Any:
    """An op on tensors that all processes have whole."""
    mesh = _common_mesh(args, kwargs)
    result = _on_parts(op, args, kwargs)
    if op.overloadpacket.__name__.endswith("_"):
        return args[0]
    whole = tuple([Replicate()] * mesh.ndim)
    return _mapped(lambda local: make(local, DTensorSpec(mesh, whole, local.shape)), result)


# ---- reductions ---------------------------------------------------------------------------------------------------------------------


def _given(op: Any, args: tuple[Any, ...], kwargs: Arguments) -> Arguments:
    return {**op.declaration.default_values(), **dict(zip(op.declaration.args, args, strict=False)), **kwargs}


def _dims(given: Arguments, ndim: int) -> list[int]:
    """The dimensions that a reduction leaves out."""
    dim = given.get("dim")
    chosen = range(ndim) if dim is None or dim == () else [dim] if isinstance(dim, int) else dim
    return [d % ndim for d in chosen] if ndim else []


def reduction(how: str, empty_is: Any, op: Any, args: tuple[Any, ...], kwargs: Arguments) -> Any:
    """Each process reduces its part, then the results are combined, along the dimensions of the mesh that divide one that is left out."""
    x, given = _without_sums(args[0]), _given(op, args, kwargs)
    dims, keep = _dims(given, x.ndim), bool(given.get("keepdim"))
    local, shape = x._local_tensor, _reduced_shape(x.shape, dims, keep)
    if local.numel() or empty_is is None:
        result = op(local, *args[1:], **kwargs)
    else:  # of no elements there is no maximum
        result = full(_reduced_shape(local.shape, dims, keep), empty_is(local), dtype=local.dtype)
    placements: list[Placement] = []
    for place, placement in enumerate(x.placements):
        if isinstance(placement, Shard) and placement.dim in dims:
            bits = result.dtype.is_floating_point or result.dtype.is_complex or result.element_size() > 1
            number = result if bits else result.to(_uint8())
            result = reduced(number, how, x.device_mesh.get_group(place)).to(result.dtype)
            placement = Replicate()
        elif isinstance(placement, Shard) and not keep:
            placement = Shard(placement.dim - sum(d < placement.dim for d in dims))
        placements.append(placement)
    return make(result, DTensorSpec(x.device_mesh, tuple(placements), Size(shape)))


def _uint8() -> Any:
    from ..._dtype import uint8

    return uint8


def _reduced_shape(shape: Sequence[int], dims: Sequence[int], keep: bool) -> list[int]:
    return [1 if d in dims else n for d, n in enumerate(shape) if keep or d not in dims]


def _without_sums(x: DTensor) -> DTensor:
    if not any(isinstance(p, Partial) for p in x.placements):
        return x
    return x.redistribute(placements=[Replicate() if isinstance(p, Partial) else p for p in x.placements])


def mean(op: Any, args: tuple[Any, ...], kwargs: Arguments) -> Any:
    x, given = args[0], _given(op, args, kwargs)
    dims = _dims(given, x.ndim)
    count = 1
    for dim in dims:
        count *= x.shape[dim]
    total = x.sum(dims, keepdim=bool(given.get("keepdim")), dtype=given.get("dtype")) if dims else x.sum(dtype=given.get("dtype"))
    return total / count


def vector_norm(op: Any, args: tuple[Any, ...], kwargs: Arguments) -> Any:
    """The norm of the parts' norms: of those that are maxima, the maximum, otherwise by the sum of powers."""
    x, given = _without_sums(args[0]), _given(op, args, kwargs)
    order = float(given.get("ord", 2))
    divided = [p for p in x.placements if isinstance(p, Shard) and p.dim in _dims(given, x.ndim)]
    if not divided:
        return reduction("sum", None, op, (x, *args[1:]), kwargs)
    if order == float("inf"):
        return reduction("max", lambda local: 0, op, (x, *args[1:]), kwargs)
    if order == float("-inf"):
        return reduction("min", lambda local: float("inf"), op, (x, *args[1:]), kwargs)
    if order == 0:
        return reduction("sum", None, op, (x, *args[1:]), kwargs)
    dims, keep = _dims(given, x.ndim), bool(given.get("keepdim"))
    powers = (x.abs() ** order).sum(dims, keepdim=keep, dtype=given.get("dtype"))
    return powers.sqrt() if order == 2 else powers ** (1 / order)


def _least(local: Tensor) -> Any:
    return float("-inf") if local.is_floating_point() else _integers(local).min


def _greatest(local: Tensor) -> Any:
    return float("inf") if local.is_floating_point() else _integers(local).max


def _integers(local: Tensor) -> Any:
    from ..._dtype import iinfo

    return iinfo(local.dtype)


# ---- products of matrices -----------------------------------------------------------------------------------------------------------


def transposed(op: Any, args: tuple[Any, ...], kwargs: Arguments) -> Any:
    """Dimensions in another order; so is the one that is divided."""
    x = args[0]
    order = list(op(_Order(x.ndim), *args[1:], **kwargs).shape)
    placements = [Shard(order.index(p.dim)) if isinstance(p, Shard) else p for p in x.placements]
    return make(_on_parts(op, args, kwargs), DTensorSpec(x.device_mesh, tuple(placements), Size(x.shape[d] for d in order)))


def _Order(ndim: int) -> Tensor:
    """A tensor without elements to speak of, whose sizes are the numbers of its dimensions."""
    return empty(*range(ndim), device="meta")


def product(op: Any, args: tuple[Any, ...], kwargs: Arguments) -> Any:
    """`x @ y` of matrices: rows, columns or the inner dimension are divided."""
    x, y = args
    if not (isinstance(x, DTensor) and isinstance(y, DTensor)) or x.ndim != 2 or y.ndim != 2:
        return _product_refused(op, args, kwargs)
    _common_mesh(args, kwargs)
    placements: list[Placement] = []
    x, y = _without_sums(x), _without_sums(y)
    for left, right in zip(x.placements, y.placements, strict=True):
        found = _PRODUCTS.get((_name(left), _name(right)))
        if found is None:
            raise _refusal("mm", x if is_divided(x) else y)
        placements.append(found)
    spec = DTensorSpec(x.device_mesh, tuple(placements), Size((x.shape[0], y.shape[1])))
    return make(op(x._local_tensor, y._local_tensor), spec)


def _product_refused(op: Any, args: tuple[Any, ...], kwargs: Arguments) -> Any:
    divided = next((x for x in _tensors(args, kwargs) if is_divided(x)), None)
    if divided is not None:
        raise _refusal(op.overloadpacket.__name__, divided)
    return replicated(op, args, kwargs)


def _name(placement: Placement) -> int | None:
    return placement.dim if isinstance(placement, Shard) else None


# What becomes of a product, by the dimensions that divide its operands.
_PRODUCTS: dict[tuple[int | None, int | None], Placement] = {
    (None, None): Replicate(), (0, None): Shard(0), (None, 1): Shard(1), (1, 0): Partial("sum"),
}  # fmt: skip


def linear(op: Any, args: tuple[Any, ...], kwargs: Arguments) -> Any:
    """`x @ weight.T + bias`, by the rules of products; rows of `x` may have several dimensions if only those are divided."""
    x, weight, bias = (*args, *kwargs.values(), None)[:3]
    if isinstance(x, DTensor) and not is_divided(weight) and not is_divided(bias):
        if all(not isinstance(p, Shard) or p.dim < x.ndim - 1 for p in x.placements):
            x = _without_sums(x)
            _common_mesh(args, kwargs)
            shape = Size((*x.shape[:-1], weight.shape[0]))
            return make(op(*map(local_of, (x, weight, bias))), DTensorSpec(x.device_mesh, x.placements, shape))
    if isinstance(x, DTensor) and isinstance(weight, DTensor) and x.ndim == 2:
        result = x.mm(weight.t())
        return result if bias is None else result + bias
    return _product_refused(op, args, kwargs)


RULES: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("clone", "contiguous", "cpu", "alias", "detach"), kept),
    **dict.fromkeys(("_to_copy", "_to_integer"), elementwise),
    **dict.fromkeys(("zeros_like", "ones_like", "full_like", "empty_like"), like_first),
    **dict.fromkeys(("zero_", "fill_"), filled),
    **dict.fromkeys(("normal_", "uniform_", "log_normal_", "exponential_", "geometric_", "cauchy_", "random_", "bernoulli_"), drawn),
    **dict.fromkeys(("t", "transpose", "permute"), transposed),
    **dict.fromkeys(("mm", "matmul"), product),
    "linear": linear,
    "copy_": written,
    "sum": partial(reduction, "sum", None),
    "prod": partial(reduction, "product", None),
    "count_nonzero": partial(reduction, "sum", None),
    "any": partial(reduction, "max", None),
    "all": partial(reduction, "min", None),
    **dict.fromkeys(("max", "amax"), partial(reduction, "max", _least)),
    **dict.fromkeys(("min", "amin"), partial(reduction, "min", _greatest)),
    "mean": mean,
    "linalg_vector_norm": vector_norm,
}
