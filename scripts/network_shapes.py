#!/usr/bin/env python3
"""Writes the layers of published networks to bench/shapes: one file per family of networks.

    python3 scripts/network_shapes.py

A file has a section `[network] source` per network and a line per problem, in the format of
bench/harness/shape_set.h. Batches are 1; `halyard bench --sample` draws others. A problem of several
layers of a network is listed once, with the name of the first. Normalisation of images is folded
into the convolutions, as for inference. Dense layers are matmul with weights [out, in].
"""
import pathlib

from networks.convolutional import (
    LARGE, SMALL, alexnet, basic_resnet, bottleneck_resnet, densenet121, efficientnet, googlenet,
    inception3, lenet5, mobilenet1, mobilenet2, mobilenet3, shufflenet2, squeezenet, vgg)
from networks.detection import (
    deeplab3, retinanet, ssd300, unet, yolo3_tiny, yolo5s)
from networks.net import products
from networks.others import (
    dcgan, deepspeech2, dlrm, espcn, ncf, pointnet, srcnn, stylegan2, wav2vec2, whisper,
    wide_deep)
from networks.transformers import (
    bert, convnext, gpt2, llama, mixer, swin, t5, vit)

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "bench" / "shapes"


def written(family, title, nets):
    text = f"# {title}\n# scripts/network_shapes.py writes this file.\n\n"
    text += "\n".join(net.text() for net in nets)
    (FOLDER / (family + ".txt")).write_text(text)
    for net in nets:
        print(f"{family:14} {net.name:24} {len(net.problems):4} problems, "
              f"{products(net) / 1e9:8.3f} G multiplications")


def main():
    written("classic", "Convolutional networks before residual ones.",
            [lenet5(), alexnet(), vgg("vgg11", [(64, 1), (128, 1), (256, 2), (512, 2), (512, 2)]),
             vgg("vgg16", [(64, 2), (128, 2), (256, 3), (512, 3), (512, 3)]), squeezenet()])
    he = "He et al., arXiv:1512.03385; layers as in torchvision"
    regnet = "Radosavovic et al., arXiv:2003.13678; layers as in torchvision"
    written("resnet", "Residual networks and their relatives.", [
        basic_resnet("resnet18", he, (64, 128, 256, 512), 2),
        bottleneck_resnet("resnet50-v1.5", he, (3, 4, 6, 3), (64, 128, 256, 512), (256, 512, 1024, 2048)),
        basic_resnet("resnet20-cifar", "He et al., arXiv:1512.03385, section 4.2", (16, 32, 64), 3, 32, False),
        bottleneck_resnet("resnext50-32x4d", "Xie et al., arXiv:1611.05431; layers as in torchvision", (3, 4, 6, 3),
                          (128, 256, 512, 1024), (256, 512, 1024, 2048), (4, 8, 16, 32)),
        bottleneck_resnet("regnet-x-400mf", regnet, (1, 2, 7, 12), (32, 64, 160, 400), (32, 64, 160, 400),
                          (16,) * 4, stem=32, pool=False),
        bottleneck_resnet("regnet-y-8gf", regnet, (2, 4, 10, 1), (224, 448, 896, 2016), (224, 448, 896, 2016),
                          (56,) * 4, 0.25, 32, False),
        densenet121()])
    written("mobile", "Networks for small devices.", [
        mobilenet1(), mobilenet2(), mobilenet3("mobilenet-v3-large", LARGE, 960, 1280),
        mobilenet3("mobilenet-v3-small", SMALL, 576, 1024), efficientnet("efficientnet-b0", 1.0, 1.0, 224),
        efficientnet("efficientnet-b4", 1.4, 1.8, 380), shufflenet2()])
    written("inception", "Inception networks.", [googlenet(), inception3()])
    written("vision-transformer", "Transformers and mixers of images, and ConvNeXt.", [
        vit("vit-b16", "Dosovitskiy et al., arXiv:2010.11929; layers as in torchvision", 768, 12, 12),
        vit("deit-small", "Touvron et al., arXiv:2012.12877", 384, 6, 12), swin(), mixer(), convnext()])
    devlin = "Devlin et al., arXiv:1810.04805"
    written("bert", "Encoders of text, one sequence.", [
        bert("bert-base-128", devlin + "; 128 tokens", 768, 12, 12, 128),
        bert("bert-large-384", devlin + "; 384 tokens, as for SQuAD", 1024, 16, 24, 384),
        bert("distilbert-64", "Sanh et al., arXiv:1910.01108; 64 tokens", 768, 12, 6, 64)])
    written("language-model", "Language models: prompts, and single tokens after a context.", [
        gpt2("gpt2-prompt", 768, 12, 12, 256, 0), gpt2("gpt2-token", 768, 12, 12, 1, 511),
        gpt2("gpt2-medium-prompt", 1024, 16, 24, 128, 0), gpt2("gpt2-xl-token", 1600, 25, 48, 1, 255),
        llama("llama-2-7b-token", "Touvron et al., arXiv:2307.09288", 4096, 32, 32, 11008, 32, 32000, 1, 1023),
        llama("tinyllama-1.1b-prompt", "Zhang et al., arXiv:2401.02385", 2048, 32, 4, 5632, 22, 32000, 128, 0),
        llama("mistral-7b-token", "Jiang et al., arXiv:2310.06825", 4096, 32, 8, 14336, 32, 32000, 1, 2047),
        t5("t5-small", 512, 8, 2048, 6, 128, 32), t5("t5-base", 768, 12, 3072, 12, 256, 16)])
    written("segmentation-detection", "Segmentation, and heads of detectors.",
            [unet(), deeplab3(), ssd300(), yolo3_tiny(), yolo5s(), retinanet()])
    written("speech", "Speech recognition.",
            [wav2vec2(), whisper("whisper-tiny", 384, 6, 4), whisper("whisper-base", 512, 8, 6), deepspeech2()])
    written("recommender", "Recommenders.", [dlrm(), wide_deep(), ncf()])
    written("generative-points", "Super-resolution, generators of images, and points.",
            [srcnn(), espcn(), dcgan(), stylegan2(), pointnet()])


if __name__ == "__main__":
    main()
