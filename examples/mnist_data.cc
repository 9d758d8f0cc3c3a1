#include "mnist_data.h"

#include <zlib.h>

#include <algorithm>
#include <stdexcept>

namespace {

constexpr int kPixels = 784;
const char* const kFolder = "/usr/share/datasets/fashion-mnist/";

std::vector<unsigned char> read_gzip(const std::string& path) {
  std::vector<unsigned char> out;
  gzFile file = gzopen(path.c_str(), "rb");
  if (!file) return out;
  unsigned char block[1 << 16];
  for (int n; (n = gzread(file, block, sizeof block)) > 0;) out.insert(out.end(), block, block + n);
  gzclose(file);
  return out;
}

uint32_t big_endian(const std::vector<unsigned char>& bytes, size_t at) {
  return uint32_t(bytes[at]) << 24 | uint32_t(bytes[at + 1]) << 16 | uint32_t(bytes[at + 2]) << 8 |
         bytes[at + 3];
}

// idx files: a magic number, the extents, then the bytes.
bool read_idx(const std::string& name, Images& out) {
  auto images = read_gzip(kFolder + name + "-images-idx3-ubyte.gz");
  auto labels = read_gzip(kFolder + name + "-labels-idx1-ubyte.gz");
  if (images.size() < 16 || labels.size() < 8) return false;
  size_t count = big_endian(images, 4);
  if (images.size() != 16 + count * kPixels || labels.size() != 8 + count) {
    throw std::runtime_error(kFolder + name + ": the idx files are damaged");
  }
  out.pixels.resize(count * kPixels);
  for (size_t i = 0; i < out.pixels.size(); ++i) out.pixels[i] = float(images[16 + i]) / 255;
  out.labels.assign(labels.begin() + 8, labels.end());
  return true;
}

// Ten patterns of soft spots, each image a pattern under noise.
Images draw(int64_t count, unsigned seed) {
  std::mt19937 pattern_random(7), random(seed);
  std::uniform_real_distribution<float> unit(0, 1);
  std::vector<float> patterns(10 * kPixels);
  for (float& p : patterns) p = unit(pattern_random) < 0.2f ? 1.0f : 0.0f;
  Images out;
  out.pixels.resize(size_t(count) * kPixels);
  for (int64_t i = 0; i < count; ++i) {
    int32_t label = int32_t(random() % 10);
    out.labels.push_back(label);
    for (int p = 0; p < kPixels; ++p) {
      float noise = unit(random);
      out.pixels[size_t(i * kPixels + p)] =
          std::clamp(patterns[size_t(label * kPixels + p)] * 0.5f + noise * 0.5f, 0.0f, 1.0f);
    }
  }
  return out;
}

}  // namespace

Mnist load_mnist() {
  Mnist data;
  if (read_idx("train", data.train) && read_idx("t10k", data.test)) {
    data.source = "Fashion-MNIST";
    return data;
  }
  data.train = draw(20'000, 1);
  data.test = draw(2'000, 2);
  data.source = "patterns that were drawn for this run (install dataset-fashion-mnist for images)";
  return data;
}
