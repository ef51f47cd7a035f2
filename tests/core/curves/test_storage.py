"""Checksummed files: written whole or not at all, and no change of them passes unseen."""

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shufflebounds.curves import files, storage

COLUMNS = ("name", "value")
ROWS = [("a,b", 0.1), ('"c"', 1e-300), ("", None), ("nan", float("nan")), ("5", 10**15)]


@pytest.fixture
def written(tmp_path):
    path = tmp_path / "table.csv"
    storage.write_table(COLUMNS, ROWS, path)
    return path


@settings(deadline=None)
@given(st.lists(st.tuples(st.floats(), st.floats(), st.integers()), min_size=1, max_size=20))
def test_every_float_is_found_again(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("table") / "table.csv"
    storage.write_table("abc", rows, path)
    found = storage.table_columns(path)
    expected = [tuple("" if value != value else repr(value) for value in row) for row in rows]
    assert list(zip(*(found[name] for name in found), strict=True)) == expected


def test_cells_are_found_as_they_were_written(written):
    assert storage.table_columns(written) == {
        "name": ("a,b", '"c"', "", "nan", "5"),
        "value": ("0.1", "1e-300", "", "", "1000000000000000"),
    }
    assert storage.read_table(written) == storage.text(COLUMNS, ROWS)


@pytest.mark.parametrize(
    "content", [b"", b"garbage", b"n,eps0\n1,2\n", b"\xff\xfe,\n", b'"a\n1,2,3']
)
def test_what_is_not_such_a_file_is_named(tmp_path, content):
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    for look in (storage.read_table, storage.table_columns):
        with pytest.raises(ValueError, match=r"table\.csv is not a table with a checksum$"):
            look(path)


@pytest.mark.parametrize("look", [storage.read_table, storage.table_columns])
def test_every_edit_of_a_file_is_noticed(written, look):
    """Any byte changed or lost, any line lost or doubled, any end cut off."""
    content = written.read_bytes()
    lines = content.splitlines(keepends=True)
    edited = {
        *(
            content[:i] + (b"2" if byte != ord("2") else b"3") + content[i + 1 :]
            for i, byte in enumerate(content)
        ),
        *(content[:i] + content[i + 1 :] for i in range(len(content))),
        *(content[:i] for i in range(len(content))),
        *(b"".join(lines[:i] + lines[i + 1 :]) for i in range(len(lines))),
        *(b"".join(lines[:i] + lines[i:][:1] + lines[i:]) for i in range(len(lines))),
    }
    for text in edited - {content}:
        written.write_bytes(text)
        with pytest.raises(ValueError, match=r"^[^\n]*table\.csv (is not|has changed)[^\n]*$"):
            look(written)


def test_line_ends_of_another_system_are_no_edit(written):
    written.write_bytes(written.read_bytes().replace(b"\n", b"\r\n"))
    assert storage.read_table(written) == storage.text(COLUMNS, ROWS)


def test_what_is_wanted_is_named_where_it_is_missing(written):
    found = storage.table_columns(written)
    storage.require_columns(written, {"name": ("x", "x")}, {"name": "x"})
    storage.require_columns(written, found, {"name": "x"}, but="name")
    with pytest.raises(ValueError, match=r"table\.csv has name = a,b where x is wanted$"):
        storage.require_columns(written, found, {"name": "x"})
    with pytest.raises(ValueError, match=r"has value = 0\.1 where nothing is wanted$"):
        storage.require_columns(written, found, {"value": None})
    storage.require_rows(written, found, [dict(zip(COLUMNS, row, strict=True)) for row in ROWS])
    with pytest.raises(ValueError, match=r"table\.csv has 5 rows where 1 are wanted$"):
        storage.require_rows(written, found, [{"name": "a,b"}])
    with pytest.raises(ValueError, match=r"has value = nothing in row 3 where 0\.5 is wanted$"):
        storage.require_rows(written, found, [{}, {}, {"value": 0.5}, {}, {}])


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "table.csv"
    path.write_text("old", encoding="utf-8")

    def fails(_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fails)
    for write in (
        lambda: storage.write_table(COLUMNS, ROWS, path),
        lambda: files.write_text("new", path),
    ):
        with pytest.raises(OSError, match="disk full"):
            write()
        assert path.read_text(encoding="utf-8") == "old"
        assert [entry.name for entry in tmp_path.iterdir()] == ["table.csv"]


def test_nobody_can_redirect_what_is_written(tmp_path):
    """Links at the names that a number of this process would give lead elsewhere."""
    table, other = tmp_path / "table.csv", tmp_path / "other"
    other.write_text("kept", encoding="utf-8")
    for name in (".table.csv.{}.part", "table.csv.{}.part", ".{}.part"):
        (tmp_path / name.format(os.getpid())).symlink_to(other)
    files.write_text("new", table)
    assert (table.read_text("utf-8"), other.read_text("utf-8")) == ("new", "kept")


def test_a_name_that_is_taken_is_not_opened(tmp_path, monkeypatch):
    monkeypatch.setattr(files.secrets, "token_hex", lambda _: "taken")
    (tmp_path / "other").write_text("kept", encoding="utf-8")
    (tmp_path / ".taken.part").symlink_to(tmp_path / "other")
    with pytest.raises(FileExistsError):
        files.write_text("new", tmp_path / "table.csv")
    assert (tmp_path / "other").read_text("utf-8") == "kept"


def test_permissions_are_those_of_the_file_before_or_of_a_new_one(tmp_path):
    new, plain, private = (tmp_path / name for name in ("new", "plain", "private"))
    plain.write_text("", encoding="utf-8")
    private.touch(mode=0o600)
    for path in (new, private):
        files.write_text("text", path)
    assert new.stat().st_mode == plain.stat().st_mode
    assert private.stat().st_mode & 0o777 == 0o600


def test_what_is_written_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    """First the content, then the name, then the folder that holds the name."""
    path, steps = tmp_path / "table.csv", []
    sync, rename = os.fsync, Path.replace

    def synced(descriptor):
        steps.append(("sync", Path(f"/proc/self/fd/{descriptor}").resolve(), path.exists()))
        sync(descriptor)

    def renamed(part, target):
        steps.append(("rename", part, path.exists()))
        return rename(part, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", renamed)
    storage.write_table(COLUMNS, ROWS, path)
    (_, part, _), *_ = steps
    assert steps == [("sync", part, False), ("rename", part, False), ("sync", tmp_path, True)]
    assert part.parent == tmp_path


def test_a_link_is_followed(tmp_path):
    kept, link = tmp_path / "kept" / "table.csv", tmp_path / "link.csv"
    kept.parent.mkdir()
    link.symlink_to(kept)
    for text in ("new", "newer"):
        files.write_text(text, link)
        assert link.is_symlink()
        assert kept.read_text(encoding="utf-8") == text
        assert [entry.name for entry in kept.parent.iterdir()] == ["table.csv"]


def test_a_pipe_is_written_to(tmp_path):
    """By its name, and by that of the descriptor of a pipe that has none."""
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    ours, theirs = os.pipe()
    for path, source in ((pipe, reader), (link, reader), (f"/proc/self/fd/{theirs}", ours)):
        files.write_text("a table", path)
        assert os.read(source, 100) == b"a table"
    for descriptor in (reader, ours, theirs):
        os.close(descriptor)
    assert pipe.is_fifo()
    assert {entry.name for entry in tmp_path.iterdir()} == {"pipe", "link"}


def test_a_full_device_stays_a_device(device):
    full = device("full", 7)
    with pytest.raises(OSError, match="No space left on device"):
        files.write_text("a table", full)
    assert full.is_char_device()


def test_what_is_no_file_is_not_replaced(tmp_path):
    with pytest.raises(IsADirectoryError):
        files.write_text("a table", tmp_path)


def test_texts_are_written_as_they_are(tmp_path):
    files.write_text("ε₀\n", tmp_path / "page.md")
    assert (tmp_path / "page.md").read_bytes() == "ε₀\n".encode()
