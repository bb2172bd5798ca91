/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Written by plan_order.py, numpy 1.24.2: seed 42, 3 blocks of 2 scenarios, 3 variants. */
static const struct slot known_order[] = {
	{ 0, 1, 0, UINT64_C(0x2ef5950ebb63f46a) }, { 0, 1, 1, UINT64_C(0xc799d4479941aebc) },
	{ 0, 1, 2, UINT64_C(0x98cb2c1427f0d666) }, { 0, 0, 2, UINT64_C(0x1997f4d60ede914a) },
	{ 0, 0, 0, UINT64_C(0x759155caddbdb857) }, { 0, 0, 1, UINT64_C(0x556ded7499e2ac63) },
	{ 1, 1, 0, UINT64_C(0x054506950e70fd34) }, { 1, 1, 1, UINT64_C(0xf84c0301b8d4e957) },
	{ 1, 1, 2, UINT64_C(0xd51af5ebf044fd9d) }, { 1, 0, 1, UINT64_C(0x2e8c14bffe0193bb) },
	{ 1, 0, 2, UINT64_C(0x2ef399149e1344a0) }, { 1, 0, 0, UINT64_C(0x4de2d1cb9c954d39) },
	{ 2, 0, 1, UINT64_C(0x05e76b584a8dfe30) }, { 2, 0, 2, UINT64_C(0x8657a1da9ca2643a) },
	{ 2, 0, 0, UINT64_C(0x665d49fe23b5dea9) }, { 2, 1, 1, UINT64_C(0xf9480abb5dc9e3cf) },
	{ 2, 1, 2, UINT64_C(0x3b96e70e74c100bd) }, { 2, 1, 0, UINT64_C(0x1731fbbdc9014aae) },
};
