// SPDX-License-Identifier: GPL-3.0-or-later
/* Every plug-in's table keeps its promises, and every source file of a plug-in is registered. */
#include "test.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>

#include "registry.h"

static void check_name(const char *name)
{
	assert_non_null(name);
	assert_true(islower((unsigned char)name[0]));
	for (const char *p = name; *p; p++)
		assert_true(islower((unsigned char)*p) || isdigit((unsigned char)*p) || *p == '-');
}

static void check_help(const char *name, const char *help, size_t max)
{
	if (!help || !*help || strlen(help) > max || help[strlen(help) - 1] == '.')
		fail_msg("help of %s: \"%s\"", name, help ? help : "(none)");
}

/* Names well-formed and unique, help short, every default acceptable to its own row. */
static void check_plugin(const struct plugin *p)
{
	check_name(p->name);
	check_help(p->name, p->help, 60);
	assert_true(!p->options || !p->free_keys);
	for (const struct opt *o = p->options; o && o->type != OPT_END; o++) {
		struct err e = {};

		check_name(o->name);
		check_help(o->name, o->help, 90);
		assert_ptr_equal(opt_find(p->options, o->name), o);
		if (o->def && *o->def && opt_check(o, o->def, &e) < 0)
			fail_msg("%s: %s", p->name, e.msg);
	}
	for (const struct metric_desc *m = p->metrics; m && m->name; m++) {
		assert_true(isalnum((unsigned char)m->name[0]));
		if (!m->unit || !*m->unit || !m->help || !*m->help)
			fail_msg("metric %s.%s needs a unit and help", p->name, m->name);
	}
}

static void knobs_are_complete(void **state)
{
	for (size_t i = 0; all_knobs[i]; i++) {
		const struct knob_ops *k = all_knobs[i];

		check_plugin(&k->plugin);
		assert_true(k->usable && k->resolve && k->read && k->write);
	}
}

static void loads_are_complete(void **state)
{
	for (size_t i = 0; all_loads[i]; i++) {
		const struct load_ops *l = all_loads[i];

		check_plugin(&l->plugin);
		assert_true(l->open && l->start && l->begin && l->end && l->stop && l->drain &&
			    l->close);
	}
}

static void probes_are_complete(void **state)
{
	for (size_t i = 0; all_probes[i]; i++) {
		const struct probe_ops *p = all_probes[i];

		check_plugin(&p->plugin);
		assert_true(p->open && p->start && p->stop && p->drain && p->close);
	}
}

/* "p99": 0.99, "p999-corrected": 0.999; 0: the name is none of a quantile. */
static double quantile_of(const char *name)
{
	double q = 0, digit = 0.1;

	if (*name != 'p' || !isdigit((unsigned char)name[1]))
		return 0;
	for (name++; isdigit((unsigned char)*name); name++, digit /= 10)
		q += digit * (*name - '0');
	return *name == '\0' || *name == '-' ? q : 0;
}

static bool has_metric(const struct plugin *p, const char *name)
{
	for (const struct metric_desc *m = p->metrics; m && m->name; m++)
		if (strcmp(m->name, name) == 0)
			return true;
	return false;
}

/* The wrong kind is the wrong test: shares and counts may be 0, quantiles and maxima need their N.
 */
static void check_kind(const struct plugin *p, const struct metric_desc *m)
{
	enum metric_kind kind = metric_desc_kind(m), want = METRIC_LOCATION;
	double q = quantile_of(m->name);

	if (q > 0)
		want = METRIC_QUANTILE;
	else if (strncmp(m->name, "max", 3) == 0)
		want = METRIC_MAXIMUM;
	else if (strcmp(m->unit, "ratio") == 0 || strcmp(m->unit, "count") == 0 ||
		 strstr(m->name, "episodes"))
		want = METRIC_RATE;
	if (kind != want)
		fail_msg("%s.%s is of kind %d, not %d", p->name, m->name, kind, want);
	if (q > 0)
		assert_near(m->q, q, 1e-9);
	if ((q > 0 || want == METRIC_MAXIMUM) && !m->samples)
		fail_msg("%s.%s does not say what counts its samples", p->name, m->name);
	assert_true(!m->needs || opt_find(p->options, m->needs));
	assert_true(!m->samples || has_metric(p, m->samples));
	assert_true(!m->skipped || has_metric(p, m->skipped));
}

static void every_metric_has_the_kind_of_its_name(void **state)
{
	const struct plugin *const *lists[] = { plan_plugins.knobs, plan_plugins.loads,
						plan_plugins.probes };

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		for (const struct plugin *const *p = lists[i]; *p; p++)
			for (const struct metric_desc *m = (*p)->metrics; m && m->name; m++)
				check_kind(*p, m);
}

/* A global metric's name belongs to no instance: it must not be made by two plug-ins in two units.
 */
static void global_metrics_have_one_unit(void **state)
{
	const struct plugin *all[64] = {};
	size_t nr = 0;

	for (size_t i = 0; plan_plugins.loads[i]; i++)
		all[nr++] = plan_plugins.loads[i];
	for (size_t i = 0; plan_plugins.probes[i]; i++)
		all[nr++] = plan_plugins.probes[i];
	for (size_t i = 0; i < nr; i++)
		for (size_t k = 0; k < nr; k++)
			for (const struct metric_desc *a = all[i]->metrics; a && a->name; a++)
				for (const struct metric_desc *b = all[k]->metrics; b && b->name;
				     b++)
					if (a->global && b->global && strcmp(a->name, b->name) == 0)
						assert_string_equal(a->unit, b->unit);
}

static bool registered(const char *kind, const char *name)
{
	const struct plugin *const *list = strcmp(kind, "knob") == 0   ? plan_plugins.knobs
					   : strcmp(kind, "load") == 0 ? plan_plugins.loads
								       : plan_plugins.probes;

	for (; *list; list++)
		if (strcmp((*list)->name, name) == 0)
			return true;
	return false;
}

static void every_plugin_file_has_its_line(void **state)
{
	static const char *const kinds[][2] = { { "knob", "src/variant" },
						{ "load", "src/load" },
						{ "probe", "src/probe" } };
	size_t seen = 0;

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		_cleanup_(closedir_dirp) DIR *d = opendir(kinds[i][1]);
		size_t len = strlen(kinds[i][0]);
		struct dirent *entry;

		assert_non_null(d);
		while ((entry = readdir(d))) {
			char name[64] = {};

			if (strncmp(entry->d_name, kinds[i][0], len) != 0 ||
			    entry->d_name[len] != '_' ||
			    sscanf(entry->d_name + len + 1, "%63[a-z0-9].%*1[c]", name) != 1 ||
			    !strstr(entry->d_name, ".c"))
				continue;
			seen++;
			if (!registered(kinds[i][0], name))
				fail_msg("%s/%s has no line in src/plugins.def", kinds[i][1],
					 entry->d_name);
		}
	}
	assert_true(seen >= 11);
}

/* The text of a source file or page; the caller frees it. */
static void add_text(struct buf *out, const char *path)
{
	_cleanup_(fclose_filep) FILE *f = fopen(path, "r");
	char part[4096];
	size_t n;

	if (!f)
		fail_msg("%s: cannot be read", path);
	while ((n = fread(part, 1, sizeof(part), f)) > 0)
		buf_add(out, part, n);
}

/* Does a heading ("## ring, pause") have @name as one of its words? */
static bool has_section(const char *page, const char *name)
{
	size_t len = strlen(name);

	for (const char *p = strstr(page, "\n## "); p; p = strstr(p + 1, "\n## ")) {
		const char *end = strchr(p + 1, '\n');

		for (const char *w = p + 3; w && w < end; w = strpbrk(w + 1, " \n"))
			if (strncmp(w + 1, name, len) == 0 && strchr(",\n", w[1 + len]))
				return true;
	}
	return false;
}

static void every_knob_has_its_section(void **state)
{
	_cleanup_(buf_release) struct buf pages = {};

	add_text(&pages, "docs/knobs.md");
	add_text(&pages, "docs/knobs-net.md");
	for (size_t i = 0; all_knobs[i]; i++)
		if (!has_section(buf_str(&pages), all_knobs[i]->plugin.name))
			fail_msg("knob %s has no section in docs/knobs*.md",
				 all_knobs[i]->plugin.name);
	assert_false(has_section(buf_str(&pages), "appears"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(knobs_are_complete),
		cmocka_unit_test(loads_are_complete),
		cmocka_unit_test(probes_are_complete),
		cmocka_unit_test(every_metric_has_the_kind_of_its_name),
		cmocka_unit_test(global_metrics_have_one_unit),
		cmocka_unit_test(every_plugin_file_has_its_line),
		cmocka_unit_test(every_knob_has_its_section),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
