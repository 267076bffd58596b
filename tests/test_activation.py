"""Switching cyzarr on and off, by every door, alone and together, and what it leaves in zarr."""

from __future__ import annotations

import copy
import pickle
import pickletools
import textwrap
import warnings

import numpy as np
import pytest
import zarr
import zarr.core.codec_pipeline

from support import doors
from support.compare import assert_same_values
from support.doors import DIRECT, PIPELINE, assert_native, by_codecs_alone, needs_cyzarr, plain_zarr, trace
from support.handmade import crc32c, le, shard, store, zstd
from support.process import WITHOUT_CYZARR, run_python

METHODS = ["__getitem__", "get_basic_selection", "get_orthogonal_selection", "__setitem__"]


def example():
    """(stored, values): a sharded array with compressed inner chunks."""
    a = np.arange(12 * 10, dtype="i4").reshape(12, 10)
    return store(a, (6, 10), [shard((2, 5), [le(), zstd(), crc32c()])]), a


@pytest.fixture
def local(tmp_path):
    """(array folder, values)."""
    stored, values = example()
    stored.local(tmp_path / "a")
    return tmp_path / "a", values


def roads_of(call):
    """The roads that reads took while calling."""
    with trace() as counts:
        call()
    return set(counts.reads)


# -- enable and disable -----------------------------------------------------------------------


@needs_cyzarr
class TestEnable:
    def test_twice(self, local):
        import cyzarr

        folder, values = local
        before = [getattr(zarr.Array, name) for name in METHODS]
        cyzarr.enable()
        cyzarr.enable()
        assert cyzarr.status().enabled
        assert_same_values(zarr.open_array(folder)[...], values)
        cyzarr.disable()
        assert not cyzarr.status().enabled
        cyzarr.disable()
        assert [getattr(zarr.Array, name) for name in METHODS] == before
        assert_same_values(zarr.open_array(folder)[...], values)

    def test_disable_alone(self):
        import cyzarr

        before = zarr.Array.__getitem__
        cyzarr.disable()
        assert zarr.Array.__getitem__ is before
        assert not cyzarr.status().enabled

    def test_context_restores(self):
        import cyzarr

        with cyzarr.enabled():
            assert cyzarr.status().enabled
            with cyzarr.enabled():
                assert cyzarr.status().enabled
            assert cyzarr.status().enabled
        assert not cyzarr.status().enabled
        cyzarr.enable()
        with cyzarr.enabled():
            pass
        assert cyzarr.status().enabled

    def test_context_restores_after_an_error(self):
        import cyzarr

        with pytest.raises(KeyError), cyzarr.enabled():
            raise KeyError
        assert not cyzarr.status().enabled

    def test_arrays_opened_before_and_after(self, local):
        import cyzarr

        folder, values = local
        array = zarr.open_array(folder, mode="r")
        assert_same_values(array[2:5], values[2:5])
        cyzarr.enable()
        assert roads_of(lambda: assert_same_values(array[2:5], values[2:5])) == {"direct"}
        cyzarr.disable()
        with pytest.warns(RuntimeWarning, match="nothing was traced"):
            assert not roads_of(lambda: assert_same_values(array[2:5], values[2:5]))
        cyzarr.enable()
        assert roads_of(lambda: assert_same_values(array[2:5], values[2:5])) == {"direct"}

    def test_arrays_in_groups(self, tmp_path):
        stored, values = example()
        stored.local(tmp_path / "g" / "a")
        (tmp_path / "g" / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group", "attributes": {}}')
        with DIRECT.through():
            array = zarr.open_group(tmp_path / "g", mode="r")["a"]
            assert roads_of(lambda: assert_same_values(array[1], values[1])) == {"direct"}

    def test_a_later_patch_of_others_stays(self, local):
        """Also when they take it back later, which puts our function there: it only calls zarr's."""
        code = """
            import sys
            import zarr, cyzarr
            array = zarr.open_array(sys.argv[1], mode="r")
            cyzarr.enable()
            ours = zarr.Array.__getitem__
            calls = []

            def theirs(self, key):
                calls.append(key)
                return ours(self, key)

            zarr.Array.__getitem__ = theirs
            cyzarr.disable()
            assert zarr.Array.__getitem__ is theirs
            with cyzarr.trace() as t:
                assert array[1, 1] == 11
            assert calls == [(1, 1)] and set(t.reads) <= {"zarr"}, (calls, t.reads)

            zarr.Array.__getitem__ = ours
            assert array[1, 1] == 11
            for _ in range(2):
                cyzarr.enable()
                with cyzarr.trace() as t:
                    assert array[1, 1] == 11
                assert t.reads == {"direct": 1}, t.reads
                cyzarr.disable()
                assert array[1, 1] == 11
        """
        run_python(code, local[0])

    def test_unknown_signature_is_left_alone(self):
        """Where zarr isn't the zarr that we know, it stays as it is, with a warning."""
        code = """
            import warnings
            import zarr

            def other(self, selection, *, something_new):
                raise NotImplementedError

            zarr.Array.get_basic_selection = other
            before = zarr.Array.__getitem__
            import cyzarr
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                cyzarr.enable()
            assert [w for w in caught if "cyzarr" in str(w.message)], caught
            assert zarr.Array.__getitem__ is before and zarr.Array.get_basic_selection is other
            assert not cyzarr.status().enabled
        """
        run_python(code)

    @pytest.mark.parametrize(
        "change",
        [
            # Inherited, no longer the class's own.
            "parent = type('Parent', (), {'write': Batched.write}); del Batched.write; Batched.__bases__ += (parent,)",
            "del AsyncArray.get_mask_selection",
            "ArrayV3Metadata.from_dict = staticmethod(lambda data: None)",
            "ArrayV3Metadata.__init__ = lambda self, shape, data_type: None",
            "from cyzarr import rules; rules.set_original = broken",
        ],
    )
    def test_whole_or_not_at_all(self, change):
        """Whatever is found to be amiss, and when: with one warning, every function of zarr's stays."""
        code = """
            import sys, warnings
            import zarr
            from zarr import Array, AsyncArray
            from zarr.core.codec_pipeline import BatchedCodecPipeline as Batched
            from zarr.core.metadata.v3 import ArrayV3Metadata
            from zarr.codecs import ShardingCodec
            import cyzarr

            def broken(*_):
                raise RuntimeError("can't be told")

            exec(sys.argv[1])
            classes = [Array, AsyncArray, Batched, ArrayV3Metadata, ShardingCodec]
            before = [dict(vars(one)) for one in classes]
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                for _ in range(2):
                    assert not cyzarr.enable()
            assert len([w for w in caught if w.category is RuntimeWarning]) == 1, caught
            for one, was in zip(classes, before):
                changed = [name for name, value in was.items() if vars(one).get(name) is not value]
                assert not changed, (one, changed)
            assert not cyzarr.status().enabled
        """
        run_python(code, change)

    def test_after_what_failed(self, local):
        """A patch that failed midway, and one that was put back by others, are placed the next time."""
        code = """
            import sys, warnings
            import zarr, cyzarr
            from cyzarr import rules
            array = zarr.open_array(sys.argv[1], mode="r")
            zarrs, right = zarr.Array.__getitem__, rules.set_original

            def interrupted(*_):
                raise KeyboardInterrupt

            def on():
                with cyzarr.trace() as t:
                    assert array[1, 1] == 11
                return t.reads == {"direct": 1}

            rules.set_original = interrupted
            try:
                cyzarr.enable()
            except KeyboardInterrupt:
                pass
            assert zarr.Array.__getitem__ is zarrs and not cyzarr.status().enabled
            rules.set_original = right
            assert cyzarr.enable() and on()
            zarr.Array.__getitem__ = zarrs
            cyzarr.disable()
            assert not on()
            assert cyzarr.enable() and on()
        """
        run_python(code, local[0])

    def test_kernels_that_cannot_be_loaded(self, local):
        """One warning, then zarr as it was."""
        code = """
            import sys, warnings
            import zarr
            for name in ("blocks", "execute", "intersect"):
                sys.modules["cyzarr.kernels." + name] = None
            before = zarr.Array.__getitem__
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                import cyzarr.auto
                cyzarr.enable()
            assert len([w for w in caught if "cyzarr" in str(w.message)]) == 1, caught
            assert zarr.Array.__getitem__ is before
            assert zarr.open_array(sys.argv[1], mode="r")[1, 1] == 11
        """
        run_python(code, local[0])

    def test_auto(self, local):
        code = """
            import sys
            import zarr
            array = zarr.open_array(sys.argv[1], mode="r")
            import cyzarr.auto
            import cyzarr
            assert cyzarr.status().enabled
            with cyzarr.trace() as t:
                assert array[1, 1] == 11
            assert t.reads == {"direct": 1}, t.reads
            assert cyzarr.status().reads["direct"] == 1, cyzarr.status().reads
            assert "direct" in str(cyzarr.status())
        """
        run_python(code, local[0])

    def test_import_alone_changes_nothing(self):
        code = """
            import zarr
            before = {name: zarr.Array.__dict__[name] for name in vars(zarr.Array)}
            pipeline = zarr.config.get("codec_pipeline.path")
            import cyzarr
            assert not cyzarr.status().enabled
            assert all(zarr.Array.__dict__[name] is before[name] for name in before)
            assert zarr.config.get("codec_pipeline.path") == pipeline
        """
        run_python(code)

    def test_status_counts(self, local):
        import cyzarr

        folder, _ = local
        cyzarr.enable()
        array = zarr.open_array(folder, mode="r")
        before = dict(cyzarr.status().reads)
        array[1], array[2, 3], array.oindex[[1, 2]]
        after = cyzarr.status().reads
        assert after["direct"] - before.get("direct", 0) == 3
        assert set(cyzarr.status().native) >= {"zstd", "blosc", "lz4", "gzip", "zlib", "crc32c"}


# -- configuration ----------------------------------------------------------------------------


@needs_cyzarr
class TestConfiguration:
    def test_environment_variable_alone(self, local):
        code = """
            import sys
            import zarr
            array = zarr.open_array(sys.argv[1], mode="r")
            assert array[1, 1] == 11
            pipeline = type(array.async_array.codec_pipeline)
            assert f"{pipeline.__module__}.{pipeline.__qualname__}" == "cyzarr.CodecPipeline", pipeline
        """
        run_python(code, local[0], env={"ZARR_CODEC_PIPELINE__PATH": "cyzarr.CodecPipeline"})

    def test_pipeline_is_a_subclass_of_the_batched(self):
        from zarr.registry import get_pipeline_class

        import cyzarr

        with zarr.config.set({"codec_pipeline.path": "cyzarr.CodecPipeline"}):
            assert get_pipeline_class() is cyzarr.CodecPipeline
        assert issubclass(cyzarr.CodecPipeline, zarr.core.codec_pipeline.BatchedCodecPipeline)

    def test_codecs_are_chosen_by_name(self, local):
        import cyzarr

        with doors.CODECS.through():
            array = zarr.open_array(local[0], mode="r")
        assert type(array.metadata.codecs[0]) is cyzarr.ShardingCodec
        assert type(array.metadata.codecs[0].codecs[0]) is cyzarr.BytesCodec
        assert type(zarr.open_array(local[0], mode="r").metadata.codecs[0]) is not cyzarr.ShardingCodec

    def test_codecs_write_the_same_document(self, local):
        with doors.CODECS.through():
            ours = zarr.open_array(local[0], mode="r").metadata.to_dict()
        assert ours == zarr.open_array(local[0], mode="r").metadata.to_dict()

    def test_reset_between_reads(self, local):
        """Tests and users reset zarr's config; enabling doesn't lean on it."""
        folder, values = local
        with DIRECT.through():
            array = zarr.open_array(folder, mode="r")
            array[1]
            zarr.config.reset()
            assert roads_of(lambda: assert_same_values(array[2], values[2])) == {"direct"}
            again = zarr.open_array(folder, mode="r")
            assert roads_of(lambda: assert_same_values(again[2], values[2])) == {"direct"}

    @pytest.mark.parametrize(("key", "value"), [("async.concurrency", 1), ("threading.max_workers", 1)])
    def test_changed_between_reads(self, local, key, value):
        folder, values = local
        with DIRECT.through():
            array = zarr.open_array(folder, mode="r")
            array[1]
            with zarr.config.set({key: value}):
                assert_same_values(array[...], values)
            assert_same_values(array[...], values)

    def test_order_of_the_array_is_kept(self, local):
        """The order is the array's own, taken when it was opened."""
        folder, values = local
        with DIRECT.through(), zarr.config.set({"array.order": "F"}):
            array = zarr.open_array(folder, mode="r")
        with DIRECT.through():
            assert array[...].flags.f_contiguous
            assert not array[...].flags.c_contiguous
            assert zarr.open_array(folder, mode="r")[...].flags.c_contiguous
            assert_same_values(array[1:7, 2:9], values[1:7, 2:9])

    def test_partial_storage_reads_off(self, door, local):
        """Whole objects are fetched, the result is the same."""
        folder, values = local
        with zarr.config.set({"cyzarr.partial_storage_reads": False}):
            array = zarr.open_array(folder, mode="r")
            assert_same_values(array[3:5, 4:6], values[3:5, 4:6])
            assert_same_values(array[...], values)


class CountingPipeline(zarr.core.codec_pipeline.BatchedCodecPipeline):
    """A pipeline that someone chose on purpose."""

    reads = 0

    async def read(self, *args, **kwargs):
        type(self).reads += 1
        return await super().read(*args, **kwargs)


@needs_cyzarr
class TestChosenPipelines:
    @pytest.mark.skipif(not doors.HAS_FUSED, reason="zarr has no fused pipeline")
    def test_fused_is_kept(self, local):
        folder, values = local
        with DIRECT.through(), doors.FUSED_DOOR.through():
            array = zarr.open_array(folder, mode="r")
            assert type(array.async_array.codec_pipeline).__name__ == "FusedCodecPipeline"
            assert roads_of(lambda: assert_same_values(array[1], values[1])) <= {"zarr"}

    def test_anothers_pipeline_is_kept(self, local):
        from zarr.registry import register_pipeline

        import cyzarr

        folder, values = local
        register_pipeline(CountingPipeline)
        path = f"{CountingPipeline.__module__}.{CountingPipeline.__qualname__}"
        with DIRECT.through(), zarr.config.set({"codec_pipeline.path": path}):
            array = zarr.open_array(folder, mode="r")
            before = CountingPipeline.reads
            assert roads_of(lambda: assert_same_values(array[1], values[1])) <= {"zarr"}
            assert CountingPipeline.reads > before
            assert cyzarr.status().fallbacks

    def test_a_pipeline_set_on_the_array(self, local):
        folder, values = local
        with DIRECT.through():
            array = zarr.open_array(folder, mode="r")
            array[1]
            chosen = CountingPipeline.from_codecs(array.metadata.codecs)
            object.__setattr__(array.async_array, "codec_pipeline", chosen)
            before = CountingPipeline.reads
            assert_same_values(array[1], values[1])
            assert CountingPipeline.reads > before


# -- pickles, copies, changes of the array ----------------------------------------------------


def test_pickles(door, local):
    folder, values = local
    array = zarr.open_array(folder, mode="r")
    array[1]
    again = pickle.loads(pickle.dumps(array))
    assert again.metadata.to_dict() == array.metadata.to_dict()
    with trace() as counts:
        assert_same_values(again[1:5], values[1:5])
    if not by_codecs_alone(door):
        # Our codecs are pickled as zarr's own.
        assert_native(counts, door)
    assert_same_values(array[1:5], values[1:5])


def test_pickles_open_without_cyzarr(door, local, tmp_path):
    """Arrays, their async arrays and their codecs: nothing of ours is in the pickle."""
    folder, _ = local
    array = zarr.open_array(folder, mode="r")
    array[1]
    array.oindex[[1]]
    for name, thing in {"array": array, "async": array.async_array, "metadata": array.metadata}.items():
        data = pickle.dumps(thing)
        words = [word for _, word, _ in pickletools.genops(data) if isinstance(word, str)]
        assert not [word for word in words if "cyzarr" in word and word != "_cyzarr"], name
    (tmp_path / "pickle").write_bytes(pickle.dumps(array))
    code = """
        import pickle
        import sys
        with open(sys.argv[1], "rb") as file:
            array = pickle.load(file)
        assert array[1, 1] == 11
    """
    run_python(WITHOUT_CYZARR + textwrap.dedent(code), tmp_path / "pickle")


@needs_cyzarr
def test_pickled_pipeline_goes_by_the_configuration(local):
    """As in a dask worker: the pipeline is the one that the configuration names where the pickle is opened."""
    folder, values = local
    with PIPELINE.through():
        data = pickle.dumps(zarr.open_array(folder, mode="r"))
        array = pickle.loads(data)
        assert roads_of(lambda: assert_same_values(array[1], values[1])) == {"pipeline"}
        twin = copy.copy(array.async_array.codec_pipeline)
        assert twin == array.async_array.codec_pipeline
        assert type(twin) is type(copy.deepcopy(twin)) is type(array.async_array.codec_pipeline)
    array = pickle.loads(data)
    with pytest.warns(RuntimeWarning, match="nothing was traced"):
        assert not roads_of(lambda: assert_same_values(array[1], values[1]))


@needs_cyzarr
def test_pickles_made_without_cyzarr(local):
    folder, values = local
    data = pickle.dumps(zarr.open_array(folder, mode="r"))
    with DIRECT.through():
        array = pickle.loads(data)
        assert roads_of(lambda: assert_same_values(array[1], values[1])) == {"direct"}


def test_copies(door, local):
    folder, values = local
    array = zarr.open_array(folder, mode="r")
    array[1]
    for twin in (copy.copy(array), copy.deepcopy(array)):
        assert_same_values(twin[2:4], values[2:4])


def test_equality_is_not_disturbed(door, local):
    """What is cached on an array doesn't take part in comparison."""
    folder, _ = local
    one, two = zarr.open_array(folder, mode="r"), zarr.open_array(folder, mode="r")
    one[1]
    assert one == two


def test_resize_after_a_read(door, put):
    stored, values = example()
    array = zarr.open_array(put(stored), mode="r+")
    assert_same_values(array[...], values)
    array.resize((20, 12))
    want = np.zeros((20, 12), "i4")
    want[:12, :10] = values
    assert_same_values(array[...], want)
    assert_same_values(array[10:14, 8:12], want[10:14, 8:12])
    with pytest.raises(IndexError):
        array[20]
    array.resize((5, 7))
    assert_same_values(array[...], values[:5, :7])
    with pytest.raises(IndexError):
        array[5]


def test_append_after_a_read(door, put):
    stored, values = example()
    array = zarr.open_array(put(stored), mode="r+")
    array[...]
    more = np.arange(70, dtype="i4").reshape(7, 10)
    array.append(more)
    assert_same_values(array[...], np.concatenate([values, more]))


def test_write_after_a_read(door, put):
    """A read after a write sees it, also through another array object."""
    stored, values = example()
    opened = put(stored)
    array, other = zarr.open_array(opened, mode="r+"), zarr.open_array(opened, mode="r")
    array[...], other[...]
    for step in range(3):
        array[3:9, 1:7] = step - 100
        values[3:9, 1:7] = step - 100
        assert_same_values(array[...], values)
        assert_same_values(other[2:10], values[2:10])


def test_chunks_that_appear_and_vanish(door, put):
    a = np.arange(8, dtype="i4")
    stored = store(a, (4,), [le()], fill=-1, missing={(1,)})
    opened = put(stored)
    array = zarr.open_array(opened, mode="r+")
    assert_same_values(array[...], a)
    array[4:] = 5
    assert list(array[3:6]) == [3, 5, 5]
    zarr.core.sync.sync(opened.delete("c/0"))
    assert list(array[2:6]) == [-1, -1, 5, 5]


WRITES = {
    "plain": {"chunks": (5, 4)},
    "sharded": {"chunks": (2, 3), "shards": (4, 9)},
}


@pytest.mark.parametrize("layout", WRITES.values(), ids=WRITES)
def test_writes_are_byte_identical(door, layout):
    """Writing is zarr's own code."""
    a = np.random.default_rng(1).integers(0, 9, (11, 13)).astype("f4")

    def written():
        made = zarr.create_array(zarr.storage.MemoryStore(), shape=a.shape, dtype=a.dtype, **layout)
        made[...] = a
        made[3:7, 2] = -1
        made.oindex[[1, 10], [0, 5, 12]] = 7
        return {key: value.to_bytes() for key, value in made.store._store_dict.items()}

    ours = written()
    with plain_zarr():
        assert ours == written()


def test_async_reads(door, local):
    """The asynchronous API gives the same."""
    folder, values = local
    array = zarr.open_array(folder, mode="r")

    async def read():
        return await array.async_array.getitem((slice(1, 7), slice(2, 9)))

    assert_same_values(zarr.core.sync.sync(read()), values[1:7, 2:9])


def test_no_warnings(door, local):
    folder, _ = local
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        array = zarr.open_array(folder, mode="r")
        array[...], array[1, 2], array[3:5]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_no_deprecation_warnings(door, tmp_path, zarr_format):
    """What zarr deprecates in itself isn't reported to users by our reads."""
    zarr.create_array(tmp_path / "a", shape=(9,), chunks=(4,), dtype="i4", zarr_format=zarr_format)[...] = 5
    array = zarr.open_array(tmp_path / "a", mode="r")
    assert array[3:7].tolist() == array.oindex[[3, 4, 5, 6]].tolist() == [5] * 4
