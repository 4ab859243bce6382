"""What a server finds when it starts: another one on its files, or files that are broken."""

from pathlib import Path

from nodes import House, Node


def refused_start(*flags: str) -> str:
    node = Node("up", "--port", "0", *flags)
    try:
        _, errors = node.process.communicate(timeout=40)
    finally:
        node.kill()
    assert node.process.returncode == 2, errors
    return errors


def test_a_second_server_on_one_database_is_refused_by_whatever_name_it_comes(
    own_house: House, tmp_path: Path
) -> None:
    own_house.open()
    database = own_house.directory / "odyssey.db"
    linked_file, linked_folder = tmp_path / "linked.db", tmp_path / "linked"
    linked_file.symlink_to(database)
    linked_folder.symlink_to(own_house.directory)
    for number, path in enumerate([database, linked_file, linked_folder / "odyssey.db"]):
        flags = ("--data-dir", str(tmp_path / str(number)), "--database-url", f"sqlite:///{path}")
        assert f"Another server is running on {database.resolve()}" in refused_start(*flags)
    assert "Another server is running on" in refused_start("--data-dir", str(linked_folder))
