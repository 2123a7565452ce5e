"""kornia: colours, filters, geometry, features, losses, metrics and augmentations of images as tensors."""

from typing import Any

import kornia
import kornia.augmentation as K
import torch


def main() -> dict[str, Any]:
    torch.manual_seed(0)
    image = torch.rand(2, 3, 24, 24, requires_grad=True)
    grey = kornia.color.rgb_to_grayscale(image)
    turned = kornia.geometry.transform.rotate(image, torch.tensor([15.0, -30.0]))
    corners = torch.tensor([[[0.0, 0.0], [23.0, 0.0], [23.0, 23.0], [0.0, 23.0]]])
    moved = corners + torch.tensor([[[2.0, 1.0], [-1.0, 2.0], [0.0, -2.0], [1.0, 0.0]]])
    homography = kornia.geometry.transform.get_perspective_transform(corners, moved)
    warped = kornia.geometry.transform.warp_perspective(image[:1], homography, (24, 24))
    results: dict[str, Any] = {
        "lab": kornia.color.rgb_to_lab(image),
        "hsv": kornia.color.rgb_to_hsv(image),
        "ycbcr": kornia.color.rgb_to_ycbcr(image),
        "blurred": kornia.filters.gaussian_blur2d(image, (5, 5), (1.5, 1.5)),
        "median": kornia.filters.median_blur(image, (3, 3)),
        "sobel": kornia.filters.sobel(grey),
        "laplacian": kornia.filters.laplacian(image, 3),
        "edges": kornia.filters.canny(grey)[1],
        "sharpened": kornia.enhance.sharpness(image, 0.5),
        "equalized": kornia.enhance.equalize(image),
        "dilated": kornia.morphology.dilation(image, torch.ones(3, 3)),
        "turned": turned,
        "homography": homography,
        "warped": warped,
        "pyramid": kornia.geometry.transform.pyrdown(image),
        "corners": kornia.feature.harris_response(grey),
        "described": kornia.feature.SIFTDescriptor(16)(torch.rand(3, 1, 16, 16)),
        "ssim": kornia.metrics.ssim(image, turned, 5),
        "psnr": kornia.metrics.psnr(image, turned, 1.0),
        "rotation": kornia.geometry.conversions.axis_angle_to_rotation_matrix(torch.tensor([[0.1, 0.2, 0.3]])),
    }
    loss = kornia.losses.ssim_loss(image, turned.detach(), 5) + kornia.losses.total_variation(image).mean() + warped.mean()
    loss.backward()
    results |= {"loss": loss, "gradient": image.grad}
    logits, classes = torch.randn(2, 4, 6, 6), torch.randint(0, 4, (2, 6, 6))
    results["dice"] = kornia.losses.dice_loss(logits, classes)
    results["focal"] = kornia.losses.focal_loss(logits, classes, alpha=0.5, reduction="mean")

    torch.manual_seed(0)
    augment = K.AugmentationSequential(
        K.RandomHorizontalFlip(p=0.5),
        K.RandomAffine(20.0, translate=(0.1, 0.1), p=1.0),
        K.ColorJitter(0.1, 0.1, 0.1, 0.1, p=1.0),
        K.RandomGaussianNoise(std=0.05, p=0.5),
        K.RandomErasing(p=0.5),
        data_keys=["input", "mask"],
    )
    pictures, masks = augment(torch.rand(3, 3, 16, 16), torch.ones(3, 1, 16, 16))
    return {**results, "augmented": pictures, "masks": masks}
