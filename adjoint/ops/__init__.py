"""All operations. Importing this package fills the registry and gives Tensor its methods."""

from . import alias as alias
from . import elementwise as elementwise
from . import matmul as matmul
from . import reduce as reduce
from . import shape as shape
