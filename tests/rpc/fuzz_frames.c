/* SPDX-License-Identifier: MIT */
/* The fuzzer's function: any bytes as one msgpack value and as a frame. What the
 * validator lets through must be read to its end; what the record reader gives must
 * be written and read back as the same record. */
#include <stdlib.h>

#include "rpc/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
demand(bool condition)
{
    if (!condition)
        abort();
}

static void
check_value(sennit_bytes bytes)
{
    const char *reason = NULL;
    size_t offset = 0;
    sennit_unpack in;

    if (sennit_unpack_check(bytes, SENNIT_UNPACK_DEPTH_MAX, SENNIT_CHECK_UTF8, &reason,
                            &offset) != SENNIT_OK) {
        demand(reason != NULL && offset <= bytes.size);
        return;
    }
    sennit_unpack_init(&in, bytes);
    demand(sennit_unpack_raw(&in).size == bytes.size);
    demand(!in.err && sennit_unpack_at_end(&in));
}

static void
check_record(const sni_record *record)
{
    sennit_bytes ignored;
    sennit_buf buf;
    sni_frame frame;
    sni_record back;

    if (record->headers.size > 0)
        (void)sni_headers_find(record->headers, sennit_str_of("traceparent"), &ignored);
    sennit_buf_init(&buf, NULL);
    sni_record_write(&buf, record);
    demand(buf.err == SENNIT_OK);
    sni_frame_init(&frame, sennit_buf_bytes(&buf));
    demand(sni_frame_read(&frame, &back) == SNI_FRAME_RECORD);
    demand(back.type == record->type);
    demand(back.id == record->id || record->type == SNI_RECORD_HELLO ||
           record->type == SNI_RECORD_WHO || record->type == SNI_RECORD_GOAWAY);
    demand(sennit_str_equal(back.address, record->address));
    demand(back.body.size == record->body.size);
    demand(sni_frame_read(&frame, &back) == SNI_FRAME_END);
    sennit_buf_fini(&buf);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sennit_bytes bytes = { data, size };
    sni_frame frame;
    sni_record record;
    sni_frame_next next;

    check_value(bytes);
    sni_frame_init(&frame, bytes);
    while ((next = sni_frame_read(&frame, &record)) == SNI_FRAME_RECORD)
        check_record(&record);
    demand(next == SNI_FRAME_END || frame.reason[0] != '\0');
    demand(frame.at <= size && frame.offset <= size);
    return 0;
}
