"""tf.python_io: files of records."""

from capstan import _capstan
from capstan.core.public import public


@public("python_io.TFRecordCompressionType")
class TFRecordCompressionType:
    NONE, ZLIB, GZIP = 0, 1, 2


@public("python_io.TFRecordOptions")
class TFRecordOptions:
    """Everything but the type only matters to compressed files, which do not exist here."""

    def __init__(
        self,
        compression_type=None,
        flush_mode=None,
        input_buffer_size=None,
        output_buffer_size=None,
        window_bits=None,
        compression_level=None,
        compression_method=None,
        mem_level=None,
        compression_strategy=None,
    ):
        self.compression_type = compression_type


@public("python_io.TFRecordWriter", differs="not compressed")
class TFRecordWriter:
    def __init__(self, path, options=None):
        _refuse_compression(options)
        self._engine = _capstan.RecordWriter(str(path))

    def write(self, record):
        self._engine.write(bytes(record))

    def flush(self):
        self._engine.flush()

    def close(self):
        self._engine.close()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()


def _refuse_compression(options):
    kind = getattr(options, "compression_type", options)
    if kind not in (None, "", TFRecordCompressionType.NONE):
        raise NotImplementedError(
            "record files are neither written nor read compressed (%r)" % kind
        )


@public("python_io.tf_record_iterator", differs="not compressed")
def tf_record_iterator(path, options=None):
    _refuse_compression(options)
    reader = _capstan.RecordReader(str(path))
    while True:
        record = reader.next()
        if record is None:
            return
        yield record
