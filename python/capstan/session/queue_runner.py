"""tf.train.QueueRunner: threads that fill a queue until it is closed or training stops."""

import threading
import weakref

from capstan.core import errors, protos
from capstan.core import graph as graphs
from capstan.core.defaults import session_for
from capstan.core.graph import GraphKeys
from capstan.core.public import public
from capstan.platform import logs
from capstan.session.session import BaseSession


@public("train.QueueRunner", "train.queue_runner.QueueRunner")
class QueueRunner:
    """One thread per enqueue op. With a coordinator, a stop closes the queue and ends the threads
    at once, also where they wait for something else than the queue."""

    def __init__(
        self,
        queue=None,
        enqueue_ops=None,
        close_op=None,
        cancel_op=None,
        queue_closed_exception_types=None,
        queue_runner_def=None,
        import_scope=None,
    ):
        if queue_runner_def:
            if queue or enqueue_ops:
                raise ValueError("queue_runner_def and queue are mutually exclusive.")
            self._take_def(queue_runner_def, import_scope)
        else:
            self._take_arguments(
                queue, enqueue_ops, close_op, cancel_op, queue_closed_exception_types
            )
        self._lock = threading.Lock()
        self._runs_per_session = weakref.WeakKeyDictionary()
        self._exceptions_raised = []

    def _take_arguments(self, queue, enqueue_ops, close_op, cancel_op, closed_types):
        if queue is None or not enqueue_ops:
            raise ValueError("Must provide queue and enqueue_ops.")
        if closed_types is not None and not _error_types(closed_types):
            raise TypeError(
                "queue_closed_exception_types, when provided, must be a tuple of tf.error "
                "types, but saw: %s" % (closed_types,)
            )
        self._queue, self._enqueue_ops = queue, enqueue_ops
        self._close_op = queue.close() if close_op is None else close_op
        self._cancel_op = (
            queue.close(cancel_pending_enqueues=True) if cancel_op is None else cancel_op
        )
        self._queue_closed_exception_types = closed_types or (errors.OutOfRangeError,)

    def _take_def(self, given, scope):
        def element(name):
            return graphs.get_default_graph().as_graph_element(
                graphs.prepend_name_scope(name, scope)
            )

        self._queue = element(given.queue_name)
        self._enqueue_ops = [element(name) for name in given.enqueue_op_name]
        self._close_op, self._cancel_op = (
            element(given.close_op_name),
            element(given.cancel_op_name),
        )
        types = [
            errors.exception_type_from_error_code(code)
            for code in given.queue_closed_exception_types
        ]
        self._queue_closed_exception_types = tuple(types) or (errors.OutOfRangeError,)

    queue = property(lambda self: self._queue)
    enqueue_ops = property(lambda self: self._enqueue_ops)
    close_op = property(lambda self: self._close_op)
    cancel_op = property(lambda self: self._cancel_op)
    queue_closed_exception_types = property(lambda self: self._queue_closed_exception_types)
    # What threads raised that had no coordinator to tell.
    exceptions_raised = property(lambda self: self._exceptions_raised)
    name = property(lambda self: self._queue.name)

    # --- Threads ----------------------------------------------------------------------------------

    def _run(self, sess, enqueue_op, coord=None):
        closed = False
        try:
            while not (coord and coord.should_stop()):
                sess.run(enqueue_op)
        except self._queue_closed_exception_types:
            closed = True
        except Exception as error:
            self._failed(error, coord)
        finally:
            self._ended(sess, closed)

    def _failed(self, error, coord):
        if coord is None:
            logs.error("Exception in QueueRunner: %s", error)
            with self._lock:
                self._exceptions_raised.append(error)
            raise error
        # Once a stop was asked for, being cancelled is what should happen.
        if not coord.should_stop():
            coord.request_stop(error)

    def _ended(self, sess, closed):
        with self._lock:
            self._runs_per_session[sess] -= 1
            last = self._runs_per_session[sess] == 0
        if closed and last:
            _run_quietly(sess, self._close_op)

    def _close_on_stop(self, sess, threads, coord):
        coord.wait_for_stop()
        _run_quietly(sess, self._cancel_op)
        waiting = [thread for thread in threads if thread.is_alive()]
        for thread in waiting:
            sess._cancel_runs_of(thread.ident)
        for thread in waiting:
            thread.join()
            sess._allow_runs_of(thread.ident)  # another thread may get this number

    def create_threads(self, sess, coord=None, daemon=False, start=False):
        """The threads, started or not; none when those made earlier for this session still run."""
        with self._lock:
            if self._runs_per_session.get(sess, 0) > 0:
                return []
            self._runs_per_session[sess] = len(self._enqueue_ops)
            self._exceptions_raised = []
        threads = [self._thread(self._run, (sess, op, coord), op.name) for op in self._enqueue_ops]
        if coord:
            threads.append(
                self._thread(self._close_on_stop, (sess, list(threads), coord), "close_on_stop")
            )
        for thread in threads:
            if coord:
                coord.register_thread(thread)
            thread.daemon = thread.daemon or daemon
            if start:
                thread.start()
        return threads

    def _thread(self, target, args, name):
        return threading.Thread(
            target=target, args=args, name="QueueRunnerThread-%s-%s" % (self.name, name)
        )

    # --- Messages ---------------------------------------------------------------------------------

    def to_proto(self, export_scope=None):
        if export_scope is not None and not self.queue.name.startswith(export_scope):
            return None

        def stripped(name):
            return graphs.strip_name_scope(name, export_scope) if export_scope else name

        return protos.QueueRunnerDef(
            queue_name=stripped(self.queue.name),
            enqueue_op_name=[stripped(op.name) for op in self._enqueue_ops],
            close_op_name=stripped(self._close_op.name),
            cancel_op_name=stripped(self._cancel_op.name),
            queue_closed_exception_types=[
                errors.error_code_from_exception_type(kind)
                for kind in self._queue_closed_exception_types
            ],
        )

    @staticmethod
    def from_proto(queue_runner_def, import_scope=None):
        return QueueRunner(queue_runner_def=queue_runner_def, import_scope=import_scope)


def _error_types(types):
    return isinstance(types, tuple) and types and all(issubclass(t, errors.OpError) for t in types)


def _run_quietly(sess, op):
    """Closing a queue of a session that is ending may fail, and then it does not matter."""
    try:
        sess.run(op)
    except (errors.OpError, RuntimeError) as error:
        logs.debug("closing a queue: %s", error)


@public("train.add_queue_runner", "train.queue_runner.add_queue_runner")
def add_queue_runner(qr, collection=GraphKeys.QUEUE_RUNNERS):
    graphs.add_to_collection(collection, qr)


@public("train.start_queue_runners", "train.queue_runner.start_queue_runners")
def start_queue_runners(
    sess=None, coord=None, daemon=True, start=True, collection=GraphKeys.QUEUE_RUNNERS
):
    """Starts the threads of all queue runners in a collection."""
    sess = session_for(sess, "start queue runners")
    if not isinstance(sess, BaseSession):
        if type(sess).__name__ in ("MonitoredSession", "SingularMonitoredSession"):
            return []  # it starts them itself
        raise TypeError("sess must be a `tf.Session` object. Given class: %s" % type(sess))
    runners = sess.graph.get_collection(collection)
    return [
        thread
        for runner in runners
        for thread in runner.create_threads(sess, coord=coord, daemon=daemon, start=start)
    ]
