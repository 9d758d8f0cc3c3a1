// The optimizers themselves, a row each: which variables they keep and what applies a gradient.

#include "build/optimizer_row.h"

namespace capstan {
namespace {

constexpr OptimizerDef kRows[] = {
    {.name = "gradient_descent",
     .python_class = "train.GradientDescentOptimizer (learning_rate, use_locking=False, "
                     "name='GradientDescent')",
     .doc = "var -= learning_rate * grad",
     .dense = {"ApplyGradientDescent", "var learning_rate grad"}},
    {.name = "momentum",
     .python_class = "train.MomentumOptimizer (learning_rate, momentum, use_locking=False, "
                     "name='Momentum', use_nesterov=False)",
     .doc = "accum = momentum * accum + grad; var -= learning_rate * accum. Nesterov's takes the "
            "gradient a step ahead.",
     .slots = {{"momentum"}},
     .dense = {"ApplyMomentum", "var @momentum learning_rate grad momentum"}},
    {.name = "adagrad",
     .python_class = "train.AdagradOptimizer (learning_rate, "
                     "initial_accumulator_value: positive=0.1, use_locking=False, name='Adagrad')",
     .doc = "accum += grad^2; var -= learning_rate * grad / sqrt(accum)",
     .slots = {{"accumulator", "initial_accumulator_value"}},
     .dense = {"ApplyAdagrad", "var @accumulator learning_rate grad"}},
    {.name = "adam",
     .python_class = "train.AdamOptimizer (learning_rate: kept as lr=0.001, beta1=0.9, "
                     "beta2=0.999, epsilon=1e-8, use_locking=False, name='Adam')",
     .doc = "Steps of about learning_rate, along means of the gradient (m) and of its square (v).",
     .slots = {{"m"}, {"v"}},
     .powers = {{"beta1_power", "beta1"}, {"beta2_power", "beta2"}},
     .dense = {"ApplyAdam",
               "var @m @v @beta1_power @beta2_power learning_rate beta1 beta2 epsilon grad"}},
};

}  // namespace

OptimizerFamily optimizer_rows() { return kRows; }

}  // namespace capstan
