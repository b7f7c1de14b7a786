/* The cache under everything that happens to files: many writers, files cut short or changed,
 * folders that cannot be used. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/cache.h"

typedef struct {
    char folder[64];
    Cache cache;
} Fixture;

static int set_up(void **state)
{
    Fixture *f = calloc(1, sizeof *f);
    strcpy(f->folder, "/tmp/tirc-cache-XXXXXX");
    if (!f || !mkdtemp(f->folder))
        return -1;
    cache_open(&f->cache, f->folder);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    char command[160];
    cache_close(&f->cache);
    snprintf(command, sizeof command, "chmod -R u+rwx %s && rm -r %s", f->folder, f->folder);
    int status = system(command);
    free(f);
    return status;
}

static CacheKey key_of(const char *text)
{
    return cache_key(&text, 1);
}

static void expect_entry(const Cache *cache, const char *key, const char *data)
{
    size_t bytes = 0;
    char *got = cache_get(cache, key_of(key), &bytes);
    if (!data) {
        assert_null(got);
        return;
    }
    assert_non_null(got);
    assert_int_equal(bytes, strlen(data));
    assert_memory_equal(got, data, bytes);
    free(got);
}

static void put_text(const Cache *cache, const char *key, const char *data)
{
    cache_put(cache, key_of(key), data, strlen(data));
}

/* The files in the folder; the last one's path in `path` if that is not NULL. */
static int count_files(const char *folder, char *path)
{
    DIR *stream = opendir(folder);
    int n = 0;
    for (struct dirent *each; (each = readdir(stream)) != NULL;)
        if (each->d_name[0] != '.') {
            n++;
            if (path)
                snprintf(path, 512, "%s/%s", folder, each->d_name);
        }
    closedir(stream);
    return n;
}

static void finds_what_was_put(void **state)
{
    const Cache *cache = &((Fixture *)*state)->cache;
    expect_entry(cache, "a", NULL);
    put_text(cache, "a", "machine code");
    put_text(cache, "b", "");
    expect_entry(cache, "a", "machine code");
    expect_entry(cache, "b", "");
    put_text(cache, "a", "other code");
    expect_entry(cache, "a", "other code");
    assert_int_equal(count_files(cache->folder, NULL), 2);
}

static void keys_tell_parts_apart(void **state)
{
    (void)state;
    CacheKey a = cache_key((const char *[]){"ab", "c"}, 2);
    CacheKey b = cache_key((const char *[]){"a", "bc"}, 2);
    CacheKey c = cache_key((const char *[]){"abc"}, 1);
    CacheKey again = cache_key((const char *[]){"ab", "c"}, 2);
    assert_true(a.high != b.high && a.low != b.low);
    assert_true(a.high != c.high && b.high != c.high);
    assert_true(a.high == again.high && a.low == again.low);
}

/* Every file that a killed process or a full disk can leave under an entry's name is refused and
 * replaced. */
static void truncated_files_are_made_again(void **state)
{
    const Cache *cache = &((Fixture *)*state)->cache;
    char path[512];
    put_text(cache, "k", "0123456789");
    assert_int_equal(count_files(cache->folder, path), 1);
    for (long length = 0; length < 48 + 10; length++) {
        put_text(cache, "k", "0123456789");
        assert_int_equal(truncate(path, length), 0);
        expect_entry(cache, "k", NULL);
        assert_int_equal(count_files(cache->folder, NULL), 1);
    }
    assert_int_equal(truncate(path, 0), 0);
    put_text(cache, "k", "0123456789");
    assert_int_equal(truncate(path, 1000), 0); /* longer: zeros at the end */
    expect_entry(cache, "k", NULL);
    put_text(cache, "k", "0123456789");
    expect_entry(cache, "k", "0123456789");
}

static void changed_bytes_are_noticed(void **state)
{
    const Cache *cache = &((Fixture *)*state)->cache;
    char path[512];
    for (long at = 0; at < 48 + 10; at++) {
        put_text(cache, "k", "0123456789");
        assert_int_equal(count_files(cache->folder, path), 1);
        int file = open(path, O_RDWR);
        char byte;
        assert_int_equal(pread(file, &byte, 1, at), 1);
        byte ^= 0x10;
        assert_int_equal(pwrite(file, &byte, 1, at), 1);
        close(file);
        expect_entry(cache, "k", NULL);
        /* with another beginning it is no entry, and would stay */
        assert_int_equal(unlink(path), 0);
    }
}

/* An entry under another's name, as a careless copy of the folder might make it. */
static void renamed_entries_are_refused(void **state)
{
    const Cache *cache = &((Fixture *)*state)->cache;
    char from[512], to[512];
    put_text(cache, "a", "code of a");
    assert_int_equal(count_files(cache->folder, from), 1);
    CacheKey b = key_of("b");
    snprintf(to, sizeof to, "%s/%016llx%016llx.bin", cache->folder, (unsigned long long)b.high,
             (unsigned long long)b.low);
    assert_int_equal(rename(from, to), 0);
    expect_entry(cache, "b", NULL);
}

enum { WRITERS = 8, ROUNDS = 40, ENTRIES = 5, ENTRY_BYTES = 20000 };

/* The data of entry `key`: any mixture of two entries or of two halves is noticed. */
static void fill_entry(char *data, int key)
{
    for (int i = 0; i < ENTRY_BYTES; i++)
        data[i] = (char)(key * 31 + i);
}

static int write_and_read(const Cache *cache)
{
    char data[ENTRY_BYTES], name[16];
    for (int round = 0; round < ROUNDS; round++) {
        int key = (round + (int)getpid()) % ENTRIES;
        size_t bytes = 0;
        snprintf(name, sizeof name, "entry %d", key);
        fill_entry(data, key);
        char *got = cache_get(cache, key_of(name), &bytes);
        bool right = !got || (bytes == ENTRY_BYTES && memcmp(got, data, bytes) == 0);
        free(got);
        if (!right)
            return 1;
        cache_put(cache, key_of(name), data, ENTRY_BYTES);
    }
    return 0;
}

static void writers_do_not_disturb_each_other(void **state)
{
    const Cache *cache = &((Fixture *)*state)->cache;
    for (int i = 0; i < WRITERS; i++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            _exit(write_and_read(cache));
    }
    for (int i = 0; i < WRITERS; i++) {
        int status = -1;
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    assert_int_equal(count_files(cache->folder, NULL), ENTRIES);
}

/* Writers that die at any moment leave nothing that a reader believes, and nothing that stays. */
static void killed_writers_leave_no_harm(void **state)
{
    const Cache *cache = &((Fixture *)*state)->cache;
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            for (;;)
                (void)write_and_read(cache);
        struct timespec pause = {0, 1000000 + 300000 * i};
        nanosleep(&pause, NULL);
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, NULL, 0), child);
    }
    assert_int_equal(write_and_read(cache), 0);
    char command[160];
    snprintf(command, sizeof command,
             "cd %s && touch partial.0123456789abcdef0123456789abcdef.abcdef && touch -d '3 hours "
             "ago' partial.*",
             cache->folder);
    assert_int_equal(system(command), 0);
    cache_trim(cache);
    assert_true(count_files(cache->folder, NULL) <= ENTRIES);
}

static void folders_that_cannot_be_used_turn_it_off(void **state)
{
    const Fixture *f = *state;
    char path[96];
    Cache cache;
    cache_open(&cache, "");
    assert_null(cache.folder);
    cache_open(&cache, "/dev/null/tirc");
    assert_null(cache.folder);
    cache_open(&cache, "/proc/tirc/cache");
    assert_null(cache.folder);
    put_text(&cache, "k", "data");
    expect_entry(&cache, "k", NULL);
    cache_trim(&cache);
    cache_close(&cache);
    snprintf(path, sizeof path, "%s/a/b/c", f->folder);
    cache_open(&cache, path);
    assert_string_equal(cache.folder, path);
    put_text(&cache, "k", "data");
    expect_entry(&cache, "k", "data");
    cache_close(&cache);
}

/* A folder that becomes unusable while it is open. */
static void a_folder_may_vanish(void **state)
{
    const Fixture *f = *state;
    char path[96];
    Cache cache;
    snprintf(path, sizeof path, "%s/gone", f->folder);
    cache_open(&cache, path);
    assert_int_equal(rmdir(path), 0);
    put_text(&cache, "k", "data");
    expect_entry(&cache, "k", NULL);
    cache_trim(&cache);
    cache_close(&cache);
}

static void the_environment_names_the_folder(void **state)
{
    const Fixture *f = *state;
    char path[96];
    Cache cache;
    setenv("TIRC_CACHE_DIR", "", 1);
    cache_open(&cache, NULL);
    assert_null(cache.folder);
    setenv("TIRC_CACHE_DIR", f->folder, 1);
    cache_open(&cache, NULL);
    assert_string_equal(cache.folder, f->folder);
    cache_close(&cache);
    unsetenv("TIRC_CACHE_DIR");
    setenv("XDG_CACHE_HOME", f->folder, 1);
    cache_open(&cache, NULL);
    snprintf(path, sizeof path, "%s/tirc", f->folder);
    assert_string_equal(cache.folder, path);
    cache_close(&cache);
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", f->folder, 1);
    cache_open(&cache, NULL);
    snprintf(path, sizeof path, "%s/.cache/tirc", f->folder);
    assert_string_equal(cache.folder, path);
    cache_close(&cache);
}

static void trimming_removes_what_was_used_longest_ago(void **state)
{
    Fixture *f = *state;
    struct timespec pause = {0, 20000000};
    char name[8], data[1000];
    memset(data, 'x', sizeof data);
    for (int i = 0; i < 6; i++) {
        snprintf(name, sizeof name, "k%d", i);
        cache_put(&f->cache, key_of(name), data, sizeof data);
        nanosleep(&pause, NULL);
    }
    size_t bytes;
    free(cache_get(&f->cache, key_of("k0"), &bytes)); /* used again: now the youngest */
    f->cache.limit = 3 * (sizeof data + 48);
    cache_trim(&f->cache);
    assert_int_equal(count_files(f->folder, NULL), 3);
    for (int i = 0; i < 6; i++) {
        snprintf(name, sizeof name, "k%d", i);
        char *got = cache_get(&f->cache, key_of(name), &bytes);
        assert_int_equal(got != NULL, i == 0 || i >= 4);
        free(got);
    }
}

static void make_file(const char *folder, const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    fputs(text, f);
    fclose(f);
}

/* Files of other people, some of which are called like entries: trimming and storing leave them as
 * they are. */
static void other_files_stay(void **state)
{
    Fixture *f = *state;
    CacheKey key = key_of("k");
    char entry[64], command[512], path[160];
    snprintf(entry, sizeof entry, "%016llx%016llx.bin", (unsigned long long)key.high,
             (unsigned long long)key.low);
    const char *const names[] = {"photo.bin",
                                 "partial.download",
                                 "partial.abcdef",
                                 "tirc.bin",
                                 entry,
                                 "0123456789abcdef0123456789abcdeF.bin",
                                 "0123456789abcdef0123456789abcdef.bin.bin",
                                 "00123456789abcdef0123456789abcdef.bin",
                                 "partial.0123456789abcdef0123456789abcdef.abcdefg"};
    enum { N = sizeof names / sizeof *names };
    for (int i = 0; i < N; i++)
        make_file(f->folder, names[i], i == 4 ? "my data" : "tirc, it says");
    snprintf(command, sizeof command,
             "cd %s && touch -d '3 hours ago' * && mkdir fedcba9876543210fedcba9876543210.bin && "
             "ln -s photo.bin aedcba9876543210fedcba9876543210.bin",
             f->folder);
    assert_int_equal(system(command), 0);
    put_text(&f->cache, "k", "data");
    expect_entry(&f->cache, "k", NULL); /* its name is taken */
    f->cache.limit = 0;
    cache_trim(&f->cache);
    assert_int_equal(count_files(f->folder, NULL), N + 2);
    snprintf(path, sizeof path, "%s/%s", f->folder, entry);
    assert_int_equal(access(path, R_OK), 0);
    put_text(&f->cache, "l", "data");
    cache_trim(&f->cache);
    assert_int_equal(count_files(f->folder, NULL), N + 2);
}

/* A pipe or a link under the name of an entry: nobody waits, and nothing behind the link is read or
 * replaced. */
static void pipes_and_links_are_no_entries(void **state)
{
    Fixture *f = *state;
    char path[512], elsewhere[520];
    put_text(&f->cache, "k", "data");
    assert_int_equal(count_files(f->folder, path), 1);
    snprintf(elsewhere, sizeof elsewhere, "%s.real", path);
    assert_int_equal(rename(path, elsewhere), 0);
    assert_int_equal(symlink(elsewhere, path), 0);
    expect_entry(&f->cache, "k", NULL);
    put_text(&f->cache, "k", "other");
    expect_entry(&f->cache, "k", NULL);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    alarm(20); /* who waits for the pipe is ended */
    expect_entry(&f->cache, "k", NULL);
    put_text(&f->cache, "k", "other");
    f->cache.limit = 0;
    cache_trim(&f->cache);
    alarm(0);
    assert_int_equal(count_files(f->folder, NULL), 2);
}

static void folders_of_others_are_not_used(void **state)
{
    Fixture *f = *state;
    Cache cache;
    put_text(&f->cache, "k", "data");
    const mode_t modes[] = {0770, 0707, 0777, 01777};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        assert_int_equal(chmod(f->folder, modes[i]), 0);
        cache_open(&cache, f->folder);
        assert_null(cache.folder);
    }
    assert_int_equal(chmod(f->folder, 0755), 0);
    cache_open(&cache, f->folder);
    expect_entry(&cache, "k", "data");
    cache_close(&cache);
    if (geteuid() != 0)
        return;
    assert_int_equal(chown(f->folder, 1, 1), 0);
    cache_open(&cache, f->folder);
    assert_null(cache.folder);
}

static void new_folders_are_private(void **state)
{
    const Fixture *f = *state;
    char path[96];
    struct stat status;
    Cache cache;
    snprintf(path, sizeof path, "%s/a/b", f->folder);
    cache_open(&cache, path);
    put_text(&cache, "k", "data");
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0700);
    char file[512];
    assert_int_equal(count_files(path, file), 1);
    assert_int_equal(stat(file, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    cache_close(&cache);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(finds_what_was_put),
        TEST(keys_tell_parts_apart),
        TEST(truncated_files_are_made_again),
        TEST(changed_bytes_are_noticed),
        TEST(renamed_entries_are_refused),
        TEST(writers_do_not_disturb_each_other),
        TEST(killed_writers_leave_no_harm),
        TEST(folders_that_cannot_be_used_turn_it_off),
        TEST(a_folder_may_vanish),
        TEST(the_environment_names_the_folder),
        TEST(trimming_removes_what_was_used_longest_ago),
        TEST(other_files_stay),
        TEST(pipes_and_links_are_no_entries),
        TEST(folders_of_others_are_not_used),
        TEST(new_folders_are_private),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
