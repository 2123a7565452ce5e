"""Wrong solutions of each exercise, as changes of the right one: what is replaced, by what, and words of the hint that it must get."""

from __future__ import annotations

RECURSIVE = """        order, seen = [], set()

        def visit(node):
            if node not in seen:
                seen.add(node)
                for parent in node._parents:
                    visit(parent)
                order.append(node)  # after everything that it was computed from

        visit(self)
"""
LOOP = """        order, seen, stack = [], set(), [(self, False)]
        while stack:
            node, parents_done = stack.pop()
            if parents_done:
                order.append(node)  # after everything that it was computed from
            elif node not in seen:
                seen.add(node)
                stack.append((node, True))
                stack.extend((parent, False) for parent in node._parents)
"""
FIT = """        loss = MiniTensor(0.0)
        for x, y in zip(xs, ys):
            loss = loss + (w * x + b + (-y)) ** 2
        loss = loss * (1 / len(xs))
        w.grad = b.grad = 0.0
        loss.backward()
        w.value -= rate * w.grad
        b.value -= rate * b.grad
"""
SUMMED = """    added = gradient.ndim - len(shape)
    stretched = [axis for axis, length in enumerate(shape, added) if length == 1]
    return gradient.sum(axis=(*range(added), *stretched), keepdims=True).reshape(shape)
"""

WRONG: dict[str, list[tuple[str, str, str]]] = {
    "chain_rule": [
        ("df_du * du_dx", "df_du", "multiplies it by du/dx"),
        ("df_du * du_dx", "du_dx", "multiplies it by df/du"),
        ("math.cos(u)", "math.cos(x)", "not cos(x)"),
        ("math.cos(u)", "math.sin(u)", "The derivative of sin(u) is cos(u)"),
        ("math.cos(u)", "-math.cos(u)", "The sign is wrong"),
        ("6 * x", "2 * x", "the factor 3 stays"),
        ("6 * x", "6 * x + 1", "derivative of the constant 1 is 0"),
        ("df_du * du_dx", "df_du + du_dx", "here they are added"),
        ("return df_du * du_dx", "return math.cos(du_dx)", "does not go inside the cosine"),
        ("return x.grad.item()", "return f.item()", "That is f(x), and not its derivative"),
        ("    x = ad.tensor(x, dtype=ad.float64, requires_grad=True)\n    f = ad.sin(3 * x**2 + 1)\n    f.backward()\n"
         "    return x.grad.item()",
         "    return by_hand(x)",
         "no backward pass was run"),
        ("    u = 3 * x**2 + 1\n    du_dx = 6 * x\n    df_du = math.cos(u)\n    return df_du * du_dx",
         "    return by_autograd(x)",
         "but autograd did it"),
        ("return df_du * du_dx", "return -1.6388", "the same whatever the arguments are"),
        ("return df_du * du_dx", "return (math.sin(3 * (x + 1e-4) ** 2 + 1) - math.sin(u)) / 1e-4", "differences over small steps"),
        (", requires_grad=True", "", "Only a tensor made with requires_grad=True"),
        ("ad.sin(", "math.sin(", "On tensors use ad.sin"),
        ("    f.backward()\n", "", "x.grad is None until backward()"),
    ],
    "absolute": [
        ("grad_output * ad.sign(x)", "ad.sign(x)", "leaves out grad_output"),
        ("grad_output * ad.sign(x)", "grad_output.abs()", "grad_output times the sign of x"),
        ("grad_output * ad.sign(x)", "grad_output", "as if the slope were 1 everywhere"),
        ("ad.sign(x)", "ad.where(x >= 0, 1.0, -1.0)", "counts 0 among the positive numbers"),
        ("ad.sign(x)", "ad.where(x > 0, 1.0, -1.0)", "counts 0 among the negative numbers"),
        ("ad.sign(x)", "(x / x.abs())", "0 / 0"),
        ("ad.sign(x)", "x.abs()", "and not x or |x|"),
        ("ad.sign(x)", "(x > 0)", "derivative of relu"),
        ("ad.sign(x)", "-ad.sign(x)", "the other way round"),
        ("ad.where(x < 0, -x, x)", "x.clone()", "forward should return |x|"),
        ("ad.where(x < 0, -x, x)", "x.abs_()", "forward changed x itself"),
        ("ad.where(x < 0, -x, x)", "-x if x < 0 else x", "Each element needs its own choice"),
        ("        ctx.save_for_backward(x)\n", "", "call ctx.save_for_backward(x)"),
        ("return grad_output * ad.sign(x)", "grad_output * ad.sign(x)", "backward returned None"),
        ("Function):\n", "Function):\n    apply = staticmethod(ad.abs)\n", "did not come from your backward"),
        ("return grad_output * ad.sign(x)", "return grad_output * ad.sign(x), grad_output", "one gradient for each argument of forward"),
        ("class Abs(ad.autograd.Function)", "class Abs", "must derive from ad.autograd.Function"),
    ],
    "training_loop": [
        ("        optimizer.zero_grad()\n", "", "optimizer.zero_grad() is missing in the loop"),
        ("    for inputs, targets in batches:\n",
         "    optimizer.zero_grad()\n    optimizer.zero_grad = lambda: None\n    for inputs, targets in batches:\n",
         "optimizer.zero_grad() is missing in the loop"),
        ("targets)\n", "targets, reduction='none')\n", "backward() starts at one number"),
        ("nn.functional.mse_loss(model(inputs), targets)", "model(inputs).sum()", "in which the targets do not occur"),
        ("nn.functional.mse_loss(model(inputs), targets)",
         "nn.functional.mse_loss(model(inputs), targets, reduction='sum')",
         "The task asks for the mean"),
        ("nn.functional.mse_loss(model(inputs), targets)", "(model(inputs) - targets).mean()", "The differences are not squared"),
        ("        optimizer.zero_grad()\n        loss.backward()\n",
         "        loss.backward()\n        optimizer.zero_grad()\n",
         "between backward() and step()"),
        ("        optimizer.step()\n", "", "optimizer.step() is missing"),
        ("        optimizer.zero_grad()\n        loss.backward()\n        optimizer.step()\n",
         "        optimizer.step()\n        optimizer.zero_grad()\n        loss.backward()\n", "step() comes before backward()"),
        ("loss.item()", "loss", "the losses are tensors"),
        ("    return losses\n", "    return losses[-1]\n", "Return a list with the loss of each batch"),
        ("    return losses\n", "    return [0.0 for loss in losses]\n", "does not hold the loss of each batch"),
        ("targets)\n", "targets).detach()\n", "detach() on line 9 cut the graph"),
        ("targets)\n", "targets).item()\n", "call it after backward()"),
    ],
    "derivatives": [
        (", create_graph=True", "", "pass create_graph=True"),
        (", create_graph=True", ", retain_graph=True", "pass create_graph=True"),
        ("(y,) = ad.autograd.grad(y, x, create_graph=True)\n        found.append(y.item())",
         "(g,) = ad.autograd.grad(y, x, create_graph=True)\n        found.append(g.item())", "All three are the first derivative"),
        ("(y,) = ad.autograd.grad(y, x, create_graph=True)\n        found.append(y.item())",
         "y.backward(create_graph=True)\n        y = x.grad\n        found.append(y.item())", "so each number contains those before it"),
        ("(y,) = ad.autograd.grad(y, x, create_graph=True)\n        found.append(y.item())",
         "(g,) = ad.autograd.grad(y, x)\n        found.append(g.item())", "The first derivative freed the graph"),
        ("return tuple(found)", "return found[0], found[1], found[1]", "the second derivative again"),
        ("return tuple(found)", "return found[0], found[0] ** 2, found[0] ** 3", "not the square of f'(x)"),
        ("return tuple(found)", "return tuple(reversed(found))", "in the wrong order"),
        ("return tuple(found)", "return found[0], found[1] / 2, found[2] / 6", "Taylor series"),
        ("return tuple(found)", "return found[2]", "return three numbers"),
        ("(y,) = ad.autograd.grad(y, x, create_graph=True)\n        found.append(y.item())",
         "y.backward(retain_graph=True)\n        found.append(x.grad.item())", "adds f'(x) to x.grad again and again"),
        ("(y,) = ad", "y = ad", "grad returns a tuple"),
        ("    found = []\n    for _ in range(3):\n        (y,) = ad.autograd.grad(y, x, create_graph=True)\n"
         "        found.append(y.item())\n    return tuple(found)",
         "    h = 1e-3\n    a, b, c, d = (f(x + k * h).item() for k in (-2, -1, 1, 2))\n"
         "    return (c - b) / (2 * h), (c - 2 * y.item() + b) / h**2, (d - 2 * c + 2 * b - a) / (2 * h**3)",
         "those are differences"),
        ("    return tuple(found)", "    return found[0] * 1.001, found[1] * 1.002, found[2] * 1.003", "differences over small steps"),
        ("return tuple(found)", "return 4.0, 12.0, 24.0", "should be"),
    ],
    "modes": [
        ("inputs if mode", "outputs if mode", "Only reverse mode goes output by output"),
        ("inputs if mode == \"forward\" else outputs", "outputs if mode == \"forward\" else inputs", "The two modes are exchanged"),
        ("inputs if mode == \"forward\" else outputs", "inputs * outputs", "That is the number of derivatives"),
        ("inputs if mode == \"forward\" else outputs", "inputs", "Only forward mode goes input by input"),
        ("inputs if mode == \"forward\" else outputs", "inputs if mode == 'forward' else 1", "Each output needs its own"),
        ("inputs if mode == \"forward\" else outputs", "1", "one column or one row"),
        ("inputs if mode == \"forward\" else outputs", "inputs + outputs", "do not add up"),
        ("inputs < outputs", "inputs > outputs", "the wrong way round"),
        ("    if inputs == outputs:\n        return \"either\"\n    return \"forward\" if inputs < outputs else \"reverse\"",
         "    return \"reverse\"",
         "better for a loss"),
        ("return \"either\"\n    return \"forward\" if inputs < outputs else \"reverse\"",
         "pass\n    return \"forward\"",
         "better with few inputs"),
        ("    if inputs == outputs:\n        return \"either\"\n", "", "return \"either\""),
        ("inputs if mode == \"forward\" else outputs", "1_000_000 if mode == 'forward' else 1", "should give"),
    ],
    "leaves": [
        ("not (from_operation and requires_grad)", "not from_operation", "if nothing in it requires a gradient"),
        ("not (from_operation and requires_grad)", "requires_grad", "take part in the graph"),
        ("not (from_operation and requires_grad)", "not from_operation and requires_grad", "always a leaf"),
        ("not (from_operation and requires_grad)", "from_operation and requires_grad", "when a tensor is not a leaf"),
        ("not (from_operation and requires_grad)", "from_operation", "tensors made by hand have none"),
        ("requires_grad and (not from_operation or retains)", "not from_operation", "Being a leaf is not enough"),
        ("requires_grad and (not from_operation or retains)", "from_operation", "gradients arrive at leaves and stay there"),
        ("not (from_operation and requires_grad)", "True", "Not every tensor is a leaf"),
        ("requires_grad and (not from_operation or retains)", "requires_grad", "stays None unless retain_grad()"),
        ("requires_grad and (not from_operation or retains)", "requires_grad and not from_operation", "You forgot retain_grad()"),
        ("requires_grad and (not from_operation or retains)", "not from_operation or retains", "gets none, leaf or not"),
        ("requires_grad and (not from_operation or retains)", "requires_grad and retains", "keeps it without retain_grad()"),
        ("requires_grad and (not from_operation or retains)", "False", "the same whatever the arguments are"),
    ],
    "micro_batches": [
        (" / len(batches)\n", " / len(batches)\n        loss = loss.item()\n", "call it after backward()"),
        (" / len(batches)", "", "divide each loss by len(batches)"),
        ("        loss.backward()\n", "        optimizer.zero_grad()\n        loss.backward()\n", "Only the last micro-batch counts"),
        ("    optimizer.zero_grad()\n", "", "Gradients from before the call"),
        ("    optimizer.step()\n", "", "optimizer.step() is missing"),
        ("        loss.backward()\n",
         "        loss.backward()\n        optimizer.step()\n        optimizer.zero_grad()\n",
         "That is ordinary training"),
        ("        total += loss.item()\n    optimizer.step()\n",
         "        total += loss.item()\n        optimizer.step()\n",
         "a step after each micro-batch"),
        ("        total += loss.item()", "        total += loss", "comes back with its graph"),
        ("return total", "return loss.item()", "the loss of the whole batch is"),
        ("    for inputs, targets in batches:\n",
         "    batches = [tuple(map(ad.cat, zip(*batches)))]\n    for inputs, targets in batches:\n",
         "rows at once"),
    ],
    "mini_tensor": [
        ("self.grad += gradient", "self.grad = gradient", "two gradients arrive, and they must be added"),
        ("self._add_grad(other.value * out.grad)\n            other._add_grad(self.value * out.grad)",
         "self._add_grad(self.value * out.grad)\n            other._add_grad(other.value * out.grad)", "It is the value of the other one"),
        ("self._add_grad(other.value * out.grad)\n            other._add_grad(self.value * out.grad)",
         "self._add_grad(out.grad)\n            other._add_grad(out.grad)", "Those are the derivatives of a sum"),
        ("exponent * self.value ** (exponent - 1)", "self.value ** (exponent - 1)", "The factor n is missing"),
        ("exponent * self.value ** (exponent - 1)", "exponent * self.value**exponent", "must become smaller by one"),
        ("exponent * self.value ** (exponent - 1)", "exponent * self.value", "right for n = 2 only"),
        ("self._add_grad(other.value * out.grad)\n            other._add_grad(self.value * out.grad)",
         "self._add_grad(other.value)\n            other._add_grad(self.value)", "the gradient that arrives, out.grad"),
        ("        self.grad = 1.0\n", "", "No gradient arrived at all"),
        ("reversed(order)", "order", "No gradient arrived at all"),
        (RECURSIVE,
         "        order = [self]\n        for node in order:\n            order.extend(node._parents)\n        order.reverse()\n",
         "Order the graph first"),
        (RECURSIVE,
         "        order, seen = [], set()\n        todo = [self]\n        while todo:\n            node = todo.pop(0)\n"
         "            if node not in seen:\n                seen.add(node)\n                order.insert(0, node)\n"
         "                todo.extend(node._parents)\n",
         "Order the graph first"),
        ("        if self.requires_grad:\n            self.grad",
         "        if True:\n            self.grad",
         "b was made without requires_grad=True"),
        ("        visit(self)\n",
         "        visit(self)\n        for node in order:\n            node.grad = 0.0\n",
         "must not empty the grad of the leaves"),
        ("other = other if isinstance(other, MiniTensor) else MiniTensor(other)\n        out = MiniTensor(self.value * ",
         "out = MiniTensor(self.value * ", "make a MiniTensor of it"),
        ("    __rmul__ = __mul__\n", "", "calls a.__rmul__(2)"),
        ("        self.grad = 0.0\n", "", "needs an attribute grad from the beginning"),
        ("self.value + other.value", "self.value - other.value", "The forward computation is wrong already"),
        ("class MiniTensor:", "import adjoint as ad\n\n\nclass MiniTensor:", "The autograd is to be your own"),
    ],
    "mini_deep": [
        (LOOP, RECURSIVE.replace("visit", "walk"), "still calls itself"),
        (LOOP, "        import sys\n        sys.setrecursionlimit(10**6)\n" + RECURSIVE, "only moves the wall"),
        (LOOP,
         "        order = [self]\n        for node in order:\n            order.extend(node._parents)\n        order.reverse()\n",
         "Order the graph first"),
        (LOOP,
         "        order, stack = [], [self]\n        while stack:\n            node = stack.pop()\n"
         "            if node not in order:\n                order.append(node)\n                stack.extend(node._parents)\n"
         "        order.reverse()\n",
         "Order the graph first"),
        ("elif node not in seen:", "else:", "Order the graph first"),
        ("        self.grad = 1.0\n", "", "No gradient arrived at all"),
        ("reversed(order)", "order", "No gradient arrived at all"),
        ("self.grad += gradient", "self.grad = gradient", "two gradients arrive, and they must be added"),
    ],
    "mini_broadcast": [
        (SUMMED, "    return gradient\n", "comes back with the shape it had"),
        (SUMMED, SUMMED.replace(".sum(", ".mean("), "take the sum, not the mean"),
        (SUMMED, SUMMED.replace(", keepdims=True).reshape(shape)", ")"), "An axis of length 1 must stay"),
        (SUMMED, SUMMED.replace(", *stretched), keepdims=True).reshape(shape)", ",))"), "Sum those too, with keepdims=True"),
        (SUMMED,
         SUMMED.replace("(*range(added), *stretched), keepdims=True).reshape(shape)", "tuple(stretched), keepdims=True)"),
         "in front, are still there"),
        (SUMMED, "    for axis in range(gradient.ndim - len(shape)):\n        gradient = gradient.sum(axis)\n    return gradient\n",
         "those behind it have moved up"),
        ("self.grad = self.grad + unbroadcast(gradient, self.value.shape)",
         "self.grad += gradient",
         "more numbers than the grad it is added to"),
        (SUMMED, "    return gradient.sum()\n", "Everything is summed to one number"),
        (SUMMED, "    return gradient.reshape(shape)\n", "Sum before you reshape"),
        ("unbroadcast(gradient, self.value.shape)", "gradient", "Each gradient goes through unbroadcast"),
        ("np.broadcast_to(out.grad, self.value.shape)", "np.ones(self.value.shape)", "multiplies by out.grad, too"),
        ("np.broadcast_to(out.grad, self.value.shape)", "np.zeros(self.value.shape)", "No gradient arrived at all"),
        ("self.value.sum()", "self.value.mean()", "The forward computation is wrong already"),
        ("import numpy as np\n", "import numpy as np\nfrom adjoint import nn\n", "The autograd is to be your own"),
    ],
    "mini_train": [
        ("        w.grad = b.grad = 0.0\n", "", "set w.grad and b.grad to 0.0"),
        ("        loss = loss * (1 / len(xs))\n", "", "The task asks for the mean"),
        ("-= rate", "+= rate", "go up the slope"),
        ("        b.value -= rate * b.grad\n", "", "b stays 0"),
        ("range(steps)", "range(steps - 1)", "One step too few"),
        ("range(steps)", "range(steps + 1)", "One step too many"),
        ("return w.value, b.value", "return w, b", "Return their numbers"),
        ("return w.value, b.value", "return w.value", "should return two numbers"),
        (FIT,
         "        for x, y in zip(xs, ys):\n            loss = (w * x + b + (-y)) ** 2\n            w.grad = b.grad = 0.0\n"
         "            loss.backward()\n            w.value -= rate * w.grad\n            b.value -= rate * b.grad\n",
         "a step for each point"),
        (FIT,
         "        n = len(xs)\n        e = [w.value * x + b.value - y for x, y in zip(xs, ys)]\n"
         "        w.value -= rate * 2 * sum(d * x for d, x in zip(e, xs)) / n\n        b.value -= rate * 2 * sum(e) / n\n",
         "let it find the gradients"),
        ("loss * (1 / len(xs))", "loss / len(xs)", "multiply by 1 / len(xs)"),
        (FIT, FIT.replace("w * x + b", "w.value * x + b.value").replace("MiniTensor(0.0)", "0.0"), "The loss is a plain number here"),
        ("b + (-y)", "b - y", "write w * x + b + (-y)"),
        ("(w * x + b + (-y)) ** 2", "(w.value * x + b.value + (-y)) ** 2", "w and b are what they were"),
        ("return w.value, b.value", "return 2.0, 1.0", "Is the loss the mean"),
    ],
}  # fmt: skip
