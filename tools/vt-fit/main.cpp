// vt-fit: whether a model or a plan fits.
#include <string_view>
#include <vector>

#include "cli/fit.h"

int main(int argc, char** argv) {
  const std::vector<std::string_view> args(argv + (argc > 0 ? 1 : 0), argv + argc);
  return vt::cli::RunFitTool(args);
}
