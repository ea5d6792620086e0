/* SPDX-License-Identifier: MIT */
/* libFuzzer: any bytes as messages of generated structs. What is accepted must be
 * written and read again with the same result. The first byte chooses the struct. */
#include <stdlib.h>

#include "kinds.snt.h"
#include "wide.snt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef union any_value {
    k_plain plain;
    k_defaults defaults;
    k_optionals optionals;
    k_lists lists;
    k_node node;
    w_wide wide;
} any_value;

static void
check(const sennit_codec *codec, sennit_bytes in, sennit_arena *arena, sennit_buf *buf)
{
    any_value value;
    any_value again;
    sennit_error error;
    if (sennit_codec_decode(codec, &value, in, arena, &error))
        return;
    if (sennit_codec_encode(codec, &value, buf, &error) ||
        sennit_codec_size(codec, &value) != buf->size ||
        sennit_codec_view(codec, &again, sennit_buf_bytes(buf), arena, &error) ||
        !sennit_codec_equal(codec, &value, &again))
        abort();
    sennit_codec_print(codec, &value, buf);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const sennit_codec *const codecs[] = {
        &k_plain_codec, &k_defaults_codec, &k_optionals_codec,
        &k_lists_codec, &k_node_codec,     &w_wide_codec,
    };
    sennit_arena *arena = NULL;
    sennit_buf buf;
    if (!size || sennit_arena_new(&arena, NULL))
        return 0;
    sennit_buf_init(&buf, NULL);
    check(codecs[data[0] % (sizeof(codecs) / sizeof(codecs[0]))],
          (sennit_bytes){ data + 1, size - 1 }, arena, &buf);
    sennit_buf_fini(&buf);
    sennit_arena_free(arena);
    return 0;
}
