// SPDX-License-Identifier: Apache-2.0
#include "cuda_sim/api/ptx_text.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <set>

#include "cuda_sim/kernels/ptx.h"

namespace nvs::sim {
namespace {

constexpr int kNewestVersion = 90;  // PTX 9.0 is that of CUDA 13.0

const std::set<std::string_view> kInstructions = {
    "abs",          "activemask",    "add",       "addc",       "alloca",
    "and",          "applypriority", "atom",      "bar",        "barrier",
    "bfe",          "bfi",           "bfind",     "bmsk",       "bra",
    "brev",         "brkpt",         "brx",       "call",       "clusterlaunchcontrol",
    "clz",          "cnot",          "copysign",  "cos",        "cp",
    "createpolicy", "cvt",           "cvta",      "discard",    "div",
    "dp2a",         "dp4a",          "elect",     "ex2",        "exit",
    "fence",        "fma",           "fns",       "getctarank", "griddepcontrol",
    "isspacep",     "istypep",       "ld",        "ldmatrix",   "ldu",
    "lg2",          "lop3",          "mad",       "mad24",      "madc",
    "mapa",         "match",         "max",       "mbarrier",   "membar",
    "min",          "mma",           "mov",       "movmatrix",  "mul",
    "mul24",        "multimem",      "nanosleep", "neg",        "not",
    "or",           "pmevent",       "popc",      "prefetch",   "prefetchu",
    "prmt",         "rcp",           "red",       "redux",      "rem",
    "ret",          "rsqrt",         "sad",       "selp",       "set",
    "setmaxnreg",   "setp",          "shf",       "shfl",       "shl",
    "shr",          "sin",           "slct",      "sqrt",       "st",
    "stackrestore", "stacksave",     "stmatrix",  "sub",        "subc",
    "suld",         "suq",           "sured",     "sust",       "szext",
    "tanh",         "tcgen05",       "tensormap", "testp",      "tex",
    "tld4",         "trap",          "txq",       "vabsdiff",   "vabsdiff2",
    "vabsdiff4",    "vadd",          "vadd2",     "vadd4",      "vavrg2",
    "vavrg4",       "vmad",          "vmax",      "vmax2",      "vmax4",
    "vmin",         "vmin2",         "vmin4",     "vote",       "vset",
    "vset2",        "vset4",         "vshl",      "vshr",       "vsub",
    "vsub2",        "vsub4",         "wgmma",     "wmma",       "xor"};

// Behind the brace that closes the one at `open`.
std::size_t after_block(std::string_view text, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (text[i] == '{') ++depth;
    if (text[i] == '}' && --depth == 0) return i + 1;
  }
  return text.size();
}

// The instruction of a statement: without blocks it opens or closes, labels and its predicate.
// Empty for a directive.
std::string_view instruction_of(std::string_view statement) {
  for (;;) {
    const std::size_t begin = statement.find_first_not_of(" \t\r\n{}");
    if (begin == std::string_view::npos) return {};
    statement.remove_prefix(begin);
    const std::size_t end = std::min(statement.find_first_of(" \t\r\n.;("), statement.size());
    if (statement[0] == '@') {
      statement.remove_prefix(std::min(statement.find_first_of(" \t\r\n"), statement.size()));
      continue;
    }
    const std::size_t colon = statement.find(':');
    const std::size_t word = std::min(statement.find_first_of(" \t\r\n:"), statement.size());
    if (colon != std::string_view::npos && colon == word) {
      statement.remove_prefix(colon + 1);
      continue;
    }
    return statement.substr(0, end);
  }
}

std::vector<std::string_view> statements(std::string_view text) {
  std::vector<std::string_view> found;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(';'), text.size());
    found.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return found;
}

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> found;
  for (std::size_t at = text.find_first_not_of(" \t\r\n"); at != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(" \t\r\n", at), text.size());
    found.emplace_back(text.substr(at, end - at));
    at = text.find_first_not_of(" \t\r\n", end);
  }
  return found;
}

std::uint64_t number_at(std::string_view text, std::size_t at) {
  return std::strtoull(std::string(text.substr(at)).c_str(), nullptr, 0);
}

// The values of an initialiser such as "42" or "{1, 2}", each in as many bytes as its type has.
std::vector<std::byte> initial_bytes(std::string_view text, std::size_t element) {
  std::vector<std::byte> bytes;
  for (std::size_t at = text.find_first_not_of(" \t\r\n{,"); at < text.size();) {
    const std::uint64_t value = number_at(text, at);
    for (std::size_t i = 0; i < element; ++i) {
      bytes.push_back(static_cast<std::byte>(i < sizeof value ? value >> (8 * i) : 0));
    }
    const std::size_t comma = text.find(',', at);
    if (comma == std::string_view::npos) break;
    at = text.find_first_not_of(" \t\r\n", comma + 1);
  }
  return bytes;
}

// One definition, such as ".visible .global .align 4 .u32 name[10] = {1, 2}".
bool parse_global(std::string_view statement, GlobalVariable& out) {
  const std::size_t equals = std::min(statement.find('='), statement.size());
  const std::vector<std::string> parts = words(statement.substr(0, equals));
  const auto has = [&](const char* word) {
    return std::find(parts.begin(), parts.end(), word) != parts.end();
  };
  if ((!has(".global") && !has(".const")) || has(".extern")) return false;
  std::size_t element = 0;
  for (const std::string& part : parts) {
    const std::size_t digits = part.find_first_of("0123456789");
    const bool type = part[0] == '.' && digits != std::string::npos && part[1] != 'v';
    if (type) element = number_at(part, digits) / 8;
  }
  if (element == 0) return false;
  const std::string& last = parts.back();
  const std::size_t bracket = std::min(last.find('['), last.size());
  out.name = last.substr(0, bracket);
  out.size = element;
  for (std::size_t at = bracket; at < last.size();
       at = std::min(last.find('[', at + 1), last.size())) {
    out.size *= number_at(last, at + 1);
  }
  if (equals < statement.size()) out.initial = initial_bytes(statement.substr(equals + 1), element);
  return out.size != 0;
}

}  // namespace

PtxText split_ptx(std::string_view raw) {
  const std::string text = without_comments(raw);
  PtxText ptx;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '{') continue;
    const std::size_t end = after_block(text, i);
    // Values in braces belong to the variable they are given to.
    const std::size_t before = text.find_last_not_of(" \t\r\n", i == 0 ? 0 : i - 1);
    if (before == std::string::npos || text[before] != '=') {
      ptx.outside += text.substr(begin, i - begin) + ";";
      ptx.bodies.push_back(text.substr(i, end - i));
      begin = end;
    }
    i = end - 1;
  }
  ptx.outside += text.substr(begin);
  return ptx;
}

CUresult check_ptx(const PtxText& ptx, const Model& model, std::string& message) {
  int major = 0;
  int minor = 0;
  int target = 0;
  const std::size_t version_at = ptx.outside.find(".version");
  const std::size_t target_at = ptx.outside.find(".target");
  if (version_at == std::string::npos || target_at == std::string::npos ||
      std::sscanf(ptx.outside.c_str() + version_at, ".version %d.%d", &major, &minor) != 2 ||
      std::sscanf(ptx.outside.c_str() + target_at, ".target sm_%d", &target) != 1) {
    message = "ptxas fatal : Missing .version or .target directive";
    return CUDA_ERROR_INVALID_PTX;
  }
  if (major * 10 + minor > kNewestVersion) {
    message = "ptxas fatal : Unsupported .version " + std::to_string(major);
    return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
  }
  if (target > model.capability_major * 10 + model.capability_minor) {
    message = "ptxas fatal : SM version specified by .target is higher than that of the GPU";
    return CUDA_ERROR_INVALID_PTX;
  }
  for (const std::string& body : ptx.bodies) {
    for (const std::string_view statement : statements(body)) {
      const std::string_view instruction = instruction_of(statement);
      if (instruction.empty() || kInstructions.contains(instruction)) continue;
      message =
          "ptxas error : Not a name of any known instruction: '" + std::string(instruction) + "'";
      return CUDA_ERROR_INVALID_PTX;
    }
  }
  return CUDA_SUCCESS;
}

std::vector<GlobalVariable> parse_globals(const PtxText& ptx) {
  std::vector<GlobalVariable> globals;
  for (std::string_view statement : statements(ptx.outside)) {
    // The header's directives end with their lines.
    const std::size_t address_size = statement.find(".address_size");
    if (address_size != std::string_view::npos) {
      statement.remove_prefix(std::min(statement.find('\n', address_size), statement.size()));
    }
    GlobalVariable global;
    if (parse_global(statement, global)) globals.push_back(std::move(global));
  }
  return globals;
}

}  // namespace nvs::sim
