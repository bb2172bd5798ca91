// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Clients that break the protocol at every state, hundreds of them side by side, against a server
 * in a process of its own.  Each keeps to a valid session up to a step and does something else
 * there. Afterwards the server must have the descriptors, threads and memory it had before, and
 * serve iperf3 at once.
 *
 * usage: hostile_main [NUMBER]		TAP on stdout
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "load/server.h"

#define THREADS 40
#define STEP_NS (250 * NS_PER_MS)
#define PATIENCE_MS 30000
/* What freed chunks a thread keeps at hand count as used; one lost session has more than that. */
#define AT_HAND_BYTES (64L << 10)
/* Freed memory that the allocator keeps: what most clients at once needed, which is chance. */
#define KEPT_KB (16 << 10)
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define KEEPS_FREED
#endif

/* A valid session, client's side. */
enum step {
	STEP_CONNECTED,
	STEP_HALF_COOKIE,
	STEP_COOKIE,
	STEP_LENGTH,
	STEP_HALF_PARAMS,
	STEP_PARAMS,
	STEP_STREAM,
	STEP_RUNNING,
	STEP_DATA,
	STEP_TEST_END,
	STEP_HALF_RESULTS,
	STEP_RESULTS,
	STEP_FAREWELL,
	STEPS,
};

/* What is done instead of the next step. */
enum deed {
	DEED_CLOSE,
	DEED_RESET,
	DEED_GARBAGE,
	DEED_SILENCE,
	DEED_HALF_CLOSE,
	DEED_HUGE_LENGTH,
	DEED_WRONG_LENGTH,
	DEED_BROKEN_JSON,
	DEED_WRONG_TYPES,
	DEED_TOO_MANY_STREAMS,
	DEED_MISSING_STREAMS,
	DEED_STREAMS_OF_OTHERS,
	DEED_STREAMS_TOO_MANY,
	DEED_STREAM_CLOSED,
	DEED_TEST_END,
	DEED_TERMINATE,
	DEED_UNKNOWN_STATE,
	DEED_LYING_RESULTS,
	DEED_TRICKLE,
	DEEDS,
};

static const char *const kinds[] = {
	"{\"tcp\":true,\"time\":1,\"parallel\":1,\"len\":1000}",
	"{\"tcp\":true,\"time\":0,\"parallel\":1,\"reverse\":true,\"len\":1000,\"bandwidth\":80000}",
	"{\"tcp\":true,\"time\":1,\"parallel\":1,\"bidirectional\":true,\"bandwidth\":80000}",
	"{\"udp\":true,\"time\":1,\"parallel\":1,\"len\":100,\"bandwidth\":8000}",
	"{\"udp\":true,\"time\":0,\"parallel\":1,\"reverse\":true,\"len\":100,\"bandwidth\":8000}",
	"{\"tcp\":true,\"time\":1,\"parallel\":1,\"irqlab\":{\"mode\":\"rr\",\"request_bytes\":8,"
	"\"response_bytes\":8}}",
	"{\"tcp\":true,\"time\":1,\"parallel\":1,\"irqlab\":{\"mode\":\"crr\",\"request_bytes\":8,"
	"\"response_bytes\":8}}",
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))
#define KIND_BIDIR 2
#define KIND_UDP 3
#define KIND_RR 5
#define KIND_CRR 6

struct rogue {
	unsigned int number, kind;
	enum step step;
	enum deed deed;
	int fd, data[2];
	char cookie[37];
};

static struct sockaddr_in server_at = { .sin_family = AF_INET };
static atomic_uint next_rogue, hanging;
static _Thread_local bool hangs;
static unsigned int nr_rogues = 1000;

static int dial(int type)
{
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	if (fd >= 0 && connect(fd, (struct sockaddr *)&server_at, sizeof(server_at)) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static bool put(int fd, const void *data, size_t len)
{
	return fd >= 0 && send(fd, data, len, MSG_NOSIGNAL) == (ssize_t)len;
}

static bool put_json(int fd, const char *text, size_t claimed)
{
	uint32_t be = htonl((uint32_t)claimed);

	return put(fd, &be, sizeof(be)) && put(fd, text, strlen(text));
}

/* What comes next, -100: nothing more. */
static int take(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	signed char c = 0;

	if (poll(&p, 1, PATIENCE_MS) != 1) {
		hangs = true;
		atomic_fetch_add(&hanging, 1);
		return -100;
	}
	return recv(fd, &c, 1, 0) == 1 ? c : -100;
}

static bool skip_json(int fd)
{
	unsigned char be[4];

	for (int i = 0; i < 4; i++) {
		int c = take(fd);

		if (c == -100)
			return false;
		be[i] = (unsigned char)c;
	}
	for (unsigned int left = (unsigned int)be[2] << 8 | be[3]; left > 0; left--)
		if (take(fd) == -100)
			return false;
	return true;
}

static bool open_stream(struct rogue *r, const char *cookie, int i)
{
	if (r->kind == KIND_CRR)
		return true;
	if (r->kind >= KIND_UDP && r->kind < KIND_RR) {
		struct pollfd p;

		r->data[i] = dial(SOCK_DGRAM);
		p = (struct pollfd){ .fd = r->data[i], .events = POLLIN };
		/* the turn may be another's; what it gets of this the server must bear as well */
		return put(r->data[i], "9876", 4) && poll(&p, 1, 1000) == 1;
	}
	r->data[i] = dial(SOCK_STREAM);
	return put(r->data[i], cookie, 37);
}

static bool wait_for_streams_wanted(struct rogue *r)
{
	if (r->kind >= KIND_RR && (take(r->fd) != 100 || !skip_json(r->fd)))
		return false;
	return take(r->fd) == 10;
}

/* The valid steps up to r->step; false when the server ended it before. */
static bool behave(struct rogue *r)
{
	const char *params = kinds[r->kind];
	const char *results =
		r->kind == KIND_BIDIR
			? "{\"streams\":[{\"id\":1,\"bytes\":10},{\"id\":3,\"bytes\":1}]}"
			: "{\"streams\":[{\"id\":1,\"bytes\":10}]}";
	uint32_t len = htonl((uint32_t)strlen(params));

	r->fd = dial(SOCK_STREAM);
	for (enum step s = STEP_HALF_COOKIE; r->fd >= 0 && s <= r->step; s++) {
		bool ok = true;

		switch (s) {
		case STEP_HALF_COOKIE:
			ok = put(r->fd, r->cookie, 20);
			break;
		case STEP_COOKIE:
			ok = put(r->fd, r->cookie + 20, 17) && take(r->fd) == 9;
			break;
		case STEP_LENGTH:
			ok = put(r->fd, &len, 4);
			break;
		case STEP_HALF_PARAMS:
			ok = put(r->fd, params, 10);
			break;
		case STEP_PARAMS:
			ok = put(r->fd, params + 10, strlen(params) - 10) &&
			     wait_for_streams_wanted(r);
			break;
		case STEP_STREAM:
			ok = open_stream(r, r->cookie, 0) &&
			     (r->kind != KIND_BIDIR || open_stream(r, r->cookie, 1));
			break;
		case STEP_RUNNING:
			ok = take(r->fd) == 1 && take(r->fd) == 2;
			break;
		case STEP_DATA:
			ok = r->kind == KIND_CRR || put(r->data[0], "0123456789abcdef", 16);
			break;
		case STEP_TEST_END:
			ok = put(r->fd, "\x04", 1) && take(r->fd) == 13;
			break;
		case STEP_HALF_RESULTS:
			len = htonl((uint32_t)strlen(results));
			ok = put(r->fd, &len, 4) && put(r->fd, results, 5);
			break;
		case STEP_RESULTS:
			ok = put(r->fd, results + 5, strlen(results) - 5) && skip_json(r->fd) &&
			     take(r->fd) == 14;
			break;
		case STEP_FAREWELL:
			ok = put(r->fd, "\x10", 1);
			break;
		case STEP_CONNECTED:
		case STEPS:
			break;
		}
		if (!ok)
			return false;
	}
	return r->fd >= 0;
}

static void reset(int fd)
{
	struct linger now = { .l_onoff = 1 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
}

static void misbehave(struct rogue *r)
{
	static const char other[37] = "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz";
	static const char garbage[64] = "\xff\x00\x12GET / HTTP/1.1\r\n\x7f\x80";
	int more[20];

	switch (r->deed) {
	case DEED_RESET:
		reset(r->fd);
		break;
	case DEED_GARBAGE:
		put(r->fd, garbage, sizeof(garbage));
		break;
	case DEED_HALF_CLOSE:
		shutdown(r->fd, SHUT_WR);
		break;
	case DEED_HUGE_LENGTH:
		put(r->fd, "\x7f\xff\xff\xff{", 5);
		break;
	case DEED_WRONG_LENGTH:
		put_json(r->fd, "{\"tcp\":true}", 7);
		break;
	case DEED_BROKEN_JSON:
		put_json(r->fd, "{\"tcp\":true,,}", 14);
		break;
	case DEED_WRONG_TYPES:
		put_json(r->fd, "{\"tcp\":[1],\"streams\":{\"id\":\"x\"}}", 32);
		break;
	case DEED_TOO_MANY_STREAMS:
		put_json(r->fd, "{\"tcp\":true,\"parallel\":1000000000}", 34);
		break;
	case DEED_MISSING_STREAMS:
		put_json(r->fd, "{\"tcp\":true,\"parallel\":100}", 27);
		open_stream(r, r->cookie, 1);
		break;
	case DEED_STREAMS_OF_OTHERS:
		open_stream(r, other, 1);
		break;
	case DEED_STREAMS_TOO_MANY:
		for (int i = 0; i < 20; i++)
			if ((more[i] = dial(SOCK_STREAM)) >= 0)
				put(more[i], r->cookie, 37);
		for (int i = 0; i < 20; i++)
			if (more[i] >= 0)
				close(more[i]);
		break;
	case DEED_STREAM_CLOSED:
		if (r->data[0] >= 0)
			close(r->data[0]);
		r->data[0] = -1;
		break;
	case DEED_TEST_END:
		put(r->fd, "\x04", 1);
		break;
	case DEED_TERMINATE:
		put(r->fd, "\x0c", 1);
		break;
	case DEED_UNKNOWN_STATE:
		put(r->fd, "\x63", 1);
		break;
	case DEED_LYING_RESULTS:
		put_json(r->fd, "{\"streams\":[{\"id\":200,\"bytes\":18446744073709551615}]}", 53);
		break;
	case DEED_TRICKLE:
		for (int i = 0; i < 30 && put(r->fd, "\x20", 1); i++)
			usleep(20000);
		break;
	case DEED_CLOSE:
	case DEED_SILENCE:
	case DEEDS:
		break;
	}
}

static void run(struct rogue *r)
{
	r->data[0] = r->data[1] = -1;
	snprintf(r->cookie, sizeof(r->cookie), "%036u", r->number);
	if (behave(r))
		misbehave(r);
	/* all but those who leave stay until the server ends it */
	if (r->fd >= 0 && r->deed != DEED_CLOSE && r->deed != DEED_RESET)
		while (take(r->fd) != -100)
			;
	if (hangs)
		printf("# kind %u, step %d, deed %d: hangs\n", r->kind, (int)r->step, (int)r->deed);
	for (int i = 0; i < 2; i++)
		if (r->data[i] >= 0)
			close(r->data[i]);
	if (r->fd >= 0)
		close(r->fd);
}

static void *run_some(void *unused)
{
	for (;;) {
		unsigned int i = atomic_fetch_add(&next_rogue, 1);
		struct rogue r = { .number = i };

		if (i >= nr_rogues)
			return unused;
		/* 13 and 19 are prime to each other: every pair comes, then with the next kind */
		r.step = i % STEPS;
		r.deed = i % DEEDS;
		r.kind = i / (STEPS * DEEDS) + i % KINDS;
		r.kind %= KINDS;
		run(&r);
	}
}

static void run_rogues(unsigned int until)
{
	pthread_t v[THREADS];

	nr_rogues = until;
	for (int i = 0; i < THREADS; i++)
		pthread_create(&v[i], NULL, run_some, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(v[i], NULL);
	atomic_store(&next_rogue, until);
}

static struct server *server;
static atomic_long *used_bytes; /* of the server's process, shared with it */

/* What the server has allocated, all the time. */
static void *report_memory(void *unused)
{
	for (;;) {
		const struct mallinfo2 m = mallinfo2();

		atomic_store(used_bytes, (long)(m.uordblks + m.hblkhd));
		usleep(50000);
	}
	return unused;
}

static void on_term(int sig)
{
	(void)sig;
	server_wake(server);
}

/* The child: serves until it is told to end. */
static int serve(int report)
{
	struct server_cfg cfg = { .bind = "127.0.0.1",
				  .listen_fd = -1,
				  .cpu = -1,
				  .step_ns = STEP_NS,
				  .idle_ns = 3 * STEP_NS,
				  .max_duration_ns = 2 * NS_PER_S };
	struct err e = {};
	pthread_t memory;
	uint16_t port;

	/* as the command does */
	mallopt(M_ARENA_MAX, 2);
	if (server_open(&server, &cfg, &e) < 0)
		return 1;
	signal(SIGTERM, on_term);
	if (pthread_create(&memory, NULL, report_memory, NULL) != 0)
		return 1;
	port = server_port(server);
	if (write(report, &port, sizeof(port)) != sizeof(port) || server_run(server, &e) < 0)
		return 1;
	server_close(server);
	return 0;
}

struct usage {
	unsigned int fds, threads;
	long rss_kb, used_bytes;
};

static unsigned int count_entries(pid_t pid, const char *what)
{
	char path[64];
	unsigned int nr = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, what);
	d = opendir(path);
	while (d && readdir(d))
		nr++;
	if (d)
		closedir(d);
	return nr;
}

static struct usage usage_of(pid_t pid)
{
	struct usage u = { .fds = count_entries(pid, "fd"), .threads = count_entries(pid, "task") };
	char path[64], line[256];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "VmRSS: %ld", &u.rss_kb);
	if (f)
		fclose(f);
	return u;
}

/* Once nothing has changed for longer than any session may take. */
static struct usage settle(pid_t pid)
{
	struct usage u = usage_of(pid), next;

	for (int calm = 0, i = 0; calm < 30 && i < PATIENCE_MS / 100; i++, calm++) {
		usleep(100000);
		next = usage_of(pid);
		if (next.fds != u.fds || next.threads != u.threads)
			calm = 0;
		u = next;
	}
	/* said again since then */
	u.used_bytes = atomic_load(used_bytes);
	return u;
}

static void result(int n, bool ok, const char *what)
{
	printf("%sok %d - %s\n", ok ? "" : "not ", n, what);
}

/* The exit status of iperf3; 127: there is none. */
static int run_iperf3(const char *const *args)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		if (!freopen("/dev/null", "w", stdout))
			_exit(1);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execvp("iperf3", (char **)(uintptr_t)args);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static void try_iperf3(int n, uint16_t port, const char *udp)
{
	char text[8];
	const char *const args[] = { "iperf3", "-c",   "127.0.0.1", "-p", text,
				     "-n",     "100K", udp,	    NULL };
	int rc;

	snprintf(text, sizeof(text), "%u", port);
	rc = run_iperf3(args);
	if (rc == 127)
		printf("ok %d - iperf3 is served # SKIP iperf3 is missing\n", n);
	else
		printf("%sok %d - iperf3 is served at once%s\n", rc ? "not " : "", n,
		       udp ? " over UDP" : "");
	fflush(stdout);
}

static void check(pid_t pid, uint16_t port)
{
	unsigned int nr = nr_rogues;
	struct usage first, last;

	server_at.sin_port = htons(port);
	server_at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	/* what is made once and kept (arenas, a UDP door, a sanitizer's thread) is there by half */
	run_rogues(nr / 2);
	first = settle(pid);
	run_rogues(nr);
	try_iperf3(1, port, NULL);
	try_iperf3(2, port, "-u");
	last = settle(pid);
	printf("# descriptors %u to %u, threads %u to %u, resident %ld to %ld kB\n", first.fds,
	       last.fds, first.threads, last.threads, first.rss_kb, last.rss_kb);
	printf("# allocated %ld to %ld bytes\n", first.used_bytes, last.used_bytes);
	result(3, atomic_load(&hanging) == 0, "no client waits for ever");
	result(4, last.fds <= first.fds, "no descriptor is left over");
	result(5, last.threads <= first.threads, "no thread is left over");
#ifdef KEEPS_FREED
	puts("ok 6 - no memory is left over # SKIP a sanitizer has its own memory, and looks itself");
#else
	result(6,
	       last.used_bytes <= first.used_bytes + AT_HAND_BYTES &&
		       last.rss_kb <= first.rss_kb + KEPT_KB,
	       "no memory is left over");
#endif
}

/*
 * glibc keeps the stacks of ended threads, 40 MB of them, and as many arenas as threads met: that
 * would hide what is left over.
 */
static void keep_no_stacks(char **argv)
{
	static const char name[] = "GLIBC_TUNABLES";

	/* no thread is there yet: NOLINTNEXTLINE(concurrency-mt-unsafe) */
	if (!getenv(name) &&
	    setenv(name, "glibc.pthread.stack_cache_size=0:glibc.malloc.arena_max=1", 0) == 0)
		execv("/proc/self/exe", argv);
}

int main(int argc, char **argv)
{
	uint16_t port = 0;
	int report[2], status = 0;
	pid_t pid;

	keep_no_stacks(argv);
	if (argc > 1)
		nr_rogues = (unsigned int)strtoul(argv[1], NULL, 10);
	used_bytes = mmap(NULL, sizeof(*used_bytes), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (used_bytes == MAP_FAILED || pipe(report) < 0)
		return 1;
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		return serve(report[1]);
	}
	puts("1..7");
	fflush(stdout);
	close(report[1]);
	if (read(report[0], &port, sizeof(port)) == sizeof(port))
		check(pid, port);
	kill(pid, SIGTERM);
	waitpid(pid, &status, 0);
	result(7, WIFEXITED(status) && WEXITSTATUS(status) == 0,
	       "the server ends by SIGTERM with 0");
	return 0;
}
