// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "cmd.h"
#include "file.h"
#include "plan/plan.h"
#include "ready.h"
#include "registry.h"

struct init_cfg {
	char *peer, *netdev, *output;
};

static const struct cmdline_opt options[] = {
	{ { "peer", OPT_STRING, offsetof(struct init_cfg, peer), "",
	    "the other end: netns, none or HOST[:PORT]" },
	  'p' },
	{ { "netdev", OPT_STRING, offsetof(struct init_cfg, netdev), "",
	    "network device under test; not given: that of the route" },
	  'n' },
	{ { "output", OPT_STRING, offsetof(struct init_cfg, output), "",
	    "file to write (NAME.yaml); - for standard output" },
	  'o' },
	{},
};

/* What is written is a plan, or is not written. */
static int check(const struct buf *text, const char *file, struct err *e)
{
	_cleanup_(plan_release) struct plan p = {};

	return plan_parse(buf_str(text), text->len, file, &plan_plugins, &p, e);
}

static int write_plan(const struct buf *text, const char *file, struct err *e)
{
	int r;

	if (strcmp(file, "-") == 0) {
		fputs(buf_str(text), stdout);
		return EXIT_DONE;
	}
	if (access(file, F_OK) == 0)
		return err_set(e, -EEXIST, "%s is there already: name another file with -o", file);
	r = file_write(file, text, e);
	if (r < 0)
		return r;
	printf("%s\n\nLook through it, then:\n  irqlab plan %s\n  irqlab audit %s\n"
	       "  irqlab run --aa %s    (what differs when nothing is changed)\n  irqlab run %s\n",
	       file, file, file, file, file);
	return EXIT_DONE;
}

static int run(const void *config, char **args, int nr_args, struct err *e)
{
	const struct init_cfg *cfg = config;
	const struct ready_plan *p = ready_find(args[0], e);
	_cleanup_(buf_release) struct buf text = {}, name = {};

	(void)nr_args;
	if (!p)
		return EXIT_USAGE;
	buf_printf(&name, "%s.yaml", p->name);
	ready_fill(p, cfg->peer, cfg->netdev, &text);
	if (text.failed || name.failed)
		return err_nomem(e, "plan");
	if (check(&text, buf_str(&name), e) < 0)
		return EXIT_USAGE;
	return write_plan(&text, *cfg->output ? cfg->output : buf_str(&name), e);
}

const struct command cmd_init = {
	.name = "init",
	.help = "write a plan for this machine from a ready one",
	.args = "NAME",
	.min_args = 1,
	.max_args = 1,
	.options = options,
	.run = run,
	.cfg_size = sizeof(struct init_cfg),
	.example = "irqlab init coalescing --peer 192.0.2.7 --netdev eth0",
	.more = "NAME is one of: irqlab plans. The peer runs \"irqlab traffic -s\" or \"iperf3 -s\".",
};
