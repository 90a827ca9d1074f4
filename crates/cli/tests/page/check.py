"""Tests of the report pages and of the playground in headless Chromium, as a reader sees them.

    check.py ANABRANCH PLAYGROUND

The script makes pages with the command ANABRANCH in a temporary folder, and checks each page in a wide and a narrow
window, with light and with dark colours. It then checks the page PLAYGROUND, in which the simulator runs. The results
there must be those of the command.
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

from axe_core_python.selenium import Axe
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

FABRIC = """
[topology]
kind = "fat-tree"
hosts = 32
link = "400Gbps"
[workload]
kind = "permutation"
bytes = "200KB"
"""

SMALL = f"""
title = "Small"
schemes = ["reps", "ops", "ecmp"]
{FABRIC}
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

# A scenario in which all uplinks of a ToR are down for the rest of the run, so that some messages cannot finish.
STUCK = SMALL.replace('duration = "5us"', 'until = "5ms"').replace("tor:0/up:0", "tor:0/up") + '\n[limits]\nmax_time = "5ms"\n'

JOBS = SMALL.replace('kind = "permutation"\nbytes = "200KB"', 'kind = "collective"\nalgorithm = "allreduce-ring"\nbytes = "1MB"')

# A scenario that measures every uplink of every ToR, at two points of a sweep. So many curves could not be told apart
# in one plot.
MANY = SMALL.replace('links = "tor:0/up"', 'links = "tor-uplinks"').replace("hosts = 32", "hosts = 128") + """
[sweep]
"workload.bytes" = ["20KB", "1MB"]
"""

QUESTION = f"""
schemes = ["reps"]
seeds = [1]
{FABRIC}
[find]
parameter = "*.fabric.queue"
smallest = ["16KB", "4MB"]
where = "drops(scheme) == 0"
resolution = 0.5
"""

WIDTHS = [1400, 390]
LARGEST = 1_500_000


def make_pages(program, folder):
    """Makes the pages to check, by name."""

    def page(name, *args, called="**/report.html"):
        out = folder / name
        subprocess.run([program, *args, "--out", str(out)], cwd=folder, capture_output=True, check=False)
        found = sorted(out.glob(called))
        assert found, f"{name}: there is no page"
        return found[0]

    for name, text in {"run": SMALL, "stuck": STUCK, "jobs": JOBS, "many": MANY, "question": QUESTION}.items():
        (folder / f"{name}.toml").write_text(text)
    return {
        "run": page("run", "run", "run.toml"),
        "failed run": page("stuck", "run", "stuck.toml"),
        "collective": page("jobs", "run", "jobs.toml"),
        "many links": page("many", "run", "many.toml"),
        "question": page("question", "find", "question.toml"),
        "figure": page("figure", "reproduce", "reps/figure-4"),
        "index of figures": page("index", "reproduce", "reps/table-1", "dcp/table-3", called="figures-quick.html"),
        "league": page("league", "league", "incast", "failing-links", "--seed", "1,2", called="league-quick.html"),
    }


# JavaScript that returns the numbers of the plots with data in which some panel is empty.
EMPTY = """
return charts.all.map((chart, number) => [chart, number]).filter(([chart, number]) =>
  JSON.parse(document.getElementById('plots').textContent)[number].data.length > 0 && !chart.panels().every(panel => {
    const { left, top, width, height } = panel.bbox;
    const pixels = panel.ctx.getImageData(left, top, width, height).data;
    const seen = new Set();
    for (let at = 0; at < pixels.length; at += 4) seen.add(pixels[at] + ',' + pixels[at + 1] + ',' + pixels[at + 2]);
    return seen.size > 3;
  })).map(([, number]) => number);
"""

# JavaScript that returns the number of pixels in the colour of a curve. The arguments are the numbers of the plot and
# of the trace.
COLOURED = """
const [plot, trace] = arguments;
const panel = charts.all[plot].panels()[0];
const colour = JSON.parse(document.getElementById('plots').textContent)[plot].data[trace].line.color;
const [r, g, b] = [1, 3, 5].map(at => parseInt(colour.slice(at, at + 2), 16));
const { left, top, width, height } = panel.bbox;
const pixels = panel.ctx.getImageData(left, top, width, height).data;
let count = 0;
for (let at = 0; at < pixels.length; at += 4)
  if (Math.abs(pixels[at] - r) + Math.abs(pixels[at + 1] - g) + Math.abs(pixels[at + 2] - b) < 12 && pixels[at + 3] > 200) count += 1;
return count;
"""

# JavaScript that looks at one column of pixels before the fault, one during it and one after it, and returns for each
# column whether most of its pixels have the colour of a fault's band.
SHADED = """
const chart = charts.all.find(chart => (chart.layout.bands || []).length > 0);
if (!chart) return null;
const panel = chart.panels()[0];
const { top, height } = panel.bbox;
return [1, 4.5, 9.3].map(time => {
  const pixels = panel.ctx.getImageData(Math.round(panel.valToPos(time, 'x', true)), top, 1, height).data;
  let red = 0;
  for (let at = 0; at < pixels.length; at += 4) red += pixels[at] > pixels[at + 1] + 20 && pixels[at + 3] > 10;
  return red > height / 2;
});
"""


def browser(width, dark):
    options = webdriver.ChromeOptions()
    for flag in [
        "headless", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-background-networking",
        "disable-component-update", "disable-sync",
    ]:
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    options.binary_location = shutil.which("chromium") or ""
    # Without an explicit path, Selenium would search for a driver, and might download one.
    service = webdriver.ChromeService(executable_path=shutil.which("chromedriver"))
    driver = webdriver.Chrome(options=options, service=service)
    driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False},
    )
    features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    driver.set_script_timeout(110)
    return driver


def check(driver, name, width, dark):
    """The faults of the page that is open, each as a text."""
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
    empty = driver.execute_script(EMPTY) if plots else []
    if empty:
        faults.append(f"of {len(plots)} plots there is nothing in {empty}")
    if not driver.find_elements(By.CSS_SELECTOR, "details.values table") and plots:
        faults.append("no plot has its numbers in a table")
    # On the league's page, axe examines every table cell, which takes half a minute. There it runs in two of the four
    # combinations, so that each width and each choice of colours is covered once.
    once = name != "league" or (width == WIDTHS[1]) == dark
    violations = Axe().run(driver)["violations"] if once else []
    faults += [
        f"axe {found['id']} ({found['impact']}): {found['nodes'][0]['html'][:160]}"
        for found in violations
        if found["impact"] in ("serious", "critical")
    ]
    if driver.find_elements(By.ID, "summary"):
        faults += table_faults(driver)
    if name == "run":
        faults += band_faults(driver) + clipped_faults(driver) + nameless_faults(driver)
    if name == "run" and width == WIDTHS[0]:
        faults += legend_faults(driver) + zoom_faults(driver)
    if name in ("run", "collective"):
        faults += slowest_faults(driver)
    if name == "league":
        faults += league_faults(driver, width)
    if name == "failed run":
        alarm = driver.find_elements(By.CSS_SELECTOR, ".alarm li")
        if not alarm or len(alarm[0].text) < 30:
            faults.append("a page of a failed run does not say why")
    if name == "many links":
        faults += many_faults(driver, width)
    if name in ("figure", "index of figures") and width == WIDTHS[1]:
        faults += claim_faults(driver, width)
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
    driver.execute_script("arguments[0].click()", name)
    return faults


def clipped_faults(driver):
    """Checks that a legend of a few curves shows all of them, also in a narrow window."""
    clipped = driver.execute_script(
        "return [...document.querySelectorAll('.legend')]"
        ".filter(row => row.children.length < 12 && row.scrollHeight > row.clientHeight + 1).map(row => row.textContent)"
    )
    return [f"a legend is cut off: {text}" for text in clipped]


def nameless_faults(driver):
    """Checks that a legend that says what its curves are also names them."""
    nameless = driver.execute_script(
        "return [...document.querySelectorAll('.legend')]"
        ".filter(row => row.querySelector('.of') && !row.querySelector('button')).map(row => row.textContent)"
    )
    return [f"a legend names nothing: {text}" for text in nameless]


def legend_faults(driver):
    """Checks that a click on a name in the legend hides the curve of that name: at most a tenth of the pixels in
    the colour of the curve remain."""
    trace = 2
    name = driver.find_elements(By.CSS_SELECTOR, "#plot-0 .legend button[aria-pressed]")[trace]
    before = driver.execute_script(COLOURED, 0, trace)
    name.click()
    after = driver.execute_script(COLOURED, 0, trace)
    name.click()
    again = driver.execute_script(COLOURED, 0, trace)
    faults = []
    if not before > 50 or after > before / 10:
        faults.append(f"the legend hides a curve of {before} pixels, of which {after} stay")
    if again != before:
        faults.append(f"shown again, a curve of {before} pixels has {again}")
    return faults


def zoom_faults(driver):
    """Checks that dragging across a plot enlarges that part, and that a button shows the whole plot again."""
    over = driver.find_element(By.CSS_SELECTOR, "#plot-0 .u-over")
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", over)
    span = "const x = charts.all[0].panels()[0].scales.x; return [x.min, x.max]"
    whole = driver.execute_script(span)
    chain = webdriver.ActionChains(driver).move_to_element_with_offset(over, -100, 0).click_and_hold()
    chain.move_by_offset(150, 0).release().perform()
    part = driver.execute_script(span)
    faults = [] if whole[0] < part[0] < part[1] < whole[1] else [f"dragging shows {part} of {whole}"]
    button = driver.find_element(By.CSS_SELECTOR, "#plot-0 .tools button")
    if not button.is_displayed():
        return [*faults, "zoomed in, nothing leads back"]
    button.click()
    if driver.execute_script(span) != whole:
        faults.append("after the button not all of it is shown")
    return faults


def band_faults(driver):
    """Checks that a plot over time shades the time of the fault, 2 to 7 us, and neither the time before nor after it."""
    found = driver.execute_script(SHADED)
    if found is None:
        return ["no plot over time shows the times of faults"]
    return [] if found == [False, True, False] else [f"before, during and after the fault, shaded is {found}"]


def slowest_faults(driver):
    """Checks that a click on a scheme opens the table of the scheme's slowest messages."""
    opened = "return [...document.querySelectorAll('#slowest details[open]')].map(one => one.dataset.scheme)"
    names = driver.find_elements(By.CSS_SELECTOR, "#summary tbody th button")
    scheme = names[0].get_attribute("textContent")
    driver.execute_script("arguments[0].click()", names[0])
    found = driver.execute_script(opened)
    rows = driver.find_elements(By.CSS_SELECTOR, "#slowest details[open] tbody tr")
    driver.execute_script("arguments[0].click()", names[0])
    return [] if set(found) == {scheme} and rows else [f"a click on {scheme} opens the slowest of {found}"]


def many_faults(driver, width):
    """Checks that many links are drawn as a map, with their median and a band in another plot, and that the small plots
    of a sweep are side by side if the page is wide enough."""
    kinds = driver.execute_script(
        "return JSON.parse(document.getElementById('plots').textContent).flatMap(plot => plot.data.map(one => one.kind))"
    )
    faults = [f"no {kind} among {sorted(set(kinds))}" for kind in ("heat", "band") if kind not in kinds]
    tops = driver.execute_script(
        "return [...document.querySelector('.multiples').children].map(one => one.getBoundingClientRect().top)"
    )
    if (len(set(tops[:2])) == 1) != (width == WIDTHS[0]):
        faults.append(f"at {width} px the small plots are at {tops}")
    # The messages have 20 KB and 1 MB, so an axis must be logarithmic.
    if not driver.execute_script("return charts.all.some(chart => chart.layout.panels[0].y.log || chart.layout.x.log)"):
        faults.append("no axis is logarithmic by itself")
    return faults


# JavaScript that finds the first plot with named points, and moves the pointer to the first point. It returns the
# plot's number, the names of its points, and the text that appears at the pointer.
NAMED = """
const plots = JSON.parse(document.getElementById('plots').textContent);
const number = plots.findIndex(plot => plot.data.some(trace => trace.names));
if (number < 0) return null;
const panel = charts.all[number].panels()[0];
const trace = plots[number].data[0];
const x = trace.x[0] > 0 || !plots[number].layout.x.foot ? trace.x[0] : plots[number].layout.x.foot;
panel.setCursor({ left: panel.valToPos(x, 'x'), top: panel.valToPos(trace.y[0], 'y') });
return [number, plots[number].data.flatMap(trace => trace.names), panel.over.querySelector('.tip').textContent];
"""


def league_faults(driver, width):
    """Checks that each section has a plot, that one plot has points that are named after schemes, which the table of the
    plot repeats, that the heat map fits in the page, and that the heat map is sorted like the table."""
    found = driver.execute_script(NAMED)
    if found is None:
        return ["no plot has points with names"]
    number, names, tip = found
    schemes = column(driver, 1)
    faults = [] if any(tip.startswith(f"{name}, ") for name in names) else [f"over a point stands {tip!r}"]
    cells = driver.find_elements(By.CSS_SELECTOR, f"figure:has(#plot-{number}) .values tbody th")
    if sorted(cell.get_attribute("textContent") for cell in cells) != sorted(names):
        faults.append(f"of {len(names)} points {len(cells)} are in the table of numbers")
    sections = driver.find_elements(By.CSS_SELECTOR, "section[id]")
    without = [one.get_attribute("id") for one in sections if not one.find_elements(By.CSS_SELECTOR, ".plot")]
    if without or not sections:
        faults.append(f"of {len(sections)} scenarios no plot have {without}")
    rows = driver.find_elements(By.CSS_SELECTOR, "#map tbody th")
    if [row.get_attribute("textContent") for row in rows] != schemes:
        faults.append("the heat map is not in the order of the table")
    fits = "const map = document.getElementById('map'); return [map.scrollWidth, map.parentElement.clientWidth]"
    wide, room = driver.execute_script(fits)
    if wide > room:
        faults.append(f"at {width} px the heat map has {wide} px of {room}")
    return faults


def claim_faults(driver, width):
    """Checks that the outcome of every claim can be read without horizontal scrolling."""
    chips = driver.find_elements(By.CSS_SELECTOR, ".claims .chip")
    ends = [chip.rect["x"] + chip.rect["width"] for chip in chips]
    return [] if ends and max(ends) <= width else [f"outcomes of claims end at {ends}"]


def native(program, folder, text):
    """Runs a scenario with the command. Returns the digests of the runs, and the time that they took."""
    (folder / "playground.toml").write_text(text)
    args = [program, "run", "playground.toml", "--fresh", "--json", "--threads", "1", "--out", "playground"]
    said = subprocess.run(args, cwd=folder, capture_output=True, check=True).stdout
    runs = json.loads(said)["runs"]
    return [run["digest"] for run in runs], sum(run["wall_s"] for run in runs)


def completion_faults(driver, wait, text):
    """Checks the completion of keys with the keyboard alone: the keys of the table at the cursor are offered with their
    meanings, one of them can be chosen and is written, and Escape closes the list."""
    begin = "const t = arguments[0]; t.value = arguments[1]; t.setSelectionRange(t.value.length, t.value.length); t.focus()"
    driver.execute_script(begin, text, '[topology]\nkind = "fat-tree"\nho')
    keys = driver.find_element(By.ID, "keys")
    text.send_keys(Keys.CONTROL, " ")
    wait.until(lambda _: keys.is_displayed())
    options = keys.find_elements(By.CSS_SELECTOR, "[role=option]")
    faults = [] if "Number of hosts of the fabric" in options[0].text else [f"the first key is {options[0].text!r}"]
    active = lambda: text.get_attribute("aria-activedescendant")
    if active() != options[0].get_attribute("id") or options[0].get_attribute("aria-selected") != "true":
        faults.append("the first key is not chosen")
    text.send_keys(Keys.ARROW_DOWN)
    if active() != options[1].get_attribute("id"):
        faults.append("an arrow does not choose the next key")
    text.send_keys(Keys.ARROW_UP, Keys.ENTER)
    if keys.is_displayed() or not text.get_property("value").endswith("\nhosts = 128"):
        faults.append(f"a key is written as {text.get_property('value')!r}")
    text.send_keys("\n", Keys.CONTROL, " ")
    wait.until(lambda _: keys.is_displayed())
    text.send_keys(Keys.ESCAPE)
    return faults + (["Escape does not close the keys"] if keys.is_displayed() or active() else [])


def playground_faults(driver, width, dark, program, folder):
    """Checks that the playground reports errors while the user writes, runs a valid scenario, and gives the same results
    as the command."""
    said = lambda: driver.find_element(By.ID, "said").text
    wait = WebDriverWait(driver, 120, poll_frequency=0.1)
    wait.until(lambda _: "runs on" in said())
    faults = check(driver, "playground", width, dark)
    text = driver.find_element(By.ID, "text")
    right = text.get_property("value")
    put = "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input'))"
    driver.execute_script(put, text, right.replace("schemes", "scheems"))
    wait.until(lambda _: "did you mean" in said())
    if driver.find_element(By.ID, "run").is_enabled():
        faults.append("a wrong scenario can be run")
    driver.find_element(By.CSS_SELECTOR, "#said button").click()
    chosen = driver.execute_script("const t = arguments[0]; return t.value.slice(t.selectionStart, t.selectionEnd)", text)
    if not chosen.startswith("scheems"):
        faults.append(f"the button of the error leads to {chosen!r}")
    faults += completion_faults(driver, wait, text)
    driver.execute_script(put, text, right)
    wait.until(lambda _: "runs on" in said())
    driver.find_element(By.ID, "run").click()
    wait.until(lambda _: driver.execute_script("return document.body.dataset.digests || ''"))
    digests = driver.execute_script("return document.body.dataset.digests").split()
    seconds = float(driver.execute_script("return document.body.dataset.seconds"))
    theirs, wall = native(program, folder, right)
    if digests != theirs:
        faults.append(f"the digests are {digests}, and the program's {theirs}")
    print(f"  {len(digests)} runs took {seconds:.2f} s in the page and {wall:.2f} s in {pathlib.Path(program).parent.name}")
    driver.switch_to.frame("report")
    wait.until(lambda _: driver.find_elements(By.ID, "summary"))
    if driver.execute_script(EMPTY):
        faults.append("the report has plots in which nothing is drawn")
    across = driver.execute_script("return [document.documentElement.scrollWidth, innerWidth]")
    if across[0] > across[1]:
        faults.append(f"the report scrolls sideways: {across}")
    driver.switch_to.default_content()
    if driver.execute_script("return document.documentElement.scrollWidth") > width:
        faults.append("with a report it scrolls sideways")
    return faults


def main():
    program, playground = (pathlib.Path(arg).resolve() for arg in sys.argv[1:])
    program = str(program)
    failed = passed = 0
    with tempfile.TemporaryDirectory() as folder:
        pages = make_pages(program, pathlib.Path(folder))
        for width in WIDTHS:
            for dark in [False, True]:
                driver = browser(width, dark)

                def report(name, faults):
                    nonlocal failed, passed
                    print(f"{'FAILED' if faults else 'ok'}: {name}, {width} px, {'dark' if dark else 'light'}")
                    for fault in faults:
                        print(f"  {fault}")
                    failed += bool(faults)
                    passed += not faults

                for name, path in pages.items():
                    driver.get(path.as_uri())
                    faults = check(driver, name, width, dark)
                    if path.stat().st_size >= LARGEST:
                        faults.append(f"the page has {path.stat().st_size:,} bytes")
                    report(name, faults)
                driver.get(playground.as_uri())
                faults = playground_faults(driver, width, dark, program, pathlib.Path(folder))
                report("playground", faults)
                driver.quit()
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
