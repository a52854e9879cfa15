"""Expectations of the tests that run in hosts of exported libraries. A failed one is printed, and the test goes on."""

failed = 0


def expect(holds, what):
    global failed
    if not holds:
        print("FAILED:", what)
        failed = 1


def refuses(text, call, errors=(RuntimeError, ValueError, TypeError)):
    """Expects that the call fails with the text."""
    try:
        call()
    except errors as error:
        expect(text in str(error), f"'{error}' doesn't say '{text}'")
        return
    expect(False, f"no error, expected '{text}'")


def status():
    """Prints "ok", or that something failed, and returns the test's exit status."""
    print("FAILED" if failed else "ok")
    return failed
