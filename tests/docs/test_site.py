"""The site: it is built without a warning, and its pages are fit for a narrow screen."""

import subprocess
import sys

import pytest
from selenium.webdriver.common.by import By

from record.run import Run
from tests.browser import chromium, needs_chromium
from tests.commands import PROJECT

pytest.importorskip("sphinx", reason="the site is made with Python 3.11 and later")
pytestmark = pytest.mark.slow  # all of them look at the site, which takes a minute
WIDTHS = (1280, 390)
MADE_BY_SPHINX = {"genindex.html", "py-modindex.html", "search.html"}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the site. A link to a file, a page or a heading that is not there would be a warning."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-c", "docs"]
    done = subprocess.run(
        [*command, "-d", folder / "doctrees", ".", folder / "html"], cwd=PROJECT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return folder / "html"


def pages(site):
    return sorted(path for path in site.rglob("*.html") if path.name not in MADE_BY_SPHINX)


def test_every_document_is_a_page(site):
    made = {path.relative_to(site).with_suffix("").as_posix() for path in pages(site)}
    documents = [*PROJECT.glob("*.md"), *PROJECT.glob("docs/**/*.md"), *PROJECT.glob("results/*/README.md")]
    assert {path.relative_to(PROJECT).with_suffix("").as_posix() for path in documents} | {"index"} <= made


def test_the_commands_are_told_from_the_code(site):
    text = (site / "docs/commands.html").read_text(encoding="utf-8")
    assert "hedera sweep" in text
    assert "--congestion-control" in text


def test_every_field_of_a_run_is_described(site):
    text = (site / "docs/library.html").read_text(encoding="utf-8")
    assert [name for name in Run.__struct_fields__ if f'id="record.run.Run.{name}"' not in text] == []


@needs_chromium
def test_pages_fit_a_wide_and_a_narrow_screen_and_tell_what_pictures_show(site, tmp_path):
    wrong = []
    with chromium(tmp_path / "chromium") as browser:
        for path in pages(site):
            browser.get(path.as_uri())
            for image in browser.find_elements(By.CSS_SELECTOR, "article img:not([alt]), article img[alt='']"):
                wrong.append(f"{path.name}: no words for {image.get_attribute('src')}")
            for width in WIDTHS:
                screen = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
                browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
                over = browser.execute_script(
                    "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
                )
                if over > 0:
                    wrong.append(f"{path.name}: {over} pixels wider than a screen of {width}")
    assert wrong == []
