// vt-run: text from a model file.
#include <string_view>
#include <vector>

#include "cli/run.h"

int main(int argc, char** argv) {
  const std::vector<std::string_view> args(argv + (argc > 0 ? 1 : 0), argv + argc);
  return vt::cli::RunTool(args);
}
