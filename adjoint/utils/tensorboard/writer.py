"""SummaryWriter: scalars, histograms, texts and images, in the event files that TensorBoard reads, written without TensorBoard."""

from __future__ import annotations

import os
import socket
import struct
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from ..._from_data import as_tensor
from . import _events as events
from ._images import as_picture, png


class _EventFile:
    def __init__(self, folder: Path, suffix: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        now = time.time()
        name = f"events.out.tfevents.{int(now):010d}.{socket.gethostname()}.{os.getpid()}.{time.monotonic_ns()}{suffix}"
        self._file = (folder / name).open("ab")
        self.write(events.event(now, 0, events.field(3, b"brain.Event:2")))

    def write(self, content: bytes) -> None:
        length = struct.pack("<Q", len(content))
        checks = struct.pack("<I", events.masked_checksum(length)), struct.pack("<I", events.masked_checksum(content))
        self._file.write(length + checks[0] + content + checks[1])

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        self._file.close()


class SummaryWriter:
    """Writes curves, histograms and texts to a folder that TensorBoard shows: `writer.add_scalar("loss", loss, step)`."""

    def __init__(
        self, log_dir: Any = None, comment: str = "", purge_step: int | None = None, max_queue: int = 10, flush_secs: float = 120,
        filename_suffix: str = "",
    ) -> None:  # fmt: skip
        if not log_dir:
            log_dir = Path("runs") / f"{datetime.now():%b%d_%H-%M-%S}_{socket.gethostname()}{comment}"
        self.log_dir = str(log_dir)
        self._suffix = filename_suffix
        self._interval = flush_secs
        self._flushed = time.monotonic()
        self._files = {"": _EventFile(Path(self.log_dir), filename_suffix)}

    def get_logdir(self) -> str:
        """The folder that is written to."""
        return self.log_dir

    def add_scalar(
        self, tag: str, scalar_value: Any, global_step: int | None = None, walltime: float | None = None, new_style: bool = False,
        double_precision: bool = False,
    ) -> None:  # fmt: skip
        """Add one point to a curve."""
        self._add("", tag, events.scalar(float(scalar_value)), global_step, walltime)

    def add_scalars(
        self, main_tag: str, tag_scalar_dict: Mapping[str, Any], global_step: int | None = None, walltime: float | None = None
    ) -> None:
        """Add a point to each of several curves that are shown in one diagram."""
        for tag, value in tag_scalar_dict.items():
            folder = f"{main_tag.replace('/', '_')}_{tag}"
            self._add(folder, main_tag, events.scalar(float(value)), global_step, walltime)

    def add_histogram(
        self, tag: str, values: Any, global_step: int | None = None, bins: Any = "tensorflow", walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:  # fmt: skip
        """Add how values are distributed: counts in intervals of equal width (30, where `bins` is no number)."""
        self._add("", tag, events.histogram(_array(values), bins if isinstance(bins, int) else 30), global_step, walltime)

    def add_text(self, tag: str, text_string: str, global_step: int | None = None, walltime: float | None = None) -> None:
        """Add a text, in Markdown."""
        self._add("", f"{tag}/text_summary", events.text(text_string), global_step, walltime)

    def add_image(
        self, tag: str, img_tensor: Any, global_step: int | None = None, walltime: float | None = None, dataformats: str = "CHW"
    ) -> None:
        """Add a picture: bytes, or floating numbers from 0 to 1."""
        picture = as_picture(_array(img_tensor), dataformats)
        height, width, channels = picture.shape
        self._add("", tag, events.image(height, width, channels, png(picture)), global_step, walltime)

    def add_images(
        self, tag: str, img_tensor: Any, global_step: int | None = None, walltime: float | None = None, dataformats: str = "NCHW"
    ) -> None:
        """Add several pictures, in a grid."""
        self.add_image(tag, img_tensor, global_step, walltime, dataformats)

    def add_figure(
        self, tag: str, figure: Any, global_step: int | None = None, close: bool = True, walltime: float | None = None
    ) -> None:
        """Add a figure of Matplotlib, or several, as a picture."""
        figures = figure if isinstance(figure, list) else [figure]
        self.add_image(tag, np.stack([_drawn(one) for one in figures]), global_step, walltime, "NHWC")
        if close:
            pyplot = import_module("matplotlib.pyplot")
            for one in figures:
                pyplot.close(one)

    def add_pr_curve(
        self, tag: str, labels: Any, predictions: Any, global_step: int | None = None, num_thresholds: int = 127, weights: Any = None,
        walltime: float | None = None,
    ) -> None:  # fmt: skip
        """Add a curve of precision and recall: labels 0 or 1, and the predicted probabilities of 1."""
        weights = None if weights is None else _array(weights)
        content = events.precision_recall(_array(labels), _array(predictions), min(num_thresholds, 127), weights)
        self._add("", tag, content, global_step, walltime)

    def add_hparams(
        self, hparam_dict: Mapping[str, Any], metric_dict: Mapping[str, Any], hparam_domain_discrete: Any = None,
        run_name: str | None = None, global_step: int | None = None,
    ) -> None:  # fmt: skip
        """Add a choice of settings, as a table in a text, and what it led to, as curves, in a folder of their own."""
        folder = run_name or str(time.time())
        table = "\n".join(["| setting | value |", "| --- | --- |", *(f"| {name} | {value} |" for name, value in hparam_dict.items())])
        self._add(folder, "hparams/text_summary", events.text(table), global_step, None)
        for name, value in metric_dict.items():
            self._add(folder, name, events.scalar(float(value)), global_step, None)

    def add_embedding(
        self, mat: Any, metadata: Sequence[Any] | None = None, label_img: Any = None, global_step: int | None = None, tag: str = "default",
        metadata_header: Sequence[str] | None = None,
    ) -> None:  # fmt: skip
        """Add points in many dimensions, with a label each, for TensorBoard's projector."""
        points = _array(mat)
        place = Path(f"{int(global_step or 0):05d}") / tag
        folder = Path(self.log_dir) / place
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "tensors.tsv").write_text("".join("\t".join(map(str, row)) + "\n" for row in points.tolist()), encoding="utf-8")
        entry = f'embeddings {{\ntensor_name: "{tag}:{place.parent}"\ntensor_path: "{place / "tensors.tsv"}"\n'
        if metadata is not None:
            if len(metadata) != len(points):
                raise AssertionError(f"#labels should equal with #data points: {len(metadata)} labels, {len(points)} points")
            rows = ["\t".join(metadata_header)] if metadata_header else []
            rows += ["\t".join(map(str, row)) if metadata_header else str(row) for row in metadata]
            (folder / "metadata.tsv").write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
            entry += f'metadata_path: "{place / "metadata.tsv"}"\n'
        with (Path(self.log_dir) / "projector_config.pbtxt").open("a", encoding="utf-8") as file:
            file.write(entry + "}\n")

    def add_graph(self, model: Any, input_to_model: Any = None, verbose: bool = False, use_strict_trace: bool = True) -> None:
        """Call the model once with `input_to_model` (a tensor, or a tuple of arguments) and write the graph that is recorded.

        `verbose` prints it as well. `use_strict_trace` makes no difference: a model that returns lists or dicts is recorded like any other.
        """
        from ._graph import graph_definition

        if input_to_model is None:
            raise TypeError("add_graph() needs the arguments of the model\n  fix: writer.add_graph(model, x)")
        inputs = tuple(input_to_model) if isinstance(input_to_model, tuple | list) else (input_to_model,)
        content, picture = graph_definition(model, inputs)
        if verbose:
            print(picture.dot())
        self._files[""].write(events.event(time.time(), 0, events.field(4, content)))

    def _add(self, folder: str, tag: str, value: bytes, step: int | None, when: float | None) -> None:
        content = events.summary(tag, value)
        if folder not in self._files:
            self._files[folder] = _EventFile(Path(self.log_dir) / folder, self._suffix)
        self._files[folder].write(events.event(time.time() if when is None else when, int(step or 0), content))
        if time.monotonic() - self._flushed > self._interval:
            self.flush()

    def flush(self) -> None:
        """Write what is still in memory to the disk."""
        self._flushed = time.monotonic()
        for file in self._files.values():
            file.flush()

    def close(self) -> None:
        for file in self._files.values():
            file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def _array(values: Any) -> np.ndarray[Any, Any]:
    return np.asarray(as_tensor(values).detach())


def _drawn(figure: Any) -> np.ndarray[Any, Any]:
    """A figure of Matplotlib as bytes by height, width and channel."""
    canvas = import_module("matplotlib.backends.backend_agg").FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())
