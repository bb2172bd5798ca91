/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef IRQ_SCREEN_H
#define IRQ_SCREEN_H

/* A terminal taken over (alternate screen, single keys) and given back on every way out. */

#include <stdbool.h>
#include <stdint.h>
#include <termios.h>

struct buf;
struct err;

struct irq_screen {
	bool on;
	struct termios saved;
	int signal_fd; /* SIGINT, SIGTERM, SIGHUP; valid without the screen, too */
	int resize_fd; /* SIGWINCH */
};

enum irq_event {
	IRQ_EVENT_TIME,	  /* the deadline */
	IRQ_EVENT_END,	  /* a signal, or the terminal has gone */
	IRQ_EVENT_RESIZE, /* draw again */
	IRQ_EVENT_KEY,
};

/* Signals alone, and with @take the terminal of standard input and output, too. */
int irq_screen_open(struct irq_screen *ret, bool take, struct err *e);
void irq_screen_close(struct irq_screen *s);
/* Columns and lines of standard output; 0 when it is no terminal. */
void irq_screen_size(unsigned int *ret_width, unsigned int *ret_height);
/* Wait for the first of: @deadline_ns (CLOCK_MONOTONIC), a signal, a key. */
enum irq_event irq_screen_wait(const struct irq_screen *s, uint64_t deadline_ns, char *ret_key);
/* Replace what is shown with the lines of @text. */
int irq_screen_draw(const struct irq_screen *s, const struct buf *text, struct err *e);

#endif
