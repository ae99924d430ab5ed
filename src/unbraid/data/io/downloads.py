"""Where the original files come from, their names in the data root, and their checksums."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from unbraid.data.io.paths import data_root


@dataclass(frozen=True)
class Download:
    """A file and, if it is an archive, the part of it that is unpacked."""

    url: str
    checksum: str  # md5 (32 digits) or sha256 (64 digits)
    size: int = 0  # bytes; 0: unknown
    unpacks: str = ""  # path inside the archive, and in the set's folder once it is unpacked

    @property
    def file(self) -> str:
        return self.url.rpartition("/")[2]


@dataclass(frozen=True)
class Source:
    """The files of a set. A set is present if, for one group of `patterns`, each pattern matches a file."""

    rows: str
    patterns: tuple[tuple[str, ...], ...]
    downloads: tuple[Download, ...] = ()
    by_hand: str = ""  # how to get what cannot be downloaded


def set_folder(name: str) -> Path:
    return data_root() / name


def is_present(name: str) -> bool:
    """Whether the files of a set are in its folder."""
    return any(all(any(set_folder(name).glob(pattern)) for pattern in group) for group in SOURCES[name].patterns)


MADE_FROM = {  # sets composed of others
    "celeba_hats_glasses": ("celeba",),
    "affectnet_emotions": ("affectnet",),
    "cmnist": ("mnist",),
    "colored_mnist": ("mnist",),
    "rotation_colored_mnist": ("mnist",),
    "grassy_mnist": ("mnist",),
    "mnist_stl10": ("mnist", "stl10"),
    "photo_mnist": ("mnist", "cifar10"),
}
NORB = "https://cs.nyu.edu/~ylclab/data/norb-v1.0-small/smallnorb-5x"
MNIST = "https://ossci-datasets.s3.amazonaws.com/mnist/"
FLOWERS = "https://www.robots.ox.ac.uk/~vgg/data/flowers/102/"
MPI3D = "https://huggingface.co/datasets/waleedgondal/mpi3d/resolve/main/"

SOURCES = {
    "mnist": Source(
        "60,000 + 10,000",
        (("train-images*", "train-labels*", "t10k-images*", "t10k-labels*"),),
        (
            Download(f"{MNIST}train-images-idx3-ubyte.gz", "f68b3c2dcbeaaa9fbdd348bbdeb94873", 9_912_422),
            Download(f"{MNIST}train-labels-idx1-ubyte.gz", "d53e105ee54ea40749a09fcbcd1e9432", 28_881),
            Download(f"{MNIST}t10k-images-idx3-ubyte.gz", "9fb629c4189551a2d022fa330f9573f3", 1_648_877),
            Download(f"{MNIST}t10k-labels-idx1-ubyte.gz", "ec29112dd5afa0611ce80d1b7f02629c", 4_542),
        ),
    ),
    "dsprites_npz": Source(
        "737,280",
        (("dsprites_ndarray_co1sh3sc6or40x32y32_64x64.npz",),),
        (
            Download(
                "https://github.com/google-deepmind/dsprites-dataset/raw/master/"
                "dsprites_ndarray_co1sh3sc6or40x32y32_64x64.npz",
                "7da33b31b13a06f4b04a70402ce90c2e",
            ),
        ),
    ),
    "shapes3d_h5": Source(
        "480,000",
        (("3dshapes.h5",),),
        (
            Download(
                "https://storage.googleapis.com/3d-shapes/3dshapes.h5",
                "0a0f6ed98baff276a50f3a081a7434d788da63cb135a98189b2a5b5769be1785",
                267_573_662,
            ),
        ),
    ),
    "mpi3d": Source(
        "1,036,800",
        (("mpi3d_*.npz",),),
        (
            Download(f"{MPI3D}mpi3d_toy.npz", "55889cb7c7dfc655d6e0277beee88868"),
            Download(f"{MPI3D}mpi3d_realistic.npz", "59a6225b88b635365f70c91b3e52f70f"),
            Download(f"{MPI3D}mpi3d_real.npz", "0f33f609918fb5c97996692f91129802"),
        ),
        "the variant complex is mpi3d_real_complex.npz, linked from github.com/rr-learning/disentanglement_dataset",
    ),
    "cars3d": Source(
        "17,568",
        (("data/cars/car_*_mesh.mat",), ("car_*_mesh.mat",)),
        (
            Download(
                "http://www.scottreed.info/files/nips2015-analogy-data.tar.gz",
                "4e866a7919c1beedf53964e6f7a23686",
                unpacks="data/cars",
            ),
        ),
    ),
    "small_norb": Source(
        "48,600",
        (
            tuple(
                f"smallnorb-*-{part}-{what}.mat*" for part in ("training", "testing") for what in ("dat", "cat", "info")
            ),
        ),
        (
            Download(
                f"{NORB}46789x9x18x6x2x96x96-training-dat.mat.gz", "66054832f9accfe74a0f4c36a75bc0a2", 131_896_188
            ),
            Download(f"{NORB}46789x9x18x6x2x96x96-training-cat.mat.gz", "23c8b86101fbf0904a000b43d3ed2fd9", 348),
            Download(f"{NORB}46789x9x18x6x2x96x96-training-info.mat.gz", "51dee1210a742582ff607dfd94e332e3", 71_052),
            Download(f"{NORB}01235x9x18x6x2x96x96-testing-dat.mat.gz", "e4ad715691ed5a3a5f138751a4ceb071", 130_799_817),
            Download(f"{NORB}01235x9x18x6x2x96x96-testing-cat.mat.gz", "5aa791cd7e6016cf957ce9bdb93b8603", 347),
            Download(f"{NORB}01235x9x18x6x2x96x96-testing-info.mat.gz", "a9454f3864d7fd4bb3ea7fc3eb84924e", 10_428),
        ),
    ),
    "stl10": Source(
        "5,000 + 8,000",
        (
            tuple(f"stl10_binary/{file}.bin" for file in ("train_X", "train_y", "test_X", "test_y")),
            tuple(f"{file}.bin" for file in ("train_X", "train_y", "test_X", "test_y")),
        ),
        (
            Download(
                "http://ai.stanford.edu/~acoates/stl10/stl10_binary.tar.gz",
                "f31fd99273a1acb8609c8db427cebb1de3f71de77758cdc0e22956e1289b9866",
                2_640_397_119,
                unpacks="stl10_binary",
            ),
        ),
    ),
    "cifar10": Source(
        "50,000 + 10,000",
        (
            ("cifar-10-batches-bin/data_batch_5.bin", "cifar-10-batches-bin/test_batch.bin"),
            ("data_batch_5.bin", "test_batch.bin"),
            ("cifar10-images.zip",),
            ("train/airplane", "test/airplane"),
        ),
        (
            Download(
                "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
                "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
                170_052_171,
                unpacks="cifar-10-batches-bin",
            ),
        ),
    ),
    "flowers102": Source(
        "1,020 + 6,149",
        (("imagelabels.mat", "setid.mat", "jpg/image_08189.jpg"),),
        (
            Download(
                f"{FLOWERS}102flowers.tgz",
                "2d01ecc807db462958cfe3d92f57a8c252b4abd240eb955770201e45f783b246",
                344_862_509,
                unpacks="jpg",
            ),
            Download(f"{FLOWERS}imagelabels.mat", "e0620be6f572b9609742df49c70aed4d", 502),
            Download(f"{FLOWERS}setid.mat", "a5357ecc9cb78c4bef273ce3793fc85c", 14_989),
        ),
    ),
    "celeba": Source(
        "162,770 + 19,962",
        (("img_align_celeba*", "list_attr_celeba.*", "list_eval_partition.*"),),
        by_hand="download img_align_celeba.zip, list_attr_celeba.txt and list_eval_partition.txt from the authors "
        "(mmlab.ie.cuhk.edu.hk/projects/CelebA.html, non-commercial research only), or the csv copies on Kaggle",
    ),
    "affectnet": Source(
        "up to 287,651 + 3,999",
        (("train_set/images", "val_set/images"), ("training.csv", "validation.csv", "Manually_Annotated*")),
        by_hand="request it from its authors (mohammadmahoor.com/pages/databases/affectnet), unpack train_set and "
        "val_set, or training.csv, validation.csv and Manually_Annotated_Images",
    ),
}
