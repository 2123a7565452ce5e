"""DTensor: a tensor of which each process has a part.

It has the shape of the whole and, in the place of elements, the tensor that is this process's part. Ops come to `_dispatch`, which
computes with the parts; autograd records them as ever.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from ..._class_dispatch import derive, make_wrapper
from ..._creation import empty
from ..._size import Size
from ..._tensor import Tensor, disabled_torch_function
from ...autograd.function import Function
from ...autograd.grad_mode import no_grad
from .._collectives import broadcast
from ..device_mesh import DeviceMesh
from ._redistribute import redistributed
from .placement_types import Partial, Placement, Replicate, Shard, compute_local_shape_and_global_offset, normalized

if TYPE_CHECKING:
    from collections.abc import Callable


class DTensorSpec(NamedTuple):
    """How a tensor is divided: over which processes, into which parts, and its shape as a whole."""

    mesh: DeviceMesh
    placements: tuple[Placement, ...]
    shape: Size

    def with_placements(self, placements: Sequence[Placement]) -> DTensorSpec:
        return self._replace(placements=tuple(placements))


class DTensor(Tensor):
    """A tensor of which each process has a part: `to_local()` is that, `full_tensor()` gathers the whole.

    >>> import adjoint as ad
    >>> from adjoint.distributed.tensor import Shard, distribute_tensor
    >>> ad.distributed.init_process_group("gloo", rank=0, world_size=1)
    >>> mesh = ad.distributed.init_device_mesh("cpu", (1,))
    >>> x = distribute_tensor(ad.arange(4.0), mesh, [Shard(0)])
    >>> (x * 2).full_tensor()
    tensor([0., 2., 4., 6.])
    >>> ad.distributed.destroy_process_group()
    """

    __torch_function__ = disabled_torch_function  # type: ignore[assignment]
    _local_tensor: Tensor
    _spec: DTensorSpec

    def __new__(cls, local_tensor: Tensor, spec: DTensorSpec, *, requires_grad: bool = False) -> DTensor:
        return make(local_tensor, spec, requires_grad)

    @classmethod
    def __torch_dispatch__(cls, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        from ._dispatch import dispatch

        return dispatch(func, args, kwargs or {})

    # ---- its parts ----------------------------------------------------------------------------------------------------------------

    @staticmethod
    def from_local(
        local_tensor: Tensor, device_mesh: DeviceMesh | None = None, placements: Sequence[Placement] | None = None, *,
        run_check: bool = False, shape: Any = None, stride: Any = None,
    ) -> DTensor:  # fmt: skip
        """The tensor of which this process has the given part. Unless `shape` says otherwise, the parts are equally large."""
        mesh = device_mesh or _current_mesh()
        places = normalized(placements, mesh, local_tensor.ndim, "from_local")
        if (shape is None) != (stride is None):
            raise RuntimeError("Found shape and stride to be not both given: please pass both shape and stride at the same time.")
        if shape is None:
            sizes = list(local_tensor.shape)
            for place, placement in enumerate(places):
                if isinstance(placement, Shard):
                    sizes[placement.dim] *= mesh.size(place)
            shape = sizes
        if run_check:
            for place, placement in enumerate(places):
                if isinstance(placement, Replicate):
                    broadcast(local_tensor, group=mesh.get_group(place), group_src=0)
        return _FromLocal.apply(local_tensor, DTensorSpec(mesh, places, Size(shape)))  # type: ignore[no-any-return]

    def to_local(self, *, grad_placements: Sequence[Placement] | None = None) -> Tensor:
        """The part that this process has. `grad_placements` say what its gradient is a part of; by default it is divided alike."""
        return _ToLocal.apply(self, grad_placements)  # type: ignore[no-any-return]

    def full_tensor(self, *, grad_placements: Sequence[Placement] | None = None) -> Tensor:
        """The whole, gathered from all processes. Each of them has to call it."""
        whole = [Replicate()] * self._spec.mesh.ndim
        return self.redistribute(placements=whole).to_local(grad_placements=grad_placements)

    def redistribute(
        self, device_mesh: DeviceMesh | None = None, placements: Sequence[Placement] | None = None, *, async_op: bool = False,
        **options: Any,
    ) -> DTensor:  # fmt: skip
        """The same tensor, divided otherwise. It is there on return, whatever `async_op` says."""
        if placements is None:
            raise RuntimeError("placements is needed for redistribute!")
        if device_mesh not in (None, self._spec.mesh):
            raise NotImplementedError(
                "Cross device mesh comm not supported yet! Write distribute_tensor(x.full_tensor(), mesh, placements)"
            )
        if refused := [name for name, value in options.items() if value is not None]:
            raise NotImplementedError(f"redistribute: adjoint moves the dtype that the tensor has; leave {refused[0]} out")
        return _Redistribute.apply(self, normalized(placements, self._spec.mesh, self.ndim, "redistribute"))  # type: ignore[no-any-return]

    @property
    def device_mesh(self) -> DeviceMesh:
        return self._spec.mesh

    @property
    def placements(self) -> tuple[Placement, ...]:
        return self._spec.placements

    # ---- what is no op ------------------------------------------------------------------------------------------------------------

    def detach(self) -> DTensor:
        return make(self._local_tensor.detach(), self._spec)

    @property
    def data(self) -> DTensor:
        return make(self._local_tensor.data, self._spec)

    @data.setter
    def data(self, value: Tensor) -> None:
        if not isinstance(value, DTensor):
            raise RuntimeError("x.data of a DTensor has to be one: write x.data = distribute_tensor(value, x.device_mesh, x.placements)")
        self._local_tensor, self._spec, self._data = value._local_tensor.detach(), value._spec, value._data

    def item(self) -> Any:
        return self.full_tensor().item()

    def __bool__(self) -> bool:
        return bool(self.full_tensor())

    def _fill_part(self, fill: Callable[..., Any], *args: Any, **kwargs: Any) -> DTensor:
        """Fill it in place as `fill` would fill the whole tensor, of which this process keeps its part. So random numbers do not
        depend on how many processes there are; these have to start from the same seed."""
        if not self.is_meta:
            whole = empty(self.shape, dtype=self.dtype)
            fill(whole, *args, **kwargs)
            self._local_tensor.copy_(part_of(whole, self._spec))
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> DTensor:
        from copy import deepcopy

        if id(self) not in memo:
            made = make(deepcopy(self._local_tensor.detach(), memo), self._spec, self.requires_grad)
            made.__dict__.update({name: deepcopy(value, memo) for name, value in self.__dict__.items() if name in ("_is_param", "_grad")})
            memo[id(self)] = made
        return memo[id(self)]  # type: ignore[no-any-return]

    def _refuse_elements(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(
            "a process has a part of this tensor only: write x.full_tensor() for all elements, or x.to_local() for those that are here"
        )

    tolist = numpy = __array__ = storage = untyped_storage = data_ptr = __iter__ = _refuse_elements

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise NotImplementedError(
            "torch.save writes whole tensors, and a process has a part of this one only: write torch.distributed.checkpoint.save("
            "state_dict, checkpoint_id=folder) on all processes, or save get_model_state_dict(model, "
            "options=StateDictOptions(full_state_dict=True)) on one"
        )

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return f"DTensor(local_tensor={self._local_tensor.detach()}, device_mesh={self._spec.mesh}, placements={self._spec.placements})"


derive(DTensor)


def make(local: Tensor, spec: DTensorSpec, requires_grad: bool = False) -> DTensor:
    """A DTensor of this process's part."""
    made: DTensor = make_wrapper(DTensor, spec.shape, dtype=local.dtype, device=local.device, requires_grad=requires_grad)
    made._local_tensor, made._spec = local.detach() if local.requires_grad else local, spec
    return made


def _current_mesh() -> DeviceMesh:
    from .._groups import get_world_size
    from ..device_mesh import init_device_mesh

    return init_device_mesh("cpu", (get_world_size(),))


def _of_gradient(placements: Sequence[Placement]) -> tuple[Placement, ...]:
    """How the gradient of a tensor is divided: each process that adds to a sum has the whole gradient."""
    return tuple(Replicate() if isinstance(placement, Partial) else placement for placement in placements)


# ---- their derivatives --------------------------------------------------------------------------------------------------------------


class _FromLocal(Function):
    @staticmethod
    def forward(ctx: Any, local: Tensor, spec: DTensorSpec) -> DTensor:
        ctx.spec = spec
        return make(local.detach(), spec)

    @staticmethod
    def backward(ctx: Any, gradient: DTensor) -> Any:
        wanted = _of_gradient(ctx.spec.placements)
        return redistributed(gradient._local_tensor, gradient.shape, ctx.spec.mesh, gradient.placements, wanted), None


class _ToLocal(Function):
    @staticmethod
    def forward(ctx: Any, tensor: DTensor, grad_placements: Any) -> Tensor:
        spec = tensor._spec
        placements = spec.placements if grad_placements is None else normalized(grad_placements, spec.mesh, tensor.ndim, "to_local")
        ctx.spec = spec.with_placements(_of_gradient(placements) if grad_placements is None else placements)
        return tensor._local_tensor.detach()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        return make(gradient.detach(), ctx.spec), None


class _Redistribute(Function):
    @staticmethod
    def forward(ctx: Any, tensor: DTensor, placements: tuple[Placement, ...]) -> DTensor:
        ctx.spec = spec = tensor._spec
        local = redistributed(tensor._local_tensor, spec.shape, spec.mesh, spec.placements, placements)
        return make(local.detach(), spec.with_placements(placements))

    @staticmethod
    def backward(ctx: Any, gradient: DTensor) -> Any:
        wanted = _of_gradient(ctx.spec.placements)
        local = redistributed(gradient._local_tensor, gradient.shape, ctx.spec.mesh, gradient.placements, wanted)
        return make(local.detach(), ctx.spec.with_placements(wanted)), None


# ---- dividing what is whole ---------------------------------------------------------------------------------------------------------


@no_grad()
def distribute_tensor(
    tensor: Tensor, device_mesh: DeviceMesh | None = None, placements: Sequence[Placement] | None = None, *, src_data_rank: int | None = 0
) -> DTensor:
    """A tensor that all processes have, divided: each keeps its part of what process `src_data_rank` of the mesh has, or of its own
    if that is None."""
    mesh = device_mesh or _current_mesh()
    places = normalized(placements, mesh, tensor.ndim, "distribute_tensor")
    if any(isinstance(placement, Partial) for placement in places):
        raise RuntimeError("distribute_tensor: a whole tensor can be divided by Shard(dim) and Replicate() only")
    if isinstance(tensor, DTensor):
        if tensor.device_mesh != mesh or tensor.placements != places:
            raise ValueError("Cannot distribute a DTensor with other placements or device mesh; write x.redistribute(placements=...)")
        return tensor
    if not tensor.is_leaf:
        raise RuntimeError("`distribute_tensor` should be used to distribute leaf tensors! but found non-leaf tensor!")
    local = tensor.detach()
    if src_data_rank is not None and not tensor.is_meta and mesh.size() > 1:
        local = local.clone()
        for place in range(mesh.ndim):
            broadcast(local, group=mesh.get_group(place), group_src=src_data_rank)
    spec = DTensorSpec(mesh, places, tensor.shape)
    return make(part_of(local, spec).clone(), spec, tensor.requires_grad)


def part_of(whole: Tensor, spec: DTensorSpec) -> Tensor:
    """This process's part of a whole tensor: a view."""
    sizes, starts = compute_local_shape_and_global_offset(whole.shape, spec.mesh, spec.placements)
    for dim, (size, start) in enumerate(zip(sizes, starts, strict=True)):
        whole = whole.narrow(dim, start, size)
    return whole


def is_divided(tensor: Any) -> bool:
    """Whether a process has a part of a tensor only."""
    return isinstance(tensor, DTensor) and not all(isinstance(placement, Replicate) for placement in tensor.placements)


def local_of(tensor: Any) -> Any:
    """The part of a DTensor that is here; any other value as it is."""
    return tensor._local_tensor if tensor.__class__ is DTensor else tensor


__all__ = ["DTensor", "distribute_tensor"]
