// Python's two ways to format text: "%s" % values and "{}".format(values).
#pragma once

#include "formats/chat/call.h"
#include "formats/chat/value.h"

namespace vt::chat {

// format % values, where values is a tuple, a dict or a single value.
Value PercentFormat(const Value& format, const Value& values);
// format.format(*call.args, **call.kwargs).
std::string BraceFormat(const std::string& format, const Call& call);

}  // namespace vt::chat
