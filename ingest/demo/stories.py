"""Tells every story, each with dice of its own, into one post office."""

from . import bulk, stories_family
from .dice import Dice
from .facts_home import home_facts
from .planted import Planted, plant
from .post import Post

STORIES = (
    ("weekends", stories_family.weekends),
    ("everyday", stories_family.everyday),
    ("newsletters", bulk.newsletters),
    ("orders", bulk.orders),
    ("notifications", bulk.notifications),
)


def tell_all(seed: int) -> tuple[Post, list[Planted]]:
    """The post office with all the mail of `seed`, and the facts that were planted in it."""
    post = Post(seed)
    for name, story in STORIES:
        story(post, Dice(seed, name))
    planted = []
    for name, facts in (("home", home_facts),):
        planted += plant(post, Dice(seed, "plant", name), facts(Dice(seed, "facts", name)))
    return post, planted
