"""The methods that the op registry adds to Tensor. Empty until the op modules are imported; `_methods.pyi` lists them for type checkers."""


class OpMethods:
    __slots__ = ()
