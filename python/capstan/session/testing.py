"""tf.test: a TestCase with a session and comparisons of arrays."""

import contextlib
import socket
import sys
import tempfile
import unittest

import numpy as np

from capstan.core import errors
from capstan.core import graph as graphs
from capstan.core.defaults import session_for
from capstan.core.public import public
from capstan.core.shapes import TensorShape
from capstan.session.cluster import ClusterSpec, Server
from capstan.session.session import Session


@public("test.main")
def main(argv=None):
    unittest.main(argv=argv)


@public("test.get_temp_dir")
def get_temp_dir():
    return tempfile.mkdtemp(prefix="capstan_test_")


@public("test.is_built_with_cuda")
def is_built_with_cuda():
    return False


@public("test.is_gpu_available", differs="always False")
def is_gpu_available(cuda_only=False, min_cuda_compute_capability=None):
    return False


@public("test.TestCase")
class TestCase(unittest.TestCase):
    def setUp(self):
        super().setUp()
        graphs.reset_default_graph()
        self._tempdir = None

    def get_temp_dir(self):
        if self._tempdir is None:
            self._tempdir = get_temp_dir()
        return self._tempdir

    @contextlib.contextmanager
    def session(self, graph=None, config=None, use_gpu=True, force_gpu=False):
        with Session(graph=graph, config=config) as sess:
            yield sess

    test_session = cached_session = session

    def evaluate(self, tensors):
        return session_for(None, "evaluate").run(tensors)

    def assertAllClose(self, a, b, rtol=1e-6, atol=1e-6, msg=None):
        np.testing.assert_allclose(
            np.asarray(a), np.asarray(b), rtol=rtol, atol=atol, err_msg=msg or ""
        )

    def assertAllEqual(self, a, b, msg=None):
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b), err_msg=msg or "")

    def assertNear(self, f1, f2, err, msg=None):
        self.assertLessEqual(abs(f1 - f2), err, msg)

    def assertShapeEqual(self, input_a, input_b, msg=None):
        self.assertEqual(*(TensorShape(each.shape).as_list() for each in (input_a, input_b)), msg)

    def assertDictEqual(self, a, b, msg=None):
        super().assertDictEqual(a, b, msg)

    @contextlib.contextmanager
    def assertRaisesOpError(self, expected_err_re_or_predicate):
        with self.assertRaisesRegex(errors.OpError, expected_err_re_or_predicate):
            yield


@public("test.Benchmark")
class Benchmark:
    """Subclasses hold methods named benchmark...; running them is the program's business."""

    def report_benchmark(
        self,
        iters=None,
        cpu_time=None,
        wall_time=None,
        throughput=None,
        extras=None,
        name=None,
        metrics=None,
    ):
        label = name or "%s.%s" % (type(self).__name__, sys._getframe(1).f_code.co_name)
        parts = [
            "%s=%s" % item
            for item in (("iters", iters), ("wall_time", wall_time), ("throughput", throughput))
            if item[1] is not None
        ]
        print("%s: %s" % (label, ", ".join(parts)))

    def run_op_benchmark(
        self,
        sess,
        op_or_tensor,
        feed_dict=None,
        burn_iters=2,
        min_iters=10,
        store_trace=False,
        store_memory_usage=True,
        name=None,
        extras=None,
        mbs=0,
    ):
        import time

        for _ in range(burn_iters):
            sess.run(op_or_tensor, feed_dict)
        started = time.perf_counter()
        for _ in range(min_iters):
            sess.run(op_or_tensor, feed_dict)
        wall_time = (time.perf_counter() - started) / min_iters
        self.report_benchmark(iters=min_iters, wall_time=wall_time, name=name)
        return {"iters": min_iters, "wall_time": wall_time}


def _free_address():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return "127.0.0.1:%d" % free.getsockname()[1]


@public("test.create_local_cluster")
def create_local_cluster(num_workers, num_ps, protocol="grpc", worker_config=None, ps_config=None):
    """(workers, parameter servers), all in this process."""
    spec = ClusterSpec(
        {
            "worker": [_free_address() for _ in range(num_workers)],
            "ps": [_free_address() for _ in range(num_ps)],
        }
    )
    servers = {
        job: [
            Server(spec, job_name=job, task_index=i, protocol=protocol, config=config)
            for i in range(count)
        ]
        for job, count, config in (
            ("worker", num_workers, worker_config),
            ("ps", num_ps, ps_config),
        )
    }
    return servers["worker"], servers["ps"]
