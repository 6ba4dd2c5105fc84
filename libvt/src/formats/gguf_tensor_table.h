// The tensor table of a GGUF header: reading its rows and placing them in the file.
#pragma once

#include <cstdint>
#include <string>

#include "formats/byte_reader.h"
#include "formats/gguf_header.h"
#include "vt/status.h"

namespace vt {

// Appends `count` rows to header.tensors. Names, shapes, types and sizes are checked; `offset` is
// still the one of the file, relative to the data section.
Status ReadTensorTable(const std::string& path, ByteReader& in, std::uint64_t count,
                       GgufTypeIds ids, GgufHeader& header);

// The table ends at `table_end`: sets header.bytes and turns every offset into one from the start
// of the file. Each tensor must be aligned, inside the file and apart from the others.
Status PlaceTensors(const std::string& path, std::uint64_t file_bytes, std::uint64_t table_end,
                    GgufHeader& header);

}  // namespace vt
