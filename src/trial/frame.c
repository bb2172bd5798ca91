// SPDX-License-Identifier: GPL-3.0-or-later
#include "trial/frame.h"

#include <errno.h>
#include <json-c/json.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/json_field.h"
#include "sample/codec.h"

/* send() on sockets, so that a dead peer is EPIPE and not a signal; write() on serial lines. */
static int write_all(int fd, const char *data, size_t len, struct err *e)
{
	while (len) {
		ssize_t n = send(fd, data, len, MSG_NOSIGNAL);

		if (n < 0 && errno == ENOTSOCK)
			n = write(fd, data, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(e, "send to the other half of irqlab");
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

int frame_send(int fd, enum frame_type type, const void *data, size_t len, struct err *e)
{
	uint32_t n = (uint32_t)len + 1;
	char head[5] = { (char)(n >> 24), (char)(n >> 16), (char)(n >> 8), (char)n, (char)type };
	int r;

	if (len >= FRAME_MAX)
		return err_set(e, -EMSGSIZE, "a message of %zu bytes is over the limit of %u", len,
			       FRAME_MAX);
	r = write_all(fd, head, sizeof(head), e);
	return r < 0 ? r : write_all(fd, data, len, e);
}

int frame_send_json(int fd, struct json_object *o, struct err *e)
{
	const char *text = json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN);

	return text ? frame_send(fd, FRAME_JSON, text, strlen(text), e) : err_nomem(e, "message");
}

int frame_send_record(int fd, const struct record *rec, struct err *e)
{
	_cleanup_(buf_release) struct buf b = {};

	if (codec_record_encode(rec, &b) < 0)
		return err_nomem(e, "record");
	return frame_send(fd, FRAME_RECORD, b.data, b.len, e);
}

/* Bytes read: @len, or fewer at the end of the stream. */
static ssize_t read_all(int fd, void *data, size_t len, struct err *e)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = read(fd, (char *)data + done, len - done);

		if (n < 0 && errno == EINTR)
			continue;
		/* a killed peer of a socketpair with unread data resets the stream: its end, too */
		if (n < 0 && errno != ECONNRESET)
			return err_sys(e, "receive from the other half of irqlab");
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

int frame_receive(int fd, struct buf *payload, struct err *e)
{
	unsigned char head[5];
	ssize_t n = read_all(fd, head, sizeof(head), e);
	uint32_t len;

	if (n <= 0)
		return (int)n;
	if (n < (ssize_t)sizeof(head))
		return err_set(e, -EBADMSG, "the other half of irqlab ended in mid-message");
	len = (uint32_t)head[0] << 24 | (uint32_t)head[1] << 16 | (uint32_t)head[2] << 8 | head[3];
	if (len == 0 || len > FRAME_MAX || (head[4] != FRAME_JSON && head[4] != FRAME_RECORD))
		return err_set(e, -EBADMSG, "not a message of irqlab (length %u, type 0x%02x)", len,
			       head[4]);
	len--;
	buf_reset(payload);
	if (buf_reserve(payload, len) < 0)
		return err_nomem(e, "message");
	n = read_all(fd, payload->data, len, e);
	if (n < 0)
		return (int)n;
	if ((size_t)n < len)
		return err_set(e, -EBADMSG, "the other half of irqlab ended in mid-message");
	payload->len = len;
	payload->data[len] = '\0';
	return head[4];
}

int frame_json(const struct buf *payload, struct json_object **ret, struct err *e)
{
	_cleanup_(json_tokener_freep) struct json_tokener *t = json_tokener_new();
	_cleanup_(json_putp) struct json_object *o = NULL;

	if (!t)
		return err_nomem(e, "message");
	o = json_tokener_parse_ex(t, buf_str(payload), (int)payload->len + 1);
	if (!o || !json_object_is_type(o, json_type_object))
		return err_set(e, -EBADMSG, "not a JSON message: %.100s", buf_str(payload));
	*ret = take_ptr(o);
	return 0;
}
