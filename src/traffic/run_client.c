// SPDX-License-Identifier: GPL-3.0-or-later
#include <json-c/json.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "traffic/args.h"
#include "traffic/run.h"
#include "traffic/lane.h"
#include "traffic/view.h"

static void say_connecting(struct out *o, const struct traffic_args *a)
{
	struct utsname u = {};
	time_t now = time(NULL);
	char when[64] = "";
	struct tm tm;

	if (a->verbose && uname(&u) == 0) {
		out_line(o, "irqlab %s", IRQLAB_VERSION);
		out_line(o, "%s %s %s %s %s", u.sysname, u.nodename, u.release, u.version,
			 u.machine);
		if (gmtime_r(&now, &tm))
			strftime(when, sizeof(when), "%a, %d %b %Y %H:%M:%S GMT", &tm);
		out_line(o, "Time: %s", when);
	}
	out_line(o, "Connecting to host %s, port %llu", a->host, (unsigned long long)a->port);
	if (a->params.reverse)
		out_line(o, "Reverse mode, remote host %s is sending", a->host);
	out_flush(o);
}

static int add_all(struct lanes *s, struct out *o, struct err *e)
{
	const struct traffic_args *a = s->args;
	struct wire_params load = lane_load_params(a), rr = lane_rr_params(a);
	int r;

	if (a->params.mode == WIRE_BULK)
		return lanes_add(s, &load, o, e);
	if (a->beside == BESIDE_NOTHING)
		return lanes_add(s, &rr, o, e);
	snprintf(o->session, sizeof(o->session), "load ");
	r = lanes_add(s, &load, o, e);
	snprintf(o->session, sizeof(o->session), "rr   ");
	return r < 0 ? r : lanes_add(s, &rr, o, e);
}

/* The document is the measured test's; that of the load stands in it. */
static void flush(struct lanes *s, const char *error)
{
	struct view *last = s->nr ? s->v[s->nr - 1].view : NULL;

	if (!last)
		return;
	if (s->nr > 1 && last->root)
		json_object_object_add(last->root, "beside", json_object_get(s->v[0].view->root));
	view_flush(last, error);
}

int traffic_client(const struct traffic_run *run, struct err *e)
{
	const struct traffic_args *a = run->args;
	_cleanup_(lanes_release) struct lanes s = { .args = a, .interrupted = run->interrupted };
	struct out o = { .f = run->f, .title = a->title, .timestamps = a->timestamps };
	bool interrupted;
	int r;

	if (!a->json)
		say_connecting(&o, a);
	r = add_all(&s, &o, e);
	if (r >= 0)
		r = lanes_run(&s, e);
	interrupted = r >= 0 && atomic_load(run->interrupted);
	if (interrupted)
		fprintf(stderr, "irqlab: interrupt - the client has terminated\n");
	flush(&s, r < 0 ? e->msg : interrupted ? "interrupt - the client has terminated" : NULL);
	o.session[0] = '\0';
	if (r >= 0 && !a->json) {
		out_line(&o, "%s", "");
		out_line(&o, "iperf Done.");
	}
	return r < 0 ? r : 0;
}
