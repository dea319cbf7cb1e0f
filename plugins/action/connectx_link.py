# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Confirm a change of the links over a new connection, and nothing else: everything that is decided is decided by the module."""

from __future__ import annotations

import re
import signal
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from ansible.errors import AnsibleAuthenticationFailure, AnsibleConnectionFailure
from ansible.plugins.action import ActionBase

from ansible_collections.gb10.cluster.plugins.module_utils._message import message

FIRST_RUN = 120
"""Seconds for the first execution beside its own time limit: reading the machine, waiting for another run, arming, reading back."""
LOGIN = 30
"""Seconds for one attempt to log in and confirm: the connection itself has no limit once it stands and the network goes away."""
LONGEST = 3600
"""Seconds that the module accepts as ``confirm_timeout`` at most."""
COMING_BACK = 45
"""Seconds after the deadline in which the rollback brings the machine back, at most."""
STRANGE = 3
"""Answers in a row that are not the module's (no interpreter, no right to become root) until there is no point in asking again."""
PAUSE = 2
_NO_LOGIN = re.compile("ssh: connect to host|banner exchange|Could not resolve hostname|Host key verification failed|Permission denied")
"""What ssh says when it did not get as far as a login: the module can not have begun."""


class _Silence(BaseException):
    """No answer in time. Not an Exception, so that the connection plugin does not run the module once more."""


@contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    """Raise :class:`_Silence` after ``seconds``; a time limit that the task has by itself stays in force."""

    def silence(_number: int, _frame: FrameType | None) -> None:
        raise _Silence(f"no answer within {seconds:g} s")

    began = time.monotonic()
    outer, handler = signal.getitimer(signal.ITIMER_REAL)[0], signal.getsignal(signal.SIGALRM)
    if outer and outer <= seconds:
        yield
        return
    signal.signal(signal.SIGALRM, silence)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
        if outer:
            signal.setitimer(signal.ITIMER_REAL, max(0.1, outer - (time.monotonic() - began)))


class ActionModule(ActionBase):
    """Run the module, drop the connection, log in anew, confirm."""

    _supports_check_mode = True
    _supports_async = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return what the module returned, with the rollback confirmed; fail when the old state came back."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        arguments = {**self._task.args, "run_id": self._task.args.get("run_id") or uuid.uuid4().hex}
        timeout = _seconds(arguments.get("confirm_timeout"))
        first: dict[str, Any] = {}
        lost: BaseException | None = None
        try:
            with _at_most(timeout + FIRST_RUN):
                first = self._execute_module(module_args=arguments, task_vars=task_vars)
        except AnsibleAuthenticationFailure:
            raise
        except (AnsibleConnectionFailure, _Silence) as error:
            if self._task.check_mode and isinstance(error, _Silence):
                text = message("connection", "an answer", str(error), "Nothing was changed; look at the machine, then run again.")
                # an Exception again: anything else ends Ansible's worker
                raise AnsibleConnectionFailure(text) from None
            if self._task.check_mode or self._never_logged_in(error):
                raise
            lost = error
        rollback = first.get("rollback")
        if self._task.check_mode or rollback and rollback["state"] != "armed":
            return {**result, **first}
        # without a rollback in it the answer is not the module's own: it may have been killed after it had armed one
        second = self._confirm(*_remaining(rollback or {"id": arguments["run_id"], "seconds_left": timeout}, timeout), task_vars)
        if second and second["rollback"]["state"] == "confirmed":
            return {**result, **(first if rollback else second), "rollback": second["rollback"]}
        if second and second["rollback"]["state"] != "none":
            return {**result, **second}
        if first and not rollback:
            # nothing is armed, if the node could be asked
            return {**result, **first, **({"rollback": second["rollback"]} if second else {})}
        if second and rollback:
            fix = "What that run left is in force: wait for it to end, then run again."
            return {**result, "failed": True, "msg": message("rollback", "armed until this run confirms it", "one that another run took away", fix)}
        if second:
            text = message("connection", "one that lasts until the change has begun", f"it lost ({lost})", "Nothing was changed; run it again.")
            return {**result, "failed": True, "msg": text, "rollback": second["rollback"]}
        fix = "The rollback should have put the old state back; look at the machine's own console."
        raise AnsibleConnectionFailure(message("connection", "an answer before or after the rollback fires", "none", fix)) from lost

    def _never_logged_in(self, error: BaseException) -> bool:
        """Whether the module was never reached. With retries the module may have begun in an earlier try than the one that failed here."""
        retried = self._connection.transport == "ssh" and int(self._connection.get_option("reconnection_retries"))
        return not retried and bool(_NO_LOGIN.search(str(error)))

    def _confirm(self, run_id: str, seconds_left: float, task_vars: dict[str, Any] | None) -> dict[str, Any] | None:
        """Log in anew until the module there answers: that it confirmed, now or in an attempt whose answer was lost, or what happened instead.
        None when it does not answer for good."""
        arguments = {"state": "confirmed", "run_id": run_id}
        end = time.monotonic() + seconds_left + COMING_BACK
        strange = 0
        while time.monotonic() < end and strange < STRANGE:
            try:
                with _at_most(LOGIN):
                    self._connection.reset()
                    answer = self._execute_module(module_args=arguments, task_vars=task_vars)
                if "rollback" in answer:
                    return answer
                strange += 1
            except (AnsibleConnectionFailure, _Silence):
                pass
            time.sleep(PAUSE)
        return None


def _remaining(rollback: dict[str, Any], timeout: int) -> tuple[str, float]:
    """Whose rollback is to be confirmed, and in how many seconds it fires. The machine's clock may have been set since it was armed,
    and then it says hours, or less than nothing: one of this run has its ``timeout`` at most, one of an earlier run what it was allowed."""
    return rollback["id"], max(0.0, min(rollback["seconds_left"], LONGEST if rollback.get("adopted") else timeout))


def _seconds(value: Any) -> int:
    """``confirm_timeout`` as the module will read it; what is no number, and what is too little or too much, the module refuses."""
    try:
        return max(15, min(LONGEST, int(value if value is not None else 60)))
    except (TypeError, ValueError, OverflowError):
        return 60
