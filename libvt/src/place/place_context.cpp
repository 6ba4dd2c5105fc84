// The largest context that a placement fits at.
#include <algorithm>
#include <memory>
#include <optional>

#include "base/size_text.h"
#include "place/place.h"
#include "place/placer.h"

namespace vt {
namespace {

// What was found at one context.
struct Attempt {
  explicit Attempt(const PlaceRequest& like, std::uint64_t context) : request(like) {
    request.options.context = context;
  }
  PlaceRequest request;
  std::optional<Placer> placer;  // of `request`
  TriedPlacement tried;
};

// What fits every budget; with `paging`, also what fits by paging alone.
class ContextSearch {
 public:
  ContextSearch(const GgufFile& file, const ModelSpec& spec, const PlaceRequest& request,
                bool paging)
      : file_(file),
        spec_(spec),
        request_(request),
        paging_(paging),
        from_(TrainedContext(spec)),
        blocks_((from_ + kContextBlock - 1) / kContextBlock) {}

  // None: no placement fits, however small the context.
  Result<std::optional<PlaceAnswer>> Run() {
    VT_ASSIGN_OR_RETURN(const std::unique_ptr<Attempt> whole, Try(blocks_, Effort::kBrief));
    std::uint64_t blocks = Good(*whole) ? blocks_ : Narrow();
    // At the last, the best placement and not any. Should the planner refuse it, there is less.
    std::unique_ptr<Attempt> best;
    for (; blocks > 0 && failure_.ok(); --blocks) {
      VT_ASSIGN_OR_RETURN(best, Try(blocks, Effort::kBest));
      if (Good(*best)) break;
    }
    if (!failure_.ok()) return failure_;
    if (blocks == 0) return std::optional<PlaceAnswer>();
    VT_ASSIGN_OR_RETURN(PlaceAnswer answer, best->placer->Answer(std::move(best->tried)));
    answer.chosen_context = {from_, Context(blocks), ""};
    if (blocks < blocks_) answer.chosen_context->why = Why(whole->tried.fit);
    return std::optional(std::move(answer));
  }

 private:
  using Effort = Placer::Effort;

  std::uint64_t Context(std::uint64_t blocks) const {
    return std::min(blocks * kContextBlock, from_);
  }

  Result<std::unique_ptr<Attempt>> Try(std::uint64_t blocks, Effort effort) const {
    auto attempt = std::make_unique<Attempt>(request_, Context(blocks));
    attempt->placer.emplace(file_, spec_, attempt->request);
    VT_RETURN_IF_ERROR(attempt->placer->Prepare());
    VT_ASSIGN_OR_RETURN(attempt->tried, attempt->placer->Find(effort));
    return attempt;
  }

  bool Good(const Attempt& attempt) const {
    return attempt.tried.good && (paging_ || !attempt.tried.pages());
  }

  bool Fits(std::uint64_t blocks, Effort effort) {
    const auto attempt = Try(blocks, effort);
    if (!attempt.ok()) failure_ = attempt.status();
    return attempt.ok() && Good(**attempt);
  }

  // The most blocks that fit; 0: none do. A brief search says about how many; the whole one, which
  // finds all that the brief one does, goes on from there in steps that grow, to where it says no.
  std::uint64_t Narrow() {
    const auto briefly = [&](std::uint64_t blocks) { return Fits(blocks, Effort::kBrief); };
    const auto fits = [&](std::uint64_t blocks) { return Fits(blocks, Effort::kAny); };
    std::uint64_t low = 1;
    if (briefly(1)) {
      low = LargestThatFits(1, blocks_, briefly);
    } else if (!fits(1)) {
      return 0;
    }
    std::uint64_t high = low + 1;
    for (std::uint64_t step = 2; high <= blocks_ && fits(high); step *= 2) {
      low = high;
      high = std::min(high + step, std::max(blocks_, high + 1));
    }
    return LargestThatFits(low, high, fits);
  }

  std::string Why(const Fit& fit) const {
    const std::string at = "at " + std::to_string(from_) + " ";
    const std::int64_t deficit = fit.deficit_bytes.value_or(0);
    std::string why = at + "no placement was found that fits";
    if (deficit > 0) {
      why = at + "the nearest placement needs " + SizeText(NeedAt(fit, fit.deficit_where)) +
            " on " + fit.deficit_where + ", " + SizeText(deficit) + " more than its budget";
    }
    return paging_ ? why + "; no context fits but by paging" : why;
  }

  const GgufFile& file_;
  const ModelSpec& spec_;
  const PlaceRequest& request_;
  const bool paging_;
  const std::uint64_t from_;
  const std::uint64_t blocks_;  // of all of it
  Status failure_;
};

}  // namespace

Result<PlaceAnswer> PlaceLargestContext(const GgufFile& file, const ModelSpec& spec,
                                        const PlaceRequest& request) {
  for (const bool paging : {false, true}) {
    VT_ASSIGN_OR_RETURN(std::optional<PlaceAnswer> answer,
                        ContextSearch(file, spec, request, paging).Run());
    if (answer) return std::move(*answer);
  }
  PlaceRequest smallest = request;
  smallest.options.context = std::min(kContextBlock, TrainedContext(spec));
  return PlaceModel(file, spec, smallest);
}

}  // namespace vt
