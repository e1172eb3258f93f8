"""How the tests of pages use a browser."""

from selenium.common.exceptions import ElementClickInterceptedException
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

WIDE, NARROW = 1280, 390


def set_width(browser, width):
    """Set the width of the window, or of the phone if it is narrow."""
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width == NARROW}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def set_scheme(browser, scheme):
    """Let the system prefer "light" or "dark" colors."""
    feature = {"name": "prefers-color-scheme", "value": scheme}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})


def find(page, selector):
    """Return the first element of a CSS selector."""
    return page.find_element(By.CSS_SELECTOR, selector)


def find_all(page, selector):
    """Return all elements of a CSS selector."""
    return page.find_elements(By.CSS_SELECTOR, selector)


def click(page, element):
    """Click as a person would: look at it first, and try again if the charts above it have just moved it."""

    def try_to(page):
        page.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", element)
        try:
            element.click()
        except ElementClickInterceptedException:
            return False
        return True

    WebDriverWait(page, 10).until(try_to)


def in_chart(page, plot, expression):
    """Return what an expression in `chart` gives for the chart of a panel."""
    code = f"const chart = Chart.getChart(document.querySelector('[data-plot={plot}]')); return {expression};"
    return page.execute_script(code)
