#include "cli/describe.h"

#include <functional>
#include <optional>
#include <set>
#include <string_view>

#include "base/json_writer.h"
#include "cli/version.h"
#include "formats/model_document.h"
#include "vt/gguf.h"
#include "vt/model_spec.h"
#include "vt/tokenizer.h"

namespace vt::cli {
namespace {

// The document goes out in parts of about this size, so that it is never in memory as a whole.
constexpr std::size_t kPartBytes = 64 << 10;

void WriteText(JsonWriter& json, std::string_view key, std::string_view text) {
  json.Key(key);
  if (text.empty()) {
    json.Null();
  } else {
    json.Value(text);
  }
}

Status WriteModel(JsonWriter& json, const GgufFile& file) {
  VT_ASSIGN_OR_RETURN(const auto architecture, file.GetString("general.architecture"));
  VT_ASSIGN_OR_RETURN(const auto name, file.GetString("general.name"));
  json.Key("model").BeginObject();
  json.Field("file", file.shards().front().path).Field("digest", file.HeaderDigest());
  json.Field("architecture", architecture).Field("name", name);
  json.Field("bytes", file.total_bytes()).Key("shards").BeginArray();
  for (const GgufShard& shard : file.shards()) {
    json.BeginObject().Field("file", shard.path).Field("bytes", shard.file_bytes);
    json.Field("header_bytes", shard.header_bytes).Field("gguf_version", shard.version);
    json.EndObject();
  }
  json.EndArray().EndObject();
  return Status();
}

std::string_view ScalingName(RopeSpec::Scaling scaling) {
  switch (scaling) {
    case RopeSpec::Scaling::kNone:
      return "none";
    case RopeSpec::Scaling::kLinear:
      return "linear";
    case RopeSpec::Scaling::kYarn:
      return "yarn";
    case RopeSpec::Scaling::kLongRope:
      return "longrope";
  }
  return "none";
}

void WriteRopes(JsonWriter& json, const ModelSpec& spec) {
  json.Key("ropes").BeginArray();
  for (const RopeSpec& rope : spec.ropes) {
    json.BeginObject();
    json.Field("pairing", rope.pairing == RopePairing::kHalf ? "half" : "interleaved");
    json.Field("dims", rope.dims).Field("base", rope.base);
    json.Field("scaling", ScalingName(rope.scaling)).Field("factor", rope.factor);
    json.Key("original_context");
    if (rope.original_context == 0) {
      json.Null();
    } else {
      json.Value(rope.original_context);
    }
    json.EndObject();
  }
  json.EndArray();
}

// One array over the layers.
void WritePerLayer(JsonWriter& json, const ModelSpec& spec, std::string_view key,
                   const std::function<void(const LayerSpec&)>& write) {
  json.Key(key).BeginArray();
  for (const LayerSpec& layer : spec.layers) write(layer);
  json.EndArray();
}

void WriteLayers(JsonWriter& json, const ModelSpec& spec) {
  const auto sizes = [&](std::string_view key, std::int64_t LayerSpec::*field) {
    WritePerLayer(json, spec, key, [&](const LayerSpec& layer) { json.Value(layer.*field); });
  };
  json.Key("layers").BeginObject().Field("count", spec.layers.size());
  sizes("heads", &LayerSpec::heads);
  sizes("kv_heads", &LayerSpec::kv_heads);
  sizes("key_dim", &LayerSpec::key_dim);
  sizes("value_dim", &LayerSpec::value_dim);
  WritePerLayer(json, spec, "window", [&](const LayerSpec& layer) {
    if (layer.window == 0) {
      json.Null();
    } else {
      json.Value(layer.window);
    }
  });
  WritePerLayer(json, spec, "rope", [&](const LayerSpec& layer) {
    if (layer.rope < 0) {
      json.Null();
    } else {
      json.Value(layer.rope);
    }
  });
  sizes("ffn_width", &LayerSpec::ffn_width);
  WritePerLayer(json, spec, "parallel_residual",
                [&](const LayerSpec& layer) { json.Value(layer.parallel_residual); });
  json.EndObject();
}

void WriteHyperParameters(JsonWriter& json, const Result<ModelSpec>& read) {
  json.Key("supported").Value(read.ok());
  WriteText(json, "unsupported_reason", read.status().message());
  json.Key("hyper_parameters");
  if (!read.ok()) {
    json.Null();
    return;
  }
  const ModelSpec& spec = *read;
  json.BeginObject().Key("context_train");
  if (spec.context_train == 0) {
    json.Null();
  } else {
    json.Value(spec.context_train);
  }
  json.Field("vocab", spec.vocab).Field("width", spec.width);
  json.Field("norm", NameOf(spec.norm)).Field("norm_eps", spec.norm_eps);
  json.Field("ffn", spec.ffn == FfnKind::kGated ? "gated" : "plain");
  json.Field("activation", NameOf(spec.activation));
  json.Field("embedding_scale", spec.embedding_scale);
  json.Field("residual_scale", spec.residual_scale).Field("logit_scale", spec.logit_scale);
  json.Key("logit_softcap");
  if (spec.logit_softcap == 0) {
    json.Null();
  } else {
    json.Value(spec.logit_softcap);
  }
  json.Field("tied_embeddings", spec.tied);
  WriteRopes(json, spec);
  WriteLayers(json, spec);
  json.EndObject();
}

void WriteTokenizer(JsonWriter& json, const Result<Tokenizer>& tokenizer) {
  WriteText(json, "no_tokenizer_reason", tokenizer.status().message());
  json.Key("tokenizer");
  if (!tokenizer.ok()) {
    json.Null();
    return;
  }
  const TokenizerFacts& facts = tokenizer->facts();
  const auto token = [&](std::string_view key, TokenId id) {
    json.Key(key);
    if (id == kNoToken) {
      json.Null();
      return;
    }
    json.BeginObject().Field("id", id).Field("text", tokenizer->raw_text(id)).EndObject();
  };
  json.BeginObject().Field("model", facts.model);
  WriteText(json, "pre", facts.pre);
  json.Field("vocab_size", facts.vocab_size).Field("add_bos", facts.add_bos);
  json.Field("add_eos", facts.add_eos).Field("add_space_prefix", facts.add_space_prefix);
  json.Field("decode_is_exact", facts.decode_is_exact);
  token("bos", facts.bos);
  token("eos", facts.eos);
  token("unk", facts.unk);
  token("sep", facts.sep);
  token("pad", facts.pad);
  json.Key("end_tokens").BeginArray();
  for (const TokenizerFacts::EndToken& end : facts.end_tokens) {
    json.BeginObject().Field("id", end.id).Field("text", tokenizer->raw_text(end.id));
    json.Field("source", end.source).EndObject();
  }
  json.EndArray().EndObject();
}

Status WriteTensors(JsonWriter& json, const GgufFile& file, const Result<ModelSpec>& spec,
                    Console& console) {
  std::set<std::string_view> unused;
  if (spec.ok()) unused.insert(spec->unused_tensors.begin(), spec->unused_tensors.end());
  json.Key("tensors").BeginArray();
  for (const GgufTensor& tensor : file.tensors()) {
    json.BeginObject().Field("name", tensor.name).Field("type", NameOf(tensor.type));
    json.Key("dims").BeginArray();
    for (const std::uint64_t dim : tensor.dims) json.Value(dim);
    json.EndArray().Field("shard", tensor.shard).Field("offset", tensor.offset);
    json.Field("bytes", tensor.bytes).Field("gathered", !file.Contiguous(tensor)).Key("used");
    if (spec.ok()) {
      json.Value(!unused.contains(tensor.name));
    } else {
      json.Null();
    }
    json.EndObject();
    if (json.size() >= kPartBytes) VT_RETURN_IF_ERROR(console.Write(json.Take()));
  }
  json.EndArray();
  return Status();
}

}  // namespace

Status Describe(const std::string& path, Console& console) {
  VT_ASSIGN_OR_RETURN(const GgufFile file, GgufFile::Open(path));
  const Result<ModelSpec> spec = ReadModelSpec(file);
  // A vocabulary without weights is no damage.
  if (!spec.ok() && spec.status().code() != Code::kUnsupported && !file.tensors().empty()) {
    return spec.status();
  }
  const Result<Tokenizer> tokenizer = Tokenizer::Load(file);
  if (!tokenizer.ok() && tokenizer.status().code() != Code::kUnsupported) {
    return tokenizer.status();
  }
  JsonWriter json;
  json.BeginObject().Field("schema", "vt.model/1");
  WriteTool(json);
  VT_RETURN_IF_ERROR(WriteModel(json, file));
  WriteMetadata(json, file);
  WriteHyperParameters(json, spec);
  WriteTokenizer(json, tokenizer);
  VT_RETURN_IF_ERROR(WriteTensors(json, file, spec, console));
  return console.WriteLine(json.EndObject().Take());
}

}  // namespace vt::cli
