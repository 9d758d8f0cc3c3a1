"""When a hook has something to do: every so many steps, or every so many seconds."""

import time

from capstan.core.public import public

NEVER = float("inf")


@public("train.SecondOrStepTimer")
class SecondOrStepTimer:
    """Triggers every so many seconds, or every so many steps."""

    def __init__(self, every_secs=None, every_steps=None):
        if every_secs is None and every_steps is None:
            raise ValueError("Either every_secs or every_steps should be provided.")
        if every_secs is not None and every_steps is not None:
            raise ValueError("Can not provide both every_secs and every_steps.")
        self._every_secs, self._every_steps = every_secs, every_steps
        self.reset()

    def reset(self):
        self._last_triggered_step = self._last_triggered_time = None

    def should_trigger_for_step(self, step):
        if self._last_triggered_step is None:
            return True
        if self._last_triggered_step == step:
            return False
        if self._every_secs is not None:
            return time.time() >= self._last_triggered_time + self._every_secs
        return step >= self._last_triggered_step + self._every_steps

    def update_last_triggered_step(self, step):
        """(seconds, steps) since the last time; (None, None) at the first."""
        now = time.time()
        since = (None, None)
        if self._last_triggered_time is not None:
            since = now - self._last_triggered_time, step - self._last_triggered_step
        self._last_triggered_time, self._last_triggered_step = now, step
        return since

    def last_triggered_step(self):
        return self._last_triggered_step

    def quiet_until(self):
        """(step, time) before which it does not trigger."""
        if self._last_triggered_step is None:
            return -1, 0.0
        if self._every_secs is not None:
            return NEVER, self._last_triggered_time + self._every_secs
        return int(self._last_triggered_step) + self._every_steps, NEVER


class NeverTimer:
    def reset(self):
        pass

    def should_trigger_for_step(self, step):
        return False

    def update_last_triggered_step(self, step):
        return None, None

    def last_triggered_step(self):
        return None
