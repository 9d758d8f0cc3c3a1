#include <fmt/format.h>

#include "jobs/duck/vet.h"
#include "jobs/script/sql_error.h"

namespace capstan::duck {
namespace {

using Kind = Token::Kind;
using script::SqlError;

// Reads the head of a statement, up to its query.
class OrderReader {
 public:
  explicit OrderReader(const SparkSql& sql) : sql_(sql) {}

  Order read() {
    if (take("insert")) return insert();
    if (take("create")) return create();
    if (take("drop")) return drop();
    if (take("refresh")) return refresh();
    fail("insert, create, drop or refresh is expected");
  }

 private:
  Order insert() {
    Order order{Order::Kind::kInsert, {}, {}};
    order.replace = take("overwrite");
    if (!order.replace || !is("table")) need(order.replace ? "table" : "into");
    take("table");
    order.table = name();
    order.after = at_;
    if (is("(") && !next_is_query()) order.columns = parenthesised(false);
    order.query = query();
    return order;
  }

  Order create() {
    Order order{Order::Kind::kCreate, {}, {}};
    if (take("or")) order.replace = (need("replace"), true);
    if (!take("temporary")) take("temp");
    if (!take("view")) need("table");
    if (take("if")) order.lenient = (need("not"), need("exists"), true);
    order.table = name();
    if (is("(")) {
      order.kind = Order::Kind::kDeclare;
      order.after = at_;
      order.columns = parenthesised(true);
      return finished(order);
    }
    need("as");
    order.query = query();
    return order;
  }

  Order drop() {
    Order order{Order::Kind::kDrop, {}, {}};
    if (!take("view")) need("table");
    if (take("if")) order.lenient = (need("exists"), true);
    order.table = name();
    return finished(order);
  }

  Order refresh() {
    Order order{Order::Kind::kRefresh, {}, {}};
    take("table");
    order.table = name();
    return finished(order);
  }

  const Token* token(size_t ahead = 0) const {
    return at_ + ahead < sql_.tokens().size() ? &sql_.tokens()[at_ + ahead] : nullptr;
  }
  bool is(std::string_view word, size_t ahead = 0) const {
    const Token* next = token(ahead);
    return next && (next->kind == Kind::kWord || next->kind == Kind::kSign) && next->text == word;
  }
  bool take(std::string_view word) {
    bool found = is(word);
    at_ += found;
    return found;
  }
  void need(std::string_view word) {
    if (!take(word)) fail(fmt::format("{} is expected", word));
  }
  [[noreturn]] void fail(std::string message) const {
    size_t end = sql_.tokens().empty() ? 0 : sql_.tokens().back().end;
    throw SqlError(Code::kInvalidArgument, std::move(message), token() ? token()->offset : end);
  }

  std::string name() {
    const Token* next = token();
    if (!next || (next->kind != Kind::kWord && next->kind != Kind::kName)) {
      fail("the name of a table is expected");
    }
    ++at_;
    if (is(".")) fail("tables of a script have no database; leave out the part before the dot");
    return next->kind == Kind::kName ? next->text : next->spelled;
  }

  bool next_is_query() const { return is("select", 1) || is("with", 1) || is("values", 1); }

  // Names, and types after them; nothing that computes.
  std::string parenthesised(bool types) {
    std::string out;
    int depth = 0;
    do {
      const Token* next = token();
      if (!next) fail(") is expected");
      bool sign = next->kind == Kind::kSign;
      bool good = sign ? std::string_view("(),[]").find(next->text) != std::string_view::npos
                       : next->kind == Kind::kName || next->kind == Kind::kWord ||
                             (types && next->kind == Kind::kNumber);
      if (!good || (types && (is("default") || is("check") || is("as") || is("references")))) {
        fail("a list of columns has names and types only");
      }
      depth += is("(") - is(")");
      out += next->spelled + " ";
      ++at_;
    } while (depth > 0);
    return out;
  }

  size_t query() {
    if (!is("select") && !is("with") && !is("values") && !is("(") && !is("from")) {
      fail("a query is expected: select …");
    }
    return at_;
  }

  Order finished(const Order& order) const {
    if (token()) fail("nothing more is expected here");
    return order;
  }

  const SparkSql& sql_;
  size_t at_ = 0;
};

}  // namespace

Order read_order(const SparkSql& sql) { return OrderReader(sql).read(); }

}  // namespace capstan::duck
