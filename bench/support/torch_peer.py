"""The same perceptrons as an eager PyTorch loop, one thread, fused Adam where there is one."""

import itertools

from models import batches

SHAPES = {
    "mlp-b": ([784, 100, 10], "Sigmoid", 100),
    "mlp-a": ([784, 500, 500, 10], "ReLU", 32),
}


def make_step(name):
    """A function that trains one batch from numpy arrays and returns the loss as a number."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(1)
    sizes, activation, batch = SHAPES[name]
    model = _model(torch, sizes, getattr(torch.nn, activation))
    optimizer = _optimizer(torch, name, model.parameters())
    data = itertools.cycle(
        [(images, labels.argmax(axis=1)) for images, labels in batches(sizes, batch)]
    )
    loss_of = torch.nn.CrossEntropyLoss()

    def step():
        images, labels = next(data)
        optimizer.zero_grad()
        loss = loss_of(model(torch.from_numpy(images)), torch.from_numpy(labels))
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def _model(torch, sizes, activation):
    layers = []
    for i, (rows, columns) in enumerate(zip(sizes, sizes[1:])):
        layers.append(torch.nn.Linear(rows, columns))
        if i + 2 < len(sizes):
            layers.append(activation())
    return torch.nn.Sequential(*layers)


def _optimizer(torch, name, parameters):
    parameters = list(parameters)
    if name == "mlp-b":
        return torch.optim.SGD(parameters, lr=0.05)
    try:
        return torch.optim.Adam(parameters, lr=1e-4, fused=True)
    except (RuntimeError, TypeError):  # a version without it, or not on this kind of processor
        return torch.optim.Adam(parameters, lr=1e-4)
