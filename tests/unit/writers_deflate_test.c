/* SPDX-License-Identifier: BSD-3-Clause */
/* Chunks are compressed into what another library undoes, whatever is in them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "writers/hdf5/internal.h"

#define MOST 70000

static unsigned char bytes[MOST], back[MOST], packed[HDF5_DEFLATE_ROOM(MOST)];
static struct hdf5_deflate *deflate;

static uint32_t chance(void)
{
    static uint64_t state = 1;
    state = state * 6364136223846793005U + 1442695040888963407U;
    return (uint32_t)(state >> 33);
}

/* Of the bytes without the last planes that are zeros. */
static size_t used_of(size_t count, size_t plane)
{
    size_t last = count;
    while (last > 0 && bytes[last - 1] == 0) {
        last--;
    }
    const size_t used = (last + plane - 1) / plane * plane;
    return used < count ? used : count;
}

/* Returns the bytes that it takes. */
static size_t compress_and_compare(size_t count, size_t plane)
{
    size_t got = 0;
    struct libdeflate_decompressor *other = libdeflate_alloc_decompressor();
    const size_t used = used_of(count, plane);
    memset(bytes + used, 0xaa, count - used); /* is not looked at */
    const size_t size = hdf5_deflate(deflate, bytes, used, count, plane, packed);
    memset(bytes + used, 0, count - used);
    assert_true(size <= HDF5_DEFLATE_MOST(count));
    assert_int_equal(LIBDEFLATE_SUCCESS,
                     libdeflate_zlib_decompress(other, packed, size, back, sizeof back, &got));
    assert_int_equal(count, got);
    assert_memory_equal(bytes, back, count);
    libdeflate_free_decompressor(other);
    return size;
}

/* The planes of numbers of `width` bytes. */
static void shuffle(const uint64_t *numbers, size_t count, size_t width)
{
    for (size_t i = 0; i < count * width; i++) {
        bytes[i] = (unsigned char)(numbers[i % count] >> 8 * (i / count));
    }
}

static void test_runs_of_every_length(void **state)
{
    (void)state;
    for (size_t run = 0; run < 1100; run++) {
        memset(bytes, 7, run);
        for (size_t i = 0; i < 10; i++) {
            bytes[run + i] = (unsigned char)"1223334444"[i];
        }
        memset(bytes + run + 10, 0, run);
        (void)compress_and_compare(2 * run + 10, 2 * run + 10);
        (void)compress_and_compare(2 * run + 10, run + 5);
    }
}

static void test_what_repeats_after_256(void **state)
{
    uint64_t numbers[2000];
    (void)state;
    for (size_t i = 0; i < 2000; i++) {
        numbers[i] = 100 + i;
    }
    shuffle(numbers, 2000, 4);
    assert_true(compress_and_compare(8000, 2000) < 450);
    for (size_t end = 256; end < 1000; end++) { /* of every length, and a different byte behind */
        shuffle(numbers, 2000, 1);
        bytes[end]++;
        (void)compress_and_compare(1000, 1000);
    }
}

static void test_noise_takes_no_more_than_it_is(void **state)
{
    uint64_t numbers[1024];
    (void)state;
    for (size_t i = 0; i < 1024; i++) {
        numbers[i] = i < 800 ? chance() & 0x3ffff : 0;
    }
    shuffle(numbers, 1024, 8);
    const size_t size = compress_and_compare(8192, 1024);
    assert_true(size > 1800 && size < 1880); /* 800 numbers of 18 bits are 1,800 bytes */
    for (size_t i = 0; i < MOST; i++) {
        bytes[i] = (unsigned char)chance();
    }
    (void)compress_and_compare(MOST, MOST / 8);
    (void)compress_and_compare(MOST, MOST);
    (void)compress_and_compare(1, 1);
}

/* Counts as Fibonacci's numbers make the deepest trees: codes would have more than 15 bits, and
 * lengths of codes more than 7. Which symbols are frequent is mixed. */
static void test_codes_that_would_be_too_long(void **state)
{
    (void)state;
    for (unsigned symbols = 2; symbols < 23; symbols++) {
        size_t count = 0;
        for (uint32_t s = 0, a = 1, b = 1; s < symbols; s++, b += a, a = b - a) {
            memset(bytes + count, (int)((s * 89 + 3) % 256), a);
            count += a;
        }
        for (size_t i = count; i-- > 1;) {
            const size_t j = chance() % (i + 1);
            const unsigned char byte = bytes[i];
            bytes[i] = bytes[j];
            bytes[j] = byte;
        }
        (void)compress_and_compare(count, count);
    }
}

/* Numbers of every size, more and fewer of them, with zeros between: as small as the library's. */
static void test_numbers(void **state)
{
    uint64_t numbers[1500];
    size_t all = 0, others = 0;
    struct libdeflate_compressor *other = libdeflate_alloc_compressor(6);
    (void)state;
    for (unsigned round = 0; round < 2000; round++) {
        const size_t count = 1 + chance() % 1500, used = 1 + chance() % count;
        const unsigned width = 1U << chance() % 4, bits = chance() % 33, step = 1 + chance() % 3;
        for (size_t i = 0; i < count; i++) {
            const uint64_t mask = (UINT64_C(1) << (bits > 0 ? chance() % bits : 0)) - 1;
            numbers[i] = i < used && i % step == 0 ? ((uint64_t)chance() << 8) & mask : 0;
        }
        shuffle(numbers, count, width);
        all += compress_and_compare(count * width, count);
        others += libdeflate_zlib_compress(other, bytes, count * width, packed, sizeof packed);
    }
    assert_true(all < others);
    libdeflate_free_compressor(other);
}

static int begin(void **state)
{
    (void)state;
    deflate = hdf5_deflate_new(MOST);
    return deflate != NULL ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    free(deflate);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs_of_every_length),
        cmocka_unit_test(test_what_repeats_after_256),
        cmocka_unit_test(test_noise_takes_no_more_than_it_is),
        cmocka_unit_test(test_codes_that_would_be_too_long),
        cmocka_unit_test(test_numbers),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
