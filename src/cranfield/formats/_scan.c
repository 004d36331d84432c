/* The quick reader of runs and judgments: one pass over the bytes of a clean file, document ids coded.

   A file is clean when every line that is not blank has the same number of fields and nothing is odd: no control
   character, no comment, no line too long, one tag. Of any other file this says nothing; the careful reader, in Python,
   reads it or says what is wrong. Nothing is read beyond the ends of the buffer, whatever its bytes are.

   Only the stable ABI is used, so that one build serves every version of Python from 3.11 on. */

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__)
#define PREFETCH(address) __builtin_prefetch(address)
#else
#define PREFETCH(address) ((void)(address))
#endif

#if defined(__GNUC__) && defined(__SSE2__)
#define BLOCK 64 /* bytes that are looked at together */
#include <emmintrin.h>
#endif

#if defined(__GNUC__) && defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define EIGHT_AT_A_TIME 1
#else
#define EIGHT_AT_A_TIME 0
#endif

#define MOST_FIELDS 6
#define TOPIC 0
#define DOCUMENT 2
#define TAG 5

/* ---- memory that grows */

typedef struct {
    char *at;
    size_t used, room; /* bytes */
} Memory;

/* There is memory afterwards even for nothing, so that places in it are places in memory. */
static bool make_room(Memory *memory, size_t more) {
    if (memory->at != NULL && more <= memory->room - memory->used) {
        return true;
    }
    if (more > SIZE_MAX / 4 - memory->used) {
        return false;
    }
    size_t room = 2 * memory->used + more + 64;
    char *grown = realloc(memory->at, room);
    if (grown == NULL) {
        return false;
    }
    memory->at = grown;
    memory->room = room;
    return true;
}

static bool append(Memory *memory, const void *bytes, size_t size) {
    if (!make_room(memory, size)) {
        return false;
    }
    memcpy(memory->at + memory->used, bytes, size);
    memory->used += size;
    return true;
}

static void release(Memory *memory) {
    free(memory->at);
    *memory = (Memory){0};
}

/* ---- ids: a hash table with a secret key, so that nobody can write a file in which all ids collide */

typedef struct {
    uint64_t start; /* of the id in the text */
    uint32_t check; /* the other half of the hash */
    int32_t number; /* of the id, counted from 1; 0: the slot is free */
} Slot;

typedef struct {
    PyObject_HEAD
    uint64_t key[2];
    Memory text;  /* all ids, end to end, a zero after each */
    Memory edges; /* uint64: where each begins, and where the last ends */
    Slot *slots;
    size_t mask; /* slots less one; a power of two less one */
    int32_t count;
    bool busy; /* in a thread that has let go of the interpreter */
} Vocabulary;

static inline uint64_t rotated(uint64_t word, int bits) { return (word << bits) | (word >> (64 - bits)); }

#define SIP_ROUND(a, b, c, d)                                                                                          \
    do {                                                                                                               \
        a += b, c += d, b = rotated(b, 13) ^ a, d = rotated(d, 16) ^ c, a = rotated(a, 32);                            \
        c += b, a += d, b = rotated(b, 17) ^ c, d = rotated(d, 21) ^ a, c = rotated(c, 32);                            \
    } while (0)

/* SipHash-1-3 (Aumasson & Bernstein 2012); the words are in the order of this machine, since hashes are never kept. */
static uint64_t hashed(const uint64_t key[2], const char *text, size_t size) {
    uint64_t a = key[0] ^ 0x736f6d6570736575, b = key[1] ^ 0x646f72616e646f6d;
    uint64_t c = key[0] ^ 0x6c7967656e657261, d = key[1] ^ 0x7465646279746573;
    uint64_t word, last = (uint64_t)size << 56;
    for (; size >= 8; text += 8, size -= 8) {
        memcpy(&word, text, 8);
        d ^= word;
        SIP_ROUND(a, b, c, d);
        a ^= word;
    }
    for (size_t at = 0; at < size; at++) { /* the rest, low bytes first on every machine */
        last |= (uint64_t)(unsigned char)text[at] << 8 * at;
    }
    d ^= last;
    SIP_ROUND(a, b, c, d);
    a ^= last;
    c ^= 0xff;
    SIP_ROUND(a, b, c, d);
    SIP_ROUND(a, b, c, d);
    SIP_ROUND(a, b, c, d);
    return a ^ b ^ c ^ d;
}

static const char *id_of(const Vocabulary *self, int32_t code, size_t *size) {
    const uint64_t *edges = (const uint64_t *)self->edges.at;
    *size = (size_t)(edges[code + 1] - edges[code]) - 1;
    return self->text.at + edges[code];
}

static void put(Slot *slots, size_t mask, uint64_t hash, uint64_t start, int32_t number) {
    size_t at = (size_t)hash & mask;
    while (slots[at].number != 0) {
        at = (at + 1) & mask;
    }
    slots[at] = (Slot){start, (uint32_t)(hash >> 32), number};
}

static void put_all(const Vocabulary *self, Slot *slots, size_t mask) {
    for (int32_t code = 0; code < self->count; code++) {
        size_t size;
        const char *id = id_of(self, code, &size);
        put(slots, mask, hashed(self->key, id, size), (uint64_t)(id - self->text.at), code + 1);
    }
}

/* Twice the slots when half of them are taken. */
static bool widen(Vocabulary *self) {
    if ((size_t)self->count * 2 <= self->mask) {
        return true;
    }
    size_t slots = 2 * (self->mask + 1);
    Slot *wider = calloc(slots, sizeof(Slot));
    if (wider == NULL) {
        return false;
    }
    put_all(self, wider, slots - 1);
    free(self->slots);
    self->slots = wider;
    self->mask = slots - 1;
    return true;
}

/* Keep the first ids only: those of a file that could not be read to its end are taken out again. */
static void forget(Vocabulary *self, int32_t kept) {
    if (self->count == kept) {
        return;
    }
    self->count = kept;
    self->edges.used = ((size_t)kept + 1) * sizeof(uint64_t);
    self->text.used = (size_t)((const uint64_t *)self->edges.at)[kept];
    memset(self->slots, 0, (self->mask + 1) * sizeof(Slot));
    put_all(self, self->slots, self->mask);
}

/* The code of an id, entered if it is new; -1 where there is no memory, or no code, left. */
static int32_t code_of(Vocabulary *self, const char *id, size_t size, uint64_t hash) {
    const uint32_t check = (uint32_t)(hash >> 32);
    for (size_t at = (size_t)hash & self->mask; self->slots[at].number != 0; at = (at + 1) & self->mask) {
        if (self->slots[at].check == check) {
            const char *known = self->text.at + self->slots[at].start; /* a zero, which no id has, after every id */
            if (size < self->text.used - self->slots[at].start && memcmp(known, id, size) == 0 && known[size] == 0) {
                return self->slots[at].number - 1;
            }
        }
    }
    uint64_t start = self->text.used, end = start + size + 1;
    if (self->count == INT32_MAX - 1 || !make_room(&self->text, size + 1) || !append(&self->edges, &end, sizeof end)) {
        return -1;
    }
    append(&self->text, id, size);
    append(&self->text, "", 1);
    self->count++;
    put(self->slots, self->mask, hash, start, self->count);
    return widen(self) ? self->count - 1 : -1;
}

/* ---- numbers */

static const double TENS[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                              1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

#if defined(__SIZEOF_INT128__)
__extension__ typedef unsigned __int128 Wide;

/* digits / 10^places, correctly rounded, where digits > 2^53 and places <= 19. */
static double divided(uint64_t digits, int places) {
    uint64_t divisor = 1;
    for (int at = 0; at < places; at++) {
        divisor *= 10;
    }
    Wide scaled = (Wide)digits << 64, quotient = scaled / divisor;
    bool rest = scaled % divisor != 0;
    int bits = 0; /* of the quotient, at least 54 */
    for (Wide left = quotient; left != 0; left >>= 1) {
        bits++;
    }
    int dropped = bits - 53;
    Wide half = (Wide)1 << (dropped - 1), low = quotient & (2 * half - 1);
    uint64_t kept = (uint64_t)(quotient >> dropped);
    if (low > half || (low == half && (rest || (kept & 1) != 0))) {
        kept++;
    }
    return ldexp((double)kept, dropped - 64);
}
#endif

static const char *read_digits(const char *at, const char *end, uint64_t *digits) {
    for (unsigned digit; at < end && (digit = (unsigned)(unsigned char)*at - '0') < 10; at++) {
        *digits = 10 * *digits + digit;
    }
    return at;
}

/* A number that is written as most are, 12.345, with no more digits than a machine word has. */
static inline bool parse_plain(const char *text, size_t size, double *value) {
    const char *at = text, *end = text + size;
    bool negative = size != 0 && *at == '-';
    uint64_t digits = 0;
    at += negative;
    const char *whole = at;
    at = read_digits(at, end, &digits);
    ptrdiff_t seen = at - whole, places = 0;
    if (at < end && *at == '.') {
        const char *point = ++at;
        at = read_digits(at, end, &digits);
        places = at - point;
    }
    seen += places;
    if (at != end || seen == 0 || seen > 19 || digits > (uint64_t)1 << 53 || FLT_EVAL_METHOD != 0) {
        return false;
    }
    double found = (double)digits / TENS[places]; /* both exact: one operation rounds once (Clinger 1990) */
    *value = negative ? -found : found;
    return true;
}

/* A decimal number, correctly rounded; false where that takes more than is done here, or the text is no number. */
static bool parse_number(const char *text, size_t size, double *value) {
    const char *at = text, *end = text + size;
    if (parse_plain(text, size, value)) {
        return true;
    }
    if (size > 19 && memchr(text, '.', size) != NULL && memchr(text, 'e', size) == NULL && memchr(text, 'E', size) == NULL) {
        while (end[-1] == '0') { /* which some programs write by the dozen */
            end--;
        }
    }
    bool negative = size != 0 && *at == '-', point = false;
    uint64_t digits = 0;
    int count = 0, places = 0, seen = 0;
    at += size != 0 && (*at == '-' || *at == '+');
    for (; at < end; at++) {
        unsigned digit = (unsigned)(unsigned char)*at - '0';
        if (digit < 10) {
            count += count != 0 || digit != 0; /* not of their number: at 2^64 it is 0 again */
            digits = 10 * digits + digit;
            places += point;
            seen++;
            if (count > 19 || seen > 40) { /* more than a machine word has */
                return false;
            }
        } else if (*at == '.' && !point) {
            point = true;
        } else {
            break;
        }
    }
    if (seen == 0) {
        return false;
    }
    int power = -places;
    if (at < end) {
        if (*at != 'e' && *at != 'E') {
            return false;
        }
        at++;
        bool down = at < end && *at == '-';
        at += at < end && (*at == '-' || *at == '+');
        if (at == end || end - at > 3) {
            return false;
        }
        int exponent = 0;
        for (; at < end; at++) {
            unsigned digit = (unsigned)(unsigned char)*at - '0';
            if (digit > 9) {
                return false;
            }
            exponent = 10 * exponent + (int)digit;
        }
        power += down ? -exponent : exponent;
    }
    double found;
    if (digits == 0) {
        found = 0.0;
    } else if (FLT_EVAL_METHOD == 0 && digits <= (uint64_t)1 << 53 && power >= -22 && power <= 22) {
        found = power < 0 ? (double)digits / TENS[-power] : (double)digits * TENS[power];
#if defined(__SIZEOF_INT128__)
    } else if (digits > (uint64_t)1 << 53 && power < 0 && power >= -19) {
        found = divided(digits, -power);
#endif
    } else {
        return false;
    }
    *value = negative ? -found : found;
    return true;
}

static bool parse_whole(const char *text, size_t size, double *value) {
    size_t sign = size != 0 && (*text == '-' || *text == '+');
    for (size_t at = sign; at < size; at++) {
        if (text[at] < '0' || text[at] > '9') {
            return false;
        }
    }
    return parse_number(text, size, value);
}

/* ---- lines */

enum { PART, BLANK, NEWLINE, ODD }; /* what a byte is: of a field, between fields, at the end of a line, a control */

static inline int kind_of(char byte) {
    unsigned char code = (unsigned char)byte;
    if (code > 32) {
        return PART;
    }
    if (code == '\n') {
        return NEWLINE;
    }
    return code == ' ' || (code >= 9 && code <= 13) ? BLANK : ODD;
}

/* Where the field that `at` is in ends. */
static inline const char *end_of_field(const char *at, const char *end) {
#if EIGHT_AT_A_TIME
    for (; end - at >= 8; at += 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        /* The high bit of every byte below 33; a borrow may set one too many, but only above one that is right. */
        uint64_t outside = (word - 0x2121212121212121) & ~word & 0x8080808080808080;
        if (outside != 0) {
            return at + (__builtin_ctzll(outside) >> 3);
        }
    }
#endif
    while (at < end && (unsigned char)*at > 32) {
        at++;
    }
    return at;
}

typedef struct {
    const char *at;
    size_t size;
} Field;

typedef struct {
    const char *at, *end;
    int width;
    size_t longest; /* bytes of a line */
} Lines;

#if defined(BLOCK)
/* What the bytes of a block are, a bit for each: at most a blank, the end of a line, a control. */
typedef struct {
    uint64_t outside, newline, odd;
} Marks;

static inline Marks marks_of(const char *at) {
    Marks marks = {0, 0, 0};
    for (int part = 0; part < BLOCK / 16; part++) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(at + 16 * part));
        __m128i outside = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(32)), bytes);
        __m128i newline = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\n'));
        __m128i spaces = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(' '));
        __m128i from_tab = _mm_sub_epi8(bytes, _mm_set1_epi8(9)); /* 9 to 13 are blank: 0 to 4 */
        __m128i blank = _mm_or_si128(spaces, _mm_cmpeq_epi8(_mm_min_epu8(from_tab, _mm_set1_epi8(4)), from_tab));
        marks.outside |= (uint64_t)(uint32_t)_mm_movemask_epi8(outside) << 16 * part;
        marks.newline |= (uint64_t)(uint32_t)_mm_movemask_epi8(newline) << 16 * part;
        marks.odd |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_andnot_si128(blank, outside)) << 16 * part;
    }
    return marks;
}

/* The next line, if it ends within a block, has as many fields as it should, and nothing is odd. */
static inline bool next_short_line(Lines *lines, Field fields[MOST_FIELDS]) {
    const char *at = lines->at;
    if (lines->end - at < BLOCK) {
        return false;
    }
    Marks marks = marks_of(at);
    uint64_t line = marks.newline ^ (marks.newline - 1); /* up to the first newline, or everything */
    uint64_t parts = ~marks.outside & line;
    uint64_t starts = parts & ~(parts << 1), ends = marks.outside & parts << 1;
    if (marks.newline == 0 || (marks.odd & line) != 0 || __builtin_popcountll(starts) != lines->width) {
        return false;
    }
    size_t size = (size_t)__builtin_ctzll(marks.newline);
    if (size > lines->longest) {
        return false;
    }
    for (int count = 0; count < lines->width; count++, starts &= starts - 1, ends &= ends - 1) {
        int start = __builtin_ctzll(starts);
        if (count == 0 && at[start] == '#') {
            return false;
        }
        fields[count] = (Field){at + start, (size_t)(__builtin_ctzll(ends) - start)};
    }
    lines->at = at + size + 1;
    return true;
}
#endif

/* The fields of the next line that has any: 1; 0 at the end; -1 where a line is odd. */
static int next_line(Lines *lines, Field fields[MOST_FIELDS]) {
#if defined(BLOCK)
    if (next_short_line(lines, fields)) {
        return 1;
    }
#endif
    const char *at = lines->at, *end = lines->end, *start = at;
    int count = 0;
    while (at < end) {
        int kind = kind_of(*at);
        if (kind == PART) {
            const char *first = at;
            at = end_of_field(at, end);
            if (count == lines->width || (count == 0 && *first == '#')) {
                return -1;
            }
            fields[count++] = (Field){first, (size_t)(at - first)};
        } else if (kind == NEWLINE) {
            if (count != 0) {
                break;
            }
            if ((size_t)(at - start) > lines->longest) {
                return -1;
            }
            start = ++at;
        } else if (kind == ODD) {
            return -1;
        } else {
            at++;
        }
    }
    if ((size_t)(at - start) > lines->longest) {
        return -1;
    }
    lines->at = at < end ? at + 1 : end;
    return count == 0 ? 0 : count == lines->width ? 1 : -1;
}

static bool is_same(Field one, Field other) {
    return one.size == other.size && memcmp(one.at, other.at, one.size) == 0;
}

/* ---- one file */

#define AT_ONCE 32 /* ids whose slots are on their way from memory while the next lines are read */

typedef struct {
    Lines lines;
    int key, rank; /* which field; no rank: -1 */
    bool whole;    /* keys are whole numbers */
    /* what is found: */
    int64_t count;
    Field tag;
    Memory topics; /* Field: one for each list */
    Memory edges;  /* int64: the line at which each list begins, and the number of lines */
    Memory codes;  /* int32 */
    Memory keys, ranks; /* double */
    Memory left;   /* int64 × 4: field, line, start, size: numbers that are left to Python */
} Scan;

enum { DONE, UNREADABLE, NO_MEMORY };

static bool add_number(Scan *scan, const Field *field, int which, const char *data, Memory *to) {
    double value = NAN;
    if (!(scan->whole ? parse_whole : parse_number)(field->at, field->size, &value)) {
        int64_t place[4] = {which, scan->count, field->at - data, (int64_t)field->size};
        if (!append(&scan->left, place, sizeof place)) {
            return false;
        }
    }
    return append(to, &value, sizeof value);
}

/* Whether a line has the tag of the file, which the first line sets. */
static bool has_tag(Scan *scan, const Field fields[MOST_FIELDS]) {
    if (scan->lines.width > TAG && scan->count == 0) {
        scan->tag = fields[TAG];
    }
    return scan->lines.width <= TAG || is_same(fields[TAG], scan->tag);
}

static bool starts_list(const Scan *scan, Field topic) {
    const Field *topics = (const Field *)scan->topics.at;
    return scan->count == 0 || !is_same(topic, topics[scan->topics.used / sizeof topic - 1]);
}

static int scan_lines(Vocabulary *self, Scan *scan) {
    const char *data = scan->lines.at;
    Field fields[MOST_FIELDS], waiting[AT_ONCE];
    uint64_t hashes[AT_ONCE];
    int found, held = 0;
    do {
        found = next_line(&scan->lines, fields);
        if (found < 0 || (found > 0 && !has_tag(scan, fields))) {
            return UNREADABLE;
        }
        if (found > 0) {
            if (starts_list(scan, fields[TOPIC]) && (!append(&scan->topics, &fields[TOPIC], sizeof(Field)) ||
                                                     !append(&scan->edges, &scan->count, sizeof scan->count))) {
                return NO_MEMORY;
            }
            if (!add_number(scan, &fields[scan->key], scan->key, data, &scan->keys) ||
                (scan->rank >= 0 && !add_number(scan, &fields[scan->rank], scan->rank, data, &scan->ranks))) {
                return NO_MEMORY;
            }
            waiting[held] = fields[DOCUMENT];
            hashes[held] = hashed(self->key, fields[DOCUMENT].at, fields[DOCUMENT].size);
            PREFETCH(&self->slots[(size_t)hashes[held] & self->mask]);
            held++;
            scan->count++;
        }
        if (held == AT_ONCE || found == 0) {
            for (int at = 0; at < held; at++) {
                PREFETCH(self->text.at + self->slots[(size_t)hashes[at] & self->mask].start);
            }
            for (int at = 0; at < held; at++) {
                int32_t code = code_of(self, waiting[at].at, waiting[at].size, hashes[at]);
                if (code < 0 || !append(&scan->codes, &code, sizeof code)) {
                    return NO_MEMORY;
                }
            }
            held = 0;
        }
    } while (found > 0);
    if (scan->count == 0) {
        return UNREADABLE;
    }
    return append(&scan->edges, &scan->count, sizeof scan->count) ? DONE : NO_MEMORY;
}

/* ---- judgments: of every topic, which documents it has */

typedef struct {
    uint32_t check; /* half of the hash */
    int32_t number; /* of the id, counted from 1; 0: the place is free */
} Place;

typedef struct {
    size_t first, mask; /* its first place; places less one, a power of two less one */
} Table;

/* The names of the topics and the judged documents of each, all in one text: ids 0 to `topics` less one are the topics,
   those that follow the judgments, by topic. Table 0 finds topics, table 1 + n the documents of topic n, so that what
   is looked into while one list is read is small and stays near. Nothing changes once it is made: threads share it. */
typedef struct {
    PyObject_HEAD
    uint64_t key[2];
    int32_t topics;
    Memory text, edges; /* as a vocabulary has them */
    Memory tables;      /* Table */
    Place *places;
} Judgments;

static int32_t find_in(const Judgments *self, size_t table, Field id, uint64_t hash) {
    const Table *in = (const Table *)self->tables.at + table;
    const Place *places = self->places + in->first;
    const uint64_t *edges = (const uint64_t *)self->edges.at;
    const uint32_t check = (uint32_t)(hash >> 32);
    for (size_t at = (size_t)hash & in->mask; places[at].number != 0; at = (at + 1) & in->mask) {
        if (places[at].check == check) {
            int32_t number = places[at].number - 1;
            size_t size = (size_t)(edges[number + 1] - edges[number]);
            if (size == id.size && memcmp(self->text.at + edges[number], id.at, size) == 0) {
                return number;
            }
        }
    }
    return -1;
}

static bool add_id(Judgments *self, const char *id, size_t size) {
    uint64_t end = self->text.used + size;
    return append(&self->text, id, size) && append(&self->edges, &end, sizeof end);
}

/* A table of the ids from `first` to `last`; the places of all tables follow each other. */
static void fill_table(Judgments *self, size_t table, size_t first, size_t last) {
    const Table *in = (const Table *)self->tables.at + table;
    const uint64_t *edges = (const uint64_t *)self->edges.at;
    for (size_t number = first; number < last; number++) {
        uint64_t hash = hashed(self->key, self->text.at + edges[number], (size_t)(edges[number + 1] - edges[number]));
        size_t at = (size_t)hash & in->mask;
        while (self->places[in->first + at].number != 0) {
            at = (at + 1) & in->mask;
        }
        self->places[in->first + at] = (Place){(uint32_t)(hash >> 32), (int32_t)number + 1};
    }
}

static size_t mask_for(size_t count) { /* at most half of the places are taken */
    size_t places = 4;
    while (places < 2 * count) {
        places *= 2;
    }
    return places - 1;
}

/* Judged documents by their codes; `edges` are those of the topics' rows. */
static bool fill_judgments(Judgments *self, const Vocabulary *documents, const int64_t *edges, const int32_t *codes) {
    size_t places = 0;
    for (int32_t table = 0; table <= self->topics; table++) {
        size_t count = table == 0 ? (size_t)self->topics : (size_t)(edges[table] - edges[table - 1]);
        Table made = {places, mask_for(count)};
        places += made.mask + 1;
        if (!append(&self->tables, &made, sizeof made)) {
            return false;
        }
    }
    for (int64_t row = 0; row < edges[self->topics]; row++) {
        size_t size;
        const char *id = id_of(documents, codes[row], &size);
        if (!add_id(self, id, size)) {
            return false;
        }
    }
    self->places = calloc(places, sizeof(Place));
    if (self->places == NULL) {
        return false;
    }
    fill_table(self, 0, 0, (size_t)self->topics);
    for (int32_t topic = 0; topic < self->topics; topic++) {
        size_t shift = (size_t)self->topics;
        fill_table(self, (size_t)topic + 1, shift + (size_t)edges[topic], shift + (size_t)edges[topic + 1]);
    }
    return true;
}

/* ---- one run, of which only judged documents are kept */

typedef struct {
    double key;
    Field id;
    uint64_t hash;
} Listed;

typedef struct {
    Memory list;    /* Listed: the list that is being read, and room to sort it */
    Memory taken;   /* Place: which documents it has */
    Memory lengths; /* int64: of every list */
    Memory edges;   /* int64: where the hits of each list begin, and where those of the last end */
    Memory ranks, rows; /* int32: of every hit */
    bool distinct;      /* no document can be in the list twice */
} Hits;

/* The higher score first and, of equal scores, the higher id (trec_eval's rule). */
static bool is_before(const Listed *one, const Listed *other) {
    if (one->key != other->key) {
        return one->key > other->key;
    }
    size_t shared = one->id.size < other->id.size ? one->id.size : other->id.size;
    int order = memcmp(one->id.at, other->id.at, shared);
    return order != 0 ? order > 0 : one->id.size >= other->id.size;
}

static bool is_ranked(const Listed *list, size_t count) {
    size_t at = 1;
    while (at < count && is_before(&list[at - 1], &list[at])) {
        at++;
    }
    return at >= count;
}

/* Merge sort; `spare` has room for half of the list. Halves that follow each other already cost one look. */
static void sort_list(Listed *list, size_t count, Listed *spare) {
    if (count < 2) {
        return;
    }
    size_t half = count / 2, left = 0, right = half, to = 0;
    sort_list(list, half, spare);
    sort_list(list + half, count - half, spare);
    if (is_before(&list[half - 1], &list[half])) {
        return;
    }
    memcpy(spare, list, half * sizeof(Listed));
    while (left < half) {
        bool first = right == count || is_before(&spare[left], &list[right]);
        list[to++] = first ? spare[left++] : list[right++];
    }
}

static int refuse_twice(Hits *hits, size_t count) {
    const Listed *list = (const Listed *)hits->list.at;
    size_t mask = mask_for(count), size = (mask + 1) * sizeof(Place);
    if (!make_room(&hits->taken, size)) {
        return NO_MEMORY;
    }
    Place *taken = (Place *)hits->taken.at;
    memset(taken, 0, size);
    for (size_t number = 0; number < count; number++) {
        uint32_t check = (uint32_t)(list[number].hash >> 32);
        size_t at = (size_t)list[number].hash & mask;
        for (; taken[at].number != 0; at = (at + 1) & mask) {
            if (taken[at].check == check && is_same(list[taken[at].number - 1].id, list[number].id)) {
                return UNREADABLE;
            }
        }
        taken[at] = (Place){check, (int32_t)number + 1};
    }
    return DONE;
}

static int finish_list(const Judgments *judgments, Field topic, Hits *hits) {
    size_t count = hits->list.used / sizeof(Listed);
    if (count == 0) {
        return DONE;
    }
    int64_t length = (int64_t)count;
    int outcome = count >= INT32_MAX / 4 ? UNREADABLE : hits->distinct ? DONE : refuse_twice(hits, count);
    if (outcome != DONE) {
        return outcome;
    }
    if (!make_room(&hits->list, count / 2 * sizeof(Listed)) || !append(&hits->lengths, &length, sizeof length)) {
        return NO_MEMORY;
    }
    Listed *list = (Listed *)hits->list.at;
    if (!is_ranked(list, count)) {
        sort_list(list, count, list + count);
    }
    int32_t number = find_in(judgments, 0, topic, hashed(judgments->key, topic.at, topic.size));
    for (size_t at = 0; number >= 0 && at < count; at++) {
        int32_t found = find_in(judgments, (size_t)number + 1, list[at].id, list[at].hash);
        if (found >= 0) {
            int32_t rank = (int32_t)at + 1, row = found - judgments->topics;
            if (!append(&hits->ranks, &rank, sizeof rank) || !append(&hits->rows, &row, sizeof row)) {
                return NO_MEMORY;
            }
        }
    }
    hits->list.used = 0;
    int64_t edge = (int64_t)(hits->rows.used / sizeof(int32_t));
    return append(&hits->edges, &edge, sizeof edge) ? DONE : NO_MEMORY;
}

static int scan_hits(const Judgments *self, Scan *scan, Hits *hits) {
    Field fields[MOST_FIELDS], topic = {scan->lines.at, 0};
    int64_t zero = 0;
    if (!append(&hits->edges, &zero, sizeof zero)) {
        return NO_MEMORY;
    }
    for (;;) {
        int found = next_line(&scan->lines, fields);
        Listed next;
        if (found == 0) {
            break;
        }
        if (found < 0 || !has_tag(scan, fields) ||
            !parse_number(fields[scan->key].at, fields[scan->key].size, &next.key)) {
            return UNREADABLE;
        }
        if (starts_list(scan, fields[TOPIC])) {
            int outcome = finish_list(self, topic, hits);
            if (outcome != DONE) {
                return outcome;
            }
            topic = fields[TOPIC];
            if (!append(&scan->topics, &topic, sizeof topic)) {
                return NO_MEMORY;
            }
        }
        next.id = fields[DOCUMENT];
        next.hash = hashed(self->key, next.id.at, next.id.size);
        if (!append(&hits->list, &next, sizeof next)) {
            return NO_MEMORY;
        }
        scan->count++;
    }
    return scan->count == 0 ? UNREADABLE : finish_list(self, topic, hits);
}

static PyObject *as_bytes(const Memory *memory) {
    return PyByteArray_FromStringAndSize(memory->at, (Py_ssize_t)memory->used);
}

static PyObject *topic_list(const Memory *memory) {
    const Field *topics = (const Field *)memory->at;
    Py_ssize_t count = (Py_ssize_t)(memory->used / sizeof(Field));
    PyObject *list = PyList_New(count);
    for (Py_ssize_t at = 0; list != NULL && at < count; at++) {
        PyObject *topic = PyBytes_FromStringAndSize(topics[at].at, (Py_ssize_t)topics[at].size);
        if (topic == NULL || PyList_SetItem(list, at, topic) < 0) {
            Py_CLEAR(list);
        }
    }
    return list;
}

/* ---- names and runs in memory; of what is odd nothing is said here either, not even by an error */

/* The name at a place of a list, which keeps it, as text: what is no str is replaced by its str. NULL: there is none. */
static PyObject *name_at(PyObject *names, Py_ssize_t at) {
    PyObject *name = PyList_GetItem(names, at);
    if (name == NULL || name == Py_None || PyUnicode_CheckExact(name)) {
        return name == Py_None ? NULL : name;
    }
    PyObject *text = PyObject_Str(name);
    return text != NULL && PyList_SetItem(names, at, text) == 0 ? text : NULL;
}

static bool is_blank(PyObject *text, Field field) {
    for (size_t at = 0; at < field.size; at++) {
        if ((signed char)field.at[at] > 32) { /* as the first byte is, most often; other alphabets are left to Python */
            return false;
        }
    }
    PyObject *blank = field.size == 0 ? Py_NewRef(Py_True) : PyObject_CallMethod(text, "isspace", NULL);
    Py_XDECREF(blank);
    return blank != Py_False;
}

/* The bytes of text that is not blank; they live as long as it. */
static bool read_text(PyObject *text, Field *field) {
    Py_ssize_t size;
    field->at = PyUnicode_AsUTF8AndSize(text, &size);
    if (field->at == NULL) {
        return false;
    }
    field->size = (size_t)size;
    return !is_blank(text, *field);
}

static bool read_name(PyObject *names, Py_ssize_t at, Field *field) {
    PyObject *text = name_at(names, at);
    return text != NULL && read_text(text, field);
}

static bool read_score(PyObject *value, double *score) {
    PyObject *number = value == NULL || PyFloat_CheckExact(value) ? Py_XNewRef(value) : PyNumber_Float(value);
    *score = number == NULL ? NAN : PyFloat_AsDouble(number);
    Py_XDECREF(number);
    return isfinite(*score) != 0;
}

static int rank_documents(const Judgments *self, Field topic, PyObject *names, PyObject *scores, Hits *hits) {
    Py_ssize_t count = PyList_Size(names);
    hits->list.used = 0;
    hits->distinct = true;
    if (count != PyList_Size(scores) || !make_room(&hits->list, (size_t)count * sizeof(Listed))) {
        return UNREADABLE;
    }
    Listed *next = (Listed *)hits->list.at;
    for (Py_ssize_t at = 0; at < count; at++, next++) {
        hits->distinct = hits->distinct && PyUnicode_CheckExact(PyList_GetItem(names, at));
        if (!read_name(names, at, &next->id) || !read_score(PyList_GetItem(scores, at), &next->key)) {
            return UNREADABLE;
        }
        next->hash = hashed(self->key, next->id.at, next->id.size);
    }
    hits->list.used = (size_t)count * sizeof(Listed);
    return finish_list(self, topic, hits);
}

/* Text and floats run no code of others, so that the dict cannot change; false where it has anything else. */
static bool list_plain(const Judgments *self, PyObject *documents, Hits *hits) {
    PyObject *name, *score;
    Py_ssize_t place = 0;
    hits->list.used = 0;
    if (!make_room(&hits->list, (size_t)PyDict_Size(documents) * sizeof(Listed))) {
        return false;
    }
    Listed *next = (Listed *)hits->list.at;
    while (PyDict_Next(documents, &place, &name, &score)) {
        if (!PyUnicode_CheckExact(name) || !PyFloat_CheckExact(score) || !read_text(name, &next->id)) {
            return false;
        }
        next->key = PyFloat_AsDouble(score);
        if (!isfinite(next->key)) {
            return false;
        }
        next->hash = hashed(self->key, next->id.at, next->id.size);
        next++;
    }
    hits->list.used = (size_t)((char *)next - (char *)hits->list.at);
    hits->distinct = true;
    return true;
}

/* Keys and values are taken out of a dict before anything else runs, so that it may change meanwhile. */
static int take_list(const Judgments *self, Field topic, PyObject *documents, Hits *hits) {
    if (list_plain(self, documents, hits)) {
        return finish_list(self, topic, hits);
    }
    PyErr_Clear();
    PyObject *names = PyDict_Keys(documents), *scores = PyDict_Values(documents);
    int outcome = names == NULL || scores == NULL ? NO_MEMORY : rank_documents(self, topic, names, scores, hits);
    Py_XDECREF(names);
    Py_XDECREF(scores);
    return outcome;
}

static int take_run(const Judgments *self, PyObject *topics, PyObject *lists, PyObject *names, Hits *hits) {
    int64_t zero = 0;
    int outcome = append(&hits->edges, &zero, sizeof zero) ? DONE : NO_MEMORY;
    for (Py_ssize_t at = 0; outcome == DONE && at < PyList_Size(topics); at++) {
        PyObject *documents = PyList_GetItem(lists, at);
        Field topic;
        if (documents == NULL || !PyDict_CheckExact(documents)) {
            return UNREADABLE;
        }
        if (PyDict_Size(documents) == 0) {
            continue;
        }
        if (!read_name(topics, at, &topic)) {
            return UNREADABLE;
        }
        PyObject *name = PyBytes_FromStringAndSize(topic.at, (Py_ssize_t)topic.size);
        outcome = name == NULL || PyList_Append(names, name) < 0 ? NO_MEMORY : take_list(self, topic, documents, hits);
        Py_XDECREF(name);
    }
    return outcome;
}

/* One id, as bytes or as text. */
static bool read_id(PyObject *id, bool is_text, Field *field) {
    if (!is_text) {
        char *bytes = NULL;
        Py_ssize_t size = 0;
        bool is_read = PyBytes_AsStringAndSize(id, &bytes, &size) == 0;
        *field = (Field){bytes, (size_t)size};
        return is_read;
    }
    if (PyUnicode_CheckExact(id) && read_text(id, field)) {
        return true;
    }
    if (!PyErr_Occurred()) {
        PyErr_SetString(PyExc_ValueError, "an id is empty, or no text");
    }
    return false;
}

/* The code of an id, which is entered if it is new; negative, with an error set, if it is none. */
static int32_t enter_id(Vocabulary *self, PyObject *id, bool is_text) {
    Field field;
    if (!read_id(id, is_text, &field)) {
        return -1;
    }
    if (memchr(field.at, 0, field.size) != NULL) { /* which ends an id */
        PyErr_SetString(PyExc_ValueError, "an id has no zero byte");
        return -1;
    }
    int32_t code = code_of(self, field.at, field.size, hashed(self->key, field.at, field.size));
    if (code < 0) {
        PyErr_NoMemory();
    }
    return code;
}

/* Whole numbers and floats; text, which PyNumber_Float would parse, is none. */
static bool read_grade(PyObject *value, double *grade) {
    if (PyLong_CheckExact(value)) {
        *grade = PyLong_AsDouble(value);
    } else {
        *grade = PyFloat_Check(value) || PyIndex_Check(value) ? PyFloat_AsDouble(value) : NAN;
    }
    return isfinite(*grade) != 0 && !PyErr_Occurred();
}

static int take_grades(Vocabulary *self, PyObject *names, PyObject *values, Memory *codes, Memory *grades) {
    Py_ssize_t count = PyList_Size(names);
    if (count != PyList_Size(values)) {
        return UNREADABLE;
    }
    if (!make_room(codes, (size_t)count * sizeof(int32_t)) || !make_room(grades, (size_t)count * sizeof(double))) {
        return NO_MEMORY;
    }
    int32_t *code = (int32_t *)(codes->at + codes->used);
    double *grade = (double *)(grades->at + grades->used);
    for (Py_ssize_t at = 0; at < count; at++) {
        code[at] = enter_id(self, PyList_GetItem(names, at), true);
        if (code[at] < 0 || !read_grade(PyList_GetItem(values, at), &grade[at])) {
            return UNREADABLE;
        }
    }
    codes->used += (size_t)count * sizeof(int32_t);
    grades->used += (size_t)count * sizeof(double);
    return DONE;
}

/* The judgments of one topic. Keys and values are taken out of the dict before anything else runs. */
static int take_judged(Vocabulary *self, PyObject *documents, Memory *codes, Memory *grades) {
    PyObject *names = PyDict_Keys(documents), *values = PyDict_Values(documents);
    int outcome = names == NULL || values == NULL ? NO_MEMORY : take_grades(self, names, values, codes, grades);
    Py_XDECREF(names);
    Py_XDECREF(values);
    return outcome;
}

static int take_judgments(Vocabulary *self, PyObject *topics, PyObject *lists, PyObject *names, Memory columns[3]) {
    int outcome = DONE;
    for (Py_ssize_t at = 0; outcome == DONE && at < PyList_Size(topics); at++) {
        PyObject *topic = PyList_GetItem(topics, at), *documents = PyList_GetItem(lists, at);
        if (documents == NULL || !PyDict_CheckExact(documents)) {
            return UNREADABLE;
        }
        int64_t length = PyDict_Size(documents);
        Field field;
        if (length == 0) {
            continue;
        }
        if (!read_id(topic, true, &field)) {
            return UNREADABLE;
        }
        PyObject *name = PyBytes_FromStringAndSize(field.at, (Py_ssize_t)field.size);
        bool whole = name != NULL && PyList_Append(names, name) == 0 && append(&columns[0], &length, sizeof length);
        outcome = whole ? take_judged(self, documents, &columns[1], &columns[2]) : NO_MEMORY;
        Py_XDECREF(name);
    }
    return outcome == DONE && PyList_Size(names) == 0 ? UNREADABLE : outcome;
}

/* Where there is no answer: an error for lack of memory or an interrupt, else None, for the careful reader. */
static PyObject *no_answer(int outcome) {
    if (outcome == NO_MEMORY) {
        return PyErr_NoMemory();
    }
    if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_Exception)) {
        return NULL;
    }
    PyErr_Clear();
    return Py_NewRef(Py_None);
}

/* ---- what Python sees */

static bool is_free(const Vocabulary *self) {
    if (self->busy) {
        PyErr_SetString(PyExc_RuntimeError, "another thread is using this vocabulary");
    }
    return !self->busy;
}

static bool start_work(Vocabulary *self) {
    if (!is_free(self)) {
        return false;
    }
    self->busy = true;
    return true;
}

PyDoc_STRVAR(scan_doc,
             "scan(data, width, key, rank, longest)\n--\n\n"
             "Read lines of `width` fields: (tag, topics, edges, codes, keys, ranks, left), or None if any is odd.\n\n"
             "`left` has field, line, start and size of numbers that are not read here.");

static PyObject *vocabulary_scan(Vocabulary *self, PyObject *arguments) {
    Py_buffer data;
    Py_ssize_t longest;
    Scan scan = {0};
    if (!PyArg_ParseTuple(arguments, "y*iiin", &data, &scan.lines.width, &scan.key, &scan.rank, &longest)) {
        return NULL;
    }
    PyObject *answer = NULL;
    int width = scan.lines.width;
    if (width <= DOCUMENT || width > MOST_FIELDS || scan.key < 0 || scan.key >= width || scan.rank >= width ||
        longest < 0) {
        PyErr_SetString(PyExc_ValueError, "there are no such fields");
    } else if (start_work(self)) {
        scan.lines.at = data.buf;
        scan.lines.end = (const char *)data.buf + data.len;
        scan.lines.longest = (size_t)longest;
        scan.whole = width <= TAG;
        int32_t known = self->count;
        int outcome;
        Py_BEGIN_ALLOW_THREADS;
        outcome = scan_lines(self, &scan);
        if (outcome != DONE) {
            forget(self, known);
        }
        Py_END_ALLOW_THREADS;
        self->busy = false;
        if (outcome == NO_MEMORY) {
            PyErr_NoMemory();
        } else if (outcome == UNREADABLE) {
            answer = Py_NewRef(Py_None);
        } else {
            answer = Py_BuildValue("(y#NNNNNN)", scan.tag.at, (Py_ssize_t)scan.tag.size, topic_list(&scan.topics),
                                   as_bytes(&scan.edges), as_bytes(&scan.codes), as_bytes(&scan.keys),
                                   as_bytes(&scan.ranks), as_bytes(&scan.left));
        }
    }
    Memory *all[] = {&scan.topics, &scan.edges, &scan.codes, &scan.keys, &scan.ranks, &scan.left};
    for (size_t at = 0; at < sizeof all / sizeof *all; at++) {
        release(all[at]);
    }
    PyBuffer_Release(&data);
    return answer;
}

PyDoc_STRVAR(enter_doc, "enter(other)\n--\n\nEnter every id of another vocabulary; its codes here, in its order.");

static PyObject *vocabulary_enter(Vocabulary *self, PyObject *given) {
    if (!Py_IS_TYPE(given, Py_TYPE((PyObject *)self)) || given == (PyObject *)self) {
        PyErr_SetString(PyExc_TypeError, "another vocabulary is wanted");
        return NULL;
    }
    Vocabulary *other = (Vocabulary *)given;
    if (!is_free(other) || !start_work(self)) {
        return NULL;
    }
    PyObject *codes = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)other->count * (Py_ssize_t)sizeof(int32_t));
    bool whole = codes != NULL;
    int32_t known = self->count;
    if (whole) {
        char *to = PyByteArray_AsString(codes);
        for (int32_t at = 0; whole && at < other->count; at++) {
            size_t size;
            const char *id = id_of(other, at, &size);
            int32_t code = code_of(self, id, size, hashed(self->key, id, size));
            memcpy(to + (size_t)at * sizeof code, &code, sizeof code);
            whole = code >= 0;
        }
        if (!whole) {
            forget(self, known);
            Py_CLEAR(codes);
            PyErr_NoMemory();
        }
    }
    self->busy = false;
    return codes;
}

PyDoc_STRVAR(code_doc,
             "code(ids)\n--\n\n"
             "The codes of a list of ids, all bytes or all text that is not blank, those that are new entered.");

static PyObject *vocabulary_code(Vocabulary *self, PyObject *list) {
    Py_ssize_t count = PyList_Check(list) ? PyList_Size(list) : -1;
    if (count < 0) {
        PyErr_SetString(PyExc_TypeError, "a list of ids is wanted");
        return NULL;
    }
    if (!start_work(self)) {
        return NULL;
    }
    PyObject *codes = PyByteArray_FromStringAndSize(NULL, count * (Py_ssize_t)sizeof(int32_t));
    bool is_text = count > 0 && PyUnicode_CheckExact(PyList_GetItem(list, 0));
    int32_t known = self->count;
    for (Py_ssize_t at = 0; codes != NULL && at < count; at++) {
        int32_t code = enter_id(self, PyList_GetItem(list, at), is_text);
        if (code < 0) {
            forget(self, known);
            Py_CLEAR(codes);
        } else {
            memcpy(PyByteArray_AsString(codes) + (size_t)at * sizeof code, &code, sizeof code);
        }
    }
    self->busy = false;
    return codes;
}

PyDoc_STRVAR(vocabulary_take_doc,
             "take(judged)\n--\n\n"
             "Judgments {topic: {document: grade}}: (topics, lengths, codes, grades), or None if anything is odd.");

static PyObject *vocabulary_take(Vocabulary *self, PyObject *judged) {
    if (!PyDict_CheckExact(judged)) {
        return Py_NewRef(Py_None);
    }
    if (!start_work(self)) {
        return NULL;
    }
    Memory columns[3] = {{0}}; /* lengths, codes, grades */
    int32_t known = self->count;
    PyObject *topics = PyDict_Keys(judged), *lists = PyDict_Values(judged), *names = PyList_New(0), *answer = NULL;
    if (topics != NULL && lists != NULL && names != NULL) {
        int outcome = take_judgments(self, topics, lists, names, columns);
        if (outcome == DONE && !PyErr_Occurred()) {
            answer = Py_BuildValue("(ONNN)", names, as_bytes(&columns[0]), as_bytes(&columns[1]),
                                   as_bytes(&columns[2]));
        } else {
            forget(self, known);
            answer = no_answer(outcome);
        }
    }
    self->busy = false;
    Py_XDECREF(topics);
    Py_XDECREF(lists);
    Py_XDECREF(names);
    for (size_t at = 0; at < sizeof columns / sizeof *columns; at++) {
        release(&columns[at]);
    }
    return answer;
}

/* ---- byte order */

typedef struct {
    uint64_t head[2]; /* the first sixteen bytes, the first the highest, zeros after the last */
    const char *rest; /* what comes after them */
    size_t size;      /* of that */
    int32_t code;
} Entry;

static bool comes_first(const Entry *one, const Entry *other) {
    for (int word = 0; word < 2; word++) {
        if (one->head[word] != other->head[word]) {
            return one->head[word] < other->head[word];
        }
    }
    size_t shared = one->size < other->size ? one->size : other->size;
    int order = shared == 0 ? 0 : memcmp(one->rest, other->rest, shared);
    return order != 0 ? order < 0 : one->size <= other->size;
}

/* Merge sort; `spare` has room for half of the entries. */
static void sort_entries(Entry *entries, size_t count, Entry *spare) {
    if (count < 2) {
        return;
    }
    size_t half = count / 2, left = 0, right = half, to = 0;
    sort_entries(entries, half, spare);
    sort_entries(entries + half, count - half, spare);
    memcpy(spare, entries, half * sizeof(Entry));
    while (left < half) {
        bool first = right == count || comes_first(&spare[left], &entries[right]);
        entries[to++] = first ? spare[left++] : entries[right++];
    }
}

static void fill_entries(const Vocabulary *self, Entry *entries) {
    for (int32_t code = 0; code < self->count; code++) {
        size_t size;
        const char *id = id_of(self, code, &size);
        Entry *entry = &entries[code];
        *entry = size > 16 ? (Entry){{0, 0}, id + 16, size - 16, code} : (Entry){{0, 0}, id, 0, code};
        for (size_t at = 0; at < 16; at++) {
            entry->head[at / 8] = entry->head[at / 8] << 8 | (at < size ? (unsigned char)id[at] : 0);
        }
    }
}

PyDoc_STRVAR(sorted_doc, "sorted()\n--\n\nThe ids in byte order, end to end; their edges; and the place of every code.");

static PyObject *vocabulary_sorted(Vocabulary *self, PyObject *Py_UNUSED(ignored)) {
    if (!is_free(self)) {
        return NULL;
    }
    size_t count = (size_t)self->count;
    Entry *entries = malloc((count + count / 2 + 1) * sizeof(Entry));
    PyObject *text = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)(self->text.used - count));
    PyObject *edges = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)((count + 1) * sizeof(int64_t)));
    PyObject *places = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)(count * sizeof(int32_t)));
    PyObject *answer = NULL;
    if (entries == NULL) {
        PyErr_NoMemory();
    } else if (text != NULL && edges != NULL && places != NULL && start_work(self)) {
        char *text_at = PyByteArray_AsString(text), *edges_at = PyByteArray_AsString(edges);
        char *places_at = PyByteArray_AsString(places);
        Py_BEGIN_ALLOW_THREADS;
        fill_entries(self, entries);
        sort_entries(entries, count, entries + count);
        int64_t end = 0;
        memcpy(edges_at, &end, sizeof end);
        for (size_t place = 0; place < count; place++) {
            size_t size;
            const char *id = id_of(self, entries[place].code, &size);
            int32_t number = (int32_t)place;
            memcpy(text_at + end, id, size);
            end += (int64_t)size;
            memcpy(edges_at + (place + 1) * sizeof end, &end, sizeof end);
            memcpy(places_at + (size_t)entries[place].code * sizeof number, &number, sizeof number);
        }
        Py_END_ALLOW_THREADS;
        self->busy = false;
        answer = Py_BuildValue("(OOO)", text, edges, places);
    }
    free(entries);
    Py_XDECREF(text);
    Py_XDECREF(edges);
    Py_XDECREF(places);
    return answer;
}

PyDoc_STRVAR(ids_doc, "ids()\n--\n\nThe ids, by code.");

static PyObject *vocabulary_ids(Vocabulary *self, PyObject *Py_UNUSED(ignored)) {
    if (!is_free(self)) {
        return NULL;
    }
    PyObject *list = PyList_New(self->count);
    for (int32_t code = 0; list != NULL && code < self->count; code++) {
        size_t size;
        const char *text = id_of(self, code, &size);
        PyObject *id = PyBytes_FromStringAndSize(text, (Py_ssize_t)size);
        if (id == NULL || PyList_SetItem(list, code, id) < 0) {
            Py_CLEAR(list);
        }
    }
    return list;
}

PyDoc_STRVAR(judgments_scan_doc,
             "scan(data, key, longest)\n--\n\n"
             "Read a run: (tag, topics, lengths, edges, ranks, rows), or None if any line is odd or a document comes "
             "twice.\n\n"
             "Lists are ranked by the field `key`; `ranks` and `rows` are of the judged documents of every list.");

static PyObject *judgments_scan(Judgments *self, PyObject *arguments) {
    Py_buffer data;
    Py_ssize_t longest;
    Scan scan = {0};
    Hits hits = {0};
    if (!PyArg_ParseTuple(arguments, "y*in", &data, &scan.key, &longest)) {
        return NULL;
    }
    PyObject *answer = NULL;
    if (scan.key < 0 || scan.key >= MOST_FIELDS || longest < 0) {
        PyErr_SetString(PyExc_ValueError, "there is no such field");
    } else {
        scan.lines = (Lines){data.buf, (const char *)data.buf + data.len, MOST_FIELDS, (size_t)longest};
        int outcome;
        Py_BEGIN_ALLOW_THREADS;
        outcome = scan_hits(self, &scan, &hits);
        Py_END_ALLOW_THREADS;
        if (outcome == NO_MEMORY) {
            PyErr_NoMemory();
        } else if (outcome == UNREADABLE) {
            answer = Py_NewRef(Py_None);
        } else {
            answer = Py_BuildValue("(y#NNNNN)", scan.tag.at, (Py_ssize_t)scan.tag.size, topic_list(&scan.topics),
                                   as_bytes(&hits.lengths), as_bytes(&hits.edges), as_bytes(&hits.ranks),
                                   as_bytes(&hits.rows));
        }
    }
    Memory *all[] = {&scan.topics, &hits.list, &hits.taken, &hits.lengths, &hits.edges, &hits.ranks, &hits.rows};
    for (size_t at = 0; at < sizeof all / sizeof *all; at++) {
        release(all[at]);
    }
    PyBuffer_Release(&data);
    return answer;
}

PyDoc_STRVAR(judgments_take_doc,
             "take(run)\n--\n\n"
             "A run {topic: {document: score}}: (topics, lengths, edges, ranks, rows), or None if anything is odd.");

static PyObject *judgments_take(Judgments *self, PyObject *run) {
    if (!PyDict_CheckExact(run)) {
        return Py_NewRef(Py_None);
    }
    Hits hits = {0};
    PyObject *topics = PyDict_Keys(run), *lists = PyDict_Values(run), *names = PyList_New(0), *answer = NULL;
    if (topics != NULL && lists != NULL && names != NULL) {
        int outcome = take_run(self, topics, lists, names, &hits);
        if (outcome == DONE && !PyErr_Occurred()) {
            answer = Py_BuildValue("(ONNNN)", names, as_bytes(&hits.lengths), as_bytes(&hits.edges),
                                   as_bytes(&hits.ranks), as_bytes(&hits.rows));
        } else {
            answer = no_answer(outcome);
        }
    }
    Py_XDECREF(topics);
    Py_XDECREF(lists);
    Py_XDECREF(names);
    Memory *all[] = {&hits.list, &hits.taken, &hits.lengths, &hits.edges, &hits.ranks, &hits.rows};
    for (size_t at = 0; at < sizeof all / sizeof *all; at++) {
        release(all[at]);
    }
    return answer;
}

/* Whether numbers of this size can be read where the buffer begins, which may be amid other bytes. */
static bool is_aligned(const Py_buffer *numbers, size_t size) {
    return numbers->len == 0 || (uintptr_t)numbers->buf % size == 0;
}

/* Whether the rows of topics are rows, and their codes are codes of documents. */
static bool are_rows(const Py_buffer *edges, const Py_buffer *codes, Py_ssize_t topics, const Vocabulary *documents) {
    const int64_t *edge = edges->buf;
    const int32_t *code = codes->buf;
    Py_ssize_t rows = codes->len / (Py_ssize_t)sizeof *code;
    bool fit = is_aligned(edges, sizeof *edge) && is_aligned(codes, sizeof *code) &&
               edges->len == (topics + 1) * (Py_ssize_t)sizeof *edge && edge[0] == 0 && edge[topics] == rows &&
               rows < INT32_MAX - topics;
    for (Py_ssize_t topic = 0; fit && topic < topics; topic++) {
        fit = edge[topic] <= edge[topic + 1];
    }
    for (Py_ssize_t row = 0; fit && row < rows; row++) {
        fit = code[row] >= 0 && code[row] < documents->count;
    }
    return fit;
}

static bool add_topics(Judgments *self, PyObject *topics) {
    uint64_t zero = 0;
    bool whole = append(&self->edges, &zero, sizeof zero);
    for (Py_ssize_t at = 0; whole && at < PyList_Size(topics); at++) {
        char *name;
        Py_ssize_t size;
        if (PyBytes_AsStringAndSize(PyList_GetItem(topics, at), &name, &size) < 0) {
            return false;
        }
        whole = add_id(self, name, (size_t)size);
    }
    self->topics = (int32_t)PyList_Size(topics);
    return whole;
}

static void judgments_dealloc(Judgments *self) {
    PyTypeObject *type = Py_TYPE((PyObject *)self);
    release(&self->text);
    release(&self->edges);
    release(&self->tables);
    free(self->places);
    freefunc set_free = (freefunc)PyType_GetSlot(type, Py_tp_free);
    set_free(self);
    Py_DECREF(type);
}

static PyMethodDef judgments_methods[] = {
    {"scan", (PyCFunction)judgments_scan, METH_VARARGS, judgments_scan_doc},
    {"take", (PyCFunction)judgments_take, METH_O, judgments_take_doc},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot judgments_slots[] = {
    {Py_tp_doc, "Judgments by topic: `codes[edges[n]:edges[n + 1]]` are the documents of topic n in a vocabulary."},
    {Py_tp_dealloc, (void *)judgments_dealloc},
    {Py_tp_methods, judgments_methods},
    {0, NULL},
};

static PyType_Spec judgments_specification = {
    .name = "cranfield.formats._scan.Judgments",
    .basicsize = sizeof(Judgments),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = judgments_slots,
};

PyDoc_STRVAR(judgments_doc,
             "judgments(topics, edges, codes)\n--\n\n"
             "Judged documents by topic: those of topic n have `codes[edges[n]:edges[n + 1]]`.");

static PyObject *vocabulary_judgments(Vocabulary *self, PyObject *arguments) {
    PyObject *topics;
    Py_buffer edges, codes;
    if (!PyArg_ParseTuple(arguments, "Oy*y*", &topics, &edges, &codes)) {
        return NULL;
    }
    Judgments *made = NULL;
    if (!PyList_Check(topics) || !are_rows(&edges, &codes, PyList_Size(topics), self)) {
        PyErr_SetString(PyExc_ValueError, "there are no such judgments");
    } else if (is_free(self)) {
        PyTypeObject *type = *(PyTypeObject **)PyType_GetModuleState(Py_TYPE((PyObject *)self));
        allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
        made = (Judgments *)allocate(type, 0);
    }
    if (made != NULL) {
        memcpy(made->key, self->key, sizeof self->key);
        if (!add_topics(made, topics) || !fill_judgments(made, self, edges.buf, codes.buf)) {
            Py_CLEAR(made);
            if (!PyErr_Occurred()) {
                PyErr_NoMemory();
            }
        }
    }
    PyBuffer_Release(&edges);
    PyBuffer_Release(&codes);
    return (PyObject *)made;
}

static PyObject *vocabulary_new(PyTypeObject *type, PyObject *arguments, PyObject *Py_UNUSED(keywords)) {
    const char *key;
    Py_ssize_t size;
    if (!PyArg_ParseTuple(arguments, "y#", &key, &size)) {
        return NULL;
    }
    if (size != 16) {
        PyErr_SetString(PyExc_ValueError, "the key of the hash has 16 bytes");
        return NULL;
    }
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    Vocabulary *self = (Vocabulary *)allocate(type, 0);
    if (self == NULL) {
        return NULL;
    }
    memcpy(self->key, key, 16);
    self->mask = 4095;
    self->slots = calloc(self->mask + 1, sizeof(Slot));
    uint64_t zero = 0;
    if (self->slots == NULL || !make_room(&self->text, 0) || !append(&self->edges, &zero, sizeof zero)) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    return (PyObject *)self;
}

static void vocabulary_dealloc(Vocabulary *self) {
    PyTypeObject *type = Py_TYPE((PyObject *)self);
    release(&self->text);
    release(&self->edges);
    free(self->slots);
    freefunc set_free = (freefunc)PyType_GetSlot(type, Py_tp_free);
    set_free(self);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"scan", (PyCFunction)vocabulary_scan, METH_VARARGS, scan_doc},
    {"enter", (PyCFunction)vocabulary_enter, METH_O, enter_doc},
    {"code", (PyCFunction)vocabulary_code, METH_O, code_doc},
    {"take", (PyCFunction)vocabulary_take, METH_O, vocabulary_take_doc},
    {"sorted", (PyCFunction)vocabulary_sorted, METH_NOARGS, sorted_doc},
    {"ids", (PyCFunction)vocabulary_ids, METH_NOARGS, ids_doc},
    {"judgments", (PyCFunction)vocabulary_judgments, METH_VARARGS, judgments_doc},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot type_slots[] = {
    {Py_tp_doc, "Document ids, coded in the order in which they are met; `key`, 16 secret bytes, is for the hash."},
    {Py_tp_new, (void *)vocabulary_new},
    {Py_tp_dealloc, (void *)vocabulary_dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};

static PyType_Spec specification = {
    .name = "cranfield.formats._scan.Vocabulary",
    .basicsize = sizeof(Vocabulary),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = type_slots,
};

/* The state of the module is the type of judgments, of which a vocabulary makes some. */
static int add_types(PyObject *module) {
    PyObject *vocabulary = PyType_FromModuleAndSpec(module, &specification, NULL);
    PyObject *judgments = PyType_FromModuleAndSpec(module, &judgments_specification, NULL);
    int failed = vocabulary == NULL || judgments == NULL || PyModule_AddObjectRef(module, "Vocabulary", vocabulary) < 0 ||
                 PyModule_AddObjectRef(module, "Judgments", judgments) < 0;
    Py_XDECREF(vocabulary);
    *(PyObject **)PyModule_GetState(module) = judgments;
    return failed ? -1 : 0;
}

static int clear_types(PyObject *module) {
    Py_CLEAR(*(PyObject **)PyModule_GetState(module));
    return 0;
}

static int visit_types(PyObject *module, visitproc visit, void *arg) {
    Py_VISIT(*(PyObject **)PyModule_GetState(module));
    return 0;
}

static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, (void *)add_types}, {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_scan",
    .m_doc = "The quick reader of runs and judgments.",
    .m_size = sizeof(PyObject *),
    .m_slots = module_slots,
    .m_traverse = visit_types,
    .m_clear = clear_types,
};

PyMODINIT_FUNC PyInit__scan(void) { return PyModuleDef_Init(&definition); }
