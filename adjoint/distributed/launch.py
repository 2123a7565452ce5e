"""PyTorch's `torch.distributed.launch`, the old name of `torch.distributed.run`. The program gets `--local-rank=N`, unless `--use-env`."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Sequence

from . import run


def parse_args(args: Sequence[str] | None) -> Namespace:
    parser = run.get_args_parser()
    parser.add_argument("--use-env", "--use_env", action="store_true", help="only LOCAL_RANK in the environment says the local rank")
    return parser.parse_args(args)


def main(args: Sequence[str] | None = None) -> None:
    run.run(parse_args(args))


if __name__ == "__main__":
    sys.exit(run.console(sys.argv[1:], parse_args))
