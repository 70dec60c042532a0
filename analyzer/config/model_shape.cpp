// Tested by: model_shape_test.cpp
#include "config/model_shape.h"

#include <algorithm>
#include <charconv>

namespace ws {
namespace {

// "3", "([0]*3+[1]*58)", "[0,0,1,1]": one flag per layer, empty: not understood.
std::vector<bool> layer_pattern(std::string_view s, int64_t layers) {
  std::vector<bool> out;
  int64_t every = 0;
  const auto [end, ec] = std::from_chars(s.data(), s.data() + s.size(), every);
  if (ec == std::errc() && end == s.data() + s.size() && every > 0) {
    for (int64_t i = 0; i < layers; ++i) out.push_back(i % every == 0);
    return out;
  }
  std::vector<bool> group;
  for (size_t i = 0; i < s.size(); ++i) {
    if (s[i] == '[') group.clear();
    if (s[i] == '0' || s[i] == '1') group.push_back(s[i] == '1');
    if (s[i] != ']') continue;
    int64_t times = 1;
    if (i + 1 < s.size() && s[i + 1] == '*') {
      const auto [at, bad] = std::from_chars(s.data() + i + 2, s.data() + s.size(), times);
      if (bad != std::errc() || times < 0) return {};
      i = static_cast<size_t>(at - s.data()) - 1;
    }
    for (int64_t k = 0; k < times && out.size() <= static_cast<size_t>(layers); ++k)
      out.insert(out.end(), group.begin(), group.end());
  }
  return out.size() == static_cast<size_t>(layers) ? out : std::vector<bool>{};
}

void read_experts(const RunConfig& config, ModelShape& m, std::vector<std::string>& missing) {
  m.experts = integer(config, "num_experts").value_or(0);
  m.is_moe.assign(static_cast<size_t>(m.layers), m.experts > 0);
  if (m.experts == 0) return;
  const auto top_k = integer(config, "moe_top_k");
  if (!top_k) missing.emplace_back("moe_top_k");
  m.top_k = top_k.value_or(1);
  m.expert_ffn = integer(config, "moe_ffn_hidden_size").value_or(m.ffn);
  m.shared_ffn = integer(config, "shared_expert_size").value_or(0);
  if (const auto freq = text(config, "moe_layer_freq")) {
    auto pattern = layer_pattern(*freq, m.layers);
    if (pattern.empty())
      missing.emplace_back("moe_layer_freq");
    else
      m.is_moe = std::move(pattern);
  }
  const int64_t dense = std::min(integer(config, "dense_layers").value_or(0), m.layers);
  for (int64_t i = 0; i < dense; ++i) m.is_moe[static_cast<size_t>(i)] = false;
}

void read_latent_attention(const RunConfig& config, ModelShape& m,
                           std::vector<std::string>& missing) {
  m.mla = boolean(config, "multi_latent_attention").value_or(integer(config, "kv_lora_rank") > 0);
  if (!m.mla) return;
  m.q_rank = integer(config, "q_lora_rank").value_or(0);
  const auto rank = integer(config, "kv_lora_rank");
  if (!rank) missing.emplace_back("kv_lora_rank");
  m.kv_rank = rank.value_or(1);
  m.qk_dim = integer(config, "qk_head_dim").value_or(128);
  m.rope_dim = integer(config, "qk_pos_emb_head_dim").value_or(64);
  m.v_dim = integer(config, "v_head_dim").value_or(128);
}

// Letters of a layout: E embedding, t decoder layer, m multi-token prediction, L loss, | next
// stage; x*3 and (xy)*3 repeat. Empty: not understood, or far too long.
class LayoutText {
 public:
  explicit LayoutText(std::string_view s) : s_(s) {}
  std::string run() {
    std::string out = sequence();
    return at_ == s_.size() && ok_ ? out : std::string{};
  }

 private:
  static constexpr size_t kLimit = 200'000;
  std::string sequence() {
    std::string out;
    if (++depth_ > 16) ok_ = false;
    while (ok_ && at_ < s_.size() && s_[at_] != ')') {
      std::string piece;
      const char c = s_[at_++];
      if (c == '(') {
        piece = sequence();
        if (at_ >= s_.size() || s_[at_] != ')') ok_ = false;
        ++at_;
      } else if (c == ',' || c == ' ') {
        continue;
      } else if (c == 'E' || c == 't' || c == 'm' || c == 'L' || c == '|') {
        piece = c;
      } else {
        ok_ = false;
      }
      const int64_t times = repeat();
      if (piece.size() * static_cast<size_t>(times) + out.size() > kLimit) ok_ = false;
      for (int64_t i = 0; ok_ && i < times; ++i) out += piece;
    }
    --depth_;
    return out;
  }
  int64_t repeat() {
    int64_t n = 1;
    if (at_ >= s_.size() || s_[at_] != '*') return n;
    const auto [end, ec] = std::from_chars(s_.data() + at_ + 1, s_.data() + s_.size(), n);
    if (ec != std::errc() || n < 1 || n > static_cast<int64_t>(kLimit)) ok_ = false;
    at_ = static_cast<size_t>(end - s_.data());
    return ok_ ? n : 1;
  }
  std::string_view s_;
  size_t at_ = 0;
  int depth_ = 0;
  bool ok_ = true;
};

// Decoder layers taken in order, dense or MoE as the model says.
class Layers {
 public:
  explicit Layers(const ModelShape& m) : m_(m) {}
  void put(Stage& stage) {
    if (next_ >= m_.is_moe.size()) return;
    (m_.is_moe[next_] ? stage.moe : stage.dense) += 1;
    ++next_;
  }
  bool all_placed() const { return next_ == m_.is_moe.size(); }

 private:
  const ModelShape& m_;
  size_t next_ = 0;
};

void split_by_layout(const std::string& letters, const ModelShape* shape, PipelineSplit& out) {
  static const ModelShape kNone;
  Layers layers(shape != nullptr ? *shape : kNone);
  out.stages.assign(1, {});
  int64_t decoder_layers = 0;
  for (const char c : letters) {
    Stage& stage = out.stages.back();
    if (c == 'E') stage.embedding = true;
    if (c == 'L') stage.loss = true;
    if (c == 'm') ++stage.mtp;
    if (c == 't') layers.put(stage), ++decoder_layers;
    if (c == '|') out.stages.emplace_back();
  }
  out.given = static_cast<int64_t>(out.stages.size());
  if (shape != nullptr && decoder_layers != shape->layers)
    out.problem = "the layout has " + std::to_string(decoder_layers) +
                  " decoder layers, the model " + std::to_string(shape->layers);
}

// Layers of every stage where no layout is given: even, the ends lighter where they are to be.
std::vector<int64_t> even_counts(const RunConfig& config, const Layout& layout, int64_t layers,
                                 std::string& problem) {
  const int64_t vpp = layout.vpp.value_or(1), n = saturating_product(layout.pp, vpp);
  std::vector<int64_t> out(static_cast<size_t>(n), 0);
  const int64_t first = integer(config, "first_stage_layers").value_or(0);
  const int64_t last = integer(config, "last_stage_layers").value_or(0);
  const bool embedding = boolean(config, "account_for_embedding").value_or(false);
  const bool loss = boolean(config, "account_for_loss").value_or(false);
  if (first > 0 || last > 0) {
    const int64_t middle_ranks = layout.pp - (first > 0) - (last > 0);
    const int64_t middle = layers - first - last;
    const bool fits = middle >= 0 &&
                      (middle_ranks > 0 ? middle % (middle_ranks * vpp) == 0 : middle == 0) &&
                      first % vpp == 0 && last % vpp == 0;
    if (!fits) problem = "the layers between the given first and last stage do not divide evenly";
    for (int64_t s = 0; s < n; ++s) {
      const int64_t rank = s % layout.pp;
      const int64_t of_rank = rank == 0 && first > 0              ? first
                              : rank == layout.pp - 1 && last > 0 ? last
                              : middle_ranks > 0                  ? middle / middle_ranks
                                                                  : 0;
      out[static_cast<size_t>(s)] = std::max<int64_t>(of_rank, 0) / vpp;
    }
    return out;
  }
  const int64_t units = layers + (embedding ? 1 : 0) + (loss ? 1 : 0);
  const auto per_stage = integer(config, "layers_per_virtual_stage");
  const bool no_vpp = per_stage && !layout.vpp && layout.pp > 1;
  // PyTorch gives the first stages one layer more.
  const bool uneven_too = text(config, "framework") == "pytorch";
  if ((units % n != 0 || no_vpp) && !uneven_too) {
    problem = std::to_string(units) + " layers" +
              (embedding || loss ? " (with embedding or loss)" : "") + " do not divide into PP " +
              (no_vpp ? std::to_string(layout.pp) + " x " + std::to_string(*per_stage) +
                            " layers per virtual stage"
                      : "x VPP = " + std::to_string(n) + " stages");
  }
  for (int64_t s = 0; s < n; ++s) out[static_cast<size_t>(s)] = units / n + (s < units % n ? 1 : 0);
  if (embedding && out.front() > 0) --out.front();
  if (loss && out.back() > 0) --out.back();
  return out;
}

}  // namespace

ModelSizes model_sizes(const RunConfig& config) {
  ModelSizes out;
  ModelShape m;
  const auto need = [&](const char* key, int64_t& to) {
    const auto v = integer(config, key);
    if (!v) out.missing.emplace_back(key);
    to = v.value_or(1);
  };
  need("num_layers", m.layers);
  need("hidden_size", m.hidden);
  need("attention_heads", m.heads);
  need("vocab_size", m.vocab);
  const bool all_moe = integer(config, "num_experts").has_value() &&
                       integer(config, "moe_ffn_hidden_size").has_value();
  m.ffn = integer(config, "ffn_hidden_size").value_or(saturating_product(m.hidden, 4));
  if (!integer(config, "ffn_hidden_size") && !all_moe) out.missing.emplace_back("ffn_hidden_size");
  m.kv_heads = integer(config, "kv_heads").value_or(m.heads);
  m.head_dim = integer(config, "head_dim").value_or(std::max<int64_t>(1, m.hidden / m.heads));
  m.gated = boolean(config, "gated_mlp").value_or(true);
  m.tied = boolean(config, "tied_embeddings").value_or(false);
  m.mtp_layers = integer(config, "mtp_layers").value_or(0);
  read_experts(config, m, out.missing);
  read_latent_attention(config, m, out.missing);
  if (out.missing.empty()) out.shape = std::move(m);
  return out;
}

PipelineSplit pipeline_split(const RunConfig& config, const Layout& layout,
                             const ModelShape* shape) {
  PipelineSplit out;
  if (const auto given = text(config, "pipeline_layout")) {
    const std::string letters = LayoutText(*given).run();
    if (letters.empty())
      out.problem = "the pipeline layout is not understood";
    else
      split_by_layout(letters, shape, out);
    return out;
  }
  if (layout.stages.value_or(1) > 4096) return out;
  if (shape == nullptr) {  // whether they divide needs no more than their number
    if (const auto layers = integer(config, "num_layers"))
      even_counts(config, layout, *layers, out.problem);
    return out;
  }
  const auto counts = even_counts(config, layout, shape->layers, out.problem);
  Layers layers(*shape);
  out.stages.assign(counts.size(), {});
  for (size_t s = 0; s < counts.size(); ++s) {
    for (int64_t i = 0; i < counts[s]; ++i) layers.put(out.stages[s]);
  }
  while (!layers.all_placed()) layers.put(out.stages.back());
  out.stages.front().embedding = true;
  out.stages.back().loss = true;
  out.stages.back().mtp = shape->mtp_layers;
  return out;
}

LayerParameters layer_parameters(const ModelShape& m, const Layout& layout) {
  const auto d = [](int64_t v) { return static_cast<double>(v); };
  const double h = d(m.hidden), tp = d(layout.tp);
  LayerParameters out;
  if (m.mla) {
    const double qk = d(m.heads) * d(m.qk_dim + m.rope_dim);
    const double q = m.q_rank > 0 ? h * d(m.q_rank) + d(m.q_rank) * qk / tp : h * qk / tp;
    const double kv =
        h * d(m.kv_rank + m.rope_dim) + d(m.kv_rank) * d(m.heads) * d(m.qk_dim + m.v_dim) / tp;
    out.attention = q + kv + d(m.heads) * d(m.v_dim) * h / tp;
    out.norms = 2 * h + d(m.q_rank) + d(m.kv_rank);
  } else {
    const double kv_heads = std::max(d(m.kv_heads) / tp, 1.0);  // copied where TP exceeds them
    out.attention = 2 * h * d(m.heads) * d(m.head_dim) / tp + 2 * h * kv_heads * d(m.head_dim);
    out.norms = 2 * h;
  }
  const double matrices = m.gated ? 3 : 2;
  out.dense_mlp = matrices * h * d(m.ffn) / tp;
  if (m.experts == 0) return out;
  out.router = h * d(m.experts);
  out.shared = matrices * h * d(m.shared_ffn) / tp;
  out.experts = d(m.experts) / d(layout.ep) * matrices * h * d(m.expert_ffn) / d(layout.etp);
  return out;
}

double flops_per_token(const ModelShape& m, int64_t seq_len) {
  const auto d = [](int64_t v) { return static_cast<double>(v); };
  const LayerParameters p = layer_parameters(m, Layout{});
  const double moe_mlp = p.router + p.shared + p.experts * d(m.top_k) / std::max(d(m.experts), 1.0);
  const double moe_layers = d(std::count(m.is_moe.begin(), m.is_moe.end(), true)) + d(m.mtp_layers);
  const double layers = d(m.layers) + d(m.mtp_layers);
  const double heads =
      d(m.heads) * (m.mla ? d(m.qk_dim + m.rope_dim + m.v_dim) : 2 * d(m.head_dim));
  double weights = layers * p.attention + d(m.vocab) * d(m.hidden) * (1 + d(m.mtp_layers));
  weights += d(m.mtp_layers) * 2 * d(m.hidden) * d(m.hidden);
  if (m.experts > 0)
    weights += moe_layers * moe_mlp + (layers - moe_layers) * p.dense_mlp;
  else
    weights += layers * p.dense_mlp;
  return 3 * (2 * weights + layers * 2 * heads * d(seq_len) / 2);
}

}  // namespace ws
