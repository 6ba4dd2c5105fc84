#include "formats/chat/scope.h"

#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "formats/chat/budget.h"
#include "formats/chat/builtins.h"

namespace vt::chat {
namespace {

using NameVisitor = std::function<void(const std::string& name, bool is_load)>;

void WalkExpr(const Expr* e, bool is_load, const NameVisitor& visit) {
  if (!e || e->kind == ExprKind::kAttrRef) return;
  if (e->kind == ExprKind::kName) visit(e->name, is_load);
  for (const ExprPtr& kid : e->kids) WalkExpr(kid.get(), is_load, visit);
  if (!e->args) return;
  for (const ExprPtr& arg : e->args->args) WalkExpr(arg.get(), true, visit);
  for (const auto& [key, value] : e->args->kwargs) WalkExpr(value.get(), true, visit);
  WalkExpr(e->args->star.get(), true, visit);
  WalkExpr(e->args->star_star.get(), true, visit);
}

void WalkBody(const Body& body, const NameVisitor& visit) {
  for (const auto& stmt : body) {
    if (stmt->kind != StmtKind::kMacro) WalkExpr(stmt->target.get(), false, visit);
    WalkExpr(stmt->expr.get(), true, visit);
    for (const Param& param : stmt->params) {
      visit(param.name, false);
      WalkExpr(param.fallback.get(), true, visit);
    }
    for (const auto& [target, value] : stmt->bindings) WalkExpr(target.get(), false, visit);
    for (const auto& [target, value] : stmt->bindings) WalkExpr(value.get(), true, visit);
    for (const Branch& branch : stmt->branches) {
      WalkExpr(branch.test.get(), true, visit);
      WalkBody(branch.body, visit);
    }
    WalkBody(stmt->body, visit);
    WalkBody(stmt->else_body, visit);
    WalkExpr(stmt->test.get(), true, visit);
  }
}

// Whether `body` reads `name` before anything in it binds the name.
bool ReadsFirst(const Body& body, const std::string& name) {
  bool bound = false;
  bool reads = false;
  WalkBody(body, [&](const std::string& seen, bool is_load) {
    if (seen != name) return;
    if (!is_load) {
      bound = true;
    } else if (!bound) {
      reads = true;
    }
  });
  return reads;
}

// What is known of a frame's names at a point; branches of a condition lie over what precedes.
struct Knowledge {
  const Knowledge* below = nullptr;
  std::unordered_map<std::string, LoadKind> loads;  // every name the frame has
  std::unordered_set<std::string> stores;

  bool Has(const std::string& name) const {
    for (const Knowledge* k = this; k; k = k->below) {
      if (k->loads.count(name)) return true;
    }
    return false;
  }
  bool Stores(const std::string& name) const {
    for (const Knowledge* k = this; k; k = k->below) {
      if (k->stores.count(name)) return true;
    }
    return false;
  }
};

// The names of one frame. First everything is analysed, then the loads are final.
class Scope {
 public:
  Scope(Scope* parent, Frame& frame) : parent_(parent), frame_(frame) {}

  void Read(const std::string& name) {
    if (!now_->Has(name) && !OuterHas(name)) Define(name, LoadKind::kContext);
  }
  void Store(const std::string& name) {
    now_->stores.insert(name);
    if (!now_->Has(name)) Define(name, OuterHas(name) ? LoadKind::kOuter : LoadKind::kNothing);
  }
  int Declare(const std::string& name) {
    now_->stores.insert(name);
    Define(name, LoadKind::kParameter);
    return slots_.at(name);
  }

  void ReadAll(const Expr* e) {
    if (!e) return;
    if (e->kind == ExprKind::kName || e->kind == ExprKind::kAttrRef) Read(e->name);
    for (const ExprPtr& kid : e->kids) ReadAll(kid.get());
    if (!e->args) return;
    for (const ExprPtr& arg : e->args->args) ReadAll(arg.get());
    for (const auto& [key, value] : e->args->kwargs) ReadAll(value.get());
    ReadAll(e->args->star.get());
    ReadAll(e->args->star_star.get());
  }
  void StoreAll(const Expr& target, bool as_parameter) {
    if (target.kind == ExprKind::kName) {
      if (as_parameter) {
        Declare(target.name);
      } else {
        Store(target.name);
      }
    } else if (target.kind == ExprKind::kAttrRef) {
      Read(target.name);
    }
    for (const ExprPtr& kid : target.kids) StoreAll(*kid, as_parameter);
  }

  // The statements of this frame, without the bodies that are frames of their own.
  void Analyse(const Body& body) {
    for (const auto& stmt : body) {
      switch (stmt->kind) {
        case StmtKind::kIf:
          AnalyseIf(*stmt);
          break;
        case StmtKind::kMacro:
        case StmtKind::kSetBlock:
          StoreAll(*stmt->target, false);
          break;
        case StmtKind::kWith:
          for (const auto& [target, value] : stmt->bindings) ReadAll(value.get());
          break;
        case StmtKind::kFor:
          ReadAll(stmt->expr.get());
          break;
        default:
          ReadAll(stmt->expr.get());
          if (stmt->target) StoreAll(*stmt->target, false);
      }
    }
  }

  // Call once everything is analysed.
  void Finish() {
    for (const auto& [name, kind] : base_.loads) {
      Load load{kind, slots_.at(name), {}, name};
      if (kind == LoadKind::kOuter) {
        load.outer = parent_->Find(name);
        ++load.outer.up;
      }
      frame_.loads.push_back(std::move(load));
    }
    frame_.slots = static_cast<int>(slots_.size());
  }

  Ref Find(const std::string& name) const {
    Ref ref;
    for (const Scope* s = this; s; s = s->parent_) {
      if (s->base_.loads.count(name)) {
        ref.slot = s->slots_.at(name);
        return ref;
      }
      ++ref.up;
    }
    return {};
  }

  void MarkCaptured() {
    for (Scope* s = this; s; s = s->parent_) s->frame_.captured = true;
  }

 private:
  bool OuterHas(const std::string& name) const { return parent_ && parent_->Find(name).slot >= 0; }

  void Define(const std::string& name, LoadKind kind) {
    slots_.emplace(name, static_cast<int>(slots_.size()));
    now_->loads[name] = kind;
  }

  void AnalyseIf(const Stmt& stmt) {
    // Each elif is a condition within the else of what precedes, for its test; but all bodies
    // stand side by side.
    ReadAll(stmt.branches[0].test.get());
    std::vector<Knowledge> branches(stmt.branches.size() + 1);
    Knowledge* const before = now_;
    for (std::size_t i = 0; i < branches.size(); ++i) {
      branches[i].below = before;
      now_ = &branches[i];
      const bool is_else = i == stmt.branches.size();
      if (i > 0 && !is_else) ReadAll(stmt.branches[i].test.get());
      Analyse(is_else ? stmt.else_body : stmt.branches[i].body);
    }
    now_ = before;
    std::unordered_set<std::string> stored;
    for (const Knowledge& branch : branches) {
      for (const std::string& name : branch.stores) {
        if (!now_->Stores(name)) stored.insert(name);
      }
    }
    for (const Knowledge& branch : branches) {
      for (const auto& [name, kind] : branch.loads) now_->loads[name] = kind;
      now_->stores.insert(branch.stores.begin(), branch.stores.end());
    }
    for (const std::string& name : stored) {
      now_->loads[name] = OuterHas(name) ? LoadKind::kOuter : LoadKind::kContext;
    }
  }

  Scope* parent_;
  Frame& frame_;
  Knowledge base_;
  Knowledge* now_ = &base_;
  std::unordered_map<std::string, int> slots_;
};

class Resolver {
 public:
  void Run(Program& program) {
    Scope root(nullptr, program.frame);
    root.Analyse(program.body);
    root.Finish();
    Bind(program.body, root, false);
  }

 private:
  [[noreturn]] static void Error(int line, std::string message) {
    throw TemplateError{std::move(message), line, false};
  }

  void Bind(Body& body, Scope& scope, bool soft) {
    for (auto& stmt : body) BindStmt(*stmt, scope, soft);
  }

  // `soft`: within a condition, where an unknown filter fails only when it is reached.
  void BindExpr(Expr* e, Scope& scope, bool soft) {
    if (!e) return;
    if (e->kind == ExprKind::kName || e->kind == ExprKind::kAttrRef) e->ref = scope.Find(e->name);
    if (e->kind == ExprKind::kCond) soft = true;
    for (ExprPtr& kid : e->kids) BindExpr(kid.get(), scope, soft);
    if (e->args) {
      for (ExprPtr& arg : e->args->args) BindExpr(arg.get(), scope, soft);
      for (auto& [key, value] : e->args->kwargs) BindExpr(value.get(), scope, soft);
      BindExpr(e->args->star.get(), scope, soft);
      BindExpr(e->args->star_star.get(), scope, soft);
    }
    if (e->kind == ExprKind::kFilter) {
      e->filter = FindFilter(e->name);
      if (!e->filter && !soft) Error(e->line, "No filter named '" + e->name + "'.");
    } else if (e->kind == ExprKind::kTest) {
      e->test = FindTest(e->name);
      if (!e->test && !soft) Error(e->line, "No test named '" + e->name + "'.");
    }
  }

  void BindTarget(Expr& target, Scope& scope) {
    if (loops_ > 0 && target.kind == ExprKind::kName && target.name == "loop") {
      Error(target.line, "Can't assign to special loop variable in for-loop target");
    }
    if (target.kind == ExprKind::kName || target.kind == ExprKind::kAttrRef) {
      target.ref = scope.Find(target.name);
    }
    for (ExprPtr& kid : target.kids) BindTarget(*kid, scope);
  }

  void BindStmt(Stmt& stmt, Scope& scope, bool soft) {
    switch (stmt.kind) {
      case StmtKind::kIf:
        for (Branch& branch : stmt.branches) {
          BindExpr(branch.test.get(), scope, true);
          Bind(branch.body, scope, true);
        }
        return Bind(stmt.else_body, scope, true);
      case StmtKind::kFor:
        return BindFor(stmt, scope, soft);
      case StmtKind::kMacro:
        stmt.target->ref = scope.Find(stmt.text);
        scope.MarkCaptured();
        return BindFunction(stmt, scope);
      case StmtKind::kCall:
        if (stmt.expr) scope.MarkCaptured();
        BindExpr(stmt.expr.get(), scope, soft);
        return BindFunction(stmt, scope);
      case StmtKind::kSetBlock: {
        BindTarget(*stmt.target, scope);
        Scope inner(&scope, stmt.frame);
        return BindCapture(stmt, inner);
      }
      case StmtKind::kFilterBlock: {
        Scope inner(&scope, stmt.frame);
        return BindCapture(stmt, inner);
      }
      case StmtKind::kWith: {
        for (auto& [target, value] : stmt.bindings) BindExpr(value.get(), scope, soft);
        Scope inner(&scope, stmt.frame);
        for (auto& [target, value] : stmt.bindings) inner.StoreAll(*target, true);
        inner.Analyse(stmt.body);
        inner.Finish();
        for (auto& [target, value] : stmt.bindings) BindExpr(target.get(), inner, false);
        return Bind(stmt.body, inner, false);
      }
      default:
        BindExpr(stmt.expr.get(), scope, soft);
        if (stmt.target) BindTarget(*stmt.target, scope);
    }
  }

  // A body whose text goes through a filter chain.
  void BindCapture(Stmt& stmt, Scope& inner) {
    inner.Analyse(stmt.body);
    inner.ReadAll(stmt.expr.get());
    inner.Finish();
    Bind(stmt.body, inner, false);
    BindExpr(stmt.expr.get(), inner, false);
  }

  void BindFor(Stmt& stmt, Scope& scope, bool soft) {
    BindExpr(stmt.expr.get(), scope, soft);
    if (stmt.recursive) scope.MarkCaptured();
    ++loops_;
    Scope body(&scope, stmt.frame);
    body.StoreAll(*stmt.target, true);  // first, so that the test's frame has the same slots
    if (stmt.recursive || ReadsFirst(stmt.body, "loop")) stmt.loop_slot = body.Declare("loop");
    body.Analyse(stmt.body);
    body.Finish();
    BindTarget(*stmt.target, body);
    Bind(stmt.body, body, false);
    if (stmt.test) {
      Scope test(&scope, stmt.test_frame);
      test.StoreAll(*stmt.target, true);
      test.ReadAll(stmt.test.get());
      test.Finish();
      BindExpr(stmt.test.get(), test, false);
    }
    Scope otherwise(&scope, stmt.else_frame);
    otherwise.Analyse(stmt.else_body);
    otherwise.Finish();
    Bind(stmt.else_body, otherwise, false);
    --loops_;
  }

  void BindFunction(Stmt& stmt, Scope& scope) {
    Scope inner(&scope, stmt.frame);
    for (Param& param : stmt.params) {
      param.slot = inner.Declare(param.name);
      if (param.name == "caller") stmt.explicit_caller = true;
    }
    const auto implicit = [&](const char* name) {
      for (const Param& param : stmt.params) {
        if (param.name == name) return -1;
      }
      return ReadsFirst(stmt.body, name) ? inner.Declare(name) : -1;
    };
    stmt.caller_slot = implicit("caller");
    stmt.kwargs_slot = implicit("kwargs");
    stmt.varargs_slot = implicit("varargs");
    for (const Param& param : stmt.params) {
      if (param.name == "caller" && !param.fallback && ReadsFirst(stmt.body, "caller")) {
        Error(stmt.line,
              "When defining macros or call blocks the special \"caller\" argument must be omitted "
              "or be given a default.");
      }
      inner.ReadAll(param.fallback.get());
    }
    inner.Analyse(stmt.body);
    inner.Finish();
    for (Param& param : stmt.params) BindExpr(param.fallback.get(), inner, false);
    Bind(stmt.body, inner, false);
  }

  int loops_ = 0;
};

}  // namespace

void ResolveNames(Program& program) { Resolver().Run(program); }

}  // namespace vt::chat
