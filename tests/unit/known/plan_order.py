#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Known answers for plan_order(): the schedule worked out anew, from numpy's Mersenne Twister.

numpy.random.RandomState(seed) seeds MT19937 as Matsumoto & Nishimura's init_genrand() does, and so
does GSL.  The shuffle is Fisher-Yates from the end; a number below n is the word divided by
floor((2^32 - 1) / n), drawn again when that gives n or more.

    /usr/bin/python3 tests/unit/known/plan_order.py > tests/unit/known/plan_order.h
"""
import numpy


class Twister:
    def __init__(self, seed):
        self.state = numpy.random.RandomState(seed)

    def word(self):
        return int(self.state.randint(0, 2**32, dtype=numpy.uint32))

    def below(self, n):
        scale = (2**32 - 1) // n
        while True:
            k = self.word() // scale
            if k < n:
                return k

    def shuffled(self, n):
        order = list(range(n))
        for i in range(n - 1, 0, -1):
            j = self.below(i + 1)
            order[i], order[j] = order[j], order[i]
        return order


def schedule(seed, blocks, scenarios, variants):
    rng = Twister(seed)
    for block in range(blocks):
        for scenario in rng.shuffled(scenarios):
            for variant in rng.shuffled(variants):
                yield block, scenario, variant, rng.word() << 32 | rng.word()


print("/* SPDX-License-Identifier: GPL-3.0-or-later */")
print("/* Written by plan_order.py, numpy %s: seed 42, 3 blocks of 2 scenarios, 3 variants. */"
      % numpy.__version__)
print("static const struct slot known_order[] = {")
for slot in schedule(42, 3, 2, 3):
    print("\t{ %d, %d, %d, UINT64_C(0x%016x) }," % slot)
print("};")
