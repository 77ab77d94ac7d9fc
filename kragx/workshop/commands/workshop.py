"""`kragx workshop`: the page on which a gold set is made and judged; how its folder is opened."""

import webbrowser
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kragx.app.commands import options as opt
from kragx.app.environment import load_env
from kragx.ground.errors import KragxError, UsageError, needing
from kragx.ground.printing import joined, message, put, say, visible

if TYPE_CHECKING:
    from kragx.workshop.folder.folder import Workshop
    from kragx.workshop.queue.suggestions import SuggestionSource
    from kragx.workshop.state.state import State


def workshop_of(folder: Path) -> "Workshop":
    """The workshop of a folder, whose `.env` may hold what its database's address names.

    Raises:
        DataError: there is no workshop in it, or a line of `.env` sets no variable.
        ConfigError: its workshop.yaml holds mistakes.
    """
    from kragx.workshop.folder.folder import Workshop

    load_env(folder)
    return Workshop.open(folder)


@contextmanager
def opened(folder: Path) -> Iterator[tuple["Workshop", "State"]]:
    """The workshop of a folder with what its database holds."""
    from kragx.workshop.state.state import State

    workshop = workshop_of(folder)
    with workshop.store() as store:
        yield workshop, State(store)


def check_new(option: str, path: Path | None) -> None:
    """Refuse to write over a file: somebody may have gone over what is in it."""
    if path is not None and path.exists():
        problem = message(
            "{option}: {path} exists, and somebody may have changed it", option=option, path=path
        )
        raise UsageError(problem, remedy="name another file")


_LOOPBACK = ("127.0.0.1", "::1", "localhost")


def workshop(
    folder: opt.WorkshopFolder,
    port: opt.Port = None,
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1",
    called: Annotated[
        list[str] | None,
        typer.Option(
            "--called", help="A name that others call this machine by; needed with --host; repeat."
        ),
    ] = None,
    annotator: Annotated[
        list[str] | None,
        typer.Option(help="Somebody who judges, with a link of their own; repeat."),
    ] = None,
    browser: opt.Browser = True,
) -> None:
    """Open a workshop: a local page, until Ctrl-C.

    Everything is stored at once. Its links are secrets: whoever has one is that person.
    """
    if host not in _LOOPBACK and not called:
        raise UsageError(
            "others are to reach {host}, so it must be said what they call this machine",
            field="--called",
            remedy="name it, as in --called 192.168.0.5 or --called gold.example.org",
            host=host,
        )
    serve(workshop_of(folder), port, host, called or (), annotator or (), browser=browser)


def serve(
    opened: "Workshop",
    port: int | None = None,
    host: str = "127.0.0.1",
    called: Sequence[str] = (),
    annotators: Sequence[str] = (),
    *,
    browser: bool = True,
    feed: Callable[["State"], Callable[[], object]] = lambda state: lambda: None,
) -> None:
    """Answer the browsers of a workshop until Ctrl-C; its links are printed.

    Args:
        opened: the workshop.
        port: where it listens; None for 8765, or the next that is free.
        host: the address to listen at.
        called: the names that others call this machine by.
        annotators: who get links beside the owner's.
        browser: whether the owner's link is opened.
        feed: makes what is called before somebody is shown a pair (`Desk`).
    """
    from kragx.workshop.desk import Desk
    from kragx.workshop.services import people
    from kragx.workshop.state.state import State

    is_local = host in _LOOPBACK
    with needing("workshop", "kragx workshop"):
        from kragx.workshop.web.server import application, listening, server
    with opened.store() as store, listening(host, port) as socket:
        # The port is taken before retrievers are loaded: whoever opens it twice hears so at once.
        state = State(store)
        suggesting, cut = sources(opened.settings.config, say)
        desk = Desk(opened, state, suggesting, cut, say, feed(state))
        number = socket.getsockname()[1]
        name = called[0] if called else host
        base = f"http://{f'[{name}]' if ':' in name else name}:{number}/#"
        judges = [people.annotator(desk, annotator) for annotator in annotators]
        owners = f"{base}{people.link_token(desk, state.owner())}"
        size = message(
            "{name}: {n} documents", name=visible(opened.settings.name), n=len(opened.documents)
        )
        put(joined("", [size, "\n"]))
        put(joined("", [message("owner: {address}", address=owners), "\n"]))
        for person in judges:
            put(f"{visible(person.name)}: {base}{people.link_token(desk, person)}\n")
        if not is_local:
            say(
                message(
                    "everybody who reaches {address} can ask this server, and who listens in on "
                    "the network can read links and texts: keep to a network that you trust, or "
                    "put a server with TLS before it (docs/security.md)",
                    address=f"{host}:{number}",
                )
            )
        put(joined("", [message("Ctrl-C ends; everything is stored at once"), "\n"]))
        app = application(desk, names=called, say=say)
        desk.start()
        if browser and is_local:
            webbrowser.open(owners)
        with suppress(KeyboardInterrupt):  # which is how it ends
            server(app).run(sockets=[socket])
        put(joined("", [message("closed; all is in {folder}", folder=opened.folder), "\n"]))


def sources(
    path: Path | None, tell: Callable[[str], object] = str
) -> tuple[list["SuggestionSource"], int]:
    """What suggests documents, and how far down it is compared: as the first metric with a cut.

    Nothing is loaded or asked yet. Without retrievers people judge what they find.

    Args:
        path: of the config; None for none.
        tell: is told why a config cannot be used.
    """
    from kragx.app.config import load
    from kragx.app.retrieving.fingerprint import Fingerprints, state_of
    from kragx.app.retrieving.retrieve_all import asker
    from kragx.metrics.registry import split
    from kragx.workshop.pairs.candidates import CUT
    from kragx.workshop.queue.suggestions import SuggestionSource

    if path is None:
        return [], CUT
    # A config that has become useless keeps nobody from judging what is stored.
    try:
        config = load(path)
        fingerprints = Fingerprints(path.resolve().parent)
        suggesting = [
            SuggestionSource(name, state_of(fingerprints.of(retriever)), asker(name, retriever))
            for name, retriever in config.asked.items()
        ]
    except (KragxError, ImportError) as error:
        tell(message("no retriever is asked, as the config cannot be used: {error}", error=error))
        return [], CUT
    cuts = (split(name)[1] for name in config.metrics or ())
    return suggesting, next((cut for cut in cuts if isinstance(cut, int)), CUT)
