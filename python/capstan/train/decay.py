"""A learning rate that is put together of others, which are rows of src/build/rates.cc."""

from capstan.core.apply import apply_op
from capstan.core.public import public
from capstan.ops import composites


@public("train.natural_exp_decay")
def natural_exp_decay(
    learning_rate, global_step, decay_steps, decay_rate, staircase=False, name=None
):
    """learning_rate * exp(-decay_rate * global_step / decay_steps)"""
    factor = apply_op("Exp", x=apply_op("Neg", x=decay_rate))
    decay = composites.function_called("train.exponential_decay")
    return decay(learning_rate, global_step, decay_steps, factor, staircase, name)
