/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mistakes next to a secret option: whatever is wrong, and wherever, no message quotes the value of
 * source.info. Files that can be read, files that cannot, and the command line.
 */
#include <sys/mman.h>

#include "tests/unit/config_scratch.h"

/* No four characters of it stand in a message by chance. */
#define SECRET "Zq7XwK9vR2mJ5tLb8NcY4hGd"
#define PIECE 4

/* Whether a message contains a part of the secret. */
static bool shows_secret(const char *printed)
{
    for (size_t i = 0; i + PIECE < sizeof SECRET; i++) {
        char piece[PIECE + 1] = "";
        memcpy(piece, &SECRET[i], PIECE);
        if (strstr(printed, piece) != NULL) {
            return true;
        }
    }
    return false;
}

/* What is printed about the mistakes, as text and as JSON. malloc'ed. */
static char *print_mistakes(const struct vamp_config_request *request)
{
    struct vamp_diagnostics diagnostics;
    assert_int_equal(vamp_diagnostics_init(&diagnostics, NULL), 0);
    struct vamp_config *config = NULL;
    struct vamp_err err = VAMP_ERR_NONE;
    const int code = vamp_config_load(request, &config, &diagnostics, &err);
    assert_int_equal(code == 0, diagnostics.error_count == 0);
    vamp_config_free(config);
    char *printed = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&printed, &bytes);
    assert_non_null(stream);
    vamp_diagnostics_print(&diagnostics, stream, false);
    vamp_diagnostics_print_json(&diagnostics, "f", stream);
    (void)fprintf(stream, "%s\n", err.text);
    assert_int_equal(fclose(stream), 0);
    vamp_diagnostics_done(&diagnostics);
    return printed;
}

/* A file, up to one option from the command line, and a part of what is printed about them. */
struct mistake {
    const char *text;
    const char *path, *value;
    const char *expected;
};

static void assert_hidden(const struct mistake *mistake)
{
    const struct scratch scratch = scratch_make(mistake->text);
    const struct vamp_config_override override = {mistake->path, mistake->value, "-o"};
    char *printed = print_mistakes(&(struct vamp_config_request){
        .file = scratch.file,
        .overrides = &override,
        .override_count = mistake->path != NULL ? 1 : 0,
        .memory_bytes = MEMORY_BYTES,
    });
    if (shows_secret(printed) || strstr(printed, mistake->expected) == NULL) {
        fail_msg("of\n%s\nis printed\n%s", mistake->text, printed);
    }
    free(printed);
    scratch_remove(&scratch);
}

static void values_of_a_file_that_can_be_read(void **state)
{
    (void)state;
    static const struct mistake mistakes[] = {
        /* In another key of the line, on either side. */
        {"{\"source\": {\"info\": \"" SECRET "\", \"wait\": 5}}", NULL, NULL,
         "c.json:1:57: error: /source/wait: found the number 5\n"
         "    {\"source\": {\"info\": **************************, \"wait\": 5}}\n"},
        {"{\"source\": {\"wait\": 5, \"info\": \"" SECRET "\"}}", NULL, NULL, "1:21: error: "},
        {"{\"source\": {\"info\": \"" SECRET "\"}, \"ring\": \"1B\"}", NULL, NULL, "/ring: "},
        /* In the secret itself. */
        {"{\"source\": {\"info\": \"" SECRET "\\u0001\"}}", NULL, NULL, "character 0x01"},
        {"{\"source\": {\"info\": [\"" SECRET "\"]}}", NULL, NULL, "found a list"},
        {"{\"source\": {\"info\": {\"" SECRET "\":\n\"" SECRET "\"}}}", NULL, NULL, "an object"},
        {"{\"source\": {\"info\": [\n\"" SECRET "\", 5\n], \"wait\": 5}}", NULL, NULL, "3:12: "},
        {"{\"source\": {\"info\": \"" SECRET "\", \"info\": \"" SECRET "\"}}", NULL, NULL,
         "given twice"},
        {"{\"source\": {\"info\": \"" SECRET "\", \"info_file\": \"a\"}}", NULL, NULL, "give only"},
        {"{\"source\": {\"info\": \"" SECRET "\", \"alone\": true}}", NULL, NULL, "no effect"},
        /* Under another key, or in another place, than was meant. */
        {"{\"source\": {\"inof\": \"" SECRET "\"}}", NULL, NULL, "did you mean \"info\"?"},
        {"{\"source\": {\"INFO\": \"" SECRET "\"}}", NULL, NULL, "did you mean \"info\"?"},
        {"{\"source\": {\"key\": \"" SECRET "\"}}", NULL, NULL, "is not an option"},
        {"{\"MSTRO_POOL_MANAGER_INFO\": \"" SECRET "\"}", NULL, NULL, "is not an option"},
        {"{\"source\": {\"\\u0069nf\\u006f\": \"" SECRET "\", \"wait\": 5}}", NULL, NULL, "wait"},
        {"{\"outputs\": [{\"type\": \"null\", \"info\": \"" SECRET "\"}]}", NULL, NULL, "not an"},
        {"{\"source\": {\"type\": \"replay\", \"info\": \"" SECRET "\"}}", NULL, NULL, "not an"},
        {"[{\"source\": {\"info\": \"" SECRET "\"}}]", NULL, NULL, "this is a list"},
        /* Other ways to end a line and to write a character. */
        {"{\"source\": {\r\n\"info\": \"" SECRET "\",\r\n\"wait\": 5}}", NULL, NULL, "3:9: "},
        {"{\"source\": {\"info\": \"\xc3\xa4" SECRET "\\\"\", \"wait\": 5}}", NULL, NULL, "1:60: "},
        /* From the command line. */
        {"{}", "source.info", SECRET "\001", "-o: error: /source/info: "},
        {"{}", "source.info", "[\"" SECRET "\"]", "found a list"},
        {"{}", "source.inof", SECRET, "did you mean \"info\"?"},
        {"{}", "source.info.x", SECRET, "found an object"},
        {"{\"source\": {\"info\": \"" SECRET "\"}}", "source.info.x", "1", "nothing can be set in"},
        {"{\"source\": {\"info\": \"" SECRET "\", \"wait\": 5}}", "source.info", "x", "/wait: "},
        {"{\"source\": {\"info\": \"" SECRET "\", \"wait\": 5}}", "source.info", "[]", "/wait: "},
        {"{\"source\": {\"info\": \"" SECRET "\"}, \"ring\": 5}", "source.type", "replay",
         "/ring: "},
    };
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        assert_hidden(&mistakes[i]);
    }
}

static void numbers_are_not_described(void **state)
{
    (void)state;
    const struct scratch scratch = scratch_make("{\"source\": {\"info\": 83926417}}");
    char *printed = print_mistakes(&(struct vamp_config_request){.file = scratch.file});
    assert_null(strstr(printed, "8392"));
    assert_non_null(strstr(printed, "c.json:1:21: error: /source/info: found a number\n"
                                    "    {\"source\": {\"info\": ********}}\n"));
    free(printed);
    scratch_remove(&scratch);
}

/* What has nothing to do with a secret is quoted as before. */
static void other_values_are_quoted(void **state)
{
    (void)state;
    static const struct mistake mistakes[] = {
        {"{\"source\": {\"info_file\": \"pm.info\", \"wait\": 5}}", NULL, NULL,
         "    {\"source\": {\"info_file\": \"pm.info\", \"wait\": 5}}\n"},
        {"{\"filters\": {\"info\": \"(.cdo.size > )\"}}", NULL, NULL, "\"(.cdo.size > )\"}}\n"},
        {"{\"workflow\": \"a\" 5,\n\"source\": {\"info\": \"" SECRET "\"}}", NULL, NULL,
         "c.json:1:18: error: this is no JSON: '}' expected near '5'\n"
         "    {\"workflow\": \"a\" 5,\n"},
    };
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        assert_hidden(&mistakes[i]);
    }
}

static void files_that_cannot_be_read(void **state)
{
    (void)state;
    static const struct mistake mistakes[] = {
        {"{\"source\": {\"info\": \"" SECRET "}}", NULL, NULL, "premature end of input"},
        {"{\"source\": {\"info\": \"Zq7XwK\n}}", NULL, NULL, "unexpected newline\n"},
        {"{\"source\": {\"info\": " SECRET "}}", NULL, NULL,
         "invalid token (texts are in double quotes"},
        {"{\"source\": {\"info\": \"Zq7X\"wK9v\"}}", NULL, NULL, "'}' expected\n"},
        {"{\"source\": {\"info\": \"Zq7X\"\n\"" SECRET "\"}}", NULL, NULL, "'}' expected"},
        {"{\"source\": {info: \"" SECRET "\"}}", NULL, NULL, "near 'info'"},
        {"{\"source\": {'info': '" SECRET "'}}", NULL, NULL, "expected near '''"},
        {"{\"source\": {\"info\" \"Zq7XwK\"}}", NULL, NULL, "':' expected\n"},
        {"{\"source\": {\"i\\u006eFo\": \"" SECRET "\" 5}}", NULL, NULL, "1:53: "},
        {"{\"source\": {\"in\"fo\": \"" SECRET "\"}}", NULL, NULL, "':' expected"},
        {"MSTRO_POOL_MANAGER_INFO;" SECRET ";\n", NULL, NULL, "'[' or '{' expected\n"},
        {"Zq7XwK\n", NULL, NULL, "'[' or '{' expected\n"},
    };
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        assert_hidden(&mistakes[i]);
    }
}

static void check_variant(const char *file, const char *text)
{
    write_file(file, text);
    char *printed =
        print_mistakes(&(struct vamp_config_request){.file = file, .memory_bytes = MEMORY_BYTES});
    if (shows_secret(printed)) {
        fail_msg("of\n%s\nis printed\n%s", text, printed);
    }
    free(printed);
}

/* One slip of the keyboard anywhere: a character too few, one too many, another one, or the end. */
static void every_slip_of_the_keyboard(void **state)
{
    (void)state;
    static const char text[] =
        "{\"ring\": 5, // soon\n \"source\": {\"wait\": \"5s\", \"info\": \"" SECRET
        "\",\n  \"rejoin\": 7}}\n";
    static const char slips[] = "\"'{}[],:\\/*x9\n ";
    const int memory = memfd_create("config", MFD_CLOEXEC); /* thousands of files */
    assert_true(memory >= 0);
    char file[64];
    (void)snprintf(file, sizeof file, "/proc/self/fd/%d", memory);
    for (size_t at = 0; at < sizeof text - 1; at++) {
        char variant[2 * sizeof text];
        (void)snprintf(variant, sizeof variant, "%.*s", (int)at, text);
        check_variant(file, variant);
        (void)snprintf(variant, sizeof variant, "%.*s%s", (int)at, text, text + at + 1);
        check_variant(file, variant);
        for (const char *slip = slips; *slip != '\0'; slip++) {
            (void)snprintf(variant, sizeof variant, "%.*s%c%s", (int)at, text, *slip, text + at);
            check_variant(file, variant);
            (void)snprintf(variant, sizeof variant, "%.*s%c%s", (int)at, text, *slip,
                           text + at + 1);
            check_variant(file, variant);
        }
    }
    (void)close(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_of_a_file_that_can_be_read),
        cmocka_unit_test(numbers_are_not_described),
        cmocka_unit_test(other_values_are_quoted),
        cmocka_unit_test(files_that_cannot_be_read),
        cmocka_unit_test(every_slip_of_the_keyboard),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
