/* SPDX-License-Identifier: MIT */
#ifndef SENNIT_CODEGEN_DIAG_H
#define SENNIT_CODEGEN_DIAG_H

#include <stdio.h>

#include "source.h"

/* What can be wrong with a schema. Ids are stable: scripts and suppressions name
 * them. Append; never reuse a name for another meaning. The text says what the
 * id stands for in general, each message says what was wrong at its place. */
#define SNI_IDL_DIAG_TABLE(X)                                                            \
    X(FILE_TOO_LARGE, "the file is larger than any schema may be")                       \
    X(BAD_UTF8, "the file is not UTF-8 text")                                            \
    X(STRAY_CHARACTER, "a character that starts nothing")                                \
    X(COMMENT_UNTERMINATED, "a comment without an end")                                  \
    X(STRING_UNTERMINATED, "a string without an end on its line")                        \
    X(BAD_ESCAPE, "an escape sequence that does not exist")                              \
    X(BAD_NUMBER, "a number that is not written as one")                                 \
    X(NUMBER_RANGE, "a number that fits no type")                                        \
    X(NAME_TOO_LONG, "a name longer than generated code can use")                        \
    X(SYNTAX, "something else was expected here")                                        \
    X(TOO_DEEP, "nested deeper than allowed")                                            \
    X(UNKNOWN_KEYWORD, "a declaration starts with a word that is no keyword")            \
    X(NAME_IS_KEYWORD, "a keyword used as a name")                                       \
    X(EDITION_MISSING, "the file does not say its edition first")                        \
    X(EDITION_UNKNOWN, "an edition this program does not know")                          \
    X(NAMESPACE_MISSING, "no namespace to derive names from")                            \
    X(NOT_BUILT_YET, "in the language, but not in this program yet")                     \
    X(DUPLICATE_NAME, "one name for two things")                                         \
    X(FIELD_ID_REUSED, "one field number for two fields")                                \
    X(FIELD_ID_RANGE, "a field number outside 1..65535")                                 \
    X(FIELD_RESERVED, "a field number or name that is reserved")                         \
    X(RESERVED_RANGE, "a reservation that reserves nothing")                             \
    X(ENUM_TYPE, "an enum over something other than an integer")                         \
    X(ENUM_EMPTY, "an enum without values")                                              \
    X(ENUM_VALUE_REUSED, "one number for two enum values")                               \
    X(ENUM_VALUE_RANGE, "an enum value its type cannot hold")                            \
    X(ENUM_NO_ZERO, "a field whose enum has no value for an absent field")               \
    X(UNKNOWN_TYPE, "a type nobody declared")                                            \
    X(TYPE_NOT_ALLOWED, "a type that cannot be used here")                               \
    X(TYPE_RECURSIVE, "a type that contains itself")                                     \
    X(UNKNOWN_VALUE, "a name of no constant and no enum value")                          \
    X(VALUE_TYPE, "a value of another type than its place")                              \
    X(VALUE_RANGE, "a value its type cannot hold")                                       \
    X(DEFAULT_NOT_ALLOWED, "a default where there cannot be one")                        \
    X(UNKNOWN_ANNOTATION, "an annotation that does not exist")                           \
    X(ANNOTATION_PLACE, "an annotation on something it does not apply to")               \
    X(ANNOTATION_ARGUMENTS, "an annotation with the wrong arguments")                    \
    X(ANNOTATION_REPEATED, "the same annotation twice")                                  \
    X(THROWS_NO_ERROR, "throws names something other than an error")                     \
    X(ONEWAY_ANSWERS, "a one-way method that answers")                                   \
    X(EVENT_TOPIC, "a topic pattern that cannot be used")                                \
    X(ERROR_ID_CLASH, "two errors with the same number on the wire")                     \
    X(C_NAME_RESERVED, "a name C or C++ keeps for itself")                               \
    X(C_NAME_CLASH, "two things with the same name in generated C")

typedef enum sni_idl_diag_id {
#define X(id, text) SNI_IDL_##id,
    SNI_IDL_DIAG_TABLE(X)
#undef X
        SNI_IDL_DIAG_COUNT
} sni_idl_diag_id;

typedef struct sni_idl_diag sni_idl_diag;

/* Everything found in one source, notes with the error they explain. */
typedef struct sni_idl_diags {
    sni_idl_arena *arena;
    const sni_idl_source *source;
    sni_idl_diag *first;
    sni_idl_diag *last;
    unsigned errors_count; /* found; at most SNI_IDL_ERRORS_MAX of them are kept */
} sni_idl_diags;

/* Adds an error at `span`. */
void sni_idl_error(sni_idl_diags *diags, sni_idl_diag_id id, sni_idl_span span,
                   const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Adds a note to the error added last. */
void sni_idl_note(sni_idl_diags *diags, sni_idl_span span, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Name of an id ("UNKNOWN_TYPE") and what it stands for. */
const char *sni_idl_diag_name(sni_idl_diag_id id);
const char *sni_idl_diag_meaning(sni_idl_diag_id id);

/* Prints all in the order of their place in the source. */
void sni_idl_diags_print(const sni_idl_diags *diags, FILE *out, bool colour);

#endif /* SENNIT_CODEGEN_DIAG_H */
