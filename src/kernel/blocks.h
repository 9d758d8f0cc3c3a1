#pragma once

// Element-wise arithmetic over contiguous blocks. Each look-up gives the function for one element
// type and instruction set, or null where the type has none. An element's result depends on its
// operands alone, never on where it stands in a block. `out` may be one of the inputs.
//
// float and double go through vectors; whole numbers wrap around. Not-a-number and the infinities
// behave as in libm; maximum, minimum and the rectifiers keep a NaN.

#include "graph/op_def.h"

namespace capstan {

// in[0] op in[1], for all numeric types.
BlockFn add_block(DType type, Isa isa);
BlockFn sub_block(DType type, Isa isa);
BlockFn mul_block(DType type, Isa isa);
BlockFn div_block(DType type, Isa isa);  // whole numbers are cut towards zero
BlockFn truncate_div_block(DType type, Isa isa);
BlockFn floor_div_block(DType type, Isa isa);
BlockFn floor_mod_block(DType type, Isa isa);     // with the sign of the divisor
BlockFn truncate_mod_block(DType type, Isa isa);  // with the sign of the dividend
BlockFn maximum_block(DType type, Isa isa);
BlockFn minimum_block(DType type, Isa isa);
BlockFn pow_block(DType type, Isa isa);
BlockFn squared_difference_block(DType type, Isa isa);
// The division, modulo and power of whole numbers throw InvalidArgument for a divisor of 0 and for
// a negative exponent.

// One operand, all numeric types.
BlockFn neg_block(DType type, Isa isa);
BlockFn abs_block(DType type, Isa isa);
BlockFn sign_block(DType type, Isa isa);
BlockFn square_block(DType type, Isa isa);
BlockFn reciprocal_block(DType type, Isa isa);
BlockFn floor_block(DType type, Isa isa);
BlockFn ceil_block(DType type, Isa isa);
BlockFn rint_block(DType type, Isa isa);  // halves go to the even one
BlockFn relu_block(DType type, Isa isa);
BlockFn relu6_block(DType type, Isa isa);

// One operand, float and double. Within 3 units in the last place; expm1, elu and softplus
// within 4.
BlockFn sqrt_block(DType type, Isa isa);
BlockFn rsqrt_block(DType type, Isa isa);
BlockFn exp_block(DType type, Isa isa);
BlockFn expm1_block(DType type, Isa isa);
BlockFn log_block(DType type, Isa isa);
BlockFn log1p_block(DType type, Isa isa);
BlockFn sin_block(DType type, Isa isa);
BlockFn cos_block(DType type, Isa isa);
BlockFn tanh_block(DType type, Isa isa);
BlockFn sigmoid_block(DType type, Isa isa);
BlockFn elu_block(DType type, Isa isa);
BlockFn softplus_block(DType type, Isa isa);
BlockFn softsign_block(DType type, Isa isa);

// Gradients told from the result y: in[0] = y, in[1] = dy. float and double.
BlockFn sigmoid_grad_block(DType type, Isa isa);     // dy * y * (1 - y)
BlockFn tanh_grad_block(DType type, Isa isa);        // dy * (1 - y * y)
BlockFn sqrt_grad_block(DType type, Isa isa);        // dy * 0.5 / y
BlockFn rsqrt_grad_block(DType type, Isa isa);       // -0.5 * dy * y^3
BlockFn reciprocal_grad_block(DType type, Isa isa);  // -dy * y * y
// Gradients with dy first: in[0] = dy, in[1] = the features (for elu the result). The rectifiers
// for all numeric types, the others for float and double.
BlockFn relu_grad_block(DType type, Isa isa);
BlockFn relu6_grad_block(DType type, Isa isa);
BlockFn elu_grad_block(DType type, Isa isa);
BlockFn softplus_grad_block(DType type, Isa isa);
BlockFn softsign_grad_block(DType type, Isa isa);

// Comparisons of all numeric types (equality of bool too): out is bool.
BlockFn equal_block(DType type, Isa isa);
BlockFn not_equal_block(DType type, Isa isa);
BlockFn less_block(DType type, Isa isa);
BlockFn less_equal_block(DType type, Isa isa);
BlockFn greater_block(DType type, Isa isa);
BlockFn greater_equal_block(DType type, Isa isa);
BlockFn is_nan_block(DType type, Isa isa);
BlockFn is_inf_block(DType type, Isa isa);
BlockFn is_finite_block(DType type, Isa isa);

// bool in, bool out.
BlockFn logical_and_block(DType type, Isa isa);
BlockFn logical_or_block(DType type, Isa isa);
BlockFn logical_not_block(DType type, Isa isa);

// in[0] ? in[1] : in[2], the first of bool, the others of `type`: any type of 1, 2, 4 or 8 bytes.
BlockFn select_block(DType type, Isa isa);

// Any pair of the numeric types and bool. Real numbers are cut towards zero; what does not fit an
// int32 or int64 becomes its lowest number. The narrower and the unsigned types take the low bits
// of those.
BlockFn cast_block(DType from, DType to, Isa isa);

}  // namespace capstan
