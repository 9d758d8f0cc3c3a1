"""tensorflow.python.client.timeline: step statistics in the format of Chrome's trace viewer."""

import json

from capstan.core.public import public_module

public_module("python.client.timeline")


class Timeline:
    def __init__(self, step_stats, graph=None):
        self._step_stats = step_stats

    def generate_chrome_trace_format(
        self, show_dataflow=True, show_memory=False, op_time="schedule"
    ):
        events = []
        for pid, device in enumerate(self._step_stats.dev_stats):
            events.append(
                {"name": "process_name", "ph": "M", "pid": pid, "args": {"name": device.device}}
            )
            for stats in device.node_stats:
                events.append(
                    {
                        "ph": "X",
                        "cat": "Op",
                        "name": stats.timeline_label or stats.node_name,
                        "pid": pid,
                        "tid": stats.thread_id,
                        "ts": stats.all_start_micros,
                        "dur": stats.all_end_rel_micros,
                        "args": {"name": stats.node_name},
                    }
                )
        return json.dumps({"traceEvents": events}, indent=4)
