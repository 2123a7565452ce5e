"""PyTorch's `torch.fx`: functions and modules as graphs that a program can read, change and turn into code again.

>>> import adjoint as ad
>>> def f(x):
...     return ad.relu(x) + 1
>>> traced = ad.fx.symbolic_trace(f)
>>> print(traced.code.strip())
def forward(self, x):
    relu = torch.relu(x);  x = None
    add = relu + 1;  relu = None
    return add
"""

from . import immutable_collections as immutable_collections
from ._symbolic_trace import PH as PH
from ._symbolic_trace import ProxyableClassMeta as ProxyableClassMeta
from ._symbolic_trace import Tracer as Tracer
from ._symbolic_trace import symbolic_trace as symbolic_trace
from ._symbolic_trace import wrap as wrap
from .graph import CodeGen as CodeGen
from .graph import Graph as Graph
from .graph_module import GraphModule as GraphModule
from .interpreter import Interpreter as Interpreter
from .interpreter import Transformer as Transformer
from .node import Node as Node
from .node import has_side_effect as has_side_effect
from .node import map_arg as map_arg
from .proxy import Proxy as Proxy
from .subgraph_rewriter import replace_pattern as replace_pattern

__all__ = [
    "Graph", "GraphModule", "Interpreter", "Node", "Proxy", "Tracer", "Transformer", "has_side_effect", "map_arg", "replace_pattern",
    "symbolic_trace", "wrap",
]  # fmt: skip
