/* Digests and compressed files. */
#include "check.h"

#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>
#include "text/file_read.h"
#include "text/digest.h"

static char folder[] = "/tmp/jtok-text-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int drop_folder(void **state)
{
    (void)state;
    return rmdir(folder); /* fails when a test left a file behind */
}

static const char *path_of(const char *name)
{
    static char paths[2][128];
    static int turn;
    turn = !turn;
    snprintf(paths[turn], sizeof paths[turn], "%s/%s", folder, name);
    return paths[turn];
}

/* The examples of FIPS 180-4's companion (NIST's SHA256 test vectors). */
static void digests_are_sha256(void **state)
{
    (void)state;
    char hex[DIGEST_HEX];
    digest_bytes((struct span){0}, hex);
    assert_string_equal(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    digest_bytes(span_of("abc"), hex);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    digest_bytes(span_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"), hex);
    assert_string_equal(hex, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    assert_true(digest_u64(span_of("abc")) == UINT64_C(0xba7816bf8f01cfea));
    struct digest *d = digest_open();
    for (int i = 0; i < 1000000; i++)
        digest_add(d, span_of("a"));
    digest_close(d, hex);
    assert_string_equal(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    digest_close(digest_open(), NULL);
    digest_close(NULL, NULL);
}

static void a_file_has_the_digest_of_its_bytes(void **state)
{
    (void)state;
    struct err e = {0};
    size_t n = 2 * 1024 * 1024 + 17;
    char *bytes = malloc(n);
    for (size_t i = 0; i < n; i++)
        bytes[i] = (char)(i * i >> 3);
    assert_ok(file_write_new(path_of("d"), (struct span){bytes, n}, &e), e);
    char of_file[DIGEST_HEX], of_bytes[DIGEST_HEX];
    int64_t size = -1;
    assert_ok(digest_file(path_of("d"), of_file, &size, &e), e);
    digest_bytes((struct span){bytes, n}, of_bytes);
    assert_string_equal(of_file, of_bytes);
    assert_int_equal(size, n);
    unlink(path_of("d"));
    size = 7;
    assert_false(digest_file(path_of("d"), of_file, &size, &e));
    assert_int_equal(e.kind, ERR_SYSTEM);
    assert_int_equal(size, 7);
    assert_false(digest_file(folder, of_file, &size, &e)); /* a folder opens, but can't be read */
    free(bytes);
}

static void check_content(const char *path, const char *bytes, size_t n)
{
    struct err e = {0};
    struct buf b = {0};
    assert_ok(file_read(path, 0, &b, &e), e);
    assert_int_equal(b.n, n);
    if (n)
        assert_memory_equal(b.p, bytes, n);
    assert_ok(file_read(path, n, &b, &e), e); /* the limit is inclusive; the content comes behind what is there */
    assert_int_equal(b.n, 2 * n);
    if (n > 1) {
        assert_false(file_read(path, n - 1, &b, &e));
        assert_non_null(strstr(e.text, path));
        assert_int_equal(b.n, 2 * n);
        b.max = 3 * n - 1;
        assert_false(file_read(path, 0, &b, &e));
        assert_int_equal(b.n, 2 * n);
        assert_false(b.overflow);
    }
    buf_done(&b);
}

/* Sizes around the blocks in which files are read; text that shrinks and bytes that do not. */
static void compressed_files_read_back(void **state)
{
    (void)state;
    const size_t sizes[] = {0, 1, 5, 4096, 256 * 1024 - 1, 256 * 1024, 256 * 1024 + 1, 512 * 1024, 700001};
    char *bytes = malloc(700001);
    for (int random = 0; random < 2; random++) {
        uint64_t seed = 3;
        for (size_t i = 0; i < 700001; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            bytes[i] = random ? (char)(seed >> 56) : "0123456789,\n"[i * 7 / 5 % 12];
        }
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            struct err e = {0};
            assert_ok(file_write_new(path_of("plain"), (struct span){bytes, sizes[i]}, &e), e);
            check_content(path_of("plain"), bytes, sizes[i]);
            assert_ok(file_compress(path_of("plain"), path_of("zst"), &e), e);
            check_content(path_of("zst"), bytes, sizes[i]);
            gzFile z = gzopen(path_of("gz"), "wb6");
            gzwrite(z, bytes, (unsigned)sizes[i]);
            gzclose(z);
            check_content(path_of("gz"), bytes, sizes[i]);
            unlink(path_of("plain"));
            unlink(path_of("zst"));
            unlink(path_of("gz"));
        }
    }
    free(bytes);
}

static void a_file_of_several_members_is_one(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        gzFile z = gzopen(path_of("gz"), "ab");
        gzputs(z, i ? "two" : "one ");
        gzclose(z);
    }
    check_content(path_of("gz"), "one two", 7);
    unlink(path_of("gz"));
    struct err e = {0};
    struct buf two = {0};
    assert_ok(file_write_new(path_of("plain"), span_of("one two"), &e), e);
    assert_ok(file_compress(path_of("plain"), path_of("zst"), &e), e);
    FILE *f = fopen(path_of("zst"), "rb");
    char raw[256];
    size_t n = fread(raw, 1, sizeof raw, f);
    fclose(f);
    buf_add(&two, raw, n);
    buf_add(&two, raw, n);
    unlink(path_of("zst"));
    assert_ok(file_write_new(path_of("zst"), buf_span(&two), &e), e);
    check_content(path_of("zst"), "one twoone two", 14);
    unlink(path_of("zst"));
    unlink(path_of("plain"));
    buf_done(&two);
}

/* Each compressed form cut at every length and damaged at every byte: never the right answer with success. */
static void cut_and_damaged_files_are_errors(void **state)
{
    (void)state;
    struct err e = {0};
    const char *text = "request,tokens\n1,100\n2,100\n3,100\n";
    assert_ok(file_write_new(path_of("plain"), span_of(text), &e), e);
    assert_ok(file_compress(path_of("plain"), path_of("zst"), &e), e);
    gzFile z = gzopen(path_of("gz"), "wb");
    gzputs(z, text);
    gzclose(z);
    const char *const names[] = {"zst", "gz"};
    for (int kind = 0; kind < 2; kind++) {
        char raw[512];
        FILE *f = fopen(path_of(names[kind]), "rb");
        size_t n = fread(raw, 1, sizeof raw, f);
        fclose(f);
        for (size_t cut = 4; cut < n; cut++) {
            struct buf b = {0};
            assert_ok(file_write_new(path_of("cut"), (struct span){raw, cut}, &e), e);
            assert_false(file_read(path_of("cut"), 0, &b, &e));
            assert_int_equal(e.kind, ERR_RECORDS);
            assert_non_null(strstr(e.text, "byte"));
            assert_int_equal(b.n, 0);
            unlink(path_of("cut"));
            buf_done(&b);
        }
        for (size_t at = n - 4; at < n; at++) { /* the checksum (zstd) or the length (gzip) */
            struct buf b = {0};
            raw[at] ^= 0x10;
            assert_ok(file_write_new(path_of("bad"), (struct span){raw, n}, &e), e);
            assert_false(file_read(path_of("bad"), 0, &b, &e));
            assert_int_equal(e.kind, ERR_RECORDS);
            unlink(path_of("bad"));
            raw[at] ^= 0x10;
            buf_done(&b);
        }
        struct buf b = {0};
        raw[n] = 'x';
        assert_ok(file_write_new(path_of("more"), (struct span){raw, n + 1}, &e), e);
        bool more = file_read(path_of("more"), 0, &b, &e);
        assert_false(more);
        unlink(path_of("more"));
        buf_done(&b);
        unlink(path_of(names[kind]));
    }
    unlink(path_of("plain"));
}

static void nothing_is_overwritten(void **state)
{
    (void)state;
    struct err e = {0};
    assert_ok(file_write_new(path_of("a"), span_of("first"), &e), e);
    assert_false(file_write_new(path_of("a"), span_of("second"), &e));
    assert_non_null(strstr(e.text, path_of("a")));
    assert_false(file_compress(path_of("a"), path_of("a"), &e));
    check_content(path_of("a"), "first", 5);
    assert_false(file_compress(path_of("missing"), path_of("b"), &e));
    assert_int_not_equal(access(path_of("b"), F_OK), 0);
    assert_false(file_compress(folder, path_of("b"), &e));
    assert_int_not_equal(access(path_of("b"), F_OK), 0);
    unlink(path_of("a"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digests_are_sha256),
        cmocka_unit_test(a_file_has_the_digest_of_its_bytes),
        cmocka_unit_test(compressed_files_read_back),
        cmocka_unit_test(a_file_of_several_members_is_one),
        cmocka_unit_test(cut_and_damaged_files_are_errors),
        cmocka_unit_test(nothing_is_overwritten),
    };
    return cmocka_run_group_tests(tests, make_folder, drop_folder);
}
