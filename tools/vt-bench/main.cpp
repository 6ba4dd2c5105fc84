// vt-bench: measurements and their comparison.
#include <string_view>
#include <vector>

#include "cli/bench.h"

int main(int argc, char** argv) {
  const std::vector<std::string_view> args(argv + (argc > 0 ? 1 : 0), argv + argc);
  return vt::cli::RunBenchTool(args);
}
