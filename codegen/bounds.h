/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CODEGEN_BOUNDS_H
#define SENNIT_CODEGEN_BOUNDS_H

/* Every bound of the schema compiler, with what happens there. */

/* A schema file. Larger ones are refused unread (FILE_TOO_LARGE). */
#define SNI_IDL_FILE_MAX_BYTES ((size_t)4 * 1024 * 1024)

/* Types and values inside one another, "[[[...". Deeper ones are refused
 * (TOO_DEEP): the parser recurses. */
#define SNI_IDL_DEPTH_MAX 32

/* One name. Longer ones are refused (NAME_TOO_LONG): generated C names are made
 * of several, and compilers compare at least the first 63 characters. */
#define SNI_IDL_NAME_MAX_BYTES 128

/* Errors shown of one file. The rest is counted and said to exist. */
#define SNI_IDL_ERRORS_MAX 20

/* Field numbers: two bytes at most on the wire beyond the first 127. */
#define SNI_IDL_FIELD_NUMBER_MAX 65535

/* Structs by value inside one another. Deeper ones are refused (TOO_DEEP):
 * decoders recurse, and the runtime's own bound is 64. */
#define SNI_IDL_NESTING_MAX 32

#endif /* SENNIT_CODEGEN_BOUNDS_H */
