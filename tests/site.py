"""What `mkdocs build` makes besides the pages in docs: the page of every JSON path, which is too large to keep."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the page of every path of the JSON outputs; mkdocs calls it by this name."""
    from mkdocs.structure.files import File

    sys.path.insert(0, str(Path(__file__).parents[1]))
    from tests.pages import paths_page

    files.append(File.generated(config, "paths.md", content=paths_page()))
    return files
