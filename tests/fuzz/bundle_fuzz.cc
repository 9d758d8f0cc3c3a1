// Input: one byte that says how, two bytes of length, that many bytes of index, the rest is data.
// The index is a file as it stands (0), the contents of one block of it (1), or the bytes of one
// entry (2); in the latter two the checksums are made right, else no mutation would be believed.

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/error.h"
#include "base/memory_files.h"
#include "fuzz/fuzz.h"
#include "io/bundle.h"
#include "io/table.h"

namespace capstan {
namespace {

std::string handle_of(uint64_t offset, uint64_t size) {
  std::string out;
  put_varint(out, offset);
  put_varint(out, size);
  return out;
}

std::string sealed(std::string_view contents) {
  std::string block = std::string(contents) + '\0';
  put_fixed32(block, masked_crc32c(block));
  return block;
}

// A table whose one data block has these contents.
std::string table_around(std::string_view contents) {
  std::string block = sealed(contents);
  std::string handle = handle_of(0, contents.size());
  std::string index = {'\0', '\1', static_cast<char>(handle.size()), 'z'};
  index += handle;
  put_fixed32(index, 0);
  put_fixed32(index, 1);
  std::string footer = handle_of(0, 0) + handle_of(block.size(), index.size());
  footer.resize(40);
  put_fixed64(footer, 0xdb4775248b80fb57u);
  return block + sealed(index) + footer;
}

std::string header_bytes() {
  pb::BundleHeaderProto header;
  header.set_num_shards(1);
  return header.SerializeAsString();
}

std::string index_of(char how, std::string_view bytes) {
  if (how == 1) return table_around(bytes);
  if (how == 2) return build_table({{"", header_bytes()}, {"w", std::string(bytes)}});
  return std::string(bytes);
}

void read_everything(Files& files) {
  BundleReader reader(files, "/b");
  for (const std::string& key : reader.keys()) {
    try {
      reader.read(key);
    } catch (const Error&) {  // the next key may be good
    }
  }
}

void run(std::string_view input) {
  size_t size = static_cast<uint8_t>(input[1]) + 256u * static_cast<uint8_t>(input[2]);
  std::string_view rest = input.substr(3);
  MemoryFiles files;
  files.put("/b.index", index_of(input[0], rest.substr(0, size)));
  files.put("/b.data-00000-of-00001", std::string(rest.substr(std::min(size, rest.size()))));
  read_everything(files);
}

std::string input_of(char how, const std::string& index, const std::string& data) {
  return std::string{how, static_cast<char>(index.size()), static_cast<char>(index.size() >> 8)} +
         index + data;
}

}  // namespace

std::vector<std::string> fuzz_seeds() {
  MemoryFiles files;
  BundleWriter writer(files, "/b");
  writer.add("w", Tensor::of<float>({2}, {1, 2}));
  writer.add("s", Tensor::of<std::string>({2}, {"a", "bc"}));
  std::vector<int64_t> zero{0}, one{1};
  writer.add_slice("p", {2}, zero, one, Tensor::of<float>({1}, {1}));
  writer.add_slice("p", {2}, one, one, Tensor::of<float>({1}, {2}));
  writer.finish();
  std::string index = files.read("/b.index");
  std::string data = files.read("/b.data-00000-of-00001");
  // The first block ends where the metaindex begins, as the footer says.
  std::string_view footer = std::string_view(index).substr(index.size() - 48);
  std::string block = index.substr(0, take_varint(footer).value() - 5);
  BundleReader reader(files, "/b");
  std::vector<std::string> seeds{input_of(0, index, data), input_of(1, block, data)};
  for (const char* key : {"w", "s", "p"}) {
    seeds.push_back(input_of(2, reader.raw_entries().find(key)->second, data));
  }
  return seeds;
}

}  // namespace capstan

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 3) return 0;
  try {
    capstan::run({reinterpret_cast<const char*>(data), size});
  } catch (const capstan::Error&) {  // refusing is right; crashing is not
  }
  return 0;
}
