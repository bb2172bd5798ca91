// SPDX-License-Identifier: GPL-3.0-or-later
#include "import/marks.h"

#include <assert.h>

/* In an entry of a linked table: something ends in that state. */
#define MARKS_FOUND 0x8000U

_Static_assert(MARKS_STATES <= MARKS_FOUND, "a state leaves room for the flag");

void marks_add(struct marks *m, const char *text, uint64_t bits)
{
	size_t state = 0;

	if (m->nr == 0)
		m->nr = 1;
	for (const unsigned char *s = (const unsigned char *)text; *s; s++) {
		assert(*s < 128);
		if (!m->next[state][*s]) {
			assert(m->nr < MARKS_STATES);
			m->next[state][*s] = (uint16_t)m->nr++;
		}
		state = m->next[state][*s];
	}
	m->found[state] |= bits;
}

void marks_link(struct marks *m)
{
	static uint16_t queue[MARKS_STATES];
	size_t head = 0, tail = 0;

	for (int c = 0; c < 128; c++)
		if (m->next[0][c])
			queue[tail++] = m->next[0][c];
	while (head < tail) {
		size_t state = queue[head++], back = m->fail[state];

		m->found[state] |= m->found[back];
		for (int c = 0; c < 128; c++) {
			uint16_t to = m->next[state][c];

			if (to) {
				m->fail[to] = m->next[back][c];
				queue[tail++] = to;
			} else {
				m->next[state][c] = m->next[back][c];
			}
		}
	}
	for (size_t state = 0; state < m->nr; state++)
		for (int c = 0; c < 128; c++)
			if (m->found[m->next[state][c]])
				m->next[state][c] |= MARKS_FOUND;
}

uint64_t marks_find(const struct marks *m, const char *s, size_t len)
{
	size_t state = 0;
	uint64_t bits = 0;

	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)s[i];

		state = c < 128 ? m->next[state][c] : 0;
		if (state & MARKS_FOUND) {
			state &= MARKS_FOUND - 1;
			bits |= m->found[state];
		}
	}
	return bits;
}
