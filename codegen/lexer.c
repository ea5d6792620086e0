/* SPDX-License-Identifier: MIT */
#include "lexer.h"

#include <stdlib.h>
#include <string.h>

#include "bounds.h"

/* Names in messages and generated code are copied as they are, comments and
 * strings included, so the whole text must be text. */
static void
check_text(sni_idl_diags *diags, const sni_idl_source *source)
{
    for (size_t at = 0; at < source->size;) {
        uint32_t character;
        size_t size = sni_idl_utf8(source->text + at, source->size - at, &character);
        sni_idl_span span = { (uint32_t)at, 1 };
        if (!size)
            sni_idl_error(diags, SNI_IDL_BAD_UTF8, span,
                          "this is not UTF-8; save the file as UTF-8");
        else if (!character)
            sni_idl_error(diags, SNI_IDL_BAD_UTF8, span,
                          "a zero byte: this is not a text file");
        if (!size || !character)
            return;
        at += size;
    }
}

void
sni_idl_lexer_init(sni_idl_lexer *lexer, sni_idl_arena *arena, sni_idl_diags *diags,
                   const sni_idl_source *source)
{
    memset(lexer, 0, sizeof(*lexer));
    lexer->arena = arena;
    lexer->diags = diags;
    lexer->source = source;
    if (source->size >= 3 && !memcmp(source->text, "\xef\xbb\xbf", 3))
        lexer->at = 3; /* a byte order mark, as some editors write */
    check_text(diags, source);
}

/* The text ends with NUL, and a NUL inside it starts no token, so looking one
 * or two bytes ahead needs no bound check. */
static char
look(const sni_idl_lexer *lexer, size_t ahead)
{
    size_t at = lexer->at + ahead;
    return at < lexer->source->size ? lexer->source->text[at] : '\0';
}

static sni_idl_span
span_from(const sni_idl_lexer *lexer, size_t start)
{
    return (sni_idl_span){ (uint32_t)start, (uint32_t)(lexer->at - start) };
}

static bool
is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool
is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool
is_name_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool
is_name(char c)
{
    return is_name_start(c) || is_digit(c);
}

/* ---- Blanks and comments ---------------------------------------------- */

static void
skip_line(sni_idl_lexer *lexer)
{
    while (lexer->at < lexer->source->size && look(lexer, 0) != '\n')
        lexer->at++;
}

static void
keep_comment(sni_idl_lexer *lexer, size_t start)
{
    sni_idl_comment *comment = SNI_IDL_NEW(lexer->arena, sni_idl_comment);
    comment->span = span_from(lexer, start);
    if (lexer->last_comment)
        lexer->last_comment->next = comment;
    else
        lexer->comments = comment;
    lexer->last_comment = comment;
}

static void
skip_block_comment(sni_idl_lexer *lexer)
{
    size_t start = lexer->at;
    const char *text = lexer->source->text;
    lexer->at += 2;
    while (lexer->at < lexer->source->size) {
        if (text[lexer->at] == '*' && look(lexer, 1) == '/') {
            lexer->at += 2;
            keep_comment(lexer, start);
            return;
        }
        lexer->at++;
    }
    sni_idl_error(lexer->diags, SNI_IDL_COMMENT_UNTERMINATED,
                  (sni_idl_span){ (uint32_t)start, 2 },
                  "this comment does not end; close it with '*/'");
}

/* Growing text of consecutive "///" lines. */
typedef struct sni_idl_doc {
    char *text;
    size_t size;
    size_t capacity;
} sni_idl_doc;

static void
add_doc_line(sni_idl_lexer *lexer, sni_idl_doc *doc)
{
    lexer->at += 3;
    if (look(lexer, 0) == ' ')
        lexer->at++;
    size_t start = lexer->at;
    skip_line(lexer);
    size_t size = lexer->at - start;
    const char *line = lexer->source->text + start;
    while (size &&
           (line[size - 1] == ' ' || line[size - 1] == '\t' || line[size - 1] == '\r'))
        size--;
    size_t needed = doc->size + size + 2;
    if (needed > doc->capacity) {
        char *text = sni_idl_alloc(lexer->arena, needed * 2);
        if (doc->size)
            memcpy(text, doc->text, doc->size);
        doc->text = text;
        doc->capacity = needed * 2;
    }
    if (doc->size)
        doc->text[doc->size++] = '\n';
    memcpy(doc->text + doc->size, line, size);
    doc->size += size;
    doc->text[doc->size] = '\0';
}

/* Skips what stands between tokens. Gives the doc text found last, or NULL. */
static const char *
skip_blanks(sni_idl_lexer *lexer)
{
    sni_idl_doc doc = { 0 };
    for (;;) {
        char c = look(lexer, 0);
        if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
            lexer->at++;
        } else if (c == '/' && look(lexer, 1) == '/' && look(lexer, 2) == '/' &&
                   look(lexer, 3) != '/') {
            add_doc_line(lexer, &doc);
        } else if (c == '/' && look(lexer, 1) == '/') {
            size_t start = lexer->at;
            skip_line(lexer);
            keep_comment(lexer, start);
        } else if (c == '/' && look(lexer, 1) == '*') {
            skip_block_comment(lexer);
        } else {
            return doc.size ? doc.text : NULL;
        }
    }
}

/* ---- Numbers ---------------------------------------------------------- */

typedef struct sni_idl_unit {
    const char *name;
    sni_idl_token_kind kind;
    uint64_t factor;
} sni_idl_unit;

static const sni_idl_unit units[] = {
    { "ns", SNI_IDL_TOKEN_DURATION, 1 },
    { "us", SNI_IDL_TOKEN_DURATION, 1000 },
    { "ms", SNI_IDL_TOKEN_DURATION, 1000000 },
    { "s", SNI_IDL_TOKEN_DURATION, 1000000000 },
    { "m", SNI_IDL_TOKEN_DURATION, UINT64_C(60) * 1000000000 },
    { "h", SNI_IDL_TOKEN_DURATION, UINT64_C(3600) * 1000000000 },
    { "B", SNI_IDL_TOKEN_SIZE, 1 },
    { "KiB", SNI_IDL_TOKEN_SIZE, 1024 },
    { "MiB", SNI_IDL_TOKEN_SIZE, 1024 * 1024 },
    { "GiB", SNI_IDL_TOKEN_SIZE, 1024 * 1024 * 1024 },
};

/* Reads digits of `base` into `*out`; false when they overflow. */
static bool
read_digits(sni_idl_lexer *lexer, unsigned base, uint64_t *out)
{
    uint64_t number = 0;
    bool fits = true;
    while (base == 16 ? is_hex(look(lexer, 0)) : is_digit(look(lexer, 0))) {
        char c = look(lexer, 0);
        unsigned digit =
            is_digit(c) ? (unsigned)(c - '0') : (unsigned)((c | 0x20) - 'a') + 10;
        if (number > (UINT64_MAX - digit) / base)
            fits = false;
        number = number * base + digit;
        lexer->at++;
    }
    *out = number;
    return fits;
}

static void
broken_number(sni_idl_lexer *lexer, sni_idl_token *token, size_t start,
              sni_idl_diag_id id, const char *why)
{
    while (is_name(look(lexer, 0)))
        lexer->at++;
    token->kind = SNI_IDL_TOKEN_BROKEN;
    sni_idl_error(lexer->diags, id, span_from(lexer, start), "%s", why);
}

static void
read_fraction(sni_idl_lexer *lexer, sni_idl_token *token, size_t start)
{
    lexer->at++;
    while (is_digit(look(lexer, 0)))
        lexer->at++;
    if (look(lexer, 0) == 'e' || look(lexer, 0) == 'E') {
        bool sign = look(lexer, 1) == '+' || look(lexer, 1) == '-';
        if (!is_digit(look(lexer, sign ? 2 : 1))) {
            broken_number(lexer, token, start, SNI_IDL_BAD_NUMBER,
                          "the exponent has no digits");
            return;
        }
        lexer->at += sign ? 2 : 1;
        while (is_digit(look(lexer, 0)))
            lexer->at++;
    }
    if (is_name_start(look(lexer, 0))) {
        broken_number(lexer, token, start, SNI_IDL_BAD_NUMBER,
                      "a number with a fraction takes no unit");
        return;
    }
    token->kind = SNI_IDL_TOKEN_FLOAT;
    char *digits =
        sni_idl_copy_text(lexer->arena, lexer->source->text + start, lexer->at - start);
    token->real = strtod(digits, NULL);
    if (token->real > 1.7976931348623157e308 || token->real < -1.7976931348623157e308)
        broken_number(lexer, token, start, SNI_IDL_NUMBER_RANGE,
                      "this number is too large for f64");
}

static void
read_unit(sni_idl_lexer *lexer, sni_idl_token *token, size_t start)
{
    const char *text = lexer->source->text + lexer->at;
    size_t size = 0;
    while (is_name(look(lexer, size)))
        size++;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (strlen(units[i].name) != size || memcmp(units[i].name, text, size) != 0)
            continue;
        lexer->at += size;
        token->kind = units[i].kind;
        if (token->negative)
            broken_number(lexer, token, start, SNI_IDL_BAD_NUMBER,
                          "durations and sizes have no sign");
        else if (token->magnitude > INT64_MAX / units[i].factor)
            broken_number(lexer, token, start, SNI_IDL_NUMBER_RANGE,
                          token->kind == SNI_IDL_TOKEN_SIZE
                              ? "this size does not fit 63 bits"
                              : "this duration does not fit 63 bits of nanoseconds "
                                "(292 years)");
        token->magnitude *= units[i].factor;
        return;
    }
    broken_number(lexer, token, start, SNI_IDL_BAD_NUMBER,
                  "a number runs into a name; units are ns us ms s m h, B KiB MiB GiB");
}

static void
read_number(sni_idl_lexer *lexer, sni_idl_token *token, size_t start)
{
    token->kind = SNI_IDL_TOKEN_INT;
    if (look(lexer, 0) == '-') {
        token->negative = true;
        lexer->at++;
    }
    bool hex = look(lexer, 0) == '0' && look(lexer, 1) == 'x';
    if (hex) {
        lexer->at += 2;
        if (!is_hex(look(lexer, 0))) {
            broken_number(lexer, token, start, SNI_IDL_BAD_NUMBER,
                          "'0x' needs hexadecimal digits");
            return;
        }
    }
    bool fits = read_digits(lexer, hex ? 16 : 10, &token->magnitude);
    if (!hex && look(lexer, 0) == '.' && is_digit(look(lexer, 1))) {
        read_fraction(lexer, token, start);
        return;
    }
    if (!fits || (token->negative && token->magnitude > UINT64_C(1) << 63)) {
        broken_number(lexer, token, start, SNI_IDL_NUMBER_RANGE,
                      "this number does not fit 64 bits");
        return;
    }
    if (is_name_start(look(lexer, 0)))
        read_unit(lexer, token, start);
}

/* ---- Strings ---------------------------------------------------------- */

static size_t
put_utf8(char *out, uint32_t character)
{
    if (character < 0x80) {
        out[0] = (char)character;
        return 1;
    }
    if (character < 0x800) {
        out[0] = (char)(0xc0 | character >> 6);
        out[1] = (char)(0x80 | (character & 0x3f));
        return 2;
    }
    out[0] = (char)(0xe0 | character >> 12);
    out[1] = (char)(0x80 | (character >> 6 & 0x3f));
    out[2] = (char)(0x80 | (character & 0x3f));
    return 3;
}

/* Reads the hexadecimal digits after \x (2) or \u (4); false when short. */
static bool
read_hex(const char *text, size_t left, size_t digits, uint32_t *out)
{
    if (left < digits)
        return false;
    uint32_t number = 0;
    for (size_t i = 0; i < digits; i++) {
        if (!is_hex(text[i]))
            return false;
        unsigned digit = is_digit(text[i]) ? (unsigned)(text[i] - '0')
                                           : (unsigned)((text[i] | 0x20) - 'a') + 10;
        number = number * 16 + digit;
    }
    *out = number;
    return true;
}

/* Translates the escape at lexer->at (a backslash). */
static size_t
read_escape(sni_idl_lexer *lexer, char *out)
{
    static const char plain[] = "n\nt\tr\ra\ab\bf\fv\v\"\"\\\\''";
    size_t start = lexer->at;
    char c = look(lexer, 1);
    size_t left = lexer->source->size - lexer->at;
    const char *text = lexer->source->text + lexer->at;
    for (size_t i = 0; c && i + 1 < sizeof(plain); i += 2) {
        if (plain[i] != c)
            continue;
        lexer->at += 2;
        out[0] = plain[i + 1];
        return 1;
    }
    uint32_t character;
    size_t digits = c == 'x' ? 2 : 4;
    if ((c == 'x' || c == 'u') && left > 2 &&
        read_hex(text + 2, left - 2, digits, &character) && character &&
        !(c == 'x' && character > 0x7f) &&
        !(character >= 0xd800 && character <= 0xdfff)) {
        lexer->at += 2 + digits;
        return put_utf8(out, character);
    }
    lexer->at += c && c != '\n' ? 2 : 1;
    sni_idl_error(
        lexer->diags, SNI_IDL_BAD_ESCAPE, span_from(lexer, start),
        "no such escape; use \\n \\t \\r \\\" \\\\ \\x01..\\x7f or \\u0001..\\uffff");
    out[0] = '?';
    return 1;
}

static void
read_string(sni_idl_lexer *lexer, sni_idl_token *token, size_t start)
{
    token->kind = SNI_IDL_TOKEN_STRING;
    size_t end = lexer->at + 1;
    const char *source = lexer->source->text;
    while (end < lexer->source->size && source[end] != '\n' && source[end] != '"')
        end += source[end] == '\\' && end + 1 < lexer->source->size &&
                       source[end + 1] != '\n'
                   ? 2
                   : 1;
    if (end > lexer->source->size)
        end = lexer->source->size;
    /* No escape is shorter than what it stands for. */
    char *text = sni_idl_alloc(lexer->arena, end - lexer->at + 4);
    size_t size = 0;
    lexer->at++;
    while (lexer->at < end) {
        if (source[lexer->at] == '\\')
            size += read_escape(lexer, text + size);
        else
            text[size++] = source[lexer->at++];
    }
    token->text = text;
    if (look(lexer, 0) == '"') {
        lexer->at++;
        return;
    }
    token->kind = SNI_IDL_TOKEN_BROKEN;
    sni_idl_error(lexer->diags, SNI_IDL_STRING_UNTERMINATED, span_from(lexer, start),
                  "this string does not end on its line; close it with '\"'");
}

/* ---- All tokens ------------------------------------------------------- */

static void
read_name(sni_idl_lexer *lexer, sni_idl_token *token, size_t start)
{
    while (is_name(look(lexer, 0)))
        lexer->at++;
    token->kind = SNI_IDL_TOKEN_IDENT;
    token->text =
        sni_idl_copy_text(lexer->arena, lexer->source->text + start, lexer->at - start);
    if (lexer->at - start > SNI_IDL_NAME_MAX_BYTES)
        sni_idl_error(lexer->diags, SNI_IDL_NAME_TOO_LONG, span_from(lexer, start),
                      "this name has %zu characters; at most %d are allowed",
                      lexer->at - start, SNI_IDL_NAME_MAX_BYTES);
}

/* Skips bytes that start nothing, in one error for a whole run of them. */
static void
read_stray(sni_idl_lexer *lexer, sni_idl_token *token, size_t start)
{
    token->kind = SNI_IDL_TOKEN_BROKEN;
    const char *text = lexer->source->text;
    uint32_t character = 0;
    size_t size = sni_idl_utf8(text + start, lexer->source->size - start, &character);
    lexer->at += size ? size : 1;
    if (!size || !character)
        return; /* reported by check_text() */
    if (character < 0x20 || (character >= 0x7f && character < 0xa0))
        sni_idl_error(lexer->diags, SNI_IDL_STRAY_CHARACTER, span_from(lexer, start),
                      "stray control character U+%04X", (unsigned)character);
    else
        sni_idl_error(lexer->diags, SNI_IDL_STRAY_CHARACTER, span_from(lexer, start),
                      "stray character '%.*s'", (int)size, text + start);
}

static const char *
match_punct(const sni_idl_lexer *lexer)
{
    static const char *const puncts[] = { "->", "..", ";", ":", ",", ".", "=", "?",
                                          "@",  "(",  ")", "{", "}", "[", "]" };
    for (size_t i = 0; i < sizeof(puncts) / sizeof(puncts[0]); i++) {
        const char *punct = puncts[i];
        if (look(lexer, 0) == punct[0] && (!punct[1] || look(lexer, 1) == punct[1]))
            return punct;
    }
    return NULL;
}

sni_idl_token
sni_idl_lexer_next(sni_idl_lexer *lexer)
{
    sni_idl_token token = { .kind = SNI_IDL_TOKEN_END };
    token.doc = skip_blanks(lexer);
    size_t start = lexer->at;
    char c = look(lexer, 0);
    const char *punct = match_punct(lexer);
    if (lexer->at >= lexer->source->size) {
        token.text = "";
    } else if (is_name_start(c)) {
        read_name(lexer, &token, start);
    } else if (is_digit(c) || (c == '-' && is_digit(look(lexer, 1)))) {
        read_number(lexer, &token, start);
    } else if (c == '"') {
        read_string(lexer, &token, start);
    } else if (punct) {
        token.kind = SNI_IDL_TOKEN_PUNCT;
        token.text = punct;
        lexer->at += strlen(punct);
    } else {
        read_stray(lexer, &token, start);
    }
    token.span = span_from(lexer, start);
    return token;
}
