"""tf.train.Coordinator: threads that stop together, and the first error among them."""

import contextlib
import sys
import threading
import time

from capstan.core import errors
from capstan.core.public import public
from capstan.platform import logs


@public("train.Coordinator")
class Coordinator:
    """One thread asks for a stop, all see it; join() waits for them and raises the first error."""

    def __init__(self, clean_stop_exception_types=None):
        if clean_stop_exception_types is None:
            clean_stop_exception_types = (errors.OutOfRangeError,)
        self._clean_stop_exception_types = tuple(clean_stop_exception_types)
        self._lock = threading.Lock()
        self._stop_event = threading.Event()
        self._exc_info_to_raise = None
        self._joined = False
        self._registered_threads = set()

    def _filter_exception(self, ex):
        value = ex[1] if isinstance(ex, tuple) else ex
        return None if isinstance(value, self._clean_stop_exception_types) else ex

    def request_stop(self, ex=None):
        """From now on should_stop() is true. The first error given is what join() raises."""
        with self._lock:
            ex = self._filter_exception(ex)
            if self._joined and ex is not None:
                # Nobody will join again: this is the last chance to hear of it.
                raise ex[1] if isinstance(ex, tuple) else ex
            if self._stop_event.is_set():
                return
            if ex is not None and self._exc_info_to_raise is None:
                self._exc_info_to_raise = _exc_info(ex)
                logs.info("Error reported to Coordinator: %s, %s", *self._exc_info_to_raise[:2])
            self._stop_event.set()

    def clear_stop(self):
        with self._lock:
            self._joined = False
            self._exc_info_to_raise = None
            self._stop_event.clear()

    def should_stop(self):
        return self._stop_event.is_set()

    @contextlib.contextmanager
    def stop_on_exception(self):
        """An error in the block asks for a stop and goes no further."""
        try:
            yield
        except:  # noqa: E722
            self.request_stop(ex=sys.exc_info())

    def wait_for_stop(self, timeout=None):
        return self._stop_event.wait(timeout)

    def register_thread(self, thread):
        with self._lock:
            self._registered_threads.add(thread)

    def _live_threads(self):
        with self._lock:
            return [thread for thread in self._registered_threads if thread.is_alive()]

    def join(self, threads=None, stop_grace_period_secs=120, ignore_live_threads=False):
        """Waits until the threads have ended, or a stop was asked for and the grace is over."""
        with self._lock:
            threads = list(self._registered_threads.union(threads or ()))
        while any(t.is_alive() for t in threads) and not self.wait_for_stop(1.0):
            pass
        join_all(threads, stop_grace_period_secs)
        self._finish_join([t.name for t in threads if t.is_alive()], ignore_live_threads)

    def _finish_join(self, stragglers, ignore_live_threads):
        with self._lock:
            self._joined = True
            self._registered_threads = set()
            if self._exc_info_to_raise:
                raise self._exc_info_to_raise[1]
            if not stragglers:
                return
            text = "Coordinator stopped with threads still running: %s" % " ".join(stragglers)
            if not ignore_live_threads:
                raise RuntimeError(text)
            logs.info(text)

    @property
    def joined(self):
        return self._joined

    def raise_requested_exception(self):
        if self._exc_info_to_raise is None:
            return
        raise self._exc_info_to_raise[1]


def _exc_info(ex):
    if isinstance(ex, tuple):
        if len(ex) == 3 and ex[0] and ex[1]:
            return ex
        ex = ValueError("ex must be an exception or what sys.exc_info() returns, not %r" % (ex,))
    return type(ex), ex, ex.__traceback__


def join_all(threads, secs):
    """Waits for the threads, at most so long for all of them."""
    end = time.monotonic() + secs
    for thread in threads:
        if thread.is_alive() and thread is not threading.current_thread():
            thread.join(max(0.0, end - time.monotonic()))


@public("train.LooperThread")
class LooperThread(threading.Thread):
    """Runs code again and again, on a timer if one is given, until its coordinator stops."""

    def __init__(self, coord, timer_interval_secs, target=None, args=None, kwargs=None):
        if not isinstance(coord, Coordinator):
            raise ValueError("'coord' argument must be a Coordinator: %s" % (coord,))
        if not target and (args or kwargs):
            raise ValueError("'args' and 'kwargs' argument require that you also pass 'target'")
        super().__init__()
        self.daemon = True
        self._coord = coord
        self._timer_interval_secs = timer_interval_secs
        self._looped = (target, args or (), kwargs or {})
        coord.register_thread(self)

    @staticmethod
    def loop(coord, timer_interval_secs, target, args=None, kwargs=None):
        looper = LooperThread(coord, timer_interval_secs, target=target, args=args, kwargs=kwargs)
        looper.start()
        return looper

    def run(self):
        with self._coord.stop_on_exception():
            self.start_loop()
            if self._timer_interval_secs is None:
                while not self._coord.should_stop():
                    self.run_loop()
            else:
                self._run_on_timer()
            self.stop_loop()

    def _run_on_timer(self):
        next_time = time.time()
        while not self._coord.wait_for_stop(next_time - time.time()):
            next_time += self._timer_interval_secs
            self.run_loop()

    def start_loop(self):
        """Called when the thread starts."""

    def stop_loop(self):
        """Called when the thread stops."""

    def run_loop(self):
        target, args, kwargs = self._looped
        if target:
            target(*args, **kwargs)
