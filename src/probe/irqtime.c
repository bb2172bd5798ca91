// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The accounts' programs: which of them this kernel can run, their maps' sizes, loading, and
 * attaching in an order in which no event is seen half.
 */
#define IRQTIME_PARTS
#include "probe/irqtime.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/cpuset.h"
#include "base/err.h"
#include "base/kfile.h"
#include "probe/irqtime_parts.h"

/* Threads and CPUs that they ran on; one more is lost, and counted. */
#define NR_THREADS 16384
#define HANDLERS_BASE 512
#define HANDLERS_PER_CPU 16

/* What an account is made of. */
enum part {
	PART_HARD = 1 << 0,
	PART_SOFT = 1 << 1,
	PART_RAISE = 1 << 2,
	PART_NAPI = 1 << 3,
	PART_SWITCH = 1 << 4,
};

/*
 * In the order of attaching.  Ends before beginnings: a beginning that was seen has its end.  Hard
 * interrupts before softirqs before threads: a clock stands still for all that it must from the
 * first event on that reads it.
 */
struct program {
	const char *name; /* of the program and the tracepoint */
	const char *group;
	enum part part;
	const char *with; /* useless without this one; NULL: stands alone */
};

#define VECTOR_EXIT(name) { #name "_exit", "irq_vectors", PART_HARD, #name "_entry" },
#define VECTOR_ENTRY(name) { #name "_entry", "irq_vectors", PART_HARD, #name "_exit" },

static const struct program programs[] = {
	{ "irq_handler_exit", "irq", PART_HARD, "irq_handler_entry" },
	IRQTIME_VECTORS(VECTOR_EXIT) //
	{ "irq_handler_entry", "irq", PART_HARD, "irq_handler_exit" },
	IRQTIME_VECTORS(VECTOR_ENTRY) //
	{ "softirq_exit", "irq", PART_SOFT, "softirq_entry" },
	{ "softirq_raise", "irq", PART_RAISE, "softirq_entry" },
	{ "softirq_entry", "irq", PART_SOFT, "softirq_exit" },
	{ "sched_switch", "sched", PART_SWITCH, NULL },
	{ "napi_poll", "napi", PART_NAPI, NULL },
};

/* The first warning of libbpf on this thread: why it failed. */
static _Thread_local char warning[256];

__attribute__((format(printf, 2, 0))) static int keep_warning(enum libbpf_print_level level,
							      const char *fmt, va_list ap)
{
	if (level == LIBBPF_WARN && !*warning) {
		vsnprintf(warning, sizeof(warning), fmt, ap);
		warning[strcspn(warning, "\n")] = '\0';
	}
	return 0;
}

static void set_print(void)
{
	libbpf_set_print(keep_warning);
}

/* libbpf's own messages would go to stderr. */
static void quiet_libbpf(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, set_print);
	*warning = '\0';
}

/* A failure of libbpf or the kernel at @what. */
static int bpf_failed(struct err *e, int code, const char *what)
{
	const char *why = strncmp(warning, "libbpf: ", 8) == 0 ? warning + 8 : warning;

	errno = -code;
	if (code == -EPERM)
		return err_sys(e,
			       "%s: BPF is refused (run as root, or with CAP_BPF and "
			       "CAP_PERFMON)",
			       what);
	return *why ? err_set(e, code, "%s: %s", what, why) : err_sys(e, "%s", what);
}

int irqtime_usable(struct err *why)
{
	struct bpf_insn code[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int fd;

	if (access("/sys/kernel/btf/vmlinux", R_OK) < 0)
		return err_set(why, -EOPNOTSUPP,
			       "/sys/kernel/btf/vmlinux: %s: the kernel must be built with "
			       "CONFIG_DEBUG_INFO_BTF",
			       strerrordesc_np(errno));
	quiet_libbpf();
	fd = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "irqlab_usable", "GPL", code,
			   ARRAY_SIZE(code), NULL);
	if (fd < 0)
		return bpf_failed(why, fd, "load a BPF program");
	close(fd);
	return 0;
}

static size_t find_program(const char *name)
{
	size_t i = 0;

	while (i < ARRAY_SIZE(programs) && strcmp(programs[i].name, name) != 0)
		i++;
	return i;
}

/* Which of the programs' tracepoints this kernel has; one pass, it has 100000 types and more. */
static void find_tracepoints(const struct btf *btf, bool here[ARRAY_SIZE(programs)])
{
	static const char prefix[] = "btf_trace_";

	for (__u32 id = 1; id < btf__type_cnt(btf); id++) {
		const struct btf_type *type = btf__type_by_id(btf, id);
		const char *name;
		size_t i;

		if (!btf_is_typedef(type))
			continue;
		name = btf__name_by_offset(btf, type->name_off);
		if (!name || strncmp(name, prefix, sizeof(prefix) - 1) != 0)
			continue;
		i = find_program(name + sizeof(prefix) - 1);
		if (i < ARRAY_SIZE(programs))
			here[i] = true;
	}
}

static unsigned int parts_of(const struct irqtime_opts *o)
{
	unsigned int parts = PART_HARD;

	if (o->softirqs || o->napi || o->threads || o->latency)
		parts |= PART_SOFT;
	if (o->latency)
		parts |= PART_RAISE;
	if (o->napi)
		parts |= PART_NAPI | PART_SWITCH;
	if (o->threads)
		parts |= PART_SWITCH;
	return parts;
}

static int add_lack(struct irqtime *t, const struct program *p)
{
	_cleanup_(buf_release) struct buf text = {};
	char **lacks = realloc(t->lacks, (t->nr_lacks + 2) * sizeof(*lacks));

	if (!lacks)
		return -ENOMEM;
	t->lacks = lacks;
	lacks[t->nr_lacks] = NULL;
	buf_printf(&text, "no tracepoint %s:%s: not in this kernel's BTF", p->group, p->name);
	lacks[t->nr_lacks] = buf_take(&text);
	if (!lacks[t->nr_lacks])
		return -ENOMEM;
	lacks[++t->nr_lacks] = NULL;
	return 0;
}

static bool ends_with(const char *s, const char *end)
{
	size_t len = strlen(s), n = strlen(end);

	return len >= n && strcmp(s + len - n, end) == 0;
}

/* Which programs are loaded: asked for, there, and not without their other half. */
static int choose_programs(struct irqtime *t, const struct btf *btf, struct err *e)
{
	unsigned int parts = parts_of(&t->opts);
	bool has[ARRAY_SIZE(programs)] = {};

	find_tracepoints(btf, has);
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		const struct program *p = &programs[i];
		struct bpf_program *prog = bpf_object__find_program_by_name(t->bpf->obj, p->name);
		bool here = has[i], both = !p->with || has[find_program(p->with)];
		bool wanted = parts & p->part;

		/* a pair that lacks altogether is said once */
		if (wanted && !here && (both || !ends_with(p->name, "_exit")) && add_lack(t, p) < 0)
			return err_nomem(e, "list of tracepoints");
		here = here && both;
		if (!prog || bpf_program__set_autoload(prog, wanted && here) < 0)
			return err_set(e, -ENOENT, "no BPF program %s", p->name);
	}
	return 0;
}

/* The highest number that a CPU can ever have here, + 1. */
static int count_cpus(unsigned int *ret, struct err *e)
{
	_cleanup_(close_fdp) int fd =
		open("/sys/devices/system/cpu", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_(cpuset_release) struct cpuset set = {};
	_cleanup_(freep) char *list = NULL;
	int r;

	if (fd < 0)
		return err_sys(e, "open /sys/devices/system/cpu");
	r = kfile_read_line(fd, "possible", &list, e);
	if (r >= 0)
		r = cpuset_parse(list, &set, e);
	if (r >= 0 && !set.nr)
		r = err_set(e, -EBADMSG, "empty");
	if (r < 0)
		return err_wrap(e, "/sys/devices/system/cpu/possible");
	*ret = set.cpus[set.nr - 1] + 1;
	return 0;
}

static int size_maps(struct irqtime *t, struct err *e)
{
	struct irqtime_bpf *b = t->bpf;
	int r = count_cpus(&t->nr_cpus, e);

	if (r < 0)
		return r;
	t->nr_handlers = HANDLERS_BASE + HANDLERS_PER_CPU * t->nr_cpus;
	t->nr_threads = t->opts.threads ? NR_THREADS : 1;
	b->rodata->nr_handlers = t->nr_handlers;
	b->rodata->want_threads = t->opts.threads;
	r = bpf_map__set_max_entries(b->maps.cpus, t->nr_cpus);
	if (r >= 0)
		r = bpf_map__set_max_entries(b->maps.handlers, t->nr_handlers);
	if (r >= 0)
		r = bpf_map__set_max_entries(b->maps.sums, t->nr_handlers * t->nr_cpus);
	if (r >= 0 && t->opts.napi)
		r = bpf_map__set_max_entries(b->maps.napis, IRQTIME_NAPIS * t->nr_cpus);
	if (r >= 0)
		r = bpf_map__set_max_entries(b->maps.threads, t->nr_threads);
	return r < 0 ? bpf_failed(e, r, "size of a BPF map") : 0;
}

static int map_area(const struct bpf_map *map, struct area *ret, struct err *e)
{
	size_t size = (size_t)bpf_map__value_size(map) * bpf_map__max_entries(map);
	void *v = mmap(NULL, size, PROT_READ, MAP_SHARED, bpf_map__fd(map), 0);

	if (v == MAP_FAILED)
		return err_sys(e, "mmap of BPF map %s", bpf_map__name(map));
	*ret = (struct area){ v, size };
	return 0;
}

static int map_areas(struct irqtime *t, struct err *e)
{
	int r = map_area(t->bpf->maps.cpus, &t->cpus, e);

	if (r >= 0)
		r = map_area(t->bpf->maps.handlers, &t->handlers, e);
	if (r >= 0)
		r = map_area(t->bpf->maps.sums, &t->sums, e);
	if (r >= 0 && t->opts.napi)
		r = map_area(t->bpf->maps.napis, &t->napis, e);
	return r;
}

static void area_release(struct area *a)
{
	if (a->v)
		munmap(a->v, a->size);
	*a = (struct area){};
}

static int attach(struct irqtime *t, struct err *e)
{
	t->links = calloc(ARRAY_SIZE(programs), sizeof(struct bpf_link *));
	if (!t->links)
		return err_nomem(e, "BPF links");
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		struct bpf_program *prog =
			bpf_object__find_program_by_name(t->bpf->obj, programs[i].name);
		struct bpf_link *link;

		if (!bpf_program__autoload(prog))
			continue;
		link = bpf_program__attach(prog);
		if (!link) {
			int r = -errno;

			bpf_failed(e, r, programs[i].name);
			return err_wrap(e, "attach to tracepoint %s", programs[i].group);
		}
		t->links[t->nr_links++] = link;
	}
	return 0;
}

static int load(struct irqtime *t, struct err *e)
{
	struct btf *btf = btf__load_vmlinux_btf();
	int r;

	if (!btf)
		return bpf_failed(e, -errno, "read the kernel's BTF");
	t->bpf = irqtime_bpf__open();
	if (!t->bpf)
		r = bpf_failed(e, -errno, "open the BPF programs");
	else
		r = choose_programs(t, btf, e);
	btf__free(btf);
	if (r >= 0)
		r = size_maps(t, e);
	if (r < 0)
		return r;
	r = irqtime_bpf__load(t->bpf);
	return r < 0 ? bpf_failed(e, r, "load the BPF programs") : 0;
}

int irqtime_open(struct irqtime **ret, const struct irqtime_opts *opts, struct err *e)
{
	_cleanup_(irqtime_closep) struct irqtime *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return err_nomem(e, "accounts");
	t->opts = *opts;
	quiet_libbpf();
	r = load(t, e);
	if (r >= 0)
		r = map_areas(t, e);
	if (r < 0)
		return r;
	t->keys = calloc(t->nr_threads, sizeof(*t->keys));
	t->threads = calloc(t->nr_threads, sizeof(*t->threads));
	if (!t->keys || !t->threads)
		return err_nomem(e, "accounts of threads");
	r = attach(t, e);
	if (r < 0)
		return r;
	*ret = take_ptr(t);
	return 0;
}

const char *const *irqtime_lacks(const struct irqtime *t)
{
	static const char *const none[] = { NULL };

	return t->lacks ? (const char *const *)t->lacks : none;
}

void irqtime_close(struct irqtime *t)
{
	if (!t)
		return;
	/* beginnings first, then ends: the reverse order */
	while (t->nr_links)
		bpf_link__destroy(t->links[--t->nr_links]);
	free(t->links);
	area_release(&t->cpus);
	area_release(&t->handlers);
	area_release(&t->sums);
	area_release(&t->napis);
	irqtime_bpf__destroy(t->bpf);
	for (size_t i = 0; i < t->nr_lacks; i++)
		free(t->lacks[i]);
	free(t->lacks);
	free(t->keys);
	free(t->threads);
	free(t);
}

void irqtime_closep(struct irqtime **t)
{
	irqtime_close(*t);
}
