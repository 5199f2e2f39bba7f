/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compresses a shuffled chunk into the zlib stream that HDF5's filter undoes (RFC 1950 and 1951).
 * In planes of bytes there is little to find, and it is known where: runs of one byte, and the
 * lowest bytes of numbers that count up, which repeat after 256. No other match is looked for. The
 * lowest planes of times and sizes are noise: they are stored as they are and spoil no code of the
 * other planes. libdeflate at level 6 takes four times the instructions for as many bytes.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "writers/hdf5/internal.h"

/* A literal, or the length less 3 of a match: of the byte before, or of what is 256 bytes before.
 */
enum { RUN = 256, AGAIN = 512, TOKEN_VALUE = 255 };
enum { AGAIN_BYTES = 256, RUN_LEAST = 4, AGAIN_LEAST = 16, MATCH_LEAST = 3, MATCH_MOST = 258 };

/* Symbols of literals, the end and lengths; of distances; of lengths of codes. */
enum { END = 256, FIRST_LENGTH = 257, SYMBOLS = 286, FIXED_SYMBOLS = 288, DISTANCES = 16 };
enum { LENGTH_SYMBOLS = 19, ALL_LENGTHS = SYMBOLS + DISTANCES };
enum { CODE_BITS_MAX = 15, LENGTH_BITS_MAX = 7 };

struct bits {
    uint64_t held;
    unsigned count;
    unsigned char *at;
};

struct code {
    uint8_t length[FIXED_SYMBOLS];
    uint16_t bits[FIXED_SYMBOLS];
};

/* The lengths of a block's code: symbols of a code of their own, and how many lengths each has. */
struct lengths {
    uint8_t symbol[ALL_LENGTHS], repeats[ALL_LENGTHS];
    unsigned count;
    struct code code;
    unsigned shown; /* of the code's own lengths */
};

/* The block that is being filled. */
struct block {
    uint32_t counts[SYMBOLS];
    size_t token_count;
    uint64_t fixed_bits; /* in the fixed code */
    bool has_again;
};

struct hdf5_deflate {
    const unsigned char *bytes, *end; /* the chunk */
    struct bits out;
    struct block block;
    struct code fixed; /* RFC 1951, 3.2.6 */
    uint16_t tokens[]; /* of the block */
};

/* ---- bits, the lowest first */

/* At most 32. */
static void put_bits(struct bits *out, uint64_t bits, unsigned count)
{
    out->held |= bits << out->count;
    out->count += count;
    if (out->count >= 32) {
        for (unsigned i = 0; i < 4; i++) {
            out->at[i] = (unsigned char)(out->held >> 8 * i);
        }
        out->at += 4;
        out->held >>= 32;
        out->count -= 32;
    }
}

/* Up to the next whole byte, which is next in memory. */
static void fill_byte(struct bits *out)
{
    for (; out->count > 0; out->count -= out->count < 8 ? out->count : 8) {
        *out->at++ = (unsigned char)out->held;
        out->held >>= 8;
    }
}

/* ---- codes */

/* The symbols that occur, rarest first. Few have large counts: they are inserted one by one. */
static void sort_symbols(const uint32_t *counts, const uint16_t *symbols, unsigned used,
                         uint16_t *sorted)
{
    enum { PLACES = 64 };
    uint16_t place[PLACES + 1] = {0};
    for (unsigned i = 0; i < used; i++) {
        place[counts[symbols[i]] < PLACES ? counts[symbols[i]] : PLACES]++;
    }
    for (unsigned c = 1, first = 0; c <= PLACES; c++) {
        const unsigned next = first + place[c];
        place[c] = (uint16_t)first;
        first = next;
    }
    const unsigned large = place[PLACES];
    for (unsigned i = 0; i < used; i++) {
        const uint32_t count = counts[symbols[i]];
        unsigned at = place[count < PLACES ? count : PLACES]++;
        for (; at > large && counts[sorted[at - 1]] > count; at--) {
            sorted[at] = sorted[at - 1];
        }
        sorted[at] = symbols[i];
    }
}

/* Huffman's tree: the two rarest are joined, again and again. What is joined becomes ever more
 * frequent, so it is in order as the symbols are. Returns how many codes have each length. */
static void count_lengths(const uint32_t *counts, const uint16_t *sorted, unsigned used,
                          unsigned most, unsigned lengths[static CODE_BITS_MAX + 1])
{
    uint32_t weight[SYMBOLS];
    uint16_t parent_of_leaf[SYMBOLS] = {0}, parent[SYMBOLS] = {0};
    uint8_t depth[SYMBOLS];
    unsigned taken = 0; /* of what is joined */
    assert(used >= 2);
    for (unsigned joined = 0, leaf = 0; joined + 1 < used; joined++) {
        weight[joined] = 0;
        for (unsigned i = 0; i < 2; i++) {
            if (leaf < used && (taken == joined || counts[sorted[leaf]] <= weight[taken])) {
                weight[joined] += counts[sorted[leaf]];
                parent_of_leaf[leaf++] = (uint16_t)joined;
            } else {
                weight[joined] += weight[taken];
                parent[taken++] = (uint16_t)joined;
            }
        }
    }
    depth[taken] = 0; /* the root */
    while (taken-- > 0) {
        depth[taken] = (uint8_t)(depth[parent[taken]] + 1);
    }
    unsigned room = 0; /* what all codes take, in codes of `most` bits */
    for (unsigned leaf = 0; leaf < used; leaf++) {
        const unsigned length = depth[parent_of_leaf[leaf]] + 1U;
        lengths[length < most ? length : most]++;
        room += 1U << (most - (length < most ? length : most));
    }
    /* Those that were deeper took too much: one moves beside another that becomes longer. */
    for (; room > 1U << most; room--) {
        unsigned length = most - 1;
        while (lengths[length] == 0) {
            length--;
        }
        lengths[length]--;
        lengths[length + 1] += 2;
        lengths[most]--;
    }
}

static uint16_t reversed(unsigned code, unsigned length)
{
    code = (code & 0x5555) << 1 | (code >> 1 & 0x5555);
    code = (code & 0x3333) << 2 | (code >> 2 & 0x3333);
    code = (code & 0x0f0f) << 4 | (code >> 4 & 0x0f0f);
    code = (code & 0x00ff) << 8 | (code >> 8 & 0x00ff);
    return (uint16_t)(code >> (16 - length));
}

/* Shorter ones first, and of one length in the order of the symbols. */
static void assign_bits(struct code *code, const uint16_t *symbols, unsigned used,
                        const unsigned lengths[static CODE_BITS_MAX + 1])
{
    unsigned next[CODE_BITS_MAX + 1];
    for (unsigned length = 1, first = 0; length <= CODE_BITS_MAX; length++) {
        next[length] = first;
        first = (first + lengths[length]) << 1;
    }
    for (unsigned i = 0; i < used; i++) {
        const unsigned length = code->length[symbols[i]];
        code->bits[symbols[i]] = reversed(next[length]++, length);
    }
}

static unsigned list_symbols(const uint32_t *counts, unsigned count, uint16_t *symbols)
{
    unsigned used = 0;
    for (unsigned s = 0; s < count; s++) {
        symbols[used] = (uint16_t)s;
        used += counts[s] > 0;
    }
    return used;
}

/* A code has two symbols at least: where fewer occur, others get one, too. */
static void make_code(uint32_t *counts, unsigned count, unsigned most, struct code *code)
{
    uint16_t symbols[SYMBOLS], sorted[SYMBOLS];
    unsigned lengths[CODE_BITS_MAX + 1] = {0};
    unsigned used = list_symbols(counts, count, symbols);
    if (used < 2) {
        counts[0] += counts[0] == 0;
        counts[1] += counts[1] == 0;
        used = list_symbols(counts, count, symbols);
    }
    sort_symbols(counts, symbols, used, sorted);
    count_lengths(counts, sorted, used, most, lengths);
    memset(code->length, 0, sizeof code->length);
    for (unsigned length = most, i = 0; length > 0; length--) {
        for (unsigned n = 0; n < lengths[length]; n++) {
            code->length[sorted[i++]] = (uint8_t)length;
        }
    }
    assign_bits(code, symbols, used, lengths);
}

static unsigned fixed_length(unsigned symbol)
{
    return symbol < 144 ? 8 : symbol < 256 ? 9 : symbol < 280 ? 7 : 8;
}

static void make_fixed_code(struct code *code)
{
    uint16_t symbols[FIXED_SYMBOLS];
    unsigned lengths[CODE_BITS_MAX + 1] = {0};
    for (unsigned s = 0; s < FIXED_SYMBOLS; s++) {
        symbols[s] = (uint16_t)s;
        code->length[s] = (uint8_t)fixed_length(s);
        lengths[fixed_length(s)]++;
    }
    assign_bits(code, symbols, FIXED_SYMBOLS, lengths);
}

/* ---- the lengths of a code, which come before a block */

/* Symbols for several equal lengths: bits of the number, least, most. */
static const struct {
    uint8_t bits, least, most;
} repeat_of[LENGTH_SYMBOLS] = {[16] = {2, 3, 6}, [17] = {3, 3, 10}, [18] = {7, 11, 138}};

static const uint8_t shown_order[LENGTH_SYMBOLS] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                                    11, 4,  12, 3, 13, 2, 14, 1, 15};

/* Returns the bits that they take. */
static unsigned list_lengths(const uint8_t *length, unsigned count, struct lengths *list)
{
    uint32_t counts[LENGTH_SYMBOLS] = {0};
    list->count = 0;
    for (unsigned i = 0, run = 0; i < count; i += run) {
        uint8_t symbol = length[i];
        for (run = 1; i + run < count && length[i + run] == length[i]; run++) {
        }
        if (length[i] == 0 && run >= repeat_of[17].least) {
            symbol = run >= repeat_of[18].least ? 18 : 17;
        } else if (i > 0 && length[i] == length[i - 1] && run >= repeat_of[16].least) {
            symbol = 16;
        }
        const unsigned most = symbol >= 16 ? repeat_of[symbol].most : 1;
        run = run < most ? run : most;
        list->symbol[list->count] = symbol;
        list->repeats[list->count++] = (uint8_t)run;
        counts[symbol]++;
    }
    make_code(counts, LENGTH_SYMBOLS, LENGTH_BITS_MAX, &list->code);
    list->shown = LENGTH_SYMBOLS;
    while (list->code.length[shown_order[list->shown - 1]] == 0) {
        list->shown--;
    }
    unsigned bits = 5 + 5 + 4 + 3 * list->shown;
    for (unsigned s = 0; s < LENGTH_SYMBOLS; s++) {
        bits += counts[s] * (list->code.length[s] + repeat_of[s].bits);
    }
    return bits;
}

static void put_lengths(struct bits *out, const struct lengths *list, unsigned symbols,
                        unsigned distances)
{
    put_bits(out, symbols - FIRST_LENGTH, 5);
    put_bits(out, distances - 1, 5);
    put_bits(out, list->shown - 4, 4);
    for (unsigned i = 0; i < list->shown; i++) {
        put_bits(out, list->code.length[shown_order[i]], 3);
    }
    for (unsigned i = 0; i < list->count; i++) {
        const uint8_t symbol = list->symbol[i];
        put_bits(out, list->code.bits[symbol], list->code.length[symbol]);
        if (symbol >= 16) {
            put_bits(out, (uint64_t)(list->repeats[i] - repeat_of[symbol].least),
                     repeat_of[symbol].bits);
        }
    }
}

/* ---- blocks */

/* Of the length of a match less 3: its two bits behind the highest one choose the symbol, the rest
 * follows it. The longest has a symbol of its own. */
static unsigned extra_bits(unsigned length)
{
    return length < 8 || length == TOKEN_VALUE ? 0 : 29 - (unsigned)__builtin_clz(length);
}

static unsigned symbol_of(unsigned token)
{
    const unsigned length = token & TOKEN_VALUE, extra = extra_bits(length);
    return token < RUN             ? token
           : length == TOKEN_VALUE ? SYMBOLS - 1
                                   : FIRST_LENGTH + (extra << 2) + (length >> extra);
}

/* The code of the two distances: 1 is all zeros, 256 is `again`, and 63 more than the symbol. */
static void put_tokens(struct hdf5_deflate *chunk, const struct code *code, unsigned distance_bits,
                       unsigned again)
{
    struct bits out = chunk->out; /* in registers */
    for (size_t i = 0; i < chunk->block.token_count; i++) {
        const unsigned token = chunk->tokens[i], symbol = symbol_of(token);
        put_bits(&out, code->bits[symbol], code->length[symbol]);
        if (token >= RUN) {
            const unsigned extra = extra_bits(token & TOKEN_VALUE);
            put_bits(&out, token & ((1U << extra) - 1), extra);
            put_bits(&out, token >= AGAIN ? again | 63U << distance_bits : 0,
                     distance_bits + (token >= AGAIN ? 6 : 0));
        }
    }
    put_bits(&out, code->bits[END], code->length[END]);
    chunk->out = out;
}

/* More than the fixed code takes, of what both have to say. */
static bool is_longer(const struct block *block, const struct code *own, uint64_t bits)
{
    for (unsigned s = 0; s < SYMBOLS && bits <= block->fixed_bits; s++) {
        bits += block->counts[s] * (own->length[s] + (s >= FIRST_LENGTH ? 1U : 0U));
    }
    return bits > block->fixed_bits;
}

/* The tokens so far, in a code of their own or the fixed one. */
static void end_block(struct hdf5_deflate *chunk, bool is_last)
{
    struct block *block = &chunk->block;
    struct code own;
    struct lengths list;
    uint8_t all[ALL_LENGTHS] = {0};
    unsigned symbols = SYMBOLS;
    const unsigned distances = block->has_again ? DISTANCES : 1;
    if (block->token_count == 0 && !is_last) {
        return;
    }
    block->counts[END] = 1;
    block->fixed_bits += fixed_length(END);
    make_code(block->counts, SYMBOLS, CODE_BITS_MAX, &own);
    while (own.length[symbols - 1] == 0) {
        symbols--;
    }
    memcpy(all, own.length, symbols);
    all[symbols] = all[symbols + distances - 1] = 1;
    const bool is_fixed = is_longer(block, &own, list_lengths(all, symbols + distances, &list));
    put_bits(&chunk->out, (is_last ? 1U : 0U) | (is_fixed ? 1U : 2U) << 1, 3);
    if (is_fixed) {
        put_tokens(chunk, &chunk->fixed, 5, 0x1e);
    } else {
        put_lengths(&chunk->out, &list, symbols, distances);
        put_tokens(chunk, &own, 1, 1);
    }
    *block = (struct block){.token_count = 0};
}

static void store(struct bits *out, const unsigned char *bytes, size_t count)
{
    for (size_t part = 0; count > 0; bytes += part, count -= part) {
        part = count < UINT16_MAX ? count : UINT16_MAX;
        put_bits(out, 0, 3);
        fill_byte(out);
        put_bits(out, part | (part ^ UINT16_MAX) << 16, 32);
        memcpy(out->at, bytes, part);
        out->at += part;
    }
}

/* ---- what is in a plane */

/* How many bytes from `at` on are what is `distance` before. */
static size_t match(const struct hdf5_deflate *chunk, const unsigned char *at, size_t distance)
{
    const unsigned char *const begin = at;
    for (; chunk->end - at >= 8 && memcmp(at, at - distance, 8) == 0; at += 8) {
    }
    while (at < chunk->end && *at == *(at - distance)) {
        at++;
    }
    return (size_t)(at - begin);
}

static void add_token(struct hdf5_deflate *chunk, unsigned token)
{
    const unsigned symbol = symbol_of(token);
    chunk->block.counts[symbol]++;
    chunk->block.fixed_bits += fixed_length(symbol) + (token < RUN ? 0 : 5);
    chunk->tokens[chunk->block.token_count++] = (uint16_t)token;
}

/* In pieces, of which none is too short. */
static void add_match(struct hdf5_deflate *chunk, size_t length, unsigned kind)
{
    while (length > 0) {
        size_t part = length < MATCH_MOST ? length : MATCH_MOST;
        part -= length > part && length - part < MATCH_LEAST ? MATCH_LEAST : 0;
        add_token(chunk, kind + (unsigned)part - MATCH_LEAST);
        length -= part;
    }
    chunk->block.has_again = chunk->block.has_again || kind == AGAIN;
}

/* In sixteenths of a bit, by steps that are straight between powers of two. */
static unsigned log2_of(unsigned number)
{
    const unsigned high = 31 - (unsigned)__builtin_clz(number);
    return 16 * high + ((number << 4 >> high) & 15);
}

/* What the literals and matches of a plane would take, estimated, in sixteenths of a bit: a literal
 * its information, and more in the lengths of the code when it is new. */
enum { NEW_BITS = 4, MATCH_BITS = 10, STORED_BITS = 160 };

struct estimate {
    uint32_t seen[256];
    unsigned literals;
    uint64_t known, others;
};

static void estimate_literal(struct estimate *estimate, unsigned char byte)
{
    const unsigned count = ++estimate->seen[byte];
    estimate->literals++;
    if (count == 1) {
        estimate->others += NEW_BITS * 16;
    } else {
        estimate->known += log2_of(2 * count - 1) + 7; /* what count * log2(count) grows by */
    }
}

static bool is_noise(const struct estimate *estimate, size_t bytes)
{
    const uint64_t literals =
        estimate->literals == 0
            ? 0
            : estimate->literals * (uint64_t)log2_of(estimate->literals) - estimate->known;
    return literals + estimate->others > 16 * (8 * (uint64_t)bytes + STORED_BITS);
}

/* Adds the plane from `at` on, up to `end`, and the run in which it ends, which may reach into the
 * planes behind. Returns where that ends. */
static const unsigned char *add_plane(struct hdf5_deflate *chunk, const unsigned char *at,
                                      const unsigned char *end)
{
    const struct block before = chunk->block;
    const unsigned char *const begin = at;
    struct estimate estimate = {.literals = 0};
    size_t run = 0;
    while (at < end) {
        const size_t left = (size_t)(end - at);
        size_t again = 0;
        run = at > chunk->bytes && at[0] == at[-1] ? match(chunk, at, 1) : 0;
        if (run >= RUN_LEAST && run >= left) {
            break;
        }
        if (run < RUN_LEAST && at - chunk->bytes >= AGAIN_BYTES && at[0] == at[-AGAIN_BYTES]) {
            again = match(chunk, at, AGAIN_BYTES);
        }
        const size_t found = run >= RUN_LEAST ? run : again < left ? again : left;
        if (run >= RUN_LEAST || found >= AGAIN_LEAST) {
            add_match(chunk, found, run >= RUN_LEAST ? RUN : AGAIN);
            estimate.others += MATCH_BITS * 16;
            at += found;
        } else {
            add_token(chunk, *at);
            estimate_literal(&estimate, *at++);
        }
        run = 0;
    }
    if (at > begin && is_noise(&estimate, (size_t)(at - begin))) {
        chunk->block = before;
        end_block(chunk, false);
        store(&chunk->out, begin, (size_t)(at - begin));
    }
    add_match(chunk, run, RUN);
    return at + run;
}

static void begin_stream(struct hdf5_deflate *chunk, unsigned char *out)
{
    chunk->out = (struct bits){.at = out};
    put_bits(&chunk->out, 0x0178, 16); /* a window of 32 KiB, no dictionary */
}

struct hdf5_deflate *hdf5_deflate_new(size_t most_bytes)
{
    struct hdf5_deflate *chunk = calloc(1, sizeof *chunk + most_bytes * sizeof chunk->tokens[0]);
    if (chunk != NULL) {
        make_fixed_code(&chunk->fixed);
    }
    return chunk;
}

size_t hdf5_deflate(struct hdf5_deflate *chunk, const unsigned char *bytes, size_t count,
                    size_t plane, unsigned char *out)
{
    chunk->bytes = bytes;
    chunk->end = bytes + count;
    begin_stream(chunk, out);
    for (const unsigned char *at = bytes; at < chunk->end;) {
        at = add_plane(chunk, at, at + plane - (size_t)(at - bytes) % plane);
    }
    end_block(chunk, true);
    if ((size_t)(chunk->out.at - out) > count) { /* no plane was noise, but their code is longer */
        begin_stream(chunk, out);
        store(&chunk->out, bytes, count);
        end_block(chunk, true);
    }
    fill_byte(&chunk->out);
    const uint32_t sum = libdeflate_adler32(1, bytes, count);
    for (unsigned shift = 32; shift > 0; shift -= 8) {
        *chunk->out.at++ = (unsigned char)(sum >> (shift - 8));
    }
    return (size_t)(chunk->out.at - out);
}
