"""`ad.blame`: where a nan, an infinity or an exploding gradient came from.

finding.py is what is answered. values.py and forward.py find the bad numbers of a forward pass in its graph, backward.py those of a
backward pass by following one; steps.py goes from where they are seen to where they were born. patterns.py names the mistake, rewrite.py
writes the line anew, report.py puts it into words. recorder.py keeps what is needed to answer later, terms.py divides a gradient among the
terms of a loss.

For who follows programs (the doctor): `answer(loss)` while the graph of a loss is there, `Births` to follow a backward pass oneself,
`recording` to watch, and `replay` to run a step again.
"""

from .asking import answer as answer
from .asking import blame as blame
from .backward import Births as Births
from .finding import Cause as Cause
from .finding import Finding as Finding
from .recorder import recording as recording
from .recorder import replay as replay
