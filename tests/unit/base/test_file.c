#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/file.h"

static int setup(void **state)
{
    char *folder = strdup("/tmp/jtok_file_XXXXXX");
    *state = mkdtemp(folder);
    return *state ? 0 : -1;
}

static int teardown(void **state)
{
    int rc = rmdir(*state); /* each test leaves the folder empty */
    free(*state);
    return rc;
}

static void a_path_is_folder_and_name(void **state)
{
    (void)state;
    assert_string_equal(path_in("a/b", "c").text, "a/b/c");
    char longer[5000];
    memset(longer, 'x', sizeof longer);
    longer[sizeof longer - 1] = 0;
    struct path cut = path_in(longer, "c");
    assert_string_equal(cut.text, ""); /* never another file's */
    struct err e;
    assert_int_equal(file_open(cut.text, &e), -1);
    /* The longest that fits. */
    longer[sizeof cut.text - 3] = 0;
    assert_int_equal(strlen(path_in(longer, "c").text), sizeof cut.text - 1);
    longer[sizeof cut.text - 3] = 'x';
    longer[sizeof cut.text - 2] = 0;
    assert_string_equal(path_in(longer, "c").text, "");
}

static void a_new_file_is_whole_or_not_there(void **state)
{
    const char *folder = *state;
    struct path path = path_in(folder, "new");
    struct err e;
    assert_false(path_exists(folder, "new"));
    assert_int_equal(path_mode(folder, "new"), 0);
    assert_ok(file_write_new(path.text, span_of("abc"), &e), e);
    assert_true(path_exists(folder, "new") && S_ISREG(path_mode(folder, "new")));
    assert_false(file_write_new(path.text, span_of("other"), &e)); /* nothing is overwritten */
    assert_non_null(strstr(e.text, "can't be created: File exists."));
    int fd = file_open(path.text, &e);
    char text[8];
    assert_int_equal(read(fd, text, sizeof text), 3);
    assert_memory_equal(text, "abc", 3);
    close(fd);
    assert_int_equal(unlink(path.text), 0);
    /* Given up half-way: nothing is left. */
    fd = file_create(path.text, &e);
    assert_ok(file_write(fd, path.text, span_of("half"), &e), e);
    assert_false(file_finish(fd, path.text, false, &e));
    assert_false(path_exists(folder, "new"));
}

static void what_cannot_be_written_is_an_error(void **state)
{
    (void)state;
    struct err e;
    int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_false(file_write(fd, "/dev/full", span_of("x"), &e));
    assert_string_equal(e.text, "/dev/full can't be written: No space left on device.");
    close(fd);
    assert_false(file_sync_folder("/nonexistent", &e));
}

/* A link is what it points to when it is looked for, and a link when its kind is asked. */
static void only_regular_files_are_opened(void **state)
{
    const char *folder = *state;
    struct path fifo = path_in(folder, "fifo"), link = path_in(folder, "link");
    struct err e = {0};
    assert_int_equal(mkfifo(fifo.text, 0600), 0);
    assert_int_equal(symlink("fifo", link.text), 0);
    assert_int_equal(file_open(fifo.text, &e), -1); /* at once, though nobody writes */
    assert_non_null(strstr(e.text, "is a FIFO"));
    assert_int_equal(e.kind, ERR_RECORDS);
    assert_true(path_exists(folder, "link") && S_ISLNK(path_mode(folder, "link")));
    assert_string_equal(file_kind(path_mode(folder, "link")), "a symbolic link");
    assert_int_equal(unlink(fifo.text), 0);
    assert_false(path_exists(folder, "link"));
    assert_int_equal(unlink(link.text), 0);
}

static void a_scratch_folder_is_new_and_the_users_own(void **state)
{
    struct path first, second;
    struct err e = {0};
    assert_int_equal(setenv("TMPDIR", *state, 1), 0);
    assert_true(file_scratch_folder("test", &first, &e) && file_scratch_folder("test", &second, &e));
    assert_string_not_equal(first.text, second.text);
    struct path prefix = path_in(*state, "jtok-test-");
    assert_int_equal(strncmp(first.text, prefix.text, strlen(prefix.text)), 0);
    struct stat st;
    assert_int_equal(stat(first.text, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    file_remove_folder(first.text);
    file_remove_folder(second.text);
    assert_int_equal(stat(first.text, &st), -1);
    assert_int_equal(setenv("TMPDIR", "/no/such/folder", 1), 0);
    assert_false(file_scratch_folder("test", &first, &e));
    assert_string_equal(
        e.text, "A scratch folder jtok-test-XXXXXX can't be made in /no/such/folder: No such file or directory.");
    assert_int_equal(unsetenv("TMPDIR"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_is_folder_and_name),
        cmocka_unit_test_setup_teardown(a_scratch_folder_is_new_and_the_users_own, setup, teardown),
        cmocka_unit_test_setup_teardown(a_new_file_is_whole_or_not_there, setup, teardown),
        cmocka_unit_test(what_cannot_be_written_is_an_error),
        cmocka_unit_test_setup_teardown(only_regular_files_are_opened, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
