# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write text files where Ansible runs. Modules on ``localhost`` would do it with five executions for two files; this is none."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ansible_collections.gb10.cluster.plugins.module_utils import _files
from ansible_collections.gb10.cluster.plugins.module_utils._message import message

OPTIONS = {"folder": {"type": "path", "required": True}, "files": {"type": "dict", "required": True}}


def _is_name(name: Any) -> bool:
    """Whether it is a file's name, and no path."""
    return isinstance(name, str) and name not in ("", "..") and Path(name).name == name


class ActionModule(ActionBase):
    """Compare, then write what differs."""

    _supports_check_mode = True
    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return ``changed``, and a diff of each file that differs."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        _validation, options = self.validate_argument_spec(OPTIONS)
        folder, texts = Path(options["folder"]), options["files"]
        if odd := [name for name, text in texts.items() if not _is_name(name) or not isinstance(text, str)]:
            raise AnsibleActionFail(message("files", "names in the folder, each with a text", ", ".join(map(repr, odd)), "Correct the task."))
        if wall := _files.wall(folder):
            raise AnsibleActionFail(message(wall[0], "a folder, or nothing", wall[1], "Move it away, or choose another folder."))
        try:
            before = {name: _files.read(folder / name) for name in texts}
            wrong = [name for name, text in texts.items() if before[name] != text]
            if wrong and not self._task.check_mode:
                with ExitStack() as undo:
                    for name in wrong:
                        _files.write(folder / name, texts[name], undo)
                    undo.pop_all()
        except OSError as error:
            fix = "Repair that, then run again."
            text = message(str(error.filename or folder), "a file that can be read and written", error.strerror or str(error), _files.advice(error, fix))
            # a cause would be shown once more behind the text
            raise AnsibleActionFail(text) from None
        headers = {name: str(folder / name) for name in wrong}
        diff = [{"before": before[name] or "", "after": texts[name], "before_header": at, "after_header": at} for name, at in headers.items()]
        return {**result, "changed": bool(wrong), "diff": diff}
