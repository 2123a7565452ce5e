"""Forward or reverse?

A function has n inputs and m outputs, and you want its whole Jacobian: all m·n derivatives. Forward mode takes one direction in the space
of the inputs and finds, in one pass, how all outputs change along it. Reverse mode takes one output (or one weighting of them) and finds,
in one pass back, how it depends on all inputs. Answer by two functions:

- passes(mode, inputs, outputs): how many passes the mode "forward" or "reverse" needs for the Jacobian.
- better(inputs, outputs): "forward" or "reverse", whichever needs fewer passes; "either" if they need equally many.

Then ask yourself which numbers a network with a million weights and one loss has.
"""

from __future__ import annotations

from .._work import Mistakes, Work

SKELETON = '''
def passes(mode, inputs, outputs):
    """How many passes give the Jacobian of a function with so many inputs and outputs."""
    raise NotImplementedError


def better(inputs, outputs):
    """The mode with fewer passes: "forward", "reverse" or "either"."""
    raise NotImplementedError


if __name__ == "__main__":
    print(passes("forward", 1_000_000, 1), passes("reverse", 1_000_000, 1), better(1_000_000, 1))
'''

SOLUTION = '''
def passes(mode, inputs, outputs):
    """How many passes give the Jacobian of a function with so many inputs and outputs."""
    return inputs if mode == "forward" else outputs


def better(inputs, outputs):
    """The mode with fewer passes: "forward", "reverse" or "either"."""
    if inputs == outputs:
        return "either"
    return "forward" if inputs < outputs else "reverse"


if __name__ == "__main__":
    print(passes("forward", 1_000_000, 1), passes("reverse", 1_000_000, 1), better(1_000_000, 1))
'''

HINTS = (
    "The Jacobian has a row for each output and a column for each input. Which mode finds a row in one pass, and which a column?",
    "A direction along one input gives, in forward mode, the column of that input. So how many columns are there to find?",
    "Forward mode: one pass for each input. Reverse mode: one for each output. A loss is one output, so reverse mode needs a single pass.",
)

ERRORS: dict[str, str] = {}


def right(mode: str, inputs: int, outputs: int) -> int:
    return inputs if mode == "forward" else outputs


def right_mode(inputs: int, outputs: int) -> str:
    return "either" if inputs == outputs else "forward" if inputs < outputs else "reverse"


PASSES: Mistakes = {
    "The two modes are exchanged: a forward pass follows one input to all outputs, so it is the inputs that count.":
        [lambda mode, n, m: m if mode == "forward" else n],
    "That is the number of derivatives. One pass finds a whole column (forward) or a whole row (reverse) of them.":
        [lambda mode, n, m: n * m],
    "Only forward mode goes input by input. One pass of reverse mode finds the derivatives of one output by all inputs.":
        [lambda mode, n, m: n],
    "Only reverse mode goes output by output. One pass of forward mode finds the derivatives of all outputs by one input.":
        [lambda mode, n, m: m],
    "One reverse pass is enough for one output only. Each output needs its own.": [lambda mode, n, m: n if mode == "forward" else 1],
    "One pass finds one column or one row of the Jacobian. That is all of it only if there is one input, or one output.":
        [lambda mode, n, m: 1],
    "The passes do not add up: forward mode needs one for each input, whatever the outputs are, and reverse mode the other way round.":
        [lambda mode, n, m: n + m],
}

BETTER: Mistakes = {
    "That is the wrong way round: few inputs are quick in forward mode, few outputs in reverse mode.":
        [lambda n, m: "either" if n == m else "reverse" if n < m else "forward"],
    "Reverse mode is better for a loss, which is one output. With few inputs and many outputs it is the other way round.":
        [lambda n, m: "reverse"],
    "Forward mode is better with few inputs. A network has many inputs (its weights) and one output (its loss).": [lambda n, m: "forward"],
    'With as many inputs as outputs both need equally many passes: return "either".':
        [lambda n, m: "forward" if n < m else "reverse", lambda n, m: "forward" if n <= m else "reverse"],
}


def examine(work: Work) -> None:
    few, many = work.random.randint(2, 9), work.random.randint(10, 90)
    sizes = [(few, many), (many, few), (many, 1), (1, many), (few, few)]
    work.compare("passes", [(mode, *size) for size in sizes for mode in ("forward", "reverse")], right, PASSES)
    work.compare("better", sizes, right_mode, BETTER)
