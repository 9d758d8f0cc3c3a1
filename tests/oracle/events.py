"""What TensorBoard's own reader finds in a folder of event files: python events.py folder."""

import json
import sys

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator


def main(folder):
    log = EventAccumulator(folder).Reload()
    scalars = {tag: [[s.step, s.value] for s in log.Scalars(tag)] for tag in log.Tags()["scalars"]}
    counts = {tag: [[h.step, h.histogram_value.num] for h in log.Histograms(tag)] for tag in log.Tags()["histograms"]}
    nodes = [[node.name, node.op, list(node.input)] for node in log.Graph().node] if log.Tags()["graph"] else []
    print(json.dumps({"scalars": scalars, "histograms": counts, "nodes": nodes}))


if __name__ == "__main__":
    main(sys.argv[1])
