// A model's header, from wherever the user has it: a GGUF file, a Hugging Face folder, or a
// vt.model/1 document.
#pragma once

#include <optional>
#include <string>

#include "cli/console.h"
#include "formats/model_document.h"
#include "vt/gguf.h"
#include "vt/status.h"

namespace vt::cli {

struct ModelSource {
  std::string path;  // as it was given
  std::optional<GgufFile> gguf;
  std::optional<ModelDocument> document;

  const GgufFile& file() const { return document ? document->file : *gguf; }
  // What the document says of the file that it describes, else the file's own.
  std::string name() const { return document ? document->name : path; }
  std::string digest() const { return document ? document->digest : file().HeaderDigest(); }
  // A string of the header; empty: not told.
  std::string Text(std::string_view key) const;
  // `status` in terms of what the user gave.
  Status Named(const Status& status) const {
    return document ? InTermsOf(*document, status) : status;
  }
};

// `path`: a GGUF file, a folder or one of its files (config.json, an index, *.safetensors), or a
// document; "-": a document on stdin. Errors: GgufFile::Open's, those of reading a document.
Result<ModelSource> OpenModelSource(const std::string& path, Console& console);

}  // namespace vt::cli
