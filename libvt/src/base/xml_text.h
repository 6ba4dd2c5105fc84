// Text inside XML and HTML.
#pragma once

#include <string>
#include <string_view>

namespace vt {

// Fit for content and for values in double quotes; bytes that are no UTF-8 are replaced, control
// characters but newlines and tabs, which XML 1.0 has not, become spaces.
std::string XmlText(std::string_view text);

}  // namespace vt
