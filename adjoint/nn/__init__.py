"""Layers, losses and models, with PyTorch's names."""

from importlib import import_module as _import_module
from typing import Any as _Any

from ..ops._generated import documented as _documented
from . import functional as functional
from . import init as init
from . import parameter as parameter
from . import utils as utils
from .activation import CELU as CELU
from .activation import ELU as ELU
from .activation import GELU as GELU
from .activation import GLU as GLU
from .activation import SELU as SELU
from .activation import Hardshrink as Hardshrink
from .activation import Hardsigmoid as Hardsigmoid
from .activation import Hardswish as Hardswish
from .activation import Hardtanh as Hardtanh
from .activation import LeakyReLU as LeakyReLU
from .activation import LogSigmoid as LogSigmoid
from .activation import LogSoftmax as LogSoftmax
from .activation import Mish as Mish
from .activation import PReLU as PReLU
from .activation import ReLU as ReLU
from .activation import ReLU6 as ReLU6
from .activation import RReLU as RReLU
from .activation import Sigmoid as Sigmoid
from .activation import SiLU as SiLU
from .activation import Softmax as Softmax
from .activation import Softmax2d as Softmax2d
from .activation import Softmin as Softmin
from .activation import Softplus as Softplus
from .activation import Softshrink as Softshrink
from .activation import Softsign as Softsign
from .activation import Tanh as Tanh
from .activation import Tanhshrink as Tanhshrink
from .activation import Threshold as Threshold
from .adaptive import AdaptiveLogSoftmaxWithLoss as AdaptiveLogSoftmaxWithLoss
from .containers import Container as Container
from .containers import ModuleDict as ModuleDict
from .containers import ModuleList as ModuleList
from .containers import ParameterDict as ParameterDict
from .containers import ParameterList as ParameterList
from .containers import Sequential as Sequential
from .conv import Conv1d as Conv1d
from .conv import Conv2d as Conv2d
from .conv import Conv3d as Conv3d
from .conv import ConvTranspose1d as ConvTranspose1d
from .conv import ConvTranspose2d as ConvTranspose2d
from .conv import ConvTranspose3d as ConvTranspose3d
from .distance import CosineSimilarity as CosineSimilarity
from .distance import PairwiseDistance as PairwiseDistance
from .dropout import AlphaDropout as AlphaDropout
from .dropout import Dropout as Dropout
from .dropout import Dropout1d as Dropout1d
from .dropout import Dropout2d as Dropout2d
from .dropout import Dropout3d as Dropout3d
from .dropout import FeatureAlphaDropout as FeatureAlphaDropout
from .embedding import Embedding as Embedding
from .embedding import EmbeddingBag as EmbeddingBag
from .flatten import ChannelShuffle as ChannelShuffle
from .flatten import CircularPad1d as CircularPad1d
from .flatten import CircularPad2d as CircularPad2d
from .flatten import CircularPad3d as CircularPad3d
from .flatten import ConstantPad1d as ConstantPad1d
from .flatten import ConstantPad2d as ConstantPad2d
from .flatten import ConstantPad3d as ConstantPad3d
from .flatten import Flatten as Flatten
from .flatten import PixelShuffle as PixelShuffle
from .flatten import PixelUnshuffle as PixelUnshuffle
from .flatten import ReflectionPad1d as ReflectionPad1d
from .flatten import ReflectionPad2d as ReflectionPad2d
from .flatten import ReflectionPad3d as ReflectionPad3d
from .flatten import ReplicationPad1d as ReplicationPad1d
from .flatten import ReplicationPad2d as ReplicationPad2d
from .flatten import ReplicationPad3d as ReplicationPad3d
from .flatten import Unflatten as Unflatten
from .flatten import ZeroPad1d as ZeroPad1d
from .flatten import ZeroPad2d as ZeroPad2d
from .flatten import ZeroPad3d as ZeroPad3d
from .lazy import LazyBatchNorm1d as LazyBatchNorm1d
from .lazy import LazyBatchNorm2d as LazyBatchNorm2d
from .lazy import LazyBatchNorm3d as LazyBatchNorm3d
from .lazy import LazyConv1d as LazyConv1d
from .lazy import LazyConv2d as LazyConv2d
from .lazy import LazyConv3d as LazyConv3d
from .lazy import LazyConvTranspose1d as LazyConvTranspose1d
from .lazy import LazyConvTranspose2d as LazyConvTranspose2d
from .lazy import LazyConvTranspose3d as LazyConvTranspose3d
from .lazy import LazyInstanceNorm1d as LazyInstanceNorm1d
from .lazy import LazyInstanceNorm2d as LazyInstanceNorm2d
from .lazy import LazyInstanceNorm3d as LazyInstanceNorm3d
from .lazy import LazyLinear as LazyLinear
from .linear import Bilinear as Bilinear
from .linear import Identity as Identity
from .linear import Linear as Linear
from .linear_cross_entropy import LinearCrossEntropyOptions as LinearCrossEntropyOptions
from .loss import BCELoss as BCELoss
from .loss import BCEWithLogitsLoss as BCEWithLogitsLoss
from .loss import CosineEmbeddingLoss as CosineEmbeddingLoss
from .loss import CrossEntropyLoss as CrossEntropyLoss
from .loss import CTCLoss as CTCLoss
from .loss import GaussianNLLLoss as GaussianNLLLoss
from .loss import HingeEmbeddingLoss as HingeEmbeddingLoss
from .loss import HuberLoss as HuberLoss
from .loss import KLDivLoss as KLDivLoss
from .loss import L1Loss as L1Loss
from .loss import LinearCrossEntropyLoss as LinearCrossEntropyLoss
from .loss import MarginRankingLoss as MarginRankingLoss
from .loss import MSELoss as MSELoss
from .loss import MultiLabelMarginLoss as MultiLabelMarginLoss
from .loss import MultiLabelSoftMarginLoss as MultiLabelSoftMarginLoss
from .loss import MultiMarginLoss as MultiMarginLoss
from .loss import NLLLoss as NLLLoss
from .loss import NLLLoss2d as NLLLoss2d
from .loss import PoissonNLLLoss as PoissonNLLLoss
from .loss import SmoothL1Loss as SmoothL1Loss
from .loss import SoftMarginLoss as SoftMarginLoss
from .loss import TripletMarginLoss as TripletMarginLoss
from .loss import TripletMarginWithDistanceLoss as TripletMarginWithDistanceLoss
from .module import Module as Module
from .module import factory_kwargs as factory_kwargs
from .multihead import MultiheadAttention as MultiheadAttention
from .normalization import BatchNorm1d as BatchNorm1d
from .normalization import BatchNorm2d as BatchNorm2d
from .normalization import BatchNorm3d as BatchNorm3d
from .normalization import CrossMapLRN2d as CrossMapLRN2d
from .normalization import GroupNorm as GroupNorm
from .normalization import InstanceNorm1d as InstanceNorm1d
from .normalization import InstanceNorm2d as InstanceNorm2d
from .normalization import InstanceNorm3d as InstanceNorm3d
from .normalization import LayerNorm as LayerNorm
from .normalization import LocalResponseNorm as LocalResponseNorm
from .normalization import RMSNorm as RMSNorm
from .normalization import SyncBatchNorm as SyncBatchNorm
from .parameter import Buffer as Buffer
from .parameter import Parameter as Parameter
from .parameter import UninitializedBuffer as UninitializedBuffer
from .parameter import UninitializedParameter as UninitializedParameter
from .pooling import AdaptiveAvgPool1d as AdaptiveAvgPool1d
from .pooling import AdaptiveAvgPool2d as AdaptiveAvgPool2d
from .pooling import AdaptiveAvgPool3d as AdaptiveAvgPool3d
from .pooling import AdaptiveMaxPool1d as AdaptiveMaxPool1d
from .pooling import AdaptiveMaxPool2d as AdaptiveMaxPool2d
from .pooling import AdaptiveMaxPool3d as AdaptiveMaxPool3d
from .pooling import AvgPool1d as AvgPool1d
from .pooling import AvgPool2d as AvgPool2d
from .pooling import AvgPool3d as AvgPool3d
from .pooling import FractionalMaxPool2d as FractionalMaxPool2d
from .pooling import FractionalMaxPool3d as FractionalMaxPool3d
from .pooling import LPPool1d as LPPool1d
from .pooling import LPPool2d as LPPool2d
from .pooling import LPPool3d as LPPool3d
from .pooling import MaxPool1d as MaxPool1d
from .pooling import MaxPool2d as MaxPool2d
from .pooling import MaxPool3d as MaxPool3d
from .pooling import MaxUnpool1d as MaxUnpool1d
from .pooling import MaxUnpool2d as MaxUnpool2d
from .pooling import MaxUnpool3d as MaxUnpool3d
from .recurrent import GRU as GRU
from .recurrent import LSTM as LSTM
from .recurrent import RNN as RNN
from .recurrent import GRUCell as GRUCell
from .recurrent import LSTMCell as LSTMCell
from .recurrent import RNNBase as RNNBase
from .recurrent import RNNCell as RNNCell
from .recurrent import RNNCellBase as RNNCellBase
from .transformer import Transformer as Transformer
from .transformer import TransformerDecoder as TransformerDecoder
from .transformer import TransformerDecoderLayer as TransformerDecoderLayer
from .transformer import TransformerEncoder as TransformerEncoder
from .transformer import TransformerEncoderLayer as TransformerEncoderLayer
from .upsampling import Fold as Fold
from .upsampling import Unfold as Unfold
from .upsampling import Upsample as Upsample
from .upsampling import UpsamplingBilinear2d as UpsamplingBilinear2d
from .upsampling import UpsamplingNearest2d as UpsamplingNearest2d

_documented(globals(), "nn.")

# Imported when first used.
_PACKAGES = frozenset({"attention", "common_types", "grad", "modules", "parallel", "quantized"})


def __getattr__(name: str) -> _Any:
    if name in _PACKAGES:
        return _import_module(f".{name}", __name__)
    if name == "DataParallel":
        return _import_module(".parallel", __name__).DataParallel
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *_PACKAGES, "DataParallel"})
