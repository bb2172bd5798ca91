// SPDX-License-Identifier: GPL-3.0-or-later
#include "irq_screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/signals.h"

/* alternate screen, no cursor; and back */
#define ENTER "\033[?1049h\033[?25l"
#define LEAVE "\033[?25h\033[?1049l"

/* Not through stdio: what a reader that has gone did not take would be written once more at exit.
 */
static int write_out(const char *text, size_t len, struct err *e)
{
	while (len > 0) {
		ssize_t n = write(STDOUT_FILENO, text, len);

		if (n < 0 && errno != EINTR)
			return err_sys(e, "write to standard output");
		text += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
	return 0;
}

static int open_resize(struct err *e)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGWINCH);
	errno = pthread_sigmask(SIG_BLOCK, &set, NULL);
	if (errno)
		return err_sys(e, "block SIGWINCH");
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? err_sys(e, "signalfd") : fd;
}

static int take_terminal(struct irq_screen *s, struct err *e)
{
	struct termios raw;

	if (tcgetattr(STDIN_FILENO, &s->saved) < 0)
		return err_sys(e, "read the terminal's settings");
	raw = s->saved;
	/* keys at once and unseen; Ctrl-C stays a signal, Ctrl-Z would leave the screen taken */
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_cc[VSUSP] = _POSIX_VDISABLE;
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	if (tcsetattr(STDIN_FILENO, TCSANOW, &raw) < 0)
		return err_sys(e, "set the terminal");
	s->on = true;
	return write_out(ENTER, strlen(ENTER), e);
}

int irq_screen_open(struct irq_screen *ret, bool take, struct err *e)
{
	_cleanup_(irq_screen_close) struct irq_screen s = { .signal_fd = -1, .resize_fd = -1 };
	int r = 0;

	s.signal_fd = signals_open(e);
	if (s.signal_fd < 0)
		return s.signal_fd;
	s.resize_fd = open_resize(e);
	if (s.resize_fd < 0)
		return s.resize_fd;
	if (take)
		r = take_terminal(&s, e);
	if (r < 0)
		return r;
	*ret = s;
	s = (struct irq_screen){ .signal_fd = -1, .resize_fd = -1 };
	return 0;
}

void irq_screen_close(struct irq_screen *s)
{
	struct err ignored = {};

	if (s->on) {
		write_out(LEAVE, strlen(LEAVE), &ignored);
		tcsetattr(STDIN_FILENO, TCSANOW, &s->saved);
	}
	close_fdp(&s->signal_fd);
	close_fdp(&s->resize_fd);
	*s = (struct irq_screen){ .signal_fd = -1, .resize_fd = -1 };
}

void irq_screen_size(unsigned int *ret_width, unsigned int *ret_height)
{
	struct winsize w = {};

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) < 0)
		w = (struct winsize){};
	*ret_width = w.ws_col;
	*ret_height = w.ws_row;
}

static enum irq_event read_key(char *ret_key)
{
	ssize_t n = read(STDIN_FILENO, ret_key, 1);

	return n == 1 ? IRQ_EVENT_KEY : IRQ_EVENT_END;
}

enum irq_event irq_screen_wait(const struct irq_screen *s, uint64_t deadline_ns, char *ret_key)
{
	struct pollfd fds[] = { { .fd = s->signal_fd, .events = POLLIN },
				{ .fd = s->on ? s->resize_fd : -1, .events = POLLIN },
				{ .fd = s->on ? STDIN_FILENO : -1, .events = POLLIN } };
	struct signalfd_siginfo info;

	for (;;) {
		uint64_t now = clock_mono_ns();
		struct timespec left = clock_timespec(now < deadline_ns ? deadline_ns - now : 0);
		int r = ppoll(fds, ARRAY_SIZE(fds), &left, NULL);

		if (r == 0)
			return IRQ_EVENT_TIME;
		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0 || fds[0].revents)
			return IRQ_EVENT_END;
		if (fds[2].revents)
			return read_key(ret_key);
		if (read(s->resize_fd, &info, sizeof(info)) > 0)
			return IRQ_EVENT_RESIZE;
	}
}

int irq_screen_draw(const struct irq_screen *s, const struct buf *text, struct err *e)
{
	_cleanup_(buf_release) struct buf lines = {};
	const char *p = buf_str(text);

	if (!s->on)
		return write_out(buf_str(text), text->len, e);
	buf_puts(&lines, "\033[H");
	while (*p) {
		size_t len = strcspn(p, "\n");

		buf_add(&lines, p, len);
		buf_puts(&lines, "\033[K\r\n");
		p += len;
		p += *p == '\n';
	}
	buf_puts(&lines, "\033[J");
	return lines.failed ? err_nomem(e, "screen") : write_out(lines.data, lines.len, e);
}
