"""The direct road: `zarr.Array.__getitem__` and its `get_*_selection`, without the event loop.

These functions take the place of zarr's own. Integers, slices with positive steps, Ellipsis, index arrays,
masks and blocks on arrays in a LocalStore or MemoryStore are read here; everything else, errors of selections
included, goes to zarr's own function, which was there before.
"""

import os

import numpy as np

cimport numpy as cnp
from libc.stdlib cimport calloc, free
from libc.string cimport memset

import zarr.core.config
from zarr.core.array import Array, AsyncArray
from zarr.core.buffer import BufferPrototype, cpu
from zarr.storage import LocalStore, MemoryStore, StorePath

from cyzarr import _zarr, config, observe
from cyzarr.kernels.execute cimport ReadHolder, object_key, read_raise, read_run_held, reads_run
from cyzarr.kernels.files cimport nowait_works
from cyzarr.kernels.readplan cimport Read, read_free, read_new
from cyzarr.kernels.split cimport read_split
from cyzarr.kernels.status cimport E_AGAIN, OK
from cyzarr.kernels.types cimport MAX_NDIM, Source, Span
from cyzarr.planning import grids
from cyzarr.planning.basic cimport Key, keep_axis, parse
from cyzarr.planning.fancy import normalize_blocks, normalize_coordinates, normalize_mask, normalize_orthogonal
from cyzarr.planning.fields import picked_field
from cyzarr.planning.program import NotNativeError, compile_array, compile_grid, key_style, runs_python
from cyzarr.stores.plain import PLAIN, WATCHED

cnp.import_array()

cdef object zarr_config = zarr.core.config.config
cdef object DEFAULT_BUFFER = "zarr.buffer.cpu.Buffer"
cdef object DEFAULT_NDBUFFER = "zarr.buffer.cpu.NDBuffer"
# A read that is expected to take less than this keeps the GIL: to get it back from a busy Python thread
# would take thousands of microseconds.
HOLD_NS = 200_000
# One that takes less than this is not worth a second thread, nor to ask how many there may be.
cdef double HOP_NS = 30_000
# A brief read of an event loop's own thread takes less than handing it to another and back (measured: 50 us),
# and gives no more than this.
cdef double BRIEF_NS = 50_000
cdef Py_ssize_t BRIEF_NBYTES = 1 << 18
# zarr's own functions; set by activate.
cdef object zarr_getitem = None
cdef object zarr_get_basic_selection = None
cdef dict zarr_functions = {}
# What a direct read goes around, as it was when that was imported.
cdef tuple watched = WATCHED
cdef Py_ssize_t n_watched = len(watched)
cdef object local_store = LocalStore
cdef object memory_store = MemoryStore
cdef tuple local_methods = tuple(PLAIN[LocalStore].values())
cdef tuple memory_methods = tuple(PLAIN[MemoryStore].values())

cdef object MISSING = object()
# What a read that was to be brief gives where it would not be.
LATER = object()
# Extents beyond this could overflow where positions are added up.
MAX_EXTENT = 1 << 62
cdef Py_ssize_t served = 0
cdef bint tracing = False
cdef bint active = False
# cyzarr's section of zarr's config as it was last looked at, and what it says.
cdef object seen_section = None
cdef bint partial_reads = True


cdef class Compiled:
    """What is known of one AsyncArray; kept in its __dict__, valid while what it was made from is there.

    It is pickled as an empty dict, so that pickles open where cyzarr is not installed.
    """

    def __reduce__(self):
        return dict, ()


cdef Compiled compile_for(object async_array, dict attributes):
    """Compile an array, or find why it can't be; kept with the array either way."""
    cdef Compiled made = Compiled()
    made.metadata = attributes["metadata"]
    made.config = attributes["config"]
    made.pipeline = attributes["codec_pipeline"]
    made.store_path = attributes["store_path"]
    made.store = made.store_path.store
    made.path = made.store_path.path
    made.n_attributes = len(made.store.__dict__) if hasattr(made.store, "__dict__") else 0
    try:
        # What can't be compiled has program None and is looked at again when any of the above changes.
        compile_layout(made, async_array)
        compile_store(made)
    except NotNativeError as error:
        made.reason = str(error)
        made.program = None
    except (AttributeError, KeyError) as error:
        # A zarr or a store that is made otherwise than known: its own code reads.
        made.reason = f"{type(error).__name__}: {error}"
        made.program = None
    attributes["_cyzarr"] = made
    return made


cdef int compile_store(Compiled made) except -1:
    store = made.store
    if type(made.store_path) is not StorePath:
        raise NotNativeError(f"store path {type(made.store_path).__name__}")
    if type(store) is LocalStore:
        made.kind = LOCAL
        made.root = store.__dict__["root"]
        root = os.fsencode(made.root)
        if b"\0" in root or "\0" in made.path:
            raise NotNativeError("a path with a NUL byte")
        made.prefix = os.path.join(root, os.fsencode(made.path), b"")
    elif type(store) is MemoryStore:
        made.kind = MEMORY
        made.root = store.__dict__["_store_dict"]
        if type(made.root) is not dict:
            raise NotNativeError(f"MemoryStore over {type(made.root).__name__}")
    else:
        raise NotNativeError(f"store {type(store).__name__}")
    for name in WATCHED:
        if name in store.__dict__:
            raise NotNativeError(f"store whose {name} is overridden")
    made.key_prefix = made.path + "/" if made.path else ""
    return 0


cdef int compile_layout(Compiled made, object async_array) except -1:
    made.chosen = not _zarr.is_default_pipeline(made.pipeline)
    if made.chosen:
        raise NotNativeError(f"pipeline {type(made.pipeline).__name__} was chosen")
    made.grid = compile_grid(async_array)
    if made.grid is None:
        made.program = compile_array(async_array)
    else:
        # Any chunk's tells the data type.
        made.program = made.grid.program(made.grid.chunk_shape((0,) * len(made.metadata.shape)))
    made.needs_loop = made.program.chain["needs_loop"]
    made.may_be_brief = made.grid is None and not made.program.objects and not runs_python(made.program.chain)
    lead, separator = key_style(made.metadata)
    made.lead, made.separator = lead, ord(separator)
    made.simple = made.program.dtype == np.dtype(made.program.dtype.char) and made.program.dtype.kind in "biufc"
    # Format 2 gives arrays of the order that they are stored in.
    made.fortran = getattr(made.metadata, "order", made.config.order) == "F"
    made.fill_missing = _zarr.reads_missing(made.config)
    shape = made.metadata.shape
    made.ndim = len(shape)
    if made.ndim != len(made.program.shape) or any(extent > MAX_EXTENT for extent in shape):
        raise NotNativeError(f"an array of shape {shape} in chunks of {made.program.shape}")
    for axis, extent in enumerate(shape):
        made.shape[axis] = extent
    return 0


cdef bint still_valid(Compiled made, dict attributes):
    """Whether what an array was compiled from is still there."""
    cdef object store = made.store
    cdef dict own
    if (attributes["metadata"] is not made.metadata or attributes["config"] is not made.config
            or attributes["store_path"] is not made.store_path or attributes["codec_pipeline"] is not made.pipeline):
        return False
    if made.store_path.store is not store or made.store_path.path is not made.path:
        return False
    if made.program is None:
        return True
    own = store.__dict__
    if len(own) != made.n_attributes:
        return False
    if made.kind == LOCAL:
        return own.get("root") is made.root
    return own.get("_store_dict") is made.root


cdef bint store_is_plain(Compiled made):
    """Whether zarr itself would now go to the file or the dict: open, its classes as they were."""
    cdef object cls = local_store if made.kind == LOCAL else memory_store
    cdef tuple methods = local_methods if made.kind == LOCAL else memory_methods
    cdef dict own = made.store.__dict__
    cdef Py_ssize_t i
    if not own.get("_is_open", False):
        return False
    for i in range(n_watched):
        if getattr(cls, watched[i], None) is not methods[i]:
            return False
    return True


cdef bint settings_allow():
    """Whether zarr's config names the host-memory buffers, and objects may be read in part."""
    cdef dict settings = zarr_config.config
    cdef object ours = settings.get("cyzarr")
    if ours is not None or seen_section is not None:
        look_at_section(ours)
    if not partial_reads:
        return False
    return settings.get("buffer") == DEFAULT_BUFFER and settings.get("ndbuffer") == DEFAULT_NDBUFFER


cdef int look_at_section(object section) except -1:
    """Take over cyzarr's settings where they are others than before.

    `config.current` finds that out, too, and takes 0.2 us longer, which every read would wait for.
    """
    global seen_section, partial_reads
    if type(section) is dict and type(seen_section) is dict:
        try:
            if section == seen_section:
                return 0
        except Exception:
            # Values of some types, such as arrays, can't be compared; they are no settings.
            pass
    partial_reads = config.current().partial_storage_reads
    seen_section = dict(section) if type(section) is dict else section
    return 0


cdef bint default_prototype(object prototype):
    """Whether none is given, or the one for host memory."""
    return prototype is None or (type(prototype) is BufferPrototype and prototype == cpu.buffer_prototype)


cdef Compiled native(object array):
    """The array's program where a direct read may be made, else None."""
    # A subclass may have methods of its own.
    return native_async(array._async_array) if type(array) is Array else None


cdef Compiled awaited(object async_array):
    """The same for a read that is awaited; codecs that need zarr's loop are left to the pipeline, which awaits them."""
    cdef Compiled made = native_async(async_array)
    return None if made is None or made.needs_loop else made


cdef Compiled native_async(object async_array):
    """The same for an AsyncArray."""
    cdef dict attributes
    cdef object found
    cdef Compiled made
    if type(async_array) is not AsyncArray:
        return None
    attributes = async_array.__dict__
    found = attributes.get("_cyzarr")
    if type(found) is Compiled and still_valid(<Compiled> found, attributes):
        made = <Compiled> found
    else:
        made = compile_for(async_array, attributes)
    if made.program is None:
        if made.chosen:
            observe.note_fallback(made.reason)
        return None
    if not store_is_plain(made) or not settings_allow():
        return None
    return made


# --- reading

cdef int threads_for(const Read* read) except -1:
    if read.cost_ns < HOP_NS:
        return 1
    return config.threads()


cdef Source* look_up(Compiled made, Read* read, list held) except? NULL:
    """Find every object of a read in the MemoryStore; NULL where one is not a plain buffer."""
    cdef Source* sources = <Source*> calloc(read.n_objects, sizeof(Source))
    cdef dict objects = made.root
    cdef Py_ssize_t i
    cdef cnp.ndarray data
    if sources == NULL:
        raise MemoryError
    try:
        for i in range(read.n_objects):
            sources[i].fd = -1
            value = objects.get(made.key_prefix + object_key(read, i), MISSING)
            if value is MISSING:
                sources[i].size = -1
                continue
            if not is_plain_buffer(value):
                free(sources)
                return NULL
            data = value._data
            held.append(data)
            sources[i].size = data.size
            # An empty buffer has an address too.
            sources[i].data = <const char*> cnp.PyArray_DATA(data)
    except BaseException:
        free(sources)
        raise
    return sources


cdef bint is_plain_buffer(object value):
    """Whether a value is zarr's own buffer over contiguous bytes in host memory."""
    cdef cnp.ndarray data
    if type(value) is not cpu.Buffer or type(value._data) is not np.ndarray:
        return False
    data = value._data
    return data.itemsize == 1 and data.ndim == 1 and cnp.PyArray_IS_C_CONTIGUOUS(data)


cdef bint not_brief(Compiled made, const Key* key):
    """Whether a read may wait for a disk, runs codecs in Python, or is too large to be brief."""
    cdef Py_ssize_t nbytes = made.program.dtype.itemsize
    cdef int axis
    if made.kind != MEMORY or not made.may_be_brief:
        return True
    for axis in range(key.ndim):
        if key.shape[axis] > BRIEF_NBYTES:
            return True
        nbytes *= key.shape[axis]
        if nbytes > BRIEF_NBYTES:
            return True
    return False


cdef object new_output(Compiled made, Key* key):
    """A fresh array for what a key picks, as zarr allocates it."""
    cdef int axis
    if made.simple:
        return cnp.PyArray_EMPTY(key.ndim, key.shape, made.program.dtype.num, made.fortran)
    return _zarr.empty([key.shape[axis] for axis in range(key.ndim)], made.program.dtype,
                       "F" if made.fortran else "C")


cdef object all_axes(Compiled made, const Key* key, object out, bint points):
    """A view of `out` that has an axis for each integer of the key, too."""
    cdef int axis
    if points:
        return out
    return out[(*[None if key.drops[axis] else slice(None) for axis in range(made.ndim)], ...)]


cdef Read* new_read(Compiled made, const Span* spans, const Key* key, cnp.ndarray out, bint points) except NULL:
    """Plan the read of what a key picks into `out`. Objects in memory are looked up by the caller."""
    cdef Py_ssize_t strides[MAX_NDIM]
    cdef Read* read
    cdef int axis, at = 0
    for axis in range(made.ndim):
        strides[axis] = 0
        if not key.drops[axis]:
            strides[axis] = out.strides[at]
            at += 1
    read = read_new(made.program, spans, points, <char*> cnp.PyArray_DATA(out), strides)
    read.lead = made.lead
    read.separator = made.separator
    if made.kind == LOCAL:
        read.prefix = made.prefix
        read.prefix_nbytes = len(made.prefix)
    return read


cdef object run(Compiled made, Span* spans, Key* key, object out, bint points=False, object uses=None,
                bint brief=False):
    """Read into a fresh array, or into `out`. None: zarr's own code must say what this is.

    `brief`: LATER, with nothing read, where that may take longer than BRIEF_NS.
    """
    cdef Read* read
    cdef ReadHolder holder = None
    cdef Source* sources = NULL
    cdef list held = []
    cdef object placed = None
    cdef int status
    if made.needs_loop and _zarr.on_zarr_loop():
        # Zarr says that it can't be done.
        return None
    if brief and not key.empty and not_brief(made, key):
        return LATER
    out = new_output(made, key) if out is None else out
    if key.empty:
        return out
    if made.grid is not None:
        return run_grid(made, spans, key, out, points, uses)
    if made.program.objects:
        placed = all_axes(made, key, out, points)
    read = new_read(made, spans, key, out, points)
    try:
        if brief and (read.cost_ns > BRIEF_NS or read.n_tasks >= 64):
            return LATER
        read.target.objects = <void*> placed if made.program.objects else NULL
        if made.kind == MEMORY:
            sources = look_up(made, read, held)
            if sources == NULL:
                return None
            read.memory = sources
        status = E_AGAIN
        if read.cost_ns < HOLD_NS and read.n_tasks < 64 and (made.kind == MEMORY or nowait_works()):
            status = read_run_held(read)
        if status == E_AGAIN:
            holder = ReadHolder()
            holder.uses = (made, out, held, uses, placed)
            status = run_released(read, holder)
        if status != OK:
            read_raise(read, made.key_prefix)
            raise MemoryError("a read was given up")
        if read.missing and (key.field or not made.fill_missing):
            return None
        if tracing:
            observe.record("direct", read.stats)
        return out
    finally:
        if holder is None:
            read_free(read)
            free(sources)
        else:
            holder.read = read
            holder.sources = sources


cdef object run_grid(Compiled made, const Span* spans, const Key* key, object out, bint points, object uses):
    """Read from chunks of different shapes into `out`."""
    cdef int axis
    entries = []
    for axis in range(made.ndim):
        if spans[axis].index != NULL:
            entries.append(uses[0][axis])
        else:
            start, step, count = spans[axis].start, spans[axis].step, spans[axis].count
            entries.append(range(start, start + step * count, step))
    stats = grids.read(made.grid, tuple(entries), points, all_axes(made, key, out, points),
                       lambda chunks: made.store_path / made.metadata.encode_chunk_key(chunks))
    if stats is None or (stats.pop("missing") and (key.field or not made.fill_missing)):
        return None
    if tracing:
        observe.record("direct", stats)
    return out


cdef int run_released(Read* read, ReadHolder holder) except -1:
    cdef int threads = threads_for(read)
    read_split(read, threads)
    return reads_run(&read, 1, threads, holder)


# --- index arrays

cdef object read_entries(Compiled made, tuple entries, bint points, bint field, bint brief, object out=None):
    """Read per-axis entries (an int, a range or an intp array within the axis), or points. None: zarr's own code.

    `out` is an array of the data type and of the shape that the entries make.
    """
    cdef Span spans[MAX_NDIM]
    cdef Key key
    cdef object place = entry_spans(made, entries, points, spans, &key)
    key.field = field
    return run(made, spans, &key, out, points, (entries, place), brief)


cdef object entry_spans(Compiled made, tuple entries, bint points, Span* spans, Key* key):
    cdef cnp.ndarray index
    cdef Py_ssize_t longest = max([len(e) for e in entries if type(e) is np.ndarray], default=-1)
    cdef cnp.ndarray place = None if longest < 0 else np.arange(longest, dtype=np.intp)
    cdef int axis
    memset(spans, 0, made.ndim * sizeof(Span))
    key.ndim = 0
    key.numpy_ints = key.ellipsis = key.empty = key.field = False
    for axis, entry in enumerate(entries):
        if type(entry) is np.ndarray:
            index = entry
            if cnp.PyArray_TYPE(index) != cnp.NPY_INTP or index.ndim != 1 or not cnp.PyArray_IS_C_CONTIGUOUS(index):
                raise TypeError(f"axis {axis}: expected a contiguous intp array")
            if index.size and (index.min() < 0 or index.max() >= made.shape[axis]):
                raise IndexError(f"axis {axis}: positions outside an extent of {made.shape[axis]}")
            spans[axis].count = index.size
            spans[axis].index = <const Py_ssize_t*> cnp.PyArray_DATA(index)
            spans[axis].place = <const Py_ssize_t*> cnp.PyArray_DATA(place)
        elif type(entry) is range:
            spans[axis].start, spans[axis].count = entry.start, len(entry)
            spans[axis].step = entry.step if spans[axis].count > 1 else 1
        else:
            spans[axis].start, spans[axis].step, spans[axis].count = entry, 1, 1
            key.drops[axis] = True
            continue
        if points and axis > 0:
            key.drops[axis] = True
        else:
            keep_axis(spans, key, axis)
    return place


cdef int check_entries(tuple entries, Compiled made) except -1:
    """Whether integers and ranges lie within the array; index arrays are looked at where they are read."""
    cdef int axis = 0
    cdef Py_ssize_t start, step, n
    if len(entries) != made.ndim:
        raise IndexError(f"{len(entries)} entries for {made.ndim} axes")
    for entry in entries:
        if type(entry) is range:
            start, step, n = entry.start, entry.step, len(entry)
            # Without multiplying, which might overflow.
            if step < 1 or (n > 0 and (start < 0 or start >= made.shape[axis]
                                       or (n - 1) > (made.shape[axis] - 1 - start) // step)):
                raise IndexError(f"axis {axis}: {entry} outside an extent of {made.shape[axis]}")
        elif type(entry) is not np.ndarray and not 0 <= entry < made.shape[axis]:
            raise IndexError(f"axis {axis}: {entry} outside an extent of {made.shape[axis]}")
        axis += 1
    return 0


cdef int check_target(object out, tuple entries, bint points, Compiled made) except -1:
    """Whether `out` has room for exactly what the entries make."""
    cdef list counts = [len(entry) for entry in entries if type(entry) in (range, np.ndarray)]
    if points:
        if not counts or len(counts) != len(entries) or counts.count(counts[0]) != len(counts):
            raise ValueError(f"expected index arrays of one length, found {counts}")
        counts = counts[:1]
    if type(out) is not np.ndarray or out.dtype != made.program.dtype or not out.flags.writeable:
        raise TypeError(f"expected a writable array of {made.program.dtype}")
    if out.shape != tuple(counts):
        raise ValueError(f"an array of shape {out.shape} for {tuple(counts)} positions")
    return 0


cdef object pick(Compiled made, object normalize, object selection, bint points, object fields, bint brief=False):
    """The picked items. None: zarr's own code must say what this is. `brief` as for `run`."""
    cdef object found, picked, field = None
    global served
    if made is None or made.ndim == 0:
        return None
    if fields is not None:
        field = picked_field(fields, made.program.dtype)
        if field is None:
            return None
    found = normalize(selection, made.metadata.shape, made.program.shape if made.grid is None else made.grid.axes)
    if found is None:
        return None
    picked = read_entries(made, found[0], points, bool(field), brief)
    if picked is None or picked is LATER:
        return picked
    served += 1
    if field:
        picked = picked[field]
    return picked if found[1] is None else picked.reshape(found[1])


cdef object read_fancy(object self, str name, object normalize, object selection, bint points, object out,
                       object fields, object prototype):
    """The picked items; through zarr's function of this name where the direct road doesn't take the selection."""
    cdef object picked = None
    if active and out is None and default_prototype(prototype):
        picked = pick(native(self), normalize, selection, points, fields)
    if picked is None:
        return zarr_functions[name](self, selection, out=out, fields=fields, prototype=prototype)
    return picked


def get_orthogonal_selection(self, selection, *, out=None, fields=None, prototype=None):
    """`zarr.Array.get_orthogonal_selection`: see zarr's documentation."""
    return read_fancy(self, "get_orthogonal_selection", normalize_orthogonal, selection, False, out, fields, prototype)


def get_coordinate_selection(self, selection, *, out=None, fields=None, prototype=None):
    """`zarr.Array.get_coordinate_selection`: see zarr's documentation."""
    return read_fancy(self, "get_coordinate_selection", normalize_coordinates, selection, True, out, fields, prototype)


def get_mask_selection(self, mask, *, out=None, fields=None, prototype=None):
    """`zarr.Array.get_mask_selection`: see zarr's documentation."""
    return read_fancy(self, "get_mask_selection", normalize_mask, mask, True, out, fields, prototype)


def get_block_selection(self, selection, *, out=None, fields=None, prototype=None):
    """`zarr.Array.get_block_selection`: see zarr's documentation."""
    return read_fancy(self, "get_block_selection", normalize_blocks, selection, False, out, fields, prototype)


def getitem(self, selection):
    """`zarr.Array.__getitem__`: see zarr's documentation."""
    cdef Span spans[MAX_NDIM]
    cdef Key key
    cdef Compiled made = native(self) if active else None
    cdef object found
    global served
    if made is None or not parse(selection, made.ndim, made.shape, spans, &key):
        return zarr_getitem(self, selection)
    found = run(made, spans, &key, None)
    if found is None:
        return zarr_getitem(self, selection)
    served += 1
    # As zarr: integers and slices alone take its orthogonal road, which gives 0-d arrays; a NumPy
    # integer, an Ellipsis or an array of no axes its basic road, which gives scalars.
    if key.ndim == 0 and (key.numpy_ints or key.ellipsis or made.ndim == 0):
        return found[()]
    return found


def get_basic_selection(self, selection=Ellipsis, *, out=None, prototype=None, fields=None):
    """`zarr.Array.get_basic_selection`: see zarr's documentation."""
    cdef Span spans[MAX_NDIM]
    cdef Key key
    cdef Compiled made = native(self) if active and default_prototype(prototype) else None
    cdef object found = None, field = "", target = None
    global served
    if made is not None and fields is not None:
        field = picked_field(fields, made.program.dtype)
    if made is not None and field is not None and parse(selection, made.ndim, made.shape, spans, &key):
        if out is not None and not field:
            target = target_of(out, made, &key)
        if out is None or target is not None:
            key.field = bool(field)
            found = run(made, spans, &key, target)
    if found is None:
        return zarr_get_basic_selection(self, selection, out=out, prototype=prototype, fields=fields)
    served += 1
    if field:
        found = found[field]
    return found[()] if key.ndim == 0 else found


cdef object target_of(object out, Compiled made, const Key* key):
    """The ndarray of an `out` that can be read into as it is; None: through zarr's own code."""
    cdef int axis
    found = _zarr.cpu_array(out)
    if found is None or found.dtype != made.program.dtype or not found.flags.writeable or found.ndim != key.ndim:
        return None
    for axis in range(key.ndim):
        if found.shape[axis] != key.shape[axis]:
            return None
    return found


# --- for asyncread: AsyncArray's reads, in whichever thread they are called

def read_basic(async_array, selection, prototype, bint brief):
    """What `AsyncArray.getitem` gives; None: zarr's own code must say. `brief`: LATER where it would not be."""
    cdef Span spans[MAX_NDIM]
    cdef Key key
    cdef Compiled made = awaited(async_array) if active and default_prototype(prototype) else None
    cdef object found
    global served
    if made is None or not parse(selection, made.ndim, made.shape, spans, &key):
        return None
    found = run(made, spans, &key, None, False, None, brief)
    if found is None or found is LATER:
        return found
    served += 1
    return found[()] if key.ndim == 0 else found


def read_picked(async_array, normalize, selection, bint points, out, fields, prototype, bint brief):
    """The same for the selections that `normalize` (of planning.fancy) takes."""
    if not active or out is not None or not default_prototype(prototype):
        return None
    return pick(awaited(async_array), normalize, selection, points, fields, brief)


def in_memory(async_array, out, prototype):
    """Whether the direct road would read this array from a MemoryStore; None where it would not read it."""
    cdef Compiled made = None
    if active and out is None and default_prototype(prototype):
        made = awaited(async_array)
    return None if made is None else made.kind == MEMORY


# --- what activate and observe need

def set_zarr_function(str name not None, function):
    """zarr's own function of this name, for what the direct road doesn't take."""
    global zarr_getitem, zarr_get_basic_selection
    zarr_functions[name] = function
    if name == "__getitem__":
        zarr_getitem = function
    elif name == "get_basic_selection":
        zarr_get_basic_selection = function


def set_active(bint on):
    global active
    active = on


def is_active():
    return active


def set_tracing(bint on):
    global tracing
    tracing = on


cdef void count_served() noexcept:
    global served
    served += 1


def served_reads():
    """How many reads took the direct road since the process started."""
    return served


observe.register_direct(served_reads, set_tracing)
