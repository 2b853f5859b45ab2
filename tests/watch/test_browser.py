"""The page in a real browser while a sweep goes on: it follows, asks nobody else for anything, and is accessible."""

import threading

import pytest
from axe_core_python.selenium import Axe
from selenium.webdriver.common.by import By
from selenium.webdriver.support.select import Select
from selenium.webdriver.support.wait import WebDriverWait

from results.live import LIVE
from tests.browser import MODERATE_OR_WORSE, chromium, needs_chromium
from tests.watch.sweep_at_work import at_work, finish, under_way
from watch.follower import Follower
from watch.server import Server

pytestmark = needs_chromium


@pytest.fixture
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sweep")
    finish(folder, "nonblocking")
    at_work(folder, under_way(second=3), done=1)
    with chromium(tmp_path_factory.mktemp("chromium")) as driver, Server(Follower(folder)) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        driver.get(server.address)
        yield driver, folder
        server.shutdown()
        thread.join()


def text_of(driver, selector):
    return driver.find_element(By.CSS_SELECTOR, selector).text


def until(driver, holds):
    WebDriverWait(driver, 60, 0.2).until(lambda _: holds())


def test_it_follows_a_sweep_from_its_first_run_to_its_report(page):
    driver, folder = page
    until(driver, lambda: "1 of 14 runs done, about 2 min left." in text_of(driver, "#progress"))
    assert text_of(driver, "#run-name") == "stride:4, ecmp, trial 1"
    assert "second 3 of 12: 60.0 of 160 Mb/s" in text_of(driver, "#stage")
    assert len(driver.find_elements(By.CSS_SELECTOR, ".fabric .cable.u5")) == 96
    assert len(driver.find_elements(By.CSS_SELECTOR, "#hosts li")) == 16
    at_work(folder, under_way(second=7), done=1)
    until(driver, lambda: "second 7 of 12: 140.0" in text_of(driver, "#stage"))

    # A run finishes: its bar fills in, and what a reader has opened stays open.
    driver.execute_script("document.querySelector('#finished details').open = true")
    finish(folder, "ecmp")
    at_work(folder, under_way("hedera-sa", stage="building"), done=2)
    until(driver, lambda: "2 runs, all valid" in text_of(driver, "#finished"))
    assert driver.execute_script("return document.querySelector('#finished details').open")
    assert driver.find_elements(By.CSS_SELECTOR, "#finished .panels svg .bar")

    # Two machines at work: the reader chooses which to look at.
    at_work(folder, under_way(worker="one"), under_way("random", worker="two"), workers=("one", "two"))
    until(driver, lambda: driver.find_element(By.ID, "which").is_displayed())
    Select(driver.find_element(By.ID, "pick")).select_by_value("two")
    until(driver, lambda: "random, trial 1 (on two)" in text_of(driver, "#run-name"))
    assert len(driver.find_elements(By.CSS_SELECTOR, "#workers tbody tr")) == 2
    serious = [each for each in Axe().run(driver)["violations"] if each["impact"] in MODERATE_OR_WORSE]
    assert not serious, serious

    finish(folder, "random", verdict="invalid", reasons=["the machine was too slow"])
    (folder / "report.html").write_text("<title>The report</title>")
    (folder / LIVE).unlink()
    until(driver, lambda: "the machine was too slow" in text_of(driver, "#finished"))
    until(driver, lambda: "No sweep is running" in text_of(driver, "#progress"))
    driver.find_element(By.CSS_SELECTOR, "#over a").click()
    until(driver, lambda: driver.title == "The report")
    assert [entry for entry in driver.get_log("browser") if entry["level"] == "SEVERE"] == []
