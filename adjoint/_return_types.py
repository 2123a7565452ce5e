"""The named tuples that ops with several results return, as in `torch.return_types`.

>>> max((1, 2))
torch.return_types.max(
values=1,
indices=2)
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter
from typing import Any, ClassVar, Self


class ReturnType(tuple[Any, ...]):
    """A tuple whose items have names too. Made from one iterable, like a tuple."""

    __slots__ = ()
    __match_args__: ClassVar[tuple[str, ...]]
    n_fields: ClassVar[int]
    n_sequence_fields: ClassVar[int]
    n_unnamed_fields: ClassVar[int] = 0

    def __new__(cls, values: Iterable[Any], unnamed: Any = None) -> Self:
        made = tuple.__new__(cls, values)
        if len(made) != cls.n_fields:
            raise TypeError(f"torch.return_types.{cls.__name__}() takes a {cls.n_fields}-sequence ({len(made)}-sequence given)")
        return made

    def __repr__(self) -> str:
        fields = ",\n".join(f"{name}={value!r}" for name, value in zip(self.__match_args__, self, strict=True))
        return f"torch.return_types.{type(self).__name__}(\n{fields})"

    def __reduce__(self) -> tuple[Any, tuple[str, tuple[Any, ...]]]:
        return _restore, (type(self).__name__, tuple(self))


def _restore(name: str, values: tuple[Any, ...]) -> Any:
    return globals()[name](values)


def _define(name: str, *fields: str) -> Any:
    members: dict[str, Any] = {field: property(itemgetter(place)) for place, field in enumerate(fields)}
    counts = {"n_fields": len(fields), "n_sequence_fields": len(fields)}
    facts = {"__slots__": (), "__module__": "torch.return_types", "__match_args__": fields}
    return type(name, (ReturnType,), {**facts, **counts, **members})


max = _define("max", "values", "indices")
min = _define("min", "values", "indices")
median = _define("median", "values", "indices")
nanmedian = _define("nanmedian", "values", "indices")
mode = _define("mode", "values", "indices")
kthvalue = _define("kthvalue", "values", "indices")
sort = _define("sort", "values", "indices")
topk = _define("topk", "values", "indices")
cummax = _define("cummax", "values", "indices")
cummin = _define("cummin", "values", "indices")
aminmax = _define("aminmax", "min", "max")
frexp = _define("frexp", "mantissa", "exponent")
geqrf = _define("geqrf", "a", "tau")
histogram = _define("histogram", "hist", "bin_edges")
histogramdd = _define("histogramdd", "hist", "bin_edges")
lu_unpack = _define("lu_unpack", "P", "L", "U")
qr = _define("qr", "Q", "R")
svd = _define("svd", "U", "S", "V")
slogdet = _define("slogdet", "sign", "logabsdet")
triangular_solve = _define("triangular_solve", "solution", "cloned_coefficient")
_lu_with_info = _define("_lu_with_info", "LU", "pivots", "info")
linalg_cholesky_ex = _define("linalg_cholesky_ex", "L", "info")
linalg_eig = _define("linalg_eig", "eigenvalues", "eigenvectors")
linalg_eigh = _define("linalg_eigh", "eigenvalues", "eigenvectors")
linalg_ldl_factor = _define("linalg_ldl_factor", "LD", "pivots")
linalg_ldl_factor_ex = _define("linalg_ldl_factor_ex", "LD", "pivots", "info")
linalg_inv_ex = _define("linalg_inv_ex", "inverse", "info")
linalg_lstsq = _define("linalg_lstsq", "solution", "residuals", "rank", "singular_values")
linalg_lu = _define("linalg_lu", "P", "L", "U")
linalg_lu_factor = _define("linalg_lu_factor", "LU", "pivots")
linalg_lu_factor_ex = _define("linalg_lu_factor_ex", "LU", "pivots", "info")
linalg_qr = _define("linalg_qr", "Q", "R")
linalg_slogdet = _define("linalg_slogdet", "sign", "logabsdet")
linalg_solve_ex = _define("linalg_solve_ex", "result", "info")
linalg_svd = _define("linalg_svd", "U", "S", "Vh")
