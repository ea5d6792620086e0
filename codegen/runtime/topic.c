/* SPDX-License-Identifier: MIT */
/* Addresses of events, token by token. */
#include <sennit/codec.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void
topic_append(sennit_topic *topic, const char *text, size_t size)
{
    if (topic->err)
        return;
    if (size > SENNIT_ADDRESS_MAX - topic->size) {
        topic->err = SENNIT_ENAMETOOLONG;
        return;
    }
    memcpy(topic->text + topic->size, text, size);
    topic->size += size;
    topic->text[topic->size] = '\0';
}

void
sennit_topic_init(sennit_topic *topic)
{
    memset(topic, 0, sizeof(*topic));
}

void
sennit_topic_literal(sennit_topic *topic, const char *text)
{
    topic_append(topic, text, strlen(text));
}

void
sennit_topic_str(sennit_topic *topic, sennit_str value)
{
    bool token = value.size && sennit_str_is_utf8(value);
    for (size_t i = 0; token && i < value.size; i++) {
        unsigned char c = (unsigned char)value.data[i];
        token = c > ' ' && c != 0x7f && c != '.' && c != '*' && c != '>';
    }
    if (token)
        topic_append(topic, value.data, value.size);
    else if (!topic->err)
        topic->err = SENNIT_EINVAL;
}

void
sennit_topic_uint(sennit_topic *topic, uint64_t value)
{
    char text[24];
    int size = snprintf(text, sizeof(text), "%" PRIu64, value);
    topic_append(topic, text, (size_t)size);
}

void
sennit_topic_int(sennit_topic *topic, int64_t value)
{
    char text[24];
    int size = snprintf(text, sizeof(text), "%" PRId64, value);
    topic_append(topic, text, (size_t)size);
}

void
sennit_topic_match(sennit_topic *topic, const char *value)
{
    if (value)
        sennit_topic_str(topic, sennit_str_of(value));
    else
        topic_append(topic, "*", 1);
}
