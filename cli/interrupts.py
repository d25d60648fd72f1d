"""End the program with one line within two seconds of Ctrl-C or SIGTERM, in any situation.

Python handles a signal only between two of its own instructions. It does not during the import of an extension, or in a
compiled loop or a solver. Therefore a second process watches. The C handler of a signal writes to a pipe at once, and
the watcher reads it. If Python does not handle the signal soon after, the watcher ends the program.
"""

from __future__ import annotations

import _thread
import atexit
import contextlib
import os
import select
import signal
import sys
import threading
import time
from functools import partial
from types import FrameType
from typing import Any, NoReturn

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_LINE = b"hpcdispatch: interrupted\n"
#: Seconds for Python to handle a signal, from then on for the program to end, and for the C library to end it.
_SEEN = 1.5
_ENDED = 30.0
_GONE = 0.2
#: Seconds until an interrupt that was dropped is raised anew.
_AGAIN = 0.05
#: What the handler in Python writes to the pipe: no number of a signal.
_ACKNOWLEDGED = b"\xff"


#: The original function: plug-ins get another one, see :func:`stand_by`.
_exit = os._exit


class Interrupts:
    """Whether the program was told to end.

    Attributes
    ----------
    told
        Whether it was. Any later exception counts as this end.
    pipe
        Write end of the pipe to the watcher; -1 for none.
    error
        What the interrupt raised, once the program ends by it.
    """

    told = False
    pipe = -1
    error: BaseException | None = None


def stand_by() -> None:
    """Start the watcher before any large import. Until then signals end this process at once.

    Signals that were ignored or blocked before make no difference. Only a hangup stays ignored, as ``nohup`` wants it.
    From now on ``os._exit`` is ``sys.exit`` in this process. Otherwise a plug-in that calls it would end a command
    silently, with a code of its own.
    """
    for number in _SIGNALS:
        signal.signal(number, _leave)
    if not hasattr(os, "fork"):
        return
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (*_SIGNALS, signal.SIGHUP))
    if signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:  # or the ends of child processes could not be seen
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        _leave_terminal()
    read, write = os.pipe()
    us, child = os.getpid(), os.fork()
    if child == 0:
        if os.fork() == 0:  # a direct child would disturb code that counts children
            with contextlib.suppress(BaseException):
                os.close(write)
                _watch(read, us)
        _exit(0)
    os.waitpid(child, 0)
    os._exit = partial(_ask_to_exit, us)
    os.close(read)
    os.set_blocking(write, False)
    Interrupts.pipe = write
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    _end_on_hangup()


def _ask_to_exit(process: int, code: int) -> NoReturn:
    if os.getpid() == process:
        raise SystemExit(code)
    _exit(code)


def _leave_terminal() -> None:
    """Go on in a child process in a session of its own, which no hangup reaches. The watcher needs SIGHUP.

    This process passes signals on, and ends as the child does.
    """
    us, child = os.getpid(), os.fork()
    if child == 0:
        os.setsid()
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        _end_with_parent()
        if os.getppid() != us:
            _exit(1)
        return
    for number in _SIGNALS:
        signal.signal(number, lambda number, _frame: os.kill(child, number))
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code < 0:
        if -code in _SIGNALS:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(us, -code)
    _exit(code)


def _end_with_parent() -> None:
    """Let the system kill this process when its parent ends, where it can: on Linux."""
    import ctypes  # noqa: PLC0415

    with contextlib.suppress(AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def _end_on_hangup() -> None:
    """Let the C library end the process on SIGHUP, number 1, with ``_exit(1)``, even where Python cannot."""
    import ctypes  # noqa: PLC0415 - where it is missing, SIGKILL does as well

    library = ctypes.CDLL(None)
    library.signal.argtypes = (ctypes.c_int, ctypes.c_void_p)
    library.signal.restype = ctypes.c_void_p
    library.signal(int(signal.SIGHUP), ctypes.cast(library._exit, ctypes.c_void_p))


def raise_interrupts() -> None:
    """Let signals raise ``KeyboardInterrupt`` from now on, if :func:`stand_by` prepared this process."""
    _answer_with(_raise)


def _raise(number: int, frame: FrameType | None) -> None:
    Interrupts.told = True
    sys.unraisablehook = _raise_again
    if Interrupts.pipe >= 0:
        with contextlib.suppress(OSError):
            os.write(Interrupts.pipe, _ACKNOWLEDGED)
    signal.default_int_handler(number, frame)


def _raise_again(ignored: sys.UnraisableHookArgs) -> None:
    """Raise an interrupt anew that came within a destructor or a callback, where it is dropped, and here as well."""
    if isinstance(ignored.exc_value, KeyboardInterrupt):
        again = threading.Timer(_AGAIN, _interrupt_main)
        again.daemon = True
        again.start()


def _interrupt_main() -> None:
    """Interrupt the main thread, also where it sleeps or waits: only a real signal ends a call of the system."""
    main = threading.main_thread().ident
    if hasattr(signal, "pthread_kill") and main is not None and signal.getsignal(signal.SIGINT) is _raise:
        signal.pthread_kill(main, signal.SIGINT)
    else:
        _thread.interrupt_main()


def settle(error: BaseException) -> None:
    """Ignore further signals, and keep the exception that an interrupt raised.

    It holds what was at work. Objects of a compiler can be half made there, and would crash when destroyed.
    """
    _answer_with(signal.SIG_IGN)
    Interrupts.error = error


def _answer_with(handler: Any) -> None:
    """Set another handler of the signals, if they are handled by one of this module."""
    if signal.getsignal(signal.SIGINT) in (_raise, _leave):
        for number in _SIGNALS:
            signal.signal(number, handler)


def _leave(_number: int, _frame: FrameType | None) -> NoReturn:
    """End a program that has not begun its work, or that has finished it."""
    with contextlib.suppress(OSError):
        os.write(2, _LINE)
    _exit(1)


def _watch(pipe: int, process: int) -> None:
    """Wait until the pipe is closed. End the process if it does not end in time after a signal."""
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    for stream in (0, 1):
        os.close(stream)
    until: float | None = None
    while True:
        ready = select.select([pipe], [], [], None if until is None else max(until - time.monotonic(), 0))[0]
        if not ready:
            os.write(2, _LINE)
            os.kill(process, signal.SIGHUP)
            if not select.select([pipe], [], [], _GONE)[0]:
                os.kill(process, signal.SIGKILL)
            return
        received = os.read(pipe, 64)
        if not received:
            return
        if _ACKNOWLEDGED in received:
            until = time.monotonic() + _ENDED
        elif until is None and any(number in received for number in _SIGNALS):
            until = time.monotonic() + _SEEN


def leave(code: int) -> NoReturn:
    """End the process with a code, without waiting for threads of a plug-in.

    After an interrupt no object is destroyed, see :func:`settle`. Functions of :mod:`atexit` are called first.
    """
    _answer_with(_leave)
    interrupted = Interrupts.error is not None
    busy = any(not thread.daemon and thread is not threading.main_thread() for thread in threading.enumerate())
    if not busy:
        atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, OSError, ValueError):
            stream.flush()
    if interrupted or busy:
        _exit(code)
    _answer_with(signal.SIG_IGN)  # or a signal would end Python as it clears up, though the work is done
    sys.exit(code)
