"""Bessel functions of the first and second kind, the modified ones of the second kind, and Airy's function, to about 1e-15.

The polynomials were fitted in 60 digits at Chebyshev nodes; each table says to what.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ._special_math import Floats, bessel_series, blockwise, on, polynomial

TWO_OVER_PI = 2 / math.pi

# fmt: off
# J_0(x), in powers of x² / 32 - 1, for |x| <= 8
J0_NEAR = (
    0.04582966485981377, 0.9303012472958572, -0.6484692830871837, -0.8080888076696872, 1.0383794611437211,
    -0.5074680458471, 0.14598884856759264, -0.028472718610882047, 0.004058078989140991, -0.0004435459224311503,
    3.8473197855944365e-05, -2.717749223632098e-06, 1.5956109104549218e-07, -7.91532308295207e-09,
    3.3634475788173604e-10, -1.243301171273326e-11, 4.0037632815796753e-13,
)
# J_1(x) / x
J1_NEAR = (
    -0.05814382795599107, 0.08105866038589796, 0.15151665143806636, -0.2595948652859303, 0.15858376432721838,
    -0.05474581821284722, 0.012456814392263375, -0.0020290394945705996, 0.0002494945813597261, -2.404574865968694e-05,
    1.8684526037206013e-06, -1.196708186787801e-07, 6.431190177265836e-09, -2.943013798001659e-10,
    1.1658972367678622e-11, -4.0045728425886457e-13,
)
# Y_0(x) - 2/pi log(x) J_0(x)
Y0_NEAR = (
    -0.382250654459425, -0.8284358903604587, 1.6470964788745466, 0.14412632369302475, -1.0775477338215995,
    0.6721770783431679, -0.21895747096171628, 0.046367047681375125, -0.00702574105727097, 0.000806158605961636,
    -7.279541882454115e-05, 5.3213188103997145e-06, -3.2185078445935923e-07, 1.6390875014077404e-08,
    -7.13046146536789e-10, 2.6926938054524057e-11, -8.840112096073101e-13,
)
# (Y_1(x) - 2/pi (log(x) J_1(x) - 1/x)) / x
Y1_NEAR = (
    0.07075985882118005, -0.24337743079193114, 0.02336757172099348, 0.23507209206669755, -0.19639839859930203,
    0.07854786922242532, -0.01962875683311711, 0.0034224907399188495, -0.0004438173434420147, 4.467433012646365e-05,
    -3.601000022590458e-06, 2.3804930420514178e-07, -1.3153147367094951e-08, 6.169688029066965e-10,
    -2.499531546171249e-11, 8.760001143977853e-13,
)
# the parts of J and Y in phase with cos and sin, in powers of 128 / x² - 1, for x > 8
P0 = (
    0.9994572757882519, -0.0005363673192129672, 6.137416080109497e-06, -2.0527448261170675e-07, 1.280376144080092e-08,
    -1.2121098178951377e-09, 1.5500565496632596e-10, -2.491146535471666e-11, 4.786995821368028e-12,
    -1.0157485021065676e-12, 2.4531772967345006e-13, -1.0251790052831013e-13, 3.339452259070809e-14,
)
# and the parts out of phase, times x
Q0 = (
    -0.12444091103610815, 0.0005466519279475266, -1.1817110661200976e-05, 5.684971881753781e-07,
    -4.534972837363434e-08, 5.146231602705606e-09, -7.5763304988972e-10, 1.3623497617833053e-10,
    -2.8707211071105146e-11, 6.951785915752245e-12, -1.873640743543296e-12, 4.605060470396763e-13,
    -1.3137515498826537e-13, 1.0185094098694355e-13, -4.0574096424030336e-14,
)
# the same for order 1
P1 = (
    1.0009070262780821, 0.0008988049416705183, -7.9596946984383e-06, 2.453676633366693e-07, -1.4708512991275258e-08,
    1.3602969253877949e-09, -1.713107485294131e-10, 2.72345126828134e-11, -5.191158004646548e-12,
    1.0954826479277623e-12, -2.6335760672461096e-13, 1.0923713653079462e-13, -3.5455617466606254e-14,
)
Q1 = (
    0.3742149922195918, -0.0007697167057643706, 1.4569614809851411e-05, -6.633568561050814e-07, 5.136105997071193e-08,
    -5.720890888840857e-09, 8.316077350038262e-10, -1.4816588916791194e-10, 3.100364837230575e-11,
    -7.465104477698295e-12, 2.002728774766585e-12, -4.91574062967655e-13, 1.3996264453471973e-13,
    -1.0759215471978615e-13, 4.275621822194818e-14,
)
# K_0(x) + log(x / 2) I_0(x), in powers of x² / 2 - 1, for x <= 2
K0_NEAR = (
    -0.30362077291575545, 0.3404973210133806, 0.07177701034240509, 0.005053392643196092, 0.0001828055582791554,
    4.054506619949891e-06, 6.093361894172114e-08, 6.623013272794453e-10, 5.452564662772586e-12, 3.518631515854722e-14,
)
# (K_1(x) - log(x / 2) I_1(x) - 1/x) / x
K1_NEAR = (
    -0.057455856135205326, -0.10866462148495122, -0.013254642948920608, -0.0006724746609653153,
    -1.910976234234459e-05, -3.4958297951001923e-07, -4.473708980740444e-09, -4.2354774875777465e-11,
    -3.0892180791024413e-13, -1.7896636751980973e-15,
)
# exp(x) sqrt(x) K_0(x), in powers of 4 / x - 1, for x > 2
K0_FAR = (
    1.2185953385133905, -0.03107146182488952, 0.0030328918102753206, -0.0004797690567662314, 9.95605474202942e-05,
    -2.4735204561466906e-05, 7.002245645755651e-06, -2.191177788015528e-06, 7.427801232190096e-07,
    -2.6890662472901614e-07, 1.02954317593912e-07, -4.133923052104385e-08, 1.7047535884249698e-08,
    -7.286380907337665e-09, 3.808399859919043e-09, -1.9309444875845705e-09, 4.757544705776374e-11,
    1.7887095838476482e-10, 8.133913205464114e-10, -5.541051446065683e-10, -3.119936129682105e-10,
    2.213758097591008e-10, 1.0926983537268735e-10, -6.910453875670571e-11,
)
# the same for order 1
K1_FAR = (
    1.363151890371342, 0.10334973775386523, -0.005566729880074588, 0.0007357241549081501, -0.00013959021956272223,
    3.284386555825453e-05, -8.961207387750025e-06, 2.730041433569803e-06, -9.067087633371393e-07,
    3.2298119177151824e-07, -1.2203186351938403e-07, 4.8461952200091865e-08, -1.9817577141591116e-08,
    8.40938756536177e-09, -4.331939985658629e-09, 2.1757782025837176e-09, -8.336227195991456e-11,
    -1.7982138496175016e-10, -8.908596710923906e-10, 6.042482293782838e-10, 3.3867804167808003e-10,
    -2.399376595899464e-10, -1.1931668393112158e-10, 7.52479548635394e-11,
)
# Ai(x), in powers of (x + 2) / 4, for -6 <= x <= 2
AI_NEAR = (
    0.22740742820168558, 2.473036082966764, -3.638518851226969, -10.76384654167145, 22.892242712427933,
    5.5788941427493635, -47.38126484881938, 30.63283145299004, 33.450887505252915, -55.73127162169461,
    9.889697921362245, 35.67506810160488, -29.4187251421222, -3.2606506419242, 17.717602075529786, -8.468846112595367,
    -3.231854202142125, 5.165184327992921, -1.4332886132698193, -1.0880898191338466, 0.9906189347044043,
    -0.13548827175654346, -0.21933441104249035, 0.13383461785093495, -0.003012808966578403, -0.030490433557808932,
    0.01335137396096295, 0.0010669989082413755, -0.0031722619136127688, 0.001051077895527655, 0.00021485974246916219,
    -0.0002800265325540507, 5.007417893820137e-05, 3.291857467619757e-05, -1.3352507656976583e-05,
    -1.600640416473343e-06, 1.0850462166995344e-06,
)
# 2 sqrt(pi) x^(1/4) exp(z) Ai(x), in powers of 2 z(2) / z - 1, for x > 2, where z(x) = 2/3 x^(3/2)
AI_FAR = (
    0.983679282828043, -0.014613458724023217, 0.0014132014717029575, -0.0002278522136910503, 4.846334053382966e-05,
    -1.2354390686945676e-05, 3.5878329689095155e-06, -1.1510261131203217e-06, 3.9970880001578955e-07,
    -1.4812065561005197e-07, 5.8020341371436036e-08, -2.3820808462967335e-08, 9.984700470064157e-09,
    -4.334633626191562e-09, 2.417112863971864e-09, -1.2787487327828507e-09, -7.598201853112061e-11,
    2.0119706569032908e-10, 6.200741512453467e-10, -4.349436323146175e-10, -2.499121453926284e-10,
    1.8009401491463617e-10, 8.420330221634052e-11, -5.4400006009749504e-11,
)
# sqrt(pi) |x|^(1/4) Ai(x), the part in phase with cos(z - pi/4), in powers of 2 z(6)² / z² - 1, for x < -6
AI_P = (
    0.9998081211338489, -0.00019039135708489403, 1.4520680395321557e-06, -3.3807314728933824e-08,
    1.5157653610153804e-09, -1.061321718887317e-10, 1.0296655807519415e-11, -1.2768564791801215e-12,
    1.9284034677632626e-13, -3.96588156380815e-14, 8.46042802816666e-15,
)
# and the part out of phase, times z
AI_Q = (
    0.06924959748009735, -0.00019192187800497442, 2.8233013779687e-06, -9.57085772382637e-08, 5.5449291637621735e-09,
    -4.696118003401287e-10, 5.286188794186241e-11, -7.428733507155976e-12, 1.2468020277272396e-12,
    -2.362012598851314e-13, 5.082383200937136e-14, -1.6757849095842834e-14, 4.75045076767247e-15,
)
# fmt: on


# ---- first and second kind ----------------------------------------------------------------------------------------------------------


def first_near(order: int, x: Floats) -> Floats:
    """J(x) for |x| <= 8."""
    t = x * x / 32 - 1
    return polynomial(J1_NEAR, t) * x if order else polynomial(J0_NEAR, t)


def second_near(order: int, x: Floats) -> Floats:
    """Y(x) for 0 <= x <= 8; minus infinity at 0."""
    t = x * x / 32 - 1
    grown = np.log(x) * first_near(order, x)
    if not order:
        return polynomial(Y0_NEAR, t) + TWO_OVER_PI * grown
    return np.where(x == 0, -np.inf, polynomial(Y1_NEAR, t) * x + TWO_OVER_PI * (grown - 1 / x))


def waves(order: int, x: Floats) -> tuple[Floats, Floats]:
    """J(x) and Y(x) for x > 8."""
    t = 128 / (x * x) - 1
    even, odd = (polynomial(P1, t), polynomial(Q1, t)) if order else (polynomial(P0, t), polynomial(Q0, t))
    sine, cosine = np.sin(x), np.cos(x)
    # The phase x - pi/4 - order pi/2, whose sine and cosine follow from those of x without rounding x again.
    cosine, sine = ((sine - cosine), -(sine + cosine)) if order else ((cosine + sine), (sine - cosine))
    scale = np.sqrt(1 / (math.pi * x))
    odd = odd / x
    return scale * (even * cosine - odd * sine), scale * (even * sine + odd * cosine)


def first_kind(order: int) -> Callable[..., Any]:
    def vector(x: Floats) -> Floats:
        out = np.array(x)
        size = np.abs(x)
        on(size <= 8, lambda v: first_near(order, v), x, out)
        on(size > 8, lambda v: waves(order, np.abs(v))[0] * (np.sign(v) if order else 1), x, out)
        return np.where(np.isinf(x), 0, out)

    return blockwise(vector)


def second_kind(order: int) -> Callable[..., Any]:
    def vector(x: Floats) -> Floats:
        out = np.full_like(x, np.nan)
        on((x >= 0) & (x <= 8), lambda v: second_near(order, v), x, out)
        on((x > 8) & (x < np.inf), lambda v: waves(order, v)[1], x, out)
        return np.where(x == np.inf, 0, out)

    return blockwise(vector)


j0, j1 = first_kind(0), first_kind(1)
y0, y1 = second_kind(0), second_kind(1)


def spherical_j0_vector(x: Floats) -> Floats:
    """sin(x) / x."""
    safe = np.where(x == 0, 1, x)
    return np.where(x == 0, 1, np.where(np.isinf(x), 0, np.sin(safe) / safe))


spherical_j0 = blockwise(spherical_j0_vector)

# ---- modified, second kind ----------------------------------------------------------------------------------------------------------


def modified_near(order: int, x: Floats) -> Floats:
    """K(x) for 0 <= x <= 2; infinity at 0."""
    t = x * x / 2 - 1
    log = np.log(x / 2)
    if not order:
        return polynomial(K0_NEAR, t) - log * bessel_series(0, x)
    return np.where(x == 0, np.inf, polynomial(K1_NEAR, t) * x + log * bessel_series(1, x) + 1 / x)


def modified_second_kind(order: int, scaled: bool) -> Callable[..., Any]:
    def near(x: Floats) -> Floats:
        return modified_near(order, x) * (np.exp(x) if scaled else 1)

    def far(x: Floats) -> Floats:
        value = polynomial(K1_FAR if order else K0_FAR, 4 / x - 1) / np.sqrt(x)
        return value if scaled else value * np.exp(-x)

    def vector(x: Floats) -> Floats:
        out = np.full_like(x, np.nan)
        on((x >= 0) & (x <= 2), near, x, out)
        on(x > 2, far, x, out)
        return out

    return blockwise(vector)


k0, k0e = modified_second_kind(0, scaled=False), modified_second_kind(0, scaled=True)
k1, k1e = modified_second_kind(1, scaled=False), modified_second_kind(1, scaled=True)

# ---- Airy's function ----------------------------------------------------------------------------------------------------------------


def airy_angle(x: Floats) -> Floats:
    return x * np.sqrt(x) * (2 / 3)


def airy_falling(x: Floats) -> Floats:
    """Ai(x) for x > 2, where it falls off."""
    z = airy_angle(x)
    value = polynomial(AI_FAR, 2 * airy_angle(2.0) / z - 1) / (2 * math.sqrt(math.pi) * np.sqrt(np.sqrt(x)))
    return value * np.exp(-z)


def airy_waves(x: Floats) -> Floats:
    """Ai(x) for x < -6, where it swings."""
    z = airy_angle(-x)
    t = 2 * (airy_angle(6.0) / z) ** 2 - 1
    phase = z - math.pi / 4
    swing = polynomial(AI_P, t) * np.cos(phase) + polynomial(AI_Q, t) / z * np.sin(phase)
    return swing / (math.sqrt(math.pi) * np.sqrt(np.sqrt(-x)))


def airy_vector(x: Floats) -> Floats:
    out = np.array(x)
    on((x >= -6) & (x <= 2), lambda v: polynomial(AI_NEAR, (v + 2) / 4), x, out)
    on((x > 2) & (x < np.inf), airy_falling, x, out)
    on((x < -6) & (x > -np.inf), airy_waves, x, out)
    return np.where(np.isinf(x), np.where(x > 0, 0, np.nan), out)


airy_ai = blockwise(airy_vector)
