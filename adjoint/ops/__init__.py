"""All operations. Importing this package fills the registry and gives Tensor its methods."""

from . import alias as alias
from . import arithmetic as arithmetic
from . import assign as assign
from . import compare as compare
from . import convert as convert
from . import index as index
from . import join as join
from . import matmul as matmul
from . import parts as parts
from . import piecewise as piecewise
from . import polar as polar
from . import reduce as reduce
from . import shape as shape
from . import softmax as softmax
from . import transcendental as transcendental
