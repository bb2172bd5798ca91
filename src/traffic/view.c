// SPDX-License-Identifier: GPL-3.0-or-later
#include "traffic/view.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "sample/hist.h"
#include "traffic/args.h"
#include "traffic/out.h"

/* Shares of an interval: a rest below is no row. */
#define TAIL_SHARE 0.1

bool view_is_rr(const struct view *v)
{
	return v->params && v->params->mode != WIRE_BULK;
}

double view_bps(const struct view_row *r)
{
	return r->end_s > r->start_s ? (double)r->bytes * 8 / (r->end_s - r->start_s) : 0;
}

bool view_is_flood(const struct view *v)
{
	return v->who == 'C' && v->params->udp && v->params->mode == WIRE_BULK &&
	       (v->args->flood || v->args->beside == BESIDE_FLOOD);
}

double view_pps(const struct view_row *r)
{
	int64_t came = (int64_t)r->packets - (r->lost > 0 ? r->lost : 0);

	return came > 0 && r->end_s > r->start_s ? (double)came / (r->end_s - r->start_s) : 0;
}

double view_lost_percent(const struct view_row *r)
{
	if (r->lost <= 0)
		return 0;
	return (uint64_t)r->lost >= r->packets ? 100 : 100 * (double)r->lost / (double)r->packets;
}

struct view *view_new(const struct traffic_args *args, struct out *out, char who)
{
	struct view *v = calloc(1, sizeof(*v));

	if (!v)
		return NULL;
	v->args = args;
	v->out = out;
	v->who = who;
	v->interval_s = args->interval_s;
	if (!args->json || !out)
		return v;
	v->root = json_object_new_object();
	v->start = json_object_new_object();
	v->intervals = json_object_new_array();
	json_object_object_add(v->root, "start", v->start);
	json_object_object_add(v->root, "intervals", v->intervals);
	return v;
}

void view_free(struct view *v)
{
	if (!v)
		return;
	for (unsigned int i = 0; i < v->nr_sides; i++) {
		hist_free(v->side[i].interval);
		hist_free(v->side[i].whole);
	}
	json_object_put(v->root);
	free(v);
}

void view_freep(struct view **v)
{
	view_free(*v);
}

static void add_side(struct view *v, struct flow *f)
{
	struct view_side *s = &v->side[v->nr_sides++];

	s->flow = f;
	s->nr = f->nr;
	s->sender = f->cfg.sender;
	for (unsigned int i = 0; i < s->nr; i++) {
		s->v[i].last.t_ns = f->start_ns;
		s->fd[i] = flow_fd(f, i);
		s->cpu[i] = -1;
	}
	/* a server of round trips has no times of its own */
	if (!view_is_rr(v) || v->who != 'C')
		return;
	s->interval = hist_new();
	s->whole = hist_new();
}

void view_began(struct view *v, const struct view_cfg *cfg)
{
	v->nr = cfg->nr;
	v->peer = cfg->peer;
	v->cookie = cfg->cookie;
	v->params = cfg->params;
	v->counts = v->params->omit_s == 0;
	for (unsigned int i = 0; i < 2; i++)
		if (cfg->flow[i])
			add_side(v, cfg->flow[i]);
	if (!v->out)
		return;
	if (v->args->json)
		json_began(v);
	else
		text_began(v);
	out_flush(v->out);
}

/* What counts begins where the streams stood when the omitted seconds ended. */
static void start_over(struct view_side *s)
{
	for (unsigned int i = 0; i < s->nr; i++) {
		s->v[i] = (struct view_stream){ .last = s->flow->omit[i] };
		if (s->interval)
			flow_take_hist(s->flow, i, s->interval);
	}
	if (s->interval && s->whole)
		*s->interval = *s->whole = (struct hist){};
}

/* What the whole test remembers of a TCP sender's intervals. */
static void remember(struct view_stream *s, const struct flow_count *now, struct view_row *r)
{
	if (r->retransmits > 0 && !s->losing)
		r->loss_episodes = 1;
	s->loss_episodes += r->loss_episodes;
	s->losing = r->retransmits > 0;
	s->reorder = now->reorder;
	if (now->cwnd_bytes > s->max_cwnd_bytes)
		s->max_cwnd_bytes = now->cwnd_bytes;
	if (now->snd_wnd_bytes > s->max_snd_wnd_bytes)
		s->max_snd_wnd_bytes = now->snd_wnd_bytes;
	if (now->rtt_ns > s->max_rtt_ns)
		s->max_rtt_ns = now->rtt_ns;
	if (s->nr_rtt == 0 || now->rtt_ns < s->min_rtt_ns)
		s->min_rtt_ns = now->rtt_ns;
	s->sum_rtt_ns += now->rtt_ns;
	s->nr_rtt++;
}

/* @turn: up to the end of the omitted seconds. */
static void take_row(struct view *v, struct view_side *s, unsigned int i, bool turn,
		     struct view_row *ret)
{
	struct view_stream *st = &s->v[i];
	const struct flow_count *last = &st->last;
	bool counts = v->counts && !turn;
	uint64_t zero = counts && v->params->omit_s ? s->flow->omit[i].t_ns : s->flow->start_ns;
	struct flow_count now;

	s->cpu[i] = flow_incoming_cpu(s->flow, i);
	if (turn)
		now = s->flow->omit[i];
	else
		flow_read_stream(s->flow, i, &now);
	/* a row after the end is of the time that there was */
	if (s->flow->end_ns > last->t_ns && now.t_ns > s->flow->end_ns)
		now.t_ns = s->flow->end_ns;
	*ret = (struct view_row){ .start_s = (double)(last->t_ns - zero) / 1e9,
				  .end_s = (double)(now.t_ns - zero) / 1e9,
				  .t_ns = now.t_ns,
				  .bytes = now.bytes - last->bytes,
				  .omitted = !counts,
				  .sender = s->sender,
				  .retransmits = WIRE_UNKNOWN,
				  .cwnd_bytes = now.cwnd_bytes,
				  .snd_wnd_bytes = now.snd_wnd_bytes,
				  .rtt_ns = now.rtt_ns,
				  .rttvar_ns = now.rttvar_ns,
				  .pmtu_bytes = now.pmtu_bytes,
				  .reorder = now.reorder,
				  .delivery_bps = now.delivery_bps,
				  .packets = now.packets - last->packets,
				  .lost = now.lost - last->lost,
				  .out_of_order = now.out_of_order - last->out_of_order,
				  .jitter_s = (double)now.jitter_ns / 1e9,
				  .cpu = s->cpu[i] };
	if (s->sender && !v->params->udp) {
		ret->retransmits = (int64_t)(now.retransmits - last->retransmits);
		remember(st, &now, ret);
	}
	if (s->interval)
		flow_take_hist(s->flow, i, s->interval);
	st->last = now;
}

static void add_row(struct view_row *sum, const struct view_row *r, unsigned int nr)
{
	sum->bytes += r->bytes;
	sum->packets += r->packets;
	sum->lost += r->lost;
	sum->out_of_order += r->out_of_order;
	sum->jitter_s += r->jitter_s / nr;
	sum->cwnd_bytes += r->cwnd_bytes;
	sum->delivery_bps += r->delivery_bps;
	sum->loss_episodes += r->loss_episodes;
	sum->end_s = r->end_s > sum->end_s ? r->end_s : sum->end_s;
	sum->start_s = r->start_s < sum->start_s ? r->start_s : sum->start_s;
	/* a sum without one of them would be no sum */
	if (r->retransmits == WIRE_UNKNOWN || sum->retransmits == WIRE_UNKNOWN)
		sum->retransmits = WIRE_UNKNOWN;
	else
		sum->retransmits += r->retransmits;
}

/* An empty sum of rows like @r. */
static struct view_row sum_begin(const struct view_row *r)
{
	return (struct view_row){ .start_s = r->start_s,
				  .end_s = r->end_s,
				  .t_ns = r->t_ns,
				  .sender = r->sender,
				  .omitted = r->omitted,
				  .cpu = -1 };
}

static void take_side(struct view *v, unsigned int side, bool turn, struct json_object *o)
{
	struct view_side *s = &v->side[side];
	struct view_row sum = {};

	for (unsigned int i = 0; i < s->nr; i++) {
		take_row(v, s, i, turn, &v->rows[i]);
		if (i == 0)
			sum = sum_begin(&v->rows[0]);
		add_row(&sum, &v->rows[i], s->nr);
	}
	if (o)
		json_interval(v, o, side, v->rows, &sum);
	else if (v->out)
		text_interval(v, side, v->rows, &sum);
	if (s->whole && s->interval) {
		hist_merge(s->whole, s->interval);
		memset(s->interval, 0, sizeof(*s->interval));
	}
}

static void take_rows(struct view *v, bool turn)
{
	struct json_object *o = v->out && v->args->json ? json_object_new_object() : NULL;

	if (!o && v->out)
		text_header(v);
	for (unsigned int k = 0; k < v->nr_sides; k++)
		take_side(v, k, turn, o);
	if (o)
		json_interval_end(v, o);
	v->nr_intervals++;
	if (v->out)
		out_flush(v->out);
}

/* A row from the last one to @end_ns, unless that would be none. */
static void take_rest(struct view *v, uint64_t end_ns, bool turn)
{
	const struct view_side *s = &v->side[0];
	uint64_t from = s->nr ? s->v[0].last.t_ns : end_ns;
	double rest = end_ns > from ? (double)(end_ns - from) / 1e9 : 0;

	if (rest > 0 && rest >= TAIL_SHARE * v->interval_s)
		take_rows(v, turn);
}

void view_omitted(struct view *v)
{
	if (v->counts)
		return;
	if (v->interval_s > 0)
		take_rest(v, v->side[0].flow->omit[0].t_ns, true);
	for (unsigned int k = 0; k < v->nr_sides; k++)
		start_over(&v->side[k]);
	v->counts = true;
}

/* A server's rows are asked for by the thread that omits. */
static bool pass_turn(struct view *v)
{
	const struct flow *f = v->side[0].flow;

	if (v->counts || v->who == 'C' || f->omit_ns <= f->start_ns)
		return false;
	view_omitted(v);
	return true;
}

void view_interval(struct view *v)
{
	if (pass_turn(v))
		take_rest(v, clock_mono_ns(), false);
	else
		take_rows(v, false);
}

void view_tail(struct view *v)
{
	const struct flow *f = v->side[0].flow;

	pass_turn(v);
	if (v->interval_s > 0 && v->nr_intervals == 0)
		take_rows(v, false);
	else if (v->interval_s > 0)
		take_rest(v, f->end_ns ? f->end_ns : clock_mono_ns(), false);
	/* what came since the last row counts in the distribution of the whole */
	for (unsigned int k = 0; k < v->nr_sides; k++)
		for (unsigned int i = 0; v->side[k].whole && i < v->side[k].nr; i++)
			flow_take_hist(v->side[k].flow, i, v->side[k].whole);
}

static const struct wire_stream *stream_of(const struct wire_results *res, unsigned int id)
{
	for (unsigned int i = 0; res && i < res->nr; i++)
		if (res->streams[i].id == id)
			return &res->streams[i];
	return NULL;
}

static bool has_stream(const struct view_side *s, unsigned int id)
{
	for (unsigned int i = 0; i < s->nr; i++)
		if (flow_id(s->flow, i) == id)
			return true;
	return false;
}

static int64_t lost_of(const struct wire_stream *w)
{
	return w->errors - (w->has_omitted ? w->omitted_errors : 0);
}

bool view_total(const struct view *v, unsigned int side, unsigned int i,
		const struct wire_results *res, bool of_sender, struct view_row *ret)
{
	const struct view_side *s = &v->side[side];
	const struct wire_stream *w = stream_of(res, flow_id(s->flow, i));
	const struct view_stream *st = &s->v[i];

	if (!w)
		return false;
	*ret = (struct view_row){ .end_s = w->end_s - w->start_s,
				  .bytes = w->bytes,
				  .sender = s->sender,
				  .retransmits = of_sender && !v->params->udp ? w->retransmits
									      : WIRE_UNKNOWN,
				  .reorder = st->reorder,
				  .loss_episodes = st->loss_episodes,
				  .packets = w->packets - (w->has_omitted ? w->omitted_packets : 0),
				  .lost = of_sender ? 0 : lost_of(w),
				  .out_of_order = st->last.out_of_order,
				  .jitter_s = of_sender ? 0 : w->jitter_s,
				  .cpu = s->cpu[i] };
	return true;
}

bool view_sum(const struct view *v, unsigned int side, const struct wire_results *res,
	      bool of_sender, struct view_row *ret)
{
	unsigned int nr = v->side[side].nr;

	if (nr == 0)
		return false;
	for (unsigned int i = 0; i < nr; i++) {
		struct view_row row;

		if (!view_total(v, side, i, res, of_sender, &row))
			return false;
		if (i == 0)
			*ret = sum_begin(&row);
		add_row(ret, &row, nr);
	}
	return true;
}

/*
 * iperf 3.12 and 3.13 count the datagrams of the omitted seconds in packets but not in bytes, and
 * do not say how many they were.  Then what such a peer sent or got is known from its bytes, and
 * what was sent to it from here.
 */
static void mend_side(struct view *v, const struct view_side *s, const struct wire_results *mine)
{
	const uint64_t length = v->params->length_bytes;

	for (unsigned int i = 0; i < v->theirs.nr; i++) {
		struct wire_stream *w = &v->theirs.streams[i];
		const struct wire_stream *own = stream_of(mine, w->id);
		uint64_t moved = (w->bytes + length - 1) / length;

		if (!own || !own->has_omitted || w->has_omitted || !has_stream(s, w->id))
			continue;
		w->packets = s->sender ? own->packets - own->omitted_packets : moved;
		w->errors = w->packets > moved ? (int64_t)(w->packets - moved) : 0;
	}
}

static void mend(struct view *v, const struct wire_results *mine)
{
	for (unsigned int k = 0; k < v->nr_sides; k++)
		mend_side(v, &v->side[k], mine);
}

void view_ended(struct view *v, const struct wire_results *mine, const struct wire_results *theirs)
{
	struct view_end end = { .mine = mine, .theirs = theirs };

	if (!v->out)
		return;
	if (theirs && v->params->udp && v->params->omit_s && v->params->length_bytes) {
		v->theirs = *theirs;
		mend(v, mine);
		end.theirs = &v->theirs;
	}
	/* a server whose client asked for its output has said it before the client's results came
	 */
	if (v->args->json)
		json_ended(v, &end);
	else if (!v->ended)
		text_ended(v, &end);
	v->ended = true;
	out_flush(v->out);
}

void view_flush(struct view *v, const char *error)
{
	if (!v->out || !v->args->json)
		return;
	if (error)
		json_object_object_add(v->root, "error", json_object_new_string(error));
	if (error)
		json_event(v, "error", json_object_new_string(error));
	if (v->args->json_stream && !v->args->json_full)
		return;
	fprintf(v->out->f, "%s\n",
		json_object_to_json_string_ext(v->root, JSON_C_TO_STRING_PRETTY |
								JSON_C_TO_STRING_NOSLASHESCAPE));
	out_flush(v->out);
}

int64_t view_rr_lost(const struct view *v)
{
	const struct view_side *s = &v->side[0];
	int64_t lost = 0;

	for (unsigned int i = 0; i < s->nr; i++) {
		struct flow_count now;

		flow_read_stream(s->flow, i, &now);
		lost += now.lost;
		if (v->counts && v->params->omit_s)
			lost -= s->flow->omit[i].lost;
	}
	return lost;
}
