"""The page in a real browser: it loads without errors and without a network, and its controls do what they say."""

import json
from pathlib import Path

import pytest
from axe_core_python.selenium import Axe
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select

from plots.explorer import collect_explorer_data
from plots.report import write_page
from plots.stored_sweep import load_sweep
from tests.browser import MODERATE_OR_WORSE, chromium, needs_chromium
from tests.plots.sweeps import failed, kept_sweep, run_document, store

pytestmark = [needs_chromium, pytest.mark.slow]  # of a browser, that is: all of them take twelve seconds


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """Chromium with no network: whatever a page asked of one would fail, and be logged."""
    with chromium(tmp_path_factory.mktemp("chromium")) as driver:
        driver.execute_cdp_cmd("Network.enable", {})
        offline = {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0}
        driver.execute_cdp_cmd("Network.emulateNetworkConditions", offline)
        yield driver


@pytest.fixture(scope="module")
def sweep(tmp_path_factory):
    """Three trials of two patterns, one run invalid and one broken off."""
    folder = tmp_path_factory.mktemp("sweep")
    schemes = ["nonblocking", "ecmp", "hedera-gff", "hedera-sa"]
    kept_sweep(folder, ["published:randbij0", "published:stride4"], schemes, trials=3)
    slow = folder / "published_stride4/ecmp/trial-1/run.json"
    document = json.loads(slow.read_text()) | {"verdict": "invalid", "reasons": ["slow"]}
    slow.write_text(json.dumps(document))
    store(folder, failed(traffic="published:stride4", scheme="random", spec=document["spec"]))
    write_page(load_sweep(folder))
    return folder


@pytest.fixture
def page(browser, sweep):
    return opened(browser, sweep)


def opened(browser, folder, width=1280):
    screen = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    prefer(browser, "light")
    browser.get((Path(folder) / "report.html").as_uri())
    return browser


def prefer(browser, scheme):
    features = [
        {"name": "prefers-color-scheme", "value": scheme},
        {"name": "prefers-reduced-motion", "value": "reduce"},  # clicks go where the page is, not where it goes
    ]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def find(page, selector):
    return page.find_element(By.CSS_SELECTOR, selector)


def click(page, selector):
    element = find(page, selector)
    page.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
    element.click()


def look_at(page, pattern, scheme, trial=1):
    for key, value in (("pattern", pattern), ("scheme", scheme), ("trial", str(trial))):
        Select(find(page, f"#pick-{key}")).select_by_value(value)


def state(page):
    return page.execute_script("const {run, stage, view, flow} = hederaReport.state; return {run, stage, view, flow}")


def background(page):
    return page.execute_script("return getComputedStyle(document.body).backgroundColor")


def test_it_loads_without_errors_and_asks_nobody_for_anything(page):
    assert page.get_log("browser") == []
    assert page.execute_script("return performance.getEntriesByType('resource').map((entry) => entry.name)") == []
    assert "Figure 9" in find(page, "h1").text
    assert find(page, "#look").is_displayed()


@pytest.mark.parametrize("width", [375, 1280])
def test_no_page_is_wider_than_the_screen(browser, sweep, width):
    page = opened(browser, sweep, width)
    page.execute_script("document.querySelectorAll('details').forEach((box) => { box.open = true; })")
    assert page.execute_script("return document.documentElement.scrollWidth") <= width
    overflowing = page.execute_script("""return [...document.querySelectorAll('main *')].filter((node) =>
        !node.closest('.scroll, pre') && !node.closest('svg') && node.getBoundingClientRect().right > innerWidth + 1
        && getComputedStyle(node).position !== 'absolute').map((node) => node.outerHTML.slice(0, 80))""")
    assert overflowing == []


def test_stepping_through_the_rounds(page):
    look_at(page, "published:randbij0", "hedera-gff")
    rounds = state(page)["run"]["rounds"]
    assert find(page, "#status").text.startswith("Before the first round.")
    assert not find(page, "#back").is_enabled()
    click(page, "#next-move")
    first = next(i for i, each in enumerate(rounds) if each[2])
    assert state(page)["stage"] == first + 1
    assert f"After round {first + 1} at {rounds[first][0]:.1f} s: {rounds[first][2]} flow" in find(page, "#status").text
    slider = find(page, "#stage")
    assert slider.get_attribute("aria-valuetext").startswith(f"After round {first + 1} ")
    slider.send_keys(Keys.ARROW_RIGHT)
    assert state(page)["stage"] == first + 2
    slider.send_keys(Keys.END)
    assert state(page)["stage"] == len(rounds)
    assert not find(page, "#forth").is_enabled()
    click(page, "#back")
    assert state(page)["stage"] == len(rounds) - 1


def test_links_carry_what_their_flows_deliver(page, sweep):
    look_at(page, "published:randbij0", "hedera-sa")
    click(page, "#next-move")
    data = collect_explorer_data(load_sweep(sweep))
    now = state(page)
    run = next(run for run in data["runs"] if run["file"] == now["run"]["file"])
    expected = [0.0] * len(data["links"])
    for flow, (_, _, paths) in enumerate(run["paths"]):
        links = [links for stage, _, links in paths if stage <= now["stage"]][-1]
        for link in links:
            expected[link] += run["stages"][now["stage"]][2][flow]
    drawn = page.execute_script(
        "return hederaReport.loadsAt(hederaReport.state.run, hederaReport.state.stage).map((load) => load.mbps)"
    )
    assert drawn == pytest.approx(expected)
    assert max(drawn) > 5
    classes = [cable.get_attribute("class") for cable in page.find_elements(By.CSS_SELECTOR, ".fabric .cable")]
    full = [link for link, rate in enumerate(expected) if rate > 9]
    idle = [link for link, rate in enumerate(expected) if rate < 0.1]
    assert full
    assert {classes[link] for link in full} == {"cable u5"}
    assert {classes[link] for link in idle} <= {"cable u0"}
    fullest = data["links"][max(range(len(expected)), key=expected.__getitem__)]
    assert f"The fullest link is {fullest[0]} to {fullest[1]}" in find(page, "#status").text


def test_every_run_can_be_looked_at(page):
    errors = page.execute_script("""
        const failed = [];
        window.addEventListener('error', (event) => failed.push(event.message));
        for (const button of document.querySelectorAll('button[data-run]')) {
            button.click();
            for (const id of ['next-move', 'forth', 'back']) document.getElementById(id).click();
            for (const view of document.querySelectorAll('input[name=view]')) view.click();
        }
        return failed;""")
    assert errors == []
    assert page.get_log("browser") == []


@pytest.mark.parametrize(("theme", "rules"), [("light", None), ("dark", ["color-contrast"])])
def test_accessibility(page, theme, rules):
    click(page, f"input[name=theme][value={theme}]")
    page.execute_script("document.querySelectorAll('details').forEach((box) => { box.open = true; })")
    look_at(page, "published:randbij0", "hedera-sa")
    result = Axe().run(page, options={"runOnly": rules} if rules else {})
    click(page, "input[name=theme][value=auto]")
    found = {
        (violation["id"], violation["help"], violation["nodes"][0]["html"][:160])
        for violation in result["violations"]
        if violation["impact"] in MODERATE_OR_WORSE
    }
    assert found == set()
    assert {"color-contrast"} | set(rules or ["label", "list", "heading-order", "region", "svg-img-alt"]) <= {
        rule["id"] for rule in result["passes"]
    }, "the rules were tried on something"


RULES = [{"rule": "full links", "found": 0.9, "least": 0.97, "why_not": "a long reason " * 20}]
FLOWS = [{"src": 0, "dst": 20, "mbps": 9.0, "paths": [{"t": 0.1, "core": 7}]}]
ALONE = {
    "invalid": run_document(verdict="invalid", reasons=["<b>slow</b>"]),
    "not judged": run_document(verdict="not judged", reasons=["too short"], rules=RULES, remarks=["TCP"]),
    "broken off": failed(scheme="hedera-sa"),
    "six pods": run_document("stride:20", "hedera-gff", flows=FLOWS, settings={"k": 6}),
    "ten pods": run_document(scheme="ecmp", settings={"k": 10}),
}


@pytest.mark.parametrize("kind", ["empty", "no control", *ALONE])
def test_what_is_missing_breaks_nothing(browser, tmp_path, kind):
    if kind == "no control":
        kept_sweep(tmp_path, ["published:stride4"], ["ecmp", "hedera-gff"])
    elif kind in ALONE:
        store(tmp_path, ALONE[kind])
    write_page(load_sweep(tmp_path))
    page = opened(browser, tmp_path, 375)
    assert page.get_log("browser") == []
    assert page.execute_script("return document.documentElement.scrollWidth") <= 375
    assert find(page, "#look").is_displayed() if kind != "empty" else "no runs" in find(page, "#summary").text


def test_every_picture_is_there(page):
    page.execute_script("document.querySelectorAll('details').forEach((box) => { box.open = true; })")
    empty = page.execute_script("""return [...document.querySelectorAll('svg')].filter((svg) => {
        const box = svg.getBoundingClientRect();
        const hidden = svg.closest('[hidden]');
        return !svg.childElementCount || (!hidden && (box.width < 20 || box.height < 5));
    }).map((svg) => svg.getAttribute('aria-label'))""")
    assert empty == []
    assert len(page.find_elements(By.CSS_SELECTOR, ".fabric .cable")) == 96
    sizes = page.execute_script("return [...document.images].map((one) => [one.complete, one.naturalWidth])")
    assert len(sizes) > 2 * 3, "a sheet of rates for each pattern and trial among them"
    assert all(complete and width > 100 for complete, width in sizes)
