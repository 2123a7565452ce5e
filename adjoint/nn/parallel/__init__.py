"""`DataParallel`, as PyTorch's behaves where there is no GPU to divide a batch over."""

from .data_parallel import DataParallel as DataParallel
from .data_parallel import data_parallel as data_parallel
from .distributed import DistributedDataParallel as DistributedDataParallel
