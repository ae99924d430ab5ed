from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.toys import Squares

from unbraid import catalogue, machine
from unbraid.data.batch import Batch, Images, Labelled, Pairs, TargetBackground, Transitions, Views
from unbraid.data.samplers import DRAW, sampler, sets_that_give
from unbraid.data.sets.dsprites import DSprites
from unbraid.data.sets.shapes3d import Shapes3D
from unbraid.data.split import select_rows
from unbraid.errors import UserError

KINDS = [Images, Labelled, Pairs, Transitions, Views, TargetBackground]


def tensors(batch: Batch) -> list[torch.Tensor]:
    return list(vars(batch).values())


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_depends_on_seed_and_step_alone(kind: type[Batch]) -> None:
    first = sampler(Squares(), kind, batch=16, seed=7)
    straight = [tensors(first(step)) for step in range(4)]
    second = sampler(Squares(), kind, batch=16, seed=7)
    for step in (3, 0, 2, 1):  # in another order, from another sampler
        assert all(map(torch.equal, tensors(second(step)), straight[step]))
    other = sampler(Squares(), kind, batch=16, seed=8)
    for different in (straight[1], tensors(other(0))):
        assert not torch.equal(different[0], straight[0][0])


def test_global_random_state_is_neither_used_nor_changed() -> None:
    np.random.seed(1)  # noqa: NPY002
    torch.manual_seed(1)
    before = np.random.get_state()[1].copy(), torch.get_rng_state()  # type: ignore[index]  # noqa: NPY002
    for kind in KINDS:
        sampler(Squares(), kind, batch=4, seed=0)(0)
    assert (np.random.get_state()[1] == before[0]).all()  # type: ignore[index]  # noqa: NPY002
    assert torch.equal(torch.get_rng_state(), before[1])


def test_labels_and_nuisances_belong_to_the_images() -> None:
    table = Squares()
    batch = sampler(table, Labelled, batch=64, seed=0)(5)
    assert isinstance(batch, Labelled)
    lit = batch.x.flatten(1) > 0
    side = batch.y + 2
    inside = lit.sum(1) <= side**2  # cut at the border
    assert inside.all()
    assert (lit.sum(1) == side**2).float().mean() > 0.5
    assert torch.equal(batch.x.flatten(1).amax(1).long(), 100 + 50 * batch.s[:, 0])
    np.testing.assert_array_equal(table.images(batch.index.numpy()), batch.x.numpy())


@pytest.mark.parametrize("changed", [1, 2, 4, 0])
def test_pairs_tell_how_many_factors_differ_and_not_which(changed: int) -> None:
    table = Squares()
    batch = sampler(table, Pairs, batch=500, seed=0, changed=changed)(0)
    assert isinstance(batch, Pairs)
    assert set(vars(batch)) == {"index", "x1", "x2", "k", "y"}
    grid = table.images(np.arange(len(table))).reshape(len(table), -1)
    rows = {picture.tobytes(): row for row, picture in enumerate(grid)}
    assert len(rows) == 768, "two rows have the same image"
    values = [
        table.values(np.array([rows[picture.numpy().tobytes()] for picture in x.reshape(500, -1)]))
        for x in (batch.x1, batch.x2)
    ]
    np.testing.assert_array_equal(batch.y.numpy(), np.where(values[0][:, 2] == values[1][:, 2], values[0][:, 2], -1))
    differ = (values[0] != values[1]).sum(1)
    np.testing.assert_array_equal(differ, batch.k.numpy())
    counts = np.bincount(batch.k.numpy(), minlength=5)
    if changed:
        assert counts[changed] == 500
    else:
        assert counts[[0, 4]].sum() == 0
        assert counts[1:4] / 500 == pytest.approx([1 / 3] * 3, abs=0.07)


def test_the_number_of_changed_factors_grows_with_the_step() -> None:
    table = Squares()
    draw = sampler(table, Pairs, batch=40, seed=0, changed=3, changed_over=90)
    for step, expected in ((0, 1), (44, 1), (45, 2), (89, 2), (90, 3), (1000, 3)):
        batch = draw(step)
        assert isinstance(batch, Pairs)
        assert (batch.k == expected).all()
        rows = [
            np.argmax([np.array_equal(table.images(np.array([r]))[0], x) for r in range(len(table))])
            for x in batch.x2[:2].numpy()
        ]
        differ = (table.values(batch.index[:2].numpy()) != table.values(np.array(rows))).sum(1)
        assert (differ == expected).all()
    with pytest.raises(UserError, match="changed_over needs"):
        sampler(table, Pairs, batch=1, seed=0, changed=0, changed_over=5)(0)


def test_pairs_share_the_class_where_it_is_to_be_predicted() -> None:
    batch = sampler(Shapes3D(size=8, new_colours=True), Pairs, batch=200, seed=0, changed=5)(0)
    assert isinstance(batch, Pairs)
    assert set(batch.y.tolist()) == {0, 1, 2, 3}
    with pytest.raises(UserError, match="1 to 5 factors"):
        sampler(Shapes3D(size=8, new_colours=True), Pairs, batch=1, seed=0, changed=6)(0)
    for table in (Shapes3D(size=8), DSprites()):
        free = sampler(table, Pairs, batch=50, seed=0, changed=table.changeable)(0)
        assert isinstance(free, Pairs)
        assert (free.y == -1).all()


def test_views_of_a_class_and_of_an_instance() -> None:
    batch = sampler(Squares(), Views, batch=64, seed=0)(0)
    assert isinstance(batch, Views)
    assert (batch.x1 != batch.x2).flatten(1).any(1).float().mean() > 0.9
    np.testing.assert_array_equal(batch.y.numpy(), Squares().values(batch.index.numpy())[:, 2])
    same = sampler(DSprites(), Views, batch=32, seed=0, views_of="instance")(0)
    assert isinstance(same, Views)
    assert torch.equal(same.x1, same.x2)
    assert torch.equal(same.y, same.index)
    np.testing.assert_array_equal(same.x1.numpy(), DSprites().images(same.index.numpy()))


def test_target_and_background_are_independent_and_equally_many() -> None:
    batch = sampler(Squares(), TargetBackground, batch=400, seed=0)(0)
    assert isinstance(batch, TargetBackground)
    assert batch.target.shape == batch.background.shape
    assert batch.background.max() <= 35 < batch.target.flatten(1).amax(1).min()
    target, background = (x.flatten(1).gt(0).sum(1).double() for x in (batch.target, batch.background))
    assert abs(torch.corrcoef(torch.stack([target, background]))[0, 1]) < 0.15


def test_images_become_floats_on_a_device() -> None:
    batch = sampler(Squares(), Labelled, batch=8, seed=0)(0)
    assert isinstance(batch, Labelled)
    assert batch.x.dtype == torch.uint8
    moved = batch.on("cpu")
    assert torch.equal(moved.x, batch.x.float() / 255)
    assert torch.equal(moved.y, batch.y)


def test_a_set_that_lacks_something_is_refused_with_the_names_of_others() -> None:
    with pytest.raises(UserError) as refusal:
        sampler(DSprites(), Labelled, batch=8, seed=0)
    said = str(refusal.value)
    assert "'dsprites' cannot give Labelled" in said
    assert "\n" not in said
    for name in ("shapes3d", "colored_mnist", "mnist"):
        assert name in said.split("data sets that can:")[1]
    with pytest.raises(UserError, match=r"cannot give TargetBackground.*data sets that can:.*grassy_mnist"):
        sampler(Shapes3D(), TargetBackground, batch=8, seed=0)
    with pytest.raises(UserError, match=r"cannot give Views.*data sets that can:.*mnist_stl10"):
        sampler(DSprites(), Views, batch=8, seed=0)
    assert {"dsprites", "cars3d"} <= set(sets_that_give("Pairs"))
    assert "dsprites" not in sets_that_give("Labelled")
    assert not {"arrays", "painted", "contrast"} & set(sets_that_give("Images"))
    assert set(DRAW) == set(KINDS)


def test_every_set_states_what_it_gives() -> None:
    for entry in catalogue.entries("data").values():
        assert entry.traits["gives"] == entry.load().gives, entry.name


def test_sets_know_which_of_their_factors_have_no_order() -> None:
    quantities = {
        name: [
            factor.name for factor in kind.factors if factor.ordered and factor.size > 2 and factor.name != kind.label
        ]
        for name, kind in ((entry.name, entry.load()) for entry in catalogue.entries("data").values())
    }
    sprites = ["scale", "orientation", "posX", "posY"]
    rooms = ["floor_hue", "wall_hue", "object_hue", "scale", "orientation"]
    expected = {name: sprites for name in quantities if "dsprites" in name}
    expected |= {"shapes3d": rooms, "shapes3d_h5": rooms, "cars3d": ["elevation", "azimuth"]}
    expected |= {"small_norb": ["elevation", "azimuth"], "rotation_colored_mnist": ["angle"]}
    expected |= {"mpi3d": ["camera_height", "horizontal_axis", "vertical_axis"]}
    assert {name: found for name, found in quantities.items() if found} == expected


@pytest.mark.parametrize(
    ("kind", "images"), [(Images, 1), (Labelled, 1), (Pairs, 2), (Transitions, 2), (Views, 2), (TargetBackground, 2)]
)
def test_a_batch_that_does_not_fit_into_memory_is_refused(
    kind: type[Batch], images: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "memory", lambda: 1000 * images * 144 * 5)
    sampler(Squares(), kind, batch=1000, seed=0)
    with pytest.raises(UserError, match=r"a batch of 1,001 samples of 'squares' would need 0\.\d GB of memory"):
        sampler(Squares(), kind, batch=1001, seed=0)


def test_a_size_that_does_not_fit_into_memory_is_refused_before_anything_is_allocated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(machine, "memory", lambda: 24 * 10**9)
    with pytest.raises(UserError, match=r"two samples of 1 x 100,000 x 100,000 numbers would need 80\.0 GB"):
        _ = DSprites(size=100_000).spec
    with pytest.raises(UserError, match=r"the geometries of 3D Shapes at 4096 x 4096 would need 161\.1 GB"):
        Shapes3D(size=4096).images(np.arange(1))


def test_a_single_row_is_warned_of_and_none_is_refused() -> None:
    with pytest.warns(UserWarning, match="squares has a single sample, from which nothing can be learnt"):
        sampler(select_rows(Squares(), np.array([5])), Images, batch=2, seed=0)
    with pytest.raises(UserError, match="squares has no rows"):
        sampler(select_rows(Squares(), np.array([], np.int64)), Images, batch=2, seed=0)


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(UserError, match="at least one sample, not 0"):
        sampler(Squares(), Images, batch=0, seed=0)
    with pytest.raises(UserError, match="must be 0 or more and have less than 64 bits, and is -1"):
        sampler(Squares(), Images, batch=1, seed=-1)
    for changed in (5, -1):
        with pytest.raises(UserError, match=f"can differ in 1 to 4 factors .*, not {changed}"):
            sampler(Squares(), Pairs, batch=1, seed=0, changed=changed)(0)
