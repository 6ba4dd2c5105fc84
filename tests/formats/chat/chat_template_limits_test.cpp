// Hostile and broken templates end with an error: no crash, no hang, no unbounded output.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <random>

#include "support/test_files.h"
#include "vt/chat_template.h"

namespace vt {
namespace {

using nlohmann::ordered_json;

// The text, or "error: " and the message.
std::string Outcome(const std::string& source, const RenderOptions& options = {},
                    const ordered_json& context = ordered_json::object()) {
  const auto parsed = ChatTemplate::Parse(source);
  if (!parsed.ok()) return "error: " + parsed.status().message();
  const auto text = parsed->Render(context, options);
  return text.ok() ? *text : "error: " + text.status().message();
}

std::string Repeat(const std::string& text, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += text;
  return out;
}

bool IsError(const std::string& outcome) { return outcome.rfind("error: ", 0) == 0; }

TEST(ChatTemplateLimits, NestingInSource) {
  EXPECT_EQ(Outcome("{{ " + Repeat("(", 30) + "1" + Repeat(")", 30) + " }}"), "1");
  for (const char* open : {"(", "[", "{'a':", "not ", "-", "1 if 1 else ", "f(", "a[", "x|f("}) {
    EXPECT_TRUE(IsError(Outcome("{{ " + Repeat(open, 20000)))) << open;
  }
  EXPECT_TRUE(IsError(Outcome("{{ " + Repeat("(", 5000) + "1" + Repeat(")", 5000) + " }}")));
  EXPECT_EQ(Outcome("{{ 1" + Repeat(" + 1", 150) + " }}"), "151");
  for (const char* link :
       {" + 1", " or 1", " and 1", "|string", ".a", "[0]", "()", " is defined", " ** 1", " if 1"}) {
    EXPECT_TRUE(IsError(Outcome("{{ x" + Repeat(link, 20000) + " }}"))) << link;
  }
  EXPECT_EQ(Outcome("{{ 1" + Repeat(" ~ 1", 1000) + " }}"), Repeat("1", 1001));
  EXPECT_EQ(Outcome(Repeat("{% if 1 %}", 90) + "x" + Repeat("{% endif %}", 90)), "x");
  for (const char* block :
       {"{% if 1 %}", "{% for a in b %}", "{% macro m() %}", "{% set x %}", "{% filter upper %}",
        "{% with %}", "{% call f() %}", "{% generation %}", "{% if 1 %}{% else %}"}) {
    EXPECT_TRUE(IsError(Outcome(Repeat(block, 20000)))) << block;
  }
}

TEST(ChatTemplateLimits, RecursionAtRunTime) {
  EXPECT_NE(Outcome("{% macro m(n) %}{{ n }}{% if n %}{{ m(n - 1) }}{% endif %}{% endmacro %}"
                    "{{ m(90) }}")
                .find("3210"),
            std::string::npos);
  EXPECT_NE(Outcome("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}").find("recursion depth"),
            std::string::npos);
  EXPECT_NE(Outcome("{% macro a() %}{% call a() %}{{ a() }}{% endcall %}{{ caller() }}"
                    "{% endmacro %}{{ a() }}")
                .find("recursion depth"),
            std::string::npos);
  EXPECT_NE(
      Outcome("{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}").find("recursion depth"),
      std::string::npos);
}

TEST(ChatTemplateLimits, DeepValues) {
  const std::string grow = "{% set ns = namespace(x=1) %}{% for i in range(90000) %}{% set ns.x = ";
  for (const char* step : {"[ns.x]", "(ns.x,)", "{'a': ns.x}", "[ns.x]|batch(1)", "[ns.x.index]",
                           "cycler(ns.x)", "joiner(ns.x)", "dict(a=ns.x)"}) {
    EXPECT_TRUE(IsError(Outcome(grow + step + " %}{% endfor %}"))) << step;
  }
  // A chain of namespaces may be long, but not be printed.
  EXPECT_EQ(Outcome(grow + "namespace(x=ns.x) %}{% endfor %}done"), "done");
  EXPECT_TRUE(IsError(Outcome(grow + "namespace(x=ns.x) %}{% endfor %}{{ ns }}")));
  EXPECT_EQ(Outcome("{% set ns = namespace() %}{% set ns.a = ns %}{% set ns.b = [ns] %}{{ ns }}"),
            "<Namespace {'a': <Namespace {...}>, 'b': [<Namespace {...}>]}>");
  ordered_json deep = 1;
  for (int i = 0; i < 5000; ++i) {
    ordered_json outer = ordered_json::array();
    outer.push_back(std::move(deep));
    deep = std::move(outer);
  }
  ordered_json context = ordered_json::object();
  context["x"] = std::move(deep);
  EXPECT_TRUE(IsError(Outcome("{{ x }}", {}, context)));
}

TEST(ChatTemplateLimits, SharedValuesThatUnfold) {
  // Each turn doubles what a full walk would visit, not what is stored.
  const std::string grow =
      "{% set ns = namespace(x=[1], y=[1]) %}{% for i in range(100) %}"
      "{% set ns.x = [ns.x, ns.x] %}{% set ns.y = [ns.y, ns.y] %}{% endfor %}";
  RenderOptions options;
  options.max_steps = 1'000'000;
  EXPECT_EQ(Outcome(grow + "ok", options), "ok");
  for (const char* use : {"{{ ns.x }}", "{{ ns.x == ns.y }}", "{{ ns.x|tojson }}",
                          "{{ ns.x < ns.y }}", "{{ ns.x|pprint }}", "{{ ns.x in [ns.y] }}"}) {
    EXPECT_TRUE(IsError(Outcome(grow + use, options))) << use;
  }
  const std::string tuples =
      "{% set ns = namespace(x=(1,)) %}{% for i in range(100) %}{% set ns.x = (ns.x, ns.x) %}"
      "{% endfor %}{{ {ns.x: 1} }}";
  EXPECT_TRUE(IsError(Outcome(tuples, options)));
}

TEST(ChatTemplateLimits, StepsAndBytes) {
  const std::string loops = Repeat("{% for i in range(1000) %}", 6) + Repeat("{% endfor %}", 6);
  RenderOptions medium;
  medium.max_steps = 1'000'000;
  medium.max_output_bytes = 1 << 20;
  EXPECT_NE(Outcome(loops, medium).find("steps"), std::string::npos);
  RenderOptions few;
  few.max_steps = 100;
  EXPECT_NE(Outcome("{% for i in range(1000) %}{% endfor %}", few).find("more than 100 steps"),
            std::string::npos);
  RenderOptions small;
  small.max_output_bytes = 1000;
  EXPECT_EQ(Outcome("{{ 'x' * 1000 }}", small), Repeat("x", 1000));
  EXPECT_NE(Outcome("{{ 'x' * 1001 }}", small).find("limit of 1000"), std::string::npos);
  EXPECT_TRUE(IsError(Outcome("{% for i in range(101) %}{{ 'ten chars.' }}{% endfor %}", small)));
  for (const char* big :
       {"{{ 'x' * 99999999999999999999 }}", "{{ [1] * 99999999999 }}",
        "{{ 'x'|center(99999999999) }}", "{{ 'x'.rjust(99999999999) }}",
        "{{ '%99999999999d' % 1 }}", "{{ '{:99999999999}'.format(1) }}",
        "{{ '%.99999999999f' % 1 }}", "{{ 'x'|indent(99999999999) }}", "{{ range(99999999999) }}",
        "{{ '5'.zfill(99999999999) }}", "{{ [1]|batch(99999999999, 'x')|list }}",
        "{{ [1]|slice(99999999999)|list }}", "{{ 2 ** 99999999999 }}",
        "{{ strftime_now('%99999999d') }}"}) {
    EXPECT_TRUE(IsError(Outcome(big))) << big;
  }
  const std::string doubling =
      "{% set ns = namespace(s='xxxxxxxx') %}{% for i in range(64) %}{% set ns.s = ";
  for (const char* step :
       {"ns.s ~ ns.s", "ns.s + ns.s", "ns.s * 2", "ns.s|replace('x', 'xx')",
        "ns.s.replace('', 'x')", "'%s%s' % (ns.s, ns.s)", "'{0}{0}'.format(ns.s)",
        "ns.s.join([ns.s, ns.s])", "[ns.s, ns.s]|join", "ns.s|tojson|tojson",
        "(ns.s ~ '<')|e ~ ns.s", "ns.s|urlencode ~ ns.s"}) {
    EXPECT_TRUE(IsError(Outcome(doubling + step + " %}{% endfor %}", medium))) << step;
  }
}

TEST(ChatTemplateLimits, NumbersOutOfRange) {
  for (const char* source : {"{{ 2 ** 127 }}", "{{ -(2 ** 126) * 2 - 1 }}", "{{ 10 ** 38 * 10 }}",
                             "{{ 999999999999999999999999999999999999999999 }}"}) {
    EXPECT_TRUE(IsError(Outcome(source))) << source;
  }
  EXPECT_EQ(Outcome("{{ (-(2 ** 126) * 2) // -1 if false else 'ok' }}"), "ok");
  EXPECT_TRUE(IsError(Outcome("{{ (-(2 ** 126) * 2) // -1 }}")));
  EXPECT_EQ(Outcome("{{ (-(2 ** 126) * 2) % -1 }}"), "0");
  EXPECT_TRUE(IsError(Outcome("{{ (-(2 ** 126) * 2)|abs }}")));
  EXPECT_EQ(Outcome("{{ 'abc'[-(2 ** 126):2 ** 126] }}{{ 'abc'[::2 ** 126] }}"), "abca");
  ordered_json context = {{"u", 18446744073709551615u}};
  EXPECT_EQ(Outcome("{{ u }} {{ u|tojson }}", {}, context),
            "18446744073709551615 18446744073709551615");
}

TEST(ChatTemplateLimits, ErrorsSayWhereAndWhat) {
  EXPECT_EQ(Outcome("a\n{{ x.y }}"), "error: chat template: line 2: 'x' is undefined");
  EXPECT_EQ(Outcome("\n\n{% if a %}\n{{ 1 + }}"),
            "error: chat template: line 4: unexpected 'end of print statement'");
  EXPECT_EQ(Outcome("{{ raise_exception('Roles must alternate') }}"),
            "error: chat template: Roles must alternate");
  EXPECT_EQ(Outcome("{% include 'x' %}"),
            "error: chat template: line 1: the tag 'include' is not supported: a chat template "
            "stands alone");
  EXPECT_EQ(Outcome("{{ {}.update({}) }}"),
            "error: chat template: line 1: access to attribute 'update' of 'dict' object is "
            "unsafe.");
  const auto parsed = ChatTemplate::Parse("x");
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->Render(ordered_json::array()).status().code(), Code::kInvalid);
}

TEST(ChatTemplateLimits, BytesThatAreNotUtf8) {
  const ordered_json context = {{"x", "a\xFF\xC3(\xE2\x82z\xC3"}};
  EXPECT_EQ(Outcome("{{ x }}\xFE", {}, context), "a\xFF\xC3(\xE2\x82z\xC3\xFE");
  EXPECT_EQ(Outcome("{{ x|length }} {{ x[::-1][::-1] == x }} {{ x|upper }}", {}, context),
            "8 True A\xFF\xC3(\xE2\x82Z\xC3");
  EXPECT_FALSE(IsError(Outcome("{{ x|tojson }}{{ x|pprint }}{{ x|tojson(true) }}", {}, context)));
}

// Templates made by damaging good ones. What comes out does not matter, only that it does.
TEST(ChatTemplateLimits, MutatedTemplates) {
  const ordered_json document =
      ordered_json::parse(test::ReadFile(test::DataPath("jinja_cases.json")));
  const ordered_json& context = document.at("context");
  std::vector<std::string> sources;
  for (const ordered_json& test_case : document.at("cases")) {
    sources.push_back(test_case.at("source").get<std::string>());
  }
  const std::vector<std::string> parts = {"{{",
                                          "}}",
                                          "{%",
                                          "%}",
                                          "{#",
                                          "#}",
                                          "-",
                                          "(",
                                          ")",
                                          "[",
                                          "]",
                                          "{",
                                          "}",
                                          "|",
                                          ".",
                                          ",",
                                          ":",
                                          "'",
                                          "\"",
                                          "\\",
                                          "~",
                                          "*",
                                          "**",
                                          "//",
                                          "%",
                                          "==",
                                          " in ",
                                          " is ",
                                          " not ",
                                          " if ",
                                          " else ",
                                          " for ",
                                          "{% endif %}",
                                          "{% endfor %}",
                                          "{% raw %}",
                                          "{% endraw %}",
                                          "{% set x = ",
                                          "loop",
                                          "loop.length",
                                          "caller()",
                                          "namespace()",
                                          "9999999999",
                                          "-1",
                                          "0",
                                          "1e308",
                                          "none",
                                          "missing",
                                          "recursive ",
                                          "\n",
                                          "\xC3",
                                          "\xF0\x9F\x99\x82",
                                          std::string(1, '\0')};
  RenderOptions options;
  options.max_steps = 20'000;
  options.max_output_bytes = 1 << 20;
  std::mt19937 random(20260102);  // the same templates on every machine
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  constexpr int kMutants = 6000;
  constexpr double kSeconds = 5;
  const auto start = std::chrono::steady_clock::now();
  int parsed_count = 0;
  int rendered_count = 0;
  for (int i = 0; i < kMutants; ++i) {
    std::string source = sources[below(sources.size())];
    if (below(3) == 0) source += sources[below(sources.size())];
    for (std::size_t edits = 1 + below(4); edits > 0 && !source.empty(); --edits) {
      const std::size_t at = below(source.size());
      const std::size_t size = std::min(below(6), source.size() - at);
      switch (below(4)) {
        case 0:
          source.erase(at, size);
          break;
        case 1:
          source.insert(at, parts[below(parts.size())]);
          break;
        case 2:
          source.insert(below(source.size()), std::string(source, at, size * 4));
          break;
        default:
          source.replace(at, size, parts[below(parts.size())]);
      }
    }
    SCOPED_TRACE(source);
    const auto parsed = ChatTemplate::Parse(source);
    if (!parsed.ok()) {
      EXPECT_EQ(parsed.status().code(), Code::kInvalid);
      continue;
    }
    ++parsed_count;
    const auto text = parsed->Render(context, options);
    if (text.ok()) {
      ++rendered_count;
    } else {
      EXPECT_EQ(text.status().code(), Code::kInvalid);
    }
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  EXPECT_GT(parsed_count, 500);
  EXPECT_GT(rendered_count, 300);
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(took.count(), kSeconds);
#else
  (void)kSeconds;
#endif
}

}  // namespace
}  // namespace vt
