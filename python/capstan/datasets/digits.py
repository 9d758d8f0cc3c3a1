"""Digits drawn from strokes, turned, bent and blurred at random; the same ones every time."""

import numpy as np

TRAIN, TEST = 60000, 10000
_VARIANTS = 240  # drawings per digit; each is then shifted, dimmed and sprinkled with noise

# Strokes as points in a unit square, y downwards; arcs as (centre x, centre y, rx, ry, from, to).
_STROKES = {
    0: [(0.5, 0.5, 0.26, 0.4, 0, 360)],
    1: [[(0.36, 0.26), (0.52, 0.1), (0.52, 0.9)]],
    2: [(0.5, 0.3, 0.25, 0.2, 180, 380), [(0.73, 0.36), (0.24, 0.9), (0.78, 0.9)]],
    3: [(0.47, 0.3, 0.24, 0.2, 200, 450), (0.47, 0.7, 0.27, 0.2, 270, 520)],
    4: [[(0.6, 0.1), (0.22, 0.62), (0.8, 0.62)], [(0.62, 0.36), (0.62, 0.92)]],
    5: [[(0.74, 0.1), (0.34, 0.1), (0.31, 0.46)], (0.48, 0.66, 0.25, 0.23, 225, 510)],
    6: [[(0.66, 0.1), (0.38, 0.42), (0.27, 0.66)], (0.5, 0.68, 0.23, 0.22, 0, 360)],
    7: [[(0.22, 0.12), (0.78, 0.12), (0.44, 0.9)]],
    8: [(0.5, 0.3, 0.2, 0.19, 0, 360), (0.5, 0.7, 0.25, 0.21, 0, 360)],
    9: [(0.5, 0.32, 0.22, 0.21, 0, 360), [(0.72, 0.34), (0.66, 0.62), (0.54, 0.92)]],
}


def _points(stroke):
    """A stroke as many points."""
    if isinstance(stroke, tuple):
        x, y, rx, ry, start, end = stroke
        angle = np.radians(np.linspace(start, end, 40))
        return np.stack([x + rx * np.cos(angle), y + ry * np.sin(angle)], 1)
    corners = np.array(stroke)
    return np.concatenate([np.linspace(a, b, 20) for a, b in zip(corners[:-1], corners[1:])])


def _drawings(digit, random):
    """_VARIANTS images of one digit, as floats in [0, 1]."""
    points = np.concatenate([_points(stroke) for stroke in _STROKES[digit]]) - 0.5
    n = _VARIANTS
    angle = random.normal(0, 0.16, n)
    scale = random.uniform(0.82, 1.1, (n, 2)) * [1.0, 1.0] * 22.0
    slant = random.normal(0, 0.18, n)
    bent = points[None] + 0.035 * np.sin(
        points[None, :, ::-1] * random.uniform(3, 7, (n, 1, 2)) + random.uniform(0, 6.28, (n, 1, 2))
    )
    x = bent[:, :, 0] + slant[:, None] * -bent[:, :, 1]
    y = bent[:, :, 1]
    cos, sin = np.cos(angle)[:, None], np.sin(angle)[:, None]
    px = (x * cos - y * sin) * scale[:, :1] + 13.5
    py = (x * sin + y * cos) * scale[:, 1:] + 13.5
    width = random.uniform(0.9, 1.7, n)
    return np.stack([_ink(px[i], py[i], width[i]) for i in range(n)])


def _ink(px, py, width):
    """How dark each pixel is: by its distance to the nearest point of the stroke."""
    grid = np.arange(28)
    dx = (grid[None, :] - px[:, None]) ** 2
    dy = (grid[None, :] - py[:, None]) ** 2
    nearest = (dy[:, :, None] + dx[:, None, :]).min(0)
    return np.exp(-nearest / (width * width))


def draw_sets(train=TRAIN, test=TEST, seed=20160401):
    """(train images, labels, test images, labels) as an idx file would give them."""
    random = np.random.RandomState(seed)
    bank = np.stack([_drawings(digit, random) for digit in range(10)])
    bank = (bank * 255).astype(np.uint8)
    images, labels = _sprinkle(bank, train + test, random)
    return images[:train], labels[:train], images[train:], labels[train:]


def _sprinkle(bank, count, random):
    labels = random.randint(0, 10, count).astype(np.uint8)
    variants = random.randint(0, bank.shape[1], count)
    shifts = random.randint(-1, 2, (count, 2))
    images = np.empty((count, 28, 28), np.uint8)
    for dy in (-1, 0, 1):
        for dx in (-1, 0, 1):
            moved = np.roll(bank, (dy, dx), (2, 3))
            chosen = np.flatnonzero((shifts[:, 0] == dy) & (shifts[:, 1] == dx))
            images[chosen] = moved[labels[chosen], variants[chosen]]
    # A few hundred sheets of dust serve for all.
    dust = random.randint(0, 48, (256, 28, 28)).astype(np.uint8)
    dust *= dust > 40
    sheets = random.randint(0, len(dust), count)
    for start in range(0, count, 4096):
        part = slice(start, start + 4096)
        np.maximum(images[part], dust[sheets[part]], out=images[part])
    return images.reshape(count, 28, 28, 1), labels
