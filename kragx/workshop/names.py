"""Which names are one person's, and which only look alike.

Two names are the same where Unicode's caseless compatibility matching says so (toNFKC_Casefold, The
Unicode Standard, section 3.13), with white space of any kind and length as one space: Hangul
composed or apart, wide letters, capitals, characters that nobody sees. Others look alike where
letters may be taken for each other, as they are written, in small letters or in capitals: Cyrillic
and Greek letters for Latin ones, 0 for O, 1 and I for l, rn for m, after the confusables of Unicode
Technical Standard 39.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator

from kragx.ground.errors import UsageError, nearest
from kragx.ground.printing import message
from kragx.workshop.state.records import Person

_LATIN = str.maketrans(
    "0O\u043e\u041e\u03bf\u039f\u03c31I|\u04c0\u04cf\u0406\u0399\u0430\u03b1\u044c\u042c"
    "\u0441\u03f2\u0501\u0435\u04bb\u0456\u03b9\u0458\u03f3\u043a\u03ba\u03b7\u043f\u0440"
    "\u03c1\u051b\u0433\u0455\u03c5\u03bd\u0475\u051d\u03c9\u0445\u03c7\u0443\u04af\u03b3"
    "\u0410\u0391\u0412\u0392\u0421\u03f9\u0415\u0395\u050c\u041d\u0397\u0408\u041a\u039a"
    "\u041c\u039c\u039d\u0420\u03a1\u051a\u0405\u0422\u03a4\u0474\u051c\u0425\u03a7\u0423"
    "\u04ae\u03a5\u0396\u0417\u0437",
    "ooooooolllllllaabbccdehiijjkknnppqrsuvvwwxxyyyAABBCCEEGHHJKKMMNPPQSTTVWXXYYYZ33",
)
"""What each letter may be taken for."""
_UNSEEN = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0]")
"""Letters and marks that are not drawn (Default_Ignorable_Code_Point), beside those of Cf."""


def alike(first: str, second: str) -> bool:
    """Whether two names, the same or not, may be taken for each other."""
    return any(map(str.__eq__, _looks(first), _looks(second)))


def people_called(name: str, people: Iterable[Person]) -> list[Person]:
    """Everybody of a name: who is called just so, else who has the same name."""
    people = list(people)
    by_letter = [person for person in people if person.name == name]
    return by_letter or [person for person in people if _folded(person.name) == _folded(name)]


def the_person(name: str, people: Iterable[Person], field: str, hint: str = "") -> Person:
    """The one person of a name.

    Raises:
        UsageError: nobody has it, or several have.
    """
    people = list(people)
    match people_called(name, people):
        case [person]:
            return person
        case []:
            remedy = nearest(name, [person.name for person in people]) + hint
            raise UsageError(
                message("nobody is called {name!r}", name=name), field=field, remedy=remedy
            )
        case several:
            raise UsageError(
                "{n_several} people are called {name!r}",
                field=field,
                n_several=len(several),
                name=name,
            )


def check_unlike(name: str, people: Iterable[Person], field: str) -> None:
    """Refuse a name that may be taken for that of somebody who is here."""
    for person in people:
        if person.role != "file" and alike(person.name, name):
            problem = message(
                "{name!r} looks like {name_2!r}, who is here already", name=name, name_2=person.name
            )
            remedy = message("write it the same, or give each a name of their own")
            raise UsageError(problem, field=field, remedy=remedy)


def _folded(name: str) -> str:
    # Once more, as small letters and letters without what is not drawn may compose anew.
    text = _visible_form(unicodedata.normalize("NFKC", name).casefold())
    return " ".join(unicodedata.normalize("NFKC", text).split())


def _visible_form(text: str) -> str:
    return "".join(
        letter for letter in _UNSEEN.sub("", text) if unicodedata.category(letter) != "Cf"
    )


def _looks(name: str) -> Iterator[str]:
    """What a name looks like: as it is written, in small letters, and in capitals."""
    written = " ".join(_visible_form(unicodedata.normalize("NFKC", name)).split())
    for text in (written, _folded(name), written.upper()):
        yield text.translate(_LATIN).replace("rn", "m").replace("vv", "w")
