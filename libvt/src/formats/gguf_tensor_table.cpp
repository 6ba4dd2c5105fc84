#include "formats/gguf_tensor_table.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string_view>
#include <vector>

#include "formats/file_error.h"

namespace vt {
namespace {

// The specification says 64 bytes; writers of image models use longer names.
constexpr std::uint64_t kMaxNameLength = 255;
constexpr std::uint32_t kMaxDims = 4;
constexpr std::uint64_t kMaxSize = std::numeric_limits<std::int64_t>::max();

std::string Number(std::uint64_t value) { return std::to_string(value); }

struct OtherType {
  std::uint32_t id;
  std::string_view what;
};

// Ids that the format gave away and that no model file holds today.
constexpr OtherType kOtherTypes[] = {
    {4, "q4_2, removed from the format"},        {5, "q4_3, removed from the format"},
    {9, "q8_1, never stored in files"},          {15, "q8_k, never stored in files"},
    {31, "q4_0_4_4, removed from the format"},   {32, "q4_0_4_8, removed from the format"},
    {33, "q4_0_8_8, removed from the format"},   {36, "iq4_nl_4_4, removed from the format"},
    {37, "iq4_nl_4_8, removed from the format"}, {38, "iq4_nl_8_8, removed from the format"}};

std::string DimsText(const std::vector<std::uint64_t>& dims) {
  std::string text = "[";
  for (const std::uint64_t dim : dims) text += (text.size() > 1 ? ", " : "") + Number(dim);
  return text + "]";
}

// a * b, or nullopt above the largest signed 64-bit number.
std::optional<std::uint64_t> Multiply(std::uint64_t a, std::uint64_t b) {
  if (b != 0 && a > kMaxSize / b) return std::nullopt;
  return a * b;
}

std::uint64_t AddSaturating(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t max = std::numeric_limits<std::uint64_t>::max();
  return a > max - b ? max : a + b;
}

class TableReader {
 public:
  TableReader(const std::string& path, ByteReader& in, GgufTypeIds ids)
      : path_(path), in_(in), ids_(ids) {}

  Status ReadRow(std::uint64_t index, GgufTensor& tensor) {
    subject_ = "tensor " + Number(index);
    std::uint64_t length = 0;
    if (!in_.Read(length)) return Cut();
    if (length == 0 || length > kMaxNameLength) {
      return FileCorrupt(path_, subject_ + ": name of " + Number(length) + " bytes (allowed 1 to " +
                                    Number(kMaxNameLength) + ")");
    }
    if (!in_.ReadText(length, tensor.name)) return Cut();
    subject_ = "tensor " + Quoted(tensor.name);
    VT_RETURN_IF_ERROR(ReadDims(tensor));
    VT_RETURN_IF_ERROR(ReadType(tensor));
    if (!in_.Read(tensor.offset)) return Cut();
    return {};
  }

 private:
  Status Cut() {
    return FileCorrupt(path_, "ends inside the table row of " + subject_ + " at byte " +
                                  Number(in_.at()) + " (" + Number(in_.left()) +
                                  " bytes are left); the file is cut short or damaged, fetch it "
                                  "again");
  }

  Status ReadDims(GgufTensor& tensor) {
    std::uint32_t count = 0;
    if (!in_.Read(count)) return Cut();
    if (count > kMaxDims) {
      return FileCorrupt(path_, subject_ + ": " + Number(count) + " dimensions (allowed up to " +
                                    Number(kMaxDims) + ")");
    }
    tensor.dims.reserve(std::max(count, 1u));
    for (std::uint32_t i = 0; i < count; ++i) {
      std::uint64_t dim = 0;
      if (!in_.Read(dim)) return Cut();
      if (dim == 0 || dim > kMaxSize) {
        return FileCorrupt(path_, subject_ + ": dimension " + Number(i) + " is " + Number(dim) +
                                      " (allowed 1 to " + Number(kMaxSize) + ")");
      }
      tensor.dims.push_back(dim);
    }
    // No dimensions is a scalar.
    if (count == 0) tensor.dims.push_back(1);
    return {};
  }

  const DTypeInfo* FindType(std::uint32_t id) const {
    if (ids_ == GgufTypeIds::kGguf) return FindDType(id);
    for (const DTypeInfo& info : AllDTypes()) {
      if (static_cast<std::uint32_t>(info.type) == id) return &info;
    }
    return nullptr;
  }

  Status ReadType(GgufTensor& tensor) {
    std::uint32_t id = 0;
    if (!in_.Read(id)) return Cut();
    const DTypeInfo* const info = FindType(id);
    if (!info) {
      std::string what;
      for (const OtherType& other : kOtherTypes) {
        if (other.id == id) what = " (" + std::string(other.what) + ")";
      }
      return FileUnsupported(path_, subject_ + ": type " + Number(id) + what +
                                        " is not known; quantize the model to another type");
    }
    tensor.type = info->type;
    const std::uint64_t cols = tensor.dims[0];
    if (cols % info->block != 0) {
      return FileCorrupt(path_, subject_ + ": rows of " + Number(cols) + " values (type " +
                                    std::string(info->name) + " wants a multiple of " +
                                    Number(info->block) + ")");
    }
    std::optional<std::uint64_t> values = 1;
    for (const std::uint64_t dim : tensor.dims) {
      if (values) values = Multiply(*values, dim);
    }
    if (values) values = Multiply(*values / info->block, info->block_bytes);
    if (!values) {
      return FileCorrupt(path_, subject_ + ": dimensions " + DimsText(tensor.dims) +
                                    " hold more than " + Number(kMaxSize) + " bytes or values");
    }
    tensor.bytes = *values;
    return {};
  }

  const std::string& path_;
  ByteReader& in_;
  GgufTypeIds ids_;
  std::string subject_;
};

Status CheckOverlaps(const std::string& path, const std::vector<GgufTensor>& tensors) {
  std::vector<std::uint32_t> order(tensors.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return tensors[a].offset != tensors[b].offset ? tensors[a].offset < tensors[b].offset : a < b;
  });
  for (std::size_t i = 1; i < order.size(); ++i) {
    const GgufTensor& first = tensors[order[i - 1]];
    const GgufTensor& second = tensors[order[i]];
    if (first.offset + first.bytes <= second.offset) continue;
    return FileCorrupt(path, "tensor " + Quoted(second.name) + ": starts at byte " +
                                 Number(second.offset) + ", inside tensor " + Quoted(first.name) +
                                 " (bytes " + Number(first.offset) + " to " +
                                 Number(first.offset + first.bytes) + ")");
  }
  return {};
}

}  // namespace

Status ReadTensorTable(const std::string& path, ByteReader& in, std::uint64_t count,
                       GgufTypeIds ids, GgufHeader& header) {
  TableReader reader(path, in, ids);
  header.tensors.resize(static_cast<std::size_t>(count));
  NameIndex seen;
  seen.reserve(header.tensors.size());
  for (std::size_t i = 0; i < header.tensors.size(); ++i) {
    GgufTensor& tensor = header.tensors[i];
    VT_RETURN_IF_ERROR(reader.ReadRow(i, tensor));
    if (!seen.emplace(tensor.name, i).second) {
      return FileCorrupt(path, "tensor " + Quoted(tensor.name) + " occurs twice");
    }
  }
  return {};
}

Status PlaceTensors(const std::string& path, std::uint64_t file_bytes, std::uint64_t table_end,
                    GgufHeader& header) {
  const std::uint64_t mask = header.alignment - 1;
  const std::uint64_t data_start = (table_end + mask) & ~mask;
  header.bytes = std::min(data_start, file_bytes);

  const GgufTensor* outside = nullptr;
  std::uint64_t needed = 0;
  for (const GgufTensor& tensor : header.tensors) {
    if ((tensor.offset & mask) != 0) {
      return FileCorrupt(path, "tensor " + Quoted(tensor.name) + ": data offset " +
                                   Number(tensor.offset) + " (want a multiple of " +
                                   Number(header.alignment) + ")");
    }
    const std::uint64_t end = AddSaturating(data_start, AddSaturating(tensor.offset, tensor.bytes));
    needed = std::max(needed, end);
    if (!outside && end > file_bytes) outside = &tensor;
  }
  if (outside) {
    return FileCorrupt(path,
                       "tensor " + Quoted(outside->name) + ": its " + Number(outside->bytes) +
                           " bytes at data offset " + Number(outside->offset) +
                           " are not all in the file: " + Number(needed) + " bytes expected, " +
                           Number(file_bytes) +
                           " bytes present; the file is cut short or damaged, fetch it again");
  }
  for (GgufTensor& tensor : header.tensors) tensor.offset += data_start;
  return CheckOverlaps(path, header.tensors);
}

}  // namespace vt
