"""The innermost of nested blocks, per thread: which session, or graph, is the default."""

import contextlib
import threading

from capstan.core.public import public


class Stack(threading.local):
    """The innermost of nested blocks, per thread."""

    def __init__(self):
        super().__init__()
        self.items = []

    @contextlib.contextmanager
    def block(self, item):
        self.items.append(item)
        try:
            yield item
        finally:
            if not self.items or self.items[-1] is not item:
                raise AssertionError(
                    "Nesting violated for default stack of %s objects" % type(item).__name__
                )
            self.items.pop()

    def top(self):
        return self.items[-1] if self.items else None


default_sessions = Stack()


@public("get_default_session")
def get_default_session():
    return default_sessions.top()


def session_for(session, what):
    """The given session, else the default one."""
    session = session if session is not None else get_default_session()
    if session is None:
        raise ValueError(
            "Cannot %s: no default session is registered. Use `with sess.as_default()` or "
            "pass an explicit session=sess." % what
        )
    return session
