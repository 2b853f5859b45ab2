"""Chromium, for the tests of pages."""

import shutil
from contextlib import contextmanager

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

from tests.commands import PATIENCE_S

_CHROMIUM, _DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
needs_chromium = pytest.mark.skipif(
    not (_CHROMIUM and _DRIVER), reason="chromium and its driver are not installed (setup/apt-packages-check.txt)"
)
_ARGUMENTS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--window-size=1280,900",
)
MODERATE_OR_WORSE = ("moderate", "serious", "critical")
"""What axe-core finds and no page may have."""


@contextmanager
def chromium(profile):
    """A browser with its own folder ``profile``, that keeps what pages log."""
    options = webdriver.ChromeOptions()
    options.binary_location = _CHROMIUM
    for argument in (*_ARGUMENTS, f"--user-data-dir={profile}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(_DRIVER))
    driver.set_script_timeout(PATIENCE_S)
    try:
        yield driver
    finally:
        driver.quit()
