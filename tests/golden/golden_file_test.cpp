// Reading and writing vt.golden/1.
#include <cmath>

#include "golden/sha256.h"
#include "golden/support.h"

namespace vt {
namespace {

using nlohmann::ordered_json;

TEST(GoldenFile, ReadsBothForms) {
  const Golden golden = test::MustParse(test::SmallGolden());
  ASSERT_EQ(golden.cases.size(), 2u);
  const GoldenCase& one = golden.cases[0];
  EXPECT_EQ(one.prompt, (std::vector<TokenId>{1, 2}));
  EXPECT_EQ(one.generated, (std::vector<TokenId>{3, 4, 5}));
  EXPECT_DOUBLE_EQ(one.rows[1].lse, 3.2);
  EXPECT_EQ(RowThatChose(one, 0), &one.rows[1]);
  EXPECT_EQ(RowThatChose(one, 2), &one.generated_rows[1]);
  EXPECT_EQ(golden.cases[1].rows[0].dense[7], 7.0f);
  EXPECT_NEAR(golden.cases[1].rows[0].lse, 7.4583, 1e-3);
}

TEST(GoldenFile, WritesWhatItReads) {
  const std::string once = test::Written(test::MustParse(test::SmallGolden()));
  EXPECT_EQ(test::Written(test::MustParse(once)), once);
  for (const char* name : {"real/smollm2-135m-instruct-q4_1.json"}) {
    const Golden golden = test::MustParse(test::ReadFile(test::DataPath(name)));
    const Golden again = test::MustParse(test::Written(golden));
    ASSERT_EQ(again.cases.size(), golden.cases.size());
    EXPECT_EQ(again.model.sha256, golden.model.sha256);
    for (std::size_t i = 0; i < again.cases.size(); ++i) {
      EXPECT_EQ(again.cases[i].prompt, golden.cases[i].prompt);
      EXPECT_EQ(again.cases[i].generated, golden.cases[i].generated);
      EXPECT_EQ(again.cases[i].margins, golden.cases[i].margins);
      EXPECT_EQ(again.cases[i].rows.size(), golden.cases[i].rows.size());
    }
  }
}

// Each edit, and the place that the error names.
TEST(GoldenFile, RefusesWhatIsWrongAndSaysWhere) {
  struct Edit {
    const char* at;
    std::function<void(ordered_json&)> edit;
  };
  const std::vector<Edit> edits = {
      {"/schema", [](auto& d) { d["schema"] = "vt.run/1"; }},
      {"/model", [](auto& d) { d.erase("model"); }},
      {"/cases", [](auto& d) { d["cases"] = 3; }},
      {"/cases/0/name", [](auto& d) { d["cases"][0].erase("name"); }},
      {"/cases/1/name", [](auto& d) { d["cases"][1]["name"] = "one"; }},
      {"/cases/0/prompt_tokens", [](auto& d) { d["cases"][0]["prompt_tokens"] = {}; }},
      {"/cases/0/prompt_tokens/1", [](auto& d) { d["cases"][0]["prompt_tokens"][1] = -1; }},
      {"/cases/0/prompt_tokens/1", [](auto& d) { d["cases"][0]["prompt_tokens"][1] = 1e10; }},
      {"/cases/0/margins", [](auto& d) { d["cases"][0]["margins"].erase(0); }},
      {"/cases/0/margins/1", [](auto& d) { d["cases"][0]["margins"][1] = -0.5; }},
      {"/cases/0/logits/form", [](auto& d) { d["cases"][0]["logits"]["form"] = "f"; }},
      {"/cases/0/logits/rows", [](auto& d) { d["cases"][0]["logits"]["rows"].erase(0); }},
      {"/cases/0/logits/rows/0/lse",
       [](auto& d) { d["cases"][0]["logits"]["rows"][0]["lse"] = 1.9; }},
      {"/cases/0/logits/rows/0/top/1",
       [](auto& d) { d["cases"][0]["logits"]["rows"][0]["top"][1][1] = 2.1; }},
      {"/cases/0/logits/rows/0/top/1",
       [](auto& d) { d["cases"][0]["logits"]["rows"][0]["top"][1][0] = 2; }},
      {"/cases/1/logits/rows/0/3",
       [](auto& d) { d["cases"][1]["logits"]["rows"][0][3] = nullptr; }},
      {"/cases/0/generated_logits/rows",
       [](auto& d) { d["cases"][0]["generated_logits"]["rows"].erase(0); }},
      {"/counts/cases", [](auto& d) { d["counts"]["cases"] = 3; }},
  };
  for (const Edit& edit : edits) {
    ordered_json document = ordered_json::parse(test::SmallGolden());
    edit.edit(document);
    const Result<Golden> golden = ParseGolden(document.dump());
    ASSERT_FALSE(golden.ok()) << edit.at;
    EXPECT_EQ(golden.status().code(), Code::kInvalid);
    EXPECT_EQ(golden.status().at(), edit.at) << golden.status().message();
  }
}

// Of case "one" four positions: two of the prompt, and all of the answer but the last.
constexpr const char* kCheckpoints = R"({"form":"norm, 8 sums of signs","layers":[
 {"layer":3,"what":"experts","rows":[[1,1,2,3,4,5,6,7,8],[1,1,2,3,4,5,6,7,8],[1,1,2,3,4,5,6,7,8],[2.5,-1,0,0,0,0,0,0,0.5]]},
 {"layer":3,"what":"stream","rows":[[1,1,2,3,4,5,6,7,8],[1,1,2,3,4,5,6,7,8],[1,1,2,3,4,5,6,7,8],[1,1,2,3,4,5,6,7,8]]}]})";

TEST(GoldenFile, ReadsCheckpoints) {
  ordered_json document = ordered_json::parse(test::SmallGolden());
  document["cases"][0]["checkpoints"] = ordered_json::parse(kCheckpoints);
  const Golden golden = test::MustParse(document.dump());
  ASSERT_EQ(golden.cases[0].checkpoints.size(), 2u);
  const GoldenCheckpoint& point = golden.cases[0].checkpoints[0];
  EXPECT_EQ(point.layer, 3);
  EXPECT_EQ(point.what, CheckpointWhat::kExperts);
  EXPECT_EQ(point.rows[3].norm, 2.5);
  EXPECT_EQ(point.rows[3].sums[7], 0.5);
  EXPECT_TRUE(golden.cases[1].checkpoints.empty());
  const ordered_json written = ordered_json::parse(test::Written(golden));
  EXPECT_EQ(written["counts"]["checkpoint_rows"], 8);
  EXPECT_EQ(test::Written(test::MustParse(written.dump())), written.dump());

  struct Edit {
    const char* at;
    std::function<void(ordered_json&)> edit;
  };
  const std::vector<Edit> edits = {
      {"/cases/0/checkpoints", [](auto& c) { c = 3; }},
      {"/cases/0/checkpoints/form", [](auto& c) { c["form"] = "norm"; }},
      {"/cases/0/checkpoints/layers", [](auto& c) { c.erase("layers"); }},
      {"/cases/0/checkpoints/layers/0/layer", [](auto& c) { c["layers"][0]["layer"] = -1; }},
      {"/cases/0/checkpoints/layers/1", [](auto& c) { c["layers"][1] = c["layers"][0]; }},
      {"/cases/0/checkpoints/layers/1/what", [](auto& c) { c["layers"][1]["what"] = "x"; }},
      {"/cases/0/checkpoints/layers/1/rows", [](auto& c) { c["layers"][1]["rows"].erase(0); }},
      {"/cases/0/checkpoints/layers/0/rows/2", [](auto& c) { c["layers"][0]["rows"][2].erase(1); }},
      {"/cases/0/checkpoints/layers/0/rows/2/0",
       [](auto& c) { c["layers"][0]["rows"][2][0] = -1; }},
      {"/cases/0/checkpoints/layers/0/rows/2/8",
       [](auto& c) { c["layers"][0]["rows"][2][8] = nullptr; }},
      {"/counts/checkpoint_rows", [](auto& c) { c = nullptr; }},
  };
  for (const Edit& edit : edits) {
    ordered_json spoilt = written;
    edit.edit(spoilt["cases"][0]["checkpoints"]);
    const Result<Golden> read = ParseGolden(spoilt.dump());
    ASSERT_FALSE(read.ok()) << edit.at;
    EXPECT_EQ(read.status().at(), edit.at) << read.status().message();
  }
}

TEST(GoldenFile, NamesTheByteOfASyntaxError) {
  const std::string text = test::SmallGolden();
  const Result<Golden> cut = ParseGolden(std::string_view(text).substr(0, 100));
  ASSERT_FALSE(cut.ok());
  EXPECT_NE(cut.status().message().find("at byte 100 of 100"), std::string::npos)
      << cut.status().message();
  EXPECT_NE(cut.status().message().find("cut off"), std::string::npos);
  const Result<Golden> broken = ParseGolden(R"({"schema":!})");
  ASSERT_FALSE(broken.ok());
  EXPECT_NE(broken.status().message().find("at byte 10 of 12"), std::string::npos)
      << broken.status().message();
}

TEST(GoldenFile, ChecksIdsAgainstTheVocabulary) {
  const Golden golden = test::MustParse(test::SmallGolden());
  EXPECT_TRUE(CheckGoldenIds(golden, 8).ok());
  EXPECT_EQ(CheckGoldenIds(golden, 7).at(), "/cases/0/generated_logits/rows/0/top/1");
  EXPECT_EQ(CheckGoldenIds(golden, 9).at(), "/cases/1/logits/rows/0");
  EXPECT_EQ(CheckGoldenIds(golden, 4).at(), "/cases/0/generated_tokens/1");
}

// The vectors of FIPS 180-4 and of NIST's example files.
TEST(Sha256, KnownAnswers) {
  const auto digest = [](const std::string& text, std::size_t piece) {
    Sha256 sum;
    for (std::size_t i = 0; i < text.size(); i += piece) {
      sum.Add(std::as_bytes(std::span(text).subspan(i, std::min(piece, text.size() - i))));
    }
    return sum.HexDigest();
  };
  EXPECT_EQ(digest("", 1), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(digest("abc", 1), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  const std::string million(1000000, 'a');
  for (const std::size_t piece : {std::size_t{1000000}, std::size_t{63}, std::size_t{64}}) {
    EXPECT_EQ(digest(million, piece),
              "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  }
}

}  // namespace
}  // namespace vt
