// SPDX-License-Identifier: GPL-3.0-or-later
#include "import/marks.h"

#include <assert.h>
#include <string.h>

/* In an entry of a linked table: something ends in that state. */
#define MARKS_FOUND 0x8000U

_Static_assert(MARKS_STATES <= MARKS_FOUND, "a state leaves room for the flag");

/* Both bytes at @s in one load. */
static inline unsigned int pair_at(const unsigned char *s)
{
	uint16_t pair;

	memcpy(&pair, s, sizeof(pair));
	return pair;
}

void marks_add(struct marks *m, const char *text, uint64_t bits)
{
	size_t state = 0;

	assert(text[0] && text[1]);
	m->pairs[pair_at((const unsigned char *)text)] = 1;
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

/* The first place from @s on where a text may begin, or @last. */
static const unsigned char *next_pair(const struct marks *m, const unsigned char *s,
				      const unsigned char *last)
{
	for (; last - s >= 4; s += 4) {
		if (m->pairs[pair_at(s)])
			return s;
		if (m->pairs[pair_at(s + 1)])
			return s + 1;
		if (m->pairs[pair_at(s + 2)])
			return s + 2;
		if (m->pairs[pair_at(s + 3)])
			return s + 3;
	}
	while (s < last && !m->pairs[pair_at(s)])
		s++;
	return s;
}

uint64_t marks_find(const struct marks *m, const char *text, size_t len)
{
	const unsigned char *s = (const unsigned char *)text, *end = s + len;
	uint64_t bits = 0;

	while (len >= 2 && (s = next_pair(m, s, end - 1)) < end - 1) {
		size_t state = m->next[0][*s++];

		/* until nothing but a first byte is left of what may become a text */
		for (; s < end && *s < 128; s++) {
			size_t to = m->next[state][*s];

			if (to == m->next[0][*s])
				break;
			state = to & (MARKS_FOUND - 1);
			if (to & MARKS_FOUND)
				bits |= m->found[state];
		}
	}
	return bits;
}
