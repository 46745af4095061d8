"""Tells every story, each with dice of its own, into one post office."""

from . import bulk, stories_family
from .dice import Dice
from .facts_home import home_facts
from .facts_work import work_facts
from .planted import Planted, plant
from .plays import perform
from .post import Post

STORIES = (
    ("weekends", stories_family.weekends),
    ("newsletters", bulk.newsletters),
    ("orders", bulk.orders),
    ("notifications", bulk.notifications),
)


PLAYS = ("weekends", "everyday", "home", "school", "work", "friends", "abroad", "otters")


def tell_all(seed: int) -> tuple[Post, list[Planted]]:
    """The post office with all the mail of `seed`, and the facts that were planted in it."""
    post = Post(seed)
    for name, story in STORIES:
        story(post, Dice(seed, name))
    for topic in PLAYS:
        perform(post, Dice(seed, topic), topic)
    planted = []
    for name, facts in (("home", home_facts), ("work", work_facts)):
        planted += plant(post, Dice(seed, "plant", name), facts(Dice(seed, "facts", name)))
    return post, planted
