/* SPDX-License-Identifier: MIT */
/* The program sennitc: reads its arguments, loads the schema, shows what was
 * found, and writes files when nothing was. Exit codes: 0 done, 1 the schema has
 * errors, 2 could not run. */
#define _POSIX_C_SOURCE 200809L

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cgen.h"
#include "idl.h"
#include "output.h"
#include "suggest.h"

#ifndef SENNIT_VERSION_TEXT
#error "the build defines SENNIT_VERSION_TEXT"
#endif

static const char help[] =
    "Compiles schemas (.snt) for Sennit.\n"
    "\n"
    "usage: sennitc gen c FILE.snt -o DIR [-MD] [-MF FILE]\n"
    "       sennitc check FILE.snt...\n"
    "       sennitc explain [ID]\n"
    "       sennitc --help | --version\n"
    "\n"
    "  gen c     writes DIR/FILE.snt.h and DIR/FILE.snt.c\n"
    "  check     only says what is wrong with the schemas\n"
    "  explain   says what the id of a diagnostic stands for\n"
    "\n"
    "'sennitc COMMAND --help' says more. Exit codes: 0 done, 1 the schema has errors,\n"
    "2 could not run. The language: idl/README.md.\n";

static const char help_gen[] =
    "usage: sennitc gen c FILE.snt -o DIR [-MD] [-MF FILE]\n"
    "\n"
    "  -o DIR    where DIR/FILE.snt.h and DIR/FILE.snt.c go; the directory must exist\n"
    "  -MD       also writes DIR/FILE.snt.d, which tells make what they depend on\n"
    "  -MF FILE  as -MD, but writes that to FILE\n"
    "\n"
    "Writes nothing when the schema has errors. Nothing but c is built yet.\n";

static const char help_check[] = "usage: sennitc check FILE.snt...\n"
                                 "\n"
                                 "Says what is wrong with the schemas; writes nothing.\n";

static const char help_explain[] =
    "usage: sennitc explain [ID]\n"
    "\n"
    "Says what the id of a diagnostic, as in [UNKNOWN_TYPE], stands for; without an\n"
    "id, lists all.\n";

/* Commands of the language's design that are absent, so that they can say so. */
static const char *const missing_commands[] = { "fmt",     "lint",    "breaking",
                                                "inspect", "to-json", "to-msgpack",
                                                "sample",  "lsp",     "compat" };
static const char *const missing_outputs[] = { "py", "json-schema", "docs",
                                               "descriptor" };

static int
bad_usage(const char *format, const char *word, const char *write_instead)
{
    fputs("sennitc: ", stderr);
    fprintf(stderr, format, word);
    fprintf(stderr, "\nwrite instead: %s\n", write_instead);
    return SNI_IDL_CANNOT_RUN;
}

static bool
is_in(const char *word, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(list[i], word))
            return true;
    return false;
}

static bool
use_colour(void)
{
    const char *no_colour = getenv("NO_COLOR");
    return isatty(STDERR_FILENO) && !(no_colour && *no_colour);
}

/* Shows what was found or why nothing could be; gives the exit code. */
static int
report(const sni_idl_schema *schema, sni_idl_status status)
{
    if (status == SNI_IDL_CANNOT_RUN)
        fprintf(stderr, "sennitc: %s\n", schema->failure);
    else
        sni_idl_diags_print(&schema->diags, stderr, use_colour());
    return (int)status;
}

/* ---- gen -------------------------------------------------------------- */

typedef struct sni_gen_args {
    const char *file;
    const char *directory;
    const char *depfile;
    bool want_depfile;
} sni_gen_args;

#define GEN_USAGE "sennitc gen c FILE.snt -o DIR"

/* Reads what follows "gen c". 0, or the exit code. */
static int
read_gen_args(int argc, char **argv, sni_gen_args *args)
{
    for (int i = 0; i < argc; i++) {
        const char *arg = argv[i];
        bool takes_value = !strcmp(arg, "-o") || !strcmp(arg, "-MF");
        if (takes_value && i + 1 == argc)
            return bad_usage("'%s' lacks its value", arg, GEN_USAGE);
        if (!strcmp(arg, "-o")) {
            args->directory = argv[++i];
        } else if (!strcmp(arg, "-MF")) {
            args->depfile = argv[++i];
            args->want_depfile = true;
        } else if (!strcmp(arg, "-MD")) {
            args->want_depfile = true;
        } else if (arg[0] == '-' && arg[1]) {
            return bad_usage("there is no option '%s'", arg,
                             GEN_USAGE " [-MD] [-MF FILE]");
        } else if (args->file) {
            return bad_usage("one schema at a time, not also '%s'", arg, GEN_USAGE);
        } else {
            args->file = arg;
        }
    }
    if (!args->file)
        return bad_usage("%s", "no schema was given", GEN_USAGE);
    if (!args->directory)
        return bad_usage("%s", "no directory was given for the output", GEN_USAGE);
    return 0;
}

static const char *
base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The file's name stands in an #include, a comment and a macro of the output. */
static bool
is_usable_name(const char *name)
{
    size_t size = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                               "0123456789._-+");
    return size && !name[size] && size < 128;
}

/* A path as make reads it: blanks and the like are escaped. */
static void
put_make_path(sni_idl_text *text, const char *path)
{
    for (; *path; path++)
        sni_idl_put(text,
                    *path == ' ' || *path == '#' || *path == '\\' ? "\\%c"
                    : *path == '$'                                ? "$%c"
                                                                  : "%c",
                    *path);
}

static const char *
make_depfile(sni_idl_schema *schema, const char *header, const char *source,
             const char *file, size_t *size)
{
    jmp_buf failure;
    schema->arena.on_failure = &failure;
    if (setjmp(failure))
        return NULL;
    sni_idl_text text = { .arena = &schema->arena };
    put_make_path(&text, header);
    sni_idl_put(&text, " ");
    put_make_path(&text, source);
    sni_idl_put(&text, ": ");
    put_make_path(&text, file);
    sni_idl_put(&text, "\n");
    *size = text.size;
    return text.data;
}

static bool
write_files(sni_idl_schema *schema, const sni_gen_args *args,
            const sni_cgen_output *output, sni_output *files)
{
    const char *name = base_name(args->file);
    char header[SNI_OUTPUT_PATH_MAX];
    char source[SNI_OUTPUT_PATH_MAX];
    char depfile[SNI_OUTPUT_PATH_MAX];
    int longest = snprintf(header, sizeof(header), "%s/%s.h", args->directory, name);
    snprintf(source, sizeof(source), "%s/%s.c", args->directory, name);
    snprintf(depfile, sizeof(depfile), "%s/%s.d", args->directory, name);
    if (longest < 0 || (size_t)longest >= sizeof(header)) {
        snprintf(files->failure, sizeof(files->failure), "the path of '%s' is too long",
                 name);
        return false;
    }
    if (!sni_output_add(files, header, output->header.data, output->header.size) ||
        !sni_output_add(files, source, output->source.data, output->source.size))
        return false;
    if (args->want_depfile) {
        size_t size = 0;
        const char *text = make_depfile(schema, header, source, args->file, &size);
        if (!text) {
            snprintf(files->failure, sizeof(files->failure), "out of memory");
            return false;
        }
        if (!sni_output_add(files, args->depfile ? args->depfile : depfile, text, size))
            return false;
    }
    return sni_output_commit(files);
}

static int
generate(const sni_gen_args *args)
{
    sni_idl_schema schema;
    sni_cgen_output output;
    sni_output files = { .count = 0 };
    sni_idl_schema_init(&schema);
    sni_idl_status status = sni_idl_load_file(&schema, args->file);
    if (status == SNI_IDL_GOOD)
        status = sni_cgen_run(&schema, base_name(args->file), &output);
    int code = report(&schema, status);
    if (status == SNI_IDL_GOOD && !write_files(&schema, args, &output, &files)) {
        fprintf(stderr, "sennitc: %s\n", files.failure);
        code = SNI_IDL_CANNOT_RUN;
    }
    sni_output_discard(&files);
    sni_idl_schema_fini(&schema);
    return code;
}

static int
command_gen(int argc, char **argv)
{
    sni_gen_args args = { .file = NULL };
    if (!argc)
        return bad_usage("%s", "'gen' lacks what to generate", GEN_USAGE);
    if (is_in(argv[0], missing_outputs,
              sizeof(missing_outputs) / sizeof(missing_outputs[0])))
        return bad_usage("'gen %s' is not built yet", argv[0], GEN_USAGE);
    if (strcmp(argv[0], "c") != 0)
        return bad_usage("cannot generate '%s'", argv[0], GEN_USAGE);
    int code = read_gen_args(argc - 1, argv + 1, &args);
    if (code)
        return code;
    if (!is_usable_name(base_name(args.file)))
        return bad_usage("the name of '%s' cannot stand in C code", args.file,
                         "a file name of letters, digits and . _ - +");
    return generate(&args);
}

/* ---- The other commands ----------------------------------------------- */

static int
command_check(int argc, char **argv)
{
    int worst = 0;
    if (!argc)
        return bad_usage("%s", "no schema was given", "sennitc check FILE.snt...");
    for (int i = 0; i < argc; i++) {
        sni_idl_schema schema;
        sni_idl_schema_init(&schema);
        int code = report(&schema, sni_idl_load_file(&schema, argv[i]));
        worst = code > worst ? code : worst;
        sni_idl_schema_fini(&schema);
    }
    return worst;
}

static int
command_explain(int argc, char **argv)
{
    bool found = false;
    if (argc > 1)
        return bad_usage("one id at a time, not also '%s'", argv[1],
                         "sennitc explain ID");
    for (int id = 0; id < SNI_IDL_DIAG_COUNT; id++) {
        const char *name = sni_idl_diag_name((sni_idl_diag_id)id);
        if (argc && strcmp(name, argv[0]) != 0)
            continue;
        printf("%-22s %s\n", name, sni_idl_diag_meaning((sni_idl_diag_id)id));
        found = true;
    }
    return found ? 0
                 : bad_usage("there is no diagnostic '%s'", argv[0],
                             "sennitc explain, which lists all");
}

typedef struct sni_command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help;
} sni_command;

static const sni_command commands[] = {
    { "gen", command_gen, help_gen },
    { "check", command_check, help_check },
    { "explain", command_explain, help_explain },
};

static int
run_command(const sni_command *command, int argc, char **argv)
{
    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "--help") != 0 && strcmp(argv[i], "-h") != 0)
            continue;
        fputs(command->help, stdout);
        return 0;
    }
    return command->run(argc, argv);
}

static int
run(int argc, char **argv)
{
    if (argc < 2)
        return bad_usage("%s", "no command was given", "sennitc --help");
    const char *word = argv[1];
    if (!strcmp(word, "--help") || !strcmp(word, "-h")) {
        fputs(help, stdout);
        return 0;
    }
    if (!strcmp(word, "--version")) {
        puts("sennitc " SENNIT_VERSION_TEXT);
        return 0;
    }
    const char *names[sizeof(commands) / sizeof(commands[0])];
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (!strcmp(commands[i].name, word))
            return run_command(&commands[i], argc - 2, argv + 2);
        names[i] = commands[i].name;
    }
    if (is_in(word, missing_commands,
              sizeof(missing_commands) / sizeof(missing_commands[0])))
        return bad_usage("'%s' is not built yet", word, "sennitc --help");
    const char *like = sni_idl_suggest(word, names, sizeof(names) / sizeof(names[0]));
    return bad_usage("there is no command '%s'", word, like ? like : "sennitc --help");
}

int
main(int argc, char **argv)
{
    int code = run(argc, argv);
    if (fflush(stdout) || ferror(stdout)) {
        fputs("sennitc: cannot write the output\n", stderr);
        return SNI_IDL_CANNOT_RUN;
    }
    return code;
}
