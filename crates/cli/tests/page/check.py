"""Opens pages in headless Chromium and looks at them as a reader does.

    check.py ANABRANCH

makes pages with that program in a folder of its own and checks each of them, wide and narrow, light and dark.
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

from axe_core_python.selenium import Axe
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

SMALL = """
title = "Small"
schemes = ["reps", "ops", "ecmp"]
[topology]
kind = "fat-tree"
hosts = 32
link = "400Gbps"
[workload]
kind = "permutation"
bytes = "200KB"
[[fault]]
kind = "link-down"
links = "tor:0/up:0"
at = "2us"
duration = "5us"
[[measure]]
series = "queue-depth"
every = "2us"
links = "tor:0/up"
"""

# ECMP on a link that never comes back cannot finish.
STUCK = SMALL.replace('duration = "5us"', 'until = "1s"').replace("tor:0/up:0", "tor:0/up")

JOBS = SMALL.replace('kind = "permutation"\nbytes = "200KB"', 'kind = "collective"\nalgorithm = "allreduce-ring"\nbytes = "1MB"')

QUESTION = """
schemes = ["reps"]
seeds = [1]
[topology]
kind = "fat-tree"
hosts = 32
link = "400Gbps"
[workload]
kind = "permutation"
bytes = "200KB"
[find]
parameter = "*.fabric.queue"
smallest = ["16KB", "4MB"]
where = "drops(scheme) == 0"
resolution = 0.5
"""

WIDTHS = [1400, 390]


def make_pages(program, folder):
    """Pages by what they show."""

    def page(name, *args):
        out = folder / name
        subprocess.run([program, *args, "--out", str(out)], cwd=folder, capture_output=True, check=False)
        found = sorted(out.glob("**/report.html"))
        assert found, f"{name}: there is no page"
        return found[0]

    for name, text in {"run": SMALL, "stuck": STUCK, "jobs": JOBS, "question": QUESTION}.items():
        (folder / f"{name}.toml").write_text(text)
    return {
        "run": page("run", "run", "run.toml"),
        "failed run": page("stuck", "run", "stuck.toml"),
        "collective": page("jobs", "run", "jobs.toml"),
        "question": page("question", "find", "question.toml"),
        "figure": page("figure", "reproduce", "reps/figure-4"),
    }


def browser(width, dark):
    options = webdriver.ChromeOptions()
    for flag in [
        "headless", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-background-networking",
        "disable-component-update", "disable-sync",
    ]:
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    options.binary_location = shutil.which("chromium") or ""
    # Named, the driver is not looked for elsewhere.
    service = webdriver.ChromeService(executable_path=shutil.which("chromedriver"))
    driver = webdriver.Chrome(options=options, service=service)
    driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False},
    )
    features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    return driver


def check(driver, name, width, dark):
    """Faults of the page that is open, in words."""
    faults = []
    wrong = [entry["message"] for entry in driver.get_log("browser") if entry["level"] == "SEVERE"]
    faults += [f"console: {message}" for message in wrong]
    across = driver.execute_script("return document.documentElement.scrollWidth")
    if across > width:
        faults.append(f"scrolls sideways: {across} px")
    ground = driver.execute_script("return getComputedStyle(document.body).backgroundColor")
    light = sum(int(part) for part in ground.strip("rgb()").split(",")) > 384
    if light == dark:
        faults.append(f"ground {ground} with dark {dark}")
    plots = driver.find_elements(By.CSS_SELECTOR, ".plot")
    drawn = [plot for plot in plots if plot.find_elements(By.CSS_SELECTOR, ".main-svg")]
    if len(plots) != len(drawn):
        faults.append(f"{len(plots) - len(drawn)} of {len(plots)} plots are not drawn")
    violations = Axe().run(driver)["violations"]
    faults += [
        f"axe {found['id']} ({found['impact']}): {found['nodes'][0]['html'][:160]}"
        for found in violations
        if found["impact"] in ("serious", "critical")
    ]
    if driver.find_elements(By.ID, "summary"):
        faults += table_faults(driver)
    if name == "run" and width == WIDTHS[0]:
        faults += legend_faults(driver)
    return faults


def column(driver, place):
    cells = driver.find_elements(By.CSS_SELECTOR, f"#summary tbody tr > :nth-child({place})")
    return [cell.get_attribute("textContent") for cell in cells]


def table_faults(driver):
    faults = []
    names = column(driver, 1)
    head = driver.find_element(By.CSS_SELECTOR, "#summary thead th:nth-child(1) button")
    driver.execute_script("arguments[0].click()", head)
    if column(driver, 1) != sorted(names):
        faults.append(f"sorted by name: {column(driver, 1)}")
    driver.execute_script("arguments[0].click()", head)
    if column(driver, 1) != sorted(names, reverse=True):
        faults.append(f"sorted by name the other way: {column(driver, 1)}")
    shown = "return [...document.querySelectorAll('#summary thead th')].filter(head => head.offsetWidth > 0).length"
    before = driver.execute_script(shown)
    switches = driver.find_elements(By.ID, "all-columns")
    if switches:
        driver.execute_script("arguments[0].click()", switches[0])
        if driver.execute_script(shown) <= before:
            faults.append("all columns are no more than before")
    name = driver.find_element(By.CSS_SELECTOR, "#summary tbody th button")
    driver.execute_script("arguments[0].click()", name)
    if name.get_attribute("aria-pressed") != "true":
        faults.append("a scheme that was clicked does not say so")
    return faults


def legend_faults(driver):
    """A click on a name in the legend hides its curve."""
    seen = "return document.getElementById('plot-0').data.filter(trace => trace.visible === 'legendonly').length"
    toggle = driver.find_element(By.CSS_SELECTOR, "#plot-0 .legendtoggle")
    webdriver.ActionChains(driver).move_to_element(toggle).click().perform()
    hidden = WebDriverWait(driver, 5).until(lambda driver: driver.execute_script(seen))
    return [] if hidden == 1 else [f"the legend hides {hidden} curves"]


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    failed = passed = 0
    with tempfile.TemporaryDirectory() as folder:
        pages = make_pages(program, pathlib.Path(folder))
        for width in WIDTHS:
            for dark in [False, True]:
                driver = browser(width, dark)
                for name, path in pages.items():
                    driver.get(path.as_uri())
                    faults = check(driver, name, width, dark)
                    what = f"{name}, {width} px, {'dark' if dark else 'light'}"
                    print(f"{'FAILED' if faults else 'ok'}: {what}")
                    for fault in faults:
                        print(f"  {fault}")
                    failed += bool(faults)
                    passed += not faults
                driver.quit()
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
