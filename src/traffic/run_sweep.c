// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The throughput/latency curve: the load flat out, then at shares of that rate with round trips
 * beside it.
 */
#include <json-c/json.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "load/client.h"
#include "sample/hist.h"
#include "traffic/args.h"
#include "traffic/out.h"
#include "traffic/run.h"
#include "traffic/lane.h"
#include "traffic/view.h"

static char format_of(const struct traffic_args *a)
{
	if (a->format)
		return a->format;
	return 'a';
}

/* One measured point. */
struct point_of_curve {
	unsigned int percent;
	double offered_bps, achieved_bps, achieved_pps;
	struct hist *h;
	int64_t lost;
	double seconds;
};

/* What the receivers of the load in @s got, all directions together; @of is view_bps() or
 * view_pps(). */
static double received(const struct lane *s, double (*of)(const struct view_row *))
{
	const struct wire_results *mine = client_mine(s->client),
				  *theirs = client_theirs(s->client);
	double all = 0;

	for (unsigned int k = 0; k < s->view->nr_sides; k++) {
		struct view_row sum;

		if (view_sum(s->view, k, s->view->side[k].sender ? theirs : mine, false, &sum))
			all += of(&sum);
	}
	return all;
}

static int flat_out(const struct traffic_run *run, double *ret_bps, double *ret_pps, struct err *e)
{
	_cleanup_(lanes_release) struct lanes s = { .args = run->args,
						    .interrupted = run->interrupted };
	struct wire_params load = lane_load_params(run->args);
	int r;

	load.rate_bps = 0;
	r = lanes_add(&s, &load, NULL, e);
	if (r >= 0)
		r = lanes_run(&s, e);
	if (r < 0)
		return err_wrap(e, "flat out");
	*ret_bps = received(&s.v[0], view_bps);
	*ret_pps = received(&s.v[0], view_pps);
	return 0;
}

static int measure(const struct traffic_run *run, double full_bps, struct point_of_curve *p,
		   struct err *e)
{
	const struct traffic_args *a = run->args;
	_cleanup_(lanes_release) struct lanes s = { .args = a, .interrupted = run->interrupted };
	struct wire_params load = lane_load_params(a), rr = lane_rr_params(a);
	unsigned int flows = load.streams * (load.bidir ? 2 : 1);
	const struct view_side *side;
	struct view_row sum;
	int r;

	load.rate_bps = (uint64_t)(full_bps * p->percent / 100 / flows);
	load.rate_bps = load.rate_bps ? load.rate_bps : 1;
	p->offered_bps = (double)load.rate_bps * flows;
	r = lanes_add(&s, &load, NULL, e);
	if (r >= 0)
		r = lanes_add(&s, &rr, NULL, e);
	if (r >= 0)
		r = lanes_run(&s, e);
	if (r < 0)
		return err_wrap(e, "%u %%", p->percent);
	p->achieved_bps = received(&s.v[0], view_bps);
	p->achieved_pps = received(&s.v[0], view_pps);
	side = &s.v[1].view->side[0];
	if (side->whole)
		hist_merge(p->h, side->whole);
	if (view_sum(s.v[1].view, 0, client_mine(s.v[1].client), true, &sum))
		p->seconds = sum.end_s - sum.start_s;
	p->lost = view_rr_lost(s.v[1].view);
	return 0;
}

static double us(const struct hist *h, double q)
{
	uint64_t ns = 0;

	hist_quantile(h, q, &ns);
	return (double)ns / 1e3;
}

/* "  543210/sec" of datagrams; TCP has none. */
static const char *pps_text(const struct traffic_args *a, double pps, char ret[32])
{
	ret[0] = '\0';
	if (a->beside != BESIDE_TCP)
		snprintf(ret, 32, "%10.0f/sec  ", pps);
	return ret;
}

static void print_point(struct out *o, const struct traffic_args *a, const struct point_of_curve *p)
{
	char offered[32], achieved[32], pps[32], format = format_of(a);

	out_line(o, "%4u %%  %s/sec  %s/sec  %s%11llu %9.1f %9.1f %9.1f %9.1f", p->percent,
		 out_unit(offered, p->offered_bps / 8, format),
		 out_unit(achieved, p->achieved_bps / 8, format), pps_text(a, p->achieved_pps, pps),
		 (unsigned long long)p->h->total, us(p->h, 0.5), us(p->h, 0.99), us(p->h, 0.999),
		 (double)p->h->max / 1e3);
	out_flush(o);
}

static struct json_object *point_json(const struct traffic_args *a, const struct point_of_curve *p)
{
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "share_percent", json_object_new_int((int)p->percent));
	json_object_object_add(o, "offered_bps", json_object_new_double(p->offered_bps));
	json_object_object_add(o, "achieved_bps", json_object_new_double(p->achieved_bps));
	if (a->beside != BESIDE_TCP)
		json_object_object_add(o, "packets_per_second",
				       json_object_new_double(p->achieved_pps));
	json_object_object_add(o, "rr", view_rr_json(p->h, p->seconds, p->lost));
	return o;
}

/* The end is a row also where no step leads to it; 0 after it. */
static unsigned int next_share(const struct traffic_args *a, unsigned int share)
{
	if (share >= a->sweep_to)
		return 0;
	share += a->sweep_step;
	return share < a->sweep_to ? share : a->sweep_to;
}

static int curve(const struct traffic_run *run, struct out *o, double full_bps,
		 struct json_object *points, struct err *e)
{
	const struct traffic_args *a = run->args;
	_cleanup_(hist_freep) struct hist *h = hist_new();

	if (!h)
		return err_nomem(e, "histogram of the round trips");
	for (unsigned int share = a->sweep_from; share; share = next_share(a, share)) {
		struct point_of_curve p = { .percent = share, .h = h };
		int r;

		*h = (struct hist){};
		if (atomic_load(run->interrupted))
			return 0;
		r = measure(run, full_bps, &p, e);
		if (r < 0)
			return r;
		if (a->json)
			json_object_array_add(points, point_json(a, &p));
		else
			print_point(o, a, &p);
	}
	return 0;
}

static void put_objectp(struct json_object **o)
{
	json_object_put(*o);
}

static void print_head(struct out *o, const struct traffic_args *a, const char *load, double bps,
		       double pps)
{
	bool udp = a->beside != BESIDE_TCP;
	char text[32], datagrams[64] = "";

	if (udp)
		snprintf(datagrams, sizeof(datagrams), ", %.0f datagrams/sec", pps);
	out_line(o, "Flat out: %s/sec%s (%s); now shares of it, %u s each, and round trips",
		 out_unit(text, bps / 8, format_of(a)), datagrams, load, a->params.time_s);
	out_line(o,
		 "share   Offered          Achieved         %sRound trips       p50       "
		 "p99     p99.9       max  (us)",
		 udp ? "     Datagrams  " : "");
	out_flush(o);
}

int traffic_sweep(const struct traffic_run *run, struct err *e)
{
	static const char *const loads[] = { "", "tcp", "udp", "flood" };
	const struct traffic_args *a = run->args;
	_cleanup_(put_objectp) struct json_object *root = json_object_new_object();
	struct json_object *points = json_object_new_array();
	struct out o = { .f = run->f, .title = a->title, .timestamps = a->timestamps };
	double full = 0, pps = 0;
	int r = flat_out(run, &full, &pps, e);

	json_object_object_add(root, "load", json_object_new_string(loads[a->beside]));
	json_object_object_add(root, "full_bps", json_object_new_double(full));
	if (a->beside != BESIDE_TCP)
		json_object_object_add(root, "full_packets_per_second",
				       json_object_new_double(pps));
	json_object_object_add(root, "points", points);
	if (r >= 0 && !a->json) {
		print_head(&o, a, loads[a->beside], full, pps);
	}
	if (r >= 0)
		r = curve(run, &o, full, points, e);
	if (a->json) {
		if (r < 0)
			json_object_object_add(root, "error", json_object_new_string(e->msg));
		fprintf(run->f, "%s\n",
			json_object_to_json_string_ext(root, JSON_C_TO_STRING_PRETTY));
	}
	return r < 0 ? r : 0;
}
