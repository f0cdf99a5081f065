"""Browsers: a real one, Debian's Chromium, without a screen, as tests drive it."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn, TypeVar

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement

from support.dashboards import wait_for

T = TypeVar("T")

QUIET = (  # no request but to the pages of the tests
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-quic"),
    *("--no-first-run", "--disable-default-apps", "--disable-domain-reliability", "--disable-breakpad"),
)


def no_browser() -> NoReturn:
    """Skip the test; but fail in CI, where a skip would hide untested code."""
    reason = "no Chromium found: apt-get install chromium chromium-driver"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


class Browser:
    """A window of a browser."""

    def __init__(self, driver: webdriver.Chrome):
        self.driver = driver

    def open(self, url: str) -> None:
        self.driver.get(url)

    def find(self, selector: str) -> WebElement:
        """The first element that a CSS selector finds, as soon as there is one."""
        found: WebElement = wait_for(lambda: next(iter(self.all(selector)), None))
        return found

    def all(self, selector: str) -> list[WebElement]:
        """Every element that a CSS selector finds now."""
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def text(self, selector: str) -> str:
        """The text of an element, which may be replaced while one looks at it."""
        script = "const e = document.querySelector(arguments[0]); return e && e.innerText"
        found: str = wait_for(lambda: self.run(script, selector))
        return found.strip()

    def run(self, script: str, *arguments: object) -> Any:
        """What a script returns."""
        return self.driver.execute_script(script, *arguments)

    def until(self, look: Callable[[], T], seconds: float = 30.0) -> T:
        """What `look` returns as soon as that is true."""
        found: T = wait_for(look, seconds)
        return found

    def resize(self, width: int, height: int) -> None:
        """Have the page this many pixels wide and high."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def theme(self, word: str) -> None:
        """Have the user prefer a "light" or a "dark" page."""
        wanted = [{"name": "prefers-color-scheme", "value": word}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": wanted})

    def complaints(self) -> list[str]:
        """What the browser complained of since the last call: errors of scripts, breaches of the policy."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]  # type: ignore[no-untyped-call]


@contextmanager
def browser(*, scripts: bool = True, width: int = 1280, height: int = 900) -> Iterator[Browser]:
    """A browser of its own, without a past; `scripts` says whether it runs any."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if program is None or driver is None:
        no_browser()
    options = webdriver.ChromeOptions()
    options.binary_location = program
    with tempfile.TemporaryDirectory(prefix="bopp-browser-", ignore_cleanup_errors=True) as folder:
        words = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", *QUIET)
        for word in (*words, f"--user-data-dir={folder}", f"--window-size={width},{height}"):
            options.add_argument(word)
        if not scripts:
            options.add_experimental_option(
                "prefs", {"profile.managed_default_content_settings.javascript": 2}
            )
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        running = webdriver.Chrome(options, webdriver.ChromeService(driver))
        try:
            shown = Browser(running)
            shown.resize(width, height)
            yield shown
        finally:
            running.quit()
