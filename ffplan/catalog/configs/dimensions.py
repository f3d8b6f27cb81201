"""The dimensions of a transformer from the fields of its `config.json`."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ffplan.base.errors import did_you_mean
from ffplan.base.formatting import plural
from ffplan.base.record import record
from ffplan.catalog.configs.architectures import _refusals, architectures
from ffplan.catalog.configs.config_file import _ConfigFields, checkpoint, shown

if TYPE_CHECKING:
    from ffplan.catalog.configs.architectures import _Architecture, _ExpertFields
    from ffplan.catalog.configs.config_file import FieldPath, _ConfigFile

LONGEST = 8192
"""Longest sequence taken for the usual one in training [tokens]: positions for long prompts are trained last."""
_MOST_TOKENS = 10**9
"""Most tokens of a sequence [1]."""
_ENDS = ("For", "LMHead", "Model")
"""Suffixes that turn the name of an architecture into a class name."""
_LATENT = {
    "query_rank": "q_lora_rank",
    "key_value_rank": "kv_lora_rank",
    "rope_dim": "qk_rope_head_dim",
    "nope_dim": "qk_nope_head_dim",
    "value_dim": "v_head_dim",
}
"""Fields of multi-head latent attention."""
_ROPE = ("rope_scaling", "rope_parameters")
"""Objects that may hold the sequence a model was trained with before its positions were stretched."""


@record
class _ConfigModel:
    model_type: str
    dimensions: dict[str, Any]
    """Fields of `transformer`."""
    fields: dict[str, str]
    """Field of the file behind each of them."""
    remarks: tuple[str, ...]
    """Assumptions and omissions."""


def _model_type_of(fields: _ConfigFields) -> str | None:
    """Return the architecture by `model_type`, or by the class; None, with a fault, if it is unknown or refused."""
    known, refused = architectures(), _refusals().types
    # some wrappers leave the kind of their language model to be known from their own
    stated = fields.stated("model_type") or fields.config.data.get("model_type")
    if isinstance(stated, str) and stated in known:
        return stated
    if isinstance(stated, str) and stated in refused:
        _undescribed(fields, "model_type", f"`{stated}`", refused[stated])
        return None
    classes = fields.stated("architectures")
    name = classes[0] if isinstance(classes, list) and classes and isinstance(classes[0], str) else ""
    fitting = [kind for kind, row in known.items() if name.startswith(tuple(f"{row.classes}{end}" for end in _ENDS))]
    if stated is None and fitting:
        return fitting[0]
    if _refuse_undescribed(fields):
        return None
    where, what = ("architectures", name) if stated is None and name else ("model_type", stated)
    near = did_you_mean(shown(what), known, what="architecture")
    remedy = f"{near}{' ' if near.endswith('?') else '. '}Otherwise describe it with `ffplan catalog new model`"
    fields.refuse("config-unsupported", where, f"the architecture `{shown(what)}` is not known", remedy)
    return None


def _undescribed(fields: _ConfigFields, name: str, what: str, reason: str) -> None:
    """Note a fault for a feature that the dimensions cannot describe."""
    message = f"{what} has {reason}, which the dimensions of a transformer do not describe"
    if reason.endswith("alone"):
        fields.refuse("config-unsupported", name, f"{what} reads {reason}", "name the config of a language model")
        return
    fields.refuse(
        "config-unsupported", name, message, "name a model whose layers all have attention and a feed-forward network"
    )


def _refuse_undescribed(fields: _ConfigFields) -> bool:
    """Note the fields of a file that dimensions cannot describe; return whether it has any."""
    found = False
    for name, reason in _refusals().fields.items():
        value = fields.stated(name)
        if value and not (isinstance(value, list) and set(map(str, value)) <= {"1", "attention"}):
            _undescribed(fields, name, f"`{name}`: the model", reason)
            found = True
    return found


class _Reader:
    def __init__(self, fields: _ConfigFields, row: _Architecture) -> None:
        self.fields, self.row = fields, row
        self.remarks: list[str] = []
        self.used: dict[str, str] = {}
        """Field of the file by dimension."""

    def whole(self, dimension: str, name: str, least: int = 1, *, needed: bool = True) -> int | None:
        """Return a number, and note the field behind a dimension."""
        self.used[dimension] = ".".join(self.fields.path(name))
        return self.fields.whole(name, least, needed=needed)

    def refuse_undescribed(self) -> None:
        _refuse_undescribed(self.fields)
        if self.fields.flag("is_encoder_decoder"):
            _undescribed(
                self.fields, "is_encoder_decoder", "`is_encoder_decoder`: the model", "an encoder beside the decoder"
            )
        for name, wanted in self.row.must.items():
            value, right = self.fields.value(name), self.fields.value(wanted) if isinstance(wanted, str) else wanted
            if value is not None and value != right:
                like = f"the {right} of `{wanted}`" if isinstance(wanted, str) else str(right)
                message = f"`{name}` is {shown(value)}; the dimensions describe {like} alone"
                self.fields.refuse("config-unsupported", name, message, "describe it with `ffplan catalog new model`")

    def feed_forward(self, hidden: int | None) -> int | None:
        ratio = self.row.ffn_ratio
        stated = self.whole("ffn", self.row.ffn, needed=not ratio) if self.row.ffn else None
        if stated is not None or not ratio or hidden is None:
            return stated
        times = self.whole("ffn", ratio) if isinstance(ratio, str) else ratio
        return None if times is None else times * hidden

    def key_value_heads(self, heads: int | None) -> int | None:
        row, fields = self.row, self.fields
        grouped = not row.grouped or fields.flag(row.grouped)
        if row.single and fields.flag(row.single) and not (row.grouped and grouped):
            return 1
        stated = self.whole("kv_heads", row.kv_heads, needed=False) if row.kv_heads and grouped else None
        return heads if stated is None else stated

    def attention(self, hidden: int | None) -> dict[str, Any]:
        heads = self.whole("heads", self.row.heads)
        if self.row.latent:
            names = _LATENT.items()
            latent = {key: self.whole(f"latent.{key}", name, needed=key != "query_rank") for key, name in names}
            return {"heads": heads, "latent": {key: value for key, value in latent.items() if value is not None}}
        dimensions: dict[str, Any] = {"heads": heads}
        kv_heads = self.key_value_heads(heads)
        if kv_heads != heads:
            dimensions["kv_heads"] = kv_heads
        width = self.whole("head_dim", "head_dim", needed=False)
        if width is not None and heads is not None and width * heads != hidden:
            dimensions["head_dim"] = width
        return dimensions

    def experts(self, layers: int) -> dict[str, Any] | None:
        names = self.row.experts
        if names is None or (self.fields.value(names.routed) is None and names.dense and not self.row.latent):
            return None
        mixture: dict[str, Any] = {
            key: self.whole(f"experts.{key}", name)
            for key, name in (("routed", names.routed), ("top_k", names.top_k), ("ffn", names.ffn))
        }
        mixture |= self._grouped(names) | self._shared(names) | self._placed(names, layers)
        return mixture

    def _grouped(self, names: _ExpertFields) -> dict[str, Any]:
        groups = self.whole("experts.groups", names.groups, needed=False) if names.groups else None
        top = self.whole("experts.top_groups", names.top_groups, needed=False) if names.top_groups else None
        return {"groups": groups, "top_groups": top} if groups and groups > 1 and top else {}

    def _shared(self, names: _ExpertFields) -> dict[str, Any]:
        if names.shared_ffn:
            width = self.whole("experts.shared_ffn", names.shared_ffn, 0, needed=False)
            return {"shared": 1, "shared_ffn": width} if width else {}
        number = names.shared
        if isinstance(number, str):
            number = self.whole("experts.shared", number, 0, needed=False) or 0
        return {"shared": number} if number else {}

    def _placed(self, names: _ExpertFields, layers: int) -> dict[str, Any]:
        dense = (self.whole("experts.dense_layers", names.dense, 0, needed=False) if names.dense else None) or 0
        every = (self.whole("experts.every", names.every, needed=False) if names.every else None) or 1
        without = (self.fields.numbers(names.without) if names.without else None) or []
        listed = self.fields.numbers(names.listed) if names.listed else None
        if listed is not None and sorted(listed) != list(range(every - 1, layers, every)):
            steps = {after - before for before, after in pairwise(listed)}
            every = steps.pop() if len(steps) == 1 else 0
            if not every or listed != list(range(every - 1, layers, every)):
                self._irregular(names.listed)
        if without and (sorted(without) != list(range(len(without))) or every != 1):
            self._irregular(names.without)
        dense = dense or len(without)
        return {**({"dense_layers": dense} if dense else {}), **({"every": every} if every > 1 else {})}

    def _irregular(self, name: str) -> None:
        message = f"`{name}` places experts irregularly; the dimensions describe first layers without, and every n-th"
        self.fields.refuse("config-unsupported", name, message, "describe it with `ffplan catalog new model`")

    def window(self, layers: int) -> dict[str, Any] | None:
        """Return the layers with a sliding window; None without."""
        kinds = self.fields.texts("layer_types")
        if kinds is not None:
            return self._listed(kinds, layers)
        names = self.row.window
        if names is None or (names.switch and not self.fields.flag(names.switch)):
            return None
        tokens = self.whole("window.tokens", "sliding_window", needed=False)
        if tokens is None:
            return None
        period = (
            self.whole("window.layers", names.period_field, needed=False) if names.period_field else None
        ) or names.period
        start = (self.whole("window.layers", names.start, 0, needed=False) if names.start else None) or 0
        several = max(0, layers - start) if period == 1 else layers - layers // period
        return {"layers": several, "tokens": tokens} if several else None

    def _listed(self, kinds: list[str], layers: int) -> dict[str, Any] | None:
        """Return the layers with a sliding window, if the file lists the kind of each."""
        for kind in dict.fromkeys(kinds):
            for start, reason in _refusals().layers.items():
                if kind.startswith(start):
                    _undescribed(self.fields, "layer_types", "`layer_types`: the model", reason)
        self.used["window.layers"] = ".".join(self.fields.path("layer_types"))
        known = {"full_attention", "sliding_attention", "chunked_attention"}
        unknown = [kind for kind in kinds if kind not in known and not kind.startswith(tuple(_refusals().layers))]
        if unknown:
            _undescribed(self.fields, "layer_types", "`layer_types`: the model", f"layers of `{shown(unknown[0])}`")
        if len(kinds) != layers:
            message = f"`layer_types` has {plural(len(kinds), 'layer')}, `{self.row.layers}` {layers:,}"
            self.fields.refuse("config-value", "layer_types", message, "list the kind of each layer")
        several = kinds.count("sliding_attention")
        if not several:
            return None
        tokens = self.whole("window.tokens", "sliding_window")
        return None if tokens is None else {"layers": several, "tokens": tokens}

    def context(self) -> int | None:
        """Return the longest sequence [tokens]."""
        self.used["sequence"] = ".".join(self.fields.path(self.row.context))
        return self.fields.whole(self.row.context, most=_MOST_TOKENS)

    def sequence(self, context: int) -> int:
        """Return the usual sequence in training [tokens]: of a stretched context, the one before it was stretched."""
        names = [f"{name}.original_max_position_embeddings" for name in _ROPE] + ["original_max_position_embeddings"]
        original = [self.fields.stated(name) for name in names]
        first = [value for value in original if isinstance(value, int) and not isinstance(value, bool) and value > 0]
        usual = min(context, LONGEST, *first)
        if usual < context:
            self.remarks.append(
                f"trained with sequences of {usual:,} tokens unless told otherwise; it takes {context:,}"
            )
        return usual

    def tied(self) -> bool:
        """Return whether input and output share one embedding; a wrapper may say so of its language model."""
        outer = self.fields.config.data.get("tie_word_embeddings")
        if self.fields.inside and isinstance(outer, bool) and self.fields.stated("tie_word_embeddings") is None:
            return outer
        return self.fields.flag("tie_word_embeddings")

    def read(self) -> dict[str, Any]:
        """Return the dimensions without faulty ones."""
        row, fields = self.row, self.fields
        self.refuse_undescribed()
        layers, hidden = self.whole("layers", row.layers), self.whole("hidden", row.hidden)
        dimensions: dict[str, Any] = {"layers": layers, "hidden": hidden, **self.attention(hidden)}
        dimensions |= {"ffn": self.feed_forward(hidden), "gated": row.gated, "biases": fields.trait(row.biases)}
        dimensions["vocabulary"] = self.whole("vocabulary", "vocab_size")
        if (context := self.context()) is not None:
            dimensions["sequence"] = self.sequence(context)
            if fields.trait(row.learned) and not (row.alibi and fields.flag(row.alibi)):
                dimensions["positions"] = context + row.offset
        dimensions["tied"] = self.tied()
        dimensions["experts"], dimensions["window"] = self.experts(layers or 1), self.window(layers or 1)
        dimensions |= checkpoint(fields, self.remarks)
        self.remarks += [text for name, text in row.left_out.items() if fields.value(name)] + list(row.always)
        return {key: value for key, value in dimensions.items() if value not in (None, False)}


def _model_of_config(config: _ConfigFile, inside: FieldPath) -> tuple[_ConfigModel | None, _ConfigFields]:
    """Return the model in a file and its fields with their faults; None for the model if there are any."""
    unnamed = _ConfigFields(config, inside, {})
    kind = _model_type_of(unnamed)
    if kind is None:
        return None, unnamed
    row = architectures()[kind]
    fields = _ConfigFields(config, inside, row.defaults)
    reader = _Reader(fields, row)
    dimensions = reader.read()
    if fields.faults:
        return None, fields
    remarks = list(reader.remarks)
    if "vision_config" in config.data:
        remarks.append("the vision tower is left out")
    elif inside:
        remarks.append(f"`{inside[0]}` alone is read; the rest is left out")
    if fields.assumed:
        taken = ", ".join(f"{name} {str(value).lower()}" for name, value in sorted(fields.assumed.items()))
        remarks.append(f"not stated, so by the defaults of `{kind}`: {taken}")
    return _ConfigModel(kind, dimensions, reader.used, tuple(remarks)), fields
