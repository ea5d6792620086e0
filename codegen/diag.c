/* SPDX-License-Identifier: MIT */
#include "diag.h"

#include <string.h>

#include "bounds.h"

/* Cells of source shown around the place; longer lines are cut. */
#define EXCERPT_CELLS  160
#define EXCERPT_BEFORE 60

struct sni_idl_diag {
    sni_idl_diag *next;
    sni_idl_diag *notes;
    sni_idl_diag *last_note;
    sni_idl_diag_id id;
    sni_idl_span span;
    const char *text;
};

static const char *const names[] = {
#define X(id, text) #id,
    SNI_IDL_DIAG_TABLE(X)
#undef X
};

static const char *const meanings[] = {
#define X(id, text) text,
    SNI_IDL_DIAG_TABLE(X)
#undef X
};

const char *
sni_idl_diag_name(sni_idl_diag_id id)
{
    return names[id];
}

const char *
sni_idl_diag_meaning(sni_idl_diag_id id)
{
    return meanings[id];
}

void
sni_idl_error(sni_idl_diags *diags, sni_idl_diag_id id, sni_idl_span span,
              const char *format, ...)
{
    diags->errors_count++;
    if (diags->errors_count > SNI_IDL_ERRORS_MAX)
        return;
    sni_idl_diag *diag = SNI_IDL_NEW(diags->arena, sni_idl_diag);
    diag->id = id;
    diag->span = span;
    va_list args;
    va_start(args, format);
    diag->text = sni_idl_vformat(diags->arena, format, args);
    va_end(args);
    if (diags->last)
        diags->last->next = diag;
    else
        diags->first = diag;
    diags->last = diag;
}

void
sni_idl_note(sni_idl_diags *diags, sni_idl_span span, const char *format, ...)
{
    if (diags->errors_count > SNI_IDL_ERRORS_MAX)
        return;
    sni_idl_diag *note = SNI_IDL_NEW(diags->arena, sni_idl_diag);
    note->span = span;
    va_list args;
    va_start(args, format);
    note->text = sni_idl_vformat(diags->arena, format, args);
    va_end(args);
    sni_idl_diag *error = diags->last;
    if (error->last_note)
        error->last_note->next = note;
    else
        error->notes = note;
    error->last_note = note;
}

/* ---- Showing the place ------------------------------------------------ */

/* Cells a terminal gives a character: enough of Unicode's tables to put the
 * caret right under East Asian text, emoji and combining marks. */
static unsigned
cells(uint32_t character)
{
    if ((character >= 0x300 && character <= 0x36f) || character == 0x200b ||
        character == 0x200d || (character >= 0xfe00 && character <= 0xfe0f))
        return 0;
    bool wide = (character >= 0x1100 && character <= 0x115f) ||
                (character >= 0x2e80 && character <= 0xa4cf) ||
                (character >= 0xac00 && character <= 0xd7a3) ||
                (character >= 0xf900 && character <= 0xfaff) ||
                (character >= 0xfe30 && character <= 0xfe6f) ||
                (character >= 0xff00 && character <= 0xff60) ||
                (character >= 0xffe0 && character <= 0xffe6) ||
                (character >= 0x1f300 && character <= 0x1faff) ||
                (character >= 0x20000 && character <= 0x3fffd);
    return wide ? 2 : 1;
}

/* One step along a line: a character, or one byte that is none. */
typedef struct sni_idl_step {
    size_t bytes;
    unsigned cells;
    bool printable; /* else shown as '?': a schema must not drive the terminal */
} sni_idl_step;

static sni_idl_step
step(const char *text, size_t size)
{
    uint32_t character;
    size_t bytes = sni_idl_utf8(text, size, &character);
    if (!bytes)
        return (sni_idl_step){ 1, 1, false };
    bool control = character < 0x20 || (character >= 0x7f && character < 0xa0) ||
                   (character >= 0x202a && character <= 0x202e) ||
                   (character >= 0x2066 && character <= 0x2069);
    if (control && character != '\t')
        return (sni_idl_step){ bytes, 1, false };
    return (sni_idl_step){ bytes, cells(character), true };
}

/* The part of a line that is shown: [from, to), with the place inside. */
typedef struct sni_idl_excerpt {
    const char *line;
    size_t size;
    size_t from;
    size_t to;
} sni_idl_excerpt;

static sni_idl_excerpt
cut_line(const char *line, size_t size, size_t place)
{
    sni_idl_excerpt excerpt = { line, size, 0, size };
    if (size <= EXCERPT_CELLS)
        return excerpt;
    if (place > EXCERPT_BEFORE)
        excerpt.from = place - EXCERPT_BEFORE;
    while (excerpt.from && ((unsigned char)line[excerpt.from] & 0xc0) == 0x80)
        excerpt.from--;
    if (size - excerpt.from > EXCERPT_CELLS)
        excerpt.to = excerpt.from + EXCERPT_CELLS;
    while (excerpt.to < size && ((unsigned char)line[excerpt.to] & 0xc0) == 0x80)
        excerpt.to++;
    return excerpt;
}

static void
print_text(FILE *out, sni_idl_excerpt excerpt)
{
    if (excerpt.from)
        fputs("...", out);
    for (size_t i = excerpt.from; i < excerpt.to;) {
        sni_idl_step at = step(excerpt.line + i, excerpt.to - i);
        if (at.printable)
            fwrite(excerpt.line + i, 1, at.bytes, out);
        else
            fputc('?', out);
        i += at.bytes;
    }
    if (excerpt.to < excerpt.size)
        fputs("...", out);
    fputc('\n', out);
}

/* Blanks as wide as the text before the place (tabs stay tabs, so that the
 * terminal's own tab stops apply), then ^~~~ as wide as the span. */
static void
print_marker(FILE *out, sni_idl_excerpt excerpt, size_t place, size_t marked)
{
    if (excerpt.from)
        fputs("   ", out);
    size_t i = excerpt.from;
    while (i < place && i < excerpt.to) {
        sni_idl_step at = step(excerpt.line + i, excerpt.to - i);
        if (excerpt.line[i] == '\t')
            fputc('\t', out);
        else
            fprintf(out, "%*s", (int)at.cells, "");
        i += at.bytes;
    }
    unsigned width = 0;
    while (i < place + marked && i < excerpt.to) {
        sni_idl_step at = step(excerpt.line + i, excerpt.to - i);
        width += at.cells;
        i += at.bytes;
    }
    fputc('^', out);
    for (unsigned cell = 1; cell < width; cell++)
        fputc('~', out);
}

static void
print_place(const sni_idl_source *source, sni_idl_span span, FILE *out, bool colour)
{
    sni_idl_position position = sni_idl_source_position(source, span.at);
    size_t size;
    const char *line = sni_idl_source_line(source, position.line, &size);
    size_t place = span.at - (size_t)(line - source->text);
    if (place > size)
        place = size;
    sni_idl_excerpt excerpt = cut_line(line, size, place);
    fprintf(out, "%5u | ", (unsigned)position.line);
    print_text(out, excerpt);
    fprintf(out, "      | %s", colour ? "\033[1;32m" : "");
    print_marker(out, excerpt, place, span.size);
    fprintf(out, "%s\n", colour ? "\033[0m" : "");
}

static void
print_one(const sni_idl_diags *diags, const sni_idl_diag *diag, bool note, FILE *out,
          bool colour)
{
    const sni_idl_source *source = diags->source;
    sni_idl_position position = sni_idl_source_position(source, diag->span.at);
    const char *kind = note ? "note" : "error";
    const char *paint = note ? "\033[1;36m" : "\033[1;31m";
    fprintf(out, "%s%s:%u:%u: %s%s:%s %s", colour ? "\033[1m" : "", source->name,
            (unsigned)position.line, (unsigned)position.column, colour ? paint : "", kind,
            colour ? "\033[0m" : "", diag->text);
    if (!note)
        fprintf(out, " [%s]", names[diag->id]);
    fputc('\n', out);
    print_place(source, diag->span, out, colour);
}

void
sni_idl_diags_print(const sni_idl_diags *diags, FILE *out, bool colour)
{
    /* At most SNI_IDL_ERRORS_MAX are kept, so choosing the next by a walk is cheap. */
    const sni_idl_diag *sorted[SNI_IDL_ERRORS_MAX];
    size_t count = 0;
    for (const sni_idl_diag *diag = diags->first; diag; diag = diag->next) {
        size_t place = count++;
        while (place && sorted[place - 1]->span.at > diag->span.at) {
            sorted[place] = sorted[place - 1];
            place--;
        }
        sorted[place] = diag;
    }
    for (size_t i = 0; i < count; i++) {
        print_one(diags, sorted[i], false, out, colour);
        for (const sni_idl_diag *note = sorted[i]->notes; note; note = note->next)
            print_one(diags, note, true, out, colour);
    }
    if (diags->errors_count > SNI_IDL_ERRORS_MAX)
        fprintf(out, "%s: %u more errors are not shown\n", diags->source->name,
                diags->errors_count - SNI_IDL_ERRORS_MAX);
}
