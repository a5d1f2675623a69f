"""The JupyterLab of the browser tests, without a browser: asked past any proxy, and stopped where it does not start."""

import urllib.request

import browser
import pytest


def test_a_proxy_for_the_rest_of_the_world_is_not_asked_for_this_machine(monkeypatch, tmp_path):
    for name in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")  # where nobody answers
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    assert urllib.request.getproxies()["http"] == "http://127.0.0.1:9"
    lab = browser.Lab(tmp_path)
    lab.stop()
    assert lab.process.poll() is not None


def test_a_server_that_does_not_answer_is_stopped(monkeypatch, tmp_path):
    started = []

    class Silent(browser.Lab):
        def _wait(self):
            started.append(self.process)
            raise RuntimeError("does not answer")

    with pytest.raises(RuntimeError, match="does not answer"):
        Silent(tmp_path)
    assert started[0].poll() is not None
