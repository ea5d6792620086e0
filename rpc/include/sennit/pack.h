/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_PACK_H
#define SENNIT_PACK_H

/* msgpack, written and read without a tree in between: an output that grows, a
 * cursor that checks, an arena that owns what was decoded.
 *
 * Writers and readers keep a sticky error: call as many as you like, look once
 * at the end. After the first failure a writer writes nothing and a reader
 * returns zeros and empty views.
 *
 * Bytes from outside go through sennit_unpack_check() first. The cursor checks
 * bounds on its own, so forgetting that costs time, never memory safety. */

#include <sennit/sennit.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Text ------------------------------------------------------------- */

/* Borrowed text, not terminated. `data` may be NULL only when `size` is 0. */
typedef struct sennit_str {
    const char *data;
    size_t size;
} sennit_str;

/* A view of a C string; NULL gives the empty text. */
SENNIT_API sennit_str sennit_str_of(const char *text);
SENNIT_API bool sennit_str_equal(sennit_str a, sennit_str b);

/* Whether `text` is UTF-8 as RFC 3629 has it (no surrogates, nothing overlong). */
SENNIT_API bool sennit_str_is_utf8(sennit_str text);

/* ---- Arena ------------------------------------------------------------ */

/* Memory that is given back all at once. What a decoder places in it lives until
 * the next reset or free. */
typedef struct sennit_arena sennit_arena;

/* Takes:  `allocator` is borrowed for the arena's life; NULL: malloc.
 * Errors: ENOMEM. */
SENNIT_API sennit_err
sennit_arena_new(sennit_arena **out, const sennit_allocator *allocator) SENNIT_MUST_CHECK;
SENNIT_API void sennit_arena_free(sennit_arena *arena);

/* `size` uninitialised bytes, aligned for any type; NULL when there is no memory
 * left. A size of 0 gives a pointer that must not be read. */
SENNIT_API void *sennit_arena_alloc(sennit_arena *arena, size_t size) SENNIT_MUST_CHECK;

/* `count` elements of `size` bytes, zeroed; NULL when there is no memory left or
 * the product overflows. */
SENNIT_API void *sennit_arena_array(sennit_arena *arena, size_t count,
                                    size_t size) SENNIT_MUST_CHECK;

/* Copies into the arena. The copy of a text has a NUL after its last byte.
 * Errors: ENOMEM. */
SENNIT_API sennit_err sennit_arena_copy_bytes(sennit_arena *arena, sennit_bytes from,
                                              sennit_bytes *out) SENNIT_MUST_CHECK;
SENNIT_API sennit_err sennit_arena_copy_str(sennit_arena *arena, sennit_str from,
                                            sennit_str *out) SENNIT_MUST_CHECK;

/* Forgets everything placed so far and keeps one chunk for the next use. */
SENNIT_API void sennit_arena_reset(sennit_arena *arena);

/* ---- Output ----------------------------------------------------------- */

/* Bytes being written. Law: size <= capacity, and err != 0 once something did
 * not fit; then `size` stands at the last whole value that did. */
typedef struct sennit_buf {
    uint8_t *data;
    size_t size;
    size_t capacity;
    sennit_err err; /* the first failure: ENOMEM, EMSGSIZE, EINVAL */
    bool fixed_;    /* the memory is the caller's */
    const sennit_allocator *allocator_;
} sennit_buf;

/* An output that grows. Allocates nothing yet.
 * Takes: `allocator` is borrowed until fini; NULL: malloc. */
SENNIT_API void sennit_buf_init(sennit_buf *buf, const sennit_allocator *allocator);

/* An output in the caller's memory; what does not fit is EMSGSIZE. */
SENNIT_API void sennit_buf_init_fixed(sennit_buf *buf, void *memory, size_t capacity);

/* Gives the memory back and leaves an empty output that may be used again. */
SENNIT_API void sennit_buf_fini(sennit_buf *buf);

/* Empties it, error included, and keeps the memory. */
SENNIT_API void sennit_buf_clear(sennit_buf *buf);

/* Room for `size` more bytes at `data + size`, to be filled and then counted by
 * the caller; NULL sets the sticky error. */
SENNIT_API uint8_t *sennit_buf_reserve(sennit_buf *buf, size_t size);

SENNIT_API void sennit_buf_append(sennit_buf *buf, const void *data, size_t size);
SENNIT_API sennit_bytes sennit_buf_bytes(const sennit_buf *buf);

/* ---- Writing ---------------------------------------------------------- */

/* Each writes one value in its shortest form. */
SENNIT_API void sennit_pack_nil(sennit_buf *buf);
SENNIT_API void sennit_pack_bool(sennit_buf *buf, bool value);
SENNIT_API void sennit_pack_uint(sennit_buf *buf, uint64_t value);
SENNIT_API void sennit_pack_int(sennit_buf *buf, int64_t value);
SENNIT_API void sennit_pack_f32(sennit_buf *buf, float value);
SENNIT_API void sennit_pack_f64(sennit_buf *buf, double value);
SENNIT_API void sennit_pack_str(sennit_buf *buf, sennit_str value);
SENNIT_API void sennit_pack_bin(sennit_buf *buf, sennit_bytes value);
SENNIT_API void sennit_pack_ext(sennit_buf *buf, int8_t type, sennit_bytes value);

/* Heads only: `count` values (array) or `count` pairs (map) must follow. */
SENNIT_API void sennit_pack_array(sennit_buf *buf, size_t count);
SENNIT_API void sennit_pack_map(sennit_buf *buf, size_t count);

/* Values that are msgpack already. */
SENNIT_API void sennit_pack_raw(sennit_buf *buf, sennit_bytes packed);

/* Bytes the writers above take; for exact sizes before encoding. */
SENNIT_API size_t sennit_pack_uint_size(uint64_t value);
SENNIT_API size_t sennit_pack_int_size(int64_t value);
SENNIT_API size_t sennit_pack_str_size(size_t size);    /* head and text */
SENNIT_API size_t sennit_pack_bin_size(size_t size);    /* head and bytes */
SENNIT_API size_t sennit_pack_array_size(size_t count); /* head alone */
SENNIT_API size_t sennit_pack_map_size(size_t count);   /* head alone */

/* ---- Reading ---------------------------------------------------------- */

/* Deepest nesting that is read from outside (rule H3). */
#define SENNIT_UNPACK_DEPTH_MAX 64u

typedef enum sennit_pack_type {
    SENNIT_PACK_END = 0, /* nothing left, or the cursor has failed */
    SENNIT_PACK_NIL,
    SENNIT_PACK_BOOL,
    SENNIT_PACK_UINT, /* an integer >= 0, whatever its width */
    SENNIT_PACK_INT,  /* an integer of a signed form */
    SENNIT_PACK_F32,
    SENNIT_PACK_F64,
    SENNIT_PACK_STR,
    SENNIT_PACK_BIN,
    SENNIT_PACK_ARRAY,
    SENNIT_PACK_MAP,
    SENNIT_PACK_EXT,
    SENNIT_PACK_BAD, /* 0xc1, which msgpack never uses */
} sennit_pack_type;

/* "map"; never NULL. */
SENNIT_API const char *sennit_pack_type_name(sennit_pack_type type);

/* A place in msgpack bytes. Law: begin <= at <= end. Views it gives point into
 * the input. */
typedef struct sennit_unpack {
    const uint8_t *begin;
    const uint8_t *at;
    const uint8_t *end;
    sennit_err err;     /* the first failure: EPROTO (malformed, wrong type, range) */
    const char *reason; /* static text, "" while all is well */
    size_t offset;      /* where the value that failed begins */
} sennit_unpack;

SENNIT_API void sennit_unpack_init(sennit_unpack *in, sennit_bytes bytes);

/* Keeps the caller's own finding, unless something failed before it. `reason` is
 * static text; the offset is that of the next value. */
SENNIT_API void sennit_unpack_fail(sennit_unpack *in, sennit_err err, const char *reason);

/* Type of the next value; reads nothing. */
SENNIT_API sennit_pack_type sennit_unpack_peek(const sennit_unpack *in);

/* Whether everything was read. Also true once the cursor has failed. */
SENNIT_API bool sennit_unpack_at_end(const sennit_unpack *in);

/* Steps over a nil and says whether there was one. Never fails. */
SENNIT_API bool sennit_unpack_nil(sennit_unpack *in);

/* Each reads one value of its type; another type or a value out of range fails.
 * Integers are taken in any width that fits. Floats also take the other float
 * width and integers (Python writes 3 for 3.0 and f64 for everything). */
SENNIT_API bool sennit_unpack_bool(sennit_unpack *in);
SENNIT_API uint64_t sennit_unpack_uint(sennit_unpack *in, uint64_t max);
SENNIT_API int64_t sennit_unpack_int(sennit_unpack *in, int64_t min, int64_t max);
SENNIT_API float sennit_unpack_f32(sennit_unpack *in);
SENNIT_API double sennit_unpack_f64(sennit_unpack *in);
SENNIT_API sennit_str sennit_unpack_str(sennit_unpack *in);
SENNIT_API sennit_bytes sennit_unpack_bin(sennit_unpack *in);
SENNIT_API sennit_bytes sennit_unpack_ext(sennit_unpack *in, int8_t *type);

/* Heads: how many values or pairs follow. A count the bytes left cannot hold
 * fails here, so it is safe to allocate for it (times the element's own size). */
SENNIT_API size_t sennit_unpack_array(sennit_unpack *in);
SENNIT_API size_t sennit_unpack_map(sennit_unpack *in);

/* Steps over one value with all that is in it, in bounded stack. */
SENNIT_API void sennit_unpack_skip(sennit_unpack *in);

/* The same, and gives its bytes. */
SENNIT_API sennit_bytes sennit_unpack_raw(sennit_unpack *in);

enum {
    SENNIT_CHECK_UTF8 = 1u << 0, /* every str must be UTF-8 */
};

/* Checks, before anything is decoded or allocated, that `in` is exactly one
 * msgpack value (rule H3): no nesting deeper than `depth_max` (at most
 * SENNIT_UNPACK_DEPTH_MAX), no length or count beyond the bytes that are left
 * (counts of all open containers taken together), no 0xc1, nothing after it.
 *
 * Gives:  on failure a static text in `*reason` and where in `*offset`; either
 *         may be NULL.
 * Errors: EPROTO. EINVAL (depth_max out of range, a flag that is unknown).
 * Memory: allocates nothing; time is linear in the input. */
SENNIT_API sennit_err sennit_unpack_check(sennit_bytes in, unsigned depth_max,
                                          unsigned flags, const char **reason,
                                          size_t *offset) SENNIT_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif /* SENNIT_PACK_H */
