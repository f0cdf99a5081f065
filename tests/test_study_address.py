"""The URL of a store, and that no part of a password is ever shown."""

import gc
import re
from pathlib import Path

import pytest
import sqlalchemy as sa

import bopp as library
from bopp.errors import BoppError, ConfigError
from bopp.study.address import censored, hidden, is_url, shown, understood
from bopp.study.config import load
from support.commands import Bopp
from support.postgres import Server

SECRET = "S3CRET"

WRONG = [
    "postgresql//u:S3CRET@h",
    "postgresql:/u:S3CRET@h/db",
    "postgresql:u:S3CRET@h/db",
    "postgresql://u:S3CRET",
    "postgresql://u@h:S3CRET/db",
    "postgresql%3A//u:S3CRET@h/db",
    " postgresql://u:S3CRET@h/db",
    "postgresql:\\\\u:S3CRET@h",
    "host=h user=u password='p S3CRET'",
    "PGPASSWORD=S3CRET postgresql://h/db",
    "//u:S3CRET@h/db",
    "x:S3CRET@",
    # a piece of the password, or of what follows it, is taken for a host or a database
    "postgresql://u:p@S3CRET@h:5432/db",
    "postgresql://u:p@a/S3CRET@h/db",
    "postgresql:///u:S3CRET@h/db",
    "postgresql://u/S3CRET@h/db",
    "postgresql://u%3AS3CRET@h/db",
    "postgresql://u%3AS3CRET%40h/db",
    "postgresql://u:S3CRET@h/db\n",
    "postgresql://u:S3CRET@[h/db",
    "postgresql://u@h/db;password=S3CRET",
    "postgresql://u@h/db&password=S3CRET",
    "postgresql://u@h/db password=S3CRET",
    # other stores
    "Postgres://u:p@S3CRET@h/db",
    "postgresql+psycopg2://u:S3CRET@h/db",
    "mysql://u:p@S3CRET@h/db",
    "sqlite://u:S3CRET@h/db",
    "sqlite:///x.db?password=S3CRET",
    "sqlite:///postgresql://u:S3CRET@h/db",
]

READABLE = [
    "postgresql://u:p/S3CRET@127.0.0.1:1/db",
    "postgresql://u:p:S3CRET@127.0.0.1:1/db",
    "postgresql://u:p%40S3CRET@127.0.0.1:1/db",
    "postgresql://u:p\nS3CRET@127.0.0.1:1/db",
    "postgresql://u@127.0.0.1:1/db?password=S3CRET",
    "postgresql://u@127.0.0.1:1/db?sslmode=require&sslkey=/S3CRET",
    "postgresql://u@127.0.0.1:1/db?options=S3CRET",
    "postgresql://u@127.0.0.1:1/db?connect_timeout=S3CRET",
    "postgresql://u:p@S3CRET-%00",
]
"""What reaches the library of PostgreSQL, which has words of its own for what it does not like."""

ignore_unclosed = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("bopp.study.store.ABSENT", 0.0)
    return tmp_path


@pytest.mark.fault(39)
@pytest.mark.parametrize("url", [*WRONG, *READABLE])
@ignore_unclosed
def test_no_error_has_a_piece_of_a_password(url: str, here: Path) -> None:
    with pytest.raises(BoppError) as caught:
        library.open_study(url, "a study", read_only=True)
    gc.collect()
    assert SECRET not in str(caught.value)
    assert url in READABLE or "\n" not in str(caught.value)


@pytest.mark.fault(39)
@pytest.mark.parametrize("url", [WRONG[0], WRONG[8], WRONG[12], WRONG[-1], READABLE[3], READABLE[6]])
@ignore_unclosed
def test_no_command_shows_a_piece_of_a_password(url: str, bopp: Bopp, here: Path) -> None:
    commands = [
        ("status", url),
        ("tell", "0", "1", "--in", url),
        ("import", url, "sqlite:///x.db"),
        ("run", url),
        ("worker", url, "a study", "--command", "echo {x}"),
        ("migrate", "--in", url),
        ("status", "a study", "one too many", url),
    ]
    for words in commands:
        ended = bopp(*words)
        assert ended.code in (2, 3)
        assert SECRET not in ended.out + ended.err, words
    gc.collect()


@pytest.mark.parametrize("url", [*WRONG, *READABLE])
def test_no_error_of_a_study_file_has_a_piece_of_a_password(url: str, here: Path) -> None:
    quoted = '"' + url.replace("\\", "\\\\").replace("\n", "\\n") + '"'
    for document in (
        '[study]\nname = "s"\nbudget = 1\nstore = {0}\n[space]\nx = {{ type = "float" }}\n',
        '[study]\nname = "s"\nbudget = 1\nstore = [{0}]\n',
        '[study]\nname = "s"\nbudget = {0}\n',
        '[study]\nname = "s"\nbudget = 1\n{0} = 1\n',
        "{0} = 1\n",
    ):
        (here / "study.toml").write_text(document.format(quoted))
        with pytest.raises(ConfigError) as caught:
            load(here / "study.toml")
        assert SECRET not in str(caught.value)


def test_a_config_is_shown_without_its_password(here: Path) -> None:
    (here / "study.toml").write_text(
        '[study]\nname = "s"\nbudget = 1\nstore = "postgresql://u:S3CRET@h/db"\n'
        '[space]\nx = { type = "float", low = 0, high = 1 }\n'
    )
    config = load(here / "study.toml")
    assert config.store == "postgresql://u:S3CRET@h/db"
    assert SECRET not in repr(config)


def test_a_password_may_come_in_but_is_not_shown() -> None:
    with pytest.raises(BoppError, match=r"%40 for @"):
        understood("postgresql://u:p@ss@host/db")
    url, path = understood("postgresql://u:p%40ss@host/db")
    assert (url.password, url.host, path) == ("p@ss", "host", None)
    good = "postgresql://me:S3CRET@host:5433/db"
    assert shown(good) == "postgresql://me:***@host:5433/db"
    assert censored(f"cannot open {good}: no") == f"cannot open {shown(good)}: no"
    assert understood("postgresql://me%40server:S3CRET@host/db")[0].username == "me@server"
    assert shown("postgresql://me%40server:S3CRET@host/db") == "postgresql://host/db"


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me@host/db",
        "postgresql://host:5433/db",
        "postgresql:///db",
        "postgresql://me@one,two/my db",
        "postgresql://[::1]:5432/ünïcödé",
        "sqlite:///run.db",
        "sqlite:////home/me@work/run: 1.db",
    ],
)
def test_what_is_no_secret_is_shown(url: str) -> None:
    told = shown(url)
    assert understood(told)[0].database == understood(url)[0].database
    assert understood(told)[0].host == understood(url)[0].host
    assert "***" not in told
    for text in (f"cannot open {url}: it is not there", f"in '{url}'; and so on", f"({url})."):
        assert censored(text) == text


@pytest.mark.parametrize("name", ["study.toml", "a:b.toml", "me@home.toml", "my study.toml", "C:/x.toml"])
def test_a_study_file_is_no_url(name: str, here: Path) -> None:
    assert not is_url(name)
    assert is_url("u:p@h")
    (here / "u:p@h").touch()
    assert not is_url("u:p@h")


def test_what_a_database_says_is_shown_without_secrets() -> None:
    url = sa.make_url("postgresql://me:pass@h/db?sslmode=on&passfile=/a/b&x=on")
    assert (
        hidden(url, 'bad "/a/b" of pass, passage on connection') == 'bad "***" of ***, passage *** connection'
    )


@ignore_unclosed
def test_a_real_server_that_refuses_a_password_does_not_tell_it(
    postgres_server: Server, bopp: Bopp, here: Path
) -> None:
    url = postgres_server.create_database()
    wrong = re.sub(r"//[^@/]*@", "//nobody_there:S3CRET@", url)
    assert wrong != url
    for address in (wrong, f"{wrong}?password=S3CRET", f"{url}-S3CRET@h"):
        with pytest.raises(BoppError) as caught:
            library.open_study(address, "a study", read_only=True)
        ended = bopp("status", address)
        assert ended.code in (2, 3)
        assert SECRET not in str(caught.value) + ended.err
    gc.collect()
    postgres_server.drop_database(url)
