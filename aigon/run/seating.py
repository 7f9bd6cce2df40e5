"""Take a seat for a run: the checkout at hand, or a worktree that is made, or used again, for the agent."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from aigon.errors import usage
from aigon.git.person import Checkout
from aigon.job.options import Options
from aigon.job.seat import Seat, main_checkout, worktree_of
from aigon.job.spec_locations import require_open_feature
from aigon.run.chosen_agents import chosen, known, spelled_out
from aigon.run.feature_stages import require_feature


@contextmanager
def seated(checkout: Checkout, options: Options, say: Callable[[str], None]) -> Iterator[tuple[Seat, Options]]:
    """The seat of the one agent that is to work, and the options with its name and model spelled out.

    Raises AigonError (exit 2) where more than one is meant.
    """
    with main_checkout(checkout) as (main, here):
        if not options.resume:
            require_feature(main, options.feature, write=True)
        names = chosen(main, options, here)
        if not names:
            _require_outside(here, options)
            require_open_feature(checkout.root, checkout.common_dir, options.feature)
            yield Seat(checkout, checkout.root), spelled_out(main, options)
            return
        if len(names) > 1:
            listed = ", ".join(each.label for each in known(main, options.feature)) or ", ".join(names)
            raise usage(f"Feature {options.feature} has several agents: {listed}", hint="Name one with --agent")
        from aigon.worktrees.setup import set_up_feature

        (candidate,) = set_up_feature(main, options.feature, names, say)
        with worktree_of(main, candidate) as seat:
            one = replace(options, feature=candidate.feature, agents=(candidate.agent,))
            yield seat, spelled_out(main, one)


def _require_outside(here: object, options: Options) -> None:
    """A worktree is for the feature and the agent that it was made for. Raises AigonError (exit 2)."""
    if here is not None:
        raise usage(
            f"This is the worktree of another feature or agent than {options.feature}",
            hint="Go to the main checkout for that one",
        )
