"""tf.train.QueueRunner: threads that run an operation until its queue is closed."""

import threading
import weakref

from capstan import errors, graph as graphs
from capstan.graph import GraphKeys


class QueueRunner:
    def __init__(self, queue=None, enqueue_ops=None, close_op=None, cancel_op=None,
                 queue_closed_exception_types=None, queue_runner_def=None, import_scope=None):
        if queue is None or not enqueue_ops:
            raise ValueError("Must provide queue and enqueue_ops.")
        close = queue.close() if close_op is None else close_op
        cancel = queue.close(cancel_pending_enqueues=True) if cancel_op is None else cancel_op
        self._set(queue.name, list(enqueue_ops), close, cancel, queue_closed_exception_types, queue)

    def _set(self, name, enqueue_ops, close_op, cancel_op, closed_types=None, queue=None):
        self._queue, self._name = queue, name
        self._enqueue_ops, self._close_op, self._cancel_op = enqueue_ops, close_op, cancel_op
        self._closed = tuple(closed_types or (errors.OutOfRangeError, errors.CancelledError))
        self._lock = threading.Lock()
        self._runs = weakref.WeakKeyDictionary()  # {session: threads still running}
        self._exceptions = []

    @classmethod
    def of_ops(cls, name, enqueue_ops, close_op, cancel_op):
        """For a queue whose nodes the engine made."""
        made = cls.__new__(cls)
        made._set(name, enqueue_ops, close_op, cancel_op)
        return made

    queue = property(lambda self: self._queue)
    name = property(lambda self: self._name)
    enqueue_ops = property(lambda self: self._enqueue_ops)
    close_op = property(lambda self: self._close_op)
    cancel_op = property(lambda self: self._cancel_op)
    exceptions_raised = property(lambda self: self._exceptions)

    def _run(self, sess, enqueue_op, coord=None):
        counted = True
        try:
            while not (coord and coord.should_stop()):
                try:
                    sess.run(enqueue_op)
                except self._closed:
                    with self._lock:
                        self._runs[sess] -= 1
                        counted, last = False, self._runs[sess] == 0
                    if last:
                        self._run_quietly(sess, self._close_op)
                    return
        except Exception as error:  # handed to the coordinator, or kept for the program
            if coord:
                coord.request_stop(error)
            else:
                with self._lock:
                    self._exceptions.append(error)
                raise
        finally:
            if counted:
                with self._lock:
                    self._runs[sess] -= 1

    @staticmethod
    def _run_quietly(sess, op):
        """Closing a queue of a session that is closed, or of a task that has gone, does nothing."""
        try:
            sess.run(op)
        except (errors.OpError, RuntimeError):
            pass

    def _close_on_stop(self, sess, coord):
        coord.wait_for_stop()
        self._run_quietly(sess, self._cancel_op)

    def create_threads(self, sess, coord=None, daemon=False, start=False):
        with self._lock:
            if self._runs.get(sess, 0) > 0:
                return []
            self._runs[sess] = len(self._enqueue_ops)
        threads = [threading.Thread(target=self._run, args=(sess, op, coord),
                                    name="QueueRunnerThread-%s-%s" % (self._name, op.name))
                   for op in self._enqueue_ops]
        if coord:
            threads.append(threading.Thread(target=self._close_on_stop, args=(sess, coord),
                                            name="QueueRunnerThread-%s-close_on_stop" % self._name))
        for thread in threads:
            thread.daemon = daemon
            if coord:
                coord.register_thread(thread)
            if start:
                thread.start()
        return threads


def add_queue_runner(qr, collection=GraphKeys.QUEUE_RUNNERS):
    graphs.add_to_collection(collection, qr)


def start_queue_runners(sess=None, coord=None, daemon=True, start=True,
                        collection=GraphKeys.QUEUE_RUNNERS):
    from capstan.saver import plain_session
    from capstan.session import session_for

    sess = plain_session(session_for(sess, "start queue runners"))
    threads = []
    for runner in sess.graph.get_collection(collection):
        threads.extend(runner.create_threads(sess, coord=coord, daemon=daemon, start=start))
    return threads
