#pragma once

// Images of 784 bytes with a label from 0 to 9: Fashion-MNIST where Debian's dataset-fashion-mnist
// is installed, else patterns that are drawn here.

#include <cstdint>
#include <random>
#include <string>
#include <vector>

struct Images {
  std::vector<float> pixels;  // 784 per image, in [0, 1]
  std::vector<int32_t> labels;
  int64_t count() const { return int64_t(labels.size()); }
};

struct Mnist {
  Images train, test;
  std::string source;  // where it comes from, in words
};

Mnist load_mnist();
