// SPDX-License-Identifier: GPL-3.0-or-later
/* The loads, over loopback or in namespaces made for the test. */
#include "traffic.h"

#include <fcntl.h>
#include <net/if.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/host.h"
#include "base/kfile.h"
#include "load/load.h"
#include "load/peer.h"
#include "plan/instance.h"
#include "sample/hist.h"
#include "sample/sample.h"

extern const struct load_ops load_tcp, load_udp, load_flood, load_rr, load_crr, load_command;

/* Records of a load, kept. */
struct keep {
	struct sample_sink sink;
	struct record_list list;
};

static int keep_emit(struct sample_sink *sink, const struct record *rec, struct err *e)
{
	return record_list_take(&((struct keep *)sink)->list, record_copy(rec), e);
}

static const struct record *find(const struct keep *k, enum record_kind kind, const char *metric)
{
	for (size_t i = 0; i < k->list.nr; i++)
		if (k->list.v[i]->kind == kind && strcmp(k->list.v[i]->metric, metric) == 0)
			return k->list.v[i];
	return NULL;
}

static struct instance new_instance(const char *plugin)
{
	return (struct instance){ .plugin = strdup(plugin), .name = strdup(plugin) };
}

__attribute__((noinline)) static void set(struct instance *inst, const char *key, const char *value)
{
	struct err e = {};

	assert_int_equal(instance_set(inst, key, value, 0, &e), 0);
}

/* From open to drain as a trial does it. */
__attribute__((noinline)) static int run_load(const struct load_ops *ops,
					      const struct load_env *env,
					      const struct instance *inst, struct keep *k,
					      struct err *e)
{
	struct load *l = NULL;
	int r = ops->open(&l, env, inst, e);

	k->sink.emit = keep_emit;
	if (r >= 0)
		r = ops->start(l, e);
	if (r >= 0)
		pause_ms(250);
	if (r >= 0)
		r = ops->begin(l, clock_mono_ns(), e);
	if (r >= 0)
		pause_ms(300);
	if (r >= 0)
		r = ops->end(l, clock_mono_ns(), e);
	if (r >= 0)
		r = ops->stop(l, e);
	if (r >= 0)
		r = ops->drain(l, &k->sink, e);
	ops->close(l);
	return r;
}

__attribute__((noinline)) static void check_tcp(const struct peer *peer, const char *direction,
						const char *rate)
{
	struct load_env env = { .peer = peer, .seed = 1, .length_ns = NS_PER_S };
	_cleanup_(instance_release) struct instance inst = new_instance("tcp");
	const struct record *r;
	bool sender = strcmp(direction, "from-dut") == 0;
	struct keep k = {};
	struct err e = {};

	set(&inst, "direction", direction);
	set(&inst, "rate", rate);
	set(&inst, "streams", "2");
	if (run_load(&load_tcp, &env, &inst, &k, &e) < 0)
		fail_msg("%s", e.msg);
	r = find(&k, RECORD_SCALAR, "throughput");
	assert_non_null(r);
	assert_string_equal(r->unit, "bit/s");
	assert_true(r->value > 0);
	assert_non_null(find(&k, RECORD_SCALAR, "tcp.retransmits"));
	r = find(&k, RECORD_SERIES, "tcp.throughput");
	assert_non_null(r);
	assert_true(r->nr_points >= 2);
	assert_true(r->points[0].t_ns < 0);
	for (size_t i = 1; i < r->nr_points; i++)
		assert_true(r->points[i].t_ns > r->points[i - 1].t_ns);
	assert_true((find(&k, RECORD_SERIES, "tcp.retransmits") != NULL) == sender);
	assert_true((find(&k, RECORD_SERIES, "tcp.cwnd") != NULL) == sender);
	assert_true((find(&k, RECORD_SERIES, "tcp.rtt") != NULL) == sender);
	r = find(&k, RECORD_SCALAR, "tcp.offered-share");
	assert_true((r != NULL) == (strcmp(rate, "0") != 0));
	/* twice: a block more than the window's share, at each edge and stream */
	assert_true(!r || r->value < 2);
	record_list_release(&k.list);
}

/* More than any loopback of this decade carries. */
__attribute__((noinline)) static void check_short_of_rate(const struct peer *peer)
{
	struct load_env env = { .peer = peer, .length_ns = NS_PER_S };
	_cleanup_(instance_release) struct instance inst = new_instance("tcp");
	const struct record *r;
	struct keep k = {};
	struct err e = {};

	set(&inst, "rate", "900T");
	if (run_load(&load_tcp, &env, &inst, &k, &e) < 0)
		fail_msg("%s", e.msg);
	r = find(&k, RECORD_EVENT, "tcp.offered-share");
	assert_non_null(r);
	assert_int_equal(r->severity, SEVERITY_WARN);
	assert_contains(r->text, "peer sent less than asked: ");
	assert_contains(r->text, " of 900 Tbit/s");
	record_list_release(&k.list);
}

static void the_tcp_load_measures_over_loopback(void **state)
{
	struct server *s = new_server(0);
	struct peer peer = { .kind = PEER_HOST, .addr = "127.0.0.1", .port = server_port(s) };

	check_tcp(&peer, "to-dut", "0");
	check_tcp(&peer, "from-dut", "0");
	check_tcp(&peer, "to-dut", "20M");
	check_tcp(&peer, "from-dut", "20M");
	check_short_of_rate(&peer);
	server_close(s);
}

/* Options are "key=value" up to a NULL. */
__attribute__((noinline)) static void run_with(const struct load_ops *ops, struct server *s,
					       const char *const *options, struct keep *k)
{
	struct peer peer = { .kind = PEER_HOST, .addr = "127.0.0.1", .port = server_port(s) };
	struct load_env env = { .peer = &peer, .seed = 7, .length_ns = NS_PER_S };
	_cleanup_(instance_release) struct instance inst = new_instance(ops->plugin.name);
	struct err e = {};

	for (; *options; options++) {
		char key[32];

		assert_int_equal(sscanf(*options, "%31[^=]", key), 1);
		set(&inst, key, *options + strlen(key) + 1);
	}
	if (run_load(ops, &env, &inst, k, &e) < 0)
		fail_msg("%s", e.msg);
}

__attribute__((noinline)) static double scalar(const struct keep *k, const char *metric)
{
	const struct record *r = find(k, RECORD_SCALAR, metric);

	if (!r)
		fail_msg("no %s", metric);
	return r->value;
}

static void a_tcp_load_goes_both_ways(void **state)
{
	static const char *const options[] = { "direction=both", "rate=40M", "streams=2", NULL };
	struct server *s = new_server(0);
	struct keep k = {};
	unsigned int series = 0;

	run_with(&load_tcp, s, options, &k);
	assert_true(scalar(&k, "tcp.throughput-to-dut") > 0);
	assert_true(scalar(&k, "tcp.throughput-from-dut") > 0);
	assert_true(scalar(&k, "throughput") > scalar(&k, "tcp.throughput-to-dut"));
	assert_non_null(find(&k, RECORD_SCALAR, "tcp.loss-episodes"));
	for (size_t i = 0; i < k.list.nr; i++)
		if (k.list.v[i]->kind == RECORD_SERIES &&
		    strcmp(k.list.v[i]->metric, "tcp.throughput") == 0)
			series += strcmp(k.list.v[i]->labels, "direction=to-dut") == 0
					  ? 1
					  : 10 * !strcmp(k.list.v[i]->labels, "direction=from-dut");
	assert_int_equal(series, 11);
	record_list_release(&k.list);
	server_close(s);
}

static void the_udp_load_counts_datagrams(void **state)
{
	static const char *const to[] = { "direction=to-dut", "rate=8M", "length=1000", NULL };
	static const char *const from[] = { "direction=from-dut", "rate=8M", "length=1000",
					    "streams=2", NULL };
	struct server *s = new_server(0);
	struct keep k = {};
	double bits;

	run_with(&load_udp, s, to, &k);
	bits = scalar(&k, "udp.packets") * 8000;
	/* the same datagrams counted twice, at moments that differ a little */
	assert_true(bits > 0.9 * scalar(&k, "throughput") && bits < 1.1 * scalar(&k, "throughput"));
	assert_true(scalar(&k, "udp.loss") >= 0 && scalar(&k, "udp.loss") <= 1);
	assert_non_null(find(&k, RECORD_SCALAR, "udp.jitter"));
	assert_non_null(find(&k, RECORD_SERIES, "udp.lost"));
	record_list_release(&k.list);
	k = (struct keep){};
	run_with(&load_udp, s, from, &k);
	assert_true(scalar(&k, "udp.packets") > 0);
	assert_true(scalar(&k, "udp.loss") <= 1);
	assert_null(find(&k, RECORD_SCALAR, "udp.jitter"));
	record_list_release(&k.list);
	server_close(s);
}

static void a_flood_is_small_datagrams_at_a_rate(void **state)
{
	static const char *const options[] = { "rate=2000", NULL };
	struct server *s = new_server(0);
	struct keep k = {};

	run_with(&load_flood, s, options, &k);
	assert_true(scalar(&k, "flood.packets") > 0);
	/* never ahead of its clock by more than the window's edges */
	assert_true(scalar(&k, "flood.packets") < 2 * 2000);
	record_list_release(&k.list);
	server_close(s);
}

__attribute__((noinline)) static void
check_round_trips(const struct load_ops *ops, const char *const *options, unsigned int streams)
{
	struct server *s = new_server(0);
	struct keep k = {};
	char name[32];
	uint64_t total = 0;
	unsigned int hists = 0;

	run_with(ops, s, options, &k);
	for (size_t i = 0; i < k.list.nr; i++) {
		const struct record *r = k.list.v[i];

		if (r->kind != RECORD_HIST)
			continue;
		hists++;
		total += r->hist->total;
		assert_string_equal(r->unit, "ns");
		assert_non_null(strstr(r->labels, "stream="));
	}
	assert_int_equal(hists, streams);
	snprintf(name, sizeof(name), "%s.n", ops->plugin.name);
	assert_true(total > 0);
	assert_true(scalar(&k, name) == (double)total);
	snprintf(name, sizeof(name), "%s.p50", ops->plugin.name);
	assert_true(scalar(&k, name) > 0);
	snprintf(name, sizeof(name), "%s.lost", ops->plugin.name);
	assert_true(scalar(&k, name) >= 0);
	record_list_release(&k.list);
	server_close(s);
}

static void round_trips_have_a_distribution_of_the_window(void **state)
{
	static const char *const tcp[] = { "rate=0", "streams=2", NULL };
	static const char *const udp[] = { "protocol=udp", "rate=400", "arrivals=poisson", NULL };

	check_round_trips(&load_rr, tcp, 2);
	check_round_trips(&load_rr, udp, 1);
}

static void connections_have_a_distribution_of_the_window(void **state)
{
	static const char *const options[] = { "rate=200", NULL };

	check_round_trips(&load_crr, options, 1);
}

/* The same ports in every trial, and the next ones when somebody has taken them. */
static void local_ports_are_fixed_and_move_when_taken(void **state)
{
	static const char *const options[] = { "rate=8M", "local-port=23456", NULL };
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons(23456),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct server *s = new_server(0);
	struct keep k = {};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	for (int i = 0; i < 2; i++) {
		run_with(&load_tcp, s, options, &k);
		assert_null(find(&k, RECORD_EVENT, "tcp.local-port"));
		record_list_release(&k.list);
		k = (struct keep){};
	}
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(fd, 1), 0);
	run_with(&load_tcp, s, options, &k);
	assert_non_null(find(&k, RECORD_EVENT, "tcp.local-port"));
	assert_contains(find(&k, RECORD_EVENT, "tcp.local-port")->text,
			"from 23456 were taken, those from 23457 were used");
	record_list_release(&k.list);
	close(fd);
	k = (struct keep){};
	/* a UDP socket that somebody has bound is no less taken */
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	run_with(&load_udp, s, options, &k);
	assert_non_null(find(&k, RECORD_EVENT, "udp.local-port"));
	record_list_release(&k.list);
	close(fd);
	server_close(s);
}

static void the_tcp_load_refuses_what_cannot_work(void **state)
{
	struct peer none = { .kind = PEER_NONE };
	struct peer there = { .kind = PEER_HOST, .addr = "127.0.0.1", .port = 1 };
	struct load_env env = { .peer = &none, .length_ns = NS_PER_S };
	_cleanup_(instance_release) struct instance inst = new_instance("tcp");
	struct load *l = NULL;
	struct err e = {};

	assert_int_equal(load_tcp.open(&l, &env, &inst, &e), -EINVAL);
	assert_contains(e.msg, "needs a peer");
	/* the trial says of which load */
	assert_null(strstr(e.msg, "load"));
	env.peer = &there;
	set(&inst, "streams", "129");
	assert_true(load_tcp.open(&l, &env, &inst, &e) < 0);
	set(&inst, "streams", "4");
	set(&inst, "rate", "3");
	assert_true(load_tcp.open(&l, &env, &inst, &e) < 0);
	assert_contains(e.msg, "less than 1 bit/s");
	set(&inst, "rate", "0");
	set(&inst, "congestion", "a-name-far-too-long");
	assert_true(load_tcp.open(&l, &env, &inst, &e) < 0);
	assert_contains(e.msg, "at most 15");
	assert_null(l);
}

static void the_tcp_load_fails_with_a_stream_closed_early(void **state)
{
	struct peer there = { .kind = PEER_HOST, .addr = "127.0.0.1" };
	struct load_env env = { .peer = &there, .length_ns = NS_PER_S };
	_cleanup_(instance_release) struct instance inst = new_instance("tcp");
	uint64_t until = clock_mono_ns() + PATIENCE_NS;
	struct quitter q = {};
	struct load *l = NULL;
	struct err e = {};
	int r;

	open_quitter(&q);
	there.port = q.cfg.port;
	set(&inst, "streams", "2");
	assert_int_equal(load_tcp.open(&l, &env, &inst, &e), 0);
	/* the stream may be found closed as soon as this */
	r = load_tcp.start(l, &e);
	while (r >= 0) {
		assert_true(clock_mono_ns() < until);
		pause_ms(1);
		r = load_tcp.begin(l, 0, &e);
	}
	assert_contains(e.msg, STREAM_2_IS_CLOSED);
	assert_true(load_tcp.end(l, 0, &e) < 0);
	assert_contains(e.msg, STREAM_2_IS_CLOSED);
	load_tcp.close(l);
	close_quitter(&q);
}

static bool is_alive(pid_t pid)
{
	return kill(pid, 0) == 0;
}

static pid_t read_pid(const char *path)
{
	uint64_t until = clock_mono_ns() + PATIENCE_NS;

	for (;;) {
		_cleanup_(fclose_filep) FILE *f = fopen(path, "re");
		int pid = 0;

		if (f && fscanf(f, "%d", &pid) == 1)
			return pid;
		if (clock_mono_ns() > until)
			fail_msg("%s: nothing in it", path);
		pause_ms(10);
	}
}

static void a_command_runs_for_the_window_and_no_longer(void **state)
{
	struct load_env env = { .length_ns = NS_PER_S };
	_cleanup_(instance_release) struct instance inst = new_instance("command");
	struct keep k = {};
	struct err e = {};

	set(&inst, "run", "while :; do :; done");
	if (run_load(&load_command, &env, &inst, &k, &e) < 0)
		fail_msg("%s", e.msg);
	assert_null(find(&k, RECORD_EVENT, "command.cpu"));
	assert_non_null(find(&k, RECORD_SCALAR, "command.cpu"));
	assert_true(find(&k, RECORD_SCALAR, "command.cpu")->value > 0);
	record_list_release(&k.list);
	/* no child is left to wait for */
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void a_command_that_ends_early_vetoes_the_trial(void **state)
{
	struct load_env env = { .length_ns = NS_PER_S };
	_cleanup_(instance_release) struct instance inst = new_instance("command");
	struct keep k = {};
	struct err e = {};

	set(&inst, "run", "exit 3");
	if (run_load(&load_command, &env, &inst, &k, &e) < 0)
		fail_msg("%s", e.msg);
	assert_non_null(find(&k, RECORD_EVENT, "command.cpu"));
	assert_int_equal(find(&k, RECORD_EVENT, "command.cpu")->severity, SEVERITY_VETO);
	assert_contains(find(&k, RECORD_EVENT, "command.cpu")->text,
			"\"exit 3\" ended before the window did (exit status 3): the load must run "
			"for the whole window");
	record_list_release(&k.list);
}

static void a_command_that_is_not_there_fails_the_trial(void **state)
{
	struct load_env env = { .length_ns = NS_PER_S };
	_cleanup_(instance_release) struct instance inst = new_instance("command");
	struct load *l = NULL;
	siginfo_t info = {};
	struct err e = {};

	set(&inst, "run", "/no/such/program");
	assert_int_equal(load_command.open(&l, &env, &inst, &e), 0);
	assert_int_equal(load_command.start(l, &e), 0);
	assert_int_equal(waitid(P_ALL, 0, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(load_command.begin(l, 0, &e), -ENOENT);
	assert_contains(e.msg, "/no/such/program");
	load_command.close(l);
	assert_null(find(&(struct keep){}, RECORD_EVENT, ""));
}

static void skip_without_root(void)
{
	if (geteuid() == 0)
		return;
	print_message("namespaces need root\n");
	skip();
}

/* In a child: a command with a grandchild in a session of its own; wait to be killed. */
static void hold_command(const char *pid_file)
{
	struct load_env env = { .length_ns = NS_PER_S };
	struct instance inst = new_instance("command");
	struct load *l = NULL;
	struct err e = {};
	char run[512];

	/* $$ would be the number inside the namespace; /proc is the outer one's */
	snprintf(run, sizeof(run),
		 "setsid sh -c 'read pid rest < /proc/self/stat; echo $pid > %s.x; mv %s.x %s; "
		 "sleep 1000; :' & wait",
		 pid_file, pid_file, pid_file);
	if (instance_set(&inst, "run", run, 0, &e) < 0 ||
	    load_command.open(&l, &env, &inst, &e) < 0 || load_command.start(l, &e) < 0)
		_exit(1);
	for (;;)
		pause();
}

static void wait_until_dead(pid_t pid)
{
	uint64_t until = clock_mono_ns() + PATIENCE_NS;

	while (is_alive(pid)) {
		if (clock_mono_ns() > until)
			fail_msg("process %d outlived its agent", (int)pid);
		pause_ms(10);
	}
}

static void a_command_dies_with_its_agent(void **state)
{
	char dir[] = "/tmp/test-load-XXXXXX", file[64];
	pid_t pid, grandchild;

	skip_without_root();
	assert_non_null(mkdtemp(dir));
	snprintf(file, sizeof(file), "%s/pid", dir);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0)
		hold_command(file);
	grandchild = read_pid(file);
	assert_true(grandchild > 1);
	assert_true(is_alive(grandchild));
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	wait_until_dead(grandchild);
	unlink(file);
	rmdir(dir);
}

static void a_peer_of_namespaces_carries_the_tcp_load(void **state)
{
	_cleanup_(host_release) struct host h = {};
	_cleanup_(freep) char *flags = NULL;
	struct peer_link *link = NULL;
	struct err e = {};

	skip_without_root();
	assert_int_equal(host_open(&h, &e), 0);
	if (peer_open(&link, PEER_NETNS, NULL, 0, NULL, &h, &e) < 0)
		fail_msg("%s", e.msg);
	assert_string_equal(peer_of(link)->addr, "198.18.0.2");
	assert_int_equal(peer_of(link)->port, 5201);
	assert_string_equal(h.dut.ifname, "dut0");
	assert_string_equal(h.far.ifname, "far0");
	/* this thread is at dut's end, each sysfs shows its own end */
	assert_true(if_nametoindex("dut0") > 0);
	assert_int_equal(if_nametoindex("far0"), 0);
	assert_int_equal(faccessat(h.dut.sys_fd, "class/net/dut0", F_OK, 0), 0);
	assert_int_not_equal(faccessat(h.dut.sys_fd, "class/net/far0", F_OK, 0), 0);
	assert_int_equal(faccessat(h.far.sys_fd, "class/net/far0", F_OK, 0), 0);
	assert_int_equal(kfile_read_line(h.dut.sys_fd, "class/net/dut0/flags", &flags, &e), 0);
	assert_string_equal(flags, "0x1003"); /* UP, BROADCAST, MULTICAST */
	check_tcp(peer_of(link), "to-dut", "0");
	check_tcp(peer_of(link), "from-dut", "50M");
	peer_close(link);
	/* home again */
	assert_int_equal(if_nametoindex("dut0"), 0);
}

static void a_peer_host_tells_the_netdev_on_the_way(void **state)
{
	_cleanup_(host_release) struct host h = {};
	struct peer_link *link = NULL;
	struct err e = {};

	assert_int_equal(host_open(&h, &e), 0);
	if (peer_open(&link, PEER_HOST, "127.0.0.1", 7, NULL, &h, &e) < 0)
		fail_msg("%s", e.msg);
	assert_string_equal(h.dut.ifname, "lo");
	assert_int_equal(peer_of(link)->port, 7);
	peer_close(link);
	link = NULL;
	assert_true(peer_open(&link, PEER_HOST, "127.0.0.1", 0, "nosuch0", &h, &e) < 0);
	assert_contains(e.msg, "nosuch0");
	assert_true(peer_open(&link, PEER_HOST, "host.invalid", 0, NULL, &h, &e) < 0);
	assert_contains(e.msg, "host.invalid");
	assert_null(link);
	assert_int_equal(peer_open(&link, PEER_NONE, NULL, 0, NULL, &h, &e), 0);
	assert_null(peer_of(link)->addr);
	peer_close(link);
}

/* In a child: hold the namespaces and a running load, say which descriptors, wait to be killed. */
static void hold_peer(int report)
{
	struct load_env env = { .length_ns = NS_PER_S };
	struct instance inst = new_instance("tcp");
	struct peer_link *link = NULL;
	struct load *l = NULL;
	struct host h = {};
	struct err e = {};
	int fds[2];

	if (host_open(&h, &e) < 0 || peer_open(&link, PEER_NETNS, NULL, 0, NULL, &h, &e) < 0)
		_exit(1);
	env.peer = peer_of(link);
	if (load_tcp.open(&l, &env, &inst, &e) < 0 || load_tcp.start(l, &e) < 0)
		_exit(1);
	fds[0] = h.dut.netns_fd;
	fds[1] = h.far.netns_fd;
	if (write(report, fds, sizeof(fds)) != sizeof(fds))
		_exit(1);
	for (;;)
		pause();
}

/* Whether netdev @name is in namespace @netns_fd. */
static bool has_netdev(int netns_fd, const char *name)
{
	struct host_side side = { .netns_fd = netns_fd, .sys_fd = -1 };
	struct ifreq req = {};
	struct err e = {};
	_cleanup_(close_fdp) int fd = host_socket(&side, AF_INET, SOCK_DGRAM, 0, &e);

	assert_true(fd >= 0);
	snprintf(req.ifr_name, sizeof(req.ifr_name), "%s", name);
	return ioctl(fd, SIOCGIFINDEX, &req) == 0;
}

/*
 * A veth goes with the namespace of its other end.  So holding one namespace and seeing its netdev
 * vanish proves that the other namespace is gone.
 */
static void vanishes_after_kill(int held, const char *netdev)
{
	uint64_t until = clock_mono_ns() + PATIENCE_NS;
	int report[2], fds[2] = {};
	char path[64];
	pid_t pid;
	int fd;

	assert_int_equal(pipe2(report, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0)
		hold_peer(report[1]);
	close(report[1]);
	assert_int_equal(read(report[0], fds, sizeof(fds)), sizeof(fds));
	close(report[0]);
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, fds[held]);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_true(has_netdev(fd, netdev));
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	while (has_netdev(fd, netdev)) {
		if (clock_mono_ns() > until)
			fail_msg("%s is still there: a namespace outlived SIGKILL", netdev);
		pause_ms(20);
	}
	close(fd);
	assert_int_equal(if_nametoindex("dut0"), 0);
	assert_int_equal(if_nametoindex("far0"), 0);
}

static void nothing_of_the_namespaces_outlives_sigkill(void **state)
{
	skip_without_root();
	vanishes_after_kill(0, "dut0");
	vanishes_after_kill(1, "far0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		/* first those that fork, while there are no threads */
		cmocka_unit_test(nothing_of_the_namespaces_outlives_sigkill),
		cmocka_unit_test(a_peer_of_namespaces_carries_the_tcp_load),
		cmocka_unit_test(a_command_dies_with_its_agent),
		cmocka_unit_test(a_command_runs_for_the_window_and_no_longer),
		cmocka_unit_test(a_command_that_ends_early_vetoes_the_trial),
		cmocka_unit_test(a_command_that_is_not_there_fails_the_trial),
		cmocka_unit_test(a_peer_host_tells_the_netdev_on_the_way),
		cmocka_unit_test(the_tcp_load_measures_over_loopback),
		cmocka_unit_test(a_tcp_load_goes_both_ways),
		cmocka_unit_test(the_udp_load_counts_datagrams),
		cmocka_unit_test(a_flood_is_small_datagrams_at_a_rate),
		cmocka_unit_test(round_trips_have_a_distribution_of_the_window),
		cmocka_unit_test(connections_have_a_distribution_of_the_window),
		cmocka_unit_test(local_ports_are_fixed_and_move_when_taken),
		cmocka_unit_test(the_tcp_load_fails_with_a_stream_closed_early),
		cmocka_unit_test(the_tcp_load_refuses_what_cannot_work),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
