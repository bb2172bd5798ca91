// SPDX-License-Identifier: GPL-3.0-or-later
#include "report/json_write.h"

#include <inttypes.h>
#include <math.h>

#include "base/buf.h"
#include "base/text.h"

void json_key(struct json *j, const char *name)
{
	if (j->comma)
		buf_putc(j->out, ',');
	if (name) {
		text_json(j->out, name);
		buf_putc(j->out, ':');
	}
	j->comma = true;
}

void json_begin(struct json *j, const char *name, char bracket)
{
	json_key(j, name);
	buf_putc(j->out, bracket);
	j->comma = false;
}

void json_end(struct json *j, char bracket)
{
	buf_putc(j->out, bracket);
	j->comma = true;
}

void put_text(struct json *j, const char *name, const char *v)
{
	json_key(j, name);
	if (v)
		text_json(j->out, v);
	else
		buf_puts(j->out, "null");
}

/* JSON has no infinity: an interval without an end is null there. */
void put_number(struct json *j, const char *name, double v)
{
	json_key(j, name);
	if (isfinite(v))
		buf_printf(j->out, "%.17g", v);
	else
		buf_puts(j->out, "null");
}

void put_count(struct json *j, const char *name, uint64_t v)
{
	json_key(j, name);
	buf_printf(j->out, "%" PRIu64, v);
}

void put_bool(struct json *j, const char *name, bool v)
{
	json_key(j, name);
	buf_puts(j->out, v ? "true" : "false");
}
