#include "io/table.h"

#include <snappy.h>

#include <optional>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/error.h"

namespace capstan {
namespace {

constexpr uint64_t kMagic = 0xdb4775248b80fb57u;
constexpr size_t kFooter = 48;
constexpr size_t kTrailer = 5;  // compression and checksum after each block
// Keys share prefixes and blocks may be compressed, so a table is bigger in memory than on disk; a
// file that would grow more than this is an attack.
constexpr uint64_t kGrowth = 64;

struct Handle {
  uint64_t offset = 0;
  uint64_t size = 0;
};

struct Item {
  std::string_view key;
  std::string_view value;
};

class TableParser {
 public:
  TableParser(std::string_view bytes, const std::string& name)
      : bytes_(bytes), name_(name), budget_(bytes.size() * kGrowth + (1 << 20)) {}

  TableEntries parse() {
    std::string storage;
    std::string_view index = block(index_handle(), storage);
    TableEntries entries;
    uint64_t end = 0;
    each_item(index, [&](const Item& item) {
      std::string_view text = item.value;
      Handle handle = take_handle(text);
      // Blocks follow each other; without this one block could be listed a million times.
      if (handle.offset < end) damaged("lists overlapping blocks");
      std::string block_storage;
      add_block(block(handle, block_storage), entries);
      end = handle.offset + handle.size + kTrailer;
    });
    return entries;
  }

 private:
  [[noreturn]] void damaged(const char* what) const {
    throw data_loss("{} {}: it is damaged or was not copied whole; use another checkpoint", name_,
                    what);
  }

  void spend(uint64_t bytes) {
    if (bytes > budget_) damaged("unfolds to far more bytes than it has");
    budget_ -= bytes;
  }

  Handle take_handle(std::string_view& in) const {
    std::optional<uint64_t> offset = take_varint(in);
    std::optional<uint64_t> size = offset ? take_varint(in) : std::nullopt;
    if (!size) damaged("has a malformed block address");
    return {*offset, *size};
  }

  Handle index_handle() const {
    if (bytes_.size() < kFooter) damaged("is too short for a table");
    std::string_view footer = bytes_.substr(bytes_.size() - kFooter);
    if (load_fixed64(footer.data() + kFooter - 8) != kMagic)
      damaged("does not end as a table does");
    footer.remove_suffix(8);
    take_handle(footer);  // of the metaindex, which is empty
    return take_handle(footer);
  }

  // The contents of a block; `storage` holds them when they had to be unpacked.
  std::string_view block(const Handle& handle, std::string& storage) {
    uint64_t room = bytes_.size() - kFooter;
    if (room < kTrailer || handle.offset > room - kTrailer ||
        handle.size > room - kTrailer - handle.offset) {
      damaged("has a block outside of the file");
    }
    std::string_view stored = bytes_.substr(handle.offset, handle.size + 1);
    uint32_t crc = load_fixed32(stored.data() + stored.size());
    if (masked_crc32c(stored) != crc) damaged("has a block that does not match its checksum");
    char type = stored.back();
    stored.remove_suffix(1);
    if (type == 0) return stored;
    if (type != 1) damaged("has a block of an unknown compression");
    return unpack(stored, storage);
  }

  std::string_view unpack(std::string_view packed, std::string& storage) {
    size_t size = 0;
    if (!snappy::GetUncompressedLength(packed.data(), packed.size(), &size)) {
      damaged("has a malformed compressed block");
    }
    spend(size);
    storage.resize(size);
    if (!snappy::RawUncompress(packed.data(), packed.size(), storage.data())) {
      damaged("has a malformed compressed block");
    }
    return storage;
  }

  void add_block(std::string_view contents, TableEntries& entries) {
    each_item(contents, [&](const Item& item) {
      if (!entries.empty() && item.key <= entries.rbegin()->first) damaged("has keys out of order");
      spend(item.key.size() + item.value.size());
      entries.emplace_hint(entries.end(), item.key, item.value);
    });
  }

  // Entries, then the restart points, which only a search needs.
  std::string_view entries_of(std::string_view contents) const {
    if (contents.size() < 4) damaged("has a block that is too short");
    uint64_t restarts = load_fixed32(contents.data() + contents.size() - 4);
    if (restarts > contents.size() / 4 - 1) damaged("has a block with too many restart points");
    return contents.substr(0, contents.size() - 4 * (restarts + 1));
  }

  template <class Visit>
  void each_item(std::string_view contents, Visit&& visit) {
    std::string_view in = entries_of(contents);
    std::string key;
    while (!in.empty()) {
      std::optional<uint32_t> shared = take_varint32(in);
      std::optional<uint32_t> fresh = shared ? take_varint32(in) : std::nullopt;
      std::optional<uint32_t> size = fresh ? take_varint32(in) : std::nullopt;
      std::optional<std::string_view> tail = size ? take_bytes(in, *fresh) : std::nullopt;
      std::optional<std::string_view> value = tail ? take_bytes(in, *size) : std::nullopt;
      if (!value || *shared > key.size()) damaged("has a malformed entry");
      key.resize(*shared);
      key.append(*tail);
      visit(Item{key, *value});
    }
  }

  const std::string_view bytes_;
  const std::string& name_;
  uint64_t budget_;
};

}  // namespace

TableEntries read_table(std::string_view bytes, const std::string& name) {
  return TableParser(bytes, name).parse();
}

}  // namespace capstan
