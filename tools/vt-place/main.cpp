// vt-place: where every part of a model lies.
#include <string_view>
#include <vector>

#include "cli/place.h"

int main(int argc, char** argv) {
  const std::vector<std::string_view> args(argv + (argc > 0 ? 1 : 0), argv + argc);
  return vt::cli::RunPlaceTool(args);
}
