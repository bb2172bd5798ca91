// SPDX-License-Identifier: GPL-3.0-or-later
#include <errno.h>
#include <json-c/json.h>
#include <net/if.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>

#include "audit/machine.h"
#include "audit_fix.h"
#include "audit_text.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/host.h"
#include "base/json_field.h"
#include "cmd.h"
#include "file.h"
#include "load/peer_netns.h"
#include "registry.h"

#define PLAN_MAX (1U << 20)

struct audit_cfg {
	bool json, list, strict, fix, identify;
	char *dev;
	uint64_t look_ns;
};

static const struct cmdline_opt options[] = {
	{ { "json", OPT_BOOL, offsetof(struct audit_cfg, json), "", "print JSON" }, 0 },
	{ { "list", OPT_BOOL, offsetof(struct audit_cfg, list), "",
	    "print the table of checks and what each reads" },
	  0 },
	{ { "strict", OPT_BOOL, offsetof(struct audit_cfg, strict), "",
	    "warnings count as vetoes in the exit code" },
	  0 },
	{ { "fix", OPT_BOOL, offsetof(struct audit_cfg, fix), "",
	    "mend what knobs can mend, run COMMAND, set all back" },
	  0 },
	{ { "dev", OPT_STRING, offsetof(struct audit_cfg, dev), "",
	    "netdev under test (the plan's, that of the default route)" },
	  0 },
	{ { "look", OPT_NS, offsetof(struct audit_cfg, look_ns), "200ms",
	    "how long the use of CPUs is watched", 0, 60 * NS_PER_S },
	  0 },
	{ { "identify", OPT_BOOL, offsetof(struct audit_cfg, identify), "",
	    "say host name, serial number and addresses too" },
	  0 },
	{},
};

/* What the plan is about; without one, everything. */
static int goal_of(const char *file, struct plan *plan, struct audit_goal *ret, struct err *e)
{
	_cleanup_(buf_release) struct buf text = {};
	int r;

	if (!file)
		return audit_goal_any(ret, e);
	r = file_read(file, PLAN_MAX, &text, e);
	if (r >= 0)
		r = plan_parse(buf_str(&text), text.len, file, &plan_plugins, plan, e);
	if (r < 0)
		return EXIT_USAGE;
	return audit_goal_of_plan(plan, ret, e);
}

/* The netdev through which the route to a plan's peer leads; a name that cannot be resolved leaves
 * it open. */
static void peer_dev(const char *peer, char ret[static IFNAMSIZ])
{
	const struct addrinfo hints = { .ai_socktype = SOCK_DGRAM };
	struct addrinfo *list = NULL;
	struct err ignored = {};
	char address[NI_MAXHOST];

	if (getaddrinfo(peer, NULL, &hints, &list) != 0)
		return;
	if (getnameinfo(list->ai_addr, list->ai_addrlen, address, sizeof(address), NULL, 0,
			NI_NUMERICHOST) == 0)
		netns_route(address, ret, &ignored);
	freeaddrinfo(list);
}

/* The netdev that is asked about; one that is not there is an error only when it was named. */
static int name_dev(struct host *host, const char *dev, const struct plan *plan, struct err *e)
{
	if (!*dev && plan->dut)
		dev = plan->dut;
	if (*dev && strlen(dev) >= sizeof(host->dut.ifname)) {
		err_set(e, -EINVAL, "\"%s\" is no name of a netdev", dev);
		return EXIT_USAGE;
	}
	if (*dev && !if_nametoindex(dev)) {
		err_set(e, -ENODEV, "there is no netdev \"%s\"; see: ip link", dev);
		return EXIT_USAGE;
	}
	if (*dev)
		snprintf(host->dut.ifname, sizeof(host->dut.ifname), "%s", dev);
	else if (plan->peer == PEER_HOST)
		peer_dev(plan->peer_host, host->dut.ifname);
	else if (plan->peer == PEER_NONE)
		machine_default_dev(host->proc_fd, host->dut.ifname);
	return 0;
}

static int look(const struct audit_cfg *cfg, const char *file, struct audit *ret, struct err *e)
{
	_cleanup_(host_release) struct host host = {};
	_cleanup_(audit_goal_release) struct audit_goal goal = {};
	_cleanup_(plan_release) struct plan plan = {};
	struct audit_scope scope = { .host = &host,
				     .root_fd = -1,
				     .goal = &goal,
				     .knobs = all_knobs,
				     .look_ns = cfg->look_ns,
				     .identify = cfg->identify };
	int r;

	machine_open(&host);
	r = goal_of(file, &plan, &goal, e);
	if (r == 0)
		r = name_dev(&host, cfg->dev, &plan, e);
	return r == 0 ? machine_audit(&scope, ret, e) : r;
}

static int print(const struct audit *a, bool json, struct err *e)
{
	_cleanup_(buf_release) struct buf out = {};

	if (json) {
		_cleanup_(json_putp) struct json_object *o = audit_json(a);

		buf_printf(&out, "%s\n",
			   json_object_to_json_string_ext(
				   o, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE));
	} else {
		audit_text(a, &out);
	}
	fputs(buf_str(&out), stdout);
	return out.failed ? err_nomem(e, "audit") : 0;
}

static int explain_fix(const struct audit *a, struct err *e)
{
	_cleanup_(buf_release) struct buf knobs = {};

	audit_text_knobs(a, &knobs);
	printf("\n%s%s", knobs.len ? "--fix would set, and set back afterwards:\n" : "",
	       buf_str(&knobs));
	err_set(e, -EINVAL,
		"--fix mends for as long as a command or a run takes: "
		"irqlab audit --fix -- COMMAND, or: irqlab run --fix PLAN");
	return EXIT_USAGE;
}

static int print_list(void)
{
	_cleanup_(buf_release) struct buf out = {};

	audit_list(&out);
	fputs(buf_str(&out), stdout);
	return EXIT_DONE;
}

static int run(const void *config, char **args, int nr_args, struct err *e)
{
	const struct audit_cfg *cfg = config;
	_cleanup_(audit_release) struct audit a = {};
	size_t bad;
	int r;

	if (cfg->list)
		return print_list();
	if (cfg->fix && nr_args)
		return audit_fix(args, cfg->dev, e);
	if (nr_args > 1) {
		err_set(e, -EINVAL, "audit takes one PLAN; a command only with --fix");
		return EXIT_USAGE;
	}
	r = look(cfg, nr_args ? args[0] : NULL, &a, e);
	if (r == 0)
		r = print(&a, cfg->json, e);
	if (r != 0)
		return r;
	if (cfg->fix)
		return explain_fix(&a, e);
	bad = audit_count(&a, SEVERITY_VETO) + (cfg->strict ? audit_count(&a, SEVERITY_WARN) : 0);
	return bad ? EXIT_CANNOT : EXIT_DONE;
}

const struct command cmd_audit = {
	.name = "audit",
	.help = "what on this machine would spoil a measurement, and how to mend it",
	.args = "[PLAN | --fix -- COMMAND [ARGUMENT...]]",
	.max_args = -1,
	.options = options,
	.run = run,
	.cfg_size = sizeof(struct audit_cfg),
	.example = "irqlab audit plans/demo.yaml",
	.more = "With PLAN the checks know what is measured: what touches none of it becomes a note. It changes\n"
		"nothing, and needs no root, but says \"unknown\" where only root can read. The same audit is\n"
		"done at the start of every run and stored with it; a veto stops a run (irqlab run --force).\n"
		"--fix sets what a knob can mend for as long as COMMAND takes; irqlab run --fix does for a run.\n"
		"Exit codes: 0 a run may start, 77 a veto stands (with --strict: or a warning), 3 machine not\n"
		"restored; with --fix that of COMMAND. The checks are listed in docs/audit.md.",
};
