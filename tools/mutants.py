"""Mistakes that somebody might make, one by one, for `mutate.py`: each must make a test fail.

A mutant is data: where it is made, the old text, which must stand there exactly once, and the new one.
"""

from dataclasses import dataclass

KINDS = {
    "output": "a stored output of a lesson changed",
    "code": "a line of a lesson changed, its outputs as they were",
    "helper": "a line of the helpers changed",
    "text": "a number in the text changed, the output beside it as it was",
}


@dataclass(frozen=True)
class Mutant:
    """`where` is the id of a cell or the name of a function, such as Heatmap.plot; "" is the whole file."""

    kind: str
    name: str
    file: str
    where: str
    old: str
    new: str


def of_lessons(kind, rows):
    """Mutants of lessons from (lesson, cell, old, new); they are called by lesson, cell and, if need be, a number."""
    mutants, taken = [], set()
    for lesson, cell, old, new in rows:
        name = f"{lesson[:2]}:{cell}"
        names = [name, *(f"{name}:{number}" for number in range(2, 10))]
        name = next(free for free in names if free not in taken)
        taken.add(name)
        mutants.append(Mutant(kind, name, f"notebooks/{lesson}.ipynb", cell, old, new))
    return mutants


def of_helpers(rows):
    return [Mutant("helper", name, f"helpers/{file}.py", where, old, new) for name, file, where, old, new in rows]


L00, L01, L02, L03 = "00_start_here", "01_dot_product_scores", "02_softmax", "03_context_vectors"
L04, L05, L06, L07 = "04_queries_keys_values", "05_scaling", "06_attention_modules", "07_position"
L08, L09, L10, L11 = "08_training", "09_causal_attention", "10_multi_head", "11_image_patches"
L12 = "12_blocks_and_layers"
L13 = "13_two_sequences"
L14 = "14_fast_attention"
L15 = "15_a_real_model"

OUTPUTS = [
    (L00, "slider", "journey  0.1385   0.2379", "journey  0.1385   0.2378"),
    (L00, "progress", "0 of 2", "1 of 2"),
    (L01, "one-score", "by torch.dot:  0.9544", "by torch.dot:  0.9545"),
    (L01, "pairs", 'title="journey and starts: 1.4754"', 'title="journey and starts: 1.4755"'),
    (L01, "multiply", "no error, same as @: False", "no error, same as @: True"),
    (L02, "naive", "their sum:    18.7453", "their sum:    18.7452"),
    (L02, "shift-scale", 'title="10 s and journey: 0.5420"', 'title="10 s and journey: 0.5421"'),
    (L02, "keepdim", "rows sum to 1: True", "rows sum to 1: False"),
    (L03, "entropy", "98.6% of", "98.7% of"),
    (L03, "shuffle", "a running mean: False", "a running mean: True"),
    (L04, "one-scores", "journey with itself: 1.8524", "journey with itself: 1.8534"),
    (L04, "gradient", "[False, True, True]", "[True, True, True]"),
    (L04, "large", 'title="0 attends to 3: 0.8693"', 'title="0 attends to 3: 0.8692"'),
    (L05, "trap", "the others     2,109", "the others     2,199"),  # further off than its tolerance
    (L05, "init", "grows   7.4 times", "grows   7.7 times"),  # by a little only: it must not be too wide
    (L05, "grow", "std / sqrt(d_k)", "std * sqrt(d_k)"),  # a word in a cell with a tolerance
    (L05, "where", "0.1660, 0.1704", "0.1661, 0.1704"),
    (L06, "v2", "-0.0739", "-0.0738"),
    (L06, "meaning", "very  16 times", "very  17 times"),
    (L07, "news", "man bites dog: True", "man bites dog: False"),
    (L07, "sinus", "1   0.84   0.54", "1   0.84   0.55"),
    (L08, "task", "edacaf", "edacfa"),
    (L08, "scale", "0.91  0.81  0.47", "0.91  0.81  0.67"),
    (L08, "film", "d  0.09  0.09  0.54", "d  0.09  0.09  0.55"),
    (L09, "after", "0.1717, 0.3385", "0.1717, 0.3386"),
    (L09, "leak", "causal leaks:   False", "causal leaks:   True"),
    (L10, "where", "seed 23, head 2 0.48 0.50", "seed 23, head 2 0.48 0.60"),
    (L10, "cost", "524,288", "524,289"),
    (L11, "game-show", "edge: bottom", "edge: top"),
    (L11, "attend", "0.045  0.101  0.232", "0.045  0.101  0.233"),
    (L12, "size", "117.8", "117.9"),
    (L12, "mlp", "0.0817", "0.0818"),
    (L13, "shapes", "0.8393", "0.8394"),
    (L13, "kernel", "0.3694", "0.3695"),
    (L14, "write", "1,871,872", "1,871,782"),
    (L15, "equal", "vectors: 0.0004", "vectors: 0.0000"),
    (L15, "pronoun", "layer 1, head 3               22         22", "layer 1, head 3               22         21"),
]

CODE = [
    (L00, "slider", "softmax(sharpness * INPUTS", "softmax(-sharpness * INPUTS"),
    (L01, "row-scores", "inputs @ query", "inputs @ key"),
    (L01, "angle-length", "scores[i].argmax()", "scores[i].argmin()"),
    (L01, "symmetric", "queries @ inputs.T", "queries @ queries.T"),
    (L01, "function", "queries @ keys.transpose(-2, -1)", "keys @ queries.transpose(-2, -1)"),
    (L02, "naive", "sum(dim=dim, keepdim=True)", "sum(dim=dim)"),
    (L02, "repair", "scores.amax(", "scores.amin("),
    (L02, "all-rows", "torch.softmax(scores, dim=-1)", "torch.softmax(scores, dim=0)"),
    (L02, "temperature", "scores_journey / t", "scores_journey * t"),
    (L03, "one-by-loop", "weight * x", "weight + x"),
    (L03, "all", "weights @ inputs", "weights.T @ inputs"),
    (L03, "entropy", ".sum(dim=-1)", ".mean(dim=-1)"),
    (L03, "shuffle", "order.index(1)", "order.index(2)"),
    (L04, "roles-control", "(-wish,", "(wish,"),
    (L04, "matrices", "manual_seed(123)", "manual_seed(124)"),
    (L04, "all", "queries @ keys.T / keys.shape[-1] ** 0.5", "queries @ keys.T"),
    (L04, "square", "x @ W_q.T, x", "x @ W_q, x"),
    (L05, "measure", "scores / d_k**0.5", "scores * d_k**0.5"),
    (L05, "measure", "torch.diag_embed(w) - w", "torch.diag_embed(w) + w"),
    (L05, "init", "torch.rand(2, d, d", "torch.randn(2, d, d"),  # the same
    (L05, "saturate", "unscaled.T, scaled.T", "scaled.T, unscaled.T"),
    (L06, "copy", "weight.T if transpose else weight", "weight if transpose else weight.T"),
    (L06, "bias", ".bias += 1", ".bias += 0"),
    (L06, "batch", "permute(2, 1, 0)", "permute(0, 2, 1)"),
    (L07, "sinus", "angles.sin(), angles.cos()", "angles.cos(), angles.sin()"),
    (L07, "rotate", "even * cos - odd * sin", "even * cos + odd * sin"),
    (L07, "relative", "torch.arange(8) + 1", "torch.arange(8) + 0"),
    (L08, "task", "words.roll(1,", "words.roll(-1,"),
    (L08, "train", "loss.backward()", "(-loss).backward()"),
    (L08, "examine", "table.diagonal(-1)", "table.diagonal(1)"),
    (L08, "controls", "steps=100", "steps=40"),  # seen by numbers with a tolerance alone
    (L08, "scale", "out_features**0.5", "out_features**0"),
    (L09, "keep", ".tril()", ".triu()"),
    (L09, "full", "manual_seed(123)", "manual_seed(1234)"),
    (L09, "before", "masked_fill(~keep", "masked_fill(keep"),
    (L09, "function", "if mask is not None", "if mask is None"),
    (L09, "leak", "attend(changed)[:j]", "before[:j]"),
    (L10, "wrapper", "[head(x) for head in self.heads]", "[head(x) for head in self.heads][::-1]"),
    (L10, "split", "rows.view(3, 2, 2).transpose(0, 1)", "rows.view(3, 2, 2).transpose(1, 2)"),
    (L10, "where", "offset=-1", "offset=1"),
    (L10, "cost", "4 * length**2 * 64", "2 * length**2 * 64"),
    (L11, "cut", "split.transpose(1, 2)", "split.transpose(2, 3)"),
    (L11, "game-twin", "~torch.eye", "torch.eye"),
    (L11, "controls", "fixed=torch.eye(T).double()", "fixed=None"),
    (L12, "residual", "added = added + f(", "added = f("),
    (L12, "task", "places = torch.arange(T + 1) % length", "places = torch.arange(T + 1) % longest"),
    (L13, "kernel", "* d_k**0.5 / h**2", "/ h**2"),
    (L13, "module", "self.W_key(y), self.W_value(y)", "self.W_key(y), self.W_value(x)"),
    (L14, "cached", "[cache[0], keys]", "[keys, cache[0]]"),
    (L14, "tiles", "before - largest", "largest - before"),
    (L15, "load", '"mlp.0": "intermediate.dense"', '"mlp.0": "output.dense"'),
    (L15, "eps", 'part.eps = config["layer_norm_eps"]', "part.eps = 1e-5"),
    (L15, "sink-off", "seen[:, place] = not hide", "seen[:, place] = hide"),
    (L15, "found", "words.remove(at)", "pass"),
]

HELPERS = [
    # The heatmap
    (
        "heatmap transposed",
        "heatmap",
        "heatmap",
        "Heatmap(values, queries",
        "Heatmap(values.T, queries",
    ),
    (
        "labels of a plot swapped",
        "heatmap",
        "Heatmap.plot",
        "(ax.xaxis, keys, self.axes[1]), (ax.yaxis, queries, self.axes[0])",
        "(ax.xaxis, queries, self.axes[1]), (ax.yaxis, keys, self.axes[0])",
    ),
    ("hint the wrong way round", "heatmap", "Heatmap._html", "{query} {relation} {key}", "{key} {relation} {query}"),
    ("row and column swapped in the headline", "heatmap", "Heatmap._headline", "{self.axes[0]}", "{self.axes[1]}"),
    ("colours inverted", "heatmap", "Heatmap._colours", "int(place * 256)", "int((1 - place) * 256)"),
    ("black and white text swapped", "heatmap", "_palette", "> 0.179", "< 0.179"),
    ("text white up to one half", "heatmap", "_palette", "> 0.179", "> 0.5"),
    ("green and blue swapped in the luminance", "heatmap", "_luminance", "linear[1] + 0.0722", "linear[2] + 0.0722"),
    ("numbers cut off", "heatmap", "_writer", 'f"{number:.', 'f"{number - 0.5 * 10**-decimals:.'),
    ("a zero with a sign", "heatmap", "_writer", 'text.removeprefix("-")', "text"),
    ("scale not centred", "heatmap", "_scale", "_DIVERGING, -farthest, farthest", "_DIVERGING, low, high"),
    ("hint not escaped", "heatmap", "Heatmap._html", "html.escape(", "str("),
    ("all rows but one highlighted", "heatmap", "Heatmap._html", "row == self.highlight", "row != self.highlight"),
    ("attention by columns", "heatmap", "Heatmap._is_attention", "sum(axis=1)", "sum(axis=0)"),
    ("summary of the least", "heatmap", "Heatmap._summary", ".argmax(axis=1)", ".argmin(axis=1)"),
    ("picture too early", "heatmap", "Heatmap._repr_mimebundle_", "> MOST_TOKENS", ">= MOST_TOKENS"),
    ("matrix not copied", "heatmap", "_numbers", "np.array(_plain(matrix))", "matrix.numpy()"),
    ("legend the wrong way round", "heatmap", "Heatmap._legend", "colours[step", "colours[255 - step"),
    # explore and film
    ("slider dead", "explore", "Explorer.show", 'names="value"', 'names="description"'),
    ("error line not escaped", "result", "error_line", "{literal(line)}", "{line}"),
    ("error lost", "explore", "Explorer._update", "if error is not None:", "if False:"),
    ("new output at each move", "explore", "Explorer._update", "self._page.value =", "self._page = ipywidgets.HTML(),"),
    ("stale result", "explore", "Explorer._update", "return outputs\n        if", "pass\n        if"),
    ("default of the function ignored", "sliders", "sliders_for", "starts.get(name)", "None"),
    ("log slider's range as exponents", "sliders", "range_of", "control.base**low, control.base**high", "low, high"),
    ("readout without decimals", "sliders", "_settle", "max(decimals, 1)", "0"),
    ("sliders of the last run left open", "explore", "_close_previous_run", "last_run != run", "last_run == run"),
    ("printed text lost", "result", "result_of", "if text]", "if not text]"),
    ("frames of a film shifted", "film", "film", "for value in values]", "for value in values[1:] + values[:1]]"),
    ("film starts at the first frame", "film", "film", "get(name, values[0])", "get(None, values[0])"),
    ("last frame missing", "film", "_positions", "/ step) + 1", "/ step)"),
    ("a token ends the script", "film", "film", '.replace("<", "\\\\u003c")', ""),
    ("a wrong column in a slot", "film", "_compact", "len(columns)))", "0))"),
    ("one position too few", "film", "_positions", "count > MOST_POSITIONS", "count >= MOST_POSITIONS"),
    # Figures
    ("a changed figure not drawn again", "figures", "png", "not moving or figure.stale or", "not moving or"),
    ("what moves left out", "figures", "png", "figure.draw_artist(artist)", "pass"),
    ("description with swapped axes", "figures", "describe", "ax.get_ylabel(), ax.get_xlabel()", "ax.get_xlabel(),"),
    # Attention
    ("softmax adds the largest", "attention", "softmax", "scores - largest", "scores + largest"),
    ("entropy as a mean", "attention", "entropy", "entr(weights).sum(", "entr(weights).mean("),
    ("attention without scale", "attention", "attention_weights", "scores / keys.shape[-1] ** 0.5", "scores"),
    ("scale from the number of keys", "attention", "attention_weights", "keys.shape[-1] **", "keys.shape[-2] **"),
    ("mask the wrong way round", "attention", "attention_weights", "masked_fill(~mask", "masked_fill(mask"),
    ("softmax along the queries", "attention", "attention_weights", "dim=-1", "dim=-2"),
    (
        "queries and keys swapped",
        "attention",
        "SelfAttentionV1.forward",
        "x @ self.W_query, x @ self.W_key",
        "x @ self.W_key, x @ self.W_query",
    ),
    ("no bias", "attention", "SelfAttention.__init__", "qkv_bias=True", "qkv_bias=False"),
    (
        "sines and cosines swapped",
        "attention",
        "sinusoidal_positions",
        "angles.sin(), angles.cos()",
        "angles.cos(), angles.sin()",
    ),
    (
        "turned the other way",
        "attention",
        "rotate",
        "even * cos - odd * sin, even * sin + odd * cos",
        "even * cos + odd * sin, odd * cos - even * sin",
    ),
    ("mask turned round", "attention", "causal_mask", ".tril()", ".triu()"),
    ("mask with a column too many", "attention", "causal_mask", ".tril()", ".tril(1)"),
    ("mask stored", "attention", "CausalAttention.__init__", "persistent=False", "persistent=True"),
    ("no dropout", "attention", "CausalAttention.forward", "self.dropout(weights)", "weights"),
    (
        "dropout on the values",
        "attention",
        "CausalAttention.forward",
        "self.dropout(weights) @ self.W_value(x)",
        "weights @ self.dropout(self.W_value(x))",
    ),
    (
        "dropout on the context",
        "attention",
        "MultiHeadAttention.forward",
        "self.dropout(weights) @ values",
        "self.dropout(weights @ values)",
    ),
    (
        "heads in reverse",
        "attention",
        "MultiHeadAttentionWrapper.forward",
        "in self.heads]",
        "in list(self.heads)[::-1]]",
    ),
    (
        "split without transpose",
        "attention",
        "MultiHeadAttention.split",
        "x.unflatten(-1, (self.num_heads, -1)).transpose(-3, -2)",
        "x.reshape(*x.shape[:-2], self.num_heads, x.shape[-2], -1)",
    ),
    ("out_proj left out", "attention", "MultiHeadAttention.forward", "self.out_proj(", "("),
    (
        "weights after dropout",
        "attention",
        "MultiHeadAttention.forward",
        "(output, weights)",
        "(output, self.dropout(weights))",
    ),
    ("patches without transpose", "attention", "patches", "split.transpose(-3, -2)", "split"),
    ("assembled without transpose", "attention", "assemble", "grid.transpose(-3, -2)", "grid"),
    (
        "post-norm before the sum",
        "attention",
        "TransformerBlock.forward",
        "self.norm_1(x + found)",
        "x + self.norm_1(found)",
    ),
    ("no second residual", "attention", "TransformerBlock.forward", "x = x + self.mlp(", "x = self.mlp("),
    ("mask forgotten", "attention", "TransformerBlock.forward", "self.norm_1(x), True, mask)", "self.norm_1(x), True)"),
    ("values of the target", "attention", "CrossAttention.forward", "self.W_value(y)", "self.W_value(x)"),
    ("source asks", "attention", "CrossAttention.forward", "self.W_query(x)", "self.W_query(y)"),
    ("new keys first", "attention", "cached_attention", "[cache[0], keys]", "[keys, cache[0]]"),
    ("first rows of the mask", "attention", "cached_attention", "mask[S - T : S, :S]", "mask[:T, :S]"),
    ("groups dealt out", "attention", "grouped_query_attention", "(heads, -1))", "(-1, heads)).transpose(-4, -3)"),
    ("sums not rescaled", "attention", "tiled_attention", "sums * shrink", "sums"),
    (
        "running maximum forgotten",
        "attention",
        "tiled_attention",
        "torch.maximum(largest, scores.amax(dim=-1, keepdim=True))",
        "scores.amax(dim=-1, keepdim=True)",
    ),
    ("one token too few", "checks", "module_input", "x.shape[-2] > context_length", "x.shape[-2] >= context_length"),
    ("a larger mask let in", "checks", "mask_of", "mask.dim() > scores.dim() or", ""),
    # The real model
    ("a file not checked", "real_model", "read_files", ").hexdigest() != expected", ').hexdigest() == ""'),
    ("PyTorch's LayerNorm", "real_model", "SentenceModel.__init__", 'part.eps = config["layer_norm_eps"]', "pass"),
    ("padding seen", "real_model", "encode", "torch.arange(T) < lengths[:, None]", "torch.ones_like(ids).bool()"),
    ("a sentence of the second kind", "real_model", "state_of", "[0]", "[1]"),
    # The rest
    ("another input", "sentence", "", "0.87, 0.66", "0.86, 0.66"),
    ("verdict on torch turned round", "environment", "_problems", "torch != TORCH", "torch == TORCH"),
    ("task always right", "exercises/checking", "Task._wrong", "if problem:", "if False:"),
    ("question always right", "exercises/checking", "Question._judge", "if self._accept(answer):", "if True:"),
    ("progress counts all", "exercises/checking", "Exercises.progress", "if exercise.solved]", "if True]"),
    (
        "progress counts one too many",
        "exercises/checking",
        "Exercises.progress",
        'f"{len(solved)} of',
        'f"{len(solved) + 1} of',
    ),
    ("rough comparison", "exercises/checking", "_compare", "else 1e-5", "else 1e-1"),
    ("a wrong number called imprecise", "exercises/checking", "_compare", "atol=1e-5", "atol=1e-1"),
    ("an interrupt behind the answer", "exercises/checking", "_Limit.__exit__", "self._running = False", "pass"),
    ("an older answer judged", "exercises/checking", "_note", "if not result.success", "if result.success"),
    ("no limit in practice", "exercises/checking", "", "SECONDS = 3.0", "SECONDS = 9.0"),
    ("two colour scales", "exercises/checking", "_tables", '"low": min(ends)', '"low": None'),
    ("a lost gradient unseen", "exercises/checking", "_outcome", "(lost and _LOST)", "None"),
    ("float64 blamed", "exercises/checking", "_size", "t.dtype == torch.float64", "t.dtype != torch.float64"),
    (
        "argument changed unseen",
        "exercises/checking",
        "_outcome",
        "_numbers_of(given) !=",
        "_numbers_of(arguments) !=",
    ),
    ("largest input shown", "exercises/checking", "Task._judge", "min(wrong", "max(wrong"),
    (
        "a mistake named that fits half",
        "exercises/checking",
        "_same",
        "one.case == other.case and not",
        "not",
    ),
    ("first hint again and again", "exercises/checking", "Exercise.hint", "self._given + 1, len", "1, len"),
    (
        "the learner's random numbers used up",
        "exercises/checking",
        "_aside",
        "torch.random.fork_rng(devices=[])",
        "contextlib.nullcontext()",
    ),
]

TEXTS = [
    (L00, "slider-read", "0.8765", "0.8755"),
    (L01, "row-read", "1.4950", "1.4940"),
    (L01, "angle-read", "1.2227", "1.2228"),
    (L02, "naive-read", "18.7453", "18.7454"),
    (L02, "naive-read", "0.2379", "0.2380"),
    (L02, "shift-scale-read", "0.4455", "0.4456"),
    (L02, "puzzle-text", "1.2970", "1.2907"),
    (L02, "temperature-read", "0.0196", "0.0169"),
    (L02, "explore-read", "0.0084", "0.0083"),
    (L03, "one-read", "0.5683", "0.5684"),
    (L03, "flat-text", "1.7918", "1.7928"),
    (L03, "entropy-read", "97 and", "96 and"),
    (L04, "roles-read", "98 per cent", "99 per cent"),
    (L04, "one-scores-read", "1.8524", "1.8542"),
    (L04, "step-read", "0.0485", "0.0475"),
    (L04, "square-read", "(0.74, 1.20)", "(0.74, 1.30)"),
    (L04, "large-text", "88.7228", "87.7228"),
    (L05, "trap-read", "0.75", "0.85"),
    (L06, "v1-read", "0.8210", "0.8201"),
    (L08, "loss-read", "2.0794", "2.0749"),
    (L09, "after-read", "0.17 and", "0.27 and"),
    (L10, "cost-read", "3.0 and 3.3", "3.0 and 3.4"),
    (L11, "trap-read", "ends at 0.1", "ends at 0.2"),
    (L15, "padding-read", "0.58", "0.68"),
    # Whole numbers and number words.
    (L01, "angle-read", "only two of six", "only three of six"),
    (L01, "speed-read", "4096", "4069"),
    (L01, "explore-read", "to 285 degrees", "to 295 degrees"),
    (L02, "temperature-read", "all six weights", "all five weights"),
    (L05, "grow-read", "32 for 1024", "16 for 1024"),
    (L08, "run-text", "3200 words", "3400 words"),
    (L11, "draw-read", "$T = 15$", "$T = 14$"),
    (L11, "cost-read", "196 patches", "169 patches"),
    (L12, "cut-read", ".88 or more", ".98 or more"),
    (L13, "pad-read", ".17 to .34", ".17 to .43"),
    (L14, "write-read", "33.4", "34.3"),
    (L14, "size-read", "320 KiB", "230 KiB"),
    # What a figure shows without a digit.
    (L01, "explore-read", "*journey* and *starts*, have the lowest", "*one* and *starts*, have the lowest"),
    (L11, "draw-read", "10, 11 and 14 are all black", "10, 11 and 13 are all black"),
]

MUTANTS = [*of_lessons("output", OUTPUTS), *of_lessons("code", CODE), *of_helpers(HELPERS), *of_lessons("text", TEXTS)]
