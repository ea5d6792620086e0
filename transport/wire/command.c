/* SPDX-License-Identifier: MIT */
#include "wire/command.h"

#include "base/assert.h"

static const struct command_name {
    const char *name;
    sni_command_kind kind;
} names[] = {
    { "READY", SNI_COMMAND_READY },         { "ERROR", SNI_COMMAND_ERROR },
    { "PING", SNI_COMMAND_PING },           { "PONG", SNI_COMMAND_PONG },
    { "SUBSCRIBE", SNI_COMMAND_SUBSCRIBE }, { "CANCEL", SNI_COMMAND_CANCEL },
};

static sni_command_kind
kind_of(sennit_bytes name)
{
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (sni_bytes_equal(name, sni_bytes(names[i].name, strlen(names[i].name))))
            return names[i].kind;
    return SNI_COMMAND_UNKNOWN;
}

static const char *
read_ping(sennit_bytes data, sni_command *command)
{
    if (data.size < 2)
        return "PING without a time-to-live";
    if (data.size > 2 + SNI_PING_CONTEXT_MAX)
        return "PING with a context over 16 octets";
    command->ttl_ds = sni_get_u16(data.data);
    command->data = sni_bytes(data.data + 2, data.size - 2);
    return NULL;
}

static const char *
read_error(sennit_bytes data, sni_command *command)
{
    if (data.size < 1 || (size_t)data.data[0] + 1 != data.size)
        return "ERROR whose reason does not fit";
    command->data = sni_bytes(data.data + 1, data.size - 1);
    return NULL;
}

const char *
sni_command_read(sennit_bytes body, sni_command *command)
{
    sennit_bytes data;
    size_t name_size;

    if (body.size < 1)
        return "empty command";
    name_size = body.data[0];
    if (name_size == 0)
        return "command without a name";
    if (name_size > body.size - 1)
        return "command whose name is longer than its body";
    data = sni_bytes(body.data + 1 + name_size, body.size - 1 - name_size);
    *command = (sni_command){ kind_of(sni_bytes(body.data + 1, name_size)), data, 0 };
    switch (command->kind) {
    case SNI_COMMAND_PING:
        return read_ping(data, command);
    case SNI_COMMAND_PONG:
        return data.size > SNI_PING_CONTEXT_MAX ? "PONG with a context over 16 octets"
                                                : NULL;
    case SNI_COMMAND_ERROR:
        return read_error(data, command);
    case SNI_COMMAND_UNKNOWN:
    case SNI_COMMAND_READY:
    case SNI_COMMAND_SUBSCRIBE:
    case SNI_COMMAND_CANCEL:
        break;
    }
    return NULL;
}

sni_parse
sni_command_misframed(sennit_bytes in, sni_frame_head *head, size_t *used)
{
    static const uint8_t front[] = { SNI_FRAME_COMMAND, 0, 0, 0, 0, 0, 0, 1 };
    static const struct {
        const char *name;
        uint8_t size_max; /* last octet of the size of a topic of 255 octets */
    } meant[] = { { "\011SUBSCRIBE", 9 }, { "\006CANCEL", 6 } };
    size_t size = in.size < sizeof front ? in.size : sizeof front;

    if (memcmp(in.data, front, size) != 0)
        return SNI_PARSE_BAD;
    if (in.size <= SNI_FRAME_HEAD_MAX)
        return in.size == SNI_FRAME_HEAD_MAX && in.data[sizeof front] > 9
                   ? SNI_PARSE_BAD
                   : SNI_PARSE_MORE;
    for (int i = 0; i < 2; i++) {
        size_t name_size = strlen(meant[i].name);
        size_t here = in.size - SNI_FRAME_HEAD_MAX;

        if (in.data[sizeof front] > meant[i].size_max ||
            memcmp(in.data + SNI_FRAME_HEAD_MAX, meant[i].name,
                   here < name_size ? here : name_size) != 0)
            continue;
        if (here < name_size)
            return SNI_PARSE_MORE;
        *head = (sni_frame_head){ false, true, 256u + in.data[sizeof front] };
        *used = SNI_FRAME_HEAD_MAX;
        return SNI_PARSE_DONE;
    }
    return SNI_PARSE_BAD;
}

size_t
sni_command_write(uint8_t *out, const char *name, sennit_bytes data)
{
    size_t name_size = strlen(name);
    size_t used;

    SNI_ASSERT(name_size >= 1 && name_size <= 255);
    used = sni_frame_head_write(out, false, true, 1 + name_size + data.size);
    out[used++] = (uint8_t)name_size;
    memcpy(out + used, name, name_size);
    used += name_size;
    sni_bytes_put(out + used, data);
    return used + data.size;
}
