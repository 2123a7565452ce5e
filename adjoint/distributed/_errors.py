"""What goes wrong between processes, by PyTorch's names."""


class DistError(RuntimeError):
    """What PyTorch raises where processes fail to talk to each other."""


class DistBackendError(DistError):
    """The same, of a backend."""


class DistNetworkError(DistError):
    """The same, of a network."""


class DistStoreError(DistError):
    """The same, of a store."""


class QueueEmptyError(DistStoreError):
    """A queue of a store has nothing in it."""
