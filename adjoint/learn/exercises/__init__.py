"""The exercises, one module each; see `adjoint.learn` for their shape."""
