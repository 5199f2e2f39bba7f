/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compresses a shuffled chunk into the zlib stream that HDF5's filter undoes (RFC 1950 and 1951).
 * In planes of bytes there is little to find, and it is known where: runs of one byte, and the
 * lowest bytes of numbers that count up, which repeat after 256. No other match is looked for. The
 * lowest planes of times and sizes are noise: they are stored as they are and spoil no code of the
 * other planes. libdeflate at level 6 takes four times the instructions for as many bytes.
 */
#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "writers/hdf5/internal.h"

/* A symbol; of a match also the bits behind its symbol, and whether it is of what is 256 bytes
 * before or of the byte before. */
enum { TOKEN_SYMBOL = 511, TOKEN_EXTRA = 9, AGAIN = 1 << 14 };
enum { AGAIN_BYTES = 256, RUN_LEAST = 4, AGAIN_LEAST = 16, MATCH_LEAST = 3, MATCH_MOST = 258 };

/* Symbols of literals, the end and lengths; of distances; of lengths of codes. */
enum { END = 256, FIRST_LENGTH = 257, SYMBOLS = 286, FIXED_SYMBOLS = 288, DISTANCES = 16 };
enum { LENGTH_SYMBOLS = 19, LENGTH_COUNTS = 24, ALL_LENGTHS = SYMBOLS + DISTANCES };
enum { CODE_BITS_MAX = 15, LENGTH_BITS_MAX = 7 };
enum { GAINS = 256 };

struct bits {
    uint64_t held;
    unsigned count;
    unsigned char *at;
};

struct code {
    uint8_t length[FIXED_SYMBOLS];
    uint16_t bits[FIXED_SYMBOLS];
    uint16_t symbols[FIXED_SYMBOLS]; /* that have a length, ascending */
    unsigned used;
};

/* The lengths of a block's code: symbols of a code of their own, and how many lengths each has. */
struct lengths {
    uint8_t symbol[ALL_LENGTHS], repeats[ALL_LENGTHS];
    unsigned count;
    struct code code;
    unsigned shown; /* of the code's own lengths */
};

struct hdf5_deflate {
    const unsigned char *bytes, *zeros, *end; /* the chunk; from `zeros` on all are */
    struct bits out;
    struct code fixed; /* RFC 1951, 3.2.6 */
    int16_t gain[GAINS];
    /* The block that is being filled: how often each symbol occurs, and what there is. */
    uint32_t counts[FIXED_SYMBOLS];
    bool any_again;
    size_t token_count;
    uint16_t tokens[];
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

/* A symbol behind its count, so that they sort. */
enum { SYMBOL_BITS = 9, SYMBOL_MASK = (1 << SYMBOL_BITS) - 1 };

/* The symbols of a code, rarest first. Few have large counts: they are inserted one by one, and so
 * are few symbols. */
static void sort_symbols(const uint32_t *counts, const struct code *code, uint32_t *sorted)
{
    enum { PLACES_MOST = 64, FEW = 24 };
    const unsigned places = code->used > FEW ? PLACES_MOST : 0;
    uint16_t place[PLACES_MOST + 1] = {0};
    for (unsigned i = 0; i < code->used && places > 0; i++) {
        const uint32_t count = counts[code->symbols[i]];
        place[count < places ? count : places]++;
    }
    for (unsigned c = 1, first = 0; c <= places; c++) {
        const unsigned next = first + place[c];
        place[c] = (uint16_t)first;
        first = next;
    }
    const unsigned large = place[places];
    for (unsigned i = 0; i < code->used; i++) {
        const uint32_t count = counts[code->symbols[i]];
        const uint32_t key = count << SYMBOL_BITS | code->symbols[i];
        unsigned at = place[count < places ? count : places]++;
        for (; at > large && sorted[at - 1] > key; at--) {
            sorted[at] = sorted[at - 1];
        }
        sorted[at] = key;
    }
}

/* Huffman's tree: the two rarest are joined, again and again. What is joined becomes ever more
 * frequent, so it is in order as the symbols are. Returns how many codes have each length: of the
 * two below each join those that are no joins. `sorted` has room for one more. */
static void count_lengths(uint32_t *sorted, unsigned used, unsigned most,
                          unsigned lengths[static CODE_BITS_MAX + 1])
{
    enum { DEPTHS = 40 }; /* at most 2^23 tokens are not as deep */
    uint32_t weight[SYMBOLS];
    uint16_t parent[SYMBOLS] = {0};
    uint8_t depth[SYMBOLS];
    unsigned joins[DEPTHS] = {0}, taken = 0, room = 0;
    assert(used >= 2);
    sorted[used] = UINT32_MAX;
    for (unsigned joined = 0, leaf = 0; joined + 1 < used; joined++) {
        uint32_t sum = 0;
        weight[joined] = UINT32_MAX;
        for (unsigned i = 0; i < 2; i++) {
            const uint32_t count = sorted[leaf] >> SYMBOL_BITS;
            if (count <= weight[taken]) {
                sum += count;
                leaf++;
            } else {
                sum += weight[taken];
                parent[taken++] = (uint16_t)joined;
            }
        }
        weight[joined] = sum;
    }
    depth[taken] = 0; /* the root */
    joins[0] = 1;
    while (taken-- > 0) {
        depth[taken] = (uint8_t)(depth[parent[taken]] + 1);
        assert(depth[taken] + 1 < DEPTHS);
        joins[depth[taken]]++;
    }
    for (unsigned length = 1; length <= depth[0] + 1U; length++) {
        const unsigned leaves = 2 * joins[length - 1] - joins[length];
        const unsigned kept = length < most ? length : most;
        lengths[kept] += leaves;
        room += leaves << (most - kept); /* what all codes take, in codes of `most` bits */
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

/* Shorter ones first, and of one length in the order of the symbols. The highest bit is the first
 * one of a code, so they count from there. */
static void assign_bits(struct code *code, const unsigned lengths[static CODE_BITS_MAX + 1])
{
    unsigned next[CODE_BITS_MAX + 1];
    for (unsigned length = 1, first = 0; length <= CODE_BITS_MAX; length++) {
        next[length] = lengths[length] > 0 ? reversed(first, length) : 0;
        first = (first + lengths[length]) << 1;
    }
    for (unsigned i = 0; i < code->used; i++) {
        const unsigned symbol = code->symbols[i], length = code->length[symbol];
        unsigned bits = next[length], carry = 1U << (length - 1);
        code->bits[symbol] = (uint16_t)bits;
        for (; (bits & carry) != 0; carry >>= 1) {
            bits ^= carry;
        }
        next[length] = bits | carry;
    }
}

/* Most do not occur: looked at by eight. */
static void list_symbols(const uint32_t *counts, unsigned count, struct code *code)
{
    unsigned used = 0;
    for (unsigned s = 0; s < count; s += 8) {
        uint64_t pairs[4];
        memcpy(pairs, &counts[s], sizeof pairs);
        if ((pairs[0] | pairs[1] | pairs[2] | pairs[3]) == 0) {
            continue;
        }
        for (unsigned i = s; i < s + 8; i++) {
            code->symbols[used] = (uint16_t)i;
            used += counts[i] > 0;
        }
    }
    code->used = used;
}

/* `count`: a multiple of eight. A code has two symbols at least: where fewer occur, others get one,
 * too. */
static void make_code(uint32_t *counts, unsigned count, unsigned most, struct code *code)
{
    uint32_t sorted[SYMBOLS + 1];
    unsigned lengths[CODE_BITS_MAX + 1] = {0};
    list_symbols(counts, count, code);
    if (code->used < 2) {
        counts[0] += counts[0] == 0;
        counts[1] += counts[1] == 0;
        list_symbols(counts, count, code);
    }
    sort_symbols(counts, code, sorted);
    count_lengths(sorted, code->used, most, lengths);
    memset(code->length, 0, count);
    for (unsigned length = most, i = 0; length > 0; length--) {
        for (unsigned n = 0; n < lengths[length]; n++) {
            code->length[sorted[i++] & SYMBOL_MASK] = (uint8_t)length;
        }
    }
    assign_bits(code, lengths);
}

static unsigned fixed_length(unsigned symbol)
{
    return symbol < 144 ? 8 : symbol < 256 ? 9 : symbol < 280 ? 7 : 8;
}

static void make_fixed_code(struct code *code)
{
    unsigned lengths[CODE_BITS_MAX + 1] = {0};
    code->used = FIXED_SYMBOLS;
    for (unsigned s = 0; s < FIXED_SYMBOLS; s++) {
        code->symbols[s] = (uint16_t)s;
        code->length[s] = (uint8_t)fixed_length(s);
        lengths[fixed_length(s)]++;
    }
    assign_bits(code, lengths);
}

/* ---- the lengths of a code, which come before a block */

/* Symbols for several equal lengths: bits of the number, least, most. */
static const struct {
    uint8_t bits, least, most;
} repeat_of[LENGTH_SYMBOLS] = {[16] = {2, 3, 6}, [17] = {3, 3, 10}, [18] = {7, 11, 138}};

static const uint8_t shown_order[LENGTH_SYMBOLS] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                                    11, 4,  12, 3, 13, 2, 14, 1, 15};

/* `run` times the same length; `is_again`: it is that of the symbol before, too. */
static void list_run(struct lengths *list, uint32_t *counts, unsigned length, unsigned run,
                     bool is_again)
{
    for (unsigned part = 0; run > 0; run -= part, is_again = true) {
        const unsigned many = length > 0 ? 16 : run >= repeat_of[18].least ? 18 : 17;
        const bool is_many = run >= repeat_of[many].least && (length == 0 || is_again);
        const unsigned symbol = is_many ? many : length;
        part = !is_many ? 1 : run < repeat_of[many].most ? run : repeat_of[many].most;
        list->symbol[list->count] = (uint8_t)symbol;
        list->repeats[list->count++] = (uint8_t)part;
        counts[symbol]++;
    }
}

/* Of a code, and of the distances 1 and, the last of `distances`, 256. Returns the bits that they
 * take. */
static unsigned list_lengths(const struct code *code, unsigned distances, struct lengths *list)
{
    uint32_t counts[LENGTH_COUNTS] = {0};
    unsigned next = 0, before = 0; /* symbol, and the length before it */
    list->count = 0;
    for (unsigned i = 0, run = 0; i < code->used; i += run) {
        const unsigned symbol = code->symbols[i], length = code->length[symbol];
        for (run = 1; i + run < code->used && code->symbols[i + run] == symbol + run &&
                      code->length[symbol + run] == length;) {
            run++;
        }
        list_run(list, counts, 0, symbol - next, false);
        list_run(list, counts, length, run, symbol == next && length == before);
        next = symbol + run;
        before = length;
    }
    list_run(list, counts, 1, 1, false);
    list_run(list, counts, 0, distances > 1 ? distances - 2 : 0, false);
    list_run(list, counts, 1, distances > 1 ? 1 : 0, false);
    make_code(counts, LENGTH_COUNTS, LENGTH_BITS_MAX, &list->code);
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

/* Bits behind the symbol of a match's length. */
static unsigned extra_bits(unsigned symbol)
{
    const unsigned number = symbol - FIRST_LENGTH;
    return number < 8 || symbol == SYMBOLS - 1 ? 0 : number / 4 - 1;
}

/* The code of the two distances: 1 is all zeros, 256 is `again`, and 63 more than the symbol. */
static void put_tokens(struct hdf5_deflate *chunk, const struct code *code, unsigned distance_bits,
                       unsigned again)
{
    struct bits out = chunk->out; /* in registers */
    const uint16_t *const end = chunk->tokens + chunk->token_count;
    for (const uint16_t *token = chunk->tokens; token < end; token++) {
        const unsigned symbol = *token & TOKEN_SYMBOL;
        put_bits(&out, code->bits[symbol], code->length[symbol]);
        if (symbol > END) {
            put_bits(&out, *token >> TOKEN_EXTRA & 31, extra_bits(symbol));
            const bool is_again = (*token & AGAIN) != 0;
            put_bits(&out, is_again ? again | 63U << distance_bits : 0,
                     distance_bits + (is_again ? 6 : 0));
        }
    }
    put_bits(&out, code->bits[END], code->length[END]);
    chunk->out = out;
}

/* More than the fixed code takes, with `bits` for the lengths: of what both have to say. */
static bool is_longer(const uint32_t *counts, const struct code *own, const struct code *fixed,
                      unsigned bits)
{
    uint64_t in_fixed = 0, in_own = bits;
    for (unsigned i = 0; i < own->used; i++) {
        const unsigned symbol = own->symbols[i];
        in_own += counts[symbol] * (own->length[symbol] + (symbol > END ? 1U : 0U));
        in_fixed += counts[symbol] * (fixed->length[symbol] + (symbol > END ? 5U : 0U));
    }
    return in_own > in_fixed;
}

/* The tokens so far in a code of their own. False, and nothing was put: the fixed one is shorter.
 */
static bool put_in_own_code(struct hdf5_deflate *chunk, unsigned is_last)
{
    struct code own;
    struct lengths list;
    const unsigned distances = chunk->any_again ? DISTANCES : 1;
    chunk->counts[END] = 1;
    make_code(chunk->counts, FIXED_SYMBOLS, CODE_BITS_MAX, &own);
    if (is_longer(chunk->counts, &own, &chunk->fixed, list_lengths(&own, distances, &list))) {
        return false;
    }
    put_bits(&chunk->out, is_last | 2U << 1, 3);
    put_lengths(&chunk->out, &list, own.symbols[own.used - 1] + 1U, distances);
    put_tokens(chunk, &own, 1, 1);
    return true;
}

/* Fewer are shorter in the fixed code: the lengths of another take 70 bits at least. */
enum { TOKENS_LEAST = 16 };

static void end_block(struct hdf5_deflate *chunk, bool is_last)
{
    if (chunk->token_count == 0 && !is_last) {
        return;
    }
    if (chunk->token_count < TOKENS_LEAST || !put_in_own_code(chunk, is_last)) {
        put_bits(&chunk->out, is_last | 1U << 1, 3);
        put_tokens(chunk, &chunk->fixed, 5, 0x1e);
    }
    memset(chunk->counts, 0, sizeof chunk->counts);
    chunk->any_again = false;
    chunk->token_count = 0;
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

/* How many bytes from `at` on, up to `end`, are what is `distance` before. */
static size_t match(const unsigned char *at, const unsigned char *end, size_t distance)
{
    const unsigned char *const begin = at;
    for (; end - at >= 8 && memcmp(at, at - distance, 8) == 0; at += 8) {
    }
    while (at < end && *at == *(at - distance)) {
        at++;
    }
    return (size_t)(at - begin);
}

/* The same of the byte before. */
static size_t match_run(const struct hdf5_deflate *chunk, const unsigned char *at)
{
    const size_t run = at < chunk->zeros ? match(at, chunk->zeros, 1) : 0;
    const bool goes_on = at + run >= chunk->zeros && at[-1] == 0;
    return goes_on ? (size_t)(chunk->end - at) : run;
}

/* In pieces, of which none is too short. The two bits behind the highest one of a length less 3
 * choose the symbol, the rest follows it; the longest has a symbol of its own. */
static uint16_t *add_match(struct hdf5_deflate *chunk, uint16_t *to, size_t length, unsigned kind)
{
    while (length > 0) {
        size_t part = length < MATCH_MOST ? length : MATCH_MOST;
        part -= length > part && length - part < MATCH_LEAST ? MATCH_LEAST : 0;
        const unsigned less = (unsigned)part - MATCH_LEAST;
        const unsigned extra = less < 8 ? 0 : 29 - (unsigned)__builtin_clz(less);
        const unsigned token = part == MATCH_MOST
                                   ? SYMBOLS - 1
                                   : (FIRST_LENGTH + (extra << 2) + (less >> extra)) |
                                         (less & ((1U << extra) - 1)) << TOKEN_EXTRA;
        chunk->counts[token & TOKEN_SYMBOL]++;
        *to++ = (uint16_t)(token | kind);
        length -= part;
    }
    return to;
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

/* Of a literal for the `count`th time: what count * log2(count) grows by. */
static int gain_of(unsigned count)
{
    return count == 1 ? -16 * NEW_BITS : (int)log2_of(2 * count - 1) + 7;
}

/* `gain`: of all literals, less what the matches take. */
static bool is_noise(unsigned literals, int64_t gain, size_t bytes)
{
    const int64_t all = literals == 0 ? 0 : (int64_t)literals * log2_of(literals);
    return all - gain > 16 * (8 * (int64_t)bytes + STORED_BITS);
}

/* Adds the plane from `at` on, up to `end`, and the run in which it ends, which may reach into the
 * planes behind. Returns where that ends. */
static const unsigned char *add_plane(struct hdf5_deflate *chunk, const unsigned char *at,
                                      const unsigned char *end)
{
    const unsigned char *const begin = at, *const again_from = at + AGAIN_BYTES;
    uint16_t *to = chunk->tokens + chunk->token_count;
    uint32_t seen[256] = {0};
    size_t run = 0, found = 0, matched = 0;
    const bool any_again = chunk->any_again;
    int64_t gain = 0;
    unsigned before = at > chunk->bytes ? at[-1] : UINT_MAX;
    while (at < end) {
        const unsigned byte = *at;
        if (byte == before && (run = match_run(chunk, at)) >= RUN_LEAST) {
            if (run >= (size_t)(end - at)) {
                break;
            }
            found = run;
            to = add_match(chunk, to, run, 0);
        } else if (at >= again_from && byte == at[-AGAIN_BYTES] &&
                   (found = match(at, end, AGAIN_BYTES)) >= AGAIN_LEAST) {
            to = add_match(chunk, to, found, AGAIN);
            chunk->any_again = true;
        } else {
            const unsigned count = ++seen[byte];
            gain += count < GAINS ? chunk->gain[count] : gain_of(count);
            chunk->counts[byte]++;
            *to++ = (uint16_t)byte;
            before = byte;
            at++;
            continue;
        }
        gain -= 16 * MATCH_BITS;
        matched += found;
        at += found;
        before = at[-1];
    }
    run = at < end ? run : 0;
    const size_t bytes = (size_t)(at - begin);
    if (bytes > 0 && is_noise((unsigned)(bytes - matched), gain, bytes)) {
        for (const uint16_t *plane = chunk->tokens + chunk->token_count; plane < to; plane++) {
            chunk->counts[*plane & TOKEN_SYMBOL]--;
        }
        chunk->any_again = any_again;
        end_block(chunk, false);
        store(&chunk->out, begin, bytes);
        to = chunk->tokens;
    }
    to = add_match(chunk, to, run, 0);
    chunk->token_count = (size_t)(to - chunk->tokens);
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
    assert(most_bytes < 1U << (32 - SYMBOL_BITS));
    if (chunk != NULL) {
        make_fixed_code(&chunk->fixed);
        for (unsigned i = 1; i < GAINS; i++) {
            chunk->gain[i] = (int16_t)gain_of(i);
        }
    }
    return chunk;
}

/* Of so many zeros behind what has the sum. */
static uint32_t adler32_of_zeros(uint32_t sum, size_t count)
{
    const uint64_t low = sum & UINT16_MAX, high = sum >> 16;
    return (uint32_t)((high + low * count) % 65521) << 16 | (uint32_t)low;
}

size_t hdf5_deflate(struct hdf5_deflate *chunk, unsigned char *bytes, size_t used, size_t count,
                    size_t plane, unsigned char *out)
{
    chunk->bytes = bytes;
    chunk->zeros = bytes + used;
    chunk->end = bytes + count;
    /* A run to the end begins before more of them are read. */
    const size_t read = plane + RUN_LEAST;
    memset(bytes + used, 0, count - used < read ? count - used : read);
    begin_stream(chunk, out);
    for (const unsigned char *at = bytes; at < chunk->end;) {
        at = add_plane(chunk, at, at + plane - (size_t)(at - bytes) % plane);
    }
    end_block(chunk, true);
    if ((size_t)(chunk->out.at - out) > count) { /* no plane was noise, but their code is longer */
        begin_stream(chunk, out);
        memset(bytes + used, 0, count - used);
        store(&chunk->out, bytes, count);
        end_block(chunk, true);
    }
    fill_byte(&chunk->out);
    const uint32_t sum = adler32_of_zeros(libdeflate_adler32(1, bytes, used), count - used);
    for (unsigned shift = 32; shift > 0; shift -= 8) {
        *chunk->out.at++ = (unsigned char)(sum >> (shift - 8));
    }
    return (size_t)(chunk->out.at - out);
}
