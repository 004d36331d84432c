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
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__)
#define PREFETCH(address) __builtin_prefetch(address)
#else
#define PREFETCH(address) ((void)(address))
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

static bool make_room(Memory *memory, size_t more) {
    if (more <= memory->room - memory->used) {
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
    for (size_t at = 0; at < size; at++) {
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

/* A decimal number, correctly rounded; false where that takes more than is done here, or the text is no number. */
static bool parse_number(const char *text, size_t size, double *value) {
    const char *at = text, *end = text + size;
    bool negative = size != 0 && *at == '-', point = false;
    uint64_t digits = 0;
    int count = 0, places = 0, seen = 0;
    at += size != 0 && (*at == '-' || *at == '+');
    for (; at < end; at++) {
        unsigned digit = (unsigned)(unsigned char)*at - '0';
        if (digit < 10) {
            digits = 10 * digits + digit;
            count += digits != 0;
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
        /* Both operands are exact, so that one operation rounds once (Clinger 1990). */
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

typedef struct {
    const char *at;
    size_t size;
} Field;

typedef struct {
    const char *at, *end;
    int width;
    size_t longest; /* bytes of a line */
} Lines;

/* The fields of the next line that has any: 1; 0 at the end; -1 where a line is odd. */
static int next_line(Lines *lines, Field fields[MOST_FIELDS]) {
    const char *at = lines->at, *end = lines->end, *start = at;
    int count = 0;
    while (at < end) {
        int kind = kind_of(*at);
        if (kind == PART) {
            const char *first = at;
            while (at < end && (unsigned char)*at > 32) {
                at++;
            }
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

static int scan_lines(Vocabulary *self, Scan *scan) {
    const char *data = scan->lines.at;
    Field fields[MOST_FIELDS], last = {data, 0}, waiting[AT_ONCE];
    uint64_t hashes[AT_ONCE];
    int found, held = 0;
    do {
        found = next_line(&scan->lines, fields);
        if (found < 0) {
            return UNREADABLE;
        }
        if (found > 0) {
            if (scan->count == 0 || !is_same(fields[TOPIC], last)) {
                last = fields[TOPIC];
                if (!append(&scan->topics, &last, sizeof last) || !append(&scan->edges, &scan->count, sizeof scan->count)) {
                    return NO_MEMORY;
                }
            }
            if (scan->lines.width > TAG) {
                if (scan->count == 0) {
                    scan->tag = fields[TAG];
                } else if (!is_same(fields[TAG], scan->tag)) {
                    return UNREADABLE;
                }
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
            Py_CLEAR(codes);
            PyErr_NoMemory();
        }
    }
    self->busy = false;
    return codes;
}

PyDoc_STRVAR(code_doc, "code(ids)\n--\n\nThe codes of a list of ids, those that are new entered.");

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
    for (Py_ssize_t at = 0; codes != NULL && at < count; at++) {
        char *id;
        Py_ssize_t size;
        int32_t code = -1;
        if (PyBytes_AsStringAndSize(PyList_GetItem(list, at), &id, &size) == 0) {
            if (memchr(id, 0, (size_t)size) != NULL) { /* which ends an id */
                PyErr_SetString(PyExc_ValueError, "an id has no zero byte");
            } else if ((code = code_of(self, id, (size_t)size, hashed(self->key, id, (size_t)size))) < 0) {
                PyErr_NoMemory();
            }
        }
        if (code < 0) {
            Py_CLEAR(codes);
        } else {
            memcpy(PyByteArray_AsString(codes) + (size_t)at * sizeof code, &code, sizeof code);
        }
    }
    self->busy = false;
    return codes;
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
    if (self->slots == NULL || !append(&self->edges, &zero, sizeof zero)) {
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
    {"sorted", (PyCFunction)vocabulary_sorted, METH_NOARGS, sorted_doc},
    {"ids", (PyCFunction)vocabulary_ids, METH_NOARGS, ids_doc},
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

static int add_types(PyObject *module) {
    PyObject *type = PyType_FromModuleAndSpec(module, &specification, NULL);
    int failed = type == NULL || PyModule_AddObjectRef(module, "Vocabulary", type) < 0;
    Py_XDECREF(type);
    return failed ? -1 : 0;
}

static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, (void *)add_types}, {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "_scan", .m_doc = "The quick reader of runs and judgments.", .m_slots = module_slots,
};

PyMODINIT_FUNC PyInit__scan(void) { return PyModuleDef_Init(&definition); }
