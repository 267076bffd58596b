/* All that must be done to read an array whole, and nothing else: open, pread, the decoder, memcpy into the output.
 *
 * Where the stored chunks lie is known beforehand: no metadata, no index, no plan, no check of what was read but its
 * length. Each thread takes one contiguous range of the chunks.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    void *zstd, *inflater;
} Context;

typedef struct {
    const char *path;
    ptrdiff_t offset, nbytes; /* in the file */
    ptrdiff_t place;          /* in the output: of the chunk's first item, in bytes */
} Stored;

typedef struct {
    int decoder; /* a number of cyzarr.kernels.c_table.DECODERS, or -1 for none */
    int (*decode)(int, Context *, const char *, ptrdiff_t, char *, ptrdiff_t, ptrdiff_t *);
    void (*init)(Context *);
    void (*clear)(Context *);
    ptrdiff_t rows[2], row_nbytes; /* of a chunk: its two outer extents, and the bytes of a row along the last axis */
    ptrdiff_t strides[2];          /* of the output, along the two outer axes, in bytes */
    ptrdiff_t most_nbytes;         /* of a stored chunk */
} Layout;

typedef struct {
    const Layout *layout;
    const Stored *chunks;
    ptrdiff_t first, end;
    char *out;
    int failed;
} Share;

static int contiguous(const Layout *layout) {
    return (layout->rows[1] == 1 || layout->strides[1] == layout->row_nbytes) &&
           (layout->rows[0] == 1 || layout->strides[0] == layout->rows[1] * layout->row_nbytes);
}

static void place(const Layout *layout, const char *from, char *to) {
    ptrdiff_t i, j;
    for (i = 0; i < layout->rows[0]; i++)
        for (j = 0; j < layout->rows[1]; j++, from += layout->row_nbytes)
            memcpy(to + i * layout->strides[0] + j * layout->strides[1], from, layout->row_nbytes);
}

static int read_chunk(const Share *share, Context *context, int file, const Stored *chunk, char *stored, char *decoded) {
    const Layout *layout = share->layout;
    ptrdiff_t nbytes = layout->rows[0] * layout->rows[1] * layout->row_nbytes, found;
    int straight = contiguous(layout);
    char *to = share->out + chunk->place;
    if (layout->decoder < 0)
        stored = straight ? to : stored;
    if (pread(file, stored, chunk->nbytes, chunk->offset) != chunk->nbytes)
        return -1;
    if (layout->decoder < 0)
        decoded = stored;
    else {
        decoded = straight ? to : decoded;
        if (layout->decode(layout->decoder, context, stored, chunk->nbytes, decoded, nbytes, &found))
            return -1;
    }
    if (!straight)
        place(layout, decoded, to);
    return 0;
}

static void *run(void *given) {
    Share *share = given;
    const Layout *layout = share->layout;
    char *stored = malloc(layout->most_nbytes), *decoded = malloc(layout->rows[0] * layout->rows[1] * layout->row_nbytes);
    const char *opened = NULL;
    Context context;
    ptrdiff_t i;
    int file = -1;
    layout->init(&context);
    for (i = share->first; i < share->end && !share->failed; i++) {
        const Stored *chunk = &share->chunks[i];
        if (chunk->path != opened) {
            if (file >= 0)
                close(file);
            file = open(opened = chunk->path, O_RDONLY);
        }
        share->failed = !stored || !decoded || file < 0 || read_chunk(share, &context, file, chunk, stored, decoded);
    }
    if (file >= 0)
        close(file);
    layout->clear(&context);
    free(stored);
    free(decoded);
    return NULL;
}

/* 0, or -1 where anything went wrong. The calling thread works along. */
int bare_read(const Layout *layout, const Stored *chunks, ptrdiff_t n, char *out, int threads) {
    Share shares[64];
    pthread_t others[64];
    int i, failed = 0;
    if (threads < 1 || threads > 64)
        return -1;
    for (i = 0; i < threads; i++) {
        shares[i] = (Share){layout, chunks, n * i / threads, n * (i + 1) / threads, out, 0};
        if (i > 0 && pthread_create(&others[i], NULL, run, &shares[i]))
            abort();
    }
    run(&shares[0]);
    for (i = 1; i < threads; i++)
        pthread_join(others[i], NULL);
    for (i = 0; i < threads; i++)
        failed |= shares[i].failed;
    return failed ? -1 : 0;
}
