"""tf.train.Coordinator: threads that stop together."""

import contextlib
import threading
import time


class Coordinator:
    def __init__(self, clean_stop_exception_types=None):
        from capstan import errors

        self._clean = (errors.OutOfRangeError,) if clean_stop_exception_types is None \
            else tuple(clean_stop_exception_types)
        self._lock = threading.Lock()
        self._stop_event = threading.Event()
        self._exception = None
        self._joined = False
        self._threads = set()

    def _take_exception(self, error):
        if isinstance(error, tuple):
            error = error[1]
        if isinstance(error, self._clean):
            return
        if self._exception is None:
            self._exception = error

    def request_stop(self, ex=None):
        """Asks the threads to stop; an exception is raised again by join()."""
        with self._lock:
            if self._joined:
                if ex is not None and not isinstance(ex, self._clean):
                    raise ex if isinstance(ex, BaseException) else ex[1]
                return
            if ex is not None and not self._stop_event.is_set():
                self._take_exception(ex)
            self._stop_event.set()

    def clear_stop(self):
        with self._lock:
            self._joined = False
            self._exception = None
            self._stop_event.clear()

    def should_stop(self):
        return self._stop_event.is_set()

    def wait_for_stop(self, timeout=None):
        return self._stop_event.wait(timeout)

    @contextlib.contextmanager
    def stop_on_exception(self):
        try:
            yield
        except Exception as error:  # every failure of a thread stops the others
            self.request_stop(error)

    def register_thread(self, thread):
        with self._lock:
            self._threads.add(thread)

    def join(self, threads=None, stop_grace_period_secs=120, ignore_live_threads=False):
        """Waits for the threads; raises the exception that stopped them."""
        with self._lock:
            threads = self._threads if threads is None else self._threads.union(threads)
            threads = list(threads)
        while any(t.is_alive() for t in threads) and not self.wait_for_stop(0.2):
            pass
        deadline = time.monotonic() + stop_grace_period_secs
        if self.should_stop():
            for thread in threads:
                thread.join(max(0.0, deadline - time.monotonic()))
        left = [t.name for t in threads if t.is_alive()]
        with self._lock:
            self._joined = True
            self._threads.clear()
            error = self._exception
        if error is not None:
            raise error
        if left and not ignore_live_threads:
            raise RuntimeError("Coordinator stopped with threads still running: %s" % " ".join(left))

    @property
    def joined(self):
        return self._joined

    def raise_requested_exception(self):
        with self._lock:
            if self._exception is not None:
                raise self._exception


class LooperThread(threading.Thread):
    """Runs a function again and again until the coordinator stops."""

    def __init__(self, coord, timer_interval_secs, target=None, args=None, kwargs=None):
        if not isinstance(coord, Coordinator):
            raise ValueError("'coord' argument must be a Coordinator: %s" % coord)
        super().__init__(daemon=True)
        self._coord, self._interval = coord, timer_interval_secs
        self._call, self._call_args, self._call_kwargs = target, args or (), kwargs or {}
        coord.register_thread(self)

    @staticmethod
    def loop(coord, timer_interval_secs, target, args=None, kwargs=None):
        looper = LooperThread(coord, timer_interval_secs, target, args, kwargs)
        looper.start()
        return looper

    def run(self):
        with self._coord.stop_on_exception():
            self.start_loop()
            # The first time at once.
            pause = 0.0
            while not self._coord.wait_for_stop(pause):
                pause = self._interval or 0.0
                self.run_loop()
            self.stop_loop()

    def start_loop(self):
        pass

    def stop_loop(self):
        pass

    def run_loop(self):
        if self._call:
            self._call(*self._call_args, **self._call_kwargs)


